"""A conversation as people read one: who said what, and what was done in between, folded away."""

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
from memory.core.plaintext import count, one_line
from memory.core.records import Record
from memory.recall import hit
from memory.session import shell


class Step(NamedTuple):
    """Something that was done.  mark: ✓, ✗, ⊘ or ·.  text: in words.  code: what it was done
    to.
    """

    mark: str
    text: str
    code: str
    more: str


class Part(NamedTuple):
    """A part of a turn: a statement, or steps in a row.

    who: `model`, `you` or `steps`.  text: markdown, or the steps in a few words.
    """

    who: str
    text: str
    steps: Sequence[Step] = ()
    mark: str = ""

    @property
    def failed(self) -> bool:
        """Whether one of its steps failed."""
        return any(step.mark == "✗" for step in self.steps)


class Exchange(NamedTuple):
    """A turn: the request and the parts after it.

    note: the way of asking, unless typed.  rest: text of a page without parts, such as one edited
        by
        hand.
    """

    number: int
    at: str
    request: str
    note: str
    parts: Sequence[Part]
    rest: str


def exchanges(record: Record) -> list[Exchange]:
    """Return the turns of a conversation in their order, numbered as everywhere."""
    return [_exchange(turn) for turn in hit.turns(record)]


def _exchange(turn: hit.Turn) -> Exchange:
    found = conversationpage.parse(turn.text, turn.at[:10])
    text = turn.text.partition("\n")[2].strip()
    if not found:
        return Exchange(turn.number, turn.at, turn.request, "", (), text)
    asked = found[0].asked
    if asked == SUMMARY:
        taken_back = bool(turn.request) and not turn.request.startswith("(summary")
        note = "taken back" if taken_back else "summary by the client"
        request = turn.request.replace("(taken back)", "").strip() if taken_back else ""
        return Exchange(turn.number, turn.at, request, note, (), text)
    note = {GOES_ON: "goes on", TEAM: "another agent"}.get(asked, "")
    return Exchange(
        turn.number, turn.at, found[0].request.strip(), note, list(_parts(found[0].pieces)), ""
    )


def _parts(pieces: Sequence[Piece]) -> Iterator[Part]:
    for kind, some in groupby(pieces, _speaker):
        if kind == SAID:
            yield Part("model", "\n\n".join(piece.text for piece in some))
        elif kind == USER:
            yield from (Part("you", piece.text, mark=piece.name) for piece in some)
        else:
            held = list(some)
            yield Part("steps", _summed(held), [_step(piece) for piece in held])


def _speaker(piece: Piece) -> str:
    """Return SAID or USER for a statement, "" for a step."""
    return piece.kind if piece.kind in (SAID, USER) else ""


def _step(piece: Piece) -> Step:
    if piece.kind == RUN:
        mark = "✗" if piece.failed else {shell.OK: "✓", shell.DECLINED: "⊘"}.get(piece.outcome, "·")
        ended = "" if piece.outcome == shell.OK else piece.result
        times = " ×%d" % piece.times if piece.times > 1 else ""
        return Step(mark, piece.name, one_line(piece.text), one_line(ended + times))
    if piece.kind == COMMIT:
        return Step("●", "commit", piece.name, one_line(piece.text))
    if piece.kind == REPORT:
        told = ": ".join(filter(None, (piece.name, piece.text)))
        return Step("·", "subagent", "", one_line(told))
    words = {FILE: piece.name, LINK: "pull request", MERGED: "merged"}
    return Step("·", words.get(piece.kind, "changed"), one_line(piece.text), "")


def _summed(pieces: Sequence[Piece]) -> str:
    """Return some steps in a few words: `2 commands, 1 failed · 3 files · 1 commit`."""
    runs = sum(piece.times for piece in pieces if piece.kind == RUN)
    failed = sum(piece.times for piece in pieces if piece.kind == RUN and piece.failed)
    files = len({piece.text for piece in pieces if piece.kind == FILE})
    commits = sum(piece.kind == COMMIT for piece in pieces)
    links = sum(piece.kind == LINK for piece in pieces)
    found = ((runs, "call"), (files, "file"), (commits, "commit"), (links, "pull request"))
    said = [count(number, noun) for number, noun in found if number]
    if failed:
        said[0] += ", %d failed" % failed
    return " · ".join(said) or count(len(pieces), "step")
