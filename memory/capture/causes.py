"""Sentences in which somebody names the cause of a failure: which they are, how sure of it, and in words that stand alone.

A cause is labelled (`Root cause: …`, `The bug was that …`, a heading that says so), or told as one (`… failed because …`, `… was
caused by …`).  What is only supposed, asked, announced or said of one's own last edit is none; a sentence that leans on what was
said before, or was cut, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.capture import gist
from memory.core import tokeniser
from memory.core.plaintext import one_line

SHORTEST, LONGEST = 40, 330  # characters of a cause
ROOT, FOUND, LABELLED, TOLD = 3.0, 2.5, 2.0, 1.5  # how surely a sentence names a cause: `root cause`, `the bug was`, `the bug is`
_NAMED = (r"(?:(?:root|actual|real|true|underlying|original|core|main|key|remaining|first|second)[\s-]+)*"
          r"(?P<%s>root causes?|causes?|culprits?|reason|insight|bugs?|issues?|problems?|flaw|fault|mistake|gotcha|catch|"
          r"ursache|(?:근본 ?)?원인|(?:根本)?原因)")
_LEAD = re.compile(
    r"\A(?:[✅❌⚠️🎉🔧•→\s*-]+|(?:\d+|[A-Z]\d?)[.)]\s+|(?:i see|found (?:it|the \w+(?: \w+)?)|got it|now i (?:see|understand)|good catch|so|and|"
    r"but|before|ok|okay|right|interesting|yes|perfect|great|ah|actually|indeed|summary(?: of (?:changes|the fix))?|"
    r"looking at (?:the |this )?[\w ]{3,30})\b\s*(?:[-–—,.:!]+\s+|\s(?=the (?:issue|problem|bug|root|cause))))+", re.I)
_LABEL = re.compile(
    r"(?:the |this |das |die )?" + _NAMED % "word" + r"(?: here| now| (?:of|with|behind|for) [^:.]{3,60}?)?(?:\s*[:：–—]\s+|\s-\s+|"
    r"\s+(?:is|was|were|ist|war)\s+(?:(?:likely )?(?:that|because|how|due to|caused by|dass)\s+)?|(?:은|는|は|是)\s*)", re.I)
_LATE = re.compile(  # a label behind other words
    r".{0,80}\b(?:root cause|culprit)\b(?: (?:of|behind|for|here) [^:.]{0,60}?)?(?:\s*[:–—]\s+|\s+(?:is|was)\s+(?:that\s+)?)", re.I)
_TOLD = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|broke(?:n)?|crash(?:es|ed|ing)?|hangs?|hung|panic(?:s|ked)?|occur(?:s|red)?|happen(?:s|ed)?|"
    r"errors?|lost|missing|missed|skipped|wrong|ignored|rejected|times? out|flaky|(?:does|did|do|could|can)(?:n't| ?not) "
    r"(?:work|show|appear|run|match|find|compile|build|install|start|load|resolve|exist|connect|parse|reach|pass|detect|trigger|fire|"
    r"update|return|save|restore|see)|undefined|unknown|not found|unavailable|in use|taken|denied|refused|stale|empty)\b.{0,90}?\b(?:because(?: of)?|due to|since (?:the|it|a|we|our)|as it)\b|"
    r".{8,}\b(?:was|were|is|are) (?:being )?caused by\b|.{8,}\bturn(?:ed|s) out (?:that|to be)\b|"
    r"실패.{0,40}때문|때문에.{0,40}실패|失敗.{0,40}(?:ため|原因)|ため.{0,30}失敗|因为.{0,60}失败|失败.{0,40}因为|"
    r"(?:schlug|schlägt|fehl\w+).{0,60}\bweil\b", re.I)
_WHY = re.compile(r"because|due to|since|as it|caused by|turn(?:ed|s) out|때문|ため|原因|因为|weil", re.I)
_SUPPOSED = re.compile(
    r"[?？]|\b(?:likely|probabl[ey]|possibl[ey]|perhaps|maybe|might|may(?! not be)|could(?:n't)? (?:be|cause|have|lead|also)|seems?|"
    r"appears?|suspect|assume|presum\w+|looks? like|i think|not sure|unclear|whether|"
    r"would(?:n't)? (?:you|be|need|like|have|require|make|mean|recommend|suggest|also|still)|should|needs? to|if (?:you|we|i)|"
    r"let me|let's|i'll|i will|we'll|hypothes\w+)\b", re.I)
_OWN = re.compile(r"\b(?:i|i'm|i've|i'd|my|myself|me)\b|\b(?:your|you) (?:description|request)\b|\bsubagent renamed\b", re.I)
_LEANS = re.compile(
    r"\W*(?:it|its|it's|this(?! (?:version|project|repo|package|library|machine|database|release)\w*\b)|that|that's|these|those|they|them|he|she|both|so|also|then|there|here|one|another|in (?:how|the "
    r"(?:design|logic|way))|the (?:above|following|same|visualization)|exactly|twofold|clear|becoming|real|fixed|also|still|now|"
    r"only|partially|about|with|line \d+|(?:in|on|at) [^,]{3,70}\Z)\b", re.I)
_POINTS = re.compile(r"\b(?:create|do|use|support|have|set|find|see|call|handle|add|remove|expose|fix|cause|show)s? (?:it|this|that|them|these)\b", re.I)
_CUT = re.compile(r"[:：…]\W*\Z|\b(?:the|an?|to|of|for|and|or|with|that|which|is|are|was|were|so|when|because|if|since|while)\W*\Z|→|⏎|\bsee (?:above|below)\b")
_TRIVIAL = re.compile(
    r"\b(?:unused|missing .{0,20}imports?|imports? (?:is|was) missing|typos?|gofmt|formatting|whitespace|scop(?:e|ing) issue|redeclared|undefined: \w+|syntax error|"
    r"(?:lint(?:er)?|errcheck|dupl|goconst) (?:issue|warning|error)s?|merge conflict|circular dependency was)\b", re.I)
_MODULE = re.compile(r"`[^`\n]{2,}`|[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]|\w\(\)|\w/\w|\b[\w-]+\.(?:[a-z]{1,4})\b|--\w|\b[A-Z]{2,}\b|\d")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_QUOTED = re.compile(r"`([^`]+)`|['\"]([\w./:@ -]{3,60})['\"]")
_FIX = re.compile(r"\A(?:the |core |root cause |simple )?(?:fix|solution|resolution|remedy|해결|修正|対処|解决|修复|lösung)(?: (?:was|is)(?: to)?)?"
                  r"\s*(?:\([^()]*\))?\s*[:：–—]\s*|\A(?:the )?fix (?:was|is) to\s+", re.I)
_FINDING = re.compile(r"\W*(?:the )?" + _NAMED % "word" + r"\W*\Z", re.I)


_PAST = re.compile(r"\s(?:was|were|war)\b|[:：]\s*\Z")
_SUBJECT = re.compile(r"\A(?:It|This|That) (?=(?:fail|broke|crash|hang|is failing)\w*\b)")
_ITEM = re.compile(r"\A\s*(?:[-+•]|\*\s|\d+[.)])\s*")


class Named(NamedTuple):
    """A cause that somebody named.

    weight: how surely it is one: ROOT, LABELLED or TOLD.  text: the sentence, without its label.  symptom: what the same text
    says went wrong, "" where it does not.  fix: what the same text says mended it, or "".
    """

    weight: float
    text: str
    symptom: str = ""
    fix: str = ""


def named(text: str) -> list[Named]:
    """Return the causes that a text names, in their order, each in words that stand alone."""
    said = list(_labelled(text))
    root = any(weight == ROOT and standing(rest) for weight, rest in said)
    found: list[Named] = []
    symptom = ""
    for weight, sentence in said:
        if root and weight in (LABELLED, FOUND):
            symptom = sentence  # the problem stands beside its cause
            continue
        if weight and standing(sentence):
            found.append(Named(weight, sentence, symptom))
        elif not weight and found and not found[-1].fix and _FIX.match(sentence):
            fix = _capital(_first(_FIX.sub("", sentence, count=1)))
            found[-1] = found[-1]._replace(fix=fix if len(fix) > 15 and not _CUT.search(fix) else "")
    return found


def _labelled(text: str) -> Iterator[tuple[float, str]]:
    """Yield (how surely a cause, 0 for none, the sentence without its label) of each sentence of a text.

    A label takes the list along that stands below it; so does a heading, else the sentence that follows it.
    """
    lines = [line for line in gist.prose(text) if line[:1] not in "|>"]
    heading = 0.0
    for number, line in enumerate(lines):
        level, head = tokeniser.heading(line)
        bold = line.startswith("**") and line.rstrip(":").endswith("**") and line.count("**") == 2
        bare = (head if level else line).strip("*: ") if level or bold else _ITEM.sub("", line, count=1).replace("**", "").strip()
        word = _FINDING.match(bare.rstrip(":："))
        if word or (not (level or bold) and bare.endswith((":", "：")) and _LABEL.match(_LEAD.sub("", bare, count=1))):
            listed = _listed(lines[number + 1:])
            *before, last = gist.sentences(bare)
            yield from map(_judged, before)
            weight, rest = (_surety(word["word"]), "") if word else _judged(last)
            yield (weight, _joined(rest.rstrip(":： "), listed)) if listed else (weight, rest.rstrip(":： "))
            heading = weight if not listed else 0.0
        elif level or bold:
            heading = 0.0
        else:
            for sentence in gist.sentences(bare):
                weight, rest = _judged(sentence)
                item = bool(_ITEM.match(line))
                yield (0.0 if item and weight == TOLD else weight) or (0.0 if item else heading), rest
                heading = 0.0


def _listed(lines: Sequence[str]) -> list[str]:
    """Return the items of a list that begins with the first line, at most three."""
    found: list[str] = []
    for line in lines[:3]:
        if not _ITEM.match(line):
            break
        found.append(one_line(_ITEM.sub("", line, count=1).replace("**", "")).strip().rstrip(".;"))
    return found


def _joined(head: str, items: Sequence[str]) -> str:
    """Join a sentence with the list below it; the sentence alone where it is whole, or both are too long."""
    said = "; ".join(items)
    while len(items) > 1 and len(head) + len(said) + 2 > LONGEST:
        items = items[:-1]
        said = "; ".join(items)
    if len(head) >= SHORTEST and not _CUT.search(head) and _MODULE.search(head):
        return head
    return _capital(head + ": " + said if head else said)


def _judged(sentence: str) -> tuple[float, str]:
    """Return (how surely a sentence names a cause, it without its label)."""
    bare = _SUBJECT.sub("The run ", one_line(_LEAD.sub("", sentence, count=1)))
    label = _LABEL.match(bare)
    late = None if label else _LATE.match(bare)
    told = not (label or late) and _WHY.search(bare) and _TOLD.search(bare)
    if not (label or late or told) or _SUPPOSED.search(bare) or gist.is_announced(bare):
        return 0.0, bare
    if late:
        return ROOT, _capital(_first(bare[late.end():]))
    if not label:
        return TOLD, bare
    surety = _surety(label["word"])
    if surety == LABELLED and _PAST.search(label[0]):
        surety = FOUND
    return surety, _capital(_first(bare[label.end():]))


def _surety(word: str) -> float:
    low = word.lower()
    return LABELLED if re.match(r"(?:bug|issue|problem|flaw|fault|mistake)s?\Z", low) else ROOT


def _first(text: str) -> str:
    """Return a sentence without the list that it takes along, where it says enough without."""
    head = text.partition(": ")[0]
    return head if "; " in text and len(head) >= SHORTEST and ": " in text else text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+(?:'[a-z]+)? ", text) else text


def standing(text: str) -> bool:
    """Tell whether a cause says something to who reads nothing else: whole, about something named, not of one's own last edit."""
    least = SHORTEST // 2 if gist.wide(text) else SHORTEST
    if not least <= len(text) <= LONGEST or _LEANS.match(text) or any(p.search(text) for p in (_CUT, _OWN)):
        return False
    if _POINTS.search(text) and len(words(text)) < 2:
        return False
    whole = text.count("`") % 2 == 0 and text.count("(") == text.count(")") and text.count('"') % 2 == 0
    return whole and bool(_MODULE.search(text)) and not _TRIVIAL.search(text) and not _SUPPOSED.search(text)


def words(text: str) -> frozenset[str]:
    """Return the words of a text that name something in code, in small letters."""
    quoted = {word for pair in _QUOTED.findall(text) for part in pair for word in _WORD.findall(part)}
    return frozenset(word.lower() for word in _WORD.findall(text)
                     if re.search(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]|[A-Za-z]\d", word) or word in quoted)
