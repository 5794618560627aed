"""The sessions of another agent, converted to the client's format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory.doors.agents import codex, geminicli, otheragents
from memory.doors.agents.otheragents import Agent
from memory.project.backfill import Session
from memory.project.otherfiles import Skip


def list_readers(known: Sequence[str] = ()) -> dict[str, Agent]:
    """Map each agent's name to its reader, given `known` directories."""
    return {agent.name: agent for agent in (codex.Codex(), geminicli.GeminiCli(known))}


def sessions(agent: str, env: dict[str, str], known: Sequence[str]) -> Iterator[Session | Skip]:
    """Yield an agent's sessions, and skipped files with the reason."""
    return otheragents.read_sessions(list_readers(known)[agent], env)
