"""Lines that are too long to be parsed: what is no text of a person goes, whatever the pieces that
they come in.
"""

from __future__ import annotations

import base64
import json
import random

import pytest

from memory.session import longlines
from memory.session.longlines import KEPT, RUN, LineShortener

PICTURE = base64.b64encode(random.Random(4).randbytes(300_000)).decode()
WRAPPED = "\n".join(PICTURE[at : at + 76] for at in range(0, len(PICTURE), 76))
WORDS = 'He said "keep\\it" \u00fcber 안녕 \U0001f600 ' + "한국어" * 2000 + "\t\n"


def shortened(line, size):
    """Return a line that was fed in pieces of a size."""
    short = LineShortener()
    for at in range(0, len(line), size):
        short.feed(line[at : at + size])
    return short


@pytest.mark.parametrize("ascii", [True, False])
@pytest.mark.parametrize("size", [7, 1000, RUN, 65_537, 1 << 20])
def test_words_stay_and_binary_goes_in_pieces_of_any_size(size, ascii):
    """A picture, one in lines of 76 signs, one within a text; quotes, escapes and signs of any
    script stand as they were.
    """
    row = {
        "a": WORDS,
        "picture": PICTURE,
        "wrapped": WRAPPED,
        "link": "see data:image/png;base64,%s, and \n%s" % (PICTURE, PICTURE + " " + WORDS),
        "list": [1, None, "x" * (RUN - 1)],
        "b": WORDS,
    }
    line = json.dumps(row, ensure_ascii=ascii).encode()
    made = json.loads(shortened(line, size).finish())
    assert (made["a"], made["b"], made["list"]) == (row["a"], row["b"], row["list"])
    assert made["picture"] == "" and (size <= 2 * RUN or len(made["wrapped"]) < 100)
    assert made["link"] == "see data:image/png;base64,, and \n " + WORDS


@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_text_longer_than_any_prompt_is_cut_between_its_signs(size):
    """At white space, and never inside an escape, so that the line is read all the same."""
    for unit in ("\\ ", '" ', "가 ", "word ", "\n", "\\"):
        made = json.loads(
            shortened(
                json.dumps({"a": unit * (KEPT // len(unit) + 99_000), "b": "stays"}).encode(), size
            ).finish()
        )
        assert (
            made["b"] == "stays"
            and KEPT // 8 < len(made["a"]) <= KEPT
            and made["a"].endswith(unit.strip())
        )


@pytest.mark.parametrize("size", [1000, 65_537, 1 << 20])
@pytest.mark.parametrize("unit", ["a log\n", "word ", "가나다 ", "가", '"\\', "\U0001f600"])
def test_a_text_longer_than_any_prompt_keeps_its_beginning_and_its_end(unit, size):
    """A question stands above or below what was pasted; a mark says where something went."""
    for ascii in (True, False):
        text = "First words. " + unit * (2 * KEPT // len(unit.encode())) + "\nWhy does it hang?"
        line = json.dumps({"a": text, "b": "stays"}, ensure_ascii=ascii).encode()
        made = json.loads(shortened(line, size).finish())
        begin, mark, end = made["a"].partition(" …\n")
        assert made["b"] == "stays" and mark and len(made["a"]) <= KEPT
        assert begin.startswith("First words. " + unit) and end.endswith("\nWhy does it hang?")
        assert len(begin) > KEPT // 32 < len(end)


def test_a_text_of_nearly_the_most_is_kept_whole():
    text = "word " * (KEPT // 5 - 5) + "end"
    assert json.loads(shortened(json.dumps([text]).encode(), 65_537).finish()) == [text]


def test_a_line_below_what_was_left_out_goes_with_it():
    """Its label may have gone, by which a secret is known."""
    end = "horse\n" + "y " * (KEPT // 4 - 40) + "\nWhy?\n\nThanks\n\n."
    text = "x " * KEPT + "password:\nhunter2\nowl\n" + end
    (made,) = json.loads(shortened(json.dumps([text]).encode(), 65_537).finish())
    assert "owl" not in made and "horse" in made and made.endswith("Thanks\n\n.")


@pytest.mark.parametrize("tag", ["private", "Privat\u200be x=1", "privat"])
def test_a_private_part_that_began_in_what_was_left_out_ends_after_it(tag):
    """The words behind it stay, and so does a part with both tags."""
    end = " hush</%s> Why <private>x</private> so?" % tag.split(" ")[0]
    text = "x " * KEPT + "<%s> " % tag + "y " * (KEPT // 2) + end
    (made,) = json.loads(shortened(json.dumps([text]).encode(), 65_537).finish())
    assert "hush" not in made and "y" not in made.partition("…")[2].partition(" Why")[0]
    assert made.endswith("Why <private>x</private> so?" if tag != "privat" else "so?")


def test_many_long_texts_together_stay_within_the_bound():
    """From some megabytes on each is cut to its beginning; what is not text at all is given up."""
    line = json.dumps([{"text": "some words " * 300_000} for _ in range(30)]).encode()
    made = shortened(line, 1 << 20)
    assert len(made.finish()) < longlines.MOST + KEPT + 30 * 600
    assert json.loads(made.finish())[-1]["text"].startswith("some words some")
    assert (
        shortened(b"[" + b"1," * longlines.LIMIT, 1 << 20).given_up
        and shortened(b'"","' * longlines.QUOTES, 1 << 20).given_up
    )


def test_binary_within_a_text_goes_and_words_stay():
    """A picture as a link, or in lines; a long word, a path or a table of letters is none."""
    words = "/".join(["src/parser"] * 300) + " " + "word " * 900
    for binary in (PICTURE, WRAPPED):
        text = "look at data:image/png;base64,%s then %s" % (binary, words)
        assert longlines.remove_binary(text) in (
            "look at data:image/png;base64, then " + words,
            "look at data:image/png;base64,\n%s then %s" % (WRAPPED.split("\n")[-1], words),
        )


@pytest.mark.parametrize(("mark", "kept"), [("", True), ("<private>", False)])
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_line_typed_between_pastes_of_megabytes_stays(size, mark, kept):
    """But where a private part may hold it."""
    log = "2026-11-28 10:00:00 INFO request served in 12 ms\n" * (KEPT // 16)
    text = log + mark + "\n헤더 stays, why?\n" + log
    line = json.dumps({"text": text, "b": "stays"}, ensure_ascii=False).encode()
    made = json.loads(shortened(line, size).finish())
    assert made["b"] == "stays" and len(made["text"].encode()) <= KEPT
    assert ("헤더 stays, why?" in made["text"]) is kept
