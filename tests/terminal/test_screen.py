"""Text on a terminal: columns by display width, what is hidden written out."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from harness.hook import ROOT
from harness.scripts import keeper

from memory.core import plaintext
from memory.terminal import screen
from memory.terminal.screen import OUTPUT_LIMIT


def test_hidden_characters_are_written_out_where_something_is_approved():
    """Who approves content sees what is in it."""
    assert (
        plaintext.escape_invisible("a\u202eb\x1b\u200bc\n\td 버튼")
        == "a\\u{202e}b\\u{1b}\\u{200b}c\n\td 버튼"
    )


def test_columns_are_aligned_by_display_width():
    """A wide character takes two columns, a combining one none."""
    lines = screen.format_table([["버튼", "x"], ["abcd", "y"], ["é", "z"]])
    assert [plaintext.count_columns(line) for line in lines] == [7, 7, 7]
    assert plaintext.clip_columns("버튼버튼", 5) == "버튼…"


@pytest.fixture
def kept(place, project, now):
    """Keep a script as a resource, approved if wanted: kept(text, approve=True, name=...) -> its
    record.
    """
    return keeper(place, project, now)


def test_output_is_capped_and_the_script_goes_on(run, kept, tmp_path):
    """1 MiB of both streams together; what is left out is counted."""
    mark = tmp_path / "ended"
    record = kept(
        f"#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x\necho end >&2\ntouch {mark}\n"
    )
    done = run("resource", "run", record.id)
    assert done.returncode == 0 and len(done.stdout) == OUTPUT_LIMIT and mark.exists()
    left_out = 3_000_000 + 4 - OUTPUT_LIMIT
    assert f"dayleaf: {left_out:,} bytes more of output are not shown" in done.stderr


def test_a_terminal_obeys_no_script(run, kept):
    """Escapes and marks that reorder a line are gone, also where they come in pieces; text of any
    script stays whole.
    """
    record = kept(
        "#!/bin/sh\nprintf 'a\\033'; sleep 0.2; printf '[31mb\\n\\033]52;c;eHg=\\007c\\n\\342'; "
        "sleep 0.2; printf '\\200\\256d'\n"
        "printf '한'; printf '\\355\\225'; sleep 0.2; printf '\\234\\n\\377\\n' \n"
    )
    assert run("resource", "run", record.id).stdout == "ab\nc\nd한한\n\ufffd\n"


def test_output_comes_while_the_script_runs(kept, env, project):
    """Line by line."""
    record = kept("#!/bin/sh\necho first\nsleep 30\n")
    process = subprocess.Popen(
        [sys.executable, "-I", str(ROOT / "memory"), "resource", "run", record.id],
        env=env,
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    start = time.monotonic()
    assert process.stdout.readline() == b"first\n" and time.monotonic() - start < 15
    process.terminate()
    process.communicate(timeout=20)


def test_a_difference_hides_nothing():
    """What reorders a line is written out on both sides."""
    assert screen.diff_contents(b"a\nb\n", "a\n\u202eb\n".encode())[3:] == [
        " a",
        "-b",
        "+\\u{202e}b",
        " ",
    ]


ROWS = [["a-1", "A title of some length that has a story", "2d"], ["a-2", "Short", "3d"]]


def test_a_title_is_cut_on_a_terminal_alone():
    """A table takes the columns that there are; in a pipe nothing is lost."""
    narrow, piped = screen.Style(30), screen.Style(30, cut=False)
    assert [
        plaintext.count_columns(line) for line in screen.format_table(ROWS, style=narrow, give=1)
    ] == [
        30,
        30,
    ]
    assert screen.format_table(ROWS, style=narrow, give=1)[0] == "a-1  A title of some leng…  2d"
    assert (
        screen.format_table(ROWS, style=piped, give=1)[0]
        == "a-1  A title of some length that has a story  2d"
    )


def test_ids_take_the_colour_of_their_kind():
    """Where colours are welcome, and without moving a column."""
    coloured = screen.format_table(ROWS, style=screen.Style(80, True), kinds=["rule", "learning"])
    assert coloured[0].startswith("\x1b[35ma-1\x1b[0m  A") and coloured[1].startswith(
        "\x1b[36ma-2\x1b[0m  S"
    )
    assert "\x1b" not in "".join(
        screen.format_table(ROWS, style=screen.Style(80), kinds=["rule", "learning"])
    )
