"""Rules are listed for everyone, and decided on by a person at a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.command import on_terminal, one_line_error

RULE = (
    "---\nid: r-1\nkind: rule\ntitle: Never push to main\nrationale: it deploys\n"
    "tags: [git]\n---\nAsk first.\n"
)


@pytest.fixture
def rule(place):
    """A rule that someone wrote by hand."""
    path = Path(place.folder("p", "rule"), "never.md")
    path.parent.mkdir(parents=True)
    path.write_text(RULE, encoding="utf-8")
    return path


def test_only_a_person_at_a_terminal_approves_a_rule(run, ok, env, project, rule):
    """Without a terminal, or inside the client, there is no approval; with one, the content is
    shown and a yes is typed.
    """
    assert "only a person decides" in one_line_error(
        run("rule", "approve", "r-1", stdin="yes\n"), 2
    )
    status, shown = on_terminal(
        ["rule", "approve", "r-1"], {**env, "CLAUDECODE": "1"}, project, ["yes"]
    )
    assert status == 2 and "only a person decides" in shown
    status, shown = on_terminal(["rule", "approve", "r-1"], env, project, ["no"])
    assert status == 2 and "Ask first." in shown and "sha256 " in shown
    assert json.loads(ok("rule", "--json"))[0]["state"] == "pending"
    status, _ = on_terminal(["rule", "approve", "r-1"], env, project, ["yes"])
    assert status == 0 and json.loads(ok("rule", "list", "--json"))[0]["state"] == "approved"
    assert "rule, follow this" in ok("recall", "push main")
    rule.write_text(RULE + "And never ask.\n")
    assert json.loads(ok("rule", "list", "--json"))[0]["state"] == "pending"
    assert "rule, waits for review" in ok("recall", "push main")


def test_a_faulty_rule_cannot_be_approved(env, project, rule):
    """No rationale, no rule."""
    rule.write_text(RULE.replace("rationale: it deploys\n", ""))
    status, shown = on_terminal(["rule", "approve", "r-1"], env, project, ["yes"])
    assert status == 2 and "rationale" in shown


def test_a_rejected_rule_is_neither_approved_nor_pending(run, ok, env, project, rule):
    """The list has three states; --pending leaves only what waits; an unknown rule points to the
    list.
    """
    assert "r-1" in ok("rule", "list", "--pending")
    status, shown = on_terminal(["rule", "reject", "r-1"], env, project, ["yes"])
    assert status == 0 and "rejected r-1  Never push to main" in shown
    assert [(row["id"], row["state"]) for row in json.loads(ok("rule", "list", "--json"))] == [
        ("r-1", "rejected")
    ]
    assert ok("rule", "list", "--pending") == "no rule is waiting\n" and "rejected" in ok("rule")
    status, shown = on_terminal(["rule", "approve", "r-1"], env, project, ["yes"])
    assert "approved r-1  Never push to main" in shown and "approved" in ok("rule")
    rule.write_text(RULE + "Always.\n")
    assert "waits for review" in ok("rule")
    assert "`dayleaf rule list` names the rules" in one_line_error(
        run("rule", "approve", "r-77"), 1
    )


def test_an_approved_rule_without_an_id_stays_approved_under_another_name(ok, env, project, place):
    """Its id is written into the file as it is approved."""
    path = Path(place.path("p/rules/broker.md"))
    path.parent.mkdir(parents=True)
    path.write_text("---\ntitle: Restart no broker\nrationale: It loses jobs.\n---\n\nAsk.\n")
    status, _ = on_terminal(["rule", "approve", "broker"], env, project, ["yes"])
    path.rename(path.with_name("Broker restarts.md"))
    [found] = json.loads(ok("rule", "list", "--json"))
    assert status == 0 and found["state"] == "approved"
