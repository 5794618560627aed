"""A body taken apart into what can be quoted."""

from __future__ import annotations

import pytest
from harness.sources import source

from memory.distill import extract, units


def test_a_block_larger_than_half_the_budget_becomes_pieces():
    """Each piece is fenced, or stands under the table's head."""
    rows = "\n".join("| row %d of the table | value %d |" % (i, i * 111) for i in range(80))
    pieces = units.units(0, source("| a | b |\n| --- | --- |\n" + rows), 300)
    assert len(pieces) > 3
    assert all(p.text.startswith("| a | b |\n| --- | --- |\n") and len(p.text.encode()) <= 300 for p in pieces)
    log = units.units(0, source("```\n" + "error line of the log\n" * 50 + "```"), 200)
    assert len(log) > 3
    assert all(p.text.startswith("```\n") and p.text.endswith("\n```") for p in log)


@pytest.mark.parametrize(("part", "expected"), [
    ("One thing failed. Another did not.", ["One thing failed.", "Another did not."]),
    ("It uses e.g. Redis here. Nothing more.", ["It uses e.g. Redis here.", "Nothing more."]),
    ("Version v2.1.0 of src/a.py works. Ship it now.", ["Version v2.1.0 of src/a.py works.", "Ship it now."]),
    ("Am 3. März wurde der Fehler behoben. Grund war ein Timeout.",
     ["Am 3. März wurde der Fehler behoben.", "Grund war ein Timeout."]),
    ("버튼을 고쳤다. 원인은 오류였다.그리고 테스트를 추가했다.", ["버튼을 고쳤다.", "원인은 오류였다.", "그리고 테스트를 추가했다."]),
    ("設定を修正した。原因は誤記だった！次は何をするか？", ["設定を修正した。", "原因は誤記だった！", "次は何をするか？"]),
    ("超时已经修复。原因是代理设置。", ["超时已经修复。", "原因是代理设置。"]),
    ("Run `a. B c` first of all. Then rest.", ["Run `a. B c` first of all.", "Then rest."]),
])
def test_sentences_end_where_each_language_ends_them(part, expected):
    """English, German, Korean, Japanese, Chinese, and what only looks like an end."""
    assert units.sentences(part) == expected


def test_a_sentence_longer_than_the_budget_is_cut_at_a_clause():
    """Only then, and the cut is marked."""
    long = "The worker failed with 503, " + ", ".join("then clause number %d came about" % i for i in range(60)) + "."
    digest = extract.extract("worker 503", [source(long)], 60)
    quoted = digest.bullets[0].text.rpartition(" [")[0]
    assert quoted.endswith("came about…")
    assert quoted[:-1] in long
    whole = extract.extract("worker 503", [source(long)], 1000)
    assert long in whole.bullets[0].text


def test_a_body_beyond_the_limit_is_read_in_part_and_the_note_says_so():
    """The rest is not silently lost."""
    digest = extract.extract("worker", [source("The worker failed with 503 in src/a.py.\n\n" * 6000)])
    assert "only its first 200000 characters" in digest.notes[0]
