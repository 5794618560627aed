"""Candidates and questions for the ranking alone, and the table of how versions meet."""

from __future__ import annotations

from memory.core import clock, records, tokeniser
from memory.core.matches import Expansion
from memory.recall import look, rank

TABLE = tokeniser.Table()

# asked, held, the fit that the specification names; `-` stands for a record that names none.
FITS = [
    ("2.1", "2.1", "exact"),
    ("2.1, 2.2", "2.2, 2.1", "exact"),
    ("unversioned", "-", "exact"),
    ("unversioned", "unversioned", "exact"),
    ("2.1", "2.1, 2.2", "superset"),
    ("2.1, 2.2", "2.0, 2.1, 2.2", "superset"),
    ("unversioned", "unversioned, 2.1", "superset"),
    ("2.1", "2.1, unversioned", "superset"),
    ("2.1, 2.2", "2.2", "subset"),
    ("1, 2, 3", "3, 1", "subset"),
    ("2.1, unversioned", "2.1", "subset"),
    ("2.1, 2.2", "2.2, 2.3", "overlap"),
    ("1, 2, 3", "3, 4, 5, 6", "overlap"),
    ("2.1", "-", "unversioned"),
    ("2.1", "unversioned", "unversioned"),
    ("2.1, 2.2", "-", "unversioned"),
    ("2.1, unversioned", "-", "unversioned"),
    ("2.1", "unversioned, 3.0", "unversioned"),
    ("2.1", "2.2", None),
    ("2.1", "2", None),
    ("2.1", "2.10", None),
    ("2.1", "2.1.0", None),
    ("1, 2", "3, 4", None),
    ("unversioned", "2.1", None),
]
WORTH = {"exact": 1.0, "superset": 0.95, "subset": 0.85, "overlap": 0.75, "unversioned": 0.70}


def candidate(name="a", body="jwt issuer", now=0.0, number=0, workspace="here", tier="p", **meta):
    """Return one candidate, made from the text of a file."""
    lines = "".join(
        "%s: %s\n" % (key, value)
        for key, value in {"title": "A note", "created": clock.iso(now), **meta}.items()
    )
    data = ("---\n%s---\n\n%s\n" % (lines, body)).encode()
    record = records.from_bytes("%s/learnings/%s.md" % (tier, name), data, now)
    return look.Candidate(
        record,
        "",
        look.SectionTokens(record, "", record.body, TABLE),
        workspace,
        "/" + name,
        number,
    )


def asked(query="jwt issuer", **weights):
    """Return a question; its terms weigh the same, unless a weight is given."""
    sequence = tokeniser.index_terms(query)
    return look.Question(
        {t: weights.get(t, 2.0) for t in sequence}, sequence, 20.0, {t: t for t in sequence}, query
    )


def scored(candidates, question=None, **signals):
    """Return (score, parts) of candidates by all steps of the ranking."""
    question = question or asked()
    found = look.compute_features(candidates, question, Expansion())
    parts = rank.score_relevance(candidates, found, question, rank.is_dialogue(candidates, found))
    return rank.adjust_scores(candidates, parts, rank.Signals(**{"now": 0.0, **signals}))


def listed(said: str) -> list[str]:
    return [] if said == "-" else said.split(", ")
