"""Record dayleaf at work and draw it: `python docs/record.py` runs the steps below for real, on a terminal of their own in a
scratch home, and writes `docs/at-work.svg`.

What is shown is what came back: lines beyond a step's number are left out and said to be, nothing else is changed but the
scratch home's path.  It needs the packages of `pyproject.toml`.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TRANSCRIPT = ROOT / "tests" / "data" / "transcripts" / "tools-interactive.jsonl"  # of the real client
SESSION = "65c898d6-9c7f-43b3-bd4f-84eb9dfc1980"
COLUMNS, LEADING, SIZE = 104, 19, 13  # characters of a line, pixels from line to line, pixels of a character's height
PALETTE = {"": "#c9d1d9", "1": "#e6edf3", "2": "#7d8590", "31": "#ff7b72", "32": "#7ee787", "33": "#d29922", "36": "#79c0ff"}
SGR = re.compile(r"\x1b\[([\d;]*)m")
NOTES = {
    "Tokens expire after 15 minutes": "A 401 in long tests means that the fixture must call refresh().",
    "The dev server keeps port 8080": "After a crash `make stop` frees it; a second server fails with EADDRINUSE.",
    "Prices are integers in cents": "Rounding floats lost a cent in 2 of 1,000 invoices.",
    "Lint runs before the tests": "`make check` stops at the first lint error; run `make lint` alone to see them all.",
    "Dates are UTC in the database": "The report shifts them to local time; never store local time.",
    "The build cache ignores .env": "Remove build/.cache after a change of .env, or old values stay in the bundle.",
    "CSV exports start with a BOM": "Excel needs it; our own importer reads them with utf-8-sig.",
    "The queue retries five times": "A handler must be idempotent: the fifth failure goes to the dead letter queue.",
    "The image runs as user 1000": "Mounted folders must belong to it, or the start fails with EACCES.",
    "Missing translations fall back to English": "The check in CI only warns; look for keys with `i18n-missing`.",
}


class Step(NamedTuple):
    """What the reader is told, what is typed (`>` a prompt to the client, else a command), and how many lines are shown."""

    told: str
    typed: str
    lines: int


STEPS = (
    Step("a session has ended; its hook left a checkpoint, as markdown that is yours", "dayleaf", 8),
    Step("keep what you found out",
         "dayleaf learn \"calc.py: add() subtracted, because the minus sign was copied from sub(); see test_calc.py\""
         " --tag calc", 2),
    Step("the next day: of eleven notes, this one goes before the model; \"yes, go on\" gets nothing",
         "> why does add() subtract in calc.py?", 8),
    Step("find anything, misspelt too", "dayleaf recall \"expird token\"", 5),
    Step("or ask for the answer", "dayleaf distill \"what happened to add in calc.py?\" --provider extract", 6),
)


class Scene:
    """A scratch home with a project in which a session of the real client has just ended."""

    def __init__(self, folder: Path):
        self.home, self.project = folder, folder / "shop"
        self.transcript = folder / ".claude" / "projects" / "shop" / (SESSION + ".jsonl")
        self.env = {"HOME": str(folder), "PATH": "%s:/usr/bin:/bin" % (ROOT / "bin"), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        (folder / ".dayleaf").mkdir()
        (folder / ".dayleaf" / "runtime").symlink_to(sys.prefix)
        self.transcript.parent.mkdir(parents=True)
        shutil.copy(TRANSCRIPT, self.transcript)
        self.project.mkdir()
        self.fire("session_end", hook_event_name="SessionEnd", reason="other")
        for title, body in NOTES.items():
            self.run("dayleaf learn '%s' --title '%s'" % (body, title))
        self.run("dayleaf index build")

    def fire(self, event: str, **given: str) -> str:
        """Run a hook as the client does and return what it prints."""
        said = {"session_id": SESSION, "transcript_path": str(self.transcript), "cwd": str(self.project), **given}
        return subprocess.run([str(ROOT / "hooks" / "run"), event], input=json.dumps(said), capture_output=True, text=True,
                              env={**self.env, "CLAUDE_PROJECT_DIR": str(self.project)}, check=True).stdout

    def run(self, line: str) -> str:
        """Type a line on a terminal of COLUMNS columns and return what it shows."""
        shown: list[bytes] = []

        def read(fd: int) -> bytes:
            shown.append(os.read(fd, 65536))
            return shown[-1]

        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.project)
            os.execve("/bin/sh", ["sh", "-c", "stty cols %d rows 60; exec %s" % (COLUMNS, line)], self.env)
        try:
            while read(fd):
                pass
        except OSError:  # its end, on Linux
            pass
        os.close(fd)
        os.waitpid(pid, 0)
        return b"".join(shown).decode("utf-8").replace("\r\n", "\n")

    def show(self, step: Step) -> list[str]:
        """Return what came back of a step, in lines."""
        if step.typed.startswith("> "):
            given = {"hook_event_name": "UserPromptSubmit", "prompt": step.typed[2:], "session_id": "2f6d0c52-3d0e"}
            answer = json.loads(self.fire("prompt", **given))
            said = "\x1b[32m" + answer["hookSpecificOutput"]["additionalContext"].replace("\n", "\n\x1b[32m")
        else:
            said = self.run(step.typed)
        lines = [line for line in said.replace(str(self.home), "~").split("\n") if SGR.sub("", line).strip()]
        left = len(lines) - step.lines
        return lines[:step.lines] + (["\x1b[2m… %d more lines" % left] if left > 1 else lines[step.lines:])


def spans(line: str) -> list[tuple[str, str]]:
    """Take a line apart into (colour, text)."""
    found, colour = [], PALETTE[""]
    for at, part in enumerate(SGR.split(line[:4 * COLUMNS])):
        if at % 2:
            colour = PALETTE.get(part.split(";")[-1].lstrip("0"), PALETTE[""])
        elif part:
            found.append((colour, part))
    return found


def folded(line: str) -> list[str]:
    """Break a line where a terminal would."""
    bare = SGR.sub("", line)
    head = "".join("\x1b[%sm" % code for code in SGR.findall(line)[:1])
    return [line] if len(bare) <= COLUMNS else [head + bare[at:at + COLUMNS] for at in range(0, len(bare), COLUMNS)]


def drawn(rows: list[str]) -> str:
    """Return the picture of lines."""
    height = LEADING * (len(rows) + 2)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace, SFMono-Regular, Menlo, '
           'DejaVu Sans Mono, monospace" font-size="%d">' % (COLUMNS * 8 + 40, height, SIZE),
           "<title>dayleaf at work</title>", '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>']
    for number, row in enumerate(rows):
        text = "".join('<tspan fill="%s">%s</tspan>' % (colour, escape(said)) for colour, said in spans(row))
        out.append('<text x="20" y="%d" xml:space="preserve">%s</text>' % (LEADING * (number + 2), text))
    return "\n".join([*out, "</svg>"]) + "\n"


def recorded() -> list[str]:
    """Run the steps and return the lines of the picture."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        scene, rows = Scene(Path(folder).resolve()), []
        for step in STEPS:
            typed = step.typed if step.typed.startswith("> ") else "$ " + step.typed
            rows += ["\x1b[2m# " + step.told, *folded("\x1b[1m" + typed)]
            rows += [part for line in scene.show(step) for part in folded(line)] + [""]
    return rows[:-1]


if __name__ == "__main__":
    (ROOT / "docs" / "at-work.svg").write_text(drawn(recorded()), encoding="utf-8")
