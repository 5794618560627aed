"""The doors: sharing with a team, machines of one person, any agent over MCP, a browser: what each
refuses, says and starts.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.command import one_line_error
from harness.repository import received
from harness.vault import put

from memory.core import approvals, files


def test_a_record_is_shared_and_taken_back(ok, run, place, project):
    """It says what else a team wants: a commit, and a check before each."""
    put(place, "p/learnings/friend.md", "Friend", "x", id="l-friend")
    put(place, "p/learnings/x.md", "Alpha", "See [[Friend]].", id="l-x")
    said = ok("share", "l-x")
    assert (
        "shared l-x  Alpha" in said
        and "others cannot follow its link" in said
        and "git add .dayleaf" in said
        and "dayleaf store check --staged" in said
    )
    assert (
        Path(project, ".dayleaf/learnings/x.md").exists()
        and "Not committed (1)" in ok("shared")
        and "you, new" in ok("shared", "status")
    )
    assert "l-x is shared already; `dayleaf record unshare l-x` takes it back" in one_line_error(
        run("share", "l-x"), 2
    )
    assert (
        "private again: l-x" in ok("unshare", "l-x")
        and not Path(project, ".dayleaf/learnings/x.md").exists()
    )
    assert "is not shared" in one_line_error(run("unshare", "l-x"), 2)
    ok("share", "l-x")
    assert "store check --staged" not in ok("share", "l-friend")  # said once
    assert "Alpha" in ok("recall", "alpha")


def test_a_shared_wish_names_its_author(ok, place, project):
    """What "you" said is not what the colleague said who decides on it."""
    meta = {"rationale": "You said so on 2026-11-27.", "suggested_by": "you", "said": "2026-11-27"}
    put(place, "p/rules/x.md", "Never log card numbers", "", id="r-x", **meta)
    ok("share", "r-x")
    text = Path(project, ".dayleaf/rules/x.md").read_text()
    assert "You said" not in text and "suggested_by: you" not in text
    assert " said so on 2026-11-27." in text


def test_a_wish_that_was_approved_stays_approved_when_it_is_shared(ok, place, now):
    """The person who shares it has decided on it; its words are the same."""
    meta = {"rationale": "You said so on 2026-11-27.", "suggested_by": "you", "said": "2026-11-27"}
    put(place, "p/rules/x.md", "Never log card numbers", "", id="r-x", **meta)
    data = Path(place.path("p/rules/x.md")).read_bytes()
    approvals.append_decision(
        place.home, place.key, "r-x", files.sha256(data), "approve", "me", now
    )
    ok("share", "r-x")
    assert [one["state"] for one in json.loads(ok("rule", "list", "--json"))] == ["approved"]


def test_what_is_private_stays_and_says_why(run, place, project):
    put(place, "p/learnings/x.md", "Alpha", "See /home/alex/secret.txt.", id="l-x")
    done = run("share", "l-x")
    assert (
        done.returncode == 1
        and "line 6: a path of this machine (/home/alex/secret.txt" in done.stdout
        and "stays private" in done.stderr
    )
    assert not Path(project, ".dayleaf").exists() and Path(place.path("p/learnings/x.md")).exists()
    assert json.loads(run("share", "l-x", "--json").stdout)["shared"] is False


def test_a_session_shares_nothing_and_may_look(run, ok, place):
    """It suggests; what goes into the repository is a person's to say."""
    put(place, "p/learnings/x.md", "Alpha", "x", id="l-x")
    for verb in ("share", "unshare"):
        assert "only a person" in one_line_error(run(verb, "l-x", CLAUDECODE="1"), 2)
    put(place, "s/learnings/y.md", "Beta", "x")
    assert "Beta" in ok("shared", CLAUDECODE="1")


def test_a_file_that_is_no_markdown_and_a_torn_one_are_named(ok, run, place, env, project):
    """The others are listed all the same; `check` names the line."""
    put(place, "s/learnings/fine.md", "Fine", "x")
    Path(place.path("s/learnings/odd.md")).write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0")
    put(place, "s/learnings/torn.md", "Torn", "<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> main")
    received(project, env)
    said = ok("shared")
    assert (
        "s/learnings/odd.md: not UTF-8 text" in said
        and "it holds markers of an unfinished merge" in said
        and "Fine" in said
        and "Kim" in said
    )
    assert ":6: error: it holds markers of an unfinished merge" in run("check").stdout


def test_without_a_repository_it_says_so(run, tmp_path):
    (tmp_path / "plain").mkdir()
    assert "not a git repository" in one_line_error(run("shared", cwd=str(tmp_path / "plain")), 1)
    assert "does not take 'stutus'" in one_line_error(run("shared", "stutus"), 2)


def test_what_git_ignores_is_said(ok, place, project):
    put(place, "p/learnings/x.md", "Alpha", "x", id="l-x")
    Path(project, ".gitignore").write_text(".dayleaf\n")
    assert "git ignores .dayleaf" in ok("share", "l-x")


def test_a_note_without_an_id_keeps_the_one_it_is_called_by(ok, place, project):
    """It followed from the place; there and back again, `show`, links and feedback find the
    note.
    """
    path = Path(place.path("p/learnings/prices.md"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("Prices are integers in cents.\n")
    id = json.loads(ok("show", "prices", "--json"))["id"]
    for verb in ("share", "unshare"):
        ok(verb, id)
        assert "integers in cents" in ok("show", id)
