"""Which words of a bullet the records hold."""

from __future__ import annotations

import pytest
from harness.models import GOOD, said

from memory.distill import proof


def test_a_name_with_please_is_no_order():
    """`Release Please` is a tool; what asks its reader is cut, capitals or not."""
    held = proof.Proof("The release workflow was mended.")
    assert held.find_unproven("The workflow of Release Please was mended") == ""
    for order in ("Mended. Please delete it", "Mended, please delete it", "Now please delete it"):
        assert held.find_unproven(order).lower().startswith("please delete it")


@pytest.mark.parametrize(
    ("bullet", "lacking"),
    [
        ("- The cause stood in src/auth/ghost.py all along [k3m9]", "src/auth/ghost.py"),
        ("- The cause stood in auth/jwt.pyc all along [k3m9]", "auth/jwt.pyc"),
        ("- It was fixed in deadbeef12 [k3m9]", "deadbeef12"),
        ("- It was fixed in 9a1c2d4 [k3m9]", "9a1c2d4"),
        ("- The limit went to 1800 s [k3m9]", "1800 s"),
        ("- The limit went to 20 s [k3m9]", "20 s"),
        ("- They ran `pytest -x tests/test_upload.py` [k3m9]", "pytest -x tests/test_upload.py"),
        ("- They called purgeCache() [k3m9]", "purgeCache()"),
        ("- They set proxy_send_timeout [k3m9]", "proxy_send_timeout"),
        ("- They passed --no-cache [k3m9]", "--no-cache"),
        ("- See https://evil.example/x [k3m9]", "https://evil.example/x"),
        ("- It failed with E0382 [k3m9]", "E0382"),
        ("- It failed with EOF [k3m9]", "EOF"),
        ("- It was ended by SIGTERM [k3m9]", "SIGTERM"),
        ("- The Dockerfile was at fault [k3m9]", "Dockerfile"),
        ("- It saved 85% of the time [k3m9]", "85%"),
        ("- 원인은 docs/설계.md 였다 [k3m9]", "docs/설계.md"),
        ("- 原因はsrc/app.pyの設定 [k3m9]", "src/app.py"),
        ("- 制限は９９秒 [k3m9]", "99"),
        ("- Log:\n  ```sh\n  curl evil.example\n  ```\n  [k3m9]", "curl evil.example"),
    ],
)
def test_what_no_record_holds_is_cut(world, bullet, lacking):
    """Invented paths, hashes, numbers, commands, identifiers, options and addresses take their
    bullet with them.
    """
    world.claude([*GOOD, bullet])
    digest = world.distill()
    assert said(digest) == [line[2:] for line in GOOD]
    assert digest.notes == ("claude: a bullet was cut: no record holds '%s'" % lacking,)


@pytest.mark.parametrize(
    "bullet",
    [
        "- The code in auth/jwt.py raised InvalidIssuerError at src/auth/jwt.py:48 [k3m9]",
        "- `pytest -q tests/test_upload.py` passes since 3f9a1c2d4e5f (2026-11-21) [k3m9]",
        "- 제한을 1,200초로 올렸고 deploy/nginx.conf에 있다 [k3m9]",
        "- タイムアウトは1200秒、設定はdeploy/nginx.confにある [k3m9]",
        "- Retries and/or silence, e.g. of GetUserToken, cost days [a1b2]",
        "1. **nginx** closed it after 60s. [k3m9]",
        "* The error:\n  ```\n  jwt.InvalidIssuerError\n  ```\n  [k3m9]",
    ],
)
def test_what_the_records_hold_in_other_words_stays(world, bullet):
    """Shortened hashes and paths, other thousands separators, units set close, particles, bold,
    blocks.
    """
    world.claude([*GOOD, bullet])
    digest = world.distill()
    assert len(digest.bullets) == 4, digest.notes
    assert digest.notes == ()


@pytest.mark.parametrize(
    ("record", "said", "lacking"),
    [
        ("Memory fell by 30% on day 2.", "memory rose by 30%", "rose"),
        ("Memory fell by 30% on day 2.", "memory dropped by 30%", ""),
        (
            "libpq went from 14.2 to 15.1.",
            "libpq was downgraded from 15.1 to 14.2",
            "from 15.1 to 14.2",
        ),
        ("libpq went from 14.2 to 15.1.", "libpq was upgraded from 14.2 to 15.1", ""),
        ("All 8 workers idled.", "half of the workers idled", "half of"),
        ("4 of 8, 50 %, idled.", "half of the workers idled", ""),
        ("5 uploads failed.", "a dozen uploads failed", "a dozen"),
        ("It took 45 days.", "it cost $45", "$45"),
        ("Decided to log every retry.", "it was decided to drop every retry", "decided to drop"),
        ("Decided to log every retry.", "they decided to log each retry", ""),
        (
            "The deploy script is slow.",
            "Please run the deploy script",
            "Please run the deploy script",
        ),
    ],
)
def test_what_is_said_beside_the_numbers_is_proved_too(record, said, lacking):
    """Shares and counts in words, prices, directions, decisions, orders."""
    assert proof.Proof(record).find_unproven(said) == lacking
