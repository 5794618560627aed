"""The command line as a whole: words, exit statuses, help, the launcher, and hostile
surroundings.
"""

from __future__ import annotations

import ast
import inspect
import json
import keyword
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from harness.command import one_line_error

from memory.cli import imports, index, main, plan, recall, resource
from memory.core import plaintext, spellings
from memory.terminal import arguments

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."
WRONG = [
    (["recal", "x"], "did you mean 'recall'?"),
    (["serach", "x"], "did you mean 'recall'?"),
    (["rmember", "x"], "did you mean 'learn'?"),
    (["recall", "--limt", "3", "x"], "did you mean '--limit'?"),
    (["recall", "-n", "3", "x"], "did you mean '--limit'?"),
    (["recall", "-q", "x"], "`dayleaf recall --help` lists them"),
    (["recall", "--kind", "learnin"], "did you mean 'learning'?"),
    (["recall", "--limit", "many"], "'many' is not a whole number above 0"),
    (["recall", "--limit", "0"], "'0' is not a whole number above 0"),
    (["recall", "--min-score", "nan"], "'nan' is not a number"),
    (["recall", "--limit"], "expected one argument"),
    (["recall", "--since", "whenever"], "'whenever' is not a time"),
    (["recall", "--workspace", "nowhere"], "no workspace 'nowhere'"),
    (["distill"], "needs a question"),
    (["distill", "x", "--provider", "gemni"], "did you mean 'gemini'?"),
    (["learn", " "], "the learning is empty"),
    (["learn", "x", "--global", "--shared"], "exclude each other"),
    (["show"], "show needs an ID, or `file`"),
    (["index", "biuld"], "did you mean 'build'?"),
    (["config", "set", "load.topp", "3"], "did you mean 'load.top'?"),
    (["config", "set", "load.top", "three"], "takes a whole number from 0 to 50"),
    (["config", "set", "load.enabled", "maybe"], "takes true or false"),
    (["config", "set", "redact.allow", "x"], "write it as JSON"),
    (["config", "set", "distill.provider", "claud"], "did you mean 'claude'?"),
    (["config", "sett"], "did you mean 'set'?"),
    (["rule", "aprove", "r-1"], "did you mean 'approve'?"),
    (["off"], "no session has run in this workspace yet"),
    (["load"], "debug load needs a prompt"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_wrong_words_end_with_2_and_one_line_that_helps(run, words, said):
    """No usage dump: the fault, and the nearest valid word."""
    assert said in one_line_error(run(*words), 2)


@pytest.mark.parametrize("verb", [verb for verb in main.VERBS if verb != "today"])
def test_every_verb_has_help_without_a_home(run, verb, tmp_path):
    """Help needs nothing and writes nothing."""
    done = run(verb, "--help")
    usage = "usage: " + spellings.format_command(verb)
    assert done.returncode == 0 and usage in done.stdout and "--json" in done.stdout
    listed = run("help", *spellings.spell_verb(verb).split()[:1]).stdout
    assert re.search(r"\b%s\b" % spellings.spell_verb(verb).split()[-1], listed)


def test_the_help_fits_one_screen(run):
    """At most 20 verbs; each word behind one has its line in the help of its family."""
    lines = run("help", COLUMNS="80").stdout.splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ")]
    assert len(names) == len(set(names)) <= 20 and len(lines) <= 25
    alone = {verb for verb in main.VERBS if verb not in spellings.MOVED}
    programs = set(arguments.PROGRAMS[1].split())
    assert set(names) == alone - programs | set(spellings.FAMILIES)
    for row, new in spellings.MOVED.items():
        family, _, word = new.partition(" ")
        assert row == "today" or re.search("(?m)^  %s( |$)" % word, run("help", family).stdout)


@pytest.mark.parametrize("verb", sorted(set(spellings.MOVED) - {"today"}))
def test_an_old_spelling_works_and_says_the_new_one(verb, process, home):
    """In one line on stderr; all else is the same."""
    env = {"COLUMNS": "90"}
    old = subprocess.run(
        [sys.executable, "-I", str(ROOT / "memory"), verb, "--no-such"],
        capture_output=True,
        env={"HOME": home, "PATH": os.environ["PATH"], **env},
        encoding="utf-8",
    )
    new = process(verb, "--no-such", **env)
    first, *rest = old.stderr.splitlines()
    assert "`dayleaf %s` is `%s` now" % (verb, spellings.format_command(verb)) in first
    assert (old.returncode, rest, old.stdout) == (2, new.stderr.splitlines(), new.stdout)


def test_an_option_that_became_a_word_still_works(env, project, run):
    """`index --verify` verifies; the new spelling is said on stderr alone."""
    run("index", "build")
    done = subprocess.run(
        [sys.executable, "-I", str(ROOT / "memory"), "index", "--verify", "--json"],
        capture_output=True,
        cwd=project,
        env=env,
        encoding="utf-8",
    )
    assert done.returncode == 0 and json.loads(done.stdout)
    assert "`dayleaf index verify` now" in done.stderr and done.stderr.count("\n") == 1


def test_a_session_may_do_the_same_by_either_spelling(env, project, run):
    """One table of rows: what is refused behind a family's word is refused alone."""
    for verb in ("undo", "backup", "restore", "redact", "edit", "view"):
        old = subprocess.run(
            [sys.executable, "-I", str(ROOT / "memory"), verb],
            capture_output=True,
            cwd=project,
            env={**env, "CLAUDECODE": "1"},
            encoding="utf-8",
        )
        new = run(verb, CLAUDECODE="1")
        assert new.returncode == old.returncode == 2 and "only a person" in new.stderr
        assert old.stderr.splitlines()[1:] == new.stderr.splitlines()


def test_the_help_is_by_task(run):
    """What a person wants to do comes first, each verb once under it; a task, a verb and a word of
    one have help of their own.
    """
    lines = run("help").stdout.splitlines()
    tasks = [line for line in lines if line.endswith(":") and line[0] != " "]
    assert (
        tasks[0] == "Find what was said and done:"
        and lines[2].split()[0] == "recall"
        and len(tasks) >= 4
    )
    assert max(map(len, lines)) <= 100
    for words, said in (
        (["found"], "dayleaf learn"),
        (["resource"], "run ID [-- ARGS]"),
        (["resource", "run"], "--timeout"),
    ):
        assert said in run("help", *words).stdout
    assert "--kind" not in run("resource", "list", "--help").stdout + run("help", "resource").stdout
    assert "did you mean 'recall'?" in one_line_error(run("help", "list"), 2)


def test_the_version_is_the_packages(ok):
    """`--version` prints one line, with the versions of what is kept, which the modules that own
    the formats say too.
    """
    from memory import __version__
    from memory.core import approvals, records
    from memory.health import bundle
    from memory.hook import receipts, segment
    from memory.store import ledger

    assert (
        ok("--version").startswith("dayleaf %s (formats: record 1, " % __version__)
        and ok("--version").count("\n") == 1
    )
    kept = json.loads(ok("--version", "--json"))
    assert kept.pop("dayleaf") == __version__ and kept == main.FORMATS_KEPT
    said = {
        name: int(re.search(r"[Ss]chema, version (\d+)", module.__doc__)[1])
        for name, module in (
            ("record", records),
            ("trust", approvals),
            ("ledger", ledger),
            ("receipts", receipts),
        )
    }
    assert {**said, "index": int(segment.MAGIC[-3:]), "backup": bundle.VERSION, "json": 1} == kept


def test_words_that_mean_a_verb_lead_to_it(run):
    """By what people call it elsewhere; each word leads to a verb that is there."""
    for name, verb in (
        ("list", "recall"),
        ("undu", "store undo"),
        ("add", "learn"),
        ("ask", "distill"),
        ("todo", "plan"),
        ("cat", "show"),
        ("log", "standup"),
        ("delete", "record forget"),
        ("tui", "store view"),
        ("serve", "mcp"),
        ("init", "doctor"),
        ("lern", "learn"),
    ):
        assert "did you mean '%s'?" % verb in one_line_error(run(name, "x"), 2)
    for words in (["uninstall"], ["help", "uninstall"]):
        assert "/install.sh --uninstall` does" in one_line_error(run(*words), 2)
    assert {verb.split()[0] for verb in arguments.SYNONYMS.values()} <= set(main.VERBS)
    assert not set(arguments.SYNONYMS) & set(main.VERBS)


def test_without_words_it_shows_where_the_work_stands(ok, home, place):
    """An empty store says how to begin; then sessions with their outcome, the plan, what waits; as
    JSON too.
    """
    assert "no sessions here yet" in ok() and "dayleaf help" in ok()
    ok("checkpoint", "Retries half moved to the worker.")
    ok("plan", "Move the retries", "--step", "queue", "--step", "worker")
    ok("rule", "suggest", "Pin versions", "--rationale", "a break")
    said = ok()
    assert (
        said.startswith(place.key)
        and "Retries half moved" in said
        and "Move the retries (0 of 2 steps done)" in said
    )
    assert "1 record waits for review" in said and said == ok("today")
    seen = json.loads(ok("--json"))
    assert (
        seen["plan"]["title"] == "Move the retries"
        and seen["sessions"][0]["kind"] == "checkpoint"
        and seen["waiting"] == 1
    )


def test_every_answer_is_available_as_json(ok, home):
    """Each verb prints one line of JSON with --json."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    for words in (
        ["recall"],
        ["recall", "jwt", "--explain"],
        ["show", id],
        ["status"],
        ["stats"],
        ["stats", "--spend"],
        ["workspace"],
        ["index", "build"],
        ["index", "refresh"],
        ["index", "--verify"],
        ["index", "status"],
        ["config", "list"],
        ["config", "get", "load.top"],
        ["rule", "list"],
        ["why"],
        ["load", "jwt issuer"],
        ["distill", "jwt issuer", "--provider", "extract"],
        ["off", "--project"],
        ["forget", id],
    ):
        said = ok(*words, "--json")
        assert said.count("\n") == 1, words
        json.loads(said)


def test_a_hostile_working_directory_changes_nothing(process, project):
    """Modules of the same names in the current directory are not imported."""
    (Path(project) / "memory").mkdir()
    for name in (
        "memory/__init__.py",
        "memory/cli.py",
        "json.py",
        "argparse.py",
        "sitecustomize.py",
        "re.py",
    ):
        (Path(project) / name).write_text("import sys; sys.stderr.write('HIJACKED'); sys.exit(9)\n")
    for words in (["workspace"], ["learn", TEXT]):
        done = process(*words, PYTHONPATH=project)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout


def test_a_closed_pipe_is_quiet(env, project, run):
    """`dayleaf … | head -1` prints no trace."""
    for _ in range(30):
        run("learn", TEXT)
    command = '"%s" -I "%s"' % (sys.executable, ROOT / "memory")
    command = "%s config list | head -n 1; %s help | true" % (command, command)
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, cwd=project, env=env, encoding="utf-8"
    )
    assert done.stderr == ""


@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_survived(env, project, redirect):
    """A standard stream that is closed is no fault of ours."""
    done = subprocess.run(
        ["sh", "-c", '"%s" -I "%s" learn "x y z" %s' % (sys.executable, ROOT / "memory", redirect)],
        capture_output=True,
        cwd=project,
        env=env,
        encoding="utf-8",
    )
    assert done.returncode == 0 and "fault" not in done.stderr


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)
def test_a_read_only_home_is_one_line(run, ok, home):
    """Reading goes on, writing says what is wrong."""
    ok("learn", TEXT)
    for folder in [Path(home, ".dayleaf"), *Path(home, ".dayleaf").rglob("*")]:
        if folder.is_dir():
            folder.chmod(0o500)
    try:
        assert "JWT" in ok("recall", "jwt")
        one_line_error(run("learn", "another one"), 1)
        one_line_error(run("index", "build"), 1)
    finally:
        for folder in [Path(home, ".dayleaf"), *Path(home, ".dayleaf").rglob("*")]:
            if folder.is_dir():
                folder.chmod(0o700)


def test_the_mark_that_the_python_runs_here_is_for_its_user_alone(env, project, home):
    """Whatever the umask lets others do."""
    python = Path(home, ".dayleaf/runtime/bin/python")
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    Path(home, ".dayleaf/cache").mkdir()
    command = ["sh", "-c", 'umask 000 && "$0" --version', ROOT / "bin/dayleaf"]
    subprocess.run(command, cwd=project, env=env, capture_output=True, check=True)
    (mark,) = Path(home, ".dayleaf/cache").glob("runtime-*")
    assert mark.stat().st_mode & 0o777 == 0o600


def test_a_python_whose_base_broke_since_it_was_marked_is_left_for_the_systems(
    env, project, home, tmp_path
):
    """Removed or replaced below it: the file itself is older than the mark."""
    python, base = Path(home, ".dayleaf/runtime/bin/python"), tmp_path / "base"
    python.parent.mkdir(parents=True)
    Path(home, ".dayleaf/cache").mkdir()
    base.touch()
    script = "#!/bin/sh\n[ -e '%s' ] || { echo no base >&2; exit 1; }\nexec '%s' \"$@\"\n"
    python.write_text(script % (base, sys.executable))
    python.chmod(0o755)
    os.utime(python, (0, 0))
    command = [ROOT / "bin/dayleaf", "recall", "jwt"]
    for _ in range(2):
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
        assert done.returncode == 0 and "no base" not in done.stderr, done
        assert list(Path(home, ".dayleaf/cache").glob("runtime-*"))
        base.unlink(missing_ok=True)


def test_a_cache_without_room_for_a_mark_starts_all_the_same(env, project, home):
    """The mark that its Python runs here, where the home cannot be written."""
    python = Path(home, ".dayleaf/runtime/bin/python")
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    machine = os.uname()
    names = (machine.sysname, machine.nodename, machine.machine)
    mark = Path(home, ".dayleaf/cache", "runtime-" + "-".join(names))
    mark.mkdir(parents=True)
    os.utime(mark, (0, 0))
    done = subprocess.run(
        [ROOT / "bin/dayleaf", "--version"], cwd=project, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0 and "dayleaf" in done.stdout, done


def test_files_that_must_stay_small_are_one_line(env, project, tmp_path):
    """What could not be written is named, and Python leaves no cut module for the next call."""
    shutil.copytree(ROOT / "memory", tmp_path / "memory", ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copytree(ROOT / "bin", tmp_path / "bin")
    (tmp_path / "hooks").mkdir()
    for words in ("learn walrus", "index build", "index refresh", "learn seal"):
        limit = "" if "walrus" in words else "ulimit -f 0; "
        command = "%s'%s/bin/dayleaf' %s" % (limit, tmp_path, words)
        done = subprocess.run(["sh", "-c", command], cwd=project, env=env, capture_output=True)
        said = done.stderr.decode()
        assert done.returncode == bool(limit) and said.count("\n") == bool(limit), said
        assert not limit or ("check the disk" in said and "/.dayleaf/" in said)


def test_a_home_that_is_a_file_is_one_line(run, tmp_path):
    """What the file system refuses is no fault of ours."""
    (tmp_path / "file").write_text("x")
    for words in (["learn", "x y"], ["index", "build"], ["config", "set", "load.top", "3"]):
        one_line_error(run(*words, DAYLEAF_HOME=str(tmp_path / "file")), 1)
    for words in (["recall", "x"], ["status"], ["why"], ["index", "status"]):
        assert run(*words, DAYLEAF_HOME=str(tmp_path / "file")).returncode == 0
    assert "must be an absolute path" in one_line_error(run("status", DAYLEAF_HOME="relative"), 2)


def test_a_fault_of_our_own_is_kept_in_a_file(monkeypatch, capsys, home):
    """An unexpected error ends with 3, one line and a trace in the log; nothing of it goes to the
    terminal.
    """

    def fail(call):
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(recall, "workspace", fail)
    assert main.main(["store", "workspace"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "Traceback" not in said
    (path,) = Path(home, ".dayleaf", "log").glob("bug-*.txt")
    assert (
        str(path) in said
        and "ZeroDivisionError: boom" in path.read_text()
        and stat.S_IMODE(path.stat().st_mode) == 0o600
    )


def test_a_digest_cites_its_records_and_can_be_kept(ok):
    """distill answers by the extract, says its reduction, and --save keeps it linked to what it was
    made of.
    """
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    value = json.loads(
        ok("distill", "why do jwt tests fail", "--provider", "extract", "--save", "--json")
    )
    assert (
        value["provider"] == "extract"
        and value["bullets"][0]["ids"] == [id]
        and value["sources"] == [id]
    )
    kept = json.loads(ok("show", value["saved"], "--json"))
    assert kept["source"] == "agent" and {"relation": "derived_from", "target": id} in kept["links"]
    assert " tokens, answer " in ok("distill", "jwt", "--provider", "extract", "--explain")


def test_the_launcher_follows_links_through_odd_paths(env, project, tmp_path):
    """bin/dayleaf finds its repository through relative and absolute links in directories with
    spaces.
    """
    copy = tmp_path / "a copy" / "day leaf"
    shutil.copytree(ROOT / "memory", copy / "memory", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "bin", copy / "bin")
    (tmp_path / "links here").mkdir()
    (tmp_path / "links here" / "second").symlink_to("../a copy/day leaf/bin/dayleaf")
    (tmp_path / "links here" / "dayleaf").symlink_to(tmp_path / "links here" / "second")
    found = {**env, "PATH": str(tmp_path / "links here") + os.pathsep + os.defpath}
    done = subprocess.run(
        ["sh", "-c", "dayleaf store workspace --json"],
        capture_output=True,
        cwd=project,
        env=found,
        encoding="utf-8",
    )
    assert json.loads(done.stdout)["root"] == project, done.stderr


def test_the_launcher_prefers_the_runtime_and_passes_words_through(env, project, home, tmp_path):
    """The runtime's interpreter runs, isolated, with every word as it was."""
    python = Path(home, ".dayleaf", "runtime", "bin", "python")
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nfor word; do printf '%s|' \"$word\"; done\n")
    python.chmod(0o755)
    done = subprocess.run(
        [str(ROOT / "bin" / "dayleaf"), "recall", "a b", "", "$x"],
        capture_output=True,
        cwd=project,
        env=env,
        encoding="utf-8",
    )
    assert done.stdout == "-I|%s|recall|a b||$x|" % (ROOT / "memory")


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin"])
@pytest.mark.parametrize("launcher", ["bin/dayleaf", "hooks/run", "install.sh"])
def test_no_launcher_starts_a_repositorys_programs(launcher, entry, env, project, home, tmp_path):
    """Where PATH holds an empty or relative entry, before or behind others, and no runtime runs."""
    runtime = Path(home, ".dayleaf/runtime/bin/python")
    runtime.parent.mkdir(parents=True)
    runtime.write_text("#!/bin/sh\nexit 1\n" if launcher == "hooks/run" else "#!/bin/sh\n")
    runtime.chmod(0o755)
    Path(home, ".dayleaf/cache").mkdir()
    planted = Path(project, entry)
    planted.mkdir(exist_ok=True)
    for name in ("uname", "tr", "readlink", "python3", "rm", "dirname", "sed", "cat", "id"):
        (planted / name).write_text('#!/bin/sh\n: >"%s/ran-$(basename "$0")"\n' % tmp_path)
        (planted / name).chmod(0o755)
    script = (ROOT / launcher).read_text().replace("/usr/bin/python3", "/nonexistent/python3")
    own = tmp_path / "own" / launcher
    own.parent.mkdir(parents=True)
    own.write_text(script)
    own.chmod(0o755)
    (own.parent / "prompt.py").touch()
    link = tmp_path / "link"
    link.symlink_to(own)
    words = {"install.sh": "--help", "hooks/run": "prompt"}.get(launcher, "--version")
    started = own if launcher == "hooks/run" else link  # its script lies beside it
    for path in (entry + ":" + os.environ["PATH"], "/nonexistent:" + entry):
        subprocess.run(
            ["/bin/sh", started, words],
            cwd=project,
            env={**env, "PATH": path},
            capture_output=True,
            input=b"{}",
        )
    assert [path.name for path in tmp_path.glob("ran-*")] == []


def test_the_launcher_is_plain_sh():
    """No shell but POSIX sh is assumed."""
    assert (ROOT / "bin" / "dayleaf").read_text().startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", str(ROOT / "bin" / "dayleaf")]).returncode == 0
    assert os.access(ROOT / "bin" / "dayleaf", os.X_OK)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_help_fits_the_columns_that_there_are(ok, columns):
    """The list of verbs, and the help of each; a verb with many words sets no column."""
    listed = ok("help", COLUMNS=str(columns))
    assert max(map(plaintext.count_columns, listed.splitlines())) <= columns
    starts = {
        line.index(arguments.purpose(line.split()[0], main.VERBS)[:20])
        for line in listed.splitlines()
        if line[:2] == "  " and line[2] != " "
    }
    assert len(starts) == 1
    for verb in ("resource", "import", "rule", "harvest", "recall", "plan"):
        assert (
            max(map(plaintext.count_columns, ok(verb, "--help", COLUMNS=str(columns)).splitlines()))
            <= columns
        ), verb


@pytest.mark.parametrize("verb", ["doctor", "recall"])
def test_a_full_disk_behind_stdout_is_one_line(ok, env, project, place, verb):
    """Not a trace, and not a second try at the interpreter's end, nor before a refresh of the
    index.
    """
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    ok("learn", TEXT)
    Path(place.folder("p", "learning"), "by-hand.md").write_text("walrus facts\n", encoding="utf-8")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-I", str(ROOT / "memory"), verb],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            cwd=project,
        )
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "No space left" in done.stderr


def test_a_slip_of_the_finger_never_leads_to_what_deletes(run):
    """`export` is a word of `index`; `forgt` and `delte` are nothing, and so is what merely looks
    alike.
    """
    assert "index export" in one_line_error(run("export"), 2)
    for name in ("forgt", "delte", "zebra", "upgrade"):
        assert "`dayleaf help` lists the commands" in one_line_error(run(name), 2), name


def test_an_option_that_is_a_text_keeps_its_dash(ok):
    """In the title as in the text; the mark of a list goes."""
    assert (
        json.loads(ok("learn", "-x makes bash print each command", "--json"))["title"]
        == "-x makes bash print each command"
    )
    assert json.loads(ok("learn", "- quote every path", "--json"))["title"] == "quote every path"
    assert (
        json.loads(ok("learn", "## Paths of the build", "--json"))["title"] == "Paths of the build"
    )


def test_a_query_as_long_as_a_log_is_answered_at_once(ok):
    """Of 100,000 characters the first count, and an answer repeats a line of them."""
    ok("learn", "Zebra crossings are painted at night.")
    said = ok("recall", "zebra crossing red " * 5300)
    assert (
        "painted at night" in said and "only the first 8000 characters" in said and len(said) < 2000
    )
    assert len(ok("recall", "walrus " * 14000)) < 2000


def test_what_is_archived_comes_back_by_its_title_too(ok, run):
    id = json.loads(ok("learn", "Quote every path: some hold a space.", "--json"))["id"]
    ok("forget", id)
    assert json.loads(ok("restore", "quote every PATH: some hold a space", "--json"))["id"] == id
    assert "no archived record" in one_line_error(run("restore", "quote nothing"), 1)


def test_a_database_that_nobody_named_is_said(run, ok):
    """Where it is chosen, and at each question that goes without it."""
    ok("learn", "Zebra crossings are painted at night.")
    for words in (("config", "set", "index.backend", "postgres"), ("recall", "zebra")):
        done = run(*words)
        assert done.returncode == 0 and "no database is set up yet" in done.stderr, words


def test_a_second_set_up_of_the_same_place_is_the_same_machine(ok, tmp_path):
    (tmp_path / "m").mkdir()
    first, second = (
        json.loads(ok("sync", "setup", str(tmp_path / "m"), "--json")) for _ in range(2)
    )
    assert first == second


def test_a_digest_does_not_feed_on_itself(ok):
    """A kept digest is left out where its sources are at hand."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    kept = json.loads(ok("distill", "jwt issuer", "--provider", "extract", "--save", "--json"))[
        "saved"
    ]
    again = json.loads(ok("distill", "jwt issuer", "--provider", "extract", "--no-cache", "--json"))
    assert {cited for bullet in again["bullets"] for cited in bullet["ids"]} == {id} and kept != id


def test_verbs_import_one_another_in_one_direction():
    """Not even within functions is there a circle."""
    graph = {
        path.stem: {
            alias.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module == "memory.cli"
            for alias in node.names
        }
        | {
            node.module.split(".")[2]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memory.cli.")
        }
        for path in (ROOT / "memory" / "cli").glob("*.py")
    }
    while graph:
        free = {name for name, others in graph.items() if not others & set(graph)}
        assert free, graph
        graph = {name: others for name, others in graph.items() if name not in free}


@pytest.mark.parametrize("verb", sorted(main.VERBS))
def test_a_verbs_function_bears_its_word(verb):
    """A word that Python keeps for itself takes an underscore."""
    module = main.import_module_of(verb)
    run = getattr(module, verb + "_" * keyword.iskeyword(verb))
    assert run.__module__ == module.__name__ and list(inspect.signature(run).parameters) == ["call"]


def test_the_help_names_the_words_that_a_verb_knows():
    """The table names them, so that it need not load the verbs."""
    assert tuple(index.WORDS) == main.INDEX and main.VERBS["resource"].words == "|".join(
        resource.WORDS
    )
    assert main.VERBS["import"].words == "|".join(imports.KINDS) + " [DIR]"
    assert set(plan.WORDS) <= set(re.findall(r"\w+", main.VERBS["plan"].words))


def test_a_command_loads_the_verbs_that_it_needs(process, project):
    """Seventeen modules of verbs would cost each command as much as its own work."""
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from memory.cli import main; "
        "main.main(); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT), "config", "list"],
        capture_output=True,
        text=True,
        cwd=project,
    )
    assert {name for name in done.stdout.split() if name.startswith("memory.cli.")} == {
        "memory.cli.main",
        "memory.cli.index",
    }


def test_a_family_alone_says_something_useful(run):
    """The store's and the index's state, else the help."""
    assert run("index").stdout == run("index", "status").stdout
    assert run("store").stdout == run("store", "status").stdout and not run("store").stderr
    for family in ("record", "debug"):
        said = run(family)
        assert said.returncode == 0 and "dayleaf %s" % family in said.stdout and not said.stderr
