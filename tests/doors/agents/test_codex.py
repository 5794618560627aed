"""Rollouts of Codex CLI, told as the host's sessions are."""

from __future__ import annotations

import json

import pytest
from harness import agents

from memory.core import frontmatter
from memory.doors.agents import codex, otheragents
from memory.session.entries import PROMPT, RESULT, TEXT, USE


def entries(rows, project):
    """The entries of a rollout."""
    data = agents.jsonl(
        [
            {"timestamp": agents.stamp(at), "type": kind, "payload": payload}
            for at, (kind, payload) in enumerate(rows)
        ]
    )
    session = codex.Codex().parse_session("/x.jsonl", data.encode(), {})
    return list(otheragents.RowReader(session.rows).read(""))


def test_a_rollout_says_what_was_asked_done_and_told(project):
    """The client's own words and repeated events are none; a patch is an edit a file; the exit
    status comes from the output.
    """
    found = entries(agents.codex_rows(project), project)
    assert [entry.text for entry in found if entry.kind == PROMPT] == [
        "why does the parser fail on files from Windows?"
    ]
    assert [entry.text[:17] for entry in found if entry.kind == TEXT] == ["The parser failed"]
    assert [(entry.name, next(iter(entry.data.values()))) for entry in found if entry.kind == USE][
        :4
    ] == [
        ("Bash", "pytest tests/test_parse.py"),
        ("Write", project + "/parse/bom.py"),
        ("Edit", project + "/parse/main.py"),
        ("Bash", "pytest tests/test_parse.py"),
    ]
    results = [entry for entry in found if entry.kind == RESULT]
    assert [entry.failed for entry in results] == [True, False, False, False, False]
    assert results[0].text.startswith("Exit code 1\ntests/test_parse.py:7") and {
        entry.branch for entry in found
    } == {"fix/bom"}


@pytest.mark.parametrize(
    ("meta", "headless"),
    [
        ({"originator": "codex_exec", "source": "exec"}, True),
        ({"originator": "codex_exec"}, True),
        ({"originator": "codex_sdk_ts", "source": "exec"}, True),
        ({"originator": "my_tool", "source": "mcp"}, True),
        ({"originator": "codex_cli_rs", "source": "cli"}, False),
        ({"originator": "codex_vscode", "source": "vscode"}, False),
        ({}, False),
    ],
)
def test_a_program_that_runs_it_is_no_person(project, meta, headless):
    """What it asks can be rolled back as what a person asks."""
    rows = [
        ("session_meta", {"id": "s", "cwd": project, **meta}),
        agents.said("user", "write the nightly summary"),
        agents.said("user", "write it again"),
        ("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
    ]
    (asked,) = entries(rows, project)
    assert (asked.text, asked.headless) == ("write the nightly summary", headless)


def test_an_older_rollout_has_only_events(project):
    rows = [
        ("session_meta", {"session_id": "s", "cwd": project}),
        ("event_msg", {"type": "user_message", "message": "hello there"}),
        ("event_msg", {"type": "agent_message", "message": "General words."}),
    ]
    assert [(entry.kind, entry.text) for entry in entries(rows, project)] == [
        (PROMPT, "hello there"),
        (TEXT, "General words."),
    ]


def test_calls_of_a_script_are_told_by_their_events(project):
    """In code mode no item of the model's holds the commands and files of its script."""
    call, output = agents.script("c1", 'text(await tools.exec_command({cmd:"make"}))', "two")
    changes = {
        project + "/new.py": {"type": "add", "content": "x"},
        project + "/old.py": {"type": "update", "move_path": project + "/moved.py"},
    }
    rows = [
        ("session_meta", {"id": "s", "cwd": project}),
        agents.said("user", "does it build?"),
        call,
        agents.completed(
            "CommandExecution",
            "exec-1",
            command=["/bin/bash", "-lc", "make"],
            aggregated_output="boom\n",
            exit_code=2,
        ),
        agents.completed(
            "FileChange", "exec-2", changes=changes, status="completed", stdout="Success."
        ),
        agents.completed("FileChange", "exec-3", changes=changes, status="failed"),
        output,
        agents.called("c2", "exec_command", cmd="ls"),
        agents.completed("CommandExecution", "c2", command=["ls"], exit_code=0),
        agents.returned("c2", "Process exited with code 0\nOutput:\nnew.py"),
    ]
    found = entries(rows, project)
    assert [next(iter(entry.data.values())) for entry in found if entry.kind == USE] == [
        "make",
        project + "/new.py",
        project + "/old.py",
        project + "/moved.py",
        "ls",
    ]
    results = [entry for entry in found if entry.kind == RESULT]
    assert [entry.failed for entry in results] == [True, False, False, False, False]
    assert results[0].text == "Exit code 2\nboom\n"


@pytest.mark.parametrize(
    "output",
    ["apply_patch verification failed: invalid patch", "unsupported custom tool call: apply_patch"],
)
def test_a_patch_that_the_client_refused_changed_nothing(project, output):
    rows = [
        ("session_meta", {"id": "s", "cwd": project}),
        agents.item(type="custom_tool_call", name="apply_patch", call_id="c", input=agents.PATCH),
        agents.returned("c", output, "custom_tool_call_output"),
    ]
    assert {entry.failed for entry in entries(rows, project) if entry.kind == RESULT} == {True}


def test_only_a_person_asks(project):
    """The client says whose a message is; turns that were rolled back were not asked."""
    marked = {
        source: {
            "internal_chat_message_metadata_passthrough": {
                "content_item_metadata": [{"provenance": {"type": source}}]
            }
        }
        for source in ("harness", "user")
    }
    rows = [
        ("session_meta", {"id": "s", "cwd": project, "source": "exec"}),
        ("response_item", {**agents.said("user", "A reminder.")[1], **marked["harness"]}),
        ("response_item", {**agents.said("user", "first")[1], **marked["user"]}),
        agents.said("user", "second"),
        agents.said("assistant", "That went wrong."),
        ("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        agents.said("user", "third"),
    ]
    assert [entry.text for entry in entries(rows, project)] == ["first", "third"]


def test_a_subagent_is_no_session_of_its_own(project):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}
    meta = {"id": "s", "cwd": project, "source": source}
    lines = [{"timestamp": agents.stamp(0), "type": "session_meta", "payload": meta}]
    assert codex.Codex().parse_session("/x.jsonl", agents.jsonl(lines).encode(), {}) is None


@pytest.mark.parametrize(
    "given", [{"cmd": 7}, {"command": []}, {}, {"command": ["apply_patch", 3]}, {"cmd": None}]
)
def test_calls_of_other_shapes_are_passed_over(project, given):
    rows = [
        ("session_meta", {"id": "s", "cwd": project}),
        agents.called("c", "exec_command", **given),
        agents.returned("c", {"odd": 1}),
        agents.returned("z", None),
        ("response_item", {"type": "reasoning"}),
        ("compacted", None),
    ]
    assert [entry.kind for entry in entries(rows, project)] in ([], [USE, RESULT])


def test_an_import_makes_a_checkpoint_and_a_conversation_once(ok, env, project, place):
    """What failed and then passed, the files, the plan's open step, the outcome; a torn last line
    costs nothing.
    """
    agents.codex(env["HOME"], agents.codex_rows(project))
    would = json.loads(ok("import", "transcripts", "--agent", "codex", "--dry-run", "--json"))
    assert would["records"] == {"checkpoints": 1, "conversations": 1}
    told = json.loads(ok("import", "transcripts", "--agent", "codex", "--json"))
    (name,) = told["checkpoints"]
    page = frontmatter.parse(open(place.path(name), "rb").read())
    assert page.meta["branch"] == "fix/bom" and page.meta["session"] == agents.ID
    for words in (
        "byte order mark stood before the first line",
        "Document it",
        "created `parse/bom.py`",
    ):
        assert words in page.body, page.body
    talk = open(place.path(told["conversations"][0]), encoding="utf-8").read()
    assert (
        "✗ `pytest tests/test_parse.py`" in talk
        and "unexpected U+FEFF" in talk
        and "✓ `pytest tests/test_parse.py`" in talk
    )
    assert json.loads(ok("import", "transcripts", "--agent", "codex", "--json"))["before"] == 1


def test_a_patch_that_deletes_and_moves_leaves_no_path_that_is_gone(ok, env, project, place):
    """Removed files are told as that, a moved one by where it lies now; a patch that failed removed
    nothing.
    """

    def patched(call, text, output):
        return [
            agents.item(
                type="custom_tool_call",
                name="apply_patch",
                call_id=call,
                input="*** Begin Patch\n%s*** End Patch\n" % text,
            ),
            agents.returned(call, output, "custom_tool_call_output"),
        ]

    rows = [
        ("session_meta", {"id": agents.ID, "cwd": project}),
        agents.said("user", "split the importer from the exporter, and drop what nobody calls"),
        *patched(
            "p1",
            "*** Update File: a/from.py\n@@\n-a\n+b\n*** Add File: b/half.py\n+x\n",
            "Exit code: 0\nOutput:\nDone",
        ),
        *patched(
            "p2",
            "*** Delete File: old/gone.py\n*** Update File: a/from.py\n*** Move to: a/to.py\n@@\n"
            "-a\n+b\n*** Delete File: b/half.py\n",
            "Exit code: 0\nOutput:\nDone",
        ),
        *patched(
            "p3", "*** Delete File: a/kept.py\n", "Exit code: 1\nOutput:\nno such file a/kept.py"
        ),
        agents.said(
            "assistant",
            "The importer has a module of its own now, a/to.py; the exporter calls it "
            "where it wrote before.",
        ),
    ]
    agents.codex(env["HOME"], rows)
    told = json.loads(ok("import", "transcripts", "--agent", "codex", "--json"))
    page = frontmatter.parse(open(place.path(told["checkpoints"][0]), "rb").read())
    assert page.meta["files"] == ["a/to.py"]
    assert (
        "removed `old/gone.py`, `a/from.py`, `b/half.py`" in page.body
        and "taken back" not in page.body
    )
    talk = open(place.path(told["conversations"][0]), encoding="utf-8").read()
    assert (
        "removed `old/gone.py`, removed `a/from.py`, edited `a/to.py`" in talk
        and "removed `a/kept.py`" not in talk
    )


def test_what_is_said_later_is_told_later(ok, env, project, place):
    """A rollout that went on after its import brings what is new."""
    rows = agents.codex_rows(project)
    agents.codex(env["HOME"], rows)
    ok("import", "transcripts", "--agent", "codex")
    more = [
        agents.said("user", "and now the documentation"),
        agents.called("c9", "exec_command", cmd="make docs"),
        agents.returned("c9", "Process exited with code 0\nOutput:\nbuilt"),
        agents.said("assistant", "The manual says how byte order marks are stripped."),
    ]
    agents.codex(env["HOME"], [*rows, *more], torn=False)
    (name,) = json.loads(ok("import", "transcripts", "--agent", "codex", "--json"))["checkpoints"]
    page = open(place.path(name), encoding="utf-8").read()
    assert (
        "and now the documentation" in page
        and "fail on files from Windows" not in page.partition("## Turns")[2]
    )
