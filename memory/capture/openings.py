"""What a turn came to, as it was said: its final statement, and texts as plain lines.

Nothing here judges words.  Whether a turn has ended is what the host says; where it says nothing,
a turn has ended when the last thing in it is what the model said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby, takewhile

from memory.capture import turns
from memory.capture.conversationpage import code
from memory.capture.turns import SUMMARY, Turn
from memory.core import tokeniser
from memory.core.plaintext import at_word, mask_code, one_line, sentences, unbold

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
# what says nothing of a turn's end
_BESIDE = (turns.COMMIT, turns.LINK, turns.MERGED, turns.REPORT)


def is_finished(turn: Turn) -> bool:
    """Tell whether a turn is finished."""
    if turn.end:
        return turn.end == turns.ENDED
    told = [piece for piece in turn.pieces if piece.kind not in _BESIDE]
    return bool(told) and told[-1].kind == turns.SAID and told[-1].result != turns.CALLED


def outcome(turn: Turn) -> str:
    """Return the final statement of a turn, else its last long statement.

    What leads on to a call, or only answers a notice of the host's, is not final where another is.
    "" for none.
    """
    said = [piece for piece in turn.pieces if piece.kind == turns.SAID]
    final = [piece.text for piece in said if piece.result == turns.ENDED]
    if not is_finished(turn):
        long = [piece.text for piece in said if len(piece.text) >= _SUBSTANCE]
        return (final or long or [""])[-1]
    last = [piece.text for piece in said if piece.result not in (turns.CALLED, turns.ASIDE)]
    return (last or turn.statements() or [""])[-1]


def last_telling_turn(held: Sequence[Turn]) -> Turn | None:
    """Return the last turn with content, else the last turn.

    It says where the work stands.
    """
    asked = [turn for turn in held if turn.asked != SUMMARY]
    telling = [turn for turn in asked if turn.pieces or says_something(turn.request)]
    return next(reversed(telling or asked), None)


def last_working_turn(held: Sequence[Turn]) -> Turn | None:
    """Return the last working turn, if a commit or PR was made.

    None where no turn made a commit or a pull request.  Questions asked afterwards, without any
    work, are passed over.
    """
    pieces = [piece.kind for turn in held for piece in turn.pieces]
    if turns.COMMIT not in pieces and turns.LINK not in pieces:
        return None
    worked = [turn for turn in held if any(piece.kind in _WORK for piece in turn.pieces)]
    return worked[-1]


def questions(held: Sequence[Turn]) -> list[str]:
    """Return the unanswered questions at the end of the last statement."""
    last = last_telling_turn(held)
    lines = prose(outcome(last)) if last and is_finished(last) else []
    said = [one for line in lines[-2:] for one in sentences(bare(line))]
    return [at_word(one, 240) for one in said[-3:] if one.endswith(("?", "？"))][-2:]


def without_questions(statement: str) -> str:
    """Return a statement without the questions at its end."""
    lines = statement.rstrip().split("\n")
    while lines:
        said = sentences(lines[-1])
        rest = len(said)
        while rest and said[rest - 1].rstrip("*_ ").endswith(("?", "？")):
            rest -= 1
        if rest:
            lines[-1:] = [" ".join(said[:rest])] if rest < len(said) else lines[-1:]
            break
        if said or not lines[-1].strip():
            lines.pop()
        else:
            break
    return "\n".join(lines) or statement


# --- texts


def plain(statement: str, most: int = 0) -> str:
    """Return a statement as one line without markdown and code.

    most: characters at most, 0 for any; items of a list are shortened before any is left out.
    """
    parts = _parts(statement)
    line = _joined(parts)
    if not most or len(line) <= most:
        return line
    items = sum(kind == ITEM for kind, _ in parts)
    if items > 1:
        room = most - sum(len(text) for kind, text in parts if kind != ITEM)
        each = max(_LEAST_ITEM, room // items - 2)
        parts = [(kind, at_word(text, each) if kind == ITEM else text) for kind, text in parts]
    return at_word(_joined(parts), most)


def _parts(statement: str) -> list[tuple[str, str]]:
    """Return (PROSE, ITEM, HEADING or CODE; text) of each line outside code."""
    found = list[tuple[str, str]]()
    marked = tokeniser.coded(statement.split("\n"))
    for is_code, rows in groupby(marked, lambda row: row[1]):
        lines = [line.strip() for line, _ in rows]
        if is_code:
            shown = one_line(" ".join(lines[1:]).rstrip("`~"))
            if shown and (not found or found[-1][1].endswith((":", "："))):
                found.append((CODE, code(at_word(shown, _SHOWN))))
            continue
        found += [_part(line) for line in lines if any(map(str.isalnum, line))]
    return found


def _part(line: str) -> tuple[str, str]:
    level, head = tokeniser.heading(line)
    if level:
        return HEADING, (head + ":").strip("| ")
    return ITEM if _LISTED.match(line) else PROSE, bare(line).strip("| ")


def _joined(parts: Sequence[tuple[str, str]]) -> str:
    out: list[str] = []
    for kind, text in parts:
        if kind == ITEM and out and not out[-1].endswith(tuple(":：.;!?,")):
            out[-1] += ";"
        out.append(text)
    return one_line(" ".join(out))


def prose(text: str) -> list[str]:
    """Return the lines of a text outside code, stripped, without empty ones."""
    marked = tokeniser.coded(text.split("\n"))
    return [line.strip() for line, code in marked if line.strip() and not code]


def listed(line: str) -> bool:
    """Tell whether a line is an item of a list."""
    return bool(_LISTED.match(line))


def bare(line: str) -> str:
    """Return a line without its list mark and its marks of emphasis."""
    return one_line(unbold(_LISTED.sub("", line, count=1)))


def clause(text: str, most: int = TITLE) -> str:
    """Return the beginning of a text, cut at a joint.

    At most `most` characters.
    """
    line = unbold(one_line(text)).strip(" #*\"'").rstrip(".;:,。")
    if len(line) <= most:
        return line
    head = mask_code(line)[: most + 1]
    for joint in _JOINTS:
        at = head.rfind(joint)
        if at >= most // 2:
            return _whole_end(line[:at].rstrip(" .;:,–—"), most // 2)
    return _whole_end(at_word(line, most), most // 2)


def _whole_end(cut: str, least: int) -> str:
    """Return a cut text without an open bracket and without joining words at its end.

    least: characters that stay.
    """
    opened = cut.rfind("(")
    if opened >= least and ")" not in cut[opened:]:
        cut = cut[:opened].rstrip(" .;:,–—")
    words = cut.split(" ")
    while words[-1].lower() in tokeniser.STOP and len(" ".join(words[:-1])) >= least:
        words.pop()
    return " ".join(words).rstrip(" .;:,–—")


def heading_of(text: str) -> str:
    """Return the first heading of a text, else its first line."""
    lines = prose(text)
    heads = [head for level, head in map(tokeniser.heading, lines) if level]
    head = one_line(unbold((heads or lines or [""])[0]))
    return _PLAN.sub("", head, count=1) or head


def says_something(request: str) -> bool:
    """Tell whether a request has meaningful words of its own."""
    words = {word for word in tokeniser.tokens(request) if word not in tokeniser.STOP}
    return len(words) >= _TELLING or tokeniser.has_cjk(request)


def topic(request: str, most: int = TITLE) -> str:
    """Return the first meaningful line of a request, as a clause.

    "" for none.
    """
    for line in prose(request)[:5]:
        if line[:1] not in (">", "|", "<") and says_something(line):
            return clause(bare(line.lstrip("# ")), most)
    return ""


# --- the one sentence that tells


def opening(statements: Iterable[str], most: int, about: str = "") -> str:
    """Return the opening sentence that shares most words with `about`.

    From the first statement that shares any; where none does, the first sentence of all, "" for
    none.  most: characters, cut at a word.
    """
    sought, first = _words(about), ""
    for statement in statements:
        found = _opening_sentences(statement)
        shared = [len(_words(one) & sought) for one in found]
        if any(shared):
            return at_word(found[shared.index(max(shared))], most)
        first = first or next(iter(found), "")
    return at_word(first, most)


def _opening_sentences(statement: str) -> list[str]:
    """Return the first sentences of prose."""
    parts = _parts(statement)
    lines = [text for kind, text in parts if kind == PROSE and not text.endswith((":", "："))]
    said = [one for line in lines for one in sentences(line) if _is_telling(one)]
    return said[:_SENTENCES] or [line for line in (_first_list(parts),) if _is_telling(line)]


def _first_list(parts: Sequence[tuple[str, str]]) -> str:
    """Return the first list with its lead, else everything."""
    kinds = [kind for kind, _ in parts]
    if ITEM not in kinds:
        return _joined(parts).rstrip(":：")
    begin = kinds.index(ITEM)
    listed = [text for _, text in takewhile(lambda part: part[0] == ITEM, parts[begin:])]
    lead = sentences(parts[begin - 1][1])[-1:] if begin and kinds[begin - 1] == PROSE else []
    return one_line(" ".join([*lead, "; ".join(listed)]))


def _is_telling(sentence: str) -> bool:
    wide = sum(map(tokeniser.is_cjk, sentence))
    long = len(sentence.split()) >= _WORDS or wide >= _WIDE
    return long and not sentence.endswith((":", "：", "?", "？"))


def _words(text: str) -> set[str]:
    return set(tokeniser.tokens(text)) - tokeniser.STOP - tokeniser.COMMON
