"""Take a record's body apart into the sentences and list items that claim something."""

from __future__ import annotations

from memory.distill.digests import BODY_LIMIT
from memory.recall.sentences import ITEM_BYTES, LOGGED, sentences
from memory.session.latepattern import Late

_FENCE = Late(r"(?<!\s)\s*(```+|~~~+)")
_RULER = Late(
    r"(?<!\s)\s{0,80}\|?\s{0,80}:?-{1,80}:?\s{0,80}(?:\|\s{0,80}:?-{1,80}"
    r":?\s{0,80}){1,40}\|?\s{0,80}$"
)
_HEADING = Late(r" {0,3}#{1,6}\s+(\S.*)")
_UNDERLINE = Late(r"(?:=+|-+)\s*$")
_ITEM = Late(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(\S.*)")
_TITLE = Late(r"\*\*[^*\n]{1,90}\*\*:?$")  # a line that is a heading in bold type
_FIELD = Late(r"[A-Za-z][\w ./-]{0,30}: \S")


def statements(body: str) -> list[str]:
    """Return the sentences and list items of a text.

    Without code, tables and lines of logs.
    """
    return [
        one
        for kind, lines in _blocks(body[:BODY_LIMIT].split("\n"))
        for part in _paragraphs(kind, lines)
        for one in _sentences(part, kind)
        if kind == "item" or not LOGGED.match(one)
    ]


def _blocks(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Group the lines of a text into (`prose` or `item`, lines)."""
    out: list[tuple[str, list[str]]] = []
    last, at = "", 0
    run: list[str] = []
    kind = "prose"

    def flush() -> None:
        nonlocal run, last, kind
        if run:
            out.append((kind, run))
            last = run[-1] if kind == "prose" else ""
        run, kind = [], "prose"

    while at < len(lines):
        line = lines[at]
        end, is_block = _block_end(lines, at, kind == "prose" and not run)
        item = _ITEM.match(line)
        if is_block:
            announced = bool(run) and kind == "prose" and _announces(run[-1])
            if announced:
                run.pop()
            flush()
            if not announced and last and _announces(last):
                out[-1][1].pop()
            last = ""
        elif _HEADING.match(line):
            flush()
            last = ""
        elif len(run) == 1 and kind == "prose" and _UNDERLINE.match(line):
            run = []
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
    """Tell whether a short line announces a block by a colon."""
    return line.rstrip().endswith((":", "：")) and len(line) <= 100


def _block_end(lines: list[str], at: int, free: bool) -> tuple[int, bool]:
    """Return (index after the code or table at a line, True)."""
    line = lines[at]
    fence = _FENCE.match(line)
    if fence:
        end = at + 1
        while end < len(lines) and not (
            lines[end].strip().startswith(fence[1]) and not lines[end].strip(" `~")
        ):
            end += 1
        return min(end + 1, len(lines)), True
    end = at + 1
    if "|" in line and end < len(lines) and _RULER.match(lines[end]):
        while end < len(lines) and "|" in lines[end]:
            end += 1
        return end, True
    if free and line.startswith(("    ", "\t")) and line.strip() and not _ITEM.match(line):
        while end < len(lines) and lines[end].startswith(("    ", "\t")) and lines[end].strip():
            end += 1
        return end, True
    return end, False


def _paragraphs(kind: str, lines: list[str]) -> list[str]:
    """Return the paragraphs of wrapped lines."""
    out: list[str] = []
    logged = False
    for line in lines:
        alone = kind == "prose" and (
            LOGGED.match(line) or _FIELD.match(line.lstrip()) or (out and _TITLE.match(out[-1]))
        )
        line = " ".join(line.split())
        alone = alone or (kind == "prose" and _TITLE.match(line))
        if not out or alone or (logged and kind == "prose"):
            out.append(line)
        elif line:
            wide = (
                out[-1]
                and ord(out[-1][-1]) >= 0x3000
                and ord(line[0]) >= 0x3000
                and not "가" <= line[0] <= "힣"
            )
            out[-1] += ("" if wide else " ") + line
        logged = len(out[-1]) < 400 and bool(LOGGED.match(out[-1])) if out else False
    return [part for part in out if part]


def _sentences(part: str, kind: str) -> list[str]:
    """Return the sentences of a paragraph."""
    whole = kind == "item" or LOGGED.match(part)
    return [part] if whole and len(part.encode()) <= ITEM_BYTES else sentences(part)
