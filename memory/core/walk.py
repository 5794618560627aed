"""The one walk over the files of a place: every markdown file of every tier, with what stat says of
it; and over any directory.

A directory that lies about itself, a link in a circle, a pipe named like a record: each is left out
by its name, with the reason and what mends it, and stops nothing.
"""

from __future__ import annotations

import sys

from memory.core import clock, fastjson, files
from memory.core.layout import ADDED, FOLDERS, SHARED, is_kind_allowed, is_record, record_suffixes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple, Union

    from memory.core.layout import Place

    Found = Tuple[str, str, int, int]  # name, path, mtime in ns, size
    Skip = Tuple[str, str, str]  # name, reason, remedy
    Fault = Union[Tuple[str, str], Tuple[()]]  # reason and remedy

TYPE, REGULAR, _LINK, _FOLDER = 0o170000, 0o100000, 0o120000, 0o040000  # of st_mode
_ABSENT, _LOOP = 2, 62 if sys.platform == "darwin" else 40  # of errno
MOST_FILES = 200_000  # files of a place; beyond it the rest is left out, and said
DEPTH_LIMIT = 8  # folders below a kind's folder
PACKAGES = "node_modules"  # passed over in silence
# the settings of a vault that name its folder of templates, and their key
TEMPLATES = (
    ("/.obsidian/templates.json", "folder"),
    ("/.obsidian/plugins/templater-obsidian/data.json", "templates_folder"),
)
SETTINGS_BYTES = 1 << 20
FOREIGN = ("the shared tier is a link out of the repository", "make .dayleaf a directory")
LINKED = ("a link to a directory is not followed", "move the directory here")
PRIVATE_ONLY = (
    "conversations and notes stay in the private tier",
    "move what is in it to the private tier's folder, or delete it",
)
COPY = ("a copy left by a sync program", "merge it into the record by hand, then delete it")
OUTSIDE, IRREGULAR = "a link out of the store", "not a regular file"
REMEDIES = {
    OUTSIDE: "replace the link with the file itself",
    IRREGULAR: "move it out of the store",
    "Not a directory": "make it a directory",
}


class Listing:
    """The result of a walk over a place, shared by its readers.

    found, folders: as `walk` returns.  left: the entries left out, with reason and remedy.
    """

    __slots__ = ("folders", "found", "left")

    def __init__(self, place: Place, kinds: Iterable[str] = FOLDERS):
        self.left: List[Skip] = []
        self.found, self.folders = walk(place, kinds, self.left, sys.maxsize)


def written_at(found: Found) -> float:
    """Return a record's date by its path, else by its file.

    Seconds since the epoch.  An import writes the newest
    session first, so its files' times say nothing of what is new.
    """
    told = clock.date_in_path(found[0])
    return found[2] / 1e9 if told is None else told


def walk(
    place: Place,
    kinds: Iterable[str] = FOLDERS,
    skipped: Optional[List[Skip]] = None,
    most: int = MOST_FILES,
) -> Tuple[List[Found], List[Tuple[str, int]]]:
    """Return (files, folders with their mtime in ns) of a place.

    Roots of tiers first, then their contents.  A root or a kind's folder has mtime 0 where it is
    absent or leads elsewhere.  Directory links are not followed; a linked file counts only where it
    resolves inside its tier.
    kinds: the kinds whose folders are wanted.
    skipped: takes every entry left out, with its reason and remedy.
    most: the greatest number of files returned.
    Never raises: an entry's failure is its own fault.
    """
    found: List[Found] = []
    folders: List[Tuple[str, int]] = []
    for letter, root in place.tiers():
        mtime_ns, fault = _stat_root(place, letter, root)
        folders.append((letter, mtime_ns))
        _report(skipped, letter, fault)
        if letter == ADDED:  # a folder of somebody's, of which every file may be a record
            scope = letter + "/" + place.scope
            _walk_folder(scope, root, root, found, folders, skipped, most, 0)
            found = _drop_templates(found, scope, root)
            continue
        for kind in kinds:
            name, path = letter + "/" + FOLDERS[kind], root + "/" + FOLDERS[kind]
            reason = () if fault else _find_kind_fault(kind, letter, path)
            _report(skipped, name, reason)
            if not is_kind_allowed(kind, letter):
                continue
            if fault or reason:
                folders.append((name, 0))
            else:
                _walk_folder(name, path, root, found, folders, skipped, most, 0)
    return found, folders


def _report(skipped: Optional[List[Skip]], name: str, fault: Fault) -> None:
    if fault and skipped is not None:
        skipped.append((name, *fault))


def _stat_root(place: Place, letter: str, root: str) -> Tuple[int, Fault]:
    """Return (mtime in ns or 0, reason and remedy or ()) of a tier's root."""
    fault = () if letter != SHARED or files.is_inside(root, place.root) else FOREIGN
    try:
        return files.posix.stat(root).st_mtime_ns, fault
    except OSError as error:
        return 0, fault if error.errno == _ABSENT else _describe_error(error)


def _find_kind_fault(kind: str, letter: str, path: str) -> Fault:
    """Return (reason, remedy) of a kind's folder that is not walked."""
    if is_kind_allowed(kind, letter):
        return LINKED if files.is_link(path) else ()
    return PRIVATE_ONLY if files.exists(path) else ()


def _drop_templates(found: List[Found], scope: str, root: str) -> List[Found]:
    closed = tuple("%s/%s/" % (scope, folder) for folder in read_template_folders(root))
    return [one for one in found if not one[0].startswith(closed)] if closed else found


def _walk_folder(
    name: str,
    path: str,
    root: str,
    found: List[Found],
    folders: List[Tuple[str, int]],
    skipped: Optional[List[Skip]],
    most: int,
    depth: int,
) -> None:
    try:
        # Before the listing: a file that comes in between makes the folder look changed, never
        # unchanged.
        mtime_ns = files.posix.stat(path).st_mtime_ns
        entries = list(files.posix.scandir(path))
    except OSError as error:
        if not depth:
            folders.append((name, 0))
        if skipped is not None and error.errno != _ABSENT:
            skipped.append((name, *_describe_error(error)))
        return
    folders.append((name, mtime_ns))
    base, prefix = path + "/", name + "/"
    ends = record_suffixes(name)
    for entry in entries:
        file = entry.name
        try:
            if file.endswith(ends) and is_record(file, ends):
                # recall compares every file: a call less each is 5 ms at 10,000
                stat = entry.stat(follow_symlinks=False)
                if stat.st_mode & TYPE == _LINK:
                    stat = entry.stat()
                    if stat.st_mode & TYPE != _FOLDER and not files.is_inside(entry.path, root):
                        raise OSError(1, OUTSIDE)
                if stat.st_mode & TYPE == REGULAR:
                    if len(found) < most:
                        found.append((prefix + file, base + file, stat.st_mtime_ns, stat.st_size))
                    continue
                if stat.st_mode & TYPE != _FOLDER:
                    raise OSError(22, IRREGULAR)
            if file[0] != "." and entry.is_dir(follow_symlinks=False):
                if file == PACKAGES:
                    continue
                if depth < DEPTH_LIMIT:
                    _walk_folder(
                        prefix + file, base + file, root, found, folders, skipped, most, depth + 1
                    )
                elif skipped is not None:
                    skipped.append(
                        (
                            prefix + file,
                            "nested more than %d folders deep" % DEPTH_LIMIT,
                            "move it up",
                        )
                    )
            elif skipped is not None and file[0] not in ".#":
                reason = (
                    LINKED
                    if entry.is_symlink() and entry.is_dir()
                    else COPY
                    if file.endswith(ends)
                    else ()
                )
                if reason:
                    skipped.append((prefix + file, *reason))
        except OSError as error:
            if skipped is not None and is_record(file, ends):
                skipped.append((prefix + file, *_describe_error(error, entry.is_symlink())))


def read_template_folders(root: str) -> List[str]:
    """Return the template folders that a vault names."""
    named = []
    for file, key in TEMPLATES:
        try:
            settings = fastjson.parse(files.read(root + file, SETTINGS_BYTES))
        except (OSError, ValueError):
            continue
        folder = settings.get(key) if isinstance(settings, dict) else None
        named.append(folder.strip(" /") if isinstance(folder, str) else "")
    return [folder for folder in named if folder]


def walk_entries(
    root: str, enter: Callable[[str], bool] = lambda name: True
) -> Iterator[Tuple[str, str, Any]]:
    """Yield (relative name, path, stat) of all entries below a directory.

    By name, a folder before its contents; the directory itself comes first, as "".  A link is
    yielded as a link and never followed; where stat failed, its OSError takes the stat's place.
    enter: tells by a folder's name whether to enter it.
    """
    waiting: List[Tuple[str, str]] = [("", root)]
    while waiting:
        name, path = waiting.pop()
        entries: List[str] = []
        stat: Any
        try:
            stat = files.posix.stat(path, follow_symlinks=not name)
            if not name or (stat.st_mode & TYPE == _FOLDER and enter(name)):
                entries = sorted(files.posix.listdir(path), reverse=True)
        except OSError as error:
            stat = error
        yield name, path, stat
        prefix, base = (name + "/" if name else ""), path.rstrip("/") + "/"
        waiting += [(prefix + entry, base + entry) for entry in entries]


def is_regular(stat: Any) -> bool:
    """Tell whether an entry of `walk_entries` is a regular file."""
    return not isinstance(stat, OSError) and stat.st_mode & TYPE == REGULAR


def is_folder(stat: Any) -> bool:
    """Tell whether an entry of `walk_entries` is a directory."""
    return not isinstance(stat, OSError) and stat.st_mode & TYPE == _FOLDER


def _describe_error(error: OSError, linked: bool = False) -> Tuple[str, str]:
    if error.errno == _LOOP:
        return "a link that leads back to itself", "remove the link"
    if error.errno == _ABSENT:
        return (
            ("a link to nothing", "remove the link")
            if linked
            else ("gone since it was listed", "nothing to do")
        )
    return (error.strerror or "unreadable").lower(), REMEDIES.get(
        error.strerror or "", "mend its permissions"
    )
