"""The second look: exact scores, adjustments, order."""

from __future__ import annotations

from math import exp, log

import pytest

from memory import clock, look, rank, records, text

TABLE = text.Table()


def candidate(name="a", body="jwt issuer", now=0.0, number=0, workspace="here", **meta):
    """One candidate made from the text of a file."""
    lines = "".join("%s: %s\n" % (key, value) for key, value in {"title": "A note", "created": clock.iso(now), **meta}.items())
    data = ("---\n%s---\n\n%s\n" % (lines, body)).encode()
    record = records.from_bytes("p/learnings/%s.md" % name, data, now)
    return look.Candidate(record, "", look.Words(record, "", record.body, TABLE), workspace, "/" + name, number)


def asked(query="jwt issuer", **weights):
    """A question whose terms all weigh the same, unless given."""
    sequence = text.tokens(query)
    return look.Question({t: weights.get(t, 2.0) for t in sequence}, sequence, 20.0, {t: t for t in sequence}, query)


def scored(candidates, question=None, **signals):
    """(score, parts) of candidates by the whole chain."""
    question = question or asked()
    found = look.looks(candidates, question, look.Expansion())
    parts = rank.relevances(candidates, found, question, rank.is_talk(candidates, found))
    return rank.adjusted(candidates, parts, rank.Signals(**{"now": 0.0, **signals}))


def test_bm25_is_the_formula():
    """One term once in the body: weight * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean)); a head counts thrice."""
    one = candidate(body="jwt")
    seen = look.looks([one], asked("jwt"), look.Expansion())[0]
    length = 3 * len(text.tokens("A note")) + 1
    assert seen.length == length
    assert seen.bm25 == pytest.approx(2.0 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / 20.0)))


def test_a_word_of_the_title_weighs_more_than_one_of_the_body():
    """The head counts entry.HEAD_WEIGHT times."""
    head, body = candidate("a", "some text here", title="jwt"), candidate("b", "some jwt here", title="text")
    (first, _), (second, _) = scored([head, body], asked("jwt"))
    assert first > second


def test_terms_that_stand_together_score_above_terms_far_apart():
    """Window and proximity tell two documents with the same words apart."""
    filler = " ".join("filler%s" % chr(97 + i % 26) * 2 for i in range(60))
    near, far = candidate("a", "jwt issuer " + filler), candidate("b", "jwt " + filler + " issuer")
    (first, parts), (second, others) = scored([near, far])
    assert first > second
    assert dict(parts)["window"] > dict(others)["window"] and dict(parts)["proximity"] == pytest.approx(rank.PROXIMITY * 2.0)
    assert dict(others)["proximity"] == 0.0


def test_korean_forms_of_a_word_meet():
    """버튼, 버튼을 and 버튼이 share the terms that the query brings."""
    for body in ("버튼 수정", "버튼을 수정", "버튼이 수정"):
        assert look.looks([candidate(body=body)], asked("버튼"), look.Expansion())[0].bm25 > 0


@pytest.mark.parametrize(("want", "have", "fit"), [
    (["2.0"], ["2.0"], "exact"), (["v2.0"], ["2.0"], "exact"), (["1", "2"], ["2", "1"], "exact"),
    (["2.0"], ["1.0", "2.0"], "superset"), (["1.0", "2.0"], ["2.0"], "subset"), (["1", "2"], ["2", "3"], "overlap"),
    (["2.0"], [], "unversioned"), (["2.0"], ["unversioned"], "unversioned"), (["unversioned"], [], "exact"),
    (["unversioned"], ["unversioned"], "exact"), (["2.0"], ["1.0"], None), (["unversioned"], ["1.0"], None)])
def test_versions_meet_by_the_table(want, have, fit):
    """exact, superset, subset, overlap, unversioned, disjoint."""
    assert rank.version_fit(want, have) == fit


def test_versions_multiply_the_score_and_disjoint_ones_do_not_match():
    """1.0, .95, .85, .75, .70 and no match, only where versions are asked for."""
    made = {"a": "2, 3", "b": "2, 3, 4", "c": "2", "d": "3, 5", "e": "", "f": "7"}
    group = [candidate(name, versions=said) for name, said in made.items()]
    plain = scored(group)
    assert len({round(score, 9) for score, _ in plain}) == 1
    asked_for = scored(group, versions=("2", "3"))
    base = plain[0][0]
    assert [round(score / base, 3) for score, _ in asked_for[:5]] == [1.0, 0.95, 0.85, 0.75, 0.7]
    assert asked_for[5][0] < 0


def test_context_tags_multiply_by_a_tenth_of_their_weights():
    """1 + sum of weight * 0.1 over the tags that the record has."""
    one = candidate(tags="reviewer, Jira-API")
    base = scored([one])[0][0]
    score, parts = scored([one], context_tags=(("reviewer", 1.5), ("jira-api", 2.0), ("absent", 9.0)))[0]
    assert dict(parts)["tags"] == pytest.approx(1.35) and score == pytest.approx(base * 1.35)


def test_recency_frequency_and_context_are_at_most_a_tenth_together():
    """All three at their most give a factor of 1.10, in the proportion 2:1:1."""
    one = candidate(now=0.0)
    score, parts = scored([one], uses={one.record.id: 7}, workspace="here")[0]
    named = dict(parts)
    assert (named["recency"], named["frequency"], named["context"]) == (1.0, 1.0, 1.0)
    assert named["factor"] == pytest.approx(1.10)
    assert score == pytest.approx((named["bm25"] + named["window"] + named["proximity"]) * 1.10 * named["source"])


def test_recency_halves_like_the_formula_and_an_absent_signal_is_not_named():
    """e^(-days / 30) alone moves the factor where there are no uses and one workspace."""
    _, parts = scored([candidate(now=0.0)], now=30 * clock.DAY)[0]
    named = dict(parts)
    assert named["recency"] == pytest.approx(exp(-1)) and named["factor"] == pytest.approx(1 + 0.05 * exp(-1))
    assert "frequency" not in named and "context" not in named and "outcomes" not in named and "version" not in named


def test_another_workspace_counts_half_where_a_topic_of_the_query_is_its_own():
    """1 for the same workspace, 0.5 for the same topic, else 0."""
    here = candidate("a")
    topical, other = candidate("b", workspace="there", tags="auth"), candidate("c", workspace="there")
    found = [dict(parts)["context"] for _, parts in
             scored([here, topical, other], workspace="here", topics=frozenset({"auth"}))]
    assert found == [1.0, 0.5, 0.0]


def test_relevance_leads_over_age():
    """A new weak match stays below an old strong one."""
    old, new = candidate("a", "jwt issuer jwt issuer", now=0.0), candidate("b", "jwt and other words", now=400 * clock.DAY)
    (first, _), (second, _) = scored([old, new], now=400 * clock.DAY)
    assert first > second


def test_asking_for_the_latest_turns_equal_matches_by_age_strongly():
    """The newest of equal matches gains half its score."""
    old, new = candidate("a", now=0.0), candidate("b", now=300 * clock.DAY)
    (first, _), (second, parts) = scored([old, new], now=300 * clock.DAY, latest=True)
    assert second > 1.4 * first and dict(parts)["latest"] == 1.5


def test_a_persons_record_ranks_over_an_agents_and_that_over_a_captured_one():
    """At equal relevance the source decides, even against a newer captured record, and the scores say so."""
    human = candidate("a", source="human", now=0.0)
    agent = candidate("b", source="agent", now=0.0)
    auto, newer = candidate("c", source="auto", now=100 * clock.DAY), candidate("d", source="auto", now=200 * clock.DAY)
    (first, _), (second, _), (third, _), (fourth, _) = scored([human, agent, auto, newer], now=200 * clock.DAY)
    assert first > second > fourth > third


def test_outcomes_are_damped():
    """A hundred failures lower a score, a hundred successes raise it, and neither by more than relevance can outweigh."""
    good, bad = rank.outcome_factor(100, 0), rank.outcome_factor(0, 100)
    assert rank.outcome_factor(0, 0) == 1.0 and 0.4 < bad < 1.0 < good < 1.4
    assert good == pytest.approx((1 + log(101)) ** rank.DAMPED)


def test_the_weighted_variant_adds_shares():
    """0.6 of relative relevance, 0.2 recency, 0.1 frequency, 0.1 context."""
    one, two = candidate("a", "jwt issuer"), candidate("b", "jwt")
    (score, parts), _ = scored([one, two], rerank="weighted")
    assert dict(parts)["relevance"] == pytest.approx(0.6) and dict(parts)["recency"] == pytest.approx(0.2)
    assert score == pytest.approx(0.8 * rank.SOURCE["human"])


def test_without_a_rerank_age_is_nothing():
    """`none` leaves relevance as it is."""
    _, parts = scored([candidate(now=0.0)], now=9e9, rerank="none")[0]
    assert "recency" not in dict(parts) and "factor" not in dict(parts)


def test_notes_of_a_session_support_their_neighbours():
    """The note after a match rises above a stranger with the same words; a long record never counts as talk."""
    notes = [candidate("a", "Ann: jwt issuer", number=0, session="s1"), candidate("b", "Ben: fixed it", number=1, session="s1"),
             candidate("c", "Ann: jwt", number=7, session="s2")]
    found = look.looks(notes, asked(), look.Expansion())
    assert rank.is_talk(notes, found)
    parts = rank.relevances(notes, found, asked(), True)
    assert dict(parts[1])["neighbours"] == pytest.approx(0.5 * found[0].bm25) and found[1].bm25 == 0.0
    long = [candidate("a", "word " * 200, session="s1")]
    assert not rank.is_talk(long, look.looks(long, asked(), look.Expansion()))


def test_the_author_that_a_query_names_is_preferred():
    """A name in the query doubles that author's notes, unless it names everybody."""
    notes = [candidate("a", "jwt", speaker="Ann", session="s"), candidate("b", "jwt", speaker="Ben", session="s")]
    assert rank.authors(notes, asked("what did Ann say about jwt")) == {"Ann"}
    assert rank.authors(notes, asked("Ann and Ben")) == set()


def test_equal_scores_are_ordered_by_id():
    """Same input, same order, whatever the order of the candidates."""
    hits = [rank.Hit(candidate(name, id=name).record, 1.0, (), "", "", 1) for name in "cab"]
    assert [hit.record.id for hit in rank.order(hits)] == ["a", "b", "c"]
    assert rank.order(hits) == rank.order(hits[::-1])


def test_the_reason_names_the_words_and_where_they_stand():
    """Words of the query, not their stems."""
    question = asked("tokens expired")._replace(surface={"token": "tokens", "expir": "expired"})
    seen = look.looks([candidate(title="Tokens", body="they expired")], question, look.Expansion())[0]
    assert rank.why(seen, question) == "title or tags: tokens; text: expired"
