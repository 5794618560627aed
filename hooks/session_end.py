"""SessionEnd: writes the session's last checkpoint, detached: the host ends this hook after 1.5
s.
"""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[: __file__.rindex("/hooks/")])

try:
    from memory.core.boundary import HOOKS, run
except BaseException:
    sys.exit(0)

run(*HOOKS["SessionEnd"])
