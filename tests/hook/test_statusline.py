"""The host's status line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from harness import vault
from harness.hook import ROOT

from memory.hook import indexview, receipts


def line(env, given) -> str:
    """Return what the status line's hook prints for the host's JSON."""
    said = given if isinstance(given, str) else json.dumps(given)
    done = subprocess.run(
        [str(ROOT / "hooks" / "run"), "statusline"],
        env=env,
        input=said,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stdout


def test_the_status_line_counts_the_notes_and_what_the_session_was_given(place, env, project, now):
    """By the project that the host names, wherever the model has gone; what is stale is counted
    too.
    """
    vault.learnings(place, 3)
    vault.built(place, now).close()
    host = {
        "session_id": "s1",
        "cwd": "/",
        "workspace": {"current_dir": "/", "project_dir": project},
    }
    assert line(env, host) == "dayleaf: 3 records\n"
    receipts.write(
        place.receipts("s1"),
        {"v": 1, "event": "prompt", "chosen": [["l-1", 1.0, "x"], ["l-2", 1.0, "x"]]},
    )
    assert line(env, host) == "dayleaf: 3 records, 2 given\n"
    vault.put(place, "p/learnings/new.md", "A candidate", "It waits.", accepted="false")
    vault.built(place, now).close()
    assert line(env, {**host, "session_id": "another"}) == "dayleaf: 4 records, 1 waiting\n"


@pytest.mark.parametrize("name", ["p/learnings/a.md", "s/learnings/a.md"])
def test_a_status_line_without_an_index_says_so_where_there_are_notes(
    place, env, project, now, name
):
    """None yet, or a damaged one; notes of every project are none of this one."""
    host = {"cwd": project}
    vault.put(place, "g/learnings/g.md", "For all", "x")
    assert line(env, host) == "dayleaf: no records yet\n"
    vault.put(place, name, "A note", "x")
    assert line(env, host) == "dayleaf: no index yet\n"
    vault.built(place, now).close()
    assert line(env, host) == "dayleaf: 2 records\n"
    Path(indexview.segment_path(place)).write_bytes(b"damaged")
    assert line(env, host) == "dayleaf: no index yet\n"


@pytest.mark.parametrize(
    "given", ["", "{}", "[]", "\0", '{"workspace": 3, "cwd": 4, "session_id": []}', "{" * 5000]
)
def test_a_status_line_never_fails(env, given):
    """Whatever the host gives."""
    assert line(env, given) == "dayleaf: no records yet\n"
