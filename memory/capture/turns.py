"""Turns: a request and all that was said and done until it was dealt with; the unit of everything that is told of a session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from memory.session import shell

SAID, USER, RUN, FILE, COMMIT, REPORT, LINK = "said", "user", "run", "file", "commit", "report", "link"
SLASH, BANG, SUMMARY, GOES_ON = "slash", "bang", "summary", "goes on"
CREATED, EDITED, REMOVED = "created", "edited", "removed"
WORKING, ANSWER, REFUSED, APPROVED = "while working", "answer", "refused", "approved the plan"


class Piece(NamedTuple):
    """One thing inside a turn.

        kind    text                            name                        result
        SAID    what the model said
        USER    what the user said in between   WORKING, ANSWER, `refused Edit …`, APPROVED (then it is the plan)
        RUN     a command, or what a tool got   the tool, "" for Bash       shell's outcome, and `: ` with the telling line
        FILE    a path                          CREATED, EDITED or REMOVED
        COMMIT  its subject                     its hash, or ""
        REPORT  a subagent's last words         what it was for
        LINK    a pull request's address

    times: how often a run went that way in a row.
    """

    kind: str
    text: str
    name: str = ""
    result: str = ""
    times: int = 1

    @property
    def failed(self) -> bool:
        """Whether a run failed."""
        return self.outcome in (shell.FAILED, shell.TIMED_OUT) or self.outcome.startswith("exit ")

    @property
    def outcome(self) -> str:
        """How a run ended, one of shell's words."""
        return self.result.partition(": ")[0]

    @property
    def telling(self) -> str:
        """The line that says why a run failed, "" where none does."""
        return self.result.partition(": ")[2]


@dataclass
class Turn:
    """A request and what came of it.

    at: the instant of the request, ISO 8601 UTC.  request: what was asked.  asked: how it was asked: "" typed, SLASH, BANG,
    SUMMARY (no request: the client's summary of what it forgets), GOES_ON (the request is of before a compaction).
    """

    at: str
    request: str
    asked: str = ""
    pieces: list[Piece] = field(default_factory=list)

    @property
    def is_brief(self) -> bool:
        """Whether the request says too little to begin anything, so that it goes on with what was asked before."""
        return len(self.request) < 160 and self.asked != SUMMARY

    def said(self) -> list[str]:
        """Return what the model said, in order."""
        return [piece.text for piece in self.pieces if piece.kind == SAID]


def relative(path: str, roots: Iterable[str]) -> str:
    """Return a path relative to the first of the roots that holds it, else as it is."""
    path = path.replace("\\", "/")
    for root in roots:
        root = root.replace("\\", "/").rstrip("/")
        if root and path.startswith(root + "/"):
            return path[len(root) + 1:]
    return path
