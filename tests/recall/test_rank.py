"""Scores: relevance, fusion with vectors, adjustments, order."""

from __future__ import annotations

import itertools
from math import exp, log

import pytest
from harness.candidates import FITS, asked, candidate, listed, scored

from memory.core import clock
from memory.core.matches import Expansion
from memory.recall import hit, look, rank


@pytest.mark.parametrize(
    ("want", "have", "fit"),
    [
        (["2.0"], ["2.0"], "exact"),
        (["v2.0"], ["2.0"], "exact"),
        (["1", "2"], ["2", "1"], "exact"),
        (["2.0"], ["1.0", "2.0"], "superset"),
        (["1.0", "2.0"], ["2.0"], "subset"),
        (["1", "2"], ["2", "3"], "overlap"),
        (["2.0"], [], "unversioned"),
        (["2.0"], ["unversioned"], "unversioned"),
        (["unversioned"], [], "exact"),
        (["unversioned"], ["unversioned"], "exact"),
        (["2.0"], ["1.0"], None),
        (["unversioned"], ["1.0"], None),
    ],
)
def test_versions_meet_by_the_table(want, have, fit):
    """exact, superset, subset, overlap, unversioned, disjoint."""
    assert rank.compare_versions(want, have) == fit


def test_versions_multiply_the_score_and_disjoint_ones_do_not_match():
    """1.0, .95, .85, .75, .70 and no match, only where versions are asked for."""
    made = {"a": "2, 3", "b": "2, 3, 4", "c": "2", "d": "3, 5", "e": "", "f": "7"}
    group = [candidate(name, versions=said) for name, said in made.items()]
    plain = scored(group)
    asked_for = scored(group, versions=("2", "3"))
    shares = [round(score / base, 3) for (score, _), (base, _) in zip(asked_for, plain)]
    assert shares[:5] == [1.0, 0.95, 0.85, 0.75, 0.7]
    assert asked_for[5][0] < 0


def test_context_tags_multiply_by_a_tenth_of_their_weights():
    """1 + sum of weight * 0.1 over the tags that the record has."""
    one = candidate(tags="reviewer, Jira-API")
    base = scored([one])[0][0]
    score, parts = scored(
        [one], context_tags=(("reviewer", 1.5), ("jira-api", 2.0), ("absent", 9.0))
    )[0]
    assert dict(parts)["tags"] == pytest.approx(1.35) and score == pytest.approx(base * 1.35)


def test_recency_frequency_and_context_are_at_most_a_tenth_together():
    """All three at their most give a factor of 1.10, in the proportion 2:1:1."""
    one = candidate(now=0.0)
    score, parts = scored([one], uses={one.record.id: 7}, workspace="here")[0]
    named = dict(parts)
    assert (named["recency"], named["frequency"], named["context"]) == (1.0, 1.0, 1.0)
    assert named["factor"] == pytest.approx(1.10)
    assert score == pytest.approx(
        (named["bm25"] + named["window"] + named["proximity"]) * 1.10 * named["source"]
    )


def test_recency_frequency_and_context_count_two_to_one_to_one():
    """Each alone moves the factor by its share of a tenth: 0.05, 0.025, 0.025."""

    def by(age, uses, workspace):
        return dict(
            scored(
                [candidate(now=0.0), candidate("b", now=0.0, workspace="other")],
                now=age,
                uses=uses,
                workspace=workspace,
            )[0][1]
        )["factor"]

    one, long_ago = candidate().record.id, 9000 * clock.DAY
    assert by(0.0, {}, "") == pytest.approx(1.05)
    assert by(long_ago, {one: 7}, "") == pytest.approx(1.025)
    assert by(long_ago, {}, "here") == pytest.approx(1.025)


def test_frequency_is_the_logarithm_of_uses_over_that_of_the_most_used():
    """log(1 + uses) / log(1 + most uses)."""
    pair = [candidate("a", id="a"), candidate("b", id="b")]
    found = [dict(parts)["frequency"] for _, parts in scored(pair, uses={"a": 1, "b": 7})]
    assert found == [pytest.approx(log(2) / log(8)), 1.0]


def test_words_weigh_65_and_vectors_35_of_a_hundred():
    """A convex sum over scores: the best by vectors gains 0.35 of the best by words; a factor of
    its own stays.
    """
    words = [(("bm25", 6.0), ("window", 4.0)), (("bm25", 5.0), ("author", 2.0))]
    first, second = rank.fuse_vectors(words, [0.0, 1.0])
    assert first == (("bm25", pytest.approx(3.9)), ("window", pytest.approx(2.6)), ("vector", 0.0))
    assert second == (
        ("bm25", pytest.approx(3.25)),
        ("author", 2.0),
        ("vector", pytest.approx(3.5)),
    )


def test_recency_halves_like_the_formula_and_an_absent_signal_is_not_named():
    """e^(-days / 30) alone moves the factor where there are no uses and one workspace."""
    _, parts = scored([candidate(now=0.0)], now=30 * clock.DAY)[0]
    named = dict(parts)
    assert named["recency"] == pytest.approx(exp(-1)) and named["factor"] == pytest.approx(
        1 + 0.05 * exp(-1)
    )
    assert (
        "frequency" not in named
        and "context" not in named
        and "outcomes" not in named
        and "version" not in named
    )


def test_another_workspace_counts_half_where_a_topic_of_the_query_is_its_own():
    """1 for the same workspace, 0.5 for the same topic, else 0."""
    here = candidate("a")
    topical, other = (
        candidate("b", workspace="there", tags="auth"),
        candidate("c", workspace="there"),
    )
    found = [
        dict(parts)["context"]
        for _, parts in scored([here, topical, other], workspace="here", topics=frozenset({"auth"}))
    ]
    assert found == [1.0, 0.5, 0.0]


def test_relevance_leads_over_age():
    """A new weak match stays below an old strong one."""
    old, new = (
        candidate("a", "jwt issuer jwt issuer", now=0.0),
        candidate("b", "jwt and other words", now=400 * clock.DAY),
    )
    (first, _), (second, _) = scored([old, new], now=400 * clock.DAY)
    assert first > second


def test_asking_for_the_latest_turns_equal_matches_by_age_strongly():
    """The newest of equal matches gains half its score."""
    old, new = candidate("a", now=0.0), candidate("b", now=300 * clock.DAY)
    (first, _), (second, parts) = scored([old, new], now=300 * clock.DAY, latest=True)
    assert second > 1.4 * first and dict(parts)["latest"] == 1.5


def test_a_persons_record_ranks_over_an_agents_and_that_over_a_captured_one():
    """At equal relevance the source decides, even against a newer captured record, and the scores
    say so.
    """
    human = candidate("a", source="human", now=0.0)
    agent = candidate("b", source="agent", now=0.0)
    auto, newer = (
        candidate("c", source="auto", now=100 * clock.DAY),
        candidate("d", source="auto", now=200 * clock.DAY),
    )
    (first, _), (second, _), (third, _), (fourth, _) = scored(
        [human, agent, auto, newer], now=200 * clock.DAY
    )
    assert first > second > fourth > third
    alone = [
        dict(scored([candidate(source=source)])[0][1])["source"]
        for source in ("human", "agent", "auto")
    ]
    assert alone == [1.02, 1.01, 1.0]


def test_what_a_repository_says_of_itself_ranks_below_ones_own():
    """A shared file that calls itself a person's stands behind a private one of an agent, and
    before what was captured.
    """
    claimed = candidate("a", source="human", accepted="true", pinned="true", tier="s", now=0.0)
    agent, auto = candidate("b", source="agent", now=0.0), candidate("c", source="auto", now=0.0)
    (shared, _), (own, _), (captured, _) = scored([claimed, agent, auto], now=0.0)
    assert own > shared > captured


def test_outcomes_are_damped():
    """A hundred failures lower a score, a hundred successes raise it, and neither by more than
    relevance can outweigh.
    """
    good, bad = rank.outcome_factor(100, 0), rank.outcome_factor(0, 100)
    assert rank.outcome_factor(0, 0) == 1.0 and 0.4 < bad < 1.0 < good < 1.4
    assert good == pytest.approx((1 + log(101)) ** 0.15)


def test_outcomes_follow_the_formula_and_its_floor():
    """max(0.01, 1 + ln(1 + successes) - 0.5 ln(1 + failures)), damped by the exponent 0.15."""
    assert rank.outcome_factor(2, 1) == pytest.approx((1 + log(3) - 0.5 * log(2)) ** 0.15)
    assert rank.outcome_factor(0, 1000) == pytest.approx(0.01**0.15)


def test_the_weighted_variant_adds_shares():
    """0.6 of relative relevance, 0.2 recency, 0.1 frequency, 0.1 context."""
    one, two = candidate("a", "jwt issuer"), candidate("b", "jwt")
    (score, parts), _ = scored([one, two], rerank="weighted")
    assert dict(parts)["relevance"] == pytest.approx(0.6) and dict(parts)[
        "recency"
    ] == pytest.approx(0.2)
    assert score == pytest.approx(0.8 * rank.SOURCE["human"])


def test_the_shares_of_the_weighted_variant_are_6_2_1_1_tenths():
    """Each signal at its most gives its share alone; together they are 1."""
    best, rest = (
        candidate("a", "jwt issuer", id="a"),
        candidate("b", "jwt", id="b", workspace="other"),
    )
    score, parts = scored([best, rest], rerank="weighted", uses={"a": 3}, workspace="here")[0]
    named = dict(parts)
    assert {
        name: round(named[name], 9) for name in ("relevance", "recency", "frequency", "context")
    } == {"relevance": 0.6, "recency": 0.2, "frequency": 0.1, "context": 0.1}
    assert score == pytest.approx(1.0 * 1.02)


def test_without_a_rerank_age_is_nothing():
    """`none` leaves relevance as it is."""
    _, parts = scored([candidate(now=0.0)], now=9e9, rerank="none")[0]
    assert "recency" not in dict(parts) and "factor" not in dict(parts)


def test_notes_of_a_session_support_their_neighbours():
    """The note after a match rises above a stranger with the same words; a long record never counts
    as talk.
    """
    notes = [
        candidate("a", "Ann: jwt issuer", number=0, session="s1"),
        candidate("b", "Ben: fixed it", number=1, session="s1"),
        candidate("c", "Ann: jwt", number=7, session="s2"),
    ]
    found = look.compute_features(notes, asked(), Expansion())
    assert rank.is_dialogue(notes, found)
    parts = rank.score_relevance(notes, found, asked(), True)
    assert (
        dict(parts[1])["neighbours"] == pytest.approx(0.5 * found[0].bm25) and found[1].bm25 == 0.0
    )
    long = [candidate("a", "word " * 200, session="s1")]
    assert not rank.is_dialogue(long, look.compute_features(long, asked(), Expansion()))


def test_the_author_that_a_query_names_is_preferred():
    """A name in the query doubles that author's notes, unless it names everybody."""
    notes = [
        candidate("a", "jwt", speaker="Ann", session="s"),
        candidate("b", "jwt", speaker="Ben", session="s"),
    ]
    assert rank.find_named_speakers(notes, asked("what did Ann say about jwt")) == {"Ann"}
    assert rank.find_named_speakers(notes, asked("Ann and Ben")) == set()


def test_equal_scores_are_ordered_by_id():
    """Same input, same order, whatever the order of the candidates."""
    hits = [hit.from_record(candidate(name, id=name).record, "here", "/" + name) for name in "cab"]
    assert [one.id for one in rank.sort_hits(hits)] == ["a", "b", "c"]
    assert rank.sort_hits(hits) == rank.sort_hits(hits[::-1])


def test_the_reason_names_the_words_and_where_they_stand():
    """Words of the query, not their stems."""
    question = asked("tokens expired")._replace(surface={"token": "tokens", "expir": "expired"})
    seen = look.compute_features(
        [candidate(title="Tokens", body="they expired")], question, Expansion()
    )[0]
    assert (
        rank.explain_match(seen, rank.list_query_words(question))
        == "tokens in the title or tags; expired in the text"
    )


@pytest.mark.parametrize(("asked", "held", "fit"), FITS)
def test_versions_meet_by_the_table_in_any_order(asked, held, fit):
    """Whichever comes first, repeated, with or without `v`, in capitals or not."""
    for want in itertools.permutations(listed(asked)):
        for have in itertools.permutations(listed(held)):
            for spelt in (
                lambda v: v,
                lambda v: "v" + v if v[0].isdigit() else v.upper(),
                lambda v: " %s " % v,
            ):
                assert rank.compare_versions([*map(spelt, want), want[0]], have) == fit
                assert rank.compare_versions(want, [spelt(v) for v in (*have, *have[:1])]) == fit


def of(id, score, kind="checkpoint", session="s-1", turn=0):
    """A hit of a session."""
    record = candidate(id, id=id, kind=kind, session=session, source="auto").record
    return hit.from_record(record, "here", "/" + id)._replace(
        score=score, turn=turn, talk=record if turn else None, parts=(("bm25", score),)
    )


def test_a_session_scores_by_its_better_half_and_a_share_of_the_other():
    """Checkpoint and turn are two witnesses; a second checkpoint is none."""
    both = rank.merge_sessions(
        [of("c1", 4.0), of("c2", 3.0), of("v1", 5.0, "conversation", turn=2)], {"/v1": 1}
    )
    (one,) = both
    assert one.id == "c1" and one.turn == 2 and one.conversation == "v1" and one.others == ("c2",)
    assert one.score == pytest.approx(5.0 + rank.SUPPORT * 4.0)
    notes = rank.merge_sessions([of("c1", 4.0), of("c2", 3.0), of("c3", 2.0, session="s-2")], {})
    assert [(each.id, each.score, each.others) for each in notes] == [
        ("c1", 4.0, ("c2",)),
        ("c3", 2.0, ()),
    ]
    assert [
        each.id for each in rank.merge_sessions([of("v1", 5.0, "conversation", turn=2)], {})
    ] == ["v1"]


def test_a_note_is_a_lesser_witness():
    """It adds a share to a session found by checkpoint and turn, and makes no hit beside one."""
    halves = [of("c1", 4.0), of("v1", 5.0, "conversation", turn=2)]
    (noted,) = rank.merge_sessions([*halves, of("n1", 3.0, "note")], {"/v1": 1})
    (alone,) = rank.merge_sessions(halves, {"/v1": 1})
    assert noted.id == "c1" and noted.score == pytest.approx(alone.score + rank.NOTED * 3.0)


def test_a_session_of_many_turns_counts_less_than_one_of_few():
    """The best of fifty turns holds the words of any query; how much less stands among the
    parts.
    """
    long, short = (
        [of("c", 4.0, session=name), of("v", 5.0, "conversation", name, turn=1)]
        for name in ("s-1", "s-2")
    )
    (many,), (few,) = rank.merge_sessions(long, {"/v": 50}), rank.merge_sessions(short, {"/v": 2})
    assert many.score < few.score < 5.0 + rank.SUPPORT * 4.0
    assert dict(many.parts)["turns"] == pytest.approx(1 / (1 + rank.CROWD * log(50)))
    (alone,) = rank.merge_sessions(long[1:], {"/v": 50})
    assert alone.score == pytest.approx(5.0 * dict(alone.parts)["turns"])


def test_a_title_counts_less_for_a_long_query():
    """What is pasted is about more than one title; up to LONG words nothing changes."""

    def title(words):
        said = look.Question(
            {"jwt": 1.0}, ["jwt"], 100.0, {}, " ".join(["jwt"] * words), lambda term: 1.0
        )
        one = [candidate(title="jwt issuer")]
        return dict(
            rank.score_relevance(one, look.compute_features(one, said, Expansion()), said, False)[0]
        )["title"]

    assert title(1) == title(rank.LONG) == 2 * title(2 * rank.LONG)


def test_a_reason_names_the_piece_of_a_word_that_matched(run):
    """Not the whole word, which stands nowhere."""
    run("learn", "The v2 importer drops rows without an id")
    run("learn", "See src/auth/jwt.py: the issuer must match")
    said = run("recall", "hunter2supersecret").stdout
    assert "2 of hunter2supersecret in the title" in said
    assert "py of calc.py in the title" in run("recall", "calc.py").stdout
    assert "      src/auth/jwt.py in the title" in run("recall", "src/auth/jwt.py").stdout
