"""What a repository's `.git/config` names never runs, whatever verb or hook meets the
repository.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from harness.command import dayleaf
from harness.hook import HOOKS, fire, harmless

from memory.core import layout
from memory.project import sharing
from memory.store import permissions, safegit

PROGRAMS = (
    "fsmonitor",
    "clean",
    "smudge",
    "process",
    "textconv",
    "command",
    "external",
    "merge",
    "gpg",
    "pager",
    "editor",
    "ssh",
    "askpass",
    "credential",
    "alias",
    "hook",
    "upload",
    "trailer",
    "diffpager",
)
HOOK_NAMES = (
    "pre-commit",
    "post-checkout",
    "post-index-change",
    "fsmonitor-watchman",
    "reference-transaction",
    "post-merge",
)
SIGNED = """tree %s
author Kim <kim@example.invalid> 1764000000 +0000
committer Kim <kim@example.invalid> 1764000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
{blank}
 aGVsbG8=
 =abcd
 -----END PGP SIGNATURE-----

signed
"""
NOTE = "---\nid: %s\ntitle: %s\nsource: human\n---\n\nThe react build fails without KEY.\n"


class Planted:
    """A repository whose configuration names a program for everything that git can start."""

    def __init__(self, root: str, env: dict[str, str], ran: Path):
        self.root, self.env, self.ran = root, env, ran
        self.programs = ran.parent / "programs"
        (self.programs / "hooks").mkdir(parents=True)
        for name in PROGRAMS:
            self._program(self.programs / name, name)
        for name in HOOK_NAMES:
            self._program(self.programs / "hooks" / name, "hook")
        self._write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
        self._write(".dayleaf/learnings/a.md", NOTE % ("l-00000001", "react build"))
        self._write(".dayleaf/learnings/b.md", NOTE % ("l-00000002", "react build again"))
        self("add", "-A")
        self._sign()
        self._inner()
        self._configure()
        self.change()

    def _program(self, path: Path, name: str) -> None:
        path.write_text("#!/bin/sh\necho %s >>%s\ncat\n" % (name, self.ran))
        path.chmod(0o755)

    def _write(self, name: str, text: str) -> None:
        path = Path(self.root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def __call__(self, *words: str, given: str = "") -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=self.env,
            check=True,
            capture_output=True,
            text=True,
            input=given,
        )
        return done.stdout.strip()

    def _sign(self) -> None:
        """Commit twice with a signature, so that a branch follows another and a merge seems to have
        come.
        """
        for message in ("one", "two"):
            commit = self(
                "hash-object",
                "-t",
                "commit",
                "-w",
                "--stdin",
                given=(SIGNED % self("write-tree")).replace("{blank}", " ") + message,
            )
            self("update-ref", "-m", "pull: Fast-forward", "HEAD", commit)
        self("update-ref", "refs/remotes/origin/main", "HEAD")

    def _inner(self) -> None:
        """Put a repository of its own, with the same configuration, where a submodule would
        stand.
        """
        inner = Path(self.root, ".dayleaf/learnings/inner")
        subprocess.run(["git", "init", "-q", str(inner)], env=self.env, check=True)
        subprocess.run(
            ["git", "-C", str(inner), "commit", "-q", "--allow-empty", "-m", "x"],
            env=self.env,
            check=True,
        )
        self("add", ".dayleaf/learnings/inner")
        self._write(
            ".gitmodules",
            '[submodule "x"]\n\tpath = .dayleaf/learnings/inner\n\turl = ./x\n\tignore = none\n',
        )
        self._settings(inner / ".git/config")

    def _settings(self, path: Path) -> None:
        named = {name: str(self.programs / name) for name in PROGRAMS}
        with path.open("a") as file:
            file.write(
                """
[core]
\tfsmonitor = {fsmonitor}
\tpager = {pager}
\teditor = {editor}
\tsshCommand = {ssh}
\taskPass = {askpass}
\tgitProxy = {ssh}
\talternateRefsCommand = {ssh}
\thooksPath = {hooks}
[filter "evil"]
\tclean = {clean}
\tsmudge = {smudge}
\tprocess = {process}
\trequired = true
[diff]
\texternal = {external}
\tsubmodule = log
[diff "evil"]
\ttextconv = {textconv}
\tcommand = {command}
[merge "evil"]
\tdriver = {merge}
[gpg]
\tprogram = {gpg}
[gpg "ssh"]
\tprogram = {gpg}
[log]
\tshowSignature = true
[pager]
\tlog = {pager}
\tstatus = {pager}
\tconfig = {pager}
\tdiff = {diffpager}
[interactive]
\tdiffFilter = {diffpager}
[credential]
\thelper = {credential}
[alias]
\tlog = !{alias}
\tstatus = !{alias}
[status]
\tsubmoduleSummary = true
[trailer "x"]
\tcommand = {trailer}
[uploadpack]
\tpackObjectsHook = {upload}
[include]
\tpath = included
[extensions]
\tpartialClone = origin
[remote "origin"]
\turl = ext::{ssh}
\tpromisor = true
\tuploadpack = {upload}
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
""".format(hooks=self.programs / "hooks", **named)
            )

    def _configure(self) -> None:
        self._settings(Path(self.root, ".git/config"))
        Path(self.root, ".git/included").write_text(
            "[core]\n\tfsmonitor = %s\n" % (self.programs / "fsmonitor")
        )

    def change(self) -> None:
        """Give each shared file an age and a text that git has to look at."""
        for path in Path(self.root, ".dayleaf/learnings").glob("*.md"):
            path.write_text(path.read_text() + "More.\n")
            os.utime(path, (1.7e9, 1.7e9))

    def started(self) -> list[str]:
        return sorted(set(self.ran.read_text().split())) if self.ran.exists() else []


@pytest.fixture
def planted(project, env, tmp_path):
    env = {**env, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", "-C", project, "symbolic-ref", "HEAD", "refs/heads/main"], env=env, check=True
    )
    named = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.invalid",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.invalid",
    }
    return Planted(project, {**env, **named}, tmp_path / "ran")


def test_what_is_planted_would_run(planted):
    """Git itself, asked plainly, starts what the configuration names: so the other tests can
    fail.
    """
    subprocess.run(
        ["git", "log", "-1"], cwd=planted.root, env=planted.env, check=False, capture_output=True
    )
    subprocess.run(
        ["git", "status"], cwd=planted.root, env=planted.env, check=False, capture_output=True
    )
    subprocess.run(
        ["git", "diff"], cwd=planted.root, env=planted.env, check=False, capture_output=True
    )
    assert {"gpg", "fsmonitor", "pager"} & set(planted.started())
    assert {"clean", "process"} & set(planted.started())


WORDS = {
    "recall": ["react"],
    "show": ["l-00000001"],
    "expand": ["l-00000001"],
    "fix": ["react build fails"],
    "how": ["git"],
    "blame": ["a.py"],
    "distill": ["react build"],
    "learn": ["Quote every path."],
    "checkpoint": ["noted"],
    "handoff": ["go on"],
    "plan": ["Move the retries"],
    "load": ["react build fails"],
    "feedback": ["l-00000001", "up"],
    "link": ["l-00000001", "l-00000002"],
    "graph": ["l-00000001"],
    "shared": ["status"],
    "import": ["dir", "."],
    "resource": ["add", ".gitattributes"],
    "rule": ["suggest", "Ask first", "--rationale", "it broke"],
    "tier": ["add", "."],
    "workspace": ["claim"],
    "index": ["build"],
    "share": ["l-00000003"],
    "unshare": ["l-00000001"],
    "redact": ["l-00000001"],
    "completion": ["bash"],
    "config": ["list"],
    "forget": ["l-00000002"],
    "restore": ["l-00000002"],
    "backup": ["../all.tar.gz", "--shared"],
    "check": ["--staged"],
    "sync": ["status"],
}


def test_no_verb_runs_a_program_of_the_repository(planted, env):
    """Each verb of the table, asked as a person, on changed files."""
    run = dayleaf({**env, "EDITOR": "true"}, planted.root)
    for verb in sorted(set(permissions.VERBS) - {"mcp", "view"}):
        planted.change()
        run(verb, *WORDS.get(verb, []))
        assert planted.started() == [], verb


def test_no_hook_runs_a_program_of_the_repository(planted, env):
    """Each hook, its detached work too, before and after the repository brought another rule."""
    env = {**env, "CLAUDE_PROJECT_DIR": planted.root, "DAYLEAF_RUNTIME_AUTO": "0"}
    for round_ in range(2):
        for event, hook in HOOKS.items():
            planted.change()
            said = {
                "hook_event_name": event,
                "session_id": "s-%d" % round_,
                "cwd": planted.root,
                "prompt": "react build fails KEY",
                "source": "startup",
            }
            assert harmless(fire(hook, said, env)).settled
            assert planted.started() == [], hook
        Path(planted.root, ".dayleaf/rules").mkdir(exist_ok=True)
        Path(planted.root, ".dayleaf/rules/r.md").write_text(
            "---\nid: r-00000009\nrationale: because\n---\n\nDo x.\n"
        )


def test_a_teams_records_are_told_without_the_configuration(planted, env):
    """Whose a record is, and what has changed, is known all the same."""
    place = layout.locate(env, planted.root)
    asked = sharing.Repository(place, planted.env)
    assert asked.authors()[".dayleaf/learnings/a.md"][:2] == ("Kim", "kim@example.invalid")
    assert asked.states()[0][".dayleaf/learnings/a.md"] == "changed"
    assert (
        safegit.find_upstream(place.git) == "refs/remotes/origin/main"
        and asked.count("refs/remotes/origin/main..HEAD") == 0
    )
    assert planted.started() == []
