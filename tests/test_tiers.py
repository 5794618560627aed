"""The shape of memory/: tiers, names, and the syntax that a system Python 3.9 must read."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "memory").glob("*.py"))
TIERS = {
    "GROUND": "errors clock jsonio files config paths text hookio",
    "RECORD": "head yamlhead frontmatter records evidence named shapes redact cleaning ids git archive composing reader"
              " store trust adoption child receipts handoff walk plans sections resources bulk sources imports trees foreign"
              " ledger gitobjects tracked journal attempts arrival backup restoration traces suspects",
    "CAPTURE": "shell transcript facts fixes lessons checkpoint outline progress capture recovery backfill claudememory",
    "INDEX": "contexttags manifests segment delta entry index postings assembly indexer topics embedder minilm rows sidecar"
              " nearest queries vectors links",
    "SELECT": "query fuzzy loader look rank timewords shelf semantic question shortforms lookup recall batch symbols naming"
              " claims excerpt linked marks expiry duplicates scoring",
    "SPEAK": "render terminal results brief context shortcuts digest units cues likely extract account prompts proof"
              " providers answer spend sealed kept repeat parts distill status doctor why worker inforce draft standup"
              " failures statements harvest checks templates review running graph used candidates contradictions upkeep"
              " erasure audit figures charts drawn goldens measured checkup incidents mending",
    "COMMAND": "call arguments settings writing reading showing distilling indexing maintaining cli telling harvesting"
              " planning authoring ruling deciding resourcing linking importing judging auditing keeping evaluating",
}
ORDER = list(TIERS)
TIER = {name: tier for tier, names in TIERS.items() for name in names.split()}


def imports(path: Path) -> list[tuple[str, int]]:
    """Every module of ours that a file imports, in functions and for types too, with its line."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "memory":
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memory."):
            found.append(((node.module or "").split(".")[1], node.lineno))
        elif isinstance(node, ast.Import):
            found += [(alias.name.split(".")[1], node.lineno) for alias in node.names if alias.name.startswith("memory.")]
    return [(name, line) for name, line in found if name != "__version__"]


def test_every_module_has_a_tier():
    """A module that the table does not name has no place, and a name without a module is stale."""
    assert {p.stem for p in MODULES} - {"__init__", "__main__"} == set(TIER)


@pytest.mark.parametrize("path", [p for p in MODULES if not p.stem.startswith("__")], ids=lambda p: p.stem)
def test_a_module_imports_from_its_own_tier_or_an_earlier_one(path):
    """Imports only ever point down the table."""
    mine = ORDER.index(TIER[path.stem])
    wrong = [f"line {line}: {name} is {TIER.get(name)}" for name, line in imports(path)
             if ORDER.index(TIER.get(name, "GROUND")) > mine]
    assert not wrong, f"{path.name} is {TIER[path.stem]}: " + "; ".join(wrong)


def test_no_tier_imports_in_a_circle():
    """Within a tier too, imports at module level have no cycle."""
    graph = {p.stem: [] for p in MODULES}
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module == "memory":
                graph[path.stem] += [alias.name for alias in node.names if alias.name in graph]
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join((*above, name))
        if name not in done:
            for other in graph[name]:
                visit(other, (*above, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_no_module_shadows_the_standard_library():
    """`memory/` may stand first on sys.path by accident: its names must hide nothing."""
    assert not {p.stem for p in MODULES} - {"__init__", "__main__"} & set(sys.stdlib_module_names)
    assert not set(TIER) & set(sys.stdlib_module_names)


@pytest.mark.parametrize("path", [*MODULES, *sorted((ROOT / "hooks").glob("*.py"))], ids=lambda p: p.stem)
def test_python_39_reads_every_file(path):
    """The blocking path runs under a system's 3.9 where there is no runtime."""
    ast.parse(path.read_text(encoding="utf-8"), filename=str(path), feature_version=(3, 9))


def test_the_command_line_loads_no_engine_before_a_verb_needs_it():
    """Every command pays for what `cli` loads: neither the search, the store nor what finds secrets is among it."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import memory.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", code, str(ROOT)], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"memory." + name for name in "recall rank store indexer redact distill digest transcript gitobjects backup".split()}
    assert not (heavy | {"numpy", "yaml", "rapidfuzz", "dataclasses", "sqlite3"}) & set(loaded)
