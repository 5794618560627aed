"""Records whose files hold secrets are found while they are indexed.

What capture wrote was cleaned before it was written; what people, pulls and other programs write
was not.  So their secrets and private parts stay out of the index, and hooks show nothing of a
record that holds a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory.core import config, records
from memory.core.config import Config
from memory.core.layout import Place
from memory.core.records import Record
from memory.hook import documents, segment
from memory.index.kept import REDACTION, FactCache
from memory.store import redactor, writer
from memory.store.secretshapes import SEAM

BATCH, BATCH_CHARS = 64, 1 << 17  # records, and characters of them, that are searched together


class Cleaner:
    """Removes secrets and private parts from records before they are indexed."""

    def __init__(self, place: Place, cached: bool = False):
        """Open the cache of records known to hold no secret.

        cached: read and write it, as a build does.
        """
        self._place = place
        self._settings: Config | None = None  # read on the first find: most places have none
        self._kept = FactCache(place, "clean", REDACTION) if cached else None

    def clean(self, record: Record) -> tuple[Record, int]:
        """Return (record without secrets, segment.SECRET, UNSURE or 0).

        UNSURE: the settings let its secrets through.
        """
        return next(self.each([record]))

    def each(self, found: Sequence[Record]) -> Iterator[tuple[Record, int]]:
        """Yield what `clean` returns for each record."""
        bare = [documents.remove_private(record) for record in found]
        written = [record for record in bare if not redactor.is_captured(record)]
        holding = self._holding([record for record in written if not self._is_known(record)])
        for record in written:
            if self._kept and record.name not in holding:
                self._kept.put(record.name, record.checksum[:16], "bare", True)
        for record in bare:
            if record.name not in holding:
                yield record, 0
            elif self._is_let_through(record):
                yield record, segment.UNSURE
            else:
                yield redactor.clean_record(record, self._settings, self._place.key), segment.SECRET

    def _is_known(self, record: Record) -> bool:
        kept = self._kept
        return bool(kept and kept.get(record.name, record.checksum[:16], "bare"))

    def save(self) -> None:
        if self._kept:
            self._kept.save()

    def _holding(self, found: Sequence[Record]) -> set[str]:
        """Return the names of the records that hold secrets, whatever the settings say.

        Joined texts are searched in a third of the time.
        """
        if not found or not redactor.redact(SEAM.join(map(_join_text, found))).found:
            return set()
        if len(found) == 1:
            return {found[0].name}
        half = len(found) // 2
        return self._holding(found[:half]) | self._holding(found[half:])

    def _is_let_through(self, record: Record) -> bool:
        """Tell whether the settings allow all secrets of a record."""
        self._settings = self._settings or config.load_for_place(self._place, {})
        allow = self._settings["redact.allow"]
        return not (
            self._settings["redact.enabled"] and redactor.redact(_join_text(record), allow).found
        )


def holds_secret(place: Place, record: Record) -> bool:
    """Tell whether a record holds a secret that the settings do not allow."""
    return Cleaner(place).clean(record)[1] == segment.SECRET


def _join_text(record: Record) -> str:
    rows = ["%s: %s" % (key, _format_value(value)) for key, value in record.meta.items()]
    return SEAM.join([writer.bare_stem(record.name), "\n".join([*rows, "", record.body])])


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else ", ".join(records.parse_labels(value))
