"""The files of a place: every markdown file of every tier, with what stat says of it."""

from __future__ import annotations

from memory import files
from memory.paths import FOLDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Tuple

    from memory.paths import Place

    Found = Tuple[str, str, int, int]  # name, path, mtime in ns, size

# What editors and synchronisers leave beside a file: a second copy of a memory, not a second memory.
_COPIES = (".sync-conflict-", "(conflicted copy", "conflicted copy)")
_TYPE, _REGULAR, _LINK = 0o170000, 0o100000, 0o120000  # of st_mode
MOST = 200_000  # files of a place; beyond it the rest is left out, and said


def is_record(name: str) -> bool:
    """Tell whether a file's name is a record's: markdown, not hidden, no editor's or synchroniser's copy."""
    return (name.endswith(".md") and name[0] not in ".#"
            and not ("onflict" in name and any(mark in name for mark in _COPIES)))


def walk(place: Place) -> Tuple[List[Found], List[Tuple[str, int]]]:
    """Return (files, folders with their mtime in ns) of a place: roots of tiers, then what is below them.

    A root or a kind's folder that is not there has mtime 0.

    Directory links are not followed; a linked file counts only where it resolves inside its tier.
    """
    found: List[Found] = []
    folders: List[Tuple[str, int]] = []
    for letter, root in place.tiers():
        try:
            folders.append((letter, files.posix.stat(root).st_mtime_ns))
        except OSError:
            folders.append((letter, 0))
        for folder in FOLDERS.values():
            name = letter + "/" + folder
            if place.holds(name):
                _folder(name, root + "/" + folder, root, found, folders, 0)
            else:
                folders.append((name, 0))
    return found, folders


def _folder(name: str, path: str, root: str, found: List[Found], folders: List[Tuple[str, int]], depth: int) -> None:
    try:
        # Before the listing: a file that comes in between makes the folder look changed, never unchanged.
        folders.append((name, files.posix.stat(path).st_mtime_ns))
        entries = list(files.posix.scandir(path))
    except OSError:
        if not depth:
            folders.append((name, 0))
        return
    base, prefix = path + "/", name + "/"
    for entry in entries:
        file = entry.name
        try:
            if file[-3:] == ".md" and is_record(file):
                stat = entry.stat(follow_symlinks=False)  # recall compares every file: a call less each is 5 ms at 10,000
                if stat.st_mode & _TYPE != _REGULAR:
                    if stat.st_mode & _TYPE != _LINK or not files.inside(entry.path, root):
                        continue
                    stat = entry.stat()
                if len(found) < MOST:
                    found.append((prefix + file, base + file, stat.st_mtime_ns, stat.st_size))
            elif file[0] != "." and depth < 8 and entry.is_dir(follow_symlinks=False):
                _folder(prefix + file, base + file, root, found, folders, depth + 1)
        except OSError:
            continue
