"""Harvest: checkpoints to candidates without a model, with one on request, and what a person decides on them."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from harness.command import on_terminal
from harness.harvested import CACHE, CAUSE, CLICK, YAML, kept, notes, proposed, session_body
from harness.vault import put

from memory.core import clock, records
from memory.knowledge import proposals

ROOT = Path(__file__).resolve().parents[2]


def record(id, body, session="s-1", day=1, tags=(), captured=False):
    """A checkpoint of a session on a day of November 2026, by a person or captured."""
    meta = {"session": session, **({"trigger": "stop"} if captured else {})}
    return records.Record("p/checkpoints/%s.md" % id, id, "checkpoint", "Work", body, clock.parse("2026-11-%02d" % day) or 0.0,
                          0.0, tags=tags, source="auto" if captured else "human", meta=meta)


def learning(title, body="", key="", accepted=True):
    """A learning as the store gives it."""
    return records.Record("p/learnings/x.md", "l-1", "learning", title, body, 0.0, 0.0, accepted=accepted,
                          meta={"harvest": key} if key else {})


def titles(found):
    """Return the titles of proposals."""
    return [one.title for one in found]


# ---- failures

def test_a_failure_that_comes_back_is_proposed_with_what_made_it_pass():
    """Command, error as printed, each fix with its day and checkpoint; linked to both."""
    (one,) = proposals.harvest([record("c-1", session_body(), "s-1", 1, ("python",), True),
                              record("c-2", session_body("pytest -x"), "s-2", 3, ("python", "web"), True)], [])
    assert one.title == "`pytest` fails: " + YAML
    assert one.from_ids == ("c-1", "c-2") and one.tags[0] == "python"
    assert one.reason == "failed in 2 checkpoints of 2 sessions, 2 fixes"
    assert one.body == ("`pytest -x` fails with\n\n    %s\n\nCause: " + CAUSE + "\n\nWhat made it pass:\n\n"
                        "- 2026-11-01 after running `pip install pyyaml` (c-1)\n"
                        "- 2026-11-03 after running `pip install pyyaml` (c-2)\n") % YAML


def test_a_fix_may_come_in_a_later_session_than_the_failure():
    """The bare failure counts as a sighting, and its checkpoint is cited."""
    (one,) = proposals.harvest([record("c-1", session_body(fixed=False), "s-1"), record("c-2", session_body(), "s-2", 2)], [])
    assert one.from_ids == ("c-1", "c-2") and one.body.endswith("From c-1, c-2 (2026-11-01 to 2026-11-02).\n")


@pytest.mark.parametrize(("first", "second", "session"), [
    (session_body(), session_body(), "s-1"),
    (session_body(fixed=False), session_body(fixed=False), "s-2"),
    (session_body(), session_body(error="ModuleNotFoundError: No module named 'numpy'"), "s-2"),
    (session_body(), session_body("mypy memory"), "s-2"),
    (session_body(error="assert 1 == 2"), session_body(error="assert 3 == 4"), "s-2"),
    (session_body(cause=""), session_body(cause=""), "s-2"),
    (session_body(cause="the clock was read twice"), session_body(cause=""), "s-2"),
], ids=["one session", "no fix", "another error", "another program", "an error that tells nothing",
        "no cause", "a cause of something else"])
def test_what_does_not_come_back_is_no_failure(first, second, session):
    """Two sessions, one fix at least, the same program and the same telling error, and a cause that speaks of it."""
    assert proposals.harvest([record("c-1", first, "s-1"), record("c-2", second, session, 2)], []) == []


def test_two_fixes_in_one_checkpoint_are_enough():
    """The same failure twice in a session, with a fix each time."""
    lines = "".join("- `npm test` → exit 1: Error: port %d is already in use — the port is held by a server that nobody stopped; passed after running `fuser -k`\n" % port
                    for port in (3000, 3100))
    (one,) = proposals.harvest([record("c-1", "## Fixed\n\n" + lines)], [])
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
    assert (proposals.signature("make all", one) == proposals.signature("make all", other)) is same


# ---- decisions and facts


FACT = "The staging database listens on port 5433 and resets `tenant_demo` every night."


def test_checkpoints_of_one_day_count_as_one_session_where_none_is_named():
    """Notes by hand name no session."""
    ones = [record("c-%d" % i, FACT + "\n", "", day) for i, day in enumerate((3, 3, 3))]
    assert proposals.harvest(ones, []) == []
    assert len(proposals.harvest([*ones[:2], record("c-9", FACT + "\n", "", 4)], [])) == 1


# ---- what is known, order, limit

@pytest.mark.parametrize("known", [
    learning("Use argparse instead of click because an import of click takes 40 ms"),
    learning("Start-up", "It must be quick.\n\n" + CLICK + " So it stays.\n", accepted=False),
], ids=["title", "sentence"])
def test_what_is_known_is_not_proposed(known):
    """A learning or candidate that says the same is enough; one that says no to it is not."""
    ones = [record("c-1", CLICK + "\n")]
    assert proposals.harvest(ones, [known]) == []
    assert len(proposals.harvest(ones, [learning("Never " + CLICK[0].lower() + CLICK[1:])])) == 1


def test_a_key_is_enough_to_be_known():
    """A candidate that was reworded before it was rejected keeps its key."""
    ones = [record("c-1", CLICK + "\n")]
    (one,) = proposals.harvest(ones, [])
    assert proposals.harvest(ones, [learning("Something else", key=one.key)]) == []


def test_the_order_is_the_same_however_the_checkpoints_come():
    """Score, then key; the limit takes the best."""
    said = ["Use `lib%s%s` instead of `old%s` because %s loads faster there." % (c, c, c, c * 4) for c in "abcdefghijklmnop"]
    ones = [record("c-%02d" % i, line + "\n", "s-%d" % (i % 3), 1 + i % 9) for i, line in enumerate(said)]
    ones.append(record("c-99", CACHE + "\n", "s-8", 9))
    ones.append(record("c-98", CACHE + "\n", "s-9", 10))
    first = proposals.harvest(ones, [], 99)
    random.Random(7).shuffle(ones)
    assert proposals.harvest(ones, [], 99) == first and len(first) == 17
    assert titles(first)[0].startswith("Keep the cache in")
    assert proposals.harvest(ones, []) == first[:proposals.LIMIT]


# ---- the command

@pytest.fixture(name="notes")
def _notes(place):
    """Two checkpoints of two sessions, with three things worth keeping."""
    notes(place)


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


def test_what_is_private_or_secret_reaches_no_candidate(ok, place):
    """A checkpoint edited by hand went through no redaction; its candidates do."""
    token = "ghp" + "_" + "A1b2C3d4" * 4 + "E5f6"
    put(place, "p/checkpoints/c-1.md", "One", "Use `%s` instead of a password because it can be revoked.\n\n"
        "<private>\n\n%s\n\n</private>\n" % (token, CACHE), created="2026-11-10")
    out = ok("harvest", "--json")
    assert len(kept(place)) == 1 and "sqlite3" not in out
    assert token not in out + kept(place)[0].read_text(encoding="utf-8")


def test_only_candidates_are_accepted_or_rejected(ok, env, project, place, notes):
    """An accepted learning, a checkpoint, an unknown id: named before anything is done."""
    candidate = proposed(ok)["Use"]["id"]
    mine = json.loads(ok("learn", "Prices are integers in cents.", "--json"))["id"]
    for id, said in ((mine, "is an accepted learning, not a candidate"), ("c-1", "is a checkpoint"), ("l-zzzz", "no record")):
        status, shown = on_terminal(["harvest", "reject", candidate, id], env, project)
        assert status in (1, 2) and said in shown
    assert len(kept(place)) == 4


def test_the_slash_command_shows_the_candidates_without_a_model_request(place, notes, expand):
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
    assert "command failed" in value["notes"][0] and value["notes"][-1] == "no model answered, so the harvest was made without one"
    assert len(value["proposals"]) == 3


@pytest.mark.parametrize("piece", ["now ", "so, now ", "✅ ", "fail ", "because ", "use use ", "- ", "`", "key ", "(", "decision ", "I "])
def test_repetition_does_not_hang_it(piece):
    """No pattern takes more than linear time over a body that someone made to hang it."""
    body = "\n\n".join(["## " + piece * 2000, piece * 90 + "x", "- " + piece * 20000, "## Fixed", "- `" + piece * 9000, "- `a` → exit 1: "
                        + "/a b" * 400 + "; passed after editing " + piece * 100])
    said = "\n\n".join(["## 09:00 " + piece * 100, "> " + piece * 200, piece * 20000, "- edited `a.py`", piece * 90 + "x", "- " + piece * 20000])
    start = time.process_time()
    proposals.harvest([record("c-1", body)], [], talks=[talk("t-1", "s-2", said)])
    assert time.process_time() - start < 5


def test_a_cause_says_what_it_was_the_cause_of():
    """The title of its checkpoint is the context: a cause alone names no effect."""
    (one,) = proposals.harvest([record("c-1", "Root cause: the watcher compared `mtime` in whole seconds, so saves were lost.\n")], [])
    assert one.reason.startswith("a cause, ") and "\n\nContext: Work\n\nFrom c-1" in one.body


def test_a_handoff_made_of_checkpoints_is_no_second_witness(ok):
    """It repeats what they say."""
    ok("checkpoint", "Decision: keep money in integer cents, because floats lost a cent in `vat()`.")
    ok("handoff")
    ok("handoff")
    assert [value["reason"] for value in proposed(ok).values()] == ["a decision with its reason, in 1 checkpoint of 1 session"]


# ---- what conversations say

def talk(id, session, body, day=1):
    """The conversation of a session."""
    return records.Record("p/conversations/%s.md" % id, id, "conversation", "Work", body, clock.parse("2026-11-%02d" % day) or 0.0,
                          0.0, source="auto", meta={"session": session})


def spoke(request, said, *lines, at="09:00"):
    """A turn of a conversation."""
    return "\n\n".join(["## %s %s" % (at, request), *lines, said]) + "\n"


LOST = "Root cause: `%s` was lost because `store.Session` and `session.State` are converted field by field."


def test_what_the_user_rules_stands_before_what_the_model_found():
    """A rule with what it was said to, a cause, an answer to a question of the day; each names the turn and its checkpoint."""
    body = spoke("make uploads safe", "Done with the uploads.", "> (answer) Which store do you want for uploads? → S3 (Recommended)",
                 "> (refused Edit `up.py`) we never retry uploads of more than 5 MB", "- edited `up.py`")
    body += spoke("fix the flag", LOST % "AgentType" + " Fixed now.", "- edited `state.py`", at="09:30")
    found = proposals.harvest([record("c-7", "## Outcome\n\n- Done.", "s-1", captured=True)], [], talks=[talk("t-1", "s-1", body)])
    assert [one.reason.partition(",")[0] for one in found] == ["a rule of the user's", "a root cause", "the user's answer"]
    assert titles(found)[::2] == ["We never retry uploads of more than 5 MB", "Which store do you want for uploads? → S3"]
    assert "\n\nSaid when the user refused Edit `up.py`.\n" in found[0].body
    assert found[1].body.startswith("`AgentType` was lost because") and "\n\nFrom t-1#2 (2026-11-01).\n" in found[1].body
    assert {one.from_ids for one in found} == {("c-7",)}


def test_causes_of_the_same_things_in_several_sessions_stand_as_one_and_first():
    """The newest wording; the others below it."""
    talks = [talk("t-%d" % day, "s-%d" % day, spoke("fix it", LOST % name, "- edited `a.py`"), day)
             for day, name in ((1, "AgentType"), (2, "TokenUsage"), (3, "UserLines"))]
    talks.append(talk("t-9", "s-9", spoke("we never deploy on the last day of a week", "Noted in the docs."), 4))
    first, second = proposals.harvest([], [], talks=talks)
    assert first.reason == "a root cause, in 3 sessions" and first.title.startswith("`UserLines`")
    assert "Also:\n\n- `AgentType`" in first.body and first.from_ids == ("t-1", "t-2", "t-3")
    assert second.title == "We never deploy on the last day of a week"


def test_causes_that_share_one_name_are_not_the_same():
    """A name may stand in many causes."""
    said = ("Root cause: `SealError` was printed by the clerk and never returned to the caller.",
            "Root cause: `SealError` was raised for parcels that have no seal at all.")
    talks = [talk("t-%d" % day, "s-%d" % day, spoke("fix it", one, "- edited `a.py`"), day) for day, one in enumerate(said, 1)]
    assert [one.reason for one in proposals.harvest([], [], talks=talks)] == ["a root cause, in 1 session"] * 2


def test_a_cause_says_what_mended_it_and_a_request_about_something_else_is_left_out():
    """At most four steps."""
    said = ("Root cause: `SealError` was printed by the clerk and never returned to the caller.\n\n**The fix:**\n\n"
            "- Changed `clerk.seal()` to return `SealError`\n- Added `SealError` to the answers of the desk\n")
    (one,) = proposals.harvest([], [], talks=[talk("t-1", "s-1", spoke("now go ahead and do it please", said, "- edited `a.py`"))])
    assert "\n\nWhat mended it: Changed `clerk.seal()` to return `SealError`; Added `SealError` to the answers" in one.body
    assert "Asked:" not in one.body


def test_causes_of_one_turn_that_share_a_thing_stand_as_one_and_go_with_what_mended_them():
    """A later session that takes away what mended it leaves nothing to be proposed."""
    said = ("Root cause: `clerk.seal()` was called before `SealStore` had been opened for the day.\n\n**The fix:**\n\n- Added "
            "`openSealStore()` to the start of the desk\n\nRoot cause: `printSeal` read a stale copy of the seals from `SealStore`.\n")
    talks = [talk("t-1", "s-1", spoke("fix it", said, "- edited `a.py`"))]
    (one,) = proposals.harvest([], [], talks=talks)
    assert "Also:\n\n- `printSeal`" in one.body or "Also:\n\n- `clerk.seal()`" in one.body
    talks.append(talk("t-2", "s-2", spoke("tidy up", "Removed `openSealStore()` completely.", "- edited `a.py`"), 2))
    assert proposals.harvest([], [], talks=talks) == []


def test_what_a_user_later_turned_round_is_not_proposed():
    """The later word stands."""
    talks = [talk("t-1", "s-1", spoke("I want parcel tracking enabled by default", "Noted."), 1),
             talk("t-2", "s-2", spoke("we want to be asked first, so we never keep parcel tracking enabled by default", "Noted."), 2),
             talk("t-3", "s-3", spoke("we should always keep parcel tracking disabled by default", "Noted."), 3)]
    assert titles(proposals.harvest([], [], talks=talks)) == ["We should always keep parcel tracking disabled by default"]


def test_a_wish_says_in_full_what_was_said_and_what_came_of_it():
    """A plan bears its heading."""
    body = spoke("I looked at the list of parcels. we don't pack the whole depot, only `depot/index.json` belongs in the parcel",
                 "Packed `depot/index.json` alone into the parcel.", "- edited `a.py`")
    (one,) = proposals.harvest([], [], talks=[talk("t-1", "s-1", body)])
    assert "\n\nIn full: I looked at the list of parcels. we don't pack" in one.body
    assert "\n\nWhat came of it: Packed `depot/index.json` alone into the parcel.\n" in one.body


def test_a_word_that_names_nothing_says_where_it_applies():
    """By the files that were changed for it; one that was said to a call says it by that."""
    body = spoke("we never weigh a parcel twice", "Done with it.", "- edited `scale.py`", "- edited `tests/test_scale.py`", "- edited `scale.md`")
    (one,) = proposals.harvest([], [], talks=[talk("t-1", "s-1", body)])
    assert "\n\nIn: `scale.py`\n" in one.body
    body = spoke("go on", "Done with it.", "> (refused Edit `up.py`) we never weigh a parcel twice", "- edited `scale.py`")
    (one,) = proposals.harvest([], [], talks=[talk("t-1", "s-1", body)])
    assert "In: " not in one.body and "refused Edit `up.py`" in one.body


def test_an_answer_says_which_question_it_answers():
    """Also a long one, in whatever words it asks."""
    question = "can you explain me why the scale of the depot is locked for everybody else while one clerk has a parcel on it, and " \
               "what would happen to both of them if it were not, as it was before?"
    (one,) = proposals.harvest([], [], talks=[talk("t-1", "s-1", spoke(
        question, "`Depot.pack` keeps a lock because two clerks may pack the same parcel at once."))])
    assert "\n\nAsked: " + question in one.body


def test_answers_of_one_turn_that_came_to_the_same_stand_as_one():
    """Each is told."""
    plan = "> (approved the plan) # Plan\n>\n> ## Goal\n>\n> Publish uploads of the front desk under the name of the clerk.\n"
    body = spoke("plan the uploads", "", "> (answer) Which desk do you want for the uploads? → The front desk",
                 "> (answer) Which name do you want for the uploads? → The clerk", plan, "- edited `plan.md`")
    found = [one for one in proposals.harvest([], [], talks=[talk("t-1", "s-1", body)]) if one.reason.startswith("the user's answer")]
    assert [one.body.count(" → ") for one in found] == [2]


def test_a_cause_whose_mend_left_tests_failing_is_not_proposed():
    """As the last turn says that changed the same file; in another one that is no matter of it."""
    for path, count in (("state.py", 0), ("other.py", 1)):
        body = spoke("fix the flag", LOST % "AgentType" + " Fixed now.", "- edited `state.py`")
        body += spoke("run all tests", "Unit tests pass.\n\n❌ Integration tests failing", "- edited `%s`" % path, at="09:30")
        found = proposals.harvest([], [], talks=[talk("t-1", "s-1", body)])
        assert sum(one.reason.startswith("a root cause") for one in found) == count


def test_what_capture_learned_of_a_turn_is_known():
    """In whatever words the model said it there; what the user ruled in that turn is not."""
    body = spoke("we never deploy on the last day of a week", LOST % "AgentType", "- edited `state.py`")
    learned = record("l-1", "The type of the agent went missing.")
    learned.meta.update(session="s-1", turn=1)
    for known, reasons in (([], 2), ([learned], 1)):
        found = proposals.harvest([], known, talks=[talk("t-1", "s-1", body)])
        assert len(found) == reasons and found[0].reason.startswith("a rule of the user's")


def test_an_answer_is_proposed_once_its_question_was_asked_twice():
    """By question; asked once it is one answer of many."""
    said = "Retries are counted in `worker.retry` and reset by the scheduler at midnight, in the time zone of the server."
    ones = [talk("t-%d" % day, "s-%d" % day, spoke("how do retries of the worker get counted?", said), day) for day in (1, 2)]
    assert proposals.harvest([], [], talks=ones[:1]) == []
    (one,) = proposals.harvest([], [], talks=ones)
    assert one.title == "how do retries of the worker get counted" and said in one.body


def test_a_session_with_a_conversation_is_not_told_by_its_checkpoint_too():
    """A checkpoint's lines are cut; the conversation has them whole."""
    ones = [record("c-1", CLICK + "\n", "s-1")]
    assert len(proposals.harvest(ones, [])) == 1
    assert proposals.harvest(ones, [], talks=[talk("t-1", "s-1", spoke("hi", "Hello."))]) == []


def test_conversations_are_read_by_the_command(ok, place):
    """Those since a time, and without their private parts."""
    body = spoke("we never log the token of a customer", "Noted.") + spoke("a <private>we always pay Walrus late here</private> b", "Noted.", at="10:00")
    put(place, "p/conversations/2026-11-20/t.md", "Talk", body, kind="conversation", session="s-1", created="2026-11-20")
    put(place, "p/checkpoints/c-1.md", "One", "## Outcome\n\n- Noted.", session="s-1", created="2026-11-20")
    assert proposed(ok, "--since", "2026-11-21", "--dry-run") == {}
    assert [one["title"] for one in proposed(ok, "--dry-run").values()] == ["We never log the token of a customer"]
