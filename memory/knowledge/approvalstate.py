"""Rules and scripts that wait for a person: their state, what keeps one from being approved, the mark of what was announced.

Schema, version 2, of `<cache>/<scope>.review`, one line of words between blanks, derived by the worker after a session's start:

    2 <1: the user has heard it, 0: not yet> <records> <rules that wait> <scripts that wait> <8 hex of each ...>

Of records those by others count, till the user has heard of them, then all.  The hex digits are of the content of the rules and
scripts that were announced or are to be; one that is not among them is announced.  The mark of an older version counts as none.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional

from memory.core import StoreError, approvals, files, frontmatter, layout, records
from memory.core.records import READ_LIMIT, Record
from memory.knowledge import scripts
from memory.project import material, sharing
from memory.store.store import Store

UNSURE = "line %d can be read in two ways"
MARK, MOST_MARKS, MARK_BYTES = "2", 500, 1 << 14


class Standing(NamedTuple):
    """A rule or script with its state (`approved`, `rejected`, `pending`; `gone` for a script that cannot be read), why it
    waits or is gone, and the SHA-256 of the content that is decided on."""

    record: Record
    state: str
    why: str
    checksum: str = ""


def standings(rules: Iterable[Record], place: layout.Place) -> List[Standing]:
    """Return the standing of rules, in their order."""
    decided, tracked = approvals.decisions(place.home), sharing.tracking(place)
    return [standing(record, place, decided, tracked) for record in rules]


def standing(record: Record, place: layout.Place, decided: Dict[approvals.Approval, str],
             tracked: Optional[Callable[[str], bool]] = None) -> Standing:
    """Return the standing of one rule.  decided: what approvals.decisions returned.  tracked: what sharing.tracking did."""
    key = approvals.workspace_of(record.name, place.key)
    found = _standing(record, key, record.checksum, decided, tracked or sharing.tracking(place))
    if record.unsure and found.state == "approved":
        return found._replace(state="pending", why=UNSURE % record.unsure[0])
    return found


def _standing(record: Record, workspace: str, checksum: str, decided: Dict[approvals.Approval, str],
              tracked: Callable[[str], bool]) -> Standing:
    decision = decided.get((workspace, record.id, checksum), "")
    if decision:
        return Standing(record, "approved" if decision == "approve" else "rejected", "", checksum)
    edited = approvals.latest(decided, workspace, record.id)
    return Standing(record, "pending", "edited since approval" if edited else
                    "by others" if record.tier == layout.SHARED and tracked(record.name) else "new", checksum)


def script_standings(found: Iterable[Record], place: layout.Place) -> List[Standing]:
    """Return the standing of the scripts among records, in their order: that of the bytes of each one's file."""
    decided, tracked, out = approvals.decisions(place.home), sharing.tracking(place), []
    for record in found:
        if record.kind == "resource" and material.type_of(record) == "script":
            try:
                source = material.source_of(record, place)
            except StoreError as error:
                out.append(Standing(record, "gone", str(error)))
            else:
                key = approvals.script_workspace(record.name, place.key)
                out.append(_standing(record, key, source.checksum, decided, tracked))
    return out


def script_hindrance(source: material.Source) -> str:
    """Say what keeps a script from being approved and what mends it, or ""."""
    if len(source.data) > READ_LIMIT:
        return "it is larger than 1 MiB, too long to review; split it"
    try:
        scripts.program(source.data, source.runnable, {})
    except StoreError as error:
        return str(error)
    return ""


def hindrance(place: layout.Place, name: str, data: bytes) -> str:
    """Say what keeps a rule from being approved and what mends it, or "".

    name: its name in the index.  data: the bytes that were read of it.
    """
    path = place.path(name)
    root = dict(place.tiers())[name[:1]]
    if files.real(path) != files.real(root) + name[1:]:
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


def note(place: layout.Place, settings: Any, now: float, announced: bool, env: Mapping[str, str]) -> None:
    """Write the mark that says which rules and scripts of the shared tier are still to be announced.

    now: seconds since the epoch, UTC.  announced: the user has just heard what the mark held, or what there was without one.
    env: for git, which is asked whose records these are where there is something to announce.  Raises OSError.
    """
    if not files.is_folder(place.shared):
        return
    store, path = Store(place, settings, now), place.cache + "/" + place.scope + ".review"
    names = [name for name in store.names() if name[:1] == layout.SHARED]
    found = list(_decidable(store, names))
    both = [[one.checksum[:8] for one in each if one.state == "pending"] for each in (
        standings([record for record in found if record.kind == "rule"], place), script_standings(found, place))]
    waiting = [*both[0], *both[1]]
    try:
        words = files.read(path, MARK_BYTES).decode("ascii", "replace").split()
    except OSError:
        words = []
    words = words if words[:1] == [MARK] and len(words) > 4 and "".join(words[:5]).isdigit() else []
    said = announced or words[1:2] == ["1"]
    if words and said:
        said = set(words[5:]).issuperset(waiting)
    if not said:
        names = sharing.others(place, names, env)
    marks = list(dict.fromkeys([*waiting, *words[5:]]))[:MOST_MARKS]
    line = " ".join([MARK, "1" if said else "0", str(len(names)), *(str(len(each)) for each in both), *marks])
    if line.split() != words:
        files.replace(path, (line + "\n").encode("ascii"))


def _decidable(store: Store, names: Iterable[str]) -> Iterator[Record]:
    for name in names:
        with contextlib.suppress(StoreError):
            record = store.read(name)
            if record.kind in ("rule", "resource"):
                yield record
