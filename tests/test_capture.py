"""From transcripts to checkpoints."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from memory import capture, checkpoint, clock, config, frontmatter, paths, recovery, shell, store
from memory.errors import UsageError
from memory.fixes import fixes

DATA = Path(__file__).parent / "data" / "transcripts"
ROOT = Path(__file__).parents[1]


# --- a session and its transcript


class Session:
    """A host session in the test's home: appends lines to its transcript and fires hooks."""

    def __init__(self, env, project, now, name="sess-1"):
        self.env, self.project, self.now, self.name = {**env, "CLAUDE_PROJECT_DIR": project}, project, now, name
        self.path = Path(env["HOME"], ".claude", "projects", "-w", name + ".jsonl")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.place = paths.locate(self.env, project)
        self.clock, self.calls = 0, 0

    def copy(self, fixture):
        """Take over a recorded session with its subagents."""
        shutil.copy(DATA / (fixture + ".jsonl"), self.path)
        if (DATA / (fixture + ".subagents")).is_dir():
            shutil.copytree(DATA / (fixture + ".subagents"), self.path.with_suffix("") / "subagents")
        return self

    def line(self, kind, content, **more):
        self.clock += 1
        record = {
            "parentUuid": None,
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "timestamp": clock.iso(self.now - 5000 + self.clock).replace("Z", ".000Z"),
            "cwd": self.project,
            "gitBranch": "main",
            "sessionId": self.name,
            "message": {"role": kind, "content": content},
            **more,
        }
        with self.path.open("ab") as file:
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        return self

    def ask(self, text, **more):
        return self.line("user", text, promptSource="typed", origin={"kind": "human"}, **more)

    def say(self, text):
        return self.line("assistant", [{"type": "text", "text": text}])

    def tool(self, name, given, output, failed=False, result=None):
        self.calls += 1
        call = "toolu_%s_%d" % (self.name, self.calls)
        self.line("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])
        return self.line(
            "user",
            [{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}],
            toolUseResult=result,
        )

    def bash(self, command, output="", code=0):
        output = "Exit code %d\n%s" % (code, output) if code else output
        return self.tool("Bash", {"command": command}, output, failed=bool(code))

    def edit(self, path):
        return self.tool(
            "Edit",
            {"file_path": self.project + "/" + path, "old_string": "a", "new_string": "b"},
            "updated",
            result={"filePath": path},
        )

    def fire(self, event, **more):
        capture.on_event(
            {
                "hook_event_name": event,
                "session_id": self.name,
                "transcript_path": str(self.path),
                "cwd": "/elsewhere",
                **more,
            },
            self.env,
            self.now,
        )
        return self.files()

    def files(self):
        """The texts of all checkpoints, oldest first."""
        return [path.read_text("utf-8") for path in self.where()]

    def where(self):
        found = Path(self.place.private, "checkpoints").glob("*/*.md")
        return sorted(found, key=lambda path: (frontmatter.parse(path.read_bytes()).meta["until"], path.name))

    @property
    def state(self):
        return Path(self.place.cache, "sessions", self.name + ".json")


@pytest.fixture
def session(env, project, now):
    """A session without a line yet."""
    return Session(env, project, now)


def _work(session, count=4):
    for number in range(count):
        session.edit("src/m%d.py" % number).bash("pytest -q tests/t%d.py" % number, "1 passed in 0.1s")
    return session


def _section(text, name):
    found = re.search(r"^## %s\n\n(.*?)(?=\n## |\Z)" % name, text, re.S | re.M)
    return found.group(1) if found else ""


# --- the recorded sessions


@pytest.mark.parametrize(
    ("fixture", "commit", "asked"),
    [
        ("tools-headless", "ecf522d", []),
        ("tools-interactive", "b6fd487", ["/probe:hello alpha"]),
        ("compact-interactive", "b6fd487", ["/probe:hello alpha", "what else?"]),
    ],
)
def test_a_recorded_session_is_told_whole(session, fixture, commit, asked):
    """Request, files, the failing command with its error, the passing one, the fix, the commit, where it stopped."""
    (text,) = session.copy(fixture).fire("SessionEnd")
    for request in ["fix the add function and commit", *asked]:
        assert "- " + request in _section(text, "Request")
    assert "created `test_calc.py`" in _section(text, "Done") and "edited `calc.py`" in _section(text, "Done")
    assert "commit %s: Fix add" % commit in _section(text, "Done")
    assert '✗ `python3 -c "import calc; assert calc.add(1,2)==3"` → exit 1: AssertionError' in _section(
        text, "Commands"
    )
    assert "✗ `sleep 3; echo slow` → timed out" in _section(text, "Commands")
    assert "✓ `python3 test_calc.py && echo PASS` → PASS" in _section(text, "Tests")
    assert "AssertionError; passed" in _section(text, "Fixed") and "after editing `calc.py`" in _section(text, "Fixed")
    assert _section(text, "Next").strip()
    meta = frontmatter.parse(text.encode()).meta
    assert (meta["title"], meta["files"], meta["session"]) == ("Fix add", ["calc.py", "test_calc.py"], "sess-1")
    assert (meta["trigger"], meta["source"], meta["tags"]) == ("session_end", "auto", ["python"])


@pytest.mark.parametrize(
    "fixture", ["tools-headless", "tools-interactive", "compact-interactive", "subagent-interactive"]
)
def test_what_is_not_work_is_not_told(session, fixture):
    """Reminders, injected context, summaries, notifications, expanded commands and looking around stay out."""
    (text,) = session.copy(fixture).fire("SessionEnd")
    for alien in (
        "system-reminder",
        "MEMORY",
        "add() was broken",
        "FAKE-COMPACT-SUMMARY",
        "task-notification",
        "HELLO-CMD",
        "inject",
        "git status",
        "ls &&",
        "bang-mode",
        "Compacted",
        "PreCompact",
        "d245b09",
        "README",
        "in-sub",
        "/compact",
        "Let me look",
        "internal metadata",
        "/home/dev",
    ):
        assert alien not in text, alien


def test_subagents_are_joined(session):
    """The report of a subagent stands under what was done, with what it was for."""
    (text,) = session.copy("subagent-interactive").fire("SessionEnd")
    assert "- subagent (count things): SUBAGENT REPORT: 42" in _section(text, "Done")
    assert "- again in background" in _section(text, "Request")
    assert "Delegate count things" in text


def test_a_subagents_files_and_commands_count(session):
    """What a subagent edits and runs is told as the session's."""
    session.ask("delegate it").tool("Agent", {"description": "fix parser"}, "ok", result={"agentId": "x1"})
    agent = Session(session.env, session.project, session.now, "sess-1/subagents/agent-x1")
    agent.line("user", "machine prompt for the agent", isSidechain=True)
    agent.edit("src/parser.py").bash("cargo build", "error[E0382]: borrow of moved value", 101).say("Parser fixed.")
    (text,) = session.fire("SessionEnd")
    assert "edited `src/parser.py`" in text and "exit 101: error[E0382]" in text
    assert "- subagent (fix parser): Parser fixed." in text and "machine prompt" not in text
    agent.edit("src/late.py")
    assert "src/late.py" in session.fire("SessionEnd")[1]


@pytest.mark.parametrize("fixture", ["plain-headless"])
def test_a_session_with_nothing_to_keep_gets_no_file(session, fixture):
    """Small talk leaves no checkpoint."""
    assert session.copy(fixture).fire("SessionEnd") == []


def test_looking_around_is_nothing_to_keep(session):
    """Reading and listing without work, words or failures leave no checkpoint."""
    session.ask("what is here?").bash("ls -la", "a\nb").bash("git status", "clean").say("Two files, a and b.")
    assert session.fire("SessionEnd") == []


# --- facts


@pytest.mark.parametrize(
    "sentence",
    [
        "We keep SQLite because the queue needs no server.",
        "I used a deque instead of a list.",
        "큐에 서버가 필요 없기 때문에 SQLite를 유지합니다.",
        "サーバーが不要なため、SQLite を使います。",
        "因为不需要服务器，所以用 SQLite。",
        "Wir behalten SQLite, weil kein Server nötig ist.",
    ],
)
def test_a_decision_is_kept_with_its_reason(session, sentence):
    """Sentences that say why are kept in every language, and are worth a file by themselves."""
    session.ask("which database?").say("Looked at it.\n\n- **%s**\n\n```\nbecause of code\n```" % sentence)
    (text,) = session.fire("SessionEnd")
    assert _section(text, "Decisions").strip() == "- " + sentence


def test_a_failure_is_told_with_what_fixed_it(session):
    """The later success of the same program, after which edit or which command."""
    session.ask("make it pass").bash("pytest -q", "E   assert 1 == 2\n1 failed in 0.1s", 1).edit("src/add.py")
    session.bash("python -m pytest -q", "1 passed in 0.1s").bash("npm run build", "Error: Cannot find module 'vite'", 1)
    session.bash("npm install vite", "added 1 package").bash("npm run build", "built")
    (text,) = session.fire("SessionEnd")
    fixed = _section(text, "Fixed")
    assert "`pytest -q` → exit 1: E assert 1 == 2; passed (`python -m pytest -q`) after editing `src/add.py`" in fixed
    assert (
        "`npm run build` → exit 1: Error: Cannot find module 'vite'; passed after running `npm install vite`" in fixed
    )
    assert _section(text, "Open") == ""


def test_a_plain_rerun_fixes_nothing_and_an_open_failure_is_open(session):
    """A flaky pass is no fix; a test that fails at the end is open."""
    session.ask("x").bash("pytest a", "1 failed in 1s", 1).bash("pytest a", "1 passed in 1s")
    session.bash("cargo test", "test result: FAILED. 1 passed; 2 failed", 101)
    (text,) = session.fire("SessionEnd")
    assert _section(text, "Fixed") == ""
    assert "`cargo test` still fails: test result: FAILED. 1 passed; 2 failed" in _section(text, "Open")


def test_a_fix_after_the_checkpoint_closed_still_counts(session):
    """A failure before the compaction and its fix after it are joined."""
    session.ask("x").bash("cargo test", "test result: FAILED. 0 passed; 2 failed", 101)
    session.fire("PreCompact")
    session.edit("src/lib.rs").bash("cargo test", "test result: ok. 2 passed; 0 failed")
    text = session.fire("SessionEnd")[1]
    assert "`cargo test` → exit 101" in _section(text, "Fixed") and "after editing `src/lib.rs`" in _section(
        text, "Fixed"
    )
    assert "(continued) x" in _section(text, "Request") and "exit 101" not in _section(text, "Commands")


def test_a_call_cut_by_a_compaction_is_joined(session):
    """A result that comes after the checkpoint closed still meets its call."""
    session.ask("x").edit("a.py")
    whole = session.path.read_bytes()
    session.bash("cargo build", "error: nope", 101)
    lines = session.path.read_bytes()[len(whole) :].split(b"\n")
    session.path.write_bytes(whole + lines[0] + b"\n")
    session.fire("PreCompact")
    session.path.write_bytes(whole + lines[0] + b"\n" + lines[1] + b"\n")
    assert "✗ `cargo build` → exit 101: error: nope" in session.fire("SessionEnd")[1]


def test_questions_and_next_steps_are_open_until_answered(session):
    """What the model asks last is open; what a person answered is not."""
    session.ask("x").edit("a.py").say("Should I keep v1?").ask("yes, keep v1")
    session.say("Kept.\n\nNext steps:\n1. migrate the table\n2. drop the old column\n\nShould the index be unique?")
    (text,) = session.fire("SessionEnd")
    assert _section(text, "Open").strip() == "- Should the index be unique?"
    assert _section(session.say("Or not?").ask("yes").edit("b.py").fire("SessionEnd")[1], "Open") == ""
    assert "- migrate the table\n- drop the old column\n" in _section(text, "Next")


@pytest.mark.parametrize(
    ("build", "title"),
    [
        (
            lambda s: (
                s.ask("please fix the login").edit("a.py").bash("git commit -m 'Fix login'", "[main 1a2b3c4] Fix login")
            ),
            "Fix login",
        ),
        (
            lambda s: s.ask("please make the login form validate the e-mail").edit("src/login.ts").edit("src/form.ts"),
            "Edit login.ts, form.ts: make login form validate e-mail",
        ),
        (lambda s: s.ask("why is it slow").bash("cargo bench", "ok"), "Run cargo bench: slow"),
        (lambda s: s.ask("로그인 폼을 고쳐 줘. 빨리").edit("a.kt"), "Edit a.kt: 로그인 폼을 고쳐 줘"),
    ],
)
def test_the_title_comes_from_the_work(session, build, title):
    """The commit, else the files, else the commands, with the topic of the request."""
    build(session)
    session.fire("SessionEnd")
    assert frontmatter.parse(session.where()[0].read_bytes()).meta["title"] == title


def test_titles_and_bodies_are_bounded(session):
    """However long a session is, its checkpoint has at most 6,000 characters and its title 70."""
    for number in range(80):
        session.ask("request %d " % number + "words " * 200).say("We chose %d because %s." % (number, "reason " * 80))
        session.edit("src/" + "deep/" * 20 + "file%d.py" % number).bash(
            "cargo run --bin b%d -- " % number + "x " * 300, "error: " + "y" * 400, 1
        )
    session.bash("git commit -m '%s'" % ("long " * 60), "[main 1a2b3c4] " + "long " * 60)
    (text,) = session.fire("SessionEnd")
    page = frontmatter.parse(text.encode())
    assert len(page.body) <= checkpoint.BODY and len(page.meta["title"]) <= checkpoint.TITLE
    for name in ("Request", "Done", "Decisions", "Commands"):
        assert _section(text, name).strip(), name


def test_what_a_person_ran_themselves_is_told(session):
    """A `!` command that matters is a command, with its output never quoted."""
    session.line("user", "<bash-input>make deploy</bash-input>")
    session.line("user", "<bash-stdout>deployed to prod</bash-stdout><bash-stderr></bash-stderr>", turnOrigin="human")
    (text,) = session.fire("SessionEnd")
    assert "`make deploy` → by the user" in text and "deployed to prod" not in text


def test_files_outside_the_project_keep_their_path_and_heredocs_count(session):
    """Paths are told relative to the project; a file written by `cat >` counts as edited."""
    session.ask("x").tool("Write", {"file_path": "/etc/app.conf"}, "File created successfully at: /etc/app.conf")
    session.bash("cat > src/gen.sh <<'EOF'\nrm -rf /\nEOF")
    (text,) = session.fire("SessionEnd")
    assert "created `/etc/app.conf`" in text and "edited `src/gen.sh`" in text and "rm -rf" not in text


def test_an_edit_that_failed_changed_nothing(session):
    """A refused edit is no file edited."""
    session.ask("x").tool("Edit", {"file_path": session.project + "/a.py"}, "String not found", failed=True)
    assert session.fire("SessionEnd") == []


# --- what must never be captured


def test_nothing_that_dayleaf_said_is_captured_again(session):
    """Injected blocks, the output of dayleaf's commands and the model's retelling of them stay out."""
    session.ask("<dayleaf-memory scope='p'>OLDNEWS from memory</dayleaf-memory>\nfix it").edit("a.py")
    session.bash("dayleaf recall auth", "OLDNEWS because of something").bash(
        "cd /x && dayleaf show l-1 && ls", "OLDNEWS", 1
    )
    session.bash("pytest -q && dayleaf recall x", "error: OLDNEWS", 1)
    session.line(
        "user", "<command-name>/dayleaf:recall</command-name><command-args>auth</command-args>", turnOrigin="human"
    )
    session.say("From memory: OLDNEWS, chosen because it was fast.")
    session.line("attachment", "", attachment={"type": "hook_additional_context", "content": ["OLDNEWS user"]})
    session.say("<dayleaf-memory>OLDNEWS instead of news</dayleaf-memory>")
    (text,) = session.fire("SessionEnd")
    assert "OLDNEWS" not in text and "dayleaf:recall" not in text
    assert "fix it" in text


def test_our_own_model_prompts_are_never_captured(session):
    """A distiller's session leaves no checkpoint, whatever the model answered."""
    session.ask("dayleaf-distill-prompt v1\nSummarise.").say("We decided on X because of Y.").edit("a.py")
    assert session.fire("SessionEnd") == []


def test_a_nested_worker_does_nothing(session):
    """Inside dayleaf's own model no event is served."""
    session.ask("x").edit("a.py")
    session.env["DAYLEAF_NESTED"] = "1"
    assert session.fire("SessionEnd") == []


@pytest.mark.parametrize("where", ["prompt", "said", "command", "output", "path", "subject"])
def test_private_parts_are_left_out_everywhere(session, where):
    """<private> reaches neither the checkpoint nor the state."""
    tag = "<private>HUSHHUSH</private>"
    session.ask("do it " + (tag if where == "prompt" else "")).edit("a.py")
    session.say("Chose it because it works " + (tag if where == "said" else ""))
    session.bash(
        "cargo build " + (tag if where == "command" else ""), "error: x " + (tag if where == "output" else ""), 1
    )
    session.edit("b%s.py" % (tag if where == "path" else ""))
    session.bash("git commit -m 'Do it %s'" % (tag if where == "subject" else ""), "[main 1a2b3c4] Do it")
    (text,) = session.fire("SessionEnd")
    assert "HUSHHUSH" not in text and "HUSHHUSH" not in session.state.read_text()


def _secret(n):
    return (
        "gh"
        + "p_"
        + "".join(random.Random(n).choices("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=36))
    )


def test_secrets_are_gone_before_anything_is_written(session):
    """Neither the checkpoint nor any other file under the home holds a secret, in whatever place it came."""
    a, b, c = _secret(1), _secret(2), "hv" + "s." + "CAESIJ4kqzW8vNp3TtRr7Zb2YyQx"
    session.ask("use token " + a + " please").edit("a.py").say("Works because the header is %s." % b)
    session.bash("curl -H 'Authorization: Bearer %s' https://x" % c, "error: denied for " + a, 22)
    session.bash("git commit -m 'add %s'" % b, "[main 1a2b3c4] add " + b)
    session.fire("Stop", last_assistant_message="Done with " + a)
    session.fire("SessionEnd")
    found = [p for p in Path(session.place.home).rglob("*") if p.is_file()]
    assert len(found) > 2
    for path in found:
        data = path.read_text("utf-8", "replace")
        assert not any(s in data for s in (a, b, c)), path
    assert "[redacted:" in session.files()[0]


def test_a_secret_named_earlier_is_found_bare_later(session):
    """A value known from an earlier reading of the stretch is removed from later text too."""
    value = "zK8" + "qLm2VxR9tPw4Ys"
    session.ask("set it up with DB_PASSWORD=" + value).edit("a.py")
    session.fire("Stop")
    session.bash("connect --as " + value, "error: refused for " + value, 1).edit("b.py")
    session.fire("Stop")
    session.say("Chose %s because it was there." % value)
    session.fire("Stop", last_assistant_message="Used %s instead of another." % value)
    assert value not in session.state.read_text()
    _work(session)
    (text,) = session.fire("SessionEnd")
    assert value not in text and value not in session.state.read_text() and "b.py" in text


def test_a_call_without_its_result_yet_is_kept_clean(session):
    """What waits in the state for its result holds no secret and no private part."""
    value = _secret(6)
    command = "deploy " + value + " <private>HUSHHUSH</private> " + "x " * 9995 + _secret(7)
    session.ask("x").edit("a.py").tool("Bash", {"command": command}, "never read")
    session.path.write_bytes(b"\n".join(session.path.read_bytes().split(b"\n")[:-2]) + b"\n")
    session.fire("PreCompact")
    state = session.state.read_text()
    assert "deploy" in state and not any(s in state for s in (value, "HUSHHUSH", _secret(7)[:8]))


def test_a_secret_at_the_end_of_a_long_error_leaves_no_part(session):
    """Error lines are shortened like all text: never inside a word."""
    for width in range(270, 300, 3):
        session.bash("cargo run %d" % width, "error: " + "y " * (width // 2) + _secret(8), 1)
    (text,) = session.fire("SessionEnd")
    assert _secret(8)[:6] not in text


def test_rereading_a_stretch_repeats_nothing(session):
    """After a secret each reading starts at the stretch again, and nothing is told twice or from before it."""
    session.ask("before").edit("old.py").fire("PreCompact")
    session.ask("first " + _secret(4)).edit("a.py").bash("cargo build", "error: x", 1).fire("Stop")
    session.ask("second").edit("b.py").fire("Stop")
    session.ask("third").fire("Stop")
    text = session.ask("fourth").fire("SessionEnd")[1]
    words = re.findall(r"^- (\w+)", _section(text, "Request"), re.M)
    assert words == ["first", "second", "third", "fourth"] and "×" not in text and "old.py" not in text


def test_rereading_stops_where_a_person_took_over(session):
    """Work that stands in a file a person edited is not told again because a secret came later."""
    _work(session.ask("first")).fire("Stop")
    mine = session.where()[0]
    mine.write_text(mine.read_text() + "\nMine.\n")
    _work(session.ask("second " + _secret(5))).edit("b.py").fire("Stop")
    session.ask("third").edit("c.py").fire("SessionEnd")
    (text,) = [p.read_text() for p in session.where() if p != mine]
    assert "c.py" in text and "- first" not in text


def test_a_report_after_the_checkpoint_closed_keeps_its_task(session):
    """A subagent launched before a compaction is known by its task when it reports after it."""
    session.ask("x").tool("Agent", {"description": "fix parser"}, "ok", result={"agentId": "x1"}).edit("a.py")
    session.fire("PreCompact")
    Session(session.env, session.project, session.now, "sess-1/subagents/agent-x1").say("Parser fixed.")
    assert "- subagent (fix parser): Parser fixed." in "".join(session.fire("SessionEnd"))


def test_a_secret_cut_by_a_limit_leaves_no_part(session):
    """Text is shortened only once its secrets are out, or at white space."""
    value = _secret(3)
    for pad in range(760, 810, 7):
        session.ask("w" * 7 + " " + "x " * (pad // 2) + value)
    session.ask("y " * 990 + value).edit("a.py")
    (text,) = session.fire("SessionEnd")
    assert value[:12] not in text and value[:12] not in session.state.read_text()


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_files_are_private_whatever_the_umask(session):
    """Checkpoint, state and lock are 0600, folders 0700."""
    old = os.umask(0)
    try:
        session.ask("x").edit("a.py").fire("SessionEnd")
    finally:
        os.umask(old)
    for path in Path(session.place.home).rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


# --- when


def test_stop_waits_for_enough_new_work(session):
    """Stop writes once eight units are there, updates in place after eight more, and knows the last message."""
    session.ask("x").edit("a.py")
    assert session.fire("Stop") == []
    _work(session, 3)
    (first,) = session.fire("Stop", last_assistant_message="Chose it because the transcript lags.")
    assert "Chose it because the transcript lags." in first and "trigger: stop" in first
    session.edit("late.py")
    assert session.fire("Stop") == [first]
    _work(session, 4)
    (second,) = session.fire("Stop")
    assert "late.py" in second and second != first


def test_pre_compact_and_session_end_close(session):
    """They write at once, and later work opens a new file that tells only the later work."""
    (first,) = session.ask("one").edit("a.py").fire("PreCompact")
    assert "trigger: pre_compact" in first
    second = session.ask("two").edit("b.py").fire("SessionEnd")
    assert second[0] == first and len(second) == 2
    assert "b.py" in second[1] and "a.py" not in second[1] and "one" not in _section(second[1], "Request")


def test_session_end_closes_the_file_that_stop_opened(session):
    """Stop and SessionEnd of one stretch make one file."""
    _work(session.ask("x")).fire("Stop")
    (text,) = session.say("All done, moving on.").fire("SessionEnd")
    assert "trigger: session_end" in text and "last said: All done, moving on." in text and "updated:" in text


def test_two_captures_of_one_state_write_one_file(session):
    """The second is a no-op to the byte, for every event and with or without the state."""
    _work(session.ask("x"))
    for event in ("Stop", "Stop", "PreCompact", "PreCompact", "SessionEnd", "SessionEnd"):
        files = session.fire(event)
        assert len(files) == 1
    (before,) = session.where()
    stat = before.stat()
    session.state.unlink()
    assert session.fire("SessionEnd") == files
    assert (before.stat().st_mtime_ns, before.stat().st_ino) == (stat.st_mtime_ns, stat.st_ino)
    session.edit("new.py")
    assert len(session.fire("SessionEnd")) == 2


def test_a_lost_state_in_an_open_stretch_tells_nothing_twice(session):
    """Without its state the capture goes on after what the checkpoints tell."""
    _work(session.ask("x")).fire("Stop")
    session.state.unlink()
    first, second = session.ask("y").edit("new.py").fire("SessionEnd")
    assert "m0.py" in first and "new.py" in second and "m0.py" not in second


def test_a_state_of_another_make_is_ignored(session):
    """A damaged or foreign state is the same as none."""
    session.ask("x").edit("a.py").fire("SessionEnd")
    for data in (b"", b"{}", b"[]\n[]\n", b'{"v":99}\n{}\n', b"\xff\xfe", session.state.read_bytes()[:200]):
        session.state.write_bytes(data)
        assert len(session.fire("SessionEnd")) == 1


def test_a_run_that_died_before_its_state_is_taken_up(session):
    """The file is written, the state is not: the next run finds the file and makes no second one."""
    session.ask("x").edit("a.py")
    session.fire("Stop")
    before = session.state.read_bytes()
    (text,) = session.fire("SessionEnd")
    session.state.write_bytes(before)
    session.now += 60
    assert session.fire("SessionEnd") == [text]


def test_a_persons_edit_is_left_alone(session):
    """Once a person edited or removed the checkpoint it is theirs; a new file tells the work since."""
    _work(session.ask("first")).fire("Stop")
    (mine,) = session.where()
    mine.write_text(mine.read_text() + "\nMy own words.\n")
    edited = mine.read_bytes()
    _work(session.ask("second").edit("later.py")).fire("Stop")
    assert mine.read_bytes() == edited
    assert len(session.files()) == 2
    new = next(p for p in session.where() if p != mine)
    assert "later.py" in new.read_text() and "first" not in _section(new.read_text(), "Request")
    new.unlink()
    session.edit("last.py").fire("SessionEnd")
    others = [p for p in session.where() if p != mine]
    assert len(others) == 1 and "last.py" in others[0].read_text() and "later.py" not in others[0].read_text()


def test_incremental_capture_is_whole_capture(env, project, now, tmp_path):
    """However a transcript is cut into readings, the last checkpoint says the same."""
    data = (DATA / "compact-interactive.jsonl").read_bytes()
    whole = Session(env, project, now, "whole")
    whole.path.write_bytes(data)
    whole.fire("SessionEnd")
    (text,) = whole.files()
    shutil.rmtree(whole.place.home)
    parts = Session(env, project, now, "parts")
    rng = random.Random(5)
    for end in [*sorted(rng.sample(range(1, len(data)), 30)), len(data)]:
        parts.path.write_bytes(data[:end])
        parts.fire("Stop")
    (other,) = parts.fire("SessionEnd")
    assert frontmatter.parse(other.encode()).body == frontmatter.parse(text.encode()).body


def test_a_fork_tells_only_its_own_work(env, project, now):
    """A fork copies history with the same ids; it is not captured again, even before the parent is written."""
    parent = Session(env, project, now, "parent")
    parent.ask("first").edit("old.py").fire("Stop")
    child = Session(env, project, now, "child")
    child.path.write_bytes(parent.path.read_bytes())
    child.clock = parent.clock
    assert child.fire("SessionEnd") == []
    child.ask("second").edit("new.py").fire("SessionEnd")
    (text,) = child.files()
    assert "new.py" in text and "old.py" not in text and "first" not in text
    parent.edit("parents.py").fire("SessionEnd")
    assert sum("old.py" in t for t in parent.files()) == 1
    grandchild = Session(env, project, now, "grandchild")
    grandchild.path.write_bytes(child.path.read_bytes())
    before = parent.files()
    assert grandchild.fire("SessionEnd") == before


def test_duplicate_lines_count_once(session):
    """A line that stands twice in a transcript is told once."""
    session.ask("x").bash("cargo build", "ok")
    session.path.write_bytes(session.path.read_bytes() * 2)
    (text,) = session.fire("SessionEnd")
    assert "×" not in text


def test_lines_without_an_id_count(session):
    """A line without a uuid is never taken for a known one."""
    session.line("user", "first", promptSource="typed", uuid="").edit("a.py")
    session.line("user", "second", promptSource="typed", uuid="").edit("b.py")
    session.line("user", "third", promptSource="typed", uuid="")
    assert "- first\n- second\n- third\n" in session.fire("SessionEnd")[0]


def test_dead_sessions_are_recovered_once(env, project, now):
    """Sessions with receipts and unwritten work are closed; live, current, foreign and empty ones are let be."""

    def begin(name, **line):
        one = Session(env, project, now, name)
        receipts = Path(one.place.receipts(name))
        receipts.parent.mkdir(parents=True, exist_ok=True)
        receipts.write_text(
            json.dumps({"v": 1, "t": "x", "event": "start", "transcript": str(one.path), **line}, separators=(",", ":"))
            + "\n"
        )
        return one

    dead, live, current, empty, throttled = (begin(n) for n in ("dead", "live", "current", "empty", "throttled"))
    for one in (dead, live, current, throttled):
        one.ask("x").edit(one.name + ".py")
    empty.ask("hi").say("hello")
    throttled.fire("Stop")
    begin("lying", transcript="/etc/passwd")
    unseen = Session(env, project, now, "unseen").ask("x").edit("unseen.py")
    for one in (dead, current, empty, throttled, unseen):
        os.utime(one.path, (now - 60, now - 60))
    os.utime(live.path, (now - 5, now - 5))
    settings = config.load(dead.place.home, project, env)
    assert recovery.recover(dead.place, settings, env, now, "current") == 2
    texts = dead.files()
    assert sorted(name for t in texts for name in frontmatter.parse(t.encode()).meta["files"]) == [
        "dead.py",
        "throttled.py",
    ]
    meta = frontmatter.parse(texts[0].encode()).meta
    assert (meta["trigger"], meta["branch"]) == ("recovery", "main")
    assert meta["created"] == clock.iso(now - 5000 + dead.clock)
    assert recovery.recover(dead.place, settings, env, now, "current") == 0
    assert dead.files() == texts


def test_old_states_go(session):
    """The state of a session whose transcript the host has deleted by now is removed."""
    session.ask("x").edit("a.py").fire("SessionEnd")
    os.utime(session.state, (session.now - 50 * 86400,) * 2)
    settings = config.load(session.place.home, session.project, session.env)
    assert recovery.recover(session.place, settings, session.env, session.now, "") == 0
    assert not session.state.exists() and len(session.files()) == 1


def test_capture_can_be_switched_off(session):
    """capture.enabled false: no file, no state."""
    session.env["DAYLEAF_CAPTURE_ENABLED"] = "false"
    assert session.ask("x").edit("a.py").fire("SessionEnd") == []
    assert not session.state.exists()


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"hook_event_name": "SessionEnd"},
        {"hook_event_name": ["x"]},
        {"hook_event_name": "Stop", "session_id": "../x"},
        {"hook_event_name": "SessionEnd", "session_id": "s", "transcript_path": "/etc/passwd"},
        {"hook_event_name": "SessionEnd", "session_id": 5, "transcript_path": None},
    ],
)
def test_a_malformed_event_does_nothing(session, event):
    """Whatever came on stdin, nothing is read or written."""
    capture.on_event(event, session.env, session.now)
    assert not Path(session.place.home).exists()


def test_a_subagents_own_events_are_not_the_sessions(session):
    """An event with an agent_id belongs to a subagent."""
    session.ask("x").edit("a.py")
    assert session.fire("SessionEnd", agent_id="a1") == []


def test_racing_workers_make_one_file(session):
    """Stop and SessionEnd workers of one session do not race."""
    _work(session.ask("x"))
    code = (
        "import sys,json;sys.path.insert(0,sys.argv[1]);from memory import capture,files;"
        "capture.on_event(json.loads(sys.argv[2]),files.environ(),float(sys.argv[3]))"
    )
    event = {"session_id": session.name, "transcript_path": str(session.path), "last_assistant_message": "bye"}
    env = {**os.environ, **session.env}
    env.pop("DAYLEAF_HOME", None)
    children = [
        subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-c",
                code,
                str(ROOT),
                json.dumps({**event, "hook_event_name": name}),
                str(session.now + 60 * number),
            ],
            env=env,
        )
        for number, name in enumerate(("Stop", "SessionEnd", "Stop", "SessionEnd", "PreCompact"))
    ]
    assert [child.wait(30) for child in children] == [0] * 5
    assert len(session.files()) == 1


def test_changes_are_reported(session):
    """The index hears of each record that was written."""
    session.ask("x").edit("a.py")
    heard = []
    capture.on_event(
        {"hook_event_name": "SessionEnd", "session_id": session.name, "transcript_path": str(session.path)},
        session.env,
        session.now,
        heard.append,
    )
    assert [session.place.path(name) for name in heard] == [str(p) for p in session.where()]


def test_a_failed_write_raises_and_loses_nothing(session, monkeypatch):
    """A write that fails is raised for the log, and the next run writes what was not written."""
    session.ask("x").edit("a.py")
    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "add", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(OSError):
            session.fire("SessionEnd")
    assert len(session.fire("SessionEnd")) == 1


def test_any_tool_input_is_survived(session):
    """Tool calls and results of any shape never stop a capture."""
    rng = random.Random(11)
    odd = [
        None,
        1,
        "x",
        [],
        {},
        ["a"],
        {"command": None},
        {"file_path": 7},
        {"command": "a\0b \ud800", "file_path": "\n"},
        True,
    ]
    for _ in range(300):
        session.tool(
            rng.choice(["Bash", "Edit", "Write", "Agent", "NotebookEdit", "", "X"]),
            rng.choice(odd),
            rng.choice(odd),
            failed=rng.choice([True, False, None, "x"]),
            result=rng.choice([*odd, {"agentId": 5}, {"type": []}]),
        )
    session.ask("x").edit("a.py")
    (text,) = session.fire("SessionEnd")
    assert "a.py" in text


# --- by hand


def test_a_note_by_hand(place, env, now, project):
    """It is the person's: source human, trigger manual, title of its first clause, branch and commit filled."""
    run = {"env": env, "check": True, "cwd": project, "capture_output": True}
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "init"], **run)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], text=True, **run).stdout[:10]
    keeper = store.Store(place, config.load(place.home, project, env), now)
    record = capture.note(
        keeper, place, "Switched to mTLS. The proxy <private>at 10.0.0.1</private> wants it.", ["auth"], "s-1", now
    )
    page = frontmatter.parse(Path(place.path(record.name)).read_bytes())
    assert (page.meta["title"], page.meta["source"], page.meta["trigger"]) == ("Switched to mTLS", "human", "manual")
    assert (page.meta["commit"], page.meta["tags"], page.meta["session"]) == (commit, ["auth"], "s-1")
    assert "10.0.0.1" not in page.body and "wants it" in page.body
    with pytest.raises(UsageError):
        capture.note(keeper, place, " <private>x</private> ", [], "", now)


# --- time


def _big(path, size):
    """Write a transcript of `size` bytes: prompts, words, edits, runs, and the snapshots that dominate real ones."""
    rng = random.Random(1)
    words = "the pool was exhausted because connections were never returned so use a manager in src/db/pool.py".split()
    tick = 0

    def line(kind, content, **more):
        nonlocal tick
        tick += 1
        stamp = clock.iso(1795000000 + tick).replace("Z", ".000Z")
        return (
            json.dumps(
                {
                    "type": kind,
                    "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
                    "timestamp": stamp,
                    "cwd": "/w",
                    "message": {"content": content},
                    **more,
                },
                separators=(",", ":"),
            )
            + "\n"
        )

    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < size:
            number += 1
            file.write(line("user", "request %d: " % number + " ".join(rng.choices(words, k=30)), promptSource="typed"))
            file.write(line("assistant", [{"type": "text", "text": " ".join(rng.choices(words, k=120)) + "."}]))
            for name, given, output in (
                ("Read", {"file_path": "/w/x"}, "line of code\n" * 400),
                ("Bash", {"command": "pytest tests/t%d.py" % number}, "out\n" * 200 + "1 passed in 1s"),
                ("Edit", {"file_path": "/w/src/f%d.py" % (number % 50)}, "updated"),
            ):
                call = "t%d%s" % (number, name)
                file.write(line("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}]))
                file.write(
                    line(
                        "user",
                        [{"type": "tool_result", "tool_use_id": call, "content": output}],
                        toolUseResult={"stdout": output},
                    )
                )
            file.write('{"type":"api-request-blob","body":"%s"}\n' % ('\\"role\\":\\"user\\" ' * 300))
    return path


def _worker(session, event="SessionEnd"):
    """Run the worker as the hook does, in a process of its own; returns seconds."""
    code = (
        "import sys,json;sys.path.insert(0,sys.argv[1]);from memory import capture,files;"
        "capture.on_event(json.loads(sys.argv[2]),files.environ(),float(sys.argv[3]))"
    )
    payload = json.dumps({"hook_event_name": event, "session_id": session.name, "transcript_path": str(session.path)})
    env = {**os.environ, **session.env}
    env.pop("DAYLEAF_HOME", None)
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", code, str(ROOT), payload, str(session.now)], env=env, check=True)
    return time.perf_counter() - started


def test_fifty_megabytes_in_a_second(session):
    """A 50 MB transcript is captured in under a second, start of Python included, and more costs only the new part."""
    _big(session.path, 50 * 10**6)
    took = _worker(session)
    assert took < 3.0  # three times the promise, for a loaded machine
    (text,) = session.files()
    assert len(frontmatter.parse(text.encode()).body) <= checkpoint.BODY
    session.ask("one more").edit("new.py")
    assert _worker(session) < 1.5
    assert "new.py" in session.files()[1]


def test_a_usual_transcript_is_captured_at_once(session):
    """200 KB take under 150 ms in a process of its own (tripled here)."""
    _big(session.path, 2 * 10**5)
    _worker(session)
    session.ask("more").edit("new.py")
    assert min(_worker(session), _worker(session, "Stop")) < 0.45
    assert len(session.files()) == 2


def test_gather_reads_a_transcript_without_writing(session):
    """The facts of any transcript can be had in memory."""
    session.copy("tools-headless")
    facts = capture.gather(str(session.path), session.env, (session.project,))
    assert [fix.files for fix in fixes(facts)] == [("calc.py", "test_calc.py")]
    assert [commit[:2] for commit in facts.commits] == [["ecf522d", "Fix add"]]
    assert [r.key for r in facts.runs] == ["python -c", "python test_calc.py", "sleep"]
    assert not Path(session.place.home).exists()
    assert shell.OK in {r.outcome for r in facts.runs}
