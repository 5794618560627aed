"""Which terms of a question the words of a text hold, each word worked out once."""

from __future__ import annotations

from memory.core import tokeniser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Tuple

    Match = Tuple[int, Tuple[Tuple[int, str], ...]]


class Expansion(dict[str, "Tuple[str, ...]"]):
    """Map each raw token to its terms, for all queries."""

    def __init__(self, stop: frozenset[str] = tokeniser.STOP) -> None:
        super().__init__()
        self.stop = stop
        self._stems = tokeniser.Stems().__getitem__

    def __missing__(self, raw: str) -> Tuple[str, ...]:
        self[raw] = found = tuple(
            [term for term, _ in tokeniser.expand(raw, self.stop, self._stems)]
        )
        return found


class Matches(dict[str, "Match"]):
    """Map a raw token to the terms that a question shares with it.

    raw token -> (number of its terms, [(place, term) of each term that the question holds]).
    """

    def __init__(self, weights: Mapping[str, float], expansion: Expansion):
        super().__init__()
        self._weights, self._expansion = weights, expansion
        # A stem shares all but its last letter with its word, so most words need no stemming.
        self._starts = tuple({term[: max(1, len(term) - 1)] for term in weights})
        self._stop = expansion.stop

    def terms(self, raw: str) -> Tuple[str, ...]:
        return self._expansion[raw.strip("-./_")]

    def __missing__(self, raw: str) -> Match:
        word = raw.strip("-./_")
        plain = word.isascii() and word.isalpha() and (word.islower() or word[1:].islower())
        if plain and len(word) <= tokeniser.LONGEST:
            low = word.lower()
            if not low.startswith(self._starts) or low in self._stop:
                self[raw] = none = (0 if low in self._stop else 1, ())
                return none
        terms = self._expansion[word]
        held = tuple([(at, term) for at, term in enumerate(terms) if term in self._weights])
        self[raw] = found = (len(terms), held)
        return found
