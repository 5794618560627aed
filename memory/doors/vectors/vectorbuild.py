"""Vectors built by `index build --embeddings`, and their check by doctor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memory.core import ProviderError, UsageError, plaintext
from memory.core.config import Config
from memory.core.layout import Place
from memory.core.plaintext import format_count
from memory.doors.vectors import embedder, vectors
from memory.doors.vectors.queryvectors import SET_UP
from memory.health import OK, WARN, Finding, figures
from memory.terminal.call import Call

PROBE = 20.0  # seconds for a provider's answer to doctor


def build(call: Call, places: Sequence[Place]) -> tuple[list[dict[str, Any]], list[str]]:
    """Update places' vectors; return the results as data and lines."""
    provider = embedder.load_provider(call.settings, call.options.vectors_by or "", call.env)
    if provider is None:
        raise UsageError("no provider of vectors is set up: " + SET_UP)
    out, lines = [], []
    for place in places:
        with call.spinner("making vectors of %s with %s" % (place.key, provider.label)):
            made = vectors.update(place, provider, call.env, call.now)
        out.append({"workspace": place.key, **made._asdict()})
        lines.append(
            "%s: another process is making its vectors" % place.key
            if made.busy
            else "%s: %s embedded, %d kept, %d removed in %.1f s (%s)"
            % (
                place.key,
                plaintext.format_count(made.embedded, "chunk"),
                made.kept,
                made.removed,
                made.took,
                provider.label,
            )
        )
    return out, lines


def _find_fault(made: dict[str, Any], label: str) -> str:
    """Return the reason why the stored vectors cannot be used, or ""."""
    if made["problem"]:
        return str(made["problem"])
    if not made["rows"]:
        return "none yet"
    if made["label"] != label:
        return "they were made by another model, " + str(made["label"])
    return ""


def check(place: Place, settings: Config, env: dict[str, str]) -> Iterator[Finding]:
    """Check the provider and the stored vectors, for doctor."""
    made, provider = vectors.state(place), embedder.load_provider(settings, "", env)
    if provider is None:
        if made["rows"] or settings["recall.semantic"]:
            yield Finding(
                WARN, "vectors", "no provider is set up, so recall ranks by words only", SET_UP
            )
        return
    try:
        embedder.embed(provider, [("q", "is it there?")], env, PROBE)
    except ProviderError as error:
        yield Finding(WARN, "vectors", "%s: %s" % (provider.label, error), SET_UP)
        return
    fault = _find_fault(made, provider.label)
    if fault:
        yield Finding(WARN, "vectors", "%s answers; %s" % (provider.label, fault), figures.EMBED)
    else:
        yield Finding(
            WARN if made["behind"] else OK,
            "vectors",
            "%s answers; %s, %s behind"
            % (provider.label, format_count(made["records"], "record"), made["behind"]),
            figures.EMBED if made["behind"] else "",
        )
