"""Verdicts of doctor, compared."""

from __future__ import annotations

from memory.health import FAIL, OK, WARN


def worst(checks):
    """Return the worst verdict of some checks."""
    return max((check[0] for check in checks), key=(OK, WARN, FAIL).index)
