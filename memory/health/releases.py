"""Finds a newer release of dayleaf in the client's copy of its marketplace; fetches nothing.

The client copies a plugin to `plugins/cache/<marketplace>/<plugin>/<version>` and updates its copy
of the marketplace when the user or a setting says so.
"""

from __future__ import annotations

import re
from typing import Any

from memory.core import fastjson, files

MANIFEST_BYTES = 1 << 20
MANIFESTS = "/.claude-plugin/"
VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}", re.A)
NAME = re.compile(r"[\w.-]{1,80}", re.A)


def find_newer(root: str, version: str) -> tuple[str, str]:
    """Return (version, marketplace) of a newer release, else ("", "").

    root: the folder of this copy. version: its own.
    """
    parts = root.replace("\\", "/").rsplit("/", 4)
    if len(parts) < 5 or parts[1] != "cache" or not NAME.fullmatch(parts[2]):
        return "", ""  # not a copy by the client
    plugins, _, marketplace, plugin, _ = parts
    found = _read_released_version(_find_marketplace(plugins, marketplace), plugin)
    if not VERSION.fullmatch(found) or _parse_numbers(found) <= _parse_numbers(version):
        return "", ""
    return found, marketplace


def _find_marketplace(plugins: str, marketplace: str) -> str:
    known = _read_object(plugins + "/known_marketplaces.json").get(marketplace)
    location = known.get("installLocation") if isinstance(known, dict) else ""
    if isinstance(location, str) and location:
        return location
    return "%s/marketplaces/%s" % (plugins, marketplace)


def _read_released_version(location: str, plugin: str) -> str:
    entries = _read_object(location + MANIFESTS + "marketplace.json").get("plugins")
    rows = [row for row in entries if isinstance(row, dict)] if isinstance(entries, list) else []
    entry = next((row for row in rows if row.get("name") == plugin), {})
    source = entry.get("source")
    own: Any = None
    if isinstance(source, str) and source.startswith("./") and ".." not in source:
        own = _read_object("%s/%s%splugin.json" % (location, source, MANIFESTS)).get("version")
    return str(own or entry.get("version") or "")


def _read_object(path: str) -> dict[str, Any]:
    try:
        value = fastjson.parse(files.read(path, MANIFEST_BYTES))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _parse_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
