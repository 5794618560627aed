"""The page of a note: written, read back, edited by hand."""

from __future__ import annotations

from memory.notes import notepage
from memory.notes.schema import DECISIONS, LESSONS, NEXT, Item, Note

NOTE = Note("T", "What came of it.", (
    Item(NEXT, "Run it (twice)", "run it", number=3),
    Item(DECISIONS, "Keep `a.py`", "keep it (#4) here", number=12, why="it is small", mark="user"),
    Item(LESSONS, "When X, do W", "x happened", number=2, mark="pitfall")))


def test_what_is_written_is_read_back():
    assert notepage.parse(notepage.render(NOTE), "T") == NOTE


def test_a_person_may_write_it_otherwise():
    """Without quotes, over several lines, under headings of their own."""
    note = notepage.parse("My summary\nin two lines.\n\n## Next\n\n* one\n  goes on\n- two\n\n## Mine\n\n- not read\n")
    assert note.summary == "My summary in two lines." and [item.text for item in note.items] == ["one goes on", "two"]
