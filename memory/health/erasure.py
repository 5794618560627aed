"""Removes a text from all files of dayleaf, and proves that it is gone.

Forms searched for (`list_forms`): other case, composed and decomposed, long lines alone, file
names, escaped once and twice, in UTF-16, in base64 at any offset, a single token as the index's
term. Case counts only in base64.

A record and its copies for an undo get a mark in place of the text, and keep their permissions and
time; the journal of upkeep gets the new hashes, so that an undo still works. File names and
references to them get the mark's words alone. A log is masked in place, byte for byte. Derived
files are deleted in every workspace of the record, and so is the copy of an approved content.
Settings and other programs' files are named, not changed; a project's path stays except in texts.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Any, Callable, NamedTuple
from unicodedata import normalize
from urllib.parse import quote

from memory.capture import progress
from memory.core import StoreError, approvals, fastjson, files, frontmatter, layout, walk
from memory.core.headreader import LABELS
from memory.core.layout import FOLDERS, PLACES, Place
from memory.core.records import Record
from memory.core.tokeniser import expand
from memory.session import transcript, whereabouts
from memory.store import archive, conversations, writer
from memory.store.writer import WHOLE, TierWriter

Progress = Callable[[int], None]
SHORTEST, SHORTEST_BYTES = 4, 6  # characters of a text, or bytes: `김철수`
APART = "apart"  # the group of excluded paths in an expression
LONG_LINE = 40  # characters of a line that is searched for alone
SHORTEST_TERM = 8  # characters of an index term that stands for the text
SHORTEST_BASE64 = 6  # bytes of a text that is searched for in base64
SEARCHED = (
    "as it is, in upper and lower case, on one line or more, JSON-escaped, percent-encoded, as "
    "UTF-16, as base64, as an index term"
)

RECORD, OTHER, ARCHIVE, BEFORE = "record", "other record", "archive", "before an upkeep"
MOVES, LOG, STATE, COPY = "log of moves", "log", "state", "approved copy"
DERIVED, TEMP, SETTINGS = "derived", "temporary", "settings"
SYNC, FOREIGN = "sync's file names", "not ours"
_FOLDERS = {"sync": SYNC, approvals.APPROVED_FOLDER: COPY, "log": LOG}  # of the home
_STATES = ("edit-", "new-", "handoff.json")  # how names of states in the cache begin
LEFT = (SETTINGS, SYNC, FOREIGN)
TEXTS = (RECORD, OTHER, ARCHIVE, BEFORE, COPY, TEMP)  # elsewhere a project's path is needed
DERIVED_ENDS = tuple(
    ".seg .log .scan .stale .checked .vec .vec-journal .damaged .tags .review .seen .walls .met "
    ".turned .facts .claims .heads .clean .secrets".split()
)
# between two words: blanks, or a line's end, in JSON and quotes too
_GAP = re.compile(rb"(?:\s|\\{1,8}[nrt]){1,40}(?:> )?")
# around a short name in capitals: no letter or digit, unless it ends an escape; no key of JSON
_ALONE = (
    rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=\\u[0-9a-f]{4})|(?<=%%[0-9a-f]{2}))%s"
    rb'(?![A-Za-z0-9])(?!":)'
)
_KINDS = frozenset(FOLDERS.values())
_NAMES = re.compile(rb'"[^"]*\.md"')  # of records, in JSON
_MARK = re.compile(r"\[redacted:[^\]\n]{1,60}\]")
_AT_ENDS = ".,;:!?()\"'`*"
_FORMAT = (
    "id kind title created updated tags topics versions links relation target source confidence "
    "pinned accepted human agent auto session trigger branch commit files until written "
    "conversation conversations rationale type path source_ref checksum refreshed status active "
    "done dropped workspace decision approve reject sha256 event archive learnings checkpoints "
    "resources plans rules global markdown strategy candidates chosen transcript prompt startup "
    "resume medium before after redacted provider record project first last person path sessions"
).split()


class Finder(NamedTuple):
    """Finds and replaces texts in bytes.

    expression: matches their forms. marks: the replacement by form, in lower case except base64.
    """

    expression: re.Pattern[bytes]
    marks: Mapping[bytes, str]

    def count(self, data: bytes) -> int:
        """Count the texts in some bytes."""
        return sum(1 for _ in self._find_all(data))

    def _find_all(self, data: bytes) -> Iterator[re.Match[bytes]]:
        return (hit for hit in self.expression.finditer(data) if hit.lastgroup != APART)

    def exclude(self, paths: Iterable[str]) -> Finder:
        """Return a finder that leaves out occurrences within some paths."""
        held = {_encode(form) for form in paths}
        held |= {fastjson.quote(form)[1:-1].encode("ascii") for form in paths}
        longest = sorted(filter(self.count, held), key=len, reverse=True)
        if not longest:
            return self
        named = b"(?P<%s>%s)|" % (APART.encode(), b"|".join(map(re.escape, longest)))
        return Finder(re.compile(named + self.expression.pattern, re.I), self.marks)

    def find_mark(self, found: re.Match[bytes]) -> bytes:
        """Return the replacement of a hit, in the hit's own encoding."""
        raw = found[0]
        if found.lastgroup == APART:
            return raw
        form = _GAP.sub(b" ", raw.lower())
        mark = self.marks.get(raw) or self.marks.get(form) or next(iter(self.marks.values()))
        return mark.encode(_encoding(raw))

    def cleaned(self, data: bytes) -> bytes:
        """Return bytes with each text replaced by its mark."""
        return self.expression.sub(self.find_mark, data)

    def replace_by_words(self, data: bytes) -> bytes:
        """Return bytes with each text replaced by its mark's words.

        `redacted-text-a1b2` is safe in YAML and in file names.
        """
        words = {form: _mark_word(mark) for form, mark in self.marks.items()}
        return Finder(self.expression, words).cleaned(data)

    def _mask(self, found: re.Match[bytes]) -> bytes:
        """Return a mask of a hit's length, the mark and stars."""
        raw, mark = found[0], self.find_mark(found)
        mark = mark if len(mark) <= len(raw) else b""
        star = "*".encode(_encoding(raw))
        return mark + star * ((len(raw) - len(mark)) // len(star))

    def find_masks(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, mask) for each text in some bytes."""
        return ((hit.start(), self._mask(hit)) for hit in self._find_all(data))


def _encoding(raw: bytes) -> str:
    """Return the encoding of a stored text, by its first two bytes."""
    if raw[1:2] == b"\0":
        return "utf-16-le"
    return "utf-16-be" if raw[:1] == b"\0" else "ascii"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def make_finder(texts: Mapping[str, str]) -> Finder:
    """Return a finder for texts, each with the mark that replaces it."""
    exact: dict[bytes, str] = {}
    folded: dict[bytes, str] = {}
    alone: set[bytes] = set()
    for text, mark in texts.items():
        for form in list_forms(text):
            folded.setdefault(form.lower(), mark)
            if not _is_long(text):
                alone.add(form.lower())
        for form in _base64_forms(text):
            exact.setdefault(form, mark)

    def longest_first(forms: Iterable[bytes]) -> list[bytes]:
        return sorted(forms, key=lambda form: (-len(form), form))

    parts = [
        (_ALONE if form in alone else b"%s") % re.escape(form).replace(b"\\ ", _GAP.pattern)
        for form in longest_first(folded)
    ]
    parts += [b"(?-i:%s)" % re.escape(form) for form in longest_first(exact)]
    return Finder(re.compile(b"|".join(parts), re.I), {**folded, **exact})


def is_findable(text: str) -> bool:
    """Tell whether a text is long enough for a search, or an acronym."""
    return _is_long(text) or (len(text) > 1 and text.isalpha() and text.isupper())


def _is_long(text: str) -> bool:
    return len(text) >= SHORTEST or (
        len(text) > 1 and len(text.encode("utf-8", "replace")) >= SHORTEST_BYTES
    )


def list_forms(text: str) -> Iterator[bytes]:
    """Yield the bytes in which a text may be stored, except base64."""
    for plain in _list_spellings(text):
        escaped = fastjson.quote(plain)[1:-1]
        unescaped = json.dumps(plain, ensure_ascii=False)[1:-1]
        for form in (plain, escaped, unescaped, fastjson.quote(escaped)[1:-1]):
            yield _encode(form)
        yield quote(plain, safe="-._~").encode("ascii")
        yield quote(plain, safe="/:@!$&'()*+,;=-._~").encode("ascii")
        yield plain.encode("utf-16-le", "surrogatepass")
        yield plain.encode("utf-16-be", "surrogatepass")
    if not any(char.isspace() for char in text):
        for term, weight in expand(text):
            has_digit = any(char.isdigit() for char in term)
            if weight == 1.0 and len(term) >= SHORTEST_TERM and has_digit:
                yield term.encode("utf-8")


def _list_spellings(text: str) -> list[str]:
    same = [text, text.casefold(), text.lower(), text.upper(), " ".join(text.split())]
    same += [text.replace("\n", "\r\n"), normalize("NFC", text), normalize("NFD", text)]
    lines = [line.strip() for line in text.split("\n")]
    same += [line for line in lines if len(lines) > 1 and len(line) >= LONG_LINE]
    for slug in (layout.slug(text, len(text)), layout.file_slug(text, len(text))):
        if len(slug) >= SHORTEST_TERM and len(slug) * 2 > len(text):
            same += [slug, slug[:40].strip("-")]
    return [form for form in dict.fromkeys(same) if len(form) >= min(SHORTEST, len(text))]


def _base64_forms(text: str) -> Iterator[bytes]:
    # at three offsets and in both alphabets, the characters of the text's bits alone
    data = _encode(text)
    if len(data) < SHORTEST_BASE64:
        return
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + data)
        inner = encoded[(0, 2, 3)[offset] : (offset + len(data)) * 8 // 6]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


def _find_files(roots: Iterable[str], without: Iterable[str] = ()) -> Iterator[str]:
    for root in roots:
        passed = {path[len(root) + 1 :] for path in without if path.startswith(root + "/")}
        for _, path, stat in walk.walk_entries(root, lambda name: name not in passed):
            if walk.is_regular(stat):
                yield path


def _search_files(
    finder_of: Callable[[str], Finder], every: Iterable[str], progress: Progress = lambda done: None
) -> tuple[int, list[tuple[str, int]]]:
    """Search files; return (their number, (path, hits) of those with a text)."""
    number, held = 0, []
    for path in every:
        try:
            data = files.read(path, WHOLE, follow=False)
        except OSError:
            if not os.path.lexists(path):
                continue
            data = b""
        number += 1
        progress(number)
        found = finder_of(path)
        hits = found.count(data)
        if hits or found.count(_encode(path.rpartition("/")[2])):
            held.append((path, hits))
    return number, held


# ---- what holds it


class Holder(NamedTuple):
    """A file with a text in it; hits: 0 if only its name has the text."""

    path: str
    hits: int
    role: str


class ErasureResult(NamedTuple):
    """The result of an erasure.

    changed: number of files. pending: ids of rules and scripts that lost their approval. problems:
    a line each. searched, held: files that the proof read, and those that still hold a text.
    """

    changed: int
    pending: list[str]
    problems: list[str]
    searched: int
    held: list[Holder]


def find_refusal(found: Finder) -> str:
    """Return why a text must not be removed, or ""."""
    if found.count(b""):
        return "it matches empty text"
    for name in (*_FORMAT, "2026-11-21T14:30:52Z"):
        if found.count(name.encode("ascii")):
            return "it is part of a word that dayleaf's own files need"
    return ""


def search(
    place: Place, found: Finder, own: frozenset[str], progress: Progress = lambda done: None
) -> tuple[int, list[Holder]]:
    """Search home and shared tier for texts; return (files read, files with a text).

    own: paths of the record whose text is removed. progress: called with the files searched so far.
    """
    roots = [place.home]
    if place.shared and files.is_inside(place.shared, place.root):
        roots.append(place.shared)
    sparing = _spare_project_paths(found, place)

    def finder_of(path: str) -> Finder:
        return found if _role(path, place) in TEXTS else sparing

    number, held = _search_files(finder_of, _find_files(roots, [place.home + "/runtime"]), progress)
    return number, [
        Holder(path, hits, RECORD if path in own else _role(path, place)) for path, hits in held
    ]


def _list_project_paths(place: Place) -> list[str]:
    keys, seen = files.list_folder(place.home + "/workspaces"), set[str]()
    with suppress(OSError):
        rows = fastjson.parse_rows(files.read(place.home + PLACES, WHOLE))
        seen = {str(row.get("path")) for row in rows}
    return sorted({place.home, place.root, place.project, place.anchor, place.key, *seen, *keys})


def _spare_project_paths(found: Finder, place: Place) -> Finder:
    """Return a finder that leaves out projects' paths, also in the host's form."""
    paths = _list_project_paths(place)
    return found.exclude([*paths, *map(whereabouts.make_folder_prefix, paths)])


def _role(path: str, place: Place) -> str:
    """Return what a file is by its path: OTHER, LOG, DERIVED …"""
    if path.startswith(place.home + "/"):
        parts = path[len(place.home) + 1 :].split("/")
    else:
        parts = ["", *path[len(place.shared) + 1 :].split("/")]
    file = parts[-1]
    if file.startswith(files.TEMP_PREFIX):
        return TEMP
    if file == "config.json" and len(parts) <= 2:
        return SETTINGS
    if parts[0] == "cache":
        return STATE if "sessions" in parts or file.startswith(_STATES) else DERIVED
    if parts[0] in _FOLDERS:
        return _FOLDERS[parts[0]]
    return _role_in_tier(parts[2:] if parts[0] == "workspaces" else parts[1:], file)


def _role_in_tier(inner: list[str], file: str) -> str:
    """Return the role of a file by its path below a tier."""
    if inner[:1] == [archive.FOLDER]:
        if inner[1:2] == ["before"]:
            return BEFORE
        return MOVES if file == archive.LOG else ARCHIVE
    if file == "journal.jsonl":
        return MOVES
    if file.endswith(".jsonl"):
        return LOG
    return OTHER if inner[:1] and inner[0] in _KINDS and file.endswith(".md") else FOREIGN


def select_cleanable(held: Iterable[Holder], everywhere: bool) -> list[Holder]:
    """Return the files that `erase` changes; everywhere: other records too."""
    roles = LEFT if everywhere else (*LEFT, OTHER)
    return [holder for holder in held if holder.role not in roles]


def erase(
    place: Place,
    found: Finder,
    held: list[Holder],
    own: frozenset[str],
    everywhere: bool,
    now: float,
    progress: Progress = lambda done: None,
) -> ErasureResult:
    """Remove texts from files, delete derived files, search again."""
    todo = select_cleanable(held, everywhere)
    problems = [
        "%s contains it and stays: it is the path of a project" % path
        for path in _list_project_paths(place)
        if found.count(_encode(path))
    ]
    sparing = _spare_project_paths(found, place)
    hashes: dict[bytes, bytes] = {}
    renamed = set(own)
    # an upkeep takes the locks in the same order
    with files.Lock(place.home + "/cache/upkeep.lock", wait=True), TierWriter(place) as tiers:
        # MOVES last: they need the new hashes of all other files
        failed = 0
        for holder in sorted(todo, key=lambda holder: holder.role == MOVES):
            try:
                finder = found if holder.role in TEXTS else sparing
                renamed.add(_clean_file(tiers, holder, finder, hashes, now))
            except (OSError, StoreError) as error:
                failed += 1
                why = getattr(error, "strerror", None) or error
                problems.append("%s: %s" % (holder.path, why))
        _update_hashes(tiers, hashes)
        for path in _find_derived(place, todo):
            with suppress(OSError):
                files.remove(path)
    searched, left = search(place, found, frozenset(renamed), progress)
    pending = _find_pending(place, todo, hashes)
    return ErasureResult(len(todo) - failed, pending, problems, searched, left)


def _clean_file(
    tiers: TierWriter, holder: Holder, found: Finder, hashes: dict[bytes, bytes], now: float
) -> str:
    """Remove the texts from a file and its name; return its new path."""
    path, role = holder.path, holder.role
    if role in (DERIVED, COPY, TEMP):
        _remove_file(tiers, path, role, now)
        return path
    if role == LOG:
        tiers.overwrite(path, found.find_masks)
    else:
        old, new = tiers.rewrite(
            path,
            lambda data: writer.keep_sealed(
                path, data, conversations.update_checksum(data, _clean_data(path, data, found))
            ),
            role == BEFORE,
        )
        hashes[old.encode("ascii")] = new.encode("ascii")
    return path if role == BEFORE else _rename(tiers, path, found)


def _drop_marked(value: Any, marked: Any) -> list[Any] | None:
    """Return the labels from which no text was removed, or None."""
    pairs = zip(value, marked) if isinstance(value, list) else ()
    return [label for label, changed in pairs if label == changed] or None


def _clean_data(path: str, data: bytes, found: Finder) -> bytes:
    """Return a file's bytes without the texts, as valid as before.

    A record loses the labels that hold a text; other values of its head are changed.
    """
    if not path.endswith(".md"):
        return found.cleaned(_NAMES.sub(lambda name: found.replace_by_words(name[0]), data))
    head_end = frontmatter.split_head(data)[1]
    cleaned = found.replace_by_words(data[:head_end]) + found.cleaned(data[head_end:])
    if cleaned[:head_end] == data[:head_end]:
        return cleaned
    marks = {_mark_word(mark): mark for mark in found.marks.values()}
    changes: dict[str, Any] = {}
    for key, value in frontmatter.parse(cleaned).meta.items():
        marked = _restore_marks(value, marks)
        if marked != value and key in LABELS:
            marked = _drop_marked(value, marked)
        if marked != value:
            changes[key] = marked
    try:
        return frontmatter.edit(cleaned, changes)
    except StoreError:  # a head that cannot be edited line by line keeps the words
        return cleaned


def carry_marks(name: str, marked: bytes, other: bytes) -> bytes:
    """Return `other`, of the same record, without what was removed from `marked`.

    Nobody keeps a removed text: it is what stands in `other` in place of a mark of `marked`.
    """
    if b"[redacted:" not in marked or marked == other:
        return other
    left, right = (data.decode("utf-8", "surrogateescape") for data in (marked, other))
    texts = {text: mark for text, mark in _find_replaced(left, right).items() if is_findable(text)}
    if not texts:
        return other
    return conversations.update_checksum(other, _clean_data(name, other, make_finder(texts)))


def _find_replaced(marked: str, other: str) -> dict[str, str]:
    """Return what stands in `other` in place of marks, with the mark of each.

    Where words beside a mark were changed too, these are all the new words of its lines.
    """
    sure: dict[str, str] = {}
    likely: dict[str, str] = {}
    for lines, others in _diff(marked.split("\n"), other.split("\n")):
        before, after = _split_words(lines), _split_words(others)
        for mark in filter(_MARK.fullmatch, before):
            likely.update(dict.fromkeys(after, mark))
        for old, new in _diff(before, after):
            if len(old) == 1 and _MARK.fullmatch(old[0]):
                sure.update(dict.fromkeys((" ".join(new), *new), old[0]))
    known = marked.casefold()
    settled = {mark for text, mark in sure.items() if text}
    found = {**{text: mark for text, mark in likely.items() if mark not in settled}, **sure}
    return {text: mark for text, mark in found.items() if text.casefold() not in known}


def _split_words(lines: list[str]) -> list[str]:
    """Return the words and marks of some lines, without signs around them."""
    words = _MARK.sub(r" \g<0> ", "\n".join(lines)).split()
    return [word if _MARK.fullmatch(word) else word.strip(_AT_ENDS) for word in words]


def _diff(one: list[str], other: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the parts in which two lists differ."""
    for kind, *at in SequenceMatcher(None, one, other, False).get_opcodes():
        if kind != "equal":
            yield one[at[0] : at[1]], other[at[2] : at[3]]


def _mark_word(mark: str) -> str:
    return layout.slug(mark, len(mark))


def _restore_marks(value: Any, marks: Mapping[str, str]) -> Any:
    """Turn the words of marks in a head's value back into marks."""
    if isinstance(value, list):
        return [_restore_marks(item, marks) for item in value]
    if isinstance(value, dict):
        return {key: _restore_marks(item, marks) for key, item in value.items()}
    for word, mark in marks.items():
        value = value.replace(word, mark)
    return value


def _rename(tiers: TierWriter, path: str, found: Finder) -> str:
    folder, _, name = path.rpartition("/")
    clean = found.replace_by_words(_encode(name)).decode("utf-8", "surrogateescape")
    try:
        return tiers.rename(path, clean) if clean != name else path
    except FileExistsError:
        raise StoreError(
            "its name contains the text, and %s/%s exists already; rename it by hand"
            % (folder, clean)
        ) from None


def _update_hashes(tiers: TierWriter, hashes: dict[bytes, bytes]) -> None:
    """Update the hashes of rewritten files in upkeep's journals; raises OSError."""

    def update(data: bytes) -> bytes:
        for old, new in hashes.items():
            data = data.replace(old, new)
        return data

    if all(old == new for old, new in hashes.items()):
        return
    folder = tiers.place.home + "/workspaces"
    for key in files.list_folder(folder):
        with suppress(FileNotFoundError, NotADirectoryError, StoreError):
            tiers.rewrite("%s/%s/journal.jsonl" % (folder, key), update)


def _find_derived(place: Place, todo: Iterable[Holder]) -> Iterator[str]:
    """Yield the derived files of every workspace with a changed file."""
    keys: set[str] = {place.key}
    cache = place.home + "/cache"
    for holder in todo:
        if not holder.path.startswith(place.home + "/"):
            continue
        parts = holder.path[len(place.home) + 1 :].split("/")
        if parts[0] == "global":
            keys.update(files.list_folder(cache))
        elif parts[0] in ("workspaces", "cache") and len(parts) > 2:
            keys.add(parts[1])
    for key in sorted(keys):
        folder = "%s/%s" % (cache, key)
        names = files.list_folder(folder)
        yield from ("%s/%s" % (folder, name) for name in names if name.endswith(DERIVED_ENDS))
        digests = folder + "/digests"
        yield from ("%s/%s" % (digests, name) for name in files.list_folder(digests))
    yield cache + "/queries.db"


def _find_pending(place: Place, todo: Iterable[Holder], hashes: dict[bytes, bytes]) -> list[str]:
    """Return the ids of records whose approved content has changed."""
    gone = {old.decode("ascii") for old, new in hashes.items() if old != new}
    gone.update(holder.path.rpartition("/")[2] for holder in todo if holder.role == COPY)
    return sorted({id for _, id, sha256 in approvals.read_approved(place.home) if sha256 in gone})


# ---- traces of deleted records


def _forget_sessions(place: Place, gone: Sequence[Record]) -> None:
    for talk in gone:
        if talk.kind == conversations.KIND:
            session = str(talk.meta.get("session"))
            _blank_state("%s/sessions/%s" % (place.cache, session))
            files.remove(place.receipts(session))


def _forget_approved(place: Place, gone: Sequence[Record]) -> None:
    owners = {(approvals.approval_workspace(record.name, place.key), record.id) for record in gone}
    for workspace, id, sha256 in approvals.read_decisions(place.home):
        if (workspace.removeprefix(approvals.SCRIPT), id) in owners:
            files.remove("%s/%s/%s" % (place.home, approvals.APPROVED_FOLDER, sha256))


def _forget_trace(tiers: TierWriter, holder: Holder, named: Finder, now: float) -> None:
    path, role = holder.path, holder.role
    if role in (TEMP, BEFORE) or (role == STATE and path.endswith(".md")):
        _remove_file(tiers, path, role, now)
    elif role in (LOG, MOVES, STATE, DERIVED):
        _clean_file(tiers, holder, named, {}, now)


def remove_traces(place: Place, gone: Sequence[Record], now: float) -> list[Holder]:
    """Remove copies and traces of deleted records; return files that still name them.

    Copies for an undo are deleted, file names leave logs and states.
    """
    names = {record.name[2:].removeprefix(archive.FOLDER + "/") for record in gone}
    _forget_sessions(place, gone)
    _forget_approved(place, gone)
    tag = files.sha256(_encode("\0".join(sorted(names))))
    named = _make_literal_finder(names, "[redacted:name#%s]" % tag[:4])
    ids = b"|".join(re.escape(record.id.encode()) for record in gone)
    copied = Finder(re.compile(rb"^id: (?:%s)\r?$" % ids, re.M), {})
    either = copied.expression.pattern + b"|" + named.expression.pattern
    temps = Finder(re.compile(either, re.I | re.M), {})

    def finder_of(path: str) -> Finder:
        role = _role(path, place)
        return temps if role == TEMP else copied if path.endswith(".md") else named

    roots = [place.home, *([place.shared] if place.shared else [])]
    workspaces = place.home + "/workspaces"
    others = {"%s/%s" % (workspaces, key) for key in files.list_folder(workspaces)}
    passed = [place.home + "/runtime", *(others - {place.private})]
    found = _search_files(finder_of, _find_files(roots, passed))[1]
    with files.Lock(place.home + "/cache/upkeep.lock", wait=True), TierWriter(place) as tiers:
        for path, hits in found:
            with suppress(StoreError, OSError):
                _forget_trace(tiers, Holder(path, hits, _role(path, place)), named, now)
    titles = {record.title: "-" for record in gone if len(record.title) >= SHORTEST_TERM}
    remaining = search(place, make_finder(titles), frozenset())[1] if titles else []
    listed = [Holder(path, hits, SYNC) for path, hits in found if _role(path, place) == SYNC]
    return [*remaining, *listed]


def _make_literal_finder(texts: Iterable[str], mark: str) -> Finder:
    """Return a finder for texts as they are and JSON-escaped."""
    forms = {form for text in texts for form in (text, fastjson.quote(text)[1:-1])}
    known = [_encode(form) for form in sorted(forms, key=len)]
    marks = {form.lower(): mark for form in known}
    return Finder(re.compile(b"|".join(map(re.escape, reversed(known))), re.I), marks)


def _remove_file(tiers: TierWriter, path: str, role: str, now: float) -> None:
    name = path.rpartition("/")[2]
    pid = name[len(files.TEMP_PREFIX) :].partition("-")[0] if role == TEMP else ""
    if pid.isdigit() and files.is_running(int(pid)) and now - os.stat(path).st_mtime < 3600:
        raise StoreError("process %s is writing it; run this again" % pid)
    tiers.remove(path)


def _blank_state(path: str) -> None:
    """Remove a session's texts from its state of capture."""
    with files.Lock(path + ".lock", wait=True):
        state = progress.load(path + ".json")
        if state is None:
            files.remove(path + ".json")
        else:
            progress.forget_texts(state)
            progress.save(state)


def find_transcripts(found: Finder, env: dict[str, str], folders: Iterable[str]) -> list[str]:
    """Return the paths of the host's transcripts that hold a text.

    folders: of the host's `projects`.
    """
    roots = [root + "/" + folder for root in transcript.list_roots(env) for folder in folders]
    return [path for path, _ in _search_files(lambda path: found, _find_files(roots))[1]]
