"""Answers kept for a day."""

from __future__ import annotations

import dataclasses
import os
import stat
from pathlib import Path

import pytest
from harness import timing
from harness.models import GOOD, SOURCES

from memory.distill import cache, digests


@pytest.mark.alone
def test_a_second_question_alike_is_answered_from_the_cache(world):
    """No call, no ledger line, under 10 ms, private files; any change of question, budget or
    provider asks anew.
    """
    world.claude(GOOD)
    first = world.distill()
    again = world.distill()
    assert timing.spent(world.distill, 0.010) < 0.010
    assert again == dataclasses.replace(first, cached=True, steps=again.steps, calls=0)
    assert again.steps == (digests.ChainStep("claude", "kept from an earlier call"),)
    assert len(world.calls()) == len(world.ledger()) == 1
    (path,) = Path(world.cache, "digests").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    world.distill(question="other?")
    world.distill(max_tokens=400)
    world.values["distill.model"] = "sonnet"
    world.distill()
    assert len(world.calls()) == 4


@pytest.mark.parametrize("change", [{"checksum": "f" * 64}, {"id": "k3mx"}, {"created": 1.0}])
def test_an_edited_record_misses(world, change):
    """The checksum is part of the key."""
    world.claude(GOOD)
    world.distill()
    assert not world.distill(sources=[dataclasses.replace(SOURCES[0], **change), SOURCES[1]]).cached


def test_a_record_without_a_checksum_is_known_by_its_body(world):
    """So that a caller who has none is never served a stale digest."""
    bare = [dataclasses.replace(source, checksum="") for source in SOURCES]
    assert not world.distill(sources=bare, provider="extract").cached
    assert world.distill(sources=bare, provider="extract").cached
    edited = [dataclasses.replace(bare[0], body=bare[0].body + "More.\n"), bare[1]]
    assert not world.distill(sources=edited, provider="extract").cached


def test_a_digest_is_kept_for_a_day(world):
    """Neither a second longer nor from the future; what is past is deleted with the next one
    kept.
    """
    world.distill(provider="extract")
    assert world.distill(provider="extract", now=world.now + 86399).cached
    assert not world.distill(provider="extract", now=world.now - 10).cached
    world.distill(provider="extract")
    assert not world.distill(provider="extract", now=world.now + 86400).cached
    world.distill(provider="extract", question="other?", now=world.now + 3 * 86400)
    assert len(list(Path(world.cache, "digests").iterdir())) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-5],
        lambda data: b"\xff" + data,
        lambda data: data.replace(b"504", b"505"),
        lambda data: b"{}\n{}",
        lambda data: b"\0" * 99,
    ],
)
def test_a_damaged_entry_is_absent(world, damage):
    """A lie in the cache is never served; the entry is made anew."""
    world.claude(GOOD)
    first = world.distill()
    (path,) = Path(world.cache, "digests").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert world.distill() == first
    assert world.distill().cached


def test_a_fallback_is_not_kept_in_the_model_s_place(world):
    """Once the model is there it is asked, though the extract stands in the cache."""
    assert world.distill().provider == "extract"
    assert world.distill().cached
    world.claude(GOOD)
    assert world.distill().provider == "claude"


def test_the_cache_can_be_off_and_can_be_emptied(world):
    """By argument, by configuration, and after a redaction."""
    world.distill(use_cache=False)
    world.values["distill.cache"] = False
    world.distill()
    assert not os.path.exists(world.cache)
    world.values["distill.cache"] = True
    world.distill()
    assert cache.prune(cache.digests_folder(world.cache), None) == 1
    assert cache.prune(cache.digests_folder(world.cache), None) == 0


def test_a_cache_that_cannot_be_written_costs_nothing_but_itself(world):
    """A file in the way of the folder."""
    os.makedirs(os.path.dirname(world.cache))
    Path(world.cache).write_text("")
    assert world.distill().bullets
