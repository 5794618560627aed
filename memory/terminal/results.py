"""The results of recall: in groups for a person at a terminal, and fenced for the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory.core import clock, layout, tokeniser
from memory.core.plaintext import age, clip_columns, count, one_line, width
from memory.hook import context, fence
from memory.recall.hit import NEWEST
from memory.terminal import localtimes, screen
from memory.terminal.screen import Style, pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.hook.context import Tag
    from memory.recall.hit import Found, Hit, Quote

# What stands on a hit's line and above a group, by Hit.group.
GROUPS = {
    "rule": ("rule, follow this", "Rules (follow these)"),
    "pending": ("rule, waits for review", "Rules (wait for review)"),
    "script": ("script, try this", "Scripts (try these)"),
    "waiting": ("script, waits for review", "Scripts (wait for review)"),
    "learning": ("learning", "Learnings"),
    "candidate": ("learning, waits for review", "Learnings (wait for review)"),
    "doc": ("doc", "Docs"),
    "checkpoint": ("session", "Checkpoints"),
    "conversation": ("conversation", "Conversations"),
    "note": ("note by a model", "Notes"),
    "plan": ("active plan", "The active plan"),
    "past": ("past plan", "Past plans"),
    "rejected": ("rule, rejected", "Rules (rejected)"),
    "refused": ("script, rejected", "Scripts (rejected)"),
}
MODEL_UNITS = 9500  # UTF-16 units; the host cuts a hook's output above 10,000
ITEM_UNITS = 3200
LINES = 99  # that one line of a record is broken into
READABLE = 120  # columns of running text
ROOM = 100  # UTF-16 units of a body that are worth showing
ECHOED = 200  # characters of a query that an answer repeats
GONE = 3  # claims that are told of a stale hit
WRITTEN = {
    "human": "written by you",
    "agent": "written by an agent",
    "auto": "written automatically",
}
LEARN = '`dayleaf learn "…"` keeps what you find out'
ADD = "`dayleaf resource add --path FILE` adds a file"
NOTHING = "nothing found"  # recall's own note, which the first line says already


def _under_headings(
    every: Sequence[Hit], written: Sequence[Sequence[str]], style: Style
) -> list[str]:
    lines: list[str] = []
    for name, (_, heading) in GROUPS.items():
        group = [lines for hit, lines in zip(every, written) if hit.group == name]
        if group:
            lines += ["", style.bold(heading)] if lines else [style.bold(heading)]
        lines += [line for each in group for line in each]
    return lines


def hits(
    found: Found,
    words: str,
    key: str,
    style: Style,
    explain: bool = False,
    grouped: bool = False,
    way: str = LEARN,
) -> list[str]:
    """Return a recall in lines: hits, what did not fit, notes, gaps.

    words: the query. key: the workspace that was asked in. explain: print the parts of every score.
        grouped: put hits of one kind together under its name. way: LEARN or ADD, what fills a gap.
    """
    every = [*found.hits, *found.linked]
    rows = [_cells(hit, key, bool(words)) for hit in every]
    widths = [max((width(row[i]) for row in rows), default=0) for i in range(9)]
    widths[2] = 0 if grouped else widths[2]
    if style.cut:
        others = [wide for at, wide in enumerate(widths) if at != 3 and wide]
        widths[3] = max(
            screen.NARROWEST, min(widths[3], style.columns - 2 - sum(others) - 2 * len(others))
        )
    written = [
        _written(hit, row, widths, words, style, found.context if explain else None)
        for hit, row in zip(every, rows)
    ]
    if grouped:
        lines = _under_headings(every, written, style)
    else:
        lines = [line for each in written for line in each]
    told = (
        ["", style.dim("context tags: " + context_line(found.context))]
        if explain and found.context
        else []
    )
    return lines + told[0 if lines else 1 :] + _footer(found, words, style, bool(lines), way)


def _written(
    hit: Hit,
    row: list[str],
    widths: list[int],
    words: str,
    style: Style,
    context: Sequence[Tag] | None,
) -> list[str]:
    more = " +" + count(len(hit.others), "checkpoint") if hit.others else ""
    row[3] = style.fit(row[3], widths[3] - len(more)) + more
    padded = [pad(cell, widths[i], i in (1, 4, 7)) for i, cell in enumerate(row)]
    padded[0], padded[6] = style.kind(hit.kind, padded[0]), style.verdict(padded[6])
    line = ("  " + "  ".join(cell for cell, wide in zip(padded, widths) if wide)).rstrip()
    beneath = _beneath(hit, words, min(style.columns, READABLE) - 6, context)
    return [
        line,
        *("      " + style.dim(line) for line in _gone(hit)),
        *("      " + line for line in beneath),
    ]


def _cells(hit: Hit, key: str, asked: bool) -> list[str]:
    title = one_line(hit.title) + (
        " § " + one_line(hit.section) if hit.section and not hit.turn else ""
    )
    own = (
        hit.tier not in (layout.TIER_NAMES[layout.PRIVATE], layout.TIER_NAMES[layout.ADDED])
        or hit.workspace == key
    )
    where = hit.tier if own else one_line(hit.workspace)
    is_ranked = asked and hit.why != NEWEST
    score = "linked" if hit.linked_from else "%.2f" % hit.score if is_ranked else ""
    return [
        one_line(hit.id),
        score,
        GROUPS[hit.group][0],
        title,
        age(hit.age),
        where,
        _freshness(hit),
        f"{hit.tokens:,} tokens",
        one_line(fence.versions(hit.versions)),
    ]


def _beneath(hit: Hit, words: str, columns: int, context: Sequence[Tag] | None) -> list[str]:
    """Return a hit's further lines: facts, quotes, reasons and score."""
    lines = [one_line(hit.why)] if hit.linked_from else []
    lines += [one_line(hit.origin)] if hit.origin else []
    lines += extra_facts(hit)
    why = [one_line(hit.why)] if words and not hit.linked_from and hit.why != NEWEST else []
    told = [] if context is None or hit.linked_from else _explained(hit, context)
    news = [quote for quote in hit.quotes if one_line(quote.text) != one_line(hit.title)]
    said = [line for quote in news for line in quoted(quote, columns, hit)]
    return [*lines, *(line for line in said if line), *why, *told]


def extra_facts(hit: Hit) -> list[str]:
    """Return the extra facts of a rule, a learning or a resource."""
    if hit.kind == "rule":
        scope = ["in: " + one_line(", ".join(hit.scope))] if hit.scope else []
        return ["because: " + one_line(hit.rationale)] * bool(hit.rationale) + scope
    if hit.kind == "learning":
        whose = WRITTEN.get(hit.source, hit.source)
        if hit.tier in ("shared", "added"):  # what a file of others says of its author is its claim
            whose = "from the repository" if hit.tier == "shared" else "from another folder"
        return (
            ["confidence %s, %s" % (one_line(hit.confidence), one_line(whose))]
            if hit.confidence
            else []
        )
    path = [one_line(hit.source_path)] if hit.source_path else []
    return path + ["`%s`" % _run_command(hit)] * (hit.group == "script")


def quoted(quote: Quote, columns: int, hit: Hit) -> list[str]:
    """Return a quote in lines, wrapped, with the command for its turn."""
    head = ["%s  `%s`" % (localtimes.heading(quote), turn_command(quote))] if quote.turn else []
    head = head or ["`dayleaf show %s`" % one_line(quote.id)] * (quote.id != hit.id)
    out: list[str] = []
    for row in quote.text.split("\n"):
        indent = row[: len(row) - len(row.lstrip(" "))][: columns // 2]
        row = localtimes.line(hit.kind, one_line(row), hit.created)
        out += [indent + part for part in screen.wrap(row, columns - len(indent) - 2, LINES)]
    return head + ["  " * bool(head) + row for row in out]


def turn_command(quote: Quote) -> str:
    """Return the command that prints a quote's turn."""
    return "dayleaf show %s#%d" % (one_line(quote.id), quote.turn)


def _run_command(hit: Hit) -> str:
    return "dayleaf resource run %s" % one_line(hit.id)


def context_line(tags: Iterable[Tag]) -> str:
    """Return context tags with weights and origins: `python 1 (pyproject.toml)`."""
    return ", ".join(
        "%s %g (%s)" % (one_line(tag.name), tag.weight, one_line(tag.origin)) for tag in tags
    )


def _freshness(hit: Hit) -> str:
    """Return FRESH or STALE, "" for a record without files."""
    return "" if hit.freshness == "UNKNOWN" else hit.freshness


def _gone(hit: Hit) -> list[str]:
    reasons = "; ".join(one_line(claim.reason) for claim in hit.gone[:GONE])
    more = " and %d more" % (len(hit.gone) - GONE) if len(hit.gone) > GONE else ""
    return [reasons + more] if reasons else []


def _explained(hit: Hit, tags: Iterable[Tag]) -> list[str]:
    held = set(map(context.label, hit.labels))
    met = [one_line(tag.name) for tag in tags if context.label(tag.name) in held]
    parts = [
        "%s %.3f%s" % (name, value, " (%s)" % ", ".join(met) if name == "tags" and met else "")
        for name, value in hit.parts
    ]
    return [line for line in ["  ".join(parts)] if line]


def _footer(found: Found, words: str, style: Style, some: bool, way: str) -> list[str]:
    lines = (
        []
        if some
        else [
            "Nothing found"
            + (" for `%s`." % clip_columns(one_line(words), ECHOED) if words else ".")
        ]
    )
    tail = left_out_line(found)
    tail += [_order(found)] if found.backend and some else []
    notes = [one_line(note) for note in found.notes if note != NOTHING]
    # no index at all says more
    behind = found.stale and not any("were searched" in note for note in notes)
    tail += (
        ["files have changed since the index was made; it is being refreshed in the background"]
        if behind and some
        else []
    )
    tail += notes
    lines += [""] * bool(tail and some) + [style.dim(line) for line in tail]
    return lines + plan_line(found) + contributions(found, way)


def _order(found: Found) -> str:
    """Return the order of hits: `newest first`, or `ranked by words and vectors (MODEL)`."""
    if found.hits and all(hit.why == NEWEST for hit in found.hits):
        return NEWEST
    by = one_line(str(found.backend))
    return "ranked by " + by.replace("lexical", "words").replace(" + ", " and ")


def plan_line(found: Found) -> list[str]:
    """Return the active plan's line, if not among the hits."""
    plan = found.plan
    return ["the active plan: %s (%s)" % (one_line(plan.title), one_line(plan.id))] if plan else []


def left_out_line(found: Found) -> list[str]:
    """Return a line with the number of hits left out, if any."""
    rest, of = found.left_out, len(found.hits) + found.left_out
    line = "did not fit: %s; `--limit %d` shows them" % (count(rest, "more hit"), of)
    return [line] if rest else []


def contributions(found: Found, way: str = LEARN) -> list[str]:
    """Return a line that asks for missing knowledge."""
    words = ", ".join("`%s`" % one_line(str(gap)) for gap in found.known_gaps[:5])
    about = "nothing about " + words if words else "only weak matches" if found.weak else ""
    about = about + ": " if about and found.hits else ""
    return [about + way] if about or words else []


def for_model(found: Found, words: str, way: str = LEARN) -> str:
    """Return a recall as a fenced block for the model.

    At most MODEL_UNITS of UTF-16: hits with as much body as fits.
    """
    notes = [
        fence.clean(line)
        for line in [
            *(str(n) for n in found.notes),
            *left_out_line(found),
            *plan_line(found),
            *contributions(found, way),
        ]
    ]
    said = "Recall of `%s`: %s, %s." % (
        fence.clip_utf16(fence.clean(one_line(words)), 200),
        count(len(found.hits), "hit"),
        _order(found),
    )
    tail = fence.clip_utf16("\n".join(notes), MODEL_UNITS // 4) if notes else ""
    budget = fence.Budget(MODEL_UNITS - fence.overhead("recall") - tokeniser.utf16(tail) - 1)
    budget.take(said)
    cut = 0
    shown = (*found.hits, *found.linked)
    for at, hit in enumerate(shown):
        share = max(budget.left // (len(shown) - at), 240)
        cut += not budget.take(
            _for_model(hit, min(ITEM_UNITS, share, budget.left) - 1), hit.group == "rule"
        )
    if cut:
        budget.take("%s did not fit." % count(cut, "hit"))
    return fence.block("recall", [*budget.lines, *([tail] if tail else [])], budget.rules)


_STANDINGS = {
    "pending": "rule that nobody approved, do not follow",
    "candidate": "candidate that nobody accepted",
    "script": "script that may be run",
    "waiting": "script that nobody approved, do not run",
    "doc": "doc",
    "rejected": "rule that was rejected, do not follow",
    "refused": "script that was rejected, do not run",
}


def _for_model(hit: Hit, units: int) -> str:
    """Return one hit as text for the model, marked if not approved."""
    origin = {
        "shared": ", shared through this repository",
        "global": ", global",
        "added": ", from the user's own folder",
    }.get(hit.tier, "")
    origin = ", " + fence.line(hit.origin, 100) if hit.origin else origin
    id = fence.line(hit.id, 64)
    place = fence.line(hit.why, 128) if hit.linked_from else "score %.2f" % hit.score
    head = "## [%s] %s (%s, %s%s%s%s, %s)" % (
        id,
        fence.line(one_line(hit.title), 160),
        _STANDINGS.get(hit.group, hit.kind),
        clock.day(hit.created),
        ", " + fence.versions(hit.versions) if hit.versions else "",
        origin,
        ", " + fence.line(": ".join([_freshness(hit), *_gone(hit)]), 240)
        if _freshness(hit)
        else "",
        place,
    )
    if hit.group == "script":
        head += "\n`%s`" % fence.line(_run_command(hit), 100)
    told = "".join(
        "\n> %s: (`%s`)\n%s"
        % (
            fence.line(quote.stated, 200),
            fence.line(turn_command(quote), 100),
            fence.clean(quote.text),
        )
        if quote.turn
        else ""
        for quote in hit.quotes
    )
    head = fence.clip_utf16(head + told, units)
    room = units - tokeniser.utf16(head) - 1
    body = (
        fence.clip_utf16(
            fence.clean(hit.body).strip(), room, " … (`dayleaf show %s` for the rest)" % id
        )
        if room > ROOM
        else ""
    )
    return head + ("\n" + body if body else "")
