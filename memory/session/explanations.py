"""What an answer explains for good: how something is and why, and what cannot be; apart from what happened once."""

from __future__ import annotations

from collections.abc import Iterable

from memory.session import rulings
from memory.session.latepattern import Late

SHORTEST, LONGEST = 40, 500  # characters of an explanation
EARLY = 60  # characters of a request in which its question begins

_CANNOT = Late(
    r"(?i)(?:does(?:n't| not)|don't|do not|did(?:n't| not)|never) (?:support|expose|allow|work with|accept|provide|expand)\b|"
    r"\b(?:is|are)(?: not|n't) (?:supported|allowed|available)\b|\bcannot be \w+ed\b|\bonly works? (?:if|when|in|with|for)\b|"
    r"\bmust (?:be|not|have|use|run|come|stand)\b|\brequires?\b.{3,}\bto\b")
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
    return rulings.capital(_SPOKEN.sub("", sentence, count=1))


def is_limit(sentence: str) -> bool:
    """Tell whether a sentence says what cannot be."""
    return bool(_CANNOT.search(sentence))


def is_founded(sentence: str) -> bool:
    """Tell whether a sentence says how something is, and why, and leans on nothing."""
    return bool(_FOUNDED.match(sentence)) and not _ONCE.search(sentence) and not leans(sentence)


def tells(sentence: str) -> bool:
    """Tell whether a sentence of an answer explains how something is, and leans on nothing."""
    return (SHORTEST <= len(sentence) <= LONGEST and bool(_TELLS.search(sentence)) and is_whole(sentence)
            and not _ONCE.search(sentence) and not leans(sentence))


def opening(sentences: Iterable[str]) -> str:
    """Return the first sentences of an answer that explain, whole ones, without headings; "" where they do not explain."""
    kept: list[str] = []
    for one in sentences:
        if sum(map(len, kept)) + len(one) > LONGEST:
            break
        if is_whole(one) and _STATES.search(one) and not one.endswith(("?", ":", "？", "：")) and (
                kept or _TELLS.search(one) and not _BACK.match(one)):
            kept.append(one if one.endswith((".", "。")) else one + ".")
    text = " ".join(kept)
    return text if len(text) >= SHORTEST and not _ONCE.search(kept[0]) and not _DOUBT.search(text) else ""


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
    return [text for text in found if SHORTEST <= len(text) <= LONGEST and is_whole(text)
            and not (_FAULTY.search(text) or leans(text))][:1]
