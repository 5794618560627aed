"""A store with something of everything, the operations that change it, and what must hold however
one of them ended.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from harness import tracer, vault
from harness.session import Ending
from memory.core import DayleafError, clock, files, frontmatter
from memory.health import worker
from memory.hook import indexview
from memory.store import ledger
from memory.store.store import Store

# read here: the fixtures give every test an environment of its own
WHOLE = os.environ.get("DAYLEAF_TEST_FAULTS") == "all"
MARK = "MARK-%s"
# what there is to import, to merge, to recover
NOTES, TREE, TWINS, DEAD = (40, 15, 8, 3) if WHOLE else (3, 2, 1, 0)
LEARNINGS = ("pool", "cache", "retry", "shell")


class Scene(NamedTuple):
    """A home with a project in it, its saved copy, and how commands run there."""

    top: str
    saved: str
    place: Any
    call: Callable[..., Any]
    env: dict[str, str]
    project: str
    now: float
    session: Ending

    def reset(self) -> None:
        """Bring the home back to what was saved."""
        shutil.rmtree(self.top, ignore_errors=True)
        shutil.copytree(self.saved, self.top, symlinks=True)

    def save(self) -> None:
        """Let `reset` bring back what there is now."""
        shutil.rmtree(self.saved)
        shutil.copytree(self.top, self.saved, symlinks=True)

    def act(self, name: str) -> Any:
        """Do an operation by its name; returns (status, stdout, stderr)."""
        try:
            return OPERATIONS[name](self)
        except DayleafError as error:
            return error.status, "", str(error)
        # an engine that is called without the command line, which says it in one line
        except OSError as error:
            return 1, "", str(error)

    def bodies(self) -> set[str]:
        """Return what every record says, in the store or as `restore` would bring it back."""
        store = Store(self.place, vault.settings(), self.now)
        return {r.body.strip() for r in store.each()} | {
            store.read(t + "/" + m.away).body.strip() for t, m in store.away().values()
        }

    def marks(self) -> set[str]:
        """Return the marks of the records that can be found, in the store or its archive."""
        text = "\n".join(self.bodies())
        return {
            name
            for name in (*LEARNINGS, "gone", "twin", "rule", "plan", "doc", "checkpoint")
            if MARK % name in text
        }


def _run(*words: str, **env: str) -> Callable[[Scene], Any]:
    """Return what runs a command; TOP in its words is the home, WORKSPACE its key."""

    def act(scene: Scene) -> Any:
        done = scene.call(
            *(
                word.replace("TOP", scene.top).replace("WORKSPACE", scene.place.key)
                for word in words
            ),
            **env,
        )
        return done.returncode, done.stdout, done.stderr

    return act


def _work(name: str) -> Callable[[Scene], Any]:
    def act(scene: Scene) -> Any:
        event = {
            "hook_event_name": name,
            "session_id": scene.session.name,
            "transcript_path": str(scene.session.path),
            "cwd": scene.project,
        }
        worker.work(event, {**scene.env, "DAYLEAF_RUNTIME_AUTO": "0"}, scene.now)
        return 0, "", ""

    return act


def _prompt(scene: Scene) -> Any:
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "later",
        "prompt": "why does the pool want jitter?",
        "cwd": scene.project,
    }
    worker.after_prompt(event, {**scene.env, "DAYLEAF_RUNTIME_AUTO": "0"}, scene.now)
    return 0, "", ""


def _start(scene: Scene) -> Any:
    event = {
        "hook_event_name": "SessionStart",
        "session_id": "later",
        "source": "startup",
        "cwd": scene.project,
        "transcript_path": str(scene.session.path.with_name("later.jsonl")),
    }
    worker.after_start(event, {**scene.env, "DAYLEAF_RUNTIME_AUTO": "0"}, scene.now)
    return 0, "", ""


def _note(scene: Scene) -> Any:
    for number, each in enumerate(ledger.ledgers(scene.place)):
        ledger.append_event(each, "pool", "shown", scene.now, "s%d" % number, "p1")
    return 0, "", ""


OPERATIONS: dict[str, Callable[[Scene], Any]] = {
    "learn": _run(
        "learn", "The importer must hold one connection open, else the proxy cuts it. MARK-new"
    ),
    "capture": _work("SessionEnd"),
    "start": _start,
    "forget": _run("forget", "pool"),
    "forget --hard": _run("forget", "pool", "--hard", "--yes"),
    "restore": _run("restore", "gone"),
    "upkeep": _run("upkeep", "--apply"),
    "undo": _run("undo"),
    "index build": _run("index", "build"),
    "index refresh": _run("index", "refresh"),
    "ledger note": _note,
    "feedback": _run("feedback", "cache", "up", "it was the lock file"),
    "import dir": _run("import", "dir", "notes"),
    "handoff": _run("handoff", "The retries are open; see MARK-handoff"),
    "plan step": _run("plan", "step", "1"),
    "rule suggest": _run("rule", "suggest", "Quote every path", "--rationale", "some hold a space"),
    "link": _run("link", "cache", "related_to", "retry"),
    "redact": _run("redact", "retry", "--text", "zebra-seventy", "--apply"),
    "backup": _run("backup", "TOP/kept.dayleaf"),
    "config set": _run("config", "set", "load.top", "7"),
    "restore backup": _run("restore", "TOP/before.dayleaf", "--merge"),
    "restore over": _run("restore", "TOP/before.dayleaf", "--merge", "--replace"),
    "restore into": _run("restore", "TOP/before.dayleaf", "--into", "TOP/other"),
    "compact": _work("PreCompact"),
    "prompt": _prompt,
    "learn everywhere": _run("learn", "A lease ends before its lock does. MARK-new", "--global"),
    "edit": _run("edit", "cache", EDITOR="sed -i s/jitter/patience/"),
    "checkpoint": _run("checkpoint", "The retries are half done. MARK-note"),
    "plan": _run("plan", "Move the queue", "--step", "one", "--step", "two", "--replace"),
    "plan update": _run("plan", "update", "And then the worker.", "--append"),
    "plan done": _run("plan", "done"),
    "unlink": _run("link", "cache", "related_to", "pool", "--remove"),
    "resource add": _run("resource", "add", "--path", "notes/n0.md"),
    "resource refresh": _run("resource", "refresh"),
    "import tree": _run("import", "tree", "tree"),
    "redact everywhere": _run("redact", "retry", "--text", "jitter", "--everywhere", "--apply"),
    "forget checkpoint": _run("forget", "c3"),
    "doctor": _run("doctor", "--fix"),
    "unset": _run("config", "unset", "load.top"),
    "backup part": _run("backup", "TOP/part.dayleaf", "--workspace", "WORKSPACE"),
}
REMOVES = {"forget --hard": "pool"}  # what an operation may take away for good
# its status when it is done again, where that is not 0 or 1: a directory that is no longer empty
AGAIN = {"restore into": (0, 2)}


def made(
    tmp_path: Path,
    env: dict[str, str],
    project: str,
    place: Any,
    run: Callable[..., Any],
    now: float,
) -> Scene:
    """Make a home with records of every kind, an index, an archive with one record, and a finished
    session nobody captured.
    """
    stamp = clock.iso(now - clock.DAY)
    for name in LEARNINGS:
        vault.put(
            place,
            "p/learnings/%s.md" % name,
            "About the " + name + " quokka" * (name == "pool"),
            "The %s wants jitter%s. %s" % (name, " zebra-seventy" * (name == "retry"), MARK % name),
            name,
            created=stamp,
            links="[{relation: related_to, target: pool}]" if name == "cache" else "[]",
        )
    same = (
        "Quote every path that is given to the shell, since some hold a space. Case %d. "
        + MARK % "twin"
    )
    for number in range(TWINS):
        for side in "ab":
            vault.put(
                place,
                "p/learnings/twin%s%d.md" % (side, number),
                "Quote paths %d" % number,
                same % number,
                "shell",
                created=stamp,
            )
    vault.put(place, "p/learnings/gone.md", "About the gone", MARK % "gone", created=stamp)
    vault.put(place, "p/rules/rule.md", "Never force push", MARK % "rule", created=stamp)
    vault.put(
        place,
        "p/plans/plan.md",
        "Ship it",
        "- [ ] one\n- [ ] two\n\n" + MARK % "plan",
        status="active",
        created=stamp,
    )
    vault.put(place, "p/resources/doc.md", "The manual", MARK % "doc", type="doc", created=stamp)
    for number in range(12):
        vault.put(
            place,
            "p/checkpoints/%s/c%d.md" % (clock.day(now - number * clock.DAY), number),
            "Checkpoint %d" % number,
            "Worked on part %d. %s" % (number, MARK % "checkpoint"),
            created=clock.iso(now - number * clock.DAY),
        )
    Path(project, "tree", "docs").mkdir(parents=True)
    for number in range(NOTES):
        path = Path(project, "notes", "n%d.md" % number)
        path.parent.mkdir(exist_ok=True)
        path.write_text("# Note %d\n\nOf the import, number %d.\n" % (number, number))
        shutil.copy(
            path, Path(project, "tree", "docs").joinpath(path.name)
        ) if number < TREE else None
    session = Ending(env, project, now).copy("tools-headless")
    for number in range(DEAD):
        Ending(env, project, now, "dead-%d" % number).copy(
            ("tools-interactive", "compact-interactive", "subagent-interactive")[number]
        )
    for words in (("index", "build"), ("forget", "gone"), ("feedback", "retry", "up")):
        done = run(*words)
        assert (done.returncode, done.stderr) == (0, ""), done
    saved = str(tmp_path / "saved")
    shutil.copytree(env["HOME"], saved, symlinks=True)
    return Scene(env["HOME"], saved, place, run, env, project, now, session)


def prepare(scene: Scene, operation: str) -> None:
    """Make what an operation wants to find, and save it."""
    if operation == "undo":
        assert scene.act("upkeep")[0] == 0
        scene.save()
    if operation == "resource refresh":
        assert _run("resource", "add", "--path", "notes/n1.md")(scene)[0] == 0
        assert _run("forget", "doc")(scene)[0] == 0  # it has no file to be refreshed from
        Path(scene.project, "notes", "n1.md").write_text(
            "# Note 1\n\nIt says something else by now.\n"
        )
        scene.save()
    if operation == "doctor":
        Path(scene.place.path("p/learnings/pool.md")).chmod(0o644)
        Path(scene.place.home).chmod(0o711)
        Path(indexview.segment_path(scene.place)).write_bytes(b"no index")
        scene.save()
    if operation == "unset":
        assert _run("config", "set", "load.top", "1")(scene)[0] == 0
        scene.save()
    if operation.startswith("restore ") and operation != "restore":
        assert _run("backup", "TOP/before.dayleaf")(scene)[0] == 0
        assert _run("feedback", "cache", "down", "no")(scene)[0] == 0
        for name in ("gone", "doc"):
            _run("forget", name, "--hard", "--yes")(scene)
        scene.save()


def visible(scene: Scene) -> dict[str, bytes]:
    """Return the bytes of every file of the home that is not temporary or derived."""
    homes = [home for home in (scene.place.home, scene.top + "/other") if os.path.isdir(home)]
    return {
        path: data
        for home in homes
        for path, data in vault.snapshot(home).items()
        if "/cache/" not in path and "/" + files.TEMP_PREFIX not in path
    }


def blobs(steps: list[tracer.Step]) -> set[bytes]:
    """Return the complete contents that a run wrote into files."""
    found: dict[str, bytes] = {}
    done = set()
    for step in steps:
        if step.name in tracer.WRITES:
            found[step.paths[0]] = found.get(step.paths[0], b"") + step.data
        elif step.name in ("rename", "link", "unlink"):
            done.add(found.pop(step.paths[0], b""))
    return done | set(found.values())


def _is_whole(data: bytes, known: set[bytes]) -> bool:
    """Tell whether a record is known, or lacks only a key that could not be found out.

    A plan that cannot be read is named by no checkpoint.
    """
    record = frontmatter.parse(data)
    others = [] if data in known else map(frontmatter.parse, known)
    return bool(record.meta) and (
        data in known
        or any(
            record.body == other.body and record.meta.items() <= other.meta.items()
            for other in others
        )
    )


def untorn(scene: Scene, before: dict[str, bytes], written: set[bytes], case: Any = "") -> None:
    """Check that every visible record is one that was there or that was written whole, and every
    ledger line complete.

    written: what the operation writes into its files when it is left alone.  case: named where the
    check fails.
    """
    known = set(before.values()) | written
    for path, data in visible(scene).items():
        if path.endswith(".md"):
            assert _is_whole(data, known), ("torn", path, case)
        elif path.endswith(".json"):
            json.loads(data)
        elif path.endswith(".jsonl"):
            for line in data.splitlines(keepends=True):
                # what a half write left is ended by the next line's writer, and passed over by
                # readers
                if "short" in case:
                    assert not line.strip() or line.startswith(b"{"), (path, case)
                    continue
                assert (
                    not line.endswith(b"\n")
                    or not line.strip()
                    or isinstance(json.loads(line), dict)
                ), (path, case)


def healed(scene: Scene, operation: str, marks: set[str]) -> None:
    """Check that the next commands work as if nothing had been, and that everything is still there
    after them.
    """
    first = scene.call("recall", "jitter")
    assert (first.returncode, first.stderr) == (0, ""), first
    again = scene.act(operation)
    assert again[0] in AGAIN.get(operation, (0, 1)) and "fault of dayleaf" not in again[2], again
    for words in (("index", "refresh"), ("index", "verify")):
        done = scene.call(*words)
        assert (done.returncode, done.stderr) == (0, ""), (words, done)
    doctor = scene.call("doctor")
    assert ", 0 FAIL" in doctor.stdout, doctor.stdout
    assert scene.marks() >= marks - {REMOVES.get(operation, "")}


def holding(scene: Scene, text: bytes) -> list[str]:
    """Return the files of the home that hold a text."""
    return [path for path, data in vault.snapshot(scene.place.home).items() if text in data]


def sampled(total: int, most: int) -> list[int]:
    """Return the points to visit of 1 to total: all of them on demand, else the first, the last and
    some between.
    """
    if WHOLE or total <= most:
        return list(range(1, total + 1))
    return sorted({1 + round(number * (total - 1) / max(1, most - 1)) for number in range(most)})


def nothing_but_words(answer: Any, case: Any = "") -> None:
    """Check how a command speaks of a fault: status 0 to 2, and a line on stderr, or one for each
    record that stays.
    """
    status, _, err = answer
    lines = err.splitlines()
    assert status in (0, 1, 2) and "fault of dayleaf" not in err, (case, answer)
    assert len(lines) <= 1 or all(line.startswith("dayleaf: ") for line in lines), (case, answer)
