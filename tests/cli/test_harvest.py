"""`dayleaf notes harvest`: narrowed, tried, and decided on by a person at a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.command import on_terminal
from harness.harvested import CACHE, CLICK, kept, notes, proposed
from harness.vault import put


@pytest.fixture(name="notes")
def _notes(place):
    """Two checkpoints of two sessions, with three things worth keeping."""
    notes(place)


def test_a_dry_run_writes_nothing(ok, place, notes):
    """It shows what would be proposed."""
    assert "would suggest  Use `argparse`" in ok("harvest", "--dry-run")
    assert kept(place) == []


def test_time_narrows_it(ok, notes):
    """Only checkpoints that fit are read."""
    assert set(proposed(ok, "--since", "2026-11-15", "--dry-run")) == {"Keep", "`pytest`"}
    assert ok("harvest", "--since", "2099-01-01") == "no checkpoint to harvest\n"


@pytest.mark.parametrize("words", [("accept", "ID"), ("reject", "ID")])
def test_only_a_person_at_a_terminal_decides(run, ok, env, project, place, notes, words, expand):
    """A pipe, the model's shell, a slash command: each is refused with one line, and nothing
    changes.
    """
    first = next(iter(proposed(ok).values()))["id"]
    words = [first if word == "ID" else word for word in words]
    before = [path.read_bytes() for path in kept(place)]
    done = run("harvest", *words)
    assert (done.returncode, done.stderr.count("\n")) == (
        2,
        1,
    ) and "in your own terminal" in done.stderr
    status, shown = on_terminal(["harvest", *words], {**env, "CLAUDECODE": "1"}, project, ["yes"])
    assert status == 2 and "only a person decides" in shown
    assert "only a person decides" in expand("harvest", " ".join(words))["reason"]
    assert [path.read_bytes() for path in kept(place)] == before


def test_what_a_person_accepts_is_pushed(ok, env, project, notes):
    """`accepted: true` and the index know at once; the other candidates stay."""
    found = proposed(ok)
    status, shown = on_terminal(["harvest", "accept", found["Use"]["id"]], env, project)
    assert status == 0 and "accepted %s" % found["Use"]["id"] in shown
    assert CLICK[:40] in ok("load", "why argparse instead of click import")
    assert found["Keep"]["id"] in ok("harvest", "list") and found["Use"]["id"] not in ok(
        "harvest", "list"
    )


def test_what_a_person_rejects_never_comes_back(ok, env, project, place, notes):
    """The archive keeps it with its key, also where it was reworded before."""
    found = proposed(ok)
    path = next(path for path in kept(place) if "argparse" in path.name)
    path.write_text(
        path.read_text(encoding="utf-8")
        .replace(CLICK, "Reworded.")
        .replace("Use `argparse`", "Took"),
        encoding="utf-8",
    )
    status, shown = on_terminal(
        ["harvest", "reject", found["Use"]["id"], found["Keep"]["id"]], env, project
    )
    assert status == 0 and shown.count("rejected l-") == 2
    assert '"reason":"rejected"' in Path(place.path("p/archive/log.jsonl")).read_text(
        encoding="utf-8"
    ).replace(": ", ":")
    assert ok("harvest").startswith("nothing new")
    put(
        place,
        "p/checkpoints/c-3.md",
        "Three",
        "Decision: " + CACHE.replace("no server", "no server at all"),
        created="2026-11-21",
    )
    assert ok("harvest").startswith("nothing new")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["acept"], "did you mean 'accept'?"),
        (["list", "more"], "takes no more words"),
        (["list", "--since", "7d"], "takes no --since"),
        (["--since", "someday"], "is not a time"),
    ],
)
def test_wrong_words_end_with_one_line(run, words, said):
    """Status 2, and what was meant."""
    done = run("harvest", *words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
