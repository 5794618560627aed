"""The store: the only writer of records.

A record is `<tier>/<folder>/<slug>-<4 hex>.md`, a checkpoint or conversation `<folder>/<UTC
day>/<HHMMSS>-<slug>-<4 hex>.md`; conversations stand in the private tier alone.  The hex digits
come from the SHA-256 of kind, title, body and creation time, and so does the id: the same thing
written twice, or by two processes at once, makes one file.  A new file is a hard link of a finished
temporary one, a changed file its rename.  What comes from outside reaches a path only as a slug.
How records are read: reader.py.
"""

from __future__ import annotations

import contextlib
import os
from functools import cached_property
from typing import Any, Callable, Iterator, Mapping, Sequence

from memory.core import (
    DayleafError,
    PersonsRecord,
    StoreError,
    UsageError,
    clock,
    files,
    frontmatter,
    tokeniser,
)
from memory.core.layout import (
    ADDED,
    FOLDERS,
    PRIVATE,
    SHARED,
    TIER_NAMES,
    Place,
    is_kind_allowed,
    is_record,
)
from memory.core.records import HARVEST_KEY, READ_LIMIT, Record, meta_text
from memory.store import redactor, writer
from memory.store.reader import Reader, Unreadable
from memory.store.writer import NewRecord, file_mode, verify_written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.store.archive import Move

READ_ONLY = "%s is in a folder that dayleaf only reads; change it there"
# bytes of a directory (about 1,000 files) searched for old temporary files at each write
LISTING_LIMIT = 1 << 16
AGAIN = 600.0  # seconds within which a repeated text makes no second record


def _says_the_same(record: Record, kind: str, text: str) -> bool:
    """Tell whether a record's text is the same but for case and spaces."""
    body = record.body
    if HARVEST_KEY in record.meta:
        body = body.partition("\n\n> ")[0]  # its proof follows
    return record.kind == kind and _fold(body) == _fold(text)


def _fold(text: str) -> str:
    # -k and -K are two options
    words = tokeniser.compose(text).split()
    folded = " ".join(word if word[0] in "-`$" else word.casefold() for word in words)
    return folded.rstrip(".。")


class Store(Reader):
    """The records of one place, to be read and written.

    A name is `p/<folder>/<path>`: its tier's letter first.  Methods that write raise StoreError
    where they cannot.
    """

    def __init__(
        self,
        place: Place,
        config: Any,
        now: float,
        on_change: Callable[[str], None] | None = None,
        keeps: Callable[[Record, Place], bool] | None = None,
    ):
        """Open the records of a place.

        on_change: called with the name of each record written or moved.  keeps: tells whether a
        record is protected.
        """
        super().__init__(place)
        self.config, self.now, self.on_change, self.keeps = config, now, on_change, keeps

    def read_both(self, name: str) -> tuple[Record, bytes]:
        """Read a record, as its reader may see it, and its bytes."""
        record, data = super().read_both(name)
        return (self._mask(record) if self.config.masked else record), data

    def _mask(self, record: Record) -> Record:
        if self._index and self._index.is_clean(record):  # a search takes ten times as long
            return redactor.strip_private_record(record)
        return redactor.clean_record(record, self.config, self.place.key)

    @cached_property
    def _index(self) -> Any:
        from memory.hook import indexview

        try:
            return indexview.open_index(self.place, watch=False)
        except (DayleafError, OSError):
            return None

    def same(
        self, kind: str, title: str, body: str, tier: str = PRIVATE, nearly: bool = False
    ) -> Record | None:
        """Find the accepted record with this kind and text, or None.

        Else a candidate that differs only in case and spaces; nearly: or such an accepted record.
        """
        title, body = self.cleaned([title, body])
        near: Record | None = None
        title = writer.title_line(title)
        stems = tuple(slug + "-" for slug in writer.slugs(kind, title, body))
        for file in files.list_folder(self._root(tier) + "/" + FOLDERS[kind]):
            if file.startswith(stems) and is_record(file):
                with contextlib.suppress(StoreError):
                    record = self.read("%s/%s/%s" % (tier, FOLDERS[kind], file))
                    text = (record.kind, record.title, record.body.strip())
                    if record.accepted and text == (kind, title, body.strip()):
                        return record
                    is_near = nearly or not record.accepted
                    if is_near and _says_the_same(record, kind, body):
                        near = near or record
        return near

    def repeats(self, record: Record, text: str) -> bool:
        """Tell whether a record's text is a given one, whatever its title."""
        return _says_the_same(record, record.kind, self.cleaned(text))

    def says_again(self, record: Record, title: str, body: str) -> bool:
        """Tell whether a text repeats a record of the last AGAIN seconds."""
        title, body = self.cleaned([title, body])
        same = (record.title, record.body.strip()) == (writer.title_line(title), body.strip())
        return same and abs(self.now - record.created) <= AGAIN

    def same_lately(self, title: str, body: str) -> Record | None:
        """Find a recent private checkpoint with the same text, or None.

        So a command that was killed before its answer, and run again, writes one record.
        """
        slug = writer.slug("checkpoint", writer.title_line(self.cleaned(title)), body)
        for at in (self.now, self.now - AGAIN):
            folder = "%s/%s" % (FOLDERS["checkpoint"], clock.day(at))
            names = reversed(files.list_folder("%s/%s" % (self._root(PRIVATE), folder)))
            for file in (name for name in names if slug in name and is_record(name)):
                with contextlib.suppress(StoreError):
                    record = self.read("%s/%s/%s" % (PRIVATE, folder, file))
                    if record.kind == "checkpoint" and self.says_again(record, title, body):
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
        """Write a new, redacted record and return it as read back.

        tier: `p`, `s` or `g`.  extra: more frontmatter, perhaps `created`.  The same kind, title,
        body and time returns the record that is there.  Raises UsageError for a wrong tier.
        """
        new = writer.compose_record(
            kind,
            title,
            body,
            self.cleaned,
            self.now,
            tags=tags,
            source=source,
            session=session,
            extra=extra,
            config=self.config,
        )
        return self.read(self.publish(tier, new))

    def stage(self, tier: str, new: NewRecord, number: int) -> str:
        """Write a record to a temporary file and return its path.

        number: how many this process has staged already.
        """
        path = self._root_for_new(new.stem, tier) + "/" + new.stem
        self.fits(tier, new.data)
        with self._naming_errors("%s/%s" % (tier, new.stem)):
            self._make_folder(tier, path.rpartition("/")[0])
            return files.stage(path, new.data, file_mode(tier), number)

    def publish(self, tier: str, new: NewRecord, staged: str = "") -> str:
        """Write a new record under the first free name; return the name.

        staged: the file from `stage`, synchronised; the caller synchronises its directory.
        """
        root = self._root_for_new(new.stem, tier)
        self.fits(tier, new.data)
        for at in range(0, 64, 4):
            name = "%s/%s-%s.md" % (tier, new.stem, new.digest[at : at + 4])
            path = root + "/" + name[2:]
            with self._naming_errors(name):
                try:
                    if staged:
                        files.move_without_replacing(staged, path)
                    else:
                        self._prepare_folder(tier, path.rpartition("/")[0], new)
                        files.create(path, new.data, file_mode(tier))
                        verify_written(name, path, new.data)
                except FileExistsError:
                    if not self._has_id(name, new.id):
                        continue
                    if staged:
                        os.unlink(staged)
                    return name
            self._report_change(name)
            return name
        raise StoreError(
            "%s/%s: no free name; rename the files that start like this" % (tier, new.stem)
        )

    def replace(self, name: str, data: bytes, checksum_before: str) -> Record:
        """Replace a record's whole file and return the record read back.

        Newly added secrets are removed.  checksum_before: SHA-256 of the bytes that the caller read
        (the whole file, or the part from `read`).
        """
        self.check(name)
        with self._locked(name):
            before = self.raw(name)
            if checksum_before not in (files.sha256(before), files.sha256(before[:READ_LIMIT])):
                raise StoreError(
                    "%s has changed meanwhile; read it again and repeat the change" % name
                )
            self._replace_bytes(name, before, data)
        return self.read(name)

    def edit(
        self,
        name: str,
        changes: Mapping[str, Any] | Callable[[Record], Mapping[str, Any]],
        bookkeeping: bool = False,
    ) -> Record:
        """Change keys of a record's frontmatter; return the record read back.

        changes: None removes a key; a function returns them for the present record.  bookkeeping:
        they touch nothing that a person wrote, so a session may make them.
        """
        if not bookkeeping:
            self.check(name)
        with self._locked(name):
            before = self.raw(name)
            values = changes(super().read_both(name)[0]) if callable(changes) else changes
            data = frontmatter.edit(before, self.cleaned(dict(values)), name)
            if data != before:
                self._replace_bytes(name, before, data)
        return self.read(name)

    def keep_id(self, record: Record) -> Record:
        """Write a record's id into its file if missing; return the record.

        Otherwise a rename breaks the links to it.  A rule stays: other bytes need a new approval.
        """
        if record.meta.get("id") or record.guessed or record.kind == "rule":
            return record
        with contextlib.suppress(StoreError):
            return self.edit(record.name, {"id": record.id}, bookkeeping=True)
        return record

    def archive(self, name: str, reason: str, into: str = "", checksum: str = "") -> str:
        """Move a record to the archive and return its name there.

        into: the id of the record into which it was merged, or "".  checksum: of the record that
        the caller read, "" for any.
        """
        from memory.store import archive

        self.check(name)
        with self._locked(name):
            record, root = self.read(name), self._root(name[:1])
            if checksum not in ("", record.checksum):
                raise StoreError("%s has changed meanwhile; look at it again" % name)
            source = self._resolve_path(name)
            away = archive.find_free_path(root, name[2:], record.checksum)
            self._log_move(name[0], archive.Move(record.id, name[2:], away, into), reason)
            self._move_file(name[0], source, away)
        return name[:2] + away

    def promote(self, name: str, fixed: str) -> Record:
        """Move a record to a fixed name and return it.

        A record there is first copied to an ordinary name: a crash loses none.
        """
        with self._locked(fixed, name):
            source, target = self._resolve_path(name), self._resolve_path(fixed)
            if os.path.lexists(target) and self.raw(fixed).strip():
                self._copy_aside(fixed)
            os.replace(source, target)
        return self.read(fixed)

    def demote(self, fixed: str) -> Record:
        """Move a record to an ordinary name and return it."""
        self.check(fixed)
        with self._locked(fixed):
            path, name = self._resolve_path(fixed), self._copy_aside(fixed)
            os.unlink(path)
        return self.read(name)

    def remove(self, name: str) -> None:
        """Delete a record's file.  The archive's log gets no text of it."""
        from memory.store import archive

        self.check(name)
        with self._locked(name):
            self._resolve_path(name)
            root, parts = self._split_name(name)
            id = until = session = ""
            with contextlib.suppress(StoreError):
                record = self.read(name)
                id, until = record.id, meta_text(record, "until")
                session = meta_text(record, "session") if until else ""
            files.remove(root + "/" + "/".join(parts))  # a link goes, what it leads to stays
            self._log_move(name[0], archive.Move(id, until, ""), archive.REMOVED, session)

    def restore(self, id: str) -> Record:
        """Move a record back from the archive and return it.

        id: also its prefix or title.  A newer text of the same record is archived in exchange.
        """
        from memory.store import archive

        letter, move = self._find_move(id.strip())
        if self._has_id(letter + "/" + move.home, move.id):
            return self._swap_with_archived(letter, move)
        return self.bring_back(letter, move, archive.RESTORED)

    def _swap_with_archived(self, letter: str, move: Move) -> Record:
        from memory.store import archive

        name = letter + "/" + move.home
        with self._locked(name):
            record, present = self.read(name), self._resolve_path(name)
            source = self._resolve_path(letter + "/" + move.away)
            away = archive.find_free_path(self.roots[letter], move.home, record.checksum)
            self._log_move(letter, archive.Move(move.id, move.away, move.home), archive.RESTORED)
            # last in the log: this one is found in the archive from now on
            self._log_move(letter, archive.Move(move.id, move.home, away), "replaced")
            self._move_file(letter, present, away)
            self._move_file(letter, source, move.home)
        return self.read(name)

    def bring_back(self, letter: str, move: Move, reason: str) -> Record:
        """Move a record back from a tier's archive.  move: as `away` returns it."""
        from memory.store import archive

        name = letter + "/" + move.home
        with self._locked(name):
            source = self._resolve_path(letter + "/" + move.away)
            is_moved = archive.have_same_bytes(source, self.roots[letter] + "/" + move.home)
            self._resolve_path(name, absent=not is_moved)
            self._move_file(letter, source, move.home)
            self._log_move(letter, archive.Move(move.id, move.away, move.home), reason)
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

    def _root_for_new(self, stem: str, tier: str) -> str:
        kind = next((kind for kind in FOLDERS if stem.startswith(FOLDERS[kind] + "/")), "")
        if not is_kind_allowed(kind, tier):
            raise UsageError("a conversation stays in the private tier")
        return self._root(tier)

    def _resolve_path(self, name: str, absent: bool = False) -> str:
        """Return the resolved path of a record.  absent: fail if it is there."""
        root, parts = self._split_name(name)
        path = root + "/" + "/".join(parts)
        if not files.is_inside(path.rpartition("/")[0], root) or not files.is_inside(path, root):
            remedy = "replace the link with the file itself"
            raise Unreadable(name, 0, "a link out of the store", remedy)
        if absent and os.path.lexists(path):
            raise StoreError("%s: another file is there; rename one of the two" % name)
        return files.real_path(path)

    # ---- the steps of a write

    def cleaned(self, value: Any) -> Any:
        """Return a nested value of texts without private parts and secrets."""
        return redactor.clean(value, self.config, self.place.key)

    def _prepare_folder(self, tier: str, folder: str, new: NewRecord) -> None:
        self._make_folder(tier, folder)
        if os.stat(folder).st_size <= LISTING_LIMIT or new.digest[0] == "0":
            files.delete_leftovers(folder, self.now)

    def fits(self, tier: str, data: bytes, before: bytes = b"") -> None:
        """Raise StoreError where a shared record gains a path of this machine."""
        if tier != SHARED:
            return
        from memory.store import localpaths

        old, new = before.decode("utf-8", "replace"), data.decode("utf-8", "replace")
        known = {path.what for path in localpaths.find(old, self.place)}
        for path in localpaths.find(new, self.place):
            if path.what not in known:
                raise StoreError("%s is not for the repository; %s" % (path.what, path.remedy))

    def _copy_aside(self, name: str) -> str:
        """Copy a record to an ordinary name and return that."""
        record, data = self.read(name), self.raw(name)
        key = (record.kind, record.title, record.body, record.created)
        stem, digest = name.rpartition("/")[0] + "/" + writer.stem(*key), writer.digest(*key)
        for at in range(0, 64, 4):
            aside = "%s-%s.md" % (stem, digest[at : at + 4])
            path = self._resolve_path(aside)
            self._make_folder(name[0], path.rpartition("/")[0])
            try:
                files.create(path, data, file_mode(name[0]))
            except FileExistsError:
                if self.raw(aside) != data:
                    continue
            self._report_change(aside)
            return aside
        raise StoreError(
            "%s: no free name for it; rename the files that start like %s" % (name, stem)
        )

    def _has_id(self, name: str, id: str) -> bool:
        try:
            return self.read(name).id == id
        except StoreError:
            return False

    def _replace_bytes(self, name: str, before: bytes, data: bytes) -> None:
        """Replace a record's bytes, without newly added secrets."""
        if frontmatter.find_merge_marker(before):
            raise StoreError(
                "%s: git could not merge it; keep the right lines, remove the markers, then try "
                "again" % self.place.path(name)
            )
        data = redactor.clean_change(before, data, self.config, self.place.key)
        data = writer.keep_sealed(name, before, data, self.config)
        self.fits(name[:1], data, before)
        self._restrict_access(name[:1])
        path = self._resolve_path(name)
        files.replace(path, data, file_mode(name[0]))
        verify_written(name, path, data)

    def _restrict_access(self, tier: str) -> None:
        """Deny others write access to a private tier; refuse their folder."""
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

    def _make_folder(self, tier: str, folder: str) -> None:
        # private, but readable by all in the shared tier
        self._restrict_access(tier)
        root = self.roots[tier]
        if not files.is_inside(folder, root):
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

            archive.write_git_attributes(root)

    def _move_file(self, tier: str, source: str, target: str) -> None:
        from memory.store import archive

        path = self.roots[tier] + "/" + target
        self._make_folder(tier, path.rpartition("/")[0])
        archive.move_file(source, path, file_mode(tier))

    def _log_move(self, tier: str, move: Move, reason: str, session: str = "") -> None:
        from memory.store import archive

        self._make_folder(tier, self.roots[tier] + "/" + archive.FOLDER)
        root, mode = self.roots[tier], file_mode(tier)
        archive.log(root, move, self.cleaned(reason), self.now, mode, session)

    def _report_change(self, name: str) -> None:
        if name[:1] == SHARED:
            from memory.hook import announcements

            with contextlib.suppress(OSError, DayleafError):
                announcements.add_known_file(self.place, self.place.path(name))
        if self.on_change is not None:
            with contextlib.suppress(OSError, DayleafError):
                self.on_change(name)

    @contextlib.contextmanager
    def _locked(self, name: str, *others: str) -> Iterator[None]:
        """Lock the store while a record changes, then report the change."""
        with self._naming_errors(name), writer.lock(self.place.home):
            yield
        for changed in (name, *others):
            self._report_change(changed)

    @contextlib.contextmanager
    def _naming_errors(self, name: str) -> Iterator[None]:
        """Turn an OSError into a StoreError that names the record."""
        if name[:1] == ADDED:
            raise StoreError(READ_ONLY % self.place.path(name))
        try:
            yield
        except FileExistsError:
            raise StoreError("%s: another file is there; rename one of the two" % name) from None
        except OSError as error:
            raise StoreError(
                "%s could not be written: %s; check the disk and the permissions of %s"
                % (name, (error.strerror or str(error)).lower(), self._existing_folder(name))
            ) from error

    def _existing_folder(self, name: str) -> str:
        path = self.roots.get(name[:1], self.place.home) + "/" + name[2:].rpartition("/")[0]
        while "/" in path and not files.is_folder(path):
            path = path.rpartition("/")[0]
        return path


BATCH = 256
THREADS = 32  # that wait for the disk at once


class BatchWriter:
    """Writes new records in batches, to wait for the disk less."""

    def __init__(self, store: Store):
        self.store = store
        self._staged: list[tuple[str, NewRecord, str]] = []

    def add(self, tier: str, new: NewRecord) -> None:
        self._staged.append((tier, new, self.store.stage(tier, new, len(self._staged))))
        if len(self._staged) >= BATCH:
            self.flush()

    def flush(self) -> None:
        staged, self._staged = self._staged, []
        if not staged:
            return
        # loaded late: it loads `logging`
        from concurrent.futures import ThreadPoolExecutor

        paths = [temp for _, _, temp in staged]
        with ThreadPoolExecutor(min(THREADS, len(paths))) as pool:
            list(pool.map(files.sync, paths))
        for tier, new, temp in staged:
            self.store.publish(tier, new, temp)
        for folder in sorted({path.rpartition("/")[0] for path in paths}):
            files.sync(folder)
