"""Recall over real stores: plain files, an index on disk, one made in memory, none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from harness import talks, vault
from harness.asking import BACKENDS, ask, fill, ids, settings, write

from memory.core import clock
from memory.index import builder
from memory.recall import search
from memory.store import ledger
from memory.terminal import results


def test_words_find_the_records_that_hold_them(store, now):
    """The best match leads, and records without the words stay out."""
    found = ids(store, now, "jwt issuer mismatch")
    assert (
        found[0] == "l-jwt"
        and "r-pin" in found
        and "l-docker" not in found
        and "l-redis" not in found
    )


def test_identifiers_are_found_by_their_parts_and_wholes(store, now):
    """getUserToken by user token, usertoken and itself."""
    for text in ("getUserToken", "get_user_token", "user token", "usertoken"):
        assert ids(store, now, text)[0] == "c-today", text


@pytest.mark.parametrize("query", ["버튼", "버튼을", "버튼이"])
def test_korean_forms_meet(place, now, query):
    """Particles do not part a word from itself, with or without spaces."""
    for i, body in enumerate(("버튼 중복 클릭", "버튼을 두 번 눌렀다", "결제버튼이 느리다")):
        write(place, "p/learnings/%d.md" % i, body, id="k%d" % i)
    write(place, "p/learnings/other.md", "세션 만료", id="other")
    builder.build(place, now)
    assert sorted(ids(place, now, query)) == ["k0", "k1", "k2"]


def test_no_query_lists_the_newest_first(store, now):
    """By creation, whatever the kind."""
    found = ask(store, now, limit=3)
    assert [hit.record.id for hit in found.hits] == ["c-today", "l-jwt", "c-yesterday"]
    assert found.left_out >= 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("checkpoints from the last hour", ["c-today"]),
        ("yesterday", ["l-jwt", "c-yesterday"]),
        ("what did I do yesterday", ["l-jwt", "c-yesterday"]),
        ("jwt yesterday", ["l-jwt"]),
        ("buttons since Monday", ["c-yesterday"]),
        ("in October", ["l-redis"]),
        ("latest checkpoints", ["c-today", "c-yesterday"]),
        ("어제", ["l-jwt", "c-yesterday"]),
        ("gestern", ["l-jwt", "c-yesterday"]),
        ("last month", ["l-redis"]),
    ],
)
def test_time_words_filter(store, now, text, expected):
    """Periods, alone, with a kind and with content."""
    assert ids(store, now, text) == expected


def test_what_a_wrong_clock_dated_ahead_is_no_news(store, now):
    """It is listed last, is of no time up to now, and is found by its words and its own time."""
    write(
        store,
        "p/checkpoints/2031-03-01/100000-x.md",
        "Ahead of jwt.",
        id="c-ahead",
        created="2031-03-01T10:00:00Z",
    )
    listed = ids(store, now)
    assert listed[0] == "c-today" and listed[-1] == "c-ahead"
    assert ids(store, now, limit=1) == ["c-today"]
    assert ids(store, now, "latest checkpoints") == ["c-today", "c-yesterday", "c-ahead"]
    for asked in ({"since": "1h"}, {"text": "since Monday"}, {"text": "jwt", "days": "1"}):
        found = ids(store, now, **asked)
        assert "c-today" in found and "c-ahead" not in found
    assert ids(store, now, from_="2031-02-01") == ["c-ahead"]
    assert "c-ahead" in ids(store, now, "ahead of jwt")


def test_a_time_that_leaves_nothing_is_dropped_with_a_note(store, now):
    """Content first: the words may not have meant a filter. A time alone stays one."""
    found = ask(store, now, "redis yesterday")
    assert [hit.record.id for hit in found.hits] == ["l-redis"] and any(
        "any time" in note for note in found.notes
    )
    empty = ask(store, now, "in March 2021")
    assert empty.hits == () and "nothing found" in empty.notes


def test_the_parts_make_the_score(store, now):
    """What --explain prints adds up."""
    for hit in ask(store, now, "jwt issuer").hits:
        named = dict(hit.parts)
        relevance = named["bm25"] + named["window"] + named["proximity"] + named["title"]
        assert hit.score == pytest.approx(relevance * named["factor"] * named["source"])


def test_a_score_below_the_least_is_left_out(store, now):
    """--min-score."""
    best = ask(store, now, "jwt issuer").hits[0].score
    assert len(ids(store, now, "jwt issuer", min_score=best - 1e-9)) == 1


def test_a_query_of_common_words_is_looked_for_in_the_texts(place, now):
    """No index holds stop words, so the newest records are read."""
    write(place, "p/learnings/a.md", "To be or not to be.", id="a", title="Quote")
    write(place, "p/learnings/b.md", "Docker.", id="b", title="Other")
    builder.build(place, now)
    assert ids(place, now, "to be or not to be") == ["a"]


@pytest.mark.parametrize(
    "text", ["!!!", "😀", "\x00\x01", "''\"\"", "-- -", "a" * 5000, "jwt " * 3000, "🇩🇪 ​ ﷽"]
)
def test_odd_queries_are_answered(store, now, text):
    """Nothing raises, whatever the text."""
    assert isinstance(ask(store, now, text), search.RecallResult)


def test_sections_of_a_long_record_are_one_hit_that_names_its_section(place, now):
    """The best section stands for the record."""
    filler = "Filler words about nothing in particular. " * 60
    heads = (
        "# Guide\n\n",
        "## Docker\n\n",
        "## Kafka setup\n\nkafka brokers. ",
        "## Kafka again\n\nkafka. ",
    )
    body = "\n\n".join(head + filler for head in heads)
    write(place, "p/resources/guide.md", body, id="guide", title="Guide", type="doc")
    builder.build(place, now)
    found = ask(place, now, "kafka brokers")
    assert len(found.hits) == 1 and found.hits[0].section == "Guide > Kafka setup"


def test_freshness_of_named_files_is_checked_when_shown(store, now):
    """STALE while the named file is missing, FRESH once it is there; a checkpoint tells what
    was.
    """

    def states():
        return {hit.record.id: hit.freshness for hit in ask(store, now, "jwt issuer").hits}

    assert states()["c-today"] == states()["r-pin"] == "UNKNOWN"
    path = Path(store.path("p/checkpoints/2026-11-21/140000-a.md"))
    path.write_text(path.read_text() + "\n## Next\n\n- split src/auth/jwt.py\n")
    assert states()["c-today"] == "STALE"
    source = Path(store.root, "src/auth/jwt.py")
    source.parent.mkdir(parents=True)
    source.write_text("x", encoding="utf-8")
    assert states()["c-today"] == states()["l-jwt"] == "FRESH"


def test_a_persons_record_leads_over_a_captured_one_with_the_same_text(place, now):
    """Curated outranks captured, whatever the ages."""
    write(
        place,
        "p/learnings/z.md",
        "same text here",
        id="z-human",
        title="Same",
        source="human",
        created="2020-01-01",
    )
    write(
        place,
        "p/learnings/a.md",
        "same text here",
        id="a-auto",
        title="Same",
        source="auto",
        created="2026-11-21",
    )
    assert ids(place, now, "same text") == ["z-human", "a-auto"]


def tell(place, now, id, event, times):
    """Make the ledger of a place say this alone: an event of a record, each in a session of its
    own.
    """
    book = ledger.ledgers(place)[0]
    Path(book.path).unlink(missing_ok=True)
    for i in range(times):
        ledger.append_event(book, id, event, now, "s%d" % i)


def test_uses_and_outcomes_count(place, now):
    """What the ledger knows moves equal matches."""
    for name in "ab":
        write(
            place,
            "p/learnings/%s.md" % name,
            "same text here",
            id=name,
            title="Same",
            created="2026-11-01",
        )
    query = search.Query(text="same text")

    def run(id="", event="", times=0):
        tell(place, now, id, event, times)
        return [
            h.record.id for h in search.recall(place, settings(place), query, now, clock.utc).hits
        ]

    assert run() == ["a", "b"] and run("b", "use", 5) == ["b", "a"]
    assert run("a", "down", 5) == ["b", "a"] and run("b", "up", 3) == ["b", "a"]


def test_each_adjustment_is_a_part_of_the_score(place, now):
    """As `--explain` lists them."""
    write(
        place,
        "p/learnings/a.md",
        "same text here",
        id="a",
        title="Same",
        created="2026-11-20",
        source="auto",
        tags="[x]",
    )
    write(
        place,
        "p/learnings/b.md",
        "same text here",
        id="b",
        title="Same",
        created="2024-11-20",
        source="human",
        versions="[2]",
    )
    query = search.Query(text="same text", versions=("2",), context_tags=(("x", 5.0),))
    tell(place, now, "a", "up", 5)
    ledger.append_event(ledger.ledgers(place)[0], "a", "use", now, "s9")

    found = search.recall(place, vault.settings(), query, now, clock.utc)
    parts = {hit.record.id: dict(hit.parts) for hit in found.hits}
    assert {"recency", "frequency", "outcomes", "version", "tags"} <= set(parts["a"])
    assert parts["b"]["source"] > 1.0


def test_semantic_search_is_refused_with_a_note(store, now):
    """The answer says which backend ranked."""
    found = ask(store, now, "jwt", semantic=True)
    assert (
        found.hits
        and found.backend.startswith("lexical")
        and any("semantic" in note for note in found.notes)
    )


def test_the_neighbours_in_a_conversation_are_found(place, now):
    """An answer without the words of the question comes with it, where short notes of one session
    stand side by side.
    """
    turns = [
        "Ann: what breaks the jwt issuer check?",
        "Ben: the clock of the container.",
        "Ann: lunch?",
        "Ben: sure, at noon.",
    ]
    for i, text in enumerate(turns):
        write(
            place,
            "p/checkpoints/%03d.md" % i,
            text,
            id="t%d" % i,
            session="s1",
            speaker=text[:3],
            created="2026-11-0%d" % (i + 1),
        )
    for i in range(5):
        write(
            place,
            "p/checkpoints/9%02d.md" % i,
            "Ann: other talk %d" % i,
            id="o%d" % i,
            session="s2",
            speaker="Ann",
        )
    builder.build(place, now)
    assert set(ids(place, now, "jwt issuer check", limit=2)) == {"t0", "t1"}


def test_short_learnings_of_sessions_are_no_conversation(place, now):
    """They name the session they came from, yet their titles count as of any learning."""
    for i in range(6):
        write(
            place,
            "p/learnings/n%d.md" % i,
            "jwt issuer",
            id="n%d" % i,
            session="s1",
            title="Note %d" % i,
        )
    write(place, "p/learnings/x.md", "jwt", id="x", session="s2", title="JWT issuer")
    builder.build(place, now)
    found = ask(place, now, "jwt issuer")
    assert found.hits[0].record.id == "x" and dict(found.hits[0].parts)["title"] > 0.0


def test_recall_writes_nothing(place, now):
    """Neither an index nor anything else comes of asking."""
    fill(place)
    before = sorted(str(p) for p in Path(place.home).rglob("*"))
    ask(place, now, "jwt dokcer yesterday")
    assert sorted(str(p) for p in Path(place.home).rglob("*")) == before


def test_an_empty_store_answers(place, now):
    """Nothing found is an answer."""
    found = ask(place, now, "jwt")
    assert found.hits == () and "nothing found" in found.notes and ask(place, now).hits == ()


def test_a_long_record_does_not_hide_a_short_one(place, now):
    """Sixty sections that match fill every place of a list of sections; the note with the answer is
    still found.
    """
    section = "\n\n## Part %d\n\n" + "postgres pooling timeout " * 20
    vault.put(
        place,
        "p/learnings/big.md",
        "Postgres pooling timeout",
        "".join(section % i for i in range(60)),
    )
    vault.put(
        place,
        "p/learnings/short.md",
        "Pgbouncer",
        "The postgres pooling timeout comes from pgbouncer.",
    )
    builder.build(place, now)
    assert {hit.record.name for hit in ask(place, now, "postgres pooling timeout").hits} == {
        "p/learnings/big.md",
        "p/learnings/short.md",
    }


@pytest.mark.parametrize("options", [{}, {"kind": "learning"}])
def test_the_places_are_counted_in_records_however_long_they_are(place, now, options):
    """A thousand sections are one record, a dozen long records are twelve; few of their sections
    are read.
    """
    section = "\n\n## Part %d\n\n" + "postgres pooling timeout " * 17
    vault.put(
        place,
        "p/learnings/huge.md",
        "Postgres pooling timeout",
        "".join(section % i for i in range(1000)),
    )
    for n in range(12):
        vault.put(
            place,
            "p/learnings/big%02d.md" % n,
            "Postgres pooling timeout",
            "".join(section % i for i in range(20)),
        )
    vault.put(
        place,
        "p/learnings/short.md",
        "Pgbouncer",
        "The postgres pooling timeout comes from pgbouncer.",
    )
    builder.build(place, now)
    started = time.process_time()
    assert len(ask(place, now, "postgres pooling timeout", limit=14, **options).hits) == 14
    assert len(ask(place, now, "postgres pooling timeout", **options).hits) == 10
    assert time.process_time() - started < 1.0  # 0.1 s; 2 s where every section is read


def test_a_filter_finds_what_stands_behind_thousands(place, now):
    """Beyond loader.CAP postings only the best 1,024 of a common word are read; a filter must look
    behind them.
    """
    others = "alpha beta gamma delta epsilon zeta theta kappa"
    for i in range(1500):
        vault.put(
            place,
            "p/checkpoints/2026-11-20/%06d-x.md" % i,
            "Deploy",
            "deploy deploy deploy " + others,
        )
    vault.put(
        place,
        "p/learnings/one.md",
        "Releases",
        "A long note about other things, which says deploy once. " + "word " * 300,
    )
    builder.build(place, now)
    assert [
        hit.record.name for hit in ask(place, now, "deploy " + others, kind="learning").hits
    ] == ["p/learnings/one.md"]


@pytest.mark.parametrize("said", ["???", "🎉", "-- --", "…"])
def test_a_query_without_a_word_finds_nothing_and_says_so(place, now, said):
    """It is no empty query, which lists the newest."""
    vault.put(place, "p/learnings/one.md", "One", "kafka")
    builder.build(place, now)
    found = ask(place, now, said)
    assert not found.hits and "the query has no word to search for" in found.notes
    assert ask(place, now, "").hits


def test_what_was_said_is_found_turn_by_turn(place, now):
    """A hit in a conversation names the turn; with and without an index."""
    talks.put(place)
    for build in (False, True):
        if build:
            builder.build(place, now)
        best = ask(place, now, "wait between retries of the uploader").hits[0]
        assert (best.kind, best.group, best.id) == ("conversation", "conversation", "c-7a1c0001")
        assert best.section.startswith("14:31 how many retries")
    assert ids(place, now, "retries", kind="conversation") == ["c-7a1c0001"]
    assert ids(place, now, "retries", kind="checkpoint") == []


# ---- sessions: checkpoints and what was said


def session(place, *, conversation=True, checkpoints=("11:00", "15:00")):
    """A session of two stretches, one checkpoint each, and its conversation."""
    if conversation:
        talks.put(place)
    for number, time_ in enumerate(checkpoints):
        at = (
            "2026-01-23T%s:00Z" % time_ if number + 1 < len(checkpoints) else "2026-01-24T09:13:00Z"
        )
        write(
            place,
            "p/checkpoints/2026-01-23/n%d.md" % number,
            "Worked on resume and the uploader, stretch %d." % number,
            id="c-n%d" % number,
            title="Resume, stretch %d" % number,
            created=at,
            until='"%s"' % at,
            session=talks.SESSION,
            source="auto",
            conversation="c-7a1c0001",
        )
    return place


@pytest.mark.parametrize("backend", ["index", "files"])
def test_a_turn_stands_under_the_checkpoint_of_its_stretch(place, now, backend):
    """With the sentence that holds the words, the turn's number and the conversation's id; the
    checkpoint knows nothing of it.
    """
    session(place, checkpoints=("14:20", "15:00"))
    if backend == "index":
        builder.build(place, now)
    (first,) = ask(place, now, "exponential backoff").hits
    assert (first.id, first.conversation, first.turn) == ("c-n1", "c-7a1c0001", 2)
    head, _, said = first.passage.partition("\n")
    assert head == '2026-01-23 14:31 UTC, asked "how many retries does the uploader…":'
    assert "Five retries with exponential backoff; nothing was changed." in said
    assert first.turn_text.startswith("## 14:31 how many") and first.turn_text.endswith(
        "nothing was changed."
    )
    (marker,) = ask(place, now, "marker clone").hits
    assert (marker.id, marker.turn) == ("c-n0", 1)


def test_a_session_is_ranked_by_its_checkpoint_too_where_only_a_turn_is_near(
    place, now, monkeypatch
):
    """Both halves make its score, whichever brought it among the candidates; filters hold for
    both.
    """
    session(place, checkpoints=("15:00",))
    builder.build(place, now)
    monkeypatch.setattr(
        search._Search,
        "_find_candidates",
        lambda self, shelf, terms, most: [c for c in pool(self, shelf, terms, most) if c.turn],
    )
    (first,) = ask(place, now, "uploader retries").hits
    assert (first.id, first.turn) == ("c-n0", 2) and dict(first.parts)["session"] > 0.0
    assert ids(place, now, "uploader retries", kind="conversation") == ["c-7a1c0001"]


pool = search._Search._find_candidates


def test_a_conversation_without_a_checkpoint_stands_by_itself(place, now):
    """Of a kind that is asked for too, and where a filter leaves no checkpoint."""
    session(place, checkpoints=())
    assert [(hit.id, hit.turn) for hit in ask(place, now, "exponential backoff").hits] == [
        ("c-7a1c0001", 2)
    ]
    session(place)
    assert ids(place, now, "exponential backoff", kind="conversation") == ["c-7a1c0001"]
    assert ids(place, now, "exponential backoff", kind="checkpoint") == []
    assert ids(place, now, "exponential backoff") == ["c-n1"]


def test_a_session_is_one_hit(place, now):
    """Its best checkpoint, which names the others; a filter by session lists all of it."""
    session(place)
    (only,) = ask(place, now, "resume uploader").hits
    assert only.kind == "checkpoint" and only.turn and len(only.others) == 1
    assert {only.id, *only.others} == {"c-n0", "c-n1"}
    assert sorted(ids(place, now, "resume uploader", session=talks.SESSION)) == [
        "c-7a1c0001",
        "c-n0",
        "c-n1",
    ]
    assert dict(only.parts)["session"] > 0


def test_what_was_written_by_hand_stands_for_itself(place, now):
    """A person's checkpoint is no machine's note of the same session."""
    session(place)
    write(
        place,
        "p/checkpoints/2026-01-23/own.md",
        "The uploader must resume.",
        id="c-own",
        title="Own",
        session=talks.SESSION,
        source="human",
        created="2026-01-23T16:00:00Z",
    )
    found = ids(place, now, "resume uploader")
    assert len(found) == 2 and "c-own" in found


def test_a_listing_shows_every_checkpoint_and_no_conversation_beside_them(place, now):
    """Unless its kind or its session is asked for, or it has no checkpoint."""
    session(place)
    builder.build(place, now)
    assert ids(place, now) == ["c-n1", "c-n0"]
    one = ask(place, now, limit=1)
    assert [hit.id for hit in one.hits] == ["c-n1"] and one.left_out == 1
    assert ids(place, now, kind="conversation") == ["c-7a1c0001"]
    assert sorted(ids(place, now, session=talks.SESSION)) == ["c-7a1c0001", "c-n0", "c-n1"]
    talks.put(place, id="c-alone", session="other", created="2026-01-25T10:00:00Z")
    assert ids(place, now) == ["c-alone", "c-n1", "c-n0"]


def test_short_turns_are_no_short_notes(place, now):
    """What ranks notes of a chat by their neighbours is not for turns, which stand in one
    record.
    """
    for number in range(8):
        turns = tuple("## 10:%02d ask %d\n\nyes, the kestrel\n\n" % (n, n) for n in range(4))
        talks.put(
            place,
            turns,
            id="c-t%d" % number,
            session="s-%d" % number,
            created="2026-02-0%dT10:00:00Z" % (number + 1),
        )
    assert "neighbours" not in dict(ask(place, now, "kestrel").hits[0].parts)


def test_weak_matches_ask_for_a_contribution(place, now):
    """A hit that holds one common word of a question answers nothing; one that holds most of it
    does.
    """
    for i, word in enumerate("alpha beta gamma delta epsilon".split()):
        write(place, "p/learnings/%s.md" % word, word + " stands here", id=word)
        write(place, "p/learnings/c%d.md" % i, "commonplace", id="c%d" % i)
    builder.build(place, now)
    assert ask(place, now, "alpha beta gamma delta epsilon").weak
    assert not ask(place, now, "alpha stands").weak and not ask(place, now, "").weak
    assert "`dayleaf learn" in " ".join(
        results.gap_line(ask(place, now, "alpha beta gamma delta epsilon"))
    )


def test_what_a_query_names_by_its_head_is_not_weak(place, now):
    """A title, a tag, an id or a branch, though the text says none of it."""
    write(place, "p/learnings/a.md", "They fade.", id="l-0000000a", title="Zebra crossings")
    write(place, "p/learnings/b.md", "They break.", id="l-0000000b", tags="[gearbox]")
    write(place, "p/checkpoints/c.md", "They melt in zeal.", id="c-0000000c", branch="fix/wax-12")
    for query in ("zebra crossings", "gearbox", "l-0000000a", "zeal of fix/wax-12"):
        assert ask(place, now, query).hits and not ask(place, now, query).weak
    assert ask(place, now, "zebra gearbox zeal ferry kiosk").weak
    assert not ask(place, now, "unheard").weak


@pytest.mark.parametrize(
    "written",
    [
        {"created": "2026-01-23T14:03:00Z"},
        {"created": "2026-01-26T09:12:31Z", "since": "2026-01-23T14:03:00Z"},
    ],
    ids=["first day", "last day"],
)
@pytest.mark.parametrize("how", BACKENDS)
def test_a_session_over_several_days_is_found_by_each_day_with_a_turn(place, now, how, written):
    """A window is left open over night; a day on which nothing was said has nothing."""
    if how == "delta":
        builder.build(place, now)
    session = {"session": talks.SESSION, "source": "auto"}
    write(
        place,
        "p/checkpoints/2026-01-23/140300-a.md",
        "## Outcome\n\nThe linter wants a context.\n",
        id="c-1",
        until="2026-01-26T09:12:30.125Z",
        **written,
        **session,
    )
    late = talks.LINT.replace("2026-01-24", "2026-01-26")
    talks.put(place, (*talks.TURNS, late), until="2026-01-26T09:12:30.125Z")
    if how == "index":
        builder.build(place, now)
    for day, turn in (("23", 2), ("24", 3), ("25", 0), ("26", 4)):
        period = {"from_": "2026-01-" + day, "to": "2026-01-" + day}
        for kind in (None, "conversation", "checkpoint"):
            found = ask(place, now, kind=kind, **period).hits
            assert [quote.turn for each in found for quote in each.quotes] == [turn] * bool(turn)
        named = ask(place, now, "what did we do on 2026-01-" + day).hits
        assert [quote.turn for each in named for quote in each.quotes] == [turn] * bool(turn)
    asked = {"from_": "2026-01-26", "to": "2026-01-26", "kind": "conversation"}
    assert {q.turn for each in ask(place, now, "linter", **asked).hits for q in each.quotes} == {4}
    assert not ask(place, now, "backoff retries", **asked).hits


def test_a_branch_a_ticket_and_an_id_find_their_record_as_words(place, now):
    """A record that is named comes first, whatever else has the other words."""
    for number, branch in enumerate(("main", "feature/PAY-101-retries", "dark-mode")):
        write(
            place,
            "p/checkpoints/2026-11-2%d/090000-a.md" % number,
            "The worker tries %d times." % (5 + number),
            id="c-0000000%d" % number,
            title="Worker",
            branch=branch,
            session="0000000%d-aaaa-4bbb-8ccc-000000000001" % number,
            created="2026-11-2%dT09:00:00Z" % number,
        )
    write(place, "p/learnings/a.md", "The worker tries again and again.", id="l-other")
    builder.build(place, now)
    for text in (
        "PAY-101",
        "feature/PAY-101-retries",
        "what did we do on branch feature/PAY-101-retries?",
        "what was done for #101?",
        "c-00000001",
        "00000001-aaaa-4bbb-8ccc-000000000001",
        "00000001",
    ):
        assert ids(place, now, text) == ["c-00000001"], text
    assert ids(place, now, "dark-mode") == ["c-00000002"]
    found = ask(place, now, "what did c-00000000 say of how the worker tries again?")
    assert found.hits[0].record.id == "c-00000000" and len(found.hits) > 1
    assert found.hits[0].why == "its id" and not found.known_gaps
    assert ids(place, now, "main") == ids(place, now, "c-0000dead") == []


def test_a_checkpoint_beside_its_conversation_is_no_message_of_a_dialogue(place, now):
    """Short ones alone among the candidates rank as sessions: each is one hit."""
    talks.put(place, branch="dark-mode")
    write(
        place,
        "p/checkpoints/2026-01-24/091500-a.md",
        "The palette follows the system.",
        id="c-1",
        title="Palette",
        session=talks.SESSION,
        source="auto",
        branch="dark-mode",
        conversation="c-7a1c0001",
    )
    builder.build(place, now)
    assert ids(place, now, "dark-mode") == ["c-1"]
