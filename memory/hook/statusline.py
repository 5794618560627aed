"""The host's status line: one line of counts."""

from __future__ import annotations

from memory.core import IndexFault, boundary, layout
from memory.hook import announcements, indexview, receipts, signs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Tuple

    from memory.core.layout import Place

    Event = Dict[str, Any]


def _holds_records(place: Place) -> bool:
    """Tell whether a workspace's files or repository hold any record."""
    from memory.core.walk import walk

    found, _ = walk(place, most=1)
    return bool(found) and found[0][0][:1] != layout.GLOBAL


def on_statusline(event: Event, env: Dict[str, str], now: float) -> Tuple[str, bool]:
    """Answer the host's status line with a line of counts.

    The notes, those given to this session, waiting and stale.
    event: the host's JSON (`session_id`, `workspace.project_dir`, `cwd`).
    """
    workspace = event.get("workspace")
    folder = workspace.get("project_dir") if isinstance(workspace, dict) else ""
    place = layout.locate(
        env,
        folder
        if isinstance(folder, str) and folder[:1] == "/"
        else boundary.project_dir(event, env),
    )
    try:
        found = indexview.open_index(place, watch=False)
    except IndexFault:
        return "dayleaf: no %s yet" % ("index" if _holds_records(place) else "records"), False
    session = layout.safe_id(event.get("session_id"))
    given = len(receipts.session(place.receipts(session)).shown) if session else 0
    counts = (
        (given, "given"),
        (signs.waiting(found), "waiting"),
        (len(indexview.marks(place)), "stale"),
    )
    found.close()
    parts = [
        announcements.many(found.records, "record"),
        *("%d %s" % row for row in counts if row[0]),
    ]
    return "dayleaf: " + ", ".join(parts), False
