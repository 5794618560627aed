"""What a record gives the index: sections, topics, and the folders that are watched."""

from __future__ import annotations

import os
from pathlib import Path

from harness import talks, vault

from memory.capture import conversationpage
from memory.core import records, tokeniser
from memory.health import accounts
from memory.hook import documents, indexview, loader, receipts
from memory.index import builder
from memory.terminal import pastlines


def test_a_hit_in_a_long_record_names_its_section(place, now):
    """Sections carry their heading path."""
    body = "\n".join(
        f"# Setup\n## Step {name}\n" + f"text {name} " * 90 for name in ("alpha", "beta", "gamma")
    )
    vault.put(place, "p/learnings/long.md", "Guide", body * 3)
    opened = vault.built(place, now)
    best = opened.doc(loader.search(opened, tokeniser.query_terms("beta"), 1)[0][1])
    assert "beta" in best.section and best.id == "long"


def test_a_record_is_found_by_the_keys_that_its_author_wrote(place, now):
    """In any case, also a foreign id; by none that dayleaf keeps, and no private part."""
    path = Path(place.path("p/learnings/ibex.md"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "---\nid: ADR-0417\nTags: lorisbig\ntag: indriopen\nkeywords: [numbatkey, quollkey]\n"
        "summary: Pangolin retries <private>okapi</private>\nrelated:\n  - '[[Avahi cluster]]'\n"
        "source: https://wiki.fossacorp.de\nstatus: heronlike\n---\nRaise it.\n"
    )
    vault.put(place, "p/learnings/own.md", "Own", "Text.", id="l-1a2b3c4d", source="human")
    opened = vault.built(place, now)
    for word in "ADR-0417 lorisbig indriopen quollkey pangolin Avahi fossacorp".split():
        (found,) = loader.search(opened, tokeniser.query_terms(word), 9)
        assert opened.doc(found[1]).id == "ADR-0417"
    for word in "okapi heronlike human l-1a2b3c4d".split():
        assert not loader.search(opened, tokeniser.query_terms(word), 9)


def test_a_file_without_a_title_is_found_by_its_name(place, now):
    """In each tier, as in a folder of notes; a title that its head states stands alone."""
    for name in ("p/learnings/Walrus limits.md", "s/resources/heron-limits.md", "g/rules/ibex.md"):
        path = Path(place.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\ntags: [ops]\n---\n# Ingress\n\nRaise it to 30 seconds.\n")
    vault.put(place, "p/learnings/gibbon.md", "Titled", "Raise it to 30 seconds.")
    opened = vault.built(place, now)

    def found(word: str) -> list[str]:
        terms = tokeniser.query_terms(word)
        return [opened.doc(doc).name for _, doc in loader.search(opened, terms, 9)]

    assert found("walrus") == ["p/learnings/Walrus limits.md"]
    assert found("heron") == ["s/resources/heron-limits.md"]
    assert found("ibex") == ["g/rules/ibex.md"]
    assert found("gibbon") == []


def test_a_file_added_to_a_huge_folder_is_seen_at_once(place, now):
    """Of more than 1,024 files in a changed folder the names are compared, not their times."""
    for i in range(1100):
        vault.put(place, "p/learnings/n%04d.md" % i, "Note %d" % i, "kafka")
    builder.build(place, now)
    vault.put(place, "p/learnings/added.md", "Added", "quorum")
    os.remove(place.path("p/learnings/n0003.md"))
    assert set(indexview.open_index(place).delta.names) >= {
        "p/learnings/added.md",
        "p/learnings/n0003.md",
    }


def test_what_stands_for_a_secret_is_no_topic(now):
    """The topics of a brief are words of people, not of redaction."""
    record = records.from_bytes(
        "p/learnings/x.md",
        b"---\ntitle: Key [redacted:cloud-key#7817] opened staging\n---\nx\n",
        now,
    )
    assert documents.derive_topics(record) == ("key", "staging")


def test_a_topic_has_one_form_of_its_letters(now):
    """Typed on macOS (NFD) or elsewhere (NFC)."""
    tags = "---\ntags: [%s, %s]\n---\nx\n" % ("gr\u00f6\u00dfe", "gro\u0308\u00dfe")
    record = records.from_bytes("p/learnings/x.md", tags.encode(), now)
    assert documents.derive_topics(record) == ("gr\u00f6\u00dfe",)


def test_a_learning_without_tags_has_the_topics_of_its_title(place, now):
    """So that it belongs to a category, and to the map at the session's start; chores and stop
    words are no topics.
    """
    vault.learnings(place, 40)
    vault.put(
        place, "p/learnings/a.md", "Fix the JWT issuer check of the gateway", "It must match."
    )
    (Path(place.private) / "learnings" / "redis-cache-keys.md").write_text("Keys have a prefix.\n")
    index = vault.built(place, now)
    topics = {index.doc(n).name: index.doc(n).topics for n in range(index.documents)}
    assert topics["p/learnings/a.md"] == ("jwt", "issuer", "gateway")
    assert topics["p/learnings/redis-cache-keys.md"] == ("redis", "cache", "keys")
    choice = loader.choose_learnings(
        index, "the login token: is the jwt issuer checked?", "", vault.settings(), set()
    )
    assert choice.category == "auth" and "topic of auth" in choice.picks[0].reason


def test_each_turn_of_a_conversation_is_a_document_of_its_own_whatever_its_size(place, now):
    """What was said at 14:03 is found as that; the heading says when, and what was asked."""
    name = talks.put(place)
    opened = vault.built(place, now)
    found = [opened.doc(n) for n in range(opened.documents)]
    assert [(doc.name, doc.ordinal) for doc in found] == [(name, 0), (name, 1), (name, 2)]
    assert [doc.section for doc in found] == [
        "14:03 why does resume fail on a fresh clone?",
        "14:31 how many retries does the uploader make, and …",
        "2026-01-24 09:10 run the linter",
    ]
    best = opened.doc(loader.search(opened, tokeniser.query_terms("exponential backoff"), 1)[0][1])
    assert (best.kind, best.ordinal) == ("conversation", 1)


def test_only_a_heading_with_its_time_outside_of_code_begins_a_turn():
    """Neither what is quoted in code, be it a page like this one, nor a heading that a person wrote
    into a turn.
    """
    quoted = (
        "## 10:00 show the page\n\n```\n## Install\n## 14:03 a turn as text\n```\n\n"
        "## What I think of it\n\nnothing\n\n"
    )
    found = documents.split_turns(quoted + talks.LINT)
    assert [heading for heading, _ in found] == [
        "10:00 show the page",
        "2026-01-24 09:10 run the linter",
    ]
    assert "".join(text for _, text in found) == quoted + talks.LINT


def test_turns_are_counted_as_the_page_counts_them(now):
    """`show ID#2` prints what the index calls the second turn."""
    for before in ("", "My notes.\n\n## Mine\n\n"):
        body = before + "".join(talks.TURNS)
        cut = documents.split_sections(body, "conversation")
        numbers = [documents.turn_number(cut, at) for at in range(len(cut))]
        assert numbers == ([0] if before else []) + [1, 2, 3]
        told = conversationpage.parse(body)
        assert [turn.request.split()[0] for turn in told] == [
            text.split()[2 if text[5] == ":" else 3]
            for (_, text), number in zip(cut, numbers)
            if number
        ]


def test_a_conversation_that_a_person_rewrote_is_still_indexed():
    """Words before the first turn are a section without a heading, one without a turn is cut as any
    record is.
    """
    assert documents.split_sections("My notes.\n\n" + talks.LINT, "conversation") == [
        ("", "My notes.\n\n"),
        ("2026-01-24 09:10 run the linter", talks.LINT),
    ]
    for body in ("Only prose is left.\n", "## What I asked\n\nnothing\n", ""):
        assert documents.split_sections(body, "conversation") == [("", body)]
    assert (
        len(
            documents.split_sections(
                "## One\n\n%s\n## Two\n\n%s\n" % ("word " * 800, "word " * 800), "conversation"
            )
        )
        == 2
    )


def test_a_very_long_turn_is_cut_at_blank_lines_and_every_part_knows_its_turn():
    """No part loses the heading, no text is lost, and code stays in one piece."""
    said = "".join(
        "Step %d is done and verified on the staging cluster.\n\n" % n for n in range(400)
    )
    code = "```\n" + "x = 1\n\n" * 1000 + "```\n\n"
    body = talks.RESUME + "## 15:00 list every step\n\n" + said + code + talks.LINT
    found = documents.split_sections(body, "conversation")
    assert "".join(text for _, text in found) == body
    assert len(found) > 6 and [heading for heading, _ in found[1:-1]] == [
        "15:00 list every step"
    ] * (len(found) - 2)
    assert sum("```" in text for _, text in found) == 1
    assert [documents.turn_number(found, at) for at in range(len(found))] == [
        1,
        *[2] * (len(found) - 2),
        3,
    ]


def test_a_conversation_of_countless_turns_stays_within_the_index(now):
    """Behind the limit they join the last."""
    record = records.from_bytes("p/conversations/x.md", ("## 10:00\n" * 100_000).encode(), now)
    found = documents.split_documents(record, 1, 1)
    assert len(found) == documents.MOST_TURNS and found[-1][0].ordinal == documents.MOST_TURNS - 1


def test_a_conversation_is_never_pushed(place, now):
    """However well it fits a prompt, nobody accepted what was only said."""
    talks.put(place, pinned="true", accepted="true", confidence="high")
    index = vault.built(place, now)
    assert index.documents == 3 and index.learnings == 0
    choice = loader.choose_learnings(
        index, "why does resume fail on a fresh clone?", "", vault.settings(), set()
    )
    assert not choice.picks


def test_a_conversation_in_a_shared_tier_is_not_indexed_by_whatever_way_it_came(place, now):
    """Neither by a build, nor by the folder that came since, nor by a kind that a file elsewhere
    says it has.
    """
    talks.put(place, tier="s")
    vault.put(place, "s/learnings/said.md", "Said", "hello", kind="conversation")
    vault.put(place, "p/learnings/mine.md", "Mine", "hello")
    assert vault.built(place, now).documents == 1
    talks.put(place, tier="g", file="2026-01-25/101010-late.md")
    talks.put(place, tier="s", file="plain.md", kind="learning")
    assert indexview.open_index(place).documents == 1
    builder.refresh(place, now)
    assert indexview.open_index(place).documents == 1


def test_a_hook_is_spared_what_changed_in_conversations(place, now, monkeypatch):
    """A running session changes its own at each turn: neither the log's frames of it nor its files
    cost a prompt anything.
    """
    vault.put(place, "p/learnings/mine.md", "Mine", "kafka")
    name = talks.put(place)
    builder.build(place, now)
    talks.put(place, (*talks.TURNS, "## 10:00 and kafka?\n\nkafka\n"))
    talks.put(place, id="c-7a1c0002", created="2026-01-26T10:00:00Z")
    builder.refresh(place, now, [name])
    builder.refresh(place, now)
    read: list[str] = []
    monkeypatch.setattr(documents, "build_frame", lambda found, name: read.append(name) or b"")
    hook, whole = indexview.open_index(place), indexview.open_index(place, watch=False)
    assert read == [] and not hook.delta.names and b"/conversations" not in hook.delta.data
    assert set(whole.delta.names) == {name, "p/conversations/2026-01-26/100000-0002.md"}
    assert hook.df("kafka") == 1 and whole.df("kafka") == 2 and hook.learnings == 1
    assert indexview.build_from_files(place, 100, conversations=False).delta.names == {}
    assert read == ["p/learnings/mine.md"]


def test_the_heading_of_a_turn_counts_once(now):
    """Its request stands in the body already, and its time is no word of a title; any other
    section's heading is part of the head.
    """
    talk = records.from_bytes("p/conversations/x.md", talks.page(), now)
    heading = documents.format_weighted_head(talk, "14:03 why")
    assert "14:03" not in heading
    assert heading.count("Resume on fresh clones") == documents.HEAD_WEIGHT
    note = records.from_bytes("p/learnings/x.md", b"---\ntitle: Guide\n---\nx\n", now)
    assert documents.format_weighted_head(note, "Setup") == "Guide Setup " * 3 + "\n"


def said(handled, prompt):
    """Return the block of a prompt."""
    return (
        handled("prompt", prompt=prompt, session_id="s")[1]
        .get("hookSpecificOutput", {})
        .get("additionalContext", "")
    )


def test_without_an_index_the_files_that_hold_a_prompts_words_are_ranked(handled, place):
    """An old one among 300, whatever came since; in a session as in what `load` would say, and the
    receipt has nothing to add.
    """
    for i in range(300):
        vault.put(place, "p/learnings/n%03d.md" % i, "Note %d" % i, "gamma%03d retries nothing" % i)
    path = vault.put(place, "p/learnings/old.md", "Kafka retries", "Retry the quorum thrice.")
    os.utime(path, (1, 1))
    block = said(handled, "how does the kafka quorum retry?")
    assert "Retry the quorum thrice" in block and "Note 1" not in block
    [row] = [row for row in receipts.read(place.receipts("s")) if row["event"] == "prompt"]
    assert row["stale"] and "unread" not in row
    assert [
        pick["id"]
        for pick in accounts.explain_load(place, vault.settings(), "kafka quorum")["picks"]
    ] == ["old"]


def test_what_was_not_looked_at_is_in_the_receipt(handled, place, now, monkeypatch):
    """Of more files than a prompt has time for, the newest are searched; `why` says how many were
    not.
    """
    monkeypatch.setattr(documents, "READ_BYTES", documents.LEAST_READ_BYTES * 80)
    for i in range(200):
        path = vault.put(place, "p/learnings/n%03d.md" % i, "Note %d" % i, "gamma%03d" % i)
        os.utime(path, (i, i))
    assert "gamma130" in said(handled, "what is gamma130?")
    assert "gamma019" not in said(handled, "what is gamma019?")
    assert [row["unread"] for row in receipts.read(place.receipts("s"))] == [120, 120]
    assert "120 files not searched, because there is no index" in "\n".join(
        pastlines.push_lines(accounts.report_pushes(place, "s", "s"), now)
    )


def test_a_sessions_branch_is_a_word_of_its_checkpoint(place, now):
    """With the ticket in it; no trunk's, and not in each turn of the conversation."""
    for number, branch in enumerate(("feature/PAY-101-retries", "main", "dark-mode")):
        vault.put(
            place,
            "p/checkpoints/2026-11-0%d/100000-a.md" % (number + 1),
            "Work",
            "The worker tries again.",
            id="c-0000000%d" % number,
            branch=branch,
        )
    talks.put(place, branch="feature/PAY-101-retries")
    opened = vault.built(place, now)

    def found(words: str) -> set[str]:
        terms = tokeniser.query_terms(words)
        return {opened.doc(number).id for _, number in loader.search(opened, terms, 9)}

    assert found("PAY-101") == {"c-00000000"}
    assert found("dark-mode") == {"c-00000002"} and found("main") == found("feature") == set()
    assert opened.df("pay101") == 1
