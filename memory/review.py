"""Rules and scripts that wait for a person: their state, what keeps one from being approved, the mark of what was announced.

Schema, version 2, of `<cache>/<scope>.review`, one line of words between blanks, derived by the worker after a session's start:

    2 <1: the user has heard it, 0: not yet> <records of the shared tier> <its rules that wait> <its scripts> <8 hex of each ...>

The hex digits are of the content of the rules and scripts that were announced or are to be; one that is not among them is
announced.  The mark of an older version counts as none.
"""

from __future__ import annotations

import contextlib
import difflib
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple

from memory import files, frontmatter, paths, records, resources, running, terminal, trust
from memory.errors import StoreError
from memory.records import READ_LIMIT, Record
from memory.store import Store

MARK, MOST_MARKS, MARK_BYTES = "2", 500, 1 << 14
READ_ALIKE = ("id", "kind", "title", "tags", "links", "rationale", "body")  # what a hook shows or chooses a rule by


class Standing(NamedTuple):
    """A rule or script with its state (`approved`, `rejected`, `pending`; `gone` for a script that cannot be read), why it
    waits or is gone, and the SHA-256 of the content that is decided on."""

    record: Record
    state: str
    why: str
    checksum: str = ""


def standings(rules: Iterable[Record], place: paths.Place) -> List[Standing]:
    """Return the standing of rules, in their order."""
    decided = trust.decisions(place.home)
    return [standing(record, place, decided) for record in rules]


def standing(record: Record, place: paths.Place, decided: Dict[trust.Approval, str]) -> Standing:
    """Return the standing of one rule.  decided: what trust.decisions returned."""
    return _standing(record, trust.workspace_of(record.name, place.key), record.checksum, decided)


def _standing(record: Record, workspace: str, checksum: str, decided: Dict[trust.Approval, str]) -> Standing:
    decision = decided.get((workspace, record.id, checksum), "")
    if decision:
        return Standing(record, "approved" if decision == "approve" else "rejected", "", checksum)
    edited = trust.latest(decided, workspace, record.id)
    return Standing(record, "pending", "edited since approval" if edited else
                    "by others" if record.tier == paths.SHARED else "new", checksum)


def script_standings(found: Iterable[Record], place: paths.Place) -> List[Standing]:
    """Return the standing of the scripts among records, in their order: that of the bytes of each one's file."""
    decided, out = trust.decisions(place.home), []
    for record in found:
        if record.kind == "resource" and resources.type_of(record) == "script":
            try:
                source = resources.source_of(record, place)
            except StoreError as error:
                out.append(Standing(record, "gone", str(error)))
            else:
                out.append(_standing(record, trust.script_workspace(record.name, place.key), source.checksum, decided))
    return out


def script_hindrance(source: resources.Source) -> str:
    """Say what keeps a script from being approved and what mends it, or ""."""
    if len(source.data) > READ_LIMIT:
        return "it is larger than 1 MiB, which nobody reads; split it"
    try:
        running.program(source.data, source.runnable, {})
    except StoreError as error:
        return str(error)
    return ""


def hindrance(place: paths.Place, name: str, data: bytes) -> str:
    """Say what keeps a rule from being approved and what mends it, or "".

    name: its name in the index.  data: the bytes that were read of it.
    """
    path = place.path(name)
    root = dict(place.tiers())[name[:1]]
    if files.real(path) != files.real(root) + name[1:]:
        return "it is a link; replace it by the file itself"
    if len(data) > READ_LIMIT:
        return "it is larger than 1 MiB; shorten it"
    if frontmatter.undecodable(data):
        return "it is not UTF-8 text; save it as UTF-8"
    whole, lean = (records.from_bytes(name, data, 0.0, full) for full in (True, False))
    problems = [*whole.problems, *lean.problems]
    if problems:
        return problems[0]
    other = [key for key in READ_ALIKE if getattr(whole, key) != getattr(lean, key)]
    if other:
        return "its %s is read in two ways; write it on one line, in quotes" % other[0]
    return "" if whole.kind == "rule" else "it is a %s; set `kind: rule`" % whole.kind


def difference(before: bytes, after: bytes) -> List[str]:
    """Return the unified diff of two versions of a file, whatever hides in them made visible."""
    old, new = (terminal.visible(data.decode("utf-8", "replace")).split("\n") for data in (before, after))
    return list(difflib.unified_diff(old, new, "approved", "now", lineterm=""))


def note(place: paths.Place, settings: Any, now: float, announced: bool) -> None:
    """Write the mark of what is to be announced of the shared tier.

    now: seconds since the epoch, UTC.  announced: the user has just heard what the mark held, or what there was without one.
    Raises OSError.
    """
    if not files.is_folder(place.shared):
        return
    store, path = Store(place, settings, now), place.cache + "/" + place.scope + ".review"
    names = [name for name in store.names() if name[:1] == paths.SHARED]
    found = list(_decidable(store, names))
    both = [[one.checksum[:8] for one in each if one.state == "pending"] for each in (
        standings([record for record in found if record.kind == "rule"], place), script_standings(found, place))]
    waiting = [*both[0], *both[1]]
    try:
        words = files.read(path, MARK_BYTES).decode("ascii", "replace").split()
    except OSError:
        words = []
    words = words if words[:1] == [MARK] and len(words) > 4 else []
    said = announced or words[1:2] == ["1"]
    if words and said:
        said = set(words[5:]).issuperset(waiting)
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
