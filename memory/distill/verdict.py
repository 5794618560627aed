"""Check a model's answer against the records and reject unproven bullets.

A bullet must cite a given record, and its cited records must hold every technical word in it
(proof.py).
"""

from __future__ import annotations

import re
from typing import Sequence

from memory.core import clock, tokeniser
from memory.distill.digests import (
    Bullet,
    CheckResult,
    RejectedBullet,
    Source,
    clean,
    format_bullets,
)
from memory.distill.proof import Proof

ANSWER_CHARS, BULLETS = 64_000, 200  # of an answer that are checked
NO_ID, UNHELD, UNCITED, OVER = (
    "no id",
    "no record holds it",
    "no record it cites holds it",
    "over the budget",
)

# an item of a markdown list; `[…]`, but no link
_MARK = re.compile(r"\s{0,3}(?:[-*+•]|\d{1,2}[.)])\s+(\S.*)")
_BRACKET = re.compile(r"\[([^\[\]\n]{1,200})\](?!\()")


def check(
    answer: str, sources: Sequence[Source], budget: int
) -> tuple[tuple[Bullet, ...], CheckResult]:
    """Return (proven bullets of an answer, result of the check).

    sources: the records that the answer may cite. budget: tokens of all bullets; cuts from the end.
    """
    records = _CitedRecords(sources)
    items = parse_list(clean(answer[:ANSWER_CHARS]))[:BULLETS]
    good: list[Bullet] = []
    cuts: list[RejectedBullet] = []
    for line in items:
        bullet = _parse_bullet(line, records.ids)
        fault = records.find_fault(bullet) if bullet.ids else RejectedBullet(NO_ID, _shorten(line))
        if fault:
            cuts.append(fault)
        else:
            good.append(bullet)
    while good and tokeniser.count_tokens(format_bullets(good)) > budget:
        cuts.append(RejectedBullet(OVER, _shorten(good.pop().text)))
    return tuple(good), CheckResult(len(items), len(good), tuple(cuts))


def format_notes(checked: CheckResult) -> list[str]:
    """Format the reasons of rejections, one line each."""
    over = sum(cut.why == OVER for cut in checked.cut)
    templates = {
        NO_ID: "a bullet without a record's id was cut",
        UNHELD: "a bullet was cut: no record holds '{}'",
        UNCITED: "a bullet was cut: no record that it cites holds '{}'",
    }
    lines = [templates[cut.why].format(cut.what) for cut in checked.cut if cut.why != OVER]
    return lines + (["%d bullets over the budget were cut" % over] if over else [])


def parse_list(answer: str) -> list[str]:
    """Parse the items of a markdown list, without the text around it."""
    items: list[str] = []
    inside, fenced = False, False
    for line in answer.split("\n"):
        is_fence = line.strip().startswith("```")
        if fenced:
            items[-1] += _continuation(line)
            fenced = not is_fence
            continue
        mark = _MARK.match(line)
        if mark:
            items.append(mark[1].rstrip())
            inside = True
        elif not line.strip():
            continue
        elif inside and line[0] in " \t":
            items[-1] += _continuation(line)
        else:
            inside = False
        fenced = inside and is_fence
    return items


def _continuation(line: str) -> str:
    return "\n" + line.removeprefix("  ").rstrip()


class _CitedRecords:
    """The texts of the records that may be cited."""

    def __init__(self, sources: Sequence[Source]):
        self.texts: dict[str, list[str]] = {}
        for s in sources:
            about = "\n".join((s.branch, *s.tags, *s.files))
            self.texts.setdefault(s.id, []).extend(
                (s.id, s.title, clock.day(s.created), about, s.body)
            )
        self.ids = set(self.texts)
        self.proofs: dict[frozenset[str], Proof] = {}

    def find_fault(self, bullet: Bullet) -> RejectedBullet | None:
        """Return the bullet as rejected if a word is unproven, else None."""
        said = _BRACKET.sub(
            lambda match: " " if set(match[1].split(", ")) <= self.ids else match[0], bullet.text
        )
        unproven = self._proof(frozenset(bullet.ids)).find_unproven(said)
        if not unproven:
            return None
        anywhere = len(bullet.ids) < len(self.ids) and not self._proof(
            frozenset(self.ids)
        ).find_unproven(said)
        return RejectedBullet(UNCITED if anywhere else UNHELD, unproven[:80])

    def _proof(self, ids: frozenset[str]) -> Proof:
        if ids not in self.proofs:
            self.proofs[ids] = Proof(
                "\n".join(part for id, parts in self.texts.items() if id in ids for part in parts)
            )
        return self.proofs[ids]


def _shorten(line: str) -> str:
    return " ".join(line.split())[:80]


def _parse_bullet(line: str, ids: set[str]) -> Bullet:
    """Parse a bullet and its citations, and remove unknown ids."""
    cited: dict[str, None] = {}

    def keep(match: re.Match[str]) -> str:
        known = [part for part in re.split(r"[,;\s`#*]+|\bid:", match[1]) if part in ids]
        cited.update(dict.fromkeys(known))
        if known:
            return "[%s]" % ", ".join(known)
        return match[0] if " " in match[1].strip() else ""

    text = _BRACKET.sub(keep, line.replace("【", "[").replace("】", "]"))
    text = re.sub(r"(?<=\S) {2,}", " ", text)
    return Bullet("\n".join(part.rstrip() for part in text.split("\n")), tuple(cited))
