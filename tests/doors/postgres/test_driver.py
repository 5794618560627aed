"""The driver of PostgreSQL: without it, and what it says."""

from __future__ import annotations

import sys

import pytest

from memory.core import StoreError
from memory.doors.postgres import driver


def test_without_the_driver_one_line_says_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match="--postgres` installs it"):
        driver.import_psycopg()


def test_what_the_database_says_is_one_short_line():
    told = driver.format_error(RuntimeError("connection failed: FATAL: no such role\nDETAIL: x"))
    assert told == "the database says: no such role"
    assert len(driver.format_error(RuntimeError("x" * 999))) < 230
    assert driver.format_error(RuntimeError("")) == "the database says: RuntimeError"
