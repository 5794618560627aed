"""A slash command of dayleaf's, answered by the command line in a child.

What is for the user alone (SHOWN) blocks the expansion: its text reaches the user, and no model is
asked.  What the model is to work with (GIVEN) becomes context beside the command's own text.  The
arguments go to the child's stdin as they were typed, through no shell.
"""

from __future__ import annotations

import sys

from memory.core import boundary, files, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    Event = Dict[str, Any]

SHOWN = ("keep", "status", "why", "standup", "harvest", "plan", "feedback", "on", "off")
GIVEN = ("recall", "distill", "learn", "checkpoint", "handoff")
WITH_SESSION = ("on", "off", "learn", "checkpoint", "handoff")
COMMAND_TIMEOUT = 105  # seconds for the child; the host ends this hook after 120
COMMAND_UNITS = 9500  # UTF-16 units; the host cuts above 10,000


def on_expansion(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Answer one of dayleaf's slash commands; any other expansion gets nothing."""
    verb = _verb(event.get("command_name"))
    if verb not in SHOWN + GIVEN or env.get(boundary.NESTED):
        return None, False
    raw = event.get("command_args")
    from memory.hook import fence  # no other expansion needs it

    said, failed = _run(verb, raw if isinstance(raw, str) else "", event, env)
    if verb in SHOWN:
        said = "dayleaf %s, answered without the model:\n%s" % (verb, said or "nothing to show")
        return _shown(fence.clip_utf16(failed or said, COMMAND_UNITS)), False
    if failed:
        said = fence.block(
            verb,
            [
                "The command failed and did nothing: "
                + fence.clip_utf16(fence.clean(failed), COMMAND_UNITS - 400)
            ],
        )
    said = fence.clip_utf16(said, COMMAND_UNITS)
    given = {"hookEventName": "UserPromptExpansion", "additionalContext": said}
    return {"hookSpecificOutput": given} if said else None, False


def _verb(name: Any) -> str:
    """Return the verb of `dayleaf:VERB`, "" for any other command."""
    if isinstance(name, str) and name.startswith("dayleaf:"):
        return name[len("dayleaf:") :]
    return ""


def _shown(text: str) -> Event:
    """Return a hook's answer that only the user sees."""
    # The client adds a line above it on a hook that blocks; the command is not repeated.
    shown = {"hookEventName": "UserPromptExpansion", "suppressOriginalPrompt": True}
    return {
        "decision": "block",
        "reason": text,
        "hookSpecificOutput": shown,
    }


def _run(verb: str, raw: str, event: Event, env: dict[str, str]) -> tuple[str, str]:
    """Run the command line; return (output, "" or error line)."""
    import subprocess

    _extend()
    argv = ["-I", layout.plugin() + "/memory", verb, "--args-from-stdin", *_options(verb, event)]
    folder = boundary.project_dir(event, env)
    running = layout.safe_id(event.get("session_id"))
    session = {"CLAUDE_CODE_SESSION_ID": running} if running else {}
    # authority.py: a person's words, as this child alone may say
    session[boundary.TYPED] = str(files.posix.getpid())
    for python in _pythons(layout.home(env)):
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
            return "", "dayleaf: %s took longer than %d s and was stopped; try it in a terminal" % (
                verb,
                COMMAND_TIMEOUT,
            )
        except OSError as error:
            failed = "dayleaf: %s could not be started (%s); run `dayleaf doctor` in a terminal" % (
                verb,
                error.strerror,
            )
            continue
        told = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        if done.returncode:
            return "", told or "dayleaf: %s failed (%d); run `dayleaf doctor` in a terminal" % (
                verb,
                done.returncode,
            )
        return done.stdout.decode("utf-8", "replace").strip("\n"), ""
    return "", failed


def _pythons(home: str) -> list[str]:
    """Return the Python interpreters to try, in order."""
    runtime = home + "/runtime/bin/python"
    return ([runtime] if files.exists(runtime) else []) + [sys.executable]


def _options(verb: str, event: Event) -> list[str]:
    session = layout.safe_id(event.get("session_id"))
    options = ["--hook"] if verb in GIVEN else []
    options += ["--session", session] if session and verb in WITH_SESSION else []
    if verb == "learn":
        # the user typed it, although the client's environment says agent
        options += ["--source", "human"]
    transcript = event.get("transcript_path")
    if verb in ("checkpoint", "handoff") and isinstance(transcript, str) and transcript:
        options.append("--transcript=" + transcript)
    return options


def _extend() -> None:
    """Extend the hook's deadline, so that a model can answer."""
    try:
        from _signal import alarm  # type: ignore[import-not-found]
    except ImportError:
        return
    alarm(COMMAND_TIMEOUT + 8)
