"""Rules and scripts that wait for a person: their state, and what keeps one from being approved.

What was announced of the shared tier, and how it is kept: hook/announcements.py.
"""

from __future__ import annotations

import contextlib
from typing import Callable, Iterable, NamedTuple, Sequence

from memory.core import StoreError, approvals, files, frontmatter, layout, records
from memory.core.records import READ_LIMIT, Record
from memory.hook import announcements
from memory.knowledge import scripts
from memory.project import material, sharing
from memory.store.store import Store

UNSURE = "line %d can be read in two ways"


class ApprovalState(NamedTuple):
    """A rule or script with its state.

    state: `approved`, `rejected`, `pending`; `gone` for an unreadable script. why: the reason for
    waiting or being gone. checksum: of the content to decide on.
    """

    record: Record
    state: str
    why: str
    checksum: str = ""


def list_rule_states(rules: Iterable[Record], place: layout.Place) -> list[ApprovalState]:
    decided, tracked = approvals.read_decisions(place.home), sharing.make_tracked_test(place)
    out = []
    for record in rules:
        workspace = approvals.approval_workspace(record.name, place.key)
        found = _find_state(record, workspace, record.checksum, decided, tracked)
        if record.unsure and found.state == "approved":
            found = found._replace(state="pending", why=UNSURE % record.unsure[0])
        out.append(found)
    return out


def _find_state(
    record: Record,
    workspace: str,
    checksum: str,
    decided: dict[approvals.Approval, str],
    tracked: Callable[[str], bool],
) -> ApprovalState:
    decision = decided.get((workspace, record.id, checksum), "")
    if decision:
        state = "approved" if decision == "approve" else "rejected"
        return ApprovalState(record, state, "", checksum)
    why = "new"
    if approvals.find_last_approved(decided, workspace, record.id):
        why = "edited since approval"
    elif record.tier == layout.SHARED and tracked(record.name):
        why = "by others"
    return ApprovalState(record, "pending", why, checksum)


def list_script_states(found: Iterable[Record], place: layout.Place) -> list[ApprovalState]:
    """Return the approval state of each script's present bytes."""
    decided, tracked = approvals.read_decisions(place.home), sharing.make_tracked_test(place)
    out = []
    for record in found:
        if record.kind != "resource" or material.resource_type(record) != "script":
            continue
        try:
            checksum = material.read_source(record, place).checksum
        except StoreError as error:
            out.append(ApprovalState(record, "gone", str(error)))
            continue
        key = approvals.script_workspace(record.name, place.key)
        out.append(_find_state(record, key, checksum, decided, tracked))
    return out


def find_script_obstacle(source: material.Source) -> str:
    """Return why a script cannot be approved, with the remedy, or ""."""
    if len(source.data) > READ_LIMIT:
        return "it is larger than 1 MiB, too long to review; split it"
    try:
        scripts.find_interpreter(source.data, source.runnable, {})
    except StoreError as error:
        return str(error)
    return ""


def find_rule_obstacle(place: layout.Place, name: str, data: bytes) -> str:
    """Return why a rule cannot be approved, with the remedy, or "".

    name: in the index, such as `p/rules/x.md`. data: its file's bytes.
    """
    path = place.path(name)
    root = dict(place.tiers())[name[:1]]
    if files.real_path(path) != files.real_path(root) + name[1:]:
        return "it is a link; replace it with the file itself"
    if len(data) > READ_LIMIT:
        return "it is larger than 1 MiB; shorten it"
    if frontmatter.is_binary(data):
        return "it is not UTF-8 text; save it as UTF-8"
    record = records.from_bytes(name, data, 0.0)
    if record.problems:
        return record.problems[0]
    if record.unsure:
        return UNSURE % record.unsure[0] + "; write its value on one line, in quotes"
    return "" if record.kind == "rule" else "it is a %s; set `kind: rule`" % record.kind


def remember_announced(store: Store, announced: bool) -> None:
    """Note which shared records were announced, and how many scripts wait.

    announced: whether the user has just seen the new ones.
    """
    place = store.place
    if not files.is_folder(place.shared):
        return
    names = [name for name in store.names() if name[:1] == layout.SHARED]
    states = list_script_states(store.each_by(store.read, names), place)
    waiting = sum(script.state == "pending" for script in states)
    files.replace_if_changed("%s/%s.review" % (place.cache, place.scope), b"3 %d\n" % waiting)
    if announcements.may_have_changed(place):
        _remember_shared(place, names, announced)


def _remember_shared(place: layout.Place, names: Sequence[str], announced: bool) -> None:
    """Remember the shared records' contents, unless a new one was not announced."""
    known, digests = announcements.read_known_digests(place), dict[str, str]()
    for name in names:
        with contextlib.suppress(OSError):
            digests[name] = announcements.hash_content(
                files.read(place.path(name), announcements.RECORD_BYTES, follow=False)
            )
    shared = {layout.SHARED + "/" + inner for inner, _ in announcements.list_shared_records(place)}
    is_new = any(name in shared and digest not in known for name, digest in digests.items())
    if is_new and not announced:
        return
    new = sorted(set(digests.values()) - known)
    announcements.add_known_digests(place, new)
    if not new:
        files.posix.utime(announcements.seen_path(place))
