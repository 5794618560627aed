"""The timeline: what a filter lets pass, and where a part of it begins."""

from __future__ import annotations

import pytest
from harness import conversations, page, vault

from memory.core import UsageError, clock
from memory.doors.page import sheets
from memory.doors.page.timeline import Filter, list_branches

NOW = 1795271452.0  # 2026-11-21T14:30:52Z
DAY = "2026-11-20T09:00:00Z"


@pytest.fixture
def own(tmp_path):
    return page.Book(page.stored(str(tmp_path / "h"), str(tmp_path / "p"), NOW), NOW)


def ids(sheet) -> list[str]:
    return [one["id"] for each in sheet.values["days"].values() for one in each]


def test_the_timeline_is_filtered_by_kind_branch_author_words_and_date(own):
    """Each alone, and together; words are found in a conversation's text too."""
    vault.put(
        own.place, "s/learnings/theirs.md", "Theirs", "x", id="l-theirs", author="sam", created=DAY
    )
    own.now += 9

    def shown(**wanted):
        return ids(own.pages.timeline(Filter(**wanted)))

    assert shown() == ["four", "three", "two", "one"]
    assert shown(branch="cache") == ["two"]
    assert shown(words="hundred answers") == ["four"] and shown(words="okapi") == []
    assert shown(since="2026-11-17", until="2026-11-18") == ["three", "two"]
    assert shown(branch="main", until="2026-11-16") == ["one"]
    assert "l-zebra" in shown(kind="learning") and "r-check" in shown(kind="rule")
    assert shown(kind="learning", author="sam") == ["l-theirs"]
    assert {"four", "l-zebra"} <= set(shown(kind="all"))
    assert '<span class="tag pending">rule, waits</span>' in own.html("timeline", Filter("rule"))
    with pytest.raises(UsageError, match="'zebra' is not a day"):
        shown(since="zebra")


def test_a_handoff_changes_neither_time_nor_branch_of_its_session(own):
    """It may be written long after, on the branch of another day; alone it is an entry."""
    key = {"trigger": "handoff", "branch": "else", "created": "2026-11-21T13:00:00Z"}
    for session in ("one", "alone"):
        conversations.noted(
            own.place, session, "2026-11-21", "Go on.", id="c-" + session * 2, **key
        )
    own.now += 9
    sheet = own.pages.timeline()
    assert ids(sheet) == ["alone", "four", "three", "two", "one"]
    (row,) = sheet.values["days"]["2026-11-16"]
    assert own.pages.session("one").values["what"].items() <= row.items()
    assert row["began"] == row["at"] == clock.parse("2026-11-16T09:00:00Z")
    assert [branch.sessions for branch in list_branches(own.pages.catalogue)][:2] == [1, 3]


def test_the_timeline_goes_on_where_it_ended(own, monkeypatch):
    """A part of it names the entry behind which the next one begins, though all are of one
    instant; the filter goes along.
    """
    monkeypatch.setattr("memory.doors.page.pages.PAGE_SIZE", 2)
    for name in "vwxyz":
        conversations.noted(own.place, name, "2026-11-20", page.OUTCOME, branch="same")
    own.now += 9
    seen, after = [], ""
    while True:
        sheet = own.pages.timeline(Filter(branch="same"), after)
        seen.append(ids(sheet))
        after = sheet.values["part_of"].older
        if not after:
            break
        assert "branch=same&amp;after=" in sheets.render_sheet(sheet, "/x")
    assert seen == [["v", "w"], ["x", "y"], ["z"]]
    with pytest.raises(UsageError, match="not a place in the timeline"):
        own.pages.timeline(after="zebra")
