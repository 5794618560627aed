"""A store that the first release wrote opens, is brought up to date where it is derived, and else
stays byte for byte.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from harness import releases

import memory
from memory.core import layout
from memory.core.layout import Place

ROOT = Path(__file__).resolve().parents[2]
OLD = ROOT / "tests" / "data" / "firstrelease"
KEY, SCOPE = "project-00000000", "scope."


@pytest.fixture
def old(env, project, place) -> Place:
    """Put the first release's store where this project's would be."""
    home = Path(env["HOME"], ".dayleaf")
    for path in sorted(OLD.rglob("*")):
        name = (
            str(path.relative_to(OLD))
            .replace(KEY, place.key)
            .replace("/" + SCOPE, "/%s." % place.scope)
        )
        target = (
            home / name[5:]
            if name.startswith("home/")
            else Path(project, name.replace("shared/", ".dayleaf/", 1).replace("project/", ""))
        )
        if path.is_file() and path.name != "README.md":
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            target.write_bytes(path.read_bytes().replace(KEY.encode(), place.key.encode()))
            target.chmod(0o600)
    Path(project, "docs").mkdir()
    Path(project, "guide.md").rename(Path(project, "docs", "guide.md"))
    return layout.locate(env, project)


def _files(place: Place) -> dict[str, bytes]:
    """Everything of a store that is not derived, by path."""
    found = [
        path
        for top in (place.home, place.shared)
        for path in Path(top).rglob("*")
        if path.is_file()
    ]
    return {str(path): path.read_bytes() for path in found if "/cache/" not in str(path)}


def test_all_of_it_is_read_and_nothing_is_written(ok, old):
    """Records of every kind, approvals, receipts, outcomes, the archive, the handoff: so that the
    first release reads it still.
    """
    before = _files(old)
    assert (
        "l-76d6d738" in ok("recall", "jwt issuer")
        and "Redis" in ok("recall", "redis")
        and "c-081499f0" in ok("recall", "retries worker")
    )
    assert (
        "approved" in ok("rule", "list")
        and "1 of 2 steps done" in ok("today")
        and "Retries half moved" in ok("handoff", "--show")
    )
    assert json.loads(ok("show", "l-76d6d738", "--json"))["up"] == 1
    assert (
        "l-76d6d738" in ok("why", "last")
        and "r-cc9c7bc1" in ok("resource", "list")
        and "Last sessions" in ok()
    )
    assert json.loads(ok("check", "--json"))["errors"] == 0
    assert _files(old) == before


def test_what_is_derived_comes_up_to_date_by_itself(ok, run, old):
    """An index of an older format answers from the files, and the next refresh makes one of this
    version.
    """
    assert json.loads(ok("index", "status", "--json"))["index"]["state"] == "damaged"
    assert "l-76d6d738" in ok("recall", "jwt issuer")
    ok("index", "refresh")
    assert (
        json.loads(ok("index", "status", "--json"))["index"]["state"] == "fresh"
        and json.loads(ok("index", "verify", "--json"))["verified"]
    )
    assert not [
        row for row in json.loads(run("doctor", "--json").stdout) if row["verdict"] == "FAIL"
    ]


def test_what_is_archived_comes_back_and_what_is_new_stands_beside(ok, old):
    """The first release's archive and plan go on with this one."""
    assert "A note that was archived" in ok("restore", "l-d99486e0")
    assert "2 of 2" in ok("plan", "step", "2") and ok("feedback", "l-76d6d738", "up")


def test_a_release_builds_clean(tmp_path):
    """The wheel holds the whole plugin, every module and what they read, and its command is the
    same; so does the source release.
    """
    if subprocess.run(
        [sys.executable, "-c", "import setuptools.command.bdist_wheel"], capture_output=True
    ).returncode:
        pytest.skip("no setuptools that makes wheels is here")
    wheel, source = releases.built(tmp_path, "bdist_wheel", "sdist")
    assert wheel.name == "dayleaf-%s-py3-none-any.whl" % memory.__version__
    with tarfile.open(source) as tar:
        told = {name.partition("/")[2] for name in tar.getnames()}
    subprocess.run(
        [sys.executable, "-m", "zipfile", "-e", str(wheel), str(tmp_path / "installed")], check=True
    )
    held = {
        str(path.relative_to(tmp_path / "installed" / "dayleaf"))
        for path in (tmp_path / "installed" / "dayleaf").rglob("*")
        if path.is_file()
    }
    wanted = {
        str(path.relative_to(ROOT))
        for part in releases.PLUGIN
        for path in [ROOT / part, *(ROOT / part).rglob("*")]
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= held and wanted <= told
    said = re.search(
        r"dayleaf ?= ?([\w.]+):(\w+)",
        next((tmp_path / "installed").glob("*.dist-info/entry_points.txt")).read_text(),
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import sys; sys.path.insert(0, %r); from %s import %s as run; sys.argv[1:] = "
                "['--version']; run()"
            )
            % (str(tmp_path / "installed"), said[1], said[2]),
        ],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert done.stdout.startswith("dayleaf " + memory.__version__)
