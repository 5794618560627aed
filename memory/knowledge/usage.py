"""Uses: a shown record whose file, command or identifier then stands in a tool call of that turn.

Shown is what the receipts say of the prompt, what a start said (until a reset, once for the
session), and the ids that `dayleaf recall`, `show` and `distill` printed in the turn. A word is
evidence only where it is rare (at most a tenth of the documents hold it, or two, if that is not
most of them) and the user's own prompt did not name it; of a passage only its own words count,
which the receipt has as hashes. What a start shows by its place alone (newest checkpoint, handoff,
plan) is not used: work goes on there anyway.

A transcript is read whole at a session's end; what the ledger has of the session is not noted
twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import lru_cache, partial
from typing import NamedTuple

from memory.core import clock, tokeniser
from memory.core.layout import Place
from memory.distill.technical import find_technical
from memory.hook import at_prompt, indexview, receipts
from memory.hook.indexview import Index
from memory.project.mentions import listed_files
from memory.session import commandline, entries, transcript
from memory.session.entries import Entry
from memory.store import ledger

SHARE, FEW = 10, 2  # a rare word stands in one of SHARE documents at the most, or in FEW of them
LETTERS = 3  # of a word that names something
SLACK = 5.0  # seconds by which a prompt may stand before its receipt
MOST_CHARS = 1 << 16  # of a record, and of a value of a tool call, that are read
PLACED = ("checkpoint", "plan")  # kinds that a start shows by their place alone
# a particle ends a name: `jwt.py를`
_SPLIT = re.compile(r"(?:[\s\"'`,;|&()<>{}\[\]$=*#!?\\]|[^\x00-\x7f])+")
_LINE = re.compile(r":\d+(?::\d+)?$")  # of a file: `a.py:3:7`
_PROSE = re.compile(r"(?<![a-z])[a-z]+(?:[/-][a-z]+)+")  # and/or, read-only
_CODE = re.compile(r"(?<![a-z])[a-z]+-?\d{3,}")  # E0382, JIRA-117
_ID = re.compile(r"\b[a-z]-[0-9a-f]{8}\b")  # of a record
_SHOWS = ("dayleaf recall", "dayleaf show", "dayleaf distill")
Use = tuple[str, str]  # prompt's id or "", record's id


class Shown(NamedTuple):
    """The records shown in a session, by its receipts.

    prompts: ids by prompt. starts: each start's instant, whether it began anew, and its ids. words:
    hashes of a passage's words by prompt and id.
    """

    prompts: dict[str, list[str]]
    starts: list[tuple[float, bool, list[str]]]
    began: float
    words: dict[Use, set[str]]

    def at_start(self, instant: float) -> list[str]:
        """Return the ids shown by starts since the last reset."""
        found: list[str] = []
        for t, reset, ids in self.starts:
            if t <= instant:
                found = ids if reset else found + ids
        return found


class Call(NamedTuple):
    """A tool call, reduced to the words that may name records.

    prompt: its turn's. recalled: ids that earlier calls of the turn printed. words: its words that
    the prompt does not name.
    """

    prompt: str
    at: float
    recalled: tuple[str, ...]
    words: set[str]


class RecordNames(NamedTuple):
    """The rare names that stand in a record, in lower case.

    placed: whether it may be shown for its place alone.
    """

    name: str
    words: frozenset[str]
    placed: bool


def log_uses(place: Place, session: str, path: str, now: float) -> int:
    """Log which shown records a session used; return their number."""
    shown = _read_shown(place, session)
    if shown is None:
        return 0
    with closing(at_prompt.open_or_build_index(place)) as index:
        names = lru_cache(None)(partial(_read_names, index))
        uses = dict.fromkeys(_find_uses(transcript.read(path), shown, names, place.home))
    logged: dict[ledger.Ledger, set[Use]] = {}
    new = 0
    for name, prompt, id in uses:
        book = ledger.find_ledger(place, name)
        if book not in logged:
            logged[book] = ledger.read_session_uses(book, session)
        if (ledger.hash_id(prompt), id) not in logged[book]:
            ledger.append_event(book, id, "use", now, session, prompt)
            new += 1
    for book in logged:
        ledger.read(book)
    return new


def _read_shown(place: Place, session: str) -> Shown | None:
    """Read which records a session was shown, None without receipts."""
    try:
        rows = receipts.read(place.receipts(session))
    except OSError:
        return None
    prompts: dict[str, list[str]] = {}
    starts: list[tuple[float, bool, list[str]]] = []
    words: dict[Use, set[str]] = {}
    instants = [clock.parse(str(row.get("t"))) or 0.0 for row in rows]
    for row, instant in zip(rows, instants):
        ids = [str(item[0]) for item in receipts.list_chosen(row)]
        if row.get("event") == "start":
            starts.append((instant, row.get("source") in receipts.RESETS, ids))
        elif row.get("event") == "prompt" and row.get("prompt"):
            prompt, by_id = str(row["prompt"]), row.get("words")
            prompts.setdefault(prompt, []).extend(ids)
            for id, hashes in by_id.items() if isinstance(by_id, dict) else ():
                if isinstance(hashes, list):
                    words[prompt, id] = set(map(str, hashes))
    return Shown(prompts, starts, min(instants), words) if rows else None


def _find_uses(
    reading: Iterable[Entry], shown: Shown, names: Callable[[str], RecordNames | None], home: str
) -> Iterator[tuple[str, str, str]]:
    """Yield (record's name, prompt or "", id) of shown records named in tool calls."""
    for call in _read_calls(reading, shown.began - SLACK, home):
        ids = (*shown.prompts.get(call.prompt, ()), *call.recalled)
        in_turn = [(call.prompt, id) for id in ids]
        at_start = [("", id) for id in shown.at_start(call.at)]
        for prompt, id in (*in_turn, *at_start):
            record = names(id)
            is_at_start = prompt == "" and (prompt, id) not in in_turn
            if record is None or (record.placed and is_at_start):
                continue
            if _is_used(call.words, (prompt, id), record, shown):
                yield record.name, prompt, id


def _read_calls(reading: Iterable[Entry], began: float, home: str) -> Iterator[Call]:
    """Yield the tool calls of a transcript.

    began: older ones belong to the session of which this one is a fork.
    """
    prompt, asked = "", frozenset[str]()
    recalled, pending = dict[str, None](), set[str]()  # ids that our calls printed; such calls
    for entry in reading:
        at = clock.parse(entry.at) or 0.0
        if at < began:
            continue
        if entry.kind in (entries.PROMPT, entries.SLASH):
            prompt, asked, recalled, pending = entry.prompt, _split_prompt(entry.text), {}, set()
        elif entry.kind == entries.RESULT and entry.id in pending:
            recalled.update(dict.fromkeys(_ID.findall(entry.text)))
        elif entry.kind == entries.USE:
            said, is_ours = _read_call_texts(entry, home)
            words = {
                form
                for value in said
                for word in find_naming_words(value)
                for form in list_path_ends(word)
            }
            fresh = {word for word in words if asked.isdisjoint((word, word.rpartition("/")[2]))}
            yield Call(prompt, at, tuple(recalled), fresh)
            if is_ours:
                pending.add(entry.id)


def _split_prompt(said: str) -> frozenset[str]:
    words = filter(None, map(_normalise_word, _SPLIT.split(said[:MOST_CHARS])))
    return frozenset(form for word in words for form in list_path_ends(word))


def _is_used(words: set[str], use: Use, names: RecordNames, shown: Shown) -> bool:
    """Tell whether a call's words name what was shown of a record."""
    if use in shown.words:
        return any(ledger.hash_id(word) in shown.words[use] for word in words)
    return not names.words.isdisjoint(words)


def _read_call_texts(entry: Entry, home: str) -> tuple[list[str], bool]:
    """Return (texts of a tool call, whether it shows records)."""
    data = entry.data if isinstance(entry.data, dict) else {}
    command = data.get("command") if entry.name == "Bash" else None
    if not isinstance(command, str):
        values = [value for value in data.values() if isinstance(value, str) and home not in value]
        return [value[:MOST_CHARS] for value in values], False
    parts = [
        (part, commandline.parse_key(part))
        for part in commandline.split_commands(command[:MOST_CHARS])
    ]
    return (
        [part for part, key in parts if key.partition(" ")[0] != "dayleaf" and home not in part],
        any(key.startswith(_SHOWS) for _, key in parts),
    )


def find_naming_words(value: str) -> list[str]:
    """Return a text's file names, options and identifiers, in lower case."""
    words = dict.fromkeys(
        _normalise_word(word) for word in find_technical(" ".join(_SPLIT.split(value)))
    )
    return [
        word
        for word in words
        if not _PROSE.fullmatch(word)
        and (
            _CODE.fullmatch(word)
            or (len(word) > LETTERS and sum(map(str.isalpha, word)) >= LETTERS)
        )
    ]


def list_path_ends(word: str) -> Iterator[str]:
    """Yield a word and all ends of a path, such as `src/jwt.py`, `jwt.py`."""
    yield word
    while "/" in word:
        word = word.partition("/")[2]
        if word:
            yield word


def _normalise_word(word: str) -> str:
    return _LINE.sub("", word).strip(".:/").lower()


def _read_names(index: Index, id: str) -> RecordNames | None:
    """Return a record's names, None for no record."""
    doc = index.by_id(id)
    record = next(iter(indexview.reread(index, [doc], whole=True)), None) if doc else None
    if doc is None or record is None:
        return None
    text = "\n".join((record.title, *listed_files(record), record.body))[:MOST_CHARS]
    rare = (word for word in find_naming_words(text) if _is_rare(index, word))
    return RecordNames(doc.name, frozenset(rare), record.kind in PLACED)


def _is_rare(index: Index, word: str) -> bool:
    terms = tokeniser.index_terms(word.rpartition("/")[2] or word)
    least = min(map(index.df, terms), default=0)
    most = max(FEW, index.documents // SHARE)
    return 0 < least <= most and (least == 1 or 2 * least <= index.documents)
