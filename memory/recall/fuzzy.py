"""Find what an unknown word may mean: near neighbours in the vocabulary, or the same word split or
joined otherwise.

Only words absent from the index are fuzzed (known ones never), and never to words of everyday
speech: at most NEIGHBOURS terms that share the first letter, at an optimal-string-alignment
distance of 1 below six letters and of 2 from there on, each weighing (1 - distance / length)^3.
The vocabulary holds stems, and a slip keeps the stemmer from its work: so a word is also taken
apart into a known stem and a misspelt ending (`dimensionns`), or a misspelt stem and an ending
(`calclate`).
"""

from __future__ import annotations

from typing import Callable, Dict, FrozenSet, Iterable, List, Optional, Sequence, Tuple

from memory.core import tokeniser

NEIGHBOURS = 3
LEAST = 5  # letters of a word worth fuzzing
HANGUL, VOWELS, FINALS = 0xAC00, 21, 28  # the first syllable; vowels, and last consonants, of each
# vowels that an ending makes of each other: i yeo, u wo, o wa, eu eo a
FUSED = ((20, 6), (13, 14), (8, 9), (18, 4, 0), (11, 10))
PART = 3  # letters of each half of a split word
LONGEST_ENDING = 7
ENDINGS = tuple(
    "s es ed ing er ers or ors ion ions ation ations ly ally ment ments ness ity ies able ible al "
    "ate ates ated ating ator ive ize izes ized izing ise e y ic ical ically ence ance ent ant "
    "ency".split()
)
VARIANT = 0.5  # weight of a half, or of two words joined: that of an identifier's part


def is_fuzzable(term: str) -> bool:
    """Tell whether a term may be taken for a misspelt one.

    Not a short one, nor one with digits or in CJK: there one slip makes another word.
    """
    return (
        len(term) >= LEAST and not any(c.isdigit() for c in term) and not tokeniser.is_cjk(term[0])
    )


def scorer() -> Optional[Callable[..., List[Tuple[str, int]]]]:
    """Return a function that finds near words with RapidFuzz.

    near(term, words, limit) -> [(word, distance)]; None where RapidFuzz is not installed.
    """
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA
    except ImportError:
        return None

    def near(term: str, words: Sequence[str], limit: int) -> List[Tuple[str, int]]:
        found = process.extract(
            term, words, scorer=OSA.distance, score_cutoff=limit, limit=None, processor=None
        )
        return [(word, int(distance)) for word, distance, _ in found]

    return near


def neighbours(
    term: str,
    word: str,
    vocabulary: Iterable[str],
    df: Callable[[str], int],
    near: Callable[..., List[Tuple[str, int]]],
) -> List[Tuple[str, float]]:
    """Return known terms near an unknown term, nearest first.

    At most NEIGHBOURS pairs (known term, weight). word: as typed, before stemming to `term`.
    vocabulary: terms with the same first letter, noise included. df: document frequency of a term,
    0 for noise.
    """
    known = sorted({w for w in vocabulary if w.isalpha() and w not in tokeniser.COMMON})
    limit = 1 if len(term) < 6 else 2
    found = [
        (distance, other, term)
        for other, distance in near(term, _alike(known, len(term), limit), limit)
    ]
    if word.isascii() and word.isalpha():
        found += _split_ending(word, known, near)
    best: Dict[str, Tuple[int, bool, int, str]] = {}
    for distance, other, typed in found:
        count = df(other)
        row = (distance, other[1:2] not in (typed[1:2], typed[2:3]), -count, other)
        if count and row < best.get(other, (9,)):
            best[other] = row
    return [
        (other, (1.0 - distance / len(term)) ** 3)
        for distance, _, _, other in sorted(best.values())[:NEIGHBOURS]
    ]


def _alike(known: Sequence[str], length: int, limit: int) -> List[str]:
    return [w for w in known if abs(len(w) - length) <= limit]


def _known_stems(stem: str, known: FrozenSet[str]) -> List[str]:
    stems = (stem, tokeniser.stem(stem))
    return [other for other in stems if other in known and len(other) >= PART]


def _split_ending(
    word: str, known: Sequence[str], near: Callable[..., List[Tuple[str, int]]]
) -> List[Tuple[int, str, str]]:
    """Return (distance, known word, stem) of a word without its ending."""
    found = []
    stems = frozenset(known)
    for at in range(max(PART, len(word) - LONGEST_ENDING), len(word)):
        stem, ending = word[:at], word[at:]
        if ending in ENDINGS:
            alike = [w for w in _alike(known, at, 1) if len(w) >= LEAST]
            found += [(distance, other, stem) for other, distance in near(stem, alike, 1)]
        elif len(ending) > 1:
            rest = ending[1:] if len(ending) > 3 and ending[0] == stem[-1] else ending  # running
            exact = _known_stems(stem, stems)
            if exact and near(rest, [e for e in ENDINGS if len(e) > 1], 1):
                found += [(1, other, stem) for other in exact]
    return found


def hangul_forms(term: str, df: Callable[[str], int]) -> List[str]:
    """Return known Hangul forms of an unknown bigram.

    The most common first, at most NEIGHBOURS. An ending fuses with the vowel of the stem's last
    syllable and adds its consonant there (`느림`, `느려서`).
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
    return [other for count, other in sorted(known) if count][:NEIGHBOURS]


def split_compound(word: str, df: Callable[[str], int]) -> List[str]:
    """Return the two known terms that make an unknown word.

    `usertoken` gives user and token. Of several splits the one with the most common rarer half; []
    where there is none.
    """
    best: Tuple[int, List[str]] = (0, [])
    if word.isascii() and word.isalpha():
        for at in range(PART, len(word) - PART + 1):
            pair = [tokeniser.stem(word[:at]), tokeniser.stem(word[at:])]
            count = min(df(pair[0]), df(pair[1]))
            if count > best[0]:
                best = (count, pair)
    return best[1]


def join_compounds(raws: Sequence[str], df: Callable[[str], int]) -> List[Tuple[str, str, str]]:
    """Find neighbouring words indexed as a single term.

    Returns (known term, first word, second word), such as `user token` for usertoken.
    """
    found = []
    words = [raw.strip("-./_").lower() for raw in raws]
    for a, b in zip(words, words[1:]):
        whole = a + b
        if (
            min(len(a), len(b)) >= PART
            and whole.isascii()
            and whole.isalpha()
            and len(whole) <= tokeniser.LONGEST
        ):
            for term in dict.fromkeys((whole, tokeniser.stem(whole))):
                if df(term):
                    found.append((term, a, b))
                    break
    return found


# Forms of one word.  Only what is short for one thing: `res` is result, response and resource.
FORMS = (
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
OTHERS: Dict[str, FrozenSet[str]] = {
    stem: stems - {stem}
    for stems in (frozenset(map(tokeniser.stem, forms.split())) for forms in FORMS.split(";"))
    for stem in stems
}
