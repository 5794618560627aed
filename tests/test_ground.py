"""The ground tier: instants, JSON, files, settings, places."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from memory import adoption, clock, config, files, jsonio, paths, trust

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.mark.parametrize(("text", "iso"), [
    ("2026-11-21T14:30:52Z", "2026-11-21T14:30:52Z"), ("2026-11-21", "2026-11-21T00:00:00Z"),
    ("2026-11-21 14:30", "2026-11-21T14:30:00Z"), ("2026-11-21T14:30:52+09:00", "2026-11-21T05:30:52Z"),
    ("1795271452", "2026-11-21T14:30:52Z"), ("1795271452000", "2026-11-21T14:30:52Z"), ("2024-02-29", "2024-02-29T00:00:00Z"),
    ("2026/11/21", "2026-11-21T00:00:00Z"), ("1969-12-31", "1969-12-31T00:00:00Z")])
def test_an_instant_is_read_as_people_write_it(text, iso):
    """Dates, times with and without zone, epoch seconds and milliseconds."""
    assert clock.iso(clock.parse(text)) == iso


def test_notes_of_before_a_remote_stay_the_workspace_s(env, now, project):
    """A repository gets its remote after its first notes: they are read under their old name, then moved to the due one."""
    before = paths.locate(env, project)
    os.makedirs(before.private + "/learnings")
    os.makedirs(before.cache)
    trust.decide(before.home, before.key, "r-1", "0" * 64, "approve", "someone", now)
    with open(project + "/.git/config", "a") as file:
        file.write('[remote "origin"]\n\turl = git@example.org:team/widget.git\n')
    read = paths.locate(env, project)
    assert (read.key, bool(read.due)) == (before.key, True)
    moved = adoption.at(env, project, now)
    assert moved.key == read.due == paths.locate(env, project).key and moved.key.startswith("widget-")
    assert os.path.isdir(moved.private + "/learnings") and not os.path.exists(before.private)
    assert (moved.key, "r-1", "0" * 64) in trust.approved(moved.home)


@pytest.mark.parametrize("text", ["", "soon", "2026", "2026-13-01", "2026-11-21T25", "v2.1.0", "99"])
def test_what_is_no_instant_is_none(text):
    """Words, years, impossible months."""
    assert clock.parse(text) is None


def test_json_without_the_json_module_agrees_with_it():
    """Both directions, over nested values and text with every kind of character."""
    value = {"a": [1, -2.5, True, False, None, "é😀\n\"\\\u2028"], "b": {"c": []}, "": "x" * 5000}
    assert jsonio.parse(json.dumps(value)) == value
    assert jsonio.parse("\ufeff " + json.dumps(value, ensure_ascii=False)) == value
    assert json.loads(jsonio.dump(value)) == value


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nope", '{"a":1} x', "[" * 100000])
def test_broken_json_is_a_value_error(text):
    """Truncated, trailing, nested beyond sense."""
    with pytest.raises(ValueError):
        jsonio.parse(text)


@pytest.mark.parametrize("text", ["{", '"abc', '{"a":1,}', "[1", ""])
def test_broken_json_is_a_value_error_where_nobody_imported_json(text):
    """As in a hook: up to Python 3.11 the C scanner needs `json.decoder` to raise its own error."""
    code = "import sys; sys.path.insert(0, sys.argv[1])\nfrom memory import jsonio\n" \
           "try: jsonio.parse(sys.argv[2])\nexcept ValueError: print('ValueError', 'json' in sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(ROOT), text], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("ValueError False\n", "")


@pytest.mark.parametrize("value", ["0.5", "2.5", "1e400", "NaN", "-1", "1e12"])
def test_a_whole_number_stays_one(home, value):
    """A fraction would pass as a limit that nothing ever equals; infinity and NaN compare as they like."""
    found = config.load(home, "", {"DAYLEAF_LOAD_TOP": value})
    assert found["load.top"] == config.DEFAULTS["load.top"] and len(found.problems) == 1


def test_a_lone_surrogate_never_leaves():
    """In a context it would make every later API call fail."""
    json.loads(jsonio.dump({"a": "x\ud800y"}))["a"].encode("utf-8")


def test_a_replaced_file_is_private_whatever_the_umask(tmp_path):
    """0600 and 0700, also under umask 0."""
    before = os.umask(0)
    try:
        files.replace(str(tmp_path / "a/b/c.txt"), b"x")
        files.append(str(tmp_path / "a/log"), b"y\n")
    finally:
        os.umask(before)
    modes = [oct((tmp_path / p).stat().st_mode & 0o777) for p in ("a", "a/b", "a/b/c.txt", "a/log")]
    assert modes == ["0o700", "0o700", "0o600", "0o600"]


def test_create_never_overwrites(tmp_path):
    """The second writer of a name is told, and the first one's bytes stay."""
    path = str(tmp_path / "x")
    files.create(path, b"first")
    with pytest.raises(FileExistsError):
        files.create(path, b"second")
    assert files.read(path) == b"first"
    assert sorted(os.listdir(tmp_path)) == ["home", "x"]


def test_a_lock_is_held_by_one_process(tmp_path):
    """A second process is refused while the first lives, and gets it when the first is killed."""
    path = str(tmp_path / "lock")
    code = ("import sys; sys.path.insert(0, sys.argv[1]); from memory import files\n"
            "with files.Lock(sys.argv[2]) as held: print(held, flush=True); sys.stdin.read()")
    root = os.path.dirname(os.path.dirname(os.path.abspath(files.__file__)))
    child = subprocess.Popen([sys.executable, "-c", code, root, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"True\n"
    with files.Lock(path) as held:
        assert not held
    child.kill()
    child.wait()
    with files.Lock(path) as held:
        assert held


def test_a_fifo_does_not_hang_a_reader(tmp_path):
    """What is no regular file is an error at once."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        files.read(str(tmp_path / "pipe"))


def test_a_sibling_with_the_same_start_is_not_inside(tmp_path):
    """`root-evil` is not in `root`."""
    (tmp_path / "root-evil").mkdir()
    (tmp_path / "root").mkdir()
    assert files.inside(str(tmp_path / "root/x"), str(tmp_path / "root"))
    assert not files.inside(str(tmp_path / "root-evil/x"), str(tmp_path / "root"))
    assert not files.inside(str(tmp_path / "root/../root-evil"), str(tmp_path / "root"))


@pytest.mark.parametrize(("one", "other"), [
    ("git@example.com:team/api.git", "https://user:pw@Example.com/team/api"), ("ssh://git@example.com:22/team/api.git", "https://example.com/team/api/"),
    ("/srv/git/api.git", "file:///srv/git/api")])
def test_two_spellings_of_a_remote_are_one_repository(one, other):
    """The scheme, credentials, port and `.git` do not count."""
    assert paths.normalise_remote(one) == paths.normalise_remote(other) != ""


def git(cwd, env, *args):
    subprocess.run(["git", *args], cwd=cwd, env={**env, "GIT_CONFIG_GLOBAL": "/dev/null"}, check=True, capture_output=True)


def test_clones_with_one_basename_do_not_share_and_worktrees_do(tmp_path, env):
    """Two repositories named `api` are two workspaces; a worktree and a subdirectory belong to their repository's."""
    keys = []
    for side in ("one", "two"):
        repo = tmp_path / side / "api"
        repo.mkdir(parents=True)
        git(repo, env, "init", "-q")
        git(repo, env, "-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "--allow-empty", "-m", "x")
        keys.append(paths.locate(env, str(repo)).key)
    assert keys[0] != keys[1] and keys[0].startswith("api-")
    repo = tmp_path / "one" / "api"
    git(repo, env, "worktree", "add", "-q", str(tmp_path / "tree"))
    (repo / "sub").mkdir()
    places = [paths.locate(env, str(p)) for p in (tmp_path / "tree", repo / "sub")]
    assert [p.key for p in places] == [keys[0]] * 2
    assert places[0].shared == str(tmp_path / "tree") + "/.dayleaf"
    assert places[0].scope != places[1].scope


def test_the_home_directory_is_no_shared_tier(env):
    """A project that is the home itself has no second tier in ~/.dayleaf."""
    assert paths.locate(env, env["HOME"]).shared == ""


@pytest.mark.parametrize("text", ["../x", "a/b", ".hidden", "", "x" * 200, "a b", "é", 5, None, "a\0b"])
def test_an_id_from_outside_is_checked(text):
    """Nothing that could leave a folder passes."""
    assert paths.safe_id(text) == ""


def test_the_environment_wins_over_the_user_and_the_project_only_narrows(home, project):
    """Order of precedence; a project cannot raise a limit, switch a push on, or name a command."""
    base = home + "/.dayleaf"
    files.replace(base + "/config.json", b'{"load": {"top": 4, "prompt": false}, "distill.maxTokens": 300, "nope": 1}')
    os.makedirs(project + "/.dayleaf")
    with open(project + "/.dayleaf/config.json", "w") as file:
        json.dump({"load.top": 9, "load.prompt": True, "distill.command": ["sh"], "redact.enabled": False,
                   "distill.maxTokens": 100}, file)
    found = config.load(base, project, {"DAYLEAF_LOAD_RECENT": "1", "CLAUDE_PLUGIN_OPTION_RECALL_LIMIT": "7"})
    assert (found["load.top"], found["load.prompt"], found["distill.maxTokens"]) == (4, False, 100)
    assert (found["distill.command"], found["redact.enabled"]) == ([], True)
    assert (found["load.recent"], found["recall.limit"]) == (1, 7)
    assert len(found.problems) == 3 and any("'nope'" in line for line in found.problems)


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"load.top": "many"}', b'{"load.top": -1}', b"\xff\xfe"])
def test_a_broken_config_is_a_problem_and_not_an_error(home, data):
    """The defaults stand, and one line says what is wrong."""
    files.replace(home + "/.dayleaf/config.json", data)
    found = config.load(home + "/.dayleaf", "", {})
    assert found["load.top"] == config.DEFAULTS["load.top"] and len(found.problems) == 1
