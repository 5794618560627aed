"""Words near a label: likely secrets by their shape and their place."""

from __future__ import annotations

import pytest
from harness import secretset
from harness.leaks import ALNUM, HEX, made

from memory.store import bylabel, nearlabel
from memory.store.redactor import redact

COMMIT = made("commit", HEX, 40)


@pytest.mark.parametrize(
    ("name", "kind", "least"),
    [
        ("unseen", "apart", 108),
        ("unseen", "innocent", 57),
        ("harder", "apart", 85),
        ("harder", "disguised", 43),
        ("harder", "innocent", 56),
    ],
    ids=str,
)
def test_texts_of_authors_who_knew_no_rule_are_mostly_judged_right(name, kind, least):
    """Of 120 apart and 60 innocent; of 130, 50 and 60 that were meant to be hard."""
    texts = [one for one in secretset.written(name) if one.kind == kind]
    right = sum(secretset.is_gone(one, redact(one.text).text) for one in texts)
    assert right >= least, (right, len(texts))


@pytest.mark.parametrize(
    "text",
    [
        "can you log in as deploy with {} and restart it?",
        "Q: what was the admin password of the wiki?\nwait, I look it up\nB: {}",
        "# credentials of the mail relay\nhost: relay\nvalue: '{}'",
        "я поменял пароль на стенде, теперь там {} как договаривались",
        "j'ai mis {} comme mot de passe pour la démo",
        "the new key for the map service came today, it is `{}`, valid for a year",
    ],
)
def test_no_form_of_a_sentence_is_needed(text):
    """A random word near the label is enough, in any language and within some lines."""
    value = made("near", ALNUM, 14)
    assert value not in redact(text.format(value)).text


@pytest.mark.parametrize(
    "text",
    [
        COMMIT + " auth: rotate the API key",
        "the password fix is commit " + COMMIT,
        "login works with Web3Auth and BIP39",
        "see the token in api-client.ts and v2.14.1",
        "the secret is in projects/demo/secrets/db-1",
        "token: use the x-request-token-v2 header",
        "see l-1d76d483 about the password",
        "once the token is old, run `make gateway-ledger-7072`",
        "SOX2 is a key regulator beside Oct4-KLF4 and CD25+CD4+ cells",
        '{"id": "c1460", "text": "how to log in with a token"}',
    ],
)
def test_names_of_commits_products_files_and_headers_stay(text):
    """Whatever label stands beside them."""
    assert redact(text).text == text


def test_the_nearest_label_judges_a_word():
    """In its own line before it, or above."""
    text = "password of the wiki\n\nuse xkq12zw3 as the token"
    labels = bylabel.labels_of(text)
    (near,) = nearlabel.words_near(text, labels)
    assert near.word == "xkq12zw3" and near.before
    assert text[near.label.start : near.label.end] == "token"


def test_a_word_that_is_unlike_ordinary_words_surprises():
    """By the pairs of its letters."""
    assert nearlabel.surprise("zq7Xw#pd9")[0] > nearlabel.surprise("resources")[0] + 1


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Logins for the kiosk image\nadmin:qxKCmvxcOC\nviewer:izrj2zAyWc\nmaint:jFaTywefAt\n", 0),
        ("| user | password |\n| --- | --- |\n| a | Teal$Wagon33 |\n| b | 4821 |\n| c | - |\n", 0),
        ('{ "value": "uwplkt2mnae4", "name": "UPSTREAM_SECRET" }', 0),
        ("The PIN of the SIM is asked at boot:\n\n    61 40 22\n", 0),
        ("the passphrase goes to the safe: “seven pickled radishes on Thursday”", 0),
        ("la phrase de passe est « trois hérons mangent du granit bleu »", 0),
        ("Логин на стенд: admin, а пароль там Volna.Gorod15", 0),
        ('the passphrase must be "at least twelve characters long"', 1),
        ("| password | changed |\n| --- | --- |\n| required | 2024-05-01 |\n", 1),
        ("- Recovery phrase presentation format\n- Settings page layout for MFA section\n", 1),
        ("pin: see the ticket, room 61 40 22 is on the map\n", 1),
    ],
)
def test_lists_cells_digits_and_phrases_go_where_a_label_names_them(text, left):
    """left: whether the text stays as it is."""
    assert (redact("One.\n" + text + "\nTwo.").text == "One.\n" + text + "\nTwo.") == bool(left)
