"""A workspace as it is read: edits, damage, and an index that is behind its files."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from harness import vault
from harness.asking import ask, fill, ids, write

from memory.hook import documents, indexview
from memory.index import assembly, builder
from memory.recall import shelf


def test_an_edit_takes_effect_on_the_very_next_recall(place, now):
    """The index was built before; what is shown is the file."""
    fill(place)
    builder.build(place, now)
    write(
        place,
        "p/learnings/jwt.md",
        "Now about kafka partitions.",
        id="l-jwt",
        title="Kafka",
        created="2026-11-20T10:00:00Z",
    )
    found = ask(place, now, "kafka partitions")
    assert found.hits[0].record.body == "Now about kafka partitions.\n" and found.stale
    assert "l-jwt" not in ids(place, now, "mismatch expire")


def test_a_deleted_file_is_gone_at_once_even_where_the_index_does_not_notice(
    place, now, monkeypatch
):
    """Also with the freshness layers off, nothing deleted or edited is ever shown as it was."""
    fill(place)
    builder.build(place, now)
    monkeypatch.setattr(indexview, "read_changed_frames", lambda found: [])
    Path(place.path("p/learnings/jwt.md")).unlink()
    write(
        place,
        "p/checkpoints/2026-11-21/140000-a.md",
        "jwt, but other text",
        id="c-today",
        title="Edited",
    )
    found = ask(place, now, "jwt")
    assert [hit.record.title for hit in found.hits] == ["Edited"] and found.stale


def test_a_renamed_file_stays_one_hit(place, now):
    """A rename is a deletion and an addition."""
    fill(place)
    builder.build(place, now)
    os.rename(place.path("p/learnings/jwt.md"), place.path("p/learnings/renamed.md"))
    found = ask(place, now, "jwt issuer mismatch")
    assert [h.record.name for h in found.hits if h.record.id == "l-jwt"] == [
        "p/learnings/renamed.md"
    ]


def test_a_link_out_of_the_store_is_not_followed(place, now, tmp_path, monkeypatch):
    """A file that was replaced by a link after the build is not read through it, noticed or not."""
    fill(place)
    builder.build(place, now)
    monkeypatch.setattr(indexview, "read_changed_frames", lambda found: [])
    secret = tmp_path / "secret.md"
    secret.write_text("jwt issuer secret", encoding="utf-8")
    path = Path(place.path("p/learnings/jwt.md"))
    path.unlink()
    path.symlink_to(secret)
    assert all("secret" not in hit.record.body for hit in ask(place, now, "jwt issuer secret").hits)


@pytest.mark.parametrize("glanced_from", [10_000, -1])
def test_a_damaged_index_is_noticed_and_the_files_are_searched(
    place, now, monkeypatch, glanced_from
):
    """Random damage never raises, never shows what no file holds, and a broken directory is
    said.
    """
    monkeypatch.setattr(builder, "GLANCED_FROM", glanced_from)
    fill(place)
    builder.build(place, now)
    path = Path(indexview.segment_path(place))
    whole = path.read_bytes()
    pick = random.Random(7)
    bodies = {p.read_text(encoding="utf-8") for p in Path(place.private).rglob("*.md")}
    bodies |= {p.read_text(encoding="utf-8") for p in Path(place.shared).rglob("*.md")}
    bodies |= {p.read_text(encoding="utf-8") for p in Path(place.everyone).rglob("*.md")}
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(pick.choice((1, 4, 64))):
            data[pick.randrange(len(data))] = pick.randrange(256)
        path.write_bytes(
            bytes(data[: pick.choice((len(data), len(data), pick.randrange(len(data)))) or 1])
        )
        for hit in ask(place, now, "jwt issuer docker kafak").hits:
            assert any(hit.record.body.strip() in body for body in bodies)
    path.write_bytes(whole[:40])
    found = ask(place, now, "jwt issuer")
    assert (
        found.hits[0].record.id == "l-jwt"
        and found.stale
        and found.backend == "lexical, from the files"
    )
    assert any("index build" in note for note in found.notes)


def test_index_and_files_give_the_same_answer(place, now):
    """Ranking does not depend on where the index stands, and not on who asks again."""
    fill(place)
    without = ask(place, now, "jwt issuer refresh")
    builder.build(place, now)
    with_index = ask(place, now, "jwt issuer refresh")
    assert [(h.record.id, h.score, h.parts) for h in without.hits] == [
        (h.record.id, h.score, h.parts) for h in with_index.hits
    ]
    assert ask(place, now, "jwt issuer refresh") == with_index


def test_an_edit_of_any_file_is_found_at_once(place, now):
    """Appended in place to an old file, which no folder's time gives away; and in a folder of a new
    folder.
    """
    for i in range(400):
        vault.put(place, "p/learnings/n%03d.md" % i, "Note %d" % i, "kafka")
    builder.build(place, now)
    with open(place.path("p/learnings/n005.md"), "a") as file:
        file.write("\nquorum\n")
    found = ask(place, now, "quorum")
    assert [hit.record.name for hit in found.hits] == ["p/learnings/n005.md"] and found.stale
    vault.put(place, "p/learnings/team/infra/new.md", "New", "zebra")
    assert [hit.record.name for hit in ask(place, now, "zebra").hits] == [
        "p/learnings/team/infra/new.md"
    ]


def test_a_file_added_to_a_folder_of_many_is_found_at_once(place, now):
    """A folder of more files than the hooks list."""
    for i in range(documents.MOST_LISTED + 1):
        vault.put(place, "p/learnings/n%04d.md" % i, "Note %d" % i, "kafka")
    builder.build(place, now)
    vault.put(place, "p/learnings/new.md", "New", "zebra")
    found = ask(place, now, "zebra")
    assert [hit.record.name for hit in found.hits] == ["p/learnings/new.md"] and found.stale


@pytest.mark.parametrize("most_files", [100, 8])
def test_any_number_of_edits_is_found_at_once(place, now, monkeypatch, most_files):
    """More than are searched beside the index: from an index in memory, and in a store too large
    for one beside it all the same.
    """
    monkeypatch.setattr(shelf, "MOST_READ", 3)
    monkeypatch.setattr(shelf, "MOST_FILES", most_files)
    for i in range(20):
        vault.put(place, "p/learnings/n%02d.md" % i, "Note %d" % i, "kafka")
    builder.build(place, now)
    for i in range(5):
        vault.put(place, "p/learnings/n%02d.md" % i, "Note %d" % i, "zebra")
    found = ask(place, now, "zebra", limit=50)
    assert len(found.hits) == 5 and found.stale
    assert len(ask(place, now, "kafka", limit=50).hits) == 15
    assert any("5 files changed" in note for note in found.notes) == (most_files == 100)


def test_more_edits_than_can_be_read_are_said(place, now, monkeypatch):
    """Nothing is missed without a word."""
    monkeypatch.setattr(shelf, "MOST_READ", 1)
    monkeypatch.setattr(shelf, "MOST_FILES", 3)
    for i in range(8):
        vault.put(place, "p/learnings/n%d.md" % i, "Note %d" % i, "kafka")
    builder.build(place, now)
    for i in range(5):
        vault.put(place, "p/learnings/n%d.md" % i, "Note %d" % i, "zebra")
    found = ask(place, now, "zebra")
    assert (
        len(found.hits) == 3
        and found.stale
        and any("3 of 5 changed files" in note for note in found.notes)
    )


@pytest.fixture
def large(place, now, monkeypatch):
    """Fifty checkpoints in as many folders and three learnings: a store that is too large for a
    look at every file.
    """
    monkeypatch.setattr(builder, "GLANCED_FROM", 20)
    for i in range(50):
        path = vault.put(
            place,
            "p/checkpoints/2026-%02d-%02d/090000-c%d.md" % (1 + i // 28, 1 + i % 28, i),
            "Work %d" % i,
            "kafka",
        )
        vault.touch(path, now - 90 * 86400 + i)
    for i in range(3):
        vault.touch(
            vault.put(place, "p/learnings/l%d.md" % i, "Learnt %d" % i, "partitions"),
            now - 100 * 86400,
        )
    for path in Path(place.private).rglob("*"):
        if path.is_dir():
            vault.touch(str(path), now - 80 * 86400)
    monkeypatch.setattr(assembly, "HOT", 5)
    monkeypatch.setattr(assembly, "ALL_WATCHED", 5)
    monkeypatch.setattr(assembly, "FOLDERS_WATCHED", 5)
    builder.build(place, now)
    return place


def _c(place, number):
    return Path(
        place.path(
            "p/checkpoints/2026-%02d-%02d/090000-c%d.md"
            % (1 + number // 28, 1 + number % 28, number)
        )
    )


def test_a_large_store_is_answered_without_a_look_at_every_file(large, now, monkeypatch):
    """The comparison of all files is due behind the answer, and not made before it."""
    monkeypatch.setattr(builder, "compare", lambda found: pytest.fail("every file was looked at"))
    found = ask(large, now + 60, "kafka")
    assert found.hits and found.rescan and not found.stale


@pytest.mark.parametrize(
    "change", ["added", "deleted", "renamed", "saved by a rename", "a new day"]
)
def test_in_a_large_store_what_a_folder_s_time_gives_away_counts_at_once(
    large, now, monkeypatch, change
):
    """In a folder that the segment itself does not watch."""
    monkeypatch.setattr(builder, "compare", lambda found: pytest.fail("every file was looked at"))
    old = _c(large, 7)
    names = {hit.record.name for hit in ask(large, now, "kafka", limit=99).hits}
    if change == "deleted":
        old.unlink()
        assert len(ask(large, now, "kafka", limit=99).hits) == len(names) - 1
        return
    if change == "renamed":
        old.rename(old.parent / "renamed.md")
        assert {hit.record.name for hit in ask(large, now, "kafka", limit=99).hits} - names == {
            "p/checkpoints/2026-01-08/renamed.md"
        }
        return
    name = {
        "added": "p/checkpoints/2026-01-08/new.md",
        "a new day": "p/checkpoints/2026-11-21/new.md",
        "saved by a rename": "p/checkpoints/2026-01-08/090000-c7.md",
    }[change]
    vault.put(large, name + ".tmp.md" if change == "saved by a rename" else name, "Work", "zebra")
    if change == "saved by a rename":
        os.replace(large.path(name + ".tmp.md"), old)
    assert [hit.record.name for hit in ask(large, now, "zebra").hits] == [name]


def test_in_a_large_store_what_a_person_writes_counts_at_once(large, now, monkeypatch):
    """A learning that is edited in place, whatever its age, by words that others hold too."""
    monkeypatch.setattr(builder, "compare", lambda found: pytest.fail("every file was looked at"))
    with open(large.path("p/learnings/l1.md"), "a") as file:
        file.write("\nkafka kafka kafka\n")
    assert "p/learnings/l1.md" in [hit.record.name for hit in ask(large, now, "kafka").hits]


def test_in_a_large_store_a_hit_is_ranked_and_shown_as_its_file_is(large, now):
    """An edit in place, where neither the folder nor the list of the last changes gives it away."""
    old = _c(large, 7)
    before = old.stat()
    old.write_text(old.read_text().replace("kafka", "quiet"), encoding="utf-8")
    os.utime(old, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    found = ask(large, now, "kafka", limit=99)
    assert (
        len(found.hits) == 49 and all("quiet" not in hit.body for hit in found.hits) and found.stale
    )


def test_in_a_large_store_nothing_is_called_not_found_before_every_file_was_looked_at(large, now):
    """What an old checkpoint says since an edit in place."""
    with _c(large, 7).open("a") as file:
        file.write("\nzebra\n")
    found = ask(large, now, "zebra")
    assert [hit.record.title for hit in found.hits] == ["Work 7"] and found.stale


def test_in_a_large_store_a_refresh_brings_every_edit(large, now, monkeypatch):
    """What the answer could not see counts once the comparison behind it has run."""
    with _c(large, 7).open("a") as file:
        file.write("\nzebra partitions partitions\n")
    builder.refresh(large, now + 60)
    monkeypatch.setattr(builder, "compare", lambda found: pytest.fail("every file was looked at"))
    found = ask(large, now + 61, "partitions")
    assert "Work 7" in [hit.record.title for hit in found.hits] and not found.stale


def test_a_file_that_is_settled_is_not_read_whole_again(place, now, monkeypatch):
    """Young at the build, its time proves nothing; a later refresh, once it is two seconds old,
    settles that.
    """
    path = vault.put(place, "p/learnings/a.md", "Alpha", "first")
    vault.touch(path, now)
    builder.build(place, now)
    assert not ask(place, now, "first").rescan
    assert ask(place, now + 3, "first").rescan
    builder.refresh(place, now + 3)
    monkeypatch.setattr(builder, "_has_changed", lambda *_: pytest.fail("read whole"))
    found = ask(place, now + 9, "first")
    assert found.hits and not found.rescan and not found.stale
