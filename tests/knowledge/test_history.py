"""Sessions read back, and who touched a file."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from harness import conversations, vault

from memory.core import UsageError, clock, layout
from memory.knowledge import history


@pytest.fixture
def week(place):
    """The place with the week of an invented project."""
    conversations.week(place)
    return place


def test_sessions_are_read_newest_first_turn_by_turn(week, now):
    found = conversations.sessions(week, now)
    assert [past.session for past in found] == ["four", "three", "two", "one"]
    three = found[1]
    assert three.ref(2) == "k-three#2" and three.at(2) == clock.parse("2026-11-18T09:30:00Z")
    assert [turn.request for turn in three.turns] == ["which issues are open?", "and the server?"]


def test_a_checkpoint_counts_where_its_session_has_no_conversation(week, now):
    """It is one turn, whose commands and files are what its lists say; a session is told once."""
    conversations.noted(week, "one", "2026-11-16", "## Commands\n\n- ✗ `make` → exit 2: no rule\n")
    conversations.noted(
        week,
        "zero",
        "2026-11-15",
        "## Done\n\n- edited `src/old.c`\n\n## Commands\n\n- ✓ `make old`\n",
        branch="old",
    )
    found = conversations.sessions(week, now)
    assert [past.id for past in found][-2:] == ["k-one", "c-zero"]
    last = found[-1]
    assert [(piece.kind, piece.text) for _, piece in last.steps() if piece.kind != "said"] == [
        ("file", "src/old.c"),
        ("run", "make old"),
    ]
    assert last.ref(1) == "c-zero" and last.branch == "old"


def test_a_summary_by_the_client_happened_before(place, now):
    """What it tells stands in the turns already."""
    conversations.held(
        place,
        "long",
        "2026-11-16",
        "## 09:00 go\n\n- ✓ `make`\n\n## 10:00 (summary by the client)\n\n- ✓ `make`\n",
    )
    assert [number for number, _ in conversations.sessions(place, now)[0].steps()] == [1]


def test_only_what_may_answer_is_taken_apart(week, now):
    assert [
        past.session
        for past in conversations.sessions(week, now, history.make_word_filter("Acme ISSUE"))
    ] == ["three"]


def test_private_parts_and_unreadable_files_are_left_out(place, now):
    conversations.held(
        place,
        "a",
        "2026-11-16",
        "## 09:00 go\n\n<private>\nthe word is swordfish\n</private>\n\nDone.\n",
    )
    vault.write(place, "p/conversations/2026-11-17/bad.md", b"---\nid: k-bad\n---\n\xff\xfe\x00")
    found = conversations.sessions(place, now)
    assert [past.id for past in found] == ["k-a"] and "swordfish" not in repr(found)


def test_other_workspaces_are_read_when_asked_for(week, now):
    other = layout.Place(week.home, "other-0123abcd", "", "", "", "")
    conversations.held(other, "far", "2026-11-20", "## 09:00 go\n\nDone.\n")
    assert len(conversations.sessions(week, now)) == 4
    assert [
        (past.session, past.workspace)
        for past in conversations.sessions(week, now, workspace="all")
    ][:2] == [("far", "other-0123abcd"), ("four", "")]
    with pytest.raises(UsageError, match="no workspace 'nowhere'"):
        conversations.sessions(week, now, workspace="nowhere")


def test_of_a_large_store_the_newest_are_read_and_it_is_said(place, now, monkeypatch):
    monkeypatch.setattr(history, "MOST", 3)
    for day in range(10, 19):
        conversations.held(place, "s%d" % day, "2026-11-%d" % day, "## 09:00 go on\n\nDone.\n")
    found = history.read_sessions(place, vault.settings(), lambda body: True, now)
    assert [past.session for past in found.sessions] == ["s18", "s17", "s16"]
    assert "only the newest 3 " in found.notes[0]


def test_blame_names_who_touched_a_file_then_who_spoke_of_it(week, now):
    conversations.noted(
        week,
        "two",
        "2026-11-17",
        "## Decisions\n\n- the plan was approved: a ring in `src/cache.c`\n- another matter\n",
    )
    found = history.blame(conversations.sessions(week, now), "src/cache.c")
    assert [(touch.past.session, touch.how) for touch in found] == [
        ("two", "created"),
        ("four", "discussed"),
    ]
    assert found[0].requests == (("k-two#1", "add a cache"),)
    assert found[0].decisions == (("c-two", "the plan was approved: a ring in `src/cache.c`"),)


def test_blame_takes_the_end_of_a_path_and_a_whole_one(week, now):
    past = conversations.sessions(week, now)
    for path in ("server.c", "src/server.c", "./src/server.c", "/home/dev/app/src/server.c"):
        assert [(touch.past.session, touch.commits) for touch in history.blame(past, path)] == [
            ("one", ("1a2b3c4 Look at what fclose returns",))
        ], path
    assert not history.blame(past, "rver.c") and not history.blame(past, "lib/server.c")


def test_a_name_that_several_files_bear_is_looked_for_with_its_folder(place, now):
    conversations.held(
        place, "a", "2026-11-16", "## 09:00 go\n\n- edited `a/main.c`\n\nI changed main.c.\n"
    )
    conversations.held(
        place,
        "b",
        "2026-11-17",
        "## 09:00 go\n\n- edited `b/main.c`\n\nI changed b/main.c because it was slow.\n",
    )
    conversations.held(place, "c", "2026-11-18", "## 09:00 go\n\nLook at main.c again.\n")
    assert [
        touch.past.session
        for touch in history.blame(conversations.sessions(place, now), "b/main.c")
    ] == ["b"]


@pytest.mark.parametrize(("kept", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_file_is_known_in_either_form_of_its_letters(kept, asked, place, now):
    """macOS gives file names in NFD; what was only spoken of counts too."""
    name = normalize(kept, "größe.py")
    conversations.held(place, "a", "2026-11-16", "## 09:00 go\n\n- edited `src/%s`\n" % name)
    conversations.held(place, "b", "2026-11-17", "## 09:00 go\n\nLook at %s again.\n" % name)
    past = conversations.sessions(place, now)
    found = history.blame(past, normalize(asked, "Größe.py"))
    assert [touch.past.session for touch in found] == ["a", "b"]
    assert history.make_word_filter(normalize(asked, "größe"))(name)


def test_a_folder_is_known_by_the_files_below_it(place, now):
    """Its bare name is a word like any other, and does not count in prose."""
    conversations.held(place, "a", "2026-11-16", "## 09:00 go\n\n- edited `docs/design/ring.md`\n")
    conversations.held(place, "b", "2026-11-17", "## 09:00 go\n\nThe design is sound.\n")
    assert [
        touch.past.session
        for touch in history.blame(conversations.sessions(place, now), "docs/design")
    ] == ["a"]
