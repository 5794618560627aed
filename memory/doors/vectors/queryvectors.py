"""Semantic search for recall: a query's vector, from provider or cache, and the sections near it.

Used with `--semantic` or the setting `recall.semantic`; a failure leaves a note, and words rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory.core import IndexFault, ProviderError, UsageError, files
from memory.recall.semantic import format_fallback

if TYPE_CHECKING:
    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.doors.vectors.embedder import Provider
    from memory.recall.shelf import Shelf

# Cosine below which two texts are unrelated, by the start of a model's label (evals/README.md says
# how it was found); and of a model that nobody has measured.
FLOORS = (("all-MiniLM-L6-v2", 0.28),)
FLOOR = 0.15
SECONDS, BATCH = 10.0, 64  # for so many queries
LATIN_END = 0x250  # the first character after the Latin script
SET_UP = "run `install.sh --embeddings`, or set embeddings.provider.command"

NO_PROVIDER = "no provider of vectors is set up: " + SET_UP


class QueryVectors:
    """The vectors of queries; `label` names the model that ranked, or is ""."""

    def __init__(self, settings: Config, override: str, env: Mapping[str, str]):
        """Prepare the provider, which opens on first use.

        override: a command instead of the settings', or "". env: of its process.
        """
        self._settings, self._override, self._env = settings, override, env
        self._provider: Provider | None = None
        self._fault = ""
        self._vectors: dict[str, Any] = {}
        self.label = ""

    @property
    def floor(self) -> float:
        """The least similarity that counts with the model in use."""
        label = self._provider.label if self._provider else ""
        return next((value for name, value in FLOORS if label.startswith(name)), FLOOR)

    def is_wanted(self, asked: bool | None) -> bool:
        """Tell whether a query uses vectors: as `asked`, or by the setting."""
        return bool(self._settings["recall.semantic"]) if asked is None else asked

    def vector(self, place: Place, text: str, now: float, notes: list[str]) -> Any:
        """Return the vector of a query's text, or None with a note."""
        self.prepare(place, [text], now)
        fault = self._fault
        if not fault and text not in self._vectors:
            assert self._provider is not None
            fault = "%s knows only the Latin script" % self._provider.label
        if fault:
            notes.append(format_fallback(fault))
            return None
        return self._vectors[text]

    def prepare(self, place: Place, texts: Sequence[str], now: float) -> None:
        """Load the vectors of queries, from the cache or one provider process."""
        from memory.doors.vectors import embedder

        if self._fault or not self._open():
            return
        assert self._provider is not None
        label, missing = self._provider.label, dict[str, str]()
        for text in dict.fromkeys(texts):
            if text in self._vectors or not covers_script(self._provider.scripts, text):
                continue
            known = embedder.read_query_vector(place, label, text, now)
            if known is None:
                missing[str(len(missing))] = text
            else:
                self._vectors[text] = known
        seconds = SECONDS * (1 + len(missing) // BATCH)
        try:
            found = embedder.embed(self._provider, list(missing.items()), self._env, seconds)
        except ProviderError as error:
            self._fault = "vectors: %s" % error
            return
        for number, text in missing.items():
            self._vectors[text] = found[number]
            embedder.write_query_vector(place, label, text, found[number], now)

    def _open(self) -> bool:
        """Load the provider; return whether it has no fault."""
        from memory.doors.vectors import embedder

        if self._provider is None:
            try:
                self._provider = embedder.load_provider(self._settings, self._override, self._env)
            except UsageError as error:
                self._fault = str(error)
            else:
                self._fault = "" if self._provider else NO_PROVIDER
        return not self._fault

    def obstacle(self, place: Place) -> str:
        """Return the reason why vectors do not rank here, or ""."""
        from memory.doors.vectors import vectorfile

        if not self._open():
            return "not set up; " + SET_UP if self._provider is None else self._fault
        there = files.exists(vectorfile.vectors_path(place))
        return "" if there else "no vectors yet; `dayleaf index build --embeddings` makes them"

    def near(
        self, shelf: Shelf, vector: Any, limit: int, notes: list[str]
    ) -> list[tuple[str, int, float]]:
        """Return (name, ordinal, similarity) of a shelf's nearest sections.

        Without vectors: [] and a note.
        """
        from memory.doors.vectors import nearest, vectorfile

        assert self._provider is not None
        place, label, found = shelf.place, self._provider.label, None
        if shelf.is_distant:
            found = shelf.near(label, vector, limit)
            fault = "the database holds no vectors of " + label
            remedy = "`dayleaf index --backend postgres --embeddings` loads them"
        elif not files.exists(vectorfile.vectors_path(place)):
            fault = "%s: no vectors yet" % place.key
            remedy = "`dayleaf index build --embeddings` makes them"
        else:
            remedy = "`dayleaf index build --embeddings` mends it"
            try:
                found = nearest.search(place, vector, limit, label)
            except IndexFault as error:
                fault = str(error).partition(";")[0]
        if found is None:
            notes.append(format_fallback(fault, remedy))
            return []
        self.label = label
        return found


def covers_script(scripts: str, text: str) -> bool:
    """Tell whether a model of `latin` or `all` scripts can read a text."""
    letters = [c for c in text if c.isalpha()]
    return scripts == "all" or 2 * sum(ord(c) < LATIN_END for c in letters) >= len(letters)
