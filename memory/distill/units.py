"""Take a record's body apart into what can be quoted: sentences, list items, code blocks, tables."""

from __future__ import annotations

from dataclasses import dataclass

from memory.distill.digests import BODY_LIMIT, Source
from memory.recall.sentences import ITEM_BYTES, LOGGED, sentences
from memory.session.latepattern import Late

_FENCE = Late(r"(?<!\s)\s*(```+|~~~+)")
_RULER = Late(r"(?<!\s)\s{0,80}\|?\s{0,80}:?-{1,80}:?\s{0,80}(?:\|\s{0,80}:?-{1,80}:?\s{0,80}){1,40}\|?\s{0,80}$")
_HEADING = Late(r" {0,3}#{1,6}\s+(\S.*)")
_UNDERLINE = Late(r"(?:=+|-+)\s*$")
_ITEM = Late(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(\S.*)")
_TITLE = Late(r"\*\*[^*\n]{1,90}\*\*:?$")  # a line that is a heading in bold type
_FIELD = Late(r"[A-Za-z][\w ./-]{0,30}: \S")


@dataclass(frozen=True)
class Unit:
    """A piece of a source: `order` counts within the source, `kind` is prose, item, line (of a log),
    code or table."""

    source: int
    order: int
    kind: str
    text: str
    label: str
    heading: str


def units(index: int, source: Source, block: int) -> list[Unit]:
    """Split a source's body into units; a code block or table over `block` bytes becomes several, cut at line ends."""
    out: list[Unit] = []
    for kind, lines, label, heading in _blocks(source.body[:BODY_LIMIT].split("\n")):
        if kind in ("code", "table"):
            pieces = _pieces(kind, lines, max(block, 80))
        else:
            pieces = [piece for part in _paragraphs(kind, lines) for piece in _sentences(part, kind)]
        out += [Unit(index, len(out) + i, "line" if kind == "prose" and LOGGED.match(piece) else kind, piece, label, heading)
                for i, piece in enumerate(pieces)]
    return out


def _blocks(lines: list[str]) -> list[tuple[str, list[str], str, str]]:
    """Group lines into (kind, lines, label, heading); the label is the line with a colon that announces a block."""
    out: list[tuple[str, list[str], str, str]] = []
    heading, last, at = "", "", 0
    run: list[str] = []
    kind = "prose"

    def flush() -> None:
        nonlocal run, last, kind
        if run:
            out.append((kind, run, "", heading))
            last = run[-1] if kind == "prose" else ""
        run, kind = [], "prose"

    while at < len(lines):
        line = lines[at]
        end, block = _block_end(lines, at, kind == "prose" and not run)
        title = _HEADING.match(line)
        item = _ITEM.match(line)
        if block:
            label = run.pop().strip() if run and kind == "prose" and _announces(run[-1]) else ""
            flush()
            if not label and last and _announces(last):
                label = out[-1][1].pop().strip()
            out.append((block, lines[at:end], label, heading))
            last = ""
        elif title:
            flush()
            heading, last = title[1].rstrip("# "), ""
        elif len(run) == 1 and kind == "prose" and _UNDERLINE.match(line):
            heading, run = run[0].strip(), []
        elif item and not _UNDERLINE.match(line.replace(" ", "")):
            flush()
            run, kind = [item[1]], "item"
        elif not line.strip():
            flush()
        else:
            if line.lstrip().startswith(">") and at and not lines[at - 1].lstrip().startswith(">"):
                flush()
            run.append(line.lstrip("> ") if line.lstrip().startswith(">") else line)
        at = end
    flush()
    return out


def _announces(line: str) -> bool:
    """Tell whether a line stands for the block under it: it ends in a colon and is short."""
    return line.rstrip().endswith((":", "：")) and len(line) <= 100


def _block_end(lines: list[str], at: int, free: bool) -> tuple[int, str]:
    """Return (index after the block that starts at a line, its kind), or (at + 1, "") where none does."""
    line = lines[at]
    fence = _FENCE.match(line)
    if fence:
        end = at + 1
        while end < len(lines) and not (lines[end].strip().startswith(fence[1]) and not lines[end].strip(" `~")):
            end += 1
        return min(end + 1, len(lines)), "code"
    end = at + 1
    if "|" in line and end < len(lines) and _RULER.match(lines[end]):
        while end < len(lines) and "|" in lines[end]:
            end += 1
        return end, "table"
    if free and line.startswith(("    ", "\t")) and line.strip() and not _ITEM.match(line):
        while end < len(lines) and lines[end].startswith(("    ", "\t")) and lines[end].strip():
            end += 1
        return end, "code"
    return end, ""


def _pieces(kind: str, lines: list[str], most: int) -> list[str]:
    """Join a block's lines into pieces of at most `most` bytes that stand alone: fenced, or under the table's head."""
    if kind == "table":
        head, tail, rows = [line.strip() for line in lines[:2]], [], [line.strip() for line in lines[2:]]
    else:
        fence = _FENCE.match(lines[0])
        mark = fence[1] if fence else "```"
        inner = lines[1:] if fence else lines
        if fence and inner and inner[-1].strip().startswith(mark):
            inner = inner[:-1]
        margin = min((len(x) - len(x.lstrip()) for x in inner if x.strip()), default=0)
        head, tail, rows = [lines[0].strip() if fence else mark], [mark], [x[margin:].rstrip() for x in inner]
        if len(rows) == 1 and "`" not in rows[0] and rows[0] and len(rows[0]) <= 160:
            return ["`%s`" % rows[0]]
    out: list[str] = []
    run: list[str] = []
    for row in [*rows, None]:
        if row is None or (run and sum(len(x.encode()) + 1 for x in [*head, *run, row, *tail]) > most):
            if any(x.strip() for x in run):
                out.append("\n".join(head + run + tail))
            run = []
        if row is not None:
            run.append(row)
    return out


def _paragraphs(kind: str, lines: list[str]) -> list[str]:
    """Join wrapped lines; a line like `Cause: x` or a bold heading starts anew.  No space is put between two wide characters."""
    out: list[str] = []
    logged = False
    for line in lines:
        alone = kind == "prose" and (LOGGED.match(line) or _FIELD.match(line.lstrip()) or (out and _TITLE.match(out[-1])))
        line = " ".join(line.split())
        alone = alone or (kind == "prose" and _TITLE.match(line))
        if not out or alone or (logged and kind == "prose"):
            out.append(line)
        elif line:
            wide = out[-1] and ord(out[-1][-1]) >= 0x3000 and ord(line[0]) >= 0x3000 and not "가" <= line[0] <= "힣"
            out[-1] += ("" if wide else " ") + line
        logged = len(out[-1]) < 400 and bool(LOGGED.match(out[-1])) if out else False
    return [part for part in out if part]


def _sentences(part: str, kind: str) -> list[str]:
    """Split one line of prose into sentences; a list item of up to 240 bytes stays whole."""
    whole = kind == "item" or LOGGED.match(part)
    return [part] if whole and len(part.encode()) <= ITEM_BYTES else sentences(part)
