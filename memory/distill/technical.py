"""Find the technical words of a text: paths, identifiers, options, hashes, numbers."""

from __future__ import annotations

import re

from memory.session.latepattern import LazyPattern

_TECHNICAL = LazyPattern(  # options, identifiers, versions, hashes, files, calls; in ticks or not
    r"`?(?:--?[A-Za-z][\w-]*|\$?[A-Za-z]\w*_\w+|[A-Za-z]+[a-z][A-Z]\w*|\w*(?:Error|Exception)|"
    r"[A-Z]+-?\d+|v?\d+(?:\.\d+)+|"
    r"[0-9a-f]{7,40}|\d{2,}\w*%?|[\w.-]+\.[A-Za-z]\w{0,4}|[\w.-]+\(\)|\w+::[\w:]+)`?",
    re.ASCII,
)
_EDGES = "\"'()[]{}<>,;:.!?*“”「」、。"


def find_technical(value: str) -> list[str]:
    """Return the distinct technical words of a text."""
    words = dict.fromkeys(word.strip(_EDGES) for word in value.split())
    return [
        word
        for word in words
        if 1 < len(word) <= 200
        and ("/" in word.strip("/") or word[0] == "`" or _TECHNICAL.match(word))
    ]
