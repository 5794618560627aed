"""The results of recall: in groups for a person at a terminal, and fenced for the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory import clock, contexttags, paths, render, text, trust
from memory.records import Record
from memory.terminal import Style, age, clip, count, one_line, pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.contexttags import Tag
    from memory.rank import Hit
    from memory.recall import Found

GROUPS = (("rule", "Rules (follow these)"), ("pending", "Rules (wait for review)"),
          ("script", "Scripts (try these)"), ("waiting", "Scripts (wait for review)"), ("learning", "Learnings"),
          ("candidate", "Learnings (wait for review)"), ("doc", "Docs"), ("checkpoint", "Checkpoints"),
          ("plan", "The active plan"), ("past", "Past plans"),
          ("rejected", "Rules (rejected)"), ("refused", "Scripts (rejected)"))
SNIPPET_LINES = 400  # lines of a body that a snippet is looked for in
MODEL_UNITS = 9500  # UTF-16 units; the host cuts a hook's output above 10,000
ITEM_UNITS = 1600
GONE = 3  # claims that are told of a stale hit
NOTHING = "nothing found"  # recall's own note, which the first line says already


def group(record: Record, key: str, decided: dict[trust.Approval, str], root: str = "") -> str:
    """Return the result group of a record, a word of GROUPS.

    key: the workspace the record belongs to.  decided: what trust.decisions returned.  root: the directory that a script's
    path is relative to, "" where that is not known here.
    """
    if record.kind == "rule":
        decision = decided.get((trust.workspace_of(record.name, key), record.id, record.checksum), "")
        return {"approve": "rule", "reject": "rejected"}.get(decision, "pending")
    if record.kind == "plan":
        return "plan" if record.active else "past"
    if record.end == "script":
        decision = trust.script_decision(record, key, root, decided)
        return {"approve": "script", "reject": "refused"}.get(decision, "waiting")
    return "candidate" if record.kind == "learning" and not record.accepted else record.end


def snippet(record: Record, words: str, columns: int) -> str:
    """Return the line of a record's body that says most about the words of a query, cut to `columns`.

    A heading counts for the lines below it.  Headings themselves and a line that only repeats the title say nothing new; ""
    where there is no other.
    """
    wanted = {term for term, _ in text.terms(words)} if words else set()
    title = one_line(record.title)
    best, most, above = "", -1, set[str]()
    for line, code in text.coded(record.body.split("\n", SNIPPET_LINES)[:SNIPPET_LINES]):
        bare = one_line(line).lstrip("#>*-+ ")
        fences = code and bare.startswith(("```", "~~~"))
        if line.startswith("#") and not code:
            above = wanted.intersection(text.tokens(bare))
        if not bare or bare == title or fences or (line.startswith("#") and not code):
            continue
        found = len(above | wanted.intersection(text.tokens(bare)))
        if found > most:
            best, most = bare, found
    return clip(best, columns)


def hits(found: Found, words: str, now: float, key: str, decided: dict[trust.Approval, str], style: Style,
         explain: bool = False, root: str = "") -> list[str]:
    """Return the lines of a recall: groups, what did not fit, notes, and where a contribution is missing.

    found: recall.Found.  words: the query.  now: seconds since the epoch.  key: the place's workspace.  decided: what
    trust.decisions returned.  explain: print the parts of every score.  root: the place's checkout.
    """
    rows: dict[str, list[tuple[Hit, list[str]]]] = {name: [] for name, _ in GROUPS}
    for hit in (*found.hits, *found.linked):
        rows[standing(hit, key, decided, root)].append((hit, _cells(hit, now, key)))
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


def standing(hit: Hit, key: str, decided: dict[trust.Approval, str], root: str) -> str:
    """Return the result group of a hit; see `group`.  key, root: of the place that was asked in."""
    return group(hit.record, hit.workspace, decided, root if hit.workspace == key else "")


def _cells(hit: Hit, now: float, key: str) -> list[str]:
    record = hit.record
    title = one_line(record.title) + (" § " + one_line(hit.section) if hit.section else "")
    where = paths.TIER_NAMES.get(record.tier, record.tier)
    if record.tier == paths.PRIVATE and hit.workspace != key:
        where = one_line(hit.workspace)
    return [one_line(record.id), "linked" if hit.linked_from else "%.2f" % hit.score, title, age(now - record.created), where,
            _freshness(hit), f"{hit.tokens:,} tokens", one_line(render.versions(record.versions))]


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


def for_model(found: Found, words: str, key: str, decided: dict[trust.Approval, str], units: int = MODEL_UNITS,
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
        name = standing(hit, key, decided, root)
        cut += not budget.take(_for_model(hit, name, min(ITEM_UNITS, share, budget.left) - 1), name == "rule")
    if cut:
        budget.take("%s did not fit." % count(cut, "hit"))
    return render.block("recall", [*budget.lines, *([tail] if tail else [])], budget.rules)


_STANDINGS = {"pending": "rule that nobody approved, do not follow", "candidate": "candidate that nobody accepted",
              "script": "script that may be run",
              "waiting": "script that nobody approved, do not run", "doc": "doc",
              "rejected": "rule that was rejected, do not follow", "refused": "script that was rejected, do not run"}


def _for_model(hit: Hit, name: str, units: int) -> str:
    """Write one hit for the model; a rule or script that nobody approved says so."""
    record = hit.record
    origin = {"s": ", shared through this repository", "g": ", global"}.get(record.tier, "")
    id = render.line(record.id, 64)
    place = render.line(hit.why, 128) if hit.linked_from else "score %.2f" % hit.score
    head = "## [%s] %s (%s, %s%s%s%s, %s)" % (
        id, render.line(one_line(record.title), 160), _STANDINGS.get(name, record.kind), clock.day(record.created),
        ", " + render.versions(record.versions) if record.versions else "", origin,
        ", " + render.line(": ".join([_freshness(hit), *_gone(hit)]), 240) if _freshness(hit) else "", place)
    if name == "script":
        head += "\n`%s`" % render.line(run_command(record), 100)
    room = units - text.utf16(head) - 1
    body = render.clip(render.clean(record.body).strip(), room, " … (`dayleaf show %s` for the rest)" % id)
    return head + ("\n" + body if body else "")
