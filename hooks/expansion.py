"""UserPromptExpansion: answers dayleaf's own slash commands, without a model request where none is
needed.
"""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[: __file__.rindex("/hooks/")])

try:
    from memory.core.boundary import HOOKS, run
except BaseException:
    sys.exit(0)

run(*HOOKS["UserPromptExpansion"])
