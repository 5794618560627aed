"""The end of a turn: what was noted in it as a standing wish is said to the user, once."""

from __future__ import annotations

from memory.core import boundary, files, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Tuple

    from memory.core.layout import Place

    Event = Dict[str, Any]


def noted_path(place: Place, session: str) -> str:
    """Return the path of a session's notices not yet shown."""
    return "%s/sessions/%s.noted" % (place.cache, session)


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
