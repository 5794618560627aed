"""What a session's work is called: its plan, the client's title, its greatest commit, its first
request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from memory.capture import openings
from memory.capture.turns import APPROVED, SLASH, USER, Turn, pieces
from memory.core.plaintext import one_line

_LEAST = 4  # characters of a title
MOST_REQUESTS = 8  # that may name the work


def titles(held: Sequence[Turn], by_client: str, commits: Sequence[str]) -> list[str]:
    """Return titles for the work of some turns, best first.

    by_client: the title that the client gave the session.  commits: subjects, best first.
    """
    plans = [openings.heading_of(one.text) for one in pieces(held[::-1], USER, APPROVED)]
    found = [*plans, by_client, *commits, *islice(_requests(held), MOST_REQUESTS)]
    named = (openings.clause(one_line(one)) for one in found)
    return [one for one in dict.fromkeys(named) if len(one) >= _LEAST]


def first_request(held: Sequence[Turn]) -> str:
    """Return the first meaningful request of some turns, as a clause.

    "" for none.
    """
    return next(_requests(held), "")


def _requests(held: Sequence[Turn]) -> Iterator[str]:
    """Yield the meaningful requests of some turns, as clauses."""
    for turn in held:
        said = openings.topic(turn.request) if turn.asked in ("", SLASH) else ""
        if said:
            yield said
