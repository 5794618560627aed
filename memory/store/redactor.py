"""Redaction: secrets and private parts out of text, and out of structures of texts, before anything
is written.

Every rule is a row of a table in `secrettokens`, `secretshapes` or `secretlabels`; the code only
dispatches.  Six kinds of evidence:

    tokens      a literal prefix no other text has, then the token's whole character class
                (`bytoken`)
    blocks      private keys: PEM, PGP, SSH, PuTTY; with gutters, `\\n` escapes, cut at either end
                (`byshape`)
    shapes      structure around a value: URL userinfo, headers, cookies, options of programs, key
                files (`byshape`)
    names       `name = value` in any syntax, through a filter against placeholders and code
                (`byname`)
    labels      a word for a secret, and a value within eight lines: cells, phrases, codes by what
                they stand in (`bylabel`), a single word by how likely it is (`nearlabel`)
    runs        a random-looking run right after the name of a vendor or of a credential (`byname`)

A text is read as it stands, and what stands around a disguise once more without it (`disguise`).
A token, a key or a random-looking value is removed wherever else it stands, and what changed is
looked at again until nothing more is found: redacting twice changes nothing.

A value leaves `[redacted:github-token#a1f3]`: its kind and 16 bits of a salted SHA-256, enough to
tell two secrets apart and nothing of the value.

Cost: words are looked for all at once (`Places`), prefixes in the runs of 16 and more token
characters; an expression reads a bounded stretch per hit, equal surroundings are judged once.  A
text that takes too long is withheld as a whole: `[redacted:unread#a1f3]`.
Known misses: passwords of letters only, UUIDs without a name, a value more than eight lines or 420
characters behind its label, a password that reads as a word where it stands without its label.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from itertools import count
from typing import Any, Callable, Collection, Iterator, Mapping, NamedTuple, Sequence

from memory.core import files
from memory.core.plaintext import private_pairs
from memory.core.records import Record
from memory.store import disguise
from memory.store.bylabel import by_label
from memory.store.byname import by_name, by_run, by_sentence, is_random
from memory.store.byshape import by_block, by_manifest, by_shape, by_userinfo, stretches
from memory.store.bytoken import by_token
from memory.store.secretshapes import (
    DIGEST,
    ESCAPE,
    ESCAPES,
    INVISIBLE,
    LONG_RUN,
    MARKER,
    NAME_CHARS,
    PRIVATE_TAG,
    RUN_MASK,
    SEAM,
    WRITTEN,
    Places,
    Span,
    at_edge,
    beyond_ascii,
    rx,
    spots,
)
from memory.store.secrettokens import SURE


class Found(NamedTuple):
    """One secret found in a text; tag: in its marker, 4 hex digits."""

    kind: str
    tag: str
    times: int


class Redacted(NamedTuple):
    """A text without its secrets, and these in order."""

    text: str
    found: tuple[Found, ...]


BEFORE_PRIVATE = tuple("<＜;cC/\\")  # ends of what opens a tag
PASSES = 12  # over a text; four are the most that any real one has taken
NEAR = 1200  # characters around a change that are looked at again
LINES = 12  # over which a value may go on
AROUND = 40  # lines beside a new one in which its label is looked for


class _TooSlow(Exception):
    """Redaction of a text took longer than allowed."""


def redact(
    text: str, allow: Sequence[str] = (), salt: str = "", seconds: float | None = None
) -> Redacted:
    """Replace every secret in a text by a marker; redacting again changes nothing.

    allow: exact strings that may stay.  salt: of the store, so that tags of two stores cannot be
    compared.  seconds: of CPU, after which the whole text is withheld; 1, and 1 more for each
    100,000 characters, unless given.
    """
    return _redacted(text, allow, salt, {}, seconds)


def secrets(text: str, allow: Sequence[str] = (), salt: str = "") -> dict[str, str]:
    """Return every secret in a text with its marker."""
    values: dict[str, str] = {}
    _redacted(text, allow, salt, values)
    return values


def marker(kind: str, value: str, salt: str = "") -> str:
    return "[redacted:%s#%s]" % (
        kind,
        files.sha256((salt + "\0" + value).encode("utf-8", "surrogatepass"))[:4],
    )


def _redacted(
    text: str, allow: Sequence[str], salt: str, values: dict[str, str], seconds: float | None = None
) -> Redacted:
    """Redact a text and add its values with markers to `values`."""
    # Time of this thread, not by the clock: on a busy machine no note is lost.
    end = time.thread_time() + (1 + len(text) / 100_000 if seconds is None else seconds)

    steps = count()

    def tick() -> None:
        if not next(steps) & 63 and time.thread_time() > end:
            raise _TooSlow

    try:
        return _passes(text, allow, salt, values, tick)
    except _TooSlow:
        values[text] = mark = marker("unread", text, salt)
        return Redacted(mark, (Found("unread", mark[-5:-1], 1),))


def _passes(
    text: str, allow: Sequence[str], salt: str, values: dict[str, str], tick: Callable[[], None]
) -> Redacted:
    counts: dict[tuple[str, str], int] = {}
    changed: list[int] = []
    for _ in range(PASSES):
        plain, cuts = _plain(text)
        near = _places_in_plain(cuts, changed)
        found = _find_near(plain, near, tick) if near else _find(plain, tick)
        spans = _clip(_add_occurrences(plain, _merge_spans(plain, found, allow), allow), plain)
        if not spans:
            break
        parts: list[str] = []
        at = length = 0
        changed = []
        for start, end, kind in spans:
            value = plain[start:end]
            mark = values.get(value, "")
            if not mark.startswith("[redacted:%s#" % kind):
                mark = values[value] = marker(kind, value, salt)
            tag = mark[-5:-1]
            counts[kind, tag] = counts.get((kind, tag), 0) + 1
            first, last = _origin(cuts, start), _origin(cuts, end - 1) + 1
            parts += (text[at:first], mark)
            length += first - at + len(mark)
            changed.append(length)
            at = last
        text = "".join(parts) + text[at:]
    return Redacted(text, tuple(Found(kind, tag, n) for (kind, tag), n in counts.items()))


def strip_private(text: str) -> str:
    """Remove <private>…</private> parts, tags included; it fails closed.

    Any case, attributes, spaces, nesting, escaped tags, invisible characters amid the name;
    unclosed means to the text's end.
    """
    for _ in range(3):
        spans = _private_parts(text)
        if not spans:
            return text
        kept, at = [], 0
        for start, end in spans:
            kept.append(text[at:start])
            at = max(at, end)
        text = "".join(kept) + text[at:]
    # tags that only arise by leaving out others are an attempt to hide one
    spans = _private_parts(text)
    return text[: spans[0][0]] if spans else text


def private_parts(text: str) -> list[str]:
    """Return the private parts of a text, with their tags."""
    return [text[start:end] for start, end in _private_parts(text)]


def _private_parts(text: str) -> list[tuple[int, int]]:
    plain, cuts = _plain(text)
    return [
        (_origin(cuts, start), _origin(cuts, end - 1) + 1)
        for start, end in _private(plain, _lower(plain, beyond_ascii(plain)))
    ]


def _private_tags(text: str, lower: str) -> Iterator[re.Match[str]]:
    begins = [
        at
        for at in spots(lower, "private")
        if text[max(0, at - 48) : at].rstrip()[-1:] in BEFORE_PRIVATE
    ]
    for start, end in stretches(begins, 400, 48):
        yield from rx(PRIVATE_TAG, re.I | re.S).finditer(text, start, end)


def _private(text: str, lower: str, mentions: str = "") -> list[tuple[int, int]]:
    def is_mentioned(at: int) -> bool:
        return bool(mentions) and text[at - 1 : at] == mentions

    spans = [pair for pair in private_pairs(lower) if not is_mentioned(pair[0])]
    depth = start = 0
    for tag in _private_tags(text, lower):
        if is_mentioned(tag.start()):
            continue
        if not tag["close"]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                spans.append((start, tag.end()))
    return sorted([*spans, (start, len(text))] if depth else spans)


def _plain(text: str) -> tuple[str, tuple[list[int], list[int]]]:
    at: list[int] = [-1]
    gone: list[int] = [0]
    signs = [sign for sign in set(beyond_ascii(text)) if rx(INVISIBLE).match(sign)]
    begins = [match.start() for match in rx(WRITTEN).finditer(text)]
    begins += (place for sign in ("\x1b", *signs) for place in spots(text, sign))
    if not signs and not any(text.startswith(ESCAPES, place) for place in begins):
        return text, (at, gone)
    parts, last, escape = [], 0, rx(ESCAPE)
    for place in sorted(begins):
        cut = escape.match(text, place) if place >= last else None
        if cut:
            parts.append(text[last:place])
            last = cut.end()
            at.append(place - gone[-1])
            gone.append(gone[-1] + last - place)
    return "".join(parts) + text[last:], (at, gone)


def _origin(cuts: tuple[list[int], list[int]], offset: int) -> int:
    return offset + cuts[1][bisect_right(cuts[0], offset) - 1]


def _places_in_plain(cuts: tuple[list[int], list[int]], places: list[int]) -> list[int]:
    """Map offsets in the given text to the plain text."""
    ends = [at + gone for at, gone in zip(*cuts)]
    return [max(0, place - cuts[1][bisect_right(ends, place) - 1]) for place in places]


def _find(text: str, tick: Callable[[], None], deep: int = 0) -> list[Span]:
    """Find secrets in a text, also disguised and encoded."""
    runs = _runs(text)
    spans = _look(text, runs, tick)
    if deep < 1:
        view = disguise.decode_disguises(text, runs)
        if view:
            spans += [
                (*view.origin(start, end), kind) for start, end, kind in _find(view.text, tick, 1)
            ]
    if deep < 2:
        held, starts, stretches = disguise.encoded(runs)
        for start, _, kind in _find(held, tick, 2) if held else ():
            spans.append((*stretches[bisect_right(starts, start) - 1], kind))
    return spans


def _find_near(text: str, places: list[int], tick: Callable[[], None]) -> list[Span]:
    near = [(max(0, start), end) for start, end in stretches(places, NEAR, NEAR)]
    if sum(end - start for start, end in near) > len(text) / 2:
        return _find(text, tick)
    made = disguise.Writer(text)
    for start, end in near:
        if made.length:
            made.seam()
        made.copy(text.find("\n", start, end) + 1 or start if start else 0, min(end, len(text)))
    view = made.view()
    return [(*view.origin(start, end), kind) for start, end, kind in _find(view.text, tick)]


def _runs(text: str) -> list[tuple[int, str]]:
    """Return the long runs of token characters, without words."""
    digit = rx(r"\d").search
    # one byte a character: a run is found ten times as fast as by an expression
    mask = text.encode("ascii", "replace").translate(RUN_MASK) + b" "
    runs, at = [], mask.find(LONG_RUN)
    while at >= 0:
        end = mask.index(b" ", at)
        run = text[at:end]
        if not run.islower() or digit(run):
            runs.append((at, run))
        at = mask.find(LONG_RUN, end)
    if "sha" in text:
        runs = [(at, run) for at, run in runs if "sha" not in run or not rx(DIGEST).search(run)]
    return runs


def _look(text: str, runs: list[tuple[int, str]], tick: Callable[[], None]) -> list[Span]:
    beyond = beyond_ascii(text)
    lower = _lower(text, beyond)
    flat = lower if lower.isascii() else lower.encode("ascii", "replace").decode("ascii")
    if "[redacted:" in flat:
        # the kind in a marker is no name of a secret
        flat = rx(MARKER).sub(lambda mark: "]" * len(mark[0]), flat)
    tick()
    if beyond != beyond.lower():
        beyond = beyond_ascii(lower)
    places = Places(flat, lower, beyond)
    spans = [(start, end, "private") for start, end in _private(text, flat, "`")]
    spans += by_block(text)
    spans += by_token(text, runs, tick)
    spans += by_shape(text, places, tick)
    spans += by_manifest(text, places)
    spans += by_userinfo(text, tick)
    spans += by_name(text, places, tick)
    spans += by_sentence(text, places) if beyond else ()
    spans += by_run(text, flat, runs)
    spans += by_label(text, places, tick)
    return [_continued(text, span) for span in spans]


def _continued(text: str, span: Span) -> Span:
    """Return a span extended over the lines continuing its value."""
    start, end, kind = span
    if kind in ("private", "private-key", "cookie"):
        return span
    for _ in range(LINES):
        if text[end : end + 1] not in ("\n", "\r", " ", "|", "│"):
            break
        match = rx(disguise.NEXT_LINE).match(text, end)
        if not match or not disguise.is_remnant(match["next"]):
            break
        end = match.end("next")
    return start, end, kind


def _lower(text: str, beyond: str) -> str:
    """Return a text in lower case, of the same length."""
    if beyond == beyond.lower():  # ten times as fast
        return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    return text.replace("\u0130", "i").lower()


def _merge_spans(text: str, spans: list[Span], allow: Sequence[str]) -> list[Span]:
    joined: list[tuple[int, int, str, int]] = []
    rows = sorted((start, -end, rank, kind) for rank, (start, end, kind) in enumerate(spans))
    for start, before_end, rank, kind in rows:
        end = -before_end
        if allow and any(
            text.find(a, max(0, end - len(a)), start + len(a)) >= 0
            for a in allow
            if len(a) >= end - start
        ):
            continue
        if joined and start < joined[-1][1]:
            a, b, other, best = joined[-1]
            joined[-1] = (a, max(b, end), kind if rank < best else other, min(rank, best))
        else:
            joined.append((start, end, kind, rank))
    return [(a, b, kind) for a, b, kind, _ in joined]


def _places_of(text: str, heads: Collection[str]) -> list[int]:
    """Return the offsets of some beginnings, each of 6 characters."""
    if len(heads) < 50:  # a search for each costs less than a look at every character
        return sorted(at for head in heads for at in spots(text, head))
    return [i for i in range(len(text) - 5) if text[i : i + 6] in heads]


def _kinds_of_forms(text: str, spans: list[Span]) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for found, kind in {text[start:end]: kind for start, end, kind in spans}.items():
        for value in _forms(found, kind):
            kinds.setdefault(value, kind)
    return kinds


def _add_occurrences(text: str, spans: list[Span], allow: Sequence[str]) -> list[Span]:
    kinds = _kinds_of_forms(text, spans)
    lengths: dict[str, set[int]] = {}
    for value in kinds:
        lengths.setdefault(value[:6], set()).add(len(value))
    longest = {head: sorted(many, reverse=True) for head, many in lengths.items()}
    taken, extra, known = 0, [], {span[:2] for span in spans}
    for at in _places_of(text, lengths):
        for length in longest[text[at : at + 6]] if at >= taken else ():
            value = text[at : at + length]
            if value in kinds and (length >= 12 or _apart(text, at, at + length)):
                taken = at + length
                if (at, taken) not in known:
                    extra.append((at, taken, kinds[value]))
                break
    return _merge_spans(text, spans + extra, allow) if extra else spans


def _is_common(value: str) -> bool:
    return len(value) < 6 or (len(value) < 10 and (value.isalpha() or value.isdigit()))


def _is_unmistakable(value: str) -> bool:
    """Tell whether a value is a secret wherever it stands."""
    return (
        is_random(value, 8)
        or rx(r"\d.*[!@#$%^&*?~+|]|[!@#$%^&*?~+|].*\d").search(value[:256]) is not None
        or rx(r"[a-z]{3,12}(?:[ -][a-z]{3,12}){3,23}").fullmatch(value) is not None
    )


def _forms(value: str, kind: str) -> Iterator[str]:
    if kind == "private":
        return
    if kind == "private-key":
        yield from rx(r"[A-Za-z0-9+/]{40,}={0,2}").findall(value)
        return
    if kind not in SURE and not _is_unmistakable(value):
        return
    if _is_common(value) or "[redacted:" in value:
        return
    yield value
    if len(value) <= 256:
        yield "".join(
            "%%%02X" % b if chr(b) not in NAME_CHARS + "~" else chr(b)
            for b in value.encode("utf-8", "replace")
        )
        yield value.replace("\\", "\\\\").replace('"', '\\"')


def _apart(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()) or at_edge(
        text, start
    )


def _clip(spans: list[Span], text: str) -> list[Span]:
    if not spans or "[redacted:" not in text:
        return spans
    marks = [m.span() for m in rx(MARKER).finditer(text)]
    ends = [end for _, end in marks]
    out: list[Span] = []
    for start, end, kind in spans:
        for row in range(bisect_right(ends, start), len(marks)):
            a, b = marks[row]
            if a >= end:
                break
            if start < a:
                out.append((start, a, kind))
            start = max(start, b)
        if start < end:
            out.append((start, end, kind))
    return [span for span in out if rx(r"\w").search(text, span[0], span[1])]


def clean(value: Any, config: Any, salt: str) -> Any:
    """Return a nested value without private parts and secrets.

    value: of texts, lists and mappings.  config: settings by key.  salt: of the tags. All texts are
    searched together: a value found in one text is taken out of every other.  A word for a secret
    reaches over a list's texts, which follow each other, but into no mapping's value.
    """

    given: list[tuple[str, bool]] = []
    _each_text(value, lambda text, alone: given.append((strip_private(text), alone)))
    texts = [text for text, _ in given]
    if config["redact.enabled"] and texts:
        allow = config["redact.allow"]
        joined = redact(SEAM.join(texts), allow, salt).text.split(SEAM)
        # An open PEM block runs to the end and takes the separators along: then one by one.
        if len(joined) != len(texts):
            joined = [redact(text, allow, salt).text for text in texts]
        elif any(alone and made != text for (text, alone), made in zip(given, joined)):
            joined = _without_reach(given, joined, allow, salt)
        texts = joined
    return _with_texts(value, iter(texts))


def _without_reach(
    given: list[tuple[str, bool]], joined: list[str], allow: Sequence[str], salt: str
) -> list[str]:
    """Return redacted texts, with what only the text before had made a secret.

    given: (text, whether it stands alone).
    """
    values = secrets(SEAM.join(text for text, _ in given), allow, salt)
    pairs = [(*one, made) for one, made in zip(given, joined)]
    meant = "\n".join(
        redact(text, allow, salt).text if alone else made
        for text, alone, made in pairs
        if made != text
    )
    reached = [(mark, value) for value, mark in values.items() if mark not in meant]
    made_again = []
    for text, alone, made in pairs:
        for mark, value in reached if alone and made != text else ():
            made = made.replace(mark, value)
        made_again.append(made)
    return made_again


def without_private(record: Record) -> Record:
    """Return a record without its private parts, before anything takes its lines apart."""

    return record.replaced(title=strip_private(record.title), body=strip_private(record.body))


_OURS = ("conversation", "created", "id", "kind", "links", "session", "source", "until", "updated")


def is_automatic(record: Record) -> bool:
    """Tell whether capture wrote a record, and so cleaned it.  A shared one may only say so."""
    return record.source == "auto" and record.tier in ("p", "g")


def clean_record(record: Record, config: Any, salt: str) -> Record:
    """Return a record without private parts and secrets, for readers.  Ids and links stay."""
    if is_automatic(record):
        return without_private(record)
    said = {key: value for key, value in record.meta.items() if key not in _OURS}
    title, body, tags, topics, said = clean(
        [record.title, record.body, record.tags, record.topics, said], config, salt
    )
    return record.replaced(
        title=title, body=body, tags=tuple(tags), topics=tuple(topics), meta={**record.meta, **said}
    )


def clean_change(before: bytes, after: bytes, config: Any, salt: str) -> bytes:
    """Return a file's new bytes, without any secret where they add one."""

    if not config["redact.enabled"]:
        return after
    allow = config["redact.allow"]
    if not redact(
        _added_lines(before, after).decode("utf-8", "surrogateescape"), allow, salt
    ).found:
        return after  # a page that grows is not read whole for each line that it gains
    new = redact(after.decode("utf-8", "surrogateescape"), allow, salt)
    if new.found:
        old = redact(before.decode("utf-8", "surrogateescape"), allow, salt)
        known = {(found.kind, found.tag) for found in old.found}
        if any((found.kind, found.tag) not in known for found in new.found):
            return new.text.encode("utf-8", "surrogateescape")
    return after


def _added_lines(before: bytes, after: bytes) -> bytes:
    """Return the lines added to a text, with AROUND lines beside."""
    known, rows = set(before.split(b"\n")), after.split(b"\n")
    fresh = [number for number, row in enumerate(rows) if row not in known]
    if 2 * len(fresh) > len(rows):
        return after
    parts = [b"\n".join(rows[max(0, low) : high]) for low, high in stretches(fresh, AROUND, AROUND)]
    return SEAM.encode("ascii").join(parts)


def _each_text(value: Any, use: Callable[[str, bool], None], alone: bool = False) -> None:
    """Call `use` with each text and whether it stands in a mapping."""
    if isinstance(value, str):
        use(value.replace("\0", "").replace("\x1e", " "), alone)
    elif isinstance(value, Mapping):
        for item in value.values():
            _each_text(item, use, True)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _each_text(item, use, alone)


def _with_texts(value: Any, texts: Iterator[str]) -> Any:
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, Mapping):
        return {key: _with_texts(item, texts) for key, item in value.items()}
    return (
        [_with_texts(item, texts) for item in value] if isinstance(value, (list, tuple)) else value
    )
