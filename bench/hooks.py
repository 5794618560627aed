#!/usr/bin/env python3
"""CPU of each hook as the host starts it, against a bare start of the same interpreter: paired,
interleaved runs.

    bench/hooks.py [--runs 60] [--python /usr/bin/python3] [--checkpoints] [N ...]    N: records in
    the store (1000 10000 100000)

Each round runs the bare interpreter (`-I -S -c pass`) and each hook once, the launcher included;
the figure is the median of the rounds' ratios.  Every run is of a session of its own, but for
`late`, which is a prompt in one with 200 receipts.  `prompt` gets 40 questions in turn, `quiet` the
same words as statements, which get no passages; `agent` gets the questions as a subagent's prompt,
`failure` a linter's report of 60 findings whose last one another session met, `masked` a run that
passed.  --checkpoints: the records are no learnings but checkpoints, of which prompts get passages.
The stores are written by corpus.py and kept in --dir.  After a change of the sources, the first run
of a hook compiles them: the first three rounds do not count.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus

from memory.core import config, layout
from memory.index import builder
from memory.knowledge import walls

ROOT = Path(__file__).resolve().parent.parent
EVENTS = ("prompt", "quiet", "late", "agent", "failure", "masked", "session_start", "stop")
# of a session, over and over; every second one has chosen something
RECEIPTS = ("prompt", "prompt", "prompt", "agent")
SESSIONS, FAILURES = 200, 10  # that ran into something, and how often each of them did


# A process inherits the peak of the one that started it in its resource usage; the kernel's own
# mark of its memory is its own.
PEAK = """import posix, sys
end, out = posix._exit, posix.dup(2)
def _exit(code):
    fd = posix.open("/proc/self/status", 0)
    posix.write(out, [line for line in posix.read(fd, 9999).split(b"\\n") if \
line.startswith(b"VmHWM")][0])
    end(code)
posix._exit = _exit
if len(sys.argv) > 1:
    exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), {"__file__": sys.argv[1]})
_exit(0)
"""


def peak(python: str, script: str, stdin: Path, env: dict[str, str]) -> int:
    """Return the peak memory in KiB of a hook's Python ("" for a bare interpreter)."""
    argv = [python, "-I", "-S", "-c", PEAK, *([script] if script else [])]
    with stdin.open() as file:
        done = subprocess.run(
            argv, stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, check=True
        )
    # the first to end is the hook; the detached child comes later
    return int(done.stderr.split()[1])


def run(argv: list[str], stdin: str, env: dict[str, str]) -> float:
    """Return the CPU seconds of a process and the children it waited for."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, (argv, status)
    return usage.ru_utime + usage.ru_stime


def store(folder: Path, count: int, python: str, kind: str) -> dict[str, str]:
    """Make (or find) a store of a size, with its index and a runtime that is the interpreter
    measured.  kind: of its records.
    """
    mark = "" if kind == "learning" else "-" + kind
    home, project = folder / f"home-{count}{mark}", folder / f"project-{count}{mark}"
    if not (home / "prompts").exists():
        corpus.write(count, str(home), str(project), kind)
    _meet(home, project)
    # An index that is behind, or of another version, is completed or replaced by the files: not
    # what is measured.
    place = layout.locate({"HOME": str(home)}, str(project))
    builder.build(place, 1795271452.0)
    walls.update_walls(place, config.load(place.home, "", {}), 1795271452.0)
    binary = home / ".dayleaf" / "runtime" / "bin" / "python"
    binary.parent.mkdir(parents=True, exist_ok=True)
    binary.unlink(missing_ok=True)
    binary.symlink_to(python)
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "CLAUDE_PROJECT_DIR": str(project),
        "DAYLEAF_RUNTIME_AUTO": "0",
    }


def _meet(home: Path, project: Path) -> None:
    """Write conversations of sessions that ran into something."""
    place = layout.locate({"HOME": str(home)}, str(project))
    folder = Path(place.private, "conversations", "2026-11-01")
    folder.mkdir(parents=True, exist_ok=True)
    for at in range(SESSIONS):
        rows = "".join(
            f"- ✗ `tool{at} do --a{n}x` → exit 1: the queue of broker {'abcdefghij'[n]} in "
            f"region r{at}x is away\n"
            f"- ✓ `tool{at} do --b{n}x`\n"
            for n in range(FAILURES)
        )
        (folder / f"100000-s{at}.md").write_text(
            f"---\nid: c-{at}\nkind: conversation\ntitle: Session {at}\n"
            f'created: "2026-11-01T10:00:00Z"\nsession: s{at}\n---\n\n'
            f"## 10:00 go on\n\n{rows}\nDone.\n",
            encoding="utf-8",
        )


def event_of(name: str, env: dict[str, str], prompt: Path, session: str) -> str:
    """Write the event of a hook in a session and return its path."""
    said = json.loads(prompt.read_text())
    words = said["prompt"]
    report = "".join(
        f"src/file{n}.c:{n}:3: the value of 'name{n}' is computed and never used (rule-{n})\n"
        for n in range(59)
    )
    passed = "".join(f"ok  package/{n}  0.{n}s\n" for n in range(20))
    given = {
        "prompt": said,
        "late": said,
        "quiet": {**said, "prompt": words.removeprefix("Please ").rstrip("?") + "."},
        "agent": {
            "hook_event_name": "PreToolUse",
            "tool_name": "Agent",
            "tool_input": {"prompt": words, "subagent_type": "Explore"},
        },
        "failure": {
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "tool_input": {"command": "tool7 do --a3x"},
            "is_interrupt": False,
            "error": f"Exit code 1\n{report}the queue of broker d in region r7x is away\n",
        },
        "masked": {
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "make test 2>&1 | tail -20"},
            "tool_response": {"stdout": passed, "stderr": ""},
        },
    }.get(
        name,
        {"hook_event_name": "SessionStart", "source": "startup", "transcript_path": "/nonexistent"},
    )
    path = Path(env["HOME"]) / (name + ".json")
    path.write_text(json.dumps({**given, "session_id": session, "cwd": env["CLAUDE_PROJECT_DIR"]}))
    if name == "late":
        _remember(env, session)
    return str(path)


def _remember(env: dict[str, str], session: str) -> None:
    """Write the receipts of a session that has lasted for long."""
    rows = [
        {
            "v": 1,
            "t": "2026-11-01T10:00:00Z",
            "event": RECEIPTS[n % len(RECEIPTS)],
            "query": "1a2b3c4d",
            "strategy": "load_all",
            "chosen": [[f"x-{n}", 1.0, "3 of 7 terms"]] if n % 2 else [],
            "chars": 900,
            "tokens": 225,
            "ms": 4,
        }
        for n in range(200)
    ]
    path = Path(layout.locate(env, env["CLAUDE_PROJECT_DIR"]).receipts(session))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))


def measure(
    env: dict[str, str], python: str, runs: int
) -> dict[str, tuple[float, float, float, float]]:
    """Return event -> (median ms, median ratio, 95th percentile of the ratio, MB above bare)."""
    prompts = sorted(Path(env["HOME"]).glob("prompts/*.json"))
    scripts = {e: "prompt" if e in ("quiet", "late") else e for e in EVENTS}
    variants = {
        "bare": [python, "-I", "-S", "-c", "pass"],
        **{e: [str(ROOT / "hooks/run"), scripts[e]] for e in EVENTS},
    }
    samples: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(-3, runs):
        names = list(variants)
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            stdin = (
                os.devnull
                if name == "bare"
                else event_of(
                    name, env, prompts[turn % len(prompts)], f"bench-{name}-{turn}-{os.getpid()}"
                )
            )
            result = run(variants[name], stdin, env)
            if turn >= 0:
                samples[name].append(result)
    table = {}
    for name, rows in samples.items():
        ratios = sorted(a / b for a, b in zip(rows, samples["bare"]))
        script = "" if name == "bare" else str(ROOT / f"hooks/{scripts[name]}.py")
        stdin = (
            os.devnull
            if name == "bare"
            else event_of(name, env, prompts[0], f"bench-peak-{os.getpid()}")
        )
        extra = peak(python, script, Path(stdin), env) - peak(python, "", Path(os.devnull), env)
        table[name] = (
            1000 * statistics.median(rows),
            statistics.median(ratios),
            ratios[int(len(ratios) * 0.95)],
            extra / 1024,
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "dayleaf-bench")
    parser.add_argument("--checkpoints", action="store_true")
    parser.add_argument("counts", nargs="*", type=int, default=[1000, 10000, 100000])
    args = parser.parse_args()
    slope = {}
    for count in args.counts:
        env = store(args.dir, count, args.python, "checkpoint" if args.checkpoints else "learning")
        for name, (ms, ratio, p95, extra) in measure(env, args.python, args.runs).items():
            print(
                (
                    f"{count:7} {name:14} {ms:6.2f} ms  x{ratio:.2f}  p95 x{p95:.2f}  "
                    f"memory +{extra:.1f} MB"
                ),
                flush=True,
            )
            if name == "prompt":
                slope[count] = ms
    if len(slope) > 1:
        low, high = min(slope), max(slope)
        print(
            f"slope of the prompt hook, log-log, {low} to {high}: "
            f"{math.log(slope[high] / slope[low]) / math.log(high / low):.3f}"
        )


if __name__ == "__main__":
    main()
