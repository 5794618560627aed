"""A disk that forgets: the files below a directory as they are after a power cut, from the calls
that changed them.

A file's bytes are kept as they were at its last fsync, a directory's names as they were at its own.
New directories are kept with the first name in them, as journalling file systems do.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from harness.tracer import WRITES, Step

# what the disk kept of what was not synced
CUTS = ("nothing unsynced", "names alone", "everything")


class _File:
    def __init__(self, data: bytes = b"", kept: bytes = b""):
        self.data, self.kept = bytearray(data), kept


class Disk:
    """The files below a directory, as programs see them and as the disk has them."""

    def __init__(self, before: dict[str, bytes]):
        self.seen = {path: _File(data, data) for path, data in before.items()}
        self.kept = dict(self.seen)

    def play(self, steps: Iterable[Step]) -> None:
        """Apply the calls of a run."""
        for step in steps:
            path, *more = step.paths
            if step.name in WRITES:
                self.seen[path].data[step.offset : step.offset + len(step.data)] = step.data
            elif step.name in ("open", "openat", "creat"):
                file = self.seen.setdefault(path, _File())
                if step.flags & os.O_TRUNC or step.name == "creat":
                    file.data.clear()
            elif step.name in ("ftruncate", "truncate"):
                size = step.flags
                self.seen[path].data[:] = bytes(self.seen[path].data[:size]).ljust(size, b"\0")
            elif step.name in ("fsync", "fdatasync"):
                self._sync(path)
            elif step.name.startswith("rename"):
                self.seen[more[0]] = self.seen.pop(path)
            elif step.name.startswith("link"):
                self.seen[more[0]] = self.seen[path]
            elif step.name.startswith("unlink"):
                self.seen.pop(path, None)

    def _sync(self, path: str) -> None:
        if path in self.seen:
            self.seen[path].kept = bytes(self.seen[path].data)
            return
        for name in {name for name in (*self.seen, *self.kept) if os.path.dirname(name) == path}:
            if name in self.seen:
                self.kept[name] = self.seen[name]
            else:
                del self.kept[name]

    def after(self, cut: str) -> dict[str, bytes]:
        """Return the files that a power cut leaves.  cut: one of CUTS."""
        names = self.kept if cut == CUTS[0] else self.seen
        return {
            path: bytes(file.data) if cut == CUTS[2] else file.kept for path, file in names.items()
        }


def write(top: str, found: dict[str, bytes]) -> None:
    """Make these the only files below a directory."""
    shutil.rmtree(top, ignore_errors=True)
    os.mkdir(top, 0o700)
    for path, data in found.items():
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
