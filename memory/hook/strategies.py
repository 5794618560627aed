"""The strategies: what reaches the model unasked, by how many learnings there are.

    learnings in scope                strategy       at session start        at each prompt
    <= 10 and < 5,000 tokens          load_all       all that fits           nothing more of what was shown
    11-30, or 5,000-15,000 tokens     index_filter   brief                   the best by the index
    >= 31, or > 15,000 tokens         topic_filter   brief with topic map    category -> its topics -> the best in them,
                                                                            and exact hits outside them

The stricter of count and tokens wins: STRATEGIES is asked from the strictest row on, and the last one suits whatever is left.
A new strategy is one more row.  The loader, both hooks and `load` know no strategy but by its row.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from memory.core.config import Config

    Suits = Callable[[int, int, Config], bool]


class Strategy:
    """One row of the table.

    suits: tells from (learnings in scope, their tokens, settings) whether the row is the one.
    At a session's start: `whole` gives the learnings in full, as many as fit; `topics` names so many topics; `newest` lists
    the titles of so many learnings.
    At a prompt: `routed` prefers what belongs to the prompt's category; `recent` gives the newest learnings (`load.recent`)
    to a session's first prompt where nothing matches it.
    """

    __slots__ = ("name", "newest", "recent", "routed", "suits", "topics", "whole")

    def __init__(self, name: str, suits: Suits, whole: bool = False, topics: int = 0, newest: int = 0, routed: bool = False,
                 recent: bool = False):
        self.name, self.suits = name, suits
        self.whole, self.topics, self.newest = whole, topics, newest
        self.routed, self.recent = routed, recent

    def said(self, given: int, learnings: int) -> str:
        """Say for `load` what the session's start gives of the learnings in full; "" where it gives none.

        given: how many of them fit.
        """
        if not self.whole or not learnings:
            return ""
        return "every learning is given at the session's start; a prompt gets none again" if given == learnings else (
            "%d of them fit into the session's start; a prompt gets what it needs of the others" % given)


STRATEGIES = (
    Strategy("topic_filter", lambda learnings, tokens, config: (
        learnings > config["load.indexCount"] or tokens > config["load.indexTokens"]),
             topics=24, newest=7, routed=True, recent=True),
    Strategy("index_filter", lambda learnings, tokens, config: (
        learnings > config["load.allCount"] or tokens >= config["load.allTokens"]), newest=7, recent=True),
    Strategy("load_all", lambda learnings, tokens, config: True, whole=True),
)


def suited(learnings: int, tokens: int, config: Config) -> Strategy:
    """Return the strategy for a number of learnings in scope and their tokens."""
    return next(strategy for strategy in STRATEGIES if strategy.suits(learnings, tokens, config))


def named(name: str) -> Strategy:
    """Return the strategy of a name, as receipts and `load` give it; raises KeyError where there is none."""
    return {strategy.name: strategy for strategy in STRATEGIES}[name]
