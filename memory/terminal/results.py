"""The results of recall, in lines for a terminal and in a fence for the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory.core import clock, layout, tokeniser
from memory.core.plaintext import clip_columns, count_columns, format_age, format_count, one_line
from memory.hook import context, fence
from memory.recall.hit import HARDLY, NEWEST
from memory.terminal import localtimes, screen
from memory.terminal.screen import Style, pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.hook.context import ContextTag
    from memory.recall.hit import Hit, Quote, RecallResult

# By `Hit.group`: (words on a hit's line, heading).
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
_OWN_TIERS = (layout.TIER_NAMES[layout.PRIVATE], layout.TIER_NAMES[layout.ADDED])
MODEL_UNITS = 9500  # UTF-16 units; the host cuts a hook's output above 10,000
ITEM_UNITS = 3200
MOST_LINES = 99  # of a record's wrapped line
BRIEF = 5  # lines quoted of each hit but the first on a terminal
READABLE = 120  # columns of running text
MIN_BODY_UNITS = 100  # a shorter part of a body is left out
QUERY_LENGTH = 200  # characters of the repeated query
MOST_GONE = 3  # claims shown for a stale hit
AUTHORS = {
    "human": "written by you",
    "agent": "written by an agent",
    "auto": "written automatically",
}
LEARN = '`dayleaf learn "…"` keeps what you find out'
ADD = "`dayleaf resource add --path FILE` adds a file"
NOTHING = "nothing found"  # recall's own note, which would repeat the first line


# cells of a hit's row, as `_format_cells` returns it
_CELLS, _KIND, _TITLE, _FRESHNESS, _RIGHT = 9, 2, 3, 6, (1, 4, 7)


def hit_lines(
    found: RecallResult,
    words: str,
    key: str,
    style: Style,
    explain: bool = False,
    grouped: bool = False,
    way: str = LEARN,
) -> list[str]:
    """Format recall's hits, then what was left out, notes and gaps.

    words: the query. key: the current workspace. explain: print the parts of every score. grouped:
        put hits under headings by kind. way: LEARN or ADD, to fill a gap.
    """
    hits = [*found.hits, *found.linked]
    rows = [_format_cells(hit, key, bool(words)) for hit in hits]
    widths = [max((count_columns(row[i]) for row in rows), default=0) for i in range(_CELLS)]
    widths[_KIND] = 0 if grouped else widths[_KIND]
    if style.cut:
        others = [wide for at, wide in enumerate(widths) if at != _TITLE and wide]
        room = style.columns - 2 - sum(others) - 2 * len(others)
        widths[_TITLE] = max(screen.MIN_TITLE_COLUMNS, min(widths[_TITLE], room))
    context = found.context if explain else None
    written = [
        (hit.group, _format_hit(hit, row, widths, words, style, context, at > 0 and style.cut))
        for at, (hit, row) in enumerate(zip(hits, rows))
    ]
    if grouped:
        lines = _group_by_kind(written, style)
    else:
        lines = [line for _, each in written for line in each]
    if found.weak:
        lines.insert(0, HARDLY + ":")
    footer = _format_footer(found, words, style, bool(lines), way)
    if explain and found.context:
        lines += [""] * bool(lines)
        lines.append(style.dim("context tags: " + context_line(found.context)))
    return lines + footer


def _group_by_kind(written: Sequence[tuple[str, list[str]]], style: Style) -> list[str]:
    lines: list[str] = []
    for name, (_, heading) in GROUPS.items():
        group = [line for kind, each in written if kind == name for line in each]
        if group:
            lines += [""] * bool(lines) + [style.bold(heading), *group]
    return lines


def _format_hit(
    hit: Hit,
    row: list[str],
    widths: list[int],
    words: str,
    style: Style,
    context: Sequence[ContextTag] | None,
    brief: bool,
) -> list[str]:
    more = " +" + format_count(len(hit.others), "checkpoint") if hit.others else ""
    row[_TITLE] = style.fit(row[_TITLE], widths[_TITLE] - len(more)) + more
    padded = [pad(cell, widths[i], i in _RIGHT) for i, cell in enumerate(row)]
    padded[0] = style.colour_kind(hit.kind, padded[0])
    padded[_FRESHNESS] = style.colour_verdict(padded[_FRESHNESS])
    line = ("  " + "  ".join(cell for cell, wide in zip(padded, widths) if wide)).rstrip()
    gone = ["      " + style.dim(reason) for reason in _format_gone(hit)]
    details = _format_details(hit, words, min(style.columns, READABLE) - 6, context, brief)
    return [line, *gone, *("      " + detail for detail in details)]


def _format_cells(hit: Hit, key: str, asked: bool) -> list[str]:
    """Return the cells of a hit's row, with a score if words were `asked`."""
    title = one_line(hit.title)
    if hit.section and not hit.turn:
        title += " § " + one_line(hit.section)
    # the tier of a record of this workspace or of the repository, else the workspace
    elsewhere = hit.workspace != key and hit.tier in _OWN_TIERS
    is_ranked = asked and hit.why != NEWEST
    score = "linked" if hit.linked_from else "%.2f" % hit.score if is_ranked else ""
    return [
        one_line(hit.id),
        score,
        GROUPS[hit.group][0] + _format_unattended(hit),
        title,
        format_age(hit.age),
        one_line(hit.workspace) if elsewhere else hit.tier,
        _freshness(hit),
        f"{hit.tokens:,} tokens" if hit.tokens else "",
        one_line(fence.format_versions(hit.versions)),
    ]


def _format_unattended(hit: Hit) -> str:
    return ", unattended" if hit.unattended else ""


def _format_details(
    hit: Hit, words: str, columns: int, context: Sequence[ContextTag] | None, brief: bool
) -> list[str]:
    """Format the lines below a hit: facts, quotes, reasons, score."""
    lines = [one_line(hit.why)] if hit.linked_from else []
    lines += [one_line(hit.origin)] if hit.origin else []
    lines += list_facts(hit)
    quoted = [
        line
        for quote in hit.quotes
        if one_line(quote.text) != one_line(hit.title)
        for line in quote_lines(quote, columns, hit)
    ]
    lines += [*quoted[:BRIEF], "  …"] if brief and len(quoted) > BRIEF else quoted
    if words and not hit.linked_from and hit.why != NEWEST:
        lines.append(one_line(hit.why))
    if context is not None and not hit.linked_from:
        lines += _explain_score(hit, context)
    return lines


def list_facts(hit: Hit) -> list[str]:
    """Return a rule's rationale, a learning's author or a resource's path."""
    if hit.kind == "rule":
        scope = ["in: " + one_line(", ".join(hit.scope))] if hit.scope else []
        return ["because: " + one_line(hit.rationale)] * bool(hit.rationale) + scope
    if hit.kind == "learning":
        # what a file of others says of its author is its claim
        others = {"shared": "from the repository", "added": "from another folder"}
        author = one_line(others.get(hit.tier) or AUTHORS.get(hit.source, hit.source))
        confidence = one_line(hit.confidence)
        return ["confidence %s, %s" % (confidence, author)] if hit.confidence else []
    path = [one_line(hit.source_path)] if hit.source_path else []
    return path + ["`%s`" % _run_command(hit)] * (hit.group == "script")


def quote_lines(quote: Quote, columns: int, hit: Hit) -> list[str]:
    """Format a quote in wrapped lines, below its turn's command."""
    head = []
    if quote.turn:
        head = ["%s  `%s`" % (localtimes.format_heading(quote), turn_command(quote))]
    elif quote.id != hit.id:
        head = ["`dayleaf show %s`" % one_line(quote.id)]
    out: list[str] = []
    for row in (row for row in quote.text.split("\n") if row.strip(" >")):
        indent = " " * min(len(row) - len(row.lstrip(" ")), columns // 2)
        row = localtimes.localize_line(hit.kind, one_line(row), quote.created)
        wrapped = screen.wrap_text(row, columns - len(indent) - 2, MOST_LINES)
        out += ["  " * bool(head) + indent + part for part in wrapped]
    return head + out


def turn_command(quote: Quote) -> str:
    """Return the command that prints a quote's turn."""
    return "dayleaf show %s#%d" % (one_line(quote.id), quote.turn)


def _run_command(hit: Hit) -> str:
    return "dayleaf resource run %s" % one_line(hit.id)


def context_line(tags: Iterable[ContextTag]) -> str:
    """Format context tags with weight and origin: `python 1 (pyproject.toml)`."""
    return ", ".join(
        "%s %g (%s)" % (one_line(tag.name), tag.weight, one_line(tag.origin)) for tag in tags
    )


def _freshness(hit: Hit) -> str:
    """Return FRESH or STALE, "" for a record that names no files."""
    return "" if hit.freshness == "UNKNOWN" else hit.freshness


def _format_gone(hit: Hit) -> list[str]:
    """Say which things that a hit names are gone."""
    reasons = "; ".join(one_line(claim.reason) for claim in hit.gone[:MOST_GONE])
    more = " and %d more" % (len(hit.gone) - MOST_GONE) if len(hit.gone) > MOST_GONE else ""
    return [reasons + more] if reasons else []


def _explain_score(hit: Hit, tags: Iterable[ContextTag]) -> list[str]:
    held = set(map(context.normalise_tag, hit.labels))
    met = [one_line(tag.name) for tag in tags if context.normalise_tag(tag.name) in held]
    parts = [
        "%s %.3f%s" % (name, value, " (%s)" % ", ".join(met) if name == "tags" and met else "")
        for name, value in hit.parts
    ]
    return ["  ".join(parts)] if parts else []


def _format_footer(
    found: RecallResult, words: str, style: Style, has_hits: bool, way: str
) -> list[str]:
    lines, tail = [], left_out_line(found)
    notes = [one_line(note) for note in found.notes if note not in (NOTHING, HARDLY)]
    if not has_hits:
        query = " for `%s`" % clip_columns(one_line(words), QUERY_LENGTH) if words else ""
        lines.append("Nothing found%s." % query)
    elif found.backend:
        tail.append(_describe_order(found))
    # no index at all says more
    if has_hits and found.stale and not any("were searched" in note for note in notes):
        tail.append("files have changed since the index was made; a refresh runs in the background")
    tail += notes
    lines += [""] * bool(tail and has_hits) + [style.dim(line) for line in tail]
    return lines + plan_line(found) + gap_line(found, way)


def _describe_order(found: RecallResult) -> str:
    """Return `newest first`, or `ranked by words and vectors (MODEL)`."""
    if found.hits and all(hit.why == NEWEST for hit in found.hits):
        return NEWEST
    by = one_line(str(found.backend))
    return "ranked by " + by.replace("lexical", "words").replace(" + ", " and ")


def plan_line(found: RecallResult) -> list[str]:
    """Format the active plan, unless it is a hit."""
    plan = found.plan
    return ["the active plan: %s (%s)" % (one_line(plan.title), one_line(plan.id))] if plan else []


def left_out_line(found: RecallResult) -> list[str]:
    """Say how many hits were left out, if any."""
    rest, of = found.left_out, len(found.hits) + found.left_out
    line = "did not fit: %s; `--limit %d` shows them" % (format_count(rest, "more hit"), of)
    return [line] if rest else []


def gap_line(found: RecallResult, way: str = LEARN) -> list[str]:
    """Say how to add what the memory lacks, if anything."""
    words = ", ".join("`%s`" % one_line(str(gap)) for gap in found.known_gaps[:5])
    about = "nothing about %s: " % words if words and found.hits else ""
    return [about + way] if words or found.weak else []


def render_for_model(found: RecallResult, words: str, way: str = LEARN) -> str:
    """Render a recall for the model, in at most MODEL_UNITS."""
    head = "Recall of `%s`: %s, %s." % (
        fence.clip_utf16(fence.clean(one_line(words)), 200),
        format_count(len(found.hits), "hit"),
        _describe_order(found),
    )
    notes = [note for note in map(str, found.notes) if note != HARDLY]
    notes += [*left_out_line(found), *plan_line(found), *gap_line(found, way)]
    tail = fence.clip_utf16("\n".join(map(fence.clean, notes)), MODEL_UNITS // 4)
    budget = fence.Budget(MODEL_UNITS - fence.overhead("recall") - tokeniser.count_utf16(tail) - 1)
    budget.take(head + ("\n%s:" % HARDLY if found.weak else ""))
    cut, shown = 0, (*found.hits, *found.linked)
    for at, hit in enumerate(shown):
        share = max(budget.left // (len(shown) - at), 240)
        units = min(ITEM_UNITS, share, budget.left) - 1
        cut += not budget.take(_render_hit(hit, units), hit.group == "rule")
    if cut:
        budget.take("%s did not fit." % format_count(cut, "hit"))
    return fence.format_block("recall", [*budget.lines, *filter(None, [tail])], budget.rules)


_STANDINGS = {
    "pending": "rule that nobody approved, do not follow",
    "candidate": "candidate that nobody accepted",
    "script": "script that may be run",
    "waiting": "script that nobody approved, do not run",
    "doc": "doc",
    "rejected": "rule that was rejected, do not follow",
    "refused": "script that was rejected, do not run",
}
_ORIGINS = {  # by tier
    "shared": "shared through this repository",
    "global": "global",
    "added": "from the user's own folder",
}
_REST = "> the rest, from the beginning:"  # stands below quotes of the record itself


def _render_hit(hit: Hit, units: int) -> str:
    """Render a hit for the model in at most `units` UTF-16 units."""
    head = _render_head(hit)
    end = " … (`dayleaf show %s` for the rest)" % fence.clean_line(hit.id, 64)
    body = fence.clean(hit.body).strip()
    seen = fence.clip_utf16(body, units - tokeniser.count_utf16(head) - 1, end)
    quotes, rows = hit.quotes, _list_quoted_rows(hit)
    is_whole = seen == body and all(quote.id == hit.id for quote in quotes)
    if is_whole or rows <= set(seen.split("\n")):  # the body holds the quotes
        quotes, rows = tuple(quote for quote in quotes if quote.turn), set()
    parts = [head, *map(_render_quote, quotes), *([_REST] if rows else [])]
    head = fence.clip_utf16("\n".join(parts), units)
    room = units - tokeniser.count_utf16(head) - 1
    if room <= MIN_BODY_UNITS:
        return head
    rest = "\n".join(row for row in body.split("\n") if row not in rows)
    body = fence.clip_utf16(rest, room, end)
    return head + ("\n" + body if body else "")


def _list_quoted_rows(hit: Hit) -> set[str]:
    """Return the lines of a hit's quotes that belong to no turn."""
    texts = [fence.clean(quote.text) for quote in hit.quotes if not quote.turn]
    return {row for text in texts for row in text.split("\n") if row.strip("… ")}


def _render_head(hit: Hit) -> str:
    """Render a hit's id, title, kind and origin for the model."""
    id = fence.clean_line(hit.id, 64)
    kind = _STANDINGS.get(hit.group, hit.kind) + _format_unattended(hit)
    facts = [kind, clock.format_local_day(hit.created)]
    origin = fence.clean_line(hit.origin, 100) if hit.origin else _ORIGINS.get(hit.tier, "")
    facts += filter(None, (fence.format_versions(hit.versions), origin))
    if _freshness(hit):
        facts.append(fence.clean_line(": ".join([_freshness(hit), *_format_gone(hit)]), 240))
    place = fence.clean_line(hit.why, 128) if hit.linked_from else "score %.2f" % hit.score
    title = fence.clean_line(one_line(hit.title), 160)
    head = "## [%s] %s (%s)" % (id, title, ", ".join(filter(None, [*facts, hit.update, place])))
    if hit.group == "script":
        head += "\n`%s`" % fence.clean_line(_run_command(hit), 100)
    return head


def _render_quote(quote: Quote) -> str:
    """Render a quote for the model, below the command that prints the rest."""
    text = fence.clean(quote.text)
    if not quote.turn:
        return "> (`dayleaf show %s`)\n%s" % (fence.clean_line(quote.id, 64), text)
    stated = fence.clean_line(quote.stated, 200)
    command = fence.clean_line(turn_command(quote), 100)
    return "> %s: (`%s`)\n%s" % (stated, command, text)
