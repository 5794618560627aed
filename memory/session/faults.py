"""How it is told what is wrong: in a review, in a reviewer's comment, and in what a person reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line, sentences
from memory.session import lasting, mending, tellingline
from memory.session.latepattern import Late
from memory.session.mending import ITEM

_BOLD_ITEM = Late(r"(?:\d+[.)]\s+\*\*|\*\*(?=\d+[.)]\s))(?P<title>.+?)\*\*[^\w`]*(?P<rest>.*)\Z")
_FIRST_NUMBER = Late(r"[^\w`]*(\d+)(?=[.):])")
_FAULTY = Late(
    r"\b(?:issues?|bugs?|problems?|critical|vulnerabilit\w+|race condition|leaks?|broken|flaws?|findings?|must fix|mistakes?|"
    r"inconsisten\w+|incorrect|wrong|severity)\b|\bp[0-2]\b|🔴", re.I)
_COMMENTS = Late(r"\b(?:review\w*|comments?|feedback|copilot|findings?)\b", re.I)  # whose list this is
_WORKED_OFF = Late(
    r"\A\W*(?:done|fixed|addressed|resolved|replied)\b|\bplan\b|\b(?:all|both|every|i(?:'ve| have))\b[^.:\n]{0,60}"
    r"\b(?:addressed|fixed|resolved|done|implemented|replied|answered)\b", re.I)
_MENDED = Late(  # how a cell begins that says what became of a comment
    r"(?<!\W)\W*(?:fixed|resolved|done|addressed|implemented|already|false positive|outdated|invalid|not (?:an? issue|valid)|"
    r"no longer|won'?t fix)\b|✅|✓|✔", re.I)
_COLUMNS = tuple(Late(word, re.I) for word in (  # of a table of findings: number, what is wrong, where
    r"(?:#|no\.?|nr\.?|(?:comment )?id)", r"(?:issue|problem|finding|comment|concern|feedback|description)s?",
    r"(?:line|location|file|place|where)s?"))
_FINE = Late(
    r"\b(?:no (?:\w+ )?(?:issues?|problems?|bugs?|findings?)|not an?|none|fixed|resolved|options?|optional|nice|trivial|"
    r"correct(?:ly)?|ok|works?|summary)\b|✅|[?？]", re.I)
_KIND = Late(  # what a finding's title says besides the thing
    r"\A\W{0,40}(?:\d{1,4}[.)]\s{0,20})?(?:(?:(?:[\w-]+ ){0,2}(?:issue|bug|problem|finding)|p\d)"
    r"s? ?#?\d{0,9}\s{0,20}[:：–-]\s{1,20})?|"
    r"(?<!\s)\s*\((?:critical|high|medium|low)(?: (?:severity|priority))?\)", re.I)
_FAULT_LABEL = Late(r"\A(?:the )?(?:problem|issue|bug|cause|why|risk|impact|what happens|description)\s*[:：]\s*", re.I)
_REFERS = Late(  # to another sentence, to nothing; or it is only supposed
    r"[:：?？]\W*\Z|#\d|\bsame (?:issue|problem|bug)\b|\A\W*\Z|\A(?:this|that) is an? (?:\w+ )?(?:bug|issue|problem)\W*\Z|"
    r"\b(?:could|might|may|perhaps|possibly|consider)\b|'d\b", re.I)
_SUPPOSES = Late(r"\b(?:potential|possible|possibly|likely|probably|suspected|maybe|might|could|unverified|theoretical)\b", re.I)
_BOLD_LINE = Late(r"\*\*(?!\d)[^*]+\*\*\W*\Z")  # a heading that is set in bold type
_LEAD = 400  # characters in which a list says that it is of comments
_BOLD, _LISTED = 7, 8  # levels of a heading in bold type, and of a list of comments, below those of real headings
_LABELLED = Late(r"\A[^\s`:][\w /-]{0,24}[:：](?:\s|\Z)")
_CLAIMS = Late(  # a word of what is wrong with code
    r"\b(?:silently|unconditionally|instead of|without|never|always|twice|again|missing|lacks?|lost|drop(?:s|ped)|ignore[sd]?|"
    r"fails?|skips?|(?:is|are|was|were|does|do|has|have)(?:n't| not)|not (?:be|all|every\w*|handled|cleared|closed|checked|"
    r"validated)|no longer|directly|incorrect\w*|wrong\w*|inconsistent\w*|issue|bug|leaks?|race|only|undefined|duplicates?|"
    r"overwrit\w+|exposes?|visible|hard-?coded|inefficient|stale)\b", re.I)
_TRIVIAL = Late(  # what a linter, or nobody who uses it, would miss
    r"\b(?:dead code|unused|unreachable|never (?:called|used|referenced)|only used in|superseded|typos?|misspell\w+|"
    r"(?:duplicated?|redundant|outdated|stale) comments?|comment(?:ed)? lines?|naming|renam\w+|docstrings?|complexity|"
    r"over-?(?:engineered|complicated|abstracted)|simplif\w+|unnecessar\w+|redundan\w+|magic (?:numbers?|strings?)|"
    r"duplicat\w+ (?:\w+ )?(?:logic|code|functions?|tests?)|two \w+ functions? for|long functions?|function length)\b", re.I)
_SPEAKER = Late(r"\b(?:i|i'm|i've|i'd|me|my|we|us|our|let's|you|your)\b", re.I)  # who speaks for himself passes nothing on
_SPOKEN = Late(r"\A(?![a-z]+[_A-Z(.])[a-z]")  # how one begins who types in passing, and no name of code
_SEVERITY = Late(
    r"\A\W*(?:(?:low|medium|high|critical) (?:severity|priority)\b|(?:low|medium|high|critical|p[0-3]|nit(?:pick)?)(?=\s*[:)\]]))"
    r"[^\w`]+(?=\S)", re.I)
_ADVICE = Late(r"\b(?:consider|should|recommend\w*|suggest\w*|could|might|may)\b|[?？]|[:：]\W*\Z", re.I)
FOLLOWS = Late(r"(?i)(?:this|which|so|as a result|consequently|therefore|for \w+|on the next|when|if)\b")  # what comes of it

_RULE = Late(r"\(([\w-]+)\)\s*\Z")  # of a linter
ASKS = Late(r"(?i)\b(?:why|explain|what (?:happened|was)|how did)\b|왜|なぜ|为什么|warum")  # for a cause
MERGED = Late(r"(?i)\b(?:resolv\w+|merge) (?:the |a |that )?conflicts?\b")  # what it leaves behind is of that day
REPORT = 240  # characters of what a person reports
_ALONE = 300  # characters of a request whose one report is of what its turn finds
_LOG = 8000  # characters at its end in which an error that was pasted is looked for
_PASTED = 4  # lines of an error that was pasted, of which one is told
_HEADS = Late(r"issue|bug|problem|cause|why|wrong|finding|fail", re.I)
LEAST, SURE = 0.5, 0.7  # likelihood from which on a sentence may say what was wrong; where no failed run shows it
# Weights of the regression: where a sentence stands, in the order of Place from `item` on, and how it is put.
_BIAS, _LATER, _LONGER = -4.28, -0.32, 0.78
_OF_PLACE = (-0.67, 0.97, -1.55, 2.04, 0.49, 0.95, 0.27, 0.46, 1.28)
_OF_FAULT = 0.54
_OF_WORDS = (
    (-0.77, mending.OWN), (-0.29, mending.SUPPOSED), (0.98, mending.TOLD),
    (0.55, Late(r"n't\b|\b(?:not|never|no)\b", re.I)),
    (0.38, Late(r"\b(?:but|however|instead|even though)\b", re.I)),
    (0.57, Late(r"\b(?:was|were|did|didn't|wasn't|weren't)\b", re.I)))
# how one is labelled
_REMEDY = Late(r"(?<!\W)\W*[\w ]{0,20}\b(?:fix|solution|suggestion|recommendation)\b[\w ]{0,15}[:：]", re.I)
_MOST = 3.1  # more than the words can add


class Finding(NamedTuple):
    """What a review found: its number in the list, "" for none; its title, without what kind it is; the sentences below that say
    what is wrong; all that stands below it; and whether its title only supposes it."""

    number: str
    title: str
    said: tuple[str, ...]
    whole: str
    supposed: bool


def may_review(text: str) -> bool:
    """Tell whether a text has a heading and a word of a fault, or says that it is of somebody's comments."""
    return "\n#" in "\n" + text and bool(_FAULTY.search(text)) or _lists(text)


def _lists(text: str) -> bool:
    """Tell whether a text says in its beginning that it is of somebody's comments, and not that they are worked off."""
    return bool(_COMMENTS.search(text[:_LEAD])) and not _WORKED_OFF.search(text[:_LEAD])


def findings(lines: Sequence[str]) -> list[Finding]:
    """Return what stands under the headings of a review that speak of faults, or is listed or tabled as its comments; not what is
    asked, fine or mended."""
    found: list[tuple[str, list[str]]] = []
    listed = _lists(" ".join(lines))
    under, open_ = _LISTED * listed, False
    for line in lines:
        level, head = tokeniser.heading(line)
        if not level and under in (0, _BOLD, _LISTED) and _BOLD_LINE.match(line):
            level, head = _BOLD, line
        bold = _BOLD_ITEM.match(line) if under and not level else None
        if level:
            faulty = bool(_FAULTY.search(head) or listed and _COMMENTS.search(head)) and not _FINE.search(head)
            under = min(level, under or level) if faulty else under if level > under else 0
            open_ = bool(under) and not _FINE.search(head)
            found += [(head.replace("**", ""), [])] if open_ else []
        elif bold:
            open_ = not _FINE.search(bold["title"])
            found += [(line[:bold.start("title")] + bold["title"], [bold["rest"]])] if open_ else []
        elif open_ and line[:1] != "|":
            found[-1][1].append(line.lstrip("> "))
    return [_finding(title, [line.replace("**", "") for line in body]) for title, body in [*found, *_tabled(lines, listed)]]


def _tabled(lines: Sequence[str], listed: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield (number and title, where it is) of each row of a table of comments that does not say that it is mended or none."""
    number = what = where = -1
    for line in lines if listed else ():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        heads = [next((at for at, cell in enumerate(cells) if word.fullmatch(cell.strip("*"))), -1) for word in _COLUMNS]
        if min(heads[:2]) >= 0 or not cells:
            number, what, where = heads
        elif min(number, what) >= 0 and len(cells) > max(number, what, where) and cells[number].strip("#*").isdigit() and not any(
                _MENDED.match(cell) for at, cell in enumerate(cells) if at not in (number, what, where)):
            yield "%s. %s" % (cells[number].strip("#*"), cells[what]), [cells[where]] if where >= 0 else []


def _finding(title: str, body: Sequence[str]) -> Finding:
    number = _FIRST_NUMBER.match(title)
    told = [_FAULT_LABEL.sub("", ITEM.sub("", line, count=1), count=1) for line in body]
    said = tuple(one for line in told if not _LABELLED.match(line) for one in sentences(one_line(line))
                 if not _REFERS.search(one))
    bare = lasting.capital(_KIND.sub("", title).strip(" :*"))
    return Finding(number[1] if number else "", bare, said, " ".join(body), bool(_SUPPOSES.search(title)))


def commented(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return what a reviewer's comment says to be wrong: (the sentence, what comes of it, or ""), whole sentences first.

    A comment speaks of code and of nobody, up to where it advises somebody.  Advice is left out, and so is what only tidiness
    misses.  lines: of the text, without marks.
    """
    told = [one for line in lines if line[:1] not in ">|" for one in sentences(one_line(line))]
    end = next((at for at, one in enumerate(told) if _SPEAKER.search(one)), len(told))
    said = [_SEVERITY.sub("", one, count=1) for one in told[:end]]
    found: list[tuple[str, str]] = []
    for at, one in enumerate(said):
        goes_on = at and any(said[at - 1] == before for before, _ in found) and FOLLOWS.match(one)
        if is_fault(one) and not goes_on:
            found.append((one, next((after for after in said[at + 1:at + 2] if FOLLOWS.match(after)), "")))
    return sorted(found, key=lambda pair: pair[0][-1] not in ".!。")


def is_fault(sentence: str) -> bool:
    """Tell whether a sentence, written out, says of code what is wrong with it, beyond tidiness and without advice."""
    return bool(_CLAIMS.search(sentence)) and not any(
        pattern.search(sentence) for pattern in (_TRIVIAL, _ADVICE, _SPOKEN))


def is_tidiness(said: str) -> bool:
    """Tell whether a reviewer speaks of how code looks, and not of what it does."""
    return bool(_TRIVIAL.search(said))


def is_of_finding(cause: str, finding: str, right_before: bool) -> bool:
    """Tell whether a cause speaks of a linter's finding: by the rule that it bears; right after it, by a name."""
    rule = _RULE.search(finding)
    if rule is not None and rule[1].lower() in cause.lower():
        return True
    return right_before and bool(mending.words(cause) & mending.words(finding))


# --- how likely a sentence says what was wrong

class Place(NamedTuple):
    """Where a sentence stands.

    number: of the sentence in its statement, from 0.  item: of a list.  headed: below a heading of a fault.  announces: it says
    what is done next.  named: something calls it a cause.  edits: this turn edits a file, or one of the next.  then_edited: so
    does what follows the statement.  failed: a run of the turn did.  reports: the request speaks of a fault; pasted: it pastes
    an error.
    """

    number: int = 0
    item: bool = False
    headed: bool = False
    announces: bool = False
    named: bool = False
    edits: bool = False
    then_edited: bool = False
    failed: bool = False
    reports: bool = False
    pasted: bool = False


def likelihood(sentence: str, place: Place) -> float:
    """Return how likely a sentence says what was wrong, LEAST to 1; 0 where it is less likely, labelled as a remedy, or nothing
    around it speaks of a fault.

    A logistic regression of how it is put and where it stands, without the words of any project: evals/README.md says what it
    was fitted to.
    """
    if not (place.named or place.headed or place.failed or place.reports or place.pasted):
        return 0.0
    score = _BIAS + _LATER * math.log1p(place.number) + _LONGER * math.log(len(sentence.split()) or 1)
    score += sum(worth for worth, holds in zip(_OF_PLACE, place[1:]) if holds)
    if score + _MOST < math.log(LEAST / (1 - LEAST)):
        return 0.0
    score += sum(worth for worth, pattern in _OF_WORDS if pattern.search(sentence)) + _OF_FAULT * is_fault(sentence)
    likely = 1 / (1 + math.exp(-score))
    return likely if likely >= LEAST and not _REMEDY.match(sentence) else 0.0


def is_headed(heading: str) -> bool:
    """Tell whether what stands below a heading is of a fault."""
    return bool(_HEADS.search(heading))


# --- what a person reports

def reported(request: str, lines: Sequence[str], cause: str, known: bool = False) -> tuple[str, bool]:
    """Return (what a request reports as wrong, in one line, whether that is an error that it pastes).

    lines: those of the request that are no code.  cause: the one that is said of it.  known: that it reports something is known,
    so that it needs no word for it; what it orders or asks is none all the same.
    """
    if is_pasted(request):
        told = [line for line in tellingline.tell(request[-_LOG:], most=_PASTED).lines if not tellingline.is_trailer(line)]
        if told and not mending.PASTED.search(told[0]):  # what a person typed above it
            told = [line for line in request[-_LOG:].split("\n")[1:] if mending.AT_LINE.match(line)]
        if told and mending.PASTED.search(told[0]):  # of several the one that the cause speaks of
            return one_line(max(told, key=lambda line: len(mending.words(line) & mending.words(cause))), REPORT), True
    said = [(len(mending.plain_words(one) & mending.plain_words(cause)) + 2 * bool(mending.PLAINLY.search(one)), one)
            for line in lines for one in sentences(one_line(line))
            if len(one) > 12 and one[-1] != ":" and not mending.ORDERS.match(one) and (
                not mending.ASKED.match(one) and not one.endswith("?") if known else mending.REPORTS.search(one))]
    near, sentence = max(said, key=lambda pair: (not mending.ADVISES.search(pair[1]), pair[0]), default=(0, ""))
    alone = len(said) == 1 and len(request) < _ALONE and not mending.ASKED.match(sentence)
    return (at_word(one_line(sentence).lstrip("-*> "), REPORT) if near > 1 or alone or known else ""), False


def is_pasted(request: str) -> bool:
    """Tell whether a request pastes an error."""
    return "\n" in request.strip() and bool(mending.PASTED.search(request[-_LOG:]))
