"""Reading: what people leave is read or skipped with a reason, links lead nowhere, and a typed word
finds its record.
"""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path
from unicodedata import normalize

import pytest
from harness import talks
from harness.vault import write

from memory.core import StoreError, config, files, records
from memory.store import reader
from memory.store.reader import Unreadable
from memory.store.store import Store

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, links and signals")


def test_what_people_leave_is_read_or_skipped_with_a_reason(store, place):
    """Editors' and synchronisers' copies are no second memory; what cannot be read is named with a
    remedy.
    """
    write(place, "p/learnings/good.md", "# Good\n")
    write(place, "p/learnings/2026/deep.md", "# Deep\n")
    write(place, "p/learnings/merge a conflicted copy (git).md", "# Hand\n")
    for left in (
        "a.sync-conflict-20261121-143052-ABCDEFG.md",
        "a (conflicted copy 2026-11-21).md",
        "a (Alex's conflicted copy).md",
        "a (Alex's conflicted copy 2026-11-21).md",
        "a (Alex's conflicted copy 2026-11-21 (1)).md",
        "a.md.orig",
        "a.md~",
        ".#a.md",
        ".a.md.swp",
        files.TEMP_PREFIX + "12-0",
        ".hidden.md",
        "a.txt",
        "#a.md",
    ):
        write(place, "p/learnings/" + left, "# No\n")
    write(place, "p/learnings/wide.md", "# x\n".encode("utf-16"))
    write(place, "s/checkpoints/shared.md", "# Shared\n")
    write(place, "p/archive/learnings/old.md", "# Old\n")
    os.makedirs(place.path("p/learnings/folder.md"))
    assert [record.title for record in store.each()] == ["Deep", "Good", "Hand", "Shared"]
    reasons = {
        skipped.name: (skipped.line, skipped.reason, skipped.remedy) for skipped in store.skipped
    }
    assert reasons["p/learnings/wide.md"] == (1, "not UTF-8 text", "save it as UTF-8")
    assert len(reasons) == 7 and all(remedy for _, _, remedy in reasons.values())


@pytest.mark.parametrize("tier", "psg")
def test_a_note_that_is_not_read_where_it_stands_is_said(store, place, tier):
    """By its ending, by its folder, or beside them all; a readme and an image are no notes."""
    silent = ("README.md", "learnings/x.png", "config.json", "assets/x.png")
    said = ("learnings/a.mdc", "learnings/B.MD", "rules/c.txt", "echo.md")
    for name in (*silent, *said, "lessons/d.md", "archive/learnings/old.md"):
        write(place, tier + "/" + name, "# Note\n")
    assert not list(store.each())
    assert {skipped.name[2:] for skipped in store.skipped} == {*said, "lessons"}
    assert all(skipped.reason and skipped.remedy for skipped in store.skipped)


def test_a_large_file_is_read_in_part_and_said(store, place):
    """Of 5 MB the first 1 MiB is a record, with its problem; a change keeps the rest."""
    write(place, "p/learnings/big.md", "---\ntitle: Big\n---\n" + "word word\n" * 500000)
    record = store.read("p/learnings/big.md")
    assert (
        record.title == "Big" and len(record.body) <= records.READ_LIMIT and record.size > 5000000
    )
    assert "1 MiB" in record.problems[-1]
    store.edit(record.name, {"pinned": "true"})
    assert len(store.raw(record.name)) > 5000000 and store.read(record.name).pinned


@posix_only
def test_links_out_of_the_store_are_not_followed(store, place, project, tmp_path):
    """A link to a file, a directory or a sibling with the same start gives no byte of what lies
    outside.
    """
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret\n")
    sibling = Path(place.private + "-evil")
    sibling.mkdir(parents=True)
    (sibling / "secret.md").write_text("# Secret\n")
    real = write(place, "p/learnings/real.md", "# Real\n")
    folder = Path(place.path(real)).parent
    (folder / "file.md").symlink_to(outside / "secret.md")
    (folder / "sibling.md").symlink_to(sibling / "secret.md")
    (folder / "folder").symlink_to(outside)
    (folder / "inner.md").symlink_to("real.md")
    (folder / "broken.md").symlink_to("nowhere.md")
    os.symlink(outside, place.private + "/rules")
    os.mkfifo(str(folder / "pipe.md"))
    assert [record.title for record in store.each()] == ["Real", "Real"]
    assert not {"p/learnings/file.md", "p/learnings/sibling.md"} & set(store.names())
    list(store.each())
    assert {skipped.name.rpartition("/")[2] for skipped in store.skipped} == {
        "file.md",
        "sibling.md",
        "folder",
        "rules",
        "broken.md",
        "pipe.md",
    }
    for name in (
        "p/learnings/file.md",
        "p/learnings/folder/secret.md",
        "p/rules/secret.md",
        "p/learnings/sibling.md",
    ):
        for attempt in (
            store.read,
            store.raw,
            lambda n: store.archive(n, "x"),
            lambda n: store.edit(n, {"a": "b"}),
        ):
            with pytest.raises(StoreError):
                attempt(name)
    with pytest.raises(StoreError):
        store.add("rule", "T", "b", extra={"rationale": "r"})
    assert (
        os.listdir(outside) == ["secret.md"] and (outside / "secret.md").read_text() == "# Secret\n"
    )


@posix_only
def test_a_shared_tier_that_points_elsewhere_is_left_alone(place, now, project, tmp_path):
    """A repository whose .dayleaf is a link to other files passes nothing off as its own."""
    other = tmp_path / "other"
    (other / "learnings").mkdir(parents=True)
    (other / "learnings" / "x.md").write_text("# Other\n")
    os.symlink(other, place.shared)
    store = Store(place, config.load(place.home, "", {}), now)
    assert list(store.each()) == [] and store.skipped[0].name == "s"
    with pytest.raises(StoreError, match="shared"):
        store.add("learning", "T", "b", tier="s")


@posix_only
def test_a_link_swapped_during_a_read_gives_nothing_away(store, place, tmp_path):
    """While a folder turns into a link and back, a read gives the record or an error, never what
    lies outside.
    """
    outside = tmp_path / "outside" / "sub"
    outside.mkdir(parents=True)
    (outside / "a.md").write_text("SECRET\n")
    name = write(place, "p/learnings/sub/a.md", "record\n")
    folder = place.path(name).rpartition("/")[0]
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            os.rename(folder, folder + "-")
            os.symlink(outside, folder)
            os.unlink(folder)
            os.rename(folder + "-", folder)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen, start = set(), time.monotonic()
    try:
        # On a busy machine one of the two may not turn up for seconds: the race is over once both
        # have.
        while time.monotonic() < start + 1 or (len(seen) < 2 and time.monotonic() < start + 30):
            try:
                seen.add(store.read(name).body)
            except StoreError:
                seen.add("error")
    finally:
        ended.set()
        swapper.join()
    assert seen == {"record\n", "error"}


@posix_only
def test_a_link_that_appears_after_the_check_is_not_followed(store, place, tmp_path, monkeypatch):
    """The open itself refuses a link, whatever a check just before it saw."""
    (tmp_path / "secret.md").write_text("# Secret\n")
    os.makedirs(place.folder("p", "learning"))
    os.symlink(tmp_path / "secret.md", place.path("p/learnings/a.md"))
    monkeypatch.setattr(os.path, "islink", lambda path: False)
    with pytest.raises(StoreError):
        store.read("p/learnings/a.md")


@posix_only
def test_another_users_hard_link_is_refused(store, place, monkeypatch):
    """A second name of a file that is not ours may be anything."""
    name = write(place, "p/learnings/a.md", "x\n")
    os.link(place.path(name), place.path("p/learnings/b.md"))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StoreError, match="hard link"):
        store.read(name)


def test_a_record_is_found_by_id_start_name_and_file(store):
    """All the ways a person names a record lead to it."""
    first = store.add("learning", "First", "a")
    store.add("plan", "Second", "b")
    for text in (
        first.id,
        first.id[:5],
        first.name,
        first.name.rpartition("/")[2],
        first.name.rpartition("/")[2][:-3],
        " " + first.id + " ",
    ):
        assert store.find(text) == first


@pytest.mark.parametrize(("kept", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_record_is_found_in_either_form_of_its_letters(kept, asked, store, place):
    """By its file, in any case, and by its title; macOS gives file names in NFD."""
    write(place, "p/learnings/%s.md" % normalize(kept, "Schlüssel drehen"), "do it monthly\n")
    titled = normalize(kept, "Öl prüfen")
    write(place, "p/learnings/b.md", "---\ntitle: %s\n---\nweekly\n" % titled)
    for said in ("Schlüssel drehen", "Schlüssel drehen.md", "schlüssel drehen.md"):
        assert store.find(normalize(asked, said)).body == "do it monthly\n"
    assert store.find(normalize(asked, "öl prüfen")).body == "weekly\n"


def test_what_is_not_found_names_what_is_near(store, place):
    """A slip gives the near id, not every id of the kind; a start of several ids says so."""
    archived = store.add("learning", "Old", "x")
    store.archive(archived.name, "r")
    with pytest.raises(
        StoreError, match="is archived; `dayleaf store restore %s` brings" % archived.id
    ):
        store.find(archived.id[:5])
    assert store.find_archived(archived.id).body == "x\n"
    for name in ("abcdef1", "abcdef2", "abcdef3", "abcdef4"):
        write(place, "p/learnings/%s.md" % name, "---\nid: %s\n---\n" % name)
    with pytest.raises(StoreError, match="did you mean") as caught:
        store.find("abcdxf1")
    assert "abcdef1" in str(caught.value) and str(caught.value).count("abcdef") == 1
    with pytest.raises(StoreError, match="could be abcdef1, abcdef2, abcdef3"):
        store.find("abcd")
    with pytest.raises(StoreError, match="no record 'zzz'"):
        store.find("zzz")


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("l-1a2b3c4e", True),
        ("l-1a2b34d", True),
        ("l-1a2b3c44d", True),
        ("l-1a2bc34d", True),
        ("l-1a2b3c4", True),
        ("l-1a2b3d4e", False),
        ("l-2b1a3c4d", False),
        ("l-1a2b", False),
        ("", False),
    ],
)
def test_only_a_slip_of_the_finger_is_near_an_id(typed, near):
    """One character other, less or more, or two swapped; two others make another id."""
    assert reader.is_typo(typed, "l-1a2b3c4d") is near


def test_short_ids_are_never_near_one_another():
    """`r-2` is no slip of `r-1`."""
    assert not reader.is_typo("r-2", "r-1")


def test_of_a_duplicate_id_the_newest_counts(store, place):
    """Both files stay, the newer one is found, and the pair is reported."""
    for name, instant in (("old", 1000), ("new", 3000), ("mid", 2000)):
        write(place, "p/learnings/%s.md" % name, "---\nid: same\ntitle: %s\n---\n" % name)
        os.utime(place.path("p/learnings/%s.md" % name), (instant, instant))
    assert store.find("same").title == "new" and len(list(store.each())) == 3
    assert store.duplicates == {
        "same": ["p/learnings/mid.md", "p/learnings/new.md", "p/learnings/old.md"]
    }


def test_a_kind_is_found_in_any_folder(store, place):
    """A rule that stands among the learnings is a rule."""
    write(place, "p/learnings/x.md", "---\nkind: rule\nrationale: r\n---\n")
    assert [record.kind for record in store.each(["rule"])] == ["rule"] and list(
        store.each(["learning"])
    ) == []


@posix_only
def test_files_that_vanish_during_a_walk_are_skipped(store, place):
    """While another process adds and deletes, a walk never raises."""
    names = [write(place, "p/learnings/n%d.md" % i, "# n\n") for i in range(40)]
    ended = threading.Event()

    def churn() -> None:
        source = random.Random(1)
        while not ended.is_set():
            path = place.path(source.choice(names))
            if os.path.exists(path):
                os.unlink(path)
            else:
                Path(path).write_text("# n\n")

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(100):
            assert all(record.title in ("n", record.name[12:-3]) for record in store.each())
    finally:
        ended.set()
        thread.join()


def test_what_cannot_be_read_carries_its_reason(store):
    """The error holds the same four facts that a walk notes."""
    with pytest.raises(Unreadable) as caught:
        store.read("p/learnings/absent.md")
    assert (
        caught.value.skipped.name == "p/learnings/absent.md"
        and caught.value.skipped.reason == "no such record"
    )


def test_a_conversation_stands_in_the_private_tier_alone(store, place):
    """One in a repository or for all projects is passed over, with what mends it: nobody meant to
    share what was said.
    """
    name = talks.put(place)
    talks.put(place, tier="s", id="c-7a1c0002")
    talks.put(place, tier="g", id="c-7a1c0003")
    write(place, "s/learnings/said.md", "---\nkind: conversation\n---\n" + talks.RESUME)
    assert [record.name for record in store.each()] == [name]
    left = {skipped.name: skipped for skipped in store.skipped}
    assert sorted(left) == ["g/conversations", "s/conversations", "s/learnings/said.md"]
    assert all("private tier" in each.reason and "move" in each.remedy for each in left.values())


def test_the_many_files_of_sessions_are_read_for_their_own_kind_alone(store, place):
    """Who wants learnings opens no conversation, who wants checkpoints none either."""
    talks.put(place)
    write(place, "p/checkpoints/2026-01-23/140300-x.md", "# Noted\n")
    write(place, "p/learnings/x.md", "# Learned\n")
    read: list[str] = []
    store.read = lambda name: read.append(name) or Store.read(store, name)
    for kind in ("conversation", "checkpoint", "learning"):
        assert [record.kind for record in store.each((kind,))] == [kind]
    assert [name.split("/")[1] for name in read] == [
        "conversations",
        "learnings",
        "checkpoints",
        "learnings",
        "learnings",
    ]


@pytest.mark.parametrize(
    ("body", "problem"),
    [("", ""), ("Only prose.\n", ""), ("## 14:03 said\n\n" + "word word\n" * 500000, "1 MiB")],
)
def test_a_conversation_of_any_body_is_read(store, place, body, problem):
    """Empty, without a turn, of 5 MB."""
    record = store.read(talks.put(place, (body,)))
    assert (
        record.kind == "conversation"
        and record.source == "auto"
        and problem in "".join(record.problems)
    )


def test_a_conversation_that_is_no_text_is_named(store, place):
    """Not UTF-8: skipped, with the remedy; one odd byte is no reason to skip it."""
    name = write(
        place, "p/conversations/2026-01-23/140300-wide.md", talks.page().decode().encode("utf-16")
    )
    assert (
        list(store.each()) == []
        and store.skipped[0].name == name
        and store.skipped[0].remedy == "save it as UTF-8"
    )
    os.remove(place.path(name))
    talks.put(place, ("## 14:03 caf\udce9\n",))
    assert [record.kind for record in store.each()] == ["conversation"]
