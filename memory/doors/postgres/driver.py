"""PostgreSQL's driver and its error messages."""

from __future__ import annotations

from typing import Any

from memory.core import StoreError


def import_psycopg() -> Any:
    """Return the module psycopg; raises StoreError if not installed."""
    try:
        import psycopg
        import psycopg_pool  # noqa: F401
    except ImportError:
        raise StoreError(
            "the PostgreSQL index needs psycopg, which is not installed; `install.sh --postgres` "
            "installs it (with pip: dayleaf[postgres])"
        ) from None
    return psycopg


def format_error(error: BaseException) -> str:
    """Return an error's first line without the statement, at most 200 characters."""
    text = str(error).strip().split("\n")[0]
    for word in ("FATAL: ", "failed: "):
        text = text.rpartition(word)[2]
    return "the database says: " + (text.strip() or type(error).__name__)[:200]
