"""How good answers are."""

from __future__ import annotations

from memory.health import rankingmetrics


def test_the_maths():
    """Recall at a depth is the share of what is expected, the reciprocal rank that of the first
    found.
    """
    found = rankingmetrics.sum_metrics(
        {"a": ["x", "y", "z"], "b": []},
        [{"id": "a"}, {"id": "b"}],
        {"a": {"y": 1.0, "q": 1.0}, "b": {"z": 1.0}},
    )
    assert (found["r@1"], found["r@5"], found["mrr"]) == (0, 0.5, 0.5)
    assert rankingmetrics.rank_by_word_count(
        [("a", "Kafka kafka"), ("b", "kafka"), ("c", "x")], [("q", "the kafka")]
    ) == {"q": ["a", "b"]}
