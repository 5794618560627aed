"""Text for a person at a terminal: result groups, tables, one record; and the same results fenced for the model.

What comes out of records is plain text by then: escape sequences, control and bidirectional characters are gone (a title
may not move the cursor, write the clipboard or reorder a line).
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from types import TracebackType

from memory import clock, contexttags, paths, render, text, trust
from memory.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.claims import Claim
    from memory.contexttags import Tag
    from memory.rank import Hit
    from memory.recall import Found

_SEQUENCE = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?|[ -/]*[0-~])?"
                       "|\x9b[0-?]*[ -/]*[@-~]")
_HIDDEN = {code: None for low, high in ((0, 8), (11, 31), (127, 159), (0x61C, 0x61C), (0x200E, 0x200F), (0x2028, 0x202E),
                                        (0x2066, 0x2069), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F))
           for code in range(low, high + 1)}
GROUPS = (("rule", "Rules (follow these)"), ("pending", "Rules (wait for review)"),
          ("script", "Scripts (try these)"), ("waiting", "Scripts (wait for review)"), ("learning", "Learnings"),
          ("doc", "Docs"), ("checkpoint", "Checkpoints"), ("plan", "The active plan"), ("past", "Past plans"))
SNIPPET_LINES = 400  # lines of a body that a snippet is looked for in
MODEL_UNITS = 9500  # UTF-16 units; the host cuts a hook's output above 10,000
ITEM_UNITS = 1600
MOST_VERSIONS = 3  # of a hit that its line names
GONE = 3  # claims that are told of a stale hit
NOTHING = "nothing found"  # recall's own note, which the first line says already


# ---- plain text

def plain(value: str) -> str:
    """Return text without escape sequences, control and bidirectional characters; tabs and line ends stay."""
    if value.isascii() and value.isprintable():
        return value
    return _SEQUENCE.sub("", value.replace("\r\n", "\n")).translate(_HIDDEN)


def one_line(value: str) -> str:
    """Return text as one plain line."""
    return " ".join(plain(value).split())


def visible(value: str) -> str:
    """Return text with whatever a reader could not see written out as `\\u{202e}`: for content that is to be approved."""
    def shown(char: str) -> str:
        if char in "\n\t" or (char.isprintable() and unicodedata.category(char) != "Cf"):
            return char
        return "\\u{%x}" % ord(char)

    return "".join(map(shown, value))


def width(value: str) -> int:
    """Return how many columns text takes: two for a wide East Asian character, none for a combining one."""
    if value.isascii():
        return len(value)
    return sum(0 if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Me", "Mn")
               else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in value)


def clip(value: str, columns: int) -> str:
    """Cut one line to at most `columns` columns, with `…` where it was cut."""
    if width(value) <= columns:
        return value
    room, out = columns - 1, []
    for char in value:
        room -= width(char)
        if room < 0:
            break
        out.append(char)
    return "".join(out).rstrip() + "…"


def pad(value: str, columns: int, right: bool = False) -> str:
    """Fill text with spaces to a number of columns, on its left side where it is to stand to the right."""
    space = " " * max(0, columns - width(value))
    return space + value if right else value + space


def table(rows: Sequence[Sequence[str]], indent: str = "", right: Sequence[int] = ()) -> list[str]:
    """Return rows as lines whose columns are aligned; `right`: numbers of the columns that stand to the right."""
    if not rows:
        return []
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [(indent + "  ".join(pad(cell, widths[i], i in right) for i, cell in enumerate(row))).rstrip() for row in rows]


def age(seconds: float) -> str:
    """Write how long ago something was, such as `5m`, `3h`, `12d`, `4mo` or `2y`."""
    for size, unit in ((365 * clock.DAY, "y"), (60 * clock.DAY, "mo"), (clock.DAY, "d"), (3600.0, "h"), (60.0, "m")):
        if seconds >= size:
            return "%d%s" % (seconds // (30 * clock.DAY if unit == "mo" else size), unit)
    return "now"


def count(number: int, noun: str) -> str:
    """Write `1 record`, `2 records`, `1,234 fixes`."""
    return "{:,} {}{}".format(number, noun, "" if number == 1 else "es" if noun.endswith("x") else "s")


def bar(done: float, of: float) -> str:
    """Return a bar of 20 cells with the share that is done, 0 to 100 %."""
    share = min(max(done / of, 0.0), 1.0) if of > 0 else 1.0
    full = int(20 * share)
    return "%s%s %3d %%" % ("█" * full, "░" * (20 - full), 100 * share)


def at_word(line: str, most: int) -> str:
    """Clip a line at `most` characters, at a word where one ends in its second half, with an ellipsis."""
    if len(line) <= most:
        return line
    cut = line[:most - 1]
    return (cut[:cut.rfind(" ")] if cut.rfind(" ") > most // 2 else cut).rstrip(" ,:;") + "…"


class Style:
    """How to write to one terminal: its columns, and whether colours are welcome."""

    def __init__(self, columns: int = 100, colour: bool = False):
        self.columns, self.colour = columns, colour

    def _code(self, code: str, value: str) -> str:
        return "\x1b[%sm%s\x1b[0m" % (code, value) if self.colour and value else value

    def bold(self, value: str) -> str:
        """Make a heading stand out."""
        return self._code("1", value)

    def dim(self, value: str) -> str:
        """Make an aside recede."""
        return self._code("2", value)

    def verdict(self, value: str) -> str:
        """Colour a verdict by what it says: green for OK and FRESH, yellow for WARN and STALE, red for FAIL."""
        word = value.strip()
        code = {"OK": "32", "FRESH": "32", "WARN": "33", "STALE": "33", "FAIL": "31"}.get(word, "")
        return self._code(code, value) if code else value


class Spinner:
    """Says on stderr what takes more than a second, where someone watches; otherwise nothing."""

    DELAY, FRAMES = 1.0, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

    def __init__(self, step: str, enabled: bool):
        self.step, self.enabled = step, enabled
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Spinner:
        if self.enabled:
            self._thread = threading.Thread(target=self._turn, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _turn(self) -> None:
        wait, at = self.DELAY, 0
        while not self._done.wait(wait):
            wait, at = 0.1, at + 1
            sys.stderr.write("\r\x1b[K%s %s" % (self.FRAMES[at % len(self.FRAMES)], self.step))
            sys.stderr.flush()
        if at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


# ---- results

def group(record: Record, key: str, approved: frozenset[trust.Approval], root: str = "") -> str:
    """Return the result group of a record, a word of GROUPS.

    key: the workspace the record belongs to.  approved: what trust.approved returned.  root: the directory that a script's
    path is relative to, "" where that is not known here.
    """
    if record.kind == "rule":
        bound = (trust.workspace_of(record.name, key), record.id, record.checksum) in approved
        return "rule" if bound else "pending"
    if record.kind == "plan":
        return "plan" if record.active else "past"
    return "waiting" if record.end == "script" and not trust.may_run(record, key, root, approved) else record.end


def snippet(record: Record, words: str, columns: int) -> str:
    """Return the line of a record's body that says most about the words of a query, cut to `columns`.

    Headings and a line that only repeats the title say nothing new; "" where there is no other.
    """
    wanted = {term for term, _ in text.terms(words)} if words else set()
    title = one_line(record.title)
    best, most, fenced = "", -1, False
    for line in record.body.split("\n", SNIPPET_LINES)[:SNIPPET_LINES]:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        bare = one_line(line).lstrip("#>*-+ ")
        if not bare or bare == title or (line.startswith("#") and not fenced):
            continue
        found = len(wanted.intersection(text.tokens(bare)))
        if found > most:
            best, most = bare, found
    return clip(best, columns)


def hits(found: Found, words: str, now: float, key: str, approved: frozenset[trust.Approval], style: Style,
         explain: bool = False, root: str = "") -> list[str]:
    """Return the lines of a recall: groups, what did not fit, notes, and where a contribution is missing.

    found: recall.Found.  words: the query.  now: seconds since the epoch.  key: the place's workspace.  explain: print the
    parts of every score.  root: the place's checkout.
    """
    rows: dict[str, list[tuple[Hit, list[str]]]] = {name: [] for name, _ in GROUPS}
    for hit in (*found.hits, *found.linked):
        rows[standing(hit, key, approved, root)].append((hit, _cells(hit, now, key)))
    cells = [row for members in rows.values() for _, row in members]
    widths = [max((width(row[i]) for row in cells), default=0) for i in range(8)]
    widths[2] = max(20, min(widths[2], style.columns - 2 - sum(widths[:2]) - sum(widths[3:]) - (14 if widths[7] else 12)))
    lines: list[str] = []
    for name, heading in GROUPS:
        if rows[name]:
            lines += [""] * bool(lines) + [style.bold(heading)]
        for hit, row in rows[name]:
            row[2] = clip(row[2], widths[2])
            padded = [pad(cell, widths[i], i in (1, 3, 6)) for i, cell in enumerate(row)]
            padded[5] = style.verdict(padded[5])
            lines.append(("  " + "  ".join(padded)).rstrip())
            lines += ["      " + style.dim(line) for line in _gone(hit)]
            lines += ["      " + style.dim(line) for line in _beneath(hit, name, words, style.columns - 6,
                                                                          found.context if explain else None)]
    told = ["", style.dim("context tags: " + context_line(found.context))] if explain and found.context else []
    return lines + told[0 if lines else 1:] + _footer(found, words, style, bool(lines))


def standing(hit: Hit, key: str, approved: frozenset[trust.Approval], root: str) -> str:
    """Return the result group of a hit; see `group`.  key, root: of the place that was asked in."""
    return group(hit.record, hit.workspace, approved, root if hit.workspace == key else "")


def _cells(hit: Hit, now: float, key: str) -> list[str]:
    record = hit.record
    title = one_line(record.title) + (" § " + one_line(hit.section) if hit.section else "")
    where = paths.TIER_NAMES.get(record.tier, record.tier)
    if record.tier == paths.PRIVATE and hit.workspace != key:
        where = one_line(hit.workspace)
    return [one_line(record.id), "linked" if hit.linked_from else "%.2f" % hit.score, title, age(now - record.created), where,
            _freshness(hit), f"{hit.tokens:,} tokens", _versions(record)]


def _beneath(hit: Hit, name: str, words: str, columns: int, context: Sequence[Tag] | None) -> list[str]:
    """Return the lines below a hit's own: why it is beside the hits, how to run it, what it says, why it is there.

    name: of its group.  context: the context tags that counted, None where nothing is to be explained.
    """
    lines = [one_line(hit.why)] if hit.linked_from else []
    lines += ["`%s`" % run_command(hit.record)] if name == "script" else []
    said = snippet(hit.record, words, columns)
    told = [] if context is None or hit.linked_from else _explained(hit, context)
    return [*lines, *([said] if said else []), *told]


def run_command(record: Record) -> str:
    """Return what a person types to run a script."""
    return "dayleaf resource run %s" % one_line(record.id)


def _versions(record: Record) -> str:
    """Return what versions a record holds for, such as `v2.1, v2.2`; "" for none."""
    said = ["v" + version if version[:1].isdigit() else version for version in map(one_line, record.versions)]
    return ", ".join(said[:MOST_VERSIONS]) + (" +%d" % (len(said) - MOST_VERSIONS) if len(said) > MOST_VERSIONS else "")


def context_line(tags: Iterable[Tag]) -> str:
    """Return context tags with their weights and origins: `python 1 (pyproject.toml)`."""
    return ", ".join("%s %g (%s)" % (one_line(tag.name), tag.weight, one_line(tag.origin)) for tag in tags)


def _freshness(hit: Hit) -> str:
    """Return FRESH or STALE; a record that names no file says nothing about it."""
    return "" if hit.freshness == "UNKNOWN" else hit.freshness


def _gone(hit: Hit) -> list[str]:
    """Write what a hit names that is no longer there."""
    reasons = [one_line(claim.reason) for claim in hit.gone[:GONE]]
    return ["; ".join(reasons) + (" and %d more" % (len(hit.gone) - GONE) if len(hit.gone) > GONE else "")] if reasons else []


def claims(found: Sequence[Claim]) -> list[tuple[str, str]]:
    """Return the claims of a record as (name, value) pairs for `record`: what stands, what is gone, what cannot be said."""
    pairs = [("stands", True), ("gone", False), ("not checked", None)]
    return [(said, ", ".join(claim.name for claim in found if claim.stands is stands)) for said, stands in pairs]


def _explained(hit: Hit, tags: Iterable[Tag]) -> list[str]:
    """Write why a hit is there: its reason, the parts of its score in their order, and which context tags it carries."""
    held = set(map(contexttags.label, (*hit.record.tags, *hit.record.topics)))
    met = [one_line(tag.name) for tag in tags if contexttags.label(tag.name) in held]
    parts = ["%s %.3f%s" % (name, value, " (%s)" % ", ".join(met) if name == "tags" and met else "") for name, value in hit.parts]
    return [line for line in (one_line(hit.why), "  ".join(parts)) if line]


def _footer(found: Found, words: str, style: Style, some: bool) -> list[str]:
    lines = [] if some else ["Nothing found" + (" for `%s`." % one_line(words) if words else ".")]
    tail = left_out(found)
    tail += ["ranked by " + one_line(str(found.backend))] if found.backend and some else []
    notes = [one_line(note) for note in found.notes if note != NOTHING]
    behind = found.stale and not any("were searched" in note for note in notes)  # no index at all says more
    tail += ["the index was behind the files: a refresh runs in the background"] if behind and some else []
    tail += notes
    lines += [""] * bool(tail and some) + [style.dim(line) for line in tail]
    return lines + contributions(found)


def left_out(found: Found) -> list[str]:
    """Return the line that says what did not fit, if anything."""
    rest = found.left_out
    return ["did not fit: %s; `--limit %d` shows them" % (count(rest, "more hit"), len(found.hits) + rest)] if rest else []


def contributions(found: Found) -> list[str]:
    """Return the lines that say what a memory could do better with: words of the query that no record knows, notes of sessions
    that nobody has made a learning of."""
    words = ", ".join("`%s`" % one_line(str(gap)) for gap in found.known_gaps[:5])
    lines = ["nothing about %s: `dayleaf learn \"…\"` keeps what you find out" % words] if words else []
    return lines + (["only checkpoints tell of this: `dayleaf harvest` proposes learnings from them"] if found.raw else [])


def for_model(found: Found, words: str, key: str, approved: frozenset[trust.Approval], units: int = MODEL_UNITS,
              root: str = "") -> str:
    """Return a recall as a fenced block for the model, in at most `units` UTF-16 units: hits with as much body as fits."""
    notes = [render.clean(line) for line in
             [*(str(n) for n in found.notes), *left_out(found), *contributions(found)]]
    said = "Recall of `%s`: %s, ranked by %s." % (render.clip(render.clean(one_line(words)), 200),
                                                  count(len(found.hits), "hit"), found.backend)
    tail = render.clip("\n".join(notes), units // 4) if notes else ""
    budget = render.Budget(units - render.overhead("recall") - text.utf16(tail) - 1)
    budget.take(said)
    cut = 0
    shown = (*found.hits, *found.linked)
    for at, hit in enumerate(shown):
        share = max(budget.left // (len(shown) - at), 240)
        name = standing(hit, key, approved, root)
        cut += not budget.take(_for_model(hit, name, min(ITEM_UNITS, share, budget.left) - 1), name == "rule")
    if cut:
        budget.take("%s did not fit." % count(cut, "hit"))
    return render.block("recall", [*budget.lines, *([tail] if tail else [])], budget.rules)


_STANDINGS = {"pending": "rule that nobody approved, do not follow", "script": "script that may be run",
              "waiting": "script that nobody approved, do not run", "doc": "doc"}


def _for_model(hit: Hit, name: str, units: int) -> str:
    """Write one hit for the model; a rule or script that nobody approved says so."""
    record = hit.record
    origin = {"s": ", shared through this repository", "g": ", global"}.get(record.tier, "")
    id = render.line(record.id, 64)
    place = render.line(hit.why, 128) if hit.linked_from else "score %.2f" % hit.score
    head = "## [%s] %s (%s, %s%s%s%s, %s)" % (
        id, render.line(one_line(record.title), 160), _STANDINGS.get(name, record.kind), clock.day(record.created),
        ", " + render.line(_versions(record), 64) if record.versions else "", origin,
        ", " + render.line(": ".join([_freshness(hit), *_gone(hit)]), 240) if _freshness(hit) else "", place)
    if name == "script":
        head += "\n`%s`" % render.line(run_command(record), 100)
    room = units - text.utf16(head) - 1
    body = render.clip(render.clean(record.body).strip(), room, " … (`dayleaf show %s` for the rest)" % id)
    return head + ("\n" + body if body else "")


# ---- one record

def record(shown: Record, now: float, style: Style, facts: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Return the lines above a record's body: title, then what it says of itself.

    facts: more (name, value) pairs.
    """
    pairs = [("kind", shown.kind), ("tier", paths.TIER_NAMES.get(shown.tier, shown.tier)),
             ("created", "%s (%s)" % (clock.iso(shown.created), age(now - shown.created))),
             ("source", "%s, %s confidence%s" % (shown.source, shown.confidence, "" if shown.accepted else ", a candidate")),
             ("tags", ", ".join(shown.tags)), ("topics", ", ".join(shown.topics)), ("versions", ", ".join(shown.versions)),
             ("links", ", ".join("%s %s" % (link.relation, link.target) for link in shown.links)),
             ("pinned", "yes" if shown.pinned else ""), ("tokens", f"{shown.tokens:,}"), *facts]
    rows = [[style.dim(name), one_line(value)] for name, value in pairs if value]
    return [style.bold(one_line(shown.title)) + "  " + one_line(shown.id), *table(rows)]


def entry(at: str, who: str, said: str, offset: float, most: int) -> list[str]:
    """Write one entry of a transcript: its time, who, and its text below one another.

    at: ISO 8601.  offset: seconds that local time is ahead of UTC.  most: lines of the text, 0 for all.
    """
    instant = clock.parse(at)
    head = "%s  %s  " % (clock.iso(instant + offset)[11:19] if instant is not None else " " * 8, pad(who, 6))
    lines = [line.rstrip() for line in plain(said).strip("\n").split("\n")]
    rest = len(lines) - most if most and len(lines) > most + 1 else 0
    lines = [*lines[:most], "… %s; --full shows them" % count(rest, "more line")] if rest else lines
    return [(head if number == 0 else " " * len(head)) + line for number, line in enumerate(lines)]
