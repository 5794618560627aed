"""Fuzzy search: find known words for an unknown one, by spelling, splitting or joining.

Only words absent from the index are fuzzed: at most NEIGHBOURS terms with the same first letter, at
an optimal-string-alignment distance of 1 below six letters and for common words, else 2, each
weighing (1 - distance / length)^3.  The vocabulary holds stems, but a misspelt word is often not
stemmed: so it is also cut into a known stem and a misspelt ending (`dimensionns`), or a misspelt
stem and an ending (`calclate`).  Those stay that the records spell nearest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Callable

from memory.core import tokeniser
from memory.core.matches import Expansion, Matches

NEIGHBOURS = 6
LEAST_LETTERS = 5  # of a word that is fuzzed
HANGUL_FORMS = 3
HANGUL, VOWELS, FINALS = 0xAC00, 21, 28  # first syllable; numbers of vowels and last consonants
# vowels that turn into each other before an ending: i yeo, u wo, o wa, eu eo a
FUSED = ((20, 6), (13, 14), (8, 9), (18, 4, 0), (11, 10))
LEAST_HALF = 3  # letters of each half of a split word
LONGEST_ENDING = 7
ENDINGS = tuple(
    "s es ed ing er ers or ors ion ions ation ations ly ally ment ments ness ity ies able ible al "
    "ate ates ated ating ator ive ize izes ized izing ise e y ic ical ically ence ance ent ant "
    "ency".split()
)
Matcher = Callable[..., list[tuple[str, int]]]  # (term, words, limit) -> [(word, distance)]
VARIANT = 0.5  # weight of a half, or of two words joined: that of an identifier's part


def is_fuzzable(term: str) -> bool:
    """Tell whether a term is searched as misspelt: long, without digits, not CJK."""
    return (
        len(term) >= LEAST_LETTERS
        and not any(c.isdigit() for c in term)
        and not tokeniser.is_cjk(term[0])
    )


def load_matcher() -> Matcher | None:
    """Return RapidFuzz's function for near words, None where it is absent."""
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA
    except ImportError:
        return None

    def near(term: str, words: Sequence[str], limit: int) -> list[tuple[str, int]]:
        found = process.extract(term, words, scorer=OSA.distance, score_cutoff=limit, limit=None)
        return [(word, int(distance)) for word, distance, _ in found]

    return near


def find_neighbours(
    term: str,
    word: str,
    vocabulary: Iterable[str],
    df: Callable[[str], int],
    near: Matcher,
) -> list[tuple[str, float]]:
    """Find known terms spelt like an unknown term, best first.

    At most NEIGHBOURS. word: as typed, before stemming to `term`. vocabulary: terms with the same
    first letter, noise included. df: document frequency of a term, 0 for noise.
    """
    every = sorted({w for w in vocabulary if w.isalpha()})
    known = [w for w in every if w not in tokeniser.COMMON]
    limit = 1 if len(term) < 6 else 2
    # a common word at one slip alone
    found = [
        (other, distance)
        for other, distance in near(term, every, limit)
        if distance <= 1 or other not in tokeniser.COMMON
    ]
    if word.isascii() and word.isalpha():
        found += _match_without_ending(word, known, near)
    best: dict[str, tuple[int, int, str]] = {}
    for other, distance in found:
        row = (distance, -df(other), other)
        if row[1] and row < best.get(other, (9,)):  # 9: farther than any
            best[other] = row
    return [
        (other, (1.0 - distance / len(term)) ** 3)
        for distance, _, other in sorted(best.values())[:NEIGHBOURS]
    ]


def choose_nearest(
    typed: str, terms: Sequence[str], raws: Iterable[str], expansion: Expansion
) -> dict[str, str]:
    """Return {term: word} of those that texts spell with one slip, {} for none.

    Two slips away stands another word: "connected" for "collected".
    """
    near, matches = load_matcher(), Matches(dict.fromkeys(terms, 1.0), expansion)
    spelt = {
        (term, word)
        for raw in raws
        for _, term in matches[raw][1]
        for word in re.findall(r"[^\W\d_]+", raw.lower())
        if term in expansion[word]
    }
    pairs = [*zip(terms, terms), *sorted(spelt)]
    found = near(typed, [word for _, word in pairs], 1) if near else []
    nearest = {word for word, _ in found}
    return {term: word for term, word in pairs if word in nearest}


def _match_without_ending(word: str, known: Sequence[str], near: Matcher) -> list[tuple[str, int]]:
    """Return (known word, distance) for each cut of an ending."""
    found = []
    stems, long = frozenset(known), [w for w in known if len(w) >= LEAST_LETTERS]
    for at in range(max(LEAST_HALF, len(word) - LONGEST_ENDING), len(word)):
        stem, ending = word[:at], word[at:]
        if ending in ENDINGS:
            found += near(stem, long, 1)
        elif len(ending) > 1:
            rest = ending[1:] if len(ending) > 3 and ending[0] == stem[-1] else ending  # running
            exact = [s for s in {stem, tokeniser.stem(stem)} & stems if len(s) >= LEAST_HALF]
            if exact and near(rest, [e for e in ENDINGS if len(e) > 1], 1):
                found += [(other, 1) for other in exact]
    return found


def find_hangul_forms(term: str, df: Callable[[str], int]) -> list[str]:
    """Return known Hangul forms of an unknown bigram, the most common first.

    At most HANGUL_FORMS. An ending fuses with the vowel of the stem's last syllable and adds its
    consonant there (`느림`, `느려서`).
    """
    if len(term) != 2 or not all(map(tokeniser.is_hangul, term)):
        return []
    initial, rest = divmod(ord(term[1]) - HANGUL, VOWELS * FINALS)
    vowel = rest // FINALS
    group = next((vowels for vowels in FUSED if vowel in vowels), (vowel,))
    forms = (
        chr(HANGUL + (initial * VOWELS + v) * FINALS + final)
        for v in group
        for final in range(FINALS)
    )
    known = [(-df(term[0] + form), term[0] + form) for form in forms if form != term[1]]
    return [other for count, other in sorted(known) if count][:HANGUL_FORMS]


def find_hashes(term: str, vocabulary: Callable[[str, int], list[str]]) -> list[str]:
    """Return the known hashes that a hash begins or that begin it."""
    if not tokeniser.is_hash(term):
        return []
    known = filter(tokeniser.is_hash, vocabulary(term[: tokeniser.HASH], tokeniser.LONGEST))
    return sorted({w for w in known if w != term and w[: len(term)] == term[: len(w)]})[:NEIGHBOURS]


def split_compound(word: str, df: Callable[[str], int]) -> list[str]:
    """Split an unknown word into two known terms, [] if impossible.

    `usertoken` gives user and token; of several splits the one with the most common rarer half.
    """
    best: tuple[int, list[str]] = (0, [])
    if word.isascii() and word.isalpha():
        for at in range(LEAST_HALF, len(word) - LEAST_HALF + 1):
            pair = [tokeniser.stem(word[:at]), tokeniser.stem(word[at:])]
            count = min(df(pair[0]), df(pair[1]))
            if count > best[0] and min(map(len, pair)) >= LEAST_HALF:
                best = (count, pair)
    return best[1]


def join_compounds(raws: Sequence[str], df: Callable[[str], int]) -> list[tuple[str, str, str]]:
    """Return (known term, first word, second word) of words indexed as one.

    Such as `user token` for usertoken.
    """
    found = []
    words = [raw.strip("-./_").lower() for raw in raws]
    for first, second in zip(words, words[1:]):
        joined = first + second
        is_word = joined.isascii() and joined.isalpha() and len(joined) <= tokeniser.LONGEST
        if is_word and min(len(first), len(second)) >= LEAST_HALF:
            terms = [term for term in (joined, tokeniser.stem(joined)) if df(term)]
            found += [(term, first, second) for term in terms[:1]]
    return found


# Short and long forms of one word.  Not `res`: it is result, response and resource.
ABBREVIATIONS = (
    "arg argument; param parameter; config configuration cfg; dir directory; db database; auth "
    "authentication; env environment; msg message; func function fn; doc document documentation; "
    "repo repository; dep dependency; async asynchronous; init initialize initialise; impl "
    "implementation; attr attribute; var variable; str string; int integer; bool boolean; dict "
    "dictionary; num number; max maximum; min minimum; tmp temp temporary; info information; spec "
    "specification; lib library; pkg package; ref reference; prod production; js javascript; ts "
    "typescript; dim dimension; coord coordinate; idx index; img image; btn button; err error; "
    "char character; len length; val value; obj object; kwarg keyword; elem element; exec execute; "
    "cmd command; ctx context; req request; resp response; app application; admin administrator; "
    "dev development; cert certificate; addr address; del delete; perf performance; regex regexp; "
    "gen generate; conn connection; sync synchronize; mem memory; proc process; calc calculate; "
    "desc description; eval evaluate; struct structure; sec second; ms millisecond; decl "
    "declaration; concat concatenate; diff difference; avg average; rand random; col column; arr "
    "array; vec vector; pos position; freq frequency; prob probability; stat statistics; id "
    "identifier; prev previous; curr current; orig original; src source; dst dest destination; fmt "
    "format; alloc allocate; iter iterate; ptr pointer; buf buffer; pwd passwd password; mgr "
    "manager; svc service; srv server; cred credential; org organization organisation; util "
    "utility; std standard; stmt statement; expr expression; misc miscellaneous; hist history; fs "
    "filesystem; perm permission; lang language; pct percent percentage; ext extension; sig "
    "signature; k8s kubernetes; i18n internationalization; a11y accessibility"
)
OTHER_FORMS: dict[str, frozenset[str]] = {
    stem: stems - {stem}
    for stems in (
        frozenset(map(tokeniser.stem, forms.split())) for forms in ABBREVIATIONS.split(";")
    )
    for stem in stems
}
