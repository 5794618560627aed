"""Parse a text into lines that can be quoted: sentences, list items, code blocks, tables.

Each knows the line that introduces it.  Only marks of markdown and of sentences count, never words,
so that every language is parsed alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory.core import tokeniser

PROSE, ITEM, CODE, TABLE, RUN, LEAD, SAID = "prose", "item", "code", "table", "run", "lead", "said"
ITEM_BYTES = 240  # up to which a list item or a quoted line stays whole
LEAD_CHARS = 200  # up to which a line with a colon at its end introduces the next
WRAPPED = 60  # bytes from which a row without a full stop continues in the next row
LEAST = 12  # bytes of a sentence
MOST = 200_000  # characters of a text that statements are taken from

_ITEM = re.compile(r"(\s*)(?:[-*+•]|\d{1,3}[.)])\s+\S")
_RUN = re.compile(  # what a tool did, as capture writes it
    r"- (?:[✓✗⊘·] |(?:created|edited|removed|merged) `|commit [0-9a-f]{7}|"
    r"pull request http|subagent\b)"
)
LOGGED = re.compile(  # a line of a log or of a program's output stands alone
    r"\s{0,80}(?:\[?\d{4}-\d\d-\d\d[T \]]|\[?\d{1,2}:\d\d:\d\d|\[\s{0,80}\d{1,80}%?\]|"
    r"E\s{2,80}|>\s|\$\s|"
    r"(?:PASS|FAIL)(?:ED)?\b|Traceback |"
    r"\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b|"
    r"at [\w.$<>]{1,80}\(|[\w.]{1,80}(?:Error|Exception): |File \"|[=_-]{3,80})"
)
_FIELD = re.compile(  # `Name: value`
    r"[A-Za-z][\w ./-]{0,30}: \S"
)
_TABLE_RULE = re.compile(
    r"(?<!\s)\s{0,80}\|?\s{0,80}:?-{1,80}:?\s{0,80}"
    r"(?:\|\s{0,80}:?-{1,80}:?\s{0,80}){1,40}\|?\s{0,80}$"
)
_FULL_STOP = re.compile(
    r"(?<![.!?])[.!?]+[\"')\]»”’`*_]*\s+|[。！？．][」』）”]*\s*|"
    r"(?<=[다요죠까]\.)(?=[가-힣A-Z\"'`])"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|ca|approx|Dr|Mr|Mrs|Nr|No|Fig|bzw|usw|vgl|"
    r"z\.\s?B|d\.\s?h|u\.\s?a|[A-Za-z])\.$"
)
_ORDINAL = re.compile(  # `3. Mai` in German
    r"(?:^|\s)\d{1,2}\. (?=(?:Jan|Feb|M[aä]r|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"
)
_CLAUSE = re.compile(r"[,;:—–]\s|[、，；：。！？]|\.\s|\s[-–—]\s")
_ENDS = (".", "!", "?", ":", "。", "！", "？", "：", "…")


class Line(NamedTuple):
    """A piece of text that is quoted whole.

    block: number of its paragraph, list, table or code block, the introducing line included. lead:
        index of the introducing line, -1 for none.
    """

    text: str
    kind: str
    block: int
    lead: int = -1


def parse_lines(text: str) -> list[Line]:
    """Parse a text into lines that are quoted whole."""
    return _LineParser().parse(text)


def extract_statements(text: str) -> list[str]:
    """Extract the sentences and list items of a text, one line each.

    Without headings, lines of logs, code and tables with their introductions.
    """
    found = parse_lines(text[:MOST])
    introductions = {line.lead for line in found if _is_coded(line)}
    out: list[str] = []
    for at, line in enumerate(found):
        if at in introductions:
            continue
        if line.kind in (ITEM, RUN):
            item = _ITEM.match(line.text)
            out.append(_one_line(line.text[item.end() - 1 :] if item else line.text))
            continue
        row = _one_line(line.text)
        if not (_is_coded(line) or _is_heading(line, row) or LOGGED.match(row)):
            out.append(row)
    return out


def _is_heading(line: Line, row: str) -> bool:
    return line.kind == LEAD and bool(tokeniser.parse_heading(row)[0] or tokeniser.is_bold(row))


def _is_coded(line: Line) -> bool:
    return line.kind in (CODE, TABLE) or line.text[:4] in ("    ", "\t")


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _LineParser:
    def __init__(self) -> None:
        self.found: list[Line] = []
        self.block = 0
        self.lead = -1  # index of the line that introduces the next block
        self.paragraph: list[str] = []
        self.kind = PROSE
        self.items: list[tuple[int, int]] = []  # (indent, place) of the items around the next one

    def parse(self, text: str) -> list[Line]:
        """Return a text's lines; may be called once."""
        for rows, kind in _group_rows(text):
            if kind in (CODE, TABLE):
                self._end_paragraph()
                inside = self.items and rows[0][:1].isspace()
                self._add_line(
                    "\n".join(_dedent(rows)), kind, self.items[-1][1] if inside else self.lead
                )
                self._end_block(kind)
            else:
                self._add_row(rows[0])
        self._end_paragraph()
        return self.found

    def _add_row(self, row: str) -> None:
        bare = row.strip()
        item = _ITEM.match(row)
        if not bare:
            self._end_paragraph()
        elif tokeniser.parse_heading(bare)[0] or tokeniser.is_bold(bare):
            self._end_paragraph()
            self._end_list()
            self._add_lead(bare)
        elif item:
            self._end_paragraph()
            self.paragraph, self.kind = [row.rstrip()], RUN if _RUN.match(row) else ITEM
        elif self.items and not self.paragraph and row[:1].isspace():
            self.paragraph, self.kind = [row.rstrip()], ITEM
        elif bare.startswith(">"):
            self.kind = SAID
            self.paragraph.append(row.strip("> ").rstrip())
        else:
            self._add_prose(row)

    def _add_prose(self, row: str) -> None:
        if not self.paragraph or self.kind == SAID:
            self._end_paragraph()
            self._end_list()
        self.paragraph.append(row.rstrip())

    def _end_paragraph(self) -> None:
        lines, kind = [row for row in self.paragraph if row.strip()], self.kind
        self.paragraph, self.kind = [], PROSE
        if not lines:
            return
        rows = _join_wrapped_rows(lines)
        if kind in (ITEM, RUN):
            self._add_item(rows[0] if kind == RUN else " ".join(rows), kind, lines[0])
            return
        lead = rows.pop() if kind == PROSE and _is_lead(rows[-1]) else ""
        for row in rows:
            for sentence in _split_row(row, kind):
                self._add_line(sentence, kind, self.lead)
        self._end_block(kind)
        if lead:
            self._add_lead(lead)

    def _add_item(self, text: str, kind: str, row: str) -> None:
        indent = len(row) - len(row.lstrip())
        while self.items and self.items[-1][0] >= indent:
            self.items.pop()
        lead = self.items[-1][1] if self.items else self.lead
        parts = [text] if len(text.encode()) <= ITEM_BYTES or kind == RUN else split_sentences(text)
        place = len(self.found)
        for number, part in enumerate(parts):
            self._add_line(part, kind, place if number else lead)
        self.items.append((indent, place))

    def _add_lead(self, text: str) -> None:
        """Add a line that introduces a block."""
        before = self.found[-1] if self.found else None
        goes_on = before is not None and before.kind == LEAD and self.lead == len(self.found) - 1
        self._add_line(text, LEAD, self.lead if goes_on else -1)
        self.lead = len(self.found) - 1

    def _add_line(self, text: str, kind: str, lead: int) -> None:
        self.found.append(Line(text, kind, self.block, lead))

    def _end_block(self, kind: str) -> None:
        """End a block; the next has no introducing line."""
        if self.found and self.found[-1].kind != LEAD:
            self.block += 1
            self.lead = -1
            if kind not in (CODE, TABLE):
                self.items = []

    def _end_list(self) -> None:
        if self.items:
            self.items = []
            self._end_block(ITEM)


def _group_rows(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield (rows, kind): of a code block or table together, others singly."""
    group: list[str] = []
    kind = ""
    rows = list(tokeniser.mark_code(text.split("\n")))
    following = [*(row for row, _ in rows[1:]), ""]
    for (row, code), after in zip(rows, following):
        now = CODE if code else TABLE if _is_table_row(row, after, kind) else ""
        if group and (now != kind or (now == CODE and _is_new_fence(group, row))):
            yield group, kind
            group = []
        kind = now
        if now:
            group.append(row)
        else:
            yield [row], ""
    if group:
        yield group, kind


def _is_table_row(row: str, after: str, before: str) -> bool:
    """Tell whether a row continues a table or starts one."""
    return "|" in row and (before == TABLE or bool(_TABLE_RULE.match(after)))


def _is_new_fence(block: list[str], row: str) -> bool:
    return len(block) > 1 and _is_fence(block[-1]) and _is_fence(row)


def _is_fence(row: str) -> bool:
    return row.strip()[:3] in ("```", "~~~")


def _dedent(rows: list[str]) -> list[str]:
    margin = min((len(row) - len(row.lstrip()) for row in rows if row.strip()), default=0)
    return [row[margin:].rstrip() for row in rows]


def _is_lead(row: str) -> bool:
    return len(row) <= LEAD_CHARS and row.rstrip("*_ ").endswith((":", "："))


def _choose_separator(last: str, first: str) -> str:
    """Return the separator of two joined rows, "" between Chinese or Japanese."""
    wide = tokeniser.is_cjk(last) and tokeniser.is_cjk(first)
    return "" if wide and not tokeniser.is_hangul(first) else " "


def _split_row(row: str, kind: str) -> list[str]:
    """Split a row into sentences; a short quoted row stays whole."""
    if kind == SAID and len(row.encode()) <= ITEM_BYTES:
        return [row]
    return split_sentences(row)


def _join_wrapped_rows(rows: list[str]) -> list[str]:
    out: list[str] = []
    open_end = False
    for row in rows:
        if out and open_end and not (LOGGED.match(row) or _FIELD.match(row.lstrip())):
            out[-1] += _choose_separator(out[-1][-1], row.strip()[0]) + row.strip()
        else:
            out.append(row.rstrip() if not out else row.strip())
        ended = row.rstrip("*_`\")' ").endswith(_ENDS) or LOGGED.match(out[-1])
        open_end = len(row.encode()) >= WRAPPED and not ended
    return out


def _is_sentence_end(text: str, start: int, stop: re.Match[str]) -> bool:
    """Tell whether a full stop ends the sentence that begins at `start`."""
    if stop[0][:1] in ("。", "！", "？", "．", ""):
        return True
    before = text[max(start, stop.start() - 12) : stop.start() + 1]
    after = text[stop.end() : stop.end() + 4]
    if after[:1].islower():
        return False
    return not (_ABBREVIATION.search(before) or _ORDINAL.search(before + " " + after))


def split_sentences(text: str) -> list[str]:
    """Split prose into sentences (en, de, ko, ja, zh)."""
    out: list[str] = []
    start, last, ticks = 0, 0, 0
    for stop in _FULL_STOP.finditer(text):
        end = stop.end()
        ticks += text.count("`", last, end)
        last = end
        long = len(text[start : min(end, start + LEAST)].encode()) >= LEAST
        if long and ticks % 2 == 0 and _is_sentence_end(text, start, stop):
            out.append(text[start:end].rstrip())
            start = end
    rest = text[start:].rstrip()
    if rest.strip() and out and len(rest) < 8 and rest.isascii():
        out[-1] += " " + rest.strip()
    elif rest.strip():
        out.append(rest)
    return out


def clip_at_clause(text: str, most: int) -> str:
    """Shorten a text to `most` bytes at a clause, space or CJK letter.

    Returns "" where none is found.
    """
    head = text.encode()[: max(most - 3, 0)].decode("utf-8", "ignore")
    least = len(head) // 3
    cut = max((match.start() for match in _CLAUSE.finditer(head)), default=-1)
    if cut < least:
        cut = head.rfind(" ")
        if cut < max(least, 1):
            cut = len(head) if head and ord(head[-1]) >= 0x1100 else -1  # from 0x1100: CJK
    return head[:cut].rstrip(" ,;:、，；：") + "…" if cut >= 0 else ""
