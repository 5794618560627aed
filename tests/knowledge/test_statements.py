"""Statements: decisions and facts that checkpoints state, told from requests and chit-chat."""

from __future__ import annotations

import json

import pytest

from memory.capture import turns
from memory.core import clock, records
from memory.knowledge import proposals, statements

CLICK = "Use `argparse` instead of click because an import of click takes 40 ms."


def record(id, body, session="s-1", day=1, tags=(), captured=False):
    """A checkpoint of a session on a day of November 2026, by a person or captured."""
    meta = {"session": session, **({"trigger": "stop"} if captured else {})}
    return records.Record("p/checkpoints/%s.md" % id, id, "checkpoint", "Work", body, clock.parse("2026-11-%02d" % day) or 0.0,
                          0.0, tags=tags, source="auto" if captured else "human", meta=meta)


def titles(found):
    """Return the titles of proposals."""
    return [one.title for one in found]


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
    (one,) = proposals.harvest([record("c-1", "## Decisions\n\n- %s\n" % said, captured=True)], [])
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
    assert proposals.harvest([record("c-1", "## Decisions\n\n- %s\n" % said, captured=captured)], []) == []


def test_a_heading_of_a_person_declares_and_one_of_capture_does_not():
    """Under capture's `Decisions` stands whatever has a reason in it."""
    body = "## Key decisions\n\n- Metrics go to `daemon.db`, never to the log.\n"
    assert titles(proposals.harvest([record("c-1", body)], [])) == []
    body = "## Key decisions\n\n- Keep metrics in `daemon.db` and never write them to the log.\n"
    assert titles(proposals.harvest([record("c-1", body)], [])) == ["Keep metrics in `daemon.db` and never write them to the log"]
    assert proposals.harvest([record("c-1", body, captured=True)], []) == []


def test_the_newest_wording_stands_for_all_that_say_the_same():
    """Numbers may differ; every checkpoint is cited, whatever order they come in."""
    later = CLICK.replace("40 ms", "38 ms here")
    ones = [record("c-2", later + "\n", "s-2", 5), record("c-1", CLICK + "\n", "s-1", 2)]
    (one,) = proposals.harvest(ones, [])
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
    assert len(proposals.harvest(ones, [])) == count


def test_requests_are_no_facts():
    """What the user asked for three times is still a request."""
    ones = [record("c-%d" % i, "## Request\n\n- %s\n" % FACT, "s-%d" % i, i + 1) for i in range(4)]
    assert proposals.harvest(ones, []) == []


def proposed(ok, *words):
    """Return what `harvest --json` proposes, by the first words of the titles."""
    return {one["title"].split()[0]: one for one in json.loads(ok("harvest", *words, "--json"))["proposals"]}


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


# ---- what a conversation states

def told(*turns_held):
    """Return (kind, text) of what turns state."""
    talk = records.Record("p/conversations/t.md", "t-1", "conversation", "Work", "", 0.0, 0.0, source="auto", meta={})
    return [(one.kind, one.text) for one in statements.of_talk(talk, turns_held)]


def turn(request, said="", *pieces):
    """A turn that edited a file, with pieces before its final statement."""
    return turns.Turn("2026-11-21T09:00:00.000Z", request, "", [
        *pieces, turns.Piece(turns.FILE, "a.py", turns.EDITED), *[turns.Piece(turns.SAID, said)] * bool(said)])


@pytest.mark.parametrize(("said", "rule"), [
    ("we always want strong types instead of bare strings", "We always want strong types instead of bare strings"),
    ("do the one here too, we never log the token of a customer", "We never log the token of a customer"),
    ("I don't want to have tokens under my own account", "I don't want to have tokens under my own account"),
    ("prefer subagents to keep the main context small", "Prefer subagents to keep the main context small"),
])
def test_a_rule_of_the_users_is_told_in_the_clause_that_rules(said, rule):
    """As a request, and as the reason of a refusal."""
    assert told(turn(said)) == [(statements.RULED, rule)]
    assert told(turn("go", "", turns.Piece(turns.USER, said, "refused Edit `a.py`"))) == [(statements.RULED, rule)]


@pytest.mark.parametrize(("said", "rule"), [
    ("The directive is to never block the upload of a customer, not sure if we have to ask them", "The directive is to never block the upload of a customer"),
    ("we always want the `job_id` in the log, maybe the host too", "We always want the `job_id` in the log")])
def test_a_doubt_in_a_later_clause_leaves_the_rule(said, rule):
    """What is only thought is cut off."""
    assert told(turn(said)) == [(statements.RULED, rule)]


@pytest.mark.parametrize("said", [
    "the hash in `meta.json` can't serve as a link since every rebase changes it",
    "no, remove `commit_sha` from the file, the risk is that people take it for a stable link",
    "ok, let's keep `retries` at 3 because the mail server bans us after that"])
def test_a_correction_with_its_reason_is_told(said):
    """What must be or must not, and why."""
    ((kind, text),) = told(turn(said))
    assert kind == statements.CORRECTED and text.lower() in said


@pytest.mark.parametrize("said", [
    "since `load_jobs` is slow, this double reading should not be done", "I ran it because `load_jobs` did fail for me yesterday",
    "remove it because `load_jobs` does not need that", "should we drop `load_jobs` because nobody calls it any more?",
    "`load_jobs` is slow because of the disk in that machine of ours"])
def test_what_leans_asks_or_rules_nothing_is_no_correction(said):
    assert told(turn(said)) == []


def test_what_was_said_to_a_refused_call_names_the_call():
    """Beside what the turn had begun with."""
    found = statements.of_talk(records.Record("p/conversations/t.md", "t-1", "conversation", "Work", "", 0.0, 0.0, source="auto", meta={}), [
        turn("set up the nightly export", "", turns.Piece(turns.USER, "we always want a checked job id", "refused Edit `src/a.py`"))])
    assert [(one.said_to, one.asked) for one in found] == [("refused Edit `src/a.py`", "set up the nightly export")]


def heard(*held):
    """Return what a conversation of these turns states, and from where."""
    return statements.of_talk(records.Record("p/conversations/t.md", "t-1", "conversation", "Work", "", 0.0, 0.0, source="auto", meta={}), held)


def asked(request, said):
    """A turn that edited nothing."""
    return turns.Turn("2026-11-21T09:00:00.000Z", request, "", [turns.Piece(turns.SAID, said)])


SEALED = "`Depot.pack` keeps a lock because two clerks may pack the same parcel at once."


def test_a_wish_comes_with_its_message_and_what_came_of_it():
    """So that it stands by itself."""
    said = "I looked at the list of parcels. we don't pack the whole depot, only `depot/index.json` belongs in the parcel"
    (one,) = heard(turn(said, "Packed `depot/index.json` alone into the parcel. All tests pass."))
    assert (one.kind, one.message) == (statements.WISHED, said)
    assert one.came == "Packed `depot/index.json` alone into the parcel."


def test_an_approved_plan_is_told_by_its_aim():
    """And named by its heading."""
    plan = "# Plan: Seal parcels twice\n\n## Goal\n\nSeal parcels twice before they leave the depot.\n"
    (one,) = heard(turn("go", "", turns.Piece(turns.USER, plan, turns.APPROVED)))
    assert (one.kind, one.text, one.said_to) == (
        statements.PLANNED, "Seal parcels twice before they leave the depot.", "Seal parcels twice")
    reasoned = plan.replace("the depot.", "the depot, because rain gets into them.")
    (other,) = heard(turn("go", "", turns.Piece(turns.USER, reasoned, turns.APPROVED)))
    (wish,) = heard(turn("we don't pack the whole depot, only `depot/index.json` belongs in the parcel", "Done."))
    assert statements.weight_of(one) < statements.weight_of(wish) <= statements.weight_of(other)


@pytest.mark.parametrize(("request_", "kind"), [
    ("can you explain me again how parcels are sealed?", statements.REPEATED), ("why does the depot lock a parcel?", statements.FOUNDED)])
def test_an_answer_is_told_where_a_reason_was_asked_or_asked_for_again(request_, kind):
    """Asked for once, how something works is found by whoever looks."""
    assert (kind, SEALED) in [(one.kind, one.text) for one in heard(asked(request_, SEALED))]


def test_what_a_file_of_tests_does_weighs_less():
    """A trifle, whoever asks."""
    one, other = (next(one for one in heard(asked("why does %s lock a parcel?" % path, SEALED)) if one.kind == statements.FOUNDED)
                  for path in ("src/depot.py", "depot_test/env.py"))
    assert statements.weight_of(one) > statements.weight_of(other)


def test_what_somebody_objected_to_is_not_told():
    """A doubt that asks may be told that it is so."""
    first = asked("why does the depot lock a parcel?", SEALED)
    assert not [one for one in heard(first, asked("that is wrong, the depot has one clerk", "Sorry.")) if one.kind == statements.FOUNDED]
    assert [one for one in heard(first, asked("but has the depot two clerks?", "Yes.")) if one.kind == statements.FOUNDED]


def test_what_was_taken_back_is_not_told():
    """In the same conversation."""
    first = turn("we always want `seal_twice` in the depot", "Added `seal_twice` to the depot.")
    undone = turn("no, revert that", "Reverted `seal_twice` in the depot.")
    assert [one.kind for one in heard(first)] == [statements.RULED] and heard(first, undone) == []


@pytest.mark.parametrize(("kind", "better", "worse"), [
    (statements.RULED, "We always write `parcel_count` into the list", "We always write `parcel_count` into the list now"),
    (statements.CAUSED, "The `pack` step never gave its lock back.", "The `pack` step used an undefined lock.")])
def test_what_passes_weighs_less(kind, better, worse):
    """An order of the moment, and what a compiler names."""
    one, other = (statements.weight_of(statements.Told(kind, text, records.Record(
        "p/t.md", "t-1", "conversation", "Work", "", 0.0, 0.0, source="auto", meta={}), 1, "", "", frozenset())) for text in (better, worse))
    assert one > other


@pytest.mark.parametrize("said", [
    "> we always want strong types instead of bare strings", "can we always use strong types instead of bare strings",
    "I think we have a bug, the worker always returns 0 after that", "we never want this one here",
    "should we always use strong types instead of strings?", "The flag `a_b` is set but never read anywhere in the code."])
def test_what_is_pasted_asked_or_points_elsewhere_is_no_rule(said):
    assert told(turn(said)) == []


def test_an_answer_in_a_menu_stands_with_its_question():
    """What to do next with the work at hand is no answer to keep, nor the one of two ways that the model had recommended."""
    asked = turns.Piece(turns.USER, "Which store do you want for uploads? → S3 (Recommended)", turns.ANSWER)
    own = turns.Piece(turns.USER, "Should uploads be kept in memory or on the disk? → On the disk (Recommended)", turns.ANSWER)
    routine = turns.Piece(turns.USER, "Plan ready at `a.md`. What would you like to do next? → Start", turns.ANSWER)
    assert told(turn("go", "", asked, own, routine)) == [(statements.ANSWERED, "Which store do you want for uploads? → S3")]


@pytest.mark.parametrize(("said", "kind", "text"), [
    ("**Root Cause:** The `list_jobs` query was missing the index that the importer uses.", "CAUSED",
     "The `list_jobs` query was missing the index that the importer uses."),
    ("The bug was that `current_job` was only updated when a job starts, not when it ends.", "CAUSED",
     "`current_job` was only updated when a job starts, not when it ends."),
    ("The mail server doesn't support the `reply_to` field on `create_mail`.", "LIMITED",
     "The mail server doesn't support the `reply_to` field on `create_mail`."),
    ("I kept `sqlite3` for the cache because a server of its own needs root rights.", "CHOSEN",
     "I kept `sqlite3` for the cache because a server of its own needs root rights."),
])
def test_what_the_model_found_is_told_without_what_leads_up_to_it(said, kind, text):
    """Where its sentence stands by itself."""
    assert told(turn("fix it", "All good.\n\n" + said)) == [(getattr(statements, kind), text)]


@pytest.mark.parametrize("said", [
    "Root cause: it was missing the index that `list_jobs` uses in the importer.", "The issue is real, look at the `list_jobs` query above.",
    "The bug was probably that `current_job` could be stale here.", "Root cause: see `a.py:12` where the `list_jobs` query is built.",
    "Root cause: the index."])
def test_what_leans_on_other_sentences_is_left_out(said):
    """A pronoun, a guess, a place that moves, a fragment."""
    assert told(turn("fix it", said)) == []


def test_a_symptom_beside_its_cause_is_none():
    """Where both are labelled."""
    said = ("**Problem:** The `list_jobs` query returned every closed job twice after a restart.\n\n"
            "**Root cause:** The `list_jobs` query was missing the index that the importer uses.")
    assert told(turn("fix it", said)) == [(statements.CAUSED, "The `list_jobs` query was missing the index that the importer uses.")]


def test_a_cause_counts_where_something_was_mended():
    """Of a turn that edited nothing it is a first guess."""
    said = "Root cause: the `list_jobs` query was missing the index that the importer uses."
    guess = turns.Turn("2026-11-21T09:00:00.000Z", "look", "", [turns.Piece(turns.SAID, said)])
    assert told(guess) == [] and len(told(turn("look", said))) == 1
