"""The user's decisions in a session, quoted, with the turn's time.

Plans approved or refused, answers in menus, reasons given when a tool was refused, and a "no" that
answers the proposal right before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory.capture import openings
from memory.capture.turns import (
    ANSWER,
    APPROVED,
    REFUSED,
    SAID,
    SLASH,
    THE_PLAN,
    USER,
    WORKING,
    Piece,
    Turn,
)
from memory.core.plaintext import clip_at_word, one_line

MOST = 12
DECISION, PROPOSED = 220, 120  # characters
_PLAN = "%s %s" % (REFUSED, THE_PLAN)
_NO = re.compile(
    r"\W{0,4}(?:no|nope|nein|нет|"
    r"아니(?:요|오|야)?|いいえ|いや|不(?:是|要|用|对|行)?)(?=[\s,.!:;—–-]|[，。、]|$)",
    re.I,
)


def list_decisions(history: Sequence[Turn]) -> list[str]:
    """Return the decisions in some turns, a line each, newest last."""
    lines = [line for number in range(len(history)) for line in _find_in_turn(history, number)]
    return list(dict.fromkeys(lines))[-MOST:]


def _find_in_turn(history: Sequence[Turn], number: int) -> Iterator[str]:
    turn = history[number]
    if turn.asked in ("", SLASH) and number and _NO.match(turn.request):
        proposed = openings.format_plain_line(openings.find_outcome(history[number - 1]), PROPOSED)
        if proposed:
            yield '%s "%s" to: %s' % (turn.time, _clip_decision(turn.request), proposed)
    proposed = ""
    for piece in turn.pieces:
        if piece.kind == SAID:
            proposed = piece.text
        line = _format_decision(piece, proposed) if piece.kind == USER else ""
        if line:
            yield "%s %s" % (turn.time, line)


def _format_decision(piece: Piece, proposed: str) -> str:
    """Return words of the user as a decision, "" for none."""
    if piece.name == ANSWER:
        return "answered: " + _clip_decision(piece.text)
    if piece.name == APPROVED:
        return "approved the plan: " + clip_at_word(openings.find_heading(piece.text), DECISION)
    if piece.name == WORKING and _NO.match(piece.text):
        proposal = openings.format_plain_line(proposed, PROPOSED)
        return '"%s" to: %s' % (_clip_decision(piece.text), proposal) if proposal else ""
    if piece.name.startswith(_PLAN) and not piece.text:
        return piece.name
    if piece.name.startswith(REFUSED) and piece.text:
        return '%s: "%s"' % (piece.name, _clip_decision(piece.text))
    return ""


def _clip_decision(text: str) -> str:
    return clip_at_word(one_line(text), DECISION)
