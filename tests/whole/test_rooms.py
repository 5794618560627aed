"""The shape of memory/: rooms, their order, names, and the syntax that a system Python 3.9 must
read.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "memory").rglob("*.py"))
# data flows this way; `doors` is the table of doors, which any room asks
ORDER = (
    "core hook doors store session capture project index recall distill notes "
    "knowledge health terminal cli"
).split()
# packages in doors: they import every room, and no room imports them
DOORS = sorted(p.parent.name for p in (ROOT / "memory/doors").glob("*/__init__.py"))
RANK = {room: number for number, room in enumerate(ORDER)}
HOT = ("core", "hook")  # all that a hook may wait for stands here
ALIASES = 0
PLAIN: set[str] = set()


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file's syntax, as a Python 3.9 reads it."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path), feature_version=(3, 9))


def imports(path: Path) -> list[tuple[str, int]]:
    """Every room of ours that a file imports from, in functions too, with its line; what is
    imported for types alone is free.
    """
    tree = tree_of(path)
    types = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and ast.unparse(test.test) == "TYPE_CHECKING"
        for node in ast.walk(test)
    }
    return [
        (room_of(name.split(".")[1:]), node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("memory.")
        and id(node) not in types
        for name in {"%s.%s" % (node.module, alias.name) for alias in node.names}
    ]


def room_of(parts: Sequence[str]) -> str:
    """Return the room, or the door, to which the parts of a module's name lead."""
    return "doors." + parts[1] if parts[0] == "doors" and parts[1] in DOORS else parts[0]


def home_of(path: Path) -> str:
    return room_of(path.relative_to(ROOT / "memory").parts)


INNER = [
    p
    for p in MODULES
    if p.stem != "__init__" and p.parent != ROOT / "memory" and p.parent.name in (*ORDER, *DOORS)
]


def name_of(path: Path) -> str:
    return home_of(path) + "." + path.stem


def test_every_module_has_a_room():
    assert {p.name for p in (ROOT / "memory").iterdir()} - {
        "__pycache__",
        "__init__.py",
        "__main__.py",
    } == set(ORDER)


def test_modules_of_ours_have_one_name_each():
    """`import x as y` means that a name is taken twice."""
    found = [
        (name_of(path), alias.name, alias.asname)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memory")
        for alias in node.names
        if alias.asname
    ]
    assert len(found) <= ALIASES, found


def test_no_two_modules_have_one_stem():
    """Who looks for links finds one module, not link, links and linking."""
    stems: dict[str, list[str]] = {}
    for path in INNER:
        stems.setdefault(re.sub(r"(ing|ed|er|ion)$", "", re.sub(r"s$", "", path.stem)), []).append(
            name_of(path)
        )
    assert sorted(sorted(names) for names in stems.values() if len(names) > 1) == []


def test_every_module_has_its_tests_where_its_name_says():
    """`tests/<room>/test_<module>.py`, a door's in `tests/doors/<door>/`; the list of those that
    have none only becomes shorter.
    """
    bare = {
        name_of(p)
        for p in INNER
        if not (ROOT / "tests" / home_of(p).replace(".", "/") / ("test_%s.py" % p.stem)).exists()
    }
    assert bare == PLAIN


def test_a_module_imports_from_its_own_room_or_an_earlier_one():
    """A door comes after every room, so nothing imports it, another door neither."""
    later = {
        name_of(path): [
            (room, line)
            for room, line in imports(path)
            if room != home_of(path)
            and RANK.get(room, len(ORDER)) >= RANK.get(home_of(path), len(ORDER))
        ]
        for path in INNER
    }
    assert {name: found for name, found in later.items() if found} == {}


@pytest.mark.parametrize("path", [p for p in INNER if p.parent.name in HOT], ids=lambda p: p.stem)
def test_what_a_hook_waits_for_loads_nothing_large(path):
    """In core and hook no module loads re, os, json, typing or a package when it is imported."""
    for node in tree_of(path).body:
        names = (
            [node.module]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        assert not {(n or "").split(".")[0] for n in names} & set(
            "re os json typing dataclasses pathlib datetime subprocess yaml".split()
        )


def test_no_room_imports_in_a_circle():
    """Imports at module level have no cycle."""
    graph = {}
    for path in INNER:
        rows = graph.setdefault((home_of(path), path.stem), [])
        for node in tree_of(path).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memory."):
                for alias in node.names:
                    parts = [*node.module.split(".")[1:], alias.name]
                    room = room_of(parts)
                    rows.append((room, parts[1 + room.count(".")]))
    done = set()

    def visit(name, above):
        assert name not in above, (above, name)
        if name not in done:
            for other in graph.get(name, ()):  # an error stands in the package itself
                visit(other, (*above, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_scripts_of_figures_import_only_names_that_exist():
    """No test runs those of evals/ and bench/ in full."""
    wrong = []
    for path in [*(ROOT / "evals").iterdir(), *(ROOT / "bench").iterdir()]:
        text = path.read_bytes() if path.is_file() else b""
        if path.suffix == ".py" or text[:40].startswith(b"#!/usr/bin/env python3"):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memory."):
                    module = importlib.import_module(str(node.module))
                    wrong += [
                        "%s: %s.%s" % (path.name, node.module, name.name)
                        for name in node.names
                        if not hasattr(module, name.name)
                        and importlib.util.find_spec("%s.%s" % (node.module, name.name)) is None
                    ]
    assert wrong == []


def test_no_module_shadows_the_standard_library():
    """`memory/` may stand first on sys.path by accident: its names must hide nothing."""
    assert not set(ORDER) & set(sys.stdlib_module_names)


def test_python_39_reads_every_file():
    """The blocking path runs under a system's 3.9 where there is no runtime."""
    assert [
        path
        for path in (*MODULES, *sorted((ROOT / "hooks").glob("*.py")))
        if not tree_of(path).body
    ] == []


def test_the_command_line_loads_no_engine_before_a_verb_needs_it():
    """Every command pays for what `cli` loads: neither the search, the store nor what finds secrets
    is among it.
    """
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import memory.cli.main; print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT)], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = set(
        """memory.recall.search memory.recall.rank memory.store.store memory.index.builder \
memory.store.redactor
        memory.distill.providerchain memory.distill.digests memory.session.transcript \
memory.project.gitobjects
        memory.health.bundle""".split()
    )
    assert not (heavy | {"numpy", "yaml", "rapidfuzz", "dataclasses", "sqlite3"}) & set(loaded)
