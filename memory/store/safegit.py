"""The one place that starts git, so that no repository's configuration can run a program.

What `.git/config` names (filters, signature programs, text conversions, monitors, hooks, pagers,
aliases, ssh commands, credential helpers) cannot be switched off key by key: some keys hold a name
that only the repository knows.  So git never reads that file.  `read` gives git a temporary
directory, a view: links to the repository's objects, references and index, a copy of HEAD, and a
configuration of how the objects are stored.  Nor does git read the user's and the system's.

`run_own` is for dayleaf's own repository, in which machines meet: there the user's counts, and
dayleaf wrote the repository's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from glob import escape, iglob
from typing import Iterator, Mapping

from memory.core import files, layout, plaintext
from memory.store import process
from memory.store.process import ProcessResult

# for git's word on its version, and of silence after it did not come
ANSWER_SECONDS, SILENT_SECONDS = 5.0, 60.0
_VERSION, _NO_START = ["version"], "git does not run here: "
_silent: dict[str, float] = {}  # until when a program named git is not asked
SECONDS, OUTPUT_BYTES = 10.0, 64 << 20  # of one call of git, and of what it prints
COMPLAINT_CHARS = 300
# git reads these to their end; one of more bytes than git itself takes is none
_READ_WHOLE, _MOST_BYTES = (".gitattributes", ".gitignore"), 100 << 20
_NO_LIMIT = ("index", "sharedindex", "commit-graph")
# Parts of a git directory that do not change how git behaves; others are not linked.
_LINKED = ("objects", "refs", "packed-refs", "shallow", "reftable", "info/exclude")
# How a repository stores objects and names, and how text files end: none starts anything.
_KEPT = {
    "extensions": ("objectformat", "refstorage"),
    "core": ("autocrlf", "eol", "filemode", "ignorecase", "precomposeunicode", "symlinks"),
}
_PLAIN = ("true", "false", "input", "lf", "crlf", "native", "sha1", "sha256", "files", "reftable")
# Also against what a newer git starts by itself.
_FLAGS = ("--no-optional-locks", "--no-pager", "--no-replace-objects")
_ENVIRONMENT = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "LC_ALL": "C",
}
_OWN = (
    "--no-optional-locks --no-pager -c core.fsmonitor=false -c core.hooksPath={0} "
    "-c core.attributesFile={0} -c commit.gpgSign=false -c gc.auto=0 -c submodule.recurse=false "
    "-c protocol.ext.allow=never".format(os.devnull).split()
)
# A submodule's own configuration would be read.
_WITHOUT_SUBMODULES = {
    "diff": ("--ignore-submodules=all", "--no-ext-diff", "--no-textconv"),
    "log": ("--no-ext-diff", "--no-textconv", "--no-show-signature"),
    "show": ("--no-ext-diff", "--no-textconv", "--no-show-signature"),
    "status": ("--ignore-submodules=all",),
}
# Beginnings of git's lines beside the cause of a failure.
_ADVICE = (
    "hint:",
    "warning:",
    "please make sure you have the correct access",
    "and the repository exists",
    "to ",
)


def read(
    folder: str,
    env: Mapping[str, str],
    *words: str,
    given: bytes = b"",
    index: str = "",
    seconds: float = SECONDS,
    limit: int = OUTPUT_BYTES,
) -> ProcessResult:
    """Run a reading command of git without the repository's configuration.

    folder: any in the repository.  words: the command and its arguments.  given: its stdin.  index:
    the absolute path of another index.  limit: bytes of output, beyond which the status is not 0.
    The status is 127, with the reason, where git cannot run.
    """
    root, git = layout.find_git(files.real_path(folder))
    if not git:
        return _failed_start("this is not a git repository")
    blocking = next(_find_blocking_files(root, git), "")
    if blocking:
        return _failed_start("%s is not a file that git can read" % blocking)
    try:
        with _make_view(root, git, index) as (view, work):
            clean = {
                **_drop_git_variables(env),
                **_ENVIRONMENT,
                "HOME": view,
                "XDG_CONFIG_HOME": view,
                "GIT_DIR": view,
                "GIT_WORK_TREE": work,
            }
            flags = [*_FLAGS]
            if words[0] == "check-ignore":
                flags += ["-c", "core.excludesFile=" + _find_ignore_file(folder, env)]
            command = [*flags, words[0], *_WITHOUT_SUBMODULES.get(words[0], ()), *words[1:]]
            return _run(command, given, seconds, clean, folder, limit)
    except (OSError, ValueError) as error:
        return _failed_start(str(error))


def run_own(
    folder: str, env: Mapping[str, str], *words: str, seconds: float = SECONDS
) -> ProcessResult:
    """Run git in dayleaf's own repository.

    The user's configuration counts (ssh, credential helpers, proxies), but no hooks, monitors,
    signatures or helper protocols.
    """
    clean = {**_drop_git_variables(env), "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    return _run([*_OWN, "-C", folder, *words], b"", seconds, clean, folder, OUTPUT_BYTES)


def find_fault(env: Mapping[str, str]) -> str:
    """Return why git does not run here, "" where it does."""
    done = _run(_VERSION, b"", ANSWER_SECONDS, _drop_git_variables(env), "", 1 << 12)
    if not done.rc and done.out.startswith(b"git version "):
        return ""
    late = "" if done.in_time or done.full or done.rc == 127 else "it does not answer"
    said = extract_error(done.err).removeprefix(_NO_START)
    return late or said or "what it says is not git's"


def read_user_email(folder: str, env: Mapping[str, str]) -> str:
    """Read the user's commit address in a folder, or "".

    The repository's own `user.email` comes first, so this proves nothing.
    """
    _, git = layout.find_git(files.real_path(folder))
    email = _read_config(git).get(("user", "", "email")) if git else None
    return (_read_global_config(folder, env, "user.email") if email is None else email).lower()


def _read_config(git: str) -> dict[tuple[str, str, str], str]:
    """Return a repository's settings by (section, subsection, key)."""
    path = layout.find_common_git(git) + "/config"
    rows = layout.read_git_config(path)
    return {(section, name, key): value for section, name, key, value in rows}


def _read_global_config(folder: str, env: Mapping[str, str], *words: str) -> str:
    root, git = layout.find_git(files.real_path(folder))  # for conditional includes
    if git and any(_find_blocking_files(root, git)):
        return ""
    command = ["--no-pager", "config", "--global", "--includes", *words]
    done = _run(command, b"", SECONDS, _drop_git_variables(env), folder, 1 << 12)
    return "" if done.rc else done.out.decode("utf-8", "surrogateescape").strip()


def extract_error(err: bytes) -> str:
    """Return the cause in git's stderr as one line."""
    lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and not line.lower().startswith(_ADVICE)]
    return plaintext.one_line("; ".join(dict.fromkeys(lines)), COMPLAINT_CHARS)


def find_upstream(git: str) -> str:
    """Return the upstream of HEAD's branch, as `refs/remotes/o/main`, or ""."""
    branch, settings = layout.read_branch(git), _read_config(git)
    remote = settings.get(("branch", branch, "remote"), "")
    merge = settings.get(("branch", branch, "merge"), "")
    if not branch or not remote or not merge.startswith("refs/heads/"):
        return ""
    if remote == ".":
        return merge
    return layout.parse_ref("ref: refs/remotes/%s/%s" % (remote, merge[len("refs/heads/") :]))


def _find_ignore_file(folder: str, env: Mapping[str, str]) -> str:
    base = env.get("XDG_CONFIG_HOME") or env.get("HOME", "") + "/.config"
    named = _read_global_config(folder, env, "--type=path", "core.excludesFile")
    return named or base + "/git/ignore"


def _drop_git_variables(env: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in env.items() if not key.startswith(("GIT_", "SSH_ASKPASS"))}


def _run(
    words: list[str], given: bytes, seconds: float, env: Mapping[str, str], folder: str, limit: int
) -> ProcessResult:
    git = process.which("git", env)
    if time.monotonic() < _silent.get(git, 0.0):
        return _failed_start("it does not answer")
    try:
        done = process.run([git, *words], given, seconds, env, folder, limit)
    except (OSError, ValueError) as error:
        return _failed_start(str(error))
    # where not even its version comes, other calls would wait in vain too
    if not (done.in_time or done.full) and (words == _VERSION or find_fault(env)):
        _silent[git] = time.monotonic() + SILENT_SECONDS
    return done._replace(rc=1) if done.full and not done.rc else done


def _failed_start(reason: str) -> ProcessResult:
    said = (_NO_START + reason).encode("utf-8", "replace")
    return ProcessResult(127, b"", said, False, False)


# ---- a git directory without configuration


@contextlib.contextmanager
def _make_view(root: str, git: str, index: str) -> Iterator[tuple[str, str]]:
    """Yield (a temporary git directory without configuration, its work tree)."""
    view = tempfile.mkdtemp(prefix="dayleaf-git-")
    try:
        common = layout.find_common_git(git)
        os.mkdir(view + "/logs")
        os.mkdir(view + "/info")
        own = [entry for entry in os.listdir(git) if entry.startswith("sharedindex.")]
        links = [(common, name) for name in _LINKED] + [(git, name) for name in ("logs/HEAD", *own)]
        for folder, name in links:
            _link_or_copy("%s/%s" % (folder, name), "%s/%s" % (view, name))
        _link_or_copy(index or git + "/index", view + "/index")
        _write(view + "/HEAD", _safe_head(git))
        _write(view + "/config", _safe_config(git))
        yield view, root
    finally:
        shutil.rmtree(view, ignore_errors=True)


def _find_blocking_files(root: str, git: str) -> Iterator[str]:
    """Yield files that would keep git reading: devices, pipes, huge ones."""
    common = layout.find_common_git(git)
    shared = root + "/.dayleaf"
    folders = [root, shared, *(inner[:-1] for inner in _glob(shared, "*/"))]
    paths = [
        *("%s/%s" % (folder, name) for folder in folders for name in _READ_WHOLE),
        *("%s/%s" % (common, name) for name in ("packed-refs", "shallow", "info/exclude")),
        *("%s/%s" % (git, name) for name in ("HEAD", "logs/HEAD", "commondir", "config.worktree")),
        *(common + "/HEAD", common + "/config"),
        *_glob(git, "*index*"),
        *_glob(common, "objects/info/**"),
        *_glob(common, "refs/**"),
    ]
    for path in paths:
        with contextlib.suppress(OSError):
            found = os.stat(path)
            regular = stat.S_ISREG(found.st_mode)
            name = path.rpartition("/")[2].partition(".")[0]
            huge = regular and found.st_size > _MOST_BYTES and name not in _NO_LIMIT
            if huge or not (regular or stat.S_ISDIR(found.st_mode)):
                yield path


def _glob(folder: str, pattern: str) -> Iterator[str]:
    return iglob("%s/%s" % (escape(folder), pattern), recursive=True)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def _link_or_copy(source: str, target: str) -> None:
    if not os.path.exists(source):
        return
    try:
        os.symlink(source, target)
    except (OSError, NotImplementedError):
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)


def _safe_head(git: str) -> str:
    line = layout.read_first_line(git + "/HEAD")
    ref = layout.parse_ref(line)
    if ref:
        return "ref: %s\n" % ref
    bare = line if set(line) <= set("0123456789abcdef") else ""
    return (bare or "ref: refs/heads/.invalid") + "\n"


def _safe_config(git: str) -> str:
    kept = {
        (section, key): value.lower()
        for (section, name, key), value in _read_config(git).items()
        if not name and key in _KEPT.get(section, ()) and value.lower() in _PLAIN
    }
    extended = any(section == "extensions" for section, _ in kept)
    lines = ["[core]", "\tbare = false", "\trepositoryformatversion = %d" % extended]
    lines += ["[%s]\n\t%s = %s" % (section, key, value) for (section, key), value in kept.items()]
    return "\n".join(lines) + "\n"
