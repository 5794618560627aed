"""Proposals: what of checkpoints and conversations a person may want to keep as a learning.

Only what stands behind a label at the beginning of a line (`Root cause: …`, `Decision: …`), word
for word. The newest wording stands for those that say the same; what more sessions say comes first,
then the newest. What is known (an accepted learning, a candidate, an archived one, by key or by its
words) is not proposed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memory.capture import conversationpage, turns
from memory.capture.turns import Turn
from memory.core import clock, files, tokeniser
from memory.core.plaintext import clip_at_word, format_count, one_line
from memory.core.records import HARVEST_KEY, Record, make_derived_links, meta_text
from memory.distill.digests import clean
from memory.knowledge.contradictions import InvertedIndex, is_negative
from memory.recall import sentences
from memory.store.store import Store

LIMIT, TITLE = 10, 80  # proposals; characters of a title
LABELS = frozenset(
    (
        "root cause, cause, ursache, grund, 근본 원인, 원인, 根本原因, 原因, 根因, "
        "первопричина, причина, decision, decided, entscheidung, entschieden, 결정, 결정 사항, "
        "決定, 決定事項, 决定, 决策, решение, решено, lesson, lesson learned, lehre, lektion, "
        "교훈, 教訓, 教训, 经验, урок, note, hinweis, notiz, 참고, 메모, 注, メモ, 备注, 注意, "
        "примечание, заметка"
    ).split(", ")
)
_LABELLED = re.compile(
    r"[\s>#*_+-]{0,16}(?:\d{1,3}[.)]\s{1,4})?[*_]{0,3}(\w[\w ]{0,24}?)[*_]{0,3}\s?[:：][*_]{0,3}"
    r"(?=\s|$|[^\x00-\x7f`])(.*)$"
)
_WITHIN = re.compile(r"(?<=[.!?。！？])[ ](?=\w[\w ]{0,24}[:：])")  # where one may follow another
FEWEST, LONGEST = 3, 2000  # terms, characters of a statement
MOST_TYPED = 1200  # characters of a request that was typed, not pasted
SAME, SHARE = 0.9, 0.6  # of the terms of the shorter text, of the longer one, that two alike share
MOST_CITED = 12


class Proposal(NamedTuple):
    """A learning proposed to a person.

    body: markdown. from_ids: its source records, oldest first. key: 16 hex digits of its source
    text. sessions: number of sessions that said it.
    """

    title: str
    body: str
    from_ids: tuple[str, ...]
    reason: str
    key: str
    sessions: int


class Statement(NamedTuple):
    """A labelled statement; where: its record, or turn of a conversation."""

    label: str
    text: str
    record: Record
    at: float
    where: str


def harvest(
    checkpoints: Sequence[Record], known: Sequence[Record], talks: Sequence[Record] = ()
) -> list[Proposal]:
    """Return at most LIMIT learnings proposed from records, best first.

    known: learnings of every standing, archived ones too. talks: conversations.
    """
    statements = sorted(
        (statement for record in (*checkpoints, *talks) for statement in find_statements(record)),
        key=lambda statement: (statement.at, statement.where, statement.text),
    )
    drafts = [(group[-1], _make_proposal(group)) for group in _group_statements(statements)]
    drafts.sort(key=lambda draft: (-draft[1].sessions, -draft[0].at, draft[1].key))
    return _unknown_proposals(
        [(statement.text, proposal) for statement, proposal in drafts], known, LIMIT
    )


def find_statements(record: Record) -> Iterator[Statement]:
    """Yield the labelled statements of a checkpoint or conversation."""
    if record.kind != "conversation":
        for label, said in find_labelled(record.body):
            yield Statement(label, said, record, record.created, record.id)
        return
    held = conversationpage.parse(record.body, clock.day(record.created))
    for number, turn in enumerate(held, 1):
        at, where = clock.parse(turn.at) or record.created, "%s#%d" % (record.id, number)
        for text in _list_texts(turn):
            for label, said in find_labelled(text):
                yield Statement(label, said, record, at, where)


def _list_texts(turn: Turn) -> Iterator[str]:
    """Yield what user and model wrote in a turn."""
    if turn.asked == turns.SUMMARY:
        return
    if turn.asked in ("", turns.SLASH) and len(turn.request) < MOST_TYPED:
        yield turn.request
    yield from (piece.text for piece in turn.pieces if piece.kind in (turns.SAID, turns.USER))


def find_labelled(text: str) -> Iterator[tuple[str, str]]:
    """Yield (label, statement) of lines that are no code and no question."""
    for line, is_code in tokeniser.mark_code(text.split("\n")):
        if is_code:
            continue
        for part in _WITHIN.split(line.rstrip()):
            label, said = _split_label(part)
            if len(said) <= LONGEST and len(to_terms(said)) >= FEWEST and said[-1] not in "?？":
                yield label, one_line(said)


def _split_label(line: str) -> tuple[str, str]:
    """Return (label, rest) of a line, two "" without a label."""
    match = _LABELLED.match(line[: 2 * LONGEST])
    # in ASCII letters a label has a capital
    if not match or match[1].lower() not in LABELS or (match[1].isascii() and match[1].islower()):
        return "", ""
    return match[1], match[2].replace("**", "").strip()


def to_terms(text: str) -> frozenset[str]:
    return frozenset(tokeniser.index_terms(text))


def _group_statements(every: Sequence[Statement]) -> list[list[Statement]]:
    index, groups = _StatementIndex(), list[list[Statement]]()
    for statement in every:
        group = index.find(statement.text)
        if group is None:
            groups.append([statement])
            index.put(statement.text, groups[-1])
        else:
            group.append(statement)
    return groups


def _make_proposal(group: Sequence[Statement]) -> Proposal:
    """Make a proposal from equal statements, oldest first."""
    newest = group[-1]
    sources = list({statement.record.id: statement.record for statement in group}.values())
    # without a session, those of its day are one
    origins = (
        meta_text(statement, "session") or clock.day(statement.created) for statement in sources
    )
    sessions = len(set(origins))
    refs = list(dict.fromkeys(statement.where for statement in group))[-MOST_CITED:]
    source = "From %s (%s)." % (", ".join(refs), clock.day(newest.at))
    return Proposal(
        _make_title(newest.text[:1].upper() + newest.text[1:]),
        "%s: %s\n\n%s\n" % (newest.label, newest.text, source),
        tuple(record.id for record in sources),
        "labelled `%s`, in %s" % (newest.label, format_count(sessions, "session")),
        _hash_terms(newest.text),
        sessions,
    )


def propose_lesson(
    text: str, quote: str, turn: int, note: Record, known: Sequence[Record]
) -> list[Proposal]:
    """Propose a note's lesson as a learning; return [] if it is known.

    quote: the turn's words that prove it.
    """
    where = "%s#%d" % (note.meta.get("conversation") or note.id, turn)
    source = "From %s, %s (%s)." % (note.id, where, clock.day(note.created))
    body = "%s\n\n> %s\n\n%s\n" % (text, quote, source)
    made = Proposal(_make_title(text), body, (note.id,), "a lesson", _hash_terms(text), 1)
    return _unknown_proposals([(text, made)], known, 1)


def store_candidate(store: Store, proposal: Proposal, session: str = "") -> Record:
    """Store a proposal as a learning that waits for a person."""
    return store.add(
        "learning",
        proposal.title,
        proposal.body,
        source="auto",
        session=session,
        extra={
            "confidence": "low",
            "links": make_derived_links(proposal.from_ids),
            HARVEST_KEY: proposal.key,
        },
    )


def is_same_statement(one: str, other: str) -> bool:
    """Tell whether two sentences agree in nearly all terms and in negation."""
    return is_negative(one) == is_negative(other) and _is_similar(to_terms(one), to_terms(other))


# --- what is known


class _StatementIndex:
    """Finds statements by a text that says the same."""

    def __init__(self) -> None:
        self._shelf = InvertedIndex[tuple[frozenset[str], bool, list[Statement]]]()

    def find(self, text: str) -> list[Statement] | None:
        """Return the statements stored under a similar text, or None."""
        terms, negative = to_terms(text), is_negative(text)
        for held, denies, thing in self._shelf.near(terms):
            if denies == negative and _is_similar(held, terms):
                return thing
        return None

    def put(self, text: str, thing: list[Statement]) -> None:
        terms = to_terms(text)
        self._shelf.put(terms, (terms, is_negative(text), thing))


def _is_similar(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    small, large = sorted((len(one), len(other)))
    return shared >= FEWEST and shared >= SAME * small and shared >= SHARE * large


def _unknown_proposals(
    drafts: Iterable[tuple[str, Proposal]], known: Sequence[Record], limit: int
) -> list[Proposal]:
    """Return the first `limit` proposals that no known learning states."""
    keys, shelf = {str(record.meta.get(HARVEST_KEY) or "") for record in known}, _StatementIndex()
    for text in (text for record in known for text in _list_sentences(record)):
        shelf.put(text, [])
    out: list[Proposal] = []
    for said, proposal in drafts:
        if len(out) == limit:
            break
        if proposal.key not in keys and shelf.find(said) is None:
            keys.add(proposal.key)
            shelf.put(said, [])
            out.append(proposal)
    return out


def _list_sentences(record: Record) -> list[str]:
    """Return a learning's title and sentences, with and without labels."""
    statements = sentences.extract_statements(clean(record.body))
    return [
        record.title,
        *statements,
        *filter(None, (_split_label(statement)[1] for statement in statements)),
    ]


def _hash_terms(said: str) -> str:
    terms = "\0".join(("statement", *sorted(to_terms(said))))
    return str(files.sha256(terms.encode("utf-8", "replace"))[:16])


def _make_title(said: str) -> str:
    return clip_at_word(one_line(said).rstrip(".。 "), TITLE)
