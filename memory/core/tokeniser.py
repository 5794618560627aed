"""The tokeniser that everything comparing text shares: words, identifiers, paths, Hangul and CJK
bigrams, light stemming.

Two steps.  `split` cuts text into raw tokens with one `str.translate` and one `str.split`, both in
C: letters, digits and `_ - . /` stay together.  `expand` turns one raw token into its terms; a
builder calls it once per distinct raw token, so what it does in Python is paid per vocabulary entry
and not per word.

    getUserToken, get_user_token   getusertoken + get, user, token
    netcdf4, HNF4A                 themselves + netcdf, 4; hnf, 4
    no-cache                       no, cache + nocache
    src/auth/jwt.py                src, auth, jwt, py + jwt.py
    DataArray.to_dataset           dataarray, todataset + data, arrai, dataset
    1.5, b6fd487                   themselves
    v2.1.0, py3.11                 2.1.0 + v2; py3, 11, py3.11 + py, 3, 3.11
    버튼을                          버튼을 + 버튼, 튼을 + 버, 튼, 을 (so that 버튼이 meets it)
    Größe, Café, TNFα              diacritics folded: gross, cafe; tnfα + tnf
    сервиса                        сервиса + серви     (so that сервис, сервиса and сервисом meet)

Beside it what they share in reading markdown: which lines are code, which are headings.

Weights are those of a query: 1 for words and identifiers, PART for the parts of an identifier, a
file's name and single syllables of Hangul, LONE for other single CJK characters, ENDING for
hiragana, JOINED for a word that hyphens make (evals/README.md has the ablation).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Tuple

    Terms = Tuple[Tuple[str, float], ...]

VERSION = 12  # stands in every index: a change of what comes out here makes old indexes stale

STOP = frozenset(
    "a an the and or but of at by for with about into to from in on again further is am are was "
    "were be been being have has had having do does did doing will would shall should can could "
    "may might must i me my mine we us our you your he him his she her it its they them their this "
    "that these those there here what which who whom whose when where why how nor so than too very "
    "s t just don now as any some all each both more most other such only own same get got "
    "let ve ll re d m please".split()
)

# Stems of words that say what to do, not what about: of chores, and of everyday speech.
COMMON = frozenset(
    "fix add chang updat make run test file code function method class work us creat implement "
    "write check look try show help need want explain continu go ye yeah ok okai thank good great "
    "next step remov delet move renam line error issu bug problem todo thing wai new also still "
    "again first last on two sure right start stop keep put let see know think mean find read open "
    "set build commit push pull branch merg review refactor clean improv support handl call return "
    "valu name type data list user time dai project repo app thi that bump version main master pr "
    "rebas revert undo diff lint format readm doc document comment skip option second third doubl "
    "instead summari tag releas come back turn take took long live like never seen almost up far "
    "insid sinc stai until hand singl wrong alreadi alwai anoth aw awai becaus befor behav better "
    "bring broken care case cannot current differ either els enough even ever everi exact exactli "
    "expect extra few fewer final full given happen hear hold idea itself kind later least leav "
    "less littl lot mani mayb might much near noth notic often onc onli otherwis outsid part "
    "perhap place point possibl quit rather real realli recent seem sever simpl simpli someth "
    "sometim soon tell though togeth total toward tri twice usual veri wait walk whether while "
    "whole wish within without wonder wors yet across allow alon along answer appear around ask "
    "base behavior behaviour bit choos claim clear close complet consid convert correct cut detail "
    "easi easier end etc everywher exist explicit fail fine follow give goe gone guess half hope "
    "immedi includ intend involv left lose lost miss nice obviou old pick pleas prefer produc "
    "proper properli quick quickli refer remain replac requir result sai send sent sort suggest "
    "suppos understand whatev whenev wherev if then not no between after through dure under "
    "over against off out".split()
)

PART, JOINED, LONE, ENDING = 0.5, 0.1, 0.25, 0.1
# characters of a term: longer ones are base64, minified code, hashes of hashes, or paths, found by
# their parts
LONGEST = 64
BEGINNING = 5  # letters of a word in a script with no stemmer here, by which its forms meet
_EDGE = "-./_"
_JOINTS = dict.fromkeys(map(ord, "-./"), " ")
_SHAPES = {
    **dict.fromkeys(range(65, 91), "U"),
    **dict.fromkeys(range(97, 123), "l"),
    **dict.fromkeys(range(48, 58), "d"),
}
_NUMBERS = {code: " " for code in range(128) if chr(code) not in ".0123456789"}
_HEX = frozenset("0123456789abcdef")
HASH = 7  # characters from which hexadecimal digits of both kinds are a hash, and stay whole
_EXTENSION = 5  # characters of a file's extension at the most


class Table(dict[int, str]):
    """A `str.translate` table that learns each character once.

    Letters and digits stay, the rest becomes a space.  A process keeps one table for all its texts.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        keep = char.isalnum() or char in "_-./" or 0x300 <= code < 0x370
        self[code] = char if keep else " "
        return self[code]


_SEEN = Table()


def compose(text: str) -> str:
    """Return a name in NFC; macOS takes file names apart (NFD)."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFC", text)


def split(text: str, table: Table = _SEEN) -> List[str]:
    """Return the raw tokens of a text, in order, case kept."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFKC", text)
    # A full stop that ends a word goes here and not in `expand`: without it a vocabulary is a third
    # larger.
    return text.translate(table).replace(". ", " ").split()


def expand(
    raw: str, stop: FrozenSet[str] = STOP, stems: Optional[Callable[[str], str]] = None
) -> Terms:
    """Return the (term, weight) pairs of a raw token, () for noise.

    stop: words to leave out.  stems: a remembering `stem`, for builders.
    """
    stems = stems or stem
    word = raw.strip(_EDGE)
    if word.isascii():
        if word.isalpha():
            low = word.lower()
            if low == word or len(word) == 1 or word.isupper() or word[1:].islower():
                return () if low in stop or len(word) > LONGEST else ((stems(low), 1.0),)
        elif word.isdigit():
            return ((word, 1.0),) if len(word) <= LONGEST else ()
    if "-" in word or "." in word or "/" in word:
        return _expand_compound(word, stop, stems)
    found: Dict[str, float] = {}
    _add_identifier_terms(word, stop, stems, found)
    return tuple(found.items())


def index_terms(text: str) -> List[str]:
    return [term for raw in split(text) for term, _ in expand(raw)]


def query_terms(query: str) -> List[Tuple[str, float]]:
    """Return the distinct terms of a query with their weights, in order.

    Stop words count where nothing else is left.
    """
    found: Dict[str, float] = {}
    raws = split(query)
    for stop in (STOP, frozenset()):
        for raw in raws:
            for term, weight in expand(raw, stop):
                if weight > found.get(term, 0.0):
                    found[term] = weight
        if found:
            break
    return list(found.items())


def without_loose(terms: List[Tuple[str, float]]) -> List[Tuple[str, float]]:
    """Return a query's terms without loose ones, unless all are."""
    return [each for each in terms if not is_loose(each[0])] or terms


def is_hash(term: str) -> bool:
    """Tell whether a term is a commit's hash, or how one begins."""
    return len(term) >= HASH and _HEX.issuperset(term) and not (term.isalpha() or term.isdigit())


def is_loose(term: str) -> bool:
    """Tell whether a term is Hangul other than a bigram.

    In a query the bigrams of a run say the same, without the accidents of a syllable in many words
    or a rare particle.
    """
    return len(term) != 2 and all(map(is_hangul, term))


def is_hangul(char: str) -> bool:
    """Tell whether a character is a whole Hangul syllable."""
    return "\uac00" <= char <= "\ud7a3"


def _expand_compound(word: str, stop: FrozenSet[str], stems: Callable[[str], str]) -> Terms:
    """Return the terms of words joined by hyphens, points or slashes."""
    low = word.lower()
    pieces = word.translate(_JOINTS).split()
    number = low.lstrip("v.")
    if number.replace(".", "").isdigit():  # a version
        return ((number, 1.0),) if low[0] != "v" else ((number, 1.0), (pieces[0].lower(), JOINED))
    found: Dict[str, float] = {}
    if len(word) <= LONGEST or not _is_base64(pieces):
        for piece in pieces:
            _add_identifier_terms(piece, stop, stems, found)
        joined, weight = _join_compound(low)
        if joined and len(joined) <= LONGEST:
            found.setdefault(joined, weight)
        for number in low.translate(_NUMBERS).split() if "." in low else ():
            if "." in number.strip("."):  # as in py3.11.4
                found.setdefault(number.strip("."), PART)
    return tuple(found.items())


def _is_base64(pieces: List[str]) -> bool:
    """Tell whether a long word looks like base64 rather than a path."""
    mixed = [p for p in pieces if not (p.isalpha() or p.islower() or p.isupper() or p.isdigit())]
    return len(pieces) <= max(1, 4 * len(mixed))


def _join_compound(low: str) -> Tuple[str, float]:
    """Return (a compound as one word or "", its weight)."""
    file = low.rpartition("/")[2].strip("_")
    point = file.rfind(".")
    if point >= 0:
        return (file if 1 <= len(file) - 1 - point <= _EXTENSION else ""), PART
    if "/" in low or not low.isascii():
        return "", PART
    return low.replace("-", ""), JOINED


def _add_identifier_terms(
    word: str, stop: FrozenSet[str], stems: Callable[[str], str], found: Dict[str, float]
) -> None:
    if not word.isascii():
        for term, weight in _non_ascii_terms(word, stop, stems):
            if weight > found.get(term, 0.0):
                found[term] = weight
        return
    if len(word) > LONGEST:
        return
    low = word.lower()
    if word.isalpha() and (low == word or word.isupper() or word[1:].islower()):
        if low not in stop:
            found[stems(low)] = 1.0
        return
    found[low.replace("_", "")] = 1.0
    for piece in word.split("_"):
        parts, is_inner = _split_identifier(piece), len(piece) < len(word)
        if len(parts) == 1 and not is_inner:
            continue
        if len(parts) > 1 and is_inner:
            found.setdefault(piece.lower(), PART)
        for part in map(str.lower, parts):
            if part not in stop and (len(part) > 1 or part.isdigit()):
                found.setdefault(stems(part), PART)


def _split_identifier(piece: str) -> List[str]:
    """Split a word at camelCase borders and between letters and digits."""
    shape = piece.translate(_SHAPES)
    if "U" not in shape[1:] and "d" not in shape or piece.isdigit():
        return [piece] if piece else []
    if shape.count("d") > 1 and is_hash(piece.lower()):
        return [piece]
    parts: List[str] = []
    start = 0
    for i in range(1, len(piece)):
        # at aB, a1 and 1a, and within ABCd before Cd
        a, b = shape[i - 1], shape[i]
        if a != b and (a == "d" or b != "l") or (a == b == "U" and shape[i + 1 : i + 2] == "l"):
            parts.append(piece[start:i])
            start = i
    parts.append(piece[start:])
    return parts


def _non_ascii_terms(word: str, stop: FrozenSet[str], stems: Callable[[str], str]) -> Terms:
    found: Dict[str, float] = {}
    start, kind = 0, is_cjk(word[0])
    for i in range(1, len(word) + 1):
        if i < len(word) and is_cjk(word[i]) == kind:
            continue
        run = word[start:i]
        for term, weight in _expand_cjk(run) if kind else _expand_folded(run, stop, stems):
            found.setdefault(term, weight)
        if i < len(word):
            start, kind = i, not kind
    return tuple(found.items())


def is_cjk(char: str) -> bool:
    """Tell whether a character is kana, Han or Hangul."""
    code = ord(char)
    return (
        0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7A3
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF
        or 0x1100 <= code <= 0x11FF
    )


def has_cjk(text: str) -> bool:
    return not text.isascii() and any(map(is_cjk, text))


def _expand_cjk(run: str) -> Terms:
    if len(run) == 1:
        return ((run, 1.0),)
    found = [(pair, _hiragana_weight(pair)) for pair in map("".join, zip(run, run[1:]))]
    if 2 < len(run) <= 8:
        found.append((run, _hiragana_weight(run)))
    found.extend(
        (char, (PART if is_hangul(char) else LONE) * _hiragana_weight(char)) for char in run
    )
    return tuple(found)


def _hiragana_weight(run: str) -> float:
    return ENDING if all("\u3041" <= char <= "\u309f" for char in run) else 1.0


def _expand_folded(run: str, stop: FrozenSet[str], stems: Callable[[str], str]) -> Terms:
    """Return the terms of a run without CJK, diacritics removed."""
    from unicodedata import combining, normalize

    plain = "".join(c for c in normalize("NFD", run.replace("ß", "ss")) if not combining(c))
    if plain.isascii():
        return expand(plain, stop, stems)
    low = normalize("NFC", plain).lower().strip(_EDGE)
    found = {low: 1.0} if 0 < len(low) <= LONGEST else {}
    if len(low) > BEGINNING and low.isalpha() and not any(map(str.isascii, low)):
        found[low[:BEGINNING]] = PART
    for piece in "".join(c if c.isascii() else " " for c in plain).split():
        for term, weight in expand(piece, stop, stems):
            found.setdefault(term, weight * PART)
    return tuple(found.items())


def count_tokens(text: str | bytes) -> int:
    """Estimate a text's tokens: UTF-8 bytes over four, rounded up."""
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "replace"))
    return (size + 3) // 4


def count_utf16(text: str) -> int:
    """Count UTF-16 code units.

    The host's cap on a hook's output has this unit.
    """
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2


class Stems(dict[str, str]):
    """Map word -> stem, each computed once."""

    def __missing__(self, word: str) -> str:
        self[word] = found = stem(word)
        return found


_VOWELS = {ord(c): "v" if c in "aeiou" else "c" for c in "abcdefghijklmnopqrstuvwxyz"}
# Endings by the last two letters of the word: most words meet none, and one look-up says so.
_STEP2 = {
    "al": (("ational", "ate"), ("tional", "tion")),
    "ci": (("enci", "ence"), ("anci", "ance")),
    "er": (("izer", "ize"),),
    "li": (("abli", "able"), ("entli", "ent"), ("ousli", "ous"), ("alli", "al"), ("eli", "e")),
    "on": (("ization", "ize"), ("ation", "ate")),
    "or": (("ator", "ate"),),
    "sm": (("alism", "al"),),
    "ss": (("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous")),
    "ti": (("aliti", "al"), ("iviti", "ive"), ("biliti", "ble")),
}
_STEP3 = {
    "te": (("icate", "ic"),),
    "ve": (("ative", ""),),
    "ze": (("alize", "al"),),
    "ti": (("iciti", "ic"),),
    "al": (("ical", "ic"),),
    "ul": (("ful", ""),),
    "ss": (("ness", ""),),
}
_STEP4 = {
    "al": ("al",),
    "ce": ("ance", "ence"),
    "er": ("er",),
    "ic": ("ic",),
    "le": ("able", "ible"),
    "nt": ("ement", "ment", "ant", "ent"),
    "ou": ("ou",),
    "sm": ("ism",),
    "te": ("ate",),
    "ti": ("iti",),
    "us": ("ous",),
    "ve": ("ive",),
    "ze": ("ize",),
    "on": ("sion", "tion"),
}
_ENDINGS = frozenset("ed ng al ci er li on or sm ti ul ic nt ou ll".split())


def stem(word: str) -> str:
    """Return a lower-case ASCII word without its English ending.

    M. Porter, "An algorithm for suffix stripping", 1980.
    """
    # no step touches another ending
    if word[-1:] not in "sey" and word[-2:] not in _ENDINGS or len(word) < 3 or not word.isalpha():
        return word
    if word[-1] == "s":
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif word[-2] != "s":
            word = word[:-1]
    word = _porter_step_1b(word)
    if word[-1] == "y" and "v" in _vowel_pattern(word)[:-1]:
        word = word[:-1] + "i"
    return _porter_step_5(_porter_step_4(_porter_steps_2_and_3(word)))


def _porter_step_1b(word: str) -> str:
    """Strip -eed, -ed and -ing: Porter's step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word, 3) > 0 else word
    cut = 2 if word.endswith("ed") else 3 if word.endswith("ing") else 0
    if not cut or "v" not in _vowel_pattern(word)[:-cut]:
        return word
    return _restore_e(word[:-cut])


def _porter_steps_2_and_3(word: str) -> str:
    """Shorten endings such as -ational: Porter's steps 2 and 3."""
    for table in (_STEP2, _STEP3):
        for end, new in table.get(word[-2:], ()):
            if word.endswith(end):
                if _measure(word, len(end)) > 0:
                    word = word[: -len(end)] + new
                break
    return word


def _porter_step_4(word: str) -> str:
    """Strip an ending such as -ment from a long word: Porter's step 4."""
    for end in _STEP4.get(word[-2:], ()):
        if word.endswith(end):
            cut = 3 if end in ("sion", "tion") else len(end)
            return word[:-cut] if _measure(word, cut) > 1 else word
    return word


def _porter_step_5(word: str) -> str:
    """Strip a last -e and one of -ll: Porter's step 5."""
    if word[-1] == "e":
        m = _measure(word, 1)
        if m > 1 or (m == 1 and not _ends_cvc(word[:-1])):
            word = word[:-1]
    if word.endswith("ll") and _measure(word, 0) > 1:
        word = word[:-1]
    return word


def _restore_e(word: str) -> str:
    """Mend the end of a word that has lost -ed or -ing."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if (
        len(word) > 1
        and word[-1] == word[-2]
        and word[-1] not in "lsz"
        and _vowel_pattern(word)[-1] == "c"
    ):
        return word[:-1]
    return word + "e" if _measure(word, 0) == 1 and _ends_cvc(word) else word


def _vowel_pattern(word: str) -> str:
    """Return a word with `v` for its vowels, `c` for its consonants."""
    if "y" not in word:
        return word.translate(_VOWELS)
    out = ""
    for char in word:
        out += "v" if char in "aeiou" or (char == "y" and out and out[-1] == "c") else "c"
    return out


def _measure(word: str, cut: int) -> int:
    """Return Porter's m, the number of vowel-consonant sequences."""
    return _vowel_pattern(word[: len(word) - cut]).count("vc")


def _ends_cvc(word: str) -> bool:
    """Tell whether a word ends consonant-vowel-consonant (Porter's *o)."""
    return _vowel_pattern(word)[-3:] == "cvc" and word[-1] not in "wxy"


# ---- markdown


def mark_code(lines: Iterable[str]) -> Iterator[Tuple[str, bool]]:
    """Yield (line, whether it is fenced code); fences count as code."""
    fence = ""
    for line in lines:
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
            yield line, True
            continue
        if bare[:3] in ("```", "~~~"):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
            if "`" in bare[len(fence) :] and fence[0] == "`":  # code within one line
                fence = ""
        yield line, bool(fence)


def parse_heading(line: str) -> Tuple[int, str]:
    """Return (level from 1 to 6, text) of a heading.

    (0, "") for any other line.  The caller leaves out code.
    """
    level = len(line) - len(line.lstrip("#"))
    if 0 < level <= 6 and line[level : level + 1] in (" ", "\t"):
        return level, line[level:].strip().rstrip("#").strip()
    return 0, ""


def is_bold(line: str) -> bool:
    """Tell whether a whole line is bold; a colon may follow."""
    return line.startswith("**") and line.rstrip(":").endswith("**") and line.count("**") == 2
