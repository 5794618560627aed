"""PreToolUse of a subagent's tool: adds the learnings and passages that matter to the subagent's
prompt.
"""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[: __file__.rindex("/hooks/")])

try:
    from memory.core.boundary import HOOKS, run
except BaseException:
    sys.exit(0)

run(*HOOKS["PreToolUse"])
