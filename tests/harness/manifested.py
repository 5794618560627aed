"""Manifests of a project that does not exist."""

from __future__ import annotations

from pathlib import Path

PYPROJECT = """[build-system]
requires = ["hatchling"]
[project]
description = "replaces redis and rails"
dependencies = [
  "Django[argon2]>=4 ; python_version > '3'",  # web
  "psycopg2-binary",
]
[project.optional-dependencies]
test = ["pytest>=7", "PyJWT"]
[tool.poetry.group.dev.dependencies]
celery = {version = "1"}
"""


def put(root, **texts) -> None:
    """Write files below a root: `api__go_mod` stands for `api/go.mod`."""
    for name, text in texts.items():
        path = Path(root, name.replace("__", "/").replace("_dot_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
