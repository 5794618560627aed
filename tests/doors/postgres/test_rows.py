"""Records on their way into the PostgreSQL index."""

from __future__ import annotations

import os

from harness.asking import write
from harness.database import connected

from memory.doors.postgres import rows


def counts(dsn):
    """Documents, terms in them and how many documents hold `broker`, as the tables say."""
    return connected(
        dsn,
        lambda c: (
            *c.execute("SELECT documents, length FROM dayleaf.workspace").fetchone(),
            *(c.execute("SELECT df FROM dayleaf.term WHERE term = 'broker'").fetchone() or (0,)),
        ),
    )


def test_a_load_brings_the_rows_up_to_date_with_the_files(place, dsn, loaded):
    """What is new comes, what changed is replaced, what is gone goes, and the counts of terms
    follow.
    """
    write(place, "s/learnings/a.md", "Restart the broker.", id="l-a", title="A")
    write(place, "s/learnings/b.md", "The broker of kafka.", id="l-b", title="B")
    write(place, "p/learnings/c.md", "My own broker.", id="l-c", title="C")
    assert loaded()[:4] == (2, 2, 0, 0)
    assert counts(dsn)[0] == 2 and counts(dsn)[2] == 2
    assert loaded()[:4] == (2, 0, 0, 0)
    before = counts(dsn)
    write(place, "s/learnings/a.md", "Restart nothing.", id="l-a", title="A")
    assert loaded()[:4] == (2, 0, 1, 0)
    assert counts(dsn)[2] == 1
    write(place, "s/learnings/a.md", "Restart the broker.", id="l-a", title="A")
    loaded()
    assert counts(dsn) == before
    for name in ("a", "b"):
        os.unlink(place.path("s/learnings/%s.md" % name))
    assert loaded()[:4] == (0, 0, 0, 2)
    assert counts(dsn) == (0, 0, 0)


def test_the_private_tier_is_sent_only_where_that_is_asked_for(place, dsn, loaded):
    """An organisation's index gets what stands in git."""
    write(place, "p/learnings/c.md", "My own broker.", id="l-c", title="C")
    assert loaded().records == 0
    assert loaded("psg").records == 1
    assert loaded().removed == 1


def test_a_secret_stays_out_and_is_named(place, dsn, loaded):
    """A hand-written record may hold one that no writer took out; once it does, its old row goes
    too.
    """
    write(place, "s/learnings/a.md", "Restart the broker.", id="l-a", title="A")
    loaded()
    write(
        place,
        "s/learnings/a.md",
        "The key is " + "AKIA" + "IOSFODNN7" + "EXAMPLQ and ghp_" + "a1B2c3D4" * 4 + "e5F6",
        id="l-a",
    )
    done = loaded()
    assert (
        done.removed == 1 and "s/learnings/a.md: it holds what looks like a secret" in done.left[0]
    )
    assert counts(dsn)[0] == 0


def test_labels_say_the_impact_of_a_term(dsn):
    """ts_rank gives for the labels of an impact what stands for it, in the order of impacts."""
    ranked = connected(
        dsn,
        lambda c: c.execute(
            "SELECT ts_rank(%s::real[], w::tsvector, '''x''') FROM unnest(%s::text[]) WITH "
            "ORDINALITY AS g(w, n) ORDER BY n",
            (list(rows.WEIGHTS), [rows.quote_lexeme("x") + labels for labels in rows.LEVELS]),
        ).fetchall(),
    )
    values = [value * 1.64493406685 for (value,) in ranked]
    assert values == sorted(values)
    assert (
        max(
            abs(value - impact * rows.HALF / rows.FULL)
            for impact, value in enumerate(values)
            if impact > 50
        )
        < 0.09
    )


def test_terms_with_quotes_and_control_characters_are_lexemes(place, dsn, loaded):
    """What stands in records is data, whatever it looks like."""
    write(
        place,
        "s/learnings/a.md",
        "a'b \\\\ ''; DROP SCHEMA dayleaf; -- | & ! <-> :* \x01 $1 %s C:\\x 発行者 발급자",
        id="l-a",
    )
    assert loaded().added == 1
    assert counts(dsn)[0] == 1
