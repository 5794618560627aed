"""Where transcripts stand, and what their two ends tell."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from memory.core import clock
from memory.session import whereabouts


def put(env, folder, name, *rows):
    """Write a transcript into a folder of the host."""
    path = Path(env["HOME"], ".claude", "projects", folder, name + ".jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_session_is_found_in_any_folder(env):
    """By its name; what was named wins where it is there."""
    here, there = put(env, "-a", "one", {"x": 1}), put(env, "-b", "two", {"x": 1})
    assert whereabouts.find_transcript(env, "one") == str(here) and whereabouts.find_transcript(
        env, "two", "/gone.jsonl"
    ) == str(there)
    assert whereabouts.find_transcript(env, "two", str(here)) == str(here)
    assert whereabouts.find_transcript(env, "three") == whereabouts.find_transcript(env, "") == ""


LINE = b'{"cwd": "/w", "type": "user"}\n'


@pytest.mark.parametrize(
    ("data", "damaged"),
    [
        (LINE * 9, False),
        (LINE * 9000, False),
        (LINE.replace(b"\n", b"\r\n") * 9, False),
        (LINE * 9 + LINE[:9], False),  # the client is writing it
        (LINE * 9000 + LINE[:9], False),
        (LINE * 9 + bytes(4096), False),
        (b'{"cwd": "' + b"w" * 200_000 + b'"}\n', False),
        (b"", True),
        (bytes(4096), True),
        (bytes(4096) + LINE * 9, True),
        (bytes(4096) + LINE[9:] + LINE * 9000, True),
        (LINE * 9000 + bytes(4096) + LINE[9:] + LINE, True),
        (LINE[:9] + b"\n" + LINE, True),
        (LINE.decode().encode("utf-16"), True),
        (gzip.compress(LINE * 9, mtime=0), True),
        (b"[" + LINE + b"]", True),
    ],
)
def test_a_transcript_that_cannot_be_read_whole_is_known_by_its_ends(tmp_path, data, damaged):
    """As a power cut, a wrong encoding or a compression leave it."""
    (tmp_path / "one.jsonl").write_bytes(data)
    assert whereabouts.read_ends(str(tmp_path / "one.jsonl")).damaged is damaged


@pytest.mark.parametrize(
    ("rows", "directory", "began", "ended"),
    [
        (
            [
                {"cwd": "/w", "timestamp": "2026-11-21T10:00:00.000Z"},
                {"timestamp": "2026-11-21T11:00:00.000Z"},
            ],
            "/w",
            "2026-11-21T10:00:00Z",
            "2026-11-21T11:00:00Z",
        ),
        ([{"type": "summary"}], "", None, None),
        ([{"cwd": "relative"}, {"cwd": "C:/w"}], "C:/w", None, None),
    ],
)
def test_the_ends_of_a_transcript_tell_where_and_when(env, rows, directory, began, ended):
    """Where no entry has an instant, the file's own counts."""
    path = put(env, "-a", "one", *rows)
    os.utime(path, (1000, 1000))
    found = whereabouts.read_ends(str(path))
    assert (found.directory, found.began, found.ended) == (
        directory,
        began and clock.parse(began),
        ended and clock.parse(ended),
    )
    assert found.last == (clock.parse(ended) if ended else 1000)


def test_a_transcript_rests_unless_file_and_last_entry_are_fresh(env):
    """A copy's file is fresh, its last entry is not; a clock that was set back leaves an entry of
    later.
    """
    path = put(env, "-a", "one", {"timestamp": clock.iso(5000)})
    for changed, at, rests in (
        (9000, 9000, True),
        (5000, 5010, False),
        (5000, 5031, True),
        (9999, 5031, True),
    ):
        os.utime(path, (changed, changed))
        assert whereabouts.read_ends(str(path)).rests(at, 30) is rests


def test_a_folders_name_begins_as_the_host_makes_it():
    """Every sign that is no letter or digit is a dash; a long one is shortened."""
    assert whereabouts.make_folder_prefix("/home/a.b/Übung_1") == "-home-a-b--bung-1"
    assert len(whereabouts.make_folder_prefix("/x" * 300)) == whereabouts.LONG


def test_a_session_that_begins_with_a_picture_has_its_directory(env):
    """The entry names it behind the picture."""
    picture = {"type": "image", "source": {"data": "A" * (9 << 20)}}
    row = {
        "type": "user",
        "message": {"content": [picture, {"type": "text", "text": "why?"}]},
        "cwd": "/w",
    }
    assert whereabouts.read_ends(str(put(env, "-a", "one", row))).directory == "/w"
