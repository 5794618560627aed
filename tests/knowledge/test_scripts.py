"""An approved script runs exactly as it was approved, with little around it, and nothing else
runs.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from harness.command import gone
from harness.hook import ROOT
from harness.interpreter import PYTHON
from harness.scripts import SAYS, keeper

from memory.core import StoreError, approvals
from memory.knowledge import scripts
from memory.project import material
from memory.terminal.screen import OutputPrinter


@pytest.fixture
def kept(place, project, now):
    """Keep a script as a resource, approved if wanted: kept(text, approve=True, name=...) -> its
    record.
    """
    return keeper(place, project, now)


def copies(place) -> list[str]:
    """What stands in the directory of the copies."""
    folder = Path(place.cache, "run")
    return sorted(os.listdir(folder)) if folder.exists() else []


# ---- what a script is given


def test_a_script_says_what_runs_and_gives_its_status(run, kept, place, project):
    """On stderr before it starts; its stdout is its own; the copy is gone."""
    record = kept("#!/bin/sh\necho out; echo err >&2; pwd; exit 7\n")
    done = run("resource", "run", record.id)
    assert (done.returncode, done.stdout) == (7, f"out\n{project}\n")
    before, _, after = done.stderr.rpartition("  in: ")
    assert after == f"{project}\nerr\n"
    assert f"private copy of {project}/do it.sh" in before and "argv: /bin/sh " in before
    assert "sha256: " + material.files.sha256(Path(project, "do it.sh").read_bytes()) in before
    assert copies(place) == []


def test_words_arrive_as_they_are(run, kept):
    """No shell reads them."""
    record = kept('#!/bin/sh\nfor word in "$@"; do printf "<%s>" "$word"; done\n')
    words = [
        "a b",
        "it's",
        'say "x"',
        "; rm -rf /",
        "$(id)",
        "`id`",
        "-e",
        "--",
        "--help",
        "*",
        "",
        "x\ny",
        "한국어",
        "$HOME",
        "--timeout",
        "0",
    ]
    assert run("resource", "run", record.id, "--", *words).stdout == "".join(
        f"<{word}>" for word in words
    )


def test_the_environment_is_a_short_list(run, kept, project):
    """No token leaks; the script learns where it came from, and whether a model asked."""
    record = kept("#!/usr/bin/env -S sh\nenv\n")
    more = {
        "FOO_SECRET": "x",
        "AWS_SESSION_TOKEN": "x",
        "DAYLEAF_HOME_X": "x",
        "PYTHONPATH": "/x",
        "LD_PRELOAD": "",
        "LC_ALL": "C.UTF-8",
        "USER": "u",
        "PATH": f".:bin:{os.environ['PATH']}",
        "CLAUDECODE": "1",
        "BASH_ENV": "/x",
        "ENV": "/x",
    }
    found = dict(
        line.split("=", 1) for line in run("resource", "run", record.id, **more).stdout.splitlines()
    )
    assert set(found) - {"PWD", "SHLVL", "_", "OLDPWD"} == {
        "HOME",
        "PATH",
        "LANG",
        "LC_ALL",
        "USER",
        "CLAUDECODE",
        "DAYLEAF_SCRIPT",
    }
    assert found["DAYLEAF_SCRIPT"] == f"{project}/do it.sh" and found["PATH"] == os.environ["PATH"]


def test_stdin_is_empty(run, kept):
    """A script never waits for a person who is not there."""
    record = kept("#!/bin/sh\ncat\n")
    assert run("resource", "run", record.id, stdin="said\n").stdout == ""


def test_a_script_stands_in_the_project(run, kept, project):
    """Also from a subdirectory."""
    record = kept("#!/bin/sh\npwd\n")
    inner = Path(project, "inner")
    inner.mkdir()
    assert run("resource", "run", record.id, cwd=str(inner)).stdout == f"{project}\n"


def test_a_python_script_imports_nothing_from_beside_itself(run, kept, project):
    """A module planted there is not the approved content."""
    Path(project, "json.py").write_text("print('PLANTED')\n")
    record = kept(
        f"#!{PYTHON}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n", name="tool.py"
    )
    assert run("resource", "run", record.id, "--", "x").stdout == '["x"]\n'


def test_the_copy_is_the_users_alone(run, kept, place):
    """0500 in a directory of 0700 with a name that cannot be guessed."""
    record = kept('#!/bin/sh\nstat -c "%a %n" "$0" "$(dirname "$0")"\n')
    rows = [run("resource", "run", record.id).stdout.splitlines() for _ in range(2)]
    assert [row.split(" ", 1)[0] for row in rows[0]] == ["500", "700"] and rows[0][1] != rows[1][1]
    assert rows[0][0].endswith("/do_it.sh") and rows[0][1].startswith(
        "700 " + place.cache + "/run/"
    )


# ---- the end of it


def test_a_deadline_ends_the_whole_group(run, kept, tmp_path):
    """A grandchild too, one that ignores the request is killed; the status is 124."""
    mark = tmp_path / "pids"
    record = kept(
        f"#!/bin/sh\ntrap '' TERM\n(trap '' TERM; sh -c 'echo $$ >> {mark}; exec sleep 60') &\n"
        f"echo $$ >> {mark}\nsleep 60\n"
    )
    start = time.monotonic()
    done = run("resource", "run", record.id, "--timeout", "1")
    assert (
        done.returncode == 124
        and "stopped after 1 second" in done.stderr
        and time.monotonic() - start < 12
    )
    pids = [int(line) for line in mark.read_text().split()]
    assert len(pids) == 2 and all(gone(pid) for pid in pids)


def test_a_deadline_lets_a_script_clean_up(run, kept):
    """It is asked before it is killed."""
    record = kept("#!/bin/sh\ntrap 'echo cleaned; exit 3' TERM\nsleep 60 &\nwait\n")
    done = run("resource", "run", record.id, "--timeout", "1")
    assert (done.returncode, done.stdout) == (124, "cleaned\n")


def test_what_a_script_leaves_behind_ends_with_it(run, kept, tmp_path):
    """A background process neither holds the pipe nor lives on."""
    mark = tmp_path / "pid"
    record = kept(f"#!/bin/sh\nsleep 60 &\necho $! > {mark}\necho done\n")
    start = time.monotonic()
    assert run("resource", "run", record.id).stdout == "done\n" and time.monotonic() - start < 10
    assert gone(int(mark.read_text()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_ends_the_script_and_removes_the_copy(
    number, kept, env, project, place, tmp_path
):
    """As the person would expect of what they started."""
    mark = tmp_path / "pid"
    record = kept(f"#!/bin/sh\necho $$ > {mark}.new; mv {mark}.new {mark}\nexec sleep 60\n")
    process = subprocess.Popen(
        [sys.executable, "-I", str(ROOT / "memory"), "resource", "run", record.id],
        env=env,
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # below `nohup` a hang-up is ignored, by what it starts too
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    while not mark.exists():
        time.sleep(0.02)
    assert len(copies(place)) == 1
    process.send_signal(number)
    process.communicate(timeout=20)
    assert (
        process.returncode == 128 + number and gone(int(mark.read_text())) and copies(place) == []
    )


def test_the_copy_of_a_killed_run_goes_with_the_next(run, kept, place):
    """That of a run which still goes on stays."""
    record = kept()
    for pid in (1 << 22, os.getpid()):
        Path(place.cache, "run", f"{pid}-x").mkdir(parents=True)
    assert run("resource", "run", record.id).stdout == "GOOD\n"
    assert copies(place) == [f"{os.getpid()}-x"]


def test_a_signal_is_told_as_a_shell_tells_it(run, kept):
    """128 and its number."""
    assert run("resource", "run", kept("#!/bin/sh\nkill -9 $$\n").id).returncode == 137


# ---- what it is called by, and what is said of it


def test_a_script_is_run_by_its_files_name(run, kept):
    """As people call it."""
    kept("#!/bin/sh\necho ran $1\n", name="bin/count it.sh")
    assert run("resource", "run", "count it.sh", "--", "x").stdout == "ran x\n"


def test_json_holds_all_of_it(run, kept):
    """And the status of the process is the script's too."""
    done = run(
        "resource",
        "run",
        kept("#!/bin/sh\necho out; echo err >&2; exit 4\n").id,
        "--json",
        "--",
        "x",
    )
    value = json.loads(done.stdout)
    assert done.returncode == 4 and (
        value["status"],
        value["stdout"],
        value["stderr"],
        value["in_time"],
    ) == (4, "out\n", "err\n", True)
    assert value["approved"] and value["argv"][2:] == ["x"] and len(value["sha256"]) == 64


# ---- what does not run


def test_a_script_that_changed_since_it_was_approved_says_so(run, kept, project, place, now):
    """What nobody saw is told from what somebody saw as it was before, and from what was
    rejected.
    """
    record = kept("#!/bin/sh\necho one\n")
    Path(project, "do it.sh").write_text("#!/bin/sh\necho two\n")
    said = "changed since it was approved: `dayleaf resource approve %s` shows how" % record.id
    done = run("resource", "run", record.id)
    assert (
        (done.returncode, done.stdout) == (1, "")
        and said in done.stderr
        and "nobody" not in done.stderr
    )
    digest = hashlib.sha256(b"#!/bin/sh\necho two\n").hexdigest()
    approvals.append_decision(
        place.home,
        approvals.script_workspace(record.name, place.key),
        record.id,
        digest,
        "reject",
        "joe",
        now,
    )
    assert "was rejected" in run("resource", "run", record.id).stderr
    other = kept("#!/bin/sh\necho new\n", False, "other.sh")
    assert "waits for review: approve it with" in run("resource", "run", other.id).stderr


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("echo hi\n", 0o644, "add one"),
        ("echo hi\n", 0o755, "add one"),
        ("#!\n", 0o755, "no absolute path"),
        ("#!sh\n", 0o755, "no absolute path"),
        ("#!./evil\n", 0o755, "no absolute path"),
        ("#!/nowhere/sh\n", 0o755, "cannot be executed here"),
        ("#!/bin/sh\r\necho\r\n", 0o755, "carriage return"),
        ("#!/etc\n", 0o755, "cannot be executed here"),
    ],
)
def test_what_cannot_run_says_what_mends_it(run, kept, project, text, mode, said):
    """One line; also for who wants to approve it."""
    record = kept(text)
    Path(project, "do it.sh").chmod(mode)
    done = run("resource", "run", record.id)
    assert (
        done.returncode == 1
        and done.stderr.count("\n") == 1
        and said in done.stderr
        and "; " in done.stderr
    )


def test_a_program_of_the_machines_own_form_runs_by_its_run_bit(run, kept, project):
    """A compiled one has no first line."""
    record = kept(Path("/bin/echo").read_bytes())
    assert run("resource", "run", record.id, "--", "hi").returncode == 1
    Path(project, "do it.sh").chmod(0o755)
    assert run("resource", "run", record.id, "--", "hi").stdout == "hi\n"


def test_nothing_runs_inside_a_hook_or_a_nested_model(run, kept, env):
    """Whatever is approved."""
    record = kept()
    for words, more in ((["--hook"], {}), ([], {"DAYLEAF_NESTED": "1"})):
        done = run("resource", "run", record.id, *words, **more)
        assert done.returncode == 2 and "GOOD" not in done.stdout


def test_a_model_may_run_what_is_approved_alone(run, kept):
    """That is what it is for."""
    assert run("resource", "run", kept().id, CLAUDECODE="1").stdout == "GOOD\n"
    done = run(
        "resource",
        "run",
        kept("#!/bin/sh\necho BAD\n", approve=False, name="other.sh").id,
        CLAUDECODE="1",
    )
    assert (done.returncode, done.stdout) == (1, "") and "waits for review" in done.stderr


# ---- a file that is swapped

EVIL = "#!/bin/sh\necho EVIL\n"


def swapper(path: Path, stop: threading.Event, link: bool) -> threading.Thread:
    """Start a thread that swaps a script with another one, by rename, in place, or by links, until
    it is stopped.
    """
    good, evil = path.with_name("good"), path.with_name("evil")
    good.write_text(SAYS)
    evil.write_text(EVIL)

    def swap():
        number = 0
        while not stop.is_set():
            number += 1
            text, new = (EVIL, SAYS)[number % 2], path.with_name("new")
            new.unlink(missing_ok=True)
            if link and number % 4 < 2:
                new.symlink_to((evil, good)[number % 2])
                os.replace(new, path)
            elif number % 5 and not path.is_symlink():
                path.write_text(text)
            else:
                new.write_text(text)
                os.replace(new, path)
            time.sleep(0.0002 + 0.002 * (number % 4 == 3))

    thread = threading.Thread(target=swap)
    thread.start()
    return thread


def test_a_script_that_is_swapped_between_check_and_run_runs_as_approved(kept, place, env, project):
    """Each time after it was read and before it runs."""
    record, path, said = kept(), Path(project, "do it.sh"), io.StringIO()
    for number in range(100):
        path.write_text(SAYS)
        told = scripts.prepare_run(record, place, [], env)
        path.unlink()
        path.write_text(EVIL) if number % 2 else path.symlink_to("/bin/false")
        with OutputPrinter(said, said) as printer:
            assert scripts.run_script(told, place.cache, 20.0, printer.tell) == (0, True)
        path.unlink()
    assert said.getvalue() == "GOOD\n" * 100


@pytest.mark.parametrize("link", [False, True], ids=["files", "links"])
def test_of_a_thousand_swapped_runs_none_is_of_other_bytes(link, kept, place, env, project, now):
    """What is compared is what runs, whenever the file is swapped."""
    record, path, stop = kept(), Path(project, "do it.sh"), threading.Event()
    thread, ran, refused, end = swapper(path, stop, link), 0, 0, time.monotonic() + 20
    try:
        while ran + refused < 1000 or (min(ran, refused) < 20 and time.monotonic() < end):
            out = io.StringIO()
            try:
                told = scripts.prepare_run(record, place, [], env)
                with OutputPrinter(out, out) as printer:
                    status, _ = scripts.run_script(told, place.cache, 20.0, printer.tell)
            except StoreError:
                refused += 1
            else:
                assert (status, out.getvalue()) == (0, "GOOD\n")
                ran += 1
    finally:
        stop.set()
        thread.join()
    assert ran and refused and copies(place) == []


def test_a_swapped_file_runs_nothing_through_the_command_line(run, kept, project):
    """The same as a process."""
    record, path, stop = kept(), Path(project, "do it.sh"), threading.Event()
    thread = swapper(path, stop, True)
    try:
        said = [run("resource", "run", record.id) for _ in range(25)]
    finally:
        stop.set()
        thread.join()
    assert all(done.stdout in ("GOOD\n", "") and "EVIL" not in done.stdout for done in said)


def test_an_order_whose_bytes_were_exchanged_does_not_run(kept, place, env):
    """The last check stands before the copy."""
    told = scripts.prepare_run(kept(), place, [], env)._replace(data=EVIL.encode())
    with pytest.raises(StoreError, match="waits for review"):
        scripts.run_script(told, place.cache, 20.0, lambda number, data: None)
