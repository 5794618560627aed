"""Long sessions of many shapes, of any number of turns, as the lines of a transcript."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path

from memory.core import clock

START, STEP = 1_790_000_000, 20  # the instant of the first turn; seconds between two lines


class Lines:
    """The lines of a session, each with the one before it as its parent."""

    def __init__(self, project: str, name: str):
        self.project, self.name, self.branch, self.rows = project, name, "main", list[str]()
        self._last, self._calls = "", 0

    def _add(self, kind: str, content: object) -> None:
        number = len(self.rows)
        made = str(uuid.uuid5(uuid.NAMESPACE_OID, "%s %d" % (self.name, number)))
        message: dict[str, object] = {"role": kind, "content": content}
        if kind == "assistant":
            message.update({"id": "msg_%d" % number, "type": "message", "model": "m"})
        self.rows.append(
            json.dumps(
                {
                    "parentUuid": self._last or None,
                    "uuid": made,
                    "type": kind,
                    "sessionId": self.name,
                    "cwd": self.project,
                    "gitBranch": self.branch,
                    "version": "2.1.329",
                    "isSidechain": False,
                    "userType": "external",
                    "timestamp": clock.iso(START + STEP * number).replace("Z", ".000Z"),
                    "message": message,
                }
            )
        )
        self._last = made

    def ask(self, text: str) -> None:
        """Let the user ask for something."""
        self._add("user", text)

    def say(self, text: str) -> None:
        """Let the model say something."""
        self._add("assistant", [{"type": "text", "text": text}])

    def tool(self, name: str, given: dict[str, object], output: str, failed: bool = False) -> None:
        """Let the model call a tool."""
        self._calls += 1
        call = "t%d" % self._calls
        self._add("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])
        self._add(
            "user",
            [{"type": "tool_result", "tool_use_id": call, "is_error": failed, "content": output}],
        )

    def run(self, command: str, output: str = "", code: int = 0) -> None:
        """Let the model run a command."""
        self.tool(
            "Bash",
            {"command": command},
            ("Exit code %d\n" % code if code else "") + output,
            bool(code),
        )

    def edit(self, path: str, old: str = "a", new: str = "b") -> None:
        """Let the model edit a file."""
        given: dict[str, object] = {
            "file_path": self.project + "/" + path,
            "old_string": old,
            "new_string": new,
        }
        self.tool("Edit", given, "updated")


Shape = Callable[[Lines, int], None]  # adds a turn, of a number, to a session


def mended(s: Lines, i: int) -> None:
    """Add a check that fails, an edit, the check again, and the cause."""
    s.ask("fix case %d of the reader" % i)
    s.run(
        "pytest tests/test_%d.py" % (i % 50),
        "FAILED tests/test_%d.py::test_case - AssertionError: %d" % (i % 50, i),
        1,
    )
    s.edit("reader%d.py" % (i % 50), "token = %d" % i, "token = None")
    s.run("pytest tests/test_%d.py" % (i % 50), "1 passed")
    s.say("Case %d failed because the token was dropped at the end of line %d." % (i, 7 * i))


def long_prompts(s: Lines, i: int) -> None:
    """Add a request of one page."""
    s.ask(
        "Please look at part %d. " % i
        + " ".join(
            "The queue of part %d holds worker %d and its limit %d." % (i, n, n * i)
            for n in range(40)
        )
    )
    s.say("Part %d keeps its workers in a ring, so that worker %d comes first." % (i, i % 7))


def many_files(s: Lines, i: int) -> None:
    """Add edits of files that no other turn edits."""
    s.ask("rename the handler of module %d" % i)
    for n in range(6):
        s.edit(
            "src/module%d/part%d.py" % (i, n),
            "def handle_%d(): pass" % i,
            "def serve_%d(): pass" % i,
        )
    s.say("Renamed `handle_%d` to `serve_%d` in `src/module%d`." % (i, i, i))


def many_commands(s: Lines, i: int) -> None:
    """Add commands that all work, each a new one."""
    s.ask("measure run %d" % i)
    for n in range(6):
        s.run("bench/run.sh --case %d --seed %d" % (i, n), "case %d took %d ms\n" % (i, n * 7))
    s.run("make test", "%d passed" % (i + 3))
    s.say("Run %d took %d ms." % (i, i * 3))


def one_failure(s: Lines, i: int) -> None:
    """Add the same command that fails again and again."""
    s.ask("try again")
    s.run("make build", "src/server.c:12:3: error: unknown type name 'ring_t'", 2)
    s.say("It still fails.")


def same_reply(s: Lines, i: int) -> None:
    """Add the same reply each time, of some length."""
    s.ask("go on with the next one")
    s.edit("src/queue.py", "limit = %d" % i, "limit = %d" % (i + 1))
    s.say(
        "I changed the queue so that it now drops the oldest entry instead of blocking, because "
        "the writer may never wait. The limit is read from `queue.limit`, and the tests pass."
    )


def other_failures(s: Lines, i: int) -> None:
    """Add another tool, another error, another call that works."""
    s.ask("deploy unit %d" % i)
    s.run(
        "acme%d push --unit u%d --now" % (i % 90, i),
        "error: unknown flag --now for unit u%d in zone %d" % (i, i * 3),
        2,
    )
    s.run("acme%d push --unit u%d --at now" % (i % 90, i), "done %d" % i)
    s.say("Unit %d is out; the flag was called `--at` since version %d." % (i, i))


def one_file(s: Lines, i: int) -> None:
    """Add many edits of one file, with words of its own each."""
    s.ask("now let `parse_%d` take a limit" % i)
    s.edit("src/parser.py", "def parse_%d(text): pass" % i, "def parse_%d(text, limit): pass" % i)
    s.edit("src/parser.py", "call_%d()" % i, "call_%d(limit)" % i)
    s.say("`parse_%d` in `src/parser.py` takes `limit` instead of the constant now." % i)


def branches(s: Lines, i: int) -> None:
    """Change the branch every few turns."""
    s.ask("continue with topic %d" % (i // 5))
    if not i % 5:
        s.run(
            "git checkout -b topic-%d" % (i // 5), "Switched to a new branch 'topic-%d'" % (i // 5)
        )
        s.branch = "topic-%d" % (i // 5)
    s.edit("src/topic%d.py" % (i // 5), "step %d" % i, "step %d" % (i + 1))
    s.run("pytest -q", "%d passed" % (i + 1))
    s.say("Topic %d has step %d now." % (i // 5, i))


def commits(s: Lines, i: int) -> None:
    """Add a commit in each turn."""
    s.ask("add limit %d and commit" % i)
    s.edit("src/limit%d.py" % (i % 20), "LIMIT = %d" % i, "LIMIT = %d" % (i + 1))
    s.run(
        "git add -A && git commit -m 'Raise limit %d'" % i,
        "[main %07x] Raise limit %d\n 1 file changed" % (i + 4096, i),
    )
    s.say("Committed as %07x: limit %d is one more." % (i + 4096, i))


def agreed(s: Lines, i: int) -> None:
    """Add a question, and a yes to it."""
    s.ask("yes, do it")
    s.edit("src/step%d.py" % (i % 9), "x = %d" % i, "x = %d" % (i + 1))
    s.say(
        "Step %d is done. There are two ways on: 1. keep the cache; 2. drop it. Shall I drop "
        "the cache of step %d?" % (i, i)
    )


def reverted(s: Lines, i: int) -> None:
    """Add work that is taken back each time."""
    s.ask("no, that is wrong, revert it and use a lock instead (%d)" % i)
    s.edit("src/lock%d.py" % (i % 30), "use_ring_%d()" % i, "use_lock_%d()" % i)
    s.run(
        "pytest -q",
        "1 failed, %d passed\nFAILED tests/test_lock.py::test_%d - ValueError: lock %d is held"
        % (i, i, i),
        1,
    )
    s.say(
        "I reverted `use_ring_%d`; the root cause was that the lock %d was held twice. "
        "`use_lock_%d` replaces it." % (i, i, i)
    )


def steps(s: Lines, i: int) -> None:
    """Add one request at first, then a step of the model's work each time."""
    if not i:
        s.ask("port the whole library to the new reader, file by file")
    s.say("Next comes file %d." % i)
    s.edit("lib/file%d.py" % i, "old_reader(%d)" % i, "new_reader(%d)" % i)
    s.run(
        "pytest tests/test_file%d.py" % i,
        "FAILED tests/test_file%d.py::test_read - KeyError: 'k%d'" % (i, i),
        1,
    )
    s.run("pytest tests/test_file%d.py" % i, "1 passed")


SHAPES: dict[str, Shape] = {
    one.__name__: one
    for one in (
        mended,
        long_prompts,
        many_files,
        many_commands,
        one_failure,
        same_reply,
        other_failures,
        one_file,
        branches,
        commits,
        agreed,
        reverted,
        steps,
    )
}


def write(path: Path, project: str, name: str, shape: str, turns: int) -> None:
    """Write the transcript of a session of a shape and a number of turns."""
    lines = Lines(project, name)
    for number in range(turns):
        SHAPES[shape](lines, number)
    lines.say("Done: all of it works.")
    path.write_text("\n".join(lines.rows) + "\n", "utf-8")
