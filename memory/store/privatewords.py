"""The words of <private> parts, masked in later texts: a model repeats a name that it was told.

Each line of a part is masked, and of a part of at most SHORT words each word with a capital, a
digit or a letter beyond ASCII.
"""

from __future__ import annotations

import re

from memory.core.plaintext import merge_overlapping
from memory.store import redactor
from memory.store.secretshapes import write_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Span = tuple[int, int]

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


def make_mask(words: Iterable[str], salt: str) -> Callable[[str], str]:
    """Return a function that masks each of the words in a text."""
    # one search for all words: its cost does not grow with their number
    forms = sorted({"\n".join(_lower(word).split()) for word in words} - {""})
    sure = [form for form in forms if len(form.encode("utf-8", "replace")) >= SURE]
    short = [form for form in forms if len(form.encode("utf-8", "replace")) < SURE]
    searches = [re.compile(write_pattern(sure)).search] if sure else []
    if short:
        form = r"(?<![^\W_])%s(?![^\W_])" % write_pattern(short)
        searches.append(re.compile(form).search)

    def mask(text: str) -> str:
        lower, parts, at = _lower(text), list[str](), 0
        spans = [span for search in searches for span in _find_spans(search, lower)]
        for start, end in merge_overlapping(spans):
            name = " ".join(re.split(r"[\W_]+", lower[start:end]))
            parts += (text[at:start], redactor.format_marker("private", name, salt))
            at = end
        return "".join(parts) + text[at:]

    return mask


def _find_spans(search: Callable[[str, int], re.Match[str] | None], text: str) -> Iterator[Span]:
    """Yield the matches in a text, overlapping ones too."""
    found = search(text, 0)
    while found:
        yield found.span()
        found = search(text, found.start() + 1)


def _lower(text: str) -> str:
    """Return a text in lower case, of the same length."""
    return text.replace("\u0130", "i").lower()
