"""What sessions did, read from their conversations, and the checkpoints of those that have none.

`blame` finds the sessions that touched or discussed a file; remedies and practice ask what was done
after an error, and what works. Files are read, the newest MOST of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from memory.capture import checkpointoutline, conversationpage
from memory.capture.turns import COMMIT, CREATED, FILE, SAID, SUMMARY, USER, Piece, Turn
from memory.core import clock, walk
from memory.core.config import Config
from memory.core.layout import FOLDERS, PRIVATE, SHARED, Place
from memory.core.plaintext import clip_at_word, one_line
from memory.core.records import Record, meta_text
from memory.core.tokeniser import compose
from memory.hook import handoffs
from memory.project.mentions import listed_files
from memory.recall import lookup
from memory.store.redactor import strip_private_record
from memory.store.store import Store

MOST = 4000  # records that one question reads, in about a second
QUOTE = 300  # characters of a sentence that is quoted
NEXT = 4  # turns in which a change is committed
KINDS = ("conversation", "checkpoint")
Holds = Callable[[str], bool]


class PastSession(NamedTuple):
    """A past session, read from its conversation or from a checkpoint.

    A checkpoint is one turn. files: listed in the record. workspace: "" for the present one.
    decisions: (checkpoint's id, line) of the session's checkpoints, as far as they were read.
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
        """Return what `dayleaf show` takes for a turn, such as `ID#3`."""
        return "%s#%d" % (self.id, number) if self.kind == "conversation" else self.id

    def at(self, number: int) -> float:
        """Return the instant of a turn."""
        return clock.parse(self.turns[number - 1].at) or self.created

    def steps(self) -> list[tuple[int, Piece]]:
        """Return (turn's number, event) of all turns, in order."""
        return [(number, piece) for number, turn in self.numbered() for piece in turn.pieces]

    def numbered(self) -> list[tuple[int, Turn]]:
        """Return the turns with numbers from 1, without the client's summaries."""
        turns = enumerate(self.turns, 1)
        return [(number, turn) for number, turn in turns if turn.asked != SUMMARY]


class SessionsRead(NamedTuple):
    """Past sessions, newest first, and notes for the user."""

    sessions: tuple[PastSession, ...]
    notes: tuple[str, ...]


def make_word_filter(words: str) -> Holds:
    """Return a function that tells whether a lower-case text holds all words."""
    wanted = compose(words).lower().split()
    return lambda body: all(word in compose(body) for word in wanted)


def read_sessions(
    place: Place, settings: Config, holds: Holds, now: float, workspace: str = ""
) -> SessionsRead:
    """Return the past sessions whose text passes the test `holds`.

    holds: tells whether a body, in lower case, may answer. workspace: a name, or `all`. Raises
    UsageError.
    """
    found: list[PastSession] = []
    notes: list[str] = []
    for other in lookup.find_workspaces(place, workspace):
        key = "" if other is place else other.key
        found += _read_place(Store(other, settings, now), holds, key, notes)
    found.sort(key=lambda past: (-past.created, past.id))
    return SessionsRead(tuple(found), tuple(notes))


def _read_place(store: Store, holds: Holds, key: str, notes: list[str]) -> list[PastSession]:
    """Return the sessions of one store; key: for `PastSession.workspace`."""
    found: list[PastSession] = []
    talked: set[str] = set()
    decisions: dict[str, list[tuple[str, str]]] = {}
    names = list_newest(store.place, MOST + 1)
    if len(names) > MOST:
        note = "%s: only the newest %d checkpoints and conversations were read"
        notes.append(note % (store.place.key, MOST))
    # conversations first
    ordered = sorted(names[:MOST], key=lambda name: FOLDERS["conversation"] not in name)
    for record in store.each_by(store.read, ordered):
        session = meta_text(record, "session") or record.id
        is_talk = record.kind == "conversation"
        if is_talk:
            talked.add(session)
        if handoffs.is_repetition(record) or not holds(record.body.lower()):
            continue
        record = strip_private_record(record)
        if is_talk or session not in talked:
            found.append(parse_session(record, key))
        if not is_talk:
            lines = checkpointoutline.split_sections(record.body).get("decisions", ())
            decisions.setdefault(session, []).extend((record.id, line) for line in lines)
    return [past._replace(decisions=tuple(decisions.get(past.session, ()))) for past in found]


def parse_session(record: Record, workspace: str = "") -> PastSession:
    """Read a session from a record: a conversation or a checkpoint."""
    body = record.body
    if record.kind != "conversation":
        body = "## %s %s\n\n%s" % (
            clock.iso(record.created)[11:16],
            one_line(record.title),
            conversationpage.replace_headings(record.body),
        )
    return PastSession(
        record.id,
        record.kind,
        meta_text(record, "session") or record.id,
        one_line(record.title),
        meta_text(record, "branch"),
        record.created,
        workspace,
        files=tuple(listed_files(record)),
        turns=conversationpage.parse(body, clock.day(record.created)),
    )


def list_newest(place: Place, most: int) -> list[str]:
    """Return names of conversations and checkpoints, newest days first.

    Conversations of the shared tier are left out.
    """
    shared = SHARED + "/" + FOLDERS["checkpoint"]  # a name: `p/checkpoints/<dated path>`
    found = (name for name, *_ in walk.walk(place, KINDS)[0])
    names = (name for name in found if name[0] == PRIVATE or name.startswith(shared))
    return sorted(names, key=lambda name: (name.split("/", 2)[2], name), reverse=True)[:most]


# --- blame: who touched a file


class Touch(NamedTuple):
    """A session that changed or mentioned a file.

    how: `created`, `edited` or `discussed`. requests: (turn, its request), newest first. decisions:
    (checkpoint, line) that name the file. commits: `hash subject`.
    """

    past: PastSession
    at: float
    how: str
    requests: tuple[tuple[str, str], ...]
    decisions: tuple[tuple[str, str], ...]
    commits: tuple[str, ...]


def blame(sessions: Sequence[PastSession], path: str) -> list[Touch]:
    """Return the sessions that changed a file, then those that mentioned it.

    Newest first. path: a path or the end of one, of a file or a folder.
    """
    wanted = compose(path).replace("\\", "/").removeprefix("./").strip("/").lower()
    named = _compile_name_pattern(wanted, sessions)
    found = [touch for touch in (_find_touch(past, wanted, named) for past in sessions) if touch]
    return sorted(found, key=lambda touch: (touch.how == "discussed", -touch.at, touch.past.id))


def is_same_path(path: str, wanted: str) -> bool:
    """Tell whether `path` may be the file `wanted`, or lie below it."""
    one, other = "/" + compose(path).lower().strip("/"), "/" + wanted
    return one.endswith(other) or other + "/" in one or (other.endswith(one) and one.count("/") > 1)


def _compile_name_pattern(wanted: str, sessions: Sequence[PastSession]) -> re.Pattern[str]:
    """Return a pattern for a file's name in prose.

    With its folder, where other files bear the name too.
    """
    name = wanted.rpartition("/")[2]
    paths = {
        compose(p.text).lower() for past in sessions for _, p in past.steps() if p.kind == FILE
    }
    bearers = [path for path in paths if path.rpartition("/")[2] == name]
    alone = bearers and all(is_same_path(path, wanted) for path in bearers)
    known = name if alone else "/".join(wanted.split("/")[-2:])
    return re.compile(r"(?<![\w.-])%s(?![\w-]|\.\w)" % re.escape(known), re.I)


def find_next_commits(past: PastSession, number: int) -> list[str]:
    """Return the first commits made in a turn or the turns after it."""
    for turn in past.turns[number - 1 : number - 1 + NEXT]:
        found = [
            ("%s %s" % (piece.name, one_line(piece.text))).strip()
            for piece in turn.pieces
            if piece.kind == COMMIT
        ]
        if found:
            return found
    return []


def _find_edits(past: PastSession, wanted: str) -> list[tuple[int, str]]:
    """Return (turn, kind of edit) of each edit of a file."""
    files = [(number, piece) for number, piece in past.steps() if piece.kind == FILE]
    return [(number, piece.name) for number, piece in files if is_same_path(piece.text, wanted)]


def _classify_touch(edits: Sequence[tuple[int, str]], is_listed: bool) -> str:
    """Return what was done with a file: `created`, `edited` or `discussed`."""
    if any(name == CREATED for _, name in edits):
        return CREATED
    return "edited" if edits or is_listed else "discussed"


def _find_touch(past: PastSession, wanted: str, named: re.Pattern[str]) -> Touch | None:
    """Return how a session touched a file, None if it did not."""
    edits = _find_edits(past, wanted)
    edited = sorted({number for number, _ in edits})
    mentioned = [number for number, turn in past.numbered() if _is_mentioned(turn, named)]
    is_listed = any(is_same_path(path, wanted) for path in past.files)
    if not (edited or mentioned or is_listed):
        return None
    every = range(1, len(past.turns) + 1)
    turns = (edited or mentioned or every[-1:])[::-1]
    decisions = [(id, line) for id, line in past.decisions if named.search(compose(line))]
    return Touch(
        past,
        past.at(turns[0]) if turns else past.created,
        _classify_touch(edits, is_listed),
        tuple((past.ref(n), one_line(past.turns[n - 1].request)) for n in turns),
        tuple((id, clip_at_word(line, QUOTE)) for id, line in decisions),
        tuple(dict.fromkeys(commit for n in edited for commit in find_next_commits(past, n))),
    )


def _is_mentioned(turn: Turn, named: re.Pattern[str]) -> bool:
    """Tell whether a turn's prose mentions a file."""
    texts = [turn.request, *(piece.text for piece in turn.pieces if piece.kind in (SAID, USER))]
    return any(named.search(compose(text)) for text in texts)


# --- for --json


def source_json(past: PastSession, place: Place) -> dict[str, str]:
    """Return what identifies a past session, for --json."""
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
    return {
        **source_json(touch.past, place),
        "at": clock.iso(touch.at),
        "how": touch.how,
        "requests": [{"where": ref, "request": said} for ref, said in touch.requests],
        "decisions": [{"where": ref, "quote": said} for ref, said in touch.decisions],
        "commits": list(touch.commits),
    }
