"""Tokens by their own form: young vendors, vendors that no table knows, and what merely begins as a
token does.
"""

from __future__ import annotations

import pytest
from harness import leaks
from harness.leaks import ALNUM, HEX, made
from harness.leakset import VENDOR_CONTEXTS, vendors

from memory.store.redactor import find_secrets, redact


@pytest.mark.parametrize("context", VENDOR_CONTEXTS)
def test_the_token_of_a_young_vendor_goes_in_any_context(context):
    """Each format of the last years goes without a name beside it, in JSON, an address, a list, a
    command.
    """
    assert [
        name for name, token in vendors("young") if token in redact(context.format(token)).text
    ] == []


def test_a_token_that_no_table_knows_goes_by_its_form():
    """A short word, a sign, and 32 random characters of both cases; with 31 it stays, which is the
    documented limit.
    """
    body = made("unheard", ALNUM, 32)
    assert body not in redact("we got qyx_%s today" % body).text
    assert redact("we got qyx_%s today" % body[:31]).found == ()


def test_a_prefix_again_and_again_costs_no_more_than_its_length():
    """Twice as many prefixes in one run take twice as long, whether or not they are filler."""
    for part in ("sk-", "sk-exampleABCD"):
        first, second = (leaks.spent("eyJ" + part * (n // len(part))) for n in (40_000, 80_000))
        assert second < 0.3 or second <= 2.6 * first, part


def test_a_token_of_any_length_goes_whole():
    """What decides is its beginning; its tail goes with it."""
    token = "sk-" + "ant-" + made("long", ALNUM, 3000)
    assert made("long", ALNUM, 3000)[-20:] not in redact("use %s now" % token).text


@pytest.mark.parametrize(
    "text",
    [
        "toolu_%s" % made("t", ALNUM, 40),
        "see commit_%s" % made("c", HEX, 40),
        "re_render_all_components",
        "rnd_state_vector_of_the_model",
        "sk_buff_head_init(&queue)",
        "fc-%s" % made("f", HEX, 20),
        "pk_user_id",
        "cus_%s" % made("u", ALNUM, 34),
        "msg_%s" % made("m", ALNUM, 36),
        "image my-app_%s" % made("i", HEX, 64),
        "fw_cfg_add_file_from_generator",
        "pa-%s" % ("settings-page-" * 3),
        "AQ.About",
        "secret-management-in-kubernetes-clusters",
        "test_AccountServiceReturnsNothingForUnknownUsers123",
        "re_exports_of_the_module_2_and_3",
    ],
)
def test_an_identifier_that_begins_as_a_token_stays(text):
    """Names of functions, files and records, and digests, are no tokens."""
    assert find_secrets("One.\n" + text + "\nTwo.") == {}
