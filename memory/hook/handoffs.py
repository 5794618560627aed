"""The handoff: the one checkpoint that the next session gets first, and at how many starts it was shown.

It is the record `p/checkpoints/handoff.md`, an ordinary file with `trigger: handoff`, to be edited or deleted by hand.
Replaced or cleared it takes the name that any checkpoint has.

Schema, version 1, of `<cache>/handoff.json`, written by the worker behind a session's start; deleted, the count starts anew:

    {"v":1,"id":"c-1a2b3c4d","starts":3,"last":"<session> <number of its starts>"}
"""

from __future__ import annotations

from memory.core import fastjson, files
from memory.hook import receipts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.store.store import Store

NAME = "p/checkpoints/handoff.md"
TRIGGER = REASON = "handoff"  # in the record's frontmatter, in the receipt
_READ = 1 << 20  # bytes of the file


def current(place: Place) -> Optional[Record]:
    """Read the handoff of a workspace; None where there is none, or an empty one."""
    try:
        fd = place.open(NAME)
    except OSError:
        return None
    try:
        mtime, data = files.posix.fstat(fd).st_mtime, files.read_fd(fd, _READ)
    except OSError:
        return None
    finally:
        files.posix.close(fd)
    from memory.core import records

    found = records.skim(NAME, data, mtime)
    return found if found.body.strip() else None


def is_handoff(record: Any) -> bool:
    """Tell whether a record is a handoff, the current one or one of before."""
    return bool(record.name == NAME or record.meta.get("trigger") == TRIGGER)


def repeats(record: Any) -> bool:
    """Tell whether a checkpoint only says again what others say: a handoff that was made of them."""
    return is_handoff(record) and bool(record.derived_from)


def starts(place: Place, id: str) -> int:
    """Return at how many starts of a session the handoff of an id was shown."""
    row = _counted(place)
    number = row.get("starts")
    return number if row.get("id") == id and isinstance(number, int) and number > 0 else 0


def count(place: Place, session: str) -> None:
    """Count the latest start of a session where its receipt says that the handoff was shown; once, however often it is asked.

    session: its id.  Raises OSError where the count cannot be written.
    """
    try:
        rows = [row for row in receipts.read(place.receipts(session)) if row.get("event") == "start"]
    except OSError:
        return
    shown = [item[0] for item in receipts.chosen(rows[-1]) if item[2:] == [REASON]] if rows else []
    if not shown:
        return
    last = "%s %d" % (session, len(rows))
    with files.Lock(place.cache + "/handoff.lock", wait=True):
        if _counted(place).get("last") != last:
            row = {"v": 1, "id": shown[0], "starts": starts(place, shown[0]) + 1, "last": last}
            files.replace(_path(place), fastjson.dump(row).encode("ascii"))


def put(store: Store, title: str, body: str, source: str, session: str, extra: Dict[str, Any]) -> Record:
    """Make a text the handoff; the one of before takes an ordinary name.

    source: human | agent | auto.  session: its id, or "".  extra: more frontmatter.  Raises UsageError where nothing is left
    to keep, StoreError where it cannot be written.
    """
    _mark(store)
    made = store.add("checkpoint", title, body, source=source, session=session, extra={**extra, "trigger": TRIGGER})
    return store.promote(made.name, NAME)


def clear(store: Store) -> Record:
    """Give the handoff an ordinary name, so that no session gets it any more; raises StoreError."""
    _mark(store)
    return store.demote(NAME)


def _mark(store: Store) -> None:
    """Say in a handoff written by hand what it is: under another name nothing else would; raises StoreError."""
    if files.exists(store.place.path(NAME)):
        before = store.read(NAME)
        if before.meta.get("trigger") != TRIGGER and before.body.strip():
            store.edit(NAME, {"trigger": TRIGGER})


def _path(place: Place) -> str:
    return place.cache + "/handoff.json"


def _counted(place: Place) -> Dict[str, Any]:
    try:
        row = fastjson.parse(files.read(_path(place), 4096))
    except (OSError, ValueError):
        return {}
    return row if isinstance(row, dict) and row.get("v") == 1 else {}
