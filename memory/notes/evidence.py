"""The check of a note: what the conversation does not show is dropped and counted.

An item stands if its quote stands in the turn that it names, if every technical word of it stands
in the conversation, and if its text is about what the quoted turn says.  A sentence of the summary,
and the title, stand if their technical words do; a short sentence that stands replaces a title that
does not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.capture import conversationpage
from memory.capture.turns import BANG, SLASH, USER, Turn
from memory.core import tokeniser
from memory.distill.proof import Proof, is_takeover
from memory.notes.instruction import RULES
from memory.notes.schema import QUOTE, STANDING, TITLE, Item, Note

NO_QUOTE, NO_SOURCE, BEYOND = "no quote", "not in the conversation", "not in its turn"
ORDERS = "an order to its reader"
NOT_THEIRS = "not the user's words"  # of a standing wish
LEAST_WORDS, MOST_WORDS = 2, 40  # of a quote; of one in a script without spaces characters count
ECHO = 4  # words of a text that is taken for the request's own where they stand there
SHARE = 0.4  # of an item's words that its turn or the one before holds (evals/README.md, Notes)
_FOLD = {
    ord(c): to
    for to, group in (("'", "‘’‚"), ('"', "“”„«»"), ("", "*`"), (" ", "\u00a0"), ("-", "–—‑"))
    for c in group
}
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")


class Dropped(NamedTuple):
    """A dropped piece of a note.

    part: of the note, or `title` or `summary`.
    """

    part: str
    why: str
    text: str


class _Turn(NamedTuple):
    """A turn prepared for the lookup of quotes.

    number: from 1. labels: its time with and without the day. typed: texts by the user.
    """

    number: int
    labels: tuple[str, ...]
    folded: str
    stems: frozenset[str]
    typed: tuple[str, ...]


def _checked_items(
    note: Note, turns: Sequence[_Turn], proof: Proof
) -> tuple[list[Item], list[Dropped]]:
    """Return the proven items of a note, and the others."""
    stands, dropped = [], []
    for item in note.items:
        found = _quoted_turn(item, turns)
        why = _fault(item, found, turns, proof)
        if why or found is None:
            dropped.append(Dropped(item.part, why, item.text))
        else:
            quote = _sentence(item.quote, found.typed) if item.part == STANDING else item.quote
            stands.append(
                item._replace(number=found.number, quote=quote, why=_proven(item.why, proof))
            )
    return stands, dropped


def check(note: Note, body: str, day: str) -> tuple[Note, list[Dropped]]:
    """Return the proven part of a note, and the dropped pieces.

    body: the conversation's markdown. day: of its first turn, such as `2026-01-24`.
    """
    proof = Proof(body)
    stands, dropped = _checked_items(note, list(_turns(body, day)), proof)
    title = _proven(note.title, proof)
    if note.title and not title:
        dropped.append(Dropped("title", NO_SOURCE, note.title))
    said = [sentence for sentence in _SENTENCE.split(note.summary) if sentence.strip()]
    summary = [sentence.strip() for sentence in said if _proven(sentence, proof)]
    dropped += [Dropped("summary", NO_SOURCE, s) for s in said if s.strip() not in summary]
    if not title:
        # the first one says what was wanted
        later = [one.rstrip(".。") for one in summary[1:] + summary[:1] if len(one) <= TITLE]
        title = later[0] if later else ""
    return Note(title, " ".join(summary), tuple(stands)), dropped


def _turns(body: str, day: str) -> Iterator[_Turn]:
    parsed = conversationpage.parse(body, day)
    for number, (head, lines, _) in enumerate(conversationpage.sections(body), 1):
        day = head[1] or day
        said = "\n".join([head[3], *(line[2:] if line[:2] == "> " else line for line in lines)])
        labels = head[2], "%s %s" % (day, head[2]), "#%d" % number
        yield _Turn(number, labels, _folded(said), _stems(said), _typed(parsed[number - 1]))


def _typed(turn: Turn) -> tuple[str, ...]:
    """Return the user's texts in a turn."""
    request = [turn.request] if turn.asked in ("", SLASH, BANG) else []
    return (*request, *(piece.text for piece in turn.pieces if piece.kind == USER))


def _sentence(quote: str, typed: Sequence[str]) -> str:
    """Return the user's sentence with a quote, "" for none."""
    wanted = _folded(quote).strip(" .…\"'")
    for text in typed:
        for line in text.split("\n"):
            for sentence in _SENTENCE.split(line):
                if wanted in _folded(sentence):
                    whole = " ".join(sentence.split())
                    return whole if len(whole) <= QUOTE else quote
        if wanted in _folded(text):
            return quote
    return ""


def _folded(text: str) -> str:
    """Return a text with blanks, quotation marks and emphasis normalised."""
    return " ".join(text.translate(_FOLD).split())


def _stems(text: str) -> frozenset[str]:
    return frozenset(term for term, _ in tokeniser.terms(text))


def _script(text: str) -> str:
    """Return the script of most letters of a text, such as `LATIN`."""
    named = [unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha()]
    return max(sorted(set(named)), key=named.count, default="")


def _quoted_turn(item: Item, turns: Sequence[_Turn]) -> _Turn | None:
    """Return the turn that holds an item's quote, or None."""
    quote = _folded(item.quote).strip(" .…\"'")
    if len(quote) < 3 or len(quote.split()) > MOST_WORDS:
        return None
    if len(quote.split()) < LEAST_WORDS and quote.isascii() and len(quote) < 8:
        return None
    holding = [turn for turn in turns if quote in turn.folded]
    named = [turn for turn in holding if item.turn in turn.labels]
    return next(iter(named), holding[0] if len(holding) == 1 else None)


def _fault(item: Item, found: _Turn | None, turns: Sequence[_Turn], proof: Proof) -> str:
    """Return the fault of an item, "" for none."""
    if found is None:
        return NO_QUOTE
    if item.part == STANDING and not _sentence(item.quote, found.typed):
        return NOT_THEIRS
    if is_takeover(item.text + " " + item.why):
        return ORDERS
    if not _proven(item.text, proof):
        return NO_SOURCE
    words = _stems(item.text) if _script(item.text) == _script(item.quote) else frozenset()
    near = found.stems.union(
        *(turn.stems for turn in turns[max(0, found.number - 2) : found.number - 1])
    )
    if words and len(words & near) < SHARE * len(words):
        return BEYOND
    return ""


def _proven(text: str, proof: Proof) -> str:
    return "" if is_takeover(text) or _is_echo(text) or proof.lacking(text) else text


def _is_echo(text: str) -> bool:
    """Tell whether a text only repeats the request for the note."""
    said = _folded(text).strip(" .,;:…\"'")
    return len(said.split()) >= ECHO and said in _folded(RULES)
