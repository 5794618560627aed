"""What a hook waits for: what reaches the model unasked, and the index as it is read; the same rule
as core.

Here stand the strategies: what reaches the model unasked, by how many learnings there are; and the
category of a prompt.

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
    from typing import Any, Callable, Dict, FrozenSet, List, Sequence

    Suits = Callable[[int, int], bool]

# characters of a prompt in which a standing wish is looked for; a longer one may hold others' words
WISH_CHARS = 1000
FENCE = "dayleaf-memory"  # the element in which text for the model stands


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
            "every learning is given at the session's start, so prompts get none"
            if given == learnings
            else (
                "%d of them fit into the session's start; prompts get the others as they need them"
                % given
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


# ---- prompts that ask the memory

# What people say who were told before, whatever the subject; lower case.  A verb of _SAYING counts
# with "again" after it.
_ASKING = tuple(
    "remind me|what was the |what were the |what did we |did we not|didn't we|did we already|"
    "have we already|haven't we|why did we|how did we|where did we|when did we|last time|"
    "do you remember|have we seen|had this before|seen this before|as usual|used to work|"
    "worked before|no longer work|happened before|happens again|same error as|same problem as|"
    "same issue as|the second time|the third time|2nd time|3rd time|second error|third error|"
    "2nd error|3rd error|second bug|third bug|2nd bug|3rd bug|erinner mich|erinnere mich|wie hieß|"
    "wie war das|beim letzten mal|letztes mal|haben wir nicht|hatten wir nicht|warum haben wir|"
    "wieso haben wir|was war der grund|was hatten wir|wie hatten wir|wie üblich|früher ging|"
    "schon einmal|zum zweiten mal|zum dritten mal|다시 알려|다시 설명|다시 말해|기억나|뭐였지|"
    "뭐였더라|무엇이었|지난번|저번에|전에 왜|왜 그렇게 했|이미 하지 않았|예전에는|벌써 세 번째|"
    "もう一度教え|もう一度説明|思い出|だっけ|でしたっけ|前回|この前|以前に|以前は|なぜ変えた|"
    "再告诉我|再解释|再说一遍|提醒我|来着|上次|之前为什么|以前为什么|我们不是已经|"
    "是不是已经|以前可以|第三次|напомни|в прошлый раз|разве мы |почему мы |"
    "как обычно|раньше работал|уже было|во второй раз|в третий раз|как называл".split("|")
)
_SAYING = ("tell", "explain", "understand", "show me how", "sag", "erklär", "скажи", "объясни")
_AGAIN = (" again", " once more", " nochmal", " noch mal", " noch einmal", " wieder", " ещё раз")
_ASKED_CHARS = 300  # of a prompt's start, where people ask
# How a sentence begins, or what it holds, that wants to know how something is and wants nothing
# done.
_INQUIRES = tuple(
    "how does |how do we |how do the |how is |how are |how did |how come |why |what is |what's |"
    "what are |what does |what do |what happens |what was |where is |where are |where does |"
    "where do |when is |when does |when do |is there |are there |does |do we |explain |describe |"
    "what the |whether |find where |find out |find how |figure out why |figure out how |"
    "investigate |understand how |understand why |trace how |wie funktioniert|wie wird |"
    "wie werden |wie läuft |warum |wieso |weshalb |was ist |was sind |was macht |was passiert |"
    "wo ist |wo wird |wo steht |wo liegt |wann |welche|gibt es |erklär|почему |зачем |как работа|"
    "как устроен|что такое |что делает |что значит |где |какой |какая |какое |какие |"
    "есть ли |объясни".split("|")
)
_POLITE = tuple(
    "can you |could you |please |and |so |but |hmm |ok |okay |q: |question: |tell me |me |"
    "kannst du |bitte |mir |and also |also |now |пожалуйста |а |и |но |можешь |скажи ".split("|")
)
_INQUIRING = tuple(
    "the difference between|differ from|unterschied zwischen|summary for the cases|"
    "왜 |어떻게 동작|어떻게 작동|어디에 |어디서 |무엇인|뭐야|뭔가요|차이|설명해|"
    "なぜ|どうして|どのように|どこで|どこに|何ですか|とは|違い|説明して|"
    "为什么|怎么工作|如何工作|在哪里|在哪|是什么|区别|解释".split("|")
)


def is_asking(prompt: str) -> bool:
    """Tell whether a prompt asks about earlier words or work."""
    start = _start(prompt)
    if any(said in start for said in _ASKING):
        return True
    asked = start.partition("?")[0].partition(". ")[0]
    at = min((asked.find(verb) for verb in _SAYING if verb in asked), default=-1)
    return at >= 0 and any(word in asked[at : at + 40] for word in _AGAIN)


def is_inquiring(prompt: str) -> bool:
    """Tell whether a prompt only asks how or why something is.

    Such a prompt wants nothing done.
    """
    start = _start(prompt)
    if any(said in start for said in _INQUIRING):
        return True
    for mark in (". ", "! ", "? ", ", ", " - ", ": "):
        start = start.replace(mark, "\0")
    return any(_bare(clause).startswith(_INQUIRES) for clause in start.split("\0"))


def _start(prompt: str) -> str:
    """Return the start of a prompt in lower case, blanks single."""
    return " ".join(prompt[:_ASKED_CHARS].lower().replace("\u2019", "'").split())


def _bare(clause: str) -> str:
    """Return a clause without its opening words of courtesy."""
    while clause.startswith(_POLITE):
        clause = clause.partition(" ")[2]
    return clause


# ---- what a prompt names

_EDGES = "\"'`.,:;!?()[]{}<>*|=…"
_HEX = frozenset("0123456789abcdef")
_NUMBERED = ("pr", "prs", "pull", "issue")  # words before a number that make it a handle
_TRACKERS = ("linear", "jira", "ticket", "issue", "story")  # words before a ticket in small letters
# No tickets: the names of standards.
_STANDARDS = (
    "utf",
    "sha",
    "iso",
    "rfc",
    "gpt",
    "aes",
    "rsa",
    "md",
    "cp",
    "utc",
    "gmt",
    "tls",
    "http",
    "ip",
    "us",
    "ascii",
)
_DOMAINS = ("com", "io", "org", "net", "dev")


def handles(text: str) -> List[str]:
    """Return the handles in a text, in lower case, each once."""
    found: Dict[str, None] = {}
    before = ""
    for raw in text.split():
        word = raw.strip(_EDGES)
        found.update((name.lower(), None) for name in _handles(word, before))
        before = word.lower()
    return list(found)


def is_ticket(name: str) -> bool:
    """Tell whether a handle names a ticket, issue or pull request."""
    head, _, number = name.partition("-")
    return name[:1] == "#" or (number.isdigit() and head.isalpha())


def _handles(word: str, before: str) -> Sequence[str]:
    """Return the handles in a word."""
    if "://" in word:
        parts = word.split("/")
        return [
            "#" + number
            for part, number in zip(parts, parts[1:])
            if part in ("pull", "issues") and number.isdigit()
        ]
    if word[:3].lower() == "pr#":
        word, before = word[2:].partition("'")[0], "pr"
    if word[:1] == "#" or before in _NUMBERED:
        number = word.lstrip("#")
        if number.isdigit():
            return ["#" + number] if len(number) > 2 or before in _NUMBERED else ()
    if word[:2] == "--":
        return [word.partition("=")[0]] if len(word) > 5 else ()
    if 7 <= len(word) <= 40 and not word.isdigit() and not word.isalpha() and _HEX.issuperset(word):
        return [word]
    branch = word.count("/") == 1 and word.count("-") > 1
    head, dash, number = word.rpartition("/")[2].partition("-")
    number = number.partition("-")[0] if branch else number
    if (
        number.isdigit()
        and head.isalpha()
        and 2 <= len(head) <= 8
        and head.lower() not in _STANDARDS
        and (head.isupper() or branch or before in _TRACKERS)
    ):
        return [head + dash + number]
    return _names(word.partition("(")[0].partition(":")[0].partition("=")[0])


def _names(word: str) -> Sequence[str]:
    """Return the file name in a word, else its identifiers."""
    file = word.rpartition("/")[2]
    stem, _, end = file.rpartition(".")
    if (
        len(stem) > 1
        and 1 < len(end) <= 5
        and end.isalpha()
        and end.islower()
        and end not in _DOMAINS
    ):
        return [file]
    return [
        piece
        for piece in word.replace("/", ".").split(".")
        if len(piece) >= 6
        and piece.isascii()
        and piece.replace("_", "").isalnum()
        and ("_" in piece.strip("_") or _is_camel(piece))
    ]


def _is_camel(word: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in zip(word, word[1:]))


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

    From CATEGORIES, the project's own topics and the setting `load.routes`.
    routes: `category: word word …` replaces a category's words, or drops the category where no word
        follows.
    topics: [name, number of learnings with the topic], most first.
    learnings: their number in the project.
    A topic of a share of WIDE of the learnings is what the project is about: its words route
    nowhere.  Any other topic of at least FEW learnings is a category of its own, unless its words
    are those of a built-in category.
    """
    if not topics:
        return CATEGORIES
    from memory.core import tokeniser  # whoever routes has it; a failed call does without

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
