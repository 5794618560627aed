"""The optional semantic search of recall, behind the door `vectors`.

Used with `--semantic` or the setting `recall.semantic`; without it, or when it fails, words rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memory.doors import registry

if TYPE_CHECKING:
    from memory.core.config import Config

NEAR = 100  # nearest sections of a query; similarity is scaled from the last of them
FILTERED = 1000  # the same, where filters drop some

Semantic = Any  # the door's QueryVectors (doors/vectors/queryvectors.py)


def load_provider(settings: Config, override: str, env: Mapping[str, str]) -> Semantic | None:
    """Load the provider of query vectors, or None without the door `vectors`.

    override: a provider's command instead of the settings' own, or "".
    """
    made = registry.optional("vectors", "queries")
    return made(settings, override, env) if made else None


def format_fallback(why: str, remedy: str = "") -> str:
    """Format a note on why vectors did not rank."""
    return why + "; ranked by words only" + ("; " + remedy if remedy else "")
