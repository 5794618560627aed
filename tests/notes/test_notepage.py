"""The page of a note: sections in their order, each item with its reason and its proof."""

from __future__ import annotations

from memory.notes import notepage
from memory.notes.schema import DECISIONS, LESSONS, NEXT, Item, Note


def test_every_item_stands_with_its_reason_and_the_quote_of_its_turn():
    note = Note(
        "T",
        "What came of it.",
        (
            Item(LESSONS, "When X, do W", "x happened", number=2, mark="pitfall"),
            Item(DECISIONS, "Keep `a.py`", "keep it", number=12, why="it is small", mark="user"),
            Item(NEXT, "Run it (twice)"),
        ),
    )
    assert notepage.render(note) == (
        "What came of it.\n\n## Next\n\n- Run it (twice)\n\n"
        "## Decisions\n\n- Keep `a.py` (user)\n  why: it is small\n  > keep it (#12)\n\n"
        "## Lessons\n\n- When X, do W (pitfall)\n  > x happened (#2)\n"
    )


def test_a_note_without_items_is_its_summary():
    assert notepage.render(Note("T", "Nothing else.", ())) == "Nothing else.\n"
