"""The journal of upkeep: what was applied to a workspace's records, so that it can be taken back.

Schema, version 1, of `<private tier>/journal.jsonl`, one line a step, written before the step is
done:

    {"v":1,"t":"2026-11-21T14:30:52Z","run":"8 hex","do":"begin"}
    {"v":1,"t":…,"run":…,"do":"archive","id":"c-1a2b3c4d","name":"p/checkpoints/…md","into":""}
    {"v":1,"t":…,"run":…,"do":"change","id":"l-…","name":"p/learnings/…md","before":"64
     hex","after":"64 hex"}
    {"v":1,"t":…,"run":…,"do":"done"}          or "undone"

into: the id of the record that took this one's place, or "".  before, after: SHA-256 of the file;
the bytes of before stand in `<private tier>/archive/before/<64 hex>.md`, and are believed only
where their hash is their name.  A run without `done` was cut short; the next one goes on under its
name.  The journal holds no text of a record.  Without it nothing can be undone, but `dayleaf store
restore` still brings each record back.
"""

from __future__ import annotations

from typing import NamedTuple

from memory.core import StoreError, clock, fastjson, files
from memory.core.layout import PRIVATE, Place
from memory.store import archive

VERSION = 1
LIMIT = 256 << 20  # bytes of the journal that are read


class JournalStep(NamedTuple):
    """A change of a record, as in the schema."""

    do: str
    id: str
    name: str
    into: str = ""
    before: str = ""
    after: str = ""


class Run(NamedTuple):
    """One application of proposals.  run: its name.  began: in ISO 8601."""

    run: str
    began: str
    steps: list[JournalStep]
    done: bool
    undone: bool


def path(place: Place) -> str:
    return dict(place.tiers())[PRIVATE] + "/journal.jsonl"


def read_runs(place: Place) -> list[Run]:
    """Return all runs, oldest first; skips invalid lines.

    Raises StoreError for a newer version's journal.
    """
    try:
        rows = fastjson.parse_rows(files.read(path(place), LIMIT))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(
            "%s: %s; mend its permissions" % (path(place), (error.strerror or "unreadable").lower())
        ) from None
    found: dict[str, Run] = {}
    for number, row in enumerate(rows, 1):
        version, run = row.get("v"), row.get("run")
        if isinstance(version, int) and version > VERSION:
            raise StoreError(
                "%s: a newer dayleaf wrote entry %d; use that one, or move the file away"
                % (path(place), number)
            )
        if (
            version == VERSION
            and isinstance(run, str)
            and all(isinstance(value, (str, int)) for value in row.values())
        ):
            _add_row(found, run, {key: str(value) for key, value in row.items()})
    return list(found.values())


def _add_row(found: dict[str, Run], run: str, row: dict[str, str]) -> None:
    known = found.setdefault(run, Run(run, row.get("t", ""), [], False, False))
    do = row.get("do", "")
    if do == "begin":
        found[run] = known._replace(done=False)
    elif do in ("done", "undone"):
        found[run] = known._replace(done=True, undone=known.undone or do == "undone")
    elif do in ("archive", "change") and row.get("id") and row.get("name"):
        known.steps.append(JournalStep(do, *(row.get(key, "") for key in JournalStep._fields[1:])))


def find_last_run(place: Place) -> Run | None:
    """Return the newest run with changes still in force, or None.  Raises StoreError."""
    return next((run for run in reversed(read_runs(place)) if run.steps and not run.undone), None)


def begin(place: Place, now: float) -> str:
    """Begin or resume a run and return its name; raises StoreError, OSError."""
    run = find_interrupted_run(place)
    if not run:
        seed = "%s %d" % (clock.iso(now), len(read_runs(place)))
        run = files.sha256(seed.encode("ascii"))[:8]
    log_state(place, run, "begin", now)
    return run


def find_interrupted_run(place: Place) -> str:
    """Return the name of the newest run if it did not end, or "".

    Raises StoreError.
    """
    known = read_runs(place)
    return known[-1].run if known and not known[-1].done else ""


def log_state(place: Place, run: str, do: str, now: float) -> None:
    """Log that a run begins, is done or was undone.  Raises OSError."""
    _append(place, now, run=run, do=do)


def log_step(place: Place, run: str, step: JournalStep, now: float) -> None:
    """Log a step before it is done; raises OSError."""
    _append(place, now, run=run, **{key: value for key, value in step._asdict().items() if value})


def _append(place: Place, now: float, **row: str) -> None:
    line = fastjson.dump({"v": VERSION, "t": clock.iso(now), **row})
    files.append_line(path(place), line)


def save_bytes(place: Place, data: bytes) -> str:
    """Save a file's bytes and return their SHA-256.  Raises OSError."""
    sha256 = files.sha256(data)
    if read_saved_bytes(place, sha256) is None:
        files.replace(_saved_path(place, sha256), data)
    return sha256


def read_saved_bytes(place: Place, sha256: str) -> bytes | None:
    """Return the saved bytes with a SHA-256, None where gone or altered."""
    if len(sha256) != 64 or not sha256.isalnum():
        return None
    return files.read_checked(_saved_path(place, sha256), sha256, archive.LIMIT)


def _saved_path(place: Place, sha256: str) -> str:
    return "%s/%s/before/%s.md" % (dict(place.tiers())[PRIVATE], archive.FOLDER, sha256)
