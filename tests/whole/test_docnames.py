"""What documents and messages name is there: settings, commands in their present spelling, options
and files.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

from memory.cli import main
from memory.core import config, spellings
from memory.terminal import arguments

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "llms.txt")),
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("commands/*.md")),
    *sorted(ROOT.glob("skills/*/SKILL.md")),
    *(ROOT / name / "README.md" for name in ("bench", "evals")),
]
TRIALS = ("bench", "evals")  # they name settings that were tried and not kept
SOURCES = sorted((ROOT / "memory").rglob("*.py"))
FIRST = sorted({key.partition(".")[0] for key in config.DEFAULTS if "." in key})
KEY = re.compile(r"(?:%s)(?:\.[a-z][A-Za-z]*)+" % "|".join(FIRST))
# what ends in these is a file, such as `index.html`
ENDINGS = "py md json jsonl toml html sh"
ANYWHERE = {"--help", "--version", "--", arguments.JSON.flag}
PARTS = {word for verb in main.VERBS.values() for word in verb.parts}
BARE = re.compile(r"(?:%s) [A-Z]{2,}" % "|".join(spellings.MOVED.keys() - PARTS))
SHOWN = re.compile(r"(?:^|\s)\$ (dayleaf .*)|^ {4}(dayleaf .*)", re.M)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def spans(text: str) -> list[str]:
    """Return what stands between single backticks, outside blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))


def typed(text: str) -> list[str]:
    """Return the commands that a text shows: in backticks, after `$ `, in indented blocks."""
    shown = [span for span in spans(text) if re.match(r"dayleaf [a-z]", span)]
    shown += [first or second for first, second in SHOWN.findall(text)]
    return [re.split(r"  #|\s(?:<<|[|;>])\s?", one)[0].strip() for one in shown]


def faults_of(line: str) -> list[str]:
    """Return what is wrong with a command: no such verb, an old spelling, an unknown option."""
    try:
        words = shlex.split(line.replace("…", ""))[1:]
    except ValueError:
        words = line.split()[1:]
    if not words or not re.fullmatch(r"[a-z][a-z-]*", words[0]) or words[0] in ("help", "version"):
        return []
    row, used = spellings.parse_verb(words)
    if row not in main.VERBS:
        return [] if row in spellings.FAMILIES else ["no command: " + line]
    if used == 1 and spellings.spell_verb(row) != row:
        return ["an old spelling: " + line]
    known = {option.flag for option in main.VERBS[row].options} | ANYWHERE
    stop = words.index("--") if "--" in words else len(words)
    given = [one.partition("=")[0] for one in words[used:stop] if re.match(r"--[a-z]", one)]
    old = spellings.OPTIONS.get(row, {})
    return ["%s: %s" % (one, line) for one in given if one in old or one not in known]


def texts_of(path: Path) -> str:
    """Return the texts in a source file, a line each, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return "\n".join(
        node.value.replace("\n", " ")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    )


@pytest.mark.parametrize(
    "document", [one for one in DOCUMENTS if one.parent.name not in TRIALS], ids=name_of
)
def test_every_setting_that_a_document_names_is_one(document):
    """In backticks, alone or with a value, and behind `config get`, `set` and `unset`."""
    text = document.read_text(encoding="utf-8")
    named = [span.partition("=")[0].strip() for span in spans(text)]
    keys = {one for one in named if KEY.fullmatch(one) and one.split(".")[-1] not in ENDINGS}
    keys |= set(re.findall(r"\bconfig (?:get|set|unset) ([a-z][A-Za-z.]*)", text))
    assert sorted(keys - config.DEFAULTS.keys()) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_command_that_a_document_shows_is_spelt_as_now(document):
    """Its verb, its options, and no old word alone before a name, such as `restore ID`."""
    text = document.read_text(encoding="utf-8")
    faults = [fault for line in typed(text) for fault in faults_of(line)]
    faults += [span for span in spans(text) if BARE.match(span)]
    assert faults == []


def test_every_command_in_a_message_is_spelt_as_now():
    """A remedy that warns of its own spelling helps nobody."""
    faults = {
        name_of(path): found
        for path in SOURCES
        if (found := [one for line in typed(texts_of(path)) for one in faults_of(line)])
    }
    assert faults == {}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_file_of_ours_that_a_document_names_is_there(document):
    """Below memory/, hooks/, tests/, bench/ and evals/."""
    named = re.findall(
        r"`((?:memory|hooks|tests|bench|evals)/[\w./-]+\.(?:py|md|sh|json|txt))`",
        document.read_text(encoding="utf-8"),
    )
    assert [one for one in named if not (ROOT / one).exists()] == []


def test_dead_names_are_found():
    """A document with them would fail."""
    assert faults_of("dayleaf expand ID#3") == ["an old spelling: dayleaf expand ID#3"]
    assert faults_of("dayleaf recal x") and faults_of("dayleaf index --build")
    assert faults_of("dayleaf recall x --sinse 3d") and not faults_of("dayleaf recall x --since 3d")
    assert KEY.fullmatch("load.greeting") and "load.greeting" not in config.DEFAULTS
