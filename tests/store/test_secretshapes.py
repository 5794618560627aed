"""The tables of secrets: no row takes a random identifier, and each costs linear time."""

from __future__ import annotations

import random

import pytest
from harness.leaks import DIGITS, HEX, LOWER, UPPER, spent

from memory.store import disguise, secretlabels, secretshapes, secrettokens
from memory.store.redactor import find_secrets

try:
    from re import _parser as sre
except ImportError:  # Python 3.9, 3.10
    import sre_parse as sre


def drawn(rng, chars, length, count):
    """Return random identifiers; every second one begins with a prefix of the token table that its
    characters can spell.
    """
    heads = [
        head
        for words, _ in secrettokens.TOKENS
        for head in words.split()[1:]
        if set(head) <= set(chars) and len(head) < length
    ]
    values = ["".join(rng.choices(chars, k=length)) for _ in range(count)]
    return [
        heads[i % len(heads)] + value[len(heads[i % len(heads)]) :] if i % 2 and heads else value
        for i, value in enumerate(values)
    ]


def test_no_random_digest_or_identifier_is_a_secret_by_its_beginning():
    """Of 100,000 digests, UUIDs and identifiers in base 36 none goes, though half the digests begin
    as some vendor's tokens do.
    """
    rng = random.Random(17)
    upper = HEX.upper()
    values = [v for n in (7, 8, 10, 12, 16, 32, 40, 64) for v in drawn(rng, HEX, n, 7_000)]
    values += [v for n in (32, 40, 64) for v in drawn(rng, upper, n, 4_000)]
    for chars in (HEX, upper):
        values += [
            "-".join((v[:8], v[8:12], v[12:16], v[16:20], v[20:]))
            for v in drawn(rng, chars, 32, 6_000)
        ]
    for chars in (LOWER + DIGITS, UPPER + DIGITS):
        values += [
            "".join(rng.choices(chars, k=n)) for n in (8, 12, 20, 24, 25, 40) for _ in range(1_700)
        ]
    assert len(values) > 100_000
    assert find_secrets("\n".join(values)) == {}


def spelt(nodes, copies):
    """Return a text that an expression begins to match, each of its repetitions so often where it
    may.
    """
    out = ""
    for op, arg in nodes:
        name = str(op)
        if name == "LITERAL":
            out += chr(arg)
        elif name == "IN":
            what, first = str(arg[0][0]), arg[0][1]
            classes = {
                "CATEGORY_DIGIT": "1",
                "CATEGORY_SPACE": " ",
                "CATEGORY_WORD": "aB3"[len(out) % 3],
            }
            out += (
                chr(first)
                if what == "LITERAL"
                else chr(first[0])
                if what == "RANGE"
                else classes.get(str(first), "a")
            )
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            out += "".join(spelt(arg[2], copies) for _ in range(max(arg[0], min(arg[1], copies))))
        elif name in ("SUBPATTERN", "BRANCH"):
            out += spelt(arg[-1] if name == "SUBPATTERN" else arg[1][0], copies)
        elif name in ("NOT_LITERAL", "ANY"):
            out += "a"
    return out


def rules():
    """Return every rule's name with fragments that make it begin and not end."""
    rows = [
        ("%s %s" % (kind, prefix), [prefix + "aB3xK9qZ", "-" + prefix + "aB3xK9qZ7"])
        for kind, prefix, *_ in (words.split() for words, _ in secrettokens.TOKENS)
    ]
    for words, expression in secrettokens.INNER:
        kind, _, needle, *_ = words.split()
        whole = spelt(sre.parse(expression), 3)
        rows.append((kind, ["-" + needle + "aB3x", "aB3" * 20 + needle, whole[:-3] + " "]))
    for number, (head, expression) in enumerate(secretshapes.SHAPES):
        _, kind, _, *needles = head.split()
        whole = spelt(sre.parse(expression), 20)
        rows.append(
            (
                "%s %d" % (kind, number),
                [
                    needles[-1].replace("~", " ") + "a",
                    whole[: len(whole) // 2 + 1],
                    whole[:-1] + " ",
                ],
            )
        )
    for _, _, words in secretshapes.NAMES:
        rows += [
            (word, [word + "=", word + ': "', word + "=aB3xY9kQ!z\n"])
            for word in words.replace("?", "u").split()
        ]
    rows += [
        (words[:8], [word, word + ": ab1!xyz"])
        for _, words in secretshapes.WORDS
        for word in words.split("|")[:1]
    ]
    for name in (
        "SEPARATOR",
        "PARTICLES",
        "CREDENTIAL",
        "BOUND",
        "HASHED",
        "KEY_HEAD",
        "KEY_TAIL",
        "KEY_ENCODED",
        "PRIVATE_TAG",
        "COMPOSED",
        "SPOKEN",
        "DIGEST",
        "ESCAPE",
        "WEB",
    ):
        whole = spelt(sre.parse(getattr(secretshapes, name)), 20)
        rows.append((name, [whole, whole[:-1], "key: " + whole]))
    for name in (
        "LABEL",
        "KEYED",
        "OF",
        "NOT_LABEL",
        "ASSIGNED",
        "ACCOUNT",
        "NO_VALUE",
        "OTHER",
        "REST",
        "FILLING",
        "RULE",
        "STRUCTURED",
        "PROMPT",
        "PASSPHRASE",
        "HYPHENED",
        "GROUPED",
        "PHRASE",
        "WORDS",
    ):
        whole = spelt(sre.parse(getattr(secretlabels, name)), 20)
        rows.append(
            (
                "label " + name,
                [
                    whole + " 1",
                    "password " + whole[:-1],
                    "token 7" + whole + "\n",
                    "| key " + whole,
                ],
            )
        )
    for name in (
        "_CODE",
        "_PERCENT",
        "_ENTITY",
        "_CUT",
        "_JOIN",
        "_USUAL",
        "_OPENED",
        "_CLOSED",
        "NEXT_LINE",
    ):
        whole = spelt(sre.parse(getattr(disguise, name).replace("(?P=q)", "'")), 20)
        rows.append(("disguise " + name, [whole, "aB3" + whole + "xY9", whole[:-1]]))
    rows.append(("unknown", ["zqx_" + "aB3xK9qZ" * 5 + " ", "a_b_", "a1-" * 3]))
    rows.append(
        (
            "lines",
            [
                "password\n",
                "| password |\n",
                "password,a\n",
                "user  password\n",
                "a7B|password\n",
                "token 7\n\n",
                "aB3xK9qZ7aB3xK9qZ7\n",
                "key:\n```\n",
            ],
        )
    )
    rows.append(
        (
            "labels",
            [
                "pass 1",
                "password is ",
                "key 1 is ",
                "the token 7 as ",
                "<td>password</td>7",
                "密码1",
                "비밀번호 1 ",
                "'password'1",
                '"key":1,',
            ],
        )
    )
    rows.append(("jwt", ["eyJ", "-eyJaaaaaaaaa", "eyJaaaaaaaa.eyJaaaaaaaa(", "eyJaaaaaaaa.a-"]))
    return rows


@pytest.mark.parametrize(("name", "fragments"), rules())
def test_every_rule_costs_twice_as_much_for_twice_the_text(name, fragments):
    """A fragment that makes a rule begin over and over costs 12 KB once, 24 KB twice: of six tries
    the best counts.  Both texts end alike, as a secret at the end is searched for again.
    """
    for fragment in fragments:
        times = 12_000 // len(fragment) + 1
        small, large = fragment * times, fragment * 2 * times
        pairs = ((spent(small), spent(large)) for _ in range(6))
        assert any(double < 0.02 or double < 3 * max(single, 0.004) for single, double in pairs), (
            fragment
        )
