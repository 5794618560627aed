"""Words that no record holds: near neighbours in the vocabulary, and the same word split or joined otherwise.

Only words absent from the index are fuzzed (known ones never): at most NEIGHBOURS terms that share the first letter, at an
optimal-string-alignment distance of 1 below six letters and of 2 from there on, each weighing (1 - distance / length)^3.
The vocabulary holds stems, and a slip keeps the stemmer from its work: so a word is also taken apart into a known stem and a
misspelt ending (`dimensionns`), or a misspelt stem and an ending (`calclate`).
"""

from __future__ import annotations

from typing import Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from memory import text

NEIGHBOURS = 3
LEAST = 4  # letters of a word worth fuzzing
PART = 3  # letters of each half of a split word
LONGEST_ENDING = 7
ENDINGS = tuple(
    "s es ed ing er ers or ors ion ions ation ations ly ally ment ments ness ity ies able ible al ate ates ated ating ator ive "
    "ize izes ized izing ise e y ic ical ically ence ance ent ant ency".split())
VARIANT = 0.5  # weight of a half, or of two words joined: that of an identifier's part


def is_fuzzable(term: str) -> bool:
    """Tell whether a misspelling of a term can be told from another word: no digits, no CJK, not short."""
    return len(term) >= LEAST and not any(c.isdigit() for c in term) and not text.is_cjk(term[0])


def scorer() -> Optional[Callable[..., List[Tuple[str, int]]]]:
    """Return near(term, words, limit) -> [(word, distance)] made of RapidFuzz, or None where it is not installed."""
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA
    except ImportError:
        return None

    def near(term: str, words: Sequence[str], limit: int) -> List[Tuple[str, int]]:
        found = process.extract(term, words, scorer=OSA.distance, score_cutoff=limit, limit=None, processor=None)
        return [(word, int(distance)) for word, distance, _ in found]

    return near


def neighbours(term: str, word: str, vocabulary: Iterable[str], df: Callable[[str], int],
               near: Callable[..., List[Tuple[str, int]]]) -> List[Tuple[str, float]]:
    """Return up to NEIGHBOURS (known term, weight) for an unknown one, nearest first.

    word: what was typed, of which `term` was made.  vocabulary: terms with its first letter; some may be noise.  df: how many
    documents hold a term, 0 for noise.
    """
    known = sorted({w for w in vocabulary if w.isalpha()})
    limit = 1 if len(term) < 6 else 2
    found = [(distance, other, term) for other, distance in near(term, _alike(known, len(term), limit), limit)]
    if word.isascii() and word.isalpha():
        found += _taken_apart(word, known, near)
    best: Dict[str, Tuple[int, bool, int, str]] = {}
    for distance, other, typed in found:
        count = df(other)
        row = (distance, other[1:2] not in (typed[1:2], typed[2:3]), -count, other)
        if count and row < best.get(other, (9,)):
            best[other] = row
    return [(other, (1.0 - distance / len(term)) ** 3) for distance, _, _, other in sorted(best.values())[:NEIGHBOURS]]


def _alike(known: Sequence[str], length: int, limit: int) -> List[str]:
    return [w for w in known if abs(len(w) - length) <= limit]


def _taken_apart(word: str, known: Sequence[str],
                 near: Callable[..., List[Tuple[str, int]]]) -> List[Tuple[int, str, str]]:
    """Return (distance, known stem, what was typed for it) for stems that a word may be made of with an ending."""
    found = []
    stems = frozenset(known)
    for at in range(max(PART, len(word) - LONGEST_ENDING), len(word)):
        stem, ending = word[:at], word[at:]
        if ending in ENDINGS:
            alike = [w for w in _alike(known, at, 1) if len(w) >= LEAST]
            found += [(distance, other, stem) for other, distance in near(stem, alike, 1)]
        elif len(ending) > 1:
            rest = ending[1:] if len(ending) > 3 and ending[0] == stem[-1] else ending  # running
            exact = [other for other in (stem, text.stem(stem)) if other in stems and len(other) >= PART]
            if exact and near(rest, [e for e in ENDINGS if len(e) > 1], 1):
                found += [(1, other, stem) for other in exact]
    return found


def halves(word: str, df: Callable[[str], int]) -> List[str]:
    """Split an unknown word into two known terms (`usertoken` into user and token): the split whose rarer half is the most
    common, or nothing."""
    best: Tuple[int, List[str]] = (0, [])
    if word.isascii() and word.isalpha():
        for at in range(PART, len(word) - PART + 1):
            pair = [text.stem(word[:at]), text.stem(word[at:])]
            count = min(df(pair[0]), df(pair[1]))
            if count > best[0]:
                best = (count, pair)
    return best[1]


def joined(raws: Sequence[str], df: Callable[[str], int]) -> List[Tuple[str, str, str]]:
    """Return (known term, its words) for neighbouring words that the index knows as one (`user token` as usertoken)."""
    found = []
    words = [raw.strip("-./_").lower() for raw in raws]
    for a, b in zip(words, words[1:]):
        if len(a) >= PART and len(b) >= PART and a.isascii() and b.isascii() and (a + b).isalpha() and len(a + b) <= text.LONGEST:
            for term in dict.fromkeys((a + b, text.stem(a + b))):
                if df(term):
                    found.append((term, a, b))
                    break
    return found
