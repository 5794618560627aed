"""Local commands that answer a prompt: claude, gemini, ollama, or the user's own.

Each is a child with its own session, an empty temporary directory, no tools, a cleaned environment
with the nesting guard, a deadline, a cap on output, and the prompt on stdin: argv is public. The
answer is untrusted text.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass, replace
from typing import Any, Mapping, NamedTuple, Protocol, Sequence

from memory.core import ProviderError, boundary, files, layout
from memory.distill.digests import clean
from memory.distill.prompts import MARKER, NONE
from memory.distill.spend import to_number
from memory.store import process

OUTPUT_LIMIT = 4 << 20  # bytes of stdout
HELP_TIMEOUT = 10.0  # seconds for a question about the command itself

# Variables of a session that a new top-level client must not see.  Credentials and the choice of a
# cloud (CLAUDE_CODE_OAUTH_TOKEN, CLAUDE_CODE_USE_*, CLAUDE_CONFIG_DIR, ANTHROPIC_*, AWS_*,
# GOOGLE_*) pass: without them the client has no model.
DROPPED = frozenset(
    "CLAUDECODE CLAUDE_PID CLAUDE_ENV_FILE CLAUDE_PROJECT_DIR CLAUDE_JOB_DIR CLAUDE_SESSION_ID "
    "CLAUDE_SKILL_DIR CLAUDE_CODE_ENTRYPOINT GEMINI_CLI".split()
)
DROPPED_STARTS = tuple(
    "CLAUDE_CODE_SESSION CLAUDE_CODE_CHILD CLAUDE_CODE_MESSAGING_ CLAUDE_PLUGIN_".split()
)


@dataclass(frozen=True)
class Answer:
    """A model's answer, with None for what the command does not tell."""

    text: str
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class CallFailed(ProviderError):
    """A call without an answer.

    why: a word for ledgers, without user text. answer: with the cost all the same, or None.
    """

    def __init__(self, why: str, detail: str = "", answer: Answer | None = None):
        super().__init__("%s: %s" % (why, detail) if detail else why)
        self.why, self.answer = why, answer


class Request(NamedTuple):
    """A prompt for a provider; model: "" for the provider's own choice."""

    prompt: str
    system: str
    timeout: float
    env: Mapping[str, str]
    model: str


class Provider(Protocol):
    """A command that answers prompts."""

    @property
    def name(self) -> str:
        """The provider's name in configuration, ledger and digest."""
        ...

    def available(self, env: Mapping[str, str]) -> str:
        """Return the reason why the command cannot be called, or ""."""
        ...

    def complete(self, request: Request) -> Answer:
        """Answer a prompt; raises ProviderError (mostly CallFailed)."""
        ...


class _Client:
    """Base of the models' clients, found by name on PATH."""

    name: str

    def available(self, env: Mapping[str, str]) -> str:
        """Return the reason why the client cannot be called, or ""."""
        return "" if process.which(self.name, env) else "%s is not on PATH" % self.name


class Claude(_Client):
    """`claude -p` with every customisation off."""

    name = "claude"

    def complete(self, request: Request) -> Answer:
        """Answer through the user's own login, by default with `haiku`."""
        program = _find_program(self, self.name, request.env)
        # one request, and no other
        passed = dict(make_nested_env(request.env), CLAUDE_CODE_MAX_RETRIES="0")
        # --bare would be leaner, but never reads a subscription's login; clients before 2.1.169
        # lack --safe-mode.
        known = run([program, "--help"], "", min(request.timeout, HELP_TIMEOUT), passed).out
        isolation = ["--safe-mode"] if "--safe-mode" in known else ["--setting-sources", ""]
        options = ["-p", *isolation, "--tools", "", "--strict-mcp-config"]
        options += ["--no-session-persistence", "--system-prompt", request.system]
        options += ["--model", request.model or "haiku", "--output-format", "json"]
        done = run([program, *options], request.prompt, request.timeout, passed)
        return _check_answer(_parse_claude(done), request.prompt)


class Gemini(_Client):
    """`gemini -p` without tools, hooks and servers.

    Project settings in its working directory switch them off. That is always the same, since the
    client keeps a history for each, and is trusted (--skip-trust alone comes too late).
    """

    name = "gemini"
    settings: Mapping[str, object] = {
        "tools": {"core": ["none"]},
        "mcp": {"allowed": ["none"]},
        "hooksConfig": {"enabled": False},
        "skills": {"enabled": False},
        "context": {"fileName": ["none"]},
        "general": {"sessionRetention": {"enabled": True, "maxAge": "1d", "maxCount": 1}},
    }

    def complete(self, request: Request) -> Answer:
        """Answer through the user's own login."""
        program = _find_program(self, self.name, request.env)
        stand = layout.find_home(dict(request.env)) + "/spawn/gemini"
        try:
            files.replace(stand + "/.gemini/settings.json", json.dumps(self.settings).encode())
            files.replace(stand + "/.gemini/system.md", request.system.encode())
        except OSError as error:
            raise CallFailed("no directory", "%s: %s" % (stand, error.strerror)) from None
        passed = dict(
            make_nested_env(request.env),
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GEMINI_SYSTEM_MD=stand + "/.gemini/system.md",
        )
        options = ["-p", "Answer as told above.", "-o", "json", "--skip-trust", "-e", "none"]
        options += ["-m", request.model] if request.model else []
        done = run([program, *options], request.prompt, request.timeout, passed, stand)
        return _check_answer(_parse_gemini(done), request.prompt)


class Ollama(_Client):
    """`ollama run`, for models that are already on this machine."""

    name = "ollama"

    def complete(self, request: Request) -> Answer:
        """Answer with the local model that a request names."""
        program = _find_program(self, self.name, request.env)
        if not request.model or request.model.startswith("-"):
            raise CallFailed("no model", "set distill.model to one that `ollama list` shows")
        passed = make_nested_env(request.env)
        # `ollama run` would download a model that is absent; `ollama show` only looks.
        if run([program, "show", request.model], "", min(request.timeout, HELP_TIMEOUT), passed).rc:
            raise CallFailed(
                "no model", "ollama has no '%s'; pull it or set distill.model" % request.model
            )
        return replace(
            _ask_for_text([program, "run", request.model], request, passed, request.model), cost=0.0
        )


class Command:
    """The user's own command: prompt on stdin, answer on stdout, status 0."""

    name = "command"

    def __init__(self, argv: Sequence[str]):
        self.argv = list(argv)

    def available(self, env: Mapping[str, str]) -> str:
        """Return the fault of `distill.command`, or ""."""
        if not self.argv or not all(isinstance(w, str) and "\0" not in w for w in self.argv):
            return "set distill.command to a list: the program, then its arguments"
        if not process.which(self.argv[0], env):
            return "'%s' is not an absolute path and not on PATH" % self.argv[0]
        return ""

    def complete(self, request: Request) -> Answer:
        """Answer with the command; DAYLEAF_MODEL holds a given model."""
        program = _find_program(self, next(iter(self.argv), ""), request.env)
        passed = make_nested_env(request.env)
        if request.model:
            passed["DAYLEAF_MODEL"] = request.model
        model = request.model or os.path.basename(self.argv[0])
        return _ask_for_text([program, *self.argv[1:]], request, passed, model)


def load_provider(name: str, command: Sequence[str]) -> Provider:
    """Return a provider by its name; command: the words of `distill.command`."""
    if name == "command":
        return Command(command)
    classes: dict[str, type[Provider]] = {"claude": Claude, "gemini": Gemini, "ollama": Ollama}
    return classes[name]()


# --- Programs and their environment


def _find_program(provider: Provider, program: str, env: Mapping[str, str]) -> str:
    reason = provider.available(env)
    if reason:
        raise CallFailed("absent", reason)
    return process.which(program, env)


def make_nested_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a model's client, marked as nested.

    Raises CallFailed inside such a client: a model never starts a model.
    """
    if env.get(boundary.NESTED):
        raise CallFailed("nested", "this runs inside a model call by dayleaf")
    passed = {
        key: value
        for key, value in env.items()
        if key not in DROPPED and not key.startswith(DROPPED_STARTS)
    }
    return {**passed, "PATH": process.keep_absolute(env.get("PATH", "")), boundary.NESTED: "1"}


# --- Running


@dataclass(frozen=True)
class ProcessResult:
    """A child's result; rc: negative for signals, err: first 64 KiB."""

    rc: int
    out: str
    err: str


def run(
    argv: Sequence[str], stdin: str, timeout: float, env: Mapping[str, str], folder: str = ""
) -> ProcessResult:
    """Run a command, and end its process group afterwards.

    argv: argv[0] absolute. folder: its working directory; "" for a temporary one. Raises CallFailed
    without the nesting guard, for a failed start, a missed deadline and more than OUTPUT_LIMIT
    bytes.
    """
    if not env.get(boundary.NESTED):
        raise CallFailed(
            "unguarded", "a child without %s in its environment is not started" % boundary.NESTED
        )
    try:
        done = process.run(
            argv, stdin.encode("utf-8", "replace"), timeout, env, folder, OUTPUT_LIMIT
        )
    except (OSError, ValueError) as error:
        raise CallFailed(
            "no start", "%s: %s" % (argv[0], getattr(error, "strerror", None) or error)
        ) from None
    if done.full:
        raise CallFailed("output too long", "over %d MB" % (OUTPUT_LIMIT >> 20))
    if not done.in_time:
        raise CallFailed("timeout", "no answer within %g s" % timeout)
    return ProcessResult(
        done.rc, done.out.decode("utf-8", "replace"), done.err.decode("utf-8", "replace")
    )


# --- Answers

_THOUGHTS = re.compile(r"(?s)\A\s*<think(?:ing)?>.*?</think(?:ing)?>")
_BLOCKED = re.compile(r"operation blocked by hook", re.IGNORECASE)
_TOKENS_READ = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _first_line(value: str) -> str:
    return next(
        (line.strip()[:200] for line in clean(value[: 1 << 16]).splitlines() if line.strip()), ""
    )


def _check_status(done: ProcessResult) -> None:
    if done.rc:
        raise CallFailed("exit %d" % done.rc, _first_line(done.err) or _first_line(done.out))


def _ask_for_text(
    argv: Sequence[str], request: Request, env: Mapping[str, str], model: str
) -> Answer:
    """Ask a command that prints nothing but its answer."""
    done = run(argv, request.system + "\n\n" + request.prompt, request.timeout, env)
    _check_status(done)
    return _check_answer(Answer(_THOUGHTS.sub("", done.out), model), request.prompt)


def _check_answer(answer: Answer, prompt: str) -> Answer:
    """Strip an answer; raises CallFailed if empty, blocked or echoed."""
    # all seen with exit status 0
    text = answer.text.strip()
    if not text:
        raise CallFailed("empty", answer=answer)
    if _BLOCKED.search(text[:400]):
        raise CallFailed("blocked by a hook", answer=answer)
    if (
        MARKER in text
        or (text in prompt and text != NONE)
        or (len(text) > 40 and prompt.strip()[:200] in text)
    ):
        raise CallFailed("echo", "the prompt came back", answer)
    return replace(answer, text=text)


def _parse_json_object(value: str) -> dict[str, Any]:
    """Parse the JSON object in a command's output, {} for none."""
    for piece in (value, *reversed(value.strip().splitlines())):
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(piece)
            if isinstance(found, list) and found:
                found = found[-1]
            if isinstance(found, dict):
                return found
    return {}


def _sum_tokens(*values: object) -> int | None:
    """Sum token counts, None without any number."""
    known = [int(number) for number in map(to_number, values) if number is not None]
    return sum(known) if known else None


def _make_claude_failure(done: ProcessResult, result: dict[str, Any], answer: Answer) -> CallFailed:
    status, errors = result.get("api_error_status"), result.get("errors")
    why = "exit %d" % done.rc if done.rc else "is_error"
    if isinstance(status, int):
        why = "api error %d" % status
    detail = answer.text
    if not detail and isinstance(errors, list) and errors:
        detail = str(errors[0])
    return CallFailed(why, _first_line(detail or done.err), answer)


def _parse_claude(done: ProcessResult) -> Answer:
    """Parse the output of `claude --output-format json`."""
    # is_error and the status are trusted: `subtype` says success on an API error.
    result = _parse_json_object(done.out)
    if not result:
        _check_status(done)
        raise CallFailed("no JSON", _first_line(done.out))
    usage, models = _to_dict(result.get("usage")), _to_dict(result.get("modelUsage"))
    said = result.get("result")
    answer = Answer(
        said if isinstance(said, str) else "",
        next(iter(models), ""),
        _sum_tokens(*map(usage.get, _TOKENS_READ)),
        _sum_tokens(usage.get("output_tokens")),
        to_number(result.get("total_cost_usd")),
    )
    if done.rc or result.get("is_error") is not False:
        raise _make_claude_failure(done, result, answer)
    if _BLOCKED.search(answer.text[:400]):
        raise CallFailed("blocked by a hook", answer=answer)
    if not result.get("num_turns"):
        raise CallFailed("zero turns", "the client answered without asking the model", answer)
    return answer


def _parse_gemini(done: ProcessResult) -> Answer:
    """Parse the output of `gemini -o json`."""
    result = _parse_json_object(done.out)
    if done.rc or not result or result.get("error"):
        # on stderr the object stands behind other lines
        start = max(done.err.find('{\n  "'), 0)
        error = result.get("error") or _parse_json_object(done.err[start:]).get("error")
        detail = str(_to_dict(error).get("message", "")) or _first_line(done.err)
        raise CallFailed("exit %d" % done.rc if done.rc else "no JSON", _first_line(detail))
    models = _to_dict(_to_dict(result.get("stats")).get("models"))
    tokens = [_to_dict(_to_dict(value).get("tokens")) for value in models.values()]
    said = result.get("response")
    return Answer(
        said if isinstance(said, str) else "",
        next(iter(models), ""),
        _sum_tokens(*(t.get("prompt", t.get("input")) for t in tokens)),
        _sum_tokens(*(t.get(key) for t in tokens for key in ("candidates", "thoughts"))),
    )


def _to_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
