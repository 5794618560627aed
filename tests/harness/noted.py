"""A session that is worth a note, a command that answers as a model would, and what it answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

REQUEST = "Move the retry budget into the queue, and never touch the generated folder."
ANSWER = {
    "title": "Retry budget moved into the queue",
    "summary": "The user wanted the retry budget in the queue. `queue.py` holds it now.",
    "decisions": [
        {
            "text": "Keep the budget in `queue.py`",
            "why": "the worker restarts",
            "by": "agent",
            "quote": "The budget stands in queue.py",
            "turn": "#1",
        }
    ],
    "lessons": [
        {
            "text": "When the worker restarts, its budget is lost; keep it in the queue",
            "kind": "pitfall",
            "quote": "the worker loses it with each restart",
            "turn": "#1",
        }
    ],
    "standing": [
        {
            "text": "The generated folder stays as it is",
            "quote": "never touch the generated folder",
            "turn": "#1",
        }
    ],
    "next": [{"text": "Run the load test", "quote": "the load test is next", "turn": "#2"}],
    "open": [
        {"text": "Whether 40 retries are enough", "quote": "Are 40 retries enough?", "turn": "#2"}
    ],
    "dead_ends": [
        {
            "text": "A budget in `redis.py`",
            "why": "it was slow",
            "quote": "redis.py was too slow",
            "turn": "#1",
        }
    ],
}


def spoken(session):
    """Say what a note can be made of: two turns, 1,500 characters."""
    session.ask(REQUEST).edit("queue.py").say(
        (
            "The budget stands in queue.py, since the worker loses it with each restart; "
            "redis.py was too slow. "
        )
        + "It was slow. " * 60
    )
    session.ask("Are 40 retries enough?").say(
        "I do not know yet; the load test is next. " + "We shall see. " * 60
    )
    return session


def model(folder: Path, answer: object = ANSWER, extra: str = "") -> list[str]:
    """Write a command that gives an answer and keeps each prompt in `asked`; return its words.
    extra: code before.
    """
    path = folder / "model.py"
    said = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    path.write_text(
        "import sys, time\nprompt = sys.stdin.read()\nopen(%r, 'a').write(prompt + '\\0')\n%s\n"
        "sys.stdout.write(%r)\n" % (str(folder / "asked"), extra, said),
        encoding="utf-8",
    )
    return [sys.executable, "-I", str(path)]


def allow(session, words: list[str], **more: object) -> None:
    """Switch notes on with a command."""
    path = Path(session.place.home, "config.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"notes.provider": "command", "distill.command": words, **more}))


def asked(folder: Path) -> int:
    """Count the calls of the command."""
    path = folder / "asked"
    return path.read_text(encoding="utf-8").count("\0") if path.exists() else 0


def notes(session) -> list[Path]:
    """Return the files of the notes."""
    return sorted(Path(session.place.private, "notes").glob("*/*.md"))
