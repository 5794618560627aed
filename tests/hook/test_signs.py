"""Signs of life: what the user hears once at a session's start."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import vault, worked
from harness.hook import ROOT, fire, harmless, payload
from harness.repository import received

from memory.core import boundary, clock, config, files, layout
from memory.health import worker
from memory.hook import announcements, signs
from memory.index import builder

QUIET = {"DAYLEAF_RUNTIME_AUTO": "0"}


def heard(place, env, now, event=None):
    """Return the lines of a start's notices."""
    settings = config.load(place.home, place.root, {**env, **QUIET})
    return signs.format_notices(
        place, settings, event if event is not None else {}, now
    ).splitlines()


def test_a_start_after_which_nothing_failed_says_nothing(place, env, now):
    assert heard(place, env, now) == []


def test_a_failure_is_said_with_its_place_and_the_remedy(place, env, now):
    """The newest of them is named, all are counted."""
    boundary.log_failure(env, "prompt", ValueError("no text of the user's"))
    boundary.log_failure(env, "stop", OSError(28, "No space left on device"))
    (line,) = heard(place, env, now)
    assert line == (
        "dayleaf: 2 failures since the last session (stop: OSError No space left on device); "
        "`dayleaf doctor` says more"
    )


def test_a_repository_that_brings_records_is_announced(place, env, now):
    """Until a worker has marked it as said."""
    vault.put(place, "s/learnings/a.md", "A note", "Of others.")
    assert heard(place, env, now) == []  # git does not track it: it is the user's own
    received(place.root, env)
    event = {}
    assert heard(place, env, now, event) == [
        "dayleaf: 1 record new in this repository's .dayleaf; none of them waits for review"
    ]
    assert event == {announcements.ANNOUNCED_KEY: True}


@pytest.mark.parametrize(
    "log, said",
    [
        ("", "dayleaf: recall and distill are being set up in the background"),
        (
            "  python3 -> runtime\ninstall.sh: no Python 3.10 or newer found; install one\n",
            (
                "dayleaf: the runtime could not be set up: no Python 3.10 or newer "
                "found; install one; '"
            ),
        ),
    ],
)
def test_a_runtime_that_is_missing_is_said_with_what_became_of_its_set_up(
    place, env, now, log, said
):
    """Where only the plugin is there, this is all a user sees of it."""
    Path(place.home, "log").mkdir(parents=True)
    Path(place.home, "log", "setup.log").write_text(log)
    (line,) = signs.format_notices(
        place, config.load(place.home, place.root, env), {}, now
    ).splitlines()
    assert line.startswith(said)


@pytest.mark.parametrize("price", ["", ", some 0.0235 US dollars by your calls so far"])
def test_the_question_about_notes_says_what_they_cost(place, env, now, price):
    Path(place.home, "log").mkdir(parents=True)
    Path(place.home, "log", "notes.offer").write_text("4700%s\n" % price)
    settings = config.load(place.home, place.root, env)
    (line,) = signs.notes_offer_notice(place, settings, {})
    assert "a note of each session, for about 4700 tokens%s; it gets" % price in line


def test_a_home_that_is_no_directory_promises_nothing(place, env, now, tmp_path):
    (tmp_path / "file").write_text("")
    lost = layout.Place(str(tmp_path / "file/.dayleaf"), "x-1", place.root, place.root, "", "")
    [line] = signs.format_notices(
        lost, config.load(lost.home, place.root, env), {}, now
    ).splitlines()
    assert line.startswith("dayleaf: %s cannot be written, so" % (tmp_path / "file"))


@pytest.mark.parametrize("part", ["cache", "private"])
def test_a_folder_that_cannot_be_written_is_named_at_every_start(
    place, env, now, monkeypatch, part
):
    """Nothing else could tell it: what failed is written down there."""
    Path(getattr(place, part)).mkdir(parents=True)
    monkeypatch.setattr(
        files.posix, "access", lambda path, mode: path != getattr(place, part) + "/."
    )
    for _ in range(2):
        (line,) = heard(place, env, now)
        assert line.startswith("dayleaf: %s cannot be written, so" % getattr(place, part))


def test_a_runtime_that_was_set_up_is_said_once_with_the_line_for_the_terminal(place, env, now):
    """The worker after the start takes the mark away."""
    for path, text in (("runtime/bin/python", ""), ("log/setup.ready", "12\n")):
        file = Path(place.home, path)
        file.parent.mkdir(parents=True)
        file.write_text(text)
    event = {}
    assert heard(place, env, now, event) == [
        (
            "dayleaf: the runtime is ready (it took 12 s); for `dayleaf` in your terminal: "
            "mkdir -p ~/.local/bin && ln -sf '%s/bin/dayleaf' ~/.local/bin/dayleaf; if the shell "
            'still does not find it: export PATH="$HOME/.local/bin:$PATH"'
        )
        % ROOT,
        "dayleaf: there, `dayleaf store import transcripts --all --ask` offers your past sessions",
    ]
    worker.AFTER_START[0][1](
        worker.Job(event, env, now, place, config.load(place.home, place.root, env), [])
    )
    assert heard(place, env, now) == []


# ---- where the work stands


def greeted(world, source="startup", **keys):
    """Return what the user sees at a start."""
    return harmless(
        fire("session_start", payload("SessionStart", source, session_id="new-1", **keys), world)
    ).message


def test_the_user_hears_where_the_work_stands(place, project, world, now):
    """In one line, with the hours, of this branch; after a compaction not again."""
    at = clock.iso(clock.now() - 2.5 * 3600)[:16]
    worked.checkpoint(place, "mine", at, "feature/x", title="Retries half moved")
    builder.build(place, now)
    worked.checkout(project, "feature/x")
    assert greeted(world) == "dayleaf: last on feature/x, 2 h ago: Retries half moved"
    assert [greeted(world, source) for source in ("clear", "resume", "compact")] == [
        "dayleaf: last on feature/x, 2 h ago: Retries half moved"
    ] * 2 + [""]
    worked.checkout(project, "fix")
    assert (
        greeted(world)
        == "dayleaf: no work on fix yet; newest: Retries half moved (feature/x, 2 h ago)"
    )


def test_a_resumed_session_is_greeted_with_its_own_work(place, project, world, now):
    worked.checkpoint(
        place,
        "mine",
        clock.iso(clock.now() - 3 * 86400)[:16],
        "main",
        "new-1",
        title="Retries half moved",
    )
    builder.build(place, now)
    worked.checkout(project, "main")
    assert greeted(world, "resume") == "dayleaf: last on main, 3 days ago: Retries half moved"


def test_the_work_of_others_is_nothing_to_come_back_to(place, project, world, now):
    """Younger checkpoints of the repository are left out; the user's own of the branch is found
    below them.
    """
    worked.checkpoint(
        place, "mine", clock.iso(clock.now() - 3 * 86400)[:16], title="Retries half moved"
    )
    told = worked.page(Outcome="The release is out, as it was said long before.")
    for n in range(9):
        vault.put(
            place,
            "s/checkpoints/2026-11-20/1%d1500-other.md" % n,
            "Of others",
            told,
            id="other%d" % n,
            branch="main",
            session="o-%d" % n,
            created='"%s"' % clock.iso(clock.now() - 86400),
        )
    builder.build(place, now)
    worked.checkout(project, "main")
    assert greeted(world).splitlines()[0] == "dayleaf: last on main, 3 days ago: Retries half moved"


def test_what_waits_for_review_is_counted(place, project, world, now):
    """Candidates and rules, those too that the index has not read yet; not what was accepted."""
    vault.put(place, "p/learnings/a.md", "A candidate", "x", source="auto")
    vault.put(place, "p/learnings/b.md", "A learning", "x")
    builder.build(place, now)
    assert greeted(world) == "", "there is no work to come back to"
    worked.checkpoint(place, "mine", "2026-11-20T10:15", title="Retries half moved")
    worked.checkout(project, "main")
    builder.build(place, now)
    assert greeted(world).endswith(": Retries half moved; 1 record waits for review")
    vault.put(place, "p/learnings/c.md", "Another candidate", "x", source="auto")
    vault.put(
        place, "p/rules/r.md", "A rule", "Prefer plain functions.", rationale="they read well"
    )
    assert greeted(world).endswith("; 3 records wait for review")


def test_what_there_is_without_any_work_is_said(place, project, world, now, ok):
    """In one line, with what of it waits; a resumed session has had it."""
    said = {"rationale": "You said so.", "said": "2026-11-01"}
    vault.put(place, "p/rules/w.md", "Never use print", "", id="r-w", **said)
    assert greeted(world) == "dayleaf: from before: 1 standing wish; 1 record waits for review"
    ok("handoff", "The retries are half moved into the queue.")
    ok("plan", "new", "Move the retries", "--step", "Move")
    vault.put(place, "p/rules/x.md", "Never use mocks", "", id="r-x", **said)
    builder.build(place, now)
    assert greeted(world) == (
        "dayleaf: from before: 1 handoff, 1 active plan, 2 standing wishes; "
        "2 records wait for review"
    )


def test_nothing_is_said_where_there_is_nothing_or_it_is_switched_off(place, project, world, now):
    """An empty store, `load.session`, a subagent's start; failures are said all the same, on a
    line of their own.
    """
    assert greeted(world) == ""
    worked.checkpoint(place, "mine", "2026-11-20T10:15", title="Retries\u202e half \x1b[31mmoved")
    builder.build(place, now)
    worked.checkout(project, "main")
    (line,) = greeted(world).splitlines()
    assert line.startswith("dayleaf: last on main, ") and line.endswith(
        " ago: Retries half [31mmoved"
    )
    assert (
        greeted(world, agent_id="a1") == ""
        and greeted({**world, "DAYLEAF_LOAD_SESSION": "0"}) == ""
    )
    boundary.log_failure(world, "stop", OSError(28, "No space left on device"))
    assert [line.split()[1] for line in greeted(world).splitlines()] == ["last", "1"]
