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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory.capture.facts import Edit, Facts
from memory.core import files
from memory.session import commandline, hunks, shell, tellingline
from memory.session.latepattern import Late
from memory.session.shell import Run

MOST_COMMANDS, MOST_FILES = 3, 2  # of a fix
_STEM = 3  # characters of a file's name from which on it is looked for without its ending
_VAGUE = frozenset("index main mod lib init app apps test tests util utils types type config setup src conf core base error "
                   "errors common server client data model models views run".split())
_ENDING = Late(r"^test_|[._-](?:test|tests|spec|d)$|_test$")
_WORD = Late(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_TELLING = Late(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]|[A-Za-z]\d")
_QUOTED = Late(r"[`'\"‘“]([A-Za-z_@][\w./@:-]{2,60})[`'\"’”]")
_TALK = frozenset(
    "-v -vv -q -s --verbose --quiet --debug --fix --write -u --update --trace --dry-run -n --version --help -h".split())
_NUMBER = Late(r"(?<![\d.])[\d.]+\Z")
_FILTERS = frozenset(
    "-k -m -t -p --package --filter --workspace -w --project --testNamePattern --tests -run --test --bin".split())
_RUNNERS = frozenset("npx bunx uv poetry pdm bundle run exec sudo env time pnpm yarn npm . ./".split())
_JS = r"npm|npx|pnpm|yarn|bun|node|tsx|jest|vitest|mocha|tsc|eslint|prettier|vite|next|webpack|playwright|cypress"
_PYTHON = r"python|pytest|py\.test|unittest|tox|nox|mypy|ruff|flake8|pylint|black|pip3?|uv|poetry|django-admin|alembic"
_SETTINGS = tuple((Late(program), Late(file)) for program, file in (
    (_JS, r"package\.json|tsconfig.{0,80}\.json|.{0,80}\.config\.[cm]?[jt]s|\.env.{0,80}|\.npmrc|\.babelrc|\.eslintrc.{0,80}"),
    (_PYTHON, r"pyproject\.toml|setup\.(?:cfg|py)|(?:tox|pytest|mypy)\.ini|conftest\.py|requirements.{0,80}|"
              r"ruff\.toml|\.env.{0,80}"
              r"|settings\.py"),
    (r"cargo", r"Cargo\.toml|build\.rs|rust-toolchain.{0,80}|config\.toml"),
    (r"go", r"go\.(?:mod|work)"),
    (r"docker|docker-compose|podman", r"Dockerfile.{0,80}|.{0,80}compose.{0,80}\.ya?ml|\.dockerignore|\.env.{0,80}"),
    (r"make|cmake|ninja|gcc|clang", r"(?:GNU)?[Mm]akefile|.{0,80}\.mk|CMakeLists\.txt"),
    (r"gradlew?|mvn", r".{0,80}\.gradle(?:\.kts)?|gradle\.properties|pom\.xml"),
    (r"bundle|rspec|rake|rails|ruby", r"Gemfile|Rakefile|\.rspec|(?:spec|rails)_helper\.rb"),
    (r"terraform|kubectl|helm", r".{0,80}\.tf|.{0,80}\.tfvars|.{0,80}\.ya?ml")))
_STARTERS = frozenset("make just task tox nox pre-commit".split())
_CHANGES = Late(
    r"(?:^|[\s:/_-])(?:generate|gen|codegen|proto|protoc|migrate|migration|migrations|makemigrations|upgrade|seed|setup|init|"
    r"bootstrap|"
    r"compile|createdb|create|start|up|restart|reset|clean|login|rebuild|prune|rm|chmod|chown|ln|cp|mv|submodule|lfs|pkill|"
    r"(?:nvm|fnm|volta|pyenv|rbenv|asdf|mise|rustup|sdk)(?: \w+)? (?:use|local|global|shell|default|override|pin)|"
    r"systemctl|service|initdb|redis-server|postgres|mongod|corepack|sysctl|ulimit|dos2unix)\b|^(?:sed|perl) -i")
_MISSING = Late(
    r"(?i)cannot find (?:module|package)|no module named|not (?:found|installed)|missing|in sync|no required module|"
    r"could not (?:find|resolve)|unresolved|lock ?file|no such file")
_BARE = Late(r"(?:[a-z]{1,40} ){1,40}(?:-[\w-]{1,80} ){0,40}\Z")  # `npm install`, which names no package
_EMPTY = frozenset("assert assertionerror assertion error errors exit code status failed fails failure failures process "
                   "completed returned command line file exception none true false test tests passed the and for with not"
                   .split())
_RUN_SCRIPTS = frozenset("mise npm pnpm yarn bun make gmake just task rake tox nox git gh".split())
_CALLED = (r"^(?:go (?:run|doc|list|env|mod why)|docker (?:run|ps|logs|exec|inspect)|npm (?:view|ls|outdated)|"
                     r"cargo run)\b|--help\b")
_LASTING = (
    r"^(?:git (?:push|rebase|merge|pull|cherry-pick|commit|stash|am)|(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|bundle|go|cargo|"
    r"apt-get|brew) "
    r"(?:install|ci|add|sync|get|i)|(?:mise|npm|pnpm|yarn|bun) run |make\b|just\b|task\b|docker (?:build|compose|push)|"
    r"terraform (?:apply|plan)|"
    r"alembic|kubectl apply|helm )|\b(?:deploy|publish|release|migrate|migrations?)\b")
_CONCLUDES = r"\bgit\b.{0,300}\s(?:--continue|--abort|--skip|--quit|commit|reset --hard|merge|rebase|push)\b"
_GREEN = (
    r"(?i)\b(?:all|every)\b(?! new)[^.!?\n]{0,40}\b(?:tests?|checks?|suites?)\b[^.!?\n]{0,30}\b"
    r"(?:pass(?:es|ed|ing)?|green)\b|^\W*(?:the )?(?:full |whole )?(?:tests?|build|lint(?:er|ing)?|checks)(?:(?:,| and) "
    r"(?:lint(?:er|ing)?|tests?|build))+ (?:all |now |both )*(?:pass(?:es|ed|ing)?|(?:is|are) (?:green|clean))\b|"
    r"^\W*(?:the )?(?:full |whole )?(?:tests?|test suite) "
    r"(?:all |now )*pass(?:es|ed)?\b(?!ing)|\beverything\b[^.!?\n]{0,20}\b(?:pass(?:es|ed)|green|clean)\b|\ball green\b|"
    r"(?:모든|전체) 테스트.{0,20}(?:통과|성공)|(?:全|すべての|全ての)テスト.{0,20}(?:通|成功|パス)|"
    r"(?:所有|全部)(?:的)?(?:测试|測試).{0,12}(?:通过|通過)|"
    r"\balle Tests\b.{0,30}\b(?:erfolgreich|grün|bestanden|laufen durch)")
_NOT_YET = (
    r"(?i)\b(?:not|until|once|should|if|when|will|would|ensure|make sure|verify|let me|let's|to (?:see|confirm)|need|must|before|"
    r"after|except|but|want|unless|whether|can|wait|unit|only)\b|n't\b|\?$|않|ない|没|沒|nicht|sollte")
_STILL_BAD = r"(?i)❌|✗|\b(?:still|are|is|keeps?|tests?|now|it)\b.{0,30}\bfail(?:s|ing)\b|\bcausing\b.{0,40}\bfail"
_LETTERS = Late(r"[^\W\d_]{3,}")


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
    if run.outcome != shell.OK or set_otherwise(run.command, failure.command):
        return False
    if run.key == failure.key:
        return covers(run, failure)
    other = commandline.failed(failure)
    return other is not None and any(commandline.covers(task, other) for task in commandline.passed(run, strict=True))


def set_otherwise(command: str, other: str) -> bool:
    """Tell whether two command lines give a variable different values: they try different things then."""
    one, two = (dict(re.findall(r"(?:^|[\s;&(])([A-Z_][A-Z0-9_]*)=(\S+)", line)) for line in (command, other))
    return any(one[name] != two[name] for name in one if name in two)


def open_failures(runs: Iterable[Run], said_green: Iterable[str] = ()) -> list[Run]:
    """Return the failures that nothing after them covers, oldest first; of those of one task the newest.

    runs: in any order.  said_green: instants at which the model said that everything passes; it closes what failed before, unless
    the same kind failed once more after it.  Counted are tests, linters, builds, named scripts, and what was to change
    something for good (`git push`, `npm install`); a command that was merely called wrongly is none.
    """
    every = sorted(runs, key=lambda run: run.last)
    greens = sorted(said_green)
    found: list[Run] = []
    for at, run in enumerate(every):
        if not run.bad or not _stays_open(run):
            continue
        later = every[at + 1:]
        if not any(_settles(one, run) for one in later if one.last > run.last) and not _said(run, later, greens):
            found.append(run)
    return found


def _stays_open(run: Run) -> bool:
    """Tell whether work waits for what failed, and not only for a better call of it."""
    if run.kind == tellingline.USE or commandline.is_noise(run.key) or re.search(_CALLED, run.key):
        return False
    kind = commandline.kind(run)
    return bool(kind) or (run.outcome != shell.TIMED_OUT and bool(re.search(_LASTING, run.key)))


def _settles(later: Run, failure: Run) -> bool:
    """Tell whether a later run shows that a failure is gone, or failed as well and tells it anew."""
    if later.bad:
        task, other = commandline.failed(later), commandline.failed(failure)
        again = later.key == failure.key and later.command == failure.command or bool(failure.names) and (
            set(failure.names) <= set(later.names) and later.kind == failure.kind)
        if again or (task and other and commandline.covers(task, other) and later.kind != tellingline.USE):
            return True
    proof = later.outcome == shell.OK and "[no tests to run]" not in later.summary
    if proof and failure.key.startswith("git "):
        return later.key == failure.key or bool(re.search(_CONCLUDES, later.command))
    tasks = commandline.passed(later) if proof or later.bad else ()
    if proof and later.key == failure.key and not commandline.kind(failure):
        return covers(later, failure)
    return any(commandline.closes(task, failure) for task in tasks)


def _said(failure: Run, later: Sequence[Run], greens: Sequence[str]) -> bool:
    said = next((at for at in greens if at > failure.last), "")
    kind = commandline.kind(failure)
    again = any(run.bad and run.last > said and commandline.kind(run) == kind for run in later)
    return bool(said) and kind == tellingline.TEST and not again


def says_green(statement: str) -> bool:
    """Tell whether a statement says that all tests pass; what shall pass, or passes while something else fails, is not that."""
    return not re.search(_STILL_BAD, statement) and any(
        re.search(_GREEN, line) and not re.search(_NOT_YET, line) for line in re.split(r"(?<=[.!?。])\s{1,80}|\n", statement))


def is_akin(run: Run, failure: Run) -> bool:
    """Tell whether a run is of the same program and verb, and tries what the failure tried, a part of it or more."""
    return run.key == failure.key and (covers(run, failure) or covers(failure, run))


def covers(run: Run, failure: Run) -> bool:
    """Tell whether a run tries all that a failed one of the same program and verb tried."""
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
    for part in commandline.parts(command):
        if part.lstrip("({ ").startswith("cd ") and not chosen:
            folder = part.lstrip("({ ")[3:].strip().strip("'\")").rstrip("/")
        elif not chosen and commandline.key_of(part) == key:
            chosen = re.sub(r"(?<!\s)\s+\d?>.*", "", part).rstrip(")} ")
    words = [word.strip("'\"") for word in chosen.split()]
    known = set(key.split())
    wanted = [w.rpartition("=")[2] for i, w in enumerate(words)
              if (not w.startswith("-") or w.partition("=")[0] in _FILTERS and "=" in w)
              and not re.match(r"\w+=", w) and not _NUMBER.match(w)
              and not (w in known or w.rpartition("/")[2].lower() in known or re.match(r"python[\d.]*\Z", w))]
    return folder, tuple(w for w in wanted if w not in _RUNNERS)


def _within(one: str, other: str) -> bool:
    """Tell whether one target is the same as another or inside it: a test in a file, a file in a folder, a package in `./...`."""
    whole = other.rstrip("/").removesuffix("/...")
    return one == other or one.startswith((whole + "/", whole + "::"))


def _tells(detail: str, target: str) -> bool:
    """Tell whether an error names a target, or something below it."""
    return target.partition("::")[0].rstrip("/") in detail


def _kindred(failure: Run, later: Sequence[Run], facts: Facts) -> Run | None:
    """Return the next success of the same program, of another verb, after an edit of a file that the failure names.

    A script of a task runner, or a command of git, says nothing of another one.
    """
    program = failure.key.partition(" ")[0]
    if program in _RUN_SCRIPTS:
        return None
    kin = [r for r in later if r.outcome == shell.OK and r.at > failure.at and r.key != failure.key
           and r.key.partition(" ")[0] == program and (program in ("cargo", "go", "python") or r.is_test == failure.is_test)]
    edited = next((e.at for e in facts.edits if e.at > failure.at and names(e.path, failure)), "") if kin else ""
    return next((r for r in kin if r.at > edited), None) if edited else None


def _fix(failure: Run, success: Run, runs: Sequence[Run], facts: Facts) -> Fix | None:
    tries = [r for r in runs if r.bad and r.at < success.at and is_akin(r, failure)]
    mark = shell.normal(failure.detail)
    since = max((r.last for r in tries if r.last < success.at and shell.normal(r.detail) == mark), default=failure.last)
    passed = max((r.last if r.last < failure.at else r.at for r in runs if r.at < failure.at and passes(r, failure)), default="")
    called = failure.kind == tellingline.USE  # no edit mends a wrong call
    edits = tuple(e for e in facts.edits if since < e.at < success.at and not called)
    ended = min([success.at, *(r.at for r in tries if r.at > since)])  # it failed otherwise then: no command since mended this
    ran = tuple(r for r in runs if since < r.at < ended and r.outcome in (shell.OK, shell.UNKNOWN) and not r.masked
                and not r.is_test and not is_akin(r, failure))
    began = min(r.at for r in [*tries, failure] if r.at > passed)
    if not edits and not ran:
        return Fix(failure, success, began, passed, (), (success,), True) if _called_otherwise(failure, success) else None
    edited = tuple(e for e in edits if causes(e, failure))
    helped = tuple(r for r in ran if mends(r, failure))
    if edited or helped:
        return Fix(failure, success, began, passed, edited, helped, True)
    return Fix(failure, success, began, passed, edits, () if edits else ran, False)


def _called_otherwise(failure: Run, success: Run) -> bool:
    """Tell whether a command passed with a variable or an option more; a test does not count, it may pass by itself."""
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
    if len(name) >= _STEM and name in said and re.search(r"(?<![\w.-])" + re.escape(name) + r"(?![\w-])", said):
        return True
    stem = _ENDING.sub("", name[1:].partition(".")[0] and name.rpartition(".")[0] or name).lower()
    return len(stem) >= _STEM and stem not in _VAGUE and stem in said.lower() and bool(
        re.search(r"(?<![a-z0-9])" + re.escape(stem) + r"(?![a-z0-9])", said.lower()))


def is_setting(path: str, failure: Run) -> bool:
    """Tell whether a file holds settings of the program that failed, or of any that a runner (`make`) may have started."""
    program, name = failure.key.partition(" ")[0], path.rpartition("/")[2]
    return any((program in _STARTERS or programs.fullmatch(program)) and known.fullmatch(name) for programs, known in _SETTINGS)


def causes(edit: Edit, failure: Run) -> bool:
    """Tell whether an edit has to do with a failure; to settle a conflict of branches is no cause of it."""
    if failure.detail.startswith("CONFLICT ("):
        return False
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
    """Tell whether a command changes something that the failure may come from."""
    if run.key.startswith("gh ") or run.is_test:
        return False
    words = {w.lower() for w in re.findall(r"[A-Za-z0-9]{3,}", failure.detail)}
    if commandline.INSTALLS.match(run.key) or commandline.INSTALLS.search(run.command):
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
    """Return a key for the source of a learning, so that it is not made twice: 16 hex digits."""
    return files.sha256("\0".join((kind, *parts)).encode("utf-8", "replace"))[:16]


def lines(detail: str) -> Iterable[str]:
    """Yield the lines of an error without the mark that pytest puts before them."""
    return (re.sub(r"^E\s+", "", line) for line in detail.split("\n") if line.strip())


def fails(facts: Facts, since: str, until: str) -> bool:
    """Tell whether the last test or build of a span of time failed."""
    runs = [r for r in facts.runs if since <= r.at < until and commandline.kind(r) in (tellingline.TEST, tellingline.BUILD)]
    return bool(runs) and max(runs, key=lambda run: run.last).bad


def related(edits: Sequence[Edit], bearing: Callable[[str, str], float], lone: bool = False) -> tuple[Edit, ...]:
    """Return the edits that have to do with something, the nearest first; those of tests where no other is near.

    bearing: tells of a path and its lines how much they have.  Of each file one: all that was changed in it, what came and went
    again left out.  lone: else those of few files.
    """

    by_path: dict[str, tuple[float, Edit]] = {}
    for edit in edits:
        if edit.path.startswith(("/", "~")) or ":" in edit.path[:3]:  # outside the project: a plan, a scratch file
            continue
        best, last = by_path.get(edit.path, (0.0, Edit("", edit.path, False, "", True)))
        by_path[edit.path] = max(best, bearing(edit.path, edit.hunk)), Edit(
            edit.at, edit.path, last.made or edit.made, hunks.joined(last.hunk, edit.hunk), last.undone and edit.undone)
    known = {edit.path for edit in edits if edit.hunk}  # what came and went again
    ranked = sorted((pair for pair in by_path.values() if not hunks.is_comment(pair[1].hunk) and (
        pair[1].hunk or pair[1].made or pair[1].path not in known)), key=lambda pair: -pair[0])
    chosen = [pair for pair in ranked if pair[0]] or [pair for pair in ranked if lone and len(ranked) <= MOST_FILES]
    code = [pair for pair in chosen if 2 * pair[0] >= chosen[0][0] and not commandline.TEST_FILE.search(pair[1].path)]
    return tuple(edit for _, edit in (code or chosen)[:MOST_FILES])
