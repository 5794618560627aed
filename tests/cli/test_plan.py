"""`dayleaf plan`: made, listed, ticked off, updated, ended, and what it refuses."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harness.command import dayleaf, process
from harness.plans import made

TEXT = (
    "Move the retries into the queue worker\n\nThe cron job goes last.\n\n- [x] spike\n"
    "- [ ] queue worker\n- [ ] dead letters\n"
)
KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


@pytest.fixture
def run(world, project):
    """Run `dayleaf` in the environment of a hook."""
    return dayleaf(world, project)


@pytest.fixture(name="made")
def _made(ok):
    """Make a plan and return what --json says of it."""
    return made(ok)


@pytest.fixture
def refused(run):
    """Run `dayleaf`, which must refuse with a status and one line; returns the line."""

    def call(status, *words, **more):
        done = run(*words, **more)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done
        return done.stderr

    return call


def test_a_plan_is_private_active_and_listed_with_its_steps(made, ok, home):
    """The first line is the title, the rest the body; the list numbers the steps and counts those
    done.
    """
    kept = made("-", stdin=TEXT)
    assert (
        kept["path"].startswith(home + "/.dayleaf/workspaces/")
        and kept["title"] == "Move the retries into the queue worker"
    )
    assert ok("plan").splitlines() == [
        kept["id"] + "  active  1 of 3 steps done  Move the retries into the queue worker",
        "   1 [x] spike",
        "   2 [ ] queue worker",
        "   3 [ ] dead letters",
    ]
    assert "The cron job goes last." in ok("plan", "show")
    shown = json.loads(ok("plan", "show", "--json"))
    assert (shown["status"], shown["done"], shown["of"], shown["steps"][1]) == (
        "active",
        1,
        3,
        {"number": 2, "done": False, "text": "queue worker"},
    )


def test_a_plan_may_be_shared_and_take_its_steps_as_options(made, project):
    """--shared goes into the repository; each --step is a task item."""
    kept = made("Ship it", "--shared", "--step", "tag", "--step", "announce it")
    assert kept["path"].startswith(project + "/.dayleaf/plans/")
    assert Path(kept["path"]).read_text().endswith("---\n\n- [ ] tag\n- [ ] announce it\n")


def test_a_second_plan_is_refused_with_the_ways_out(made, ok, refused):
    """The one that stands is named; --replace drops it and says so in its file."""
    first = made("First things")
    said = refused(1, "plan", "Second things")
    assert (
        first["id"] in said and "plan done" in said and "plan drop" in said and "--replace" in said
    )
    second = made("Second things", "--replace")
    assert [line.split("  ")[:2] for line in ok("plan").splitlines() if line] == [
        [second["id"], "active"],
        [first["id"], "dropped"],
    ]
    assert "reason: replaced by " + second["id"] in Path(first["path"]).read_text()


def test_a_step_is_ticked_off_and_opened_again(made, ok, refused):
    """By its number; a wrong one is refused, a step that is done already changes nothing."""
    path = Path(made("-", stdin=TEXT)["path"])
    assert "2 of 3 steps done" in ok("plan", "step", "2")
    assert "- [x] queue worker\n- [ ] dead letters\n" in path.read_text()
    before = path.read_bytes()
    assert ok("plan", "step", "2") == "step 2 is done already\n" and path.read_bytes() == before
    assert (
        "1 of 3 steps done" in ok("plan", "step", "2", "--undo")
        and "- [ ] queue worker" in path.read_text()
    )
    assert "no step 4; the plan has 3" in refused(2, "plan", "step", "4")
    assert "one number" in refused(2, "plan", "step", "two")


def test_a_persons_file_stays_byte_for_byte_but_for_the_tick(ok, place):
    """CRLF, comments, unknown keys, a fenced list that is none: only the step and `updated`
    change.
    """
    data = (
        b"---\r\n# mine\r\ntitle: By hand\r\nown: 1   # kept\r\n---\r\n\r\n```\r\n"
        b"- [ ] no step\r\n```\r\n"
        b"* [ ] \xea\xb0\x80\r\n  + [X] b\r\n2) [ ]\tc\r\n"
    )
    path = Path(place.private, "plans", "mine.md")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    ok("plan", "step", "3")
    lines = [line for line in path.read_bytes().split(b"\n") if not line.startswith(b"updated:")]
    assert b"\n".join(lines) == data.replace(b"2) [ ]\tc", b"2) [x]\tc")
    ok("plan", "step", "2", "--undo")
    assert b"  + [ ] b\r\n" in path.read_bytes()


def test_a_file_without_frontmatter_gets_none_for_a_tick(ok, place):
    """Its time says when it was changed."""
    path = Path(place.private, "plans", "bare.md")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"# Bare\n- [ ] a\n")
    ok("plan", "step", "1")
    assert path.read_bytes() == b"# Bare\n- [x] a\n"


def test_an_update_replaces_the_text_or_adds_to_it(made, ok, refused):
    """The head and the id stay; secrets are taken out."""
    kept = made("Move it", "--step", "one")
    ok("plan", "update", "--append", "- [ ] two")
    assert Path(kept["path"]).read_text().endswith("\n- [ ] one\n- [ ] two\n")
    assert "a secret was removed" in ok("plan", "update", "Now with %s.\n\n- [ ] three" % KEY)
    shown = json.loads(ok("plan", "show", "--json"))
    assert (shown["id"], shown["title"], shown["of"]) == (kept["id"], "Move it", 1)
    assert (
        KEY not in Path(kept["path"]).read_text()
        and "- [ ] three" in shown["body"]
        and "one" not in shown["body"]
    )
    assert "the update is empty" in refused(2, "plan", "update", " ")


def test_plans_end_done_or_dropped(made, ok, refused):
    """The active one, or that of an ID; what is still open is said."""
    kept = made("-", stdin=TEXT)
    assert ok("plan", "done") == "done %s  %s\n  2 steps still open\n" % (kept["id"], kept["title"])
    assert (
        "no plan is active" in refused(1, "plan", "done")
        and "status: done" in Path(kept["path"]).read_text()
    )
    other = made("Another thing")
    ok("plan", "drop", other["id"])
    assert "status: dropped" in Path(other["path"]).read_text()
    learnt = json.loads(ok("learn", "x is y", "--json"))["id"]
    assert "plan step 2" in refused(2, "plan", "done", "2")
    assert "a learning, not a plan" in refused(2, "plan", "done", learnt)


def test_words_that_are_off_make_no_plan(refused, ok):
    """A near miss of a word, an option of another word, an empty text."""
    assert "did you mean 'list'" in refused(2, "plan", "lst")
    assert "takes no --replace" in refused(2, "plan", "done", "--replace")
    assert "takes no --append" in refused(2, "plan", "list", "--append")
    assert "the plan is empty" in refused(2, "plan", "<private>all of it</private>")
    assert "no plan is active" in ok("plan")


def test_where_none_is_active_the_list_begins_with_that(ok):
    """Then come those that ended."""
    ok("plan", "Move the retries")
    ok("plan", "done")
    first, blank, ended = ok("plan").splitlines()
    assert (
        first.startswith("no plan is active in ")
        and blank == ""
        and "done" in ended
        and "Move the retries" in ended
    )


def test_of_plans_made_at_once_one_is_active_and_the_others_are_refused(env, project, place):
    with ThreadPoolExecutor(4) as pool:
        done = list(
            pool.map(
                lambda number: process(env, project)("plan", "Move the queue number %d" % number),
                range(4),
            )
        )
    assert sorted(one.returncode for one in done) == [0, 1, 1, 1]
    assert len([*Path(place.private, "plans").glob("*.md")]) == 1
