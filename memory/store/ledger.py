"""The ledger: what became of records, one appended line per use or outcome; ids and short hashes,
never text.

Schema, version 1, of `ledger.jsonl` in the private tier of a workspace, for its shared records too,
and in the global tier:

    {"v":1,"t":"2026-11-21T14:30:52Z","id":"l-1a2b3c4d","event":"use","session":"<8
     hex>","prompt":"<8 hex>"}

    use    what the record names was then used in the turn that it was shown in (knowledge/usage.py)
    up     it helped, somebody said       down   it misled       again   the same was learned once
                                                                 more

`session` and `prompt` are the first 8 hex digits of the SHA-256 of the host's ids; `session` is ""
outside a session, `prompt` is missing where no prompt brought the record.  A session counts once
for each word of a record but `use`.  A line of another version or with another event is kept and
passed over.  Lines count in the order of the file, so a clock that jumps harms nothing.

Derived, in the cache of the workspace and in `cache/global`:

    ledger.json  the snapshot, version 1, two lines: the SHA-256 of the second, which is
                 {"v":1,"offset":bytes folded,"seal":[inode, SHA-256 of both ends of
                  them],"passed":…,"torn":…,
                 "rows":{id:[uses, up, down, again, instant of the last use, sessions that had their
                 say]}} (of these the word, as U, D or A, and the 8 hex digits, run together)
    misled       ids of records whose failures outweigh their successes, those of what was merged
                 into them included, one a line: what the hooks read
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
SNAPSHOT_EVERY = 1 << 16  # new bytes from which a snapshot is written: 600 lines, folded in 1 ms
# bytes read at once, and of each end of what was folded that are sealed
BLOCK, END = 1 << 22, 1 << 12
SESSIONS = 64  # of a record that are remembered for having had their say
_LINE = re.compile(
    rb'^\{"v":1,"t":"([^"\\]*)","id":"([^"\\]+)","event":"(use|up|down'
    rb'|again)","session":"([0-9a-f]{8}|)"(?:,"prompt":"[0-9a-f]{8}")?\}\n',
    re.M,
)
Row = list[Any]  # uses, up, down, again, instant of the last use, sessions that had their say


class Ledger(NamedTuple):
    """A ledger's file, the directory of its derived files, its tiers."""

    path: str
    cache: str
    tiers: tuple[tuple[str, str], ...] = ()


class Counts(NamedTuple):
    """The uses and outcomes of a record.

    again: how often it was learned again.  last: its last use, seconds since the epoch, 0 for none.
    """

    uses: int = 0
    up: int = 0
    down: int = 0
    again: int = 0
    last: float = 0.0


class Fold(NamedTuple):
    """The counts of a ledger by id.

    offset: bytes folded.  passed: lines of another version or with another event.  torn: invalid
    lines.
    """

    rows: dict[str, Row]
    offset: int = 0
    passed: int = 0
    torn: int = 0

    def counts(self, id: str) -> Counts:
        """Return the uses and outcomes of a record."""
        row = self.rows.get(id)
        return (
            Counts(row[0], row[1], row[2], row[3], clock.parse(row[4]) or 0.0) if row else Counts()
        )


def ledgers(place: Place) -> tuple[Ledger, Ledger]:
    """Return the ledgers of the workspace and the global tier."""
    tiers = tuple(place.tiers())
    return (
        Ledger(
            place.private + "/" + NAME,
            place.cache,
            tuple(tier for tier in tiers if tier[0] != GLOBAL),
        ),
        Ledger(
            place.everyone + "/" + NAME,
            place.home + "/cache/global",
            tuple(t for t in tiers if t[0] == GLOBAL),
        ),
    )


def holding(place: Place, name: str) -> Ledger:
    """Return the ledger that counts a record, by its name."""
    return ledgers(place)[name[:2] == GLOBAL + "/"]


def short(identity: str) -> str:
    """Return 8 hex digits for a host's id, "" for an empty one."""
    return files.sha256(identity.encode("utf-8", "replace"))[:8] if identity else ""


def note(
    ledger: Ledger, id: str, event: str, now: float, session: str = "", prompt: str = ""
) -> None:
    """Append one of EVENTS of a record to a ledger; raises StoreError.

    session, prompt: the host's ids, "" for none.
    """
    line = {
        "v": 1,
        "t": clock.iso(now),
        "id": id,
        "event": event,
        "session": short(session),
        **({"prompt": short(prompt)} if prompt else {}),
    }
    try:
        files.append_line(ledger.path, fastjson.dump(line))
    except OSError as error:
        why = (error.strerror or "").lower()
        raise StoreError(
            "%s could not be written: %s; check its permissions" % (ledger.path, why)
        ) from error


def used_in(ledger: Ledger, session: str) -> set[tuple[str, str]]:
    """Return (prompt hash or "", record id) of a session's uses."""
    found: set[tuple[str, str]] = set()
    mark = b'"session":"%s"' % short(session).encode("ascii")
    for block in _blocks(ledger.path, 0):
        if mark in block:
            found.update(
                (str(row.get("prompt") or ""), str(row.get("id")))
                for row in fastjson.rows(
                    b"\n".join(line for line in block.split(b"\n") if mark in line)
                )
                if row.get("event") == "use"
            )
    return found


def size(ledger: Ledger) -> int:
    try:
        return files.posix.stat(ledger.path).st_size
    except OSError:
        return 0


def uses(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """Yield every use in a ledger, oldest first; never raises."""
    for block in _blocks(ledger.path, 0):
        yield from (
            row
            for row in fastjson.rows(
                b"\n".join(line for line in block.split(b"\n") if b'"use"' in line)
            )
            if row.get("event") == "use"
        )


def read(ledger: Ledger) -> Fold:
    """Return a ledger's counts, and renew its derived files where due.  Never raises."""
    if not files.exists(ledger.path):
        return Fold({})
    try:
        with files.Lock(ledger.cache + "/ledger.lock") as held:
            return _fold(ledger, held)
    except OSError:  # a cache that cannot be written
        return _fold(ledger, False)


def settle(ledger: Ledger, moved: bool = False) -> Fold:
    """Count a ledger's lines and rewrite its derived files; raises OSError.

    Waits for any other process that does so.  moved: records went to the archive or came back, so
    that others stand for them.
    """
    with files.Lock(ledger.cache + "/ledger.lock", wait=True):
        return _fold(ledger, True, moved)


def recount_after_moves(place: Place) -> None:
    """Renew the list of misleading records after moves.  Else the next reading does it."""
    for ledger in ledgers(place):
        if files.exists(ledger.path):
            with suppress(OSError):
                settle(ledger, True)


def count_all(ledger: Ledger) -> Fold:
    """Return a ledger's counts from all lines, not the snapshot.  Never raises."""
    return _added(ledger.path, Fold({}))


def follow_successors(
    found: Fold, successors: Mapping[str, str], stands: Callable[[str], bool] = lambda id: False
) -> Fold:
    """Return a fold with merged records' counts added to their successors.

    successors: as `archive.successors` returns.  stands: tells whether a record of an id is in the
    store; it counts for itself, whatever a log says.
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
    tallies: Iterable[Mapping[str, Fold]], ids: Iterable[str]
) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """Return (uses, (successes, failures)) of records, by id, without zeros.

    tallies: folds by the path of their ledger; a ledger in several counts once.
    """
    uses: dict[str, int] = {}
    outcomes: dict[str, tuple[int, int]] = {}
    folds = {path: fold for tally in tallies for path, fold in tally.items() if fold.rows}
    for id in ids if folds else ():
        rows = [fold.rows[id] for fold in folds.values() if id in fold.rows]
        used, up, down = (sum(row[at] for row in rows) for at in range(3))
        uses.update({id: used} if used else {})
        outcomes.update({id: (up, down)} if up or down else {})
    return uses, outcomes


def misleads(up: int, down: int) -> bool:
    return down > up


# ---- the fold


def _fold(ledger: Ledger, write: bool, moved: bool = False) -> Fold:
    before = _snapshot(ledger) or Fold({})
    found = _added(ledger.path, before)
    if write:
        with suppress(OSError):
            if moved or found.offset > before.offset or not files.exists(ledger.cache + "/misled"):
                _list_misled(ledger, found)
            if found.offset - before.offset >= SNAPSHOT_EVERY:
                _keep(ledger, found)
    return found


def _list_misled(ledger: Ledger, found: Fold) -> None:
    """Write the ids of misleading records, if changed.

    A merged record stays in the list beside its successor: where a log lies, and the record stands
    in the store, it is still marked.
    """
    ids = _misled(found)
    if ids:
        successors = archive.successors(ledger.tiers)
        ids = ids.intersection(successors) | _misled(follow_successors(found, successors))
    said = "".join(id + "\n" for id in sorted(ids)).encode("ascii", "replace")
    files.update(ledger.cache + "/misled", said)


def _misled(found: Fold) -> set[str]:
    return {id for id, row in found.rows.items() if misleads(row[1], row[2])}


def _keep(ledger: Ledger, found: Fold) -> None:
    value = {
        "v": 1,
        "offset": found.offset,
        "seal": _seal(ledger.path, found.offset),
        "passed": found.passed,
        "torn": found.torn,
        "rows": found.rows,
    }
    fastjson.write_sealed(ledger.cache + "/ledger.json", value)


def _snapshot(ledger: Ledger) -> Fold | None:
    try:
        value = fastjson.read_sealed(ledger.cache + "/ledger.json", 1 << 30)
        if value["v"] != 1 or value["seal"] != _seal(ledger.path, value["offset"]):
            return None
        return Fold(value["rows"], value["offset"], value["passed"], value["torn"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _seal(path: str, offset: int) -> list[Any]:
    """Return a fingerprint of a ledger's first bytes: inode, SHA-256 of both ends."""
    fd = files.open_read(path)
    try:
        ends = (
            files.read_at(fd, min(END, offset), 0),
            files.read_at(fd, END, max(0, offset - END))[: min(END, offset)],
        )
        return [files.posix.fstat(fd).st_ino, files.sha256(*ends)]
    finally:
        files.posix.close(fd)


def _added(path: str, before: Fold) -> Fold:
    rows, offset, passed, torn = before
    for block in _blocks(path, offset):
        offset += len(block)
        found = _LINE.findall(block)
        if len(found) != block.count(b"\n"):  # a line that is not ours, or is blank
            found, others, bad = _one_by_one(block)
            passed, torn = passed + others, torn + bad
        _count(rows, found)
    return Fold(rows, offset, passed, torn)


def _count(rows: dict[str, Row], found: Iterable[tuple[bytes, bytes, bytes, bytes]]) -> None:
    for instant, name, event, session in found:
        id = name.decode("utf-8", "replace")
        row = rows.get(id)
        if row is None:
            rows[id] = row = [0, 0, 0, 0, "", ""]
        if event == b"use":
            row[0] += 1
            row[4] = instant.decode("ascii", "replace")
            continue
        said = (event[:1].upper() + session).decode("ascii", "replace")
        if not session or said not in row[5]:
            row[EVENTS.index(event.decode("ascii"))] += 1
            row[5] = (row[5] + said)[-9 * SESSIONS :] if session else row[5]


def _one_by_one(block: bytes) -> tuple[list[tuple[bytes, bytes, bytes, bytes]], int, int]:
    """Return (valid lines, number passed over, number torn) of a block."""
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


def _blocks(path: str, offset: int) -> Iterator[bytes]:
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
