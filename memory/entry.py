"""What a record contributes to the index: its documents (sections of a long one), their text, topics and terms."""

from __future__ import annotations

from zlib import crc32

from memory import clock, segment, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Tuple

    from memory.records import Record

SECTION_CHARS = 6000  # a longer body is indexed section by section
SECTION_LEAST = 400  # a shorter section joins the one before it
HEAD_WEIGHT = 3  # title, section, tags and topics count this often, the body once
MOST_TOPICS = 3
MOST_LINKS = 500  # of a record that are found from their other end
TITLE_TOPICS = 3  # of a learning that names none


def sections(body: str) -> List[Tuple[str, str]]:
    """Cut a long body at its headings into (heading path, text); a short one, or one without headings, stays whole.

    A heading path reads `Setup > Docker`.  `#` inside a fenced code block is no heading.
    """
    if len(body) <= SECTION_CHARS:
        return [("", body)]
    found: List[Tuple[str, str]] = []
    path: List[str] = []
    lines: List[str] = []

    def close() -> None:
        block = "".join(lines)
        if found and len(block) < SECTION_LEAST:
            found[-1] = (found[-1][0], found[-1][1] + block)
        elif block.strip():
            found.append((" > ".join(p for p in path if p), block))
        lines.clear()

    for line, code in text.coded(body.splitlines(keepends=True)):
        level, title = (0, "") if code else text.heading(line)
        if level:
            close()
            path[level - 1:] = [""] * (level - 1 - len(path)) + [title[:80]]
        lines.append(line)
    close()
    return found or [("", body)]


def topic_names(record: Record) -> Tuple[str, ...]:
    """Return the topics of a record, most telling first: those written in it; of a learning without any, the first telling
    words of its title, or of its file's name where it has no title of its own."""
    written = written_topics(record)
    if written or record.kind != "learning":
        return written
    title = record.title if record.meta.get("title") else record.name.rpartition("/")[2][:-3].replace("-", " ")
    words = [word.strip("-./_").lower() for word in text.split(_without_marks(title))]
    return tuple(dict.fromkeys(word for word in words if len(word) > 1 and not word.isdigit() and word not in text.STOP
                               and text.stem(word) not in text.COMMON))[:TITLE_TOPICS]


def _without_marks(said: str) -> str:
    """Return a text without the marks that stand for secrets, `[redacted:token#1a2b]`: their words are no topic."""
    first, *pieces = said.split("[redacted:")
    return first + "".join(piece.partition("]")[2] for piece in pieces)


def written_topics(record: Record) -> Tuple[str, ...]:
    """Return the topics and then the tags that stand in a record, in the form that all are compared in."""
    found: Dict[str, None] = {}
    for name in (*record.topics, *record.tags):
        name = "-".join(name.lower().split())[:40]
        if name:
            found[name] = None
    return tuple(found)[:MOST_TOPICS]


def indexed_text(record: Record, section: str, body: str) -> str:
    """Return the text that is tokenised for one document, its head repeated by HEAD_WEIGHT."""
    head = " ".join((record.title, section, *record.tags, *record.topics, ""))
    return head * HEAD_WEIGHT + beside(record) + "\n" + body


def beside(record: Record) -> str:
    """Return what counts as a record's text without standing in its body: its files, its rationale."""
    return " ".join(value if isinstance(value, str) else " ".join(map(str, value))
                    for value in (record.meta.get("files"), record.meta.get("rationale")) if value)


def documents(record: Record, mtime_ns: int, size: int) -> List[Tuple[segment.Doc, str]]:
    """Return (document, text to tokenise) for each section of a record."""
    flags = segment.flags_of(record.kind, record.tier, record.source, record.accepted, record.pinned, record.active)
    created = max(0, min(int(record.created), 0xFFFFFFFF))
    checksum = bytes.fromhex(record.checksum[:16])
    tokens, topics = text.count_tokens(record.body), topic_names(record)
    return [(segment.Doc(record.name, record.id, section, flags, created, tokens, size, mtime_ns, checksum, topics, i),
             indexed_text(record, section, body))
            for i, (section, body) in enumerate(sections(record.body))]


def link_key(said: str) -> str:
    """Return the form in which a link's target is compared with the names of records: lower case, single blanks."""
    return " ".join(said.lower().split())


def called(id: str, name: str, title: str) -> Tuple[str, ...]:
    """Return what a link may call a record, as keys: its id, its file's name without `.md`, its title."""
    file = name[name.rfind("/") + 1:-3]
    said = (id, title) if file == id else (id, file, title)
    return tuple(dict.fromkeys(map(link_key, said)))


def aimed(target: str) -> Tuple[str, ...]:
    """Return the keys that a link's target may mean: itself, and where it looks like a path its file's name without `.md`."""
    key = link_key(target)
    if "/" not in key and key[-3:] != ".md":
        return (key,)
    file = key.rpartition("/")[2]
    return key, file[:-3] if file.endswith(".md") else file


def name_terms(keys: Iterable[str]) -> List[str]:
    """Return the terms of the index under which the records that are called so stand."""
    return ["\x03%x" % crc32(key.encode("utf-8", "replace")) for key in keys]


def link_terms(keys: Iterable[str]) -> List[str]:
    """Return the terms of the index under which the records that link so stand."""
    return ["\x02%x" % crc32(key.encode("utf-8", "replace")) for key in keys]


def keys(record: Record) -> List[str]:
    """Return the terms of a record beside those of its text: what it is called, what it links to."""
    found = name_terms(called(record.id, record.name, record.title))
    if record.links:
        found += link_terms(dict.fromkeys(key for link in record.links[:MOST_LINKS] for key in aimed(link[1])))
    return found


def is_pushable(record: Record) -> bool:
    """Tell whether a prompt may get this record unasked: an accepted learning."""
    return record.kind == "learning" and record.accepted


def frequencies(content: str) -> Tuple[Dict[str, int], int]:
    """Return (how often each term occurs, how many terms occur) in a text."""
    counts: Dict[str, int] = {}
    found = text.tokens(content)
    for term in found:
        counts[term] = counts.get(term, 0) + 1
    return counts, len(found)


def brief_day(created: float) -> str:
    """Return the day of an instant: the finest time that a block put before the model ever shows."""
    return clock.day(created)
