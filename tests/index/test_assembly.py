"""What a segment is made of: numbers of documents, lists, what is watched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harness import vault, worked
from harness.vault import assert_twins, found

from memory.hook import indexview, segment
from memory.index import assembly, builder

ROOT = str(Path(__file__).resolve().parents[2])


def test_a_first_folder_of_a_kind_is_seen(place, now):
    """A folder that was not there when the index was built."""
    vault.put(place, "p/learnings/a.md", "Alpha", "alpha")
    builder.build(place, now)
    vault.put(place, "p/resources/doc.md", "Gateway manual", "gateway timeouts")
    assert found(place, "gateway", now) == ["doc"]


def test_a_folder_younger_than_the_index_stays_watched(place, now):
    """An index of an empty project; a first learning by a writer, a scan, then one by hand."""
    builder.build(place, now)
    vault.put(place, "p/learnings/first.md", "Walrus", "walrus")
    builder.refresh(place, now, names=["p/learnings/first.md"])
    builder.refresh(place, now)
    vault.put(place, "p/learnings/second.md", "Teapot", "teapot")
    assert found(place, "teapot", now) == ["second"]
    builder.refresh(place, now)
    vault.put(place, "p/learnings/third.md", "Kettle", "kettle")
    assert found(place, "kettle", now) == ["third"]


def test_only_accepted_learnings_are_pushable(place, now):
    """A candidate, a checkpoint and a rule are found by recall and never pushed."""
    vault.put(place, "p/learnings/mine.md", "Retry budget", "retry")
    vault.put(place, "p/learnings/auto.md", "Retry candidate", "retry", source="auto")
    vault.put(
        place, "p/learnings/accepted.md", "Retry accepted", "retry", source="auto", accepted="true"
    )
    vault.put(place, "p/checkpoints/2026-11-20/1-a.md", "Retry work", "retry")
    builder.build(place, now)
    assert sorted(found(place, "retry", now, part=indexview.PUSHED)) == ["accepted", "mine"]
    assert len(found(place, "retry", now)) == 4


def test_folders_that_came_below_a_new_folder_are_seen(place, now):
    """A team sorts its notes into learnings/team/infra, two levels that were not there."""
    vault.put(place, "p/learnings/one.md", "One", "kafka")
    builder.build(place, now)
    vault.put(place, "p/learnings/team/infra/new.md", "New", "quorum")
    opened = indexview.open_index(place)
    assert opened.stale and list(opened.delta.names) == ["p/learnings/team/infra/new.md"]


def test_a_learning_in_another_folder_stands_with_the_learnings(place, now, monkeypatch):
    """Its frontmatter decides; the numbers of documents, and both inverters, follow."""
    for name, kind in (
        ("plans/a", "learning"),
        ("learnings/b", "learning"),
        ("learnings/c", "plan"),
        ("checkpoints/d", "checkpoint"),
    ):
        vault.put(place, "p/%s.md" % name, name, "kafka " + name, kind=kind)
    builder.build(place, now)
    opened = indexview.open_index(place)
    names = [opened.doc(n).name for n in range(4)]
    assert names == ["p/learnings/b.md", "p/plans/a.md", "p/checkpoints/d.md", "p/learnings/c.md"]
    assert opened.segment.pushable == 2 and [opened.segment.find(n)[0] for n in names] == [
        0,
        1,
        2,
        3,
    ]
    assert_twins(place, now, monkeypatch)


def test_a_plan_that_is_done_is_no_active_plan(place, now):
    """Two newer plans that were just set to done must not hide the active one."""
    for i, status in enumerate(("active", "active", "active")):
        vault.put(
            place,
            "p/plans/n%d.md" % i,
            "Plan %d" % i,
            "steps",
            kind="plan",
            status=status,
            created="2026-11-0%d" % (i + 1),
        )
    builder.build(place, now)
    for i in (1, 2):
        vault.put(
            place,
            "p/plans/n%d.md" % i,
            "Plan %d" % i,
            "steps",
            kind="plan",
            status="done",
            created="2026-11-0%d" % (i + 1),
        )
    assert [d.name for d in indexview.open_index(place).listed("plans")] == ["p/plans/n0.md"]


def test_the_newest_checkpoints_of_a_branch_and_of_a_session_are_found(place, now):
    """However many there are, those too that the index has not read yet; a session by its id,
    whatever day stands before it.
    """
    id = "0cf3db51-1c73-43bb-8d05-dc02739514a5"
    for n in range(segment.CHAMPIONS + 9):
        worked.checkpoint(
            place,
            "c%04d" % n,
            "2026-%02d-%02dT10:15" % (1 + n // 100, 1 + n // 4 % 25),
            "main",
            "day-" + id,
        )
    builder.build(place, now)
    worked.checkpoint(place, "young", "2026-12-30T10:15", "main", id)
    vault.put(place, "p/learnings/l.md", "A learning", "x", branch="main", session=id)
    opened = indexview.open_index(place)
    for term in (segment.branch_term("main"), segment.session_term(id)):
        assert [doc.id for doc in opened.newest(term, 2)] == [
            "101500-young",
            "101500-c1032",
            "101500-c1031",
        ]
    assert opened.newest(segment.branch_term("fix"), 2) == []


def test_old_checkpoints_of_others_crowd_out_no_new_one(place, now):
    """The newest are so by their instants, whatever their tier and the names of their files."""
    worked.checkpoint(place, "mine", "2026-11-20T10:15", session="s-1")
    vault.put(
        place,
        "p/checkpoints/notes/by-hand.md",
        "By hand",
        created='"2026-11-19T10:15:00Z"',
        branch="main",
        session="s-1",
    )
    for n in range(9):
        vault.put(
            place,
            "s/checkpoints/2025-05-1%d/101500-other.md" % n,
            "Other",
            id="other%d" % n,
            branch="main",
            session="s-1",
            created='"2025-05-1%dT10:15:00Z"' % n,
        )
    opened = vault.built(place, now)
    for term in (segment.branch_term("main"), segment.session_term("s-1")):
        assert [doc.id for doc in opened.newest(term, 3)] == ["101500-mine", "by-hand", "other8"]


def test_of_many_checkpoints_the_newest_are_kept(place, now, monkeypatch):
    """By their instants too."""
    monkeypatch.setattr(segment, "CHAMPIONS", 2)
    worked.checkpoint(place, "mine", "2026-11-20T10:15")
    for n in range(3):
        vault.put(
            place,
            "s/checkpoints/2025-05-1%d/101500-other.md" % n,
            "Other",
            id="other%d" % n,
            branch="main",
            created='"2025-05-1%dT10:15:00Z"' % n,
        )
    assert [doc.id for doc in vault.built(place, now).newest(segment.branch_term("main"), 9)] == [
        "101500-mine",
        "other2",
    ]


def test_candidates_are_listed_apart(place, now):
    """Learnings that nobody accepted."""
    vault.put(place, "p/learnings/a.md", "A", "x", source="auto")
    vault.put(place, "p/learnings/b.md", "B", "x")
    builder.build(place, now)
    opened = indexview.open_index(place)
    assert [opened.doc(n).name for n in opened.lists("brief")["candidates"]] == ["p/learnings/a.md"]


def test_an_index_has_the_same_bytes_without_yaml(place, now):
    """The worker behind a hook has no PyYAML: what the line reader is unsure of is indexed by its
    best guess everywhere.
    """
    vault.put(
        place,
        "p/learnings/deep.md",
        "Deep",
        "kafka",
        tags="[[git, all], x]",
        more="\n  deep:\n    er: 1",
    )
    vault.put(place, "p/learnings/flow.md", "Flow", "kafka", said='"Never\\\n  push"')
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory.core import files, layout; from "
        "memory.index import assembly\n"
        "place = layout.locate(files.read_environ(), sys.argv[2])\n"
        "sys.stdout.buffer.write(assembly.assemble(place, float(sys.argv[3]))[0]); assert "
        "'yaml' not in sys.modules"
    )
    world = {"HOME": str(Path(place.home).parent), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, ROOT, place.root, str(now)],
        env=world,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == assembly.assemble(place, now)[0]
