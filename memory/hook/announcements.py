"""What a repository's `.dayleaf` brings is announced at the first start that sees it.

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
    from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple

    from memory.core.layout import Place

    Event = Dict[str, Any]

ANNOUNCED = "dayleaf_announced"  # key of a hook's event: the user has heard of the shared tier
MOST_ENTRIES = 10_000  # entries of a shared tier that are looked at
RECORD_BYTES = 1 << 20
INDEX_BYTES = 16 << 20  # of git's index
SEEN_BYTES = 4 << 20
REVIEW = b"3"
DIGITS = 16


def announcement(place: Place, event: Event) -> List[str]:
    """Return the line about new records in the shared tier, if any.

    event: the hook's; marked, so that the worker remembers the announced contents.
    """
    if not files.is_folder(place.shared) or event.get("agent_id") or not may_have_changed(place):
        return []
    records, rules, scripts = _count_new(place)
    if not records:
        return []
    event[ANNOUNCED] = True
    line = "%s new in this repository's .dayleaf" % many(records, "record")
    counted = ((rules, "rule"), (scripts, "script"))
    waiting = " and ".join(many(count, what) for count, what in counted if count)
    if not waiting:
        return [line + "; none of them waits for review"]
    verb = "waits" if rules + scripts == 1 else "wait"
    return ["%s; %s %s for review: `dayleaf review`" % (line, waiting, verb)]


def many(count: int, what: str) -> str:
    """Return a count of things: `1 note`, `2 notes`."""
    return "%d %s%s" % (count, what, "" if count == 1 else "s")


def scripts_waiting(place: Place) -> int:
    """Return the number of scripts that wait for approval.

    As the worker counted them.
    """
    try:
        words = files.read(place.cache + "/" + place.scope + ".review", 96).split()
    except OSError:
        return 0
    return int(words[1]) if len(words) == 2 and words[0] == REVIEW and words[1].isdigit() else 0


def digest(data: bytes) -> str:
    """Return the digits that identify a content."""
    return files.sha256(data)[:DIGITS]


def seen_path(place: Place) -> str:
    """Return the path of the list of known contents."""
    return place.cache + "/" + place.scope + ".seen"


def known_digests(place: Place) -> Set[str]:
    """Return the digests of the known contents."""
    try:
        return set(files.read(seen_path(place), SEEN_BYTES).decode("ascii", "replace").split())
    except OSError:
        return set()


def remember(place: Place, digests: Iterable[str]) -> None:
    """Add the digests of contents to the known contents.

    Raises OSError.
    """
    lines = "".join(found + "\n" for found in digests)
    files.append(seen_path(place), lines.encode("ascii"))


def remember_file(place: Place, path: str) -> None:
    """Add a record's content to the known contents.

    Nothing where its file is gone.  Raises OSError.
    """
    try:
        data = files.read(path, RECORD_BYTES, follow=False)
    except FileNotFoundError:
        return
    remember(place, (digest(data),))


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


def shared_files(place: Place) -> Iterator[Tuple[str, str]]:
    """Yield (path below the shared tier, absolute path) of tracked records.

    An untracked file is the user's own.  All records where git's index does not say.
    """
    tracked, looked_at = _tracked(place), 0
    folders = [place.shared + "/" + folder for folder in layout.FOLDERS.values()]
    while folders and looked_at < MOST_ENTRIES:
        folder = folders.pop()
        for entry in _entries(folder, place):
            looked_at += 1
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


def _count_new(place: Place) -> Tuple[int, int, int]:
    """Return the numbers of unknown (records, rules, scripts)."""
    from memory.core import approvals

    decisions, known = approvals.decisions(place.home), known_digests(place)
    decided = {key[2] for key in decisions if key[0] == place.key}
    named = {key[1] for key in decisions if key[0] == approvals.SCRIPT + place.key}
    records = rules = scripts = 0
    for inner, path in shared_files(place):
        try:
            data = files.read(path, RECORD_BYTES, follow=False)
        except OSError:  # a rule or a script that cannot be read waits for nobody
            continue
        if digest(data) in known:
            continue
        kind = inner.partition("/")[0]
        records += 1
        rules += kind == "rules" and files.sha256(data) not in decided
        scripts += kind == "resources" and _is_new_script(data, named)
    return records, rules, scripts


def _tracked(place: Place) -> Optional[Set[bytes]]:
    """Return the paths below `.dayleaf` in git's index, or None."""
    try:
        data = files.read(place.git + "/index", INDEX_BYTES) if place.git else b""
    except FileNotFoundError:
        return set()
    except OSError:
        return None
    if data[:4] != b"DIRC" or data[7:8] not in (b"\2", b"\3") or len(data) == INDEX_BYTES:
        return None  # of version 4, no name stands there whole
    return {piece[: piece.find(b"\0")] for piece in data.split(b".dayleaf/")[1:]}


def _is_tracked(inner: str, tracked: Optional[Set[bytes]]) -> bool:
    return tracked is None or inner.encode("utf-8", "surrogateescape") in tracked


def _entries(folder: str, place: Place) -> Iterable[Any]:
    if not files.is_folder(folder) or not files.inside(folder, place.root):
        return ()
    try:
        return list(files.posix.scandir(folder))
    except OSError:
        return ()


def _is_new_script(data: bytes, decided: Set[str]) -> bool:
    """Tell whether a record's script has no decision yet."""
    from memory.core import records

    record = records.skim("s/resources/x.md", data, 0.0)
    return record.end == "script" and record.id not in decided
