"""Chats of Gemini CLI, of both generations, told as the host's sessions are."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from harness import agents

from memory.core import frontmatter
from memory.doors.agents import geminicli, otheragents
from memory.session.entries import PROMPT, RESULT, TEXT, USE


def entries(path: Path, env: dict[str, str]) -> list:
    """The entries of a chat, of which some lines may be none."""
    *_, found = [
        one
        for one in otheragents.read_sessions(geminicli.GeminiCli(), env)
        if one.path == str(path.resolve())
    ]
    return list(found.source.read(""))


def test_a_chat_says_what_was_asked_done_and_told(env, project):
    """The client's context and the notices are none; a call's end comes with it."""
    found = entries(agents.gemini(env["HOME"], project, agents.gemini_messages()), env)
    assert [entry.text for entry in found if entry.kind == PROMPT] == [
        "why does the parser fail on files from Windows?"
    ]
    assert [entry.text[:10] for entry in found if entry.kind == TEXT] == [
        "I will run",
        "The parser",
    ]
    assert [
        (entry.name, next(iter(entry.data.values()))) for entry in found if entry.kind == USE
    ] == [
        ("Bash", "pytest tests/test_parse.py"),
        ("Write", project + "/parse/bom.py"),
        ("Edit", project + "/parse/main.py"),
        ("Bash", "pytest tests/test_parse.py"),
        ("Bash", "git push"),
    ]
    results = [entry for entry in found if entry.kind == RESULT]
    assert [(entry.failed, entry.refused) for entry in results] == [
        (True, False),
        (False, False),
        (False, False),
        (False, False),
        (True, True),
    ]
    assert results[0].text == (
        "Exit code 1\ntests/test_parse.py:7: AssertionError: unexpected U+FEFF\n1 failed in 0.10s"
    )
    assert results[3].text == "1 passed in 0.10s"


def test_a_replayable_chat_is_replayed(env, project):
    """A message said again stands in its place, one that was taken back is gone, a patch replaces
    the messages.
    """
    say = agents.message
    lines = [
        {"$set": {"messages": [say("a", 0, "user", "first")]}},
        say("b", 1, "gemini", "half"),
        say("b", 1, "gemini", "whole"),
        say("c", 2, "user", "a mistake"),
        say("d", 3, "gemini", "an answer to it"),
        {"$rewindTo": "c"},
        {"$set": {"lastUpdated": "x"}},
        say("e", 4, "user", "better"),
        7,
        None,
    ]
    found = entries(agents.gemini(env["HOME"], project, [], lines=lines), env)
    assert [entry.text for entry in found] == ["first", "whole", "better"]


def test_of_two_files_of_a_session_the_replayable_one_counts(env, project):
    agents.gemini(env["HOME"], project, [agents.message("a", 0, "user", "the old file")], old=True)
    agents.gemini(env["HOME"], project, [agents.message("a", 0, "user", "the new file")])
    (found,) = otheragents.read_sessions(geminicli.GeminiCli(), env)
    assert [row["message"]["content"] for row in found.source.rows] == ["the new file"]


def test_the_directory_is_found_by_projects_json_and_by_its_hash(env, project):
    """Where no `.project_root` stands beside the chats."""
    path = agents.gemini(env["HOME"], project, [agents.message("a", 0, "user", "hi")], old=True)
    (path.parent.parent / ".project_root").unlink()
    (found,) = otheragents.read_sessions(geminicli.GeminiCli(), env)
    assert found.reason == "no directory is known of it"
    known = Path(env["HOME"], ".gemini", "projects.json")
    known.write_text(json.dumps({"projects": {project: "shop"}}))
    assert next(otheragents.read_sessions(geminicli.GeminiCli(), env)).directory == project
    known.write_text(json.dumps({"projects": {project: "other"}}))
    path.write_text(
        json.dumps(
            {
                **json.loads(path.read_text()),
                "projectHash": hashlib.sha256(project.encode()).hexdigest(),
            }
        )
    )
    assert next(otheragents.read_sessions(geminicli.GeminiCli(), env)).directory == project


def test_an_import_makes_a_checkpoint_and_a_conversation_once(ok, env, project, place):
    agents.gemini(env["HOME"], project, agents.gemini_messages())
    told = json.loads(ok("import", "transcripts", "--agent", "gemini", "--json"))
    page = frontmatter.parse(open(place.path(told["checkpoints"][0]), "rb").read())
    for words in ("byte order mark stood before the first line", "created `parse/bom.py`"):
        assert words in page.body, page.body
    talk = open(place.path(told["conversations"][0]), encoding="utf-8").read()
    assert "unexpected U+FEFF" in talk and "✓ `pytest tests/test_parse.py`" in talk
    # `git push`, which the user would not have
    assert "still fails" not in page.body and "refused" in talk
    assert json.loads(ok("import", "transcripts", "--agent", "gemini", "--json"))["before"] == 1


def test_a_chat_that_holds_only_a_hash_is_found_in_its_own_project(ok, env, project, tmp_path):
    """The project's hash is tried, in the chat and as its folder's name; elsewhere the chat is
    named as skipped, with what finds it.
    """
    with open(project + "/.git/config", "a") as config:
        config.write('[remote "origin"]\n\turl = https://example.invalid/shop.git\n')
    path = agents.gemini(env["HOME"], project, agents.gemini_messages())
    (path.parent.parent / ".project_root").unlink()
    hashed = path.parent.parent.rename(
        Path(env["HOME"], ".gemini/tmp", hashlib.sha256(project.encode()).hexdigest())
    )
    (tmp_path / "elsewhere").mkdir()
    said = ok("import", "transcripts", "--agent", "gemini", cwd=str(tmp_path / "elsewhere"))
    assert (
        "%s/chats/%s: no directory is known of it; import it in the directory where it was started"
        % (hashed, path.name)
        in said
    )
    told = json.loads(ok("import", "transcripts", "--agent", "gemini", "--json"))
    assert told["records"] == {"checkpoints": 1, "conversations": 1} and told["skipped"] == []
    hashed.rename(hashed.parent / "renamed")  # as by hand: the chat's own field tells
    chat = hashed.parent / "renamed/chats" / path.name
    head, *rest = chat.read_text(encoding="utf-8").splitlines(True)
    chat.write_text(
        json.dumps({**json.loads(head), "projectHash": hashed.name}) + "\n" + "".join(rest),
        encoding="utf-8",
    )
    there = json.loads(
        ok(
            "import",
            "transcripts",
            "--agent",
            "gemini",
            "--all-projects",
            "--json",
            cwd=str(tmp_path / "elsewhere"),
        )
    )
    assert (there["before"], there["skipped"]) == (1, [])  # seen at the import before
