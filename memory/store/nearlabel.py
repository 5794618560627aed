"""Secrets near a label: a logistic regression over a word's shape and its place.

`evals/train-secrets` fits the numbers of `secretweights` and says on what.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import log
from typing import Dict, Iterator, NamedTuple, Sequence, Tuple

from memory.store.byname import is_identifier, is_made_up, is_random, is_uuid
from memory.store.secretlabels import NO_VALUE, OTHER, PASSPHRASE, PIN
from memory.store.secretshapes import COMPOSED, DIGEST, TECHNICAL, TICKET, WORDY, Span, rx
from memory.store.secretweights import BIAS, LETTERS, SURPRISE, WEIGHTS

BEFORE, AFTER, LINES = 160, 420, 8  # characters and lines in which the words of a label stand
NEVER = -99.0  # log odds
WEAK = 16  # characters of a random word that a mere `key` may name
SHORTEST = 4  # characters of a word
AROUND = 200  # characters of its line on each side of a word
SIGNS, JOINTS = "!#$%^&*?~+@", "-_."
_IN_WORD = r"[^\s\"'`<>\x00-\x20\x7f-\U0010ffff]"
# A word with a digit or a sign in it, a capital that does not begin it, or two hyphens.
WORD = (
    r"(?<!{0})(?={0}{{0,99}}[0-9!#$%^&*?~+@]|{0}{{1,99}}[A-Z]|[a-z]{{3,12}}-{0}{{3,12}}-)"
    r"{0}{{4,100}}"
).format(_IN_WORD)
_NAME = r"[A-Za-z_][\w.\-]{0,40}[=:](?=[^=:/])|[\w.]{1,60}\("  # of what is assigned or called
_TAIL = r"(?:[)\]*,;:}.]{1,6}|[)\]*,;:}.]{1,5}[?!])\Z"
# No secret wherever it stands: code, a path, an address, names with dots, a short commit, a date.
_NO_SECRET = (
    # a word before marks, a digest, what a mark begins, a list, quotes or brackets inside
    r"\+?[A-Za-z]+[^\w\s]{0,3}\Z|\w+\.\w+[?!]\Z|[A-Za-z]+/[A-Z][a-z]+\Z|(?i:sha\d{1,3}[-:])"
    r"|[:\-/<%&@$~](?!\S{0,30}\d\S{0,30}[#!%&*^]|\S{0,30}[#!%&*^]\S{0,30}\d)|\S{0,99}[\\'\"\[{]"
    r"|#[0-9a-fA-F]{3,8}\Z|\+[a-z]|\w+(?:,\w+)+\Z"
    # short ids, measures, names with one digit
    r"|[A-Za-z]{1,3}\d{1,7}\Z|\d[\d.,]*[A-Za-z]{1,4}\d?\+?\Z|[A-Za-z]{1,8}\d-[a-z]+\Z"
    r"|[a-z]{3,12}\d\Z"
    # short commits and a range of them, versions, numbers in hexadecimal, products, tickets
    r"|[A-Z]{2,8}-?\d{1,7}(?:-[A-Z]{2,6})?\Z|[A-Z][a-z]{1,12}\d(?:[A-Z][a-z]{1,12}){1,4}(?:-[a-z]+)?\Z"
    r"|[0-9a-f]{7,12}\Z"
    r"|[0-9a-f]{7,12}\.\.|v\d+\.\d|0[xo][0-9a-f]+\Z|\d+\*\w+\.|(?i:python)\d"
    r"|[a-z]{2,8}[24][a-z]{1,8}\Z|[A-Z]{2,5}v\d|(?:[A-Z]{2,7}\d{0,3}|\d{1,3})"
    r"(?:[-/#](?:[A-Z]{2,7}\d{0,3}|\d{1,3})){1,3}\Z"
    # names of classes with a version, GitHub's ids, names of headers
    r"|(?:[A-Za-z][a-z]{2,20}(?:[A-Z][a-z]{1,20}){0,12})?V\d(?:[a-z]{4,5}\d{0,2})?"
    r"(?:[A-Z][a-zA-Z]{1,20}){0,12}\Z|[A-Z][a-z]+V\d\w{0,12}\Z|[A-Z]{1,4}_kwDO|MDQ6"
    r"|[A-Za-z]-[a-z]{2,12}(?:-[a-z]{2,12}\d?){1,9}-?\Z"
    r"|(?i:\w{0,40}oauth2?\w{0,40}(?:\.\w{1,40}){0,6})\Z"
    # paths, names with dots, addresses, dates, classes of characters, calls
    r"|\S{0,60}(?:(?<!\S)|/)[a-z_\-]{3,}/|\S{0,99}[a-z]{3,}/[a-z]{2,}|[a-z]+\.env\."
    r"|\S{1,60}\.[a-z]{1,4}#"
    r"|\S{1,60}\.(?:tsx?|jsx?|m?js|py|go|rs|md|json|ya?ml|sh|txt|html|css|toml|lock)(?:\Z|:)"
    r"|[a-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){1,8}\Z|[A-Za-z_]+(?:\.[A-Za-z_]+){1,8}\Z"
    r"|[\w.\-]{1,64}@[\w\-]{1,64}\.|[A-Za-z][\w+.\-]{1,20}://|\S{0,40}\d{4}-\d\d-\d\d"
    r"|\S{0,20}(?:0-9|[Aa]-[Zz])|\d[A-Z]-[a-z]+\Z|\w{1,60}\("
)
_COUNTED = r"[a-z]{2,20}(?:[-_.][a-z]{2,20}){0,6}[-_.]\d{1,6}"  # a name with its number
_CODE = dict.fromkeys(map(ord, ";(){}=\\<>[]$"))
_QUOTES, _INTRODUCING = tuple("\"'`“”「」"), tuple(":：→=>|-—/")


def _class_of(sign: str) -> str:
    if sign.isalpha():
        return "a" if sign.islower() else "A"
    if sign.isdigit():
        return "0"
    return "-" if sign in JOINTS else "#" if sign in SIGNS else "/"


_CLASS = {chr(code): _class_of(chr(code)) for code in range(33, 127)}


class Label(NamedTuple):
    """A word for a secret, with its place, its line and its strength."""

    start: int
    end: int
    low: int
    high: int
    kind: str
    tier: str


class Near(NamedTuple):
    """A word and the label that is nearest to it."""

    start: int
    word: str
    label: Label
    before: bool


def likely_values(text: str, labels: Sequence[Label]) -> Iterator[Span]:
    """Find the words near labels that are likely secrets.

    labels: in the order of the text.
    """
    lines: Lines = {}
    known: Dict[Tuple[str, int, int, str], bool] = {}  # by equal surroundings
    for near in words_near(text, labels):
        start, word, label = near.start, near.word, near.label
        low = max(0, min(start, label.start) - AROUND)
        around = text[low : max(start + len(word), label.end) + AROUND]
        key = (around, start - low, label.start - low, label.tier)
        likely = known.get(key)
        if likely is None:
            likely = known[key] = log_odds(features(text, near, lines)) > 0
        if likely:
            yield start, start + len(word), label.kind


def words_near(text: str, labels: Sequence[Label]) -> Iterator[Near]:
    """Return the words that may be secrets, each with its nearest label."""
    done = 0
    for number, label in enumerate(labels):
        low = max(done, label.low, label.start - BEFORE)
        done = _end(text, label.end)
        if number + 1 < len(labels):
            done = min(done, max(label.end, _border(label, labels[number + 1])))
        stretches = ((low, label.start, True), (label.end, done, False))
        for begin, end, before in stretches:
            if end - begin < SHORTEST:
                continue
            for start, word in _words(text, begin, end):
                if is_possible(start, word, label, text):
                    yield Near(start, word, label, before)


def _border(label: Label, following: Label) -> int:
    """Return where the words of a following label begin."""
    if following.low <= label.start:
        return (label.end + following.start) // 2
    return max(following.low, following.start - BEFORE)


def _end(text: str, at: int) -> int:
    """Return where the words after a label end."""
    end, limit = at, at + AFTER
    for _ in range(LINES):
        line = text.find("\n", end, limit)
        if line < 0:
            return min(len(text), limit)
        end = line + 1
    return end


def _words(text: str, low: int, high: int) -> Iterator[Tuple[int, str]]:
    """Return (start, word) of the words that begin in a stretch, without brackets around them."""
    for match in rx(WORD).finditer(text, low, high):
        start, word = match.start(), match[0]
        bare = word.lstrip("(*[{|")
        start += len(word) - len(bare)
        if not bare.isalnum():
            if rx(DIGEST).match(bare):
                continue
            name = rx(_NAME).match(bare)
            if name and len(bare) - name.end() > 5:
                start, bare = start + name.end(), bare[name.end() :]
            bare = rx(_TAIL).sub("", bare)
        if bare:
            yield start, bare


def is_possible(start: int, word: str, label: Label, text: str) -> bool:
    """Tell whether a word may be the secret of a label; a number may in its line alone."""
    if word.isdigit():
        around = text[max(0, label.start - 6) : label.end + 6].lower()
        number = 4 <= len(word) <= 8 and word[:2] not in ("19", "20")
        between = text[min(label.end, start) : max(label.start, start)]
        return number and "\n" not in between and rx(PIN).search(around) is not None
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


@lru_cache(maxsize=4096)
def _is_secret_shape(word: str) -> bool:
    kinds = {_CLASS[sign] for sign in word}
    if not kinds & {"a", "A"}:
        return False
    if "0" not in kinds and not rx(r"[!#$%^&*?~@]").search(word):
        return rx(PASSPHRASE).fullmatch(word) is not None
    return not (
        rx(_NO_SECRET).match(word)
        or rx(NO_VALUE).match(word)
        or rx(TECHNICAL, re.I).fullmatch(word)
        or rx(TICKET).fullmatch(word)
        or is_made_up(word)
        or is_uuid(word)
    )


@lru_cache(maxsize=1)
def _weights() -> Tuple[Tuple[float, str, str], ...]:
    """Return the weights with their one or two features."""
    return tuple((weight, *name.partition("*")[::2]) for name, weight in WEIGHTS.items())


def log_odds(found: Dict[str, float]) -> float:
    """Return the log odds that a word of these features is a secret."""
    if found["hex"] and found["length"] == 4 and found["own other"]:
        return NEVER  # a commit or digest that is called so
    if found["commit"] and found["leads"]:
        return NEVER  # as a log lists them
    if found["hex"] and found["farther"] and not found["strong"]:
        return NEVER
    odds = BIAS
    for weight, first, second in _weights():
        value = found[first]
        if value:
            odds += weight * value * (found[second] if second else 1.0)
    return odds


def features(text: str, near: Near, lines: Lines) -> Dict[str, float]:
    """Return the features of a word near a label, by name.

    lines: what is known of the text's lines, which grows.
    """
    start, word, label = near.start, near.word, near.label
    end = start + len(word)
    low, line = _line_around(text, start, end, lines)
    gap = text[label.end : start] if not near.before else text[end : label.start]
    down = gap.count("\n")
    labelled = _line_around(text, label.start, label.end, lines)[1] if down else line
    left = text[max(low, start - 24) : start].rstrip(" \"'`*(“「")
    last = rx(r"[^\W\d_]{1,24}\Z").search(left)
    own = shape(word)
    alone = line.runs <= own["runs"]
    return {
        **own,
        "alone": alone,
        "few": line.words < 4,
        "quoted": text[start - 1 : start] in _QUOTES and text[end : end + 1] in _QUOTES,
        "sign": left[-1:] in _INTRODUCING,
        "link": last is not None and len(last[0]) < 5,
        "no word": last is None,
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
        "gap": log(1 + len(gap)) / 3,
        "strong": label.tier == "strong",
        "medium": label.tier == "medium",
        "weak": label.tier == "weak",
        "login": label.tier == "login",
        "own other": line.other,
        "other": labelled.other,
    }


class _Line(NamedTuple):
    """A line, or the part of a long one: signs of code, words, runs of letters, other names."""

    code: int
    words: int
    runs: int
    asked: bool
    other: bool


Lines = Dict[Tuple[int, int], _Line]


def _line_around(text: str, start: int, end: int, lines: Lines) -> Tuple[int, _Line]:
    """Return the start and the record of the line around a stretch.

    Of a long line, of AROUND characters and up to half as many more on each side.
    """
    low, high = max(0, start - AROUND), end + AROUND
    low -= low % (AROUND // 2)
    high += -high % (AROUND // 2)
    low = text.rfind("\n", low, start) + 1 or low
    at = text.find("\n", end, high)
    high = at if at >= 0 else min(len(text), high)
    line = lines.get((low, high))
    if line is None:
        piece = text[low:high]
        code = len(piece) - len(piece.translate(_CODE))
        line = lines[low, high] = _Line(
            min(3, code),
            len(piece.split()),
            len(rx(r"\w+").findall(piece)),
            "?" in piece,
            rx(OTHER, re.I).search(piece) is not None,
        )
    return low, line


@lru_cache(maxsize=4096)
def shape(word: str) -> Dict[str, float]:
    """Return the features of a word by itself."""
    kinds = [_CLASS[sign] for sign in word]
    length, digits = len(word), kinds.count("0")
    mean, most = surprise(word)
    is_hex = rx(r"[0-9a-f]+").fullmatch(word) is not None
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
        "changes": sum(one != other for one, other in zip(kinds, kinds[1:])) / length,
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
        "snake": "_" in word
        and word.replace("_", "").isalnum()
        and word in (word.lower(), word.upper()),
    }


def surprise(word: str) -> Tuple[float, float]:
    """Return how unlike ordinary words a word is, on the whole and at its four worst places.

    In nats for each pair of letters, by how often they follow one another in ordinary words.
    """
    spelt = "^" + "".join(map(letter, word)) + "^"
    pairs = sorted(
        (ord(SURPRISE[LETTERS.index(one) * len(LETTERS) + LETTERS.index(other)]) - 35) / 10
        for one, other in zip(spelt, spelt[1:])
    )
    return sum(pairs) / len(pairs), sum(pairs[-4:]) / 4


def letter(sign: str) -> str:
    """Return the letter of LETTERS that a sign counts as."""
    return sign.lower() if sign.isalpha() else _CLASS[sign]
