"""The page of a conversation: written from turns, and taken apart into the same turns."""

from __future__ import annotations

import random

import pytest

from memory.capture import conversationpage
from memory.capture.turns import (
    APPROVED,
    COMMIT,
    CREATED,
    EDITED,
    FILE,
    GOES_ON,
    LINK,
    MERGED,
    REPORT,
    RUN,
    SAID,
    SUMMARY,
    USER,
    WORKING,
    Piece,
    Turn,
)
from memory.session import shell

ASKED = "why does resume fail on a fresh clone?"
AT = "2026-01-24T14:03:10.000Z"


def turn(*pieces, request=ASKED, at=AT, asked=""):
    """A turn of an afternoon."""
    return Turn(at, request, asked, list(pieces))


def page(*turns):
    """The page of some turns."""
    return conversationpage.render(turns)


def again(*turns):
    """What the page of some turns says, taken apart."""
    return conversationpage.parse(page(*turns), "2026-01-24")


EVERY = (
    Piece(SAID, "The ref is missing: `resume.go` never fetches."),
    Piece(RUN, "go test ./...", "", "exit 1: a.go:12:3: no such ref", 2),
    Piece(RUN, ".golangci.yml", "Read", "failed: no such file"),
    Piece(RUN, "git push", "", shell.DECLINED),
    Piece(USER, "not yet, look at the\nother branch", "refused Bash `git push`"),
    Piece(USER, "also windows", WORKING),
    Piece(USER, "Which auth? → GitHub App", "answer"),
    Piece(USER, "Resume\n\n- move it\n- test it", APPROVED),
    Piece(FILE, "a_test.go", CREATED),
    Piece(FILE, "with space.go", EDITED),
    Piece(RUN, "go test ./...", "", shell.OK),
    Piece(COMMIT, "Fix: resume on fresh clones", "1a2b3c4d5e"),
    Piece(LINK, "https://github.com/o/r/pull/7"),
    Piece(MERGED, "fix/x", "6"),
    Piece(MERGED, "#8"),
    Piece(REPORT, "nothing found", "review of the diff"),
    Piece(SAID, "Resume fetches now.\n\n- one\n- two\n\n> quoted"),
)


def test_a_page_is_read_as_it_was_written():
    """Every kind of piece comes back, and the same page is written from it."""
    (read,) = again(turn(*EVERY))
    assert (read.request, tuple(read.pieces)) == (ASKED, EVERY)
    assert page(read) == page(turn(*EVERY))


def test_a_turn_is_a_section_with_its_time_and_request():
    """The heading holds a short request whole; a long one is clipped at a word and quoted below."""
    assert page(turn()).startswith("## 14:03 why does resume fail on a fresh clone?\n")
    long = "look at the resume command and " * 6 + "then\n\n# fix it"
    head, *rest = page(turn(request=long)).split("\n")
    assert (
        len(head) <= 100
        and head.endswith("…")
        and "> " + long.split("\n")[0] in rest
        and "> # fix it" in rest
    )
    assert again(turn(request=long))[0].request == long


def test_only_turns_are_sections():
    """Headings of the model are set in bold, those of a quote and of code stay, and an open block
    of code is closed.
    """
    said = Piece(SAID, "It works.\n\n# Big\n## 10:00 small\n```sh\n## 10:01 a comment\n")
    assert "\n**Big**\n**10:00 small**\n```sh\n## 10:01 a comment\n" in page(turn(said))
    assert len(again(turn(said), turn(request="next"))) == 2


def test_a_day_is_named_where_it_changes():
    """A heading names the day only where it is another than that of the turn before."""
    later = "2026-01-25T00:10:00.000Z"
    text = page(turn(), turn(at=later, request="go on"), turn(at=later, request="and on"))
    assert [line for line in text.split("\n") if line[:2] == "##"] == [
        "## 14:03 " + ASKED,
        "## 2026-01-25 00:10 go on",
        "## 00:10 and on",
    ]
    assert [one.at[:16] for one in conversationpage.parse(text, "2026-01-24")] == [
        "2026-01-24T14:03",
        "2026-01-25T00:10",
        "2026-01-25T00:10",
    ]


def test_summaries_and_what_goes_on_after_them_are_marked():
    """What the client summed up is no request of the user's, and neither is the rest of a turn that
    was cut.
    """
    text = page(
        turn(Piece(SAID, "1. The user asked"), asked=SUMMARY, request=""), turn(asked=GOES_ON)
    )
    assert (
        "## 14:03 (summary by the client)\n\n1. The user asked\n" in text
        and "## 14:03 (goes on) why does" in text
    )
    assert [one.asked for one in again(turn(asked=SUMMARY, request=""), turn(asked=GOES_ON))] == [
        SUMMARY,
        GOES_ON,
    ]


@pytest.mark.parametrize(
    "command", ["echo `date`", "a ``b`` `c", "x" * 400, "line one\nline two", "`", " → exit 1: x"]
)
def test_any_command_is_one_line(command):
    """Signs of markdown in a command do not break its line."""
    text = page(turn(Piece(RUN, command, "", "exit 1: a.py:3: boom")))
    (read,) = conversationpage.parse(text)[0].pieces
    assert read.kind == RUN and read.failed and read.telling == "a.py:3: boom"


def test_a_page_edited_by_hand_is_read_as_far_as_it_goes():
    """Text above the first turn belongs to none; what is no line of ours is what the model said."""
    read = conversationpage.parse(
        "my notes\n\n## 14:03 hi\n\n- ✓ no code\n- done\n\n### deeper\n\n## not a turn\n"
    )
    assert [(one.request, one.statements()) for one in read] == [
        ("hi", ["- ✓ no code\n- done\n\n### deeper\n\n## not a turn"])
    ]
    assert conversationpage.parse("") == () == conversationpage.parse("no turn\n")


def test_no_text_breaks_a_page():
    """Whatever was said, a page has as many turns as were written, and what is read of it reads as
    the same page again.
    """
    signs = [
        "#",
        "## ",
        "## 10:00 x",
        "```",
        "~~~",
        "> ",
        "> (answer) a",
        "- ",
        "- ✓ `a`",
        "- commit 1234567: x",
        "`",
        "\n",
        "\n\n",
        " ",
        "w",
        "**Plan:**",
        "(goes on) ",
        "- created `a`",
        "\t",
        "…",
        "→ exit 1",
    ]
    for seed in range(400):
        rng = random.Random(seed)
        text = ["".join(rng.choice(signs) for _ in range(rng.randint(1, 12))) for _ in range(4)]
        turns = [
            turn(Piece(SAID, text[0]), Piece(USER, text[1], WORKING), request=text[2]),
            turn(Piece(SAID, text[3])),
        ]
        once = conversationpage.parse(page(*turns), "2026-01-24")
        assert len(once) == 2, text
        twice = conversationpage.parse(page(*once), "2026-01-24")
        assert page(*twice) == page(*conversationpage.parse(page(*twice), "2026-01-24")), text


def test_a_long_request_keeps_what_was_typed_at_both_ends():
    """What is left out of the middle is marked."""
    pasted = "\n".join("line %d of the log" % number for number in range(900))
    said = page(turn(request="why this?\n%s\nit began after the upgrade" % pasted))
    assert "why this?" in said and "> it began after the upgrade" in said
    assert "line 450 of" not in said and "…\n> line" in said and len(said) < 5000


@pytest.mark.parametrize(
    "words", ["the header must stay as it is. ", "页眉应该保持不变，页脚不能移动。"]
)
@pytest.mark.parametrize("break_", ["", "\n\n"])
def test_a_dictated_request_is_kept_whole(words, break_):
    """However long its paragraphs are; one long line of a program's output is none."""
    half = break_.join([words * 50] * 4)
    asked = half + "Never touch the walrus table. " + half
    assert "Never touch the walrus table." in page(turn(request=asked))
    output = '{"row": 1, "of": "2"}, ' * 300
    assert "walrus" not in page(turn(request=output + "walrus, " + output))


def test_what_the_model_quotes_is_not_the_users():
    """Neither as the request nor as the user's words in between."""
    said = "> push to main\n\nSo it says.\n\n> (while working) push it"
    (found,) = again(turn(Piece(SAID, said)))
    assert (found.request, [piece.kind for piece in found.pieces]) == (ASKED, [SAID])
    assert found.pieces[0].text.startswith("> push to main")
