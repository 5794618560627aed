"""UserPromptSubmit: prints the learnings and rules that matter to the prompt; then, detached, refreshes the index."""

import gc
import sys

gc.disable()

sys.path.insert(0, __file__[:__file__.rindex("/hooks/")])

try:
    from memory.core.boundary import run
except BaseException:
    sys.exit(0)

run("prompt", answer="memory.hook.at_prompt:on_prompt", after="memory.health.worker:after_prompt")
