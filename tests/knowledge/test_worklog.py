"""The standup: what was done since a time, by workspace, session and day."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from harness import vault
from harness.hook import ROOT
from harness.standup import NIGHT, captured, talk, teller

from memory.capture import conversationpage, stretches, upshot
from memory.cli import main
from memory.core import layout
from memory.knowledge import worklog


@pytest.fixture
def tell(place, now):
    """Gather a standup of the fixed instant in UTC; returns what `lines` writes at 80 columns."""
    return teller(place, now)


@pytest.fixture
def other(place):
    """Another workspace of the same home."""
    return layout.Place(place.home, "other-0123abcd", "", "", "", "")


def test_a_real_session_is_told_from_its_checkpoint(place, now, env, home, tell):
    """By its branch, what came out of it; what passed in the end is not open."""
    folder = Path(home, ".claude", "projects", "p")
    folder.mkdir(parents=True)
    path = folder / "s-1.jsonl"
    path.write_bytes((ROOT / "tests/data/transcripts/tools-headless.jsonl").read_bytes())
    stretches.capture(place, vault.settings(), env, now, "s-1", str(path), "manual")
    said = tell()
    assert said == "1 session in %s since 2026-11-20\n\nSat 2026-11-21\n  - master: Fix add (ecf522d)" % place.key


def test_a_checkpoint_counts_from_the_last_thing_it_tells(place, tell):
    """One that was begun before and updated since is told; one that was only touched is not."""
    captured(place, "open", "Long work.", "2026-11-19T20:00:00Z", session="s-1", until="2026-11-20T08:00:00.000Z")
    captured(place, "updated", "Other work.", "2026-11-19T20:00:00Z", session="s-2", updated="2026-11-21T08:00:00Z")
    captured(place, "old", "Old work, touched now.", "2026-11-19T20:00:00Z", session="s-3", until="2026-11-19T20:00:00.000Z")
    for path in Path(place.private).rglob("*.md"):
        os.utime(path, (NIGHT + 3600, NIGHT + 3600))
    said = tell()
    assert "2 sessions" in said and "Long work." in said and "Other work." in said and "Old work" not in said


def test_workspaces_without_work_are_left_out(place, other, tell):
    """`all` tells every one of this home that has any, a name that one, nothing the present one."""
    captured(place, "here", "Here.", "2026-11-21T10:00:00Z", session="s-1")
    captured(other, "there", "There.", "2026-11-21T10:00:00Z", session="s-1")
    Path(place.home, "workspaces", "empty-0123abcd", "checkpoints").mkdir(parents=True)
    assert "There." not in tell() and "Here." in tell()
    assert "Here." not in tell("other") and "There." in tell("other")
    said = tell("all")
    assert said.startswith("2 sessions in 2 workspaces since ") and "Here." in said and "There." in said and "empty" not in said


def test_nothing_done_says_so(place, other, tell):
    """Of the present workspace, and of all."""
    captured(place, "old", "Old.", "2026-11-01T10:00:00Z")
    assert tell() == "nothing in %s since 2026-11-20" % place.key
    assert tell("all") == "nothing in any workspace since 2026-11-20"


def test_what_was_written_is_counted_in_a_line_for_each_kind(place, other, tell):
    """Learnings, rules and plans by their creation; those of the global tier once."""
    for name, kind in (("l", "learning"), ("r", "rule"), ("p", "plan")):
        vault.put(place, f"p/{kind}s/{name}.md", f"New {kind}", "x", created="2026-11-21", rationale="y")
        vault.put(place, f"p/{kind}s/{name}-old.md", f"Old {kind}", "x", created="2026-11-01", rationale="y")
    vault.put(place, "g/learnings/everywhere.md", "True everywhere", "x", created="2026-11-21")
    vault.put(other, "p/learnings/m.md", "Elsewhere", "x", created="2026-11-20")
    said = tell("all")
    assert said == "\n".join([
        "0 sessions in 2 workspaces since 2026-11-20", "", place.key, "", "1 learning: New learning", "1 rule: New rule",
        "1 plan: New plan", "", other.key, "", "1 learning: Elsewhere", "", "global", "", "1 learning: True everywhere"])
    assert "1 learning: Elsewhere" in tell("other") and "everywhere" not in tell("other") and "True everywhere" in tell()


def test_a_handoff_made_of_checkpoints_is_not_told_twice(place, tell):
    """One that a person wrote is a note like any other."""
    captured(place, "work", "## Done\n\n- commit aaaaaaa: One\n", "2026-11-21T09:00:00Z", session="s-1")
    vault.put(place, "p/checkpoints/handoff.md", "Handoff: Work on work", "## Done\n\n- commit aaaaaaa: One\n", session="s-1",
              trigger="handoff", created="2026-11-21T10:00:00Z", links="[derived_from: work]")
    assert "Handoff" not in tell() and tell().count("aaaaaaa") == 1
    vault.put(place, "p/checkpoints/handoff.md", "Mind the queue", "Mind the queue, it is full.", created="2026-11-21T10:00:00Z")
    assert "Mind the queue, it is full." in tell()


def test_records_that_cannot_be_read_are_passed_over(place, tell):
    """Doctor names them; the rest is told."""
    captured(place, "good", "Good work.", "2026-11-21T09:00:00Z")
    Path(captured(place, "bad", "x", "2026-11-21T09:00:00Z")).write_bytes(b"\xff\xfe\x00 not text")
    Path(place.private, "checkpoints", "2026-11-21", "sub.md").mkdir()
    assert "Good work." in tell()


# ---- the command


def test_the_command_takes_times_as_recall_does(run):
    """As an option or as words; what is no time ends with 2, nothing done with 0."""
    assert run("checkpoint", "Called the vendor. Next: mail them.").returncode == 0
    for words in ((), ("--since", "2h"), ("yesterday",), ("--workspace", "all"), ("last", "monday"), ("--since", "this week")):
        done = run("standup", *words)
        assert (done.returncode, done.stderr) == (0, "") and "Called the vendor" in done.stdout, words
    for words in (("gibberish",), ("--since", "soonish"), ("yesterday", "--since", "2h"), ("--workspace", "none")):
        done = run("standup", *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), words


def test_a_period_ends_with_its_last_day(run, place):
    """Last week's is told without this week's; an end before the beginning is refused."""
    for name, when in (("a", "2026-11-16T09:00:00Z"), ("b", "2026-11-17T22:00:00Z"), ("c", "2026-11-18T00:00:00Z")):
        captured(place, name, "## Outcome\n\n- Moved the %s queue into a module." % name, when, session="s-" + name)
    told = run("standup", "2026-11-16", "--until", "2026-11-17").stdout
    assert "from 2026-11-16 to 2026-11-17\n" in told and "the a queue" in told and "the b queue" in told and "the c queue" not in told
    assert " on 2026-11-16\n" in run("standup", "2026-11-16", "--until", "2026-11-16").stdout
    refused = run("standup", "2026-11-17", "--until", "2026-11-16")
    assert refused.returncode == 2 and "--until 2026-11-16 is not after 2026-11-17" in refused.stderr


def test_json_has_every_line_in_full(run):
    """For scripts."""
    run("checkpoint", "Called the vendor. Next: mail them.")
    run("learn", "The vendor answers on Mondays.")
    value = json.loads(run("standup", "--json").stdout)
    (space,) = value["workspaces"]
    (work,) = space["sessions"]
    assert (work["title"], work["said"], work["next"], work["session"]) == (
        "Called the vendor", ["Called the vendor."], ["mail them."], None)
    assert [one["title"] for one in space["learnings"]] == ["The vendor answers on Mondays"] and space["plans"] == []
    assert {"since", "until", "workspaces"} == set(value) and "standup" in main.VERBS


def test_what_a_note_names_as_next_is_told_as_next(run):
    """`…; next: x` is work and a step, each told once."""
    run("checkpoint", "Moved the retries into the queue worker because the web process was killed at deploys; next: the dead letter queue")
    told = run("standup").stdout
    assert "    - next: the dead letter queue\n" in told
    assert told.count("Moved the retries") == 1


def test_private_parts_are_told_to_nobody(place, tell):
    """A passage over several lines is left out before the lines are taken apart, in titles too."""
    captured(place, "a", "## Decisions\n\n- <private>\n- a margin of Walrus\n- </private>\n\n## Next\n\n- mail them",
             "2026-11-20T10:00:00Z", session="s1", title="Bill <private>Walrus</private> them")
    vault.put(place, "p/learnings/l1.md", "Pay <private>Walrus</private> late", "Late.", created="2026-11-20T10:00:00Z")
    said = tell()
    assert "Walrus" not in said and "private" not in said and "mail them" in said and "Pay" in said


# ---- what came out, by branch

TALK = """\
## 09:10 the retries give up too early, can you look?

I'll look at the worker first.

- edited `worker.py`
- ✓ `pytest -q`

All tests pass. Here's a summary:

**The Bug:** The retry counter was never reset, because `Worker.reset` was called before the job ended.

**The Fix:** `reset` runs last now.

## 09:40 thanks

You're welcome! Let me know if anything else comes up.

## 10:05 could the delays differ?

- edited `worker.py`

Done! The workers of a pool now wake at different times.

Want me to commit this?
"""


def test_a_session_is_told_by_what_its_turns_came_to(place, tell):
    """Word for word from its conversation, a fault that was fixed as that; thanks, praise and offers tell nothing."""
    talk(place, TALK)
    captured(place, "a", "## Outcome\n\n- Done!\n\n## Open\n\n- Want me to commit this?\n\n## Next\n\n- about to: commit", "2026-11-21T10:30:00Z", session="s-1",
             branch="retries", files="[worker.py]")
    assert tell(columns=200).split("\n")[2:] == [
        "Sat 2026-11-21",
        "  - retries: Fixed: The retry counter was never reset, because `Worker.reset` was called before the job ended.",
        "    - The workers of a pool now wake at different times."]


def test_a_turn_is_told_once_though_two_checkpoints_tell_the_session(place, tell):
    """Each day has its turns: those since the checkpoint before."""
    talk(place, TALK, day="2026-11-20")
    captured(place, "a", "## Outcome\n\n- Fixed.", "2026-11-20T09:30:00Z", session="s-1", branch="retries", files="[worker.py]")
    captured(place, "b", "## Outcome\n\n- Done!", "2026-11-21T10:30:00Z", session="s-1", branch="retries", files="[worker.py]")
    newest, _, oldest = tell(columns=200).partition("Fri 2026-11-20")
    assert "wake" in newest and "counter" not in newest and "counter" in oldest and "wake" not in oldest


def test_sessions_of_a_branch_are_told_as_one_and_those_of_a_trunk_apart(place, tell):
    """Commits first; what is open stands with the branch's newest day alone."""
    for name, when, branch, body in (
            ("a", "2026-11-20T09:00:00Z", "retries", "## Outcome\n\n- Added a dead letter queue.\n\n## Next\n\n- old step"),
            ("b", "2026-11-21T09:00:00Z", "retries", "## Done\n\n- commit aaaaaaa: Reset the counter\n\n## Next\n\n- the metrics"),
            ("c", "2026-11-21T10:00:00Z", "retries", "## Outcome\n\n- Retries of all queues now share a counter."),
            ("d", "2026-11-21T11:00:00Z", "main", "## Outcome\n\n- Updated the licence of the package."),
            ("e", "2026-11-21T12:00:00Z", "main", "## Outcome\n\n- Removed the old changelog from the docs.")):
        captured(place, name, body, when, session="s-" + name, branch=branch)
    assert tell(columns=200).split("\n")[2:] == [
        "Sat 2026-11-21", "  - retries: Reset the counter (aaaaaaa)", "    - Retries of all queues now share a counter.",
        "  - main: Removed the old changelog from the docs.", "  - main: Updated the licence of the package.", "",
        "Fri 2026-11-20", "  - retries: Added a dead letter queue."]


@pytest.mark.parametrize("asked, told", [
    ("yes, let's abandon the current branch and start anew from main", "cache-fix: abandoned: The cache fix changes neither of these two"),
    ("discard this PR", "cache-fix: abandoned: The cache fix changes neither of these two"),
    ("should we abandon the branch?", "cache-fix: Fixed: the cache was read too early"),
    *((asked, "cache-fix: Fixed: the cache was read too early") for asked in (
        "abandon the idea of a second queue", "please don't abandon the branch, I still need it", "we should never discard a PR like that",
        "discard the PR comments and go on", "I don't want to abandon the branch", "scrap the branch coverage report", "fix the button that says Discard branch",
        "should we abandon the branch? I would rather keep it.", "이 브랜치를 버리지 말고 계속 진행해 줘"))])
@pytest.mark.parametrize("leaves", [True, False], ids=["on the way to another branch", "as the last word"])
def test_a_branch_that_the_user_gave_up_is_told_as_abandoned(place, tell, asked, told, leaves):
    """With the sentence that said why, where one speaks of it; nothing of it is next any more."""
    captured(place, "a", "## Outcome\n\n- in progress, not finished: now the rest of the cache\n\n## Next\n\n- Empty the cache",
             "2026-11-21T09:20:00Z", session="s-1", branch="cache-fix", files="[cache.py]", until="2026-11-21T09:%s:30Z" % (20 + 10 * (not leaves)))
    last = "## 09:30 %s\n\n%sNow the worker reads its paths from the root.\n" % (asked, "- edited `paths.py`\n\n" * leaves)
    talk(place, "## 09:00 fix the cache\n\n- edited `cache.py`\n\nFixed: the cache was read too early.\n\n## 09:20 is that it?\n\nTwo "
         "causes:\n\n- The paths were wrong.\n- The cache fix changes neither of these two.\n\n" + last)
    if leaves:
        captured(place, "b", "## Outcome\n\n- Now the worker reads its paths from the root.", "2026-11-21T09:30:00Z", session="s-1",
                 branch="paths", files="[paths.py]", until="2026-11-21T09:40:30Z")
    said = " ".join(tell().split())
    assert told in said and ("next: Empty the cache" in said) is ("abandoned" not in told)
    assert ("paths" in said) is leaves


def test_a_session_that_changed_branches_is_told_on_each(place, tell):
    """With what is open there too, but for a trunk, from where work goes along to the branch that is made of it."""
    for name, when, branch, ahead in (("a", "09:20", "main", "x"), ("b", "09:40", "retries", "the metrics"), ("c", "10:20", "paths", "the docs")):
        captured(place, name, "## Outcome\n\n- Done.\n\n## Next\n\n- %s\n" % ahead, "2026-11-21T%s:00Z" % when, session="s-1",
                 branch=branch, until="2026-11-21T%s:30Z" % when, files=[name + ".py"])
    body = "".join("## %s Let %s\n\n- edited `%s.py`\n\n%s\n\n" % one for one in (
        ("09:10", "the queue keep dead letters", "a", "Dead letters of the queue are kept for a week now."),
        ("09:30", "the counter start at zero", "b", "The counter of retries now starts at zero."),
        ("10:10", "paths be relative", "c", "Paths are now relative to the root of the repository.")))
    talk(place, body)
    assert tell(columns=200).split("\n")[3:] == [
        "  - paths: Paths are now relative to the root of the repository.", "    - next: the docs",
        "  - retries: The counter of retries now starts at zero.", "    - Dead letters of the queue are kept for a week now.",
        "    - next: the metrics"]


def test_what_newer_work_took_out_again_is_left_out(place, tell):
    """Of a trunk too, where each session is told by itself."""
    for name, when, body in (("a", "2026-11-21T09:00:00Z", "Added `retry: 1` to the release settings."),
                             ("b", "2026-11-21T10:00:00Z", "Removed `retry: 1`, which the release tool does not know.")):
        captured(place, name, "## Outcome\n\n- " + body, when, session="s-" + name, branch="main", files="[release.yml]")
    assert tell(columns=200).split("\n")[3:] == ["  - main: Removed `retry: 1`, which the release tool does not know."]


def test_work_that_was_left_in_the_middle_is_told_as_that(place, tell):
    """A failure that stands, too; what nobody finished is no result."""
    body = ("## Outcome\n\n- in progress, not finished: move the delays into a module\n- said on the way: I see the import loop now.\n\n"
            "## Open\n\n- `pytest -q` still fails: delays.py:3: ImportError")
    captured(place, "a", body, "2026-11-21T09:00:00Z", session="s-1", branch="delays", files="[delays.py]")
    assert tell(columns=200).split("\n")[3:] == [
        "  - delays: open: `pytest -q` still fails: delays.py:3: ImportError", "    - in progress: move the delays into a module"]


def test_what_several_sessions_tell_is_told_by_the_newest(place, tell):
    """A session whose lines others tell is no entry; a request that is no name of work stands as the files that it touched."""
    for name, when, branch in (("a", "2026-11-21T09:00:00Z", "main"), ("b", "2026-11-21T10:00:00Z", "queue")):
        captured(place, name, "## Outcome\n\n- Renamed the worker's pool to `crew`.", when, session="s-" + name, branch=branch, files="[a.py]")
        talk(place, "## %s rename it\n\n- edited `a.py`\n\nRenamed the worker's pool to `crew`.\n" % when[11:16], "s-" + name, branch=branch)
    captured(place, "c", "## Outcome\n\n- in progress, not finished: no, revert those two", "2026-11-21T08:00:00Z", session="s-c", branch="pool",
             title="instead we should keep it", files="[pool.py]")
    assert tell().split("\n")[3:] == ["  - queue: Renamed the worker's pool to `crew`.", "  - pool: in progress: pool.py"]
    captured(place, "d", "## Outcome\n\n- in progress, not finished: no, not those", "2026-11-21T11:00:00Z", session="s-d", branch="queue",
             title="instead we should keep it")
    assert "    - in progress" not in tell().split("\n")


def test_a_turn_that_goes_on_in_the_last_minute_of_a_checkpoint_is_of_the_next(place, tell):
    """So that a day does not tell what was finished on the next."""
    talk(place, "## 2026-11-20 23:50 name the pool\n\n- edited `a.py`\n\nNamed the pool of workers.\n\n"
         "## 2026-11-20 23:58 (goes on) name the queue\n\n- edited `b.py`\n\nNamed the queue of jobs.\n", day="2026-11-20")
    for name, when in (("a", "2026-11-20T23:58:30Z"), ("b", "2026-11-21T00:20:00Z")):
        captured(place, name, "## Outcome\n\n- x", when, session="s-1", branch="retries", files="[a.py]", until=when)
    assert tell().split("\n")[2:] == ["Sat 2026-11-21", "  - retries: Named the queue of jobs.", "", "Fri 2026-11-20",
                                       "  - retries: Named the pool of workers."]


def test_a_session_that_changed_nothing_says_what_it_looked_into(place, tell):
    """By its title, where that stands by itself; one that changed something says what."""
    captured(place, "a", "## Turns\n\n- 09:00 how do the retries work", "2026-11-21T09:00:00Z", session="s-1", title="How the retries back off")
    captured(place, "b", "## Turns\n\n- 09:00 and this", "2026-11-21T09:00:00Z", session="s-2", title="and what about this one")
    captured(place, "c", "## Done\n\n- edited `src/a.py`", "2026-11-21T08:00:00Z", session="s-3", title="do both of them", files="[src/a.py, b.py]")
    assert tell().split("\n")[3:] == ["  - worked on a.py, b.py", "  - looked into: How the retries back off"]


def test_work_that_went_on_the_next_day_is_not_told_as_left_in_the_middle(run, place):
    """The day after tells what came of it."""
    talk(place, "## 2026-11-20 23:50 name the pool of workers\n\n- edited `a.py`\n\nLet me look.\n\n"
         "## 2026-11-21 00:10 (goes on) name the pool of workers\n\n- edited `a.py`\n\nNamed the pool of workers.\n", day="2026-11-20")
    captured(place, "a", "## Outcome\n\n- in progress, not finished: name the pool of workers", "2026-11-20T23:55:00Z", session="s-1",
             branch="retries", files="[a.py]", until="2026-11-20T23:55:00Z")
    told = run("standup", "--since", "2026-11-20", "--until", "2026-11-20").stdout
    assert "retries" in told and "in progress" not in told


def test_an_answer_to_what_was_looked_into_is_told_by_its_name(place, tell):
    """An answer needs its question; a report stands by itself."""
    for session, title, said in (("s-1", "Retries of the slow queue", "They stop, because the counter is never reset."),
                                 ("s-2", "no, why does it?", "Updated the lease of the staging queue.")):
        talk(place, "## 09:00 why\n\n%s\n" % said, session)
        captured(place, session, "## Outcome\n\n- x", "2026-11-21T09:30:00Z", session=session, title=title)
    assert tell().split("\n")[3:] == ["  - Updated the lease of the staging queue.", "  - looked into: Retries of the slow queue"]


def test_work_is_not_named_by_what_a_later_turn_changed_again(place, tell):
    """Where no turn says what it came to, only the files are sure."""
    talk(place, "## 09:00 use on and off for the workers\n\n- edited `a.py`\n\nDone.\n\n## 09:10 why no booleans?\n\n- edited `a.py`\n\nDone.\n")
    captured(place, "a", "## Outcome\n\n- Done.", "2026-11-21T09:30:00Z", session="s-1", title="use on and off for the workers", files="[a.py]")
    assert tell().split("\n")[3:] == ["  - worked on a.py"]


@pytest.mark.parametrize(("reply", "lead"), [("Done.", "done as asked"), ("Here it is.", "asked for")])
def test_a_request_that_no_outcome_tells_is_told_as_asked_for(place, tell, reply, lead):
    """Or as done, where the reply says so; that of the last change alone: a later one may have made another of it."""
    talk(place, "## 09:00 Instead of \"ready\" the page should print the name of the pool in \"Enabled\"\n\n- edited `a.py`\n\n%s\n" % reply)
    captured(place, "a", "## Outcome\n\n- Done.", "2026-11-21T09:30:00Z", session="s-1", title="do it", files="[a.py]")
    assert tell(columns=200).split("\n")[3:] == ['  - %s: Instead of "ready" the page should print the name of the pool in "Enabled"' % lead]


def test_an_open_failure_is_told_by_the_name_of_its_test(place, tell):
    """The command is for the next session."""
    captured(place, "a", "## Done\n\n- commit aaaaaaa: Count\n\n## Open\n\n- `pytest -q tests/a` still fails: a.py:3: 1 is not 2 (pool) (test_pool)\n\n"
             "## Next\n\n- Task 1: Count the jobs", "2026-11-21T09:00:00Z", session="s-1", branch="count")
    told = tell(columns=200)
    assert "- open: test_pool still fails: a.py:3: 1 is not 2 (pool)\n" in told and "- next: Count the jobs" in told


def test_what_was_asked_at_the_end_and_not_answered_is_open(place, tell):
    """Somebody waits for it."""
    captured(place, "a", "## Next\n\n- asked and not answered: why does the pool take no job on Mondays?", "2026-11-21T09:00:00Z",
             session="s-1", branch="count")
    told = tell(columns=200)
    assert "open: asked and not answered: why does the pool take no job on Mondays?" in told and "next:" not in told


def test_a_title_that_names_what_was_taken_back_names_no_work(place, tell):
    """By its request, or by what came of it."""
    talk(place, "## 09:00 go\n\n- edited `a.py`\n\nAdded a lock around `Pool.take` of the workers.\n\n"
         "## 09:10 no, that is wrong\n\n- edited `a.py`\n\nReverted `Pool.take`.\n")
    captured(place, "a", "## Outcome\n\n- x", "2026-11-21T09:30:00Z", session="s-1", title="added a lock around `Pool.take` of the workers", files="[a.py]")
    assert "lock" not in tell()


def made(*lines):
    return [upshot.Upshot(weight, line, "" if line.endswith("234)") else "t") for weight, line in lines]


def test_the_words_of_a_branchs_name_say_what_its_work_is_about():
    """But never before a commit; prefixes, tickets, verbs and names in code are no words of a subject."""
    found = made((8.0, "Renamed the pool of workers (abc1234)"), (4.0, "Removed the dead `QueueRetries()` function."),
                 (3.0, "The delays of retries grow up to a minute at night."), (2.5, "Updated the fix of the docs."))
    assert [one.line[:11] for one in upshot.distinct(conversationpage.about(found, "ann/fix-api-12-retries-delays"))] == [
        "Renamed the", "The delays ", "Removed the"]
    assert conversationpage.about(found, "") == found
    few = made((4.0, "Improved the retries"), (3.9, "Added a limit for slow uploads"))
    assert [one.weight for one in conversationpage.about(few, "improve-retries")] == [3.0, 3.9]
    commits = made((8.0, "Count the jobs twice (abc1234)"), (8.0, "Show the retries of jobs (abc1234)"))
    assert max(conversationpage.about(commits, "retries")).line.startswith("Show")


def test_beside_results_details_and_tests_are_left_out():
    """Where all of them are that, nothing is clear; chores only where there is no other commit."""
    found = made((6.0, "tests: count jobs (abc1234)"), (4.0, "Retries now stop at a limit."), (3.0, "Updated `run_worker()`"), (2.0, "Added tests of the worker"))
    assert worklog._clear(found, True, set()) == found[:2] and worklog._clear(found[2:], True, set()) == []
    assert worklog._clear([*made((8.0, "Count the jobs (abc1234)")), *found], True, set()) == [
        *made((8.0, "Count the jobs (abc1234)")), *found[1:2]]


def test_beside_the_first_line_little_else_is_told_where_there_is_little_room():
    """An effect that weighs nearly as much is; not what is cut, a detail, a step, a thing that nobody knows, or the same again."""
    found = made((5.0, "Added a limit for slow uploads of customers."), (4.9, "Limited slow uploads of customers"), (4.5, "The page now shows the queue of jobs."),
                 (4.5, "Wrote the help of the page anew."), (4.4, "The worker now takes no more than one job a second out of the queue, by `take_job()`"), (4.4, "The list now says…"))
    assert [one.line[:8] for one in worklog._clear(found, False, {"page"})] == ["Added a ", "The page"]
    assert [one.line[:8] for one in worklog._clear(found, True, {"page"})] == ["Added a ", "The page"]


@pytest.mark.parametrize("line", [
    "Both queues now keep their jobs for a day.", 'Now `queue list -n 5` sends "queue list -n 5" to the owner of it.',
    "The blue list now shows who waits for a job.", "Use a longer limit for the jobs that wait now"])
def test_what_only_the_session_understands_has_no_place_beside_a_result(line):
    """What speaks of two or of a thing as known, an example, an order that was not carried out."""
    found = made((5.0, "Added a limit for slow uploads of customers."), (4.9, line), (4.8, "The uploads now wait for each other."))
    assert [one.line[:11] for one in worklog._clear(found, True, {"limits"})] == ["Added a lim", "The uploads"]


def test_a_result_in_a_script_without_spaces_has_a_place_beside_another():
    """What is an effect there, no word of English tells."""
    found = made((5.0, "업로드 제한을 추가했습니다."), (4.9, "작업자가 재시도를 두 번 합니다."))
    assert worklog._clear(found, True, set()) == found


def test_work_of_another_session_is_not_told_by_a_line_that_has_its_words(place, tell):
    """Unless it is alike; what went along with work that is told again needs no telling."""
    for name, body in (("a", "Removed the trailer of all sessions."),
                       ("b", "Removed all calls of sessions and of their trailer from the page and the help of workers, which printed neither."),
                       ("c", "Removed the trailer of all sessions")):
        talk(place, "## 09:00 go\n\n- edited `a.py`\n\n%s\n" % body, "s-" + name, branch="main")
        captured(place, name, "## Outcome\n\n- x", "2026-11-21T1%d:30:00Z" % "abc".index(name), session="s-" + name, branch="main", files="[a.py]")
    told = sorted(line[:34] for line in tell(columns=200).split("\n")[3:])
    assert told == ["  - main: Removed all calls of ses", "  - main: Removed the trailer of a"]


def test_what_quotes_another_thing_is_not_told_again(place, tell):
    """Two commands that were removed are two results."""
    for at, (name, branch) in enumerate((("show", "drop-show"), ("trailer", "drop-trailer"))):
        talk(place, "## 09:00 drop it\n\n- edited `a.py`\n\nRemoved the `queue %s` command of the worker.\n" % name, "s-%d" % at)
        captured(place, "c%d" % at, "## Outcome\n\n- Done.", "2026-11-21T09:3%d:00Z" % at, session="s-%d" % at, title="drop it", branch=branch, files="[a.py]")
    said = "\n".join(tell(columns=200).split("\n")[3:])
    assert "drop-show: Removed the `queue show` command" in said and "drop-trailer: Removed the `queue trailer` command" in said


def test_what_was_written_for_others_is_told_though_it_names_the_code(place, tell):
    """It is what they get; a question names no work."""
    said = ("## 09:00 does the worker have tests\n\n- edited `help.py`\n\nDeleted the `commands/` directory.\n\n"
            "## 09:20 /pr\n\n```\nTitle: Move help.py from the commands to the main package\n```\n")
    talk(place, said)
    captured(place, "a", "## Outcome\n\n- Done.", "2026-11-21T09:30:00Z", session="s-1", title="does the worker have tests", branch="main", files="[help.py]")
    assert tell(columns=200).split("\n")[3] == "  - main: Moved help.py from the commands to the main package"
    talk(place, "## 09:00 does the worker have tests\n\n- edited `help.py`\n\nYes.\n", "s-2")
    captured(place, "b", "## Outcome\n\n- Yes.", "2026-11-21T09:30:00Z", session="s-2", title="does the worker have tests", branch="main", files="[help.py]")
    assert tell(columns=200).endswith("  - 1 more: main (help.py)")


def test_what_nobody_decided_is_told_with_its_choices(place, tell):
    """Until the session goes on."""
    said = "Named the pool of workers.\n\nShall I keep the limit of five for each customer, or take it out of the settings?\n"
    talk(place, "## 09:10 name the pool\n\n- edited `a.py`\n\n" + said)
    captured(place, "a", "## Outcome\n\n- Named the pool of workers.", "2026-11-21T09:20:00Z", session="s-1", branch="retries", files="[a.py]")
    line = "    - undecided: Shall I keep the limit of five for each customer, or take it\n"
    assert line in tell()
    talk(place, "## 09:10 name the pool\n\n- edited `a.py`\n\n" + said + "\n## 09:30 keep it\n\nKept as it is.\n")
    assert "undecided" not in tell()


def test_a_detail_in_words_is_told_beside_others(place, tell):
    """Who reads of three other branches still wants to know of the fourth; one about tests is named."""
    captured(place, "a", "## Outcome\n\n- Added constants for kinds of customers to `start_pool()`", "2026-11-21T09:00:00Z", session="s-1",
             branch="kinds", files="[a.py]")
    captured(place, "t", "## Outcome\n\n- Added tests for `start_pool()` with two workers", "2026-11-21T09:00:00Z", session="s-2",
             branch="trials", files="[a.py]")
    for number in range(3):
        captured(place, "b%d" % number, "## Outcome\n\n- Added a limit for slow uploads of kind %d." % number, "2026-11-21T09:00:00Z",
                 session="t-%d" % number, branch="limits-%d" % number, files="[b.py]")
    said = tell()
    assert "kinds: Added constants for kinds of customers" in said and said.endswith("  - 1 more: trials")


def test_among_equals_what_tells_most_stands_first(place, tell):
    """As much was done in each; a name that tells no deed says that it was worked on."""
    for name, hour, said in (("a", "09", "Added a limit for slow uploads, so that customers no longer wait."), ("b", "10", "")):
        captured(place, name, "## Outcome\n\n- %s" % (said or "Done."), "2026-11-21T%s:00:00Z" % hour, session="s-" + name, branch=name,
                 files="[a.py]", title="Backoff of the upload worker")
    told = tell(columns=120).split("\n")[3:]
    assert told[0].startswith("  - a: Added a limit") and told[1] == "  - b: worked on: Backoff of the upload worker"


def test_documentation_beside_work_is_no_line_of_its_own(place, tell):
    """It is one where nothing else was done."""
    work = "## 09:00 limit uploads\n\n- edited `a.py`\n\nAdded a limit for the slow uploads of each customer.\n\n"
    page = "## 09:10 write it down\n\n- edited `notes.md`\n\nDocumented how jobs of a customer wait at night.\n\n"
    captured(place, "a", "## Outcome\n\n- x", "2026-11-21T09:30:00Z", session="s-1", branch="retries", files="[a.py]")
    talk(place, work + page)
    assert "Added a limit" in tell() and "Documented" not in tell()
    talk(place, page)
    assert "Documented" in tell()


def test_two_faults_in_like_words_are_two(place, tell):
    """A newer one takes an older one away only where both are nearly the same."""
    for name, hour, said in (("a", "09", "Fixed: uploads made between two payments were wrongly counted for the shop"),
                             ("b", "10", "Fixed: uploads made before the first payment were never seen and wrongly counted for the shop")):
        captured(place, name, "## Outcome\n\n- " + said, "2026-11-21T%s:00:00Z" % hour, session="s-" + name, branch=name, files="[a.py]")
        talk(place, "## %s:00 go\n\n- edited `a.py`\n\n%s.\n" % (hour, said), "s-" + name, branch=name)
    told = tell(columns=120)
    assert "between two payments" in told and "before the first payment" in told


def test_a_branch_named_by_a_ticket_alone_is_told_by_its_files(place, tell):
    """Behind its name in the last line, which tells nothing by itself."""
    for number in range(3):
        captured(place, "b%d" % number, "## Outcome\n\n- Added a limit for slow uploads of kind %d." % number, "2026-11-21T09:00:00Z",
                 session="t-%d" % number, branch="limits-%d" % number, files="[b.py]")
    for branch in ("abc-95", "abc-95-pool-of-workers"):
        captured(place, branch, "## Outcome\n\n- Done.", "2026-11-21T09:00:00Z", session="s-" + branch, branch=branch, files="[a.py]", title="why?")
    said = tell()
    assert said.endswith("  - 2 more: abc-95 (a.py), abc-95-pool-of-workers")


@pytest.mark.parametrize("later, told", [
    ("## 09:40 and now?\n\n- merged `retries` (#7)\n\nOn `main`.\n", True),
    ("## 09:05 look\n\n- merged `retries` (#7)\n\nOn `main`.\n", False),
    ("## 09:40 and now?\n\n- merged `others` (#8)\n\nOn `main`.\n", False)])
def test_a_branch_is_told_to_be_merged_where_a_session_saw_it(place, tell, later, told):
    """After its last edit, in whichever session; not where more was edited since, nor another branch."""
    captured(place, "a", "x", "2026-11-21T09:10:00Z", session="s-1", branch="retries", until="2026-11-21T09:30:00.000Z")
    talk(place, "## 09:30 add a retry to the fetch\n\n- edited `fetch.py`\n\nAdded a retry to the fetch.\n")
    talk(place, later, "s-2", branch="main")
    assert ("retries (merged #7)" in tell()) is told


def test_a_pull_request_is_merged_by_its_number(place, tell):
    """Where the session opened it; until then it is told as opened."""
    captured(place, "a", "x", "2026-11-21T09:10:00Z", session="s-1", branch="retries", until="2026-11-21T09:30:00.000Z")
    talk(place, "## 09:20 add a retry to the fetch\n\n- edited `fetch.py`\n- pull request https://h/o/r/pull/7\n\n"
         "Added a retry to the fetch.\n\n## 09:30 merge\n\n- merged `#7`\n\nMerged it.\n")
    assert "retries (merged)" in tell()
    talk(place, "## 09:20 add a retry to the fetch\n\n- edited `fetch.py`\n- pull request https://h/o/r/pull/7\n\nAdded a retry to the fetch.\n")
    assert "retries (pull request #7)" in tell()
