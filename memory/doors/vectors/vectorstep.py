"""The worker's step that updates vectors."""

from __future__ import annotations

import sys

from memory.core import files
from memory.core.config import Config
from memory.core.layout import Place
from memory.doors.vectors import embedder, vectorfile, vectors

EMBEDDED = 200  # chunks of one run; the next run embeds more
EMBEDDING = 60.0  # seconds after which no further batch begins


def step(place: Place, settings: Config, env: dict[str, str], now: float, deadline: float) -> None:
    """Embed new and changed records, if the same model made the vectors.

    deadline: seconds for all of the worker's steps.
    """
    if not files.exists(vectorfile.vectors_path(place)):
        return
    provider = embedder.load_provider(settings, "", env)
    if provider and vectors.read_label(place) == provider.label and _has_numpy():
        provider = provider._replace(timeout=min(provider.timeout, deadline - EMBEDDING))
        vectors.update(place, provider, env, now, EMBEDDED, EMBEDDING)


def _has_numpy() -> bool:
    # A hook's Python (`-S`) does not know its folder at first.
    import importlib.util

    if sys.flags.no_site:
        import site

        site.main()
    return importlib.util.find_spec("numpy") is not None
