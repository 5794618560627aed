"""Failures of a stretch of work and what made them pass: the one place that joins the two.

A failure is joined with the next success of the same target: the same program and verb, and the same files, filters and folder,
or more of them, or exactly those that the error names.  What was changed since it last failed is the fix; a plain rerun fixes
nothing.  A change is *likely* the cause where it has to do with the error:

    an edit      its file is named by the command or the error, or is a setting of the program that failed, or the edit
                 changes a word that stands in the error
    a command    it installs what the error names, or generates, migrates, starts, cleans or permits something; or it is the
                 same command with a variable or an option more

Two failures are the same where program and verb are (`npm test`) and the first line of the error is, as `shell.normal` leaves
it.  A line such as `assert 1 == 2` tells nothing then, and counts as no failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory import files, shell
from memory.facts import Edit, Facts
from memory.shell import Run

MOST_COMMANDS = 3  # of a fix
_STEM = 3  # characters of a file's name from which on it is looked for without its ending
_VAGUE = frozenset("index main mod lib init app apps test tests util utils types type config setup src conf core base error "
                   "errors common server client data model models views run".split())
_ENDING = re.compile(r"^test_|[._-](?:test|tests|spec|d)$|_test$")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_TELLING = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]|[A-Za-z]\d")
_QUOTED = re.compile(r"[`'\"‘“]([A-Za-z_@][\w./@:-]{2,60})[`'\"’”]")
_TALK = frozenset(
    "-v -vv -q -s --verbose --quiet --debug --fix --write -u --update --trace --dry-run -n --version --help -h".split())
_NUMBER = re.compile(r"[\d.]+\Z")
_FILTERS = frozenset(
    "-k -m -t -p --package --filter --workspace -w --project --testNamePattern --tests -run --test --bin".split())
_RUNNERS = frozenset("npx bunx uv poetry pdm bundle run exec sudo env time pnpm yarn npm . ./".split())
_JS = r"npm|npx|pnpm|yarn|bun|node|tsx|jest|vitest|mocha|tsc|eslint|prettier|vite|next|webpack|playwright|cypress"
_PYTHON = r"python|pytest|py\.test|unittest|tox|nox|mypy|ruff|flake8|pylint|black|pip3?|uv|poetry|django-admin|alembic"
_SETTINGS = tuple((re.compile(program), re.compile(file)) for program, file in (
    (_JS, r"package\.json|tsconfig.*\.json|.*\.config\.[cm]?[jt]s|\.env.*|\.npmrc|\.babelrc|\.eslintrc.*"),
    (_PYTHON, r"pyproject\.toml|setup\.(?:cfg|py)|(?:tox|pytest|mypy)\.ini|conftest\.py|requirements.*|ruff\.toml|\.env.*"
              r"|settings\.py"),
    (r"cargo", r"Cargo\.toml|build\.rs|rust-toolchain.*|config\.toml"),
    (r"go", r"go\.(?:mod|work)"),
    (r"docker|docker-compose|podman", r"Dockerfile.*|.*compose.*\.ya?ml|\.dockerignore|\.env.*"),
    (r"make|cmake|ninja|gcc|clang", r"(?:GNU)?[Mm]akefile|.*\.mk|CMakeLists\.txt"),
    (r"gradlew?|mvn", r".*\.gradle(?:\.kts)?|gradle\.properties|pom\.xml"),
    (r"bundle|rspec|rake|rails|ruby", r"Gemfile|Rakefile|\.rspec|(?:spec|rails)_helper\.rb"),
    (r"terraform|kubectl|helm", r".*\.tf|.*\.tfvars|.*\.ya?ml")))
_STARTERS = frozenset("make just task tox nox pre-commit".split())
_INSTALLS = re.compile(
    r"(?:pip3?|uv(?: pip)?|poetry|pdm|npm|pnpm|yarn|bun|cargo|go|gem|bundle|apt|apt-get|apk|dnf|brew|conda|composer|rustup|nvm|"
    r"mise|asdf|playwright|dotnet) (?:install|i|add|sync|get|mod|update|upgrade|ci|lock|restore|target|component)\b")
_CHANGES = re.compile(
    r"(?:^|[\s:/_-])(?:generate|gen|codegen|proto|protoc|migrate|migration|migrations|makemigrations|upgrade|seed|setup|init|bootstrap|"
    r"compile|createdb|create|start|up|restart|reset|clean|login|rebuild|prune|rm|chmod|chown|ln|cp|mv|submodule|lfs|pkill|"
    r"(?:nvm|fnm|volta|pyenv|rbenv|asdf|mise|rustup|sdk)(?: \w+)? (?:use|local|global|shell|default|override|pin)|"
    r"systemctl|service|initdb|redis-server|postgres|mongod|corepack|sysctl|ulimit|dos2unix)\b|^(?:sed|perl) -i")
_MISSING = re.compile(
    r"(?i)cannot find (?:module|package)|no module named|not (?:found|installed)|missing|in sync|no required module|"
    r"could not (?:find|resolve)|unresolved|lock ?file|no such file")
_BARE = re.compile(r"(?:[a-z]+ )+(?:--?[\w-]+ ?)*\Z")  # `npm install`, which names no package
_EMPTY = frozenset("assert assertionerror assertion error errors exit code status failed fails failure failures process "
                   "completed returned command line file exception none true false test tests passed the and for with not"
                   .split())
_LETTERS = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True)
class Fix:
    """A failure and what made the same thing pass.

    began: the instant from which on it failed, with this error or another.  passed: when it passed before, "" for never.
    edits, ran: what was changed since it failed last; where some of it is likely the cause (`likely`), that alone.
    """

    failure: Run
    success: Run
    began: str
    passed: str
    edits: tuple[Edit, ...]
    ran: tuple[Run, ...]
    likely: bool

    @property
    def files(self) -> tuple[str, ...]:
        """The files that were edited, each once."""
        return tuple(dict.fromkeys(edit.path for edit in self.edits))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that were run, each once, the last ones."""
        return tuple(dict.fromkeys(run.command for run in self.ran))[-MOST_COMMANDS:]


def fixes(facts: Facts) -> list[Fix]:
    """Find failures followed by their fix, each error of a target once, in the order in which they failed."""
    runs = sorted((*facts.failing, *facts.runs), key=lambda r: r.at)
    found: dict[str, Fix] = {}
    for at, failure in enumerate(runs):
        if not failure.bad:
            continue
        success = next((r for r in runs[at + 1:] if r.at > failure.at and passes(r, failure)), None)
        success = success or _kindred(failure, runs[at + 1:], facts)
        fix = _fix(failure, success, runs, facts) if success else None
        if fix:
            found.setdefault(failure.key + "\n" + failure.detail, fix)
    return list(found.values())


def passes(run: Run, failure: Run) -> bool:
    """Tell whether a run shows that what failed passes."""
    return run.outcome == shell.OK and not run.masked and run.key == failure.key and covers(run, failure)


def is_akin(run: Run, failure: Run) -> bool:
    """Tell whether a run is of the same program and verb, and tries what the failure tried, a part of it or more."""
    return run.key == failure.key and (covers(run, failure) or covers(failure, run))


def covers(run: Run, failure: Run) -> bool:
    """Tell whether a run tries what another one, of the same program and verb, tried."""
    (folder, wide), (other, narrow) = _target(run.command, run.key), _target(failure.command, failure.key)
    if folder and other and folder != other:
        return False
    if all(any(_within(one, whole) for whole in wide) for one in narrow) and (narrow or not wide):
        return True
    return not wide or (not narrow and all(_tells(failure.detail, one) for one in wide))


@lru_cache(512)
def _target(command: str, key: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder that a command changes to and what it is asked to do: its words apart from options and numbers."""
    folder, chosen = "", ""
    for part in shell.parts(command):
        if part.startswith("cd ") and not chosen:
            folder = part[3:].strip().strip("'\"").rstrip("/")
        elif not chosen and shell.key_of(part) == key:
            chosen = re.sub(r"\s+\d?>.*", "", part)
    words = [word.strip("'\"") for word in chosen.split()]
    known = set(key.split())
    wanted = [w.rpartition("=")[2] for i, w in enumerate(words)
              if (not w.startswith("-") or w.partition("=")[0] in _FILTERS and "=" in w)
              and not re.match(r"\w+=", w) and not _NUMBER.match(w)
              and not (w in known or w.rpartition("/")[2].lower() in known or re.match(r"python[\d.]*\Z", w))]
    return folder, tuple(w for w in wanted if w not in _RUNNERS)


def _within(one: str, other: str) -> bool:
    """Tell whether a target is another one, or stands in it: a test in a file, a file in a folder, a package in `./...`."""
    whole = other.rstrip("/").removesuffix("/...")
    return one == other or one.startswith((whole + "/", whole + "::"))


def _tells(detail: str, target: str) -> bool:
    """Tell whether an error names a target, or something below it."""
    return target.partition("::")[0].rstrip("/") in detail


def _kindred(failure: Run, later: Sequence[Run], facts: Facts) -> Run | None:
    """Return the next success of the same program, of another verb or script, after an edit of a file that the failure names."""
    program = failure.key.partition(" ")[0]
    kin = [r for r in later if r.outcome == shell.OK and not r.masked and r.at > failure.at and r.key != failure.key
           and r.key.partition(" ")[0] == program and (program in ("cargo", "go", "python") or r.is_test == failure.is_test)]
    edited = next((e.at for e in facts.edits if e.at > failure.at and names(e.path, failure)), "") if kin else ""
    return next((r for r in kin if r.at > edited), None) if edited else None


def _fix(failure: Run, success: Run, runs: Sequence[Run], facts: Facts) -> Fix | None:
    tries = [r for r in runs if r.bad and r.at < success.at and is_akin(r, failure)]
    mark = shell.normal(failure.detail)
    since = max((r.last for r in tries if r.last < success.at and shell.normal(r.detail) == mark), default=failure.last)
    passed = max((r.last for r in runs if r.at < failure.at and passes(r, failure)), default="")
    edits = tuple(e for e in facts.edits if since < e.at < success.at)
    ran = tuple(r for r in runs if since < r.at < success.at and r.outcome == shell.OK and not r.is_test
                and not is_akin(r, failure))
    began = min(r.at for r in [*tries, failure] if r.at > passed)
    if not edits and not ran:
        return Fix(failure, success, began, passed, (), (success,), True) if _called_otherwise(failure, success) else None
    edited = tuple(e for e in edits if causes(e, failure))
    helped = tuple(r for r in ran if mends(r, failure))
    if edited or helped:
        return Fix(failure, success, began, passed, edited, helped, True)
    return Fix(failure, success, began, passed, edits, () if edits else ran, False)


def _called_otherwise(failure: Run, success: Run) -> bool:
    """Tell whether the same command passed with a variable or an option more, and not a test, which may pass by itself."""
    before, after = (run.command.split() for run in (failure, success))
    added = [word for word in after if word not in before]
    return (not failure.is_test and bool(added) and not [word for word in before if word not in after]
            and all(re.match(r"-|\w+=", word) and word not in _TALK for word in added))


# --- what has to do with an error

def _text(failure: Run) -> str:
    return failure.command + "\n" + failure.detail


def names(path: str, failure: Run) -> bool:
    """Tell whether a failure names a file, or the test of it."""
    name = path.rpartition("/")[2]
    said = _text(failure)
    if len(name) >= _STEM and re.search(r"(?<![\w.-])" + re.escape(name) + r"(?![\w-])", said):
        return True
    stem = _ENDING.sub("", name[1:].partition(".")[0] and name.rpartition(".")[0] or name).lower()
    return len(stem) >= _STEM and stem not in _VAGUE and bool(
        re.search(r"(?<![a-z0-9])" + re.escape(stem) + r"(?![a-z0-9])", said.lower()))


def is_setting(path: str, failure: Run) -> bool:
    """Tell whether a file holds settings of the program that failed, or of any that a runner (`make`) may have started."""
    program, name = failure.key.partition(" ")[0], path.rpartition("/")[2]
    return any((program in _STARTERS or programs.fullmatch(program)) and known.fullmatch(name) for programs, known in _SETTINGS)


def causes(edit: Edit, failure: Run) -> bool:
    """Tell whether an edit has to do with a failure."""
    if names(edit.path, failure) or is_setting(edit.path, failure):
        return True
    return shares(edit, failure)


def shares(edit: Edit, failure: Run) -> bool:
    """Tell whether a word that names something in an error stands in the lines that an edit changed."""
    return bool(telling(failure.detail) & set(_WORD.findall(edit.hunk)))


def telling(error: str) -> set[str]:
    """Return the words of an error that name something: identifiers, and what stands in quotes."""
    quoted = [word for match in _QUOTED.findall(error) for word in _WORD.findall(match)]
    return {word for word in [*(w for w in _WORD.findall(error) if _TELLING.search(w)), *quoted]
            if word.lower() not in _EMPTY and not word.endswith(("Error", "Exception"))}


def mends(run: Run, failure: Run) -> bool:
    """Tell whether a command changes what a failure may come from."""
    if run.key.startswith("gh ") or run.is_test:
        return False
    words = {w.lower() for w in re.findall(r"[A-Za-z0-9]{3,}", failure.detail)}
    if _INSTALLS.match(run.key) or _INSTALLS.search(run.command):
        rest = [w.lower() for w in re.findall(r"[A-Za-z0-9]{3,}", run.command) if w.lower() not in run.key]
        return any(w in words for w in rest) or (bool(_MISSING.search(failure.detail)) and (
            not rest or bool(_BARE.match(run.command + " ")) or "requirements" in rest))
    return bool(_CHANGES.search(run.key) or _CHANGES.search(run.command))


# --- which failures are the same

def signature(command: str, error: str) -> tuple[str, str] | None:
    """Return what two runs of the same failure share, or None where the error's line tells nothing."""
    judged = shell.run(command, "", "", None, True)
    plain = shell.normal(error)
    words = {word for word in _LETTERS.findall(plain) if word not in _EMPTY}
    return (judged.key, plain) if judged is not None and len(words) >= 2 else None


def key_of(kind: str, *parts: str) -> str:
    """Return the key of what a learning was made of: 16 hex digits."""
    return files.sha256("\0".join((kind, *parts)).encode("utf-8", "replace"))[:16]


def lines(detail: str) -> Iterable[str]:
    """Yield the lines of an error without the mark that pytest puts before them."""
    return (re.sub(r"^E\s+", "", line) for line in detail.split("\n") if line.strip())
