"""Keywords, topics and a summary of each record, and the export of the index as JSON.

Schema, version 1, of the export: {"version": 1, "generated": instant, "learningCount": n,
"totalTokens": n, "learnings": [{"file", "topics", "keywords", "summary", "tokenCount",
"lastModified"}], "topics": {topic: [file, ...]}, "categories": {category: [topic, ...]}}.  `file`
is a record's name such as `p/learnings/x.md`; tokens are UTF-8 bytes over four.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import log
from typing import Any, Callable

from memory.core import clock, tokeniser
from memory.core.layout import Place
from memory.core.records import Record
from memory.hook import documents
from memory.recall.sentences import extract_statements
from memory.store.reader import Reader

VERSION = 1
MOST_KEYWORDS = 15
# characters of a CJK run that may be one word; a longer one counts as its pairs of characters
CJK_WORD = 6
TEXT_LIMIT = 1 << 17  # characters of a body that are searched


def _is_keyword(word: str) -> bool:
    if not word or word.lower() in tokeniser.STOP:
        return False
    return not word.isdigit() and len(word) <= tokeniser.LONGEST


def _split_cjk(word: str) -> list[str]:
    """Return a short word whole, a longer run as bigrams."""
    if 1 < len(word) <= CJK_WORD:
        return [word]
    return [word[i : i + 2] for i in range(len(word) - 1)]


def _find_words(content: str) -> Iterator[tuple[str, str]]:
    """Yield (term, surface form) of each possible keyword of a text."""
    for raw in tokeniser.split(content):
        word = raw.strip("-./_")
        if not _is_keyword(word):
            continue
        if tokeniser.is_cjk(word[0]):
            yield from ((part, part) for part in _split_cjk(word))
        elif len(word.replace(".", "")) > 2 or (word.isalpha() and len(word) > 1):
            found = tokeniser.expand(word)
            if found:
                yield found[0][0], word.lower() if word.istitle() or word.islower() else word


def _count_terms(content: str) -> tuple[dict[str, int], dict[str, str]]:
    """Count a text's terms; return also each term's most frequent surface form."""
    counts: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for term, form in _find_words(content):
        counts[term] += 1
        forms.setdefault(term, Counter())[form] += 1
    return dict(counts), {
        term: min(seen, key=lambda f: (-seen[f], len(f), f)) for term, seen in forms.items()
    }


def extract_keywords(content: str, df: Callable[[str], int], documents: int) -> tuple[str, ...]:
    """Extract the words of a text with the highest TF-IDF, best first.

    df: document frequency of a term among `documents`. A word scores (1 + ln tf) * ln(1 + documents
    / df).
    """
    counts, forms = _count_terms(content)
    scored = sorted(
        (-(1.0 + log(n)) * log(1.0 + documents / max(1, df(term))), term)
        for term, n in counts.items()
    )
    return tuple(forms[term] for _, term in scored[:MOST_KEYWORDS])


def summarise(body: str) -> str:
    """Return a text's first two sentences, without headings and code."""
    return " ".join(extract_statements(body[:TEXT_LIMIT])[:2])


def derive_topics(
    record: Record, words: tuple[str, ...], shared: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return a record's written topics and tags, else topics from its words.

    Words of its title, file name and headings, then its keywords (`words`), each `shared` by
    another record.
    """
    written = documents.list_written_topics(record)
    if written:
        return written
    name = record.name.rpartition("/")[2][:-3]
    headings = " ".join(
        line.lstrip("#") for line in record.body[:TEXT_LIMIT].split("\n") if line.startswith("#")
    )
    found: dict[str, str] = {}
    for term, form in _find_words(" ".join((record.title, name, headings, *words))):
        if shared(term) and form.isalpha():
            found.setdefault(term, form.lower())
    return tuple(found.values())[: documents.MOST_TOPICS]


def export(
    place: Place, now: float, categories: Mapping[str, frozenset[str]], store: Reader | None = None
) -> dict[str, Any]:
    """Export the learnings in scope (schema above), without candidates.

    categories: category -> stems of its topics. store: reads the records.
    """
    learnings = list(_read_learnings(store or Reader(place)))
    counted = [_count_terms(_join_text(record)) for record in learnings]
    df = Counter(term for counts, _ in counted for term in counts)
    rows: list[dict[str, Any]] = []
    by_topic: dict[str, list[str]] = {}
    for record in learnings:
        words = extract_keywords(_join_text(record), df.__getitem__, len(learnings))
        topics = derive_topics(record, words, lambda term: df[term] > 1)
        rows.append(
            {
                "file": record.name,
                "topics": list(topics),
                "keywords": list(words),
                "summary": summarise(record.body),
                "tokenCount": record.tokens,
                "lastModified": clock.iso(record.updated),
            }
        )
        for topic in topics:
            by_topic.setdefault(topic, []).append(record.name)
    grouped = {
        name: sorted(
            topic for topic in by_topic if not stems.isdisjoint(tokeniser.index_terms(topic))
        )
        for name, stems in sorted(categories.items())
    }
    return {
        "version": VERSION,
        "generated": clock.iso(now),
        "learningCount": len(rows),
        "totalTokens": sum(row["tokenCount"] for row in rows),
        "learnings": rows,
        "topics": dict(sorted(by_topic.items())),
        "categories": {name: topics for name, topics in grouped.items() if topics},
    }


def _join_text(record: Record) -> str:
    return "%s\n%s" % (record.title, record.body[:TEXT_LIMIT])


def _read_learnings(store: Reader) -> Iterator[Record]:
    """Read the accepted learnings by name, without unreadable ones."""
    return filter(documents.is_pushable, store.each_by(store.read, store.names()))
