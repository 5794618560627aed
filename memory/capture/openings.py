"""The outcome of a turn, in the model's words, and texts as plain lines.

Nothing here judges words.  The host says whether a turn has ended; where it says nothing, a turn
has ended when its last piece is a statement of the model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import dropwhile, groupby, takewhile

from memory.capture import turns
from memory.capture.conversationpage import format_code
from memory.capture.turns import SUMMARY, Turn
from memory.core import tokeniser
from memory.core.plaintext import clip_at_word, mask_code, one_line, split_sentences, strip_bold

PROSE, ITEM, HEADING, CODE = "prose", "item", "heading", "code"  # kinds of lines
TITLE, REQUEST, OUTCOME = 70, 140, 330  # characters
_SUBSTANCE = 80  # characters of a statement that says something though its turn went on
_TELLING = 2  # different words of a request that says something
_LISTED = re.compile(r"^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s{1,4}(?:\[[ xX]\]\s)?")
_SENTENCES = 3  # of a statement, which an opening is one of
_WORDS, _WIDE = 4, 10  # that a telling sentence has: words, else characters without spaces
_JOINTS = (". ", "! ", "? ", "。", "！", "？", "; ", ": ", " – ", " — ", ", ", " ")
_PLAN = re.compile(r"(?:implementation )?plan ?[:–-] ?", re.I)  # before what a plan is about
_LEAST_ITEM = 75  # characters to which an item of a list is shortened
_SHOWN = 80  # characters of code that a statement leads on to
_WORK = (turns.RUN, turns.FILE, turns.COMMIT, turns.LINK, turns.MERGED)
# pieces that say nothing of a turn's end
_BESIDE = (turns.COMMIT, turns.LINK, turns.MERGED, turns.REPORT)


def is_finished(turn: Turn) -> bool:
    if turn.end:
        return turn.end == turns.ENDED
    last = next((piece for piece in reversed(turn.pieces) if piece.kind not in _BESIDE), None)
    return last is not None and last.kind == turns.SAID and last.result != turns.CALLED


def is_acknowledged(turn: Turn) -> bool:
    """Tell whether a finished turn has few words and no work."""
    if any(piece.kind in _WORK for piece in turn.pieces):
        return False
    return is_finished(turn) and sum(map(len, turn.statements())) < _SUBSTANCE


def find_outcome(turn: Turn) -> str:
    """Return a turn's final statement.

    Unfinished turn: the last ENDED one, else the last long one.  Finished: the last that neither
    precedes a call nor answers a notice, else the last.
    """
    statements = [piece for piece in turn.pieces if piece.kind == turns.SAID]
    final = [piece.text for piece in statements if piece.result == turns.ENDED]
    if not is_finished(turn):
        long = [piece.text for piece in statements if len(piece.text) >= _SUBSTANCE]
        return (final or long or [""])[-1]
    last = [piece.text for piece in statements if piece.result not in (turns.CALLED, turns.ASIDE)]
    return (last or turn.statements() or [""])[-1]


def find_last_telling_turn(history: Sequence[Turn]) -> Turn | None:
    """Return the last turn with content, else the last turn, or None."""
    asked = [turn for turn in history if turn.asked != SUMMARY]
    telling = [turn for turn in asked if turn.pieces or is_meaningful(turn.request)]
    return next(reversed(telling or asked), None)


def find_work_before(history: Sequence[Turn]) -> Turn | None:
    """Return the turn with an outcome before a closing side question, or None.

    The last with work, where one committed; else, before an acknowledged one, the last other.
    """
    closing = find_last_telling_turn(history)
    kinds = {piece.kind for turn in history for piece in turn.pieces}
    found = [turn for turn in history if turn.pieces and turn.asked != SUMMARY]
    if kinds.isdisjoint((turns.COMMIT, turns.LINK)):
        found = [turn for turn in found if not is_acknowledged(turn)]
    else:
        found = [turn for turn in found if any(p.kind in _WORK for p in turn.pieces)]
    work = found[-1] if found and closing and is_finished(closing) else closing
    return work if work and work is not closing and find_outcome(work) else None


def find_questions(history: Sequence[Turn]) -> list[str]:
    """Return the unanswered questions at the end of the last statement."""
    last = find_last_telling_turn(history)
    lines = list_prose_lines(find_outcome(last)) if last and is_finished(last) else []
    sentences = [sentence for line in lines[-2:] for sentence in split_sentences(strip_marks(line))]
    asked = [sentence for sentence in sentences[-3:] if sentence.endswith(("?", "？"))]
    return [clip_at_word(sentence, 240) for sentence in asked[-2:]]


def remove_questions(statement: str) -> str:
    lines = statement.rstrip().split("\n")
    while lines:
        sentences = split_sentences(lines[-1])
        kept = [*dropwhile(_is_question, reversed(sentences))][::-1]
        if kept == sentences and lines[-1].strip():
            break
        lines.pop()
        if kept:
            lines.append(" ".join(kept))
            break
    return "\n".join(lines) or statement


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("*_ ").endswith(("?", "？"))


# --- texts


def format_plain_line(statement: str, most: int = 0) -> str:
    """Return a statement as one line without markdown and code.

    most: characters at most, 0 for any; items of a list are shortened before any is left out.
    """
    parts = _parse_parts(statement)
    line = _join_parts(parts)
    if not most or len(line) <= most:
        return line
    items = sum(kind == ITEM for kind, _ in parts)
    if items > 1:
        room = most - sum(len(text) for kind, text in parts if kind != ITEM)
        each = max(_LEAST_ITEM, room // items - 2)
        parts = [(kind, clip_at_word(text, each) if kind == ITEM else text) for kind, text in parts]
    return clip_at_word(_join_parts(parts), most)


def _parse_parts(statement: str) -> list[tuple[str, str]]:
    """Return (PROSE, ITEM, HEADING or CODE; text) of a statement's lines.

    Of code only what a colon leads on to.
    """
    found = list[tuple[str, str]]()
    marked = tokeniser.mark_code(statement.split("\n"))
    for is_code, rows in groupby(marked, lambda row: row[1]):
        lines = [line.strip() for line, _ in rows]
        if is_code:
            shown = one_line(" ".join(lines[1:]).rstrip("`~"))
            if shown and (not found or found[-1][1].endswith((":", "："))):
                found.append((CODE, format_code(clip_at_word(shown, _SHOWN))))
            continue
        found += [_parse_part(line) for line in lines if any(map(str.isalnum, line))]
    return found


def _parse_part(line: str) -> tuple[str, str]:
    level, head = tokeniser.parse_heading(line)
    if level:
        return HEADING, (head + ":").strip("| ")
    if line.startswith("|"):
        return ITEM, ", ".join(filter(None, map(strip_marks, line.split("|"))))
    return ITEM if _LISTED.match(line) else PROSE, strip_marks(line).strip("| ")


def _join_parts(parts: Sequence[tuple[str, str]]) -> str:
    out: list[str] = []
    for kind, text in parts:
        if kind == ITEM and out and not out[-1].endswith(tuple(":：.;!?,")):
            out[-1] += ";"
        out.append(text)
    return one_line(" ".join(out))


def list_prose_lines(text: str) -> list[str]:
    """Return the lines of a text outside code, stripped."""
    marked = tokeniser.mark_code(text.split("\n"))
    return [line.strip() for line, is_code in marked if line.strip() and not is_code]


def is_list_item(line: str) -> bool:
    return bool(_LISTED.match(line))


def strip_marks(line: str) -> str:
    """Return a line without marks of lists and emphasis."""
    return one_line(strip_bold(_LISTED.sub("", line, count=1)))


def cut_clause(text: str, most: int = TITLE) -> str:
    """Return the start of a text, cut between clauses or words."""
    line = strip_bold(one_line(text)).strip(" #*\"'").rstrip(".;:,。")
    if len(line) <= most:
        return line
    head = mask_code(line)[: most + 1]
    for joint in _JOINTS:
        at = head.rfind(joint)
        if at >= most // 2:
            return _trim_end(line[:at].rstrip(" .;:,–—"), most // 2)
    return _trim_end(clip_at_word(line, most), most // 2)


def _trim_end(cut: str, least: int) -> str:
    """Remove an open bracket and joining words at a text's end."""
    opened = cut.rfind("(")
    if opened >= least and ")" not in cut[opened:]:
        cut = cut[:opened].rstrip(" .;:,–—")
    words = cut.split(" ")
    while words[-1].lower() in tokeniser.STOP and len(" ".join(words[:-1])) >= least:
        words.pop()
    return " ".join(words).rstrip(" .;:,–—")


def find_heading(text: str) -> str:
    """Return the first heading of a text, else its first line."""
    lines = list_prose_lines(text)
    heads = [head for level, head in map(tokeniser.parse_heading, lines) if level]
    head = one_line(strip_bold((heads or lines or [""])[0]))
    return _PLAN.sub("", head, count=1) or head


def is_meaningful(request: str) -> bool:
    """Tell whether a request has two words that are no stop words."""
    words = {word for word in tokeniser.index_terms(request) if word not in tokeniser.STOP}
    return len(words) >= _TELLING or tokeniser.has_cjk(request)


def find_topic(request: str) -> str:
    """Return a request's first meaningful line as a clause, or ""."""
    for line in list_prose_lines(request)[:5]:
        if line[:1] not in (">", "|", "<") and is_meaningful(line):
            return cut_clause(strip_marks(line.lstrip("# ")))
    return ""


# --- the opening sentence


def find_opening(statements: Iterable[str], most: int, about: str = "") -> str:
    """Return the opening sentence that shares the most words with `about`.

    From the first statement that shares any, else the first sentence of all, or "".
    most: characters, cut at a word.
    """
    sought, first = _extract_words(about), ""
    for statement in statements:
        openings = _list_opening_sentences(statement)
        shared = [len(_extract_words(opening) & sought) for opening in openings]
        if any(shared):
            return clip_at_word(openings[shared.index(max(shared))], most)
        first = first or next(iter(openings), "")
    return clip_at_word(first, most)


def _list_opening_sentences(statement: str) -> list[str]:
    parts = _parse_parts(statement)
    lines = [text for kind, text in parts if kind == PROSE and not text.endswith((":", "："))]
    sentences = (sentence for line in lines for sentence in split_sentences(line))
    found = [*filter(_is_telling, sentences)]
    return found[:_SENTENCES] or [*filter(_is_telling, [_format_first_list(parts)])]


def _format_first_list(parts: Sequence[tuple[str, str]]) -> str:
    """Return the first list with the sentence before it, else all parts."""
    kinds = [kind for kind, _ in parts]
    if ITEM not in kinds:
        return _join_parts(parts).rstrip(":：")
    begin = kinds.index(ITEM)
    listed = [text for _, text in takewhile(lambda part: part[0] == ITEM, parts[begin:])]
    lead = split_sentences(parts[begin - 1][1])[-1:] if begin and kinds[begin - 1] == PROSE else []
    return one_line(" ".join([*lead, "; ".join(listed)]))


def _is_telling(sentence: str) -> bool:
    wide = sum(map(tokeniser.is_cjk, sentence))
    long = len(sentence.split()) >= _WORDS or wide >= _WIDE
    return long and not sentence.endswith((":", "：", "?", "？"))


def _extract_words(text: str) -> set[str]:
    return set(tokeniser.index_terms(text)) - tokeniser.STOP - tokeniser.COMMON
