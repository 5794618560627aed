"""The host's record of a session, read incrementally: JSON lines in, typed entries out.

The format is the host's own (one JSON object a line, appended; observed with 2.1.329).  What counts:

    type user        a prompt, a slash command, a `!` command, tool results; or machine talk, which is left out
    type assistant   one content block a line: text, or tool_use (thinking is left out)
    type system      subtype compact_boundary

Everything else (attachments, which hold dayleaf's own output; copies of requests; snapshots) is dropped by a look at
the line's bytes, without parsing it: those are most of a transcript.
"""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import NamedTuple

from memory import files, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PROMPT, SLASH, BANG, BANGED, TEXT, USE, RESULT, COMPACT = (
    "prompt", "slash", "bang", "banged", "text", "use", "result", "compact")
BLOCK = 1 << 20
CLIP = 2000  # characters of a text kept until secrets are out of it; it is shortened only afterwards
LONGEST = 8 << 20  # bytes of a line worth parsing; a longer one is an image or a dump
MOST = 512 << 20  # bytes of one reading; the rest comes with the next

SHORT = 4096  # bytes of a line that is parsed sooner than searched
_WANTED = (b'"user"', b'"assistant"', b'"system"')  # the types that count
_WORDS = (b'"user"', b'"assistant"', b'"compact_boundary"')  # one of them stands in every line that counts
_COMPACTED = b'"compact_boundary"'
_FENCES = re.compile(r"<(dayleaf-memory|system-reminder|local-command-caveat|task-notification)\b[^>]*>"
                     r".*?(?:</\1\s*>|\Z)", re.S | re.I)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|[\x00-\x08\x0b-\x1f\x7f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_TAG = re.compile(r"<(command-name|command-args|bash-input|bash-stdout|bash-stderr)>(.*?)(?:</\1>|\Z)", re.S)
_MACHINE = ("<local-command-", "<task-notification", "[Request interrupted", "Caveat: The messages below",
            "This session is being continued from a previous conversation")


class Entry:
    """One thing that was said or done.

    kind: one of PROMPT, SLASH, BANG (`!` command), BANGED (its output), TEXT (the model's), USE (a tool call), RESULT,
    COMPACT.  uuid: the line's id (a fork keeps it).  at: ISO 8601 UTC.  text: what was said or printed, with <private>
    parts, dayleaf's blocks and the host's reminders removed.  id: of the tool call.  name, data: the tool and its input
    (USE), or the host's structured result (RESULT).  failed: the tool reported an error.
    """

    __slots__ = ("_record", "at", "data", "failed", "id", "kind", "name", "text", "uuid")

    def __init__(self, kind: str, record: dict[str, Any], text: str = "", call: str = "", name: str = "",
                 data: Any = None, failed: bool = False):
        self.kind, self.text, self.id, self.name, self.data, self.failed = kind, text, call, name, data, failed
        self._record = record
        self.uuid = _str(record.get("uuid"))
        self.at = _str(record.get("timestamp"))

    @property
    def branch(self) -> str:
        """The branch that was checked out, as the host noted it."""
        return clean(_str(self._record.get("gitBranch")))

    @property
    def prompt(self) -> str:
        """The host's id of the prompt that a line of the user's belongs to; a hook gets it as `prompt_id`."""
        return _str(self._record.get("promptId"))

    @property
    def cwd(self) -> str:
        """The working directory, which drifts with the model's `cd`."""
        return _str(self._record.get("cwd"))


class Reading:
    """The entries of a transcript from an offset on; iterate once, then ask.

    offset: where the next reading starts, just after the last whole line.  long: lines over LONGEST, skipped.
    broken: lines that were no JSON object.
    """

    __slots__ = ("_fd", "_stop", "broken", "long", "offset")

    def __init__(self, fd: int, offset: int, limit: int):
        self._fd, self.offset, self._stop, self.long, self.broken = fd, offset, offset + limit, 0, 0

    def __iter__(self) -> Iterator[Entry]:
        scan: Any = vars(json.JSONDecoder(strict=False))["scan_once"]  # the C scanner: two frames less for each line
        try:
            for line in self._lines():
                try:
                    record, _ = scan(line.decode("utf-8", "replace"), 0)
                except (ValueError, StopIteration, RecursionError):
                    self.broken += 1
                    continue
                if isinstance(record, dict):
                    yield from entries(record)
        finally:
            self.close()

    def close(self) -> None:
        """Give the file back; done by the iteration's end too."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines that may count: only a certain no saves the parse, whatever the order of keys."""
        start = at = self.offset
        tail = b""
        while at < self._stop or self.offset == start:
            block = files.read_at(self._fd, min(BLOCK, self._stop - at) if at < self._stop else BLOCK, at)
            if not block:
                return
            at += len(block)
            lines = (tail + block).split(b"\n")
            tail = lines.pop()
            for line in lines:
                if line.startswith(b'{"type":'):
                    if not line[8:24].lstrip().startswith(_WANTED):
                        continue
                elif len(line) > SHORT and not any(word in line for word in _WORDS):
                    continue
                if len(line) > LONGEST:
                    self.long += 1
                elif line:
                    yield line
            self.offset = at - len(tail)
            if len(tail) > LONGEST:
                self.long += 1
                self.offset = at = self._line_end(at)
                tail = b""

    def _line_end(self, at: int) -> int:
        """Return the offset after the next line feed, or the file's end: the rest of a too long line goes unparsed."""
        while True:
            block = files.read_at(self._fd, BLOCK, at)
            end = block.find(b"\n")
            if end >= 0:
                return at + end + 1
            at += len(block)
            if not block or at >= self._stop:
                return at


def trusted(path: object, env: dict[str, str]) -> str:
    """Return the real path of a transcript where it is one, else "".

    path: as it came on a hook's stdin, so anybody's.  It must be a regular file of this user, reached through no link
    itself, that lies under `projects/` of the host's directory (CLAUDE_CONFIG_DIR, or `.claude` in HOME).
    """
    if not isinstance(path, str) or "\0" in path or len(path) > 4096 or not path.endswith(".jsonl"):
        return ""
    path = path.replace("\\", "/")
    if not (path.startswith("/") or path[1:2] == ":"):
        return ""
    try:
        if not any(files.inside(path, root) for root in roots(env)):
            return ""
        os.close(_open(path))
    except (OSError, ValueError):
        return ""
    return files.real(path)


def roots(env: dict[str, str]) -> list[str]:
    """Return the folders below which the host keeps its transcripts, one folder a project."""
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    hosts = [env.get("CLAUDE_CONFIG_DIR", ""), user + "/.claude" if user else ""]
    return [host.replace("\\", "/").rstrip("/") + "/projects" for host in hosts if host]


def _open(path: str) -> int:
    fd = files.open_read(path, follow=False)
    if hasattr(os, "getuid") and os.fstat(fd).st_uid != os.getuid():
        os.close(fd)
        raise OSError(1, "belongs to somebody else", path)
    return fd


def read(path: str, offset: int = 0, limit: int = MOST) -> Reading:
    """Open a transcript for one pass over its new entries.

    path: what `trusted` returned.  offset: bytes already read; past the file's end (it was rewritten) means from the
    start.  limit: bytes to read at most, up to the end of the first line.  Raises OSError.
    """
    fd = _open(path)
    return Reading(fd, offset if 0 <= offset <= os.fstat(fd).st_size else 0, limit)


class Stop(NamedTuple):
    """Where a stretch ends in a transcript: the offset of the line that ends it, and its instant."""

    offset: int
    at: str


def compactions(path: str) -> list[Stop]:
    """Return where a session's context was compacted, in their order; raises OSError."""
    found: list[Stop] = []
    fd = _open(path)
    with os.fdopen(fd, "rb", BLOCK) as file:
        offset = 0
        for line in iter(partial(file.readline, LONGEST + 1), b""):
            if _COMPACTED in line and len(line) <= LONGEST:
                try:
                    record = json.loads(line)
                except ValueError:
                    record = None
                if isinstance(record, dict) and record.get("type") == "system" and record.get("subtype") == "compact_boundary":
                    found.append(Stop(offset, _str(record.get("timestamp"))))
            offset += len(line)
    return found


def began(path: str) -> str:
    """Return the instant of a transcript's first entry, or ""."""
    try:
        reading = read(path, 0)
    except OSError:
        return ""
    first = next(iter(reading), None)
    reading.close()
    return first.at if first else ""


def agents(path: str, env: dict[str, str]) -> list[str]:
    """Return the transcripts of a session's subagents, in the order of their names."""
    folder = path[:-len(".jsonl")] + "/subagents"
    try:
        names = sorted(n for n in os.listdir(folder) if n.startswith("agent-") and n.endswith(".jsonl"))
    except OSError:
        return []
    return [found for found in (trusted(folder + "/" + name, env) for name in names) if found]


def entries(record: dict[str, Any]) -> list[Entry]:
    """Return what one line says; nothing where it is neither the user's nor the model's."""
    kind = record.get("type")
    if kind == "system":
        return [Entry(COMPACT, record)] if record.get("subtype") == "compact_boundary" else []
    message = record.get("message")
    if kind not in ("user", "assistant") or not isinstance(message, dict):
        return []
    if record.get("isMeta") or record.get("isCompactSummary") or record.get("isApiErrorMessage"):
        return []
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
    if kind == "assistant":
        return [] if message.get("model") == "<synthetic>" else _said(record, blocks)
    results = [_result(record, b) for b in blocks if b.get("type") == "tool_result"]
    return results or _asked(record, "\n".join([_str(b.get("text")) for b in blocks if b.get("type") == "text"]))


def _said(record: dict[str, Any], blocks: list[dict[str, Any]]) -> list[Entry]:
    found = []
    for block in blocks:
        if block.get("type") == "text":
            text = clean(_str(block.get("text")))
            if text:
                found.append(Entry(TEXT, record, text))
        elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            call, name = _str(block.get("id")), _str(block.get("name"))
            found.append(Entry(USE, record, call=call, name=name, data=block["input"]))
    return found


def _result(record: dict[str, Any], block: dict[str, Any]) -> Entry:
    content = block.get("content")
    if isinstance(content, list):
        content = "\n".join(_str(b.get("text")) for b in content if isinstance(b, dict) and b.get("type") == "text")
    return Entry(RESULT, record, _str(content), _str(block.get("tool_use_id")), data=record.get("toolUseResult"),
                 failed=block.get("is_error") is True)


def _asked(record: dict[str, Any], raw: str) -> list[Entry]:
    """Classify a user line without tool results: prompt, slash command, `!` command or its output, or machine talk."""
    origin = record.get("origin")
    by = origin.get("kind") if isinstance(origin, dict) else None
    machine = (by not in (None, "human") or record.get("promptSource") == "system"
               or record.get("turnOrigin") == "task_notification" or record.get("isSidechain") is True)
    start = raw.lstrip()
    if machine or start.startswith(_MACHINE):
        return []
    if start.startswith(("<command-", "<bash-")):
        parts = dict(_TAG.findall(raw))
        if "bash-input" in parts:
            return [Entry(BANG, record, clean(parts["bash-input"]))]
        if "bash-stdout" in parts or "bash-stderr" in parts:
            return [Entry(BANGED, record, clean(parts.get("bash-stdout", "") + "\n" + parts.get("bash-stderr", "")))]
        # Built-in commands (/compact, /model) say nothing about the work; they carry neither of these marks.
        theirs = by == "human" or record.get("turnOrigin") == "human"
        words = (parts.get("command-name", "").strip() + " " + parts.get("command-args", "").strip()).strip()
        return [Entry(SLASH, record, clean(words))] if theirs and words else []
    text = clean(raw)
    return [Entry(PROMPT, record, text)] if text else []


def clean(text: str) -> str:
    """Remove from raw text what must not be kept: <private> parts, dayleaf's own blocks, reminders, escape sequences.

    An unclosed block counts to the end of the text.
    """
    if "private" in text.lower():
        text = redact.strip_private(text)
    if "<" in text:
        text = _FENCES.sub("", text)
    if not text.isascii():  # a lone surrogate, which JSON allows, could never be written as UTF-8
        text = text.encode("utf-8", "replace").decode("utf-8")
    if _CONTROL.search(text):
        text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text.strip()


def clip(value: str, most: int = CLIP) -> str:
    """Shorten a text at white space: half a secret would no longer be known for one, so a cut word goes whole."""
    if len(value) <= most:
        return value
    head = value[:most]
    cut = max(head.rfind(" "), head.rfind("\n"))
    return (head[:cut] if cut > 0 else "").rstrip() + " …"


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""
