"""Words that no record holds: near neighbours in the vocabulary, and the same word split or joined otherwise.

Only words absent from the index are fuzzed (known ones never): at most NEIGHBOURS terms that share the first letter, at an
optimal-string-alignment distance of 1 below six letters and of 2 from there on, each weighing (1 - distance / length)^3.
"""

from __future__ import annotations

from typing import Callable, Iterable, List, Optional, Sequence, Tuple

from memory import text

NEIGHBOURS = 3
LEAST = 4  # letters of a word worth fuzzing
PART = 3  # letters of each half of a split word
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


def neighbours(term: str, vocabulary: Iterable[str], df: Callable[[str], int],
               near: Callable[..., List[Tuple[str, int]]]) -> List[Tuple[str, float]]:
    """Return up to NEIGHBOURS (known term, weight) for an unknown one, nearest first.

    vocabulary: terms with its first letter; some may be noise.  df: how many documents hold a term, 0 for noise.
    """
    limit = 1 if len(term) < 6 else 2
    words = sorted({w for w in vocabulary if abs(len(w) - len(term)) <= limit and w.isalpha()})
    found = []
    for word, distance in near(term, words, limit):
        count = df(word)
        if count:
            swapped = word[1:2] not in (term[1:2], term[2:3])
            found.append((distance, swapped, -count, word))
    return [(word, (1.0 - distance / len(term)) ** 3) for distance, _, _, word in sorted(found)[:NEIGHBOURS]]


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
