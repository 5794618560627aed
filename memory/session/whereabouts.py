"""The host's folders of transcripts, and a transcript's directory and times from its two ends.

The host names a project's folder after a session's first directory, and moves the transcript with
its session, to a worktree say.  So a session is known by its file's name in any folder.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from memory.core import clock, files, layout
from memory.session import transcript

# bytes at a transcript's start and end that are searched for its directory and times
EDGE = 1 << 16
FIRST = 20  # entries that are read for the directory if those bytes name none
LONG = 200  # characters of a folder's name after which the host shortens it
_SUFFIX = ".jsonl"
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


class TranscriptEnds(NamedTuple):
    """A transcript's size, directory and times, read from its two ends.

    size, changed: of the file, in bytes and in nanoseconds since the epoch.
    directory: in its first entry, "" for none.
    began, ended: instants of its first and last entry, None for none.
    damaged: a line there is no JSON, as after a power cut, or there is none.
    """

    size: int
    changed: int
    directory: str
    began: float | None
    ended: float | None
    damaged: bool = False

    @property
    def last(self) -> float:
        """The instant of the last entry, else the file's mtime.

        A copy's file is younger than its entries.
        """
        return self.changed / 1e9 if self.ended is None else self.ended

    def rests(self, now: float, quiet: float) -> bool:
        """Tell whether file and last entry are both older than `quiet` seconds."""
        return now - min(self.last, self.changed / 1e9) > quiet


def read_ends(path: str) -> TranscriptEnds:
    """Read both ends of a transcript.  Raises OSError."""
    fd = files.open_read(path, follow=False)
    try:
        stat = os.fstat(fd)
        head = files.read_at(fd, EDGE, 0)
        tail = files.read_at(fd, EDGE, max(0, stat.st_size - EDGE))
    finally:
        os.close(fd)
    first, last = transcript.TIMESTAMP.search(head), list(transcript.TIMESTAMP.finditer(tail))
    directory = _parse_directory(head) or (_read_directory(path) if stat.st_size > EDGE else "")
    return TranscriptEnds(
        stat.st_size,
        stat.st_mtime_ns,
        directory,
        clock.parse(first[1].decode("ascii")) if first else None,
        clock.parse(last[-1][1].decode("ascii")) if last else None,
        is_damaged(head, tail, stat.st_size),
    )


def is_damaged(head: bytes, tail: bytes = b"", size: int = 0) -> bool:
    """Tell whether a line in a file's ends is no JSON, or missing.

    head: all, without a tail.  The last one may be half written, with zeros behind it.
    """
    *lines, last = head.removeprefix(codecs.BOM_UTF8).split(b"\n")
    half = []
    if size > EDGE:
        half = [last]
        *more, last = tail.split(b"\n")[1:] or [b""]
        lines += more
    half.append(last.rstrip(b"\0"))
    bare = [line.strip() for line in lines]
    return (
        not any((*bare, *half))
        or any(line and not (line[:1] == b"{" and line[-1:] == b"}") for line in bare)
        or any(line.strip()[:1] not in (b"", b"{") for line in half)
    )


def is_torn(path: str, at: int) -> bool:
    """Tell whether only a half-written line stands after an offset.  Raises OSError."""
    fd = files.open_read(path, follow=False)
    try:
        size, tail = os.fstat(fd).st_size, b""
        for start in range(at, size, EDGE):
            tail = files.read_at(fd, EDGE, start).rstrip(b" ") or tail
            if b"\n" in tail:
                return False
    finally:
        os.close(fd)
    return not tail.endswith(b"}")


def _parse_directory(head: bytes) -> str:
    for match in _CWD.finditer(head):
        try:
            path = str(json.loads(match[1]))
        except ValueError:
            continue
        if path.startswith("/") or path[1:2] == ":":
            return path
    return ""


def _read_directory(path: str) -> str:
    reading = transcript.read(path)
    directory = next((entry.cwd for entry in islice(reading, FIRST) if entry.cwd), "")
    reading.close()
    return directory


class TranscriptFolders:
    """The transcripts in the host's project folders, listed once."""

    def __init__(self, env: dict[str, str]):
        self._paths: dict[str, list[str]] = {}
        for root in dict.fromkeys(map(files.real_path, transcript.list_roots(env))):
            for folder in files.list_visible(root):
                for session in list_stems(root + "/" + folder, _SUFFIX):
                    path = "%s/%s/%s" % (root, folder, session + _SUFFIX)
                    self._paths.setdefault(session, []).append(path)

    def find(self, session: str) -> str:
        """Return the path of a session's transcript, the longest copy, or ""."""
        paths = filter(None, map(transcript.validate_listed_path, self._paths.get(session, ())))
        return max(paths, key=read_size, default="")

    def list_in(self, prefixes: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield (session, path) of transcripts in folders with a name's prefix."""
        starts = tuple(prefixes)
        for session, paths in sorted(self._paths.items()):
            for path in paths:
                if not session.startswith("agent-") and path.split("/")[-2].startswith(starts):
                    yield session, path


def find_transcript(env: dict[str, str], session: str, named: object = "") -> str:
    """Return the path of a session's transcript, or "".

    named: its path where known, not yet trusted.
    """
    path = transcript.validate_path(named, env)
    return path or (TranscriptFolders(env).find(session) if session else "")


def make_folder_prefix(directory: str) -> str:
    """Return how the host's names of the folders for a directory begin."""
    return re.sub("[^A-Za-z0-9]", "-", directory)[:LONG]


def list_worktrees(git: str) -> list[str]:
    """Return the directories of a repository's other checkouts.

    git: the git directory of one of them, "" for none.
    """
    if not git:
        return []
    folder = layout.find_common_git(git) + "/worktrees"
    names = files.list_visible(folder)
    paths = (layout.read_first_line("%s/%s/gitdir" % (folder, name)) for name in names)
    return [path[:-5] for path in paths if path.startswith("/") and path.endswith("/.git")]


def list_stems(folder: str, suffix: str) -> list[str]:
    """Return the names in a folder with a suffix, without it."""
    names = files.list_visible(folder)
    return [name.removesuffix(suffix) for name in names if name.endswith(suffix)]


def read_size(path: str) -> int:
    """Return a file's size in bytes, 0 where it cannot be read."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
