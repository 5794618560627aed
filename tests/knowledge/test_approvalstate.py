"""What waits for a person, what keeps it from being approved, and the mark of what was
announced.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import vault
from harness.hook import fire, harmless, payload
from harness.repository import received

from memory.core import approvals
from memory.health import worker
from memory.knowledge import approvalstate
from memory.store.store import Store

RULE = (
    "---\nid: r-1\nkind: rule\ntitle: Never push to main\nrationale: it deploys\n"
    "tags: [git]\n---\nAsk first.\n"
)


def shared(place, env) -> None:
    """A clone's shared tier: two learnings, one of them a folder down, and a rule."""
    vault.put(place, "s/learnings/a.md", "Alpha", "alpha")
    vault.put(place, "s/learnings/deep/b.md", "Beta", "beta")
    vault.put(place, "s/rules/r.md", "Rule", "Obey.", "[kafka]", rationale="x")
    received(place.root, env)


def started(session, place, env, now) -> str:
    """Start a session and do its detached work; returns what the user is told."""
    payload, _, message = session("start", source="startup")
    worker._mark_announced(worker.Job(payload, env, now, place, vault.settings(), []))
    return message


def test_a_clones_records_are_announced_once(session, place, env, now):
    """At the first start, before anything was read in the background; later only what is new, or
    has another content.
    """
    assert started(session, place, env, now) == ""
    shared(place, env)
    assert (
        "3 records new in this repository's .dayleaf; 1 rule waits for review: `dayleaf review`"
        in started(session, place, env, now)
    )
    assert started(session, place, env, now) == ""
    vault.put(place, "s/learnings/c.md", "Gamma", "gamma")
    received(place.root, env)
    assert "1 record new in this repository's .dayleaf; none of them" in started(
        session, place, env, now
    )
    assert started(session, place, env, now) == ""
    new = vault.put(place, "s/rules/n.md", "New", "Obey.", "[kafka]", rationale="x")
    received(place.root, env)
    assert "1 record new in this repository's .dayleaf; 1 rule waits" in started(
        session, place, env, now
    )
    assert started(session, place, env, now) == ""
    kept = Path(new).read_bytes()
    for data in (None, kept):  # another branch, and back
        os.unlink(new) if data is None else Path(new).write_bytes(data)
        assert started(session, place, env, now) == "" and started(session, place, env, now) == ""
    Path(new).write_bytes(kept + b"And more.\n")
    received(place.root, env)
    assert (
        "1 record new" in started(session, place, env, now)
        and started(session, place, env, now) == ""
    )
    vault.approve(place, new, "n", now)
    assert started(session, place, env, now) == "" and started(session, place, env, now) == ""


def test_a_repository_cannot_pass_for_its_user(session, place, env, now):
    """Whatever a record says of itself, and whoever git names as its author."""
    shared(place, env)
    started(session, place, env, now)
    vault.put(
        place, "s/learnings/c.md", "Gamma", "gamma", source="human", accepted="true", pinned="true"
    )
    subprocess.run(["git", "-C", place.root, "add", "-A"], env=env, check=True)
    subprocess.run(["git", "-C", place.root, "commit", "-qm", "as the user"], env=env, check=True)
    assert "1 record new in this repository's .dayleaf" in started(session, place, env, now)


def test_what_dayleaf_wrote_here_is_not_announced(session, place, env, now, ok):
    """Shared by a command, changed by one, committed or not: it is this user's own."""
    shared(place, env)
    started(session, place, env, now)
    made = ok("learn", "Prices are integers.", "--shared").split()[1]
    received(place.root, env)
    assert started(session, place, env, now) == ""
    ok("link", made, "a")
    received(place.root, env)
    assert started(session, place, env, now) == ""
    ok("share", ok("learn", "Amounts are in cents.").split()[1])
    received(place.root, env)
    assert started(session, place, env, now) == ""


def test_a_lost_mark_counts_what_is_decided(session, place, env, now):
    """The cache may be deleted: the line comes once more, without the rules that were decided
    on.
    """
    shared(place, env)
    vault.approve(place, place.path("s/rules/r.md"), "r", now)
    started(session, place, env, now)
    shutil.rmtree(place.cache)
    assert "3 records new in this repository's .dayleaf; none of them" in started(
        session, place, env, now
    )
    assert started(session, place, env, now) == ""


@pytest.mark.parametrize("mark", [b"", b"x", b"\xff" * 90])
def test_a_damaged_list_knows_nothing(session, place, env, now, mark):
    """The line comes once more, and the worker completes the list."""
    shared(place, env)
    path = Path(place.cache, place.scope + ".seen")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(mark)
    os.utime(path, (0, 0))
    assert (
        "3 records new" in started(session, place, env, now)
        and started(session, place, env, now) == ""
    )


def test_a_file_that_cannot_be_read_leaves_the_others_counted(
    session, place, env, now, monkeypatch
):
    """Nor does a folder that cannot: a repository may hold anything, and the brief comes."""
    shared(place, env)
    vault.put(place, "p/learnings/own.md", "Own", "mine")
    bad = vault.put(place, "s/rules/n.md", "New", "Obey.", "[kafka]", rationale="x")
    received(place.root, env)
    read, scandir = approvals.files.read, approvals.files.posix.scandir

    def broken(path, *rest, **keys):
        if path == bad:
            raise OSError(5, "Input/output error")
        return read(path, *rest, **keys)

    def listed(path):
        if path.endswith("/deep"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(approvals.files, "read", broken)
    monkeypatch.setattr(approvals.files.posix, "scandir", listed)
    _, block, message = session("start", source="startup")
    assert (
        "2 records new in this repository's .dayleaf; 1 rule waits for review" in message
        and "own" in block
    )


def test_a_pending_rule_reads_the_same_to_both_readers(place):
    """What nothing hinders has no problem for either."""
    assert approvalstate.find_rule_obstacle(place, "p/rules/x.md", RULE.encode()) == ""


def test_the_hook_announces_a_clone_at_its_first_start_alone(env, place):
    """As processes, with the work behind them: said once, and the user's home holds the mark."""
    shared(place, env)
    Path(place.home).mkdir(mode=0o700, exist_ok=True)
    Path(place.home, "runtime").symlink_to(sys.prefix)
    world = {"HOME": env["HOME"], "PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": place.root}
    told = [
        harmless(
            fire("session_start", payload("SessionStart", "startup", session_id="s%d" % i), world)
        ).message
        for i in range(3)
    ]
    assert told == [
        (
            "dayleaf: 3 records new in this repository's .dayleaf; 1 rule waits for "
            "review: `dayleaf review`"
        ),
        "",
        "",
    ]


def test_what_git_does_not_track_is_the_users_own(session, place, env, now):
    """Written by hand, and known once it is committed."""
    vault.put(place, "s/learnings/mine.md", "Mine", "x")
    vault.put(place, "s/rules/mine.md", "Mine", "Obey.", rationale="x")
    assert started(session, place, env, now) == "" and started(session, place, env, now) == ""
    [rule] = approvalstate.list_rule_states(
        [Store(place, vault.settings(), now).find("s/rules/mine.md")], place
    )
    assert (rule.state, rule.why) == ("pending", "new")
    received(place.root, env)
    vault.put(place, "s/rules/other.md", "Other", "Obey.", rationale="x")
    received(place.root, env)
    assert "1 record new in this repository's .dayleaf; 1 rule waits" in started(
        session, place, env, now
    )
