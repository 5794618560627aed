"""PostToolUseFailure: prints the remedy of a failed call that an earlier session met."""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[: __file__.rindex("/hooks/")])

try:
    from memory.core.boundary import HOOKS, run
except BaseException:
    sys.exit(0)

run(*HOOKS["PostToolUseFailure"])
