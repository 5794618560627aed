"""The technical words of a text."""

from __future__ import annotations

from memory.distill.technical import find_technical


def test_paths_identifiers_options_hashes_versions_and_numbers_are_technical():
    """Each once, as it stands; plain words are none."""
    said = (
        "Set `proxy_read_timeout` in deploy/nginx.conf to 60s with --reload, commit 3f9a1c2, "
        "v2.1.0, getUserToken, jwt.InvalidIssuerError, E0382: and/or again --reload."
    )
    found = find_technical(said)
    assert [word.strip("`") for word in found] == [
        "proxy_read_timeout",
        "deploy/nginx.conf",
        "60s",
        "--reload",
        "3f9a1c2",
        "v2.1.0",
        "getUserToken",
        "jwt.InvalidIssuerError",
        "E0382",
        "and/or",
    ]
    assert find_technical("the upload of the report failed again") == []
