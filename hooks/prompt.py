"""UserPromptSubmit: prints the learnings and rules that matter to the prompt; then, detached,
refreshes the index.
"""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[: __file__.rindex("/hooks/")])

try:
    from memory.core.boundary import HOOKS, run
except BaseException:
    sys.exit(0)

run(*HOOKS["UserPromptSubmit"])
