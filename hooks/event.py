"""Any event, for a client that drops the words of a hook's command: what the payload names is served by its own script."""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[:__file__.rindex("/hooks/")])

SCRIPTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "UserPromptExpansion": "expansion",
    "PreCompact": "pre_compact",
    "Stop": "stop",
    "SessionEnd": "session_end",
}

try:
    from memory.core import files
    from memory.core.boundary import begin

    script = "%s%s.py" % (__file__[:-len("event.py")], SCRIPTS[begin()["hook_event_name"]])
    exec(compile(files.read(script), script, "exec"), {"__file__": script})
except BaseException:
    sys.exit(0)
