"""Attempts to capture: what a worker set out to write, and that it came to its end.

Schema, version 1, of `<home>/log/captures/<workspace>.jsonl`, one JSON object a line, in the order
of writing:

    {"v":1,"t":"2026-11-21T14:30:52Z","do":"asked","run":"4711.1795271452000","session":…,
     "trigger":"stop"}
    {"v":1,"t":…,"do":"done","run":…,"trigger":…,"ms":41,"id":"c-1a2b3c4d" or ""}
    {"v":1,"t":…,"do":"said","run":…}

trigger: stop, pre_compact or session_end. `run` is the worker's process and the instant in
milliseconds. An `asked` without `done` was cut short: a power cut, a kill. `said`: the user has
heard of it. A line of an older version has the checkpoint's `name`, which holds its title. A
failure that the worker could still tell of is `done` and stands in the log of failures. The log is
derived: deleted, nothing is lost but what it would say.
"""

from __future__ import annotations

from memory.core import clock, fastjson, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Tuple

    from memory.core.layout import Place

LIMIT = 1 << 20  # bytes that are read
MOST, KEPT = 1 << 17, 400  # bytes from which the log is cut, and lines that are kept then
LIVE = 3600.0  # seconds after which a process of that number is another one


def path_of(place: Place) -> str:
    """Return the path of a workspace's log."""
    return place.home + "/log/captures/" + place.key + ".jsonl"


def begin(place: Place, session: str, trigger: str, now: float) -> str:
    """Log the start of a capture and return its run id.

    Raises OSError.
    """
    run = "%d.%d" % (files.posix.getpid(), int(now * 1000))
    _add(
        place,
        {
            "v": 1,
            "t": clock.iso(now),
            "do": "asked",
            "run": run,
            "session": session,
            "trigger": trigger,
        },
    )
    return run


def end(place: Place, run: str, trigger: str, id: str, began: float, now: float) -> None:
    """Log the end of a run.

    id: of the checkpoint it wrote, or "".
    began, now: seconds since the epoch.
    Raises OSError.
    """
    _add(
        place,
        {
            "v": 1,
            "t": clock.iso(now),
            "do": "done",
            "run": run,
            "trigger": trigger,
            "ms": max(0, int((now - began) * 1000)),
            "id": id,
        },
    )


def unfinished(place: Place, now: float) -> List[Dict[str, Any]]:
    """Return the captures that began, never ended and no longer run.

    Oldest first.  A row has the fields logged at the start, and `said`: whether the user was told.
    """
    open_ones: Dict[str, Dict[str, Any]] = {}
    for row in _rows(place):
        run = row["run"]
        if row.get("do") == "asked":
            open_ones[run] = {**row, "said": False}
        elif row.get("do") == "done":
            open_ones.pop(run, None)
        elif run in open_ones:
            open_ones[run]["said"] = True
    return [row for run, row in open_ones.items() if not _is_running(row, run, now)]


def _is_running(row: Dict[str, Any], run: str, now: float) -> bool:
    pid = run.partition(".")[0]
    age = now - (clock.parse(str(row.get("t"))) or 0.0)
    return abs(age) < LIVE and pid.isdigit() and files.alive(int(pid))


def mark_reported(place: Place, runs: Iterable[str], now: float) -> None:
    """Log that the user was told of some runs.

    The log is cut where it has grown over MOST bytes, and loses the names of older versions.
    Raises OSError.
    """
    for run in runs:
        _add(place, {"v": 1, "t": clock.iso(now), "do": "said", "run": run})
    try:
        data = files.read(path_of(place), LIMIT)
    except OSError:
        return
    if len(data) <= MOST and b'"name":"p' not in data:
        return
    with files.Lock(path_of(place) + ".lock", wait=True):
        rows = _rows(place)
        for row in rows:
            row.pop("name", None)
        ended = {row.get("run") for row in rows if row.get("do") == "done"}
        kept = {row.get("run") for row in rows[-KEPT:]} | {row.get("run") for row in rows} - ended
        lines = [fastjson.dump(row) + "\n" for row in rows if row.get("run") in kept]
        files.replace(path_of(place), "".join(lines).encode("ascii"), synced=False)


def timings(place: Place) -> List[Tuple[float, str, int]]:
    """Return (instant, trigger, milliseconds) of each completed run."""
    found = []
    for row in _rows(place):
        instant, took = clock.parse(str(row.get("t"))), row.get("ms")
        if row.get("do") == "done" and instant is not None and isinstance(took, int):
            found.append((instant, str(row.get("trigger")), took))
    return found


def _rows(place: Place) -> List[Dict[str, Any]]:
    try:
        found = fastjson.rows(files.read(path_of(place), LIMIT))
    except OSError:
        return []
    return [row for row in found if row.get("v") == 1 and isinstance(row.get("run"), str)]


def _add(place: Place, row: Dict[str, Any]) -> None:
    with files.Lock(path_of(place) + ".lock", wait=True):
        files.append_line(path_of(place), fastjson.dump(row))
