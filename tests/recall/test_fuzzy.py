"""Words that no record holds: misspellings, short and long forms."""

from __future__ import annotations

import sys

import pytest
from harness import vault
from harness.asking import ask, ids, write

from memory.index import builder
from memory.recall import fuzzy


def test_a_misspelt_word_finds_its_neighbour_and_is_no_gap(store, now):
    """Unknown words are fuzzed; what is near no word of the records is a gap, what only asks is
    not.
    """
    found = ask(store, now, "dokcer cachng")
    assert found.hits[0].record.id == "l-docker"
    assert found.known_gaps == ()
    assert ask(store, now, "what happened to dokcer on xylophones").known_gaps == ("xylophones",)
    assert "docker (for dokcer)" in found.hits[0].why


def test_a_known_word_is_never_fuzzed(place, now):
    """`test` does not bring `tent` where `test` is known."""
    write(place, "p/learnings/a.md", "A test.", id="a")
    write(place, "p/learnings/b.md", "A tent.", id="b")
    builder.build(place, now)
    assert ids(place, now, "test") == ["a"]


def test_codes_and_numbers_are_not_fuzzed(place, now):
    """E0383 is another error than E0382."""
    write(place, "p/learnings/a.md", "Rust error E0382.", id="a")
    assert ids(place, now, "E0383") == [] and ids(place, now, "E0382") == ["a"]


def test_a_word_of_everyday_speech_is_met_by_one_slip_alone(place, now):
    """And a word of four letters is no other one."""
    vault.put(place, "p/learnings/a.md", "A", "The error of the node is late.", id="a")
    assert ids(place, now, "errorr") == ["a"]
    assert ids(place, now, "erorrr") == [] and ids(place, now, "mode") == []


def test_words_are_compared_and_not_their_stems(place, now):
    """The stems of `release`, `relevant` and `related` are as near to that of `relese`.  What was
    found is named as it is written, and answers.
    """
    pytest.importorskip("rapidfuzz")
    words = ("Release the build on Friday", "Relevant checks", "Related work")
    for number, title in enumerate(words * 4):
        write(place, "p/learnings/%d.md" % number, title + ".", id="l-%d" % number, title=title)
    builder.build(place, now)
    found = ask(place, now, "relese friday")
    assert ids(place, now, "relese") == ["l-0", "l-3", "l-6", "l-9"] and not found.weak
    assert "release (for relese)" in found.hits[0].why


def test_without_rapidfuzz_the_search_goes_on_and_says_so(store, now, monkeypatch):
    """A missing library costs the misspelt words alone."""
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    assert fuzzy.load_matcher() is None
    found = ask(store, now, "jwt dokcer")
    assert found.hits[0].record.id in ("l-jwt", "c-today") and any(
        "RapidFuzz" in note for note in found.notes
    )


SLIPS = {
    "dimensionns": "dimensions",
    "dimesnions": "dimensions",
    "diensions": "dimensions",
    "calclate": "calculate",
    "calculatin": "calculate",
    "plannign": "planning",
    "indeing": "indexing",
    "triangulatin": "triangulation",
    "generaly": "generally",
}


@pytest.mark.parametrize("typed", SLIPS)
def test_a_slip_that_hides_a_word_from_the_stemmer_is_found(place, now, typed):
    """In the ending, or before it: the index holds stems alone."""
    pytest.importorskip("rapidfuzz")
    for word in {*SLIPS.values(), "kitchen", "garden"}:
        write(place, "p/learnings/%s.md" % word, "All about %s here." % word, id=word, title="Note")
    builder.build(place, now)
    assert ids(place, now, typed)[:1] == [SLIPS[typed]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("auth", "a"),
        ("db migration", "b"),
        ("configuration of the repository", "c"),
        ("authentication", "a"),
    ],
)
def test_short_forms_and_long_ones_find_one_another(place, now, query, found):
    """A developer writes `db` and means the database; the word itself still counts most."""
    write(
        place, "p/learnings/a.md", "The authentication needs both headers.", id="a", title="Login"
    )
    write(
        place,
        "p/learnings/b.md",
        "The database wants its migrations in order.",
        id="b",
        title="Order",
    )
    write(
        place, "p/learnings/c.md", "The repo holds a config for each host.", id="c", title="Hosts"
    )
    write(place, "p/learnings/d.md", "authority", id="d", title="Other")
    builder.build(place, now)
    assert ids(place, now, query)[0] == found
    write(place, "p/learnings/e.md", "The auth header.", id="e", title="Login too")
    builder.build(place, now)
    assert set(ids(place, now, "auth")[:2]) == {"a", "e"} and ids(place, now, "auth")[0] == "e"


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("느림", "느려서"),
        ("멈춤", "멈췄다"),
        ("깨짐", "깨져요"),
        ("고침", "고쳤다"),
        ("실패함", "실패하고"),
    ],
)
def test_a_korean_word_meets_its_other_forms(place, now, asked, held):
    """An ending that fuses with the last syllable leaves its first consonant; a known form is never
    traded for another.
    """
    write(place, "p/learnings/a.md", held, id="a")
    write(place, "p/learnings/b.md", "느슨한 멈칫 깨알 고추 실수", id="b")
    builder.build(place, now)
    assert ids(place, now, asked)[0] == "a"
    assert ids(place, now, held) == ["a"]


def test_a_version_is_found_however_it_is_written(place, now):
    """With and without its v, in a file's name, a tag, and the head's versions."""
    write(place, "p/learnings/a.md", "v6.23.9 broke it.", id="v")
    write(place, "p/learnings/v2.14.7-notes.md", "Slow.", id="file", title="")
    write(place, "p/learnings/c.md", "Use it.", id="tag", tags="[py3.11.4]")
    write(place, "p/learnings/d.md", "Pin it.", id="head", versions="[7.8.9]")
    asked = ("6.23.9", "v6.23.9", "2.14.7", "3.11.4", "7.8.9", "v7.8.9")
    found = [ask(place, now, text) for text in asked]
    names = [[hit.record.id for hit in each.hits] for each in found]
    assert names == [["v"], ["v"], ["file"], ["tag"], ["head"], ["head"]]
    assert not any(each.weak for each in found[:5])


def test_a_hash_finds_its_longer_and_shorter_forms(place, now):
    """Seven digits and more; what only begins alike is another commit."""
    whole = "4f3c2a1b9d8e7f60514233445566778899aabbcc"
    write(place, "p/learnings/a.md", f"Commit {whole} did it.", id="whole")
    write(place, "p/learnings/b.md", "Reverted by 9e8d7c6 then.", id="short")
    for asked in ("4f3c2a1", "4F3C2A1B9D", whole):
        assert ids(place, now, asked) == ["whole"]
    assert ids(place, now, "9e8d7c6b5a493827160514233445566778899aab") == ["short"]
    assert ids(place, now, "4f3c2a10") == ids(place, now, "9e8d7c") == []
