"""A text cut into lines that can be quoted."""

from __future__ import annotations

import pytest

from memory.recall import sentences
from memory.recall.sentences import (
    CODE,
    ITEM,
    LEAD,
    PROSE,
    RUN,
    SAID,
    TABLE,
    extract_statements,
    parse_lines,
)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("One thing failed. Another did not.", ["One thing failed.", "Another did not."]),
        ("It uses e.g. Redis here. Nothing more.", ["It uses e.g. Redis here.", "Nothing more."]),
        (
            "Version v2.1.0 of src/a.py works. Ship it now.",
            ["Version v2.1.0 of src/a.py works.", "Ship it now."],
        ),
        (
            "Am 3. März wurde der Fehler behoben. Grund war ein Timeout.",
            ["Am 3. März wurde der Fehler behoben.", "Grund war ein Timeout."],
        ),
        (
            "버튼을 고쳤다. 원인은 오류였다.그리고 테스트를 추가했다.",
            ["버튼을 고쳤다.", "원인은 오류였다.", "그리고 테스트를 추가했다."],
        ),
        (
            "設定を修正した。原因は誤記だった！次は何をするか？",
            ["設定を修正した。", "原因は誤記だった！", "次は何をするか？"],
        ),
        ("超时已经修复。原因是代理设置。", ["超时已经修复。", "原因是代理设置。"]),
        ("Run `a. B c` first of all. Then rest.", ["Run `a. B c` first of all.", "Then rest."]),
    ],
)
def test_sentences_end_where_each_language_ends_them(part, expected):
    """English, German, Korean, Japanese, Chinese, and what only looks like an end."""
    assert sentences.split_sentences(part) == expected


def test_a_list_block_or_table_knows_the_line_that_leads_it_in():
    """A heading, a line in bold type or with a colon at its end; of a nested item its item."""
    text = (
        "Two causes were found:\n\n- the queue\n  - its size\n- the cache\n\nThat is all of it.\n\n"
        "## The run\n\n```sh\nmake test\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    )
    found = parse_lines(text)
    assert [(line.kind, line.lead) for line in found] == [
        (LEAD, -1),
        (ITEM, 0),
        (ITEM, 1),
        (ITEM, 0),
        (PROSE, -1),
        (LEAD, -1),
        (CODE, 5),
        (TABLE, -1),
    ]
    assert found[0].block == found[1].block == found[3].block != found[4].block
    assert found[6].text == "```sh\nmake test\n```"
    assert found[7].text == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_what_tools_ran_and_what_the_user_said_are_of_kinds_of_their_own():
    """The marks are those of a conversation's page."""
    text = "- ✓ `go test`\n- edited `a.go`\n- commit 1a2b3c4d5e: Fix\n\n> (answer) Which? → one\n"
    assert [line.kind for line in parse_lines(text)] == [RUN, RUN, RUN, SAID]


def test_wrapped_rows_are_one_sentence_and_rows_of_a_log_are_not():
    """A short row, a row of a log and a field stand alone; wide characters get no space."""
    wrapped = (
        "The worker failed with 503 because the proxy closed the connection\nafter ten seconds."
    )
    assert [line.text for line in parse_lines(wrapped)] == [wrapped.replace("\n", " ")]
    log = "\n".join(
        "2026-11-20 14:02:%02d ERROR worker 1411 gave up on its job after ten tries" % i
        for i in range(3)
    )
    assert [line.text for line in parse_lines(log)] == log.split("\n")
    wide = "設定ファイルの読み込みに失敗したため再試行の回数を三回から五\n回に増やした。"
    assert [line.text for line in parse_lines(wide)] == [wide.replace("\n", "")]
    assert (
        len(
            parse_lines(
                "Cause: the proxy closed the connection after ten seconds of silence\nFix: wait"
            )
        )
        == 2
    )


def test_a_text_is_cut_at_a_clause_a_space_or_a_wide_character():
    """Never inside a character, and not at all where nothing of it fits."""
    assert (
        sentences.clip_at_clause("The worker failed with 503, then it stopped for good", 40)
        == "The worker failed with 503…"
    )
    assert sentences.clip_at_clause("버튼을고쳤다원인은오류였다", 15) == "버튼을고…"
    assert sentences.clip_at_clause("unbroken" * 9, 20) == ""


def test_code_and_tables_are_left_out_with_the_line_that_announces_them():
    """Sentences and items stay; so does a line with a colon that announces nothing."""
    body = (
        "The first of these. The second of these.\n\nThe values:\n\n| a | b |\n| --- | --- |\n"
        "| 1 | 2 |\n\n- an item\n- another:\n\n## Head\n\nRun it:\n```\nmake\n```\nIt ends:\n"
    )
    assert extract_statements(body) == [
        "The first of these.",
        "The second of these.",
        "an item",
        "another:",
        "It ends:",
    ]


def test_lines_of_logs_are_left_out():
    assert extract_statements("It broke.\n\n2026-11-21 14:30:52 ERROR no route\n") == ["It broke."]
