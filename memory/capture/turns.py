"""Turns: a request with everything said and done about it, the unit of a session's record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from memory.session import entries, shell

SAID, USER, RUN, FILE, COMMIT, REPORT, LINK, MERGED = (
    "said user run file commit report link merged".split()
)
MET = "met"
SLASH, SUMMARY, GOES_ON, WITHDRAWN, TEAM = "slash", "summary", "goes on", "withdrawn", "team"
ENDED, INTERRUPTED = "ended", "interrupted"
CHOSEN = "chosen"
CALLED, ASIDE = "called", "aside"
CREATED, EDITED, REMOVED = "created", "edited", "removed"
THE_PLAN = "the plan"  # what is refused, beside a tool
_COMMAND, _UNMEANT = re.compile(r"\A/[\w:.-]+\s+"), ("/dayleaf", "/compact")
FREE_FORM = ("mcp__", "Skill")  # tools whose whole input is kept, as JSON
_FIRST_TEXT = re.compile(r'\{("(?:[^"\\]|\\.)*"): ("(?:[^"\\]|\\.)*"?)')
WORKING, ANSWER, REFUSED, APPROVED = "while working", "answer", "refused", "approved the plan"


class Piece(NamedTuple):
    """One event inside a turn.

        kind    text                            name
        SAID    the model's words
        USER    the user's words in between     WORKING, ANSWER, `refused Edit …`, APPROVED (a plan)
        RUN     a command, or a tool's input    the tool, "" for Bash
        FILE    a path                          CREATED, EDITED or REMOVED
        COMMIT  its subject                     its hash, or ""
        REPORT  a subagent's last words         its task
        LINK    a pull request's address
        MERGED  a branch, or `#12`              the number of its pull request, or ""
        MET     the lines of a change           the finding that named the place

    result: of SAID, CALLED (a call follows), ENDED (they end a turn of the host), ASIDE (the same,
    in answer to a notice and without work); of USER, CHOSEN (the menu offered the answer); of RUN,
    shell's outcome, then `: ` and the telling line.  times: the number of equal runs in a row.
    """

    kind: str
    text: str
    name: str = ""
    result: str = ""
    times: int = 1

    @property
    def failed(self) -> bool:
        return shell.is_failure(self.outcome)

    @property
    def outcome(self) -> str:
        """The outcome of a run, a word of `shell`."""
        return self.result.partition(": ")[0]

    @property
    def told(self) -> str:
        """The text, or the main text of a FREE_FORM tool's input."""
        is_input = self.kind == RUN and self.name.startswith(FREE_FORM)
        return find_told(self.text)[1] if is_input else self.text

    @property
    def telling(self) -> str:
        """The line with the cause of a failed run, or ""."""
        return self.result.partition(": ")[2]


@dataclass
class Turn:
    """A request with its pieces.

    at: the instant of the request, ISO 8601 UTC.
    request: the user's text.
    asked: the form of the request: "" typed, SLASH, SUMMARY (no request: the client's summary
        at a compaction), GOES_ON (the request is of before a compaction), WITHDRAWN (by a rewind),
        TEAM (another agent of the session's team asked).
    end: ENDED or INTERRUPTED where the host noted it, else "".
    """

    at: str
    request: str
    asked: str = ""
    pieces: list[Piece] = field(default_factory=list)
    end: str = ""

    @property
    def time(self) -> str:
        """The hour and minute of the request, "" for an unknown instant."""
        return self.at[11:16]

    @property
    def did(self) -> bool:
        """Whether the turn changed a file or made a commit."""
        return any(piece.kind in (FILE, COMMIT) for piece in self.pieces)

    def statements(self) -> list[str]:
        """Return the model's statements, in order."""
        return [piece.text for piece in self.pieces if piece.kind == SAID]


def find_pieces(history: Iterable[Turn], kind: str, name: str = "") -> list[Piece]:
    """Return the pieces of a kind, and of a name if given."""
    every = (piece for turn in history for piece in turn.pieces if piece.kind == kind)
    return [piece for piece in every if name in ("", piece.name)]


def list_user_texts(turn: Turn) -> list[str]:
    """Return the texts of a turn that the user typed.

    Without the names of commands; not what is said to dayleaf or to the client's summary.
    """
    texts = [turn.request] if turn.asked in ("", SLASH) else []
    for number, piece in enumerate(turn.pieces):
        after = turn.pieces[number + 1 : number + 2]
        is_plan = piece.name == APPROVED and [other.name for other in after] != [APPROVED]
        if piece.kind == USER and piece.result != CHOSEN and not is_plan:
            # before a plan stands the remark on it
            is_answer = piece.name == ANSWER
            texts.append(piece.text.rpartition(" → ")[2] if is_answer else piece.text)
    return [_COMMAND.sub("", text) for text in texts if not text.startswith(_UNMEANT)]


def find_told(given: str) -> tuple[str, str]:
    """Return (key, text) that a JSON input begins with, ("", it) for another."""
    if not given.startswith("{"):
        return "", given
    match = _FIRST_TEXT.match(given)
    try:
        key, text = (json.loads(part) for part in (match.groups() if match else ('""', '""')))
        return entries.clean(key), entries.clean(text)
    except ValueError:  # cut, or redacted to its end
        return "", match[2].strip('"') if match else ""


def make_relative(path: str, roots: Iterable[str]) -> str:
    """Return a path relative to its first containing root, else unchanged."""
    path = path.replace("\\", "/")
    for root in roots:
        root = root.replace("\\", "/").rstrip("/")
        if root and path.startswith(root + "/"):
            return path[len(root) + 1 :]
    return path


def extract_stem(path: str) -> str:
    """Return a file's name without its ending and marks of tests."""
    name = path.rpartition("/")[2].rpartition(".")[0]
    return re.sub(r"^test_|[._-](?:test|spec)$", "", name.lower())
