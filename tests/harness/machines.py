"""A person's machines: homes that sync, work on them at random, and what must be true of them
afterwards.

Every edit adds a line of its own to what it found, so that a text is lost exactly where its line
stands nowhere any more.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from harness import vault
from memory.core import layout, records
from memory.doors.sync import machines, packs, syncing
from memory.health import agefile
from memory.store import ledger
from memory.store.store import Store
from memory.store.writer import TierWriter


class Machine:
    """One home, its clock, and its way to the others."""

    def __init__(self, root: Path, name: str, env: dict[str, str], now: float):
        self.home, self.name, self.now = str(root / name), name, now
        self.env = {**env, "HOME": self.home, "DAYLEAF_HOME": self.home + "/.dayleaf"}
        project = root / "project"
        project.mkdir(parents=True, exist_ok=True)
        Path(self.home).mkdir(exist_ok=True)
        self.place = layout.locate(self.env, str(project))
        self.store = Store(self.place, vault.settings(), now)

    def set_up(self, where: str, identity: str = "") -> Machine:
        """Meet the others at a folder or a repository."""
        machines.setup(self.place.home, where, identity, self.env, self.name)
        return self

    @property
    def key(self) -> str:
        return self.place.home + "/sync/key.txt"

    def sync(self, **more: bool) -> machines.SyncReport:
        """Sync as `dayleaf store sync` does."""
        state = syncing.load_state(self.place.home)
        carrier = machines.open_carrier(self.place.home, state.value["where"], self.env)
        return machines.sync(
            state, carrier, TierWriter(self.place), agefile.read_identities(self.key)[0], **more
        )

    def learn(self, title: str, body: str = "x", **more: str) -> records.Record:
        self.now += 1
        return Store(self.place, vault.settings(), self.now).add(
            "learning", title, body + "\n", **more
        )

    def edit(self, name: str, line: str) -> None:
        """Add a line to a record by hand."""
        with open(self.place.path(name), "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def forget(self, name: str) -> str:
        return self.store.archive(name, "forgotten")

    def text(self, name: str) -> str:
        return Path(self.place.path(name)).read_text(encoding="utf-8")

    def names(self) -> list[str]:
        """List the records that a session may be shown, in all tiers."""
        return list(self.store.names())

    def files(self) -> dict[str, bytes]:
        """All that is synced, by name; of the ledgers the lines, sorted; without what stays on this
        machine alone.
        """
        root, found, held = (
            Path(self.place.home),
            {},
            syncing.load_state(self.place.home).value["held"],
        )
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if name in held:
                continue
            if path.is_file() and packs.tier_of_record(name):
                found[name] = path.read_bytes()
            elif path.is_file() and name.endswith("ledger.jsonl"):
                found[name] = b"\n".join(sorted(path.read_bytes().split(b"\n")))
        return found


def quiet(every: list[Machine], rounds: int = 6) -> int:
    """Sync all machines until nothing is left to send or take; return how many rounds it took."""
    for number in range(1, rounds + 1):
        done = [one.sync() for one in every]
        if not any(report.sent or report.taken for report in done):
            return number
    raise AssertionError("they do not come to rest: %r" % done)


class Work:
    """Random work on machines.

    lines: each edit's line.  gone: lines of what was removed for good, which may be nowhere.
    """

    def __init__(self, every: list[Machine], seed: int):
        self.every, self.chance = every, random.Random(seed)
        self.lines: list[str] = []
        self.gone: set[str] = set()
        self.made = self.uses = 0

    def line(self) -> str:
        self.lines.append("line%05d." % len(self.lines))
        return self.lines[-1]

    def step(self, hard: bool = True) -> None:
        """Do one thing on one machine."""
        one = self.chance.choice(self.every)
        one.now += self.chance.choice((1, 60, -3600, 86400 * 400, -86400 * 400))
        names = [name for name in one.names() if name[0] in "pg"]
        what = self.chance.choices(
            ("learn", "edit", "forget", "restore", "rename", "hard", "use", "sync"),
            (20, 45, 8, 4, 5, 2 if hard else 0, 6, 10),
        )[0]
        if what == "learn" or not names:
            self.made += 1
            one.learn(
                "Note %d of %s" % (self.made, one.name), self.line(), tier=self.chance.choice("ppg")
            )
        elif what == "edit":
            one.edit(self.chance.choice(names), self.line())
        elif what == "forget":
            one.forget(self.chance.choice(names))
        elif what == "restore":
            self.restore(one)
        elif what == "rename":
            path = Path(one.place.path(self.chance.choice(names)))
            self.made += 1
            path.rename(path.with_name("renamed-%d.md" % self.made))
        elif what == "hard":
            name = self.chance.choice(names)
            self.gone.update(one.text(name).split())
            one.store.remove(name)
        elif what == "use":
            self.uses += 1
            found = one.store.read(self.chance.choice(names))
            ledger.append_event(
                ledger.ledgers(one.place)[0],
                found.id,
                "up",
                one.now + self.uses,
                "session%d" % self.uses,
            )
        else:
            one.sync()

    def restore(self, one: Machine) -> None:
        away = sorted(one.store.away())
        if away:
            try:
                one.store.restore(self.chance.choice(away))
            except Exception:
                return

    def lost(self) -> list[str]:
        """List the lines that stand on no machine although nobody removed them for good."""
        text = "\n".join(
            path.read_text("utf-8")
            for one in self.every
            for path in Path(one.place.home).rglob("*.md")
        )
        return [line for line in self.lines if line not in text and line not in self.gone]

    def doubled(self) -> list[str]:
        """List what stands twice: ids and lines in two records, uses that count twice."""
        out = []
        for one in self.every:
            found = [one.store.read(name) for name in one.names()]
            out += [id for id, count in Counter(record.id for record in found).items() if count > 1]
            lines = Counter(
                line
                for record in found
                for line in set(record.body.split())
                if line.startswith("line")
            )
            out += [line for line, count in lines.items() if count > 1]
            up = sum(row[1] for row in ledger.count_all(ledger.ledgers(one.place)[0]).rows.values())
            out += ["uses %d of %d" % (up, self.uses)] * (up != self.uses)
        return out


def agree(every: list[Machine]) -> list[str]:
    """List the names of files that differ between machines."""
    first = every[0].files()
    out = []
    for other in every[1:]:
        found = other.files()
        out += [
            name
            for name in sorted(first.keys() | found.keys())
            if first.get(name) != found.get(name)
        ]
    return out
