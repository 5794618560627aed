"""What a record names: files, in its key `files` and in its text, and commits."""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

from memory.core.records import Record
from memory.project.symbols import BEFORE, PATH, TEXT_LIMIT, is_file

_PATH = re.compile(BEFORE + r"(%s)(?![\w/])" % PATH)
_QUOTED = re.compile(r"`([^`\n]{2,200})`")
_HASH = re.compile(r"(?<![\w/.-])[0-9a-f]{7,40}(?![\w/-]|\.\w)")
_SAID = re.compile(r"(?i)\b(?:commit(?:s|ted)?|revert(?:s|ed)?|cherry-?pick(?:s|ed)?|merged?|rev(?:ision)?|sha|since|"
                   r"git (?:show|log|checkout|diff)|fixed (?:in|by)|introduced (?:in|by)|landed (?:in|as))"
                   r"\W*(?:[0-9a-f]{7,40}\W+(?:and\W+)?)*\Z")


def listed_files(record: Record) -> List[str]:
    """Return the paths of the key `files`."""
    named = record.meta.get("files")
    items = [named] if isinstance(named, str) else [n for n in named if isinstance(n, str)] if isinstance(named, list) else []
    return [part.strip() for item in items for part in item.split(",")]


def mentioned(body: str) -> List[str]:
    """Return the paths of files that a text names, in their order: with a slash anywhere, bare names only in backticks."""
    text = body[:TEXT_LIMIT]
    found: Dict[str, None] = {}
    for match in _PATH.finditer(text):
        path = match.group(1)
        if "/" in path and is_file(path):
            found[path] = None
    for quoted in _QUOTED.findall(text):
        word = quoted.strip().partition(":")[0]
        word = word[2:] if word.startswith("./") else word
        if _PATH.fullmatch(word) and is_file(word):
            found[word] = None
    return list(found)


def mentions(record: Record, path: str) -> bool:
    """Tell whether a record names a file: `path` ends one of its `files`, or a path in its text, or stands there as it is."""
    wanted = path.replace("\\", "/").strip("/").lower()
    while wanted.startswith("./"):
        wanted = wanted[2:]
    if not wanted:
        return False
    if any(("/" + one.lower()).endswith("/" + wanted) for one in listed_files(record)):
        return True
    return re.search(r"(?<![\w.-])" + re.escape(wanted) + r"(?![\w/-]|\.\w)", record.body.lower()) is not None


def own_commit(record: Record) -> str:
    """Return the commit that a record says it was written at, "" for none."""
    said = record.meta.get("commit")
    return said if isinstance(said, str) and re.fullmatch(r"[0-9a-f]{7,40}", said) else ""


def hashes(body: str) -> List[Tuple[str, bool]]:
    """Return (hash, whether the text calls it a commit) of what may be commits; checksums look the same."""
    text = body[:TEXT_LIMIT]
    found = []
    for match in _HASH.finditer(text):
        name, start = match.group(), match.start()
        line = text.rfind("\n", 0, start) + 1
        bare = text[max(line, start - 80):start].rstrip("`( ")
        found.append((name, not name.isdigit() and not name.isalpha() and _SAID.search(bare) is not None))
    return found
