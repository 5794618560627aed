"""UserPromptExpansion: answers dayleaf's own slash commands, without a model request where none is needed."""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[:__file__.rindex("/hooks/")])

try:
    from memory.hookio import run
except BaseException:
    sys.exit(0)

run("expansion", answer="memory.shortcuts:on_expansion")
