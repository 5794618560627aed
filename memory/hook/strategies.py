"""Strategies: what reaches the model unasked, by how many learnings there are; a prompt's category.

    learnings in scope                strategy       at session start        at each prompt
    <= 10 and < 5,000 tokens          load_all       all that fits           nothing more
                                                                             of what was shown
    11-30, or 5,000-15,000 tokens     index_filter   brief                   the best by the index
    >= 31, or > 15,000 tokens         topic_filter   brief with topic map    category -> its topics
                                                                             -> the best in them,
                                                                             and exact hits
                                                                             outside them

The stricter of count and tokens wins: STRATEGIES is asked from the strictest row on, and the last
one suits whatever is left.  A new strategy is one more row.  The loader, both hooks and `load` know
no strategy but by its row.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, FrozenSet, Sequence

    Suits = Callable[[int, int], bool]


class Strategy:
    """A row of the table of strategies.

    suits: tells from (learnings in scope, their tokens, settings) whether the row applies.
    At a session's start: `whole` gives the learnings in full, as many as fit; `topics` names so
        many topics; `newest` lists the titles of so many learnings.  At a prompt: `routed` prefers
        what belongs to the prompt's category.
    """

    __slots__ = ("name", "newest", "routed", "suits", "topics", "whole")

    def __init__(
        self,
        name: str,
        suits: Suits,
        whole: bool = False,
        topics: int = 0,
        newest: int = 0,
        routed: bool = False,
    ):
        self.name, self.suits = name, suits
        self.whole, self.topics, self.newest, self.routed = whole, topics, newest, routed

    def describe(self, given: int, learnings: int) -> str:
        """Return a sentence: how many learnings the session's start gives.

        given: the number of learnings that fit.  "" where the strategy gives no learning in full.
        """
        if not self.whole or not learnings:
            return ""
        return (
            "the session starts with every learning, so this prompt adds none"
            if given == learnings
            else (
                "it starts with %d of them; %d left out: too long, or with a secret or a "
                "conflict (`dayleaf store check`)" % (given, learnings - given)
            )
        )


ALL_COUNT, ALL_TOKENS = 10, 5000  # learnings, and tokens of them, that a start gives in full
INDEX_COUNT, INDEX_TOKENS = 30, 15000  # more of either, and a prompt's category chooses topics
STRATEGIES = (
    Strategy(
        "topic_filter",
        lambda learnings, tokens: learnings > INDEX_COUNT or tokens > INDEX_TOKENS,
        topics=24,
        newest=7,
        routed=True,
    ),
    Strategy(
        "index_filter",
        lambda learnings, tokens: learnings > ALL_COUNT or tokens >= ALL_TOKENS,
        newest=7,
    ),
    Strategy("load_all", lambda learnings, tokens: True, whole=True),
)


def choose_strategy(learnings: int, tokens: int) -> Strategy:
    """Return the strategy for a number of learnings and tokens."""
    return next(strategy for strategy in STRATEGIES if strategy.suits(learnings, tokens))


def strategy_by_name(name: str) -> Strategy:
    """Return the strategy with a name, as receipts and `load` show it.

    Raises KeyError for an unknown name.
    """
    return {strategy.name: strategy for strategy in STRATEGIES}[name]


# ---- categories of prompts

# Category of a prompt -> stems that speak for it; a topic belongs to a category where one of its
# words is among them.
CATEGORIES: Dict[str, FrozenSet[str]] = {
    "testing": frozenset("test pytest fixtur mock assert coverag flaki spec e2e snapshot".split()),
    "build": frozenset(
        (
            "build compil bundl docker ci pipelin releas packag depend instal version deploi lint"
        ).split()
    ),
    "auth": frozenset(
        "auth authent login token jwt oauth session permiss secur password cooki".split()
    ),
    "data": frozenset(
        "databas db sql postgr sqlite migrat schema queri index orm cach redi".split()
    ),
    "interface": frozenset(
        "ui css react view compon layout render button form style frontend page".split()
    ),
    "network": frozenset(
        "http api request endpoint socket proxi timeout retri rest grpc webhook server".split()
    ),
    "performance": frozenset("slow fast perform memori leak latenc profil benchmark optim".split()),
    "design": frozenset(
        "design architectur plan decid choic structur refactor interfac modul".split()
    ),
}
# share of the learnings, and how many, that bear a topic; topics looked at
WIDE, FEW, MOST_TOPICS = 0.25, 6, 24
MODES = {"plan": "design"}  # a permission mode that speaks for a category


def categories(
    topics: Sequence[Sequence[Any]] = (), learnings: int = 0
) -> Dict[str, FrozenSet[str]]:
    """Return the routing table, category -> terms of its words.

    From CATEGORIES and the project's own topics.
    topics: [name, number of learnings with the topic], most first.
    learnings: their number in the project.
    A topic of a share of WIDE of the learnings is what the project is about: its words route
    nowhere.  Any other topic of at least FEW learnings is a category of its own, unless its words
    are those of a built-in category.
    """
    if not topics:
        return CATEGORIES
    from memory.core import tokeniser  # a failed call gets here without topics and need not load it

    said = [
        (str(row[0]), int(row[1]), frozenset(term for term, _ in tokeniser.terms(str(row[0]))))
        for row in topics[:MOST_TOPICS]
    ]
    wide = frozenset(
        term for _, count, words in said if count >= WIDE * learnings for term in words
    )
    known = frozenset(term for words in CATEGORIES.values() for term in words)
    found = {name: words - wide for name, words in CATEGORIES.items()}
    for name, count, own in said:
        if count >= FEW and own and not own & (wide | known):
            found.setdefault(name, own)
    return {name: words for name, words in found.items() if name and words}


def category_of(stems: FrozenSet[str], mode: str, table: Dict[str, FrozenSet[str]]) -> str:
    """Return the category whose words a prompt holds most of.

    stems: of the prompt.
    mode: the host's permission mode, whose category is taken on a tie or without any match.
    "" for none.
    """
    counts = sorted((-len(stems & words), name) for name, words in table.items())
    if not counts or counts[0][0] == 0 or (len(counts) > 1 and counts[0][0] == counts[1][0]):
        return MODES.get(mode, "")
    return counts[0][1]


class Membership(dict[str, bool]):
    """Map topic -> whether a category or the prompt names the topic.

    Computed on demand: only candidates' topics are asked for.
    """

    def __init__(self, category: str, words: FrozenSet[str]):
        super().__init__()
        self.category, self.words = category, words

    def __missing__(self, topic: str) -> bool:
        from memory.core import tokeniser

        self[topic] = found = topic == self.category or any(
            t in self.words for t, _ in tokeniser.terms(topic)
        )
        return found
