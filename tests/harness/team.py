"""A team: clones of one repository, each with a user and a home of its own, that work on shared
records through real git.
"""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from pathlib import Path

from harness import vault
from memory.core import layout
from memory.project import sharing
from memory.store.store import Store


class Member:
    """A user with a clone.  lines: what this one wrote, a line for each edit."""

    def __init__(self, root: Path, name: str, env: dict[str, str], now: float):
        self.name, self.now, self.clone = name, now, str(root / name / "clone")
        self.env = {**env, "HOME": str(root / name), "GIT_CONFIG_GLOBAL": "/dev/null"}
        Path(self.env["HOME"]).mkdir()
        if not (root / "team.git").exists():
            subprocess.run(
                ["git", "init", "-q", "--bare", "-b", "main", str(root / "team.git")],
                env=self.env,
                check=True,
            )
        subprocess.run(
            ["git", "clone", "-q", str(root / "team.git"), self.clone],
            env=self.env,
            check=True,
            capture_output=True,
        )
        for key, value in (
            ("user.name", name),
            ("user.email", name + "@example.invalid"),
            ("pull.rebase", "false"),
        ):
            self.git("config", key, value)
        self.git("checkout", "-q", "-B", "main")

    def git(self, *words: str, fails: bool = False) -> str:
        """Run git in the clone.  fails: it may."""
        done = subprocess.run(
            ["git", *words], cwd=self.clone, env=self.env, capture_output=True, text=True
        )
        assert fails or not done.returncode, (words, done.stdout, done.stderr)
        return done.stdout

    @property
    def store(self) -> Store:
        return Store(layout.locate(self.env, self.clone), vault.settings(), self.now)

    def shared(self, title: str, body: str = "x") -> str:
        """Keep a learning and share it; returns its name in the shared tier."""
        self.now += 1
        store = self.store
        return sharing.move_record(store, store.add("learning", title, body + "\n"), layout.SHARED)

    def path(self, name: str) -> Path:
        return Path(self.clone, ".dayleaf", name[2:])

    def edit(self, name: str, line: str) -> None:
        with open(self.path(name), "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "notes", "--allow-empty")

    def pull(self) -> list[str]:
        """Commit, and bring in what others pushed; returns the paths that git could not merge."""
        self.commit()
        self.git("fetch", "-q")
        if self.git("branch", "-r").strip():
            self.git(
                "merge", "-q", "--no-edit", "origin/main", "--allow-unrelated-histories", fails=True
            )
        torn = sorted({line.split("\t")[1] for line in self.git("ls-files", "-u").splitlines()})
        return torn

    def push(self) -> None:
        self.git("push", "-q", "origin", "main")

    def status(self) -> sharing.Status:
        return sharing.read_status(self.store, self.env)


def resolve(one: Member, torn: list[str]) -> None:
    """Resolve conflicts as a person does: keep the lines of both sides; of a record that one side
    moved or forgot, the text.
    """
    for path in torn:
        file = Path(one.clone, path)
        if file.exists():
            file.write_text(
                "".join(
                    line
                    for line in file.read_text().splitlines(True)
                    if not line.startswith(("<<<<<<< ", ">>>>>>> ", "======="))
                )
            )
            one.git("add", "--", path)
        else:
            one.git("rm", "-q", "--cached", "--", path, fails=True)
    first: dict[str, Path] = {}
    for file in (file for path in torn if (file := Path(one.clone, path)).exists()):
        id = next(line for line in file.read_text().splitlines() if line.startswith("id: "))
        # both renamed it: one name is kept, with the lines of both
        if first.setdefault(id, file) != file:
            lines = first[id].read_text().splitlines()
            with first[id].open("a") as kept:
                kept.writelines(
                    line + "\n" for line in file.read_text().splitlines() if line not in lines
                )
            file.unlink()
            one.git("add", "-A", "--", ".dayleaf")
    one.git("commit", "-qm", "merged")


def work(team: list[Member], edits: int, seed: int) -> tuple[list[str], int]:
    """Let a team edit at random, pulling and pushing now and then; returns (the lines written, how
    many conflicts there were).
    """
    chance, lines, torn, made = random.Random(seed), list[str](), 0, 0
    for number in range(edits):
        one = chance.choice(team)
        names = [name for name in one.store.names() if name[0] == "s"]
        what = (
            chance.choices(("learn", "edit", "forget", "rename"), (30, 55, 8, 7))[0]
            if names
            else "learn"
        )
        name = chance.choice(names) if names else ""
        lines.append("line%05d." % number)
        if what == "learn":
            made += 1
            one.shared("Note %d of %s" % (made, one.name), lines[-1])
        else:
            one.edit(name, lines[-1])
            if what == "forget":
                one.store.archive(name, "forgotten")
            elif what == "rename":
                made += 1
                one.path(name).rename(one.path(name).with_name("renamed-%d.md" % made))
        if number % 10 == 9:
            torn += meet([one])
    return lines, torn + meet(team) + meet(team)


def meet(team: list[Member]) -> int:
    """Let members pull, resolve and push, one after the other; returns how many conflicts there
    were.
    """
    found = 0
    for one in team:
        torn = one.pull()
        found += len(torn)
        if torn:
            resolve(one, torn)
        one.push()
    return found


def judged(team: list[Member], lines: list[str]) -> tuple[list[str], list[str]]:
    """Return (lines that stand in no file of a clone, ids and lines that stand in two records of
    it).
    """
    lost, doubled = list[str](), list[str]()
    for one in team:
        text = "\n".join(
            path.read_text("utf-8") for path in Path(one.clone, ".dayleaf").rglob("*.md")
        )
        lost += [line for line in lines if line not in text]
        found = [one.store.read(name) for name in one.store.names() if name[0] == "s"]
        doubled += [id for id, count in Counter(record.id for record in found).items() if count > 1]
        counts = Counter(
            line for record in found for line in record.body.split() if line.startswith("line")
        )
        doubled += [line for line, count in counts.items() if count > 1]
    return lost, doubled
