"""What became of a record: when a session counts as having used it, and what feedback changes at
once.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from harness import talks, vault
from harness.hook import fire, harmless, payload

from memory.core import clock
from memory.health import worker
from memory.hook import at_prompt, at_start, fence, loader
from memory.index import builder
from memory.knowledge import usage
from memory.store import ledger

SESSION, PROMPT = "s1", "p1"
JWT = (
    "The issuer check is in src/auth/jwt.py; call verify_issuer first, then `uv "
    "run issuer --strict`."
)


class Session:
    """A session of the host: its receipts by the real handlers, its transcript line by line."""

    def __init__(self, env, project, place, now):
        self.env, self.project, self.place, self.now = (
            {**env, "DAYLEAF_RUNTIME_AUTO": "0"},
            project,
            place,
            now,
        )
        self.path = Path(env["HOME"], ".claude", "projects", "-w", SESSION + ".jsonl")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.at, self.calls, self.prompts = now, 0, 0

    def event(self, **keys):
        return {
            "session_id": SESSION,
            "cwd": self.project,
            "transcript_path": str(self.path),
            **keys,
        }

    def start(self, source="startup"):
        at_start.on_session_start(self.event(source=source), self.env, self.at)
        return self

    def ask(self, prompt, hook=True):
        """A prompt of the user's: its hook, then its line."""
        self.at += 10
        self.prompts += 1
        id = "p%d" % self.prompts
        if hook:
            at_prompt.on_prompt(self.event(prompt=prompt, prompt_id=id), self.env, self.at)
        return self.line(
            "user", prompt, promptId=id, promptSource="typed", origin={"kind": "human"}
        )

    def call(self, name, output="done", **given):
        """A tool call of the model's, and its result."""
        self.calls += 1
        self.line(
            "assistant",
            [{"type": "tool_use", "id": "t%d" % self.calls, "name": name, "input": given}],
        )
        return self.line(
            "user", [{"type": "tool_result", "tool_use_id": "t%d" % self.calls, "content": output}]
        )

    def line(self, kind, content, **more):
        self.at += 1
        row = {
            "type": kind,
            "uuid": "u%d" % self.at,
            "timestamp": clock.iso(self.at),
            "cwd": self.project,
            "message": {"role": kind, "content": content},
            **more,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        return self

    def stop(self, event="SessionEnd"):
        """What the worker does behind the hook."""
        worker.work(self.event(hook_event_name=event), self.env, self.at)
        return self

    def uses(self):
        """(record, 8 hex of the prompt) of each use in the workspace's ledger, as often as it
        stands there.
        """
        path = Path(ledger.ledgers(self.place)[0].path)
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [(row["id"], row.get("prompt", "")) for row in rows if row["event"] == "use"]


@pytest.fixture
def session(env, project, place, now):
    """A session in a store of forty learnings, of which one is about the issuer."""
    vault.learnings(place, 40)
    vault.put(place, "p/learnings/jwt.md", "JWT issuer mismatch", JWT, tags="[auth]")
    builder.build(place, now)
    return Session(env, project, place, now).start()


ASKED = "why does the jwt issuer mismatch?"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Read", {"file_path": "/srv/my project/src/auth/jwt.py"}),
        ("Edit", {"file_path": "src/auth/jwt.py", "old_string": "a", "new_string": "b"}),
        ("Grep", {"pattern": "verify_issuer\\(", "path": "src"}),
        ("Write", {"file_path": "x.py", "content": "def f():\n    return verify_issuer(token)\n"}),
        ("Bash", {"command": "cd src && uv run  issuer --strict | tail"}),
        ("Bash", {"command": "sed -n 12,40p src/auth/jwt.py:12"}),
        ("mcp__search__code", {"query": "Verify_Issuer를 찾아"}),
    ],
)
def test_a_file_a_command_or_an_identifier_in_a_later_call_is_a_use(session, name, given):
    """Whatever the tool."""
    session.ask(ASKED).call(name, **given).stop()
    assert session.uses() == [("jwt", ledger.hash_id("p1"))]


@pytest.mark.parametrize(
    ("prompt", "name", "given"),
    [
        (ASKED, "Bash", {"command": "pytest -q"}),
        (ASKED, "Bash", {"command": "git status && ls src/auth"}),
        (ASKED, "Read", {"file_path": "src/auth/other.py"}),
        (ASKED, "Bash", {"command": "dayleaf recall verify_issuer"}),
        (ASKED, "Bash", {"command": "dayleaf show jwt && dayleaf learn 'verify_issuer is slow'"}),
        (
            "why does the jwt issuer mismatch in src/auth/jwt.py?",
            "Read",
            {"file_path": "/srv/p/src/auth/jwt.py"},
        ),
        ("jwt issuer mismatch: verify_issuer() fails", "Grep", {"pattern": "verify_issuer"}),
        (
            "jwt issuer mismatch: uv run issuer --strict fails",
            "Bash",
            {"command": "uv run issuer --strict"},
        ),
        (ASKED, "TodoWrite", {"todos": [{"content": "verify_issuer"}]}),
    ],
)
def test_what_the_record_did_not_bring_is_no_use(session, prompt, name, given):
    """Other words, common words, dayleaf's own commands, and what the user's prompt named
    itself.
    """
    session.ask(prompt).call(name, **given).stop()
    assert "jwt" in Path(session.place.receipts(SESSION)).read_text()
    assert session.uses() == []


def test_a_word_that_many_records_hold_is_no_evidence(env, project, place, now):
    """A file that every tenth record names is touched anyway."""
    vault.learnings(place, 40)
    for i in range(8):
        vault.put(place, f"p/learnings/hot{i}.md", f"Hot {i}", f"Case {i} of src/hot.py.")
    vault.put(place, "p/learnings/jwt.md", "JWT issuer mismatch", "The check is in src/hot.py.")
    builder.build(place, now)
    session = (
        Session(env, project, place, now)
        .start()
        .ask(ASKED)
        .call("Read", file_path="src/hot.py")
        .stop()
    )
    assert "jwt" in Path(place.receipts(SESSION)).read_text()
    assert session.uses() == []


def test_a_use_is_noted_once_for_a_prompt_and_a_record(session):
    """However often it is named, however often the worker runs; a later prompt is another."""
    session.ask(ASKED).call("Read", file_path="src/auth/jwt.py").call(
        "Grep", pattern="verify_issuer"
    ).stop().stop()
    session.call("Read", file_path="src/auth/jwt.py").stop()
    assert session.uses() == [("jwt", ledger.hash_id("p1"))]
    shutil.rmtree(session.place.cache)
    session.stop()
    assert session.uses() == [("jwt", ledger.hash_id("p1"))]


def test_only_the_turn_that_showed_a_record_counts(session):
    """What a later prompt's work touches is another matter."""
    session.ask(ASKED).call("Bash", command="pytest -q").ask("now something else").call(
        "Read", file_path="src/auth/jwt.py"
    ).stop()
    assert session.uses() == []


def test_what_a_recall_in_the_session_printed_counts_in_its_turn(session, place, now):
    """The model asked for it, and then used it."""
    vault.put(place, "p/learnings/l-1a2b3c4d.md", "Queue", "Use queue_worker.")
    builder.build(place, now)
    session.ask("look at the jobs", hook=False).call(
        "Bash", "Learnings\n  l-1a2b3c4d  1.2  Queue", command="dayleaf recall jobs 2>&1"
    )
    session.call("Grep", pattern="queue_worker").ask("go on", hook=False).call(
        "Grep", pattern="queue_worker"
    ).stop()
    assert session.uses() == [("l-1a2b3c4d", ledger.hash_id("p1"))]


@pytest.fixture
def small(env, project, place, now):
    """A session in a store that a start shows whole."""
    vault.put(place, "p/learnings/jwt.md", "JWT issuer mismatch", JWT)
    vault.put(place, "p/learnings/kafka.md", "Kafka offsets", "Commit in commit_batch.")
    vault.put(
        place,
        "p/checkpoints/2026-11-20/143052-x.md",
        "Kafka work",
        "Edited src/kafka/offsets.py.",
        created="2026-11-20T14:30:52Z",
    )
    builder.build(place, now)
    return Session(env, project, place, now)


def test_what_a_start_showed_counts_once_a_session(small):
    """In whatever turn it is used first; the newest checkpoint, shown by its place alone, does not
    count.
    """
    small.start().ask("fix it").call("Read", file_path="src/auth/jwt.py").call(
        "Edit", file_path="src/kafka/offsets.py"
    ).stop()
    small.ask("go on").call("Grep", pattern="verify_issuer").stop()
    assert small.uses() == [("jwt", "")]


def test_what_was_shown_before_a_reset_is_not_shown(small):
    """The host dropped its context; the new start says what stands in it."""
    small.start()
    small.env["DAYLEAF_LOAD_SESSION"] = "false"
    small.start("compact").ask("fix it", hook=False).call(
        "Read", file_path="src/auth/jwt.py"
    ).stop()
    assert small.uses() == []


def test_a_forks_copied_history_counts_nothing(small, place, now):
    """Its first lines are the other session's, from before its own start."""
    vault.put(place, "p/learnings/l-1a2b3c4d.md", "Queue", "Use queue_worker.")
    builder.build(place, now)
    small.ask("fix it", hook=False).call("Read", file_path="src/auth/jwt.py")
    small.call("Bash", "l-1a2b3c4d", command="dayleaf recall jobs").call(
        "Grep", pattern="queue_worker"
    )
    small.at += 60
    small.start("fork").ask("go on").call("Bash", command="pytest -q").stop()
    assert small.uses() == []


def test_where_nothing_is_captured_nothing_is_noted(session, env, place):
    """A user who switches capture off is not read."""
    session.env["DAYLEAF_CAPTURE_ENABLED"] = "false"
    session.ask(ASKED).call("Read", file_path="src/auth/jwt.py").stop()
    assert session.uses() == []


def test_the_ledger_holds_no_text(session):
    """Short hashes and ids alone."""
    session.ask(ASKED + " in my secret_cellar").call("Read", file_path="src/auth/jwt.py").stop()
    kept = Path(ledger.ledgers(session.place)[0].path).read_text()
    assert not any(word in kept for word in ("secret_cellar", "issuer", "auth", SESSION + '"'))


def test_a_use_through_the_real_hooks(world, project, now):
    """Prompt and Stop as processes; the next recall counts it."""
    from memory.core import layout

    place = layout.locate(world, project)
    vault.learnings(place, 40)
    vault.put(place, "p/learnings/jwt.md", "JWT issuer mismatch", JWT)
    session = Session(world, project, place, clock.now() - 30)
    common = {
        "session_id": SESSION,
        "cwd": project,
        "transcript_path": str(session.path),
        "prompt_id": PROMPT,
    }
    harmless(fire("session_start", payload("SessionStart", "startup", **common), world))
    harmless(fire("prompt", payload("UserPromptSubmit", **common, prompt=ASKED), world))
    session.at = clock.now()
    session.ask(ASKED, hook=False).call("Read", file_path="src/auth/jwt.py")
    for hook, event in (("stop", "Stop"), ("session_end", "SessionEnd.other")):
        harmless(fire(hook, payload(*event.split("."), **common), world))
    assert session.uses() == [("jwt", ledger.hash_id(PROMPT))]
    assert not Path(place.home, "log", "errors.jsonl").exists()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("see src/auth/jwt.py:12.", ["src/auth/jwt.py"]),
        ("`verify_token(issuer)`", ["verify_token"]),
        ("E0382 and JIRA-117", ["e0382", "jira-117"]),
        ("getUserToken --no-cache", ["getusertoken", "--no-cache"]),
        ("settings.json의 foo_bar를", ["settings.json", "foo_bar"]),
        ("and/or read-only 100ms 3.11 v2.1.0 2026-11-21 the a.b", []),
    ],
)
def test_the_words_that_name_something(said, words):
    """Paths, identifiers, options and codes; no prose, no numbers."""
    assert usage.find_naming_words(said) == words


# ---- feedback


@pytest.fixture
def twins(place, now):
    """Two learnings that a question finds alike, among forty."""
    vault.learnings(place, 40)
    for name in ("a", "b"):
        vault.put(
            place,
            f"p/learnings/{name}.md",
            "Kafka rebalance",
            "Restart the kafka worker after a rebalance.",
            created="2026-11-01T00:00:00Z",
        )
    builder.build(place, now)
    return place


def ids(ok, *words):
    return [
        hit["id"] for hit in json.loads(ok("recall", "kafka rebalance", "--json", *words))["hits"]
    ]


def test_what_misled_ranks_lower_on_the_very_next_recall(twins, ok):
    """And `--explain` says by how much."""
    assert ids(ok) == ["a", "b"]
    assert (
        "it ranks lower than before\n  prompts get it last from now on, marked as misleading\n"
        in ok("feedback", "a", "down")
    )
    assert ids(ok) == ["b", "a"]
    assert "outcomes 0.938" in ok("recall", "kafka rebalance", "--explain")
    said = ok("recall", "--batch", stdin='{"id":1,"query":"kafka rebalance"}\n')
    assert [hit["id"] for hit in json.loads(said)["hits"]] == ["b", "a"]
    ok("feedback", "a", "up")
    assert ids(ok) == ["a", "b"]


def test_feedback_says_what_it_changes_and_no_more(place, twins, ok):
    """A `down` lowers what helped often without setting it last, a word said twice in a session
    nothing, a rule is never last.
    """
    for session in "123":
        assert "ranks" not in ok("feedback", "a", "up", CLAUDE_CODE_SESSION_ID=session)
    said = ok("feedback", "a", "down", CLAUDE_CODE_SESSION_ID="1")
    assert "it ranks lower than before" in said and "misleading" not in said
    again = ok("feedback", "a", "down", CLAUDE_CODE_SESSION_ID="1")
    assert (
        "this session has reported that before; nothing changes" in again and "ranks" not in again
    )
    vault.put(place, "p/rules/r.md", "Ask first", rationale="once")
    said = ok("feedback", "r", "down")
    assert "it ranks lower than before" in said and "misleading" not in said
    vault.put(place, "p/learnings/c.md", "Maybe so", "text", source="auto", accepted="false")
    assert "misleading" not in ok("feedback", "c", "down")


def test_uses_lift_a_record_among_its_equals(twins, ok, now):
    """As frequency, which needs no feedback."""
    for prompt in "xyz":
        ledger.append_event(ledger.ledgers(twins)[0], "b", "use", now, "s", prompt)
    assert ids(ok) == ["b", "a"]
    assert "frequency 1.000" in ok("recall", "kafka rebalance", "--explain")


def test_the_ledger_of_another_workspace_counts_where_its_records_are_searched(
    twins, ok, tmp_path, env
):
    """With `--workspace all`; each ledger once, the global one too."""
    other = tmp_path / "other place"
    other.mkdir()
    ok("feedback", "a", "down")
    assert ids(ok, "--workspace", "all") == ["b", "a"]
    found = json.loads(
        ok("recall", "kafka rebalance", "--workspace", "all", "--json", "--explain", cwd=str(other))
    )
    parts = {hit["id"]: hit["parts"] for hit in found["hits"]}
    assert (
        parts["a"]["outcomes"] == pytest.approx(0.938, abs=0.001) and "outcomes" not in parts["b"]
    )


def test_what_misled_is_pushed_below_all_others_and_says_so(twins, handled, ok):
    """With the next prompt, and where a first prompt without a match gets the newest, not among
    these.
    """

    def block(**keys):
        return (
            handled("prompt", **keys)[1].get("hookSpecificOutput", {}).get("additionalContext", "")
        )

    before = block(prompt="kafka rebalance", session_id="x1")
    assert before.index("[a]") < before.index("[b]") and "misleading" not in before
    ok("feedback", "a", "down")
    after = block(prompt="kafka rebalance", session_id="x2")
    assert after.index("[b]") < after.index("[a]")
    assert next(line for line in after.split("\n") if "reported as misleading" in line).startswith(
        "## [a]"
    )


def test_what_misled_takes_no_place_of_another(twins, ok):
    """Where one fits, it is the other one; what is nearly as relevant is measured at the best that
    did not mislead.
    """
    ok("feedback", "a", "down")
    found = at_prompt.open_or_build_index(twins)
    picks = loader.choose_learnings(
        found, "kafka rebalance", "", vault.settings(load_top=1), set()
    ).picks
    assert [found.doc(pick.number).id for pick in picks] == ["b"]


def test_a_start_that_shows_all_shows_what_misled_last(place, now, ok, handled):
    """With its mark."""
    for name, day in (("old", 1), ("new", 9)):
        vault.put(
            place, f"p/learnings/{name}.md", name + " note", "text", created=f"2026-11-0{day}"
        )
    ok("feedback", "new", "down")
    block = handled("start", source="startup")[1]["hookSpecificOutput"]["additionalContext"]
    assert block.index("[old]") < block.index("[new]")
    assert "[new] new note (learning, 2026-11-09, reported as misleading)" in block


def test_a_global_record_that_misled_is_below_in_every_project(ok, tmp_path, place, now):
    """Its ledger stands with it."""
    id = json.loads(
        ok("learn", "Restart the kafka worker after a rebalance", "--global", "--json")
    )["id"]
    ok("feedback", id, "down")
    other = tmp_path / "elsewhere"
    other.mkdir()
    assert "reported as misleading" in ok("load", "kafka rebalance", "--explain", cwd=str(other))
    assert "down 1" in ok("show", id, cwd=str(other))


def test_a_deleted_cache_comes_back_with_the_next_start(twins, ok, env, project):
    """What the hooks read is derived."""
    ok("feedback", "a", "down")
    shutil.rmtree(Path(twins.home, "cache"))
    assert fence.read_misleading_ids(twins) == frozenset()
    worker.after_start(
        {"session_id": "s9", "cwd": project}, {**env, "DAYLEAF_RUNTIME_AUTO": "0"}, clock.now()
    )
    assert fence.read_misleading_ids(twins) == {"a"}


def test_a_kept_answer_is_searched_anew_after_feedback(twins, ok):
    """The ranking has changed, so what was printed is no longer what would be."""

    def first():
        return json.loads(
            ok("distill", "what about the kafka rebalance?", "--provider", "extract", "--json")
        )["sources"][0]

    assert (first(), first()) == ("a", "a")
    ok("feedback", "a", "down")
    assert first() == "b"


def test_show_and_stats_tell_what_became_of_a_record(twins, ok, now):
    """Uses, outcomes, the last use; the most and the least used."""
    book = ledger.ledgers(twins)[0]
    for prompt in "xyz":
        ledger.append_event(book, "b", "use", clock.now() - 2 * clock.DAY, "s", prompt)
    ledger.append_event(book, "gone", "use", now)
    ok("feedback", "b", "up")
    assert "used 3 times, up 1, down 0, last 2d ago" in ok("show", "b")
    assert "outcome" not in ok("show", "a")
    value = json.loads(ok("show", "b", "--json"))
    assert (value["uses"], value["up"], value["down"]) == (3, 1, 0)
    figures = json.loads(ok("stats", "--json"))
    assert (
        figures["mostUsed"] == {"b": 3}
        and "b" not in figures["leastUsed"]
        and len(figures["leastUsed"]) == 5
    )
    assert "Most used" in ok("stats") and "b (3)" in ok("stats")


def test_a_last_use_ahead_of_the_clock_is_now(twins, ok):
    """A clock that was ten years ahead for a day."""
    ledger.append_event(ledger.ledgers(twins)[0], "b", "use", clock.now() + 3650 * clock.DAY)
    assert "last 0m ago" in ok("show", "b")


def test_a_reason_stands_in_the_record_without_its_secrets(twins, ok):
    """In the frontmatter, the newest ten; the body stays as it was, the ledger holds none of it."""
    token = "ghp_" + "x7Kd92LmQp4RtVw81ZbNc53FyHs06JgUaEe2"
    body = Path(twins.path("p/learnings/a.md")).read_text().partition("\n---\n")[2]
    ok("feedback", "a", "down", "틀렸다: it needs " + token + " <private>mine</private>")
    for number in range(11):
        ok("feedback", "a", "down", "reason", str(number))
    raw = Path(twins.path("p/learnings/a.md")).read_text()
    assert raw.partition("\n---\n")[2] == body
    assert token not in raw and "mine" not in raw
    reasons = json.loads(ok("show", "a", "--json"))["feedback"]
    assert len(reasons) == 10 and reasons[-1].endswith("down: reason 10")
    assert "reason" not in Path(ledger.ledgers(twins)[0].path).read_text()
    assert "reason 10" in ok("show", "a")


def test_a_reason_never_touches_what_a_person_approved(place, run, ok):
    """A rule stays approved: the reason is refused, the outcome without it is taken."""
    vault.put(
        place,
        "p/rules/r.md",
        "Forward only",
        "Migrations go forward.",
        kind="rule",
        rationale="x",
        tags="[db]",
    )
    before = Path(place.path("p/rules/r.md")).read_bytes()
    refused = run("feedback", "r", "down", "wrong")
    assert refused.returncode == 2 and "undo its approval" in refused.stderr
    ok("feedback", "r", "down")
    assert Path(place.path("p/rules/r.md")).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("feedback",), "record feedback needs an ID and up or down"),
        (("feedback", "a"), "record feedback needs an ID and up or down"),
        (("feedback", "a", "dwn"), "did you mean 'down'?"),
        (("feedback", "up", "a"), "the id comes first: `dayleaf record feedback a up`"),
        (("feedback", "nosuch", "up"), "no record 'nosuch'"),
        (("feedback", "a", "up", "--why", "x"), "unknown option '--why' of record feedback"),
    ],
)
def test_words_that_are_off_get_one_line(twins, run, words, said):
    """And nothing is noted."""
    done = run(*words)
    assert done.returncode in (1, 2) and said in done.stderr and done.stderr.count("\n") == 1
    assert not Path(ledger.ledgers(twins)[0].path).exists()


def test_a_session_that_repeats_itself_is_one_voice(twins, run, ok):
    """A model in a loop cannot push a record up."""
    for _ in range(3):
        ok("feedback", "b", "up", CLAUDE_CODE_SESSION_ID="s7")
    assert "up 1, down 0" in ok("show", "b")
    ok("feedback", "b", "up", CLAUDE_CODE_SESSION_ID="s8")
    assert "up 2, down 0" in ok("show", "b")


def test_the_slash_command_is_answered_without_a_model(twins, env, project):
    """With the reason behind it as it was typed."""
    event = payload(
        "UserPromptExpansion",
        cwd=project,
        command_name="dayleaf:feedback",
        command_args='a down it\'s "wrong"',
    )
    answer = fire("expansion", event, {**env, "CLAUDE_PROJECT_DIR": project})
    assert answer.json["decision"] == "block" and "noted: a misled" in answer.json["reason"]
    row = json.loads(Path(ledger.ledgers(twins)[0].path).read_text())
    assert row["session"] == ledger.hash_id(event["session_id"])
    assert 'down: it\'s \\"wrong\\"' in Path(twins.path("p/learnings/a.md")).read_text()


def test_of_a_passage_only_its_own_words_are_evidence(session, place, now):
    """A conversation names hundreds of things; what stood in the block counts, and not what the
    prompt named.
    """
    talks.put(
        place,
        (
            "## 10:12 why?\n\n`parseLedgerRow` drops the amount's sign, see `ledger_rows.go`.\n\n",
            "## 10:30 and the window?\n\nThe window is in `paint_window.go`.\n\n",
        ),
        id="c-00000001",
        file="2026-11-10/100000-a.md",
        created="2026-11-10T10:12:00Z",
        title="Rows",
    )
    builder.build(place, now)
    session.ask("where does parseLedgerRow drop the sign?").call(
        "Read", file_path="/w/paint_window.go"
    )
    session.call("Bash", command="rg -n parseLedgerRow").stop()
    assert session.uses() == []
    session.call("Read", file_path="/w/src/ledger_rows.go").stop()
    assert session.uses() == [("c-00000001", ledger.hash_id("p1"))]
