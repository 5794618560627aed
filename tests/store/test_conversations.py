"""Conversations as records: what a person changed is known from what dayleaf wrote, and what was
forgotten stays forgotten.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from harness import talks
from harness.vault import put, write

from memory.core import layout
from memory.store import archive, conversations, writer


def test_a_text_as_dayleaf_wrote_it_is_told_from_one_that_a_person_changed(store, place):
    """Keys and blank space around the text are no change of it; a word is, and so is a file without
    the mark.
    """
    record = store.add("conversation", "Resume", talks.RESUME, source="auto", session=talks.SESSION)
    path = Path(place.path(record.name))
    whole = path.read_bytes()
    assert record.meta["written"] == writer.body_checksum(
        talks.RESUME
    ) and not conversations.is_edited_file(whole)
    store.edit(record.name, {"pinned": "true", "tags": ["resume"]})
    assert not conversations.is_edited_file(path.read_bytes())
    assert not conversations.is_edited_file(
        whole.replace(b"\n", b"\r\n").replace(b"\r\n", b"\n") + b"\n\n"
    )
    assert conversations.is_edited_file(whole.replace(b"never committed", b"left out"))
    assert conversations.is_edited_file(whole.replace(b"written: ", b"rewritten: "))


def test_a_secret_that_is_taken_out_at_the_first_write_is_no_change_by_hand(store, place):
    """The mark is of the text that stands in the file."""
    key = "gh" + "p_" + "Zk3Qw9LmT7" + "xR2vBn8KcJ4hYd6PfS1gA5uE"
    record = store.add(
        "conversation",
        "Resume",
        talks.RESUME + "The token is %s.\n" % key,
        source="auto",
        session="s-1",
    )
    assert key not in record.body and conversations.find_edited(store, [record]) == []


def test_those_that_a_person_changed_are_found_among_others(store, place):
    """One above 1 MiB is read whole for it; a learning without the key is none."""
    long = ("## 14:03 count\n\n" + "word word\n" * 200_000,)
    names = [
        talks.put(place),
        talks.put(place, id="c-7a1c0002", written=False),
        talks.put(place, long, id="c-7a1c0003"),
        talks.put(place, long, id="c-7a1c0004", written=False),
    ]
    put(place, "p/learnings/x.md", "X")
    changed = conversations.find_edited(store, list(store.each()))
    assert sorted(record.name for record in changed) == sorted([names[1], names[3]])


def test_what_tells_of_a_session_is_found_by_the_start_of_its_id(store, place):
    """Checkpoints and conversation; what came of it is told beside them; two sessions that begin
    alike are both named.
    """
    talk = talks.put(place)
    put(place, "p/checkpoints/2026-01-23/150000-x.md", "Fixed resume", session=talks.SESSION)
    put(place, "p/learnings/l.md", "Markers", session=talks.SESSION)
    put(place, "p/checkpoints/2026-01-23/160000-y.md", "Other", session="5e551099")
    found = conversations.find_session_records(store, talks.SESSION[:8])
    assert (found.session, {one.name for one in found.records}) == (
        talks.SESSION,
        {talk, "p/checkpoints/2026-01-23/150000-x.md"},
    )
    assert [one.id for one in found.others] == ["l"]
    several = conversations.find_session_records(store, "5e5510")
    assert several.session == "" and several.records == [] and len(several.ids) == 2
    assert (
        conversations.find_session_records(store, "").ids == []
        and conversations.find_by_session(store, "") == []
    )
    assert len(conversations.find_by_session(store, talks.SESSION)) == 2


def test_a_forgotten_session_stays_forgotten_until_its_conversation_is_restored(store, place, now):
    """The archive's log says so, also where nothing of it stands in the archive; no file is taken
    for moved.
    """
    assert not conversations.was_forgotten(place, talks.SESSION)
    name = talks.put(place)
    conversations.log_forgotten(place, talks.SESSION, "c-7a1c0001", now)
    conversations.log_forgotten(place, "other", "", now)
    assert conversations.was_forgotten(place, talks.SESSION)
    assert conversations.read_forgotten(place.private) == [talks.SESSION, "other"]
    assert store.away() == {} and store.read(name)
    store.archive(name, "forgotten")
    assert set(store.away()) == {"c-7a1c0001"} and conversations.was_forgotten(place, talks.SESSION)
    store.restore("c-7a1c0001")
    assert conversations.read_forgotten(place.private) == ["other"]
    store.archive(name, "expired")
    assert not conversations.was_forgotten(place, talks.SESSION)


def test_a_forgotten_session_is_forgotten_in_every_project(place, now):
    """It may be resumed in a folder that was renamed, or in another repository."""
    other = layout.Place(place.home, "moved-1a2b3c4d", "/moved", "/moved", "", "")
    conversations.log_forgotten(place, "s-1", "c-1", now)
    assert conversations.was_forgotten(other, "s-1")
    assert not conversations.was_forgotten(other, "s-2")
    archive.log(
        place.private, archive.Move("c-1", "archive/x.md", "x.md"), archive.RESTORED, now, 0o600
    )
    assert not conversations.was_forgotten(other, "s-1")


def test_a_log_with_torn_and_foreign_lines_is_read(place, now):
    """What is no line of it is passed over."""
    write(
        place,
        "p/archive/log.jsonl",
        '{torn\n[1]\n{"id":1}\n{"id":"x","from":"","to":"","session":7}\n',
    )
    assert conversations.read_forgotten(place.private) == []
    conversations.log_forgotten(place, "s-1", "", now)
    assert conversations.was_forgotten(place, "s-1")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_store_tells_what_it_knows(store, place, now):
    """Conversations are found and judged; that a session is forgotten cannot be written, and is
    said.
    """
    talks.put(place, written=False)
    os.chmod(place.private, 0o500)
    try:
        assert len(
            conversations.find_edited(store, list(store.each()))
        ) == 1 and not conversations.was_forgotten(place, "s-1")
        with pytest.raises(OSError):
            conversations.log_forgotten(place, "s-1", "", now)
    finally:
        os.chmod(place.private, 0o700)
