"""Answer the end of a turn or a session.

The user hears once which standing wishes were noted in a turn.  A session whose pushes are off and
that ends by a clear leaves a mark for the session that follows.
"""

from __future__ import annotations

from memory.core import boundary, files, layout
from memory.hook import receipts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memory.core.layout import Place

    Event = dict[str, Any]


def notices_path(place: Place, session: str) -> str:
    """Return the path of a session's notices not yet shown."""
    return "%s/sessions/%s.noted" % (place.cache, session)


def off_mark_path(place: Place) -> str:
    """Return the path of the mark that a silenced session leaves at a clear."""
    return place.cache + "/cleared.off"


def on_session_end(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Leave a mark if a silenced session ends by a clear; answer nothing.

    It cannot wait for the detached child: the next session starts at once.
    """
    session = layout.valid_id(event.get("session_id"))
    if session and event.get("reason") == "clear":
        place = layout.locate(env, boundary.project_dir(event, env))
        if receipts.read_session(place.receipts(session)).off:
            files.replace(off_mark_path(place), b"", synced=False)
    return None, True


def on_stop(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Answer Stop with a line about the wishes just noted."""
    session = layout.valid_id(event.get("session_id"))
    if not session:
        return None, True
    place = layout.locate(env, boundary.project_dir(event, env))
    try:
        lines = files.read(notices_path(place, session), 4096).decode("utf-8", "replace").strip()
    except OSError:
        return None, True
    event[boundary.HEARD] = True
    return {"systemMessage": "dayleaf: " + lines.replace("\n", "\ndayleaf: ")}, True
