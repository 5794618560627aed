"""Vectors made behind the hooks."""

from __future__ import annotations

import sys

from memory.core import files
from memory.core.config import Config
from memory.core.layout import Place
from memory.doors.vectors import embedder, vectorfile, vectors

EMBEDDED = 200  # chunks that one background run embeds; the next one goes on
# seconds after which it asks for no more of them; one answer has the rest of its time
EMBEDDING = 60.0


def step(place: Place, settings: Config, env: dict[str, str], now: float, deadline: float) -> None:
    """Embed new and changed records.

    Only where `index build --embeddings` has made vectors with the same model. deadline: seconds
    for all of the worker's steps.
    """
    if not files.exists(vectorfile.path_of(place)):
        return
    provider = embedder.from_settings(settings, "", env)
    if provider and vectors.label_of(place) == provider.label and _has_numpy():
        provider = provider._replace(timeout=min(provider.timeout, deadline - EMBEDDING))
        vectors.update(place, provider, env, now, EMBEDDED, EMBEDDING)


def _has_numpy() -> bool:
    """Tell whether NumPy is installed."""
    # A hook's Python (`-S`) does not know its folder at first.
    import importlib.util

    if sys.flags.no_site:
        import site

        site.main()
    return importlib.util.find_spec("numpy") is not None
