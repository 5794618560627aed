"""What a directory of plugins shows and what an install brings: manifests, icon, the copy that the
client makes.
"""

from __future__ import annotations

import ast
import json
import re
import struct
import subprocess
from pathlib import Path

import pytest
from harness import releases
from harness.client import claude_bin  # noqa: F401  (a fixture)
from harness.git_http import GitHttp, bare_clone
from harness.lab import PATH, commit

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
MOST_BYTES = 3 << 20
WHOLE = {
    ".claude-plugin",
    "LICENSE",
    "README.md",
    "bin",
    "commands",
    "hooks",
    "install.sh",
    "memory",
    "pyproject.toml",
    "skills",
}


def files_of(folder: Path) -> list[Path]:
    return [
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]


def validated(claude: str, folder: Path, env: dict[str, str]) -> str:
    """Return what the directory's checks say of a folder; they pass."""
    done = subprocess.run(
        [claude, "plugin", "validate", "--strict", "--profile", "directory", str(folder)],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and "✔ Validation passed\n" in done.stdout, (
        done.stdout + done.stderr
    )
    return done.stdout


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "a home"


@pytest.fixture
def installed(claude_bin, home, tmp_path) -> Path:  # noqa: F811
    """The copy that the client makes of the repository in one command, without a clone."""
    source = releases.tree(tmp_path / "source")
    commit(source, "release")
    (tmp_path / "git").mkdir()
    bare_clone(str(source), str(tmp_path / "git" / "dayleaf.git"))
    home.mkdir()
    with GitHttp(str(tmp_path / "git")) as git:
        words = ["plugin", "install", "dayleaf", "--marketplace", git.url + "/dayleaf.git"]
        done = subprocess.run(
            [claude_bin, *words],
            env={"HOME": str(home), "PATH": PATH},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    listed = json.loads((home / ".claude" / "plugins" / "installed_plugins.json").read_text())
    return Path(listed["plugins"]["dayleaf@dayleaf"][0]["installPath"])


def test_the_directory_takes_the_repository(claude_bin, env):  # noqa: F811
    """Strictly, by the client's own check: manifests, hooks, icon, README, licence; it names each
    part and host.
    """
    said = validated(claude_bin, ROOT, env)
    assert "Hosts: files.pythonhosted.org (declared), pypi.org (declared)" in said
    for path in sorted((ROOT / "commands").glob("*.md")):
        assert f"commands: dayleaf:{path.stem}" in said


def test_an_install_brings_what_a_plugin_needs_and_no_more(
    installed,
    claude_bin,  # noqa: F811
    home,
):
    """Real files, no tests, evaluations or benchmarks, at most 3 MB; the copy passes the same
    check, and its command runs.
    """
    brought = files_of(installed)
    assert {path.relative_to(installed).parts[0] for path in brought} - {".in_use"} == WHOLE
    assert not [path for path in installed.rglob("*") if path.is_symlink()]
    assert sum(path.stat().st_size for path in brought) <= MOST_BYTES
    wanted = {
        path.relative_to(ROOT)
        for part in ("memory", "hooks", "commands", "skills", "bin")
        for path in files_of(ROOT / part)
    }
    assert wanted <= {path.relative_to(installed) for path in brought}
    validated(claude_bin, installed, {"HOME": str(home), "PATH": PATH})
    done = subprocess.run(
        [installed / "bin" / "dayleaf", "--version"],
        env={"HOME": str(home), "PATH": PATH},
        capture_output=True,
        text=True,
        check=True,
    )
    assert MANIFEST["version"] in done.stdout


def test_what_ships_is_the_repositorys_own():
    """The folder holds links to the parts; the client validates no link, so three small manifests
    are copies.  Its README has no links into the repository.
    """
    plugin = ROOT / "plugin"
    assert "](" not in (plugin / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in plugin.iterdir()} == WHOLE
    assert {path.name for path in files_of(plugin / "hooks")} == {
        path.name for path in files_of(ROOT / "hooks")
    }
    for path in plugin.rglob("*"):
        twin = ROOT / path.relative_to(plugin)
        if path.is_symlink():
            assert path.resolve() == twin.resolve(), path
        elif path.is_file() and "__pycache__" not in path.parts and path.name != "README.md":
            assert path.suffix == ".json" and path.read_bytes() == twin.read_bytes(), "cp %s %s" % (
                twin,
                path,
            )


@pytest.mark.parametrize("name", ["icon.png", "icon-dark.png"])
def test_the_icon_is_a_square_picture(name):
    """PNG, 512 to 2,048 pixels a side, under 2 MB; beside it the drawing."""
    data = (ROOT / ".claude-plugin" / name).read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert (
        data[:8] == b"\x89PNG\r\n\x1a\n"
        and width == height
        and 512 <= width <= 2048
        and len(data) < 2 << 20
    )
    assert "<title>dayleaf" in (ROOT / "docs" / name.replace(".png", ".svg")).read_text(
        encoding="utf-8"
    )


def test_the_description_lets_a_user_expect_every_hook_and_access():
    """What runs at each event, what is read and written, what is fetched, and when a model is
    asked.
    """
    said = MANIFEST["description"]
    for words in (
        "session starts",
        "compacted",
        "with that prompt",
        "failed call",
        "subagent's prompt",
        "transcript",
        "git state",
        "~/.dayleaf",
        "repository's .dayleaf",
        "fetches",
        "only if you type that or switch it on",
    ):
        assert words in said
    assert (
        MANIFEST["displayName"]
        and MANIFEST["homepage"].startswith("https://")
        and MANIFEST["repository"].startswith("https://")
    )
    packages = re.findall(
        r'^    "(.+)",$',
        (ROOT / "pyproject.toml")
        .read_text()
        .partition("\ndependencies = [")[2]
        .partition("\n]")[0],
        re.M,
    )
    assert (
        "four Python packages" in said
        and len([row for row in packages if "python_version" not in row]) == 4
    )


def test_no_message_names_a_page_that_an_install_leaves_out():
    """Of the modules and of the set-up; a comment may."""
    told = [line for line in (ROOT / "install.sh").read_text().split("\n") if line[:1] != "#"]
    for path in sorted((ROOT / "memory").rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                node.value.value = ""  # a docstring
        if path.name != "registry.py":
            told += [n.value for n in ast.walk(tree) if isinstance(getattr(n, "value", 0), str)]
    assert len(told) > 5000 and [text for text in told if re.search(r"docs/\w+\.md", text)] == []
