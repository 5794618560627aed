"""Secrets made at run time from a split prefix and a seeded generator, and what it costs to take
them out.
"""

from __future__ import annotations

import base64
import json
import random

from harness import timing
from memory.store.redactor import redact, strip_private

LOWER, UPPER, DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
ALNUM, HEX, URLSAFE = LOWER + UPPER + DIGITS, DIGITS + "abcdef", LOWER + UPPER + DIGITS + "_-"


def made(seed, chars, length):
    """Return `length` characters that hold a digit and a letter, the same for the same seed."""
    rng = random.Random(repr(seed))
    while True:
        value = "".join(rng.choice(chars) for _ in range(length))
        if (
            any(c.isdigit() for c in value)
            and any(c.isalpha() for c in value)
            and value[0].isalnum()
            and value[-1].isalnum()
        ):
            return value


def pem(kind="RSA ", lines=12, seed="pem", width=64):
    """Return a private key's text; its bytes are random."""
    body = [made((seed, i), ALNUM + "+/", width) for i in range(lines)] + [
        made((seed, "end"), ALNUM, 30) + "=="
    ]
    return [
        "-----BEGIN %sPRIVATE" % kind + " KEY-----",
        *body,
        "-----END %sPRIVATE" % kind + " KEY-----",
    ]


KEY_FORMS = {
    "plain": "\n".join,
    "crlf": "\r\n".join,
    "escaped": "\\n".join,
    "double escaped": "\\\\n".join,
    "json": lambda k: json.dumps({"private_key": "\n".join(k) + "\n"}),
    "arrow gutter": lambda k: "\n".join("%6d→%s" % (i + 3, line) for i, line in enumerate(k)),
    "tab gutter": lambda k: "\n".join("%5d\t%s" % (i, line) for i, line in enumerate(k)),
    "pipe gutter": lambda k: "\n".join("%3d | %s" % (i, line) for i, line in enumerate(k)),
    "indented": lambda k: "\n".join("    " + line for line in k),
    "quoted": lambda k: "\n".join("> " + line for line in k),
    "diff": lambda k: "\n".join("+" + line for line in k),
    "concatenated": lambda k: " +\n".join('"%s\\n"' % line for line in k),
    "no end": lambda k: "\n".join(k[:-1]) + "\n\nand then some prose",
    "cut line": lambda k: "\n".join([*k[:6], k[6][:21]]),
    "no head": lambda k: "\n".join(k[2:]),
    "no head, gutter": lambda k: "\n".join("%4d→%s" % (i, line) for i, line in enumerate(k[1:])),
    "one line": " ".join,
    "encrypted": lambda k: "\n".join(
        [
            k[0],
            "Proc-Type: 4,ENCRYPTED",
            "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF",
            "",
            *k[1:],
        ]
    ),
    "ellipsis": lambda k: "\n".join([*k[:4], "...", *k[-2:]]),
    "base64": lambda k: base64.b64encode("\n".join(k).encode()).decode(),
}


def spent(text, enough=0.0, tries=1):
    """Return the seconds of CPU that redaction takes, the least of some runs (see
    `timing.spent`).
    """
    return timing.spent(lambda: (redact(text), strip_private(text)), enough, tries)
