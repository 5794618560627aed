"""How a digest is written down."""

from __future__ import annotations

import dataclasses

from memory.distill import digests


def test_the_rendering_ends_with_the_reduction_and_the_notes():
    """Bullets, what was saved, what was skipped."""
    bullet = digests.Bullet("One\ntwo [a]", ("a",))
    digest = digests.Digest((bullet,), "extract", 1234, 180, False, ("claude skipped: \x1b[31mx",))
    assert digests.render(digest) == (
        "- One\n  two [a]\n\nrecords 1,234 tokens, answer 180 tokens (−85 %) · extract\n"
        "note: claude skipped: x\n"
    )
    kept = dataclasses.replace(digest, tokens_in=100, tokens_out=120, cached=True)
    assert (
        digests.format_reduction(kept)
        == "records 100 tokens, answer 120 tokens (+20 %) · extract · cached"
    )
    assert (
        digests.format_reduction(digests.Digest((), "extract", 0, 0))
        == "no record was found to answer from"
    )
