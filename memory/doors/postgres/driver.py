"""The driver of PostgreSQL, and what it says when something fails."""

from __future__ import annotations

from typing import Any

from memory.core import StoreError


def driver() -> Any:
    """Return the module psycopg.

    Raises StoreError where it is not installed.
    """
    try:
        import psycopg
        import psycopg_pool  # noqa: F401
    except ImportError:
        raise StoreError(
            "the PostgreSQL index needs psycopg, which is not installed; `install.sh --postgres` "
            "installs it (with pip: dayleaf[postgres])"
        ) from None
    return psycopg


def database_error(error: BaseException) -> str:
    """Return the database's error message on one line.

    At most 200 characters, without the statement.
    """
    text = str(error).strip().split("\n")[0]
    for word in ("FATAL: ", "failed: "):
        text = text.rpartition(word)[2]
    return "the database says: " + (text.strip() or type(error).__name__)[:200]
