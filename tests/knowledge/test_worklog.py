"""The standup: what was done since a time, by workspace, session and day."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from harness import vault
from harness.hook import ROOT
from harness.standup import NIGHT, captured, talk, teller

from memory.capture import stretches
from memory.cli import main
from memory.core import layout


@pytest.fixture
def tell(place, now):
    """Gather a standup of the fixed instant in UTC; returns what `lines` writes at 80 columns."""
    return teller(place, now)


@pytest.fixture
def other(place):
    """Another workspace of the same home."""
    return layout.Place(place.home, "other-0123abcd", "", "", "", "")


def test_a_real_session_is_told_from_its_checkpoint(place, now, env, home, tell):
    """By its commit; what passed in the end is not open."""
    folder = Path(home, ".claude", "projects", "p")
    folder.mkdir(parents=True)
    path = folder / "s-1.jsonl"
    path.write_bytes((ROOT / "tests/data/transcripts/tools-headless.jsonl").read_bytes())
    stretches.capture(place, vault.settings(), env, now, "s-1", str(path), "manual")
    said = tell()
    assert (
        said
        == "1 session in %s since 2026-11-20\n\nSat 2026-11-21\n  - (unattended): Fix add (ecf522d)"
        % layout.project_name(place.key)
    )


def test_a_checkpoint_counts_from_the_last_thing_it_tells(place, tell):
    """One that was begun before and updated since is told; one that was only touched is not."""
    captured(
        place,
        "open",
        "Long work.",
        "2026-11-19T20:00:00Z",
        session="s-1",
        until="2026-11-20T08:00:00.000Z",
    )
    captured(
        place,
        "updated",
        "Other work.",
        "2026-11-19T20:00:00Z",
        session="s-2",
        updated="2026-11-21T08:00:00Z",
    )
    captured(
        place,
        "old",
        "Old work, touched now.",
        "2026-11-19T20:00:00Z",
        session="s-3",
        until="2026-11-19T20:00:00.000Z",
    )
    for path in Path(place.private).rglob("*.md"):
        os.utime(path, (NIGHT + 3600, NIGHT + 3600))
    said = tell()
    assert (
        "2 sessions" in said
        and "Long work." in said
        and "Other work." in said
        and "Old work" not in said
    )


OVER_MIDNIGHT = """## 19:00 Move the alpha queue into sqlite

- edited `a.py`

The alpha queue is in sqlite now.

## 20:00 thanks

## 2026-11-21 06:00 Rename the beta column

- edited `b.py`

The beta column has its new name now.
"""


@pytest.mark.parametrize("title", ["Move the alpha queue into sqlite", "Queues and columns"])
def test_a_session_that_is_open_over_midnight_is_told_on_both_days(title, run, place):
    """Each day's turns, though one checkpoint of the second tells them all, and no others."""
    talk(place, OVER_MIDNIGHT, day="2026-11-20", until="2026-11-21T06:00:12Z")
    captured(
        place,
        "a",
        "## Outcome\n\n- The beta column has its new name now.\n\n## Next\n\n- Ship it.",
        "2026-11-21T06:00:12Z",
        title=title,
        session="s-1",
    )

    def lines(*words):
        every = run("standup", *words).stdout.split("\n")[2:]
        return [line.strip() for line in every if line]

    first = "- %s → The alpha queue is in sqlite now." % title
    other = "Rename the beta column" if title[0] == "M" else title
    then = "- %s → The beta column has its new name now." % other
    yesterday = ["Fri 2026-11-20", first]
    assert lines("--since", "2026-11-20", "--until", "2026-11-20") == yesterday
    today = ["Sat 2026-11-21", then, "- next: Ship it."]
    assert lines("--since", "2026-11-21") == today
    assert lines("--since", "2026-11-20") == today + yesterday
    assert lines("--since", "2026-11-20", "--until", "2026-11-20T19:30") == yesterday


def test_work_that_a_wrong_clock_dated_ahead_is_not_told(run, place):
    """Of a day that it names it is; the overview has it last, with its age."""
    for name, when in (("ahead", "2099-03-01T10:00:00Z"), ("present", "2026-11-21T10:00:00Z")):
        text = "## Outcome\n\n- Moved the %s queue into a module." % name
        captured(place, name, text, when, session="s-" + name)
    told = run("standup", "2026-11-01").stdout
    assert "the present queue" in told and "the ahead queue" not in told
    assert "the ahead queue" in run("standup", "2099-03-01", "--until", "2099-03-01").stdout
    seen = run().stdout
    assert re.search(r"(?s)the present queue.* -\d+y .*the ahead queue", seen)


def test_workspaces_without_work_are_left_out(place, other, tell):
    """`all` tells every one of this home that has any, a name that one, nothing the present one."""
    captured(place, "here", "Here.", "2026-11-21T10:00:00Z", session="s-1")
    captured(other, "there", "There.", "2026-11-21T10:00:00Z", session="s-1")
    Path(place.home, "workspaces", "empty-0123abcd", "checkpoints").mkdir(parents=True)
    assert "There." not in tell() and "Here." in tell()
    assert "Here." not in tell("other") and "There." in tell("other")
    said = tell("all")
    assert (
        said.startswith("2 sessions in 2 workspaces since ")
        and "Here." in said
        and "There." in said
        and "empty" not in said
    )


def test_nothing_done_says_so(place, other, tell):
    """Of the present workspace, and of all."""
    captured(place, "old", "Old.", "2026-11-01T10:00:00Z")
    assert tell() == "nothing in %s since 2026-11-20" % layout.project_name(place.key)
    assert tell("all") == "nothing in any workspace since 2026-11-20"


def test_a_handoff_made_of_checkpoints_is_not_told_twice(place, tell):
    """One that a person wrote is a note like any other."""
    captured(
        place, "work", "## Done\n\n- commit aaaaaaa: One\n", "2026-11-21T09:00:00Z", session="s-1"
    )
    vault.put(
        place,
        "p/checkpoints/handoff.md",
        "Handoff: Work on work",
        "## Done\n\n- commit aaaaaaa: One\n",
        session="s-1",
        trigger="handoff",
        created="2026-11-21T10:00:00Z",
        links="[derived_from: work]",
    )
    assert "Handoff" not in tell() and tell().count("aaaaaaa") == 1
    vault.put(
        place,
        "p/checkpoints/handoff.md",
        "Mind the queue",
        "Mind the queue, it is full.",
        created="2026-11-21T10:00:00Z",
    )
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
    for words in (
        (),
        ("--since", "2h"),
        ("yesterday",),
        ("--workspace", "all"),
        ("last", "monday"),
        ("--since", "this week"),
    ):
        done = run("standup", *words)
        assert (done.returncode, done.stderr) == (0, "") and "Called the vendor" in done.stdout, (
            words
        )
    for words in (
        ("gibberish",),
        ("--since", "soonish"),
        ("yesterday", "--since", "2h"),
        ("--workspace", "none"),
    ):
        done = run("standup", *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), words


def test_a_period_ends_with_its_last_day(run, place):
    """Last week's is told without this week's; an end before the beginning is refused."""
    for name, when in (
        ("a", "2026-11-16T09:00:00Z"),
        ("b", "2026-11-17T22:00:00Z"),
        ("c", "2026-11-18T00:00:00Z"),
    ):
        captured(
            place,
            name,
            "## Outcome\n\n- Moved the %s queue into a module." % name,
            when,
            session="s-" + name,
        )
    told = run("standup", "2026-11-16", "--until", "2026-11-17").stdout
    assert (
        "from 2026-11-16 to 2026-11-17\n" in told
        and "the a queue" in told
        and "the b queue" in told
        and "the c queue" not in told
    )
    assert " on 2026-11-16\n" in run("standup", "2026-11-16", "--until", "2026-11-16").stdout
    refused = run("standup", "2026-11-17", "--until", "2026-11-16")
    assert (
        refused.returncode == 2 and "--until 2026-11-16 is not after 2026-11-17" in refused.stderr
    )


def test_json_has_every_line_in_full(run):
    """For scripts."""
    run("checkpoint", "Called the vendor. Next: mail them.")
    value = json.loads(run("standup", "--json").stdout)
    (space,) = value["workspaces"]
    (work,) = space["sessions"]
    assert (work["title"], work["came"], work["next"], work["session"]) == (
        "Called the vendor",
        ["Called the vendor. Next: mail them."],
        [],
        None,
    )
    assert {"since", "until", "workspaces", "digest"} == set(value) and "standup" in main.VERBS


def test_private_parts_are_told_to_nobody(place, tell):
    """A passage over several lines is left out before the lines are taken apart, in titles too."""
    captured(
        place,
        "a",
        "## Decisions\n\n- <private>\n- a margin of Walrus\n- </private>\n\n## Next\n\n- mail them",
        "2026-11-20T10:00:00Z",
        session="s1",
        title="Bill <private>Walrus</private> them",
    )
    said = tell()
    assert "Walrus" not in said and "private" not in said and "mail them" in said


# ---- what came out, by branch

TALK = """\
## 09:10 the retries give up too early, can you look?

I'll look at the worker first.

- edited `worker.py`
- ✓ `pytest -q`

All tests pass. Here's a summary:

**The Fix:** `Worker.reset` of the retries runs last now.

## 09:40 thanks

You're welcome! Let me know if anything else comes up.

## 10:05 could the delays differ?

- edited `worker.py`

Done! The workers of a pool now wake after different delays.

- `wake()`: takes the delay

Want me to commit this?
"""


def told(tell, columns=200):
    """Return the entries of a standup."""
    return tell(columns=columns).split("\n")[3:]


def commits(*subjects):
    """Return a turn that made some commits."""
    lines = ["- commit %07x: %s" % (0xA1B2C30 + at, said) for at, said in enumerate(subjects)]
    return (
        "## 09:10 go\n\n- edited `a.py`\n%s\n\nCommitted all of it, as you asked.\n\n"
        % "\n".join(lines)
    )


def test_a_branch_is_told_by_its_commits(place, tell):
    """In their order, a merge and a fixup folded, and not by what was said beside them."""
    talk(
        place,
        commits(
            "Reset the counter",
            "Merge branch 'main' into retries",
            "fixup! Reset the counter",
            "Merge the two queues",
            "Merge pull request #4 from o/queue",
        ),
    )
    captured(
        place,
        "a",
        "## Outcome\n\n- Committed.",
        "2026-11-21T09:30:00Z",
        session="s-1",
        branch="retries",
    )
    assert told(tell) == [
        "  - retries: Reset the counter (a1b2c30)",
        "    - Merge the two queues (a1b2c33)",
    ]


def test_without_a_conversation_the_checkpoint_names_the_commits(place, tell):
    captured(
        place,
        "a",
        "## Outcome\n\n- Committed all of it.\n\n## Done\n\n- commit aaaaaaa: Reset the counter\n"
        "- commit: Log the delays\n- edited `a.py`",
        "2026-11-21T09:30:00Z",
        session="s-1",
        branch="retries",
    )
    assert told(tell) == ["  - retries: Reset the counter (aaaaaaa)", "    - Log the delays"]


def test_without_a_commit_the_last_change_is_told_by_its_opening(place, tell):
    """Behind the session's title; thanks, questions, and what leads in a list are no opening."""
    talk(place, TALK)
    captured(
        place,
        "a",
        "## Outcome\n\n- Done!",
        "2026-11-21T10:30:00Z",
        session="s-1",
        branch="retries",
        title="Retries of the worker",
    )
    assert told(tell) == [
        (
            "  - retries: Retries of the worker → The workers of a pool now wake "
            "after different delays."
        )
    ]


@pytest.mark.parametrize(
    ("said", "opening"),
    [
        (
            "All tests pass and lint is clean.\n\nThe counter of retries is reset last.",
            "The counter of retries is reset last.",
        ),
        ("All tests pass and lint is clean.", "All tests pass and lint is clean."),
        (
            "## Summary\n\n- the counter: reset last\n- the delays: doubled",
            "the counter: reset last; the delays: doubled",
        ),
        (
            "Done. It has two parts:\n\n- reset last\n- doubled",
            "It has two parts: reset last; doubled",
        ),
        ("재시도 카운터를 마지막에 초기화합니다.", "재시도 카운터를 마지막에 초기화합니다."),
        ("Fertig.", ""),
        ("Shall I go on with it?", ""),
    ],
)
def test_the_opening_is_the_sentence_nearest_to_what_was_asked(place, tell, said, opening):
    """Of the first ones; in any language, and none where nothing is said."""
    talk(
        place,
        "## 09:10 why are the counter and the retries never reset?\n\n- edited `a.py`\n\n%s\n"
        % said,
    )
    captured(
        place,
        "a",
        "## Outcome\n\n- x",
        "2026-11-21T09:30:00Z",
        session="s-1",
        branch="retries",
        title="Retries",
    )
    assert told(tell) == ["  - retries: Retries" + (" → " + opening if opening else "")]


def test_a_title_that_says_the_same_is_told_once(place, tell):
    talk(place, "## 09:10 go\n\n- edited `a.py`\n\nAdded a limit for slow uploads of customers.\n")
    captured(
        place,
        "a",
        "## Outcome\n\n- x",
        "2026-11-21T09:30:00Z",
        session="s-1",
        title="added a limit for slow…",
    )
    assert told(tell) == ["  - Added a limit for slow uploads of customers."]


def test_a_turn_is_told_once_though_two_checkpoints_tell_the_session(place, tell):
    """Each day has its turns: those since the checkpoint before."""
    talk(place, TALK, day="2026-11-20")
    for name, when in (("a", "2026-11-20T09:30:00Z"), ("b", "2026-11-21T10:30:00Z")):
        captured(place, name, "## Outcome\n\n- Done!", when, session="s-1", branch="retries")
    newest, _, oldest = tell(columns=200).partition("Fri 2026-11-20")
    assert "wake" in newest and "reset" not in newest and "reset" in oldest and "wake" not in oldest


def checkpoint(place, title, branch="retries"):
    """Write the one checkpoint of the session that `talk` tells."""
    instant = "2026-11-21T09:40:00Z"
    captured(place, "a", "## Outcome\n\n- x", instant, session="s-1", branch=branch, title=title)


def test_what_was_only_asked_after_a_change_is_not_told_for_it(place, tell):
    """Though the answer speaks of the same."""
    talk(
        place,
        "## 09:10 reset the counter\n\n- edited `a.py`\n\nThe counter is reset last.\n\n"
        "## 09:20 what is a counter?\n\nA counter counts how often a job ran.\n",
    )
    checkpoint(place, "Retries")
    assert told(tell) == ["  - retries: Retries → The counter is reset last."]


def test_a_request_leads_to_its_own_outcome_alone(place, tell):
    """What came of a later one would be told for it."""
    talk(
        place,
        "## 09:10 find the payment error\n\nThe key was new each time.\n\n"
        "## 09:20 why does the import fail?\n\n- edited `a.py`\n\nThe file is Latin-1 encoded.\n",
    )
    checkpoint(place, "find the payment error", "main")
    (line,) = told(tell)
    assert line.endswith("find the payment error; then: The file is Latin-1 encoded.")


def test_the_summary_of_a_client_is_no_outcome(place, tell):
    talk(
        place,
        "## 09:10 where is the counter reset?\n\nThe counter is reset last.\n\n"
        "## 09:30 (summary by the client)\n\nPrimary request and intent: reset the "
        "counter of the worker.\n",
    )
    checkpoint(place, "Retries")
    assert told(tell) == ["  - retries: Retries → The counter is reset last."]


def test_sessions_of_a_branch_are_told_as_one_and_those_of_a_trunk_apart(place, tell):
    """Where most was committed stands first; what is open stands with the branch's newest day
    alone.
    """
    for name, when, branch, body in (
        (
            "a",
            "2026-11-20T09:00:00Z",
            "retries",
            "## Outcome\n\n- The dead letters are kept.\n\n## Next\n\n- old step",
        ),
        (
            "b",
            "2026-11-21T09:00:00Z",
            "retries",
            "## Done\n\n- commit aaaaaaa: Reset the counter\n\n## Next\n\n- the metrics",
        ),
        ("c", "2026-11-21T10:00:00Z", "retries", "## Outcome\n\n- The tests of retries pass."),
        ("d", "2026-11-21T11:00:00Z", "main", "## Outcome\n\n- The licence of the package is new."),
        ("e", "2026-11-21T12:00:00Z", "main", "## Outcome\n\n- The old changelog is gone."),
    ):
        captured(place, name, body, when, session="s-" + name, branch=branch, title="Work " + name)
    assert tell(columns=200).split("\n")[2:] == [
        "Sat 2026-11-21",
        "  - retries: Reset the counter (aaaaaaa)",
        "  - Work e → The old changelog is gone.",
        "  - Work d → The licence of the package is new.",
        "",
        "Fri 2026-11-20",
        "  - retries: Work a → The dead letters are kept.",
    ]


def test_what_is_in_progress_open_and_next_stands_below(place, tell):
    """Of the newest checkpoint, in its words."""
    captured(
        place,
        "a",
        "## Done\n\n- commit aaaaaaa: Count\n\n## Open\n\n- an old worry",
        "2026-11-21T08:00:00Z",
        session="s-1",
        branch="count",
    )
    captured(
        place,
        "b",
        "## Outcome\n\n- in progress at the end: now the metrics\n\n## Open\n\n"
        "- `pytest -q` still fails: 1 is not 2\n\n## Next\n\n- the docs\n"
        "- [x] the page\n- [ ] the tests",
        "2026-11-21T09:00:00Z",
        session="s-1",
        branch="count",
    )
    assert told(tell) == [
        "  - count: Count (aaaaaaa)",
        "    - in progress: now the metrics",
        "    - open: `pytest -q` still fails: 1 is not 2",
        "    - next: the docs; the tests",
    ]


def test_what_only_its_user_can_use_is_left_out(place, tell):
    """A question to the user, a long request; after a merge what was next."""
    asked = "can you look at the metrics of the last week and tell me which of them are off?"
    captured(
        place,
        "a",
        "## Outcome\n\n- in progress at the end: %s\n\n## Done\n\n- commit aaaaaaa: Count\n\n"
        "## Open\n\n- Shall I go on?\n- two tests fail\n\n## Next\n\n- the page\n- %s"
        % (asked, asked + asked),
        "2026-11-21T08:00:00Z",
        session="s-1",
        branch="count",
    )
    assert told(tell) == [
        "  - count: Count (aaaaaaa)",
        "    - open: two tests fail",
        "    - next: the page",
    ]


def test_no_line_is_told_twice(place, tell):
    """A commit that another branch bears too, under another hash, and a step that two sessions
    name.
    """
    for name, commit in (("a", "aaaaaaa: Reset the counter"), ("b", "bbbbbbb: Reset the counter")):
        captured(
            place,
            name,
            "## Done\n\n- commit %s\n\n## Next\n\n- the metrics" % commit,
            "2026-11-21T09:00:00Z",
            session="s-" + name,
            branch="retries-" + name,
        )
    said = tell()
    assert said.count("Reset the counter") == 1 and said.count("the metrics") == 1


def test_a_session_that_changed_branches_is_told_on_each(place, tell):
    """What was begun on a trunk goes along to the branch that is made of it."""
    for name, when, branch in (
        ("a", "09:20", "main"),
        ("b", "09:40", "retries"),
        ("c", "10:20", "paths"),
    ):
        captured(
            place,
            name,
            "## Outcome\n\n- Done.",
            "2026-11-21T%s:00Z" % when,
            session="s-1",
            branch=branch,
            until="2026-11-21T%s:30Z" % when,
        )
    talk(
        place,
        "".join(
            "## %s go\n\n- edited `a.py`\n- commit %s: %s\n\nDone.\n\n" % one
            for one in (
                ("09:10", "aaaaaaa", "Keep dead letters"),
                ("09:30", "bbbbbbb", "Start at zero"),
                ("10:10", "ccccccc", "Relate paths"),
            )
        ),
    )
    assert told(tell) == [
        "  - retries: Keep dead letters (aaaaaaa)",
        "    - Start at zero (bbbbbbb)",
        "  - paths: Relate paths (ccccccc)",
    ]


def test_what_nobody_typed_into_stands_last(place, tell):
    """However much came out of it, and it says so."""
    for name, keys in (("bot", {"unattended": "true"}), ("person", {})):
        talk(
            place,
            commits(*["Work %d of the %s" % (at, name) for at in range(1 + 2 * bool(keys))]),
            "s-" + name,
        )
        captured(
            place,
            name,
            "## Outcome\n\n- x",
            "2026-11-21T09:30:00Z",
            session="s-" + name,
            branch=name,
            **keys,
        )
    heads = [line for line in told(tell) if line.startswith("  - ")]
    assert heads[0].startswith("  - person: ") and heads[1].startswith(
        "  - bot (unattended): Work 0 of the bot"
    )


@pytest.mark.parametrize("branch", ["main", "retries"])
def test_what_a_program_did_in_a_persons_session_is_marked(place, tell, branch):
    """On the person's day and branch too."""
    for at, keys in ((9, {}), (10, {"unattended": "true"}), (11, {"unattended": "true"})):
        captured(
            place,
            "w%d" % at,
            "## Done\n\n- commit aaaaaa%d: Work %d" % (at, at),
            "2026-11-21T%02d:30:00Z" % at,
            session="s-1",
            branch=branch,
            **keys,
        )
    lead = "" if branch == "main" else branch
    assert told(tell) == [
        "  - %sWork 9 (aaaaaa9)" % (lead and lead + ": "),
        "  - %s(unattended): Work 10 (aaaaaa10)" % (lead and lead + " "),
        "    - Work 11 (aaaaaa11)",
    ]


def test_in_a_week_what_nobody_typed_into_stands_last_too(place, tell):
    """Though it is newer."""
    for day, keys in ((14, {}), (15, {}), (16, {}), (17, {"unattended": "true"})):
        captured(
            place,
            "d%d" % day,
            "## Done\n\n- commit aaaaa%d: Work %d" % (day, day),
            "2026-11-%dT09:30:00Z" % day,
            session="s-%d" % day,
            branch="b%d" % day,
            **keys,
        )
    said = tell(since=NIGHT - 7 * 86400).split("\n")[2:]
    assert [line.split()[1] for line in said] == ["b16", "b15", "b14", "b17"]


# ---- branches that were merged

EDIT = (
    "## 09:20 add a retry to the fetch\n\n- edited `fetch.py`\n%s\nAdded a retry to the fetch.\n\n"
)


@pytest.mark.parametrize(
    ("later", "merged"),
    [
        ("## 09:40 and now?\n\n- merged `retries` (#7)\n\nOn `main`.\n", True),
        ("## 09:05 look\n\n- merged `retries` (#7)\n\nOn `main`.\n", False),
        (
            (
                "## 09:05 look\n\n- merged `retries` (#7)\n\n## 09:40 look again\n\n"
                "- merged `retries` (#7)\n\nOn `main`.\n"
            ),
            False,
        ),
        ("## 09:40 and now?\n\n- merged `others` (#8)\n\nOn `main`.\n", False),
    ],
)
def test_a_branch_is_told_to_be_merged_where_a_session_saw_it(place, tell, later, merged):
    """After its last edit, in whichever session; not where more was edited since a log showed it
    first.
    """
    captured(
        place,
        "a",
        "x",
        "2026-11-21T09:10:00Z",
        session="s-1",
        branch="retries",
        until="2026-11-21T09:30:00.000Z",
    )
    talk(place, EDIT % "")
    talk(place, later, "s-2", branch="main")
    assert ("retries (merged #7)" in tell()) is merged


def test_a_pull_request_is_merged_by_its_number(place, tell):
    """Where the session opened it; until then it is told as opened, and an edit in the same minute
    counts.
    """
    captured(
        place,
        "a",
        "x",
        "2026-11-21T09:10:00Z",
        session="s-1",
        branch="retries",
        until="2026-11-21T09:30:00.000Z",
    )
    opened = EDIT % "- pull request https://h/o/r/pull/7\n"
    for later, told in (
        ("## 09:30 merge\n\n- merged `#7`\n\nMerged it.\n", "retries (merged)"),
        ("", "retries (pull request #7)"),
        (
            "## 09:30 merge\n\n- merged `#7`\n- edited `fetch.py`\n\nMore.\n",
            "retries (pull request #7)",
        ),
        ("## 09:30 merge\n\n- edited `fetch.py`\n- merged `#7`\n\nMore.\n", "retries (merged)"),
    ):
        talk(place, opened + later)
        assert told in tell()
