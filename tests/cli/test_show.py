"""What show prints, and by which names a record is found."""

from __future__ import annotations

import json
import re
from pathlib import Path

from harness import talks, vault
from harness.command import on_terminal, one_line_error
from harness.vault import put

TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."


def test_a_section_of_a_record_is_shown_alone(run, ok):
    """--section takes a heading or a path of headings; a wrong one names the nearest."""
    body = "# Setup\nintro\n## Docker\nuse compose\n```\n# not a heading\n```\n## Local\nuse make\n"
    id = json.loads(ok("learn", "-", "--title", "How to set up", "--json", stdin=body))["id"]
    assert json.loads(ok("show", id, "--section", "docker", "--json"))["body"] == (
        "## Docker\nuse compose\n```\n# not a heading\n```\n"
    )
    assert "use make" in ok("show", id, "--section", "Setup > Local")
    assert "did you mean 'Setup > Docker'" in one_line_error(
        run("show", id, "--section", "Setup > Dokcer"), 2
    )


def test_an_unknown_id_names_near_ones(run, ok):
    """A typing error in an id is met with the ids that are near."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    assert "did you mean %s" % id in one_line_error(run("show", id[:-1] + "x"), 1)


def test_a_record_is_found_by_what_a_person_calls_it(ok, run, place, project):
    """Its whole title in any case, its file without the digits at the end, a resource by its path
    or file; ids before all.
    """
    prices = json.loads(ok("learn", "Prices are integers", "--json"))["id"]
    korean = json.loads(ok("learn", "버튼은 저장한다", "--json"))["id"]
    for said in ("prices ARE integers", "prices-are-integers", "prices-are-integers.md"):
        assert prices in ok("show", said)
    assert korean in ok("show", "버튼은 저장한다")
    Path(project, "my docs").mkdir()
    Path(project, "my docs", "billing.md").write_text("# Money\n\nHalf to even.\n")
    doc = json.loads(ok("resource", "add", "--path", "my docs/billing.md", "--json"))["id"]
    for said in ("billing.md", "my docs/billing.md", "./my docs/billing.md", "Money", "billing"):
        assert doc in ok("resource", "show", said)
    for found in (["billing"], ["billing.md"], ["--file", "my docs/billing.md"]):
        assert doc in ok("recall", *found)
    assert ok("forget", "Money").startswith("archived " + doc)
    vault.put(place, "p/learnings/own.md", prices, "Its title is the id of another.", id="l-own")
    assert "Prices are integers" in ok("show", prices).splitlines()[0]


def test_what_several_records_are_called_is_listed(ok, run):
    """Up to three, by id; nothing is chosen."""
    found = sorted(
        json.loads(ok("learn", "text %d" % i, "--title", "Prices", "--json"))["id"]
        for i in range(4)
    )
    said = one_line_error(run("show", "prices"), 1)
    assert said.startswith("dayleaf: 'prices' could be ") and sum(id in said for id in found) == 3
    assert "no record 'price'" in one_line_error(run("show", "price"), 1)


def test_a_misspelt_title_is_answered_with_the_nearest_record(ok, run):
    """By its id and title; nothing is shown or forgotten by a guess."""
    id = json.loads(ok("learn", "The JWT issuer must match the tenant URL", "--json"))["id"]
    for verb in ("show", "forget"):
        said = run(verb, "The JWT isuer must macth the tenant URL")
        assert said.returncode == 1 and "nearest: %s The JWT issuer must" % id in said.stderr


def test_a_record_of_another_workspace_is_shown(ok, tmp_path):
    """What `recall --workspace all` finds, `show` prints, and says where it is."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert id in ok("show", id, cwd=str(other))


# ---- turns of a conversation


def told(place):
    """A conversation of three turns, and the checkpoint of its session."""
    talks.put(place)
    vault.put(
        place,
        "p/checkpoints/2026-01-23/n.md",
        "Resume",
        "It resumes.",
        id="c-n",
        session=talks.SESSION,
        source="auto",
        conversation="c-7a1c0001",
    )


def test_a_turn_is_shown_by_its_number_or_its_time(ok, run, place):
    """By the conversation's id or that of a checkpoint of its session; the turns beside it are
    named.
    """
    told(place)
    said = ok("show", "c-7a1c0001#2")
    assert said.startswith(
        "turn 2 of 3  2026-01-23 14:31 UTC  c-7a1c0001  Resume on fresh clones\n\n"
        "## 14:31 how many retries"
    )
    assert "before: why does resume fail on a fresh clone?  `dayleaf show c-7a1c0001#1`" in said
    assert "after: run the linter  `dayleaf show c-7a1c0001#3`" in said and "noctx" not in said
    for asked in ("c-n#2", "c-7a1c0001#14:31", "c-7a1c0001#14:58", "c-n#2026-01-23 14:31"):
        assert ok("show", asked) == said, asked
    assert "no #99:99" in one_line_error(run("show", "c-7a1c0001#99:99"), 2)
    value = json.loads(ok("show", "c-n#3", "--json"))
    assert (value["id"], value["turn"], value["turns"], value["at"]) == (
        "c-7a1c0001",
        3,
        3,
        "2026-01-24T09:10Z",
    )
    assert value["request"] == "run the linter" and "noctx" in value["body"]


def test_a_turn_that_is_none_is_told_with_those_there_are(run, place):
    """By number, by time, and where no conversation is kept."""
    told(place)
    for asked in ("c-7a1c0001#4", "c-n#0", "c-7a1c0001#2026-01-22 08:00"):
        said = one_line_error(run("show", asked), 2)
        assert (
            "conversation c-7a1c0001 has 3 turns and no #%s"
            % asked.partition("#")[2].replace(" ", "T")
            in said
        )
        assert "`dayleaf show c-7a1c0001 --outline` lists them" in said
    vault.put(
        place,
        "p/checkpoints/2026-01-25/m.md",
        "Other",
        "Nothing.",
        id="c-m",
        session="s-9",
        source="auto",
    )
    assert "the session of c-m has no conversation" in one_line_error(run("show", "c-m#1"), 1)


def test_a_checkpoint_names_its_conversation(ok, place):
    """With the number of turns; the conversation itself says how many it has."""
    told(place)
    assert "conversation  c-7a1c0001, 3 turns: `dayleaf show c-n#3` prints the last\n" in ok(
        "show", "c-n"
    )
    assert "3 turns: `dayleaf show c-7a1c0001#3` prints the last\n" in ok("show", "c-7a1c0001")


def test_a_title_with_a_number_sign_is_still_found(ok, place):
    """What stands before it names no checkpoint or conversation."""
    vault.put(place, "p/learnings/fix.md", "'Fix #12'", "It was the cache.", id="l-fix")
    vault.put(place, "p/learnings/a#3.md", "Cache", "It was cold.", id="l-path")
    assert "l-fix" in ok("show", "Fix #12") and "l-path" in ok("show", "a#3")


def test_a_rule_is_shown_with_its_state_reason_and_scope(ok, env, project, place):
    """As recall shows it, whatever a person decided."""
    put(place, "p/rules/r-1.md", "Sort by id", "", tags="[api]", rationale="Pages stay stable")
    head = ok("show", "r-1")
    for name, value in (("because", "Pages stay stable"), ("scope", "api")):
        assert re.search("(?m)^%s +%s$" % (name, value), head), head
    assert re.search("(?m)^state +waits for review: `dayleaf review`$", head)
    for word, state in (("approve", "follow this"), ("reject", "rejected")):
        assert on_terminal(["rule", word, "r-1"], env, project, ["yes"])[0] == 0
        assert re.search("(?m)^state +%s$" % state, ok("show", "r-1"))


def test_a_rule_without_a_text_tells_no_size(ok):
    """Its title is all that it says."""
    id = json.loads(ok("keep", "Never push on a Friday.", "--json"))["id"]
    assert "tokens" not in ok("show", id) + ok("recall", "push Friday")
    assert not ok("show", id).endswith("\n\n")


def test_feedback_takes_a_title_of_several_words(ok, run):
    """All words before up or down are the title, those behind them the reason; without either one
    line says what is wanted.
    """
    id = json.loads(ok("learn", TEXT, "--title", "Pin the issuer", "--json"))["id"]
    assert "up 1" in ok("feedback", "Pin", "the", "issuer", "up", "it", "went", "up")
    assert "it went up" in ok("show", id) and "did you mean" not in one_line_error(
        run("feedback", "Pin"), 2
    )


def test_a_note_says_who_wrote_it_and_what_they_read(ok, place):
    """The turns read whole, of a long session."""
    head = {"kind": "note", "by": "claude-haiku", "turns": "40"}
    vault.put(place, "p/notes/2026-11-20/a.md", "Long", "", id="n-a", read="14", **head)
    vault.put(place, "p/notes/2026-11-20/b.md", "Short", "", id="n-b", **head)
    long, short = ok("show", "n-a"), ok("show", "n-b")
    assert "claude-haiku" in long and "claude-haiku" in short
    assert "14 of 40 turns whole" in long and "turns whole" not in short
