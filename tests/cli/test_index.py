"""The verbs index, config, on and off, and redact as a filter."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import hook, vault
from harness.command import one_line_error, process
from harness.hook import push
from harness.session import DATA

from memory.hook import receipts

TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."


def test_the_export_lists_every_learning(ok, tmp_path):
    """`index export` prints the JSON form, or writes it to a file."""
    ok("learn", TEXT, "--tag", "auth")
    value = json.loads(ok("index", "export"))
    assert value["learningCount"] == 1 and value["learnings"][0]["file"].endswith(".md")
    assert set(value) >= {
        "version",
        "generated",
        "learningCount",
        "totalTokens",
        "learnings",
        "topics",
        "categories",
    }


def test_settings_are_set_in_the_users_file(ok, home):
    """`config set` changes its key and keeps the rest; `get` and `list` say where a value comes
    from.
    """
    path = Path(home, ".dayleaf", "config.json")
    path.parent.mkdir()
    path.write_text('{"load": {"top": 3, "recent": 2}, "unknown": 1}')
    assert ok("config", "set", "load.top", "4") == "load.top = 4\n"
    assert ok("config", "set", "redact.allow", '["a","b"]')
    assert json.loads(path.read_text()) == {
        "load": {"top": 4, "recent": 2},
        "unknown": 1,
        "redact.allow": ["a", "b"],
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(ok("config", "get", "load.top", "--json")) == {
        "key": "load.top",
        "value": 4,
        "source": "user",
    }
    assert "unknown key 'unknown'" in ok("config", "list")
    assert "environment overrides it with 9" in ok(
        "config", "set", "load.top", "5", DAYLEAF_LOAD_TOP="9"
    )


def test_a_broken_settings_file_is_not_overwritten(run, home):
    """A file that is no JSON object is the user's to mend."""
    path = Path(home, ".dayleaf", "config.json")
    path.parent.mkdir()
    path.write_text("{broken")
    assert "correct it by hand" in one_line_error(run("config", "set", "load.top", "4"), 1)
    assert path.read_text() == "{broken"


def test_a_setting_goes_back_to_its_default(ok, run):
    """`config unset` removes it; a value that is the default is none that differs."""
    ok("config", "set", "load.top", "3")
    assert "load.top" in ok("status")
    assert ok("config", "unset", "load.top") == "load.top = 6\n"
    ok("config", "set", "load.prompt", "true")
    assert "load.prompt" not in ok("status")


def test_a_setting_is_unset_where_nothing_is_set(ok, home, project):
    """No file is made for it, and a value that another file gives is said to be that file's."""
    assert ok("config", "unset", "load.top") == "load.top = 6\n"
    assert not Path(home, ".dayleaf", "config.json").exists()
    Path(project, ".dayleaf").mkdir()
    Path(project, ".dayleaf", "config.json").write_text('{"load.top": 2}')
    assert ok("config", "unset", "load.top") == "load.top = 2 (project)\n"


def test_a_wrong_value_is_refused_in_the_words_of_the_doctor(run, home):
    """One fault, one sentence."""
    said = "'load.top' takes a whole number from 0 to 50"
    assert said in one_line_error(run("config", "set", "load.top", "many"), 2)
    Path(home, ".dayleaf").mkdir()
    Path(home, ".dayleaf", "config.json").write_text('{"load.top": "many"}')
    assert said in run("doctor").stdout


def test_the_help_of_config_names_the_words_that_it_takes(ok, run):
    words = "list, get, set or unset"
    assert "use " + words in one_line_error(run("config", "show"), 2)
    assert words in ok("help", "config")


def test_a_wrong_word_for_projects_keeps_nothing_and_the_doctor_names_it(
    ok, run, env, home, project, place
):
    """A typing error in a privacy setting never opens it."""
    assert "takes one of listed, all, not 'listd'; did you mean 'listed'?" in one_line_error(
        run("config", "set", "capture.projects", "listd"), 2
    )
    Path(home, ".dayleaf").mkdir(exist_ok=True)
    Path(home, ".dayleaf", "config.json").write_text('{"capture.projects": "listd"}')
    end_a_session(env, project, "65c898d6-0001")
    assert not list(Path(place.private).glob("checkpoints/*/*.md"))
    doctor = run("doctor").stdout
    assert "'capture.projects' takes one of listed, all (read as \"listed\")" in doctor


def test_keeping_secrets_is_said_at_once_and_by_the_doctor(ok, run):
    """Whoever switches redaction off reads what that means."""
    assert "secrets are kept as they are" in ok("config", "set", "redact.enabled", "false")
    assert "secrets are kept as they are" in run("doctor").stdout


def test_a_setting_of_the_past_is_not_taken_for_a_typing_error(run):
    """No other key is proposed for it."""
    said = one_line_error(run("config", "get", "load.greeting"), 2)
    assert "does nothing now" in said and "did you mean" not in said


def test_the_counts_of_a_small_index_are_true(ok):
    """What stands in the delta alone is counted, or nothing is said."""
    ok("learn", TEXT)
    assert "0 terms" not in ok("index", "status")
    ok("index", "build")
    assert "0 terms" not in ok("index", "status") and " terms" in ok("index", "status")


def test_an_index_beside_an_unreadable_file_is_fresh(ok, run, place):
    """The file counts as seen, and one line names it."""
    ok("learn", TEXT)
    bad = Path(place.private, "learnings", "old.md")
    bad.write_bytes("\ufeffnaïve".encode("utf-16") * 40)
    refreshed = ok("index", "refresh")
    assert refreshed.startswith("1 record: 0 added") and refreshed.count(str(bad)) == 1
    assert "stale (" not in ok("index", "status")
    assert "a refresh runs" not in ok("recall", "issuer")
    ok("index", "build")
    assert "stale (" not in ok("index", "status")
    bad.write_text("# The issuer is checked twice\n\nOnce at the gateway.\n")
    assert "1 added" in ok("index", "refresh")


def end_a_session(env, project, session: str) -> None:
    """End a session of the real client's in a project."""
    path = Path(env["HOME"], ".claude", "projects", "p", session + ".jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    own = b'"uuid": "' + session[-4:].encode()  # with the lines of another it would be its fork
    data = (DATA / "tools-interactive.jsonl").read_bytes()
    path.write_bytes(re.sub(rb'"uuid": "[0-9a-f]{4}', own, data))
    event = hook.payload(
        "SessionEnd", "other", session_id=session, transcript_path=str(path), cwd=project
    )
    assert hook.harmless(
        hook.fire("session_end", event, {**env, "CLAUDE_PROJECT_DIR": project})
    ).settled


def test_a_paused_project_keeps_and_pushes_nothing_until_it_goes_on(ok, run, env, project, place):
    """For its user alone: nothing is written into the repository; status says so with the command
    that goes on.
    """
    assert "paused" in ok("off", "--mine")
    end_a_session(env, project, "65c898d6-0001")
    assert (
        not list(Path(place.private).glob("checkpoints/*/*.md"))
        and not Path(project, ".dayleaf").exists()
    )
    said = ok("status")
    assert (
        "capture: off in this project, by you; `dayleaf push on mine`" in said
        and "pushes: off in this project, by you" in said
    )
    assert ok().startswith("pushes: off in this project, by you")
    assert "only a person" in one_line_error(run("on", "--mine", CLAUDECODE="1"), 2)
    ok("on", "--mine")
    end_a_session(env, project, "65c898d6-0002")
    assert (
        list(Path(place.private).glob("checkpoints/*/*.md"))
        and "off" not in ok("status").split("Records")[0]
    )


def test_projects_are_captured_by_list_where_the_user_wants_that(ok, env, project, place):
    """`on --mine` puts a project on the list."""
    ok("config", "set", "capture.projects", "listed")
    end_a_session(env, project, "65c898d6-0001")
    assert not list(
        Path(place.private).glob("checkpoints/*/*.md")
    ) and "projects that are not listed" in ok("status")
    ok("on", "--mine")
    end_a_session(env, project, "65c898d6-0002")
    assert list(Path(place.private).glob("checkpoints/*/*.md"))


def test_a_broken_settings_file_captures_nothing_and_the_start_says_so(env, project, place, ok):
    """A comma too many is no leave to write: `listed` may stand before it."""
    path = Path(env["HOME"], ".dayleaf", "config.json")
    path.parent.mkdir()
    path.write_text('{"capture.projects": "listed",}')
    end_a_session(env, project, "65c898d6-0001")
    assert not list(Path(place.private).glob("checkpoints/*/*.md"))
    start = push(env, project, "SessionStart", "s-2", source="startup")
    assert "capture and notes are off until it is one JSON object" in start["systemMessage"]
    assert "capture: off while your settings cannot be read; `dayleaf doctor`" in ok("status")


def test_pushes_are_switched_per_session_and_per_project(ok, place, project):
    """A session's switch is a receipt, a project's a line of its settings that goes again."""
    ok("off", "--session", "s-1", CLAUDE_CODE_SESSION_ID="s-1")
    assert receipts.read_session(place.receipts("s-1")).off
    ok("on", CLAUDE_CODE_SESSION_ID="s-1")
    assert not receipts.read_session(place.receipts("s-1")).off
    path = Path(project, ".dayleaf", "config.json")
    ok("off", "--project")
    assert json.loads(path.read_text()) == {"load.enabled": False}
    assert json.loads(ok("config", "get", "load.enabled", "--json"))["source"] == "project"
    ok("on", "--project")
    assert json.loads(path.read_text()) == {}


def test_a_session_stays_off_after_a_clear(ok, env, project, place):
    """The session after the clear is told so, and `on` lets it have notes again; a later one has
    them.
    """
    ok("learn", TEXT)
    push(env, project, "SessionStart", "s-1", source="startup")
    assert "the session is still written down" in ok("off", "--session", "s-1")
    push(env, project, "SessionEnd", "s-1", reason="clear")
    start = push(env, project, "SessionStart", "s-2", source="clear")
    assert "hookSpecificOutput" not in start and "/dayleaf:on" in start["systemMessage"]
    assert receipts.read_session(place.receipts("s-2")).off
    ok("on", "--session", "s-2")
    push(env, project, "SessionEnd", "s-2", reason="clear")
    assert "JWT" in json.dumps(push(env, project, "SessionStart", "s-3", source="clear"))


def test_a_switch_of_a_project_takes_no_session(ok, run):
    """It would say nothing of that session."""
    assert "takes `mine` or --session" in one_line_error(run("off", "mine", "--session", "s-1"), 2)
    ok("off", "mine", "--session", "s-1", CLAUDE_CODE_SESSION_ID="s-1", CLAUDECODE="")


def test_off_in_a_terminal_means_the_newest_session(ok, place):
    """Beside a running session nobody knows its id: the one that wrote the latest receipt is
    switched, but none that a program ran.
    """
    for at, session in enumerate(("older", "newer", "nightly")):
        receipts.write(place.receipts(session), {"v": 1, "event": "start"})
        os.utime(place.receipts(session), (1000 + at, 1000 + at))
    name = "p/checkpoints/2026-11-20/x.md"
    vault.put(place, name, "x", kind="checkpoint", session="nightly", unattended="true")
    assert "says nothing more" in ok("off")
    assert (
        receipts.read_session(place.receipts("newer")).off
        and not receipts.read_session(place.receipts("older")).off
    )


def test_a_session_that_never_ran_is_not_switched(run, ok, env, project, place):
    """A slip of the finger must not become the newest session; the one that ran is named."""
    assert "no session has run" in one_line_error(run("off", "--session", "nosuch"), 2)
    push(env, project, "SessionStart", "aaaa1111", source="startup")
    assert "no session 'nosuch' here; the newest is aaaa1111" in one_line_error(
        run("off", "--session", "nosuch"), 2
    )
    assert not Path(place.receipts("nosuch")).exists()
    assert "in session aaaa1111" in ok("off")
    assert receipts.read_session(place.receipts("aaaa1111")).off and "switched off" in ok("why")


def test_a_session_that_was_only_switched_is_no_session_that_ran(ok, env, project, place):
    """The running one may be switched before its first receipt; neither `why`, `off` nor `stats`
    takes it for one that ran.
    """
    push(env, project, "SessionStart", "aaaa1111", source="startup")
    assert "in session bbbb2222" in ok("off", CLAUDE_CODE_SESSION_ID="bbbb2222")
    assert receipts.read_session(place.receipts("bbbb2222")).off
    assert json.loads(ok("why", "--json"))["session"] == "aaaa1111" and "in session aaaa1111" in ok(
        "off"
    )
    assert json.loads(ok("stats", "--json"))["sessions"] == 1


def test_on_takes_back_what_off_did_though_another_session_ran_since(ok, place):
    """Outside a session `on` means the newest one that is off, names it, and says where none is."""
    receipts.write(place.receipts("aaaa1111"), {"v": 1, "event": "start"})
    assert "no session of this project is switched off" in ok("on")
    assert "says nothing more in session aaaa1111" in ok("off")
    time.sleep(0.02)
    receipts.write(place.receipts("bbbb2222"), {"v": 1, "event": "prompt"})
    assert "speaks again in session aaaa1111" in ok("on")
    assert not receipts.read_session(place.receipts("aaaa1111")).off
    assert json.loads(ok("on", "--json")) == {"session": "", "enabled": True}


def test_a_setting_may_hold_bytes_that_are_no_utf_8(run, ok, tmp_path):
    """As the name of a folder does; it is found by it again, and its notes are."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/vault \xed\xa0\xbd")
    os.mkdir(folder)
    Path(folder, "b.md").write_text("The gibbon sleeps.\n")
    ok("tier", "add", folder)
    assert "gibbon sleeps" in ok("recall", "gibbon") and "1 file" in ok("tier", "list")
    ok("config", "set", "distill.model", "half \udced of it")
    ok("tier", "remove", folder)
    assert "no folder" in ok("tier", "list")


def test_settings_that_are_set_at_once_are_all_kept(env, project, ok):
    """The file never goes back to what one command had read before another wrote."""
    keys = ["capture.wishes", "capture.enabled", "load.enabled"]
    with ThreadPoolExecutor(3) as pool:
        done = list(
            pool.map(lambda key: process(env, project)("config", "set", key, "false"), keys)
        )
    assert [one.returncode for one in done] == [0] * 3
    assert [ok("config", "get", key).split()[-1] for key in keys] == ["false"] * 3
