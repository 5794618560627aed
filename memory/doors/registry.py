"""The table of optional doors: what each offers, and the one way to load it.

A door is a package here: code, SQL, templates and the verbs that are its alone.  A room asks
this table for what a door offers, and goes on without where the door is not there.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory.core import DayleafError, UsageError, files, layout


class Door(NamedTuple):
    """A part of dayleaf that may be missing, such as vectors or sync.

    package: its package. page: its page in the docs. verbs: each verb's module. offers:
        `module:name` of everything else.
    """

    package: str
    page: str
    verbs: Mapping[str, str]
    offers: Mapping[str, str]


# What a row may offer:
#   check      a step of doctor: (place, settings, env) -> findings
#   sessions   another agent's past sessions: (agent, env, directories) -> sessions and skips
#   dsn, state, choose, shelves, record
#              the database that recall asks: its address, how it stands, chosen, its shelves for a
#              query, one of its records
#   queries, state, build, step, sidecar, nearest
#              vectors: of queries, how they stand, made for a person and behind a hook, their
#              file, and the module that compares them
#   register   `config set mcp`: (env, on) -> one line
DOORS = {
    "agents": Door(
        "memory.doors.agents", "docs/agents.md", {}, {"sessions": "agentsessions:sessions"}
    ),
    "mcp": Door(
        "memory.doors.mcp",
        "docs/mcp.md",
        {"mcp": "mcpverb"},
        {"check": "registration:check", "register": "registration:register"},
    ),
    "page": Door("memory.doors.page", "docs/page.md", {"view": "viewverb"}, {}),
    "postgres": Door(
        "memory.doors.postgres",
        "docs/postgres.md",
        {},
        {
            "dsn": "connection:dsn_of",
            "state": "connection:state",
            "choose": "connection:choose",
            "shelves": "distant:shelves",
            "record": "distant:record",
        },
    ),
    "sync": Door("memory.doors.sync", "docs/sync.md", {"sync": "syncverb"}, {}),
    "vectors": Door(
        "memory.doors.vectors",
        "docs/vectors.md",
        {},
        {
            "queries": "queryvectors:QueryVectors",
            "state": "vectors:state",
            "build": "vectorbuild:build",
            "step": "vectorstep:step",
            "check": "vectorbuild:check",
            "sidecar": "vectorfile:Sidecar",
            "nearest": "nearest:",
        },
    ),
}


def verb(name: str) -> Any:
    """Import the module of a door's verb; raise UsageError without that door."""
    for door in DOORS.values():
        if name in door.verbs:
            return _module(door, door.verbs[name], name)
    raise _missing(name)


def offer(name: str, what: str) -> Any:
    """Return what a door offers, such as `state` of `vectors`.

    Raises UsageError without the door.
    """
    door = DOORS.get(name)
    if door is None:
        raise _missing(name)
    module, _, attribute = door.offers[what].partition(":")
    found = _module(door, module, name)
    return getattr(found, attribute) if attribute else found


def optional(name: str, what: str) -> Any:
    """Return what a door offers, None without the door."""
    return offer(name, what) if name in DOORS else None


def having(what: str) -> list[str]:
    """Return the names of the doors that offer a thing, such as `check`."""
    return [name for name, door in DOORS.items() if what in door.offers]


def lacking(what: str, extra: str, error: ImportError) -> DayleafError:
    """Return the error for a door whose packages are not installed."""
    remedy = "install `dayleaf[%s]` in place of `dayleaf`" % extra
    if not files.is_inside(layout.plugin_folder(), sys.prefix):  # no wheel
        remedy = "`%s/install.sh --%s` adds them" % (layout.plugin_folder(), extra)
    return DayleafError(
        "%s needs packages that are not installed (%s); %s" % (what, error.name, remedy)
    )


def _module(door: Door, module: str, name: str) -> Any:
    try:
        return importlib.import_module("%s.%s" % (door.package, module))
    except ModuleNotFoundError as error:
        if error.name != door.package:
            raise
        raise _missing(name) from None


def _missing(name: str) -> UsageError:
    return UsageError(
        "%s: this dayleaf has no such part (memory/doors/registry.py lists them); "
        "install dayleaf again to have it" % name
    )
