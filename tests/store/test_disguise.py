"""Secrets behind escapes, percent signs, entities, Base64 and cut lines; and the places that a
decoded text leads back to.
"""

from __future__ import annotations

import base64

import pytest
from harness.leaks import ALNUM, made
from harness.session import secret_of

from memory.store import disguise, redactor
from memory.store.redactor import find_secrets, redact

TOKEN, WORD = secret_of(31), "Mar" + "ble!" + made("disguise", ALNUM, 6)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a gh\\u0070_" + TOKEN[4:] + " b", "a @ b"),
        ("a gh%70_" + TOKEN[4:] + " b", "a @ b"),
        ("a gh%2570_" + TOKEN[4:] + " b", "a @ b"),
        ("a gh&#112;_" + TOKEN[4:] + " b", "a @ b"),
        ("a gh\\x70_" + TOKEN[4:] + " b", "a @ b"),
        ("a " + TOKEN[:20] + "\\\n" + TOKEN[20:] + " b", "a @ b"),
        ("a\n" + TOKEN[:20] + "\n" + TOKEN[20:] + "\nb", "a\n@\nb"),
        ("a\n> " + TOKEN[:20] + "\n> " + TOKEN[20:] + "\nb", "a\n> @\nb"),
        ('x = ("' + TOKEN[:20] + '"\n     "' + TOKEN[20:] + '")', 'x = ("@")'),
        ("a " + base64.b64encode(("joe:" + WORD).encode()).decode() + " b", "a @ b"),
        (
            "\\u0022password\\u0022:\\u0022" + WORD + "\\u0022 b",
            "\\u0022password\\u0022:\\u0022@\\u0022 b",
        ),
    ],
)
def test_a_disguised_secret_goes_and_nothing_else(text, rest):
    """The marker takes the place of the disguised value, and each other character stays as it
    was.
    """
    out = redact(text).text
    found = redactor.rx(redactor.MARKER).sub("@", out)
    assert found == rest


@pytest.mark.parametrize(
    "text",
    [
        "see https://h.example/a%20b%2Fc%3Fd",
        "it\\u0027s \\u003cb\\u003efine\\u003c/b\\u003e",
        "Tom &amp; Jerry &lt;tom@h.example&gt;",
        "cd src && \\\n  make all7 \\\n  test2",
        "x = [\n  'one1',\n  'two2'\n]",
        "commit\n"
        + "4b1d599dfc2abd302d8a425f096983f11161e8c2\n4b1d599dfc2abd302d8a425f096983f11161e8c3",
        base64.b64encode(b"just a plain sentence, no more").decode(),
        "src/one_file_2.py\nsrc/two_file_3.py\n",
        base64.b64encode(b"name:value of it").decode(),
        "MDQ6VXNlcjM1MTkz" + "NA==",
        "\\xe5\\xf6\\xf6 and \\x41\\x42",
        "'a string of words' +\n 'and others'",
    ],
)
def test_ordinary_escapes_stay(text):
    """Addresses, markup, continued commands, lists and encoded prose are kept byte for byte."""
    assert find_secrets("One.\n" + text + "\nTwo.") == {}


def test_a_place_in_a_decoded_text_leads_back():
    """The stretch of a decoded word covers its disguise, whatever was decoded or joined before
    it.
    """
    text = "one \\u0041\\u0042c two%20three \\\n four &quot;five&quot;"
    view = disguise.decode_disguises(text, [])
    assert view is not None and view.text == 'one ABc two three four "five"'
    for word, source in (
        ("ABc", "\\u0041\\u0042c"),
        ("two three", "two%20three"),
        ("four", "four"),
        ('"five"', "&quot;five&quot;"),
    ):
        start = view.text.index(word)
        low, high = view.origin(start, start + len(word))
        assert text[low:high] == source
    assert disguise.decode_disguises("nothing here", []) is None
