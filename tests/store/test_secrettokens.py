"""The table of tokens: one expression finds every prefix, the longest that fits, and each row takes
what it should.
"""

from __future__ import annotations

import pytest
from harness.leaks import ALNUM, HEX, made

from memory.store import bytoken, secrettokens
from memory.store.secretshapes import rx

PREFIXES = [prefix for head, _ in secrettokens.TOKENS for prefix in head.split()[1:]]


def test_one_expression_finds_every_prefix():
    """Each prefix of the table is found as itself or within a longer one that begins with it."""
    for prefix in PREFIXES:
        match = rx(bytoken._prefix_expression()).match(prefix + "~")
        assert match and match[0] == prefix, prefix


def test_a_longer_prefix_gives_way_to_a_shorter_one():
    """Where the body after the longest one does not fit, the next one that fits takes it."""
    rows = [row.prefix for row in bytoken._list_rows("sk-ant-")]
    assert rows == ["sk-ant-", "sk-"]


@pytest.mark.parametrize(
    ("token", "taken"),
    [
        ("cf" + "at_" + made("cf", ALNUM, 40) + made("sum", HEX, 8), True),
        ("cf" + "at_" + made("cf", ALNUM, 12), False),
        ("s" + "k_" + made("el", HEX, 48), True),
        ("s" + "k_" + made("el", HEX, 32), False),
        ("f" + "c-" + made("fc", HEX, 32), True),
        ("f" + "c-" + made("fc", HEX, 20), False),
        ("A" + "Q.Ab8RN6" + made("aq", ALNUM, 44), True),
        ("A" + "Q.Abstract", False),
        ("p" + "k_4421_" + made("cu", "ABCDEFGH23456789", 32), True),
        ("p" + "k_4421_" + "ABCDE", False),
    ],
)
def test_a_row_takes_tokens_of_its_length_alone(token, taken):
    """A body that is too short is no token of that vendor."""
    text = "see %s here" % token
    runs = [(m.start(), m[0]) for m in rx(r"[\w.\-]{10,}").finditer(text)]
    assert bool(list(bytoken.find_tokens(text, runs, lambda: None))) == taken
