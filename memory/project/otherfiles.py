"""Files of others that are read, never written: those that go into the store, found below a
directory, and the tiers that a person added, folders of markdown whose files are records where they
are.

What is not read is said: a `Skip` has the path as a person knows it, why, and what mends it.

An added tier has an index of its own, so that no hook reads it: recall, show and open do, and its
records are reference material whatever their frontmatter says.  A record of it is named `a/<8 hex
of the folder>/<path below it>`.
"""

from __future__ import annotations

import os
import stat as modes
from collections import Counter
from itertools import islice
from typing import Any, Callable, Iterator, NamedTuple

from memory.core import UsageError, files, frontmatter, layout, plaintext, walk
from memory.core.config import Config
from memory.core.layout import ADDED, NOTES, Place

ORIGIN = "origin"  # the key of a record that names what it was imported from (imports.py)
MOST_BYTES = 5 << 20  # of a source
DEPTH_LIMIT = 24
# entries of a directory that are looked at for what is left out; endings that are named
COUNTED, ENDINGS = 200_000, 8
IGNORED = frozenset(("node_modules", "__pycache__"))
OUTSIDE = ("a link out of the directory", "replace the link with the file itself")
LINKED = ("a link to a directory is not followed", "import that directory by itself")


class Skip(NamedTuple):
    """A skipped source with its reason and remedy."""

    path: str
    reason: str
    remedy: str


class Source(NamedTuple):
    """A file to be read: its absolute path, and that below the directory searched."""

    path: str
    name: str


def folder(said: str, place: Place) -> str:
    """Return the absolute path of a directory named by a person.  Raises UsageError."""
    path = os.path.abspath(os.path.expanduser(said))
    if not os.path.lexists(path):
        raise UsageError("%s: no such directory; give the one that holds the files" % path)
    if not os.path.isdir(path):
        raise UsageError("%s: not a directory; give the one that holds it" % path)
    path = files.real_path(path)
    for _, tier in [*place.tiers(), ("", place.home)]:
        if files.inside(path, tier):
            raise UsageError("%s is part of the memory already; give a directory outside it" % path)
    return path


class Added(Place):
    """A folder (`top`) added as a tier: a place of its own."""

    __slots__ = ("top",)

    def __init__(self, home: str, folder: str):
        mark = files.sha256(b"tier\n" + folder.encode("utf-8", "surrogateescape"))[:8]
        key = "%s-%s" % (layout.slug(folder.rpartition("/")[2]) or "folder", mark)
        super().__init__(home, key, "", "", "", "")
        self.top, self.scope = folder, mark
        self.private, self.cache = home + "/added/" + key, home + "/cache/added/" + key

    def tiers(self) -> list[tuple[str, str]]:
        """Return [(letter, directory)] of its only tier."""
        return [(ADDED, self.top)]

    def path(self, name: str) -> str:
        """Return the path of a record's name; raises IndexFault."""
        start = "%s/%s/" % (ADDED, self.scope)
        return super().path(ADDED + "/" + name[len(start) :] if name.startswith(start) else "")

    def holds(self, name: str) -> bool:
        """Tell whether a file, links resolved, lies in the folder."""
        return files.inside(self.path(name), self.top)

    @property
    def fault(self) -> str:
        """The reason why the folder cannot be read now, or ""."""
        if not files.is_folder(self.top):
            return "not there" if not files.exists(self.top) else "not a folder"
        return "" if os.access(self.top, os.R_OK | os.X_OK) else "not readable for you"

    def state(self) -> dict[str, Any]:
        """Return the state of the folder for messages."""
        left: list[walk.Skip] = []
        found = [] if self.fault else walk.walk(self, (), left)[0]
        left += [
            (name, "no text", "save it as UTF-8") for name, path, *_ in found if _is_binary(path)
        ]
        others = {} if self.fault else left_out(self.top, lambda name: name.endswith(NOTES))
        return {
            "name": self.key,
            "folder": self.top,
            "fault": self.fault,
            "files": len(found),
            "read": dict(Counter(ending(name) for name, *_ in found)),
            "endings": others,
            "skipped": [
                {"path": self.path(name), "reason": why, "remedy": remedy}
                for name, why, remedy in sorted(left)
            ],
        }


def _is_binary(path: str) -> bool:
    try:
        return frontmatter.undecodable(files.read(path, frontmatter.SAMPLE))
    except OSError:
        return False


def added(place: Place, settings: Config) -> list[Added]:
    """Return the tiers added by a person, each once, in order."""
    said = [
        path.rstrip("/")
        for path in settings["tiers"]
        if isinstance(path, str) and os.path.isabs(path)
    ]
    return [Added(place.home, path) for path in dict.fromkeys(said) if path]


def tier_folder(said: str, place: Place, settings: Config, env: dict[str, str]) -> str:
    """Return the absolute path of a directory to add as a tier.  Raises UsageError."""
    path = folder(said, place)
    user = files.real_path((env.get("HOME") or env.get("USERPROFILE") or "/").replace("\\", "/"))
    if files.inside(user, path) or files.inside(place.home, path):
        raise UsageError("%s holds all your files; add only the folder that holds the notes" % path)
    for other in added(place, settings):
        if path != other.top and (files.inside(path, other.top) or files.inside(other.top, path)):
            raise UsageError(
                "%s: %s is a tier already, and one of them lies inside the other"
                % (path, other.top)
            )
    if not os.access(path, os.R_OK | os.X_OK):
        raise UsageError("%s: you cannot read it; mend its permissions" % path)
    return path


def expanded(said: str, env: dict[str, str], folder: str = "") -> str:
    """Return the absolute path of a path, relative to `folder` or `~`."""
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    return os.path.normpath(
        os.path.join(folder, user + said[1:] if said.startswith("~/") else said)
    )


def below(root: str, wanted: Callable[[str], bool]) -> Iterator[Source | Skip]:
    """Yield the wanted files (by name) below a directory, and the skipped, by path.

    Hidden names, `node_modules` and `__pycache__` are passed over in silence.  Links to directories
    are not followed; a linked file counts where it resolves below the root.
    """
    for name, path, stat in walk.entries_below(root, _is_entered):
        last = name.rpartition("/")[2]
        if name and _is_passed(last):
            continue
        found: Source | Skip | None = None
        if isinstance(stat, OSError):
            found = _unread(root, name, stat)
        elif walk.is_folder(stat):
            found = _too_deep(name)
        elif modes.S_ISLNK(stat.st_mode):
            found = _linked(root, name, path, wanted(last))
        elif wanted(last):
            found = Source(path, name)
        if found:
            yield found


def _too_deep(folder: str) -> Skip | None:
    if folder.count("/") < DEPTH_LIMIT or folder.rpartition("/")[2] in IGNORED:
        return None
    return Skip(folder, "nested more than %d folders deep" % DEPTH_LIMIT, "import it by itself")


def _unread(root: str, name: str, error: OSError) -> Skip | None:
    if name and isinstance(error, FileNotFoundError):
        return None
    return Skip(name or root, (error.strerror or "unreadable").lower(), "mend its permissions")


def _linked(root: str, name: str, path: str, wanted: bool) -> Source | Skip | None:
    if os.path.isdir(path):
        return Skip(name, *LINKED)
    if not wanted:
        return None
    return Source(path, name) if files.inside(path, root) else Skip(name, *OUTSIDE)


def left_out(root: str, wanted: Callable[[str], bool]) -> dict[str, int]:
    """Return the number of unwanted visible files by ending, the most frequent first."""
    found: dict[str, int] = {}
    for name, _, stat in islice(walk.entries_below(root, _is_entered), COUNTED):
        last = name.rpartition("/")[2]
        if name and not _is_passed(last) and walk.is_regular(stat) and not wanted(last):
            found[ending(last)] = found.get(ending(last), 0) + 1
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def left_out_line(left: dict[str, int]) -> str:
    """Return a line: how many files of which endings were left out, "" for none."""
    return (
        "left out %s by their endings: %s"
        % (plaintext.count(sum(left.values()), "file"), endings_line(left))
        if left
        else ""
    )


def endings_line(counts: dict[str, int]) -> str:
    """Return endings with their counts, as many as a line holds."""
    more = ", and %d other endings" % (len(counts) - ENDINGS) if len(counts) > ENDINGS else ""
    first = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:ENDINGS]
    return ", ".join("%s (%d)" % pair for pair in first) + more


def ending(name: str) -> str:
    """Return the ending of a file's name, else the whole name."""
    last = name.rpartition("/")[2]
    return os.path.splitext(last)[1].lower() or last


def _is_passed(name: str) -> bool:
    return name[0] in ".#" or name.endswith("~")


def _is_entered(name: str) -> bool:
    last = name.rpartition("/")[2]
    return not _is_passed(last) and last not in IGNORED and name.count("/") < DEPTH_LIMIT


def read(source: Source) -> bytes | Skip:
    """Return the bytes of a source, or a Skip.  UTF-8 text of at most 5 MB."""
    try:
        data = files.read(source.path, MOST_BYTES + 1)
    except OSError as error:
        return Skip(source.name, (error.strerror or "unreadable").lower(), "mend its permissions")
    if len(data) > MOST_BYTES:
        return Skip(source.name, "above 5 MB", "split it")
    if not data.strip():
        return Skip(source.name, "empty", "write something into it")
    if frontmatter.undecodable(data) or b"\0" in data[:8192]:
        return Skip(source.name, "no text", "not UTF-8 text")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Skip(source.name, "line %d: bytes that are not UTF-8" % line, "save it as UTF-8")
    return data


def known_as(path: str, place: Place, tier: str) -> str:
    r"""Return a path (links resolved) in the form used by records.

    Below the repository relative to it, for a global record and elsewhere absolute.  Bytes of it
    that are no UTF-8 are written `\xff`: a record is text, and must know them again.
    """
    path = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    root = files.real_path(place.root).rstrip("/") + "/"
    return path[len(root) :] if tier != layout.GLOBAL and path.startswith(root) else path


def hidden_path(path: str) -> str:
    """Return an absolute path as its hash, which tells others nothing of this machine."""
    return "#" + files.sha256(os.fsencode(path))[:16] if os.path.isabs(path) else path


def commit_of(path: str) -> str:
    """Return the abbreviated commit checked out around a path, "" outside git."""
    from memory.session import git

    _, found = layout.find_git(path)
    return git.head(found).commit if found else ""


def split(found: Iterator[Source | Skip]) -> tuple[list[Source], list[Skip]]:
    """Return (sources, skipped entries)."""
    sources: list[Source] = []
    skipped: list[Skip] = []
    for one in found:
        if isinstance(one, Source):
            sources.append(one)
        else:
            skipped.append(one)
    return sources, skipped
