"""What a turn came to in one sentence that a colleague would send: the sentence of its outcome that tells a change or a finding.

Word for word, without the words around it ("I've successfully …", "Done!"); what only says that checks pass, leads up to a list,
asks or offers is passed over.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memory.capture import gist, turns
from memory.capture.turns import APPROVED, USER, Turn
from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line, sentences
from memory.session import deeds

LINE = 150  # characters
HEADING, ITEM, PROSE = "heading", "item", "prose"
SHORTEST = 20  # characters of a sentence that tells something
_LESS = 2.0  # of the weight of a commit that is a chore
_COMMIT, _NAMED, _ORDERED, _PLANNED = 8.0, 5.0, 4.0, 4.0  # weights: a commit, a session's name, one that is an order, a plan
_DESCRIBED = 5.9  # of what was written for others
_INNER, _EFFECT = 0.5, 0.6  # taken off a line for each of the code's names in it, up to three; added to an effect without any
_CUT, _OPENS = 1.0, 0.5  # taken off what is cut, and an order not told as done; added to the first edit's: most begin with it
_SHARED, _SHARES, _REQUEST = 0.3, 4, 600  # added for each word of its request, up to four; characters of that which are read
_OFF, _LEFT = 1.8, 0.3  # taken off the weight of a line that a teammate gets little of, and what is left of it at least
_EDITED, _FILE, _FILES, _ASKED, _MUCH = 1.5, 0.25, 6, 2.8, 5  # of a turn that edits, each file, files that count, an order, many
# Of a weight: of the first one, that others have at least; of a finding after the last change; of the same said before.
_BESIDE, _SINCE, _LATER = 0.35, 0.6, 0.5
_EITHER = re.compile(r" \([^()]*\bor\b[^()]*\)")  # two ways of which an order leaves one to be chosen
_OF_FAULT = re.compile(r"(?:the )?(?:bug|problem|issue)", re.I)  # a heading
_FOUND = re.compile(r"found\b", re.I)
WORKED = "worked on: "  # before a name that tells no deed
FIXED = "Fixed: "  # before a fault that is told as fixed
_NAMES, _SAYS, _BACK, _KEPT = 3, 5, 3, 4  # words beside code that name a change, that say one; turns looked back on; sentences
_FIRST, _HEADED, _WEAK = 3, 0.8, 1.0  # sentences in which a heading or an order names work; what it tells; what little does


class Upshot(NamedTuple):
    """A line that says what came out.

    weight: how much it tells of the work, from 0 on.  at: the instant of its turn, ISO 8601 UTC, "" for none.  told: to others.
    """

    weight: float
    line: str
    at: str = ""
    told: bool = False


def of_turns(held: Sequence[Turn], title: str = "", commits: Sequence[str] = ()) -> list[Upshot]:
    """Return what came out of turns, what tells most first.

    title: the name of the work.  commits: `hash: subject` of those that were made in it; they stand for the turns that made them.
    """
    made = [one.partition(": ") for one in commits]
    found = [Upshot(_weight(subject), "%s (%s)" % (subject, mark) if subject else mark)
             for mark, _, subject in made if not deeds.MERGE.match(subject)]
    asked = [one for turn in held for one in [order(turn.request)] if one]
    changed = [at for at, turn in enumerate(held) if any(piece.kind in (turns.FILE, turns.COMMIT) for piece in turn.pieces)]
    covered = _committed(held) if any(not deeds.CHORE.match(subject) for _, _, subject in made) else 0
    called = _described(held)
    covered = max([covered, *(held.index(turn) for turn, _ in called)])
    first = next((at for at in changed if at >= covered and gist.is_finished(held[at]) and any(
        piece.kind == turns.FILE and not deeds.PAGE.search(piece.text) for piece in held[at].pieces)), -1)
    for at, turn in enumerate(held):
        told = [] if at < covered or _goes_on(held, at) else _of_turn(turn, bool(commits), _about(held, at))
        told = [one._replace(weight=one.weight + _OPENS) for one in told] if at == first else told
        if at in changed or not changed or any(deeds.REPORTS.match(one.line) and not _FOUND.match(one.line) for one in told):
            found += told
        elif at > changed[-1]:  # what was found before it led to the change, which tells it
            found += [one._replace(weight=_SINCE * one.weight) for one in told]
    title = next((one for one in asked if one.lower().startswith(title.lower())), title) if is_order(title) else title
    found += [one for _, one in called]
    last = held[changed[-1]] if changed and gist.is_finished(held[changed[-1]]) else None
    begun = any(one.line.startswith(WORKED + title) for one in found)
    if not (commits or begun or deeds.LOOKING.match(title)) and (_is_named(title, held) or is_order(title)):
        name = _ordered(title, last)
        found.append(Upshot(_NAMED if _is_named(title, held) else _ORDERED, as_line(name) if changed else name))
    instead = [one for one in found if deeds.IN_PLACE.search(one.line)]
    return distinct(one for one in found if not any(_replaces(later, one) for later in instead))


def as_line(name: str) -> str:
    """Return a name of work that changed something as a line, which says that it was worked on where the name tells no deed."""
    does = ":" in name or any(one.search(name) for one in (deeds.ORDER, deeds.REPORTS, deeds.PASSIVE, deeds.NOW))
    return name if does else WORKED + name


def _replaces(later: Upshot, earlier: Upshot) -> bool:
    """Tell whether a later line names what an earlier one added as what it came in place of."""
    gone = deeds.IN_PLACE.search(later.line) if later.at > earlier.at and deeds.ADDS.match(earlier.line) else None
    what = words_of(gone["what"]) if gone else set()
    return bool(what) and what <= words_of(earlier.line)


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
        elif kept[near].at and one.at > kept[near].at and one.weight >= _LATER * kept[near].weight and (
                len(words_of(one.line)) >= _LATER * len(words_of(kept[near].line))) and (
                is_weak(kept[near].line) or not is_weak(one.line)):
            kept[near] = one._replace(weight=kept[near].weight)
    return kept


def _is_named(title: str, held: Sequence[Turn]) -> bool:
    """Tell whether a title is a plan's or the client's: no request's and no statement's beginning."""
    spoken = title.startswith(FIXED) or any(title.lower() in gist.plain(text).lower() for turn in held for text in turn.said())
    asked = [gist.topic(turn.request) for turn in held]
    return bool(held) and not spoken and title not in asked and not deeds.LEANS.search(title)


def of_lines(lines: Sequence[str], title: str = "", commits: Sequence[str] = ()) -> list[Upshot]:
    """Return what came out of work of which only the last words are known, as `of_turns` does."""
    said = ([turns.Piece(turns.SAID, line)] for line in lines)
    return of_turns([Turn("", "", "", pieces) for pieces in said], title if is_order(title) else "", commits)


def _about(held: Sequence[Turn], at: int) -> list[str]:
    """Return the request of a turn, and those before it as far back as each agrees or points at what was said."""
    asked = [held[at].request]
    for turn in reversed(held[max(0, at - _BACK):at]):
        if not (turns.agrees(asked[-1]) or deeds.LEANING.search(asked[-1][:_REQUEST])):
            break
        asked += [turn.request] * (turn.asked != turns.SUMMARY)
    return asked


def _of_turn(turn: Turn, committed: bool, about: Sequence[str]) -> list[Upshot]:
    """Return what came out of one turn, empty where it came to nothing that can be told.  about: the requests that led to it."""
    paths = [piece.text for piece in turn.pieces if piece.kind == turns.FILE]
    if turn.asked == turns.SUMMARY or committed and any(piece.kind == turns.COMMIT for piece in turn.pieces):
        return []
    worth = _EDITED + _FILE * min(len(paths), _FILES) if paths else 0.0
    finished = gist.is_finished(turn)
    results = _results(turn, paths, finished, about)
    found = [Upshot(worth + score, line, turn.at) for score, line in results if finished or score > 3]
    plan = next((p.text for p in turn.pieces if p.kind == USER and p.name == APPROVED), "")
    if paths and finished:
        asked = gist.heading_of(plan) if plan else order(turn.request)
        if asked and not deeds.LOOKING.match(asked) and asked.count('"') % 2 == 0:
            line, score = in_full(_ordered(asked, turn), plan), _PLANNED if plan else _ASKED
            found.append(Upshot(worth + score - _CUT * (line.lower() == asked.lower()), line, turn.at))
    elif paths and plan:
        found.append(Upshot(worth, WORKED + in_full(gist.heading_of(plan), plan), turn.at, True))
    best = sorted(found, key=lambda one: -one.weight)
    best = best[:1] + [one for one in best[1:] if len(paths) >= _MUCH and deeds.NOW.search(one.line) and not (
        deeds.inner(one.line) or same(one.line, best[0].line))][:1]
    return [one._replace(line=one.line + deeds.page_of(one.line, paths)) for one in best]


def _described(held: Sequence[Turn]) -> list[tuple[Turn, Upshot]]:
    """Return the last turn in which somebody asked for words that others read, and what the work was called there; or none."""
    for turn in reversed(held):
        edits = any(piece.kind == turns.FILE for piece in turn.pieces)
        name = "" if edits or turn.asked == turns.SUMMARY else deeds.described(turn.request, gist.outcome(turn))
        if name:
            return [(turn, Upshot(_DESCRIBED, in_full(deeds.trimmed(deeds.as_done(name)), gist.outcome(turn)), turn.at, True))]
    return []


def in_full(name: str, text: str) -> str:
    """Return a name of few words with the first sentence of the text that bears it."""
    said = (bare(one) for kind, one in sentences_of(text) if kind == PROSE)
    told = (deeds.OF_PULL.sub("", one).rstrip(".") for one in said if not one.endswith((":", "：", "?")))
    first = next((one for one in told if deeds.in_words(one) >= _SAYS and not deeds.ASIDE.match(one)), "")
    if not first or deeds.in_words(name) >= _SAYS or ":" in name:
        return name
    return re.sub(r",[^,]*…\Z", "", deeds.shortened("%s: %s%s" % (name, first[:1].lower(), first[1:]), LINE))


def _weight(subject: str) -> float:
    """Return how much a commit tells; less where it only tidies up."""
    kind = 0.5 * subject.startswith("feat") - 0.5 * subject.startswith("refactor") - _LESS * bool(deeds.CHORE.match(subject))
    return _COMMIT + kind - 2 * _INNER * bool(deeds.inner(subject))


def _committed(held: Sequence[Turn]) -> int:
    """Return how many turns there are up to the last commit, which its subject tells."""
    return max((at + 1 for at, turn in enumerate(held) if any(piece.kind == turns.COMMIT for piece in turn.pieces)), default=0)


def _goes_on(held: Sequence[Turn], at: int) -> bool:
    """Tell whether what a turn was about goes on in the next one: after a compaction, or asked once more."""
    rest = [turn for turn in held[at + 1:at + 3] if turn.asked != turns.SUMMARY][:1]
    return not gist.is_finished(held[at]) and any(
        turn.asked == turns.GOES_ON or turn.request == held[at].request for turn in rest)


def _results(turn: Turn, paths: Sequence[str], finished: bool, about: Sequence[str]) -> list[tuple[float, str]]:
    """Return (how much it tells, the sentence) of the few sentences of a turn's outcome that a teammate gets most of.

    paths: that it touched; of one that finished with some, what only explains is no result.  about: the requests that led to it.
    """
    statement, worked = gist.outcome(turn), bool(paths) and finished
    asked = words_of(" ".join(one[:_REQUEST] for one in about))
    found, said = [], list(sentences_of(statement))
    heads = {bare(text): said[at + 1:at + 2] for at, (kind, text) in enumerate(said) if kind == HEADING and ":" not in text}
    for at, (score, text) in enumerate(scored(statement, bool(paths))):
        if text in heads and not paths or score <= _WEAK and not (paths or gist.wide(text)) or deeds.LISTS.search(text):
            continue
        line = deeds.PLACE.sub("", mended(text, statement) if worked else text).strip()
        reports = deeds.REPORTS.match(line) or deeds.SINCE.search(line) or line.startswith(FIXED)
        anew = worked and not (reports or deeds.PASSIVE.search(line)) and bool(deeds.NOW.search(line))
        idle = score <= _WEAK or deeds.EXPLAINS.search(line)
        told = reports or any(one.search(line) for one in (deeds.FAULTY, deeds.LABELLED, deeds.NOW))
        if not says(line) or worked and (idle and not told or deeds.TRY.match(line)):
            continue
        line = deeds.shortened(deeds.trimmed(line.rstrip(":;,")), LINE)
        line = _headed(deeds.made(line, paths), heads[text], about) if text in heads else line
        noted = _CUT * (bool(deeds.DOCUMENTS.search(line)) and not all(map(deeds.PAGE.search, paths)))
        found.append((min(noted - score - anew - _plain(line, asked), -_LEFT), at, line))
    return [(-least, line) for least, _, line in sorted(found)[:_KEPT]]


def _headed(line: str, below: Sequence[tuple[str, str]], about: Sequence[str]) -> str:
    """Return a heading of few words with what stands below it, else with what somebody wished there to be."""
    if deeds.in_words(line) >= _SAYS:
        return line
    said = [bare(text) for kind, text in below if kind != HEADING]
    said = [one for one in said if says(one) and not (deeds.is_poor(one) or deeds.inner(one) or one.endswith((":", "：")))]
    told = ("%s: %s" % (line, one.rstrip(".")) for one in (*said, *filter(None, (_wished(one, line) for one in about[1:]))))
    return next((whole for whole in told if len(whole) <= LINE), line)


def _wished(request: str, head: str) -> str:
    """Return what a request says that something should do, in its first sentence that stands by itself, "" for none."""
    said = (one for line in gist.prose(request) for one in sentences(deeds.LISTED.sub("", line)))
    whole = next((one for one in said if deeds.SHOULD.search(one) and deeds.is_whole(one[:len(one) // 2] + ".") and (
        not re.search(r"\b(?:i|we|you)\b|\?", one, re.I))), "")
    what, _, does = whole.partition(" should ")
    return does if does and not words_of(what) - words_of(head) else whole


def _plain(line: str, asked: set[str]) -> float:
    """Return how well a teammate gets a line, less than 0 where badly.  asked: the words of the request that it answers."""
    inner = deeds.inner(line)
    effect = bool(deeds.NOW.search(line)) and not inner
    shared = len(words_of(deeds.without_inner(line)) & asked)
    off = _OFF * deeds.is_poor(line) + _INNER * min(inner, 3) + _CUT * line.endswith("…")
    return _EFFECT * effect + _SHARED * min(shared, _SHARES) - off


def _ordered(asked: str, turn: Turn | None) -> str:
    """Return an order as a line, without `too`, `please` and the like at its end; as done where a turn changed something so."""
    line = deeds.trimmed(deeds.BESIDES.sub("", _EITHER.sub("", asked[:1].upper() + asked[1:])))
    done = turn and (not deeds.FIX_OF.match(line) or deeds.SAYS_FIXED.search(gist.outcome(turn)))
    return deeds.as_done(line) if done else line


def mended(line: str, statement: str) -> str:
    """Return a line that tells a fault as one of a fault that is fixed, where the statement says so."""
    faulty = deeds.FAULT.match(line) or not deeds.SAYS_FIXED.search(line) and any(
        one.search(line) for one in (deeds.AT_FAULT, deeds.FAULTY))
    if deeds.REPORTS.match(line) or not faulty or not deeds.SAYS_FIXED.search(statement):
        return line
    match = deeds.FAULT.match(line)
    return FIXED + line[match.end() if match else 0:].strip()


def is_weak(line: str) -> bool:
    """Tell whether a line tells tests and the like, or little to a teammate."""
    return bool(deeds.SIDE.search(line)) or deeds.is_poor(line)


def is_order(line: str) -> bool:
    """Tell whether a line names a piece of work by itself: `Fix the …`, `Add a …`."""
    return bool(deeds.ORDER.match(line)) and gist.telling(line) > 3 and not deeds.LEANS.search(line)


def order(request: str) -> str:
    """Return what a request orders in one of its first sentences, of at most 150 characters; "" where it orders nothing."""
    whole = gist.topic(request, 4 * LINE)
    first = next(iter(sentences(whole)), "")
    polite = any(map(deeds.ASKED.match, gist.prose(request)[:3]))
    if _is_carried_out(first) and (polite or deeds.ORDER.match(first)):
        return deeds.order_in(first)
    said = [one for line in gist.prose(request)[:_FIRST] for one in sentences(line)][:_FIRST]
    later = (one[match.end():] for one in said for match in deeds.THEN.finditer(one))
    return next((deeds.order_in(one) for one in later if _is_carried_out(one) and deeds.as_done(one) != one), "")


def _is_carried_out(sentence: str) -> bool:
    """Tell whether an order changes something, and says what to somebody who was not there."""
    line = deeds.order_in(sentence)
    if len(line) > LINE or gist.telling(line) < _NAMES + bool(deeds.FIX_OF.match(line)) or not deeds.is_whole(line):
        return False
    if deeds.NO_DEED.match(line) or deeds.KNOWN.match(line) or deeds.is_detail(line) or deeds.SIDE.search(line):
        return False
    return not deeds.SPOKEN.search(line) and line.count("`") % 2 == 0


def same(one: str, other: str) -> bool:
    """Tell whether two lines tell nearly the same."""
    first, second = ({word for word in tokeniser.tokens(line) if word and word not in tokeniser.STOP} for line in (one, other))
    return len(first & second) >= 0.6 * max(1, min(len(first), len(second)))


def best(statement: str) -> str:
    """Return the sentence of a statement that tells best what came out; "" for none."""
    found = min(((-score, at, line) for at, (score, line) in enumerate(scored(statement))), default=(0, 0, ""))
    return at_word(found[2].rstrip(":;,"), LINE)


def scored(statement: str, worked: bool = False) -> Iterator[tuple[float, str]]:
    """Yield (how well it tells what came out, the sentence) of each sentence of a statement; of work a heading names it too."""
    before = False
    found = list(sentences_of(statement))
    for place, (kind, text) in enumerate(found):
        before = bool(deeds.BEFORE.match(text)) if kind == HEADING else before
        faulty = kind == PROSE and place and found[place - 1][0] == HEADING and _OF_FAULT.fullmatch(found[place - 1][1])
        line = deeds.led(deeds.since(bare("%s: %s" % (found[place - 1][1], text) if faulty else text)))
        line = _listing(line, found[place + 1:]) if line.endswith(":") else line
        line = deeds.TAIL.sub("", line) if len(line) <= 2 * LINE else line
        if len(line) < (SHORTEST // 2 if gist.wide(line) else SHORTEST) or line.endswith(("?", "？")):
            continue
        if any(map(deeds.ASIDE.match, (line, deeds.FAULT.sub("", line, count=1)))):
            continue
        if len(line) <= 2 * LINE and deeds.VERDICT.match(line):
            continue
        kind = ITEM if deeds.NUMBERED.match(text) else kind
        done, headed = bool(deeds.REPORTS.match(line)), kind == HEADING
        if before or not says(line) or (done or not headed) and deeds.PIECE.match(line):
            continue
        back = any(deeds.HOWEVER.match(after) for _, after in found[place + 1:place + 2])
        if back or not headed and deeds.CUT.search(line):
            continue
        if deeds.WOULD.search(line) and not (done or deeds.FAULTY.search(line) or deeds.FAULT.match(line)):
            continue
        told = 1.5 * done + 1.0 * bool(deeds.PASSIVE.search(line)) + 1.2 * bool(deeds.FOUND.search(line))
        told += 1.5 * bool(deeds.LABELLED.match(line))
        if worked and headed and place < _FIRST and not (told or deeds.UNTOLD.search(line) and not deeds.FIX_OF.match(line)):
            told = _HEADED * (deeds.in_words(line) >= _NAMES)
        if not told:
            if kind == PROSE and not deeds.POINTS.match(line):
                yield _WEAK - place / 1000, line
            continue
        score = told + 0.3 * (40 <= len(line) <= LINE + 50) + (1.2 if not place else 0.5 if place < 4 else 0.0)
        score += {HEADING: 1.0, PROSE: 0.3, ITEM: -0.3}[kind] - 0.8 * bool(deeds.MINOR.search(line)) - (
            1.0 * bool(deeds.DETAIL.search(line)))
        score -= 2.0 * bool(deeds.POINTS.match(line)) + 0.6 * (len(line) > 2 * LINE)
        points = len(line) <= 2 * LINE and deeds.BACKWARD.match(line) and not deeds.AIM.search(line)
        score -= 1.5 * bool(deeds.BLAND.match(line) or points)
        if score > 0:
            yield max(score, _WEAK), line


def _listing(lead: str, after: Sequence[tuple[str, str]]) -> str:
    """Return a lead that says what is so now with the short items that it leads to, where all have room; else as it is."""
    items = [text.partition(" - ")[0].rstrip(" .;:") for kind, text in itertools.takewhile(lambda one: one[0] == ITEM, after)]
    whole = "%s %s" % (lead, "; ".join(items))
    tells = items and min(map(deeds.in_words, items)) > 1 and deeds.NOW.search(lead) and says(lead)
    tells = tells and not (deeds.POINTS.match(lead) or deeds.REPORTS.match(lead))
    return deeds.shortened(whole, LINE) if tells and len(whole) <= LINE else lead


def bare(line: str) -> str:
    """Return a sentence without the words around what it says."""
    line = one_line(line).strip("-*•✅✓ ")
    while (match := deeds.AROUND.match(line)) and match.end() < len(line):
        line = line[match.end():]
    line = line.strip()
    return line[:1].upper() + line[1:] if line.partition(" ")[0].rstrip(":,;").isalpha() else line


def says(line: str) -> bool:
    """Tell whether a sentence says more than that checks pass or something is done."""
    words = [word for word in re.findall(r"[\w'./`()-]+", line) if not deeds.EMPTY.fullmatch(word)]
    return gist.wide(line) or len(words) >= 2 or any(re.search(r"\w\(|\w[._/]\w", word) for word in words)


def sentences_of(statement: str) -> Iterator[tuple[str, str]]:
    """Yield (HEADING, ITEM or PROSE, the text) of the headings and sentences of a statement; code and tables are left out."""
    for line in gist.prose(statement):
        if line[:1] in "|>":
            continue
        level, head = tokeniser.heading(line)
        bold = tokeniser.is_bold(line)
        if level or bold:
            yield HEADING, deeds.LINK.sub(r"\1", (head if level else line).strip("*: #"))
            continue
        item = deeds.LISTED.match(line)
        text = deeds.LINK.sub(r"\1", (line[item.end():] if item else line).replace("**", "").replace("__", ""))
        for sentence in sentences(text):
            yield ITEM if item else PROSE, sentence
