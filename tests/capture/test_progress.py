"""The state of a capture between its workers: lost, damaged or behind, it costs nothing."""

from __future__ import annotations

import pytest
from harness.session import secret_of, work

from memory.capture import progress


def test_two_captures_of_one_state_write_one_file(session):
    """The second is a no-op to the byte, for every event and with or without the state."""
    work(session.ask("x"))
    for event in ("Stop", "Stop", "PreCompact", "PreCompact", "SessionEnd", "SessionEnd"):
        files = session.fire(event)
        assert len(files) == 1
    (before,) = session.where()
    stat = before.stat()
    session.state.unlink()
    assert session.fire("SessionEnd") == files
    assert (before.stat().st_mtime_ns, before.stat().st_ino) == (stat.st_mtime_ns, stat.st_ino)
    session.edit("new.py")
    assert len(session.fire("SessionEnd")) == 2


def test_a_lost_state_in_an_open_stretch_tells_nothing_twice(session):
    """Without its state the capture goes on after what the checkpoints tell."""
    work(session.ask("x")).fire("Stop")
    session.state.unlink()
    first, second = session.ask("y").edit("new.py").fire("SessionEnd")
    assert "m0.py" in first and "new.py" in second and "m0.py" not in second


def test_a_state_of_another_make_is_ignored(session):
    """A damaged or foreign state is the same as none."""
    session.ask("x").edit("a.py").fire("SessionEnd")
    for data in (
        b"",
        b"{}",
        b"[]\n[]\n",
        b'{"v":99}\n{}\n',
        b"\xff\xfe",
        session.state.read_bytes()[:200],
    ):
        session.state.write_bytes(data)
        assert len(session.fire("SessionEnd")) == 1


def test_a_run_that_died_before_its_state_is_taken_up(session):
    """The file is written, the state is not: the next run finds the file and makes no second
    one.
    """
    session.ask("x").edit("a.py")
    session.fire("Stop")
    before = session.state.read_bytes()
    (text,) = session.fire("SessionEnd")
    session.state.write_bytes(before)
    session.now += 60
    assert session.fire("SessionEnd") == [text]


def test_a_call_without_its_result_yet_is_kept_clean(session):
    """What waits in the state for its result holds no secret and no private part."""
    value = secret_of(6)
    command = "deploy " + value + " <private>HUSHHUSH</private> " + "x " * 9995 + secret_of(7)
    session.ask("x").edit("a.py").tool("Bash", {"command": command}, "never read")
    session.path.write_bytes(b"\n".join(session.path.read_bytes().split(b"\n")[:-2]) + b"\n")
    session.fire("PreCompact")
    state = session.state.read_text()
    assert "deploy" in state and not any(s in state for s in (value, "HUSHHUSH", secret_of(7)[:8]))


def test_what_an_earlier_version_saved_is_known_by_its_first_line_and_its_entries(tmp_path):
    """Not taken up, and not taken for one of this version."""
    path = str(tmp_path / "s.json")
    progress.save(progress.CaptureState(path, first="u1", size=7, seen={"a" * 12, "b" * 12}))
    assert progress.read_head(path)["size"] == 7
    text = (tmp_path / "s.json").read_text()
    (tmp_path / "s.json").write_text(
        text.replace('"v":%d' % progress.VERSION, '"v":%d' % (progress.VERSION - 1))
    )
    assert progress.read_head(path)["size"] == 7 and progress.load(path) is None
    assert (
        progress.read_seen_ids(path) == {"a" * 12, "b" * 12}
        and progress.read_seen_ids(path + "x") == set()
    )
    for odd in ("", "[]\n", '{"v":"1"}\n{}', '{"v":1}\n{"seen":3}'):
        (tmp_path / "s.json").write_text(odd)
        assert not progress.read_head(path).get("size") and progress.read_seen_ids(path) == set()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("0f2345678-1", "0f2345678-1"),
        ("f2345678-0000-4000-8000-0123456789ab", "f2345678-0000-4000-8000-0123456789ab"),
        ("2026-01-12-f2345678-0000-4000-8000-0123456789ab", "f2345678-0000-4000-8000-0123456789ab"),
        ("mine", "mine"),
    ],
)
def test_copies_of_a_transcript_bear_its_uuid(name, said):
    """Under whatever name; one without a UUID is itself."""
    assert progress.extract_uuid(name) == said
