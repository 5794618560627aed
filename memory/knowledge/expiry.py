"""Expiry: which automatic checkpoints and conversations have grown old enough to leave the index, and when the clock is not to be
believed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from memory.core import clock
from memory.core.layout import SHARED
from memory.core.records import Record
from memory.hook import handoffs
from memory.store import activeplan

GAP = 400 * clock.DAY  # a clock that is further ahead of the records than this has jumped, or nobody worked for a year
AHEAD = clock.DAY  # records this far in the future: the clock went back
FEW, SHARE = 10, 20  # records, or one in so many, that may be dated wrongly without hiding a jump


def targets(records: Iterable[Record], successors: Mapping[str, str]) -> set[str]:
    """Return the targets of links, in lower case: ids, names, files, titles; of a merged record the one that it went to.

    successors: id of a merged record -> id of the one that was kept.
    """
    found = {link.target for record in records for link in record.links}
    return {word.lower() for target in found for word in (target, successors.get(target, target))}


def names(record: Record) -> set[str]:
    """Return the names by which a link may point at a record, in lower case."""
    file = record.name.rpartition("/")[2]
    return {word.lower() for word in (record.id, record.name, file, file[:-3], record.title)}


def old(records: Sequence[Record], now: float, days: Mapping[str, float]) -> list[Record]:
    """Return the automatic records that are older than some days, by name, whether anything holds them or not.

    now: seconds since the epoch.  days: by kind, those that grow old at all.  What stands in the shared tier was put there on
    purpose and stays.
    """
    return sorted((r for r in records if r.kind in days and r.source == "auto" and r.tier != SHARED
                   and now - changed(r) > days[r.kind] * clock.DAY), key=lambda r: r.name)


def changed(record: Record) -> float:
    """Return when a checkpoint was written, changed or brought in by an import, as its frontmatter says: seconds since the epoch.

    The time counts from then: a person has had what came by an import no longer than that.
    """
    said = record.meta.get("imported")
    imported = clock.parse(said) if isinstance(said, str) else None
    return max(record.created, record.updated if record.meta.get("updated") else 0.0, imported or 0.0)


def expired(found: Iterable[Record], records: Sequence[Record], linked: Container[str], kept: Container[str]) -> list[Record]:
    """Return the old records that nothing links to.

    found: what `old` returned.  records: all there are.  linked: what `targets` returned.  kept: ids that must stay.  A pinned
    one stays, a linked one, the handoff, and what tells of the sessions that worked on the active plan.
    """
    active = {plan.id for plan in activeplan.active(records)}
    serving = {_session(r) for r in records if r.kind == "checkpoint" and r.meta.get("plan") in active} - {""}
    return [r for r in found if not (r.pinned or r.name == handoffs.NAME or r.id in kept or r.meta.get("plan") in active
                                     or _session(r) in serving or any(name in linked for name in names(r)))]


def _session(record: Record) -> str:
    said = record.meta.get("session")
    return said if isinstance(said, str) else ""


def doubt(records: Iterable[Record], now: float) -> str:
    """Say why the clock is not to be believed, "" where it may be right.

    The newest records but a few decide, so that what was written while the clock was wrong hides nothing.
    """
    ordered = sorted(records, key=lambda record: record.created)
    if not ordered:
        return ""
    newest = ordered[-min(max(FEW, len(ordered) // SHARE), (len(ordered) + 1) // 2)].created
    if newest - now > AHEAD:
        return "the clock says %s, but many records are of %s and later" % (clock.day(now), clock.day(newest))
    if now - newest > GAP:
        return "the clock says %s, but nearly all records are of %s and before" % (clock.day(now), clock.day(newest))
    return ""
