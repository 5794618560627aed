"""Which database recall asks, how it stands, and how a person chooses one."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from memory.core import UsageError, files, plaintext
from memory.core.boundary import is_agent
from memory.core.config import Config
from memory.core.layout import Place
from memory.doors.postgres import postgres, rows
from memory.index import backend
from memory.terminal.call import Call


def state(place: Place, settings: Config, env: Mapping[str, str]) -> Optional[Dict[str, Any]]:
    """Return the state of the database as plain data.

    None where none is set up yet.
    """
    dsn = dsn_of(settings, place.home, env)
    if not dsn:
        return None
    spaces = postgres.database(dsn).spaces()
    here = spaces.get(place.key)
    return {
        "state": "ready",
        "problem": "",
        "workspaces": len(spaces),
        "documents": sum(s.documents for s in spaces.values()),
        "vectors": sum(s.chunks for s in spaces.values()),
        "here": here.documents if here else 0,
    }


def dsn_of(settings: Config, home: str, env: Mapping[str, str]) -> str:
    """Return the configured connection string, or "".

    The first of: DAYLEAF_DSN (not in a session, whose environment a repository may fill); the file
        `<home>/dsn`; `index.dsn`. Raises UsageError for a file that others can read, and for a
        password among the settings.
    """
    if env.get("DAYLEAF_DSN") and not is_agent(dict(env)):
        return env["DAYLEAF_DSN"]
    path = home + "/dsn"
    if files.exists(path):
        if files.posix.stat(path).st_mode & 0o077:
            raise UsageError(
                "%s can be read by others; `chmod 600 %s`, then ask again" % (path, path)
            )
        return files.read(path, 4096).decode("utf-8", "replace").strip()
    said = str(settings["index.dsn"])
    if backend.has_password(said):
        raise UsageError("index.dsn " + backend.SECRET)
    return said


def choose(call: Call, given: str, private: bool, before: List[str]) -> int:
    """Set a database up for recall and load this workspace.

    given: the connection string of --dsn, or "". before: lines on earlier steps.
    """
    from memory.cli.index import change_config

    home = call.place.home
    path = home + "/config.json"
    said = given or dsn_of(call.settings, home, call.env)
    if not said:
        raise UsageError("no database is named; name one: --dsn 'host=… dbname=… user=…'")
    with call.spinner("setting up the database") as spinner:
        done = rows.set_up_and_load(
            said,
            call.place,
            "psg" if private else "s",
            spinner.counting("loading"),
        )
    for key, value in (
        ("index.backend", "postgres"),
        ("index.dsn", given or None),
    ):
        if value is not None:
            change_config(path, key, value, files.FILE_MODE)
    lines = [
        "%s in the database: %d added, %d changed, %d removed%s"
        % (
            plaintext.count(done.records, "record"),
            done.added,
            done.changed,
            done.removed,
            ", %s sent" % plaintext.count(done.vectors, "vector") if done.vectors else "",
        ),
    ]
    return call.answer(
        {"backend": "postgres", "own": False, **done._asdict()},
        [
            *before,
            *lines,
            *("left out %s" % line for line in done.left),
            "recall asks the database as well as the files",
        ],
    )
