"""What stands in <private> parts, looked for in other texts."""

from __future__ import annotations

import pytest

from memory.store import privatewords


@pytest.mark.parametrize(
    ("part", "said", "left"),
    [
        ("Projekt Eisvogel", "add projekt-eisvogel", "add *"),
        ("Projekt Eisvogel", "feature/eisvogel and EisvogelClient", "feature/* and *Client"),
        ("한빛전자", "한빛전자의 테스트", "*의 테스트"),
        ("Acme", "Acme and acmes", "* and acmes"),
        ("we lose 40 percent of the deal\nif it slips", "If it slips, wait", "*, wait"),
        ("we lose Them all of these", "lose Them again", "lose Them again"),
        ("SAP", "SAP", "SAP"),
    ],
)
def test_a_private_name_is_taken_out_in_whatever_form(part, said, left):
    """A short part by its names, a long one by its lines; three letters say nothing."""
    words = privatewords.extract_words(["for <private>%s</private>" % part])
    made = privatewords.mask_words(said, words, "k")
    for word in words:
        made = made.replace(privatewords.mask_words(word, [word], "k"), "*")
    assert made == left
