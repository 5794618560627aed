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
CUT_BYTES, KEPT_LINES = 1 << 17, 400  # the log is cut to so many lines
LONGEST_RUN = 3600.0  # seconds after which a process of that number is another one


def log_path(place: Place) -> str:
    return place.home + "/log/captures/" + place.key + ".jsonl"


def log_start(place: Place, session: str, trigger: str, now: float) -> str:
    """Log the start of a capture and return its run id."""
    run = "%d.%d" % (files.posix.getpid(), int(now * 1000))
    _append_row(place, now, do="asked", run=run, session=session, trigger=trigger)
    return run


def log_end(place: Place, run: str, trigger: str, id: str, began: float, now: float) -> None:
    """Log the end of a capture; `id` is its checkpoint's, or ""."""
    ms = max(0, int((now - began) * 1000))  # the clock may have been set back
    _append_row(place, now, do="done", run=run, trigger=trigger, ms=ms, id=id)


def list_unfinished(place: Place, now: float) -> List[Dict[str, Any]]:
    """Return the logged starts of captures that were cut short, oldest first.

    In each `said` tells whether the user heard of it.
    """
    begun: Dict[str, Dict[str, Any]] = {}
    for row in _read_rows(place):
        run = row["run"]
        if row.get("do") == "asked":
            begun[run] = {**row, "said": False}
        elif row.get("do") == "done":
            begun.pop(run, None)
        elif run in begun:
            begun[run]["said"] = True
    return [row for run, row in begun.items() if not _is_running(row, run, now)]


def _is_running(row: Dict[str, Any], run: str, now: float) -> bool:
    pid = run.partition(".")[0]
    age = now - (clock.parse(str(row.get("t"))) or 0.0)
    return abs(age) < LONGEST_RUN and pid.isdigit() and files.is_running(int(pid))


def mark_reported(place: Place, runs: Iterable[str], now: float) -> None:
    """Log that the user was told of some unfinished captures.

    A log over CUT_BYTES is cut, and loses the names of older versions.
    """
    for run in runs:
        _append_row(place, now, do="said", run=run)
    try:
        data = files.read(log_path(place), LIMIT)
    except OSError:
        return
    if len(data) <= CUT_BYTES and b'"name":"p' not in data:
        return
    with files.Lock(log_path(place) + ".lock", wait=True):
        rows = _read_rows(place)
        for row in rows:
            row.pop("name", None)
        ended = {row["run"] for row in rows if row.get("do") == "done"}
        recent = {row["run"] for row in rows[-KEPT_LINES:]}
        kept = [row for row in rows if row["run"] in recent or row["run"] not in ended]
        lines = [fastjson.dump(row) + "\n" for row in kept]
        files.replace(log_path(place), "".join(lines).encode("ascii"), synced=False)


def list_timings(place: Place) -> List[Tuple[float, str, int]]:
    """Return (instant, trigger, milliseconds) of each completed run."""
    found = []
    for row in _read_rows(place):
        instant, took = clock.parse(str(row.get("t"))), row.get("ms")
        if row.get("do") == "done" and instant is not None and isinstance(took, int):
            found.append((instant, str(row.get("trigger")), took))
    return found


def _read_rows(place: Place) -> List[Dict[str, Any]]:
    try:
        found = fastjson.parse_rows(files.read(log_path(place), LIMIT))
    except OSError:
        return []
    return [row for row in found if row.get("v") == 1 and isinstance(row.get("run"), str)]


def _append_row(place: Place, now: float, **fields: Any) -> None:
    row = {"v": 1, "t": clock.iso(now), **fields}
    with files.Lock(log_path(place) + ".lock", wait=True):
        files.append_line(log_path(place), fastjson.dump(row))
