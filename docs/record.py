"""Record dayleaf at work and draw it: `python docs/record.py` writes `docs/at-work.svg`.

The project and its three sessions are made up and stand below; all else runs for real, on a
terminal of its own in a scratch home.  What is shown is what came back: lines beyond a step's
number are left out and said to be, the frame of what goes before the model is left out, nothing
else is changed but the scratch home's path.  It needs the packages of `pyproject.toml`.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import textwrap
import time
import uuid
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# characters of a line, pixels from line to line, pixels of a character's height
COLUMNS, LEADING, SIZE = 96, 19, 13
PALETTE = {
    "": "#c9d1d9",
    "1": "#e6edf3",
    "2": "#7d8590",
    "31": "#ff7b72",
    "32": "#7ee787",
    "33": "#d29922",
    "36": "#79c0ff",
}
SGR = re.compile(r"\x1b\[([\d;]*)m")
SOURCE = "def charge(order):\n    return provider.post(order)\n"  # payments.py


class Session(NamedTuple):
    """A session of the past: how many days ago, what was asked, how the model answered."""

    days: int
    asked: str
    answered: str


SESSIONS = (
    Session(
        9,
        "Charges time out now and then. How should the client retry them?",
        "Agreed with the payment provider today: a charge that times out is retried once, after 30 "
        "s, and with the same idempotency key. A retry with a new key bills the customer twice. "
        "Refunds are never retried.",
    ),
    Session(
        6,
        "Excel shows our CSV export with broken umlauts. Why?",
        "The export is UTF-8 without a BOM, and Excel then guesses Latin-1. It now starts with a "
        "BOM; our own importer reads it as utf-8-sig.",
    ),
    Session(
        2,
        "The tests fail on my machine with a 401. What is it?",
        "Tokens expire after 15 minutes and the suite takes 20. "
        "The fixture calls refresh() before each test now.",
    ),
)


class Step(NamedTuple):
    """What the reader is told, what is typed (`>` a prompt to the client, else a command), and how
    many lines of the answer are shown."""

    told: str
    typed: str
    lines: int


STEPS = (
    Step(
        "Nine days ago, in another session, this was settled.  No file of the project says it.",
        "> " + SESSIONS[0].asked,
        4,
    ),
    Step(
        "Today, in a new session.  Unasked, dayleaf puts this before Claude, as notes to check:",
        "> retry a charge in payments.py when it times out",
        8,
    ),
    Step(
        "Or you ask; no model is called:",
        'dayleaf distill "how often may a charge be retried?" --provider extract',
        6,
    ),
)


class Scene:
    """A scratch home with a project in which three sessions of the past were imported."""

    def __init__(self, folder: Path):
        self.home, self.project = folder, folder / "shop"
        self.env = {
            "HOME": str(folder),
            "PATH": "%s:/usr/bin:/bin" % (ROOT / "bin"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        (folder / ".dayleaf").mkdir()
        (folder / ".dayleaf" / "runtime").symlink_to(sys.prefix)
        self.project.mkdir()
        (self.project / "payments.py").write_text(SOURCE)
        self.transcripts = (
            folder / ".claude" / "projects" / re.sub("[^A-Za-z0-9]", "-", str(self.project))
        )
        self.transcripts.mkdir(parents=True)
        for session in SESSIONS:
            self.write(session)
        self.run("dayleaf store import transcripts")

    def write(self, session: Session) -> None:
        """Write a session's transcript as the client does."""
        name, parent, rows = str(uuid.uuid4()), "", []
        began = time.time() - session.days * 86400
        for seconds, kind, text in (
            (0, "user", session.asked),
            (60, "assistant", session.answered),
        ):
            own = {"promptSource": "typed", "origin": {"kind": "human"}} if kind == "user" else {}
            at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(began + seconds))
            row = {
                "parentUuid": parent or None,
                "isSidechain": False,
                "type": kind,
                "uuid": str(uuid.uuid4()),
                "timestamp": at,
                "cwd": str(self.project),
                "sessionId": name,
                "version": "2.1.332",
                "message": {"role": kind, "content": [{"type": "text", "text": text}]},
                **own,
            }
            if kind == "user":
                row["message"] = {"role": kind, "content": text}
            parent = str(row["uuid"])
            rows.append(json.dumps(row) + "\n")
        path = self.transcripts / (name + ".jsonl")
        path.write_text("".join(rows))
        os.utime(path, (began + 60, began + 60))

    def fire(self, event: str, **given: str) -> str:
        """Run a hook as the client does and return what it prints."""
        said = {
            "session_id": "2f6d0c52-3d0e",
            "transcript_path": "/none.jsonl",
            "cwd": str(self.project),
            **given,
        }
        return subprocess.run(
            [str(ROOT / "hooks" / "run"), event],
            input=json.dumps(said),
            capture_output=True,
            text=True,
            env={**self.env, "CLAUDE_PROJECT_DIR": str(self.project)},
            check=True,
        ).stdout

    def run(self, line: str) -> str:
        """Type a line on a terminal of COLUMNS columns and return what it shows."""
        shown: list[bytes] = []

        def read(fd: int) -> bytes:
            shown.append(os.read(fd, 65536))
            return shown[-1]

        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.project)
            os.execve(
                "/bin/sh", ["sh", "-c", "stty cols %d rows 60; exec %s" % (COLUMNS, line)], self.env
            )
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
        past = [session.answered for session in SESSIONS if step.typed == "> " + session.asked]
        if past:
            said = past[0]
        elif step.typed.startswith("> "):
            answer = json.loads(
                self.fire("prompt", hook_event_name="UserPromptSubmit", prompt=step.typed[2:])
            )
            block = answer["hookSpecificOutput"]["additionalContext"].split("\n")
            said = "\n".join("\x1b[32m" + line for line in block[2:-1])  # without its frame
        else:
            said = self.run(step.typed)
        lines = [
            part
            for line in said.replace(str(self.home), "~").split("\n")
            if SGR.sub("", line).strip()
            for part in folded(line)
        ]
        left = len(lines) - step.lines
        return lines[: step.lines] + (
            ["\x1b[2m… %d more lines" % left] if left > 1 else lines[step.lines :]
        )


def spans(line: str) -> list[tuple[str, str]]:
    """Take a line apart into (colour, text)."""
    found, colour = [], PALETTE[""]
    for at, part in enumerate(SGR.split(line[: 4 * COLUMNS])):
        if at % 2:
            colour = PALETTE.get(part.split(";")[-1].lstrip("0"), PALETTE[""])
        elif part:
            found.append((colour, part))
    return found


def folded(line: str) -> list[str]:
    """Break a line between words, as wide as the picture; each part keeps the colour and the
    indent.
    """
    bare = SGR.sub("", line)
    if len(bare) <= COLUMNS:
        return [line]
    head = "".join("\x1b[%sm" % code for code in SGR.findall(line)[:1])
    margin = " " * (len(bare) - len(bare.lstrip(" -")))
    parts = textwrap.wrap(bare, COLUMNS, subsequent_indent=margin)
    return [head + part for part in parts]


def drawn(rows: list[str]) -> str:
    """Return the picture of lines."""
    height = LEADING * (len(rows) + 2)
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace, '
        'SFMono-Regular, Menlo, DejaVu Sans Mono, monospace" '
        'font-size="%d">' % (COLUMNS * 8 + 40, height, SIZE),
        "<title>dayleaf at work</title>",
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
    ]
    for number, row in enumerate(rows):
        text = "".join(
            '<tspan fill="%s">%s</tspan>' % (colour, escape(said)) for colour, said in spans(row)
        )
        out.append(
            '<text x="20" y="%d" xml:space="preserve">%s</text>' % (LEADING * (number + 2), text)
        )
    return "\n".join([*out, "</svg>"]) + "\n"


def recorded() -> list[str]:
    """Run the steps and return the lines of the picture."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        scene, rows = Scene(Path(folder).resolve()), []
        for step in STEPS:
            typed = step.typed if step.typed.startswith("> ") else "$ " + step.typed
            rows += ["\x1b[2m# " + step.told, *folded("\x1b[1m" + typed)]
            rows += [*scene.show(step), ""]
    return rows[:-1]


if __name__ == "__main__":
    (ROOT / "docs" / "at-work.svg").write_text(drawn(recorded()), encoding="utf-8")
