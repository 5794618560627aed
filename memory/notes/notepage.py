"""The page of a note as markdown, which a person may edit:

    The summary in a few sentences.

    ## Decisions

    - Keep the queue in SQLite (user)
      why: the reason that was given
      > we keep sqlite (#12)

The headings are those of schema.PARTS.  A quote stands below its item, with the number of its turn.
An item without one, or of another heading, is a person's own.
"""

from __future__ import annotations

from memory.notes.schema import PARTS, Item, Note

WHY, QUOTED = "  why: ", "  > "


def render(note: Note) -> str:
    """Render a note as markdown, without its title."""
    blocks = [note.summary] if note.summary else []
    for part, (heading, _) in PARTS.items():
        listed = note.items_of(part)
        if listed:
            blocks += ["## " + heading, "\n".join(map(_render_item, listed))]
    return "\n\n".join(blocks) + "\n"


def _render_item(item: Item) -> str:
    lines = ["- %s%s" % (item.text, " (%s)" % item.mark if item.mark else "")]
    if item.why:
        lines.append(WHY + item.why)
    if item.quote:
        lines.append(QUOTED + item.quote + (" (#%d)" % item.number if item.number else ""))
    return "\n".join(lines)
