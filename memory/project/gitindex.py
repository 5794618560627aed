"""What git tracks: paths and hashes of `.git/index`, read directly (versions 2, 3 and 4), and where
HEAD was at an instant.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from memory.core import files
from memory.project.gitobjects import read_offset

LIMIT = 32 << 20  # bytes of an index
MOST_ENTRIES = 100_000  # entries
LOG_LIMIT = 4 << 20  # bytes of HEAD's log, its end
# extensions: entries stand in another file, or a folder stands for what is in it
_LINK, _SPARSE = b"link", b"sdir"
# bits of flags: more flags follow; left out of the checkout
_EXTENDED, _LEFT_OUT = 0x40, 0x40


class Tracked(NamedTuple):
    """The files tracked by git in a checkout.

    hashes: path -> hash (40 hex digits).  away: files left out by a sparse checkout.  whole: no
    tracked file is missing here or from the working tree.
    """

    hashes: dict[str, str]
    away: frozenset[str]
    whole: bool


NOTHING = Tracked({}, frozenset(), False)


def read(git: str) -> Tracked:
    """Return the files that a checkout's index tracks.

    git: its git directory (a worktree's own one).  NOTHING for an unreadable index.
    """
    if not git:
        return NOTHING
    try:
        data = files.read(git + "/index", LIMIT + 1, follow=False)
    except OSError:
        return NOTHING
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4) or count > MOST_ENTRIES or len(data) > LIMIT:
        return NOTHING
    try:
        hashes, away, end = _parse_entries(data, version, count)
    except (IndexError, ValueError):
        return NOTHING
    return Tracked(hashes, frozenset(away), not away and _is_whole(data, end))


def count_entries(git: str) -> int:
    """Return the number of entries in a checkout's index, 0 where unreadable."""
    try:
        head = files.read(git + "/index", 12, follow=False) if git else b""
    except OSError:
        return 0
    return int.from_bytes(head[8:12], "big")


def _parse_entries(data: bytes, version: int, count: int) -> tuple[dict[str, str], list[str], int]:
    """Return (path -> hash of regular files, paths left out, offset of the extensions).

    Raises IndexError or ValueError where the index is damaged.
    """
    # an entry: 40 bytes of stat (mode from 24), 20 of hash, 2 or 4 of flags, the name
    hashes: dict[str, str] = {}
    away: list[str] = []
    at, name = 12, b""
    for _ in range(count):
        start = at
        extended = data[start + 60] & _EXTENDED
        at += 64 if extended else 62
        if version < 4:
            end = data.index(b"\0", at)
            name = data[at:end]
            at = start + (end - start) // 8 * 8 + 8  # filled up with NUL bytes
        else:
            cut, at = read_offset(data, at)  # bytes of the name before to leave out
            end = data.index(b"\0", at)
            name = name[: len(name) - cut] + data[at:end]
            at = end + 1
        if data[start + 26] >> 4 == 8:  # a regular file: no link, no submodule
            path = name.decode("utf-8", "surrogateescape")
            hashes[path] = data[start + 40 : start + 60].hex()
            if extended and data[start + 62] & _LEFT_OUT:
                away.append(path)
    if at > len(data):
        raise IndexError
    return hashes, away, at


def _is_whole(data: bytes, at: int) -> bool:
    while at + 8 <= len(data) - 20:
        if data[at : at + 4] in (_LINK, _SPARSE):
            return False
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return at == len(data) - 20


def read_head_moves(git: str) -> tuple[list[float], list[str]]:
    """Return (times, hashes) of HEAD's moves from its log, oldest first.

    git: a checkout's git directory.  An earlier time than the line before counts as that one's.
    """
    path = git + "/logs/HEAD"
    try:
        fd = files.open_read(path, follow=False)
    except OSError:
        return [], []
    try:
        size = files.posix.fstat(fd).st_size
        data = files.read_at(fd, LOG_LIMIT, max(0, size - LOG_LIMIT))
    finally:
        files.posix.close(fd)
    times: list[float] = []
    hashes: list[str] = []
    # a line: old hash, new hash, name <address> time zone, tab, what moved HEAD
    for line in data.split(b"\n"):
        words = line.partition(b"\t")[0].rpartition(b"> ")[2].split()
        if len(line) > 82 and words and words[0].isdigit():
            times.append(max(float(words[0]), times[-1] if times else 0.0))
            hashes.append(line[41:81].decode("ascii", "replace"))
    return times, hashes


def find_commits_around(log: tuple[list[float], list[str]], when: float) -> list[str]:
    """Return HEAD's hashes at an instant (in seconds) and after its next move."""
    at = bisect_right(log[0], when)
    return log[1][max(at - 1, 0) : at + 1] if at else []
