"""The page of a checkpoint: its title, its sections, its bounds."""

from __future__ import annotations

import pytest
from harness.session import section

from memory.capture import checkpointpage, openings
from memory.core import frontmatter


def test_questions_and_next_steps_are_open_until_answered(session):
    """What the model asks last is open; what a person answered is not."""
    session.ask("x").edit("a.py").say("Should I keep v1?").ask("yes, keep v1")
    session.say(
        "Kept.\n\nNext steps:\n1. migrate the table\n2. drop the old column\n\n"
        "Should the index be unique?"
    )
    (text,) = session.fire("SessionEnd")
    assert section(text, "Open").strip() == "- Should the index be unique?"
    assert (
        section(session.say("Or not?").ask("yes").edit("b.py").fire("SessionEnd")[1], "Open") == ""
    )
    assert "- migrate the table\n- drop the old column\n" in section(text, "Next")


def test_a_request_that_a_hook_stopped_stands_once(session):
    """The client's own words about it are nobody's request."""
    session.ask("move the cache to disk").ask(
        "Operation stopped by hook: Another session is active"
    )
    session.ask("move the cache to disk").edit("cache.py").say(
        "It is on disk. Shall I drop the old one?"
    )
    session.ask("no, keep it").edit("a.py").say("Kept it.")
    (text,) = session.fire("SessionEnd")
    assert section(text, "Turns").count("move the cache to disk → It is on disk.\n") == 1
    assert (
        "move the cache" not in section(text, "Turns").split("\n", 2)[2]
        and "Operation stopped" not in text
    )


@pytest.mark.parametrize(
    ("build", "title"),
    [
        (
            lambda s: (
                s.ask("do it now")
                .edit("a.py")
                .bash("git commit -m 'Fix login'", "[main 1a2b3c4] Fix login")
            ),
            "Fix login",
        ),
        (
            lambda s: (
                s.ask("please make the login form validate the e-mail")
                .edit("src/login.ts")
                .edit("src/form.ts")
            ),
            "please make the login form validate the e-mail",
        ),
        (lambda s: s.ask("go on").bash("cargo bench", "ok"), "Work on cargo bench"),
        (lambda s: s.ask("go on").edit("src/login.ts").edit("b.py"), "Work on login.ts, b.py"),
        (lambda s: s.ask("로그인 폼을 고쳐 줘. 빨리").edit("a.kt"), "로그인 폼을 고쳐 줘. 빨리"),
        (
            lambda s: (
                s.ask("fix the flaky cache test")
                .edit("a.py")
                .line("ai-title", "", aiTitle="Flaky cache test")
            ),
            "Flaky cache test",
        ),
        (
            lambda s: s.ask(
                "Implement the following plan:\n\n# Plan: Move the cache to disk\n\n1. add a file"
            ).edit("a.py"),
            "Move the cache to disk",
        ),
    ],
)
def test_the_title_comes_from_the_work(session, build, title):
    """The plan, the client's title, the most telling request, the commit, and last what was
    touched.
    """
    build(session)
    session.fire("SessionEnd")
    assert frontmatter.parse(session.where()[0].read_bytes()).meta["title"] == title


def test_what_was_asked_for_is_the_other_name(session):
    """Words of the request find the work under any title; a title is no other name of itself."""
    session.ask("please make the login form validate the e-mail").edit("a.py").fire("SessionEnd")
    (page,) = (frontmatter.parse(path.read_bytes()) for path in session.where())
    assert (
        page.meta["title"] == "please make the login form validate the e-mail"
        and "aliases" not in page.meta
    )
    session.ask("now let the sign-up form check the e-mail too").edit("b.py").line(
        "ai-title", "", aiTitle="E-mail checks"
    ).fire("SessionEnd")
    meta = frontmatter.parse(session.where()[-1].read_bytes()).meta
    assert meta["title"] == "E-mail checks" and meta["aliases"] == [
        "now let the sign-up form check the e-mail too"
    ]


def test_titles_and_bodies_are_bounded(session):
    """However long a session is, its checkpoint has at most 6,000 characters and its title 70."""
    for number in range(80):
        session.ask("request %d " % number + "words " * 200).say(
            "We chose %d because %s." % (number, "reason " * 80)
        )
        session.edit("src/" + "deep/" * 20 + "file%d.py" % number).bash(
            "cargo run --bin b%d -- " % number + "x " * 300, "error: " + "y" * 400, 1
        )
    session.bash("git commit -m '%s'" % ("long " * 60), "[main 1a2b3c4] " + "long " * 60)
    (text,) = session.fire("SessionEnd")
    page = frontmatter.parse(text.encode())
    assert len(page.body) <= checkpointpage.BODY and len(page.meta["title"]) <= openings.TITLE
    for name in ("Outcome", "Turns", "Done"):
        assert section(text, name).strip(), name


LINT = (
    "cmd/a.go:7:9: error returned from external package is unwrapped: sig: func "
    "example.io/cli/paths.AbsPath(name string) (string, error) (wrapcheck)"
)


BARE = "- ✗ `make lint` → exit 1: cart.py:3: unused"
