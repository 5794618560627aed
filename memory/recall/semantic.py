"""What recall asks of vectors: their shape, and the door that has them.

Used where the query asks for it (`--semantic`) or `recall.semantic` is set, and never needed:
without the door, or whatever fails behind it, words alone rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

from memory.doors import registry

if TYPE_CHECKING:
    from memory.core.config import Config

NEAR = 100  # sections that a query's vector may bring; similarity counts from the last of them on
FILTERED = 1000  # the same, where filters drop some


Semantic = Any  # the door's QueryVectors (doors/vectors/queryvectors.py)


def semantic(settings: Config, override: str, env: Mapping[str, str]) -> Optional[Semantic]:
    """Return the provider of query vectors, None without its door.

    override: a command of a provider instead of the settings' own, or "".
    """
    made = registry.optional("vectors", "queries")
    return made(settings, override, env) if made else None


def fallback_note(why: str, remedy: str = "") -> str:
    """Return a note on why vectors did not rank."""
    return why + "; ranked by words only" + ("; " + remedy if remedy else "")
