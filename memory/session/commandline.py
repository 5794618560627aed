"""Command lines of a shell: cut into simple commands, known by program and verb, and by which of
them cover which.

`mise run test:ci` covers `go test ./cart -run TestTotal`: a task has a kind (test, lint, build,
format; ALL for `make check`), a family of languages ("" for the scripts of mise, make, npm and
their like, which may start any), a scope (`integration`), targets and filters; one covers another
of its kind where it tries the same, more of it, or the whole.

`covers` is strict: what it says proves that the other would pass.  `closes` is for the question
whether something still fails, and also takes a run that tries exactly what failed, and a compiler's
error for gone once any run compiled the file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from memory.session import tellingline
from memory.session.tellingline import BUILD, FORMAT, LINT, TEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.session.shell import Run

NOISE = frozenset(
    "ls cat pwd echo cd head tail grep rg egrep fgrep find fd wc which whereis type tree stat file "
    "date env printenv export printf true false sleep test [ [[ sed awk cut sort uniq tr column "
    "less more du df ps whoami hostname uname id set unset source . alias jobs wait kill pgrep top "
    "touch mkdir basename dirname realpath readlink diff cmp md5sum sha256sum xxd od jq man "
    "history clear exit return read local declare shift eval trap command builtin".split()
)
_QUIET_GIT = frozenset(
    "status diff log show branch remote rev-parse ls-files blame reflog config stash add fetch "
    "describe cat-file ls-tree ls-remote shortlog grep help version".split()
)
# 1 means "no"
QUIET_FAILURES = frozenset("grep rg egrep fgrep diff cmp test [ [[ which type pgrep git".split())
_WRAPPERS = frozenset(
    "sudo time nohup exec nice env command npx bunx pnpx uvx doas stdbuf ionice then do else "
    "if while until ! { (".split()
)
_RUNNERS = {
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "pdm": "run",
    "hatch": "run",
    "rye": "run",
    "bundle": "exec",
    "pnpm": "exec",
    "yarn": "exec",
    "npm": "exec",
    "mise": "exec",
}
# their `run` names no script
_RUN_ALL = frozenset("golangci-lint vitest cypress biome ginkgo".split())
_INTERPRETERS = frozenset("node ruby bash sh zsh php deno tsx ts-node Rscript julia lua".split())
_VERBLESS = frozenset(
    "pytest py.test unittest nose2 tox nox jest mocha ava rspec phpunit ctest bats mypy pylint "
    "flake8 black eslint prettier tsc".split()
)
_TESTERS = frozenset(
    "pytest unittest nose nose2 tox nox jest vitest mocha ava rspec minitest phpunit pest ctest "
    "bats playwright cypress test tests nextest spec".split()
)
_TEST_SCRIPT = re.compile(r"test_[\w-]+\.\w+|[\w-]+[_.](?:tests?|spec)\.\w+|[\w-]*tests?\.sh")
_BUILDERS = frozenset(
    "make cmake ninja cargo go tsc mvn gradle gradlew dotnet mypy ruff eslint flake8 pylint clang "
    "gcc g++ javac swift bazel just npm pnpm yarn bun vite webpack docker".split()
)
_FORMATTERS = frozenset("fmt format gofmt goimports prettier black rustfmt shfmt isort".split())
_LINTERS = frozenset(
    "lint eslint ruff mypy pyright flake8 pylint clippy vet typecheck tsc shellcheck staticcheck "
    "biome stylelint".split()
)
_COMPILERS = frozenset("build compile bundle install".split())
_ALONE = frozenset("make cmake ninja gcc g++ clang javac webpack".split())  # without a verb
_INNER = r"""\$\((?:[^()'"]|'[^']*'|"(?:\\.|[^"\\])*"|\((?:[^()])*\))*\)"""  # $(…)
_PIECE = re.compile(
    _INNER + r"""|'[^']*'|"(?:\\.|[^"\\])*"|\\.|(&&|\|\||[;|\n])|[^'"\\$&|;\n]+|.""", re.S
)
_HEREDOC = re.compile(
    r"<<-?\s{0,20}(['\"]?)(\w{1,80})(?!\w)\1([^\n]{0,1000})\n.*?(?:^[ \t]*\2[ \t]*$|\Z)",
    re.S | re.M,
)
_WORD = re.compile(r"""(?:""" + _INNER + r"""|'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""", re.S)
ALL = "all"
_FAMILIES = {
    program: family
    for family, programs in {
        "go": "go gofmt golangci-lint gotestsum goimports staticcheck ginkgo",
        "python": "python pytest unittest nose nose2 mypy ruff flake8 pylint black isort pyright "
        "pip pip3 uv poetry tox nox",
        "js": "jest vitest mocha ava eslint prettier tsc vite webpack playwright cypress node tsx "
        "biome npm pnpm yarn bun",
        "docker": "docker docker-compose podman buildah",
        "rust": "cargo rustc rustfmt",
        "jvm": "mvn gradle gradlew javac kotlinc",
        "ruby": "rspec rake rubocop ruby",
        "c": "gcc g++ clang cmake ctest ninja",
    }.items()
    for program in programs.split()
}
_SCRIPTED = frozenset("mise npm pnpm yarn bun make gmake just task rake tox nox nx".split())
_WHOLE = frozenset("check checks ci all verify validate precommit".split())
_SCOPES = frozenset("integration e2e it smoke acceptance functional system slow bench race".split())
_WIDE = frozenset("ci all full everything complete".split())
# options before the name of a test
_FILTERS = frozenset(
    "run k t m testNamePattern test-name-pattern grep g tests filter only test".split()
)
# options before a target, and others with a value
_PARTS = frozenset("p package workspace w project bin".split())
_VALUED = frozenset(
    "timeout count o n C c j bench parallel cpu coverprofile covermode race "
    "config reporter tags E D ldflags format out-format max-time tb rP W file directory "
    "manifest-path features target".split()
)
_BARE_WORD = r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"])+"""
_CASES = r"[|()]| and (?:not \w+)?| or "
TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|e2e)/|(?:^|/)test_[^/]*$|[._-](?:tests?|spec)\.\w+$"
)
_INSTALLERS = frozenset(
    "pip pip3 uv poetry pdm npm pnpm yarn bun cargo go gem bundle apt apt-get apk dnf brew conda "
    "composer rustup nvm mise asdf playwright dotnet".split()
)
_INSTALLS = frozenset(
    "install i add sync get mod update upgrade ci lock restore target component pip".split()
)


@lru_cache(256)
def steps(command: str) -> list[tuple[str, str]]:
    """Return (joining operator, simple command) pairs of a shell line.

    The operator joins a command to the previous: `&&`, `||`, `;` or `|`.  Quoted text and `$(…)`
    stay whole, here-documents are left out, a line's end counts as `;`.
    """
    found: list[tuple[str, str]] = []
    held: list[str] = []
    join = ""
    command = command.replace("\\\n", " ")
    for piece in _PIECE.finditer(_HEREDOC.sub(r"<<\2\3", command) if "<<" in command else command):
        if piece.group(1):
            found.append((join, "".join(held).strip()))
            held, join = [], piece.group(1).replace("\n", ";")
        else:
            held.append(piece.group())
    found.append((join, "".join(held).strip()))
    return [(join, part) for join, part in found if part and not part.startswith("#")]


def parts(command: str) -> list[str]:
    """Return the simple commands of a shell line; see `steps`."""
    return [part for _, part in steps(command)]


@lru_cache(1024)
def key_of(part: str) -> str:
    """Return program and verb of a simple command, or "".

    Wrappers and assignments are left out.
    """
    words: list[str] = _WORD.findall(part.strip().lstrip("({ "))
    while words:
        word = words[0]
        name = word.rpartition("/")[2]
        inner = re.match(r"\w+=[\"']?\$\((.*)\)[\"']?\Z", word, re.S) if len(words) == 1 else None
        if inner:
            return next(filter(None, map(key_of, parts(inner[1]))), "")
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
    if not words or words[0] in "for case done fi esac } ) function select".split():
        return ""
    name = words[0].strip("'\"").rpartition("/")[2].lower()
    if re.match(r"python[\d.]*$", name):
        return _python(words[1:])
    arguments = [w for w in words[1:] if not w.startswith("-")]
    if name in ("sed", "perl") and any(re.match(r"-\w*i", w) for w in words[1:]):
        return name + " -i"
    if name == "git":
        words = re.sub(
            r"^git(?:\s+-[cC]\s+\S+|\s+--?[\w-]+(?:=\S+)?)*", "git", " ".join(words)
        ).split()
        arguments = words[1:]
    if name in _INTERPRETERS and arguments:
        return name + " " + arguments[0].strip("'\"").rpartition("/")[2]
    verb = arguments[0] if arguments and re.match(r"[A-Za-z][\w:-]*$", arguments[0]) else ""
    if (
        verb in ("run", "exec")
        and name not in _RUN_ALL
        and len(arguments) > 1
        and re.match(r"[\w:./-]+$", arguments[1])
    ):
        verb += " " + arguments[1]
    return (name + " " + verb).strip() if name not in NOISE and name not in _VERBLESS else name


def _python(words: list[str]) -> str:
    """Return the program of a Python command line."""
    if "-m" in words and len(words) > words.index("-m") + 1:
        return key_of(" ".join(words[words.index("-m") + 1 :]))
    script = next((w for w in words if not w.startswith("-")), "")
    if "-c" in words or not script or script.startswith("<<"):
        return "python -c" if words else "python"
    name = script.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if "dayleaf" in script or (name == "memory" and "/" in script):
        return "dayleaf"
    return "python " + name


def is_noise(key: str) -> bool:
    """Tell whether a command only looks around.

    key: its program and verb.
    """
    name, _, verb = key.partition(" ")
    return (name in NOISE and verb != "-i") or (name == "git" and (verb in _QUIET_GIT or not verb))


def kind_of(key: str) -> str:
    """Return the kind of a command by program and verb.

    `tellingline.TEST`, LINT, BUILD, FORMAT, or "".
    """
    words = re.split(r"[\s:/_.-]+", key)
    if is_test(key):
        return TEST
    if not _FORMATTERS.isdisjoint(words):
        return FORMAT
    checks = "type-check" in key or "check-types" in key
    if checks or any(word in _LINTERS or word.startswith("lint") for word in words):
        return LINT
    built = key in _ALONE or key in ("cargo check", "vite build")
    return BUILD if built or not _COMPILERS.isdisjoint(words) else ""


def is_test(key: str) -> bool:
    """Tell whether a command runs tests, by its program and verb."""
    return any(
        re.split("[:.]", word)[0] in _TESTERS or bool(_TEST_SCRIPT.fullmatch(word))
        for word in re.split("[ /]", key)
    )


def is_gate(key: str) -> bool:
    """Tell whether work waits for a command: a test, a build, a linter."""
    return key.partition(" ")[0] in _BUILDERS or is_test(key) or "check" in key.split()


def installs(key: str) -> bool:
    """Tell whether a command installs packages, by its program and verb."""
    program, _, verb = key.partition(" ")
    return program in _INSTALLERS and verb in _INSTALLS


# --- which covers which


class Task(NamedTuple):
    """One task of a command line.

    key: program and verb.
    kind: TEST, LINT, BUILD, FORMAT, ALL, or "".
    family: of languages, "" for a script of any.
    folder: the target of the `cd` before it.
    targets: files, folders (`cart/...` with all below it), packages; () for the whole.
    filters: names of tests.
    scopes: kinds of tests that run only when asked for; ALL where they all do.
    """

    key: str
    kind: str
    family: str
    folder: str
    targets: tuple[str, ...]
    filters: tuple[str, ...]
    scopes: tuple[str, ...]


@lru_cache(1024)
def tasks(command: str) -> tuple[tuple[str, Task], ...]:
    """Return (joining operator, task) of each task in a command line."""
    found, folder = [], ""
    for join, part in steps(command):
        key, bare = key_of(part), part.lstrip("({ ")
        inside = re.search(r"(?:--prefix|--cwd|--dir|--filter|-C)[ =](\S+)", part)
        if key == "cd" or bare.startswith("cd "):
            folder = bare[2:].strip().strip("'\")").rstrip("/")
        elif key and not is_noise(key):
            found.append((join, _task(part, key, inside[1].strip("'\"") if inside else folder)))
    return tuple(found)


def _task(part: str, key: str, folder: str) -> Task:
    program, _, name = key.partition(" ")
    family, kind = _FAMILIES.get(program, ""), kind_of(key)
    name = name.removeprefix("run ").removeprefix("r ") if program in _SCRIPTED else ""
    first, *more = re.split("[:/_-]", name)
    if not _WHOLE.isdisjoint([first, *more]) and kind != TEST and not installs(key):
        kind = ALL
    targets, filters, scopes = _words(part, key)
    scopes += [word for word in more if word in _SCOPES]
    if kind == ALL or not _WIDE.isdisjoint(more):
        scopes = [ALL]
    if key in ("go test", "go build", "go vet") and not targets:
        targets = ["."]
    return Task(key, kind, family, folder, tuple(targets), tuple(filters), tuple(scopes))


def _words(part: str, key: str) -> tuple[list[str], list[str], list[str]]:
    """Return (targets, filters, scopes) of a simple command."""
    part = re.sub(r"\bpython[\d.]*\s+-m\s+(?=\S)", "", re.sub(r"\s\d?>+\s*\S+", "", part), count=1)
    words = [word.strip("'\"") for word in re.findall(_BARE_WORD, part)]
    known = {*key.split(), *(piece for piece in key.replace("/", " ").split())}
    targets: list[str] = []
    filters: list[str] = []
    scopes: list[str] = []
    skip = ""
    for word in words:
        option, given, value = word.partition("=")
        option = option.lstrip("-") if word.startswith("-") else ""
        if skip:
            (filters if skip == "filter" else targets if skip == "part" else []).append(word)
            skip = ""
        elif option in _FILTERS and given:
            filters.append(value.strip("'\""))
        elif option in _FILTERS:
            skip = "filter"
        elif option in _PARTS:
            targets += [value] if given else []
            skip = "" if given else "part"
        elif option == "tags" and given:
            scopes += re.findall(r"\w+", value)
        elif word.startswith("-"):
            skip = "value" if option in _VALUED and not given else ""
        elif not (
            re.match(r"\w+=", word)
            or word in known
            or word.rpartition("/")[2].lower() in known
            or re.match(
                r"(?:python[\d.]*|[\d.]+[smh]?|sudo|time|timeout|env|npx|bunx|uv"
                r"|poetry|run|exec|-)\Z",
                word,
            )
        ):
            targets.append(word.removeprefix("./").rstrip("/") or ".")
    return targets, filters, scopes


def passed(run: Run, strict: bool = False) -> tuple[Task, ...]:
    """Return the tasks that a run shows to pass.

    All of a chain that came through, and of a failed chain those before the failure.
    strict: where a pipe hides the status of a task, only the task by which the run was judged
        counts.
    """
    chain = tasks(run.command)
    sure = all(
        join in ("", "&&") or (join == "|" and not strict and is_noise(key_of(part)))
        for join, part in steps(run.command)
    )
    if run.passed:
        return tuple(task for _, task in chain if sure or task.key == run.key)
    at = next((number for number, (_, task) in enumerate(chain) if task.key == run.key), 0)
    return tuple(task for _, task in chain[:at]) if run.bad and run.kind and sure else ()


def main_task(run: Run) -> Task | None:
    """Return the task that a run is known by, or None."""
    return next((task for _, task in tasks(run.command) if task.key == run.key), None)


def kind(run: Run) -> str:
    """Return the kind of a run's main task, or "".

    TEST, LINT, BUILD, FORMAT or ALL.
    """
    task = main_task(run)
    return task.kind if task else ""


def covers(task: Task, other: Task) -> bool:
    """Tell whether a task tries all that another tries."""
    if task.kind != other.kind and task.kind != ALL or _apart(task, other):
        return False
    if not other.kind and task.key != other.key:
        return False
    if task.family and task.family != other.family:
        return False
    return _scoped(task, other) and _targeted(task, other) and _filtered(task, other.filters)


def _apart(task: Task, other: Task) -> bool:
    """Tell whether two tasks are unrelated."""
    if other.family == "docker" or installs(other.key) or other.key.endswith("install"):
        return task.key != other.key
    return bool(task.family and other.family and task.family != other.family)


def closes(task: Task, failure: Run) -> bool:
    """Tell whether a later passing task shows that a failure is gone."""
    other = main_task(failure)
    if other is None:
        return False
    if covers(task, other):
        return True
    if _apart(task, other):
        return False
    if failure.kind == BUILD or "(typecheck)" in failure.detail:
        tests = [name for name in failure.names if TEST_FILE.search(name)]
        if (
            task.kind in (BUILD, LINT, TEST, ALL)
            and not (tests and task.kind == BUILD)
            and _reaches(task, failure, other)
        ):
            return True
    same = (
        task.kind == other.kind
        or task.kind == ALL
        or (other.kind == ALL and task.kind == failure.kind)
        or (other.kind == BUILD and task.kind in (TEST, LINT))
    )
    if not (same and task.kind):
        return False
    return _reaches(task, failure, other) or (
        _scoped(task, other) and _targeted(task, other) and _filtered(task, other.filters)
    )


def _reaches(task: Task, failure: Run, other: Task) -> bool:
    """Tell whether a task covers all tests or files of a failure."""
    if not failure.names or len(failure.names) >= tellingline.MOST_NAMES:
        return False
    if failure.kind == TEST:
        tops = [
            name.partition("/")[0] if "::" not in name else name.rpartition("::")[2]
            for name in failure.names
        ]
        inside = not task.targets or all(
            any(_within(name.partition("::")[0], target) for target in task.targets)
            for name in failure.names
            if "::" in name
        )
        return (
            bool(task.filters or "::" in "".join(failure.names))
            and inside
            and _filtered(task, tops)
            and (bool(task.filters) or bool(task.targets))
        )
    files = [_joined(other.folder, name) for name in failure.names]
    return not task.targets or all(
        any(_within(name, _joined(task.folder, target)) for target in task.targets)
        for name in files
    )


def _scoped(task: Task, other: Task) -> bool:
    if ALL in task.scopes or task.kind == ALL or other.kind != TEST:
        return True
    return set(other.scopes) <= {*task.scopes, "race", "ci", ALL}


def _targeted(task: Task, other: Task) -> bool:
    """Tell whether a task's targets contain those of another."""
    if task.folder and other.folder and not _within(other.folder, task.folder + "/..."):
        return False
    if not task.targets:
        return True
    # else most likely where both began
    folder = task.folder if other.folder or not task.folder.startswith("/") else ""
    wide = [_joined(folder, target) for target in task.targets]
    narrow = [_joined(other.folder, target) for target in other.targets]
    # a package without `/...` is that folder alone
    flat = task.family == "go" and other.family == "go"
    return bool(narrow) and all(
        any(
            _within(one, whole)
            and not (flat and one.startswith(whole + "/") and not one.endswith(".go"))
            for whole in wide
        )
        for one in narrow
    )


def _filtered(task: Task, names: tuple[str, ...] | list[str]) -> bool:
    """Tell whether a task's filters select all tests of these names."""
    if not task.filters:
        return True
    allowed = [case for text in task.filters for case in re.split(_CASES, text) if case]
    wanted = [case for text in names for case in re.split(_CASES, text) if case]
    return bool(wanted) and all(any(_lets(case, name) for case in allowed) for name in wanted)


def _lets(case: str, name: str) -> bool:
    """Tell whether a filter's case selects a test of this name."""
    bare = name.strip("^$")
    inside = (
        bare.startswith(case[1:].rstrip("$")) if case.startswith("^") else case.rstrip("$") in bare
    )
    return name == case or (inside and (not case.endswith("$") or bare.endswith(case.strip("^$"))))


def _joined(folder: str, target: str) -> str:
    """Return a target relative to the folder before its `cd`."""
    if not folder or target.startswith("/"):
        return target
    return folder.removeprefix("./") + ("" if target in (".", "") else "/" + target)


def _within(one: str, other: str) -> bool:
    """Tell whether a target is the same as another or inside."""
    if one == other or other in ("...", "/..."):
        return True
    whole = other.removesuffix("/...").rstrip("/")
    bare = one.removesuffix("/...")
    deep = other.endswith("/...") or not one.endswith("/...")
    if whole == bare:
        return deep
    if bare.startswith((whole + "/", whole + "::")) and deep:
        return True
    short, long = sorted((whole, bare), key=len)
    return long.startswith("/") and not short.startswith("/") and long.endswith("/" + short)
