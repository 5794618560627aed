"""What checkpoints state: sentences with the words they share, which of them say a decision, and which say the same.

A decision is a sentence with a word of deciding or changing and a word of reason.  What announces a look at something (`I'll
check …`), a request, a list of edits or of commands is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory.capture import causes, choices, conversationpage, gist, turns, upshot
from memory.capture.turns import Turn
from memory.core import tokeniser
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.distill.cues import technical
from memory.distill.digests import Source, clean
from memory.distill.units import units
from memory.knowledge import outlived
from memory.session import lasting
from memory.session.latepattern import Late

SAME, SHARE = 0.9, 0.6  # of the terms of the shorter statement, and of the longer one, that two which say the same share
FEWEST, WORDS, SHORTEST, LONGEST = 5, 5, 24, 400  # terms, words of prose, bytes and characters of a statement
MOST_TYPED, ASKED = 1200, 160  # characters of a request that was typed, not pasted; of one shown whole, half of a question
RARE = 5  # terms of a statement under which it is looked up

_DECIDED = Late(
    r"(?i)(?:\W|\d|how\b){0,40}(?:(?:key|main|design|architect\w{1,80}|technical|implementation|scope|project|team)\s{1,80}){0,40}"
    r"(?:decisions?(?! (?:impact|logic))|decided|entscheidung(?:en)?|entschieden)\b|\W{0,80}(?:결정|決定|决定|决策)")
_DECLARED = Late(r"(?i)(?:decision|decided|entscheidung|결정|決定|决定)\s*[:：]\s*")
_RESOLVED = Late(r"(?i)(?:we (?:have )?)?decided (?:to|on|for|against)\b|(?:wir )?haben (?:uns )?(?:ent|be)schlossen\b")
_PASSED_OVER = Late(  # headings of the checkpoints that capture writes, and what people write like them
    r"(?i)(?:requests?|turns?|done|commands?|tests?\b.*|fixed|open|next\b.*|files\b.*|commits?|verification\b.*|evidence|status|results?)$")
_CHOICE = Late(
    r"(?i)\b(?:decid\w+|decision|chose\w*|choos\w+|opt(?:ed|ing)? (?:for|to)|settled on|agreed|prefer\w*|pick(?:ed|ing)?|"
    r"adopt\w*|stick(?:ing)? with|stay\w* (?:with|on)|go(?:ing)? with|went with|switch\w* (?:to|from)|standardi[sz]\w+ on|"
    r"reject\w*|ruled out|entschieden|entscheid\w*|gewählt|bleiben bei|umgestellt)\b"
    r"|결정|하기로|선택|채택|決め|決定|ことにし|採用|選択|选择|選擇|决定|采用|採用|改用")
_CHANGE = Late(
    r"(?i)\b(?:us(?:e|es|ed|ing)|keep\w*|kept|pin(?:s|ned)?|stor(?:e|es|ed)|replac\w+|dropp?\w*|remov\w+|avoid\w*|disabl\w+|"
    r"enabl\w+|mov(?:e|es|ed)|split\w*|merg\w+|require\w*|limit\w*|skip\w*|set|made?|makes?|must|never|always|should|"
    r"stays?|default\w*|defer\w*|revert\w*|pass(?:es|ed)?|wrap\w*|add(?:s|ed)?|chang\w+|ship\w*|"
    r"verwenden?|nutzen?|nehmen|setzen|ersetz\w+|bleibt|muss|immer|nie)\b"
    r"|사용|쓴다|쓰기|바꾸|바꿨|유지|使う|使用|変更|残す|やめ|保留|改为|改為|放弃|用")
_ACT = (r"(?:use|keep|prefer|treat|store|pin|avoid|never|always|require|choose|pick|switch|replace|drop|disable|enable|limit|"
        r"skip|go with|verwenden?|nutzen?|nehmen|behalten)\b")
_ORDER = Late(  # a sentence that says what to do
    r"(?i)(?:(?:we|wir|i|i'll|we'll|let's)\s{1,80})?(?:always |never |only )?(?:" + _ACT
    + r"|(?:default|do(?:n't| not)|make|set|run|put|pass|call|remove|move|write|read|return|wrap|setzen)\b)")
_REASON = Late(
    r"(?i)\b(?:because|so that|due to|to avoid|to prevent|to keep|otherwise|the reason|reason:|"
    r"since (?:the|it|a|an|we|each|every|both|\w+ (?:is|are|has|does))|trade-?off|"
    r"weil|damit|wegen|sonst|denn|da (?:der|die|das))\b"
    r"|때문|므로|위해|이유|ため|ので|から、|理由|因为|因為|由于|由於|为了|為了|避免|以便")
_INSTEAD = Late(r"(?i)\b(?:instead of|rather than|in favou?r of|anstatt|statt)\b|대신|代わりに|而不是")  # half a reason
_CAUSE = Late(r"(?i)\b(?:root cause|turn(?:ed|s) out|(?<!not )caused by|gotcha|pitfall|ursache)\b|원인|原因")
_FAILED = Late(r"(?i)\bfail\w{0,80}\b.{0,160}\b(?:because|due to)\b")
_LOOKING = Late(  # what someone is about to do, unless that is an act
    r"(?i)(?<!\W)\W{0,80}(?:(?:now|first|next|so|ok(?:ay)?|then)\b\W{0,80}){0,40}"
    r"(?:(?:(?:i|we)(?:'ll|’ll| will|'m| am| need to|'d| should| can| want to)\b|let(?:'s|’s| me| us)\b|"
    r"ich (?:werde|schaue|prüfe)\b|lass(?: mich)?\b)(?!\s{1,80}(?:now |also |just )?" + _ACT
    + r")|(?:looking|checking|started?|starting|continu\w{1,80}|you)\b)")
_ASKED = Late(r"(?i)\b(?:you|user|they) (?:asked|requested|want\w*|said|told)\b|\?$|？$")
_NEGATION = Late(r"(?i)\b(?:not|never|no|don't|doesn't|without|nicht|kein\w*|nie)\b|않|없|ない|ません|不|没")
_FIELD = Late(r"(?i)(?:evidence|symbols|next|files|tags|commits?|context|impact|unknowns|alternatives|confidence|status): ")
_CODE = Late(r"`[^`]*`|\([^()]*\)")
_PROSE = Late(r"(?<![\w./:-])[^\W\d_]{2,}(?![\w./:(])")
_REPORT = Late(  # what was done, and how it went: of use to the next session, not for good
    r"(?i)(?<!\W)\W{0,80}(?:(?:all|both|also|then)\s{1,80})?(?:re-?)?(?:added|updated|created|confirmed|verified|ran|implemented|fixed|completed|"
    r"removed|renamed|moved|changed|wired|extracted|committed|merged|reviewed|registered|cleaned|refactored|documented|tested|"
    r"inspected|validated|built|wrote|hardened|adjusted|repaired|bumped|hinzugefügt|geändert)\b"
    r"|.{0,160}\b(?:pass(?:ed|es|ing)?|green|registered|completed?|finished|no regressions?)\b|.{0,160}✅")
_STATES = Late(  # a verb of state: what recurs without one is a heading, a file, an entry of a list
    r"(?i)\b(?:is|are|was|were|has|have|needs?|must|can|cannot|can't|does|do|runs?|uses?|lives?|stands?|takes?|requires?|"
    r"returns?|expects?|never|always|fails?|resets?|listens?|wants?|works?|goes|go|stays?|holds?|keeps?|means?|"
    r"\w+ed (?:to|in|on|at|by|from|with)|ist|sind|hat|haben|braucht|muss|läuft|liegt)\b|[다요죠るたすだ]\W*$|是|在|有|需|用")
_WORK = Late(  # an entry of a list of work
    r"(?i)(?<!\W)\W*(?:add|updat|creat|fix|mov|remov|renam|document|test|refactor|merg|implement|chang|clean|bump|revert)(?:e|s|ing)?\b")
_LEAD = Late(r"^[✅❌⚠️🎉🔧•→\s]+|^\[[ xX]\]\s+|^[A-Z]{3,8}: ")
_MARKUP = Late(r"</\w|<parameter\b")  # what a tool call left behind
_PASSING = Late(  # of the moment
    r"(?i)\b(?:this (?:session|branch|task|commit|pass|slice|phase)|same (?:session|branch|commit)|for now|task \w?\d|"
    r"first (?:attempt|run)|(?:phase|step|round|stage|wave) \w?\d|final (?:cleanup|pass|review)|"
    r"next (?:session|task|step)|also fixed|then failed|heute|diese[rnms]? sitzung)\b|이번|今回|这次|這次")
_LEANING = Late(r"(?i)\W*(?:it|this|that|these|those|they|which|das|dies\w?)\b|[—–]")  # on what stands before
_WIDE = Late(r"[^\x00-\x7f]+")


@dataclass(frozen=True)
class Statement:
    """A sentence or list item of a checkpoint.

    terms: its words without numbers, which may differ where two say the same.  declared: a person called it a decision, in a
    heading, before a colon, or in so many words.  resolved: not by a heading alone, and in a note of a person's own.
    """

    record: Record
    text: str
    terms: frozenset[str]
    declared: bool
    resolved: bool = False


def statements(record: Record) -> list[Statement]:
    """Return the statements of a checkpoint; code, tables, requests, edits, commands and results are left out.

    Under `Decisions` of a captured checkpoint stands whatever gives a reason: only a person's heading declares.
    """
    captured = record.source == "auto" and "trigger" in record.meta
    source = Source(record.id, record.kind, record.title, record.created, clean(record.body), record.tier)
    out = []
    for unit in units(0, source, 2000):
        said = _LEAD.sub("", unit.text.replace("**", "").replace("__", "")).strip()
        heading = unit.heading.strip(" :*_")
        if (unit.kind not in ("prose", "item") or _PASSED_OVER.match(heading) or _FIELD.match(said)
                or len(said.encode()) < SHORTEST or len(said) > LONGEST or _ASKED.search(said)
                or _MARKUP.search(said) or said.endswith((":", "："))):
            continue
        declared = _DECLARED.match(said)
        if declared:
            said = said[declared.end():declared.end() + 1].upper() + said[declared.end() + 1:]
        terms = frozenset(term for term in terms_of(said) if term and not term[0].isdigit())
        if len(terms) >= FEWEST and _words(said) >= WORDS:
            by_heading = bool(_DECIDED.match(unit.heading)) and not captured
            resolved = record.source == "human" and bool(declared or _RESOLVED.match(said))
            out.append(Statement(record, said, terms, bool(declared) or by_heading or resolved, resolved))
    return out


def terms_of(said: str) -> frozenset[str]:
    """Return the terms of a text."""
    return frozenset(tokeniser.tokens(said))


def _words(said: str) -> float:
    """Count the words of a text that are no code; two characters of a script without spaces count as one."""
    bare = _CODE.sub(" ", said)
    return len(_PROSE.findall(_WIDE.sub(" ", bare))) + sum(map(tokeniser.is_cjk, bare)) / 2


def names(value: str) -> int:
    """Count the technical words of a text that are more than a number, whatever the script around them."""
    words = set(_WIDE.sub(" ", value).split())
    return sum(1 for word in words if any(c.isalpha() for c in word) and technical(word))


def decides(statement: Statement) -> bool:
    """Tell whether a statement is a decision with its reason, or names the cause of something."""
    said = statement.text
    if _LOOKING.match(said):
        return False
    reason, acts = has_reason(said), bool(_CHOICE.search(said) or _CHANGE.search(said))
    return explains(statement) or (acts and (reason or statement.declared)) or (reason and statement.declared)


def explains(statement: Statement) -> bool:
    """Tell whether a statement names a cause rather than a choice."""
    said = statement.text
    return not statement.declared and not _CHOICE.search(said) and bool(_CAUSE.search(said) or _FAILED.search(said))


def weight(statement: Statement) -> float:
    """Weigh a decision, about 0 to 0.8: declared as one, with a reason, in so many words, technical, of a length that says it;
    less for a report of work, for what concerns the moment, and for what does not stand alone."""
    said = statement.text
    cause = bool(_CAUSE.search(said))
    reason = 0.15 if cause or _REASON.search(said) else 0.1 * bool(_INSTEAD.search(said))
    choice = 0.07 if cause else 0.1 * bool(_CHOICE.search(said))
    return (0.15 + 0.15 * statement.declared + reason + choice + 0.08 * bool(_ORDER.match(said))
            + 0.03 * min(names(said), 3) + 0.04 * (60 <= len(said.encode()) <= 320)
            - 0.15 * bool(_PASSING.search(said) or _LEANING.match(said)) - 0.1 * bool(_REPORT.match(said)))


def is_lasting(statement: Statement) -> bool:
    """Tell whether a statement may hold beyond its session: it says how something is, and reports no work and no result."""
    said = statement.text
    return bool(_STATES.search(said)) and not any(p.match(said) for p in (_REPORT, _WORK, _LOOKING))


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two term sets say the same: nearly all of the shorter one stands in the other, which is not much longer."""
    shared = len(one & other)
    small, large = sorted((len(one), len(other)))
    return shared >= FEWEST and shared >= SAME * small and shared >= SHARE * large


def has_reason(said: str) -> bool:
    """Tell whether a text gives a reason, or says what it puts aside."""
    return bool(_REASON.search(said) or _INSTEAD.search(said))


def negated(said: str) -> bool:
    """Tell whether a text says no an odd number of times."""
    return len(_NEGATION.findall(said)) % 2 == 1


class Shelf:
    """Statements by their rare terms: finds which ones say the same without comparing each with each."""

    def __init__(self, frequency: Counter[str]):
        """frequency: in how many statements each term stands."""
        self._frequency = frequency
        self._by_term: dict[str, list[int]] = {}
        self._terms: list[tuple[frozenset[str], bool]] = []

    def _rare(self, terms: frozenset[str]) -> list[str]:
        return sorted(terms, key=lambda term: (self._frequency[term], term))[:RARE]

    def find(self, said: str, terms: frozenset[str]) -> int:
        """Return the number of the first statement that says the same, or -1."""
        negative = negated(said)
        near = sorted({number for term in self._rare(terms) for number in self._by_term.get(term, ())})
        return next((n for n in near if self._terms[n][1] == negative and alike(self._terms[n][0], terms)), -1)

    def put(self, said: str, terms: frozenset[str]) -> int:
        """Add a statement and return its number."""
        self._terms.append((terms, negated(said)))
        for term in self._rare(terms):
            self._by_term.setdefault(term, []).append(len(self._terms) - 1)
        return len(self._terms) - 1


def groups(every: Sequence[Statement]) -> list[list[Statement]]:
    """Bring together the statements that say the same, in their order."""
    shelf = Shelf(frequency(statement.terms for statement in every))
    found: list[list[Statement]] = []
    for statement in every:
        number = shelf.find(statement.text, statement.terms)
        if number < 0:
            shelf.put(statement.text, statement.terms)
            found.append([statement])
        else:
            found[number].append(statement)
    return found


def frequency(sets: Iterable[frozenset[str]]) -> Counter[str]:
    """Count in how many term sets each term stands."""
    return Counter(term for terms in sets for term in terms)


# --- what a conversation states

ANSWERED, RULED, CORRECTED, WISHED, PLANNED, CAUSED, EXPLAINED, REPEATED, LIMITED, CHOSEN, FOUNDED = (
    "the user's answer", "a rule of the user's", "a correction with its reason", "a wish of the user's", "an approved plan",
    "a root cause", "an answer to a question of several sessions", "an answer asked for again", "what cannot be",
    "a decision with its reason", "why it is so")
_WEIGHTS = {RULED: 0.8, LIMITED: 0.76, CORRECTED: 0.74, CAUSED: 0.7, EXPLAINED: 0.7, ANSWERED: 0.68, FOUNDED: 0.66,
            REPEATED: 0.64, WISHED: 0.62, CHOSEN: 0.58, PLANNED: 0.48}
BY_USER = (ANSWERED, RULED, CORRECTED, WISHED, PLANNED)
_TRIFLE = Late(  # asked about the work at hand
    r"(?i)\b(?:proceed|continue|next|ready|commit|push|look (?:good|right|correct)|would you like|do you want me|shall i|"
    r"should i)\b")
STEPS = 4  # of what mended a cause
_SUGGESTED = " (Recommended)"  # how the model marks an option


@dataclass(frozen=True)
class Told:
    """What a turn of a conversation states and may be kept.

    kind: one of those above.  turn: its number, from 1.  asked: what it was asked for.  names: technical words, of a cause also
    those of what mended it.  said_to: the refused call or the plan that a user spoke of, else "".  came: what the model says to
    have come of it, of a cause what mended it; "" for nothing.  message: all that the user said there, where that is more and
    not long.  where: the files that the turn changed, where they are few.
    """

    kind: str
    text: str
    record: Record
    turn: int
    at: str
    asked: str
    names: frozenset[str]
    said_to: str = ""
    came: str = ""
    message: str = ""
    where: tuple[str, ...] = ()


def of_talk(record: Record, held: Sequence[Turn]) -> list[Told]:
    """Return what the turns of a conversation state for good: the user's word, root causes, limits, decisions, reasons.

    What does not stand by itself is left out: a sentence about `this`, to `you`, of the moment, or cut; and so is what was taken
    back there, or objected to.
    """
    found: list[Told] = []
    asked = ""
    for number, turn in enumerate(held, 1):
        if turn.asked != turns.SUMMARY:
            asked, outcome = _asked(turn.request) or asked, gist.outcome(turn)
            found += [Told(kind, text, record, number, turn.at, asked, _named(text), said_to, outlived.came_of(
                text, held, number - 1), message, outlived.where(turn)) for kind, text, said_to, message in _of_user(turn)]
            found += [Told(kind, text, record, number, turn.at, asked, _named(text + " " + mended), "", mended)
                      for kind, text, mended in _of_model(turn, outcome)]
    standing, objected = (set(map(id, choices.standing(held))), _objected(held)) if found else (set(), set())
    return [told for told in found if id(held[told.turn - 1]) in standing
            and not (told.kind == CAUSED and outlived.left_failing(held, told.turn - 1)) and (
                told.turn - 1 not in objected or told.kind in (*BY_USER, CAUSED))]


def _asked(request: str) -> str:
    """Return what was asked for: a short request whole, else what it is about; "" where it says nothing."""
    topic, line = gist.topic(request), one_line(request)
    return line if topic and len(line) <= ASKED * (1 + line.endswith("?")) else topic


def _objected(held: Sequence[Turn]) -> set[int]:
    """Return the turns to which somebody objected, from 0; who doubts by a question may be told that it is so."""
    return {link.to for link, turn in zip(turns.follow(held), held)
            if link.how == turns.OBJECTS and not turn.request.rstrip().endswith(("?", "？"))}


def _named(text: str) -> frozenset[str]:
    """Return the technical words of a text, without their marks, in small letters."""
    return frozenset(word.strip("`'\".,;:()[]").lower() for word in text.split() if names(word) and len(word) > 3)


def _of_user(turn: Turn) -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, text, what it was said to: a refused call, a plan, else "", the whole message) of what a user states."""
    said = [(turn.request, "")] if turn.asked in ("", turns.SLASH) and len(turn.request) < MOST_TYPED else []
    for piece in turn.pieces:
        if piece.kind == turns.USER and piece.name == turns.ANSWER:
            question, _, chosen = one_line(piece.text).partition(" → ")
            suggested = chosen.endswith(_SUGGESTED) and " or " in question
            if chosen and question.endswith("?") and len(question) > SHORTEST and not (suggested or _TRIFLE.search(question)):
                yield ANSWERED, "%s → %s" % (question, chosen.removesuffix(_SUGGESTED)), "", ""
        elif piece.kind == turns.USER and piece.name == turns.APPROVED:
            yield from ((PLANNED, aim, gist.heading_of(piece.text), "") for aim in lasting.aim(piece.text))
        elif piece.kind == turns.USER:
            said.append((piece.text, piece.name if piece.name.startswith(turns.REFUSED) else ""))
    for text, said_to in said:
        whole = one_line(text)
        yield from ((kind, one, said_to, whole if len(one) + SHORTEST < len(whole) <= LONGEST else "")
                    for sentence in gist.statements(text) for kind, one in _stated(sentence))


def _stated(sentence: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of what a sentence of a person's states for good, nothing or one."""
    sure = lasting.sure(sentence)
    rule, reasoned, wish = (of(sure) for of in (lasting.rule, lasting.corrected, lasting.wish))
    if rule and _words(rule) >= WORDS:
        yield RULED, rule
    elif reasoned and names(reasoned) and _words(reasoned) >= WORDS:
        yield CORRECTED, reasoned
    elif wish and _words(wish) >= WORDS:
        yield WISHED, wish


def _of_model(turn: Turn, outcome: str) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, text, what mended a cause) of what the model's final statement says for good."""
    touched = any(piece.kind == turns.FILE for piece in turn.pieces)
    if not touched and len(turn.request) < LONGEST and gist.is_finished(turn):
        yield from ((kind, text, "") for kind, text in _answers(one_line(turn.request), outcome))
    found = [cause for cause in causes.named(outcome) if _stands(cause.text)] if gist.may_name_cause(outcome) else []
    for cause in found if touched and gist.is_finished(turn) else ():
        mended = [one.rstrip(".;:") for mend in causes.remedy(cause, "", [outcome], [], True) for one in (mend.said, *mend.steps)]
        yield CAUSED, cause.text, "; ".join(mended[:STEPS])
    for sentence in gist.statements(outcome):
        text = lasting.said(_LEAD.sub("", sentence).strip())
        if not _stands(text) or any(cause.text in text or text in cause.text for cause in found):
            continue
        if lasting.is_limit(text):
            yield LIMITED, text, ""
        elif choices.is_decision(text) and _REASON.search(text):
            yield CHOSEN, text, ""
        elif lasting.is_founded(text):
            yield FOUNDED, text, ""


def _answers(request: str, outcome: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of what an outcome answers to a question about how things are."""
    again, words = lasting.asks_again(request), upshot.words_of(request)
    if again or lasting.asks_why(request):
        told = [lasting.said(one) for one in gist.statements(outcome) if not gist.is_announced(one)]
        answer = lasting.opening(told) if again else next(
            (one for one in told if lasting.tells(one) and words & upshot.words_of(one)), "")
        yield from [(REPEATED if again else FOUNDED, answer)] if names(answer) and not lasting.has_place(answer) else []
    if lasting.wonders(request):
        yield EXPLAINED, conversationpage.telling(gist.plain(outcome), LONGEST)


def _stands(text: str) -> bool:
    """Tell whether a sentence says something by itself: of some length, technical, whole, and about nothing said before."""
    return (50 <= len(text) <= 330 and lasting.is_whole(text) and names(text) > 0 and _words(text) >= WORDS
            and not lasting.DEICTIC.match(text) and not lasting.TALKED.search(text) and not gist.is_announced(text))


def weight_of(told: Told) -> float:
    """Weigh what a turn states, about 0.4 to 0.9: by its kind, what it names, a reason, what came of it and a length that says
    it; less for an order of the moment, what a compiler names, what tests do.  A plan without its reason stands in the code."""
    passing = lasting.is_passing(told.text) if told.kind in (RULED, CORRECTED) else (
        told.kind == CAUSED and lasting.is_slip(told.text) or told.kind == FOUNDED and any(
            "test" in word for word in told.asked.split() if "/" in word))
    reason = told.kind in BY_USER and has_reason(told.text)
    return (_WEIGHTS[told.kind] + 0.02 * min(len(told.names), 3) + 0.02 * (60 <= len(told.text) <= 240) + 0.03 * bool(told.came)
            + (0.16 if told.kind == PLANNED else 0.03) * reason - 0.2 * passing)
