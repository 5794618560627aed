"""What another program prints, passed on to the terminal as it comes."""

from __future__ import annotations

import codecs
import contextlib
from typing import TextIO

from memory.core import plaintext

OUTPUT = 1 << 20  # bytes of output that are shown
PENDING = 1 << 12  # characters of a line that are held back until it ends


class Printer:
    """Prints what a script says, line by line, without what a terminal would obey, and at most OUTPUT bytes of it."""

    def __init__(self, out: TextIO, err: TextIO):
        self.left, self.dropped = OUTPUT, 0
        self._streams = {1: out, 2: err}
        self._decoders = {number: codecs.getincrementaldecoder("utf-8")("replace") for number in self._streams}
        self._held = {1: "", 2: ""}

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def tell(self, number: int, data: bytes) -> None:
        """Take what came.  number: 1 for stdout, 2 for stderr."""
        kept = data[:self.left]
        self.left -= len(kept)
        self.dropped += len(data) - len(kept)
        held = self._held[number] + self._decoders[number].decode(kept)
        at = len(held) if len(held) - held.rfind("\n") > PENDING else held.rfind("\n") + 1
        self._held[number] = held[at:]
        self._print(number, held[:at])

    def end(self) -> None:
        """Print the rest of the buffer, and say how much was left out."""
        for number, decoder in self._decoders.items():
            self._print(number, self._held[number] + decoder.decode(b"", True))
            self._held[number] = ""
        if self.dropped:
            self._print(2, "\ndayleaf: %s more of output are not shown\n" % plaintext.count(self.dropped, "byte"))
            self.dropped = 0

    def _print(self, number: int, said: str) -> None:
        if said:
            with contextlib.suppress(OSError, ValueError):  # a closed pipe: the script goes on
                self._streams[number].write(plaintext.plain(said))
                self._streams[number].flush()
