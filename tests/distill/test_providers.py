"""Local commands that answer prompts, played by stub executables on PATH."""

from __future__ import annotations

import json
import os
import stat
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from harness.client import claude_bin  # noqa: F401  (a fixture)
from harness.command import gone
from harness.fake_anthropic import FakeAnthropic
from harness.interpreter import PYTHON

from memory.core import ProviderError
from memory.distill import providers
from memory.distill.providers import CallFailed
from memory.store import process as child

PROMPT = (
    'dayleaf-distill-prompt 1\nThe question: "zebra-crossing"\n' + "The record says a lot. " * 40
)
SYSTEM = "Watch, third person."
GOOD = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "- one [a1]\n- two [b2]",
    "num_turns": 1,
    "total_cost_usd": 0.002,
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 7},
    "modelUsage": {"claude-haiku": {}},
}
STUB = """#!{python}
import json, os, subprocess, sys, time
HELP = {help!r}
if "--help" in sys.argv:
    print(HELP)
    raise SystemExit
said = sys.stdin.read()
json.dump(dict(argv=sys.argv[1:], env=dict(os.environ), stdin=said, cwd=os.getcwd(), \
files=os.listdir("."),
               leader=os.getpgrp() == os.getpid()), open({seen!r}, "w"))
{code}
"""


@pytest.fixture
def stub(tmp_path, env):
    """Put an executable on PATH that notes how it was called and then runs `code`; return the path
    of the note.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    env["PATH"] = str(folder) + os.pathsep + "/usr/bin:/bin"

    def make(name: str, code: str, help: str = "--safe-mode --tools", raw: bool = False) -> Path:
        seen = tmp_path / (name + ".json")
        path = folder / name
        path.write_text(
            code if raw else STUB.format(python=PYTHON, help=help, seen=str(seen), code=code)
        )
        path.chmod(0o755)
        return seen

    return make


def printing(value: object) -> str:
    return "print(%r)" % json.dumps(value)


def ask(provider, env, timeout=20.0, model="", prompt=PROMPT):
    return provider.complete(providers.Request(prompt, SYSTEM, timeout, env, model))


def test_a_command_that_is_absent_says_so(tmp_path, env):
    """Nothing on PATH is a reason, and a call without looking first fails the same way."""
    env["PATH"] = str(tmp_path)
    for provider in (
        providers.Claude(),
        providers.Gemini(),
        providers.Ollama(),
        providers.Command(["answerer"]),
    ):
        assert "not on PATH" in provider.available(env)
        with pytest.raises(CallFailed, match="absent"):
            ask(provider, env, model="m")
    assert "the program, then its arguments" in providers.Command([]).available(env)


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin", "~/bin"])
def test_only_absolute_entries_of_path_count(entry, tmp_path, env, stub, monkeypatch):
    """A `claude` that a repository carries is never found through a relative entry."""
    stub("claude", "print('owned')")
    monkeypatch.chdir(tmp_path if "bin" in entry else tmp_path / "bin")
    env["PATH"] = os.pathsep.join([entry, str(tmp_path / "empty")])
    assert child.which("claude", env) == ""
    assert child.which("./claude", env) == child.which("bin/claude", env) == ""
    assert child.which(str(tmp_path / "bin" / "claude"), env) == str(tmp_path / "bin" / "claude")


def test_claude_gets_the_prompt_on_stdin_and_nothing_of_it_in_argv(env, stub):
    """Isolation flags, the constant system prompt, an empty directory to stand in, its own process
    group.
    """
    seen = stub("claude", printing(GOOD))
    answer = ask(providers.Claude(), env)
    assert answer == providers.Answer("- one [a1]\n- two [b2]", "claude-haiku", 15, 7, 0.002)
    call = json.loads(seen.read_text())
    assert call["argv"] == [
        "-p",
        "--safe-mode",
        "--tools",
        "",
        "--strict-mcp-config",
        "--no-session-persistence",
        "--system-prompt",
        SYSTEM,
        "--model",
        "haiku",
        "--output-format",
        "json",
    ]
    assert call["stdin"] == PROMPT
    assert call["files"] == []
    assert call["leader"]
    assert not os.path.exists(call["cwd"])


def test_an_older_claude_is_isolated_by_its_setting_sources(env, stub):
    """Where --help does not list --safe-mode."""
    seen = stub("claude", printing(GOOD), help="--setting-sources <sources>")
    ask(providers.Claude(), env, model="sonnet")
    argv = json.loads(seen.read_text())["argv"]
    assert argv[1:3] == ["--setting-sources", ""]
    assert "--safe-mode" not in argv
    assert argv[argv.index("--model") + 1] == "sonnet"


def test_the_environment_loses_the_session_and_keeps_the_credentials(env, stub):
    """What a session sets for its children is dropped; login, cloud choice and proxies stay; the
    guard is set.
    """
    dropped = [
        "CLAUDECODE",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_PID",
        "CLAUDE_ENV_FILE",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_PLUGIN_ROOT",
        "CLAUDE_PLUGIN_OPTION_X",
        "CLAUDE_JOB_DIR",
        "CLAUDE_CODE_ENTRYPOINT",
    ]
    kept = [
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "AWS_REGION",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "HTTPS_PROXY",
        "HOME",
    ]
    env.update(dict.fromkeys((*dropped, *kept), "value"), PATH=env["PATH"] + ":relative:.")
    seen = stub("claude", printing(GOOD))
    ask(providers.Claude(), env)
    child = json.loads(seen.read_text())["env"]
    assert not set(dropped) & set(child)
    assert set(kept) <= set(child)
    assert (child["DAYLEAF_NESTED"], child["CLAUDE_CODE_MAX_RETRIES"]) == ("1", "0")
    assert all(os.path.isabs(entry) for entry in child["PATH"].split(os.pathsep))


def test_a_nested_call_starts_nothing(env, stub):
    """Inside a model call of our own every provider refuses, and no child starts without the
    guard.
    """
    seen = stub("claude", printing(GOOD))
    with pytest.raises(CallFailed, match="nested"):
        ask(providers.Claude(), {**env, "DAYLEAF_NESTED": "1"})
    with pytest.raises(CallFailed, match="unguarded"):
        providers.run(["/bin/echo"], "", 5, env)
    assert not seen.exists()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (printing({**GOOD, "is_error": True}), "is_error"),
        (
            printing({**GOOD, "is_error": True, "api_error_status": 401, "result": "Failed"})
            + "\nsys.exit(1)",
            "api error 401",
        ),
        (printing(GOOD) + "\nsys.exit(1)", "exit 1"),
        (
            printing({"subtype": "error_max_turns", "is_error": True, "errors": ["too many"]})
            + "\nsys.exit(1)",
            "exit 1: too many",
        ),
        ("print('boom', file=sys.stderr)\nsys.exit(3)", "exit 3: boom"),
        (printing({**GOOD, "num_turns": 0}), "zero turns"),
        (printing({**GOOD, "num_turns": 0, "result": ""}), "zero turns"),
        (printing({**GOOD, "result": " \n"}), "empty"),
        (printing({**GOOD, "result": None}), "empty"),
        (
            printing(
                {
                    **GOOD,
                    "num_turns": 0,
                    "result": "UserPromptSubmit operation blocked by hook: no. Original prompt: x",
                }
            ),
            "blocked by a hook",
        ),
        ("print(json.dumps({**%r, 'result': said}))" % GOOD, "echo"),
        ("print(json.dumps({**%r, 'result': 'Sure! ' + said[:700]}))" % GOOD, "echo"),
        ("print(json.dumps({**%r, 'result': said[-300:]}))" % GOOD, "echo"),
        ("print('no json at all')", "no JSON"),
        ("print('[' * 100000)", "no JSON"),
        ("pass", "no JSON"),
        ("os.kill(os.getpid(), 9)", "exit -9"),
    ],
)
def test_what_is_no_answer_of_a_model_is_a_failure(code, why, env, stub):
    """Errors with status 0, silent no-ops, refusals of a hook, the prompt come back, noise."""
    stub("claude", code)
    with pytest.raises(ProviderError) as caught:
        ask(providers.Claude(), env)
    assert str(caught.value).startswith(why)


def test_a_failure_tells_what_it_cost(env, stub):
    """So that the ledger has it."""
    stub("claude", printing({**GOOD, "is_error": True}))
    with pytest.raises(CallFailed) as caught:
        ask(providers.Claude(), env)
    assert (caught.value.answer.tokens_in, caught.value.answer.cost) == (15, 0.002)


def test_a_hang_ends_at_the_deadline_with_its_whole_group(tmp_path, env, stub):
    """The command, its child and its grandchild are gone, though they ignore signals that can be
    ignored.
    """
    pids = tmp_path / "pids"
    stub(
        "claude",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen(['/bin/sh', '-c', 'trap \"\" TERM HUP; sleep 60 & echo $$ $! > %s; "
        "wait'])\ntime.sleep(60)" % pids,
    )
    start = time.perf_counter()
    with pytest.raises(CallFailed, match="timeout"):
        ask(providers.Claude(), env, timeout=1.0)
    assert time.perf_counter() - start < 6
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_children_that_a_command_leaves_behind_are_ended(tmp_path, env, stub):
    """An answer is not kept waiting by a child that holds the pipe, and the child does not survive
    it.
    """
    pids = tmp_path / "pids"
    stub(
        "answerer",
        "child = subprocess.Popen(['sleep', '60'])\nopen(%r, 'w').write(str(child.pid))\n"
        "print('- fine [a1]')" % str(pids),
    )
    start = time.perf_counter()
    assert ask(providers.Command(["answerer"]), env).text == "- fine [a1]"
    assert time.perf_counter() - start < 6
    assert gone(int(pids.read_text()))


def test_endless_output_is_stopped(env, stub):
    """Beyond 4 MB the command is ended long before its deadline, whatever it prints to stderr."""
    stub("answerer", "while True: sys.stdout.write('x' * 65536); sys.stderr.write('y' * 65536)")
    start = time.perf_counter()
    with pytest.raises(CallFailed, match="output too long"):
        ask(providers.Command(["answerer"]), env, timeout=30)
    assert time.perf_counter() - start < 10


def test_a_command_that_does_not_read_its_input_still_answers(env, stub):
    """A closed pipe is no failure, however long the prompt."""
    stub("answerer", "#!/bin/sh\necho '- fine [a1]'\n", raw=True)
    assert ask(providers.Command(["answerer"]), env, prompt=PROMPT * 5000).text == "- fine [a1]"


def test_a_command_gets_system_and_prompt_on_stdin(env, stub):
    """Argv is the configured one, the first line carries whatever the system prompt starts with."""
    seen = stub("answerer", "print('<think>hm</think>- fine [a1]')")
    answer = ask(providers.Command(["answerer", "--fast", "a b"]), env, model="m1")
    call = json.loads(seen.read_text())
    assert call["argv"] == ["--fast", "a b"]
    assert call["stdin"] == SYSTEM + "\n\n" + PROMPT
    assert call["env"]["DAYLEAF_MODEL"] == "m1"
    assert answer == providers.Answer("- fine [a1]", "m1")


def test_a_broken_executable_is_a_failure(env, stub):
    """No interpreter, no permission to run."""
    stub("answerer", "#!/no/such/interpreter\n", raw=True)
    with pytest.raises(CallFailed, match="no start"):
        ask(providers.Command(["answerer"]), env)


def test_gemini_gets_settings_that_take_its_tools_away(env, stub, home):
    """A stable private directory with settings and system prompt, trusted for them; tokens from its
    statistics.
    """
    seen = stub(
        "gemini",
        printing(
            {
                "response": "- one [a1]",
                "stats": {
                    "models": {
                        "gemini-x": {"tokens": {"prompt": 40, "candidates": 6, "thoughts": 2}}
                    }
                },
            }
        ),
    )
    answer = ask(providers.Gemini(), env, model="gemini-x")
    assert answer == providers.Answer("- one [a1]", "gemini-x", 40, 8)
    call = json.loads(seen.read_text())
    assert call["argv"] == [
        "-p",
        "Answer as told above.",
        "-o",
        "json",
        "--skip-trust",
        "-e",
        "none",
        "-m",
        "gemini-x",
    ]
    assert call["stdin"] == PROMPT
    assert call["cwd"] == home + "/.dayleaf/spawn/gemini"
    assert stat.S_IMODE(os.stat(call["cwd"]).st_mode) == 0o700
    settings = json.loads(Path(call["cwd"], ".gemini/settings.json").read_text())
    assert settings["tools"]["core"] == settings["mcp"]["allowed"] == ["none"]
    assert settings["hooksConfig"]["enabled"] is False
    assert call["env"]["GEMINI_CLI_TRUST_WORKSPACE"] == "true"
    assert Path(call["env"]["GEMINI_SYSTEM_MD"]).read_text() == SYSTEM


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "print('warning', file=sys.stderr)\nprint(json.dumps({'error': {'message': 'bad key', "
            "'code': 400}}, indent=2), file=sys.stderr)\nsys.exit(144)",
            "exit 144: bad key",
        ),
        (
            "print('Please set an Auth method', file=sys.stderr)\nsys.exit(41)",
            "exit 41: Please set",
        ),
        (printing({"response": ""}), "empty"),
        (printing({"error": {"message": "quota"}}), "no JSON: quota"),
        ("pass", "no JSON"),
    ],
)
def test_gemini_failures_are_told(code, why, env, stub):
    """Errors stand as JSON on stderr among warnings."""
    stub("gemini", code)
    with pytest.raises(CallFailed) as caught:
        ask(providers.Gemini(), env)
    assert str(caught.value).startswith(why)


def test_ollama_never_downloads_a_model(env, stub):
    """`run` would pull one that is absent: `show` is asked first, and its no is final."""
    stub(
        "ollama",
        "print('- fine [a1]')\nsys.exit(sys.argv[1] == 'show' and sys.argv[2] == 'absent')",
    )
    with pytest.raises(CallFailed, match="no model"):
        ask(providers.Ollama(), env)
    with pytest.raises(CallFailed, match="no model: ollama has no 'absent'"):
        ask(providers.Ollama(), env, model="absent")
    assert ask(providers.Ollama(), env, model="local") == providers.Answer(
        "- fine [a1]", "local", None, None, 0.0
    )


class FakeMessages(BaseHTTPRequestHandler):
    """Answers every message request with two bullets, as a stream."""

    def log_message(self, *args):
        """Say nothing."""

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        """Anything else a client asks for."""
        self._send("application/json", b"{}")

    do_HEAD = do_GET

    def do_POST(self):
        """Keep the body, then stream one text block."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.split("?")[0].endswith("/messages"):
            return self._send("application/json", b"{}")
        self.server.bodies.append(body)
        events = [
            (
                "message_start",
                {
                    "message": {
                        "id": "m",
                        "type": "message",
                        "role": "assistant",
                        "model": body["model"],
                        "content": [],
                        "stop_reason": None,
                        "stop_sequence": None,
                        "usage": {"input_tokens": 11, "output_tokens": 1},
                    }
                },
            ),
            ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
            (
                "content_block_delta",
                {"index": 0, "delta": {"type": "text_delta", "text": "- one [a1]\n- two [b2]"}},
            ),
            ("content_block_stop", {"index": 0}),
            (
                "message_delta",
                {
                    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                    "usage": {"output_tokens": 9},
                },
            ),
            ("message_stop", {}),
        ]
        self._send(
            "text/event-stream",
            "".join(
                "event: %s\ndata: %s\n\n" % (name, json.dumps({"type": name, **data}))
                for name, data in events
            ).encode(),
        )


def test_the_real_client_answers_with_nothing_of_ours_or_the_users_around(
    claude_bin,  # noqa: F811
    env,
    home,
    tmp_path,
):
    """One request without tools, the prompt as its user message, no transcript left behind, no user
    hook run.
    """
    (tmp_path / "client").mkdir()
    (tmp_path / "client" / "claude").symlink_to(claude_bin)
    ran = Path(home, "hook-ran")
    Path(home, ".claude").mkdir()
    hook = {"hooks": [{"type": "command", "command": "touch %s" % ran}]}
    Path(home, ".claude/settings.json").write_text(
        json.dumps({"hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook]}})
    )
    Path(home, ".claude/CLAUDE.md").write_text("ZEBRA-MEMORY")
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeMessages)
    server.bodies = []
    Thread(target=server.serve_forever, daemon=True).start()
    env.update(
        PATH=str(tmp_path / "client") + ":/usr/local/bin:/usr/bin:/bin",
        ANTHROPIC_API_KEY="dummy" * 5,
        ANTHROPIC_BASE_URL="http://127.0.0.1:%d" % server.server_port,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        CLAUDECODE="1",
        CLAUDE_CODE_SESSION_ID="outer",
    )
    try:
        answer = ask(providers.Claude(), env, timeout=60)
    finally:
        server.shutdown()
    assert answer.text == "- one [a1]\n- two [b2]"
    assert answer.tokens_in == 11
    (body,) = server.bodies
    assert not body.get("tools")
    assert PROMPT.strip() in json.dumps(body["messages"], ensure_ascii=False).replace(
        "\\n", "\n"
    ).replace('\\"', '"')
    assert "ZEBRA-MEMORY" not in json.dumps(body)
    assert not ran.exists()
    assert not list(Path(home, ".claude").glob("projects/*/*.jsonl"))


@pytest.mark.parametrize(
    ("status", "kind"),
    [(529, "overloaded_error"), (429, "rate_limit_error"), (401, "authentication_error")],
)
def test_the_real_client_asks_once_where_the_api_fails(
    status,
    kind,
    claude_bin,  # noqa: F811
    env,
    tmp_path,
):
    """No retry behind the ledger's back: one request, and the failure is told with its status."""
    (tmp_path / "client").mkdir()
    (tmp_path / "client" / "claude").symlink_to(claude_bin)
    with FakeAnthropic(
        script={"default": {"error": {"status": status, "type": kind, "message": "no"}}}
    ) as api:
        env.update(
            PATH=str(tmp_path / "client") + ":/usr/local/bin:/usr/bin:/bin",
            ANTHROPIC_API_KEY="dummy" * 5,
            ANTHROPIC_BASE_URL=api.url,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        )
        with pytest.raises(CallFailed, match="api error %d" % status):
            ask(providers.Claude(), env, timeout=60)
        assert sum("messages" in request["path"] for request in api.requests) == 1
