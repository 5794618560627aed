"""What works here and what does not: the invocations of a tool that worked, and walls, which
several sessions ran into.

`gather_walls` finds walls, with what then worked; `proposal` says what would keep the next session
away from one.  A wall's line is that of the session whose remedy is told, else the newest; calls of
the client's own tools count with the path that they were given, and where its folder is not there
either, with that folder.
A proposal is the line of the project's instructions that names what fails, else a text for a
learning.
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
from memory.core.plaintext import at_word, one_line
from memory.hook import at_failure
from memory.knowledge.history import Past
from memory.knowledge.remedies import (
    PLACE,
    REDIRECTED,
    Failure,
    MetFailure,
    command_and_key,
    episodes,
    key_of,
    met_json,
    stem_of,
    words_of,
)
from memory.project import gitindex
from memory.session import commandline, shell, tellingline
from memory.session.latepattern import Late

HALVED = 45.0  # days after which a use counts half
SESSIONS, TOLD = 3, 2  # that a wall was met in: at least, and where another call is known
INSTRUCTIONS = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
MOST_BYTES = 1 << 19  # of a file of instructions
LEARNT = 400  # characters of a text for a learning
MOST_KIN = 3  # files that are named in place of one that is not there
_ABSENT = ("does not exist", "no such file", "not found", "cannot find")
_SILENCED = ("nolint", "noqa", "type: ignore", "eslint-disable", "pylint: disable", "@ts-ignore")
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


# --- friction: walls


class Wall(NamedTuple):
    """A failure met in several sessions.

    In SESSIONS and more, or in TOLD where another call worked. telling: the line of `best`, else
    the newest. given: the path given to a tool, "" for commands. tools: programs or tools that met
    it. times: how often. last: seconds since the epoch. met: the aftermaths, newest first. best:
    the most telling one, or None.
    """

    telling: str
    given: str
    tools: tuple[str, ...]
    sessions: int
    times: int
    last: float
    met: tuple[MetFailure, ...]
    best: MetFailure | None


class Proposal(NamedTuple):
    """A way to keep the next session from a wall.

    line: a line of the project's instructions that names what fails, `CLAUDE.md:41 names …`, or "".
        learning: a text for `dayleaf learn`, or "".
    """

    line: str
    learning: str


def gather_walls(sessions: Sequence[Past], known: frozenset[str] = frozenset()) -> list[Wall]:
    """Return the failures of several sessions, those with a remedy first.

    SESSIONS and more met them, or TOLD with more than edits as remedy. known: paths of the
    project's files; a path that exists by now is no wall.
    """
    folders = {folder for path in known for folder in _above(path)}
    groups: dict[str, list[Failure]] = {}
    for past in sessions:
        steps = past.steps()
        for at, (_, piece) in enumerate(steps):
            key = (
                _key(piece, folders)
                if piece.kind == RUN and piece.failed and piece.text not in known
                else ""
            )
            if key:
                groups.setdefault(key, []).append(Failure(past, steps, at, key))
    found = [
        _wall(key, rows)
        for key, rows in groups.items()
        if len({past.session for past, *_ in rows}) >= TOLD
    ]
    found = [
        wall for wall in found if wall.sessions >= SESSIONS or wall.best and wall.best.worth > 1
    ]
    return sorted(
        found, key=lambda wall: (wall.best is None, -wall.sessions, -wall.times, wall.telling)
    )


def _wall(key: str, rows: Sequence[Failure]) -> Wall:
    met = sorted(episodes(rows, "same", set()), key=lambda one: -one.at)
    tools = tuple(
        dict.fromkeys(
            one.tool or (command_and_key(one.ran, True) or ("", one.ran.split(" ")[0]))[1]
            for one in met
        )
    )
    best = max(
        (one for one in met if one.worth),
        default=None,
        key=lambda one: (not _is_silent(one), one.worth, bool(one.said), one.at),
    )
    many, times = (
        len({past.session for past, *_ in rows}),
        sum(steps[at][1].times for _, steps, at, _ in rows),
    )
    given = key.split("\n")[1] if "\n" in key else ""
    return Wall((best or met[0]).telling, given, tools, many, times, met[0].at, tuple(met), best)


def _above(path: str) -> list[str]:
    parts = path.strip("/").split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def _key(piece: Piece, folders: set[str]) -> str:
    """Return the key shared by equal failures of different sessions."""
    if is_no_wall(piece):
        return ""
    # a rule's report names another function each time
    key = re.sub(r"`[^`]*`", "`#`", key_of(piece.telling))
    if not piece.name:
        return key if len([word for word in words_of(key) if len(word) > 2]) >= 2 else ""
    given = piece.text.strip()
    if (
        folders
        and _is_absent(piece.telling)
        and "/" in given.strip("/")
        and not given.startswith("/")
    ):
        given = next((folder for folder in _above(given) if folder not in folders), given)
        return "\n".join(("", given, "absent"))  # whichever tool asked for it
    return "\n".join((piece.name, given, key)) if given or len(words_of(key)) > 2 else ""


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


def _is_absent(telling: str) -> bool:
    low = telling.lower()
    return any(mark in low for mark in _ABSENT)


def _is_silent(met: MetFailure) -> bool:
    return any(mark in text for text in (met.passed, met.outcome) for mark in _SILENCED)


def is_placed(telling: str) -> bool:
    """Tell whether a line names a place in a file.

    A place in the shell's own text does not count.
    """
    return at_failure.words_of(telling)[0] and not telling.startswith("(")


# --- proposals


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


@lru_cache(2)
def _tree(known: frozenset[str]) -> Tree:
    return Tree(known, ())


def proposal(place: Place, wall: Wall, known: frozenset[str]) -> Proposal:
    """Return a way to keep the next session from a wall.

    known: paths of the project's files, searched for the nearest to a missing path.
    """
    if wall.given:
        return _path_proposal(place, wall, known)
    best = wall.best
    if best is None:
        return Proposal("", "")
    wrong = bool(MISUSED.search(best.telling)) or not best.covered
    named = best.passed not in ("", best.ran) and wrong
    line = _instruction_line(place, best.ran) if named else ""
    return Proposal(line and "%s; what worked: `%s`" % (line, best.passed), learning(best))


def _path_proposal(place: Place, wall: Wall, known: frozenset[str]) -> Proposal:
    """Return a way to keep the next session from a missing path."""
    if not known or not _is_absent(wall.telling):
        return Proposal("", "")
    near = next(
        (one for one in instead_of(wall.given, _tree(known)) if one in known),
        wall.best.passed if wall.best else "",
    )
    line = _instruction_line(place, wall.given)
    told = "`%s` does not exist here%s." % (wall.given, "; it is `%s`" % near if near else "")
    return Proposal(
        line and line + ("; %s exists" % near if near else ", which is not there"), told
    )


def learning(met: MetFailure) -> str:
    """Return a failure and its remedy as a self-contained learning.

    "" where no other call is known, or where the check was silenced.
    """
    if _is_silent(met):
        return ""
    said = "`%s` fails: %s." % (
        one_line(REDIRECTED.sub("", met.ran), 120),
        one_line(PLACE.sub("", met.telling), 140).rstrip("."),
    )
    if met.passed and met.passed != met.ran:
        said += " What worked: `%s`." % one_line(met.passed, 120)
    return at_word(said, LEARNT) if met.worth > 1 else ""


def _instruction_line(place: Place, said: str) -> str:
    """Return `CLAUDE.md:41 names …` for a path or command, or ""."""
    found = line_of(place, said)
    return "%s:%d names %s" % (*found, one_line(said, 120)) if found else ""


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


def to_json(wall: Wall, proposed: Proposal, place: Place) -> dict[str, Any]:
    """Return a wall for --json."""
    return {
        "error": wall.telling,
        "given": wall.given or None,
        "tools": list(wall.tools),
        "sessions": wall.sessions,
        "times": wall.times,
        "last": clock.iso(wall.last),
        "where": [met.where for met in wall.met[:10]],
        "remedy": met_json(wall.best, place) if wall.best else None,
        "proposal": {"line": proposed.line or None, "learning": proposed.learning or None},
    }


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
