"""What the tests of vectors stand on: learnings on different subjects, and providers that tell what
they were given.
"""

from __future__ import annotations

import json

import pytest
from harness import stubs, vault

from memory.doors.vectors import embedder

# A bag of words in which some mean the same; a line in the file named by its argument for each
# process.
MEANINGS = """
same = {"automobile": "car", "motor": "engine", "physician": "doctor", "kfz": "car"}
open(sys.argv[1], "a").write("one process\\n")
for line in sys.stdin:
    row = json.loads(line)
    words = [w.strip(".,") for w in row["text"].lower().split()]
    answer(row["id"], vector(" ".join(same.get(w, w) for w in words)))
"""


@pytest.fixture
def seen(tmp_path):
    """The texts that were embedded since the last call."""
    path = tmp_path / "seen"
    path.touch()

    def texts() -> list[str]:
        found = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("")
        return found

    texts.path = str(path)
    return texts


@pytest.fixture
def provider(tmp_path, seen) -> embedder.Provider:
    """A provider that tells what it was given."""
    return stubs.provider(tmp_path, stubs.GOOD, seen.path)


@pytest.fixture
def store(place):
    """Thirty learnings on different subjects."""
    for i in range(30):
        vault.put(
            place,
            f"p/learnings/l{i:02d}.md",
            f"Note {i}",
            " ".join(f"word{i}x{j}" for j in range(12)),
        )
    return place


@pytest.fixture
def command(tmp_path):
    """The words of a provider, and how many processes it was."""
    path = tmp_path / "runs"
    made = stubs.provider(tmp_path, MEANINGS, str(path))
    return [
        made.command,
        *made.args,
    ], lambda: len(path.read_text().splitlines()) if path.exists() else 0
