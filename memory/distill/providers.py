"""Local commands that answer a prompt: claude, gemini, ollama, or one the user names.

Each is a child with its own session, an empty temporary directory to stand in, no tools, a cleaned
environment that carries the nesting guard, a deadline, a cap on what it may print, and the prompt
on stdin: argv is for all to see.  What comes back is untrusted text.  Nothing here decides whether
a call may be made; see spend.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass
from typing import Any, Mapping, NamedTuple, Protocol, Sequence

from memory.core import ProviderError, boundary, files, layout
from memory.distill.digests import clean
from memory.distill.prompts import MARKER, NONE
from memory.store import process

OUTPUT_LIMIT = 4 << 20  # bytes of stdout
HELP_TIMEOUT = 10.0

# What a session sets for its children and a new top-level client must not see.  Credentials and the
# choice of a cloud (CLAUDE_CODE_OAUTH_TOKEN, CLAUDE_CODE_USE_*, CLAUDE_CONFIG_DIR, ANTHROPIC_*,
# AWS_*, GOOGLE_*) pass: dropping all of CLAUDE_CODE_* left another tool silently without a model
# for seven weeks.
DROPPED = (
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_JOB_DIR",
    "CLAUDE_SESSION_ID",
    "CLAUDE_SKILL_DIR",
    "CLAUDE_CODE_ENTRYPOINT",
    "GEMINI_CLI",
)
DROPPED_STARTS = (
    "CLAUDE_CODE_SESSION",
    "CLAUDE_CODE_CHILD",
    "CLAUDE_CODE_MESSAGING_",
    "CLAUDE_PLUGIN_",
)


@dataclass(frozen=True)
class Answer:
    """A model's answer.

    tokens_in, tokens_out, cost (US dollars): None where the command does not tell.
    """

    text: str
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class CallFailed(ProviderError):
    """A call without an answer.

    why: a word for ledgers, free of anybody's text. answer: the command's account of its cost all
        the same, or None.
    """

    def __init__(self, why: str, detail: str = "", answer: Answer | None = None):
        super().__init__("%s: %s" % (why, detail) if detail else why)
        self.why, self.answer = why, answer


class Request(NamedTuple):
    """A prompt for a provider.

    timeout: seconds. model: "" for the provider's own choice.
    """

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
        """Answer a prompt.

        Raises ProviderError (mostly CallFailed).
        """
        ...


class _Client:
    """A client found by its name on PATH."""

    name: str

    def available(self, env: Mapping[str, str]) -> str:
        """Return the reason why the client cannot be called, or ""."""
        return "" if process.which(self.name, env) else "%s is not on PATH" % self.name


class Claude(_Client):
    """`claude -p` with every customisation off."""

    name = "claude"

    def complete(self, request: Request) -> Answer:
        """Answer through the user's own login, by default with `haiku`."""
        program = _need("claude", request.env)
        passed = dict(
            clean_env(request.env), CLAUDE_CODE_MAX_RETRIES="0"
        )  # one request, and no other
        # --bare would be leaner, but never reads a subscription's login; clients before 2.1.169
        # lack --safe-mode.
        known = run([program, "--help"], "", min(request.timeout, HELP_TIMEOUT), passed).out
        isolation = ["--safe-mode"] if "--safe-mode" in known else ["--setting-sources", ""]
        done = run(
            [
                program,
                "-p",
                *isolation,
                "--tools",
                "",
                "--strict-mcp-config",
                "--no-session-persistence",
                "--system-prompt",
                request.system,
                "--model",
                request.model or "haiku",
                "--output-format",
                "json",
            ],
            request.prompt,
            request.timeout,
            passed,
        )
        return _checked(_claude_answer(done), request.prompt)


class Gemini(_Client):
    """`gemini -p` without tools, hooks and servers.

    Switched off by project settings in its working directory. The directory is always the same,
    since the client keeps a history folder for each directory it has ever seen. It obeys the
    settings only in a trusted one (--skip-trust alone comes too late for them), and takes an empty
    list of allowed servers or tools for no list (0.61).
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
        program = _need("gemini", request.env)
        stand = layout.home(dict(request.env)) + "/spawn/gemini"
        try:
            files.replace(stand + "/.gemini/settings.json", json.dumps(self.settings).encode())
            files.replace(stand + "/.gemini/system.md", request.system.encode())
        except OSError as error:
            raise CallFailed("no directory", "%s: %s" % (stand, error.strerror)) from None
        passed = dict(
            clean_env(request.env),
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GEMINI_SYSTEM_MD=stand + "/.gemini/system.md",
        )
        chosen = ["-m", request.model] if request.model else []
        done = run(
            [
                program,
                "-p",
                "Answer as told above.",
                "-o",
                "json",
                "--skip-trust",
                "-e",
                "none",
                *chosen,
            ],
            request.prompt,
            request.timeout,
            passed,
            stand,
        )
        return _checked(_gemini_answer(done), request.prompt)


class Ollama(_Client):
    """`ollama run`, for models that are already on this machine."""

    name = "ollama"

    def complete(self, request: Request) -> Answer:
        """Answer with a local model, which must be named."""
        program = _need("ollama", request.env)
        if not request.model or request.model.startswith("-"):
            raise CallFailed("no model", "set distill.model to one that `ollama list` shows")
        passed = clean_env(request.env)
        # `ollama run` would download a model that is absent; `ollama show` only looks.
        if run([program, "show", request.model], "", min(request.timeout, HELP_TIMEOUT), passed).rc:
            raise CallFailed(
                "no model", "ollama has no '%s'; pull it or set distill.model" % request.model
            )
        done = run(
            [program, "run", request.model],
            request.system + "\n\n" + request.prompt,
            request.timeout,
            passed,
        )
        _succeeded(done)
        return _checked(
            Answer(_without_thoughts(done.out), request.model, cost=0.0), request.prompt
        )


class Command:
    """The user's own command.

    Prompt on stdin, answer on stdout, exit status 0.
    """

    name = "command"

    def __init__(self, argv: Sequence[str]):
        self.argv = list(argv)

    def available(self, env: Mapping[str, str]) -> str:
        """Return the fault of `distill.command`, or "".

        It names a program by absolute path or on PATH.
        """
        if not self.argv or not all(
            isinstance(word, str) and "\0" not in word for word in self.argv
        ):
            return "set distill.command to a list: the program, then its arguments"
        return (
            ""
            if process.which(self.argv[0], env)
            else "'%s' is not an absolute path and not on PATH" % self.argv[0]
        )

    def complete(self, request: Request) -> Answer:
        """Answer with the command.

        DAYLEAF_MODEL holds the model, if one is given.
        """
        reason = self.available(request.env)
        if reason:
            raise CallFailed("absent", reason)
        passed = dict(
            clean_env(request.env), **({"DAYLEAF_MODEL": request.model} if request.model else {})
        )
        done = run(
            [_need(self.argv[0], request.env), *self.argv[1:]],
            request.system + "\n\n" + request.prompt,
            request.timeout,
            passed,
        )
        _succeeded(done)
        return _checked(
            Answer(_without_thoughts(done.out), request.model or os.path.basename(self.argv[0])),
            request.prompt,
        )


def named(name: str, command: object) -> Provider:
    """Return the provider of a name.

    command: the words of `distill.command`.
    """
    if name == "command":
        return Command(command if isinstance(command, (list, tuple)) else ())
    made: dict[str, type[Provider]] = {"claude": Claude, "gemini": Gemini, "ollama": Ollama}
    return made[name]()


# --- Programs and their environment ---------------------------------------------------------------


def _need(program: str, env: Mapping[str, str]) -> str:
    found = process.which(program, env)
    if not found:
        raise CallFailed("absent", "%s is not on PATH" % program)
    return found


def clean_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a nested client.

    A session's own variables are removed, the nesting guard is set. Raises CallFailed inside such a
    client: a model never starts a model.
    """
    if env.get(boundary.NESTED):
        raise CallFailed("nested", "this runs inside a model call by dayleaf")
    passed = {
        key: value
        for key, value in env.items()
        if key not in DROPPED and not key.startswith(DROPPED_STARTS)
    }
    return {**passed, "PATH": process.absolute(env.get("PATH", "")), boundary.NESTED: "1"}


# --- Running --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finished:
    """A child's end.

    rc: status, negative for a signal. err: its first 64 KiB.
    """

    rc: int
    out: str
    err: str


def run(
    argv: Sequence[str],
    stdin: str,
    timeout: float,
    env: Mapping[str, str],
    folder: str = "",
) -> Finished:
    """Run a command, and end its process group afterwards.

    argv: argv[0] absolute. timeout: seconds. env: made by clean_env. folder: its working directory;
        "" for an empty one, removed afterwards. Raises CallFailed for an environment without the
        nesting guard, a command that does not start, a missed deadline and more than OUTPUT_LIMIT
        bytes of output.
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
    return Finished(
        done.rc, done.out.decode("utf-8", "replace"), done.err.decode("utf-8", "replace")
    )


# --- Answers --------------------------------------------------------------------------------------

_THOUGHTS = re.compile(r"(?s)\A\s*<think(?:ing)?>.*?</think(?:ing)?>")
_BLOCKED = re.compile(r"operation blocked by hook", re.IGNORECASE)


def _without_thoughts(value: str) -> str:
    return _THOUGHTS.sub("", value)


def _first_line(value: str) -> str:
    return next(
        (line.strip()[:200] for line in clean(value[: 1 << 16]).splitlines() if line.strip()), ""
    )


def _succeeded(done: Finished) -> None:
    if done.rc:
        raise CallFailed("exit %d" % done.rc, _first_line(done.err) or _first_line(done.out))


def _checked(answer: Answer, prompt: str) -> Answer:
    """Return an answer, stripped; raise CallFailed for an empty one."""
    # Also for a hook's refusal, or the prompt returned (all seen with exit status 0).
    said = answer.text.strip()
    if not said:
        raise CallFailed("empty", answer=answer)
    if _BLOCKED.search(said[:400]):
        raise CallFailed("blocked by a hook", answer=answer)
    if (
        MARKER in said
        or (said in prompt and said != NONE)
        or (len(said) > 40 and prompt.strip()[:200] in said)
    ):
        raise CallFailed("echo", "the prompt came back", answer)
    return Answer(said, answer.model, answer.tokens_in, answer.tokens_out, answer.cost)


def _json_object(value: str) -> dict[str, Any]:
    """Return the JSON object in a command's output, {} for none."""
    for piece in (value, *reversed(value.strip().splitlines())):
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(piece)
            if isinstance(found, list) and found:
                found = found[-1]
            if isinstance(found, dict):
                return found
    return {}


def _count(*values: object) -> int | None:
    """Return the sum of token counts; None without any number."""
    known = [
        int(v)
        for v in values
        if isinstance(v, (int, float)) and not isinstance(v, bool) and 0 <= v < 1e12
    ]
    return sum(known) if known else None


def _claude_failure(done: Finished, result: dict[str, Any], answer: Answer) -> CallFailed:
    status, errors = result.get("api_error_status"), result.get("errors")
    why = "exit %d" % done.rc if done.rc else "is_error"
    if isinstance(status, int):
        why = "api error %d" % status
    detail = answer.text
    if not detail and isinstance(errors, list) and errors:
        detail = str(errors[0])
    return CallFailed(why, _first_line(detail or done.err), answer)


def _claude_answer(done: Finished) -> Answer:
    """Read `--output-format json`."""
    # is_error and the status are trusted: `subtype` says success on an API error.
    result = _json_object(done.out)
    if not result:
        _succeeded(done)
        raise CallFailed("no JSON", _first_line(done.out))
    usage, models = _table(result.get("usage")), _table(result.get("modelUsage"))
    cost = result.get("total_cost_usd")
    said = result.get("result")
    answer = Answer(
        said if isinstance(said, str) else "",
        next(iter(models), ""),
        _count(
            usage.get("input_tokens"),
            usage.get("cache_read_input_tokens"),
            usage.get("cache_creation_input_tokens"),
        ),
        _count(usage.get("output_tokens")),
        float(cost) if isinstance(cost, (int, float)) and 0 <= cost < 1e15 else None,
    )
    if done.rc or result.get("is_error") is not False:
        raise _claude_failure(done, result, answer)
    if _BLOCKED.search(answer.text[:400]):
        raise CallFailed("blocked by a hook", answer=answer)
    if not result.get("num_turns"):
        raise CallFailed("zero turns", "the client answered without asking the model", answer)
    return answer


def _gemini_answer(done: Finished) -> Answer:
    """Read `-o json`."""
    result = _json_object(done.out)
    if done.rc or not result or result.get("error"):
        told = result.get("error") or _json_object(done.err[max(done.err.find('{\n  "'), 0) :]).get(
            "error"
        )
        detail = str(_table(told).get("message", "")) or _first_line(done.err)
        raise CallFailed("exit %d" % done.rc if done.rc else "no JSON", _first_line(detail))
    models = _table(_table(result.get("stats")).get("models"))
    tokens = [_table(_table(value).get("tokens")) for value in models.values()]
    said = result.get("response")
    return Answer(
        said if isinstance(said, str) else "",
        next(iter(models), ""),
        _count(*(t.get("prompt", t.get("input")) for t in tokens)),
        _count(*(t.get(key) for t in tokens for key in ("candidates", "thoughts"))),
    )


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
