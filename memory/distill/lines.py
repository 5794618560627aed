"""A record or turn as lines that make sense alone: a sentence, the items of a short list, a block, each with what leads it in.

Items that follow one another stand on one line up to ITEMS bytes.  What only leads in (`The steps are:`, a bold heading) is no
line of its own and stands before the first one of its list.  Lines of kind `run` tell what tools did, and take no sentence along.
"""

from __future__ import annotations

import re
from dataclasses import replace

from memory.distill.digests import Source
from memory.distill.units import Unit, units

ITEMS = 160  # bytes of list items on one line
BLOCK = 600  # bytes of a piece of code or a table
RUN = "run"

_RUN = re.compile(r"[✓✗⊘·] |(?:created|edited) `|commit [0-9a-f]{7}|pull request http|subagent\b")
_LEADS = re.compile(r"(?:\*\*[^*\n]{1,90}\*\*:?|[^\n]{1,200}[:：](?:\*\*)?)$")


def lines(index: int, source: Source) -> list[Unit]:
    """Split a source into lines; `start` counts bytes from where its outcome begins, behind the last run, and is -1 before."""
    out: list[Unit] = []
    lead, last = "", -2
    for unit in units(index, source, BLOCK):
        if unit.kind == "item" and _RUN.match(unit.text):
            unit = replace(unit, kind=RUN)
        elif unit.kind in ("prose", "item") and _LEADS.fullmatch(unit.text):
            lead, last = unit.text, -2
            continue
        if unit.kind in ("item", RUN) and last == unit.order - 1 and _joins(out[-1], unit):
            out[-1] = replace(out[-1], text=out[-1].text + " · " + unit.text)
        else:
            out.append(replace(unit, label=unit.label or ("" if unit.kind == RUN else lead)))
            lead = "" if unit.kind == "prose" else lead
        last = unit.order
    return _numbered(out)


def _joins(before: Unit, item: Unit) -> bool:
    return before.kind == item.kind and len(before.text.encode()) + len(item.text.encode()) < ITEMS


def _numbered(found: list[Unit]) -> list[Unit]:
    """Number lines in their order, and say where each stands in the outcome: all that was said, where a run ends it."""
    ends = [at for at, line in enumerate(found) if line.kind == RUN]
    first = ends[-1] + 1 if ends and ends[-1] + 1 < len(found) else 0
    out, start = [], 0
    for at, line in enumerate(found):
        inside = at >= first and line.kind != RUN
        out.append(replace(line, order=at, start=start if inside else -1))
        start += len(line.text.encode()) if inside else 0
    return out
