"""Walls that several sessions met become candidates: a failure, and what then worked.

The call was wrong in itself, and another one then worked in two sessions or in the later one. None
where a learning, also an archived one, tells of the same failure. Sessions that meet it later are
counted; where nothing on record tells it any more, the candidate goes, unless a person decided on
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory.capture.conversationpage import format_code
from memory.core import clock, records
from memory.core.layout import PRIVATE
from memory.core.plaintext import format_count
from memory.core.records import Record
from memory.hook import wallkeys
from memory.knowledge import practice, remedies, walls
from memory.knowledge.walls import RepeatedFailure, Row
from memory.store.store import Store

MOST_TOLD = 3  # remedies of a wall that are told
SHORT = 60  # characters of a call in a title


def update_candidates(store: Store, rows: Sequence[Row]) -> None:
    """Make, update and archive candidates, one for each repeated failure.

    rows: from `walls.update_walls`.
    """
    repeated = {wallkeys.hash_key(wall.key): wall for wall in _find_misused_calls(store, rows)}
    standing = list(store.each(("learning",)))
    for record in filter(_is_undecided, standing):
        wall = repeated.get(str(record.meta.get(records.HARVEST_KEY)))
        if wall is None:
            store.archive(record.name, "no record tells of that error any more")
        elif str(record.meta["wall"]) != str(wall.sessions):
            store.edit(record.name, {"wall": wall.sessions})
    known = [*standing, *store.archived("learning")] if repeated else []
    lines = {
        remedies.failure_key(line)
        for record in known
        for line in record.body.split("\n")
        if line.startswith("    ")
    }
    for key, wall in repeated.items():
        if remedies.failure_key(wall.telling) in lines:
            continue
        ids = dict.fromkeys(row["id"] for row, _ in wall.mended[:MOST_TOLD])
        store.add(
            "learning",
            wall.sentence(SHORT).rstrip("."),
            _format_body(wall),
            source="auto",
            session=wall.met[0][0]["session"],
            extra={
                "confidence": "low",
                "links": records.make_derived_links(ids),
                records.HARVEST_KEY: key,
                "wall": wall.sessions,
            },
        )


def _is_undecided(record: Record) -> bool:
    """Tell whether a record is a failure's candidate that waits for a person."""
    captured = record.source == "auto" and record.tier == PRIVATE and record.meta.get("session")
    return bool(captured and record.meta.get("wall")) and "accepted" not in record.meta


def _find_misused_calls(store: Store, rows: Sequence[Row]) -> list[RepeatedFailure]:
    """Return the repeated failures whose command was wrong, not its input.

    Another call worked in two sessions, or in the last one.
    """
    return [
        wall
        for wall in walls.find_repeated(store.place, rows)
        if wall.key.startswith("x|bash|")
        and practice.MISUSED.search(wall.telling)
        and wall.worked
        and _program_and_verb(wall.ran) == _program_and_verb(wall.worked)
        and (len(wall.mended) > 1 or wall.mended[0][0]["session"] == wall.met[0][0]["session"])
    ]


def _program_and_verb(command: str) -> str:
    judged = remedies.parse_command(command, True)
    return judged[1] if judged else ""


def _format_body(wall: RepeatedFailure) -> str:
    lines = [
        "%s failed in %s:" % (format_code(wall.ran), format_count(wall.sessions, "session")),
        "\n    %s\n\nWhat then worked:\n" % wall.telling,
    ]
    for _, failure in wall.mended[:MOST_TOLD]:
        calls = format_code(failure["then"]), format_code(failure["ran"])
        day = clock.day(failure["at"])
        lines.append("- %s in place of %s (%s, %s)" % (*calls, day, failure["where"]))
    return "\n".join(lines) + "\n"
