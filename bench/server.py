#!/usr/bin/env python3
"""What a recall through `dayleaf mcp` takes, warm, and what the tools' descriptions cost.

    bench/server.py [--runs 200] [--dir DIR] [N ...]    N: records in the store (10000)

The first four telling words of each of corpus.py's 40 prompts in turn, after one round that is not
counted.  `server`: from the arguments to the text of the answer, in the process.  `wire`: the same
through the SDK's own client and a real process on pipes.  Tokens: bytes of the answer to
tools/list, by four.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus
from mcp import Client, StdioServerParameters, stdio_client

import hooks
from memory.core import clock, layout
from memory.doors.mcp import mcpserver
from memory.index import builder
from memory.terminal.call import Call

ROOT = Path(__file__).resolve().parent.parent
WORDS = 4  # of a query
QUIET = {"json": True, "hook": False, "session": ""}


def percentiles(seconds: list[float]) -> str:
    """Write the median and the 95th percentile in milliseconds."""
    return "p50 %.1f ms, p95 %.1f ms" % (
        1000 * statistics.median(seconds),
        1000 * statistics.quantiles(seconds, n=20)[-1],
    )


def inside(queries: list[str], env: dict[str, str], project: str, runs: int) -> list[float]:
    """Return the seconds of each recall in this process."""
    os.chdir(project)
    out = []
    for number in range(runs + len(queries)):
        began = time.perf_counter()
        call = Call("mcp", argparse.Namespace(**QUIET), [], env, clock.now())
        mcpserver.run_tool(
            "recall", {"query": queries[number % len(queries)]}, mcpserver.TOOLS, call
        ).text()
        out.append(time.perf_counter() - began)
    return out[len(queries) :]


async def outside(
    queries: list[str], env: dict[str, str], project: str, runs: int
) -> tuple[list[float], int]:
    """Return the seconds of each recall through a process of its own, and the bytes of its tools'
    list.
    """
    server = StdioServerParameters(
        command=sys.executable, args=["-I", str(ROOT / "memory"), "mcp"], env=env, cwd=project
    )
    out = []
    async with Client(stdio_client(server)) as client:
        listed = (await client.list_tools()).model_dump(
            mode="json", by_alias=True, exclude_none=True
        )["tools"]
        for number in range(runs + len(queries)):
            began = time.perf_counter()
            done = await client.call_tool("recall", {"query": queries[number % len(queries)]})
            out.append(time.perf_counter() - began)
            assert not done.is_error, done
    told = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in listed]
    return out[len(queries) :], len(
        json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("counts", type=int, nargs="*", default=[10000], metavar="N")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--dir", default=str(Path(tempfile.gettempdir(), "dayleaf-bench")))
    args = parser.parse_args()
    for count in args.counts or [10000]:
        env = hooks.store(Path(args.dir), count, sys.executable, "learning")
        project = env["CLAUDE_PROJECT_DIR"]
        # what was written after the build is behind
        builder.build(layout.locate(env, project), clock.now())
        said = [
            json.loads(path.read_text())["prompt"]
            for path in sorted(Path(env["HOME"], "prompts").glob("*.json"))
        ]
        queries = [
            " ".join(
                [word.strip("?.`") for word in one.split()[1:] if word not in corpus.STOP][:WORDS]
            )
            for one in said
        ]
        print("%d records, %d queries" % (count, len(queries)))
        print("  server: " + percentiles(inside(queries, env, project, args.runs)))
        took, size = asyncio.run(outside(queries, env, project, args.runs))
        print(
            "  wire: %s; tools/list %d bytes, %d tokens" % (percentiles(took), size, -(-size // 4))
        )


if __name__ == "__main__":
    main()
