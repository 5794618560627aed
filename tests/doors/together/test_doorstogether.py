"""What one door does, seen through the others: a database and copies of a sync, over MCP and the
page.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import command, mcpcalls, vault
from harness.asking import write
from harness.hook import fire, harmless, payload

from memory.core import StoreError, layout
from memory.doors.page import pages, sheets
from memory.doors.postgres import rows


def test_the_server_and_the_page_ask_the_database_too(
    place,
    dsn,
    ok,
    env,
    project,
    now,
    monkeypatch,
    tmp_path,
):
    """What recall and show find on the command line, an agent finds over MCP and a reader on the
    page, with the same words.
    """
    other = layout.Place(
        str(tmp_path / "o"),
        "other-00000001",
        str(tmp_path / "o"),
        str(tmp_path / "o"),
        "",
        str(tmp_path / "o" / ".dayleaf"),
    )
    write(other, "s/learnings/x.md", "# Broker\n\nThe zeppelin broker.", id="l-x", title="X")
    rows.set_up_and_load(dsn, other, "s")
    ok("index", "--backend", "postgres", "--dsn", dsn)
    desk = mcpcalls.desk(env, project, now, monkeypatch)
    found = desk("recall", query="zeppelin broker", workspace="all")["hits"][0]
    assert found["id"] == "l-x" and found["origin"].startswith(
        "not on this machine: from the database"
    )
    read = desk("get_record", id="l-x")
    assert "zeppelin" in read["body"] and read["origin"] == found["origin"]
    assert desk("index_status")["database"]["state"] == "ready"
    with pytest.raises(StoreError, match="no record"):
        desk("get_record", id="l-nothing")
    shown = pages.Pages(place, vault.settings(), lambda: now, None, dsn)
    assert [
        row["hit"].id for row in shown.search("zeppelin broker", within="all").values["rows"]
    ] == ["l-x"]
    assert shown.search("zeppelin broker", within="all", live=True).values["rows"] == []
    said = sheets.render_sheet(shown.record("l-x"), "/x", False)
    assert "zeppelin" in said and "not on this machine: from the database" in said


def test_a_copy_that_waits_for_a_person_reaches_no_session(
    tmp_path, project, env, now, monkeypatch
):
    """Not by recall, MCP, the brief or a hook, in either home; the index stays fresh, and what was
    taken is found.
    """
    pytest.importorskip("pyrage")
    box = tmp_path / "box"
    box.mkdir()
    homes = [
        {**env, "HOME": str(tmp_path / name), "DAYLEAF_RUNTIME_AUTO": "0"}
        for name in ("desk", "lap")
    ]
    runs = [command.dayleaf(one, project) for one in homes]

    def ok(run, *words, **more):
        done = run(*words, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def told(run, mine, session):
        """What a person and a session are told of it, by each way."""
        start = payload("SessionStart", "startup", cwd=project, session_id=session)
        desk = mcpcalls.desk(mine, project, now, monkeypatch)
        found = [
            json.loads(ok(run, "recall", "retries jitter", "--json", **more))["hits"]
            for more in ({}, {"CLAUDECODE": "1"})
        ]
        return [
            *("".join(Path(hit["path"]).read_text() for hit in hits) for hits in found),
            desk.text("recall", query="retries jitter"),
            harmless(fire("session_start", start, {**mine, "CLAUDE_PROJECT_DIR": project})).context,
        ]

    ok(runs[0], "learn", "Retries need a jitter.")
    ok(runs[0], "sync", "setup", str(box))
    ok(runs[0], "sync")
    ok(
        runs[1],
        "sync",
        "setup",
        str(box),
        "--identity",
        homes[0]["HOME"] + "/.dayleaf/sync/key.txt",
    )
    ok(runs[1], "sync")
    for run, mine, text in zip(runs, homes, ("Of the desk.", "Of the lap."), strict=True):
        [path] = Path(mine["HOME"], ".dayleaf/workspaces").rglob("learnings/*.md")
        path.write_text(path.read_text() + text + "\n")
        ok(run, "index", "build")
    said = [ok(run, "sync") for run in (*runs, *runs)]
    assert "which no session sees" in said[2] and "which no session sees" in said[3]
    for run, mine in zip(runs, homes, strict=True):
        for number in (1, 2):  # as the sync left the index, and after a refresh
            for way, text in enumerate(told(run, mine, "s%d" % number)):
                assert ("Of the desk." in text) + ("Of the lap." in text) == 1, (way, text)
            assert "1 removed" not in ok(run, "index", "refresh")
        assert ok(run, "index", "verify") and "fresh" in ok(run, "index", "status")
    [copy] = Path(homes[0]["HOME"], ".dayleaf/workspaces").rglob("*.sync-conflict-*.md")
    other = "Of the lap." if "Of the lap." in copy.read_text() else "Of the desk."
    ok(runs[0], "sync", "take", copy.name[-11:-3])
    assert [ok(run, "sync") for run in runs]
    for run, mine in zip(runs, homes, strict=True):
        assert all(other in text for text in told(run, mine, "s3"))
