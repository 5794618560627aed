"""The verbs that read: recall, load, why, status."""

from __future__ import annotations

import json
import time
from pathlib import Path

from harness import conversations, vault
from harness.command import one_line_error

TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."


def test_what_a_heading_names_is_shown_from_below_it(project, run, ok):
    """The line under the heading that the query names says more than the first line of the body."""
    ok(
        "learn",
        "-",
        stdin=(
            "Notes on money\n\n## Rounding\n\nHalf to even.\n\n"
            "## Überweisung\n\nSEPA takes a day.\n"
        ),
    )
    assert "SEPA takes a day." in ok("recall", "überweisung")
    assert "Half to even." in ok("recall", "rounding")


def test_nothing_found_is_no_failure(ok):
    """An empty recall says so and offers to contribute."""
    said = ok("recall", "kafka", "partition")
    assert said.startswith("Nothing found for `kafka partition`.")
    assert "\n`dayleaf learn" in said and said.count("kafka") == 1


def test_where_another_project_may_know_it_recall_says_how_to_ask_that(ok, tmp_path):
    """Not where it was asked, and not where there is none."""
    hint = "only this project was searched; `--workspace all` searches every project"
    assert hint not in ok("recall", "jwt")
    other = tmp_path / "other"
    other.mkdir()
    ok("learn", TEXT, cwd=str(other))
    assert hint in ok("recall", "jwt")
    assert hint not in ok("recall", "zebra", "--workspace", "all")
    assert "JWT" in ok("recall", "jwt", "--workspace", "all")


def test_explaining_a_recall_prints_every_part(ok):
    """--explain shows the parts of a score, also in JSON."""
    ok("learn", TEXT)
    assert "bm25" in ok("recall", "jwt", "--explain")
    assert "bm25" in json.loads(ok("recall", "jwt", "--explain", "--json"))["hits"][0]["parts"]


def test_a_batch_answers_line_by_line(ok):
    """JSONL in, ranked ids out, in the order of the queries; a bad line is an error of its own."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    lines = [
        {"id": 1, "query": "jwt"},
        {"id": 2, "query": "kafka"},
        {"id": 3, "query": "jwt", "kind": "plan"},
    ]
    said = ok("recall", "--batch", stdin="\n".join(map(json.dumps, lines)) + "\nnot json\n")
    rows = [json.loads(row) for row in said.splitlines()]
    assert [row.get("id") for row in rows] == [1, 2, 3, None]
    assert [hit["id"] for hit in rows[0]["hits"]] == [id] and rows[1]["hits"] == rows[2][
        "hits"
    ] == []
    assert "error" in rows[3]


def test_a_batch_takes_the_commands_own_options(ok):
    """A line's option comes before that of the command."""
    for word in ("one", "two", "three"):
        ok("learn", "%s of the walrus notes" % word)
    lines = [{"id": 1, "query": "walrus"}, {"id": 2, "query": "walrus", "limit": 3}]
    said = ok("recall", "--batch", "--limit", "2", stdin="\n".join(map(json.dumps, lines)))
    assert [len(json.loads(row)["hits"]) for row in said.splitlines()] == [2, 3]


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


def test_a_filter_that_leaves_nothing_is_said(ok):
    """Nothing found under a filter is not nothing found."""
    ok("learn", TEXT)
    assert "without them there is 1 hit" in ok("recall", "jwt", "--tag", "nope")


def test_what_was_done_after_an_error_is_asked_for_as_words_or_on_stdin(place, ok):
    """The error's text may be one argument, or what was printed."""
    conversations.week(place)
    for said in (
        ok("fix", "unknown flag: --open"),
        ok("fix", "-", stdin="Exit code 2\nunknown flag: --open\n"),
    ):
        assert "worked    `acme issue list --state open`" in said
    value = json.loads(ok("fix", "unknown flag: --open", "--json"))
    assert (
        value["lines"][0]["met"][0]["worked"] == "acme issue list --state open"
        and value["nearest"] == value["notes"] == []
    )


def test_an_error_that_nobody_met_brings_the_nearest_records(ok):
    """It says so, ends with 0, and names what recall finds."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    said = ok("fix", "error: the JWT issuer was rejected")
    assert said.startswith("no call here has failed like that before\n") and id in said
    assert [
        hit["id"]
        for hit in json.loads(ok("fix", "error: the JWT issuer was rejected", "--json"))["nearest"]
    ] == [id]


def test_a_near_record_that_opens_with_its_title_is_told_once(ok):
    ok("learn", "The JWT issuer was rejected. Its clock was behind.")
    said = ok("fix", "error: the JWT issuer was rejected")
    assert said.count("JWT issuer") == 1 and "Its clock was behind" in said


def test_an_error_that_was_only_told_of_is_shown_where_it_stands(place, ok):
    """A log that somebody read holds it; no call failed with it."""
    line = '401 Unauthorized: "authentication error: invalid scope requested"'
    told = "Let me check the logs.\n\nThe agent says every second:\n\n```\n%s\n```\n" % line
    id = conversations.held(place, "log", "2026-11-16", "## 09:00 is it up?\n\n" + told)
    said = ok("fix", "401 Unauthorized: authentication error: invalid scope requested")
    assert said.startswith("no call here has failed like that before\n")
    assert "  %s#1  Work of log: %s\n" % (id, line) in said


def test_how_blame_and_friction_answer_from_the_sessions(place, ok):
    conversations.week(place)
    assert "acme issue list --state open  worked 2 times" in ok("how", "acme") and "acme" in ok(
        "how", "acme issue"
    )
    assert json.loads(ok("how", "acme", "issue", "--json"))["forms"][0]["times"] == 2
    assert "k-two  Work of two" in ok("blame", "src/cache.c")
    assert [one["how"] for one in json.loads(ok("blame", "cache.c", "--json"))["sessions"]] == [
        "created",
        "discussed",
    ]
    assert "3 sessions, 3 times" in ok("friction")
    assert json.loads(ok("friction", "--json"))["walls"][0]["ran"] == "make lint"


def test_a_file_may_be_named_by_its_whole_path(place, ok, project):
    """One at the top of the checkout, of which no record holds more than the name."""
    vault.put(place, "p/learnings/calc.md", "Signs", "x", id="l-calc", files=["calc.py"])
    path = project + "/calc.py"
    for words in (("recall",), ("recall", "signs")):
        hits = json.loads(ok(*words, "--file", path, "--json"))["hits"]
        assert [hit["id"] for hit in hits] == ["l-calc"]
    line = json.dumps({"id": "1", "query": "signs", "file": path})
    assert "l-calc" in ok("recall", "--batch", stdin=line + "\n")
    assert "l-calc" in ok("distill", "signs", "--file", path, "--json")
    text = "## Files\n\n- calc.py: edited\n"
    vault.put(place, "p/checkpoints/2026-01-02/c.md", "Sum", text, session="one", files=["calc.py"])
    assert "Sum" in ok("show", "file", path)
    assert "calc" in ok("record", "forget", "--file", path, "--yes")


def test_a_handle_without_its_word_says_what_it_wants(run):
    for words, said in (
        (["fix", ""], "fix needs the text of an error"),
        (["how"], "show tool needs a tool"),
        (["blame"], "show file takes one PATH"),
        (["blame", "/"], "show file needs the path of a file"),
        (["friction", "x"], "show walls takes no words"),
        (["fix", "gh", "--workspace", "nope"], "no workspace 'nope'"),
    ):
        assert said in one_line_error(run(*words), 2), words


def test_four_hundred_sessions_answer_at_once(place, ok, now):
    """A question by handle reads them all, and takes apart those alone that may answer."""
    page = "".join(
        "## %02d:00 do thing %d\n\n%s\n\n- ✓ `make thing%d`\n- edited `src/f%d.c`\n\n"
        % (8 + n, n, "It stands now. " * 90, n, n)
        for n in range(10)
    )
    for n in range(400):
        conversations.held(
            place, "s%03d" % n, "2026-%02d-%02d" % (1 + n // 28 % 11, 1 + n % 28), page
        )
    conversations.week(place)
    began = time.process_time()
    assert "worked" in ok("fix", "unknown flag: --open")
    assert time.process_time() - began < 5.0  # generous: other tests run beside it
