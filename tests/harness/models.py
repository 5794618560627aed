"""Models played by stubs on PATH, and one call of distill in front of them."""

from __future__ import annotations

import json
from pathlib import Path

from harness.interpreter import PYTHON
from memory.core import config
from memory.distill import providerchain
from memory.distill.digests import Source

SOURCES = [
    Source(
        "k3m9",
        "checkpoint",
        "Upload timeouts",
        1795271452.0,
        "Uploads over 5 MB failed with 504 because nginx closed the socket after 60 s.\n\n"
        "Raised `proxy_read_timeout` to 1,200 s in deploy/nginx.conf, commit 3f9a1c2d4e5f.\n\n"
        "`pytest -q tests/test_upload.py` passes. The error was jwt.InvalidIssuerError in "
        "src/auth/jwt.py:48.\n",
        "p",
        "c" * 64,
    ),
    Source(
        "a1b2",
        "learning",
        "Retries hide it",
        1795171452.0,
        "The retry of getUserToken hid the 504 for 3 weeks. Decided to log every retry, since "
        "silence cost days.\n",
        "s",
        "d" * 64,
    ),
]
QUESTION = "why did uploads fail with 504?"
GOOD = [
    "- Uploads over 5 MB failed with 504 since nginx closed the socket after 60 s [k3m9]",
    "- `proxy_read_timeout` went to 1200 s in deploy/nginx.conf (3f9a1c2) [k3m9]",
    "- Every retry is logged now, because getUserToken hid the 504 [a1b2, k3m9]",
]
STUB = """#!{python}
import json, os, sys
if "--help" in sys.argv:
    print("--safe-mode")
    raise SystemExit
said = sys.stdin.read()
open({calls!r}, "a").write(json.dumps(said) + "\\n")
{code}
"""
CLAUDE = (
    "print(json.dumps(dict(is_error=False, num_turns=1, result=%r, total_cost_usd=0.001, "
    "usage=dict(input_tokens=900, output_tokens=90), modelUsage=dict(haiku={}))))"
)
# A model that reads the fences: one bullet for each of the first three records.
READER = """
import re
rows = [json.loads(line) for line in re.findall("```json\\n(.*)\\n```", said)]
out = ["- Worker %s stopped in queue/worker_%s.py [%s]" % (r["id"], r["id"], r["id"]) for r in \
rows[:3]]
"""
SAY = "\n" + CLAUDE.replace("%r", "'\\n'.join(out)")


class World:
    def __init__(self, tmp_path, env, home, now):
        self.tmp, self.env, self.home, self.now = tmp_path, env, home, now
        self.cache = home + "/cache/demo-00000000"
        (tmp_path / "bin").mkdir()
        env["PATH"] = str(tmp_path / "bin")
        self.values = {**config.DEFAULTS, "distill.timeout": 10}

    def stub(self, name, code):
        path = self.tmp / "bin" / name
        path.write_text(STUB.format(python=PYTHON, calls=str(self.tmp / "calls"), code=code))
        path.chmod(0o755)

    def claude(self, lines):
        self.stub("claude", CLAUDE % "\n".join(lines))

    def calls(self):
        path = self.tmp / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def ledger(self):
        path = Path(self.home, "spend.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def distill(self, question=QUESTION, sources=SOURCES, now=None, **over):
        return providerchain.distill(
            question,
            sources,
            config.Config(self.values, {}, []),
            self.env,
            self.home,
            self.cache,
            self.now if now is None else now,
            **over,
        )


def records(count: int, size: int = 3000) -> list[Source]:
    """Return checkpoints of a size in characters, best and newest first.

    Each has a path of its own.
    """
    return [
        Source(
            "c%03d" % i,
            "checkpoint",
            "Day %d" % i,
            1795271452.0 - 3600 * i,
            (
                "The worker stopped in queue/worker_c%03d.py since the broker closed the channel.\n"
                % i
                + "It went on for a while with what was left of the letters, and nobody looked. "
                * 40
            )[:size],
            "p",
            "%064d" % i,
        )
        for i in range(count)
    ]


def said(digest) -> list[str]:
    """Return the texts of a digest's bullets."""
    return [bullet.text for bullet in digest.bullets]
