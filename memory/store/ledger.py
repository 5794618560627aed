"""The ledger: what became of records, one appended line per use or outcome; ids and short hashes,
never text.

Schema, version 1, of `ledger.jsonl` in the private tier of a workspace, for its shared records too,
and in the global tier:

    {"v":1,"t":"2026-11-21T14:30:52Z","id":"l-1a2b3c4d","event":"use","session":"<8
     hex>","prompt":"<8 hex>"}

    use    what the record names was then used in the turn that it was shown in (knowledge/usage.py)
    up     it helped, somebody said
    down   it misled
    again  the same was learned once more

`session` and `prompt` are 8 hex digits of the SHA-256 of the host's ids; `session` is "" outside a
session, `prompt` is missing where none brought the record.  A session counts once for each word of
a record but `use`.  A line of another version or event is kept and passed over.  Lines count in the
file's order: a clock that jumps harms nothing.

Derived, in the cache of the workspace and in `cache/global`:

    ledger.json  the snapshot, version 1, two lines: the SHA-256 of the second, which is
        {"v":1,"offset":bytes folded,"seal":[inode, SHA-256 of both ends of them],"passed":…,
        "torn":…,"rows":{id:[uses, up, down, again, instant of the last use, sessions that had their
        say]}} (of these the word, as U, D or A, and the 8 hex digits, run together)
    misled  ids of records whose failures outweigh their successes, those of what was merged into
        them included, one a line: what the hooks read
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple

from memory.core import StoreError, clock, fastjson, files
from memory.core.layout import GLOBAL, Place
from memory.store import archive

NAME = "ledger.jsonl"
EVENTS = ("use", "up", "down", "again")
SNAPSHOT_EVERY = 1 << 16  # new bytes from which a snapshot is written: 600 lines
# bytes read at once, and of each end of the counted bytes that are sealed
BLOCK, END = 1 << 22, 1 << 12
SESSIONS = 64  # of a record whose outcomes are remembered, so that each counts once
_LINE = re.compile(
    rb'^\{"v":1,"t":"([^"\\]*)","id":"([^"\\]+)","event":"(use|up|down'
    rb'|again)","session":"([0-9a-f]{8}|)"(?:,"prompt":"[0-9a-f]{8}")?\}\n',
    re.M,
)
Row = list[Any]  # uses, up, down, again, instant of the last use, sessions that had their say


class Ledger(NamedTuple):
    """A ledger's paths: its file, the folder of derived files, its tiers."""

    path: str
    cache: str
    tiers: tuple[tuple[str, str], ...] = ()


class Counts(NamedTuple):
    """The uses and outcomes of a record.

    again: how often it was learned again.  last: its last use, 0 for none.
    """

    uses: int = 0
    up: int = 0
    down: int = 0
    again: int = 0
    last: float = 0.0


class Tally(NamedTuple):
    """The counts of a ledger by id.

    offset: bytes counted.  passed: lines of another version or event.  torn: invalid lines.
    """

    rows: dict[str, Row]
    offset: int = 0
    passed: int = 0
    torn: int = 0

    def counts(self, id: str) -> Counts:
        """Return the uses and outcomes of a record."""
        row = self.rows.get(id)
        if row is None:
            return Counts()
        uses, up, down, again, last, _ = row
        return Counts(uses, up, down, again, clock.parse(last) or 0.0)


def ledgers(place: Place) -> tuple[Ledger, Ledger]:
    """Return the ledgers of the workspace and the global tier."""
    tiers = tuple(place.tiers())
    own = tuple(tier for tier in tiers if tier[0] != GLOBAL)
    everyone = tuple(tier for tier in tiers if tier[0] == GLOBAL)
    return (
        Ledger(place.private + "/" + NAME, place.cache, own),
        Ledger(place.everyone + "/" + NAME, place.home + "/cache/global", everyone),
    )


def find_ledger(place: Place, name: str) -> Ledger:
    """Return the ledger that counts the uses of a record."""
    own, everyone = ledgers(place)
    return everyone if name.startswith(GLOBAL + "/") else own


def hash_id(identity: str) -> str:
    """Return 8 hex digits of an id's SHA-256, "" for no id."""
    return files.sha256(identity.encode("utf-8", "replace"))[:8] if identity else ""


def append_event(
    ledger: Ledger, id: str, event: str, now: float, session: str = "", prompt: str = ""
) -> None:
    """Append a record's event to a ledger; raises StoreError.

    session, prompt: the host's ids, "" for none.
    """
    line = {"v": 1, "t": clock.iso(now), "id": id, "event": event, "session": hash_id(session)}
    if prompt:
        line["prompt"] = hash_id(prompt)
    try:
        files.append_line(ledger.path, fastjson.dump(line))
    except OSError as error:
        why = (error.strerror or "").lower()
        raise StoreError(
            "%s could not be written: %s; check its permissions" % (ledger.path, why)
        ) from error


def read_session_uses(ledger: Ledger, session: str) -> set[tuple[str, str]]:
    """Return (prompt hash or "", record id) of a session's uses."""
    mark = b'"session":"%s"' % hash_id(session).encode("ascii")
    return {(str(row.get("prompt") or ""), str(row.get("id"))) for row in _find_uses(ledger, mark)}


def size(ledger: Ledger) -> int:
    try:
        return files.posix.stat(ledger.path).st_size
    except OSError:
        return 0


def read_uses(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """Yield every use in a ledger, oldest first; never raises."""
    return _find_uses(ledger, b'"use"')


def _find_uses(ledger: Ledger, mark: bytes) -> Iterator[dict[str, Any]]:
    """Yield the uses in a ledger whose lines contain `mark`."""
    for block in _read_blocks(ledger.path, 0):
        if mark in block:
            lines = b"\n".join(line for line in block.split(b"\n") if mark in line)
            yield from (row for row in fastjson.parse_rows(lines) if row.get("event") == "use")


def read(ledger: Ledger) -> Tally:
    """Return a ledger's counts, and update its derived files where due.  Never raises."""
    if not files.exists(ledger.path):
        return Tally({})
    try:
        with files.Lock(ledger.cache + "/ledger.lock") as held:
            return _update(ledger, held)
    except OSError:  # a cache that cannot be written
        return _update(ledger, False)


def rewrite_derived(ledger: Ledger, moved: bool = False) -> Tally:
    """Count a ledger's lines and rewrite its derived files; raises OSError.

    moved: records were archived or restored, so that successors changed.
    """
    with files.Lock(ledger.cache + "/ledger.lock", wait=True):
        return _update(ledger, True, moved)


def recount_after_moves(place: Place) -> None:
    """Update the lists of misleading records after records moved."""
    for ledger in ledgers(place):
        if files.exists(ledger.path):
            with suppress(OSError):
                rewrite_derived(ledger, True)


def count_all(ledger: Ledger) -> Tally:
    """Return a ledger's counts from all lines, not the snapshot.  Never raises."""
    return _add_new_lines(ledger.path, Tally({}))


def add_to_successors(
    found: Tally, successors: Mapping[str, str], stands: Callable[[str], bool] = lambda id: False
) -> Tally:
    """Return a tally with merged records counted for their successors.

    stands: tells whether a record is in the store, and so counts for itself, whatever a log says.
    """
    merged = {id for id in found.rows if id in successors and not stands(id)}
    if not merged:
        return found
    rows = {id: row for id, row in found.rows.items() if id not in merged}
    for id in sorted(merged):
        row, kept = found.rows[id], rows.get(successors[id], [0, 0, 0, 0, "", ""])
        rows[successors[id]] = [
            *(a + b for a, b in zip(kept[:4], row[:4])),
            max(kept[4], row[4]),
            kept[5],
        ]
    return found._replace(rows=rows)


def sum_tallies(
    tallies: Iterable[Mapping[str, Tally]], ids: Iterable[str]
) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """Return the uses and the (successes, failures) of records by id, without zeros.

    tallies: by the path of their ledger; a ledger in several of them counts once.
    """
    uses: dict[str, int] = {}
    outcomes: dict[str, tuple[int, int]] = {}
    known = {path: tally for by_path in tallies for path, tally in by_path.items() if tally.rows}
    for id in ids if known else ():
        rows = [tally.rows[id] for tally in known.values() if id in tally.rows]
        used, up, down = (sum(row[at] for row in rows) for at in range(3))
        if used:
            uses[id] = used
        if up or down:
            outcomes[id] = up, down
    return uses, outcomes


def is_misleading(up: int, down: int) -> bool:
    return down > up


# ---- counting


def _update(ledger: Ledger, write: bool, moved: bool = False) -> Tally:
    before = _read_snapshot(ledger) or Tally({})
    found = _add_new_lines(ledger.path, before)
    if write:
        with suppress(OSError):
            if moved or found.offset > before.offset or not files.exists(ledger.cache + "/misled"):
                _write_misleading(ledger, found)
            if found.offset - before.offset >= SNAPSHOT_EVERY:
                _write_snapshot(ledger, found)
    return found


def _write_misleading(ledger: Ledger, found: Tally) -> None:
    """Write the ids of misleading records, if changed.

    A merged record is listed beside its successor: a log may lie.
    """
    ids = _misleading_ids(found)
    if ids:
        successors = archive.successors(ledger.tiers)
        ids = ids.intersection(successors) | _misleading_ids(add_to_successors(found, successors))
    lines = "".join(id + "\n" for id in sorted(ids)).encode("ascii", "replace")
    files.replace_if_changed(ledger.cache + "/misled", lines)


def _misleading_ids(found: Tally) -> set[str]:
    return {id for id, row in found.rows.items() if is_misleading(row[1], row[2])}


def _write_snapshot(ledger: Ledger, found: Tally) -> None:
    value = {
        "v": 1,
        "offset": found.offset,
        "seal": _seal(ledger.path, found.offset),
        "passed": found.passed,
        "torn": found.torn,
        "rows": found.rows,
    }
    fastjson.write_sealed(ledger.cache + "/ledger.json", value)


def _read_snapshot(ledger: Ledger) -> Tally | None:
    try:
        value = fastjson.read_sealed(ledger.cache + "/ledger.json", 1 << 30)
        if value["v"] != 1 or value["seal"] != _seal(ledger.path, value["offset"]):
            return None
        return Tally(value["rows"], value["offset"], value["passed"], value["torn"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _seal(path: str, offset: int) -> list[Any]:
    """Return a ledger's inode and the SHA-256 of its counted ends."""
    fd = files.open_read(path)
    try:
        ends = (
            files.read_at(fd, min(END, offset), 0),
            files.read_at(fd, END, max(0, offset - END))[: min(END, offset)],
        )
        return [files.posix.fstat(fd).st_ino, files.sha256(*ends)]
    finally:
        files.posix.close(fd)


def _add_new_lines(path: str, before: Tally) -> Tally:
    rows, offset, passed, torn = before
    for block in _read_blocks(path, offset):
        offset += len(block)
        found = _LINE.findall(block)
        if len(found) != block.count(b"\n"):  # a line that is not ours, or is blank
            found, others, bad = _parse_lines(block)
            passed, torn = passed + others, torn + bad
        _count_lines(rows, found)
    return Tally(rows, offset, passed, torn)


def _count_lines(rows: dict[str, Row], found: Iterable[tuple[bytes, bytes, bytes, bytes]]) -> None:
    for instant, name, event, session in found:
        id = name.decode("utf-8", "replace")
        row = rows.get(id)
        if row is None:
            rows[id] = row = [0, 0, 0, 0, "", ""]
        if event == b"use":
            row[0] += 1
            row[4] = instant.decode("ascii", "replace")
            continue
        vote = (event[:1].upper() + session).decode("ascii", "replace")
        if not session or vote not in row[5]:
            row[EVENTS.index(event.decode("ascii"))] += 1
            row[5] = (row[5] + vote)[-9 * SESSIONS :] if session else row[5]  # of 9 characters


def _parse_lines(block: bytes) -> tuple[list[tuple[bytes, bytes, bytes, bytes]], int, int]:
    """Parse a block's lines; return (valid ones, number skipped, number torn)."""
    found, passed, torn = [], 0, 0
    for line in block.split(b"\n"):
        if not line.strip():
            continue
        try:
            row = fastjson.parse(line)
            if row["v"] != 1 or row["event"] not in EVENTS:
                passed += 1
                continue
            t, id, event, session = (
                row[key].encode("utf-8", "replace") for key in ("t", "id", "event", "session")
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            torn += 1
            continue
        found.append((t, id, event, session[:8]))
    return found, passed, torn


def _read_blocks(path: str, offset: int) -> Iterator[bytes]:
    """Yield blocks of a ledger's whole lines from an offset on."""
    try:
        fd = files.open_read(path)
    except OSError:
        return
    try:
        left = b""
        while True:
            block = files.read_at(fd, BLOCK, offset + len(left))
            if not block:
                return
            block = left + block
            # no line is that long
            end = block.rfind(b"\n") + 1 or (len(block) if len(block) > BLOCK else 0)
            if end:
                yield block[:end]
            offset, left = offset + end, block[end:]
    except OSError:
        return
    finally:
        files.posix.close(fd)
