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
    from typing import Any, Callable, Iterable, Iterator, List, Tuple, Union

    from memory.core.layout import Place

    Found = Tuple[str, str, int, int]  # name, path, mtime in ns, size
    Skip = Tuple[str, str, str]  # name, reason, remedy
    Fault = Union[Tuple[str, str], Tuple[()]]  # reason and remedy

TYPE, REGULAR, _LINK, _FOLDER = 0o170000, 0o100000, 0o120000, 0o040000  # of st_mode
_ABSENT, _LOOP = 2, 62 if sys.platform == "darwin" else 40  # of errno
MOST_FILES = 200_000  # files of a place; beyond it the rest is left out, and said
DEPTH_LIMIT = 8  # folders below a kind's folder
PACKAGES = "node_modules"  # passed over in silence
NOTE_ENDS = (".md", ".markdown", ".mdc", ".mdx", ".txt")
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
TOO_DEEP = ("nested more than %d folders deep" % DEPTH_LIMIT, "move it up")
OTHER_END = ("its name does not end in `.md`", "rename it")
COPY = ("a copy left by a sync program", "merge it into the record by hand, then delete it")
OUTSIDE, IRREGULAR = "a link out of the store", "not a regular file"
REMEDIES = {
    OUTSIDE: "replace the link with the file itself",
    IRREGULAR: "move it out of the store",
    "Not a directory": "make it a directory",
}


class Listing:
    """The files and folders of a place.

    found: (name, path, mtime in ns, size) of each file.
    folders: (name, mtime in ns) of the roots of tiers and the folders in them; mtime 0 for one that
    is absent or leads elsewhere.
    left: the entries left out, with reason and remedy.
    Directory links are not followed; a linked file counts only where it resolves inside its tier.
    """

    def __init__(self, place: Place, kinds: Iterable[str] = FOLDERS, most: int = sys.maxsize):
        """Walk the folders of some kinds for `most` files; never raises."""
        self.found: List[Found] = []
        self.folders: List[Tuple[str, int]] = []
        self.left: List[Skip] = []
        self._most = most
        for letter, root in place.tiers():
            self._walk_tier(place, letter, root, kinds)

    def _walk_tier(self, place: Place, letter: str, root: str, kinds: Iterable[str]) -> None:
        mtime_ns, fault = _stat_root(place, letter, root)
        self.folders.append((letter, mtime_ns))
        self._leave_out(letter, fault)
        if letter == ADDED:  # a folder of somebody's, of which every file may be a record
            scope = letter + "/" + place.scope
            self._walk_folder(scope, root, root, 0)
            closed = tuple("%s/%s/" % (scope, folder) for folder in read_template_folders(root))
            self.found = [file for file in self.found if not file[0].startswith(closed)]
            return
        for kind in kinds:
            name, path = letter + "/" + FOLDERS[kind], root + "/" + FOLDERS[kind]
            reason = () if fault else _find_kind_fault(kind, letter, path)
            self._leave_out(name, reason)
            if not is_kind_allowed(kind, letter):
                continue
            if fault or reason:
                self.folders.append((name, 0))
            else:
                self._walk_folder(name, path, root, 0)

    def _leave_out(self, name: str, fault: Fault) -> None:
        if fault:
            self.left.append((name, *fault))

    def _walk_folder(self, name: str, path: str, root: str, depth: int) -> None:
        try:
            # before the listing: a file that comes in between makes the folder look changed
            mtime_ns = files.posix.stat(path).st_mtime_ns
            entries = list(files.posix.scandir(path))
        except OSError as error:
            if not depth:
                self.folders.append((name, 0))
            if error.errno != _ABSENT:
                self.left.append((name, *_describe_error(error)))
            return
        self.folders.append((name, mtime_ns))
        ends, prefix, base, found = record_suffixes(name), name + "/", path + "/", self.found
        for entry in entries:
            file = entry.name
            try:
                if file.endswith(ends) and is_record(file, ends):
                    # spares each file a call
                    stat = entry.stat(follow_symlinks=False)
                    if stat.st_mode & TYPE == _LINK:
                        stat = _stat_linked(entry, root)
                    if stat.st_mode & TYPE == REGULAR:
                        if len(found) < self._most:
                            found.append(
                                (prefix + file, base + file, stat.st_mtime_ns, stat.st_size)
                            )
                        continue
                    if stat.st_mode & TYPE != _FOLDER:
                        raise OSError(22, IRREGULAR)
                if file[0] != "." and entry.is_dir(follow_symlinks=False):
                    self._enter(prefix + file, base + file, root, depth + 1)
                elif file[0] not in ".#":
                    self._leave_out(prefix + file, _find_entry_fault(prefix + file, entry, ends))
            except OSError as error:
                if is_record(file, ends):
                    self.left.append((prefix + file, *_describe_error(error, entry.is_symlink())))

    def _enter(self, name: str, path: str, root: str, depth: int) -> None:
        if name.endswith("/" + PACKAGES):
            return
        if depth > DEPTH_LIMIT:
            self.left.append((name, *TOO_DEEP))
        else:
            self._walk_folder(name, path, root, depth)


def walk(
    place: Place, kinds: Iterable[str] = FOLDERS, most: int = MOST_FILES
) -> Tuple[List[Found], List[Tuple[str, int]]]:
    """Return a place's files and folders: `found` and `folders` of its Listing."""
    listing = Listing(place, kinds, most)
    return listing.found, listing.folders


def written_at(found: Found) -> float:
    """Return a record's date by its path, else by its file.

    Seconds since the epoch.  An import writes the newest session first, so its files' times say
    nothing of what is new.
    """
    dated = clock.date_in_path(found[0])
    return found[2] / 1e9 if dated is None else dated


def _stat_root(place: Place, letter: str, root: str) -> Tuple[int, Fault]:
    """Return (mtime in ns, reason and remedy) of a tier's root."""
    fault = () if letter != SHARED or files.is_inside(root, place.root) else FOREIGN
    try:
        return files.posix.stat(root).st_mtime_ns, fault
    except OSError as error:
        return 0, fault if error.errno == _ABSENT else _describe_error(error)


def _find_kind_fault(kind: str, letter: str, path: str) -> Fault:
    """Return why a kind's folder is left out, with the remedy, or ()."""
    if is_kind_allowed(kind, letter):
        return LINKED if files.is_link(path) else ()
    return PRIVATE_ONLY if files.exists(path) else ()


def _find_entry_fault(name: str, entry: Any, ends: Tuple[str, ...]) -> Fault:
    """Return why an entry is left out, with the remedy, or ()."""
    if entry.is_symlink() and entry.is_dir():
        return LINKED
    if name.endswith(ends):
        return COPY
    return OTHER_END if name[0] != ADDED and name.lower().endswith(NOTE_ENDS) else ()


def _stat_linked(entry: Any, root: str) -> Any:
    """Return the stat of a link's target; raises OSError for a file outside."""
    stat = entry.stat()
    if stat.st_mode & TYPE != _FOLDER and not files.is_inside(entry.path, root):
        raise OSError(1, OUTSIDE)
    return stat


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

    By name, a folder before its contents; the directory itself comes first, as "".  A link is never
    followed; where stat failed, its OSError takes the stat's place.  enter: tells by a folder's
    name whether to enter it.
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
    if error.errno == _ABSENT and linked:
        return "a link to nothing", "remove the link"
    if error.errno == _ABSENT:
        return "gone since it was listed", "nothing to do"
    reason = error.strerror or "unreadable"
    return reason.lower(), REMEDIES.get(reason, "mend its permissions")
