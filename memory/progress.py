"""Where the capture of one session stands, kept between its workers.

State, version 2: `<cache>/sessions/<session>.json`, derived, two lines of JSON:

    {"v":2, "first": uuid of the session's first entry, "since": instant up to which older checkpoints already tell
     (after a lost state), "units": new work since the last write, "size": bytes of the transcript read, "name",
     "checksum": the open checkpoint, "secret": a secret was redacted in this stretch, "kin": sessions with the same
     first entry (forks), "lessons": what the session taught and no record tells yet (lessons.Lesson by name, and "checkpoint":
     the record that tells it), "learned": keys of all that it taught}
    {"spans": {file: [offset read, offset of the stretch's start, offset of the last write]}, "facts": facts of the
     stretch, redacted, "bases": [facts carried into the stretch, facts carried over the last write],
     "seen": 12 hex digits of each entry's uuid, run together}
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memory import files, jsonio
from memory.facts import Edit, Facts
from memory.shell import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 2


@dataclass
class State:
    """Where the capture of one session stands; see the module's docstring."""

    path: str
    first: str = ""
    since: str = ""
    units: int = 0
    size: int = 0
    name: str = ""
    checksum: str = ""
    secret: bool = False
    kin: list[str] = field(default_factory=list)
    lessons: list[dict[str, Any]] = field(default_factory=list)
    learned: list[str] = field(default_factory=list)
    spans: dict[str, list[int]] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    bases: list[Facts] = field(default_factory=lambda: [Facts(), Facts()])
    seen: set[str] = field(default_factory=set)


_HEAD = ("first", "since", "units", "size", "name", "checksum", "secret", "kin", "lessons", "learned")


def load(path: str) -> State | None:
    """Read a state; None where there is none of this version (it is derived: the transcript tells again)."""
    try:
        head, _, rest = files.read(path, 64 << 20).partition(b"\n")
        values, more = jsonio.parse(head), jsonio.parse(rest)
        if values.pop("v") != VERSION:
            return None
        seen = more["seen"]
        return State(path, **{key: values[key] for key in _HEAD}, spans=more["spans"], facts=facts_of(more["facts"]),
                     bases=[facts_of(base) for base in more["bases"]],
                     seen={seen[i:i + 12] for i in range(0, len(seen), 12)})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def facts_of(value: dict[str, Any]) -> Facts:
    """Make facts of what `plain` made of them."""
    facts = Facts(**value)
    facts.runs = [Run(*run) for run in value["runs"]]
    facts.failing = [Run(*run) for run in value["failing"]]
    facts.edits = [Edit(*edit) for edit in value["edits"]]
    return facts


def plain(facts: Facts) -> dict[str, Any]:
    """Turn facts into what JSON can hold."""
    value = dict(vars(facts))
    for key in ("runs", "failing"):
        value[key] = [[r.at, r.command, r.key, r.outcome, r.detail, r.summary, r.count, r.last, r.masked] for r in value[key]]
    value["edits"] = [[e.at, e.path, e.made, e.hunk] for e in facts.edits]
    return value


def save(state: State) -> None:
    """Write a state whole; it does not wait for the disk, since a torn one only makes the transcript tell again."""
    head = {"v": VERSION, **{key: getattr(state, key) for key in _HEAD}}
    rest = {"spans": state.spans, "facts": plain(state.facts), "bases": [plain(base) for base in state.bases],
            "seen": "".join(sorted(state.seen))}
    files.replace(state.path, (jsonio.dump(head) + "\n" + jsonio.dump(rest) + "\n").encode("ascii"), synced=False)


def head(path: str) -> dict[str, Any]:
    """Read a state's first line alone."""
    try:
        value = jsonio.parse(files.read(path, 1 << 16).partition(b"\n")[0])
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) and value.get("v") == VERSION else {}


def short_id(uuid: str) -> str:
    """Return 12 characters that stand for an entry's id: of a random UUID its first 48 bits."""
    digits = uuid[:8] + uuid[9:13]
    return digits if len(digits) == 12 and digits.isalnum() else files.sha256(uuid.encode("utf-8", "replace"))[:12]
