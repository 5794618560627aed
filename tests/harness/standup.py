"""Standups: checkpoints as capture writes them, and what is told of them."""

from __future__ import annotations

from harness import vault
from memory.core import clock
from memory.knowledge import worklog
from memory.terminal import screen, workdays

NIGHT = clock.parse("2026-11-20T00:00:00Z")


def teller(place, now):
    """Return what gathers a standup of the fixed instant in UTC and writes its lines at 80
    columns.
    """

    def call(workspace="", since=NIGHT, columns=80, offset=clock.utc):
        told = worklog.collect_work(place, vault.settings(), workspace, since, now, offset)
        return "\n".join(workdays.standup_lines(told, screen.Style(columns)))

    return call


def captured(place, file, body, created, **keys):
    """Write a checkpoint as capture does."""
    return vault.put(
        place,
        "p/checkpoints/%s/%s.md" % (created[:10], file),
        keys.pop("title", "Work on " + file),
        body,
        created=created,
        kind="checkpoint",
        **keys,
    )


def talk(place, body, session="s-1", day="2026-11-21", branch="retries", until=""):
    """Write the conversation of a session."""
    vault.put(
        place,
        "p/conversations/%s/%s.md" % (day, session),
        "Retries",
        body,
        created=day + "T09:10:00Z",
        session=session,
        kind="conversation",
        until=until or day + "T10:30:00Z",
        branch=branch,
    )
