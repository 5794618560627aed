"""The command line as a process of its own: words, exit statuses, output, and hostile surroundings."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.command import on_terminal

from memory import cli, paths, receipts, terminal
from tests import vault

ROOT = Path(__file__).resolve().parents[1]
TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."


def one_line_error(done, status):
    """Return the only line on stderr of a command that must fail with a status."""
    assert done.returncode == status, (done.returncode, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("dayleaf: "), done.stderr
    return lines[0]


# ---- writing and finding

def test_what_is_learnt_is_found_at_once(ok):
    """A learning is a file and a hit before the next command."""
    kept = json.loads(ok("learn", TEXT, "--tag", "auth", "--version", "2.1", "--confidence", "high", "--json"))
    assert Path(kept["path"]).read_text(encoding="utf-8").endswith(TEXT + "\n")
    assert (kept["title"], kept["tags"], kept["versions"], kept["confidence"], kept["source"]) == (
        "Pin the JWT issuer in tests", ["auth"], ["2.1"], "high", "human")
    found = json.loads(ok("recall", "jwt issuer", "--json"))
    assert [hit["id"] for hit in found["hits"]] == [kept["id"]]
    assert found["backend"] and not found["stale"]


def test_a_learning_from_the_clients_shell_is_the_agents(ok):
    """Inside the client the model writes, unless the call says whose it is."""
    assert json.loads(ok("learn", "x is y", "--json", CLAUDECODE="1"))["source"] == "agent"
    assert json.loads(ok("learn", "y is z", "--source", "human", "--json", CLAUDECODE="1"))["source"] == "human"


@pytest.mark.parametrize("words", [["-"], []], ids=["dash", "none"])
def test_a_text_may_come_from_stdin(ok, words):
    """`-`, or no words at all, read stdin, in any language."""
    kept = json.loads(ok("learn", *words, "--json", stdin="버튼을 누르면 저장된다.\n둘째 줄.\n"))
    assert kept["title"] == "버튼을 누르면 저장된다"
    assert "둘째 줄." in ok("show", kept["id"])


def test_tiers_are_chosen_by_option(ok, home, project):
    """--global is for every project, --shared goes into the repository."""
    assert json.loads(ok("learn", "a global one", "--global", "--json"))["path"].startswith(home + "/.dayleaf/global/")
    assert json.loads(ok("learn", "a shared one", "--shared", "--json"))["path"].startswith(project + "/.dayleaf/learnings/")


def test_a_checkpoint_by_hand_is_written(ok):
    """A note becomes a checkpoint of the session, tagged."""
    kept = json.loads(ok("checkpoint", "Moved auth to v2. Next: the docs.", "--tag", "auth", "--session", "s-1", "--json"))
    assert (kept["kind"], kept["title"], kept["tags"]) == ("checkpoint", "Moved auth to v2", ["auth"])
    assert [hit["id"] for hit in json.loads(ok("recall", "--kind", "checkpoint", "--json"))["hits"]] == [kept["id"]]


def test_forgetting_archives_and_restoring_brings_back(ok):
    """`forget` takes a record out of recall, `restore` puts it back."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    assert "restore " + id in ok("forget", id)
    assert json.loads(ok("recall", "jwt", "--json"))["hits"] == []
    ok("restore", id)
    assert [hit["id"] for hit in json.loads(ok("recall", "jwt", "--json"))["hits"]] == [id]


def test_removing_for_good_wants_a_yes_and_says_what_went(run, ok, home):
    """--hard without a terminal needs --yes; then no byte of the text is left below the home, the index included."""
    id = json.loads(ok("learn", "quokkasecretword lives here", "--json"))["id"]
    assert "--yes" in one_line_error(run("forget", id, "--hard"), 2)
    assert ok("show", id)
    said = ok("forget", id, "--hard", "--yes")
    assert "removed " + id in said and ".md" in said
    left = [path for path in Path(home).rglob("*") if path.is_file() and b"quokkasecretword" in path.read_bytes()]
    assert left == []


def test_a_record_in_the_archive_can_be_removed_for_good(ok, home):
    """Forgetting first and removing later works too."""
    id = json.loads(ok("learn", "quokkasecretword lives here", "--json"))["id"]
    ok("forget", id)
    assert "the archive's log still has the name" in ok("forget", id, "--hard", "--yes")
    assert not list(Path(home).rglob("*quokka*"))


def test_an_edit_goes_through_the_editor(ok, home, tmp_path):
    """The editor gets a copy; what it saves is the record, at once in the index."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    editor = tmp_path / "my editor"
    editor.write_text("#!/bin/sh\nprintf 'zebra appended\\n' >> \"$1\"\n")
    editor.chmod(0o755)
    assert id in ok("edit", id, EDITOR="'%s'" % editor)
    assert [hit["id"] for hit in json.loads(ok("recall", "zebra", "--json"))["hits"]] == [id]
    assert "unchanged" in ok("edit", id, EDITOR="true")


def test_no_editor_starts_where_nobody_sees_it(run, ok):
    """Without a terminal and without EDITOR there is nothing to type into: one line says so."""
    id = json.loads(ok("learn", "Prices are cents.", "--json"))["id"]
    done = run("edit", id)
    assert done.returncode == 2 and done.stderr == (
        "dayleaf: no terminal to edit in; set EDITOR to what edits without one, or run this in a terminal\n")


def test_what_a_heading_names_is_shown_from_below_it(project, run, ok):
    """The line under the heading that the query names says more than the first line of the body."""
    ok("learn", "-", stdin="Notes on money\n\n## Rounding\n\nHalf to even.\n\n## Überweisung\n\nSEPA takes a day.\n")
    assert "SEPA takes a day." in ok("recall", "überweisung")
    assert "Half to even." in ok("recall", "rounding")


def test_a_section_of_a_record_is_shown_alone(run, ok):
    """--section takes a heading or a path of headings; a wrong one names the nearest."""
    body = "# Setup\nintro\n## Docker\nuse compose\n```\n# not a heading\n```\n## Local\nuse make\n"
    id = json.loads(ok("learn", "-", "--title", "How to set up", "--json", stdin=body))["id"]
    assert json.loads(ok("show", id, "--section", "docker", "--json"))["body"] == (
        "## Docker\nuse compose\n```\n# not a heading\n```\n")
    assert "use make" in ok("show", id, "--section", "Setup > Local")
    assert "did you mean 'Setup > Docker'" in one_line_error(run("show", id, "--section", "Setup > Dokcer"), 2)


# ---- words

WRONG = [
    (["recal", "x"], "did you mean 'recall'?"),
    (["serach", "x"], "did you mean 'recall'?"), (["rmember", "x"], "did you mean 'learn'?"),
    (["recall", "--limt", "3", "x"], "did you mean '--limit'?"),
    (["recall", "-n", "3", "x"], "did you mean '--limit'?"),
    (["recall", "-q", "x"], "`dayleaf recall --help` lists them"),
    (["recall", "--kind", "learnin"], "did you mean 'learning'?"),
    (["recall", "--limit", "many"], "'many' is no number above 0"),
    (["recall", "--limit", "0"], "'0' is no number above 0"),
    (["recall", "--min-score", "nan"], "'nan' is no number"),
    (["recall", "--limit"], "expected one argument"),
    (["recall", "--since", "whenever"], "'whenever' is no time"),
    (["recall", "--workspace", "nowhere"], "no workspace 'nowhere'"),
    (["distill"], "wants a question"),
    (["distill", "x", "--provider", "gemni"], "did you mean 'gemini'?"),
    (["learn", " "], "an empty learning"),
    (["learn", "x", "--global", "--shared"], "exclude one another"),
    (["show"], "show wants one ID"),
    (["index"], "index wants one of"),
    (["index", "biuld"], "did you mean 'build'?"),
    (["config", "set", "load.topp", "3"], "did you mean 'load.top'?"),
    (["config", "set", "load.top", "three"], "wants a number"),
    (["config", "set", "load.enabled", "maybe"], "wants true or false"),
    (["config", "set", "redact.allow", "x"], "write it as JSON"),
    (["config", "set", "recall.without", '["recnecy"]'], "did you mean 'recency'?"),
    (["config", "set", "load.routes", '["payments stripe"]'], "load.routes wants a list like"),
    (["config", "set", "distill.provider", "claud"], "did you mean 'claude'?"),
    (["config", "sett"], "did you mean 'set'?"),
    (["rule", "aprove", "r-1"], "did you mean 'approve'?"),
    (["off"], "no session of this workspace yet"),
    (["load"], "load wants a prompt"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_wrong_words_end_with_2_and_one_line_that_helps(run, words, said):
    """No usage dump: the fault, and the nearest valid word."""
    assert said in one_line_error(run(*words), 2)


def test_an_unknown_id_names_near_ones(run, ok):
    """A typing error in an id is met with the ids that are near."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    assert "did you mean %s" % id in one_line_error(run("show", id[:-1] + "x"), 1)


def test_nothing_found_is_no_failure(ok):
    """An empty recall says so and offers to contribute."""
    said = ok("recall", "kafka", "partition")
    assert said.startswith("Nothing found for `kafka partition`.")
    assert "nothing about `kafka`, `partition`: `dayleaf learn" in said


def test_words_after_two_dashes_are_text(ok):
    """`--` ends the options, so that a query may hold one; so does quoting it together with other words."""
    ok("learn", "--title", "pip", "--", "--no-cache", "is needed")
    assert "pip" in ok("recall", "--", "--no-cache")
    assert "pip" in ok("recall", "--no-cache is needed")


def test_options_may_stand_among_the_words(ok):
    """The words that are no option are the query, in their order."""
    assert json.loads(ok("recall", "jwt", "--limit", "3", "issuer", "--json"))["query"] == "jwt issuer"


@pytest.mark.parametrize("verb", list(cli.VERBS))
def test_every_verb_has_help_without_a_home(run, verb, tmp_path):
    """Help needs nothing and writes nothing."""
    done = run(verb, "--help")
    assert done.returncode == 0 and "usage: dayleaf " + verb in done.stdout and "--json" in done.stdout
    assert sum(line.split()[:1] == [verb] for line in run("help").stdout.splitlines()) == 1


def test_the_help_begins_with_what_is_used_every_day(run):
    """The six that matter first, then the others under headings; no line is wider than a screen."""
    lines = run("help").stdout.splitlines()
    first = lines.index("Every day:")
    assert [line.split()[0] for line in lines[first + 1:first + 7]] == ["recall", "distill", "learn", "checkpoint", "handoff", "plan"]
    assert first == 4 and lines[first + 7] == "" and sum(line.endswith(":") for line in lines) == 5
    assert max(map(len, lines)) <= 100


def test_the_version_is_the_packages(ok):
    """`--version` prints one line."""
    from memory import __version__

    assert ok("--version") == "dayleaf %s\n" % __version__


# ---- JSON everywhere

def test_every_answer_is_available_as_json(ok, home):
    """Each verb prints one line of JSON with --json."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    for words in (["recall"], ["recall", "jwt", "--explain"], ["show", id], ["status"], ["stats"], ["stats", "--spend"],
                  ["workspace"], ["index", "build"], ["index", "refresh"], ["index", "--verify"], ["index", "status"],
                  ["config", "list"], ["config", "get", "load.top"], ["rule", "list"], ["why"], ["load", "jwt issuer"],
                  ["distill", "jwt issuer", "--provider", "extract"], ["off", "--project"], ["forget", id]):
        said = ok(*words, "--json")
        assert said.count("\n") == 1, words
        json.loads(said)


def test_the_export_lists_every_learning(ok, tmp_path):
    """`index export` prints the JSON form, or writes it to a file."""
    ok("learn", TEXT, "--tag", "auth")
    value = json.loads(ok("index", "export"))
    assert value["learningCount"] == 1 and value["learnings"][0]["file"].endswith(".md")
    assert set(value) >= {"version", "generated", "learningCount", "totalTokens", "learnings", "topics", "categories"}
    ok("index", "export", "--out", str(tmp_path / "index.json"))
    assert json.loads((tmp_path / "index.json").read_text(encoding="utf-8"))["learnings"] == value["learnings"]


def test_explaining_a_recall_prints_every_part(ok):
    """--explain shows the parts of a score, also in JSON."""
    ok("learn", TEXT)
    assert "bm25" in ok("recall", "jwt", "--explain")
    assert "bm25" in json.loads(ok("recall", "jwt", "--explain", "--json"))["hits"][0]["parts"]


def test_a_batch_answers_line_by_line(ok):
    """JSONL in, ranked ids out, in the order of the queries; a bad line is an error of its own."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    lines = [{"id": 1, "query": "jwt"}, {"id": 2, "query": "kafka"}, {"id": 3, "query": "jwt", "kind": "plan"}]
    said = ok("recall", "--batch", stdin="\n".join(map(json.dumps, lines)) + "\nnot json\n")
    rows = [json.loads(row) for row in said.splitlines()]
    assert [row.get("id") for row in rows] == [1, 2, 3, None]
    assert [hit["id"] for hit in rows[0]["hits"]] == [id] and rows[1]["hits"] == rows[2]["hits"] == []
    assert "error" in rows[3]


# ---- what a terminal must not be told

EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b[31mred\x1b[0m \x9b2J ‮gnp.exe \x1bPq#0\x1b\\ \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"


def test_escape_sequences_of_records_reach_no_terminal(ok, place):
    """Neither text nor JSON carries ESC, C1 or bidirectional controls out of a hand-written file."""
    folder = Path(place.folder("p", "learning"))
    folder.mkdir(parents=True)
    title = json.dumps(EVIL)
    (folder / "evil.md").write_text("---\ntitle: %s\n---\njwt %s\n" % (title, EVIL), encoding="utf-8")
    for words in (["recall", "jwt"], ["recall", "jwt", "--json"], ["recall", "jwt", "--explain"], ["show", "evil"],
                  ["show", "evil", "--json"], ["status"], ["doctor"], ["load", "jwt"], ["index", "export"]):
        done = subprocess.run([sys.executable, "-I", str(ROOT / "memory"), *words], capture_output=True, cwd=place.project,
                              env={"HOME": os.environ["HOME"], "PATH": os.defpath})
        said = done.stdout.decode("utf-8") + done.stderr.decode("utf-8")
        assert "red" in said or words[0] in ("status", "doctor")
        assert not set(said) & set("\x1b\x07\x9b‮"), (words, said)


def test_hidden_characters_are_written_out_where_something_is_approved():
    """Who approves content sees what is in it."""
    assert terminal.visible("a\u202eb\x1b\u200bc\n\td 버튼") == "a\\u{202e}b\\u{1b}\\u{200b}c\n\td 버튼"


def test_columns_are_aligned_by_display_width():
    """A wide character takes two columns, a combining one none."""
    lines = terminal.table([["버튼", "x"], ["abcd", "y"], ["é", "z"]])
    assert [terminal.width(line) for line in lines] == [7, 7, 7]
    assert terminal.clip("버튼버튼", 5) == "버튼…"


# ---- surroundings

def test_a_hostile_working_directory_changes_nothing(run, ok, project):
    """Modules of the same names in the current directory are not imported."""
    (Path(project) / "memory").mkdir()
    for name in ("memory/__init__.py", "memory/cli.py", "json.py", "argparse.py", "sitecustomize.py", "re.py"):
        (Path(project) / name).write_text("import sys; sys.stderr.write('HIJACKED'); sys.exit(9)\n")
    assert "workspace" in ok("workspace", PYTHONPATH=project)
    assert ok("learn", TEXT)


def test_a_closed_pipe_is_quiet(env, project, run):
    """`dayleaf … | head -1` prints no trace."""
    for _ in range(30):
        run("learn", TEXT)
    command = '"%s" -I "%s"' % (sys.executable, ROOT / "memory")
    command = "%s config list | head -n 1; %s help | true" % (command, command)
    done = subprocess.run(["sh", "-c", command], capture_output=True, cwd=project, env=env, encoding="utf-8")
    assert done.stderr == ""


@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_survived(env, project, redirect):
    """A standard stream that is closed is no fault of ours."""
    done = subprocess.run(["sh", "-c", '"%s" -I "%s" learn "x y z" %s' % (sys.executable, ROOT / "memory", redirect)],
                          capture_output=True, cwd=project, env=env, encoding="utf-8")
    assert done.returncode == 0 and "fault" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_is_one_line(run, ok, home):
    """Reading goes on, writing says what is wrong."""
    ok("learn", TEXT)
    for folder in [Path(home, ".dayleaf"), *Path(home, ".dayleaf").rglob("*")]:
        if folder.is_dir():
            folder.chmod(0o500)
    try:
        assert "JWT" in ok("recall", "jwt")
        one_line_error(run("learn", "another one"), 1)
        one_line_error(run("index", "build"), 1)
    finally:
        for folder in [Path(home, ".dayleaf"), *Path(home, ".dayleaf").rglob("*")]:
            if folder.is_dir():
                folder.chmod(0o700)


def test_a_home_that_is_a_file_is_one_line(run, tmp_path):
    """What the file system refuses is no fault of ours."""
    (tmp_path / "file").write_text("x")
    for words in (["learn", "x y"], ["index", "build"], ["config", "set", "load.top", "3"]):
        one_line_error(run(*words, DAYLEAF_HOME=str(tmp_path / "file")), 1)
    for words in (["recall", "x"], ["status"], ["why"], ["index", "status"]):
        assert run(*words, DAYLEAF_HOME=str(tmp_path / "file")).returncode == 0
    assert "must be an absolute path" in one_line_error(run("status", DAYLEAF_HOME="relative"), 2)


def test_a_fault_of_our_own_is_kept_in_a_file(monkeypatch, capsys, home):
    """An unexpected error ends with 3, one line and a trace in the log; nothing of it goes to the terminal."""
    def fail(call):
        raise ZeroDivisionError("boom")

    monkeypatch.setitem(cli.VERBS, "workspace", cli.Verb(fail, "", ""))
    assert cli.main(["workspace"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "Traceback" not in said
    (path,) = Path(home, ".dayleaf", "log").glob("bug-*.txt")
    assert str(path) in said and "ZeroDivisionError: boom" in path.read_text() and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_stale_index_is_refreshed_behind_the_answer(ok, place):
    """A file written by hand is found at once, and the index catches up without being asked."""
    ok("learn", TEXT)
    Path(place.folder("p", "learning"), "by-hand.md").write_text("walrus facts\n", encoding="utf-8")
    found = json.loads(ok("recall", "walrus", "--json"))
    assert [hit["title"] for hit in found["hits"]] == ["walrus facts"] and found["stale"]
    for _ in range(100):
        if json.loads(ok("index", "status", "--json"))["index"]["state"] == "fresh":
            return
        time.sleep(0.1)
    raise AssertionError("the index stayed stale")


def test_colours_and_the_spinner_are_for_terminals(env, project, ok):
    """On a terminal headings are bold, unless NO_COLOR says no; a pipe gets plain text."""
    ok("learn", TEXT)
    assert "\x1b" not in ok("recall", "jwt")
    assert "\x1b[1mLearnings" in on_terminal(["recall", "jwt"], {**env, "TERM": "xterm"}, project)[1]
    assert "\x1b" not in on_terminal(["recall", "jwt"], {**env, "TERM": "xterm", "NO_COLOR": "1"}, project)[1]


# ---- rules, settings, switches

RULE = "---\nid: r-1\nkind: rule\ntitle: Never push to main\nrationale: it deploys\ntags: [git]\n---\nAsk first.\n"


@pytest.fixture
def rule(place):
    """A rule that someone wrote by hand."""
    path = Path(place.folder("p", "rule"), "never.md")
    path.parent.mkdir(parents=True)
    path.write_text(RULE, encoding="utf-8")
    return path


def test_only_a_person_at_a_terminal_approves_a_rule(run, ok, env, project, rule):
    """Without a terminal, or inside the client, there is no approval; with one, the content is shown and a yes is typed."""
    assert "only a person decides" in one_line_error(run("rule", "approve", "r-1", stdin="yes\n"), 2)
    status, shown = on_terminal(["rule", "approve", "r-1"], {**env, "CLAUDECODE": "1"}, project, ["yes"])
    assert status == 2 and "only a person decides" in shown
    status, shown = on_terminal(["rule", "approve", "r-1"], env, project, ["no"])
    assert status == 2 and "Ask first." in shown and "sha256 " in shown
    assert json.loads(ok("rule", "--json"))[0]["state"] == "pending"
    status, _ = on_terminal(["rule", "approve", "r-1"], env, project, ["yes"])
    assert status == 0 and json.loads(ok("rule", "list", "--json"))[0]["state"] == "approved"
    assert "Rules (follow these)" in ok("recall", "push main")
    rule.write_text(RULE + "And never ask.\n")
    assert json.loads(ok("rule", "list", "--json"))[0]["state"] == "pending"
    assert "Rules (wait for review)" in ok("recall", "push main")


def test_a_faulty_rule_cannot_be_approved(env, project, rule):
    """No rationale, no rule."""
    rule.write_text(RULE.replace("rationale: it deploys\n", ""))
    status, shown = on_terminal(["rule", "approve", "r-1"], env, project, ["yes"])
    assert status == 2 and "rationale" in shown


def test_settings_are_set_in_the_users_file(ok, home):
    """`config set` changes its key and keeps the rest; `get` and `list` say where a value comes from."""
    path = Path(home, ".dayleaf", "config.json")
    path.parent.mkdir()
    path.write_text('{"load": {"top": 3, "recent": 2}, "unknown": 1}')
    assert ok("config", "set", "load.top", "4") == "load.top = 4\n"
    assert ok("config", "set", "redact.allow", '["a","b"]')
    assert json.loads(path.read_text()) == {"load": {"top": 4, "recent": 2}, "unknown": 1, "redact.allow": ["a", "b"]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(ok("config", "get", "load.top", "--json")) == {"key": "load.top", "value": 4, "source": "user"}
    assert "unknown key 'unknown'" in ok("config", "list")
    assert "environment says 9" in ok("config", "set", "load.top", "5", DAYLEAF_LOAD_TOP="9")


def test_a_broken_settings_file_is_not_overwritten(run, home):
    """A file that is no JSON object is the user's to mend."""
    path = Path(home, ".dayleaf", "config.json")
    path.parent.mkdir()
    path.write_text("{broken")
    assert "mend it by hand" in one_line_error(run("config", "set", "load.top", "4"), 1)
    assert path.read_text() == "{broken"


def test_pushes_are_switched_per_session_and_per_project(ok, place, project):
    """A session's switch is a receipt, a project's a line of its settings that goes again."""
    ok("off", "--session", "s-1", CLAUDE_CODE_SESSION_ID="s-1")
    assert receipts.session(place.receipts("s-1")).off
    ok("on", CLAUDE_CODE_SESSION_ID="s-1")
    assert not receipts.session(place.receipts("s-1")).off
    path = Path(project, ".dayleaf", "config.json")
    ok("off", "--project")
    assert json.loads(path.read_text()) == {"load.enabled": False}
    assert json.loads(ok("config", "get", "load.enabled", "--json"))["source"] == "project"
    ok("on", "--project")
    assert json.loads(path.read_text()) == {}


# ---- receipts, loading, distilling

def push(env, project, name, session, **fields):
    """Run a hook as the client does."""
    script = {"SessionStart": "session_start", "UserPromptSubmit": "prompt"}[name]
    event = {"hook_event_name": name, "session_id": session, "cwd": project, **fields}
    done = subprocess.run([sys.executable, "-I", "-S", str(ROOT / "hooks" / (script + ".py"))], input=json.dumps(event),
                          capture_output=True, cwd=project, encoding="utf-8",
                          env={**env, "CLAUDE_PROJECT_DIR": project, "DAYLEAF_RUNTIME_AUTO": "0"})
    return json.loads(done.stdout) if done.stdout else {}


def test_why_tells_what_was_put_into_which_prompt(ok, run, env, project):
    """Receipts come back with titles, scores and reasons; a record that is gone keeps its id."""
    assert ok("why") == "nothing was put before a prompt here yet\n"
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    push(env, project, "SessionStart", "s-1", source="startup")
    push(env, project, "UserPromptSubmit", "s-1", prompt="jwt issuer", prompt_id="p-77")
    (start, prompt) = json.loads(ok("why", "--json"))["events"]
    assert [(item["id"], item["title"], item["reason"]) for item in start["chosen"]] == [
        (id, "Pin the JWT issuer in tests", "load_all")]
    assert prompt["event"] == "prompt" and prompt["chosen"] == []
    said = ok("why", "s-1")
    assert "load_all" in said and "1 prompt got nothing" in said and "Pin the JWT issuer" in said
    assert "p-77" in ok("why", "p-77", "--json")
    ok("forget", id)
    assert "(no longer there)" in ok("why", "s-1")
    assert "no receipts of a session or prompt 'x'" in one_line_error(run("why", "x"), 2)


def test_load_shows_what_a_prompt_would_get(ok):
    """Strategy, picks with relevance and reason, every candidate with its terms, tokens saved."""
    for i in range(12):
        ok("learn", "The %s service number %d needs its own flag." % (["kafka", "redis", "nginx"][i % 3], i))
    ok("learn", "Rotate the JWT signing key with scripts/rotate_key.sh, or logins fail.")
    value = json.loads(ok("load", "jwt signing key rotate", "--json"))
    assert value["strategy"] == "index_filter" and value["learnings"] == 13
    assert value["picks"][0]["title"].startswith("Rotate the JWT signing key") and value["picks"][0]["relevance"] > 1
    assert value["saved"] > 0 and value["considered"][0]["terms"]
    said = ok("load", "jwt signing key rotate", "--explain")
    assert "index_filter" in said and "candidates (" in said and "<dayleaf-memory" in said
    assert "pushes: off by the environment; remove DAYLEAF_LOAD_ENABLED" in ok("load", "x", DAYLEAF_LOAD_ENABLED="false")


def test_a_digest_cites_its_records_and_can_be_kept(ok):
    """distill answers by the extract, says its reduction, and --save keeps it linked to what it was made of."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    value = json.loads(ok("distill", "why do jwt tests fail", "--provider", "extract", "--save", "--json"))
    assert value["provider"] == "extract" and value["bullets"][0]["ids"] == [id] and value["sources"] == [id]
    kept = json.loads(ok("show", value["saved"], "--json"))
    assert kept["source"] == "agent" and {"relation": "derived_from", "target": id} in kept["links"]
    assert "tokens (" in ok("distill", "jwt", "--provider", "extract", "--explain")


# ---- redaction

def test_redact_is_a_filter(ok):
    """Text goes through, secrets do not; --batch keeps the lines apart and counts."""
    secret = "AK" + "IA" + "Q7RSTUVW2X3Y4Z5A"
    said = ok("redact", "-", stdin="key %s\nkeep\n" % secret)
    assert secret not in said and said.endswith("keep\n") and "[redacted:" in said
    rows = [json.loads(row) for row in ok("redact", "--batch", stdin="\n".join(
        json.dumps(row) for row in ({"id": "a", "text": "key " + secret}, {"id": "b", "text": "plain"}))).splitlines()]
    assert [row["id"] for row in rows] == ["a", "b"] and rows[1] == {"id": "b", "text": "plain", "found": []}
    assert secret not in rows[0]["text"] and rows[0]["found"][0]["count"] == 1


def test_a_batch_line_that_is_none_is_named(run):
    """The line's number is in the message."""
    assert "stdin line 2" in one_line_error(run("redact", "--batch", stdin='{"id":1,"text":"x"}\n[]\n'), 2)


# ---- the launcher

def test_the_launcher_follows_links_through_odd_paths(env, project, tmp_path):
    """bin/dayleaf finds its repository through relative and absolute links in directories with spaces."""
    copy = tmp_path / "a copy" / "day leaf"
    shutil.copytree(ROOT / "memory", copy / "memory", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "bin", copy / "bin")
    (tmp_path / "links here").mkdir()
    (tmp_path / "links here" / "second").symlink_to("../a copy/day leaf/bin/dayleaf")
    (tmp_path / "links here" / "dayleaf").symlink_to(tmp_path / "links here" / "second")
    found = {**env, "PATH": str(tmp_path / "links here") + os.pathsep + os.defpath}
    done = subprocess.run(["sh", "-c", "dayleaf workspace --json"], capture_output=True, cwd=project, env=found, encoding="utf-8")
    assert json.loads(done.stdout)["root"] == project, done.stderr


def test_the_launcher_prefers_the_runtime_and_passes_words_through(env, project, home, tmp_path):
    """The runtime's interpreter runs, isolated, with every word as it was."""
    python = Path(home, ".dayleaf", "runtime", "bin", "python")
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nfor word; do printf '%s|' \"$word\"; done\n")
    python.chmod(0o755)
    done = subprocess.run([str(ROOT / "bin" / "dayleaf"), "recall", "a b", "", "$x"], capture_output=True, cwd=project, env=env,
                          encoding="utf-8")
    assert done.stdout == "-I|%s|recall|a b||$x|" % (ROOT / "memory")


def test_the_launcher_is_plain_sh():
    """No shell but POSIX sh is assumed."""
    assert (ROOT / "bin" / "dayleaf").read_text().startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", str(ROOT / "bin" / "dayleaf")]).returncode == 0
    assert os.access(ROOT / "bin" / "dayleaf", os.X_OK)


def test_a_place_outside_any_repository_works(ok, tmp_path):
    """A directory without git is a workspace of its own."""
    folder = tmp_path / "plain folder"
    folder.mkdir()
    assert json.loads(ok("workspace", "--json", cwd=str(folder)))["workspace"].startswith("plain-folder-")


def test_a_session_that_moved_keeps_its_workspace(ok, tmp_path):
    """Inside the client's project directory the project decides, elsewhere the current directory."""
    inner = tmp_path / "top" / "inner"
    inner.mkdir(parents=True)
    key = json.loads(ok("workspace", "--json", cwd=str(tmp_path / "top")))["workspace"]
    assert json.loads(ok("workspace", "--json", cwd=str(inner), CLAUDE_PROJECT_DIR=str(tmp_path / "top")))["workspace"] == key
    assert json.loads(ok("workspace", "--json", cwd=str(inner), CLAUDE_PROJECT_DIR="/nowhere"))["workspace"] != key
    assert paths.slug("inner") in json.loads(ok("workspace", "--json", cwd=str(inner)))["workspace"]


def test_off_in_a_terminal_means_the_newest_session(ok, place):
    """Beside a running session nobody knows its id: the one that wrote the latest receipt is switched."""
    from memory import receipts

    receipts.write(place.receipts("older"), {"v": 1, "event": "start"})
    os.utime(place.receipts("older"), (1000, 1000))
    receipts.write(place.receipts("newer"), {"v": 1, "event": "start"})
    assert "nothing more" in ok("off")
    assert receipts.session(place.receipts("newer")).off and not receipts.session(place.receipts("older")).off


def test_a_record_is_found_by_what_a_person_calls_it(ok, run, place, project):
    """Its whole title in any case, its file without the digits at the end, a resource by its path or file; ids before all."""
    prices = json.loads(ok("learn", "Prices are integers", "--json"))["id"]
    korean = json.loads(ok("learn", "버튼은 저장한다", "--json"))["id"]
    for said in ("prices ARE integers", "prices-are-integers", "prices-are-integers.md"):
        assert prices in ok("show", said)
    assert korean in ok("show", "버튼은 저장한다")
    Path(project, "my docs").mkdir()
    Path(project, "my docs", "billing.md").write_text("# Money\n\nHalf to even.\n")
    doc = json.loads(ok("resource", "add", "--path", "my docs/billing.md", "--json"))["id"]
    for said in ("billing.md", "my docs/billing.md", "./my docs/billing.md", "Money"):
        assert doc in ok("resource", "show", said)
    assert ok("forget", "Money").startswith("archived " + doc)
    vault.put(place, "p/learnings/own.md", prices, "Its title is the id of another.", id="l-own")
    assert "Prices are integers" in ok("show", prices).splitlines()[0]


def test_what_several_records_are_called_is_listed(ok, run):
    """Up to three, by id; nothing is chosen."""
    found = sorted(json.loads(ok("learn", "text %d" % i, "--title", "Prices", "--json"))["id"] for i in range(4))
    said = one_line_error(run("show", "prices"), 1)
    assert said.startswith("dayleaf: 'prices' may mean ") and sum(id in said for id in found) == 3
    assert "no record 'price'" in one_line_error(run("show", "price"), 1)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_help_fits_the_columns_that_there_are(ok, columns):
    """The list of verbs, and the help of each; a verb with many words sets no column."""
    listed = ok("help", COLUMNS=str(columns))
    assert max(map(terminal.width, listed.splitlines())) <= columns
    starts = {line.index(cli.VERBS[line.split()[0]].purpose[:20]) for line in listed.splitlines() if line[:2] == "  " and line[2] != " "}
    assert len(starts) == 1
    for verb in ("resource", "import", "rule", "harvest", "recall", "plan"):
        assert max(map(terminal.width, ok(verb, "--help", COLUMNS=str(columns)).splitlines())) <= columns, verb


# ---- what a first user stumbled on

def test_a_session_that_never_ran_is_not_switched(run, ok, env, project, place):
    """A slip of the finger must not become the newest session; the one that ran is named."""
    assert "none has run" in one_line_error(run("off", "--session", "nosuch"), 2)
    push(env, project, "SessionStart", "aaaa1111", source="startup")
    assert "no session 'nosuch' here; the newest is aaaa1111" in one_line_error(run("off", "--session", "nosuch"), 2)
    assert not Path(place.receipts("nosuch")).exists()
    assert "in session aaaa1111" in ok("off")
    assert receipts.session(place.receipts("aaaa1111")).off and "switched off" in ok("why")


def test_a_session_that_was_only_switched_is_no_session_that_ran(ok, env, project, place):
    """The running one may be switched before its first receipt; neither `why`, `off` nor `stats` takes it for one that ran."""
    push(env, project, "SessionStart", "aaaa1111", source="startup")
    assert "in session bbbb2222" in ok("off", CLAUDE_CODE_SESSION_ID="bbbb2222")
    assert receipts.session(place.receipts("bbbb2222")).off
    assert json.loads(ok("why", "--json"))["session"] == "aaaa1111" and "in session aaaa1111" in ok("off")
    assert json.loads(ok("stats", "--json"))["sessions"] == 1


def test_on_takes_back_what_off_did_though_another_session_ran_since(ok, place):
    """Outside a session `on` means the newest one that is off, names it, and says where none is."""
    receipts.write(place.receipts("aaaa1111"), {"v": 1, "event": "start"})
    assert "no session of this workspace is off" in ok("on")
    assert "nothing more in session aaaa1111" in ok("off")
    time.sleep(0.02)
    receipts.write(place.receipts("bbbb2222"), {"v": 1, "event": "prompt"})
    assert "pushes again in session aaaa1111" in ok("on")
    assert not receipts.session(place.receipts("aaaa1111")).off
    assert json.loads(ok("on", "--json")) == {"session": "", "enabled": True}


@pytest.mark.parametrize("words", [["learn", "<private>foo. bar</private>"], ["learn", "<private>foo</private>", "--title", "T"],
                                   ["checkpoint", "<private>foo</private>"]], ids=" ".join)
def test_nothing_is_kept_of_what_is_private(run, place, words):
    """A learning or note that is all private leaves no empty file, whatever its title."""
    assert "nothing is left to keep: all of it is private" in one_line_error(run(*words), 2)
    assert not list(Path(place.private).rglob("*.md"))


def test_the_same_words_with_another_tag_get_it(ok, home):
    """Today or later, the file that is there takes the tags; other words are another learning."""
    first = json.loads(ok("learn", "Issuers must match.", "--tag", "auth", "--json"))
    path = Path(first["path"])
    path.write_text(path.read_text().replace("created: 20", "created: 19", 1))  # as if it had been written long ago
    assert ok("learn", "Issuers must match.", "--tag", "jwt", "--version", "2").startswith("already there " + first["id"])
    again = json.loads(ok("learn", "Issuers must match.", "--json"))
    assert (again["id"], again["tags"], again["versions"]) == (first["id"], ["auth", "jwt"], ["2"])
    assert ok("learn", "Issuers must match. Always.", "--title", "Issuers must match").startswith("kept")
    assert len(list(Path(home).rglob("issuers*.md"))) == 2


def test_the_same_words_of_a_candidate_are_kept(ok, place):
    """What nobody accepted is not pushed: the user's own words must be."""
    folder = Path(place.folder("p", "learning"))
    folder.mkdir(parents=True)
    (folder / "issuers-must-match-1a2b.md").write_text("---\ntitle: Issuers must match\nsource: auto\n---\nIssuers must match.\n")
    assert ok("learn", "Issuers must match.").startswith("kept")


def test_an_archived_record_is_said_to_be_archived(run, ok):
    """Neither show, forget nor restore offers another record in its place, and the start of an id will do."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    other = json.loads(ok("learn", "Another one.", "--json"))["id"]
    ok("forget", id)
    for verb in ("show", "forget"):
        for text in (id, id[:6]):
            assert "is archived; `dayleaf restore %s` brings it back" % id in one_line_error(run(verb, text), 1)
    ok("restore", id[:6])
    assert "it is in the store" in one_line_error(run("restore", id), 1)
    ok("forget", id)
    assert "--yes" in one_line_error(run("forget", id, "--hard"), 2)
    assert "is archived" in one_line_error(run("show", id), 1)
    assert "0 cached digests removed" in ok("forget", id, "--hard", "--yes")
    for verb in ("show", "forget", "restore"):
        said = one_line_error(run(verb, id), 1)
        assert "record '%s'; " % id in said and "did you mean" not in said and other not in said


def test_an_id_is_not_taken_for_one_that_is_merely_alike(run, ok):
    """Hexadecimal digits are alike by chance; what may be removed is never offered for that."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    one, other = ("%x" % (15 - int(id[at], 16)) for at in (5, 7))  # two that are no neighbours, which might be swapped
    alike = id[:5] + one + id[6] + other + id[8:]
    assert id not in one_line_error(run("forget", alike), 1)


def test_a_record_of_another_workspace_is_shown(ok, env, tmp_path):
    """What `recall --workspace all` finds, `show` prints, and says where it is."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    done = subprocess.run([sys.executable, "-I", str(ROOT / "memory"), "show", id], capture_output=True, text=True, env=env, cwd=other)
    assert done.returncode == 0 and id in done.stdout


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
    said = "'load.top' wants a number, such as 6"
    assert said in one_line_error(run("config", "set", "load.top", "many"), 2)
    Path(home, ".dayleaf").mkdir()
    Path(home, ".dayleaf", "config.json").write_text('{"load.top": "many"}')
    assert said in run("doctor").stdout


@pytest.mark.parametrize("verb", ["status", "recall"])
def test_a_full_disk_behind_stdout_is_one_line(ok, env, project, place, verb):
    """Not a trace, and not a second try at the interpreter's end, nor before a refresh of the index."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    ok("learn", TEXT)
    Path(place.folder("p", "learning"), "by-hand.md").write_text("walrus facts\n", encoding="utf-8")
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-I", str(ROOT / "memory"), verb], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=env, cwd=project)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "No space left" in done.stderr


def test_a_folder_that_cannot_be_written_is_named(run, project, home):
    """The repository's, where the record was to be shared."""
    Path(project, ".dayleaf").write_text("in the way")
    said = one_line_error(run("learn", "x y", "--shared"), 1)
    assert said.endswith("the permissions of " + project) and home + "/.dayleaf" not in said


def test_redact_on_a_terminal_says_that_it_reads_stdin(env, project):
    """It does not sit there in silence."""
    status, shown = on_terminal(["redact"], env, project)
    assert status == 2 and "reads stdin" in shown and shown.count("\n") == 1


def test_the_counts_of_a_small_index_are_true(ok):
    """What stands in the delta alone is counted, or nothing is said."""
    ok("learn", TEXT)
    assert "0 terms" not in ok("index", "status")
    ok("index", "build")
    assert "0 terms" not in ok("index", "status") and " terms" in ok("index", "status")


def test_a_rejected_rule_is_neither_approved_nor_pending(run, ok, env, project, rule):
    """The list has three states; --pending leaves only what waits; an unknown rule points to the list."""
    assert "r-1" in ok("rule", "list", "--pending")
    status, shown = on_terminal(["rule", "reject", "r-1"], env, project, ["yes"])
    assert status == 0 and "rejected r-1  Never push to main" in shown
    assert [(row["id"], row["state"]) for row in json.loads(ok("rule", "list", "--json"))] == [("r-1", "rejected")]
    assert ok("rule", "list", "--pending") == "no rule waits\n" and "rejected" in ok("rule")
    status, shown = on_terminal(["rule", "approve", "r-1"], env, project, ["yes"])
    assert "approved r-1  Never push to main" in shown and "approved" in ok("rule")
    rule.write_text(RULE + "Always.\n")
    assert "pending" in ok("rule")
    assert "`dayleaf rule list` names the rules" in one_line_error(run("rule", "approve", "r-77"), 1)


def test_a_command_that_deletes_is_never_offered(run):
    """`export` is a word of `index`; `forgt` is nothing."""
    assert "index export" in one_line_error(run("export"), 2)
    assert "forget" not in run("forgt").stderr


def test_a_filter_that_leaves_nothing_is_said(ok):
    """Nothing found under a filter is not nothing found."""
    ok("learn", TEXT)
    assert "without them there is 1 hit" in ok("recall", "jwt", "--tag", "nope")


def test_a_digest_does_not_feed_on_itself(ok):
    """A kept digest is left out where its sources are at hand."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    kept = json.loads(ok("distill", "jwt issuer", "--provider", "extract", "--save", "--json"))["saved"]
    again = json.loads(ok("distill", "jwt issuer", "--provider", "extract", "--no-cache", "--json"))
    assert {cited for bullet in again["bullets"] for cited in bullet["ids"]} == {id} and kept != id


def test_status_says_where_pushes_are_off(ok, run, env, project):
    """A switch that nobody remembers is found again, by status, doctor and load."""
    ok("learn", TEXT)
    assert "pushes: off" not in ok("status") + run("doctor").stdout + ok("load", "jwt")
    for session in ("bbbb2222", "aaaa1111"):
        push(env, project, "SessionStart", session, source="startup")
        ok("off", "--session", session)
    said = "off in session aaaa1111; `dayleaf on` switches them on"
    for words in (["status"], ["doctor"], ["load", "jwt"]):
        assert "pushes: " + said in run(*words).stdout, words
    assert "off in session bbbb2222; `dayleaf on --session bbbb2222`" in ok("status")
    assert "would be chosen (1 record)" in ok("load", "jwt")
    for session in ("bbbb2222", "aaaa1111"):
        ok("on", "--session", session)
    assert "pushes: off" not in ok("status")
    ok("off", "--project")
    for words in (["status"], ["doctor"], ["load", "jwt"]):
        assert "pushes: off in this project; `dayleaf on --project` switches them on" in run(*words).stdout, words
    assert "\nchosen" not in ok("load", "jwt") and "would be chosen" in ok("load", "jwt")


def test_load_says_that_all_learnings_came_at_the_start(ok):
    """Few learnings are given at once, and a prompt gets none of them again; none are not called all."""
    assert "every learning is given" not in ok("load", "jwt")
    ok("learn", TEXT)
    assert "every learning is given at the session's start" in ok("load", "jwt")
    ok("learn", "Another learning of some length. " * 40)
    assert "1 of them fit into the session's start" in ok("load", "jwt", DAYLEAF_LOAD_SESSIONCHARS="900")
