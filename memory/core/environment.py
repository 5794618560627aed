"""The environment without what a repository's settings put into it.

The client fills a session's environment, and its hooks', from `.claude/settings.json` and
`settings.local.json` of the project too.  A repository could so lead dayleaf to another home, with
approvals of its own, or switch things on that its user did not.  So a variable of ours counts only
where no settings file of the project sets it to this value, or the user's own file does as well.
A project's file that cannot be read here, but perhaps by the client, may set any of them.
"""

from __future__ import annotations

from memory.core import fastjson, files
from memory.core.boundary import SETTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional

SETTINGS_FILES = ("/.claude/settings.json", "/.claude/settings.local.json")
IGNORED = "%s of %s is ignored; set it in your shell or in your own ~/.claude/settings.json"
LIMIT = 1 << 20  # bytes of a settings file


def trusted_environment(env: Dict[str, str], directories: List[str]) -> Dict[str, str]:
    """Return an environment without dayleaf's variables set by a repository.

    directories: absolute; the settings in each and in those above it are the repository's.
    """
    claimed = find_repository_variables(env, directories)
    return {key: value for key, value in env.items() if key not in claimed} if claimed else env


def find_repository_variables(env: Dict[str, str], directories: List[str]) -> Dict[str, str]:
    """Return dayleaf's variables that a repository set, with the settings file."""
    ours = [key for key in env if key.startswith(SETTERS)]
    if not ours:
        return {}
    user = _normalise(env.get("HOME") or env.get("USERPROFILE") or "")
    own = (_read_variables(user + SETTINGS_FILES[0]) if user else None) or {}
    ours = [key for key in ours if env[key] != own.get(key)]
    folders = [folder for folder in _list_with_parents(directories) if folder != user]
    found: Dict[str, str] = {}
    for path in [folder + name for folder in folders for name in SETTINGS_FILES]:
        theirs = _read_variables(path)
        found.update((key, path) for key in ours if theirs is None or theirs.get(key) == env[key])
    return found


def _list_with_parents(directories: List[str]) -> List[str]:
    found: Dict[str, None] = {}
    for folder in map(_normalise, directories):
        while folder:
            found[folder] = None
            folder = folder.rpartition("/")[0]
    return list(found)


def _normalise(path: str) -> str:
    return path.replace("\\", "/").rstrip("/")


def _read_variables(path: str) -> Optional[Dict[str, str]]:
    """Return `env` of a settings file, None if it may hide variables of ours."""
    try:
        text = files.read(path, LIMIT + 1)
    except (OSError, ValueError):
        return {}
    try:
        value = fastjson.parse(text) if len(text) <= LIMIT else None
    except ValueError:
        value = None
    if value is None:
        return None if len(text) > LIMIT or _may_name_ours(text) else {}
    given = value.get("env") if isinstance(value, dict) else None
    if not isinstance(given, dict):
        return {}
    return {
        key: item if isinstance(item, str) else fastjson.dump(item) for key, item in given.items()
    }


def _may_name_ours(text: bytes) -> bool:
    """Tell whether a text that is no JSON may name our variables.

    UTF-16 has a NUL in each letter, and JSON may write any letter as an escape.
    """
    plain = text.replace(b"\0", b"")
    return b"\\u" in plain or any(name.encode() in plain for name in SETTERS)
