"""Where the capture of one session stands, kept between its workers.

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
     before, Closed by name], "private": whether something was said in <private> parts}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from memory.capture.facts import Edit, Facts, absorb
from memory.capture.turns import Piece, Turn, stem
from memory.core import fastjson, files, layout
from memory.session import entries, shell, transcript
from memory.session.rewinds import Span
from memory.session.shell import Run
from memory.session.transcript import Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from memory.session.entries import Entry

VERSION = 4
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
class Closed:
    """A stretch that has ended, kept for a later rewind.

    name, mark, title: of its checkpoint, mark of the text; "" where it has none.
    start, end: offsets by file.
    base: the facts carried into it, plain.
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
class State:
    """The progress of a session's capture; see the module's docstring.

    retold: turns of the conversation before this stretch that are written anew, not saved.
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
    spans_taken: list[Span] = field(default_factory=list)
    closed: list[Closed] = field(default_factory=list)
    retold: list[Turn] = field(default_factory=list)
    private: bool = False


class Head(NamedTuple):
    """The head of a checkpoint or a conversation.

    until: the instant of its last entry.  talk: the id of a checkpoint's conversation.
    """

    name: str
    session: str
    until: str
    talk: str
    title: str


class Heads:
    """The heads of a workspace's checkpoints and conversations, each read once.

    The captures of an import share them, and the first entries of the sessions captured before:
    read anew for each session, they were a twentieth of its CPU.
    """

    def __init__(self, place: layout.Place):
        self._root = place.private + "/"
        self._names: dict[str, list[str]] = {}
        self._heads: dict[str, Head] = {}
        self.firsts: dict[str, str] = {}

    def since(self, folder: str, day: str) -> list[Head]:
        """Return the heads of a day and later, oldest first."""
        days = self._listed(folder)
        return [head for one in days if one >= day for head in self.of_day(folder, one)]

    def of_day(self, folder: str, day: str) -> list[Head]:
        """Return the heads of one day."""
        path = "%s/%s" % (folder, day)
        return [self._head(path + "/" + name) for name in self._listed(path)]

    def forget(self, name: str) -> None:
        """Forget the head of a written record."""
        path = name.removeprefix("p/")
        self._heads.pop(path, None)
        day = path.rpartition("/")[0]
        for folder in (day, day.rpartition("/")[0]):
            self._names.pop(folder, None)

    def _listed(self, folder: str) -> list[str]:
        if folder not in self._names:
            self._names[folder] = files.visible_names(self._root + folder)
        return self._names[folder]

    def _head(self, path: str) -> Head:
        found = self._heads.get(path)
        if found is None:
            try:
                data = files.read(self._root + path, 1 << 15, follow=False).partition(b"\n---")[0]
            except OSError:
                data = b""
            said = dict(_FIELD.findall(data))
            values = (
                said.get(key, b"").decode("utf-8", "replace").strip("'\" ") for key in _FIELDS
            )
            found = self._heads[path] = Head("p/" + path, *values)
        return found


_HEAD = "first since units size name checksum secret kin talk base grown length day".split()


def load(path: str) -> State | None:
    """Read a state, None if absent or of another version.

    It is derived: the transcript tells it again.
    """
    try:
        head, _, rest = files.read(path, 64 << 20).partition(b"\n")
        values, more = fastjson.parse(head), fastjson.parse(rest)
        if values.pop("v") != VERSION:
            return None
        seen = more["seen"]
        return State(
            path,
            **{key: values[key] for key in _HEAD},
            spans=more["spans"],
            facts=facts_of(more["facts"]),
            bases=[facts_of(base) for base in more["bases"]],
            seen={seen[i : i + 12] for i in range(0, len(seen), 12)},
            spans_taken=[Span(*span) for span in more.get("taken", ())],
            closed=[Closed(**row) for row in more.get("closed", ())],
            private=more.get("private") is True,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def facts_of(value: dict[str, Any]) -> Facts:
    """Return facts rebuilt from the output of `plain`."""
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


def plain(facts: Facts) -> dict[str, Any]:
    """Return facts as values for JSON."""
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


def save(state: State) -> None:
    """Write a state without waiting for the disk.

    A torn state only makes the transcript be read again.
    """
    head = {"v": VERSION, **{key: getattr(state, key) for key in _HEAD}}
    rest = {
        "spans": state.spans,
        "facts": plain(state.facts),
        "bases": [plain(base) for base in state.bases],
        "seen": "".join(sorted(state.seen)),
        "taken": [list(span) for span in state.spans_taken],
        "closed": [vars(row) for row in state.closed],
        "private": state.private,
    }
    files.replace(
        state.path,
        (_dump(head) + "\n" + _dump(rest) + "\n").encode("ascii"),
        synced=False,
    )


def forget_texts(state: State) -> None:
    """Take all texts out of a state; the read spans stay."""
    state.facts, state.bases, state.closed = Facts(), [Facts(), Facts()], []


_dump = json.JSONEncoder(separators=(",", ":")).encode


def head(path: str) -> dict[str, Any]:
    """Read a state's first line alone, of any version; {} for none."""
    try:
        value = fastjson.parse(files.read(path, 1 << 16).partition(b"\n")[0])
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def seen_entry_ids(path: str) -> set[str]:
    """Return the short ids of a state's entries, of any version."""
    try:
        said = fastjson.parse(files.read(path, 64 << 20).partition(b"\n")[2])["seen"]
        return {said[i : i + 12] for i in range(0, len(said), 12)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def identity(session: str) -> str:
    """Return the UUID in a session's name, else the name.

    Copies of its transcript have the UUID too (`2026-01-12-<UUID>`).
    """
    found = _UUID.findall(session)
    return found[-1] if found else session


def short_id(uuid: str) -> str:
    """Return 12 characters that stand for an entry's id.

    The first 48 bits of a UUID; of any other id the start of its SHA-256.
    """
    digits = uuid[:8] + uuid[9:13]
    return (
        digits
        if len(digits) == 12 and digits.isalnum()
        else files.sha256(uuid.encode("utf-8", "replace"))[:12]
    )


def switches(path: str, offset: int = 0, branch: str = "") -> list[Stop]:
    """Return the switches of branches in a transcript, in order.

    Work on a trunk goes along to the branch made from it, so that switch does not count.  A turn
    that changes the branch before anything else is of the new branch; a turn that had changed files
    by then ends the old stretch.
    offset, branch: where to start, and the branch there.
    Raises OSError.
    """
    found, asked = list[Stop](), None
    for at, line in transcript.lines(path, offset):
        head = line[: transcript.SHORT]
        if _may_ask(head, line):
            asked = next((Stop(at, instant, True) for instant in _prompted(line)), asked)
        named = _branch_in(head, branch)
        if named not in ("HEAD", branch):
            is_trunk = branch in layout.TRUNKS
            if asked and not is_trunk:
                found.append(asked)
            if asked or is_trunk:
                branch = named
        if asked and _begins_work(head):
            asked = None
    return found


def _may_ask(head: bytes, line: bytes) -> bool:
    return b'"user"' in head and b'"tool_result"' not in line and len(line) <= transcript.LONGEST


def _branch_in(head: bytes, before: str) -> str:
    """Return the branch in a line's head, else the one before."""
    said = _BRANCH.search(head)
    return said[1].decode("utf-8", "replace") if said else before


def _begins_work(head: bytes) -> bool:
    """Tell whether from a line on a turn belongs to its branch."""
    if b'"assistant"' in head and _CHANGES.search(head):
        return True
    return bool(_TURN_ENDED.search(head))


def _prompted(line: bytes) -> list[str]:
    """Return [instant] of a prompt's line, [] for any other."""
    told = entries.entries(transcript.parse_line(line))
    return [entry.at for entry in told if entry.kind in (entries.PROMPT, entries.SLASH)][:1]


def was_work_left(facts: Facts, ahead: Iterable[Entry], roots: tuple[str, ...]) -> bool | None:
    """Tell whether work was left at a switch of branches.

    ahead: the entries that follow, of which the first turn that changes something decides.
    None where nothing was changed there so far.  False where nothing had been changed before, or
    where an uncommitted change is continued or committed there: a branch is often made of what
    another holds.
    """
    committed = max((at for *_, at in facts.commits), default="")
    held = {stem(edit.path) for edit in facts.edits if edit.at > committed}
    if not held:
        return bool(facts.commits)
    then = Facts()
    for entry in ahead:
        if (then.edits or then.commits) and entry.kind in (entries.PROMPT, entries.SLASH):
            break
        absorb(then, entry, roots)
    if then.commits and then.commits[0][2] <= min((edit.at for edit in then.edits), default="~"):
        return False
    return held.isdisjoint(stem(edit.path) for edit in then.edits) if then.edits else None


def carry(facts: Facts) -> Facts:
    """Return the facts that the next stretch needs.

    Open calls, last request, failures without a fix.
    """
    runs = sorted((*facts.failing, *facts.runs), key=lambda r: r.last)
    passed = {r.key: r.last for r in runs if r.outcome == shell.OK}
    failing = [r for r in runs if r.bad and passed.get(r.key, "") <= r.last]
    return Facts(
        pending=dict(facts.pending),
        muted=facts.muted,
        bang=facts.bang,
        branch=facts.branch,
        cwd=facts.cwd,
        earlier=next(reversed(facts.requests), facts.earlier),
        typed=facts.typed,
        todos=list(facts.todos),
        title=facts.title,
        by=facts.by,
        early=facts.early,
        failing=failing[-10:],
        findings=[list(one) for one in facts.findings],
        printed={line: list(keys) for line, keys in facts.printed.items()},
    )


def map_texts(value: Any, visit: Callable[[str], Any]) -> Any:
    """Return a nested value with each text replaced by `visit`.

    Instants and short words stay.
    """
    if isinstance(value, str):
        if len(value) < 7 or (len(value) == 24 and value.endswith("Z")):
            return value
        made = visit(value)
        return made if isinstance(made, str) else value
    if isinstance(value, dict):
        return {key: map_texts(item, visit) for key, item in value.items()}
    return [map_texts(item, visit) for item in value] if isinstance(value, list) else value


def captured_size(place: layout.Place, session: str) -> int:
    """Return how many bytes are captured, -1 where work is open.

    Captured by an earlier version counts too.
    """
    path = place.cache + "/sessions/" + session + ".json"
    found = head(path)
    size = -1 if found.get("units") or found.get("name") else found.get("size")
    return size if isinstance(size, int) else -1


def transcript_of(receipts: str) -> object:
    """Return the transcript named at a session's last start.

    Not yet trusted; "" for none.  receipts: path of the session's receipts.
    """
    try:
        lines = files.read(receipts, 4 << 20).split(b"\n")
    except OSError:
        return ""
    starts = fastjson.rows(b"\n".join(line for line in lines if b'"start"' in line))
    named = [
        row["transcript"] for row in starts if row.get("event") == "start" and row.get("transcript")
    ]
    return named[-1] if named else ""
