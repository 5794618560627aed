"""Records that only a database holds, found and shown by recall like those of files."""

from __future__ import annotations

from typing import Any

from memory.core import StoreError, UsageError, files, records, tokeniser
from memory.core.config import Config
from memory.core.layout import GLOBAL, SHARED, Place, project_name
from memory.core.records import Record
from memory.doors.postgres import postgres
from memory.doors.postgres.postgres import DatabaseIndex
from memory.hook import segment
from memory.index.backend import Backend
from memory.recall import hit, look, lookup
from memory.recall.hit import Hit
from memory.recall.shelf import Shelf


def shelves(
    place: Place, settings: Config, name: str, dsn: str, notes: list[str]
) -> tuple[list[Place], list[DatabaseShelf]]:
    """Open the named workspaces of this machine and of the database.

    A database that does not answer becomes a note.  Raises UsageError for a name that neither
    knows.
    """
    try:
        here = lookup.find_searched_places(place, settings, name, notes)
        unknown = None
    except UsageError as error:
        here, unknown = [], error
    try:
        base = postgres.open_database(dsn)
        spaces = base.spaces()
    except StoreError as fault:
        if unknown is not None:
            raise UsageError("%s (%s)" % (unknown, fault)) from None
        notes.append(lookup.LOCAL_ALONE % fault)
        return here, []
    on_disk = {workspace.key for workspace in here}
    searched = {
        key: space
        for key, space in spaces.items()
        if key in on_disk or name in ("all", key, project_name(key))
    }
    if unknown is not None and not searched:
        raise unknown
    index = DatabaseIndex(base, searched, [key for key in searched if key not in on_disk])
    return here, [DatabaseShelf(place, index)] if searched else []


class DatabaseShelf(Shelf):
    """Workspaces of a database, open for queries.

    Another shelf searches the files of this machine, which are the truth.  Rows of such tiers are
    skipped, except those of a commit that this checkout has not pulled.
    """

    def __init__(self, here: Place, remote: DatabaseIndex):
        """Open the workspaces of a database for the user's place."""
        self.place = Place(here.home, "postgres", "", "", "", "")
        self.notes, self.on_disk = [], True
        self._drifted = self._glanced = self.rescan = False
        self._here, self._remote = here, remote
        self._table = tokeniser.Table()
        self._words, self._tally = {}, {}
        self._records: dict[str, Record] = {}
        self._pulled: dict[str, bool] = {}
        self._nearest: dict[tuple[str, int], int] = {}

    @property
    def is_distant(self) -> bool:
        return True

    @property
    def backend(self) -> Backend:
        return self._remote

    @property
    def is_stale(self) -> bool:
        """Return False: no index on disk can be out of date."""
        return False

    def finish(self, now: float) -> bool:
        """Do nothing: there are no files to compare."""
        return False

    def close(self) -> None:
        """Leave the connections to the pool."""

    def is_known(self, term: str) -> bool:
        """Tell whether the database has a term in a workspace of this machine."""
        return self._remote.is_known(term)

    def path(self, name: str) -> str:
        """Return an address in place of a record's path, by workspace/name."""
        return "postgres:" + name

    def near(self, label: str, vector: Any, limit: int) -> list[tuple[str, int, float]] | None:
        """Return (workspace/name, ordinal, similarity) of the sections nearest to a query.

        Only sections without a file on this machine.  None without vectors of that model.
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

    def section(self, name: str, ordinal: int, number: int) -> look.Candidate | None:
        """Return a section found by `near`, by workspace/name."""
        return self.candidate(self._nearest[name, ordinal])

    def candidate(self, number: int) -> look.Candidate | None:
        """Return a section as a candidate, None if its file is here."""
        stored = self._remote.held(number) if self._is_served(number) else None
        if stored is None:
            return None
        row = self._remote.row(number)
        name = stored.workspace + "/" + stored.name
        if name not in self._records:
            self._records[name] = records.from_bytes(stored.name, stored.data, stored.mtime)
        found = self._cut_out(
            self._records[name], name, row.ordinal, number, row.checksum, stored.workspace
        )
        commit = ", as of commit " + stored.commit if stored.commit else ""
        return found._replace(origin="not on this machine: from the database" + commit)

    def _is_served(self, number: int) -> bool:
        """Tell whether no file on this machine replaces a row."""
        row = self._remote.row(number)
        return not self._is_here(row.workspace, row.name) or self._is_ahead(number)

    def _is_here(self, key: str, name: str) -> bool:
        """Tell whether a record's tier, its name's first letter, is on this machine."""
        place = self._here if key == self._here.key else Place(self._here.home, key, "", "", "", "")
        return any(letter == name[0] and files.exists(folder) for letter, folder in place.tiers())

    def _is_ahead(self, number: int) -> bool:
        """Tell whether this checkout lacks a shared record's commit."""
        from memory.project.gitobjects import Objects

        row = self._remote.row(number)
        if row.name[0] != SHARED or files.exists(self._here.path(row.name)):
            return False
        stored = self._remote.held(number)
        commit = stored.commit if stored else ""
        if commit and commit not in self._pulled:
            with Objects(self._here.git) as objects:
                self._pulled[commit] = bool(objects.find(commit)) or not objects.complete
        return bool(commit) and not self._pulled[commit]

    def checkpoints(self, session: str) -> list[Record]:
        """Return nothing; sessions are joined from files of this machine."""
        return []

    def record(self, name: str, doc: segment.Doc | None = None) -> Record | None:
        """Return nothing; no record has a file here."""
        return None


def record(place: Place, id: str, dsn: str, missing: StoreError) -> Hit:
    """Find a record by its whole id in the database.

    Only records without a file on this machine.  missing: the local search's error, raised (with
    the database's reason, if any) where nothing is found.
    """
    try:
        base = postgres.open_database(dsn)
        spaces = base.spaces()
        index = DatabaseIndex(base, spaces, list(spaces))
        shelf = DatabaseShelf(place, index)
        found = next(filter(None, map(shelf.candidate, index.numbers_of(id.strip()))), None)
    except StoreError as fault:
        raise StoreError("%s (%s)" % (missing, fault)) from None
    if found is None:
        raise missing
    return hit.from_record(found.record, found.workspace, found.path, found.origin)
