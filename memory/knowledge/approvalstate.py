"""Rules and scripts that wait for a person: their state, and what keeps one from being approved.

What was announced of the shared tier, and how it is kept: hook/announcements.py.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence

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
        waiting or being gone. checksum: SHA-256 of the content to decide on.
    """

    record: Record
    state: str
    why: str
    checksum: str = ""


def standings(rules: Iterable[Record], place: layout.Place) -> List[ApprovalState]:
    """Return the standing of rules, in their order."""
    decided, tracked = approvals.decisions(place.home), sharing.tracking(place)
    return [standing(record, place, decided, tracked) for record in rules]


def standing(
    record: Record,
    place: layout.Place,
    decided: Dict[approvals.Approval, str],
    tracked: Optional[Callable[[str], bool]] = None,
) -> ApprovalState:
    """Return the standing of one rule.

    decided: from approvals.decisions. tracked: from sharing.tracking.
    """
    key = approvals.workspace_of(record.name, place.key)
    found = _standing(record, key, record.checksum, decided, tracked or sharing.tracking(place))
    if record.unsure and found.state == "approved":
        return found._replace(state="pending", why=UNSURE % record.unsure[0])
    return found


def _standing(
    record: Record,
    workspace: str,
    checksum: str,
    decided: Dict[approvals.Approval, str],
    tracked: Callable[[str], bool],
) -> ApprovalState:
    decision = decided.get((workspace, record.id, checksum), "")
    if decision:
        return ApprovalState(
            record, "approved" if decision == "approve" else "rejected", "", checksum
        )
    edited = approvals.latest(decided, workspace, record.id)
    return ApprovalState(
        record,
        "pending",
        "edited since approval"
        if edited
        else "by others"
        if record.tier == layout.SHARED and tracked(record.name)
        else "new",
        checksum,
    )


def script_standings(found: Iterable[Record], place: layout.Place) -> List[ApprovalState]:
    """Return the standing of the scripts among records, in their order.

    It is decided by the bytes of each script's file.
    """
    decided, tracked, out = approvals.decisions(place.home), sharing.tracking(place), []
    for record in found:
        if record.kind == "resource" and material.type_of(record) == "script":
            try:
                source = material.source_of(record, place)
            except StoreError as error:
                out.append(ApprovalState(record, "gone", str(error)))
            else:
                key = approvals.script_workspace(record.name, place.key)
                out.append(_standing(record, key, source.checksum, decided, tracked))
    return out


def script_hindrance(source: material.Source) -> str:
    """Return the reason against approving a script with its remedy, or ""."""
    if len(source.data) > READ_LIMIT:
        return "it is larger than 1 MiB, too long to review; split it"
    try:
        scripts.program(source.data, source.runnable, {})
    except StoreError as error:
        return str(error)
    return ""


def hindrance(place: layout.Place, name: str, data: bytes) -> str:
    """Return the reason against approving a rule with its remedy, or "".

    name: its name in the index. data: its file's bytes.
    """
    path = place.path(name)
    root = dict(place.tiers())[name[:1]]
    if files.real_path(path) != files.real_path(root) + name[1:]:
        return "it is a link; replace it with the file itself"
    if len(data) > READ_LIMIT:
        return "it is larger than 1 MiB; shorten it"
    if frontmatter.undecodable(data):
        return "it is not UTF-8 text; save it as UTF-8"
    record = records.from_bytes(name, data, 0.0)
    if record.problems:
        return record.problems[0]
    if record.unsure:
        return UNSURE % record.unsure[0] + "; write its value on one line, in quotes"
    return "" if record.kind == "rule" else "it is a %s; set `kind: rule`" % record.kind


def note(place: layout.Place, settings: Any, now: float, announced: bool) -> None:
    """Remember announced shared records, and count waiting scripts.

    now: seconds since the epoch, UTC. announced: whether the user has just seen the new ones.
        Raises OSError.
    """
    if not files.is_folder(place.shared):
        return
    store = Store(place, settings, now)
    names = [name for name in store.names() if name[:1] == layout.SHARED]
    scripts = sum(one.state == "pending" for one in script_standings(_read(store, names), place))
    path, line = place.cache + "/" + place.scope + ".review", b"3 %d\n" % scripts
    try:
        changed = files.read(path, len(line) + 1) != line
    except OSError:
        changed = True
    if changed:
        files.replace(path, line)
    if announcements.may_have_changed(place):
        _remember(place, names, announced)


def _remember(place: layout.Place, names: Sequence[str], announced: bool) -> None:
    """Add shared records to the known ones."""
    known, here = announcements.known_digests(place), dict[str, str]()
    for name in names:
        with contextlib.suppress(OSError):
            here[name] = announcements.digest(
                files.read(place.path(name), announcements.RECORD_BYTES, follow=False)
            )
    tracked = {layout.SHARED + "/" + inner for inner, _ in announcements.shared_files(place)}
    if not announced and any(
        digest not in known for name, digest in here.items() if name in tracked
    ):
        return
    new = sorted(set(here.values()) - known)
    announcements.remember(place, new)
    if not new:
        files.posix.utime(announcements.seen_path(place))


def _read(store: Store, names: Iterable[str]) -> Iterator[Record]:
    for name in names:
        with contextlib.suppress(StoreError):
            yield store.read(name)
