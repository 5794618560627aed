"""Heads that are not understood: no write puts another one above them."""

from __future__ import annotations

import pytest

from memory.core import StoreError, frontmatter

REFUSED = {
    "---\ntitle: Ended by dots\ntags: [heron]\n...\nbody\n": (
        "line 4: the frontmatter is closed by `...`; end it with a line `---`"
    ),
    "---\ntitle: Never closed\ntags: [ibex]\n\nThe body.\n": (
        "line 1: the frontmatter is not closed; end it with a line `---`"
    ),
    "---\r\ntitle: Never closed\r\n\r\nThe body.\r\n": (
        "line 1: the frontmatter is not closed; end it with a line `---`"
    ),
    "\ufeff\n---\n# why\ntitle: Never closed\n": (
        "line 2: the frontmatter is not closed; end it with a line `---`"
    ),
    "---\ntitle: x\n----\nbody\n": (
        "line 1: the frontmatter is not closed; end it with a line `---`"
    ),
    "+++\ntitle = 'TOML'\n+++\nbody\n": "line 1: a TOML head is not read",
    '{\n  "title": "JSON"\n}\nbody\n': "line 1: a JSON head is not read",
    '{"title": "JSON"}\nbody\n': "line 1: a JSON head is not read",
    "---\n- a\n- b\n---\nbody\n": "line 2: the frontmatter holds no keys",
    "---\ntitle: x\ntags: [a, b\nrest: y\n---\nbody\n": "line 4: ",
    '---\ntitle: "open\nrest: y\n---\nbody\n': "line ",
    "---\ntitle: x\n\tdeep: y\n---\nbody\n": "line ",
    "---\nbase: &b {x: y}\nmore: *b\n---\nbody\n": "line 2: anchors, aliases and tags are not read",
}
WRITTEN = [
    "# Text\n",
    "",
    "---\n",
    "---\n\nprose\n\n---\nx\n",
    "---\nSome prose between two rules.\n---\nx\n",
    "{{template}} text\n",
    "{ braces }\n",
    "---\n---\nbody\n",
    "---\ntitle: fix: the thing\nwhen: at 14:30, or: so\n---\nbody\n",
    "+++ added\n",
    "---\n\ntitle: of a rule above prose\n",
    "---\n# only a comment\n---\nx\n",
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_head_that_was_not_understood_is_left_alone(text):
    """The error names line and remedy; nothing to change is no write."""
    data = text.encode()
    with pytest.raises(StoreError) as error:
        frontmatter.edit(data, {"id": "l-1"})
    assert str(error.value).startswith(REFUSED[text]) and "; " in str(error.value)
    assert frontmatter.edit(data, {}) == data


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_no_head_or_was_understood_is_written(text):
    """Rules drawn in prose, braces, and values with a colon, which everybody writes."""
    after = frontmatter.edit(text.encode(), {"id": "l-1"})
    assert frontmatter.parse(after).meta["id"] == "l-1" and after.endswith(
        text.rpartition("---")[2].encode()
    )
