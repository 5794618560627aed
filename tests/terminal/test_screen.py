"""Text on a terminal: columns by display width, what is hidden written out."""

from __future__ import annotations

from memory.core import plaintext
from memory.terminal import screen


def test_hidden_characters_are_written_out_where_something_is_approved():
    """Who approves content sees what is in it."""
    assert plaintext.visible("a\u202eb\x1b\u200bc\n\td 버튼") == "a\\u{202e}b\\u{1b}\\u{200b}c\n\td 버튼"


def test_columns_are_aligned_by_display_width():
    """A wide character takes two columns, a combining one none."""
    lines = screen.table([["버튼", "x"], ["abcd", "y"], ["é", "z"]])
    assert [plaintext.width(line) for line in lines] == [7, 7, 7]
    assert plaintext.clip("버튼버튼", 5) == "버튼…"
