"""Git without a git process: branch and commit from the files of `.git`, commits made and undone
from commands and their output.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memory.core import files, layout
from memory.session import commandline

SHORT = 10  # hex digits of a commit hash in records
_LONGEST = 1000  # characters of a folder; no path of a real `cd` is longer
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_COMMIT_LINE = re.compile(  # `[main 1a2b3c4] subject`
    r"^\[(?:detached HEAD|[^\]\s]+)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$", re.M
)
_LOG_LINE = re.compile(r"^(?:\* )?([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(.+)$", re.M)
_MESSAGE = re.compile(
    r"""\s(?:-[a-zA-Z]*m\s*|--message[=\s])(?:"((?:[^"\\]|\\.)*)|'([^']*)|([^\s"']+))"""
)
_COMMITS = frozenset(
    "git " + verb for verb in "commit merge revert cherry-pick rebase am pull".split()
)
_MERGE_SUBJECT = re.compile(  # of a merge, behind the log's graph, hash and refs
    r"^[ \t*|/\\]*(?:[0-9a-f]{7,40} (?:\([^)\n]*\) )?)?(?:Merge pull request #(\d+) from [\w.-]+/"
    r"(\S+)|Merge branch '([^'\n]+)'(?: into '?([\w./-]+)'?)?)[ \t]*$",
    re.M,
)
_PULL_NAME = re.compile(r"#?\d+|[A-Za-z][\w./-]*")
_PULL_FLAGS = frozenset("--squash -s --merge -m --rebase -r --delete-branch -d --admin".split())
_REFUSED = re.compile(r"(?im)^(?:x|!|graphql|failed|error|could not)\b|not mergeable")
_LOGS = ("git log", "git pull", "git merge", "git branch")
_MOST_MERGED = 10  # of one log, the newest: older merges are no news
_FAILED = (
    r"(?m)^(?:nothing (?:added )?to commit|no changes added to commit|error: "
    r"|fatal: |Aborting commit)"
)
_SCRATCH = r"(?:/private)?/(?:tmp|var/folders|dev/shm)(?:/|\Z)"
_MAKES_REPOSITORY = r"\bgit\s+(?:init|clone)\b|\bmktemp\b"
_SAME_FOLDER = ("$(git rev-parse", "$CLAUDE_PROJECT_DIR", "${CLAUDE_PROJECT_DIR", "$PWD")
_FILE = r"(?!origin/)[\w@+~./-]*\.[A-Za-z]\w{0,7}\Z"


class GitHead(NamedTuple):
    """The branch and commit that are checked out.

    branch: "" when detached.  commit: 10 hex digits, "" before the first commit.
    """

    branch: str
    commit: str


def read_head(git: str) -> GitHead:
    """Return the branch and commit of a checkout.

    git: the git directory of the checkout or worktree, "" for none.
    """
    if not git:
        return GitHead("", "")
    text = layout.read_first_line(git + "/HEAD")
    if _HASH.match(text):
        return GitHead("", text[:SHORT])
    return GitHead(layout.read_branch(git, text), _resolve_ref(git, layout.parse_ref(text))[:SHORT])


def _resolve_ref(git: str, ref: str) -> str:
    if not ref:
        return ""
    common = layout.find_common_git(git)
    text = layout.read_first_line(git + "/" + ref) or layout.read_first_line(common + "/" + ref)
    if _HASH.match(text):
        return text
    try:
        packed = files.read(common + "/packed-refs", 16 << 20).decode("utf-8", "replace")
    except OSError:
        return ""
    match = re.search(r"^([0-9a-f]{40,64}) %s$" % re.escape(ref), packed, re.M)
    return match[1] if match else ""


def parse_message(command: str) -> str:
    """Return the subject of a `git commit -m …` command, or ""."""
    match = _MESSAGE.search(command, max(command.find("commit"), 0))
    text = next(filter(None, match.groups()), "") if match else ""
    if text.startswith("$(cat <<"):  # a here-document
        text = text.partition("\n")[2]
    return text.strip().partition("\n")[0].replace('\\"', '"').strip()


def parse_commits(
    command: str, output: str, cwd: str = "", roots: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Return (hash, subject) of a command's commits in this repository.

    command: successful.  cwd, roots: see `is_in_other_repository`.
    A hash comes from git's own `[main 1a2b3c4] subject`, else from a `git log --oneline` line with
    the message given by -m; "" for none.
    """
    keys = {commandline.parse_key(part) for part in commandline.split_commands(command)} & _COMMITS
    if not keys or is_in_other_repository(command, cwd, roots):
        return []
    commits = [(hash[:SHORT], subject.strip()) for hash, subject in _COMMIT_LINE.findall(output)]
    subject = parse_message(command) if "git commit" in keys and not commits else ""
    if not subject or re.search(_FAILED, output):
        return commits
    hash = next((hash for hash, logged in parse_log(output) if logged == subject), "")
    return [(hash, subject)]


def is_merge(subject: str) -> bool:
    """Tell whether git itself wrote a commit's subject, for a merge."""
    return subject.startswith(("Merge branch '", "Merge remote-tracking b", "Merge pull request #"))


def is_amend(command: str) -> bool:
    return any(
        git.key == "git commit" and "--amend" in commandline.split_words(git.part)
        for git in _find_git_commands(command, "")
    )


def parse_log(output: str) -> list[tuple[str, str]]:
    """Return (hash, subject) of lines in the form of `git log --oneline`."""
    return [(hash[:SHORT], subject.strip()) for hash, subject in _LOG_LINE.findall(output)]


def parse_merges(
    command: str, output: str, cwd: str = "", roots: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Return (branch, pull request's number or "") of a log's merges.

    cwd, roots: see `is_in_other_repository`.
    Merges into another branch than a trunk are left out, and so are trunks.
    """
    if "Merge " not in output:
        return []
    keys = map(commandline.parse_key, commandline.split_commands(command))
    if not any(key in _LOGS for key in keys) or is_in_other_repository(command, cwd, roots):
        return []
    merges = [
        (branch or merged, number)
        for number, branch, merged, into in _MERGE_SUBJECT.findall(output)
        if branch or not into or into in layout.TRUNKS
    ]
    kept = [merge for merge in dict.fromkeys(merges) if merge[0] not in layout.TRUNKS]
    return kept[:_MOST_MERGED]


def parse_merged_pull(command: str, output: str, branch: str = "") -> str:
    """Return the branch (or `#12`) that `gh pr merge` merged, or "".

    A squash leaves no merge in a log.  branch: the branch checked out, "" for unknown.
    """
    words = command.split()
    named = [word for word in words[3:] if word not in _PULL_FLAGS]
    name = (named or [branch])[0]
    if words[:3] != ["gh", "pr", "merge"] or len(named) > 1:
        return ""
    if not _PULL_NAME.fullmatch(name) or name in layout.TRUNKS or _REFUSED.search(output):
        return ""
    return "#" + name.lstrip("#") if name.lstrip("#").isdigit() else name


def is_in_other_repository(command: str, cwd: str = "", roots: Iterable[str] = ()) -> bool:
    """Tell whether a command uses git only in other repositories.

    cwd: its absolute starting folder, "" for unknown.
    roots: folders of this repository, its worktrees and the session's first folder among them;
        without any only scratch folders and those that the command makes are elsewhere.
    """
    own_roots = [posixpath.normpath(root.replace("\\", "/")) for root in roots if root]
    commands = _find_git_commands(command, cwd.replace("\\", "/"))
    folders = [git.folder for git in commands if git.key not in ("git init", "git clone")]
    return bool(folders) and not any(_is_inside(folder, own_roots) for folder in folders)


def _is_inside(folder: str, roots: list[str]) -> bool:
    """Tell whether a folder is, or may be, in this repository."""
    if folder == "?":
        return False
    if any(folder == root or folder.startswith(root + "/") for root in roots):
        return True
    if re.match(_SCRATCH, folder):
        return False
    return not (roots and folder.startswith("/"))


class GitCommand(NamedTuple):
    """A git command in a command line.

    key: program and verb.  part: the simple command.
    folder: where it runs; "?" where the command line makes repositories and went there.
    """

    key: str
    part: str
    folder: str


def _find_git_commands(command: str, cwd: str) -> Iterator[GitCommand]:
    folder = previous = cwd
    makes_repository = re.search(_MAKES_REPOSITORY, command)
    for part in commandline.split_commands(command):
        words = commandline.split_words(part.lstrip("({ "))
        if words[:1] == ["cd"]:
            target = words[1] if len(words) > 1 else "~"
            new = previous if target == "-" else _resolve_cd(folder, target)
            folder, previous = new, folder
            continue
        key = commandline.parse_key(part)
        if key.startswith("git "):
            target = folder
            if "-C" in words[:-1]:
                target = _resolve_cd(folder, words[words.index("-C") + 1])
            yield GitCommand(key, part, "?" if makes_repository and target != cwd else target)


def _resolve_cd(folder: str, target: str) -> str:
    """Return the folder in which a `cd` ends, "?" if unknown."""
    if target.startswith(_SAME_FOLDER):
        return folder
    if "$" in target:
        return "?"
    if target.startswith(("/", "~")):
        return posixpath.normpath(target)
    if folder == "?" or len(folder) + len(target) > _LONGEST:
        return "?"
    return posixpath.normpath(posixpath.join(folder, target))


def find_discarded_paths(command: str) -> tuple[str, ...]:
    """Return the paths whose uncommitted work a command discards.

    As typed; ("*",) for all.  `git checkout -- FILE`, `git restore FILE`, `git reset --hard`.
    """
    found: list[str] = []
    for git in _find_git_commands(command, ""):
        words = commandline.split_words(re.sub(r"\s\d?>+\s*\S+", "", git.part))
        base = "" if git.folder == "?" else git.folder
        found += [
            "*" if path in (".", "*") else posixpath.normpath(posixpath.join(base, path))
            for path in _find_restored_paths(git.key.partition(" ")[2], words)
        ]
    return ("*",) if "*" in found else tuple(dict.fromkeys(found))


def _restores_files(verb: str, words: list[str]) -> bool:
    is_index_only = "--staged" in words and "--worktree" not in words
    return verb in ("checkout", "restore") and not is_index_only and "-b" not in words


def _find_restored_paths(verb: str, words: list[str]) -> list[str]:
    """Return the paths that a git verb restores, `*` for all."""
    if verb == "reset":
        return ["*"] if "--hard" in words else []
    if not _restores_files(verb, words):
        return []
    if "--" in words:
        return words[words.index("--") + 1 :]
    named = [word for word in words[2:] if not word.startswith("-")]
    return [name for name in named if verb == "restore" or name == "." or re.match(_FILE, name)]
