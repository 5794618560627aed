"""The pages: each tells what the engines and the records say at that moment."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import conversations, page, pushes, vault

from memory.core import StoreError, UsageError, approvals, files, layout
from memory.doors.page import sheets
from memory.doors.page.pages import Pages
from memory.recall import search
from memory.recall.question import Query
from memory.store import archive, ledger

NOW = 1795271452.0  # 2026-11-21T14:30:52Z


class Book:
    """Pages of a store, as HTML; time passes as a test says."""

    def __init__(self, place):
        self.place, self.now = place, NOW
        self.pages = Pages(place, vault.settings(), lambda: self.now)

    def html(self, name: str, *words, **more) -> str:
        return sheets.rendered(
            getattr(self.pages, name)(*words, **more), "/x", bool(more.get("live"))
        )


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Read only: what writes takes `own`."""
    top = tmp_path_factory.mktemp("pages")
    return Book(page.stored(str(top / "home"), str(top / "project"), NOW))


@pytest.fixture
def own(tmp_path):
    return Book(page.stored(str(tmp_path / "h"), str(tmp_path / "p"), NOW))


def test_the_timeline_tells_sessions_by_branch_with_their_outcomes(book):
    """Newest branch first; each session with what came of it and what is next, the plan above them
    all.
    """
    said = book.html("timeline")
    assert said.index("?branch=main") < said.index("?branch=cache")
    assert (
        "The cache keeps <code>100</code> answers." in said
        and "<b>next</b> Measure it." in said
        and "1 commit" in said
    )
    assert "Move the cache" in said and said.count('class="item session"') == 4
    days = book.html("timeline", by="day")
    assert days.index(">2026-11-19 ") < days.index(">2026-11-17 ")
    assert "The cache keeps" not in book.html("timeline", branch="main")


def test_the_timeline_goes_on_where_it_ended(own, monkeypatch):
    """A page of sessions names the instant before which the next one begins."""
    monkeypatch.setattr("memory.doors.page.pages.SESSIONS", 2)
    first = own.pages.timeline().values
    seen = [one["id"] for each in first["parts"].values() for one in each]
    rest = own.pages.timeline(before=first["older"]).values
    assert seen == ["four", "three"] and [
        one["id"] for each in rest["parts"].values() for one in each
    ] == ["two", "one"]
    assert rest["older"] == ""


def test_a_session_is_told_whole(book):
    """Its checkpoint, its turns, its files and commits, and what was pushed into it and why."""
    said = book.html("session", "two")
    assert (
        "c-two" in said and 'id="t1"' in said and "we chose a ring because it needs no lock" in said
    )
    assert (
        "<code>src/cache.c</code>" in said
        and "at a prompt" in said
        and "Docker cache" in said
        and "· 1.0" in said
        and "why" in said
    )
    assert "1a2b3c4 Look at what fclose returns" in book.html("session", "one")
    with pytest.raises(StoreError, match="no record is about session 'zebra'"):
        book.pages.session("zebra")


def test_a_search_ranks_as_recall_does_and_gives_its_reasons(book):
    """The same ids in the same order; each with why and the parts of its score."""
    found = search.recall(book.place, vault.settings(), Query("cache lock", limit=30), NOW, 0.0)
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
    assert "/x/record/l-zebra" in said and "/x/session/two#pushed" in said
    assert files.sha256(Path(book.place.path("p/learnings/cache.md")).read_bytes()) in said
    told = book.html("record", "l-zebra")
    assert (
        page.SECRET in told
        and '<span class="gone">gone</span>' in told
        and "<script>alert" not in told
    )
    assert 'id="t1"' in book.html("record", "k-two")


def test_what_became_of_a_record_stands_by_date(own):
    """Who approved it when and whether that was what stands there now; feedback, what it took in,
    and that it was away.
    """
    place, rule = own.place, Path(own.place.path("p/rules/check.md"))
    approvals.decide(
        place.home,
        place.key,
        "r-check",
        files.sha256(rule.read_bytes()),
        "approve",
        "kim",
        NOW + 86400,
    )
    said = re.sub(
        r"<[^>]*>",
        "",
        own.html("record", "r-check").partition('id="history"')[2].partition("</section>")[0],
    )
    assert re.search(
        r"2026-11-22\D+\d* ?approved by kim, as it stands now.*2026-11-21.*approved by "
        r"alex, with another text",
        said,
        re.S,
    ), said
    book = ledger.holding(place, "p/learnings/cache.md")
    ledger.note(book, "l-cache", "down", NOW - 86400, "s1")
    ledger.note(book, "l-old", "up", NOW - 2 * 86400, "s2")
    root = place.path("p")
    vault.put(place, "p/archive/learnings/old.md", "Old", "Use --no-cache too.", id="l-old")
    archive.log(
        root,
        archive.Move("l-old", "learnings/old.md", "archive/learnings/old.md", "l-cache"),
        "merged",
        NOW,
        0o600,
    )
    archive.log(
        root,
        archive.Move("l-cache", "archive/learnings/cache.md", "learnings/cache.md"),
        archive.RESTORED,
        NOW,
        0o600,
    )
    said = own.html("record", "l-cache")
    order = [
        "brought back: restored",
        "l-old was merged into it",
        "misled, somebody said",
        "helped, somebody said",
    ]
    assert [said.index(each) for each in order] == sorted(
        said.index(each) for each in order
    ) and "2026-11-20" in said


def test_what_a_running_session_got_is_told_before_it_has_a_record(own):
    """Each row of `Put before the model` leads to a page; one of a session that nothing tells of
    stays an error.
    """
    pushes.push(own.place, "still-running", NOW + 5, "l-cache")
    with page.served(own.pages) as site:
        browser = page.Browser(site)
        rows = re.findall(
            r'href="/[^/"]+(/session/[^"#]+)#pushed"', browser.get("/record/l-cache")[2]
        )
        assert set(rows) == {"/session/two", "/session/still-running"}
        assert [browser.get(row)[0] for row in rows] == [200, 200]
        said = browser.get("/session/still-running")[2]
        assert (
            "No checkpoint or conversation tells of it" in said
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
    assert "No two records say the same." in book.html("review", duplicates=True)


def test_walls_are_told_with_what_worked(book):
    said = book.html("walls")
    assert (
        "unused-result" in said
        and "what worked" in said
        and "3 sessions" in said
        and "/x/record/k-two#t1" in said
    )
    assert "after editing src/cache.c" in said


def test_links_topics_and_figures_are_drawn(book):
    """As pictures that say their numbers too."""
    assert (
        "/x/record/l-zebra" in book.html("graph")
        and "<svg" in book.html("graph", "l-cache")
        and "gone" in book.html("graph")
    )
    with pytest.raises(StoreError, match="no record 'none'"):
        book.pages.graph("none")
    assert "<svg" in book.html("topics") and "build" in book.html("topics")
    said = book.html("stats")
    assert '<tr><th scope="row">conversation</th><td>4</td>' in said and "records by week" in said


def test_an_empty_store_says_what_to_do(tmp_path):
    """On each page, and none fails."""
    empty = Book(layout.locate({"HOME": str(tmp_path)}, str(tmp_path)))
    assert "dayleaf store import transcripts" in empty.html("timeline")
    for name in ("walls", "review", "graph", "topics", "stats", "keys"):
        assert "<h1>" in empty.html(name)
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
    assert "/x/record/note%2F%ED%95%9C%231" in own.html("search", "버튼")
    assert "/x/session/s%2F1%20%C3%A4%3F" in own.html(
        "timeline"
    ) and "branch=fix/%C3%A4%26b" in own.html("timeline")
    assert "버튼을 누르면" in own.html("record", "note/한#1")
