"""Turn a record into documents of the index, and find changed files.

A document is a section of a long record or a turn of a conversation, with its text, topics and
terms.
"""

from __future__ import annotations

from memory.core import files, frontmatter, records, tokeniser, walk
from memory.core.layout import (
    ADDED,
    DATED_KINDS,
    FOLDERS,
    is_kind_allowed,
    is_record,
    record_suffixes,
)
from memory.hook import delta, segment
from memory.hook.indexview import UNWATCHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Iterator, Sequence

    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.core.walk import Found
    from memory.hook.indexview import Index

    Clean = Callable[[Record], tuple[Record, int]]

SECTION_CHARS = 6000  # a longer body is indexed section by section
SECTION_LEAST = 400  # a shorter section joins the one before it
TURN = "## "  # what a line that begins a turn of a conversation begins with
TURN_CHARS = 120  # of a turn's heading: its time and request
MOST_TURNS = 4000  # of one conversation: what stands behind them joins the last
HEAD_WEIGHT = 3  # title, section, tags and topics count this often, the body once
MOST_TOPICS = 3
MOST_LINKS = 500  # of a record that are found from their other end
# keys whose values are no words, or searched otherwise
_UNSEARCHED = frozenset(
    "accepted accepted_by alias aliases branch by categories checksum commit confidence "
    "conversation created date feedback harvest id imported kind links origin pinned plan "
    "refreshed said session since snapshot source_ref status suggested_by tags timestamp title "
    "topics trigger turns type unattended until updated wall written".split()
)
TITLE_TOPICS = 3  # of a learning that names none
# bytes in which a prompt's words are sought without an index; of one file at least
READ_BYTES, LEAST_READ_BYTES = 4 << 20, 1 << 11
# files of one changed directory whose times are compared on the blocking path; of more, the names
MOST_LISTED = 1024


def split_sections(body: str, kind: str = "") -> list[tuple[str, str]]:
    """Return (heading path, text) of a long body's sections.

    A short body, or one without headings, stays whole.  A heading path reads `Setup > Docker`.
    kind: of the record; a conversation is cut into its turns, whatever their size.
    """
    turns = split_turns(body) if kind == "conversation" else []
    if turns and turns[-1][0]:
        return [part for heading, text in turns for part in _split_long_turn(heading, text)]
    if len(body) <= SECTION_CHARS:
        return [("", body)]
    sections: list[tuple[str, str]] = []
    path: list[str] = []
    lines: list[str] = []

    for line, code in tokeniser.mark_code(body.splitlines(keepends=True)):
        level, title = (0, "") if code else tokeniser.parse_heading(line)
        if level:
            _add_section(sections, path, "".join(lines))
            lines = []
            # the heading ends those of its level and below
            path[level - 1 :] = [""] * (level - 1 - len(path)) + [title[:80]]
        lines.append(line)
    _add_section(sections, path, "".join(lines))
    return sections or [("", body)]


def _add_section(sections: list[tuple[str, str]], path: list[str], block: str) -> None:
    """Add a section; a short one joins the section before."""
    if sections and len(block) < SECTION_LEAST:
        sections[-1] = (sections[-1][0], sections[-1][1] + block)
    elif block.strip():
        sections.append((" > ".join(p for p in path if p), block))


def split_turns(body: str) -> list[tuple[str, str]]:
    """Return (heading, text) of each turn of a conversation.

    A turn begins at a heading with its time, `## 14:03 …` or `## 2026-01-24 09:10 …`, outside
    fenced code.  Text before the first turn has the heading "".
    """
    turns: list[tuple[str, str]] = []
    lines: list[str] = []
    heading = ""

    def close() -> None:
        text = "".join(lines)
        if len(turns) >= MOST_TURNS:
            turns[-1] = (turns[-1][0], turns[-1][1] + text)
        elif heading or text.strip():
            turns.append((heading, text))
        lines.clear()

    for line, code in tokeniser.mark_code(body.split("\n")):
        if not code and _is_turn_heading(line):
            close()
            heading = " ".join(line[len(TURN) :].split())[:TURN_CHARS]
        lines.append(line + "\n")
    lines[-1] = lines[-1][:-1]
    close()
    return turns


def turn_number(sections: Sequence[tuple[str, str]], ordinal: int) -> int:
    """Return the number of a section's turn, counted from 1.

    sections: of the conversation.  0 for text before the first turn.
    """
    return sum(1 for _, text in sections[: ordinal + 1] if _is_turn_heading(text))


def _is_turn_heading(line: str) -> bool:
    if not line.startswith(TURN):
        return False
    time = line[len(TURN) : len(TURN) + 16]
    if time[4:5] == time[7:8] == "-" and time[10:11] == " ":
        time = time[11:]
    return time[2:3] == ":" and len(time) >= 5 and (time[:2] + time[3:5]).isdigit()


def _split_long_turn(heading: str, text: str) -> list[tuple[str, str]]:
    """Return a very long turn's parts, each with its heading."""
    if len(text) <= SECTION_CHARS:
        return [(heading, text)]
    parts: list[tuple[str, str]] = []
    lines: list[str] = []
    size = 0
    for line, code in tokeniser.mark_code(text.splitlines(keepends=True)):
        if not code and not line.strip() and size > SECTION_CHARS // 2:
            parts.append((heading, "".join(lines)))
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    return [*parts, (heading, "".join(lines))]


def derive_topics(record: Record) -> tuple[str, ...]:
    """Return the topics of a record, most telling first.

    Written topics; of a learning without any, the first telling words of its title, or of its
    file's name where it has no title of its own.
    """
    written = list_written_topics(record)
    if written or record.kind != "learning":
        return written
    title = record.title
    if not record.meta.get("title"):
        title = record.name.rpartition("/")[2][:-3].replace("-", " ")
    words = tokeniser.split(_remove_redaction_marks(title))
    topics = dict.fromkeys(filter(_is_telling, (word.strip("-./_").lower() for word in words)))
    return tuple(topics)[:TITLE_TOPICS]


def _is_telling(word: str) -> bool:
    """Tell whether a title's word says what its learning is about."""
    if len(word) < 2 or word.isdigit() or word in tokeniser.STOP:
        return False
    return tokeniser.stem(word) not in tokeniser.COMMON


def _remove_redaction_marks(text: str) -> str:
    """Return a text without marks such as `[redacted:token#1a2b]`."""
    first, *pieces = text.split("[redacted:")
    return first + "".join(piece.partition("]")[2] for piece in pieces)


def list_written_topics(record: Record) -> tuple[str, ...]:
    """Return the first topics and tags of a record, normalised."""
    written = map(tokeniser.compose, (*record.topics, *record.tags))
    names = ["-".join(name.lower().split())[:40] for name in written]
    return tuple(dict.fromkeys(filter(None, names)))[:MOST_TOPICS]


def count_topics(rows: Iterable[tuple[tuple[str, ...], bool]]) -> list[list[Any]]:
    """Return (topic, count of pushable learnings, of records) rows, 2,000 at most.

    Most learnings first.  rows: the topics of a record, and whether it is a pushable learning.
    """
    counts: dict[str, list[int]] = {}
    for topics, pushable in rows:
        for topic in topics:
            both = counts.setdefault(topic, [0, 0])
            both[0] += pushable
            both[1] += 1
    table = sorted((-both[0], -both[1], name) for name, both in counts.items())
    return [[name, -learnings, -records] for learnings, records, name in table[:2000]]


def format_head(record: Record, section: str) -> str:
    """Return the text of a document that counts more than its body.

    Title, section, aliases, tags and topics.  The heading of a turn is its request cut short, which
    counts once, in the body (of 158 questions 4 to 5 more are found among the first five).
    """
    words = ["" if record.kind == "conversation" else section]
    if record.tier == ADDED or not record.meta.get("title"):  # its file's name is what it is called
        name = records.note_name(record.name)
        words = [name, *words] if name != record.title else words
    return " ".join((record.title, *words, *record.aliases, *record.tags, *record.topics))


def format_weighted_head(record: Record, section: str) -> str:
    """Return a document's head HEAD_WEIGHT times, then its extra fields."""
    return (format_head(record, section) + " ") * HEAD_WEIGHT + join_extra_fields(record) + "\n"


def join_extra_fields(record: Record) -> str:
    """Return all else that is searched of a record's head, as one text.

    Of a session the checkpoints and the note name the branch, not each turn of its conversation.
    """
    meta, origin = record.meta, record.meta.get("origin")
    values = [value for key, value in meta.items() if key not in _UNSEARCHED]
    id = str(origin.get("id") if isinstance(origin, dict) else meta.get("id"))
    if id.rpartition("-")[2].isdigit() and id[1:2] not in ("", "-"):  # such as ADR-0417
        values.append(id)
    names = [] if record.kind == "conversation" else segment.list_branch_names(meta.get("branch"))
    texts = records.flatten([values, names, list_folders(record)])
    # a bare number is an order or a count, and no name
    return " ".join(text for text in texts if text not in records.SOURCES and not text.isdigit())


def list_folders(record: Record) -> list[str]:
    """Return the names of the folders of a note inside a person's vault."""
    origin = record.meta.get("origin")
    path = str(origin.get("below") or "") if isinstance(origin, dict) else ""
    path = record.name[2:] if record.tier == ADDED else path  # a/<path>
    names = (records.note_name(part + ".md") for part in path.split("/")[:-1])
    return [name for name in names if name]


def split_documents(
    record: Record, mtime_ns: int, size: int, secret: int = 0
) -> list[tuple[segment.Doc, str, str]]:
    """Return (document, weighted head, body) for each section.

    secret: `segment.SECRET` or UNSURE of the record's file, else 0.
    """
    facts = (
        segment.pack_flags(record) | secret,
        max(0, min(int(record.created), 0xFFFFFFFF)),
        tokeniser.count_tokens(record.body),
        size,
        mtime_ns,
        bytes.fromhex(record.checksum[:16]),
        derive_topics(record),
    )
    documents = []
    for ordinal, (section, body) in enumerate(split_sections(record.body, record.kind)):
        doc = segment.Doc(record.name, record.id, section, *facts, ordinal)
        documents.append((doc, format_weighted_head(record, section), body))
    return documents


def normalise_link(target: str) -> str:
    """Return a link's target in composed Unicode, lower case, single blanks."""
    return " ".join(tokeniser.compose(target).lower().split())


def list_record_keys(
    id: str, name: str, title: str, aliases: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the normalised names by which links may name a record.

    Its id, its file's name without `.md`, its title, its aliases.
    """
    file = name[name.rfind("/") + 1 : name.rfind(".")]
    return tuple(dict.fromkeys(map(normalise_link, (id, file, title, *aliases))))


def list_target_keys(target: str) -> tuple[str, ...]:
    """Return a link target's normalised names; a path's file name is one too."""
    key = normalise_link(target)
    if "/" not in key and key[-3:] != ".md":
        return (key,)
    file = key.rpartition("/")[2]
    return key, file[:-3] if file.endswith(".md") else file


def build_name_terms(keys: Iterable[str]) -> list[str]:
    """Return the index terms that find records with these keys."""
    return [segment.hashed_term("\x03", key) for key in keys]


def build_link_terms(keys: Iterable[str]) -> list[str]:
    """Return the index terms that find records with links to these keys."""
    return [segment.hashed_term("\x02", key) for key in keys]


def list_extra_terms(record: Record) -> list[str]:
    """Return a record's index terms for names, links, session and branch."""
    terms = build_name_terms(list_record_keys(record.id, record.name, record.title, record.aliases))
    session, branch = record.meta.get("session"), record.meta.get("branch")
    if record.kind in DATED_KINDS and isinstance(session, str) and session:
        terms.append(segment.session_term(session))
    if record.kind == "checkpoint" and isinstance(branch, str) and branch:
        terms.append(segment.branch_term(branch))
    links = record.links[:MOST_LINKS]
    keys = dict.fromkeys(key for link in links for key in list_target_keys(link[1]))
    return terms + build_link_terms(keys)


def is_pushable(record: Record) -> bool:
    """Tell whether prompts may get a record unasked."""
    return record.kind == "learning" and record.accepted


def count_terms(
    documents: Iterable[tuple[segment.Doc, str, str]],
) -> Iterator[tuple[segment.Doc, dict[str, int], int]]:
    """Yield (document, count of each term, number of terms).

    The turns of a conversation share their head: it is tokenised once.
    """
    before, shared = None, []
    for doc, heading, body in documents:
        if heading != before:
            before, shared = heading, tokeniser.index_terms(heading)
        counts: dict[str, int] = {}
        terms = shared + tokeniser.index_terms(body)
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        yield doc, counts, len(terms)


# ---- what the files say that the index has not read yet: loaded where something changed


def read_record(place: Place, name: str) -> tuple[Any, Any] | None:
    """Return (record, its file's stat), or None for a file not indexed."""
    try:
        data, stat = place.read(name, 1 << 20)
    except OSError:
        return None
    if frontmatter.is_binary(data):
        return None
    record = records.from_bytes_fast(name, data, stat.st_mtime)
    return (record, stat) if is_kind_allowed(record.kind, record.tier) else None


def remove_private(record: Record) -> Record:
    """Return a record without private parts, in its head too."""
    whole = {"title": record.title, "body": record.body, "meta": record.meta}
    bare = _remove_private_texts(whole)
    meta = bare["meta"]
    if meta != record.meta:
        bare.update((key, records.parse_labels(meta.get(key))) for key in ("tags", "topics"))
    return record if bare == whole else record.replaced(**bare)


def _remove_private_texts(value: Any) -> Any:
    if isinstance(value, str) and "privat" in value.lower():
        from memory.hook import markup

        return markup.remove_private(value)
    if isinstance(value, dict):
        return {key: _remove_private_texts(item) for key, item in value.items()}
    return [_remove_private_texts(item) for item in value] if isinstance(value, list) else value


def build_frame(index: Index, name: str, clean: Clean | None = None) -> bytes:
    """Read a file and return its delta frame.

    clean: returns the record to index, and the flag for its secret; a hook searches only what it
        shows.
    """
    found = read_record(index.place, name)
    if found is None:
        return delta.encode_frame(name, index.segment, ())
    record, stat = found
    if clean:
        record, secret = clean(record)
    else:
        record, secret = remove_private(record), segment.UNSURE
    documents = split_documents(record, stat.st_mtime_ns, stat.st_size, secret)
    changes = []
    for doc, counts, length in count_terms(documents):
        if not doc.ordinal:
            counts.update(dict.fromkeys(list_extra_terms(record), 1))
        changes.append((doc, counts, length))
    return delta.encode_frame(name, index.segment, changes)


def choose_files(
    place: Place, listed: Sequence[Found], most: int, prompt: str
) -> tuple[Sequence[Found], int]:
    """Return (the files to rank, number of files not looked at).

    For a prompt: half hold its rarest words, the others come first in the order of preference.
    listed: files in that order, which the chosen ones keep.
    """
    # a stem such as `retri` must be found in `retry`
    words = {
        term[:-1] if term[-1:] == "i" and len(term) > 3 else term
        for term, _ in tokeniser.query_terms(prompt)
    }
    sought = [word.encode("utf-8", "replace") for word in words]
    if len(listed) <= most or not sought:
        return listed[:most], max(0, len(listed) - most)
    words_by_file = _find_words_in_files(place, listed, sought)
    counts: dict[bytes, int] = {}
    for file_words in words_by_file:
        for word in file_words:
            counts[word] = counts.get(word, 0) + 1
    worth = sorted(
        (-sum(1 / counts[word] for word in file_words), at)
        for at, file_words in enumerate(words_by_file)
        if file_words
    )
    chosen = {at for _, at in worth[: most // 2]}
    chosen.update([at for at in range(len(listed)) if at not in chosen][: most - len(chosen)])
    return [listed[at] for at in sorted(chosen)], len(listed) - max(len(words_by_file), most)


def _find_words_in_files(
    place: Place, listed: Sequence[Found], sought: Sequence[bytes]
) -> list[Sequence[bytes]]:
    """Return the prompt's words in each file, up to READ_BYTES."""
    left = READ_BYTES
    words_by_file: list[Sequence[bytes]] = []
    for name, _, _, size in listed:
        if left <= 0:
            break
        try:
            data = place.read(name, min(size, left))[0].lower()
        except OSError:
            words_by_file.append(())
            continue
        left -= max(len(data), LEAST_READ_BYTES)
        words_by_file.append([word for word in sought if word in data])
    return words_by_file


def find_new_folders(tier: str, watch: dict[str, Any]) -> list[str]:
    """Return a tier's record folders that the index does not watch."""
    watched = {row[0] for row in watch.get("folders", [])}
    names = [tier + "/" + folder for folder in FOLDERS.values()]
    return [name for name in names if name not in watched and not name.endswith(UNWATCHED[1:])]


def find_folder_changes(
    index: Index, folder: str, path: str, known: dict[str, segment.Doc], most: int = MOST_LISTED
) -> list[str]:
    """Return a directory's files added, changed or deleted since indexed.

    known: documents of the delta by name, which are not compared here.
    most: compare times of at most so many files; of more, the names alone.
    """
    assert index.segment is not None
    listed = _list_visible(path)
    indexed = index.segment.under(folder)
    names = _list_files_of_new_folders(index, folder, listed, indexed)
    entries = [e for e in listed if is_record(e.name, record_suffixes(folder))]
    compares_times = len(entries) <= most
    for entry in entries:
        name = folder + "/" + entry.name
        before = indexed.pop(name, None)
        if name not in known and (before is None or compares_times):
            was_deleted = index.delta.names.get(name) == -1
            if _has_changed(entry, before, was_deleted):
                names.append(name)
    gone = [name for name in indexed if "/" not in name[len(folder) + 1 :]]
    return names + [name for name in gone if name not in index.delta.names]


def _list_visible(path: str) -> list[Any]:
    try:
        return [e for e in files.posix.scandir(path) if e.name[0] != "."]
    except OSError:
        return []


def _list_files_of_new_folders(
    index: Index, folder: str, entries: Sequence[Any], indexed: dict[str, tuple[int, int]]
) -> list[str]:
    """Return the records of subfolders that the index does not know."""
    old = {name[: name.find("/", len(folder) + 1)] for name in indexed}
    names = []
    for entry in entries:
        subfolder = folder + "/" + entry.name
        if subfolder not in old and entry.is_dir(follow_symlinks=False):
            names += _list_unindexed(index, subfolder, entry.path, 2)
    return names


def _has_changed(entry: Any, before: tuple[int, int] | None, was_deleted: bool) -> bool:
    """Tell whether a file differs from the index.

    before: its (mtime in ns, size) in the segment, None if absent.
    was_deleted: whether the delta says that it is gone.
    """
    try:
        stat = entry.stat()
    except OSError:  # a link to nothing or in a circle
        stat = None
    if stat is None or stat.st_mode & walk.TYPE != walk.REGULAR:
        return before is not None and not was_deleted
    return was_deleted or before != (stat.st_mtime_ns, stat.st_size)


def _list_unindexed(index: Index, folder: str, path: str, depth: int) -> list[str]:
    """Return the unindexed records of a folder and its subfolders."""
    names = []
    try:
        entries = [
            (e.name, e.path, e.is_dir(follow_symlinks=False))
            for e in files.posix.scandir(path)
            if e.name[0] != "." and _is_ordinary(e)
        ]
    except OSError:
        return []
    for file, file_path, is_folder in sorted(entries):
        name = folder + "/" + file
        if is_folder and depth < 8:
            names += _list_unindexed(index, name, file_path, depth + 1)
        elif is_record(file, record_suffixes(folder)) and index.delta.names.get(name, -1) < 0:
            names.append(name)
    return names


def _is_ordinary(entry: Any) -> bool:
    """Tell whether an entry of a folder is no socket, pipe or device."""
    return bool(entry.is_symlink() or entry.is_file() or entry.is_dir())
