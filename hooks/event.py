"""Any event, for a client that drops the words of a hook's command: the payload names it."""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[: __file__.rindex("/hooks/")])

try:
    from memory.core.boundary import run
except BaseException:
    sys.exit(0)

run()
