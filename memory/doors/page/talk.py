"""A conversation for readers: the statements, with the steps between them folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from memory.capture import conversationpage
from memory.capture.turns import (
    COMMIT,
    FILE,
    GOES_ON,
    LINK,
    MERGED,
    REPORT,
    RUN,
    SAID,
    SUMMARY,
    TEAM,
    USER,
    Piece,
)
from memory.core.plaintext import format_count, one_line
from memory.core.records import Record
from memory.recall import hit
from memory.session import shell


class Step(NamedTuple):
    """An action in a turn: its outcome (`mark`), and a command, file or commit."""

    mark: str
    text: str
    code: str
    more: str


class Part(NamedTuple):
    """A statement in a turn, by `model` or `you`, or `steps` in a row."""

    who: str
    text: str
    steps: Sequence[Step] = ()
    mark: str = ""

    @property
    def failed(self) -> bool:
        """Whether a step failed."""
        return any(step.mark == "✗" for step in self.steps)


class Exchange(NamedTuple):
    """A turn: the request and the parts after it.

    note: how it was asked, "" if typed.  rest: text without parts, such as one edited by hand.
    """

    number: int
    at: str
    request: str
    note: str
    parts: Sequence[Part]
    rest: str


def list_exchanges(record: Record) -> list[Exchange]:
    """List the turns of a conversation."""
    return [_make_exchange(turn) for turn in hit.split_turns(record)]


def _make_exchange(turn: hit.Turn) -> Exchange:
    found = conversationpage.parse(turn.text, turn.at[:10])
    request, note, rest = turn.request, "", turn.text.partition("\n")[2].strip()
    parts: list[Part] = []
    if found and found[0].asked != SUMMARY:
        request, rest = found[0].request.strip(), ""
        note = {GOES_ON: "goes on", TEAM: "another agent"}.get(found[0].asked, "")
        parts = list(_group_pieces(found[0].pieces))
    elif found and request and not request.startswith("(summary"):
        request, note = request.replace("(taken back)", "").strip(), "taken back"
    elif found:
        request, note = "", "summary by the client"
    return Exchange(turn.number, turn.at, request, note, parts, rest)


def _group_pieces(pieces: Sequence[Piece]) -> Iterator[Part]:
    for kind, some in groupby(pieces, _find_speaker):
        if kind == SAID:
            yield Part("model", "\n\n".join(piece.text for piece in some))
        elif kind == USER:
            yield from (Part("you", piece.text, mark=piece.name) for piece in some)
        else:
            steps = list(some)
            yield Part("steps", _summarize_steps(steps), list(map(_make_step, steps)))


def _find_speaker(piece: Piece) -> str:
    """Return SAID or USER for a statement, "" for a step."""
    return piece.kind if piece.kind in (SAID, USER) else ""


def _make_step(piece: Piece) -> Step:
    if piece.kind == RUN:
        mark = "✗" if piece.failed else {shell.OK: "✓", shell.DECLINED: "⊘"}.get(piece.outcome, "·")
        ended = "" if piece.outcome == shell.OK else piece.result
        times = " ×%d" % piece.times if piece.times > 1 else ""
        return Step(mark, piece.name, one_line(piece.text), one_line(ended + times))
    if piece.kind == COMMIT:
        return Step("●", "commit", piece.name, one_line(piece.text))
    if piece.kind == REPORT:
        report = ": ".join(filter(None, (piece.name, piece.text)))
        return Step("·", "subagent", "", one_line(report))
    words = {FILE: piece.name, LINK: "pull request", MERGED: "merged"}
    return Step("·", words.get(piece.kind, "changed"), one_line(piece.text), "")


def _summarize_steps(pieces: Sequence[Piece]) -> str:
    """Summarize steps as `2 calls, 1 failed · 3 files · 1 commit`."""
    runs = [piece for piece in pieces if piece.kind == RUN]
    failed = sum(piece.times for piece in runs if piece.failed)
    counts = {
        "call": sum(piece.times for piece in runs),
        "file": len({piece.text for piece in pieces if piece.kind == FILE}),
        "commit": sum(piece.kind == COMMIT for piece in pieces),
        "pull request": sum(piece.kind == LINK for piece in pieces),
    }
    words = [format_count(number, noun) for noun, number in counts.items() if number]
    if failed:
        words[0] += ", %d failed" % failed
    return " · ".join(words) or format_count(len(pieces), "step")
