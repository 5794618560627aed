"""`dayleaf distill` as a process of its own, with stub clients on PATH: its account, its caps,
wrong words, progress.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import command, talks, vault
from harness.command import dayleaf
from harness.interpreter import PYTHON
from harness.models import CLAUDE, READER, SAY, STUB

from memory.distill import spend

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "why did the uploads fail?"
GOOD = [
    "- Uploads failed since nginx closed the socket after 60 s [up1]",
    "- The limit went to 1200 s in deploy/nginx.conf [up1]",
]


class Shell:
    """A project with two records, a PATH with stubs, and `dayleaf` run in it."""

    def __init__(self, place, env, project, folder):
        self.place, self.env, self.project, self.folder = place, env, project, folder
        env["PATH"] = "%s%s/usr/bin:/bin" % (folder / "bin", os.pathsep)
        (folder / "bin").mkdir()
        vault.put(
            place,
            "p/learnings/up1.md",
            "Uploads and nginx",
            (
                "Uploads failed since nginx closed the socket after 60 s; the limit went to 1200 s "
                "in deploy/nginx.conf."
            ),
        )
        vault.put(
            place,
            "p/learnings/up2.md",
            "Uploads and retries",
            "A retry of the uploads hid the failure for days.",
        )

    def stub(self, name, code):
        path = self.folder / "bin" / name
        path.write_text(STUB.format(python=PYTHON, calls=str(self.folder / "calls"), code=code))
        path.chmod(0o755)

    def calls(self):
        path = self.folder / "calls"
        return path.read_text().count("\n") if path.exists() else 0

    def run(self, *words, **more):
        return dayleaf(self.env, self.project, timeout=120)(*words, **more)

    def ok(self, *words, **more):
        done = self.run(*words, **more)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    def value(self, *words, **more):
        return json.loads(self.ok("distill", QUESTION, "--json", *words, **more))


@pytest.fixture
def shell(place, env, project, tmp_path):
    """A project with two records and a PATH that holds stubs alone."""
    return Shell(place, env, project, tmp_path)


# ---- the account


def test_json_counts_what_the_check_kept_and_cut(shell):
    """`checked` has every bullet, with the word that no record holds; `chain` and `calls` say who
    answered.
    """
    shell.stub(
        "claude",
        CLAUDE % "\n".join([*GOOD, "- It was fixed in src/ghost.py [up1]", "- No record at all"]),
    )
    value = shell.value()
    assert value["checked"] == {
        "bullets": 4,
        "kept": 2,
        "cut": [
            {"why": "no record holds it", "what": "src/ghost.py"},
            {"why": "no id", "what": "No record at all"},
        ],
    }
    assert (value["chain"], value["calls"]) == ([{"provider": "claude", "outcome": "answered"}], 1)
    assert len(value["scores"]) == len(value["sources"]) == 2
    again = shell.value()
    assert (again["cached"], again["calls"], again["checked"]) == (True, 0, value["checked"])


def test_explain_shows_the_chain_the_calls_the_cuts_and_the_sources(shell):
    """Each step with its reason, each cut bullet with its word, each record with its score."""
    shell.stub("claude", "sys.exit(1)")
    shell.stub(
        "gemini",
        "print(json.dumps(dict(response=%r)))" % "\n".join([*GOOD, "- See src/ghost.py [up1]"]),
    )
    said = shell.ok("distill", QUESTION, "--explain")
    for line in (
        r"  claude +failed: exit 1",
        r"  gemini +answered",
        r"  model calls +2",
        r"  bullets +3, 2 kept",
        r"  cut +no record holds it: src/ghost\.py",
        r"  up1  \d\.\d\d  Uploads and nginx",
    ):
        assert re.search("^%s$" % line, said, re.M), (line, said)


def test_terminal_escapes_of_a_client_reach_no_terminal(shell):
    """Neither through a bullet, nor a note, nor the account."""
    shell.stub(
        "claude",
        CLAUDE
        % "\n".join(
            [*GOOD, "- \x1b]0;owned\x07Nothing \u202e[up1]", "- \x1b[31mbad \u202ex.py [up1]"]
        ),
    )
    assert not set("\x1b\x07\u202e") & set(shell.ok("distill", QUESTION, "--explain"))
    shell.stub("claude", "print('\\x1b[2J\\u202eboom', file=sys.stderr)\nsys.exit(7)")
    assert not set("\x1b\u202e") & set(shell.ok("distill", QUESTION, "--explain", "--no-cache"))


def test_two_hundred_records_are_read_where_the_limit_says_so(shell):
    """--limit 200 reaches every one of them; a model reads the best that fit, in one call."""
    for i in range(205):
        vault.put(
            shell.place,
            "p/checkpoints/2026-11-20/w%03d.md" % i,
            "Worker %d" % i,
            (
                "The uploads of worker %d failed in queue/worker_w%03d.py.\n" % (i, i)
                + "It went on and on. " * 160
            ),
        )
    shell.stub("claude", READER + SAY)
    value = shell.value("--limit", "200", "--kind", "checkpoint")
    assert len(value["sources"]) == 200
    assert (value["provider"], value["calls"], shell.calls()) == ("claude", 1, 1)
    assert value["notes"][0] == (
        "claude read the best 39 of 200 records: no more fit into a prompt"
    )
    assert value["checked"]["kept"] == 3


# ---- caps and spending


def test_the_caps_of_a_day_end_in_the_extract_and_stats_shows_both(shell):
    """Two calls a day: the third question is answered without a model; the table has day, provider
    and what is left.
    """
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    for most, provider in ((1, "claude"), (1, "claude"), (0, "extract")):
        value = shell.value("--no-cache", DAYLEAF_DISTILL_DAILYCALLS="2")
        assert (value["provider"], value["calls"]) == (provider, most)
    assert "the day's cap of 2 model calls is reached" in value["notes"][0]
    spent = json.loads(shell.ok("stats", "--spend", "--json", DAYLEAF_DISTILL_DAILYCALLS="2"))
    assert (spent["today"]["calls"], spent["today"]["callsLeft"]) == (2, 0)
    assert spent["today"]["tokensLeft"] == 500_000 - 2 * 990
    (day,) = spent["days"]
    assert (day["provider"], day["calls"], day["failed"], day["tokensIn"], day["dollars"]) == (
        "claude",
        2,
        0,
        1800,
        0.002,
    )
    said = shell.ok("stats", "--spend", DAYLEAF_DISTILL_DAILYCALLS="2")
    assert "2 of 2, 0 left" in said
    assert re.search(r"^\d{4}-\d\d-\d\d +claude +2 +0 +1,800 +180 +\$0\.0020$", said, re.M), said


def test_the_cap_of_tokens_ends_in_the_extract(shell, monkeypatch):
    """What the first call used leaves no room for the second."""
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    monkeypatch.setattr(spend, "MOST_TOKENS", 1700)
    assert shell.value("--no-cache")["provider"] == "claude"
    value = shell.value("--no-cache")
    assert (value["provider"], shell.calls()) == ("extract", 1)
    assert "the day's cap of 1700 tokens leaves 710" in value["notes"][0]


def test_no_cache_asks_anew_and_keeps_nothing(shell):
    """The second question alike is a second call, and a third without the option is one more."""
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    for _ in range(2):
        assert not shell.value("--no-cache")["cached"]
    assert not shell.value()["cached"]
    assert shell.value()["cached"]
    assert shell.calls() == 3


def test_a_command_shaped_like_ollama_answers(shell):
    """Prompt on stdin, a thinking preamble, an answer on stdout."""
    shell.stub(
        "local-model",
        "print('<think>The user wants bullets.\\n</think>\\n\\n' + %r)" % "\n".join(GOOD),
    )
    assert (
        shell.run("config", "set", "distill.command", '["local-model","run","small"]').returncode
        == 0
    )
    value = shell.value("--provider", "command")
    assert (value["provider"], value["checked"]["kept"]) == ("command", 2)
    day = json.loads(shell.ok("stats", "--spend", "--json"))["days"][0]
    assert (day["provider"], day["unknown"]) == ("command", 1)


# ---- wrong words, bad surroundings


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        (["--provider", "gpt"], {}, "unknown value 'gpt'"),
        (["--max-tokens", "49"], {}, "at least 50 tokens, not 49; set --max-tokens"),
        (["--max-tokens", "0"], {}, "'0' is not a whole number above 0"),
        (["--max-tokens", "-5"], {}, "--max-tokens"),
        (["--limit", "many"], {}, "not a whole number"),
    ],
)
def test_wrong_words_are_one_line_and_status_two(shell, words, env, said):
    """Before anything is searched or asked."""
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    done = shell.run("distill", QUESTION, *words, **env)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert said in done.stderr
    assert shell.calls() == 0


def test_a_question_as_long_as_a_file_is_refused_at_once(shell):
    """100 KB, by argument or as a slash command's text: one line with the remedy, no search."""
    long = "why did the uploads fail? " * 4000
    start = time.monotonic()
    for done in (shell.run("distill", long), shell.run("distill", "--args-from-stdin", stdin=long)):
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "but may have only 20,000" in done.stderr
    assert time.monotonic() - start < 5


def test_a_question_of_twenty_thousand_characters_is_answered(shell):
    """The longest that is taken."""
    done = shell.run(
        "distill", ("why did the uploads fail? " * 800)[:20_000], "--provider", "extract"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "[up1]" in done.stdout


def test_nothing_found_is_no_failure(shell):
    """Status 0, no call, and a note that says so."""
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    value = shell.value("--since", "2099-01-01")
    assert (value["bullets"], value["notes"], value["calls"], shell.calls()) == (
        [],
        ["no record to distil"],
        0,
        0,
    )


@pytest.mark.parametrize(
    "code",
    [
        "print('{\"is_error\": fal')",
        "print('[]')",
        "print('null')",
        "print('\\x00' * 500)",
        "print('{}')",
    ],
)
def test_broken_json_of_a_client_loses_nothing(shell, code):
    """The extract answers, no trace is written, the records stand."""
    shell.stub("claude", code)
    value = shell.value("--provider", "claude")
    assert (value["provider"], value["calls"]) == ("extract", 1)
    assert value["bullets"] and value["chain"][0]["outcome"].startswith("failed: ")
    assert not list(Path(shell.place.home, "log").glob("bug-*"))
    assert "1200 s" in shell.ok("show", "up1")


# ---- progress


def seen(shell, *words) -> str:
    """Run `dayleaf` with stderr on a terminal and return what that showed."""
    main, side = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-I", str(ROOT / "memory"), *command.spelled(words)],
        cwd=shell.project,
        stderr=side,
        env={**shell.env, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(side)
    said = b""
    while child.poll() is None or select.select([main], [], [], 0.2)[0]:
        if select.select([main], [], [], 0.1)[0]:
            try:
                said += os.read(main, 65536)
            except OSError:
                break
    os.close(main)
    assert child.wait(10) == 0
    return said.decode("utf-8", "replace")


def test_a_slow_client_is_waited_for_with_the_step_on_a_terminal(shell):
    """After a second the line says who is asked, and it is gone at the end; pipes stay silent."""
    shell.stub("claude", "import time\ntime.sleep(2)\n" + CLAUDE % "\n".join(GOOD))
    said = seen(shell, "distill", QUESTION)
    assert "asking claude" in said
    assert said.endswith("\r\x1b[K")
    assert shell.run("distill", QUESTION, "--no-cache").stderr == ""


# ---- the same command again


def test_the_same_command_over_the_same_files_searches_nothing(shell):
    """It prints what it printed, says that it was kept, and loads neither search nor digest."""
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    first, again = (shell.ok("distill", QUESTION, "--explain") for _ in range(2))
    assert "· claude\n" in first and "· claude · cached\n" in again
    assert first.split(", answer")[0] == again.split(", answer")[0]
    assert "kept from an earlier call" in again and "model calls  0" in again
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from memory.cli import main as cli; "
        "cli.main(); print(sorted(m for m in sys.modules if m in ('memory.recall.search', "
        "'memory.distill.providerchain', 'memory.distill.digests', 'dataclasses')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT), "distill", QUESTION, "--explain"],
        cwd=shell.project,
        env=shell.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == again + "[]\n"


@pytest.mark.parametrize(
    "change", ["edit", "quiet edit", "new record", "gone", "setting", "option", "damage"]
)
def test_whatever_changes_is_asked_anew(shell, change):
    """An edit, also one that hides its time and size; a record more or less; a setting; an option;
    a damaged entry.
    """
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    shell.ok("distill", QUESTION)
    path = Path(shell.place.path("p/learnings/up1.md"))
    words, env = ["distill", QUESTION], {}
    if change == "edit":
        path.write_text(path.read_text() + "More of it.\n")
    elif change == "quiet edit":
        was = os.stat(path)
        path.write_text(path.read_text().replace("closed", "dropped"[:6]))
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    elif change == "new record":
        vault.put(shell.place, "p/learnings/up3.md", "Uploads once more", "The uploads failed.")
    elif change == "gone":
        Path(shell.place.path("p/learnings/up2.md")).unlink()
    elif change == "setting":
        env = {"DAYLEAF_DISTILL_MODEL": "sonnet"}
    elif change == "option":
        words += ["--max-tokens", "400"]
    else:
        for entry in Path(shell.place.cache, "digests").iterdir():
            entry.write_bytes(entry.read_bytes().replace(b"nginx", b"nginy"))
    assert "cached" not in shell.ok(*words, **env)
    assert shell.calls() == 2


def test_a_question_about_a_time_is_searched_for_each_time(shell):
    """`the last hour` is another hour later on: only the digest is kept, not what was found."""
    for words in (["what failed in the uploads in the last hour?"], [QUESTION, "--since", "7d"]):
        shell.ok("distill", *words, "--provider", "extract")
        assert not any(
            '"said":"' in path.read_text() for path in Path(shell.place.cache, "digests").iterdir()
        )


def test_an_extract_in_a_models_place_is_no_answer_to_repeat(shell):
    """Once the client is there it is asked."""
    assert shell.value()["provider"] == "extract"
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    assert shell.value()["provider"] == "claude"


def test_a_price_beyond_all_numbers_is_unknown(shell):
    """An integer that no float holds is broken output of a client, and no fault of the
    program's.
    """
    shell.stub(
        "claude",
        "import json\nprint(json.dumps(dict(is_error=False, num_turns=1, result=%r, "
        "total_cost_usd=10 ** 400, usage={}, modelUsage={'m' * 9000: {}})))" % "\n".join(GOOD),
    )
    assert shell.value()["provider"] == "claude"
    (line,) = Path(shell.place.home, "spend.jsonl").read_text().splitlines()
    assert json.loads(line)["cost"] is None and len(line) < 400


def test_an_edit_while_a_model_answers_is_seen(shell):
    """What is kept for the same command belongs to the files from before the search, not to those
    of the answer's time.
    """
    path = shell.place.path("p/learnings/up2.md")
    shell.stub(
        "claude",
        "import pathlib\np = pathlib.Path(%r)\nif 'days' in p.read_text():\n"
        "    p.write_text('Weeks.')\n" % path + CLAUDE % "\n".join(GOOD),
    )
    shell.ok("distill", QUESTION)
    assert "cached" not in shell.ok("distill", QUESTION)
    assert "cached" in shell.ok("distill", QUESTION)
    assert shell.calls() == 2


def test_what_holds_a_secret_is_not_kept_for_the_same_command(shell):
    """A title edited by hand and the words of the question reach the terminal as they are, and no
    file.
    """
    secret = "gh" + "p_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    vault.put(
        shell.place,
        "p/learnings/up3.md",
        "Uploads and nginx of " + secret,
        "Uploads failed under nginx.",
    )
    for words in ([QUESTION], ["uploads nginx " + secret]):
        shell.ok("distill", *words, "--provider", "extract", "--explain")
    shell.ok("distill", "uploads", "--provider", "extract")
    kept = [path.read_text() for path in Path(shell.place.cache, "digests").iterdir()]
    assert any('"said":"' in text for text in kept) and not any(secret in text for text in kept)


def test_a_digest_saved_again_takes_the_place_of_the_one_before(shell):
    """The same answer is kept once; another one archives the old."""
    ask = ("--provider", "extract", "--save")
    first, second = (shell.value(*ask)["saved"] for _ in range(2))
    assert first == second
    vault.put(
        shell.place,
        "p/learnings/up3.md",
        "Uploads again",
        "The uploads failed again since the disk of the proxy was full.",
    )
    third = shell.value(*ask)["saved"]
    assert third != first
    assert shell.run("show", first).returncode == 1 and shell.run("restore", first).returncode == 0


def test_a_digest_saved_from_every_workspace_leaves_those_of_others_alone(shell, tmp_path):
    """The same question was answered in another workspace too: that answer is not this one's to
    replace.
    """
    other = tmp_path / "other"
    other.mkdir()
    ask = ("distill", QUESTION, "--provider", "extract", "--save", "--workspace", "all", "--json")
    kept = json.loads(dayleaf(shell.env, str(other))(*ask).stdout)["saved"]
    vault.put(
        shell.place,
        "p/learnings/up3.md",
        "Uploads again",
        "The uploads failed again since the disk of the proxy was full.",
    )
    assert json.loads(shell.ok(*ask))["saved"] not in (None, kept)
    assert shell.run("show", kept).returncode == 0


def test_where_no_client_is_there_the_same_command_is_answered_at_once(shell):
    """One line says why no model was asked; another record makes it search again, and a client that
    appears is asked.
    """
    said = shell.ok("distill", QUESTION)
    assert (
        said.count("note: ") == 1
        and "note: no model was asked: claude and gemini are not on PATH" in said
    )
    entries = len(list(Path(shell.place.cache, "digests").iterdir()))
    assert entries == 2  # the digest, and what was printed
    shell.ok("learn", "Something else altogether.")
    for _ in range(2):
        assert shell.ok("distill", QUESTION) == said.replace("· extract", "· extract · cached")
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    assert "· claude" in shell.ok("distill", QUESTION)


def test_of_a_conversation_the_turn_that_was_found_is_distilled(shell):
    """Not the whole session, of which most says nothing of the question; the digest names the
    conversation.
    """
    os.remove(shell.place.path("p/learnings/up1.md"))
    os.remove(shell.place.path("p/learnings/up2.md"))
    turn = (
        "## 14:40 why did the uploads fail?\n\n"
        "Uploads failed since nginx closed the socket after 60 s; the limit went to 1200 s in "
        "deploy/nginx.conf.\n\n"
    )
    other = (
        "## 15:%02d what is left?\n\nThe queue of module %d is left open, and "
        "its tests are slow.\n\n"
    )
    talks.put(shell.place, (talks.RESUME, turn, *(other % (n, n) for n in range(20))))
    shell.stub("claude", CLAUDE % "\n".join(line.replace("up1", "c-7a1c0001") for line in GOOD))
    value = shell.value("--no-cache")
    asked = (shell.folder / "calls").read_text()
    assert value["sources"] == ["c-7a1c0001"] and value["checked"]["kept"] == 2
    assert (
        "nginx closed the socket" in asked
        and "queue of module" not in asked
        and "never committed" not in asked
    )
    said = shell.ok("distill", "why did the uploads fail?", "--provider", "extract", "--no-cache")
    assert (
        "nginx closed the socket" in said
        and "queue of module" not in said
        and "never committed" not in said
    )


# ---- in a session


@pytest.mark.parametrize("words", [[], ["--provider", "extract"]])
def test_a_session_asks_no_model_that_nobody_configured(shell, words):
    """The clients are there and logged in, and a person's own question would reach them."""
    for name in ("claude", "gemini", "ollama"):
        shell.stub(name, CLAUDE % "\n".join(GOOD))
    said = shell.value(*words, CLAUDECODE="1")
    assert (said["provider"], shell.calls()) == ("extract", 0)
    assert shell.value("--no-cache")["provider"] == "claude" and shell.calls() == 1


@pytest.mark.parametrize(
    "words",
    [
        ["distill", QUESTION, "--provider", "gemini"],
        ["distill", QUESTION, "--provider=auto"],
    ],
)
def test_a_session_names_no_provider(shell, words):
    """Whatever the user configured, and whatever else is said before it."""
    for name in ("claude", "gemini"):
        shell.stub(name, CLAUDE % "\n".join(GOOD))
    shell.ok("config", "set", "distill.provider", "extract")
    done = shell.run(*words, CLAUDECODE="1")
    assert (done.returncode, shell.calls()) == (2, 0) and "only a person may run" in done.stderr
    done = shell.run(words[0], "--provider", "extract", *words[1:], CLAUDECODE="1")
    assert (done.returncode, shell.calls()) == (2, 0)


def test_a_session_asks_the_model_that_its_user_configured(shell):
    """Its environment configures nothing: a repository's settings may fill it."""
    shell.stub("claude", CLAUDE % "\n".join(GOOD))
    shell.value("--no-cache", CLAUDECODE="1", DAYLEAF_DISTILL_PROVIDER="claude")
    assert shell.calls() == 0
    shell.ok("config", "set", "distill.provider", "claude")
    assert shell.value("--no-cache", CLAUDECODE="1")["provider"] == "claude" and shell.calls() == 1


def test_an_option_that_is_given_twice_is_refused(shell):
    """The last one would win over one that was allowed beforehand."""
    done = shell.run("distill", "--max-tokens", "100", "--max-tokens=200", "--", QUESTION)
    assert (done.returncode, done.stderr) == (
        2,
        "dayleaf: --max-tokens is given twice; say it once\n",
    )
    assert shell.run("recall", "--tag", "a", "--tag", "b", "--json", "uploads").returncode == 0
