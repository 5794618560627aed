"""The line reader is a strict subset of YAML: what it is sure of, the full reader reads the
same.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from memory.core import frontmatter, headreader, headyaml

ROOT = str(Path(__file__).resolve().parents[2])


FORMS = """\
id: l-1a2b3c4d
title: 'it''s "quoted"'
name: "a\\tb \\u00e9 \\"c\\" \\x41"
tags: [auth, "a, b", 'c', build-tools]
topics:
- one
-   two words
links:
  - relation: has_doc
    target: r-1
  - {relation: proves, target: "l-2"}
map:
  a: 1
  b: "x: y"
flow: {a: b, "c": d e}
none:
literal: |
  line: one

    indented
folded: >-
  one
  two

  three
path: src/auth/jwt.py:12
"""


def test_common_forms_need_no_yaml():
    """What people usually write is read by the line reader alone, with the meaning YAML gives
    it.
    """
    yaml = pytest.importorskip("yaml")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory.core import frontmatter; from "
        "memory.core import fastjson as jsonio\n"
        "page = frontmatter.parse(sys.stdin.buffer.read())\n"
        "assert not page.problems and not {'yaml', 're', 'frontmatter', 'os'} & "
        "set(sys.modules), page.problems\n"
        "print(jsonio.dump(page.meta))"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, ROOT],
        input=("---\n" + FORMS + "---\n").encode(),
        capture_output=True,
    )
    assert run.returncode == 0, run.stderr.decode()
    assert json.loads(run.stdout) == yaml.load(FORMS, Loader=yaml.BaseLoader)


ATOMS = [
    "a",
    "b c",
    "x: y",
    "k:",
    "- ",
    "  ",
    "\n",
    "\n- ",
    "\n  - ",
    "\nkey: ",
    "\nk2: ",
    "[",
    "]",
    "{",
    "}",
    ",",
    ", ",
    "'",
    '"',
    "#",
    " # c",
    "#x",
    ": ",
    "|",
    ">",
    "|-",
    ">-",
    "|+",
    "\n    ",
    "\\n",
    "\\",
    "''",
    "?",
    "!",
    "&a",
    "*a",
    "<<",
    "%",
    "@",
    "`",
    "~",
    "0.88",
    "-",
    "é",
    "한글",
    "\n  target: y",
    "- relation: x",
    "\t",
    "\u3000",
    "=",
    "\n\n",
    "\n # c\n",
    "\n# c\n",
    '"a\\tb"',
    "'it''s'",
    "[a, b]",
    "{a: b}",
    "[]",
    "{}",
    "[a, 'b, c']",
]


HEADS = [
    FORMS,
    "tags: #auth #jwt\ntopics:\n- #build\n",
    "a: x # why\nb: # only\nc: 'x # y' # z\n",
    "tags:\n\t- a\n\t- b\n",
    "title: 버튼을 고침\n태그: [가, 나]\n",
    "hint: [--x] | [--y]\nkind: rule\n",
    "title: one\n  two\nkind: rule\n",
    "title: a\x1b[31mb\nkind: [x, [y\n",
    "a:\n  b:\n    c: [1, {d: e}]\n",
    'title: "Never\\\n  push"\ntags: [[git, all], x]\n',
]
CHARACTERS = " :-#'\"[]{},|>\n\t\\&*!%@`?\x85\u2028\0\x1b\x7f\ufeff\xa0"


def agrees(text: str) -> bool:
    """Compare what the line reader is sure of with the full reader; False where it is not sure, or
    of a head without a key.
    """
    meta, twice, unsure = headreader.read_head(text)
    if unsure or not meta:
        return False
    read, duplicates, problem, _ = headyaml.read_yaml(text, [], [])
    # a lone surrogate, which libyaml refuses and we replace
    if "Unicode character escape" in problem:
        return False
    assert (read, duplicates, problem) == (meta, twice, ""), text
    return True


def mutated(source: random.Random, heads: list[str]) -> str:
    """A head in which some characters or lines came, went or moved."""
    text = source.choice(heads)
    for _ in range(source.randint(1, 4)):
        at, way = source.randint(0, len(text)), source.random()
        end = at + source.randint(1, 6)
        if way < 0.35:
            text = text[:at] + source.choice([*ATOMS, *CHARACTERS]) + text[at:]
        elif way < 0.6:
            text = text[:at] + text[end:]
        elif way < 0.8:
            text = text[:at] + text[at:end] + text[at:]
        else:
            lines = text.split("\n")
            lines.insert(
                source.randint(0, len(lines)), source.choice(source.choice(heads).split("\n"))
            )
            text = "\n".join(lines)
    return text.rstrip("\n") + "\n"


@pytest.mark.parametrize("seed", [1, 20261122])
def test_line_reader_agrees_with_yaml(seed):
    """Wherever it is sure of a generated head, the full reader gives the same texts and refuses
    nothing.
    """
    pytest.importorskip("yaml")
    source = random.Random(seed)
    compared = 0
    for _ in range(10000):
        start = source.choice(["key: ", "a: ", "", "title: x\n", "list:\n"])
        compared += agrees(
            start
            + "".join(source.choice(ATOMS) for _ in range(source.randint(1, 12))).rstrip("\n")
            + "\n"
        )
    assert compared > 1000


@pytest.mark.parametrize("seed", [2, 20261123])
def test_line_reader_agrees_with_yaml_on_what_people_wrote(seed):
    """So it does on real heads, our commands' and skills' and those of MESS's kind, and on what
    typing errors make of them.
    """
    pytest.importorskip("yaml")
    source = random.Random(seed)
    written = sorted([*Path(ROOT, "commands").glob("*.md"), *Path(ROOT, "skills").rglob("*.md")])
    heads = HEADS + [frontmatter.split_head(path.read_bytes())[0].decode() for path in written]
    assert sum(map(agrees, heads)) > 15
    assert sum(agrees(mutated(source, heads)) for _ in range(4000)) > 1000


@pytest.mark.parametrize(
    ("head", "lines"),
    [
        ("a: [x, ]\n", []),
        ("a: [, x]\n", [2]),
        ("a: [x, , y]\n", [2]),
        ("a:\n\t\n# c\nb: x\n", [3]),
        ("a: >\n\t\n", [3]),
        ("a: x\nb: y\x1bz\n", [3]),
        ("a: [x]\n\xa0\n", [3]),
        ("a: |-\n  \tx\n", [3]),
    ],
)
def test_unsure_lines_are_those_of_the_file(head, lines):
    """Each was read otherwise, or refused, by YAML; the numbers count the fence."""
    page = frontmatter.parse_fast(("---\n" + head + "---\nx\n").encode())
    assert page.unsure == lines and page.guessed == bool(lines)
    below = frontmatter.parse_fast(("\n\n---\n" + head + "---\nx\n").encode())
    assert below.unsure == [line + 2 for line in lines]
