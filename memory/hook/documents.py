"""What a record contributes to the index: its documents (sections of a long one, turns of a
conversation), their text, topics and terms; and which files came, changed or went since the index
was built.
"""

from __future__ import annotations

from zlib import crc32

from memory.core import files, frontmatter, records, tokeniser, walk
from memory.core.layout import ADDED, DATED, FOLDERS, endings, is_allowed, is_record
from memory.hook import delta, segment
from memory.hook.indexview import UNWATCHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.core.walk import Found
    from memory.hook.indexview import Index

    Clean = Callable[[Record], Tuple[Record, bool]]

SECTION_CHARS = 6000  # a longer body is indexed section by section
SECTION_LEAST = 400  # a shorter section joins the one before it
TURN = "## "  # what a line that begins a turn of a conversation begins with
TURN_CHARS = 120  # of a turn's heading: its time and request
MOST_TURNS = 4000  # of one conversation: what stands behind them joins the last
HEAD_WEIGHT = 3  # title, section, tags and topics count this often, the body once
MOST_TOPICS = 3
MOST_LINKS = 500  # of a record that are found from their other end
TITLE_TOPICS = 3  # of a learning that names none
# bytes in which a prompt's words are sought without an index; of one file at least
LOOKED, LEAST_LOOKED = 4 << 20, 1 << 11
# files of one changed directory whose times are compared on the blocking path; of more, the names
MOST_LISTED = 1024


def sections(body: str, kind: str = "") -> List[Tuple[str, str]]:
    """Return (heading path, text) of a long body's sections.

    A short body, or a body without headings, stays whole.  A heading path reads `Setup > Docker`.
    `#` inside a fenced code block is no heading.
    kind: of the record; a conversation is cut into its turns, whatever their size.
    """
    told = turns(body) if kind == "conversation" else []
    if told and told[-1][0]:
        return [part for heading, text in told for part in _parts(heading, text)]
    if len(body) <= SECTION_CHARS:
        return [("", body)]
    found: List[Tuple[str, str]] = []
    path: List[str] = []
    lines: List[str] = []

    for line, code in tokeniser.coded(body.splitlines(keepends=True)):
        level, title = (0, "") if code else tokeniser.heading(line)
        if level:
            _add_section(found, path, "".join(lines))
            lines = []
            path[level - 1 :] = [""] * (level - 1 - len(path)) + [title[:80]]
        lines.append(line)
    _add_section(found, path, "".join(lines))
    return found or [("", body)]


def _add_section(found: List[Tuple[str, str]], path: List[str], block: str) -> None:
    """Add a section's text, a short one to the section before."""
    if found and len(block) < SECTION_LEAST:
        found[-1] = (found[-1][0], found[-1][1] + block)
    elif block.strip():
        found.append((" > ".join(p for p in path if p), block))


def turns(body: str) -> List[Tuple[str, str]]:
    """Return (heading, text) of each turn of a conversation.

    A turn begins at a heading with its time, `## 14:03 …` or `## 2026-01-24 09:10 …`, outside
    fenced code.  Text before the first turn has the heading "".
    """
    found: List[Tuple[str, str]] = []
    lines: List[str] = []
    heading = ""

    def close() -> None:
        text = "".join(lines)
        if len(found) >= MOST_TURNS:
            found[-1] = (found[-1][0], found[-1][1] + text)
        elif heading or text.strip():
            found.append((heading, text))
        lines.clear()

    for line, code in tokeniser.coded(body.split("\n")):
        if not code and _begins(line):
            close()
            heading = " ".join(line[len(TURN) :].split())[:TURN_CHARS]
        lines.append(line + "\n")
    lines[-1] = lines[-1][:-1]
    close()
    return found


def turn_number(found: Sequence[Tuple[str, str]], ordinal: int) -> int:
    """Return the number of a section's turn, counted from 1.

    found: sections of the conversation.  0 for text before the first turn.
    """
    return sum(1 for _, text in found[: ordinal + 1] if _begins(text))


def _begins(line: str) -> bool:
    """Tell whether a line is the heading of a turn."""
    if not line.startswith(TURN):
        return False
    said = line[len(TURN) : len(TURN) + 16]
    if said[4:5] == said[7:8] == "-" and said[10:11] == " ":
        said = said[11:]
    return said[2:3] == ":" and len(said) >= 5 and (said[:2] + said[3:5]).isdigit()


def _parts(heading: str, text: str) -> List[Tuple[str, str]]:
    """Return a very long turn's sections under the same heading."""
    found: List[Tuple[str, str]] = []
    lines: List[str] = []
    size = 0
    for line, code in (
        tokeniser.coded(text.splitlines(keepends=True)) if len(text) > SECTION_CHARS else ()
    ):
        if not code and not line.strip() and size > SECTION_CHARS // 2:
            found.append((heading, "".join(lines)))
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    return [*found, (heading, "".join(lines))] if found else [(heading, text)]


def topic_names(record: Record) -> Tuple[str, ...]:
    """Return the topics of a record, most telling first.

    Written topics; of a learning without any, the first telling words of its title, or of its
    file's name where it has no title of its own.
    """
    written = written_topics(record)
    if written or record.kind != "learning":
        return written
    title = (
        record.title
        if record.meta.get("title")
        else record.name.rpartition("/")[2][:-3].replace("-", " ")
    )
    words = [word.strip("-./_").lower() for word in tokeniser.split(_without_marks(title))]
    return tuple(
        dict.fromkeys(
            word
            for word in words
            if len(word) > 1
            and not word.isdigit()
            and word not in tokeniser.STOP
            and tokeniser.stem(word) not in tokeniser.COMMON
        )
    )[:TITLE_TOPICS]


def _without_marks(said: str) -> str:
    """Return a text without its marks of removed secrets.

    `[redacted:token#1a2b]`: their words are no topic.
    """
    first, *pieces = said.split("[redacted:")
    return first + "".join(piece.partition("]")[2] for piece in pieces)


def written_topics(record: Record) -> Tuple[str, ...]:
    """Return the written topics and tags of a record, normalised."""
    found: Dict[str, None] = {}
    for name in (*record.topics, *record.tags):
        name = "-".join(name.lower().split())[:40]
        if name:
            found[name] = None
    return tuple(found)[:MOST_TOPICS]


def count_topics(rows: Iterable[Tuple[Tuple[str, ...], bool]]) -> List[List[Any]]:
    """Return [topic, pushable learnings, records] of at most 2,000 topics.

    Most learnings first.  rows: the topics of a record, and whether it is a pushable learning.
    """
    counts: Dict[str, List[int]] = {}
    for topics, pushable in rows:
        for topic in topics:
            both = counts.setdefault(topic, [0, 0])
            both[0] += pushable
            both[1] += 1
    table = sorted((-both[0], -both[1], name) for name, both in counts.items())
    return [[name, -a, -b] for a, b, name in table[:2000]]


def head(record: Record, section: str) -> str:
    """Return the text that weighs more than a document's body.

    Title, section, aliases, tags and topics.  The heading of a turn is its request cut short, a
    time before it: it counts once, as the body's first line (measured on 115 real sessions: 158
    questions, 4 to 5 more found among the first five).
    """
    said = "" if record.kind == "conversation" else section
    if record.tier == ADDED:  # there a note is called as its file is
        said = (
            (records.note_name(record.name) + " " + said)
            if records.note_name(record.name) != record.title
            else said
        )
    return " ".join((record.title, said, *record.aliases, *record.tags, *record.topics))


def weighted_head(record: Record, section: str) -> str:
    """Return the text before a document's body.

    Its head comes HEAD_WEIGHT times, then its files and rationale.
    """
    return (head(record, section) + " ") * HEAD_WEIGHT + text_outside_body(record) + "\n"


def text_outside_body(record: Record) -> str:
    """Return a record's searchable text outside its body.

    Its files and its rationale.
    """
    return " ".join(
        value if isinstance(value, str) else " ".join(map(str, value))
        for value in (record.meta.get("files"), record.meta.get("rationale"))
        if value
    )


def documents(
    record: Record, mtime_ns: int, size: int, secret: bool = False
) -> List[Tuple[segment.Doc, str, str]]:
    """Return (document, weighted head, body) for each section.

    Head and body are both tokenised.
    secret: whether the record's file holds a secret.
    """
    flags = segment.flags_of(
        record.kind, record.tier, record.source, record.accepted, record.pinned, record.active
    ) | (segment.SECRET if secret else 0)
    created = max(0, min(int(record.created), 0xFFFFFFFF))
    checksum = bytes.fromhex(record.checksum[:16])
    tokens, topics = tokeniser.count_tokens(record.body), topic_names(record)
    return [
        (
            segment.Doc(
                record.name,
                record.id,
                section,
                flags,
                created,
                tokens,
                size,
                mtime_ns,
                checksum,
                topics,
                i,
            ),
            weighted_head(record, section),
            body,
        )
        for i, (section, body) in enumerate(sections(record.body, record.kind))
    ]


def link_key(said: str) -> str:
    """Return a link's target in the form compared with names.

    Lower case, single blanks.
    """
    return " ".join(said.lower().split())


def record_keys(id: str, name: str, title: str, aliases: Iterable[str] = ()) -> Tuple[str, ...]:
    """Return the keys by which links may name a record.

    Its id, its file's name without `.md`, its title, its aliases.
    """
    file = name[name.rfind("/") + 1 : name.rfind(".")]
    said = (id, title, *aliases) if file == id else (id, file, title, *aliases)
    return tuple(dict.fromkeys(map(link_key, said)))


def link_target_keys(target: str) -> Tuple[str, ...]:
    """Return the keys that a link's target may mean.

    The target itself; of a path also the file's name without `.md`.
    """
    key = link_key(target)
    if "/" not in key and key[-3:] != ".md":
        return (key,)
    file = key.rpartition("/")[2]
    return key, file[:-3] if file.endswith(".md") else file


def name_terms(keys: Iterable[str]) -> List[str]:
    """Return the index terms of records with these names.

    keys: from `record_keys` or `link_target_keys`.
    """
    return ["\x03%x" % crc32(key.encode("utf-8", "replace")) for key in keys]


def link_terms(keys: Iterable[str]) -> List[str]:
    """Return the index terms of records linking to these keys."""
    return ["\x02%x" % crc32(key.encode("utf-8", "replace")) for key in keys]


def keys(record: Record) -> List[str]:
    """Return a record's index terms beside those of its text.

    For its names, its links, its session and its branch.
    """
    found = name_terms(record_keys(record.id, record.name, record.title, record.aliases))
    session, branch = record.meta.get("session"), record.meta.get("branch")
    if record.kind in DATED and isinstance(session, str) and session:
        found.append(segment.session_term(session))
    if record.kind == "checkpoint" and isinstance(branch, str) and branch:
        found.append(segment.branch_term(branch))
    if record.links:
        found += link_terms(
            dict.fromkeys(
                key for link in record.links[:MOST_LINKS] for key in link_target_keys(link[1])
            )
        )
    return found


def is_pushable(record: Record) -> bool:
    """Tell whether a record is an accepted learning.

    Prompts get such a record unasked.
    """
    return record.kind == "learning" and record.accepted


def term_counts(
    found: Iterable[Tuple[segment.Doc, str, str]],
) -> Iterator[Tuple[segment.Doc, Dict[str, int], int]]:
    """Yield (document, how often each term occurs, how many terms occur).

    The turns of a conversation share their head: it is tokenised once.
    """
    known, shared = None, []
    for doc, heading, body in found:
        if heading != known:
            known, shared = heading, tokeniser.tokens(heading)
        counts: Dict[str, int] = {}
        terms = shared + tokeniser.tokens(body)
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        yield doc, counts, len(terms)


# ---- what the files say that the index has not read yet: loaded where something changed


def read(place: Place, name: str) -> Optional[Tuple[Any, Any]]:
    """Return (record, its file's stat), None if it is not to be indexed."""
    try:
        data, stat = place.read(name, 1 << 20)
    except OSError:
        return None
    if frontmatter.undecodable(data):
        return None
    record = records.skim(name, data, stat.st_mtime)
    return (record, stat) if is_allowed(record.kind, record.tier) else None


def without_private(record: Record) -> Record:
    """Return a record without its <private> parts."""
    if "privat" not in (record.title + record.body).lower():
        return record
    from memory.hook import markup

    title, body = markup.without_private(record.title), markup.without_private(record.body)
    return record if body == record.body else record.replaced(title=title, body=body)


def frame(found: Index, name: str, clean: Optional[Clean] = None) -> bytes:
    """Read a file and return its delta frame.

    clean: returns the record to index, and whether its file holds a secret; a hook has no time
        for it, and takes what was known of the file before.
    """
    was_read = read(found.place, name)
    if was_read is None:
        return delta.encode(name, found.segment, ())
    record, stat = was_read
    record, secret = clean(record) if clean else (without_private(record), found.is_secret(name))
    changes = []
    for doc, counts, length in term_counts(
        documents(record, stat.st_mtime_ns, stat.st_size, secret)
    ):
        if not doc.ordinal:
            counts.update(dict.fromkeys(keys(record), 1))
        changes.append((doc, counts, length))
    return delta.encode(name, found.segment, changes)


def choose_files(
    place: Place, listed: Sequence[Found], most: int, prompt: str
) -> Tuple[Sequence[Found], int]:
    """Return (at most `most` files to rank, number not looked at).

    For a prompt: half hold its rarest words, the others come first in the order of preference.
    listed: files in that order, which the chosen ones keep.
    """
    # a stem such as `retri` must be found in `retry`
    words = {
        term[:-1] if term[-1:] == "i" and len(term) > 3 else term
        for term, _ in tokeniser.terms(prompt)
    }
    sought = [word.encode("utf-8", "replace") for word in words]
    if len(listed) <= most or not sought:
        return listed[:most], max(0, len(listed) - most)
    held = _held_words(place, listed, sought)
    counts: Dict[bytes, int] = {}
    for found in held:
        for word in found:
            counts[word] = counts.get(word, 0) + 1
    worth = sorted(
        (-sum(1 / counts[word] for word in found), at) for at, found in enumerate(held) if found
    )
    chosen = {at for _, at in worth[: most // 2]}
    chosen.update([at for at in range(len(listed)) if at not in chosen][: most - len(chosen)])
    return [listed[at] for at in sorted(chosen)], len(listed) - max(len(held), most)


def _held_words(
    place: Place, listed: Sequence[Found], sought: Sequence[bytes]
) -> List[Sequence[bytes]]:
    """Return the words in each file, of as many files as may be read."""
    left = LOOKED
    held: List[Sequence[bytes]] = []
    for name, _, _, size in listed:
        if left <= 0:
            break
        try:
            data = place.read(name, min(size, left))[0].lower()
        except OSError:
            held.append(())
            continue
        left -= max(len(data), LEAST_LOOKED)
        held.append([word for word in sought if word in data])
    return held


def new_folders(tier: str, watch: Dict[str, Any]) -> List[str]:
    """Return a tier's kind folders made since the index was built."""
    watched = {row[0] for row in watch.get("folders", [])}
    return [
        name
        for name in (tier + "/" + folder for folder in FOLDERS.values())
        if name not in watched and not name.endswith(UNWATCHED[1:])
    ]


def folder_changes(
    found: Index, folder: str, path: str, known: Dict[str, segment.Doc], most: int = MOST_LISTED
) -> List[str]:
    """Return the names of added, changed or deleted files of a directory.

    Compared with the index.
    most: compare times of at most so many files; of more, the names alone.
    """
    assert found.segment is not None
    try:
        listed = [e for e in files.posix.scandir(path) if e.name[0] != "."]
    except OSError:
        listed = []
    entries = [e for e in listed if is_record(e.name, endings(folder))]
    many = len(entries) > most
    indexed = found.segment.under(folder)
    names = []
    folders = {name[: name.find("/", len(folder) + 1)] for name in indexed}
    for entry in listed:
        start = folder + "/" + entry.name
        # a day's folder that came since the build
        if start not in folders and entry.is_dir(follow_symlinks=False):
            names += _new_folder(found, start, entry.path, 2)
    for entry in entries:
        name = folder + "/" + entry.name
        before = indexed.pop(name, None)
        if name in known or (many and before is not None):
            continue
        try:
            st = entry.stat()
        except OSError:  # a link to nothing or in a circle
            st = None
        if st is None or st.st_mode & walk.TYPE != walk.REGULAR:
            if before is not None and found.delta.names.get(name) != -1:
                names.append(name)
        elif before != (st.st_mtime_ns, st.st_size) or found.delta.names.get(name) == -1:
            names.append(name)
    gone = [
        name
        for name in indexed
        if "/" not in name[len(folder) + 1 :] and name not in found.delta.names
    ]
    return names + gone


def _new_folder(found: Index, folder: str, path: str, depth: int) -> List[str]:
    """Return the unindexed records of a folder and its subfolders."""
    names = []
    for name, below, is_dir in _visible_entries(path):
        if is_dir and depth < 8:
            names += _new_folder(found, folder + "/" + name, below, depth + 1)
        elif (
            is_record(name, endings(folder)) and found.delta.names.get(folder + "/" + name, -1) < 0
        ):
            names.append(folder + "/" + name)
    return names


def _visible_entries(path: str) -> List[Tuple[str, str, bool]]:
    """Return (name, path, whether it is a folder) of a folder's entries."""
    try:
        return sorted(
            (e.name, e.path, e.is_dir(follow_symlinks=False))
            for e in files.posix.scandir(path)
            if e.name[0] != "." and (e.is_symlink() or e.is_file() or e.is_dir())
        )
    except OSError:
        return []
