"""A conversation as people read one."""

from __future__ import annotations

import re

import pytest
from harness import conversations, page

from memory.doors.page import talk
from memory.doors.page.timeline import Filter
from memory.store.store import Store

NOW = 1795271452.0  # 2026-11-21T14:30:52Z


@pytest.fixture
def own(tmp_path):
    return page.Book(page.stored(str(tmp_path / "h"), str(tmp_path / "p"), NOW), NOW)


def exchanges(own, body: str) -> list[talk.Exchange]:
    conversations.held(own.place, "own", "2026-11-20", body)
    store = Store(own.place, own.pages.settings, NOW)
    return talk.list_exchanges(store.read("p/conversations/2026-11-20/090000-own.md"))


def test_what_was_said_stands_between_what_was_done(own):
    """Calls in a row are one part with their sum; what the user said meanwhile is the user's."""
    (one,) = exchanges(
        own,
        "## 09:00 mend it\n\n> mend it\n> please\n\nI look.\n\n- ✗ `make` → exit 1: no\n"
        "- ✓ Read `a.c` (×3)\n- edited `a.c`\n- commit 1a2b3c4: Mend it\n\n"
        "> (while working) and b.c\n\n- pull request https://e.org/1\n\nDone.\n",
    )
    assert (one.number, one.request, one.note) == (1, "mend it\nplease", "")
    assert [(part.who, part.text) for part in one.parts] == [
        ("model", "I look."),
        ("steps", "4 calls, 1 failed · 1 file · 1 commit"),
        ("you", "and b.c"),
        ("steps", "1 pull request"),
        ("model", "Done."),
    ]
    steps = one.parts[1].steps
    assert one.parts[1].failed and [step.mark for step in steps] == ["✗", "✓", "·", "●"]
    assert steps[0].more == "exit 1: no" and steps[1].more == "×3"


def test_a_summary_and_what_was_taken_back_are_told_apart(own):
    """Their text is kept, whoever wrote it; a page without any turn is none."""
    found = exchanges(
        own,
        "## 09:00 (summary by the client)\n\nSummed up.\n\n## 09:10 (taken back) drop it\n\nNo."
        "\n\n## 09:20 (goes on) mend\n\nOn.\n",
    )
    assert [(one.note, one.rest) for one in found] == [
        ("summary by the client", "Summed up."),
        ("taken back", "No."),
        ("goes on", ""),
    ]
    assert exchanges(own, "Only prose.\n") == []


def test_a_turn_that_says_markup_says_it_as_text(own):
    """What was asked and what ran are no markdown, and nothing of them becomes an element."""
    conversations.held(
        own.place,
        "evil",
        "2026-11-20",
        "## 09:00 <img src=x onerror=alert(1)>\n\n> <script>alert(2)</script>\n\n"
        "- ✗ `<u>x</u>` → exit 1: <i>no</i>\n- ✓ `ls`\n\n<iframe src=//evil.example>\n",
        branch="<svg/onload=alert(3)>",
        title="'<script>alert(4)</script> `<u>`'",
    )
    own.now += 9
    for said in (
        own.html("session", "evil"),
        own.html("timeline"),
        own.html("record", "k-evil"),
        own.html("timeline", Filter(kind="session", words='"><script>alert(5)</script>')),
        own.html("knowledge", "learning", '"><script>alert(5)</script>'),
    ):
        assert not re.search(r"<(script(?! src=\")|iframe|u|i|img(?! src=\"/x))[ >/]", said)
        assert "<svg/" not in said
