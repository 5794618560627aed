"""The words of <private> parts, masked in later texts: a model repeats a name that it was told.

Each line of a part is masked, and of a part of at most SHORT words each word with a capital, a
digit or a letter beyond ASCII.
"""

from __future__ import annotations

import re
from itertools import groupby

from memory.store import redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Span = tuple[int, int]

SHORT = 4  # words of a part that is a name
LEAST, SURE = 4, 6  # bytes of a masked word, and of one that is masked within words too
_DEEP = 25  # groups within groups of a pattern; Python compiles no more than some hundred
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
    """Return a function that puts a marker for each word, in any case."""
    # one search for all words: its cost in a text does not grow with their number
    forms = sorted({"\n".join(_lower(word).split()) for word in words} - {""})
    sure = [form for form in forms if len(form.encode("utf-8", "replace")) >= SURE]
    short = [form for form in forms if len(form.encode("utf-8", "replace")) < SURE]
    searches = [re.compile(_write_pattern(sure)).search] if sure else []
    if short:
        form = r"(?<![^\W_])%s(?![^\W_])" % _write_pattern(short)
        searches.append(re.compile(form).search)

    def mask(text: str) -> str:
        lower, parts, at = _lower(text), list[str](), 0
        spans = [span for search in searches for span in _find_spans(search, lower)]
        for start, end in _merge_overlapping(spans):
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


def _merge_overlapping(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            start, end = merged[-1][0], max(end, merged.pop()[1])
        merged.append((start, end))
    return merged


def _write_pattern(forms: list[str], at: int = 0, deep: int = 0) -> str:
    """Return a pattern of sorted words, grouped by their beginnings.

    forms: of lower case, with line ends for spaces.  at: characters that all begin with.
    """
    if deep > _DEEP:
        return "(?:%s)" % "|".join(_escape(form[at:]) for form in reversed(forms))
    branches, ends = [], False
    for sign, group in groupby(forms, key=lambda form: form[at : at + 1]):
        same = list(group)
        end = _count_common(same[0], same[-1])
        tail = _write_pattern(same, end, deep + 1) if len(same) > 1 else ""
        branches += [_escape(same[0][at:end]) + tail] if sign else []
        ends = ends or not sign
    return "(?:%s)%s" % ("|".join(branches), "?" if ends else "")


def _count_common(one: str, other: str) -> int:
    """Return the number of characters that both words begin with."""
    pairs = enumerate(zip(one, other))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _escape(form: str) -> str:
    return r"[\W_]{1,3}".join(map(re.escape, form.split("\n")))


def _lower(text: str) -> str:
    """Return a text in lower case, of the same length."""
    return text.replace("\u0130", "i").lower()
