"""What several doors stand on: a PostgreSQL, and records in both indexes."""

from __future__ import annotations

# fixtures, made once for all
from harness.database import (  # noqa: F401
    dsn,
    empty,
    loaded,
    server,
    store,
    stranger,
    template,
)
