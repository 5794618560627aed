"""The release of dayleaf that the client's marketplace holds.

The client copies a plugin to `plugins/cache/<marketplace>/<plugin>/<version>` and keeps its own
copy of the marketplace, which it updates when the user, or a setting of the user's, says so.
Only that copy is read: nothing is fetched.
"""

from __future__ import annotations

import re
from typing import Any

from memory.core import fastjson, files

MANIFEST_BYTES = 1 << 20
MANIFESTS = "/.claude-plugin/"
VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}", re.A)
NAME = re.compile(r"[\w.-]{1,80}", re.A)


def newer(root: str, version: str) -> tuple[str, str]:
    """Return (version, marketplace) of a newer release, else ("", "").

    root: the folder of this copy. version: its own.
    """
    parts = root.replace("\\", "/").rsplit("/", 4)
    if len(parts) < 5 or parts[1] != "cache" or not NAME.fullmatch(parts[2]):
        return "", ""  # read in place, so it is its own newest
    plugins, _, marketplace, plugin, _ = parts
    found = _released(_location(plugins, marketplace), plugin)
    if not VERSION.fullmatch(found) or _numbers(found) <= _numbers(version):
        return "", ""
    return found, marketplace


def _location(plugins: str, marketplace: str) -> str:
    known = _object(plugins + "/known_marketplaces.json").get(marketplace)
    location = known.get("installLocation") if isinstance(known, dict) else ""
    return (
        location
        if isinstance(location, str) and location
        else "%s/marketplaces/%s" % (plugins, marketplace)
    )


def _released(location: str, plugin: str) -> str:
    entries = _object(location + MANIFESTS + "marketplace.json").get("plugins")
    entries = entries if isinstance(entries, list) else []
    entry = next(
        (one for one in entries if isinstance(one, dict) and one.get("name") == plugin), {}
    )
    source = entry.get("source")
    own: Any = None
    if isinstance(source, str) and source.startswith("./") and ".." not in source:
        own = _object("%s/%s%splugin.json" % (location, source, MANIFESTS)).get("version")
    return str(own or entry.get("version") or "")


def _object(path: str) -> dict[str, Any]:
    try:
        value = fastjson.parse(files.read(path, MANIFEST_BYTES))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
