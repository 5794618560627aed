"""A year of a store in an hour: work, hand edits, branches, clocks that jump, upkeep every day; and
what is left at the end.
"""

from __future__ import annotations

import os
import random
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from harness.notes import LATER, sentence
from memory.core import DayleafError, clock, config, layout, records
from memory.knowledge import housekeeping
from memory.store.store import Store

START = 1763733600.0  # 2025-11-21


class Year(NamedTuple):
    """What was written in a year, and what became of it: lines that are in no record and cannot be
    restored are lost.
    """

    written: int
    facts: int
    lost: list[str]
    live: int
    archived: int
    merged: int
    undone: int
    doubts: int


class _Simulation:
    def __init__(self, place: layout.Place, env: dict[str, str], chance: random.Random):
        self.place, self.env, self.chance = place, env, chance
        self.settings = config.Config(dict(config.DEFAULTS), {}, [])
        self.facts: set[str] = set()
        self.learnt: list[str] = []
        self.written = self.merged = self.undone = self.doubts = 0

    def git(self, *words: str) -> str:
        """Run git in the project."""
        done = subprocess.run(
            [
                "git",
                "-C",
                self.place.root,
                "-c",
                "user.name=T",
                "-c",
                "user.email=t@example.invalid",
                *words,
            ],
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def store(self, now: float) -> Store:
        """Return the store at an instant."""
        return Store(self.place, self.settings, now)

    def say(self, lines: list[str]) -> str:
        """Remember lines as facts and return them as a body."""
        self.facts.update(lines)
        return "\n".join(lines) + "\n"

    def work(self, now: float, count: int) -> None:
        """Write a day's checkpoints and learnings, some of which were learnt before."""
        store, chance = self.store(now), self.chance
        for number in range(count):
            self.written += 1
            form, instant = chance.random(), now + number
            if form < 0.6:
                body = self.say([sentence(chance) for _ in range(3)])
                if chance.random() < 0.05 and self.learnt:
                    body += "See [[%s]].\n" % chance.choice(self.learnt)
                store.add(
                    "checkpoint",
                    "Day's work",
                    body,
                    source="auto",
                    session="s%d" % (now // clock.DAY),
                    extra={"created": clock.iso(instant)},
                )
            elif form < 0.9 or not self.learnt:
                lines = [sentence(chance) for _ in range(chance.choice((1, 2, 12)))]
                tier = layout.SHARED if chance.random() < 0.1 else layout.PRIVATE
                extra: dict[str, object] = {"created": clock.iso(instant)}
                if chance.random() < 0.1:
                    extra["links"] = records.make_derived_links(
                        r.id for r in [*store.each(("checkpoint",))][:1]
                    )
                self.learnt.append(
                    store.add(
                        "learning",
                        lines[0],
                        self.say(lines),
                        tier=tier,
                        tags=["t%d" % (number % 5)],
                        extra=extra,
                    ).id
                )
            else:
                self.again(store, instant)

    def again(self, store: Store, instant: float) -> None:
        """Learn something once more: the same in another form, or with another number."""
        with suppress(DayleafError):
            record = store.find(self.chance.choice(self.learnt))
            lines = record.body.strip().split("\n")
            form = self.chance.randrange(4)
            if form == 0:
                lines = [
                    line.replace("The ", "the ", 1).replace(" the ", "  the ", 1) for line in lines
                ]
            elif form == 1:
                lines[0] = lines[0].replace("1", "2") + " Not before noon."
            elif form == 2:
                lines.append(self.chance.choice(LATER))
            title = record.title if form != 3 else record.title.upper()
            made = store.add(
                "learning",
                title,
                self.say(lines),
                tier=record.tier,
                source=self.chance.choice(("human", "auto")),
                tags=["again"],
                extra={"created": clock.iso(instant)},
            )
            self.learnt.append(made.id)

    def by_hand(self, now: float) -> None:
        """Edit, rename, pin, forget, restore, as a person does."""
        store, chance = self.store(now), self.chance
        names = list(store.names())
        for name in chance.sample(names, min(4, len(names))):
            path, form = Path(self.place.path(name)), chance.randrange(5)
            with suppress(DayleafError):
                if form <= 1:
                    with path.open("a", encoding="utf-8") as file:
                        file.write(self.say([sentence(chance)]))
                elif form == 2 and not path.with_name("renamed-" + path.name).exists():
                    os.rename(path, path.with_name("renamed-" + path.name))
                elif form == 3:
                    store.edit(name, {"pinned": chance.random() < 0.5})
                elif form == 4 and chance.random() < 0.2:
                    store.archive(name, "forgotten")
        away = sorted(store.away())
        if away and chance.random() < 0.2:
            with suppress(DayleafError):
                store.restore(chance.choice(away))

    def switch(self) -> None:
        """Commit the shared tier and go to another branch, which has other records."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "records")
        self.git("checkout", "-q", self.chance.choice(("one", "two", "three")))

    def tend(self, now: float) -> None:
        """Upkeep, as a daily job would; now and then it is taken back."""
        did = housekeeping.apply(self.store(now), {})
        self.merged += sum(change.kept is not None for change in did.changes)
        self.doubts += bool(did.plan.doubt)
        if self.chance.random() < 0.05 and housekeeping.undo(self.store(now)):
            self.undone += 1

    def restorable(self, now: float) -> set[str]:
        """Return every line of every record: stored, restorable, or on another branch."""
        store = self.store(now)
        found = {line for record in store.each() for line in record.body.split("\n")}
        for letter, move in store.away().values():
            with suppress(DayleafError):
                found.update(store.read(letter + "/" + move.away).body.split("\n"))
        for branch in ("one", "two", "three"):
            for name in self.git("ls-tree", "-r", "-z", "--name-only", branch).split("\0"):
                if name.endswith(".md"):
                    found.update(self.git("show", "%s:%s" % (branch, name)).split("\n"))
        return found


def simulate(
    place: layout.Place, env: dict[str, str], count: int, days: int = 365, seed: int = 1
) -> Year:
    """Live through some days with about `count` records, upkeep every day; `place` is a git
    repository without a commit.
    """
    chance = random.Random(seed)
    year = _Simulation(place, env, chance)
    year.git("commit", "-q", "--allow-empty", "-m", "start")
    for branch in ("one", "two", "three"):
        year.git("branch", branch)
    year.git("checkout", "-q", "one")
    for day in range(days):
        now = START + day * clock.DAY
        if day % 41 == 40:
            now += chance.choice((-30, 3650)) * clock.DAY
        year.work(now, count * (day + 1) // days - count * day // days)
        year.by_hand(now)
        if day % 5 == 4:
            year.switch()
        year.tend(now)
    now = START + days * clock.DAY
    left = year.restorable(now)
    store = year.store(now)
    return Year(
        year.written,
        len(year.facts),
        sorted(year.facts - left),
        len(list(store.each())),
        len(store.away()),
        year.merged,
        year.undone,
        year.doubts,
    )
