"""Shell commands of a session: which of them mattered, and how they went."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from memory.session import tellingline
from memory.session.commandline import (
    QUIET_FAILURES,
    is_gate,
    is_noise,
    is_test,
    key_of,
    kind_of,
    steps,
)
from memory.session.entries import clean, clip_characters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

OK, FAILED, TIMED_OUT, DECLINED = "passed", "failed", "timed out", "refused"
BACKGROUND, BY_HAND, INTERRUPTED, UNKNOWN = "in background", "by the user", "interrupted", "unknown"
DELETED = re.compile(r"(?:^|[;&|\n][ \t]{0,40})(?:git[ \t]{1,40})?rm[ \t]{1,40}([^;&|\n]+)")
WRITTEN = re.compile(
    r"(?:^|[;&|\n][ \t]{0,40})cat[ \t]{0,40}>>?[ \t]{0,40}['\"]?"
    r"([^\s'\"<>&|;]{1,400})['\"]?[ \t]{0,40}<<"
)
# print what other runs said
_READERS = frozenset("gh curl wget kubectl journalctl ssh jq docker-logs glab".split())
_SUMMARY = re.compile(
    r"^(?:=+ |\[\w+\] )?((?:Ran |OK \(|test result: \w+\. |[ \t]*Tests:? {1,40})?\d+%? "
    r"(?:tests?|examples?|pass(?:ed|ing)|fail(?:ed|ing)|skipped|errors?)\b"
    r"(?=[,;|( ]{0,9}(?:\d|in |passed|total|$)).{0,200}?)(?: =+)?$"
    r"|^((?:FAILED \(\w+=|Tests run: |# (?:pass|fail) |Failed!  - Failed: )\d.*)$"
    r"|^((?:ok|FAIL)\s+\S+\s+[\d.(\[]\S*.*)$",
    re.M,
)
_BAD = re.compile(
    r"\b[1-9]\d* (?:fail(?:ed|ing|ures?)|errors?)\b|^FAIL|\bFAILED\b"
    r"|(?:Failures|Errors|Failed): [1-9]|# fail [1-9]"
)
_INTERRUPTIONS = ("interrupted by user", "interrupted by the user")
# cut what they are given
_FILTERS = frozenset("tail head cat tee less more ts nl sed awk cut sort uniq column tr".split())
_STATUS = "$? PIPESTATUS pipestatus $rc $status $code $exit_code $EXIT $RC".split()
_STATED = r"(?i)(?:exit(?:ed)?|status|rc|code|=|:)\W{0,3}(\d{1,3})\W*\Z"
_HEAD = r"head(?:\s+-n?\s*(\d+))?(?:\s|\Z)"
# what only a failed runner says, at the start of a line, and the rest of it
_FELL = tuple(
    "--- FAIL: ; FAIL\t; FAIL ; npm ERR! ; npm error ; ELIFECYCLE; error: ; fatal: ; FAILED: ; "
    "BUILD FAILED; Some tests failed".split("; ")
)
_FELL_TOO = re.compile(
    r"FAIL|\[[\w:./-]+\] ERROR task failed.*|g?make(?:\[\d+\])?: \*\*\* .*|error\[E\d+\]: .*"
    r"|.*error TS\d+: .*|[1-9]\d* issues?:.*|Found [1-9]\d* errors?.*|[✖✗] \d+ problems? \([1-9].*"
    r"|(?:vet: )?[\w./+-]+\.(?:go:\d+:\d+: |\w+:\d+:\d+: (?:fatal )?error: ).*"
    r"|.*failed to solve: .*|! \[.*rejected\].*"
)
# what only a runner that came through says, likewise
_STOOD = tuple(
    "0 issues.; All checks passed; Success: no issues; Found 0 errors; BUILD SUCCESS; "
    "Build succeeded; tests passed; All tests passed; up to date; Successfully installed; "
    "Successfully built; Successfully tagged; Everything up-to-date; All files formatted; "
    "Finished `; Finished dev; Finished release; Finished test".split("; ")
)
_STOOD_TOO = re.compile(
    r"built in [\d.]+|^added \d+ packages?|^\[\S+(?: \(root-commit\))? [0-9a-f]{7,}\] "
    r"|^[0-9a-f]{7,}\.\.[0-9a-f]{7,}\s"
)
_EXIT = re.compile(r"\A(?:Error: )?Exit code (\d+)\n?")


@dataclass(eq=False)
class Run:
    """A command and its outcome.

    at: when it ended.
    command: as typed.
    key: program and verb (`pytest`, `npm test`, `git commit`).
    outcome: OK, `exit N`, or one of the words above; UNKNOWN where a pipe or a command after it
        hides the status and the output does not tell.
    detail: the lines with the cause of failure, the telling line first.
    summary: the test runner's own summary.
    last: when the latest of them ended.
    kind: of failure (`tellingline`: test, lint, build, use …).
    names: the failed tests, or the files with findings.
    """

    at: str
    command: str
    key: str
    outcome: str
    detail: str = ""
    summary: str = ""
    last: str = ""
    kind: str = ""
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Take over what JSON made of the fields."""
        self.last, self.names = self.last or self.at, tuple(self.names)

    def fields(self) -> list[object]:
        """Return the constructor's arguments, ready for JSON."""
        return [*list(vars(self).values())[:-1], list(self.names)]

    @property
    def bad(self) -> bool:
        """Whether the run failed.

        Refused, interrupted and running commands did not.
        """
        return self.outcome in (FAILED, TIMED_OUT) or self.outcome.startswith("exit ")

    @property
    def passed(self) -> bool:
        """Whether the run surely passed."""
        return self.outcome == OK

    @property
    def is_test(self) -> bool:
        """Whether the run was a test run."""
        return bool(self.summary or is_test(self.key))

    @property
    def is_gate(self) -> bool:
        """Whether work waits for the run: tests, builds, linters."""
        return self.is_test or is_gate(self.key)


def run(
    command: str,
    at: str,
    output: str,
    data: object = None,
    failed: bool = False,
    refused: bool = False,
) -> Run | None:
    """Return a command's run, judged by its output.

    command, output: raw text of the call and its result.
    data: the host's structured result.
    failed: it reported an error.
    refused: it did not run.
    None for noise and for dayleaf's own commands.  The exit status stands only in the text ("Exit
    code 3"); `pytest | tail` exits 0 with failures, so the runner's own words decide before it.
    """
    command = clean(command)
    every = steps(command)
    keyed = [(number, key) for number, key in enumerate(key_of(part) for _, part in every) if key]
    mattering = [(number, key) for number, key in keyed if not is_noise(key)]
    others = [(number, key) for number, key in mattering if key.partition(" ")[0] != "dayleaf"]
    if not keyed or (mattering and not others):
        return None
    number, key = next(((n, k) for n, k in others if is_test(k)), others[0] if others else keyed[0])
    text = clean(output) if len(mattering) == len(others) else ""
    outcome = _outcome(text, data, failed, refused)
    text = _EXIT.sub("", text)
    told = (
        tellingline.pick_telling_lines(text, command)
        if outcome == FAILED or outcome.startswith("exit ")
        else None
    )
    if told is not None and len(others) > 1:
        number, key = _failing_step(others, told, (number, key), text)
    hidden = _status_hiders(every, number)
    judged = bool(others) and key.partition(" ")[0] not in _READERS
    summary = _summary(text) if judged else ""
    if judged and outcome == OK and (_BAD.search(summary) or _speaks_of_failure(text, key, hidden)):
        outcome = FAILED
    elif hidden and (
        outcome == OK or (outcome == "exit 1" and hidden[0] == "|" and _is_quiet(hidden))
    ):
        piped = every[number][1]
        passed = _passed_despite_hidden_status(text, summary, key, hidden, piped)
        outcome = _printed_status(command, text) or (OK if passed else UNKNOWN)
    result = Run(at, command, key, outcome, "", summary)
    quiet = (
        outcome == "exit 1"
        and {key.partition(" ")[0], keyed[-1][1].partition(" ")[0]} & QUIET_FAILURES
    )
    if not others and (not result.bad or quiet):
        return None
    if result.bad and outcome != TIMED_OUT:
        told = told or tellingline.pick_telling_lines(text, command)
        result.detail, result.kind, result.names = (
            "\n".join(map(clip_characters, told.lines)),
            told.kind,
            told.names,
        )
    return result


def _failing_step(
    others: list[tuple[int, str]], told: tellingline.TellingLines, first: tuple[int, str], text: str
) -> tuple[int, str]:
    """Return the failed command among several."""
    task = re.search(r"^\[([\w:./-]+)\] ERROR task failed", text, re.M)
    if task:
        return next(((n, k) for n, k in others if k.endswith(" " + task[1])), first)
    return next(((n, k) for n, k in others if told.kind and kind_of(k) == told.kind), first)


def _speaks_of_failure(text: str, key: str, hidden: tuple[str, ...]) -> bool:
    """Tell whether an output has words only a failed runner prints."""
    if not hidden and "--- FAIL: " not in text:
        return False
    gate = is_gate(key) or kind_of(key) or (hidden and key.startswith("git "))
    return bool(gate) and any(
        line.startswith(_FELL) or _FELL_TOO.fullmatch(line) for line in _bare_lines(text)
    )


def _bare_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text without marks before and behind."""
    return map(str.strip, text.split("\n"))


def _status_hiders(every: list[tuple[str, str]], number: int) -> tuple[str, ...]:
    """Return the operators that hide a command's exit status.

    Of a pipe the programs behind it too.
    """
    if every[number][1].endswith("&"):
        return ("&",)
    after = every[number + 1 :]
    if after and after[0][0] == "|" and not any("pipefail" in part for _, part in every):
        return ("|", *(part for _, part in takewhile(lambda step: step[0] == "|", after)))
    hiding = (join for join, part in after if join == ";" or join == "||" and part != "exit 1")
    return tuple(hiding)[:1]


def _is_quiet(hidden: tuple[str, ...]) -> bool:
    """Tell whether a pipe ends in a search."""
    return len(hidden) > 1 and key_of(hidden[-1]).partition(" ")[0] in QUIET_FAILURES


def _printed_status(command: str, text: str) -> str:
    """Return the exit status that a command prints itself, or ""."""
    prints = any(name in command for name in _STATUS)
    last = re.search(_STATED, text[-80:]) if prints else None
    return "" if last is None else OK if last[1] == "0" else "exit " + last[1]


def _passed_despite_hidden_status(
    text: str, summary: str, key: str, hidden: tuple[str, ...], piped: str
) -> bool:
    """Tell whether an output shows success despite a hidden status."""
    if hidden[0] == "&" or _speaks_of_failure(text, key, hidden):
        return False
    filters = hidden[1:]
    if _may_be_cut(text, filters):
        return False
    searched = [part for part in filters if part.split()[0] not in _FILTERS]
    if any(not re.search(r"(?i)fail|error|passed|^\S+ -v|\^ok", part) for part in searched):
        return False
    if not text:  # else it was searched for failures, and none was found
        return bool(kind_of(key)) and (not searched or "2>&1" in piped)
    return bool(summary) or _speaks_of_success(text)


def _may_be_cut(text: str, filters: tuple[str, ...]) -> bool:
    """Tell whether an output has all the lines that `head` lets through."""
    cut = next(filter(None, (re.match(_HEAD, part) for part in filters)), None)
    return cut is not None and text.count("\n") + 1 >= int(cut[1] or 10)


def _speaks_of_success(text: str) -> bool:
    return any(line.startswith(_STOOD) or _STOOD_TOO.search(line) for line in _bare_lines(text))


def _unfinished(text: str, data: object, failed: bool) -> str:
    """Return BACKGROUND or INTERRUPTED, "" for a command that ended."""
    host: dict[str, object] = data if isinstance(data, dict) else {}
    start = text[:300]
    if host.get("backgroundTaskId") or start.startswith("Command running in background with ID"):
        return BACKGROUND
    if host.get("interrupted") is True or (
        failed and any(said in start.lower() for said in _INTERRUPTIONS)
    ):
        return INTERRUPTED
    return ""


def _outcome(text: str, data: object, failed: bool, refused: bool) -> str:
    unfinished = _unfinished(text, data, failed)
    if unfinished:
        return unfinished
    code = _EXIT.match(text)
    if code and "Command timed out" in text[:200]:
        return TIMED_OUT
    if code and code.group(1) != "0":
        return "exit " + code.group(1)
    if not failed:
        return OK
    if refused:
        return DECLINED
    return TIMED_OUT if "timed out" in text[:200] else FAILED


def _summary(text: str) -> str:
    """Return the last line of a runner's summary, one of failures first."""
    found: list[str] = [
        next(filter(None, groups)).strip() for groups in _SUMMARY.findall(text[-6000:])
    ]
    bad = [line for line in found if _BAD.search(line)]
    return (bad or found or [""])[-1]
