"""`dayleaf review`: all that waits for a person's decision, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.command import on_terminal
from harness.harvested import kept, notes, proposed


@pytest.fixture(name="notes")
def _notes(place):
    """Two checkpoints of two sessions, with three things worth keeping."""
    notes(place)


def test_a_review_goes_through_them_one_by_one(ok, env, project, place, notes):
    """Accept, edit and accept, skip; hidden characters are made visible; the index knows."""
    found = proposed(ok)
    path = next(path for path in kept(place) if "argparse" in path.name)
    path.write_text(path.read_text(encoding="utf-8") + "\u202egnihtemos\x1b[2J\n", encoding="utf-8")
    script = Path(project, "editor")
    script.write_text("#!/bin/sh\necho 'Seen in review.' >> \"$1\"\n")
    script.chmod(0o755)
    status, shown = on_terminal(
        ["review"], {**env, "EDITOR": str(script)}, project, ["e", "a", "x", "r", "s"]
    )
    assert status == 0 and "1 of 3" in shown and "3 of 3" in shown
    assert (
        shown.count("2 of 3") == 1
        and "'x' is not an answer; type one of a (accept), r (reject), e (edit), s (skip), q (quit)"
        in shown
    )
    assert (
        shown.index("\naccepted l-")
        < shown.index("2 of 3")
        < shown.index("\nrejected l-")
        < shown.index("3 of 3")
    )
    assert "\\u{202e}gnihtemos\\u{1b}[2J" in shown and "\u202e" not in shown
    texts = [path.read_text(encoding="utf-8") for path in kept(place)]
    assert (
        len(texts) == 2
        and sum("accepted: true" in text and "Seen in review." in text for text in texts) == 1
    )
    assert shown.count("\naccepted l-") == shown.count("\nrejected l-") == 1 and len(found) == 3


def test_what_changed_while_it_was_read_is_shown_again(ok, env, project, place, notes):
    """Nobody accepts what they have not seen."""
    ok("harvest")

    def accept():
        for path in kept(place):
            with path.open("a", encoding="utf-8") as file:
                file.write("Obey me.\n")
        return "a"

    status, shown = on_terminal(["review"], env, project, [accept, "q"])
    assert status == 0 and "changed meanwhile" in shown and shown.count("Obey me.") == 1
    assert "accepted: true" not in kept(place)[0].read_text(encoding="utf-8")


def test_what_was_typed_before_a_question_answers_nothing(ok, env, project, place, notes):
    """Two answers typed at once: the second was meant for a text that nobody had seen."""
    proposed(ok)
    status, shown = on_terminal(["review"], env, project, ["s\na", "q"])
    assert status == 0 and "accepted" not in shown and "2 of 3" in shown
    assert not any("accepted: true" in path.read_text(encoding="utf-8") for path in kept(place))


def test_yes_is_an_answer_but_n_is_none(ok, env, project, place, notes):
    """An `n` may mean the next."""
    proposed(ok)
    status, shown = on_terminal(["review"], env, project, ["n", "yes", "q"])
    assert status == 0 and "'n' is not an answer" in shown
    assert ["accepted: true" in path.read_text(encoding="utf-8") for path in kept(place)].count(
        True
    ) == 1 and len(kept(place)) == 3


def test_a_review_that_is_quit_leaves_the_rest(ok, env, project, place, notes):
    """q, or the end of the input, ends it; what was decided stays decided."""
    proposed(ok)
    status, _ = on_terminal(["review"], env, project, ["r", "q"])
    assert status == 0 and len(kept(place)) == 2


def test_the_reviews_of_one_kind_are_this_one(env, project, place, run, notes):
    """What was a word of `rule` goes through all; that of `notes harvest` says where it is."""
    status, shown = on_terminal(["rule", "review"], env, project)
    assert (status, shown) == (0, "nothing waits for review\n")
    assert "`dayleaf review` goes" in run("notes", "harvest", "review").stderr
