"""Find workspaces and records by the names that people type, here or in a database."""

from __future__ import annotations

from contextlib import closing, suppress

from memory.core import IndexFault, StoreError, UsageError, files, layout
from memory.core.config import Config
from memory.core.layout import Place
from memory.core.records import Record
from memory.doors import registry
from memory.hook import indexview
from memory.project import otherfiles
from memory.recall.hit import Hit
from memory.recall.shelf import Shelf
from memory.store import archive, ledger, reader
from memory.store.store import READ_ONLY, Store

LOCAL_ALONE = "%s; only this machine was searched"


def _list_workspace_keys(home: str) -> list[str]:
    try:
        return sorted(
            e.name
            for e in files.posix.scandir(home + "/workspaces")
            if e.is_dir() and e.name[0] != "."
        )
    except OSError:
        return []


def find_workspaces(place: Place, name: str, every: bool = True) -> list[Place]:
    """Find the places named by `--workspace`.

    name: "" for the present one, `all`, or a name with or without its 8 hex digits. A workspace
        that a directory claims without a proof is left out. every: `all` may be named. Raises
        UsageError for an unknown name.
    """
    if name in ("", place.key):
        return [place]
    keys = [key for key in _list_workspace_keys(place.home) if key != place.claimed]
    others = [Place(place.home, key, "", "", "", "") for key in keys if key != place.key]
    if name == "all" and every:
        return [place, *others]
    found = [p for p in [place, *others] if name in (p.key, layout.project_name(p.key))]
    if not found:
        near = ", ".join(keys[:5]) or "none yet"
        more = ", or `all`" if every else ""
        raise UsageError("no workspace '%s'; use one of %s%s" % (name[:60], near, more))
    return found


def find_searched_places(
    place: Place, settings: Config, name: str, notes: list[str]
) -> list[Place]:
    """Find the places that `--workspace` asks for, added tiers included.

    The present workspace brings its added tiers; one of these may be named alone. A note names a
    tier that cannot be read. Raises UsageError as `find_workspaces` does.
    """
    tiers = otherfiles.list_added_tiers(place, settings)
    named = [tier for tier in tiers if name == tier.key]
    found: list[Place] = [] if named else find_workspaces(place, name)
    for tier in named or (tiers if place in found else []):
        if tier.fault and named:
            raise UsageError("%s: %s; `dayleaf store tier list`" % (tier.top, tier.fault))
        if tier.fault:
            notes.append(
                "%s: %s, so this tier was not searched; see `dayleaf store tier list`"
                % (tier.top, tier.fault)
            )
        else:
            found.append(tier)
    return found


def find_places_and_shelves(
    place: Place, settings: Config, name: str, dsn: str, notes: list[str]
) -> tuple[list[Place], list[Shelf]]:
    """Return (places to search here, opened workspaces of a database).

    A note is added where the database does not answer. Raises UsageError for an unknown name.
    """
    if not dsn:
        return find_searched_places(place, settings, name, notes), []
    found: tuple[list[Place], list[Shelf]] = registry.offer("postgres", "shelves")(
        place, settings, name, dsn, notes
    )
    return found


def find_record(place: Place, settings: Config, text_: str) -> Record:
    """Find a record by id, start of an id, or name.

    Raises StoreError, which names similar ids.
    """
    store, id = Store(place, settings, 0.0), text_.strip()
    with (
        suppress(IndexFault, StoreError),
        closing(indexview.open_index(place, watch=False)) as found,
    ):
        doc = found.by_id(id)
        record = store.read(doc.name) if doc is not None else None
        if record is not None and record.id == id:
            return record
    return store.find(text_)


def find_writable(place: Place, settings: Config, text_: str) -> Record:
    """Find a record of a writable tier; raises StoreError for other tiers."""
    try:
        return find_record(place, settings, text_)
    except StoreError:
        found = _find_in_added_tiers(place, settings, text_)
        if found is None:
            raise
    record, tier = found
    raise StoreError("%s: %s" % (record.id, READ_ONLY % tier.path(record.name)))


def _find_in_added_tiers(place: Place, settings: Config, text_: str) -> tuple[Record, Place] | None:
    for tier in otherfiles.list_added_tiers(place, settings):
        with suppress(StoreError):
            return find_record(tier, settings, text_), tier
    return None


def credit_successors(place: Place, fold: ledger.Tally) -> ledger.Tally:
    """Return a tally with the uses of merged records added to their successors."""
    merged = archive.successors_in_place(place)
    moved = [id for id in fold.rows if id in merged]
    if not moved:
        return fold
    try:
        with closing(indexview.open_index(place)) as found:
            standing = {id for id in moved if found.by_id(id) is not None}
    except IndexFault:
        standing = set()
    return ledger.add_to_successors(fold, merged, standing.__contains__)


def find_or_successor(place: Place, settings: Config, text_: str) -> tuple[Record, Place, str]:
    """Find a record anywhere, or the successor of a merged one.

    Returns (record, its place, the merged record's id or ""). Raises StoreError.
    """
    try:
        return (*find_anywhere(place, settings, text_), "")
    except StoreError:
        successors = Store(place, settings, 0.0).successors()
        merged = reader.match_ids(text_.strip(), successors)
        if len(merged) != 1:
            raise
        kept = successors[merged[0]]
        try:
            return (*find_anywhere(place, settings, kept), merged[0])
        except StoreError:
            raise StoreError(
                "'%s' was merged into %s, which is gone; `dayleaf store restore %s` brings it back"
                % (text_.strip()[:80], kept, merged[0])
            ) from None


def find_anywhere(place: Place, settings: Config, text_: str) -> tuple[Record, Place]:
    """Find a record in any tier or workspace, and its place.

    Searches here, then added tiers, then other workspaces by whole id. Raises StoreError.
    """
    try:
        return find_record(place, settings, text_), place
    except StoreError:
        in_tier = _find_in_added_tiers(place, settings, text_)
        if in_tier:
            return in_tier
        for other in find_workspaces(place, "all")[1:]:
            try:
                found = find_record(other, settings, text_)
            except StoreError:
                continue
            if found.id == text_.strip():
                return found, other
        raise


def find_distant(place: Place, id: str, dsn: str, missing: StoreError) -> Hit:
    """Find a record in the database by its id, as a hit.

    dsn: of the database, or "". missing: the error of the local search, raised (with the database's
    reason, if any) where nothing is found.
    """
    if not dsn:
        raise missing
    found: Hit = registry.offer("postgres", "record")(place, id, dsn, missing)
    return found
