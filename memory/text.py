"""The tokeniser that everything comparing text shares: words, identifiers, paths, Hangul and CJK bigrams, light stemming.

Two steps.  `split` cuts text into raw tokens with one `str.translate` and one `str.split`, both in C: letters, digits and
`_ - . /` stay together.  `expand` turns one raw token into its terms; a builder calls it once per distinct raw token, so
what it does in Python is paid per vocabulary entry and not per word.

    getUserToken, get_user_token   getusertoken + get, user, token
    src/auth/jwt.py                src/auth/jwt.py + jwt.py, src, auth, jwt, py
    --no-cache                     nocache + cache
    E0382, v2.1.0, b6fd487         themselves
    버튼을                          버튼을 + 버튼, 튼을 + 버, 튼, 을     (so that 버튼, 버튼을 and 버튼이 meet)
    Größe, Café                    diacritics folded: gross, cafe

Weights are those of a query: 1 for words and wholes, 0.5 for parts and single CJK characters (ablation in docs/design.md).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, FrozenSet, List, Optional, Tuple

    Terms = Tuple[Tuple[str, float], ...]

VERSION = 2  # stands in every index: a change of what comes out here makes old indexes stale

STOP = frozenset(
    "a an the and or but if then else of at by for with about against between into through during before after to from in "
    "out on off over under again further is am are was were be been being have has had having do does did doing will would "
    "shall should can could may might must i me my mine we us our you your he him his she her it its they them their this "
    "that these those there here what which who whom whose when where why how not no nor so than too very s t just don now "
    "as any some all each both more most other such only own same get got let ve ll re d m please".split())

LONGEST = 64  # characters of a term: longer ones are base64, minified code, hashes of hashes, or paths, found by their parts
_EDGE = "-./_"
_JOINTS = dict.fromkeys(map(ord, _EDGE), " ")
_CASES = {**dict.fromkeys(range(65, 91), "U"), **dict.fromkeys(range(97, 123), "l")}  # upper, lower


class Table(dict[int, str]):
    """`str.translate` table that learns each character once: letters and digits stay, the rest becomes a space.

    A builder keeps one for all its texts.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        keep = char.isalnum() or char in "_-./" or 0x300 <= code < 0x370
        self[code] = char if keep else " "
        return self[code]


def split(text: str, table: Optional[Table] = None) -> List[str]:
    """Cut text into raw tokens, in order, with their case."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFKC", text)
    # A full stop that ends a word goes here and not in `expand`: without it a vocabulary is a third larger.
    return text.translate(Table() if table is None else table).replace(". ", " ").split()


def expand(raw: str, stop: FrozenSet[str] = STOP, stems: Optional[Callable[[str], str]] = None) -> Terms:
    """Turn a raw token into (term, weight) pairs; none for stop words and noise.

    stems: a remembering `stem`, for builders.
    """
    stems = stems or stem
    word = raw.strip(_EDGE)
    if not word.isascii():
        return _wide(word, stop, stems)
    if not word or len(word) > LONGEST:
        return _long(word, stop, stems)
    if word.isalpha():
        low = word.lower()
        if low == word or len(word) == 1 or word.isupper() or word[1:].islower():
            return () if low in stop else ((stems(low), 1.0),)
    elif word.isdigit():
        return ((word, 1.0),)
    return _identifier(word, stop, stems)


def tokens(text: str) -> List[str]:
    """Return the terms of a text as they are indexed."""
    return [term for raw in split(text) for term, _ in expand(raw)]


def terms(query: str) -> List[Tuple[str, float]]:
    """Return the distinct terms of a query with their weights, in order; stop words count where nothing else is left."""
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


def _identifier(word: str, stop: FrozenSet[str], stems: Callable[[str], str]) -> Terms:
    """Terms of a word that holds separators, digits or mixed case: the whole, then its parts."""
    low = word.lower()
    if "/" in word or "." in word:
        found = {low: 1.0}
        name = low.rpartition("/")[2]
        if "." in name:
            found.setdefault(name, 1.0)
        if low.replace(".", "").isdigit():
            return tuple(found.items())
    else:
        found = {low.replace("-", "").replace("_", ""): 1.0}
    pieces = word.translate(_JOINTS).split()
    for piece in pieces:
        if piece.islower() and piece.isalpha():
            if len(piece) > 1 and piece not in stop:
                found.setdefault(stems(piece), 0.5)
            continue
        parts = _camel(piece)
        if len(parts) > 1 and len(pieces) > 1:
            found.setdefault(piece.lower(), 0.5)
        for part in parts:
            head = part.rstrip("0123456789")
            part = (head if len(head) > 1 and head.isalpha() else part).lower()
            if len(part) > 1 and part not in stop:
                found.setdefault(stems(part), 0.5)
    return tuple(found.items())


def _long(word: str, stop: FrozenSet[str], stems: Callable[[str], str]) -> Terms:
    """Terms of what is too long for one: the parts of a path or name; none where they look like base64."""
    found: Dict[str, float] = {}
    pieces = word.translate(_JOINTS).split()
    odd = sum(not (piece.isalpha() or piece.islower() or piece.isupper() or piece.isdigit()) for piece in pieces)
    for piece in pieces if len(pieces) > max(1, 4 * odd) else ():
        if len(piece) <= LONGEST:
            for term, _ in expand(piece, stop, stems):
                found.setdefault(term, 0.5)
    name = word.rpartition("/")[2].lower()
    if found and "." in name and len(name) <= LONGEST:
        found[name] = 1.0
    return tuple(found.items())


def _camel(piece: str) -> List[str]:
    """Split at camelCase and letter-to-digit borders; a hash (hex digits of both kinds) stays whole."""
    if piece.islower() or piece.isupper() or piece.isdigit():
        if piece.isalpha() or len(piece) < 3:
            return [piece]
        head = piece.rstrip("0123456789")
        return [piece] if not head.isalpha() or len(head) < 2 else [head]
    parts: List[str] = []
    shape, start = piece.translate(_CASES), 0
    at = shape.find("U", 1)
    while at > 0:
        if shape[at - 1] != "U" or shape[at + 1:at + 2] == "l":
            parts.append(piece[start:at])
            start = at
        at = shape.find("U", at + 1)
    parts.append(piece[start:])
    return parts


def _wide(word: str, stop: FrozenSet[str], stems: Callable[[str], str]) -> Terms:
    """Terms of a word with characters beyond ASCII: CJK runs as surface, bigrams and characters; the rest folded."""
    found: Dict[str, float] = {}
    start, kind = 0, is_cjk(word[0])
    for i in range(1, len(word) + 1):
        if i < len(word) and is_cjk(word[i]) == kind:
            continue
        run = word[start:i]
        for term, weight in _cjk(run) if kind else _folded(run, stop, stems):
            found.setdefault(term, weight)
        if i < len(word):
            start, kind = i, not kind
    return tuple(found.items())


def is_cjk(char: str) -> bool:
    """Tell whether a character is written without spaces or takes particles: kana, Han, Hangul."""
    code = ord(char)
    return (0x3040 <= code <= 0x30ff or 0x3400 <= code <= 0x9fff or 0xac00 <= code <= 0xd7a3
            or 0xf900 <= code <= 0xfaff or 0x20000 <= code <= 0x3ffff or 0x1100 <= code <= 0x11ff)


def _cjk(run: str) -> Terms:
    if len(run) == 1:
        return ((run, 1.0),)
    found = [(run[i:i + 2], 1.0) for i in range(len(run) - 1)]
    if 2 < len(run) <= 8:
        found.append((run, 1.0))
    found.extend((char, 0.5) for char in run)
    return tuple(found)


def _folded(run: str, stop: FrozenSet[str], stems: Callable[[str], str]) -> Terms:
    from unicodedata import combining, normalize

    plain = "".join(c for c in normalize("NFD", run.replace("ß", "ss")) if not combining(c))
    if plain.isascii():
        return expand(plain, stop, stems)
    low = normalize("NFC", plain).lower().strip(_EDGE)
    return ((low, 1.0),) if low and len(low) <= LONGEST else ()


def count_tokens(text: str | bytes) -> int:
    """Estimate the tokens of a text: its UTF-8 bytes over four, rounded up (the one rule used everywhere)."""
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "replace"))
    return (size + 3) // 4


def utf16(text: str) -> int:
    """Count UTF-16 code units, the unit of the host's cap on a hook's output."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2


class Stems(dict[str, str]):
    """Word -> stem, each computed once: a builder meets the parts of identifiers again and again."""

    def __missing__(self, word: str) -> str:
        self[word] = found = stem(word)
        return found


_VOWELS = {ord(c): "v" if c in "aeiou" else "c" for c in "abcdefghijklmnopqrstuvwxyz"}
# Endings by the last two letters of the word: most words meet none, and one look-up says so.
_STEP2 = {"al": (("ational", "ate"), ("tional", "tion")), "ci": (("enci", "ence"), ("anci", "ance")),
          "er": (("izer", "ize"),), "li": (("abli", "able"), ("entli", "ent"), ("ousli", "ous"), ("alli", "al"),
                                           ("eli", "e")),
          "on": (("ization", "ize"), ("ation", "ate")), "or": (("ator", "ate"),), "sm": (("alism", "al"),),
          "ss": (("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous")),
          "ti": (("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"))}
_STEP3 = {"te": (("icate", "ic"),), "ve": (("ative", ""),), "ze": (("alize", "al"),), "ti": (("iciti", "ic"),),
          "al": (("ical", "ic"),), "ul": (("ful", ""),), "ss": (("ness", ""),)}
_STEP4 = {"al": ("al",), "ce": ("ance", "ence"), "er": ("er",), "ic": ("ic",), "le": ("able", "ible"),
          "nt": ("ement", "ment", "ant", "ent"), "ou": ("ou",), "sm": ("ism",), "te": ("ate",), "ti": ("iti",),
          "us": ("ous",), "ve": ("ive",), "ze": ("ize",), "on": ("sion", "tion")}
_ENDINGS = frozenset("ed ng al ci er li on or sm ti ul ic nt ou ll".split())


def stem(word: str) -> str:
    """Strip English endings from a lower-case ASCII word (M. Porter, "An algorithm for suffix stripping", 1980)."""
    # No step touches another ending, and half of all words have another.
    if word[-1:] not in "sey" and word[-2:] not in _ENDINGS or len(word) < 3 or not word.isalpha():
        return word
    if word[-1] == "s":
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif word[-2] != "s":
            word = word[:-1]
    word = _past(word)
    if word[-1] == "y" and "v" in _shape(word)[:-1]:
        word = word[:-1] + "i"
    for table in (_STEP2, _STEP3):
        for end, new in table.get(word[-2:], ()):
            if word.endswith(end):
                if _measure(word, len(end)) > 0:
                    word = word[:-len(end)] + new
                break
    for end in _STEP4.get(word[-2:], ()):
        if word.endswith(end):
            cut = 3 if end in ("sion", "tion") else len(end)
            if _measure(word, cut) > 1:
                word = word[:-cut]
            break
    if word[-1] == "e":
        m = _measure(word, 1)
        if m > 1 or (m == 1 and not _short(word[:-1])):
            word = word[:-1]
    if word.endswith("ll") and _measure(word, 0) > 1:
        word = word[:-1]
    return word


def _past(word: str) -> str:
    """Steps 1b: -eed, -ed, -ing."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word, 3) > 0 else word
    cut = 2 if word.endswith("ed") else 3 if word.endswith("ing") else 0
    if not cut or "v" not in _shape(word)[:-cut]:
        return word
    word = word[:-cut]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and word[-1] not in "lsz" and _shape(word)[-1] == "c":
        return word[:-1]
    return word + "e" if _measure(word, 0) == 1 and _short(word) else word


def _shape(word: str) -> str:
    """Vowels and consonants of a word as `v` and `c`; y is a vowel after a consonant."""
    if "y" not in word:
        return word.translate(_VOWELS)
    out = ""
    for char in word:
        out += "v" if char in "aeiou" or (char == "y" and out and out[-1] == "c") else "c"
    return out


def _measure(word: str, cut: int) -> int:
    """Porter's m of a word without its last `cut` letters: the number of vowel-consonant sequences."""
    return _shape(word[:len(word) - cut]).count("vc")


def _short(word: str) -> bool:
    """Porter's *o: ends consonant-vowel-consonant, the last not w, x or y."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"
