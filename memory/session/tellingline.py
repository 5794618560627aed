"""The lines of a failed command's output that say what is wrong, the most telling one first.

RUNNERS is the table of output formats.  A telling line has a compiler's form if possible:
`file:line:col: what is wrong (test or rule)`.  A trailer, which a runner adds at the end (`make:
*** [all] Error 1`, a bare `FAIL`), counts only where nothing else stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from memory.core import files

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


class Failure(NamedTuple):
    """One failure in an output.

    place: `file:line:col`, "" for unknown.  name: of the test, or the rule.
    """

    place: str
    message: str
    name: str = ""


class Runner(NamedTuple):
    """The output format of a test runner, linter or compiler.

    sign: a pattern in its output or command; only then is the output searched, "" for always.
    parse: returns the failures in an output; or a pattern of one failure, with the groups place,
        said and rule as far as there are.
    """

    name: str
    kind: str
    sign: str
    parse: str | Callable[[str], list[Failure]]


# starts of trailers, and the forms of others
_CLOSING = tuple(
    "ELIFECYCLE; info Visit; warning:; hint:; Traceback (most; Command failed; === ; "
    "error: could not compile; error: aborting due to; error: test failed, ; "
    "error Command failed; For more information about; Process completed with exit; "
    "testing: warning; --- PASS; --- SKIP; mise ERROR Run with; mise ERROR task failed; "
    "FAILURE: Build failed; BUILD FAILED".split("; ")
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
_RAISED = (
    r"(?:E\s+)?(?:[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)\b|assert ).*"
    r"|\s*(?:Caused by: )?(?:[a-z_]\w*\.)+[A-Z]\w*(?:Error|Exception)\b.*"
)
# `    a_test.go:31: got 1, want 2`
_GO_MESSAGE = r"(?:\s+|(?=\w+_test\.go:))([\w./+-]+\.\w+:\d+):(?: (.*)|\Z)"
_GO_MARK = r"\s*--- (?:FAIL: (\S+)|(?:PASS|SKIP): \S)|=== (?:RUN|CONT|NAME|PAUSE)\s+(\S+)"
_CLAIM_WORDS = frozenset(
    "want wanted got expected expect expects should shouldn't must fail failed fails failure error "
    "mismatch unexpected missing incorrect incorrectly wrong timeout cannot couldn't invalid "
    "didn't nil differ differs".split()
)
_CLAIM_PHRASES = ("not equal", "timed out", "could not", "did not", "not found", "no such", "!=")
_CHATTER = (
    r"[✓✔]|\b(?:INFO|DEBUG|WARN)\b|(?i:\b(?:warning|correctly|successfully)\b|^(?:phase|step) \d)"
)
_LOG = r"(?:\S{1,40} ){0,3}\W?(?:INFO|DEBUG|TRACE)\b"  # how a line of a log begins
# `at run (src/app.ts:3:5)`, and lines that quote code or close the output
_JEST_PLACE = (
    r"(?:\bat (?:[^\s()]{1,120} ){0,4}\(?|❯ )((?!node:|\S{0,200}node_modules)[^\s()"
    r"]{1,160}\.\w{1,8}:\d{1,6}:\d{1,6})\)?"
)
_JEST_CODE = r"at |❯ |\d+ ?\||\||>|FAIL |Test(?:s| Suites| Files):"
_SHELL = (
    r"^(?P<said>(?:\S*sh|\(eval\)|cd|env|timeout|xargs|sudo): ?\S.{0,300}?(?i:not found"
    r"|no such file or directory|permission denied|parse error|syntax error|unbound variable"
    r"|bad substitution|unexpected token|unexpected eof|no matches found|is a directory"
    r"|not a directory|too many arguments|event not found|bad option).*)"
)
_GRADLE = (
    r"^(?:\* What went wrong:\n(?:Execution failed for task .*\n)?(?:> )?| *> )"
    r"(?P<said>(?!> |Task |Run with|A failure occurred|Execution failed for)\S.*"
    r"(?:\n {2,}[^\s>].*)?)"
)
# a compiler's line, or a linter's: its place, then what is wrong
_LINE = (
    r"^(?:\[ERROR\] |vet: |e: (?:file://)?)?(?P<place>[^\s:()\[`]{1,300}(?:\.go:\d+(?::\d+)?"
    r"|\.\w+(?::\[?\d+[:,]\d+\]?|\(\d+,\d+\)|:\d+(?=: (?:fatal )?error))))(?: -|:)? "
    r"(?!: #|could not import|too many errors|warning|note)"
    r"(?:(?:fatal )?error: |error (?=[A-Z]+\d))?(?P<said>(?:[^\n`]|`[^`]{0,300}`)+|.+)"
)


# --- runners whose lines hang together


def _parse_go_test(text: str) -> list[Failure]:
    """Return a failure for each failing Go test, the telling ones first."""
    messages: dict[str, list[list[str]]] = {}  # by test: [place, message, lines behind it …]
    test = ""
    for line in text.split("\n"):
        if mark := re.match(_GO_MARK, line):
            test = "".join(mark.groups(""))
        elif message := re.match(_GO_MESSAGE, line):
            messages.setdefault(test, []).append([*message.groups("")])
        elif line.startswith("panic: "):
            test = ""
        elif line.startswith("        ") and messages.get(test):
            messages[test][-1].append(line.strip())
    failures = _explain_go_tests(_list_failing_leaves(text), messages, text)
    if not failures:
        return [Failure("", line) for line in re.findall(_PACKAGE, text)]
    return sorted(failures, key=lambda each: not each.place or not _has_claim(each.message))


def _list_failing_leaves(text: str) -> list[str]:
    """Return the failing Go tests that have no failing subtest."""
    failing = dict.fromkeys(re.findall(r"(?m)^[ \t]*--- FAIL: (\S+)", text))
    return [name for name in failing if not any(other.startswith(name + "/") for other in failing)]


def _explain_go_tests(
    tests: list[str], messages: dict[str, list[list[str]]], text: str
) -> list[Failure]:
    panics = re.findall(r"(?m)^panic: .*", text)[:1]
    failures = []
    for name in sorted(tests or [""], key=lambda name: name not in messages):
        unnamed = messages.get("", []) if len(tests) < 2 else []
        place, message = _find_assertion(messages.get(name) or unnamed)
        if not message and panics:
            message = re.sub(r" \[recovered.*\]", "", panics.pop())
        if message or name:
            failures.append(Failure(place, message or "--- FAIL: " + name, name))
    return failures


def _find_assertion(lines: list[list[str]]) -> tuple[str, str]:
    """Return (place, message) of the first message that says what failed."""
    joined = [(place, _join_message(message, more)) for place, message, *more in lines]
    sober = [row for row in joined if not re.search(_CHATTER, row[1])]
    claims = [row for row in sober if _has_claim(re.sub(r"\([^()]*\)", "", row[1]))]
    return (claims[:1] or sober[-1:] or [("", "")])[0]


def _has_claim(line: str) -> bool:
    """Tell whether a line says what was expected, or names a fault."""
    low = line.lower()
    has_word = not _CLAIM_WORDS.isdisjoint(re.findall(r"[\w']+", low))
    return has_word or any(phrase in low for phrase in _CLAIM_PHRASES)


def _join_message(message: str, more: list[str]) -> str:
    if not message.strip():  # testify: a block of labelled lines
        beside = r"(?:Error Trace|Test|Messages|Diff):"
        block = [line for line in more if not re.match(beside, line)]
        return re.sub(r"\s+", " ", re.sub(r"^Error:\s*", "", " ".join(block))).strip()
    line = more[0] if more else ""
    goes_on = message.rstrip().endswith(":") and _has_claim(message + line)
    is_output = line.startswith(("Output: ", "Error: ", "stderr: ")) and _has_claim(line[8:])
    return (message.strip() + (" " + line if goes_on or is_output else "")).strip()


def _parse_pytest(text: str) -> list[Failure]:
    found: list[Failure] = []
    names = re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.M)
    short = {name.rpartition("::")[2]: name for name in names}
    for block in re.split(r"^_{3,} (?=.+ _{3,}$)", text, flags=re.M):
        name = block.partition(" _")[0].rpartition(".")[2]
        raised = re.findall(r"^E {2,}(\S.*)", block, re.M)
        places = re.findall(r"^(\S+\.py:\d+): ", block, re.M)
        if raised:
            message = next((line for line in raised if re.match(_RAISED, line)), raised[0])
            ident = next(iter(short.values())) if len(short) == 1 else short.get(name, "")
            found.append(Failure(places[-1] if places else "", message, ident))
    # (place or "", test or "", message)
    listed = re.findall(r"^()(?:FAILED|ERROR) (\S+) - (.+)", text, re.M)
    listed = listed or re.findall(r"^(/?\S+\.py:\d+): ()((?:\w+Error|assert).*)", text, re.M)
    return found or [Failure(place, message, ident) for place, ident, message in listed]


def _parse_jest(text: str) -> list[Failure]:
    found = []
    for block in re.split(r"^(?=[ \t]*● |[ \t]*FAIL +\S+ >|[ \t]*\d+\) )", text, flags=re.M)[1:]:
        head, _, rest = block.strip().partition("\n")
        name = re.sub(r"^(?:●|\d{1,80}\)|FAIL {1,80}\S{1,80} >)\s{0,80}|\s{0,80}:$", "", head)
        lines = [line.strip() for line in rest.split("\n")]
        place = re.search(_JEST_PLACE, rest)
        told = [line for line in lines if line and not re.match(_JEST_CODE, line)]
        is_list = bool(told) and "›" in name and told[0].startswith("›")
        if told and not is_list and not name.startswith("Console"):
            path = place[1].replace("file://", "") if place else ""
            found.append(Failure(path, _format_jest_message(told), name))
    return list(dict.fromkeys(found))


def _format_jest_message(words: list[str]) -> str:
    """Return the first line of a failure, with the values it compares."""
    compared = r"(?:Expected|Received|expected|received|\+|-) ?[\w ]*:? "
    facts = [line for line in words if re.match(compared, line)][:2]
    return "; ".join(words[:1] if words[0] in facts else [words[0], *facts])


def _parse_eslint(text: str) -> list[Failure]:
    """Return ESLint's errors, else its warnings."""
    found: dict[str, list[Failure]] = {"error": [], "warning": []}
    path = ""
    for line in text.split("\n"):
        row = re.match(r"\s+(\d+:\d+)\s+(error|warning)\s+(.+?)(?:\s{2,}(\S+))?\s*\Z", line)
        if row and path:
            found[row[2]].append(Failure(path + ":" + row[1], row[3], row[4] or ""))
        elif line and not line[0].isspace() and re.search(r"\.\w+\Z", line.strip()):
            path = line.strip()
    return found["error"] or found["warning"]


def _parse_git(text: str) -> list[Failure]:
    """Return git's messages: conflicts, then rejections, then others."""
    forms = (
        r"^(CONFLICT \(.+)",
        r"^[ \t]*(! \[.*rejected\] .+)",
        r"^(?:.*\))?((?:error|fatal): .+)",
        r"^(no changes added.*)",
    )
    return [Failure("", line) for form in forms for line in re.findall(form, text, re.M)]


def _parse_gradle(text: str) -> list[Failure]:
    """Return what went wrong by Gradle, the causes last."""
    return _find_matches(_GRADLE, text[max(0, text.find("* What went wrong:")) :])


RUNNERS: tuple[Runner, ...] = (  # the first that finds something is believed
    Runner(
        "a linter",
        LINT,
        r"golangci-lint|^\d+ issues?[:.]$|^\S+\.\w+:\d+:\d+: [A-Z]+\d+ |\.pyi?:[\d:]+ error: ",
        _LINE,
    ),
    Runner("golangci-lint, cut off", LINT, "", r"^(?P<said>\d+ issues?:(?:\n\* .+)+)"),
    Runner(
        "a compiler",
        BUILD,
        r"^(?:\[ERROR\] |vet: |e: )?\S+\.\w+(?::\[?\d+[:,]\d|\(\d+,\d|:\d+: (?:fatal )?error)",
        _LINE,
    ),
    Runner(
        "go test",
        TEST,
        r"^[ \t]*--- FAIL: |^FAIL(?:\s|$)|^panic: |^[ \t]+\w+_test\.go:\d+: ",
        _parse_go_test,
    ),
    Runner(
        "go",
        USE,
        r"\bgo\b",
        r"^(?P<said>go: (?!downloading|finding|added|upgraded).+|package \S+(?:\n\s+imports .+)+"
        r"|(?:stat .+: directory|pattern .+|package \S+ is) not .+"
        r"|.*(?:no Go files in|no required module|build constraints exclude) .+)",
    ),
    Runner("eslint", LINT, r"^[ \t]+\d+:\d+\s+(?:error|warning)\s", _parse_eslint),
    Runner("pytest", TEST, r"^E {2,}\S|^(?:FAILED|ERROR) \S+|\bpytest\b", _parse_pytest),
    Runner(
        "jest",
        TEST,
        r"^[ \t]*● |^[ \t]*FAIL +\S+ >|^[ \t]*\d+\) .+\n\s+.*Error|^Test(?: Suites|s| Files):?\s",
        _parse_jest,
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
    Runner(
        "gradle's tests",
        TEST,
        "",
        r"^(?P<rule>\S[^\n>]{0,200} > [^\n]{1,200}) FAILED\n\s{1,20}(?P<said>\S.*)",
    ),
    Runner(
        "gradle", BUILD, r"^\* What went wrong:|(?:^|[;&] ?)[\w./]{0,80}gradlew? ", _parse_gradle
    ),
    Runner("shell", USE, "", _SHELL),
    Runner("git", OTHER, r"\bgit\b|^(?:fatal|error): ", _parse_git),
    Runner("git without a change", USE, r"\bgit\b", r"^(?P<said>nothing to commit.*)"),
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


def _format_failure(failure: Failure) -> str:
    place, message, name = failure
    head = place + ": " if place else ""
    return head + message + (" (%s)" % name if name and name not in message else "")


def pick_telling_lines(text: str, command: str = "", most: int = 3) -> TellingLines:
    """Return the lines with the cause of a command's failure.

    text: the command's output.
    """
    text = re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", text)
    if len(text) > _LONG:
        text = text[: _LONG // 2] + "\n" + text[-_LONG // 2 :]
    for runner in RUNNERS:
        sign = runner.sign
        if not re.search(sign, text, re.M) and not re.search(sign, command, re.M):
            continue
        parse = runner.parse
        failures = _find_matches(parse, text) if isinstance(parse, str) else parse(text)
        failures = [failure for failure in failures if not is_trailer(failure.message)]
        if failures:
            names = [
                name if runner.kind == TEST else re.sub(r"[:(]\d.*", "", place)
                for place, _, name in failures
            ]
            return TellingLines(
                tuple(dict.fromkeys(map(_format_failure, failures)))[:most],
                runner.kind,
                tuple(dict.fromkeys(filter(None, names)))[:MOST_NAMES],
            )
    return TellingLines(tuple(_find_error_lines(text, most)), OTHER, ())


# --- chatter: lines that runs print whether they pass or fail, such as a shell's warning


def learn_passing_lines(printed: dict[str, list[str]], key: str, output: str) -> list[str]:
    """Note the lines of a passing run; return the hashes new to its key.

    printed: by a line's hash, the keys (program and verb) of passing runs that printed it.
    """
    new = []
    for hash in _hash_end_lines(output):
        keys = printed[hash] = printed.pop(hash, [])  # the latest last
        if key not in keys and len(keys) < _OTHERS:
            keys.append(key)
            new.append(hash)
    for hash in list(printed)[:-_MOST_PRINTED]:
        del printed[hash]
    return new


def _hash_end_lines(output: str) -> list[str]:
    ends = (output,) if len(output) <= 2 * _END else (output[:_END], output[-_END:])
    lines = [line for end in ends for line in end.split("\n") if len(line) > 1]
    return list(dict.fromkeys(map(hash_line, lines[:_ENDS] + lines[-_ENDS:])))


def hash_line(line: str) -> str:
    """Return the hash of a line, whose text may be private."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line) if "\x1b" in line else line
    return files.sha256(plain.strip()[:_WIDE].encode("utf-8", "replace"))[:12]


def is_chatter(printed: dict[str, list[str]], key: str, line: str) -> bool:
    """Tell whether passing runs print a line as well."""
    keys = printed.get(hash_line(line), ())
    return key in keys or len(keys) >= _OTHERS


def remove_chatter(printed: dict[str, list[str]], key: str, output: str) -> str:
    return "\n".join(line for line in output.split("\n") if not is_chatter(printed, key, line))


def is_trailer(line: str) -> bool:
    """Tell whether a line only closes an output, such as a bare `FAIL`."""
    bare = line.strip()
    return bare.startswith(_CLOSING) or bool(re.fullmatch(_TRAILER, bare))


def has_error(text: str) -> bool:
    """Tell whether a text has a word for an error."""
    low = text.lower()
    return any(word in low for word in _ERRORS) or low.startswith("fail") or "\nfail" in low


def _find_matches(pattern: str, text: str) -> list[Failure]:
    failures = []
    for match in re.finditer(pattern, text, re.M):
        groups = match.groupdict("")
        # the forms `a.ts(1,2)`, `a.java:[1,2]` as `a.ts:1:2`
        place = re.sub(r"[\[(](\d+),(\d+)[\])]", r":\1:\2", groups.get("place", ""))
        message = groups.get("old") or groups.get("said", "")
        message = re.sub(r"(?<!\s)\s*\n\s*", " ", message.strip())
        failures.append(Failure(place.replace("::", ":"), message, groups.get("rule", "").strip()))
    return failures


def _find_exception(lines: list[str], traced: bool) -> list[str]:
    """Return [an exception's line, its place's line], [] for none.

    traced: the output has a traceback, of which the last line counts.
    """
    raised = [line for line in lines if re.match(_RAISED, line)]
    if not raised:
        return []
    if causes := [line for line in raised if line.startswith("Caused by: ")]:
        return causes[-1:]
    places = [line for line in lines if re.match(r'\s*File "|.*:\d+: \w*(?:Error|Exception)', line)]
    return [raised[-1 if traced else 0], *places[-1:]]


def _find_error_lines(text: str, most: int) -> list[str]:
    """Return the telling lines in the output of an unknown program."""
    every = [line.rstrip() for line in text.split("\n") if line.strip()]
    lines = [line for line in every if not is_trailer(line)]
    chosen = _find_exception(lines, "Traceback (most" in text)
    chosen = chosen or [line for line in lines if has_error(line)]
    chosen = chosen or [line for line in lines if not re.match(_LOG, line)] or lines[-1:]
    chosen = chosen or [line for line in every if re.match(_PACKAGE, line)] or every[-1:]
    return [
        line.strip() if is_trailer(line) else re.sub(_PROGRAM, "", line.strip())
        for line in dict.fromkeys(chosen)
    ][:most]
