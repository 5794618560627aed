"""What a session's fixes teach: failures whose cause is likely known, worth a learning that waits for a person.

Most failures of a session teach nothing.  Left out are those

    without a word     the error's first line tells nothing (`assert 1 == 2`)
    interrupted        a timeout, or a signal
    mistyped           the command is unknown or misused, and what passed is another one
    network            a connection to elsewhere failed; one to this machine counts, where a command started what was missing
    another target     what passed is only akin: another verb or script of the same program
    unrelated          nothing that was changed has to do with the error
    flaky              it fails with the same error later, and nothing that has to do with it was changed in between
    unfinished work    since it passed last, the files that mended it were edited, or lines that hold a word of the error, before
                       it failed
    a test first       the test that fails was edited before it failed, and then the code
    a test bent        the edits that mended it are of tests alone

Of several errors of one target on the way to its success only the last that teaches counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.capture import checkpointpage, fixes
from memory.capture.facts import Facts
from memory.capture.fixes import Fix
from memory.core.plaintext import one_line, short
from memory.session import commandline, shell

MOST = 3  # lessons of a session
TITLE = 80  # characters
_ERROR_CHARS, _LINE_CHARS, _ERROR_LINES, _FILES, _HUNK_LINES = 48, 160, 3, 5, 4
_SIGNALS = (shell.TIMED_OUT, "exit 130", "exit 137", "exit 143")
_MISUSED = re.compile(
    r"(?i)command not found|no such (?:command|option|subcommand)|missing script|unrecognized (?:argument|option|command)|"
    r"unknown (?:option|flag|command|subcommand|argument|shorthand)|invalid option|unexpected argument|^usage:|did you mean|"
    r"is not a \w+ command|can't open file|flag provided but not defined|parse command-line", re.M)
_NETWORK = re.compile(
    r"(?i)\b(?:econnreset|econnrefused|etimedout|eai_again|enotfound)\b|could(?: not|n't) resolve host|name resolution|"
    r"network is unreachable|"
    r"(?:read|connection|connect|request) timed out|connection (?:reset|refused|aborted|failed)|socket hang up|tls handshake|"
    r"\b(?:429|502|503|504)\b.{0,20}(?:too many|gateway|unavailable|timeout)|rate limit|temporary failure|remote end closed|"
    r"(?:cannot|failed to|error) connect")
_HERE = re.compile(r"(?i)localhost|127\.0\.0\.1|::1|0\.0\.0\.0|\.sock\b")
_PLACE = re.compile(r"^(?:E\s+|error:\s+|Error:\s+|\S+[:(]\d+[\d:,]*\)?:\s*)+", re.I)


class Lesson(NamedTuple):
    """A failure with its fix, as a learning tells it.

    body: markdown.  files: those that were edited.  commit: the first one that followed, or "".  key: 16 hex digits of the
    failure, of which `harvest` makes the same.
    """

    title: str
    body: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    commit: str
    key: str


def lessons(facts: Facts) -> list[Lesson]:
    """Return the lessons of a stretch's fixes, in the order in which things passed, one for each failure."""
    taught: dict[tuple[str, str], Fix] = {}
    for fix in fixes.fixes(facts):
        if not doubt(fix, facts):
            taught[fix.success.key, fix.success.at] = fix  # a later error of the same target takes the earlier one's place
    found = [_lesson(fix, facts) for fix in sorted(taught.values(), key=lambda fix: (fix.success.at, fix.failure.at))]
    return list({lesson.key: lesson for lesson in reversed(found)}.values())[::-1]


def doubt(fix: Fix, facts: Facts) -> str:
    """Say why a fix teaches nothing, in the words of the module's docstring; "" where it does."""
    failure, success = fix.failure, fix.success
    said = failure.detail
    if fixes.signature(failure.command, _first(said)) is None:
        return "without a word"
    if failure.outcome in _SIGNALS:
        return "interrupted"
    if _MISUSED.search(said) and failure.command != success.command:
        return "mistyped"
    if _NETWORK.search(said) and not (_HERE.search(said) and fix.ran):
        return "network"
    if success.key != failure.key and not fixes.passes(success, failure):
        return "another target"
    if not fix.likely:
        return "unrelated"
    return "flaky" if _again(fix, facts) else _own_doing(fix, facts)


def _again(fix: Fix, facts: Facts) -> bool:
    """Tell whether the failure comes back although nothing that has to do with it was changed."""
    mark, since = shell.normal(fix.failure.detail), fix.success.at
    back = next((r for r in facts.runs if r.bad and r.last > since and shell.normal(r.detail) == mark
                 and fixes.is_akin(r, fix.failure)), None)
    return back is not None and not any(since < e.at < back.last and fixes.causes(e, fix.failure) for e in facts.edits)


def _own_doing(fix: Fix, facts: Facts) -> str:
    """Say how the session itself caused the failure, by unfinished work or on purpose; "" where it did not."""
    before = [edit for edit in facts.edits if fix.passed < edit.at < fix.began]
    if not fix.edits:
        called = fix.success in fix.ran and any(fixes.causes(edit, fix.failure) for edit in before)
        return "unfinished work" if called else ""
    touched = {edit.path for edit in before} | set(facts.touched if fix.failure in facts.failing else ())
    if all(path in touched for path in fix.files) or any(fixes.shares(edit, fix.failure) for edit in before):
        return "unfinished work"
    code = [path for path in fix.files if not fixes.is_setting(path, fix.failure)]
    if not fix.failure.is_test or not code or fix.ran:
        return ""
    tests = [path for path in touched if commandline.TEST_FILE.search(path) and fixes.names(path, fix.failure)]
    return "a test first" if tests else "a test bent" if all(map(commandline.TEST_FILE.search, code)) else ""


# --- what is told

def _lesson(fix: Fix, facts: Facts) -> Lesson:
    failure = fix.failure
    mark = fixes.signature(failure.command, _first(failure.detail)) or (failure.key, "")
    landed = next(((h, s) for h, s, at in facts.commits if at > fix.success.at), ("", ""))
    told = ["%s failed:" % checkpointpage.quoted(failure.command), "",
            *("    " + one_line(line, _LINE_CHARS) for line in list(fixes.lines(failure.detail))[:_ERROR_LINES]), "",
            "What made it pass%s:" % _other(fix), "", *_steps(fix)]
    told += ["", ("Commit %s: %s" % (landed[0], one_line(landed[1], 120))).replace("Commit :", "Commit:")] if any(landed) else []
    return Lesson(_title(fix), "\n".join(told) + "\n", tuple(checkpointpage.tags(facts)[:3]), fix.files, landed[0],
                  fixes.key_of("failure", *mark))


def _first(detail: str) -> str:
    """Return the line of an error that a checkpoint tells."""
    return one_line(detail.partition("\n")[0], _LINE_CHARS)


def _other(fix: Fix) -> str:
    """Return the command that passed, in brackets, where it is another one than failed, else ""."""
    return "" if fix.success.command == fix.failure.command else " (%s)" % checkpointpage.quoted(fix.success.command)


def _steps(fix: Fix) -> list[str]:
    """Tell each change on a line: the command, or the file with the first lines that went and came."""
    lines = ["- ran %s" % checkpointpage.quoted(command) for command in fix.commands]
    for path in fix.files[:_FILES]:
        hunk = "\n".join(edit.hunk for edit in fix.edits if edit.path == path and edit.hunk).split("\n")
        gone, come = ([line[1:].strip() for line in hunk if line[:1] == sign] for sign in "-+")
        made = any(edit.made for edit in fix.edits if edit.path == path)
        lines.append("- %s %s" % ("made" if made else "edited", checkpointpage.quoted(path)))
        shown = [("-", line) for line in gone if line not in come][:_HUNK_LINES // 2]
        shown += [("+", line) for line in come if line not in gone][:_HUNK_LINES - len(shown)]
        lines += ["  %s %s" % (sign, checkpointpage.quoted(line, _LINE_CHARS)) for sign, line in shown]
    return lines


def _title(fix: Fix) -> str:
    """Return a lesson's title: the error, and the command or file that mended it."""
    if fix.ran and not fix.edits:
        how = "run " + checkpointpage.quoted(fix.commands[-1], 40)
    else:
        names = [path.rpartition("/")[2] for path in fix.files]
        how = "edit " + checkpointpage.quoted(names[0], 40) + (" +%d" % (len(names) - 1) if len(names) > 1 else "")
    error = _PLACE.sub("", _first(fix.failure.detail)) or fix.failure.key
    return "%s: %s" % (short(error, max(_ERROR_CHARS, TITLE - len(how) - 2)), how)
