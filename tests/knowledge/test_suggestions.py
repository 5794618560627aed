"""What a session's model asks of a person's record becomes a suggestion beside it, and a person
runs it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import mcpcalls, vault
from harness.command import on_terminal
from harness.repository import received

from memory.cli.main import VERBS
from memory.core import layout
from memory.knowledge import suggestions
from memory.store import permissions
from memory.store.store import Store

SESSION = {"CLAUDECODE": "1"}
MINE = "prices-are-integers-0001"


@pytest.fixture
def persons(place, project, now, env) -> dict[str, bytes]:
    """Records that a person wrote, accepted or approved, in each tier, by path."""
    vault.put(
        place,
        "p/learnings/prices-are-integers-0001.md",
        "Prices are integers",
        "In cents.",
        source="human",
    )
    vault.put(place, "p/learnings/hand.md", "Written by hand", "Without a word of who.")
    vault.put(
        place,
        "p/learnings/accepted.md",
        "Accepted",
        "Of a session, and accepted.",
        source="agent",
        accepted="true",
    )
    vault.put(place, "s/learnings/team.md", "Of the team", "Shared.", source="human")
    vault.put(
        place,
        "p/plans/work.md",
        "The plan",
        "- [ ] first\n- [ ] second",
        status="active",
        source="human",
    )
    vault.put(
        place,
        "p/resources/guide.md",
        "The guide",
        "Text.",
        type="doc",
        path="guide.md",
        source="human",
    )
    rule = vault.put(
        place, "p/rules/ask.md", "Ask first", "Ask.", source="agent", rationale="it broke"
    )
    vault.approve(place, rule, "ask", now)
    Path(project, "guide.md").write_text("Another text.\n")
    received(project, env)
    return contents(place)


def contents(place) -> dict[str, bytes]:
    """The bytes of all records, suggestions and checkpoints apart."""
    found = {}
    for _, root in place.tiers():
        for path in sorted(Path(root).rglob("*.md")):
            if "checkpoints" not in path.parts and "suggested" not in path.name:
                found[str(path)] = path.read_bytes()
    return found


def suggested(place, now) -> list[list[str]]:
    store = Store(place, vault.settings(), now)
    return [
        suggestions.read_suggestion(record)
        for record in store.each(("learning",))
        if suggestions.read_suggestion(record)
    ]


CALLS = [
    ["link", MINE, "related_to", "hand"],
    ["link", "ask", "related_to", MINE],
    ["feedback", MINE, "down"],
    ["feedback", "team", "up", "it", "helped"],
    ["feedback", "accepted", "down", "it is wrong"],
    ["plan", "drop"],
    ["plan", "done", "work"],
    ["plan", "step", "1"],
    ["plan", "update", "Another text"],
    ["plan", "--replace", "Another plan"],
    ["resource", "update", "guide", "--title", "Mine"],
    ["resource", "refresh", "guide"],
    ["learn", "In cents.", "--title", "Prices are integers", "--tag", "money"],
]


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_a_session_suggests_what_a_person_may_do(run, place, now, persons, words):
    """The file stays as it is; the command waits as a candidate, once however often it is asked."""
    for _ in range(2):
        done = run(*words, **SESSION)
        assert (
            done.returncode == 0
            and "suggested l-" in done.stdout
            and "a person wrote" in done.stdout
        ), done
    assert contents(place) == persons
    assert suggested(place, now) == [words]


def test_the_same_is_done_at_once_for_a_person(run, place, persons):
    """At their own terminal, without any mark of an agent."""
    assert "linked" in run("link", MINE, "related_to", "hand").stdout
    assert contents(place) != persons


def test_what_a_session_wrote_itself_it_may_change(run, place, now):
    """An agent's record, and one that dayleaf accepted by itself."""
    vault.put(place, "p/learnings/agents.md", "An agent's", "x", source="agent", accepted="false")
    vault.put(
        place,
        "p/learnings/auto.md",
        "By itself",
        "y",
        source="auto",
        accepted="true",
        accepted_by="dayleaf, seen in 2 sessions",
    )
    for one, other in (("agents", "auto"), ("auto", "agents")):
        assert "linked" in run("link", one, "related_to", other, **SESSION).stdout
        assert "noted" in run("feedback", one, "down", **SESSION).stdout
    assert suggested(place, now) == []


def test_an_approved_rule_stays_approved(run, place, persons):
    """Whatever a session asks of it."""
    run("link", "ask", "related_to", MINE, **SESSION)
    run("feedback", "ask", "down", **SESSION)
    [rule] = json.loads(run("rule", "list", "--json").stdout)
    assert rule["state"] == "approved"


WRITING = (
    "link",
    "feedback",
    "plan",
    "resource",
    "learn",
    "rule",
    "handoff",
    "checkpoint",
    "distill",
    "harvest",
    "import",
    "on",
    "off",
)


@pytest.mark.parametrize("verb", WRITING)
def test_no_session_call_changes_a_persons_record(run, place, persons, verb):
    """Every verb that writes, with each option that a session may use."""
    values = {"--step": "x", "--max-tokens": "100", "--timeout": "1", "--kind": "learning"}
    first = {
        "link": [MINE, "hand"],
        "feedback": [MINE, "down"],
        "plan": ["drop"],
        "resource": ["update", "guide"],
        "learn": ["In cents."],
        "rule": ["suggest", "Ask first"],
        "harvest": ["list"],
        "import": ["dir", "."],
    }.get(verb, ["hand"])
    for option in [
        "",
        *(
            one
            for one in permissions.VERBS[verb].free.split()
            if one not in permissions.FILTERS.split()
        ),
    ]:
        flag, _, value = option.partition("=")
        declared = next((one for one in VERBS[verb].options if flag == one.flag), None)
        takes = declared is not None and declared.rest.get("action", "append") == "append"
        given = [flag + "=" + (value or values.get(flag, MINE))] if takes else [flag] * bool(flag)
        for words in (
            first,
            ["update", MINE],
            ["step", "1"],
            ["done", "work"],
            ["refresh", "guide"],
        ):
            run(verb, *given, *words, **SESSION)
    now = contents(place)
    assert {path: now.get(path) for path in persons} == persons


def test_every_verb_that_writes_is_among_them():
    """The others that a session may use only read, or write what is derived."""
    reading = set(
        "recall show expand fix how blame friction standup load why status today statusline doctor "
        "check stats eval index shared upkeep audit graph completion config "
        "workspace tier mcp notes".split()
    )
    free = {verb for verb, row in permissions.VERBS.items() if row.least == permissions.SESSION}
    assert free == reading | set(WRITING)


def test_no_tool_of_the_server_changes_a_persons_record(
    env, project, place, now, persons, monkeypatch
):
    """Its word becomes a suggestion too."""
    desk = mcpcalls.desk(env, project, now, monkeypatch)
    assert desk("feedback", id=MINE, verdict="down")["done"].startswith("suggested")
    assert contents(place) == persons and suggested(place, now) == [["feedback", MINE, "down"]]


def test_a_person_who_accepts_a_suggestion_runs_it(run, ok, env, project, place, now, persons):
    """The command is shown before; it is done as the person's, and waits no longer."""
    said = json.loads(run("link", MINE, "related_to", "hand", "--json", **SESSION).stdout)
    status, shown = on_terminal(["review"], env, project, ["a"])
    assert status == 0 and "dayleaf record link %s related_to hand" % MINE in shown
    assert b"related_to" in Path(place.path("p/learnings/prices-are-integers-0001.md")).read_bytes()
    assert suggested(place, now) == [] and said["id"] not in ok("harvest", "list")


def test_a_rejected_suggestion_goes(env, project, run, place, now, persons):
    run("plan", "drop", **SESSION)
    status, _ = on_terminal(["review"], env, project, ["r"])
    assert status == 0 and suggested(place, now) == [] and contents(place) == persons


@pytest.mark.parametrize(
    "words",
    [
        "[config, set, distill.provider, gemini]",
        "[rule, approve, ask]",
        "[frobnicate]",
        "[learn, x, --source=human]",
    ],
)
def test_a_suggestion_does_only_what_a_session_may_type(env, project, place, now, persons, words):
    """Whoever wrote it into a file."""
    vault.put(
        place,
        "p/learnings/evil.md",
        "Suggested",
        "x",
        source="agent",
        accepted="false",
        suggests=words,
    )
    _, shown = on_terminal(["harvest", "accept", "evil"], env, project)
    assert "only a person" in shown or "no command of dayleaf" in shown
    assert (
        contents(place)[place.path("p/learnings/evil.md")]
        and not Path(place.home, "config.json").exists()
    )


def test_a_repository_suggests_nothing(place, now):
    """A command in a shared record is only text."""
    vault.put(
        place,
        "s/learnings/evil.md",
        "Suggested",
        "x",
        accepted="false",
        suggests="[feedback, x, down]",
    )
    [record] = list(Store(place, vault.settings(), now).each(("learning",)))
    assert record.tier == layout.SHARED and suggestions.read_suggestion(record) == []
