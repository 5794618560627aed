"""Keywords, topics and a summary of each record, and the export of the index as JSON.

Schema, version 1, of the export: {"version": 1, "generated": instant, "learningCount": n,
"totalTokens": n, "learnings": [{"file", "topics", "keywords", "summary", "tokenCount",
"lastModified"}], "topics": {topic: [file, ...]}, "categories": {category: [topic, ...]}}.  `file`
is a record's name such as `p/learnings/x.md`; tokens are UTF-8 bytes over four.
"""

from __future__ import annotations

from collections import Counter
from math import log
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from memory.core import clock, files, records, tokeniser, walk
from memory.core.layout import Place
from memory.core.records import Record
from memory.hook import documents
from memory.recall.sentences import statements

VERSION = 1
MOST_KEYWORDS = 15
# characters of a CJK run that may be one word; a longer one counts as its pairs of characters
CJK_WORD = 6
TEXT_LIMIT = 1 << 17  # characters of a body that are looked at


def _is_telling(word: str) -> bool:
    if not word or word.lower() in tokeniser.STOP:
        return False
    return not word.isdigit() and len(word) <= tokeniser.LONGEST


def _cjk_parts(word: str) -> List[str]:
    """Return a short word whole, of a longer run each two neighbours."""
    if 1 < len(word) <= CJK_WORD:
        return [word]
    return [word[i : i + 2] for i in range(len(word) - 1)]


def _words(content: str) -> Iterator[Tuple[str, str]]:
    """Yield (term, surface form) of each possible keyword of a text."""
    for raw in tokeniser.split(content):
        word = raw.strip("-./_")
        if not _is_telling(word):
            continue
        if tokeniser.is_cjk(word[0]):
            yield from ((part, part) for part in _cjk_parts(word))
        elif len(word.replace(".", "")) > 2 or (word.isalpha() and len(word) > 1):
            found = tokeniser.expand(word)
            if found:
                yield found[0][0], word.lower() if word.istitle() or word.islower() else word


def _term_counts(content: str) -> Tuple[Dict[str, int], Dict[str, str]]:
    """Return each term's frequency and its most frequent surface form."""
    counts: Counter[str] = Counter()
    forms: Dict[str, Counter[str]] = {}
    for term, form in _words(content):
        counts[term] += 1
        forms.setdefault(term, Counter())[form] += 1
    return dict(counts), {
        term: min(seen, key=lambda f: (-seen[f], len(f), f)) for term, seen in forms.items()
    }


def keywords(content: str, df: Callable[[str], int], documents: int) -> Tuple[str, ...]:
    """Return the words that distinguish a text from its corpus.

    Most telling first, in the text's own form. df: document frequency of a term among `documents`.
    A word scores (1 + ln tf) * ln(1 + documents / df).
    """
    counts, forms = _term_counts(content)
    scored = sorted(
        ((1.0 + log(n)) * log(1.0 + documents / max(1, df(term))), term)
        for term, n in counts.items()
    )
    best = sorted(scored, key=lambda s: (-s[0], s[1]))[:MOST_KEYWORDS]
    return tuple(forms[term] for _, term in best)


def summary(body: str) -> str:
    """Return the first two sentences of a text, word for word.

    Without headings, code, tables and marks of lists.
    """
    return " ".join(statements(body[:TEXT_LIMIT])[:2])


def topics_of(
    record: Record, words: Tuple[str, ...], shared: Callable[[str], bool]
) -> Tuple[str, ...]:
    """Return the topics of a record.

    Its written topics and tags, else words of its title, file name and headings, then keywords, as
    far as other records share them. words: its keywords. shared: whether another record has a term
    too.
    """
    said = documents.written_topics(record)
    if said:
        return said
    name = record.name.rpartition("/")[2][:-3]
    headings = " ".join(
        line.lstrip("#") for line in record.body[:TEXT_LIMIT].split("\n") if line.startswith("#")
    )
    found: Dict[str, str] = {}
    for term, form in _words(" ".join((record.title, name, headings, *words))):
        if shared(term) and form.isalpha():
            found.setdefault(term, form.lower())
    return tuple(found.values())[: documents.MOST_TOPICS]


def export(place: Place, now: float, categories: Mapping[str, frozenset[str]]) -> Dict[str, Any]:
    """Return the export (schema above) of the learnings in scope.

    Candidates are left out. categories: category -> the stems that
        speak for it.
    """
    learnings = list(_learnings(place))
    counted = [_term_counts(_text(record)) for record in learnings]
    df = Counter(term for counts, _ in counted for term in counts)
    rows: List[Dict[str, Any]] = []
    by_topic: Dict[str, List[str]] = {}
    for record in learnings:
        words = keywords(_text(record), df.__getitem__, len(learnings))
        topics = topics_of(record, words, lambda term: df[term] > 1)
        rows.append(
            {
                "file": record.name,
                "topics": list(topics),
                "keywords": list(words),
                "summary": summary(record.body),
                "tokenCount": record.tokens,
                "lastModified": clock.iso(record.updated),
            }
        )
        for topic in topics:
            by_topic.setdefault(topic, []).append(record.name)
    grouped = {
        name: sorted(topic for topic in by_topic if not stems.isdisjoint(tokeniser.tokens(topic)))
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


def _text(record: Record) -> str:
    return "%s\n%s" % (record.title, record.body[:TEXT_LIMIT])


def _learnings(place: Place) -> Iterator[Record]:
    """Yield the accepted learnings by name, without unreadable ones."""
    for name, path, mtime_ns, _ in sorted(walk.walk(place)[0]):
        try:
            record = records.from_bytes(name, files.read(path, records.READ_LIMIT), mtime_ns / 1e9)
        except OSError:
            continue
        if documents.is_pushable(record):
            yield record
