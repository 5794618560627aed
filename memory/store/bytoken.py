"""Secrets by their own form: tokens with a vendor's prefix or mark, JSON Web Tokens, and what only
looks like one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Callable, Iterator, NamedTuple

from memory.store.byname import is_identifier, is_jagged, is_random
from memory.store.secretshapes import WEB, WORDY, Span, at_edge, is_filler, rx, spots
from memory.store.secrettokens import COUNTERS, INNER, TOKENS, UNKNOWN

# What a run of token characters begins with where it follows a backslash: the rest of an escape.
_ESCAPED = r"u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtfbv]"
LONGEST = 512  # characters of a token that decide whether it is one; its tail goes with it
_BASE64 = r"(?:[A-Za-z0-9+/][+/]|(?:sha\d{1,3}|h1|md5):)\Z"


class _Row(NamedTuple):
    """One prefix of the table; body: expression of the whole token."""

    prefix: str
    kind: str
    body: str


class _Runs(NamedTuple):
    """The distinct runs of a text, joined.  Their places in both texts."""

    joined: str
    starts: list[int]
    origins: list[int]

    def origin(self, at: int) -> int:
        """Return the first offset of a joined place in the text."""
        row = bisect_right(self.starts, at) - 1
        return self.origins[row] + at - self.starts[row]


@lru_cache(maxsize=1)
def _table() -> dict[str, _Row]:
    rows = {}
    for head, body in TOKENS:
        kind, *prefixes = head.split()
        for prefix in prefixes:
            rows[prefix] = _Row(prefix, kind, re.escape(prefix) + body)
    return rows


@lru_cache(maxsize=1)
def _chains() -> dict[str, tuple[_Row, ...]]:
    rows = _table()
    return {
        prefix: tuple(
            rows[prefix[:end]] for end in range(len(prefix), 0, -1) if prefix[:end] in rows
        )
        for prefix in rows
    }


@lru_cache(maxsize=1)
def _any_prefix() -> str:
    """Return an expression for the longest prefix at each place."""
    tree: dict[str, object] = {}
    for prefix in _table():
        node = tree
        for letter in prefix:
            node = node.setdefault(letter, {})  # type: ignore[assignment]
        node[""] = None
    return _branches(tree)


def _branches(tree: dict[str, object]) -> str:
    ways = [
        re.escape(letter) + _branches(node)  # type: ignore[arg-type]
        for letter, node in tree.items()
        if letter
    ]
    if not ways:
        return ""
    inner = ways[0] if len(ways) == 1 else "(?:%s)" % "|".join(ways)
    return inner if "" not in tree else "(?:%s)?" % inner


def _gathered(text: str, runs: list[tuple[int, str]]) -> _Runs:
    places: dict[str, int] = {}
    for at, run in runs:
        if text[at - 1 : at] == "\\":
            escape = rx(_ESCAPED).match(run)
            if escape:
                at, run = at + escape.end(), run[escape.end() :]
        places.setdefault(run, at)
    starts, at = [], 0
    for run in places:
        starts.append(at)
        at += len(run) + 1
    return _Runs("\n".join(places), starts, list(places.values()))


def by_token(text: str, runs: list[tuple[int, str]], tick: Callable[[], None]) -> Iterator[Span]:
    """Find tokens, each at its first place."""
    held = _gathered(text, runs)
    done, chains = 0, _chains()
    for found in rx(r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))" + _any_prefix()).finditer(
        held.joined
    ):
        tick()
        at = held.origin(found.start())
        if at < done:
            continue
        for row in chains.get(found[0], ()):
            span = _token(text, at, row)
            if span:
                done = span[1]
                yield span
                break
    yield from _jwts(text, held)
    yield from _marked(text, held)
    yield from _unknown(held)


def _token(text: str, at: int, row: _Row) -> Span | None:
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


def _marked(text: str, held: _Runs) -> Iterator[Span]:
    for head, expression in INNER:
        kind, reach, *marks = head.split()
        back = int(reach)
        if marks[0][0] == "$":  # of no run: one expression that begins with this sign is found fast
            places = (m.start() for m in rx("|".join(map(re.escape, marks))).finditer(text))
            yield from _around(text, places, kind, back, expression)
            continue
        for mark in marks:
            if mark[0] == ":":
                yield from _around(text, spots(text, mark), kind, back, expression)
            elif mark in held.joined:
                yield from _around(
                    text, map(held.origin, spots(held.joined, mark)), kind, back, expression
                )


def _around(
    text: str, places: Iterator[int], kind: str, back: int, expression: str
) -> Iterator[Span]:
    done = 0
    for at in places:
        pattern = rx(r"[\s\S]{0,%d}?(%s)" % (back, expression))
        match = pattern.match(text, max(done, at - back)) if at >= done else None
        if match:
            done = match.end()
            if not is_filler(match[1]):
                yield match.start(1), done, kind


def _jwts(text: str, held: _Runs) -> Iterator[Span]:
    # A stretch of their characters is read once, however many seem to begin in it.
    done = 0
    for at in map(held.origin, spots(held.joined, "eyJ")):
        if at < done or not at_edge(text, at):
            continue
        head = rx(r"[\w\-]+").match(text, at)
        done = head.end() if head else at + 3
        rest = rx(r"\.[\w\-]{4,}(?:\.[\w\-]*){0,3}").match(text, done)
        if rest and done - at > 10:
            done = rest.end()
            if text[done : done + 1] != "(" and not is_filler(text[at:done]):
                yield at, done, "jwt"


def _unknown(held: _Runs) -> Iterator[Span]:
    begins = r"(?:(?<![\w\-./+])|(?<=%[0-9A-Fa-f]{2}))"
    for match in rx(begins + UNKNOWN + r"(?![\w\-./+])").finditer(held.joined):
        words = rx(r"[_\-]").split(match["p"][:-1])
        body = match["b"]
        if any(word in COUNTERS for word in words) or len(rx(r"\d").findall(body)) < 2:
            continue
        if not rx(r"[a-z].*[A-Z]|[A-Z].*[a-z]").search(body) or is_identifier(body):
            continue
        if is_jagged(body) and is_random(body, 32) and not is_filler(body):
            at = held.origin(match.start())
            yield at, at + len(match[0]), "api-token"
