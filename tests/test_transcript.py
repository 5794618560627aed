"""Reading the host's transcripts."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from memory import shell, transcript

DATA = Path(__file__).parent / "data" / "transcripts"
NAMES = ("compact-interactive", "plain-headless", "subagent-interactive", "tools-headless", "tools-interactive")


def _line(kind="user", **more):
    record = {
        "type": kind,
        "uuid": "00000000-0000-4000-8000-%012d" % random.randrange(10**12),
        "timestamp": "2026-11-21T01:00:00.000Z",
        "cwd": "/w",
        "gitBranch": "main",
        "sessionId": "s",
        **more,
    }
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _prompt(text, **more):
    return _line(message={"role": "user", "content": text}, promptSource="typed", **more)


def _seen(path, offset=0, **more):
    reading = transcript.read(str(path), offset, **more)
    return [(e.kind, e.text) for e in reading], reading


@pytest.fixture
def projects(home):
    """The host's directory of transcripts."""
    folder = Path(home, ".claude", "projects", "-w")
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("name", "prompts"),
    [
        ("plain-headless", ["say hi"]),
        ("tools-headless", ["fix the add function and commit"]),
        ("tools-interactive", ["fix the add function and commit"]),
        ("compact-interactive", ["fix the add function and commit", "what else?", "go on"]),
        ("subagent-interactive", ["use a subagent", "again in background"]),
    ],
)
def test_only_what_a_person_typed_is_a_prompt(name, prompts):
    """Summaries, notifications, reminders, expanded commands and built-in commands are no prompts."""
    seen, reading = _seen(DATA / (name + ".jsonl"))
    assert [text for kind, text in seen if kind == transcript.PROMPT] == prompts
    assert reading.broken == 0


def test_the_other_kinds_are_told_apart():
    """A plugin's slash command, a `!` command with its output and a compaction are found once each."""
    seen, _ = _seen(DATA / "compact-interactive.jsonl")
    kinds = [kind for kind, _ in seen]
    assert (transcript.SLASH, "/probe:hello alpha") in seen
    assert (transcript.BANG, "echo bang-mode") in seen and (transcript.BANGED, "bang-mode") in seen
    assert [kinds.count(k) for k in (transcript.SLASH, transcript.BANG, transcript.COMPACT)] == [1, 1, 1]


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_result_follows_its_call(name):
    """Calls and results share an id, so that they can be joined."""
    entries = list(transcript.read(str(DATA / (name + ".jsonl"))))
    calls = [e.id for e in entries if e.kind == transcript.USE]
    assert calls == sorted(set(calls), key=calls.index)
    assert {e.id for e in entries if e.kind == transcript.RESULT} <= set(calls)


@pytest.mark.parametrize("name", NAMES)
def test_incremental_reading_is_whole_reading(name, tmp_path):
    """Growing a file by any number of bytes and reading on each time gives what one reading gives."""
    data = (DATA / (name + ".jsonl")).read_bytes()
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"")
    rng, offset, seen = random.Random(7), 0, []
    for end in [*sorted(rng.sample(range(1, len(data)), 25)), len(data)]:
        path.write_bytes(data[:end])
        more, reading = _seen(path, offset)
        seen += more
        offset = reading.offset
        assert data[:offset].endswith(b"\n") or offset == 0
    assert seen == _seen(DATA / (name + ".jsonl"))[0]


def test_a_truncated_last_line_waits(tmp_path):
    """A line without its end is left for the next reading."""
    path = tmp_path / "t.jsonl"
    first, second = _prompt("one"), _prompt("two")
    path.write_bytes(first + second[:-5])
    seen, reading = _seen(path)
    assert (seen, reading.offset) == ([("prompt", "one")], len(first))
    path.write_bytes(first + second)
    assert _seen(path, reading.offset)[0] == [("prompt", "two")]


def test_an_offset_past_the_end_reads_again_from_the_start(tmp_path):
    """A transcript that was rewritten shorter is read as a new one."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(_prompt("one"))
    assert _seen(path, 10**6)[0] == [("prompt", "one")]


def test_a_huge_line_is_skipped_and_counted(tmp_path):
    """A line of 50 MB costs no memory to speak of, and its neighbours are read."""
    import resource

    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.write(_prompt("before") + b'{"type":"user","message":{"content":"')
        for _ in range(50):
            file.write(b"x" * (1 << 20))
        file.write(b'"}}\n' + _prompt("after"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seen, reading = _seen(path)
    assert seen == [("prompt", "before"), ("prompt", "after")]
    assert (reading.long, reading.broken) == (1, 0)
    assert reading.offset == path.stat().st_size
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 << 10


def test_a_reading_stops_at_its_limit_and_the_next_goes_on(tmp_path):
    """A limit cuts at a line's end and always makes progress."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(_prompt("p%d" % n + " x" * 100000) for n in range(30)))
    seen, offset, rounds = [], 0, 0
    while offset < path.stat().st_size:
        more, reading = _seen(path, offset, limit=1 << 20)
        assert reading.offset > offset
        seen, offset, rounds = seen + more, reading.offset, rounds + 1
    assert [text.partition(" ")[0] for _, text in seen] == ["p%d" % n for n in range(30)]
    assert rounds > 1


def test_broken_lines_are_counted_not_raised(tmp_path):
    """What is no JSON, and JSON that is no object, costs nothing but its count."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'{"type":"user",\n["user"]\n"user"\n\xff"user"\n' + b'{"user"' + b"[" * 100000 + b"\n" + _prompt("ok")
    )
    seen, reading = _seen(path)
    assert seen == [("prompt", "ok")]
    assert reading.broken == 3


def test_lines_that_cannot_count_are_not_parsed(tmp_path, monkeypatch):
    """Most of a transcript (snapshots, copies of requests) is dropped unparsed, whatever the order of keys."""
    parsed = []
    real = transcript.entries
    monkeypatch.setattr(transcript, "entries", lambda record: parsed.append(record["type"]) or real(record))
    path = tmp_path / "t.jsonl"
    late = json.dumps({"uuid": "u", "message": {"content": "late"}, "timestamp": "t", "type": "user"}, indent=None)
    path.write_bytes(
        b'{"type":"api-request-blob","x":{"role":"user"}}\n{"type": "file-history-snapshot","a":"user"}\n'
        + _line("attachment", attachment={"type": "prompt_snapshot", "content": '{"role":"user"}' * 500})
        + late.encode()
        + b"\n"
    )
    assert _seen(path)[0] == [("prompt", "late")]
    assert parsed == ["user"]


@pytest.mark.parametrize(
    "more",
    [
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isApiErrorMessage": True},
        {"isSidechain": True},
        {"promptSource": "system"},
        {"turnOrigin": "task_notification"},
        {"origin": {"kind": "task-notification"}},
    ],
)
def test_machine_talk_is_left_out(tmp_path, more):
    """Every mark the host puts on what is not the person's keeps it out."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(_line(**{"message": {"role": "user", "content": "machine"}, "promptSource": "typed", **more}))
    assert _seen(path)[0] == []


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("a <private>secret</private> b", "a  b"),
        ("a <PRIVATE reason='x'>secret", "a"),
        ("a &lt;private&gt;secret&lt;/private&gt; b", "a  b"),
        ('x <dayleaf-memory scope="p">old news</dayleaf-memory> y', "x  y"),
        ("x <dayleaf-memory>never closed", "x"),
        ("<system-reminder>\nbe nice\n</system-reminder>go", "go"),
        ("red \x1b[31mtext\x1b[0m\x07", "red text"),
        ("50%\r100%", "50%\n100%"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
        ("한국어 그대로", "한국어 그대로"),
    ],
)
def test_clean_takes_out_what_must_not_be_kept(raw, kept):
    """Private parts, dayleaf's own blocks, reminders, escapes and lone surrogates go."""
    assert transcript.clean(raw) == kept


def test_any_json_is_survived():
    """Lines with any value in any place never raise."""
    rng = random.Random(3)
    values = [
        None,
        1,
        "x",
        [],
        {},
        [None],
        [{"type": "tool_result"}],
        [{"type": "text", "text": 5}],
        True,
        [{"type": "tool_use", "input": "no"}],
        {"kind": []},
    ]
    for _ in range(5000):
        record = {
            key: rng.choice(values)
            for key in (
                "uuid",
                "timestamp",
                "message",
                "origin",
                "promptSource",
                "isMeta",
                "gitBranch",
                "cwd",
                "toolUseResult",
            )
        }
        record["type"] = rng.choice(["user", "assistant", "system", None, 4])
        if rng.random() < 0.8:
            record["message"] = {"content": rng.choice(values), "model": rng.choice(values)}
        for entry in transcript.entries(record):
            assert isinstance(entry.text, str) and isinstance(entry.branch + entry.cwd + entry.uuid + entry.at, str)


def test_a_transcript_of_the_host_is_trusted(projects, env, tmp_path):
    """A regular file of ours under the projects directory counts, also under CLAUDE_CONFIG_DIR."""
    path = projects / "s.jsonl"
    path.write_bytes(_prompt("one"))
    assert transcript.trusted(str(path), env) == str(path)
    other = tmp_path / "config" / "projects" / "-x"
    other.mkdir(parents=True)
    (other / "s.jsonl").write_bytes(b"")
    assert transcript.trusted(str(other / "s.jsonl"), env) == ""
    assert transcript.trusted(str(other / "s.jsonl"), {**env, "CLAUDE_CONFIG_DIR": str(tmp_path / "config")})


def test_anything_else_is_not_trusted(projects, env, home, tmp_path):
    """Paths elsewhere, links, FIFOs, directories and non-paths are refused, and a FIFO does not hang."""
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(_prompt("one"))
    (projects / "link.jsonl").symlink_to(outside)
    (projects / "inner.jsonl").write_bytes(b"")
    (projects / "inner-link.jsonl").symlink_to(projects / "inner.jsonl")
    os.mkfifo(projects / "fifo.jsonl")
    (projects / "folder.jsonl").mkdir()
    (projects.parent / "away").symlink_to(tmp_path)
    evil = Path(home, ".claude", "projects-evil")
    evil.mkdir()
    (evil / "s.jsonl").write_bytes(b"")
    started = time.monotonic()
    for path in [
        "/etc/passwd",
        "/proc/self/mem",
        "",
        None,
        5,
        ["x"],
        "s.jsonl",
        "a\0.jsonl",
        str(outside),
        *(str(projects / n) for n in ("link.jsonl", "inner-link.jsonl", "fifo.jsonl", "folder.jsonl", "no.jsonl")),
        str(projects) + "/../../../outside.jsonl",
        str(projects.parent / "away" / "outside.jsonl"),
        str(evil / "s.jsonl"),
        "/" + "x" * 5000 + ".jsonl",
    ]:
        assert transcript.trusted(path, env) == "", path
    assert time.monotonic() - started < 2


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_not_trusted(projects, env):
    """The owner of a transcript must be the user."""
    path = projects / "s.jsonl"
    path.write_bytes(_prompt("one"))
    os.chown(path, 65534, 65534)
    assert transcript.trusted(str(path), env) == ""
    with pytest.raises(OSError):
        transcript.read(str(path))


def test_subagents_are_found_beside_their_session(projects, env):
    """Their transcripts stand in a folder named after the session's."""
    folder = projects / "s" / "subagents"
    folder.mkdir(parents=True)
    for name in ("agent-b.jsonl", "agent-a.jsonl", "agent-a.meta.json", "other.jsonl"):
        (folder / name).write_bytes(b"")
    found = transcript.agents(str(projects / "s.jsonl"), env)
    assert [Path(p).name for p in found] == ["agent-a.jsonl", "agent-b.jsonl"]


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("python3 -m pytest -q tests", "pytest"),
        ("python -c 'import x'", "python -c"),
        ("python3.11 test_calc.py", "python test_calc.py"),
        ("FOO=1 sudo npm run build:prod", "npm run build:prod"),
        ("uv run pytest -x", "pytest"),
        ("timeout 30 cargo test --all", "cargo test"),
        ("git -C /x commit -m 'y z'", "git commit"),
        ("./gradlew test", "gradlew test"),
        ("npx vitest run", "vitest run"),
        ("docker compose up -d", "docker compose"),
        ("node scripts/x.js --y", "node x.js"),
        ("python3 /opt/dayleaf/bin/x", "dayleaf"),
        ("sed -i s/a/b/ x", "sed -i"),
        ("ls -la", "ls"),
        ("for f in *; do", ""),
        ("FOO=1", ""),
    ],
)
def test_a_command_is_known_by_program_and_verb(command, key):
    """Wrappers, paths, assignments and options do not count."""
    assert shell.key_of(command) == key


@pytest.mark.parametrize(
    ("command", "output", "failed", "outcome", "summary"),
    [
        ("pytest -q", "...\n3 passed in 0.12s", False, "ok", "3 passed in 0.12s"),
        (
            "pytest -q 2>&1 | tail -3",
            "FAILED t.py::a - assert 1 == 2\n1 failed, 2 passed in 0.12s",
            False,
            "failed",
            "1 failed, 2 passed in 0.12s",
        ),
        ("pytest", "Exit code 1\n=== 1 failed, 2 passed in 1.20s ===", True, "exit 1", "1 failed, 2 passed in 1.20s"),
        ("python -m unittest", "Ran 4 tests in 0.001s\n\nOK", False, "ok", "Ran 4 tests in 0.001s, OK"),
        (
            "python -m unittest",
            "Exit code 1\nRan 4 tests in 0.1s\n\nFAILED (failures=2)",
            True,
            "exit 1",
            "Ran 4 tests in 0.1s, FAILED (failures=2)",
        ),
        (
            "npm test",
            "Tests:       1 failed, 5 passed, 6 total",
            False,
            "failed",
            "Tests:       1 failed, 5 passed, 6 total",
        ),
        (
            "cargo test",
            "test result: ok. 3 passed; 0 failed; 0 ignored",
            False,
            "ok",
            "test result: ok. 3 passed; 0 failed; 0 ignored",
        ),
        (
            "go test ./...",
            "ok  \texample.com/x\t0.01s\nFAIL\texample.com/y\t0.02s",
            False,
            "failed",
            "FAIL\texample.com/y\t0.02s",
        ),
        ("sleep 3; npm start", "Exit code 143\nCommand timed out after 1s", True, "timed out", ""),
        ("make", "The user doesn't want to proceed with this tool use.", True, "declined", ""),
    ],
)
def test_the_outcome_of_a_command(command, output, failed, outcome, summary):
    """Exit codes stand in the text; a pipe hides them, and then the test summary decides."""
    run = shell.run(command, "t", output, None, failed)
    assert (run.outcome, run.summary) == (outcome, summary)


@pytest.mark.parametrize(
    ("command", "output", "failed"),
    [
        ("ls && git status -s", "a\nb", False),
        ("cd x; pwd", "", False),
        ("git log --oneline | head", "x", False),
        ("grep foo bar", "Exit code 1", True),
        ("dayleaf recall x", "old memory", False),
        ("cat x | wc -l", "3", False),
        ("cd /p && python3 /opt/dayleaf/memory recall", "old memory", False),
        ("# just a comment", "", False),
        ("", "", False),
    ],
)
def test_noise_is_no_run(command, output, failed):
    """Looking around, a search without a hit and dayleaf's own commands leave no trace."""
    assert shell.run(command, "t", output, None, failed) is None


def test_noise_that_fails_is_a_run():
    """A failing `cat` says something."""
    run = shell.run("cat missing.txt", "t", "Exit code 1\ncat: missing.txt: No such file or directory", None, True)
    assert (run.outcome, run.detail) == ("exit 1", "cat: missing.txt: No such file or directory")


@pytest.mark.parametrize(
    ("output", "first"),
    [
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\nValueError: bad value',
            "ValueError: bad value",
        ),
        (
            "compiling\nsrc/x.rs:3: error[E0382]: borrow of moved value\nnote: x",
            "src/x.rs:3: error[E0382]: borrow of moved value",
        ),
        (
            "=== FAILURES ===\n    def test_a():\nE       assert 1 == 2\nt.py:3: AssertionError\nFAILED t.py::test_a",
            "E       assert 1 == 2",
        ),
        ("something odd\nhappened", "something odd"),
    ],
)
def test_the_telling_line_of_an_error_comes_first(output, first):
    """What was raised, else what speaks of an error, else the first line."""
    assert shell.error_lines(output)[0] == first


def test_a_here_document_is_no_command():
    """The lines of a here-document and quoted separators do not cut a command."""
    assert shell.parts("cat > a.py <<'EOF'\nrm -rf /\nEOF\npytest \"a && b\"; ls") == [
        "cat > a.py <<EOF",
        'pytest "a && b"',
        "ls",
    ]
