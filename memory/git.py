"""What git says without a git process: branch and commit from the files of `.git`, commits from a command's output."""

from __future__ import annotations

import re

from memory import files, paths

SHORT = 10  # hex digits of a commit hash in records
_LINKS = 5  # symbolic refs followed at most
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_MADE = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,40})\] (.+)$", re.M)
_LOGGED = re.compile(r"^(?:\* )?([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(.+)$", re.M)
_MESSAGE = re.compile(r"""\s(?:-[a-zA-Z]*m\s*|--message[=\s])(?:"((?:[^"\\]|\\.)*)|'([^']*)|([^\s"']+))""")


class Head:
    """What is checked out: `branch` ("" when detached) and `commit` (10 hex digits, "" before the first commit)."""

    __slots__ = ("branch", "commit")

    def __init__(self, branch: str, commit: str):
        self.branch, self.commit = branch, commit


def head(git: str) -> Head:
    """Read what is checked out.

    git: the checkout's git directory (a worktree's own one for a worktree), or "" for none.  Never raises: what cannot
    be read is "".
    """
    if not git:
        return Head("", "")
    text = paths.first_line(git + "/HEAD")
    if _HASH.match(text):
        return Head("", text[:SHORT])
    return Head(paths.branch_of(git, text), _resolve(git, paths.ref_of(text))[:SHORT])


def _resolve(git: str, ref: str) -> str:
    common = paths.common_git(git)
    for _ in range(_LINKS):
        if not ref:
            return ""
        text = paths.first_line(git + "/" + ref) or paths.first_line(common + "/" + ref)
        if _HASH.match(text):
            return text
        if not text:
            return _packed(common, ref)
        ref = paths.ref_of(text)
    return ""


def _packed(common: str, ref: str) -> str:
    """Find a ref in `packed-refs` (lines of hash, space, ref)."""
    try:
        data = files.read(common + "/packed-refs", 16 << 20)
    except OSError:
        return ""
    end = data.find(b" " + ref.encode("utf-8") + b"\n")
    text = data[data.rfind(b"\n", 0, max(end, 0)) + 1:max(end, 0)].decode("ascii", "replace")
    return text if _HASH.match(text) else ""


def message(command: str) -> str:
    """Return the subject that a `git commit -m …` command gives (also through `$(cat <<'EOF'`), or ""."""
    found = _MESSAGE.search(command, max(command.find("commit"), 0))
    if not found:
        return ""
    text = next((g for g in found.groups() if g), "")
    if text.startswith("$(cat <<"):
        text = text.partition("\n")[2]
    return text.strip().partition("\n")[0].replace('\\"', '"').strip()


def commits(command: str, output: str) -> list[tuple[str, str]]:
    """Return (hash, subject) of each commit a successful command made.

    A hash comes from git's own `[main 1a2b3c4] subject`, else from a `git log --oneline` line in the same output that
    carries the message given with -m; it is "" where the output shows none.
    """
    made = [(name[:SHORT], subject.strip()) for name, subject in _MADE.findall(output)]
    if made or not re.search(r"\bgit\b[^|;&\n]*\scommit\b", command):
        return made
    subject = message(command)
    if not subject:
        return []
    return [(next((name for name, said in logged(output) if said == subject), ""), subject)]


def logged(output: str) -> list[tuple[str, str]]:
    """Return (hash, subject) of each line that looks like `git log --oneline`."""
    return [(name[:SHORT], subject.strip()) for name, subject in _LOGGED.findall(output)]
