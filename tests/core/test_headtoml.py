"""Heads of notes in TOML, as Hugo writes them."""

from __future__ import annotations

import time

import pytest

from memory.core import frontmatter, headtoml

HUGO = """+++
title = "Walrus \\"ingress\\" timeouts"
date = 2024-03-05T10:00:00+01:00
tags = [
  "ops",  # the team's
  'proxy',
]
weight = 3
[params]
title = "not this"
+++

Raise the proxy read timeout.
"""


def test_a_head_in_toml_is_read_to_its_first_table():
    """Strings, lists over several lines, dates and numbers; the text stays as it is."""
    page = frontmatter.parse(HUGO.encode())
    assert page.meta == {
        "title": 'Walrus "ingress" timeouts',
        "date": "2024-03-05T10:00:00+01:00",
        "tags": ["ops", "proxy"],
        "weight": "3",
    }
    assert page.body == "Raise the proxy read timeout.\n" and page.problems == []


@pytest.mark.parametrize("text", ["+++\nno = end\n", "+++ more\na = 1\n+++\n", "a\n+++\nb\n+++\n"])
def test_what_is_no_head_in_toml_is_text(text):
    """Not closed, not alone on its line, not at the start."""
    page = frontmatter.parse(text.encode())
    assert page.meta == {} and page.body == text


@pytest.mark.parametrize("text", ["", "=", "a = [", "a = '''x", 'a = "', "[t]", "a = {b = 1}", "é"])
def test_no_head_in_toml_is_an_error(text):
    """Whatever stands in it."""
    assert isinstance(headtoml.parse(text), dict)


def test_a_long_head_costs_no_time():
    """A list of thousands of lines, quotes that do not close."""
    started = time.perf_counter()
    headtoml.parse("a = [\n" + '"x",\n' * 10000)
    headtoml.parse("a = [" + "1," * 30000)
    headtoml.parse('a = "' * 16000)
    assert time.perf_counter() - started < 2
