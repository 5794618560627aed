"""Choose passages: up to four windows of earlier sessions that a prompt gets unasked.

The moment weighs.  A session's first prompt, and the first after a clear or a compaction, gets some
where the store knows something; a later one only if it asks or names a ticket.  The store knows
where

    telling    of the best window (windows.py), which has a question's words in one place
    strength   the index's score of the best document, as a share of ln(1 + documents)

both reach the gate that `load.push` names.  evals/README.md has the calibration: questions without
an answer and labelled prompts of real sessions.
"""

from __future__ import annotations

from math import log

from memory.core.matches import Expansion
from memory.hook import indexview, intent, loader, receipts, segment, windows
from memory.hook.handles import extract_handles, extract_ids, is_ticket, names_branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from memory.hook.indexview import Index

MOST_WINDOWS, MOST_CHARS = 4, 1500  # windows of a prompt, and their characters
NEAR_SHARE = 0.5  # share of the best window's score below which one is about something else
LEAST_CHARS = 60  # of a window that is worth telling
NEAR_WINDOWS = 12  # windows that are looked at
MOST_HITS = 24  # documents that the index is asked for
MOST_SESSIONS, MOST_TURNS = 3, 3  # that are read, of each
ASKED_CHARS = 4000  # of a prompt that count
TOLD_CHARS = 24_000  # of a part in which windows are cut
REQUEST_UNITS = 160  # UTF-16 units of a request that stand before its answer
# By load.push: the least telling; the least strength of a prompt that asks, and of another one.
GATES = {"careful": (3.75, 1.15, 1.45), "full": (3.15, 0.9, 1.1)}
# the least telling of a later prompt that only changes the subject
TURNED_GATES = {"careful": 6.5, "full": 5.0}
_OF_THE_DAY = ("Next", "Open")  # sections of a checkpoint that later work overtakes


class ShownPassage:
    """The windows of a turn or section that a prompt gets.

    score: telling, less for windows that answer less.  names: rare handles of the text.
    session: its session or record.  is_older: whether a later session that answers as well stands
    before it.
    """

    def __init__(self, part: _Part, mark: str, score: float, reason: str, text: str):
        self.doc, self.record, self.session, self.mark = part.doc, part.record, part.session, mark
        self.score, self.reason, self.text = score, "passage: " + reason, text
        self.names: list[str] = []
        self.is_older = False

    def replaces(self, other: ShownPassage) -> bool:
        """Tell whether this is of a later session, and `other` answers about as well."""
        is_later = self.doc.created - other.doc.created >= windows.APART
        is_near = other.score >= windows.CLOSE * self.score
        return is_later and is_near and self.session != other.session


class _Part:
    """A turn or section that was found; `asked` is its request or title."""

    def __init__(self, doc: Any, record: Any, session: str, asked: str, text: str):
        self.doc, self.record, self.session = doc, record, session
        self.asked, self.text = asked, text

    @property
    def whole(self) -> str:
        return self.asked + "\n" + self.text

    def holds(self, numbers: Sequence[str]) -> bool:
        whole = self.whole.lower() if numbers else ""
        return all(number in whole for number in numbers)


def choose_passages(
    index: Index,
    prompt: str,
    push: str,
    shown: set[str],
    own: str = "",
    changes_subject: bool = False,
) -> tuple[list[ShownPassage], list[list[Any]]]:
    """Return (passages for a prompt, nearest misses).

    Misses are [[id, telling]] of the nearest passage where none reach the gate, else [].
    push: `careful` or `full`.
    own: the session's id, "" where its own records may come.
    changes_subject: whether that alone is the reason to look; the records must tell more then.
    """
    prompt = prompt[:ASKED_CHARS]
    least, least_asking, least_saying = GATES[push]
    asks = _is_question(prompt)
    terms = loader.damp_common_terms(index.terms(prompt))
    hits = loader.search(index, terms, MOST_HITS, indexview.OTHERS)
    strength = hits[0][0] / log(1.0 + index.documents) if hits else 0.0
    names = extract_handles(prompt)
    tickets = _select_rare(index, filter(is_ticket, names))
    ids = extract_ids(prompt)
    named_hits = _find_by_ids(index, ids)
    if not (tickets or named_hits) and strength < (least_asking if asks else least_saying):
        return [], []
    least = TURNED_GATES[push] if changes_subject else least
    sought = _rank_search_words(index, prompt, names)
    parts = list(_read_parts(index, [*named_hits, *hits], shown, own, sought))
    named = _select_named(parts, prompt, ids, tickets)
    if named:
        parts, least = named, 0.0
    answer, parts = _prefer_conversations(index, prompt, parts)
    if not answer.windows:
        return [], []
    if answer.telling < least:
        nearest = parts[answer.windows[0].passage].doc.id
        return [], [[nearest, round(answer.telling, 3)]]
    reason = "it tells of the ticket" if tickets else "it is nearest to the prompt"
    return _build_passages(index, answer, parts, reason), []


def _is_question(prompt: str) -> bool:
    return "?" in prompt or intent.asks_past(prompt) or intent.asks_how(prompt)


def _find_by_ids(index: Index, ids: Sequence[str]) -> list[tuple[float, int]]:
    """Return the hits, of score 0, that ids of records or sessions name."""
    return [(0.0, number) for id in ids for number in index.holding(segment.id_term(id))]


def _select_named(
    parts: Sequence[_Part], prompt: str, ids: Sequence[str], tickets: Sequence[str]
) -> list[_Part]:
    """Return the parts whose id, session, branch or ticket a prompt names."""
    return [
        part
        for part in parts
        if not {part.doc.id, part.session}.isdisjoint(ids)
        or names_branch(prompt, part.record.meta.get("branch"))
        or any(name in part.whole.lower() for name in tickets)
    ]


def _select_rare(index: Index, names: Iterable[str]) -> list[str]:
    return [name for name in names if loader.is_rare(index, name)]


def _prefer_conversations(
    index: Index, prompt: str, parts: list[_Part]
) -> tuple[windows.Answer, list[_Part]]:
    """Return (answer, its parts), if possible without turns that a conversation holds."""
    others = [_drop_kept_turns(index, part) for part in parts]
    answer = _find_answer(prompt, others)
    if answer.windows or others == parts:
        return answer, others
    return _find_answer(prompt, parts), parts


def _find_answer(prompt: str, parts: Sequence[_Part]) -> windows.Answer:
    passages = [windows.Passage(part.session, part.asked, part.text) for part in parts]
    return windows.find_answer(prompt, passages, Expansion())


def _read_parts(
    index: Index,
    hits: Sequence[tuple[float, int]],
    shown: set[str],
    own: str,
    sought: Sequence[str],
) -> Iterator[_Part]:
    """Yield the turns and sections of the best sessions."""
    sessions: dict[str, int] = {}
    read: dict[str, Any] = {}
    for doc in _select_documents(index, hits, shown):
        is_full = len(sessions) == MOST_SESSIONS
        if doc.id not in read:
            if is_full:
                continue  # most likely of another session
            read[doc.id] = next(iter(indexview.reread(index, [doc])), None)
        session = _name_session(read[doc.id], own)
        if not session or (is_full and session not in sessions):
            continue
        sessions[session] = sessions.get(session, 0) + 1
        if sessions[session] <= MOST_TURNS:
            yield _build_part(doc, read[doc.id], session, sought)


def _name_session(record: Any, own: str) -> str:
    """Return a record's session or name; "" for no record, or one of session `own`."""
    from memory.hook import fence

    session = (fence.field(record, "session") or str(record.name)) if record else ""
    return "" if own and own in session else session


def _select_documents(
    index: Index, hits: Sequence[tuple[float, int]], shown: set[str]
) -> Iterator[Any]:
    """Yield the documents of checkpoints and conversations, each turn once.

    Of other kinds those that the prompt names, whose score is 0.
    """
    seen = set(shown)  # every part of a long turn finds the same turn
    for score, number in hits:
        doc = index.doc(number)
        key = doc.id
        if doc.kind == "conversation":
            key = receipts.add_turn(doc.id, receipts.hash_text(doc.section))
        is_of_session = doc.kind in ("checkpoint", "conversation")
        is_telling = doc.kind != "rule" and doc.flags & segment.ACCEPTED
        is_wanted = is_of_session or is_telling and not score
        if not is_wanted or not seen.isdisjoint((doc.id, key)):
            continue
        if not doc.section.endswith("(summary by the client)"):
            seen.add(key)
            yield doc


def _rank_search_words(index: Index, prompt: str, names: Sequence[str]) -> list[str]:
    """Return a prompt's handles, then its terms, rarest first."""
    terms = [term for term, _ in index.terms(prompt) if index.df(term)]
    return [*names, *sorted(terms, key=lambda term: (index.df(term), term))]


def _build_part(doc: Any, record: Any, session: str, sought: Sequence[str]) -> _Part:
    """Return the turn or section of a document, to be cut into windows."""
    from memory.core.plaintext import excerpt
    from memory.hook import fence

    body = record.body
    if doc.kind != "conversation":
        at = max(0, body.find(doc.section.rpartition(" > ")[2]))
        text = _drop_sections(excerpt(body, sought, at, TOLD_CHARS), _OF_THE_DAY)
        text = "\n".join(fence.localize_times(text.split("\n"), record.created))
        return _Part(doc, record, session, fence.field(record, "title"), text)
    text = excerpt(fence.extract_turn(body, doc.section), sought, 0, TOLD_CHARS)
    heading = text.partition("\n")[0][3:].partition(" ")[2]
    quoted, answer = fence.split_turn(text)
    # A long request is quoted below its heading.
    asked = "\n".join(row.strip("> ") for row in quoted.split("\n")).strip() or heading
    return _Part(doc, record, session, asked, windows.remove_command_runs(answer))


def _drop_kept_turns(index: Index, part: _Part) -> _Part:
    """Return a checkpoint's part without turns kept in its conversation."""
    from memory.hook import fence

    text = part.text
    if part.doc.kind == "checkpoint":
        text = _drop_sections(text, ("Turns",))
    conversation = fence.field(part.record, "conversation") if text != part.text else ""
    if not conversation or index.by_id(conversation) is None:
        return part
    return _Part(part.doc, part.record, part.session, part.asked, text)


def _drop_sections(body: str, names: Sequence[str]) -> str:
    kept: list[str] = []
    is_dropped = False
    for row in body.split("\n"):
        if row[:3] == "## ":
            is_dropped = row[3:].strip() in names
        if not is_dropped:
            kept.append(row)
    return "\n".join(kept)


def _build_passages(
    index: Index, answer: windows.Answer, parts: Sequence[_Part], reason: str
) -> list[ShownPassage]:
    """Return the best windows grouped by turn, best first."""
    from memory.hook import fence

    best = answer.windows[0].score
    numbers = _find_numbers(answer, parts)
    texts, scores = _choose_windows(answer, parts, best, numbers)
    passages: list[ShownPassage] = []
    for number, chosen in texts.items():
        part = parts[number]
        text = windows.join_windows(chosen)
        # what may be a handle: words that are no plain ones
        odd = [word for word in text.split() if not word.isalpha() or not word[1:].islower()]
        asked = fence.clip_utf16(_skip_to_subject(part.asked, answer), REQUEST_UNITS)
        if asked and part.doc.kind == "conversation":
            text = 'asked "%s":\n%s' % (asked, text)
        score = answer.telling * scores[number] / (best or 1.0)
        mark = index.mark(part.record)
        passage = ShownPassage(part, mark, score, reason, text)
        passage.names = _select_rare(index, extract_handles(" ".join(odd)))
        before = [(other.score, other.doc.created) for other in passages]
        time = part.doc.created if part.holds(numbers) else 0
        at = windows.find_insert_position(score, time, before)
        passages.insert(at, passage)
    for at, passage in enumerate(passages):
        passage.is_older = any(other.replaces(passage) for other in passages[:at])
    return passages


def _skip_to_subject(asked: str, answer: windows.Answer) -> str:
    """Return a request on one line, from its sentence nearest to the prompt on."""
    if len(asked) <= REQUEST_UNITS:
        return " ".join(asked.split())
    rows = asked[:ASKED_CHARS].split("\n")
    sentences = [sentence for row in rows for sentence in windows.split_sentences(row)]
    first = answer.find_nearest(sentences)
    return ("… " if first else "") + " ".join(" ".join(sentences[first:]).split())


def _find_numbers(answer: windows.Answer, parts: Sequence[_Part]) -> list[str]:
    """Return the prompt's numbers that the best window's part holds.

    They say which issue, release or day is meant, where chores recur in the same words.
    """
    best = parts[answer.windows[0].passage]
    numbers = [term for term in answer.rarity if any(map(str.isdigit, term))]
    return [number for number in numbers if best.holds([number])]


def _choose_windows(
    answer: windows.Answer, parts: Sequence[_Part], best: float, numbers: Sequence[str]
) -> tuple[dict[int, list[tuple[int, str]]], dict[int, float]]:
    """Return ({part: [(place, text), …]}, {part: score of its first window}).

    numbers: what a window's part holds where a newer window comes before the best.
    """
    room = MOST_CHARS
    texts: dict[int, list[tuple[int, str]]] = {}
    scores: dict[int, float] = {}
    words: set[str] = set()
    near = [window for window in answer.windows[:NEAR_WINDOWS] if window.score >= NEAR_SHARE * best]
    # Of windows that answer about as well the newest comes first.
    close = [
        window
        for window in near
        if window.score >= windows.CLOSE * best and parts[window.passage].holds(numbers)
    ]
    newest = max(close, key=lambda window: parts[window.passage].doc.created)
    for window in dict.fromkeys([newest, *near]):
        if sum(map(len, texts.values())) == MOST_WINDOWS:
            break
        text = window.text if len(window.text) <= room else _clip_at_row(window.text, room)
        text = windows.strip_lead_ins(text)
        is_new = len(text) >= LEAST_CHARS and windows.adds_new_words(text, words)
        if is_new or (text and not texts):
            room -= len(text)
            texts.setdefault(window.passage, []).append((window.at, text))
            scores.setdefault(window.passage, window.score)
    return texts, scores


def _clip_at_row(text: str, room: int) -> str:
    """Return the first rows of a text, as many as fit."""
    clipped = ""
    for row in text.split("\n"):
        if len(clipped) + len(row) >= room:
            break
        clipped += "\n" + row if clipped else row
    return clipped
