"""Records that say the same: which ones may be merged without a fact going.  housekeeping.py merges
them.

Two records say the same where kind, tier and the rest of the frontmatter agree (what is united, and
what says when and by whom, apart), one's title is the other's or stands in its text, and both have
the same words in the same order.  Words are what blank space cuts, but for code, which is one word
however many blanks it holds; a line of fenced code is one with its indentation.  Marks around a
word, alone, or at a line's beginning go, and so does the case of plain words: not of one with a
digit, a symbol or a capital inside.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple
from unicodedata import normalize

from memory.core import clock, files
from memory.core.records import READ_LIMIT, SOURCES, Record
from memory.core.tokeniser import coded
from memory.hook import handoffs
from memory.index.kept import Kept, cached_fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.config import Config
    from memory.core.layout import Place

# learnings that a text is compared with; characters of it that they are looked up by
NEAR, ASKED = 8, 600
SAME = 0.95  # of the words of two lessons that agree in their order: what makes them one
KINDS = ("learning", "checkpoint", "resource")  # rules bind as approved, a plan is an intention
# Keys that are united, or say when, by whom and how a record came to be.
_LOOSE = frozenset(
    "id kind title created updated date tags topics versions links source confidence pinned "
    "accepted harvest trigger until suggested_by".split()
)
_LEFT, _RIGHT = "\"'“”‘’([{（「『【《«", ".,;:!…\"'”’)]}）」』】》»。、，；：！"
_LEAD = re.compile(r"(?m)^[ \t]*(?:[-*•]|#{1,6})(?=[ \t])|^[ \t]*[-*_]{3,}[ \t]*$")
_CODE = r"(?<!`)(`+)(?!`)(?:[^`\n]|\n(?![ \t]*\n))+\1(?!`)"
_BOLD = re.compile(_CODE + r"|(?<!\*)\*\*(?=[^\s*])([^*\n]+)(?<=\S)\*\*(?!\*)")
_WORD = re.compile(r"(?:%s|\S)+" % _CODE)


class Duplicate(NamedTuple):
    """A record to keep and its duplicate."""

    kept: Record
    other: Record


def words(text: str) -> list[str]:
    """Return the words of a text in order, as they are compared."""
    found: list[str] = []
    prose: list[str] = []
    for line, code in [*coded(normalize("NFC", text).replace("’", "'").split("\n")), ("", True)]:
        if code:
            plain = _BOLD.sub(lambda match: match[2] or match[0], _LEAD.sub("", "\n".join(prose)))
            found += filter(None, (_word(match[0]) for match in _WORD.finditer(plain)))
            found += ["\n" + line.rstrip()] if line else []
            prose = []
        else:
            prose.append(line)
    return found


def _word(raw: str) -> str:
    """Return a word without the marks around it, "" for a mark alone."""
    if "`" in raw:
        return " ".join(raw.lstrip(_LEFT).rstrip(_RIGHT).split())
    if raw in _LEFT or raw in _RIGHT:
        return raw if len(raw) > 1 else ""
    word = raw.lstrip(_LEFT).rstrip(_RIGHT) or raw
    plain = word[0].isalpha() and word.replace("-", "").replace("'", "").isalpha()
    return word.lower() if plain and (word[1:].islower() or word.isupper()) else word


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


def digest(record: Record, kept: Kept | None) -> str:
    """Return 16 hex digits of a body's words.

    kept: cache of earlier runs.
    """
    return str(
        cached_fact(
            kept,
            record.name,
            record.checksum,
            "words",
            lambda: files.sha256("\0".join(words(record.body)).encode("utf-8", "replace"))[:16],
        )
    )


def find(
    records: Iterable[Record],
    successes: Mapping[str, int],
    bound: Container[str] = (),
    kept: Kept | None = None,
) -> list[Duplicate]:
    """Return the duplicates among records.

    Sorted by the kept record's name, then the other's. successes: by id, how often a record helped:
    the one with more is kept, then a human's before an agent's, then the newer. A captured record
    never replaces a person's or an agent's. bound: ids that must stay. kept: cache of earlier runs.
    """
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in filter(mergeable, records):
        session = str(record.kind == "checkpoint" and record.meta.get("session"))
        key = (record.kind, record.tier, session, digest(record, kept))
        groups.setdefault(key, []).append(record)
    found = [
        pair
        for group in groups.values()
        if len(group) > 1
        for pair in _duplicates(sorted(group, key=lambda one: _rank(one, successes, bound)), bound)
    ]
    return sorted(found, key=lambda pair: (pair.kept.name, pair.other.name))


def _duplicates(group: Sequence[Record], bound: Container[str]) -> Iterator[Duplicate]:
    """Yield the duplicates among records of the same words, the best first."""
    stay: list[Record] = []
    for record in group:
        twin = next((one for one in stay if _covers(one, record)), None)
        if twin is None or record.id in bound:
            stay.append(record)
        else:
            yield Duplicate(twin, record)


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


def _covers(kept: Record, other: Record) -> bool:
    """Tell whether a record may replace another of the same words.

    Fields that a merge unites do not count. A record for no version in particular holds for more
    than one with versions: the two stay apart.
    """
    if _standing(kept) > _standing(other) or bool(kept.versions) != bool(other.versions):
        return False
    if not all(
        _plain(kept.meta.get(key)) == _plain(value)
        for key, value in other.meta.items()
        if value and key not in _LOOSE and not (key == "session" and kept.kind == "learning")
    ):
        return False
    title, body = words(other.title), words(kept.body)
    return title == words(kept.title) or any(
        body[at : at + len(title)] == title for at in range(len(body))
    )


def _plain(value: Any) -> list[str]:
    """Return the texts of a value, stripped of blank space."""
    return [str(item).strip() for item in (value if isinstance(value, (list, tuple)) else [value])]


# --- how alike two lessons are


def like_learning(
    place: Place, settings: Config, now: float, title: str, body: str
) -> Record | None:
    """Return the learning that says what a text says but for a word or two.

    Of those that the index finds; names and numbers must be the same.
    """
    from memory.recall import search
    from memory.recall.question import Query

    query = Query(
        (title + "\n" + body)[:ASKED], kinds=("learning",), limit=NEAR, since=float("-inf")
    )
    near = search.recall(place, settings, query, now, clock.local_offset(now), [place]).hits
    said = words(body)
    return next(
        (
            hit.record
            for hit in near
            if _alike(words(hit.record.body.partition("\n\nFrom ")[0]), said)
        ),
        None,
    )


def _alike(one: list[str], other: list[str]) -> bool:
    exact, same = ({word for word in said if not word.isalpha()} for said in (one, other))
    return exact == same and SequenceMatcher(None, one, other, autojunk=False).ratio() > SAME
