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
from functools import lru_cache

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
            block = files.read_at(self._fd, BLOCK, at)
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
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    roots = [env.get("CLAUDE_CONFIG_DIR", ""), user + "/.claude" if user else ""]
    try:
        if not any(root and files.inside(path, root.replace("\\", "/").rstrip("/") + "/projects") for root in roots):
            return ""
        os.close(_open(path))
    except (OSError, ValueError):
        return ""
    return files.real(path)


def _open(path: str) -> int:
    fd = files.open_read(path, follow=False)
    if hasattr(os, "getuid") and os.fstat(fd).st_uid != os.getuid():
        os.close(fd)
        raise OSError(1, "belongs to somebody else", path)
    return fd


def read(path: str, offset: int = 0, limit: int = MOST) -> Reading:
    """Open a transcript for one pass over its new entries.

    path: what `trusted` returned.  offset: bytes already read; past the file's end (it was rewritten) means from the
    start.  limit: bytes to read at most, up to a whole line more.  Raises OSError.
    """
    fd = _open(path)
    return Reading(fd, offset if 0 <= offset <= os.fstat(fd).st_size else 0, limit)


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


OK, FAILED, TIMED_OUT, DECLINED = "ok", "failed", "timed out", "declined"
BACKGROUND, BY_HAND = "in background", "by the user"
NOISE = frozenset(
    "ls cat pwd echo cd head tail grep rg egrep fgrep find fd wc which whereis type tree stat file date env printenv "
    "export printf true false sleep test [ [[ sed awk cut sort uniq tr column less more du df ps whoami hostname "
    "uname id set unset source . alias jobs wait kill pgrep top touch mkdir basename dirname realpath readlink diff "
    "cmp md5sum sha256sum xxd od jq man history clear exit return read local declare shift eval trap command "
    "builtin".split())
_QUIET_GIT = frozenset(
    "status diff log show branch remote rev-parse ls-files blame reflog config stash add fetch describe cat-file "
    "ls-tree ls-remote shortlog grep help version".split())
_QUIET_FAILURES = frozenset("grep rg egrep fgrep diff cmp test [ [[ which type pgrep git".split())  # 1 means "no"
_WRAPPERS = frozenset(
    "sudo time nohup exec nice env command npx bunx pnpx uvx doas stdbuf ionice then do else if while until ! { "
    "(".split())
_RUNNERS = {"uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run", "bundle": "exec",
            "pnpm": "exec", "yarn": "exec", "npm": "exec", "mise": "exec"}
_INTERPRETERS = frozenset("node ruby bash sh zsh php deno tsx ts-node Rscript julia lua".split())
_VERBLESS = frozenset(
    "pytest py.test unittest nose2 tox nox jest mocha ava rspec phpunit ctest bats mypy pylint flake8 black eslint "
    "prettier tsc".split())
_TESTERS = re.compile(
    r"(?:^|[ /])(?:pytest|py\.test|unittest|nose2?|tox|nox|jest|vitest|mocha|ava|rspec|minitest|phpunit|pest|ctest|"
    r"bats|playwright|cypress|test|tests|check|nextest|spec)(?:$|[ :.])"
    r"|(?:^|[ /])(?:test_[\w-]+|[\w-]+[_.]tests?|[\w-]+\.spec)\.\w+$|(?:^|[ /])[\w-]*tests?\.sh$")
_BUILDERS = re.compile(
    r"^(?:make|cmake|ninja|cargo|go|tsc|mvn|gradle|gradlew|dotnet|mypy|ruff|eslint|flake8|pylint|clang|gcc|g\+\+|javac|"
    r"swift|bazel|just|npm|pnpm|yarn|bun|vite|webpack|docker)(?: |$)")
_PIECE = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(&&|\|\||[;|\n])|[^'"\\&|;\n]+|.""", re.S)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^[ \t]*\2[ \t]*$|\Z)", re.S | re.M)
_WORD = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""", re.S)
_SUMMARY = re.compile(
    r"^(?:=+ )?((?:\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?)(?:, )?)+"
    r" in [\d.:]+s?.*?)(?: =+)?$"
    r"|^(Ran \d+ tests? in .*)$|^(FAILED \((?:failures|errors|skipped|expected).*\))$"
    r"|^(test result: .*)$|^\s*(Tests:? +\d.*)$|^\s*(\d+ (?:passing|failing)\b.*)$"
    r"|^(\d+ examples?, \d+ failures?.*)$|^((?:ok|FAIL)\s+\S+\s+[\d.(]\S*.*)$|^(OK \(\d+ tests?.*\))$"
    r"|^((?:\[\w+\] )?Tests run: \d+.*)$|^(# (?:pass|fail) \d+)$|^((?:Passed|Failed)!\s+- Failed: .*)$"
    r"|^(\d+% tests passed.*)$", re.M)
_BAD = re.compile(
    r"\b[1-9]\d* (?:failed|failing|errors?|failures?)\b|^FAIL|\bFAILED\b|(?:Failures|Errors|Failed): [1-9]|"
    r"# fail [1-9]")
_ERROR = re.compile(
    r"error|exception|^E  |^FAIL|panic|fatal|traceback|not found|no such|denied|undefined|unresolved|cannot|can't|"
    r"could not|unable|refused|invalid|missing|failed|abort|segmentation|assert|expected|오류|실패|"
    r"エラー|失敗|错误|失败|Fehler", re.I)
_RAISED = re.compile(
    r"^(?:E\s+)?[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning|Failure)\b.*|^(?:E\s+)?assert .*")
_EXIT = re.compile(r"\A(?:Error: )?Exit code (\d+)\n?")


class Run:
    """A command and how it went.

    at: when it ended.  command: as typed.  key: program and verb (`pytest`, `npm test`, `git commit`).  outcome: OK,
    `exit N`, or one of the words above.  detail: the lines that say why it failed.  summary: what a test run says of
    itself.  count: how often in a row.
    """

    __slots__ = ("at", "command", "count", "detail", "key", "outcome", "summary")

    def __init__(self, at: str, command: str, key: str, outcome: str, detail: str = "", summary: str = "",
                 count: int = 1):
        self.at, self.command, self.key, self.outcome = at, command, key, outcome
        self.detail, self.summary, self.count = detail, summary, count

    @property
    def bad(self) -> bool:
        """Whether it failed (what a person declined or what still runs did not)."""
        return self.outcome in (FAILED, TIMED_OUT) or self.outcome.startswith("exit ")

    @property
    def is_test(self) -> bool:
        """Whether it ran tests."""
        return bool(self.summary or _TESTERS.search(self.key))

    @property
    def is_gate(self) -> bool:
        """Whether work waits for it: tests, builds, linters."""
        return self.is_test or bool(_BUILDERS.match(self.key))


def run(command: str, at: str, output: str, data: object = None, failed: bool = False) -> Run | None:
    """Judge a command by what it printed; None for noise, and for dayleaf's own commands.

    command, output: raw text of the call and its result.  data: the host's structured result.  failed: it reported an
    error.  The exit status stands only in the text ("Exit code 3"); `pytest | tail` exits 0 with failures, so a test
    summary decides before it.
    """
    command = clean(command)
    keys = [key_of(part) for part in parts(command)]
    keys = [key for key in keys if key]
    mattering = [key for key in keys if not _noise(key)]
    others = [key for key in mattering if key.partition(" ")[0] != "dayleaf"]
    if not keys or (mattering and not others):
        return None
    key = next((k for k in others if _TESTERS.search(k)), others[0] if others else keys[0])
    text = clean(output) if len(mattering) == len(others) else ""
    outcome = _outcome(text, data, failed)
    text = _EXIT.sub("", text)
    summary = _summary(text, key) if others else ""
    if outcome == OK and _BAD.search(summary):
        outcome = FAILED
    result = Run(at, command, key, outcome, "", summary)
    if not others and (not result.bad or (outcome == "exit 1" and key.partition(" ")[0] in _QUIET_FAILURES)):
        return None
    if result.bad and outcome != TIMED_OUT:
        result.detail = "\n".join(error_lines(text))
    return result


def parts(command: str) -> list[str]:
    """Cut a shell line at `&&`, `||`, `;`, `|` and line ends outside quotes; here-documents are left out."""
    found: list[str] = []
    held: list[str] = []
    for piece in _PIECE.finditer(_HEREDOC.sub(r"<<\2\3", command) if "<<" in command else command):
        if piece.group(1):
            found.append("".join(held))
            held = []
        else:
            held.append(piece.group())
    found.append("".join(held))
    return [part.strip() for part in found if part.strip() and not part.strip().startswith("#")]


@lru_cache(1024)
def key_of(part: str) -> str:
    """Return program and verb of one simple command, wrappers and assignments left out; "" where there is none."""
    words: list[str] = _WORD.findall(part.strip().lstrip("({ "))
    while words:
        word = words[0]
        name = word.rpartition("/")[2]
        if re.match(r"\w+=", word) or name in _WRAPPERS:
            words = words[1:]
        elif name in ("timeout", "gtimeout", "xargs"):
            words = words[1:]
            while words and (words[0].startswith("-") or re.match(r"[\d.]+[smhd]?$", words[0])):
                words = words[1:]
        elif len(words) > 2 and _RUNNERS.get(name) == words[1]:
            words = words[2:]
        else:
            break
    if not words or words[0] in ("for", "case", "done", "fi", "esac", "}", ")", "function", "select"):
        return ""
    name = words[0].strip("'\"").rpartition("/")[2].lower()
    if re.match(r"python[\d.]*$", name):
        return _python(words[1:])
    arguments = [w for w in words[1:] if not w.startswith("-")]
    if name in ("sed", "perl") and any(re.match(r"-\w*i", w) for w in words[1:]):
        return name + " -i"
    if name == "git":
        words = re.sub(r"^git(?:\s+-[cC]\s+\S+|\s+--?[\w-]+(?:=\S+)?)*", "git", " ".join(words)).split()
        arguments = words[1:]
    if name in _INTERPRETERS and arguments:
        return name + " " + arguments[0].strip("'\"").rpartition("/")[2]
    verb = arguments[0] if arguments and re.match(r"[A-Za-z][\w:-]*$", arguments[0]) else ""
    if verb in ("run", "exec") and len(arguments) > 1 and re.match(r"[\w:./-]+$", arguments[1]):
        verb += " " + arguments[1]
    return (name + " " + verb).strip() if name not in NOISE and name not in _VERBLESS else name


def _python(words: list[str]) -> str:
    """Name what a Python line runs: the module of -m, the script, or `python -c`."""
    if "-m" in words and len(words) > words.index("-m") + 1:
        return key_of(" ".join(words[words.index("-m") + 1:]))
    script = next((w for w in words if not w.startswith("-")), "")
    if "-c" in words or not script or script.startswith("<<"):
        return "python -c" if words else "python"
    name = script.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if "dayleaf" in script or (name == "memory" and "/" in script):
        return "dayleaf"
    return "python " + name


def _noise(key: str) -> bool:
    name, _, verb = key.partition(" ")
    return (name in NOISE and verb != "-i") or (name == "git" and (verb in _QUIET_GIT or not verb))


def _outcome(text: str, data: object, failed: bool) -> str:
    if isinstance(data, dict) and data.get("backgroundTaskId"):
        return BACKGROUND
    code = _EXIT.match(text)
    if code and "Command timed out" in text[:200]:
        return TIMED_OUT
    if code and code.group(1) != "0":
        return "exit " + code.group(1)
    if not failed:
        return OK
    if "timed out" in text[:200]:
        return TIMED_OUT
    declined = ("doesn't want to" in text[:80] or "ermission to use" in text[:80] or "requires approval" in text[:200]
                or "interrupted by user" in text[:200])
    return DECLINED if declined else FAILED


def _summary(text: str, key: str) -> str:
    found: list[str] = [next(g for g in groups if g).strip() for groups in _SUMMARY.findall(text[-6000:])]
    if found:
        bad = [line for line in found if _BAD.search(line)]
        if found[-1].startswith("Ran ") and re.search(r"^OK\b", text[-200:], re.M):
            return found[-1] + ", OK"
        joined = bad[-1] if bad else found[-1]
        return (found[-2] + ", " + joined) if joined.startswith("FAILED (") and len(found) > 1 else joined
    last = text.rpartition("\n")[2].strip()
    return last if _TESTERS.search(key) and 0 < len(last) <= 80 and not _ERROR.search(last) else ""


def error_lines(text: str, most: int = 3) -> list[str]:
    """Pick the lines that say why a command failed, the telling one first.

    text: what it printed.  Returns at most `most` lines: what was raised, then where; else the first lines that speak
    of an error; else the first lines.
    """
    rules = ("Traceback (most", "===", "---")
    lines = [line.rstrip() for line in text.split("\n") if line.strip() and not line.startswith(rules)]
    raised = [line for line in lines if _RAISED.match(line)]
    if raised:
        telling = raised[-1] if "Traceback (most" in text else raised[0]
        place = [line for line in lines if re.match(r'\s*File "|.*:\d+: \w*(?:Error|Exception)', line)][-1:]
        named = [line for line in lines if line.startswith(("FAILED ", "ERROR ")) and line != telling][:1]
        chosen = [telling, *place, *named]
    else:
        chosen = [line for line in lines if _ERROR.search(line)] or lines
    return [clip(line.strip()) for line in dict.fromkeys(chosen)][:most]
