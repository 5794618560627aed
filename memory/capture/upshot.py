"""What a turn came to in one sentence that a colleague would send: the sentence of its outcome that tells a change or a finding.

Word for word, without the words around it ("I've successfully …", "Done!"); what only says that checks pass, leads up to a list,
asks or offers is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memory.capture import gist, turns
from memory.capture.turns import APPROVED, USER, Turn
from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line, sentences

LINE = 150  # characters
HEADING, ITEM, PROSE = "heading", "item", "prose"
SHORTEST = 20  # characters of a sentence that tells something
_COMMIT, _NAMED, _ORDERED, _PLANNED = 8.0, 5.0, 4.0, 4.0  # weights: a commit, a session's name, one that is an order, a plan
_EDITED, _FILE, _FILES, _ASKED = 1.5, 0.25, 6, 2.2  # of a turn that edits, of each file, files that count, and of an order
# Of a weight: of the first one, that others have at least; of a finding after the last change; of the same said before.
_BESIDE, _SINCE, _LATER = 0.35, 0.6, 0.5
_FIXED = "Fixed: "  # before a fault that is told as fixed
_NAMES, _NAMING = 3, 30  # words beside code that name a change; turns at either end of which one may name the work
_FIRST, _HEADED, _WEAK = 3, 0.8, 1.0  # sentences among which a heading names work, what that tells, and one that says little
_WORK = (
    r"(?:re)?(?:add|allow|annotat|archiv|bump|chang|clarif|clean|complet|configur|consolidat|convert|correct|cover|creat|"
    r"delet|deprecat|disabl|document|dropp|enabl|ensur|extend|extract|fix|guard|handl|implement|improv|integrat|introduc|"
    r"invert|limit|merg|migrat|mov|nam|order|pass|patch|port|pin|prevent|push|rebas|reduc|refactor|releas|remov|renam|"
    r"replac|resolv|restor|restructur|revert|rework|simplif|solv|speed|split|squash|support|switch|tighten|track|"
    r"unif|updat|upgrad|us|validat|verif|wir|wrapp|writ)")
REPORTS = re.compile(
    r"(?:(?:%s)(?:ed|ied)|made|wrote|(?:re)?built|found|kept|cut|set|sped up|took|got rid|rewrote|ran)\b" % _WORK, re.I)
_PASSIVE = re.compile(
    r"\b(?:has|have|is|are|was|were)(?: now| been| all)* (?:%s)(?:ed|ied)\b|\bnow (?:\w+ly )?(?:\w+(?:s|ed)|be)\b|"
    r"\b(?:is|are) now\b|\bno longer\b|\Athe (?:fix|changes?) (?:now )?%s(?:e?s|e|y|ies)?\b" % (_WORK, _WORK), re.I)
_FOUND = re.compile(
    r"\b(?:root cause|culprit|because|turned out|caused by|the (?:bug|issue|problem|cause)\b.{0,30}\b(?:is|was))\b|"
    r"때문|원인|原因|ため|因为|Ursache|weil", re.I)
_LABELLED = re.compile(r"(?:the )?(?:(?:root )?cause|bug|problem|issue|fix|solution|decision|finding|conclusion)s?\s*[:–-]", re.I)
_FAULT = re.compile(r"(?:the )?(?:(?:root )?cause|bug|problem|issue)s?(?:\s*[:–-]| (?:was|is) that\b)\s*", re.I)
_SAYS_FIXED = re.compile(r"\b(?:fix(?:ed|es)?|resolved|solution|solved)\b|고쳤|수정|直し|修正|修复|behoben", re.I)
_LEAD = re.compile(
    r"\A(?:(?:all|the|both|every\w*|unit|integration)\b[^.:;!]{0,60}\b(?:pass(?:es|ing|ed)?|clean|green|complete[d]?|"
    r"done|success\w*)[^.:;!]{0,30}[.!]\s+|(?:here(?:'s| is| are)|let me (?:create|summari[sz]e|give))\b[^:.;]{0,70}[:.]\s*|"
    r"(?:summary|changes made|done|perfect|great)\s*[:.!]\s*)+", re.I)
_AROUND = re.compile(
    r"\A(?:[✅✓✔☑🎉❌⚠️\s]+|\d+[.)]\s+|(?:p|step|task|part|phase|item|point)\s?#?\d+(?:\s#\d+)?\s*[:–—-]\s+|(?:perfect|great|"
    r"excellent|done|good|yes|right|correct|ok(?:ay)?|sure|you(?:'re| are) (?:absolutely )?right|got it|(?:final )?summary|"
    r"in summary|overview|result|(?:key )?changes?(?: made)?|(?:here's )?what (?:was|i) (?:done|did|changed|fixed|implemented|"
    r"added|updated)|so|now|also|then|finally)\b(?:[.!:,]+\s+|\s*[–—-]+\s+|[.!:]+$)|"
    r"(?:i(?:'ve| have)|we(?:'ve| have)?|i|ich habe|now i(?:'ve| have)?)\s+(?:just |now |also |successfully |completely )*"
    r"(?=(?:%s)(?:ed|ied)\b|made\b|found\b|wrote\b|set\b|kept\b|built\b)|successfully\s+)" % _WORK, re.I)
_EMPTY = re.compile(
    r"(?:all|the|both|unit|integration|every\w*|build|tests?|lint\w*|checks?|ci|code|everything|it|and|also|formatted|properly|"
    r"now|are|is|still|including|with|no|has|have|been|completed?|complete|done|ready|fix|fixed|changes?|implementation|task|"
    r"issues?|errors?|bugs?|problems?|root|cause|found|add(?:ed)?|verif(?:y|ied)|correctly|comprehensive|coverage|successfully|"
    r"successful|pass(?:es|ed|ing)?|clean(?:ly)?|green|compiles?|works?|working|tested|finished|linting|race|detection|\d+|updated|"
    r"files?|here's|here|summary|what|was|made|of|to|for|that|this|these|i|did|documentation|plan|commit(?:ted)?|pushed|good|"
    r"look(?:s|ing)?|go|session|work|be|merged?)", re.I)
_ASIDE = re.compile(
    r"(?:here(?:'s| is| are)|the following|(?:let me|i'll|i will|i'd|i would|i think|i see|i need|i can|i don't|i understand)\b|"
    r"(?:if|when|once) (?:we|i|the|it|this|that)\b|would you|do you|want me|should i|shall i|"
    r"let me know|feel free|if you|you (?:can|may|could|should|need|might)|"
    r"(?:now )?(?:dispatching|running|checking|looking)|ready (?:to|for)|next\b|note\b|great question|good (?:catch|question|"
    r"point)|i (?:have|was|am)\b|i'm\b|one (?:more|last)\b|good (?:news|idea|call)\b|"
    r"(?:i(?:'ve| have)? )?(?:now )?(?:reviewed|looked|read|checked|analy[sz]ed|explored|examined)\b|looking at|based on|"
    r"(?:files?|lines?|tests?)(?: \w+)?:|before\b|after\b|example|usage|to (?:test|verify|use|run)\b|"
    r"option \w+\b|recommend|alternativ|status\b|no[,!]|this (?:means|would|could|might))", re.I)
_ORDER = re.compile(
    r"(?:\w+ly )?(?:re)?(?:add|allow|annotate|bump|change|clarify|clean|configure|consolidate|convert|correct|cover|create|debug|"
    r"delete|disable|document|drop|enable|extend|extract|fix|handle|hide|implement|improve|integrate|introduce|invert|limit|log|make|"
    r"merge|migrate|move|name|port|prevent|print|reduce|refactor|release|remove|rename|replace|report|resolve|restore|"
    r"restructure|revert|rework|show|simplify|skip|speed|split|store|support|switch|test|tighten|track|unify|update|upgrade|"
    r"use|validate|warn|wire|wrap|write)\b", re.I)
_ITEM = re.compile(r"\A\s*(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_DETAIL = re.compile(r"\(?\blines? \d+|:\d+\b|^[`(\[]")
_LEANS = re.compile(  # on what was said before, or cut in the middle
    r"[?…]|\b(?:both|it|its|this|that|these|those|them|each|same|above|here|there|again|me|my|let's)\b|"
    r"\bthe (?:rest|others?|first|second|third|new (?:functionality|feature|code|behaviou?r|tests?|logic|changes?))\b|\d, \d|"
    r"\b(?:the|an?|to|of|for|and|or|with|that|which|if|is|are|in|on|from|so|when)\W*$", re.I)
_LOOSE = re.compile(  # a name that is pasted, a path, a quotation that does not close, or cut in the middle
    r"""\A(?:[^\w`'"(.]|/|https?:|[^"]*"[^"]*\Z)|\b(?:which|but|because|that|and|or|the|an?|to|of|no)\W*\Z""", re.I)
_SPOKEN = re.compile(r"\b(?:you|your|i|we|my|our|but|should|instead)\b|[?]", re.I)
_CODE = re.compile(r"`[^`]*`?|\S*[_(./]\S*")
_WORD = re.compile(r"(?!(?:the|an?|of|for|and|or|with|to|in|on|from|all|now)\b)[^\W\d]{2,}", re.I)
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]*\)")
CUT = re.compile(r"^.{,59}[:：]$|\b(?:the|an?|to|of|for|and|or|with|that|which|is|are|was|were|in|on|from|so|when|by):?$", re.I)
_POINTS = re.compile(
    r"(?:\w+ed )?(?:now )?(?:it|this|that|these|those|they|them|so|which|both (?:are|were|is|of|now|have)|"
    r"the (?:output|above|following))\b", re.I)
_BACKWARD = re.compile(r"\A[^`]*\b(?:both|these|those|the same|it|them|this|above)\b[^`]*\Z", re.I)  # what only the session knows
_WOULD = re.compile(r"\b(?:would|could|might)\b", re.I)
_PIECE = re.compile(  # what is left of an entry whose subject stands in its heading
    r"\w+(?:ed)? (?:(?:from|in|by|to|on|at|for|with|as|into|using|via|when|if|but)\b|\(|\d+\+)", re.I)
_BEFORE = re.compile(r"(?:the )?(?:before|old(?: \w+)?|previously|pros?|cons?|options?|alternatives?)\b[^:]{0,30}:?\Z", re.I)
_FAULTY = re.compile(r"\b(?:was|were) (?:n't |not )?\w+ing\b|\b(?:was|were)(?:n't| not)\b")
_BLAND = re.compile(  # a verdict on all of it, which names nothing
    r"[\w ]+ed (?:one|two|several|some|\d+)(?: \w+)? (?:issues?|bugs?|problems?)\b[^`]*\Z|\w+ed(?: \w+){0,2}\Z|"
    r"\w+ed (?:\w+ )?imports?\b|(?:the|both|all|everything|it)\b[^`_]*\b(?:clear|issues?|suite|updated|complete|fine|correct|"
    r"consistent|comprehensive|place|notes?)\W*\Z|the code (?:now )?passes\b|"
    r"\w+ed the (?:\w+ )?(?:notes?|docs|documentation|suite|comments?)\W*\Z", re.I)
_VERDICT = re.compile(  # on all of it, which does not say what was done
    r"[^`]*\b(?:no|any) (?:outstanding|open|remaining|further|more) (?:issues?|problems?|findings)\b[^`]*\Z|"
    r"(?:both|all|everything|each|the \d+|\d+)\b.*\b(?:updated|addressed|fixed|resolved|handled|applied|made|done|complete[d]?|"
    r"implemented|verified|validated|tested|in place|pass(?:es|ed|ing)?|work(?:s|ing)?|block the \w+)\W*\Z", re.I)
_UNTOLD = re.compile(  # in a heading: of what there is, not of what was done
    r"\b(?:summary|files?|changes|details|results?|matrix|tests?|status|output|overview|analysis|findings|root cause|problems?|"
    r"issues?|options?|pros|cons|why|how|what|example|usage|flow|before|after|plan|review|steps?|questions?|approach|states?|"
    r"recommend\w*|pr|key|next|remaining|notes?|current|existing|possible|comparison|background|context)\b|[?]|:\Z", re.I)
_LOOKING = re.compile(r"(?:debug|review|tests?|use|do|work(?:ing)? on|look|investigate|explore|check|brainstorm|verify|validate|"
                      r"explain|discuss|research|analy[sz]e|[a-z]+-\d+)\b", re.I)
_ADDS = re.compile(r"(?:added|introduced|created|enabled|set)\b", re.I)
_TAKES = re.compile(r"(?:removed|reverted|dropped|deleted|undid|disabled)\b", re.I)
_TICKET = re.compile(r"\b[a-z]{2,6}-?\d+\b|\d+", re.I)
_COMMON = frozenset("bug bugs bugfix issue issues feat feature make sure not new when all task chore wip dev main branch".split())
_BESIDES = re.compile(r"[\s,]+(?:too|also|as well|please|then|again|now)\W*\Z", re.I)  # at the end of a request
_TAIL = re.compile(r" (?:[-–—] \w[^,;–—]{0,60}|(?:that|which) (?:now )?\w+s(?: if| whether| how| what)?)[:：]\Z", re.I)
_IN_CODE = re.compile(r"`[^`]*[A-Z_(/.][^`]*`")
_MERGE = re.compile(r"merge (?:branch|remote|pull request|commit|main|master|origin)\b", re.I)
_CHORE = re.compile(r"(?:docs?|chores?|tests?|style|ci|build|lint|fmt|wip)\b|"
                    r"(?:\w+(?:\([\w-]+\))?: )?(?:gofmt|address\b.*\b(?:feedback|comments?|review)\b)", re.I)
_MINOR = re.compile(
    r"\b(?:imports?|unused|no longer needed|comments?|tests?|typos?|whitespace|gofmt|formatting|nolint|constants?|signatures?|"
    r"struct|fields?|parameters?|helpers?|the calls?)\b", re.I)


_HOWEVER = re.compile(
    r"(?:however|but|unfortunately|still)\b.*\b(?:fail\w*|broke\w*|breaks?|wrong|not work\w*|doesn't work)\b", re.I)


class Upshot(NamedTuple):
    """A line that says what came out.

    weight: how much it tells of the work, from 0 on.  at: the instant of its turn, ISO 8601 UTC, "" where it is not known.
    """

    weight: float
    line: str
    at: str = ""


def of_turns(held: Sequence[Turn], title: str = "", commits: Sequence[str] = ()) -> list[Upshot]:
    """Return what came out of turns, what tells most first.

    title: the name of the work.  commits: `hash: subject` of those that were made in it; they stand for the turns that made them.
    """
    made = [one.partition(": ") for one in commits]
    found = [Upshot(_COMMIT - 2.0 * bool(_CHORE.match(subject)), "%s (%s)" % (subject, mark) if subject else mark)
             for mark, _, subject in made if not _MERGE.match(subject)]
    changed = [at for at, turn in enumerate(held) if any(piece.kind in (turns.FILE, turns.COMMIT) for piece in turn.pieces)]
    for at, turn in enumerate(held):
        told = _of_turn(turn, bool(commits))
        if at in changed or not changed or any(REPORTS.match(one.line) for one in told):
            found += told
        elif at > changed[-1]:  # what was found before it led to the change, which tells it
            found += [one._replace(weight=_SINCE * one.weight) for one in told]
    if not commits and not _LOOKING.match(title) and (_is_named(title, held) or is_order(title)):
        found.append(Upshot(_NAMED if _is_named(title, held) else _ORDERED, _BESIDES.sub("", title[:1].upper() + title[1:])))
    return distinct(found)


def about(found: Iterable[Upshot], branch: str) -> list[Upshot]:
    """Return upshots, those weighing more that share words with the branch's name, which says what its work is about."""
    words = words_of(re.sub(r"[-_./]", " ", _TICKET.sub(" ", branch.rpartition("/")[2]))) - _COMMON
    words = {word for word in words if not _ORDER.fullmatch(word)}
    shared = [(one, len(words & words_of(_IN_CODE.sub(" ", one.line)))) for one in found]
    return [one._replace(weight=max(one.weight, min(_COMMIT - 0.1, one.weight + (1.5 if many == 1 else 2.5)))) if many else one
            for one, many in shared]


def undoes(later: str, earlier: str) -> bool:
    """Tell whether a line takes out again what an earlier one added."""
    if not (_TAKES.match(later) and _ADDS.match(earlier)):
        return False
    quoted = set(re.findall(r"`([^`]+)`", later)) & set(re.findall(r"`([^`]+)`", earlier))
    return bool(quoted) or same(later.partition(" ")[2], earlier.partition(" ")[2])


def words_of(line: str) -> set[str]:
    """Return the words of a line that tell something."""
    return {word for word in tokeniser.tokens(line) if word not in tokeniser.STOP and len(word) > 2}


def distinct(found: Iterable[Upshot]) -> list[Upshot]:
    """Return upshots by weight, of those that tell nearly the same the last, and none that weighs little beside the first."""
    kept: list[Upshot] = []
    for one in sorted(found, key=lambda one: -one.weight):
        if kept and one.weight < _BESIDE * min(kept[0].weight, _COMMIT):
            break
        near = next((at for at, other in enumerate(kept) if same(one.line, other.line)), -1)
        if near < 0:
            kept.append(one)
        elif kept[near].at and one.at > kept[near].at and one.weight >= _LATER * kept[near].weight:
            kept[near] = one._replace(weight=kept[near].weight)
    return kept


def _is_named(title: str, held: Sequence[Turn]) -> bool:
    """Tell whether a title is a plan's or the client's: no request's and no statement's beginning."""
    spoken = title.startswith(_FIXED) or any(title.lower() in gist.plain(text).lower() for turn in held for text in turn.said())
    return bool(held) and not spoken and title not in [gist.topic(turn.request) for turn in held] and not _LEANS.search(title)


def of_lines(lines: Sequence[str], title: str = "", commits: Sequence[str] = ()) -> list[Upshot]:
    """Return what came out of work of which only the last words are known, as `of_turns` does."""
    said = ([turns.Piece(turns.SAID, line)] for line in lines)
    return of_turns([Turn("", "", "", pieces) for pieces in said], title if is_order(title) else "", commits)


def _of_turn(turn: Turn, committed: bool) -> list[Upshot]:
    """Return what came out of one turn, empty where it came to nothing that can be told."""
    touched = sum(piece.kind == turns.FILE for piece in turn.pieces)
    if turn.asked == turns.SUMMARY or committed and any(piece.kind == turns.COMMIT for piece in turn.pieces):
        return []
    worth = _EDITED + _FILE * min(touched, _FILES) if touched else 0.0
    finished = gist.is_finished(turn)
    score, line = _best(gist.outcome(turn), bool(touched))
    found = []
    if line and (finished or score > 3) and (score > _WEAK or touched or gist.wide(line)):
        found.append(Upshot(worth + score, _mended(line, gist.outcome(turn)) if touched and finished else line, turn.at))
    plan = next((p.text for p in turn.pieces if p.kind == USER and p.name == APPROVED), "")
    if touched and finished:
        asked = gist.heading_of(plan) if plan else gist.topic(turn.request)
        if (plan or is_order(asked)) and not _LOOKING.match(asked) and asked.count('"') % 2 == 0:
            asked = _BESIDES.sub("", asked)
            found.append(Upshot(worth + (_PLANNED if plan else _ASKED), asked[:1].upper() + asked[1:], turn.at))
    return sorted(found, key=lambda one: -one.weight)[:1]


def _mended(line: str, statement: str) -> str:
    """Return a line that tells a fault as one of a fault that is fixed, where the statement says so."""
    faulty = _FAULT.match(line) or _FOUND.search(line) or (_FAULTY.search(line) and not _SAYS_FIXED.search(line))
    if REPORTS.match(line) or not faulty or not _SAYS_FIXED.search(statement):
        return line
    match = _FAULT.match(line)
    return _FIXED + line[match.end() if match else 0:].strip()


def is_whole(line: str) -> bool:
    """Tell whether a name of some work stands by itself: it points at nothing said before, and is not cut."""
    return not _LEANS.search(line)


def is_named(line: str) -> bool:
    """Tell whether a title names work: it stands by itself and is spoken to nobody."""
    return not (_LEANS.search(line) or _LOOSE.search(line) or _SPOKEN.search(line)) and line.count("`") % 2 == 0


def is_order(line: str) -> bool:
    """Tell whether a line names a piece of work by itself: `Fix the …`, `Add a …`."""
    return bool(_ORDER.match(line)) and gist.telling(line) > 3 and not _LEANS.search(line)


def same(one: str, other: str) -> bool:
    """Tell whether two lines tell nearly the same."""
    first, second = ({word for word in tokeniser.tokens(line) if word not in tokeniser.STOP} for line in (one, other))
    return len(first & second) >= 0.6 * max(1, min(len(first), len(second)))


def best(statement: str) -> str:
    """Return the sentence of a statement that tells best what came out; "" for none."""
    return _best(statement)[1]


def _best(statement: str, worked: bool = False) -> tuple[float, str]:
    found = sorted((-score, at, line) for at, (score, line) in enumerate(scored(statement, worked)))
    return (-found[0][0], at_word(found[0][2].rstrip(":;,"), LINE)) if found else (0.0, "")


def telling(line: str, most: int) -> str:
    """Return a statement on one line, at most `most` characters, without the sentences that say nothing."""
    kept = [one for one in sentences(_LEAD.sub("", line)) for said in [bare(_LEAD.sub("", one))]
            if said and (says(said) or one.endswith(":")) and not said.endswith(("?", "？"))]
    return at_word(_LEAD.sub("", bare(" ".join(kept))), most)


def scored(statement: str, worked: bool = False) -> Iterator[tuple[float, str]]:
    """Yield (how well it tells what came out, the sentence) of each sentence of a statement; of work a heading names it too."""
    before = False
    found = list(sentences_of(statement))
    for place, (kind, text) in enumerate(found):
        before = bool(_BEFORE.match(text)) if kind == HEADING else before
        line = bare(text)
        line = _TAIL.sub("", line) if len(line) <= 2 * LINE else line
        if len(line) < (SHORTEST // 2 if gist.wide(line) else SHORTEST) or line.endswith(("?", "？")):
            continue
        if _ASIDE.match(line) or _ASIDE.match(_FAULT.sub("", line, count=1)) or (len(line) <= 2 * LINE and _VERDICT.match(line)):
            continue
        done, headed = bool(REPORTS.match(line)), kind == HEADING
        if before or not says(line) or (done or not headed) and _PIECE.match(line) or not headed and CUT.search(line):
            continue
        back = any(_HOWEVER.match(after) for _, after in found[place + 1:place + 2])
        if back or _WOULD.search(line) and not (done or _FAULTY.search(line)):
            continue
        told = 1.5 * done + 1.0 * bool(_PASSIVE.search(line)) + 1.2 * bool(_FOUND.search(line))
        told += 1.5 * bool(_LABELLED.match(line))
        if worked and headed and place < _FIRST and not (told or _UNTOLD.search(line)):
            told = _HEADED * (len(_WORD.findall(_CODE.sub("", line))) >= _NAMES)
        if not told:
            if kind == PROSE and not _POINTS.match(line):
                yield _WEAK - place / 1000, line
            continue
        score = told + 0.3 * (40 <= len(line) <= LINE + 50) + (1.2 if not place else 0.5 if place < 4 else 0.0)
        score += {HEADING: 1.0, PROSE: 0.3, ITEM: -0.3}[kind] - 0.8 * bool(_MINOR.search(line)) - 1.0 * bool(_DETAIL.search(line))
        score -= 2.0 * bool(_POINTS.match(line)) + 0.6 * (len(line) > 2 * LINE)
        score -= 1.5 * bool(_BLAND.match(line) or len(line) <= 2 * LINE and _BACKWARD.match(line))
        if score > 0:
            yield max(score, _WEAK), line


def bare(line: str) -> str:
    """Return a sentence without the words around what it says."""
    line = one_line(line).strip("-*•✅✓ ")
    while (match := _AROUND.match(line)) and match.end() < len(line):
        line = line[match.end():]
    line = line.strip()
    return line[:1].upper() + line[1:] if line.partition(" ")[0].rstrip(":,;").isalpha() else line


def says(line: str) -> bool:
    """Tell whether a sentence says more than that checks pass or something is done."""
    if gist.wide(line):
        return True
    words = [word for word in re.findall(r"[\w'./`()-]+", line) if not _EMPTY.fullmatch(word)]
    return len(words) >= 2 or any(re.search(r"\w\(|\w[._/]\w", word) for word in words)


def sentences_of(statement: str) -> Iterator[tuple[str, str]]:
    """Yield (HEADING, ITEM or PROSE, the text) of the headings and sentences of a statement; code and tables are left out."""
    for line in gist.prose(statement):
        if line[:1] in "|>":
            continue
        level, head = tokeniser.heading(line)
        bold = line.startswith("**") and line.rstrip(":").endswith("**") and line.count("**") == 2
        if level or bold:
            yield HEADING, _LINK.sub(r"\1", (head if level else line).strip("*: #"))
            continue
        item = _ITEM.match(line)
        text = _LINK.sub(r"\1", (line[item.end():] if item else line).replace("**", "").replace("__", ""))
        for sentence in sentences(text):
            yield ITEM if item else PROSE, sentence


# --- names

class Names(NamedTuple):
    """What work may be called.  titles: the best first.  asked: one or none that finds it under any title, what was asked for."""

    titles: list[str]
    asked: list[str]


def names(held: Sequence[Turn], by_client: str = "", commits: Sequence[str] = ()) -> Names:
    """Return names for what was done: of the plan, the client, an order, a commit, what came out, a request.

    by_client: the title that the client gave the session.  commits: their subjects, oldest first.
    """
    held = [*held[:_NAMING], *held[_NAMING:][-_NAMING:]]
    plans = [gist.clause(gist.heading_of(p.text)) for turn in held for p in turn.pieces if p.kind == USER and p.name == APPROVED]
    asked, ended = _asked(held), _ended(held)
    made = [gist.clause(one_line(subject)) for subject in reversed(commits)]
    found = [*reversed(plans), gist.clause(one_line(by_client)),
             *(one for one in asked if is_order(one) and _is_name(one)),
             *(one for one in made if not (_CHORE.match(one) or _MERGE.match(one))), *_came(held),
             *(one for one in asked if gist.telling(one) > 1.5), *made,
             *(one for one in ended if gist.telling(one) > 2), *asked, *ended[:2]]
    return Names([one for one in dict.fromkeys(found) if len(one) >= 4], [one for one in asked[:1] if gist.telling(one) > 1.5])


def _asked(held: Sequence[Turn]) -> list[str]:
    """Return what was asked for, what says most first; what files were changed for, and what was asked early, counts for more."""
    typed = [turn for turn in held if turn.asked in ("", turns.SLASH) and not gist.TRIVIAL.match(turn.request)]
    topics = [(gist.topic(turn.request), 0.25 * at - min(4, sum(p.kind == turns.FILE for p in turn.pieces)))
              for at, turn in enumerate(typed)]
    topics.sort(key=lambda pair: pair[1] + 1.5 * bool(_LOOSE.search(pair[0])) - gist.telling(pair[0]))
    return [one for one, _ in topics]


def _came(held: Sequence[Turn]) -> list[str]:
    """Return what came out of turns as names: a change that a line tells in words, and more than a detail of one."""
    lines = [one.line for one in of_turns(held)[:3]]
    faults = [line for line in lines if line.startswith(_FIXED) and len(line) <= gist.TITLE]
    names = [gist.clause(line[:1].lower() + line[1:]) for line in lines if REPORTS.match(line) and not (
        line.startswith(_FIXED) or _PIECE.match(line) or _DETAIL.search(line) or _MINOR.search(line))]
    return [*(name for name in names if len(_WORD.findall(_CODE.sub("", name))) >= _NAMES and _is_name(name)), *faults]


def _is_name(line: str) -> bool:
    """Tell whether a line stands as a name: whole, spoken to nobody, and more than a detail."""
    return not (_MINOR.search(line) or _LOOSE.search(line) or _SPOKEN.search(line))


def _ended(held: Sequence[Turn]) -> list[str]:
    """Return the openings of what turns came to, what says most first."""
    ended = [gist.clause(gist.plain(gist.outcome(turn))) for turn in reversed(held)
             if turn.asked != turns.SUMMARY and gist.outcome(turn)]
    return sorted(ended, key=lambda line: -gist.telling(line))
