"""A workspace gets the name that its remote gives it."""

from __future__ import annotations

import os
from pathlib import Path

from memory.core import approvals, layout
from memory.project import adoption


def test_notes_of_before_a_remote_stay_the_workspace_s(env, now, project):
    """A repository gets its remote after its first notes: they are read under their old name, then
    moved to the due one.
    """
    before = layout.locate(env, project)
    os.makedirs(before.private + "/learnings")
    os.makedirs(before.cache)
    approvals.append_decision(before.home, before.key, "r-1", "0" * 64, "approve", "someone", now)
    with open(project + "/.git/config", "a") as file:
        file.write('[remote "origin"]\n\turl = git@example.org:team/widget.git\n')
    read = layout.locate(env, project)
    assert (read.key, bool(read.due)) == (before.key, True)
    moved = adoption.adopt(layout.locate(env, project), now)
    assert moved.key == read.due == layout.locate(env, project).key and moved.key.startswith(
        "widget-"
    )
    assert os.path.isdir(moved.private + "/learnings") and not os.path.exists(before.private)
    assert (moved.key, "r-1", "0" * 64) in approvals.read_approved(moved.home)


def test_a_name_that_is_taken_leaves_all_as_it_is(env, now, project):
    """Another process was first: the older name goes on to be read, and nothing is mixed."""
    before = layout.locate(env, project)
    os.makedirs(before.private + "/learnings")
    with open(project + "/.git/config", "a") as file:
        file.write('[remote "origin"]\n\turl = git@example.org:team/widget.git\n')
    due = layout.locate(env, project).due
    Path(before.home, "workspaces", due, "plans").mkdir(parents=True)
    stay = adoption.adopt(
        layout.Place(
            before.home, before.key, before.project, before.root, before.git, before.shared, due
        ),
        now,
    )
    assert stay.key == before.key and os.path.isdir(before.private + "/learnings")
    assert os.listdir(Path(before.home, "workspaces", due)) == ["plans"]
