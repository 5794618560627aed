"""What not to try again: work that was taken back, objected to or refused, and ways that did not work, each in a line with why.

Told from what happened: an order to revert that was carried out, a turn that reverts what it did, a refused edit.  Where nobody
said why, or nothing tells what was tried, no line is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.capture import causes, choices, conversationpage, gist, turns, upshot
from memory.capture.choices import PASTED, SUPPOSED, files_of
from memory.capture.facts import Edit, Facts
from memory.capture.gist import outcome
from memory.capture.turns import FILE, REFUSED, RUN, SAID, SUMMARY, USER, Turn
from memory.capture.upshot import HEADING, ITEM, LINE, PROSE, SHORTEST, bare, says, sentences_of
from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line, sentences
from memory.session import commandline, deeds, faults, git, hunks, mending
from memory.session.latepattern import Late

REVERT = Late(r'(?i)\Arevert[:\s]+"?(.+?)"?\Z')  # the subject of a commit that takes another one back
_AFTER = 3  # turns after a mend that may show what lay deeper
_REVIEW = re.compile(r"\breview|\bfindings?\b|\bP[0-3]\b", re.I)
_VERDICT = Late(
    r"\A(?:(?:overall |final )?verdict|overall)\b.{0,160}\b(?:approv|merg|ship|request\w{0,80} changes|needs work)|"
    r"\A(?:✅ )?(?:lgtm|approved?)\b|\b(?:pr|pull request)\b.{0,160}\bready (?:to|for) merg", re.I)
_REACH, _NAMES, _LONG = 4, 60, 200  # turns looked back on; characters of files that stand for a deed, and of somebody's words
_TRIED = Late(
    r"\A(?:reverted|undid|rolled back|backed out|abandoned)\b.{0,160}\b(?:since|because|as (?:it|that|they)|which|due to|but)\b|"
    r"\A(?:removed|dropped)\b.{0,160}\b(?:since|because|as (?:it|that|they)|due to)\b.{0,160}(?:n't\b|\b(?:not|"
    r"never|no|broke|breaks?|"
    r"fail\w{0,80}|wrong\w{0,80})\b)|\b(?:i|we) (?:first |also |then )?tried\b|"
    r"\bdid(?:n't| not) (?:actually |really |properly )?(?:work|help|fix|solve|apply|support)\b|\b(?:had no effect|rolled back|"
    r"backed out|gave up|dead end|wrong approach|made it worse)\b|"
    r"되돌렸|戻しました|効きません|回滚|zurückgenommen|hat nicht (?:funktioniert|geholfen)", re.I)
_EARLIER = Late(  # speaks of a way that was gone before, in the same work
    r"\b(?:my|(?:the|our) (?:earlier|previous|first|initial|last)) (?:\w{1,80} )?(?:implementation|approach|version|fix|attempt|"
    r"solution|change|idea)\b.{0,160}"
    r"\b(?:did(?:n't| not)|does(?:n't| not)|broke|breaks|fail(?:ed|s)|caused?|was wrong|too \w{1,80})\b", re.I)
_WEIGHED = Late(  # what stands below such a heading is no deed
    r"\b(?:pros?|cons?|why|how|possible|options?|alternatives?|risks?|trade-?offs?|limits?|limitations?|concerns?|constraints?|"
    r"problems?|issues?|causes?|before|reverted)\b", re.I)
_OF_A_WAY = Late(  # speaks of how it is to be done, not of a fault
    r"\b(?:should(?:n't)?|could(?:n't)?|would(?:n't)?|rather than|instead|better|prefer\w*|needs?|needn't|useful\w*|why|revert|"
    r"redundant|unnecessary|already|twice|duplicat\w*|repeated|lost|loses?|abstract\w*|generic|specific\w*|enough|"
    r"simpler|cleaner|complicated)\b|"
    r"왜|대신|なぜ|代わり|为什么|不如|warum|lieber|stattdessen", re.I)
_ANEW = Late(r"\W*(?:(?:hm+|ok(?:ay)?|so|well|no|actually)\b\W*)*(?:thinking again|on second thought|taking a step back)\b", re.I)
_BACK = Late(  # orders something back
    r"(?:\A|[.,;!:] )(?:(?:no|nope|ok(?:ay)?|yeah|yes|well|so|and|then|now|wait|actually|hm{1,80})\b[,.!]{0,80} ){0,40}"
    r"(?:(?:can|could|would) (?:you|we) |let'?s |(?:i think )?we (?:need to|should|have to|must) |"
    r"i(?:'d| would) (?:like|prefer|want)(?: you)? to )?(?:please |just |now ){0,40}"
    r"(?:revert|undo|roll back|go back(?! and\b| over| through)|back out|take (?:it|that|this) (?:back|out))\b|"
    r"되돌|戻して|回滚|zurücknehmen", re.I)
_ANNOUNCED = Late(  # in the middle of a turn
    r"\b(?:let me|let's|i(?:'ll| will| should| need to| have to)|i'm going to) (?:just )?"
    r"(?:revert|undo|roll back|go back to|back out|put back)\b", re.I)
_NO_USE = Late(  # in the user's words, of something that is there
    r"\b(?:remove|drop|get rid of|take out)\b.{5,80}\b(?:not|n't|never|no) (?:\w+ ){0,2}"
    r"(?:help\w*|work\w*|useful|worth|needed|use)\b", re.I)
_NO_WAY = Late(r"\b(?:does(?:n't| not)|wo(?:n't)|will not|can(?:'t|not)) work\b.{0,40}\b(?:since|because|as)\b", re.I)
_OPTION = Late(r"\W*(?:option|variant|approach|solution) ([1-9a-d])\b", re.I)
_HIT = Late(  # how an outcome begins that did not come to what was asked for
    r"\W*(?:(?:i|we)(?:'ve| have)? (?:hit|r[au]n into)|there(?:'s| is) an? (?:import cycle|circular))\b", re.I)
_WHY = Late(r"\b(?:since|because|needs?|necessary|required?|conflict\w*|collide\w*|broke|breaks?|can't|cannot|not allowed|"
            r"does(?:n't| not)|redeclared|cycle)\b", re.I)
_OTHERWISE = Late(  # why somebody refuses: it is to be done in another way
    r"\A(?:no|not|nope|don't|do not|never|stop)\b|"
    r"\b(?:instead|rather|better|(?:an)?other way|(?:don't|do not|shouldn't|should not) (?:want|need|be|use|do|have|put|call)|"
    r"can't we|couldn't we|why (?:not|are|is|do|did)|prefer\w*|not needed|wrong|"
    r"ma[dk]e (?:it|that|this) up|already)\b|아니|대신|하지|いや|不要|别|代わり|nein|nicht|lieber|stattdessen", re.I)
_PROPOSED = Late(r"refused (?:(?:Edit|Write|MultiEdit|NotebookEdit) (`.*`)|a tool\Z|ExitPlanMode\b)")
_BY_USER = Late(r"the user refused (\w+) .*?: ")
_EDITS = frozenset(("a", "Edit", "Write", "MultiEdit", "NotebookEdit", "ExitPlanMode"))  # refused most often with a wish
_ADDRESS = Late(r"https?://\S+")
_UNNAMED = Late(r"the user: .* → (?!.*(?:\b(?:rather than|instead of|no longer|not)\b|n't\b))")  # says no way to leave
_NO = Late(
    r"(?:no\b(?!\W*(?:wait|ignore|problem|worries|idea|need|sorry|thanks)\b)|don't|do not|not\b|never\b(?! ?mind)|stop\b|"
    r"revert\b|undo\b|we (?:don't|do not) (?!have\b|know\b)|"
    r"we (?:can't|cannot|shouldn't|should not)|i (?:don't|do not) (?:want|like)|"
    r"let's not|please (?:don't|do not)|아니|하지|いや|不要|别|nein|nicht)", re.I)


def dead_ends(held: Sequence[Turn]) -> list[str]:
    """Return what was tried in vain, each in a line, the newest last.

    That is work that somebody had taken back or objected to, edits and plans that they refused with a reason, what turns say did
    not work, and what the client's summary says was tried first.
    """
    against, found = taken_back(held), []
    for at, turn in enumerate(held):
        if turn.asked == SUMMARY:
            found += conversationpage.gave_up(turn)
            continue
        found += _ruled_out(turn, outcome(held[at - 1]) if at else "")
        found += [against[at].line] if at in against and not _UNNAMED.match(against[at].line) else []
        found += [*_refused(turn), *(_in_vain(turn) or _turned(turn))]
    return list(dict.fromkeys(found))


def forbids(decision: str) -> bool:
    """Tell whether a line of `decisions` says what is not to be done.

    That is a command that the user refused with a reason, and a no that a sentence of theirs begins with; one who refuses
    an edit and says how it is to be wants it otherwise.
    """
    refused = _BY_USER.match(decision)
    if not refused and not decision.startswith("the user: "):
        return False
    said = decision[refused.end() if refused else len("the user: "):]
    if refused and refused[1] not in _EDITS:
        return not said.endswith(("?", "？")) and deeds.in_words(_ADDRESS.sub(" ", said)) > 2
    first, *more = sentences(said) or [""]
    return any(map(_NO.match, [first, *more] if refused else [first]))


def way(held: Sequence[Turn], turn: Turn) -> list[Turn]:
    """Return the turns on the way to one, from that on which it goes back to."""
    links, way = turns.follow(held), [held.index(turn)]
    while links[way[0]].to >= 0:
        way.insert(0, links[way[0]].to)
    return [held[at] for at in way]


class Back(NamedTuple):
    """Work that somebody had done in another way.  line: what it was, and why.  gone: the reply took it back, or says why."""

    line: str
    gone: bool


def taken_back(held: Sequence[Turn]) -> dict[int, Back]:
    """Return how it went of each turn, by its number, whose work was taken back, or done otherwise after an objection."""
    links = turns.follow(held)
    found: dict[int, Back] = {}
    for at in range(1, len(held)):
        worked = next((one for one in range(at - 1, max(-1, at - _REACH), -1) if files_of(held[one])), -1)
        if worked < 0 or held[at].asked:
            continue
        back = _ordered_back(held[at], held[worked]) or _went_back(held[at], held[worked])
        near = worked in (links[at].to, links[max(0, links[at].to)].to)
        why = back or (_objected(held, links[at], at) if near else "")
        if why:
            about = _about(held[links[at].to]) if not back and links[at].to != worked else _files(held[worked]) * bool(back)
            gone = bool(back or _ANEW.match(_own(held[at])) or _conceded("".join(held[at].said()[:1])))
            did = _deed(held[worked], why) or about
            if gone or did:
                found[worked] = Back(" — ".join(filter(None, (did, why))), gone)
    return found


def kept(held: Sequence[Turn]) -> list[Turn]:
    """Return turns without those whose work does not stand any more."""
    gone = [held[at] for at, back in taken_back(held).items() if back.gone]
    return [turn for turn in choices.standing(held) if turn not in gone]


def _deed(turn: Turn, said: str) -> str:
    """Return the sentence in which a turn tells that of its work which somebody speaks of, "" for none: two words are shared."""
    words = upshot.words_of(said)
    told = [line for line in dict.fromkeys([*(line for _, line in upshot.scored(outcome(turn), True)), deeds.as_done(
        upshot.order(turn.request))]) if SHORTEST < len(line) <= LINE and (deeds.REPORTS.match(line) or deeds.NOW.search(line))]
    shared = [len(words & upshot.words_of(line)) for line in told]
    return told[shared.index(max(shared))].rstrip(".:") if max(shared, default=0) > 1 else ""


def _about(turn: Turn) -> str:
    """Return what a turn asked about work that somebody then objected to, "" where that does not stand by itself."""
    topic = gist.topic(turn.request, LINE)
    return "" if deeds.LEANS.search(topic) else "asked: " + topic


def _files(turn: Turn) -> str:
    names = [name.rpartition("/")[2] for name in dict.fromkeys(p.text for p in turn.pieces if p.kind == FILE)]
    return turns.named("the change of ", names, _NAMES)


def _own(turn: Turn) -> str:
    """Return what a user says themselves in a request, on a line; "" where it begins with what is pasted, or is long."""
    lines = gist.prose(turn.request)
    own = one_line(" ".join(line for line in lines if line[:1] not in PASTED))
    return own if own and len(own) <= 3 * LINE and lines[0][:1] not in PASTED else ""


def _words(own: str) -> str:
    """Return the first two sentences of what somebody says, or the first where they are long."""
    both = " ".join(sentences(own)[:2])
    return both if len(both) <= _LONG else deeds.shortened(sentences(own)[0], _LONG)


def _ordered_back(turn: Turn, worked: Turn) -> str:
    """Return the words in which a turn was told to take work back, "" where it was not, or did not."""
    own = _words(_own(turn))
    undone = any(piece.kind == RUN and (git.undone(piece.text) or git.reverted(piece.text)) for piece in turn.pieces)
    if not _BACK.search(own) or own.endswith(("?", "？")) or not (undone or files_of(turn) & files_of(worked)):
        return ""
    return "taken back, the user: " + own


def _went_back(turn: Turn, worked: Turn) -> str:
    """Return why a turn says to have reverted work on the same files, "" where it does not say so or nobody says why."""
    if not (choices.is_taken_back(outcome(turn)) and files_of(turn) & files_of(worked)):
        return ""
    own = _words(_own(turn))
    return "taken back, the user: " + own if gist.telling(own) > 1 else ""


def _objected(held: Sequence[Turn], link: turns.Link, at: int) -> str:
    """Return what the user objected to in work, and why the reply agreed; "" where it is no way of doing it.

    link: of the turn that objects.  at: its number.
    """
    turn, own = held[at], _own(held[at])
    before = next(one for one in reversed(held[:at]) if one.asked != SUMMARY)
    if not own or link.how != turns.OBJECTS or not (gist.is_finished(before) or files_of(before)):
        return ""
    if files_of(turn) and _ANEW.match(own):
        return "the user: " + _words(own)
    if not (files_of(turn) and turns.concedes(turn)):
        return ""
    why = _conceded("".join(turn.said()[:1])) or upshot.best(outcome(turn))
    if not why or not _OF_A_WAY.search(own) or deeds.AT_FAULT.search(why):
        return ""
    words = _words(own)
    return "the user: %s → %s" % (words if len(words) + len(why) <= _LONG else deeds.shortened(sentences(own)[0], LINE), why)


def _conceded(reply: str) -> str:
    """Return the sentence in which a reply says why it was wrong, "" where none does."""
    said = [bare(text) for _, text in sentences_of(reply)]
    said = [text for text in said if says(text) and SHORTEST < len(text) <= _LONG and not (
        text.endswith(("?", ":")) or turns.CONCEDES.match(text) or gist.is_announced(text))]
    return next((text for text in said if not deeds.POINTS.match(text)), next(iter(said), ""))


def _refused(turn: Turn) -> Iterator[str]:
    """Yield the edits and plans that a user refused since they want it done in another way, in their words."""
    for at, piece in enumerate(turn.pieces):
        match = _PROPOSED.match(piece.name) if piece.kind == USER and piece.name.startswith(REFUSED) else None
        words = _words(one_line(piece.text))
        if match and _OTHERWISE.search(words):
            reply = next((one.text for one in turn.pieces[at + 1:] if one.kind in (SAID, USER)), "")
            why = _conceded(reply) if turns.CONCEDES.match(reply) else ""
            what = "an edit of " + match[1] if match[1] else "a plan" if "ExitPlanMode" in piece.name else "what was proposed"
            yield "%s — refused, the user: %s" % (what, " → ".join(filter(None, (words, why))))


def _ruled_out(turn: Turn, before: str) -> list[str]:
    """Return the sentences in which a user has something removed since it is of no use, or says why something does not work.

    before: what the last turn ended with; an option that it lists is told with its words.
    """
    lines = [line for line in gist.prose(turn.request) if line[:1] not in PASTED] if not turn.asked else []
    found = []
    for one in (one for line in lines for one in sentences(deeds.LISTED.sub("", line, count=1))):
        numbered = _OPTION.match(one)
        option = choices.option(before, numbered[1]) if numbered else ""
        option = option if option[:1].isupper() and not option.endswith(":") else ""  # else it speaks of the option
        if (_NO_USE.search(one) or _NO_WAY.search(one)) and len(one) <= _LONG and not one.endswith(("?", "？")):
            found.append("the user: %s%s" % (bare(one), " (%s)" % deeds.shortened(option, LINE) if option else ""))
    return found


def _turned(turn: Turn) -> list[str]:
    """Return what a turn was asked for and reverted by itself, with why; empty where it did not, or does not say why.

    It announces so after an edit, or ends with what it ran into.
    """
    said = [at for at, piece in enumerate(turn.pieces) if piece.kind == SAID and _ANNOUNCED.search(piece.text)]
    first = next((at for at, piece in enumerate(turn.pieces) if piece.kind == FILE), len(turn.pieces))
    own = _own(turn)
    hit = one_line(next((text for _, text in sentences_of(outcome(turn))), "")).rstrip(":.")
    if own and first < len(turn.pieces) and _HIT.match(hit):
        return ["asked: %s — %s" % (_words(own), hit)]
    for at in said if own else ():
        if at < first:
            continue
        told = [bare(text) for kind, text in sentences_of(turn.pieces[at].text) if kind == PROSE]
        why = [text for text in told if _WHY.search(text) and not (
            _ANNOUNCED.search(text) or SUPPOSED.search(text) or gist.is_announced(text)) and len(text) <= _LONG]
        if why:
            return ["asked: %s — reverted: %s" % (_words(own), why[-1])]
    return []


def _in_vain(turn: Turn) -> list[str]:
    """Return the sentences of a turn's outcome that say what was tried and did not work, or was taken back.

    Only a turn that edited or ran something tried anything, or one that speaks of what was tried earlier; what is weighed, quoted
    or a heading is no deed.
    """
    did = any(piece.kind in (FILE, RUN) for piece in turn.pieces)
    found = [line for line in map(bare, _deeds(outcome(turn))) if len(line) <= 2 * LINE and not SUPPOSED.search(line) and (
        _EARLIER.search(line) or did and _TRIED.search(line))]
    found = [line for line in found if line[:1] not in "\"“'"]
    return [line for line in found if len(line) > SHORTEST and not deeds.CUT.search(line) and says(line)]


def _deeds(statement: str) -> Iterator[str]:
    """Yield the sentences of a statement apart from headings, and from what stands below one that weighs something."""
    weighed = False
    for kind, text in sentences_of(statement):
        if kind == HEADING or kind == PROSE and text.endswith((":", "：")):
            weighed = bool(_WEIGHED.search(text))
        if kind == PROSE or kind == ITEM and not weighed:
            yield text


# --- what a review found


def unmended(held: Sequence[Turn]) -> list[str]:
    """Return in a line, by their titles, what the last review found and nobody ordered to be mended since; none where all was."""
    for at in range(len(held) - 1, -1, -1):
        found = faults.findings(_as_headings(gist.prose(outcome(held[at])))) if held[at].asked != SUMMARY else []
        if len(found) < 2 or files_of(held[at]) or not _REVIEW.search(held[at].request):
            continue
        later = [turn.request for turn in held[at + 1:] if turn.asked != SUMMARY]
        left = [one.title for one in found if one.number and not any(
            turns.chooses(asked, one.number, " ".join((one.title, *one.said))) for asked in later)]
        left = [one for one in left if deeds.in_words(one) > 1 and not deeds.LEANS.search(one)]
        many = next((at for at in range(len(left), 1, -1) if len("; ".join(left[:at])) <= _LONG), 1)
        more = " (+%d)" % (len(left) - many) if len(left) > many else ""
        return ["found, not mended: %s%s" % (at_word("; ".join(left[:many]), _LONG), more)] if left else []
    return []


def _as_headings(lines: Sequence[str]) -> list[str]:
    """Return lines with those in bold type, which headings are on a page, as headings again: a part of others below them."""
    out = []
    for line in lines:
        head, part = line.strip("*: "), deeds.NUMBERED.match(line.strip("*: ")) or line.rstrip("*").endswith(":")
        out.append(("#### " if part else "### ") + head if tokeniser.is_bold(line) else line)
    return out


def verdict(held: Sequence[Turn]) -> str:
    """Return the verdict of the last review, "" where nothing was reviewed, or something was changed since."""
    last = max((at for at, turn in enumerate(held) if files_of(turn)), default=0)
    said = [outcome(turn) for turn in held[last:] if turn.asked != SUMMARY]
    found = (bare(text) for one in said[::-1] for _, text in sentences_of(one))
    return next((line for line in found if len(line) <= LINE and _VERDICT.search(line)), "")


# --- what takes a mend back

def is_taken_back(facts: Facts, number: int, cause: str, edits: Sequence[Edit], at: str) -> bool:
    """Tell whether what happened later takes a mend back.

    number: of the turn that names the cause.  edits: those that mended it, the last one at the instant `at`.
    """
    if edits and (all(edit.undone or hunks.is_turned_round(edit.hunk, later(edit, facts)) for edit in edits)
                  or _replaced(facts, edits, at)):
        return True
    subject = next((subject for _, subject, when in facts.commits if when > at), "")
    if subject and subject in reverts(facts):
        return True
    after, named = facts.turns[number + 1:], mending.words(cause)
    outdone = [turn for turn in map(facts.turns.__getitem__, turns.going_on(facts.turns, number, _AFTER))
               if turn.at > at and turns.concedes(turn)]
    if any(mending.ROOT.search(said) and named & mending.words(said) for said in map(outcome, outdone)):
        return True  # what lies deeper was found and mended
    asked = [turn for turn in after if turn.request]  # a summary of the client's is nobody's answer
    if any(turn.at > at and mending.DENIES.search(one_line(turn.request)[:300])
           and (turn in asked[:1] or len(named & mending.words(turn.request)) > 1) for turn in asked):
        return True
    return any(mending.RETRACTS.search(one) and (named & mending.words(one) or not mending.words(one) and turn in after[:1])
               for turn in after if turn.asked != SUMMARY for one in gist.statements(outcome(turn)))


def reverts(facts: Facts) -> list[str]:
    """Return the subjects of the commits that a stretch took back."""
    return [match[1] for match in (REVERT.match(subject) for _, subject, _ in facts.commits) if match]


def later(edit: Edit, facts: Facts) -> list[str]:
    """Return what was changed in the file of an edit after it."""
    return [other.hunk for other in facts.edits if other.at > edit.at and other.path == edit.path]


def is_granted(facts: Facts, said: causes.Said, until: str = "") -> bool:
    """Tell whether a claim holds: its turn says that it mended what a reviewer says of its own code (who mends that has read it),
    or changed a test for it by the instant `until`, "" for the words alone; to agree proves nothing."""
    turn, about = facts.turns[said.turn], mending.words(said.cause.text)
    if any(turn.at <= edit.at < until and commandline.TEST_FILE.search(edit.path) for edit in facts.edits):
        return True
    claim = said.cause.weight == causes.CLAIMED or any(mending.words(one.text) & about for one in causes.claimed(turn))
    return claim and any(map(mending.GRANTS.match, (*turn.said()[:1], outcome(turn))))


def _replaced(facts: Facts, edits: Sequence[Edit], at: str) -> bool:
    """Tell whether nothing of a mend lasted, and the model named another cause before it was replaced."""
    changed = [edit.at for edit in facts.edits if edit.at > at and edit.path in {one.path for one in edits}]
    if not changed or any(not edit.hunk or hunks.lasting(edit.hunk, later(edit, facts)) for edit in edits):
        return False
    between = [(number, turn) for number, turn in enumerate(facts.turns) if at < turn.at <= changed[-1]]
    return any(other.cause.weight >= causes.FOUND for number, turn in between if turn.asked != SUMMARY
               for other in causes.told(turn, number))
