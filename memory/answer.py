"""A model's answer against the records: what of it stands.

A bullet stays only if it cites a record that was given, and if every path, identifier, option, number of two and more
digits, hash and quoted piece of code in it stands in the records.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Sequence

from memory import clock, text
from memory.digest import Bullet, Source, clean, compose

ANSWER_CHARS = 64_000

_MARK = re.compile(r"\s{0,3}(?:[-*+•]|\d{1,2}[.)])\s+(\S.*)")
_BRACKET = re.compile(r"\[([^\[\]\n]{1,200})\](?!\()")
_THOUSANDS = re.compile(r"(?<=\d)[,_\u2009\u202f'](?=\d{3}(?!\d))")
# Runs of exactly one to three: `(`+)(.+?)\1` is cubic on a run of backticks.
_QUOTED = re.compile(r"(?<!`)(`{1,3})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_RUN = re.compile("[^\\s\x80-\U0010ffff\"'`()\\[\\]{}<>,;|*]+")
_WIDE_PATH = re.compile(r"(?<![\w./~-])[A-Za-z0-9_.~-]{0,200}/[\w./~-]{1,200}\.[A-Za-z0-9]{1,5}(?![A-Za-z0-9])")
_CALLED = re.compile(r"([A-Za-z_]\w{1,80})\(\)", re.ASCII)
_HASH = re.compile(r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}")
_NUMBER = re.compile(r"[+-]?(\d[\d.:-]*)(?:[A-Za-z]{1,3})?%?")
_IDENTIFIER = re.compile(r"--[A-Za-z].*|.*[A-Za-z0-9]_.*|.*_[A-Za-z0-9].*|.*[a-z][A-Z].*|.*::.*|\$[A-Za-z].*|"
                         r".*[A-Za-z]\d.*|.*\d[A-Za-z].*|.*[A-Za-z0-9)]\.[A-Za-z].*|\.[A-Za-z].*", re.ASCII)
_DIGITS = re.compile(r"\d[\d.]*\d")
_WORDS = frozenset({"and/or", "i/o", "input/output", "read/write", "client/server", "ci/cd", "tcp/ip", "n/a", "yes/no",
                    "on/off", "und/oder", "request/response", "before/after", "e.g", "i.e", "z.b", "d.h", "u.a", "a.m",
                    "p.m"})  # look technical and are not


def check(answer: str, sources: Sequence[Source], budget: int) -> tuple[tuple[Bullet, ...], list[str]]:
    """Return the bullets of an answer that stand, cut to the budget from the end, and what was cut and why."""
    ground = _Ground(sources)
    ids = {source.id for source in sources}
    good: list[Bullet] = []
    cuts: list[str] = []
    for line in listed(clean(answer[:ANSWER_CHARS])):
        bullet = _cited(line, ids)
        said = _BRACKET.sub(lambda match: " " if set(match[1].split(", ")) <= ids else match[0], bullet.text)
        lacking = ground.lacking(said)
        if not bullet.ids:
            cuts.append("a bullet without a record's id was cut")
        elif lacking:
            cuts.append("a bullet was cut: no record holds '%s'" % lacking[:80])
        else:
            good.append(bullet)
    size = len(good)
    while good and text.count_tokens(compose(good)) > budget:
        good.pop()
    if len(good) < size:
        cuts.append("%d bullets over the budget were cut" % (size - len(good)))
    return tuple(good), cuts


def listed(answer: str) -> list[str]:
    """Return the items of a markdown list with their indented continuations; text around the list is left out."""
    items: list[str] = []
    inside, fenced = False, False
    for line in answer.split("\n"):
        mark = None if fenced else _MARK.match(line)
        if mark:
            items.append(mark[1].rstrip())
            inside = True
        elif not line.strip() and not fenced:
            continue
        elif inside and (fenced or line[:1] in " \t"):
            items[-1] += "\n" + (line[2:] if line.startswith("  ") else line).rstrip()
        else:
            inside = False
        if line.strip().startswith("```") and inside:
            fenced = not fenced
    return items


def _cited(line: str, ids: set[str]) -> Bullet:
    """Read a bullet's citations; an id that was not given, or what may pass for one, is taken out."""
    found: list[str] = []

    def keep(match: re.Match[str]) -> str:
        known = [part for part in re.split(r"[,;\s`#*]+|\bid:", match[1]) if part in ids]
        found.extend(part for part in known if part not in found)
        if known:
            return "[%s]" % ", ".join(known)
        return match[0] if " " in match[1].strip() else ""

    told = _BRACKET.sub(keep, line.replace("【", "[").replace("】", "]"))
    return Bullet("\n".join(part.rstrip() for part in re.sub(r"(?<=\S) {2,}", " ", told).split("\n")), tuple(found))


class _Ground:
    """What the records hold, for the question whether a word of an answer stands there."""

    def __init__(self, sources: Sequence[Source]):
        parts = [part for s in sources for part in (s.id, s.title, clock.day(s.created), s.body)]
        self.plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", "\n".join(parts)))
        self.spaced = " ".join(self.plain.split())
        self.folded = self.plain.casefold()

    def lacking(self, said: str) -> str:
        """Return the first technical word of a bullet that no record holds, or ""."""
        said = _THOUSANDS.sub("", unicodedata.normalize("NFKC", said))
        for match in _QUOTED.finditer(said):
            lines = match[2].split("\n") if "\n" in match[2] else [match[2]]
            for line in lines[1:] if "\n" in match[2] else lines:
                quoted = " ".join(line.split())
                if quoted and not _stands(quoted, self.spaced, "0aA", "0aA"):
                    return quoted
        said = _QUOTED.sub(" ", said)
        for wide in _WIDE_PATH.findall(said):
            if not wide.isascii() and not _stands(wide, self.plain, "0aA.-", "0aA-"):
                return str(wide)
        for name in _CALLED.findall(said):
            if not _stands(name, self.plain, "0aA", "0aA"):
                return str(name) + "()"
        pieces = (piece for run in _RUN.findall(said) for piece in _split(run))
        return next((piece for piece in pieces if not self.holds(piece)), "")

    def holds(self, word: str) -> bool:
        """Tell whether a word stands in the records, or is not of the kind that has to."""
        if len(word) < 2 or word.lower() in _WORDS:
            return True
        if "/" in word.strip("/"):
            return _stands(word.rstrip("/"), self.plain, "0aA.-", "0aA-.")
        if _HASH.fullmatch(word):
            return _stands(word, self.plain, "0aA", "")
        number = _NUMBER.fullmatch(word)
        if number:
            digits = number[1].rstrip(".:-")
            return sum(c.isdigit() for c in digits) < 2 or _stands(digits, self.plain, "0aA", "u")
        if not _IDENTIFIER.fullmatch(word):
            return all(_stands(digits, self.plain, "0aA", "u") for digits in _DIGITS.findall(word))
        return (_stands(word, self.plain, "0aA", "0aA") or _stands(word[0].lower() + word[1:], self.plain, "0aA", "0aA")
                or (word.isalpha() and _stands(word.casefold(), self.folded, "0aA", "0aA")))


def _split(run: str) -> list[str]:
    """Cut a run of characters into words: `src/a.py:48` in two, a URL and `a::b` not."""
    run = run.rstrip(".:!?=&").lstrip("#~:=&@+")
    if "://" in run or "::" in run:
        return [run]
    if _NUMBER.fullmatch(run):
        return [run]
    return [piece.rstrip(".!?") for part in run.split("=") for piece in part.split(":") if piece]


def _stands(word: str, within: str, left: str, right: str) -> bool:
    """Tell whether a word occurs between borders.

    left, right: what may not touch it there: `0aA` letters, digits and `_`; `.` a dot and a letter or digit; `-` a
    hyphen; right `u` a digit, a decimal, or more letters than a unit has.
    """
    at = within.find(word)
    while at >= 0:
        before, after = within[max(at - 2, 0):at], within[at + len(word):at + len(word) + 6]
        if not _touches_left(before, left, word[0]) and not _touches_right(after, right, word[-1]):
            return True
        at = within.find(word, at + 1)
    return False


def _word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def _touches_left(before: str, rule: str, first: str) -> bool:
    last = before[-1:]
    if not last:
        return False
    if first.isdigit() and last in ".,-" and before[:1].isdigit() and len(before) == 2:  # of a decimal, of a date
        return True
    return ("0" in rule and _word(first) and _word(last)) or ("-" in rule and last == "-") or (
        "." in rule and last == "." and first != "/")


def _touches_right(after: str, rule: str, last: str) -> bool:
    following = after[:1]
    if rule == "u":
        letters = re.match(r"\w*", after, re.ASCII)
        more = letters[0] if letters else ""
        return len(more) > 3 or any(c.isdigit() for c in more) or (following in (".", ",") and after[1:2].isdigit())
    if not following:
        return False
    return ("0" in rule and _word(last) and _word(following)) or ("-" in rule and following == "-") or (
        "." in rule and following == "." and _word(after[1:2] or " "))
