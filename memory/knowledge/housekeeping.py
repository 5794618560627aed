"""Upkeep: what would be merged and what would go to the archive, the doing of it, and the way back.

A plan is made anew before anything is done, under a lock of the home. Each step is written to the
journal first and rests on the bytes that were planned with; a record that changed meanwhile is left
alone. A process that dies anywhere leaves every record in the store or in its archive, and the next
apply, or an undo, goes on from there.

Uses and outcomes stay with the id that they were made under (`ledger.add_to_successors`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from memory.core import (
    DayleafError,
    StoreError,
    clock,
    files,
    frontmatter,
    layout,
    plaintext,
    records,
)
from memory.core.layout import SHARED
from memory.core.records import Link, Record
from memory.hook import handoffs
from memory.store import activeplan, archive, conversations, journal, redactor
from memory.store.journal import JournalStep
from memory.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.index.kept import FactCache, Head

WORTH = 10  # changes from which a run is suggested
LOOK = "`dayleaf store upkeep` shows it"
# a clock that is further ahead of the records than this has jumped, or nobody worked for a year
GAP = 400 * clock.DAY
AHEAD = clock.DAY  # records this far in the future: the clock went back
FEW, SHARE = 10, 20  # records, or one in so many, that may be dated wrongly without hiding a jump
Progress = Callable[[int, int], None]


class Change(NamedTuple):
    """A record for the archive, and the record kept in its place, if any."""

    record: Record
    reason: str
    kept: Record | None = None


class UpkeepPlan(NamedTuple):
    """The changes that upkeep would make.

    records: number of all records. doubt: why expiry was left out, or "".
    """

    changes: Sequence[Change]
    records: int
    doubt: str

    @property
    def merged(self) -> int:
        return sum(change.kept is not None for change in self.changes)

    @property
    def archived(self) -> int:
        return len(self.changes) - self.merged


class UpkeepResult(NamedTuple):
    """The changes made by upkeep, and a line for each failed change."""

    plan: UpkeepPlan
    changes: Sequence[Change]
    problems: Sequence[str]


class UndoResult(NamedTuple):
    """The result of an undo.

    began: when the undone run began (ISO 8601). restored, reset: ids. problems: a line for each
    failed step.
    """

    began: str
    restored: Sequence[str]
    reset: Sequence[str]
    problems: Sequence[str]


def plan_upkeep(
    store: Store, successes: Mapping[str, int], clock_is_right: bool = False
) -> UpkeepPlan:
    """Plan which records to merge and which to archive.

    successes: by id, how often a record helped, merged records counted for their successors.
    clock_is_right: expire even where the clock and the dates of the records are far apart.
    """
    found = list(store.each())
    doubt = "" if clock_is_right else find_clock_doubt(store.place, found, store.now)
    old = [] if doubt else _find_expired(store, found)
    gone = {record.name for record in old}
    rest = [record for record in found if record.name not in gone]
    expired = []
    for record in old:
        days = (store.now - find_last_change(record)) / clock.DAY
        expired.append(Change(record, "automatic, %d days old" % days))
    return UpkeepPlan([*expired, *plan_merges(store, rest, successes)], len(found), doubt)


def plan_merges(
    store: Store,
    found: Sequence[Record],
    successes: Mapping[str, int],
    kept: FactCache | None = None,
) -> list[Change]:
    # late: status and doctor mostly find the answer cached
    from memory.knowledge import duplicates

    untouchable = _find_untouchable_ids(store)
    mergeable = [record for record in found if record.id not in untouchable]
    twins = duplicates.find_duplicates(
        mergeable, successes, _find_bound_ids(found, store.successors()), kept
    )
    return [Change(other, "says the same", twin) for twin, other in twins]


def _find_untouchable_ids(store: Store) -> set[str]:
    """Return ids that two files have, or whose record a person restored."""
    restored = (archive.restored_ids(root) for root in store.roots.values())
    return set(store.duplicates).union(*restored)


def _find_outdated(store: Store, found: Sequence[Record]) -> list[Record]:
    """Return automatic records older than the settings allow for their kind."""
    talks = float(store.config["upkeep.conversationDays"]) or float("inf")
    days = {
        "checkpoint": float(store.config["upkeep.expireDays"]),
        **dict.fromkeys(layout.TRANSCRIBED_KINDS, talks),
    }
    return [
        record
        for record in found
        if record.kind in days
        and record.meta.get("source") == "auto"  # which dayleaf's own files say
        and record.tier != SHARED
        and store.now - find_last_change(record) > days[record.kind] * clock.DAY
    ]


def _find_expired(store: Store, found: Sequence[Record]) -> list[Record]:
    """Return the checkpoints and conversations that expire, sorted by name.

    Pinned or linked ones stay, handoffs, those of the active plan's sessions, and those rewritten
    by a person.  Links count from the archive too, so that a second run finds nothing more.
    Records of the shared tier were put there on purpose and stay.
    """
    old = _find_outdated(store, found)
    if not old:
        return []
    kinds = ("checkpoint", *layout.TRANSCRIBED_KINDS)
    archived = (record for kind in kinds for record in store.archived(kind))
    linked = _find_link_targets([*found, *archived], store.successors())
    active = {plan.id for plan in activeplan.list_active(found)}
    serving = {
        records.meta_text(record, "session")
        for record in found
        if record.kind == "checkpoint" and record.meta.get("plan") in active
    } - {""}
    stay = _find_untouchable_ids(store).union(
        one.id for one in conversations.find_edited(store, old)
    )
    held = (handoffs.NAME, *handoffs.WAITING)
    return sorted(
        (
            record
            for record in old
            if not (
                record.pinned
                or record.name in held
                or record.id in stay
                or record.meta.get("plan") in active
                or records.meta_text(record, "session") in serving
                or not linked.isdisjoint(_list_link_names(record))
            )
        ),
        key=lambda record: record.name,
    )


def _find_bound_ids(found: Sequence[Record], successors: Mapping[str, str]) -> set[str]:
    """Return the ids of records whose merge would break a link."""
    ruled = _find_link_targets([record for record in found if record.kind == "rule"], successors)
    named = _find_link_targets(found, successors)
    return {
        one.id
        for one in found
        if one.id.lower() in ruled or named & (_list_link_names(one) - {one.id.lower()})
    }


def _merge_links(kept: Record, other: Record) -> list[dict[str, str]]:
    """Return the frontmatter's links after a merge, [] for no change."""
    more = [link for link in other.links if link not in kept.links and link.target != kept.id]
    if not more:
        return []
    inline = {Link("related_to", target) for target in records.find_wiki_links(kept.body)}
    stated = [link for link in kept.links if link not in inline]
    return [{"relation": link.relation, "target": link.target} for link in (*stated, *more)]


def merge_frontmatter(kept: Record, other: Record) -> dict[str, Any]:
    """Return the kept record's frontmatter keys that a merge changes."""
    changes: dict[str, Any] = {}
    for key in ("tags", "topics", "versions"):
        mine, theirs = getattr(kept, key), getattr(other, key)
        if set(theirs) - set(mine):
            changes[key] = list(dict.fromkeys((*mine, *theirs)))
    links = _merge_links(kept, other)
    if links:
        changes["links"] = links
    if other.pinned and not kept.pinned:
        changes["pinned"] = True
    # the file's time is about to change
    if other.updated > kept.updated or (changes and not kept.meta.get("updated")):
        changes["updated"] = clock.iso(max(kept.updated, other.updated))
    return changes


# ---- doing it


@contextmanager
def _hold_lock(store: Store) -> Iterator[None]:
    """Hold upkeep's lock; raise StoreError while another process does."""
    with files.Lock(store.place.home + "/cache/upkeep.lock") as held:
        if not held:
            raise StoreError("another upkeep is running; run this again when it has finished")
        yield


def apply(
    store: Store,
    successes: Mapping[str, int],
    clock_is_right: bool = False,
    progress: Progress = lambda done, of: None,
) -> UpkeepResult:
    """Plan the upkeep and carry it out.

    progress: called with (changes done, changes). Raises StoreError where another process is at it,
    or the journal is of a newer version.
    """
    with _hold_lock(store):
        found = plan_upkeep(store, successes, clock_is_right=clock_is_right)
        if not found.changes:
            cut = journal.find_interrupted_run(store.place)
            if cut:
                journal.log_state(store.place, cut, "done", store.now)
            return UpkeepResult(found, (), ())
        run = journal.begin(store.place, store.now)
        done: list[Change] = []
        problems: list[str] = []
        ours: dict[str, str] = {}  # name of a kept record -> its checksum since this run changed it
        for number, change in enumerate(found.changes):
            progress(number, len(found.changes))
            try:
                _apply_change(store, run, change, ours)
                done.append(change)
            except DayleafError as error:
                problems.append("%s stays: %s" % (change.record.id, error))
        journal.log_state(store.place, run, "done", store.now)
        return UpkeepResult(found, done, problems)


def _apply_change(store: Store, run: str, change: Change, ours: dict[str, str]) -> None:
    record, kept, into = change.record, change.kept, ""
    if kept is not None:
        into = kept.id
        _merge_into_kept(store, run, kept, record, ours)
    _read_unchanged(store, record.name, record.checksum)
    step = JournalStep("archive", record.id, record.name, into)
    journal.log_step(store.place, run, step, store.now)
    store.archive(record.name, "merged into " + into if into else "expired", into, record.checksum)


def _read_unchanged(store: Store, name: str, checksum: str) -> Record:
    present = store.read(name)
    if present.checksum != checksum:
        raise StoreError("%s has changed meanwhile; the next upkeep looks at it again" % name)
    return present


def _merge_into_kept(
    store: Store, run: str, kept: Record, other: Record, ours: dict[str, str]
) -> None:
    """Merge a record's frontmatter into the kept record.

    ours: the checksum of each record that this run has changed.
    """
    present = _read_unchanged(store, kept.name, ours.get(kept.name, kept.checksum))
    changes = redactor.clean(merge_frontmatter(present, other), store.config, store.place.key)
    if not changes:
        return
    before = store.raw(kept.name)
    data = frontmatter.edit(before, changes, kept.name)
    saved = journal.save_bytes(store.place, before)
    step = JournalStep("change", kept.id, kept.name, "", saved, files.sha256(data))
    journal.log_step(store.place, run, step, store.now)
    ours[kept.name] = store.replace(kept.name, data, step.before).checksum


# ---- the way back


def undo(store: Store, progress: Progress = lambda done, of: None) -> UndoResult | None:
    """Undo the newest upkeep not yet undone; None without one.

    Raises StoreError as `apply` does.
    """
    with _hold_lock(store):
        run = journal.find_last_run(store.place)
        if run is None:
            return None
        restored: list[str] = []
        reset: list[str] = []
        problems: list[str] = []
        away = store.away()
        for number, step in enumerate(reversed(run.steps)):
            progress(number, len(run.steps))
            try:
                if step.do == "archive" and _restore_record(store, step, away):
                    restored.append(step.id)
                elif step.do == "change" and _restore_bytes(store, step):
                    reset.append(step.id)
            except DayleafError as error:
                problems.append("%s: %s" % (step.id, error))
        journal.log_state(store.place, run.run, "undone", store.now)
        return UndoResult(run.began, restored, list(dict.fromkeys(reset)), problems)


def _restore_record(
    store: Store, step: JournalStep, away: dict[str, tuple[str, archive.Move]]
) -> bool:
    """Restore an archived record; return False if already restored."""
    letter, move = away.get(step.id, ("", None))  # step.name: `<letter>/<path>`
    if move is not None and letter == step.name[0] and move.home == step.name[2:]:
        store.bring_back(letter, move, "undone")
        del away[step.id]
        return True
    store.read(step.name)  # says what is missing
    return False


def _restore_bytes(store: Store, step: JournalStep) -> bool:
    """Restore a kept record's old bytes; return False if unchanged."""
    present = files.sha256(store.raw(step.name))
    if present == step.before:
        return False
    before = journal.read_saved_bytes(store.place, step.before)
    if present != step.after or before is None:
        raise StoreError(
            "%s was %s; remove what the merge added with `dayleaf record edit %s`"
            % (
                step.name,
                "edited since" if before is not None else "changed, and its old text is gone",
                step.id,
            )
        )
    store.replace(step.name, before, present)
    return True


# ---- for a person


def summarise_plan(plan: UpkeepPlan) -> str:
    """Return a plan in a few words, "" if it is small."""
    if len(plan.changes) < WORTH:
        return ""
    return "would merge %d and archive %d of %s" % (
        plan.merged,
        plan.archived,
        plaintext.format_count(plan.records, "record"),
    )


def plan_to_json(plan: UpkeepPlan) -> dict[str, Any]:
    return {
        "records": plan.records,
        "after": plan.records - len(plan.changes),
        "merged": plan.merged,
        "archived": plan.archived,
        "doubt": plan.doubt,
        "changes": [change_to_json(change) for change in plan.changes],
    }


def change_to_json(change: Change) -> dict[str, Any]:
    kept = change.kept
    return {
        "do": "merge" if kept else "archive",
        "id": change.record.id,
        "title": change.record.title,
        "kind": change.record.kind,
        "tier": layout.TIER_NAMES[change.record.tier],
        "name": change.record.name,
        "reason": change.reason,
        "into": kept.id if kept else None,
        "intoTitle": kept.title if kept else None,
    }


def format_counts(records: int, merged: int, archived: int) -> str:
    """Return `150 → 108 records (30 merged, 12 to the archive)`."""
    counts = ((merged, "%d merged"), (archived, "%d to the archive"))
    parts = ", ".join(form % number for number, form in counts if number) or "nothing to do"
    return "%d → %d records (%s)" % (records, records - merged - archived, parts)


# --- what expires


def _find_link_targets(found: Iterable[Record], successors: Mapping[str, str]) -> set[str]:
    """Return the lower-case targets of records' links.

    Ids, names, files, titles; of a merged record also its successor.
    """
    linked = {link.target for record in found for link in record.links}
    return {word.lower() for target in linked for word in (target, successors.get(target, target))}


def _list_link_names(record: Record) -> set[str]:
    """Return the lower-case names by which links find a record."""
    file = record.name.rpartition("/")[2]
    return {word.lower() for word in (record.id, record.name, file, file[:-3], record.title)}


def find_last_change(record: Record) -> float:
    """Return when a record was last written, changed or imported.

    By its frontmatter: a person has had an imported record no longer than that.
    """
    imported = clock.parse(records.meta_text(record, "imported")) or 0.0
    return max(record.created, record.updated if record.meta.get("updated") else 0.0, imported)


def find_clock_doubt(place: layout.Place, found: Sequence[Record | Head], now: float) -> str:
    """Return why the clock seems wrong, or "".

    An old note imported today was written today, and a note dated tomorrow but written today is no
    sign either, nor a file's time alone: a copy keeps it, but not when the file changed here. The
    newest but a few decide, so that records written under a wrong clock hide nothing.
    """
    if not found:
        return ""
    dates = [(record.created, record.updated, *_read_times(place, record.name)) for record in found]
    # a date that is the file's own time stands in no head
    stated = [
        min(created, max(updated, written)) if abs(created - written) > 1e-4 else 0.0
        for created, updated, written, _ in dates
    ]
    newest_but_few = -min(max(FEW, len(dates) // SHARE), (len(dates) + 1) // 2)
    last_stated, last = sorted(stated)[newest_but_few], sorted(map(max, dates))[newest_but_few]
    doubt = "the clock says %s, but %s records were written on %s or %s"
    if last_stated - now > AHEAD:
        return doubt % (clock.day(now), "the newest", clock.day(last_stated), "later")
    if now - last > GAP:
        return doubt % (clock.day(now), "nearly all", clock.day(last), "earlier")
    return ""


def is_recorded_ahead(one: Record | Head, now: float) -> bool:
    """Tell whether a record of work is dated more than a day ahead."""
    return one.kind in ("checkpoint", "conversation") and one.created - now > AHEAD


def _read_times(place: layout.Place, name: str) -> tuple[float, float]:
    """Return a file's mtime and ctime."""
    try:
        found = os.stat(place.path(name))
        return found.st_mtime, found.st_ctime
    except OSError:
        return 0.0, 0.0
