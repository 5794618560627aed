"""Titles for a session's work: its plan, the client's title, its greatest commit, first request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from memory.capture import openings
from memory.capture.turns import APPROVED, SLASH, USER, Turn, find_pieces
from memory.core.plaintext import one_line

_LEAST = 4  # characters of a title
MOST_REQUESTS = 8  # that may name the work


def list_titles(history: Sequence[Turn], by_client: str, commits: Sequence[str]) -> list[str]:
    """Return titles for the work of some turns, best first.

    by_client: the client's title for the session.  commits: subjects, best first.
    """
    plans = [
        openings.find_heading(plan.text) for plan in find_pieces(history[::-1], USER, APPROVED)
    ]
    names = [*plans, by_client, *commits, *islice(_list_requests(history), MOST_REQUESTS)]
    titles = dict.fromkeys(openings.cut_clause(one_line(name)) for name in names)
    return [title for title in titles if len(title) >= _LEAST]


def find_first_request(history: Sequence[Turn]) -> str:
    """Return the turns' first meaningful request as a clause, or ""."""
    return next(_list_requests(history), "")


def _list_requests(history: Sequence[Turn]) -> Iterator[str]:
    """Yield the topics of requests; those that were only acknowledged come last."""
    acknowledged = []
    for turn in history:
        topic = openings.find_topic(turn.request) if turn.asked in ("", SLASH) else ""
        if topic and openings.is_acknowledged(turn):
            acknowledged.append(topic)
        elif topic:
            yield topic
    yield from acknowledged
