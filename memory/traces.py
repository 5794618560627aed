"""Traces of a text: the forms in which its bytes may stand in a file, and the files that hold one of them.

Looked for are the text as it is and in other case, composed and decomposed, on one line, its long lines by themselves, as a
file's name has it, JSON-escaped once and twice, percent-encoded, in UTF-16, in base64 at any offset, and where it is one token as
the term of the index.  Case counts in base64 alone.
"""

from __future__ import annotations

import base64
import os
import re
from typing import Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Tuple
from unicodedata import normalize
from urllib.parse import quote

from memory import files, jsonio, paths
from memory.text import expand

SHORTEST = 4  # characters of a text that is looked for
LONG_LINE = 40  # characters from which a line of a text is looked for by itself
TERM = 8  # characters of an index term that stands for the text
ENCODED = 6  # bytes from which base64 is looked for
MOST = 1 << 40
SEARCHED = "as it is, in any case, on one line, JSON-escaped, percent-encoded, in UTF-16 and base64, as a term of the index"


class Finder(NamedTuple):
    """What finds texts: an expression over bytes, and by a form in lower case (in base64 as it is) the mark of its text."""

    expression: re.Pattern[bytes]
    marks: Mapping[bytes, str]

    def count(self, data: bytes) -> int:
        """Return how often the texts stand in some bytes."""
        return sum(1 for _ in self.expression.finditer(data))

    def mark(self, found: re.Match[bytes]) -> bytes:
        """Return what stands in the place of a hit, in the encoding that it has."""
        raw = found[0]
        mark = self.marks.get(raw) or self.marks.get(raw.lower()) or next(iter(self.marks.values()))
        wide = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be" if raw[:1] == b"\0" else "ascii"
        return mark.encode(wide)

    def cleaned(self, data: bytes) -> bytes:
        """Return bytes with a mark in the place of each text."""
        return self.expression.sub(self.mark, data)

    def covered(self, data: bytes) -> bytes:
        """Return bytes of the same length in which each text is covered: for a file that others append to."""
        def cover(found: re.Match[bytes]) -> bytes:
            mark, size = self.mark(found), len(found[0])
            wide = b"*\0" if found[0][1:2] == b"\0" else b"\0*" if found[0][:1] == b"\0" else b"*"
            return (mark if len(mark) <= size else b"") + wide * ((size - (len(mark) if len(mark) <= size else 0)) // len(wide))

        return self.expression.sub(cover, data)


class Trace(NamedTuple):
    """A file that holds a text: its path, how often, and whether its name does."""

    path: str
    hits: int
    named: bool


def finder(texts: Mapping[str, str]) -> Finder:
    """Make what finds some texts.  texts: each with the ASCII mark that goes in its place."""
    exact: Dict[bytes, str] = {}
    anyhow: Dict[bytes, str] = {}
    for text, mark in texts.items():
        for form in forms(text):
            anyhow.setdefault(form.lower(), mark)
        for form in _in_base64(text):
            exact.setdefault(form, mark)
    ordered = sorted(anyhow, key=lambda form: (-len(form), form))
    parts = [re.escape(form) for form in ordered]
    parts += [b"(?-i:%s)" % re.escape(form) for form in sorted(exact, key=lambda form: (-len(form), form))]
    return Finder(re.compile(b"|".join(parts), re.I), {**anyhow, **exact})


def forms(text: str) -> Iterator[bytes]:
    """Yield the bytes by which a text may stand somewhere, case and base64 apart."""
    for plain in _plain(text):
        for said in (plain, jsonio.quote(plain)[1:-1], _escaped(plain), jsonio.quote(jsonio.quote(plain)[1:-1])[1:-1]):
            yield said.encode("utf-8", "surrogateescape")
        yield quote(plain, safe="-._~").encode("ascii")
        yield quote(plain, safe="/:@!$&'()*+,;=-._~").encode("ascii")
        yield plain.encode("utf-16-le", "surrogatepass")
        yield plain.encode("utf-16-be", "surrogatepass")
    if not any(char.isspace() for char in text):
        for term, weight in expand(text):
            if weight == 1.0 and len(term) >= TERM and any(char.isdigit() for char in term):
                yield term.encode("utf-8")


def _plain(text: str) -> List[str]:
    """Return the texts that say the same to a reader."""
    same = [text, text.casefold(), text.lower(), text.upper(), " ".join(text.split()), text.replace("\n", "\r\n")]
    same += [normalize("NFC", text), normalize("NFD", text)]
    same += [line.strip() for line in text.split("\n") if "\n" in text and len(line.strip()) >= LONG_LINE]
    slug = paths.slug(text, len(text))
    same += [slug, slug[:40].strip("-")] if len(slug) >= TERM and len(slug) * 2 > len(text) else []
    return [one for one in dict.fromkeys(same) if len(one) >= SHORTEST]


def _escaped(text: str) -> str:
    """Write a text as JSON does that leaves letters beyond ASCII alone."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _in_base64(text: str) -> Iterator[bytes]:
    """Yield the characters of base64 that a text alone decides, at each of three offsets, in both alphabets."""
    data = text.encode("utf-8", "surrogateescape")
    for offset in range(3) if len(data) >= ENCODED else ():
        encoded = base64.b64encode(b"\0" * offset + data)
        inner = encoded[(0, 2, 3)[offset]:(offset + len(data)) * 8 // 6]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


def listed(roots: Iterable[str], without: Iterable[str] = ()) -> Iterator[str]:
    """Yield the path of every regular file below some directories, in order; links are not followed.

    without: directories that are left out.
    """
    passed = set(without)
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if folder + "/" + name not in passed)
            for name in sorted(names):
                if not os.path.islink(folder + "/" + name):
                    yield folder + "/" + name


def search(found: Finder, every: Iterable[str], told: Callable[[int], None] = lambda done: None) -> Tuple[int, List[Trace]]:
    """Return (files searched, those that hold a text).  told: of the files searched so far."""
    number, traces = 0, []
    for path in every:
        try:
            data = files.read(path, MOST, follow=False)
        except OSError:
            if not os.path.lexists(path):
                continue
            data = b""
        number += 1
        told(number)
        count = found.count(data)
        named = found.expression.search(path.rpartition("/")[2].encode("utf-8", "surrogateescape")) is not None
        if count or named:
            traces.append(Trace(path, count, named))
    return number, traces
