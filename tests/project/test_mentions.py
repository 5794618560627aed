"""What a record names: files, commits."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from harness import timing
from harness.repository import note

from memory.capture import openings
from memory.core import clock, records
from memory.knowledge import contradictions, duplicates, proposals, usage
from memory.project import claims, mentions
from memory.store import sections


@pytest.mark.parametrize(
    ("path", "body", "meta", "named"),
    [
        ("jwt.py", "x", "files: [src/auth/jwt.py]\n", True),
        ("auth/jwt.py", "x", "files: src/auth/jwt.py\n", True),
        ("wt.py", "x", "files: [src/auth/jwt.py]\n", False),
        ("src/auth/jwt.py", "in `src/auth/jwt.py`:", "", True),
        ("jwt.py", "in src/auth/jwt.py.", "", True),
        ("jwt.py", "myjwt.py", "", False),
        ("jwt.py", "jwt.pyc", "", False),
        ("", "anything", "", False),
    ],
)
def test_a_file_is_mentioned_by_the_end_of_its_path(path, body, meta, named):
    """Whole path parts count."""
    assert mentions.mentions_file(note(body, meta), path) is named


def test_a_whole_path_inside_the_checkout_is_meant_by_its_part_below(tmp_path):
    """Through a link, with a dot and in the other form of its letters too; any other path stays."""
    root = tmp_path / "Größe"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    for folder in (
        root,
        normalize("NFD", str(root)),
        tmp_path / "link",
        tmp_path / "x" / ".." / "link",
    ):
        assert mentions.make_relative("%s/src/jwt.py" % folder, str(root)) == "src/jwt.py"
    for path in ("%s/docs/../src/jwt.py" % root, "../src/jwt.py", "../../docs/../src/jwt.py"):
        assert mentions.make_relative(path, str(root)) == "src/jwt.py"
    for path in ("src/jwt.py", "", "/etc/hosts", str(root) + "-2/jwt.py", "C:\\src\\jwt.py"):
        assert mentions.make_relative(path, str(root)) == path


def test_brackets_around_a_path_are_no_part_of_it_and_those_in_it_are():
    """A link, a parenthesis and a call name the file alone; folders in brackets stay whole."""
    assert mentions.find_paths("(src/a.py), [b](src/b.py) and open(src/c.py)") == [
        "src/a.py",
        "src/b.py",
        "src/c.py",
    ]
    assert mentions.find_paths("app/(shop)/[id]/page.tsx, app/[[slug]]/x.ts") == [
        "app/(shop)/[id]/page.tsx",
        "app/[[slug]]/x.ts",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`verify_token` in `src/a.py`", [("verify_token", "src/a.py")]),
        ("`run` in src/a.py", [("run", "src/a.py")]),
        ("`run` is defined in the file `a.py`", [("run", "a.py")]),
        ("`run` and src/a.py", []),
        ("`src/a.py`'s `run`", [("run", "src/a.py")]),
        ("src/a.py:Config.load", [("Config.load", "src/a.py")]),
        ("`src/a.py::test_x`", [("test_x", "src/a.py")]),
        ("`src/a.py:42`", []),
        ("`getUserToken()`", [("getUserToken", "")]),
        ("`Config.load`", [("Config.load", "")]),
        ("`a::b_c`", [("a::b_c", "")]),
        ("`run(x, y)`", [("run", "")]),
        ("`token` `HTTP` `--flag` `a b` `x.py` `1.2.3` `_`", []),
        ("https://x.y/a.py:run", []),
    ],
)
def test_symbols_are_named_in_backticks_or_behind_a_path(text, found):
    """Words of prose are none; with a file any word is."""
    assert mentions.find_symbols(text) == found


@pytest.mark.parametrize(
    ("source", "name", "path", "level"),
    [
        ("def run(a):", "run", "a.py", 2),
        ("    async def run(", "run", "a.py", 2),
        ("run(1)", "run", "a.py", 1),
        ("# def run(a):", "run", "a.py", 0),
        ('"""\ndef run(a):\n"""\n', "run", "a.py", 0),
        ("rerun = run_all", "run", "a.py", 0),
        ("X = re.compile(\"'''\")\nrun = 3\n", "run", "a.py", 2),
        ("run: int = 3", "run", "a.py", 2),
        ("if run == 3:", "run", "a.py", 1),
        ("f(\n    run=3,\n)", "run", "a.py", 1),
        ("export const run = (a) => {", "run", "a.ts", 2),
        ("  async run(a: X): P<Y> {", "run", "a.ts", 2),
        ("  describe(run, () => {", "run", "a.ts", 1),
        ("/* run\n run() */", "run", "a.ts", 0),
        ("const g = 'src/*'\nlet run = 1", "run", "a.js", 2),
        ("func (c *Config) run(a int) {", "run", "a.go", 2),
        ("func (c *Config) run(a int) {", "Config.run", "a.go", 3),
        ("type Config struct {}\nfunc (c *Config) run(a int) {", "Config.run", "a.go", 3),
        ("pub fn run<T>(a: T) {", "run", "a.rs", 2),
        ("static int run(char *a)\n{", "run", "a.c", 2),
        ("#define RUN_ALL 1", "RUN_ALL", "a.h", 2),
        ("return run(a);", "run", "a.c", 1),
        ("CREATE TABLE IF NOT EXISTS run (", "run", "a.sql", 2),
        ("run:", "run", "a.yaml", 2),
        ("run: it ran", "run", "a.md", 1),
        ("class A:\n    def run(self): 1\nclass B:\n    x = 1\n", "A.run", "a.py", 3),
        ("class A:\n    x = 1\nclass B:\n    def run(self): 1\n", "A.run", "a.py", 2),
        ("함수_run = 1\nrun = 2", "run", "a.py", 2),
    ],
)
def test_a_definition_is_told_from_a_use_and_a_comment(source, name, path, level):
    """3 a member of its class, 2 defined, 1 used, 0 neither."""
    assert mentions.find_level(source, name, path) == level


def test_hostile_sources_and_bodies_take_no_time():
    """Repeated openings, names and long lines stay linear."""
    started = clock.now()
    for source in (
        "/*" * 500_000,
        '"""' * 300_001,
        "run " * 250_000,
        "x" * 10**6 + " run",
        "'" * 10**6 + " run",
    ):
        mentions.find_level(source, "A.run", "a.py")
    for body in (
        "`run` in " * 7000,
        "a" * 65000,
        ("a" * 190 + " `x_y`") * 330,
        "src/" * 16000,
        "`a.py`'s `" * 6000,
        "commit " * 9000,
    ):
        claims.check(note(body), "/", "")
    assert clock.now() - started < 10


SIGNS = [
    "(",
    "[",
    "{",
    "+",
    ".",
    "@",
    "-",
    "_",
    "/",
    "([",
    "(+",
    "[(.",
    "a(",
    "a[",
    "(a)",
    "[a]",
    "](",
    "[[",
    "./",
    "@.",
    "+-",
    "-_",
    "_/",
    "!",
    "?",
    "# a\n",
    "## a\n\n",
    "`a",
    "a.b ",
    "'",
    '"',
]


@pytest.mark.parametrize("sign", SIGNS)
def test_a_run_of_any_sign_is_read_in_time_that_grows_with_its_length(sign):
    """60,000 characters of brackets, joints and marks, in every reading of a record: a part of a
    second each, where quadratic takes minutes.
    """
    body = (sign * 60_000)[:60_000]
    one, other = note(body, "id: l-11111111\n"), note(body + " x", "id: l-22222222\n")
    note_of = records.from_bytes("p/checkpoints/x.md", one.body.encode(), 0.0)
    readings = {
        "claims": lambda: claims.check(one, "/", ""),
        "symbols": lambda: mentions.find_symbols("`a`%s`a`" % body),
        "commits": lambda: mentions.find_hashes(body),
        "uses": lambda: usage.find_naming_words(body),
        "contradictions": lambda: contradictions.find_contradictions([one, other]),
        "duplicates": lambda: duplicates.find_duplicates([one, other], {}),
        "statements": lambda: list(proposals.find_statements(note_of)),
        "sections": lambda: sections.outline(body),
        "openings": lambda: openings.format_plain_line(body),
    }
    for name, reading in readings.items():
        assert timing.spent(reading, 0.5) < 0.5, name
