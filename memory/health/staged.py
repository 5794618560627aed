"""Secrets in what git would commit of a shared tier, and the hook that asks for them before each commit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence

from memory.core import StoreError, files
from memory.core.layout import Place
from memory.health import recordfaults
from memory.health.findings import FAIL, Finding

TIMEOUT = 10.0  # seconds for a child
PATHS = ":(top,glob)**/.dayleaf/**"
LINKED = "160000"  # the mode of another repository's commit
COMMAND = "dayleaf check --staged"
CONFIGURED = (".pre-commit-config.yaml", ".husky/pre-commit", "lefthook.yml")  # files of a repository that may name a hook
REFUSED = "%s: git did not say what is staged; check that git runs here, then commit again"


def git(place: Place, env: dict[str, str], *words: str, given: bytes = b"") -> bytes | None:
    """Ask git without letting the repository's own configuration run anything; None where it fails.  given: its stdin."""
    clean = {key: value for key, value in env.items() if not key.startswith("GIT_")}
    if env.get("GIT_INDEX_FILE"):  # of `git commit -a` or `git commit FILE`: what is committed stands there
        clean["GIT_INDEX_FILE"] = os.path.abspath(env["GIT_INDEX_FILE"])
    clean["GIT_NO_LAZY_FETCH"] = "1"
    argv = ["git", "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
            "-C", place.root, *words]
    try:
        return subprocess.run(argv, input=given, capture_output=True, timeout=TIMEOUT, env=clean, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def secrets(place: Place, env: dict[str, str], allow: Sequence[str]) -> tuple[int, list[Finding]]:
    """Search what is staged below every `.dayleaf` of a repository; returns (files looked at, secrets by path and line).

    env: of a hook of git, it names the index that is committed.  allow: strings that may stay.  Raises StoreError.
    """
    if not place.git:
        raise StoreError("this is no git repository: nothing is staged; run it in the project")
    named = git(place, env, "diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--diff-filter=d",
                "--", PATHS)
    if named is None:
        raise StoreError(REFUSED % place.root)
    rows = [(path, row.decode("ascii").split()) for row, path in zip(*[iter(named.split(b"\0")[:-1])] * 2)]
    blobs = [(os.fsdecode(path), row[3]) for path, row in rows if row[1] != LINKED]
    held = git(place, env, "cat-file", "--batch", given="".join(blob + "\n" for _, blob in blobs).encode("ascii"))
    if held is None:
        raise StoreError(REFUSED % place.root)
    found = []
    for (path, _), data in zip(blobs, _contents(place, held, len(blobs))):
        found += [Finding(FAIL, "staged", what, remedy, place.root + "/" + path, line) for line, _, what, remedy
                  in recordfaults.secret_rows(data.decode("utf-8", "replace"), allow, place.key)]
    return len(blobs), sorted(found, key=lambda one: (one.place, one.line, one.what))


def _contents(place: Place, said: bytes, number: int) -> Iterator[bytes]:
    """Yield the contents that `git cat-file --batch` told; raises StoreError where one of them is not there."""
    at = 0
    for _ in range(number):
        end = said.find(b"\n", at)
        head = said[at:max(end, at)].split()
        if len(head) != 3:
            raise StoreError(REFUSED % place.root)
        at = end + 1 + int(head[2]) + 1
        yield said[end + 1:at - 1]


def hook(place: Place, env: dict[str, str]) -> tuple[bool, str]:
    """Tell whether a repository asks for secrets before each commit, and the command that makes it do so."""
    found = git(place, env, "rev-parse", "--git-common-dir")
    own = os.path.join(place.root, os.fsdecode(found).strip(), "hooks", "pre-commit") if found else ""
    paths = [*([own] if own else []), *(place.root + "/" + name for name in CONFIGURED)]
    if any(_names(path) for path in paths):
        return True, ""
    if not own or os.path.lexists(own):
        return False, "let the repository's pre-commit hook run `%s`" % COMMAND
    return False, "printf '#!/bin/sh\\nexec %s\\n' > '%s' && chmod +x '%s'" % (COMMAND, own, own)


def _names(path: str) -> bool:
    try:
        return b"dayleaf" in files.read(path)
    except OSError:
        return False
