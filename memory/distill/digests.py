"""Sources, bullets that cite them, and digests: what a summariser reads and writes, and how it is
told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Sequence

from memory.core import plaintext, tokeniser
from memory.core.records import Record, labels
from memory.hook import fence
from memory.hook.handoffs import is_repetition
from memory.recall.hit import Found, turns

BODY_LIMIT = 200_000  # characters read of one source
NO_RECORD = "no record to distil"  # note of a digest without sources
NEAREST = 3  # records that are named where none tells
FILES = 12  # of a record that a model is told
TALKS = 8  # best hits of which the extract reads the whole conversation

_CITED = re.compile(r"(?<!\s)\s*\[([^\[\]\n]{1,400})\](?!\()")
_ABSENT = re.compile(r"(\w{1,80}) skipped: \1 is not on PATH")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


@dataclass(frozen=True)
class Source:
    """A record as a summariser sees it.

    created: seconds since the epoch. tier: `p`, `s` or `g`. checksum: SHA-256 of the record's file,
        or "". score: from recall, above 0, or 0. Of a conversation `body` is the turn found; turns:
        its other turns, which the extract reads too. retold: of an automatic checkpoint, the id of
        its conversation. branch, tags, files: of the record, shown to a model.
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
    """A statement with its citation inside `text`.

    ids: the cited ids.
    """

    text: str
    ids: tuple[str, ...]

    @property
    def statement(self) -> str:
        """The text without its citation."""
        return _CITED.sub(
            lambda match: "" if set(match[1].split(", ")) <= set(self.ids) else match[0], self.text
        ).strip()


@dataclass(frozen=True)
class Cut:
    """A rejected bullet.

    why: a word of verdict.py. what: the word that lacks proof, else the bullet's start.
    """

    why: str
    what: str


@dataclass(frozen=True)
class Checked:
    """The result of a check.

    bullets: number in the answer. kept: number accepted. cut: the rejected bullets.
    """

    bullets: int = 0
    kept: int = 0
    cut: tuple[Cut, ...] = ()


@dataclass(frozen=True)
class Step:
    """A step of the chain with its outcome.

    outcome: `answered`, `kept`, or why it was skipped, declined or failed.
    """

    provider: str
    outcome: str


@dataclass(frozen=True)
class Digest:
    """The short answer, with its account.

    provider: its author. tokens_in, tokens_out: tokens of the sources and of the bullets. cached:
        whether it comes from the cache. notes: what was skipped, cut or failed, one line each.
        checked: of the answer that is shown; an extract quotes, and keeps all. steps: the chain as
        far as it went. calls: model calls made for it now, failed ones too. nearest: (id, title) of
        the nearest records, where the records do not tell. made: of a cached one, seconds since the
        epoch, else 0.
    """

    bullets: tuple[Bullet, ...]
    provider: str
    tokens_in: int
    tokens_out: int
    cached: bool = False
    notes: tuple[str, ...] = ()
    checked: Checked = Checked()
    steps: tuple[Step, ...] = ()
    calls: int = 0
    nearest: tuple[tuple[str, str], ...] = ()
    made: float = field(default=0.0, compare=False)


def of_found(found: Found) -> list[Source]:
    """Return hits as sources for a summariser.

    Of a conversation the turn found, beside the checkpoint found. A stored digest is left out where
    its sources are among the hits, and so is a handoff made of checkpoints.
    """
    ids = {hit.id for hit in found.hits}
    out = []
    for rank, hit in enumerate(found.hits):
        told = hit.told
        if told is not None:
            said = [turn.text for turn in turns(told)] if rank < TALKS else [hit.said]
            out.append(replace(of_record(told, hit.said), score=hit.score, turns=tuple(said)))
        if (
            hit.kind != "conversation"
            and ids.isdisjoint(hit.record.derived_from)
            and not is_repetition(hit.record)
        ):
            retold = told.id if told is not None and hit.record.source == "auto" else ""
            out.append(replace(of_record(hit.record, hit.body), score=hit.score, retold=retold))
    return out


def of_record(record: Record, body: str) -> Source:
    """Return a record as a source for a summariser.

    body: the part of it that counts.
    """
    branch = record.meta.get("branch")
    return Source(
        record.id,
        record.kind,
        record.title,
        record.created,
        body,
        record.tier,
        record.checksum,
        branch=branch if isinstance(branch, str) else "",
        tags=record.tags,
        files=labels(record.meta.get("files"))[:FILES],
    )


def clean(value: str) -> str:
    """Return text without terminal escapes.

    And without the characters that `fence.clean` removes.
    """
    return fence.clean(_ANSI.sub("", value))


def compose(bullets: Sequence[Bullet]) -> str:
    """Return the bullets as a markdown list.

    The budget counts the tokens of this text.
    """
    return "\n".join("- " + bullet.text.replace("\n", "\n  ") for bullet in bullets)


def count_sources(sources: Sequence[Source]) -> int:
    """Return the tokens of the sources, titles included."""
    return sum(tokeniser.count_tokens(source.title + "\n" + source.body) for source in sources)


def nearest(sources: Sequence[Source]) -> tuple[tuple[str, str], ...]:
    """Return (id, title) of the best sources, one per session.

    Named where no source answers.
    """
    retold = {source.retold for source in sources}
    return tuple((source.id, clean(source.title)) for source in sources if source.id not in retold)[
        :NEAREST
    ]


def render(digest: Digest) -> str:
    """Return a digest as markdown: the bullets, the reduction, the notes."""
    lines = [no_answer(digest)]
    if digest.bullets:
        lines = [compose(digest.bullets), "", reduction(digest)]
    absent = [match[1] for match in map(_ABSENT.fullmatch, digest.notes) if match]
    notes = [note for note in digest.notes if not _ABSENT.fullmatch(note) and note != NO_RECORD]
    if absent:
        notes.insert(
            0,
            "no model was asked: %s not on PATH"
            % (
                absent[0] + " is"
                if len(absent) == 1
                else ", ".join(absent[:-1]) + " and " + absent[-1] + " are"
            ),
        )
    return "\n".join(lines + ["note: " + clean(note) for note in notes]) + "\n"


def no_answer(digest: Digest) -> str:
    """Return the answer for records that do not tell.

    It names the nearest ones.
    """
    near = [
        "`%s` [%s]"
        % (fence.clean(plaintext.at_word(plaintext.one_line(title), 80)).replace("`", "'"), id)
        for id, title in digest.nearest
    ]
    return "The records do not answer this." + (" Nearest: %s." % ", ".join(near) if near else "")


def reduction(digest: Digest) -> str:
    """Return the reduction: `tokens: records 1,234, answer 180 (−85 %) · extract`."""
    if not digest.tokens_in:
        return "no record was found to answer from"
    saved = round(100 * (1 - digest.tokens_out / digest.tokens_in))
    change = "%s%d %%" % ("−" if saved > 0 else "+" if saved < 0 else "±", abs(saved))
    return "tokens: records {:,}, answer {:,} ({}) · {}{}".format(
        digest.tokens_in,
        digest.tokens_out,
        change,
        digest.provider,
        " · cached" if digest.cached else "",
    )


def as_json(digest: Digest) -> dict[str, Any]:
    """Return the account for --json."""
    found = digest.checked
    return {
        "checked": {
            "bullets": found.bullets,
            "kept": found.kept,
            "cut": [{"why": cut.why, "what": cut.what} for cut in found.cut],
        },
        "chain": [{"provider": step.provider, "outcome": step.outcome} for step in digest.steps],
        "calls": digest.calls,
        "nearest": [{"id": id, "title": title} for id, title in digest.nearest],
    }
