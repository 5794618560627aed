"""After ./install.sh: the user's own past sessions are offered, read, and found something in."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
from pathlib import Path

import pytest
from harness.hook import ROOT
from harness.newcomer import Newcomer

SCRIPT = str(Path(ROOT, "install.sh"))
CTRL_C = "\x03"
COMMAND = "dayleaf store import transcripts --all"


@pytest.fixture
def user(tmp_path) -> Newcomer:
    return Newcomer(tmp_path)


def at_terminal(user: Newcomer, reply: str) -> str:
    """Run install.sh on a terminal, let no model write notes, and answer the offer; return what was
    shown.
    """
    replies = {b"Let it write them? [y/N] ": b"n\n", b"Import them now? [Y/n] ": reply.encode()}
    pid, fd = pty.fork()
    if not pid:
        os.chdir("/")
        os.execve("/bin/sh", ["sh", SCRIPT], user.env)
    shown = b""
    while True:
        # a Ctrl-C between the question and Python's reading of the answer is lost: press it again
        while _is_lost(shown) and not select.select([fd], [], [], 5)[0]:
            os.write(fd, CTRL_C.encode())
        try:
            piece = os.read(fd, 1 << 16)
        except OSError:  # Linux ends a terminal so
            break
        if not piece:
            break
        shown += piece
        for question in [one for one in replies if shown.endswith(one)]:
            os.write(fd, replies.pop(question))
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown
    return re.sub(r"\x1b\[[\d;]*[mK]", "", shown.decode("utf-8", "replace")).replace("\r", "")


def _is_lost(shown: bytes) -> bool:
    """Tell whether a terminal shows a Ctrl-C and nothing after it."""
    return shown.endswith(b"] ^C")


def without_terminal(user: Newcomer) -> str:
    done = subprocess.run(
        ["sh", SCRIPT],
        cwd="/",
        env=user.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout


def settled(user: Newcomer) -> Path:
    """Give them a checkpoint of a session, so that no demonstration is shown; return its file."""
    kept = user.home / ".dayleaf" / "workspaces" / "old" / "checkpoints" / "2026-01-02" / "one.md"
    kept.parent.mkdir(parents=True, mode=0o700)
    kept.write_text("---\ntitle: The footer\n---\nThere is a footer now.\n")
    return kept


def imported(user: Newcomer) -> list[Path]:
    return sorted((user.home / ".dayleaf" / "workspaces").glob("*/checkpoints/*/*.md"))


def test_who_says_yes_starts_with_three_things_of_their_own(user):
    """After a plan: how much of which projects, and how long; each thing can be shown from
    anywhere.
    """
    shown = at_terminal(user, "y\n")
    plan = shown.partition("your past sessions\n")[2].partition("Import them now?")[0].splitlines()
    assert plan[0] == "3 past sessions of 2 projects can be imported, less than 1 MB:"
    assert [line.split()[:3] for line in plan[1:3]] == [
        ["site", "1", "session"],
        ["shop", "2", "sessions"],
    ]
    assert plan[3].startswith("That takes about 1 s, the newest first; Ctrl-C stops it")
    assert "3 sessions: 3 imported; 3 checkpoints, 3 conversations written" in shown
    things = shown.partition("Found in them:\n")[2]
    assert 'you decided: "no, retry once after 30 s, and with the same idempotency key"' in things
    assert "this failed in 2 sessions: `npm test` (missing script: test)" in things
    assert "and this worked: `pnpm run check`" in things
    assert 'you asked for: "From now on always run `make lint` first."' in things
    commands = re.findall(r"^    (\S+ show \S+)$", things, re.M)
    answers = [
        subprocess.run(
            ["sh", "-c", command], cwd="/", env=user.env, capture_output=True, text=True, check=True
        ).stdout
        for command in commands
    ]
    for said, answer in zip(("idempotency key", "pnpm run check", "make lint"), answers):
        assert said in answer
    assert len(answers) == 3
    assert "A demonstration" not in shown, "their own sessions show more"


@pytest.mark.parametrize("reply", ["n\n", CTRL_C, "\x04"])
def test_who_says_no_hears_how_to_do_it_later(user, reply):
    """Nothing is imported, and the set-up goes on: with a demonstration where they hold nothing."""
    held = [] if reply == "n\n" else [settled(user)]
    shown = at_terminal(user, reply)
    assert "Nothing was imported; `~/.local/bin/%s` does it at any time." % COMMAND in shown
    assert imported(user) == held and "Found in them" not in shown
    assert ("A demonstration" in shown) == (not held) and "Done." in shown
    assert max(map(len, shown.partition("Done.")[2].splitlines())) <= 100


def test_without_a_terminal_it_imports_nothing_and_says_the_command(user):
    """The plan is shown all the same."""
    kept = settled(user)
    user.path = "%s/.local/bin:%s" % (user.home, user.path)
    shown = without_terminal(user)
    assert "3 past sessions of 2 projects can be imported" in shown
    assert "Nothing was imported; `%s` does it at any time." % COMMAND in shown
    assert imported(user) == [kept]


def test_a_second_run_offers_only_what_is_new(user):
    """Then nothing; what is passed over is said."""
    command = [str(Path(ROOT, "bin", "dayleaf")), *COMMAND.split()[1:]]
    subprocess.run(command, cwd="/", env=user.env, capture_output=True, check=True)
    assert len(imported(user)) == 3
    one = user.session(user.site, 0.5, "11111111-aaaa-4aaa-8aaa-000000000004")
    one.ask("Add a footer").edit("footer.tsx", "-x", "+y").say("There is a footer now.")
    user.over(one)
    gone = user.session(user.base / "gone", 3, "11111111-aaaa-4aaa-8aaa-000000000005")
    user.over(gone.ask("Hello").say("Hello."))
    shown = at_terminal(user, "y\n")
    assert "1 past session of 1 project can be imported" in shown
    assert "Left out: 1 session (its directory is gone: %s/gone)" % user.base in shown
    assert "They hold no decision, repeated failure or standing wish in your words" in shown
    assert len(imported(user)) == 4
    shown = at_terminal(user, "y\n")
    assert "No past session is left to import." in shown and "Import them now?" not in shown


def test_without_past_sessions_nothing_is_offered(user):
    settled(user)
    for path in (user.home / ".claude" / "projects").glob("*/*.jsonl"):
        path.unlink()
    assert "past sessions" not in without_terminal(user)


def test_the_next_session_greets_with_the_projects_last_work(user):
    """In each project with its own; Enter alone is a yes."""
    at_terminal(user, "\n")
    for project, when, last in (
        (
            user.shop,
            "2 days ago",
            "Refunds are tested now, a partial one too; 1 record waits for review",
        ),
        (user.site, "25 h ago", "The pricing table is its own component in src/Pricing.tsx."),
    ):
        event = {
            "session_id": "next",
            "transcript_path": "/x.jsonl",
            "cwd": str(project),
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
        done = subprocess.run(
            [str(Path(ROOT, "hooks", "run")), "session_start"],
            env={**user.env, "CLAUDE_PROJECT_DIR": str(project)},
            input=json.dumps(event),
            capture_output=True,
            text=True,
            check=True,
        )
        greeting = json.loads(done.stdout)["systemMessage"].splitlines()
        assert greeting[0].startswith("dayleaf: last on main, %s: %s" % (when, last))
        assert len(greeting) == 1
