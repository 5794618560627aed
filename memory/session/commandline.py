"""Command lines of a shell: split into simple commands, classified by program and verb, compared.

A task has a kind (test, lint, build, format; ALL for `make check`), targets and filters.  `covers`
is strict: it proves that another run of the same program would pass.  `may_resolve` answers whether
a failure may be gone; where that is in doubt, it says yes.
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
# programs whose exit status 1 means "no"
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
# options before a verb that take the next word: of any program, and of some
_VALUED = frozenset(
    "--config --context --cwd --dir --directory --env-file --extra --file --filter --group --host "
    "--index-url --kubeconfig --manifest-path --namespace --package --prefix --profile --project "
    "--project-name --python --region --repo --with --workspace".split()
)
_VALUED_OF = {
    **dict.fromkeys("make gmake just".split(), "-C -I -d -f"),
    **dict.fromkeys("kubectl oc helm".split(), "-n -s"),
    **dict.fromkeys("gradle gradlew".split(), "-b -p"),
    **dict.fromkeys("git go cargo poetry pnpm npm".split(), "-C -F -c -w"),
    "docker": "-H -c -l",
    "env": "-C -u",
    "gh": "-R",
    "mvn": "-P -f -pl -s",
    "nice": "-n",
    "npx": "-c -p",
    "psql": "-U -c -d -f -h -p",
    "redis-cli": "-a -h -n -p",
    "ssh": "-F -i -l -o -p",
    "sudo": "-g -u",
    "xcodebuild": "-destination -project -scheme -workspace",
}
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
_VERBLESS_BUILDERS = frozenset(
    "make cmake ninja gcc g++ clang javac webpack".split()
)  # without a verb
_INNER = r"""\$\((?:[^()'"]|'[^']*'|"(?:\\.|[^"\\])*"|\((?:[^()])*\))*\)"""  # $(…)
# $(…), a quoted text, an escape, an operator (the group), or plain text
_PIECE = re.compile(
    _INNER + r"""|'[^']*'|"(?:\\.|[^"\\])*"|\\.|(&&|\|\||[;|\n])|[^'"\\$&|;\n]+|.""", re.S
)
_HEREDOC = re.compile(
    r"<<-?\s{0,20}(['\"]?)(\w{1,80})(?!\w)\1([^\n]{0,1000})\n.*?(?:^[ \t]*\2[ \t]*$|\Z)",
    re.S | re.M,
)
# a command that another shell gets, in quotes
_REMOTE = re.compile(
    r"(?<![\w./-])(ssh(?:\s{1,9}-\S{1,80}){0,4}\s{1,9}\S{1,200}|(?:ba|da|z)?sh\s{1,9}-l?c)\s{1,9}"
    r"""(?:'([^']{1,4000})(?:'|\Z)|"((?:[^"\\]|\\.){1,4000})(?:"|\Z))""",
    re.S,
)
_WORD = re.compile(r"""(?:""" + _INNER + r"""|'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""", re.S)
ALL = "all"
# runners of scripts in any language, and of a package's
_SCRIPT_RUNNERS = frozenset("mise make gmake just task nx".split())
_PACKAGE_RUNNERS = frozenset("npm pnpm yarn bun".split())
_RUN_EVERYTHING = frozenset("check checks ci all verify validate precommit".split())
# options before a value that narrows a run
_FILTERS = frozenset(
    "run k t m testNamePattern test-name-pattern grep g tests filter only test p package w "
    "workspace project bin".split()
)
# words that are no target: wrappers before a program, and numbers
_NO_TARGET = r"\w+=.*|python[\d.]*|[\d.]+[smh]?|sudo|time|timeout|env|npx|bunx|uv|poetry|run|exec|-"
_INSTALLERS = frozenset(
    "pip pip3 uv poetry pdm npm pnpm yarn bun cargo go gem bundle apt apt-get apk dnf brew conda "
    "composer rustup nvm mise asdf playwright dotnet".split()
)
_INSTALLS = frozenset(
    "install i add sync get mod update upgrade ci lock restore target component pip".split()
)


@lru_cache(256)
def split_steps(command: str) -> list[tuple[str, str]]:
    """Return (joining operator, simple command) pairs of a shell line.

    The operator joins a command to the previous: `&&`, `||`, `;` or `|`.  Quoted text and `$(…)`
    stay whole, here-documents are left out, a line's end counts as `;`.
    """
    steps: list[tuple[str, str]] = []
    pieces: list[str] = []
    join = ""
    command = command.replace("\\\n", " ")
    for piece in _PIECE.finditer(_HEREDOC.sub(r"<<\2\3", command) if "<<" in command else command):
        if piece[1]:
            steps.append((join, "".join(pieces).strip()))
            pieces, join = [], piece[1].replace("\n", ";")
        else:
            pieces.append(piece[0])
    steps.append((join, "".join(pieces).strip()))
    return [(join, part) for join, part in steps if part and not part.startswith("#")]


def is_remote(command: str) -> bool:
    """Tell whether a shell line gives a quoted command to another shell."""
    return _REMOTE.search(command) is not None


def unquote_remote(command: str) -> str:
    """Return a shell line with what `ssh HOST` and `sh -c` get without its quotes."""
    return _REMOTE.sub(lambda match: match[1] + " " + (match[2] or match[3]), command)


def split_commands(command: str) -> list[str]:
    """Return the simple commands of a shell line."""
    return [part for _, part in split_steps(command)]


def split_words(part: str) -> list[str]:
    """Return the words of a simple command, without quotation marks."""
    return [word.strip("'\"") for word in _WORD.findall(part)]


@lru_cache(1024)
def parse_key(part: str) -> str:
    """Return a simple command's key: program and verb, or "".

    Wrappers (`sudo`, `uv run`) and assignments are skipped.
    """
    words = _strip_wrappers(_WORD.findall(part.strip().lstrip("({ ")))
    inner = _match_substitution(words)
    if inner:
        return next(filter(None, map(parse_key, split_commands(inner[1]))), "")
    if not words or words[0] in "for case done fi esac } ) function select".split():  # syntax
        return ""
    name = words[0].strip("'\"").rpartition("/")[2].lower()
    if re.match(r"python[\d.]*$", name):
        return _parse_python_key(words[1:])
    if name in _INTERPRETERS and (script := _find_script(words[1:])):
        return name + " " + script
    if _edits_in_place(name, words):
        return name + " -i"
    if name in NOISE or name in _VERBLESS:
        return name
    return (name + " " + _find_verb(name, _strip_options(name, words[1:]))).strip()


def _find_script(words: list[str]) -> str:
    """Return the name of the first word that is no option: an interpreter's script."""
    script = next((word for word in words if word[:1] != "-"), "")
    return script.strip("'\"").rpartition("/")[2]


def _strip_options(program: str, words: list[str]) -> list[str]:
    """Return words without options, and without the values of those before the first other word."""
    return [word for word in _skip_options(program, words) if not word.startswith("-")]


def _skip_options(program: str, words: list[str]) -> list[str]:
    """Return words from the first that is no option, value, number or toolchain (`+nightly`)."""
    at, valued = 0, _VALUED_OF.get(program, "").split()
    while at < len(words) and re.match(r"[-+]|\d+$", words[at]):
        at += 2 if words[at] in _VALUED or words[at] in valued else 1
    return words[at:]


def _edits_in_place(name: str, words: list[str]) -> bool:
    return name in ("sed", "perl") and any(re.match(r"-\w*i", w) for w in words[1:])


def _match_substitution(words: list[str]) -> re.Match[str] | None:
    """Match a command that is `name=$(…)` alone, or return None."""
    if len(words) != 1:
        return None
    return re.match(r"\w+=[\"']?\$\((.*)\)[\"']?\Z", words[0], re.S)


def _strip_wrappers(words: list[str]) -> list[str]:
    """Return the words of a command without `sudo`, assignments and the like."""
    while words and not _match_substitution(words):
        name = words[0].rpartition("/")[2]
        if re.match(r"\w+=", words[0]):
            words = words[1:]
        elif name in _WRAPPERS:
            words = _skip_options(name, words[1:])
        elif name in ("timeout", "gtimeout", "xargs"):
            words = list(dropwhile(_is_limit, words[1:]))
        elif run := _find_run(name, words[1:]):
            words = run
        else:
            break
    return words


def _find_run(runner: str, words: list[str]) -> list[str]:
    """Return the command that `uv run` or the like runs, [] for another call."""
    verb, *command = _skip_options(runner, words) or [""]
    return _skip_options(runner, command) if verb and _RUNNERS.get(runner) == verb else []


def _is_limit(word: str) -> bool:
    return word.startswith("-") or bool(re.match(r"[\d.]+[smhd]?$", word))


def _find_verb(name: str, arguments: list[str]) -> str:
    verb = arguments[0] if arguments and re.match(r"[A-Za-z:][\w:-]*$", arguments[0]) else ""
    if verb[:1] == ":":  # Gradle's `:core:test`
        verb = verb.rpartition(":")[2]
    runs_script = verb in ("run", "exec") and name not in _RUN_ALL and len(arguments) > 1
    if runs_script and re.match(r"[\w:./-]+$", arguments[1]):
        verb += " " + arguments[1]
    return verb


def _parse_python_key(words: list[str]) -> str:
    if "-m" in words[:-1]:
        return parse_key(" ".join(words[words.index("-m") + 1 :]))
    script = next((w for w in words if not w.startswith("-")), "")
    if "-c" in words or not script or script.startswith("<<"):
        return "python -c" if words else "python"
    name = script.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if "dayleaf" in script or (name == "memory" and "/" in script):
        return "dayleaf"
    return "python " + name


def is_noise(key: str) -> bool:
    """Tell by its key whether a command only looks around."""
    name, _, verb = key.partition(" ")
    return (name in NOISE and verb != "-i") or (name == "git" and (verb in _QUIET_GIT or not verb))


def classify_key(key: str) -> str:
    """Return TEST, LINT, BUILD or FORMAT for a command's key, or ""."""
    words = re.split(r"[\s:/_.-]+", key)
    if is_test(key):
        return TEST
    if not _FORMATTERS.isdisjoint(words):
        return FORMAT
    checks = "type-check" in key or "check-types" in key
    if checks or any(word in _LINTERS or word.startswith("lint") for word in words):
        return LINT
    built = key in _VERBLESS_BUILDERS or key in ("cargo check", "vite build")
    return BUILD if built or not _COMPILERS.isdisjoint(words) else ""


def is_test(key: str) -> bool:
    """Tell by its key whether a command runs tests."""
    words = re.split("[ /]", key)
    return any(re.split("[:.]", w)[0] in _TESTERS or _TEST_SCRIPT.fullmatch(w) for w in words)


def is_gate(key: str) -> bool:
    """Tell by its key whether a command tests, builds or lints."""
    return key.partition(" ")[0] in _BUILDERS or is_test(key) or "check" in key.split()


def is_install(key: str) -> bool:
    """Tell by its key whether a command installs packages."""
    program, _, verb = key.partition(" ")
    return program in _INSTALLERS and verb in _INSTALLS


# --- tasks compared


class Task(NamedTuple):
    """A simple command that does work, such as a test run.

    key: program and verb.
    kind: TEST, LINT, BUILD, FORMAT, ALL, or "".
    folder: the target of the `cd` before it.
    targets: files, folders (`cart/...` with all below it); () for the whole.
    filters: names of tests or packages.
    tags: of tests that run only on request, and the end of a script's name (`test:slow`).
    """

    key: str
    kind: str
    folder: str
    targets: tuple[str, ...]
    filters: tuple[str, ...]
    tags: tuple[str, ...]


@lru_cache(1024)
def parse_tasks(command: str) -> tuple[tuple[str, Task], ...]:
    """Return (joining operator, task) of each task in a shell line."""
    found, folder = [], ""
    for join, part in split_steps(command):
        key, bare = parse_key(part), part.lstrip("({ ")
        option = re.search(r"(?:--prefix|--cwd|--dir|--filter|-C)[ =](\S+)", part)
        if key == "cd" or bare.startswith("cd "):
            folder = bare[2:].strip().strip("'\")").rstrip("/")
        elif key and not is_noise(key):
            inside = option[1].strip("'\"") if option else folder
            found.append((join, _parse_task(part, key, inside)))
    return tuple(found)


def _parse_task(part: str, key: str, folder: str) -> Task:
    kind = classify_key(key)
    runs_everything = not _RUN_EVERYTHING.isdisjoint(re.split(r"[\s:/_-]", key))
    if not kind and runs_everything and not is_install(key):
        kind = ALL
    targets, filters, tags = _parse_arguments(part, key)
    if key in ("go test", "go build", "go vet"):
        targets = targets or ["."]
    if key.partition(" ")[0] in _SCRIPT_RUNNERS | _PACKAGE_RUNNERS:
        tags += re.split("[:/_-]", key)[1:]
    return Task(key, kind, folder, tuple(targets), tuple(filters), tuple(tags))


def _parse_arguments(part: str, key: str) -> tuple[list[str], list[str], list[str]]:
    """Return (targets, filters, tags) of a simple command."""
    part = re.sub(r"\s\d?>+\s*\S+", "", part)  # redirections
    part = re.sub(r"\bpython[\d.]*\s+-m\s+(?=\S)", "", part, count=1)
    program_words = {*key.split(), *key.replace("/", " ").split()}
    targets, filters, tags = list[str](), list[str](), list[str]()
    narrows = False
    for word in split_words(part):
        option, has_value, value = word.lstrip("-").partition("=")
        if narrows:
            filters.append(word)
            narrows = False
        elif word[:1] == "-":
            values = tags if option == "tags" else filters if option in _FILTERS else []
            if has_value:
                values.append(value.strip("'\""))
            narrows = values is filters and not has_value
        elif _is_target(word, program_words):
            targets.append(word.removeprefix("./").rstrip("/") or ".")
    return targets, filters, tags


def _is_target(word: str, program_words: set[str]) -> bool:
    is_program = bool(program_words & {word, word.rpartition("/")[2].lower()})
    return not is_program and not re.fullmatch(_NO_TARGET, word)


def _keeps_status(join: str, part: str, strict: bool) -> bool:
    """Tell whether an operator passes on the status before it."""
    return join in ("", "&&") or (join == "|" and not strict and is_noise(parse_key(part)))


def find_passed_tasks(run: Run, strict: bool = False) -> tuple[Task, ...]:
    """Return the tasks of a run that surely passed.

    Of a chain that passed, all; of a failed chain, those before the failure.
    strict: where a pipe hides a status, only the task by which the run was judged.
    """
    chain = parse_tasks(run.command)
    sure = all(_keeps_status(join, part, strict) for join, part in split_steps(run.command))
    if run.passed:
        return tuple(task for _, task in chain if sure or task.key == run.key)
    at = next((number for number, (_, task) in enumerate(chain) if task.key == run.key), 0)
    return tuple(task for _, task in chain[:at]) if run.bad and run.kind and sure else ()


def find_main_task(run: Run) -> Task | None:
    """Return the task by which a run was judged, or None."""
    return next((task for _, task in parse_tasks(run.command) if task.key == run.key), None)


def covers(task: Task, other: Task, failure_text: str = "") -> bool:
    """Tell whether a task runs everything that another runs.

    failure_text: the output of the other's failure; where the other has no targets, the files
        named there are enough.
    """
    if task.folder and other.folder and not _is_within(other.folder, task.folder, ""):
        return False
    if not _is_same_kind(task, other) or not set(other.tags) <= set(task.tags):
        return False
    if task.filters not in ((), other.filters):
        return False
    files = (target.partition("::")[0] for target in task.targets)
    are_named = not other.targets and all(file in failure_text for file in files)
    return not task.targets or are_named or _contains_targets(task, other)


def _contains_targets(task: Task, other: Task) -> bool:
    # if the other has no folder, both most likely began in the same
    folder = task.folder if other.folder or not task.folder.startswith("/") else ""
    areas = [_join_path(folder, target) for target in task.targets]
    targets = [_join_path(other.folder, target) for target in other.targets]
    return bool(targets) and all(
        any(_is_within(target, area, task.key) for area in areas) for target in targets
    )


def _is_same_kind(task: Task, other: Task) -> bool:
    """Tell whether two tasks run the same program or kind of script."""
    programs = [key.partition(" ")[0] for key in (task.key, other.key)]
    is_script = programs[0] in _SCRIPT_RUNNERS or _PACKAGE_RUNNERS.issuperset(programs)
    same = bool(other.kind) and task.kind in (other.kind, ALL)
    installing = is_install(task.key) or is_install(other.key)
    return task.key == other.key or (is_script and same and not installing)


def may_resolve(task: Task, failure: Run) -> bool:
    """Tell whether a failure may be gone once a task passes.

    A task of another program counts for all of its kind.
    """
    other = find_main_task(failure)
    if other is None:
        return False
    if task.key == other.key:
        failure_text = "\n".join((failure.detail, *failure.names))
        return covers(task, other, failure_text) or _names_failed_target(task, other, failure_text)
    if is_install(other.key) or not task.kind or task.kind == FORMAT:
        return False
    compiled = BUILD in (failure.kind, other.kind) or "(typecheck)" in failure.detail
    return compiled or other.kind == ALL or task.kind in (other.kind, ALL)


def _names_failed_target(task: Task, other: Task, failure_text: str) -> bool:
    """Tell whether a failure's text names a task's target or filter."""
    ends = [target.rpartition("::")[2].rpartition("/")[2] for target in task.targets]
    names = re.findall(r"\w[\w.]{2,}", " ".join(task.filters or ends))
    return set(other.tags) <= set(task.tags) and any(name in failure_text for name in names)


def _join_path(folder: str, target: str) -> str:
    """Return a target's path below the folder of the last `cd`."""
    if not folder or target.startswith("/"):
        return target
    return folder.removeprefix("./") + ("" if target in (".", "") else "/" + target)


def _is_within(target: str, area: str, key: str) -> bool:
    """Tell whether a target is an area or lies inside it.

    A Go package without `/...` is its folder alone.
    """
    if target == area:
        return True
    if key.startswith("go "):
        area, deep, _ = area.partition("...")
        return bool(deep) and (target + "/").startswith(area)
    return area == "." or target.startswith((area + "/", area + "::"))
