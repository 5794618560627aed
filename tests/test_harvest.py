"""Harvest: checkpoints to candidates without a model, with one on request, and what a person decides on them."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from harness.command import on_terminal

from memory import checkpoint, clock, failures, harvest, records
from memory.facts import Edit, Facts
from memory.shell import Run
from tests.test_shortcuts import expand  # noqa: F401
from tests.vault import put

ROOT = Path(__file__).resolve().parents[1]
CLICK = "Use `argparse` instead of click because an import of click takes 40 ms."
CACHE = "Keep the cache in `sqlite3` because a file of its own needs no server."
YAML = "ModuleNotFoundError: No module named 'yaml'"


def record(id, body, session="s-1", day=1, tags=(), captured=False):
    """A checkpoint of a session on a day of November 2026, by a person or captured."""
    meta = {"session": session, **({"trigger": "stop"} if captured else {})}
    return records.Record("p/checkpoints/%s.md" % id, id, "checkpoint", "Work", body, clock.parse("2026-11-%02d" % day) or 0.0,
                          0.0, tags=tags, source="auto" if captured else "human", meta=meta)


def learning(title, body="", key="", accepted=True):
    """A learning as the store gives it."""
    return records.Record("p/learnings/x.md", "l-1", "learning", title, body, 0.0, 0.0, accepted=accepted,
                          meta={"harvest": key} if key else {})


def session_body(command="pytest tests/", error=YAML, fixed=True):
    """What capture writes of a session in which a command failed, and passed after another one."""
    runs = [Run("1", command, command.split()[0], "exit 1", error)]
    if fixed:
        runs += [Run("2", "pip install pyyaml", "pip install", "ok"), Run("3", command, command.split()[0], "ok")]
    return checkpoint.body(Facts(requests=["Make the tests pass"], runs=runs, edits=[Edit("0", "src/a.py", False)]))


def titles(found):
    """Return the titles of proposals."""
    return [one.title for one in found]


# ---- failures

def test_a_failure_that_comes_back_is_proposed_with_what_made_it_pass():
    """Command, error as printed, each fix with its day and checkpoint; linked to both."""
    (one,) = harvest.harvest([record("c-1", session_body(), "s-1", 1, ("python",), True),
                              record("c-2", session_body("pytest -x"), "s-2", 3, ("python", "web"), True)], [])
    assert one.title == "`pytest` fails: " + YAML
    assert one.from_ids == ("c-1", "c-2") and one.tags[0] == "python"
    assert one.reason == "failed in 2 checkpoints of 2 sessions, 2 fixes"
    assert one.body == ("`pytest -x` fails with\n\n    %s\n\nWhat made it pass:\n\n"
                        "- 2026-11-01 after running `pip install pyyaml` (c-1)\n"
                        "- 2026-11-03 after running `pip install pyyaml` (c-2)\n" % YAML)


def test_a_fix_may_come_in_a_later_session_than_the_failure():
    """The bare failure counts as a sighting, and its checkpoint is cited."""
    (one,) = harvest.harvest([record("c-1", session_body(fixed=False), "s-1"), record("c-2", session_body(), "s-2", 2)], [])
    assert one.from_ids == ("c-1", "c-2") and one.body.endswith("From c-1, c-2 (2026-11-01 to 2026-11-02).\n")


@pytest.mark.parametrize(("first", "second", "session"), [
    (session_body(), session_body(), "s-1"),
    (session_body(fixed=False), session_body(fixed=False), "s-2"),
    (session_body(), session_body(error="ModuleNotFoundError: No module named 'numpy'"), "s-2"),
    (session_body(), session_body("mypy memory"), "s-2"),
    (session_body(error="assert 1 == 2"), session_body(error="assert 3 == 4"), "s-2"),
], ids=["one session", "no fix", "another error", "another program", "an error that tells nothing"])
def test_what_does_not_come_back_is_no_failure(first, second, session):
    """Two sessions, one fix at least, the same program and the same telling error."""
    assert harvest.harvest([record("c-1", first, "s-1"), record("c-2", second, session, 2)], []) == []


def test_two_fixes_in_one_checkpoint_are_enough():
    """The same failure twice in a session, with a fix each time."""
    lines = "".join("- `npm test` → exit 1: Error: port %d is already in use; passed after running `fuser -k`\n" % port
                    for port in (3000, 3100))
    (one,) = harvest.harvest([record("c-1", "## Fixed\n\n" + lines)], [])
    assert one.reason == "failed in 1 checkpoint of 1 session, 2 fixes"


@pytest.mark.parametrize(("one", "other", "same"), [
    ("Error: /tmp/a1/x/conf.json: no such file", "Error: /home/me/conf.json: no such file", True),
    ("Error: /tmp/a1/conf.json: no such file", "Error: /tmp/a1/data.json: no such file", False),
    ("E   KeyError: 'user_id'", "KeyError: 'user_id'", True),
    ("KeyError: 'user_id'", "KeyError: 'name'", False),
    ("could not connect to port 5432", "could not connect to port 5433", True),
    ("object 3f9a1c2d4e is missing upstream", "object aa9a1c2d00 is missing upstream", True),
    ("refused value '12 apples' of quantity", "refused value '3 pears' of quantity", True),
    ("error[E0382]: borrow of moved value", "error[E0499]: borrow of moved value", False),
])
def test_a_failure_is_known_by_what_does_not_vary(one, other, same):
    """Numbers, hashes, quoted values and folders vary; identifiers, file names and error codes do not."""
    assert (failures.signature("make all", one) == failures.signature("make all", other)) is same


# ---- decisions and facts

@pytest.mark.parametrize("said", [
    CLICK,
    "I'll use `argon2` because bcrypt cuts what is longer than 72 bytes.",
    "We switched from `requests` to httpx so that timeouts hold for streams too.",
    "Root cause: the watcher compared `mtime` in seconds, and two saves fell into one.",
    "캐시는 `redis` 대신 sqlite를 사용하기로 했다, 배포가 단순해지기 때문이다.",
    "キャッシュには `redis` の代わりに sqlite を使うことにした。配備が簡単になるため。",
    "由于部署简单，我们决定用 `sqlite` 而不是 redis 作为缓存。",
    "Wir verwenden `argon2` statt bcrypt, weil bcrypt bei 72 Bytes abschneidet.",
])
def test_a_decision_with_its_reason_is_proposed(said):
    """One checkpoint is enough where something technical is named; it is quoted as it stands."""
    (one,) = harvest.harvest([record("c-1", "## Decisions\n\n- %s\n" % said, captured=True)], [])
    assert one.body.startswith(said + "\n\n") and one.body.endswith("From c-1 (2026-11-01).\n") and one.from_ids == ("c-1",)


@pytest.mark.parametrize("captured", [True, False], ids=["captured", "by a person"])
@pytest.mark.parametrize("said", [
    "I'll check the file because you asked.",
    "I'll check whether `app.py` uses `click` instead of `argparse`, because the import is slow.",
    "I'll read `src/app.py` first because the test names it.",
    "Let me run `pytest -x` again so that we see the first failure.",
    "Now I need to look at `conftest.py` because the fixture is there.",
    "We keep it simple because simple things are easier to keep.",
    "Updated `README.md` because the flag was renamed in the parser.",
    "All 35 tests in `tests/` pass because the fixture is back.",
    "Should we use `argparse` instead of click because of the import?",
    "The user asked to use `httpx` instead of requests for the client.",
    "`cargo test --lib runtime_stats` => pass",
])
def test_chit_chat_and_reports_are_no_decision(said, captured):
    """What announces a look, names nothing, reports work or asks is left where it is."""
    assert harvest.harvest([record("c-1", "## Decisions\n\n- %s\n" % said, captured=captured)], []) == []


def test_a_heading_of_a_person_declares_and_one_of_capture_does_not():
    """Under capture's `Decisions` stands whatever has a reason in it."""
    body = "## Key decisions\n\n- Metrics go to `daemon.db`, never to the log.\n"
    assert titles(harvest.harvest([record("c-1", body)], [])) == []
    body = "## Key decisions\n\n- Keep metrics in `daemon.db` and never write them to the log.\n"
    assert titles(harvest.harvest([record("c-1", body)], [])) == ["Keep metrics in `daemon.db` and never write them to the log"]
    assert harvest.harvest([record("c-1", body, captured=True)], []) == []


def test_the_newest_wording_stands_for_all_that_say_the_same():
    """Numbers may differ; every checkpoint is cited, whatever order they come in."""
    later = CLICK.replace("40 ms", "38 ms here")
    ones = [record("c-2", later + "\n", "s-2", 5), record("c-1", CLICK + "\n", "s-1", 2)]
    (one,) = harvest.harvest(ones, [])
    assert one.body == later + "\n\nFrom c-1, c-2 (2026-11-02 to 2026-11-05).\n"
    assert one.from_ids == ("c-1", "c-2") and one.reason == "a decision with its reason, in 2 checkpoints of 2 sessions"


FACT = "The staging database listens on port 5433 and resets `tenant_demo` every night."


@pytest.mark.parametrize(("sessions", "said", "count"), [
    (("s-1", "s-2", "s-2"), FACT, 1),
    (("s-1", "s-2"), FACT, 0),
    (("s-1", "s-1", "s-1"), FACT, 0),
    (("s-1", "s-2", "s-3"), "Updated the current inventory in `docs/plan.md` with the new figures", 0),
    (("s-1", "s-2", "s-3"), "Add the changed behaviour to `docs/whats-new.rst` for the next release", 0),
    (("s-1", "s-2", "s-3"), "Automatic fixes from the hooks of `pre-commit.com` for pull requests", 0),
    (("s-1", "s-2", "s-3"), "src/a.py, src/b.py, src/c.py, src/d.py, src/e.py, src/f.py", 0),
    (("s-1", "s-2", "s-3"), "`cargo nextest run --lib` passed without any new failures there", 0),
], ids=["three of two", "two", "one session", "a report", "a task", "a heading", "a list of files", "a test run"])
def test_a_fact_is_what_three_checkpoints_of_two_sessions_state(sessions, said, count):
    """Lists of edits, test runs and reports of work recur as well, and are none."""
    ones = [record("c-%d" % i, "## Notes\n\n%s\n" % said, session, i + 1) for i, session in enumerate(sessions)]
    assert len(harvest.harvest(ones, [])) == count


def test_requests_are_no_facts():
    """What the user asked for three times is still a request."""
    ones = [record("c-%d" % i, "## Request\n\n- %s\n" % FACT, "s-%d" % i, i + 1) for i in range(4)]
    assert harvest.harvest(ones, []) == []


def test_checkpoints_of_one_day_count_as_one_session_where_none_is_named():
    """Notes by hand name no session."""
    ones = [record("c-%d" % i, FACT + "\n", "", day) for i, day in enumerate((3, 3, 3))]
    assert harvest.harvest(ones, []) == []
    assert len(harvest.harvest([*ones[:2], record("c-9", FACT + "\n", "", 4)], [])) == 1


# ---- what is known, order, limit

@pytest.mark.parametrize("known", [
    learning("Use argparse instead of click because an import of click takes 40 ms"),
    learning("Start-up", "It must be quick.\n\n" + CLICK + " So it stays.\n", accepted=False),
], ids=["title", "sentence"])
def test_what_is_known_is_not_proposed(known):
    """A learning or candidate that says the same is enough; one that says no to it is not."""
    ones = [record("c-1", CLICK + "\n")]
    assert harvest.harvest(ones, [known]) == []
    assert len(harvest.harvest(ones, [learning("Never " + CLICK[0].lower() + CLICK[1:])])) == 1


def test_a_key_is_enough_to_be_known():
    """A candidate that was reworded before it was rejected keeps its key."""
    ones = [record("c-1", CLICK + "\n")]
    (one,) = harvest.harvest(ones, [])
    assert harvest.harvest(ones, [learning("Something else", key=one.key)]) == []


def test_the_order_is_the_same_however_the_checkpoints_come():
    """Score, then key; the limit takes the best."""
    said = ["Use `lib%s%s` instead of `old%s` because %s loads faster there." % (c, c, c, c * 4) for c in "abcdefghijklmnop"]
    ones = [record("c-%02d" % i, line + "\n", "s-%d" % (i % 3), 1 + i % 9) for i, line in enumerate(said)]
    ones.append(record("c-99", CACHE + "\n", "s-8", 9))
    ones.append(record("c-98", CACHE + "\n", "s-9", 10))
    first = harvest.harvest(ones, [], 99)
    random.Random(7).shuffle(ones)
    assert harvest.harvest(ones, [], 99) == first and len(first) == 17
    assert titles(first)[0].startswith("Keep the cache in")
    assert harvest.harvest(ones, []) == first[:harvest.LIMIT]


# ---- the command

@pytest.fixture
def notes(place):
    """Two checkpoints of two sessions, with three things worth keeping."""
    put(place, "p/checkpoints/c-1.md", "One", CLICK + "\n\n" + session_body(), "python", session="s-1", created="2026-11-10")
    put(place, "p/checkpoints/c-2.md", "Two", CACHE + "\n\n" + session_body(), "python", session="s-2", created="2026-11-20")


def kept(place):
    """Return the learnings' files."""
    return sorted(Path(place.folder("p", "learning")).glob("*.md"))


def proposed(ok, *words):
    """Return what `harvest --json` proposes, by the first words of the titles."""
    return {one["title"].split()[0]: one for one in json.loads(ok("harvest", *words, "--json"))["proposals"]}


def test_a_harvest_writes_candidates_that_no_prompt_gets(ok, place, notes):
    """Linked to their checkpoints, of low confidence; recall finds them, the loader does not, a second harvest has nothing."""
    found = proposed(ok)
    assert set(found) == {"Use", "Keep", "`pytest`"}
    text = Path(json.loads(ok("show", found["Use"]["id"], "--json"))["path"]).read_text(encoding="utf-8")
    assert "source: auto\nconfidence: low\n" in text and "target: c-1" in text and "accepted" not in text
    assert "harvest: %s" % found["Use"]["key"] in text.replace('"', "")
    assert found["`pytest`"]["from"] == ["c-1", "c-2"]
    hits = json.loads(ok("recall", "argparse click", "--kind", "learning", "--json"))["hits"]
    assert [hit["id"] for hit in hits] == [found["Use"]["id"]]
    assert CLICK[:40] not in ok("load", "why argparse instead of click import")
    assert ok("harvest").startswith("nothing new in 2 checkpoints\n3 candidates wait; ")
    assert len(kept(place)) == 3


def test_a_dry_run_writes_nothing(ok, place, notes):
    """It shows what would be proposed."""
    assert "would propose  Use `argparse`" in ok("harvest", "--dry-run")
    assert kept(place) == []


def test_time_session_and_limit_narrow_it(ok, notes):
    """Only checkpoints that fit are read."""
    assert set(proposed(ok, "--since", "2026-11-15", "--dry-run")) == {"Keep"}
    assert set(proposed(ok, "--session", "s-1", "--dry-run")) == {"Use"}
    assert set(proposed(ok, "--limit", "1", "--dry-run")) == {"`pytest`"}
    assert ok("harvest", "--session", "s-9") == "no checkpoint to harvest\n"


def test_what_is_private_or_secret_reaches_no_candidate(ok, place):
    """A checkpoint edited by hand went through no redaction; its candidates do."""
    token = "ghp" + "_" + "A1b2C3d4" * 4 + "E5f6"
    put(place, "p/checkpoints/c-1.md", "One", "Use `%s` instead of a password because it can be revoked.\n\n"
        "<private>\n\n%s\n\n</private>\n" % (token, CACHE), created="2026-11-10")
    out = ok("harvest", "--json")
    assert len(kept(place)) == 1 and "sqlite3" not in out
    assert token not in out + kept(place)[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [("accept", "all"), ("review",), ("reject", "ID")])
def test_only_a_person_at_a_terminal_decides(run, ok, env, project, place, notes, words, expand):  # noqa: F811
    """A pipe, the model's shell, a slash command: each is refused with one line, and nothing changes."""
    first = next(iter(proposed(ok).values()))["id"]
    words = [first if word == "ID" else word for word in words]
    before = [path.read_bytes() for path in kept(place)]
    done = run("harvest", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "in a terminal of your own" in done.stderr
    status, shown = on_terminal(["harvest", *words], {**env, "CLAUDECODE": "1"}, project, ["yes"])
    assert status == 2 and "only a person decides" in shown
    assert "only a person decides" in expand("harvest", " ".join(words))["reason"]
    assert [path.read_bytes() for path in kept(place)] == before


def test_what_a_person_accepts_is_pushed(ok, env, project, notes):
    """`accepted: true` and the index know at once; the other candidates stay."""
    found = proposed(ok)
    status, shown = on_terminal(["harvest", "accept", found["Use"]["id"]], env, project)
    assert status == 0 and "accepted %s" % found["Use"]["id"] in shown
    assert CLICK[:40] in ok("load", "why argparse instead of click import")
    assert found["Keep"]["id"] in ok("harvest", "list") and found["Use"]["id"] not in ok("harvest", "list")


def test_all_are_accepted_after_a_yes(ok, env, project, place, notes):
    """They are shown first; anything but yes leaves them."""
    proposed(ok)
    status, shown = on_terminal(["harvest", "accept", "all"], env, project, ["no"])
    assert status == 2 and CACHE in shown and "accepted: true" not in "".join(p.read_text() for p in kept(place))
    assert on_terminal(["harvest", "accept", "all"], env, project, ["yes"])[0] == 0
    assert all("accepted: true" in path.read_text(encoding="utf-8") for path in kept(place))


def test_what_a_person_rejects_never_comes_back(ok, env, project, place, notes):
    """The archive keeps it with its key, also where it was reworded before."""
    found = proposed(ok)
    path = next(path for path in kept(place) if "argparse" in path.name)
    path.write_text(path.read_text(encoding="utf-8").replace(CLICK, "Reworded.").replace("Use `argparse`", "Took"), encoding="utf-8")
    status, shown = on_terminal(["harvest", "reject", found["Use"]["id"], found["Keep"]["id"]], env, project)
    assert status == 0 and shown.count("rejected l-") == 2
    assert '"reason":"rejected"' in Path(place.path("p/archive/log.jsonl")).read_text(encoding="utf-8").replace(": ", ":")
    assert ok("harvest").startswith("nothing new")
    put(place, "p/checkpoints/c-3.md", "Three", CACHE.replace("no server", "no server at all"), created="2026-11-21")
    assert ok("harvest").startswith("nothing new")


def test_a_review_goes_through_them_one_by_one(ok, env, project, place, notes):
    """Accept, edit and accept, skip; hidden characters are made visible; the index knows."""
    found = proposed(ok)
    path = next(path for path in kept(place) if "argparse" in path.name)
    path.write_text(path.read_text(encoding="utf-8") + "\u202egnihtemos\x1b[2J\n", encoding="utf-8")
    script = Path(project, "editor")
    script.write_text("#!/bin/sh\necho 'Seen in review.' >> \"$1\"\n")
    script.chmod(0o755)
    status, shown = on_terminal(["harvest", "review"], {**env, "EDITOR": str(script)}, project, ["e", "a", "x", "r", "s"])
    assert status == 0 and "1 of 3" in shown and "3 of 3" in shown
    assert shown.count("2 of 3") == 1 and "'x' is no answer; type one of a (accept), e (edit), r (reject), s (skip), q (quit)" in shown
    assert shown.index("\naccepted l-") < shown.index("2 of 3") < shown.index("\nrejected l-") < shown.index("3 of 3")
    assert "\\u{202e}gnihtemos\\u{1b}[2J" in shown and "\u202e" not in shown
    texts = [path.read_text(encoding="utf-8") for path in kept(place)]
    assert len(texts) == 2 and sum("accepted: true" in text and "Seen in review." in text for text in texts) == 1
    assert shown.count("\naccepted l-") == shown.count("\nrejected l-") == 1 and len(found) == 3


def test_what_changed_while_it_was_read_is_shown_again(ok, env, project, place, notes):
    """Nobody accepts what they have not seen."""
    ok("harvest", "--limit", "1")

    def accept():
        with kept(place)[0].open("a", encoding="utf-8") as file:
            file.write("Obey me.\n")
        return "a"

    status, shown = on_terminal(["harvest", "review"], env, project, [accept, "s"])
    assert status == 0 and "changed meanwhile" in shown and shown.count("Obey me.") == 1
    assert "accepted: true" not in kept(place)[0].read_text(encoding="utf-8")


def test_a_review_that_is_quit_leaves_the_rest(ok, env, project, place, notes):
    """q, or the end of the input, ends it; what was decided stays decided."""
    proposed(ok)
    status, _ = on_terminal(["harvest", "review"], env, project, ["r", "q"])
    assert status == 0 and len(kept(place)) == 2


@pytest.mark.parametrize(("words", "said"), [
    (["revue"], "did you mean 'review'?"),
    (["list", "more"], "takes no more words"),
    (["list", "--since", "7d"], "takes no --since"),
    (["--since", "someday"], "is no time"),
    (["--provider", "extract"], "unknown value 'extract'"),
])
def test_wrong_words_end_with_one_line(run, words, said):
    """Status 2, and what was meant."""
    done = run("harvest", *words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_only_candidates_are_accepted_or_rejected(ok, env, project, place, notes):
    """An accepted learning, a checkpoint, an unknown id: named before anything is done."""
    candidate = proposed(ok)["Use"]["id"]
    mine = json.loads(ok("learn", "Prices are integers in cents.", "--json"))["id"]
    for id, said in ((mine, "is an accepted learning, not a candidate"), ("c-1", "is a checkpoint"), ("l-zzzz", "no record")):
        status, shown = on_terminal(["harvest", "reject", candidate, id], env, project)
        assert status in (1, 2) and said in shown
    assert len(kept(place)) == 4


def test_the_slash_command_shows_the_candidates_without_a_model_request(place, notes, expand):  # noqa: F811
    """The hook answers it; its options are read; `list` is a word of it."""
    answer = expand("harvest", "--since 2026-11-15")
    assert answer["decision"] == "block" and "Keep the cache" in answer["reason"] and "argparse" not in answer["reason"]
    assert "1 candidate waits" in expand("harvest", "list")["reason"] and len(kept(place)) == 1


# ---- with a model

@pytest.fixture
def model(tmp_path, ok):
    """Make a command the provider: model(*lines) sets what it answers; model.asked() is what it was given."""
    script, asked, said = tmp_path / "model", tmp_path / "asked", tmp_path / "said"
    script.write_text("#!/bin/sh\ncat > '%s'\ncat '%s'\n" % (asked, said))
    script.chmod(0o755)

    def answers(*lines):
        said.write_text("\n".join(lines) + "\n", encoding="utf-8")
        ok("config", "set", "distill.command", json.dumps([str(script)]))
    answers.asked = lambda: asked.read_text(encoding="utf-8") if asked.exists() else ""
    return answers


def test_a_model_is_asked_only_where_it_is_named(ok, place, notes, model):
    """Each sound bullet becomes a candidate linked to the records it cites; without --provider none is asked."""
    model("- click costs 40 ms at each start, so `argparse` reads the options [c-1]",
          "- The cache stays in `sqlite3`: no server is needed [c-1, c-2]", "- Everything moved to `postgres` [c-2]")
    assert ok("harvest", "--dry-run") and model.asked() == ""
    value = json.loads(ok("harvest", "--provider", "command", "--json"))
    assert "Which lessons" in model.asked()
    assert [(one["title"], one["from"], one["reason"]) for one in value["proposals"]] == [
        ("click costs 40 ms at each start, so `argparse` reads the options", ["c-1"], "distilled by command from 1 checkpoint"),
        ("The cache stays in `sqlite3`: no server is needed", ["c-1", "c-2"], "distilled by command from 2 checkpoints")]
    assert "no record holds 'postgres'" in value["notes"][0]
    assert len(kept(place)) == 2 and all("source: auto" in path.read_text() for path in kept(place))


def test_where_no_model_answers_the_harvest_does_without(ok, notes, model):
    """The notes say why, and the candidates are those of no model."""
    model("I would rather not.")
    value = json.loads(ok("harvest", "--provider", "command", "--json"))
    assert "command failed" in value["notes"][0] and value["notes"][-1] == "no model answered: harvested without one"
    assert len(value["proposals"]) == 3


@pytest.mark.parametrize("piece", ["now ", "so, now ", "✅ ", "fail ", "because ", "use use ", "- ", "`", "key ", "(", "decision ", "I "])
def test_repetition_does_not_hang_it(piece):
    """No pattern takes more than linear time over a body that someone made to hang it."""
    body = "\n\n".join(["## " + piece * 2000, piece * 90 + "x", "- " + piece * 20000, "## Fixed", "- `" + piece * 9000, "- `a` → exit 1: "
                        + "/a b" * 400 + "; passed after editing " + piece * 100])
    start = time.monotonic()
    harvest.harvest([record("c-1", body)], [])
    assert time.monotonic() - start < 5


def test_a_cause_says_what_it_was_the_cause_of():
    """The title of its checkpoint is the context: a cause alone names no effect."""
    (one,) = harvest.harvest([record("c-1", "Root cause: the watcher compared `mtime` in whole seconds, so saves were lost.\n")], [])
    assert one.reason.startswith("a cause, ") and "\n\nContext: Work\n\nFrom c-1" in one.body


@pytest.mark.parametrize("said", [
    "Decided: use advisory locks for the queue because skipping locked rows starves the workers.",
    "Decision: sessions live in memory because the disk was slow on that host.",
    "We decided to use one broker because two of them disagreed about the order.",
    "We decided against a second region because nobody would be awake for it.",
    "Entscheidung: ein Broker statt zwei, weil sie sich über die Reihenfolge uneins waren.",
    "결정: 순서가 서로 달랐기 때문에 브로커는 하나만 둔다.",
])
def test_what_a_person_calls_a_decision_is_proposed(ok, said):
    """A note that says so with its reason needs no technical word and no second witness."""
    ok("checkpoint", said)
    found = list(proposed(ok).values())
    assert len(found) == 1
    assert ("against" in said) == ("against" in found[0]["title"])


def test_a_handoff_made_of_checkpoints_is_no_second_witness(ok):
    """It repeats what they say."""
    ok("checkpoint", "Decision: keep money in integer cents, because floats lost a cent in `vat()`.")
    ok("handoff")
    ok("handoff")
    assert [value["reason"] for value in proposed(ok).values()] == ["a decision with its reason, in 1 checkpoint of 1 session"]
