"""Check a model's answer against the records: which of its bullets stand.

A bullet stays only if it cites a record that was given, and if the records that it cites hold every
technical word in it (proof.py).  What is cut is counted, with the word that no record holds.
"""

from __future__ import annotations

import re
from typing import Sequence

from memory.core import clock, tokeniser
from memory.distill.digests import Bullet, Checked, Cut, Source, clean, compose
from memory.distill.proof import Proof

ANSWER_CHARS, BULLETS = 64_000, 200  # of an answer that are looked at
NO_ID, UNHELD, UNCITED, OVER = (
    "no id",
    "no record holds it",
    "no record it cites holds it",
    "over the budget",
)

_MARK = re.compile(r"\s{0,3}(?:[-*+•]|\d{1,2}[.)])\s+(\S.*)")
_BRACKET = re.compile(r"\[([^\[\]\n]{1,200})\](?!\()")


def check(
    answer: str, sources: Sequence[Source], budget: int
) -> tuple[tuple[Bullet, ...], Checked]:
    """Return (proven bullets of an answer, account of the check).

    The budget (tokens of all bullets together) cuts from the end.
    sources: the records that the answer may cite.
    """
    held = _Held(sources)
    items = listed(clean(answer[:ANSWER_CHARS]))[:BULLETS]
    good: list[Bullet] = []
    cuts: list[Cut] = []
    for line in items:
        bullet = _with_citations(line, held.ids)
        found = held.against(bullet) if bullet.ids else Cut(NO_ID, _start(line))
        if found:
            cuts.append(found)
        else:
            good.append(bullet)
    while good and tokeniser.count_tokens(compose(good)) > budget:
        cuts.append(Cut(OVER, _start(good.pop().text)))
    return tuple(good), Checked(len(items), len(good), tuple(cuts))


def notes(checked: Checked) -> list[str]:
    """Return one line for each reason why bullets were rejected."""
    over = sum(cut.why == OVER for cut in checked.cut)
    said = {
        NO_ID: "a bullet without a record's id was cut",
        UNHELD: "a bullet was cut: no record holds '%s'",
        UNCITED: "a bullet was cut: no record that it cites holds '%s'",
    }
    lines = [
        said[cut.why] % cut.what if "%s" in said[cut.why] else said[cut.why]
        for cut in checked.cut
        if cut.why != OVER
    ]
    return lines + (["%d bullets over the budget were cut" % over] if over else [])


def listed(answer: str) -> list[str]:
    """Return the items of a markdown list.

    With their indented continuations, without text around the list.
    """
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


class _Held:
    """The records that may be cited, each prepared once."""

    def __init__(self, sources: Sequence[Source]):
        self.texts: dict[str, list[str]] = {}
        for s in sources:
            about = "\n".join((s.branch, *s.tags, *s.files))
            self.texts.setdefault(s.id, []).extend(
                (s.id, s.title, clock.day(s.created), about, s.body)
            )
        self.ids = set(self.texts)
        self.proofs: dict[frozenset[str], Proof] = {}

    def against(self, bullet: Bullet) -> Cut | None:
        """Return the reason against a bullet, or None."""
        said = _BRACKET.sub(
            lambda match: " " if set(match[1].split(", ")) <= self.ids else match[0], bullet.text
        )
        lacking = self._proof(frozenset(bullet.ids)).lacking(said)
        if not lacking:
            return None
        anywhere = len(bullet.ids) < len(self.ids) and not self._proof(frozenset(self.ids)).lacking(
            said
        )
        return Cut(UNCITED if anywhere else UNHELD, lacking[:80])

    def _proof(self, ids: frozenset[str]) -> Proof:
        if ids not in self.proofs:
            self.proofs[ids] = Proof(
                "\n".join(part for id, parts in self.texts.items() if id in ids for part in parts)
            )
        return self.proofs[ids]


def _start(line: str) -> str:
    return " ".join(line.split())[:80]


def _with_citations(line: str, ids: set[str]) -> Bullet:
    """Read a bullet's citations, and remove unknown ids."""
    found: list[str] = []

    def keep(match: re.Match[str]) -> str:
        known = [part for part in re.split(r"[,;\s`#*]+|\bid:", match[1]) if part in ids]
        found.extend(part for part in known if part not in found)
        if known:
            return "[%s]" % ", ".join(known)
        return match[0] if " " in match[1].strip() else ""

    told = _BRACKET.sub(keep, line.replace("【", "[").replace("】", "]"))
    return Bullet(
        "\n".join(part.rstrip() for part in re.sub(r"(?<=\S) {2,}", " ", told).split("\n")),
        tuple(found),
    )
