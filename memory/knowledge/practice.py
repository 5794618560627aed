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
from memory.hook import wallkeys
from memory.knowledge.history import PastSession
from memory.knowledge.remedies import PLACE, REDIRECTED
from memory.session import commandline, shell, tellingline
from memory.session.latepattern import LazyPattern

HALVED = 45.0  # days after which a use counts half
INSTRUCTIONS = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
MOST_BYTES = 1 << 19  # of a file of instructions
MOST_KIN = 3  # files that are named in place of one that is not there
# words of a shell line, quoted ones whole
_WORDS = LazyPattern(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\S+")
_VERSIONED = LazyPattern(r"\Apython[\d.]+(?= |\Z)")  # python3.11
# What says that a call was wrong, and not what it was to look at.
MISUSED = LazyPattern(
    r"(?i)\b(?:%s)\b"
    % "|".join(
        "unknown, unrecognised, unrecognized, unexpected, invalid, ambiguous, not found, no such, "
        "not defined, does not exist, require, requires, missing, usage:, denied, 422, "
        r"40\d".split(", ")
    )
)


# --- how: the invocations that worked


class InvocationShape(NamedTuple):
    """Invocations of a tool with equal words and flags.

    example: the newest. times: how often they worked. where: the last turn. sessions: how many used
    it.
    """

    words: str
    flags: tuple[str, ...]
    example: str
    times: int
    last: float
    where: str
    session: str
    sessions: int = 1


def find_working_invocations(
    sessions: Iterable[PastSession], tool: str, now: float
) -> list[InvocationShape]:
    """Return a tool's working invocations, most used and newest first.

    tool: a program or a script, by name or path, with or without verbs: `gh`, `go test`,
    `./run.sh`.
    """
    wanted = tuple(normalise_tool(tool).split())
    found: dict[tuple[str, tuple[str, ...]], list[InvocationShape]] = {}
    for past in sessions:
        for number, piece in past.steps():
            for words, flags, part in _find_invocations(piece, wanted):
                at, where = past.at(number), past.ref(number)
                use = InvocationShape(words, flags, part, piece.times, at, where, past.session)
                found.setdefault((words, flags), []).append(use)
    ranked = sorted(
        found.values(),
        key=lambda uses: (-sum(_score_use(use, now) for use in uses), uses[0].words),
    )
    return [_merge_uses(uses) for uses in ranked]


def _score_use(use: InvocationShape, now: float) -> float:
    return float(use.times * 0.5 ** (max(0.0, now - use.last) / clock.DAY / HALVED))


def _merge_uses(uses: Sequence[InvocationShape]) -> InvocationShape:
    newest = max(uses, key=lambda use: (use.last, use.example))
    sessions = len({use.session for use in uses})
    return newest._replace(times=sum(use.times for use in uses), sessions=sessions)


def normalise_tool(tool: str) -> str:
    """Return a tool's name for comparison."""
    plain = " ".join(word for word in tool.lower().split() if word[:1] != "-")
    return _VERSIONED.sub("python", plain.removeprefix("./"))


def _find_invocations(
    piece: Piece, wanted: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (words, flags, command) of a tool's calls in a successful run."""
    worked = piece.kind == RUN and not piece.name and piece.outcome in (shell.OK, shell.BY_HAND)
    if not wanted or not worked or wanted[0] not in piece.text.lower():
        return
    for part in commandline.split_commands(piece.text):
        if wanted[0] in part.lower() and _is_call_of(part, wanted):
            words = max(
                commandline.parse_key(part), wallkeys.parse_program_and_verbs(part), key=len
            )
            yield words, _list_options(part), REDIRECTED.sub("", one_line(part))


@lru_cache(4096)
def _is_call_of(part: str, wanted: tuple[str, ...]) -> bool:
    """Tell whether a call runs the wanted program, with its verbs.

    By its first word, behind a launcher, or given to an interpreter.
    """
    plain = (word.strip("'\"({").lower() for word in _WORDS.findall(part))
    typed = [normalise_tool(word) for word in plain if not re.match(r"\w+=|-|\Z", word)]
    own = (n for n, word in enumerate(typed) if ("/" + word).endswith("/" + wanted[0]))
    at = next(own, -1)
    if at < 0 or tuple(typed[at + 1 : at + len(wanted)]) != wanted[1:]:
        return False
    name, key = wanted[0].rpartition("/")[2], commandline.parse_key(part).split() or [""]
    return at == 0 or name == key[0] or (name == key[-1] and bool(re.search(r"[./]", typed[at])))


@lru_cache(4096)
def _list_options(part: str) -> tuple[str, ...]:
    named = (word.partition("=")[0] for word in _WORDS.findall(part) if re.match(r"--?\w", word))
    return tuple(sorted({re.sub(r"\A-\d+\Z", "-N", name) for name in named}))


# --- what is a wall, and which file is meant


def is_no_wall(piece: Piece) -> bool:
    """Tell whether a failure's line is not worth remembering.

    Such are no line, a refusal by the client (which names its remedy), a runner's closing line, and
    a failed test.
    """
    message = PLACE.sub("", piece.telling)
    lower = message.lower()
    return (
        not message
        or any(mark in lower for mark in wallkeys.CLIENT_REFUSALS)
        or tellingline.is_trailer(message)
        or message.startswith(("FAIL ", "FAIL\t", "FAIL:", "FAILED ", "--- FAIL: "))
    )


def names_file_place(telling: str) -> bool:
    """Tell whether an error's line names a place in a file."""
    return wallkeys.parse_error_line(telling)[0] and not telling.startswith("(")


class ProjectTree:
    """The project's known files and folders.

    files, folders: the record that names a path, None where only git does. beside: files by folder.
    named: files by name.
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
            for above in wallkeys.list_parent_folders(path):
                self.folders[above] = self.folders.get(above) or self.files[path]

    def holds(self, path: str) -> bool:
        return path in self.files or path in self.folders

    def source(self, path: str) -> dict[str, Any] | None:
        """Return the record that names a path, or None."""
        return self.files.get(path) or self.folders.get(path)


def find_replacements(path: str, tree: ProjectTree) -> list[str]:
    """Return the existing paths most like a missing path.

    The same stem beside it, the same name nearest to it, names beside it that begin like it; for a
    folder its parent.
    """
    folder, _, name = path.rpartition("/")
    stem, beside = file_stem(path), tree.beside.get(folder, [])
    same_stem = [near for near in beside if file_stem(near) == stem]
    same_name = list(tree.named.get(name, ()))
    same_name.sort(key=lambda near: (-_count_shared_folders(near, path), near))
    begins_alike = [near for near in beside if _starts_like(file_stem(near), stem)]
    begins_alike = [near for near in begins_alike if near not in same_stem]
    if "." in name:
        return [*same_stem, *same_name][:1] or begins_alike[:MOST_KIN]
    parents = [above for above in wallkeys.list_parent_folders(path) if above in tree.folders]
    return [*same_stem, *begins_alike][:MOST_KIN] or same_name[:1] or parents[:1]


def file_stem(path: str) -> str:
    return path.rpartition("/")[2].lstrip(".").partition(".")[0]


def _starts_like(name: str, start: str) -> bool:
    """Tell whether a name starts with another of five letters or more."""
    one, other = ("".join(c for c in word.lower() if c.isalnum()) for word in (name, start))
    return len(other) > 4 and one.startswith(other)


def _count_shared_folders(one: str, other: str) -> int:
    return sum(a == b for a, b in zip(one.split("/"), other.split("/")))


def find_instruction(place: Place, said: str) -> tuple[str, int] | None:
    """Return (file, line) of the instructions that name a path or command."""
    wanted = re.compile(r"(?<![\w./-])%s(?![\w-]|[./]\w)" % re.escape(said.strip()))
    for name in INSTRUCTIONS:
        path = place.root + "/" + name
        if not files.is_inside(path, place.root):
            continue
        try:
            text = files.read(path, MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if wanted.search(line):
                return name, number
    return None


def shape_json(shape: InvocationShape) -> dict[str, Any]:
    return {
        "words": shape.words,
        "flags": list(shape.flags),
        "command": shape.example,
        "times": shape.times,
        "sessions": shape.sessions,
        "last": clock.iso(shape.last),
        "where": shape.where,
    }
