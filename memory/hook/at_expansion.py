"""Answer dayleaf's own slash commands by the command line, in a child.

The output of USER_VERBS blocks the expansion: it reaches the user, and no model is asked.  That of
MODEL_VERBS becomes context beside the command's own text.  The arguments go to the child's stdin as
they were typed, through no shell.
"""

from __future__ import annotations

import sys

from memory.core import boundary, files, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Event = dict[str, Any]

USER_VERBS = ("keep", "status", "why", "standup", "harvest", "plan", "feedback", "on", "off")
MODEL_VERBS = ("recall", "distill", "learn", "checkpoint", "handoff")
SESSION_VERBS = ("on", "off", "learn", "checkpoint", "handoff")
COMMAND_TIMEOUT = 105  # seconds for the child; the host ends this hook after 120
COMMAND_UNITS = 9500  # UTF-16 units; the host cuts above 10,000


def on_expansion(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Answer a slash command of dayleaf; return nothing for any other."""
    verb = _parse_verb(event.get("command_name"))
    if verb not in USER_VERBS + MODEL_VERBS or env.get(boundary.NESTED):
        return None, False
    raw = event.get("command_args")
    from memory.hook import fence

    output, error = _run_command(verb, raw if isinstance(raw, str) else "", event, env)
    if verb in USER_VERBS:
        shown = "dayleaf %s, answered without the model:\n%s" % (verb, output or "nothing to show")
        return _format_user_answer(fence.clip_utf16(error or shown, COMMAND_UNITS)), False
    if error:
        detail = fence.clip_utf16(fence.clean(error), COMMAND_UNITS - 400)
        output = fence.format_block(verb, ["The command failed and did nothing: " + detail])
    if not output:
        return None, False
    output = fence.clip_utf16(output, COMMAND_UNITS)
    answer = {"hookEventName": "UserPromptExpansion", "additionalContext": output}
    return {"hookSpecificOutput": answer}, False


def _parse_verb(name: Any) -> str:
    """Return the verb of `dayleaf:VERB`, "" for any other command."""
    if isinstance(name, str) and name.startswith("dayleaf:"):
        return name[len("dayleaf:") :]
    return ""


def _format_user_answer(text: str) -> Event:
    """Return a hook's answer that only the user sees."""
    # The client adds a line above it on a hook that blocks; the command is not repeated.
    output = {"hookEventName": "UserPromptExpansion", "suppressOriginalPrompt": True}
    return {"decision": "block", "reason": text, "hookSpecificOutput": output}


def _run_command(verb: str, raw: str, event: Event, env: dict[str, str]) -> tuple[str, str]:
    """Run a verb in a child process; return (output, error line)."""
    import subprocess

    _extend_deadline()
    argv = ["-I", layout.plugin_folder() + "/memory", verb, "--args-from-stdin"]
    argv += _build_options(verb, event)
    folder = boundary.project_dir(event, env)
    running = layout.valid_id(event.get("session_id"))
    session = {"CLAUDE_CODE_SESSION_ID": running} if running else {}
    # permissions.py: a person's words, as this child alone may say
    session[boundary.TYPED] = str(files.posix.getpid())
    runtime = layout.find_home(env) + "/runtime/bin/python"
    pythons = [runtime, sys.executable] if files.exists(runtime) else [sys.executable]
    for python in pythons:
        try:
            done = subprocess.run(
                [python, *argv],
                input=raw.encode("utf-8", "replace"),
                capture_output=True,
                cwd=folder,
                env={**env, "NO_COLOR": "1", **session},
                timeout=COMMAND_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            slow = "dayleaf: %s took longer than %d s and was stopped; try it in a terminal"
            return "", slow % (verb, COMMAND_TIMEOUT)
        except OSError as error:
            fault = "dayleaf: %s could not be started (%s); run `dayleaf doctor` in a terminal"
            fault %= (verb, error.strerror)
            continue
        if done.returncode:
            last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            fault = "dayleaf: %s failed (%d); run `dayleaf doctor` in a terminal"
            return "", last or fault % (verb, done.returncode)
        return done.stdout.decode("utf-8", "replace").strip("\n"), ""
    return "", fault


def _build_options(verb: str, event: Event) -> list[str]:
    session = layout.valid_id(event.get("session_id"))
    options = ["--hook"] if verb in MODEL_VERBS else []
    options += ["--session", session] if session and verb in SESSION_VERBS else []
    if verb == "learn":
        # the user typed it, although the client's environment says agent
        options += ["--source", "human"]
    transcript = event.get("transcript_path")
    if verb in ("checkpoint", "handoff") and isinstance(transcript, str) and transcript:
        options.append("--transcript=" + transcript)
    return options


def _extend_deadline() -> None:
    """Extend the hook's deadline, so that a model can answer."""
    try:
        from _signal import alarm  # type: ignore[import-not-found]
    except ImportError:
        return
    alarm(COMMAND_TIMEOUT + 8)
