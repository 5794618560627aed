"""Check a note against its conversation; unproven parts are dropped and counted.

An item is proven if its quote stands in the turn that it names, all its technical words in the
conversation, and enough of its words near the quote.  A sentence of the summary, and the title, are
proven by their technical words; a short proven sentence replaces an unproven title.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.capture import conversationpage
from memory.capture.turns import USER, list_user_texts
from memory.core import tokeniser
from memory.distill.proof import Proof, is_takeover
from memory.hook import WISH_CHARS
from memory.notes.instruction import RULES
from memory.notes.schema import PARTS, QUOTE, STANDING, TITLE, Item, Note

NO_QUOTE, NO_SOURCE, BEYOND = "no quote", "not in the conversation", "not in its turn"
FULL = "its part of the note is full"
ORDER = "an order to its reader"
ASKED = "a question"  # of a standing wish
NOT_BY_USER = "not the user's words"  # of a standing wish; of a decision only `user` goes
LEAST_WORDS, MOST_WORDS = 2, 40  # of a quote; of one in a script without spaces characters count
ECHO = 4  # words of a text that counts as copied from the rules
SHARE = 0.4  # of an item's words in its turn or the one before (evals/README.md, Notes)
_SAME_CHARACTERS = {
    ord(c): to
    for to, group in (("'", "‘’‚"), ('"', "“”„«»"), ("", "*`"), (" ", "\u00a0"), ("-", "–—‑"))
    for c in group
}
_BROKEN = re.compile("[\ud800-\udfff\ufffd]")  # what stands for bytes that were no text
_QUOTED = re.compile(r'"[^"]{1,300}"|「[^「」]{1,300}」|『[^『』]{1,300}』')
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")


class DroppedItem(NamedTuple):
    """A text dropped from a note; `part` is its list, `title` or `summary`."""

    part: str
    why: str
    text: str


class _SearchableTurn(NamedTuple):
    """A turn prepared for the lookup of quotes.

    number: from 1. labels: its time with and without the day, `#number`. typed: texts by the user.
    """

    number: int
    labels: tuple[str, ...]
    text: str
    stems: frozenset[str]
    typed: tuple[str, ...]


def _check_items(
    note: Note, turns: Sequence[_SearchableTurn], proof: Proof
) -> tuple[list[Item], list[DroppedItem]]:
    """Split a note's items into proven and dropped ones."""
    proven: list[Item] = []
    dropped: list[DroppedItem] = []
    for item in note.items:
        turn = _find_quoted_turn(item, turns)
        fault = _find_fault(item, turn, turns, proof)
        if not fault and sum(one.part == item.part for one in proven) == PARTS[item.part][1]:
            fault = FULL
        if fault or turn is None:
            dropped.append(DroppedItem(item.part, fault, item.text))
            continue
        sentence = _find_user_sentence(item.quote, turn.typed)
        quote = sentence if item.part == STANDING else item.quote
        mark = "" if item.mark == USER and not sentence else item.mark
        why = item.why if _is_proven(item.why, proof) else ""
        proven.append(item._replace(number=turn.number, quote=quote, why=why, mark=mark))
    return proven, dropped


def check(note: Note, body: str, day: str) -> tuple[Note, list[DroppedItem]]:
    """Return the proven part of a note, and the dropped texts.

    body: the conversation's markdown. day: of its first turn, such as `2026-01-24`.
    """
    proof = Proof(body)
    items, dropped = _check_items(note, list(_parse_turns(body, day)), proof)
    title = note.title
    if not _is_proven(title, proof):
        dropped.append(DroppedItem("title", NO_SOURCE, title))
        title = ""
    summary = []
    for sentence in filter(str.strip, _SENTENCE.split(note.summary)):
        if _is_proven(sentence, proof):
            summary.append(sentence.strip())
        else:
            dropped.append(DroppedItem("summary", NO_SOURCE, sentence))
    if not title:
        # the first sentence says what was wanted, the later ones what came of it
        short = [s.rstrip(".。") for s in summary[1:] + summary[:1] if len(s) <= TITLE]
        title = short[0] if short else ""
    return Note(title, " ".join(summary), tuple(items)), dropped


def _parse_turns(body: str, day: str) -> Iterator[_SearchableTurn]:
    parsed = conversationpage.parse(body, day)
    for number, (head, lines, _) in enumerate(conversationpage.split_sections(body), 1):
        day = head[1] or day
        labels = head[2], "%s %s" % (day, head[2]), "#%d" % number
        text = "\n".join([head[3], *(line.removeprefix("> ") for line in lines)])
        typed = tuple(map(_keep_typed_lines, list_user_texts(parsed[number - 1])))
        yield _SearchableTurn(number, labels, _normalise(text), _stem_words(text), typed)


def _keep_typed_lines(text: str) -> str:
    """Return a text without code and quotations, "" for a pasted one."""
    lines = tokeniser.mark_code(text.split("\n"))
    typed = "\n".join(line for line, is_code in lines if not is_code and line[:1] != ">")
    return typed if len(typed) <= WISH_CHARS else ""


def _find_user_sentence(quote: str, typed: Sequence[str]) -> str:
    """Find the user's sentence that holds a quote, or ""."""
    wanted = _normalise(quote).rpartition(" → ")[2].strip(" .…\"'")
    for text in typed:
        # what the user quotes is not theirs
        own = _QUOTED.sub(lambda found: found[0].replace(wanted, ""), _normalise(text))
        if not wanted or wanted not in own:
            continue
        for line in text.split("\n"):
            for sentence in _SENTENCE.split(line):
                if wanted in _normalise(sentence):
                    sentence = " ".join(sentence.split())
                    return sentence if len(sentence) <= QUOTE else quote
        return quote
    return ""


def _normalise(text: str) -> str:
    """Normalise blanks, quotation marks and emphasis."""
    return " ".join(text.translate(_SAME_CHARACTERS).split())


def _stem_words(text: str) -> frozenset[str]:
    return frozenset(term for term, _ in tokeniser.query_terms(text))


def _find_script(text: str) -> str:
    """Return the most frequent script of a text, such as `LATIN`."""
    named = [unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha()]
    return max(sorted(set(named)), key=named.count, default="")


def _find_quoted_turn(item: Item, turns: Sequence[_SearchableTurn]) -> _SearchableTurn | None:
    """Find the turn that holds an item's quote, or None."""
    quote = _normalise(item.quote).strip(" .…\"'")
    words = len(quote.split())
    if len(quote) < 3 or words > MOST_WORDS:
        return None
    if words < LEAST_WORDS and quote.isascii() and len(quote) < 8:
        return None  # one short word
    holding = [turn for turn in turns if quote in turn.text]
    named = [turn for turn in holding if item.turn in turn.labels]
    if named:
        return named[0]
    return holding[0] if len(holding) == 1 else None


def _find_fault(
    item: Item, turn: _SearchableTurn | None, turns: Sequence[_SearchableTurn], proof: Proof
) -> str:
    """Return why an item is unproven, or ""."""
    if turn is None:
        return NO_QUOTE
    fault = _find_wish_fault(item, turn) if item.part == STANDING else ""
    if fault:
        return fault
    if is_takeover(item.text + " " + item.why):
        return ORDER
    if not _is_proven(item.text, proof):
        return NO_SOURCE
    if _find_script(item.text) == _find_script(item.quote):
        words = _stem_words(item.text)
        before = turns[max(0, turn.number - 2) : turn.number - 1]
        near = turn.stems.union(*(each.stems for each in before))
        if len(words & near) < SHARE * len(words):
            return BEYOND
    return ""


def _find_wish_fault(item: Item, turn: _SearchableTurn) -> str:
    sentence = _find_user_sentence(item.quote, turn.typed).rstrip(" \"')»”’」")
    return (ASKED if sentence.endswith(("?", "？")) else "") if sentence else NOT_BY_USER


def _is_proven(text: str, proof: Proof) -> bool:
    is_broken = any(sign not in proof.plain for sign in _BROKEN.findall(text))
    return not (is_broken or is_takeover(text) or _is_echo(text) or proof.find_unproven(text))


def _is_echo(text: str) -> bool:
    """Tell whether a text is copied from the rules of the prompt."""
    text = _normalise(text).strip(" .,;:…\"'")
    return len(text.split()) >= ECHO and text in _normalise(RULES)
