"""What was done after an error: the failures of past sessions that are like it, and what came of
each.

A failure is a failed call in a conversation (or among a checkpoint's commands), known by its
telling line as `shell.normal` leaves it.  What came of it is read from what follows in the session:
the run that covers it, else the nearest call that worked; the files edited in between; the commit.
An error that was pasted into a prompt,
or only spoken of, counts where few runs failed with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from math import log
from typing import Any, NamedTuple

from memory.capture import fixes, openings
from memory.capture.turns import FILE, MET, REMOVED, RUN, SAID, SUMMARY, USER, Piece
from memory.core import clock
from memory.core.layout import Place
from memory.core.plaintext import at_word, one_line
from memory.knowledge.history import (
    EMPTY,
    QUOTE,
    RULE,
    WORD,
    Past,
    mark_of,
    next_commits,
    outcome,
    source,
)
from memory.session import commandline, shell, tellingline
from memory.session.latepattern import Late

# characters of a pasted error's begin and end, and of its lines, that are read
END, LINE = 10000, 500
MOST_LINES = 12  # of a pasted error, the most telling ones
REACH = 60  # steps after a failure in which its remedy is looked for
TURNS = 3  # turns in which it is
# steps of its turn before it and after it, among which files that it names are looked for
WITHIN = 40
OPEN = 12  # steps after a failure that nothing is known to have ended
FEW = 3  # failures of a line, below which those who spoke of it are asked too
NEAR, NEAREST = 0.68, 0.45  # likeness of two lines: the same kind of failure; worth a mention
ALIKE = 0.5  # likeness of two commands, one of which was tried in place of the other
OPENING = 240  # characters of a statement's opening
# what a command sends its output to
REDIRECTED = Late(r"(?<!\s)\s{1,80}(?:(?:\d?>&?|<)\s{0,20}[^\s<>]{1,400}\s{0,20}){1,8}\Z")
_FRAMES = ("at ", 'File "', "goroutine ", "^", "|", "~", ">", "$ ")
_LISTED = Late(r"\d+ \|")  # a line of source, with its number
PLACE = Late(r"^(?:[\w./-]+:\d+(?::\d+)?:\s+|- )")
_PATH = Late(r"(?<![\w./-])[\w./-]{0,80}/[\w.-]{1,80}|[\w-]{1,80}\.\w{1,5}\b")


class MetFailure(NamedTuple):
    """A failure in a session and its aftermath.

    at: seconds since the epoch. where: the turn. how: `same`, `near` or `said`. tool: "" for a
        command. ran: the failed call (for `said` the request). edits: files. did: runs in between.
        passed: the call that then worked, "" for none known; covered: whether it is the same call
        or more of it. changed: the new lines at the place of the finding. said: where nothing
        passed, the statement about it right after the failure. outcome: the opening of the turn's
        final statement.
    """

    past: Past
    at: float
    where: str
    how: str
    tool: str
    ran: str
    telling: str
    edits: tuple[str, ...] = ()
    did: tuple[str, ...] = ()
    passed: str = ""
    covered: bool = False
    said: str = ""
    outcome: str = ""
    commit: str = ""
    changed: tuple[str, ...] = ()

    @property
    def worth(self) -> int:
        """How telling the aftermath is, 0 to 2.

        2 where another call worked, 1 where edits were made before it passed, else 0.
        """
        return (
            2 if self.passed and self.passed != self.ran else 1 if self.passed and self.edits else 0
        )


class Answer(NamedTuple):
    """The answer of `fix`.

    met: (the error's line, its earlier failures), the most telling line first. nearest: the nearest
        failures where none is equal.
    """

    met: tuple[tuple[str, tuple[MetFailure, ...]], ...]
    nearest: tuple[MetFailure, ...]


class Failure(NamedTuple):
    """A failed run with its place in the session.

    steps: of the session. at: the run's place among them. key: identifies equal failures.
    """

    past: Past
    steps: list[tuple[int, Piece]]
    at: int
    key: str

    @property
    def piece(self) -> Piece:
        """The failed run."""
        return self.steps[self.at][1]


# a turn: what user and model said, as it is and in small letters
TurnStatements = tuple[Past, int, list[str], list[str]]


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
    every = [line.strip() for line in text.split("\n")]
    found: dict[str, str] = {}
    for line in [
        *tellingline.pick_telling_lines(text, most=8).lines,
        *(line for line in every if not line.startswith(_FRAMES) and not _LISTED.match(line)),
    ]:
        if len({word for word in words_of(key_of(line)) if len(word) > 1}) >= 2 or RULE.search(
            line
        ):
            found.setdefault(key_of(line), line)
    kept = [
        line for line in found.values() if not tellingline.is_trailer(PLACE.sub("", line))
    ] or list(found.values())[:1]
    return kept or [line for line in every if line][:1]


@lru_cache(8192)
def key_of(line: str) -> str:
    """Return a key shared by reports of the same failure."""
    return shell.normal(PLACE.sub("", line.strip())).rstrip("….: ")


@lru_cache(8192)
def words_of(key: str) -> frozenset[str]:
    """Return the telling words of a key."""
    return frozenset(word for word in WORD.findall(key) if word not in EMPTY)


def likeness(one: str, other: str) -> float:
    """Return the similarity of two keys, 0 to 1.

    The share of common words, by length. Two reports of one rule are alike though their arguments
    differ.
    """
    if one == other:
        return 1.0
    shared, ruled = words_of(one) & words_of(other), _same_rule(one, other)
    if len(shared) < 3 and not ruled:
        return 0.0
    both, *sizes = (sum(map(len, words)) for words in (shared, words_of(one), words_of(other)))
    return min(0.99, sum(0.5 * both / max(1, size) for size in sizes) + 0.25 * ruled)


def _same_rule(one: str, other: str) -> bool:
    first, second = RULE.search(one), RULE.search(other)
    return bool(first and second and first.group().strip() == second.group().strip())


def _begins(one: str, other: str) -> bool:
    """Tell whether one key is the start of another."""
    return len(min(one, other, key=len)) > 40 and (one.startswith(other) or other.startswith(one))


def telling_words(error: str) -> list[str]:
    """Return the longest words of an error, in lower case.

    A body that speaks of the error holds some of them.
    """
    words = {
        word.lower() for line in lines_of(error) for word in WORD.findall(line) if len(word) > 3
    }
    return sorted(words - EMPTY, key=lambda word: (-len(word), word))[:24]


# --- what came of a failure


def remedy_of(failed: Failure) -> str:
    """Return the call that worked after a failed run, or ""."""
    return _remedy(failed.piece, _reach(failed))[1]


def _reach(failed: Failure) -> list[tuple[int, Piece]]:
    """Return the steps after a failed run that may hold its remedy."""
    number = failed.steps[failed.at][0]
    after = failed.steps[failed.at + 1 : failed.at + 1 + REACH]
    return [(n, p) for n, p in after if n <= number + TURNS]


def aftermath(failed: Failure, how: str, ended: bool = True) -> MetFailure:
    """Return a failed run with its aftermath.

    ended: include how its turn ended, and its commit.
    """
    past, steps, at, _ = failed
    number, piece = steps[at]
    reach = _reach(failed)
    end, passed, covered = _remedy(piece, reach)
    between = [p for _, p in reach[: end if passed else OPEN]]
    last = reach[end][0] if passed else number
    spoken = [p.text for p in between if p.kind in (SAID, USER)]
    edits = _edits(piece, between, _near(failed) if passed else [])
    return MetFailure(
        past,
        past.at(number),
        past.ref(number),
        how,
        piece.name,
        one_line(piece.text),
        piece.telling,
        edits,
        tuple(
            dict.fromkeys(
                one_line(p.text)
                for p in between
                if p.kind == RUN and not p.name and p.outcome == shell.OK
            )
        )[-3:],
        passed,
        covered,
        "" if passed else _first_mention(spoken, piece.telling),
        outcome(past.turns[last - 1], OPENING) if ended else "",
        next(iter(next_commits(past, last)), "") if ended and passed and edits else "",
        _changed(piece, between) if passed else (),
    )


def _changed(failed: Piece, between: Iterable[Piece]) -> tuple[str, ...]:
    """Return the lines that replaced a failed run's finding."""
    key = key_of(failed.telling)
    met = (p.text for p in between if p.kind == MET and likeness(key_of(p.name), key) >= NEAR)
    return tuple(dict.fromkeys(met))[:FEW]


def _near(failed: Failure) -> list[Piece]:
    """Return the events near a failed run in its turn."""
    steps, at = failed.steps, failed.at
    return [
        piece
        for number, piece in steps[max(at - WITHIN, 0) : at + WITHIN]
        if number == steps[at][0]
    ]


def _first_mention(spoken: Iterable[str], telling: str) -> str:
    """Return the first statement about a failure after it, or ""."""
    wanted, mark = {word for word in words_of(key_of(telling)) if len(word) > 2}, mark_of(telling)
    for text in spoken:
        said = openings.plain(text)
        if len(wanted & words_of(said.lower())) > 1 or (mark and mark in said.lower()):
            return at_word(said, OPENING)
    return ""


def _edits(failed: Piece, between: Iterable[Piece], turn: Iterable[Piece]) -> tuple[str, ...]:
    """Return the files edited after a failure."""
    edits = [p.text for p in between if p.kind == FILE]
    failure = _run(failed) if not edits else None
    named = (
        [p.text for p in turn if p.kind == FILE and fixes.names(p.text, failure)] if failure else []
    )
    return tuple(dict.fromkeys(edits or named))


def _remedy(failed: Piece, reach: Sequence[tuple[int, Piece]]) -> tuple[int, str, bool]:
    """Return (place, call, whether it covers) of the first success."""
    failure = _run(failed)
    if failed.name or failure is None:
        return _path_instead(failed, reach)
    runs = [
        (at, p.text, run)
        for at, (_, p) in enumerate(reach)
        if p.kind == RUN and not p.name and p.outcome in (shell.OK, shell.BY_HAND)
        for run in (_run(p),)
        if run is not None
    ]
    for at, command, run in runs:
        if _is_same_call(failure, command):
            return at, one_line(failed.text), True
        if fixes.passes(run, failure) or _is_same_aim(failure.command, command):
            return at, one_line(command), True
    near = [
        row
        for row in runs
        if row[2].key == failure.key and SequenceMatcher(None, row[1], failed.text).ratio() >= ALIKE
    ]
    return (near[0][0], one_line(near[0][1]), False) if near else (0, "", False)


def _path_instead(failed: Piece, reach: Sequence[tuple[int, Piece]]) -> tuple[int, str, bool]:
    """Return the file used in place of a missing one."""
    stem = stem_of(failed.text)
    found = [
        (at, p.text)
        for at, (_, p) in enumerate(reach[: REACH // 2])
        if stem
        and p.kind == FILE
        and p.name != REMOVED
        and p.text != failed.text
        and stem_of(p.text) == stem
    ]
    return (found[0][0], one_line(found[0][1]), False) if found else (0, "", False)


def stem_of(path: str) -> str:
    """Return a file's name up to its first dot."""
    return path.rpartition("/")[2].lstrip(".").partition(".")[0]


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
    return next((part for part in parts if commandline.key_of(part) == key), command)


def _is_same_call(failure: shell.Run, command: str) -> bool:
    """Tell whether a shell line repeats (part of) a failed call."""
    own = own_part(failure.command, failure.key)
    wanted, calls = set(REDIRECTED.sub("", own).split()), _calls(command)
    moved = [words for words in _calls(failure.command) if words[:1] == ("cd",)]
    return all(words in calls for words in moved) and (
        calls <= _calls(failure.command)
        or any(
            wanted <= set(words)
            and words[0] == own.split()[0]
            and not any(re.match(r"-|\w+=", word) for word in set(words) - wanted)
            for words in calls
        )
    )


def _is_same_aim(failed: str, command: str) -> bool:
    """Tell whether another program got the failed call's arguments."""
    given = _arguments(failed)
    if not given:
        return False
    every = [" ".join(words) for words in _calls(command)]
    mine = [" ".join(words) for words in _calls(failed)]
    return any(one.endswith(" " + given) and one not in mine for one in every)


@lru_cache(2048)
def _arguments(command: str) -> str:
    """Return the arguments of a line's last call, "" for options alone."""
    part = commandline.parts(command)[-1:]
    words = REDIRECTED.sub("", part[0]).split()[1:] if part else []
    return " ".join(words) if any(word[:1] != "-" for word in words) else ""


@lru_cache(2048)
def _calls(command: str) -> frozenset[tuple[str, ...]]:
    """Return the words of each call of a line, without redirections."""
    return frozenset(tuple(REDIRECTED.sub("", part).split()) for part in commandline.parts(command))


# --- fix


def fix(sessions: Sequence[Past], error: str) -> Answer:
    """Return the earlier remedies of an error.

    sessions: newest first. error: one line or many, as it was printed.
    """
    failures = _failures(sessions, error)
    rarity = _rarity([failure.key for failure in failures])
    lines = sorted(
        ((line, key_of(line)) for line in lines_of(error)), key=lambda pair: -rarity(pair[1])
    )[:MOST_LINES]
    met: list[tuple[str, tuple[MetFailure, ...]]] = []
    heard: list[TurnStatements] = []
    taken: set[tuple[str, int]] = set()
    for line, key in lines:
        same = [f for f in failures if f.key == key or _begins(f.key, key)]
        near = (
            [f for f in failures if f not in same and likeness(f.key, key) >= NEAR]
            if len(same) < FEW
            else []
        )
        found = [*episodes(same, "same", taken), *episodes(near, "near", taken)]
        if len(found) < FEW:
            heard = heard or _statements_by_turn(sessions)
            found += _turns_mentioning(heard, line, key, taken)
        if found:
            met.append((line, tuple(found)))
    if met:
        return Answer(tuple(met), ())
    closest = sorted(
        ((likeness(f.key, key), f) for f in failures for _, key in lines), key=lambda row: -row[0]
    )[: 2 * FEW]
    return Answer(
        (), tuple(episodes([f for alike, f in closest if alike >= NEAREST], "near", taken)[:FEW])
    )


def _failures(sessions: Sequence[Past], error: str) -> list[Failure]:
    """Return the failed runs of all sessions."""
    paths = {word.rpartition("/")[2].lower() for word in _PATH.findall(clip_ends(error))}
    return [
        Failure(past, steps, at, key_of(piece.telling))
        for past in sessions
        for steps in (past.steps(),)
        for at, (_, piece) in enumerate(steps)
        if piece.kind == RUN
        and piece.failed
        and piece.telling
        and (not piece.name or not paths or piece.text.rpartition("/")[2].lower() in paths)
    ]


def _rarity(keys: Sequence[str]) -> Callable[[str], float]:
    """Return a function that sums the rarity of a key's words."""
    counts: dict[str, int] = {}
    for key in set(keys):
        for word in words_of(key):
            counts[word] = counts.get(word, 0) + 1
    total = max(1, len(set(keys)))
    return lambda key: sum(
        log(1 + total / (1 + counts.get(word, 0))) * (word in counts or 0.3)
        for word in words_of(key)
    )


def episodes(
    failures: Iterable[Failure], how: str, taken: set[tuple[str, int]]
) -> list[MetFailure]:
    """Return failures with their aftermath, telling ones first, then newest.

    Failures of a session that the same success ended count once, by the last. taken: (record,
    place) already returned.
    """
    found: dict[tuple[str, str, str], MetFailure] = {}
    for failure in failures:
        if (failure.past.id, failure.at) not in taken:
            taken.add((failure.past.id, failure.at))
            met = aftermath(failure, how)
            found[(failure.past.id, failure.key, met.passed)] = met
    return sorted(found.values(), key=lambda met: (not met.worth, -met.at))


def _statements_by_turn(sessions: Iterable[Past]) -> list[TurnStatements]:
    """Return the statements of every turn."""
    return [
        (past, number, texts, [text.lower() for text in texts])
        for past in sessions
        for number, turn in enumerate(past.turns, 1)
        if turn.asked != SUMMARY
        for texts in ([turn.request, *(p.text for p in turn.pieces if p.kind in (SAID, USER))],)
    ]


def _turns_mentioning(
    heard: Iterable[TurnStatements], line: str, key: str, taken: set[tuple[str, int]]
) -> list[MetFailure]:
    """Return the turns that quote or discuss an error, newest first."""
    mark = mark_of(line)
    rare = mark or max(words_of(key), key=len, default="")
    found = []
    for past, number, texts, lowered in heard:
        hits = [
            text
            for text, low in zip(texts, lowered)
            if rare and rare in low and _mentions_error(text, key, mark, rare)
        ]
        if not hits or (past.id, -number) in taken:
            continue
        taken.add((past.id, -number))
        turn = past.turns[number - 1]
        found.append(
            MetFailure(
                past,
                past.at(number),
                past.ref(number),
                "said",
                "",
                one_line(turn.request, QUOTE),
                one_line(line),
                tuple(dict.fromkeys(p.text for p in turn.pieces if p.kind == FILE)),
                outcome=outcome(turn, OPENING),
                commit=next(iter(next_commits(past, number, 1)), ""),
            )
        )
    return sorted(found, key=lambda met: -met.at)[: 2 * FEW]


@lru_cache(64)
def _named_rule(mark: str) -> re.Pattern[str]:
    """Return a pattern for a linter's rule or error code."""
    name = re.escape(mark)
    said = r"\(%s\)|`%s`|nolint:[\w,]*%s" % (name, name, name)
    return re.compile(
        "(?i)" + (r"(?<![\w-])%s(?![\w-])" % name if re.search(r"\d", mark) else said)
    )


def _mentions_error(text: str, key: str, mark: str, rare: str) -> bool:
    """Tell whether a text holds an error's line or its rule."""
    if mark:
        return bool(_named_rule(mark).search(text))
    return len(key) > 15 and any(
        key_of(row) == key or (len(key) > 24 and key in key_of(row))
        for row in text.split("\n")
        if rare in row.lower()
    )


# --- for --json


def met_json(met: MetFailure, place: Place) -> dict[str, Any]:
    """Return a failure and its aftermath as plain data."""
    return {
        **source(met.past, place),
        "at": clock.iso(met.at),
        "where": met.where,
        "how": met.how,
        "tool": met.tool or None,
        "ran": met.ran,
        "error": met.telling,
        "said": met.said or None,
        "tried": list(met.did),
        "edited": list(met.edits),
        "changed": list(met.changed),
        "worked": met.passed or None,
        "same_call": met.covered,
        "outcome": met.outcome or None,
        "commit": met.commit or None,
    }


def to_json(answer: Answer, place: Place, limit: int | None = None) -> dict[str, Any]:
    """Return an answer with at most `limit` occurrences of each line."""
    return {
        "lines": [
            {
                "error": line,
                "sessions": len({met.past.session for met in found}),
                "met": [met_json(met, place) for met in found[:limit]],
            }
            for line, found in answer.met
        ],
        "nearest": [met_json(met, place) for met in answer.nearest],
    }
