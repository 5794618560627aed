"""Secrets near a label: gradient-boosted trees over a word's shape and its place.

`evals/train-secrets` fits `secrettrees.json` and `letterpairs`, and says on what.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from bisect import bisect_left
from functools import lru_cache
from math import log
from typing import Iterator, NamedTuple, Sequence, Union

from memory.store.byname import is_identifier, is_made_up, is_random, is_uuid
from memory.store.letterpairs import LETTERS, SURPRISE
from memory.store.secretlabels import NO_VALUE, OTHER, PASSPHRASE, PIN
from memory.store.secretshapes import COMPOSED, DIGEST, TECHNICAL, TICKET, WORDY, Span, rx

TREES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "secrettrees.json")
BEFORE, AFTER, LINES = 160, 420, 8  # characters and lines around a label, for its secret
CLOSE = 60  # characters between labels; of closer ones the stronger counts
WEAK = 16  # characters of a random word that a mere `key` may name
SHORTEST = 4  # characters of a word
ROWS = 40  # of a list
AROUND = 200  # characters of a line on each side of a word
SIGNS, JOINTS = "!#$%^&*?~+@", "-_."
_IN_WORD = r"[!#-&(-;=?-_a-~À-ɏ]"
REST = _IN_WORD + "{0,99}"  # of a word
# A word with a digit or a sign, a capital after its start, or two hyphens.
WORD = (
    r"(?<!{0})(?!\[redacted:)(?={0}{{0,99}}[0-9!#$%^&*?~+@]|{0}{{1,99}}[A-Z]|[a-z]{{3,12}}-{0}{{3,12}}-)"
    r"{0}{{4,100}}"
).format(_IN_WORD)
# Before a word: a name of its own; a word that announces a name or number.
NAMED_OTHERWISE = r"(?<![A-Za-z])[a-z][\w.\-]{0,30}[\"']?[ \t]{0,2}[=:][ \t]{0,2}[\"'`]?\Z"
IDENTIFIED = (
    r"(?<![a-z])(?:ids?|names?|user|host|server|serial|label|ticket|version|commit|branch|file|image"
    r"|build|pod|role|region|model|volume|profile|project|group|release|request|order|record)"
    r"[\"']?[ \t]{0,2}(?:[=:#]|is)?[ \t]{0,2}[\"'`(]?\Z"
)
# Between a label and its value: words for what it opens, wrapped, and a colon.
WRAPPED = (
    r"[ ](?:for|of|to|on|für|von|zum?|vom|de|pour|del|para|от|для|к)[ ]?\r?\n[^\n]{1,60}"
    r"[:：][ ]?[\"'`*]{0,3}\Z"
)
GROUPED_DIGITS = r"(?<!\d )(?<![\w.:/,+\-])\d{2,4}(?:[ \-]\d{2,4}){1,3}(?![\w.:/,\-]| \d)"
# Of what is assigned or called; what sets a word apart in LaTeX.
_NAME = r"[A-Za-z_][\w.\-]{0,40}[=:](?=[^=:/])|[\w.]{1,60}\(|\\texttt\{"
_TAIL = r"(?:_{3,40}|[)\]*,;:}.|]{1,6}[?!]?|(?<=[a-z\d][a-z\d])[?])\Z"
# No secret wherever it stands: code, a path, an address, a short commit, a date, a number.
_NO_SECRET = (
    r"[A-Za-z]+[^\w\s]{0,3}\Z|\S{0,99}[\\'\"\[{]|\w{1,60}\("
    r"|[:\-/<%&@$~+](?!\S{0,30}\d\S{0,30}[#!%&*^]|\S{0,30}[#!%&*^]\S{0,30}\d)"
    r"|\S{1,60}\.[a-z]{1,4}#L?\d|\d+\*\w+\."
    r"|[0-9a-f]{7,12}(?:\Z|\.\.)|0[xo][0-9a-f]+\Z|\d[\d.,]*[A-Za-z]{1,4}\d?\+?\Z|v\d+\.\d"
    r"|\S{0,99}[a-z]{3,}/[a-z]{2,}|\S{0,60}(?:(?<!\S)|/)[a-z_\-]{3,}/"
    r"|\S{1,60}\.(?:tsx?|jsx?|m?js|py|go|rs|md|json|ya?ml|sh|txt|html|css|toml|lock)(?:\Z|:)"
    r"|[\w.\-]{1,64}@[\w\-]{1,64}\.|[A-Za-z][\w+.\-]{1,20}://|\S{0,40}\d{4}-\d\d-\d\d"
)
SLUG = r"[A-Za-z]{2,14}(?:[-_.]{1,2}(?:[A-Za-z]{2,14}|\d{1,4})){2,6}"
_COUNTED = r"[a-z]{2,20}(?:[-_.][a-z]{2,20}){0,6}[-_.]\d{1,6}"  # a name with its number
_CODE = dict.fromkeys(map(ord, ";(){}=\\<>[]$"))
_QUOTES, _INTRODUCING = tuple("\"'`“”「」"), tuple(":：→=>|-—/")


def _class_of(sign: str) -> str:
    if sign.isalpha():
        return "a" if sign.islower() else "A"
    if sign.isdigit():
        return "0"
    return "-" if sign in JOINTS else "#" if sign in SIGNS else "/"


class Split(NamedTuple):
    """A node of a tree: the branches for a feature up to a limit, and beyond it."""

    feature: int
    limit: float
    below: Node
    beyond: Node


Node = Union[float, Split]  # a leaf's log odds, or a split


class Label(NamedTuple):
    """A word for a secret.  low, high: its line.  tier: its strength."""

    start: int
    end: int
    low: int
    high: int
    kind: str
    tier: str


class Near(NamedTuple):
    """A word and its nearest label.  before: the word stands before it."""

    start: int
    word: str
    label: Label
    before: bool


def likely_values(text: str, labels: Sequence[Label]) -> Iterator[Span]:
    """Find the words near labels that are likely secrets."""
    lines: Lines = {}
    listed: set[int] = set()  # starts of the lists' lines that were searched
    known: dict[tuple[str, int, int, str], bool] = {}  # verdicts by equal surroundings
    for near in words_near(text, labels):
        start, word, label = near.start, near.word, near.label
        low = max(0, min(start, label.start) - AROUND)
        key = (
            text[low : max(start + len(word), label.end) + AROUND],
            start - low,
            label.start - low,
            label.tier,
        )
        likely = known.get(key)
        if likely is None:
            likely = known[key] = log_odds(features(text, near, lines)) > 0
        if likely:
            yield start, start + len(word), label.kind
            if "\n" in text[min(start, label.end) : max(start, label.start)]:
                yield from _find_siblings(text, (start, start + len(word), label.kind), listed)


def _find_siblings(text: str, span: Span, listed: set[int]) -> Iterator[Span]:
    """Find the words in the same place of a list's other lines.

    listed: starts of the lines searched so far; grows.
    """
    start, end, kind = span
    low = text.rfind("\n", max(0, start - AROUND), start) + 1
    high = text.find("\n", end, end + AROUND)
    if high < 0 or not low or low in listed:
        return
    form = _word_pattern(text[low:start]), _word_pattern(text[end:high])
    if not rx(r"[/:=|,;]").search(form[0]) and "  " not in text[low:start].strip():
        return
    for begin, line in (*_lines_after(text, high + 1), *_lines_before(text, low - 1)):
        place = _find_same_place(line, form)
        if not place:
            continue
        listed.add(begin)
        if _is_listed_secret(line[place[0] : place[1]]):
            yield begin + place[0], begin + place[1], kind


def _lines_after(text: str, low: int) -> Iterator[tuple[int, str]]:
    """Yield (offset, text) of lines up to an empty line."""
    for _ in range(ROWS):
        high = text.find("\n", low, low + 2 * AROUND)
        if high <= low:
            return
        yield low, text[low:high]
        low = high + 1


def _lines_before(text: str, high: int) -> Iterator[tuple[int, str]]:
    """Yield (offset, text) of lines back to an empty line."""
    for _ in range(ROWS):
        low = text.rfind("\n", max(0, high - 2 * AROUND), max(0, high)) + 1
        if not 0 < low < high:
            return
        yield low, text[low:high]
        high = low - 1


def _word_pattern(piece: str) -> str:
    """Return a part of a line with `x` for each word."""
    return rx(r"[^\s/:=|,;()\[\]]+").sub("x", " ".join(piece.split()))


def _find_same_place(line: str, form: tuple[str, str]) -> tuple[int, int] | None:
    """Find the word between the same signs in another line, or None."""
    for match in rx(r"[^\s\"'`,;|()\[\]]{4,64}").finditer(line):
        for low in {match.start(), match.start() + match[0].rfind(":") + 1}:
            if (_word_pattern(line[:low]), _word_pattern(line[match.end() :])) == form:
                return low, match.end()
    return None


def _is_listed_secret(word: str) -> bool:
    return len(word) >= 5 and rx(r"\d|[a-z][A-Z]|[!#$%^&*?~+@]").search(word) is not None


def words_near(text: str, labels: Sequence[Label]) -> Iterator[Near]:
    """Yield the words that may be secrets, each with its nearest label."""
    done = 0
    groups: list[tuple[int, str]] | None = None  # of digits
    labels = [
        label for number, label in enumerate(labels) if not _is_overruled(text, labels, number)
    ]
    for number, label in enumerate(labels):
        low = max(done, label.low, label.start - BEFORE)
        border = len(text)
        if number + 1 < len(labels):
            border = max(label.end, _border_between(label, labels[number + 1]))
        done = _end_of_reach(text, label.end, border)
        yield from _find_candidates(text, label, low, label.start)
        yield from _find_candidates(text, label, label.end, done)
        if _names_number(text, label):
            if groups is None:
                groups = [(match.start(), match[0]) for match in rx(GROUPED_DIGITS).finditer(text)]
            for start, word in _slice_places(groups, low, done) if groups else ():
                yield Near(start, word, label, start < label.start)


def _find_candidates(text: str, label: Label, begin: int, end: int) -> Iterator[Near]:
    if end - begin < SHORTEST:
        return
    for start, word in _find_words(text, begin, end):
        if is_candidate(start, word, label, text):
            yield Near(start, word, label, end == label.start)


def _slice_places(places: list[tuple[int, str]], low: int, high: int) -> list[tuple[int, str]]:
    return places[bisect_left(places, (low, "")) : bisect_left(places, (high, ""))]


def _names_number(text: str, label: Label) -> bool:
    return _is_word_for_number(text[max(0, label.start - 6) : label.end + 6])


@lru_cache(maxsize=1024)
def _is_word_for_number(around: str) -> bool:
    return rx(PIN).search(around.lower()) is not None


def _is_overruled(text: str, labels: Sequence[Label], number: int) -> bool:
    """Tell whether a stronger label close to a weak one counts instead."""
    label = labels[number]
    if label.tier != "weak":
        return False
    return any(
        other.tier in ("strong", "medium")
        and max(label.start - other.end, other.start - label.end) < CLOSE
        and "\n" not in text[min(label.end, other.end) : max(label.start, other.start)]
        for other in labels[max(0, number - 1) : number + 2]
    )


def _border_between(label: Label, following: Label) -> int:
    """Return the offset at which the words of the following label begin."""
    if following.low > label.start:
        return max(following.low, following.start - BEFORE)
    if following.tier == "strong" != label.tier:
        return label.end
    if label.tier == "strong" != following.tier:
        return following.start
    return (label.end + following.start) // 2


def _end_of_reach(text: str, at: int, border: int) -> int:
    end, limit = at, min(at + AFTER, border)
    for _ in range(LINES):
        line = text.find("\n", end, limit)
        if line < 0:
            return limit
        end = line + 1
    return end


def _find_words(text: str, low: int, high: int) -> list[tuple[int, str]]:
    """Return (start, word) of the words from `low` to `high`, without brackets."""
    end = high
    if text[high - 1] > " " and text[high : high + 1] > " ":
        whole = rx(REST).match(text, high)
        end = whole.end() if whole else high
    before = low - 1 if low else 0
    found = _split_words(text[before:end], low - before, high - before)
    return [(before + start, word) for start, word in found] if found else []


@lru_cache(maxsize=512)
def _split_words(piece: str, low: int, high: int) -> tuple[tuple[int, str], ...]:
    found = []
    for match in rx(WORD).finditer(piece, low):
        start, word = match.start(), match[0]
        if start >= high:
            break
        bare = word.lstrip("(*[{|:")
        start += len(word) - len(bare)
        if not bare.isalnum():
            if rx(DIGEST).match(bare):
                continue
            name = rx(_NAME).match(bare)
            if name and len(bare) - name.end() > 5:
                start, bare = start + name.end(), bare[name.end() :]
            bare = rx(_TAIL).sub("", bare)
        if bare:
            found.append((start, bare))
    return tuple(found)


def _is_pin(start: int, digits: str, label: Label, text: str) -> bool:
    """Tell whether digits may be a label's PIN; a year may not."""
    if not 4 <= len(digits) <= 8 or len(digits) == 4 and digits[:2] in ("19", "20"):
        return False
    between = text[min(label.end, start) : max(label.start, start)]
    return between.count("\n") < 3 and _names_number(text, label)


def is_candidate(start: int, word: str, label: Label, text: str) -> bool:
    """Tell whether a word, or a close number, may be a label's secret."""
    if word.isdigit():
        return _is_pin(start, word, label, text)
    if len(word) < 5 or not _is_secret_shape(word):
        return False
    if label.tier == "strong":
        return True
    if label.tier == "weak":  # a key role, the key to a table
        return is_random(word, WEAK)
    if rx(_COUNTED).fullmatch(word):
        return False
    named = label.tier == "medium" and rx(COMPOSED).fullmatch(word)
    return label.tier == "login" or rx(r"\d").search(word) is not None and not named


def _is_letters_secret(word: str) -> bool:
    if rx(r"(?=.{0,30}[a-z][A-Z])[A-Za-z]{10,40}").fullmatch(word):
        return surprise(word)[1] > 5 and not is_identifier(word)
    return rx(r"[A-Za-z]{3,12}(?:-[A-Za-z]{3,12}){2,9}").fullmatch(word) is not None


@lru_cache(maxsize=4096)
def _is_secret_shape(word: str) -> bool:
    kinds = {_class_of(sign) for sign in word}
    if not kinds & {"a", "A"}:
        return False
    if "0" not in kinds and not rx(r"[!#$%^&*?~@]").search(word):
        return _is_letters_secret(word)
    if rx(_NO_SECRET).match(word) or rx(NO_VALUE).match(word):
        return False
    if rx(TECHNICAL, re.I).fullmatch(word) or rx(TICKET).fullmatch(word):
        return False
    return not is_made_up(word) and not is_uuid(word)


def log_odds(found: dict[str, float]) -> float:
    """Return a word's log odds of being a secret, given its features."""
    odds, names, trees = _boosted_trees()
    values = [float(found[name]) for name in names]
    for node in trees:
        while not isinstance(node, float):
            node = node.below if values[node.feature] <= node.limit else node.beyond
        odds += node
    return odds


@lru_cache(maxsize=1)
def _boosted_trees() -> tuple[float, Sequence[str], Sequence[Node]]:
    """Return the bias, feature names and trees that `evals/train-secrets` fitted."""
    with open(TREES, encoding="utf-8") as file:
        fitted = json.load(file)
    return (
        fitted["bias"],
        fitted["features"],
        [parse_tree(iter(t.split())) for t in fitted["trees"]],
    )


def parse_tree(words: Iterator[str]) -> Node:
    """Parse a tree: `feature<limit` and both its branches, or the log odds of a leaf."""
    word = next(words)
    feature, _, limit = word.partition("<")
    if not limit:
        return float(word)
    return Split(int(feature), float(limit), parse_tree(words), parse_tree(words))


def features(text: str, near: Near, lines: Lines) -> dict[str, float]:
    """Return the features of a word near a label, by name.  lines: a cache."""
    start, word, label = near.start, near.word, near.label
    end = start + len(word)
    low, line = _measure_line(text, start, end, lines)
    gap = text[label.end : start] if not near.before else text[end : label.start]
    own = shape(word)
    down = gap.count("\n") - _is_wrapped(gap, word)
    ends = len(rx(r"[.!?;][\s)]|[。！？]").findall(gap))
    labelled = _measure_line(text, label.start, label.end, lines)[1] if down else line
    left = text[max(low, start - 24) : start].rstrip(" \"'`*(“「")
    last = rx(r"[^\W\d_]{1,24}\Z").search(left)
    named = rx(NAMED_OTHERWISE, re.I).search(text, max(low, start - 40), start)
    alone = line.runs <= own["runs"]
    return {
        **own,
        "alone": alone,
        "few": line.words < 4,
        "quoted": text[start - 1 : start] in _QUOTES and text[end : end + 1] in _QUOTES,
        "sign": left[-1:] in _INTRODUCING,
        "link": last is not None and len(last[0]) < 5,
        "no word": last is None,
        "named": named is not None and not label.start <= named.start() < label.end,
        "identified": rx(IDENTIFIED, re.I).search(text, max(low, start - 40), start) is not None,
        "code": line.code,
        "label's code": labelled.code,
        "label's words": min(16, labelled.words) / 8,
        "asked": labelled.asked,
        "leads": not alone and not left.strip(),
        "words": min(16, line.words) / 8,
        "before": near.before,
        "next line": down == 1,
        "second line": down == 2,
        "farther": down > 2,
        "sentences": min(2, ends),
        "close": down == 0 and ends == 0 and len(gap) < 30,
        "gap": log(1 + len(gap)) / 3,
        **{tier: label.tier == tier for tier in ("strong", "medium", "weak", "login")},
        "own other": line.other,
        "other": labelled.other,
    }


def _is_wrapped(gap: str, word: str) -> bool:
    """Tell whether a label's phrase ends in a random word's line."""
    return is_random(word, 8) and word.isalnum() and rx(WRAPPED).match(gap) is not None


class _LineTraits(NamedTuple):
    """Features of a line: code signs, words, runs, a question, other names."""

    code: int
    words: int
    runs: int
    asked: bool
    other: bool


Lines = dict[tuple[int, int], _LineTraits]


def _measure_line(text: str, start: int, end: int, lines: Lines) -> tuple[int, _LineTraits]:
    """Return (start, traits) of the line around a part of the text."""
    low, high = max(0, start - AROUND), end + AROUND
    # rounded: neighbouring words share what `lines` holds
    low -= low % (AROUND // 2)
    high += -high % (AROUND // 2)
    low = text.rfind("\n", low, start) + 1 or low
    at = text.find("\n", end, high)
    high = at if at >= 0 else min(len(text), high)
    line = lines.get((low, high))
    if line is None:
        piece = text[low:high]
        code = len(piece) - len(piece.translate(_CODE))
        line = lines[low, high] = _LineTraits(
            min(3, code),
            len(piece.split()),
            len(rx(r"\w+").findall(piece)),
            "?" in piece,
            rx(OTHER, re.I).search(piece) is not None,
        )
    return low, line


@lru_cache(maxsize=4096)
def shape(word: str) -> dict[str, float]:
    """Return the features of a word by itself."""
    kinds = [_class_of(sign) for sign in word]
    length, digits = len(word), kinds.count("0")
    mean, most = surprise(word)
    is_hex = rx(r"[0-9a-f]+").fullmatch(word) is not None
    slug = rx(SLUG).fullmatch(word) is not None
    several = len({"a", "A", "0", "#"}.intersection(kinds))
    return {
        "runs": len(rx(r"\w+").findall(word)),
        "length": min(length, 32) / 8,
        "short": length < 8,
        "long": length >= 20,
        "digits": digits / length,
        "no digit": digits == 0,
        "capitals": kinds.count("A") / length,
        "signs": min(2, kinds[1:-1].count("#")),
        "joints": min(3, kinds.count("-")),
        "others": min(2, kinds.count("/")),
        "changes": sum(kind != after for kind, after in zip(kinds, kinds[1:])) / length,
        "digit inside": rx(r"[A-Za-z]\d[A-Za-z]").search(word) is not None,
        "camel": rx(r"[a-z][A-Z]").search(word) is not None,
        "digit last": kinds[-1] == "0",
        "kinds": several,
        "four kinds": several == 4,
        "number": digits == length,
        "hex": is_hex,
        "commit": is_hex and length == 40,
        "digest": is_hex and length in (32, 64),
        "surprise": mean - 3,
        "most surprise": most - 5,
        "wordy": rx(WORDY).fullmatch(word) is not None,
        "composed": rx(COMPOSED).fullmatch(word) is not None,
        "identifier": is_identifier(word),
        "phrase": rx(PASSPHRASE).fullmatch(word) is not None,
        "random": is_random(word, 10),
        "long random": length >= 24 and not is_hex and is_random(word, 24),
        "file": rx(r"\.[A-Za-z]{1,4}$").search(word) is not None,
        "counted": rx(r"[A-Za-z]+[-_.#/:]?\d{1,4}").fullmatch(word) is not None,
        "slug": slug,
        "numbered slug": slug and rx(r"[-_.]\d").search(word) is not None,
        "dots": word.count("."),
        "inner number": rx(r"[-_.]\d{1,4}[-_.]").search(word) is not None,
        "snake": "_" in word
        and word.replace("_", "").isalnum()
        and word in (word.lower(), word.upper()),
    }


def surprise(word: str) -> tuple[float, float]:
    """Return the mean and greatest surprise of letter pairs, in nats.

    By how often the letters follow each other in ordinary words; greatest: the mean of four.
    """
    spelt = "^" + "".join(map(letter, word)) + "^"
    pairs = sorted(
        (ord(SURPRISE[LETTERS.index(first) * len(LETTERS) + LETTERS.index(second)]) - 35) / 10
        for first, second in zip(spelt, spelt[1:])
    )
    return sum(pairs) / len(pairs), sum(pairs[-4:]) / 4


def letter(sign: str) -> str:
    """Return the letter of LETTERS that stands for a character."""
    if sign.isascii():
        return sign.lower() if sign.isalpha() else _class_of(sign)
    bare = unicodedata.normalize("NFD", sign.lower())[0]
    return bare if bare.isascii() and bare.isalpha() else "x"
