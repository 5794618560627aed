"""`dayleaf handoff`: a note, one made of checkpoints, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import noted, vault
from harness.command import dayleaf

from memory.core import clock
from memory.distill import digests
from memory.recall import question, search

KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


@pytest.fixture
def run(world, project):
    """Run `dayleaf` in the environment of a hook."""
    return dayleaf(world, project)


def test_in_a_terminal_it_is_made_of_the_newest_checkpoint(ok, place):
    """A hand-written one stands for itself; it never feeds on handoffs."""
    ok("checkpoint", "Moved the session store to Redis. Next: drop the old table.")
    for _ in range(2):
        made = json.loads(ok("handoff", "--json"))
        body = json.loads(ok("show", made["id"], "--json"))["body"]
        assert body.startswith(
            "## Notes\n\n- Moved the session store to Redis. Next: drop the old table.\n\nFrom [c-"
        )
        assert re.sub(r" \(\S+\)", "", made["title"]) == "Handoff: Moved the session store to Redis"


def test_a_session_is_made_of_its_own_checkpoints_alone(ok, place):
    """All of them, whether it is named whole, by its start, or is the newest one; `s-1` is not
    `s-10`.
    """
    for at, (session, said) in enumerate(
        (("s-1", "First"), ("s-10", "Other"), ("s-1", "Second"), ("", "Alone"))
    ):
        vault.put(
            place,
            "p/checkpoints/2026-11-21/%d.md" % at,
            said,
            "## Decisions\n\n- %s choice." % said,
            kind="checkpoint",
            created="2026-11-21T0%d:00:00Z" % at,
            **({"session": session} if session else {}),
        )

    def decided(*words):
        return re.findall(
            r"- (\w+) choice", ok("show", json.loads(ok("handoff", "--json", *words))["id"])
        )

    assert decided() == ["Alone"]
    assert decided("--session", "s-1") == ["Second", "First"] and decided("--session", "s-10") == [
        "Other"
    ]
    assert decided("--session", "s-") == ["Second", "First"]
    Path(place.path("p/checkpoints/2026-11-21/3.md")).unlink()
    assert decided() == ["Second", "First"]


def test_the_branch_that_is_checked_out_goes_before_what_is_newer(ok, place, project):
    """And what the next session is told is shown; where nothing was done on it the newest of all is
    handed off.
    """
    for at, branch in enumerate(("retries", "docs")):
        vault.put(
            place,
            "p/checkpoints/2026-11-21/%d.md" % at,
            "Work on " + branch,
            "## Outcome\n\n- The %s are done." % branch,
            kind="checkpoint",
            created="2026-11-21T0%d:00:00Z" % at,
            session="s-%d" % at,
            branch=branch,
        )
    for branch, told in (("retries", "retries"), ("metrics", "docs")):
        Path(project, ".git", "HEAD").write_text("ref: refs/heads/%s\n" % branch)
        said = ok("handoff")
        assert (
            "  Handoff (%s): Work on %s\n" % (told, told) in said
            and "\n\n## Where it stands\n\n- The %s are done.\n" % told in said
        )


@pytest.mark.parametrize("branch", ["main", "docs"])
def test_a_session_that_nobody_typed_into_is_handed_off_last(ok, place, project, branch):
    """However many there are, and on whichever branch the person worked."""
    for at in range(24):
        vault.put(
            place,
            "p/checkpoints/2026-11-20/%d.md" % at,
            "Nightly run %d" % at,
            "## Outcome\n\n- The nightly run is done.",
            kind="checkpoint",
            created="2026-11-20T%02d:00:00Z" % at,
            session="bot-%d" % at,
            branch="main",
            unattended="true",
        )
    Path(project, ".git", "HEAD").write_text("ref: refs/heads/main\n")
    assert "Nightly run 23" in ok("handoff")
    vault.put(
        place,
        "p/checkpoints/2026-11-19/1.md",
        "Work of a person",
        "## Outcome\n\n- The retries are done.",
        kind="checkpoint",
        created="2026-11-19T01:00:00Z",
        session="person",
        branch=branch,
    )
    assert "Work of a person" in ok("handoff")


def test_what_a_program_did_in_a_persons_session_is_not_handed_off(ok, place):
    """However often it went on there."""
    talk = "## 09:00 Move the retries\n\nMoved.\n"
    for day in range(20):
        talk += "\n## 2026-11-%02d 01:00 Nightly run %d\n\nSummarised.\n" % (day + 2, day)
        vault.put(
            place,
            "p/checkpoints/2026-11-%02d/1.md" % (day + 2),
            "Nightly run %d" % day,
            "## Outcome\n\n- The nightly run is done.",
            kind="checkpoint",
            created="2026-11-%02dT01:00:30Z" % (day + 2),
            session="s-1",
            unattended="true",
        )
    vault.put(
        place,
        "p/checkpoints/2026-11-01/1.md",
        "Work of a person",
        "## Outcome\n\n- The retries are moved.",
        kind="checkpoint",
        created="2026-11-01T09:00:30Z",
        session="s-1",
        conversation="t-1",
    )
    vault.put(
        place,
        "p/conversations/2026-11-01/1.md",
        "Talk",
        talk,
        id="t-1",
        kind="conversation",
        created="2026-11-01T09:00:00Z",
        session="s-1",
    )
    for said in (ok("handoff"), ok("handoff", "--session", "s-1")):
        assert "## Last requests\n\n- Move the retries\n\n" in said, said
    assert "Work of a person" in ok("today") and "Nightly run" not in ok("today")


def test_a_branch_is_handed_off_without_what_the_session_did_on_others(ok, place, project):
    """The turns of its stretches alone; what was begun on a trunk goes along."""
    told = (
        ("main", "09", "Dead letters are kept for a week now."),
        ("paths", "10", "Paths are now relative to the root."),
        ("retries", "11", "The counter of retries now starts at zero."),
    )
    talk = "".join(
        "## %s:00 Let it be so\n\n- edited `%s.py`\n\n%s\n\n" % (at, branch, said)
        for branch, at, said in told
    )
    vault.put(
        place,
        "p/conversations/2026-11-21/s-1.md",
        "Retries",
        talk,
        kind="conversation",
        session="s-1",
        created="2026-11-21T09:00:00Z",
        id="c-0000aaaa",
    )
    for branch, at, said in told:
        vault.put(
            place,
            "p/checkpoints/2026-11-21/%s.md" % branch,
            said,
            "## Outcome\n\n- %s\n" % said,
            kind="checkpoint",
            session="s-1",
            created="2026-11-21T%s:30:00Z" % at,
            until="2026-11-21T%s:30:00Z" % at,
            branch=branch,
            conversation="c-0000aaaa",
        )
    for branch, _, _ in told:
        Path(project, branch + ".py").write_text("x = 1\n")
    for branch, own, other in (
        ("paths", "relative to the root", "retries.py"),
        ("retries", "starts at zero", "paths.py"),
    ):
        Path(project, ".git", "HEAD").write_text("ref: refs/heads/%s\n" % branch)
        said = ok("handoff")
        assert (
            own in said and "not committed: main.py, %s.py\n" % branch in said and other not in said
        )


def test_only_files_that_git_says_differ_are_called_uncommitted(ok, place, project):
    """One that is gone, and one that was committed since, are left out; the day is named."""
    for name in ("kept.py", "committed.py"):
        Path(project, name).write_text("x = 1\n")
    subprocess.run(["git", "-C", project, "add", "committed.py"], check=True)
    subprocess.run(
        "git -C %s -c user.name=a -c user.email=a@b.c commit -qm Add" % project,
        shell=True,
        check=True,
    )
    talk = "## 09:00 Let it be so\n\n- edited `%s`\n\nDone.\n"
    vault.put(
        place,
        "p/conversations/2026-11-20/s-1.md",
        "Retries",
        talk % "`, `".join(("kept.py", "committed.py", "ROADMAP.md")),
        kind="conversation",
        session="s-1",
        created="2026-11-20T09:00:00Z",
        id="c-0000aaaa",
    )
    vault.put(
        place,
        "p/checkpoints/2026-11-20/1.md",
        "Retries",
        "## Outcome\n\n- Done.\n",
        kind="checkpoint",
        session="s-1",
        created="2026-11-20T09:30:00Z",
        until="2026-11-20T09:30:00Z",
        conversation="c-0000aaaa",
    )
    said = ok("handoff")
    assert "edited since, not committed: kept.py\n" in said and "(2026-11-20)" in said


def test_a_handoff_that_was_made_of_checkpoints_is_no_source_of_a_digest(ok, place, now):
    """It says what they say, glued and cut; what a person wrote for the next session is one."""
    vault.put(
        place,
        "p/checkpoints/2026-11-21/1.md",
        "Retries",
        "## Outcome\n\n- The retries of the queue start at zero now.",
        kind="checkpoint",
        session="s-1",
        created="2026-11-21T09:00:00Z",
        branch="retries",
        id="c-0000aaaa",
    )

    def sources():
        found = search.recall(
            place, vault.settings(), question.Query("retries of the queue"), now, clock.utc
        )
        return {source.id for source in digests.build_sources(found)}

    ok("handoff")
    assert sources() == {"c-0000aaaa"}
    Path(place.path("p/checkpoints/2026-11-21/1.md")).unlink()
    assert sources() == set()
    written = json.loads(ok("handoff", "The retries of the queue start in the worker", "--json"))[
        "id"
    ]
    assert sources() == {written}


def test_nothing_to_hand_off_is_one_line(run, ok):
    """Exit 1 for making one of nothing; showing or clearing none is no failure."""
    for words in ((), ("--session", "none")):
        done = run("handoff", *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (
            1,
            "",
            1,
        ) and "nothing to hand off" in done.stderr
    assert "has no handoff" in ok("handoff", "--show")
    assert ok("handoff", "--clear") == "there is no handoff to clear\n"
    assert ok("handoff", "--show", "--json") == "null\n"
    for words in (("--show", "x"), ("--show", "--clear"), ("<private>all of it</private>",)):
        assert run("handoff", *words).returncode == 2


def test_a_handoff_is_kept_without_secrets_for_its_owner_alone(ok, place):
    """As every record is."""
    path = json.loads(
        ok("handoff", "The key is %s; rotate it. <private>Not this.</private>" % KEY, "--json")
    )["path"]
    said = Path(path).read_text()
    assert KEY not in said and "rotate it" in said and "Not this" not in said
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_secret_that_was_removed_before_is_not_told_again(ok):
    """Only what this handoff removes."""
    assert "a secret was removed" in ok("handoff", "The key is %s; rotate it." % KEY)
    assert "a secret" not in ok("handoff", "The key is [redacted:key#1a2b]; rotate it.")


def test_a_note_may_come_from_stdin(ok):
    """In any language, with its lines."""
    made = json.loads(ok("handoff", "-", "--json", stdin="재시도를 먼저 본다.\n그 다음에 큐.\n"))
    assert made["title"] == "재시도를 먼저 본다" and "그 다음에 큐." in ok("handoff", "--show")


def test_what_dayleaf_put_before_the_model_is_no_part_of_a_note(ok):
    """A model that pastes its brief along hands off its own words alone."""
    ok(
        "handoff",
        'Mind the queue. <dayleaf-memory part="brief" tag="1a2b3c4d">old news</dayleaf-memory>',
    )
    assert "old news" not in ok("handoff", "--show") and "Mind the queue." in ok(
        "handoff", "--show"
    )


def test_a_handoff_that_says_nothing_new_replaces_none(ok):
    """The same record stays, and no older one became a checkpoint."""
    ok("checkpoint", "Moved the pool.")
    before = ok("handoff")
    assert ok("handoff") == before and len(json.loads(ok("recall", "--json"))["hits"]) == 2


def test_an_empty_note_replaces_nothing(ok, run):
    """An unset variable is no wish to have a handoff made, and what is replaced is named."""
    ok("handoff", "Do not deploy before the audit.")
    for words in ((""), ("-",)):
        done = run("handoff", *([words] if isinstance(words, str) else words))
        assert (done.returncode, done.stderr.count("\n")) == (
            2,
            1,
        ) and "the handoff is empty" in done.stderr
    assert "Do not deploy" in ok("handoff", "--show")
    said = ok("handoff", "The audit is done.")
    assert re.search(
        "next session gets the unread handoff too: .*Do not deploy before the audit", said
    )


TRUE, LIE = "Retries wait 250 ms (aaaaaaa)", "The cluster of 48 nodes was moved to `kafka.py`"


@pytest.fixture
def model(run, place, tmp_path):
    """Let a command answer with bullets on one checkpoint; returns the number of its calls."""
    vault.put(
        place,
        "p/checkpoints/2026-11-21/c-retries.md",
        "Retries of the uploader",
        "## Outcome\n\nThe uploader retries twice, at 250 ms.\n\n"
        "## Done\n\n- commit aaaaaaa: Retry twice\n\n## Open\n\n- the metrics",
        kind="checkpoint",
        created=clock.iso(clock.now() - 60),
        session="s-1",
    )

    def answers(*bullets, extra=""):
        said = "\n".join("- %s [c-retries]" % bullet for bullet in bullets)
        path = Path(place.home, "config.json")
        path.write_text(json.dumps({"distill.command": noted.model(tmp_path, said, extra)}))
        return lambda: noted.asked(tmp_path)

    return answers


@pytest.mark.parametrize("verb", ["standup", "handoff"])
def test_a_named_model_writes_it_from_the_facts(verb, model, ok, tmp_path):
    """It says so; what no source holds is left out and counted; asked again it costs nothing."""
    calls = model(TRUE, LIE)
    assert calls() == 0 and "250 ms (aaaaaaa)" not in ok(verb) and calls() == 0
    for _ in range(2):
        made = ok(verb, "--provider", "command")
        assert "- " + TRUE + "\n" in made and "kafka" not in made.partition("note:")[0]
        assert "ritten by" in made and "command" in made and calls() == 1
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert "the metrics" in asked and "Retry twice" in asked


def test_a_standup_by_a_model_counts_what_it_left_out(model, ok):
    """In JSON each bullet has its sources."""
    model(TRUE, LIE)
    digest = json.loads(ok("standup", "--provider", "command", "--json"))["digest"]
    assert (digest["checked"]["bullets"], digest["checked"]["kept"]) == (2, 1)
    assert digest["bullets"] == [{"text": TRUE + " [c-retries]", "ids": ["c-retries"]}]
    assert json.loads(ok("standup", "--json"))["digest"] is None


def test_a_handoff_by_a_model_names_it_and_its_sources(model, ok, place):
    model("Stands: " + TRUE)
    made = ok("handoff", "--provider", "command")
    assert "- Stands: %s\n\nWritten by command.  From [c-retries]" % TRUE in made
    file = Path(place.path("p/checkpoints/handoff.md")).read_text(encoding="utf-8")
    assert "\nby: command\n" in file and "derived_from" in file


@pytest.mark.parametrize("verb", ["standup", "handoff"])
@pytest.mark.parametrize(
    ("bullets", "extra", "why"),
    [
        ((), "sys.exit('the quota is used up')", "failed: "),
        ((LIE,), "", "failed: 0 sound bullets"),
        ((), "sys.exit(print('NONE'))", "found nothing to tell"),
    ],
    ids=["fails", "lies", "says-nothing"],
)
def test_without_a_sound_answer_the_facts_are_told(verb, bullets, extra, why, model, run):
    """One line says why."""
    model(*bullets, extra=extra)
    made = run(verb, "--provider", "command")
    assert made.returncode == 0 and made.stderr.count("\n") == 1
    assert "no model answered (command " + why in made.stderr
    assert "the metrics" in made.stdout and "ritten by" not in made.stdout


@pytest.mark.parametrize("verb", ["standup", "handoff"])
def test_a_session_asks_no_model_for_it(verb, model, run):
    calls = model(TRUE)
    done = run(verb, "--provider", "command", CLAUDECODE="1")
    assert done.returncode == 2 and "only a person may run" in done.stderr and calls() == 0


def test_a_model_gets_no_secret_of_them(model, ok, tmp_path, place):
    """A hand edit may have brought one in."""
    model(TRUE)
    path = Path(place.path("p/checkpoints/2026-11-21/c-retries.md"))
    path.write_text(path.read_text(encoding="utf-8") + "\n- the key is %s\n" % KEY)
    for verb in ("standup", "handoff"):
        ok(verb, "--provider", "command")
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert "the key is" in asked and KEY not in asked


def test_a_handoff_in_own_words_asks_no_model(model, run):
    calls = model(TRUE)
    done = run("handoff", "Next: the metrics", "--provider", "command")
    assert done.returncode == 2 and "--provider" in done.stderr and calls() == 0


@pytest.mark.parametrize(
    "question",
    [
        "what do we know about the issuer?",
        "what do we know about the JWT issuer?",
    ],
)
def test_a_lone_short_note_answers_a_question_in_plain_words(ok, question):
    """Common words that it lacks do not count against it."""
    ok("learn", "The JWT issuer must match the tenant URL exactly, with its trailing slash.")
    assert "- The JWT issuer must match" in ok("distill", question, "--provider", "extract")


def test_a_lone_note_does_not_answer_what_it_says_nothing_on(ok):
    """It is named as the nearest, without a saving."""
    ok("learn", "The JWT issuer must match the tenant URL exactly, with its trailing slash.")
    asked = "what do we know about the issuer of kafka tickets?"
    said = ok("distill", asked, "--provider", "extract")
    assert said.startswith("The records do not answer this. Nearest:") and "%" not in said


def test_nothing_is_said_once(ok):
    """Two lines: that there is none, and what to do."""
    ok("learn", "The JWT issuer must match the tenant URL exactly.")
    said = ok("distill", "kafka partitions?", "--provider", "extract")
    assert said.splitlines() == [
        "The records do not answer this.",
        '`dayleaf learn "…"` keeps what you find out',
    ]
