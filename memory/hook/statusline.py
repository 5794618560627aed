"""Answer the host's status line with one line of counts."""

from __future__ import annotations

from memory.core import IndexFault, boundary, layout
from memory.hook import announcements, indexview, receipts, signs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memory.core.layout import Place

    Event = dict[str, Any]


def _holds_records(place: Place) -> bool:
    """Tell whether a place has any record of its own."""
    from memory.core.walk import walk

    found, _ = walk(place, most=1)
    return bool(found) and found[0][0][:1] != layout.GLOBAL


def on_statusline(event: Event, env: dict[str, str], now: float) -> tuple[str, bool]:
    """Return a line of counts: all records, given, waiting, stale.

    event: the host's JSON (`session_id`, `workspace.project_dir`, `cwd`).
    """
    workspace = event.get("workspace")
    folder = workspace.get("project_dir") if isinstance(workspace, dict) else ""
    if not isinstance(folder, str) or folder[:1] != "/":
        folder = boundary.project_dir(event, env)
    place = layout.locate(env, folder)
    try:
        index = indexview.open_index(place, watch=False)
    except IndexFault:
        return "dayleaf: no %s yet" % ("index" if _holds_records(place) else "records"), False
    session = layout.valid_id(event.get("session_id"))
    shown = receipts.read_session(place.receipts(session)).shown if session else ()
    given = len({key.partition("#")[0] for key in shown})
    waiting, stale = signs.count_waiting(index), len(indexview.read_stale_marks(place))
    index.close()
    parts = [announcements.format_count(index.records, "record")]
    for count, what in ((given, "given"), (waiting, "waiting"), (stale, "stale")):
        if count:
            parts.append("%d %s" % (count, what))
    return "dayleaf: " + ", ".join(parts), False
