"""The sections of a body."""

from __future__ import annotations

import pytest

from memory.store import sections

BODY = "Top.\n# Setup\nOne.\n## Docker\nTwo.\n## Podman\nThree.\n# Use\n## Docker\nFour.\n"


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ("setup", "Setup"),
        ("Docker", "Setup > Docker"),
        ("use>docker", "Use > Docker"),
        ("0", ""),
        ("4", "Use"),
        ("Kubernetes", None),
    ],
)
def test_a_section_is_found_by_heading_path_or_number(wanted, path):
    """The first of several; the end of a path will do."""
    found = sections.find(sections.outline(BODY), wanted)
    assert (found and found.path) == path


def test_a_section_holds_its_subsections_and_has_neighbours():
    """The one after it is the first that is no part of it."""
    found = sections.outline(BODY)
    setup = sections.find(found, "Setup")
    assert sections.text(BODY, setup) == "# Setup\nOne.\n## Docker\nTwo.\n## Podman\nThree.\n"
    before, after = sections.neighbours(found, setup)
    assert (sections.name(before), sections.name(after)) == (sections.BEGINNING, "Use")
    assert sections.neighbours(found, found[-1])[1] is None
