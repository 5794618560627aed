"""Imports: what files of others say, brought into the store once and kept in step with them.

A record that was imported names its source.  Schema, version 1, of its frontmatter's `origin`, a
map on one line:

    from       tree | dir | claude-memory | claude-md        path      of the source: below the
                                                             repository, else absolute; in the
                                                             shared tier then `#` and its hash
    part       the headings of the section, where a source gives several records (optional)
    checksum   SHA-256 of the source, or of its section      written   16 hex digits of the body and
                                                             8 of the title that
    id         that the source gave itself (optional)                  were written: another body or
    below      the path below the imported directory (optional)        title is a person's

Where a source's record stands, in any tier or in the archive, it is that record, and its id
follows from the origin: a second run writes nothing, and one that was killed goes on.  A record
whose source is gone belongs to a source with the same path below its directory, if that is gone
too, else with the same id or checksum: it has been moved.  Of a changed source
the record is changed in place, other keys stay; what a person has edited, and what was forgotten,
is left as it is.  Nothing is ever removed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, NamedTuple

from memory.core import StoreError, UsageError, clock, files, frontmatter, layout, records
from memory.project import material
from memory.project.otherfiles import ORIGIN, Skip, hidden_path
from memory.store import archive, writer
from memory.store.store import Bulk, Store

HEAD = 1 << 16  # bytes of an archived file that are searched for its origin
Key = tuple[str, str]  # path and part of an origin


class Draft(NamedTuple):
    """A record as read from its source; extra: more of its frontmatter."""

    kind: str
    title: str
    body: str
    tags: tuple[str, ...] = ()
    source: str = "human"
    extra: dict[str, Any] | None = None
    problems: tuple[str, ...] = ()  # of the source's frontmatter, as Record.problems


class Piece(NamedTuple):
    """The source of one record.

    key: path and part.  shown: the path for messages.  draft: makes the record, or says why not.
    versions: those that the record must have at least.  below: the path below the imported
    directory, by which the source may be found again.
    """

    key: Key
    shown: str
    checksum: str
    draft: Callable[[], Draft | Skip]
    versions: tuple[str, ...] = ()
    below: str = ""


class Standing(NamedTuple):
    """An existing record from a source.

    origin: the whole one, {} where none of this kind stands.  untouched: its body is as a machine
    wrote it.
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

    new, changed, same: ids of records.  gone: (id, path) of records whose source is gone. troubled:
    (source, problem of its frontmatter).  private: ids of records that stand in the private tier,
    though another was named.  cleaned: sources that lost a secret or a private part.  seen: the
    keys met.
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


class Imported:
    """A store's records of earlier imports, and where to find each."""

    def __init__(self, store: Store, from_: str):
        """Read every record's head once.  from_: the origin's `from`."""
        self.by_key: dict[Key, Standing] = {}
        self.by_text: dict[tuple[str, str], str] = {}
        self.by_path: dict[str, Standing] = {}
        self.forgotten: dict[Key, str] = {}
        self.moved: dict[tuple[str, str], list[Key]] = {}  # sign, value -> keys of lost sources
        self.root = store.place.root
        for name in store.names():
            with suppress(StoreError):
                self._take(name, store.raw(name), from_, store.place.path(name))
        self._archived(store, from_)

    def find(self, key: Key) -> Standing | None:
        """Return the record of a key, whichever way it gives the path."""
        return self.by_key.get(key) or self.by_key.get((hidden_path(key[0]), key[1]))

    def was_forgotten(self, key: Key) -> str:
        """Return the id of a key's archived record, or ""."""
        return self.forgotten.get(key) or self.forgotten.get((hidden_path(key[0]), key[1]), "")

    def _take(self, name: str, data: bytes, from_: str, shown: str) -> None:
        head, offset = frontmatter.split(data)
        text = data[offset:].strip()
        kind = name.split("/")[1]
        self.by_text.setdefault((kind, files.sha256(text)), shown)
        if kind != layout.FOLDERS["resource"] and ORIGIN.encode() not in head:
            return
        record = records.from_bytes(name, data[:offset], 0.0)
        said, path = record.meta.get(ORIGIN), record.meta.get("path")
        origin: dict[str, str] = {}
        if isinstance(said, dict) and said.get("from") == from_:
            origin = {key: str(value) for key, value in said.items()}
        checksum = str(record.meta.get("checksum") or origin.get("checksum") or "")
        untouched = origin.get("written", "")[:16] == files.sha256(text)[:16]
        found = Standing(name, record.id, checksum, origin, untouched, record.versions)
        if origin:
            key = origin.get("path", ""), origin.get("part", "")
            self.by_key.setdefault(key, found)
            self._note_lost(key, {**origin, "checksum": checksum})
        if kind == layout.FOLDERS["resource"] and isinstance(path, str):
            self.by_path.setdefault(path, found)

    def _archived(self, store: Store, from_: str) -> None:
        for letter, root in store.roots.items():
            for move in archive.archived_moves(root).values():
                with suppress(StoreError):
                    origin = _meta(store.raw(letter + "/" + move.away)[:HEAD]).get(ORIGIN)
                    if isinstance(origin, dict) and origin.get("from") == from_:
                        key = str(origin.get("path", "")), str(origin.get("part", ""))
                        self.forgotten[key] = move.id
                        self._note_lost(key, origin)

    def _note_lost(self, key: Key, origin: dict[str, Any]) -> None:
        """Note the signs by which a record without its source is known."""
        path = os.path.join(self.root, key[0])
        if key[1] or os.path.lexists(path):
            return
        below = str(origin.get("below") or "")
        stays = not path.endswith("/" + below) or os.path.lexists(path[: -len(below) - 1])
        signs = ("" if stays else below, origin.get("id"), origin.get("checksum"))
        for sign, value in zip(("below", "id", "checksum"), signs):
            if value:
                self.moved.setdefault((sign, str(value)), []).append(key)

    def key_of(self, piece: Piece, seen: set[Key]) -> Key:
        """Return the key of a piece's source, before a move if it moved."""
        if not piece.below or not self.moved:
            return piece.key
        if self.find(piece.key) or self.was_forgotten(piece.key):
            return piece.key
        for sign, value in (("below", piece.below), ("id", ""), ("checksum", piece.checksum)):
            if sign == "id" and any(sign == one for one, _ in self.moved):
                value = _id_there(piece)
            lost = [key for key in self.moved.get((sign, value), ()) if key not in seen]
            if lost:
                return lost[0]
        return piece.key


def bring(
    store: Store,
    pieces: Iterable[Piece | Skip],
    from_: str,
    tier: str,
    dry: bool = False,
    told: Callable[[int], None] | None = None,
    covered: Callable[[str], bool] = lambda path: False,
) -> Result:
    """Bring pieces into the store; raises StoreError where nothing can be written.

    from_: the origin's `from`.  tier: of new records.  dry: write nothing.  told: called with the
    number of pieces done.  covered: tells whether all that a path gives is among the pieces, so
    that the rest is gone.  What was written stands even where the iteration is interrupted.
    """
    result, shelf, bulk = Result(), Imported(store, from_), Bulk(store)
    try:
        for piece in pieces:
            if isinstance(piece, Skip):
                result.skipped.append(piece)
            elif piece.key not in result.seen:
                result.seen.add(piece.key)
                _one(store, shelf, piece, from_, tier, None if dry else bulk, result)
            if told:
                told(result.done)
    finally:
        bulk.flush()
    result.gone = [
        (found.id, " § ".join(filter(None, key)))
        for key, found in sorted(shelf.by_key.items())
        if key not in result.seen and key[0][:1] != "#" and covered(key[0])
    ]
    return result


def _drafted(piece: Piece, result: Result) -> Draft | Skip:
    made = piece.draft()
    if isinstance(made, Draft):
        result.troubled.extend((piece.shown, problem) for problem in made.problems)
    return made


def _one(
    store: Store,
    shelf: Imported,
    piece: Piece,
    from_: str,
    tier: str,
    bulk: Bulk | None,
    result: Result,
) -> None:
    key = shelf.key_of(piece, result.seen)
    result.seen.add(key)
    found = shelf.find(key) or (shelf.by_path.get(piece.key[0]) if from_ == "tree" else None)
    if found is not None:
        if found.name[:1] == layout.PRIVATE != tier:
            result.private.append(found.id)
        return _update_existing(store, found, piece, from_, bulk is None, result)
    id = shelf.was_forgotten(key)
    if id:
        result.skipped.append(
            Skip(piece.shown, "forgotten before", "`dayleaf store restore %s` brings it back" % id)
        )
        return None
    made = _made(store, piece, from_, tier, result)
    if isinstance(made, Skip):
        result.skipped.append(made)
        return None
    draft, new = made
    text = (
        layout.FOLDERS[draft.kind],
        files.sha256(new.data[frontmatter.split(new.data)[1] :].strip()),
    )
    twin = "" if from_ == "tree" else shelf.by_text.get(text, "")
    if twin:
        result.skipped.append(Skip(piece.shown, "the same text is in %s" % twin, "nothing to do"))
        return None
    shelf.by_text[text] = piece.shown
    if bulk is not None:
        bulk.add(tier, new)
    result.new.append(new.id)
    return None


def _made(
    store: Store, piece: Piece, from_: str, tier: str, result: Result
) -> Skip | tuple[Draft, writer.New]:
    draft = _drafted(piece, result)
    if isinstance(draft, Skip):
        return draft
    bare = {
        key: value for key, value in (draft.extra or {}).items() if key not in ("checksum", ORIGIN)
    }

    def cleaned(value: Any) -> Any:
        # Checksums stay out of what is cleaned: beside a path that names a key they would pass for
        # secrets.
        title, body, given = store.cleaned(value)
        if [title, body] != value[:2]:
            result.cleaned.append(piece.shown)
        known = (
            {"checksum": piece.checksum, "snapshot": material.print_of(body)}
            if "checksum" in (draft.extra or {})
            else {}
        )
        origin = _origin(piece, from_, title, body, draft, store.cleaned(_path(piece, tier)))
        return [title, body, {**given, **known, ORIGIN: origin}]

    try:
        made = writer.composed(
            draft.kind,
            draft.title,
            draft.body,
            cleaned,
            store.now,
            tags=draft.tags,
            source=draft.source,
            extra=bare,
            mark="\0".join((from_, *piece.key)),
        )
        store.fits(tier, made.data)
    except UsageError as error:
        return Skip(piece.shown, str(error).partition("; ")[0], "nothing to do")
    except StoreError as error:
        reason, _, remedy = str(error).partition("; ")
        return Skip(piece.shown, reason, remedy)
    return draft, made


def _id_there(piece: Piece) -> str:
    made = piece.draft()
    extra = (made.extra or {}) if isinstance(made, Draft) else {}
    return str((extra.get(ORIGIN) or {}).get("id") or "")


def _path(piece: Piece, tier: str) -> str:
    return hidden_path(piece.key[0]) if tier == layout.SHARED else piece.key[0]


def _origin(
    piece: Piece, from_: str, title: str, body: str, draft: Draft, path: str
) -> dict[str, str]:
    part, below = piece.key[1], piece.below if path.endswith("/" + piece.below) else ""
    more: dict[str, str] = (draft.extra or {}).get(ORIGIN) or {}
    return {
        "from": from_,
        "path": path,
        **({"part": part} if part else {}),
        **({"below": below} if below else {}),
        "checksum": piece.checksum,
        "written": material.print_of(body) + "-" + _short(writer.title_line(title)),
        **more,
    }


def _changed_head(store: Store, found: Standing, piece: Piece) -> dict[str, Any]:
    more: dict[str, Any] = {}
    new = [one for one in piece.versions if one not in found.versions]
    if new:
        more["versions"] = [*found.versions, *new]
    path = store.cleaned(_path(piece, found.name[:1]))
    if piece.below and path != found.origin.get("path"):
        more["origin"] = {**found.origin, "path": path, "below": piece.below}
    return more


def _update_existing(
    store: Store, found: Standing, piece: Piece, from_: str, dry: bool, result: Result
) -> None:
    more = _changed_head(store, found, piece) if found.origin else {}
    if found.checksum == piece.checksum and not more:
        result.same.append(found.id)
        return
    try:
        skip = _renewed(store, found, piece, from_, result, dry, more)
    except StoreError as error:
        reason, _, remedy = str(error).partition("; ")
        skip = Skip(piece.shown, reason, remedy)
    if skip:
        result.skipped.append(skip)
    else:
        result.changed.append(found.id)


def _renewed(
    store: Store,
    found: Standing,
    piece: Piece,
    from_: str,
    result: Result,
    dry: bool,
    more: dict[str, Any],
) -> Skip | None:
    if found.checksum == piece.checksum:
        if not dry:
            store.edit(found.name, more)
        return None
    if not found.origin:
        return Skip(
            piece.shown,
            "the resource %s already describes it, and was not imported" % found.id,
            "`dayleaf record forget %s`, then import again to take the source's text" % found.id,
        )
    if not found.untouched:
        return Skip(
            piece.shown,
            "it has changed, but its record %s was edited by hand" % found.id,
            "`dayleaf record edit %s` takes over what is new in it" % found.id,
        )
    draft = _drafted(piece, result)
    if isinstance(draft, Skip):
        return draft
    if not dry:
        _change(store, found, piece, draft, from_, more, result)
    return None


def _change(
    store: Store,
    found: Standing,
    piece: Piece,
    draft: Draft,
    from_: str,
    more: dict[str, Any],
    result: Result,
) -> None:
    old = store.raw(found.name)
    title, body = store.cleaned([draft.title, draft.body])
    if [title, body] != [draft.title, draft.body]:
        result.cleaned.append(piece.shown)
    title = writer.title_line(title)
    extra = draft.extra or {}
    own = (
        _short(writer.title_line(str(_meta(old).get("title") or "")))
        != found.origin.get("written", "")[17:]
    )
    changes: dict[str, Any] = {
        key: extra[key] for key in ("checksum", "source_ref", "refreshed") if key in extra
    }
    changes.update(
        more,
        updated=clock.iso(store.now),
        origin=_origin(
            piece, from_, title, body, draft, store.cleaned(_path(piece, found.name[:1]))
        ),
    )
    if "checksum" in extra:
        changes["snapshot"] = material.print_of(body)
    if not own:
        changes["title"] = title
    data = frontmatter.edit(old, changes, found.name)
    data = data[: frontmatter.split(data)[1]] + b"\n" + body.lstrip("\n").encode("utf-8", "replace")
    store.replace(found.name, data, files.sha256(old))


def _short(title: str) -> str:
    return files.sha256(title.encode("utf-8", "replace"))[:8]


def _meta(head: bytes) -> dict[str, Any]:
    return frontmatter.parse(head).meta
