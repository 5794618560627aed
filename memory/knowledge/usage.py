"""Uses: a record that was shown in a turn, and whose file, command or identifier then stands in a
tool call of that turn.

Shown is what the receipts say of the prompt, what a start said (until a reset, and counted once for
the session), and the ids that `dayleaf recall`, `show` and `distill` printed in the turn.  A word
is evidence only where it is rare (at most a tenth of the documents hold it, or two, if that is not
most of them) and the user's own prompt did not name it; of a passage only those words count that
stood in it, which the receipt has as hashes.  That a command then succeeded says nothing more.
What a start shows by its place alone (newest checkpoint, handoff, plan) is not used: work goes on
there anyway.

State, version 1, `<cache>/sessions/<session>.used`, derived, one line: {"v":1,"offset":bytes of the
transcript read, "prompt":the host's id of the turn's prompt,"words":[8 hex of each of its
words],"recalled":[ids],"pending":[ids of tool calls]}.  Without it the transcript is read again,
and what the ledger has of the session is not noted twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from memory.core import clock, fastjson, files, tokeniser
from memory.core.layout import Place
from memory.distill.technical import technical
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
MOST_WORDS = 400  # of a prompt that are remembered
PLACED = ("checkpoint", "plan")  # kinds that a start shows by their place alone
# a particle ends a name: `jwt.py를`
_SPLIT = re.compile(r"(?:[\s\"'`,;|&()<>{}\[\]$=*#!?\\]|[^\x00-\x7f])+")
_LINE = re.compile(r":\d+(?::\d+)?$")
_PROSE = re.compile(r"(?<![a-z])[a-z]+(?:[/-][a-z]+)+")  # and/or, read-only
_CODE = re.compile(r"(?<![a-z])[a-z]+-?\d{3,}")  # E0382, JIRA-117
_ID = re.compile(r"\b[a-z]-[0-9a-f]{8}\b")
_SHOWS = ("dayleaf recall", "dayleaf show", "dayleaf distill")
Use = Tuple[str, str]  # prompt's id or "", record's id


@dataclass
class Turn:
    """The turn being read.

    prompt: its prompt's id. words: hashes of the prompt's words. recalled: ids that a dayleaf
        command printed. pending: such calls without a result yet.
    """

    prompt: str = ""
    words: Set[str] = field(default_factory=set)
    recalled: Dict[str, None] = field(default_factory=dict)
    pending: Set[str] = field(default_factory=set)

    def begin(self, prompt: str, words: Iterable[str]) -> None:
        """Start the turn of another prompt."""
        self.prompt, self.words = prompt, set(words)
        self.recalled.clear()
        self.pending.clear()


class Shown(NamedTuple):
    """The records shown in a session, by its receipts.

    prompts: ids by prompt. starts: each start's instant, whether it began anew, and its ids. began:
        the first instant. words: hashes of a passage's words by prompt and id.
    """

    prompts: Dict[str, List[str]]
    starts: List[Tuple[float, bool, List[str]]]
    began: float
    words: Dict[Use, Set[str]]

    def at_start(self, instant: float) -> List[str]:
        """Return the ids shown by starts up to an instant.

        Since the last reset.
        """
        found: List[str] = []
        for t, reset, ids in self.starts:
            if t <= instant:
                found = ids if reset else found + ids
        return found


class Names(NamedTuple):
    """The names in a record.

    words: rare ones, in lower case. placed: whether it may be shown for its place alone.
    """

    name: str
    words: FrozenSet[str]
    placed: bool


def note(place: Place, session: str, path: str, now: float) -> int:
    """Read a session's new entries and log uses; return their number.

    path: from `transcript.trusted`. now: seconds since the epoch. Raises OSError, StoreError.
    """
    state = place.cache + "/sessions/" + session
    shown = _shown(place, session)
    if shown is None:
        return 0
    with files.Lock(state + ".lock", wait=True):
        offset, turn = _load(state + ".used")
        reading = transcript.read(path, offset)
        found = at_prompt.open_or_build_index(place)
        try:
            known = _Records(found)
            uses = dict.fromkeys(_uses(reading, turn, shown, known, place.home))
        finally:
            found.close()
        new = _write(place, session, uses, known, now)
        _save(state + ".used", reading.offset, turn)
    return new


def _write(place: Place, session: str, uses: Iterable[Use], known: _Records, now: float) -> int:
    """Append uses missing in the ledgers and return their number."""
    there: Dict[ledger.Ledger, Set[Use]] = {}
    new = 0
    for prompt, id in uses:
        book = ledger.holding(place, known.name(id))
        if book not in there:
            there[book] = ledger.used_in(book, session)
        if (ledger.short(prompt), id) not in there[book]:
            ledger.note(book, id, "use", now, session, prompt)
            new += 1
    for book in there:
        ledger.read(book)
    return new


def _shown(place: Place, session: str) -> Optional[Shown]:
    """Read a session's receipts, None where there are none."""
    try:
        rows = receipts.read(place.receipts(session))
    except OSError:
        return None
    prompts: Dict[str, List[str]] = {}
    starts: List[Tuple[float, bool, List[str]]] = []
    words: Dict[Use, Set[str]] = {}
    instants = [clock.parse(str(row.get("t"))) or 0.0 for row in rows]
    for row, instant in zip(rows, instants):
        ids = [str(item[0]) for item in receipts.chosen(row)]
        if row.get("event") == "start":
            starts.append((instant, row.get("source") in receipts.RESETS, ids))
        elif row.get("event") == "prompt" and row.get("prompt"):
            prompts.setdefault(str(row["prompt"]), []).extend(ids)
            held = row.get("words")
            words.update(
                ((str(row["prompt"]), id), set(map(str, found)))
                for id, found in (held.items() if isinstance(held, dict) else ())
                if isinstance(found, list)
            )
    return Shown(prompts, starts, min(instants), words) if rows else None


def _uses(
    reading: Iterable[Entry], turn: Turn, shown: Shown, known: _Records, home: str
) -> Iterator[Use]:
    """Yield the uses in entries, and update `turn`."""
    for entry in reading:
        instant = clock.parse(entry.at) or 0.0
        if instant < shown.began - SLACK:  # a fork's transcript begins with the other session's
            continue
        if entry.kind in (entries.PROMPT, entries.SLASH):
            turn.begin(entry.prompt, _hashed(entry.text))
        elif entry.kind == entries.RESULT and entry.id in turn.pending:
            turn.pending.discard(entry.id)
            turn.recalled.update(dict.fromkeys(_ID.findall(entry.text)))
        elif entry.kind == entries.USE:
            said, ours = _texts_of_call(entry, home)
            before = [
                (turn.prompt, id) for id in (*shown.prompts.get(turn.prompt, ()), *turn.recalled)
            ]
            started = [("", id) for id in shown.at_start(instant)]
            yield from _met(said, before, started, turn, known, shown.words)
            if ours:
                turn.pending.add(entry.id)


def _met(
    said: Sequence[str],
    before: Sequence[Use],
    started: Sequence[Use],
    turn: Turn,
    known: _Records,
    passages: Dict[Use, Set[str]],
) -> Iterator[Use]:
    """Yield the shown records that a tool call names."""
    if not said or not (before or started):
        return
    words = {form for value in said for word in words_of(value) for form in forms(word)}
    fresh = {word for word in words if not _is_in_prompt(word, turn)}
    hashed = {ledger.short(word) for word in fresh}
    for use in (*before, *started):
        names = known[use[1]]
        if names is None or (use[0] == "" and names.placed and use not in before):
            continue
        if use in passages:
            met = not hashed.isdisjoint(passages[use])
        else:
            met = not names.words.isdisjoint(fresh)
        if met:
            yield use


def _texts_of_call(entry: Entry, home: str) -> Tuple[List[str], bool]:
    """Return (texts of a tool call, whether it shows records)."""
    data = entry.data if isinstance(entry.data, dict) else {}
    command = data.get("command") if entry.name == "Bash" else None
    if not isinstance(command, str):
        return [
            value[:MOST_CHARS]
            for value in data.values()
            if isinstance(value, str) and home not in value
        ], False
    parts = [(part, commandline.key_of(part)) for part in commandline.parts(command[:MOST_CHARS])]
    return (
        [part for part, key in parts if key.partition(" ")[0] != "dayleaf" and home not in part],
        any(key.startswith(_SHOWS) for _, key in parts),
    )


def words_of(value: str) -> List[str]:
    """Return the words of a text that name files, options or identifiers.

    In lower case, without line numbers.
    """
    words = dict.fromkeys(
        _LINE.sub("", word).strip(".:/").lower()
        for word in technical(" ".join(_SPLIT.split(value)))
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


def forms(word: str) -> Iterator[str]:
    """Yield a word, and of a path all its ends.

    `/home/a/src/jwt.py` gives `src/jwt.py` and `jwt.py`.
    """
    yield word
    while "/" in word:
        word = word.partition("/")[2]
        if word:
            yield word


def _hashed(said: str) -> Set[str]:
    words = [_LINE.sub("", word).strip(".:/").lower() for word in _SPLIT.split(said[:MOST_CHARS])][
        :MOST_WORDS
    ]
    return {ledger.short(form) for word in words if word for form in forms(word)}


def _is_in_prompt(word: str, turn: Turn) -> bool:
    """Tell whether the prompt names a word or a path's file."""
    return any(ledger.short(form) in turn.words for form in (word, word.rpartition("/")[2]) if form)


class _Records(Dict[str, Optional[Names]]):
    """Map of an id to the names in its record's file.

    None where the record is gone.
    """

    def __init__(self, found: Index):
        super().__init__()
        self._found = found
        self._most = max(FEW, found.documents // SHARE)

    def __missing__(self, id: str) -> Optional[Names]:
        self[id] = names = self._read(id)
        return names

    def name(self, id: str) -> str:
        """Return the name of a record, or ""."""
        names = self[id]
        return names.name if names else ""

    def _read(self, id: str) -> Optional[Names]:
        doc = self._found.by_id(id)
        if doc is None:
            return None
        record = next(iter(indexview.reread(self._found, [doc], whole=True)), None)
        if record is None:
            return None
        said = "\n".join((record.title, *listed_files(record), record.body))[:MOST_CHARS]
        return Names(
            doc.name,
            frozenset(filter(self._is_rare, words_of(said))),
            record.kind in PLACED,
        )

    def _is_rare(self, said: str) -> bool:
        """Tell whether few documents hold a word."""
        least = min(
            (self._found.df(term) for term in tokeniser.tokens(said.rpartition("/")[2] or said)),
            default=0,
        )
        return 0 < least <= self._most and (least == 1 or 2 * least <= self._found.documents)


# ---- the state


def _load(path: str) -> Tuple[int, Turn]:
    try:
        row: Any = fastjson.parse(files.read(path))
        turn = Turn(
            str(row["prompt"]),
            set(row["words"]),
            dict.fromkeys(row["recalled"]),
            set(row["pending"]),
        )
        return (int(row["offset"]), turn) if row["v"] == 1 else (0, Turn())
    except (OSError, ValueError, KeyError, TypeError):
        return 0, Turn()


def _save(path: str, offset: int, turn: Turn) -> None:
    row = {
        "v": 1,
        "offset": offset,
        "prompt": turn.prompt,
        "words": sorted(turn.words),
        "recalled": list(turn.recalled),
        "pending": sorted(turn.pending),
    }
    files.replace(path, (fastjson.dump(row) + "\n").encode("ascii"))
