"""What was done after an error: the failures of past sessions that are like it, and what came of
each.

A failure is a failed call in a conversation (or among a checkpoint's commands), known by its
telling line as the hook at a failed call knows it, or by a linter's rule.  What came of it is read
from what follows in the session: the run that covers it, else the nearest call that worked; the
files edited in between; the commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, NamedTuple

from memory.capture import fixes, openings
from memory.capture.turns import FILE, MET, RUN, Piece
from memory.core import clock
from memory.core.layout import Place
from memory.core.plaintext import one_line
from memory.hook import at_failure
from memory.knowledge.history import Past, next_commits, source
from memory.session import commandline, shell, tellingline
from memory.session.latepattern import Late

# characters of a pasted error's begin and end, and of its lines, that are read
END, LINE = 10000, 500
MOST_LINES = 12  # of a pasted error, the most telling ones
REACH = 60  # steps after a failure in which its remedy is looked for
TURNS = 3  # turns in which it is
OPEN = 12  # steps after a failure that nothing is known to have ended
FEW = 3  # failures of a line, below which those of its rule are told too
ALIKE = 0.5  # likeness of two commands, one of which was tried in place of the other
BEGINNING = 15  # characters of a line that begins another one
OPENING = 240  # characters of a statement's opening
# what a command sends its output to
REDIRECTED = Late(r"(?<!\s)\s{1,80}(?:(?:\d?>&?|<)\s{0,20}[^\s<>]{1,400}\s{0,20}){1,8}\Z")
_FRAMES = ("at ", 'File "', "goroutine ", "^", "|", "~", ">", "$ ")
PLACE = Late(r"^(?:[\w./-]+:\d+(?::\d+)?:\s+|- )")
_PATH = Late(r"(?<![\w./-])[\w./-]{0,80}/[\w.-]{1,80}|[\w-]{1,80}\.\w{1,5}\b")


class MetFailure(NamedTuple):
    """A failure in a session and its aftermath.

    at: seconds since the epoch. where: the turn. tool: "" for a command. ran: the failed call.
        passed: the call that then worked, `ran` itself where it is the same, "" for none known.
        last: number of its turn. edits: files. did: runs in between. changed: the new lines at the
        place of the finding.
    """

    past: Past
    at: float
    where: str
    tool: str
    ran: str
    telling: str
    passed: str
    last: int
    edits: tuple[str, ...]
    did: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The opening of the last turn's final statement."""
        return openings.plain(openings.outcome(self.past.turns[self.last - 1]), OPENING)

    @property
    def commit(self) -> str:
        """The commit of the edits that helped, or ""."""
        helped = self.passed and self.edits
        return next(iter(next_commits(self.past, self.last)), "") if helped else ""


class Failure(NamedTuple):
    """A failed run with its place in the session.

    steps: of the session. at: the run's place among them.
    """

    past: Past
    steps: list[tuple[int, Piece]]
    at: int

    @property
    def piece(self) -> Piece:
        """The run that failed."""
        return self.steps[self.at][1]


# a line of an error, and its earlier failures
Met = tuple[str, tuple[MetFailure, ...]]


# --- lines of an error


def clip_ends(error: str) -> str:
    """Return the start and end of an error, its lines clipped.

    A search in a line takes time quadratic in the line's length.
    """
    text = error if len(error) <= 2 * END else error[:END] + "\n" + error[-END:]
    return "\n".join(line.rstrip()[:LINE] for line in text.replace("\r", "\n").split("\n"))


def lines_of(error: str) -> list[str]:
    """Return the telling lines of an error, the most telling first.

    Each once.
    """
    text = re.sub(r"\A\s*(?:Error: )?Exit code \d+\s*\n?", "", clip_ends(error))
    found: dict[str, str] = {}
    for line in (
        *tellingline.pick_telling_lines(text, most=8).lines,
        *at_failure.error_lines(text),
    ):
        key = key_of(line)
        if (
            " " in key
            and not line.startswith(_FRAMES)
            and not tellingline.is_trailer(PLACE.sub("", line))
        ):
            found.setdefault(key, line)
    return list(found.values())[:MOST_LINES]


@lru_cache(8192)
def key_of(line: str) -> str:
    """Return a key shared by reports of the same failure."""
    return " ".join(at_failure.words_of(line)[2])


def _rule_of(line: str) -> str:
    """Return the linter's rule that a line names, or ""."""
    return at_failure.words_of(line)[1].strip("…")


def _begins(one: str, other: str) -> bool:
    """Tell whether one key is the start of another."""
    return len(min(one, other, key=len)) > BEGINNING and (
        one.startswith(other) or other.startswith(one)
    )


def telling_words(error: str) -> list[str]:
    """Return the longest words of an error, in lower case.

    A body that tells of the error holds some of them.
    """
    words = {
        word
        for line in lines_of(error)
        for word in re.findall(r"[^\W\d_][\w.-]{2,80}\w", line.lower())
    }
    return sorted(words, key=lambda word: (-len(word), word))[:24]


# --- what came of a failure


def aftermath(failed: Failure) -> MetFailure:
    """Return a failed run with its aftermath."""
    past, steps, at = failed
    number, piece = steps[at]
    reach = [(n, p) for n, p in steps[at + 1 : at + 1 + REACH] if n <= number + TURNS]
    end, passed = _remedy(piece, reach)
    between = [p for _, p in reach[: end if passed else OPEN]]
    ran = (p for p in between if p.kind == RUN and not p.name and p.outcome == shell.OK)
    return MetFailure(
        past,
        past.at(number),
        past.ref(number),
        piece.name,
        one_line(piece.text),
        piece.telling,
        passed,
        reach[end][0] if passed else number,
        tuple(dict.fromkeys(p.text for p in between if p.kind == FILE)),
        tuple(dict.fromkeys(one_line(p.text) for p in ran))[-3:],
        _changed(piece, between) if passed else (),
    )


def _changed(failed: Piece, between: Iterable[Piece]) -> tuple[str, ...]:
    """Return the lines that replaced a failed run's finding."""
    key, rule = key_of(failed.telling), _rule_of(failed.telling)
    met = (
        p.text
        for p in between
        if p.kind == MET and (key_of(p.name) == key or rule and _rule_of(p.name) == rule)
    )
    return tuple(dict.fromkeys(met))[:FEW]


def _successes(reach: Sequence[tuple[int, Piece]]) -> list[tuple[int, str, shell.Run]]:
    """Return (place, command, run) of the commands that passed."""
    return [
        (at, p.text, run)
        for at, (_, p) in enumerate(reach)
        if p.kind == RUN and not p.name and p.outcome in (shell.OK, shell.BY_HAND)
        for run in (_run(p),)
        if run is not None
    ]


def _remedy(failed: Piece, reach: Sequence[tuple[int, Piece]]) -> tuple[int, str]:
    """Return (place, call) of the first success.

    The failed call itself where it is the same.
    """
    failure = _run(failed)
    if failure is None:
        return 0, ""
    runs = _successes(reach)
    for at, command, run in runs:
        if _is_same_call(failure, command):
            return at, one_line(failed.text)
        if fixes.passes(run, failure) or _is_same_aim(failure.command, command):
            return at, one_line(command)
    for at, command, run in runs:
        likeness = SequenceMatcher(None, command, failed.text)
        if run.key == failure.key and likeness.ratio() >= ALIKE:
            return at, one_line(command)
    return 0, ""


@lru_cache(4096)
def command_and_key(command: str, failed: bool) -> tuple[str, str] | None:
    """Return (command, program and verb) of a shell line.

    None for a line that does not matter.
    """
    run = shell.run(command, "", "", None, failed)
    return (run.command, run.key) if run is not None else None


def _run(piece: Piece) -> shell.Run | None:
    found = command_and_key(piece.text, piece.failed) if not piece.name else None
    return shell.Run("", *found, piece.outcome, piece.telling) if found else None


def own_part(command: str, key: str) -> str:
    """Return the part of a shell line with a program and verb, else the line."""
    parts = commandline.parts(command)
    part = next((part for part in parts if commandline.key_of(part) == key), command)
    return REDIRECTED.sub("", part)


def _is_same_call(failure: shell.Run, command: str) -> bool:
    """Tell whether a shell line repeats a failed call in its folder."""
    own = own_part(failure.command, failure.key).split()
    mine, made = calls(failure.command), calls(command)
    moved = {call for call in mine if call.startswith("cd ")}
    return moved <= made and (
        (made <= mine and made != moved)
        or any(
            set(own) <= set(call.split())
            and call.split()[0] == own[0]
            and not any(re.match(r"-|\w+=", word) for word in set(call.split()).difference(own))
            for call in made
        )
    )


def _is_same_aim(failed: str, command: str) -> bool:
    """Tell whether another program got the failed call's arguments."""
    given = _arguments(failed)
    made = calls(command) - calls(failed)
    return bool(given) and any(call.endswith(" " + given) for call in made)


@lru_cache(2048)
def _arguments(command: str) -> str:
    """Return the arguments of a line's last call, "" for options alone."""
    part = commandline.parts(command)[-1:]
    words = REDIRECTED.sub("", part[0]).split()[1:] if part else []
    return " ".join(words) if any(word[:1] != "-" for word in words) else ""


@lru_cache(2048)
def calls(command: str) -> frozenset[str]:
    """Return the calls of a line, without redirections.

    Not those that only look around.
    """
    return frozenset(
        " ".join(REDIRECTED.sub("", part).split())
        for part in commandline.parts(command)
        if part.startswith("cd ") or not commandline.is_noise(commandline.key_of(part))
    )


# --- fix


def fix(sessions: Sequence[Past], error: str) -> tuple[Met, ...]:
    """Return the lines of an error that were met before, with their remedies.

    sessions: newest first. error: one line or many, as it was printed. The most telling line comes
    first.
    """
    failures = _failures(sessions, error)
    met: list[Met] = []
    taken: set[tuple[str, int]] = set()
    for line in lines_of(error):
        key, rule = key_of(line), _rule_of(line)
        keyed = [(key_of(failed.piece.telling), failed) for failed in failures]
        same = [failed for other, failed in keyed if other == key or _begins(other, key)]
        found = _episodes(same, taken)
        if rule and len(same) < FEW:
            ruled = (failed for failed in failures if _rule_of(failed.piece.telling) == rule)
            found += _episodes(ruled, taken)
        if found:
            met.append((line, tuple(found)))
    return tuple(met)


def _failures(sessions: Sequence[Past], error: str) -> list[Failure]:
    """Return the failed runs of all sessions."""
    paths = {word.rpartition("/")[2].lower() for word in _PATH.findall(clip_ends(error))}
    return [
        Failure(past, steps, at)
        for past in sessions
        for steps in (past.steps(),)
        for at, (_, piece) in enumerate(steps)
        if piece.kind == RUN
        and piece.failed
        and piece.telling
        and (not piece.name or not paths or piece.text.rpartition("/")[2].lower() in paths)
    ]


def _episodes(failures: Iterable[Failure], taken: set[tuple[str, int]]) -> list[MetFailure]:
    """Return failures with their aftermath, telling ones first, then newest.

    Failures of a session that the same success ended count once, by the last. taken: (record,
    place) already returned.
    """
    found: dict[tuple[str, str, str], MetFailure] = {}
    for failure in failures:
        if (failure.past.id, failure.at) not in taken:
            taken.add((failure.past.id, failure.at))
            met = aftermath(failure)
            found[(met.past.id, key_of(met.telling), met.passed)] = met
    return sorted(found.values(), key=lambda met: (not _tells(met), -met.at))


def _tells(met: MetFailure) -> bool:
    return bool(met.passed and (met.edits or met.passed != met.ran))


# --- for --json


def met_json(met: MetFailure, place: Place) -> dict[str, Any]:
    """Return a failure and its aftermath as plain data."""
    return {
        **source(met.past, place),
        "at": clock.iso(met.at),
        "where": met.where,
        "tool": met.tool or None,
        "ran": met.ran,
        "error": met.telling,
        "tried": list(met.did),
        "edited": list(met.edits),
        "changed": list(met.changed),
        "worked": met.passed or None,
        "same_call": met.passed == met.ran,
        "outcome": met.outcome or None,
        "commit": met.commit or None,
    }


def to_json(found: Iterable[Met], place: Place, limit: int | None = None) -> dict[str, Any]:
    """Return remedies as plain data, at most `limit` occurrences of each line."""
    return {
        "lines": [
            {
                "error": line,
                "sessions": len({met.past.session for met in every}),
                "met": [met_json(met, place) for met in every[:limit]],
            }
            for line, every in found
        ],
    }
