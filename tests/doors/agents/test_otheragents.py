"""What all readers of other agents' sessions share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from harness import agents
from harness.command import one_line_error

from memory.doors.agents import codex, geminicli, otheragents
from memory.doors.agents.otheragents import Agent, format_timestamp, join_text
from memory.session import transcript
from memory.session.transcript import TranscriptReader


def test_the_protocols_have_their_implementations():
    """As the types say, too."""
    readers: list[Agent] = [codex.Codex(), geminicli.GeminiCli()]
    sources: list[TranscriptReader] = [transcript, otheragents.RowReader([])]
    assert [one.name for one in readers] == ["codex", "gemini"] and len(sources) == 2


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("2026-11-20T09:00:00.000Z", "2026-11-20T09:00:00.000Z"),
        (1795165200, "2026-11-20T09:00:00.000Z"),
        (1795165200250, "2026-11-20T09:00:00.250Z"),
        (None, ""),
        (True, ""),
        ("soon", ""),
        (-1, ""),
    ],
)
def test_times_of_three_kinds_are_one(said, read):
    assert format_timestamp(said) == read


def test_text_stands_whole_or_in_parts():
    assert (
        join_text("a") == "a"
        and join_text([{"text": "a"}, "b", {"image": 1}, None]) == "a\nb"
        and join_text({"x": 1}) == join_text(None) == ""
    )


def test_a_row_keeps_its_id_where_rows_before_it_are_taken_back():
    """So that a session which is read again tells only what is new."""

    def ids(*said):
        made = otheragents.AgentSession("s", "/x")
        for text in said:
            made.set_time("2026-11-20T09:00:00.000Z")
            made.add_message("user", text)
        return [row["uuid"] for row in made.rows]

    assert ids("a", "b", "b")[1:] == ids("b", "b") and len(set(ids("a", "b", "b"))) == 3


def test_what_is_no_session_is_said_and_not_fatal(ok, env, project, tmp_path):
    """Torn, empty, a link to nowhere, without a directory, deep as a well."""
    folder = Path(env["HOME"], ".codex/sessions/2026/11/20")
    agents.write(folder / "rollout-1.jsonl", "")
    agents.write(folder / "rollout-2.jsonl", "[" * 100_000)
    agents.write(
        folder / "rollout-3.jsonl",
        '{"type":"session_meta","payload":{"id":"x","cwd":"here"},'
        '"timestamp":"2026-11-20T09:00:00Z"}\n'
        '{"timestamp":"2026-11-20T09:00:01Z","type":"response_item",'
        '"payload":{"role":"user","content":"hi"}}\n',
    )
    os.symlink("/nonexistent", folder / "rollout-4.jsonl")
    said = ok("import", "transcripts", "--agent", "codex", "--all-projects")
    assert (
        "4 skipped" in said and "no directory is known of it" in said and "cannot be read" in said
    )


@pytest.mark.parametrize("agent", ["codex", "gemini", "gemini of old"])
def test_a_history_that_is_damaged_is_said_and_a_byte_order_mark_is_no_damage(
    ok, env, project, agent
):
    """Zeros, another encoding, a half: here too, whosever session it was."""
    path = (
        agents.codex(env["HOME"], agents.codex_rows(project))
        if agent == "codex"
        else agents.gemini(env["HOME"], project, agents.gemini_messages(), old="old" in agent)
    )
    whole, times = path.read_bytes(), path.stat()
    command = ("import", "transcripts", "--agent", agent[:6].strip())
    for data in (bytes(500), whole.decode().encode("utf-16"), bytes(999) + whole[999:]):
        path.write_bytes(data)
        assert "%s: it cannot be read whole; put a copy" % path in ok(*command)
    path.write_bytes(b"\xef\xbb\xbf" + whole)
    os.utime(path, (times.st_atime, times.st_mtime))
    said = ok(*command)
    assert "1 imported" in said and "skipped" not in said


def test_only_transcripts_have_an_agent_and_only_a_person_names_one(run):
    assert "--agent is for import transcripts" in one_line_error(
        run("import", "dir", ".", "--agent", "codex"), 2
    )
    assert "codex, gemini" in one_line_error(run("import", "transcripts", "--agent", "emacs"), 2)
    assert "only a person" in one_line_error(
        run("import", "transcripts", "--agent", "codex", CLAUDECODE="1"), 2
    )
