"""What a person decides on at a terminal, rules and scripts alike: shown whole, then approved or rejected, one by one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

from memory import files, terminal, trust
from memory.call import Call, answered, at_once, confirmed, need_person, told, warn
from memory.errors import StoreError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.paths import Place
    from memory.records import Record
    from memory.review import Standing
    from memory.store import Store

DONE = {"approve": "approved", "reject": "rejected"}


class Matter(NamedTuple):
    """A kind of thing that is decided on.

    verb: of the command line.  noun: `rule` or `script`.  kind: of its records.  workspace: of its approvals, by a record's name
    and the place's key.  read: by a place and a record's name, the record, the bytes that are decided on, their path, and what
    keeps them from being approved, or ""; raises StoreError.  waiting: the standings of those that wait.  editable: opens one in
    an editor, None where a review offers no edit.
    """

    verb: str
    noun: str
    kind: str
    workspace: Callable[[str, str], str]
    read: Callable[[Store, str], tuple[Record, bytes, str, str]]
    waiting: Callable[[Store, Place], list[Standing]]
    editable: Callable[[Call, Record], Any] | None


def named(store: Store, matter: Matter, verb: str, words: Sequence[str], one: bool = False) -> list[Record]:
    """Find the records that are named, all of them before anything is done; raises UsageError, StoreError.

    verb: the word after the matter's verb.  one: exactly one is wanted.
    """
    listing = "`dayleaf %s list` names " % matter.verb
    if not words or (one and len(words) > 1):
        raise UsageError("%s %s wants %s; %sthem" % (matter.verb, verb, "one ID" if one else "an ID", listing))
    found: dict[str, Record] = {}
    for word in words:
        try:
            record = store.find(word)
        except StoreError as error:
            raise StoreError(str(error).replace("`dayleaf recall` lists them", listing + "the %ss" % matter.verb)) from None
        twins = [] if word == record.name else store.duplicates.get(record.id, [])
        if twins:
            raise UsageError("%s is the id of %d files; name the one you mean: %s" % (record.id, len(twins), ", ".join(twins)))
        if record.kind != matter.kind:
            raise UsageError("%s is a %s, not a %s" % (record.id, record.kind, matter.kind))
        found[record.name] = record
    return list(found.values())


def each(call: Call, matter: Matter, decision: str, words: Sequence[str]) -> int:
    """Show each one that is named and ask about it; raises UsageError where none is decided on.

    decision: `approve` or `reject`.
    """
    store = call.store()
    found = named(store, matter, decision, words)
    need_person(call, "a " + matter.noun, "%s %s %s" % (
        matter.verb, decision, " ".join(terminal.one_line(record.id) for record in found)))
    done = []
    for record, data, path, hindrance in (matter.read(store, one.name) for one in found):
        if decision == "approve" and hindrance:
            raise UsageError("%s cannot be approved: %s" % (record.name, hindrance))
        sys.stderr.write("\n".join(_content(call, matter, record, data, path)) + "\n")
        if confirmed("%s exactly this? type yes: " % decision, short=True):
            done.append(_decide(call, store, matter, record, data, decision))
        elif len(found) == 1:
            raise UsageError("%s stays as it was" % record.id)
    return told(call, done, "no " + matter.noun)


def _decide(call: Call, store: Store, matter: Matter, record: Record, data: bytes, decision: str) -> dict[str, Any]:
    """Record a decision on exactly the bytes that were shown, and say so; raises StoreError where the file holds others now."""
    import getpass

    home, digest = call.place.home, files.sha256(data)
    workspace = matter.workspace(record.name, call.place.key)
    now, bytes_now, _, hindrance = matter.read(store, record.name)
    if bytes_now != data or now.id != record.id:
        raise StoreError("%s: changed while it was shown, so it stays pending; review it again" % record.name)
    if decision == "approve":
        if hindrance:
            raise UsageError("%s cannot be approved: %s" % (record.name, hindrance))
        try:
            trust.keep(home, data)
        except OSError as error:
            warn("approved without a copy to compare edits with (%s)" % error.strerror)
    trust.decide(home, workspace, record.id, digest, decision, getpass.getuser(), call.now)
    if trust.decisions(home).get((workspace, record.id, digest)) != decision:
        raise StoreError("%s/%s: others may write to it, so nothing in it counts; `chmod 600` it and decide again" % (
            home, trust.LEDGER))
    at_once(call, DONE[decision], record.id, record.title)
    return {"id": record.id, "decision": decision, "sha256": digest, "title": terminal.one_line(record.title)}


def _content(call: Call, matter: Matter, record: Record, data: bytes, path: str) -> list[str]:
    """Write a file out for the person: where it stands, all of it, what changed since it was approved, its hash."""
    from memory import review

    place, text = call.place, terminal.visible(data.decode("utf-8", "backslashreplace" if matter.noun == "script" else "replace"))
    now = files.sha256(data)
    digest = trust.latest(trust.decisions(place.home), matter.workspace(record.name, place.key), record.id)
    before = trust.kept(place.home, digest) if digest and digest != now else None
    lines = [terminal.one_line(path), "", *text.rstrip("\n").split("\n"), ""]
    if before is not None:
        lines += ["changed since it was approved:", *review.difference(before, data), ""]
    elif digest and digest != now:
        lines += ["changed since it was approved; that content is not kept", ""]
    if "approved" in record.meta:
        lines.append("it says `approved` of itself: that counts for nothing")
    return [*lines, "%s, sha256 %s" % (terminal.count(len(data), "byte"), now)]


def go_through(call: Call, matters: Sequence[Matter], candidates: bool = False) -> int:
    """Ask about all that waits, one by one, and say how many candidates are left.

    candidates: go on with these, and not only count them.
    """
    from memory import harvesting

    nouns = [*(matter.noun for matter in matters), *(["candidate"] if candidates else [])]
    need_person(call, " or ".join("a " + noun for noun in nouns), " ".join([call.verb, *call.words]))
    store = call.store()
    done, quitted = _through(call, store, matters)
    learnt = harvesting.go_through(call, store) if candidates and not quitted else []
    call.indexed()
    done += [{"id": record.id, "decision": decision, "title": terminal.one_line(record.title)} for record, decision in learnt]
    told(call, done, "nothing" if len(nouns) > 1 else "no " + nouns[0])
    left = len(harvesting.candidates(store))
    if left:
        sys.stderr.write("%s: `dayleaf review`\n" % harvesting.wait(left))
    return 0


def _through(call: Call, store: Store, matters: Sequence[Matter]) -> tuple[list[dict[str, Any]], bool]:
    """Ask about everything of some matters that waits; returns what was decided, and whether the person quit."""
    waiting = [(matter, one) for matter in matters for one in matter.waiting(store, call.place)]
    done: list[dict[str, Any]] = []
    for number, (matter, one) in enumerate(waiting, 1):
        where = "%d of %d  %s  %s  (%s)" % (number, len(waiting), terminal.one_line(one.record.id),
                                            terminal.one_line(one.record.title), one.why)
        decided = _answered(call, store, matter, one.record.name, where)
        if decided is None:
            return done, True
        done += decided
    return done, False


def _answered(call: Call, store: Store, matter: Matter, name: str, where: str) -> list[dict[str, Any]] | None:
    """Ask about one until it is decided or skipped; returns the decision, [] for none, None where the person quits."""
    ways = ["approve", "reject", *(["edit"] if matter.editable else []), "skip", "quit"]
    while True:
        try:
            record, data, path, hindrance = matter.read(store, name)
        except StoreError as error:
            warn(str(error))
            return []
        notes = ["cannot be approved: " + terminal.one_line(hindrance)] if hindrance else []
        sys.stderr.write("\n".join(["", where, *_content(call, matter, record, data, path), *notes, ""]))
        way = answered(ways)
        while way == "approve" and hindrance:
            warn("%s cannot be approved: %s" % (name, hindrance))
            way = answered(ways)
        try:
            if way in DONE:
                return [_decide(call, store, matter, record, data, way)]
            if way == "edit" and matter.editable:
                matter.editable(call, record)
            else:
                return [] if way == "skip" else None
        except (StoreError, UsageError) as error:
            warn(str(error))


# ---- the two matters

def _read_rule(store: Store, name: str) -> tuple[Record, bytes, str, str]:
    from memory import records, review

    data = store.raw(name)
    return records.from_bytes(name, data, 0.0), data, store.place.path(name), review.hindrance(store.place, name, data)


def _read_script(store: Store, name: str) -> tuple[Record, bytes, str, str]:
    from memory import resources, review

    record = store.read(name)
    if resources.type_of(record) != "script":
        raise StoreError("%s is a doc, which nobody runs" % record.id)
    source = resources.source_of(record, store.place)
    return record, source.data, source.path, review.script_hindrance(source)


def _rules_waiting(store: Store, place: Place) -> list[Standing]:
    from memory import review

    return [one for one in review.standings(store.each(("rule",)), place) if one.state == "pending"]


def _scripts_waiting(store: Store, place: Place) -> list[Standing]:
    from memory import review

    return [one for one in review.script_standings(store.each(("resource",)), place) if one.state == "pending"]


def _edit_rule(call: Call, record: Record) -> Any:
    from memory.writing import edited

    return edited(call, record)


RULE = Matter("rule", "rule", "rule", trust.workspace_of, _read_rule, _rules_waiting, _edit_rule)
SCRIPT = Matter("resource", "script", "resource", trust.script_workspace, _read_script, _scripts_waiting, None)
BOTH = (RULE, SCRIPT)
