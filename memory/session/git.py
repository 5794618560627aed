"""What git says without a git process: branch and commit from the files of `.git`, commits made and
undone from commands.
"""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from memory.core import files, layout
from memory.session import commandline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHORT = 10  # hex digits of a commit hash in records
_LONGEST = 1000  # characters of a folder; no path of a real `cd` is longer
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_MADE = re.compile(
    r"^\[(?:detached HEAD|[^\]\s]+)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$", re.M
)
_LOGGED = re.compile(r"^(?:\* )?([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(.+)$", re.M)
_MESSAGE = re.compile(
    r"""\s(?:-[a-zA-Z]*m\s*|--message[=\s])(?:"((?:[^"\\]|\\.)*)|'([^']*)|([^\s"']+))"""
)
_COMMITS = frozenset(
    "git " + verb for verb in "commit merge revert cherry-pick rebase am pull".split()
)
_PULLED = re.compile(  # the subject of a commit, behind the graph, its hash and what points at it
    r"^[ \t*|/\\]*(?:[0-9a-f]{7,40} (?:\([^)\n]*\) )?)?(?:Merge pull request #(\d+) from [\w.-]+/"
    r"(\S+)|Merge branch '([^'\n]+)'(?: into '?([\w./-]+)'?)?)[ \t]*$",
    re.M,
)
_PULL_NAME = re.compile(r"#?\d+|[A-Za-z][\w./-]*")
_PULL_FLAGS = frozenset("--squash -s --merge -m --rebase -r --delete-branch -d --admin".split())
_REFUSED = re.compile(r"(?im)^(?:x|!|graphql|failed|error|could not)\b|not mergeable")
_LOGS = ("git log", "git pull", "git merge", "git branch")
_MOST_MERGED = 10  # of one log, the newest: what stands further down was merged long ago
_FAILED = (
    r"(?m)^(?:nothing (?:added )?to commit|no changes added to commit|error: "
    r"|fatal: |Aborting commit)"
)
_SCRATCH = r"(?:/private)?/(?:tmp|var/folders|dev/shm)(?:/|\Z)"
_MAKES = r"\bgit\s+(?:init|clone)\b|\bmktemp\b"
_HERE = ("$(git rev-parse", "$CLAUDE_PROJECT_DIR", "${CLAUDE_PROJECT_DIR", "$PWD")
_FILE = r"(?!origin/)[\w@+~./-]*\.[A-Za-z]\w{0,7}\Z"


class GitHead(NamedTuple):
    """The present checkout.

    branch: "" when detached.  commit: 10 hex digits, "" before the first commit.
    """

    branch: str
    commit: str


def head(git: str) -> GitHead:
    """Return the branch and commit of a checkout.

    git: the checkout's git directory (a worktree's own one for a worktree), or "" for none.
    Never raises: what cannot be read is "".
    """
    if not git:
        return GitHead("", "")
    text = layout.first_line(git + "/HEAD")
    if _HASH.match(text):
        return GitHead("", text[:SHORT])
    return GitHead(layout.branch_of(git, text), _resolve(git, layout.ref_of(text))[:SHORT])


def _resolve(git: str, ref: str) -> str:
    """Return the commit of a ref, from its file or `packed-refs`."""
    if not ref:
        return ""
    common = layout.common_git(git)
    text = layout.first_line(git + "/" + ref) or layout.first_line(common + "/" + ref)
    if _HASH.match(text):
        return text
    try:
        packed = files.read(common + "/packed-refs", 16 << 20).decode("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(r"^([0-9a-f]{40,64}) %s$" % re.escape(ref), packed, re.M)
    return found[1] if found else ""


def message(command: str) -> str:
    """Return the subject in a `git commit -m …` command, or "".

    Also through `$(cat <<'EOF'`.
    """
    found = _MESSAGE.search(command, max(command.find("commit"), 0))
    text = next((g for g in found.groups() if g), "") if found else ""
    if text.startswith("$(cat <<"):
        text = text.partition("\n")[2]
    return text.strip().partition("\n")[0].replace('\\"', '"').strip()


def commits(
    command: str, output: str, cwd: str = "", roots: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Return (hash, subject) of each commit made by a command.

    Of a successful command, in this repository.
    cwd, roots: see `is_in_other_repository`.
    A hash comes from git's own `[main 1a2b3c4] subject`, else from a `git log --oneline` line in
    the same output that carries the message given with -m; it is "" where the output shows none.
    Commits that a script or a test prints of repositories of its own are left out.
    """
    verbs = {commandline.key_of(part) for part in commandline.parts(command)} & _COMMITS
    if not verbs or is_in_other_repository(command, cwd, roots):
        return []
    made = [(name[:SHORT], subject.strip()) for name, subject in _MADE.findall(output)]
    subject = message(command) if "git commit" in verbs and not made else ""
    if not subject or re.search(_FAILED, output):
        return made
    return [(next((name for name, said in logged(output) if said == subject), ""), subject)]


def is_merge(subject: str) -> bool:
    """Tell whether git itself worded a commit's subject, for a merge."""
    return subject.startswith(("Merge branch '", "Merge remote-tracking b", "Merge pull request #"))


def amends(command: str) -> bool:
    """Tell whether a command amends the previous commit."""
    return any(
        key == "git commit" and "--amend" in commandline.words(part)
        for key, part, _ in _gits(command, "")
    )


def logged(output: str) -> list[tuple[str, str]]:
    """Return (hash, subject) of lines like `git log --oneline`'s."""
    return [(name[:SHORT], subject.strip()) for name, subject in _LOGGED.findall(output)]


def merged(
    command: str, output: str, cwd: str = "", roots: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Return (branch, pull request's number or "") of each merge that a log shows.

    cwd, roots: see `is_in_other_repository`.
    Merges into another branch than a trunk are left out, and so are trunks.
    """
    if "Merge " not in output or not any(
        commandline.key_of(part) in _LOGS for part in commandline.parts(command)
    ):
        return []
    if is_in_other_repository(command, cwd, roots):
        return []
    found = [
        (match[2] or match[3], match[1] or "")
        for match in _PULLED.finditer(output)
        if match[2] or not match[4] or match[4] in layout.TRUNKS
    ]
    return [one for one in dict.fromkeys(found) if one[0] not in layout.TRUNKS][:_MOST_MERGED]


def merged_pull(command: str, output: str, branch: str = "") -> str:
    """Return what a `gh pr merge` merged: a branch, or `#12`; "" for nothing.

    A squash leaves no merge in a log.  What other commands or options leave in doubt is left out.
    branch: the branch checked out, "" for unknown.
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

    A throw-away repository, a clone, another project.
    cwd: where it was started, absolute, "" for unknown.
    roots: folders of this repository, its worktrees and the session's first folder among them;
        without any only scratch folders and those that the command itself makes are elsewhere.
    """
    known = [posixpath.normpath(root.replace("\\", "/")) for root in (*roots,) if root]
    gits = _gits(command, cwd.replace("\\", "/"))
    places = [folder for key, _, folder in gits if key not in ("git init", "git clone")]
    return bool(places) and not any(_inside(folder, known) for folder in places)


def _inside(folder: str, roots: list[str]) -> bool:
    """Tell whether a folder belongs to this repository."""
    if folder == "?":
        return False
    if any(folder == root or folder.startswith(root + "/") for root in roots):
        return True
    if re.match(_SCRATCH, folder):
        return False
    return not (roots and folder.startswith("/"))


def _gits(command: str, cwd: str) -> Iterator[tuple[str, str, str]]:
    """Yield (program and verb, simple command, folder) of git commands.

    The folder is "?" in a command that makes repositories or scratch folders and went there.
    """
    folder = before = cwd
    makes = re.search(_MAKES, command)
    for part in commandline.parts(command):
        words = commandline.words(part.lstrip("({ "))
        if words[:1] == ["cd"]:
            target = words[1] if len(words) > 1 else "~"
            folder, before = before if target == "-" else _into(folder, target), folder
            continue
        key = commandline.key_of(part)
        if key.startswith("git "):
            at = words.index("-C") if "-C" in words else len(words)
            here = _into(folder, words[at + 1]) if at + 1 < len(words) else folder
            yield key, part, "?" if makes and here != cwd else here


def _into(folder: str, target: str) -> str:
    """Return the target folder of a `cd`."""
    if target.startswith(_HERE):
        return folder
    if "$" in target:
        return "?"
    if target.startswith(("/", "~")):
        return posixpath.normpath(target)
    if folder == "?" or len(folder) + len(target) > _LONGEST:
        return "?"
    return posixpath.normpath(posixpath.join(folder, target))


def discarded_paths(command: str) -> tuple[str, ...]:
    """Return the paths whose uncommitted work a command discards.

    As typed; ("*",) for all.  `git checkout -- FILE`, `git restore FILE`, `git reset --hard`.
    """
    found: list[str] = []
    for key, part, folder in _gits(command, ""):
        words = commandline.words(re.sub(r"\s\d?>+\s*\S+", "", part))
        base = "" if folder == "?" else folder
        found += [
            "*" if path in (".", "*") else posixpath.normpath(posixpath.join(base, path))
            for path in _paths(key.partition(" ")[2], words)
        ]
    return ("*",) if "*" in found else tuple(dict.fromkeys(found))


def _restores_files(verb: str, words: list[str]) -> bool:
    is_index_only = "--staged" in words and "--worktree" not in words
    return verb in ("checkout", "restore") and not is_index_only and "-b" not in words


def _paths(verb: str, words: list[str]) -> list[str]:
    """Return the paths restored by a git verb, `*` for all."""
    if verb == "reset":
        return ["*"] if "--hard" in words else []
    if not _restores_files(verb, words):
        return []
    if "--" in words:
        return words[words.index("--") + 1 :]
    named = [word for word in words[2:] if not word.startswith("-")]
    return [one for one in named if verb == "restore" or one == "." or re.match(_FILE, one)]
