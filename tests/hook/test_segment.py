"""The segment: a damaged one is noticed and answers nothing that is not there."""

from __future__ import annotations

import os
import random

import pytest
from harness import vault
from harness.vault import found

from memory.core import IndexFault, records, tokeniser
from memory.hook import indexview, loader, segment
from memory.index import builder


@pytest.fixture
def store(place):
    """Five records, in all tiers and of several kinds."""
    return vault.mixed(place)


@pytest.mark.parametrize("damage", ["empty", "truncated", "text", "folder", "version", "flip"])
def test_a_damaged_index_is_noticed_set_aside_and_rebuilt(store, now, damage):
    """Opening raises IndexFault, never anything else; a refresh builds a new one and keeps the old
    for a look.
    """
    builder.build(store, now)
    path = indexview.segment_path(store)
    data = open(path, "rb").read()
    if damage == "folder":
        os.unlink(path)
        os.mkdir(path)
    else:
        broken = {
            "empty": b"",
            "truncated": data[:-20],
            "text": b"hello" * 100,
            "version": b"DLSEG999" + data[8:],
            "flip": data[:40] + bytes([data[40] ^ 255]) + data[41:],
        }[damage]
        with open(path, "wb") as file:
            file.write(broken)
    with pytest.raises(IndexFault):
        indexview.open_index(store)
    builder.refresh(store, now)
    assert found(store, "issuer must match", now)[0] == "jwt"
    assert os.path.exists(path + ".damaged")


def test_no_bit_flip_does_more_than_misrank(store, now):
    """400 random damages: an answer, or IndexFault; nothing else is ever raised, and every name
    exists.
    """
    builder.build(store, now)
    path, rnd = indexview.segment_path(store), random.Random(3)
    data = open(path, "rb").read()
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(rnd.choice((1, 3, 20))):
            broken[rnd.randrange(len(broken))] = rnd.randrange(256)
        with open(path, "wb") as file:
            file.write(broken)
        try:
            opened = indexview.open_index(store)
            for words in ("jwt issuer", "버튼", "docker cache"):
                for _, number in loader.search(opened, tokeniser.query_terms(words), 5):
                    opened.doc(number)
            opened.listed("learnings")
        except IndexFault:
            continue


def test_the_flags_hold_how_long_a_session_lasted():
    """Rounded up; of another kind of record `until` is nothing."""
    for kind, until, most in (
        ("checkpoint", "2026-01-23T14:03:00Z", 0),
        ("conversation", "2026-01-23T14:04:00Z", 900),
        ("conversation", "2026-01-25T14:03:00Z", 230400),
        ("note", "2036-01-25", 1 << 32),
        ("checkpoint", "someday", 0),
        ("learning", "2026-01-25", 0),
    ):
        head = "---\nkind: %s\ncreated: 2026-01-23T14:03:00Z\nuntil: %s\n---\n" % (kind, until)
        record = records.from_bytes("p/x.md", head.encode(), 0.0)
        flags = segment.pack_flags(record)
        assert segment.SPANS[flags >> segment.SPAN] == most and segment.KINDS[flags & 7] == kind


def test_a_branch_is_called_by_its_name_and_its_tickets():
    """Without the folder before it, which says nothing of the work."""
    assert segment.list_branch_names("feature/PAY-101-retries") == [
        "PAY-101-retries",
        "PAY-101",
        "#101",
    ]
    assert segment.list_branch_names("fix/412-login") == ["412-login", "#412"]
    assert segment.list_branch_names("PAY-7/login") == ["PAY-7/login", "PAY-7", "#7"]
    assert segment.list_branch_names("release/1.4.0") == ["1.4.0"]
    assert segment.list_branch_names("main") == segment.list_branch_names(None) == []
