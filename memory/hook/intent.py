"""Intent of a prompt: whether it asks about the past or the code, by phrases of eight languages."""

from __future__ import annotations

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


def asks_past(prompt: str) -> bool:
    """Tell whether a prompt asks about earlier words or work."""
    start = _normalise_start(prompt)
    if any(phrase in start for phrase in _ASKING):
        return True
    question = start.partition("?")[0].partition(". ")[0]
    at = min((question.find(verb) for verb in _SAYING if verb in question), default=-1)
    return at >= 0 and any(word in question[at : at + 40] for word in _AGAIN)


def asks_how(prompt: str) -> bool:
    """Tell whether a prompt only asks how or why something is."""
    start = _normalise_start(prompt)
    if any(phrase in start for phrase in _INQUIRING):
        return True
    for mark in (". ", "! ", "? ", ", ", " - ", ": "):
        start = start.replace(mark, "\0")
    return any(_strip_courtesy(clause).startswith(_INQUIRES) for clause in start.split("\0"))


def _normalise_start(prompt: str) -> str:
    """Return the start of a prompt in lower case, with single blanks."""
    return " ".join(prompt[:_ASKED_CHARS].lower().replace("\u2019", "'").split())


def _strip_courtesy(clause: str) -> str:
    while clause.startswith(_POLITE):
        clause = clause.partition(" ")[2]
    return clause
