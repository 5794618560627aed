"""Plain text: no line that dayleaf makes of another's text moves a cursor, writes a clipboard or
reorders itself.
"""

from __future__ import annotations

import re

import pytest

from memory.capture import conversationpage
from memory.core import plaintext
from memory.health import recordfaults
from memory.hook import fence
from memory.store import secretshapes, writer

C1 = "".join(map(chr, range(0x80, 0xA0)))
HOSTILE = {
    "colour": "a\x1b[31mb\x1b[0m",
    "title": "a\x1b]0;owned\x07b",
    "clipboard": "a\x1b]52;c;ZXZpbA==\x1b\\b",
    "half": "a b\x1b[",
    "device": "a\x1bPq#0\x1b\\b",
    "C1": "a" + C1 + "b",
    "C1 colour": "a\x9b31mb",
    "bare": "ab\x1b",
    "bell": "a\x07\x08\x7fb",
    "bidi": "a\u202eb\u202c\u2066c\u2069\u200f\u061c",
    "tag": "a\U000e0041b",
    "line ends": "a\r\nb\rc\x0bd\u2028e\x85f",
    "code": "`\x1b[2J` a `\u202eb`",
}
MAKERS = {
    "one line": plaintext.one_line,
    "screen": plaintext.one_line,
    "title": writer.title_line,
    "command": conversationpage.format_code,
    "clipped": lambda text: plaintext.one_line(text, 12),
    "terminal": lambda text: plaintext.strip_hidden(text).replace("\n", " ").replace("\t", " "),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_no_control_or_escape_gets_into_a_line(make, text):
    """ESC, C0, C1, DEL, bidirectional and tag characters are gone, whoever makes the line."""
    made = make(text)
    assert [c for c in made if not c.isprintable()] == [] and made.strip()


@pytest.mark.parametrize(
    "code", [0xAD, 0x34F, 0x115F, 0x3164, 0xFFA0, 0x200B, 0x2060, 0x17B4, 0x1BCA0, 0xE0041]
)
def test_what_nobody_sees_is_told_alike_everywhere(code):
    """A line, what the model gets, what is to be approved and the check of a record agree."""
    text = "a" + chr(code) + "b"
    assert plaintext.strip_hidden(text) == plaintext.one_line(text) == fence.clean(text) == "ab"
    assert plaintext.escape_invisible(text) == "a\\u{%x}b" % code
    assert [row[2] for row in recordfaults._check_hidden(text)] == [
        "a hidden character, U+%04X" % code
    ]
    assert re.search(secretshapes.INVISIBLE, text)


def test_a_sequence_goes_as_a_whole():
    assert (
        plaintext.one_line("\x1b[1mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x9b2Jend")
        == "red link end"
    )


def test_a_line_that_ends_in_the_middle_becomes_a_blank():
    assert plaintext.one_line(" a\r\n\tb\u2028c\x85d\r") == "a b c d"


@pytest.mark.parametrize(
    "text",
    [
        "버튼을 누르면",
        "Größe — “quoted” 👩\u200d👩\u200d👧",
        "می\u200cخواهم",
        "⚠\ufe0f 葛\U000e0100",
        "a\xa0b",
    ],
)
def test_letters_of_every_script_stay(text):
    assert plaintext.strip_hidden(text) == text and plaintext.one_line(text) == text.replace(
        "\xa0", " "
    )


def test_a_cap_cuts_with_an_ellipsis():
    assert plaintext.one_line("word " * 5, 12) == "word word w…"
    assert (
        plaintext.one_line("word " * 5, 11) == "word word…"
        and plaintext.one_line("word", 4) == "word"
    )


@pytest.mark.parametrize(
    ("most", "cut"),
    [
        (25, "The queue waits for…"),
        (44, "The queue waits for `hand over()`, and a…"),
    ],
)
def test_no_cut_falls_into_code(most, cut):
    """Code that would be cut is left out as a whole."""
    line = "The queue waits for `hand over()`, and a worker (`the last one`) takes it."
    assert plaintext.clip_at_word(line, most) == cut
    assert plaintext.clip_at_word(line, 55) == "The queue waits for `hand over()`, and a worker…"


def test_code_that_fills_a_line_is_closed():
    line = plaintext.clip_at_word("Run `make " + "x" * 40 + "` now.", 30)
    assert line.startswith("Run `make xxx") and line.endswith("…`") and len(line) <= 30


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("**Fixed** the `**kwargs` and `__init__` of `a**b`", None),
        ("**`**kwargs` is gone**: done", "`**kwargs` is gone: done"),
        ("2**3 is 8, **kwargs stay", "2**3 is 8, **kwargs stay"),
        ("**one** and **two**", "one and two"),
        ("이것은 **굵게**는", "이것은 굵게는"),
    ],
)
def test_marks_of_bold_go_and_code_stays(line, bare):
    assert plaintext.strip_bold(line) == (bare or line.replace("**Fixed**", "Fixed"))


def test_no_sentence_ends_in_code():
    assert plaintext.split_sentences("Call `a? b. c` now. Then stop.") == [
        "Call `a? b. c` now.",
        "Then stop.",
    ]


def test_a_line_is_cut_at_the_ends_of_its_sentences():
    """In scripts without spaces as well; not within a name."""
    assert plaintext.split_sentences("One is `a.b`. Two! Three? 네。はい。") == [
        "One is `a.b`.",
        "Two!",
        "Three?",
        "네。",
        "はい。",
    ]
