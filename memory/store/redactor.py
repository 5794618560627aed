"""Redaction: removes secrets and private parts from texts before anything is written.

Every rule is a row of a table in `secrettokens`, `secretshapes` or `secretlabels`.  Six kinds of
evidence:

    tokens  a literal prefix no other text has, then the token's character class (`bytoken`)
    blocks  private keys: PEM, PGP, SSH, PuTTY; with gutters, escapes, cut at either end (`byshape`)
    shapes  structure around a value: URL userinfo, headers, cookies, options, key files (`byshape`)
    names   `name = value` in any syntax, but for placeholders and code (`byname`)
    labels  a word for a secret, and a value within eight lines: cells, phrases, codes by their
            structure (`bylabel`), a single word by its likelihood (`nearlabel`)
    runs    random characters right after the name of a vendor or of a credential (`byname`)

A text is searched as it stands, and once more with its disguises decoded (`disguise`).  A token, a
key or a random value is removed at every place, and changed parts are searched again until nothing
more is found: redacting twice changes nothing.

A value leaves `[redacted:github-token#a1f3]`: its kind and 16 bits of a salted SHA-256, enough to
tell two secrets apart and nothing of the value.

Cost: all words are searched at once (`WordOffsets`), prefixes in runs of 16 and more token
characters; equal surroundings are judged once.  A text that takes too long is withheld as a whole:
`[redacted:unread#a1f3]`.
Known misses: passwords of letters only, UUIDs without a name, a value far behind its label.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from memory.core import files
from memory.core.plaintext import find_private_pairs
from memory.core.records import Record
from memory.store import disguise, writer
from memory.store.bylabel import find_by_label
from memory.store.byname import find_by_name, find_by_run, find_by_sentence, is_random
from memory.store.byshape import (
    find_by_shape,
    find_by_userinfo,
    find_kubernetes_secrets,
    find_private_keys,
    merge_windows,
)
from memory.store.bytoken import find_tokens
from memory.store.secretlabels import LABEL
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
    Span,
    WordOffsets,
    at_edge,
    beyond_ascii,
    find_offsets,
    rx,
)
from memory.store.secrettokens import SURE


class FoundSecret(NamedTuple):
    """A secret found in a text; tag: its marker's 4 hex digits."""

    kind: str
    tag: str


class Redacted(NamedTuple):
    """A redacted text and its secrets in order.  values: each secret's marker."""

    text: str
    found: tuple[FoundSecret, ...]
    values: dict[str, str]


BEFORE_PRIVATE = tuple("<＜;cC/\\")  # last characters of the forms that open a tag
NAME_MOST = 255  # characters of a file's name
PASSES = 12  # over a text; no real one has taken more than four
NEAR = 1200  # characters around a change that are searched again
# full-width letters and digits, as Japanese keyboards write them
NARROW = {code: code - 0xFEE0 for code in range(0xFF10, 0xFF5B) if chr(code).isalnum()}
LINES = 12  # over which a value may continue
AROUND = 40  # lines around a new one that may hold its label


class _TooSlow(Exception):
    """Redaction of a text took longer than allowed."""


def redact(
    text: str, allow: Sequence[str] = (), salt: str = "", seconds: float | None = None
) -> Redacted:
    """Replace every secret in a text by a marker.

    allow: exact strings that may stay.  salt: of the store, so that tags of two stores differ.
    seconds: of CPU, after which the whole text is withheld; by default 1 for each 100,000
    characters, and 1 more.
    """
    # CPU time of this thread: no note is lost on a busy machine.
    end = time.thread_time() + (1 + len(text) / 100_000 if seconds is None else seconds)
    steps = count()
    values: dict[str, str] = {}

    def tick() -> None:
        if not next(steps) & 63 and time.thread_time() > end:
            raise _TooSlow

    try:
        return _redact_repeatedly(text, allow, salt, values, tick)
    except _TooSlow:
        values[text] = mark = format_marker("unread", text, salt)
        return Redacted(mark, (FoundSecret("unread", mark[-5:-1]),), values)


def find_secrets(text: str, allow: Sequence[str] = (), salt: str = "") -> dict[str, str]:
    """Return every secret in a text with its marker."""
    return redact(text, allow, salt).values


def format_marker(kind: str, value: str, salt: str = "") -> str:
    """Return `[redacted:<kind>#<4 hex digits>]`, a form that slices rely on."""
    digest = files.sha256((salt + "\0" + value).encode("utf-8", "surrogatepass"))
    return "[redacted:%s#%s]" % (kind, digest[:4])


def _redact_repeatedly(
    text: str, allow: Sequence[str], salt: str, values: dict[str, str], tick: Callable[[], None]
) -> Redacted:
    secrets: dict[FoundSecret, None] = {}
    changed: list[int] = []
    for _ in range(PASSES):
        visible = _strip_invisible(text)
        plain, near = visible.text, _map_to_plain(visible, changed)
        found = _find_near(plain, near, tick) if near else _find(plain, tick)
        spans = _add_occurrences(plain, _merge_spans(plain, found, allow), allow)
        spans = _exclude_markers(spans, plain)
        if not spans:
            break
        parts: list[str] = []
        at = length = 0
        changed = []
        for start, end, kind in spans:
            value = plain[start:end]
            mark = values.get(value, "")
            if not mark.startswith("[redacted:%s#" % kind):
                mark = values[value] = format_marker(kind, value, salt)
            secrets[FoundSecret(kind, mark[-5:-1])] = None
            first, last = visible.origin(start, end)
            parts += (text[at:first], mark)
            length += first - at + len(mark)
            changed.append(length)
            at = last
        text = "".join(parts) + text[at:]
    return Redacted(text, tuple(secrets), values)


def strip_private(text: str) -> str:
    """Remove <private>…</private> parts with their tags.

    In any case, with attributes, spaces, nesting, escapes, invisible characters; an unclosed part
    ends with the text.
    """
    for _ in range(3):
        spans = _find_private_spans(text)
        if not spans:
            return text
        kept, at = [], 0
        for start, end in spans:
            kept.append(text[at:start])
            at = max(at, end)
        text = "".join(kept) + text[at:]
    # tags that only arise by removing others are an attempt to hide one
    spans = _find_private_spans(text)
    return text[: spans[0][0]] if spans else text


def find_private_parts(text: str) -> list[str]:
    """Return the private parts of a text, with their tags."""
    return [text[start:end] for start, end in _find_private_spans(text)]


def _find_private_spans(text: str) -> list[tuple[int, int]]:
    visible = _strip_invisible(text)
    spans = _private_spans(visible.text, _lower(visible.text, beyond_ascii(visible.text)))
    return [visible.origin(start, end) for start, end in spans]


def _find_private_tags(text: str, lower: str) -> Iterator[re.Match[str]]:
    starts = [
        at
        for at in find_offsets(lower, "private")
        if text[max(0, at - 48) : at].rstrip()[-1:] in BEFORE_PRIVATE
    ]
    for start, end in merge_windows(starts, 400, 48):
        yield from rx(PRIVATE_TAG, re.I | re.S).finditer(text, start, end)


def _private_spans(text: str, lower: str, mentions: str = "") -> list[tuple[int, int]]:
    """Return the spans of private parts.  mentions: a sign before mere mentions."""

    def is_mentioned(at: int) -> bool:
        return bool(mentions) and text[at - 1 : at] == mentions

    spans = [pair for pair in find_private_pairs(lower) if not is_mentioned(pair[0])]
    depth = start = 0
    for tag in _find_private_tags(text, lower):
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


def _strip_invisible(text: str) -> disguise.MappedText:
    """Remove terminal escapes and invisible characters from a text."""
    at, gone = [-1], [0]
    signs = [sign for sign in set(beyond_ascii(text)) if rx(INVISIBLE).match(sign)]
    starts = [match.start() for match in rx(WRITTEN).finditer(text)]
    starts += (place for sign in ("\x1b", *signs) for place in find_offsets(text, sign))
    if not signs and not any(text.startswith(ESCAPES, place) for place in starts):
        return disguise.MappedText(text, at, gone, {})
    parts, last, escape = [], 0, rx(ESCAPE)
    for place in sorted(starts):
        cut = escape.match(text, place) if place >= last else None
        if cut:
            parts.append(text[last:place])
            last = cut.end()
            at.append(place - gone[-1])
            gone.append(gone[-1] + last - place)
    return disguise.MappedText("".join(parts) + text[last:], at, gone, {})


def _map_to_plain(visible: disguise.MappedText, places: list[int]) -> list[int]:
    """Return where offsets of the original stand in the visible text."""
    ends = [at + gone for at, gone in zip(visible.at, visible.gone)]
    return [max(0, place - visible.gone[bisect_right(ends, place) - 1]) for place in places]


def _find(text: str, tick: Callable[[], None], deep: int = 0) -> list[Span]:
    """Find secrets in a text, and in what it disguises.  deep: decodings so far."""
    if not NARROW.keys().isdisjoint(map(ord, set(beyond_ascii(text)))):
        text = text.translate(NARROW)
    runs = _find_runs(text)
    spans = _search_once(text, runs, tick)
    if deep < 1:
        view = disguise.decode_disguises(text, runs)
        if view:
            spans += [
                (*view.origin(start, end), kind) for start, end, kind in _find(view.text, tick, 1)
            ]
    if deep < 2:
        decoded = disguise.decode_base64(runs)
        for start, _, kind in _find(decoded.text, tick, 2) if decoded.text else ():
            spans.append((*decoded.origin(start), kind))
    return spans


def _find_near(text: str, places: list[int], tick: Callable[[], None]) -> list[Span]:
    """Find secrets within NEAR characters of some offsets."""
    near = merge_windows(places, NEAR, NEAR)
    if sum(end - start for start, end in near) > len(text) / 2:
        return _find(text, tick)
    writer = disguise.MappedTextWriter(text)
    for start, end in near:
        writer.seam()
        # from the next line on, if there is one
        writer.copy(text.find("\n", start, end) + 1 or start if start else 0, min(end, len(text)))
    view = writer.view()
    return [(*view.origin(start, end), kind) for start, end, kind in _find(view.text, tick)]


def _find_runs(text: str) -> list[tuple[int, str]]:
    """Return (offset, text) of long runs of token characters, words skipped."""
    digit = rx(r"\d").search
    # one byte a character: ten times as fast as an expression
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


def _search_once(text: str, runs: list[tuple[int, str]], tick: Callable[[], None]) -> list[Span]:
    beyond = beyond_ascii(text)
    lower = _lower(text, beyond)
    flat = lower if lower.isascii() else lower.encode("ascii", "replace").decode("ascii")
    if "[redacted:" in flat:
        # the kind in a marker is no name of a secret
        flat = rx(MARKER).sub(lambda mark: "]" * len(mark[0]), flat)
    tick()
    if beyond != beyond.lower():
        beyond = beyond_ascii(lower)
    places = WordOffsets(flat, lower, beyond)
    spans = [(start, end, "private") for start, end in _private_spans(text, flat, "`")]
    spans += find_private_keys(text)
    spans += find_tokens(text, runs, tick)
    spans += find_by_shape(text, places, tick)
    spans += find_kubernetes_secrets(text, places)
    spans += find_by_userinfo(text, tick)
    spans += find_by_name(text, places, tick)
    spans += find_by_sentence(text, places) if beyond else ()
    spans += find_by_run(text, flat, runs)
    spans += find_by_label(text, places, tick)
    return [_extend_over_lines(text, span) for span in spans]


def _extend_over_lines(text: str, span: Span) -> Span:
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
        long = [allowed for allowed in allow if len(allowed) >= end - start]
        # one of them covers the span
        if any(text.find(a, max(0, end - len(a)), start + len(a)) >= 0 for a in long):
            continue
        if joined and start < joined[-1][1]:
            low, high, other, best = joined[-1]
            joined[-1] = (low, max(high, end), kind if rank < best else other, min(rank, best))
        else:
            joined.append((start, end, kind, rank))
    return [span[:3] for span in joined]


def _find_heads(text: str, heads: Collection[str]) -> list[int]:
    """Return where one of some beginnings of 6 characters stands."""
    if len(heads) < 50:  # a search for each costs less than testing every offset
        return sorted(at for head in heads for at in find_offsets(text, head))
    return [i for i in range(len(text) - 5) if text[i : i + 6] in heads]


def _kinds_by_form(text: str, spans: list[Span]) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for secret, kind in {text[start:end]: kind for start, end, kind in spans}.items():
        for variant in _spell_variants(secret, kind):
            kinds.setdefault(variant, kind)
    return kinds


def _add_occurrences(text: str, spans: list[Span], allow: Sequence[str]) -> list[Span]:
    """Add the spans of all other places of the secrets found."""
    kinds = _kinds_by_form(text, spans)
    lengths: dict[str, set[int]] = {}
    for value in kinds:
        lengths.setdefault(value[:6], set()).add(len(value))
    longest = {head: sorted(many, reverse=True) for head, many in lengths.items()}
    taken, extra, known = 0, [], {span[:2] for span in spans}
    for at in _find_heads(text, lengths):
        for length in longest[text[at : at + 6]] if at >= taken else ():
            value = text[at : at + length]
            if value in kinds and (length >= 12 or _is_separate_word(text, at, at + length)):
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


def _spell_variants(value: str, kind: str) -> Iterator[str]:
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


def _is_separate_word(text: str, start: int, end: int) -> bool:
    is_joined = text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()
    return not is_joined or at_edge(text, start)


def _exclude_markers(spans: list[Span], text: str) -> list[Span]:
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

    value: of texts, lists and mappings.  All texts are searched together: a secret of one is
    removed from the others.  A label reaches into the following texts of a list, into a mapping's
    value only from its own keys.
    """
    public = [strip_private(text) for text, _ in _list_texts(value)]
    texts, value = public, _replace_texts(value, iter(public))
    if config["redact.enabled"] and texts:
        allow = config["redact.allow"]
        named: dict[str, str] = {}
        marked = _mark_named(value, allow, salt, named)
        given = [(_mark_sure(text, named), alone) for text, alone in _list_texts(marked)]
        texts = [text for text, _ in given]
        joined = redact(SEAM.join(texts), allow, salt).text.split(SEAM)
        # an open PEM block swallows the separators: then one by one
        if len(joined) != len(texts):
            joined = [redact(text, allow, salt).text for text in texts]
        elif any(alone and redacted != text for (text, alone), redacted in zip(given, joined)):
            joined = _undo_overreach(given, joined, allow, salt)
        texts = joined
    return _replace_texts(value, iter(texts))


def _mark_named(value: Any, allow: Sequence[str], salt: str, named: dict[str, str]) -> Any:
    """Replace the secrets that keys of mappings name; add them to `named`."""
    if isinstance(value, (list, tuple)):
        return [_mark_named(item, allow, salt, named) for item in value]
    if not isinstance(value, Mapping):
        return value
    marked = dict(value)
    for key, item in value.items():
        words = _list_words({key: item}) if key != "origin" else ()  # it holds paths and checksums
        if any(rx(LABEL).search(word.lower()) for word in words):
            found = find_secrets(_write_out(key, item), allow, salt)
            texts = (_mark_values(text, found) for text, _ in _list_texts(item))
            marked[key] = _replace_texts(item, texts)
            named.update(found)
    return marked


def _list_words(value: Any) -> Iterator[str]:
    """Yield a nested mapping's keys, and its texts of one word."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _list_words(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _list_words(item)
    elif isinstance(value, str) and rx(r"[\w-]{1,40}").fullmatch(value):
        yield value


def _write_out(key: str, value: Any) -> str:
    """Return a mapping's item as lines, as YAML writes it."""
    sign = key if key == "-" else "%s:" % key
    if isinstance(value, Mapping):
        lines = [_write_out(str(name), item) for name, item in value.items()]
    elif isinstance(value, (list, tuple)):
        lines = [_write_out("-", item) for item in value]
    elif "\n" not in str(value):
        return "%s %s" % (sign, value)
    else:
        lines = [str(value)]
    return "\n  ".join([sign, *"\n".join(lines).split("\n")])


def _mark_values(text: str, found: Mapping[str, str]) -> str:
    for secret, mark in found.items():
        text = text.replace(secret, mark)
    return text


def _mark_sure(text: str, named: Mapping[str, str]) -> str:
    """Replace the named secrets that are secrets wherever they stand."""
    sure = (s for s, mark in named.items() if any(_spell_variants(s, mark[10:-6])))
    return _mark_values(text, {secret: named[secret] for secret in sure})


def _undo_overreach(
    given: list[tuple[str, bool]], joined: list[str], allow: Sequence[str], salt: str
) -> list[str]:
    """Restore values that only an earlier text's label made secrets.

    given: (text, whether it stands alone).
    """
    values = find_secrets(SEAM.join(text for text, _ in given), allow, salt)
    pairs = [(*text, redacted) for text, redacted in zip(given, joined)]
    meant = "\n".join(
        redact(text, allow, salt).text if alone else redacted
        for text, alone, redacted in pairs
        if redacted != text
    )
    reached = [(mark, value) for value, mark in values.items() if mark not in meant]
    restored = []
    for text, alone, redacted in pairs:
        for mark, value in reached if alone and redacted != text else ():
            redacted = redacted.replace(mark, value)
        restored.append(redacted)
    return restored


def strip_private_record(record: Record) -> Record:
    return record.replaced(title=strip_private(record.title), body=strip_private(record.body))


# keys that dayleaf writes, without secrets
_OURS = ("conversation", "created", "id", "kind", "links", "session", "source", "until", "updated")


def is_captured(record: Record) -> bool:
    """Tell whether capture wrote and cleaned all of an unshared record."""
    captured = record.source == "auto" and record.tier in ("p", "g")
    return captured and writer.is_sealed(record.name, record.meta, record.body)


def clean_record(record: Record, config: Any, salt: str) -> Record:
    """Return a record without private parts and secrets, for readers.  Ids and links stay."""
    if is_captured(record):
        return strip_private_record(record)
    meta = {key: value for key, value in record.meta.items() if key not in _OURS}
    title, body, tags, topics, meta = clean(
        [record.title, record.body, record.tags, record.topics, meta], config, salt
    )
    return record.replaced(
        title=title, body=body, tags=tuple(tags), topics=tuple(topics), meta={**record.meta, **meta}
    )


def clean_file_names(text: str, config: Any, salt: str) -> str:
    """Return a text without the secrets in its names of markdown files."""
    pieces, allow = text.split(".md"), config["redact.allow"]
    starts = [max(piece.rfind(sign, -NAME_MOST) for sign in '/\n"') + 1 for piece in pieces[:-1]]
    names = [piece[start:][-NAME_MOST:] for piece, start in zip(pieces, starts)]
    if not config["redact.enabled"] or not redact(SEAM.join(names), allow, salt).found:
        return text
    for at, name in enumerate(names):
        pieces[at] = pieces[at].removesuffix(name) + redact(name, allow, salt).text
    return ".md".join(pieces)


def clean_change(before: bytes, after: bytes, config: Any, salt: str) -> bytes:
    """Return a file's new bytes, redacted where they add a secret."""
    if not config["redact.enabled"]:
        return after
    allow = config["redact.allow"]
    added = _added_lines(before, after).decode("utf-8", "surrogateescape")
    if not redact(added, allow, salt).found:
        return after  # a growing page is not searched whole for each new line
    new = redact(after.decode("utf-8", "surrogateescape"), allow, salt)
    old = redact(before.decode("utf-8", "surrogateescape"), allow, salt)
    is_clean = set(old.found).issuperset(new.found)
    return after if is_clean else new.text.encode("utf-8", "surrogateescape")


def _added_lines(before: bytes, after: bytes) -> bytes:
    """Return the lines added to a text, with AROUND lines around them."""
    known, rows = set(before.split(b"\n")), after.split(b"\n")
    fresh = [number for number, row in enumerate(rows) if row not in known]
    if 2 * len(fresh) > len(rows):
        return after
    windows = merge_windows(fresh, AROUND, AROUND)
    return SEAM.encode("ascii").join(b"\n".join(rows[low:high]) for low, high in windows)


def _list_texts(value: Any, alone: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield (text, whether a mapping holds it) of a nested value's texts."""
    if isinstance(value, str):
        yield value.replace("\0", "").replace("\x1e", " "), alone
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _list_texts(item, True)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _list_texts(item, alone)


def _replace_texts(value: Any, texts: Iterator[str]) -> Any:
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, Mapping):
        return {key: _replace_texts(item, texts) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace_texts(item, texts) for item in value]
    return value
