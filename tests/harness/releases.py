"""The project as it is released: its wheel and its source, built from a copy."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = (
    "memory",
    "hooks",
    "commands",
    "skills",
    "bin",
    ".claude-plugin",
    "install.sh",
    "pyproject.toml",
)


def built(folder: Path, *kinds: str) -> tuple[Path, ...]:
    """Build `bdist_wheel`, `sdist` or both into a folder and return the files."""
    copy = folder / "source"
    copy.mkdir()
    for name in (*PLUGIN, "README.md", "LICENSE", "tests/data/transcripts/tools-interactive.jsonl"):
        to = copy / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, to)
    for kind in kinds:
        code = "from setuptools import setup; setup()"
        done = subprocess.run(
            [sys.executable, "-c", code, "-q", kind, "-d", str(folder)],
            cwd=copy,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    return tuple(
        next(folder.glob({"bdist_wheel": "*.whl", "sdist": "*.tar.gz"}[kind])) for kind in kinds
    )


def tree(target: Path) -> Path:
    """Copy the repository's files and links, without what a working copy gathers."""
    skip = shutil.ignore_patterns(".git", "__pycache__", ".venv", ".*_cache", "*.egg-info")
    shutil.copytree(ROOT, target, ignore=skip, symlinks=True)
    return target
