"""The loader: which learnings a prompt gets, and above all when none."""

from __future__ import annotations

import pytest
from harness import vault

from memory.hook import loader, strategies


@pytest.fixture
def many(place, now):
    """Forty learnings, of which four are about something."""
    vault.learnings(place, 36)
    vault.put(
        place,
        "p/learnings/jwt.md",
        "JWT issuer mismatch",
        "verify_token rejects a trailing slash in the issuer.",
        tags="[auth]",
    )
    vault.put(
        place,
        "p/learnings/kafka.md",
        "Kafka offsets",
        "Commit offsets after the batch, not before.",
        tags="[queue]",
    )
    vault.put(
        place,
        "p/learnings/docker.md",
        "Docker layer cache",
        "Copy pyproject.toml first.",
        tags="[build]",
    )
    vault.put(
        place,
        "p/learnings/flaky.md",
        "Flaky clock test",
        "Freeze the clock fixture in pytest.",
        tags="[testing]",
    )
    return vault.built(place, now)


def chosen(index, prompt, shown=(), mode="default", **changes):
    choice = loader.choose_learnings(index, prompt, mode, vault.settings(**changes), set(shown))
    return [index.doc(p.number).id for p in choice.picks]


@pytest.mark.parametrize(
    ("prompt", "first"),
    [
        ("why does verify_token reject the issuer?", "jwt"),
        ("kafka commits offsets twice", "kafka"),
        ("the docker layer cache is never used", "docker"),
        ("the clock fixture makes tests flaky", "flaky"),
    ],
)
def test_a_prompt_gets_what_it_is_about(many, prompt, first):
    """By words, by identifier, in every topic."""
    assert chosen(many, prompt)[0] == first


@pytest.mark.parametrize(
    "prompt",
    [
        "yes",
        "go on",
        "yes, go on",
        "continue",
        "run the tests",
        "fix it",
        "add a function to the file",
        "thanks, looks good",
        "ok",
        "commit and push",
        "what about the other one?",
        "please explain this code",
        "make the layout responsive on phones",
        "네",
        "はい",
        "😀",
    ],
)
def test_most_prompts_get_nothing(many, prompt):
    """Answers, errands and new topics."""
    assert chosen(many, prompt) == []


def test_a_record_comes_once_a_session(many):
    """What was shown is not chosen again."""
    assert chosen(many, "kafka offsets", shown={"kafka"}) == []


def test_a_wrong_category_never_hides_an_exact_hit(many):
    """The prompt speaks of tests; the learning it needs is about queues."""
    prompt = "write a pytest fixture with a mock for the kafka offsets batch"
    choice = loader.choose_learnings(many, prompt, "default", vault.settings(), set())
    assert choice.category == "testing" and choice.strategy.name == "topic_filter"
    assert "kafka" in [many.doc(p.number).id for p in choice.picks]
    assert any("exact outside testing" in p.reason for p in choice.picks)


def test_the_permission_mode_speaks_where_the_prompt_does_not():
    """Planning is about design."""
    assert (
        strategies.classify_prompt(frozenset(["xyzzy"]), "plan", strategies.CATEGORIES) == "design"
    )
    assert strategies.classify_prompt(frozenset(["xyzzy"]), "default", strategies.CATEGORIES) == ""


def test_a_prompt_gets_at_most_the_top_few(place, now):
    """`load.top` is a ceiling."""
    for i in range(12):
        vault.put(
            place, f"p/learnings/k{i}.md", f"Kafka offsets {i}", f"kafka offsets rebalance case{i}"
        )
    vault.learnings(place, 30)
    index = vault.built(place, now)
    assert len(chosen(index, "kafka offsets rebalance", load_top=5)) == 5


@pytest.mark.parametrize("size", [12, 40, 400])
def test_the_threshold_means_the_same_in_a_small_and_a_large_store(place, now, size):
    """One exact learning is found, and an errand finds nothing, whatever the number of records."""
    vault.learnings(place, size - 1)
    vault.put(place, "p/learnings/kafka.md", "Kafka offsets", "Commit offsets after the batch.")
    index = vault.built(place, now)
    assert chosen(index, "kafka loses offsets") == ["kafka"]
    assert chosen(index, "run the tests again and fix the error") == []


def test_a_prompt_about_something_else_gets_nothing(place, now):
    """Two words of a learning in a prompt whose other words it does not hold, whether the store
    knows those or not.
    """
    vault.learnings(place, 40)
    vault.put(
        place,
        "p/learnings/kafka.md",
        "Kafka consumer offsets",
        "Commit the offsets after the batch.",
    )
    vault.put(
        place, "p/learnings/charts.md", "Charts", "The dashboard shows revenue by region and week."
    )
    index = vault.built(place, now)
    assert chosen(index, "kafka consumer offsets are wrong") == ["kafka"]
    assert chosen(index, "hire a consumer lawyer who knows kafka's novels and prague") == []
    assert chosen(index, "kafka consumer revenue dashboard by region and week") == ["charts"]


def test_pasted_text_does_not_hide_what_a_prompt_says(place, now):
    """The first and the last line of a long prompt are matched on their own."""
    vault.learnings(place, 40)
    vault.put(
        place,
        "p/learnings/kafka.md",
        "Kafka consumer offsets",
        "Commit the offsets after the batch.",
    )
    index = vault.built(place, now)
    pasted = "\n".join("frame %d at 0x%x in module%d" % (n, n * 4096, n) for n in range(60))
    assert chosen(index, pasted) == []
    assert chosen(index, "kafka consumer offsets get lost\n" + pasted) == ["kafka"]
    assert chosen(index, pasted + "\nwhy are the kafka consumer offsets lost?") == ["kafka"]
    assert loader.split_prompt("short\nprompt") == ["short\nprompt"]
    assert all(
        len(piece) <= loader.PIECE
        for piece in loader.split_prompt(" ".join(map(str, range(200))))[:2]
    )


def test_beside_the_best_learning_only_its_like_are_pushed(place, now):
    """A learning that shares half of the words stays out where another has them all."""
    vault.learnings(place, 40)
    vault.put(
        place,
        "p/learnings/kafka.md",
        "Kafka consumer offsets",
        "Commit the offsets after the batch.",
    )
    vault.put(place, "p/learnings/rebalance.md", "Kafka consumer rebalancing", "Takes a minute.")
    index = vault.built(place, now)
    assert chosen(index, "kafka consumer offsets") == ["kafka"]
    assert sorted(chosen(index, "kafka consumer")) == ["kafka", "rebalance"]


def test_a_learning_weighs_the_same_wherever_the_index_has_it(place, now):
    """The first one ever written stands alone in the segment, the others in the log: each counts
    among all of them.

    Not to the digit: impacts were laid out for the mean length of that time.
    """
    from memory.hook import indexview
    from memory.index import builder

    vault.put(
        place, "p/learnings/jwt.md", "JWT issuer", "The issuer must match, or verify_token fails."
    )
    builder.build(place, now)
    vault.learnings(place, 14)
    builder.refresh(place, now)
    prompt = "verify_token fails with an invalid issuer, why?"
    apart = indexview.open_index(place)
    assert apart.segment.docs == 1 and len(apart.delta.docs) == 14
    before = loader.choose_learnings(apart, prompt, "", vault.settings(), set()).picks
    builder.build(place, now)
    after = loader.choose_learnings(
        indexview.open_index(place), prompt, "", vault.settings(), set()
    ).picks
    assert len(before) == len(after) == 1 and before[0].relevance == pytest.approx(
        after[0].relevance, rel=0.3
    )


def test_a_small_store_pushes_only_what_the_start_did_not_show(place, now):
    """All was said at the session's start, but for what was written since or did not fit."""
    vault.put(place, "p/learnings/kafka.md", "Kafka offsets", "Commit offsets after the batch.")
    index = vault.built(place, now)
    assert chosen(index, "kafka offsets", shown={"kafka"}) == []
    assert chosen(index, "kafka offsets") == ["kafka"]
    assert (
        loader.choose_learnings(
            index, "kafka offsets", "default", vault.settings(), set()
        ).strategy.name
        == "load_all"
    )


def test_a_long_learning_does_not_hide_a_short_one(place, now, monkeypatch):
    """Its sections fill every place; the short one is pushed with it, and alone once the long one
    was shown.
    """
    section = "\n\n## Part %d\n\n" + "postgres pooling timeout " * 20
    vault.put(
        place,
        "p/learnings/big.md",
        "Postgres pooling timeout",
        "".join(section % i for i in range(60)),
    )
    vault.put(place, "p/learnings/short.md", "Postgres pooling timeout", "It comes from pgbouncer.")
    vault.learnings(place, 900)
    opened = vault.built(place, now)
    prompt = "the postgres pooling timeout is back"
    monkeypatch.setattr(loader, "RELEVANCE", 0.6)
    picked = [
        opened.doc(p.number).id
        for p in loader.choose_learnings(opened, prompt, "", vault.settings(), set()).picks
    ]
    assert picked[:2] and set(picked) == {"big", "short"}
    later = loader.choose_learnings(opened, prompt, "", vault.settings(), {"big"}).picks
    assert [opened.doc(p.number).id for p in later] == ["short"]


@pytest.mark.parametrize("shown", [0, 13, 26])
def test_many_long_learnings_do_not_hide_a_short_one(place, now, shown, monkeypatch):
    """Candidates are counted in learnings that the session has not seen."""
    section = "\n\n## Part %d\n\n" + "postgres pooling timeout " * 36
    for n in range(26):
        vault.put(
            place,
            "p/learnings/big%d.md" % n,
            "Postgres pooling timeout",
            "".join(section % i for i in range(8)),
        )
    vault.put(place, "p/learnings/short.md", "Postgres pooling timeout", "It comes from pgbouncer.")
    vault.learnings(place, 2000)
    opened = vault.built(place, now)
    monkeypatch.setattr(loader, "RELEVANCE", 0.3)
    settings = vault.settings(load_top=40)
    seen = {"big%d" % n for n in range(shown)}
    picks = loader.choose_learnings(
        opened, "the postgres pooling timeout is back", "", settings, seen
    ).picks
    ids = [opened.doc(p.number).id for p in picks]
    assert len(ids) == len(set(ids)) and not seen & set(ids)
    assert len(ids) >= min(24, 27 - shown) and ("short" in ids or shown == 0)


def test_no_learning_is_pushed_where_the_user_wants_none(place, now):
    """load.top 0 means none, not as many as there are."""
    vault.learnings(place, 40)
    opened = vault.built(place, now)
    assert (
        loader.choose_learnings(
            opened, "topic003 word003x1", "", vault.settings(load_top=0), set()
        ).picks
        == []
    )


def test_an_identifier_in_the_prompt_is_in_every_category():
    """A learning that names what the prompt names is not outside; words alone are, unless they are
    many.
    """
    words, named = [("why", 0.7), ("fail", 0.7)], [("verify_token", 1.3), ("fail", 0.1)]
    assert loader.explain_refusal(1.3, words, "auth") == "outside auth, below 1.50"
    assert loader.explain_refusal(1.3, named, "auth") == ""
    assert loader.explain_refusal(1.1, named, "auth") == "below 1.20"
