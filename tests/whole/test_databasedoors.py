"""A database, shown by the other doors: MCP and the page."""

from __future__ import annotations

import pytest
from harness import mcpcalls, vault
from harness.asking import write
from harness.database import dsn, server, template  # noqa: F401

from memory.core import StoreError, layout
from memory.doors.page import pages, sheets
from memory.doors.postgres import rows


def test_the_server_and_the_page_ask_the_database_too(
    place,
    dsn,  # noqa: F811
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
    rows.bring(dsn, other, "s")
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
    said = sheets.rendered(shown.record("l-x"), "/x", False)
    assert "zeppelin" in said and "not on this machine: from the database" in said
