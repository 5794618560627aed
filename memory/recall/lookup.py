"""Workspaces and records, found by the names that people type: on this machine, and in an
organisation's database.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from memory.core import IndexFault, StoreError, UsageError, files, records, tokeniser
from memory.core.config import Config
from memory.core.layout import GLOBAL, SHARED, Place
from memory.core.records import Record
from memory.hook import indexview
from memory.index.backend import Backend
from memory.project import otherfiles
from memory.recall import hit, look
from memory.recall.hit import Hit
from memory.recall.shelf import Shelf
from memory.store import archive, ledger, reader
from memory.store.store import READ_ONLY, Store

if TYPE_CHECKING:
    from memory.index.backend import Held
    from memory.index.postgres import Remote

LOCAL_ALONE = "%s; only this machine was searched"


def workspaces(place: Place, name: str) -> List[Place]:
    """Return the places of `--workspace`: "" the present one, `all` of the home, or those of one
    name (with or without its 8 hex digits), but the one that a directory claims without a proof;
    raises UsageError where there is none.
    """
    if name in ("", place.key):
        return [place]
    try:
        keys = sorted(
            e.name
            for e in files.posix.scandir(place.home + "/workspaces")
            if e.is_dir() and e.name[0] != "."
        )
    except OSError:
        keys = []
    keys = [key for key in keys if key != place.claimed]
    others = [Place(place.home, key, "", "", "", "") for key in keys if key != place.key]
    if name == "all":
        return [place, *others]
    found = [p for p in [place, *others] if name in (p.key, p.key.rpartition("-")[0])]
    if not found:
        near = ", ".join(keys[:5]) or "none yet"
        raise UsageError("no workspace '%s'; use one of %s, or `all`" % (name[:60], near))
    return found


def searched(place: Place, settings: Config, name: str, notes: List[str]) -> List[Place]:
    """Return the places of `--workspace`, where the present one is among them with the tiers that
    were added to it, or one of these alone by its name; of one that cannot be read a note says so.
    Raises UsageError as `workspaces` does.
    """
    tiers = otherfiles.added(place, settings)
    named = [tier for tier in tiers if name == tier.key]
    found: List[Place] = [] if named else workspaces(place, name)
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


def beyond(
    place: Place, settings: Config, name: str, dsn: str, notes: List[str]
) -> Tuple[List[Place], List[Distant]]:
    """Return the places of `--workspace` on this machine, and what a database holds of it, opened;
    where the database does not answer, a note says so.  Raises UsageError for a name that neither
    knows.
    """
    if not dsn:
        return searched(place, settings, name, notes), []
    from memory.index import postgres

    try:
        here = searched(place, settings, name, notes)
        unknown = None
    except UsageError as error:
        here, unknown = [], error
    try:
        base = postgres.database(dsn)
        spaces = base.spaces()
    except StoreError as fault:
        if unknown is not None:
            raise UsageError("%s (%s)" % (unknown, fault)) from None
        notes.append(LOCAL_ALONE % fault)
        return here, []
    wanted = {p.key for p in here}
    held = {
        key: space
        for key, space in spaces.items()
        if name == "all" or key in wanted or name in (key, key.rpartition("-")[0])
    }
    if unknown is not None and not held:
        raise unknown
    return here, [
        Distant(place, postgres.Remote(base, held, [key for key in held if key not in wanted]))
    ] if held else []


class Distant(Shelf):
    """The workspaces of a database that a query asks for, open for queries.

    Of a tier that is on this machine the files are the truth, and another shelf has searched them:
    the database's rows of it are passed over, but those that came with a commit that this checkout
    has not pulled yet.
    """

    def __init__(self, here: Place, remote: Remote):
        """here: the place that asks."""
        self.place = Place(here.home, "postgres", "", "", "", "")
        self.notes, self.on_disk, self._drifted, self._glanced, self.rescan = (
            [],
            True,
            False,
            False,
            False,
        )
        self.slack = 20
        self._here, self._remote = here, remote
        self._table = tokeniser.Table()
        self._words, self._cut, self._tally = {}, {}, {}
        self._records: Dict[str, Record] = {}
        self._pulled: Dict[str, bool] = {}
        self._nearest: Dict[Tuple[str, int], int] = {}

    @property
    def is_distant(self) -> bool:
        """Whether its records stand in a database, and not here."""
        return True

    @property
    def backend(self) -> Backend:
        """What answers queries here."""
        return self._remote

    @property
    def is_stale(self) -> bool:
        """Whether an index on disk is behind: there is none."""
        return False

    def finish(self, now: float) -> bool:
        """Find nothing more: no files are compared."""
        return False

    def close(self) -> None:
        """Leave the connections to the pool."""

    def is_known(self, term: str) -> bool:
        """Tell whether a database holds a term that the index of its workspace lacks."""
        return self._remote.is_known(term)

    def path(self, name: str) -> str:
        """Return what stands for the path of a file that is not here; name: workspace/name."""
        return "postgres:" + name

    def near(self, label: str, vector: Any, limit: int) -> Optional[List[Tuple[str, int, float]]]:
        """Return (name, ordinal, similarity) of the sections nearest to a query whose text no file
        of this machine holds; None where no vectors of that model are loaded.  name:
        workspace/name.
        """
        found = self._remote.near(label, vector, limit)
        if found is None:
            return None
        out = []
        for number, similarity in found:
            row = self._remote.row(number)
            if row.name[0] != GLOBAL and self._is_served(number):
                name = row.workspace + "/" + row.name
                self._nearest[name, row.ordinal] = number
                out.append((name, row.ordinal, similarity))
        return out

    def section(self, name: str, ordinal: int, number: int) -> Optional[look.Candidate]:
        """Return a section that was near as the database holds it.  name: workspace/name."""
        return self.candidate(self._nearest[name, ordinal])

    def candidate(self, number: int) -> Optional[look.Candidate]:
        """Return a section as the database holds it; None where a file of this machine stands for
        it.
        """
        held = self._remote.held(number) if self._is_served(number) else None
        if held is None:
            return None
        row = self._remote.row(number)
        name = held.workspace + "/" + held.name
        if name not in self._records:
            self._records[name] = records.from_bytes(held.name, held.data, held.mtime)
        record = self._records[name]
        made = self._cut_out(record, name, row.ordinal, number, row.checksum, held.workspace)
        return made._replace(origin=origin(held))

    def _is_served(self, number: int) -> bool:
        """Tell whether a row stands for a record, since no file of this machine does."""
        row = self._remote.row(number)
        return not self._is_here(row.workspace, row.name) or self._is_ahead(number)

    def _is_here(self, key: str, name: str) -> bool:
        """Tell whether the tier of a record is on this machine."""
        place = self._here if key == self._here.key else Place(self._here.home, key, "", "", "", "")
        return any(letter == name[0] and files.exists(folder) for letter, folder in place.tiers())

    def _is_ahead(self, number: int) -> bool:
        """Tell whether a shared record of this workspace came with a commit that is not in this
        checkout.
        """
        from memory.project.gitobjects import Objects

        row = self._remote.row(number)
        if row.name[0] != SHARED or files.exists(self._here.path(row.name)):
            return False
        held = self._remote.held(number)
        commit = held.commit if held else ""
        if commit and commit not in self._pulled:
            with Objects(self._here.git) as objects:
                self._pulled[commit] = bool(objects.find(commit)) or not objects.complete
        return bool(commit) and not self._pulled[commit]

    def checkpoints(self, session: str) -> List[Record]:
        """Return nothing: what belongs to a session is joined among the files of this machine."""
        return []

    def record(self, name: str) -> Optional[Record]:
        """Return nothing: no file stands for a name."""
        return None


def origin(held: Held) -> str:
    """Say what a record's text is that no file on this machine holds."""
    return "not on this machine: from the database%s" % (
        ", as of commit " + held.commit if held.commit else ""
    )


def find_one(place: Place, settings: Config, text_: str) -> Record:
    """Find a record by id, start of an id, or name; raises StoreError, which names near ids."""
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


def own(place: Place, settings: Config, text_: str) -> Record:
    """Find a record that may be changed here, as `find_one` does; of one in a tier that was added,
    say that it is only read.
    """
    try:
        return find_one(place, settings, text_)
    except StoreError:
        for tier in otherfiles.added(place, settings):
            with suppress(StoreError):
                found = find_one(tier, settings, text_)
                break
        else:
            raise
    raise StoreError("%s: %s" % (found.id, READ_ONLY % tier.path(found.name)))


def followed(place: Place, fold: ledger.Fold) -> ledger.Fold:
    """Return a fold of a place's ledger in which merged records count for those that they were
    merged into.
    """
    merged = archive.merged(place)
    moved = [id for id in fold.rows if id in merged]
    if not moved:
        return fold
    try:
        with closing(indexview.open_index(place)) as found:
            standing = {id for id in moved if found.by_id(id) is not None}
    except IndexFault:
        standing = set()
    return ledger.followed(fold, merged, standing.__contains__)


def find_kept(place: Place, settings: Config, text_: str) -> Tuple[Record, Place, str]:
    """Find a record as `find_anywhere` does; of one that was merged into another, that other one.

    Returns the record, the place it is in, and the id of the merged one or "".  Raises StoreError.
    """
    try:
        return (*find_anywhere(place, settings, text_), "")
    except StoreError:
        successors = Store(place, settings, 0.0).successors()
        begun = reader.begun(text_.strip(), successors)
        if len(begun) != 1:
            raise
        kept = successors[begun[0]]
        try:
            return (*find_anywhere(place, settings, kept), begun[0])
        except StoreError:
            raise StoreError(
                "'%s' was merged into %s, which is gone; `dayleaf store restore %s` brings it back"
                % (text_.strip()[:80], kept, begun[0])
            ) from None


def find_anywhere(place: Place, settings: Config, text_: str) -> Tuple[Record, Place]:
    """Find a record here, in a tier that was added, or by its whole id in another workspace;
    returns it with its place.

    Raises StoreError as `find_one` does.
    """
    try:
        return find_one(place, settings, text_), place
    except StoreError:
        for tier in otherfiles.added(place, settings):
            with suppress(StoreError):
                return find_one(tier, settings, text_), tier
        for other in workspaces(place, "all")[1:]:
            try:
                found = find_one(other, settings, text_)
            except StoreError:
                continue
            if found.id == text_.strip():
                return found, other
        raise


def find_distant(place: Place, id: str, dsn: str, missing: StoreError) -> Hit:
    """Find a record by its whole id in a database, of one that stands in no file of this machine.

    dsn: of the database, or "".  missing: what the files said; it is raised where the database has
    none either, with the reason where that does not answer.
    """
    if not dsn:
        raise missing
    from memory.index import postgres

    try:
        base = postgres.database(dsn)
        spaces = base.spaces()
        remote = postgres.Remote(base, spaces, list(spaces))
        found = next(
            filter(None, map(Distant(place, remote).candidate, remote.numbers_of(id.strip()))), None
        )
    except StoreError as fault:
        raise StoreError("%s (%s)" % (missing, fault)) from None
    if found is None:
        raise missing
    return hit.of(found.record, found.workspace, found.path, found.origin)
