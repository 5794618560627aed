"""The table of doors: what it loads, and what it says of a door that is not there."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from harness.hook import ROOT

from memory.core import UsageError
from memory.doors import registry


@pytest.mark.parametrize("name", registry.DOORS)
def test_what_a_row_names_is_there(name):
    """Every verb's function, and every other thing that a door offers."""
    door = registry.DOORS[name]
    for verb, module in door.verbs.items():
        found = importlib.import_module("%s.%s" % (door.package, module))
        assert registry.verb(verb) is found and callable(getattr(found, verb))
    for what in door.offers:
        assert registry.offer(name, what) is not None and name in registry.having(what)


@pytest.mark.parametrize("name", registry.DOORS)
def test_its_page_and_its_tests_stand_where_the_row_says(name):
    assert (ROOT / registry.DOORS[name].page).is_file()
    assert list((ROOT / "tests/doors" / name).glob("test_*.py"))


def test_every_package_of_doors_has_its_row():
    packages = {"memory.doors." + p.parent.name for p in ROOT.glob("memory/doors/*/__init__.py")}
    assert packages == {door.package for door in registry.DOORS.values()}


def test_the_table_loads_no_door():
    """Who reads the table pays for what is asked of it alone."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import memory.doors.registry;"
        "print(*(name for name in sys.modules if name.startswith('memory.doors.')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["memory.doors.registry"]


def test_a_door_without_its_row_or_its_folder_is_one_line(monkeypatch):
    monkeypatch.setitem(
        registry.DOORS,
        "gone",
        registry.Door("memory.doors.gone", "", {"fly": "wings"}, {"x": "y:z"}),
    )
    for asked in (
        lambda: registry.verb("fly"),
        lambda: registry.verb("swim"),
        lambda: registry.offer("gone", "x"),
        lambda: registry.offer("other", "x"),
    ):
        with pytest.raises(UsageError, match="has no such part"):
            asked()


def test_what_is_optional_is_nothing_without_its_door():
    assert registry.optional("vectors", "state") is not None
    assert registry.optional("gone", "state") is None


def test_what_a_door_itself_lacks_is_not_taken_for_its_absence(monkeypatch):
    monkeypatch.setitem(
        registry.DOORS, "torn", registry.Door("memory.doors", "", {"fly": "wings"}, {})
    )
    with pytest.raises(ModuleNotFoundError, match="wings"):
        registry.verb("fly")
