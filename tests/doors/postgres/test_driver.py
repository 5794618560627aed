"""The driver of PostgreSQL: without it, and what it says."""

from __future__ import annotations

import sys

import pytest

from memory.core import StoreError
from memory.doors.postgres import driver


def test_without_the_driver_one_line_says_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match="--postgres` installs it"):
        driver.driver()


def test_what_the_database_says_is_one_short_line():
    told = driver.database_error(RuntimeError("connection failed: FATAL: no such role\nDETAIL: x"))
    assert told == "the database says: no such role"
    assert len(driver.database_error(RuntimeError("x" * 999))) < 230
    assert driver.database_error(RuntimeError("")) == "the database says: RuntimeError"
