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
    """The provider of query vectors in one process, with its faults.

    label: of the model that ranked, "" before.
    """

    label: str

    @property
    def floor(self) -> float:
        """The least similarity that counts.

        `recall.minSimilarity`, or below 0 the model's own (FLOORS).
        """

    def is_wanted(self, asked: Optional[bool]) -> bool:
        """Tell whether a query uses vectors.

        asked: the query's own choice, None for the setting.
        """

    def obstacle(self, place: Place) -> str:
        """Return why vectors rank nothing in a place, "" where they do."""

    def vector(self, place: Place, text: str, now: float, notes: List[str]) -> Any:
        """Return the vector of a query's text.

        None with a note of the reason where there is none.
        """

    def prepare(self, place: Place, texts: Sequence[str], now: float) -> None:
        """Get the vectors of several queries.

        Cached ones from the cache, the others from one process of the provider.
        """

    def near(
        self, shelf: Shelf, vector: Any, limit: int, notes: List[str]
    ) -> List[Tuple[str, int, float]]:
        """Return (name, ordinal, similarity) of a shelf's nearest sections.

        [] with a note where there are no vectors.
        """


def semantic(settings: Config, override: str, env: Mapping[str, str]) -> Optional[Semantic]:
    """Return the provider of query vectors, None without its door.

    override: a command of a provider instead of the settings' own, or "".
    """
    made = registry.optional("vectors", "queries")
    found: Optional[Semantic] = made(settings, override, env) if made else None
    return found


def fallback_note(why: str, remedy: str = "") -> str:
    """Return a note on why vectors did not rank."""
    return why + "; ranked by words only" + ("; " + remedy if remedy else "")
