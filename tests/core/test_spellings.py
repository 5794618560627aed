"""Where each verb stands, and how old spellings are read."""

from __future__ import annotations

from memory.cli.main import VERBS
from memory.core import spellings


def test_every_place_is_a_verbs_own():
    """A verb stands in one place, and no family's word is that of a verb that moved."""
    assert set(spellings.MOVED) <= set(VERBS)
    assert len(set(spellings.MOVED.values())) == len(spellings.MOVED)
    assert not set(spellings.FAMILIES) & set(spellings.MOVED)


def test_words_name_a_verb_by_either_spelling():
    for argv, found in (
        (["store", "undo", "x"], ("undo", 2)),
        (["undo", "x"], ("undo", 1)),
        (["show", "file"], ("blame", 2)),
        (["rule", "review"], ("review", 2)),
        (["rule", "edit", "r-1"], ("edit", 2)),
        (["show", "l-1"], ("show", 1)),
        ([], ("today", 0)),
    ):
        assert spellings.parse_verb(argv) == found
    assert spellings.format_command("undo") == "dayleaf store undo"
    assert spellings.format_command("today") == "dayleaf"


def test_an_old_option_is_read_as_its_word_and_text_is_not():
    assert spellings.replace_old_option("index", ["--verify", "--json"]) == (
        ["verify", "--json"],
        "--verify",
    )
    assert spellings.replace_old_option("index", ["--", "--verify"]) == (["--", "--verify"], "")
    assert spellings.replace_old_option("import", ["transcripts", "--all-projects"]) == (
        ["transcripts", "--all"],
        "--all-projects",
    )
    assert spellings.replace_old_option("recall", ["--verify"]) == (["--verify"], "")
