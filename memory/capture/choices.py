"""What was decided in a stretch, by the user first, then by the model where it states a choice with its reason; and what a turn
did that was tried in vain, or that a later one took back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memory.capture import conversationpage, gist, turns, upshot
from memory.capture.gist import DECISION, heading_of, outcome, statements, wide
from memory.capture.turns import ANSWER, APPROVED, REFUSED, SUMMARY, USER, WORKING, Turn
from memory.capture.upshot import HEADING, ITEM, LINE, PROSE, SHORTEST, bare, says, sentences_of
from memory.core.plaintext import at_word, one_line, sentences
from memory.session import deeds
from memory.session.latepattern import Late

_MOST_USER, _MOST_MODEL = 8, 3
_DECIDED = Late(
    r"\b(?:decided|decision|chose|chosen|opted|in favou?r of|trade-?offs?|on purpose|deliberately|intentional(?:ly)?|by design|"
    r"going with|went with|stick(?:ing)? with|settled on|(?:i|we)(?:'d| would)? (?:prefer|recommend)|preferred|entschieden)\b|"
    r"하기로|결정|ことにし|決め|决定|決定|而不是|改用", re.I)
_CHOSEN = Late(r"\b(?:instead of|rather than|switched (?:to|from)|kept|keep|use[sd]?|using|avoid(?:s|ing)?|anstatt|"
               r"stattdessen|statt|behalten|behielt)\b|"
               r"대신|유지|代わりに|使い|使う|改用|用", re.I)
_REASON = Late(r"\b(?:because|since|so that|to avoid|due to|otherwise|as (?:it|this|that|they|we)\b|in order to|"
               r"for (?:consistency|safety|"
               r"clarity|performance|simplicity)|weil|damit|wegen)\b|때문|위해|ため|理由|因为|因為|为了|為了", re.I)
_REPORTING = Late(r"(?:updated?|changed?|fixed|added|removed|modified|files? changed|result|alternatives?|additional|"
                  r"the (?:issue|problem|bug|test)|"
                  r"before|after|now|both|all|and (?:updated|changed))\b", re.I)
_CORRECTION = Late(
    r"(?:no\b|nope\b|nah\b|don't\b|do not\b|stop\b|wait\b|actually\b|instead\b|rather\b|not\b|never\b|revert\b|undo\b|"
    r"i(?:'d| would)? (?:rather|prefer)\b|i (?:don't|do not) (?:want|like|think)\b|i want\b|i think (?:we|it|the|that)\b|"
    r"we (?:should|shouldn't|need|don't|want|can't|must)\b|it should(?:n't)?\b|"
    r"let's (?:not|use|keep|go|do|make|leave|skip|remove|drop|call|rename|stick|just|only|have|put)\b|"
    r"please (?:don't|keep|use|do not)\b|keep\b|use\b|아니|하지 ?마|違|いや|不要|不是|别|nein\b|nicht\b|lieber\b)", re.I)
_HEDGED = Late(r"\b(?:your decision|you decide|existing|original|current(?:ly)?|recommend|suggest|could|would|might|"
               r"options?\b|how it works|"
               r"decision (?:logic|whether)|"
               r"lean towards?|seems?|"
               r"trade-?offs? (?:is|are|would)|if (?:you|we))\b|[?？]", re.I)
_OWN = Late(r"(?:i|we|ich|wir)\b|(?:kept|keeping|used|using|chose|switched|left|decided|decision|so)\b", re.I)
_PICKED = Late(
    r"(?:(?:implement |do |go (?:with|for) |let'?s (?:do |go (?:with|for) |implement )?)?(?:the )?(?:options?|variant|"
    r"approach|solution) \w{1,2}\b|"
    r"let'?s\b|leave\b|abandon\b|go (?:with|for)\b|(?:the )?(?:first|second|third|latter|former|both)\b|only\b|yes[,.] \w|"
    r"skip\b|[1-9a-d]\W*$)",
    re.I)
_AGREED = Late(r"(?:yes|ok)[,.]? (?:exactly|please|do (?:it|that)|go ahead|sure|thanks|that)\b.{0,30}$", re.I)
_NUMBERED = Late(r"\b(?:options?|variant|approach|solution)? ?([1-9a-d])\b", re.I)

_LISTED = Late(r"[#*\s-]*((?:options?|variant|approach|solution) [1-9a-d]\b\**[.):*\s–-]+\S.*)", re.I)
_REFUSED = Late(r"the user refused (\w+) .*?: ")
_PROPOSED = frozenset(("a", "Edit", "Write", "MultiEdit", "NotebookEdit", "ExitPlanMode"))  # refused most often with a wish
_NO = Late(
    r"(?:no\b(?!\W*(?:wait|ignore|problem|worries|idea|need|sorry|thanks)\b)|don't|do not|not\b|never\b(?! ?mind)|stop\b|"
    r"revert\b|undo\b|we (?:don't|do not) (?!have\b|know\b)|"
    r"we (?:can't|cannot|shouldn't|should not)|i (?:don't|do not) (?:want|like)|"
    r"let's not|please (?:don't|do not)|아니|하지|いや|不要|别|nein|nicht)", re.I)

_TRIED = Late(
    r"\A(?:reverted|undid|rolled back|backed out|abandoned)\b.*\b(?:since|because|as (?:it|that|they)|which|due to|but)\b|"
    r"\A(?:removed|dropped)\b.*\b(?:since|because|as (?:it|that|they)|due to)\b.*(?:n't\b|\b(?:not|never|no|broke|breaks?|"
    r"fail\w*|wrong\w*)\b)|\b(?:i|we) (?:first |also |then )?tried\b|"
    r"\bdid(?:n't| not) (?:actually |really |properly )?(?:work|help|fix|solve|apply|support)\b|\b(?:had no effect|rolled back|"
    r"backed out|gave up|dead end|wrong approach|made it worse)\b|"
    r"되돌렸|戻しました|効きません|回滚|zurückgenommen|hat nicht (?:funktioniert|geholfen)", re.I)
_WEIGHED = Late(  # what stands below such a heading is no deed
    r"\b(?:pros?|cons?|why|how|possible|options?|alternatives?|risks?|trade-?offs?|limits?|limitations?|concerns?|constraints?|"
    r"problems?|issues?|causes?|before|reverted)\b", re.I)
_TOOK_BACK = Late(r"\b(?:reverted|undid|undone|rolled back|backed out|put back)\b|되돌렸|元に戻|回滚|zurückgenommen", re.I)
_OF_A_WAY = Late(  # speaks of how it is to be done, not of a fault
    r"\b(?:should(?:n't)?|could(?:n't)?|would(?:n't)?|rather than|instead|better|prefer\w*|needs?|needn't|useful\w*|why|revert|"
    r"redundant|unnecessary|already|twice|duplicat\w*|repeated)\b|왜|대신|なぜ|代わり|为什么|不如|warum|lieber|stattdessen", re.I)
_BACK = Late(r"\b(?:revert|undo|roll back|go back|back out|give up)\b|되돌|戻して|回滚|zurücknehmen", re.I)
PASTED = (">", "|", "<", "@", "/", "+")  # begins a line that is none of the user's own words
_QUOTED = Late(r"`([^`]+)`")
_SUPPOSED = Late(r"[?？]|\b(?:if|when|whether|could|might|may|either|unless|until|yet|what (?:this|it)|would you|"
    r"do you|later)\b", re.I)


def decisions(held: Sequence[Turn]) -> list[str]:
    """Return what was decided, each in a line: what the user said, newest last, then what the model stated with its reason."""
    own: list[str] = []
    model: list[str] = []
    for number, turn in enumerate(held):
        if turn.asked == SUMMARY:
            continue
        if number and turn.asked in ("", turns.SLASH):
            own += _said(turn, outcome(held[number - 1]))
        own += filter(None, (_steered(piece.name, piece.text) for piece in turn.pieces if piece.kind == USER))
        model += [at_word(one, DECISION) for one in statements(outcome(turn)) if is_decision(one)]
    return [*list(dict.fromkeys(own))[-_MOST_USER:], *list(dict.fromkeys(model))[-_MOST_MODEL:]]


def _said(turn: Turn, before: str) -> list[str]:
    """Return a request as a decision where it corrects or chooses; an option with what it was.  before: the last outcome."""
    line = one_line(turn.request)
    if _PICKED.match(line) and len(line) <= 300 and not line.endswith("?") and not _AGREED.match(line):
        number = _NUMBERED.search(line[:40])
        option = _option(before, number[1]) if number else ""
        if option or len(line) >= 20:
            return ["the user chose: %s%s" % (at_word(line, DECISION - 60), " (%s)" % at_word(option, 110) if option else "")]
    return ["the user: " + at_word(line, DECISION - 20)] if is_correction(turn.request) else []


def _option(statement: str, number: str) -> str:
    """Return the line of a statement that an option of a number begins."""
    begins = re.compile(r"[#*\s]*(?:options? |variant |approach |solution )?%s[.):*\s-]+(\S.*)" % re.escape(number), re.I)
    found = [match[1] for match in map(begins.match, statement.split("\n")) if match]
    return one_line(found[-1].replace("**", "")) if found else ""


def options(statement: str) -> list[str]:
    """Return the options that a statement lists as such, each as `Option 1: …`."""
    return [one_line(match[1].replace("**", "")) for match in map(_LISTED.match, statement.split("\n")) if match]


def _steered(mark: str, text: str) -> str:
    """Return what the user said inside a turn as a line of a decision, "" where it decides nothing."""
    line = one_line(text)
    if mark == ANSWER and line:
        return "the user chose: " + at_word(line, DECISION - 20)
    if mark == APPROVED:
        return "the user approved the plan: " + at_word(heading_of(text), 120)
    if mark.startswith(REFUSED) and len(line) >= 8:
        return "the user %s: %s" % (at_word(mark, 90), at_word(line, DECISION - 20))
    return "the user: " + at_word(line, DECISION - 20) if mark == WORKING and is_correction(text) else ""


def is_correction(request: str) -> bool:
    """Tell whether a request says how something is to be, rather than asks or orders."""
    line = one_line(request)
    first = (sentences(line) or [""])[0]
    return 20 <= len(line) <= 600 and not line.endswith("?") and not first.endswith("?") and bool(_CORRECTION.match(first))


def forbids(decision: str) -> bool:
    """Tell whether a line of `decisions` says what is not to be done.

    That is a command that the user refused with a reason, and a no that a sentence of theirs begins with; one who refuses
    an edit and says how it is to be wants it otherwise.
    """
    refused = _REFUSED.match(decision)
    if not refused and not decision.startswith("the user: "):
        return False
    said = decision[refused.end() if refused else len("the user: "):]
    if refused and refused[1] not in _PROPOSED:
        return not said.endswith(("?", "？"))
    first, *more = sentences(said) or [""]
    return any(map(_NO.match, [first, *more] if refused else [first]))


def is_decision(sentence: str) -> bool:
    """Tell whether a sentence of the model states a choice, with its reason or as one."""
    if not (12 if wide(sentence) else 24) <= len(sentence) <= 600 or sentence.endswith(("?", "？", ":", "：", "…")):
        return False
    if gist.is_announced(sentence) or _offer(sentence):
        return False
    if _HEDGED.search(sentence) or not (wide(sentence) or _OWN.match(sentence) or re.search(r"\bon purpose\b|deliberate|"
    r"intentional", sentence)):
        return False
    if _DECIDED.search(sentence):
        return True
    return bool(_CHOSEN.search(sentence) and _REASON.search(sentence)) and not _REPORTING.match(sentence.lstrip("`*"))


def _offer(sentence: str) -> bool:
    return bool(re.match(r"(?:would you|do you|want me|should i|shall i|if you|you could|you can|we could|consider|"
                         r"one option|alternatively|"
                         r"option \w+\b|either|perhaps|maybe)", sentence, re.I))


def dead_ends(held: Sequence[Turn]) -> list[str]:
    """Return what was tried in vain, each in a line, the newest last.

    That is what turns say did not work or was taken back, ways that the user objected to, and what the client's summary says
    was tried first.
    """
    against = dict(objections(held).values())
    found = [line for at, turn in enumerate(held) for line in (
        conversationpage.gave_up(turn) if turn.asked == SUMMARY else [*filter(None, [against.get(at)]), *_in_vain(turn)])]
    return list(dict.fromkeys(found))


def objections(held: Sequence[Turn]) -> dict[int, tuple[int, str]]:
    """Return of each turn whose work the user objected to (the number of the turn that did, the objection in a line)."""
    links = turns.follow(held)
    found = {}
    for at in range(1, len(held)):
        worked = next((one for one in range(at - 1, max(-1, at - 4), -1) if _files(held[one])), -1)
        line = _objected(held, links[at], at, worked) if worked >= 0 else ""
        if line:
            found[worked] = at, line
    return found


def _in_vain(turn: Turn) -> list[str]:
    """Return the sentences of a turn's outcome that say what was tried and did not work, or was taken back.

    Only a turn that edited or ran something tried anything; what is weighed, quoted or a heading is no deed.
    """
    if not any(piece.kind in (turns.FILE, turns.RUN) for piece in turn.pieces):
        return []
    found = [line for line in map(bare, _deeds(outcome(turn))) if _TRIED.search(line) and not _SUPPOSED.search(line)]
    found = [line for line in found if line[:1] not in "\"“'"]
    return [line for line in found if SHORTEST < len(line) <= 2 * LINE and not deeds.CUT.search(line) and says(line)]


def _objected(held: Sequence[Turn], link: turns.Link, at: int, worked: int) -> str:
    """Return what the user objected to in the work before a turn, and why the reply agreed; "" where it is no way of doing it.

    link: of the turn.  worked: the number of the turn that edited something last.
    """
    turn, lines = held[at], gist.prose(held[at].request)
    own = one_line(" ".join(line for line in lines if line[:1] not in PASTED))
    if turn.asked or not own or len(own) > 2 * LINE or lines[0][:1] in PASTED:
        return ""
    told = [" ".join(sentences(own)[:2]), sentences(own)[0]]
    if _BACK.search(told[0]) and not told[0].endswith(("?", "？")):
        of = upshot.best(outcome(held[worked])) or gist.topic(held[worked].request, LINE)
        return "the user: %s%s" % (told[0], " (of: %s)" % of if of and "…" not in of else "")
    before = next(one for one in reversed(held[:at]) if one.asked != SUMMARY)
    if link.how != turns.OBJECTS or not (gist.is_finished(before) or _files(before)) or not turns.concedes(turn):
        return ""
    said = [bare(text) for _, text in sentences_of("\n".join(turn.said()[:1]))]
    said = [text for text in said if says(text) and SHORTEST < len(text) <= LINE + 50 and not (
        text.endswith(("?", ":")) or turns.CONCEDES.match(text) or gist.is_announced(text))]
    why = next((text for text in said if not deeds.POINTS.match(text)), next(iter(said), ""))
    if not why or not _OF_A_WAY.search(own) or deeds.AT_FAULT.search(why):
        return ""
    return "the user: %s → %s" % (told[len(told[0]) + len(why) > 2 * LINE - 20], why)


def _deeds(statement: str) -> Iterator[str]:
    """Yield the sentences of a statement apart from headings, and from what stands below one that weighs something."""
    weighed = False
    for kind, text in sentences_of(statement):
        if kind == HEADING or kind == PROSE and text.endswith((":", "：")):
            weighed = bool(_WEIGHED.search(text))
        if kind == PROSE or kind == ITEM and not weighed:
            yield text


def standing(held: Sequence[Turn], anew: bool = True) -> list[Turn]:
    """Return turns without those whose work was taken back, or, with `anew`, done anew once somebody had objected to it."""
    gone: set[int] = set()
    links = turns.follow(held)
    last, doubted = -1, False  # the last turn that edited something, and whether somebody has objected to it since
    for at, turn in enumerate(held):
        if turn.asked == SUMMARY:
            continue
        came = outcome(turn)
        gone |= {one for one in range(at) if _takes_back(came, held[one])}
        objected = links[at].how == turns.OBJECTS
        doubted = doubted or objected
        files = _files(turn)
        near = last >= 0 and (files & _files(held[last]) or files and objected and last == at - 1)
        if near and (_is_taken_back(came) or anew and doubted and _redoes(came, held[last])):
            gone.add(last)
        if files and gist.is_finished(turn):
            last, doubted = at, False
    return [turn for at, turn in enumerate(held) if at not in gone]


def _files(turn: Turn) -> set[str]:
    return {piece.text for piece in turn.pieces if piece.kind == turns.FILE}


def _takes_back(statement: str, turn: Turn) -> bool:
    """Tell whether a statement says that what a turn did was taken back, by a name that both quote."""
    named = set(_QUOTED.findall(upshot.best(outcome(turn)))) if _TOOK_BACK.search(statement) else set()
    return bool(named) and any(_TOOK_BACK.search(text) and named & set(_QUOTED.findall(text)) and not _SUPPOSED.search(text)
                               for _, text in sentences_of(statement))


def _is_taken_back(statement: str) -> bool:
    return bool(_TOOK_BACK.match(bare(next((text for _, text in sentences_of(statement)), ""))))


def _redoes(statement: str, turn: Turn) -> bool:
    """Tell whether a statement is about what an earlier turn changed: it has half of the words that name it."""
    told = [upshot.words_of(line) for line in (upshot.best(outcome(turn)), gist.topic(turn.request))]
    made = any(piece.kind == turns.FILE and piece.name == turns.CREATED for piece in turn.pieces)
    said = upshot.words_of(statement)
    return not made and any(len(words) > 2 and 2 * len(words & said) >= len(words) for words in told)


# --- what became of a turn

_SINCE, _MOST, _LAST = 200, 3, 2  # characters of a sentence that says what came; turns told of those that went on, the last ones
_SPEAKS = 2.25  # what a sentence of a turn that was not meant must say of it
_ALIKE, _NEXT = 0.25, 0.12  # how alike a turn that adds to one is to it, and the next one
_NOW = Late(r"\b(?:now|instead|no longer|again)\b|→", re.I)
_ASKS = Late(r"[?？][*_ ]*$", re.M)  # a line that asks: the items beside it are what one may choose from
_THEN = ("Then ", "So ", "And ", "→", "<", "‹")  # begins what leans on the sentence before it, or is a tag


class Since(NamedTuple):
    """What became of a turn: the number of a later one, and the sentence that says what came of that."""

    turn: int
    line: str


def course(held: Sequence[Turn]) -> turns.Course:
    """Return how turns go on with one another, by what they came to, without code."""
    return turns.course(held, lambda turn: "\n".join(gist.prose(outcome(turn))))


def became(held: Sequence[Turn], number: int, way: turns.Course | None = None) -> list[Since]:
    """Return what later turns made of what a turn said: none, or up to three, each in a sentence, the first one first.

    A turn that agrees or objects is meant for it, whatever its words are.  One that asks for more, or that edits a file which
    it edited or named, must say a change of the same.  Who neither changed a file nor conceded nor went by what the user
    said made nothing of it.  way: of all turns, where several are asked for.
    """
    way, found = way or course(held), []
    for at, meant in _heirs(held, number, way):
        news = [(way.shared(words, way.words[number]) + worth, line) for line, words, worth in _lines(outcome(held[at]))
                if (meant or worth > 0) and way.is_news(words, number, at)]
        most, line = max(news, default=(0.0, ""))
        if line and (meant or most >= _SPEAKS):
            found.append((not meant, -most, Since(at, at_word(one_line(line), _SINCE).rstrip(":;,"))))
    found = [one for at, one in enumerate(found) if not any(upshot.same(one[2].line, later[2].line) for later in found[at + 1:])]
    return sorted(one for _, _, one in found[-_LAST:] + sorted(found[:-_LAST])[:_MOST - _LAST])


@lru_cache(maxsize=256)  # of each turn of a session the same statements are asked for
def _lines(statement: str) -> list[tuple[str, frozenset[str], float]]:
    """Return (the sentence, its words, how well it tells a change) of the sentences of a statement that stand by themselves."""
    from memory.session import mending  # a session's end does not ask

    asks, found = _ASKS.search(statement), []
    for kind, text in sentences_of(statement):
        line = bare(text)
        worth = _changes(line, deed := mending.without_place(line))
        talk = line.endswith(("?", "？")) or line.startswith(_THEN) or turns.CONCEDES.match(line) or gist.is_announced(text)
        if talk or any(map(deeds.ASIDE.match, (line, text))) or not says(deed) or kind == ITEM and asks and worth < 1:
            continue
        worth -= 0.5 * (kind != PROSE and worth <= 0 or worth < 1 and bool(deeds.WOULD.search(line)))
        if len(line) >= SHORTEST // (2 if wide(line) else 1):
            found.append((line, turns.words(line), worth))
    return found


def _changes(line: str, deed: str) -> float:
    """Return how much a sentence says a change, less than 0 for what was and for a lead.  deed: it without its place."""
    leads = line.endswith((":", "："))
    if deeds.REPORTS.match(deed):
        return 0.5 if leads else 1.0
    if leads or deeds.FAULT.match(line) or deeds.BEFORE.match(line.partition(":")[0]):
        return -0.5
    return 0.5 * any(one.search(line) for one in (deeds.PASSIVE, deeds.FOUND, _NOW, _TOOK_BACK))


def _heirs(held: Sequence[Turn], number: int, way: turns.Course) -> Iterator[tuple[int, bool]]:
    """Yield the turns that may have made something of a turn, each with whether it is meant for it."""
    close, meant, direct = {number}, set[int](), {number}  # on the same matter; of these, meant for one; meant for it
    own, after = [number], set(turns.later(way.links, number))  # it, and those that said yes to it; those that go on with it
    for at in range(number + 1, len(held)):
        to, how = way.links[at]
        rest = held[at].asked == turns.GOES_ON and to in meant
        if to in close and (rest or how != turns.ADDS):
            meant.add(at)
        near = turns.cosine(way.words[number], way.words[at]) >= (_NEXT if at == number + 1 else _ALIKE)
        if not (at in meant or at in after and near or _touches(held, own, at, way)):
            continue
        close.add(at)
        own += [at] if to in own and (rest or how == turns.AGREES) else []
        taken = to in direct and turns.takes_up(held[at])
        direct |= {at} if to in direct and (taken or at in meant) else set()
        if held[at].did or at in direct and (taken or turns.concedes(held[at])):
            yield at, taken or at in meant


def _touches(held: Sequence[Turn], own: Sequence[int], at: int, way: turns.Course) -> bool:
    """Tell whether a turn edits a file that one of some earlier turns edited or named, and speaks of the same."""
    if max(turns.cosine(way.words[one], way.words[at]) for one in own) < _ALIKE:
        return False
    known, named = set().union(*(_files(held[one]) for one in own)), " ".join(outcome(held[one]) for one in own)
    return any(file in known or file.rpartition("/")[2] in named for file in _files(held[at]))
