"""The sessions of another agent, each read whole and turned into the host's shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory.doors.agents import codex, geminicli, otheragents
from memory.doors.agents.otheragents import Agent
from memory.project import backfill
from memory.project.otherfiles import Skip


def readers(known: Sequence[str] = ()) -> dict[str, Agent]:
    """Return the reader of each agent by its word.

    known: directories in which a session may have been started.
    """
    return {one.name: one for one in (codex.Codex(), geminicli.GeminiCli(known))}


def sessions(
    agent: str, env: dict[str, str], known: Sequence[str]
) -> Iterator[backfill.Session | Skip]:
    """Yield the sessions of an agent, and why others are passed over."""
    for one in otheragents.found(readers(known)[agent], env):
        spoken = one.spoken
        homeless = one.why == backfill.NO_DIRECTORY
        remedy = "import it in the directory where it was started" if homeless else "nothing to do"
        yield (
            Skip(one.path, one.why, remedy)
            if spoken is None
            else backfill.Session(
                spoken.id,
                one.path,
                len(spoken.rows),
                spoken.directory,
                one.began,
                one.ended,
                otheragents.Rows(spoken.rows),
            )
        )
