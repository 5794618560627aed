"""Expressions that are compiled late."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memory.session.latepattern import LazyPattern

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.search("a parcel, two Parcels").span(),
        lambda one: one.search("a parcel, two Parcels", 5).span(),
        lambda one: one.match("parcel list")[0],
        lambda one: one.match("a parcel", 2)[0],
        lambda one: one.match("a parcel"),
        lambda one: one.fullmatch("Parcels")[0],
        lambda one: [match[0] for match in one.finditer("a parcel, two Parcels", 0, 8)],
        lambda one: one.findall("a parcel, two Parcels"),
        lambda one: one.split("a parcel, two Parcels", maxsplit=1),
        lambda one: one.sub("box", "a parcel, two Parcels", count=1),
        lambda one: one.sub(lambda match: match[0].upper(), "a parcel"),
    ],
)
def test_it_finds_what_a_compiled_one_finds(call):
    """With its flags, in part of a text too."""
    assert call(LazyPattern(r"parcels?", re.I)) == call(re.compile(r"parcels?", re.I))


def test_nothing_is_compiled_before_it_is_used():
    """One that cannot be compiled shows it."""
    late = LazyPattern("(")
    with pytest.raises(re.error):
        late.search("x")


def test_what_is_declared_can_be_compiled():
    """A slip in one that no test uses would come to light in somebody's session."""
    code = (
        "import importlib, re\nfrom memory.session.latepattern import LazyPattern\n"
        "for name in %r:\n    for one in vars(importlib.import_module(name)).values():\n"
        "        for late in one if isinstance(one, tuple) and not "
        "isinstance(one, LazyPattern) else [one]:\n"
        "            isinstance(late, LazyPattern) and re.compile(late.pattern, late.flags)\n"
    )
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted(ROOT.glob("memory/*/*.py"))
        if "latepattern import" in path.read_text(encoding="utf-8")
    ]
    subprocess.run([sys.executable, "-c", code % names], cwd=ROOT, check=True)
    assert "memory.capture.findings" in names
