"""A checkpoint's page is taken apart by its headings, whoever wrote it."""

from __future__ import annotations

from memory.capture.checkpointoutline import parse_outline, split_sections
from memory.core import records

PAGE = """---
kind: checkpoint
files: [a.go]
---
## Outcome

- The key is fixed.

## Next steps

- next: move the retries
- [x] done already

## Open

- `make lint` failed at the end: a.go:3

## Turns

- 10:05 fix the key → fixed

## Done

- commit 1a2b3c4: Fix the key
- edited `a.go`
"""


def test_each_line_stands_under_its_section():
    found = parse_outline(records.from_bytes("p/checkpoints/x.md", PAGE.encode(), 0.0))
    assert found.outcome == ("The key is fixed.",) and found.next == ("move the retries",)
    assert found.open == ("`make lint` failed at the end: a.go:3",) and found.request == (
        "fix the key",
    )
    assert found.commits == ("1a2b3c4: Fix the key",) and found.files == ("a.go",)


def test_a_text_without_headings_says_its_first_sentences():
    text = "One thing. Another thing. A third.\n\n```\n## no heading\n```\n"
    found = parse_outline(records.from_bytes("p/checkpoints/x.md", text.encode(), 0.0))
    assert found.said == ("One thing.", "Another thing.") and found.outcome == ()


def test_a_page_is_taken_apart_by_its_headings():
    """Ticked steps, code, and marks without a text are left out."""
    body = (
        "Before.\n\n## Next Steps:\n\n- one\n2. [ ] two\n- [x] three\n- \n\n```\n## Code\n- x\n"
        "```\n\n### Open\nprose\n"
    )
    assert split_sections(body) == {
        "": ["Before."],
        "next steps": ["one", "two"],
        "open": ["prose"],
    }
    assert split_sections("") == {"": []}
