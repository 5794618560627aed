"""Files that a repository or an accident puts into the store: no command stops working, and each is
skipped by its name.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from harness.command import dayleaf
from harness.hook import ROOT, fire, harmless, payload
from harness.vault import put

from memory.index import builder

MODES = (
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
)
# Runs each command within one process, since rights that are given up cannot be had back.
EACH = """
import json, sys
sys.path.insert(0, sys.argv[1])
from harness.command import dayleaf
env, lines = json.load(sys.stdin)
done = [dayleaf(env, sys.argv[2])(*words) for words in lines]
print(json.dumps([(ended.returncode, ended.stdout, ended.stderr) for ended in done]))
"""
PROMPT = "why does the kafka rebalance fail with E0001?"


def loop(folder: Path) -> None:
    (folder / "x.md").symlink_to("x.md")


def mutual(folder: Path) -> None:
    (folder / "x.md").symlink_to("y")
    (folder / "y").symlink_to("x.md")


def out_of_the_tier(folder: Path) -> None:
    (folder / "x.md").symlink_to("/etc/passwd")


def dangling(folder: Path) -> None:
    (folder / "x.md").symlink_to("nowhere.md")


def linked_folder(folder: Path) -> None:
    (folder / "x.md").symlink_to("/etc")


def fifo(folder: Path) -> None:
    os.mkfifo(folder / "x.md")


def linked_fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "x.md").symlink_to("pipe")


def listening(folder: Path) -> None:
    here = os.getcwd()
    os.chdir(folder)  # a socket's path has at most 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("x.md")
    finally:
        os.chdir(here)


def device(folder: Path) -> None:
    try:
        # /dev/zero: whoever reads it never ends
        os.mknod(folder / "x.md", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


def folder_named_so(folder: Path) -> None:
    (folder / "x.md").mkdir()


def binary(folder: Path) -> None:
    (folder / "x.md").write_bytes(b"\x7fELF kafka rebalance\n" + bytes(range(256)) * 64)


def few_nuls(folder: Path) -> None:
    (folder / "x.md").write_bytes(b"kafka rebalance " * 100 + b"\0" + b"kafka rebalance " * 100)


def no_text(folder: Path) -> None:
    (folder / "x.md").write_bytes(b"kafka rebalance\n" + bytes(range(0x80, 0x100)) * 64)


def large(folder: Path) -> None:
    (folder / "x.md").write_bytes(
        b"---\ntitle: Large\n---\n" + b"kafka rebalance and more of it.\n" * 160_000
    )


def far_future(folder: Path) -> None:
    path = folder / "x.md"
    path.write_text("---\ntitle: From the future\n---\nkafka\n")
    os.utime(path, (2**62, 2**62))


def far_created(folder: Path) -> None:
    (folder / "x.md").write_text(
        "---\ntitle: Later\ncreated: 1%s\nupdated: 1%s\n---\nkafka\n" % ("0" * 40, "0" * 40)
    )


def deep(folder: Path) -> None:
    path = folder.joinpath(*["d"] * 40)
    path.mkdir(parents=True)
    (path / "x.md").write_text("---\ntitle: Deep\n---\nkafka\n")


def long_name(folder: Path) -> None:
    (folder / ("n" * 252 + ".md")).write_text("---\ntitle: Long name\n---\nkafka\n")


def odd_name(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe\x1b[31m\n.md")).write_text(
        "---\ntitle: Odd name\n---\nkafka\n"
    )


def linked_to_odd_name(folder: Path) -> None:
    (folder / "x.md").symlink_to(os.fsdecode(b"\xff/\xfe"))


# What is planted, and what `doctor` says of it ("" where it is read as a record, or is none).
PLANTED = {
    loop: "a link that leads back to itself",
    mutual: "a link that leads back to itself",
    out_of_the_tier: "a link out of the store",
    dangling: "a link to nothing",
    linked_folder: "a link to a directory is not followed",
    fifo: "not a regular file",
    linked_fifo: "not a regular file",
    listening: "not a regular file",
    device: "not a regular file",
    folder_named_so: "",
    binary: "not UTF-8 text",
    few_nuls: "not UTF-8 text",
    no_text: "not UTF-8 text",
    large: "only the first 1 MiB",
    far_future: "",
    far_created: "is not a date",
    deep: "nested more than 8 folders deep",
    long_name: "",
    odd_name: "",
    linked_to_odd_name: "a link to nothing",
}
COMMANDS = (
    "index build",
    "status",
    "doctor",
    "recall kafka",
    "show l-0",
    "load kafka_rebalance",
    "load --explain kafka",
    "why",
    "audit",
    "upkeep",
    "upkeep --apply",
    "undo",
    "stats",
    "graph",
    "graph l-0",
    "index refresh",
    "index verify",
    "index status",
    "index export",
    "eval --template golden.yaml",
    "learn A_new_note",
    "checkpoint A_note",
    "handoff A_note",
    "harvest",
    "standup",
    "feedback l-0 up",
    "redact l-1 --text E0001. --apply",
    "link l-0 related_to l-1",
    "plan A_plan",
    "rule list",
    "review",
    "resource list",
    "recall --lexical kafka",
    "distill kafka --provider extract",
    "workspace",
    "config list",
    "forget l-2",
    "restore l-2",
    "forget l-2 --hard --yes",
    "backup {backup}",
    "doctor --fix",
    "check",
)
ENDS = {"review": 2}  # without a terminal; every other command ends with 0


@pytest.fixture
def world(env, project, place, tmp_path) -> dict:
    """The environment of commands and hooks in a project that has records in both tiers."""
    for letter, first in (("p", 0), ("s", 6)):
        for i in range(first, first + 6):
            put(
                place,
                f"{letter}/learnings/l-{i}.md",
                f"The kafka rebalance trap {i}",
                f"Restart worker {i} after E000{i}.",
                created=f"2026-11-{1 + i:02d}",
            )
    put(place, "s/rules/pin.md", "Pin it", "Always pin.", rationale="it broke")
    return {**env, "CLAUDE_PROJECT_DIR": project}


def words(command: str, tmp_path: Path) -> list[str]:
    return [
        word.replace("_", " ")
        if word[0].isupper() or word.startswith("kafka_")
        else word.format(backup=tmp_path / "b.tar.gz")
        for word in command.split()
    ]


def statuses(world: dict, project: str, tmp_path: Path) -> dict[str, tuple[int, str]]:
    """Run every command once and return its status and what it said wrong."""
    run = dayleaf(world, project)
    done = {command: run(*words(command, tmp_path)) for command in COMMANDS}
    return {command: (ended.returncode, ended.stderr) for command, ended in done.items()}


def plant(made, place, tier: str) -> Path:
    """Plant one thing in a folder of its own among the learnings of a tier."""
    folder = Path(place.folder(tier, "learning"), made.__name__)
    folder.mkdir()
    made(folder)
    return folder


@pytest.mark.parametrize("tier", ["", "p", "s"])
def test_no_command_stops_working(tier, world, project, place, tmp_path):
    """Whatever is planted in a tier, each command ends as it ends without it."""
    if tier:
        for made in PLANTED:
            plant(made, place, tier)
    ended = statuses(world, project, tmp_path)
    ends = {**ENDS, "check": 1} if tier else ENDS
    assert {
        command: said for command, said in ended.items() if said[0] != ends.get(command, 0)
    } == {}


@pytest.mark.parametrize("tier", ["p", "s"])
def test_what_is_skipped_is_named(tier, world, project, place):
    """`doctor` and `check` name each planted entry with the reason; what can be read is a
    record.
    """
    folders = {made: plant(made, place, tier) for made in PLANTED}
    for command in ("doctor", "check"):
        said = dayleaf(world, project)(command).stdout.splitlines()
        for made, reason in PLANTED.items():
            about = [
                line
                for line in said
                if "/%s/" % made.__name__ in line and (not reason or reason in line)
            ]
            assert bool(about) == bool(reason) or not reason, (command, made, said)
            assert folders[made].exists()


@pytest.mark.parametrize("made", [loop, out_of_the_tier])
def test_a_shared_tier_that_leads_away_is_named(made, world, project, place):
    """A `.dayleaf` that is a link out of the repository, or to itself, is not read, and `doctor`
    says so.
    """
    shutil.rmtree(project + "/.dayleaf")
    Path(project, ".dayleaf").symlink_to(".dayleaf" if made is loop else "/etc")
    ended = dayleaf(world, project)("doctor")
    assert ended.returncode in (0, 1) and ended.stderr == ""
    assert (
        "a link that leads back to itself" if made is loop else "a link out of the repository"
    ) in ended.stdout
    assert dayleaf(world, project)("recall", "kafka").returncode == 0


@pytest.mark.parametrize("tier", ["p", "s"])
def test_a_session_starts_and_its_worker_ends(tier, world, project, place):
    """A start and a prompt answer; the worker behind them builds the index, and nothing goes to the
    log of failures.
    """
    for made in PLANTED:
        plant(made, place, tier)
    Path(place.home, "runtime").symlink_to(sys.prefix)
    bare = {**world, "PATH": "/usr/bin:/bin"}
    start = harmless(fire("session_start", payload("SessionStart", "startup"), bare))
    answer = harmless(fire("prompt", payload("UserPromptSubmit", prompt=PROMPT), bare))
    assert start.settled and answer.settled
    log = Path(place.home, "log", "errors.jsonl")
    assert not log.exists(), log.read_text()
    assert list(Path(place.cache).iterdir())
    assert "E0001" in answer.context
    for text in (start.context, answer.context):
        assert not [mark for mark in ("ELF", "\ufffd", "\0", "\x1b", "root:") if mark in text]


@pytest.mark.parametrize("made", [binary, few_nuls, no_text])
def test_a_first_prompt_in_a_fresh_clone_shows_nothing_binary(made, world, place):
    """Without an index, and with one that was built while the file was text, a binary file reaches
    no prompt.
    """
    folder = plant(made, place, "s")
    Path(place.home, "runtime").symlink_to(sys.prefix)
    bare = {**world, "PATH": "/usr/bin:/bin"}
    put(
        place,
        "s/learnings/canary.md",
        "Canary hosts drain slowly",
        "The pool drains for nine minutes.",
    )
    ask = payload(
        "UserPromptSubmit", prompt="the kafka rebalance: how long do the canary hosts drain?"
    )
    first = harmless(fire("prompt", ask, bare))
    kept = (folder / "x.md").read_bytes()
    (folder / "x.md").write_text(
        "---\ntitle: The kafka rebalance ELF\n---\nThe kafka rebalance fails.\n"
    )
    builder.build(place, 0.0)
    (folder / "x.md").write_bytes(kept)
    second = harmless(fire("prompt", {**ask, "session_id": "s-2"}, bare))
    for answer in (first, second):
        assert (
            "nine minutes" in answer.context
            and "\ufffd" not in answer.context
            and "ELF" not in answer.context
        )
        assert made.__name__ not in answer.context and "[x]" not in answer.context


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"),
    reason="only root can give up its rights over modes",
)
@pytest.mark.parametrize("what", ["file", "folder"])
@pytest.mark.parametrize("tier", ["p", "s"])
def test_a_closed_file_or_folder_stops_no_command(tier, what, world, project, place, tmp_path):
    """What may not be opened is named with its remedy; the other records answer."""
    closed = Path(place.folder(tier, "learning"), "x.md" if what == "file" else "sub")
    if what == "file":
        closed.write_text("---\ntitle: Closed\n---\nkafka\n")
    else:
        closed.mkdir()
    closed.chmod(0)
    if (
        subprocess.run(
            [*MODES, "cat", str(closed)], capture_output=True, text=True, check=False
        ).stderr.find("denied")
        < 0
        and what == "file"
    ):
        pytest.skip("modes mean nothing here")
    done = subprocess.run(
        [*MODES, sys.executable, "-c", EACH, str(ROOT / "tests"), project],
        capture_output=True,
        timeout=300,
        check=False,
        input=json.dumps([world, [words(command, tmp_path) for command in COMMANDS]]).encode(),
    )
    assert done.returncode == 0, done.stderr
    for command, (status, out, err) in zip(COMMANDS, json.loads(done.stdout)):
        assert status in (0, 1, 2), (command, err)
        assert "permission denied" not in err.lower() or command in ("doctor --fix",), (
            command,
            err,
        )
        if command in ("doctor", "check"):
            assert "permission denied" in out and closed.name in out, (command, out)
