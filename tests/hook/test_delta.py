"""The delta log: torn at any byte it hides nothing, and counts follow it."""

from __future__ import annotations

import os

import pytest
from harness import vault

from memory.hook import delta, indexview, segment, strategies
from memory.index import builder


@pytest.fixture
def store(place):
    """Five records, in all tiers and of several kinds."""
    return vault.mixed(place)


def test_a_torn_delta_is_read_up_to_the_tear(store, now):
    """A frame that was cut short is ignored, those before it count."""
    builder.build(store, now)
    vault.put(store, "p/learnings/one.md", "Kafka one", "kafka")
    builder.refresh(store, now, names=["p/learnings/one.md"])
    vault.put(store, "p/learnings/two.md", "Kafka two", "kafka")
    builder.refresh(store, now, names=["p/learnings/two.md"])
    opened = indexview.open_index(store, watch=False)
    path = indexview.delta_path(store, opened.segment.generation)
    data = open(path, "rb").read()
    for cut in (1, 7, 40):
        with open(path, "wb") as file:
            file.write(data[:-cut])
        opened = indexview.open_index(store, watch=False)
        assert [d.id for d in opened.delta.docs] == ["one"]


def test_a_torn_frame_hides_nothing_and_the_next_refresh_builds_anew(place, now):
    """A writer died in the middle; what others appended after it counts, and the log does not grow
    for ever.
    """
    for name in ("one", "two", "three"):
        vault.put(place, "p/learnings/%s.md" % name, name.title(), name + " kafka")
    builder.build(place, now)
    log = indexview.delta_path(place, builder._read_generation(indexview.segment_path(place)))
    vault.put(place, "p/learnings/four.md", "Four", "four kafka")
    builder.refresh(place, now, names=["p/learnings/four.md"])
    with open(log, "r+b") as file:
        file.truncate(os.path.getsize(log) - 5)
    vault.put(place, "p/learnings/five.md", "Five", "five kafka")
    builder.refresh(place, now, names=["p/learnings/five.md"])
    opened = indexview.open_index(place, watch=False)
    assert opened.delta.torn and set(opened.delta.names) == {"p/learnings/five.md"}
    opened.close()
    assert builder.refresh(place, now).built and not os.path.exists(log)
    assert builder.verify(place, now) == []


def test_counts_follow_the_delta(place, now):
    """An eleventh learning changes the strategy at once, a removed one changes it back."""
    import os

    vault.learnings(place, 10)
    vault.built(place, now).close()
    path = vault.put(place, "p/learnings/new.md", "New", "new")
    from memory.hook import indexview as index

    opened = index.open_index(place)
    assert (
        strategies.choose_strategy(opened.learnings, opened.learning_tokens).name == "index_filter"
    )
    os.unlink(path)
    opened = index.open_index(place)
    assert strategies.choose_strategy(opened.learnings, opened.learning_tokens).name == "load_all"
    assert opened.doc(0).flags & segment.ACCEPTED


def test_the_frames_of_a_folder_are_left_out_and_what_is_damaged_stays(place, now):
    """Records and stamps by the start of their names; a torn end is for the next reader to
    judge.
    """
    one, two = (
        delta.encode_frame("p/learnings/a.md", None, ()),
        delta.encode_frame("p/conversations/b.md", None, ()),
    )
    stamps = (
        delta.encode_stamp("p/conversations/2026-01-26", 5),
        delta.encode_stamp("p/learnings", 5),
    )
    whole = two + one + stamps[0] + stamps[1] + two
    assert delta.drop_frames(whole, b"p/conversations") == one + stamps[1]
    assert delta.drop_frames(whole + two[:-3], b"p/conversations") == one + stamps[1] + two[:-3]
    assert delta.drop_frames(b"junk" + two, b"p/conversations") == b"junk" + two
    assert delta.drop_frames(one, b"p/conversations") == one and delta.drop_frames(b"", b"x") == b""


def test_of_the_frames_left_out_the_newest_may_stay():
    """The last one of each record, as far as they fit; what is stamped of their folders goes all
    the same.
    """
    one, rest = (
        delta.encode_frame("p/conversations/a.md", None, ()),
        delta.encode_frame("p/learnings/a.md", None, ()),
    )
    two, end = delta.encode_frame("p/conversations/b.md", None, ()), b"torn"
    log = one + two + rest + one + delta.encode_stamp("p/conversations", 5) + end
    assert delta.drop_frames(log, b"p/conversations", 1 << 20) == rest + one + two + end
    assert delta.drop_frames(log, b"p/conversations", len(one)) == rest + one + end
    assert delta.drop_frames(log, b"p/conversations", len(one) - 1) == rest + end
