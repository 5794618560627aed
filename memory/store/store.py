"""The store: the only writer of records.

A record is `<tier>/<folder>/<slug>-<4 hex>.md`, a checkpoint or conversation `<folder>/<UTC
day>/<HHMMSS>-<slug>-<4 hex>.md`; conversations stand in the private tier alone.  The hex digits
come from the SHA-256 of kind, title, body and creation time, and so does the id: writing the same
thing twice, or from two processes at once, makes one file.  New files are published by a hard link
of a finished temporary file, changed ones by a rename.  What comes from outside reaches a path only
as a slug.  How records are read: reader.py.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Iterator, Mapping, Sequence

from memory.core import (
    DayleafError,
    PersonsRecord,
    StoreError,
    UsageError,
    clock,
    files,
    frontmatter,
)
from memory.core.layout import (
    ADDED,
    FOLDERS,
    PRIVATE,
    SHARED,
    TIER_NAMES,
    Place,
    is_allowed,
    is_record,
)
from memory.core.records import READ_LIMIT, Record
from memory.hook import announcements
from memory.store import redactor, writer
from memory.store.reader import Reader, Skipped, Unreadable
from memory.store.writer import New, mode, prove

READ_ONLY = "%s is in a folder that dayleaf only reads; change it there"
# bytes of a directory (about 1,000 files) searched for old temporary files at each write
LISTING_LIMIT = 1 << 16
AGAIN = 600.0  # seconds within which the same text again is the record that is there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.store.archive import Move


class Store(Reader):
    """The records of one place, to be read and written."""

    def __init__(
        self,
        place: Place,
        config: Any,
        now: float,
        on_change: Callable[[str], None] | None = None,
        keeps: Callable[[Record, Place], bool] | None = None,
    ):
        """Open the records of a place.

        config: settings by key.  now: seconds since the epoch, UTC.  on_change: told the name of
        each record that was written, changed or moved away.  keeps: tells which records stay as
        they are.
        """
        super().__init__(place)
        self.config, self.now, self.on_change, self.keeps = config, now, on_change, keeps

    def same(self, kind: str, title: str, body: str, tier: str = PRIVATE) -> Record | None:
        """Return the accepted record with the same tier, kind and text, or None."""
        title, body = self.cleaned([title, body])
        title = writer.title_line(title)
        stems = tuple(slug + "-" for slug in writer.slugs(kind, title, body))
        for file in files.list_folder(self._root(tier) + "/" + FOLDERS[kind]):
            if file.startswith(stems) and is_record(file):
                with contextlib.suppress(StoreError):
                    record = self.read("%s/%s/%s" % (tier, FOLDERS[kind], file))
                    if (record.kind, record.title, record.body.strip()) == (
                        kind,
                        title,
                        body.strip(),
                    ) and record.accepted:
                        return record
        return None

    def says_again(self, record: Record, title: str, body: str) -> bool:
        """Tell whether a title and text repeat a record of the last AGAIN seconds."""
        title, body = self.cleaned([title, body])
        told = (record.title, record.body.strip())
        return abs(self.now - record.created) <= AGAIN and told == (
            writer.title_line(title),
            body.strip(),
        )

    def same_lately(self, kind: str, title: str, body: str) -> Record | None:
        """Return a private record of one of DATED that the text repeats, or None.

        So a command that was killed before it could answer, and is run again, writes one record.
        """
        slug = writer.slug(kind, writer.title_line(self.cleaned(title)), body)
        for at in (self.now, self.now - AGAIN):
            folder = "%s/%s" % (FOLDERS[kind], clock.day(at))
            listed = reversed(files.list_folder("%s/%s" % (self._root(PRIVATE), folder)))
            for file in (file for file in listed if slug in file and is_record(file)):
                with contextlib.suppress(StoreError):
                    record = self.read("%s/%s/%s" % (PRIVATE, folder, file))
                    if record.kind == kind and self.says_again(record, title, body):
                        return record
        return None

    def check(self, name: str) -> None:
        """Raise PersonsRecord for a protected record of a person."""
        if self.keeps is None:
            return
        record = self.read(name)
        if self.keeps(record, self.place):
            raise PersonsRecord(record.id, record.name, record.title)

    # ---- writing

    def add(
        self,
        kind: str,
        title: str,
        body: str,
        *,
        tier: str = PRIVATE,
        tags: Sequence[str] = (),
        source: str = "human",
        session: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> Record:
        """Write a new record without its secrets and return it as read back.

        kind: one of records.KINDS.  tier: `p`, `s` or `g`.  extra: more frontmatter, among it
        perhaps `created`.  The same kind, title, body and time again returns the record that is
        there.  Raises UsageError for a wrong kind, source or tier, StoreError where it cannot be
        written.
        """
        return self.read(
            self.publish(
                tier,
                writer.composed(
                    kind,
                    title,
                    body,
                    self.cleaned,
                    self.now,
                    tags=tags,
                    source=source,
                    session=session,
                    extra=extra,
                ),
            )
        )

    def stage(self, tier: str, made: New, number: int) -> str:
        """Write a record to a temporary file and return its path.

        number: how many this process has staged already.  Raises StoreError.
        """
        root = self._root_for(made.stem, tier)
        path = root + "/" + made.stem
        self.fits(tier, made.data)
        with self._writing("%s/%s" % (tier, made.stem)):
            self._make_folder(tier, root, path.rpartition("/")[0])
            return files.stage(path, made.data, mode(tier), number)

    def publish(self, tier: str, made: New, staged: str = "") -> str:
        """Give a new record the first free name and return it.

        Or the name of the same record already there.  staged: the file from `stage`, on the disk by
        now; its directory is left to the caller.  Raises StoreError.
        """
        root, stem = self._root_for(made.stem, tier), made.stem
        self.fits(tier, made.data)
        for at in range(0, 64, 4):
            name = "%s/%s-%s.md" % (tier, stem, made.digest[at : at + 4])
            path = root + "/" + name[2:]
            with self._writing(name):
                try:
                    if staged:
                        files.move_without_replacing(staged, path)
                    else:
                        self._clear(tier, root, path.rpartition("/")[0], made)
                        files.create(path, made.data, mode(tier))
                        prove(name, path, made.data)
                except FileExistsError:
                    if not self._is(name, made.id):
                        continue
                    if staged:
                        os.unlink(staged)
                    return name
            self._tell(name)
            return name
        raise StoreError(
            "%s/%s: no free name; rename the files that start like this" % (tier, stem)
        )

    def replace(self, name: str, data: bytes, checksum_before: str) -> Record:
        """Change a record's whole file and return the record read back.

        data: its new bytes; a secret that the file did not hold before is taken out.
        checksum_before: SHA-256 of the bytes on which the change rests (of the whole file, or of
        the part that `read` returned).  Raises StoreError where the file has changed meanwhile or
        cannot be written.
        """
        self.check(name)
        with self._changing(name):
            before = self.raw(name)
            if checksum_before not in (files.sha256(before), files.sha256(before[:READ_LIMIT])):
                raise StoreError(
                    "%s has changed meanwhile; read it again and repeat the change" % name
                )
            self._put(name, before, data)
        return self.read(name)

    def edit(
        self,
        name: str,
        changes: Mapping[str, Any] | Callable[[Record], Mapping[str, Any]],
        bookkeeping: bool = False,
    ) -> Record:
        """Change keys of a record's frontmatter; return the record read back.

        changes: None removes a key; a function gives them for the record as it stands now.
        bookkeeping: they concern nothing that a person said, so a session may make them. Raises
        StoreError.
        """
        if not bookkeeping:
            self.check(name)
        with self._changing(name):
            before = self.raw(name)
            now = changes(self.read(name)) if callable(changes) else changes
            data = frontmatter.edit(before, self.cleaned(dict(now)), name)
            if data != before:
                self._put(name, before, data)
        return self.read(name)

    def keep_id(self, record: Record) -> Record:
        """Write a record's id into a file without an id; return the record.

        Else a rename loses all that names it.  A rule stays as it is: other bytes would wait for
        approval.
        """
        if record.meta.get("id") or record.guessed or record.kind == "rule":
            return record
        with contextlib.suppress(StoreError):
            return self.edit(record.name, {"id": record.id}, True)
        return record

    def archive(self, name: str, reason: str, into: str = "", checksum: str = "") -> str:
        """Move a record to the archive and return its name there.

        into: the id of the record into which it was merged, or "".  checksum: of the record as the
        decision rests on it, "" for any.  Raises StoreError.
        """
        from memory.store import archive

        self.check(name)
        with self._changing(name):
            record, root = self.read(name), self._root(name[:1])
            if checksum not in ("", record.checksum):
                raise StoreError("%s has changed meanwhile; look at it again" % name)
            source = self._beneath(name)
            move = archive.Move(
                record.id, name[2:], archive.free_place(root, name[2:], record.checksum), into
            )
            self._log(name[0], move, reason)
            self._move(name[0], source, move.away)
        return name[:2] + move.away

    def promote(self, name: str, fixed: str) -> Record:
        """Move a record to a fixed name and return the record.

        A record there is first copied to an ordinary name, then replaced in one step: a crash
        leaves a whole record there and loses none.  Raises StoreError.
        """
        with self._changing(fixed, name):
            source, target = self._beneath(name), self._beneath(fixed)
            if os.path.lexists(target) and self.raw(fixed).strip():
                self._copy_aside(fixed)
            os.replace(source, target)
        return self.read(fixed)

    def demote(self, fixed: str) -> Record:
        """Move a record from a fixed to an ordinary name.  Return it; raises StoreError."""
        self.check(fixed)
        with self._changing(fixed):
            path, name = self._beneath(fixed), self._copy_aside(fixed)
            os.unlink(path)
        return self.read(name)

    def remove(self, name: str) -> None:
        """Delete a record's file.  The archive's log gets its id alone; raises StoreError."""
        from memory.store import archive

        self.check(name)
        with self._changing(name):
            self._beneath(name)
            root, parts = self._parts(name)
            id = ""
            with contextlib.suppress(StoreError):
                id = self.read(name).id
            files.remove(root + "/" + "/".join(parts))  # a link goes, what it leads to stays
            self._log(name[0], archive.Move(id, "", ""), archive.REMOVED)

    def restore(self, id: str) -> Record:
        """Move a record back from the archive and return it.

        id: also its prefix or title.  Another text of the same record goes to the archive in its
        stead.  Raises StoreError where it is not there or its place is taken by another record.
        """
        from memory.store import archive

        letter, move = self._find_move(id.strip())
        if self._is(letter + "/" + move.home, move.id):
            return self._exchange(letter, move)
        return self.bring_back(letter, move, archive.RESTORED)

    def _exchange(self, letter: str, move: Move) -> Record:
        from memory.store import archive

        name = letter + "/" + move.home
        with self._changing(name):
            record, present = self.read(name), self._beneath(name)
            source = self._beneath(letter + "/" + move.away)
            away = archive.free_place(self.roots[letter], move.home, record.checksum)
            self._log(letter, archive.Move(move.id, move.away, move.home), archive.RESTORED)
            # last in the log: this one is found in the archive from now on
            self._log(letter, archive.Move(move.id, move.home, away), "replaced")
            self._move(letter, present, away)
            self._move(letter, source, move.home)
        return self.read(name)

    def bring_back(self, letter: str, move: Move, reason: str) -> Record:
        """Move a record (of `away`) back from a tier's archive, as `restore` does."""
        from memory.store import archive

        name = letter + "/" + move.home
        with self._changing(name):
            source = self._beneath(letter + "/" + move.away)
            self._beneath(
                name, absent=not archive.same(source, self.roots[letter] + "/" + move.home)
            )
            self._move(letter, source, move.home)
            self._log(letter, archive.Move(move.id, move.away, move.home), reason)
        return self.read(name)

    # ---- paths

    def _root(self, tier: str) -> str:
        if tier not in TIER_NAMES:
            raise UsageError("no tier '%s'; use p (private), s (shared) or g (global)" % tier)
        if tier not in self.roots:
            raise StoreError(
                "there is no shared tier here; run this in a repository that has its "
                "own .dayleaf directory"
            )
        return self.roots[tier]

    def _root_for(self, stem: str, tier: str) -> str:
        """Return the directory of a tier that may hold a new record.  Raises UsageError."""
        if not is_allowed(
            next((kind for kind in FOLDERS if stem.startswith(FOLDERS[kind] + "/")), ""), tier
        ):
            raise UsageError("a conversation stays in the private tier")
        return self._root(tier)

    def _beneath(self, name: str, absent: bool = False) -> str:
        """Return the resolved path of a record in its tier.

        absent: the file must not be there.  Raises StoreError.
        """
        root, parts = self._parts(name)
        path = root + "/" + "/".join(parts)
        if not files.inside(path.rpartition("/")[0], root) or not files.inside(path, root):
            raise Unreadable(
                Skipped(name, 0, "a link out of the store", "replace the link with the file itself")
            )
        if absent and os.path.lexists(path):
            raise StoreError("%s: another file is there; rename one of the two" % name)
        return files.real_path(path)

    # ---- the steps of a write

    def cleaned(self, value: Any) -> Any:
        """Return texts without private parts and secrets, as they may be written."""
        return redactor.clean(value, self.config, self.place.key)

    def _clear(self, tier: str, root: str, folder: str, made: New) -> None:
        self._make_folder(tier, root, folder)
        if os.stat(folder).st_size <= LISTING_LIMIT or made.digest[0] == "0":
            files.collect_temps(folder, self.now)

    def fits(self, tier: str, data: bytes, before: bytes = b"") -> None:
        """Raise StoreError where a shared record would newly tell of this machine."""
        if tier != SHARED:
            return
        from memory.store import localpaths

        known = {
            what for _, what, _ in localpaths.find(before.decode("utf-8", "replace"), self.place)
        }
        for _, what, remedy in localpaths.find(data.decode("utf-8", "replace"), self.place):
            if what not in known:
                raise StoreError("%s is not for the repository; %s" % (what, remedy))

    def _copy_aside(self, name: str) -> str:
        record, data = self.read(name), self.raw(name)
        told = (record.kind, record.title, record.body, record.created)
        stem, digest = name.rpartition("/")[0] + "/" + writer.stem(*told), writer.digest(*told)
        for at in range(0, 64, 4):
            aside = "%s-%s.md" % (stem, digest[at : at + 4])
            path = self._beneath(aside)
            self._make_folder(name[0], self.roots[name[0]], path.rpartition("/")[0])
            try:
                files.create(path, data, mode(name[0]))
            except FileExistsError:
                if self.raw(aside) != data:
                    continue
            self._tell(aside)
            return aside
        raise StoreError(
            "%s: no free name for it; rename the files that start like %s" % (name, stem)
        )

    def _is(self, name: str, identity: str) -> bool:
        try:
            return self.read(name).id == identity
        except StoreError:
            return False

    def _put(self, name: str, before: bytes, data: bytes) -> None:
        """Replace a record's bytes, without newly added secrets; raises StoreError."""
        if frontmatter.unmerged_line(before):
            raise StoreError(
                "%s: git could not merge it; keep the right lines, remove the markers, then try "
                "again" % self.place.path(name)
            )
        data = redactor.clean_change(before, data, self.config, self.place.key)
        self.fits(name[:1], data, before)
        self._own(name[:1])
        path = self._beneath(name)
        files.replace(path, data, mode(name[0]))
        prove(name, path, data)

    def _own(self, tier: str) -> None:
        """Deny other users write access to a private tier.  Raises StoreError for theirs."""
        if tier == SHARED or not hasattr(os, "geteuid"):
            return
        for folder in (self.place.home, self.roots[tier]):
            try:
                stat = os.stat(folder)
            except FileNotFoundError:
                continue
            if stat.st_uid != os.geteuid() and os.geteuid() != 0:
                raise StoreError(
                    "%s belongs to another user; set DAYLEAF_HOME to a directory of your own"
                    % folder
                )
            if stat.st_mode & 0o022:
                os.chmod(folder, stat.st_mode & 0o755)

    def _make_folder(self, tier: str, root: str, folder: str) -> None:
        # Private, but readable by all in the shared tier, which is committed.
        self._own(tier)
        if not files.inside(folder, root):
            raise StoreError("%s is a link out of the store; make it a directory" % folder)
        missing = []
        while tier == SHARED and not files.is_folder(folder) and len(folder) >= len(root):
            missing.append(folder)
            folder = folder.rpartition("/")[0]
        for path in reversed(missing):
            with contextlib.suppress(FileExistsError):
                os.mkdir(path)
                os.chmod(path, 0o755)
        files.make_folder(missing[0] if missing else folder)
        if tier == SHARED:
            from memory.store import archive

            archive.set_rule(root)

    def _move(self, tier: str, source: str, target: str) -> None:
        from memory.store import archive

        path = self.roots[tier] + "/" + target
        self._make_folder(tier, self.roots[tier], path.rpartition("/")[0])
        archive.move_file(source, path, mode(tier))

    def _log(self, tier: str, move: Move, reason: str) -> None:
        from memory.store import archive

        self._make_folder(tier, self.roots[tier], self.roots[tier] + "/" + archive.FOLDER)
        archive.log(self.roots[tier], move, self.cleaned(reason), self.now, mode(tier))

    def _tell(self, name: str) -> None:
        """Report a change to the index."""
        if name[:1] == SHARED:
            with contextlib.suppress(OSError, DayleafError):
                announcements.remember_file(self.place, self.place.path(name))
        if self.on_change is not None:
            with contextlib.suppress(OSError, DayleafError):
                self.on_change(name)

    @contextlib.contextmanager
    def _changing(self, name: str, *others: str) -> Iterator[None]:
        """Hold the lock for a change of records.  Report it afterwards; raises StoreError."""
        with self._writing(name), writer.lock(self.place.home):
            yield
        for changed in (name, *others):
            self._tell(changed)

    @contextlib.contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Turn an OSError of a write into a StoreError that names the record."""
        if name[:1] == ADDED:
            raise StoreError(READ_ONLY % self.place.path(name))
        try:
            yield
        except FileExistsError:
            raise StoreError("%s: another file is there; rename one of the two" % name) from None
        except OSError as error:
            raise StoreError(
                "%s could not be written: %s; check the disk and the permissions of %s"
                % (name, (error.strerror or str(error)).lower(), self._folder(name))
            ) from error

    def _folder(self, name: str) -> str:
        path = self.roots.get(name[:1], self.place.home) + "/" + name[2:].rpartition("/")[0]
        while "/" in path and not files.is_folder(path):
            path = path.rpartition("/")[0]
        return path


BATCH = 256
WAITING = 32  # threads that wait for the disk at once


class Bulk:
    """New records of a store, written together at each `flush`."""

    def __init__(self, store: Store):
        self.store = store
        self._staged: list[tuple[str, New, str]] = []

    def add(self, tier: str, made: New) -> None:
        """Add a record to be written; raises StoreError."""
        self._staged.append((tier, made, self.store.stage(tier, made, len(self._staged))))
        if len(self._staged) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the added records; raises StoreError."""
        staged, self._staged = self._staged, []
        if not staged:
            return
        # of a bulk alone: it loads a log's machinery
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(WAITING, len(staged))) as pool:
            list(pool.map(files.sync, [temp for _, _, temp in staged]))
        folders: set[str] = set()
        for tier, made, temp in staged:
            folders.add(temp.rpartition("/")[0])
            self.store.publish(tier, made, temp)
        for folder in sorted(folders):
            files.sync(folder)
