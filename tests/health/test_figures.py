"""stats: what is there and what happened, from the records, the receipts
and the ledgers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from harness.pushes import push
from harness.vault import put, settings

from memory.core import attempts, clock, config, walk
from memory.distill import spend
from memory.health import examination, figures
from memory.hook import receipts
from memory.index import builder
from memory.store import ledger
from memory.store.store import Store
from memory.terminal import screen, statspage


def told(place, now, since=0.0, columns=80):
    """Return the lines for a person."""
    value = figures.collect_figures(place, settings(), now, since)
    return statspage.stats_lines(value, screen.Style(columns))


def test_a_new_place_says_so_in_one_line(ok):
    """And so does one where nothing happened since a time."""
    assert ok("stats") == 'nothing to count yet: `dayleaf learn "…"` keeps the first learning\n'
    assert ok("stats", "--since", "2026-11-20").count("\n") == 1
    assert json.loads(ok("stats", "--json"))["records"] == {}


def test_notes_use_nothing_of_the_cap_of_digests(place, now):
    """Each purpose has its own line; the cost is that of both."""
    for purpose in (spend.NOTES, spend.NOTES, spend.DISTILL):
        row = ("claude", "small", 1000, 100, 0.5)
        spend.append_call(place.home, now, *row, purpose=purpose)
    said = "\n".join(told(place, now))
    for line in ("model calls today  +1 of 50, 49 left", "notes today  +2 of 40, 38 left"):
        assert re.search(line, said), said
    assert "$1.5000" in said
    spent = figures.read_spending(place.home, settings(), now)["today"]
    assert (spent["tokensIn"], spent["notes"]["tokensIn"]) == (1000, 2000)


def test_records_are_counted_by_kind_topic_and_week(place, now):
    """Weeks begin on Monday; the last of 26 is the present one."""
    for i, day in enumerate(("2026-11-21", "2026-11-16", "2026-11-15", "2026-06-01", "2020-01-01")):
        put(place, f"p/learnings/l{i}.md", "t", "x", "auth, 배포", created=day)
    put(place, "p/rules/r.md", "t", "x", rationale="why", created="2026-11-20")
    found = figures.collect_figures(place, settings(), now, clock.parse("2026-11-16") or 0.0)
    assert (
        found["records"] == {"learning": 5, "rule": 1}
        and found["new"] == 3
        and found["topics"] == {"auth": 5, "배포": 5}
    )
    weeks = found["perWeek"]
    assert (
        len(weeks) == 26
        and weeks[-1] == {"week": "2026-11-16", "records": 3}
        and weeks[-2]["records"] == 1
    )
    assert sum(week["records"] for week in weeks) == 5
    said = "\n".join(told(place, now))
    assert "3, most 3 in the week of 2026-11-16" in said and "배포 (5)" in said


def test_the_ranks_of_what_was_pushed_and_of_what_was_then_used(place, now):
    """A use counts at the rank that its own prompt gave the record; the rest stand together from
    rank 8 on.
    """
    ids = [f"r{i}" for i in range(10)]
    push(place, "s1", now - 60, *ids, prompt="p1")
    push(place, "s1", now - 50, "r1", prompt="p2")
    push(place, "s2", now - 40, "r1", prompt="p1", event="start")
    book = ledger.ledgers(place)[0]
    ledger.append_event(book, "r1", "use", now, "s1", "p1")
    ledger.append_event(book, "r9", "use", now, "s1", "p1")
    ledger.append_event(book, "r1", "use", now, "s2")
    found = figures.collect_figures(place, settings(), now)["ranks"]
    assert found[:3] == [
        {"rank": 1, "pushed": 2, "used": 0},
        {"rank": 2, "pushed": 1, "used": 1},
        {"rank": 3, "pushed": 1, "used": 0},
    ]
    assert found[-1] == {"rank": 8, "pushed": 3, "used": 1}
    assert "3, 1 used" in "\n".join(told(place, now))


def test_what_prompts_and_subagents_got_and_what_was_used_in_the_same_turn(place, now):
    """Passages apart; a use in another turn is none of this one."""
    rows = [
        {
            "event": "prompt",
            "prompt": "p1",
            "chosen": [["l1", 1.4, "2 of 3 terms"], ["c1", 0.8, "passage: asked before"]],
        },
        {"event": "prompt", "prompt": "p2", "chosen": [["c2", 0.7, "passage: asked before"]]},
        {"event": "agent", "prompt": "p2", "chosen": [["c2", 0.7, "passage: asked before"]]},
        {"event": "agent", "chosen": []},
    ]
    for row in rows:
        receipts.write(
            place.receipts("s1"),
            {"v": 1, "t": clock.iso(now), "chars": 400, "ms": 9, "saved": 0, **row},
        )
    book = ledger.ledgers(place)[0]
    ledger.append_event(book, "c1", "use", now, "s1", "p1")
    ledger.append_event(book, "c2", "use", now, "s1", "p1")
    found = figures.collect_figures(place, settings(), now)
    assert {
        key: found[key]
        for key in ("given", "givenUsed", "passages", "passagesUsed", "subagents", "subagentsGiven")
    } == {
        "given": 3,
        "givenUsed": 1,
        "passages": 2,
        "passagesUsed": 1,
        "subagents": 2,
        "subagentsGiven": 1,
    }
    said = " ".join("\n".join(told(place, now)).split())
    assert "2 given with prompts, 1 of them used in the same turn" in said
    assert "with subagents' prompts: 1 given; 1 of 2 got something" in said


def test_pushes_are_told_by_moment_and_how_many_were_then_used(place, now):
    """A clear or compaction makes the next prompt a first one; of failed calls no use is noted; a
    lost block is no push.
    """
    put(place, "p/learnings/a.md", "a note")
    push(place, "s1", now - 90, "r1", "r2", event="start")
    push(place, "s1", now - 80, "a", "b", prompt="p1")
    push(place, "s1", now - 70, prompt="p2")
    receipts.write(
        place.receipts("s1"), {"t": clock.iso(now - 60), "event": "start", "source": "compact"}
    )
    push(place, "s1", now - 50, "a", prompt="p3")
    push(place, "s1", now - 40, "c", event="wall")
    receipts.write(
        place.receipts("s2"),
        {
            "t": clock.iso(now - 30),
            "event": "prompt",
            "chosen": [["d", 1, "why"]],
            "tag": "ab12cd34",
            "chars": 9,
        },
    )
    receipts.write(
        place.receipts("s2"), {"t": clock.iso(now - 20), "event": "lost", "tag": "ab12cd34"}
    )
    book = ledger.ledgers(place)[0]
    for id, prompt in (("r1", ""), ("a", "p1"), ("b", "p2"), ("a", "p3")):
        ledger.append_event(book, id, "use", now, "s1", prompt)
    names = "moment", "times", "given", "pushed", "used"
    found = [
        tuple(one[name] for name in names)
        for one in figures.collect_figures(place, settings(), now)["moments"]
    ]
    assert found == [
        ("start", 2, 1, 2, 1),
        ("first", 2, 1, 2, 1),
        ("reset", 1, 1, 1, 1),
        ("later", 1, 0, 0, 0),
        ("wall", 1, 1, 1, None),
    ]
    lines = told(place, now)
    assert "  at a session's first prompt: 2 given, 1 used; 1 of 2 got something" in lines
    assert "  at failed calls: 1 given" in lines
    late = figures.collect_figures(place, settings(), now, now - 45)["moments"]
    assert [one["moment"] for one in late] == ["first", "wall"], "only the pushes since then"
    assert (
        "  at the first prompt after a clear or compaction: 1 given, 1 used; 1 of 1 got something"
        in told(place, now, since=now - 55, columns=200)
    )


def test_tokens_of_each_session_oldest_first(place, now):
    """The last 30; a receipt of before says characters alone, of which four are a token."""
    for i in range(33):
        push(place, "s%02d" % i, now - 1000 + i, "a", tokens=i + 1)
    push(place, "s32", now, "b", chars=401)
    found = figures.collect_figures(place, settings(), now)
    assert len(found["perSession"]) == 30 and found["perSession"][0]["tokens"] == 4
    assert found["perSession"][-1] == {
        "session": "s32",
        "began": clock.iso(now - 968),
        "tokens": 33 + 101,
        "characters": 801,
    }
    assert found["sessions"] == 33 and found["tokensSaved"] == 34 * 7


def test_times_of_hooks_and_captures(place, now):
    """Median and 95th percentile from real runs."""
    for i, ms in enumerate((3, 4, 30, 5000)):
        push(place, "s1", now + i, event="start" if ms == 3 else "prompt", ms=ms)
    attempts.log_end(
        place, attempts.log_start(place, "s1", "stop", now), "stop", "", now, now + 0.25
    )
    hooks = figures.collect_figures(place, settings(), now)["hooks"]
    assert list(hooks) == ["prompt", "start", "capture stop"]
    assert hooks["prompt"] == {"runs": 3, "p50": 30, "p95": 5000}
    assert hooks["capture stop"]["p95"] == 250
    assert any(line.endswith("3 runs  p50 30 ms, p95 5000 ms") for line in told(place, now))


def test_only_what_happened_since_a_time(place, now):
    """Pushes, uses and times of before are left out; the records are all there."""
    put(place, "p/learnings/a.md", "An old note", created="2026-01-01")
    book = ledger.ledgers(place)[0]
    for at, session in ((now - 9 * clock.DAY, "old"), (now - 60, "new")):
        push(place, session, at, "a", ms=10 if session == "new" else 900)
        ledger.append_event(book, "a", "use", at, session, "p1")
    both, late = (
        figures.collect_figures(place, settings(), now, since)
        for since in (0.0, now - 7 * clock.DAY)
    )
    assert (both["sessions"], both["mostUsed"], both["hooks"]["prompt"]["p95"]) == (
        2,
        {"a": 2},
        900,
    )
    assert (late["sessions"], late["mostUsed"], late["hooks"]["prompt"]["p95"]) == (1, {"a": 1}, 10)
    assert late["records"] == {"learning": 1} and late["new"] == 0


def test_what_was_merged_counts_for_what_stands_for_it(place, now):
    """The most used are named with their titles, and a record that is gone is none of them."""
    keeper = Store(place, settings(), now)
    kept, merged = (keeper.add("learning", title, "A body.\n") for title in ("Kept", "Merged"))
    book = ledger.ledgers(place)[0]
    for id in (kept.id, merged.id, "gone"):
        ledger.append_event(book, id, "use", now, "s", "p")
    keeper.archive(merged.name, "says the same", into=kept.id)
    found = figures.collect_figures(place, settings(), now)
    assert found["mostUsed"] == {kept.id: 2} and found["titles"] == {kept.id: "Kept"}
    assert f"  {kept.id} (2)  Kept" in told(place, now)


def test_odd_lines_of_logs_are_passed_over(place, now):
    """Torn lines, wrong types and other versions cost no figure."""
    push(place, "s1", now, "a")
    path = Path(place.receipts("s1"))
    path.write_text(
        path.read_text()
        + '{"event":"prompt","t":5,"chosen":{"a":1},"chars":"many","ms":null,"tokens":1e999}\ntorn'
    )
    book = ledger.ledgers(place)[0]
    ledger.append_event(book, "a", "use", now, "s1", "p1")
    Path(book.path).write_text(Path(book.path).read_text() + '"use" torn\n[1,"use"]\n')
    found = figures.collect_figures(place, settings(), now)
    assert (found["sessions"], found["prompts"], found["ranks"]) == (
        1,
        2,
        [{"rank": 1, "pushed": 1, "used": 1}],
    )


def test_stats_wants_no_words(run):
    """A word is a slip of the hand."""
    done = run("stats", "week")
    assert done.returncode == 2 and "--since" in done.stderr
    assert "is not a time" in run("stats", "--since", "hmm").stderr


def test_a_real_push_leaves_its_tokens(handled, place, now):
    """What the hook writes is what stats reads."""
    put(
        place,
        "p/learnings/a.md",
        "The kafka rebalance trap",
        "Kafka rebalances where a poll takes too long.",
    )
    handled("start")
    row = receipts.read(place.receipts("s1"))[0]
    assert row["tokens"] > 0
    assert (
        figures.collect_figures(place, settings(), now)["perSession"][0]["tokens"] == row["tokens"]
    )


def test_status_and_doctor_list_the_files_once(place, env, now, monkeypatch):
    """For the records, the index and what is due, where that was counted before."""
    put(place, "p/learnings/a.md", "One", "x")
    builder.build(place, now)
    listed, set_ = [], config.load(place.home, place.root, {})
    monkeypatch.setattr(figures, "FEW_FILES", -1)
    start = walk.Listing.__init__
    monkeypatch.setattr(
        walk.Listing, "__init__", lambda *given: listed.append(given) or start(*given)
    )
    for ask in (
        lambda: figures.read_state(place, set_, now),
        lambda: examination.examine(place, set_, env, now),
    ):
        listed.clear()
        ask()
        assert len(listed) == 1


def test_what_is_due_is_counted_where_it_costs_little(place, now, monkeypatch):
    """Few files are counted at once, many by upkeep alone."""
    for number in range(3):
        put(
            place,
            "p/learnings/n%d.md" % number,
            "Queue",
            "The queue drops what it cannot place, and says so once a day.",
            id="l-n%d" % number,
        )
    store = Store(place, settings(), now)
    assert figures.preview_upkeep(store, walk.Listing(place)) == ("", 2)
    monkeypatch.setattr(figures, "FEW_FILES", 2)
    assert figures.preview_upkeep(store, walk.Listing(place)) == ("", -1)
