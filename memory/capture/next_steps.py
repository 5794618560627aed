"""The next steps after a session: open tasks, open steps of an approved plan, and the newest list
under a heading such as "next steps", without steps that a later turn did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import dropwhile, takewhile

from memory.capture import openings
from memory.capture.turns import (
    APPROVED,
    COMMIT,
    FILE,
    REPORT,
    RUN,
    SAID,
    USER,
    Piece,
    Turn,
    find_pieces,
)
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
# what steps are called: alone or behind one word the heading of their list, or beside a number
_STEP_WORD = (
    r"(?:steps?|phases?|tasks?|schritte?|phasen?|шаг\w{0,2}|этап\w{0,2}"
    r"|手順|ステップ|步骤|阶段|단계)"
)
_STEPS_HEADING = re.compile(
    r"(?:\w{1,20} ?)?(?:%s|plan|implementation|umsetzung|план|計画|计划|계획)" % _STEP_WORD, re.I
)
_STEP_NUMBERS = re.compile(
    r"(?:%s|第)\s?(\d{1,2}(?:\W{1,3}(?:\w{1,3}\W)?\d{1,2})*)|(\d{1,2}) ?(?:단계|步)" % _STEP_WORD,
    re.I,
)
_FILE = re.compile(r"(?<![\w./-])[\w./-]+\.(\w{1,8})\b", re.A)


def find_next_steps(history: Sequence[Turn], todos: Iterable[Sequence[str]]) -> list[str]:
    """Return the next steps after a session, one line each.

    history: the turns of a stretch.  todos: (text, status, …) of the client's list at its end.
    """
    listed = [(one_line(text), status) for text, status, *_ in todos]
    steps = [text for text, status in listed if status not in ("completed", "deleted")]
    steps += _find_plan_steps(history, bool(listed)) + _find_listed_steps(history)
    return [clip_at_word(step, STEP) for step in dict.fromkeys(steps)][:MOST]


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
    """Return the turns after a plan was approved in the first one."""
    first, *later = history
    after = first.pieces[len(first.pieces) - first.pieces[::-1].index(plan) :]
    return [Turn(first.at, "", first.asked, after, first.end), *later]


def _find_open_steps(steps: Sequence[str], after: Sequence[Turn]) -> list[str]:
    """Return the steps of a plan that the turns after its approval left open.

    Most plans are carried out in the turn that follows.  A step is open where the work was cut
    short, or its end names other steps alone; or from the first step on whose file was not touched,
    unless the work went elsewhere.
    """
    last = [turn for turn in after if turn.did] or after[-1:]
    outcome = openings.find_outcome(last[-1])
    reached = _find_last_number(outcome)
    files = _find_files(steps, find_pieces(after, FILE))
    left = [step for step in steps[reached:] if not _was_met(step, files[step], after)]
    if reached or _is_unfinished(steps, after, last[-1]):
        return left
    done = [number for number, step in enumerate(steps, 1) if step not in left]
    if _tells_only(outcome, [steps[number - 1] for number in done]):
        return [*steps[done[-1] :]]
    if find_pieces(after, REPORT) or _went_elsewhere(after[1:], files.values()):
        return []  # a subagent's calls are not told
    return [*dropwhile(lambda step: not files[step], left)]


def _is_unfinished(steps: Iterable[str], after: Sequence[Turn], last: Turn) -> bool:
    """Tell whether nothing was done, or only steps that the user asked for.

    last: the last working turn; cut short, it leaves the plan unfinished too.
    """
    idle = [all(piece.kind in (SAID, USER) for piece in turn.pieces) for turn in after]
    requests = [turn.request for turn in after[1:]] if idle[0] else []
    asked = any(_names(request, step) for request in requests for step in steps)
    return asked or all(idle) or not openings.is_finished(last)


def _find_last_number(outcome: str) -> int:
    """Return the highest number that a statement calls a step, or 0."""
    found = " ".join("".join(match.groups("")) for match in _STEP_NUMBERS.finditer(outcome))
    return max(map(int, re.findall(r"\d+", found)), default=0)


def _was_met(step: str, files: Iterable[str], after: Iterable[Turn]) -> bool:
    """Tell whether a statement named a step, or a call one of its files."""
    return any(
        _names(piece.text, step)
        if piece.kind == SAID
        else piece.kind in (FILE, RUN) and any(name in piece.text for name in files)
        for turn in after
        for piece in turn.pieces
    )


def _tells_only(outcome: str, told: Iterable[str]) -> bool:
    """Tell whether half of a statement's words are those of some steps."""
    words = _find_words(outcome)
    known = {word for step in told for word in _find_words(step)}
    return bool(words) and len(words & known) >= _DONE * len(words)


def _went_elsewhere(later: Iterable[Turn], files: Iterable[set[str]]) -> bool:
    """Tell whether a later turn's work touched none of a plan's files."""
    known = {name for names in files for name in names}
    changed = [find_pieces([turn], FILE) for turn in later if turn.did]
    return any(not any(name in p.text for p in each for name in known) for each in changed)


def _find_files(steps: Iterable[str], touched: Iterable[Piece]) -> dict[str, set[str]]:
    """Return the names in each step that end as the touched files do."""
    endings = {piece.text.rpartition(".")[2] for piece in touched}
    found = {step: [m for m in _FILE.finditer(step) if m[1] in endings] for step in steps}
    return {step: {m[0].rpartition("/")[2] for m in each} for step, each in found.items()}


def _parse_numbered_steps(plan: str) -> list[str]:
    """Return the numbered headings of a plan, else the numbered list of its steps.

    Of several lists one may hold risks or alternatives: that one under the heading of steps.
    """
    lines = [line for line, is_code in tokeniser.mark_code(plan.split("\n")) if not is_code]
    steps = [match[1] for match in map(_NUMBERED_HEADING.match, lines) if match]
    if len(steps) < 2:
        lists = _collect_lists(lines)
        named = [items for head, items in lists if _STEPS_HEADING.fullmatch(head)]
        alone = [items for _, items in lists if len(lists) == 1 and len(items) > 1]
        steps = (named or alone or [[]])[0]
    return [*map(openings.strip_marks, steps)]


def _collect_lists(lines: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return (heading above it, items) of each numbered list."""
    lists: list[tuple[str, list[str]]] = []
    heading = ""
    for line in lines:
        match = _NUMBERED.match(line)
        if match and (match[1] == "1" or not lists):
            lists.append((heading, [match[2]]))
        elif match:
            lists[-1][1].append(match[2])
        elif line.startswith(("#", "**")) or line.rstrip("*_ ").endswith((":", "：")):
            heading = line.strip("#*_:： ")
    return lists


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
    for turn in later:
        texts = [turn.request] if turn.pieces else []
        texts += [piece.text for piece in find_pieces([turn], COMMIT)]
        if any(_names(text, step) for text in texts):
            return True
    return not _find_words(step)


def _names(text: str, step: str) -> bool:
    """Tell whether a text holds the share of a step's words that counts."""
    wanted = _find_words(step)
    return len(wanted & set(tokeniser.index_terms(text))) >= _DONE * len(wanted)


def _find_words(step: str) -> set[str]:
    return set(tokeniser.index_terms(step)) - tokeniser.STOP
