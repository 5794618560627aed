"""The results of recall: in groups for a person at a terminal, and fenced for the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from memory.core import clock, layout, tokeniser
from memory.core.plaintext import age, clip, count, one_line, width
from memory.hook import context, fence
from memory.recall import look
from memory.terminal import localtimes, screen
from memory.terminal.screen import Style, pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.hook.context import Tag
    from memory.recall.hit import Found, Hit

GROUPS = (("rule", "Rules (follow these)"), ("pending", "Rules (wait for review)"),
          ("script", "Scripts (try these)"), ("waiting", "Scripts (wait for review)"), ("learning", "Learnings"),
          ("candidate", "Learnings (wait for review)"), ("doc", "Docs"), ("checkpoint", "Checkpoints"),
          ("conversation", "Conversations"),
          ("plan", "The active plan"), ("past", "Past plans"),
          ("rejected", "Rules (rejected)"), ("refused", "Scripts (rejected)"))
SNIPPET_LINES = 400  # lines of a body that a snippet is looked for in
MODEL_UNITS = 9500  # UTF-16 units; the host cuts a hook's output above 10,000
ITEM_UNITS = 1600
PASSAGE_LINES = 3
READABLE = 120  # columns of running text
ECHOED = 200  # characters of a query that an answer repeats
GONE = 3  # claims that are told of a stale hit
_TABLE = tokeniser.Table()
NOTHING = "nothing found"  # recall's own note, which the first line says already


def snippet(hit: Hit, words: str, columns: int) -> str:
    """Return the line of a hit's body that says most about the words of a query, cut to `columns`.

    A heading counts for the lines below it.  Headings themselves and a line that only repeats the title say nothing new; ""
    where there is no other.
    """
    wanted = _wanted(words)
    title = one_line(hit.title)
    best, most, above = "", -1, set[str]()
    for line, code in tokeniser.coded(hit.body.split("\n", SNIPPET_LINES)[:SNIPPET_LINES]):
        bare = one_line(line).lstrip("#>*-+ ")
        fences = code and bare.startswith(("```", "~~~"))
        if line.startswith("#") and not code:
            above = _held(bare, wanted)
        if not bare or bare == title or fences or (line.startswith("#") and not code):
            continue
        found = len(above | _held(bare, wanted))
        if found > most:
            best, most = bare, found
    return clip(best, columns)


@lru_cache(maxsize=2)
def _wanted(words: str) -> look.Matches:
    """Return the terms of a query as what rules most words of a text out; one for all hits."""
    return look.Matches({term: 1.0 for term, _ in tokeniser.terms(words)} if words else {}, look.Expansion())


def _held(line: str, wanted: look.Matches) -> set[str]:
    return {term for raw in tokeniser.split(line, _TABLE) for _, term in wanted[raw][1]}


def hits(found: Found, words: str, key: str, style: Style, explain: bool = False) -> list[str]:
    """Return the lines of a recall: groups, what did not fit, notes, and where a contribution is missing.

    words: the query.  key: the workspace that was asked in.  explain: print the parts of every score.
    """
    rows: dict[str, list[tuple[Hit, list[str]]]] = {name: [] for name, _ in GROUPS}
    for hit in (*found.hits, *found.linked):
        rows[hit.group].append((hit, _cells(hit, key, bool(words))))
    cells = [row for members in rows.values() for _, row in members]
    widths = [max((width(row[i]) for row in cells), default=0) for i in range(8)]
    if style.cut:
        others = [wide for at, wide in enumerate(widths) if at != 2 and wide]
        widths[2] = max(screen.NARROWEST, min(widths[2], style.columns - 2 - sum(others) - 2 * len(others)))
    lines: list[str] = []
    for name, heading in GROUPS:
        if rows[name]:
            lines += [""] * bool(lines) + [style.bold(heading)]
        for hit, row in rows[name]:
            more = " +" + count(len(hit.others), "checkpoint") if hit.others else ""
            row[2] = style.fit(row[2], widths[2] - len(more)) + more
            padded = [pad(cell, widths[i], i in (1, 3, 6)) for i, cell in enumerate(row)]
            padded[0], padded[5] = style.kind(hit.kind, padded[0]), style.verdict(padded[5])
            lines.append(("  " + "  ".join(cell for cell, wide in zip(padded, widths) if wide)).rstrip())
            beneath = _beneath(hit, words, min(style.columns, READABLE) - 6, found.context if explain else None)
            lines += ["      " + style.dim(line) for line in (*_gone(hit), *beneath)]
    told = ["", style.dim("context tags: " + context_line(found.context))] if explain and found.context else []
    return lines + told[0 if lines else 1:] + _footer(found, words, style, bool(lines))


def _cells(hit: Hit, key: str, asked: bool) -> list[str]:
    """Write what stands on a hit's line.  asked: there was a query, so that its score says something."""
    title = one_line(hit.title) + (" § " + one_line(hit.section) if hit.section and not hit.turn else "")
    own = hit.tier not in (layout.TIER_NAMES[layout.PRIVATE], layout.TIER_NAMES[layout.ADDED]) or hit.workspace == key
    where = hit.tier if own else one_line(hit.workspace)
    return [one_line(hit.id), "linked" if hit.linked_from else "%.2f" % hit.score if asked else "", title, age(hit.age), where,
            _freshness(hit), f"{hit.tokens:,} tokens", one_line(fence.versions(hit.versions))]


def _beneath(hit: Hit, words: str, columns: int, context: Sequence[Tag] | None) -> list[str]:
    """Return a hit's further lines: its link to the hits, the command that runs it, an excerpt or the turn that was found and
    the command that prints it, why it was found, the parts of its score.

    context: the context tags that counted, None where nothing is to be explained.
    """
    lines = [one_line(hit.why)] if hit.linked_from else []
    lines += [one_line(hit.origin)] if hit.origin else []
    why = [one_line(hit.why)] if words and not hit.linked_from else []
    lines += ["`%s`" % _run_command(hit)] if hit.group == "script" else []
    said = [localtimes.line(hit.kind, snippet(hit, words, columns), hit.created)]
    if hit.passage:
        said = [*screen.broken(localtimes.passage(one_line(hit.passage)), columns, PASSAGE_LINES), "`%s`" % turn_command(hit)]
    told = [] if context is None or hit.linked_from else _explained(hit, context)
    return [*lines, *(line for line in said if line), *why, *told]


def turn_command(hit: Hit) -> str:
    """Return what prints the turn of a hit."""
    return "dayleaf show %s#%d" % (one_line(hit.conversation), hit.turn)


def _run_command(hit: Hit) -> str:
    """Return what a person types to run a script."""
    return "dayleaf resource run %s" % one_line(hit.id)


def context_line(tags: Iterable[Tag]) -> str:
    """Return context tags with their weights and origins: `python 1 (pyproject.toml)`."""
    return ", ".join("%s %g (%s)" % (one_line(tag.name), tag.weight, one_line(tag.origin)) for tag in tags)


def _freshness(hit: Hit) -> str:
    """Return FRESH or STALE; a record that names no file says nothing about it."""
    return "" if hit.freshness == "UNKNOWN" else hit.freshness


def _gone(hit: Hit) -> list[str]:
    """Name the files, symbols and commits of a hit that are gone."""
    reasons = [one_line(claim.reason) for claim in hit.gone[:GONE]]
    return ["; ".join(reasons) + (" and %d more" % (len(hit.gone) - GONE) if len(hit.gone) > GONE else "")] if reasons else []


def _explained(hit: Hit, tags: Iterable[Tag]) -> list[str]:
    """Write the parts of a hit's score in their order, and which context tags it carries."""
    held = set(map(context.label, hit.labels))
    met = [one_line(tag.name) for tag in tags if context.label(tag.name) in held]
    parts = ["%s %.3f%s" % (name, value, " (%s)" % ", ".join(met) if name == "tags" and met else "") for name, value in hit.parts]
    return [line for line in ["  ".join(parts)] if line]


def _footer(found: Found, words: str, style: Style, some: bool) -> list[str]:
    lines = [] if some else ["Nothing found" + (" for `%s`." % clip(one_line(words), ECHOED) if words else ".")]
    tail = left_out(found)
    tail += ["ranked by " + one_line(str(found.backend))] if found.backend and some else []
    notes = [one_line(note) for note in found.notes if note != NOTHING]
    behind = found.stale and not any("were searched" in note for note in notes)  # no index at all says more
    tail += ["the index was behind the files: a refresh runs in the background"] if behind and some else []
    tail += notes
    lines += [""] * bool(tail and some) + [style.dim(line) for line in tail]
    return lines + plan_line(found) + contributions(found)


def plan_line(found: Found) -> list[str]:
    """Return the line that names the active plan where it is no hit."""
    plan = found.plan
    return ["the active plan: %s (%s)" % (one_line(plan.title), one_line(plan.id))] if plan else []


def left_out(found: Found) -> list[str]:
    """Return the line that says what did not fit, if anything."""
    rest = found.left_out
    return ["did not fit: %s; `--limit %d` shows them" % (count(rest, "more hit"), len(found.hits) + rest)] if rest else []


def contributions(found: Found) -> list[str]:
    """Return the line that says what a memory could do better with: words of the query that no record knows."""
    words = ", ".join("`%s`" % one_line(str(gap)) for gap in found.known_gaps[:5])
    about = "nothing about " + words if words else "only weak matches" if found.weak else ""
    return ["%s: `dayleaf learn \"…\"` keeps what you find out" % about] if about else []


def for_model(found: Found, words: str, units: int = MODEL_UNITS) -> str:
    """Return a recall as a fenced block for the model, in at most `units` UTF-16 units: hits with as much body as fits."""
    notes = [fence.clean(line) for line in
             [*(str(n) for n in found.notes), *left_out(found), *plan_line(found), *contributions(found)]]
    said = "Recall of `%s`: %s, ranked by %s." % (fence.clip(fence.clean(one_line(words)), 200),
                                                  count(len(found.hits), "hit"), found.backend)
    tail = fence.clip("\n".join(notes), units // 4) if notes else ""
    budget = fence.Budget(units - fence.overhead("recall") - tokeniser.utf16(tail) - 1)
    budget.take(said)
    cut = 0
    shown = (*found.hits, *found.linked)
    for at, hit in enumerate(shown):
        share = max(budget.left // (len(shown) - at), 240)
        cut += not budget.take(_for_model(hit, min(ITEM_UNITS, share, budget.left) - 1), hit.group == "rule")
    if cut:
        budget.take("%s did not fit." % count(cut, "hit"))
    return fence.block("recall", [*budget.lines, *([tail] if tail else [])], budget.rules)


_STANDINGS = {"pending": "rule that nobody approved, do not follow", "candidate": "candidate that nobody accepted",
              "script": "script that may be run",
              "waiting": "script that nobody approved, do not run", "doc": "doc",
              "rejected": "rule that was rejected, do not follow", "refused": "script that was rejected, do not run"}


def _for_model(hit: Hit, units: int) -> str:
    """Write one hit for the model; a rule or script that nobody approved says so."""
    origin = {"shared": ", shared through this repository", "global": ", global",
              "added": ", from the user's own folder"}.get(hit.tier, "")
    origin = ", " + fence.line(hit.origin, 100) if hit.origin else origin
    id = fence.line(hit.id, 64)
    place = fence.line(hit.why, 128) if hit.linked_from else "score %.2f" % hit.score
    head = "## [%s] %s (%s, %s%s%s%s, %s)" % (
        id, fence.line(one_line(hit.title), 160), _STANDINGS.get(hit.group, hit.kind), clock.day(hit.created),
        ", " + fence.versions(hit.versions) if hit.versions else "", origin,
        ", " + fence.line(": ".join([_freshness(hit), *_gone(hit)]), 240) if _freshness(hit) else "", place)
    if hit.group == "script":
        head += "\n`%s`" % fence.line(_run_command(hit), 100)
    room = units - tokeniser.utf16(head) - 1
    said = fence.line(localtimes.stated(hit.passage), 400)
    told = "> %s (`%s`)\n" % (said, fence.line(turn_command(hit), 100)) if hit.passage else ""
    body = told + fence.clip(fence.clean(hit.body).strip(), room - tokeniser.utf16(told),
                             " … (`dayleaf show %s` for the rest)" % id)
    return head + ("\n" + body if body else "")
