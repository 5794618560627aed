"""Which database is asked, and by whose word."""

from __future__ import annotations

import os

import pytest
from harness.asking import settings
from harness.command import one_line_error

from memory.core import UsageError
from memory.index import backend


def dsn_of(place, env, **changes):
    return backend.find_dsn(settings(place, index_backend="postgres", **changes), place.home, env)


def test_the_connection_string_comes_from_environment_file_or_settings(place):
    """In this order; and in a session never from the environment, which a repository may fill."""
    assert dsn_of(place, {}, index_dsn="host=third") == "host=third"
    os.makedirs(place.home, exist_ok=True)
    with open(os.open(place.home + "/dsn", os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        file.write("host=second password=x\n")
    assert dsn_of(place, {}, index_dsn="host=third") == "host=second password=x"
    assert dsn_of(place, {"DAYLEAF_DSN": "host=first"}) == "host=first"
    assert (
        dsn_of(place, {"DAYLEAF_DSN": "host=first", "CLAUDECODE": "1"}) == "host=second password=x"
    )
    os.chmod(place.home + "/dsn", 0o644)
    with pytest.raises(UsageError, match="can be read by others; `chmod 600"):
        dsn_of(place, {})


@pytest.mark.parametrize(
    "said",
    ["host=db password=geheim", "postgresql://me:geheim@db/x", "postgres://db/x?password=geheim"],
)
def test_a_password_is_no_setting_and_is_never_printed(place, said, run):
    """Neither as the setting, nor as the option; the refusal does not repeat it."""
    with pytest.raises(UsageError, match=r"~/\.dayleaf/dsn") as refusal:
        dsn_of(place, {}, index_dsn=said)
    shown = [str(refusal.value)]
    for words in (
        ("index", "--backend", "postgres", "--dsn", said),
        ("config", "set", "index.dsn", said),
    ):
        done = run(*words)
        assert done.returncode == 2
        shown.append(done.stderr)
    assert "geheim" not in "".join(shown)


def test_without_an_address_one_line_asks_for_it(run):
    """No server is started for whoever names none."""
    assert "--dsn" in one_line_error(run("index", "--backend", "postgres"), 2)
