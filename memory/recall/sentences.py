"""Cut a text into lines that can be quoted: sentences, list items, code blocks, tables.

Each knows the line that leads it in.  Only the marks of markdown and of sentences are looked at,
never words, so that any language is read alike.
"""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Tuple

from memory.core import tokeniser

PROSE, ITEM, CODE, TABLE, RUN, LEAD, SAID = "prose", "item", "code", "table", "run", "lead", "said"
ITEM_BYTES = 240  # of a list item, or words of the user, that stay whole
LEAD_CHARS = 200  # of a line that leads on by a colon
WRAPPED = 60  # characters from which on a line without an end goes on in the next one
LEAST = 12  # bytes of a sentence
MOST = 200_000  # characters of a text whose statements are wanted

_ITEM = re.compile(r"(\s*)(?:[-*+•]|\d{1,3}[.)])\s+\S")
_RUN = re.compile(
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
_FIELD = re.compile(r"[A-Za-z][\w ./-]{0,30}: \S")
_RULER = re.compile(
    r"(?<!\s)\s{0,80}\|?\s{0,80}:?-{1,80}:?\s{0,80}"
    r"(?:\|\s{0,80}:?-{1,80}:?\s{0,80}){1,40}\|?\s{0,80}$"
)
_STOP = re.compile(
    r"(?<![.!?])[.!?]+[\"')\]»”’`*_]*\s+|[。！？．][」』）”]*\s*|"
    r"(?<=[다요죠까]\.)(?=[가-힣A-Z\"'`])"
)
_SHORT = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|ca|approx|Dr|Mr|Mrs|Nr|No|Fig|bzw|usw|vgl|"
    r"z\.\s?B|d\.\s?h|u\.\s?a|[A-Za-z])\.$"
)
_ORDINAL = re.compile(
    r"(?:^|\s)\d{1,2}\. (?=(?:Jan|Feb|M[aä]r|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"
)
_CLAUSE = re.compile(r"[,;:—–]\s|[、，；：。！？]|\.\s|\s[-–—]\s")
_ENDS = (".", "!", "?", ":", "。", "！", "？", "：", "…")


class Line(NamedTuple):
    """A piece of text that is quoted whole.

    block: number of its paragraph, list, table or code block, counted with the line that introduces
        it. lead: index of the introducing line, -1 for none.
    """

    text: str
    kind: str
    block: int
    lead: int = -1


def lines(text: str) -> List[Line]:
    """Return the pieces of a text that are quoted whole."""
    return _Reader().read(text)


def statements(text: str) -> List[str]:
    """Return the sentences and list items of a text, on one line each.

    Without code and tables, with what announces them, and without headings and lines of logs.
    """
    found = lines(text[:MOST])
    announcing = {line.lead for line in found if _is_coded(line)}
    out: List[str] = []
    for at, line in enumerate(found):
        if at in announcing:
            continue
        if line.kind in (ITEM, RUN):
            item = _ITEM.match(line.text)
            out.append(_one_line(line.text[item.end() - 1 :] if item else line.text))
            continue
        said = _one_line(line.text)
        if not (_is_coded(line) or _is_heading(line, said) or LOGGED.match(said)):
            out.append(said)
    return out


def _is_heading(line: Line, said: str) -> bool:
    return line.kind == LEAD and bool(tokeniser.heading(said)[0] or tokeniser.is_bold(said))


def _is_coded(line: Line) -> bool:
    return line.kind in (CODE, TABLE) or line.text[:4] in ("    ", "\t")


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _Reader:
    """The lines read so far and the state for the next."""

    def __init__(self) -> None:
        self.found: List[Line] = []
        self.block = 0
        self.lead = -1  # the line that leads the next block in
        self.paragraph: List[str] = []
        self.kind = PROSE
        self.items: List[Tuple[int, int]] = []  # (indent, place) of the items around the next one

    def read(self, text: str) -> List[Line]:
        """Return the lines of a text."""
        for rows, kind in _rows(text):
            if kind in (CODE, TABLE):
                self._flush()
                inside = self.items and rows[0][:1].isspace()
                self._add(
                    "\n".join(_dedented(rows)), kind, self.items[-1][1] if inside else self.lead
                )
                self._close(kind)
            else:
                self._row(rows[0])
        self._flush()
        return self.found

    def _row(self, row: str) -> None:
        bare = row.strip()
        item = _ITEM.match(row)
        if not bare:
            self._flush()
        elif tokeniser.heading(bare)[0] or tokeniser.is_bold(bare):
            self._flush()
            self._end_list()
            self._leads(bare)
        elif item:
            self._flush()
            self.paragraph, self.kind = [row.rstrip()], RUN if _RUN.match(row) else ITEM
        elif self.items and not self.paragraph and row[:1].isspace():
            self.paragraph, self.kind = [row.rstrip()], ITEM
        elif bare.startswith(">"):
            self.kind = SAID
            self.paragraph.append(row.strip("> ").rstrip())
        else:
            self._prose(row)

    def _prose(self, row: str) -> None:
        """Add a row to its paragraph, or begin one."""
        if not self.paragraph or self.kind == SAID:
            self._flush()
            self._end_list()
        self.paragraph.append(row.rstrip())

    def _flush(self) -> None:
        """End a paragraph or an item."""
        held, kind = [row for row in self.paragraph if row.strip()], self.kind
        self.paragraph, self.kind = [], PROSE
        if not held:
            return
        rows = _joined(held)
        if kind in (ITEM, RUN):
            self._item(rows[0] if kind == RUN else " ".join(rows), kind, held[0])
            return
        lead = rows.pop() if kind == PROSE and _leads_on(rows[-1]) else ""
        for row in rows:
            for one in _cut(row, kind):
                self._add(one, kind, self.lead)
        self._close(kind)
        if lead:
            self._leads(lead)

    def _item(self, text: str, kind: str, row: str) -> None:
        indent = len(row) - len(row.lstrip())
        while self.items and self.items[-1][0] >= indent:
            self.items.pop()
        lead = self.items[-1][1] if self.items else self.lead
        parts = [text] if len(text.encode()) <= ITEM_BYTES or kind == RUN else sentences(text)
        place = len(self.found)
        for number, part in enumerate(parts):
            self._add(part, kind, place if number else lead)
        self.items.append((indent, place))

    def _leads(self, text: str) -> None:
        """Add a line that introduces a block."""
        before = self.found[-1] if self.found else None
        goes_on = before is not None and before.kind == LEAD and self.lead == len(self.found) - 1
        self._add(text, LEAD, self.lead if goes_on else -1)
        self.lead = len(self.found) - 1

    def _add(self, text: str, kind: str, lead: int) -> None:
        self.found.append(Line(text, kind, self.block, lead))

    def _close(self, kind: str) -> None:
        """End a block and its introducing line's effect."""
        if self.found and self.found[-1].kind != LEAD:
            self.block += 1
            self.lead = -1
            if kind not in (CODE, TABLE):
                self.items = []

    def _end_list(self) -> None:
        if self.items:
            self.items = []
            self._close(ITEM)


def _rows(text: str) -> Iterator[Tuple[List[str], str]]:
    """Yield rows singly, rows of a code block or table together."""
    held: List[str] = []
    kind = ""
    rows = list(tokeniser.coded(text.split("\n")))
    following = [*(row for row, _ in rows[1:]), ""]
    for (row, code), after in zip(rows, following):
        now = CODE if code else TABLE if _is_of_table(row, after, kind) else ""
        if held and (now != kind or now == CODE and _is_next_block(held, row)):
            yield held, kind
            held = []
        kind = now
        if now:
            held.append(row)
        else:
            yield [row], ""
    if held:
        yield held, kind


def _is_of_table(row: str, after: str, before: str) -> bool:
    """Tell whether a row belongs to a table, begun before or with a ruler after it."""
    return "|" in row and (before == TABLE or bool(_RULER.match(after)))


def _is_next_block(held: List[str], row: str) -> bool:
    return len(held) > 1 and _is_fence(held[-1]) and _is_fence(row)


def _is_fence(row: str) -> bool:
    return row.strip()[:3] in ("```", "~~~")


def _dedented(rows: List[str]) -> List[str]:
    margin = min((len(row) - len(row.lstrip()) for row in rows if row.strip()), default=0)
    return [row[margin:].rstrip() for row in rows]


def _leads_on(row: str) -> bool:
    return len(row) <= LEAD_CHARS and row.rstrip("*_ ").endswith((":", "："))


def _glue(last: str, first: str) -> str:
    """Return the glue between the letters of two joined rows."""
    wide = tokeniser.is_cjk(last) and tokeniser.is_cjk(first)
    return "" if wide and not tokeniser.is_hangul(first) else " "


def _cut(row: str, kind: str) -> List[str]:
    """Return the sentences of a row; a short quoted one stays whole."""
    if kind == SAID and len(row.encode()) <= ITEM_BYTES:
        return [row]
    return sentences(row)


def _joined(rows: List[str]) -> List[str]:
    """Return the rows of a paragraph, wrapped ones joined."""
    out: List[str] = []
    open_end = False
    for row in rows:
        if out and open_end and not (LOGGED.match(row) or _FIELD.match(row.lstrip())):
            out[-1] += _glue(out[-1][-1], row.strip()[0]) + row.strip()
        else:
            out.append(row.rstrip() if not out else row.strip())
        ended = row.rstrip("*_`\")' ").endswith(_ENDS) or LOGGED.match(out[-1])
        open_end = len(row.encode()) >= WRAPPED and not ended
    return out


def _is_end(text: str, start: int, stop: re.Match[str]) -> bool:
    """Tell whether a stop ends the sentence that begins at `start`."""
    if stop[0][:1] in ("。", "！", "？", "．", ""):
        return True
    before = text[max(start, stop.start() - 12) : stop.start() + 1]
    after = text[stop.end() : stop.end() + 4]
    if after[:1].islower():
        return False
    return not (_SHORT.search(before) or _ORDINAL.search(before + " " + after))


def sentences(text: str) -> List[str]:
    """Return the sentences of prose (en, de, ko, ja, zh)."""
    out: List[str] = []
    start, last, ticks = 0, 0, 0
    for stop in _STOP.finditer(text):
        end = stop.end()
        ticks += text.count("`", last, end)
        last = end
        long = len(text[start : min(end, start + LEAST)].encode()) >= LEAST
        if long and ticks % 2 == 0 and _is_end(text, start, stop):
            out.append(text[start:end].rstrip())
            start = end
    rest = text[start:].rstrip()
    if rest.strip() and out and len(rest) < 8 and rest.isascii():
        out[-1] += " " + rest.strip()
    elif rest.strip():
        out.append(rest)
    return out


def clip_at_clause(text: str, most: int) -> str:
    """Shorten a text to `most` bytes at a clause.

    Else at a space or a wide character, else "".
    """
    head = text.encode()[: max(most - 3, 0)].decode("utf-8", "ignore")
    clauses = [match.start() for match in _CLAUSE.finditer(head)]
    spaces = [at for at in (head.rfind(" "),) if at > 0]
    wide = [len(head)] if head and ord(head[-1]) >= 0x1100 else []
    for ends in (clauses, spaces, wide):
        if ends and (ends[-1] >= len(head) // 3 or ends is wide):
            return head[: ends[-1]].rstrip(" ,;:、，；：") + "…"
    return ""
