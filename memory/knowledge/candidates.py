"""Walls that several sessions met become candidates: a failure, and what then worked.

A wall becomes one once two sessions met it: a call that was wrong in itself, and the other call
that then worked in both or in the later one.  None where a learning, also an archived one, tells of
the same failure.  Sessions that meet it later are counted; where nothing on record tells it any
more, the candidate goes, unless a person decided on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memory.capture.conversationpage import code
from memory.core import clock, config, records
from memory.core.layout import PRIVATE, Place
from memory.core.plaintext import count
from memory.core.records import Record
from memory.hook import at_failure
from memory.knowledge import practice, remedies, walls
from memory.knowledge.walls import Repeated, Row
from memory.store.store import Store

MOST_TOLD = 3  # remedies of a wall that are told
SHORT = 60  # characters of a call in a title


def settle_walls(
    place: Place,
    settings: config.Config,
    now: float,
    rows: Sequence[Row],
    on_change: Callable[[str], None] | None = None,
) -> int:
    """Make and update candidate learnings from walls.

    Returns the number of records written.  rows: from `walls.write`.  Raises OSError or StoreError.
    """
    taught = {at_failure.hash_of(one.key): one for one in misused_calls(place, rows)}
    store = Store(place, settings, now, on_change)
    standing = list(store.each(("learning",)))
    for record in filter(_is_undecided, standing):
        wall = taught.get(str(record.meta.get(records.MADE_OF)))
        if wall is None:
            store.archive(record.name, "no record tells of that error any more")
        elif str(record.meta["wall"]) != str(wall.sessions):
            store.edit(record.name, {"wall": wall.sessions})
    known = [*standing, *store.archived("learning")] if taught else []
    lines = {
        remedies.key_of(line)
        for record in known
        for line in record.body.split("\n")
        if line.startswith("    ")
    }
    new = {key: one for key, one in taught.items() if remedies.key_of(one.telling) not in lines}
    for key, wall in new.items():
        mended = wall.mended[:MOST_TOLD]
        store.add(
            "learning",
            wall.sentence(SHORT).rstrip("."),
            _body(wall),
            source="auto",
            session=wall.met[0][0]["session"],
            extra={
                "confidence": "low",
                "links": records.derived_links(dict.fromkeys(row["id"] for row, _ in mended)),
                records.MADE_OF: key,
                "wall": wall.sessions,
            },
        )
    return len(new)


def _is_undecided(record: Record) -> bool:
    """Tell whether a wall's candidate waits for a decision."""
    captured = record.source == "auto" and record.tier == PRIVATE and record.meta.get("session")
    return bool(captured and record.meta.get("wall")) and "accepted" not in record.meta


def misused_calls(place: Place, rows: Sequence[Row]) -> list[Repeated]:
    """Return the walls of calls that were wrong in themselves.

    Another call worked in two sessions, or in the last one.
    """
    return [
        wall
        for wall in walls.repeated(place, rows)
        if wall.key.startswith("x|bash|")
        and practice.MISUSED.search(wall.telling)
        and not practice.is_placed(wall.telling)
        and _key_of(wall.ran) == _key_of(wall.worked)
        and (len(wall.mended) > 1 or wall.mended[0][0]["session"] == wall.met[0][0]["session"])
    ]


def _key_of(command: str) -> str:
    """Return the program and verb of a call."""
    judged = remedies.command_and_key(command, True)
    return judged[1] if judged else ""


def _body(wall: Repeated) -> str:
    """Return the text of a wall's learning."""
    told = [
        "- %s in place of %s (%s, %s)"
        % (code(one["then"]), code(one["ran"]), clock.day(one["at"]), one["where"])
        for _, one in wall.mended[:MOST_TOLD]
    ]
    return "%s failed in %s:\n\n    %s\n\nWhat then worked:\n\n%s\n" % (
        code(wall.ran),
        count(wall.sessions, "session"),
        wall.telling,
        "\n".join(told),
    )
