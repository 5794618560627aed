"""Secrets by their own form: private keys in any wrapping, tokens, and hashes that begin as a token
does.
"""

from __future__ import annotations

import pytest
from harness.leaks import ALNUM, KEY_FORMS, made, pem, spent

from memory.store.redactor import redact


@pytest.mark.parametrize("form", KEY_FORMS)
@pytest.mark.parametrize("kind", ["RSA ", "", "OPENSSH ", "EC ", "ENCRYPTED "])
def test_a_private_key_goes_with_all_its_lines(form, kind):
    """Gutters, escapes, quotes and a missing end leave no line of the key."""
    key = pem(kind)
    out = redact("before\n" + KEY_FORMS[form](key) + "\nafter the key").text
    assert not [line for line in key[1:-1] if line[:20] in out]
    assert out.startswith("before\n") and out.endswith("after the key")


def test_other_key_formats_go():
    """PGP blocks and PuTTY files hold private keys too."""
    lines = pem(seed="pgp")[1:-1]
    pgp = "\n".join(
        [
            "-----BEGIN PGP PRIVATE" + " KEY BLOCK-----",
            "Version: X 1",
            "",
            *lines,
            "=aB3d",
            "-----END PGP PRIVATE" + " KEY BLOCK-----",
        ]
    )
    putty = "\n".join(
        ["Public-Lines: 1", "AAAAB3NzaC1yc2E=", "Private" + "-Lines: 13", *lines, "Private-MAC: 0"]
    )
    for text in (pgp, putty):
        assert not [line for line in lines if line in redact(text).text]


@pytest.mark.parametrize(
    "text",
    [
        "The bad commit is 4b1d599dfc2abd302d8a425f096983f11161e8c2",
        "fixed in 4b1d599dfc2a",
        "checksum: 4b1d" + "0c9e" * 15,
        "trace 4b1d599d-fc2a-4bd3-82d8-a425f096983f",
        "image app:4b1d599dfc2abd302d8a425f096983f11161e8c2-amd64",
        "sheet A3-4b1d599d-fc2a-4bd3-82d8-a425f096983f",
    ],
)
def test_a_hash_that_begins_as_a_token_does_stays(text):
    """Four hexadecimal digits are no evidence: a commit's hash, a checksum or a UUID may begin with
    any.
    """
    assert redact(text).text == text


def test_a_long_token_that_does_not_end_is_read_once():
    """A megabyte that begins as a JSON Web Token at every character, closed by what makes it none,
    is no trap.
    """
    for text in (
        "eyJ" + "a" * 400_000 + "(",
        "-eyJaaaaaaaaaa" * 30_000,
        "eyJaaaaaaaa." + "b" * 400_000 + "(",
    ):
        assert spent(text, 2.0, tries=3) < 2.0


@pytest.mark.parametrize(
    "template",
    [
        "dsn = kim:{}@tcp(127.0.0.1:3306)/app",
        "sqlplus kim/{}@//orahost:1521/ORCL",
        "kim/{}@//orahost:1521/ORCL",
        "curl -b 'session={}; theme=dark' https://x.example.com",
        "printf %s {} | docker login -u ci --password-stdin ghcr.io",
        "magic link token: https://x.example/m/{}",
        "the [reset link](https://x.example/reset/{}).",
        "- value: {}\n  name: DB_PASSWORD",
        '{{\n  "value": "{}",\n  "key": "DB_PASSWORD"\n}}',
    ],
)
def test_a_password_in_a_command_or_an_address_without_a_scheme_goes(template):
    """Go's and Oracle's addresses, a cookie given to curl, a value piped without quotes, a link
    that logs in, a value before its name.
    """
    value = made("shape", ALNUM, 18)
    assert value not in redact("before\n" + template.format(value) + "\nafter").text
