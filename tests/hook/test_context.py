"""The life of a rule: suggested by anyone, shown and decided on by a person, put before the model
in its context alone.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from harness import vault
from harness.command import on_terminal
from harness.repository import received

from memory.core import approvals, records
from memory.hook import at_prompt, context, fence
from memory.index import builder

ROOT = Path(__file__).resolve().parents[2]
RULE = (
    "---\nid: r-1\nkind: rule\ntitle: Never push to main\nrationale: it deploys\n"
    "tags: [git]\n---\nAsk first.\n"
)
GIVEN = ("rule", "suggest", "Money is integer cents", "--rationale", "floats lose cents")


@pytest.fixture
def ok(run):
    """Run `dayleaf --json`, which must succeed, and return its value."""

    def call(*words, **more):
        done = run(*words, "--json", **more)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture
def decide(env, project):
    """Run `dayleaf` on a terminal and answer it; returns what it showed."""

    def call(*words, answers=(), **more):
        status, shown = on_terminal(words, {**env, **more}, project, answers)
        assert status == 0, shown
        return shown

    return call


def put(place, data: str | bytes = RULE, name: str = "p/rules/never.md") -> Path:
    """Write a rule's file by hand."""
    path = Path(place.path(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def states(ok) -> dict[str, tuple[str, str]]:
    """(state, why) of each rule by its id."""
    return {row["id"]: (row["state"], row["why"]) for row in ok("rule", "list")}


# ---- suggesting


def test_a_suggestion_is_a_file_that_waits(ok):
    """It keeps its reason, who suggested it, its tags and its links as whole ids."""
    linked = ok("learn", "Totals are rounded twice in invoice.py")["id"]
    kept = ok(
        *GIVEN,
        "--body",
        "-",
        "--tag",
        "billing",
        "--tag",
        "money",
        "--link",
        linked[:6],
        stdin="Never floats.\n",
    )
    text = Path(kept["path"]).read_text(encoding="utf-8")
    assert (
        "rationale: floats lose cents\n" in text
        and "suggested_by: human\n" in text
        and text.endswith("\nNever floats.\n")
    )
    assert kept["tags"] == ["billing", "money"] and kept["links"] == [
        {"relation": "related_to", "target": linked}
    ]
    assert states(ok) == {kept["id"]: ("pending", "new")}


@pytest.mark.parametrize(
    ("option", "tier"), [((), "private"), (("--shared",), "shared"), (("--global",), "global")]
)
def test_a_suggestion_goes_to_its_tier(ok, place, option, tier):
    """Private unless it is for the repository or for every project."""
    Path(place.shared).mkdir()
    assert ok(*GIVEN, *option)["tier"] == tier


def test_the_model_may_suggest_and_not_decide(ok, run, env, project):
    """Inside the client the suggestion is the agent's, and no terminal there approves it."""
    kept = ok(*GIVEN, CLAUDECODE="1")
    assert kept["source"] == "agent" and "suggested_by: agent\n" in Path(kept["path"]).read_text()
    for more in ({"CLAUDECODE": "1"}, {"DAYLEAF_NESTED": "1"}):
        for words in (
            ("rule", "approve", kept["id"]),
            ("rule", "reject", kept["id"]),
            ("review",),
        ):
            assert run(*words, stdin="yes\na\n", **more).returncode == 2
            status, shown = on_terminal(words, {**env, **more}, project, ["yes"])
            assert status == 2 and "only a person" in shown and shown.count("\n") == 1
    assert states(ok) == {kept["id"]: ("pending", "new")}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["suggest"], "needs one title and a rationale"),
        (["suggest", "T"], "needs one title and a rationale"),
        (["suggest", "--rationale", "R"], "needs one title and a rationale"),
        (["suggest", "T", "--rationale", " "], "needs one title and a rationale"),
        (
            ["suggest", "T", "--rationale", "<private>R</private>"],
            "needs one title and a rationale",
        ),
        (["suggest", "T", "--title", "U", "--rationale", "R"], "needs one title and a rationale"),
        (["suggest", "T", "--rationale", "R", "--link", "l-12345678"], "--link: "),
        (["suggest", "T", "--rationale", "R", "--shared", "--global"], "exclude each other"),
        (["suggest", "T", "--rationale", "R", "--pending"], "takes no --pending"),
        (["list", "x"], "takes no more words"),
        (["list", "--tag", "x"], "takes no --tag"),
        (["approve"], "takes an ID"),
        (["sugest", "T"], "did you mean 'suggest'?"),
    ],
)
def test_words_that_are_off_are_said_in_one_line(run, ok, words, said):
    """Exit 2, nothing written."""
    done = run("rule", *words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and said in done.stderr
    assert ok("rule") == []


def test_the_same_suggestion_is_made_once(ok):
    """A second one says that the first is there."""
    assert ok(*GIVEN)["id"] == ok(*GIVEN)["id"] and len(ok("rule")) == 1


def test_a_suggestion_in_no_context_says_so(run):
    """Without tag and link no prompt would ever get it."""
    assert "no prompt will ever get it" in run(*GIVEN).stdout
    assert (
        "no prompt will ever get it"
        not in run(*GIVEN[:2], "Another", *GIVEN[3:], "--tag", "billing").stdout
    )


# ---- deciding


def test_the_list_says_why_a_rule_waits(ok, decide, place, env):
    """New, edited since its approval, by others; a decided one has no reason."""
    path = put(place)
    put(place, RULE.replace("r-1", "r-2"), "s/rules/theirs.md")
    received(place.root, env)
    assert states(ok) == {"r-1": ("pending", "new"), "r-2": ("pending", "by others")}
    decide("rule", "approve", "r-1", "r-2", answers=["yes", "yes"])
    assert (
        states(ok) == {"r-1": ("approved", ""), "r-2": ("approved", "")}
        and ok("rule", "list", "--pending") == []
    )
    path.write_text(RULE + "Always.\n")
    assert states(ok)["r-1"] == ("pending", "edited since approval")
    path.write_text(RULE)
    assert states(ok)["r-1"] == ("approved", "")
    decide("rule", "reject", "r-2", answers=["y"])
    assert states(ok)["r-2"] == ("rejected", "")


def test_a_review_goes_through_all_that_waits(ok, decide, place, tmp_path):
    """Approve, reject, skip, edit and look again, quit: each rule whole, with its hash."""
    for i in range(5):
        put(place, RULE.replace("r-1", "r-%d" % i) + "\u202eHidden %d\n" % i, "p/rules/n%d.md" % i)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho Amended. >> "$1"\n')
    editor.chmod(0o755)
    shown = decide(
        "review",
        answers=["x", "", "rather not", "a", "reject", "s", "e", "a", "q"],
        EDITOR=str(editor),
    )
    assert (
        "1 of 5  r-0" in shown
        and "\\u{202e}Hidden 0" in shown
        and "\u202e" not in shown
        and "Amended." in shown
    )
    assert shown.count("1 of 5") == 1 and shown.count("4 of 5") == 2
    assert (
        "'x' is not an answer; type one of a (approve), r (reject), e (edit), s (skip), q (quit)\n"
        in shown
    )
    assert shown.count("approved r-0") == 1 and shown.index("approved r-0") < shown.index("2 of 5")
    assert approvals.files.sha256(Path(place.path("p/rules/n0.md")).read_bytes()) in shown
    assert {id: state for id, (state, _) in states(ok).items()} == {
        "r-0": "approved",
        "r-1": "rejected",
        "r-2": "pending",
        "r-3": "approved",
        "r-4": "pending",
    }
    assert "nothing was decided on" in decide("review", answers=["q"])


def test_an_interrupted_review_has_said_what_it_decided(env, project, decide, ok, place):
    """Ctrl-C after the first of two: what was approved is approved, and stands on the terminal;
    with --json on stderr.
    """
    put(place, RULE)
    put(place, RULE.replace("r-1", "r-2"), "p/rules/other.md")
    status, shown = on_terminal(["review"], env, project, ["a", "\x03"])
    assert status == 130 and "approved r-1  " in shown and "approved r-2" not in shown
    assert {id: state for id, (state, _) in states(ok).items()} == {
        "r-1": "approved",
        "r-2": "pending",
    }
    shown = decide("review", "--json", answers=["a"])
    assert shown.index("approved r-2  ") < shown.index('[{"id":"r-2"')


def test_a_review_shows_what_changed_since_the_approval(decide, place, home):
    """A diff against the bytes that were approved; without them, or with others in their place, the
    whole file alone.
    """
    path = put(place)
    decide("rule", "approve", "r-1", answers=["yes"])
    kept = list(Path(home, ".dayleaf/approved").iterdir())
    assert [one.read_bytes() for one in kept] == [RULE.encode()] and kept[
        0
    ].stat().st_mode & 0o777 == 0o600
    path.write_text(RULE.replace("Ask first.", "Ask last."))
    shown = decide("review", answers=["q"])
    assert "edited since approval" in shown and "-Ask first.\n+Ask last.\n" in shown
    kept[0].write_bytes(RULE.replace("first", "never").encode())
    for gone in (False, True):
        if gone:
            shutil.rmtree(kept[0].parent)
        shown = decide("review", answers=["q"])
        assert (
            "the approved text was not kept" in shown
            and "Ask last." in shown
            and "\n-Ask" not in shown
        )


@pytest.mark.parametrize("words", [("review",), ("rule", "approve", "r-1")])
def test_a_file_that_changes_while_it_is_shown_stays_pending(ok, place, env, project, words):
    """Neither what was shown nor what stands there by now is approved."""
    path = put(place)

    def swapped():
        path.write_text(RULE.replace("Ask first.", "Never ask."))
        return "yes" if words[0] == "rule" else "a"

    _, shown = on_terminal(words, env, project, [swapped, "q"])
    assert "changed while it was being shown" in shown and states(ok) == {"r-1": ("pending", "new")}
    path.write_text(RULE)
    assert states(ok) == {"r-1": ("pending", "new")}


FAULTY = {
    "no rationale": RULE.replace("rationale: it deploys\n", ""),
    "a key twice": RULE.replace("---\nAsk", "tags: [all]\n---\nAsk"),
    "an anchor": RULE.replace("it deploys", "&a it deploys"),
    "a merge key": RULE.replace("tags: [git]", "<<: *a"),
    "a YAML tag": RULE.replace("it deploys", "!!str it deploys"),
    "bytes": RULE.encode() + b"\xff\n",
    "large": RULE + "word " * 220_000,
    "an id that is none": RULE.replace("r-1", "r\u200b1"),
    "tags read in two ways": RULE.replace("[git]", "[[git, all], x]"),
    "a title read in two ways": RULE.replace("Never push to main", '"Never\\\n  push"'),
    "an open head": RULE.replace("---\nAsk", "Ask"),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_rule_cannot_be_approved(ok, place, env, project, fault):
    """The reason and what mends it are said; a review passes on."""
    put(place, FAULTY[fault])
    id = ok("rule")[0]["id"]
    status, shown = on_terminal(["rule", "approve", id], env, project, ["yes"])
    assert (
        status == 2 and "cannot be approved" in shown and "; " in shown and "type yes" not in shown
    )
    _, shown = on_terminal(["review"], env, project, ["a", "q"])
    assert "cannot be approved" in shown and next(iter(states(ok).values()))[0] == "pending"


def test_a_linked_file_cannot_be_approved(ok, place, env, project):
    """Not even to a file of the same tier: what it leads to may change without a trace."""
    path = put(place, name="s/learnings/x.md")
    Path(place.path("s/rules")).mkdir()
    Path(place.path("s/rules/link.md")).symlink_to(path)
    status, shown = on_terminal(["rule", "approve", "s/rules/link.md"], env, project, ["yes"])
    assert status == 2 and "it is a link" in shown


def test_one_id_in_two_files_wants_a_name(run, decide, ok, place, env, project):
    """A shared file that took a private rule's id is not approved in its place."""
    put(place)
    put(place, RULE + "Or do not.\n", "s/rules/twin.md")
    status, shown = on_terminal(["rule", "approve", "r-1"], env, project, ["yes"])
    assert status == 2 and "p/rules/never.md, s/rules/twin.md" in shown
    decide("rule", "approve", "p/rules/never.md", answers=["yes"])
    assert {row["name"]: row["state"] for row in ok("rule")} == {
        "p/rules/never.md": "approved",
        "s/rules/twin.md": "pending",
    }


def test_a_ledger_that_others_may_write_is_said(ok, place, env, project):
    """The person hears that the approval does not count, and what mends it."""
    put(place)
    ledger = Path(place.home, "trust.jsonl")
    ledger.touch()
    ledger.chmod(0o660)
    status, shown = on_terminal(["rule", "approve", "r-1"], env, project, ["yes"])
    assert status == 1 and "chmod 600" in shown and states(ok)["r-1"][0] == "pending"


def test_what_a_file_says_of_itself_is_named(decide, place):
    """`approved: true` is pointed out to the person."""
    put(place, RULE.replace("tags:", "approved: true\ntags:"))
    assert "has no effect" in decide("review", answers=["q"])


def test_an_approved_rule_with_an_unsure_line_is_not_in_force(place, ok, now):
    """Were it approved before: a hook reads it by its lines alone, so it waits, and says which
    line.
    """
    data = RULE.replace("tags: [git]", "tags: [git]\nmore:\n  deep:\n    er: 1").encode()
    put(place, data)
    put(place, RULE.replace("r-1", "r-2"), "p/rules/plain.md")
    for id, content in (("r-1", data), ("r-2", RULE.replace("r-1", "r-2").encode())):
        approvals.append_decision(
            place.home, place.key, id, approvals.files.sha256(content), "approve", "alex", now
        )
    found = at_prompt.open_or_build_index(place)
    assert [rule.id for rule in context.read_approved_rules(found, found.listed("rules"))] == [
        "r-2"
    ]
    assert states(ok) == {
        "r-1": ("pending", "line 9 can be read in two ways"),
        "r-2": ("approved", ""),
    }


def test_an_edited_rule_waits_again(ok, run, decide, place, tmp_path):
    """It says so; an edit that changes nothing leaves it approved."""
    put(place)
    decide("rule", "approve", "r-1", answers=["yes"])
    assert (
        run("edit", "r-1", EDITOR="true").stdout == "r-1 is unchanged\n"
        and states(ok)["r-1"][0] == "approved"
    )
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho Amended. >> "$1"\n')
    editor.chmod(0o755)
    assert "waits for review again" in run("edit", "r-1", EDITOR=str(editor)).stdout
    assert states(ok)["r-1"] == ("pending", "edited since approval")


def test_a_review_counts_the_candidates_that_wait(decide, place):
    """With the command that decides on them."""
    vault.put(place, "p/learnings/c.md", "Kafka", "Offsets.", source="auto")
    assert "1 candidate waits: `dayleaf review`" in decide("review", answers=["q"])


def test_one_review_goes_through_rules_and_candidates(ok, decide, place):
    """Rules first; who quits there is told of the candidates, and each decision is told once."""
    put(place, RULE)
    for name in ("kafka", "redis", "nginx"):
        vault.put(place, "p/learnings/%s.md" % name, name.title(), "On %s." % name, source="auto")
    shown = decide("review", answers=["q"])
    assert (
        "nothing was decided on" in shown
        and "1 rule, 3 candidates wait: `dayleaf review`" in shown
        and "On kafka." not in shown
    )
    shown = decide("review", answers=["yes", "y", "no", "s"])
    assert shown.index("[a]pprove") < shown.index("[a]ccept") and "4 of 4" in shown
    assert (
        "approved r-1" in shown
        and "accepted kafka  Kafka" in shown
        and "rejected redis  Redis" in shown
    )
    assert "1 candidate waits: `dayleaf review`" in shown and states(ok)["r-1"] == ("approved", "")
    assert "accepted: true" in Path(place.path("p/learnings/kafka.md")).read_text()
    assert not Path(place.path("p/learnings/redis.md")).exists()


# ---- surfacing

TAGS = [
    "billing",
    "jwt",
    "unit tests",
    "jira-api",
    "버튼",
    "データ",
    "cache",
    "retries",
    "C++",
    "code review",
]
PROMPTS = {
    "billing": "round the billing totals",
    "jwt": "why is the JWT refused?",
    "unit tests": "the unit test of it",
    "jira-api": "call the jira api",
    "버튼": "버튼을 눌러도 그대로다",
    "データ": "データを消す",
    "cache": "caches are cold",
    "retries": "how many retries?",
    "C++": "port it to C++",
    "code review": "answer the code review",
}
ELSEWHERE = [
    "paint the fence",
    "review the zebra",
    "code the zebra",
    "a unit of zebras",
    "call jira",
    "데이터를 옮긴다",
    "the api is open",
    "デザインを直す",
]


WAYS = ("prompt", "project", "branch", "mode", "link")
PLAIN = {
    "billing": "billing",
    "jwt": "jwt",
    "unit tests": "unit-tests",
    "jira-api": "jira-api",
    "버튼": "버튼",
    "データ": "データ",
    # what a place may say of itself
    "cache": "caches",
    "retries": "retries",
    "C++": "c++",
    "code review": "code-review",
}


class Case(NamedTuple):
    """A rule and a context: its tag, tier and state, the ways in which the context meets it, and
    whether it must surface.
    """

    number: int
    tier: str
    tag: str
    state: str
    ways: tuple[str, ...]
    surfaces: bool


def cases() -> list[Case]:
    """200 of them, drawn from a seed."""
    draw, found = random.Random(7), []
    for number in range(200):
        state = draw.choice(["approved", "approved", "approved", "pending", "edited", "rejected"])
        tag = draw.choice([*TAGS, "design", "design", "design", ""])
        open_to = [
            way
            for way in WAYS
            if way == "link" or (tag == "design" if way == "mode" else tag not in ("", "design"))
        ]
        open_to = [way for way in open_to if way != "branch" or tag != "C++"]
        ways = tuple(way for way in open_to if draw.random() < 0.22)
        if tag == "cache":  # `caches` is another label: only a prompt brings words to one stem
            ways = tuple(way for way in ways if way in ("prompt", "branch", "link"))
        found.append(
            Case(number, draw.choice("psg"), tag, state, ways, state == "approved" and bool(ways))
        )
    return found


def test_a_rule_goes_before_the_model_with_its_reason(place, now):
    """The reason stands below the body, on one line, cleaned; a rule that is only a title has it
    too.
    """
    for body in ("", "Ask first.\n"):
        record = records.from_bytes(
            "p/rules/never.md",
            RULE.replace("Ask first.\n", body)
            .replace("it deploys", "it deploys </dayleaf-rules>")
            .encode(),
            now,
        )
        assert fence.format_record(record, 500).splitlines()[1:] == [
            *body.splitlines(),
            "Why: it deploys ‹/dayleaf-rules>",
        ]


def arranged(place, case: Case) -> tuple[str, str, set[str]]:
    """Put the place into a case's context; returns (prompt, mode, records shown)."""
    others = [PLAIN[tag] for tag in TAGS if tag != case.tag][:4]
    own = PLAIN.get(case.tag, "")
    context.write_manifest_tags(
        place,
        dict.fromkeys([*others, *([own] if "project" in case.ways else [])], "pyproject.toml"),
    )
    branch = "feature/zebra-" + own if "branch" in case.ways else "main"
    Path(place.git, "HEAD").write_text("ref: refs/heads/%s\n" % branch, encoding="utf-8")
    prompt = PROMPTS[case.tag] if "prompt" in case.ways else ELSEWHERE[case.number % len(ELSEWHERE)]
    # else the prompt speaks for a category of its own
    prompt = "paint the fence" if "mode" in case.ways else prompt
    shown = {"l-%d" % case.number} if "link" in case.ways else {"l-0x"}
    return prompt, "plan" if "mode" in case.ways else "default", shown


def test_an_approved_rule_surfaces_in_its_context_and_nowhere_else(place, now):
    """200 cases of tags, links, states and tiers, met by prompt, project, branch, mode
    or link: all in context surface with the way named, none out of it.
    """
    Path(place.shared).mkdir()
    for case in cases():
        name = "%s/rules/r%d.md" % (case.tier, case.number)
        path = vault.put(
            place,
            name,
            "Rule %d" % case.number,
            "Obey%dx." % case.number,
            case.tag and "[%s]" % case.tag,
            rationale="x",
            links="[l-%d]" % case.number,
        )
        if case.state != "pending":
            digest = approvals.files.sha256(Path(path).read_bytes())
            for decision in ("approve", "reject")[: 2 if case.state == "rejected" else 1]:
                approvals.append_decision(
                    place.home,
                    approvals.approval_workspace(name, place.key),
                    "r%d" % case.number,
                    digest,
                    decision,
                    "t",
                    now,
                )
            if case.state == "edited":
                Path(path).write_text(Path(path).read_text() + "More.\n")
    found, wrong = vault.built(place, now), []
    for case in cases():
        prompt, mode, shown = arranged(place, case)
        ruled, _ = context.find_prompt_rules(found, prompt, mode, (), shown)
        reasons = [reason for record, reason in ruled if record.id == "r%d" % case.number]
        budget = fence.Budget(90_000)
        fence.add_rules(ruled, budget)
        put_in = "Obey%dx." % case.number in "".join(budget.rules)
        named = not reasons or any(
            way in reasons[0]
            for way in [*case.ways, *(["category"] if "mode" in case.ways else [])]
        )
        if not (bool(reasons) is put_in is case.surfaces and named and len(reasons) < 2):
            wrong.append((case, prompt, reasons))
    assert not wrong and sum(case.surfaces for case in cases()) > 60
    assert {way for case in cases() if case.surfaces for way in case.ways} == set(WAYS)
    found.close()


def ruled(block: str) -> str:
    """Return what stands in the element of approved rules."""
    return block.partition("<dayleaf-rules")[2].partition("</dayleaf-rules>")[0]


def test_a_rule_without_tag_and_link_is_in_no_context(session, place, now):
    """Whatever the prompt says, even its own title."""
    vault.learnings(place, 12)
    vault.approve(
        place,
        vault.put(place, "p/rules/money.md", "Money is cents", "Never floats.", rationale="x"),
        "money",
        now,
    )
    builder.build(place, now)
    assert "Never floats" not in session("prompt", prompt="money is cents, never floats")[1]
    assert "Never floats" not in session("start", source="startup")[1]


def test_a_category_that_the_loader_derives_is_context(session, place, now):
    """`testing` is what a prompt about fixtures is about, though it does not say so."""
    vault.approve(
        place,
        vault.put(
            place, "p/rules/t.md", "Assert one thing", "One assert.", "[testing]", rationale="x"
        ),
        "t",
        now,
    )
    builder.build(place, now)
    assert "One assert." in ruled(session("prompt", prompt="the pytest fixture is flaky")[1])


def test_a_link_counts_only_where_its_record_is_shown(session, place, now):
    """A learning that is gone from its file's place since it was indexed shows nothing, and neither
    does its rule.
    """
    vault.learnings(place, 12)
    learning = vault.put(
        place, "p/learnings/kafka.md", "Kafka offsets", "Commit kafka offsets late."
    )
    path = vault.put(
        place, "p/rules/k.md", "Batches", "Count batches.", rationale="x", links="[kafka]"
    )
    vault.approve(place, path, "k", now)
    builder.build(place, now)
    assert "Count batches." in ruled(session("prompt", prompt="kafka offsets")[1])
    os.unlink(learning)
    assert "Count batches." not in session("prompt", prompt="kafka offsets", session_id="s2")[1]


def test_a_link_of_a_rule_that_the_index_has_not_read_counts_only_where_its_record_is_shown(
    session, place, now
):
    """A rule written since is looked at with every prompt, and waits for its record like any
    other.
    """
    vault.learnings(place, 12)
    vault.put(place, "p/learnings/kafka.md", "Kafka offsets", "Commit kafka offsets late.")
    vault.put(place, "p/learnings/yaks.md", "Shaving yaks", "Shear yaks with ceramic blades.")
    builder.build(place, now)
    vault.approve(
        place,
        vault.put(
            place, "p/rules/k.md", "Batches", "Count batches.", rationale="x", links="[kafka]"
        ),
        "k",
        now,
    )
    shown = session("prompt", prompt="shear yaks with ceramic blades")[1]
    assert "Shaving yaks" in shown and "Count batches." not in shown
    assert "Count batches." in ruled(session("prompt", prompt="kafka offsets", session_id="s2")[1])


@pytest.mark.parametrize("size", range(850, 1000, 15))
def test_long_learnings_leave_room_for_a_linked_rule(session, place, now, size):
    """The brief holds room back, and stays inside its budget."""
    for i in range(10):
        vault.put(
            place, f"p/learnings/l{i}.md", f"Title {i}", "x" * size, created=f"2026-11-{20 - i:02d}"
        )
    vault.approve(
        place,
        vault.put(place, "p/rules/k.md", "Batches", "Count batches.", rationale="x", links="[l3]"),
        "k",
        now,
    )
    builder.build(place, now)
    block = session("start", source="startup")[1]
    assert "Count batches." in ruled(block) and len(block) <= 9500


def test_a_repository_cannot_crowd_out_the_users_rules(session, place, now):
    """However many rules it ships, and however new they claim to be."""
    vault.approve(
        place,
        vault.put(
            place,
            "p/rules/k.md",
            "Batches",
            "Count batches.",
            "[kafka]",
            rationale="x",
            created="2020-01-01",
        ),
        "k",
        now,
    )
    for i in range(300):
        vault.put(
            place,
            f"s/rules/r{i}.md",
            f"Rule {i}",
            "Planted.",
            "[kafka]",
            rationale="x",
            created="2099-01-01",
        )
    builder.build(place, now)
    block = session("prompt", prompt="kafka is slow")[1]
    assert "Count batches." in ruled(block) and "Planted" not in block
