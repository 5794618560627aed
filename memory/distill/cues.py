"""Cues in a text: its technical words, whether it decides something, whether it looks like an answer to a question."""

from __future__ import annotations

import re
from typing import Callable, List

from memory.core import tokeniser
from memory.session.latepattern import Late

_DECISION = Late(
    r"(?i)\b(?:decid\w+|decision|because|instead|chose\w*|reason\w*|root cause|caused?|fix\w*|fail\w*|error|must|never|"
    r"always|workaround|todo|open|blocked|next|revert\w*|broke\w*|regression|resolved?|entschied\w*|weil|statt|grund|"
    r"ursache|behoben|fehler|nie|immer|offen)\b|결정|때문|대신|원인|해결|수정|실패|오류|반드시|다음|"
    r"決め|決定|理由|原因|代わり|修正|失敗|エラー|必ず|解決|决定|因为|而不是|修复|失败|错误|必须|下一步")
_TECHNICAL = Late(
    r"`?(?:--?[A-Za-z][\w-]*|\$?[A-Za-z]\w*_\w+|[A-Za-z]+[a-z][A-Z]\w*|\w*(?:Error|Exception)|[A-Z]+-?\d+|v?\d+(?:\.\d+)+|"
    r"[0-9a-f]{7,40}|\d{2,}\w*%?|[\w.-]+\.[A-Za-z]\w{0,4}|[\w.-]+\(\)|\w+::[\w:]+)`?", re.ASCII)
_NUMBER = Late(r"[\d.,:/%-]+[a-zA-Z]{0,3}")
_TIME = Late(r"\[?\d{1,4}[:-]\d\d[:-]\d\d\S*|\d+(?:ms|s|m|h)")
_ROUTINE = Late(r"\S{0,40}\s?\S{0,20}\s?\[?(?:TRACE|DEBUG|INFO|NOTICE)\b")
_PROSE = Late(r"[A-Za-z]?[a-z]{1,80}(?:[/-][A-Za-z]?[a-z]{1,80})|-[A-Za-z]|(?:e\.g|i\.e|z\.B|d\.h|u\.a)")  # and/or, e.g, -v
_EDGES = "\"'()[]{}<>,;:.!?*“”「」、。"

# What announces the next step, offers one, or praises a suggestion: true when it was said, and no answer later.
_PASSING = Late(
    r"(?i)(?<!\W)\W{0,80}(?:(?:now|ok(?:ay)?|good|great|perfect|first|next|then|so)[,.!]? ){0,40}"
    r"(?:let me|let's|i'll|i will|i need to|i'm going to|i'd be happy|before i)\b|"
    r"\W{0,80}(?:(?:do|would) you (?:want|like|prefer|mind)|want me to|should i|shall i|shall we|could you|can you|"
    r"does (?:this|that))\b.{0,160}[?:]\W{0,80}$|\((?:answer|while working|goes on)\b[^)"
    r"]{0,160}\).{0,160}\?\W{0,80}$|now (?:i can|update|add|run)\b|"
    r"\W{0,80}(?:(?:that's|what) an? )?(?:good|great|excellent|clever|nice|fair|perfect)\b.{0,24}$")
# What only says that all is well or done, whose message it was, or that what stands before is in doubt.
_CLOSING = Late(
    r"(?i)\W*(?:all )?(?:\d+ )?(?:(?:the|unit|integration|existing|new|and) )*(?:tests?|checks?|lint(?:ing|er)?|builds?|"
    r"formatting|everything)\b(?:(?: and|,) (?:lint\w*|tests|builds?|formatting))*(?: (?:all|now|still))* (?:pass(?:es|ed)?|"
    r"(?:is|are) (?:clean|green)|succeeds?|compiles|works)\b.{0,30}$|"
    r"\W*(?:based on [\w ]{3,40}, )?(?:the |this |all )?(?:\w+ )?(?:implementation|refactoring|migration|change|fix|"
    r"feature|work|task)s? (?:is|are|has been|have been) (?:now |already |fully )*(?:completed?|done|finished|in place)\W*$|"
    r"\W*no (?:lint\w* )?(?:issues|errors)\b.{0,20}$|"
    r"\W*(?:wait|hmm)\b|\W*(?:i was wrong|you(?:['’]re| are) (?:\w+ly )?right|you raise an? \w+ (?:point|question)|"
    r"i(?:['’]ve)? (?:see|found|identified) (?:the|an) (?:issue|problem|bug))\b.{0,24}$|"
    r"\W*(?:the )?user(?:'s)? (?:\w+ ){0,3}(?:asked|request\w*|wanted|wants|said|reported|approved|confirmed)\b")
_CHECKS = Late(
    r"(?i)\b(?:tests?|lint\w{0,80}|checks?|builds?)\b.{0,60}\b(?:pass\w{0,80}|green|clean|fail\w{0,80}|broken?|red|succe\w{1,80}|work\w{0,80}|run|ran|compile\w{0,80})\b|"
    r"\b(?:pass\w{0,80}|green|clean|fail\w{0,80}|broken?|run|ran)\b.{0,60}\b(?:tests?|lint\w{0,80}|checks?|builds?)\b|\buser\b|테스트|テスト|测试")
# What could or should be done.
_PROPOSED = Late(
    r"(?i)\b(?:could|should|would|might|i'd|recommend\w*|suggest\w*|propos(?:e|al)\w*|option \d|options|alternatively|"
    r"needs? to|pending|still need|want to|könnte|sollte|müsste|vorschlag)\b")
# One of several things that a user may choose from.
_OPTION = Late(r"(?i)\W*(?:(?:options?|variant|approach|alternative|solution) (?:\d|[a-d])\b|[A-D]\) )")
# Tells what to do, in the form of an order: of a turn that did nothing, a proposal.  Of a word that may also be a noun or an
# adjective (`clean commits`, `update interval`) only where it has an object.
_PLANNED = Late(
    r"(?:(?:then|also|and|next|optionally)\b\W{0,80})?(?:(?:re)?(?:add|allow|annotate|clarify|consolidate|convert|delete|disable|enable|"
    r"extend|extract|hide|implement|improve|integrate|introduce|invert|keep|make|migrate|modify|move|refactor|remove|rename|"
    r"replace|restructure|revert|rework|simplify|unify|upgrade|write)\b(?! (?:to|is|are|was|were|has|have)\b)|"
    r"(?:bump|change|clean|correct|document|drop|fix|handle|limit|merge|split|store|switch|track|update|wrap)\b"
    r" (?:(?:the|an?|all|each|it|its|this|that|these|both|up|\w{1,80} (?:into|to|from))\b|`|[\w-]{1,80}[/.]\w))", re.I)
# How a request says that what was said before it is wrong, and how an answer agrees that something was missing, or takes it back.
_OBJECTS = Late(
    r"(?i)\W*(?:(?:hmm|ah|ok|okay|well|i think)\W+)*(?:no\b(?! need| more| problem)|nope\b|wrong\b|"
    r"(?:that(?:['’]s| is)|this is)(?: still)? (?:wrong|not (?:right|correct|true|it))|"
    r"(?:it|that|this) (?:still )?(?:doesn['’]t|does not|didn['’]t) work|i still (?:see|get|have)|"
    r"nein\b|das stimmt nicht|아니|틀렸|違(?:う|い)|不对|错了)")
_AGREES = Late(
    r"(?i)\W*(?:you(?:['’]re| are) (?:\w+ly |quite )?(?:right|correct)|(?:good|great|nice) (?:point|catch)\b|fair point|"
    r"exactly right)")
_RETRACTS = Late(
    r"(?i).{0,60}\b(?:i was (?:wrong|mistaken)|my mistake|i mis(?:read|understood)|won['’]t work either|that was wrong)\b|"
    r"\W*(?:wait|sorry)\b", re.DOTALL)
# What is said to be taken away or made otherwise, up to how: `the limit`, `the flag from --a`, of the latter also what it was.
_AWAY = r"removed|deleted|dropped|got rid of|retired|reverted|abandoned|disabled|moved"
_OTHERWISE = r"renamed|replaced|superseded|switched|inverted|changed|migrated|swapped|converted"
_TURNED = Late(
    r"(?i)\W*(?:(?:i|we|i['’]ve|we['’]ve|and|also|then|now|\w+ly|instead)\b\W*)*"
    r"(?:(?P<away>" + _AWAY + r")|(?:" + _OTHERWISE + r"))\b(?P<what>.+)|"
    r"(?P<it>(?:(?!\b(?:if|when|where|that|which|until|because|to)\b).){3,80}?) (?:(?:is|are|was|were|has been|have been) "
    r"(?:now |\w+ly )*(?:" + _AWAY + "|" + _OTHERWISE + r")\b|(?:is |are |does |do )?no longer\b|"
    r"(?:is|are) now (?:an?|the|in|at|called)\b)")
_HOW = Late(r"(?i)(?:[:.;(]|\s(?:in|to|with|by|so|because|since|for|when|into|as|instead))\s|→")
_WHENCE = Late(r"(?i)(?:^|\s)from\s")
_QUOTED = Late(r"(?:>[^\n]{0,160}\n|\s){1,40}")
_OPENER = Late(
    r"(?i)(?:(?:done|perfect|great|excellent|nice|good(?: (?:point|call|catch|question|idea))?|great (?:point|question|idea)|"
    r"you(?:'|’)re (?:absolutely )?right|got it|sure|ok(?:ay)?|all done)(?:[.!,]| [-–—])\s+)+(?=[A-Z`\"\d])")
_COUNTED = Late(r"^\*\*\d{1,2}[.)] ")
_BOLD = Late(r"(?<![\w*/`.])\*\*(?=\S)([^*\n`]*(?:`[^`\n]*`[^*\n`]*)*)(?<=\S)\*\*(?![\w*/`])")
_COMMANDS = Late(
    r"(?i)\b(?:what|which|the|all)\s(?:\w+\s)?(?:commands|invocations?|commits)\b|\b(?:which|what) command\b|"
    r"\b(?:what|which)\b[^?]{0,40}\b(?:did|have|was|were|has)\b[^?]{0,30}\b(?:run|ran|execute[ds]?|edit(?:ed)?|touch(?:ed)?|commit(?:ted)?)\b|"
    r"\bhow (?:do|did|can|should|to)\b(?: (?:i|we|you))? (?:run|start|invoke|execute|build|commit|test)\b|"
    r"\b(?:welche[rs]? )?befehle?\b|\baufruf\w*|\bausgef\w+|명령|커밋|コマンド|コミット|命令|提交")
_BLOCK = Late(r"(?i)\b(?:code|snippet|example|format|schema|syntax|config\w*|json|yaml|toml|sql|"
              r"quer(?:y|ies)|output|print\w*|looks?|"
              r"layout|structure|table|compare|comparison|difference|commands?|beispiel|tabelle|befehle?)\b|코드|예시|명령|例|表|命令|代码|コード")
_STORY = Late(r"(?i)\b(?:how (?:did|has|have) .{2,80}\b(?:develop|evolve|change|come about|get here|go)\w*|histor(?:y|ie)|"
              r"timeline|evolution|story of|entwickel\w+|verlauf)\b|경위|변천|경과|経緯|变迁|经过")

# Words at a sentence's start that point at the one before it.
_LEANS = Late(
    r"(?:It|This|That|These|Those|They|He|She|So|Therefore|Hence|Thus|However|But|Or|Then|Also|Both|Instead|Otherwise|Dies|"
    r"Das|Deshalb|Daher|Aber|Dadurch)\b(?!\s+(?:is|was)\s+(?:why|how)\b)|이는|이것|그래서|따라서|그러나|하지만|그 |"
    r"これ|それ|そのため|しかし|したがって|だから|这|因此|所以|但是|然而|它")

# A question's words, and what an answer to it then holds.
_ASKED = (
    (re.compile(r"(?i)\bhow (?:many|much|long|big|large|often|far|fast|old)\b|"
                r"\bwhat (?:limit|number|size|value|time|cost|share)\b|\bwie (?:viele?|lange|gro(?:ß|ss)|oft|hoch)\b|"
                r"몇|얼마|いくつ|いくら|どれくらい|何[回個件秒分時日]|多少|多久|多大|几"),
     re.compile(r"\d")),
    (re.compile(r"(?i)\bwhy\b|\breasons?\b|\bcaused?\b|\bwhat (?:made|led)\b|\b(?:warum|wieso|weshalb)\b|"
                r"왜|이유|なぜ|どうして|理由|为什么|为何"),
     re.compile(r"(?i)\b(?:because|since|due to|caused?|reason|so that|to avoid|instead of|rather than|therefore|root cause|"
                r"weil|da|wegen|damit|statt)\b|때문|위해|원인|이유|ため|から|ので|理由|原因|因为|由于|为了|所以")),
    (re.compile(r"(?i)\bwhere\b|\bwhich (?:file|folder|module|function|path|class|field|table|setting|variable|flag|option|"
                r"command)s?\b|\bwo\b|\bwelche[rs]? (?:datei|ordner|funktion|klasse|tabelle|einstellung)\b|"
                r"어디|どこ|哪里|哪个"),
     re.compile(r"(?<![\w-])[\w-]+[/._]\w+|\w::\w|--\w")),
)


def technical(value: str) -> List[str]:
    """Return the distinct technical words of a text as they stand: paths, identifiers, options, hashes, versions, numbers."""
    words = dict.fromkeys(word.strip(_EDGES) for word in value.split())
    return [word for word in words if 1 < len(word) <= 200 and (
        "/" in word.strip("/") or word[0] == "`" or _TECHNICAL.match(word))]


def names(value: str) -> List[str]:
    """Return the words of a text that make sense without their sentence: technical ones, a number with the word beside it."""
    words = value.split()
    out: dict[str, None] = {}
    for at, said in enumerate(words):
        word = said.strip(_EDGES + "`")
        if not 2 < len(word) <= 200 or "`" in word or not technical(word) or _PROSE.fullmatch(word) or _TIME.fullmatch(word):
            continue
        if _NUMBER.fullmatch(word):
            after = words[at + 1].strip(_EDGES) if at + 1 < len(words) and said[-1:] == word[-1] else ""
            before = words[at - 1] if at and words[at - 1][-1:].isalnum() and said[0] == word[0] else ""
            if _beside(after):
                word = "%s %s" % (word, after)
            elif _beside(before):
                word = "%s %s" % (before, word)
            elif word.count(".") < 2:
                continue
        out[word] = None
    return list(out)


def _beside(word: str) -> bool:
    return word.isalpha() and word.lower() not in tokeniser.STOP


def is_routine(value: str) -> bool:
    """Tell whether a text is a line of a log at a level that reports nothing amiss."""
    return _ROUTINE.match(value) is not None


def leans(value: str) -> bool:
    """Tell whether a sentence points at the one before it and makes no sense alone."""
    return _LEANS.match(value) is not None


def said(value: str) -> str:
    """Return a sentence without what carries nothing: bold type, a number in it, a `Done.` or `Good point!` in front."""
    value = _BOLD.sub(r"\1", _COUNTED.sub("**", value))
    rest = _OPENER.sub("", value, count=1) if _OPENER.match(value) else value
    return rest if len(rest) >= 12 else value


def is_passing(value: str) -> bool:
    """Tell whether a text only announces or offers what is done next, or praises."""
    return _PASSING.match(value) is not None


def is_closing(value: str) -> bool:
    """Tell whether a text only says that checks pass or work is done, that a user asked for it, or doubts what was said."""
    return _CLOSING.match(value) is not None


def asks_checks(question: str) -> bool:
    """Tell whether a question is about how tests and other checks went, or about what a user said."""
    return _CHECKS.search(question) is not None


def proposes(value: str) -> bool:
    """Tell whether a text says, or asks, what could or should be done."""
    return _PROPOSED.search(value) is not None


def is_option(value: str) -> bool:
    """Tell whether a text is one of several things that somebody is to choose from."""
    return _OPTION.match(value) is not None


def plans(value: str) -> bool:
    """Tell whether a text is an order to change something."""
    return _PLANNED.match(value) is not None


def corrects(request: str, answer: str) -> int:
    """Tell how far a turn corrects one before it: 2 takes it back, 1 agrees that it was not all, 0 does neither."""
    said = answer[len(match[0]):] if (match := _QUOTED.match(answer)) else answer
    if _OBJECTS.match(request) or _RETRACTS.match(said):
        return 2
    return 1 if _AGREES.match(said) else 0


def turned(value: str) -> str:
    """Return what a sentence says to be taken away, or made otherwise; "" where it says nothing of the kind."""
    match = _TURNED.match(value)
    if match is None:
        return ""
    what = match["it"] or match["what"]
    what = _HOW.split(what, maxsplit=1)[0]
    return _WHENCE.split(what, maxsplit=1)[0] if match["away"] else what


def asks_commands(question: str) -> bool:
    """Tell whether a question is about what was run, edited or committed."""
    return _COMMANDS.search(question) is not None


def asks_block(question: str) -> bool:
    """Tell whether a question asks for what a block of code or a table says best."""
    return _BLOCK.search(question) is not None


def asks_story(question: str) -> bool:
    """Tell whether a question asks how something came about, to be told in the order of time."""
    return _STORY.search(question) is not None


def telling(value: str) -> float:
    """Say how much of a text is what people look for later, 0 to 1: technical words, a decision, a failure."""
    return min(len(technical(value)), 4) / 8 + 0.5 * bool(_DECISION.search(value))


def wanted(question: str) -> Callable[[str], int]:
    """Return a function that counts in how many ways a text looks like an answer to a question.

    `how many` wants a number, `why` a word that gives a reason, `where` and `which file` a path or a name.
    """
    looks = [answer for asked, answer in _ASKED if asked.search(question)]
    return lambda value: sum(1 for look in looks if look.search(value))
