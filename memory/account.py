"""How a digest came about: the steps of the chain, the calls that were made, what the check cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memory.digest import Digest


@dataclass(frozen=True)
class Cut:
    """A bullet that was cut: why (a word of answer.py), and the word that lacks proof, else how the bullet starts."""

    why: str
    what: str


@dataclass(frozen=True)
class Checked:
    """What the check found: the bullets an answer had, how many of them stand, and those that were cut."""

    bullets: int = 0
    kept: int = 0
    cut: tuple[Cut, ...] = ()


@dataclass(frozen=True)
class Step:
    """One step of the chain and what became of it: `answered`, `kept`, or why it was skipped, declined or failed."""

    provider: str
    outcome: str


@dataclass(frozen=True)
class Distilled(Digest):
    """A digest with its account.

    checked: of the answer that is shown; an extract quotes, and keeps all.  steps: the chain as far as it went.  calls:
    model calls that were made for it now, failed ones too.  partial: a part failed, and the extract answered for it.
    made: seconds since the epoch, of one that was kept; 0 of one that was made now.
    """

    checked: Checked = Checked()
    steps: tuple[Step, ...] = ()
    calls: int = 0
    partial: bool = False
    made: float = field(default=0.0, compare=False)


def as_json(digest: Distilled) -> dict[str, Any]:
    """Return the account for --json."""
    found = digest.checked
    return {"checked": {"bullets": found.bullets, "kept": found.kept,
                        "cut": [{"why": cut.why, "what": cut.what} for cut in found.cut]},
            "chain": [{"provider": step.provider, "outcome": step.outcome} for step in digest.steps], "calls": digest.calls}


def rows(digest: Distilled) -> list[list[str]]:
    """Return the account as rows of two cells for a table: what, and what of it."""
    found = digest.checked
    return [*([step.provider, step.outcome] for step in digest.steps), ["model calls", str(digest.calls)],
            ["bullets", "%d, %d kept" % (found.bullets, found.kept)],
            *(["cut", "%s: %s" % (cut.why, cut.what)] for cut in found.cut)]
