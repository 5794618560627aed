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


@pytest.mark.parametrize(("leaf", "title"), [("mine", "Named by the client"), ("x", "")])
def test_a_title_of_another_session_names_nothing(session, leaf, title):
    """At the top of its files an older client repeats those of the sessions before."""
    session.line("summary", "", summary="Named by the client", leafUuid=leaf)
    session.ask("please make the login form validate the e-mail", uuid="mine").edit("a.py")
    session.fire("SessionEnd")
    meta = frontmatter.parse(session.where()[0].read_bytes()).meta
    assert meta["title"] == (title or "please make the login form validate the e-mail")


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


# --- what came of it


def ended(session):
    return session.line("system", "", subtype="turn_duration")


def test_what_leads_on_to_a_call_is_no_outcome(session):
    """The last statement is one only where the turn ends with it."""
    session.ask("why is it slow?").edit("a.py")
    session.say("The index is missing on the second column, so that each read scans the table.")
    session.tool("Read", {"file_path": "/b.py"}, "text")
    session.say("Let me read how the table is made, and by which of the two migrations it is.")
    session.tool("Read", {"file_path": "/c.py"}, "text")
    (text,) = session.fire("SessionEnd")
    assert section(text, "Outcome").startswith("- in progress at the end: why is it slow?\n")


def test_a_last_remark_that_nobody_answered_stands_behind_the_outcome(session):
    """What came out before it is the session's outcome."""
    session.ask("why is it slow?").edit("a.py")
    session.say("The index is missing on the second column; I added it.")
    (text,) = session.ask("aha, now i see. thx").fire("SessionEnd")
    assert section(text, "Outcome").strip().split("\n") == [
        "- The index is missing on the second column; I added it.",
        "- in progress at the end: aha, now i see. thx",
    ]


def test_what_was_typed_while_the_model_worked_stands_among_the_turns(session):
    session.ask("move the cache to disk").edit("a.py")
    session.line("attachment", "", attachment={"type": "queued_command", "prompt": "keep the TTL"})
    (text,) = session.say("Moved, and the TTL is kept.").fire("SessionEnd")
    assert [line[8:] for line in section(text, "Turns").split("\n")[:2]] == [
        "move the cache to disk",
        "(while working) keep the TTL",
    ]


def test_an_answer_to_a_notice_is_no_outcome(session):
    """Unless something was done in it."""
    notice = "<task-notification><status>completed</status></task-notification>"
    session.ask("measure it").edit("a.py").say("Reads take half the time now.")
    ended(session).line("user", notice)
    (text,) = ended(session.say("That was the server of before.")).fire("SessionEnd")
    assert section(text, "Outcome").strip() == "- Reads take half the time now."
    session.line("user", notice).edit("b.py").say("The report is written.")
    assert "- The report is written." in ended(session).fire("SessionEnd")[-1]


def test_a_side_question_after_a_commit_is_not_what_the_work_came_to(session):
    session.ask("fix the login").edit("a.py")
    session.bash("git commit -am 'Fix login'", "[main 1a2b3c4] Fix login\n 1 file changed")
    session.say("The login keeps its return address now.")
    (text,) = session.ask("what is a nonce?").say("A number used once.").fire("SessionEnd")
    assert section(text, "Outcome").strip() == (
        "- The login keeps its return address now.\n"
        "- asked after it: what is a nonce? → A number used once."
    )
    session.ask("and the logout?").edit("b.py").say("The logout does too.")
    assert section(session.fire("SessionEnd")[-1], "Outcome").strip() == "- The logout does too."


def test_a_wish_that_was_acknowledged_is_not_what_the_work_came_to(session):
    """Without a commit too; after a turn that was stopped nothing came of it."""
    session.ask("write tests for add").edit("test_add.py")
    session.say("They are green.").ask("never push to main").say("Agreed.")
    (text,) = session.ask("ejecuta siempre make lint").say("Vale.").fire("SessionEnd")
    assert section(text, "Outcome").strip() == (
        "- They are green.\n- asked after it: ejecuta siempre make lint → Vale."
    )
    session.ask("and for sub").edit("test_sub.py")
    text = session.ask("stop, thank you").say("Okay.").fire("SessionEnd")[-1]
    assert section(text, "Outcome").strip() == "- Okay."


def test_a_statement_that_leads_on_to_code_ends_with_it(session):
    session.ask("how do I call it?").edit("a.py")
    (text,) = session.say("Call it so:\n\n```sh\nmake all\n\nmake test\n```").fire("SessionEnd")
    assert section(text, "Outcome").strip() == "- Call it so: `make all make test`"


def test_a_table_is_told_row_by_row_and_a_command_without_its_comment(session):
    session.ask("answer them").bash("# Clean up\n\n# twice\ncd /w && rmdir a\nls", "rmdir: no", 1)
    session.say("Both are answered:\n\n| Comment | Reply |\n|---|---|\n| 27 | `Fixed` in 003ded2 |")
    (text,) = session.fire("SessionEnd")
    assert section(text, "Outcome").strip() == (
        "- Both are answered: Comment, Reply; 27, `Fixed` in 003ded2"
    )
    assert "- ✗ `rmdir a …` → exit 1" in section(text, "Commands")


def test_the_commit_of_most_edits_names_the_work(session):
    """Neither a note after it, nor a merge."""
    session.ask("go")
    for number in range(4):
        session.change("a%d.py" % number, "one", "two").bash("pytest -q", "1 passed in 0.1s")
    session.bash("git commit -am 'Cache by branch'", "[main 1a2b3c4] Cache by branch\n 4 files")
    session.change("notes.md", "one", "two")
    session.bash("git commit -am 'Update notes'", "[main 2b3c4d5] Update notes\n 1 file")
    for number in range(9):
        session.change("b%d.py" % number, "one", "two").bash("pytest -q", "1 passed in 0.1s")
    session.bash("git commit -am x", "[main 3c4d5e6] Merge branch 'other' into main\n 9 files")
    (text,) = session.say("All is in.").fire("SessionEnd")
    assert frontmatter.parse(text.encode()).meta["title"] == "Cache by branch"


def notify(session, ids, status, code):
    return session.line(
        "user",
        '<task-notification>\n%s\n<status>%s</status>\n<summary>Background command "make build" '
        "%s%s</summary>\n</task-notification>" % (ids, status, status, code),
        promptSource="system",
        turnOrigin="task_notification",
    )


IDS = ("<task-id>b1</task-id>\n<tool-use-id>toolu_sess-1_1</tool-use-id>", "<task-id>b1</task-id>")


@pytest.mark.parametrize("ids", [*IDS, "", "<task-id>b2</task-id>"])
def test_a_command_that_failed_in_background_is_open(session, ids):
    """By the client's notice or its structured result, until one that passes covers it."""
    given = {"command": "make build", "run_in_background": True}
    running, result = "Command running in background with ID: b1", {"backgroundTaskId": "b1"}
    session.ask("build it").tool("Bash", given, running, result=result).edit("a.py")
    if ids:
        notify(session, ids, "failed", " with exit code 2")
    else:
        task = {"task_id": "b1", "task_type": "local_bash", "status": "failed", "exitCode": 2}
        session.tool("TaskOutput", {"task_id": "b1"}, "x", result={"task": {**task, "output": ""}})
    text = session.say("I look at it tomorrow.").fire("SessionEnd")[-1]
    failed = "- `make build` failed at the end: exit 2"
    assert (section(text, "Open").strip() == failed) is ("b2" not in ids)
    session.ask("again").tool("Bash", given, running, result={"backgroundTaskId": "b3"})
    notify(session, "<task-id>b3</task-id>", "completed", " (exit code 0)").edit("b.py")
    assert failed not in section(session.say("It builds.").fire("SessionEnd")[-1], "Open")


def test_a_notice_that_waited_while_the_model_worked_tells_too(session):
    running, result = "Command running in background with ID: b1", {"backgroundTaskId": "b1"}
    given = {"command": "make build", "run_in_background": True}
    session.ask("build it").tool("Bash", given, running, result=result).edit("a.py")
    note = (
        "<task-notification>\n<task-id>b1</task-id>\n<status>failed</status>\n<summary>Background "
        'command "make build" failed with exit code 2</summary>\n</task-notification>'
    )
    for _ in range(2):
        session.line("attachment", "", attachment={"type": "queued_command", "prompt": note})
    text = session.edit("b.py").say("I go on.").fire("SessionEnd")[-1]
    assert section(text, "Open").count("failed at the end: exit 2") == 1
