"""Claims: the files and commits that a record names, checked against the working tree when the record is shown.

STALE: a named file is missing.  FRESH: at least one is there and none is missing.  UNKNOWN: nothing to check.  Files are
those of the key `files` and paths in the text.  A path in the text counts as missing only where its first directory is there
(prose shortens paths), a bare file name never does.  A commit is known where its object lies loose in `.git` or
`packed-refs` names it; objects in packs are not searched, so an unknown commit says nothing.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from memory import files, paths
from memory.records import Record

FRESH, STALE, UNKNOWN = "FRESH", "STALE", "UNKNOWN"
MOST = 40  # claims of a kind that are checked
TEXT_LIMIT = 1 << 16  # characters of a body that are searched
_EXTENSIONS = frozenset(
    "py pyi js jsx ts tsx mjs cjs go rs java kt kts scala rb php c h cc cpp cxx hpp cs swift m mm sh bash zsh fish ps1 sql html "
    "htm css scss sass less vue svelte md mdx rst txt toml yaml yml json jsonc xml ini cfg conf lock gradle tf proto graphql "
    "ex exs erl clj hs ml lua r jl dart zig nix cmake mk ipynb csv tsv env".split())
_PATH = re.compile(r"(?<![\w/.:@~\\-])(?:\./)?((?:[\w.@+\-\[\]()]+/)*[\w.@+\-\[\]()]*[\w\])]\.[A-Za-z0-9]{1,8})(?![\w/])")
_QUOTED = re.compile(r"`([^`\n]{2,200})`")
_HASH = re.compile(r"(?<![\w/.-])[0-9a-f]{7,40}(?![\w/.-])")


class Claims(NamedTuple):
    """files: (path, whether it is there, None where that cannot be said); commits: (hash, True or None); state: the verdict."""

    files: Tuple[Tuple[str, Optional[bool]], ...]
    commits: Tuple[Tuple[str, Optional[bool]], ...]
    state: str


def check(record: Record, root: str, git: str) -> Claims:
    """Check what a record names.

    root: the checkout, "" where there is none to check against.  git: its git directory, "" for none.
    """
    if not root:
        return Claims((), (), UNKNOWN)
    named = record.meta.get("files")
    listed = [named] if isinstance(named, str) else [n for n in named if isinstance(n, str)] if isinstance(named, list) else []
    listed = [part.strip() for item in listed for part in item.split(",")]
    found: dict[str, Optional[bool]] = {}
    for path in listed[:MOST]:
        if path:
            found[path] = _stands(path, root, True)
    for path in mentioned(record.body)[:MOST]:
        if path not in found:
            found[path] = _stands(path, root, False)
    commits = tuple((commit, _known(commit, git)) for commit in _commits(record)[:MOST])
    state = UNKNOWN
    if False in found.values():
        state = STALE
    elif True in found.values():
        state = FRESH
    return Claims(tuple(found.items()), commits, state)


def mentioned(body: str) -> List[str]:
    """Return the paths of files that a text names, in their order: with a slash anywhere, bare names only in backticks."""
    text = body[:TEXT_LIMIT]
    found: dict[str, None] = {}
    for match in _PATH.finditer(text):
        path = match.group(1)
        if "/" in path and _is_file(path):
            found[path] = None
    for quoted in _QUOTED.findall(text):
        word = quoted.strip().partition(":")[0]
        word = word[2:] if word.startswith("./") else word
        if _PATH.fullmatch(word) and _is_file(word):
            found[word] = None
    return list(found)


def mentions(record: Record, path: str) -> bool:
    """Tell whether a record names a file: `path` ends one of its `files`, or a path in its text, or stands there as it is."""
    wanted = path.replace("\\", "/").strip("/").lower()
    while wanted.startswith("./"):
        wanted = wanted[2:]
    if not wanted:
        return False
    named = record.meta.get("files")
    listed = [named] if isinstance(named, str) else list(named) if isinstance(named, (list, tuple)) else []
    for item in listed:
        for one in str(item).split(","):
            if ("/" + one.strip().lower()).endswith("/" + wanted):
                return True
    return re.search(r"(?<![\w.-])" + re.escape(wanted) + r"(?![\w/-]|\.\w)", record.body.lower()) is not None


def _is_file(path: str) -> bool:
    return path.rpartition(".")[2].lower() in _EXTENSIONS and ".." not in path and "//" not in path


def _stands(path: str, root: str, listed: bool) -> Optional[bool]:
    """Tell whether a named file is there; None for a path outside the checkout, or one that prose may have shortened."""
    path = path.replace("\\", "/")
    path = path[2:] if path.startswith("./") else path
    if path.startswith("/"):
        if not path.startswith(root + "/"):
            return None
        path = path[len(root) + 1:]
    elif path[:1] == "~" or path[1:2] == ":" or ".." in path.split("/"):
        return None
    if files.exists(root + "/" + path):
        return True
    if listed:
        return False
    first, slash, _ = path.partition("/")
    return False if slash and files.is_folder(root + "/" + first) else None


def _commits(record: Record) -> List[str]:
    said = record.meta.get("commit")
    found = [said] if isinstance(said, str) and re.fullmatch(r"[0-9a-f]{7,40}", said) else []
    for match in _HASH.findall(record.body[:TEXT_LIMIT]):
        if not match.isdigit() and not match.isalpha():
            found.append(match)
    return list(dict.fromkeys(found))


def _known(commit: str, git: str) -> Optional[bool]:
    """True where a commit's object lies loose or `packed-refs` names it, else None."""
    if not git:
        return None
    common = paths.common_git(git)
    try:
        if any(entry.name.startswith(commit[2:]) for entry in files.posix.scandir(common + "/objects/" + commit[:2])):
            return True
    except OSError:
        pass
    try:
        packed = files.read(common + "/packed-refs", 16 << 20)
    except OSError:
        return None
    return True if b"\n" + commit.encode("ascii") in b"\n" + packed else None
