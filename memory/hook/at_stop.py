"""The end of a turn or a session.

What was noted in a turn as a standing wish is said to the user, once.  A session whose pushes are
off and that ends by a clear leaves a mark for the one that follows.
"""

from __future__ import annotations

from memory.core import boundary, files, layout
from memory.hook import receipts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Tuple

    from memory.core.layout import Place

    Event = Dict[str, Any]


def noted_path(place: Place, session: str) -> str:
    """Return the path of a session's notices not yet shown."""
    return "%s/sessions/%s.noted" % (place.cache, session)


def off_mark(place: Place) -> str:
    """Return the path of the mark of a cleared session whose pushes are off."""
    return place.cache + "/cleared.off"


def on_session_end(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer SessionEnd with nothing, and mark a clear where pushes are off.

    It cannot wait for the detached child: the next session starts at once.
    """
    session = layout.safe_id(event.get("session_id"))
    if session and event.get("reason") == "clear":
        place = layout.locate(env, boundary.project_dir(event, env))
        if receipts.session(place.receipts(session)).off:
            files.replace(off_mark(place), b"", synced=False)
    return None, True


def on_stop(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer Stop with a line about the wishes just noted.

    The detached child captures in any case.
    """
    session = layout.safe_id(event.get("session_id"))
    if not session:
        return None, True
    place = layout.locate(env, boundary.project_dir(event, env))
    try:
        lines = files.read(noted_path(place, session), 4096).decode("utf-8", "replace").strip()
    except OSError:
        return None, True
    event[boundary.HEARD] = True
    return {"systemMessage": "dayleaf: " + lines.replace("\n", "\ndayleaf: ")}, True
