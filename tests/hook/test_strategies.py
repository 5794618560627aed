"""The table of strategies: which one suits, what each shows at a start and at a prompt, and what it
takes to add one.
"""

from __future__ import annotations

import pytest
from harness import vault

from memory.health import accounts
from memory.hook import at_prompt, at_start, loader, receipts, strategies
from memory.hook.strategies import build_categories, classify_prompt
from memory.terminal import pastlines


@pytest.mark.parametrize(
    ("count", "tokens", "name"),
    [
        (0, 0, "load_all"),
        (10, 4999, "load_all"),
        (10, 5000, "index_filter"),
        (11, 100, "index_filter"),
        (30, 15000, "index_filter"),
        (31, 100, "topic_filter"),
        (5, 15001, "topic_filter"),
        (30, 15001, "topic_filter"),
        (31, 15001, "topic_filter"),
    ],
)
def test_the_stricter_of_count_and_tokens_chooses_the_strategy(count, tokens, name):
    """The boundaries of the table: 10/11, 30/31, 5,000, 15,000."""
    assert strategies.choose_strategy(count, tokens).name == name


def started(index):
    return at_start.build_brief(index)


def prompted(index, prompt, mode="", state=None):
    choice = loader.choose_learnings(index, prompt, mode, vault.settings(), set())
    return choice, at_prompt.build_block(
        index, choice, prompt, state or receipts.SessionState(), mode
    )


@pytest.mark.parametrize(
    ("count", "whole", "topics", "newest", "category"),
    [(8, 8, False, 0, ""), (12, 0, False, 7, ""), (40, 0, True, 7, "testing")],
)
def test_each_strategy_shows_what_its_row_says(place, now, count, whole, topics, newest, category):
    """In full, or a map of topics and seven titles; by the prompt's category; nothing where a
    prompt matches nothing.
    """
    vault.learnings(place, count - 1)
    vault.put(
        place,
        "p/learnings/flaky.md",
        "Flaky clock test",
        "Freeze the clock fixture in pytest.",
        tags="[testing]",
    )
    index = vault.built(place, now)
    block, shown = started(index)
    assert (
        len(shown) == whole and ("Topics: " in block) == topics and block.count("\n- [") == newest
    )
    assert prompted(index, "a pytest fixture with a mock")[0].category == category
    assert prompted(index, "yes, go on")[1] == ("", [])


def test_a_new_strategy_is_one_row(place, now, monkeypatch, ok):
    """It is chosen, shown at a start, picks at a prompt, and `load` and the receipts say its
    name.
    """
    row = strategies.Strategy(
        "few_in_full",
        lambda learnings, tokens: learnings > 35,
        whole=True,
        newest=2,
        routed=True,
    )
    monkeypatch.setattr(strategies, "STRATEGIES", (row, *strategies.STRATEGIES))
    vault.learnings(place, 39)
    vault.put(place, "p/learnings/kafka.md", "Kafka offsets", "Commit offsets after the batch.")
    index = vault.built(place, now)
    assert strategies.choose_strategy(index.learnings, index.learning_tokens) is row
    block, shown = started(index)
    assert len(shown) == 40 and {reason for _, _, reason in shown} == {"few_in_full"}
    assert "Newest of 40" in block and block.count("\n- [") == 2 and "Topics: " not in block
    choice, (_, given) = prompted(index, "kafka loses offsets in the pytest fixture")
    assert (
        choice.strategy is row
        and choice.category == "testing"
        and [item[0] for item in given] == ["kafka"]
    )
    assert prompted(index, "yes, go on")[1] == ("", [])
    value = accounts.explain_load(place, vault.settings(), "kafka offsets")
    assert value["strategy"] == "few_in_full" and value["considered"] == []
    said = pastlines.load_lines(value, False)
    assert said[0].startswith("40 learnings") and said[0].endswith("few_in_full")
    assert "the session's brief has every learning, so this prompt adds none" in said


def test_a_word_that_a_project_is_about_routes_nowhere():
    """In a project about sessions "session" is no word of auth; where few learnings bear the topic
    it is.
    """
    stems = frozenset(("session", "lost"))
    assert classify_prompt(stems, "", build_categories([["session", 4], ["jwt", 9]], 60)) == "auth"
    assert classify_prompt(stems, "", build_categories([["session", 30], ["jwt", 9]], 60)) == ""


def test_a_projects_own_topic_is_a_category():
    """In its own language too, where enough learnings bear it; beside a word of a built-in one
    neither rules.
    """
    table = build_categories([["rewind", 8], ["배포", 7], ["tray", 2], ["login-page", 9]], 60)
    assert classify_prompt(frozenset(("rewind",)), "", table) == "rewind"
    assert classify_prompt(frozenset(("배포",)), "", table) == "배포"
    assert classify_prompt(frozenset(("rewind", "token")), "", table) == ""
    assert "tray" not in table and "login-page" not in table
