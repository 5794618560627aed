"""What a session's work is called: its plan, the client's title, its greatest commit, a
request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from memory.capture import openings
from memory.capture.turns import APPROVED, FILE, SLASH, Turn
from memory.core.plaintext import one_line

_LEAST = 4  # characters of a title
MOST_REQUESTS = 8  # that may name the work
MOST_TURNS = 100  # whose outcome is looked at for the words of a request
_OPENING = 600  # characters of an outcome
_OFTEN, _LEAST_SHARED = 6, 9  # times that a word counts at most; that all of a title do at least


def titles(held: Sequence[Turn], by_client: str, commits: Sequence[str]) -> list[str]:
    """Return titles for the work of some turns, best first.

    by_client: the title that the client gave the session.  commits: subjects, best first.
    """
    plans = [
        openings.heading_of(piece.text)
        for turn in reversed(held)
        for piece in turn.pieces
        if piece.name == APPROVED
    ]
    asked = list(islice(_requests(held), MOST_REQUESTS))
    if len(asked) > 1 and not (plans or by_client or commits):
        asked.insert(0, _telling(asked, held))
    found = [*plans, by_client, *commits, *asked]
    named = (openings.clause(one_line(one)) for one in found)
    return [one for one in dict.fromkeys(named) if len(one) >= _LEAST]


def first_request(held: Sequence[Turn]) -> str:
    """Return the first meaningful request of some turns, as a clause.

    "" for none.
    """
    return next(_requests(held), "")


def _telling(asked: Sequence[str], held: Sequence[Turn]) -> str:
    """Return the request whose words recur most in what came of some turns.

    Unless the first one's recur a third as often.
    """
    done = Counter[str]()
    for turn in held[-MOST_TURNS:]:
        files = [piece.text for piece in turn.pieces if piece.kind == FILE]
        came = openings.words("\n".join([openings.outcome(turn)[:_OPENING], *files]))
        done.update(dict.fromkeys(came, 1 + turn.did))
    shared = [sum(min(done[word], _OFTEN) for word in openings.words(one)) for one in asked]
    most = max(shared)
    return asked[shared.index(most) if most >= max(_LEAST_SHARED, 3 * shared[0]) else 0]


def _requests(held: Sequence[Turn]) -> Iterator[str]:
    """Yield the meaningful requests of some turns, as clauses."""
    for turn in held:
        said = openings.topic(turn.request) if turn.asked in ("", SLASH) else ""
        if said:
            yield said
