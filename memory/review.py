"""Rules that wait for a person: their state, what keeps one from being approved, and the mark of what was announced.

Schema, version 1, of `<cache>/<scope>.review`, one line of words between blanks, derived by the worker after a session's start:

    1 <1: the user has heard it, 0: not yet> <records of the shared tier> <rules of it that wait> <8 hex of each ...>

The hex digits are of the content of the rules that were announced or are to be; one that is not among them is announced.
"""

from __future__ import annotations

import contextlib
import difflib
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple

from memory import files, frontmatter, paths, records, terminal, trust
from memory.errors import StoreError
from memory.records import READ_LIMIT, Record
from memory.store import Store

MOST_MARKS, MARK_BYTES = 500, 1 << 14
READ_ALIKE = ("id", "kind", "title", "tags", "links", "rationale", "body")  # what a hook shows or chooses a rule by


class Standing(NamedTuple):
    """A rule with its state (`approved`, `rejected`, `pending`) and, of a pending one, why it waits."""

    record: Record
    state: str
    why: str


def standings(rules: Iterable[Record], place: paths.Place) -> List[Standing]:
    """Return the standing of rules, in their order."""
    decided = trust.decisions(place.home)
    return [standing(record, place, decided) for record in rules]


def standing(record: Record, place: paths.Place, decided: Dict[trust.Approval, str]) -> Standing:
    """Return the standing of one rule.  decided: what trust.decisions returned."""
    workspace = trust.workspace_of(record.name, place.key)
    decision = decided.get((workspace, record.id, record.checksum), "")
    if decision:
        return Standing(record, "approved" if decision == "approve" else "rejected", "")
    edited = trust.latest(decided, workspace, record.id)
    return Standing(record, "pending", "edited since approval" if edited else
                    "by others" if record.tier == paths.SHARED else "new")


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
    waiting = [one.record.checksum[:8] for one in standings(_rules(store, names), place) if one.state == "pending"]
    try:
        words = files.read(path, MARK_BYTES).decode("ascii", "replace").split()
    except OSError:
        words = []
    said = announced or words[1:2] == ["1"]
    if words and said:
        said = set(words[4:]).issuperset(waiting)
    marks = list(dict.fromkeys([*waiting, *words[4:]]))[:MOST_MARKS]
    line = " ".join(["1", "1" if said else "0", str(len(names)), str(len(waiting)), *marks])
    if line.split() != words:
        files.replace(path, (line + "\n").encode("ascii"))


def _rules(store: Store, names: Iterable[str]) -> Iterator[Record]:
    for name in names:
        with contextlib.suppress(StoreError):
            record = store.read(name)
            if record.kind == "rule":
                yield record
