"""What a summariser reads and writes: sources, bullets that cite them, the digest and its reduction."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Sequence

from memory import clock, text
from memory import render as rendering

_ABSENT = re.compile(r"(\w+) skipped: \1 is not on PATH")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


@dataclass(frozen=True)
class Source:
    """One record as a summariser sees it.

    created: seconds since the epoch.  tier: `p`, `s` or `g`.  checksum: SHA-256 of the record's file, or "".  score:
    what recall gave it, above 0, or 0.
    """

    id: str
    kind: str
    title: str
    created: float
    body: str
    tier: str
    checksum: str = ""
    score: float = 0.0


@dataclass(frozen=True)
class Bullet:
    """One statement with its citation inside `text`, and the ids it cites."""

    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Digest:
    """The short answer.

    provider: who wrote it.  tokens_in, tokens_out: tokens of the sources and of the bullets.  cached: it was kept from
    an earlier call.  notes: what was skipped, cut or failed, one line each.
    """

    bullets: tuple[Bullet, ...]
    provider: str
    tokens_in: int
    tokens_out: int
    cached: bool = False
    notes: tuple[str, ...] = ()


def clean(value: str) -> str:
    """Return text without terminal escapes and whatever else `render.clean` takes out."""
    return rendering.clean(_ANSI.sub("", value))


def compose(bullets: Sequence[Bullet]) -> str:
    """Return the bullets as a markdown list, the text whose tokens the budget counts."""
    return "\n".join("- " + bullet.text.replace("\n", "\n  ") for bullet in bullets)


def count_sources(sources: Sequence[Source]) -> int:
    """Return the tokens of the sources, titles included."""
    return sum(text.count_tokens(source.title + "\n" + source.body) for source in sources)


def cite(source: Source) -> str:
    """Return the end of a bullet that quotes a source, such as `[k3m9] 2026-11-21`."""
    return "[%s] %s" % (source.id, clock.day(source.created))


def render(digest: Digest) -> str:
    """Return a digest as markdown: the bullets, the reduction, the notes."""
    lines = [compose(digest.bullets) if digest.bullets else "Nothing to say.", "", reduction(digest)]
    absent = [match[1] for match in map(_ABSENT.fullmatch, digest.notes) if match]
    notes = [note for note in digest.notes if not _ABSENT.fullmatch(note)]
    if absent:
        notes.insert(0, "no model was asked: %s not on PATH" % (
            absent[0] + " is" if len(absent) == 1 else ", ".join(absent[:-1]) + " and " + absent[-1] + " are"))
    return "\n".join(lines + ["note: " + clean(note) for note in notes]) + "\n"


def reduction(digest: Digest) -> str:
    """Return what the digest saved, such as `1,234 → 180 tokens (−85 %) · extract`."""
    saved = round(100 * (1 - digest.tokens_out / digest.tokens_in)) if digest.tokens_in else 0
    change = "%s%d %%" % ("−" if saved > 0 else "+" if saved < 0 else "±", abs(saved))
    return "{:,} → {:,} tokens ({}) · {}{}".format(digest.tokens_in, digest.tokens_out, change, digest.provider,
                                                   " · cached" if digest.cached else "")
