"""The next steps after a session: open tasks, open steps of an approved plan, and the newest list
under a heading such as "next steps", without steps that a later turn did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

from memory.capture import openings
from memory.capture.turns import APPROVED, COMMIT, USER, Turn, find_pieces
from memory.core import tokeniser
from memory.core.plaintext import clip_at_word, one_line, split_sentences
from memory.core.records import parse_steps

STEP = 200  # characters
MOST = 8
_DONE = 0.5  # share of a step's words in a later request or commit by which it counts as done
# headings of such a list, in the languages that dayleaf names
_HEADING = re.compile(
    r"\W{0,6}(?:\w{1,20} ){0,2}?(?:next steps?|next up|what'?s next|remaining|to-?do"
    r"|follow[- ]?ups?|다음 단계|남은 작업|할 일|次の(?:ステップ|手順|作業)|残り|下一步|后续|待办"
    r"|nächste schritte|offen|следующие шаги|дальше|осталось)\b.{0,40}",
    re.I,
)

# `next: …` in front of a single step
_LABEL = re.compile(
    r"(?:next(?: steps?)?|to-?do|다음(?: 단계)?|次(?:の作業)?|下一步|待办|als nächstes|дальше)"
    r"\*{0,2}[:：]\*{0,2} ?(\S.{3,})",
    re.I,
)


def find_next_steps(history: Sequence[Turn], todos: Iterable[Sequence[str]]) -> list[str]:
    """Return the next steps after a session, one line each.

    history: the turns of a stretch.  todos: (text, status, …) of the client's list at its end.
    """
    steps = [one_line(text) for text, status, *_ in todos if status not in ("completed", "deleted")]
    steps += _find_plan_steps(history) + _find_listed_steps(history)
    return [clip_at_word(step, STEP) for step in dict.fromkeys(steps)][:MOST]


def _find_plan_steps(history: Sequence[Turn]) -> list[str]:
    for number in range(len(history) - 1, -1, -1):
        plans = find_pieces([history[number]], USER, APPROVED)
        if plans:
            steps = parse_steps(plans[-1].text)
            left = [one_line(text) for _, is_ticked, text in steps if not is_ticked]
            return [step for step in left if not _is_done(step, history[number:])]
    return []


def _find_listed_steps(history: Sequence[Turn]) -> list[str]:
    for number in range(len(history) - 1, -1, -1):
        items = _parse_step_list(openings.find_outcome(history[number]))
        if items:
            return [item for item in items if not _is_done(item, history[number + 1 :])]
    return []


def _parse_step_list(statement: str) -> list[str]:
    lines = openings.list_prose_lines(statement)
    for number, line in enumerate(lines):
        head = line.strip("#*_ ")
        if not openings.is_list_item(line) and len(head) < 80 and _HEADING.fullmatch(head):
            items = [*takewhile(openings.is_list_item, lines[number + 1 :])]
            if items:
                return [*map(openings.strip_marks, items)]
    labelled = map(openings.strip_marks, filter(_LABEL.search, lines))
    matches = [_LABEL.match(sentence) for line in labelled for sentence in split_sentences(line)]
    return [match[1].rstrip(".。") for match in matches if match]


def _is_done(step: str, later: Sequence[Turn]) -> bool:
    wanted = set(tokeniser.index_terms(step)) - tokeniser.STOP
    if not wanted:
        return True
    for turn in later:
        texts = [turn.request] if turn.pieces else []
        texts += [piece.text for piece in find_pieces([turn], COMMIT)]
        for text in texts:
            if len(wanted & set(tokeniser.index_terms(text))) >= _DONE * len(wanted):
                return True
    return False
