"""Where the host keeps the transcripts of sessions, and what a look at their two ends tells of
each.

The host names a project's folder after the directory in which a session was started, and renames a
transcript into another folder when its session moves, to a worktree say.  A session is therefore
known by its file's name, in whatever folder.
"""

from __future__ import annotations

import json
import os
import re
from itertools import islice
from typing import NamedTuple

from memory.core import clock, files, layout
from memory.session import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# bytes at a transcript's start and end that are searched for its directory and times
EDGE = 1 << 16
FIRST = 20  # entries that are asked for the directory where those bytes name none
LONG = 200  # characters of a folder's name after which the host shortens it
_SUFFIX = ".jsonl"
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


class Ends(NamedTuple):
    """The data from both ends of a transcript.

    size, changed: of the file, in bytes and in nanoseconds since the epoch.
    directory: in its first entry, "" for none.
    began, ended: instants of its first and last entry, None where none has an instant.
    """

    size: int
    changed: int
    directory: str
    began: float | None
    ended: float | None

    @property
    def last(self) -> float:
        """The instant of the last entry, else the file's mtime.

        A copy's file is younger than its entries.
        """
        return self.changed / 1e9 if self.ended is None else self.ended

    def rests(self, now: float, quiet: float) -> bool:
        """Tell whether a transcript has been unchanged for `quiet` seconds.

        Neither the file nor its last entry is younger.
        """
        return now - min(self.last, self.changed / 1e9) > quiet


def ends(path: str) -> Ends:
    """Return both ends of a transcript.

    Raises OSError.
    """
    fd = files.open_read(path, follow=False)
    try:
        stat = os.fstat(fd)
        head = files.read_at(fd, EDGE, 0)
        tail = files.read_at(fd, EDGE, max(0, stat.st_size - EDGE))
    finally:
        os.close(fd)
    first, last = transcript.AT.search(head), list(transcript.AT.finditer(tail))
    directory = _directory(head) or (_directory_within(path) if stat.st_size > EDGE else "")
    return Ends(
        stat.st_size,
        stat.st_mtime_ns,
        directory,
        clock.parse(first[1].decode("ascii")) if first else None,
        clock.parse(last[-1][1].decode("ascii")) if last else None,
    )


def is_torn(path: str, at: int) -> bool:
    """Tell whether what stands from an offset on is a half-written line.

    Raises OSError.
    """
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


def _directory(head: bytes) -> str:
    """Return the session's starting directory, from the first entry."""
    for found in _CWD.finditer(head):
        try:
            said = json.loads(found[1])
        except ValueError:
            continue
        if isinstance(said, str) and said.startswith("/") or str(said)[1:2] == ":":
            return str(said)
    return ""


def _directory_within(path: str) -> str:
    """Return the directory that an early entry names."""
    reading = transcript.read(path)
    found = next((entry.cwd for entry in islice(reading, FIRST) if entry.cwd), "")
    reading.close()
    return found


class Folders:
    """The transcripts in the host's project folders, listed once."""

    def __init__(self, env: dict[str, str]):
        self._paths: dict[str, list[str]] = {}
        for root in dict.fromkeys(map(files.real_path, transcript.roots(env))):
            for folder in files.visible_names(root):
                for name in files.visible_names(root + "/" + folder):
                    if name.endswith(_SUFFIX):
                        self._paths.setdefault(name[: -len(_SUFFIX)], []).append(
                            "%s/%s/%s" % (root, folder, name)
                        )

    def find(self, session: str) -> str:
        """Return the transcript of a session, or "".

        Of two copies the longer is continued.
        """
        paths = filter(None, map(transcript.own_transcript, self._paths.get(session, ())))
        return max(paths, key=_size, default="")

    def below(self, prefixes: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield (session, path) of transcripts in folders with a prefix.

        prefixes: their beginnings.
        """
        starts = tuple(prefixes)
        for session, paths in sorted(self._paths.items()):
            for path in paths:
                if not session.startswith("agent-") and path.split("/")[-2].startswith(starts):
                    yield session, path


def find(env: dict[str, str], session: str, named: object = "") -> str:
    """Return a session's transcript, or "".

    named: its path where known; else the session's name is looked for.
    """
    return transcript.trusted(named, env) or (Folders(env).find(session) if session else "")


def folder(directory: str) -> str:
    """Return the prefix of the host's folders for a directory.

    Of the folder for the directory itself, or for a directory below.
    """
    return re.sub("[^A-Za-z0-9]", "-", directory)[:LONG]


def worktrees(git: str) -> list[str]:
    """Return the directories of a repository's other checkouts.

    git: the git directory of one of them, "" for none.
    """
    common = layout.common_git(git) if git else ""
    listed = [
        layout.first_line("%s/worktrees/%s/gitdir" % (common, name))
        for name in files.visible_names(common + "/worktrees")
    ]
    return (
        [
            path[: -len("/.git")]
            for path in listed
            if path.startswith("/") and path.endswith("/.git")
        ]
        if common
        else []
    )


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1
