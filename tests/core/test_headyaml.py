"""The full reader of a head: labels as people write them, and no bomb builds anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memory.core import frontmatter

ROOT = str(Path(__file__).resolve().parents[2])


def test_duplicates_are_named_however_they_are_quoted():
    """A key that stands twice is reported, so that nothing with authority is read from it."""
    for lines in (
        "approved: a\napproved: b\n",
        'approved: a\n"approved": b\n',
        "{approved: a, approved: b}\n",
        "approved: a\nx: [[1]]\n'approved': b\n",
        "approved: a\n? approved\n: b\n",
    ):
        page = frontmatter.parse(("---\n" + lines + "---\n").encode())
        assert page.duplicates == ["approved"], lines


def deep(opening: str, count: int) -> str:
    """A head with one value nested `count` deep."""
    return "a: " + opening * count


PAIRS = list(zip("abcdefghijk", "bcdefghijkl"))


BOMBS = {
    "brackets": deep("[", 25000),
    "braces": deep("{", 25000),
    "brackets by lines": "a: " + "[\n" * 20000,
    "brackets behind quoted closers": "a: " + '["]", ' * 9000,
    "maps": deep("{a: ", 15000),
    "dashes": "a:\n" + "- " * 30000,
    "questions": "? " * 30000,
    "indents": "\n".join(" " * i + "a:" for i in range(350)),
    "merge keys": "a: &a {x: 1}\n"
    + "\n".join("%s: &%s {<<: [*%s, *%s]}" % (b, b, a, a) for a, b in PAIRS),
    "laughs": "a: &a [x, x]\n"
    + "\n".join("%s: &%s [*%s, *%s, *%s]" % (b, b, a, a, a) for a, b in PAIRS),
    "anchor": "a: &x 1\nb: *x",
    "tag": "a: !!python/object/apply:os.system ['true']",
    "local tag": "a: !x y",
    "merge": "<<: {a: b}\nc: *",
    "huge": "a: " + "x" * (200 << 10),
    "huge list": "a: [" + "x, " * (60 << 10),
    "many keys": "".join("k%d: v\n" % i for i in range(5000)),
    "one long line": "x" * 60000,
    "quotes": "a: " + '"\\"' * 20000,
    "unclosed quote": 'a: "' + "\\x41" * 15000,
    "colons": "a: " + "b: " * 20000,
    "hashes": "a: " + " #" * 30000,
    "commas": "a: [" + "," * 60000 + "]",
    "date": "a: 2026-99-99\nb: [",
    "null key": "~: x\nb: [",
    "list key": "[a]: x",
    "many fences": "a: 1\n" + "---x\n" * 12000,
    "carriage returns": "a: 1\r" * 12000,
    "surrogates": 'a: "' + "\\ud800" * 10000 + '"',
    "folded": "a: >\n" + "  x\n\n" * 10000,
    "continued items": "a:\n- x\n" + " y\n" * 20000,
    "continued values": "a: x\n" + " y\n" * 20000,
    "duplicates": "".join("k%d: 1\n" % i for i in range(3500)) * 2,
    "lists of lists": "a:\n" + "- [x, y]\n" * 7000,
    "wiki": "a: " + "[[x]] " * 10000,
}


CHILD = """
import sys, time, json
sys.path.insert(0, sys.argv[1])
from memory.core import frontmatter
import yaml, frontmatter as oracle
took = {}
for name, head in json.load(sys.stdin).items():
    data = ("---\\n" + head + "\\n---\\nthe body\\n").encode("utf-8", "surrogatepass")
    times = []
    for _ in range(3):
        start = time.process_time()  # what the head costs, not what else the machine does
        page = frontmatter.parse(data)
        times.append(time.process_time() - start)
    assert "the body" in page.body, name
    took[name] = (min(times), page.problems, len(page.meta))
print(json.dumps(took))
"""


@pytest.mark.alone
def test_bombs_cost_nothing():
    """No head, however hostile, raises, kills the process, takes 100 ms or loses the body."""
    pytest.importorskip("yaml")
    run = subprocess.run(
        [sys.executable, "-c", CHILD, ROOT],
        input=json.dumps(BOMBS).encode(),
        capture_output=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    took = json.loads(run.stdout)
    assert len(took) >= 30
    assert {name: seconds for name, (seconds, _, _) in took.items() if seconds > 0.1} == {}
    for name in (
        "brackets",
        "merge keys",
        "laughs",
        "anchor",
        "tag",
        "local tag",
        "merge",
        "huge",
        "many keys",
        "dashes",
    ):
        assert took[name][1], name
    assert took["many keys"][2] == 256


def test_labels_are_no_comments_where_another_line_is_unsure():
    """`tags: #auth` names a label, whichever of the two readers decides; elsewhere `#` starts a
    comment.
    """
    pytest.importorskip("yaml")
    head = "tags: #auth #it's\ntopics:\n- #build\n- plain # why\nother: #no\n"
    for last in ("", "deep:\n  a:\n    b: c\n"):
        page = frontmatter.parse(("---\n" + head + last + "---\n").encode())
        assert bool(page.unsure) == bool(last) and not page.problems
        assert (page.meta["tags"], page.meta["topics"], page.meta["other"]) == (
            "#auth #it's",
            ["#build", "plain"],
            "",
        )
