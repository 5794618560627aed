"""Settings: their order, and what is none."""

from __future__ import annotations

import json
import os

import pytest

from memory.core import config, files, layout


@pytest.mark.parametrize("value", ["0.5", "2.5", "1e400", "NaN", "-1", "1e12"])
def test_a_whole_number_stays_one(home, value):
    """A fraction would pass as a limit that nothing ever equals; infinity and NaN compare as they
    like.
    """
    found = config.load(home, "", {"DAYLEAF_LOAD_TOP": value})
    assert found["load.top"] == config.DEFAULTS["load.top"] and len(found.problems) == 1


def test_the_environment_wins_over_the_user_and_the_project_only_narrows(home, project):
    """Order of precedence; a project cannot raise a limit, switch a push on, or name a command."""
    base = home + "/.dayleaf"
    files.replace(
        base + "/config.json",
        b'{"load": {"top": 4, "prompt": false}, "distill.maxTokens": 300, "nope": 1}',
    )
    os.makedirs(project + "/.dayleaf")
    with open(project + "/.dayleaf/config.json", "w") as file:
        json.dump(
            {
                "load.top": 9,
                "load.prompt": True,
                "distill.command": ["sh"],
                "redact.enabled": False,
                "distill.maxTokens": 100,
            },
            file,
        )
    found = config.load(
        base, project, {"DAYLEAF_LOAD_SESSION": "0", "CLAUDE_PLUGIN_OPTION_DISTILL_TIMEOUT": "7"}
    )
    assert (found["load.top"], found["load.prompt"], found["distill.maxTokens"]) == (4, False, 100)
    assert (found["distill.command"], found["redact.enabled"]) == ([], True)
    assert (found["load.session"], found["distill.timeout"]) == (False, 7)
    assert len(found.problems) == 3 and any("'nope'" in line for line in found.problems)


def test_a_setting_that_was_dropped_is_told_and_does_nothing(home):
    """The file loads, and one line names each."""
    files.replace(
        home + "/.dayleaf/config.json", b'{"load": {"top": 3, "recent": 2}, "recall.limit": 4}'
    )
    found = config.load(home + "/.dayleaf", "", {"DAYLEAF_RECALL_LIMIT": "5"})
    assert found["load.top"] == 3 and set(found.values) == set(config.DEFAULTS)
    assert [line.partition(": ")[2] for line in found.problems] == [
        "'load.recent' does nothing now; take it out",
        "'recall.limit' does nothing now; take it out",
    ]
    assert not config.DROPPED_KEYS & set(config.DEFAULTS)


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b'{"load.top": "many"}', b'{"load.top": -1}', b"\xff\xfe"]
)
def test_a_broken_config_is_a_problem_and_not_an_error(home, data):
    """The defaults stand, and one line says what is wrong."""
    files.replace(home + "/.dayleaf/config.json", data)
    found = config.load(home + "/.dayleaf", "", {})
    assert found["load.top"] == config.DEFAULTS["load.top"] and len(found.problems) == 1


@pytest.mark.parametrize(
    "data",
    [
        b'{"capture.projects": "listed",}',
        b'{"capture.enabled": false} // mine',
        b"",
        b"[]",
        b'{"capture.project": "listed"}',
        b'{"capture": {"enable": false}}',
    ],
)
@pytest.mark.parametrize("file", ["user", "project", "workspace"])
def test_what_cannot_be_read_of_capture_switches_it_off(home, project, file, data):
    """In each of the three files; the line that says so says what it means."""
    base, private = home + "/.dayleaf", home + "/.dayleaf/workspaces/x-1"
    folder = {"user": base, "project": project + "/.dayleaf", "workspace": private}[file]
    if file != "user":
        files.replace(base + "/config.json", b'{"notes.provider": "claude"}')
    files.replace(folder + "/config.json", data)
    found = config.load(base, project, {"DAYLEAF_CAPTURE_ENABLED": "true"}, private)
    assert (found["capture.enabled"], found["notes.provider"]) == (False, "off")
    (line,) = found.problems
    assert "capture and notes are off until" in line


@pytest.mark.parametrize("key", ["stopAfter", "lessons", "summarise"])
def test_an_unknown_key_of_another_kind_leaves_capture_on(home, key):
    """So does each setting of capture that an older version had."""
    files.replace(
        home + "/.dayleaf/config.json", b'{"load.tops": 3, "capture.%s": 4}' % key.encode()
    )
    found = config.load(home + "/.dayleaf", "", {})
    assert found["capture.enabled"] and len(found.problems) == 2


def test_what_a_user_said_of_one_project_is_a_switch_and_no_more(home, project):
    """Between their own settings and the repository's, which still only narrows."""
    base, private = home + "/.dayleaf", home + "/.dayleaf/workspaces/x-1"
    files.replace(
        private + "/config.json",
        b'{"capture.enabled": false, "load.top": 2, "redact.enabled": false}',
    )
    found = config.load(base, project, {}, private)
    assert (found["capture.enabled"], found["load.top"], found["redact.enabled"]) == (
        False,
        2,
        True,
    )
    assert found.sources["capture.enabled"] == "workspace" and len(found.problems) == 1


@pytest.mark.parametrize("way", ["offered", "claimed"])
def test_a_project_that_may_have_moved_stays_off_until_its_user_says_more(place, env, way):
    """What was said of the workspace before only narrows here: it lists nothing, adds no folder."""
    files.replace(
        place.home + "/workspaces/before-1a2b3c4d/config.json",
        b'{"capture": {"enabled": false}, "load": {"push": "full"}, "tiers": ["/notes"]}',
    )
    if way == "offered":
        files.replace(place.cache + layout.OFFERED, b"before-1a2b3c4d")
    else:
        place.claimed = "before-1a2b3c4d"
    found = config.load_for_place(place, env)
    assert (found["capture.enabled"], found["load.push"], found["tiers"]) == (False, "careful", [])
    assert found.sources["capture.enabled"] == config.WORKSPACE and found.problems == []
    files.replace(place.private + "/config.json", b"{}")  # of `dayleaf push on mine`
    assert config.load_for_place(place, env)["capture.enabled"]


def test_a_project_that_may_be_a_listed_one_is_not_listed(place, env):
    files.replace(place.home + "/config.json", b'{"capture.projects": "listed"}')
    files.replace(
        place.home + "/workspaces/before-1a2b3c4d/config.json", b'{"capture.enabled": true}'
    )
    place.claimed = "before-1a2b3c4d"
    assert not config.load_for_place(place, env)["capture.enabled"]


def test_listed_projects_alone_are_captured_where_the_user_wants_that(home, project):
    """A repository cannot list itself."""
    base, private = home + "/.dayleaf", home + "/.dayleaf/workspaces/x-1"
    files.replace(base + "/config.json", b'{"capture.projects": "listed"}')
    files.replace(project + "/.dayleaf/config.json", b'{"capture.enabled": true}')
    assert not config.load(base, project, {}, private)["capture.enabled"]
    files.replace(private + "/config.json", b'{"capture.enabled": true}')
    assert config.load(base, project, {}, private)["capture.enabled"]


@pytest.mark.parametrize(
    ("key", "wrong", "safe"),
    [
        ("capture.projects", "listd", "listed"),
        ("capture.enabled", "flase", False),
        ("load.push", "carefull", "off"),
        ("notes.provider", "claud", "off"),
        ("distill.provider", "extrakt", "extract"),
        ("index.backend", "postgre", "local"),
        ("redact.enabled", "", True),
    ],
)
def test_a_wrong_value_is_read_as_the_safe_one_and_named(home, key, wrong, safe):
    """In the user's file, in the environment and in a plugin option alike."""
    name = key.upper().replace(".", "_")
    for prefix in ("DAYLEAF_", "CLAUDE_PLUGIN_OPTION_"):
        found = config.load(home, "", {prefix + name: wrong})
        assert found[key] == safe
        assert "'%s' takes" % key in found.problems[0] and len(found.problems) == 1
    files.replace(home + "/.dayleaf/config.json", json.dumps({key: wrong}).encode())
    found = config.load(home + "/.dayleaf", "", {})
    assert found[key] == safe and "'%s' takes" % key in found.problems[0]


def test_a_wrong_value_in_a_projects_file_narrows(home, project):
    """Its typing error never captures more than the user wants."""
    files.replace(
        project + "/.dayleaf/config.json",
        b'{"capture.enabled": "no", "load.push": "of", "notes.provider": "of"}',
    )
    found = config.load(home + "/.dayleaf", project, {})
    assert (found["capture.enabled"], found["load.push"], found["notes.provider"]) == (
        False,
        "off",
        "off",
    )
    assert len(found.problems) == 3


@pytest.mark.parametrize("named", ["listed", "listd", "all"])
def test_the_environment_cannot_undo_a_list_of_projects(home, project, named):
    """A wrong word there means `listed`; `all` does not widen what the user's file says."""
    base = home + "/.dayleaf"
    if named == "all":
        files.replace(base + "/config.json", b'{"capture.projects": "listed"}')
    env = {"DAYLEAF_CAPTURE_PROJECTS": named, "DAYLEAF_CAPTURE_ENABLED": "1"}
    assert not config.load(base, project, env)["capture.enabled"]


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("load.top", "99999"),
        ("distill.maxTokens", "1"),
        ("upkeep.expireDays", "-5"),
        ("upkeep.expireDays", "0"),
    ],
)
def test_a_number_beyond_its_limits_is_told_with_them(home, key, wrong):
    """The sentence says the least and the most."""
    found = config.load(home, "", {"DAYLEAF_" + key.upper().replace(".", "_"): wrong})
    assert found[key] == config.DEFAULTS[key]
    least, most = config.LIMITS[key]
    assert found.problems[0].endswith("takes a whole number from %d to %d" % (least, most))


def test_each_number_has_limits():
    """A new setting gets its own."""
    numbers = {key for key, default in config.DEFAULTS.items() if type(default) is int}
    assert numbers == set(config.LIMITS)
