"""What git says without a git process: branch and commit from the files of `.git`, commits made and
undone from commands.
"""

from __future__ import annotations

import posixpath
import re

from memory.core import files, layout
from memory.session import commandline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SHORT = 10  # hex digits of a commit hash in records
_LONGEST = 1000  # characters of a folder; no path of a real `cd` is longer
_LINKS = 5  # symbolic refs followed at most
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
_BRANCH = r"(?!HEAD\b|(?:upstream|refs)/|[0-9a-f]{7,40}\Z)[A-Za-z][\w./-]*"
_HOST_FLAGS = "--squash -s --merge -m --rebase -r --delete-branch -d --admin".split()
_REFUSED = re.compile(r"(?im)^(?:x|!|graphql|failed|error|could not)\b|not mergeable")
_MERGES = re.compile(r"^(?:Fast-forward|Merge made by)", re.M)
_MOST_MERGED = 10  # of one log, the newest: what stands further down was merged long ago
_FAILED = (
    r"(?m)^(?:nothing (?:added )?to commit|no changes added to commit|error: "
    r"|fatal: |Aborting commit)"
)
_SCRATCH = r"(?:/private)?/(?:tmp|var/folders|dev/shm)(?:/|\Z)|\$\{?TMPDIR"
_MADE_HERE = r"\b(\w+)=[\"']?\$\(\s*mktemp\b"
_ASSIGNED = r"(?:^|\s)(\w+)=([\"']?)([^\s\"'$()]+)\2(?=\s|\Z)"
_WORDS = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|\$\([^)]{0,400}\)|[^\s"'])+"""
_FILE = r"(?!origin/)[\w@+~./-]*\.[A-Za-z]\w{0,7}\Z"


class GitHead:
    """The present checkout.

    branch: "" when detached.  commit: 10 hex digits, "" before the first commit.
    """

    __slots__ = ("branch", "commit")

    def __init__(self, branch: str, commit: str):
        self.branch, self.commit = branch, commit


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
    common = layout.common_git(git)
    for _ in range(_LINKS):
        if not ref:
            return ""
        text = layout.first_line(git + "/" + ref) or layout.first_line(common + "/" + ref)
        if _HASH.match(text):
            return text
        if not text:
            return _packed(common, ref)
        ref = layout.ref_of(text)
    return ""


def _packed(common: str, ref: str) -> str:
    """Find a ref in `packed-refs` (lines of hash, space, ref)."""
    try:
        data = files.read(common + "/packed-refs", 16 << 20)
    except OSError:
        return ""
    end = data.find(b" " + ref.encode("utf-8") + b"\n")
    text = data[data.rfind(b"\n", 0, max(end, 0)) + 1 : max(end, 0)].decode("ascii", "replace")
    return text if _HASH.match(text) else ""


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
        key == "git commit" and "--amend" in re.findall(_WORDS, part)
        for key, part, _ in _gits(command, "")
    )


def logged(output: str) -> list[tuple[str, str]]:
    """Return (hash, subject) of lines like `git log --oneline`'s."""
    return [(name[:SHORT], subject.strip()) for name, subject in _LOGGED.findall(output)]


def merged(
    command: str, output: str, branch: str = "", cwd: str = "", roots: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Return (branch, pull request's number or "") of each merge.

    By a successful command, or shown in its log.
    branch: the branch checked out, "" for unknown.
    cwd, roots: see `is_in_other_repository`.
    Merges into another branch than a trunk are left out, and so are trunks, and what options, a
    pipe or the output leave in doubt.  Where the number alone is known, it is `#12` in place of the
    branch.
    """
    if "merge" not in command and "Merge " not in output:
        return []
    parts = commandline.parts(command)
    verbs = [commandline.key_of(part) for part in parts]
    if is_in_other_repository(command, cwd, roots):
        return []
    found: list[tuple[str, str]] = []
    shown = not {"git log", "git pull", "git merge", "git branch"}.isdisjoint(verbs)
    for match in _PULLED.finditer(output) if shown else ():
        if match[2] or not match[4] or match[4] in layout.TRUNKS:
            found.append((match[2] or match[3], match[1] or ""))
    for verb, part in zip(verbs, parts):
        words = part.split()
        if verb in ("git checkout", "git switch") and "--" not in words and words[-1][:1] != "-":
            branch = words[-1].strip("'\"")
        elif (
            verb == "git merge"
            and verbs.count(verb) == 1
            and branch in layout.TRUNKS[1:]
            and _MERGES.search(output)
        ):
            name = _merges(
                words[2:], ("--no-ff", "--ff-only", "--ff", "--no-edit"), ""
            ).removeprefix("origin/")
            found[:0] = [(name, "")] * (re.fullmatch(_BRANCH, name) is not None)
        elif (
            words[:3] == ["gh", "pr", "merge"]
            and not re.search(r"[|&;\n]", command.strip())
            and not _REFUSED.search(output)
        ):
            name = _merges(words[3:], _HOST_FLAGS, branch)
            found[:0] = [
                ("#" + name.lstrip("#") if name.lstrip("#").isdigit() else name, "")
            ] * bool(name)
    return [one for one in dict.fromkeys(found) if one[0] not in layout.TRUNKS][:_MOST_MERGED]


def _merges(words: Sequence[str], known: Iterable[str], default: str) -> str:
    """Return the only word beside known options, else the default."""
    rest = [word for word in words if word not in known]
    plain = all(re.fullmatch(r"#?[\w./-]+", word) and word[0] != "-" for word in rest)
    return (rest or [default])[0] if plain and len(rest) < 2 else ""


def is_in_other_repository(command: str, cwd: str = "", roots: Iterable[str] = ()) -> bool:
    """Tell whether a command uses git only in other repositories.

    A throw-away repository, a clone, another project.
    cwd: where it was started, absolute, "" for unknown.
    roots: folders of this repository, its worktrees and the session's first folder among them;
        without any only scratch folders and those that the command itself makes are elsewhere.
    """
    known = [posixpath.normpath(root.replace("\\", "/")) for root in (*roots,) if root]
    places = [
        folder
        for key, _, folder in _gits(command, cwd.replace("\\", "/"))
        if key not in ("git init", "git clone")
    ]
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
    """Yield (program and verb, simple command, folder) of git commands."""
    folder, before, made = cwd, cwd, set(re.findall(_MADE_HERE, command))
    values = {name: value for name, _, value in re.findall(_ASSIGNED, command)}
    for part in commandline.parts(command):
        words = [word.strip("'\"") for word in re.findall(_WORDS, part.lstrip("({ "))]
        if not words:
            continue
        if words[0] in ("cd", "pushd", "popd") or part == "cd":
            target = words[1] if len(words) > 1 else "-" if words[0] == "popd" else "~"
            folder, before = (
                (before, folder) if target == "-" else (_into(folder, target, made, values), folder)
            )
            continue
        key = commandline.key_of(part)
        if key in ("git init", "git clone"):
            named = (
                [word for word in words[words.index("git") + 2 :] if not word.startswith("-")]
                if "git" in words
                else []
            )
            made.add(named[-1].rpartition("/")[2].removesuffix(".git") if named else "")
            if not named and folder != cwd:
                folder = "?"
        if key.startswith("git "):
            at = words.index("-C") if "-C" in words else -1
            yield (
                key,
                part,
                _into(folder, words[at + 1], made, values) if 0 <= at < len(words) - 1 else folder,
            )


def _into(folder: str, target: str, made: set[str], values: dict[str, str]) -> str:
    """Return the target folder of a `cd`."""
    variable = re.match(r"\$\{?(\w+)\}?", target)
    named = {
        variable[1] if variable else "",
        target.partition("/")[0],
        target.rpartition("/")[2],
    } - {""}
    if "mktemp" in target or named & made:
        return "?"
    if variable and variable[1] in values:
        target = values[variable[1]] + target[variable.end() :]
    if target.startswith(("$(git rev-parse", "$CLAUDE_PROJECT_DIR", "${CLAUDE_PROJECT_DIR")):
        return folder
    if target.startswith(("/", "~", "$")):
        return posixpath.normpath(target)
    if folder == "?" or len(folder) + len(target) > _LONGEST:
        return "?"
    return posixpath.normpath(posixpath.join(folder, target))


def discarded_paths(command: str) -> tuple[str, ...]:
    """Return the paths whose uncommitted work a command discards.

    As typed; ("*",) for all.  `git checkout -- FILE`, `git restore FILE`, `git reset --hard`, `git
    stash`; work that the same command brings back is left out.
    """
    found: list[str] = []
    for key, part, folder in _gits(command, ""):
        words = [
            word.strip("'\"") for word in re.findall(_WORDS, re.sub(r"\s\d?>+\s*\S+", "", part))
        ]
        verb = key.partition(" ")[2]
        rest = words[words.index(verb) + 1 :] if verb in words else []
        base = "" if folder == "?" else folder
        found += [
            "*" if path in (".", ":/", "*") else posixpath.normpath(posixpath.join(base, path))
            for path in _paths(verb, rest)
        ]
    if "stash" in command and brought_back(command):
        return ()
    return ("*",) if "*" in found else tuple(dict.fromkeys(found))


def _paths(verb: str, words: list[str]) -> list[str]:
    """Return the paths restored by a git verb, `*` for all."""
    plain = [word for word in words if not word.startswith("-")]
    named = words[words.index("--") + 1 :] if "--" in words else []
    if verb == "reset":
        return ["*"] if "--hard" in words or "--merge" in words else []
    if verb == "checkout":
        forced = ["*"] if "-f" in words or "--force" in words else []
        made = "-b" in words or "-B" in words
        return named or (
            []
            if made
            else [word for word in plain if word == "." or re.match(_FILE, word)] or forced
        )
    if verb == "switch":
        return ["*"] if "--discard-changes" in words or "-f" in words else []
    if verb == "restore":
        source = {words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-s", "--source")}
        staged = (
            ("--staged" in words or "-S" in words)
            and "--worktree" not in words
            and "-W" not in words
        )
        return [] if staged else named or [word for word in plain if word not in source]
    if verb == "stash":
        return named or ["*"] if not plain or plain[0] in ("push", "save") else []
    return []


def brought_back(command: str) -> bool:
    """Tell whether a command restores stashed work."""
    return any(
        key == "git stash" and re.search(r"\bstash\s+(?:pop|apply)\b", part)
        for key, part, _ in _gits(command, "")
    )
