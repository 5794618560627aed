"""Redaction: secrets out of text before it is written anywhere.

Every rule is a row of a table below; the code only dispatches.  Five kinds of evidence, cheapest first:

    tokens      a literal prefix no other text has (`TOKENS`), then the token's whole character class
    blocks      private keys: PEM, PGP, SSH, PuTTY; with gutters, `\\n` escapes, cut at either end
    shapes      structure around a value (`SHAPES`): URL userinfo, headers, cookies, `curl -u`, netrc, key files
    names       `name = value` in any syntax, for the names in `NAMES`, through a filter against placeholders and code
    runs        a random-looking run right after the name of a vendor or of a credential

What one of them finds is then removed wherever else it stands in the text, and the whole is repeated until nothing more is
found, so that redacting twice changes nothing.  A value leaves `[redacted:github-token#a1f3]`: its kind and 16 bits of a
salted SHA-256, enough to tell two secrets apart in one store and nothing of the value itself.

Cost: prefixes are looked for in the joined runs of 16 and more token characters, names by `str.find`; an expression is
compiled on its first hit and reads a bounded stretch per hit, so that no input costs more than linear time.
Known misses: passwords of letters only, UUIDs without a name, secrets spelt in prose.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Dict, Iterator, List, Sequence, Set, Tuple

from memory import files
from memory.evidence import ESCAPE, ESCAPES, INVISIBLE, MARKER, NAME_CHARS, PRIVATE_TAG, RUN, Span, at_edge, rx
from memory.named import by_name, by_run, by_sentence
from memory.shapes import by_block, by_manifest, by_shape, by_token, windows


@dataclass(frozen=True)
class Found:
    """One secret: its kind, the tag in its marker (4 hex digits), and how often it was replaced."""

    kind: str
    tag: str
    count: int


@dataclass(frozen=True)
class Redacted:
    """Text without its secrets, and what was taken out, in order of first appearance."""

    text: str
    found: Tuple[Found, ...]


def redact(text: str, allow: Sequence[str] = (), salt: str = "") -> Redacted:
    """Replace every secret in a text by a marker; the rest stays byte for byte.

    text: any length, ANSI escapes and line-number gutters are seen through.  allow: exact strings that may stay.
    salt: of the store, so that tags of two stores cannot be compared.  Redacting the result again changes nothing.
    """
    return _redacted(text, allow, salt, {})


def secrets(text: str, allow: Sequence[str] = (), salt: str = "") -> Dict[str, str]:
    """Return every secret in a text with the marker that `redact` puts in its place: for who must find it elsewhere."""
    values: Dict[str, str] = {}
    _redacted(text, allow, salt, values)
    return values


def marker(kind: str, value: str, salt: str = "") -> str:
    """Return what stands in a value's place: its kind and 16 bits of its salted SHA-256."""
    return "[redacted:%s#%s]" % (kind, files.sha256((salt + "\0" + value).encode("utf-8", "surrogatepass"))[:4])


def _redacted(text: str, allow: Sequence[str], salt: str, values: Dict[str, str]) -> Redacted:
    """Redact a text, and note its values with their markers."""
    counts: Dict[Tuple[str, str], int] = {}
    while True:
        plain, cuts = _plain(text)
        spans = _clip(_spread(plain, _settle(plain, _find(plain), allow), allow), plain)
        if not spans:
            return Redacted(text, tuple(Found(kind, tag, n) for (kind, tag), n in counts.items()))
        parts: List[str] = []
        at = 0
        for start, end, kind in spans:
            mark = values[plain[start:end]] = marker(kind, plain[start:end], salt)
            tag = mark[-5:-1]
            counts[kind, tag] = counts.get((kind, tag), 0) + 1
            first, last = _origin(cuts, start), _origin(cuts, end - 1) + 1
            parts += (text[at:first], mark)
            at = last
        text = "".join(parts) + text[at:]


def strip_private(text: str) -> str:
    """Leave out what stands between <private> and </private>, tags included.

    It fails closed: any case, attributes, spaces, nesting, entity- or JSON-escaped tags; unclosed means to the text's end.
    """
    for _ in range(3):
        spans = _private(text, _lower(text))
        if not spans:
            return text
        kept, at = [], 0
        for start, end in spans:
            kept.append(text[at:start])
            at = end
        text = "".join(kept) + text[at:]
    spans = _private(text, _lower(text))  # tags that only arise by leaving out others are an attempt to hide one
    return text[:spans[0][0]] if spans else text


def _private(text: str, lower: str, mentions: str = "") -> List[Tuple[int, int]]:
    """Return the private stretches; a tag right after a character of `mentions` is talked about, not used."""
    spans: List[Tuple[int, int]] = []
    depth = start = 0
    reach = windows(lower, ("private",), 400, 48)
    for tag in (tag for a, b in reach for tag in rx(PRIVATE_TAG, re.I | re.S).finditer(text, a, b)):
        if mentions and text[tag.start() - 1:tag.start()] == mentions:
            continue
        if not tag["close"]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                spans.append((start, tag.end()))
    return [*spans, (start, len(text))] if depth else spans


def _plain(text: str) -> Tuple[str, Tuple[List[int], List[int]]]:
    """Take escapes and zero-width characters out; return the rest and where, in it, how much was cut so far."""
    at: List[int] = [-1]
    gone: List[int] = [0]
    if not any(sign in text for sign in (ESCAPES if text.isascii() else ESCAPES + INVISIBLE)):
        return text, (at, gone)
    parts, last = [], 0
    for cut in rx(ESCAPE).finditer(text):
        parts.append(text[last:cut.start()])
        last = cut.end()
        at.append(cut.start() - gone[-1])
        gone.append(gone[-1] + last - cut.start())
    return "".join(parts) + text[last:], (at, gone)


def _origin(cuts: Tuple[List[int], List[int]], offset: int) -> int:
    return offset + cuts[1][bisect_right(cuts[0], offset) - 1]


def _find(text: str) -> List[Span]:
    lower = _lower(text)
    flat = lower if lower.isascii() else lower.encode("ascii", "replace").decode("ascii")  # one byte a character: found faster
    runs = [(m.start(), m[0]) for m in rx(RUN).finditer(text) if not m[0].islower() or rx(r"\d").search(m[0])]
    spans = [(start, end, "private") for start, end in _private(text, flat, "`")]
    spans += by_block(text)
    spans += by_token(text, runs)
    spans += by_shape(text, flat)
    spans += by_manifest(text, flat)
    spans += by_name(text, flat)
    if flat is not lower:
        spans += by_sentence(text, lower)
    return spans + list(by_run(text, flat, runs))


def _lower(text: str) -> str:
    lower = text.lower()
    if len(lower) != len(text):  # "İ" becomes two characters: offsets would shift
        lower = "".join(c if len(c.lower()) > 1 else c.lower() for c in text)
    return lower


def _settle(text: str, spans: List[Span], allow: Sequence[str]) -> List[Span]:
    """Join overlapping spans (the earlier finder names the kind) and drop what is allowed."""
    order = {id(span): rank for rank, span in enumerate(spans)}
    joined: List[Tuple[int, int, str, int]] = []
    for span in sorted(spans, key=lambda s: (s[0], -s[1])):
        start, end, kind = span
        rank = order[id(span)]
        if any(text.find(a, max(0, end - len(a)), start + len(a)) >= 0 for a in allow if len(a) >= end - start):
            continue
        if joined and start < joined[-1][1]:
            a, b, other, best = joined[-1]
            joined[-1] = (a, max(b, end), kind if rank < best else other, min(rank, best))
        else:
            joined.append((start, end, kind, rank))
    return [(a, b, kind) for a, b, kind, _ in joined]


def _spread(text: str, spans: List[Span], allow: Sequence[str]) -> List[Span]:
    """Add every other place where a found value stands, as it is, percent-encoded or JSON-escaped."""
    kinds: Dict[str, str] = {}
    lengths: Dict[str, Set[int]] = {}
    for found, kind in {text[start:end]: kind for start, end, kind in spans}.items():
        for value in _forms(found, kind):
            kinds.setdefault(value, kind)
            lengths.setdefault(value[:6], set()).add(len(value))
    taken, extra = 0, []
    for at in [i for i in range(len(text) - 5) if text[i:i + 6] in lengths] if lengths else ():
        for length in sorted(lengths[text[at:at + 6]], reverse=True) if at >= taken else ():
            value = text[at:at + length]
            if value in kinds and (length >= 12 or _apart(text, at, at + length)):
                taken = at + length
                extra.append((at, taken, kinds[value]))
                break
    return _settle(text, spans + extra, allow)


def _forms(value: str, kind: str) -> Iterator[str]:
    if kind == "private":
        return
    if kind == "private-key":
        yield from rx(r"[A-Za-z0-9+/]{40,}={0,2}").findall(value)
        return
    if len(value) < 6 or (len(value) < 10 and (value.isalpha() or value.isdigit())) or "[redacted:" in value:
        return
    yield value
    if len(value) <= 256:
        yield "".join("%%%02X" % b if chr(b) not in NAME_CHARS + "~" else chr(b) for b in value.encode("utf-8", "replace"))
        yield value.replace("\\", "\\\\").replace('"', '\\"')


def _apart(text: str, start: int, end: int) -> bool:
    return not (text[start - 1:start].isalnum() or text[end:end + 1].isalnum()) or at_edge(text, start)


def _clip(spans: List[Span], text: str) -> List[Span]:
    """Take markers that stand already out of the spans: what is left shrinks with every pass, so the passes end."""
    marks = [m.span() for m in rx(MARKER).finditer(text)] if spans and "[redacted:" in text else []
    ends = [end for _, end in marks]
    out: List[Span] = []
    for start, end, kind in spans:
        for a, b in marks[bisect_right(ends, start):]:
            if a >= end:
                break
            if start < a:
                out.append((start, a, kind))
            start = max(start, b)
        if start < end:
            out.append((start, end, kind))
    return [span for span in out if rx(r"\w").search(text, span[0], span[1])] if marks else out
