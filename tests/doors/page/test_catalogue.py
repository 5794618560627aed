"""The cards that lists are made of: kept between runs, and never behind the files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from harness import conversations, page, pushes, vault

from memory.core import layout
from memory.doors.page.catalogue import Catalogue
from memory.store.store import Store

NOW = 1795271452.0  # 2026-11-21T14:30:52Z


@pytest.fixture
def place(tmp_path):
    found = page.stored(str(tmp_path / "h"), str(tmp_path / "p"), NOW)
    for root, _, names in os.walk(tmp_path):
        for name in names:
            os.utime(os.path.join(root, name), (NOW - 60, NOW - 60))
    return found


@pytest.fixture
def catalogue(place):
    """Make a catalogue whose clock stands still: catalogue(seconds later) -> one."""
    return lambda later=0.0: Catalogue(place, vault.settings(), lambda: NOW + later)


def titles(catalogue) -> set[str]:
    return {card.title for card in catalogue.cards()}


def test_a_second_run_reads_no_file_that_did_not_change(place, catalogue, monkeypatch):
    """It has the same cards, and one of a new file."""
    first = catalogue()
    before, given = first.cards(), first.given()
    vault.put(place, "p/learnings/okapi.md", "Okapi", "x", id="l-okapi")
    read = []
    real = Store.read
    monkeypatch.setattr(Store, "read", lambda store, name: read.append(name) or real(store, name))
    later = catalogue(60)
    assert [c for c in later.cards() if c.id != "l-okapi"] == before and later.given() == given
    assert read == ["p/learnings/okapi.md"] and "Okapi" in titles(later)


def test_no_text_of_a_record_is_kept_beside_it(place, catalogue):
    """What somebody removes from a record, or deletes, is gone."""
    catalogue().cards()
    kept = [p.read_bytes() for p in Path(place.cache).glob("*.page")]
    assert kept and not any(page.SECRET.encode() in data for data in kept)


def test_a_look_sees_what_changed_came_and_went(place, tmp_path):
    at = [NOW]
    found = Catalogue(place, vault.settings(), lambda: at[0])
    assert {"Zebra", "Docker cache"} <= titles(found)
    path = Path(place.path("p/learnings/zebra.md"))
    path.write_text(path.read_text(encoding="utf-8").replace("Zebra", "Gnu"), encoding="utf-8")
    Path(place.path("p/learnings/cache.md")).unlink()
    conversations.noted(place, "five", "2026-11-21", page.OUTCOME)
    at[0] += 9
    assert "Gnu" in titles(found) and not {"Zebra", "Docker cache"} & titles(found)
    assert "five" in found.sessions()


def test_what_sessions_were_given_is_summed_up(place, catalogue):
    """Starts, prompts and failed calls; a later receipt counts at the next look."""
    (given,) = catalogue().given()
    assert (given.session, given.times, given.tokens, len(given.items)) == ("two", 1, 100, 1)
    pushes.push(place, "two", NOW, "l-cache", "l-zebra", event="start", tokens=50)
    (given,) = catalogue(60).given()
    assert (given.times, given.tokens, len(given.items)) == (2, 150, 3)


def test_a_file_that_is_no_record_has_no_card(place, catalogue):
    """And stops nothing."""
    Path(place.path("p/learnings/bad.md")).write_bytes(b"\xff\xfe\x00bad")
    assert "Zebra" in titles(catalogue())


def test_a_cache_that_anybody_wrote_is_read_anew(place, catalogue):
    """Damaged, or of another version."""
    catalogue().cards()
    for path in Path(place.cache).glob("*.page"):
        path.write_bytes(b"zebra" + path.read_bytes())
    assert "Zebra" in titles(catalogue())


def test_a_shared_record_is_of_who_first_committed_it(tmp_path):
    """By git's authorship; the user is `you`, also of what is not committed yet."""
    root, env = tmp_path / "repo", {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    root.mkdir()

    def git(*words, name="kim"):
        who = ("-c", "user.name=" + name, "-c", "user.email=%s@example.org" % name)
        subprocess.run(["git", *who, *words], cwd=root, env=env, check=True, capture_output=True)

    git("init", "-q")
    git("config", "user.email", "kim@example.org")
    place = layout.locate({"HOME": str(tmp_path)}, str(root))
    for name in ("sam", "kim"):
        vault.put(place, "s/learnings/%s.md" % name, "Of " + name, "x", id=name)
        git("add", "-A")
        git("commit", "-qm", "one", name=name)
    vault.put(place, "s/learnings/new.md", "New", "x", id="new")
    vault.put(place, "p/learnings/own.md", "Own", "x", id="own")
    found = Catalogue(place, vault.settings(), lambda: NOW)
    assert {card.id: found.author(card) for card in found.cards()} == {
        **{"sam": "sam", "kim": "you"},
        **{"new": "you", "own": "you"},
    }
