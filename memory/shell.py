"""Shell commands of a session: which of them mattered, and how they went."""

from __future__ import annotations

import re
from functools import lru_cache

from memory.transcript import clean, clip

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
_MASKED = re.compile(
    r"\|\|\s*(?:true|:|echo)\b|\|\s*(?:tail|head|grep|rg|tee|cat|less|sed|awk|sort|wc)\b|;\s*(?:echo|true|cat|ls)\b")
_PLACED = re.compile(r"--- FAIL: |\s+[\w./-]+\.\w+:\d+: \S")  # `    a_test.go:31: got 1, want 2`
_NORMAL = (  # in this order
    (re.compile(r"^E\s+"), ""),
    (re.compile(r"(?:[A-Za-z]:|(?<![\w.]))(?:[\\/][\w.@+~ -]*[\w.@+~-])*[\\/](?=[\w.@+~-])"), "/"),
    (re.compile(r"\b(?:0x[0-9a-fA-F]+|[0-9a-f]{8}-[0-9a-f-]{20,40}|(?=[0-9a-f]*\d)[0-9a-f]{7,64})\b"), "#"),
    (re.compile(r"(?P<q>['\"])(?![A-Za-z_][\w.:/@-]*(?P=q))[^'\"]*(?P=q)"), "'#'"),
    (re.compile(r"(?<!\w)\d+(?:[.,:]\d+)*"), "#"),
    (re.compile(r"\s+"), " "),
)
_EXIT = re.compile(r"\A(?:Error: )?Exit code (\d+)\n?")


class Run:
    """A command and how it went.

    at: when it ended.  command: as typed.  key: program and verb (`pytest`, `npm test`, `git commit`).  outcome: OK,
    `exit N`, or one of the words above.  detail: the lines that say why it failed.  summary: what a test run says of
    itself.  count: how often in a row; last: when the latest of them ended.  masked: it speaks of errors, and its status is
    that of what it was piped into.
    """

    __slots__ = ("at", "command", "count", "detail", "key", "last", "masked", "outcome", "summary")

    def __init__(self, at: str, command: str, key: str, outcome: str, detail: str = "", summary: str = "",
                 count: int = 1, last: str = "", masked: bool = False):
        self.at, self.command, self.key, self.outcome = at, command, key, outcome
        self.detail, self.summary, self.count = detail, summary, count
        self.last, self.masked = last or at, masked

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
    masked = outcome == OK and not summary and bool(_MASKED.search(command) and _ERROR.search(text))
    result = Run(at, command, key, outcome, "", summary, masked=masked)
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
    if isinstance(data, dict) and data.get("interrupted") is True:
        return DECLINED
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


def normal(error: str) -> str:
    """Return what of an error does not vary: numbers, hashes, quoted values and the folders of absolute paths are put aside; a
    quoted identifier stays, for it tells one KeyError from another."""
    for pattern, plain in _NORMAL:
        error = pattern.sub(plain, error)
    return error.strip().lower()


def error_lines(text: str, most: int = 3) -> list[str]:
    """Pick the lines that say why a command failed, the telling one first.

    text: what it printed.  Returns at most `most` lines: what was raised, then where; else the first lines that speak
    of an error; else the first lines.
    """
    rules = ("Traceback (most", "ImportError while importing test module", "===", "---")
    lines = [line.rstrip() for line in text.split("\n")
             if line.strip() and (not line.startswith(rules) or line.startswith("--- FAIL: "))]
    raised = [line for line in lines if _RAISED.match(line)]
    if raised:
        telling = raised[-1] if "Traceback (most" in text else raised[0]
        place = [line for line in lines if re.match(r'\s*File "|.*:\d+: \w*(?:Error|Exception)', line)][-1:]
        named = [line for line in lines if line.startswith(("FAILED ", "ERROR ")) and line != telling][:1]
        chosen = [telling, *place, *named]
    else:
        chosen = [line for line in lines if _ERROR.search(line) or _PLACED.match(line)] or lines
    return [clip(line.strip()) for line in dict.fromkeys(chosen)][:most]
