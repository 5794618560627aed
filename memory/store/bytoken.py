"""Secrets by their own form: tokens with a known or unknown prefix or mark, JSON Web Tokens."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Callable, Iterator, NamedTuple

from memory.store.byname import is_identifier, is_jagged, is_random
from memory.store.disguise import MappedText
from memory.store.secretshapes import (
    WEB,
    WORDY,
    Span,
    at_edge,
    find_offsets,
    is_filler,
    rx,
    write_pattern,
)
from memory.store.secrettokens import COUNTERS, INNER, TOKENS, UNKNOWN

# The rest of an escape at the start of a run, after its backslash.
_ESCAPED = r"u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtfbv]"
LONGEST = 512  # characters of a token that are matched; its tail belongs to it
_BASE64 = r"(?:[A-Za-z0-9+/][+/]|(?:sha\d{1,3}|h1|md5):)\Z"


class _Prefix(NamedTuple):
    """A vendor's prefix.  body: the expression of a whole token."""

    prefix: str
    kind: str
    body: str


@lru_cache(maxsize=1)
def _prefixes_by_text() -> dict[str, _Prefix]:
    rows = {}
    for head, body in TOKENS:
        kind, *prefixes = head.split()
        for prefix in prefixes:
            rows[prefix] = _Prefix(prefix, kind, re.escape(prefix) + body)
    return rows


@lru_cache(maxsize=1024)
def _list_rows(prefix: str) -> list[_Prefix]:
    """Return the rows of a prefix and its beginnings, longest first."""
    rows = _prefixes_by_text()
    beginnings = [prefix[:end] for end in range(len(prefix), 0, -1)]
    return [rows[beginning] for beginning in beginnings if beginning in rows]


@lru_cache(maxsize=1)
def _prefix_expression() -> str:
    return write_pattern(sorted(_prefixes_by_text()))


def _join_runs(text: str, runs: list[tuple[int, str]]) -> MappedText:
    """Join the distinct runs of a text, one a line."""
    places: dict[str, int] = {}
    for at, run in runs:
        if text[at - 1 : at] == "\\":
            escape = rx(_ESCAPED).match(run)
            if escape:
                at, run = at + escape.end(), run[escape.end() :]
        places.setdefault(run, at)
    starts, shifts, length = [], [], 0
    for run, at in places.items():
        starts.append(length)
        shifts.append(at - length)
        length += len(run) + 1
    return MappedText("\n".join(places), starts, shifts, {})


def find_tokens(text: str, runs: list[tuple[int, str]], tick: Callable[[], None]) -> Iterator[Span]:
    """Find tokens, each only at its first place in the text."""
    joined = _join_runs(text, runs)
    done = 0
    prefix = rx(r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))" + _prefix_expression())
    for match in prefix.finditer(joined.text):
        tick()
        at = joined.original_offset(match.start())
        if at < done:
            continue
        for row in _list_rows(match[0]):
            span = _match_token(text, at, row)
            if span:
                done = span[1]
                yield span
                break
    yield from _find_jwts(text, joined)
    yield from _find_marked(text, joined)
    yield from _find_unknown(joined)


def _match_token(text: str, at: int, row: _Prefix) -> Span | None:
    prefix, kind = row.prefix, row.kind
    if not _begins_token(text, at, prefix):
        return None
    match = rx(row.body).match(text, at, at + LONGEST)
    if not match:
        return None
    value, end = match[0][len(prefix) :], match.end()
    if is_filler(value) or (kind != "aws-key" and rx(WORDY).fullmatch(value[:512])):
        return None
    if _is_attribute(prefix, value, text[end : end + 1]):
        return None
    host = rx(WEB).search(text, max(0, at - 120), at) if kind == "webhook-url" else None
    if end == at + LONGEST:
        end = rx(r"[\w\-+/=.%]*").match(text, end).end()  # type: ignore[union-attr]
    else:
        end -= len(value) - len(value.rstrip(".-/"))
    return host.start() if host else at, end, kind


def _begins_token(text: str, at: int, prefix: str) -> bool:
    if (prefix[-1].isalnum() or len(prefix) < 5) and not at_edge(text, at):
        return False  # a short one begins a word
    # in a digest in Base64 any three characters stand sooner or later
    return len(prefix) > 3 or not rx(_BASE64, re.I).search(text[max(0, at - 8) : at])


def _is_attribute(prefix: str, name: str, after: str) -> bool:
    if len(prefix) > 2 or prefix[-1] != ".":
        return False
    return after == "(" or not is_jagged(name)


def _find_marked(text: str, joined: MappedText) -> Iterator[Span]:
    for head, expression in INNER:
        kind, reach, *marks = head.split()
        back = int(reach)
        if marks[0][0] == "$":  # not in runs; an expression with this literal first is fast
            places = [[m.start() for m in rx("|".join(map(re.escape, marks))).finditer(text)]]
        else:
            places = [_find_mark(text, joined, mark) for mark in marks]
        for offsets in places:
            yield from _match_around(text, offsets, kind, back, expression)


def _find_mark(text: str, joined: MappedText, mark: str) -> list[int]:
    if mark[0] == ":":  # not in runs
        return list(find_offsets(text, mark))
    return [joined.original_offset(at) for at in find_offsets(joined.text, mark)]


def _match_around(
    text: str, places: list[int], kind: str, back: int, expression: str
) -> Iterator[Span]:
    done = 0
    for at in places:
        pattern = rx(r"[\s\S]{0,%d}?(%s)" % (back, expression))
        match = pattern.match(text, max(done, at - back)) if at >= done else None
        if match:
            done = match.end()
            if not is_filler(match[1]):
                yield match.start(1), done, kind


def _find_jwts(text: str, joined: MappedText) -> Iterator[Span]:
    # all their characters are read once, however often "eyJ" occurs in them
    done = 0
    for at in map(joined.original_offset, find_offsets(joined.text, "eyJ")):
        if at < done or not at_edge(text, at):
            continue
        head = rx(r"[\w\-]+").match(text, at)
        done = head.end() if head else at + 3
        rest = rx(r"\.[\w\-]{4,}(?:\.[\w\-]*){0,3}").match(text, done)
        if rest and done - at > 10:
            done = rest.end()
            if text[done : done + 1] != "(" and not is_filler(text[at:done]):
                yield at, done, "jwt"


def _find_unknown(joined: MappedText) -> Iterator[Span]:
    """Find random tokens behind the prefix of an unknown vendor."""
    begins = r"(?:(?<![\w\-./+])|(?<=%[0-9A-Fa-f]{2}))"
    for match in rx(begins + UNKNOWN + r"(?![\w\-./+])").finditer(joined.text):
        words = rx(r"[_\-]").split(match["p"][:-1])
        body = match["b"]
        if any(word in COUNTERS for word in words) or len(rx(r"\d").findall(body)) < 2:
            continue
        if not rx(r"[a-z].*[A-Z]|[A-Z].*[a-z]").search(body) or is_identifier(body):
            continue
        if is_jagged(body) and is_random(body, 32) and not is_filler(body):
            at = joined.original_offset(match.start())
            yield at, at + len(match[0]), "api-token"
