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
    from typing import Any, Callable, Sequence

    Suits = Callable[[int, int], bool]


class Strategy:
    """How learnings reach the model: a row of STRATEGIES.

    suits: tells from (number of learnings, their tokens) whether the row applies.
    whole: a session's start gives the learnings in full, as many as fit.
    topics, newest: numbers of topics and of titles that a start lists.
    routed: a prompt prefers learnings of its category.
    """

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
        """Return a sentence on the learnings that the start gives in full, or "".

        given: the number of learnings that fit.
        """
        if not self.whole or not learnings:
            return ""
        if given == learnings:
            return "the session's brief has every learning, so this prompt adds none"
        return (
            "it starts with %d of them; %d left out: too long, or with a secret or a "
            "conflict (`dayleaf store check`)" % (given, learnings - given)
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
    return next(strategy for strategy in STRATEGIES if strategy.suits(learnings, tokens))


def strategy_by_name(name: str) -> Strategy:
    return {strategy.name: strategy for strategy in STRATEGIES}[name]


# ---- categories of prompts

# Category of a prompt -> stems that speak for it; a topic belongs to a category where one of its
# words is among them.
CATEGORIES: dict[str, frozenset[str]] = {
    name: frozenset(stems.split())
    for name, stems in (
        ("testing", "test pytest fixtur mock assert coverag flaki spec e2e snapshot"),
        (
            "build",
            "build compil bundl docker ci pipelin releas packag depend instal version deploi lint",
        ),
        ("auth", "auth authent login token jwt oauth session permiss secur password cooki"),
        ("data", "databas db sql postgr sqlite migrat schema queri index orm cach redi"),
        ("interface", "ui css react view compon layout render button form style frontend page"),
        (
            "network",
            "http api request endpoint socket proxi timeout retri rest grpc webhook server",
        ),
        ("performance", "slow fast perform memori leak latenc profil benchmark optim"),
        ("design", "design architectur plan decid choic structur refactor interfac modul"),
    )
}
# share of the learnings, and how many, that bear a topic; topics looked at
WIDE, FEW, MOST_TOPICS = 0.25, 6, 24
MODES = {"plan": "design"}  # a permission mode that speaks for a category


def build_categories(
    topics: Sequence[Sequence[Any]] = (), learnings: int = 0
) -> dict[str, frozenset[str]]:
    """Return the stems that speak for each category of prompts.

    topics: [name, number of learnings with the topic] of the project, most first.
    learnings: their number in the project.
    A topic of WIDE of the learnings is what the project is about: its words route nowhere.  Another
    topic of FEW learnings is a category, unless its words are those of a built-in one.
    """
    if not topics:
        return CATEGORIES
    from memory.core import tokeniser

    rows = [
        (
            str(row[0]),
            int(row[1]),
            frozenset(term for term, _ in tokeniser.query_terms(str(row[0]))),
        )
        for row in topics[:MOST_TOPICS]
    ]
    wide = frozenset(
        term for _, count, words in rows if count >= WIDE * learnings for term in words
    )
    known = frozenset(term for words in CATEGORIES.values() for term in words)
    table = {name: words - wide for name, words in CATEGORIES.items()}
    for name, count, words in rows:
        if count >= FEW and words and not words & (wide | known):
            table.setdefault(name, words)
    return {name: words for name, words in table.items() if name and words}


def classify_prompt(stems: frozenset[str], mode: str, table: dict[str, frozenset[str]]) -> str:
    """Return the category with most of a prompt's words, or "".

    stems: of the prompt.
    mode: the host's permission mode, whose category is taken on a tie or without any match.
    """
    counts = sorted((-len(stems & words), name) for name, words in table.items())
    if not counts or counts[0][0] == 0 or (len(counts) > 1 and counts[0][0] == counts[1][0]):
        return MODES.get(mode, "")
    return counts[0][1]


class TopicMembership(dict[str, bool]):
    """Map topics to whether a category or the prompt names them."""

    def __init__(self, category: str, words: frozenset[str]):
        super().__init__()
        self.category, self.words = category, words

    def __missing__(self, topic: str) -> bool:
        from memory.core import tokeniser

        self[topic] = belongs = topic == self.category or any(
            t in self.words for t, _ in tokeniser.query_terms(topic)
        )
        return belongs
