"""Providers of vectors for tests: small scripts, run as the real processes they are."""

from __future__ import annotations

import sys
from pathlib import Path

from memory.doors.vectors import embedder

START = """import hashlib, json, os, sys, time
def vector(text, dims=64):
    numbers = [0.01] * dims
    for word in text.lower().split():
        n = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")
        numbers[n % dims] += 1.0 if n & 1024 else -1.0
    return numbers
def answer(ident, numbers):
    print(json.dumps({"id": ident, "vector": numbers}))
"""
# A bag of words by their hashes, and a line for every text in the file named by its argument, if
# there is one.
GOOD = """
seen = open(sys.argv[1], "a") if len(sys.argv) > 1 else open(os.devnull, "w")
for line in sys.stdin:
    row = json.loads(line)
    seen.write(json.dumps(row["text"]) + "\\n")
    answer(row["id"], vector(row["text"]))
"""


def provider(
    folder: Path, body: str = GOOD, *args: str, label: str = "words", timeout: float = 20.0
) -> embedder.Provider:
    """Write a script and return the provider that runs it under this interpreter."""
    path = folder / f"provider-{len(list(folder.glob('provider-*')))}.py"
    path.write_text(START + body, encoding="utf-8")
    return embedder.Provider(sys.executable, ("-I", str(path), *args), label, timeout)
