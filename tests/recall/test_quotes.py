"""What hits show of their records."""

from __future__ import annotations

from harness import talks, vault
from harness.candidates import candidate

from memory.core import clock
from memory.core.matches import Expansion
from memory.recall import hit, quotes, search, updates
from memory.recall.question import Query


def ask(place, now, words, **more):
    return search.recall(place, vault.settings(), Query(words, **more), now, clock.utc).hits


def said(found):
    return [quote.text for one in found for quote in one.quotes]


def test_the_answer_stands_whole_with_what_leads_it_in(place, now):
    """A list comes with its lead, a yes with its reason; what is about something else stays
    away.
    """
    filler = "\n\n".join(
        "Paragraph %d is about the weather and the harbour of the town." % n for n in range(60)
    )
    body = (
        filler
        + "\n\nThe retry budget of the exporter:\n\n- three tries an hour\n- then it stops\n\n"
        + filler
    )
    vault.put(place, "p/learnings/a.md", "Notes", body, id="l-a")
    (text,) = said(ask(place, now, "retry budget exporter"))
    assert "The retry budget of the exporter:\n\n- three tries an hour\n- then it stops" in text
    assert len(text) <= quotes.ROOM + len("\n…\n")


def test_hits_share_a_room_and_each_says_something(place, now):
    """The best hit has the most of it; of later ones a line is left."""
    for number in range(8):
        vault.put(
            place,
            "p/learnings/%d.md" % number,
            "Note %d" % number,
            "\n\n".join(
                "The exporter of part %d.%d writes its rows twice." % (number, line)
                for line in range(60)
            ),
            id="l-%d" % number,
        )
    found = ask(place, now, "exporter writes rows")
    sizes = [sum(len(quote.text) for quote in one.quotes) for one in found]
    assert all(sizes) and sum(sizes[: quotes.FIRST]) <= quotes.FIRST * (quotes.ROOM + quotes.LATER)
    assert max(sizes[quotes.FIRST :]) <= quotes.LATER


def test_the_line_of_a_later_hit_shows_what_was_found(place, now):
    """From its row, or from within a long sentence; also where only a command holds the word."""
    filler = "The harbour of the town is quiet in the morning, and nothing moves there. "
    for number in range(quotes.FIRST):
        vault.put(
            place, "p/learnings/%d.md" % number, "Exporter", "exporter " * 9, id="l-%d" % number
        )
    bodies = {
        "rows": filler + "\n\nThe exporter stops.\n" + filler,
        "sentence": filler[:-2] * 3
        + " where the exporter stops in-place"
        + " quietly there" * 30
        + ".",
    }
    for name, body in bodies.items():
        vault.put(place, "p/learnings/%s.md" % name, name, body, id="l-" + name)
    run = "## 09:00 what broke\n\n%s\n\n- ✗ `run exporter --all` → exit 1: no\n" % filler
    talks.put(place, [run])
    later = ask(place, now, "exporter")[quotes.FIRST :]
    assert len(later) == 3 and all("exporter" in one.quotes[0].text for one in later)
    assert all(len(one.quotes[0].text) <= quotes.LATER for one in later)
    (shown,) = (one.quotes[0].text for one in later if one.id == "l-sentence")
    assert shown.strip("… ") in bodies["sentence"]


def test_an_amendment_put_first_gets_room_for_what_it_says_in_other_words(place, now):
    """Its windows count by the factor that lifted it."""

    def windows_of(said: str) -> str:
        return "\n\n".join(
            said + "".join(" %s%dx%d" % (said[4:6], number, word) for word in range(60))
            for number in range(4)
        )

    vault.put(place, "p/learnings/a.md", "Amended", windows_of("An exporter waits for a lock."))
    vault.put(place, "p/learnings/b.md", "First", windows_of("The exporter writes its rows."))
    question = "exporter lock writes rows"
    second, first = ask(place, now, question)

    def shown(amended: hit.Hit) -> int:
        hits = quotes.add_quotes(question, [amended, second], [], lambda _: (), Expansion(), {})[0]
        return len(hits[0].passage)

    lifted = first._replace(parts=((updates.UPDATE, 3.0),))
    assert shown(lifted) > 2 * shown(first)


def test_a_turn_is_quoted_with_its_minute_and_number(place, now):
    """And not what stands in the user's own words above it."""
    talks.put(place)
    (first,) = ask(place, now, "exponential backoff")
    (quote,) = first.quotes
    assert (quote.id, quote.turn, quote.at) == ("c-7a1c0001", 2, "2026-01-23T14:31")
    assert quote.asked.startswith("how many retries") and "does it wait" not in quote.text


def test_of_two_windows_hardly_apart_the_newer_stands_first(place, now):
    """What a later turn of the session said replaces what an earlier one did."""
    body = (
        "## 09:00 how long is the key\n\nThe key of a device has 130 digits, since two halves "
        "of it are joined.\n\n"
        "## 10:00 and now\n\nThe key of a device has 64 digits; the registry takes no longer one.\n"
    )
    vault.put(
        place,
        "p/conversations/2026-11-20/x.md",
        "Keys",
        body,
        id="c-7a1c0009",
        source="auto",
        session="s1",
        created="2026-11-20",
    )
    texts = said(ask(place, now, "digits key device"))
    assert ["64" in text for text in texts] == [True, False]


def test_a_window_that_repeats_another_is_left_out(place, now):
    """As a checkpoint repeats its conversation."""
    text = "The exporter writes each row twice, since the lock is taken after the read."
    vault.put(place, "p/learnings/a.md", "One", text, id="l-a")
    vault.put(place, "p/learnings/b.md", "Two", text + " Indeed.", id="l-b")
    assert len(said(ask(place, now, "exporter writes row lock")[:1])) == 1


def test_a_list_that_nothing_was_asked_of_shows_openings(place, now):
    """Headings and a line that repeats the title say nothing new."""
    vault.put(
        place,
        "p/learnings/a.md",
        "Pin the issuer",
        "# Notes\n\nPin the issuer\n\nTests fail otherwise.",
        id="l-a",
    )
    assert said(ask(place, now, "")) == ["Tests fail otherwise."]
    assert quotes.quote_first_line(candidate(body="# Only a heading").record) == ()


def test_a_passage_joins_the_quotes(place, now):
    """Each turn under its minute; a record that is no session's stands alone."""
    talks.put(place)
    (first,) = ask(place, now, "exponential backoff")
    assert first.passage.startswith(
        '2026-01-23 14:31 UTC, asked "how many retries does the uploader…":\n'
    )
    plain = first._replace(
        quotes=(hit.Quote("l-1", 0, "", "", "One."), hit.Quote("l-1", 0, "", "", "Two."))
    )
    assert plain.passage == "One.\n\nTwo."
