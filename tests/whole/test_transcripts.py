"""Transcripts: `tests/transcripts/*.txt` hold what is typed and what comes back, one file for one
behaviour.

A transcript starts with a `#` line that says what it shows.  `$ words` is a command line for sh;
what follows, up to the next blank line and `$`, is its output, errors included, and `[2]` the exit
status where it is not 0.  `@ 3d` moves the clock on, which starts at 2026-11-21T14:30:52Z in a
project with an empty home.  Paths read HOME, PROJECT and WORKSPACE, scores #.##.
UPDATE_TRANSCRIPTS=1 writes what comes back into the files.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from harness import command

from memory.core import clock

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "tests" / "transcripts").glob("*.txt"))
# read here: the fixtures give every test an environment of its own
UPDATE = os.environ.get("UPDATE_TRANSCRIPTS")
DRIVER = """import sys
sys.path.insert(0, %r)
from memory.core import clock; from memory.cli import main as cli
clock.now = lambda: float(open(%r).read())
clock.local_offset = lambda instant: 0.0
sys.exit(cli.main())
"""


@pytest.fixture
def play(env, home, project, place, now, tmp_path, monkeypatch):
    """Run the lines of a transcript and return it with what came back."""
    instant = tmp_path / "instant"
    (tmp_path / "driver.py").write_text(DRIVER % (str(ROOT), str(instant)))
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "dayleaf").write_text(
        "#!/bin/sh\nexec '%s' -I '%s' \"$@\"\n" % (sys.executable, tmp_path / "driver.py")
    )
    (folder / "dayleaf").chmod(0o755)
    shell = {**env, "PATH": str(folder) + os.pathsep + env["PATH"], "EDITOR": "true", "TZ": "UTC"}

    monkeypatch.setattr(clock, "local_offset", lambda instant: 0.0)

    def tell(output):
        for path, name in ((project, "PROJECT"), (home, "HOME"), (place.key, "WORKSPACE")):
            output = output.replace(path, name)
        return re.sub(r"(?m)^(  \S+ +)\d+\.\d\d(?=  )", r"\1#.##", output)

    def run(transcript):
        at, out = now, []
        for line in transcript.split("\n"):
            if line.startswith("@ "):
                at += clock.parse_duration(line[2:])
                out.append(line + "\n")
            elif line.startswith("#") and not out:
                out.append(line + "\n")
            elif line.startswith("$ "):
                instant.write_text(repr(at))
                monkeypatch.setattr(clock, "now", lambda at=at: at)
                status, said = command.typed(shell, project, line[2:])
                out.append(line + "\n" + tell(said) + ("[%d]\n" % status if status else ""))
        return "\n".join(out)

    return run


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_transcript_is_what_comes_back(play, path):
    """Each command answers as the transcript says."""
    written = path.read_text(encoding="utf-8")
    played = play(written)
    if UPDATE:
        path.write_text(played, encoding="utf-8")
        return
    assert played == written


def test_there_are_transcripts_and_each_says_what_it_shows():
    """An empty folder would pass everything."""
    assert len(FILES) >= 8
    for path in FILES:
        assert path.read_text(encoding="utf-8").startswith("# "), path.name
