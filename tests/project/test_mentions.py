"""What a record names: files, commits."""

from __future__ import annotations

import pytest
from harness.repository import note

from memory.project import mentions


@pytest.mark.parametrize(("path", "body", "meta", "named"), [
    ("jwt.py", "x", "files: [src/auth/jwt.py]\n", True), ("auth/jwt.py", "x", "files: src/auth/jwt.py\n", True),
    ("wt.py", "x", "files: [src/auth/jwt.py]\n", False), ("src/auth/jwt.py", "in `src/auth/jwt.py`:", "", True),
    ("jwt.py", "in src/auth/jwt.py.", "", True), ("jwt.py", "myjwt.py", "", False), ("jwt.py", "jwt.pyc", "", False),
    ("", "anything", "", False)])
def test_a_file_is_mentioned_by_the_end_of_its_path(path, body, meta, named):
    """Whole path parts count."""
    assert mentions.mentions(note(body, meta), path) is named


def test_brackets_around_a_path_are_no_part_of_it_and_those_in_it_are():
    """A link, a parenthesis and a call name the file alone; folders in brackets stay whole."""
    assert mentions.mentioned("(src/a.py), [b](src/b.py) and open(src/c.py)") == ["src/a.py", "src/b.py", "src/c.py"]
    assert mentions.mentioned("app/(shop)/[id]/page.tsx, app/[[slug]]/x.ts") == ["app/(shop)/[id]/page.tsx", "app/[[slug]]/x.ts"]
