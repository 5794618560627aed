"""Walls that several sessions met become candidates: a failure, and what then worked.

A wall becomes one once two sessions met it: a call that was wrong in itself, and the other call
that then worked in both or in the later one.  None where a learning, also an archived one, tells of
the same failure.  Sessions that meet it later are counted; where nothing on record tells it any
more, the candidate goes, unless a person decided on it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.capture.conversationpage import code
from memory.core import clock, config, files, records
from memory.core.layout import PRIVATE, Place
from memory.core.plaintext import at_word, count
from memory.core.records import Record
from memory.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memory.knowledge.walls import Row

LEAST = 2  # sessions that met a wall
MOST_TOLD = 3  # sessions of a wall that are told
LINE = 50  # characters of a telling line in a title
TITLE = 120  # characters
WIDTHS = (90, 60, 45)  # characters of a call in a title: as many as fit


class Taught(NamedTuple):
    """A wall written as a learning.

    key: 16 hex digits that identify it. telling: its newest line. sessions: those that met it, the
        newest last. ids, names: of its source records.
    """

    key: str
    title: str
    body: str
    telling: str
    sessions: tuple[str, ...]
    ids: tuple[str, ...]
    names: tuple[str, ...]


def settle_walls(
    place: Place,
    settings: config.Config,
    now: float,
    rows: Sequence[Row],
    on_change: Callable[[str], None] | None = None,
) -> int:
    """Make and update candidate learnings from walls.

    Returns the number of records written.  rows: from `walls.cached_failures`.  Raises OSError or
    StoreError.
    """
    from memory.knowledge import remedies

    taught = {wall.key: wall for wall in walls_of(rows)}
    store = Store(place, settings, now, on_change)
    standing = list(store.each(("learning",)))
    held = {
        str(record.meta.get(records.MADE_OF)): record
        for record in standing
        if record.meta.get("wall")
    }
    for key, record in held.items():
        if not _is_captured(record) or "accepted" in record.meta:
            continue
        if key not in taught:
            store.archive(record.name, "no record tells of that error any more")
        elif str(record.meta["wall"]) != str(len(taught[key].sessions)):
            store.edit(record.name, {"wall": len(taught[key].sessions)})
    new = [wall for key, wall in taught.items() if key not in held]
    known = [*standing, *store.archived("learning")] if new else []
    keys = {str(record.meta.get(records.MADE_OF)) for record in known}
    lines = {
        remedies.key_of(line)
        for record in known
        for line in record.body.split("\n")
        if line.startswith("    ")
    }
    new = [
        wall
        for wall in new
        if wall.key not in keys
        and remedies.key_of(wall.telling) not in lines
        and all(files.exists(place.path(name)) for name in wall.names)
    ]
    for wall in new:
        store.add(
            "learning",
            wall.title,
            wall.body,
            source="auto",
            session=wall.sessions[-1],
            extra={
                "confidence": "low",
                "links": records.derived_links(wall.ids),
                records.MADE_OF: wall.key,
                "wall": len(wall.sessions),
            },
        )
    return len(new)


def _is_captured(record: Record) -> bool:
    """Tell whether a session's capture wrote a record."""
    return record.source == "auto" and record.tier == PRIVATE and bool(record.meta.get("session"))


def walls_of(rows: Iterable[Row]) -> Iterator[Taught]:
    """Yield the learnings to make of all records' walls: misused calls.

    Each with a call that worked afterwards.
    """
    from memory.knowledge import practice, walls

    told: set[int] = set()
    groups = walls.grouped(rows)
    for key, pairs in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        wrong = [
            (row, one)
            for row, one in pairs
            if key.startswith("x|bash|")
            and id(one) not in told
            and practice.MISUSED.search(one["telling"])
            and not practice.is_placed(one["telling"])
        ]
        last = _by_session(wrong)
        mended = _by_session((row, one) for row, one in wrong if _is_another(one))
        if len(last) < LEAST or not (len(mended) >= LEAST or list(last)[-1] in mended):
            continue
        told.update(id(one) for _, one in wrong)
        yield _learning_of_wall(key, last, list(mended.values())[: -1 - MOST_TOLD : -1])


def _by_session(pairs: Iterable[tuple[Row, Row]]) -> dict[str, tuple[Row, Row]]:
    """Return the last (record, event) of each session, sessions in order."""
    return {
        row["session"]: (row, one)
        for row, one in sorted(pairs, key=lambda pair: float(pair[1]["at"]))
    }


def _failure_title(failure: Row) -> str:
    """Return the title of a failure with the call that works."""
    fails, works = (
        ["%s %s" % (code(at_word(failure[name], most)), said) for most in WIDTHS]
        for name, said in (
            ("ran", "fails (%s)" % at_word(_bare(failure["telling"]), LINE)),
            ("then", "works"),
        )
    )
    return next(
        (title for title in map("; ".join, zip(fails, works)) if len(title) <= TITLE),
        fails[1] + "; another call works",
    )


def _is_another(failure: Row) -> bool:
    """Tell whether a later call differs in the failed call's fault."""
    from memory.knowledge import remedies, walls

    judged, worked = (
        remedies.command_and_key(failure[name], name == "ran") for name in ("ran", "then")
    )
    if judged is None or worked is None or worked[1] != judged[1]:
        return False
    ran, then, said = (
        {word.strip("\"'`,.;:!?()[]{}<>…") for word in text.split()}
        for text in (failure["ran"], failure["then"], failure["telling"])
    )
    wrong = {word for word in ran & said if len(word) > 2}.difference(judged[1].split())
    if wrong:  # its own words say what: `--flag` is unknown, a folder is not there
        return not wrong & then and walls.masked(failure["ran"]) != walls.masked(failure["then"])
    return walls.shape(*judged) != walls.shape(failure["then"], judged[1])


def _bare(telling: str) -> str:
    """Return a telling line without its place and rule."""
    from memory.knowledge import remedies

    return re.sub(r"(?<!\s)\s*\([a-z][\w-]+\)\Z", "", remedies.PLACE.sub("", telling)).rstrip(".")


def _when(told: Row) -> str:
    return "%s, %s" % (clock.day(told["at"]), told["where"])


def _learning_of_wall(
    key: str, last: dict[str, tuple[Row, Row]], chosen: Sequence[tuple[Row, Row]]
) -> Taught:
    """Return a wall as a learning.

    last: its last failure by session, the newest last. chosen: those that tell what worked, the
    newest first.
    """
    from memory.hook import at_failure

    newest = chosen[0][1]
    title = _failure_title(newest)
    body = [
        title.rstrip(".") + ".",
        "",
        "%s failed in %s:" % (code(newest["ran"]), count(len(last), "session")),
        "",
        "    " + newest["telling"],
        "",
        "What then worked:",
        "",
        *(
            "- %s in place of %s (%s)" % (code(one["then"]), code(one["ran"]), _when(one))
            for _, one in chosen
        ),
        "",
        "Seen by dayleaf: %s."
        % "; ".join(_when(one) for _, one in list(last.values())[: -1 - MOST_TOLD : -1]),
    ]
    return Taught(
        at_failure.hash_of(key),
        at_word(title, TITLE),
        "\n".join(body) + "\n",
        newest["telling"],
        tuple(last),
        *(tuple(dict.fromkeys(row[key] for row, _ in chosen)) for key in ("id", "name")),
    )
