"""The verbs index and config, and redact as a filter."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from harness.command import on_terminal, one_line_error

TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."


def test_the_export_lists_every_learning(ok, tmp_path):
    """`index export` prints the JSON form, or writes it to a file."""
    ok("learn", TEXT, "--tag", "auth")
    value = json.loads(ok("index", "export"))
    assert value["learningCount"] == 1 and value["learnings"][0]["file"].endswith(".md")
    assert set(value) >= {"version", "generated", "learningCount", "totalTokens", "learnings", "topics", "categories"}
    ok("index", "export", "--out", str(tmp_path / "index.json"))
    assert json.loads((tmp_path / "index.json").read_text(encoding="utf-8"))["learnings"] == value["learnings"]


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
