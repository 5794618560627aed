"""The digest made without a model: units of the sources, scored, made novel, quoted verbatim, packed into a budget.

A unit is a sentence, a list item, a code block or a table.  Its score, 0 to 1, is

    0.50 relevance   BM25 (k1 1.2, b 0.75; idf over the candidate units) of the question's terms, over the best unit's
    0.10 company     the relevance of the best unit of its record
    0.40 content     technical tokens 0.50, a word of decision or failure 0.30, position 0.20; damped where neither the
                     unit nor its record is relevant

Redundancy goes by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998; lambda 0.7) with the cosine of term
sets.  Bullets quote verbatim up to white space: ` … ` stands where text between two quotes of one record is left out,
` · ` between two list items that follow one another, a final `…` where a unit alone was longer than the budget, and
a block is led in by the line that announces it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Callable, Sequence

from memory import clock, render, text

LEADS, LEAST, MOST = 5, 3, 8  # bullets: normally up to LEADS, LEAST if there are so many, never over MOST
SHORT = 40  # tokens of a bullet that may come after LEADS
LAMBDA, SAME = 0.7, 0.8  # weight of the score against novelty; likeness from which a unit says nothing new
FLOOR = 0.3  # share of the best score below which a unit is not worth its place
POOL = 300  # units that compete; the rest scored lower
BODY_LIMIT = 200_000  # characters read of one source
K1, B = 1.2, 0.75


@dataclass(frozen=True)
class Source:
    """One record as a summariser sees it.

    created: seconds since the epoch.  tier: `p`, `s` or `g`.  checksum: SHA-256 of the record's file, or "".
    """

    id: str
    kind: str
    title: str
    created: float
    body: str
    tier: str
    checksum: str = ""


@dataclass(frozen=True)
class Bullet:
    """One statement with its citation inside `text`, and the ids it cites."""

    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Digest:
    """The short answer.

    provider: who wrote it.  tokens_in, tokens_out: tokens of the sources and of the bullets.  cached: it was kept from
    an earlier call.  notes: what was skipped, cut or failed, one line each.
    """

    bullets: tuple[Bullet, ...]
    provider: str
    tokens_in: int
    tokens_out: int
    cached: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """A piece of a source: `order` counts within the source, `kind` is prose, item, code or table."""

    source: int
    order: int
    kind: str
    text: str
    label: str
    heading: str


def extract(question: str, sources: Sequence[Source], max_tokens: int = 500) -> Digest:
    """Answer a question with quotes from the sources.

    sources: best first.  max_tokens: tokens the bullets may have, citations and bullet marks included; never exceeded.
    """
    sources = [_cleaned(source) for source in sources]
    notes = ["%s: only its first %d characters were read" % (s.id, BODY_LIMIT) for s in sources
             if len(s.body) > BODY_LIMIT]
    room = 4 * max_tokens
    found = [_fitted(unit, source, room) for i, source in enumerate(sources) for unit in units(i, source, room // 2)]
    candidates = [unit for unit in found if unit.text]
    bags, scores, relevant = _score(question, sources, candidates)
    if candidates and not relevant:
        notes.append("no word of the question stands in the sources: chosen by content alone")
    bullets = _pack(sources, candidates, bags, scores, room)
    if sources and not bullets:
        notes.append("nothing fits %d tokens: raise --max-tokens" % max_tokens if found else "the records are empty")
    return Digest(tuple(bullets), "extract", count_sources(sources), text.count_tokens(compose(bullets)), False,
                  tuple(notes))


def compose(bullets: Sequence[Bullet]) -> str:
    """Return the bullets as a markdown list, the text whose tokens the budget counts."""
    return "\n".join("- " + bullet.text.replace("\n", "\n  ") for bullet in bullets)


def count_sources(sources: Sequence[Source]) -> int:
    """Return the tokens of the sources, titles included."""
    return sum(text.count_tokens(source.title + "\n" + source.body) for source in sources)


def cite(source: Source) -> str:
    """Return the end of a bullet that quotes a source, such as `[k3m9] 2026-11-21`."""
    return "[%s] %s" % (source.id, clock.day(source.created))


# --- Text into units --------------------------------------------------------------------------------------------------

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_RULER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(\S.*)")
_UNDERLINE = re.compile(r"(?:=+|-+)\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(\S.*)")
_FIELD = re.compile(r"[A-Za-z][\w ./-]{0,30}: \S")
_STOP = re.compile(r"[.!?]+[\"')\]»”’`*_]*\s+|[。！？．][」』）”]*\s*|"
                   r"(?<=[다요죠까]\.)(?=[가-힣A-Z\"'`])")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|ca|approx|Dr|Mr|Mrs|Nr|No|Fig|bzw|usw|vgl|"
                           r"z\.\s?B|d\.\s?h|u\.\s?a|[A-Za-z])\.$")
_ORDINAL = re.compile(r"(?:^|\s)\d{1,2}\. (?=(?:Jan|Feb|M[aä]r|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))")
_CLAUSE = re.compile(r"[,;:—–]\s|[、，；：。！？]|\.\s|\s[-–—]\s")


def clean(value: str) -> str:
    """Return text without terminal escapes and whatever else `render.clean` takes out."""
    return render.clean(_ANSI.sub("", value))


def _cleaned(source: Source) -> Source:
    return Source(source.id, source.kind, clean(source.title), source.created, clean(source.body), source.tier,
                  source.checksum)


def units(index: int, source: Source, block: int) -> list[Unit]:
    """Split a source's body into units; a code block or table over `block` bytes becomes several, cut at line ends."""
    out: list[Unit] = []
    for kind, lines, label, heading in _blocks(source.body[:BODY_LIMIT].split("\n")):
        if kind in ("code", "table"):
            pieces = _pieces(kind, lines, max(block, 80))
        else:
            pieces = [piece for part in _paragraphs(kind, lines) for piece in sentences(part, kind)]
        out.extend(Unit(index, len(out) + i, kind, piece, label, heading) for i, piece in enumerate(pieces))
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
    """Join wrapped lines; a line such as `Cause: x` starts anew.  No space is put between two wide characters."""
    out: list[str] = []
    for line in lines:
        line = " ".join(line.split())
        if not out or (kind == "prose" and _FIELD.match(line)):
            out.append(line)
        elif line:
            wide = out[-1] and ord(out[-1][-1]) >= 0x3000 and ord(line[0]) >= 0x3000 and not "가" <= line[0] <= "힣"
            out[-1] += ("" if wide else " ") + line
    return [part for part in out if part]


def sentences(part: str, kind: str = "prose") -> list[str]:
    """Split one line of prose at sentence ends (en, de, ko, ja, zh); a list item of up to 240 bytes stays whole."""
    if kind == "item" and len(part.encode()) <= 240:
        return [part]
    out: list[str] = []
    start, last, ticks = 0, 0, 0
    for stop in _STOP.finditer(part):
        end = stop.end()
        ticks += part.count("`", last, end)
        last = end
        before, after = part[max(start, stop.start() - 12):stop.start() + 1], part[end:end + 4]
        open_end = after[:1].islower() or _ABBREVIATION.search(before) or _ORDINAL.search(before + " " + after)
        ended = stop[0][:1] in ("。", "！", "？", "．", "") or not open_end
        if ended and ticks % 2 == 0 and len(part[start:min(end, start + 12)].encode()) >= 12:
            out.append(part[start:end].strip())
            start = end
    rest = part[start:].strip()
    if rest and out and len(rest) < 8 and rest.isascii():
        out[-1] += " " + rest
    elif rest:
        out.append(rest)
    return out


def _fitted(unit: Unit, source: Source, room: int) -> Unit:
    """Cut a unit that alone exceeds the budget to half of it, which leaves others a place, or to all of a small one."""
    most = room - len(("-  " + cite(source)).encode())
    if len(_quoted(unit).encode()) <= most:
        return unit
    if unit.kind in ("code", "table"):
        return Unit(unit.source, unit.order, unit.kind, "", "", unit.heading)
    return Unit(unit.source, unit.order, unit.kind, cut(unit.text, min(most, max(room // 2, 240))), "", unit.heading)


def cut(value: str, most: int) -> str:
    """Shorten text to `most` bytes at a clause, else a space, else between wide characters; "" where none fits."""
    head = value.encode()[:max(most - 3, 0)].decode("utf-8", "ignore")
    clauses = [match.start() for match in _CLAUSE.finditer(head)]
    spaces = [at for at in (head.rfind(" "),) if at > 0]
    wide = [len(head)] if head and ord(head[-1]) >= 0x1100 else []
    for ends in (clauses, spaces, wide):
        if ends and (ends[-1] >= len(head) // 3 or ends is wide):
            return head[:ends[-1]].rstrip(" ,;:、，；：") + "…"
    return ""


# --- Scores -----------------------------------------------------------------------------------------------------------

_DECISION = re.compile(
    r"(?i)\b(?:decid\w+|decision|because|instead|chose\w*|reason\w*|root cause|caused?|fix\w*|fail\w*|error|must|never|"
    r"always|workaround|todo|open|blocked|next|revert\w*|broke\w*|regression|resolved?|entschied\w*|weil|statt|grund|"
    r"ursache|behoben|fehler|nie|immer|offen)\b|결정|때문|대신|원인|해결|수정|실패|오류|반드시|다음|"
    r"決め|決定|理由|原因|代わり|修正|失敗|エラー|必ず|解決|决定|因为|而不是|修复|失败|错误|必须|下一步")
_TECHNICAL = re.compile(
    r"`?(?:--?[A-Za-z][\w-]*|\$?[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|\w*(?:Error|Exception)|[A-Z]+-?\d+|v?\d+(?:\.\d+)+|"
    r"[0-9a-f]{7,40}|\d{2,}\w*%?|[\w.-]+\.[A-Za-z]\w{0,4}|[\w.-]+\(\)|\w+::[\w:]+)`?", re.ASCII)


def technical(value: str) -> int:
    """Count the distinct technical words of a text: paths, identifiers, options, hashes, versions, numbers, errors."""
    words = {word.strip("\"'()[]{}<>,;:.!?*“”「」、。") for word in value.split()}
    return sum(1 for word in words if 1 < len(word) <= 200 and (
        "/" in word.strip("/") or word[0] == "`" or _TECHNICAL.match(word)))


def _counter() -> Callable[[str], list[str]]:
    """Return a function from text to terms that expands each distinct raw token once."""
    table = text.Table()
    known: dict[str, list[str]] = {}

    def terms(value: str) -> list[str]:
        out: list[str] = []
        for raw in text.split(value, table):
            if raw not in known:
                known[raw] = [term for term, _ in text.expand(raw)]
            out.extend(known[raw])
        return out

    return terms


def _score(question: str, sources: Sequence[Source],
           candidates: Sequence[Unit]) -> tuple[list[frozenset[str]], list[float], bool]:
    """Return each unit's term set and score, and whether any unit holds a term of the question."""
    terms = _counter()
    counts = [Counter(terms(unit.text)) for unit in candidates]
    around = {(u.source, u.heading, u.label) for u in candidates}
    company = {key: frozenset(terms(" ".join((sources[key[0]].title, *key[1:])))) for key in around}
    number = len(candidates)
    seen = Counter(term for count in counts for term in count)
    query = [(term, weight * math.log(1 + (number - seen[term] + 0.5) / (seen[term] + 0.5)))
             for term, weight in text.terms(clean(question))]
    mean = sum(sum(count.values()) for count in counts) / max(number, 1) or 1.0
    raw = []
    for unit, count in zip(candidates, counts):
        norm = K1 * (1 - B + B * sum(count.values()) / mean)
        near = company[(unit.source, unit.heading, unit.label)]
        raw.append(sum(idf * max(count[term] * (K1 + 1) / (count[term] + norm), 0.4 * (term in near))
                       for term, idf in query))
    best = max(raw, default=0.0)
    relevance = [value / best if best else 0.0 for value in raw]
    group: dict[int, float] = {}
    for unit, value in zip(candidates, relevance):
        group[unit.source] = max(group.get(unit.source, 0.0), value)
    scores = [0.5 * r + 0.1 * group[u.source] + 0.4 * _content(u, len(sources))
              * (0.25 + 0.75 * max(r, 0.5 * group[u.source]) if best else 1.0) for u, r in zip(candidates, relevance)]
    return [frozenset(count) for count in counts], [round(score, 9) for score in scores], best > 0


def _content(unit: Unit, sources: int) -> float:
    words = len(unit.text.split()) + sum(map(text.is_cjk, unit.text)) / 4
    dense = min(1.0, technical(unit.text) / 4) * min(1.0, 0.5 + words / 16)
    place = 0.5 / (1 + unit.order / 8) + 0.5 * (1 - unit.source / sources)
    value = 0.5 * dense + 0.3 * bool(_DECISION.search(unit.text)) + 0.2 * place
    return value if words >= 3 or dense else 0.3 * value


# --- Choice -----------------------------------------------------------------------------------------------------------

def _quoted(unit: Unit) -> str:
    """A unit as it is quoted: a block with the line that announces it."""
    if not unit.label or unit.label in unit.text:
        return unit.text
    return unit.label + ("\n" if "\n" in unit.text else " ") + unit.text


def _join(source: Source, chosen: Sequence[Unit]) -> str:
    """One bullet's text: quotes of one source in their order, then the citation, on its own line after a block."""
    out, before = "", None
    for unit in sorted(chosen, key=lambda u: u.order):
        quoted = _quoted(unit)
        if before is not None:
            close = unit.order == before.order + 1 and unit.kind == before.kind
            gap = (" · " if unit.kind == "item" else " ") if close else " … "
            out += "\n" if "\n" in quoted or (before.kind in ("code", "table") and "\n" in before.text) else gap
        out, before = out + quoted, unit
    block = before is not None and before.kind in ("code", "table") and "\n" in before.text
    return out + ("\n" if block else " ") + cite(source)


def _pack(sources: Sequence[Source], candidates: Sequence[Unit], bags: Sequence[frozenset[str]],
          scores: Sequence[float], room: int) -> list[Bullet]:
    """Choose leads by marginal relevance, then lengthen bullets with what else is relevant, within `room` bytes."""
    order = sorted(range(len(candidates)), key=lambda i: (-scores[i], candidates[i].source, candidates[i].order))[:POOL]
    floor = FLOOR * scores[order[0]] if order else 0.0
    likeness = dict.fromkeys(order, 0.0)
    groups: list[list[Unit]] = []

    def made() -> list[Bullet]:
        return [Bullet(_join(sources[g[0].source], g), (sources[g[0].source].id,)) for g in groups]

    def take(i: int) -> None:
        order.remove(i)
        for j in order:
            shared = len(bags[i] & bags[j])
            likeness[j] = max(likeness[j], shared / math.sqrt(len(bags[i]) * len(bags[j])) if shared else 0.0)

    def fits(short: bool = False) -> bool:
        bullets = made()
        size = len(compose(bullets).encode())
        return size <= room and (not short or (text.count_tokens(bullets[-1].text) <= SHORT and size <= room // 2))

    while len(groups) < MOST:
        ranked = sorted((i for i in order if likeness[i] < SAME and (scores[i] >= floor or len(groups) < LEAST)),
                        key=lambda i: (likeness[i] * (1 - LAMBDA) - scores[i] * LAMBDA, order.index(i)))
        for i in ranked:
            groups.append([candidates[i]])
            if fits(short=len(groups) > LEADS):
                take(i)
                break
            groups.pop()
        else:
            break
    for i in [i for i in order if scores[i] >= floor]:
        unit = candidates[i]
        hosts = [g for g in groups if g[0].source == unit.source]
        if not hosts or likeness[i] >= 0.6 or unit.kind in ("code", "table"):
            continue
        host = min(hosts, key=lambda g: (min(abs(u.order - unit.order) for u in g), groups.index(g)))
        host.append(unit)
        if fits() and len(_join(sources[unit.source], host).encode()) <= room * 2 // 5:
            take(i)
        else:
            host.remove(unit)
    return made()
