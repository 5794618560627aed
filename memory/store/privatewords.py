"""What stands in <private> parts, taken out of what is said after them.

A model repeats a name that it was told.  What is looked for: each line of a part, and of a part of
at most SHORT words each word with a capital, a digit or a letter beyond ASCII.
"""

from __future__ import annotations

import re

from memory.store import redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SHORT = 4  # words of a part that is a name
LEAST, SURE = 4, 6  # bytes of what is looked for; from which on also within a word
_TAG = re.compile(r"\A\W*private[^>]*>|<[^<]*\Z", re.I)


def values(texts: Iterable[str]) -> set[str]:
    """Return what is to be looked for of the <private> parts of texts."""
    found = set[str]()
    for part in (part for text in texts for part in redactor.private_parts(text)):
        said = _TAG.sub("", part)
        found.update(" ".join(line.split()) for line in said.splitlines())
        words = re.findall(r"[\w.-]+", said)
        if len(words) <= SHORT:
            found.update(word for word in words if re.search(r"[^a-z._-]", word))
    return {value for value in found if len(value.encode()) >= LEAST}


def take_out(text: str, words: Iterable[str], salt: str) -> str:
    """Return a text with a marker for each of the words, in whatever case."""
    for word in sorted(words, key=lambda word: (-len(word), word)):
        form = r"[\W_]{1,3}".join(map(re.escape, word.split()))
        if len(word.encode()) < SURE:
            form = r"(?<![^\W_])" + form + r"(?![^\W_])"
        text = re.sub(form, redactor.marker("private", word, salt), text, flags=re.I)
    return text
