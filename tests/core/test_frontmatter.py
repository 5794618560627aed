"""The reader survives what people write and agrees with YAML; the writer touches only its own
keys.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from memory.core import StoreError, frontmatter

ROOT = str(Path(__file__).resolve().parents[2])

# name, file, keys expected, body expected, part of a problem ("" for none)
MESS = [
    ("no frontmatter", b"# Hello\n\ntext\n", {}, "# Hello\n\ntext\n", ""),
    ("empty file", b"", {}, "", ""),
    ("empty head", b"---\n---\nbody\n", {}, "body\n", ""),
    ("only comments", b"---\n# nothing yet\n---\nbody\n", {}, "body\n", ""),
    ("no body", b"---\ntitle: x\n---", {"title": "x"}, "", ""),
    (
        "unknown keys",
        b"---\nzebra: 1\nmy-own.key: [a]\n---\nb\n",
        {"zebra": "1", "my-own.key": ["a"]},
        "b\n",
        "",
    ),
    (
        "CRLF",
        b"---\r\ntitle: x\r\ntags:\r\n  - a\r\n---\r\n\r\nb\r\nc\r\n",
        {"title": "x", "tags": ["a"]},
        "b\nc\n",
        "",
    ),
    (
        "mixed line ends",
        b"---\ntitle: x\r\nkind: rule\n---\r\nb\r\n",
        {"title": "x", "kind": "rule"},
        "b\n",
        "",
    ),
    ("BOM", b"\xef\xbb\xbf---\ntitle: x\n---\nb\n", {"title": "x"}, "b\n", ""),
    ("two BOMs", b"\xef\xbb\xbf\xef\xbb\xbf---\ntitle: x\n---\nb\n", {"title": "x"}, "b\n", ""),
    ("zero width", "\u2060\u200b---\ntitle: x\n---\nb\n".encode(), {"title": "x"}, "b\n", ""),
    ("odd blanks", "---\xa0\ntitle: x\n---\u3000\nb\n".encode(), {"title": "x"}, "b\n", ""),
    ("old Mac", b"---\rtitle: x\r---\rb\r", {"title": "x"}, "b\n", ""),
    ("BOM without frontmatter", b"\xef\xbb\xbfb\n", {}, "b\n", ""),
    ("blank lines above", b"\n \n---\ntitle: x\n---\nb\n", {"title": "x"}, "b\n", ""),
    (
        "tab behind the colon",
        b"---\ntitle:\tx y\nkind: rule\n---\nb\n",
        {"title": "x y", "kind": "rule"},
        "b\n",
        "",
    ),
    ("tab as indent", b"---\ntags:\n\t- a\n\t- b\n---\nb\n", {"tags": ["a", "b"]}, "b\n", "line 3"),
    ("unclosed fence", b"---\ntitle: x\n\nbody\n", {}, "---\ntitle: x\n\nbody\n", "not closed"),
    ("fence with blanks", b"---  \ntitle: x\n--- \nb\n", {"title": "x"}, "b\n", ""),
    ("rule in the body", b"---\ntitle: x\n---\na\n---\nb\n", {"title": "x"}, "a\n---\nb\n", ""),
    (
        "prose between rules",
        b"---\n\nJust some words.\n\n---\nmore\n",
        {},
        "---\n\nJust some words.\n\n---\nmore\n",
        "",
    ),
    ("TOML", b"+++\ntitle = 'x'\n+++\nb\n", {"title": "x"}, "b\n", ""),
    (
        "bare words stay",
        (
            b"---\na: 0.88\nb: Yes\nc: 2026-11-21\nd: v2\ne: 0x1DA9430\nf: ~\n"
            b"g: 1763735452\nh: null\n---\n"
        ),
        {
            "a": "0.88",
            "b": "Yes",
            "c": "2026-11-21",
            "d": "v2",
            "e": "0x1DA9430",
            "f": "~",
            "g": "1763735452",
            "h": "null",
        },
        "",
        "",
    ),
    (
        "labels with marks",
        b"---\ntags: #auth #jwt\ntopics:\n- #build\n---\n",
        {"tags": "#auth #jwt", "topics": ["#build"]},
        "",
        "",
    ),
    (
        "comment behind a value",
        b"---\na: x # why\nb: # only\nc: 'x # y' # z\n---\n",
        {"a": "x", "b": "", "c": "x # y"},
        "",
        "",
    ),
    ("bad bytes", b"---\ntitle: caf\xe9\n---\nb \xff\n", {"title": "café"}, "b ÿ\n", "not UTF-8"),
    ("duplicate key", b"---\na: 1\na: 2\n---\n", {"a": "2"}, "", "occurs twice"),
    (
        "no blank behind the colon",
        b"---\ntitle:x\ntags: [a]\n---\n",
        {"title": "x", "tags": ["a"]},
        "",
        "line",
    ),
    (
        "Korean",
        "---\ntitle: 버튼을 고침\n태그: [가, 나]\n---\n본문\n".encode(),
        {"title": "버튼을 고침", "태그": ["가", "나"]},
        "본문\n",
        "",
    ),
    # the failures of real files (273 of 33,600 heads), and what they mean
    (
        "pipe behind a flow list",
        b"---\nhint: [--x] | [--y]\nkind: rule\n---\n",
        {"hint": "[--x] | [--y]", "kind": "rule"},
        "",
        "line 2",
    ),
    (
        "colon in a plain value",
        b"---\ndescription: Use when: you must\n---\n",
        {"description": "Use when: you must"},
        "",
        "line 2",
    ),
    (
        "list item with @",
        b"---\nby:\n- @someone\n- `x`\n- %y\n---\n",
        {"by": ["@someone", "`x`", "%y"]},
        "",
        "line 3",
    ),
    (
        "template braces",
        b"---\ntitle: {{ name }}\nkind: <% x %>\n---\n",
        {"title": "{{ name }}", "kind": "<% x %>"},
        "",
        "line 2",
    ),
    (
        "a lone star",
        b"---\ntools: *\nkind: rule\n---\n",
        {"tools": "*", "kind": "rule"},
        "",
        "line 2",
    ),
    (
        "continued plain value",
        b"---\ntitle: one\n  two\nkind: rule\n---\n",
        {"title": "one two", "kind": "rule"},
        "",
        "",
    ),
    (
        "deep but sane",
        b"---\na:\n  b:\n    c: [1, {d: e}]\n---\n",
        {"a": {"b": {"c": ["1", {"d": "e"}]}}},
        "",
        "",
    ),
    (
        "control character",
        b"---\ntitle: a\x1b[31mb\nkind: [x, [y\n---\n",
        {"title": "a\x1b[31mb", "kind": "[x, [y"},
        "",
        "line",
    ),
    ("lone surrogate escape", b'---\ntitle: "a\\ud800b"\n---\n', {"title": "a\ufffdb"}, "", ""),
]


@pytest.mark.parametrize(
    ("data", "meta", "body", "problem"), [case[1:] for case in MESS], ids=[case[0] for case in MESS]
)
def test_files_written_by_hand_are_read(data, meta, body, problem):
    """Each kind of hand-made file gives its keys and its body, and says what was wrong with it."""
    page = frontmatter.parse(data)
    assert page.readable
    assert page.meta == meta
    assert page.body == body
    assert (problem in " ".join(page.problems)) if problem else not page.problems


def test_reader_works_without_yaml():
    """Where PyYAML is not installed the best guess stands, with a problem that names the line."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory.core import frontmatter\n"
        "page = frontmatter.parse(b'---\\ntitle: a\\ntools: *x\\n---\\nbody\\n')\n"
        "assert page.meta == {'title': 'a', 'tools': '*x'} and page.body == 'body\\n', page.meta\n"
        "assert page.problems[0].startswith('line 3: '), page.problems"
    )
    run = subprocess.run([sys.executable, "-I", "-S", "-c", code, ROOT], capture_output=True)
    assert run.returncode == 0, run.stderr.decode()


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ("---\ntitle: x\n---\n".encode("utf-16"), "UTF-16 with BOM"),
        ("---\ntitle: x\n---\n".encode("utf-16-le"), "UTF-16 without BOM"),
        (b"\x00\x01\x02\x00" * 100, "binary"),
    ],
)
def test_bytes_that_are_no_text_are_refused(data, where):
    """UTF-16 and binary files are unreadable, not mojibake."""
    page = frontmatter.parse(data)
    assert not page.readable and page.meta == {} and page.body == ""
    assert "not UTF-8" in page.problems[0]


def test_byte_soup_never_raises_and_never_gives_a_surrogate():
    """Random bytes around fences give a page whose every text is strict UTF-8."""
    source = random.Random(7)
    pieces = [
        b"---\n",
        b"---",
        b"\n",
        b": ",
        b"a",
        b"- ",
        b"[",
        b"{",
        b'"',
        b"'",
        b"\\ud800",
        b"\xff",
        b"\xed\xa0\x80",
        b"\r\n",
        b"\xef\xbb\xbf",
        b"\0",
        b"|",
        b"&a *a",
        b"!!x",
        b"\xed\x95\x9c",
        b"#",
        b"\t",
        b"\x85",
        b"\xe2\x80\xa8",
        b"? ",
    ]
    for _ in range(5000):
        data = b"".join(source.choice(pieces) for _ in range(source.randint(0, 25)))
        for read in (frontmatter.parse_fast, frontmatter.parse):
            page = read(data)
            json.dumps([page.meta, page.body, page.problems], ensure_ascii=False).encode("utf-8")


def test_body_lines_keep_their_numbers():
    """head_lines counts the lines of the file above the body, so a line of the body can be
    named.
    """
    data = b"\n---\ntitle: x\n---\n\n\nfirst\nsecond\n"
    page = frontmatter.parse(data)
    assert page.head_lines == 6
    assert data.split(b"\n")[page.head_lines] == b"first"


def test_a_large_body_is_kept_whole():
    """A body of 5 MB comes back unchanged."""
    body = "x" * 79 + "\n"
    data = b"---\ntitle: x\n---\n" + body.encode() * 65536
    page = frontmatter.parse(data)
    assert page.meta == {"title": "x"} and len(page.body) == 5 << 20


def test_split_cuts_at_the_fences():
    """split gives the head's bytes and where the body starts, without reading either."""
    data = b"\xef\xbb\xbf---\r\na: 1\r\n---\r\nbody"
    head, offset = frontmatter.split_head(data)
    assert (head, data[offset:]) == (b"a: 1\r\n", b"body")
    assert frontmatter.split_head(b"text") == (b"", 0)


WORDS = [
    "yes",
    "No",
    "ON",
    "null",
    "~",
    "",
    " ",
    "1",
    "1.5",
    "1e3",
    ".5",
    ".inf",
    "0x1f",
    "0b1",
    "1_000",
    "12:30:45",
    "2026-11-21",
    "2026-11-21T14:30:52Z",
    "=",
    "<<",
    "-",
    "- a",
    "a: b",
    "a:",
    ":a",
    "# c",
    "a # b",
    "a#b",
    "[x",
    "{x",
    "]",
    "'q'",
    '"q"',
    "it's",
    "back\\slash",
    "tab\there",
    "line\nbreak",
    "a\n\nb\n",
    "\nlead",
    " space ",
    "trail ",
    "é",
    "버튼을",
    "日本語",
    "😀",
    "\u2028",
    "\u0085",
    "\ufeff",
    "\x1b[31m",
    "\x7f",
    "!x",
    "&x",
    "*x",
    "%x",
    "@x",
    "`x`",
    "|",
    ">",
    "?",
    "? x",
    ",",
    "a, b",
    "x" * 300,
    "---",
    "...",
    "y",
    "N",
    "/path/x.py",
    "C:\\dir",
    "https://example.invalid/a?b=c#d",
    "NaN",
    "a\tb: c",
    "  two\n  indented",
    "a\n b\n",
    "e1",
    "l-1a2b3c4d",
    "\u3000",
    "a\n\n\n",
    "\u00a0",
    "\u200d",
]


def text_of(source: random.Random) -> str:
    """A text that YAML might misread."""
    if source.random() < 0.6:
        return source.choice(WORDS)
    return "".join(source.choice(WORDS) for _ in range(2))


def value_of(source: random.Random):
    """A value of a key: text, a list of texts, a list of maps, a map."""
    kind = source.random()
    if kind < 0.6:
        return text_of(source)
    if kind < 0.8:
        return [text_of(source) for _ in range(source.randint(0, 4))]
    if kind < 0.9:
        return [
            {"relation": text_of(source), "target": text_of(source)}
            for _ in range(source.randint(1, 3))
        ]
    return {"a": text_of(source), "b": text_of(source)}


KEYS = ["id", "title", "tags", "my-key", "x_y", "Yes", "null", "태그", "a b", "1", "k:", "on"]


def test_what_is_composed_reads_back():
    """A composed file gives the same texts to this reader, with and without YAML, and to
    python-frontmatter.
    """
    oracle = pytest.importorskip("frontmatter")
    source = random.Random(1)
    for _ in range(2000):
        meta = {key: value_of(source) for key in source.sample(KEYS, source.randint(1, 6))}
        body = source.choice(
            ["", "text\n", "# H\n\n---\nx: y\n---\n", "\u2028 é\n", "  indented\n"]
        )
        data = frontmatter.format_file(meta, body)
        assert data.endswith(b"\n")
        for read in (frontmatter.parse_fast, frontmatter.parse):
            page = read(data)
            assert (page.meta, page.body, page.problems) == (meta, body, []), data
        assert oracle.loads(data.decode()).metadata == meta, data


def test_composed_values_stay_readable():
    """Ordinary values stand without quotes, a text of several lines as a block."""
    data = frontmatter.format_file(
        {
            "id": "l-1",
            "title": "Fix the issuer",
            "tags": ["auth", "jwt"],
            "none": None,
            "pinned": True,
            "rationale": "One.\nTwo.",
        },
        "Body",
    )
    assert data.decode() == (
        "---\nid: l-1\ntitle: Fix the issuer\ntags: [auth, jwt]\npinned: true\n"
        "rationale: |-\n  One.\n  Two.\n---\n\nBody\n"
    )


ENTRIES = [
    "# a comment\n",
    "\n",
    "zebra: 1   # why\n",
    "'quoted key': x\n",
    "list:\n- a\n# inside\n- b\n",
    "map:\n    k: v\n",
    "text: |\n  one\n\n  two\n",
    "tags: [a,   b]\n",
    'title: "old"\n',
    "empty:\n",
    "title2: x # c\n",
    "folded: >\n  a\n  b\n",
]


def test_an_edit_keeps_every_other_byte():
    """Setting, adding or removing a key changes its own lines only, and reading gives the old keys
    with the change.
    """
    source = random.Random(3)
    for number in range(1500):
        entries = source.sample(ENTRIES, source.randint(0, len(ENTRIES)))
        newline = source.choice(["\n", "\r\n"])
        body = source.choice(["body\n", "", "\nbody \xff\r\nmore", "---\nx\n"])
        top = source.choice(["", "\n"]) if source.random() < 0.5 else "\ufeff"
        head = "".join(entries).replace("\n", newline)
        data = (top + "---" + newline + head + "---" + newline).encode() + body.encode("latin-1")
        before = frontmatter.parse(data)
        key = source.choice([*before.meta, "fresh"])
        value = None if source.random() < 0.3 else value_of(source)
        after = frontmatter.edit(data, {key: value})
        page = frontmatter.parse(after)
        expected = {k: v for k, v in before.meta.items() if k != key}
        assert {k: v for k, v in page.meta.items() if k != key} == expected, number
        assert page.meta.get(key) == value and page.body == before.body
        own = next((e for e in entries if e.startswith((key + ":", "'" + key + "':"))), None)
        at = len(data) - len(body.encode("latin-1")) - len(("---" + newline).encode())
        if own is None:
            assert after[:at] == data[:at] and after.endswith(data[at:])
        else:
            index = entries.index(own)
            front = (
                top + "---" + newline + "".join(entries[:index]).replace("\n", newline)
            ).encode()
            assert after.startswith(front)
            assert after.endswith(
                "".join(entries[index + 1 :]).replace("\n", newline).encode() + data[at:]
            )
        if newline == "\r\n":
            assert after.count(b"\n", 0, len(after) - len(body)) == after.count(
                b"\r\n", 0, len(after) - len(body)
            ) + (top == "\n")


def test_an_edit_keeps_the_comment_behind_a_value():
    """The comment on a changed line stays."""
    assert frontmatter.edit(b"---\na: x # why\n---\n", {"a": "z"}) == b"---\na: z # why\n---\n"
    assert (
        frontmatter.edit(b"---\na: 'x # y'   # why\n---\n", {"a": "z"})
        == b"---\na: z   # why\n---\n"
    )


@pytest.mark.parametrize("fence", [b"--- # yaml", b"---yaml", b"---yaml\r", b"---  "])
def test_a_fence_may_say_that_it_is_yaml(fence):
    """As pandoc and others have it; a word of prose behind it opens no head."""
    data = fence + b"\na: x\n---\nBody\n"
    assert frontmatter.parse(data).meta == frontmatter.parse_fast(data).meta == {"a": "x"}
    assert frontmatter.edit(data, {"a": "z"}).startswith(fence + b"\na: z")
    assert not frontmatter.parse(b"---yamls\na: x\n---\n").meta


def test_a_mapping_that_gains_a_key_keeps_its_lines():
    """With their comments; one on a single line, or of other shape, is written anew."""
    data = b"---\nlinks:\n  docs: x # why\n  # how\n  repo: y\ntags: a\n---\n"
    assert frontmatter.edit(
        data, {"links": {"docs": "x", "repo": "y", "to": ["z", 1]}}
    ) == data.replace(b"tags", b"  to: [z, 1]\ntags")
    for before in (b"---\nlinks: {a: x}\n---\n", b"---\nlinks:\n  a: x\n  b: y\n---\n"):
        after = frontmatter.edit(before, {"links": {"a": "x", "c": "z"}})
        assert after == b"---\nlinks: {a: x, c: z}\n---\n"


@pytest.mark.parametrize(
    "data",
    [b"# Text\n", b"", b"\xef\xbb\xbftext\r\nmore \xff\n", b"---\n", b"---\n\nprose\n\n---\nx\n"],
)
def test_a_file_without_frontmatter_gets_one_above_its_text(data):
    """The old text stands byte for byte below the new head."""
    after = frontmatter.edit(data, {"id": "l-1", "tags": ["a"]})
    text = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
    assert after.endswith(text)
    assert after.startswith(b"\xef\xbb\xbf") == data.startswith(b"\xef\xbb\xbf")
    page = frontmatter.parse(after)
    assert page.meta == {"id": "l-1", "tags": ["a"]}
    assert frontmatter.edit(data, {}) == data


@pytest.mark.parametrize(
    "data",
    [
        "\ufeff\ufeff---\ntitle: x\n---\nb\n",
        "\u200b---\ntitle: x\n---\nb\n",
        "---\xa0\ntitle: x\n---\u2003\nb\n",
        "---\rtitle: x\r---\rb\r",
    ],
)
def test_an_edit_finds_the_head_that_a_person_sees(data):
    """Nothing that no editor shows makes it write a second head."""
    at = data.index("title")
    end = data[at + len("title: x")]
    assert frontmatter.edit(data.encode(), {"id": "l-1"}).decode() == data.replace(
        "title: x" + end, "title: x" + end + "id: l-1" + end
    )


def test_what_is_added_to_a_list_leaves_its_other_items_as_they_are():
    """With their own keys, comments, order and indent; one that changes is written anew."""
    head = "---\nlinks: # mine\n- relation: a\n  target: z # keep\n  extra: 1\n\n# end\n---\nb\n"
    old = {"relation": "a", "target": "z", "extra": "1"}
    new = {"relation": "b", "target": "w"}
    done = frontmatter.edit(head.encode(), {"links": [old, new]}).decode()
    assert done == head.replace("extra: 1\n", "extra: 1\n- {relation: b, target: w}\n")
    assert frontmatter.edit(head.encode(), {"links": [new, old]}).count(b"keep") == 0


def test_an_edit_of_a_duplicate_key_leaves_one():
    """All lines of a changed key are its own."""
    data = b"---\na: 1\nb: x\na: 2\n---\nt\n"
    assert frontmatter.edit(data, {"a": "3"}) == b'---\nb: x\na: "3"\n---\nt\n'
    assert frontmatter.edit(data, {"a": None}) == b"---\nb: x\n---\nt\n"


def test_an_edit_that_cannot_be_faithful_is_refused():
    """UTF-16 text, and a head whose keys are not lines, are left to the person."""
    for data in ("---\na: b\n---\n".encode("utf-16"), b"---\n{a: b, c: d}\n---\n"):
        with pytest.raises(StoreError, match="edit"):
            frontmatter.edit(data, {"a": "z"})
