"""The verbs rule and review: rules suggested by anyone, and what a person decides on them."""

from __future__ import annotations

from typing import Callable

from memory import deciding, paths, terminal
from memory.call import Call, read_stdin, record_json, shown, tier_of, unknown_word
from memory.errors import StoreError, UsageError
from memory.writing import author, edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.store import Store

SUGGESTED = ("title", "rationale", "body", "tag", "link", "shared", "tier_global")
REVIEW = "`dayleaf review` in a terminal of your own decides"


def rule(call: Call) -> int:
    """Suggest, list or edit rules, or decide on them on a terminal."""
    word = call.words[0] if call.words else "list"
    if word not in WORDS:
        raise unknown_word("rule", word, WORDS)
    given = [name for name in SUGGESTED if getattr(call.options, name)] if word != "suggest" else []
    if given:
        raise UsageError("rule %s takes no --%s: that is for `dayleaf rule suggest`" % (word, given[0].replace("tier_", "")))
    if call.options.pending and word != "list":
        raise UsageError("rule %s takes no --pending: that is for `dayleaf rule list`" % word)
    return WORDS[word](call, call.words[1:])


# ---- suggesting and listing

def _suggest(call: Call, words: list[str]) -> int:
    """Write a rule that waits: who suggests it is kept, and nobody but a person approves it."""
    from memory import review
    from memory.redact import strip_private

    options = call.options
    title, rationale = (strip_private(said).strip() for said in (options.title or " ".join(words), options.rationale or ""))
    if not title or not rationale or (options.title and words):
        raise UsageError("rule suggest wants one title and a rationale: `dayleaf rule suggest \"TITLE\" --rationale WHY`")
    tier = tier_of(call)
    store, who = call.store(), author(call)
    links = [{"relation": "related_to", "target": _linked(store, id)} for id in options.link or ()]
    body = (read_stdin() if options.body == "-" else options.body or "").strip()
    body = body + "\n" if body else ""
    there = store.same("rule", title, body, tier)
    kept = there or store.add("rule", title, body, tier=tier, tags=options.tag or (), source=who,
                              extra={"rationale": rationale, "suggested_by": who, **({"links": links} if links else {})})
    call.indexed()
    found = review.standings([kept], call.place)[0]
    lines = ["%s %s  %s" % ("already there" if there else "suggested", kept.id, terminal.one_line(kept.title)),
             "  " + call.place.path(kept.name)]
    if found.state == "pending":
        lines.append("  it waits: " + REVIEW)
    if not kept.tags and not kept.links:
        lines.append("  without --tag or --link it is in no context, and no prompt gets it")
    return call.answer({**record_json(kept), "path": call.place.path(kept.name), "state": found.state}, lines)


def _linked(store: Store, id: str) -> str:
    try:
        return store.find(id).id
    except StoreError as error:
        raise UsageError("--link: %s" % error) from None


def _list(call: Call, words: list[str]) -> int:
    """Show rules with their state, and why they wait."""
    from memory import review

    if words:
        raise UsageError("rule list takes no more words, not '%s'" % shown(words[0]))
    found = [one for one in review.standings(call.store().each(("rule",)), call.place)
             if one.state == "pending" or not call.options.pending]
    rows = [[terminal.one_line(cell) for cell in (r.id, state, r.title, ", ".join(r.tags), why)] for r, state, why, _ in found]
    return call.answer([{"id": one.record.id, "state": one.state, "why": one.why, "title": terminal.one_line(one.record.title),
                         "tags": list(one.record.tags), "tier": paths.TIER_NAMES[one.record.tier], "name": one.record.name}
                        for one in found],
                       terminal.table(rows) or ["no rule waits" if call.options.pending else "no rules here"])


def _edit(call: Call, words: list[str]) -> int:
    """Open a rule in $VISUAL or $EDITOR; what was changed waits again."""
    from memory import review

    found = deciding.named(call.store(), deciding.RULE, "edit", words, one=True)[0]
    changed = edited(call, found)
    if changed is None:
        return call.answer({"id": found.id, "changed": False}, ["%s is unchanged" % found.id])
    call.indexed()
    state = review.standings([changed], call.place)[0].state
    return call.answer({"id": changed.id, "changed": True, "state": state}, [
        "changed %s  %s" % (changed.id, terminal.one_line(changed.title)),
        "  pending again: " + REVIEW if state == "pending" else "  this content is " + state])


# ---- deciding

def _approve(call: Call, words: list[str]) -> int:
    """Approve rules, each after it was shown."""
    return deciding.each(call, deciding.RULE, "approve", words)


def _reject(call: Call, words: list[str]) -> int:
    """Reject rules, each after it was shown."""
    return deciding.each(call, deciding.RULE, "reject", words)


def go_through(call: Call) -> int:
    """Go through the rules, scripts and candidates that wait, one by one."""
    if call.words:
        raise UsageError("review takes no words; `dayleaf rule approve %s` decides on one" % shown(call.words[0]))
    return deciding.go_through(call, deciding.BOTH, candidates=True)


def _review(call: Call, words: list[str]) -> int:
    """Ask about every rule that waits."""
    if words:
        raise UsageError("rule review takes no more words; `dayleaf rule approve %s` decides on one" % shown(words[0]))
    return deciding.go_through(call, (deciding.RULE,))


WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "suggest": _suggest, "list": _list, "approve": _approve, "reject": _reject, "edit": _edit, "review": _review}
