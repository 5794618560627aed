"""Paths that lead to one machine, a person's home or a file share: not for the repository."""

from __future__ import annotations

import os
import re
from typing import Iterator, NamedTuple

from memory.core.layout import Place

# a user's and a host's name, not the placeholder of a manual
_WHO = r"(?!(?:user|username|you|me|name|runner|shared|public)\b)[\w.-]+"
_HOST = r"(?!(?:server|host|hostname|computer)\b|[\w.-]*\bexample\b)[A-Za-z0-9][\w.-]+"
REST, FREE = r"[^\s\"'`)]*", r"(?<![\w./~\\-])"
# What leads to a home or a disk.  `GET /users/42` is a route, no folder.
_PRIVATE = "|".join(
    (
        FREE
        + r"(?:(?-i:/home|/Users)|[A-Z]:\\{1,2}Users|[A-Z]:/Users|(?-i:/mnt/[a-z]/Users))[\\/]{1,2}"
        + _WHO
        + REST,
        FREE
        + (
            r"(?:/root/|~/|\$HOME/|\$\{HOME\}/|\$env:(?:HOME|USERPROFILE|APPDATA"
            r"|LOCALAPPDATA)[\\/])[\w.-]+"
        )
        + REST,
        r"%(?:USERPROFILE|HOMEPATH|APPDATA|LOCALAPPDATA)%[\\/]{1,2}[\w.-]+" + REST,
        FREE + r"~(?=[a-z_])" + _WHO + r"/(?!\S*~)[\w.-]+" + REST,
        FREE + r"(?-i:/Volumes/|/run/media/|(?:/private)?/var/folders/)[\w.-]+" + REST,
        r"file:///\S+",
    )
)
# `\\srv\share`, also with doubled backslashes, and `smb://srv/share`.
_NETWORK = re.compile(
    r"(?<![\w\\:])(?:\\\\%s\\[\w$.-]{2,}|\\{4}%s\\\\[\w$.-]{2,}|(?:smb|cifs|afp|nfs)://%s/)%s"
    % (_HOST, _HOST, _HOST, REST),
    re.I,
)
_WITHOUT = "say it without the path"


class LocalPath(NamedTuple):
    """A path in a text; its line counts from 1."""

    line: int
    what: str
    remedy: str


def find(text: str, place: Place) -> Iterator[LocalPath]:
    """Find paths in a text to local folders and file shares."""
    own = [
        re.escape(path)
        for path in (place.home, place.root, os.path.expanduser("~"))
        if len(path) > 1
    ]
    paths = re.compile("(?:%s)(?![\\w-])[^\\s\"'`)]*|%s" % ("|".join(own), _PRIVATE), re.I)
    for hit in paths.finditer(text):
        below = hit[0][len(place.root) + 1 :] if hit[0].startswith(place.root + "/") else ""
        what = "a path of this machine (%s)" % hit[0][:60].rstrip(".,;:")
        relative = "write it relative to the repository: %s" % below
        yield LocalPath(line_number(text, hit), what, relative if below else _WITHOUT)
    for hit in _NETWORK.finditer(text):
        what = "a file share of your network (%s)" % hit[0][:60]
        yield LocalPath(line_number(text, hit), what, _WITHOUT)


def line_number(text: str, hit: re.Match[str]) -> int:
    """Return the line of a match, from 1."""
    return text.count("\n", 0, hit.start()) + 1
