"""A host session in the test's home, of which a test writes the transcript line by line."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

from harness.hook import ROOT
from harness.vault import settings
from memory.capture import stretches
from memory.capture.facts import Facts, add_entry
from memory.core import boundary, clock, config, frontmatter, layout
from memory.health import worker
from memory.session import entries, transcript
from memory.session.rewinds import WithdrawnSpan
from memory.store import store

DATA = Path(__file__).parents[1] / "data" / "transcripts"


class Session:
    """A host session in the test's home: appends lines to its transcript and fires hooks."""

    def __init__(self, env, project, now, name="sess-1"):
        self.env, self.project, self.now, self.name = (
            {**env, "CLAUDE_PROJECT_DIR": project},
            project,
            now,
            name,
        )
        self.path = Path(env["HOME"], ".claude", "projects", "-w", name + ".jsonl")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.place = layout.locate(self.env, project)
        self.clock, self.calls, self.branch = 0, 0, "main"

    def copy(self, fixture):
        """Take over a recorded session with its subagents."""
        shutil.copy(DATA / (fixture + ".jsonl"), self.path)
        if (DATA / (fixture + ".subagents")).is_dir():
            shutil.copytree(
                DATA / (fixture + ".subagents"), self.path.with_suffix("") / "subagents"
            )
        return self

    def replay(self, fixture):
        """Take over a recorded session as one of this project that ended at `now`."""
        text = (DATA / (fixture + ".jsonl")).read_text("utf-8")
        (folder,) = set(re.findall(r'"cwd":"([^"]+)"', text))
        (name,) = set(re.findall(r'"sessionId":"([^"]+)"', text))
        text = text.replace(folder, self.project).replace(name, self.name)
        instants = {at: clock.parse(at) for at in re.findall(r'"timestamp":"([^"]+)"', text)}
        late = self.now - max(instants.values())
        for at, instant in instants.items():
            text = text.replace(at, clock.iso(instant + late).replace("Z", ".000Z"))
        self.path.write_text(text, "utf-8")
        return self

    def line(self, kind, content, **more):
        self.clock += 1
        record = {
            "parentUuid": None,
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "timestamp": clock.iso(self.now - 5000 + self.clock).replace("Z", ".000Z"),
            "cwd": self.project,
            "gitBranch": self.branch,
            "sessionId": self.name,
            "message": {"role": kind, "content": content},
            **more,
        }
        with self.path.open("ab") as file:
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        return self

    def on(self, branch):
        """Go on where another branch is checked out."""
        self.branch = branch
        return self

    def ask(self, text, **more):
        return self.line("user", text, promptSource="typed", origin={"kind": "human"}, **more)

    def say(self, text):
        return self.line("assistant", [{"type": "text", "text": text}])

    def tool(self, name, given, output, failed=False, result=None):
        self.calls += 1
        call = "toolu_%s_%d" % (self.name, self.calls)
        self.line("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])
        return self.line(
            "user",
            [{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}],
            toolUseResult=result,
        )

    def bash(self, command, output="", code=0):
        output = "Exit code %d\n%s" % (code, output) if code else output
        return self.tool("Bash", {"command": command}, output, failed=bool(code))

    def edit(self, path, *hunk):
        """Change a file.  hunk: the lines that went and came, `-old` and `+new`."""
        patch = {"structuredPatch": [{"oldStart": 1, "lines": list(hunk)}]} if hunk else {}
        return self.tool(
            "Edit",
            {"file_path": self.project + "/" + path, "old_string": "a", "new_string": "b"},
            "updated",
            result={"filePath": path, **patch},
        )

    def fire(self, event, **more):
        """Capture as an event of the host asks for; a failure is raised.  Returns the texts of all
        checkpoints.
        """
        self.capture(event, **more)
        return self.files()

    def capture(self, event, on_change=None, **more):
        payload = {
            "hook_event_name": event,
            "session_id": self.name,
            "transcript_path": str(self.path),
            "cwd": "/elsewhere",
            **more,
        }
        session, path = stretches.find_session(payload, self.env)
        place = layout.locate(self.env, boundary.project_dir(payload, self.env))
        settings = config.load(place.home, place.root, self.env)
        if session and settings["capture.enabled"]:
            stretches.capture(
                place,
                settings,
                self.env,
                self.now,
                session,
                path,
                worker.TRIGGERS[event],
                payload.get("last_assistant_message", ""),
                on_change,
            )

    def files(self):
        """Return the texts of all checkpoints, oldest first."""
        return [path.read_text("utf-8") for path in self.where()]

    def where(self):
        found = Path(self.place.private, "checkpoints").glob("*/*.md")
        return sorted(
            found, key=lambda path: (frontmatter.parse(path.read_bytes()).meta["until"], path.name)
        )

    def talks(self):
        """List the files of all conversations."""
        return sorted(Path(self.place.private, "conversations").glob("*/*.md"))

    def talk(self):
        """Return the text of the session's one conversation."""
        (path,) = self.talks()
        return path.read_text("utf-8")

    @property
    def state(self):
        return Path(self.place.cache, "sessions", self.name + ".json")


class Ending(Session):
    """A session whose events are served by the whole worker."""

    def end(self, event="SessionEnd", **more):
        """Serve an event as the detached worker does and return the learnings there are."""
        worker.work(
            {
                "hook_event_name": event,
                "session_id": self.name,
                "transcript_path": str(self.path),
                "cwd": self.project,
                **more,
            },
            {**self.env, "DAYLEAF_RUNTIME_AUTO": "0"},
            self.now,
        )
        return self.learnings()

    def learnings(self):
        """Return the learnings' records in the order of their names."""
        return list(store.Store(self.place, settings(), self.now).each(("learning",)))

    def change(self, path, old, new):
        """Edit a file as the host's structured result tells it."""
        return self.tool(
            "Edit",
            {"file_path": self.project + "/" + path, "old_string": old, "new_string": new},
            "updated",
            result={
                "filePath": path,
                "originalFile": old,
                "structuredPatch": [{"lines": ["-" + old, "+" + new]}],
            },
        )


def work(session, count=4, name="m"):
    """Let a session edit and test some files."""
    for number in range(count):
        session.edit("src/%s%d.py" % (name, number)).bash(
            "pytest -q tests/t%d.py" % number, "1 passed in 0.1s"
        )
    return session


def section(text, name):
    """Return what stands under a heading of a checkpoint."""
    found = re.search(r"^## %s\n\n(.*?)(?=\n## |\Z)" % name, text, re.S | re.M)
    return found.group(1) if found else ""


def secret_of(n):
    """Return a token that no scanner of this repository should find; another one for each
    number.
    """
    return (
        "gh"
        + "p_"
        + "".join(
            random.Random(n).choices(
                "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=36
            )
        )
    )


def big(path, size):
    """Write a transcript of `size` bytes: prompts, words, edits, runs, and the snapshots that
    dominate real ones.
    """
    rng = random.Random(1)
    words = (
        "the pool was exhausted because connections were never returned so use a "
        "manager in src/db/pool.py"
    ).split()
    tick = 0

    def line(kind, content, **more):
        nonlocal tick
        tick += 1
        stamp = clock.iso(1795000000 + tick).replace("Z", ".000Z")
        return (
            json.dumps(
                {
                    "type": kind,
                    "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
                    "timestamp": stamp,
                    "cwd": "/w",
                    "message": {"content": content},
                    **more,
                },
                separators=(",", ":"),
            )
            + "\n"
        )

    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < size:
            number += 1
            file.write(
                line(
                    "user",
                    "request %d: " % number + " ".join(rng.choices(words, k=30)),
                    promptSource="typed",
                )
            )
            file.write(
                line(
                    "assistant",
                    [{"type": "text", "text": " ".join(rng.choices(words, k=120)) + "."}],
                )
            )
            for name, given, output in (
                ("Read", {"file_path": "/w/x"}, "line of code\n" * 400),
                (
                    "Bash",
                    {"command": "pytest tests/t%d.py" % number},
                    "out\n" * 200 + "1 passed in 1s",
                ),
                ("Edit", {"file_path": "/w/src/f%d.py" % (number % 50)}, "updated"),
            ):
                call = "t%d%s" % (number, name)
                file.write(
                    line(
                        "assistant",
                        [{"type": "tool_use", "id": call, "name": name, "input": given}],
                    )
                )
                file.write(
                    line(
                        "user",
                        [{"type": "tool_result", "tool_use_id": call, "content": output}],
                        toolUseResult={"stdout": output},
                    )
                )
            file.write(
                '{"type":"api-request-blob","body":"%s"}\n' % ('\\"role\\":\\"user\\" ' * 300)
            )
    return path


CAPTURE = (
    "import sys,json;sys.path.insert(0,sys.argv[1]);from memory.core import files;from "
    "memory.health import worker;worker.work(json.loads(sys.argv[2]),"
    "files.read_environ(),float(sys.argv[3]))"
)


def starting(session, event, now=0.0, **more):
    """Start a capture as the hook does, in a process of its own."""
    payload = {
        "hook_event_name": event,
        "session_id": session.name,
        "transcript_path": str(session.path),
        **more,
    }
    env = {**os.environ, **session.env}
    env.pop("DAYLEAF_HOME", None)
    return subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-c",
            CAPTURE,
            str(ROOT),
            json.dumps(payload),
            str(now or session.now),
        ],
        env=env,
    )


def serve(session, event="SessionEnd"):
    """Run a capture as the hook does and return its seconds."""
    started = time.perf_counter()
    assert starting(session, event).wait(60) == 0
    return time.perf_counter() - started


def gather(path, env, roots=()):
    """Return the facts of a whole transcript and its subagents.

    In memory and with their secrets.
    """
    facts, aside = Facts(), Facts()
    taken = [
        WithdrawnSpan(entry.text, entry.at)
        for entry in transcript.read(path)
        if entry.kind == entries.REWIND
    ]
    for key, source in [
        ("", path),
        *((p.rpartition("/")[2], p) for p in transcript.agents(path, env)),
    ]:
        for entry in transcript.read(source):
            add_entry(
                aside if any(span.contains(entry.at) for span in taken) else facts,
                entry,
                roots,
                key,
            )
    facts.withdraw(aside)
    return facts
