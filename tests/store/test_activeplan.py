"""Plans: one is active, its steps are ticked off, sessions get it and checkpoints name it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from harness import vault
from harness.command import dayleaf
from harness.hook import ROOT, fire, harmless, payload
from harness.imported import FREE, OURS, imported
from harness.plans import made

from memory.capture import stretches
from memory.core import clock, frontmatter, records
from memory.health import examination
from memory.hook import at_start
from memory.store import activeplan
from memory.terminal import reports


@pytest.fixture
def run(world, project):
    """Run `dayleaf` in the environment of a hook."""
    return dayleaf(world, project)


@pytest.fixture(name="made")
def _made(ok):
    """Make a plan and return what --json says of it."""
    return made(ok)


@pytest.fixture
def start(world):
    """Start a session as the client does and return the block ("" for none)."""

    def call(source="startup", **env):
        answer = harmless(
            fire(
                "session_start",
                payload("SessionStart", "startup", session_id="s1", source=source),
                {**world, **env},
            )
        )
        assert answer.settled
        assert not Path(world["HOME"], ".dayleaf", "log", "errors.jsonl").exists()
        return answer.context

    return call


# ---- the verb


def test_an_update_keeps_a_title_that_stood_in_the_text(ok, place):
    """Of a file by hand without frontmatter."""
    path = Path(place.private, "plans", "bare.md")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"# Bare\n- [ ] a\n")
    assert (
        ok("plan", "update", "--append", "- [ ] b")
        and path.read_bytes() == b"# Bare\n- [ ] a\n- [ ] b\n"
    )
    assert ok("plan", "update", "- [ ] c").split("\n")[0].endswith("0 of 1 step done  Bare")
    assert path.read_bytes().startswith(b"---\ntitle: Bare\n") and path.read_bytes().endswith(
        b"- [ ] c\n"
    )


def test_of_several_active_plans_the_newest_counts_and_it_is_said(place, now, ok, env):
    """In the list, by `doctor`, and for `plan done`."""
    vault.put(place, "p/plans/a.md", "Old", "- [ ] a", created="2026-11-01")
    vault.put(place, "p/plans/b.md", "New", "- [ ] b", created="2026-11-20")
    assert "2 plans are active and b is used" in ok("plan")
    said = reports.verdict_lines(
        examination.examine(place, vault.settings(), env, now), vault_style()
    )
    assert any(
        "2 plans are active; the newest (b) is used; `dayleaf plan done ID`" in line
        for line in said
    )
    assert ok("plan", "done").startswith("done b  New")


def vault_style():
    """A style for lines of 200 columns."""
    from memory.terminal import screen

    return screen.Style(200)


# ---- in a session


def test_the_open_steps_survive_a_compaction(made, start, ok):
    """The start after a compaction shows the plan again; where it is long, its open steps stand
    first.
    """
    body = (
        "Big one\n\n"
        + "Prose about the past. " * 120
        + "\n\n"
        + "\n".join("- [%s] step number %d" % ("x" if i < 30 else " ", i) for i in range(34))
    )
    made("-", stdin=body)
    for source in ("startup", "compact"):
        block = start(source)
        assert (
            "30 of 34 steps done, open:\n- [ ] step number 30\n" in block
            and "- [ ] step number 33\n" in block
        )
        assert block.index("step number 33") < block.index("Prose about the past.")
    ok("plan", "step", "31")
    assert "31 of 34 steps done, open:\n- [ ] step number 31\n" in start("compact")
    ok("plan", "done")
    assert "step number" not in start("compact")


def test_a_short_budget_still_shows_open_steps(made, place, now, monkeypatch):
    """Where little room is left the plan is cut, not left out."""
    made("-", stdin="Big one\n\n" + "Prose. " * 200 + "\n- [x] a\n- [ ] open now\n")
    monkeypatch.setattr(at_start, "BRIEF_UNITS", 1100)
    block, _ = at_start.build_brief(vault.built(place, now), None)
    assert "1 of 2 steps done, open:\n- [ ] open now" in block and len(block) <= 1100


def test_a_plan_that_nobody_touched_is_asked_about(place, start):
    """After 14 days, once a start; a change of the file ends it, and the tag of the block stays the
    same meanwhile.
    """
    path = vault.put(
        place, "p/plans/a.md", "Old", "- [ ] a", created="2026-01-01", updated="2026-01-01"
    )
    old = clock.now() - 16 * clock.DAY - 60
    vault.touch(path, old)
    block = start()
    assert (
        "The plan has not changed for 16 days: `dayleaf plan done`, `plan drop` or "
        "`plan update`\n## [a] Old"
    ) in block
    vault.touch(path, old - clock.DAY)
    later = start("compact")
    assert "not changed for 17 days" in later and tag(later) == tag(block)
    os.utime(path)
    assert "has not changed" not in start("compact")


def test_a_plan_costs_a_start_no_module_more(made, world, start):
    """Long and untouched: what shows it is on the list of the blocking path."""
    path = made("-", stdin="Big one\n\n" + "Prose. " * 300 + "\n- [ ] open now\n")["path"]
    Path(path).write_text(Path(path).read_text().replace('created: "20', 'created: "19'))
    vault.touch(path, 1e9)
    assert "open now" in start() and "has not changed" in start("compact")
    found = imported(
        sys.executable,
        world,
        str(ROOT / "hooks" / "session_start.py"),
        payload("SessionStart", "startup"),
    )
    found -= imported(sys.executable, world, "-c", {}, "pass")
    # of any record that is read whole, and cut
    reader = {"memory.core.headreader", "encodings.utf_16_le"}
    assert found - OURS - FREE <= reader and "memory.core.records" in found


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
    name = stretches.capture(place, vault.settings(), env, clock.now(), "s-1", str(path), "manual")
    assert meta(place.path(name))["plan"] == kept["id"]


def test_a_checkpoint_keeps_its_plan_when_it_grows(made, place, now, env, home, monkeypatch):
    """The plan may be gone by then."""
    kept = made("Serve it")
    folder = Path(home, ".claude", "projects", "p")
    folder.mkdir(parents=True)
    path = folder / "s-1.jsonl"
    lines = (
        (ROOT / "tests/data/transcripts/tools-headless.jsonl")
        .read_bytes()
        .splitlines(keepends=True)
    )
    monkeypatch.setattr(stretches, "STOP_AFTER", 1)
    half, settings = len(lines) * 2 // 3, vault.settings()
    path.write_bytes(b"".join(lines[:half]))
    name = stretches.capture(place, settings, env, clock.now(), "s-1", str(path), "stop")
    before = Path(place.path(name)).read_bytes()
    os.unlink(kept["path"])
    path.write_bytes(b"".join(lines))
    assert stretches.capture(place, settings, env, clock.now(), "s-1", str(path), "stop") == name
    assert (
        Path(place.path(name)).read_bytes() != before
        and meta(place.path(name))["plan"] == kept["id"]
    )


def test_a_session_serves_the_plan_that_it_finished(place, now):
    """A plan that ended before the stretch, or began after it, is not the one."""
    from memory.store.store import Store

    day = clock.DAY
    vault.put(
        place,
        "p/plans/a.md",
        "A",
        created=clock.iso(now - 9 * day),
        updated=clock.iso(now - 5 * day),
        status="done",
    )
    vault.put(place, "p/plans/b.md", "B", created=clock.iso(now - 2 * day), status="active")
    store = Store(place, vault.settings(), now)
    assert activeplan.find_plan_between(store, now - 6 * day, now - 5 * day) == "a"
    assert activeplan.find_plan_between(store, now - 4 * day, now - 3 * day) == ""
    assert activeplan.find_plan_between(store, now - day, now) == "b"


def meta(path):
    """Return the frontmatter of a file."""
    return frontmatter.parse(Path(path).read_bytes()).meta


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "no plan is active"),
        ('Move the "retries"; $(x)\n- [ ] a', "planned p-"),
        ("step 1", "no plan is active"),
        ("done", "no plan is active"),
    ],
)
def test_the_slash_command_answers_without_a_model(world, typed, said):
    """The text reaches the user as the reason of a block."""
    event = payload(
        "UserPromptExpansion", command_name="dayleaf:plan", command_args=typed, session_id="s-1"
    )
    answer = fire("expansion", event, {**world, "CLAUDECODE": "1"})
    assert (answer.rc, answer.err) == (0, "")
    assert answer.json["decision"] == "block" and said in answer.json["reason"], answer.json


def test_steps_are_task_items_outside_code():
    """Any bullet or number; a link, a checkbox in prose and fenced code are none."""
    body = (
        "- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [ ] e\n- [link](x)\n[ ] f\n- [ ](x)\n~~~\n"
        "- [ ] g\n~~~\n  -\t[ ]\th\n\n-"
    )
    assert records.parse_steps(body) == [
        (0, False, "a"),
        (1, True, "b"),
        (2, True, "c"),
        (3, False, "d"),
        (4, False, "e"),
        (11, False, "h"),
    ]
