"""The data of distil: sources that a summariser reads, bullets that cite them, digests."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Sequence

from memory.core import plaintext, tokeniser
from memory.core.records import Record, meta_text, parse_labels
from memory.hook import fence
from memory.hook.handoffs import is_repetition
from memory.recall.hit import RecallResult, split_turns

BODY_LIMIT = 200_000  # characters read of one source
NO_RECORD = "no record to distil"  # note of a digest without sources
NEAREST = 3  # records named where none answers
FILES = 12  # of a record that are shown to a model
MOST_TALKS = 8  # best hits with a whole conversation for the extract

# `[id, id]`, but no link
_CITED = re.compile(r"(?<!\s)\s*\[([^\[\]\n]{1,400})\](?!\()")
_ABSENT = re.compile(r"(\w{1,80}) skipped: \1 is not on PATH")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


@dataclass(frozen=True)
class Source:
    """A record as a summariser reads it.

    created: epoch seconds. tier: `p`, `s` or `g`. checksum: of the record's file, or "". body: of a
    conversation, the turn found. turns: of the conversation, for the extract. retold: of an
    automatic checkpoint, its conversation's id.
    """

    id: str
    kind: str
    title: str
    created: float
    body: str
    tier: str
    checksum: str = ""
    score: float = 0.0
    turns: tuple[str, ...] = ()
    retold: str = ""
    branch: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bullet:
    """A statement whose `text` cites the records `ids`."""

    text: str
    ids: tuple[str, ...]

    @property
    def statement(self) -> str:
        """The text without its citation."""
        return _CITED.sub(
            lambda match: "" if set(match[1].split(", ")) <= set(self.ids) else match[0], self.text
        ).strip()


@dataclass(frozen=True)
class RejectedBullet:
    """A bullet of a model's answer that was cut, and the reason.

    why: a constant of verdict.py. what: the unproven word, else the bullet's start.
    """

    why: str
    what: str


@dataclass(frozen=True)
class CheckResult:
    """The result of checking an answer: bullets in it, accepted, rejected."""

    bullets: int = 0
    kept: int = 0
    cut: tuple[RejectedBullet, ...] = ()


@dataclass(frozen=True)
class ChainStep:
    """A step of the provider chain, and how it ended."""

    provider: str
    outcome: str


@dataclass(frozen=True)
class Digest:
    """The short answer of distil.

    provider: its author. tokens_in, tokens_out: of the sources and of the bullets. notes: lines on
    skips, rejections and failures. calls: model calls made now, failed ones too. nearest: (id,
    title, quote or "") of the nearest records, where none answers. made: of a cached one, epoch
    seconds.
    """

    bullets: tuple[Bullet, ...]
    provider: str
    tokens_in: int
    tokens_out: int
    cached: bool = False
    notes: tuple[str, ...] = ()
    checked: CheckResult = CheckResult()
    steps: tuple[ChainStep, ...] = ()
    calls: int = 0
    nearest: tuple[tuple[str, str, str], ...] = ()
    made: float = field(default=0.0, compare=False)


def build_sources(found: RecallResult) -> list[Source]:
    """Build a summariser's sources from hits.

    A conversation's turn stands beside its checkpoint. A digest or handoff is left out if its own
    sources are among the hits.
    """
    ids = {hit.id for hit in found.hits}
    out = []
    for rank, hit in enumerate(found.hits):
        talk = hit.talk
        if talk is not None:
            texts = [t.text for t in split_turns(talk)] if rank < MOST_TALKS else [hit.turn_text]
            source = build_source(talk, hit.turn_text)
            out.append(replace(source, score=hit.score, turns=tuple(texts)))
        if (
            hit.kind != "conversation"
            and ids.isdisjoint(hit.record.derived_from)
            and not is_repetition(hit.record)
        ):
            retold = talk.id if talk is not None and hit.record.source == "auto" else ""
            out.append(replace(build_source(hit.record, hit.body), score=hit.score, retold=retold))
    return out


def build_source(record: Record, body: str) -> Source:
    """Build a summariser's source from a part of a record's text."""
    return Source(
        record.id,
        record.kind,
        record.title,
        record.created,
        body,
        record.tier,
        record.checksum,
        branch=meta_text(record, "branch"),
        tags=record.tags,
        files=parse_labels(record.meta.get("files"))[:FILES],
    )


def clean(value: str) -> str:
    """Remove terminal escapes, and what `fence.clean` removes."""
    return fence.clean(_ANSI.sub("", value))


def format_bullets(bullets: Sequence[Bullet]) -> str:
    """Format bullets as a markdown list, as counted for the budget."""
    return "\n".join("- " + bullet.text.replace("\n", "\n  ") for bullet in bullets)


def count_source_tokens(sources: Sequence[Source]) -> int:
    """Count the tokens of sources, titles included."""
    return sum(tokeniser.count_tokens(source.title + "\n" + source.body) for source in sources)


def make_digest(
    bullets: Sequence[Bullet],
    provider: str,
    sources: Sequence[Source],
    notes: Sequence[str],
    checked: CheckResult = CheckResult(),
    nearest: tuple[tuple[str, str, str], ...] = (),
) -> Digest:
    """Make a digest; count the tokens of its sources and bullets."""
    return Digest(
        tuple(bullets),
        provider,
        count_source_tokens(sources),
        tokeniser.count_tokens(format_bullets(bullets)),
        notes=tuple(notes),
        checked=checked,
        nearest=nearest,
    )


def list_nearest(sources: Sequence[Source]) -> tuple[tuple[str, str, str], ...]:
    """Return (id, title, "") of the best sources, one per session."""
    retold = {source.retold for source in sources}
    own = [source for source in sources if source.id not in retold]
    return tuple((source.id, clean(source.title), "") for source in own[:NEAREST])


def render(digest: Digest) -> str:
    """Render a digest as markdown: bullets, reduction, notes."""
    lines = [format_no_answer(digest)]
    if digest.bullets:
        lines = [format_bullets(digest.bullets), "", format_reduction(digest)]
    absent = [match[1] for match in map(_ABSENT.fullmatch, digest.notes) if match]
    notes = [note for note in digest.notes if not _ABSENT.fullmatch(note) and note != NO_RECORD]
    if absent:
        names, verb = " and ".join(absent), "is" if len(absent) == 1 else "are"
        notes.insert(0, "no model was asked: %s %s not on PATH" % (names, verb))
    return "\n".join(lines + ["note: " + clean(note) for note in notes]) + "\n"


def format_no_answer(digest: Digest) -> str:
    """Say that no record answers, and list the nearest ones with a quote."""
    rows = []
    for id, title, quote in digest.nearest:
        name = fence.clean(plaintext.clip_at_word(plaintext.one_line(title), 80)).replace("`", "'")
        rows.append("- `%s` [%s]%s" % (name, id, ": " + plaintext.one_line(quote) if quote else ""))
    return "\n".join(["The records do not answer this." + " Nearest:" * bool(rows), *rows])


def format_reduction(digest: Digest) -> str:
    """Format `records 1,234 tokens, answer 180 tokens (−85 %) · extract`."""
    if not digest.tokens_in:
        return "no record was found to answer from"
    saved = round(100 * (1 - digest.tokens_out / digest.tokens_in))
    change = "%s%d %%" % ("−" if saved > 0 else "+" if saved < 0 else "±", abs(saved))
    return "records {:,} tokens, answer {:,} tokens ({}) · {}{}".format(
        digest.tokens_in,
        digest.tokens_out,
        change,
        digest.provider,
        " · cached" if digest.cached else "",
    )


def as_json(digest: Digest) -> dict[str, Any]:
    """Return a digest's check, chain and nearest records for --json."""
    return {
        "checked": {**vars(digest.checked), "cut": [vars(cut) for cut in digest.checked.cut]},
        "chain": [vars(step) for step in digest.steps],
        "calls": digest.calls,
        "nearest": [dict(zip(("id", "title", "quote"), row)) for row in digest.nearest],
    }
