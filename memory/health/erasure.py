"""Taking a text out of everything that dayleaf keeps, and proving that it is gone.

Looked for are the text as it is and in other case, composed and decomposed, on one line, its long
lines by themselves, as a file's name has it, JSON-escaped once and twice, percent-encoded, in
UTF-16, in base64 at any offset, and where it is one token as the term of the index.  Case counts in
base64 alone.

A record, and what is kept of it for a way back, gets a mark in the text's place, with the
permissions and time that it had; the journal of upkeep follows to the new hashes, so that an undo
still works.  A log that others append to is covered in place, byte for byte.  What is derived of
the text goes as a whole: index, vectors, digests, past queries, of every workspace that the record
counts in; and the copy of an approved content.  Settings are the user's own, other programs' files
are theirs: both are named.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import (
    Callable,
    NamedTuple,
)
from unicodedata import normalize
from urllib.parse import quote

from memory.core import StoreError, approvals, fastjson, files, layout, walk
from memory.core.layout import FOLDERS, Place
from memory.core.tokeniser import expand
from memory.session import transcript
from memory.store import archive, conversations
from memory.store.writer import WHOLE, Tiers

Progress = Callable[[int], None]
SHORTEST = 4  # characters of a text that is looked for
LONG_LINE = 40  # characters from which a line of a text is looked for by itself
TERM = 8  # characters of an index term that stands for the text
ENCODED = 6  # bytes from which base64 is looked for
SEARCHED = (
    "as it is, in upper and lower case, on one line, JSON-escaped, percent-encoded, in UTF-16 "
    "and base64, as an index term"
)

RECORD, OTHER, ARCHIVE, BEFORE, MOVES, LOG, STATE, COPY, DERIVED, TEMP, SETTINGS, FOREIGN = (
    "record",
    "other record",
    "archive",
    "before an upkeep",
    "log of moves",
    "log",
    "state",
    "approved copy",
    "derived",
    "temporary",
    "settings",
    "not ours",
)
LEFT = (SETTINGS, FOREIGN)
DERIVED_ENDS = (
    ".seg",
    ".log",
    ".scan",
    ".stale",
    ".checked",
    ".vec",
    ".vec-journal",
    ".damaged",
    ".tags",
    ".review",
    ".seen",
    ".walls",
    ".met",
    ".turned",
    ".facts",
    ".claims",
    ".heads",
    ".clean",
    ".secrets",
)
_KINDS = frozenset(FOLDERS.values())
_FORMAT = (
    "id kind title created updated tags topics versions links relation target source confidence "
    "pinned accepted human agent auto session trigger branch commit files until written "
    "conversation conversations rationale type path source_ref checksum refreshed status active "
    "done dropped workspace decision approve reject sha256 event archive learnings checkpoints "
    "resources plans rules global markdown strategy candidates chosen transcript prompt startup "
    "resume medium before after redacted provider record"
).split()


class Finder(NamedTuple):
    """Finds texts in bytes.

    expression: matches their forms. marks: the replacement by form, in lower case except base64.
    """

    expression: re.Pattern[bytes]
    marks: Mapping[bytes, str]

    def count(self, data: bytes) -> int:
        """Count the texts in some bytes."""
        return sum(1 for _ in self.expression.finditer(data))

    def mark(self, found: re.Match[bytes]) -> bytes:
        """Return the replacement of a hit, in the hit's own encoding."""
        raw = found[0]
        mark = self.marks.get(raw) or self.marks.get(raw.lower()) or next(iter(self.marks.values()))
        wide = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be" if raw[:1] == b"\0" else "ascii"
        return mark.encode(wide)

    def cleaned(self, data: bytes) -> bytes:
        """Return bytes with each text replaced by its mark."""
        return self.expression.sub(self.mark, data)

    def covered(self, data: bytes) -> bytes:
        """Return bytes with each text masked at its own length.

        For a file that others append to.
        """

        def cover(found: re.Match[bytes]) -> bytes:
            mark, size = self.mark(found), len(found[0])
            wide = b"*\0" if found[0][1:2] == b"\0" else b"\0*" if found[0][:1] == b"\0" else b"*"
            return (mark if len(mark) <= size else b"") + wide * (
                (size - (len(mark) if len(mark) <= size else 0)) // len(wide)
            )

        return self.expression.sub(cover, data)

    def covers(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, mask) for each text in some bytes."""
        return ((hit.start(), self.covered(hit[0])) for hit in self.expression.finditer(data))


def finder(texts: Mapping[str, str]) -> Finder:
    """Return a finder of some texts.

    texts: each with the ASCII mark that replaces it.
    """
    exact: dict[bytes, str] = {}
    anyhow: dict[bytes, str] = {}
    for text, mark in texts.items():
        for form in forms(text):
            anyhow.setdefault(form.lower(), mark)
        for form in _in_base64(text):
            exact.setdefault(form, mark)
    ordered = sorted(anyhow, key=lambda form: (-len(form), form))
    parts = [re.escape(form) for form in ordered]
    parts += [
        b"(?-i:%s)" % re.escape(form) for form in sorted(exact, key=lambda form: (-len(form), form))
    ]
    return Finder(re.compile(b"|".join(parts), re.I), {**anyhow, **exact})


def forms(text: str) -> Iterator[bytes]:
    """Yield the bytes in which a text may be stored.

    In one case, without base64.
    """
    for plain in _spellings(text):
        for said in (
            plain,
            fastjson.quote(plain)[1:-1],
            _escaped(plain),
            fastjson.quote(fastjson.quote(plain)[1:-1])[1:-1],
        ):
            yield said.encode("utf-8", "surrogateescape")
        yield quote(plain, safe="-._~").encode("ascii")
        yield quote(plain, safe="/:@!$&'()*+,;=-._~").encode("ascii")
        yield plain.encode("utf-16-le", "surrogatepass")
        yield plain.encode("utf-16-be", "surrogatepass")
    if not any(char.isspace() for char in text):
        for term, weight in expand(text):
            if weight == 1.0 and len(term) >= TERM and any(char.isdigit() for char in term):
                yield term.encode("utf-8")


def _spellings(text: str) -> list[str]:
    same = [
        text,
        text.casefold(),
        text.lower(),
        text.upper(),
        " ".join(text.split()),
        text.replace("\n", "\r\n"),
    ]
    same += [normalize("NFC", text), normalize("NFD", text)]
    same += [
        line.strip() for line in text.split("\n") if "\n" in text and len(line.strip()) >= LONG_LINE
    ]
    for slug in (layout.slug(text, len(text)), layout.file_slug(text, len(text))):
        if len(slug) >= TERM and len(slug) * 2 > len(text):
            same += [slug, slug[:40].strip("-")]
    return [one for one in dict.fromkeys(same) if len(one) >= SHORTEST]


def _escaped(text: str) -> str:
    """Return a text as JSON without escapes of non-ASCII letters."""
    return (
        text.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
        .replace("\r", "\\r")
        .replace("\t", "\\t")
    )


def _in_base64(text: str) -> Iterator[bytes]:
    # At three offsets and in both alphabets: the characters that the text alone decides.
    data = text.encode("utf-8", "surrogateescape")
    for offset in range(3) if len(data) >= ENCODED else ():
        encoded = base64.b64encode(b"\0" * offset + data)
        inner = encoded[(0, 2, 3)[offset] : (offset + len(data)) * 8 // 6]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


def _listed(roots: Iterable[str], without: Iterable[str] = ()) -> Iterator[str]:
    passed = set(without)
    for root in roots:
        yield from _files(
            root, {path[len(root) + 1 :] for path in passed if path.startswith(root + "/")}
        )


def _files(root: str, passed: set[str]) -> Iterator[str]:
    return (
        path
        for _, path, stat in walk.entries_below(root, lambda name: name not in passed)
        if walk.is_regular(stat)
    )


def _traces(
    found: Finder, every: Iterable[str], told: Progress = lambda done: None
) -> tuple[int, list[tuple[str, int]]]:
    """Search files and return (their number, (path, hits) of holders)."""
    number, held = 0, []
    for path in every:
        try:
            data = files.read(path, WHOLE, follow=False)
        except OSError:
            if not os.path.lexists(path):
                continue
            data = b""
        number += 1
        told(number)
        hits = found.count(data)
        if hits or found.count(path.rpartition("/")[2].encode("utf-8", "surrogateescape")):
            held.append((path, hits))
    return number, held


# ---- what holds it


class Holder(NamedTuple):
    """A file that holds the text.

    hits: how often, 0 where only its name does. role: one of those above.
    """

    path: str
    hits: int
    role: str


class Erased(NamedTuple):
    """The result of an erasure.

    changed: files. pending: ids of rules and scripts whose approval no longer holds. problems: one
        line each. searched, held: files that the proof read, and those in which a text still
        stands.
    """

    changed: int
    pending: list[str]
    problems: list[str]
    searched: int
    held: list[Holder]


def refusal(found: Finder, place: Place) -> str:
    """Return the reason why a text cannot be removed, or "".

    dayleaf's own formats may contain it.
    """
    if found.count(b""):
        return "it matches empty text"
    for name in (*_FORMAT, "2026-11-21T14:30:52Z"):
        if found.count(name.encode("ascii")):
            return "it is part of a word that dayleaf's own files need"
    if found.count(place.private.encode("utf-8", "surrogateescape")):
        return "it is part of the workspace's own path"
    return ""


def search(
    place: Place, found: Finder, own: frozenset[str], told: Progress = lambda done: None
) -> tuple[int, list[Holder]]:
    """Search the home and the shared tier for texts.

    Returns (files searched, holders); the runtime is left out. own: paths of the record whose text
    is removed. told: called with the files searched so far.
    """
    roots = [
        place.home,
        *([place.shared] if place.shared and files.inside(place.shared, place.root) else []),
    ]
    number, held = _traces(found, _listed(roots, [place.home + "/runtime"]), told)
    return number, [
        Holder(path, hits, RECORD if path in own else _role(path, place)) for path, hits in held
    ]


def _role(path: str, place: Place) -> str:
    ours = path.startswith(place.home + "/")
    parts = (
        path[len(place.home) + 1 :].split("/")
        if ours
        else ["", *path[len(place.shared) + 1 :].split("/")]
    )
    file = parts[-1]
    if file.startswith(files.TEMP):
        return TEMP
    if file == "config.json" and len(parts) <= 2:
        return SETTINGS
    if parts[0] == "cache":
        state = "sessions" in parts or file.startswith(("edit-", "new-")) or file == "handoff.json"
        return STATE if state else DERIVED
    if parts[0] == approvals.KEPT:
        return COPY
    inner = parts[2:] if parts[0] == "workspaces" else parts[1:]
    if inner[:1] == [archive.FOLDER]:
        return BEFORE if inner[1:2] == ["before"] else MOVES if file == archive.LOG else ARCHIVE
    if file == "journal.jsonl":
        return MOVES
    if parts[0] == "log" or file.endswith(".jsonl"):
        return LOG
    return OTHER if inner[:1] and inner[0] in _KINDS and file.endswith(".md") else FOREIGN


def cleanable_holders(held: Iterable[Holder], everywhere: bool) -> list[Holder]:
    """Return the holders that `apply` cleans.

    everywhere: other records too.
    """
    return [one for one in held if one.role not in LEFT and (everywhere or one.role != OTHER)]


def apply(
    place: Place,
    found: Finder,
    held: list[Holder],
    own: frozenset[str],
    everywhere: bool,
    now: float,
    told: Progress = lambda done: None,
) -> Erased:
    """Remove texts from files, delete derived files, and search again.

    The files are those of `cleanable_holders`. Raises OSError where a lock cannot be had.
    """
    todo, problems, changed = cleanable_holders(held, everywhere), list[str](), 0
    hashes: dict[bytes, bytes] = {}
    renamed = set(own)
    # In the order in which an upkeep takes them: it holds its own while it changes records.
    with files.Lock(place.home + "/cache/upkeep.lock", wait=True), Tiers(place) as tiers:
        # these follow the hashes of all others
        for one in sorted(todo, key=lambda one: one.role == MOVES):
            try:
                renamed.add(_clean_file(tiers, one, found, hashes, now))
                changed += 1
            except (OSError, StoreError) as error:
                problems.append("%s: %s" % (one.path, getattr(error, "strerror", None) or error))
        _follow(tiers, hashes)
        for path in _derived(place, todo):
            with suppress(OSError):
                files.remove(path)
    searched, left = search(place, found, frozenset(renamed), told)
    return Erased(changed, _pending(place, todo, hashes), problems, searched, left)


def _clean_file(
    tiers: Tiers, one: Holder, found: Finder, hashes: dict[bytes, bytes], now: float
) -> str:
    path = one.path
    if one.role == TEMP:
        _refuse_active_temp(path, now)
    if one.role in (DERIVED, COPY, TEMP):
        tiers.remove(path)
        return path
    if one.role == LOG:
        tiers.overwrite(path, found.covers)
    else:
        old, new = tiers.rewrite(
            path,
            lambda data: conversations.renew_mark(data, found.cleaned(data)),
            one.role == BEFORE,
        )
        hashes[old.encode("ascii")] = new.encode("ascii")
    return path if one.role == BEFORE else _rename(tiers, path, found)


def _refuse_active_temp(path: str, now: float) -> None:
    """Raise StoreError while a process writes a temporary file."""
    pid = path.rpartition("/")[2][len(files.TEMP) :].partition("-")[0]
    if pid.isdigit() and files.alive(int(pid)) and now - os.stat(path).st_mtime < 3600:
        raise StoreError("process %s is writing it; run this again" % pid)


def _rename(tiers: Tiers, path: str, found: Finder) -> str:
    folder, _, name = path.rpartition("/")
    clean = found.cleaned(name.encode("utf-8", "surrogateescape")).decode(
        "utf-8", "surrogateescape"
    )
    try:
        return tiers.rename(path, clean) if clean != name else path
    except FileExistsError:
        raise StoreError(
            "its name contains the text, and %s/%s exists already; rename it by hand"
            % (folder, clean)
        ) from None


def _follow(tiers: Tiers, hashes: dict[bytes, bytes]) -> None:
    """Update the hashes of rewritten files in the journals of upkeep.

    Raises OSError.
    """

    def renamed(data: bytes) -> bytes:
        for old, new in hashes.items():
            data = data.replace(old, new)
        return data

    folder = tiers.place.home + "/workspaces"
    for key in files.list_folder(folder) if any(old != new for old, new in hashes.items()) else ():
        with suppress(FileNotFoundError, NotADirectoryError, StoreError):
            tiers.rewrite("%s/%s/journal.jsonl" % (folder, key), renamed)


def _derived(place: Place, todo: Iterable[Holder]) -> Iterator[str]:
    """Yield the derived files of every workspace with a changed file."""
    keys: set[str] = {place.key}
    cache = place.home + "/cache"
    for one in todo:
        parts = (
            one.path[len(place.home) + 1 :].split("/")
            if one.path.startswith(place.home + "/")
            else []
        )
        if parts[:1] == ["global"]:
            keys.update(files.list_folder(cache))
        elif parts[:1] in (["workspaces"], ["cache"]) and len(parts) > 2:
            keys.add(parts[1])
    for key in sorted(keys):
        folder = "%s/%s" % (cache, key)
        yield from (
            "%s/%s" % (folder, name)
            for name in files.list_folder(folder)
            if name.endswith(DERIVED_ENDS)
        )
        yield from (
            "%s/digests/%s" % (folder, name) for name in files.list_folder(folder + "/digests")
        )
    yield cache + "/queries.db"


def _pending(place: Place, todo: Iterable[Holder], hashes: dict[bytes, bytes]) -> list[str]:
    """Return the ids of rules and scripts with changed approved content."""
    gone = {old.decode("ascii") for old, new in hashes.items() if old != new}
    gone.update(one.path.rpartition("/")[2] for one in todo if one.role == COPY)
    return sorted({id for _, id, sha256 in approvals.approved(place.home) if sha256 in gone})


def transcripts(found: Finder, env: dict[str, str], folders: Iterable[str]) -> list[str]:
    """Return the paths of the host's transcripts with a text.

    They are the host's, and only read. folders: those of its `projects` to search.
    """
    roots = [root + "/" + folder for root in transcript.roots(env) for folder in folders]
    return [path for path, _ in _traces(found, _listed(roots))[1]]
