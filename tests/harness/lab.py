"""A throw-away world for the real client: HOME, git repository, scripted API; headless runs and
sessions in tmux.

    with Lab(tmp_path, client, {"turns": ["hello"]}) as lab:
        run = lab.claude("-p", "hi", "--plugin-dir", PLUGIN)
        run.stdout, run.rc, lab.api.messages(tools=True), lab.transcript()
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.fake_anthropic import FakeAnthropic

PLUGIN = str(Path(__file__).resolve().parents[2])
KEY = "sk-ant-" + "dummy-not-a-real-key-0000000000"
PATH = "/usr/local/bin:/usr/bin:/bin"
GIT = ["git", "-c", "user.name=T", "-c", "user.email=t@example.invalid"]


@dataclass
class Run:
    """What one run of the client gave."""

    rc: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def json(self) -> Any:
        """Return the result object of `--output-format json`."""
        return json.loads(self.stdout)


class Lab:
    """One HOME, one repository and one scripted API.

    root: an empty directory.  client: path of the client's program.  script: see fake_anthropic.
    runtime: whether dayleaf's runtime stands in the HOME (the environment that runs the tests,
    which has the packages).
    """

    def __init__(
        self, root: Path, client: str, script: dict[str, Any] | None = None, runtime: bool = True
    ):
        self.root, self.client = root, client
        self.home, self.repo = root / "home", root / "repo"
        self.store = self.home / ".dayleaf"
        for folder in (self.home, self.repo):
            folder.mkdir(parents=True, exist_ok=True)
        if runtime:
            self.store.mkdir(mode=0o700)
            (self.store / "runtime").symlink_to(sys.prefix)
        if not (self.repo / ".git").exists():
            (self.repo / "README.md").write_text("# demo\n")
            (self.repo / "calc.py").write_text("def add(a, b):\n    return a - b\n")
            commit(self.repo, "init")
            for key, value in (("user.name", "T"), ("user.email", "t@example.invalid")):
                subprocess.run(["git", "config", key, value], cwd=self.repo, check=True)
        self.api = FakeAnthropic(script, log=str(root / "api.jsonl"))

    def __enter__(self) -> Lab:
        self.api.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.api.__exit__()

    def env(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        """Return the whole environment of a client; nothing is inherited."""
        return {
            "HOME": str(self.home),
            "PATH": PATH,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.api.port}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
            **(extra or {}),
        }

    def claude(
        self,
        *args: str,
        stdin: str = "",
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        timeout: float = 120,
    ) -> Run:
        """Run the client once, without a terminal."""
        start = time.monotonic()
        done = subprocess.run(
            [self.client, *args],
            input=stdin,
            text=True,
            capture_output=True,
            timeout=timeout,
            cwd=cwd or self.repo,
            env=self.env(env),
        )
        return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - start)

    def dayleaf(
        self,
        *args: str,
        stdin: str = "",
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> Run:
        """Run dayleaf's own command in this world."""
        start = time.monotonic()
        done = subprocess.run(
            [PLUGIN + "/bin/dayleaf", *args],
            input=stdin,
            text=True,
            capture_output=True,
            timeout=60,
            cwd=cwd or self.repo,
            env=self.env(env),
        )
        return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - start)

    def transcripts(self) -> list[Path]:
        """List the client's transcripts, oldest first."""
        return sorted((self.home / ".claude" / "projects").glob("*/*.jsonl"), key=os.path.getmtime)

    def transcript(self) -> list[dict[str, Any]]:
        """Return the rows of the newest transcript."""
        return [json.loads(line) for line in self.transcripts()[-1].read_text().splitlines()]

    def records(self, kind: str) -> list[Path]:
        """List the files of a kind (a folder's name, such as `learnings`) in the private tier."""
        return sorted((self.store / "workspaces").glob(f"*/{kind}/**/*.md"))

    def init_home(self) -> None:
        """Answer the first-run dialogs (theme, key approval, folder trust) of interactive
        sessions.
        """
        path = self.home / ".claude.json"
        state = json.loads(path.read_text()) if path.exists() else {}
        state.update(
            hasCompletedOnboarding=True,
            theme="dark",
            lastOnboardingVersion="99.0.0",
            bypassPermissionsModeAccepted=True,
            customApiKeyResponses={"approved": [KEY[-20:]], "rejected": []},
        )
        state.setdefault("projects", {}).setdefault(str(self.repo.resolve()), {}).update(
            hasTrustDialogAccepted=True, hasCompletedProjectOnboarding=True
        )
        path.write_text(json.dumps(state))


class Tui:
    """An interactive session in a tmux server of its own: `with Tui(lab, "--plugin-dir", P) as t:
    t.type("/help")`.
    """

    def __init__(self, lab: Lab, *args: str, size: tuple[int, int] = (160, 50)):
        # A socket's path may hold 107 bytes, and a test's directory is long: the socket stands in
        # the shared one.
        self.sock = f"/tmp/dayleaf-test-{os.getpid()}-{time.monotonic_ns()}"
        lab.init_home()
        env = [f"{key}={value}" for key, value in lab.env().items()]
        self._tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            str(size[0]),
            "-y",
            str(size[1]),
            "-s",
            "c",
            "-c",
            str(lab.repo),
            "env",
            "-i",
            *env,
            lab.client,
            *args,
        )

    def _tmux(self, *args: str) -> str:
        return subprocess.run(
            ["tmux", "-S", self.sock, *args],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": PATH, "TERM": "xterm-256color", "LANG": "C.UTF-8", "HOME": "/nonexistent"},
        ).stdout

    def screen(self, history: int = 0) -> str:
        """Return what the terminal shows, with `history` lines above it."""
        return self._tmux(
            "capture-pane", "-p", "-t", "c", *(["-S", str(-history)] if history else [])
        )

    def wait(self, text: str, timeout: float = 30) -> str:
        """Wait until a text is on the screen; raises TimeoutError with the screen."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            shown = self.screen(200)
            if text in shown:
                return shown
            time.sleep(0.1)
        raise TimeoutError(f"{text!r} not on screen:\n" + self.screen())

    def keys(self, *keys: str) -> None:
        """Press keys by their tmux names."""
        self._tmux("send-keys", "-t", "c", *keys)

    def type(self, text: str, pause: float = 0.5) -> None:
        """Type a line and press Enter."""
        self._tmux("send-keys", "-t", "c", "-l", text)
        time.sleep(pause)
        self.keys("Enter")

    def pid(self) -> int:
        """Return the process id of the client (`env` has exec'd it)."""
        return int(self._tmux("list-panes", "-t", "c", "-F", "#{pane_pid}").split()[0])

    def kill(self) -> None:
        """End the client as a power cut would."""
        os.kill(self.pid(), signal.SIGKILL)

    def alive(self) -> bool:
        """Tell whether the client still runs."""
        return bool(self._tmux("list-panes", "-t", "c"))

    def __enter__(self) -> Tui:
        return self

    def __exit__(self, *exc: object) -> None:
        self._tmux("kill-server")
        Path(self.sock).unlink(missing_ok=True)


def commit(repo: Path, message: str) -> None:
    """Commit everything in a folder, which becomes a repository where it is none."""
    if not (repo / ".git").exists():
        subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], check=True)
    for args in (["add", "-A"], ["commit", "-qm", message]):
        subprocess.run([*GIT, *args], cwd=repo, check=True)


def until(check: Any, timeout: float = 10.0) -> Any:
    """Wait for detached work: return the first true value of `check()`; raises TimeoutError."""
    end = time.monotonic() + timeout
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError("still not so: " + getattr(check, "__qualname__", repr(check)))
        time.sleep(0.05)
