"""Vectors built by `index build --embeddings`, and their check by doctor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memory.core import ProviderError, UsageError
from memory.core.config import Config
from memory.core.layout import Place
from memory.core.plaintext import format_count
from memory.doors.vectors import embedder, vectors
from memory.doors.vectors.queryvectors import NO_PROVIDER, SET_UP
from memory.health import OK, WARN, Finding, figures
from memory.terminal.call import Call

PROBE = 20.0  # seconds for a provider's answer to doctor


def build(call: Call, places: Sequence[Place]) -> tuple[list[dict[str, Any]], list[str]]:
    """Update places' vectors; return the results as data and lines."""
    provider = embedder.load_provider(call.settings, call.options.vectors_by or "", call.env)
    if provider is None:
        raise UsageError(NO_PROVIDER)
    out, lines = [], []
    for place in places:
        with call.spinner("making vectors of %s with %s" % (place.key, provider.label)):
            update = vectors.update(place, provider, call.env, call.now)
        out.append({"workspace": place.key, **update._asdict()})
        chunks = format_count(update.embedded, "chunk")
        rest = (update.kept, update.removed, update.took, provider.label)
        line = chunks + " embedded, %d kept, %d removed in %.1f s (%s)" % rest
        if update.busy:
            line = "another process is making its vectors"
        lines.append("%s: %s" % (place.key, line))
    return out, lines


def _find_fault(state: dict[str, Any], label: str) -> str:
    """Return the reason why the stored vectors cannot be used, or ""."""
    if state["problem"]:
        return str(state["problem"])
    if not state["rows"]:
        return "none yet"
    if state["label"] != label:
        return "they were made by another model, " + str(state["label"])
    return ""


def check(place: Place, settings: Config, env: dict[str, str]) -> Iterator[Finding]:
    """Check the provider and the stored vectors, for doctor."""
    state, provider = vectors.state(place), embedder.load_provider(settings, "", env)
    if provider is None:
        if state["rows"] or settings["recall.semantic"]:
            what = "no provider is set up, so recall ranks by words only"
            yield Finding(WARN, "vectors", what, SET_UP)
        return
    try:
        embedder.embed(provider, [("q", "is it there?")], env, PROBE)
    except ProviderError as error:
        yield Finding(WARN, "vectors", "%s: %s" % (provider.label, error), SET_UP)
        return
    fault, records = _find_fault(state, provider.label), format_count(state["records"], "record")
    stored = fault or "%s, %s behind" % (records, state["behind"])
    what = "%s answers; %s" % (provider.label, stored)
    if fault or state["behind"]:
        yield Finding(WARN, "vectors", what, figures.EMBED)
    else:
        yield Finding(OK, "vectors", what, "")
