"""Vectors in a test: asked for, found, drawn, and what is kept of them."""

from __future__ import annotations

from contextlib import closing

import pytest

from memory.doors.vectors import embedder, nearest, vectorfile
from memory.doors.vectors.vectorfile import Sidecar

np = pytest.importorskip("numpy")


def ask(provider, env, text: str):
    """Return the vector of a query."""
    return embedder.embed(provider, [("q", text)], env)["q"]


def names(place, vector, limit: int = 3) -> list[str]:
    """Return the names that a search finds."""
    return [name for name, _, _ in nearest.search(place, vector, limit)]


def contents(place) -> dict:
    """Return the stored chunks of every record by name."""
    found: dict = {}
    with closing(Sidecar(place)) as side:
        for name, *chunk in side.chunks():
            found.setdefault(vectorfile.decode_name(name), []).append(tuple(chunk))
    return found


def matrix(count: int, dims: int, seed: int = 1, clusters: int = 20):
    """Return clustered vectors of length 1."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((clusters, dims))
    found = centres[random.integers(0, clusters, count)] + random.standard_normal((count, dims))
    return (found / np.sqrt((found * found).sum(1, keepdims=True))).astype(np.float32)
