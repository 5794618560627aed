"""The one place that starts git, so that no repository's configuration can run a program.

What `.git/config` names (filters, signature programs, text conversions, monitors, hooks, pagers,
editors, aliases, ssh commands, credential helpers) cannot be switched off key by key: some keys
hold a name that only the repository knows.  So git never reads that file.  `read` gives git a
directory of its own for the length of a call: links to the repository's objects, references and
index, a copy of HEAD, and a configuration with nothing in it but how the objects are stored.
The configurations of the user and the system are left out too.

`own` is for dayleaf's own repository (the one in which machines meet), whose user configured how
it reaches its server; the repository's configuration file there is written by dayleaf.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import Iterator, Mapping

from memory.core import files, layout, plaintext
from memory.store import process
from memory.store.process import Finished

SECONDS, OUTPUT_BYTES = 10.0, 64 << 20  # of one call of git, and of what it prints
COMPLAINT_CHARS = 300
CONFIG_BYTES = 1 << 18
# What of a git directory says nothing of how git behaves; the rest is not linked.
_LINKED = ("objects", "refs", "packed-refs", "shallow", "index", "reftable")
# How a repository stores its objects and names, and how its text files end: none starts anything.
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
    "--no-optional-locks",
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=" + os.devnull,
    "-c",
    "core.attributesFile=" + os.devnull,
    "-c",
    "commit.gpgSign=false",
    "-c",
    "gc.auto=0",
    "-c",
    "submodule.recurse=false",
    "-c",
    "protocol.ext.allow=never",
)
# A repository inside one would be asked with its own configuration.
_WITHOUT_SUBMODULES = {
    "diff": ("--ignore-submodules=all", "--no-ext-diff", "--no-textconv"),
    "log": ("--no-ext-diff", "--no-textconv", "--no-show-signature"),
    "show": ("--no-ext-diff", "--no-textconv", "--no-show-signature"),
    "status": ("--ignore-submodules=all",),
}
# How the lines begin that git says beside the cause of a failure.
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
) -> Finished:
    """Ask git about the repository around a folder, without its configuration.

    words: the command of git and its arguments; they must not write.  given: its stdin.  index: an
    index (absolute path) in place of the repository's.  seconds: its deadline.  limit: bytes of
    output, beyond which the status is not 0.  A git that does not start, or a folder outside any
    repository, gives status 127 with the reason.
    """
    root, git = layout.find_git(files.real_path(folder))
    if not git:
        return _not_run("this is not a git repository")
    try:
        with _view(root, git, index) as (view, work):
            clean = {
                **_without_git(env),
                **_ENVIRONMENT,
                "HOME": view,
                "XDG_CONFIG_HOME": view,
                "GIT_DIR": view,
                "GIT_WORK_TREE": work,
            }
            flags = (
                [*_FLAGS, "-c", "core.excludesFile=" + _excludes(folder, env)]
                if words[0] == "check-ignore"
                else _FLAGS
            )
            return _run([*flags, *_guarded(words)], given, seconds, clean, folder, limit)
    except (OSError, ValueError) as error:
        return _not_run(str(error))


def own(folder: str, env: Mapping[str, str], *words: str, seconds: float = SECONDS) -> Finished:
    """Run git in dayleaf's own repository, with a deadline in seconds.

    The user's configuration counts (ssh, credential helpers, proxies); hooks, monitors, signatures
    and helper protocols do not.
    """
    clean = {**_without_git(env), "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    return _run([*_OWN, "-C", folder, *words], b"", seconds, clean, folder, OUTPUT_BYTES)


def identity(folder: str, env: Mapping[str, str]) -> str:
    """Return the address with which the user commits in a folder, or "".

    The repository's own `user.email` comes first, so this says whose a commit looks, and proves
    nothing.
    """
    _, git = layout.find_git(files.real_path(folder))
    common = layout.common_git(git) + "/config" if git else ""
    for section, name, key, value in _settings(common):
        if (section, name, key) == ("user", "", "email"):
            return value.lower()
    return _global(folder, env, "user.email").lower()


def _global(folder: str, env: Mapping[str, str], *words: str) -> str:
    done = _run(
        ["--no-pager", "config", "--global", "--includes", *words],
        b"",
        SECONDS,
        _without_git(env),
        folder,
        1 << 12,
    )
    return "" if done.rc else done.out.decode("utf-8", "surrogateescape").strip()


def complaint(err: bytes) -> str:
    """Return the cause of a git failure, from its stderr, as one line."""
    lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and not line.lower().startswith(_ADVICE)]
    return plaintext.one_line("; ".join(dict.fromkeys(lines)), COMPLAINT_CHARS)


def upstream(git: str) -> str:
    """Return a branch's upstream, as `refs/remotes/o/main`, or ""."""
    branch = layout.branch_of(git)
    remote = merge = ""
    for section, name, key, value in _settings(layout.common_git(git) + "/config"):
        if (section, name) == ("branch", branch):
            remote = value if key == "remote" else remote
            merge = value if key == "merge" else merge
    if not branch or not remote or not merge.startswith("refs/heads/"):
        return ""
    return (
        merge
        if remote == "."
        else layout.ref_of("ref: refs/remotes/%s/%s" % (remote, merge[len("refs/heads/") :]))
    )


def _excludes(folder: str, env: Mapping[str, str]) -> str:
    base = env.get("XDG_CONFIG_HOME") or env.get("HOME", "") + "/.config"
    return _global(folder, env, "--type=path", "core.excludesFile") or base + "/git/ignore"


def _guarded(words: tuple[str, ...]) -> list[str]:
    return [words[0], *_WITHOUT_SUBMODULES.get(words[0], ()), *words[1:]]


def _without_git(env: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in env.items() if not key.startswith(("GIT_", "SSH_ASKPASS"))}


def _run(
    words: list[str], given: bytes, seconds: float, env: Mapping[str, str], folder: str, limit: int
) -> Finished:
    try:
        done = process.run([process.which("git", env), *words], given, seconds, env, folder, limit)
    except (OSError, ValueError) as error:
        return _not_run(str(error))
    return done._replace(rc=1) if done.full and not done.rc else done


def _not_run(reason: str) -> Finished:
    said = ("git does not run here: " + reason).encode("utf-8", "replace")
    return Finished(127, b"", said, False, False)


# ---- a git directory without configuration


@contextlib.contextmanager
def _view(root: str, git: str, index: str) -> Iterator[tuple[str, str]]:
    """Make a git directory that shows a repository without its configuration."""
    view = tempfile.mkdtemp(prefix="dayleaf-git-")
    try:
        common = layout.common_git(git)
        for name in _LINKED:
            _link("%s/%s" % (git if name == "index" else common, name), "%s/%s" % (view, name))
        if index:
            with contextlib.suppress(OSError):
                os.unlink(view + "/index")
            _link(index, view + "/index")
        for entry in os.listdir(git):
            if entry.startswith("sharedindex."):
                _link("%s/%s" % (git, entry), "%s/%s" % (view, entry))
        os.makedirs(view + "/logs")
        _link(git + "/logs/HEAD", view + "/logs/HEAD")
        os.makedirs(view + "/info")
        _link(common + "/info/exclude", view + "/info/exclude")
        _write(view + "/HEAD", _head(git))
        _write(view + "/config", _config(common))
        yield view, root
    finally:
        shutil.rmtree(view, ignore_errors=True)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def _link(source: str, target: str) -> None:
    if not os.path.exists(source):
        return
    try:
        os.symlink(source, target)
    except (OSError, NotImplementedError):
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)


def _head(git: str) -> str:
    """Return the text of HEAD with only safe references."""
    line = layout.first_line(git + "/HEAD")
    ref = layout.ref_of(line)
    if ref:
        return "ref: %s\n" % ref
    bare = line if line and all(c in "0123456789abcdef" for c in line) else ""
    return (bare or "ref: refs/heads/.invalid") + "\n"


def _config(common: str) -> str:
    kept = {
        (section, key): value.lower()
        for section, name, key, value in _settings(common + "/config")
        if not name and key in _KEPT.get(section, ()) and value.lower() in _PLAIN
    }
    extended = any(section == "extensions" for section, _ in kept)
    lines = ["[core]", "\tbare = false", "\trepositoryformatversion = %d" % extended]
    lines += ["[%s]\n\t%s = %s" % (section, key, value) for (section, key), value in kept.items()]
    return "\n".join(lines) + "\n"


def _settings(path: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (section, its name, key, value) of a git config."""
    try:
        text = files.read(path, CONFIG_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    section = name = ""
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith("["):
            head, _, rest = line[1:].partition("]")
            section, _, name = head.partition(" ")
            section, name, line = section.lower(), name.strip().strip('"'), rest.strip()
        if line[:1] not in ("", "#", ";"):
            key, equals, value = line.partition("=")
            yield section, name, key.strip().lower(), _value(value) if equals else "true"


def _value(text: str) -> str:
    text = text.strip()
    if text.startswith('"'):
        return text[1:].partition('"')[0]
    return text.partition(" #")[0].partition(" ;")[0].strip()
