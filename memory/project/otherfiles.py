"""Reads files of others, never writes them: sources of an import, and added tiers, which are a
person's own folders of markdown.

Each file that is not read becomes a `Skip` with its path, the reason and a remedy.

An added tier has an index of its own, which no hook reads: only recall, show and open do.  Its
records are reference material whatever their frontmatter says, and are named `a/<8 hex of the
folder>/<path below it>`.
"""

from __future__ import annotations

import os
import stat as modes
from collections import Counter
from itertools import islice
from typing import Any, Callable, Iterator, NamedTuple

from memory.core import UsageError, files, frontmatter, layout, plaintext, walk
from memory.core.config import Config
from memory.core.layout import ADDED, NOTE_SUFFIXES, Place

ORIGIN = "origin"  # a record's key for its source (intake.py)
MOST_BYTES = 5 << 20  # of a source
DEPTH_LIMIT = 24
# most entries that are counted; endings that are named
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
    """A file to be read.  path: absolute.  name: the path below the directory searched."""

    path: str
    name: str


def resolve_folder(folder: str, place: Place) -> str:
    """Return the absolute path of a person's directory; raises UsageError."""
    path = os.path.abspath(os.path.expanduser(folder))
    if not os.path.lexists(path):
        raise UsageError("%s: no such directory; give the one that holds the files" % path)
    if not os.path.isdir(path):
        raise UsageError("%s: not a directory; give the one that holds it" % path)
    path = files.real_path(path)
    for _, tier in [*place.tiers(), ("", place.home)]:
        if files.is_inside(path, tier):
            raise UsageError("%s is part of the memory already; give a directory outside it" % path)
    return path


class AddedTier(Place):
    """A person's folder of markdown, searched as a tier.  top: its path."""

    __slots__ = ("top",)

    def __init__(self, home: str, folder: str):
        mark = files.sha256(b"tier\n" + folder.encode("utf-8", "surrogateescape"))[:8]
        key = "%s-%s" % (layout.slug(folder.rpartition("/")[2]) or "folder", mark)
        super().__init__(home, key, "", "", "", "")
        self.top, self.scope = folder, mark
        self.private, self.cache = home + "/added/" + key, home + "/cache/added/" + key

    def tiers(self) -> list[tuple[str, str]]:
        """Return [(letter, directory)] of the only tier."""
        return [(ADDED, self.top)]

    def path(self, name: str) -> str:
        """Return the path of a record by its name; raises IndexFault."""
        start = "%s/%s/" % (ADDED, self.scope)
        return super().path(ADDED + "/" + name[len(start) :] if name.startswith(start) else "")

    def holds(self, name: str) -> bool:
        """Tell whether a file, links resolved, lies in the folder."""
        return files.is_inside(self.path(name), self.top)

    @property
    def fault(self) -> str:
        """The reason why the folder cannot be read now, or ""."""
        if not files.is_folder(self.top):
            return "not there" if not files.exists(self.top) else "not a folder"
        return "" if os.access(self.top, os.R_OK | os.X_OK) else "not readable for you"

    def state(self) -> dict[str, Any]:
        """Return the folder's fault, counts of files and skipped files."""
        fault = self.fault
        listing = None if fault else walk.Listing(self, (), walk.MOST_FILES)
        found, skipped = (listing.found, listing.left) if listing else ([], [])
        skipped += [
            (name, "no text", "save it as UTF-8") for name, path, *_ in found if _is_binary(path)
        ]
        scope = "%s/%s/" % (ADDED, self.scope)
        skipped += [
            (scope + name, "packages are not read", "add it by itself if it holds notes of yours")
            for name in ([] if fault else _list_package_folders(self.top))
        ]
        others = (
            {} if fault else count_left_out(self.top, lambda name: name.endswith(NOTE_SUFFIXES))
        )
        return {
            "name": self.key,
            "folder": self.top,
            "fault": fault,
            "files": len(found),
            "read": dict(Counter(extension(name) for name, *_ in found)),
            "endings": others,
            "skipped": [
                {"path": self.path(name), "reason": why, "remedy": remedy}
                for name, why, remedy in sorted(skipped)
            ],
        }


def _list_package_folders(root: str) -> list[str]:
    return [
        name
        for name, path, stat in islice(walk.walk_entries(root, _is_entered), COUNTED)
        if name.rpartition("/")[2] == walk.PACKAGES and walk.is_folder(stat) and _holds_note(path)
    ]


def _holds_note(root: str) -> bool:
    entries = islice(walk.walk_entries(root), COUNTED)
    return any(name.endswith(NOTE_SUFFIXES) for name, *_ in entries)


def _is_binary(path: str) -> bool:
    try:
        return frontmatter.is_binary(files.read(path, frontmatter.SAMPLE))
    except OSError:
        return False


def list_added_tiers(place: Place, settings: Config) -> list[AddedTier]:
    """Return the tiers added by a person, each once, in order."""
    paths = [path for path in settings["tiers"] if isinstance(path, str) and os.path.isabs(path)]
    folders = dict.fromkeys(path.rstrip("/") for path in paths)
    return [AddedTier(place.home, folder) for folder in folders if folder]


def resolve_tier_folder(folder: str, place: Place, settings: Config, env: dict[str, str]) -> str:
    """Return the absolute path of a new tier's directory; raises UsageError."""
    path = resolve_folder(folder, place)
    user = files.real_path((env.get("HOME") or env.get("USERPROFILE") or "/").replace("\\", "/"))
    if files.is_inside(user, path) or files.is_inside(place.home, path):
        raise UsageError("%s holds all your files; add only the folder that holds the notes" % path)
    for other in list_added_tiers(place, settings):
        overlaps = files.is_inside(path, other.top) or files.is_inside(other.top, path)
        if overlaps and path != other.top:
            raise UsageError(
                "%s: %s is a tier already, and one of them lies inside the other"
                % (path, other.top)
            )
    if not os.access(path, os.R_OK | os.X_OK):
        raise UsageError("%s: you cannot read it; mend its permissions" % path)
    return path


def expand_path(path: str, env: dict[str, str]) -> str:
    """Return a normalized path, `~` expanded by an environment."""
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    return os.path.normpath(user + path[1:] if path.startswith("~/") else path)


def find_files(root: str, wanted: Callable[[str], bool]) -> Iterator[Source | Skip]:
    """Yield the wanted files below a directory, and the skipped, by path.

    wanted: tells by a name.  Hidden names, `node_modules` and `__pycache__` are silently left out.
    Links to directories are not followed; a linked file counts if it resolves below the root.
    """
    for name, path, stat in walk.walk_entries(root, _is_entered):
        last = name.rpartition("/")[2]
        if name and _is_hidden(last):
            continue
        found: Source | Skip | None = None
        if isinstance(stat, OSError):
            found = _check_unreadable(root, name, stat)
        elif walk.is_folder(stat):
            found = _check_depth(name)
        elif modes.S_ISLNK(stat.st_mode):
            found = _check_link(root, name, path, wanted(last))
        elif wanted(last):
            found = Source(path, name)
        if found:
            yield found


def _check_depth(folder: str) -> Skip | None:
    if folder.count("/") < DEPTH_LIMIT or folder.rpartition("/")[2] in IGNORED:
        return None
    return Skip(folder, "nested more than %d folders deep" % DEPTH_LIMIT, "import it by itself")


def _check_unreadable(root: str, name: str, error: OSError) -> Skip | None:
    is_deleted = name and isinstance(error, FileNotFoundError)
    return None if is_deleted else skip_unreadable(name or root, error)


def skip_unreadable(name: str, error: OSError) -> Skip:
    return Skip(name, (error.strerror or "unreadable").lower(), "mend its permissions")


def _check_link(root: str, name: str, path: str, wanted: bool) -> Source | Skip | None:
    if os.path.isdir(path):
        return Skip(name, *LINKED)
    if not wanted:
        return None
    return Source(path, name) if files.is_inside(path, root) else Skip(name, *OUTSIDE)


def count_left_out(root: str, wanted: Callable[[str], bool]) -> dict[str, int]:
    """Count the unwanted visible files by extension, the most frequent first."""
    found: dict[str, int] = {}
    for name, _, stat in islice(walk.walk_entries(root, _is_entered), COUNTED):
        last = name.rpartition("/")[2]
        if name and not _is_hidden(last) and walk.is_regular(stat) and not wanted(last):
            found[extension(last)] = found.get(extension(last), 0) + 1
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def format_left_out(left: dict[str, int]) -> str:
    """Return a line that counts the files left out, "" for none."""
    if not left:
        return ""
    number = plaintext.format_count(sum(left.values()), "file")
    return "left out %s by their endings: %s" % (number, format_endings(left))


def format_endings(counts: dict[str, int]) -> str:
    """Return extensions with their counts, as many as a line holds."""
    more = ", and %d other endings" % (len(counts) - ENDINGS) if len(counts) > ENDINGS else ""
    first = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:ENDINGS]
    return ", ".join("%s (%d)" % pair for pair in first) + more


def extension(name: str) -> str:
    """Return the extension of a file's name, else the whole name."""
    last = name.rpartition("/")[2]
    return os.path.splitext(last)[1].lower() or last


def _is_hidden(name: str) -> bool:
    return name[0] in ".#" or name.endswith("~")


def _is_entered(name: str) -> bool:
    last = name.rpartition("/")[2]
    return not _is_hidden(last) and last not in IGNORED and name.count("/") < DEPTH_LIMIT


def read_source(source: Source) -> bytes | Skip:
    """Return a source's bytes, or a Skip unless it is UTF-8 of at most 5 MB."""
    try:
        data = files.read(source.path, MOST_BYTES + 1)
    except OSError as error:
        return skip_unreadable(source.name, error)
    if len(data) > MOST_BYTES:
        return Skip(source.name, "above 5 MB", "split it")
    if not data.strip():
        return Skip(source.name, "empty", "write something into it")
    if frontmatter.is_binary(data) or b"\0" in data[:8192]:
        return Skip(source.name, "no text", "not UTF-8 text")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Skip(source.name, "line %d: bytes that are not UTF-8" % line, "save it as UTF-8")
    return data


def record_path(path: str, place: Place, tier: str) -> str:
    r"""Return a path (links resolved) in the form used by records.

    Relative below the repository, except for a global record, else absolute.  Bytes that are not
    UTF-8 are written `\xff`, as a record is text.
    """
    path = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    root = files.real_path(place.root).rstrip("/") + "/"
    return path[len(root) :] if tier != layout.GLOBAL and path.startswith(root) else path


def hash_path(path: str) -> str:
    """Return the hash of an absolute path, a relative path as it is."""
    # a hash tells others nothing of this machine
    return "#" + files.sha256(os.fsencode(path))[:16] if os.path.isabs(path) else path


def find_commit(path: str) -> str:
    """Return the abbreviated commit checked out around a path, "" outside git."""
    from memory.session import git

    _, found = layout.find_git(path)
    return git.read_head(found).commit if found else ""


def separate_skips(found: Iterator[Source | Skip]) -> tuple[list[Source], list[Skip]]:
    """Return (sources, skipped entries)."""
    entries = list(found)
    sources = [entry for entry in entries if isinstance(entry, Source)]
    return sources, [entry for entry in entries if isinstance(entry, Skip)]
