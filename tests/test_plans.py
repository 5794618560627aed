"""Plans: one is active, its steps are ticked off, sessions get it and checkpoints name it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import vault
from harness.command import dayleaf
from harness.hook import ROOT, fire, harmless, payload
from test_hooks import FREE, OURS, imported

from memory import capture, clock, doctor, frontmatter, plans, records

TEXT = "Move the retries into the queue worker\n\nThe cron job goes last.\n\n- [x] spike\n- [ ] queue worker\n- [ ] dead letters\n"
KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


@pytest.fixture
def run(world, project):
    """Run `dayleaf` in the environment of a hook."""
    return dayleaf(world, project)


@pytest.fixture
def refused(run):
    """Run `dayleaf`, which must refuse with a status and one line; returns the line."""
    def call(status, *words, **more):
        done = run(*words, **more)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done
        return done.stderr
    return call


@pytest.fixture
def made(ok):
    """Make a plan and return what --json says of it."""
    def call(*words, **more):
        return json.loads(ok("plan", *words, "--json", **more))
    return call


@pytest.fixture
def start(world):
    """Start a session as the client does and return the block ("" for none)."""
    def call(source="startup", **env):
        answer = harmless(fire("session_start", payload("SessionStart", "startup", session_id="s1", source=source), {**world, **env}))
        assert answer.settled
        assert not Path(world["HOME"], ".dayleaf", "log", "errors.jsonl").exists()
        return answer.context
    return call


# ---- the verb


def test_a_plan_is_private_active_and_listed_with_its_steps(made, ok, home):
    """The first line is the title, the rest the body; the list numbers the steps and counts those done."""
    kept = made("-", stdin=TEXT)
    assert kept["path"].startswith(home + "/.dayleaf/workspaces/") and kept["title"] == "Move the retries into the queue worker"
    assert ok("plan").splitlines() == [
        kept["id"] + "  active  1 of 3 steps done  Move the retries into the queue worker", "   1 [x] spike", "   2 [ ] queue worker",
        "   3 [ ] dead letters"]
    assert "The cron job goes last." in ok("plan", "show")
    shown = json.loads(ok("plan", "show", "--json"))
    assert (shown["status"], shown["done"], shown["of"], shown["steps"][1]) == (
        "active", 1, 3, {"number": 2, "done": False, "text": "queue worker"})


def test_a_plan_may_be_shared_and_take_its_steps_as_options(made, project):
    """--shared goes into the repository; each --step is a task item."""
    kept = made("Ship it", "--shared", "--step", "tag", "--step", "announce it")
    assert kept["path"].startswith(project + "/.dayleaf/plans/")
    assert Path(kept["path"]).read_text().endswith("---\n\n- [ ] tag\n- [ ] announce it\n")


def test_a_second_plan_is_refused_with_the_ways_out(made, ok, refused):
    """The one that stands is named; --replace drops it and says so in its file."""
    first = made("First things")
    said = refused(1, "plan", "Second things")
    assert first["id"] in said and "plan done" in said and "plan drop" in said and "--replace" in said
    second = made("Second things", "--replace")
    assert [line.split("  ")[:2] for line in ok("plan").splitlines() if line] == [[second["id"], "active"], [first["id"], "dropped"]]
    assert "reason: replaced by " + second["id"] in Path(first["path"]).read_text()


def test_a_step_is_ticked_off_and_opened_again(made, ok, refused):
    """By its number; a wrong one is refused, a step that is done already changes nothing."""
    path = Path(made("-", stdin=TEXT)["path"])
    assert "2 of 3 steps done" in ok("plan", "step", "2")
    assert "- [x] queue worker\n- [ ] dead letters\n" in path.read_text()
    before = path.read_bytes()
    assert ok("plan", "step", "2") == "step 2 is done already\n" and path.read_bytes() == before
    assert "1 of 3 steps done" in ok("plan", "step", "2", "--undo") and "- [ ] queue worker" in path.read_text()
    assert "no step 4; the plan has 3" in refused(2, "plan", "step", "4")
    assert "one number" in refused(2, "plan", "step", "two")


def test_a_persons_file_stays_byte_for_byte_but_for_the_tick(ok, place):
    """CRLF, comments, unknown keys, a fenced list that is none: only the step and `updated` change."""
    data = (b"---\r\n# mine\r\ntitle: By hand\r\nown: 1   # kept\r\n---\r\n\r\n```\r\n- [ ] no step\r\n```\r\n"
            b"* [ ] \xea\xb0\x80\r\n  + [X] b\r\n2) [ ]\tc\r\n")
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
    assert "a secret was taken out" in ok("plan", "update", "Now with %s.\n\n- [ ] three" % KEY)
    shown = json.loads(ok("plan", "show", "--json"))
    assert (shown["id"], shown["title"], shown["of"]) == (kept["id"], "Move it", 1)
    assert KEY not in Path(kept["path"]).read_text() and "- [ ] three" in shown["body"] and "one" not in shown["body"]
    assert "an empty update" in refused(2, "plan", "update", " ")


def test_an_update_keeps_a_title_that_stood_in_the_text(ok, place):
    """Of a file by hand without frontmatter."""
    path = Path(place.private, "plans", "bare.md")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"# Bare\n- [ ] a\n")
    assert ok("plan", "update", "--append", "- [ ] b") and path.read_bytes() == b"# Bare\n- [ ] a\n- [ ] b\n"
    assert ok("plan", "update", "- [ ] c").split("\n")[0].endswith("0 of 1 step done  Bare")
    assert path.read_bytes().startswith(b"---\ntitle: Bare\n") and path.read_bytes().endswith(b"- [ ] c\n")


def test_plans_end_done_or_dropped(made, ok, refused):
    """The active one, or that of an ID; what is still open is said."""
    kept = made("-", stdin=TEXT)
    assert ok("plan", "done") == "done %s  %s\n  2 steps still open\n" % (kept["id"], kept["title"])
    assert "no plan is active" in refused(1, "plan", "done") and "status: done" in Path(kept["path"]).read_text()
    other = made("Another thing")
    ok("plan", "drop", other["id"], "--reason", "no time")
    assert "status: dropped" in Path(other["path"]).read_text() and "reason: no time" in Path(other["path"]).read_text()
    learnt = json.loads(ok("learn", "x is y", "--json"))["id"]
    assert "a learning, not a plan" in refused(2, "plan", "done", learnt)


def test_words_that_are_off_make_no_plan(refused, ok):
    """A near miss of a word, an option of another word, an empty text."""
    assert "did you mean 'list'" in refused(2, "plan", "lst")
    assert "takes no --replace" in refused(2, "plan", "done", "--replace")
    assert "takes no --append" in refused(2, "plan", "list", "--append")
    assert "an empty plan" in refused(2, "plan", "<private>all of it</private>")
    assert "no plan is active" in ok("plan")


def test_where_none_is_active_the_list_begins_with_that(ok):
    """Then come those that ended."""
    ok("plan", "Move the retries")
    ok("plan", "done")
    first, blank, ended = ok("plan").splitlines()
    assert first.startswith("no plan is active in ") and blank == "" and "done" in ended and "Move the retries" in ended


def test_of_several_active_plans_the_newest_counts_and_it_is_said(place, now, ok, env):
    """In the list, by `doctor`, and for `plan done`."""
    vault.put(place, "p/plans/a.md", "Old", "- [ ] a", created="2026-11-01")
    vault.put(place, "p/plans/b.md", "New", "- [ ] b", created="2026-11-20")
    assert "2 plans are active, b counts" in ok("plan")
    said = doctor.lines(doctor.examine(place, vault.settings(), env, now), vault_style())
    assert any("2 plans are active, the newest (b) counts; `dayleaf plan done ID`" in line for line in said)
    assert ok("plan", "done").startswith("done b  New")


def vault_style():
    """A style for lines of 200 columns."""
    from memory import terminal

    return terminal.Style(200)


# ---- in a session


def test_the_open_steps_survive_a_compaction(made, start, ok):
    """The start after a compaction shows the plan again; where it is long, its open steps stand first."""
    body = "Big one\n\n" + "Prose about the past. " * 120 + "\n\n" + "\n".join(
        "- [%s] step number %d" % ("x" if i < 30 else " ", i) for i in range(34))
    made("-", stdin=body)
    for source in ("startup", "compact"):
        block = start(source)
        assert "30 of 34 steps done, open:\n- [ ] step number 30\n" in block and "- [ ] step number 33\n" in block
        assert block.index("step number 33") < block.index("Prose about the past.")
    ok("plan", "step", "31")
    assert "31 of 34 steps done, open:\n- [ ] step number 31\n" in start("compact")
    ok("plan", "done")
    assert "step number" not in start("compact")


def test_a_short_budget_still_shows_open_steps(made, start):
    """Where little room is left the plan is cut, not left out."""
    made("-", stdin="Big one\n\n" + "Prose. " * 200 + "\n- [x] a\n- [ ] open now\n")
    block = start(DAYLEAF_LOAD_SESSIONCHARS="1100")
    assert "1 of 2 steps done, open:\n- [ ] open now" in block and len(block) <= 1100


def test_a_plan_that_nobody_touched_is_asked_about(place, start):
    """After 14 days, once a start; a change of the file ends it, and the tag of the block stays the same meanwhile."""
    path = vault.put(place, "p/plans/a.md", "Old", "- [ ] a", created="2026-01-01", updated="2026-01-01")
    old = clock.now() - 16 * clock.DAY - 60
    vault.touch(path, old)
    block = start()
    assert "The plan is untouched for 16 days; `dayleaf plan done`, `plan drop` or `plan update`\n## [a] Old" in block
    vault.touch(path, old - clock.DAY)
    later = start("compact")
    assert "untouched for 17 days" in later and tag(later) == tag(block)
    os.utime(path)
    assert "untouched" not in start("compact")


def test_a_plan_costs_a_start_no_module_more(made, world, start):
    """Long and untouched: what shows it is on the list of the blocking path."""
    path = made("-", stdin="Big one\n\n" + "Prose. " * 300 + "\n- [ ] open now\n")["path"]
    Path(path).write_text(Path(path).read_text().replace("created: \"20", "created: \"19"))
    vault.touch(path, 1e9)
    assert "open now" in start() and "untouched" in start("compact")
    found = imported(sys.executable, world, str(ROOT / "hooks" / "session_start.py"), payload("SessionStart", "startup"))
    found -= imported(sys.executable, world, "-c", {}, "pass")
    reader = {"memory.head", "memory.yamlhead", "encodings.utf_16_le"}  # of any record that is read whole, and cut
    assert found - OURS - FREE <= reader and "memory.records" in found


def tag(block):
    """Return the checksum in a block's first line."""
    return block.split('tag="')[1][:8]


def test_checkpoints_name_the_plan_that_they_served(made, ok, place, now, env, home):
    """One by hand, and one of a session; without a plan they name none."""
    before = json.loads(ok("checkpoint", "Before the plan.", "--json"))["path"]
    kept = made("Serve it")
    after = json.loads(ok("checkpoint", "With the plan.", "--json"))["path"]
    assert "plan" not in meta(before) and meta(after)["plan"] == kept["id"]
    folder = Path(home, ".claude", "projects", "p")
    folder.mkdir(parents=True)
    path = folder / "s-1.jsonl"
    path.write_bytes((ROOT / "tests/data/transcripts/tools-headless.jsonl").read_bytes())
    name = capture.capture(place, vault.settings(), env, clock.now(), "s-1", str(path), "manual")
    assert meta(place.path(name))["plan"] == kept["id"]


def test_a_checkpoint_keeps_its_plan_when_it_grows(made, place, now, env, home):
    """The plan may be gone by then."""
    kept = made("Serve it")
    folder = Path(home, ".claude", "projects", "p")
    folder.mkdir(parents=True)
    path = folder / "s-1.jsonl"
    lines = (ROOT / "tests/data/transcripts/tools-headless.jsonl").read_bytes().splitlines(keepends=True)
    half, settings = len(lines) * 2 // 3, vault.settings(capture_stopAfter=1)
    path.write_bytes(b"".join(lines[:half]))
    name = capture.capture(place, settings, env, clock.now(), "s-1", str(path), "stop")
    before = Path(place.path(name)).read_bytes()
    os.unlink(kept["path"])
    path.write_bytes(b"".join(lines))
    assert capture.capture(place, settings, env, clock.now(), "s-1", str(path), "stop") == name
    assert Path(place.path(name)).read_bytes() != before and meta(place.path(name))["plan"] == kept["id"]


def test_a_session_serves_the_plan_that_it_finished(place, now):
    """A plan that ended before the stretch, or began after it, is not the one."""
    from memory.store import Store

    day = clock.DAY
    vault.put(place, "p/plans/a.md", "A", created=clock.iso(now - 9 * day), updated=clock.iso(now - 5 * day), status="done")
    vault.put(place, "p/plans/b.md", "B", created=clock.iso(now - 2 * day), status="active")
    store = Store(place, vault.settings(), now)
    assert plans.served(store, now - 6 * day, now - 5 * day) == "a"
    assert plans.served(store, now - 4 * day, now - 3 * day) == ""
    assert plans.served(store, now - day, now) == "b"


def meta(path):
    """Return the frontmatter of a file."""
    return frontmatter.parse(Path(path).read_bytes()).meta


@pytest.mark.parametrize(("typed", "said"), [
    ("", "no plan is active"), ("Move the \"retries\"; $(x)\n- [ ] a", "planned p-"), ("step 1", "no plan is active"),
    ("done", "no plan is active")])
def test_the_slash_command_answers_without_a_model(world, typed, said):
    """The text reaches the user as the reason of a block."""
    event = payload("UserPromptExpansion", command_name="dayleaf:plan", command_args=typed, session_id="s-1")
    answer = fire("expansion", event, {**world, "CLAUDECODE": "1"})
    assert (answer.rc, answer.err) == (0, "")
    assert answer.json["decision"] == "block" and said in answer.json["reason"], answer.json


def test_steps_are_task_items_outside_code():
    """Any bullet or number; a link, a checkbox in prose and fenced code are none."""
    body = "- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [ ] e\n- [link](x)\n[ ] f\n- [ ](x)\n~~~\n- [ ] g\n~~~\n  -\t[ ]\th\n\n-"
    assert records.steps(body) == [(0, False, "a"), (1, True, "b"), (2, True, "c"), (3, False, "d"), (4, False, "e"),
                                   (11, False, "h")]
