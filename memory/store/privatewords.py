"""The words of <private> parts, masked in later texts: a model repeats a name that it was told.

Each line of a part is masked, and of a part of at most SHORT words each word with a capital, a
digit or a letter beyond ASCII.
"""

from __future__ import annotations

import re

from memory.store import redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SHORT = 4  # words of a part that is a name
LEAST, SURE = 4, 6  # bytes of a masked word, and of one that is masked within words too
_TAG = re.compile(r"\A\W*private[^>]*>|<[^<]*\Z", re.I)


def extract_words(texts: Iterable[str]) -> set[str]:
    """Return the lines and names in the <private> parts of texts."""
    found = set[str]()
    for part in (part for text in texts for part in redactor.find_private_parts(text)):
        inner = _TAG.sub("", part)
        found.update(" ".join(line.split()) for line in inner.splitlines())
        words = re.findall(r"[\w.-]+", inner)
        if len(words) <= SHORT:
            found.update(word for word in words if re.search(r"[^a-z._-]", word))
    return {value for value in found if len(value.encode()) >= LEAST}


def mask_words(text: str, words: Iterable[str], salt: str) -> str:
    """Return a text with a marker for each word, in any case."""
    for word in sorted(words, key=lambda word: (-len(word), word)):
        form = r"[\W_]{1,3}".join(map(re.escape, word.split()))
        if len(word.encode()) < SURE:
            form = r"(?<![^\W_])" + form + r"(?![^\W_])"
        text = re.sub(form, redactor.format_marker("private", word, salt), text, flags=re.I)
    return text
