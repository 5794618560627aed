"""What recall asks of vectors: their shape, and the door that has them.

Used where the query asks for it (`--semantic`) or `recall.semantic` is set, and never needed:
without the door, or whatever fails behind it, words alone rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Protocol, Sequence, Tuple

from memory.doors import registry

if TYPE_CHECKING:
    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.recall.shelf import Shelf

NEAR = 100  # sections that a query's vector may bring; similarity counts from the last of them on
FILTERED = 1000  # the same, where filters drop some


class Semantic(Protocol):
    """The vectors of the queries of one process; `label` names the model that ranked."""

    label: str

    @property
    def floor(self) -> float:
        """The least similarity that counts."""

    def is_wanted(self, asked: Optional[bool]) -> bool:
        """Tell whether a query is to use vectors; asked: its own word, None for none."""

    def obstacle(self, place: Place) -> str:
        """Return why vectors rank nothing in a place, "" where they do."""

    def vector(self, place: Place, text: str, now: float, notes: List[str]) -> Any:
        """Return the vector of a query's text, or None with a note."""

    def prepare(self, place: Place, texts: Sequence[str], now: float) -> None:
        """Get the vectors of several queries at once."""

    def near(
        self, shelf: Shelf, vector: Any, limit: int, notes: List[str]
    ) -> List[Tuple[str, int, float]]:
        """Return (name, ordinal, similarity) of the sections nearest to a query."""


def semantic(settings: Config, override: str, env: Mapping[str, str]) -> Optional[Semantic]:
    """Return the vectors of a process's queries, None where the door is not there.

    override: a command of a provider instead of the settings' own, or "".
    """
    made = registry.optional("vectors", "queries")
    found: Optional[Semantic] = made(settings, override, env) if made else None
    return found


def fell_back(why: str, remedy: str = "") -> str:
    """Return the note that says why vectors did not rank."""
    return why + "; ranked by words only" + ("; " + remedy if remedy else "")
