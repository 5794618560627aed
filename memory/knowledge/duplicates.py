"""Records that say the same: which ones may be merged without a fact going.  housekeeping.py merges
them.

The measure, version 2.  A text is cut at blank space into words; marks around a word (quotes,
brackets, full stops, commas, `**` at both ends) go, and so do marks that stand alone and those that
begin a line (`-`, `*`, `#`); plain words are folded to lower case.  A word is **hard** where a slip
would change the sense: it holds a digit, a symbol, a joint (`_ - . / : @ #`) or a capital inside,
it says no or how much (`NEGATIONS`, `MEASURES`), it is a question mark or any other sign that
stands alone (`a / b`, `a & b`), what stands between backticks, whole and as it is, or a line of
fenced code, kept with its indentation.  One record covers another where

    kind, tier and the rest of the frontmatter agree (what is united, and what says when and by
    whom, apart), the other's title is its title, or stands in its text,
    the words of both are the same in the same order (a word that stands as code keeps its case), or
        every sentence of the other stands in it, in the same order,
        the hard words of both are the same in the same order, and
        of the shingles of three words, each counted as often as it stands, they share more than
        SIMILAR (Jaccard).

So nothing stands in the covered record that does not stand in the one that covers it.  Candidates
are found by their hard words and their sentences, which must agree, not by comparing each with
each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple
from unicodedata import category, normalize
from zlib import crc32

from memory.core import clock
from memory.core.records import READ_LIMIT, SOURCES, Record
from memory.core.tokeniser import coded
from memory.hook import handoffs
from memory.index.kept import Kept, cached_fact
from memory.session import shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.config import Config
    from memory.core.layout import Place

SIMILAR = 0.98
# learnings that a text is compared with; characters of it that they are looked up by
NEAR, ASKED = 8, 600
SAME = 0.95  # of the words of two lessons that agree in their order: what makes them one
MOST = 256  # candidates of a record with the same words, and as many that share its rarest sentence
KINDS = ("learning", "checkpoint", "resource")  # rules bind as approved, a plan is an intention
# Keys that are united, or say when, by whom and how a record came to be.
_LOOSE = frozenset(
    "id kind title created updated date tags topics versions links source confidence pinned "
    "accepted harvest trigger until suggested_by".split()
)
_TOKEN = re.compile(r"[^\W_]+(?:[_./:@+-]+[^\W_]+)*|[^\w\s]")
_EXACT = re.compile(r"\d|[a-z][A-Z]|[^\W\d][_./:@][^\W\d]")
_ORIGIN = re.compile(r"(?:Commit\b|From [a-z]-|Named by the |Seen by dayleaf)")
NEGATIONS = frozenset(
    "no not never none nothing nobody neither nor cannot without except unless instead avoid "
    "hardly rarely barely seldom don't doesn't didn't isn't aren't wasn't weren't won't can't "
    "couldn't shouldn't wouldn't mustn't hasn't haven't hadn't nicht kein keine keinen keinem "
    "keiner nie niemals ohne weder statt außer".split()
)
MEASURES = frozenset(
    "must should may might only always sometimes often usually before after until all any some "
    "most few every each both first last more less fewer over under above below half twice double "
    "enable enabled disable disabled on off true false yes zero one two three four five six seven "
    "eight nine ten hundred thousand million ms s min h kb mb gb kib mib gib percent muss soll "
    "darf immer vor nach alle einige nur".split()
)
_LEFT, _RIGHT = "\"'“”‘’([{（「『【《«`", ".,;:!…\"'”’)]}）」』】》»。、，；：！`"
_MARK = re.compile(  # alone, it tells nothing
    r"[.,;:!…\"'“”‘’()\[\]{}（）「」『』【】《》«»。、，；：！]|\.{3,}|!+"
    r"|[\"'”’)\]}）」』】][.,;:!…]"
)
_LEAD = re.compile(r"(?m)^[ \t]*(?:[-*•]|#{1,6})(?=[ \t])|^[ \t]*[-*_]{3,}[ \t]*$")
_BOLD = re.compile(r"(?<!\*)\*\*(?=[^\s*])([^*\n]+)(?<=\S)\*\*(?!\*)")
_CODE = re.compile(r"(?<!`)(`+)(?!`)((?:[^`\n]|\n(?![ \t]*\n))+)\1(?!`)")
# within code nothing is cut
_HELD = str.maketrans(" \t*。！？、，；：", "".join(map(chr, range(0xE000, 0xE00A))))
_SPAN = re.compile(r"`([^`]+)`")
_BREAK = re.compile(r"(?<=[.!?…])\s+|[。！？]|\n")
_CJK_MARKS = re.compile("[、，；：]")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())


class Duplicate(NamedTuple):
    """A record to keep and its duplicate."""

    kept: Record
    other: Record


class Words(dict[str, tuple[tuple[str, bool], ...]]):
    """Map of a word to its compared form and its hardness.

    Each computed once.
    """

    def __missing__(self, raw: str) -> tuple[tuple[str, bool], ...]:
        pairs = (_word(raw),) if raw[-1] != "?" else (_word(raw.rstrip("?")), ("?", True))
        self[raw] = found = tuple(pair for pair in pairs if pair[0])
        return found


class Text(NamedTuple):
    """A text prepared for comparison.

    words: in order. hard: the hard ones among them.
    """

    words: tuple[str, ...]
    hard: tuple[str, ...]
    sentences: tuple[tuple[str, ...], ...]


def _word(raw: str) -> tuple[str, bool]:
    code = _SPAN.search(raw)
    if code:
        return raw[: code.start()].lstrip(_LEFT) + code[1] + raw[code.end() :].rstrip(_RIGHT), True
    if all(category(c)[0] == "P" for c in raw):
        return ("", False) if not raw or _MARK.fullmatch(raw) else (raw, True)
    word = raw.lstrip(_LEFT).rstrip(_RIGHT) or raw
    low = word.lower()
    if "`" in raw:
        return word, True
    if not word.replace("'", "").isalpha():
        compound = word[0].isalpha() and word.replace("-", "").isalpha() and word[1:].islower()
        return (low if compound else word), True
    if low != word and not word.isupper() and not word[1:].islower():
        return word, True
    # a script without capitals: its words are long
    return low, low in NEGATIONS or low in MEASURES or low == word.upper()


def parse(text: str, words: Words) -> Text:
    """Return a text's words, hard words and sentences.

    words: a cache that the caller keeps for all texts.
    """
    found: list[tuple[str, ...]] = []
    hard: list[str] = []
    for sentence in _sentences(_plain_text(text)):
        if sentence[:1] == "\n":  # a line of code
            found.append((sentence,))
            hard.append(sentence)
            continue
        kept = [pair for raw in sentence.split() for pair in words[raw]]
        if kept:
            found.append(tuple(word for word, _ in kept))
            hard += [word for word, is_hard in kept if is_hard]
    return Text(tuple(word for sentence in found for word in sentence), tuple(hard), tuple(found))


def _plain_text(text: str) -> str:
    return normalize("NFC", text).replace("’", "'")


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of prose and the lines of fenced code."""
    prose: list[str] = []
    for line, code in coded(text.split("\n")):
        if not code:
            prose.append(line)
            continue
        yield from _cut(prose)
        prose = []
        yield "\n" + line.rstrip()
    yield from _cut(prose)


def _cut(prose: Sequence[str]) -> list[str]:
    text = _BOLD.sub(r"\1", _CODE.sub(_code_as_word, _LEAD.sub("", "\n".join(prose))))
    return _BREAK.split(_CJK_MARKS.sub(" ", text.replace("？", "? ")))


def _code_as_word(code: re.Match[str]) -> str:
    """Return code in backticks as one word, line ends as blanks."""
    return "`%s`" % re.sub(r"(?<![ \t])[ \t]*\n[ \t]*", " ", code[2]).translate(_HELD)


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the Jaccard similarity of two texts' word triples, 0 to 1.

    Repeated shingles count as often as they occur.
    """
    first, second = _shingles(one), _shingles(other)
    every = sum((first | second).values())
    return sum((first & second).values()) / every if every else 1.0


def _shingles(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2)))


class PreparedRecord(NamedTuple):
    """A record with its prepared title and body."""

    record: Record
    title: tuple[str, ...]
    body: Text


def covers(kept: PreparedRecord, other: PreparedRecord) -> bool:
    """Tell whether one record lacks no fact of another.

    Measured as described at the top.
    """
    mine, theirs = kept.body, other.body
    if not _frontmatter_covers(kept.record, other.record) or not (
        other.title == kept.title or _contains_run(other.title, mine.words)
    ):
        return False
    return mine.words == theirs.words or (
        mine.hard == theirs.hard
        and _in_order(theirs.sentences, mine.sentences)
        and similarity(mine.words, theirs.words) > SIMILAR
    )


def _contains_run(piece: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether words occur in a text, one after the other."""
    size = len(piece)
    return any(words[at : at + size] == piece for at in range(len(words) - size + 1))


def _in_order(few: Sequence[tuple[str, ...]], many: Sequence[tuple[str, ...]]) -> bool:
    left = iter(many)
    return all(sentence in left for sentence in few)


def _frontmatter_covers(kept: Record, other: Record) -> bool:
    """Tell whether a record's frontmatter covers another's.

    Fields that a merge unites do not count. A record for no version in particular holds for more
    than one with versions: the two stay apart.
    """
    if (kept.kind, kept.tier, bool(kept.versions)) != (
        other.kind,
        other.tier,
        bool(other.versions),
    ):
        return False
    return all(
        _plain(kept.meta.get(key)) == _plain(value)
        for key, value in other.meta.items()
        if value and key not in _LOOSE and not (key == "session" and kept.kind == "learning")
    )


def _plain(value: Any) -> list[str]:
    """Return the texts of a value, stripped of blank space."""
    return [str(item).strip() for item in (value if isinstance(value, (list, tuple)) else [value])]


def mergeable(record: Record) -> bool:
    """Tell whether a record may be merged.

    Not a rule, script, plan or handoff, nor an empty or partly read one.
    """
    return (
        record.kind in KINDS
        and not handoffs.is_handoff(record)
        and record.size <= READ_LIMIT
        and bool(record.body.strip())
        and not (record.kind == "resource" and record.meta.get("type") == "script")
    )


class Letters(dict[int, Any]):
    """A `str.translate` table that keeps letters and digits.

    Learns each character once.
    """

    def __missing__(self, code: int) -> str | None:
        self[code] = found = chr(code) if chr(code).isalnum() else None
        return found


def outline(record: Record, letters: Letters, kept: Kept | None) -> tuple[int, Sequence[int]]:
    """Return checksums of a body's letters and of each sentence's.

    Equal words give equal checksums. letters: a cache that the caller keeps for all records. kept:
    cache of earlier runs.
    """
    body, sentences = cached_fact(
        kept, record.name, record.checksum, "outline", lambda: _outline(record.body, letters)
    )
    return body, sentences


def _outline(body: str, letters: Letters) -> tuple[int, list[int]]:
    said = [_bare(sentence, letters) for sentence in _sentences(_plain_text(body))]
    return crc32(b"".join(said)), list(dict.fromkeys(crc32(one) for one in said if one))


def _bare(sentence: str, letters: Letters) -> bytes:
    """Return the letters and digits of a sentence in lower case."""
    if sentence.isascii():
        return sentence.lower().encode("ascii").translate(None, _NO_LETTERS)
    return sentence.casefold().translate(letters).encode("utf-8", "surrogatepass")


def _possible_duplicates(records: Sequence[Record], kept: Kept | None) -> list[Record]:
    """Return the records that may cover or be covered by another.

    A covered record shares each of its sentences with another record, or all of its letters; its
    cover shares one of these sentences.
    """
    letters = Letters()
    bodies: Counter[tuple[Any, int]] = Counter()
    shared: Counter[tuple[Any, int]] = Counter()
    outlines = []
    for record in records:
        block, (body, sentences) = _block(record), outline(record, letters, kept)
        keys = [(block, sentence) for sentence in sentences]
        outlines.append(((block, body), keys))
        bodies[block, body] += 1
        shared.update(keys)
    wanted = {
        key
        for body, keys in outlines
        if bodies[body] > 1 or all(shared[key] > 1 for key in keys)
        for key in keys
    }
    return [
        record
        for record, (body, keys) in zip(records, outlines)
        if bodies[body] > 1 or not wanted.isdisjoint(keys)
    ]


def _block(record: Record) -> tuple[str, str, str]:
    """Return the kind, tier and session that duplicates share."""
    return record.kind, record.tier, str(record.kind == "checkpoint" and record.meta.get("session"))


def find(
    records: Iterable[Record],
    successes: Mapping[str, int],
    bound: Container[str] = (),
    kept: Kept | None = None,
) -> list[Duplicate]:
    """Return the near-duplicates among records.

    Sorted by the kept record's name, then the other's. successes: by id, how often a record helped:
    of two that cover one another the one with more is kept, then a human's before an agent's, then
    the newer. A captured record never replaces a person's or an agent's. bound: ids that must stay.
    kept: cache of earlier runs.
    """
    words = Words()
    near = _possible_duplicates([record for record in records if mergeable(record)], kept)
    pages = [
        PreparedRecord(record, parse(record.title, words).words, parse(record.body, words))
        for record in near
    ]
    pages = [page for page in pages if page.body.words]
    pages.sort(key=lambda page: _rank(page.record, successes, bound))
    into: dict[int, int] = {}
    for number, others in enumerate(_candidates(pages)):
        if pages[number].record.id not in bound:
            other = next(
                (
                    k
                    for k in others
                    if k not in into and k != number and _may_drop(pages, k, number)
                ),
                -1,
            )
            if other >= 0:
                into[number] = other
    found = [
        Duplicate(pages[_kept_number(into, number)].record, pages[number].record) for number in into
    ]
    return sorted(found, key=lambda pair: (pair.kept.name, pair.other.name))


def _rank(record: Record, successes: Mapping[str, int], bound: Container[str]) -> tuple[Any, ...]:
    """Return a sort key that puts the record to keep first."""
    return (
        record.id not in bound,
        _standing(record),
        -successes.get(record.id, 0),
        SOURCES.index(record.source),
        -record.updated,
        record.name,
    )


def _standing(record: Record) -> int:
    """Return 0 for a written record, 1 for captured, 2 for candidate."""
    return 0 if record.source != "auto" else 1 if record.accepted else 2


def _may_drop(pages: Sequence[PreparedRecord], kept: int, other: int) -> bool:
    """Tell whether a record may be dropped for another."""
    one, two = pages[kept], pages[other]
    if _standing(one.record) > _standing(two.record):
        return False
    return covers(one, two) and (kept < other or not covers(two, one))


def _kept_number(into: Mapping[int, int], number: int) -> int:
    """Return the record that stays at the end of a chain."""
    while number in into:
        number = into[number]
    return number


def _candidates(pages: Sequence[PreparedRecord]) -> list[list[int]]:
    """Return the pages that may cover each page, in order."""
    same: dict[Any, list[int]] = {}
    sharing: dict[Any, list[int]] = {}
    blocks = [_block(page.record) for page in pages]
    hard = [hash(page.body.hard) for page in pages]
    for number, page in enumerate(pages):
        same.setdefault((blocks[number], page.body.words), []).append(number)
        for sentence in set(page.body.sentences):
            sharing.setdefault((blocks[number], hard[number], sentence), []).append(number)
    out = []
    for number, page in enumerate(pages):
        keys = [(blocks[number], hard[number], sentence) for sentence in page.body.sentences]
        rarest = min((sharing[key] for key in keys), key=len)
        out.append(sorted({*same[(blocks[number], page.body.words)][:MOST], *rarest[:MOST]}))
    return out


# --- how alike two lessons are


def words(body: str) -> list[str]:
    """Return the words of a learning for comparison.

    Leaves out lines on its origin, and the varying parts of errors.
    """
    lines = [line for line in body.split("\n") if line.strip() and not _ORIGIN.match(line)]
    return [
        word
        for line in lines
        for word in _TOKEN.findall(shell.normal(line) if line.startswith("    ") else line)
    ]


def similar_learnings(
    place: Place, settings: Config, now: float, title: str, body: str
) -> list[Record]:
    """Return the learnings most similar to a text, by the index."""
    from memory.recall import search
    from memory.recall.question import Query

    query = Query(
        (title + "\n" + body)[:ASKED], kinds=("learning",), limit=NEAR, since=float("-inf")
    )
    return [
        hit.record
        for hit in search.recall(place, settings, query, now, clock.local_offset(now), [place]).hits
    ]


def learning_similarity(one: list[str], other: list[str]) -> float:
    """Return the similarity of two learnings, 0 to 1.

    0 where an identifier or a number differs.
    """
    if not one or not other or _exact(one) != _exact(other):
        return 0.0
    low, high = ([word.lower() for word in said] for said in (one, other))
    return SequenceMatcher(None, low, high, autojunk=False).ratio()


def _exact(said: Iterable[str]) -> set[str]:
    return {word for word in said if _EXACT.search(word)}
