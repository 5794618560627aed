"""Shell commands of a session: the ones that mattered, and their outcome by their output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from memory.session import tellingline
from memory.session.commandline import (
    QUIET_FAILURES,
    classify_key,
    is_gate,
    is_noise,
    is_test,
    parse_key,
    split_steps,
)
from memory.session.entries import clean, clip_characters

OK, FAILED, TIMED_OUT, DECLINED = "passed", "failed", "timed out", "refused"
BACKGROUND, BY_HAND, INTERRUPTED, UNKNOWN = "in background", "by the user", "interrupted", "unknown"
DELETED = re.compile(r"(?:^|[;&|\n][ \t]{0,40})(?:git[ \t]{1,40})?rm[ \t]{1,40}([^;&|\n]+)")
WRITTEN = re.compile(
    r"(?:^|[;&|\n][ \t]{0,40})cat[ \t]{0,40}>>?[ \t]{0,40}['\"]?"
    r"([^\s'\"<>&|;]{1,400})['\"]?[ \t]{0,40}<<"
)
# programs that print the output of other runs
_READERS = frozenset("gh curl wget kubectl journalctl ssh jq docker-logs glab".split())
_SUMMARY = re.compile(
    r"^(?:=+ |\[\w+\] )?((?:Ran |OK \(|test result: \w+\. |[ \t]*Tests:? {1,40})?\d+%? "
    r"(?:tests?|examples?|pass(?:ed|ing)|fail(?:ed|ing)|skipped|errors?)\b"
    r"(?=[,;|( ]{0,9}(?:\d|in |passed|total|$)).{0,200}?)(?: =+)?$"
    r"|^((?:FAILED \(\w+=|Tests run: |# (?:pass|fail) |Failed!  - Failed: )\d.*)$"
    r"|^((?:ok|FAIL)\s+\S+\s+[\d.(\[]\S*.*)$",
    re.M,
)
_FAILURE_COUNT = re.compile(
    r"\b[1-9]\d* (?:fail(?:ed|ing|ures?)|errors?)\b|^FAIL|\bFAILED\b"
    r"|(?:Failures|Errors|Failed): [1-9]|# fail [1-9]"
)
_INTERRUPTIONS = ("interrupted by user", "interrupted by the user")
# programs that pass on a part of their input
_FILTERS = frozenset("tail head cat tee less more ts nl sed awk cut sort uniq column tr".split())
_STATUS_NAMES = "$? PIPESTATUS pipestatus $rc $status $code $exit_code $EXIT $RC".split()
_PRINTED_STATUS = r"(?i)(?:exit(?:ed)?|status|rc|code|=|:)\W{0,3}(\d{1,3})\W*\Z"
_HEAD = r"head(?:\s+-n?\s*(\d+))?(?:\s|\Z)"
# lines that only a failed runner prints: how they start, and their form
_FAILURE_STARTS = tuple(
    "--- FAIL: ; FAIL\t; FAIL ; npm ERR! ; npm error ; ELIFECYCLE; error: ; fatal: ; FAILED: ; "
    "BUILD FAILED; Some tests failed".split("; ")
)
_FAILURE_LINE = re.compile(
    r"FAIL|\[[\w:./-]+\] ERROR task failed.*|g?make(?:\[\d+\])?: \*\*\* .*|error\[E\d+\]: .*"
    r"|.*error TS\d+: .*|[1-9]\d* issues?:.*|Found [1-9]\d* errors?.*|[✖✗] \d+ problems? \([1-9].*"
    r"|(?:vet: )?[\w./+-]+\.(?:go:\d+:\d+: |\w+:\d+:\d+: (?:fatal )?error: ).*"
    r"|.*failed to solve: .*|! \[.*rejected\].*"
)
# lines that only a runner that passed prints, likewise
_SUCCESS_STARTS = tuple(
    "0 issues.; All checks passed; Success: no issues; Found 0 errors; BUILD SUCCESS; "
    "Build succeeded; tests passed; All tests passed; up to date; Successfully installed; "
    "Successfully built; Successfully tagged; Everything up-to-date; All files formatted; "
    "Finished `; Finished dev; Finished release; Finished test".split("; ")
)
_SUCCESS_LINE = re.compile(
    r"built in [\d.]+|^added \d+ packages?|^\[\S+(?: \(root-commit\))? [0-9a-f]{7,}\] "
    r"|^[0-9a-f]{7,}\.\.[0-9a-f]{7,}\s"
)
_EXIT = re.compile(r"\A(?:Error: )?Exit code (\d+)\n?")


def is_failure(outcome: str) -> bool:
    return outcome in (FAILED, TIMED_OUT) or outcome.startswith("exit ")


@dataclass(eq=False)
class Run:
    """A command and its outcome.

    at: when it ended.
    key: program and verb (`pytest`, `npm test`, `git commit`).
    outcome: OK, `exit N`, or a word above; UNKNOWN where a pipe or a later command hides the
        status and the output does not tell.
    detail: the lines with the cause of failure, the telling line first.
    last: when its latest repetition ended.
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
        self.last, self.names = self.last or self.at, tuple(self.names)

    def fields(self) -> list[object]:
        """Return the constructor's arguments as JSON can hold them."""
        return [*list(vars(self).values())[:-1], list(self.names)]

    @property
    def bad(self) -> bool:
        """Whether the run failed; a refused or interrupted run did not."""
        return is_failure(self.outcome)

    @property
    def cause(self) -> str:
        """The line that best tells why the run failed, or ""."""
        return self.detail.partition("\n")[0]

    @property
    def passed(self) -> bool:
        return self.outcome == OK

    @property
    def is_test(self) -> bool:
        return bool(self.summary or is_test(self.key))

    @property
    def is_gate(self) -> bool:
        """Whether the run tests, builds or lints."""
        return self.is_test or is_gate(self.key)


class _Steps(NamedTuple):
    """The simple commands of a command line.

    every: (joining operator, simple command).
    keyed: (index in `every`, key) of each that has a key.
    work: of `keyed` those that do more than look around, without dayleaf's own.
    has_own: dayleaf's own commands are among them.
    """

    every: list[tuple[str, str]]
    keyed: list[tuple[int, str]]
    work: list[tuple[int, str]]
    has_own: bool


class _Step(NamedTuple):
    """The simple command by which a command line is judged.

    is_runner: its output says how it went, not how other runs did.
    hiders: the operator that hides its exit status, of a pipe the programs behind it too.
    """

    key: str
    part: str
    is_runner: bool
    hiders: tuple[str, ...]


def judge_command(
    command: str,
    at: str,
    output: str,
    data: object = None,
    failed: bool = False,
    refused: bool = False,
) -> Run | None:
    """Return a command's run, judged; None for noise and dayleaf's own.

    command, output: raw text of the call and its result.  data: the host's structured result.
    failed: the host reported an error.  refused: it did not run.
    The exit status stands only in the text ("Exit code 3"); `pytest | tail` exits 0 with failures,
    so the runner's own words decide first.
    """
    command = clean(command)
    steps = _classify_steps(command)
    if steps is None:
        return None
    text = "" if steps.has_own else clean(output)
    outcome = _find_outcome(text, data, failed, refused)
    text = _EXIT.sub("", text)
    telling = _explain(outcome, command, text)
    step = _choose_step(steps, telling, text)
    summary = _find_summary(text) if step.is_runner else ""
    run = Run(at, command, step.key, outcome, "", summary)
    run.outcome = _correct_outcome(outcome, command, text, summary, step)
    if not steps.work and (not run.bad or _is_quiet_failure(run, steps)):
        return None
    if run.outcome != outcome:
        telling = _explain(run.outcome, command, text)
    if telling is not None:
        run.detail = "\n".join(map(clip_characters, telling.lines))
        run.kind, run.names = telling.kind, telling.names
    return run


def _explain(outcome: str, command: str, text: str) -> tellingline.TellingLines | None:
    if not is_failure(outcome) or outcome == TIMED_OUT:
        return None
    return tellingline.pick_telling_lines(text, command)


def _classify_steps(command: str) -> _Steps | None:
    """Return a command line's steps, None if it only runs dayleaf."""
    every = split_steps(command)
    keyed = [(at, key) for at, key in enumerate(parse_key(part) for _, part in every) if key]
    acting = [(at, key) for at, key in keyed if not is_noise(key)]
    work = [(at, key) for at, key in acting if key.partition(" ")[0] != "dayleaf"]
    if not keyed or (acting and not work):
        return None
    return _Steps(every, keyed, work, len(work) < len(acting))


def _choose_step(steps: _Steps, telling: tellingline.TellingLines | None, text: str) -> _Step:
    """Return the failing step, else the first test, else the first step."""
    first = (steps.work or steps.keyed)[0]
    chosen = next((row for row in steps.work if is_test(row[1])), first)
    if telling is not None and len(steps.work) > 1:
        chosen = _find_failing_step(steps.work, telling, text) or chosen
    at, key = chosen
    is_runner = bool(steps.work) and key.partition(" ")[0] not in _READERS
    return _Step(key, steps.every[at][1], is_runner, _find_status_hiders(steps.every, at))


def _find_failing_step(
    work: list[tuple[int, str]], telling: tellingline.TellingLines, text: str
) -> tuple[int, str] | None:
    task = re.search(r"^\[([\w:./-]+)\] ERROR task failed", text, re.M)
    if task:
        return next((row for row in work if row[1].endswith(" " + task[1])), None)
    kind = telling.kind
    return next((row for row in work if kind and classify_key(row[1]) == kind), None)


def _correct_outcome(outcome: str, command: str, text: str, summary: str, step: _Step) -> str:
    """Return an outcome, corrected by the output if the exit status misleads."""
    counts_failures = bool(_FAILURE_COUNT.search(summary))
    if outcome == OK and step.is_runner and (counts_failures or _has_failure_line(text, step)):
        return FAILED
    is_hidden = bool(step.hiders) if outcome == OK else _is_empty_search(outcome, step.hiders)
    if not is_hidden:
        return outcome
    printed = _parse_printed_status(command, text)
    return printed or (OK if _shows_success(text, summary, step) else UNKNOWN)


def _is_quiet_failure(run: Run, steps: _Steps) -> bool:
    """Tell whether an exit status of 1 is only the program's "no"."""
    programs = {key.partition(" ")[0] for key in (run.key, steps.keyed[-1][1])}
    return run.outcome == "exit 1" and not programs.isdisjoint(QUIET_FAILURES)


def _has_failure_line(text: str, step: _Step) -> bool:
    """Tell whether an output has a line that only failed runners print."""
    if not step.hiders and "--- FAIL: " not in text:
        return False
    is_git = bool(step.hiders) and step.key.startswith("git ")
    if not (is_git or is_gate(step.key) or classify_key(step.key)):
        return False
    lines = _strip_lines(text)
    return any(line.startswith(_FAILURE_STARTS) or _FAILURE_LINE.fullmatch(line) for line in lines)


def _strip_lines(text: str) -> Iterator[str]:
    return map(str.strip, text.split("\n"))


def _find_status_hiders(steps: list[tuple[str, str]], index: int) -> tuple[str, ...]:
    """Return what hides the exit status of a step; see `_Step`."""
    if steps[index][1].endswith("&"):
        return ("&",)
    after = steps[index + 1 :]
    if after and after[0][0] == "|" and not any("pipefail" in part for _, part in steps):
        return ("|", *(part for _, part in takewhile(lambda step: step[0] == "|", after)))
    hiding = (join for join, part in after if join == ";" or (join == "||" and part != "exit 1"))
    return tuple(hiding)[:1]


def _is_empty_search(outcome: str, hiders: tuple[str, ...]) -> bool:
    """Tell whether a pipe failed because its search found nothing."""
    last = parse_key(hiders[-1]).partition(" ")[0] if len(hiders) > 1 else ""
    return outcome == "exit 1" and last in QUIET_FAILURES


def _parse_printed_status(command: str, text: str) -> str:
    """Return the outcome by the status that a command prints, or ""."""
    prints = any(name in command for name in _STATUS_NAMES)
    status = re.search(_PRINTED_STATUS, text[-80:]) if prints else None
    if status is None:
        return ""
    return OK if status[1] == "0" else "exit " + status[1]


def _shows_success(text: str, summary: str, step: _Step) -> bool:
    if step.hiders[0] == "&" or _has_failure_line(text, step):
        return False
    filters = step.hiders[1:]
    if _is_cut_by_head(text, filters):
        return False
    searches = [part for part in filters if part.split()[0] not in _FILTERS]
    if any(not re.search(r"(?i)fail|error|passed|^\S+ -v|\^ok", part) for part in searches):
        return False
    if not text:  # else it was searched for failures, and none was found
        return bool(classify_key(step.key)) and (not searches or "2>&1" in step.part)
    return bool(summary) or _has_success_line(text)


def _is_cut_by_head(text: str, filters: tuple[str, ...]) -> bool:
    cut = next(filter(None, (re.match(_HEAD, part) for part in filters)), None)
    return cut is not None and text.count("\n") + 1 >= int(cut[1] or 10)


def _has_success_line(text: str) -> bool:
    lines = _strip_lines(text)
    return any(line.startswith(_SUCCESS_STARTS) or _SUCCESS_LINE.search(line) for line in lines)


def _find_unfinished(text: str, data: object, failed: bool) -> str:
    """Return BACKGROUND or INTERRUPTED for such a run, else ""."""
    result: dict[str, object] = data if isinstance(data, dict) else {}
    start = text[:300]
    if result.get("backgroundTaskId") or start.startswith("Command running in background with ID"):
        return BACKGROUND
    says_so = failed and any(words in start.lower() for words in _INTERRUPTIONS)
    return INTERRUPTED if says_so or result.get("interrupted") is True else ""


def _find_outcome(text: str, data: object, failed: bool, refused: bool) -> str:
    unfinished = _find_unfinished(text, data, failed)
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


def _find_summary(text: str) -> str:
    """Return the last summary line, one with failures first, or ""."""
    found = _SUMMARY.findall(text[-6000:])
    lines: list[str] = [next(filter(None, groups)).strip() for groups in found]
    failed = [line for line in lines if _FAILURE_COUNT.search(line)]
    return (failed or lines or [""])[-1]
