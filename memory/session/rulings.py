"""What a person says that holds beyond the moment: rules, wishes, and corrections with their reason.

Each is a sentence, or the clause of one, as it was said and apart from what stands around it.  What is pasted, asked, thought
aloud or an order of the moment is none, nor what points at something said before.
"""

from __future__ import annotations

import re

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
    r"\bon purpose\b|\bremember (?:to|that|also|you)\b|\bthe only way\b.*\bis\b|"
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

