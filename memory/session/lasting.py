"""What is said that holds beyond the moment: by a person, and in an answer.

A person's rules, wishes, and corrections with their reason are sentences, or clauses of one, as they were said and apart from
what stands around them.  What is pasted, asked, thought aloud or an order of the moment is none, nor what points at something
said before.  An answer explains how something is and why, and what cannot be; what happened once is none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory.session.latepattern import Late

SHORTEST, LONGEST = 24, 400  # characters of a sentence that is read
SUBJECT = 2  # words that two sentences on the same subject share, at least
_REASON_FROM = 40  # characters of a correction with its reason

# word -> (word that it is compared as, whether it turns the sense round)
OPPOSITES = {word: (base, turns) for base, same, opposite in (
    ("use", "use uses used using prefer choose pick adopt verwenden nutzen", "avoid avoids stop meiden vermeiden"),
    ("enable", "enable enables enabled", "disable disables disabled"),
    ("allow", "allow allows allowed permit", "forbid forbids forbidden deny denies denied disallow disallowed"),
    ("on", "on", "off"), ("true", "true", "false"), ("safe", "safe", "unsafe"), ("supported", "supported", "unsupported"),
    ("required", "required mandatory necessary", "optional unnecessary"), ("before", "before", "after"),
    ("works", "works work", "fails fail broken"), ("mutable", "mutable", "immutable"), ("public", "public", "private"),
    ("synchronous", "synchronous", "asynchronous"), ("valid", "valid", "invalid"),
) for words, turns in ((same, False), (opposite, True)) for word in words.split()}
_GENERAL = Late(
    r"(?i)\bwe (?:always|never|don't (?:want|have|use|support|do)|do not (?:want|use)|want to be|"
    r"should(?:n't| not)? (?:always|never|be|not)|must|use|keep|(?:need|have) to accept)\b|\bshould (?:always|never)\b|"
    r"^(?:please )?(?:always|never|prefer)\b|"
    r"\bi (?:never|always|don't) want\b|\bsource of truth\b|\b(?:directive|principle|convention|policy) is\b|"
    r"\bon purpose\b|\bremember (?:to|that|also|you)\b|\bthe only way\b.{0,200}\bis\b|"
    r"\bkeep backwards? compatib|항상|절대|必ず|常に|決して|总是|永远|必须|immer|niemals")
_RULE = Late(  # where the clause of a rule begins
    r"(?i)\b(?:for [\w-]+ we\b|we (?:always|never|don't|do not|want|should|must|use|keep|(?:need|have) to accept)|always|never|"
    r"i (?:never|always|don't) want|the (?:overriding |guiding )?(?:directive|principle|convention|policy) is|prefer|"
    r"remember (?:to|that|also|you)|the only way|keep backwards?)\b")
_WISHED = Late(
    r"(?i)\bi(?:'d| would)? (?:(?:really|also|still|do|personally) )*(?:want|like|love|prefer)\b(?! (?:to )?(?:you|see|know|try|"
    r"start|understand|let's|go|do|look|check)\b)|\b(?:needs? to|should|must)(?: (?:also|always|only|never|not))* (?:be|have|"
    r"contain|include|support|use)\b|\bwe (?:don't|do not|won't|can't|cannot|should|would) \w+|\bmake sure\b|"
    r"\b(?:instead of|rather than|regardless|completely|entirely|altogether)\b|\bn(?:ever|ot (?:as|really|in) an?)\b|"
    r"\blet's (?:not|never|only|always)\b|\bdon't (?:test|duplicate|use|add|check|put|commit)\b|\bthe (?:idea|point) is\b")
_PASSING = Late(  # an order of the moment, or about it
    r"(?i)\Anot\b|\bi(?:'d| would)? (?:like|want) to (?:work|create|update|refactor|explore|do|fix|rename|integrate|move|add|"
    r"test|replace)\b|[?？…]|\.\.|[❯⏎│├└●○>=+]|:\d|#\d|\d\.|https?:|\b(?:now|currently|again|for now|first(?! time)|next|already|"
    r"yet|as well|current|just|please|your?|me|look|check|review|right|done|suggest\w*|proof ?read|explain|something|options?|"
    r"else|said|(?:can|could|would|will|do|did|are|if) (?:you|we)|last|new|figure|working|tried|try)\b")
_MOMENT = Late(r"(?i)\b(?:you|your|now|then|currently|again|for now|next|already|yet|current|just|today|first cut)\b")
_NOT_OWN = Late(  # pasted, asked, or thought aloud
    r"^\s*(?:>|//|#|\||\*|v \*|to \w+ )|[?？]|\b(?:i wonder|wondering|i think we have|i reckon|(?:can|could) (?:you|we)|we could|"
    r"not sure|i guess|maybe|consider|lol|haha|i don't know|i realized|i got|i would like|seems?|looks? like|somehow|"
    r"happen(?:ed|ing)|yesterday|today|right now|once|given|is now|intended to|for the first release)\b", re.I)
_VOICE = Late(r"(?i)\b(?:we|i|i'd|i'll|our|let's|my)\b")
_REASONED = Late(  # where a person says why
    r"(?i)(?<=\w|[)`'\"])[,;.]?\s+(?:since|because|as (?:it|they|we|you|the|otherwise)|that's why|so that|otherwise|due to|"
    r"the (?:risk|reason) is)\b|때문|ため|因为|\b(?:weil|sonst|damit)\b")
_HOLDS = Late(
    r"(?i)n't\b|\b(?:not|never|no|only|must|should|always|remove|drop|keep|uses?|set|needs?|ha(?:s|ve) to|prefer|belongs?|nicht|"
    r"kein\w*|immer|nie|muss)\b|않|없|ない|不|没")
_CALLED = Late(
    r"(?i)\A(?:(?:(?:ok(?:ay)?|no|nope|yes|yeah|well|so|and|but|also|hm+|sorry|wait|actually|then|let's|i mean|i think|"
    r"just to be sure|in (?:theory|general)|my point is|what i want is|the thing is)\b|.{0,80}\b(?:is|are)(?: not|n't) "
    r"(?:correct|right|true)\b)[\s,.:]*)+")
TALKED = Late(  # to somebody, about the moment, or cut
    r"(?i)\b(?:you|your|you're|let me|let's|i'll|i'd|would|could|might|may|maybe|likely|probably|possibly|suspect|assume|here's|"
    r"above|below|earlier|previously|the (?:same file|following|first|second|third)|now (?:be|is|are)?|still|remaining|recent|"
    r"this (?:pr|branch|session|commit|change|time|test|is|means|was)|these|(?:support|expose|use|do) it|lines? \d+|"
    r"(?:option|step|phase) \d|(?:bug|issue) #?\d)\b|…|[:：]$|[?？]$|→|⏎|✅|❌|:\d+(?:-\d+)?\b")
_CLAUSE = Late(r"[,;] | [–—-] | (?=but |although |though )")
_POINTING = Late(
    r"(?i)\b(?:this(?! (?:repo|project|codebase|repository))|that one|the one|it|its|here|there|these|those|them|they|the above|"
    r"(?:like|do|does|of|with|for|after|not|remove|revert|prevent) that|(?:is|was) that(?=\W*\Z|[,.]))\b")
DEICTIC = Late(
    r"(?i)\W*(?:it|its|it's|this|that|these|those|they|them|he|she|which|both|so|but|and|also|then|because|since|when|"
    r"if|there|here|one|another|what|why|how|where|real|in|only|before|after|behaviou?r|result|cannot|"
    r"the (?:first|second|third|last) (?:part|one|line))\b")


def sure(sentence: str) -> str:
    """Return what a sentence says for sure: all of it, or what stands before a clause that is only thought; "" for none."""
    doubt = _NOT_OWN.search(sentence)
    if not doubt:
        return sentence
    ends = [match.start() for match in _CLAUSE.finditer(sentence, 0, doubt.start() + 1)]
    head = sentence[:ends[-1]] if ends and not re.search("[?？]", sentence) else ""
    return head if head and not _NOT_OWN.search(head) else ""


def rule(sentence: str) -> str:
    """Return the part of a sentence that rules something and stands by itself, "" for none."""
    if not SHORTEST <= len(sentence) <= LONGEST or not _GENERAL.search(sentence):
        return ""
    match = _RULE.search(sentence)
    leans = match and (DEICTIC.match(sentence) or _POINTING.search(sentence[:match.start()]))
    clause = (sentence[match.start():] if match and leans else sentence).strip(" ,;").strip("*_")
    clause = clause.strip("()") if clause.count("(") != clause.count(")") else clause
    clause = _CALLED.sub("", clause)
    return capital(clause) if len(clause) >= SHORTEST and not _POINTING.search(clause) else ""


def corrected(sentence: str) -> str:
    """Return a sentence that says how something must be, or must not, and why; "" for none."""
    bare = _CALLED.sub("", sentence).strip()
    why = _REASONED.search(bare)
    if not why or not _REASON_FROM <= len(bare) <= LONGEST or not _HOLDS.search(bare):
        return ""
    stands = not DEICTIC.match(bare) and not _POINTING.search(bare[:why.start()]) and not TALKED.search(bare)
    return capital(bare) if stands else ""


def wish(sentence: str) -> str:
    """Return a sentence that says how something is to be, in the words of whoever speaks, and stands by itself; "" for none."""
    bare = _CALLED.sub("", sentence).strip(" ,;")
    if not SHORTEST <= len(bare) <= LONGEST or not _WISHED.search(bare):
        return ""
    leans = DEICTIC.match(bare) or _POINTING.search(bare) or _PASSING.search(bare)
    return capital(bare) if is_own(sentence) and not leans else ""


def is_passing(text: str) -> bool:
    """Tell whether a sentence is said to somebody or has a word of the moment."""
    return bool(_MOMENT.search(text))


def is_own(sentence: str) -> bool:
    """Tell whether a sentence is typed by whoever speaks rather than pasted: it says `we` or `I`, or begins in small letters."""
    return bool(_VOICE.search(sentence) or re.match(r"[a-z]+ ", sentence))


def opposed(one: str, other: str) -> bool:
    """Tell whether two sentences on the same subject say the opposite of it: `on` and `off`, `enabled` and `disabled`."""
    first, second = ([word.strip(".,;:!?\"'()[]*`").lower() for word in text.split()] for text in (one, other))
    sides = [{base: turns for base, turns in map(OPPOSITES.get, reversed(words), [("", False)] * len(words)) if base}
             for words in (first, second)]
    shared = {word for word in set(first) & set(second) if len(word) > 3 and word not in OPPOSITES}
    return len(shared) >= SUBJECT and any(sides[1].get(base, turns) != turns for base, turns in sides[0].items())


def capital(text: str) -> str:
    """Return a text with a capital in front, unless it begins with a name."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+(?:'\w+)?(?: |\Z)", text) else text


# --- answers

EXPLAINS, AT_MOST = 40, 500  # characters of an explanation
EARLY = 60  # characters of a request in which its question begins

_CANNOT = Late(
    r"(?i)(?:does(?:n't| not)|don't|do not|did(?:n't| not)|never) (?:support|expose|allow|work with|accept|provide|expand)\b|"
    r"\b(?:is|are)(?: not|n't) (?:supported|allowed|available)\b|\bcannot be \w{1,80}ed\b|\bonly works? (?:if|when|"
    r"in|with|for)\b|"
    r"\bmust (?:be|not|have|use|run|come|stand)\b|\brequires?\b.{3,80}\bto\b")
_WONDERED = Late(
    r"(?i)(?:.{0,30}\b)?(?:how (?:do|does|did|is|are|can)|why|what (?:is|are|does|happens)|where|when (?:do|does|is)|explain)\b|"
    r".*(?:어떻게|왜|どう|なぜ|怎么|为什么)|(?:wie|warum|wo|wann)\b")
_AGAIN = Late(  # of a question that was answered before
    r"(?i)\b(?:tell|explain|understand|what|how|why|where|which)\b.{0,60}?(?<!check )(?<!wrong )\bagain\b|\bremind me\b")
_WHY = Late(r"(?i)\bwhy (?!not)|\bdifferences?\b|\bdifferent (?:from|to)\b|\bwhat happens\b|\bwhat(?:'s| is) the reason\b|"
            r"왜|차이|なぜ|違い|为什么|区别|\bwarum\b|\bunterschied\b")
_SPOKEN = Late(
    r"(?i)\A(?:(?:yeah|yes|right|exactly|ah|well|so|good (?:question|point|catch)|i see|that's right)\b[\s,.:!–-]*)+")
_TELLS = Late(r"(?i)\b(?:because|since|so that|due to|when|if|only|unless|until|means|differs?|weil|wenn|nur)\b|"
              r"때문|만|ため|とき|因为|当|只")
_FOUNDED = Late(  # how something is, and why, not what became of it
    r"(?:(?!\b(?:[Tt]est\w*|[Rr]emoved|[Aa]dded|[Ff]ixed|[Cc]hanged|[Uu]pdated)\b)[^:])*?\b(?:is|are|exists?|has|have|keeps?|"
    r"stays?|needs?|works?|does(?:n't| not)|do(?:n't| not)|cannot|must|uses?|lives?|happens?|fails?)\b"
    r"[^:]*?\b(?:because|since|so that|due to)\b.{20,}")
_STATES = Late(r"(?i)\b(?:is|are|has|have|does|do|can|must|\w+s)\b \w+")  # what has no verb is a heading
_HEADS = Late(r"(?i)(?:how|why|what|when|where|which)\b[^.,;]{,60}\Z")  # a heading that begins as a question does
_PLACED = Late(r"(?i)\blines? \d|\.\w+:\d")
_BACK = Late(  # begins with what points back, or is said to somebody
    r"(?i)\A\W*(?:it|its|it's|this|that|these|those|they|them|both|but|and|also|then|so|one|another|i|we|agree\w*|option|pros?|"
    r"cons?|approach|issue|problem|before|after|now|here|in your|what (?:we|i)|the (?:two|three|other|same|new|old|original|"
    r"current|existing|remaining|first|second|fix|change))\b")
_LEANS = Late(
    r"(?i)\bthis\b(?! (?:repo|project))|\b(?:above|below|earlier|previously|your|you're right|here's|let me|i'll|i'd|i would|"
    r"could|might|likely|probably|maybe|original(?:ly)?)\b|[→❌✅✓?？…]|[:：]$|:;|"
    r"\bthe (?:field|code|function|method|test|issue|bug|file|value|check|fix|problem|flag|change)s?\b(?! (?:of|for|that|which|"
    r"in|at|to|`))|(?-i:\b[A-Za-z]+[ -][A-C]\b)")  # the last: a placeholder of an example
_ONCE = Late(  # what happened once or to one thing, and what is only held
    r"(?i)\b(?:was|were|had|did|failed|wasn't|weren't|didn't|confusing|misleading|redundant|cleaner|nicer|terrible|"
    r"needs? (?:an?|no) tests?|need an? tests?)\b|\A(?:(?!\(e\.g\.).)*\b\d{4}-\d\d-\d\d\b")
_DOUBT = Late(
    r"(?i)\b(?:could|might|likely|probably|maybe|perhaps|i think|i'd|not sure|possibly|seems?|you're right|let me)\b|"
    r"[?？✓✅❌]|:;")
_SLIP = Late(  # what the compiler says
    r"(?i)\b(?:undefined|undeclared|unused|redeclared|(?:declared|imported) (?:and|but) not used|mismatched types|missing import|"
    r"syntax error|(?:does|did)(?:n't| not) compile|merge conflict)")
_END = Late(r"(?<=[.!?])\s|(?<=[。！？])")
_AIM = Late(
    r"(?i)(?:goals?|summary|overview|purpose|objective|aim|solution|decision|ziel|zusammenfassung|목표|요약|目的|概要|目标)")
_FAULTY = Late(  # a plan's word on what it mends, which is no longer so once it is carried out
    r"(?i)\b(?:missing|lacks?|bugs?|fails?|wrong|broken|incorrect\w*|issues?|problems?|duplicat\w*|however|but has|"
    r"does(?:n't| not))\b|:$")


def asks_again(request: str) -> bool:
    """Tell whether a request asks for what was explained before."""
    return bool(_AGAIN.search(request))


def asks_why(request: str) -> bool:
    """Tell whether a request begins with a question for a reason or a difference."""
    return bool(_WHY.search(request, 0, EARLY))


def wonders(request: str) -> bool:
    """Tell whether a request begins with a question about how things are."""
    return bool(_WONDERED.match(request))


def said(sentence: str) -> str:
    """Return a sentence of an answer without the words to whoever asked in front."""
    return capital(_SPOKEN.sub("", sentence, count=1))


def is_limit(sentence: str) -> bool:
    """Tell whether a sentence says what cannot be."""
    return bool(_CANNOT.search(sentence))


def is_founded(sentence: str) -> bool:
    """Tell whether a sentence says how something is, and why, and leans on nothing."""
    return bool(_FOUNDED.match(sentence)) and not _ONCE.search(sentence) and not leans(sentence)


def tells(sentence: str) -> bool:
    """Tell whether a sentence of an answer explains how something is, and leans on nothing."""
    return (EXPLAINS <= len(sentence) <= AT_MOST and bool(_TELLS.search(sentence)) and is_whole(sentence)
            and not _ONCE.search(sentence) and not leans(sentence))


def opening(sentences: Iterable[str]) -> str:
    """Return the first sentences of an answer that explain, whole ones, without headings; "" where they do not explain."""
    kept: list[str] = []
    for one in sentences:
        if sum(map(len, kept)) + len(one) > AT_MOST:
            break
        if is_whole(one) and _STATES.search(one) and not one.endswith(("?", ":", "？", "：")) and not _HEADS.match(one) and (
                kept or _TELLS.search(one) and not _BACK.match(one)):
            kept.append(one if one.endswith((".", "。")) else one + ".")
    text = " ".join(kept)
    return text if len(text) >= EXPLAINS and not _ONCE.search(kept[0]) and not _DOUBT.search(text) else ""


def has_place(text: str) -> bool:
    """Tell whether a text names a line of a file, which moves with the next edit."""
    return bool(_PLACED.search(text))


def is_slip(cause: str) -> bool:
    """Tell whether a cause is one that a compiler names and that is gone once it is mended."""
    return bool(_SLIP.search(cause))


def is_whole(text: str) -> bool:
    """Tell whether a text is not cut: what it opens it closes."""
    return text.count("`") % 2 == 0 and text.count("(") == text.count(")") and text.count('"') % 2 == 0 and "…" not in text


def leans(sentence: str) -> bool:
    """Tell whether a sentence leans on what stands around it: it points elsewhere, or is spoken to somebody."""
    return bool(_BACK.match(sentence) or _LEANS.search(sentence))


def aim(plan: str) -> list[str]:
    """Return what a plan is for, in its own words: the first sentence under a heading that says so; none or one."""
    lines = [line for line in map(str.strip, plan.split("\n")) if line]
    found = [_END.split(below, maxsplit=1)[0].replace("**", "") for line, below in zip(lines, lines[1:])
             if _AIM.fullmatch(line.strip("#*: "))]
    return [text for text in found if EXPLAINS <= len(text) <= AT_MOST and is_whole(text)
            and not (_FAULTY.search(text) or leans(text))][:1]
