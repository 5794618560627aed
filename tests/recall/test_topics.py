"""Keywords, summaries and the export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.core import clock
from memory.recall import topics

CATEGORIES = {"auth": frozenset(["auth", "jwt", "token"]), "build": frozenset(["docker"])}


def write(place, name, body, **meta):
    """One record file."""
    path = Path(place.path(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "".join("%s: %s\n" % pair for pair in meta.items())
    path.write_text("---\n%s---\n\n%s\n" % (head, body), encoding="utf-8")


def test_keywords_are_what_tells_a_text_from_its_corpus():
    """A frequent rare word leads, a word of every document trails, and identifiers keep their
    form.
    """
    df = {"issuer": 1, "config": 50}
    found = topics.extract_keywords(
        "config config issuer issuer getUserToken the the the", lambda t: df.get(t, 1), 50
    )
    assert found[0] == "issuer" and "getUserToken" in found and "the" not in found
    assert found.index("issuer") < found.index("config")


def test_keywords_are_at_most_as_many_as_asked():
    """Fifteen by default."""
    assert (
        len(
            topics.extract_keywords(
                " ".join("word%s" % chr(97 + i) for i in range(26)), lambda t: 1, 9
            )
        )
        == 15
    )


def test_forms_of_a_word_count_as_one_keyword():
    """token, tokens and Tokens share a stem; the commonest form is shown."""
    assert topics.extract_keywords("tokens Tokens tokens token", lambda t: 1, 9) == ("tokens",)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "# Head\n\nIt broke in `src/a.py`. We fixed it, e.g. by v2.1.0. Then more.",
            "It broke in `src/a.py`. We fixed it, e.g. by v2.1.0.",
        ),
        (
            "```py\nx = 1. Y\n```\nThe first one. The second one. And more.",
            "The first one. The second one.",
        ),
        ("Only one line", "Only one line"),
        ("", ""),
        ("- first item\n- second item\n- third", "first item second item"),
        ("| a | b |\n|---|---|\nProse.", "Prose."),
        ("버튼을 고쳤다. 그리고 배포했다. 끝.", "버튼을 고쳤다. 그리고 배포했다."),
        ("修正した。配備した。終わり。", "修正した。 配備した。"),
        (
            "A paragraph that is wrapped at a width of some sixty letters\ngoes on. The end of it.",
            "A paragraph that is wrapped at a width of some sixty letters goes on. The end of it.",
        ),
        ("```\nnever closed", ""),
    ],
)
def test_a_summary_is_two_sentences_word_for_word(body, expected):
    """Headings, code and tables are left out; abbreviations and versions end no sentence."""
    assert topics.summarise(body) == expected


def test_the_export_lists_learnings_with_topics_and_sums(place, now):
    """The JSON form of the index: accepted learnings alone, their topics by file, categories by
    topic.
    """
    write(
        place,
        "p/learnings/a.md",
        "JWT issuer broke. It was the clock.",
        title="Issuer",
        tags="[jwt, auth]",
        updated="2026-11-20",
    )
    write(
        place,
        "s/learnings/docker-cache.md",
        "Docker layers. Docker cache helps.",
        title="Docker cache",
    )
    write(place, "p/learnings/docker-base.md", "Docker base image.", title="Docker base")
    write(place, "p/learnings/c.md", "Maybe.", title="Candidate", source="auto")
    write(place, "p/checkpoints/2026-11-20/100000-x.md", "Did things.", title="Work")
    value = topics.export(place, now, CATEGORIES)
    assert list(value) == [
        "version",
        "generated",
        "learningCount",
        "totalTokens",
        "learnings",
        "topics",
        "categories",
    ]
    assert value["learningCount"] == 3 and value["generated"] == clock.iso(now)
    rows = {row["file"]: row for row in value["learnings"]}
    first = rows["p/learnings/a.md"]
    assert list(first) == ["file", "topics", "keywords", "summary", "tokenCount", "lastModified"]
    assert first["topics"] == ["jwt", "auth"] and first["lastModified"] == "2026-11-20T00:00:00Z"
    assert first["summary"] == "JWT issuer broke. It was the clock." and first["tokenCount"] == 9
    assert rows["s/learnings/docker-cache.md"]["topics"] == ["docker"]
    assert value["totalTokens"] == sum(row["tokenCount"] for row in value["learnings"])
    assert value["topics"]["docker"] == [
        "p/learnings/docker-base.md",
        "s/learnings/docker-cache.md",
    ]
    assert value["categories"] == {"auth": ["auth", "jwt"], "build": ["docker"]}
    assert json.dumps(value) == json.dumps(topics.export(place, now, CATEGORIES))
