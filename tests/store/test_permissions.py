"""The table of who may do what: a row for every verb, word and option, and what each caller is
refused.
"""

from __future__ import annotations

import pytest

from memory.cli.main import VERBS
from memory.core import boundary, config, spellings
from memory.store import permissions
from memory.store.permissions import PERSON, SESSION, TYPED, explain_refusal, required_caller

DECLARED = {(verb, option.flag) for verb, row in VERBS.items() for option in row.options}


def rows():
    """Every (verb, option) that the table names."""
    return {
        (verb, option.partition("=")[0])
        for verb, row in permissions.VERBS.items()
        for option in " ".join((row.free, row.typed, row.person, row.inside)).split()
        if option != "WORDS"
    }


def test_every_verb_and_option_has_a_row():
    """A verb or an option that is added without a row fails here, and a row without its option
    too.
    """
    assert set(VERBS) == set(permissions.VERBS)
    assert rows() == DECLARED


def test_no_option_stands_in_two_lists_of_a_row():
    for verb, row in permissions.VERBS.items():
        listed = " ".join((row.free, row.typed, row.person, row.inside)).split()
        assert len(listed) == len(set(listed)), verb


def test_what_has_no_row_is_a_persons():
    assert required_caller("unheard") == required_caller("recall", option="--unheard") == PERSON
    assert explain_refusal(SESSION, "unheard", [], {}, bool) and not explain_refusal(
        PERSON, "unheard", [], {}, bool
    )


@pytest.mark.parametrize(
    ("verb", "words", "given"),
    [
        ("recall", ["x"], {"--provider": "/tmp/x"}),
        ("index", ["build"], {"--provider": "/tmp/x"}),
        ("learn", ["x"], {"--source": "human"}),
        ("learn", ["x"], {"--global": ""}),
        ("learn", ["x"], {"--confidence": "high"}),
        ("checkpoint", [], {"--transcript": "/etc/passwd"}),
        ("rule", ["approve", "x"], {}),
        ("rule", ["suggest", "x"], {"--global": ""}),
        ("review", [], {}),
        ("harvest", ["accept", "x"], {}),
        ("config", ["set", "distill.command", "[]"], {}),
        ("restore", ["x"], {}),
        ("redact", ["x"], {}),
        ("backup", [], {}),
        ("undo", [], {}),
        ("upkeep", [], {"--apply": ""}),
        ("forget", ["x"], {}),
        ("forget", [], {"--session": "x"}),
        ("import", ["transcripts"], {}),
        ("edit", ["x"], {}),
        ("resource", ["approve", "x"], {}),
        ("resource", ["delete", "x"], {}),
        ("off", ["project"], {}),
        ("doctor", [], {"--fix": ""}),
        ("distill", ["x"], {"--provider": "gemini"}),
        ("distill", ["x"], {"--provider": "auto"}),
        ("harvest", [], {"--provider": "claude"}),
        ("standup", [], {"--provider": "command"}),
        ("handoff", [], {"--provider": "claude"}),
        ("tier", ["add", "/home/me/notes"], {}),
        ("tier", ["remove", "x"], {}),
        ("tier", ["list"], {"--everywhere": ""}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, (list, dict)) else value,
)
def test_what_a_session_may_not(verb, words, given):
    """A program, a path, an author, every project, an approval, the settings: none of it is a
    model's.
    """
    said = explain_refusal(SESSION, verb, words, given, lambda path: True)
    assert (
        said.startswith("only a person ")
        and "run `" + spellings.format_command(verb) in said
        and "\n" not in said
    )
    assert not explain_refusal(PERSON, verb, words, given, lambda path: False)


@pytest.mark.parametrize(
    ("verb", "words", "given"),
    [
        ("recall", ["x"], {"--since": "3d", "--json": ""}),
        ("learn", ["x"], {"--confidence": "medium"}),
        ("harvest", [], {}),
        ("rule", ["suggest", "x"], {}),
        ("resource", ["add"], {"--path": "docs/a.md"}),
        ("config", ["list"], {}),
        ("distill", ["x"], {"--provider": "extract"}),
        ("upkeep", [], {}),
    ],
)
def test_what_a_session_may(verb, words, given):
    assert explain_refusal(SESSION, verb, words, given, lambda path: True) == ""


@pytest.mark.parametrize(
    ("verb", "words", "given"),
    [
        ("resource", ["add"], {"--path": "/etc/passwd"}),
        ("resource", ["add", "/etc/passwd"], {"--title": "x"}),
        ("check", ["/etc/passwd"], {}),
        ("import", ["dir", "/etc"], {}),
        ("eval", ["/etc/passwd"], {}),
    ],
)
def test_a_session_names_no_path_outside_the_project(verb, words, given):
    assert "files of the project" in explain_refusal(
        SESSION, verb, words, given, lambda path: False
    )
    assert explain_refusal(PERSON, verb, words, given, lambda path: False) == ""


def test_a_scripts_arguments_may_be_any_path():
    words = ["run", "r-1", "/etc/passwd"]
    assert explain_refusal(SESSION, "resource", words, {}, lambda path: False) == ""


def test_a_slash_command_speaks_for_a_person_and_names_no_program():
    assert explain_refusal(TYPED, "learn", ["x"], {"--source": "human", "--global": ""}, bool) == ""
    assert explain_refusal(TYPED, "recall", ["x"], {"--provider": "/tmp/x"}, bool)
    assert explain_refusal(TYPED, "rule", ["approve", "x"], {}, bool)


def test_only_the_hook_that_is_the_parent_makes_a_slash_command():
    assert permissions.identify_caller({boundary.TYPED: "41", "CLAUDECODE": "1"}, 41) == TYPED
    assert permissions.identify_caller({boundary.TYPED: "41", "CLAUDECODE": "1"}, 42) == SESSION
    assert permissions.identify_caller({boundary.TYPED: "1"}, 42) == PERSON
    for mark in boundary.AGENTS:
        assert permissions.identify_caller({mark: "1"}, 1) == SESSION


def test_what_is_held_are_settings():
    """No key of a project is held, but the one that it can only switch off; none is misspelt."""
    assert set(config.USER_ONLY_KEYS) <= set(config.DEFAULTS) and set(config.USER_ONLY_KEYS) & set(
        config.PROJECT_KEYS
    ) == {"notes.provider"}


def test_the_column_of_mcp_names_verbs_of_the_table():
    """And only what is a session's own."""
    for name, (verb, *words) in permissions.TOOLS.items():
        assert verb in VERBS and required_caller(verb, "".join(words)) == SESSION, name
