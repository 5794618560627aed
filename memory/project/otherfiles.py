"""Files of others that are read into the store: found below a directory, read as text, never written.

What is not read is said: a `Skip` has the path as a person knows it, why, and what mends it.
"""

from __future__ import annotations

import os
import stat as modes
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple, Union

from memory.core import UsageError, files, frontmatter, layout, walk
from memory.session import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.layout import Place

ORIGIN = "origin"  # the key of a record that names what it was imported from (imports.py)
MOST_BYTES = 5 << 20  # of a source
DEPTH_LIMIT = 24
IGNORED = frozenset(("node_modules", "__pycache__"))
LINKED = ("a link to a directory is not followed", "import that directory by itself")


class Skip(NamedTuple):
    """A source that gave nothing: its path, why, and what mends it."""

    path: str
    reason: str
    remedy: str


class Source(NamedTuple):
    """A file to be read: its absolute path, and its path below the directory that was searched."""

    path: str
    name: str


def folder(said: str, place: Place) -> str:
    """Return the absolute path of a directory that a person named; raises UsageError for anything else, and for a store."""
    path = os.path.abspath(os.path.expanduser(said))
    if not os.path.lexists(path):
        raise UsageError("%s: no such directory; give the one that holds the files" % path)
    if not os.path.isdir(path):
        raise UsageError("%s: not a directory; give the one that holds it" % path)
    path = files.real(path)
    for _, tier in [*place.tiers(), ("", place.home)]:
        if files.inside(path, tier):
            raise UsageError("%s: belongs to the memory already; give a directory outside it" % path)
    return path


def expanded(said: str, env: Dict[str, str], folder: str = "") -> str:
    """Return the absolute path that a file names, `~` for the user's home, else relative to a directory."""
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    return os.path.normpath(os.path.join(folder, user + said[1:] if said.startswith("~/") else said))


def below(root: str, wanted: Callable[[str], bool]) -> Iterator[Union[Source, Skip]]:
    """Yield the files below a directory whose names are wanted, in the order of their paths, and what had to be skipped.

    Hidden names, `node_modules` and `__pycache__` are passed over in silence.  Links to directories are not
    followed; a linked file counts where it resolves below the root.
    """
    for name, path, stat in walk.below(root, _is_entered):
        last = name.rpartition("/")[2]
        if name and _is_passed(last):
            continue
        linked = isinstance(stat, os.stat_result) and modes.S_ISLNK(stat.st_mode)
        if isinstance(stat, OSError):
            if not name or not isinstance(stat, FileNotFoundError):
                yield Skip(name or root, (stat.strerror or "unreadable").lower(), "mend its permissions")
        elif walk.is_folder(stat):
            if name.count("/") >= DEPTH_LIMIT and last not in IGNORED:
                yield Skip(name, "nested more than %d folders deep" % DEPTH_LIMIT, "import it by itself")
        elif linked and os.path.isdir(path):
            yield Skip(name, *LINKED)
        elif wanted(last):
            if linked and not files.inside(path, root):
                yield Skip(name, "a link out of the directory", "replace the link by the file itself")
            else:
                yield Source(path, name)


def _is_passed(name: str) -> bool:
    return name[0] in ".#" or name.endswith("~")


def _is_entered(name: str) -> bool:
    last = name.rpartition("/")[2]
    return not _is_passed(last) and last not in IGNORED and name.count("/") < DEPTH_LIMIT


def read(source: Source) -> Union[bytes, Skip]:
    """Return the bytes of a source, UTF-8 text of at most 5 MB, or why it is skipped."""
    try:
        data = files.read(source.path, MOST_BYTES + 1)
    except OSError as error:
        return Skip(source.name, (error.strerror or "unreadable").lower(), "mend its permissions")
    if len(data) > MOST_BYTES:
        return Skip(source.name, "above 5 MB", "split it")
    if not data.strip():
        return Skip(source.name, "empty", "write something into it")
    if frontmatter.undecodable(data) or b"\0" in data[:8192]:
        return Skip(source.name, "no text", "only UTF-8 text is taken")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Skip(source.name, "line %d: bytes that are not UTF-8" % line, "save it as UTF-8")
    return data


def known_as(path: str, place: Place, tier: str) -> str:
    """Return a path as a record names it: below the repository relative to it, for a global record and elsewhere absolute.

    path: all links resolved.  Bytes of it that are no UTF-8 are written `\\xff`: a record is text, and must know them again.
    """
    path = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    root = files.real(place.root).rstrip("/") + "/"
    return path[len(root):] if tier != layout.GLOBAL and path.startswith(root) else path


def commit_of(path: str) -> str:
    """Return the first digits of the commit that is checked out around a file or directory, "" outside git."""
    _, found = layout.find_git(path)
    return git.head(found).commit if found else ""


def split(found: Iterator[Union[Source, Skip]]) -> Tuple[List[Source], List[Skip]]:
    """Return the sources and the skipped apart."""
    sources: List[Source] = []
    skipped: List[Skip] = []
    for one in found:
        if isinstance(one, Source):
            sources.append(one)
        else:
            skipped.append(one)
    return sources, skipped
