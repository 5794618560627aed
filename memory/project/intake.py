"""Imports: records made from files of others, once, and updated when those change.

A record that was imported names its source.  Schema, version 1, of its frontmatter's `origin`, a
map on one line:

    from      tree | dir | claude-memory | claude-md
    path      of the source: below the repository, else absolute; in the shared tier then `#` and
              its hash
    part      the headings of the section, where a source gives several records (optional)
    checksum  SHA-256 of the source, or of its section
    written   16 hex digits of the body, `-`, 8 of the title: another body or title is a person's
    id        that the source gave itself (optional)
    below     the path below the imported directory (optional)

A source that has a record, in any tier or in the archive, gets no second one: a second run writes
nothing, and a killed run goes on.  A record whose source is gone belongs to a moved source: with
the same path below its directory, if that is gone too, else with the same id or checksum.  Of a
changed source the record is changed in place, other keys stay; a record that a person edited or
forgot stays as it is.  Nothing is ever removed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, NamedTuple

from memory.core import StoreError, UsageError, clock, files, frontmatter, layout, records
from memory.project import material
from memory.project.otherfiles import ORIGIN, Skip, hash_path
from memory.store import archive, writer
from memory.store.store import BatchWriter, Store

HEAD_BYTES = 1 << 16  # bytes of an archived file that are searched for its origin
Key = tuple[str, str]  # path and part of an origin


class Draft(NamedTuple):
    """A record as read from its source.  extra: more frontmatter."""

    kind: str
    title: str
    body: str
    tags: tuple[str, ...] = ()
    source: str = "human"
    extra: dict[str, Any] | None = None
    problems: tuple[str, ...] = ()  # of the source's frontmatter, as Record.problems


class Piece(NamedTuple):
    """The source of one record.

    shown: the path for messages.  draft: makes the record, or says why not.  versions: the least
    that the record must have.  below: the path below the imported directory, by which a moved
    source is found.
    """

    key: Key
    shown: str
    checksum: str
    draft: Callable[[], Draft | Skip]
    versions: tuple[str, ...] = ()
    below: str = ""


class ExistingRecord(NamedTuple):
    """A record that was made of a source before.

    origin: {} where it has none of this kind.  untouched: no person changed its body.
    """

    name: str
    id: str
    checksum: str
    origin: dict[str, str]
    untouched: bool
    versions: tuple[str, ...]


@dataclass
class Result:
    """The result of an import.

    new, changed, same: ids of records.  gone: (id, path) of records without their source.
    troubled: (source, problem of its frontmatter).  private: ids of records in the private tier,
    though another was named.  cleaned: sources that lost a secret or a private part.  seen: keys.
    """

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    skipped: list[Skip] = field(default_factory=list)
    gone: list[tuple[str, str]] = field(default_factory=list)
    troubled: list[tuple[str, str]] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    cleaned: list[str] = field(default_factory=list)
    seen: set[Key] = field(default_factory=set)

    @property
    def done(self) -> int:
        """The number of pieces dealt with."""
        return len(self.new) + len(self.changed) + len(self.same) + len(self.skipped)


class ImportedRecords:
    """Finds a store's records of earlier imports.  from_: the origin's `from`."""

    def __init__(self, store: Store, from_: str):
        self.by_key: dict[Key, ExistingRecord] = {}
        self.by_text: dict[tuple[str, str], str] = {}
        self.by_path: dict[str, ExistingRecord] = {}
        self.forgotten: dict[Key, str] = {}
        self.moved: dict[tuple[str, str], list[Key]] = {}  # sign, value -> keys of lost sources
        self.root = store.place.root
        for name in store.names():
            with suppress(StoreError):
                self._add_record(name, store.raw(name), from_, store.place.path(name))
        self._add_archived(store, from_)

    def find(self, key: Key) -> ExistingRecord | None:
        """Return a key's record or None; its path may be a hash."""
        return self.by_key.get(key) or self.by_key.get((hash_path(key[0]), key[1]))

    def find_forgotten(self, key: Key) -> str:
        """Return the id of the archived record of a key, or ""."""
        return self.forgotten.get(key) or self.forgotten.get((hash_path(key[0]), key[1]), "")

    def _add_record(self, name: str, data: bytes, from_: str, shown: str) -> None:
        head, offset = frontmatter.split_head(data)
        text = data[offset:].strip()
        kind = name.split("/")[1]
        self.by_text.setdefault((kind, files.sha256(text)), shown)
        if kind != layout.FOLDERS["resource"] and ORIGIN.encode() not in head:
            return
        record = records.from_bytes(name, data[:offset], 0.0)
        given_origin, path = record.meta.get(ORIGIN), record.meta.get("path")
        origin: dict[str, str] = {}
        if isinstance(given_origin, dict) and given_origin.get("from") == from_:
            origin = {key: str(value) for key, value in given_origin.items()}
        checksum = str(record.meta.get("checksum") or origin.get("checksum") or "")
        untouched = origin.get("written", "")[:16] == files.sha256(text)[:16]
        existing = ExistingRecord(name, record.id, checksum, origin, untouched, record.versions)
        if origin:
            key = origin.get("path", ""), origin.get("part", "")
            self.by_key.setdefault(key, existing)
            self._note_lost(key, {**origin, "checksum": checksum})
        if kind == layout.FOLDERS["resource"] and isinstance(path, str):
            self.by_path.setdefault(path, existing)

    def _add_archived(self, store: Store, from_: str) -> None:
        for letter, root in store.roots.items():
            for move in archive.read_archived(root).values():
                with suppress(StoreError):
                    data = store.raw(letter + "/" + move.away)[:HEAD_BYTES]
                    origin = frontmatter.parse(data).meta.get(ORIGIN)
                    if isinstance(origin, dict) and origin.get("from") == from_:
                        key = str(origin.get("path", "")), str(origin.get("part", ""))
                        self.forgotten[key] = move.id
                        self._note_lost(key, origin)

    def _note_lost(self, key: Key, origin: dict[str, Any]) -> None:
        """Note the path, id and checksum by which to find a moved source."""
        path = os.path.join(self.root, key[0])
        if key[1] or os.path.lexists(path):
            return
        below = str(origin.get("below") or "")
        stays = not path.endswith("/" + below) or os.path.lexists(path[: -len(below) - 1])
        signs = ("" if stays else below, origin.get("id"), origin.get("checksum"))
        for sign, value in zip(("below", "id", "checksum"), signs):
            if value:
                self.moved.setdefault((sign, str(value)), []).append(key)

    def find_key(self, piece: Piece, seen: set[Key]) -> Key:
        """Return a piece's key, or the former key of a moved source."""
        if not piece.below or not self.moved:
            return piece.key
        if self.find(piece.key) or self.find_forgotten(piece.key):
            return piece.key
        for sign, value in (("below", piece.below), ("id", ""), ("checksum", piece.checksum)):
            if sign == "id" and any(sign == lost_sign for lost_sign, _ in self.moved):
                value = _read_source_id(piece)
            lost = [key for key in self.moved.get((sign, value), ()) if key not in seen]
            if lost:
                return lost[0]
        return piece.key


def import_pieces(
    store: Store,
    pieces: Iterable[Piece | Skip],
    from_: str,
    tier: str,
    dry: bool = False,
    told: Callable[[int], None] | None = None,
    covered: Callable[[str], bool] = lambda path: False,
) -> Result:
    """Write or update a record for each piece; raises StoreError.

    from_: the origin's `from`.  tier: of new records.  told: called with the number of pieces
    done.  covered: tells whether the pieces hold everything of a path, so that its other records
    have lost their source.  An interrupted run keeps what was written.
    """
    run = _Importer(store, from_, tier, dry)
    result = run.result
    try:
        for piece in pieces:
            if isinstance(piece, Skip):
                result.skipped.append(piece)
            elif piece.key not in result.seen:
                result.seen.add(piece.key)
                skip = run.import_piece(piece)
                if skip:
                    result.skipped.append(skip)
            if told:
                told(result.done)
    finally:
        run.bulk.flush()
    # "#": only the hash of its path is known
    result.gone = [
        (existing.id, " § ".join(filter(None, key)))
        for key, existing in sorted(run.imported.by_key.items())
        if key not in result.seen and key[0][:1] != "#" and covered(key[0])
    ]
    return result


class _Importer:
    def __init__(self, store: Store, from_: str, tier: str, dry: bool):
        self.store, self.from_, self.tier, self.dry = store, from_, tier, dry
        self.imported, self.bulk = ImportedRecords(store, from_), BatchWriter(store)
        self.result = Result()

    def import_piece(self, piece: Piece) -> Skip | None:
        """Add or update the record of a piece, or return why not."""
        result, imported = self.result, self.imported
        key = imported.find_key(piece, result.seen)
        result.seen.add(key)
        existing = imported.find(key)
        if existing is None and self.from_ == "tree":
            existing = imported.by_path.get(piece.key[0])
        if existing is not None:
            if self.tier != layout.PRIVATE and existing.name[:1] == layout.PRIVATE:
                result.private.append(existing.id)
            return self._update_existing(existing, piece)
        id = imported.find_forgotten(key)
        if id:
            remedy = "`dayleaf store restore %s` brings it back" % id
            return Skip(piece.shown, "forgotten before", remedy)
        return self._add_record(piece)

    def _add_record(self, piece: Piece) -> Skip | None:
        """Write a new record, unless another has its text; return why not."""
        draft = self._draft(piece)
        if isinstance(draft, Skip):
            return draft
        try:
            new = self._compose_record(piece, draft)
        except UsageError as error:
            return Skip(piece.shown, str(error).partition("; ")[0], "nothing to do")
        except StoreError as error:
            return _skip_for_error(piece, error)
        body = new.data[frontmatter.split_head(new.data)[1] :].strip()
        text, known = (layout.FOLDERS[draft.kind], files.sha256(body)), self.imported.by_text
        if text in known and self.from_ != "tree":
            return Skip(piece.shown, "the same text is in %s" % known[text], "nothing to do")
        known[text] = piece.shown
        if not self.dry:
            self.bulk.add(self.tier, new)
        self.result.new.append(new.id)
        return None

    def _clean(self, piece: Piece, value: list[Any]) -> list[Any]:
        """Return [title, body, …] without secrets and private parts."""
        cleaned: list[Any] = self.store.cleaned(value)
        if cleaned[:2] != value[:2] or "[redacted:" in str(cleaned[2:]):
            self.result.cleaned.append(piece.shown)
        return cleaned

    def _draft(self, piece: Piece) -> Draft | Skip:
        draft = piece.draft()
        if isinstance(draft, Draft):
            self.result.troubled.extend((piece.shown, problem) for problem in draft.problems)
        return draft

    def _compose_record(self, piece: Piece, draft: Draft) -> writer.NewRecord:
        extra = draft.extra or {}

        def clean(value: Any) -> Any:
            # without checksums: beside a path that names a key they would pass for secrets
            title, body, given = self._clean(piece, value)
            if "checksum" in extra:
                given["checksum"] = piece.checksum
                given["snapshot"] = material.fingerprint(body)
            given[ORIGIN] = self._origin(piece, title, body, draft, self.tier)
            return [title, body, given]

        new = writer.compose_record(
            draft.kind,
            draft.title,
            draft.body,
            clean,
            self.store.now,
            tags=draft.tags,
            source=draft.source,
            extra={key: extra[key] for key in extra if key not in ("checksum", ORIGIN)},
            mark="\0".join((self.from_, *piece.key)),
            config=self.store.config,
        )
        self.store.fits(self.tier, new.data)
        return new

    def _origin_path(self, piece: Piece, tier: str) -> str:
        path = hash_path(piece.key[0]) if tier == layout.SHARED else piece.key[0]
        cleaned: str = self.store.cleaned(path)
        return cleaned

    def _origin(
        self, piece: Piece, title: str, body: str, draft: Draft, tier: str
    ) -> dict[str, str]:
        path, part = self._origin_path(piece, tier), piece.key[1]
        below = piece.below if path.endswith("/" + piece.below) else ""
        own: dict[str, str] = (draft.extra or {}).get(ORIGIN) or {}
        return {
            "from": self.from_,
            "path": path,
            **({"part": part} if part else {}),
            **({"below": below} if below else {}),
            "checksum": piece.checksum,
            "written": material.fingerprint(body) + "-" + _hash_title(writer.title_line(title)),
            **own,
        }

    def _update_existing(self, existing: ExistingRecord, piece: Piece) -> Skip | None:
        changes = self._find_head_changes(existing, piece) if existing.origin else {}
        if existing.checksum == piece.checksum and not changes:
            self.result.same.append(existing.id)
            return None
        try:
            if existing.checksum != piece.checksum:
                skip = self._renew_record(existing, piece, changes)
                if skip:
                    return skip
            elif not self.dry:
                self.store.edit(existing.name, changes)
        except StoreError as error:
            return _skip_for_error(piece, error)
        self.result.changed.append(existing.id)
        return None

    def _find_head_changes(self, existing: ExistingRecord, piece: Piece) -> dict[str, Any]:
        """Return the new versions, and the new path of a moved source."""
        changes: dict[str, Any] = {}
        new = [version for version in piece.versions if version not in existing.versions]
        if new:
            changes["versions"] = [*existing.versions, *new]
        path = self._origin_path(piece, existing.name[:1])
        if piece.below and path != existing.origin.get("path"):
            changes[ORIGIN] = {**existing.origin, "path": path, "below": piece.below}
        return changes

    def _renew_record(
        self, existing: ExistingRecord, piece: Piece, changes: dict[str, Any]
    ) -> Skip | None:
        """Write a changed source into its record, or return why not."""
        id = existing.id
        if not existing.origin:
            return Skip(
                piece.shown,
                "the resource %s already describes it, and was not imported" % id,
                "`dayleaf record forget %s`, then import again to take the source's text" % id,
            )
        if not existing.untouched:
            return Skip(
                piece.shown,
                "it has changed, but its record %s was edited by hand" % id,
                "`dayleaf record edit %s` takes over what is new in it" % id,
            )
        draft = self._draft(piece)
        if isinstance(draft, Skip):
            return draft
        if not self.dry:
            self._rewrite_record(existing, piece, draft, changes)
        return None

    def _rewrite_record(
        self, existing: ExistingRecord, piece: Piece, draft: Draft, changes: dict[str, Any]
    ) -> None:
        store, extra = self.store, draft.extra or {}
        old = store.raw(existing.name)
        title, body = self._clean(piece, [draft.title, draft.body])
        title = writer.title_line(title)
        before = writer.title_line(str(frontmatter.parse(old).meta.get("title") or ""))
        written = existing.origin.get("written", "").partition("-")[2]
        has_own_title = _hash_title(before) != written
        keys = ("checksum", "source_ref", "refreshed")
        head = {key: extra[key] for key in keys if key in extra}
        head.update(changes, updated=clock.iso(store.now))
        head[ORIGIN] = self._origin(piece, title, body, draft, existing.name[:1])
        if "checksum" in extra:
            head["snapshot"] = material.fingerprint(body)
        if not has_own_title:
            head["title"] = title
        data = frontmatter.edit(old, head, existing.name)
        text = body.lstrip("\n").encode("utf-8", "replace")
        data = data[: frontmatter.split_head(data)[1]] + b"\n" + text
        store.replace(existing.name, data, files.sha256(old))


def _skip_for_error(piece: Piece, error: StoreError) -> Skip:
    reason, _, remedy = str(error).partition("; ")
    return Skip(piece.shown, reason, remedy)


def _read_source_id(piece: Piece) -> str:
    draft = piece.draft()
    extra = (draft.extra or {}) if isinstance(draft, Draft) else {}
    return str((extra.get(ORIGIN) or {}).get("id") or "")


def _hash_title(title: str) -> str:
    return files.sha256(title.encode("utf-8", "replace"))[:8]
