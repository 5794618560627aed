"""What was decided in a stretch, by the user first, then by the model where it states a choice with its reason; what is left open
at its end; and what a later turn took back, or made of an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memory.capture import gist, turns, upshot
from memory.capture.gist import DECISION, heading_of, outcome, statements, wide
from memory.capture.turns import ANSWER, APPROVED, REFUSED, SUMMARY, USER, WORKING, Turn
from memory.capture.upshot import ITEM, PROSE, SHORTEST, bare, says, sentences_of
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
TOOK_BACK = Late(r"\b(?:reverted|undid|undone|rolled back|backed out|put back)\b|되돌렸|元に戻|回滚|zurückgenommen", re.I)
PASTED = (">", "|", "<", "@", "/", "+")  # begins a line that is none of the user's own words
_QUOTED = Late(r"`([^`]+)`")
SUPPOSED = Late(r"[?？]|\b(?:if|when|whether|could|might|may|either|unless|until|yet|what (?:this|it)|would you|"
    r"do you|later)\b", re.I)


def decisions(held: Sequence[Turn]) -> list[str]:
    """Return what was decided, each in a line: what the user said, newest last, then what the model stated with its reason."""
    own, model = list[str](), list[str]()
    for number, turn in enumerate(held):
        if turn.asked == SUMMARY:
            continue
        if number and turn.asked in ("", turns.SLASH):
            own.append(said(turn, outcome(held[number - 1])))
        own += [_steered(piece.name, piece.text) for piece in turn.pieces if piece.kind == USER]
        model += [at_word(one, DECISION) for one in statements(outcome(turn)) if is_decision(one)]
    return [*list(dict.fromkeys(filter(None, own)))[-_MOST_USER:], *list(dict.fromkeys(model))[-_MOST_MODEL:]]


def said(turn: Turn, before: str) -> str:
    """Return a request as a decision where it corrects or chooses, else ""; of an option, what it was.  before: what was said."""
    line = one_line(turn.request)
    if _PICKED.match(line) and len(line) <= 300 and not line.endswith("?") and not _AGREED.match(line):
        number = _NUMBERED.search(line[:40])
        meant = option(before, number[1]) if number else ""
        if meant or len(line) >= 20:
            return "the user chose: %s%s" % (at_word(line, DECISION - 60), " (%s)" % at_word(meant, 110) if meant else "")
    return "the user: " + at_word(line, DECISION - 20) if is_correction(turn.request) else ""


def option(statement: str, number: str) -> str:
    """Return the line of a statement that an option of a number begins; before one that only speaks of it, one that lists it."""
    begins = r"(?i)[#*\s]*(?:options? |variant |approach |solution )?" + re.escape(number)
    ways = (re.compile(begins + r"\s+(\S.*)"), re.compile(begins + r"[*\s]*[.):*-][.):*\s-]*(\S.*)"))
    found = [match[1] for way in ways for match in map(way.match, statement.split("\n")) if match]
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
        objected = links[at].how == turns.OBJECTS and links[at].to >= last
        doubted = doubted or objected
        files = files_of(turn)
        near = last >= 0 and (files & files_of(held[last]) or files and objected and last == at - 1)
        if near and (is_taken_back(came) or anew and doubted and _redoes(came, held[last])):
            gone.add(last)
        if files and gist.is_finished(turn):
            last, doubted = at, False
    return [turn for at, turn in enumerate(held) if at not in gone]


def files_of(turn: Turn) -> set[str]:
    """Return the files that a turn changed."""
    return {piece.text for piece in turn.pieces if piece.kind == turns.FILE}


def _takes_back(statement: str, turn: Turn) -> bool:
    """Tell whether a statement says that what a turn did was taken back, by a name that both quote."""
    named = set(_QUOTED.findall(upshot.best(outcome(turn)))) if TOOK_BACK.search(statement) else set()
    return bool(named) and any(TOOK_BACK.search(text) and named & set(_QUOTED.findall(text)) and not SUPPOSED.search(text)
                               for _, text in sentences_of(statement))


def is_taken_back(statement: str) -> bool:
    return bool(TOOK_BACK.match(bare(next((text for _, text in sentences_of(statement)), ""))))


def _redoes(statement: str, turn: Turn) -> bool:
    """Tell whether a statement is about what an earlier turn changed: it has half of the words that name it."""
    def lines() -> Iterator[str]:
        yield from (upshot.best(outcome(turn)), gist.topic(turn.request))
        yield from (one.line for one in upshot.of_turns([turn])[:1])

    made = any(piece.kind == turns.FILE and piece.name == turns.CREATED for piece in turn.pieces)
    said = upshot.words_of(statement)
    return not made and any(len(words) > 2 and 2 * len(words & said) >= len(words) for words in map(upshot.words_of, lines()))


# --- what is left

_CHOICE = re.compile(r"\b(?:which|option|approach|prefer|either|or)\b|어느|どちら|哪", re.I)
_EITHER = re.compile(r"\b(?:which|prefer|either|or)\b|어느|どちら|哪", re.I)
_KEEPS = re.compile(r"\b(?:commit|push|merge|pull request|pr)\b", re.I)  # an offer to keep what was done: nobody has yet
_LATER = Late(  # puts something off
    r"\b(?:leave|skip|park|defer|postpone|keep|do|handle|address|tackle|fix|clean|look|come|go|get|follow)\b.{0,80}"
    r"\b(?:later|for a future|in (?:the|a) future|follow[- ]?up|(?:separate|another|next|different|future) (?:task|pr|branch|"
    r"pull request|issue|change|session|time))\b|\bfollow up (?:with|on)\b|나중에|後で|以后再|später", re.I)
_OFFERS = Late(
    r"\Aready (?:to|for)\b|\bif you(?:['’]d| would)? (?:like|want|prefer)\b|\bup to you\b|"
    r"\A(?:then )?you(?:['’]ll| will)? (?:(?:may|might|should|will) (?:also |now |still )?(?:want|need|have) to|"
    r"still need to)\b", re.I)
_SAYS, _WAYS, _BOXES = 2, 220, 3  # what a question says by itself, at least; characters of a choice; boxes that are told
_BOX = Late(r"\s*[-*+] \[ \] (\S.*)")
_OR = re.compile(r"[.:;,]? Or (?=[a-z])")  # between two ways


def still_next(steps: Sequence[str], held: Sequence[Turn]) -> list[str]:
    """Return the next steps that no later turn was asked for: the last two do not name half of their words, two at least."""
    last = gist.closing(held)
    if last is None or not gist.is_finished(last):
        return list(steps)
    asked = [upshot.words_of(turn.request) for turn in held[-2:] if turn.asked != turns.SUMMARY]
    return [step for step, words in zip(steps, map(upshot.words_of, steps)) if not any(
        len(words & said) > 1 and 2 * len(words & said) >= len(words) for said in asked)]


def folded(steps: Sequence[str]) -> list[str]:
    """Return steps with those in one line that stand below one which leads up to them."""
    found: list[str] = []
    for step in steps:
        leads = bool(found) and found[-1].endswith((":", "："))
        if leads and step[:1] in "`-*" or found and step[:1] == "`" and ": `" in found[-1]:
            found[-1] += (" " if leads else "; ") + step
        else:
            found.append(step)
    return [step.rstrip(":： ") for step in found]


def put_off(held: Sequence[Turn]) -> list[str]:
    """Return what the model offers at the end, without a question, what it left unticked, and what the user left for later."""
    last = gist.closing(held)
    said = gist.outcome(last) if last and gist.is_finished(last) else ""
    told = [upshot.bare(text) for _, text in upshot.sentences_of(said)]
    found = ["offered: " + one for one in told[-3:] if _OFFERS.search(one) and not one.endswith(("?", "？", ":"))]
    found += ["unticked: " + one_line(match[1]) for match in map(_BOX.match, said.split("\n")) if match][:_BOXES]
    for at, turn in enumerate(held):
        lines = [line for line in gist.prose(turn.request) if line[:1] not in PASTED] if not turn.asked else []
        asked = (one for line in lines for one in sentences(line) if _LATER.search(one))
        for text in (one for one in asked if len(one) <= upshot.LINE and not one.endswith(("?", "？"))):
            about = _meant(held[:at]) if deeds.LEANS.search(text) and gist.telling(text) <= _SAYS else ""
            found.append("left for later: %s%s" % (text, " (%s)" % about if about else ""))
    return found


def _meant(before: Sequence[Turn]) -> str:
    """Return what the last request was about that does not lean on another one, of the last four, else the last one."""
    topics = [gist.topic(turn.request, upshot.LINE // 2) for turn in before[-4:] if turn.asked != turns.SUMMARY]
    own = [one for one in topics if gist.telling(one) > _SAYS and not deeds.LEANING.search(one)]
    return next(reversed(own or topics), "")


def left_open(lines: Sequence[str], held: Sequence[Turn]) -> list[str]:
    """Return what is open; a question that leaves a choice with what there is to choose from, none that asks for a go."""
    last = gist.closing(held)
    offered = options(gist.outcome(last)) if last else []
    listed = _listed(gist.outcome(last)) if last else ""
    found = [listed] if listed else []
    for line in lines:
        asks = line.endswith(("?", "？"))
        if asks and line.rstrip("?？ ") in listed:
            continue
        if asks and offered and _CHOICE.search(line):
            found.append("%s %s" % (line, "; ".join(at_word(one, 60) for one in offered[:3])))
        elif not asks or gist.telling(line) > 2 or _KEEPS.search(line):
            found.append(line)
        elif last and _asked_on(last, line):
            found.append("%s (%s)" % (line, _asked_on(last, line)))
    return found


def undecided(held: Sequence[Turn]) -> list[str]:
    """Return what the last statement leaves somebody to choose, in a line with what there is to choose from; no mere go."""
    last = gist.closing(held)
    said = gist.outcome(last) if last and gist.is_finished(last) else ""
    asked = [one for one in gist.questions(held) if _EITHER.search(one) and not _KEEPS.search(one)][-1:]
    ways = [at_word(re.sub(r"\A\W*\w+ \w\W+", "", one), 60) for one in options(said)[:3]] if asked else []
    if last and ways:
        about = re.sub(r"\Aif\b", "whether", gist.topic(last.request, 60))
        return ["%s%s" % ("" if deeds.LEANING.search(about) else about + ": ", "; or ".join(ways))]
    listed = _listed(said).partition(": ")[2]
    return [listed] if listed else [one if gist.telling(one) > _SAYS else _asked_on(last, one) for one in asked if last]


def _listed(statement: str) -> str:
    """Return the question that a statement ends with as a list, `Would you like me to: this; or that?`; "" for none."""
    lines = [line for line in statement.rstrip().split("\n") if line.strip()]
    many = next((many for many, line in enumerate(reversed(lines)) if not deeds.LISTED.match(line)), 0)
    items = [one_line(deeds.LISTED.sub("", line, count=1)).replace("**", "") for line in lines[len(lines) - many:]]
    lead = lines[-1 - many] if 1 < many < len(lines) else ""
    if not lead.rstrip(" *").endswith((":", "：")) or not any(item.endswith(("?", "？")) for item in items):
        return ""
    lead = one_line((sentences(lead) or [""])[-1]).replace("**", "")
    return "%s %s?" % (lead, "; or ".join(at_word(item.rstrip("?？. "), 80) for item in items[:4]))


def _asked_on(turn: Turn, question: str) -> str:
    """Return what a question at the end of a turn is about: what is said before it, of a choice two sentences, a list whole."""
    said = [(kind, one_line(text)) for kind, text in upshot.sentences_of(gist.outcome(turn))]
    at = next((at for at, (_, text) in enumerate(said) if text.startswith(question[:40])), 0)
    first = max(0, at - 1 - bool(_CHOICE.search(question)))
    while first > 0 and (said[first][1].startswith("Or ") or said[first][0] == ITEM and not _CHOICE.search(question)):
        first -= 1
    whole = ""
    for kind, text in said[first:at]:
        if not (whole and deeds.POINTS.match(text)):
            whole += ("" if not whole else " " if whole[-1] in ".:;,!?" else "; " if kind == ITEM else ". ") + text
    return at_word(_OR.sub(", or ", whole), _WAYS)


# --- what became of a turn

_SINCE, _MOST, _LAST = 200, 3, 2  # characters of a sentence that says what came; turns told of those that went on, the last ones
_MOST_OWN = 8  # turns that said yes to one, that count as part of it
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
    return turns.course(held, [outcome(turn) for turn in held], lambda said: "\n".join(gist.prose(said)))


def became(held: Sequence[Turn], number: int, way: turns.Course | None = None) -> list[Since]:
    """Return what later turns made of what a turn said: none, or up to three, each in a sentence, the first one first.

    A turn that agrees or objects is meant for it, whatever its words are.  One that asks for more, or that edits a file which
    it edited or named, must say a change of the same.  Who neither changed a file nor conceded nor went by what the user
    said made nothing of it.  way: of all turns, where several are asked for.
    """
    way = way or course(held)
    told = (_news(number, way, at, meant) for at, meant in _heirs(held, number, way))
    found = [one for one in told if one is not None]
    found = [one for at, one in enumerate(found) if not any(upshot.same(one[2].line, later[2].line) for later in found[at + 1:])]
    return sorted(one for _, _, one in found[-_LAST:] + sorted(found[:-_LAST])[:_MOST - _LAST])


def lastly(held: Sequence[Turn], number: int, way: turns.Course) -> Since | None:
    """Return the last of what `became` returns, None where that is nothing."""
    for at, meant in reversed([*_heirs(held, number, way)]):
        found = _news(number, way, at, meant)
        if found is not None:
            return found[2]
    return None


def _news(number: int, way: turns.Course, at: int, meant: bool) -> tuple[bool, float, Since] | None:
    """Return what a later turn made of one, with what it is ranked by; None for nothing.  meant: it is meant for it."""
    news = [(way.shared(words, way.words[number]) + worth, line) for line, words, worth in _lines(way.came[at])
            if (meant or worth > 0) and way.is_news(words, number, at)]
    most, line = max(news, default=(0.0, ""))
    if not line or not (meant or most >= _SPEAKS):
        return None
    return not meant, -most, Since(at, at_word(one_line(line), _SINCE).rstrip(":;,"))


@lru_cache(maxsize=4096)  # of each turn of a session the same statements are asked for; of 400 turns 30 s with fewer, 6 s so
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
    return 0.5 * any(one.search(line) for one in (deeds.PASSIVE, deeds.FOUND, _NOW, TOOK_BACK))


def _heirs(held: Sequence[Turn], number: int, way: turns.Course) -> Iterator[tuple[int, bool]]:
    """Yield the turns that may have made something of a turn, each with whether it is meant for it."""
    close, meant, direct = {number}, set[int](), {number}  # on the same matter; of these, meant for one; meant for it
    own, after = [number], set(turns.later(way.links, number))  # it, and those that said yes to it; those that go on with it
    for at in range(number + 1, min(len(held), number + 1 + turns.REACH)):
        to, how = way.links[at]
        rest = held[at].asked == turns.GOES_ON and to in meant
        if to in close and (rest or how != turns.ADDS):
            meant.add(at)
        alike = turns.cosine(way.words[number], way.words[at])
        near = at in after and alike >= (_NEXT if at == number + 1 else _ALIKE)
        if not (at in meant or near or _touches(own, at, way, alike)):
            continue
        close.add(at)
        own += [at] if to in own and (rest or how == turns.AGREES) and len(own) < _MOST_OWN else []
        taken = to in direct and turns.takes_up(held[at])
        direct |= {at} if to in direct and (taken or at in meant) else set()
        if way.did[at] or at in direct and (taken or turns.concedes(held[at])):
            yield at, taken or at in meant


def _touches(own: Sequence[int], at: int, way: turns.Course, alike: float) -> bool:
    """Tell whether a turn edits a file that one of some earlier turns edited or named, and speaks of the same.

    alike: how much it is like the first of these.
    """
    files = way.files[at]
    if not files or max((alike, *(turns.cosine(way.words[one], way.words[at]) for one in own[1:]))) < _ALIKE:
        return False
    if any(not files.isdisjoint(way.files[one]) for one in own):
        return True
    named = " ".join(way.came[one] for one in own)
    return any(file.rpartition("/")[2] in named for file in files)
