"""The page of a note, markdown that a person may edit:

    The summary in a few sentences.

    ## Decisions

    - Keep the queue in SQLite (user)
      why: the reason that was given
      > we keep sqlite (#12)

The headings are those of schema.PARTS.  A quote stands below its item, with the number of its turn.  An
item without one, or of another heading, is a person's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from memory.notes.schema import MARKS, PARTS, Item, Note

WHY, QUOTED = "  why: ", "  > "
_PART_OF = {heading: part for part, (heading, _) in PARTS.items()}


def render(note: Note) -> str:
    """Write a note as markdown, without its title."""
    blocks = [note.summary] if note.summary else []
    for part, (heading, _) in PARTS.items():
        listed = note.of(part)
        if listed:
            blocks += ["## " + heading, "\n".join(map(_item, listed))]
    return "\n\n".join(blocks) + "\n"


def _item(item: Item) -> str:
    lines = ["- %s%s" % (item.text, " (%s)" % item.mark if item.mark else "")]
    if item.why:
        lines.append(WHY + item.why)
    if item.quote:
        lines.append(QUOTED + item.quote + (" (#%d)" % item.number if item.number else ""))
    return "\n".join(lines)


def parse(body: str, title: str = "") -> Note:
    """Read the page of a note, edited by hand or not; what stands under other headings is left out."""
    summary: list[str] = []
    items: list[Item] = []
    for part, lines in _sections(body):
        if part == "":
            summary += [line.strip() for line in lines if line.strip()]
        elif part is not None:
            items += _listed(part, lines)
    return Note(title, " ".join(summary), tuple(items))


def _sections(body: str) -> Iterator[tuple[str | None, list[str]]]:
    """Yield (part, lines) of each section: "" above the first heading, None under an unknown one."""
    part: str | None = ""
    lines: list[str] = []
    for line in body.split("\n"):
        if line.startswith("## "):
            yield part, lines
            part, lines = _PART_OF.get(line[3:].strip()), []
        else:
            lines.append(line)
    yield part, lines


def _listed(part: str, lines: list[str]) -> list[Item]:
    found: list[Item] = []
    for line in lines:
        if line.startswith(("- ", "* ")):
            text, mark = _marked(line[2:].strip())
            found.append(Item(part, text, mark=mark))
        elif found and line.startswith(WHY):
            found[-1] = found[-1]._replace(why=line[len(WHY) :].strip())
        elif found and line.startswith(QUOTED):
            quote, number = _numbered(line[len(QUOTED) :].strip())
            found[-1] = found[-1]._replace(quote=quote, number=number)
        elif found and line.startswith("  ") and line.strip():
            found[-1] = found[-1]._replace(text="%s %s" % (found[-1].text, line.strip()))
    return found


def _marked(text: str) -> tuple[str, str]:
    """Split the mark off the end of an item's text."""
    head, _, tail = text.rpartition(" (")
    mark = tail[:-1] if tail.endswith(")") else ""
    return (head, mark) if head and mark in MARKS else (text, "")


def _numbered(quote: str) -> tuple[str, int]:
    """Split the number of its turn off the end of a quote."""
    head, _, tail = quote.rpartition(" (#")
    number = tail[:-1] if tail.endswith(")") else ""
    return (head, int(number)) if head and number.isascii() and number.isdigit() else (quote, 0)
