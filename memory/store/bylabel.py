"""Secrets whose label stands apart from them: in a sentence, on a line above, over a column.

A single word is judged by its shape and place (`nearlabel`); cells of a table, values behind
markup, phrases and lists of codes are found by their structure.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Callable, Iterator, NamedTuple

from memory.core import tokeniser
from memory.store import nearlabel
from memory.store.byname import is_identifier, is_made_up, is_random, is_secret, is_uuid
from memory.store.nearlabel import Label, likely_values
from memory.store.secretlabels import (
    ACCOUNT,
    ALL_STEMS,
    ASSIGNED,
    BARE,
    CHOSEN_CELL,
    CODE,
    COMMAND,
    DOER,
    DOES,
    FILLING,
    GOES_ON,
    GROUPED,
    GROUPED_BELOW,
    HEX,
    HYPHENED,
    KEYED,
    LABEL,
    LISTED_CELL,
    MESSAGE,
    NAMED,
    NO_CELL,
    NO_VALUE,
    NOT_LABEL,
    NOUN,
    OF,
    OF_WORDS,
    OVER,
    PASSPHRASE,
    PHRASE,
    PROMPT,
    QUOTED,
    REST,
    RULE,
    STRUCTURED,
    WORDS,
    WRITTEN,
)
from memory.store.secretshapes import (
    COMPOSED,
    DIGEST,
    NAME_CHARS,
    SPOKEN,
    VETO_HEAD,
    VETO_TAIL,
    WORDY,
    Span,
    WordOffsets,
    beyond_ascii,
    rx,
)
from memory.store.secrettokens import COUNTERS

BEFORE, AFTER = 120, 640  # characters around a label that decide on it
REACH = 200  # characters after a label that may hold its phrase
ROWS = 200  # of a table
WIDE = 1000  # characters of a line that may be the head of a table
WORD_CHARS = NAME_CHARS.replace(".", "")
VETOED = r"(?<![a-z])" + VETO_HEAD + r"[ ]?\Z"
WRAPS = 3  # lines on each side of a label's that its sentence may fill
MARK = r"[ \t]*(?:(?:[>#*|]{1,3}|//)[ \t]*)*"  # before each line of a quotation or comment
# a line of prose that stops inside a sentence; what may follow
BROKEN = r"[^={}<>;|\n]*(?:\S [^={}<>;|\n]*[^\W\d_],?|[ぁ-鿿가-힣])[ \t\r]*"
GOING_ON = (
    r"(?:.*\n(?=[^\WA-Z\d_])|.*?(?:\b[^\W\d_]{1,3}|[ぁ-鿿가-힣])\n)"
    r"(?![\w.\-]{1,40} ?[:=]|[0-9a-f]{7,40} )(?=\S+ \S+ \S|.*[ぁ-鿿가-힣])"
    r"[^={}<>;|]*\Z"
)
SEPARATORS = ("│", "|", "\t", ";", ",", "  ")


class _LabelFacts(NamedTuple):
    """A label as judged by its surroundings.

    tier: for the cells of its column; near: for the words near it; "" for none.  heads: it may
    head a table.  spans: secrets found by structure.
    """

    length: int
    kind: str
    tier: str
    near: str
    heads: bool
    spans: tuple[Span, ...]


_NOTHING = _LabelFacts(0, "", "", "", False, ())


def find_by_label(text: str, places: WordOffsets, tick: Callable[[], None]) -> Iterator[Span]:
    """Find secrets by labels that stand apart from them."""
    labels: list[Label] = []
    tables = head = 0
    for at, facts in _find_labels(text, places, tick):
        low = max(0, at - BEFORE)
        for start, end, kind in facts.spans:
            yield low + start, low + end, kind
        if facts.heads and (at >= tables or text.find("\n", head, at) < 0):
            tables, cells = _find_cells(text, at, facts)
            head = at
            yield from cells
        if facts.near:
            labels.append(_make_label(text, at, facts))
    yield from likely_values(text, labels)
    yield from _find_in_wrapped(text, places, tick)


def _find_in_wrapped(text: str, places: WordOffsets, tick: Callable[[], None]) -> Iterator[Span]:
    """Find secrets in sentences of several lines, each read as one line."""
    end = 0
    for at in sorted(at for stem in ALL_STEMS for at in places.offsets(stem)):
        if at < end:
            continue
        rows = _find_wrapped_rows(text, at)
        end = rows[-1][0] + len(rows[-1][1])
        whole = " ".join(row for _, row in rows)
        if len(rows) > 1 and rx(r"(?<!\S)(?=\S{0,60}\d)\S{5}").search(whole):
            tick()
            for low, high, kind in _find_in_sentence(whole):
                for start, row in rows:
                    if low >= 0 and high <= len(row):
                        yield start + low, start + high, kind
                    low, high = low - len(row) - 1, high - len(row) - 1


@lru_cache(maxsize=256)
def _find_in_sentence(sentence: str) -> tuple[Span, ...]:
    return tuple(find_by_label(sentence, _find_word_offsets(sentence), lambda: None))


def _find_wrapped_rows(text: str, at: int) -> list[tuple[int, str]]:
    """Return (start, text) of a sentence's lines, without their marks."""
    low = text.rfind("\n", max(0, at - WIDE), at) + 1 or max(0, at - WIDE)
    starts, line = [low], _line_from(text, low)
    for _ in range(WRAPS):  # back
        least = max(0, starts[0] - WIDE)
        low = text.rfind("\n", least, max(0, starts[0] - 1)) + 1 or least
        if low == starts[0] or not _is_wrap(text[low : starts[0] - 1], _line_from(text, starts[0])):
            break
        starts.insert(0, low)
    for _ in range(WRAPS):
        low = starts[-1] + len(line) + 1
        following = _line_from(text, low)
        if low >= len(text) or not _is_wrap(line, following):
            break
        starts.append(low)
        line = following
    rows = [(start, _line_from(text, start).rstrip()) for start in starts]
    bare = [rx(MARK).sub("", row, 1) for _, row in rows]
    return [(start + len(row) - len(each), each) for (start, row), each in zip(rows, bare)]


def _is_wrap(line: str, following: str) -> bool:
    """Tell whether a sentence goes on in the next line, after the same mark."""
    if max(len(line), len(following)) > REACH:
        return False
    both = rx(MARK).match(line), rx(MARK).match(following)
    mark, tail = (match[0].strip() if match else "" for match in both)
    if tail not in ("", mark) or mark[:1] == "#" != tail[:1]:
        return False
    first, then = line[len(mark) :], rx(MARK).sub("", following, 1)
    joint = first[-5:].strip() + "\n" + then
    return bool(rx(BROKEN).fullmatch(first) and rx(GOING_ON).match(joint))


def _find_word_offsets(text: str) -> WordOffsets:
    lower = "".join(sign if len(sign.lower()) != 1 else sign.lower() for sign in text)
    plain = lower.encode("ascii", "replace").decode("ascii")
    return WordOffsets(plain, lower, beyond_ascii(lower))


def labels_of(text: str) -> list[Label]:
    """Find the labels of a text whose neighbouring words may be secrets."""
    found = _find_labels(text, _find_word_offsets(text), lambda: None)
    return [_make_label(text, at, facts) for at, facts in found if facts.near]


def _make_label(text: str, at: int, facts: _LabelFacts) -> Label:
    """Return a Label with the searched part of its line."""
    low = max(0, at - nearlabel.BEFORE)
    end = at + facts.length
    return Label(at, end, text.rfind("\n", low, at) + 1 or low, end, facts.kind, facts.near)


def _find_labels(
    text: str, places: WordOffsets, tick: Callable[[], None]
) -> Iterator[tuple[int, _LabelFacts]]:
    known: dict[tuple[str, int], _LabelFacts] = {}
    done, ahead = 0, -1
    label, lower, digit = rx(LABEL), places.lower, rx(r"\d")
    for at in sorted(at for stem in ALL_STEMS for at in places.offsets(stem)):
        if at < done:
            continue
        low, high = max(0, at - BEFORE), at + AFTER
        piece = text[low:high]
        facts = known.get((piece, at - low))
        if facts is None:
            tick()
            facts, match = _NOTHING, label.match(lower, at, high)
            if ahead < low:  # the next digit: only phrases are secrets without one
                found = digit.search(text, low)
                ahead = found.start() if found else len(text)
            if match and (ahead < high or _may_be_phrase(piece, at - low, match)):
                facts = _judge_label(piece, lower[low:high], at - low, match)
            known[piece, at - low] = facts
        done = at + facts.length
        if facts.length:
            yield at, facts


def _may_be_phrase(piece: str, at: int, match: re.Match[str]) -> bool:
    return bool(
        _names_words(piece, at, at + len(match[0]))
        or '","' in piece
        or rx(HYPHENED).search(piece)
        or rx(GROUPED).search(piece)
    )


def _judge_label(piece: str, lower: str, at: int, match: re.Match[str]) -> _LabelFacts:
    end, kind = at + len(match[0]), match.lastgroup or "password"
    low, high = piece.rfind("\n", 0, at) + 1, piece.find("\n", at)
    if " " in piece[low:at] and rx(PROMPT).match(piece, low, at):
        printed = tuple(_find_printed(piece, high + 1, kind))
        if printed:
            return _LabelFacts(end - at, "", "", "", False, printed)
    if not _is_separate_word(piece, at, end, kind):
        return _NOTHING
    tier = _grade_label(piece, lower, (at, end, kind), low)
    if not tier or tier == "login" and piece[at - 1 : at] in ("'", '"'):
        return _NOTHING
    if tier == "login":
        return _LabelFacts(end - at, "password", "", tier, False, ())
    label = Label(at, end, low, high if high >= 0 else len(piece), kind, tier)
    spans = tuple(_find_structured(piece, label))
    assigned = bool(rx(ASSIGNED).match(piece, label.end, label.high))
    if not assigned:
        spans += tuple(_find_below(piece, label))
    if tier == "strong" and (not assigned or _names_words(piece, at, end)):
        spans += tuple(_find_phrase(piece, label))
    # a name in a list of them, no title
    listed = piece[at - 1 : at] in ("'", '"') and rx(r"[\"'],?\s").match(piece, end)
    near = "" if listed and piece[low] not in "!?" else tier
    if kind == "pass":
        is_verb = rx(DOES).match(piece, end) and rx(DOER).search(piece, low, at)
        kind = "password"
        near = "login" if rx(NOUN).match(piece, end) and not is_verb else ""
    return _LabelFacts(end - at, kind, tier, near, not spans and not assigned and high >= 0, spans)


def _find_printed(text: str, at: int, kind: str) -> Iterator[Span]:
    """Find a value that a command printed alone on its line."""
    line = _line_from(text, at) if at else ""
    match = rx(r"[\x21-\x7e]{8,256}\r?").fullmatch(line)
    value = line.strip()
    if match and (is_surely_random(value) or is_labelled_secret(value, "strong", True)):
        yield at, at + len(value), kind


def _is_separate_word(text: str, start: int, end: int, kind: str) -> bool:
    """Tell whether a label is a word of prose, not of code."""
    after = text[end : end + 1]
    if after in ("(", "/", "[", ".") and text[end : end + 2] not in (". ", ".\n", "."):
        return False
    if not text[start].isascii():
        return True
    begin = max(0, start - 40)
    begin += len(text[begin:start].rstrip(WORD_CHARS))
    joined = text[start - 1 : start]
    if begin < start and joined not in "_-" and not _is_camel(text, start):
        return kind == "password" and end > start + 5 and text[begin:end].isupper()
    left, before = max(0, begin - 61), text[begin - 1 : begin]
    if rx(WRITTEN).search(text, left, begin) or rx(OVER).match(text, end, end + 20):
        return True
    if before == ".":
        return bool(rx(r"[\"'][\w.\-]{1,60}\Z").search(text, left, begin))
    if begin < start and before in ("'", '"'):
        named = rx(NAMED).search(text, max(0, begin - 24), begin)
        return bool(named or rx(r"[\"'][ \t]{0,3}[:>]").match(text, end))
    return before not in tuple("/$@\\%=" if begin < start else "/$@\\%")


def _is_camel(text: str, at: int) -> bool:
    return (
        text[at - 1 : at].islower()
        and text[at : at + 1].isupper()
        and text[at + 1 : at + 2].islower()
    )


def _grade_label(text: str, lower: str, word: tuple[int, int, str], low: int) -> str:
    """Grade a label as "strong", "medium", "weak", "login", or ""."""
    start, end, kind = word
    if lower[start:end].isascii() and rx(GOES_ON).match(lower, end):
        return ""
    tail = rx(r"\s").split(lower[end : end + 20], 1)[0]
    if rx(NOT_LABEL).match(lower, end) or (tail[-1:] in WORD_CHARS and rx(VETO_TAIL).search(tail)):
        return ""
    if lower[start:end] == "pwd" and rx(COMMAND).match(text, low):
        return ""
    if text[start:end] == "PASS" and not rx(r"[ \t]{2}").search(text, low):
        return ""  # of a test
    if kind in ("password", "pass", "codes"):
        return "strong"
    if kind == "login":
        return kind
    left = lower[max(low, start - 24) : start]
    head = left[-1:] in WORD_CHARS or (left[-1] in " ." and left[-2:-1] in NAME_CHARS)
    if (head and rx(VETOED).search(left)) or lower.startswith("----", end):
        return ""
    if kind == "token":
        return "medium"
    return "medium" if rx(KEYED).search(left) or rx(OF).match(lower, end) else "weak"


def _find_structured(text: str, label: Label) -> Iterator[Span]:
    """Find a value behind markup, tags or a here document."""
    match = rx(STRUCTURED, re.I).match(text, label.end)
    if match:
        value = match["v"].partition("]]>")[0].rstrip(";,")
        if is_labelled_secret(value, label.tier, False):
            yield match.start("v"), match.start("v") + len(value), label.kind


def _find_below(text: str, label: Label) -> Iterator[Span]:
    """Find codes or a passphrase below a label that ends its line."""
    if not _is_end_of_line(text, label):
        return
    if label.kind == "pass" and rx(r"\S").search(text, label.low, label.start):
        return
    at = _skip_filling(text, label.high + 1)
    if label.kind == "codes":
        yield from _find_codes(text, at)
        return
    if label.tier != "strong" or label.kind == "pass":
        return
    line = _line_from(text, at)
    row = line.strip(" \t\r`*>#+-\"'│|")
    if " " in row and _is_row_phrase(text, label, row):
        start = at + line.index(row)
        yield start, start + len(row), label.kind


def _is_end_of_line(text: str, label: Label) -> bool:
    rest = rx(REST).match(text, label.end)
    if not rest or rest.end() < label.high - 1:
        return False
    return not rx(r"[,;\t]\S").match(rest[0])


def _skip_filling(text: str, at: int) -> int:
    """Return the offset of the first line with more than blanks, rules, fences."""
    line = _line_from(text, at)
    for _ in range(8):
        if at + len(line) >= len(text) or not rx(FILLING).match(line):
            break
        at += len(line) + 1
        line = _line_from(text, at)
    return at


def _is_row_phrase(text: str, label: Label, row: str) -> bool:
    """Tell whether a line is the passphrase of the label above it."""
    if _is_phrase(row):
        return True
    words = row[0].islower() and rx(WORDS).fullmatch(row)
    return bool(words) and _names_words(text, label.start, label.end) and _is_worded(row, 3)


def _find_phrase(text: str, label: Label) -> Iterator[Span]:
    match = rx(GROUPED_BELOW).match(text, label.end)
    if match and label.kind == "password" and _is_random_groups(match["v"]):
        yield (*match.span("v"), label.kind)
        return
    if not _names_words(text, label.start, label.end):
        return
    for expression, least in ((QUOTED, 3), (BARE, 4)):
        for low, high in ((label.end, label.end + REACH), (label.low, label.start)):
            for match in rx(expression).finditer(text, low, high):
                if _is_worded(match["v"], least):
                    yield (*match.span("v"), label.kind)
                    return


def _names_words(text: str, start: int, end: int) -> bool:
    """Tell whether a label asks for words: `passphrase`, `recovery words`."""
    return rx(OF_WORDS, re.I).search(text, max(0, start - 12), end + 12) is not None


def _is_worded(value: str, least: int) -> bool:
    """Tell whether words may be a passphrase.

    least: words needed besides stop words; from 4 on, stop words are not allowed.
    """
    words = value.lower().split()
    telling = [word for word in words if word not in tokeniser.STOP]
    if len(telling) < least or rx(LABEL).search(value.lower()) or rx(MESSAGE).search(value.lower()):
        return False
    return least < 4 or len(telling) == len(words)


def _is_random_groups(value: str) -> bool:
    """Tell whether any group lacks a vowel or holds other than letters."""
    return any(not rx(r"[aeiouy]").search(group) or not group.isalpha() for group in value.split())


def _find_codes(text: str, at: int) -> Iterator[Span]:
    for _ in range(24):
        line = _line_from(text, at)
        match = rx(
            r"[ \t>*+\-]{0,8}(?:\d{1,2}[.)] )?(?P<v>[\w\-]{8,40}|\d{3,5} \d{3,5})\r?"
        ).fullmatch(line)
        if not match or not rx(r"\d").search(match["v"]):
            return
        yield at + match.start("v"), at + match.end("v"), "code"
        at += len(line) + 1


def _find_cells(text: str, at: int, facts: _LabelFacts) -> tuple[int, list[Span]]:
    """Return (end of a table or 0, secrets below a label)."""
    end = at + facts.length
    low, high = text.rfind("\n", max(0, at - WIDE), at) + 1, text.find("\n", end, end + WIDE)
    if high < 0 or at - low >= WIDE:
        return 0, []
    label = Label(at, end, low, high, facts.kind, facts.tier)
    if "<t" in text[low:high]:
        return 0, list(_find_html_cells(text, label))
    return _find_column_cells(text, label)


class _Column(NamedTuple):
    """The column of a label in a table of `width` columns."""

    separator: str
    place: int
    width: int


def _find_column(text: str, label: Label) -> _Column | None:
    head = text[label.low : label.high]
    if rx(CODE).search(head) and len(head) < 400:
        return None
    separator = next((sign for sign in SEPARATORS if sign in head.strip(" \r")), "")
    cells = _split_cells(head, separator) if separator else []
    if len(cells) == 1 and separator not in "|│":
        return None
    at, word = label.start - label.low, text[label.start : label.end]
    for place, (start, cell) in enumerate(cells):
        if start <= at < start + len(cell):
            is_head = _is_table_head(cells, place, word, separator in ",;")
            return _Column(separator, place, len(cells)) if is_head else None
    return None


def _find_column_cells(text: str, label: Label) -> tuple[int, list[Span]]:
    column = _find_column(text, label)
    if column is None:
        return 0, []
    separator, place, width = column
    found: list[Span] = []
    others: list[Span] = []
    at = label.high + 1
    for _ in range(ROWS):
        line = _line_from(text, at)
        if not line.strip() or len(line) > 4 * WIDE:
            break
        if not rx(RULE).match(line):
            row = _split_cells(line, separator)
            if place >= len(row) or (separator in ",;" and len(row) != width):
                break
            start, cell = row[place]
            value = cell.strip(" \t\r\"'`*")
            if value:
                start += at + cell.index(value)
                span = start, start + len(value), label.kind
                if _is_cell_secret(value, label.tier):
                    found.append(span)
                else:
                    others.append(span)
        at += len(line) + 1
    if found and label.tier == "strong":
        found += [span for span in others if rx(LISTED_CELL).fullmatch(text[span[0] : span[1]])]
    return at, found


def _line_from(text: str, at: int) -> str:
    """Return the rest of a line from an offset, clipped where long."""
    end = text.find("\n", at, at + 8 * WIDE)
    return text[at:end] if end >= 0 else text[at : at + 8 * WIDE]


def _is_table_head(cells: list[tuple[int, str]], place: int, word: str, is_csv: bool) -> bool:
    if not all(len(cell) < 40 and not rx(CODE).search(cell) for _, cell in cells):
        return False
    others = [cell for n, (_, cell) in enumerate(cells) if n != place]
    if any(cell.strip().isdigit() for cell in others):
        return False
    has_account = any(rx(ACCOUNT, re.I).search(cell) for cell in others)
    if (word.lower() == "pass" or is_csv) and not has_account:
        return False
    return len(cells[place][1].strip(" \t\"'`*_").split()) <= 3 and bool(word)


def _split_cells(line: str, separator: str) -> list[tuple[int, str]]:
    if separator == "  ":
        return [(match.start(), match[0]) for match in rx(r"\S+(?: \S+){0,9}").finditer(line)]
    if separator == ",":
        inner = r"\"[^\"\n]{0,400}\"|[^,\n]{0,400}"
        return [
            (match.start(1), match[1])
            for match in rx(r"(?:^|(?<=,))(%s)(?=,|\r?$)" % inner).finditer(line)
        ]
    cells, at = [], 0
    for cell in line.split(separator):
        cells.append((at, cell))
        at += len(cell) + 1
    if separator in "|│" and cells and rx(r"[ \t]*(?:\d{1,6}→[ \t]*)?").fullmatch(cells[0][1]):
        cells = cells[1:]
    if separator in "|│" and cells and not cells[-1][1].strip():
        cells = cells[:-1]
    return cells


def _find_html_cells(text: str, label: Label) -> Iterator[Span]:
    cell = rx(r"<t[hd]\b[^<>]{0,200}>([^<>]{0,200})</t[hd]>", re.I)
    head = max(text.rfind("<tr", max(0, label.start - 2000), label.start), 0)
    place = sum(1 for _ in cell.finditer(text, head, label.start))
    start = text.find("</tr>", label.end, label.end + 2000)
    for _ in range(ROWS):
        end = text.find("</tr>", start + 5, start + 4000) if start >= 0 else -1
        if end < 0:
            return
        row = list(cell.finditer(text, start, end))
        value = row[place][1].strip() if place < len(row) else ""
        if _is_cell_secret(value, label.tier):
            at = row[place].start(1) + row[place][1].index(value)
            yield at, at + len(value), label.kind
        start = end


def _is_cell_secret(value: str, tier: str) -> bool:
    if is_labelled_secret(value, tier, True):
        return True
    if len(value) < 5 or is_made_up(value) or rx(NO_CELL).match(value):
        return False
    if tier == "strong" and rx(CHOSEN_CELL).fullmatch(value):
        return True
    last = rx(r"[A-Za-z]+[_-]").split(value)[-1]
    return tier in ("strong", "medium") and rx(HEX).fullmatch(last) is not None


def _is_ruled_out(value: str) -> bool:
    """Tell whether a value is a placeholder, address, path or code."""
    if len(value) < 5 or not value.isascii() or is_made_up(value) or rx(DIGEST).match(value):
        return True
    if rx(NO_VALUE).match(value):
        return True
    ruled_out = (
        r"[\w.\-]{1,64}@[\w\-]{1,64}\.|[A-Za-z][\w+.\-]{1,20}://|[/~.]{1,2}/|\$[\w{(]"
        r"|--?[a-z]|<|\w{1,60}\("
    )
    return bool(rx(ruled_out).match(value))


@lru_cache(maxsize=4096)
def is_labelled_secret(value: str, tier: str, alone: bool) -> bool:
    """Tell whether a value that belongs to a label is a secret.

    alone: it fills a cell or a line, so it is no code.
    """
    if alone and tier == "strong" and _is_phrase(value):
        return True
    if _is_ruled_out(value):
        return False
    if tier == "strong":
        return _is_password(value, alone)
    if is_uuid(value):
        return tier == "medium"
    level = "weak" if tier == "weak" else "medium"
    return is_secret(value, level, False) and not rx(COMPOSED).fullmatch(value)


def _is_phrase(value: str) -> bool:
    """Tell whether a text is four words or more, none a stop word."""
    words = rx(r"[-. ]").split(value.lower())
    if not rx(PHRASE).fullmatch(value) or rx(LABEL).search(value.lower()):
        return False
    return tokeniser.STOP.isdisjoint(words) and "login" not in words


def _is_password(value: str, alone: bool) -> bool:
    if rx(PASSPHRASE).fullmatch(value):
        return True
    if value[:1] == "@" and rx(SPOKEN).fullmatch(value):
        return True
    if not rx(r"\d").search(value[:128]) and not rx(SPOKEN).fullmatch(value):
        return False
    # a ticket, a version or size, a short number, a commit
    counted = (
        r"[A-Z]{2,8}-\d{1,7}|v?\d[\d.\-_]*[A-Za-z]{0,5}[\d.\-]*|[A-Za-z]{0,3}\d{1,6}|[0-9a-f]{7,40}"
    )
    if rx(counted).fullmatch(value) and not is_random(value, 16):
        return False
    return is_secret(value, "strong", alone)


@lru_cache(maxsize=4096)
def is_surely_random(value: str) -> bool:
    """Tell whether a word near a label is random beyond doubt."""
    if rx(NO_VALUE).match(value) or value.partition("_")[0] in COUNTERS:
        return False
    if is_uuid(value) or rx(WORDY).fullmatch(value) or rx(COMPOSED).fullmatch(value):
        return False
    if is_identifier(value) or len(rx(r"\d").findall(value)) < 2:
        return False
    numbered_words = r"[A-Za-z_]+\d{0,3}(?:[_\-/][A-Za-z]*\d{0,3})*"
    if rx(r"(?:^|/)[a-z\-]{3,}/").search(value) or not is_random(value, 10):
        return False
    return not rx(numbered_words).fullmatch(value)
