"""What a stretch of work did, and what of a transcript is never told."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from harness.session import Session, gather, section

from memory.session import shell


def test_subagents_are_joined(session):
    """The report of a subagent stands under what was done, with what it was for."""
    (text,) = session.copy("subagent-interactive").fire("SessionEnd")
    assert "- subagent (count things): SUBAGENT REPORT: 42" in section(text, "Done")
    assert " again in background" in section(text, "Turns")
    report = {
        "agentId": "x1",
        "status": "completed",
        "content": [{"type": "text", "text": "Good."}],
    }
    session.ask("review it").tool("Task", {"description": "the diff"}, "Good.", result=report)
    assert "- subagent (the diff): Good." in section(session.fire("SessionEnd")[-1], "Done")


def test_a_subagents_files_and_commands_count(session):
    """What a subagent edits and runs is told as the session's."""
    session.ask("delegate it").tool(
        "Agent", {"description": "fix parser"}, "ok", result={"agentId": "x1"}
    )
    agent = Session(session.env, session.project, session.now, "sess-1/subagents/agent-x1")
    agent.line("user", "machine prompt for the agent", isSidechain=True)
    agent.edit("src/parser.py").bash("cargo build", "error[E0382]: borrow of moved value", 101).say(
        "Parser fixed."
    )
    (text,) = session.fire("SessionEnd")
    assert (
        "edited `src/parser.py`" in text and "`cargo build` failed at the end: error[E0382]" in text
    )
    assert "machine prompt" not in text
    agent.edit("src/late.py")
    assert "src/late.py" in session.fire("SessionEnd")[1]


@pytest.mark.parametrize("where", ["before", "after", "alone"])
def test_what_a_subagent_says_in_its_parents_file_is_not_the_sessions(session, where):
    """Older clients put its lines there: its work counts, its words are neither the outcome nor a
    request; where nobody asked for anything else, no person typed.
    """
    if where != "alone":
        session.ask("move the cache to files").edit("cache.py")
    if where == "after":
        session.say("The cache uses files.")
    own = {"isSidechain": True, "agentId": "a1"}
    for said in ("explore the queue", "[Request interrupted by user]from now on explore twice"):
        session.line("user", said, **own)
    call = {"id": "toolu_side", "name": "Edit", "input": {"file_path": "side.py"}}
    session.line("assistant", [{"type": "tool_use", **call}], **own)
    done = {"type": "tool_result", "tool_use_id": "toolu_side", "content": "updated"}
    session.line("user", [done], toolUseResult={"filePath": "side.py"}, **own)
    session.line("assistant", [{"type": "text", "text": "The queue is explored."}], **own)
    if where == "before":
        session.say("The cache uses files.")
    (text,) = session.fire("SessionEnd")
    told = [text, *(path.read_text("utf-8") for path in session.talks())]
    assert "side.py" in text and "explore" not in "".join(told)
    assert ("unattended" in text) is (where == "alone")
    if where != "alone":
        assert section(text, "Outcome").strip() == "- The cache uses files."


def test_looking_around_is_nothing_to_keep(session):
    """Reading and listing without work, words or failures leave no checkpoint."""
    session.ask("what is here?").bash("ls -la", "a\nb").bash("git status", "clean").say(
        "Two files, a and b."
    )
    assert session.fire("SessionEnd") == []


def test_a_call_cut_by_a_compaction_is_joined(session):
    """A result that comes after the checkpoint closed still meets its call."""
    session.ask("x").edit("a.py")
    whole = session.path.read_bytes()
    session.bash("cargo build", "error: nope", 101)
    lines = session.path.read_bytes()[len(whole) :].split(b"\n")
    session.path.write_bytes(whole + lines[0] + b"\n")
    session.fire("PreCompact")
    session.path.write_bytes(whole + lines[0] + b"\n" + lines[1] + b"\n")
    assert "`cargo build` failed at the end: error: nope" in session.fire("SessionEnd")[1]


def test_what_a_person_ran_themselves_is_told(session):
    """A `!` command that matters is a command of the turn, with its output never quoted."""
    session.ask("it is on staging").line("user", "<bash-input>make deploy</bash-input>")
    session.line(
        "user",
        "<bash-stdout>deployed to prod</bash-stdout><bash-stderr></bash-stderr>",
        turnOrigin="human",
    )
    (text,) = session.fire("SessionEnd")
    said = session.talk()
    assert "- · `make deploy` → by the user" in said and "deployed to prod" not in text + said


def test_files_outside_the_project_keep_their_path_and_heredocs_count(session):
    """Paths are told relative to the project; a file written by `cat >` counts as edited."""
    session.ask("x").tool(
        "Write", {"file_path": "/etc/app.conf"}, "File created successfully at: /etc/app.conf"
    )
    session.bash("cat > src/gen.sh <<'EOF'\nrm -rf /\nEOF")
    (text,) = session.fire("SessionEnd")
    assert (
        "created `/etc/app.conf`" in text and "edited `src/gen.sh`" in text and "rm -rf" not in text
    )


def test_an_edit_that_failed_changed_nothing(session):
    """A refused edit is no file edited."""
    session.ask("x").tool(
        "Edit", {"file_path": session.project + "/a.py"}, "String not found", failed=True
    )
    assert session.fire("SessionEnd") == []


def test_nothing_that_dayleaf_said_is_captured_again(session):
    """Injected blocks, the output of dayleaf's commands and the model's retelling of them stay
    out.
    """
    session.ask("<dayleaf-memory scope='p'>OLDNEWS from memory</dayleaf-memory>\nfix it").edit(
        "a.py"
    )
    session.bash("dayleaf recall auth", "OLDNEWS because of something").bash(
        "cd /x && dayleaf show l-1 && ls", "OLDNEWS", 1
    )
    session.bash("pytest -q && dayleaf recall x", "error: OLDNEWS", 1)
    session.line(
        "user",
        "<command-name>/dayleaf:recall</command-name><command-args>auth</command-args>",
        turnOrigin="human",
    )
    session.say("From memory: OLDNEWS, chosen because it was fast.")
    session.line(
        "attachment",
        "",
        attachment={"type": "hook_additional_context", "content": ["OLDNEWS user"]},
    )
    session.say("<dayleaf-memory>OLDNEWS instead of news</dayleaf-memory>")
    (text,) = session.fire("SessionEnd")
    assert "OLDNEWS" not in text and "dayleaf:recall" not in text
    assert "fix it" in text


@pytest.mark.parametrize("pasted", ['{"a": "b"} ' * 20_000, '{"a": "b", "c": 1}\n' * 600_000])
def test_a_question_below_what_was_pasted_is_kept(session, pasted):
    """Whether one long line was pasted or very many; a mark says that something went."""
    asked = "Look at this\n%s\n\nWhy is b null?\n\nIt must not be.\n\nThanks" % pasted
    session.ask(asked).edit("a.py").say("It is set late.").fire("SessionEnd")
    talk = session.talk()
    assert "Look at this" in talk and "…" in talk
    assert "Why is b null?" in talk and "It must not be." in talk


def test_our_own_model_prompts_are_never_captured(session):
    """A distiller's session leaves no checkpoint, whatever the model answered."""
    session.ask("dayleaf-distill-prompt v1\nSummarise.").say("We decided on X because of Y.").edit(
        "a.py"
    )
    assert session.fire("SessionEnd") == []


def test_a_commit_that_is_made_anew_takes_the_place_of_the_one_before(session):
    """In what was done as in what was said."""
    session.ask("commit it").edit("a.py").bash(
        "git commit -am 'Sort entries'", "[main 1a2b3c4] Sort entries\n 1 file changed"
    )
    session.bash("git commit -am 'Count entries'", "[main 2b3c4d5] Count entries\n 1 file changed")
    session.edit("a.py").bash(
        "git commit -a --amend -m 'Count all entries'",
        "[main 3c4d5e6] Count all entries\n 1 file changed",
    )
    session.bash(
        "git commit -am 'Show' && git commit --amend -m 'Show all'",
        "[main 4d5e6f7] Show\n 1 file\n[main 5e6f7a8] Show all\n 1 file",
    )
    session.bash("git commit --amend --no-edit", "[main 6f7a8b9] Made by hand\n 1 file")
    (text,) = session.say("All are committed.").fire("SessionEnd")
    told = [
        "commit 1a2b3c4: Sort entries",
        "commit 3c4d5e6: Count all entries",
        "commit 5e6f7a8: Show all",
        "commit 6f7a8b9: Made by hand",
    ]
    assert (
        re.findall(r"(?m)^- (commit .*)$", section(text, "Done"))
        == told
        == re.findall(r"(?m)^- (commit .*)$", session.talk())
    )


@pytest.mark.parametrize("where", ["prompt", "said", "command", "output", "path", "subject"])
def test_private_parts_are_left_out_everywhere(session, where):
    """<private> reaches neither the checkpoint nor the state."""
    tag = "<private>HUSHHUSH</private>"
    session.ask("do it " + (tag if where == "prompt" else "")).edit("a.py")
    session.say("Chose it because it works " + (tag if where == "said" else ""))
    session.bash(
        "cargo build " + (tag if where == "command" else ""),
        "error: x " + (tag if where == "output" else ""),
        1,
    )
    session.edit("b%s.py" % (tag if where == "path" else ""))
    session.bash(
        "git commit -m 'Do it %s'" % (tag if where == "subject" else ""), "[main 1a2b3c4] Do it"
    )
    (text,) = session.fire("SessionEnd")
    assert "HUSHHUSH" not in text and "HUSHHUSH" not in session.state.read_text()


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
        {"\ud800": {"a": [[[[[[[[[["x"]]]]]]]]]]}, "skill": '\x1e{"'},
        True,
    ]
    for _ in range(300):
        session.tool(
            rng.choice(
                ["Bash", "Edit", "Write", "Agent", "Skill", "mcp__a__b", "NotebookEdit", "X"]
            ),
            rng.choice(odd),
            rng.choice(odd),
            failed=rng.choice([True, False, None, "x"]),
            result=rng.choice([*odd, {"agentId": 5}, {"type": []}]),
        )
    session.ask("x").edit("a.py")
    (text,) = session.fire("SessionEnd")
    assert "a.py" in text


def test_gather_reads_a_transcript_without_writing(session):
    """The facts of any transcript can be had in memory."""
    session.copy("tools-headless")
    facts = gather(str(session.path), session.env, (session.project,))
    assert [commit[:2] for commit in facts.commits] == [["ecf522d", "Fix add"]]
    assert [r.key for r in facts.runs] == [
        "python -c",
        "python test_calc.py",
        "sleep",
        "git commit",
    ]
    assert not Path(session.place.home).exists()
    assert shell.OK in {r.outcome for r in facts.runs}


def test_what_a_log_shows_to_be_merged_is_kept(session):
    """Once a session, though looking at a log is nothing else to keep."""
    log = "1a2b3c4 Merge pull request #5 from o/fix/x\n2b3c4d5 Add y"
    session.ask("fix it").bash("git log --oneline", log).edit("src/a.py").bash(
        "git log --oneline -2", log
    ).say("Fixed a.")
    session.fire("SessionEnd")
    (talk,) = Path(session.place.private, "conversations").rglob("*.md")
    assert talk.read_text().count("- merged `fix/x` (#5)") == 1


def test_a_merge_on_the_host_is_kept(session):
    """A squash leaves no merge in a log."""
    session.ask("fix it").edit("src/a.py").bash("gh pr merge 12 --squash", "").say("Merged.")
    session.fire("SessionEnd")
    (talk,) = Path(session.place.private, "conversations").rglob("*.md")
    assert "- merged `#12`" in talk.read_text()


WARNING = "bash: warning: setlocale: LC_ALL: cannot change locale: No such file or directory\n"


@pytest.mark.parametrize("first", [True, False])
def test_a_line_that_passing_runs_print_too_tells_no_failure(session, first):
    """Whether the failure comes before or after them."""
    session.ask("go on")
    if first:
        session.bash("acme do", WARNING + "error: the broker is away", 1)
    session.bash("acme sync", WARNING + "ok").bash("npm install", WARNING + "added 3 packages")
    if not first:
        session.bash("acme do", WARNING + "error: the broker is away", 1)
    session.fire("SessionEnd")
    told = "" if first else ": error: the broker is away"
    assert "- ✗ `acme do` → exit 1" + told + "\n" in session.talk()


def test_an_error_that_one_passing_run_quotes_is_still_told(session):
    """It may have printed a log."""
    session.ask("go on").bash("acme logs", "error: the broker is away")
    session.bash("acme do", "error: the broker is away", 1).fire("SessionEnd")
    assert "- ✗ `acme do` → exit 1: error: the broker is away\n" in session.talk()


# --- what is left of it


def test_changes_that_reverse_each_other_leave_nothing(session):
    """Whether at once or by a third one; what stands in between is told."""
    session.ask("look for the slow query").change("a.py", "run()", "trace(); run()")
    session.change("b.py", "one", "two").change("b.py", "two", "three").change("c.py", "x", "y")
    session.bash("pytest -q", "1 passed in 0.1s")
    session.change("a.py", "trace(); run()", "run()").change("b.py", "three", "one")
    (text,) = session.say("It was the index.").fire("SessionEnd")
    assert section(text, "Done").strip() == "- edited `c.py`\n- taken back: `a.py`, `b.py`"


def test_a_change_that_was_committed_stands_though_it_is_reversed(session):
    session.ask("try it").change("a.py", "one", "two")
    session.bash("git commit -am 'Try two'", "[main 1a2b3c4] Try two\n 1 file changed")
    (text,) = session.change("a.py", "two", "one").say("Tried.").fire("SessionEnd")
    assert "- edited `a.py`" in section(text, "Done") and "taken back" not in text


def test_an_edit_that_was_reversed_fixed_nothing(session):
    """What else was edited until the test passed did."""
    session.ask("fix it").bash("pytest -q", "FAILED t.py::test_a - assert 1 == 2\n1 failed", 1)
    session.change("a.py", "run()", "trace(); run()").change("b.py", "1", "2")
    session.change("a.py", "trace(); run()", "run()").bash("pytest -q", "1 passed in 0.1s")
    (text,) = session.say("It passes.").fire("SessionEnd")
    assert "after editing `b.py`\n" in section(text, "Fixed")


def committed(session, subject, name):
    return session.edit("a.py").bash(
        "git commit -am '%s'" % subject, "[main %s] %s\n 1 file changed" % (name, subject)
    )


def test_a_rebased_commit_stands_once_under_its_new_hash(session):
    """None is told until a commit shows one."""
    committed(committed(session.ask("go"), "One", "1a2b3c4"), "Two", "2b3c4d5")
    session.bash(
        "git rebase origin/main && git log --oneline -3",
        "Successfully rebased and updated refs/heads/x.\n9a8b7c6 Two\n1111111 Theirs",
    )
    (text,) = session.say("Rebased.").fire("SessionEnd")
    assert "- commit: One\n- commit: Two\n" in section(text, "Done")
    session.ask("again").bash(
        "git reset --hard origin/main && git cherry-pick 9a8b7c6",
        "[x 7c6b5a4] Two\n 1 file changed",
    )
    text = session.say("Once more.").fire("SessionEnd")[-1]
    assert section(text, "Done").count("Two") == 1


def test_a_failed_call_whose_retry_passed_is_neither_open_nor_told(session):
    session.ask("push").edit("a.py").bash("git push", "fatal: could not read from remote", 128)
    session.bash("git push", "ok").bash("./deploy.sh", "refused", 2)
    (text,) = session.say("Pushed.").fire("SessionEnd")
    assert "git push" not in text and "✗ `./deploy.sh`" in section(text, "Commands")


@pytest.mark.parametrize("reason", ["", "keep the old worker"])
def test_a_refused_plan_is_named(session, reason):
    """By its heading; with the user's reason where there is one."""
    said = "The user doesn't want to proceed with this tool use." + (
        " To tell you how to proceed, the user said:\n" + reason if reason else ""
    )
    session.ask("plan it").tool("ExitPlanMode", {"plan": "# Move it\n\n1. drop"}, said, failed=True)
    text = session.ask("no plan then").edit("a.py").say("Done.").fire("SessionEnd")[-1]
    told = "refused the plan `Move it`" + (': "%s"' % reason if reason else "")
    assert told + "\n" in text and told.partition(":")[0] in session.talk()


SECRET = "Qx7LmRt92kVb4Z"


@pytest.mark.parametrize(
    "given",
    [
        {"token": SECRET},
        {"user": "alice", "password": SECRET},
        {"config": {"apiKey": SECRET}},
        {"query": "x " * 12000, "passwort": SECRET},
        {"host": "a", "headers": [{"name": "Authorization", "value": "Bearer " + SECRET}]},
        {"args": ["--password", SECRET]},
        {"host": "a", "비밀번호": SECRET},
    ],
)
@pytest.mark.parametrize(
    "tool", ["mcp__api__get", "Skill", "WebFetch", "Read", "Grep", "WebSearch"]
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_secret_in_a_tools_input_is_known_by_its_key(session, given, tool, apart):
    """It is gone from the call, from its error and from what is said of it, at once or later."""
    session.ask("fetch it").edit("a.py").tool(
        tool, given, "401: no entry for " + SECRET, failed=True
    )
    if apart:
        session.fire("Stop")
    session.say("The server refused %s." % SECRET).fire("SessionEnd")
    home = Path(session.place.home)
    kept = [
        path for path in home.rglob("*") if path.is_file() and SECRET in path.read_text("utf-8")
    ]
    assert not kept and "failed: 401: no entry for [redacted:" in session.talk()


@pytest.mark.parametrize(
    "tool, given",
    [
        ("WebFetch", {"url": "https://a.org", "prompt": "send the token: " + SECRET}),
        ("Task", {"description": "log in", "prompt": "The password is " + SECRET}),
        ("Bash", {"command": "make", "description": "log in with the password " + SECRET}),
        ("Write", {"file_path": "a.env", "content": "x", "apiKey": SECRET}),
        ("Unknown", {"token": SECRET}),
    ],
)
def test_a_secret_in_what_is_not_told_of_an_input_is_known_in_its_error(session, tool, given):
    """The input itself stands nowhere."""
    session.ask("fetch it").edit("a.py").tool(tool, given, "no entry for " + SECRET, failed=True)
    session.say("The server refused %s." % SECRET).fire("Stop")
    home = Path(session.place.home)
    texts = [path.read_text("utf-8") for path in home.rglob("*") if path.is_file()]
    assert not [text for text in texts if SECRET in text or '\\"description' in text]
    session.fire("SessionEnd")
    assert "refused [redacted:" in session.talk()


def test_a_password_that_is_a_word_is_known_by_its_key(session):
    session.ask("log in").edit("a.py").tool("mcp__db__open", {"pwd": "hunter2"}, "no", failed=True)
    session.fire("SessionEnd")
    assert "mcp__db__open `[redacted:password#" in session.talk()


def test_a_secret_in_a_refused_call_is_known_by_its_key(session):
    no = "The user doesn't want to proceed with this tool use."
    said = no + " To tell you how to proceed, the user said:\nnever send " + SECRET
    session.ask("log in").edit("a.py").tool("mcp__db__open", {"token": SECRET}, said, failed=True)
    session.say("Fine.").fire("SessionEnd")
    assert SECRET not in session.talk() + "".join(session.files()) + session.state.read_text()
    assert "refused mcp__db__open `token: [redacted:" in session.talk()


@pytest.mark.parametrize(
    "given, told",
    [
        ({"limit": 5, "query": 'why "x"\n fails', "tag": "b"}, 'why "x" fails'),
        ({"path": "{project}/src/a.py"}, "src/a.py"),
        ({"filter": {"a": "b"}, "name": '{"c": "d"}'}, '{"c": "d"}'),
        ({"filter": {"a": "b"}}, ""),
        ({}, ""),
    ],
)
def test_of_a_tools_input_the_first_text_is_told(session, given, told):
    """As it was given, without its key."""
    root = session.place.project
    given = {k: v.format(project=root) if k == "path" else v for k, v in given.items()}
    session.ask("find it").edit("a.py").tool("mcp__docs__find", given, "not there", failed=True)
    session.fire("SessionEnd")
    assert "mcp__docs__find `%s` → failed: not there" % told in session.talk()


def test_of_a_skill_its_name_is_told(session):
    given = {"args": "--now", "skill": "deploy"}
    session.ask("ship").edit("a.py").tool("Skill", given, "Unknown skill", failed=True)
    session.fire("SessionEnd")
    assert "Skill `deploy` → failed: Unknown skill" in session.talk()
