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
from memory.core import clock, tokeniser
from memory.core.layout import Place
from memory.core.plaintext import one_line
from memory.hook import wallkeys
from memory.knowledge.history import PastSession, find_next_commits, source_json
from memory.recall.hit import Hit
from memory.session import commandline, shell, tellingline
from memory.session.latepattern import LazyPattern

# characters of a pasted error's begin and end, and of its lines, that are read
END, LINE = 10000, 500
MOST_LINES = 12  # of a pasted error, the most telling ones
REACH = 60  # steps after a failure in which its remedy is looked for
TURNS = 3  # turns in which it is
OPEN = 12  # steps after a failure that nothing is known to have ended
FEW = 3  # failures of a line, below which those of its rule are told too
# likeness of two commands, one of which was tried in place of the other; share of their words
ALIKE = 0.5
BEGINNING = 15  # characters of a line that begins another one
OPENING = 240  # characters of a statement's opening
# what a command sends its output to
REDIRECTED = LazyPattern(r"(?<!\s)\s{1,80}(?:(?:\d?>&?|<)\s{0,20}[^\s<>]{1,400}\s{0,20}){1,8}\Z")
_FRAMES = ("at ", 'File "', "goroutine ", "^", "|", "~", ">", "$ ")
# `a.py:3:7: ` or `- ` before a message
PLACE = LazyPattern(r"^(?:[\w./-]+:\d+(?::\d+)?:\s+|- )")
# a path, or a name with an extension
_PATH = LazyPattern(r"(?<![\w./-])[\w./-]{0,80}/[\w.-]{1,80}|[\w-]{1,80}\.\w{1,5}\b")


class FailureAftermath(NamedTuple):
    """A failed call and its aftermath.

    where: the turn. tool: "" for a command. passed: the call that then worked, `ran` itself where
    it is the same, "" for none known. last: number of its turn. edits: files. did: runs in between.
    changed: the new lines at the place of the finding.
    """

    past: PastSession
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
        return openings.format_plain_line(
            openings.find_outcome(self.past.turns[self.last - 1]), OPENING
        )

    @property
    def commit(self) -> str:
        """The commit of the edits that helped, or ""."""
        helped = self.passed and self.edits
        return next(iter(find_next_commits(self.past, self.last)), "") if helped else ""


class Failure(NamedTuple):
    """A failed call: the step `at` of a session."""

    past: PastSession
    steps: list[tuple[int, Piece]]
    at: int

    @property
    def piece(self) -> Piece:
        return self.steps[self.at][1]


# a line of an error, and its earlier failures
Met = tuple[str, tuple[FailureAftermath, ...]]


# --- lines of an error


def clip_ends(error: str) -> str:
    """Return an error's start and end, long lines clipped.

    A search in a line takes time quadratic in the line's length.
    """
    text = error if len(error) <= 2 * END else error[:END] + "\n" + error[-END:]
    return "\n".join(line.rstrip()[:LINE] for line in text.replace("\r", "\n").split("\n"))


def find_telling_lines(error: str) -> list[str]:
    """Return the lines of an error that best tell what failed, best first."""
    text = re.sub(r"\A\s*(?:Error: )?Exit code \d+\s*\n?", "", clip_ends(error))
    found: dict[str, str] = {}
    for line in (
        *tellingline.pick_telling_lines(text, most=8).lines,
        *wallkeys.split_error_lines(text),
    ):
        key = failure_key(line)
        if (
            " " in key
            and not line.startswith(_FRAMES)
            and not tellingline.is_trailer(PLACE.sub("", line))
        ):
            found.setdefault(key, line)
    return list(found.values())[:MOST_LINES]


@lru_cache(8192)
def failure_key(line: str) -> str:
    """Return a key shared by reports of the same failure."""
    return " ".join(wallkeys.parse_error_line(line)[2])


def _find_rule(line: str) -> str:
    """Return the linter rule in a line, or ""."""
    return wallkeys.parse_error_line(line)[1].strip("…")


def _is_beginning(one: str, other: str) -> bool:
    """Tell whether one of two failures' keys begins the other."""
    return len(min(one, other, key=len)) > BEGINNING and (
        one.startswith(other) or other.startswith(one)
    )


def pick_longest_words(error: str) -> list[str]:
    """Return an error's longest words, to search records by."""
    words = {
        word
        for line in find_telling_lines(error)
        for word in re.findall(r"[^\W\d_][\w.-]{2,80}\w", line.lower())
    }
    return sorted(words, key=lambda word: (-len(word), word))[:24]


# --- what came of a failure


def find_aftermath(failed: Failure) -> FailureAftermath:
    """Return a failed call with its aftermath: runs, edits, remedy."""
    past, steps, at = failed
    number, piece = steps[at]
    reach = [(n, p) for n, p in steps[at + 1 : at + 1 + REACH] if n <= number + TURNS]
    end, passed = _find_remedy(piece, reach)
    between = [p for _, p in reach[: end if passed else OPEN]]
    ran = (p for p in between if p.kind == RUN and not p.name and p.outcome == shell.OK)
    return FailureAftermath(
        past,
        past.at(number),
        past.ref(number),
        piece.name,
        one_line(piece.text),
        piece.telling,
        passed,
        last=reach[end][0] if passed else number,
        edits=tuple(dict.fromkeys(p.text for p in between if p.kind == FILE)),
        did=tuple(dict.fromkeys(one_line(p.text) for p in ran))[-3:],
        changed=_find_new_lines(piece, between) if passed else (),
    )


def _find_new_lines(failed: Piece, between: Iterable[Piece]) -> tuple[str, ...]:
    """Return the new lines of code that answered a failed check's finding."""
    key, rule = failure_key(failed.telling), _find_rule(failed.telling)
    met = (piece for piece in between if piece.kind == MET)
    lines = (
        piece.text
        for piece in met
        if (rule and _find_rule(piece.name) == rule) or failure_key(piece.name) == key
    )
    return tuple(dict.fromkeys(lines))[:FEW]


def _find_successes(reach: Sequence[tuple[int, Piece]]) -> list[tuple[int, str, shell.Run]]:
    """Return (index, command, run) of each successful command."""
    return [
        (at, piece.text, run)
        for at, (_, piece) in enumerate(reach)
        if piece.kind == RUN and piece.outcome in (shell.OK, shell.BY_HAND)
        for run in filter(None, [_parse_run(piece)])
    ]


def _find_remedy(failed: Piece, reach: Sequence[tuple[int, Piece]]) -> tuple[int, str]:
    """Return (index, call) of the call that then worked, (0, "") for none."""
    failure = _parse_run(failed)
    if failure is None:
        return 0, ""
    runs = _find_successes(reach)
    # a pass of another program's does not tell how this one is called
    kind = tellingline.pick_telling_lines(failed.telling, failed.text).kind
    alone = failure.key if kind == tellingline.USE else ""
    for at, command, run in runs:
        if _is_same_call(failure, command):
            return at, one_line(failed.text)
        is_pass = alone in ("", run.key) and fixes.shows_pass(run, failure)
        if is_pass or _is_same_aim(failure.command, command):
            return at, one_line(command)
    return _find_alike(failed, failure, runs, reach)


def _find_alike(
    failed: Piece,
    failure: shell.Run,
    runs: Sequence[tuple[int, str, shell.Run]],
    reach: Sequence[tuple[int, Piece]],
) -> tuple[int, str]:
    """Return (index, call) of a successful call like the failed one, (0, "") for none."""
    for at, command, run in runs:
        same = run.key == failure.key
        if same and SequenceMatcher(None, command, failed.text).ratio() >= ALIKE:
            return at, one_line(command)
    if runs:
        at, command, run = runs[0]
        is_mended = any(piece.kind == FILE for _, piece in reach[:at])
        if not is_mended and _is_other_way(failure, run, command):
            return at, one_line(command)
    return 0, ""


def _is_other_way(failure: shell.Run, run: shell.Run, command: str) -> bool:
    """Tell whether another program was given half of a failed call's words."""
    words = set(re.findall(r"\w{4,}", failure.command.lower()))
    shared = sum(word in command.lower() for word in words)
    program = run.key.partition(" ")[0]
    is_other = program not in ("git", failure.key.partition(" ")[0])
    return is_other and shared > 1 and shared >= ALIKE * len(words)


@lru_cache(4096)
def parse_command(command: str, failed: bool) -> tuple[str, str] | None:
    """Return (command, program and verb) of a shell line, None if it only looks."""
    run = shell.judge_command(command, "", "", None, failed)
    return (run.command, run.key) if run is not None else None


def _parse_run(piece: Piece) -> shell.Run | None:
    found = parse_command(piece.text, piece.failed) if not piece.name else None
    return shell.Run("", *found, piece.outcome, piece.telling) if found else None


def find_call(command: str, key: str) -> str:
    """Return the part of a shell line that calls `key`, else the line."""
    parts = commandline.split_commands(command)
    part = next((part for part in parts if commandline.parse_key(part) == key), command)
    return REDIRECTED.sub("", part)


def _is_same_call(failure: shell.Run, command: str) -> bool:
    """Tell whether a shell line repeats a failed call in its folder."""
    failed_words = find_call(failure.command, failure.key).split()
    failed_calls, calls = split_calls(failure.command), split_calls(command)
    moves = {call for call in failed_calls if call.startswith("cd ")}
    changed = {call.split()[0] for call in failed_calls - calls - moves}
    if not moves <= calls or len(failed_calls) > 1 and _starts_with(calls - failed_calls, changed):
        return False
    is_part = calls <= failed_calls and calls != moves
    return is_part or any(_extends(call.split(), failed_words) for call in calls)


def _starts_with(calls: Iterable[str], programs: set[str]) -> bool:
    return any(call.split()[0] in programs for call in calls)


def _extends(words: Sequence[str], shorter: Sequence[str]) -> bool:
    """Tell whether a call adds only arguments to another, no options or variables."""
    more = set(words).difference(shorter)
    has_all = set(shorter) <= set(words) and words[0] == shorter[0]
    return has_all and not any(re.match(r"-|\w+=", word) for word in more)


def _is_same_aim(failed: str, command: str) -> bool:
    """Tell whether another program got the failed call's arguments."""
    given = _last_arguments(failed)
    made = split_calls(command) - split_calls(failed)
    return bool(given) and any(call.endswith(" " + given) for call in made)


@lru_cache(2048)
def _last_arguments(command: str) -> str:
    """Return the arguments of a line's last call, "" for options alone."""
    part = commandline.split_commands(command)[-1:]
    words = REDIRECTED.sub("", part[0]).split()[1:] if part else []
    return " ".join(words) if any(word[:1] != "-" for word in words) else ""


@lru_cache(2048)
def split_calls(command: str) -> frozenset[str]:
    """Return the calls of a shell line that do more than look around."""
    return frozenset(
        " ".join(REDIRECTED.sub("", part).split())
        for part in commandline.split_commands(command)
        if part.startswith("cd ") or not commandline.is_noise(commandline.parse_key(part))
    )


# --- fix


def find_remedies(sessions: Sequence[PastSession], error: str) -> tuple[Met, ...]:
    """Return the lines of an error that past sessions met, with remedies.

    sessions: newest first. error: as it was printed. The most telling line comes first.
    """
    failures = _find_failures(sessions, error)
    met: list[Met] = []
    taken: set[tuple[str, int]] = set()
    keyed = [(failure_key(failed.piece.telling), failed) for failed in failures]
    for line in find_telling_lines(error):
        key, rule = failure_key(line), _find_rule(line)
        same = [failed for other, failed in keyed if other == key or _is_beginning(other, key)]
        episodes = _find_episodes(same, taken)
        if rule and len(same) < FEW:
            ruled = (failed for failed in failures if _find_rule(failed.piece.telling) == rule)
            episodes += _find_episodes(ruled, taken)
        if episodes:
            met.append((line, tuple(episodes)))
    return tuple(met)


def _find_failures(sessions: Sequence[PastSession], error: str) -> list[Failure]:
    """Return failed commands, and failed tool calls on files that the error names."""
    paths = {word.rpartition("/")[2].lower() for word in _PATH.findall(clip_ends(error))}
    return [
        Failure(past, steps, at)
        for past in sessions
        for steps in [past.steps()]
        for at, (_, piece) in enumerate(steps)
        if piece.kind == RUN and piece.failed and piece.telling
        if not (piece.name and paths) or piece.text.rpartition("/")[2].lower() in paths
    ]


def _find_episodes(
    failures: Iterable[Failure], taken: set[tuple[str, int]]
) -> list[FailureAftermath]:
    """Return failures with aftermath, those with a new remedy first.

    Failures of a session that the same success ended count once, by the last. taken: (record,
    place) already returned.
    """
    episodes: dict[tuple[str, str, str], FailureAftermath] = {}
    for failure in failures:
        if (failure.past.id, failure.at) not in taken:
            taken.add((failure.past.id, failure.at))
            episode = find_aftermath(failure)
            episodes[(episode.past.id, failure_key(episode.telling), episode.passed)] = episode
    return sorted(
        episodes.values(),
        key=lambda met: (not (met.passed and (met.edits or met.passed != met.ran)), -met.at),
    )


def quote_nearest_line(found: Hit, error: str) -> Hit:
    """Return a hit with that line of its quotes which is nearest to an error."""
    sought = set(tokeniser.index_terms(clip_ends(error)))
    every = [quote._replace(text=line) for quote in found.quotes for line in quote.text.split("\n")]
    if not every:
        return found
    near = max(every, key=lambda quote: len(sought & set(tokeniser.index_terms(quote.text))))
    id = "%s#%d" % (near.id, near.turn) if near.turn else found.id
    return found._replace(id=id, quotes=(near,))


# --- for --json


def met_json(episode: FailureAftermath, place: Place) -> dict[str, Any]:
    return {
        **source_json(episode.past, place),
        "at": clock.iso(episode.at),
        "where": episode.where,
        "tool": episode.tool or None,
        "ran": episode.ran,
        "error": episode.telling,
        "tried": list(episode.did),
        "edited": list(episode.edits),
        "changed": list(episode.changed),
        "worked": episode.passed or None,
        "same_call": episode.passed == episode.ran,
        "outcome": episode.outcome or None,
        "commit": episode.commit or None,
    }


def to_json(found: Iterable[Met], place: Place, limit: int | None = None) -> dict[str, Any]:
    """Return remedies as plain data, at most `limit` failures per line."""
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
