"""Candidates out of lessons: what says the same as a learning that is there becomes no second one."""

from __future__ import annotations

import pytest
from harness import vault

from memory.capture import progress
from memory.core import files
from memory.index import builder
from memory.knowledge import candidates


@pytest.mark.parametrize(("count", "written"), [(20, 1), (21, 0)])
def test_a_lesson_says_the_same_above_95_of_100_equal_words(place, now, count, written):
    """One word of 20 differs: exactly 95 %, so it is another one; one of 21 is the same, and is counted."""
    words = ["q%s" % chr(97 + n) for n in range(count)]
    vault.put(place, "p/learnings/there.md", "There", " ".join(words), source="auto", session="s0")
    builder.build(place, now)
    state = progress.State(place.cache + "/sessions/s1.json")
    state.lessons.append({"title": "Said again", "body": " ".join([*words[:-1], "other"]), "key": "k", "checkpoint": "c-none",
                          "files": [], "commit": "", "tags": []})
    files.make_folder(place.cache + "/sessions")
    progress.save(state)
    assert candidates.settle(place, vault.settings(), now, "s1") == written
