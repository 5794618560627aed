"""`dayleaf index build --embeddings`, and what doctor says of vectors."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from harness import vault
from harness.hook import ROOT

pytest.importorskip("numpy")


def test_the_command_makes_vectors_and_ranks_with_them(place, env, project, command, now):
    """index build --embeddings, status, recall --semantic, and what is said where nothing is set
    up.
    """

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-I", str(ROOT / "memory"), *words],
            capture_output=True,
            cwd=project,
            env=env,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout + done.stderr

    vault.put(place, "p/learnings/car.md", "Car", "The car needs oil.", tags="[car]")
    status, said = run("index", "build", "--embeddings")
    assert status == 2 and "install.sh --embeddings" in said and said.count("\n") == 1
    status, said = run(
        "index", "build", "--embeddings", "--provider", " ".join(command[0]), "--workspace", "all"
    )
    assert status == 0 and "1 chunk embedded, 0 kept" in said
    status, said = run("recall", "--semantic", "--provider", " ".join(command[0]), "automobile")
    assert status == 0 and "car " in said and "ranked by words and vectors" in said
    assert "vectors" in run("index", "status")[1] and "1 chunk" in run("status")[1]
    assert "no provider is set" in run("doctor")[1]
    for key, value in (
        ("command", json.dumps(command[0][0])),
        ("args", json.dumps(command[0][1:])),
    ):
        run(
            "config", "set", "embeddings.provider." + key, value if key == "args" else command[0][0]
        )
    assert "answers; 1 record, 0 behind" in run("doctor")[1]
