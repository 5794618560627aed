"""Sentences in which somebody names the cause of a failure: which they are, how sure of it, and in words that stand alone.

A cause is labelled (`Root cause: …`, `The bug was that …`, a heading that says so), told as one (`… failed because …`, `… was
caused by …`), or only likely one, by how it is put and where it stands (`likely`).  What is supposed, asked, announced or said of
one's own last edit is none; a sentence that leans on what was said before, or was cut, is left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from memory.capture import gist, turns
from memory.capture.turns import FILE, RUN, SAID, SUMMARY, USER, Turn
from memory.core import files, tokeniser
from memory.core.plaintext import one_line, sentences
from memory.session import faults, lasting, mending
from memory.session.latepattern import Late
from memory.session.mending import Mend

SHORTEST, LONGEST, _SUBSTANCE = 40, 330, 30  # characters of a cause; of one without the place in the code that it names
_READ, _START = 800, 60  # characters of a sentence that is judged; by which one is known again
_TELLS, _PLAIN = 8, 5  # words of a cause that says why, and names nothing in code; of one that is only likely
_NEAR = 3  # sentences after a cause that may say what was changed
_SOON = 4  # turns from one on, an edit in which may be for what it says
_SPOKEN = 20000  # characters of a statement that is read
_ANNOUNCED = 70  # characters of a sentence that only announces one
MODEL, PERSON = "model", "user"
SUPPOSED = "Supposed, not verified: "  # before what a review calls a possible fault
_TYPED = 1500  # characters of what a person types
NEARLY = 0.6  # of what the best sentence on a remedy is worth: what a second one must be
_ALIKE = 0.1  # what a word is worth that a cause and a row of a table share
# How surely a cause: `root cause`; behind `you're right`, of what was reported; `the bug was`; `is`; `before: …`; a review's; any
# other; what a reviewer says of code, in a request; of what is only likely one, its likelihood, LIKELY at most
ROOT, AGREED, FOUND, LABELLED, CHANGED, REVIEWED, TOLD, CLAIMED, LIKELY = 3.0, 2.6, 2.5, 2.0, 1.7, 1.6, 1.5, 1.4, 1.0
_MODULE = Late(
    r"`[^`\n]{2,80}`|[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]|\w\(\)|\w/\w|\b[\w-]{1,80}\.(?:[a-z]{1,4})\b|--\w|\b[A-Z]{2,80}\b|\d")
OF_TEST = Late(r"\bTest[A-Z_]\w|(?i:\b(?:tests?|fixtures?|assert\w*|expect\w*|mock\w*)\b)|테스트|テスト|测试")
_FILE = Late(r"(?<![\w-])[\w-]+\.[a-z]{1,5}\b")
_ORDERED = Late(r"implement the following plan|base directory for this skill|\A/", re.I)


class Named(NamedTuple):
    """A cause that somebody named.

    weight: how surely it is one: ROOT, LABELLED or TOLD.  text: the sentence, without its label.  symptom: what the same text
    says went wrong, "" where it does not.  fix: what the same text says mended it, or "".  item: its number in a review.
    """

    weight: float
    text: str
    symptom: str = ""
    fix: str = ""
    item: str = ""


class Said(NamedTuple):
    """A cause where it was named: the turn, after which of its pieces, by whom, and whether the turn's outcome names it."""

    cause: Named
    turn: int
    place: int
    speaker: str
    final: bool


def named(text: str) -> list[Named]:
    """Return the causes that a text names, in their order, each in words that stand alone."""
    said = list(_labelled(text))
    root = any(weight == ROOT and standing(rest) for weight, rest in said)
    found: list[Named] = []
    symptom, last, near, ended = "", "", 0, False
    for weight, sentence in said:
        if root and weight in (LABELLED, FOUND):
            symptom = sentence  # the problem stands beside its cause
            continue
        if found and found[-1].text == last and mending.OWN_ACT.match(sentence):
            found.pop()  # it came of what the model itself had just done
        last = sentence
        if weight and standing(sentence):
            found.append(Named(weight, sentence, symptom))
            near, ended = _NEAR, False
        elif weight:
            ended = True  # what follows mends another one
        elif found and not (found[-1].fix or ended):
            surety, fix = mending.told(sentence)
            if surety == mending.CALLED or (near := near - 1) >= 0 and surety:
                found[-1] = found[-1]._replace(fix=mending.whole(_first(fix)))
                ended = surety == mending.CALLED and len(fix) > 1
    return found or list(_turned(text))


def _turned(text: str) -> Iterator[Named]:
    """Yield what a text says to have been before, where the same says what is after."""
    lines = [line.replace("**", "") for line in gist.prose(text)]
    for number, line in enumerate(lines):
        was = mending.BEFORE.match(line)
        now = next(filter(None, map(mending.AFTER.match, lines[number + 1:number + 4])), None) if was else None
        if was and now:
            cause, fix = (sentences(one["said"])[0] for one in (was, now))
            if standing(cause) and mending.words(cause) and len(mending.QUOTED.sub("", cause)) >= SHORTEST // 2:
                yield Named(CHANGED, cause, "", mending.whole(fix))
    for _, wrong, mend in mending.rows(gist.prose(text)) if "|" in text else ():
        if standing(wrong) and mending.words(wrong) and mending.whole(mend):
            yield Named(CHANGED, wrong, "", mending.whole(mend))


def reviewed(text: str) -> Iterator[Named]:
    """Yield what a review numbers: its title, and the first sentence that says what is wrong, or two where it is short."""
    for finding in faults.findings(gist.prose(text)):
        said = [one for one in finding.said if len(mending.QUOTED.sub("", one)) >= SHORTEST // 2]
        said = said[:1 + (len("".join(said[:1])) < _START)]
        if mending.words(finding.title) and len(mending.QUOTED.sub("", mending.without_place(finding.title))) >= SHORTEST:
            said = [""]  # it says enough
        cause = one_line(": ".join(filter(None, (finding.title, ". ".join(one.rstrip(".") for one in said))))).rstrip(" .")
        told = SHORTEST <= len(cause) <= LONGEST and not (faults.is_tidiness(cause) or mending.OWN.search(cause))
        if finding.number and said and told and len(mending.without_place(cause)) >= _SUBSTANCE and "`" in cause + finding.whole:
            yield Named(REVIEWED, SUPPOSED * finding.supposed + cause, "", finding.whole, finding.number)


def remedy(cause: Named, failure: str, texts: Sequence[str], edits: Sequence[str], alone: bool) -> list[Mend]:
    """Return what says best what mended a cause, in its order: one list, or at most two sentences.

    failure: its telling line.  texts: what was said from the cause on, the outcome last.  edits: path and lines of each.
    alone: nothing else tells of the remedy, so that what is called the fix counts without a common name too.
    """
    own, near = mending.words(cause.text) - mending.COMMON, mending.words(failure).union(*map(mending.code, edits))
    found: dict[Mend, tuple[float, int, bool]] = {}
    said_of = [(number, mend) for number, text in enumerate(texts) for mend in mending.mended(text)]
    if cause.fix and not any(_holds(mend, cause.fix) for _, mend in said_of):
        said_of.append((len(texts) - 1, Mend(mending.CALLED, cause.fix)))
    for at, (number, mend) in enumerate(said_of):
        said = " ".join((mend.said, *mend.steps))
        names, beside = mending.words(mending.without_place(said)), _holds(mend, cause.fix)
        if OF_TEST.search(mend.said) and not OF_TEST.search(cause.text) or mend.block == mending.ROW and not any(
                name in edit for name in _FILE.findall(mend.said.partition(": ")[0]) for edit in edits):
            continue
        if names & (own | near if alone or beside else own) or beside and not names:
            worth = mend.surety + (min(3, len(names & own)) + (number == len(texts) - 1) if names & own
                                   else 0.5 * min(2, len(names & near))) + _ALIKE * (mend.block == mending.ROW) * len(
                mending.plain_words(cause.text) & mending.plain_words(said))
        elif alone and mend.surety == mending.CALLED:
            worth = mend.surety + 0.5 * len(mending.plain_words(cause.text) & mending.plain_words(said)) - 0.5
        else:
            continue
        found[mend] = worth, at, beside
    ranked = sorted(found, key=lambda mend: (not found[mend][2], -found[mend][0], found[mend][1]))
    if not ranked:
        return []
    first = ranked[0]
    listed = _listed(first, cause, texts[said_of[found[first][1]][0]], own | mending.words(cause.fix) | (
        near if alone and not mending.words(first.said) & own else own))
    best = ranked[:1] + [mend for mend in ranked[1:] if found[mend][0] > NEARLY * found[first][0]
                         and mending.words(mend.said) & own and mend.block != mending.ROW
                         and not any(mending.same(mend.said, one) for one in (first.said, *first.steps))][:1]
    return listed if len(listed) > 1 else sorted(best, key=lambda mend: found[mend][1])


def _holds(mend: Mend, fix: str) -> bool:
    return bool(fix) and any(one[:_START].rstrip(" .…") == fix[:_START].rstrip(" .…") for one in (mend.said, *mend.steps))


def _listed(best: Mend, cause: Named, text: str, names: Set[str]) -> list[Mend]:
    """Return the list that a remedy is an item of, where most of it bears one of the names and its text names no other cause."""
    items = [mend for mend in mending.mended(text) if mend.block == best.block >= 0
             and (OF_TEST.search(cause.text) or not OF_TEST.search(mend.said))]
    near = sum(bool(mending.words(" ".join((mend.said, *mend.steps))) & names) for mend in items)
    alone = all(mending.same(one.text, cause.text) for one in named(text))
    return items[:mending.MOST_STEPS] if 2 * near > len(items) and alone else []


def _labelled(text: str) -> Iterator[tuple[float, str]]:
    """Yield (how surely a cause, 0 for none, the sentence without its label) of each sentence of a text.

    A label takes the list along that stands below it; so does a heading, else the sentence that follows it.
    """
    lines = [line for line in gist.prose(text) if line[:1] not in "|>"]
    heading = 0.0
    for number, line in enumerate(lines):
        level, head = tokeniser.heading(line)
        bold = tokeniser.is_bold(line)
        bare = head if level else line if bold else mending.ITEM.sub("", line, count=1).replace("**", "")
        bare = bare.strip("*: ") if level or bold else bare.strip()
        word, labelled = mending.FINDING.match(bare.rstrip(":：")), False
        *before, last = sentences(bare) or [""]
        if not (word or level or bold) and bare.endswith((":", "：")):
            word, labelled = mending.LABEL.match(mending.LEAD.sub("", last, count=1)), True
        if word:
            listed = mending.listed(lines[number + 1:])
            yield from map(_judged, before)
            weight, rest = _judged(last) if labelled else (_surety(word["word"]), "")
            if len(listed) > 1 and word["word"].endswith("s"):
                yield from ((weight, one) for one in listed)  # each is one
            else:
                yield (weight, _joined(rest.rstrip(":： "), listed)) if listed else (weight, rest.rstrip(":： "))
            heading = weight if not listed else 0.0
        elif _announces(last):
            yield from map(_judged, before)
            heading = _announces(last)
        elif level or bold:
            heading = 0.0
        else:
            for sentence in sentences(bare):
                if _announces(sentence):
                    heading = _announces(sentence)
                    continue
                weight, rest = _judged(sentence)
                if heading and rest.endswith((":", "：")):
                    whole = lasting.capital(rest + " " + "; ".join(mending.listed(lines[number + 1:])))
                    rest = whole if len(whole) <= LONGEST else rest
                if gist.is_announced(sentence):
                    heading = 0.0
                item = bool(mending.ITEM.match(line))
                yield (0.0 if item and weight == TOLD else weight) or (0.0 if item else heading), rest
                heading = 0.0


def _announces(sentence: str) -> float:
    """Return how surely the next sentence names a cause: where this one only says that it is found, or agrees; else 0."""
    if len(sentence) > _ANNOUNCED or not sentence.endswith((".", "!", ":")):
        return 0.0
    if mending.AGREES.match(sentence):
        return AGREED
    surety = FOUND if mending.SEES.search(sentence) else 0.0
    vague = surety and (_MODULE.search(sentence) or mending.SUPPOSED.search(sentence)
                        or gist.is_announced(mending.SEES_NOW.sub("", sentence)))
    return 0.0 if vague else surety


def _joined(head: str, items: Sequence[str]) -> str:
    """Join a sentence with the list below it; the sentence alone where it is whole, or both are too long."""
    said = "; ".join(items)
    while len(items) > 1 and len(head) + len(said) + 2 > LONGEST:
        items = items[:-1]
        said = "; ".join(items)
    if len(head) >= SHORTEST and not mending.CUT.search(head) and _MODULE.search(head):
        return head
    return lasting.capital(head + ": " + said if head else said)


def _judged(sentence: str) -> tuple[float, str]:
    """Return (how surely a sentence names a cause, it without its label)."""
    if len(sentence) > _READ:
        return 0.0, ""
    bare = mending.SUBJECT.sub("The run ", one_line(mending.LEAD.sub("", sentence, count=1)))
    label = mending.LABEL.match(bare)
    inner = mending.LABEL.match(bare[label.end():]) if label else None
    if label and inner:  # `the issue - the problem is that …`
        bare, label = bare[label.end():], inner
    late = None if label else mending.LATE.match(bare)
    told = not (label or late) and mending.WHY.search(bare) and mending.TOLD.search(bare)
    seen = mending.FOUND_IT.match(sentence)
    if not (label or late or told or seen) or mending.SUPPOSED.search(bare) or gist.is_announced(bare):
        return 0.0, bare
    if seen and not late:
        return FOUND, lasting.capital(_first(bare[label.end():] if label else sentence[seen.end():]))
    if late:
        return ROOT, lasting.capital(_first(bare[late.end():]))
    if not label:
        return TOLD, bare
    surety = _surety(label["word"])
    if surety == LABELLED and mending.PAST.search(label[0]):
        surety = FOUND
    return surety, lasting.capital(_first(bare[label.end():]))


def _surety(word: str) -> float:
    low = word.lower()
    return LABELLED if re.match(r"(?:bug|issue|problem|flaw|fault|mistake)s?\Z", low) else ROOT


def _first(text: str) -> str:
    """Return a sentence without the list that it takes along, where it says enough without."""
    head = text.partition(": ")[0]
    return head if "; " in text and len(head) >= SHORTEST and ": " in text else text


def standing(text: str, likely: bool = False) -> bool:
    """Tell whether a cause says something to who reads nothing else: whole, about something named, not of one's own last edit.

    likely: nothing calls it a cause, and it says enough in plain words.
    """
    least = SHORTEST // 2 if gist.wide(text) else SHORTEST
    if not least <= len(text) <= LONGEST or mending.LEANS.match(text) or any(p.search(text) for p in (mending.CUT, mending.OWN)):
        return False
    if not likely and mending.POINTS.search(text) and len(mending.words(text)) < 2:
        return False
    whole = text.count("`") % 2 == 0 and text.count("(") == text.count(")") and text.count('"') % 2 == 0
    tells = len(mending.plain_words(text)) >= _PLAIN if likely else (
        _MODULE.search(text) or mending.WHY.search(text) and len(mending.plain_words(text)) >= _TELLS)
    return whole and bool(tells) and not mending.TRIVIAL.search(text) and not mending.SUPPOSED.search(text)


def bearing(cause: Named, path: str, hunk: str) -> float:
    """Return how much an edit has to do with a cause: the names that both bear, and its file where the cause names it."""
    told = cause.text + " " + cause.fix
    return len(mending.words(told) & mending.code(hunk)) + 2.0 * (path.rpartition("/")[2].lower() in told.lower())


def key_of(cause: str) -> str:
    """Return the mark of a cause: 16 hex digits."""
    return files.sha256("\0".join(("statement", *sorted(frozenset(tokeniser.tokens(cause))))).encode("utf-8", "replace"))[:16]


def told(turn: Turn, number: int) -> Iterator[Said]:
    """Yield the causes that a turn names."""
    outcome = gist.outcome(turn)
    yield from (Said(cause, number, 0, PERSON, False) for cause in claimed(turn))
    for place, piece in enumerate(turn.pieces):
        for cause in named(piece.text) if piece.kind == SAID and gist.may_name_cause(piece.text) else ():
            if cause.weight != AGREED or mending.meet(turn.request, cause.text):
                yield Said(cause, number, place, MODEL, piece.text == outcome)
    if outcome and faults.may_review(outcome) and not any(piece.kind == FILE for piece in turn.pieces):
        yield from (Said(cause, number, len(turn.pieces), MODEL, True) for cause in reviewed(outcome))
    for text in _typed(turn):
        for cause in named(text) if gist.may_name_cause(text) else ():
            if cause.weight in (ROOT, TOLD):
                yield Said(cause, number, 0, PERSON, False)


def likely(held: Sequence[Turn], number: int, known: Sequence[Said]) -> Iterator[Said]:
    """Yield what the model says in a turn that likely is a cause, though nothing calls it one, or nothing shows that it is.

    known: the causes that the turn names.
    """
    turn, outcome = held[number], gist.outcome(held[number])
    of_turn = faults.Place(
        edits=any(piece.kind == FILE for one in held[number:number + _SOON] for piece in one.pieces),
        failed=any(piece.kind == RUN and piece.failed for piece in turn.pieces),
        reports=bool(mending.REPORTS.search(turn.request[:_TYPED])), pasted=faults.is_pasted(turn.request))
    for place, piece in enumerate(turn.pieces):
        if piece.kind != SAID or len(piece.text) > _SPOKEN:
            continue
        after = next((one.kind for one in turn.pieces[place + 1:] if one.kind in (SAID, FILE, RUN)), "")
        here = [said.cause.text[1:].rstrip(" .!") for said in known if said.place == place and said.speaker == MODEL]
        for order, (heading, item, one) in enumerate(_sentences(piece.text)):
            chance = faults.likelihood(one, of_turn._replace(
                number=order, item=item, headed=faults.is_headed(heading), announces=gist.is_announced(one),
                then_edited=after == FILE, named=any(text in one for text in here)))
            cause = lasting.capital(_judged(one)[1]) if chance else ""
            if standing(cause, likely=True) and not (mending.told(cause)[0] or mending.AGREES.match(cause)):
                yield Said(Named(chance, cause), number, place, MODEL, piece.text == outcome)


def _sentences(text: str) -> Iterator[tuple[str, bool, str]]:
    """Yield (the heading above it, whether it is an item of a list, it) of each sentence of a text that is in no table."""
    heading = ""
    for line in gist.prose(text):
        level, head = tokeniser.heading(line)
        if level or tokeniser.is_bold(line):
            heading = (head if level else line).strip("*: ")
        elif line[0] != "|":
            bare = mending.ITEM.sub("", line, count=1).replace("**", "").lstrip("> ")
            yield from ((heading, bool(mending.ITEM.match(line)), one_line(one)) for one in sentences(bare))


def claimed(turn: Turn) -> list[Named]:
    """Return what a reviewer's comment, which a request passes on, says of code to be wrong: the first sentence of it that stands
    alone."""
    if turn.request not in _typed(turn) or all(piece.kind != FILE for piece in turn.pieces):
        return []
    return [Named(CLAIMED, one, follows) for one, follows in faults.commented(list(gist.prose(turn.request)))
            if mending.words(one) and standing(one.replace("→", "-")) and not mending.POINTS.search(one)][:1]


def is_outlived(turn: Turn, place: int) -> bool:
    """Tell whether the model, after an edit for a cause that it had named, says that it still is so, or what else it is."""
    pieces = turn.pieces[place:]
    edited = next((at for at, piece in enumerate(pieces) if piece.kind == FILE), len(pieces))
    return any(piece.kind == SAID and mending.STILL.search(piece.text.lstrip().partition("\n")[0]) for piece in pieces[edited:])


def edited_next(turn: Turn, place: int) -> set[str]:
    """Return the files of the project that are edited after a statement, before anything else is said."""
    after = itertools.takewhile(lambda piece: piece.kind != SAID, turn.pieces[place + 1:])
    return {piece.text for piece in after if piece.kind == FILE and piece.text[:1] not in "/~"}


def _typed(turn: Turn) -> Iterator[str]:
    """Yield what the person typed in a turn."""
    if turn.asked in ("", turns.SLASH) and len(turn.request) < _TYPED and not is_ordered(turn.request):
        yield turn.request
    yield from (piece.text for piece in turn.pieces if piece.kind == USER and piece.name != turns.APPROVED
                and len(piece.text) < _TYPED)


# --- what a person reports

def is_ordered(request: str) -> bool:
    """Tell whether a request is a plan or a command, and no words of a person's own."""
    return bool(_ORDERED.search(request[:200]))


def reported(turn: Turn, cause: str, known: bool = False) -> tuple[str, bool]:
    """Return (what a turn's request reports as wrong, whether that is an error that it pastes), as `faults.reported` does."""
    if turn.asked == SUMMARY or is_ordered(turn.request):
        return "", False
    return faults.reported(turn.request, gist.prose(turn.request), cause, known)
