"""Discoveries: what past sessions hold, shown to whoever has just imported them.

Each is quoted from a record: a decision under `Decisions`, a call that failed in two sessions and
the other call that worked after it, a wish that waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from memory.capture import checkpointoutline, wishes
from memory.core import clock
from memory.core.layout import Place, project_name
from memory.core.plaintext import one_line
from memory.knowledge import walls
from memory.store.redactor import strip_private_record
from memory.store.store import Store

DECISION, FAILURE, WISH = KINDS = ("decision", "failure", "wish")
MOST = 3  # discoveries that are shown
READ = 400  # checkpoints that are read for a decision, the newest first
TELLING = 2  # worth of a discovery that may stand beside another of its kind
WORDS = 5  # of a quoted sentence that says something by itself

Row = dict[str, Any]


class Discovery(NamedTuple):
    """A decision, failure or wish of past sessions.

    id: what `dayleaf show` takes. more: what it answers, or "". worth: how much it tells, from 1;
    below TELLING it is not shown.
    """

    kind: str
    project: str
    at: float
    id: str
    text: str
    more: str = ""
    worth: int = TELLING


def find_discoveries(store: Store, names: Iterable[str], rows: Sequence[Row]) -> list[Discovery]:
    """Return the decisions, failures and wishes in newly written records.

    rows: from `walls.update_walls`.
    """
    # a name: `p/checkpoints/<dated path>`
    new = sorted(set(names), key=lambda name: name.partition("/")[2], reverse=True)
    checkpoints = [name for name in new if name[1:].startswith("/checkpoints/")]
    rules = [name for name in new if name[1:].startswith("/rules/")]
    return [
        *_find_decisions(store, checkpoints[:READ]),
        *_find_failures(store.place, set(new), rows),
        *_find_wishes(store, rules),
    ]


def pick_best(found: Iterable[Discovery]) -> list[Discovery]:
    """Return the discoveries to show, the best of each kind first."""
    telling = [discovery for discovery in found if discovery.worth >= TELLING]
    telling.sort(key=lambda discovery: (-discovery.worth, -discovery.at, discovery.id))
    best = {discovery.kind: discovery for discovery in reversed(telling)}
    shown: dict[str, Discovery] = {}
    for discovery in (*(best[kind] for kind in KINDS if kind in best), *telling):
        shown.setdefault(discovery.text, discovery)
    return list(shown.values())[:MOST]


def _find_decisions(store: Store, names: Sequence[str]) -> list[Discovery]:
    """Return checkpoints' decisions, until MOST have more worth than TELLING."""
    found: list[Discovery] = []
    where = project_name(store.place.key)
    for record in map(strip_private_record, store.each_by(store.read, names)):
        for line in reversed(checkpointoutline.split_sections(record.body).get("decisions", [])):
            text, more, worth = _parse_decision(line)
            found.append(Discovery(DECISION, where, record.created, record.id, text, more, worth))
        if sum(discovery.worth > TELLING for discovery in found) >= MOST:
            break
    return found


def _parse_decision(line: str) -> tuple[str, str, int]:
    """Return (sentence, question answered, worth) of a decision's line."""
    decision = one_line(line).partition(" ")[2]
    if decision.startswith('"'):
        quote, _, answered = decision.partition('" to: ')
        text = quote.rstrip('"') + '"'
        before = "in answer to: " + answered if answered else ""
        return "you decided: " + text, before, TELLING + 1 if _is_telling(text) else 1
    if decision.startswith("approved the plan: "):
        return "you " + decision, "", TELLING + 1
    answer = decision.partition(" → ")[2]
    tells = len(answer.split()) >= WORDS or (
        decision.startswith("refused ") and _is_telling(decision)
    )
    return "you " + decision, "", TELLING if tells else 1


def _is_telling(text: str) -> bool:
    """Tell whether a quote is a statement of WORDS words or more."""
    quote = text.partition('"')[2].rstrip('"')
    return len(quote.split()) >= WORDS and not quote.endswith("?")


def _find_failures(place: Place, new: set[str], rows: Sequence[Row]) -> list[Discovery]:
    return [
        Discovery(
            FAILURE,
            project_name(place.key),
            wall.last,
            wall.where[0],
            "this failed in %d sessions: `%s` (%s)"
            % (wall.sessions, one_line(wall.ran), one_line(wall.telling)),
            "and this worked: `%s`" % one_line(wall.worked),
        )
        for wall in walls.find_repeated(place, rows)
        if wall.worked and not wall.path and any(row["name"] in new for row, _ in wall.met)
    ]


def _find_wishes(store: Store, names: Iterable[str]) -> list[Discovery]:
    """Return the user's wishes that wait as rules."""
    found: list[Discovery] = []
    for rule in store.each_by(store.read, names, partial(wishes.is_waiting, store)):
        at = max(rule.created, clock.parse(str(rule.meta[wishes.SAID])) or 0.0)
        text = 'you asked for: "%s"' % one_line(rule.title)
        worth = TELLING + wishes.get_times(rule) - 1
        found.append(Discovery(WISH, project_name(store.place.key), at, rule.id, text, "", worth))
    return found
