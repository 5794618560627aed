"""The hook protocol: stdin to a handler to one JSON object, exit 0 whatever happens; then detached
work, if any.

HOOKS names the handlers as text (`module:function`), so that even a failing import is inside the
guard. `answer(event, env, now)` returns (object or line to print or None, whether the detached work
is wanted); `after(event, env, now)` is that work, run in a child with its own session and no
standard streams, once the host has its answer.
"""

from __future__ import annotations

import sys

from memory.core import StoreAway, clock, fastjson, files, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    Event = Dict[str, Any]

# set for every model dayleaf starts: a hook that sees it is inside our own distiller
NESTED = "DAYLEAF_NESTED"
# process id of the hook that passes a slash command on; only its own child finds it true
TYPED = "DAYLEAF_TYPED"
AGENTS = (
    "CLAUDECODE",
    "GEMINI_CLI",
    "CODEX_SANDBOX",
    "CURSOR_AGENT",
    "OPENCODE",
    "DAYLEAF_AGENT",
    NESTED,
)
# how the variables begin that set something of ours
SETTERS = ("DAYLEAF_", "CLAUDE_PLUGIN_OPTION_")
# key of a hook's event: variables that a repository set, with their files
CLAIMS = "dayleaf_claims"
STALE = "dayleaf_stale"  # key of a hook's event: the index is to be compared with the files
HEARD = "dayleaf_heard"  # key of a hook's event: the user has been told what was noted
# key of a hook's event: the runtime's Python where it does not run here
FOREIGN = "dayleaf_foreign"
STDIN_LIMIT = 8 << 20
DEADLINE = 10  # seconds, then the process ends itself; the launcher still exits 0
LAST = 2  # seconds for saying so
# event of the host: the hook's word, what answers it, what is left for the detached child
HOOKS = {
    "SessionStart": (
        "session_start",
        "memory.hook.at_start:on_session_start",
        "memory.health.worker:after_start",
    ),
    "UserPromptSubmit": (
        "prompt",
        "memory.hook.at_prompt:on_prompt",
        "memory.health.worker:after_prompt",
    ),
    "UserPromptExpansion": ("expansion", "memory.hook.at_expansion:on_expansion", ""),
    "PreToolUse": ("agent", "memory.hook.at_prompt:on_agent", "memory.health.worker:after_prompt"),
    "PostToolUseFailure": ("failure", "memory.hook.at_failure:on_failure", ""),
    "PostToolUse": ("masked", "memory.hook.at_failure:on_masked", ""),
    "PreCompact": ("pre_compact", "", "memory.health.worker:work"),
    "Stop": ("stop", "memory.hook.at_stop:on_stop", "memory.health.worker:work"),
    "SessionEnd": (
        "session_end",
        "memory.hook.at_stop:on_session_end",
        "memory.health.worker:work",
    ),
}


class Overdue(BaseException):
    """A hook did not answer within DEADLINE seconds.

    Derives from BaseException, so that handlers let it pass.
    """

    strerror = "no answer within %d seconds, so nothing reached the model" % DEADLINE


class Unwelcome(Exception):
    """The client did not pass a hook's block to the model."""

    strerror = "Claude Code did not take a block of notes; they may come again"


def run(name: str = "", answer: str = "", after: str = "") -> None:
    """Serve one hook event and end the process with status 0.

    name: the hook's word in logs; without one all three are those of the event that the payload
    names.  answer, after: `module:function`, or "" for none.
    """
    env: Dict[str, str] = {}
    try:
        env = files.read_environ()
        if env.get(NESTED):
            files.posix._exit(0)
        _set_alarm()
        event = read_event()
        env = _trusted_environment(env, event)
        if not name:
            name, answer, after = HOOKS.get(str(event.get("hook_event_name")), ("", "", ""))
        wanted = _run_handler(name, answer, event, env) if answer else True
        if after and wanted:
            detach(name, after, event, env)
    except BaseException as error:
        log_failure(env, name, error)
    files.posix._exit(0)


def _trusted_environment(env: Dict[str, str], event: Event) -> Dict[str, str]:
    """Return the environment without the variables set by a repository."""
    event.pop(CLAIMS, None)
    event[FOREIGN] = env.get("DAYLEAF_FOREIGN_RUNTIME", "")
    if not any(key.startswith(SETTERS) for key in env):
        return env
    from memory.core import environment

    folders = [project_dir(event, env)]
    claimed = environment.find_repository_variables(env, folders)
    if claimed:
        event[CLAIMS] = claimed
    return environment.trusted_environment(env, folders)


def is_agent(env: Dict[str, str]) -> bool:
    """Tell whether an environment belongs to an agent's shell or hook."""
    return any(env.get(mark) for mark in AGENTS)


def is_typed_by_person(env: Dict[str, str]) -> bool:
    """Tell whether our hook started this process for a slash command."""
    return hasattr(files.posix, "getppid") and env.get(TYPED) == str(files.posix.getppid())


def _run_handler(name: str, answer: str, event: Event, env: Dict[str, str]) -> bool:
    """Print a handler's answer; return whether the detached work should run."""
    try:
        output, wanted = import_handler(answer)(event, env, clock.now())
        if output:
            text = output if isinstance(output, str) else fastjson.dump(output)
            files._write_all(1, (text + "\n").encode("utf-8", "replace"))
        return bool(wanted)
    except BaseException as error:
        log_failure(env, name, error)
        return True


def read_event() -> Event:
    """Read a hook's payload from stdin, {} if it is no JSON object."""
    try:
        event = fastjson.parse(files.read_fd(0, STDIN_LIMIT))
    except (OSError, ValueError):
        return {}
    return event if isinstance(event, dict) else {}


def project_dir(event: Event, env: Dict[str, str]) -> str:
    """Return the directory in which a session was started.

    The payload's `cwd` comes last: it drifts with the model's `cd`.
    """
    for given in (env.get("CLAUDE_PROJECT_DIR"), event.get("cwd")):
        if isinstance(given, str) and "\0" not in given and (given[:1] == "/" or given[1:2] == ":"):
            return given
    return str(files.posix.getcwd())


def import_handler(handler: str) -> Callable[..., Any]:
    """Import and return the function named `module:function`."""
    module, _, function = handler.partition(":")
    __import__(module)
    found: Callable[..., Any] = getattr(sys.modules[module], function)
    return found


def _set_alarm() -> None:
    """Set an alarm for hooks that hang in a file system.

    After DEADLINE seconds Overdue is raised and noted; after LAST more, SIGALRM's default action
    ends the process.  fork clears the alarm for the detached child.
    """
    try:
        from _signal import SIG_DFL, SIGALRM, alarm, signal  # type: ignore[import-not-found]
    except ImportError:
        return

    def late(number: int, frame: object) -> None:
        signal(SIGALRM, SIG_DFL)
        alarm(LAST)
        raise Overdue

    signal(SIGALRM, late)
    alarm(DEADLINE)


def detach(name: str, after: str, event: Event, env: Dict[str, str]) -> None:
    """Run `after` in a child that outlives the hook.

    The standard streams are replaced before the fork: the host reads stdout to its end, and a child
    that still holds it would keep the host waiting.
    """
    posix = files.posix
    if not hasattr(posix, "fork"):
        _spawn(name, after, event)
        return
    null = posix.open("/dev/null", posix.O_RDWR)
    for fd in (0, 1, 2):
        posix.dup2(null, fd)
    if posix.fork():
        return
    try:
        posix.setsid()
        posix.nice(10)
        sys.dont_write_bytecode = False
        import_handler(after)(event, env, clock.now())
    except BaseException as error:
        log_failure(env, name + " worker", error)
    finally:
        posix._exit(0)


def _spawn(name: str, after: str, event: Event) -> None:
    """Start the detached work in a second interpreter (Windows has no fork)."""
    import subprocess

    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory.core.boundary import run; "
        "run(sys.argv[2], '', sys.argv[3])"
    )
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", code, layout.plugin_folder(), name, after],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        creationflags=0x8 | 0x200,  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP
    )
    assert child.stdin is not None
    child.stdin.write(fastjson.dump(event).encode("ascii"))
    child.stdin.close()


def log_failure(env: Dict[str, str], where: str, error: BaseException) -> None:
    """Append a failure to `log/errors.jsonl`; never raises.

    The next session start shows it once.  A line holds time, event, kind of error and place in our
    code: no text of the user's.
    """
    if isinstance(error, StoreAway):
        return  # the start says it
    try:
        detail = getattr(error, "strerror", "")
        path = error.filename if isinstance(error, OSError) else ""
        line = {
            "v": 1,
            "t": clock.iso(clock.now()),
            "where": where,
            "error": type(error).__name__,
            "detail": str(detail or "")[:200],
            "path": str(path or "")[:300],
            "at": _find_origin(error),
        }
        files.append(
            layout.find_home(env) + "/log/errors.jsonl",
            (fastjson.dump(line) + "\n").encode("ascii"),
        )
    except BaseException:
        return


def _find_origin(error: BaseException) -> str:
    trace, origin = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
        origin = "%s:%d" % (name, trace.tb_lineno)
        trace = trace.tb_next
    return origin
