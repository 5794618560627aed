"""The state of one session's capture, kept between its workers.

State, version 4: `<cache>/sessions/<session>.json`, derived, two lines of JSON:

    {"v":4, "first": uuid of the session's first entry, "since": instant up to which older
     checkpoints already tell (after a lost state), "units": new work since the last write, "size":
     bytes of the transcript read, "name", "checksum": the open checkpoint, "secret": a secret was
     redacted in this stretch, "kin": sessions with the same first entry (forks), "talk": name of
     the session's conversation, "-" where a person deleted it and "+" where another begins, "base":
     turns of it before this stretch, "grown": turns of this stretch, "length": its characters,
     "day": of the last turn before this stretch}
    {"spans": {file: [offset read, offset of the stretch's start, offset of the last write]},
     "facts": facts of the stretch, redacted, "bases": [facts carried into the stretch, facts
     carried over the last write], "seen": 12 hex digits of each entry's uuid, run together,
     "taken": [[instant, instant] between which all was taken back], "closed": [the stretches
     before, as ClosedStretch], "private": whether something was said in <private> parts}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from memory.capture.facts import Edit, Facts, add_entry
from memory.capture.turns import Piece, Turn, extract_stem
from memory.core import fastjson, files, layout
from memory.hook import receipts
from memory.session import entries, shell, transcript
from memory.session.rewinds import WithdrawnSpan
from memory.session.shell import Run
from memory.session.transcript import StretchEnd

VERSION = 4
READ, START, WRITTEN = 0, 1, 2  # the offsets in a file's span
_BRANCH = re.compile(rb'"gitBranch"\s*:\s*"([^"\\]+)"')
_CHANGES = re.compile(
    rb'"name"\s*:\s*"(?:Edit|Write|NotebookEdit|Task'
    rb'|Agent)"|\bgit\b[^"\n]{0,200}?\bcommit\b|\bcat\s*>'
)
_TURN_ENDED = re.compile(rb'"(?:turn_duration|stop_hook_summary)"')
_FIELDS = (b"session", b"until", b"conversation", b"title")
_FIELD = re.compile(rb"^(session|until|conversation|title): (.*)$", re.M)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass
class ClosedStretch:
    """An ended part of a session, kept for a later rewind.

    name, mark, title: of its checkpoint, and the hash of the text; "" for none.
    start, end: offsets by file.  base: the facts carried into it, serialized.
    day: of the turn before.
    """

    name: str
    mark: str
    title: str
    start: dict[str, int]
    end: dict[str, int]
    until: str
    base: dict[str, Any]
    day: str


@dataclass
class CaptureState:
    """The state of a session's capture; see the module's docstring.

    retold: earlier turns that are written anew; not saved.
    imported: the instant of an import; not saved.
    """

    path: str
    first: str = ""
    since: str = ""
    units: int = 0
    size: int = 0
    name: str = ""
    checksum: str = ""
    secret: bool = False
    kin: list[str] = field(default_factory=list)
    talk: str = ""
    base: int = 0
    grown: int = 0
    length: int = 0
    day: str = ""
    spans: dict[str, list[int]] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    bases: list[Facts] = field(default_factory=lambda: [Facts(), Facts()])
    seen: set[str] = field(default_factory=set)
    spans_taken: list[WithdrawnSpan] = field(default_factory=list)
    closed: list[ClosedStretch] = field(default_factory=list)
    retold: list[Turn] = field(default_factory=list)
    private: bool = False
    imported: str = ""

    @property
    def offset(self) -> int:
        """The offset up to which the session's own transcript is read."""
        return self.spans.get("", [0])[READ]


class RecordHead(NamedTuple):
    """A few fields of the frontmatter of a checkpoint or conversation.

    until: the instant of its last entry.  talk: the id of a checkpoint's conversation.
    """

    name: str
    session: str
    until: str
    talk: str
    title: str


class RecordHeads:
    """A cache of the heads of a workspace's checkpoints and conversations.

    firsts: the first entry's id of captured sessions.
    """

    def __init__(self, place: layout.Place):
        self._root = place.private + "/"
        self._names: dict[str, list[str]] = {}
        self._heads: dict[str, RecordHead] = {}
        self.firsts: dict[str, str] = {}

    def list_since(self, folder: str, day: str) -> list[RecordHead]:
        """Return the heads of a day's records and later ones, oldest first."""
        days = [name for name in self._list_names(folder) if name >= day]
        return [head for name in days for head in self.list_day(folder, name)]

    def list_day(self, folder: str, day: str) -> list[RecordHead]:
        path = "%s/%s" % (folder, day)
        return [self._read_head(path + "/" + name) for name in self._list_names(path)]

    def forget(self, name: str) -> None:
        """Drop the cached head of a record that was written."""
        path = name.removeprefix("p/")
        self._heads.pop(path, None)
        day = path.rpartition("/")[0]
        for folder in (day, day.rpartition("/")[0]):
            self._names.pop(folder, None)

    def _list_names(self, folder: str) -> list[str]:
        if folder not in self._names:
            self._names[folder] = files.list_visible(self._root + folder)
        return self._names[folder]

    def _read_head(self, path: str) -> RecordHead:
        if path not in self._heads:
            try:
                data = files.read(self._root + path, 1 << 15, follow=False).partition(b"\n---")[0]
            except OSError:
                data = b""
            fields = dict(_FIELD.findall(data))
            values = (
                fields.get(key, b"").decode("utf-8", "replace").strip("'\" ") for key in _FIELDS
            )
            self._heads[path] = RecordHead("p/" + path, *values)
        return self._heads[path]


_HEAD = "first since units size name checksum secret kin talk base grown length day".split()


def load(path: str) -> CaptureState | None:
    """Read a state, None if it is absent or of another version."""
    try:
        head, _, rest = files.read(path, 64 << 20).partition(b"\n")
        values, more = fastjson.parse(head), fastjson.parse(rest)
        if values.pop("v") != VERSION:
            return None
        return CaptureState(
            path,
            **{key: values[key] for key in _HEAD},
            spans=more["spans"],
            facts=parse_facts(more["facts"]),
            bases=[parse_facts(base) for base in more["bases"]],
            seen=split_ids(more["seen"]),
            spans_taken=[WithdrawnSpan(*span) for span in more.get("taken", ())],
            closed=[ClosedStretch(**row) for row in more.get("closed", ())],
            private=more.get("private") is True,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def parse_facts(value: dict[str, Any]) -> Facts:
    """Return facts from the output of `serialize_facts`."""
    facts = Facts(**value)
    facts.runs = [Run(*run) for run in value["runs"]]
    facts.failing = [Run(*run) for run in value["failing"]]
    facts.edits = [Edit(*edit) for edit in value["edits"]]
    facts.turns, facts.withdrawn = (
        [
            Turn(at, request, asked, [Piece(*piece) for piece in pieces], end)
            for at, request, asked, pieces, end in value.get(key, ())
        ]
        for key in ("turns", "withdrawn")
    )
    return facts


def serialize_facts(facts: Facts) -> dict[str, Any]:
    """Return facts as values that JSON can hold."""
    value = dict(vars(facts))
    for key in ("runs", "failing"):
        value[key] = [run.fields() for run in value[key]]
    for key in ("turns", "withdrawn"):
        value[key] = [
            [t.at, t.request, t.asked, [list(piece) for piece in t.pieces], t.end]
            for t in value[key]
        ]
    value["edits"] = [list(vars(edit).values()) for edit in facts.edits]
    return value


def save(state: CaptureState, synced: bool = False) -> None:
    """Write a state; a torn one only costs another reading."""
    head = {"v": VERSION, **{key: getattr(state, key) for key in _HEAD}}
    rest = {
        "spans": state.spans,
        "facts": serialize_facts(state.facts),
        "bases": [serialize_facts(base) for base in state.bases],
        "seen": "".join(sorted(state.seen)),
        "taken": [list(span) for span in state.spans_taken],
        "closed": [vars(row) for row in state.closed],
        "private": state.private,
    }
    text = _dump(head) + "\n" + _dump(rest) + "\n"
    files.replace(state.path, text.encode("ascii"), synced=synced)


def forget_texts(state: CaptureState) -> None:
    """Drop all texts from a state; the offsets stay."""
    state.facts, state.bases, state.closed = Facts(), [Facts(), Facts()], []


_dump = json.JSONEncoder(separators=(",", ":")).encode


def read_head(path: str) -> dict[str, Any]:
    """Read a state's first line, of any version; {} if unreadable."""
    try:
        value = fastjson.parse(files.read(path, 1 << 16).partition(b"\n")[0])
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def read_seen_ids(path: str) -> set[str]:
    """Read a state's short ids, of any version; none if unreadable."""
    try:
        return split_ids(fastjson.parse(files.read(path, 64 << 20).partition(b"\n")[2])["seen"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def extract_uuid(session: str) -> str:
    """Return the last UUID in a session's name, else the whole name.

    A copy's name may be `2026-01-12-<UUID>`.
    """
    found = _UUID.findall(session)
    return found[-1] if found else session


def shorten_id(uuid: str) -> str:
    """Return 12 hex digits for an entry's UUID or other id."""
    digits = uuid[:8] + uuid[9:13]
    if len(digits) == 12 and digits.isalnum():
        return digits
    return files.sha256(uuid.encode("utf-8", "replace"))[:12]


def split_ids(joined: str) -> set[str]:
    return {joined[at : at + 12] for at in range(0, len(joined), 12)}


def find_branch_switches(
    path: str, offset: int = 0, branch: str = "", sent: bool = False
) -> list[StretchEnd]:
    """Return a transcript's switches of branches and of senders, in order.

    A switch from a trunk does not count: its work goes along.  A turn that switches before any
    other change belongs to the new branch, else to the old.
    Programs go on with a person's session, and a person with theirs.
    offset, branch, sent: the start, the branch there, and whether a program sent the request
    before.  Raises OSError.
    """
    found, asked = list[StretchEnd](), None
    for at, line in transcript.read_lines(path, offset):
        head = line[: transcript.SHORT]
        for prompt in _find_prompt(head, line):
            asked = StretchEnd(at, prompt.at, True)
            if prompt.headless != sent:
                found.append(asked._replace(switch=False))
            sent = prompt.headless
        named = _find_branch(head, branch)
        if named not in ("HEAD", branch):
            is_trunk = branch in layout.TRUNKS
            if asked and not is_trunk:
                found.append(asked)
            if asked or is_trunk:
                branch = named
        if asked and _begins_work(head):
            asked = None
    return found


def _find_branch(head: bytes, before: str) -> str:
    match = _BRANCH.search(head)
    return match[1].decode("utf-8", "replace") if match else before


def _begins_work(head: bytes) -> bool:
    changes = b'"assistant"' in head and _CHANGES.search(head)
    return bool(changes or _TURN_ENDED.search(head))


def _find_prompt(head: bytes, line: bytes) -> list[entries.Entry]:
    """Return [the prompt] in a line, [] if it holds none."""
    if b'"user"' not in head or b'"tool_result"' in line or len(line) > transcript.LONGEST:
        return []
    parsed = entries.parse_entries(entries.parse_line(line))
    return [entry for entry in parsed if entry.kind in (entries.PROMPT, entries.SLASH)][:1]


def was_work_left(
    facts: Facts, ahead: Iterable[entries.Entry], roots: tuple[str, ...]
) -> bool | None:
    """Tell whether a switch of branches left work behind, None if undecided.

    ahead: the entries after it; the first turn that changes something decides.
    False where nothing had been changed before, or the new branch takes over an uncommitted change.
    """
    committed = max((at for *_, at in facts.commits), default="")
    uncommitted = {extract_stem(edit.path) for edit in facts.edits if edit.at > committed}
    if not uncommitted:
        return bool(facts.commits)
    later = Facts()
    for entry in ahead:
        if (later.edits or later.commits) and entry.kind in (entries.PROMPT, entries.SLASH):
            break
        add_entry(later, entry, roots)
    first_edit = min((edit.at for edit in later.edits), default="~")
    if later.commits and later.commits[0][2] <= first_edit:
        return False
    edited = {extract_stem(edit.path) for edit in later.edits}
    return uncommitted.isdisjoint(edited) if edited else None


def carry_over(facts: Facts) -> Facts:
    """Return the facts that the next stretch of a session needs."""
    runs = sorted((*facts.failing, *facts.runs), key=lambda run: run.last)
    passed = {run.key: run.last for run in runs if run.outcome == shell.OK}
    failing = [run for run in runs if run.bad and passed.get(run.key, "") <= run.last]
    return replace(
        facts,
        turns=[],
        withdrawn=[],
        runs=[],
        edits=[],
        commits=[],
        pending=dict(facts.pending),
        earlier=next(reversed(facts.requests), facts.earlier),
        todos=list(facts.todos),
        failing=failing[-10:],
        findings=[list(finding) for finding in facts.findings],
        printed={line: list(keys) for line, keys in facts.printed.items()},
        until="",
    )


def map_texts(value: Any, visit: Callable[[str], Any]) -> Any:
    """Return a nested value with each text replaced by `visit`.

    Instants and short words stay, and texts for which it returns no text.
    """
    if isinstance(value, str):
        if len(value) < 7 or (len(value) == 24 and value.endswith("Z")):
            return value
        text = visit(value)
        return text if isinstance(text, str) else value
    if isinstance(value, dict):
        return {key: map_texts(item, visit) for key, item in value.items()}
    return [map_texts(item, visit) for item in value] if isinstance(value, list) else value


def read_captured_size(place: layout.Place, session: str) -> int:
    """Return how many bytes of a transcript are captured, -1 if unwritten.

    By any version of the state.
    """
    state = read_head(place.cache + "/sessions/" + session + ".json")
    size = -1 if state.get("units") or state.get("name") else state.get("size")
    return size if isinstance(size, int) else -1


def find_told_transcript(place: layout.Place, session: str, env: dict[str, str]) -> str:
    """Return the transcript that a session's receipts name, or "".

    Its path is not to be trusted; the host's directory is that of the start.
    """
    try:
        rows = receipts.read(place.receipts(session))
    except OSError:
        return ""
    starts = [row for row in rows if row.get("event") == "start" and row.get("transcript")]
    start = starts[-1] if starts else {}
    host = str(start.get("host") or env.get("CLAUDE_CONFIG_DIR", ""))
    return transcript.validate_path(start.get("transcript"), {**env, "CLAUDE_CONFIG_DIR": host})
