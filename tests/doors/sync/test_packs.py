"""What goes between machines: which files, in which order, sealed."""

from __future__ import annotations

import pytest

from memory.doors.sync import packs
from memory.doors.sync.packs import tier_of_log, tier_of_record

KEY = "workspaces/app-1a2b3c4d"


@pytest.mark.parametrize(
    ("name", "root", "inner"),
    [
        ("global/learnings/x.md", "global", "learnings/x.md"),
        (KEY + "/archive/rules/x.md", KEY, "archive/rules/x.md"),
        (KEY + "/checkpoints/2026-11-21/x.md", KEY, "checkpoints/2026-11-21/x.md"),
        (KEY + "/conversations/d/x.md", KEY, "conversations/d/x.md"),
    ],
)
def test_records_travel(name, root, inner):
    assert tier_of_record(name) == root and name == root + "/" + inner


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x.md",
        "trust.jsonl",
        "config.json",
        "cache/a/learnings/x.md",
        "global/x.md",
        "global/learnings/x.txt",
        "global/learnings/.x.md",
        "global/learnings/../x.md",
        "global/conversations/x.md",
        KEY + "/archive/before/x.md",
        KEY + "/journal.jsonl",
        "workspaces/app/learnings/x.md",
        "/global/learnings/x.md",
        "global//learnings/x.md",
        "global/learnings/a\tb.md",
        "sync/git/global/learnings/x.md",
    ],
)
def test_nothing_else_travels(name):
    assert tier_of_record(name) == tier_of_log(name) == ""


def test_two_logs_of_a_tier_travel():
    assert [
        tier_of_log(name)
        for name in (
            "global/ledger.jsonl",
            KEY + "/archive/log.jsonl",
            KEY + "/spend.jsonl",
            "ledger.jsonl",
        )
    ] == ["global", KEY, "", ""]


def test_files_are_read_in_their_order_from_the_latest_base():
    """One that is not there yet is waited for."""
    every = {1: "000001.age", 2: "000002.base.age", 3: "000003.age", 5: "000005.age"}
    assert packs.select_unread(every, 0) == ([2, 3], True)
    assert packs.select_unread(every, 3) == ([], True)
    assert packs.select_unread({4: "000004.age"}, 3) == ([4], False)


def test_a_sealed_file_opens_as_itself_alone():
    """With its key, its machine and its number; cut short it is damaged."""
    pyrage = pytest.importorskip("pyrage")
    key, other = (pyrage.x25519.Identity.generate() for _ in range(2))
    data = packs.encrypt_pack([{"a": 1}], "desk", 7, key)
    assert packs.decrypt_pack(data, "desk", 7, key) == [{"a": 1}]
    with pytest.raises(packs.WrongKey):
        packs.decrypt_pack(data, "desk", 7, other)
    for wrong in ((data[:-9], "desk", 7), (data, "lap", 7), (data, "desk", 8)):
        with pytest.raises(packs.DamagedPack):
            packs.decrypt_pack(*wrong, key)
