"""PreCompact: writes the checkpoint before the host drops its context, detached."""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[: __file__.rindex("/hooks/")])

try:
    from memory.core.boundary import HOOKS, run
except BaseException:
    sys.exit(0)

run(*HOOKS["PreCompact"])
