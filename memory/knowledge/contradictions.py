"""Learnings and rules that cannot both hold: pairs for a person to decide on, never changed by a machine.

A pair is two sentences of two records on the same subject, nearly all of whose terms are the same, of which

    one says no where the other does not (`use X`, `do not use X`; `enabled`, `disabled`),
    one puts X before Y and the other Y before X (`X instead of Y`, `Y rather than X`), or
    one gives another number for the same thing in the same sort of unit (`30 s`, `5 min`; `30 s` and `30000 ms` are one).

Compared is what a sentence says, without its reason (`because …`).  Records whose versions have none in common hold side by
side, and so do two of which one links to the other: somebody has decided.  Checkpoints tell what was, plans what shall be.

`marked` looks at what a query found instead: what a session answered is no longer so where something later, of the hits or of all
sessions (`packed`), says that the thing it names was replaced, renamed, removed or taken back.

Format of `<scope>.turned`, version 2, derived with the walls, ASCII: `dayleaf turned 2`; then for each name of what is no longer
so, sorted, a line of 16 hex of its SHA-256 and a JSON object: name, id, session, branch, created, size and sha (of so much of the
record's text as it was read from), old (the name), at (the turn's instant, seconds since the epoch), turn (0 in a checkpoint),
said (a sentence) and words (that tell what it is about).  A turn that a later one of its session changed is named by its record's
id and its heading, and has no words.  A hook tells it only where the record's text still stands (hook/fence.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from memory.capture import choices, gist
from memory.capture.turns import SAID, SUMMARY
from memory.core import clock, fastjson, files, tokeniser
from memory.core.layout import ADDED, Place
from memory.core.plaintext import at_word, one_line
from memory.core.records import Record
from memory.distill.digests import Source, clean
from memory.distill.units import units
from memory.hook import at_failure, documents, fence
from memory.index.kept import Kept, fact
from memory.knowledge import outlived, statements
from memory.knowledge.history import Past
from memory.recall.hit import Hit, after, turns
from memory.session import lasting, mending
from memory.session.latepattern import Late

KINDS = ("learning", "rule")
FEWEST, SAME, SAME_WIDE = 2, 0.85, 0.7  # terms shared at least; their share of the longer sentence, also in Hangul and the like
MOST, REPEATED = 64, 4  # sentences looked at under a term; how often the same sentence is looked at
LONGEST = 300  # characters of a sentence
KEPT = 1 << 17  # words whose terms are remembered
_NO = frozenset(
    "not no never none don't doesn't didn't isn't aren't wasn't weren't won't can't cannot shouldn't mustn't without nicht kein "
    "keine keinen nie niemals ohne".split())
_PASSED = frozenset("always must should shall only do does did please we you i to immer".split())
_REASON = Late(r"(?i)[,;:]?\s+(?:because|since|so that|due to|otherwise|as (?:it|they|the)|weil|damit|sonst)\b"
               r"|\s+[—–]\s+|;\s| \(|(?<=[다요까지])[,.] |[、。，；]")
_BENT = ("\u017f", "\u0130", "\u0131")  # `re.I` takes them for s and i
# What stands in each match, in small letters; a sentence without it is not searched.
_REASONS = ("because", "since", "so that", "due to", "otherwise", "as it", "as they", "as the", "weil", "damit", "sonst",
            "\u2014", "\u2013", ";", " (", "다", "요", "까", "지", "、", "。", "，", "；", *_BENT)
_OVERS = ("instead of", "rather than", "in favo", "over", ", not", "statt", *_BENT)
_DIGIT = Late(r"\d")
_PLACE = Late(r"(?i)\s(?:in|for|on|at|when|with|to|as|by|für|bei|im|in)\s")
_OVER = Late(r"(?i)^(?P<before>.*?)\b(?:instead of|rather than|in favou?r of|over|, not|statt)\s+(?P<behind>.+)$")
_NUMBER = Late(r"(?<![\w./#:$-])(?P<number>\d+(?:\.\d+)?)\s?(?P<unit>%|ms|s|sec(?:ond)?s?|min(?:ute)?s?|h(?:ours?)?|"
               r"d(?:ays?)?|[kmg]i?b|bytes?|b|€|\$)?(?![\w/:-]|\.\d)", re.I)
_COUNTED = Late(
    r"(?i)(?:step|case|phase|issue|pr|line|task|chapter|section|part|round|attempt|error|code|status|http|item|no)\W*$")
_UNITS = {"ms": ("time", 0.001), "kb": ("size", 1e3), "mb": ("size", 1e6), "gb": ("size", 1e9), "kib": ("size", 1024.0),
          "mib": ("size", 1024.0 ** 2), "gib": ("size", 1024.0 ** 3)}
_BY_LETTER = {"s": ("time", 1.0), "m": ("time", 60.0), "h": ("time", 3600.0), "d": ("time", 86400.0), "b": ("size", 1.0)}


class Side(NamedTuple):
    """One record of a pair, and the sentence of it that the other contradicts."""

    record: Record
    said: str


class Pair(NamedTuple):
    """Two records that cannot both hold, the older first, and why, in a few words."""

    older: Side
    newer: Side
    why: str


class _Claim(NamedTuple):
    """What a sentence says: its terms, whether it says no, its numbers as (sort, value), what it puts before what."""

    side: Side
    terms: frozenset[str]
    negative: bool
    numbers: tuple[tuple[str, float], ...]
    order: tuple[frozenset[str], frozenset[str]] | None
    wide: bool


def pairs(records: Iterable[Record], kept: Kept | None = None, claimed: Kept | None = None) -> list[Pair]:
    """Return the pairs of learnings and rules that contradict each other, the latest first, each pair of records once.

    kept: what was found out before: of these very records, nothing is to be found out again.  claimed: what each claims.
    """
    named = {record.name: record for record in records if record.kind in KINDS}
    versions = repr([(name, one.checksum, one.created) for name, one in named.items()])
    of = files.sha256(versions.encode("utf-8", "backslashreplace"))
    found = fact(kept, "", of, "contradictions", lambda: [
        (older.record.name, older.said, newer.record.name, newer.said, why)
        for older, newer, why in _pairs([claim for record in named.values() for claim in claims(record, claimed)])])
    return [Pair(Side(named[a], one), Side(named[b], other), why) for a, one, b, other, why in found]


def _pairs(claims: Sequence[_Claim]) -> list[Pair]:
    frequency = statements.frequency(claim.terms for claim in claims)
    order = {term: at for at, term in enumerate(sorted(frequency, key=lambda term: (frequency[term], term)))}
    shelf: dict[str, list[_Claim]] = {}
    seen: dict[tuple[object, ...], int] = {}
    found: dict[tuple[str, str], Pair] = {}
    for claim in claims:
        rare = _rare(claim, order)
        for other in {id(one): one for term in rare for one in shelf.get(term, [])[-MOST:]}.values():
            why = _against(other, claim) if _opposed(other, claim) else ""
            if why and _side_by_side(other.side.record, claim.side.record):
                older, newer = sorted((other.side, claim.side), key=lambda side: (side.record.created, side.record.name))
                found.setdefault((older.record.name, newer.record.name), Pair(older, newer, why))
        seen[claim[1:]] = seen.get(claim[1:], 0) + 1
        for term in rare if seen[claim[1:]] <= REPEATED else ():
            shelf.setdefault(term, []).append(claim)
    return sorted(found.values(), key=lambda pair: (-pair.newer.record.created, pair.older.record.name, pair.newer.record.name))


def _rare(claim: _Claim, order: Mapping[str, int]) -> list[str]:
    """Return the rarest terms of a sentence: so many that whatever is alike shares one of its own rarest with it.

    order: where each term stands when the rarest comes first.
    """
    ordered = sorted(claim.terms, key=order.__getitem__)
    return ordered if claim.wide else ordered[:int((1 - SAME) * len(ordered)) + 1]


def _side_by_side(one: Record, other: Record) -> bool:
    """Tell whether two records claim to hold in the same place, and nobody has said how they go together."""
    if one.name == other.name or one.id == other.id:
        return False
    if one.versions and other.versions and not set(one.versions) & set(other.versions):
        return False
    return not any(link.target in (b.id, b.name) for a, b in ((one, other), (other, one)) for link in a.links)


def claims(record: Record, kept: Kept | None) -> list[_Claim]:
    """Return what a record claims.  kept: what was found out of it before, where no line of its head can be read in two ways."""
    rows = fact(None if record.unsure else kept, record.name, record.checksum, "claims", lambda: [
        (one.side.said, " ".join(one.terms), one.negative, one.numbers, one.order and [*map(" ".join, one.order)], one.wide)
        for one in _claims(record)])
    return [_Claim(Side(record, said), frozenset(terms.split(" ")), negative, tuple((sort, number) for sort, number in numbers),
                   (frozenset(order[0].split(" ")), frozenset(order[1].split(" "))) if order else None, wide)
            for said, terms, negative, numbers, order, wide in rows]


def _claims(record: Record) -> list[_Claim]:
    source = Source(record.id, record.kind, record.title, record.created, clean(record.body), record.tier)
    said = [record.title, *(unit.text for unit in units(0, source, 2000) if unit.kind in ("prose", "item"))]
    found = [_claim(record, sentence.strip()) for sentence in dict.fromkeys(said) if len(sentence) <= LONGEST]
    return [claim for claim in found if len(claim.terms) >= FEWEST]


def _claim(record: Record, said: str) -> _Claim:
    main = _REASON.split(said, maxsplit=1)[0] if any(map(said.lower().__contains__, _REASONS)) else said
    numbers: list[tuple[str, float]] = []
    bare = _NUMBER.sub(lambda match: _taken(match, numbers), main) if _DIGIT.search(main) else main
    over = _OVER.match(bare) if any(map(bare.lower().__contains__, _OVERS)) else None
    order = (_sense(over["before"])[0], _sense(_PLACE.split(over["behind"])[0])[0]) if over else None
    terms, negative = _sense(bare)
    return _Claim(Side(record, said), terms, negative, tuple(numbers), order if order and all(order) else None,
                  not main.isascii() and any(map(tokeniser.is_cjk, main)))


def _taken(match: re.Match[str], numbers: list[tuple[str, float]]) -> str:
    """Note a number and leave a blank for it; one that counts things (`step 2`) stays in the text."""
    if _COUNTED.search(match.string, 0, match.start()):
        return match[0]
    unit = (match["unit"] or "").lower()
    sort, factor = _UNITS.get(unit) or _BY_LETTER.get(unit[:1], (unit, 1.0))
    numbers.append((sort, float(match["number"]) * factor))
    return " "


def _sense(said: str) -> tuple[frozenset[str], bool]:
    """Return the terms of a clause, opposites as one, and whether it says no."""
    raws = said.replace("’", "'").split()
    terms = frozenset(chain.from_iterable([_WORDS[raw] for raw in raws]))
    negative = not _WORDS.turning.isdisjoint(raws) and sum(map(_WORDS.turning.__contains__, raws)) % 2 == 1
    if not said.isascii():
        negative ^= statements.negated("".join(c if tokeniser.is_cjk(c) else " " for c in said))
    return terms, negative


class _Words(dict[str, tuple[str, ...]]):
    """Word as written -> its terms as they are compared, each computed once.  turning: those that turn the sense round."""

    def __init__(self) -> None:
        super().__init__()
        self.turning: set[str] = set()
        self._characters = tokeniser.Table()

    def __missing__(self, raw: str) -> tuple[str, ...]:
        word = raw.strip(".,;:!?\"'()[]*`").lower()
        base, turns = lasting.OPPOSITES.get(word, ("", False))
        if len(self) >= KEPT:
            self.clear()
        if turns or word in _NO:
            self.turning.add(raw)
        # The blank: a full stop before one ends a word, and is no term.
        said = "" if word in _NO or word in _PASSED else (base or raw) + " "
        self[raw] = found = tuple(term for one in tokeniser.split(said, self._characters) for term, _ in tokeniser.expand(one))
        return found


_WORDS = _Words()


def _opposed(one: _Claim, other: _Claim) -> bool:
    """Tell whether two sentences could contradict each other if they spoke of the same."""
    return one.negative != other.negative or bool(one.numbers and other.numbers or one.order and other.order)


def _against(one: _Claim, other: _Claim) -> str:
    """Say in a few words how two sentences contradict each other, "" where they do not."""
    if not _alike(one, other):
        return ""
    if one.order and other.order:
        turned = one.order[1] <= other.order[0] and other.order[1] <= one.order[0]
        return "one puts first what the other puts second" if turned and one.order[1] != other.order[1] else ""
    if one.negative != other.negative:
        return "one says no" if one.numbers == other.numbers else ""
    differing = [(a, b) for a, b in zip(one.numbers, other.numbers) if a != b]
    if len(one.numbers) == len(other.numbers) and len(differing) == 1 and differing[0][0][0] == differing[0][1][0]:
        return "another number for the same thing"
    return ""


def _alike(one: _Claim, other: _Claim) -> bool:
    few, many = sorted((len(one.terms), len(other.terms)))
    wide = one.wide and other.wide
    if not wide and few < SAME * many:
        return False
    shared = len(one.terms & other.terms)
    return shared >= FEWEST and shared >= (SAME_WIDE * few if wide else SAME * many)


# --- what was decided otherwise since

QUOTE = 160  # characters of the sentence that says so
_GONE = r"`(?P<old>[^`\n]{5,60})`(?! (?:imports?|checks?|calls?|comments?|attributes?|conversions?|references?)\b)"
_WHAT = r"(?:the )?(?:(?!from|in|to|of|at|by|on|for|calls?|uses?)\w+ ){0,2}"
_TURNED = tuple(Late(pattern, re.I) for pattern in (
    r"\b(?:renamed|moved|switched|changed|migrated|went) " + _WHAT + r"(?:from )?" + _GONE + r"[^`]{0,40}? (?:to|→|into) ",
    r"\breplac(?:ed|es|ing) " + _WHAT + _GONE + r"[^`]{0,40}? (?:with|by) ",
    r"\b(?:removed|dropped|deleted|got rid of|reverted|abandoned|deprecated) " + _WHAT + _GONE,
    _GONE + r"(?: \w+){0,2} (?:is|are|was|were|ha(?:s|ve) been) (?:no longer|removed|replaced|renamed|dropped|deprecated|gone)\b",
    r"\bno longer use[sd]? " + _WHAT + _GONE))
# Of a decision; else that is said of one place in the code.
_INSTEAD = Late(r"\b(?:instead of|rather than|in place of) " + _WHAT + _GONE, re.I)
_PLACED = Late(r"[\w)][_./ -]\w|[a-z][A-Z]|^--?\w")  # a name that tells more than a type or a word
_WEIGHED = Late(r"(?i)\b(?:suggest\w*|could|would|should|consider|options?|recommend\w*|might|prefer\w*|if)\b")


def marked(found: Sequence[Hit], place: Place | None = None) -> list[Hit]:
    """Return hits, each with what a later one of them says to have taken the place of what it names, else a later session.

    place: the workspace whose sessions are asked; None asks the hits alone.
    """
    dated = sorted(((_when(hit), hit) for hit in found), key=lambda pair: (pair[0], pair[1].path))
    since = [(at, hit, old, said) for at, hit in dated for old, said in _turned(hit)]
    settled = [(at, hit, claim) for at, hit in dated for claim in _decided(hit)]
    out = []
    for hit in found:
        mine, shown = _when(hit), _shown(hit)
        gone = _gone(shown)
        own = [_claim(hit.record, said) for said in gist.statements(shown) if len(said) <= LONGEST]
        later = [(at, other, said) for at, other, old, said in since
                 if at > mine and other.path != hit.path and old in _names(shown) - gone and _same_thing(shown, said, old)]
        later += [(at, other, claim.side.said) for at, other, claim in settled
                  if at > mine and other.path != hit.path and any(_against(one, claim) for one in own)]
        if later and not any(said in shown for _, _, said in later):
            at, other, said = later[-1]
            hit = hit._replace(otherwise=_told(at[:10], other.conversation if other.turn else other.id, other.turn, said))
        elif not later and place and hit.record.tier != ADDED and hit.path == place.path(hit.record.name):
            ids = () if hit.turn else (hit.id, hit.conversation)  # of a turn's own session what came after the turn counts
            one = fence.superseding(place, ids, clock.parse(mine) or hit.created, shown)
            if one and one["old"] not in gone:
                hit = hit._replace(otherwise=_told(one["day"], one["id"], one["turn"], one["said"]))
        report = hit.record.meta.get(outlived.SINCE)
        out.append(hit._replace(otherwise="reported since, on %s" % report) if report and not hit.otherwise else hit)
    return out


def _told(day: str, id: str, turn: int, said: str) -> str:
    return "decided otherwise on %s (%s): %s" % (day, "%s#%d" % (id, turn) if turn else id, at_word(one_line(said), QUOTE))


def superseded(records: Iterable[Record], place: Place, told_only: bool = False) -> list[tuple[Record, str]]:
    """Return the learnings that may no longer hold, newest first, each with what was decided otherwise since.

    told_only: by what sessions told, and not by another learning or rule.
    """
    every = list(records)
    found = {pair.older.record.name: _told(clock.day(pair.newer.record.created), pair.newer.record.id, 0, pair.newer.said)
             for pair in (() if told_only else reversed(pairs(every)))}
    for record in every:
        since = record.updated if "updated" in record.meta else record.created
        one = fence.superseding(place, (record.id,), since, record.title + "\n" + record.body)
        if one and one["old"] not in _gone(record.body):
            found.setdefault(record.name, _told(one["day"], one["id"], one["turn"], one["said"]))
    return sorted(((record, found[record.name]) for record in every if record.kind == "learning" and record.name in found),
                  key=lambda pair: (-pair[0].created, pair[0].name))


def _when(hit: Hit) -> str:
    """Return the instant of what a hit tells: of the turn that was found, else of the record."""
    held = turns(hit.told) if hit.told is not None and hit.turn else []
    return held[hit.turn - 1].at if 0 < hit.turn <= len(held) else clock.iso(hit.created)[:16]


def _shown(hit: Hit) -> str:
    """Return what a hit answers: the passage of its turn, else its title and opening."""
    return hit.passage if hit.turn else hit.title + "\n" + hit.body[:600]


def _turned(hit: Hit) -> Iterator[tuple[str, str]]:
    """Yield (the name of what is no longer so, the sentence that says so) of what a hit says."""
    return turned(hit.said if hit.turn else hit.body[:4000])


def turned(text: str) -> Iterator[tuple[str, str]]:
    """Yield (the name of what is no longer so, the sentence that says so) of a text."""
    for sentence in [*gist.statements(text), *gist.leading(text)] if "`" in text else ():
        if len(sentence) <= LONGEST and "?" not in sentence and not gist.is_announced(sentence) and (
                not _WEIGHED.search(sentence)):
            for pattern in (*_TURNED, _INSTEAD):
                for match in pattern.finditer(sentence) if "`" in sentence else ():
                    if _PLACED.search(match["old"]) and (pattern is not _INSTEAD or choices.is_decision(sentence)):
                        yield match["old"].strip("()").lower(), sentence


def _gone(text: str) -> set[str]:
    """Return the names of what a text says itself to be no longer so."""
    return {match["old"].strip("()").lower() for pattern in _TURNED for match in pattern.finditer(text)}


def turned_in(past: Past, body: str, first: int = 0) -> list[dict[str, Any]]:
    """Return what a session says to be no longer so: old, at, turn, said, words.

    It is what the model says to have taken the place of things, and what later turns of a conversation made of earlier ones.
    body: the record's text.  first: turns at the beginning that are left out.
    """
    numbered = past.kind == "conversation"
    found = [{"old": old, "at": past.at(number), "turn": number if numbered else 0, "said": at_word(one_line(said), QUOTE),
              "words": sorted(mending.plain_words(said).difference(tokeniser.tokens(old)))}
             for number, turn in past.numbered(first) if turn.asked != SUMMARY
             for piece in turn.pieces if piece.kind == SAID for old, said in turned(piece.text)]
    headings = [heading for heading, _ in documents.turns(body) if heading] if numbered else []
    held = past.turns[first:] if len(headings) == len(past.turns) else ()
    way = choices.course(held)
    last = [(number, since) for number in range(len(held)) if (since := choices.lastly(held, number, way))]
    return found + [{"old": "%s %s" % (past.id, headings[first + number]), "at": past.at(first + since.turn + 1),
                     "turn": first + since.turn + 1,
                     "said": "%s: %s" % (after(one_line(held[since.turn].request)), since.line), "words": []}
                    for number, since in last]


def path_of(place: Place) -> str:
    """Return where it is written down what is no longer so."""
    return place.cache + "/" + place.scope + ".turned"


def packed(rows: Iterable[dict[str, Any]]) -> bytes:
    """Return what is no longer so as bytes.  rows: what records give (walls.py), with `turned`."""
    lines = []
    for row in rows:
        source = {key: row[key] for key in ("name", "id", "session", "branch", "created", "size", "sha") if row["turned"]}
        for one in row["turned"]:
            lines.append("%s %s\n" % (at_failure.hash_of(one["old"]), fastjson.dump({**source, **one})))
    return fence.TURNED + "".join(sorted(lines)).encode("ascii")


def _decided(hit: Hit) -> Iterator[_Claim]:
    """Yield what a hit says to have been decided."""
    for sentence in gist.statements(hit.said if hit.turn else hit.body[:4000]):
        if len(sentence) <= LONGEST and (choices.is_decision(sentence) or choices.is_correction(sentence)):
            yield _claim(hit.record, sentence)


def _names(text: str) -> set[str]:
    """Return what a text sets in marks of code, and its words that are code, in small letters."""
    return {name.strip("()").lower() for name in re.findall(r"`([^`\n]{3,60})`", text)} | set(mending.words(text))


def _same_thing(one: str, other: str, old: str) -> bool:
    """Tell whether two texts speak of the same apart from a name that both have."""
    known = set(tokeniser.tokens(old))
    return len((mending.plain_words(one) & mending.plain_words(other)) - known) >= FEWEST
