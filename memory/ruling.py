"""The verbs rule and review: rules suggested by anyone, and what a person decides on them."""

from __future__ import annotations

import sys
from typing import Callable

from memory import files, paths, terminal, trust
from memory.call import Call, confirmed, need_person, read_stdin, record_json, shown, tier_of, unknown_word, warn
from memory.errors import StoreError, UsageError
from memory.writing import author, edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memory.records import Record
    from memory.store import Store

SUGGESTED = ("title", "rationale", "body", "tag", "link", "shared", "tier_global")
REVIEW = "`dayleaf review` in a terminal of your own decides"
DONE = {"approve": "approved", "reject": "rejected"}


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
    rows = [[terminal.one_line(cell) for cell in (r.id, state, r.title, ", ".join(r.tags), why)] for r, state, why in found]
    return call.answer([{"id": one.record.id, "state": one.state, "why": one.why, "title": terminal.one_line(one.record.title),
                         "tags": list(one.record.tags), "tier": paths.TIER_NAMES[one.record.tier], "name": one.record.name}
                        for one in found],
                       terminal.table(rows) or ["no rule waits" if call.options.pending else "no rules here"])


def _edit(call: Call, words: list[str]) -> int:
    """Open a rule in $VISUAL or $EDITOR; what was changed waits again."""
    from memory import review

    found = _named(call.store(), "edit", words[:1] if len(words) == 1 else [])[0]
    changed = edited(call, found)
    if changed is None:
        return call.answer({"id": found.id, "changed": False}, ["%s is unchanged" % found.id])
    call.indexed()
    state = review.standings([changed], call.place)[0].state
    return call.answer({"id": changed.id, "changed": True, "state": state}, [
        "changed %s  %s" % (changed.id, terminal.one_line(changed.title)),
        "  pending again: " + REVIEW if state == "pending" else "  this content is " + state])


def _named(store: Store, verb: str, words: list[str]) -> list[Record]:
    """Find the rules that are named, all of them before anything is done; raises UsageError, StoreError."""
    if not words:
        raise UsageError("rule %s wants %s; `dayleaf rule list` names them" % (verb, "one ID" if verb == "edit" else "an ID"))
    found: dict[str, Record] = {}
    for word in words:
        try:
            record = store.find(word)
        except StoreError as error:
            raise StoreError(str(error).replace("`dayleaf recall` lists them", "`dayleaf rule list` names the rules")) from None
        twins = [] if word == record.name else store.duplicates.get(record.id, [])
        if twins:
            raise UsageError("%s is the id of %d files; name the one you mean: %s" % (record.id, len(twins), ", ".join(twins)))
        if record.kind != "rule":
            raise UsageError("%s is a %s, not a rule" % (record.id, record.kind))
        found[record.name] = record
    return list(found.values())


# ---- deciding

def _approve(call: Call, words: list[str]) -> int:
    """Approve rules, each after it was shown."""
    return _each(call, "approve", words)


def _reject(call: Call, words: list[str]) -> int:
    """Reject rules, each after it was shown."""
    return _each(call, "reject", words)


def _each(call: Call, decision: str, words: list[str]) -> int:
    """Ask about each rule that is named; raises UsageError where none is decided on."""
    store = call.store()
    found = _named(store, decision, words)
    need_person(call, "a rule", "rule %s %s" % (decision, " ".join(terminal.one_line(record.id) for record in found)))
    done = []
    for record, data in (_whole(store, one.name) for one in found):
        if decision == "approve":
            _check(call, record, data)
        sys.stderr.write("\n".join(_content(call, record, data)) + "\n")
        if confirmed("%s exactly this? type yes: " % decision):
            done.append(_decide(call, store, record, data, decision))
        elif len(found) == 1:
            raise UsageError("%s stays as it was" % record.id)
    return _told(call, done)


def _whole(store: Store, name: str) -> tuple[Record, bytes]:
    """Read a rule and all bytes of its file, at one time; raises StoreError."""
    from memory import records

    data = store.raw(name)
    return records.from_bytes(name, data, 0.0), data


def _check(call: Call, record: Record, data: bytes) -> None:
    from memory import review

    hindrance = review.hindrance(call.place, record.name, data)
    if hindrance:
        raise UsageError("%s cannot be approved: %s" % (record.name, hindrance))


def _decide(call: Call, store: Store, record: Record, data: bytes, decision: str) -> dict[str, Any]:
    """Record a decision on exactly the bytes that were shown; raises StoreError where the file holds others by now."""
    import getpass

    home, digest = call.place.home, files.sha256(data)
    workspace = trust.workspace_of(record.name, call.place.key)
    if store.raw(record.name) != data:
        raise StoreError("%s: changed while it was shown, so it stays pending; review it again" % record.name)
    if decision == "approve":
        _check(call, record, data)
        try:
            trust.keep(home, data)
        except OSError as error:
            warn("approved without a copy to compare edits with (%s)" % error.strerror)
    trust.decide(home, workspace, record.id, digest, decision, getpass.getuser(), call.now)
    if trust.decisions(home).get((workspace, record.id, digest)) != decision:
        raise StoreError("%s/%s: others may write to it, so nothing in it counts; `chmod 600` it and decide again" % (
            home, trust.LEDGER))
    return {"id": record.id, "decision": decision, "sha256": digest, "title": terminal.one_line(record.title)}


def _told(call: Call, done: list[dict[str, Any]]) -> int:
    return call.answer(done, ["%s %s  %s" % (DONE[one["decision"]], one["id"], one["title"]) for one in done]
                       or ["no rule was decided on"])


def _content(call: Call, record: Record, data: bytes) -> list[str]:
    """Write a rule's file out for the person: where it stands, all of it, what changed since it was approved, its hash."""
    from memory import review

    place, text = call.place, terminal.visible(data.decode("utf-8", "replace"))
    digest = trust.latest(trust.decisions(place.home), trust.workspace_of(record.name, place.key), record.id)
    before = trust.kept(place.home, digest) if digest and digest != record.checksum else None
    lines = [terminal.one_line(place.path(record.name)), "", *text.rstrip("\n").split("\n"), ""]
    if before is not None:
        lines += ["changed since it was approved:", *review.difference(before, data), ""]
    elif digest and digest != record.checksum:
        lines += ["changed since it was approved; that content is not kept", ""]
    if "approved" in record.meta:
        lines.append("it says `approved` of itself: that counts for nothing")
    return [*lines, "%s, sha256 %s" % (terminal.count(len(data), "byte"), files.sha256(data))]


def go_through(call: Call) -> int:
    """Go through the rules that wait, one by one, and say how many candidates wait."""
    if call.words:
        raise UsageError("review takes no words; `dayleaf rule approve %s` decides on one" % shown(call.words[0]))
    return _review(call, [])


def _review(call: Call, words: list[str]) -> int:
    """Ask about every rule that waits."""
    from memory import review

    if words:
        raise UsageError("rule review takes no more words; `dayleaf rule approve %s` decides on one" % shown(words[0]))
    need_person(call, "a rule", "review")
    store = call.store()
    waiting = [one for one in review.standings(store.each(("rule",)), call.place) if one.state == "pending"]
    done: list[dict[str, Any]] = []
    for number, one in enumerate(waiting, 1):
        where = "%d of %d  %s  %s  (%s)" % (number, len(waiting), terminal.one_line(one.record.id),
                                            terminal.one_line(one.record.title), one.why)
        decided = _answered(call, store, one.record.name, where)
        if decided is None:
            break
        done += decided
    call.indexed()
    candidates = sum(not record.accepted for record in store.each(("learning",)))
    _told(call, done)
    if candidates:
        sys.stderr.write("%s %s: `dayleaf harvest review`\n" % (
            terminal.count(candidates, "candidate"), "waits" if candidates == 1 else "wait"))
    return 0


def _answered(call: Call, store: Store, name: str, where: str) -> list[dict[str, Any]] | None:
    """Ask about one rule until it is decided or skipped; returns the decision, [] for none, None where the person quits."""
    from memory import review

    while True:
        try:
            record, data = _whole(store, name)
        except StoreError as error:
            warn(str(error))
            return []
        hindrance = review.hindrance(call.place, name, data)
        notes = ["cannot be approved: " + terminal.one_line(hindrance)] if hindrance else []
        sys.stderr.write("\n".join(["", where, *_content(call, record, data), *notes,
                                    "[a]pprove [r]eject [e]dit [s]kip [q]uit: "]))
        sys.stderr.flush()
        line = sys.stdin.readline()
        letter = line.strip().lower()[:1] if line else "q"
        try:
            if letter in ("a", "r"):
                if letter == "a":
                    _check(call, record, data)
                return [_decide(call, store, record, data, "approve" if letter == "a" else "reject")]
            if letter in ("s", "q"):
                return [] if letter == "s" else None
            if letter == "e":
                edited(call, record)
        except (StoreError, UsageError) as error:
            warn(str(error))


WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "suggest": _suggest, "list": _list, "approve": _approve, "reject": _reject, "edit": _edit, "review": _review}
