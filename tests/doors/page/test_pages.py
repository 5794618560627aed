"""The pages: each tells what the engines and the records say at that moment."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import conversations, leaks, page, pushes, vault

from memory.core import StoreError, UsageError, clock, files, layout
from memory.doors.page.pages import Pages
from memory.doors.page.timeline import Filter
from memory.recall import search
from memory.recall.question import Query

NOW = 1795271452.0  # 2026-11-21T14:30:52Z


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Read only: what writes takes `own`."""
    top = tmp_path_factory.mktemp("pages")
    return page.Book(page.stored(str(top / "home"), str(top / "project"), NOW), NOW)


@pytest.fixture
def own(tmp_path):
    return page.Book(page.stored(str(tmp_path / "h"), str(tmp_path / "p"), NOW), NOW)


def test_the_timeline_tells_sessions_by_day_with_their_outcomes(book):
    """Newest day first; each session with its branch, what came of it and what is next, the plan
    beside them.
    """
    said = book.html("timeline")
    assert said.index("19 November") < said.index("17 November")
    assert (
        "The cache keeps <code>100</code> answers." in said
        and "<b>next</b> Measure it." in said
        and "1 commit" in said
    )
    assert "Move the cache" in said and said.count('class="item session') == 4
    assert said.index('?branch=main"') < said.index('?branch=cache"')


def test_no_page_shows_what_is_private_or_a_secret_in_a_note_by_hand(own):
    """In its title, tags and text, of the repository's records too."""
    secret = "gh" + "p_" + leaks.made("page", leaks.ALNUM, 36)
    for name in ("p/learnings/hand.md", "s/learnings/hand2.md", "p/checkpoints/2026-11-19/h.md"):
        vault.put(
            own.place,
            name,
            "Walrus <private>PRIVATE title</private>",
            "walrus token: %s <private>PRIVATE text</private>" % secret,
            tags="['<private>PRIVATE tag</private>']",
        )
    said = "".join(map(own.html, ("timeline", "knowledge", "stats", "review", "failures")))
    said += own.html("search", "walrus") + own.html("record", "hand")
    assert "Walrus" in said and "PRIVATE" not in said and secret not in said


def test_each_column_of_the_strip_leads_to_its_time(book):
    """As an address that the keyboard reaches, with the filter in it."""
    strip = book.html("timeline", Filter(branch="main")).partition('class="strip"')[2]
    assert re.search(r'href="/x/\?kind=session&amp;branch=main&amp;until=2026-11-16"', strip)


def test_a_session_is_a_conversation_with_its_note_beside_it(own):
    """Who said what, the calls in between folded into a line, the note, files, commits, and what
    the model was given and why.
    """
    vault.put(
        own.place,
        "p/notes/2026-11-17/two.md",
        "A ring",
        "## Decisions\n\n- A ring.",
        id="n-two",
        kind="note",
        by="claude",
        session="two",
        created="2026-11-17T10:00:00Z",
    )
    own.now += 9
    said = own.html("session", "two")
    talked, _, beside = said.partition('class="facts"')
    assert '<div class="asked">add a cache</div>' in talked and 'id="t1"' in talked
    assert "we chose a ring because it needs no lock" in talked
    assert "2 calls, 1 failed · 2 files" in talked.replace("1 file", "2 files")
    assert "A ring." in beside and "by claude" in beside and "What came of it" in beside
    assert "<code>src/cache.c</code>" in beside and "What the model was given" in beside
    assert "at a prompt" in beside and "Docker cache" in beside and "why" in beside
    assert "1a2b3c4 Look at what fclose returns" in own.html("session", "one")
    with pytest.raises(StoreError, match="no record is about session 'zebra'"):
        own.pages.session("zebra")


def test_learnings_rules_and_wishes_stand_with_the_commands_that_decide(own):
    """A suggested learning can be kept, a waiting rule approved, a wish dropped; nothing here does
    any of it.
    """
    vault.put(
        own.place,
        "p/rules/wish.md",
        "From now on ring the bell",
        "",
        id="r-wish",
        kind="rule",
        rationale="You said so on 2026-11-20.",
        suggested_by="you",
        said="2026-11-20",
    )
    own.now += 9
    said = own.html("knowledge")
    assert "dayleaf record forget l-cache" in said and "dayleaf record edit l-cache" in said
    assert (
        "dayleaf notes harvest accept l-maybe" in said
        and "dayleaf notes harvest reject l-maybe" in said
    )
    assert "Docker cache" not in own.html("knowledge", "learning", "zebra")
    assert "Zebra" not in own.html("knowledge", "learning", "", "suggested")
    rules, wishes = own.html("knowledge", "rule"), own.html("knowledge", "wish")
    assert "dayleaf rule approve r-check" in rules and "ring the bell" not in rules
    assert "you said so on 2026-11-20" in wishes and "dayleaf rule reject r-wish" in wishes
    assert "method=" not in said + rules + wishes
    with pytest.raises(UsageError, match="'zebra' is not one of learning, rule, wish"):
        own.pages.knowledge("zebra")


def test_a_search_ranks_as_recall_does_and_gives_its_reasons(book):
    """The same ids in the same order; each with why and the parts of its score."""
    found = search.recall(
        book.place, vault.settings(), Query("cache lock", limit=30), NOW, clock.utc
    )
    shown = book.pages.search("cache lock").values["rows"]
    assert [row["hit"].id for row in shown] == [hit.id for hit in found.hits] and len(shown) > 1
    said = book.html("search", "cache lock")
    assert found.hits[0].why in said
    assert all('<th scope="row">%s</th>' % name in said for name, _ in found.hits[0].parts)
    assert [
        row["hit"].kind for row in book.pages.search("cache", kind="learning").values["rows"]
    ] == ["learning"] * 2
    with pytest.raises(UsageError):
        book.pages.search("cache", since="zebra")


def test_vectors_rank_what_is_sent_off_and_nothing_that_is_typed(book):
    """As the setting says; a key starts no program that makes them."""
    asked = []
    stub = SimpleNamespace(is_wanted=lambda said: asked.append(said) and False)
    pages = Pages(book.place, vault.settings(), lambda: NOW, stub)
    pages.search("docker cache", live=True)
    pages.search("docker cache")
    assert asked == [False, None]


def test_a_word_that_is_being_typed_is_completed(book):
    """As long as no record holds it; what common words alone would find is not looked for at each
    key.
    """
    typed = book.pages.search("docker cac", live=True).values
    assert typed["completed"].startswith("cach")
    assert typed["rows"][0]["hit"].id == "l-cache"
    assert (
        book.pages.search("the", live=True).values["found"] is None
        and book.pages.search("", live=True).values["found"] is None
    )
    assert book.html("search", "docker cac", live=True).lstrip().startswith('<div id="found"')


def test_a_record_is_told_with_its_links_its_claims_and_who_got_it(book):
    """Links both ways, one that leads nowhere as text, the receipts that name it, the checksum of
    its bytes.
    """
    said = book.html("record", "l-cache")
    assert "/x/record/l-zebra" in said and "/x/session/two#given" in said
    assert files.sha256(Path(book.place.path("p/learnings/cache.md")).read_bytes()) in said
    told = book.html("record", "l-zebra")
    assert (
        page.SECRET in told
        and '<span class="gone">gone</span>' in told
        and "<script>alert" not in told
    )
    assert 'id="t1"' in book.html("record", "k-two")


def test_what_a_running_session_got_is_told_before_it_has_a_record(own):
    """Each row of what the model was given leads to a page; one of a session that nothing tells of
    stays an error.
    """
    pushes.push(own.place, "still-running", NOW + 5, "l-cache")
    with page.served(own.pages) as site:
        browser = page.Browser(site)
        rows = re.findall(
            r'href="/[^/"]+(/session/[^"#]+)#given"', browser.get("/record/l-cache")[2]
        )
        assert set(rows) == {"/session/two", "/session/still-running"}
        assert [browser.get(row)[0] for row in rows] == [200, 200]
        said = browser.get("/session/still-running")[2]
        assert (
            "Nothing is written of this session yet" in said
            and "Docker cache" in said
            and "at a prompt" in said
        )
        assert browser.get("/session/zebra")[0] == 404


def test_what_is_shown_is_read_at_that_moment(own):
    """An edit is there with the next look, a record that was deleted is nowhere, whatever the open
    index holds.
    """
    assert page.SECRET in own.html("record", "l-zebra") and own.pages.search("zebra").values["rows"]
    path = Path(own.place.path("p/learnings/zebra.md"))
    path.write_text(
        path.read_text(encoding="utf-8").replace(page.SECRET, "nothing to see"), encoding="utf-8"
    )
    assert page.SECRET not in own.html("record", "l-zebra") + own.html(
        "search", "zebra", live=True
    ) + own.html("search", "zebra")
    path.unlink()
    assert own.pages.search("zebra", live=True).values["rows"] == []
    with pytest.raises(StoreError):
        own.pages.record("l-zebra")


def test_what_was_written_since_is_found_after_a_while(own):
    """A search that is typed goes by the open index; one that is sent off, a few seconds later, by
    the files.
    """
    own.html("search", "okapi")
    vault.put(own.place, "p/learnings/okapi.md", "Okapi", "The okapi eats leaves.", id="l-okapi")
    own.now += 6
    assert [row["hit"].id for row in own.pages.search("okapi").values["rows"]] == ["l-okapi"]


def test_the_review_shows_what_a_person_decides_on_and_decides_nothing(book):
    """The difference to what was approved, the checksum of the bytes, the command for a terminal;
    no form and no button but `copy`.
    """
    said = book.html("review")
    data = Path(book.place.path("p/rules/check.md")).read_bytes()
    assert '<span class="minus">-By hand.' in said and '<span class="plus">+By a script.' in said
    assert (
        files.sha256(data) in said
        and "dayleaf rule approve r-check" in said
        and "edited since approval" in said
    )
    assert "dayleaf notes harvest accept l-maybe" in said and "method=" not in said
    assert said.count("<button") == said.count('class="copy"') + 1 and said.count("<form") == 1


def test_a_waiting_wish_is_told_by_its_words(own):
    """Its file lies folded below them; of a rule with more text it stands open."""
    wish = {"kind": "rule", "rationale": "You said so on 2026-11-20.", "said": "2026-11-20"}
    for id, body in (("r-wish", ""), ("r-long", "Twice.")):
        vault.put(own.place, "p/rules/%s.md" % id, "Ring the bell", body, id=id, **wish)
    own.now += 9
    for id, opening in (("r-wish", "<details>"), ("r-long", "<details open>")):
        card = own.html("review").partition('id="w-%s"' % id)[2].partition("</section>")[0]
        folded = card.partition(opening)[2].partition("</details>")[0]
        assert "rationale: You said" in folded and "checksum" in folded
        assert card.replace(folded, "").count("Ring the bell") == 1
        assert "You said so on 2026-11-20." in card.replace(folded, "")


def test_failures_are_told_with_their_sessions(own):
    """Two suffice where another call then worked, and the heading names no other number."""
    for session in ("six", "seven"):
        fails = "- ✗ `gh pr diff 7 --stat` → exit 1: unknown flag: --stat"
        text = "## 10:00 go on\n\n%s\n- ✓ `gh pr diff 7 --name-only`\n" % fails
        conversations.held(own.place, session, "2026-11-20", text)
    said = own.html("failures")
    assert "unused-result" in said and "/x/record/k-two#t1" in said
    assert re.findall("[0-9]+ sessions", said) == ["2 sessions", "3 sessions"]
    assert "in several sessions" in said and "three or more" not in said


def test_an_empty_store_says_what_to_do(tmp_path):
    """On each page, and none fails."""
    empty = page.Book(layout.locate({"HOME": str(tmp_path)}, str(tmp_path)), NOW)
    assert "dayleaf store import transcripts" in empty.html("timeline")
    for name in ("knowledge", "failures", "review", "stats", "keys"):
        assert "<h1>" in empty.html(name) and "<svg" not in empty.html(name)
    assert "Nothing found" in empty.html("search", "zebra")


def test_names_in_every_script_lead_to_their_records(own):
    """A title, an id and a branch that an address has to spell otherwise."""
    vault.put(
        own.place,
        "p/learnings/k.md",
        "버튼 접근성",
        "버튼을 누르면 초점이 사라진다.",
        id="note/한#1",
    )
    conversations.noted(own.place, "s/1 ä?", "2026-11-20", page.OUTCOME, branch="fix/ä&b")
    own.now += 9
    assert "/x/record/note%2F%ED%95%9C%231" in own.html("search", "버튼")
    assert "/x/session/s%2F1%20%C3%A4%3F" in own.html(
        "timeline"
    ) and "branch=fix/%C3%A4%26b" in own.html("timeline")
    assert "버튼을 누르면" in own.html("record", "note/한#1")
