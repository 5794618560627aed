"""What works here: the invocations of a tool that worked, and the file that is meant where one is
not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice, takewhile
from typing import Any, NamedTuple

from memory.capture.turns import RUN, Piece
from memory.core import clock, files
from memory.core.layout import Place
from memory.core.plaintext import one_line
from memory.hook import at_failure
from memory.knowledge.history import Past
from memory.knowledge.remedies import (
    PLACE,
    REDIRECTED,
    stem_of,
)
from memory.project import gitindex
from memory.session import commandline, shell, tellingline
from memory.session.latepattern import Late

HALVED = 45.0  # days after which a use counts half
INSTRUCTIONS = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
MOST_BYTES = 1 << 19  # of a file of instructions
MOST_KIN = 3  # files that are named in place of one that is not there
_WORDS = Late(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\S+")
_VERSIONED = Late(r"\Apython[\d.]+(?= |\Z)")
DEEP = 2  # words after a program that stands before another one, such as `uv run pytest`
_BARE = Late(r"[a-z][a-z0-9:_-]*\Z")
# What says that a call was wrong, and not what it was to look at.
MISUSED = Late(
    r"(?i)\b(?:%s)\b"
    % "|".join(
        "unknown, unrecognised, unrecognized, unexpected, invalid, ambiguous, not found, no such, "
        "not defined, does not exist, require, requires, missing, usage:, denied, 422, "
        r"40\d".split(", ")
    )
)
# the address is what matters
_ADDRESSED = frozenset((("gh", "api"), ("glab", "api"), ("curl",), ("wget",), ("http",), ("xh",)))
# Programs whose verb has a verb of its own.
_DEEP = frozenset(
    "gh glab docker podman kubectl aws gcloud az heroku fly flyctl uv poetry mise terraform jj "
    "rustup dotnet supabase vercel wrangler npm pnpm yarn bun".split()
)


# --- how: the invocations that worked


class Shape(NamedTuple):
    """Invocations with the same words and flags.

    example: the newest. times: how often they worked. last: when, seconds since the epoch; where:
        the turn. failed: the call that failed before, and why; "" for none.
    """

    words: str
    flags: tuple[str, ...]
    example: str
    times: int
    last: float
    where: str
    sessions: int
    failed: str
    why: str


def working_invocations(sessions: Iterable[Past], tool: str, now: float) -> list[Shape]:
    """Return a tool's working invocations, most used and newest first.

    tool: a program or a script, by name or path, with or without verbs: `gh`, `go test`,
        `./run.sh`.
    """
    wanted = tuple(tool_key(tool).split())
    uses: dict[tuple[str, tuple[str, ...]], list[tuple[float, str, int, str, str]]] = {}
    failures: dict[tuple[str, tuple[str, ...]], tuple[float, str, str]] = {}
    for past in sessions:
        open_: tuple[str, str, str] | None = None
        for number, piece in past.steps():
            for words, flags, part in _invocations(piece, wanted):
                shape = (words, flags)
                if piece.outcome in (shell.OK, shell.BY_HAND):
                    at = past.at(number)
                    uses.setdefault(shape, []).append(
                        (at, part, piece.times, past.ref(number), past.session)
                    )
                    if open_ and open_[0] != part and open_[2].split()[:2] == words.split()[:2]:
                        failures[shape] = max(failures.get(shape, (0.0, "", "")), (at, *open_[:2]))
                    open_ = None
                elif (
                    piece.failed
                    and MISUSED.search(piece.telling)
                    and not PLACE.match(piece.telling)
                ):
                    open_ = (part, piece.telling, words)
    found = []
    for shape, rows in uses.items():
        newest = max(rows)
        _, failed, why = failures.get(shape, (0.0, "", ""))
        found.append(
            (
                sum(
                    times * 0.5 ** (max(0.0, now - at) / clock.DAY / HALVED)
                    for at, _, times, _, _ in rows
                ),
                Shape(
                    shape[0],
                    shape[1],
                    newest[1],
                    sum(row[2] for row in rows),
                    newest[0],
                    newest[3],
                    len({row[4] for row in rows}),
                    failed,
                    why,
                ),
            )
        )
    return [shape for _, shape in sorted(found, key=lambda row: (-row[0], row[1]))]


def tool_key(tool: str) -> str:
    """Return the search key of a tool."""
    plain = " ".join(word for word in tool.lower().split() if word[:1] != "-")
    return _VERSIONED.sub("python", plain.removeprefix("./"))


def _invocations(
    piece: Piece, wanted: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (words, flags, command) of a tool's calls in a run."""
    if not wanted or piece.kind != RUN or piece.name or wanted[0] not in piece.text.lower():
        return
    for part in commandline.parts(piece.text):
        if wanted[0] in part.lower():
            shape = next(
                (
                    one
                    for one in (_shape(part), *_views(part, len(wanted)))
                    if _is_asked(one[0], wanted)
                ),
                None,
            )
            if shape:
                yield " ".join(shape[0]), shape[1], REDIRECTED.sub("", one_line(part))


def _is_asked(words: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Tell whether a call begins with the wanted words."""
    program = words[0] == wanted[0] or words[0].endswith("/" + wanted[0])
    return program and words[1 : len(wanted)] == wanted[1:]


@lru_cache(4096)
def _views(part: str, length: int) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Return a call seen from its first word and from its script."""
    typed = [word.strip("'\"").lower() for word in _WORDS.findall(part.lstrip("({ "))]
    first = _index(typed, lambda word: not re.match(r"\w+=", word))
    program, _, script = commandline.key_of(part).partition(" ")
    later = [word if at > first and script else "" for at, word in enumerate(typed)]
    launched = _index(
        later, lambda word: ("/" + word).endswith("/" + script) and re.search(r"[./]", word)
    )
    inner = _index(typed, lambda word: word.endswith("/" + program))
    views = ((first, DEEP), (launched, length - 1), (inner, length - 1))
    return tuple(_view(typed[at:], most) for at, most in views if at < len(typed))


def _index(words: Sequence[str], holds: Callable[[str], object]) -> int:
    """Return the place of the first word that holds, else their number."""
    return next((at for at, word in enumerate(words) if word and holds(word)), len(words))


def _view(typed: list[str], most: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words and flags of a call."""
    program = _VERSIONED.sub("python", typed[0].removeprefix("./"))
    plain = takewhile(_BARE.match, (word for word in typed[1:] if word[:1] != "-"))
    return (program, *islice(plain, max(0, most))), _flags(typed[1:])


def _flags(words: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the options among words."""
    named = {
        re.sub(r"\A-\d+\Z", "-N", word.partition("=")[0])
        for word in words
        if re.match(r"--?\w", word)
    }
    return tuple(sorted(named))


@lru_cache(4096)
def _shape(part: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a call's program with its verbs, and its flags' names."""
    program, _, verb = commandline.key_of(part).partition(" ")
    typed = _WORDS.findall(part)
    at = _index(
        typed, lambda word: word.strip("'\"").rpartition("/")[2].lower().startswith(program)
    )
    rest, words = typed[at % max(1, len(typed)) + 1 :], [program]
    most = 0 if not verb else 2 if program in _DEEP or verb.split()[0] in ("run", "exec") else 1
    for word in [word for word in rest if not word.startswith("-")][:most]:
        if not _BARE.match(word):
            break
        words.append(word)
    if verb and len(words) == 1:
        words += verb.split()
    if tuple(words) in _ADDRESSED:
        words += [
            re.sub(r"\d+", "N", word.strip("'\"").partition("?")[0])
            for word in rest
            if "/" in word and word[0] != "-"
        ][:1]
    return tuple(words), _flags(rest)


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


def project_files(place: Place) -> frozenset[str]:
    """Return the paths that git tracks in the checkout."""
    return frozenset(gitindex.read(place.git).hashes)


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

    The same stem beside it, the same name nearest to it, a near spelling, names beside it with the
    same start; for a folder its parent.
    """
    folder, _, name = path.rpartition("/")
    stem = stem_of(path)
    beside = tree.beside.get(folder, [])
    kin = [one for one in beside if stem_of(one) == stem]
    same = sorted(tree.named.get(name, ()), key=lambda one: (-_shared(one, path), one))
    near = (
        get_close_matches(name, [one.rpartition("/")[2] for one in beside], 1, 0.8)
        if "." in name
        else []
    )
    bare = _letters(stem) if len(_letters(stem)) > 4 else ""
    split = [
        one for one in beside if bare and one not in kin and _letters(stem_of(one)).startswith(bare)
    ]
    if "." not in name and (kin or split):
        return [*kin, *split][:MOST_KIN]
    if kin or same or near:
        return [*kin, *same, *((folder + "/" if folder else "") + one for one in near)][:1]
    if split:
        return split[:MOST_KIN]
    return (
        [above for above in at_failure.above(path) if above in tree.folders][:1]
        if "." not in name
        else []
    )


def _letters(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return "".join(c for c in name.lower() if c.isalnum())


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
    failed = {"command": shape.failed, "why": shape.why} if shape.failed else None
    return {
        "words": shape.words,
        "flags": list(shape.flags),
        "command": shape.example,
        "times": shape.times,
        "sessions": shape.sessions,
        "last": clock.iso(shape.last),
        "where": shape.where,
        "failed_before": failed,
    }
