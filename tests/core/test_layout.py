"""Where a memory lives: one place for one repository, ids that never leave it."""

from __future__ import annotations

import os
import subprocess

import pytest

from memory.core import layout

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git@example.com:team/api.git", "https://user:pw@Example.com/team/api"),
        ("ssh://git@example.com:22/team/api.git", "https://example.com/team/api/"),
        ("/srv/git/api.git", "file:///srv/git/api"),
        ("https://example.com/team/api.GIT", "example.com:team/api"),
        ("https://example.com/team/api.git?token=secret", "https://example.com/team/api/?t=1"),
        ("git@[2001:db8::1]:team/api", "ssh://git@[2001:DB8::1]:22/team/api"),
        ("git@altssh.gitlab.com:team/api.git", "https://gitlab.com/team/api"),
        ("git@ssh.dev.azure.com:v3/org/team/api", "https://o@dev.azure.com/org/team/_git/api"),
    ],
)
def test_two_spellings_of_a_remote_are_one_repository(one, other):
    """The scheme, credentials, port, query and `.git` do not count."""
    assert layout.normalise_remote(one) == layout.normalise_remote(other) != ""


def test_the_plugins_folder_is_that_of_this_copy():
    assert layout.plugin_folder() == ROOT and os.path.exists(layout.plugin_folder() + "/install.sh")


def git(cwd, env, *args):
    subprocess.run(
        ["git", *args],
        cwd=cwd,
        env={**env, "GIT_CONFIG_GLOBAL": "/dev/null"},
        check=True,
        capture_output=True,
    )


@pytest.mark.parametrize("bare", [".bare", "api.git"])
def test_a_container_of_a_bare_repository_owns_its_objects(tmp_path, env, bare):
    """Its `.git` file leads to a folder of its own; one that leads out of it proves nothing."""
    container, other = tmp_path / "api", tmp_path / "other"
    for folder, target in ((container, "./" + bare), (other, str(container / bare))):
        folder.mkdir()
        (folder / ".git").write_text("gitdir: %s\n" % target)
    git(container, env, "init", "-q", "--bare", bare)
    owned = [
        layout.is_own_checkout(place.root, place.git, place.anchor)
        for place in (layout.locate(env, str(folder)) for folder in (container, other))
    ]
    assert owned == [True, False]


def test_clones_with_one_basename_do_not_share_and_worktrees_do(tmp_path, env):
    """Two repositories named `api` are two workspaces; a worktree and a subdirectory belong to
    their repository's.
    """
    keys = []
    for side in ("one", "two"):
        repo = tmp_path / side / "api"
        repo.mkdir(parents=True)
        git(repo, env, "init", "-q")
        git(
            repo,
            env,
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.invalid",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        )
        keys.append(layout.locate(env, str(repo)).key)
    assert keys[0] != keys[1] and keys[0].startswith("api-")
    repo = tmp_path / "one" / "api"
    git(repo, env, "worktree", "add", "-q", str(tmp_path / "tree"))
    (repo / "sub").mkdir()
    places = [layout.locate(env, str(p)) for p in (tmp_path / "tree", repo / "sub")]
    assert [p.key for p in places] == [keys[0]] * 2
    assert places[0].shared == str(tmp_path / "tree") + "/.dayleaf"
    assert places[0].scope != places[1].scope


def test_the_home_directory_is_no_shared_tier(env):
    """A project that is the home itself has no second tier in ~/.dayleaf."""
    assert layout.locate(env, env["HOME"]).shared == ""


@pytest.mark.parametrize(
    "text", ["../x", "a/b", ".hidden", "", "x" * 200, "a b", "é", 5, None, "a\0b"]
)
def test_an_id_from_outside_is_checked(text):
    """Nothing that could leave a folder passes."""
    assert layout.valid_id(text) == ""


@pytest.mark.parametrize(
    ("key", "name"), [("api-0a1b2c3d", "api"), ("a-b-0a1b2c3d", "a-b"), ("x", "x")]
)
def test_a_project_is_called_as_its_workspace_without_the_digits(key, name):
    assert layout.project_name(key) == name
