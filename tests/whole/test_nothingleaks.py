"""A session that meets secrets everywhere, served by the real hooks: no file of the home holds one
of them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import hook
from harness.leaks import ALNUM, HEX, made, pem
from harness.session import Ending, secret_of

TOKEN, BRANCH, NAMED, REMOTE, SUBJECT = map(secret_of, range(11, 16))
PASSWORD, BELOW, KEY = (
    "Mar" + "ble!" + made("pw", ALNUM, 6),
    made("below", ALNUM, 16),
    made("key", HEX, 40),
)
ASKED, TYPED = (
    made("asked", ALNUM, 14),
    "r"
    + "e_"
    + made("re", ALNUM.replace("0", "").replace("O", "").replace("I", "").replace("l", ""), 8)
    + "_"
    + made("re2", ALNUM.replace("0", "").replace("O", "").replace("I", "").replace("l", ""), 24),
)
PLANTED = {
    "the prompt": TOKEN,
    "a branch": BRANCH,
    "a file's name": NAMED,
    "a command": PASSWORD,
    "below its label": BELOW,
    "the output": KEY,
    "an answer to a question": ASKED,
    "the first words": TYPED,
    "a key's file": pem(seed="whole")[4],
    "a remote": REMOTE,
    "a commit's subject": SUBJECT,
}


def holding(home: str, secret: str) -> list[str]:
    """Return the paths below the home that hold a secret, in their name or in their bytes; the
    runtime apart.
    """
    root = Path(home, ".dayleaf")
    found = []
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.split("/")[0] == "runtime":
            continue
        if secret in name or (path.is_file() and secret.encode() in path.read_bytes()):
            found.append(name)
    return found


@pytest.fixture
def talk(world, env, project, now):
    """A session on a branch whose name holds a token, with secrets in all that is said, typed, run,
    shown and changed.
    """
    subprocess.run(
        ["git", "checkout", "-q", "-b", "fix/" + BRANCH], cwd=project, check=True, env=env
    )
    subprocess.run(
        ["git", "remote", "add", "origin", "https://joe:%s@git.example.org/o/r.git" % REMOTE],
        cwd=project,
        check=True,
    )
    talk = Ending(env, project, now).on("fix/" + BRANCH)
    talk.ask("%s is our mail key, make the login test pass with %s" % (TYPED, TOKEN)).say(
        "I read the settings first."
    )
    talk.bash("cat .env", "API_KEY=%s\nMODE=dev" % KEY).bash(
        "mysql -u root -p'%s' shop" % PASSWORD, "ERROR 1045: access denied", 1
    )
    talk.bash("mysql -u root -p'%s' -h db shop" % PASSWORD, "ok").edit(
        "src/%s.py" % NAMED, "-old", "+new"
    )
    talk.ask("use these\n\nadmin password:\n```\n%s\n```\nplease" % BELOW).say(
        "What is the password for the staging host?"
    )
    talk.ask(ASKED).bash("cat id_rsa", "\n".join(pem(seed="whole"))).bash(
        "pytest -q", "1 failed in 1s", 1
    )
    talk.bash(
        "git commit -m 'try %s'" % SUBJECT, "[fix/x 1a2b3c4] try %s\n 1 file changed" % SUBJECT
    )
    return (
        talk.edit("src/login.py")
        .bash("pytest -q", "1 passed in 1s")
        .say("The login test passes now.")
    )


def served(talk, world, event, **more):
    """Give an event to its hook as the client does, and wait for its detached work."""
    words = {
        "Stop": "stop",
        "SessionEnd": "session_end",
        "SessionStart": "session_start",
        "UserPromptSubmit": "prompt",
        "PostToolUseFailure": "failure",
    }
    payload = {
        "hook_event_name": event,
        "session_id": talk.name,
        "transcript_path": str(talk.path),
        "cwd": talk.project,
        **more,
    }
    answer = hook.harmless(hook.fire(words[event], payload, world))
    assert answer.settled
    return answer


def test_no_secret_of_a_session_reaches_the_home(talk, world, env):
    """Prompts, failures, a stop and the end are served by processes; names of files, logs and
    derived files count too.
    """
    served(talk, world, "SessionStart", source="startup")
    served(talk, world, "UserPromptSubmit", prompt="go on with " + TOKEN, prompt_id="p1")
    served(
        talk,
        world,
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input={"command": "mysql -u root -p'%s' shop" % PASSWORD},
        tool_use_id="t1",
        error="Exit code 1\naccess denied for %s" % TOKEN,
    )
    served(talk, world, "Stop", last_assistant_message="It passes with %s now." % TOKEN)
    talk.ask("and once more").edit("src/more.py").bash("pytest -q", "2 passed in 1s").say("Done.")
    served(talk, world, "SessionEnd")
    served(talk, world, "SessionStart", source="startup")
    assert talk.files() and talk.talks()  # the session was written down
    assert {name: holding(env["HOME"], secret) for name, secret in PLANTED.items()} == {
        name: [] for name in PLANTED
    }


def test_what_is_looked_for_would_be_found(talk, env):
    """The same session with redaction switched off leaves each of them, so that the search is not
    blind.
    """
    home = Path(env["HOME"], ".dayleaf")
    home.mkdir(exist_ok=True)
    (home / "config.json").write_text('{"redact.enabled": false}')
    talk.end()
    kept = {name for name, secret in PLANTED.items() if holding(env["HOME"], secret)}
    assert kept >= {
        "the prompt",
        "a branch",
        "a file's name",
        "below its label",
        "an answer to a question",
        "the first words",
    }
