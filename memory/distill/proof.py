"""Prove a statement by records: every technical word of it must occur in them.

Technical are paths, identifiers, options, addresses, hashes, numbers (with a unit of time, size or
share), dates, quotations of three words and more, code, markup and orders to a reader. Equal forms
count as one: thousands separators, full-width letters, `60s` and `60 seconds`, `21 November` and
`2026-11-21`, `three` and `3`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Iterator

from memory.recall.timewords import MONTHS

# the separator in `1,000`
_THOUSANDS = re.compile(r"(?<=\d)[,_\u2009\u202f'](?=\d{3}(?!\d))")
_CONFUSABLE = {
    ord(c): to
    for to, group in (
        ("/", "\u2044\u2215\u29f8\u2571"),
        ("-", "\u2010\u2011\u2212\ufe63\uff0d"),
        (":", "\u2236\ua789"),
    )
    for c in group
}
# Code in one to three backticks: `(`+)(.+?)\1` is cubic on a run of backticks.
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_QUOTATION = re.compile(  # in the quotation marks of several languages
    "|".join(
        (
            r'"([^"\n]{5,600})"',
            r"(?<![\w'])'([^'\n]{5,600}(?:'\w[^'\n]{0,300}){0,4})'(?!\w)",
            "\u201c([^\u201c\u201d\n]{5,600})\u201d",
            "\u201e([^\u201e\u201c\u201d\n]{5,600})[\u201c\u201d]",
            "\u2018([^\u2018\n]{5,600}?)\u2019(?!\\w)",
            "\u00ab([^\u00ab\u00bb\n]{5,600})\u00bb",
            "\u300c([^\u300c\u300d\n]{4,600})\u300d",
            "\u300e([^\u300e\u300f\n]{4,600})\u300f",
        )
    )
)
_ELLIPSIS = re.compile("(?<!\\s)\\s*(?:\u2026|\\.\\.\\.|\\[\u2026\\])\\s*")
# characters without blanks, quotes, brackets; in ASCII, then in any script
_RUN = re.compile("[^\\s\x80-\U0010ffff\"'`()\\[\\]{}<>,;|*]+")
_MIXED = re.compile(r"[^\s\"'`()\[\]{}<>,;|*]+")
_WIDE_PATH = re.compile(
    r"(?<![\w./~-])[A-Za-z0-9_.~-]{0,200}/[\w./~-]{1,200}\.[A-Za-z0-9]{1,5}(?![A-Za-z0-9])"
)
_CALL = re.compile(r"([A-Za-z_]\w{1,80})\((?!s\))", re.ASCII)
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_MARKUP = re.compile(  # a link's target, a tag, JSON, a role such as `system:`
    "\\]\\([^)\\s]{0,500}\\)?|[<\u2039]/?[A-Za-z!?][^<>\n]{0,300}>|</?[A-Za-z][\\w-]{2,40}\\b|"
    '\\{\\s{0,80}"[^\n]{0,60}|'
    r"^[^\S\n]{0,80}(?:system|assistant|user|human|developer)[^\S\n]{0,80}:",
    re.MULTILINE | re.IGNORECASE,
)
_TAKEOVER = (
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:instructions?|prompts?|rules?"
    r"|guidelines?|context|above)\b|\b(?:system prompt|jailbreak|developer mode)\b"
    r"|\bdo\s+not\s+(?:tell|mention|reveal)\b|\b(?:ignoriere|vergiss"
    r"|missachte)\b[^.\n]{0,40}\b(?:anweisung\w*|regeln?)\b|"
    "(?:이전|위)\\s?지시[^.\n]{0,20}무시|以前の指示[^.\n]{0,10}無視|忽略[^\u3002\n]{0,12}指令"
)
_READER_ORDER = re.compile(
    r"\byou\s+(?:must|should|shall|have to|need to|are now|will now)\b[^.\n]{0,30}|"
    # `Please` within a sentence is a name, as in `Release Please`
    r"\b(?-i:please|PLEASE|(?<!\w\s)Please)\s+[a-z]+\b[^.\n]{0,30}|"
    r"\bthe\s+(?:assistant|model|agent|reader)\s+"
    r"(?:must|should|shall|has to|needs to)\b[^.\n]{0,30}|" + _TAKEOVER,
    re.IGNORECASE,
)
_HASH = re.compile(r"(?=[0-9a-f]{0,80}[a-f])[0-9a-f]{7,64}")
_NUMBER = re.compile(r"[+-]?(\d[\d.:-]*)([A-Za-z]{1,3})?%?")
_IDENTIFIER = re.compile(  # options, snake_case, camelCase, `a::b`, `$VAR`, `x.py`, ERRNO names
    r"--[A-Za-z].*|-[A-Za-z]{1,3}|.*[A-Za-z0-9]_.*|.*_[A-Za-z0-9].*|.*[a-z][A-Z].*|.*::.*"
    r"|\$[A-Za-z].*|.*[A-Za-z]\d.*|.*\d[A-Za-z].*|.*[A-Za-z0-9)]\.[A-Za-z].*|\.[A-Za-z].*"
    r"|.*\\[A-Za-z].*|[A-Z]{5,}|E[A-Z]{2,}|SIG[A-Z]+|[A-Z][a-z]+file",
    re.ASCII,
)
_DIGITS = re.compile(r"\d(?:[\d.]*\d)?")
_PLAIN_WORDS = frozenset(  # look technical and are not
    "and/or i/o input/output read/write client/server ci/cd tcp/ip n/a yes/no on/off und/oder "
    "request/response before/after e.g i.e z.b d.h u.a a.m p.m https ascii posix".split()
)
# scripts whose letters pass for Latin ones
_LOOKALIKE_SCRIPTS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")

_UNITS = {
    name: unit
    for unit, names in {
        "s": "s sec secs second seconds sekunde sekunden 초 秒",
        "ms": "ms msec millisecond milliseconds millisekunde millisekunden 밀리초 ミリ秒 毫秒",
        "us": "us µs μs microsecond microseconds mikrosekunden 마이크로초 マイクロ秒 微秒",
        "ns": "ns nanosecond nanoseconds nanosekunden",
        "min": "min mins minute minutes minuten 분 分 分間 分钟 分鐘",
        "h": "h hr hrs hour hours stunde stunden 시간 時間 时间 小时 小時",
        "d": "d day days tag tage tagen 일 日 日間 天",
        "w": "week weeks woche wochen 주 週間 週 周",
        "mo": "month months monat monate monaten 개월 か月 ヶ月 个月 個月",
        "y": "year years jahr jahre jahren 년 年",
        "B": "b byte bytes 바이트 バイト 字节",
        "KB": "kb kib kilobyte kilobytes",
        "MB": "mb mib megabyte megabytes 메가바이트 メガバイト",
        "GB": "gb gib gigabyte gigabytes 기가바이트 ギガバイト",
        "TB": "tb tib terabyte terabytes",
        "%": "% percent prozent 퍼센트 パーセント",
    }.items()
    for name in names.split()
}
_COUNTABLE = frozenset(
    "retry request call time user file test line token record worker row error attempt commit item "
    "job process thread connection query session client server page point dollar euro".split()
)
_BY_LENGTH = "|".join(re.escape(name) for name in sorted(_UNITS, key=len, reverse=True))
_MEASURE = re.compile(  # a number with a unit, or with a noun
    r"(?<![\w.])(\d{1,80}(?:\.\d{1,80})?)[`*]{0,3}[ \u00a0-]?"
    r"(?:(%s)(?![A-Za-z])|([A-Za-z]{3,12})\b)" % _BY_LENGTH,
    re.IGNORECASE,
)
_SPELLINGS = {
    digits: words
    for digits, *words in map(
        str.split,
        (
            "2 two zwei, 3 three drei, 4 four vier, 5 five fünf, 6 six sechs, 7 seven sieben, "
            "8 eight acht, 9 nine neun, 10 ten zehn, 11 eleven elf, 12 twelve zwölf, "
            "15 fifteen fünfzehn, 20 twenty zwanzig, 30 thirty dreißig, 40 forty vierzig, "
            "50 fifty fünfzig, 60 sixty sechzig, 70 seventy siebzig, 80 eighty achtzig, "
            "90 ninety neunzig, 100 hundred hundert, 1000 thousand tausend"
        ).split(","),
    )
}
_NUMBER_WORDS = {word: digits for digits, words in _SPELLINGS.items() for word in words}
_UNIT_PATTERNS = {
    unit: "|".join(re.escape(name) for name, known in _UNITS.items() if known == unit)
    for unit in _UNITS.values()
}
_NUMBER_WORD = re.compile(r"(?<!\w)(%s)(?!\w)" % "|".join(_NUMBER_WORDS), re.IGNORECASE)
_WRITTEN_DATE = re.compile(  # `21st November 2026`, `Nov 21`, `11月21日`
    r"(?<!\w)(?:(\d{1,2})(?:st|nd|rd|th|\.)?\s+(%(m)s)|(%(m)s)\.?\s+(\d{1,2})(?:st|nd|rd"
    r"|th)?)(?![\w:])(?:,?\s+(\d{4})(?!\d))?|"
    "(?:(\\d{4})[年년]\\s?)?(\\d{1,2})[月월]\\s?(\\d{1,2})[日일]"
    % {"m": "|".join(name.title() for name in sorted(MONTHS, key=len, reverse=True))}
)
_ISO_DATE = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")

# Fractions and counts in words: as a statement says them, and their forms in a record.
_FRACTIONS = tuple(
    (re.compile(r"(?i)(?<![\w-])(?:%s)(?![\w-])" % said), re.compile("(?i)(?:%s)" % same))
    for said, same in (
        ("half(?: of)?|die hälfte", r"\bhal(?:f|ves|ved|b\w*)\b|hälfte|50 ?%|1/2|절반|半"),
        ("(?:a|one|three) quarters?(?: of)?|ein viertel", r"\bquarters?\b|viertel|[27]5 ?%|[13]/4"),
        ("(?:a|one|several|two) dozens?|ein dutzend", r"\bdozens?\b|dutzend|\b(?:12|24|twelve)\b"),
    )
)
_INCREASE, _DECREASE = (
    re.compile(r"(?i)(?:%s)" % words)
    for words in (
        r"\brose\b|\bris(?:e|es|ing|en)\b|increas|\bgr[eo]w|\brais(?:e|ing)|climb|upgrad|went up"
        r"|\bup (?:to|by|from)\b|\bbump|gestiegen|erhöht|증가|올[리랐]|上が|増|上げ|提高",
        r"\bfell\b|\bfall(?:s|en|ing)?\b|decreas|\bdropp?(?:ed|s|ing)? (?:to|by|from)\b"
        r"|\bshr[aiu]nk|\blower|reduc|downgrad|went down|\bdown (?:to|by|from)\b|\bcut (?:to|by"
        r"|from)\b|gesunken|gesenkt|감소|줄|減|下が|下げ|降低",
    )
)
_RANGE = re.compile(r"(?i)\b(?:from|von) (\d[\w.%]*) (?:to|auf|bis) (\d[\w.%]*)")
_SENTENCES = re.compile(r"(?<=[.!?;。！？])\s|\n")
_PRICE = re.compile(r"[$€£¥₩]\s?\d[\d.]*")
_DECISION = re.compile(r"(?i)\bdeci(?:ded|sion was)\s+(?:(?:not\s+)?to|against)\s+([a-z]{3,})")


def is_takeover(text: str) -> bool:
    """Tell whether a text orders its reader to drop other instructions."""
    return bool(re.search(_TAKEOVER, text, re.IGNORECASE))


class Proof:
    """The text of records, prepared to look up a statement's words."""

    def __init__(self, value: str):
        self.plain = _normalise(value)
        self.lower = self.plain.casefold()
        self.spaced = " ".join(self.plain.split())
        self.bare = self.spaced.translate({ord("`"): None, ord("*"): None})
        self.quiet = _normalise_quote(self.spaced)
        self.measures: dict[tuple[str, str], bool] = {}
        self.days = {match.groups() for match in _ISO_DATE.finditer(self.plain)} | {
            day for _, day in _parse_dates(self.plain)
        }

    def find_unproven(self, said: str) -> str:
        """Find a statement's first unproven technical word, or ""."""
        return next(self._find_all(_normalise(said)), "")

    def _find_all(self, said: str) -> Iterator[str]:
        """Yield the unproven parts of a normalised statement."""
        yield from self._find_code(said)
        yield from self._find_markup(said)
        yield from self._find_quotes(said)
        said = _CODE.sub(" ", said)
        yield from self._find_claims(said)
        yield from self._find_changes(said)
        yield from self._find_names(said)
        yield from self._find_dates(said)
        yield from self._find_measures(said)
        for match in _NUMBER_WORD.finditer(said):
            number = match[0].casefold()
            if number != "two" and not self._has_number(_NUMBER_WORDS[number]):
                yield match[0]
        for run in _RUN.findall(_WRITTEN_DATE.sub(" ", said)):
            yield from (word for word in _split_run(run) if not self.proves(word))

    def proves(self, word: str) -> bool:
        """Tell whether a word occurs in the records or needs no proof."""
        number = _NUMBER.fullmatch(word)
        if (len(word) < 2 and not number) or word.lower() in _PLAIN_WORDS:
            return True
        if "/" in word.strip("/"):
            return _occurs(word.rstrip("/"), self.plain, "w.-", "w-.")
        if _HASH.fullmatch(word):
            return _occurs(word, self.plain, "w", "")
        if number:
            # `3x`, `2nd`: no number of its own
            if number[2] and number[2].casefold() not in _UNITS:
                return _occurs(word.lstrip("+-"), self.plain, "w", "w")
            return self._has_number(number[1].rstrip(".:-"))
        if not _IDENTIFIER.fullmatch(word):
            return all(self._has_number(digits) for digits in _DIGITS.findall(word))
        return self._has_identifier(word)

    def _has_identifier(self, word: str) -> bool:
        """Tell whether an identifier occurs in the records."""
        border = "w-" if word[0] == "-" else "w"
        return (
            _occurs(word, self.plain, border, border)
            or _occurs(word[0].lower() + word[1:], self.plain, border, border)
            or (word.isalpha() and _occurs(word.casefold(), self.lower, "w", "w"))
        )

    def _has_number(self, digits: str) -> bool:
        if digits in ("0", "1") or _occurs(digits, self.plain, "w", "u"):
            return True
        return any(_occurs(word, self.lower, "w", "w") for word in _SPELLINGS.get(digits, ()))

    def _find_code(self, said: str) -> Iterator[str]:
        """Yield code that no record holds literally."""
        for match in _CODE.finditer(said):
            lines = match[2].split("\n")
            for line in lines[1:] or lines:  # the first line of a block names the language
                quoted = " ".join(line.split())
                if quoted and not _occurs(quoted, self.spaced, "w", "w"):
                    yield quoted
        rest = _CODE.sub(" ", said)
        if "```" in rest or "~~~" in rest:
            yield "```"

    def _find_markup(self, said: str) -> Iterator[str]:
        """Yield markup and orders to a reader that no record holds."""
        for match in (*_MARKUP.finditer(said), *_READER_ORDER.finditer(said)):
            words = " ".join(match[0].split())
            if words.casefold() not in self.spaced.casefold():
                yield words

    def _find_quotes(self, said: str) -> Iterator[str]:
        """Yield long quotations that no record holds."""
        for match in _QUOTATION.finditer(_CODE.sub(lambda code: code[2], said)):
            quoted = next(group for group in match.groups() if group)
            for part in _ELLIPSIS.split(quoted):
                wide = sum(ord(c) >= 0x1100 for c in part)  # letters of CJK
                is_long = len(part.split()) >= 3 or wide >= 6
                text = _normalise_quote(part).strip(" .,;:!?\u3002\u3001")
                if is_long and not _occurs(text, self.quiet, "w", "w"):
                    yield " ".join(quoted.split())

    def _find_claims(self, said: str) -> Iterator[str]:
        """Yield unproven prices, decisions and fractions."""
        for match in _PRICE.finditer(said):
            if "".join(match[0].split()) not in self.plain:
                yield match[0]
        for match in _DECISION.finditer(said):
            if match[1].casefold()[: max(3, len(match[1]) - 2)] not in self.lower:
                yield match[0]
        for words, same in _FRACTIONS:
            fraction = words.search(said)
            if fraction and not same.search(self.lower):
                yield fraction[0]

    def _find_changes(self, said: str) -> Iterator[str]:
        """Yield ranges and changes that the records tell the other way round."""
        for match in _RANGE.finditer(said):
            first, last = (part.rstrip(".") for part in match.groups())
            if self._has_order(last, first) and not self._has_order(first, last):
                yield match[0]
        up, down = _INCREASE.search(said), _DECREASE.search(said)
        if up and not down and self._is_reversed(said, _INCREASE, _DECREASE):
            yield up[0]
        if down and not up and self._is_reversed(said, _DECREASE, _INCREASE):
            yield down[0]

    def _has_order(self, first: str, second: str) -> bool:
        """Tell whether the records hold two numbers in this order."""
        order = r"%s\W+(?:\w+ ){0,2}?%s" % (re.escape(first), re.escape(second))
        return bool(re.search(order, self.spaced))

    def _is_reversed(self, said: str, same: re.Pattern[str], other: re.Pattern[str]) -> bool:
        """Tell whether the records give a statement's numbers another direction."""
        numbers = _DIGITS.findall(said)
        about = [
            part
            for part in _SENTENCES.split(self.plain)
            if any(_occurs(n, part, "w", "u") for n in numbers)
        ]
        if any(same.search(part) for part in about):
            return False
        return any(map(other.search, about)) if about else not same.search(self.plain)

    def _find_names(self, said: str) -> Iterator[str]:
        """Yield unproven paths, calls and words of mixed scripts."""
        for path in _WIDE_PATH.findall(said):
            if not path.isascii() and not _occurs(path, self.plain, "w.-", "w-"):
                yield path
        for name in _CALL.findall(said):
            if not _occurs(name, self.plain, "w", "w"):
                yield name + "()"
        for word in () if said.isascii() else _MIXED.findall(said):
            if _mixes_scripts(word) and word not in self.plain:
                yield word

    def _find_dates(self, said: str) -> Iterator[str]:
        """Yield dates that no record holds."""
        for words, day in _parse_dates(said):
            if not any(day[1:] == known[1:] and day[0] in ("", known[0]) for known in self.days):
                yield words

    def _find_measures(self, said: str) -> Iterator[str]:
        """Yield numbers with a unit or noun that no record holds."""
        for match in _MEASURE.finditer(said):
            unit = _UNITS.get((match[2] or "").casefold())
            noun = _singularise(match[3] or "")
            if unit or noun in _COUNTABLE:
                measure = (match[1], unit or noun)
                if measure not in self.measures:
                    self.measures[measure] = (
                        self._has_measure(*measure) if unit else not self._has_other_units(*measure)
                    )
                if not self.measures[measure]:
                    yield match[0]

    def _has_measure(self, digits: str, unit: str) -> bool:
        """Tell whether the records hold a number with a unit."""
        numbers = "|".join([r"(?<![\d.])" + re.escape(digits), *_SPELLINGS.get(digits, ())])
        pattern = r"(?<![A-Za-z])(?:%s)[ \u00a0-]?(?:%s)(?![A-Za-z])"
        pattern %= numbers, _UNIT_PATTERNS[unit]
        return re.search(pattern, self.bare, re.IGNORECASE) is not None

    def _has_other_units(self, digits: str, counted: str) -> bool:
        """Tell whether the records give a number only to other units or nouns."""
        after = re.findall(
            r"(?<![\d.])%s(?![\d.]*\d)[ \u00a0-]?(?:(%s)(?![A-Za-z])|([A-Za-z]{3,12}))?"
            % (re.escape(digits), _BY_LENGTH),
            self.bare,
            re.IGNORECASE,
        )
        return bool(after) and all(
            unit or (_singularise(noun) in _COUNTABLE and _singularise(noun) != counted)
            for unit, noun in after
        )


# --- Forms of the same


def _normalise(value: str) -> str:
    """Normalise compatible characters, digits and separators."""
    if not value.isascii():
        value = unicodedata.normalize("NFKC", value).translate(_CONFUSABLE)
        value = _FOREIGN_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), value)
    return _THOUSANDS.sub("", value)


def _normalise_quote(value: str) -> str:
    """Normalise case, blanks and quotation marks to compare quotes."""
    marks = {
        **dict.fromkeys(map(ord, "`*"), None),
        **dict.fromkeys(map(ord, '\u2018\u2019\u201c\u201d\u201e"'), "'"),
    }
    return " ".join(value.translate(marks).casefold().split())


def _parse_dates(value: str) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield (words, (year or "", month, day)) of written-out dates."""
    for match in _WRITTEN_DATE.finditer(value):
        first, month, named, second, year, wide_year, wide_month, wide_day = match.groups()
        day = first or second or wide_day
        number = int(wide_month) if wide_month else MONTHS[(month or named).casefold()]
        yield match[0], (year or wide_year or "", "%02d" % number, "%02d" % int(day))


def _singularise(noun: str) -> str:
    """Return the singular of an English noun."""
    noun = noun.casefold()
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def _mixes_scripts(word: str) -> bool:
    """Tell whether a word mixes Latin letters with look-alikes of other scripts."""
    if word.isascii() or not any("a" <= c <= "z" for c in word.lower()):
        return False
    return any(
        unicodedata.name(c, "").startswith(_LOOKALIKE_SCRIPTS)
        for c in word
        if not c.isascii() and c not in "µμ"
    )


def _split_run(run: str) -> list[str]:
    """Cut a run of characters into words."""
    run = run.rstrip(".:!?=&").lstrip("#~:=&@+")
    if "://" in run or "::" in run:
        return [run]
    if _NUMBER.fullmatch(run):
        return [run]
    return [piece.rstrip(".!?") for part in run.split("=") for piece in part.split(":") if piece]


# --- Borders


def _occurs(word: str, within: str, left: str, right: str) -> bool:
    """Tell whether a word occurs in a text as a whole.

    left, right: characters that continue the word there and so exclude a match: `w` letters, digits
    and `_`; `-`; `.`; on the right also `u`, all but a short unit.
    """
    before, after = _compile_borders(word[0], word[-1], left, right)
    at = within.find(word)
    while at >= 0:
        if not before.search(within[max(at - 2, 0) : at]) and not after.match(
            within, at + len(word)
        ):
            return True
        at = within.find(word, at + 1)
    return False


# a character that continues a word, by the mark of a rule
_BEFORE = {"w": r"\w", "-": "-", ".": r"\."}
_BEHIND = {"w": r"\w", "-": "-", ".": r"\.\w", "u": r"\w{4}|\w{0,3}\d|[.,]\d"}
_NEVER = "(?!)"  # matches nothing


@lru_cache(1024)
def _compile_borders(
    first: str, last: str, left: str, right: str
) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two patterns: characters that continue a word before and behind.

    first, last: the word's own characters. left, right: as of `_occurs`.
    """
    before = [_BEFORE[mark] for mark in left if mark != "w" or _is_word_char(first)]
    if first == "/" and "." in left:  # the rest of a relative path is no absolute one
        before = [r"[\w.~-]"]
    if first.isdigit():
        before.append(r"\d[.,-]")
    behind = [_BEHIND[mark] for mark in right if mark != "w" or _is_word_char(last)]
    return (
        re.compile(r"(?:%s)\Z" % "|".join([_NEVER, *before]), re.ASCII),
        re.compile("|".join([_NEVER, *behind]), re.ASCII),
    )


def _is_word_char(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")
