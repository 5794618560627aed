"""Every reader of text that others wrote takes twice as long for twice the text, and none reads a
file of any size.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.capture import checkpointoutline, conversationpage, openings, wishes
from memory.core import StoreError, fastjson, frontmatter, plaintext, records, tokeniser
from memory.hook import at_failure, documents, fence, windows
from memory.project import manifests, mentions
from memory.recall import sentences as quotable
from memory.session import commandline, entries, git, shell, tellingline
from memory.terminal import pastlines

# seconds below which nothing is judged; characters of a text
GROWTH, FLOOR, LENGTH = 2.3, 0.04, 5_000


def entry(text: str) -> object:
    return entries.entries(
        {
            "type": "user",
            "uuid": "u",
            "timestamp": "2026-11-21T14:30:52Z",
            "message": {"role": "user", "content": text},
        }
    )


def result(text: str) -> object:
    return entries.entries(
        {
            "type": "user",
            "uuid": "u",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}],
            },
            "toolUseResult": {"stdout": text},
        }
    )


READERS: dict[str, Callable[[str], object]] = {
    "manifest": manifests.names_in,
    "page": lambda text: frontmatter.parse(text.encode()),
    "page by lines": lambda text: frontmatter.skim(text.encode()),
    "head": lambda text: frontmatter.parse(b"---\n" + text.encode() + b"\n---\nx\n"),
    "edit": lambda text: frontmatter.edit(b"---\nid: a\n---\n" + text.encode(), {"title": "x"}),
    "record": lambda text: records.from_bytes("p/learnings/x.md", text.encode(), 0.0).title,
    "JSON lines": lambda text: fastjson.rows(text.encode()),
    "a line of JSON": lambda text: fastjson.rows(b'{"a":"' + text.encode()),
    "words": tokeniser.tokens,
    "words of a text": tokeniser.split,
    "code": lambda text: list(tokeniser.coded(text.split("\n"))),
    "sentences": plaintext.sentences,
    "turns of a page": lambda text: list(documents.turns(text)),
    "conversation": lambda text: conversationpage.parse("## 09:00 go on\n\n" + text, "2026-11-21"),
    "a request": entry,
    "a result": result,
    "clean": entries.clean,
    "command line": commandline.steps,
    "parts": commandline.parts,
    "tasks": commandline.tasks,
    "run": lambda text: shell.run(
        text, "2026-11-21T14:30:52Z", "Exit code 1\nerror: x", None, True
    ),
    "output": lambda text: shell.run(
        "make test", "2026-11-21T14:30:52Z", "Exit code 1\n" + text, None, True
    ),
    "telling line": lambda text: tellingline.pick_telling_lines(text, "make test"),
    "git's command": lambda text: list(git.commits("git commit -m " + text, "", "/w", ("/w",))),
    "git's output": lambda text: list(git.commits("git commit -m x", text, "/w", ("/w",))),
    "walls": lambda text: at_failure.failure_keys("Bash", text[:4096], text),
    "names": mentions._named,
    "paths": mentions._paths,
    "an outcome on a line": openings.plain,
    "an outcome without questions": openings.without_questions,
    "code on a line": conversationpage.code,
    "a command for reading": pastlines.brief,
    "discarded work": lambda text: git.discarded_paths("git stash drop; " + text),
    "an opening": lambda text: openings.opening([text], 240, "the queue"),
    "sections": checkpointoutline.sections,
    "lines to quote": quotable.lines,
    "a window": windows.split_windows,
    "fence": lambda text: fence.parts_of(text.encode()),
    "wishes": wishes.wishes,
}
TEXTS = (
    "a",
    " ",
    "\n",
    "[",
    "(",
    '"',
    "'",
    "`",
    "/",
    "\\",
    ".",
    "-",
    "0",
    "<",
    ">",
    "#",
    "=",
    ":",
    "|",
    "é",
    "[[",
    "a ",
    "a\n",
    "- ",
    "> ",
    '\\"',
    "a.",
    "a/",
    "<a",
    "<private>",
    "```\n",
    "## x\n",
    "a: b\n",
    "- a\n",
    '{"a":',
    "a=1 ",
    "'a' ",
    "$(",
    "<<a\n",
    "a;",
    "\t",
    "require a.b/c v1\n",
    "  image: a\n",
    '"a" = "b" ',
    "`a` ",
    "the cause is ",
    "Error: ",
    "at a (b.js:1:2)\n",
    "? ",
    "cd ..; ",
    "\r\n",
    "가",
)


def spent(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    try:
        read(text)
    except (ValueError, RecursionError, StoreError):  # it says that it does not take the text
        pass
    return time.process_time() - start


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_keeps_step_with_its_text(reader):
    """One letter, blanks, brackets, quotes, and the marks that the reader knows, again and
    again.
    """
    read, found = READERS[reader], []
    for part in TEXTS:
        for lead, tail in (("", "\0"), ("x ", "")):

            def text(length, part=part, lead=lead, tail=tail):
                return lead + part * (length // len(part)) + tail

            if spent(read, text(LENGTH)) < FLOOR / 4:
                continue
            # what a busy machine does to one measurement it seldom does to three
            for _ in range(3):
                first, second = (
                    min(spent(read, text(length) + " " * (n + 1)) for n in range(3))
                    for length in (LENGTH, 2 * LENGTH)
                )
                if second <= FLOOR or second <= GROWTH * first:
                    break
            else:
                found.append((part, round(first, 3), round(second, 3)))
    assert found == []


@pytest.mark.parametrize(
    "name", [name for name in manifests._FILES if name not in manifests._BARE and "*" not in name]
)
def test_a_manifest_of_any_letters_costs_little(name, tmp_path):
    """Newlines, which once stopped recall, and all else that a repository may hold; up to the
    largest that is read.
    """
    for part in ("\n", " ", "a", '"', "'a:", "[", ".", "<artifactId>", "- ", "image: ", "x.y/z "):
        (tmp_path / name).write_text("module x" + part * ((manifests.LIMIT - 9) // len(part)) + "x")
        start = time.process_time()
        manifests.derived(str(tmp_path))
        assert time.process_time() - start < 2, part


def test_what_a_manifest_of_go_requires(tmp_path):
    """One line, a block, a comment behind; not what only looks like it."""
    (tmp_path / "go.mod").write_text(
        "module example.com/x\n\ngo 1.22\n\nrequire github.com/gin-gonic/gin v1.9.1\n\nrequire (\n"
        "\tgithub.com/jackc/pgx/v5 v5.5.0 // indirect\n\n\tgoogle.golang.org/grpc v1.60.0\n)\n\n"
        "replace github.com/go-redis/redis => ../redis\n"
    )
    assert set(manifests.derived(str(tmp_path))) == {"go", "gin", "postgres", "grpc"}


def test_a_manifest_is_read_up_to_its_limit(tmp_path):
    """One byte more than LIMIT, and what stands at the end is not seen."""
    path, word = Path(tmp_path, "requirements.txt"), "flask"
    path.write_text("#" * (manifests.LIMIT - len(word) - 1) + "\n" + word)
    assert path.stat().st_size == manifests.LIMIT and "flask" in manifests.derived(str(tmp_path))
    path.write_text("#" * manifests.LIMIT + "\n" + word)
    assert "flask" not in manifests.derived(str(tmp_path))
