"""What every test stands on: a home of its own, a fixed instant, a project."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness import command

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from memory.core import layout  # noqa: E402
from memory.hook import at_prompt, at_start  # noqa: E402

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a run in the background ignores Ctrl-C, and so would every child
    signal.signal(signal.SIGINT, signal.default_int_handler)

NOW = 1795271452.0  # 2026-11-21T14:30:52Z
WAITING = (
    "whole",
    "page",
    "hostile",
    "faults",
)  # whose tests start many processes


def pytest_collection_modifyitems(items):
    """Put the tests that wait first: begun last, they would be waited for while the other workers
    have nothing to do.
    """
    items.sort(key=lambda item: item.path.parent.name not in WAITING)


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    """Point every way to a home directory of this process, and of its children, into the test's own
    directory.
    """
    mine = tmp_path / "home"
    mine.mkdir()
    for key in [key for key in os.environ if key.startswith(("DAYLEAF_", "CLAUDE_", "GIT_"))]:
        monkeypatch.delenv(key)
    for key in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(key, str(mine))
    for key in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(key, str(mine / key.lower()))
    monkeypatch.setenv("DAYLEAF_HOME", str(mine / ".dayleaf"))
    if sys.platform != "win32":
        import pwd

        entry = list(pwd.getpwuid(os.getuid()))
        entry[5] = str(mine)
        monkeypatch.setattr(pwd, "getpwuid", lambda uid: pwd.struct_passwd(entry))


@pytest.fixture
def home(tmp_path) -> str:
    """The HOME of the test, as text."""
    return str(tmp_path / "home")


@pytest.fixture
def env(home) -> dict:
    """The environment of a hook or a command: HOME, PATH, LANG."""
    return {"HOME": home, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}


@pytest.fixture
def now() -> float:
    """A fixed instant: 2026-11-21T14:30:52Z."""
    return NOW


@pytest.fixture(scope="session")
def new_repository(tmp_path_factory) -> Path:
    """The git directory of a new repository, made once by git: thousands of tests begin with a copy
    of it.
    """
    base = tmp_path_factory.mktemp("repository")
    subprocess.run(
        ["git", "init", "-q", "--template=", "project"],
        cwd=base,
        check=True,
        env={"HOME": str(base), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"},
    )
    made = base / "project" / ".git"
    with (made / "config").open("a") as config:
        config.write("[user]\n\tname = Test\n\temail = test@example.invalid\n")
    for folder in ("hooks", "info"):
        (made / folder).mkdir()
    return made


@pytest.fixture
def project(tmp_path, new_repository) -> str:
    """A git repository without a remote."""
    root = tmp_path / "project"
    shutil.copytree(new_repository, root / ".git")
    return str(root)


@pytest.fixture
def place(env, project) -> layout.Place:
    """The workspace of `project`."""
    return layout.locate(env, project)


@pytest.fixture
def run(env, project):
    """Run `dayleaf` in the project: run(*words, stdin=..., cwd=..., VARIABLE=...) ->
    CompletedProcess with text.
    """
    return command.dayleaf(env, project)


@pytest.fixture
def process(env, project):
    """Run `dayleaf` as `run` does, as a process of its own."""
    return command.process(env, project)


@pytest.fixture
def ok(run):
    """Run `dayleaf`, which must succeed, and return what it printed."""

    def call(*words, **more):
        done = run(*words, **more)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    return call


@pytest.fixture
def world(env, project) -> dict:
    """The environment of a hook and of a command in a project whose runtime stands."""
    store = Path(env["HOME"], ".dayleaf")
    store.mkdir(mode=0o700)
    (store / "runtime").symlink_to(sys.prefix)
    return {
        "HOME": env["HOME"],
        "PATH": "/usr/bin:/bin",
        "CLAUDE_PROJECT_DIR": project,
        "DAYLEAF_RUNTIME_AUTO": "0",
    }


@pytest.fixture
def handled(env, project, now):
    """Give an event to its handler as a hook does: handled("start", "prompt" or "agent", **keys) ->
    (payload, answer).
    """

    def call(event, **keys):
        payload = {
            "session_id": "s1",
            "cwd": project,
            "transcript_path": "/nowhere/s1.jsonl",
            "prompt_id": "p1",
            **keys,
        }
        handler = {
            "start": at_start.on_session_start,
            "prompt": at_prompt.on_prompt,
            "agent": at_prompt.on_agent,
        }[event]
        answer, _ = handler(payload, {**env, "DAYLEAF_RUNTIME_AUTO": "0"}, now)
        return payload, answer or {}

    return call


@pytest.fixture
def expand(env, project):
    """Type a slash command: expand(verb, args) -> the hook's answer, {} for none."""
    sample = json.loads(
        (ROOT / "tests" / "data" / "payloads" / "UserPromptExpansion.json").read_text(
            encoding="utf-8"
        )
    )

    def call(verb, args="", **more):
        event = {
            **sample,
            "cwd": project,
            "command_name": "dayleaf:" + verb,
            "command_args": args,
            "prompt": "/dayleaf:%s %s" % (verb, args),
        }
        event.update(more.pop("event", {}))
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(ROOT / "hooks" / "expansion.py")],
            input=json.dumps(event),
            capture_output=True,
            cwd="/",
            encoding="utf-8",
            timeout=60,
            env={**env, "CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": project, **more},
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout) if done.stdout else {}

    return call


@pytest.fixture
def session(handled):
    """Send an event to the handlers as the host would; returns the payload, the block and what the
    user is told.
    """

    def send(event, **keys):
        payload, answer = handled(event, **keys)
        return (
            payload,
            (answer.get("hookSpecificOutput") or {}).get("additionalContext", ""),
            answer.get("systemMessage", ""),
        )

    return send
