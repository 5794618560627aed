"""FRESH, STALE, UNKNOWN: what a record names against the working tree, and the marks that the hooks
read.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import talks, vault
from harness.repository import JWT, note

from memory.core import clock, records
from memory.project import claims


@pytest.fixture
def tree(project):
    """A project with two files."""
    for name in ("src/auth/jwt.py", "README.md"):
        path = Path(project, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n", encoding="utf-8")
    return project


@pytest.mark.parametrize(
    ("body", "meta", "state"),
    [
        ("see `src/auth/jwt.py`", "", "FRESH"),
        ("see src/auth/jwt.py:42.", "", "FRESH"),
        ("`README.md` says so", "", "FRESH"),
        ("see `src/auth/gone.py`", "", "STALE"),
        ("see `src/auth/jwt.py` and src/gone.ts", "", "STALE"),
        ("nothing named", "", "UNKNOWN"),
        ("`jwt.py` alone", "", "UNKNOWN"),
        ("auth/jwt.py, shortened", "", "UNKNOWN"),
        ("v2.1.0, e.g. `user.name` and `foo.bar()`", "", "UNKNOWN"),
        ("https://example.com/src/auth/gone.py", "", "UNKNOWN"),
        ("/etc/gone.conf and ~/x/gone.py", "", "UNKNOWN"),
        ("../outside/gone.py", "", "UNKNOWN"),
        ("x", "files: [src/auth/jwt.py]\n", "FRESH"),
        ("x", "files: [lost.py]\n", "STALE"),
        ("x", "files: src/auth/jwt.py, lost.py\n", "STALE"),
    ],
)
def test_named_files_are_checked(tree, body, meta, state):
    """Missing files make a record stale, present ones fresh; what cannot be told says nothing."""
    assert claims.check(note(body, meta), tree, tree + "/.git").state == state


def test_deleting_a_named_file_makes_the_record_stale(tree):
    """The working tree is looked at each time."""
    one = note("see `src/auth/jwt.py`")
    assert claims.check(one, tree, "").state == "FRESH"
    Path(tree, "src/auth/jwt.py").unlink()
    found = claims.check(one, tree, "")
    assert found.state == "STALE" and [c.reason for c in found.gone] == ["src/auth/jwt.py is gone"]


def test_without_a_tree_nothing_is_known():
    """A record of another workspace has nothing to be checked against."""
    assert claims.check(note("see `src/auth/jwt.py`"), "", "").state == "UNKNOWN"


# ---- what was there before


@pytest.mark.parametrize("dated", [True, False], ids=["by its commit", "by its instant"])
@pytest.mark.parametrize(
    ("body", "after", "state"),
    [
        (
            "`verify_token` in `src/auth/jwt.py`",
            JWT.replace("verify_token(", "check_token("),
            "STALE",
        ),
        (
            "`verify_token` in `src/auth/jwt.py`",
            "# verify_token went\n" + JWT.replace("verify_token(", "x("),
            "STALE",
        ),
        (
            "`verify_token` in `src/auth/jwt.py`",
            JWT.replace("def verify_token(token)", "async def verify_token(a, b)"),
            "FRESH",
        ),
        ("`src/auth/jwt.py:verify_token`", JWT.replace("def verify_token(", "def x("), "STALE"),
        ("`src/auth/jwt.py:3`", JWT.replace("def verify_token(", "def x("), "FRESH"),
        ("`src/auth/jwt.py`의 `verify_token`", JWT.replace("def verify_token(", "def x("), "STALE"),
        ("`Config.load` in src/auth/jwt.py", JWT.replace("def load", "def read"), "STALE"),
        ("`Config.load` in src/auth/jwt.py", JWT.replace("Config", "Settings"), "STALE"),
        ("`LIMIT_OF_TOKENS` is too low", JWT.replace("LIMIT_OF_TOKENS", "TOKENS"), "STALE"),
        ("`verify_token_v2()` is slow", JWT.replace("_v2", "_v3"), "STALE"),
        ("`never_there` in `src/auth/jwt.py`, `other_name()`", "x = 1\n", "FRESH"),
        ("`never_there()` and `json.dumps`", "x = 1\n", "UNKNOWN"),
        ("`json.loads` keeps the order", "x = 1\n", "UNKNOWN"),
        ("`token`, `--no-cache`, `GET`, `git push`", "x = 1\n", "UNKNOWN"),
        ("src/never.py may come; `src/other/x.py`", "x = 1\n", "UNKNOWN"),
    ],
)
def test_only_what_was_there_can_be_gone(repository, dated, body, after, state):
    """A symbol counts where the commit of then had it: by the record's key, or where HEAD was."""
    commit, when = repository("rev-parse", "HEAD"), repository.now + 60
    meta = "commit: %s\n" % commit[:10] if dated else ""
    assert repository.check(body, meta, when).state in ("FRESH", "UNKNOWN")
    repository.write(src__auth__jwt=after)
    assert repository.check(body, meta, 0.0 if dated else when).state == state
    repository("gc", "-q")
    assert repository.check(body, meta, 0.0 if dated else when).state == state


def test_a_symbol_that_moved_is_gone_from_its_file_and_not_from_the_repository(repository):
    """With the file it is a claim about the file, without one about the repository."""
    when = repository.now + 60
    repository.write(src__auth__jwt="from auth.other import verify_token\n", src__auth__other=JWT)
    assert (
        repository.check("`verify_token` in `src/auth/jwt.py`", when=when).gone[0].reason
        == "verify_token is no longer in src/auth/jwt.py"
    )
    assert repository.check("`verify_token()` is slow", when=when).state == "FRESH"


def test_a_file_that_moved_is_said_where(repository):
    """By its content, else by its name where only one file has it; a name that never was says
    nothing.
    """
    when = repository.now + 60
    repository.write(src__auth__jwt=None, lib__tokens=JWT)
    found = repository.check("see src/auth/jwt.py", when=when)
    assert [claim.reason for claim in found.gone] == [
        "src/auth/jwt.py is gone, moved to lib/tokens.py"
    ]
    repository.write(lib__tokens=None, lib__jwt=JWT + "x = 2\n")
    found = repository.check("see src/auth/jwt.py", when=when)
    assert [claim.reason for claim in found.gone] == [
        "src/auth/jwt.py is gone, moved to lib/jwt.py"
    ]
    repository.write(src__auth__jwt=JWT)
    assert repository.check("see src/auth/jwt.py", when=when).state == "FRESH"


def test_a_commit_that_a_complete_repository_does_not_have_is_gone(repository, tmp_path):
    """Loose or packed, whole or short; a checksum, and a shallow clone, say nothing."""
    commit = repository("rev-parse", "HEAD")
    lost = repository("commit-tree", "HEAD^{tree}", "-m", "lost")
    repository.write()
    for _ in range(2):
        assert repository.check("fixed in %s." % commit[:9]).state == "FRESH"
        repository("gc", "-q", "--prune=now")
    found = repository.check("it came with commit `%s`" % lost[:12])
    assert [claim.reason for claim in found.gone] == [
        "commit %s is not in this repository" % lost[:10]
    ]
    assert repository.check("the image 4f1deadbeef0 is large").state == "UNKNOWN"
    assert repository.check("x", "commit: %s\n" % commit[:10]).state == "UNKNOWN"
    assert repository.check("x", "commit: %s\n" % lost[:10]).state == "STALE"
    repository("clone", "-q", "--depth=1", "file://" + repository.root, str(tmp_path / "shallow"))
    there = claims.check(
        note("commit %s" % commit[:9]), str(tmp_path / "shallow"), str(tmp_path / "shallow/.git")
    )
    assert there.state == "UNKNOWN"


def test_nothing_outside_the_checkout_is_looked_at(repository, tmp_path):
    """A link out, `..`, an absolute path and `.git` are not checked; a link inside is."""
    (tmp_path / "outside.py").write_text("def verify_token(): pass\n")
    Path(repository.root, "src/link.py").symlink_to(tmp_path / "outside.py")
    Path(repository.root, "src/inner.py").symlink_to("auth/jwt.py")
    for body in (
        "`verify_token` in `src/link.py`",
        "../outside.py",
        str(tmp_path / "outside.py"),
        "`.git/config.toml`",
    ):
        assert repository.check(body).state == "UNKNOWN", body
    assert repository.check("`verify_token` in `src/inner.py`").state == "FRESH"


def test_nothing_of_the_repository_is_run(repository, tmp_path):
    """A hostile fsmonitor, filter and hook stay where they are."""
    mark = tmp_path / "ran"
    trap = tmp_path / "trap"
    trap.write_text("#!/bin/sh\ntouch '%s'\n" % mark)
    trap.chmod(0o755)
    when = repository.now + 60
    repository.write(src__auth__jwt=None)
    for key in (
        "core.fsmonitor",
        "filter.x.smudge",
        "core.sshCommand",
        "core.pager",
        "diff.external",
    ):
        repository("config", key, str(trap))
    repository("config", "core.hooksPath", str(tmp_path))
    assert (
        repository.check("see src/auth/jwt.py, `verify_token()`, commit 1a2b3c4", when=when).state
        == "STALE"
    )
    assert not mark.exists()


def test_where_git_cannot_be_read_a_path_beside_others_alone_is_gone(repository):
    """Without the commit of then a symbol and a commit are never gone, and a path only where its
    first directory is there.
    """
    when = repository.now + 60
    repository.write(
        src__auth__jwt=JWT.replace("def verify_token(", "def x(").replace("LIMIT_OF", "MOST"),
        src__app="",
    )
    Path(repository.root, ".git/objects").rename(Path(repository.root, ".git/away"))
    for body, state, stands in (
        ("see src/auth/gone.py", "STALE", [False]),
        ("see lib/gone.py", "UNKNOWN", [None]),
        ("`verify_token` in `src/auth/jwt.py`", "FRESH", [True, None]),
        ("`LIMIT_OF_TOKENS` is too low", "UNKNOWN", [None]),
        ("it came with commit 1a2b3c4d", "UNKNOWN", [None]),
    ):
        found = repository.check(body, when=when)
        assert (found.state, [claim.stands for claim in found.claims]) == (state, stands), body


def test_what_a_record_for_all_projects_names_is_not_looked_for_in_this_one(tree):
    """Its paths are another project's."""
    everywhere = note("see `src/auth/gone.py`").replaced(tier="g")
    assert claims.check(everywhere, tree, tree + "/.git") == claims.Claims((), "UNKNOWN")


def test_what_a_sparse_checkout_leaves_out_is_not_gone(repository):
    """Git tracks the file, and keeps it out of the working tree."""
    repository.write(lib__tokens=JWT)
    repository("sparse-checkout", "set", "--cone", "src")
    assert not Path(repository.root, "lib/tokens.py").exists()
    assert repository.check("see lib/tokens.py", "files: [lib/tokens.py]\n").state == "UNKNOWN"


def test_a_tree_that_is_too_large_is_left_to_the_worker(repository):
    """Above its bounds a checkout says nothing about symbols without a file; the worker's marks
    do.
    """
    when = repository.now + 60
    repository.write(src__auth__jwt="x = 1\n", src__app="")
    one = note("`verify_token()`", "created: %s\n" % clock.iso(when))
    known = {
        one.checksum[:16]: [
            ["verify_token is no longer defined in this repository", "", "", "verify_token"]
        ]
    }
    for most, given, state in (
        (claims.NARROW, {}, "STALE"),
        ((1, 1 << 20), {}, "UNKNOWN"),
        ((1, 1 << 20), known, "STALE"),
    ):
        with claims.Checkout(repository.root, repository.root + "/.git", most, given) as checkout:
            assert checkout.check(one).state == state


# ---- what is shown


def test_recall_and_show_say_what_is_gone(repository, place, ok):
    """A hit's line says STALE and why, --json the claims; show lists every claim."""
    meta = {"created": clock.iso(repository.now + 60)}
    vault.put(
        place,
        "p/learnings/slow.md",
        "Tokens are slow",
        "`verify_token` in `src/auth/jwt.py`; see src/app.py",
        **meta,
    )
    assert "FRESH" in ok("recall", "tokens slow")
    repository.write(src__auth__jwt=None)
    said = ok("recall", "tokens slow")
    assert "STALE" in said and "src/auth/jwt.py is gone" in said
    (hit,) = json.loads(ok("recall", "tokens slow", "--json"))["hits"]
    assert hit["freshness"] == "STALE"
    assert hit["gone"] == [
        {
            "kind": "file",
            "name": "src/auth/jwt.py",
            "stands": False,
            "reason": "src/auth/jwt.py is gone",
        }
    ]
    shown = ok("show", "slow")
    assert "STALE; src/auth/jwt.py is gone" in shown and "stands" in shown and "src/app.py" in shown
    rows = json.loads(ok("show", "slow", "--json"))["claims"]
    assert [row["stands"] for row in rows] == [False, True, None]


# ---- the marks of the hooks


def test_show_says_nothing_of_freshness_where_nothing_can_be_checked(ok):
    """A record that names no file, identifier or commit; --json says UNKNOWN."""
    id = json.loads(ok("learn", "Ask before you merge on Fridays", "--json"))["id"]
    assert (
        "freshness" not in ok("show", id)
        and json.loads(ok("show", id, "--json"))["freshness"] == "UNKNOWN"
    )


def test_a_conversation_tells_the_past(place, now):
    """What it names may be gone: no claim of it is checked."""
    record = records.from_bytes("p/conversations/x.md", talks.page(files="[gone.go]"), now)
    with claims.open_checkout(place) as checkout:
        assert checkout.check(record) == claims.Claims((), claims.UNKNOWN)
