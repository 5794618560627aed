"""Passages: one to three lines of a checkpoint or a conversation that a prompt gets unasked, or asks for.

Most prompts say what is to be done, and get none: what was said of a name is no news (evals/README.md).  One gets some if it

    asks the memory ("tell me again why …", hook/__init__.py): what scores most, and how the outcome of its turn opens
    inquires ("how does …") about something rare by its name: a statement of it that says more than the prompt
    was asked before, or names a ticket of an earlier session: what came of that
    statement  what says how something is: no heading, command, question, announcement
    score      strength * coverage of loader.py for a window (the prompt, or its paragraph) and a text, where each term that
               both hold counts once, and what was asked of a turn counts half; where the memory is asked, the geometric mean of
               that and of the same for the whole turn

The score must reach `load.passageRelevance`.  Of those as good the newest is told; at most MOST, of different sessions.
"""

from __future__ import annotations

from math import log

from memory.core import tokeniser
from memory.hook import handles, indexview, is_asking, is_inquiring, is_ticket, loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

    from memory.hook.indexview import Index

MOST = 2  # passages of a prompt
LINES, UNITS = 6, 600  # of one passage: statements, and their UTF-16 units
OPENING = 300  # characters of an outcome's opening that stands beside what a prompt asks the memory for
NEARLY = 0.9  # share of the best score at which an answer is as good, where the prompt asks the memory
ASKED_CHARS = 1000  # of a prompt that asks the memory
READ = 6  # records that are read for one prompt
TOLD_CHARS, MOST_CHARS = 32_000, 64_000  # of a checkpoint or a turn that are cut into statements, and of all for one prompt
SAME, ABOUT = 0.85, 0.35  # shares of two questions that both hold, where they are one, where one is about the other
EASIER = 0.67  # of the threshold, for a prompt that asks the memory
TOTAL = 1.1  # what a prompt's terms are worth together that is measured by the whole threshold
TOLD_APART = 3  # words that such questions share, those apart that every prompt holds
REQUEST, ANSWER = 110, 60  # UTF-16 units of a request that are told with its answer; characters of an outcome that is one
NEW = 0.35  # share of a passage's words that the window does not hold
SHORT, LEAST_LETTERS = 10, 12  # characters of a sentence that may end at a full stop; letters of one that states something
_TOLD = ("Outcome", "Decisions", "Fixed", "Turns")  # parts of a checkpoint that tell
_OF_THE_DAY = ("Next", "Open")  # parts that tell nothing later
_MARKS = ("- ✓", "- ✗", "- ⊘", "- · ", "- edited ", "- created ", "- commit ", "- pull request ", "- subagent")
# How an announcement begins, or a word of assent that says nothing by itself.
_TALK = tuple("let me|let's|i'll |i will |i need to|i want to|i'm going|now |now,|first,|next,|looking at|would you|do you|"
              "should i|want me|here's|here is|perfect|great|good |you're right|you're absolutely|you are right|all tests pass|"
              "tests pass|done last|done.|got it|<|‹".split("|"))


class Passage:
    """What is told of a record, as its file has it: one to three statements, their score, why, and rare handles of the text."""

    __slots__ = ("doc", "mark", "names", "reason", "record", "score", "text")

    def __init__(self, doc: Any, record: Any, mark: str, score: float, reason: str, text: str):
        self.doc, self.record, self.mark = doc, record, mark
        self.score, self.reason, self.text = score, "passage: " + reason, text
        self.names: List[str] = []


class Window:
    """What of a prompt is matched as one: its terms, what each is worth in an index as a share of ln(1 + N), and its handles.

    parts: terms of each text it is made of: of a question with a paste below, scores add up.  asks: it asks the memory.
    """

    __slots__ = ("asks", "found", "handles", "parts", "terms", "total", "worth")

    def __init__(self, found: Index, texts: Sequence[str], asks: bool = False):
        self.found, self.asks = found, asks
        self.handles: List[str] = []
        self.terms = loader.damped(found.terms("\n".join(texts)))
        self.worth = loader.parts_of(found, self.terms)
        self.parts = [list(self.worth)] if len(texts) == 1 else [
            [term for term, _ in tokeniser.terms(text) if term in self.worth] for text in texts]
        self.total = sum(self.worth.values()) or 1.0

    def says_more(self, names: Sequence[str]) -> bool:
        """Tell whether it says more than names and what every prompt holds: whether a name has tests, the files tell."""
        return any(self.tells(term) and not any(term in name for name in names) for term in self.worth)

    def tells(self, term: str) -> bool:
        """Tell whether a term is known, and none that every prompt holds."""
        return term not in tokeniser.COMMON and self.found.df(term) > 0

    def score(self, held: Set[str]) -> float:
        """Return strength * coverage of this window in a text, given as its terms."""
        worth, total = self.worth, 0.0
        for part in self.parts:
            got = sum(worth[term] for term in part if term in held)
            total += got * got / sum(worth[term] for term in part) if got else 0.0
        return total

    def least(self, floor: float) -> float:
        """Return what a passage must score: less where a small store gives little to any term."""
        small = min(1.0, self.total / TOTAL) if sum(map(self.tells, self.worth)) >= TOLD_APART else 1.0
        return floor * small * (EASIER if self.asks else 1.0)

    def is_named(self, text: str) -> bool:
        """Tell whether a text holds a handle of this window."""
        low = text.lower()
        return any(name in low and not (name[-1].isdigit() and low[low.find(name) + len(name):][:1].isdigit())
                   for name in self.handles)

    def is_news(self, held: Set[str]) -> bool:
        """Tell whether a text, given as its terms, says more than this window."""
        return len(held.difference(self.worth)) >= NEW * max(1, len(held))

    def resembles(self, heading: str) -> bool:
        """Tell whether a turn's heading, which is how its request begins, has mostly words of this window."""
        held = [term in self.worth for term, _ in tokeniser.terms(heading.partition(" ")[2])]
        return sum(held) > len(held) / 2

    def likeness(self, asked: str) -> Tuple[float, float]:
        """Return the shares of this window, and of what was asked in a turn, that both hold."""
        terms = loader.damped(tokeniser.terms(asked))
        shared = [term for term, _ in terms if term in self.worth]
        if sum(term not in tokeniser.COMMON for term in shared) < TOLD_APART:
            return 0.0, 0.0
        other = loader.parts_of(self.found, terms)
        return sum(map(self.worth.__getitem__, shared)) / self.total, sum(map(other.__getitem__, shared)) / sum(other.values())


# ---- what a record tells

class Told:
    """A turn, or a line of a checkpoint: what was asked, and its statements, each with what stands above it.

    ended: the number of the first statement of its outcome.
    """

    __slots__ = ("asked", "ended", "said")

    def __init__(self, asked: str = ""):
        self.asked, self.ended = asked, 0
        self.said: List[Tuple[str, str]] = []


def told(kind: str, text: str) -> List[Told]:
    """Take a checkpoint, or a turn of a conversation, into what it tells; a checkpoint in other words reads as a turn."""
    if kind == "checkpoint" and any(line[:3] == "## " and line[3:].strip() in _TOLD + _OF_THE_DAY for line in text.split("\n")):
        return _page(text)
    return [_turn(text)]


def _page(text: str) -> List[Told]:
    found: List[Told] = []
    part = ""
    for line in text.split("\n"):
        if line.startswith("## "):
            part = line[3:].strip()
        elif line.startswith("- ") and part in _TOLD:
            one, said = Told(), line[2:].strip()
            if part == "Turns":
                one.asked, _, said = said.partition(" → ")
            one.said = [("", sentence) for sentence in statements(said) if not sentence.startswith("see Outcome")]
            if one.said:
                found.append(one)
    return found


def _turn(text: str) -> Told:
    """Read a turn: quoted lines are the user's, and a mark of what ran ends what was said on the way."""
    one, lead = Told(), ""
    block: List[str] = []
    asked: List[str] = []

    def close() -> None:
        one.said += [(lead, sentence) for sentence in statements(" ".join(block))]
        block.clear()

    for line, code in tokeniser.coded(text.split("\n")):
        bare = line.strip()
        if line.startswith("## "):
            asked.append(line[3:].partition(" ")[2])
        elif line.startswith(">"):
            asked.append(line[1:])
        elif code or not bare or line.startswith(_MARKS):
            close()
            if line.startswith(_MARKS):
                one.ended, lead = len(one.said), ""
        elif _is_lead(bare):
            close()
            lead = bare.strip("#*_: ")
            lead = "" if lead.lower().startswith(_TALK) or "let me" in lead.lower() else lead
        else:
            if _is_item(bare):
                close()
            block.append(bare)
    close()
    one.asked = "\n".join(asked)
    one.ended = one.ended if one.ended < len(one.said) else 0
    return one


def _is_lead(line: str) -> bool:
    """Tell whether a line only announces what stands below it."""
    return bool(tokeniser.heading(line)[0]) or line.rstrip("*_ ").endswith(":") or (
        line[:2] == line[-2:] == "**" and "**" not in line[2:-2])


def _is_item(line: str) -> bool:
    return line[:2] in ("- ", "* ", "+ ") or line[:1] == "|" or line.partition(".")[0].isdigit()


def statements(text: str) -> List[str]:
    """Cut a paragraph, a list item or a row of a table into the sentences that state something."""
    text = text.replace("**", "").strip()
    text = text[2:].strip() if text[:2] in ("- ", "* ", "+ ") else text.strip("| ").replace(" | ", " – ")
    found, start = [], 0
    for at, char in enumerate(text):
        if char in "。！？" or (char in ".!?" and text[at + 1:at + 2] == " " and at - start > SHORT
                             and not text[at + 2:at + 3].islower()):
            found.append(text[start:at + 1].strip())
            start = at + 1
    return [sentence for sentence in (*found, text[start:].strip()) if _states(sentence)]


def _states(sentence: str) -> bool:
    """Tell whether a sentence says how something is, and not what is asked or about to be done."""
    low = sentence.lower().lstrip("*`_ ")
    return not (sentence[-1:] in ":?？" or low.startswith(_TALK) or " i'll " in low or "[request interrupted" in low) and (
        sum(map(str.isalpha, sentence)) >= (LEAST_LETTERS if sentence.isascii() else LEAST_LETTERS // 3))


# ---- what a prompt gets

def choose(found: Index, prompt: str, floor: float, asks: bool, shown: Set[str],
           own: str = "") -> Tuple[List[Passage], Optional[Passage]]:
    """Return (the passages that a prompt gets, best first; the best one below the threshold, or None).

    floor: `load.passageRelevance`.  asks: whether it asks the memory.  shown: ids that the session has seen.  own: the session's
    id, "" where its own records may come.
    """
    best: Dict[str, Passage] = {}
    below: Optional[Passage] = None
    ready = list(_wanted(found, prompt, asks))
    room = MOST_CHARS
    for value, doc, window, record in _candidates(found, ready, floor, shown, READ * 2 if asks else READ):
        from memory.hook import fence  # here and below: for most prompts no record is read
        mark, session = found.mark(record), fence.field(record, "session") or doc.name
        if (own and own in session) or (mark and not asks) or not room:
            continue
        text = _said(doc, window, record, min(room, TOLD_CHARS))
        room -= len(text)
        one = _best(doc, window, record, text, mark, value)
        if one is not None and one.score < window.least(floor):
            below = one if below is None or one.score > below.score else below
        elif one is not None and (session not in best or one.score > best[session].score):
            best[session] = one
    order = sorted(best.values(), key=lambda one: (-one.score, one.doc.id))
    near = [one for one in order if one.score >= (NEARLY if asks else loader.NEARLY) * order[0].score]
    near.sort(key=lambda one: -one.doc.created)  # of answers that are as good, the last one holds
    picked = (near + [one for one in order if one not in near and one.score >= loader.NEARLY * order[0].score])[:MOST]
    for one in picked:
        one.names = [name for name in handles(one.text) if loader.is_rare(found, name)]
    return picked, below


def _wanted(found: Index, prompt: str, asks: bool) -> Iterator[Window]:
    """Yield what is looked for: all that a prompt says which asks the memory, of another its questions with what they name."""
    if asks:
        yield Window(found, loader.windows(prompt[:ASKED_CHARS]), True)
        return
    for text in loader.windows(prompt):
        inquires = is_inquiring(text)
        window = Window(found, (text,))
        names = [name for name in handles(text) if loader.is_rare(found, name)]
        window.handles = names if inquires and window.says_more(names) else list(filter(is_ticket, names))
        if window.handles or ("?" in text[-3:] and sum(map(window.tells, window.worth)) >= TOLD_APART):
            yield window


def _candidates(found: Index, windows: Sequence[Window], least: float, shown: Set[str],
                most: int) -> Iterator[Tuple[float, Any, Window, Any]]:
    """Yield (score, document, window, record) of what may hold a passage, nearest first.  most: records that are read."""
    norm = log(1.0 + found.documents)
    near: Dict[int, Tuple[float, Window]] = {}
    for window in windows:
        reach = window.least(least)
        telling = min(loader.TELLING, max(window.worth.values(), default=0.0))
        for score, number in _search(found, window, reach * norm, telling * norm):
            value = score * score / norm / norm / window.total
            if value > max(near.get(number, (0.0, window))[0], reach / 2):
                near[number] = value, window
    read: Dict[str, Any] = {}
    seen: Set[Tuple[str, str, int]] = set()  # of a checkpoint every section finds the same, of a long turn every part
    for number, (value, window) in sorted(near.items(), key=lambda row: (-row[1][0], row[0])):
        doc = found.doc(number)
        if doc.kind not in ("checkpoint", "conversation") or doc.id in shown or doc.section.endswith("(summary by the client)"):
            continue
        if not (window.asks or window.handles or (doc.kind == "conversation" and window.resembles(doc.section))):
            continue
        key = doc.id, doc.section if doc.kind == "conversation" else "", id(window)
        if key in seen:
            continue
        seen.add(key)
        if doc.id not in read:
            if len(read) == most:
                return
            read[doc.id] = next(iter(indexview.reread(found, [doc])), None)
        if read[doc.id] is not None:
            yield value, doc, window, read[doc.id]


def _search(found: Index, window: Window, least: float, telling: float) -> List[Tuple[float, int]]:
    """Return (score, number) of the best documents for a window that are no learnings, also where these take the places."""
    wanted, learnings = 4 * READ, found.segment.pushable if found.segment else 0
    hits = loader.search(found, window.terms, wanted, least=least, telling=telling)
    others = [hit for hit in hits if hit[1] >= learnings]
    if len(hits) < wanted or len(others) >= 2 * READ:
        return others
    return loader.search(found, window.terms, 4 * wanted, indexview.OTHERS, least=least, telling=telling)


def _said(doc: Any, window: Window, record: Any, most: int) -> str:
    """Return a checkpoint, or the turn that a document is of; where it is long, `most` characters around what is sought."""
    body = record.body
    if "private" in body.lower():
        from memory.hook import markup

        body = markup.without_private(body)
    from memory.core.plaintext import around
    from memory.hook import fence
    text = fence.turn_of(body, doc.section) if doc.kind == "conversation" else body
    sought = [*window.handles, *sorted(window.worth, key=lambda term: (-window.worth[term], term))]
    return around(text, sought, max(0, text.find(doc.section.rpartition(" > ")[2])), most)


def _best(doc: Any, window: Window, record: Any, text: str, mark: str, value: float) -> Optional[Passage]:
    """Return the best passage of a text of a record for a window, None where it says nothing of it.

    value: the score of the turn or section, which counts as much as that of the passage in it where the prompt asks the memory.
    """
    from memory.hook import fence
    offers = (offer for one in told(doc.kind, text) for offer in _offers(one, window)) if text else ()
    score, reason, text = max(offers, key=lambda offer: offer[0], default=(0.0, "", ""))
    score = (value * score) ** 0.5 if window.asks else score
    return Passage(doc, record, mark, score, reason, fence.line(text, UNITS + OPENING + REQUEST)) if text else None


def _offers(one: Told, window: Window) -> Iterator[Tuple[float, str, str]]:
    """Yield (score, reason, text) of what a turn can tell a window."""
    asked = set(tokeniser.tokens(one.asked))
    (mine, other), request = window.likeness(one.asked), _request(one)
    answer = _passage(one, one.ended, None, {})[1]
    if min(mine, other) >= SAME and len(answer) >= ANSWER:
        yield window.total, "asked before", request + answer
    ticketed = any(map(is_ticket, window.handles))
    if ticketed and window.is_named(one.asked) and len(answer) >= ANSWER:
        yield window.total, "asked of what the prompt names", request + answer
    explained = window.asks and other >= ABOUT and len(answer) >= ANSWER and (is_inquiring(one.asked) or is_asking(one.asked))
    words: Dict[int, Set[str]] = {}
    for at, (lead, said) in enumerate(one.said):
        if not window.asks and not window.is_named(lead + " " + said):
            continue
        held, text = _passage(one, at, window, words)
        score = (window.score(held) + window.score(held | asked)) / 2
        if window.asks:
            yield score, "what the prompt asks", request + (answer if explained else _opened(one, at, text))
        elif window.is_news(held):
            yield max(score, window.total / 2 if ticketed else 0.0), "names what the prompt names", request + text


def _passage(one: Told, at: int, window: Optional[Window], words: Dict[int, Set[str]]) -> Tuple[Set[str], str]:
    """Return (its terms, the text) of a turn's statement and of those behind it, as many as fit, that tell a window more, or all.

    words: the terms of each statement, filled as they are asked for.
    """
    text, above = "", ""
    held: Set[str] = set()
    for number, (lead, said) in enumerate(one.said[at:at + LINES], at):
        more = text + (text and (" " if text[-1] in ".!;:。" else "; ")) + (lead + ": " if lead and lead != above else "") + said
        if number not in words:
            words[number] = set(tokeniser.tokens(lead + " " + said))
        if number > at and tokeniser.utf16(more) > UNITS:
            break
        if window and number > at and not (words[number] - held).intersection(window.worth):
            continue  # longer, and no better
        text, above = more, lead
        held.update(words[number])
    return held, text


def _opened(one: Told, at: int, text: str) -> str:
    """Return a passage, which begins with a statement, with the opening of its turn's outcome where that is not in it."""
    opening = next((said for _, said in one.said[one.ended:one.ended + LINES] if ANSWER <= len(said) < OPENING), "")
    both = (text, opening) if at < one.ended else (opening, text)
    return text if opening in text else " … ".join(both)


def _request(one: Told) -> str:
    """Return what a turn was asked, cut short, as it stands before its answer."""
    from memory.hook import fence

    asked = one.asked.strip().partition("\n")
    said = fence.clip((asked[0].endswith("…") and asked[2].strip(" >").partition("\n")[0]) or asked[0], REQUEST)
    return said + " → " if said else ""
