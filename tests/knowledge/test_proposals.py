"""Harvest: checkpoints to candidates without a model, with one on request, and what a person
decides on them.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from harness.command import on_terminal
from harness.harvested import CACHE, CLICK, kept, notes, proposed
from harness.vault import put

from memory.core import clock, records
from memory.knowledge import proposals


def record(id, body, session="s-1", day=1, tags=()):
    """A checkpoint of a session on a day of November 2026."""
    meta = {"session": session}
    return records.Record(
        "p/checkpoints/%s.md" % id,
        id,
        "checkpoint",
        "Work",
        body,
        clock.parse("2026-11-%02d" % day) or 0.0,
        0.0,
        tags=tags,
        source="human",
        meta=meta,
    )


def learning(title, body="", key="", accepted=True):
    """A learning as the store gives it."""
    return records.Record(
        "p/learnings/x.md",
        "l-1",
        "learning",
        title,
        body,
        0.0,
        0.0,
        accepted=accepted,
        meta={"harvest": key} if key else {},
    )


def titles(found):
    """Return the titles of proposals."""
    return [one.title for one in found]


# ---- what is proposed


@pytest.mark.parametrize(
    "line",
    [
        "Root cause: the pool was closed before the last row",
        "**Root cause:** the pool was closed before the last row",
        "- **Decision**: keep the pool open until the last row",
        "> Decided: keep the pool open until the last row",
        "### Lesson: close the pool after the last row",
        "Note: the pool is closed by the worker",
        "Ursache: der Pool war vor der letzten Zeile geschlossen",
        "Entscheidung: der Pool bleibt bis zur letzten Zeile offen",
        "근본 원인: 연결 풀이 마지막 행보다 먼저 닫혔다",
        "결정：연결 풀은 마지막 행까지 열어 둔다",
        "教訓：接続プールは最後の行の後で閉じる",
        "根本原因：连接池在最后一行之前就关闭了",
        "Причина: пул соединений закрыт до последней строки",
        "Решение: держать пул соединений открытым",
    ],
)
def test_a_labelled_statement_is_proposed_whole(line):
    """In six languages; the label is kept in the text, and the title is what stands behind it."""
    (one,) = proposals.harvest([record("c-1", "We looked at it.\n\n%s\n" % line)], [])
    said = line.replace("：", ": ").replace("**", "").partition(": ")[2]
    assert one.title == said[0].upper() + said[1:] and one.body.split("\n")[0].endswith(": " + said)
    assert one.body.endswith("\n\nFrom c-1 (2026-11-01).\n")
    label = one.body.partition(":")[0]
    assert (one.from_ids, one.reason) == (("c-1",), "labelled `%s`, in 1 session" % label)


@pytest.mark.parametrize(
    "text",
    [
        CLICK,
        "We decided to use argparse, because click is slow.",
        "It failed because the pool was closed.",
        "From now on we always close the pool.",
        "The root cause: the pool was closed.",
        "Decision: argparse or click, which one?",
        "Decision: done",
        "```\nNote: the pool is closed by the worker\n```",
        "src/a.c:3: note: the pool is closed by the worker",
        "note: run with `RUST_BACKTRACE=1` to see a backtrace",
        "Cause:closed_by_the_worker::of::the::pool",
        "Decisions to make: three of them",
        "Decision:\n\n# Next\n\nWe look at the pool of the worker.",
    ],
)
def test_what_bears_no_label_is_not(text):
    """However it is worded; nor a question, code, or what a compiler prints."""
    assert proposals.harvest([record("c-1", text + "\n")], []) == []


def test_statements_that_a_checkpoint_has_on_one_line_are_told_apart():
    """As the conversation has them: each is proposed once."""
    said = (
        "Root cause: it loads all rows of the table.",
        "Lesson: never load all rows at once, read pages.",
    )
    found = proposals.harvest([record("c-1", " ".join(said)), record("c-2", "\n".join(said))], [])
    assert [one.from_ids for one in found] == [("c-1", "c-2")] * 2
    assert not any("Lesson" in one.body and "cause" in one.body for one in found)


def test_what_several_sessions_say_comes_first_then_the_newest():
    """The newest wording stands for all, linked to each record."""
    ones = [
        record("c-1", "Decision: %s\n" % CLICK, "s-1", 1),
        record("c-2", "Cause: the clock of the runner is an hour late\n", "s-2", 2),
        record("c-3", "Decided: %s\n" % CLICK.replace("40 ms", "40 ms here"), "s-3", 3),
        record("c-4", "Cause: the lock of the queue is never given back\n", "s-3", 4),
    ]
    first, second, third = proposals.harvest(ones, [])
    assert first.title == CLICK.replace("40 ms", "40 ms here").rstrip(".") and first.from_ids == (
        "c-1",
        "c-3",
    )
    assert (first.sessions, first.reason) == (2, "labelled `Decided`, in 2 sessions")
    assert [one.from_ids for one in (second, third)] == [("c-4",), ("c-2",)]


def test_what_says_no_to_another_statement_is_one_of_its_own():
    ones = [
        record("c-1", "Decision: use floats for the prices of the shop\n"),
        record("c-2", "Decision: never use floats for the prices of the shop\n", "s-2", 2),
    ]
    assert len(proposals.harvest(ones, [])) == 2


def test_checkpoints_of_one_day_count_as_one_session_where_none_is_named():
    """Notes by hand name no session."""
    ones = [
        record("c-%d" % i, "Decision: %s\n" % CLICK, "", day) for i, day in enumerate((3, 3, 4))
    ]
    assert [proposals.harvest(some, [])[0].sessions for some in (ones[:2], ones)] == [1, 2]


# ---- what is known, order, limit


@pytest.mark.parametrize(
    "known",
    [
        learning("Use argparse instead of click because an import of click takes 40 ms"),
        learning("Start-up", "It must be quick.\n\n" + CLICK + " So it stays.\n", accepted=False),
        learning("Start-up", "Decided: " + CLICK + "\n"),
    ],
    ids=["title", "sentence", "labelled"],
)
def test_what_is_known_is_not_proposed(known):
    """A learning or candidate that says the same is enough; one that says no to it is not."""
    ones = [record("c-1", "Decision: " + CLICK + "\n")]
    assert proposals.harvest(ones, [known]) == []
    assert len(proposals.harvest(ones, [learning("Never " + CLICK[0].lower() + CLICK[1:])])) == 1


def test_a_key_is_enough_to_be_known():
    """A candidate that was reworded before it was rejected keeps its key."""
    ones = [record("c-1", "Decision: " + CLICK + "\n")]
    (one,) = proposals.harvest(ones, [])
    assert proposals.harvest(ones, [learning("Something else", key=one.key)]) == []


def test_the_order_is_the_same_however_the_checkpoints_come(monkeypatch):
    """The limit takes the first."""
    said = [
        "Decision: load `lib%s%s` in place of `old%s` at the start of %s." % (c, c, c, c * 4)
        for c in "abcdefghijklmnop"
    ]
    ones = [
        record("c-%02d" % i, line + "\n", "s-%d" % (i % 3), 1 + i % 9)
        for i, line in enumerate(said)
    ]
    ones.append(record("c-99", "Decision: " + CACHE + "\n", "s-8", 9))
    ones.append(record("c-98", "Decision: " + CACHE + "\n", "s-9", 10))
    limit = proposals.LIMIT
    monkeypatch.setattr(proposals, "LIMIT", 99)
    first = proposals.harvest(ones, [])
    random.Random(7).shuffle(ones)
    assert proposals.harvest(ones, []) == first and len(first) == 17
    assert titles(first)[0].startswith("Keep the cache in")
    monkeypatch.setattr(proposals, "LIMIT", limit)
    assert proposals.harvest(ones, []) == first[:limit]


# ---- the command


@pytest.fixture(name="notes")
def _notes(place):
    """Two checkpoints of two sessions, with three things worth keeping."""
    notes(place)


def test_a_harvest_writes_candidates_that_no_prompt_gets(ok, place, notes):
    """Linked to their checkpoints, of low confidence; recall finds them, the loader does not, a
    second harvest has nothing.
    """
    found = proposed(ok)
    assert set(found) == {"Use", "Keep", "`pytest`"}
    text = Path(json.loads(ok("show", found["Use"]["id"], "--json"))["path"]).read_text(
        encoding="utf-8"
    )
    assert (
        "source: auto\nconfidence: low\n" in text
        and "target: c-1" in text
        and "accepted" not in text
    )
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
    put(
        place,
        "p/checkpoints/c-1.md",
        "One",
        "Decision: use `%s` and no password, since it can be revoked.\n\n"
        "<private>\n\nDecision: %s\n\n</private>\n" % (token, CACHE),
        created="2026-11-10",
    )
    out = ok("harvest", "--json")
    assert len(kept(place)) == 1 and "sqlite3" not in out
    assert token not in out + kept(place)[0].read_text(encoding="utf-8")


def test_only_candidates_are_accepted_or_rejected(ok, env, project, place, notes):
    """An accepted learning, a checkpoint, an unknown id: named before anything is done."""
    candidate = proposed(ok)["Use"]["id"]
    mine = json.loads(ok("learn", "Prices are integers in cents.", "--json"))["id"]
    for id, said in (
        (mine, "is an accepted learning, not a candidate"),
        ("c-1", "is a checkpoint"),
        ("l-zzzz", "no record"),
    ):
        status, shown = on_terminal(["harvest", "reject", candidate, id], env, project)
        assert status in (1, 2) and said in shown
    assert len(kept(place)) == 4


def test_the_slash_command_shows_the_candidates_without_a_model_request(place, notes, expand):
    """The hook answers it; its options are read; `list` is a word of it."""
    answer = expand("harvest", "--since 2026-11-15")
    assert (
        answer["decision"] == "block"
        and "Keep the cache" in answer["reason"]
        and "argparse" not in answer["reason"]
    )
    assert "2 candidates wait" in expand("harvest", "list")["reason"] and len(kept(place)) == 2


@pytest.mark.parametrize(
    "piece", ["Note: ", "**", "- ", "> ", "`", "(", "Decision ", "결정 ", "Cause:", "a: "]
)
def test_repetition_does_not_hang_it(piece):
    """No pattern takes more than linear time over a body that someone made to hang it."""
    body = "\n\n".join([piece * 20000, ("Note: " + piece * 90 + "x\n") * 200, "- " + piece * 20000])
    said = "\n\n".join(
        [
            "## 09:00 " + piece * 100,
            "> " + piece * 200,
            piece * 20000,
            "- edited `a.py`",
            piece * 90 + "x",
        ]
    )
    start = time.process_time()
    proposals.harvest([record("c-1", body)], [], talks=[talk("t-1", "s-2", said)])
    assert time.process_time() - start < 5


def test_a_handoff_made_of_checkpoints_is_no_second_witness(ok):
    """It repeats what they say."""
    ok(
        "checkpoint",
        "Decision: keep money in integer cents, because floats lost a cent in `vat()`.",
    )
    ok("handoff")
    ok("handoff")
    assert [value["reason"] for value in proposed(ok).values()] == [
        "labelled `Decision`, in 1 session"
    ]


# ---- what conversations say


def talk(id, session, body, day=1):
    """The conversation of a session."""
    return records.Record(
        "p/conversations/%s.md" % id,
        id,
        "conversation",
        "Work",
        body,
        clock.parse("2026-11-%02d" % day) or 0.0,
        0.0,
        source="auto",
        meta={"session": session},
    )


def spoke(request, said, *lines, at="09:00"):
    """A turn of a conversation."""
    return "\n\n".join(["## %s %s" % (at, request), *lines, said]) + "\n"


def test_what_the_user_and_the_model_label_is_read_of_a_conversation():
    """Each names its turn; the client's summary says it twice, and what is pasted by the page is
    not the user's word.
    """
    body = spoke(
        "Decision: uploads of more than 5 MB are never retried",
        "Root cause: `store.Session` lost its agent when it was copied.",
        "> (while working) Note: the front desk opens at nine",
    )
    body += "## 10:00 (summary by the client)\n\nDecision: the clerk weighs each parcel once\n\n"
    body += spoke(
        "look at this\n> Note: " + "a line of a page that somebody pasted\n> " * 40,
        "Done.",
        at="11:00",
    )
    found = {one.title: one for one in proposals.harvest([], [], talks=[talk("t-1", "s-1", body)])}
    assert set(found) == {
        "Uploads of more than 5 MB are never retried",
        "`store.Session` lost its agent when it was copied",
        "The front desk opens at nine",
    }
    one = found["Uploads of more than 5 MB are never retried"]
    assert one.from_ids == ("t-1",) and one.body.endswith("\n\nFrom t-1#1 (2026-11-01).\n")


def test_a_checkpoint_and_the_conversation_of_its_session_are_one_session():
    """Each is cited."""
    talks = [talk("t-1", "s-1", spoke("go on", "Decision: " + CLICK))]
    (one,) = proposals.harvest(
        [record("c-1", "Decision: " + CLICK + "\n", "s-1", 2)], [], talks=talks
    )
    assert (one.sessions, one.from_ids) == (1, ("t-1", "c-1"))


def test_conversations_are_read_by_the_command(ok, place):
    """Those since a time, and without their private parts."""
    body = spoke("Lesson: the token of a customer is never logged", "Noted.")
    body += spoke(
        "a <private>Note: we always pay Walrus late here</private> b", "Noted.", at="10:00"
    )
    put(
        place,
        "p/conversations/2026-11-20/t.md",
        "Talk",
        body,
        kind="conversation",
        session="s-1",
        created="2026-11-20",
    )
    put(
        place,
        "p/checkpoints/c-1.md",
        "One",
        "## Outcome\n\n- Noted.",
        session="s-1",
        created="2026-11-20",
    )
    assert proposed(ok, "--since", "2026-11-21", "--dry-run") == {}
    assert [one["title"] for one in proposed(ok, "--dry-run").values()] == [
        "The token of a customer is never logged"
    ]
