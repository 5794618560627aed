"""The ledger of model calls, and the caps on calls a day, a minute and at once.

Schema of `<home>/spend.jsonl`, version 1.  One line per model call, also when it failed, appended
in one write:

    {"v":1,"t":"2026-11-21T14:30:52Z","provider":"claude","model":"…","in":812,"out":140,
     "plan":1600,"cost":0.001,"ok":true,"why":""}

`in`, `out` (tokens) and `cost` (US dollars at list price) are null where the provider did not say;
the cap then counts `plan`, the tokens of the prompt and of the longest answer.  `why` is a word for
the failure (`timeout`, `exit 1`, …), never text of a user, record or model.  A call for a note of a
session has `"for":"notes"` as well, and a daily cap of its own (`notes.dailyCalls`).

Admission, `<home>/spawn/`.  `slot-0` to `slot-3` are kernel locks, one held by each running call,
so that a killed holder frees its slot; each holds its holder's process number, and a process with
an ancestor among them starts nothing.  `starts` holds `<epoch seconds> <planned tokens> <purpose>`
of the calls started today and in the last minute, one a line, and is rewritten under the kernel
lock `lock`.  These files stop a recursion where every other guard is gone (a host that strips the
environment, a client that ignores a flag): where they cannot be used, there is no call.
"""

from __future__ import annotations

import contextlib
import math
import os
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence

from memory.core import clock, fastjson, files

if TYPE_CHECKING:
    from memory.core.config import Config

LIVE, RATE, MINUTE = 4, 12, 60.0
MOST_TOKENS = 500_000  # of distil's calls in a day
DISTILL, NOTES = "distill", "notes"  # purposes of a call, each with caps of its own
MONTH = 30  # days of which calls are reported
TAIL = 4 << 20  # bytes of the ledger's end that are read


class Totals(NamedTuple):
    """Sums of the model calls in a period.

    unknown: calls with unknown tokens. cost: US dollars. planned: most tokens of unknown calls.
    """

    calls: int = 0
    failed: int = 0
    unknown: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    planned: int = 0


def append_call(
    home: str,
    now: float,
    provider: str,
    model: str,
    tokens_in: int | None,
    tokens_out: int | None,
    cost: float | None,
    why: str = "",
    plan: int = 0,
    purpose: str = DISTILL,
) -> None:
    """Append one call to the ledger.

    why: "" for a success, else a word for the failure. plan: the most tokens it may take, which the
    cap counts where tokens_in or tokens_out is None.
    """
    line = {
        "v": 1,
        "t": clock.iso(now),
        "provider": provider,
        "model": model[:80],
        "in": tokens_in,
        "out": tokens_out,
        "plan": plan,
        "cost": cost,
        "ok": not why,
        "why": why[:40],
        **({} if purpose == DISTILL else {"for": purpose}),
    }
    files.append(home + "/spend.jsonl", (fastjson.dump(line) + "\n").encode("ascii"))


def sum_calls(home: str, start: float, end: float, purpose: str = "") -> Totals:
    """Sum the calls in [start, end), without unreadable lines.

    purpose: DISTILL or NOTES, "" for all calls. Raises OSError.
    """
    return _sum_rows(
        [row for _, row in _read_rows(home, start, end) if purpose in ("", row.get("for", DISTILL))]
    )


def sum_by_day(home: str, start: float, end: float) -> list[tuple[str, str, Totals]]:
    """Return (UTC day, provider, totals) of calls, newest first."""
    groups: dict[tuple[float, str], list[dict[str, Any]]] = {}
    for instant, row in _read_rows(home, start, end):
        key = -clock.midnight(instant), str(row.get("provider", ""))[:40]
        groups.setdefault(key, []).append(row)
    return [
        (clock.day(-midnight), provider, _sum_rows(groups[midnight, provider]))
        for midnight, provider in sorted(groups)
    ]


def _read_rows(home: str, start: float, end: float) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield (instant, row) of the ledger's calls in [start, end)."""
    for line in _read_tail(home + "/spend.jsonl"):
        try:
            row = fastjson.parse(line)
            instant = clock.parse(row["t"])
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        if instant is not None and start <= instant < end:
            yield instant, row


def _sum_rows(rows: Sequence[dict[str, Any]]) -> Totals:
    failed = unknown = tokens_in = tokens_out = planned = 0
    cost = 0.0
    for row in rows:
        given, got, plan, price = (to_number(row.get(key)) for key in ("in", "out", "plan", "cost"))
        is_unknown = given is None or got is None
        given, got = int(given or 0), int(got or 0)
        if is_unknown:
            planned += max(0, int(plan or 0) - given - got)
        failed += row.get("ok") is not True
        unknown += is_unknown
        tokens_in += given
        tokens_out += got
        cost += price or 0.0
    return Totals(len(rows), failed, unknown, tokens_in, tokens_out, cost, planned)


def estimate_price(home: str, now: float, provider: str, tokens: int) -> float:
    """Estimate the price in US dollars of notes that read `tokens`, 0.0 if unknown.

    From a provider's calls of the last month, only those for notes if there are any.
    """
    every = _read_rows(home, now - MONTH * clock.DAY, now + clock.DAY)
    rows = [row for _, row in every if row.get("provider") == provider and row.get("cost")]
    made = _sum_rows([row for row in rows if row.get("for") == NOTES] or rows)
    read = made.tokens_in + made.planned
    return made.cost / read * tokens if read else 0.0


def format_price(dollars: float) -> str:
    """Format an estimate as `, some 0.02 US dollars by your calls so far`, "" for 0.0."""
    digits = 2 if dollars >= 0.1 else 4
    return ", some %.*f US dollars by your calls so far" % (digits, dollars) if dollars else ""


def sum_today(home: str, now: float, purpose: str = "") -> Totals:
    """Sum the calls of the present UTC day."""
    start = clock.midnight(now)
    return sum_calls(home, start, start + clock.DAY, purpose)


def check_caps(
    home: str, config: Config, now: float, tokens: int = 0, purpose: str = DISTILL
) -> str:
    """Return why a daily cap forbids a further call of `tokens`, or ""."""
    key = purpose + ".dailyCalls"
    most = int(config[key])
    try:
        spent = sum_today(home, now, purpose)
        started = [
            start
            for start in _read_starts(home)
            if start.purpose == purpose and clock.midnight(start.instant) == clock.midnight(now)
        ]
    except OSError as error:
        return "the spend ledger cannot be read (%s)" % error.strerror
    made = max(spent.calls, len(started))
    if made >= most:
        return "the day's cap of %d model calls is reached (%s)" % (most, key)
    if purpose == NOTES:
        return ""  # the tokens of a note are bounded
    running = started[spent.calls :]  # the ledger gets its line when a call ends
    used = spent.tokens_in + spent.tokens_out + spent.planned + sum(start.plan for start in running)
    if used + tokens > MOST_TOKENS:
        left = max(MOST_TOKENS - used, 0)
        return "the day's cap of %d tokens leaves %d" % (MOST_TOKENS, left)
    return ""


@contextlib.contextmanager
def hold_slot(
    home: str, config: Config, now: float, tokens: int = 0, purpose: str = DISTILL
) -> Iterator[str]:
    """Hold a slot for a model call; yields a refusal or "".

    The day's caps are checked under the lock, so that two processes cannot pass them together.
    """
    with contextlib.ExitStack() as stack:
        try:
            declined = _admit(stack, home, config, _CallStart(now, tokens, purpose))
        except OSError as error:
            declined = "%s/spawn cannot be used (%s)" % (home, error.strerror)
        yield declined


class _CallStart(NamedTuple):
    """A started call; plan: the most tokens it may take."""

    instant: float
    plan: int
    purpose: str


def _admit(stack: contextlib.ExitStack, home: str, config: Config, start: _CallStart) -> str:
    """Take a slot until the stack closes; return a refusal or ""."""
    now = start.instant
    folder = files.make_folder(home + "/spawn")
    with files.Lock(folder + "/lock", wait=True):
        reason = check_caps(home, config, now, start.plan, start.purpose)
        if reason:
            return reason
        starts = [
            s
            for s in _read_starts(home)
            if abs(now - s.instant) < MINUTE or clock.midnight(s.instant) == clock.midnight(now)
        ]
        # Stamps of the near future count: a clock set back must not open the gate.
        if sum(1 for s in starts if abs(now - s.instant) < MINUTE) >= RATE:
            return "%d model calls started within the last minute" % RATE
        slots = ["%s/slot-%d" % (folder, i) for i in range(LIVE)]
        if _find_holders(slots) & _find_ancestors():
            return "this runs inside a model call by dayleaf"
        if not any(_take_slot(stack, path) for path in slots):
            return "%d model calls are running" % LIVE
        lines = "".join("%.3f %d %s\n" % s for s in [*starts, start])
        files.replace(folder + "/starts", lines.encode("ascii"))
    return ""


def _take_slot(stack: contextlib.ExitStack, path: str) -> bool:
    """Lock a slot until the stack closes; return whether it was free."""
    lock = files.Lock(path)
    held = stack.enter_context(lock)
    if held:
        os.ftruncate(lock.fd, 0)
        os.write(lock.fd, b"%d" % os.getpid())
    return held


def _find_holders(slots: Sequence[str]) -> set[int]:
    """Return the ids of the processes that hold slots."""
    found = set()
    for path in slots:
        with files.Lock(path) as free, contextlib.suppress(OSError, ValueError):
            if not free:
                found.add(int(files.read(path, 32)))
    return found


def _find_ancestors() -> set[int]:
    """Return the ids of this process's ancestors, from /proc or ps."""
    import subprocess

    above: dict[int, int] = {}
    found: set[int] = set()
    pid = os.getppid()
    while pid > 1 and pid not in found:
        found.add(pid)
        try:
            if not above and os.path.exists("/proc/self/stat"):
                stat = files.read("/proc/%d/stat" % pid, 4096)  # `pid (name) state parent …`
                pid = int(stat.rpartition(b")")[2].split()[1])
                continue
            if not above:
                listed = subprocess.run(
                    ["/bin/ps", "-axo", "pid=,ppid="], capture_output=True, timeout=5, check=True
                ).stdout
                above = {int(a): int(b) for a, b in (line.split() for line in listed.splitlines())}
            pid = above[pid]
        except (OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError):
            break
    return found


def _read_starts(home: str) -> list[_CallStart]:
    """Read the recent starts of calls, without invalid lines."""
    found = []
    for line in _read_tail(home + "/spawn/starts"):
        with contextlib.suppress(ValueError):
            instant, plan, purpose = line.decode("ascii", "replace").split()
            found.append(_CallStart(float(instant), int(plan), purpose))
    return [start for start in found if math.isfinite(start.instant)]


def _read_tail(path: str) -> list[bytes]:
    """Return the last lines of a file, [] if it is absent."""
    try:
        fd = files.open_read(path)
    except FileNotFoundError:
        return []
    try:
        size = os.fstat(fd).st_size
        data = files.read_at(fd, TAIL, max(size - TAIL, 0))
    finally:
        os.close(fd)
    return data.splitlines()


def to_number(value: object) -> float | None:
    """Return a count or price from foreign JSON, None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15:
        return float(value)
    return None
