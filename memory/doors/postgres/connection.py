"""The database that recall asks: its address, its state, and the choice of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.core import UsageError, files, plaintext
from memory.core.boundary import is_agent
from memory.core.config import Config
from memory.core.layout import Place
from memory.doors.postgres import postgres, rows
from memory.index import backend
from memory.terminal.call import Call


def state(place: Place, settings: Config, env: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the database's state as plain data, None without a database."""
    dsn = dsn_of(settings, place.home, env)
    if not dsn:
        return None
    spaces = postgres.open_database(dsn).spaces()
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

    From DAYLEAF_DSN (not in a session, whose environment a repository may fill), else the file
    `<home>/dsn`, else `index.dsn`.  Raises UsageError for a file that others can read, and for a
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
    dsn = str(settings["index.dsn"])
    if backend.has_password(dsn):
        raise UsageError("index.dsn " + backend.PASSWORD_ADVICE)
    return dsn


def choose(call: Call, given: str, private: bool, before: list[str]) -> int:
    """Set a database up for recall and load this workspace.

    given: the connection string of --dsn, or "".  before: lines on earlier steps.
    """
    from memory.cli.index import change_config

    path = call.place.home + "/config.json"
    dsn = given or dsn_of(call.settings, call.place.home, call.env)
    if not dsn:
        raise UsageError("no database is named; name one: --dsn 'host=… dbname=… user=…'")
    with call.spinner("setting up the database") as spinner:
        done = rows.set_up_and_load(
            dsn, call.place, "psg" if private else "s", spinner.counting("loading")
        )
    change_config(path, "index.backend", "postgres", files.FILE_MODE)
    if given:
        change_config(path, "index.dsn", given, files.FILE_MODE)
    records = plaintext.format_count(done.records, "record")
    changes = "%d added, %d changed, %d removed" % (done.added, done.changed, done.removed)
    if done.vectors:
        changes += ", %s sent" % plaintext.format_count(done.vectors, "vector")
    lines = [*before, "%s in the database: %s" % (records, changes)]
    lines += ["left out %s" % line for line in done.left]
    lines.append("recall asks the database as well as the files")
    return call.answer({"backend": "postgres", "own": False, **done._asdict()}, lines)
