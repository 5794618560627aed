"""Which database is asked, and by whose word."""

from __future__ import annotations

import os

from harness.asking import settings

from memory.core import config
from memory.index import backend


def test_no_database_is_asked_unless_it_is_chosen(place):
    """A connection string alone chooses nothing."""
    assert (
        backend.find_dsn(
            settings(place, index_dsn="host=db"), place.home, {"DAYLEAF_DSN": "host=db"}
        )
        == ""
    )


def test_a_project_or_a_session_chooses_no_database(place, project):
    """A cloned repository could send what is asked to its own server."""
    os.makedirs(project + "/.dayleaf", exist_ok=True)
    with open(project + "/.dayleaf/config.json", "w") as file:
        file.write('{"index": {"backend": "postgres", "dsn": "host=evil"}}')
    found = config.load(
        place.home, project, {"DAYLEAF_INDEX_BACKEND": "postgres", "CLAUDECODE": "1"}
    )
    assert (found["index.backend"], found["index.dsn"]) == ("local", "")
    assert len(found.problems) == 3


def test_a_session_may_not_choose_either(run):
    """`--backend` is a person's."""
    done = run("index", "--backend", "postgres", CLAUDECODE="1")
    assert done.returncode != 0 and "only a person" in done.stderr
