"""What comes next after a session, from what the host kept and what was listed as next.

Open entries of the client's task lists, open steps of an approved plan, and the latest list under
a heading that says "next steps", without what a later turn did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory.capture import openings
from memory.capture.turns import APPROVED, COMMIT, USER, Turn, pieces
from memory.core import records, tokeniser
from memory.core.plaintext import at_word, one_line, sentences

STEP = 200  # characters
MOST = 8
_DONE = 0.5  # share of a step's words that a later request or commit has, where it did the step
# How people and models head such a list, in the languages that dayleaf names.
_HEADING = re.compile(
    r"\W{0,6}(?:\w{1,20} ){0,2}?(?:next steps?|next up|what'?s next|remaining|to-?do"
    r"|follow[- ]?ups?|다음 단계|남은 작업|할 일|次の(?:ステップ|手順|作業)|残り|下一步|后续|待办"
    r"|nächste schritte|offen|следующие шаги|дальше|осталось)\b.{0,40}",
    re.I,
)

_LABEL = re.compile(
    r"(?:next(?: steps?)?|to-?do|다음(?: 단계)?|次(?:の作業)?|下一步|待办|als nächstes|дальше)"
    r"\*{0,2}[:：]\*{0,2} ?(\S.{3,})",
    re.I,
)


def next_steps(held: Sequence[Turn], todos: Iterable[Sequence[str]]) -> list[str]:
    """Return the next steps after a session, one line each.

    held: the turns of a stretch.  todos: (text, status, …) of the client's list at its end.
    """
    found = [one_line(text) for text, status, *_ in todos if status not in ("completed", "deleted")]
    found += _of_plan(held)
    found += _listed(held)
    return [at_word(step, STEP) for step in dict.fromkeys(found)][:MOST]


def _of_plan(held: Sequence[Turn]) -> list[str]:
    """Return the open steps of the last approved plan."""
    for number in range(len(held) - 1, -1, -1):
        plans = pieces([held[number]], USER, APPROVED)
        if plans:
            steps = [
                one_line(text) for _, ticked, text in records.steps(plans[-1].text) if not ticked
            ]
            return [step for step in steps if not _is_done(step, held[number:])]
    return []


def _listed(held: Sequence[Turn]) -> list[str]:
    """Return the newest list under a heading of next steps."""
    for number in range(len(held) - 1, -1, -1):
        items = _list_of(openings.outcome(held[number]))
        if items:
            return [item for item in items if not _is_done(item, held[number + 1 :])]
    return []


def _list_of(statement: str) -> list[str]:
    lines = openings.prose(statement)
    for number, line in enumerate(lines):
        head = line.strip("#*_ ")
        if not openings.listed(line) and len(head) < 80 and _HEADING.fullmatch(head):
            items = []
            for after in lines[number + 1 :]:
                if not openings.listed(after):
                    break
                items.append(openings.bare(after))
            if items:
                return items
    named = filter(_LABEL.search, lines)
    said = [one for line in named for one in sentences(openings.bare(line))]
    labelled = filter(None, map(_LABEL.match, said))
    return [match[1].rstrip(".。") for match in labelled]


def _is_done(step: str, later: Sequence[Turn]) -> bool:
    """Tell whether a later turn requested or committed a step."""
    wanted = set(tokeniser.tokens(step)) - tokeniser.STOP
    if not wanted:
        return True
    for turn in later:
        said = [turn.request] if turn.pieces else []
        said += [piece.text for piece in pieces([turn], COMMIT)]
        for text in said:
            if len(wanted & set(tokeniser.tokens(text))) >= _DONE * len(wanted):
                return True
    return False
