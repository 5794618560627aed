"""What stands in <private> parts, looked for in other texts."""

from __future__ import annotations

import re
import time

import pytest

from memory.store import privatewords


def masked(text, words):
    return privatewords.make_mask(words, "k")(text)


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
    made = privatewords.make_mask(words, "k")(said)
    for word in words:
        made = made.replace(privatewords.make_mask([word], "k")(word), "*")
    assert made == left


@pytest.mark.parametrize(
    ("parts", "said", "left"),
    [
        (["Nordstern", "Nordstern Bau"], "nordstern-bau and NordsternClient", "* and *Client"),
        (["roter hahn", "Hahn im Korb"], "der Roter Hahn im Korb!", "der *!"),
        (["x" * n for n in range(6, 99)], "an " + "x" * 80, "an *"),
        (["Redacted", "Eisvogel"], "eisvogel", "*"),
    ],
)
def test_of_several_names_the_longest_goes_and_none_leaves_a_rest(parts, said, left):
    """Names that begin alike, that overlap, and one that is a word of the markers."""
    words = privatewords.extract_words(["<private>%s</private>" % part for part in parts])
    assert re.sub(r"\[redacted:private#\w{4}\]", "*", masked(said, words)) == left


@pytest.mark.alone
@pytest.mark.parametrize("name", ["kestrel%d", "host %d kestrelname", "%x"])
def test_the_cost_of_private_names_grows_with_their_number(name):
    """Not with their square: each of them in its own part, said again in its own text."""

    def cost(count):
        names = [name % (number + 70_000) for number in range(count)]
        words = privatewords.extract_words(["<private>%s</private>" % one for one in names])
        began = time.process_time()
        said = masked("\n".join("I used %s here." % one for one in names), words)
        assert said.count("[redacted:private#") == count
        return time.process_time() - began

    assert cost(8000) < 16 * max(cost(1000), 0.01)
