"""What says the same is found, whatever its form; what differs in a fact is never taken for it."""

from __future__ import annotations

import random

import pytest
from harness.notes import SIGNS, near_misses, planted

from memory.core import records
from memory.knowledge import duplicates


def note(name: str, body: str, kind: str = "learnings", **keys: str):
    """A record as it is read from a file."""
    head = "".join("%s: %s\n" % item for item in {"id": name, **keys}.items())
    data = ("---\n%s---\n\n%s\n" % (head, body)).encode()
    return records.from_bytes("p/%s/%s.md" % (kind, name), data, 1.0)


def merged(*found, **counts: int) -> list[tuple[str, str]]:
    """(kept, other) of the duplicates among records."""
    return [(pair.kept.id, pair.other.id) for pair in duplicates.find_duplicates(found, counts)]


@pytest.mark.parametrize("pair", SIGNS)
def test_a_sign_that_stands_alone_or_in_code_is_a_fact(pair):
    """An operator, a wildcard, empty brackets, whatever stands between backticks."""
    one, other = pair
    assert merged(note("a", one, title="x"), note("b", other, title="x")) == []
    assert (
        merged(
            note("a", one, title="x"), note("b", one.replace(" module ", "  module\n"), title="x")
        )
        != []
    )


LONG = " ".join(
    "The worker number word%d waits for the queue and then goes on." % i for i in range(12)
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The cache of `jwt.py` holds 30 s.", "the cache of `jwt.py`\nholds 30 s"),
        ("**Always** quote paths; they hold spaces!", "always quote paths, they hold spaces"),
        ("- Retry twice\n- Then give up", "* retry twice\n* then give up."),
        ("세션에는 Redis를 사용한다.", "세션에는  Redis를 사용한다"),
        ("Don’t use floats", "don't use floats."),
    ],
)
def test_case_marks_and_blanks_make_no_difference(one, other):
    """The same words in the same order are one memory."""
    assert len(merged(note("a", one, title="x"), note("b", other, title="X."))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Wait 30 s for the lock", "Wait 60 s for the lock"),
        ("Wait 30 s for the lock", "Wait 30 ms for the lock"),
        ("Use Redis for sessions", "Do not use Redis for sessions"),
        ("Use Redis, not Memcached", "Use Memcached, not Redis"),
        ("The bug is in src/auth/jwt.py", "The bug is in src/auth/jws.py"),
        ("Call getUser first", "Call GetUser first"),
        ("`MAX` is read once", "`max` is read once"),
        ("Run it with -v", "Run it with -V"),
        ("Run it with --cache", "Run it with --no-cache"),
        ("The tests pass", "Do the tests pass?"),
        ("Check that a == b", "Check that a != b"),
        ("Read .env first", "Read env first"),
        ("Write it in C", "Write it in C#"),
        ("- [ ] tell the operators", "- [x] tell the operators"),
        ("Retry the upload", "Retry the download"),
        ("Retry the upload twice", "Retry the upload"),
        ("세션에는 Redis를 사용한다", "세션에는 Redis를 사용하지 않는다"),
        ("```yaml\na:\n  b: 1\n```", "```yaml\na:\nb: 1\n```"),
        ("```sh\nmake Test\n```", "```sh\nmake test\n```"),
        ("10² items", "102 items"),
    ],
)
def test_a_difference_in_sense_keeps_both(one, other):
    """Numbers, units, paths, identifiers, options, order, questions, code and every word that one
    lacks.
    """
    assert merged(note("a", one, title="x"), note("b", other, title="x")) == []
    assert (
        merged(
            note("a", LONG + "\n\n" + one, title="x"), note("b", LONG + "\n\n" + other, title="x")
        )
        == []
    )


def test_who_stays():
    """Successes first, then a human's, then the newer; what was captured never takes a person's
    place.
    """
    words = "Quote every path that is given to the shell"
    auto, human = (
        note("auto", words, source="auto", accepted="true", updated="2026-11-03"),
        note("human", words),
    )
    agent = note("agent", words, source="agent", updated="2026-11-02")
    newer = note("newer", words, updated="2026-11-05")
    assert merged(auto, human, auto=9) == [("human", "auto")]
    assert merged(agent, human) == [("human", "agent")]
    assert merged(agent, human, agent=2) == [("agent", "human")]
    assert merged(human.replaced(updated=1.0), newer) == [("newer", "human")]
    candidate = note("candidate", words, source="auto")
    assert merged(auto, candidate, candidate=5) == [("auto", "candidate")]


def test_what_is_no_candidate_stays():
    """Rules, plans, the handoff, scripts, other kinds and tiers, other frontmatter, versions beside
    none.
    """
    words = "Quote every path that is given to the shell"
    for folder in ("rules", "plans"):
        assert merged(note("a", words, folder), note("b", words, folder)) == []
    assert (
        merged(
            note("a", words, "checkpoints", session="s1"),
            note("b", words, "checkpoints", session="s2"),
        )
        == []
    )
    assert (
        merged(
            note("a", words, "checkpoints", session="s1"),
            note("b", words, "checkpoints", session="s1"),
        )
        != []
    )
    assert (
        merged(
            note("a", words, "checkpoints", trigger="handoff"),
            note("b", words, "checkpoints", trigger="handoff"),
        )
        == []
    )
    assert (
        merged(
            note("a", words, "resources", type="script", path="x"),
            note("b", words, "resources", type="script", path="x"),
        )
        == []
    )
    assert merged(note("a", words), note("b", words, "checkpoints")) == []
    assert merged(note("a", words), note("b", words).replaced(tier="s")) == []
    assert merged(note("a", words, origin="paper"), note("b", words, origin="talk")) == []
    assert merged(note("a", words, versions="v1"), note("b", words)) == []
    assert merged(note("a", words, versions="v1"), note("b", words, versions="v2")) != []
    assert merged(note("a", words), note("b", words).replaced(size=2 << 20)) == []


def test_planted_duplicates_are_found_among_near_misses():
    """300 planted, 300 near-misses among 1,000: all of the former, none of the latter, the same
    whatever the order.
    """
    chance = random.Random(7)
    base, twins = planted(chance, 1000, 300)
    misses = near_misses(chance, base, 300)
    found = duplicates.find_duplicates([*base, *twins, *misses], {})
    pairs = {frozenset((pair.kept.id, pair.other.id)) for pair in found}
    assert pairs == {frozenset((twin.id, twin.id.replace("twin", "base"))) for twin in twins}
    mixed = [*base, *twins, *misses]
    chance.shuffle(mixed)
    assert [(p.kept.id, p.other.id) for p in duplicates.find_duplicates(mixed, {})] == [
        (p.kept.id, p.other.id) for p in found
    ]
