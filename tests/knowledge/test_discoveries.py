"""Discoveries: which of the things that past sessions hold are shown."""

from __future__ import annotations

import pytest
from harness.session import Ending
from harness.vault import settings

from memory.core import clock
from memory.knowledge import discoveries, walls
from memory.store.store import Store


@pytest.fixture
def found(env, project, place, now):
    """Run one session a day, each a function that gets it, and return the discoveries in them."""

    def run(*each):
        for at, do in enumerate(each):
            one = Ending(env, project, now - (len(each) - at) * clock.DAY, "sess-%d" % at)
            one.ask("Fix the parser").edit("parser.py", "-a", "+b")
            do(one)
            one.end()
        store = Store(place, settings(), now)
        names = [record.name for kind in KINDS for record in store.each((kind,))]
        return discoveries.find_discoveries(
            store, names, walls.update_walls(place, settings(), now)
        )

    return run


KINDS = ("checkpoint", "conversation", "rule")
LONG = "Keep the alias for one release"


def refused(answer):
    """A session in which a proposal was answered."""
    return lambda one: one.say("I propose to parse it twice.").ask(answer).say("Understood.")


def failing(then):
    """A session in which a call failed, and another one worked or none did."""

    def do(one):
        one.bash("npm test", "npm ERR! missing script: test", 1)
        if then:
            one.bash(then, "12 passed")
        one.say("The parser is fixed.")

    return do


def test_a_failure_of_one_session_is_none(found):
    """It may have been a slip."""
    assert found(failing("pnpm run check")) == []


def test_a_failure_that_nothing_followed_is_none(found):
    """There is nothing to learn from it."""
    assert found(failing(""), failing("")) == []


def test_a_failure_of_two_sessions_is_shown_with_what_worked(found):
    """By the turn of the newest."""
    (one,) = found(failing("pnpm run check"), failing("pnpm run check"))
    assert (one.kind, one.more) == (discoveries.FAILURE, "and this worked: `pnpm run check`")
    assert one.text == "this failed in 2 sessions: `npm test` (missing script: test)"
    assert "#" in one.id


def test_a_decision_that_says_something_goes_before_a_newer_one_that_does_not(found):
    """Neither a bare no nor a question says what was decided."""
    first, *_ = discoveries.pick_best(
        found(
            refused("no, parse it once and keep the tree"),
            refused("no"),
            refused("no, why would we parse it twice?"),
        )
    )
    assert first.text == 'you decided: "no, parse it once and keep the tree"'
    assert first.more == "in answer to: I propose to parse it twice."


@pytest.mark.parametrize(("answer", "shown"), [("Work on it now", 0), ("Yes", 0), (LONG, 1)])
def test_a_menus_answer_is_shown_only_where_it_says_something(answer, shown):
    """A yes or a go-on is no finding."""
    text, more, worth = discoveries._parse_decision("11:00 answered: What now? → " + answer)
    one = discoveries.Discovery(discoveries.DECISION, "shop", 1, "x-1", text, more, worth)
    assert len(discoveries.pick_best([one])) == shown


def test_there_is_one_of_each_kind_before_a_second():
    """Three at most; a second one only where it tells enough."""
    every = [
        discoveries.Discovery(
            kind, "shop", at, "x-%s%d" % (kind, at), "%s %d" % (kind, at), "", worth
        )
        for kind in discoveries.KINDS
        for at, worth in ((1, 2), (2, 3), (3, 1))
    ]
    assert [one.text for one in discoveries.pick_best(every)] == [
        "decision 2",
        "failure 2",
        "wish 2",
    ]
    decisions = [one for one in every if one.kind == discoveries.DECISION]
    assert [one.text for one in discoveries.pick_best(decisions)] == ["decision 2", "decision 1"]
    assert discoveries.pick_best([]) == []


def test_a_wish_that_was_forgotten_is_none(found, ok):
    """Nor one that was decided on."""

    def wish(one):
        one.ask("From now on always run the linter first.").say("Understood.")

    (one,) = found(wish)
    assert one.text == 'you asked for: "From now on always run the linter first."'
    ok("forget", one.id)
    assert found() == []
