"""HTML of what is shown: markdown that anybody may have written."""

from __future__ import annotations

import re

import pytest

from memory.doors.page import sheets


def html(text: str) -> str:
    return str(sheets.markdown_to_html(text, lambda id: "/x/record/" + id))


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![a](https://evil.example/a.png)",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](data:text/html,<script>alert(1)</script>)",
        "<a href='vbscript:x'>a</a>",
        "<iframe src=//evil.example>",
        "<style>@import url(//evil.example)</style>",
        "[a](file:///etc/passwd)",
        "<svg/onload=alert(1)>",
        "[a]: javascript:alert(1)\n\n[a]",
        '```"><script>alert(1)</script>\nx\n```',
        "| a |\n| - |\n| <script>alert(1)</script> |",
        "<base href=//evil.example>",
        "[[<script>alert(1)</script>]]",
        "[[a|<img src=x onerror=alert(1)>]]",
        "<form action=//evil.example><input></form>",
        "a\x00b<scr\x00ipt>alert(1)</scr\x00ipt>",
        '<math><mi//xlink:href="data:x,<script>alert(1)</script>">',
        '<http://evil.example/" onmouseover=x>',
    ],
)
def test_no_text_of_a_record_becomes_more_than_text(text):
    """No element but those of prose, no attribute but an address of the web; pictures are not
    fetched.
    """
    said = html(text)
    for name, attributes in re.findall(r"<(\w+)((?:\s+[\w-]+(?:=\"[^\"]*\")?)*)", said):
        assert name in sheets.TAGS, said
        for key, value in re.findall(r"([\w-]+)=\"([^\"]*)\"", attributes):
            assert key in ("href", "rel", "class", "title", "start", "align"), said
            assert key != "href" or re.match(r"(?:https?:|mailto:|/x/record/)", value), said


def test_markdown_reads_as_markdown():
    """Headings stand below that of the page, tables and code are kept, a link to a record leads to
    it.
    """
    said = html(
        "# One\n\n## Two\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n"
        "`code` and [[l-1|that one]], [[No such#part]], [web](https://example.org)"
    )
    assert (
        "<h2>One</h2>" in said
        and "<h3>Two</h3>" in said
        and "<td>2</td>" in said
        and "<code>code</code>" in said
    )
    assert (
        '<a href="/x/record/l-1" class="record"' in said
        and ">that one</a>" in said
        and ">No such</a>" in said
    )
    assert 'href="https://example.org" rel="noopener noreferrer"' in said


def test_a_text_without_end_is_cut_and_says_so():
    """A page of a huge record is a page."""
    assert "10 characters more are in the file" in html("z" * (sheets.MOST_MARKDOWN + 10))


def test_one_line_keeps_its_code_and_nothing_else():
    """It may stand inside a link."""
    template = sheets.make_environment().from_string("{{ text|inline }}")
    assert (
        template.render(text="run `a <b>` [x](https://e.org) <i>y</i>")
        == "run <code>a &lt;b&gt;</code> x &lt;i&gt;y&lt;/i&gt;"
    )


def test_days_and_ages_read_as_people_say_them():
    """Today and yesterday by name, a year only where it is another one."""
    say = (
        sheets.make_environment()
        .from_string("{{ day|dayname('2026-11-21') }}, {{ age|ago }}")
        .render
    )
    assert say(day="2026-11-21", age=7260) == "Today · Saturday, 21 November, 2 hours ago"
    assert say(day="2026-11-20", age=86400) == "Yesterday · Friday, 20 November, 1 day ago"
    assert say(day="2025-12-31", age=1) == "Wednesday, 31 December 2025, just now"
