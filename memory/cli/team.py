"""The verbs share, unshare and shared: records of a team, in the repository."""

from __future__ import annotations

import getpass
from contextlib import suppress

from memory.core import StoreError, UsageError, approvals, layout
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.knowledge import approvalstate
from memory.project import sharing
from memory.store import safegit
from memory.store.reader import Unreadable
from memory.store.store import Store
from memory.terminal import reports
from memory.terminal.call import Call, unknown_word


def share(call: Call) -> int:
    """Move a record into the repository, unless it holds private things."""
    store = call.store()
    found = store.find(call.single_word("ID"))
    if found.tier == layout.SHARED:
        raise UsageError(
            "%s is shared already; `dayleaf record unshare %s` takes it back" % (found.id, found.id)
        )
    data, allow = store.raw(found.name), call.settings["redact.allow"]
    lines = [
        "  line %d: %s; %s" % (hindrance.line, one_line(hindrance.what), one_line(hindrance.remedy))
        for hindrance in sharing.find_hindrances(found, data, call.place, allow)
    ]
    if lines:
        if call.options.json:
            call.answer(
                {"id": found.id, "shared": False, "hindrances": [line.strip() for line in lines]},
                [],
            )
        else:
            print("\n".join(lines), flush=True)
        raise StoreError(
            "%s stays private and was not moved: mend what is listed above first" % found.id
        )
    found = _sign_rule(call, store, found)
    name = sharing.move_record(store, found, layout.SHARED)
    notes = _list_link_warnings(store, found)
    notes += ["  " + one_line(doubt) for doubt in sharing.question_temporary_paths(data)]
    return _report_move(call, found, name, notes + _list_hints(call))


def _sign_rule(call: Call, store: Store, found: Record) -> Record:
    """Replace "you" in a rule by its author's name; an approval stays."""
    if found.meta.get("suggested_by") != "you":
        return found
    asked = safegit.read(call.place.root, call.env, "config", "user.name")
    who = one_line(asked.out.decode("utf-8", "replace"), 60) or getpass.getuser()
    approved = approvalstate.list_rule_states([found], call.place)[0].state == "approved"
    rationale = found.rationale.replace("You said", who + " said", 1)
    found = store.edit(found.name, {"suggested_by": who, "rationale": rationale})
    if approved:
        data, user = store.raw(found.name), getpass.getuser()
        workspace = approvals.approval_workspace(found.name, call.place.key)
        approvals.approve(call.place.home, workspace, found.id, data, user, call.now)
    return found


def unshare(call: Call) -> int:
    """Move a record from the repository into the private tier."""
    store = call.store()
    found = store.find(call.single_word("ID"))
    if found.tier != layout.SHARED:
        raise UsageError("%s is not shared" % found.id)
    committed = sharing.make_tracked_test(call.place)(found.name)
    name = sharing.move_record(store, found, layout.PRIVATE)
    note = ["  the others have it until you commit its removal; git's history keeps it"]
    return _report_move(call, found, name, note if committed else [])


def _report_move(call: Call, found: Record, name: str, notes: list[str]) -> int:
    call.changed.append(found.name)
    call.indexed()
    path, done = call.place.path(name), "shared" if name[:1] == layout.SHARED else "private again:"
    value = {
        "id": found.id,
        "from": found.name,
        "to": name,
        "path": path,
        "notes": [note.strip() for note in notes],
    }
    head = "%s %s  %s" % (done, found.id, one_line(found.title))
    return call.answer(value, [head, "  " + path, *notes])


def _list_link_warnings(store: Store, found: Record) -> list[str]:
    out = []
    for link in found.links:
        with suppress(StoreError):
            if store.find(link.target).tier != layout.SHARED:
                out.append("  others cannot follow its link to %s" % one_line(link.target, 80))
    return out


def _list_hints(call: Call) -> list[str]:
    """List what to do so that others get the record."""
    note = "  commit it, so that others can pull it: `git add .dayleaf && git commit`"
    ignored = ("check-ignore", "-q", "--", call.place.shared + "/x.md")
    if call.place.git and safegit.read(call.place.root, call.env, *ignored).rc == 0:
        note = "  git ignores .dayleaf here, so nobody will get it: remove the line from .gitignore"
    has_hook, way = sharing.find_commit_hook(call.place)
    shared = sum(name[:1] == layout.SHARED for name in call.store().names())
    if has_hook or not way or shared > 1:
        return [note]
    return [note, "  to check for secrets before each commit: " + way]


def shared(call: Call) -> int:
    """Report the shared records: authors, news and merge conflicts."""
    if call.words not in ([], ["status"]):
        raise unknown_word("shared", call.words[0], ["status"])
    store = call.store()
    with call.spinner("asking git"):
        found = sharing.read_status(store, call.env)
    skipped = [file for file in store.skipped if file.name[:1] == layout.SHARED]
    titles: dict[str, tuple[str, str]] = {}
    names: dict[str, str] = {}
    for shared_record in found.records:
        try:
            record = store.read(shared_record.name)
        except Unreadable as error:
            skipped.append(error.skipped)
            continue
        titles[shared_record.name] = record.id, record.title
        other = names.setdefault(record.id, shared_record.name)
        if other != shared_record.name:
            message = "%s has the same id (%s): keep one, or give one another id"
            found.conflicts.append((shared_record.name, message % (other, record.id)))
    value = {
        "records": [
            {**shared_record._asdict(), "id": titles.get(shared_record.name, ("", ""))[0]}
            for shared_record in found.records
        ],
        "conflicts": [list(row) for row in found.conflicts],
        "ahead": found.ahead,
        "behind": found.behind,
        "since": found.since,
        "removed": [gone._asdict() for gone in found.removed],
        "unreadable": [list(file) for file in skipped],
    }
    return call.answer(value, reports.team_lines(found, titles, skipped))
