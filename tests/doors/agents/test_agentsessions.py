"""The sessions of other agents, as import gets them."""

from __future__ import annotations

from harness import agents

from memory.doors.agents import agentsessions
from memory.project import backfill


def test_a_session_says_what_import_needs_and_a_file_without_one_why_not(env, project):
    """Its id, directory, instants and rows; a file without a directory is passed over."""
    path = agents.codex(env["HOME"], agents.codex_rows(project))
    agents.write(path.with_name("rollout-0.jsonl"), '{"type": "x"}\n')
    skipped, session = agentsessions.sessions("codex", env, [])
    assert session.directory == project and session.began < session.ended
    assert len(list(session.source.read(session.path))) >= session.size > 0
    assert (skipped.reason, skipped.remedy) == ("no session in it", "nothing to do")
    assert isinstance(session, backfill.Session)


def test_each_word_has_its_reader():
    assert set(agentsessions.list_readers()) == {"codex", "gemini"}
