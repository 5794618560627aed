"""What sessions did, read back from what they left behind: their conversations, and the checkpoints
of those that have none.

`blame` finds the sessions that touched or discussed a file; remedies and practice ask what was done
after an error, and what works.  Files are read, the newest MOST of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from memory.capture import checkpointoutline, conversationpage
from memory.capture.turns import COMMIT, CREATED, FILE, SAID, SUMMARY, USER, Piece, Turn
from memory.core import StoreError, clock, walk
from memory.core.config import Config
from memory.core.layout import FOLDERS, PRIVATE, SHARED, Place
from memory.core.plaintext import at_word, one_line
from memory.core.records import Record, meta_text
from memory.hook import handoffs
from memory.project.mentions import listed_files
from memory.recall import lookup
from memory.store.redactor import without_private
from memory.store.store import Store

MOST = 4000  # records that one question reads, in about a second
QUOTE = 300  # characters of a sentence that is quoted
KINDS = ("conversation", "checkpoint")
Holds = Callable[[str], bool]


class Past(NamedTuple):
    """A record of a session: a conversation or a checkpoint.

    A checkpoint counts as one turn.

    created: seconds since the epoch. files: listed in the record. workspace: "" for the present
        one. decisions: (checkpoint's id, line) under `Decisions` in the session's checkpoints, as
        far as they were read.
    """

    id: str
    kind: str
    session: str
    title: str
    branch: str
    created: float
    workspace: str
    files: tuple[str, ...]
    turns: tuple[Turn, ...]
    decisions: tuple[tuple[str, str], ...] = ()

    def ref(self, number: int) -> str:
        """Return a turn's reference for `show`, such as `ID#3`.

        number: from 1. A checkpoint's is its id alone.
        """
        return "%s#%d" % (self.id, number) if self.kind == "conversation" else self.id

    def at(self, number: int) -> float:
        """Return the instant of a turn, seconds since the epoch."""
        return clock.parse(self.turns[number - 1].at) or self.created

    def steps(self) -> list[tuple[int, Piece]]:
        """Return (turn's number, piece) of all events, in order."""
        return [(number, piece) for number, turn in self.numbered() for piece in turn.pieces]

    def numbered(self) -> list[tuple[int, Turn]]:
        """Return the turns with their numbers, from 1.

        Leaves out the client's summaries, which repeat the others.
        """
        turns = enumerate(self.turns, 1)
        return [(number, turn) for number, turn in turns if turn.asked != SUMMARY]


class Read(NamedTuple):
    """The sessions read, newest first, and notes for the user."""

    sessions: tuple[Past, ...]
    notes: tuple[str, ...]


def holds_words(words: str) -> Holds:
    """Return a function that tells whether a body holds all words.

    The body is in lower case.
    """
    wanted = words.lower().split()
    return lambda body: all(word in body for word in wanted)


def read(place: Place, settings: Config, holds: Holds, now: float, workspace: str = "") -> Read:
    """Return the sessions of a place that may answer a question.

    holds: tells whether a body, in lower case, may answer. workspace: a name, or `all`. Raises
    UsageError for an unknown workspace.
    """
    found: list[Past] = []
    notes: list[str] = []
    for other in lookup.workspaces(place, workspace):
        found += _of_place(other, settings, holds, now, "" if other is place else other.key, notes)
    found.sort(key=lambda past: (-past.created, past.id))
    return Read(tuple(found), tuple(notes))


def _of_place(
    place: Place, settings: Config, holds: Holds, now: float, key: str, notes: list[str]
) -> list[Past]:
    store = Store(place, settings, now)
    found: list[Past] = []
    told: set[str] = set()
    decisions: dict[str, list[tuple[str, str]]] = {}
    names = newest(place, MOST + 1)
    if len(names) > MOST:
        said = "%s: only the newest %d checkpoints and conversations were read"
        notes.append(said % (place.key, MOST))
    # a session's checkpoints come after it
    for name in sorted(names[:MOST], key=lambda name: FOLDERS["conversation"] not in name):
        try:
            record = store.read(name)
        except StoreError:
            continue
        session = meta_text(record, "session") or record.id
        is_talk = record.kind == "conversation"
        told.update([session] * is_talk)
        if handoffs.is_repetition(record) or not holds(record.body.lower()):
            continue
        record = without_private(record)
        if is_talk or session not in told:
            found.append(past_of(record, key))
        if not is_talk:
            lines = checkpointoutline.sections(record.body).get("decisions", ())
            decisions.setdefault(session, []).extend((record.id, line) for line in lines)
    return [past._replace(decisions=tuple(decisions.get(past.session, ()))) for past in found]


def past_of(record: Record, workspace: str = "") -> Past:
    """Return the past that a checkpoint or a conversation holds.

    workspace: "" for the present one.
    """
    body = record.body
    if record.kind != "conversation":
        body = "## %s %s\n\n%s" % (
            clock.iso(record.created)[11:16],
            one_line(record.title),
            conversationpage.without_headings(record.body),
        )
    return Past(
        record.id,
        record.kind,
        meta_text(record, "session") or record.id,
        one_line(record.title),
        meta_text(record, "branch"),
        record.created,
        workspace,
        tuple(listed_files(record)),
        conversationpage.parse(body, clock.day(record.created)),
    )


def newest(place: Place, most: int) -> list[str]:
    """Return names of conversations and checkpoints, newest days first.

    A repository's conversations are nobody's here.
    """
    shared = SHARED + "/" + FOLDERS["checkpoint"]
    found = (name for name, *_ in walk.walk(place, KINDS)[0])
    names = (name for name in found if name[0] == PRIVATE or name.startswith(shared))
    return sorted(names, key=lambda name: (name.split("/", 2)[2], name), reverse=True)[:most]


# --- blame: who touched a file


class Touch(NamedTuple):
    """A session that touched or discussed a file.

    how: `created`, `edited` or `discussed`. requests: (turn, its request) of those turns, newest
        first. decisions: (checkpoint, line) that name the file. commits: `hash subject` of these
        turns' commits.
    """

    past: Past
    at: float
    how: str
    requests: tuple[tuple[str, str], ...]
    decisions: tuple[tuple[str, str], ...]
    commits: tuple[str, ...]


def blame(sessions: Sequence[Past], path: str) -> list[Touch]:
    """Return the sessions that touched a file, newest first.

    Sessions that only discussed it follow. path: a path or the end of one, of a file or a folder.
    """
    wanted = path.replace("\\", "/").removeprefix("./").strip("/").lower()
    named = _named(wanted, sessions)
    found = [touch for touch in (_touch(past, wanted, named) for past in sessions) if touch]
    return sorted(found, key=lambda touch: (touch.how == "discussed", -touch.at, touch.past.id))


def is_same(path: str, wanted: str) -> bool:
    """Tell whether a path ends in, or lies below, the other."""
    one, other = "/" + path.lower().strip("/"), "/" + wanted
    return one.endswith(other) or other + "/" in one or (other.endswith(one) and one.count("/") > 1)


def _named(wanted: str, sessions: Sequence[Past]) -> re.Pattern[str]:
    """Return a pattern that finds a file's name in prose.

    With its folder, where other files bear the name too.
    """
    name = wanted.rpartition("/")[2]
    paths = {p.text.lower() for past in sessions for _, p in past.steps() if p.kind == FILE}
    bearers = [path for path in paths if path.rpartition("/")[2] == name]
    alone = bearers and all(is_same(path, wanted) for path in bearers)
    known = name if alone else "/".join(wanted.split("/")[-2:])
    return re.compile(r"(?<![\w.-])%s(?![\w-]|\.\w)" % re.escape(known), re.I)


def next_commits(past: Past, number: int, turns: int = 4) -> list[str]:
    """Return the commits of the next turn that has any.

    turns: how many turns to search, from `number` on.
    """
    for turn in past.turns[number - 1 : number - 1 + turns]:
        found = [
            ("%s %s" % (piece.name, one_line(piece.text))).strip()
            for piece in turn.pieces
            if piece.kind == COMMIT
        ]
        if found:
            return found
    return []


def _files_like(past: Past, wanted: str) -> list[tuple[int, Piece]]:
    """Return the edits of a file, each with its turn's number."""
    files = [(n, piece) for n, piece in past.steps() if piece.kind == FILE]
    return [(n, piece) for n, piece in files if is_same(piece.text, wanted)]


def _dealing(files: Sequence[tuple[int, Piece]], is_listed: bool) -> str:
    """Return what a session did with a file.

    files: its edits. is_listed: among those that the session changed.
    """
    if any(piece.name == CREATED for _, piece in files):
        return CREATED
    return "edited" if files or is_listed else "discussed"


def _touch(past: Past, wanted: str, named: re.Pattern[str]) -> Touch | None:
    files = _files_like(past, wanted)
    touched = sorted({n for n, _ in files})
    spoken = [n for n, turn in past.numbered() if _mentions(turn, named)]
    is_listed = any(is_same(one, wanted) for one in past.files)
    if not (touched or spoken or is_listed):
        return None
    turns = (touched or spoken)[::-1] or [len(past.turns)]
    return Touch(
        past,
        past.at(turns[0]) if past.turns else past.created,
        _dealing(files, is_listed),
        tuple((past.ref(n), one_line(past.turns[n - 1].request)) for n in turns if past.turns),
        tuple((id, at_word(line, QUOTE)) for id, line in past.decisions if named.search(line)),
        tuple(dict.fromkeys(commit for n in touched for commit in next_commits(past, n))),
    )


def _mentions(turn: Turn, named: re.Pattern[str]) -> bool:
    """Tell whether somebody mentions a file in a turn."""
    texts = [turn.request, *(piece.text for piece in turn.pieces if piece.kind in (SAID, USER))]
    return any(map(named.search, texts))


# --- for --json


def source(past: Past, place: Place) -> dict[str, str]:
    """Return a session's reference as plain data."""
    return {
        "id": past.id,
        "kind": past.kind,
        "session": past.session,
        "title": past.title,
        "branch": past.branch,
        "created": clock.iso(past.created),
        "workspace": past.workspace or place.key,
    }


def touch_json(touch: Touch, place: Place) -> dict[str, Any]:
    """Return a touch as plain data."""
    return {
        **source(touch.past, place),
        "at": clock.iso(touch.at),
        "how": touch.how,
        "requests": [{"where": ref, "request": said} for ref, said in touch.requests],
        "decisions": [{"where": ref, "quote": said} for ref, said in touch.decisions],
        "commits": list(touch.commits),
    }
