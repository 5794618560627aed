"""Records that only a database holds: found, shown, and passed over where a file stands here."""

from __future__ import annotations

import json
import os
import subprocess

from harness.asking import ask, write
from harness.database import connected

from memory.core import layout
from memory.doors.postgres import rows


def test_a_hit_that_is_not_here_says_so(store, stranger, dsn, now):
    """With where it comes from, in every rendering; links are not followed there."""
    one = ask(stranger, now, "kafka broker", dsn, workspace="all").hits[0]
    assert one.origin.startswith("not on this machine: from the database")
    assert one.path == "postgres:%s/%s" % (store.key, one.record.name)
    assert one.workspace == store.key and one.body


def test_a_record_that_only_the_database_holds_is_shown(place, dsn, ok, run, tmp_path):
    """Its text, its workspace, and what that text is; one whose file was deleted here is gone,
    whatever the database holds.
    """
    other = layout.Place(
        str(tmp_path / "o"),
        "other-00000001",
        str(tmp_path / "o"),
        str(tmp_path / "o"),
        "",
        str(tmp_path / "o" / ".dayleaf"),
    )
    write(
        other,
        "s/learnings/x.md",
        "# Broker\n\nThe zeppelin broker.\n\n## More\n\nOf it.",
        id="l-x",
        title="X",
    )
    rows.set_up_and_load(dsn, other, "s")
    mine = write(place, "s/learnings/y.md", "Mine.", id="l-y", title="Y")
    ok("index", "--backend", "postgres", "--dsn", dsn)
    mine.unlink()
    said = ok("show", "l-x")
    assert (
        "other-00000001" in said
        and "not on this machine: from the database" in said
        and "The zeppelin broker." in said
    )
    assert (
        json.loads(ok("show", "l-x", "--section", "More", "--json"))["body"]
        .strip()
        .endswith("Of it.")
    )
    assert "no record" in run("show", "l-y").stderr
    assert "no record" in run("show", "l-nothing").stderr


def test_of_a_workspace_that_is_here_the_files_are_the_truth(store, dsn, now):
    """An edit, a new file and a deletion count at once, though the database knows nothing of
    them.
    """
    first = ask(store, now, "the_kafka_3", dsn).hits[0]
    write(store, first.record.name, "Now about zeppelins.", id=first.id, title="Zeppelin")
    assert [hit.id for hit in ask(store, now, "zeppelins", dsn).hits] == [first.id]
    os.unlink(first.path)
    assert first.id not in [hit.id for hit in ask(store, now, "the_kafka_3", dsn, limit=200).hits]


def test_what_was_shared_but_not_pulled_is_found(store, dsn, now, project, env):
    """A colleague's record came with a commit that this checkout does not have; once it has it, a
    missing file is a deletion.
    """
    path = write(store, "s/learnings/new.md", "The zeppelin landed.", id="l-new", title="Zeppelin")
    for words in (("add", "-A"), ("commit", "-qm", "one")):
        subprocess.run(["git", "-C", project, *words], env=env, check=True)
    rows.set_up_and_load(dsn, store, "s")
    path.unlink()
    assert [hit.id for hit in ask(store, now, "zeppelin", dsn).hits] == []
    connected(
        dsn,
        lambda c: c.execute(
            "UPDATE dayleaf.record SET commit = 'abcdef0123' WHERE known = 'l-new'"
        ),
    )
    found = ask(store, now, "zeppelin", dsn).hits
    assert [hit.id for hit in found] == ["l-new"] and "as of commit abcdef0123" in found[0].origin
