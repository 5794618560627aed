"""Turns: a request and all that was said and done until it was dealt with; the unit of everything that is told of a session."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from memory.core import tokeniser
from memory.core.plaintext import one_line
from memory.session import commandline, shell, tellingline
from memory.session.latepattern import Late

SAID, USER, RUN, FILE, COMMIT, REPORT, LINK, MERGED = "said", "user", "run", "file", "commit", "report", "link", "merged"
SLASH, BANG, SUMMARY, GOES_ON, WITHDRAWN, TEAM = "slash", "bang", "summary", "goes on", "withdrawn", "team"
ENDED, INTERRUPTED = "ended", "interrupted"
CREATED, EDITED, REMOVED = "created", "edited", "removed"
WORKING, ANSWER, REFUSED, APPROVED = "while working", "answer", "refused", "approved the plan"


class Piece(NamedTuple):
    """One thing inside a turn.

        kind    text                            name                        result
        SAID    what the model said
        USER    what the user said in between   WORKING, ANSWER, `refused Edit …`, APPROVED (then it is the plan)
        RUN     a command, or what a tool got   the tool, "" for Bash       shell's outcome, and `: ` with the telling line
        FILE    a path                          CREATED, EDITED or REMOVED
        COMMIT  its subject                     its hash, or ""
        REPORT  a subagent's last words         what it was for
        LINK    a pull request's address
        MERGED  a branch, or `#12`              the number of its pull request, or ""

    times: how often it ran so in a row.
    """

    kind: str
    text: str
    name: str = ""
    result: str = ""
    times: int = 1

    @property
    def failed(self) -> bool:
        """Whether a run failed."""
        return self.outcome in (shell.FAILED, shell.TIMED_OUT) or self.outcome.startswith("exit ")

    @property
    def outcome(self) -> str:
        """How a run ended, one of shell's words."""
        return self.result.partition(": ")[0]

    @property
    def telling(self) -> str:
        """The line that says why a run failed, "" where none does."""
        return self.result.partition(": ")[2]


@dataclass
class Turn:
    """A request and what came of it.

    at: the instant of the request, ISO 8601 UTC.  request: what was asked.  asked: how it was asked: "" typed, SLASH, BANG,
    SUMMARY (no request: the client's summary of what it forgets), GOES_ON (the request is of before a compaction), WITHDRAWN (a
    rewind took it back), TEAM (another agent of the session's team asked).  end: ENDED or INTERRUPTED where the host noted it,
    else "".
    """

    at: str
    request: str
    asked: str = ""
    pieces: list[Piece] = field(default_factory=list)
    end: str = ""

    @property
    def is_brief(self) -> bool:
        """Whether the request says too little to begin anything, so that it goes on with what was asked before."""
        return len(self.request) < 160 and self.asked != SUMMARY

    @property
    def did(self) -> bool:
        """Whether it changed a file or committed."""
        return any(piece.kind in (FILE, COMMIT) for piece in self.pieces)

    def said(self) -> list[str]:
        """Return what the model said, in order."""
        return [piece.text for piece in self.pieces if piece.kind == SAID]


def relative(path: str, roots: Iterable[str]) -> str:
    """Return a path relative to the first of the roots that holds it, else as it is."""
    path = path.replace("\\", "/")
    for root in roots:
        root = root.replace("\\", "/").rstrip("/")
        if root and path.startswith(root + "/"):
            return path[len(root) + 1:]
    return path


# --- which turn goes on with which

AGREES, OBJECTS, ADDS = "agrees", "objects", "adds"
_BACK, _READ, _SHORT = 4, 300, 12  # turns looked back on; characters of a request that are judged; words of one that is short
_SAME, _AGAIN = 0.75, 4  # share of a request's words that the one before it has, and how many, where it asks the same anew
_NEW, _FEW = 0.25, 8  # share of a sentence's words that are new where it is; turns of a session at least, where words are weighed
REACH = 60  # turns, before one and after it, that it is compared with
_ALIKE, _LEANING = 0.5, 0.15  # share of a request's words that an earlier turn holds; of one that leans on something
_AGREES = Late(
    r"(?<!\W)\W{0,80}(?:(?:ah|oh|hm{1,80}|well|sorry|great|good|perfect|nice|cool|thanks?|and|so)\b\W{0,80}){0,40}"
    r"(?:y|yes|yeah|yep|ok(?:ay)?|sure|go ahead|go for it|go on|continue|proceed|do (?:it|that|so|this|the fix)|please do|"
    r"sounds good|agreed|exactly|correct|lgtm|makes sense|option \w|(?:can|could) (?:you|we) (?:do|fix|implement|apply|change) "
    r"(?:it|that|this|them|the fix)|(?:let'?s|please|go and|i'd like to) (?:do|fix|implement|apply|add|go with|change) "
    r"(?:it|that|this|them|option \w{1,80}|both|all)|(?:fix|implement|apply) (?:it|that|this|them|both|all)|both|all of them|"
    r"[1-9b-d]|a(?! (?!and\b|or\b)\w)|ja|klar|네|응|좋아|はい|お願い|好的|是的)\b", re.I)
_OBJECTS = Late(
    r"(?<!\W)\W{0,80}(?:(?:ah|oh|ok(?:ay)?|well|yes|yeah|so|and|sorry|i think|now)\b\W{0,80}){0,40}"
    r"(?:hm{1,80}\b|no\b(?! need| more| problem|w)|nope\b|nah\b|wrong\b|but\b|wait\b|actually\b|instead\b|rather\b|"
    r"revert\b|undo\b|"
    r"(?:please|can you|could you|let'?s) (?:revert|undo|roll back)\b|"
    r"(?:i messed up\b.{0,20})?(?:(?:please|can you|could you) ){0,40}(?:re-?do\b|do (?:it|that|this) (?:again|over)\b)|"
    r"(?:that|this|it)(?:['’]s| is| was| looks| seems)(?: still| now)? (?:a bug|wrong|strange|weird|odd|a bit strange|"
    r"not (?:right|correct|true|it|what|the|working))|not (?:quite|right|really|what)\b|"
    r"(?:it |that |this )?(?:still |also )?(?:doesn['’]t|does not|didn['’]t|did not) (?:work|help|fix)|"
    r"(?:i )?still (?:see|get|have|not|the same|fail|broken)|same (?:issue|problem|error)|are you sure\b|"
    r"i (?:also )?meant\b|i (?:don['’]t|do not) (?:like|want|think)|i(?:['’]m| am) (?:questioning|not convinced)|"
    r"why (?:did|do|have|would) you\b|thinking again|on second thought|taking a step back|you (?:wrote|said|forgot|missed)\b|"
    r"nein\b|aber\b|doch\b|das stimmt nicht|아니|틀렸|하지만|근데|いや|でも|違(?:う|い)|不对|错了|不是|但)", re.I)
_LEANS = Late(
    r"\A\W*(?:(?:and|or|also|und|auch)\b|그리고|また|还)|"
    r"\b(?:it|its|this|that|these|those|them|they|there|again|too|instead|above|same|other|rest|both)\b|"
    r"\b(?:also|as well)\b|그것|이것|그거|이거|それ|これ|这|那", re.I)
_ASKS = Late(r"(?<![^.!?:\n。])[^.!?:\n。]+[?？][\s*_`)]*\Z")  # a question that a reply ends with
_OFFERS = Late(  # that one need not answer
    r"\b(?:would you like|do you want|want (?:me )?to|shall (?:i|we)|should (?:i|we)|ready (?:to|for)|may i)\b", re.I)
CONCEDES = Late(  # how a reply begins that finds what was said before it wrong, or not all
    r"\W*(?:ah[, ]*|wait[, ]*|hm+[, ]*)?(?:(?:yes|good (?:catch|point|question|idea)|great (?:catch|point))[!,. –—-]*)?"
    r"(?:you(?:['’]re| are| were|['’]ve| have) (?:\w+ly |quite |raised? )?(?:right|correct|found|spotted)|you raise\b|"
    r"i was wrong|my mistake|i mis(?:read|understood)|i apologi[sz]e|i (?:now )?(?:found|see|spot\w*) (?:an?|one|another) "
    r"(?:\w+ )?(?:issue|bug|problem|gap)\b|there(?:['’]s| is) (?:indeed |actually )?(?:an?|one) (?:\w+ )?"
    r"(?:issue|bug|problem|gap)\b|"
    r"맞습니다|その通り|你说得对|du hast recht)", re.I)
_TAKES_UP = Late(  # how a reply begins that goes by what the user said, and not by what it had in mind
    r"\W*(?:that(?:['’]s| is) an? (?:\w+ )?(?:good|great|cleaner|better|fair|sharp|nice) (?!question)|(?:that )?makes sense\b|"
    r"(?:good|great|fair) (?:call|points?|idea|thinking|insight|choice)\b|got it\b|agreed\b|understood\b)", re.I)
_CHECKS = {tellingline.BUILD: "build", tellingline.LINT: "lint", tellingline.TEST: "tests"}
_FILES = 150  # characters of the files that are named
_PUSH = Late(r"\bgit (?:\S{1,80} ){0,40}?push\b|\bgh pr create\b")
_OPENING = 3  # turns at the beginning, which may name the pull request that all is about
_PULL = Late(r"https?://[^\s<>)\]]{1,160}/(?:pull|merge_requests)/\d{1,80}")
_PROSE_FILE = Late(r"\.(?:md|txt|rst|adoc)\Z", re.I)
_REVERTS = Late(r"\b(?:revert|undo|roll back|put back)\b", re.I)
_ALL = Late(r"\b(?:fix|do|address|implement|handle|resolve|apply|change)\b(?: (?!leave\b|skip\b|ignore\b|not\b|\d)\w+){0,3}? "
            r"(?P<how>(?i:all|both|every\w*|each)|(?:the )?(?:rest|others|remaining)(?=\W*\Z| of\b|[,.;]| too\b| ones\b))\b")
_SKIPS = Late(r"(?<!n't )(?<!not )(?<!never )\b(?:skip|except|but not|ignore|leave out|apart from)\b"
              r"(?: (?:for|items?|numbers?|nos?\.?))? (?P<items>(?:[\s,#&/()-]|and\b|or\b|\d)+)", re.I)
_RANGE = Late(r"(\d{1,2})\s*-\s*(\d{1,2})")
_DIGIT = Late(r"\d")
_NUMBERS = Late(r"(?<![\w.:/-])#?(\d{1,2})(?![\w:/%-])")
_GO = Late(
    r"(?i)\bfix (?:it|this|that|them|all|these|both)\b|\b(?:do|implement|make|apply|add) (?:the|a|that|this) (?:fix|change)\b|"
    r"고쳐|直して|修一下|behebe")
_WORKS = Late(  # what the user says next of a mend that mended it
    r"(?i)\A\W*(?:(?:ok(?:ay)?|yes|yeah|yep|great|good|nice|cool|perfect|awesome|excellent|thanks?|thank you|and|so)\b\W*)*"
    r"(?:(?:it|that|this|everything|all)(?:['’]s| is| does| seems to| did)?\b\W*)?"
    r"(?:(?:generally|now|indeed|all|finally|really)\b\W*)*"
    r"(?:works?|working|worked|fixed (?:it|that)|did (?:it|the trick)|was it|solved (?:it|that))\b|"
    r"\A\W*(?:작동|잘 (?:돼|됩)|動い(?:た|て)|直った|好了|可以了|es (?:geht|funktioniert|klappt))")


class Link(NamedTuple):
    """How a turn stands to an earlier one.

    to: the number of the turn that it goes on with, -1 where it begins something new.
    how: AGREES (to what was said there), OBJECTS (to it, or says what is still wrong), ADDS (asks or says more of it), "".
    """

    to: int
    how: str


def follow(held: Sequence[Turn]) -> list[Link]:
    """Return of each turn which one it goes on with, and how.

    A request that agrees, objects, asks the same anew or points at something goes on with the turn before it, and so does a brief
    one after a question; any other one with the turn, of those just before it, that holds half of what it names.  What the client
    asks by itself is passed over.
    """
    links: list[Link] = []
    said = [words(" ".join((turn.request, *turn.said()[-1:]))) for turn in held]
    before: list[int] = []
    for number, turn in enumerate(held):
        counts = turn.asked != SUMMARY
        links.append(_link(turn, before, said, held) if before and counts else Link(-1, ""))
        before = [*before, number][-_BACK:] if counts else before
    return links


def _link(turn: Turn, before: Sequence[int], said: Sequence[frozenset[str]], held: Sequence[Turn]) -> Link:
    last, request = before[-1], one_line(turn.request)[:_READ]
    if turn.asked == GOES_ON:
        return Link(last, ADDS)
    if agrees(request):
        return Link(last, AGREES)
    own = words(request)
    again = len(own) >= _AGAIN and len(own & words(held[last].request)) >= _SAME * len(own)
    objects = again or _OBJECTS.match(request) or concedes(turn)
    shares = [(len(own & said[one]) / max(len(own), 1), one) for one in before]
    most, nearest = max(shares)
    if objects:
        return Link(nearest if most >= _ALIKE else last, OBJECTS)
    if most >= _ALIKE:
        return Link(nearest, ADDS)
    leaning = _LEANS.search(request) and len(request.split()) <= 2 * _SHORT
    asked = _ASKS.search("".join(held[last].said()[-1:])) if turn.is_brief else None
    if asked and (leaning or shares[-1][0] or not _OFFERS.search(asked[0])):
        return Link(last, ADDS)
    return Link(last, ADDS) if leaning and (len(own) < 3 or shares[-1][0] >= _LEANING) else Link(-1, "")


def agrees(request: str) -> bool:
    """Tell whether a request only agrees to what was said before it, or chooses from it."""
    return _AGREES.match(request) is not None and len(request.split()) <= _SHORT


def concedes(turn: Turn) -> bool:
    """Tell whether a reply finds what was said before it wrong, or not all."""
    return any(map(CONCEDES.match, (*turn.said()[:1], *turn.said()[-1:])))


def takes_up(turn: Turn) -> bool:
    """Tell whether a reply goes by what the user said to what was said before."""
    return any(map(_TAKES_UP.match, (*turn.said()[:1], *turn.said()[-1:])))


def later(links: Sequence[Link], number: int) -> list[int]:
    """Return the turns, of the next REACH, that go on with a turn, or with one of these, in their order.

    links: of all turns, of `follow`.
    """
    found = {number}
    for at in range(number + 1, min(len(links), number + 1 + REACH)):
        if links[at].to in found:
            found.add(at)
    return sorted(found - {number})


class Course(NamedTuple):
    """How the turns of a session go on with one another.

    held: the turns.  links: of each, of `follow`.  words: of each, those of what it came to.  worth: how far each of these tells
    turns apart.  came: what each came to.  files: those that each changed.  did: of each whether it did something.  known: by
    words and turn, the turn before that last said as much.
    """

    held: Sequence[Turn]
    links: list[Link]
    words: list[frozenset[str]]
    worth: dict[str, float]
    came: list[str]
    files: list[set[str]]
    did: list[bool]
    known: dict[tuple[frozenset[str], int], int]

    def is_news(self, said: frozenset[str], number: int, at: int) -> bool:
        """Tell whether words of a turn say more than any from an earlier one on did: a quarter of them is new, or a number.

        Many replies repeat all that was done before.  What was only spoken of is new in a turn that did something.
        number: of the earlier turn.  at: of the one whose words these are, which is compared with REACH turns.
        """
        if not said:
            return False
        if (said, at) not in self.known:
            self.known[said, at] = self._last_to_say(said, at)
        return self.known[said, at] < number

    def _last_to_say(self, said: Set[str], at: int) -> int:
        """Return the last turn before one that said what some words say, -1 where none did."""
        for one in range(at - 1, max(at - REACH, 0) - 1, -1):
            if self.words[one] and (self.did[one] or not self.did[at]):
                lack = said - self.words[one]
                if len(lack) < _NEW * len(said) and not any(map(_DIGIT.search, lack)):
                    return one
        return -1

    def shared(self, said: Set[str], about: Set[str]) -> float:
        """Return how much words share with others, for their length."""
        return sum(self.worth.get(word, 0.0) for word in said & about) / math.sqrt(len(said) + 1)


def course(held: Sequence[Turn], came: list[str], prose: Callable[[str], str]) -> Course:
    """Return how turns go on with one another.  came: what each came to.  prose: gives that without code."""
    said = [words(prose(one)) if turn.asked != SUMMARY else frozenset() for turn, one in zip(held, came)]
    counts = Counter(word for one in said for word in one)
    many = max(len(held), _FEW) + 1
    worth = {word: math.log(1 + many / count) for word, count in counts.items()}
    changed = [{piece.text for piece in turn.pieces if piece.kind == FILE} for turn in held]
    return Course(held, follow(held), said, worth, came, changed, [turn.did for turn in held], {})


def going_on(held: Sequence[Turn], number: int, reach: int) -> list[int]:
    """Return the turns, of the next `reach`, that go on with a turn."""
    return [number + at for at in later(follow(held[number:number + 1 + reach]), 0)]


def objects(held: Sequence[Turn], number: int) -> bool:
    """Tell whether a turn's request objects to what the turn before came to."""
    return number > 0 and follow(held[number - 1:number + 1])[1].how == OBJECTS


def agreed(held: Sequence[Turn], number: int, reach: int) -> list[int]:
    """Return the turn, of the next `reach`, in which the user told the model to mend what it found, or to go on."""
    near = held[number:number + 1 + reach]
    return [number + at for at, link in enumerate(follow(near)) if link == (0, AGREES) or (
        link.to == 0 and orders_it(near[at].request))][:1]


def chooses(request: str, item: str, said: str) -> bool:
    """Tell whether a request orders an item of a list: by its number, in its words, with all of them, or the first two."""
    asked = one_line(request)[:_READ]
    skipped, asked = " ".join(match["items"] for match in _SKIPS.finditer(asked)), _SKIPS.sub(" ", asked).strip()
    inner = any(int(span[1]) < int(item or -1) < int(span[2]) for span in _RANGE.finditer(skipped))
    if inner or item in re.findall(r"\d+", skipped):
        return False
    numbers, every, own = _NUMBERS.findall(asked), [match["how"].lower() for match in _ALL.finditer(asked)], words(asked)
    if every == ["both"] and not numbers:
        return item in ("1", "2")
    if any(how != "both" for how in every) or not numbers and (agrees(asked) or orders_it(asked)):
        return True
    return item in numbers or len(own & words(said)) >= max(3, _ALIKE * len(own))


def works_now(held: Sequence[Turn], number: int) -> bool:
    """Tell whether the user says, right after a turn, that what it mended works now."""
    return number + 1 < len(held) and bool(_WORKS.match(held[number + 1].request))


def orders_it(request: str) -> bool:
    """Tell whether a request orders the mend of what was spoken of."""
    return bool(_GO.search(request[:100]))


def cosine(one: Set[str], other: Set[str]) -> float:
    """Return the likeness of two sets of words or terms, 0 to 1."""
    return len(one & other) / math.sqrt(len(one) * len(other) or 1)


@lru_cache(maxsize=64)  # the turns just before are looked at again for the next one
def words(text: str) -> frozenset[str]:
    """Return the words of a text that tell what it is about."""
    return frozenset(word for word in tokeniser.tokens(text) if word not in tokeniser.STOP and word not in tokeniser.COMMON)


# --- how work ended

def joined(held: Sequence[Turn]) -> list[Turn]:
    """Return turns, what goes on after a compaction as part of the turn that it cut."""
    found: list[Turn] = []
    for turn in held:
        begun = next((one for one in reversed(found) if one.asked != SUMMARY), None)
        if turn.asked == GOES_ON and begun is not None:
            begun.pieces += turn.pieces
        else:
            found.append(Turn(turn.at, turn.request, turn.asked, [*turn.pieces]))
    return found


def state(held: Sequence[Turn], files: Iterable[str]) -> list[str]:
    """Say in a line how the checks went last, and what of the work is committed and pushed; none where nothing was edited.

    files: those that are known to differ still; of others it may be that they were put back as they were.
    """
    every = [(turn, piece) for turn in held if turn.asked != SUMMARY for piece in turn.pieces]
    if not (edited := [at for at, (_, piece) in enumerate(every) if piece.kind == FILE]):
        return []
    first = next(at for at in edited if every[at][0] is every[edited[-1]][0])
    commit = max((at for at, (_, piece) in enumerate(every) if piece.kind == COMMIT), default=-1)
    last = {every[at][1].text: (at, every[at][0].request) for at in edited if every[at][1].text[:1] not in "/~"}
    ran = [(at, piece.text) for at, (_, piece) in enumerate(every) if piece.kind == RUN and piece.outcome == shell.OK]
    gone = [(at, command) for at, command in ran if shell.DELETED.search(command)]
    names = [name.rpartition("/")[2] for name, (at, asked) in last.items() if at > commit and not any(
        at < later and name in command for later, command in gone) and (name in files or not _REVERTS.search(asked))]
    told = _checks((piece for _, piece in every[first:]), any(not _PROSE_FILE.search(name) for name in last))
    if commit >= 0:
        end = " and pushed" if any(at > commit and _PUSH.search(command) for at, command in ran) else ", no push seen"
        told.append("committed%s%s" % (" as %s" % every[commit][1].name if every[commit][1].name else "", end))
    if names:
        told.append(named("edited%s, no commit seen: " % (" since" if commit >= 0 else ""), names, _FILES))
    pulls = [piece.text for _, piece in every if piece.kind == LINK] or [
        match[0] for turn in held[:_OPENING] for match in _PULL.finditer(turn.request)][:1]
    said = "; ".join([*told, *("pull request " + address for address in pulls[-1:])])
    return [said[:1].upper() + said[1:]] * bool(said)


def _checks(pieces: Iterable[Piece], due: bool) -> list[str]:
    """Say how each kind of check went the last time; what is not known is not told.

    Of several in one command that failed any may have.  due: it tells where none ran.
    """
    last: dict[str, frozenset[str]] = {}  # by kind those that failed together, none where it passed
    ran = False
    for piece in pieces:
        if piece.kind != RUN or piece.name:
            continue
        kinds = {commandline.kind_of(commandline.key_of(part)) for part in commandline.parts(piece.text)} & _CHECKS.keys()
        ran = ran or bool(kinds)
        if piece.failed:
            last.update(dict.fromkeys(kinds, frozenset(kinds)))
        elif piece.outcome == shell.OK:
            settled = [kind for kind, failed in last.items() if failed & kinds]
            last = {**{kind: failed for kind, failed in last.items() if kind not in settled}, **dict.fromkeys(kinds, frozenset())}
    good, bad = ([_CHECKS[kind] for kind in _CHECKS if kind in last and bool(last[kind]) is failed] for failed in (False, True))
    told = [_listed(good, "and") + " passed last"] if good else [] if ran or not due else ["no check ran since the last edit"]
    return told + ([_listed(bad, "or") + " failed last"] if bad else [])


def _listed(names: Sequence[str], word: str) -> str:
    return (" %s " % word).join(filter(None, (", ".join(names[:-1]), names[-1])))


def named(lead: str, names: Sequence[str], most: int) -> str:
    """Name files after some words, as many as there is room for in `most` characters."""
    many = next((many for many in range(len(names), 1, -1) if len(", ".join(names[:many])) <= most), 1)
    return lead + ", ".join(names[:many]) + (" and %d more" % (len(names) - many) if many < len(names) else "")
