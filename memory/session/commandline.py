"""Command lines of a shell: cut into simple commands, known by program and verb, and by which of
them cover which.

A task has a kind (test, lint, build, format; ALL for `make check`), targets and filters.  `covers`
is strict: it proves that another run of the same program would pass.  `closes` is for the question
whether something still fails, and where that is in doubt, it does not say so.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import dropwhile
from typing import NamedTuple

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
    **dict.fromkeys("uv poetry pipenv pdm hatch rye".split(), "run"),
    **dict.fromkeys("bundle pnpm yarn npm mise".split(), "exec"),
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
# what runs scripts of any language; what runs those of a package
_SCRIPTED = frozenset("mise make gmake just task nx".split())
_PACKAGED = frozenset("npm pnpm yarn bun".split())
_WHOLE = frozenset("check checks ci all verify validate precommit".split())
# options before what narrows a run
_FILTERS = frozenset(
    "run k t m testNamePattern test-name-pattern grep g tests filter only test p package w "
    "workspace project bin".split()
)
# no target: what stands before a program, and numbers
_BESIDE = r"\w+=.*|python[\d.]*|[\d.]+[smh]?|sudo|time|timeout|env|npx|bunx|uv|poetry|run|exec|-"
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


def words(part: str) -> list[str]:
    """Return the words of a simple command, without the quotation marks around them."""
    return [word.strip("'\"") for word in _WORD.findall(part)]


@lru_cache(1024)
def key_of(part: str) -> str:
    """Return program and verb of a simple command, or "".

    Wrappers and assignments are left out.
    """
    every = _without_wrappers(_WORD.findall(part.strip().lstrip("({ ")))
    inner = _inner(every)
    if inner:
        return next(filter(None, map(key_of, parts(inner[1]))), "")
    if not every or every[0] in "for case done fi esac } ) function select".split():
        return ""
    name = every[0].strip("'\"").rpartition("/")[2].lower()
    if re.match(r"python[\d.]*$", name):
        return _python(every[1:])
    arguments = _behind_program(name, every)
    if _edits_in_place(name, every):
        return name + " -i"
    if name in _INTERPRETERS and arguments:
        return name + " " + arguments[0].strip("'\"").rpartition("/")[2]
    if name in NOISE or name in _VERBLESS:
        return name
    return (name + " " + _verb(name, arguments)).strip()


def _behind_program(name: str, every: list[str]) -> list[str]:
    """Return the words behind a program, without its options."""
    if name == "git":
        options = r"^git(?:\s+-[cC]\s+\S+|\s+--?[\w-]+(?:=\S+)?)*"
        return re.sub(options, "git", " ".join(every)).split()[1:]
    return [w for w in every[1:] if not w.startswith("-")]


def _edits_in_place(name: str, every: list[str]) -> bool:
    return name in ("sed", "perl") and any(re.match(r"-\w*i", w) for w in every[1:])


def _inner(every: list[str]) -> re.Match[str] | None:
    """Return the match of a command that is `name=$(…)` alone."""
    if len(every) != 1:
        return None
    return re.match(r"\w+=[\"']?\$\((.*)\)[\"']?\Z", every[0], re.S)


def _without_wrappers(every: list[str]) -> list[str]:
    """Return a command's words from its program on, or its lone `name=$(…)`."""
    while every and not _inner(every):
        name = every[0].rpartition("/")[2]
        if re.match(r"\w+=", every[0]) or name in _WRAPPERS:
            every = every[1:]
        elif name in ("timeout", "gtimeout", "xargs"):
            every = list(dropwhile(_is_limit, every[1:]))
        elif len(every) > 2 and _RUNNERS.get(name) == every[1]:
            every = every[2:]
        else:
            break
    return every


def _is_limit(word: str) -> bool:
    """Tell whether a word is an option or time of `timeout` or `xargs`."""
    return word.startswith("-") or bool(re.match(r"[\d.]+[smhd]?$", word))


def _verb(name: str, arguments: list[str]) -> str:
    verb = arguments[0] if arguments and re.match(r"[A-Za-z][\w:-]*$", arguments[0]) else ""
    if (
        verb in ("run", "exec")
        and name not in _RUN_ALL
        and len(arguments) > 1
        and re.match(r"[\w:./-]+$", arguments[1])
    ):
        verb += " " + arguments[1]
    return verb


def _python(words: list[str]) -> str:
    """Return the program of a Python command line."""
    if "-m" in words[:-1]:
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
    folder: the target of the `cd` before it.
    targets: files, folders (`cart/...` with all below it); () for the whole.
    filters: names of tests or packages.
    tags: of tests that run only when asked for, and the end of a script's name (`test:slow`).
    """

    key: str
    kind: str
    folder: str
    targets: tuple[str, ...]
    filters: tuple[str, ...]
    tags: tuple[str, ...]


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
    kind = kind_of(key)
    if not kind and not installs(key) and not _WHOLE.isdisjoint(re.split(r"[\s:/_-]", key)):
        kind = ALL
    targets, filters, tags = _arguments(part, key)
    if key in ("go test", "go build", "go vet"):
        targets = targets or ["."]
    if key.partition(" ")[0] in _SCRIPTED | _PACKAGED:
        tags += re.split("[:/_-]", key)[1:]
    return Task(key, kind, folder, tuple(targets), tuple(filters), tuple(tags))


def _arguments(part: str, key: str) -> tuple[list[str], list[str], list[str]]:
    """Return (targets, filters, tags) of a simple command."""
    part = re.sub(r"\bpython[\d.]*\s+-m\s+(?=\S)", "", re.sub(r"\s\d?>+\s*\S+", "", part), count=1)
    known = {*key.split(), *key.replace("/", " ").split()}
    targets, filters, tags = list[str](), list[str](), list[str]()
    narrows = False
    for word in words(part):
        option, given, value = word.lstrip("-").partition("=")
        if narrows:
            filters.append(word)
            narrows = False
        elif word[:1] == "-":
            held = tags if option == "tags" else filters if option in _FILTERS else []
            held += [value.strip("'\"")] * bool(given)
            narrows = held is filters and not given
        elif not (known & {word, word.rpartition("/")[2].lower()} or re.fullmatch(_BESIDE, word)):
            targets.append(word.removeprefix("./").rstrip("/") or ".")
    return targets, filters, tags


def _keeps_status(join: str, part: str, strict: bool) -> bool:
    """Tell whether a chain's status depends on the command before a part too."""
    return join in ("", "&&") or (join == "|" and not strict and is_noise(key_of(part)))


def passed(run: Run, strict: bool = False) -> tuple[Task, ...]:
    """Return the tasks that a run shows to pass.

    All of a chain that came through, and of a failed chain those before the failure.
    strict: where a pipe hides the status of a task, only the task by which the run was judged
        counts.
    """
    chain = tasks(run.command)
    sure = all(_keeps_status(join, part, strict) for join, part in steps(run.command))
    if run.passed:
        return tuple(task for _, task in chain if sure or task.key == run.key)
    at = next((number for number, (_, task) in enumerate(chain) if task.key == run.key), 0)
    return tuple(task for _, task in chain[:at]) if run.bad and run.kind and sure else ()


def main_task(run: Run) -> Task | None:
    """Return the task that a run is known by, or None."""
    return next((task for _, task in tasks(run.command) if task.key == run.key), None)


def covers(task: Task, other: Task, said: str = "") -> bool:
    """Tell whether a task tries all that another tries.

    said: of the other's failure; of a run of everything, the files that it names are enough.
    """
    apart = task.folder and other.folder and not _within(other.folder, task.folder, "")
    if apart or not _is_alike(task, other) or not set(other.tags) <= set(task.tags):
        return False
    if task.filters not in ((), other.filters):
        return False
    named = not other.targets and all(one.partition("::")[0] in said for one in task.targets)
    return not task.targets or named or _contains(task, other)


def _contains(task: Task, other: Task) -> bool:
    """Tell whether a task's targets contain those of another."""
    # of one without a folder both most likely began in the same
    folder = task.folder if other.folder or not task.folder.startswith("/") else ""
    wide = [_joined(folder, target) for target in task.targets]
    narrow = [_joined(other.folder, target) for target in other.targets]
    return bool(narrow) and all(
        any(_within(one, whole, task.key) for whole in wide) for one in narrow
    )


def _is_alike(task: Task, other: Task) -> bool:
    """Tell whether a task is another's program, or a script of its kind."""
    program, replaced = (one.key.partition(" ")[0] for one in (task, other))
    runs = program in _SCRIPTED or {program, replaced} <= _PACKAGED
    same = bool(other.kind) and task.kind in (other.kind, ALL)
    installing = installs(task.key) or installs(other.key)
    return task.key == other.key or (runs and same and not installing)


def closes(task: Task, failure: Run) -> bool:
    """Tell whether a task that passes shows that a failure may be gone.

    A run of another program counts for all of its kind.
    """
    other = main_task(failure)
    if other is None:
        return False
    if task.key == other.key:
        said = "\n".join((failure.detail, *failure.names))
        return covers(task, other, said) or _tries(task, other, said)
    if installs(other.key) or not task.kind or task.kind == FORMAT:
        return False
    compiled = BUILD in (failure.kind, other.kind) or "(typecheck)" in failure.detail
    return compiled or other.kind == ALL or task.kind in (other.kind, ALL)


def _tries(task: Task, other: Task, said: str) -> bool:
    """Tell whether a task names what a failure named."""
    ends = [target.rpartition("::")[2].rpartition("/")[2] for target in task.targets]
    named = re.findall(r"\w[\w.]{2,}", " ".join(task.filters or ends))
    return set(other.tags) <= set(task.tags) and any(name in said for name in named)


def _joined(folder: str, target: str) -> str:
    """Return a target relative to the folder before its `cd`."""
    if not folder or target.startswith("/"):
        return target
    return folder.removeprefix("./") + ("" if target in (".", "") else "/" + target)


def _within(one: str, whole: str, key: str) -> bool:
    """Tell whether a target is the same as another or inside.

    A package of Go without `/...` is that folder alone.
    """
    if one == whole:
        return True
    if key.startswith("go "):
        whole, deep, _ = whole.partition("...")
        return bool(deep) and (one + "/").startswith(whole)
    return whole == "." or one.startswith((whole + "/", whole + "::"))
