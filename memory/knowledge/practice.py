"""What works here: the invocations of a tool that worked, and the file that is meant where one is
not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from memory.capture.turns import RUN, Piece
from memory.core import clock, files
from memory.core.layout import Place
from memory.core.plaintext import one_line
from memory.hook import at_failure
from memory.knowledge.history import Past
from memory.knowledge.remedies import PLACE, REDIRECTED
from memory.session import commandline, shell, tellingline
from memory.session.latepattern import Late

HALVED = 45.0  # days after which a use counts half
INSTRUCTIONS = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
MOST_BYTES = 1 << 19  # of a file of instructions
MOST_KIN = 3  # files that are named in place of one that is not there
_WORDS = Late(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\S+")
_VERSIONED = Late(r"\Apython[\d.]+(?= |\Z)")
# What says that a call was wrong, and not what it was to look at.
MISUSED = Late(
    r"(?i)\b(?:%s)\b"
    % "|".join(
        "unknown, unrecognised, unrecognized, unexpected, invalid, ambiguous, not found, no such, "
        "not defined, does not exist, require, requires, missing, usage:, denied, 422, "
        r"40\d".split(", ")
    )
)


# --- how: the invocations that worked


class Shape(NamedTuple):
    """Invocations with the same words and flags.

    example: the newest. times: how often they worked. last: when, seconds since the epoch; where:
        the turn; session: of that turn. sessions: how many used it.
    """

    words: str
    flags: tuple[str, ...]
    example: str
    times: int
    last: float
    where: str
    session: str
    sessions: int = 1


def working_invocations(sessions: Iterable[Past], tool: str, now: float) -> list[Shape]:
    """Return a tool's working invocations, most used and newest first.

    tool: a program or a script, by name or path, with or without verbs: `gh`, `go test`,
        `./run.sh`.
    """
    wanted = tuple(tool_key(tool).split())
    found: dict[tuple[str, tuple[str, ...]], list[Shape]] = {}
    for past in sessions:
        for number, piece in past.steps():
            for words, flags, part in _invocations(piece, wanted):
                at, where = past.at(number), past.ref(number)
                one = Shape(words, flags, part, piece.times, at, where, past.session)
                found.setdefault((words, flags), []).append(one)
    return sorted(
        (_joined(uses) for uses in found.values()),
        key=lambda shape: (-sum(_weight(one, now) for one in found[shape[:2]]), shape.words),
    )


def _weight(use: Shape, now: float) -> float:
    return float(use.times * 0.5 ** (max(0.0, now - use.last) / clock.DAY / HALVED))


def _joined(uses: Sequence[Shape]) -> Shape:
    """Return one shape for uses of the same words and flags."""
    newest = max(uses, key=lambda use: (use.last, use.example))
    sessions = len({use.session for use in uses})
    return newest._replace(times=sum(use.times for use in uses), sessions=sessions)


def tool_key(tool: str) -> str:
    """Return the search key of a tool."""
    plain = " ".join(word for word in tool.lower().split() if word[:1] != "-")
    return _VERSIONED.sub("python", plain.removeprefix("./"))


def _invocations(
    piece: Piece, wanted: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (words, flags, command) of a tool's calls in a good run."""
    worked = piece.kind == RUN and not piece.name and piece.outcome in (shell.OK, shell.BY_HAND)
    if not wanted or not worked or wanted[0] not in piece.text.lower():
        return
    for part in commandline.parts(piece.text):
        if wanted[0] in part.lower() and _is_asked(part, wanted):
            words = max(commandline.key_of(part), at_failure.program_and_verbs(part), key=len)
            yield words, _flags(part), REDIRECTED.sub("", one_line(part))


@lru_cache(4096)
def _is_asked(part: str, wanted: tuple[str, ...]) -> bool:
    """Tell whether a call is of the wanted program or script, with its verbs.

    By its first word, behind a launcher, or given to an interpreter.
    """
    plain = (word.strip("'\"({").lower() for word in _WORDS.findall(part))
    typed = [tool_key(word) for word in plain if not re.match(r"\w+=|-|\Z", word)]
    own = (n for n, word in enumerate(typed) if ("/" + word).endswith("/" + wanted[0]))
    at = next(own, -1)
    if at < 0 or tuple(typed[at + 1 : at + len(wanted)]) != wanted[1:]:
        return False
    name, key = wanted[0].rpartition("/")[2], commandline.key_of(part).split() or [""]
    return at == 0 or name == key[0] or (name == key[-1] and bool(re.search(r"[./]", typed[at])))


@lru_cache(4096)
def _flags(part: str) -> tuple[str, ...]:
    """Return the names of a call's options."""
    named = (word.partition("=")[0] for word in _WORDS.findall(part) if re.match(r"--?\w", word))
    return tuple(sorted({re.sub(r"\A-\d+\Z", "-N", name) for name in named}))


# --- what is a wall, and which file is meant


def is_no_wall(piece: Piece) -> bool:
    """Tell whether a failed call's line is no wall.

    What the client says of its own rules brings its remedy; what every runner says last tells
    nothing, nor does a test that failed.
    """
    said = PLACE.sub("", piece.telling)
    low = said.lower()
    return (
        not said
        or any(mark in low for mark in at_failure.OWN)
        or tellingline.is_trailer(said)
        or said.startswith(("FAIL", "--- FAIL: "))
    )


def is_placed(telling: str) -> bool:
    """Tell whether a line names a place in a file.

    A place in the shell's own text does not count.
    """
    return at_failure.words_of(telling)[0] and not telling.startswith("(")


class Tree:
    """The project's known files and folders with their sources.

    A source is the record that names a path, None where only git does. tracked: paths that git
    tracks. rows: of `walls`. beside: files by folder. named: files by name.
    """

    def __init__(self, tracked: Iterable[str], rows: Iterable[dict[str, Any]]):
        self.tracked = frozenset(tracked)
        self.files: dict[str, dict[str, Any] | None] = dict.fromkeys(sorted(self.tracked))
        for row in rows:
            source = {key: row[key] for key in ("name", "size", "sha")} if row["paths"] else None
            self.files.update((path, source) for path in row["paths"] if path[:1] not in "/~")
        self.folders: dict[str, dict[str, Any] | None] = {}
        self.beside: dict[str, list[str]] = {}
        self.named: dict[str, list[str]] = {}
        for path in sorted(self.files):
            folder, _, name = path.rpartition("/")
            self.beside.setdefault(folder, []).append(path)
            self.named.setdefault(name, []).append(path)
            for above in at_failure.above(path):
                self.folders[above] = self.folders.get(above) or self.files[path]

    def holds(self, path: str) -> bool:
        """Tell whether a path is a known file or folder."""
        return path in self.files or path in self.folders

    def source(self, path: str) -> dict[str, Any] | None:
        """Return the record that names a path, or None."""
        return self.files.get(path) or self.folders.get(path)


def instead_of(path: str, tree: Tree) -> list[str]:
    """Return the existing files or folder nearest to a missing path.

    The same stem beside it, the same name nearest to it, names beside it that begin like it; for a
    folder its parent.
    """
    folder, _, name = path.rpartition("/")
    stem, beside = stem_of(path), tree.beside.get(folder, [])
    kin = [one for one in beside if stem_of(one) == stem]
    same = sorted(tree.named.get(name, ()), key=lambda one: (-_shared(one, path), one))
    longer = [one for one in beside if one not in kin and _begins(stem_of(one), stem)]
    if "." in name:
        return [*kin, *same][:1] or longer[:MOST_KIN]
    parents = [above for above in at_failure.above(path) if above in tree.folders]
    return [*kin, *longer][:MOST_KIN] or same[:1] or parents[:1]


def stem_of(path: str) -> str:
    """Return a file's name up to its first dot."""
    return path.rpartition("/")[2].lstrip(".").partition(".")[0]


def _begins(name: str, start: str) -> bool:
    """Tell whether a name begins with another one, of five letters or more."""
    one, other = ("".join(c for c in word.lower() if c.isalnum()) for word in (name, start))
    return len(other) > 4 and one.startswith(other)


def _shared(one: str, other: str) -> int:
    """Return the number of folders that two paths share."""
    return sum(a == b for a, b in zip(one.split("/"), other.split("/")))


def line_of(place: Place, said: str) -> tuple[str, int] | None:
    """Return (file, line) of the instructions that name a text, or None.

    said: a path or a command.
    """
    wanted = re.compile(r"(?<![\w./-])%s(?![\w-]|[./]\w)" % re.escape(said.strip()))
    for name in INSTRUCTIONS:
        path = place.root + "/" + name
        try:
            text = (
                files.read(path, MOST_BYTES).decode("utf-8", "replace")
                if files.inside(path, place.root)
                else ""
            )
        except OSError:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if wanted.search(line):
                return name, number
    return None


def shape_json(shape: Shape) -> dict[str, Any]:
    """Return a shape as plain data."""
    return {
        "words": shape.words,
        "flags": list(shape.flags),
        "command": shape.example,
        "times": shape.times,
        "sessions": shape.sessions,
        "last": clock.iso(shape.last),
        "where": shape.where,
    }
