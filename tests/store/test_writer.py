"""Records have one writer: whatever a command does, their files are written, moved and deleted by
modules of the store alone.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from harness.hook import ROOT
from harness.vault import put

from memory.core import StoreError, config, files
from memory.health import erasure
from memory.store import redactor
from memory.store.store import Store
from memory.store.writer import TierWriter

WRITING = {
    "replace",
    "replace_if_changed",
    "create",
    "stage",
    "land",
    "append",
    "append_line",
    "remove",
    "rename",
    "unlink",
    "link",
    "symlink",
    "truncate",
    "rmtree",
    "move",
    "rmdir",
}
OWNERS = ("files", "files.posix", "os", "posix", "shutil")
# Modules outside of store/ that write files, and what these are: none of them is a record.
OTHERS = {
    "capture.leftout": "offsets of what is left out",
    "capture.progress": "a session's state, derived",
    "capture.recovery": "what was seen of transcripts, derived, and old states",
    "cli.audit": "a template of golden queries, where its user says",
    "cli.index": "an export, and settings",
    "sync.packs": "the key of a person's machines",
    "sync.syncverb": "what is derived",
    "page.onefile": "all of it as one page, where its user says",
    "terminal.editor": "the copy that an editor opens",
    "cli.main": "the trace of a fault",
    "core.approvals": "approvals and approved contents",
    "core.boundary": "the log of errors",
    "core.fastjson": "derived answers",
    "distill.cache": "digests and answers, derived",
    "distill.providers": "a model's own settings, in a folder of its own",
    "distill.spend": "what models cost",
    "health.agefile": "a backup, encrypted or opened",
    "health.bundle": "a backup",
    "health.erasure": "what is derived",
    "health.examination": "leftovers, caches, the ends of torn logs",
    "health.inspection": "the last audit, derived",
    "sync.machines": "what machines tell one another, sealed, and the key",
    "sync.syncing": "what a machine remembers of its syncs",
    "health.notekeeping": "that the user was asked about notes",
    "notes.pause": "when a model is asked for notes again",
    "health.worker": "marks of the worker",
    "core.attempts": "the worker's log",
    "hook.at_start": "a mark that a clear carries an off over",
    "hook.at_stop": "the same mark",
    "hook.context": "a project's tags, derived",
    "hook.announcements": "contents of the shared tier that are known, derived",
    "hook.handoffs": "a count, derived",
    "hook.receipts": "receipts",
    "index.builder": "the index",
    "vectors.embedder": "the vectors of past queries",
    "index.kept": "what was derived of each file",
    "vectors.vectorfile": "vectors",
    "knowledge.approvalstate": "what waits, derived",
    "knowledge.scripts": "the copy of a script that runs",
    "knowledge.walls": "the look-up of walls, derived",
    "project.adoption": "the paths seen with a workspace, and the mark of a claim without a proof",
    "project.stalemarks": "stale records, derived",
}

# Runs commands in one process whose every change of a file is seen, and prints (module, path) of
# those of records.
DRIVER = r'''
import contextlib, io, json, os, sys
root, home = sys.argv[1:3]
sys.path[:0] = [root, root + "/tests"]
from harness.session import Session
from memory.cli import main as cli
from memory.core import files
from memory.health import worker

KINDS = ("learnings", "checkpoints", "plans", "rules", "resources", "conversations", "archive")
seen = []

def is_record(path):
    parts = path.split("/")
    of_tier = (
        ".dayleaf" in parts[:-1] and any(kind in parts for kind in KINDS) and "cache" not in parts
    )
    return of_tier and parts[-1].endswith((".md", "log.jsonl")) or parts[-2:-1] == ["workspaces"]

def writer():
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(root + "/memory/") and not file.endswith("/core/files.py"):
            return file[len(root) + len("/memory/"):]
        frame = frame.f_back
    return ""

def watch(event, args):
    if event == "open":
        paths = args[:1] if isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR) else ()
    else:
        changing = event in ("os.rename", "os.link", "os.remove", "os.truncate", "os.symlink")
        paths = args[:2] if changing else ()
    for path in paths:
        if isinstance(path, str) and is_record(path) and writer():
            seen.append((writer(), path))

def say(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = cli.main([*words, "--json"])
    assert status in (0, 1), (words, status)
    return json.loads(out.getvalue() or "null")

def kept(*words):
    return say(*words)["id"]

sys.addaudithook(watch)
os.environ.update(EDITOR="""sh -c 'echo More. >> "$0"'""")
a = kept("learn", "Quote every path: some hold a space.", "--tag", "shell")
b = kept("learn", "quote every path, some hold a space", "--tag", "paths")
c = kept("learn", "The deploy key is Falkenstein-99.", "--shared")
kept("plan", "Move the retries", "--step", "first")
say("plan", "step", "1")
say("edit", a)
say("link", a, c)
say("checkpoint", "Noted by hand.")
say("handoff", "Go on with the retries.")
say("handoff", "Go on with the tests.")
say("handoff", "--clear")
say("upkeep", "--apply")
say("undo")
say("forget", b)
say("restore", b)
say("forget", b, "--hard", "--yes")
say("backup", "all.tar.gz", "--shared", "--here")
lost = next(
    path for path, _, names in os.walk(home) for name in names if name.startswith("the-deploy-key")
)
for name in os.listdir(lost):
    with open(lost + "/" + name, "a") as file:
        file.write("More.\n")
say("restore", "./all.tar.gz", "--merge", "--replace")
sys.stdin = io.TextIOWrapper(io.BytesIO(b"Falkenstein-99"))
say("redact", c, "--text", "-", "--apply", "--everywhere")
session = Session(dict(files.read_environ()), os.getcwd(), 1795271452.0)
session.ask("make it pass").bash("pytest", "1 failed in 1s", 1)
session.edit("a.py").bash("pytest", "1 passed in 1s")
ended = {"hook_event_name": "SessionEnd", "session_id": session.name}
worker.work({**ended, "transcript_path": str(session.path)}, session.env, session.now)
with open(".git/config", "a") as file:
    file.write('[remote "origin"]\n\turl = git@example.org:team/widget.git\n')
say("status")
found = list(seen)
record = next(path for module, path in found if os.path.exists(path) and path.endswith(".md"))
files_of = {"files": files, "path": record}
exec(compile("files.append(path, b'x')", root + "/memory/health/other.py", "exec"), files_of)
print(json.dumps([found, seen[len(found):]]))
'''


@pytest.fixture
def written(env, project):
    """(module, path) of every change of a record's file by some twenty commands, and those by a
    module that must not.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-c", DRIVER, str(ROOT), project],
        capture_output=True,
        text=True,
        cwd=project,
        env={**env, "DAYLEAF_RUNTIME_AUTO": "0"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_store_alone_writes_records(written):
    """Seen by the interpreter itself, through learning, editing, upkeep, restore, redact, a
    session's end, a new name.
    """
    found, others = written
    assert {module for module, _ in found if not module.startswith("store/")} == set()
    assert {"store/store.py", "store/writer.py", "store/archive.py"} <= {
        module for module, _ in found
    }
    assert any("/workspaces/widget-" in path for _, path in found) and any(
        "/archive/" in path for _, path in found
    )
    assert [module for module, _ in others] == ["health/other.py"]  # a writer elsewhere is seen


def writes(path: Path) -> bool:
    """Tell whether a module calls what changes files."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name == "write_sealed" or name in WRITING and ast.unparse(node.func.value) in OWNERS:
                return True
    return False


def test_who_else_writes_files_is_known():
    """A module that begins to write says here what, and a record's file it is not."""
    found = {
        path.parent.name + "." + path.stem
        for path in sorted((ROOT / "memory").rglob("*.py"))
        if writes(path)
    }
    assert {name for name in found if not name.startswith("store.")} - {"core.files"} == set(OTHERS)


# ---- whole files


@pytest.fixture
def tiers(place):
    """The files of the home, one learning among them, with the names that the index was told."""
    put(place, "p/learnings/a.md", "A", "the word Falkenstein")
    told: list[str] = []
    return TierWriter(place, told.append), told


def test_the_index_is_told_of_each_record(place, tiers):
    """Of what is written, renamed, moved and removed; of other files nothing."""
    made, told = tiers
    with made:
        made.rewrite(
            place.path("p/learnings/a.md"), lambda data: data.replace(b"Falkenstein", b"Eltz")
        )
        made.rename(place.path("p/learnings/a.md"), "b.md")
        made.create(place.path("g/rules/r.md"), b"# R\n", 0o600, 10**18)
        made.set_aside(place.path("g/rules/r.md"), "test", 1795271452.0)
        made.create(place.home + "/notes.txt", b"x", 0o600, 10**18)
        made.set_aside(place.home + "/notes.txt", "test", 1795271452.0)
        made.remove(place.path("p/learnings/b.md"))
    assert told == [
        "p/learnings/a.md",
        "p/learnings/a.md",
        "p/learnings/b.md",
        "g/rules/r.md",
        "g/rules/r.md",
        "p/learnings/b.md",
    ]
    assert Path(place.everyone, "archive/rules/r.md").read_bytes() == b"# R\n"
    assert (
        Path(place.home, "notes.txt.before").exists() and not Path(place.home, "notes.txt").exists()
    )


def test_a_file_that_reads_back_otherwise_is_said(place, tiers, monkeypatch):
    """As where a disk lies: the bytes are read again after they were written."""
    made, _ = tiers
    stage = files.stage
    monkeypatch.setattr(
        files, "stage", lambda path, data, mode, number: stage(path, data[:-1] + b"?", mode, number)
    )
    with made:
        with pytest.raises(StoreError, match="cannot be read back as written"):
            made.rewrite(place.path("p/learnings/a.md"), lambda data: data + b"more")
        with pytest.raises(StoreError, match="cannot be read back as written"):
            made.create(place.path("p/learnings/c.md"), b"# C\n", 0o600, 10**18)


def test_nothing_is_written_through_a_link(place, tiers, tmp_path):
    """A folder of the home that leads out takes no file, and loses none."""
    made, told = tiers
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.md").write_text("theirs")
    Path(place.private, "rules").symlink_to(tmp_path / "out")
    path = place.path("p/rules/x.md")
    with made:
        for attempt in (
            lambda: made.rewrite(path, bytes.upper),
            lambda: made.remove(path),
            lambda: made.rename(path, "y.md"),
            lambda: made.create(place.path("p/rules/y.md"), b"x", 0o600, 0),
            lambda: made.append(path, b"x"),
            lambda: made.set_aside(path, "test", 0.0),
            lambda: made.overwrite(path, lambda data: [(0, b"x")]),
        ):
            with pytest.raises(StoreError, match="a link leads out"):
                attempt()
    assert [(file.name, file.read_text()) for file in (tmp_path / "out").iterdir()] == [
        ("x.md", "theirs")
    ] and told == []


def test_an_erasure_waits_for_an_upkeep_without_the_stores_lock(place, tiers):
    """The upkeep that it waits for needs that lock for each of its changes."""
    found = erasure.make_finder({"Falkenstein": "[redacted:text#0000]"})
    own = frozenset({place.path("p/learnings/a.md")})
    held = erasure.search(place, found, own)[1]
    done = []
    with files.Lock(place.home + "/cache/upkeep.lock") as ours:
        assert ours
        waiting = threading.Thread(
            target=lambda: done.append(erasure.erase(place, found, held, own, False, 0.0))
        )
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        with files.Lock(place.home + "/cache/store.lock") as free:
            assert free
    waiting.join(20)
    assert done[0].changed == 1 and done[0].held == []


TOKEN = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3eF5"
OFF, ALLOWED = {"redact.enabled": False}, {"redact.allow": [TOKEN]}


def open_store(place, now, settings=()) -> Store:
    given = config.load(place.home, "", {})
    given.values.update(settings)
    return Store(place, given, now)


def is_sealed(store, name) -> bool:
    return redactor.is_captured(super(Store, store).read(name))


@pytest.mark.parametrize(
    "settings, text, sealed",
    [({}, TOKEN, True), (OFF, TOKEN, False), (ALLOWED, TOKEN, False), (ALLOWED, "pinned", True)],
    ids=["on", "off", "allowed", "another allowed"],
)
def test_only_what_was_cleaned_is_marked_as_cleaned(place, now, settings, text, sealed):
    """A new record, and a page that grows; what the settings let through is searched later."""
    store, first = open_store(place, now, settings), open_store(place, now)
    added = store.add("checkpoint", "Fix it", "With %s.\n" % text, source="auto")
    assert is_sealed(store, added.name) == sealed
    titled = store.add("checkpoint", "Fix " + text, "Done.\n", source="auto")
    assert is_sealed(store, titled.name) == sealed
    grown = first.add("conversation", "Fix it", "## 09:00 Go\n", source="auto")
    assert is_sealed(store, grown.name)
    data = first.raw(grown.name)
    store.replace(grown.name, data + b"\nWith %s.\n" % text.encode(), files.sha256(data))
    assert is_sealed(store, grown.name) == sealed
    clean = open_store(place, now)
    for name in (added.name, titled.name, grown.name):
        kept = redactor.clean_record(clean.read(name), clean.config, place.key)
        assert TOKEN not in kept.body + kept.title
