"""The next steps after a session: open tasks, open steps of an approved plan, and the newest list
under a heading such as "next steps", without steps that a later turn did.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from memory.capture import openings
from memory.capture.turns import APPROVED, COMMIT, REPORT, USER, Piece, Turn, find_pieces
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


# a plan's step: an item of a numbered list, not one below it; else a heading with a number
_NUMBERED = re.compile(r"(\d{1,3})[.)]\s+(\S.*)")
_NUMBERED_HEADING = re.compile(r"#{1,6}\s+(?:[^\W\d]{1,12}\s)?\d{1,3}\s?[.):：–—-]\s*(\S.*)")


def find_next_steps(history: Sequence[Turn], todos: Sequence[Sequence[str]]) -> list[str]:
    """Return the next steps after a session, one line each.

    history: the turns of a stretch.  todos: (text, status, id) of the client's list at its end.
    """
    steps = [
        one_line(text)
        for text, status, *id in todos
        if status not in ("completed", "deleted") and not _was_done(text, id, history)
    ]
    steps += _find_plan_steps(history, bool(todos)) + _find_listed_steps(history)
    return [clip_at_word(step, STEP) for step in dict.fromkeys(steps)][:MOST]


def _was_done(task: str, id: list[str], history: Sequence[Turn]) -> bool:
    """Tell whether a turn asked for a task as `#10`, and did it."""
    return any(
        turn.did and openings.is_finished(turn) and _names(openings.find_outcome(turn), task)
        for turn in history
        if {*id}.intersection(re.findall(r"#(\d+)", turn.request))
    )


def _find_plan_steps(history: Sequence[Turn], has_todos: bool) -> list[str]:
    """Return the last approved plan's open tasks, else its open numbered steps."""
    for number in range(len(history) - 1, -1, -1):
        plans = find_pieces([history[number]], USER, APPROVED)
        if plans:
            tasks = parse_steps(plans[-1].text)
            steps = [one_line(text) for _, is_ticked, text in tasks if not is_ticked]
            if not has_todos:  # else these tell how far it came
                steps = steps if tasks else _parse_numbered_steps(plans[-1].text)
                steps = _find_open_steps(steps, _cut_after(plans[-1], history[number:]))
            return [step for step in steps if not _is_done(step, history[number:])]
    return []


def _cut_after(plan: Piece, history: Sequence[Turn]) -> list[Turn]:
    """Return the turns after a plan's approval, which is in the first one."""
    first, *later = history
    after = first.pieces[len(first.pieces) - first.pieces[::-1].index(plan) :]
    return [Turn(first.at, "", first.asked, after, first.end), *later]


def _find_open_steps(steps: Sequence[str], after: Sequence[Turn]) -> list[str]:
    """Return the steps that no statement names, [] if the work has ended.

    An ended plan has open steps only where the user asked for a step by its words.
    """
    did = [turn for turn in after if turn.did or find_pieces([turn], REPORT)]
    is_asked = any(_names(turn.request, step) for turn in after[1:] for step in steps)
    if did and openings.is_finished(did[-1]) and not is_asked:
        return []
    said = [text for turn in after for text in turn.statements()]
    return [step for step in steps if not any(_names(text, step) for text in said)]


def _parse_numbered_steps(plan: str) -> list[str]:
    """Return the numbered headings of a plan, else its one numbered list.

    Of several lists one may hold risks or alternatives.
    """
    lines = [line for line, is_code in tokeniser.mark_code(plan.split("\n")) if not is_code]
    steps = [match[1] for match in map(_NUMBERED_HEADING.match, lines) if match]
    if len(steps) < 2:
        items = [match for match in map(_NUMBERED.match, lines) if match]
        is_alone = sum(match[1] == "1" for match in items) < 2 <= len(items)
        steps = [match[2] for match in items] if is_alone else []
    return [*map(openings.strip_marks, steps)]


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
    texts = [turn.request for turn in later if turn.pieces]
    texts += [piece.text for piece in find_pieces(later, COMMIT)]
    return any(_names(text, step) for text in texts) or not _find_words(step)


def _names(text: str, step: str) -> bool:
    """Tell whether a text holds enough (_DONE) of a step's words."""
    wanted = _find_words(step)
    return len(wanted & set(tokeniser.index_terms(text))) >= _DONE * len(wanted)


def _find_words(step: str) -> set[str]:
    return set(tokeniser.index_terms(step)) - tokeniser.STOP
