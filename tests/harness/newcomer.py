"""Somebody who has just got dayleaf: their HOME with a runtime, and the sessions that they had
before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from harness.hook import ROOT
from harness.session import Session
from memory.core import clock


def runtime(home: Path) -> None:
    """Give a HOME the runtime that ./install.sh would make: the packages of this process."""
    made = home / ".dayleaf" / "runtime"
    made.mkdir(parents=True, mode=0o700)
    for name in ("bin", "lib", "pyvenv.cfg"):
        (made / name).symlink_to(Path(sys.prefix, name))
    project = Path(ROOT, "pyproject.toml").read_text(encoding="utf-8")
    (made / "requirements.txt").write_text(
        "".join(
            line.strip(' ",') + "\n"
            for line in project.partition("\ndependencies = [\n")[2]
            .partition("\n]")[0]
            .splitlines()
        )
    )


class Newcomer:
    """A HOME with three sessions of two projects, as the client wrote them."""

    def __init__(self, base: Path):
        self.base, self.home = base, base / "home"
        self.home.mkdir(exist_ok=True)
        self.now = time.time()
        self.path = "/usr/bin:/bin"
        runtime(self.home)
        self.shop, self.site = self.project("shop"), self.project("site")
        self.charges()
        self.refunds()
        self.pricing()

    @property
    def env(self) -> dict[str, str]:
        """Return the environment of the newcomer's terminal."""
        return {"HOME": str(self.home), "PATH": self.path, "LANG": "C.UTF-8", "TERM": "xterm"}

    def project(self, name: str) -> Path:
        """Make a repository without a remote."""
        root = self.base / name
        root.mkdir()
        subprocess.run(
            ["git", "init", "-q", "--template=", "-b", "main", str(root)], check=True, env=self.env
        )
        return root

    def session(self, project: Path, days: float, name: str) -> Session:
        """Begin a session of some days ago, in the folder that the client would take."""
        one = Session(self.env, str(project), self.now - days * clock.DAY, name)
        folder = self.home / ".claude" / "projects" / str(project).replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        one.path = folder / (name + ".jsonl")
        return one

    def over(self, one: Session) -> None:
        """End a session: nobody has written it since."""
        os.utime(one.path, (one.now, one.now))

    def charges(self) -> None:
        """Nine days ago: a wish, a failed call, a proposal that was turned down."""
        one = self.session(self.shop, 9, "11111111-aaaa-4aaa-8aaa-000000000001")
        one.ask("Retry a charge in payments.py. From now on always run `make lint` first.")
        one.bash("npm test", "npm ERR! missing script: test", 1)
        one.bash("pnpm run check", "12 passed")
        one.edit("payments.py", "-charge(order)", "+charge(order, key=order.key)")
        one.say("I propose to retry three times, each with a new key. Shall I?")
        one.ask("no, retry once after 30 s, and with the same idempotency key")
        one.edit("payments.py", "-charge(order)", "+retry(charge, order)")
        one.say("A charge is retried once, after 30 s and with the same idempotency key.")
        self.over(one)

    def refunds(self) -> None:
        """Two days ago: the same failed call."""
        one = self.session(self.shop, 2, "11111111-aaaa-4aaa-8aaa-000000000002")
        one.ask("Add a test for refunds in refunds.py")
        one.bash("npm test", "npm ERR! missing script: test", 1)
        one.bash("pnpm run check", "14 passed")
        one.edit("refunds.py", "-x", "+y")
        one.say("Refunds are tested now, a partial one too.")
        self.over(one)

    def pricing(self) -> None:
        """Yesterday, in another project: nothing but work."""
        one = self.session(self.site, 1, "11111111-aaaa-4aaa-8aaa-000000000003")
        one.ask("Move the pricing table into its own component")
        one.edit("pricing.tsx", "-x", "+y")
        one.say("The pricing table is its own component in src/Pricing.tsx.")
        self.over(one)
