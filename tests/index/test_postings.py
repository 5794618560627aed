"""The two ways to invert documents write the same bytes."""

from __future__ import annotations

import pytest
from harness import vault
from harness.vault import assert_twins, found

from memory.index import builder


@pytest.fixture
def store(place):
    vault.put(
        place,
        "p/learnings/jwt.md",
        "JWT issuer",
        "The issuer must match; see src/auth/jwt.py.",
        tags="[auth]",
    )
    vault.put(
        place,
        "p/learnings/cache.md",
        "Docker cache",
        "Use --no-cache when the layer is stale.",
        tags="[build]",
    )
    vault.put(
        place,
        "p/checkpoints/2026-11-20/101500-fix.md",
        "Fixed the JWT issuer",
        "Edited src/auth/jwt.py.",
    )
    vault.put(
        place,
        "s/rules/style.md",
        "Style",
        "Prefer plain functions.",
        rationale="they read well",
        tags="[python]",
    )
    vault.put(place, "g/learnings/korean.md", "버튼 접근성", "버튼을 누르면 초점이 사라진다.")
    return place


def test_both_inverters_write_the_same_bytes(store, now, monkeypatch):
    """The plain loop and NumPy, on mixed scripts and a long record that is cut at its headings."""
    long = "\n".join(f"## Part {i}\n" + "words about part%d " % i * 60 for i in range(12))
    vault.put(store, "p/learnings/long.md", "Long", long)
    assert assert_twins(store, now, monkeypatch).records == 6


def test_more_documents_than_champions_give_the_same_bytes(place, now, monkeypatch):
    """A term of over 1,024 documents has a champion list; both inverters agree on it."""
    for i in range(1100):
        vault.put(
            place, f"p/learnings/{i:04d}.md", f"common {i % 7}", "common " * (i % 5 + 1) + f"w{i}"
        )
    assert_twins(place, now, monkeypatch)
    builder.build(place, now)
    assert found(place, "common w1042", now)[0] == "1042"
