"""What a machine remembers of its syncs: versions, and what has changed since."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.machines import Machine

from memory.core import StoreError
from memory.doors.sync import syncing


def test_versions_contain_one_another_or_do_not():
    assert syncing.contains({"a": 2, "b": 1}, {"a": 2}) and not syncing.contains(
        {"a": 2}, {"a": 2, "b": 1}
    )
    assert syncing.contains({}, None) and syncing.merge_versions({"a": 2, "b": 1}, {"b": 3}) == {
        "a": 2,
        "b": 3,
    }


@pytest.fixture
def desk(tmp_path, now):
    pytest.importorskip("pyrage")
    (tmp_path / "box").mkdir()
    return Machine(tmp_path, "desk", {"PATH": "/usr/bin:/bin"}, now).set_up(str(tmp_path / "box"))


def test_a_look_finds_what_changed_and_where_a_file_went(desk):
    """Nothing is noted twice; what went names where it stands now."""
    made = desk.learn("Alpha")
    state = syncing.load_state(desk.place.home)
    syncing.record_changes(state)
    [name] = state.rows
    clock = state.value["clock"]
    syncing.record_changes(state)
    assert state.value["clock"] == clock == 1 and state.rows[name].id == made.id
    desk.forget(made.name)
    syncing.record_changes(state)
    assert state.rows[name].to == name.replace("/learnings/", "/archive/learnings/") and state.rows[
        name
    ].of == {state.machine: 1}


def test_a_name_that_others_may_not_have_is_said(desk):
    folder = Path(desk.place.private, "learnings")
    folder.mkdir(parents=True)
    (folder / "a\tb.md").write_text("x")
    (folder / ".hidden.md").write_text("x")
    [problem] = syncing.record_changes(syncing.load_state(desk.place.home))
    assert "rename it" in problem


@pytest.mark.parametrize("text", ["", "{", "[]", '{"v":1}', '{"v":2}'])
def test_a_damaged_state_says_what_mends_it(desk, text):
    Path(desk.place.home, "sync/state.json").write_text(text)
    with pytest.raises(StoreError, match=r"sync setup|update this one"):
        syncing.load_state(desk.place.home)
