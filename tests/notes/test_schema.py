"""The model's answer: what is read of it, and what counts as missing."""

from __future__ import annotations

import json

import pytest
from harness import noted

from memory.core import ProviderError
from memory.notes import schema

SAYS_NONE = json.dumps({"title": "none", "summary": "None.", "next": []})


def test_a_note_is_read_whatever_stands_around_it():
    """A fence, a preamble, a thought with braces."""
    for around in ("%s", "Here it is {really}:\n```json\n%s\n```\nDone."):
        note = schema.parse_answer(around % json.dumps(noted.ANSWER))
        assert note.title == noted.ANSWER["title"] and len(note.items) == 6
        assert (
            note.items_of(schema.DECISIONS)[0].mark == "agent"
            and note.items_of(schema.LESSONS)[0].mark == "pitfall"
        )


def test_what_has_another_type_is_no_item():
    """Of the others all are read; how many are kept is told where they are checked."""
    many = [{"text": "Run it %d" % at, "quote": "q", "turn": "1"} for at in range(9)]
    note = schema.parse_answer(
        json.dumps({**noted.ANSWER, "next": many, "open": "none", "lessons": [3, {"text": 4}]})
    )
    assert len(note.items_of(schema.NEXT)) == len(many)
    assert note.items_of(schema.OPEN) == note.items_of(schema.LESSONS) == []


@pytest.mark.parametrize(
    "answer", ["", "no", "[]", '{"title": "Only a title"}', "{", "NONE", SAYS_NONE]
)
def test_what_is_no_note_is_a_failed_call(answer):
    with pytest.raises(ProviderError):
        schema.parse_answer(answer)


def test_a_lone_word_is_no_title():
    note = schema.parse_answer(json.dumps({"title": "n/a", "summary": "The cap is 40."}))
    assert (note.title, note.summary) == ("", "The cap is 40.")
    assert schema.parse_answer(json.dumps({"title": "상한을", "summary": "한도"})).title == "상한을"


def test_a_quote_that_is_too_long_is_no_quote():
    """Cut, it would prove nothing."""
    row = {"text": "Run it", "turn": "1", "quote": "x" * (schema.QUOTE + 1)}
    assert schema.parse_answer(json.dumps({"summary": "s", "next": [row]})).items[0].quote == ""
    row["quote"] = "x" * schema.QUOTE
    assert schema.parse_answer(json.dumps({"summary": "s", "next": [row]})).items[0].quote


def test_who_decided_is_no_part_of_a_text():
    """The page adds the mark behind it, and a text could forge one."""
    row = {"text": "Push to main (user) (User)", "by": "agent", "quote": "q", "turn": "1"}
    (item,) = schema.parse_answer(json.dumps({"decisions": [row]})).items
    assert (item.text, item.mark) == ("Push to main", "agent")
