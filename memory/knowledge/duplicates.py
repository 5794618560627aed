"""Records that say the same, which housekeeping.py may merge without losing a fact.

Kind, tier and the rest of the frontmatter agree (what is united, and what says when and by whom,
apart), one's title is the other's or stands in its text, and both have the same words in the same
order. Words are what blank space cuts, but for code, which is one word however many blanks it
holds; a line of fenced code is one with its indentation. Marks around a word, alone, or at a line's
beginning go, and so does the case of plain words: not of one with a digit, a symbol or a capital
inside.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple
from unicodedata import normalize

from memory.core import clock, files
from memory.core.records import READ_LIMIT, SOURCES, TWO_SESSIONS, Record
from memory.core.tokeniser import mark_code
from memory.hook import handoffs
from memory.index.kept import FactCache, cached_fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.store.store import Store

# learnings that a text is compared with; characters of it that they are looked up by
NEAR, ASKED = 8, 600
SAME = 0.95  # of the words of two lessons that agree in their order: what makes them one
KINDS = ("learning", "checkpoint", "resource")  # rules bind as approved, a plan is an intention
# Keys that are united, or say when, by whom and how a record came to be.
_UNCOMPARED_KEYS = frozenset(
    "id kind title created updated date tags topics versions links source confidence pinned "
    "accepted harvest trigger until suggested_by".split()
)
_LEFT, _RIGHT = "\"'“”‘’([{（「『【《«", ".,;:!…\"'”’)]}）」』】》»。、，；：！"
# a list's bullet, a heading's marks, a rule
_LINE_MARK = re.compile(r"(?m)^[ \t]*(?:[-*•]|#{1,6})(?=[ \t])|^[ \t]*[-*_]{3,}[ \t]*$")
# code between backticks, also over lines
_CODE = r"(?<!`)(`+)(?!`)(?:[^`\n]|\n(?![ \t]*\n))+\1(?!`)"
# code, or **bold** as its second group
_BOLD = re.compile(_CODE + r"|(?<!\*)\*\*(?=[^\s*])([^*\n]+)(?<=\S)\*\*(?!\*)")
_WORD = re.compile(r"(?:%s|\S)+" % _CODE)


class Duplicate(NamedTuple):
    kept: Record
    other: Record


def split_words(text: str) -> list[str]:
    """Return a text's words for comparison, in order."""
    words: list[str] = []
    prose: list[str] = []
    lines = mark_code(normalize("NFC", text).replace("’", "'").split("\n"))
    for line, is_code in [*lines, ("", True)]:  # code ends a piece of prose
        if not is_code:
            prose.append(line)
            continue
        plain = _LINE_MARK.sub("", "\n".join(prose))
        plain = _BOLD.sub(lambda match: match[2] or match[0], plain)
        words += filter(None, (_normalise_word(match[0]) for match in _WORD.finditer(plain)))
        words += ["\n" + line.rstrip()] if line else []
        prose = []
    return words


def _normalise_word(raw: str) -> str:
    """Return a word without punctuation around it, "" for punctuation alone."""
    if "`" in raw:
        return " ".join(raw.lstrip(_LEFT).rstrip(_RIGHT).split())
    if raw in _LEFT or raw in _RIGHT:
        return raw if len(raw) > 1 else ""
    word = raw.lstrip(_LEFT).rstrip(_RIGHT) or raw
    plain = word[0].isalpha() and word.replace("-", "").replace("'", "").isalpha()
    return word.lower() if plain and (word[1:].islower() or word.isupper()) else word


def is_mergeable(record: Record) -> bool:
    """Tell whether a record may be merged at all.

    Not a rule, script, plan or handoff, nor an empty or partly read one.
    """
    return (
        record.kind in KINDS
        and not handoffs.is_handoff(record)
        and record.size <= READ_LIMIT
        and bool(record.body.strip())
        and not (record.kind == "resource" and record.meta.get("type") == "script")
    )


def hash_words(record: Record, kept: FactCache | None) -> str:
    """Return a hash of a record's words, 16 hex digits."""

    def compute() -> str:
        words = "\0".join(split_words(record.body))
        return files.sha256(words.encode("utf-8", "replace"))[:16]

    return str(cached_fact(kept, record.name, record.checksum, "words", compute))


def find_duplicates(
    records: Iterable[Record],
    successes: Mapping[str, int],
    bound: Container[str] = (),
    kept: FactCache | None = None,
) -> list[Duplicate]:
    """Return the duplicates among records, sorted by name.

    Kept is what helped more often, then a human's record before an agent's, then the newer; a
    captured record never replaces another's. successes: by id, how often a record helped. bound:
    ids that must stay.
    """
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in filter(is_mergeable, records):
        session = str(record.meta.get("session")) if record.kind == "checkpoint" else ""
        key = (record.kind, record.tier, session, hash_words(record, kept))
        groups.setdefault(key, []).append(record)
    found = [
        pair
        for group in groups.values()
        if len(group) > 1
        for pair in _find_in_group(
            sorted(group, key=lambda one: _rank_key(one, successes, bound)), bound
        )
    ]
    return sorted(found, key=lambda pair: (pair.kept.name, pair.other.name))


def _find_in_group(group: Sequence[Record], bound: Container[str]) -> Iterator[Duplicate]:
    """Yield the duplicates among records of equal words; group: best first."""
    stay: list[Record] = []
    for record in group:
        twin = next((one for one in stay if _may_replace(one, record)), None)
        if twin is None or record.id in bound:
            stay.append(record)
        else:
            yield Duplicate(twin, record)


def _rank_key(
    record: Record, successes: Mapping[str, int], bound: Container[str]
) -> tuple[Any, ...]:
    """Return a sort key that puts the record to keep first."""
    return (
        record.id not in bound,
        _authority(record),
        -successes.get(record.id, 0),
        SOURCES.index(record.source),
        -record.updated,
        record.name,
    )


def _authority(record: Record) -> int:
    """Return 0 for a person's or agent's record, 1 for dayleaf's, 2 for a candidate."""
    return 0 if record.source != "auto" else 1 if record.accepted else 2


def _may_replace(kept: Record, other: Record) -> bool:
    """Tell whether a record may replace another of equal words.

    Fields that a merge unites do not count. A record for no version in particular holds for more
    than one with versions: the two stay apart.
    """
    if _authority(kept) > _authority(other) or bool(kept.versions) != bool(other.versions):
        return False
    compared = {key for key, value in other.meta.items() if value} - _UNCOMPARED_KEYS
    if kept.kind == "learning":
        compared.discard("session")
    if any(_to_texts(kept.meta.get(key)) != _to_texts(other.meta[key]) for key in compared):
        return False
    title, body = split_words(other.title), split_words(kept.body)
    return title == split_words(kept.title) or any(
        body[at : at + len(title)] == title for at in range(len(body))
    )


def _to_texts(value: Any) -> list[str]:
    return [str(item).strip() for item in (value if isinstance(value, (list, tuple)) else [value])]


# --- how alike two lessons are


def find_similar_learning(
    place: Place, settings: Config, now: float, title: str, body: str
) -> Record | None:
    """Return a learning that says nearly the same as a text, or None.

    Names and numbers must be the same.
    """
    from memory.recall import search
    from memory.recall.question import Query

    query = Query(
        (title + "\n" + body)[:ASKED], kinds=("learning",), limit=NEAR, since=float("-inf")
    )
    near = search.recall(place, settings, query, now, clock.local_offset, [place]).hits
    words = split_words(body)
    for hit in near:
        if _is_similar(split_words(hit.record.body.partition("\n\nFrom ")[0]), words):
            return hit.record
    return None


def find_same_learning(store: Store, title: str, text: str) -> Record | None:
    """Return a learning of any title and tier that repeats a text, or None."""
    place, settings = store.place, store.config
    found = find_similar_learning(place, settings, store.now, title, text)
    return found if found and store.repeats(found, text) else None


def accept_repeated(record: Record, session: str) -> dict[str, Any]:
    """Return the keys that accept a candidate if another session repeats it, or {}."""
    first = record.meta.get("session")
    is_other = bool(first and session) and first != session
    return {"accepted": True, "accepted_by": TWO_SESSIONS} if is_other else {}


def _is_similar(one: list[str], other: list[str]) -> bool:
    exact, other_exact = ({word for word in words if not word.isalpha()} for words in (one, other))
    return exact == other_exact and SequenceMatcher(None, one, other, autojunk=False).ratio() > SAME
