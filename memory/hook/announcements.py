"""Announce the records that a repository's `.dayleaf` brings, at the first start that sees them.

A file of the shared tier says what it likes of itself (`source: human`, `accepted`, `pinned`), and
git's authors can be forged.  So a record counts as known only where dayleaf wrote its content on
this machine, or the user has heard of it.

Schema of `<cache>/<scope>.seen`: 16 hex digits of the SHA-256 of each known content, one a line,
appended by the writer of records and, after an announcement, by the worker.
Schema, version 3, of `<cache>/<scope>.review`: `3 <scripts that wait for approval>`.
Both are derived: once they are deleted, the shared tier is announced anew.
"""

from __future__ import annotations

from memory.core import files, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator

    from memory.core.layout import Place

    Event = dict[str, Any]

ANNOUNCED_KEY = "dayleaf_announced"  # key of a hook's event: the user has heard of the shared tier
MOST_ENTRIES = 10_000  # entries of a shared tier that are looked at
RECORD_BYTES = 1 << 20
INDEX_BYTES = 16 << 20  # of git's index
SEEN_BYTES = 4 << 20
REVIEW = b"3"
DIGEST_DIGITS = 16


def new_records_notice(place: Place, event: Event) -> list[str]:
    """Return a line on new records of the shared tier, or [].

    Marks the hook's event, so that the worker remembers the announced contents.
    """
    if not files.is_folder(place.shared) or event.get("agent_id") or not may_have_changed(place):
        return []
    records, rules, scripts = _count_unknown_records(place)
    if not records:
        return []
    event[ANNOUNCED_KEY] = True
    line = "%s new in this repository's .dayleaf" % format_count(records, "record")
    counted = ((rules, "rule"), (scripts, "script"))
    waiting = " and ".join(format_count(count, what) for count, what in counted if count)
    if not waiting:
        return [line + "; none of them waits for review"]
    verb = "waits" if rules + scripts == 1 else "wait"
    return ["%s; %s %s for review: `dayleaf review`" % (line, waiting, verb)]


def format_count(count: int, what: str) -> str:
    """Format a count with its noun: `1 note`, `2 notes`."""
    return "%d %s%s" % (count, what, "" if count == 1 else "s")


def count_waiting_scripts(place: Place) -> int:
    """Return the worker's last count of scripts waiting for approval."""
    try:
        words = files.read(place.cache + "/" + place.scope + ".review", 96).split()
    except OSError:
        return 0
    return int(words[1]) if len(words) == 2 and words[0] == REVIEW and words[1].isdigit() else 0


def hash_content(data: bytes) -> str:
    return files.sha256(data)[:DIGEST_DIGITS]


def seen_path(place: Place) -> str:
    return place.cache + "/" + place.scope + ".seen"


def read_known_digests(place: Place) -> set[str]:
    try:
        return set(files.read(seen_path(place), SEEN_BYTES).decode("ascii", "replace").split())
    except OSError:
        return set()


def add_known_digests(place: Place, digests: Iterable[str]) -> None:
    """Append digests to the file of known contents; may raise OSError."""
    lines = "".join(value + "\n" for value in digests)
    files.append(seen_path(place), lines.encode("ascii"))


def add_known_file(place: Place, path: str) -> None:
    """Append a record file's digest to the known contents.

    Does nothing where the file is gone.  Raises OSError.
    """
    try:
        data = files.read(path, RECORD_BYTES, follow=False)
    except FileNotFoundError:
        return
    add_known_digests(place, (hash_content(data),))


def may_have_changed(place: Place) -> bool:
    """Tell whether the shared tier may hold unknown contents.

    Whatever brings a record, a pull or a hand, changes git's index or the record's folder.
    """
    stat = files.posix.stat
    try:
        known = stat(seen_path(place)).st_mtime_ns
    except OSError:
        return True
    paths = [place.shared + "/" + folder for folder in layout.FOLDERS.values()]
    for path in [place.git + "/index", place.shared, *paths]:
        try:
            if stat(path).st_mtime_ns >= known:
                return True
        except OSError:
            continue
    return False


def list_shared_records(place: Place) -> Iterator[tuple[str, str]]:
    """Yield (path below the shared tier, absolute path) of each record that git tracks.

    Yields all records where git's index cannot be read.  An untracked file is the user's own.
    """
    tracked, seen = _read_tracked_paths(place), 0
    folders = [place.shared + "/" + folder for folder in layout.FOLDERS.values()]
    while folders and seen < MOST_ENTRIES:
        for entry in _list_entries(folders.pop(), place):
            seen += 1
            inner = entry.path[len(place.shared) + 1 :]
            try:
                if entry.is_dir(follow_symlinks=False) and entry.name[0] != ".":
                    folders.append(entry.path)
                elif (
                    layout.is_record(entry.name)
                    and entry.is_file(follow_symlinks=False)
                    and _is_tracked(inner, tracked)
                ):
                    yield inner, entry.path
            except OSError:
                continue


def _count_unknown_records(place: Place) -> tuple[int, int, int]:
    """Return the numbers of unknown (records, rules, scripts)."""
    from memory.core import approvals

    decisions, known = approvals.read_decisions(place.home), read_known_digests(place)
    decided_rules = {digest for space, _, digest in decisions if space == place.key}
    of_scripts = approvals.SCRIPT + place.key
    decided_scripts = {id for space, id, _ in decisions if space == of_scripts}
    records = rules = scripts = 0
    for inner, path in list_shared_records(place):
        try:
            data = files.read(path, RECORD_BYTES, follow=False)
        except OSError:  # a rule or a script that cannot be read waits for nobody
            continue
        if hash_content(data) in known:
            continue
        kind = inner.partition("/")[0]
        records += 1
        rules += kind == "rules" and files.sha256(data) not in decided_rules
        scripts += kind == "resources" and _is_new_script(data, decided_scripts)
    return records, rules, scripts


def _read_tracked_paths(place: Place) -> set[bytes] | None:
    """Return the paths below `.dayleaf` in git's index, None if unreadable."""
    try:
        data = files.read(place.git + "/index", INDEX_BYTES) if place.git else b""
    except FileNotFoundError:
        return set()
    except OSError:
        return None
    if data[:4] != b"DIRC" or data[7:8] not in (b"\2", b"\3") or len(data) == INDEX_BYTES:
        return None  # of version 4, no name stands there whole
    return {piece[: piece.find(b"\0")] for piece in data.split(b".dayleaf/")[1:]}


def _is_tracked(inner: str, tracked: set[bytes] | None) -> bool:
    return tracked is None or inner.encode("utf-8", "surrogateescape") in tracked


def _list_entries(folder: str, place: Place) -> Iterable[Any]:
    if not files.is_folder(folder) or not files.is_inside(folder, place.root):
        return ()
    try:
        return list(files.posix.scandir(folder))
    except OSError:
        return ()


def _is_new_script(data: bytes, decided: set[str]) -> bool:
    """Tell whether a record is a script that nobody has decided on."""
    from memory.core import records

    record = records.from_bytes_fast("s/resources/x.md", data, 0.0)
    return record.end == "script" and record.id not in decided
