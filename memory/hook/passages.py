"""Passages: one to three lines of a checkpoint or a conversation that a prompt gets unasked, or asks for.

A prompt gets one where it names something rare and a statement of an earlier session speaks of just that, where the same was
asked before, or where it asks the memory:

    handle     what a prompt names by its own name: an identifier, a file, an option, a ticket, a pull request, a commit
    statement  what says how something is: a line of a checkpoint, a sentence or a list item of the model's in a turn; no
               heading, command, question, announcement or quoted text
    score      strength * coverage of loader.py for a window (the prompt, or a part of a paste) and a text, where each term
               that both hold counts once: a passage of a paste must by itself be what is found

A statement must hold a handle of the window, score `load.passageRelevance`, and say more than the window does.  Of a turn
whose request scores SAME the outcome is told.  A prompt that asks ("tell me again why …", hook/__init__.py) needs no handle: what
was asked of a turn counts half, and it gets a longer answer.  At most MOST, of different sessions; none of the session itself,
unless the client forgot it.
"""

from __future__ import annotations

from math import log

from memory.core import clock, tokeniser
from memory.hook import fence, indexview, loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

    from memory.hook.indexview import Index

MOST = 2  # passages of a prompt
LINES, UNITS = 3, 420  # of one passage: statements, and their UTF-16 units
ASKED_LINES, ASKED_UNITS = 6, 600  # of one that answers a question
READ = 6  # records that are read for one prompt
TOLD_CHARS, MOST_CHARS = 32_000, 64_000  # of a checkpoint or a turn that are cut into statements, and of all for one prompt
SAME = 1.5  # score of a request that was made before
REQUEST, ANSWER = 110, 60  # UTF-16 units of a request that are told with its answer; characters of an outcome that is one
NEW = 0.35  # share of a passage's words that the window does not hold
RARE = 0.45  # idf / ln(1 + N) of a handle: 40 of 1,000 documents hold it
SHORT, LEAST_LETTERS = 10, 12  # characters of a sentence that may end at a full stop; letters of one that states something
_EDGES = "\"'`.,:;!?()[]{}<>*|=…"
_HEX = frozenset("0123456789abcdef")
_TOLD = ("Outcome", "Decisions", "Fixed", "Turns")  # parts of a checkpoint that tell
_OF_THE_DAY = ("Next", "Open")  # parts that tell nothing later
_MARKS = ("- ✓", "- ✗", "- ⊘", "- · ", "- edited ", "- created ", "- commit ", "- pull request ", "- subagent")
# How an announcement begins, or a word of assent that says nothing by itself.
_TALK = tuple("let me|let's|i'll |i will |i need to|i want to|i'm going|now |now,|first,|next,|looking at|would you|do you|"
              "should i|want me|here's|here is|perfect|great|good |you're right|you're absolutely|you are right|all tests pass|"
              "tests pass|done last|done.|<|‹".split("|"))
_NUMBERED = ("pr", "prs", "pull", "issue")  # words before a number that make it a handle
_DOMAINS = ("com", "io", "org", "net", "dev")


class Passage:
    """What is told of a record: a text of one to three statements, its score and the reason for it; rare handles of the text."""

    __slots__ = ("branch", "doc", "mark", "names", "reason", "score", "text")

    def __init__(self, doc: Any, branch: str, mark: str, score: float, reason: str, text: str):
        self.doc, self.branch, self.mark = doc, branch, mark
        self.score, self.reason, self.text = score, "passage: " + reason, text
        self.names: List[str] = []

    def line(self) -> str:
        """Write it for the model, as an item of a list with id, kind, day, branch and origin."""
        branch = ", branch " + fence.line(self.branch, 60) if self.branch else ""
        return "- [%s] (%s, %s%s%s%s) %s" % (fence.line(self.doc.id, 64), self.doc.kind, clock.day(self.doc.created), branch,
                                            fence.origin(self.doc), fence.marked(self.mark), self.text)


class Window:
    """What of a prompt is matched as one: its terms, what each is worth in an index as a share of ln(1 + N), and its handles.

    parts: the terms of each text it is made of, one but for a question with a paste below it, where their scores add up.
    """

    __slots__ = ("handles", "parts", "terms", "total", "worth")

    def __init__(self, found: Index, texts: Sequence[str], named: Sequence[str] = ()):
        norm = log(1.0 + found.documents)
        self.terms = loader.damped(tokeniser.terms("\n".join(texts)))
        self.worth = {term: value / norm for term, value in loader.worths(found, self.terms).items()}
        self.parts = [list(self.worth)] if len(texts) == 1 else [
            [term for term, _ in tokeniser.terms(text) if term in self.worth] for text in texts]
        self.total = sum(self.worth.values()) or 1.0
        self.handles = named

    def score(self, held: Set[str]) -> float:
        """Return strength * coverage of this window in a text, given as its terms."""
        worth, total = self.worth, 0.0
        for part in self.parts:
            got = sum(worth[term] for term in part if term in held)
            total += got * got / sum(worth[term] for term in part) if got else 0.0
        return total

    def is_named(self, text: str) -> bool:
        """Tell whether a text holds a handle of this window."""
        low = text.lower()
        return any(name in low for name in self.handles)

    def is_news(self, held: Set[str]) -> bool:
        """Tell whether a text, given as its terms, says more than this window."""
        return len(held.difference(self.worth)) >= NEW * max(1, len(held))


# ---- what a prompt names

def handles(text: str) -> List[str]:
    """Return the handles in a text, in lower case, each once."""
    found: Dict[str, None] = {}
    before = ""
    for raw in text.split():
        word = raw.strip(_EDGES)
        found.update((name.lower(), None) for name in _handles(word, before))
        before = word.lower()
    return list(found)


def _handles(word: str, before: str) -> Sequence[str]:
    """Return the handles in a word.  before: the word before it, in lower case."""
    if "://" in word:
        parts = word.split("/")
        return ["#" + number for part, number in zip(parts, parts[1:]) if part in ("pull", "issues") and number.isdigit()]
    if word[:1] == "#" or before in _NUMBERED:
        number = word.lstrip("#")
        if number.isdigit():
            return ["#" + number] if len(number) > 2 or before in _NUMBERED else ()
    if word[:2] == "--":
        return [word.partition("=")[0]] if len(word) > 5 else ()
    if 7 <= len(word) <= 40 and not word.isdigit() and not word.isalpha() and _HEX.issuperset(word):
        return [word]
    head, _, number = word.partition("-")
    if number.isdigit() and head.isupper() and head.isalpha() and 2 <= len(head) <= 8:
        return [word]
    return _names(word.partition("(")[0].partition(":")[0].partition("=")[0])


def _names(word: str) -> Sequence[str]:
    """Return of a word the name of a file, or the identifiers of several words."""
    file = word.rpartition("/")[2]
    stem, _, end = file.rpartition(".")
    if len(stem) > 1 and 1 < len(end) <= 5 and end.isalpha() and end.islower() and end not in _DOMAINS:
        return [file]
    return [piece for piece in word.replace("/", ".").split(".") if len(piece) >= 6 and piece.isascii()
            and piece.replace("_", "").isalnum() and ("_" in piece.strip("_") or _is_camel(piece))]


def _is_camel(word: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in zip(word, word[1:]))


def _is_rare(found: Index, name: str) -> bool:
    """Tell whether some documents hold a handle, and few."""
    terms = [term for term, _ in tokeniser.expand(name)] or [name.lstrip("#")]
    df = min(found.df(term) for term in terms)
    return df > 0 and loader.idf(found.documents, df) >= RARE * log(1.0 + found.documents)


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
    text = text.strip()
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
    return not (sentence[-1:] in ":?？" or low.startswith(_TALK) or "[request interrupted" in low) and (
        sum(map(str.isalpha, sentence)) >= (LEAST_LETTERS if sentence.isascii() else LEAST_LETTERS // 3))


# ---- what a prompt gets

def choose(found: Index, windows: Sequence[str], floor: float, asks: bool, shown: Set[str],
           own: str = "") -> Tuple[List[Passage], Optional[Passage]]:
    """Return (the passages that a prompt gets, best first; the best one below the threshold, or None).

    windows: the prompt, or the parts of a paste.  floor: `load.passageRelevance`.  asks: whether it asks the memory.
    shown: ids that the session has seen.  own: the session's id, "" where its own records may come.
    """
    best: Dict[str, Passage] = {}
    below: Optional[Passage] = None
    if asks:
        ready = [Window(found, windows)]
    else:
        named = [(text, [name for name in handles(text) if _is_rare(found, name)]) for text in windows]
        ready = [Window(found, (text,), names) for text, names in named if names]
    room = MOST_CHARS
    for doc, window, record in _candidates(found, ready, floor, shown, READ * 2 if asks else READ):
        mark, session = found.mark(record), fence.field(record, "session") or doc.name
        if (own and own in session) or (mark and not asks) or not room:
            continue
        text = _said(doc, window, record, min(room, TOLD_CHARS))
        room -= len(text)
        one = _best(doc, window, record, text, mark, asks)
        if one is None:
            continue
        if one.score < floor:
            below = one if below is None or one.score > below.score else below
        elif session not in best or one.score > best[session].score:
            best[session] = one
    order = sorted(best.values(), key=lambda one: (-one.score, one.doc.id))
    picked = [one for one in order if one.score >= loader.NEARLY * order[0].score or asks][:MOST]
    for one in picked:
        one.names = [name for name in handles(one.text) if _is_rare(found, name)]
    return picked, below


def _candidates(found: Index, windows: Sequence[Window], least: float, shown: Set[str],
                most: int) -> Iterator[Tuple[Any, Window, Any]]:
    """Yield (document, window, record) of what may hold a passage, nearest first.  most: records that are read."""
    norm = log(1.0 + found.documents)
    near: Dict[int, Tuple[float, Window]] = {}
    for window in windows:
        for score, number in _search(found, window, least * norm, loader.TELLING * norm):
            value = score * score / norm / norm / window.total
            if value >= least / 2 and value > near.get(number, (0.0, window))[0]:
                near[number] = value, window
    read: Dict[str, Any] = {}
    seen: Set[Tuple[str, str, int]] = set()  # of a checkpoint every section finds the same, of a long turn every part
    for number, (_, window) in sorted(near.items(), key=lambda row: (-row[1][0], row[0])):
        doc = found.doc(number)
        if doc.kind not in ("checkpoint", "conversation") or doc.id in shown or doc.section.endswith("(summary by the client)"):
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
            yield doc, window, read[doc.id]


def _search(found: Index, window: Window, least: float, telling: float) -> List[Tuple[float, int]]:
    """Return (score, number) of the best documents for a window that are no learnings, which would take all places."""
    wanted, learnings = 4 * READ, found.segment.pushable if found.segment else 0
    while True:
        hits = loader.search(found, window.terms, wanted, least=least, telling=telling)
        others = [hit for hit in hits if hit[1] >= learnings]
        if len(hits) < wanted or len(others) >= 2 * READ or wanted >= found.documents:
            return others
        wanted *= 4


def _said(doc: Any, window: Window, record: Any, most: int) -> str:
    """Return a checkpoint, or the turn that a document is of; where it is long, `most` characters around what is sought."""
    body = record.body
    if "private" in body.lower():
        from memory.hook import markup

        body = markup.without_private(body)
    text = fence.turn_of(body, doc.section) if doc.kind == "conversation" else body
    sought = [*window.handles, *sorted(window.worth, key=lambda term: (-window.worth[term], term))]
    return fence.around(text, sought, max(0, text.find(doc.section.rpartition(" > ")[2])), most)


def _best(doc: Any, window: Window, record: Any, text: str, mark: str, asks: bool) -> Optional[Passage]:
    """Return the best passage of a text of a record for a window, None where it says nothing of it."""
    offers = [offer for one in told(doc.kind, text) for offer in _offers(one, window, asks)] if text else []
    if not offers:
        return None
    score, reason, text = max(offers, key=lambda offer: offer[0])
    text = fence.line(text, (ASKED_UNITS if asks else UNITS) + REQUEST)
    return Passage(doc, fence.field(record, "branch"), mark, score, reason, text)


def _offers(one: Told, window: Window, asks: bool) -> Iterator[Tuple[float, str, str]]:
    """Yield (score, reason, text) of what a turn can tell a window."""
    asked = set(tokeniser.tokens(one.asked)) if one.asked else set()
    same, request = window.score(asked), _request(one)
    lines, units = (ASKED_LINES, ASKED_UNITS) if asks else (LINES, UNITS)
    if same >= SAME and not asks:
        text = " ".join(said for _, said in one.said[one.ended:one.ended + LINES])
        if len(text) >= ANSWER:
            yield same, "asked before", request + text
    words: Dict[int, Set[str]] = {}
    for at, (lead, said) in enumerate(one.said):
        if not asks and not window.is_named(lead + " " + said):
            continue
        text, above = "", ""
        held: Set[str] = set()
        for number, (lead, said) in enumerate(one.said[at:at + lines], at):
            text += (" " if text else "") + (lead + ": " if lead and lead != above else "") + said
            above = lead
            if number > at and tokeniser.utf16(text) > units:
                break
            if number not in words:
                words[number] = set(tokeniser.tokens(lead + " " + said))
            if asks and number > at and not (words[number] - held).intersection(window.worth):
                continue  # longer, and no better
            held.update(words[number])
            if asks:
                yield (window.score(held) + window.score(held | asked)) / 2, "what the prompt asks", request + text
            elif window.is_news(held):
                yield window.score(held), "names what the prompt names", text


def _request(one: Told) -> str:
    """Return what a turn was asked, cut short, as it stands before its answer."""
    asked = one.asked.strip().partition("\n")
    said = fence.clip((asked[0].endswith("…") and asked[2].strip(" >").partition("\n")[0]) or asked[0], REQUEST)
    return said + " → " if said else ""
