"""The lines of a failed command's output that say what is wrong, the most telling one first.

Each runner has its way to say it; RUNNERS is the table of them.  A runner more is one entry there
and one case in its test.  What is told has the form of a compiler's line wherever the output has
the parts of it: `file:line:col: what is wrong (test or rule)`.  What a runner adds at the end
(`make: *** [all] Error 1`, a bare `FAIL`) is told only where nothing else stands there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.core import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# what failed; USE: how it was called
TEST, LINT, BUILD, FORMAT, USE, OTHER = "test", "lint", "build", "format", "use", ""
_LONG = 60000  # characters of an output that are read
MOST_NAMES = 12  # failing tests or files that are named
_END, _ENDS, _WIDE = 600, 3, 160  # of an output: characters and lines of its ends, of a line
_MOST_PRINTED, _OTHERS = 100, 2  # lines that are known; programs that printed one


class TellingLines(NamedTuple):
    """The telling lines of a failure's output.

    lines: the most telling first.
    kind: TEST … OTHER, by the runner that spoke.
    names: the failing tests, or the files that a linter or compiler names.
    """

    lines: tuple[str, ...]
    kind: str
    names: tuple[str, ...]


class Runner(NamedTuple):
    """The output format of a test runner, linter or compiler.

    name: of the runner.
    kind: of its work.
    speaks: a pattern in its output or command; only then is the output searched, "" for always.
    finds: a pattern of one failure in its output, with the groups place, said and rule as far as
        there are; or a function that returns (place, said, name) of each failure.
    """

    name: str
    kind: str
    speaks: str
    finds: str | Callable[[str], list[tuple[str, str, str]]]


# how a closing line begins, and the forms of others
_CLOSING = tuple(
    "ELIFECYCLE; info Visit; warning:; hint:; Traceback (most; Command failed; === ; "
    "error: could not compile; error: aborting due to; error: test failed, ; "
    "error Command failed; For more information about; Process completed with exit; "
    "testing: warning; --- PASS; --- SKIP; mise ERROR Run with; mise ERROR task failed".split("; ")
) + tuple(
    "npm %s %s" % (mark, word)
    for mark in ("ERR!", "error")
    for word in "code errno syscall path command signal workspace location Lifecycle A".split()
)
_TRAILER = (
    r"\[[\w:./-]+\] (?:ERROR task failed|\$ .*)|FAIL|PASS|(?:exit status|Exit code) \d+"
    r"|g?make(?:\[\d+\])?: (?:\*\*\* (?:\[|Wait)|Ent|Leav).*|npm (?:ERR!|error)|\* [\w-]+: \d+"
    r"|\d+ issues?[:.]|[✖✗] \d+ problems?.*|Found \d+ errors?.*|=+ .* =+|-+"
    r"|(?:ok|\?)\s+\S+\s+[\d.(\[].*|# \S+(?: \[\S+\])?|\S+\.go:\d+: : # .*|\.{3,}\d* .*"
)
_PROGRAM = r"^(?:npm (?:ERR!|error)|mise ERROR) (?=\S)"
_PACKAGE = r"(?m)^FAIL\s+\S+\s+(?:[\d.(].*|\[(?!setup).*)"
_ERRORS = (
    "error, exception, panic, fatal, traceback, not found, no such, denied, undefined, "
    "unresolved, cannot, can't, could not, unable, refused, invalid, missing, failed, failure, "
    "abort, segmentation, assert, expected, 오류, 실패, エラー, 失敗, 错误, 失败, fehler"
).split(", ")
_RAISED = r"(?:E\s+)?(?:[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)\b|assert ).*"
# `    a_test.go:31: got 1, want 2`
_PLACED = r"(?:\s+|(?=\w+_test\.go:))([\w./+-]+\.\w+:\d+):(?: (.*)|\Z)"
_GO_MARK = r"\s*--- (FAIL|PASS|SKIP): (\S+)|=== (?:RUN|CONT|NAME|PAUSE)\s+(\S+)"
_CLAIMS = frozenset(
    "want wanted got expected expect expects should shouldn't must fail failed fails failure error "
    "mismatch unexpected missing incorrect incorrectly wrong timeout cannot couldn't invalid "
    "didn't nil differ differs".split()
)
_CLAIMED = ("not equal", "timed out", "could not", "did not", "not found", "no such", "!=")
_CHATTER = (
    r"[✓✔]|\b(?:INFO|DEBUG|WARN)\b|(?i:\b(?:warning|correctly|successfully)\b|^(?:phase|step) \d)"
)
_SHELL = (
    r"^(?P<said>(?:\S*sh|\(eval\)|cd|env|timeout|xargs|sudo): ?\S.{0,300}?(?i:not found"
    r"|no such file or directory|permission denied|parse error|syntax error|unbound variable"
    r"|bad substitution|unexpected token|unexpected eof|no matches found|is a directory"
    r"|not a directory|too many arguments|event not found|bad option).*)"
)
# a compiler's line, or a linter's: its place, then what is wrong
_LINE = (
    r"^(?:\[ERROR\] |vet: )?(?P<place>[^\s:()\[`]{1,300}(?:\.go:\d+(?::\d+)?"
    r"|\.\w+(?::\[?\d+[:,]\d+\]?|\(\d+,\d+\)|:\d+(?=: (?:fatal )?error))))(?: -|:)? "
    r"(?!: #|could not import|too many errors|warning|note)"
    r"(?:(?:fatal )?error: |error (?=[A-Z]+\d))?(?P<said>(?:[^\n`]|`[^`]{0,300}`)+|.+)"
)


# --- runners whose lines hang together


def _go_test(text: str) -> list[tuple[str, str, str]]:
    """Return the failed assertion of each failing Go test."""
    said: dict[str, list[list[str]]] = {}
    failing: list[str] = []
    panic, current = "", ""
    for line in text.split("\n"):
        mark = re.match(_GO_MARK, line)
        placed = None if mark else re.match(_PLACED, line)
        if mark:
            current = mark[3] or (mark[2] if mark[1] == "FAIL" else "")
            if mark[1] == "FAIL" and mark[2] not in failing:
                failing.append(mark[2])
        elif placed:
            said.setdefault(current, []).append([placed[1], placed[2] or ""])
        elif line.startswith("panic: "):
            panic, current = panic or line, ""
        elif line.startswith("        ") and said.get(current):
            said[current][-1].append(line.strip())
    found_lines = []
    leaves = [
        name for name in failing if not any(other.startswith(name + "/") for other in failing)
    ]
    for name in sorted(leaves or [""], key=lambda name: name not in said):
        place, message = _assertion(said.get(name) or (said.get("", []) if len(leaves) < 2 else []))
        if not message and panic:
            message, panic = re.sub(r" \[recovered.*\]", "", panic), ""
        if message or name:
            found_lines.append((place, message or "--- FAIL: " + name, name))
    found_lines.sort(key=lambda line: not line[0] or not _claims(line[1]))
    return found_lines or [("", said, "") for said in re.findall(_PACKAGE, text)]


def _assertion(lines: list[list[str]]) -> tuple[str, str]:
    """Return the first claiming line of a failed test."""
    told = [(place, _message(message, more)) for place, message, *more in lines]
    sober = [(place, message) for place, message in told if not re.search(_CHATTER, message)]
    claims = [line for line in sober if _claims(re.sub(r"\([^()]*\)", "", line[1]))]
    return (claims[:1] or sober[-1:] or [("", "")])[0]


def _claims(line: str) -> bool:
    """Tell whether a line names an expectation or a fault."""
    low = line.lower()
    return not _CLAIMS.isdisjoint(re.findall(r"[\w']+", low)) or any(one in low for one in _CLAIMED)


def _message(message: str, more: list[str]) -> str:
    """Join a test's message with its continuation lines."""
    if not message.strip():  # testify: a block of labelled lines
        block = [
            line for line in more if not re.match(r"(?:Error Trace|Test|Messages|Diff):", line)
        ]
        return re.sub(r"\s+", " ", re.sub(r"^Error:\s*", "", " ".join(block))).strip()
    rest = [
        line
        for line in more[:1]
        if (message.rstrip().endswith(":") and _claims(message + line))
        or (line.startswith(("Output: ", "Error: ", "stderr: ")) and _claims(line[8:]))
    ]
    return " ".join([message.strip(), *rest]).strip()


def _pytest(text: str) -> list[tuple[str, str, str]]:
    """Return (place, exception, test) of each failing pytest test."""
    found: list[tuple[str, str, str]] = []
    short = {
        ident.rpartition("::")[2]: ident
        for ident in re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.M)
    }
    for block in re.split(r"^_{3,} (?=.+ _{3,}$)", text, flags=re.M):
        name = block.partition(" _")[0].rpartition(".")[2]
        raised = re.findall(r"^E {2,}(\S.*)", block, re.M)
        places = re.findall(r"^(\S+\.py:\d+): ", block, re.M)
        if raised:
            said = next((line for line in raised if re.match(_RAISED, line)), raised[0])
            ident = next(iter(short.values())) if len(short) == 1 else short.get(name, "")
            found.append((places[-1] if places else "", said, ident))
    listed = re.findall(r"^()(?:FAILED|ERROR) (\S+) - (.+)", text, re.M) or re.findall(
        r"^(/?\S+\.py:\d+): ()((?:\w+Error|assert).*)", text, re.M
    )
    return found or [(place, said, ident) for place, ident, said in listed]


def _jest(text: str) -> list[tuple[str, str, str]]:
    """Return (place, message, name) of each failing jest or vitest test."""
    found = []
    for block in re.split(r"^(?=[ \t]*● |[ \t]*FAIL +\S+ >|[ \t]*\d+\) )", text, flags=re.M)[1:]:
        head, _, rest = block.strip().partition("\n")
        name = re.sub(
            r"^(?:●|\d{1,80}\)|FAIL {1,80}\S{1,80} >)\s{0,80}|\s{0,80}:$", "", head
        ).strip()
        lines = [line.strip() for line in rest.split("\n")]
        at = re.search(
            r"(?:\bat (?:[^\s()]{1,120} ){0,4}\(?|❯ )((?!node:|\S{0,200}node_modules)[^\s()"
            r"]{1,160}\.\w{1,8}:\d{1,6}:\d{1,6})\)?",
            rest,
        )
        words = [
            line
            for line in lines
            if line and not re.match(r"at |❯ |\d+ ?\||\||>|FAIL |Test(?:s| Suites| Files):", line)
        ]
        if words and not (name.startswith("Console") or "›" in name and words[0].startswith("›")):
            place = at[1].replace("file://", "") if at else ""
            found.append((place, _jest_message(words), name))
    return list(dict.fromkeys(found))


def _jest_message(words: list[str]) -> str:
    """Return a failure's first line, with the values it compares."""
    facts = [
        line
        for line in words
        if re.match(r"(?:Expected|Received|expected|received|\+|-) ?[\w ]*:? ", line)
    ][:2]
    return "; ".join(words[:1] if words[0] in facts else [words[0], *facts])


def _eslint(text: str) -> list[tuple[str, str, str]]:
    """Return each ESLint error with its file and line."""
    found: list[tuple[str, str, str, str]] = []
    path = ""
    for line in text.split("\n"):
        hit = re.match(r"\s+(\d+:\d+)\s+(error|warning)\s+(.+?)(?:\s{2,}(\S+))?\s*\Z", line)
        if hit and path:
            found.append((hit[2], path + ":" + hit[1], hit[3], hit[4] or ""))
        elif line and not line[0].isspace() and re.search(r"\.\w+\Z", line.strip()):
            path = line.strip()
    return [
        (place, said, rule)
        for level, place, said, rule in found
        if level == "error" or not any(entry[0] == "error" for entry in found)
    ]


def _git(text: str) -> list[tuple[str, str, str]]:
    """Return git's conflicts, then rejections, then its other messages."""
    ways = (
        r"^(CONFLICT \(.+)",
        r"^[ \t]*(! \[.*rejected\] .+)",
        r"^(?:.*\))?((?:error|fatal): .+)",
        r"^((?:nothing to commit|no changes added).*)",
    )
    return [("", said, "") for way in ways for said in re.findall(way, text, re.M)]


RUNNERS: tuple[Runner, ...] = (  # the first that finds something is believed
    Runner(
        "a linter",
        LINT,
        r"golangci-lint|^\d+ issues?[:.]$|^\S+\.\w+:\d+:\d+: [A-Z]+\d+ |\.pyi?:[\d:]+ error: ",
        _LINE,
    ),
    Runner(
        "golangci-lint, cut off",
        LINT,
        "",
        r"^(?P<said>\d+ issues?:(?:\n\* .+)+)",
    ),
    Runner(
        "a compiler",
        BUILD,
        r"^(?:\[ERROR\] |vet: )?\S+\.\w+(?::\[?\d+[:,]\d|\(\d+,\d|:\d+: (?:fatal )?error)",
        _LINE,
    ),
    Runner(
        "go test",
        TEST,
        r"^[ \t]*--- FAIL: |^FAIL(?:\s|$)|^panic: |^[ \t]+\w+_test\.go:\d+: ",
        _go_test,
    ),
    Runner(
        "go",
        USE,
        r"\bgo\b",
        r"^(?P<said>go: (?!downloading|finding|added|upgraded).+|package \S+(?:\n\s+imports .+)+"
        r"|(?:stat .+: directory|pattern .+|package \S+ is) not .+"
        r"|.*(?:no Go files in|no required module|build constraints exclude) .+)",
    ),
    Runner("eslint", LINT, r"^[ \t]+\d+:\d+\s+(?:error|warning)\s", _eslint),
    Runner("pytest", TEST, r"^E {2,}\S|^(?:FAILED|ERROR) \S+|\bpytest\b", _pytest),
    Runner(
        "jest",
        TEST,
        r"^[ \t]*● |^[ \t]*FAIL +\S+ >|^[ \t]*\d+\) .+\n\s+.*Error|^Test(?: Suites|s| Files):?\s",
        _jest,
    ),
    Runner(
        "cargo test",
        TEST,
        "",
        r"^thread '(?P<rule>.+?)' panicked at (?P<place>[^\s:]+:\d+:\d+):?\n(?P<said>.+)",
    ),
    Runner(
        "rustc, and ruff in full",
        BUILD,
        "",
        r"^(?:error(?:\[(?P<rule>E\d+)\])?: (?P<said>.+)\n(?:.*\n){0,2}?|(?P<old>\S.+)\n)"
        r"[ \t]*--> (?P<place>\S+:\d+:\d+)",
    ),
    Runner("shell", USE, "", _SHELL),
    Runner("git", OTHER, r"\bgit\b|^(?:fatal|error): ", _git),
    Runner(
        "usage",
        USE,
        "",
        r"^(?P<said>.*(?i:\b(?:unknown|unrecognized|illegal|invalid|unexpected) (?:flag|option"
        r"|argument|command|subcommand|shorthand)\b).*|jq: (?:error.*: )?(?:syntax )?error.*)",
    ),
    Runner(
        "a test script",
        TEST,
        "",
        r"^[ \t]*(?:[✗✘✖❌]\ufe0f?|not ok \d+(?: -)?|(?=FAIL: ))\s*(?P<said>\S.+)",
    ),
)


def _failure_line(place: str, said: str, name: str) -> str:
    """Return a failure in one line."""
    head = place + ": " if place else ""
    return head + said + (" (%s)" % name if name and name not in said else "")


def pick_telling_lines(text: str, command: str = "", most: int = 3) -> TellingLines:
    """Return the lines with the cause of a command's failure.

    text: its output.  command: as typed.  most: lines at most.
    """
    text = re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", text)
    if len(text) > _LONG:
        text = text[: _LONG // 2] + "\n" + text[-_LONG // 2 :]
    for runner in RUNNERS:
        if not re.search(runner.speaks, text, re.M) and not re.search(runner.speaks, command, re.M):
            continue
        found = (
            _matches(runner.finds, text) if isinstance(runner.finds, str) else runner.finds(text)
        )
        found = [entry for entry in found if not is_trailer(entry[1])]
        if found:
            told = [_failure_line(*entry) for entry in found]
            names = [
                name if runner.kind == TEST else re.sub(r"[:(]\d.*", "", place)
                for place, _, name in found
            ]
            return TellingLines(
                tuple(dict.fromkeys(told))[:most],
                runner.kind,
                tuple(dict.fromkeys(filter(None, names)))[:MOST_NAMES],
            )
    return TellingLines(tuple(_plain(text, most)), OTHER, ())


# --- what runs print whether they pass or fail, such as a shell's warning at its start


def learn(printed: dict[str, list[str]], key: str, output: str) -> list[str]:
    """Record a passing run's lines and return the new marks.

    printed: by a line's mark the programs with their verbs that printed the line, passing.
    key: this run's.
    """
    found = []
    for line in _ends(output):
        keys = printed.pop(line, [])
        printed[line] = keys  # behind those that were not met for longer
        if key not in keys and len(keys) < _OTHERS:
            keys.append(key)
            found.append(line)
    for line in list(printed)[:-_MOST_PRINTED]:
        del printed[line]
    return found


def _ends(output: str) -> list[str]:
    """Return the marks of an output's first and last lines."""
    ends = (output,) if len(output) <= 2 * _END else (output[:_END], output[-_END:])
    lines = [line for end in ends for line in end.split("\n") if len(line) > 1]
    return list(dict.fromkeys(map(mark, lines[:_ENDS] + lines[-_ENDS:])))


def mark(line: str) -> str:
    """Return a hash for a line: the text may be private."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line) if "\x1b" in line else line
    return files.sha256(plain.strip()[:_WIDE].encode("utf-8", "replace"))[:12]


def is_chatter(printed: dict[str, list[str]], key: str, line: str) -> bool:
    """Tell whether passing runs print a line too.

    Of the same program, or of two others.
    """
    keys = printed.get(mark(line), ())
    return key in keys or len(keys) >= _OTHERS


def without_chatter(printed: dict[str, list[str]], key: str, output: str) -> str:
    """Return an output without lines that passing runs print too."""
    return "\n".join(line for line in output.split("\n") if not is_chatter(printed, key, line))


def is_trailer(line: str) -> bool:
    """Tell whether a line is a runner's closing line.

    Such a line says nothing of the cause.
    """
    bare = line.strip()
    return bare.startswith(_CLOSING) or bool(re.fullmatch(_TRAILER, bare))


def has_error(text: str) -> bool:
    """Tell whether a text has a word of an error, in any of the usual languages."""
    low = text.lower()
    return any(word in low for word in _ERRORS) or low.startswith("fail") or "\nfail" in low


def _matches(pattern: str, text: str) -> list[tuple[str, str, str]]:
    """Return (place, said, rule) of each match."""
    found = []
    for match in re.finditer(pattern, text, re.M):
        groups = match.groupdict()
        place = re.sub(r"[\[(](\d+),(\d+)[\])]", r":\1:\2", groups.get("place") or "").replace(
            "::", ":"
        )
        said = groups.get("old") or groups.get("said") or ""
        found.append(
            (
                place,
                re.sub(r"(?<!\s)\s*\n\s*", " ", said.strip()),
                (groups.get("rule") or "").strip(),
            )
        )
    return found


def _raised(lines: list[str], traced: bool) -> list[str]:
    """Return the line of an exception and its place, [] for none.

    traced: the output has a traceback, whose last line tells.
    """
    raised = [line for line in lines if re.match(_RAISED, line)]
    if not raised:
        return []
    places = [line for line in lines if re.match(r'\s*File "|.*:\d+: \w*(?:Error|Exception)', line)]
    return [raised[-1 if traced else 0], *places[-1:]]


def _plain(text: str, most: int) -> list[str]:
    """Return the telling lines of an unknown runner's output."""
    every = [line.rstrip() for line in text.split("\n") if line.strip()]
    lines = [line for line in every if not is_trailer(line)]
    chosen = _raised(lines, "Traceback (most" in text)
    chosen = chosen or [line for line in lines if has_error(line)] or lines
    chosen = chosen or [line for line in every if re.match(_PACKAGE, line)] or every[-1:]
    return [
        line.strip() if is_trailer(line) else re.sub(_PROGRAM, "", line.strip())
        for line in dict.fromkeys(chosen)
    ][:most]
