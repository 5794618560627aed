"""Windows cut of a text, and what the best of them tell of a question."""

from __future__ import annotations

import pytest

from memory.hook import windows
from memory.hook.windows import LIMIT, Passage

WORDS = "The uploader retries a part that failed and writes its number down before it goes on. "


def test_a_text_is_cut_between_its_paragraphs_and_no_window_is_longer():
    """All of it is in one window or another, in its order."""
    text = "\n\n".join(WORDS * 3 for _ in range(9))
    found = windows.split_windows(text)
    assert len(found) > 2
    assert all(len(one) <= LIMIT for one in found)
    assert " ".join("\n".join(found).split()) == " ".join(text.split())


def test_a_list_stays_with_the_line_that_leads_it_in():
    """Though the window before it has room for that line."""
    text = (
        WORDS * 8
        + "\n\nThree things were wrong:\n\n"
        + "\n".join("- %s" % (WORDS * 2) for _ in range(3))
    )
    found = windows.split_windows(text)
    (together,) = [one for one in found if "Three things" in one]
    assert together.startswith("Three things were wrong:\n\n- The uploader")


def test_a_code_block_and_a_table_are_whole():
    """Even where one is longer than a window."""
    code = "```go\n" + "\n".join("call(%d)" % i for i in range(150)) + "\n```"
    table = "| a | b |\n| --- | --- |\n" + "\n".join(
        "| row %d | %s |" % (i, WORDS) for i in range(12)
    )
    found = windows.split_windows(WORDS + "\n\n" + code + "\n\n" + WORDS + "\n\n" + table)
    assert any(code in one for one in found)
    assert any(table in one for one in found)


def test_a_list_longer_than_a_window_is_cut_between_its_items():
    """Each item is whole."""
    items = ["- item %d: %s" % (i, WORDS.strip()) for i in range(40)]
    found = windows.split_windows("The steps are:\n\n" + "\n".join(items))
    assert all(len(one) <= LIMIT for one in found)
    assert "\n".join(found) == "The steps are:\n\n" + "\n".join(items)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("why does the upload time out", "The upload times out because nginx waits 60 s."),
        ("업로드가 왜 실패했나", "업로드는 프록시 시간 제한 때문에 실패했다."),
        ("アップロードはなぜ失敗したか", "アップロードはプロキシの設定のため失敗した。"),
        ("上传为什么失败", "上传失败是因为代理设置。"),
        ("Warum scheitert der Upload", "Der Upload scheitert am Timeout des Proxys."),
    ],
)
def test_the_window_that_holds_most_of_a_question_is_the_best(question, text):
    """In any language; and it tells."""
    other = "We renamed the table of users and moved its index.\n\n改名した。\n\n이름을 바꿨다."
    found = windows.find_answer(question, [Passage("a", "chore", other), Passage("b", "", text)])
    assert found.windows[0].text == text
    assert found.is_answered


def test_its_turn_and_session_support_a_window():
    """Of two windows alike, that one is better whose turn or session speaks of the question."""
    alike = "The limit is 40 now."
    asked = windows.find_answer(
        "limit of uploads", [Passage("a", "next", alike), Passage("b", "limit of uploads?", alike)]
    )
    assert asked.windows[0].passage == 1
    session = windows.find_answer(
        "limit of uploads",
        [
            Passage("a", "next", alike),
            Passage("b", "", alike),
            Passage("b", "", "Uploads were slow."),
        ],
    )
    assert [window.passage for window in session.windows] == [2, 1, 0]


def test_the_records_do_not_tell_where_they_hold_little_of_a_question():
    """One common word of it is too little, and a question without a word of sense is no measure."""
    passages = [
        Passage("a", "", "We fixed the database of users and its migration."),
        Passage("b", "", WORDS),
    ]
    assert not windows.find_answer(
        "which terraform module creates the database subnet", passages
    ).is_answered
    assert windows.find_answer(
        "how was the migration of the database of users fixed", passages
    ).is_answered
    assert windows.find_answer("", passages).is_answered
    assert not windows.find_answer("terraform", []).is_answered


def test_the_order_is_the_same_whatever_is_equal():
    """By score, then place."""
    passages = [Passage("a", "", WORDS), Passage("b", "", WORDS)]
    assert [w.passage for w in windows.find_answer("uploader", passages).windows] == [0, 1]
