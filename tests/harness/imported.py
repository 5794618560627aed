"""What a process imports, and the list of what a blocking hook may import."""

from __future__ import annotations

import json
import subprocess

# Everything a blocking hook may import beyond a bare interpreter's own: built-in modules, or a
# single small one.  An import of re, json, os, pathlib, datetime or typing costs a good part of a
# bare start, on every prompt.
FREE = set("__future__ _bisect _json _sha256 _sha2 _struct fcntl gc math zlib".split())
OURS = set(
    """
memory
memory.core
memory.core.approvals
memory.core.boundary
memory.core.clock
memory.core.config
memory.core.environment
memory.core.fastjson
memory.core.files
memory.core.frontmatter
memory.core.headreader
memory.core.layout
memory.core.plaintext
memory.core.records
memory.core.tokeniser
memory.core.walk
memory.hook
memory.hook.at_failure
memory.hook.at_prompt
memory.hook.at_start
memory.hook.context
memory.hook.delta
memory.hook.documents
memory.hook.fence
memory.hook.handles
memory.hook.handoffs
memory.hook.indexview
memory.hook.intent
memory.hook.loader
memory.hook.markup
memory.hook.passages
memory.hook.windows
memory.core.matches
memory.hook.receipts
memory.hook.wallkeys
memory.hook.segment
memory.hook.strategies
memory.hook.announcements
memory.hook.signs
memory.index
memory.index.postings
""".split()
)


def imported(python: str, world: dict, script: str, event: dict, *words: str) -> set[str]:
    """Return the names of the modules that a process imports before it detaches.

    Detaching closes its stderr.
    """
    done = subprocess.run(
        [python, "-I", "-S", "-X", "importtime", script, *words],
        env=world,
        capture_output=True,
        input=json.dumps(event).encode(),
        timeout=30,
        check=True,
    )
    lines = done.stderr.decode().splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
