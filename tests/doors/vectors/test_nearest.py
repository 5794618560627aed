"""The sections nearest to a query: what is found, in which order, whatever was replaced."""

from __future__ import annotations

from contextlib import closing

import pytest
from harness import vault
from harness.embedded import ask, matrix, names

from memory.doors.vectors import nearest, vectorfile, vectors

np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True, params=[0, nearest.MOST_PLAIN], ids=["numpy", "plain"])
def way(request, monkeypatch):
    """Each test searches with NumPy, and without it where the rows are few."""
    monkeypatch.setattr(nearest, "MOST_PLAIN", request.param)


def written(place, found, per: int = 1) -> None:
    """Write vectors as records of `per` sections each."""
    scales, numbers = vectorfile.quantise(found)
    with closing(vectorfile.Sidecar.create(place, place.key, "x", "", found.shape[1])) as side:
        side.replace(
            {
                f"p/learnings/l{i:06d}.md": vectorfile.RecordVectors(
                    0,
                    0,
                    b"",
                    [(at, bytes(16), scales[i + at], numbers[i + at]) for at in range(per)],
                )
                for i in range(0, len(found), per)
            }
        )


@pytest.mark.parametrize("dims", [8, 13, 64, 100, 384])
def test_search_is_brute_force(place, dims):
    """Order and similarity are those of all cosines, computed here in double precision."""
    found = matrix(900, dims)
    written(place, found, per=3)
    for query in matrix(5, dims, seed=2):
        exact = found.astype(np.float64) @ query
        order = np.argsort(-exact)[:20]
        hits = nearest.search(place, query * 3.0, 20)
        similar = {(f"p/learnings/l{i // 3 * 3:06d}.md", i % 3): exact[i] for i in range(900)}
        assert [value for _, _, value in hits] == sorted(
            (value for _, _, value in hits), reverse=True
        )
        for name, ordinal, value in hits:
            assert abs(similar[name, ordinal] - value) < 0.01
            assert similar[name, ordinal] > exact[order[-1]] - 0.01


def test_equal_similarities_are_ordered_by_name(place):
    """The same vectors in 3,000 records: the first names, every time."""
    written(place, np.repeat(matrix(1, 64), 3000, axis=0))
    for _ in range(2):
        assert names(place, matrix(1, 64)[0], 4) == [f"p/learnings/l{i:06d}.md" for i in range(4)]


def test_a_replaced_record_is_found_by_its_new_words_alone(store, provider, env, now):
    """Its old vectors are gone."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    old = ask(provider, env, " ".join(f"word9x{j}" for j in range(12)))
    before = {name: value for name, _, value in nearest.search(store, old, 30)}
    vault.put(store, "p/learnings/l09.md", "Other", "pears apples plums")
    vectors.update(store, provider, env, now)
    after = {name: value for name, _, value in nearest.search(store, old, 30)}
    assert (
        before["p/learnings/l09.md"] > 0.9 > 0.6 > after["p/learnings/l09.md"] and len(after) == 30
    )
    assert names(store, ask(provider, env, "pears apples plums"), 1) == ["p/learnings/l09.md"]


def test_a_section_counts_once(place, provider, env, now):
    """Several chunks of one section are one hit, with the best of them."""
    vault.put(place, "p/learnings/long.md", "Long", " ".join(f"word{i % 200}" for i in range(1000)))
    vault.put(place, "p/learnings/short.md", "Short", "another thing")
    vectors.update(place, provider, env, now)
    hits = nearest.search(place, ask(provider, env, "word1 word2"), 10)
    assert sorted(hit[:2] for hit in hits) == [
        ("p/learnings/long.md", 0),
        ("p/learnings/short.md", 0),
    ]


@pytest.mark.parametrize("limit", [0, 1, 29, 30, 1000])
def test_any_limit(store, provider, env, now, limit):
    """None, all, and more than there are."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    assert len(nearest.search(store, np.ones(64, np.float32), limit)) == min(limit, 30)
