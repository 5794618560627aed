"""A repository whose history is written as a test goes on, and a record that names what is in
it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from memory.core import clock, records
from memory.project import claims


def note(body, meta=""):
    """Return a record with a body and lines of frontmatter."""
    return records.from_bytes(
        "p/learnings/x.md", ("---\ntitle: t\n%s---\n\n%s\n" % (meta, body)).encode(), 0.0
    )


JWT = """import json
def verify_token(token):
    return json.loads(token)
def verify_token_v2(token): return token
class Config:
    def load(self):
        return LIMIT_OF_TOKENS
LIMIT_OF_TOKENS = 5
"""


def received(root, env):
    """Commit all that stands in a repository as somebody else, as if it had come with a pull."""
    subprocess.run(["git", "-C", root, "add", "-A"], env=env, check=True)
    subprocess.run(
        ["git", "-C", root, "commit", "-qm", "theirs", "--author", "Kim <kim@example.invalid>"],
        env=env,
        check=True,
    )


class Repository:
    """A repository whose commits are one hour apart, from the fixed instant on."""

    def __init__(self, root, env, now):
        self.root, self.env, self.now = root, env, now

    def write(self, **texts):
        """Write files by path (`__` stands for a slash, None deletes) and commit them; returns the
        hash.
        """
        for name, text in texts.items():
            path = Path(self.root, name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if text is None else path.write_text(text, encoding="utf-8")
        self.now += 3600
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", "work")
        return self("rev-parse", "HEAD")

    def __call__(self, *words):
        stamp = "%d +0000" % self.now
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            check=True,
            capture_output=True,
            text=True,
            env={**self.env, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp},
        )
        return done.stdout.strip()

    def check(self, body, meta="", when=None):
        """Check a record of an instant (half an hour after the last commit)."""
        created = "created: %s\n" % clock.iso(self.now + 1800 if when is None else when)
        return claims.check(note(body, created + meta), self.root, self.root + "/.git")
