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
from memory.hook import documents, fence, wallkeys, windows
from memory.project import manifests, mentions
from memory.recall import sentences as quotable
from memory.session import commandline, entries, git, shell, tellingline
from memory.terminal import pastlines

# seconds below which nothing is judged; characters of a text
GROWTH, FLOOR, LENGTH = 2.3, 0.04, 5_000


def entry(text: str) -> object:
    return entries.parse_entries(
        {
            "type": "user",
            "uuid": "u",
            "timestamp": "2026-11-21T14:30:52Z",
            "message": {"role": "user", "content": text},
        }
    )


def result(text: str) -> object:
    return entries.parse_entries(
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
    "manifest": manifests.extract_names,
    "page": lambda text: frontmatter.parse(text.encode()),
    "page by lines": lambda text: frontmatter.parse_fast(text.encode()),
    "head": lambda text: frontmatter.parse(b"---\n" + text.encode() + b"\n---\nx\n"),
    "edit": lambda text: frontmatter.edit(b"---\nid: a\n---\n" + text.encode(), {"title": "x"}),
    "record": lambda text: records.from_bytes("p/learnings/x.md", text.encode(), 0.0).title,
    "JSON lines": lambda text: fastjson.parse_rows(text.encode()),
    "a line of JSON": lambda text: fastjson.parse_rows(b'{"a":"' + text.encode()),
    "words": tokeniser.index_terms,
    "words of a text": tokeniser.split,
    "code": lambda text: list(tokeniser.mark_code(text.split("\n"))),
    "sentences": plaintext.split_sentences,
    "turns of a page": lambda text: list(documents.split_turns(text)),
    "conversation": lambda text: conversationpage.parse("## 09:00 go on\n\n" + text, "2026-11-21"),
    "a request": entry,
    "a result": result,
    "clean": entries.clean,
    "command line": commandline.split_steps,
    "parts": commandline.split_commands,
    "tasks": commandline.parse_tasks,
    "run": lambda text: shell.judge_command(
        text, "2026-11-21T14:30:52Z", "Exit code 1\nerror: x", None, True
    ),
    "output": lambda text: shell.judge_command(
        "make test", "2026-11-21T14:30:52Z", "Exit code 1\n" + text, None, True
    ),
    "telling line": lambda text: tellingline.pick_telling_lines(text, "make test"),
    "git's command": lambda text: list(
        git.parse_commits("git commit -m " + text, "", "/w", ("/w",))
    ),
    "git's output": lambda text: list(git.parse_commits("git commit -m x", text, "/w", ("/w",))),
    "walls": lambda text: wallkeys.build_failure_keys("Bash", text[:4096], text),
    "names": mentions._find_symbols,
    "paths": mentions._find_paths,
    "an outcome on a line": openings.format_plain_line,
    "an outcome without questions": openings.remove_questions,
    "code on a line": conversationpage.format_code,
    "a command for reading": pastlines.shorten_command,
    "discarded work": lambda text: git.find_discarded_paths("git stash drop; " + text),
    "an opening": lambda text: openings.find_opening([text], 240, "the queue"),
    "sections": checkpointoutline.split_sections,
    "lines to quote": quotable.parse_lines,
    "a window": windows.split_windows,
    "fence": lambda text: fence.split_frontmatter(text.encode()),
    "wishes": wishes.find_wishes,
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
    "name",
    [
        name
        for name in manifests._FILES
        if name not in manifests._WITHOUT_DEPENDENCIES and "*" not in name
    ],
)
def test_a_manifest_of_any_letters_costs_little(name, tmp_path):
    """Newlines, which once stopped recall, and all else that a repository may hold; up to the
    largest that is read.
    """
    for part in ("\n", " ", "a", '"', "'a:", "[", ".", "<artifactId>", "- ", "image: ", "x.y/z "):
        (tmp_path / name).write_text(
            "module x" + part * ((manifests.MANIFEST_BYTES - 9) // len(part)) + "x"
        )
        start = time.process_time()
        manifests.find_tags(str(tmp_path))
        assert time.process_time() - start < 2, part


def test_what_a_manifest_of_go_requires(tmp_path):
    """One line, a block, a comment behind; not what only looks like it."""
    (tmp_path / "go.mod").write_text(
        "module example.com/x\n\ngo 1.22\n\nrequire github.com/gin-gonic/gin v1.9.1\n\nrequire (\n"
        "\tgithub.com/jackc/pgx/v5 v5.5.0 // indirect\n\n\tgoogle.golang.org/grpc v1.60.0\n)\n\n"
        "replace github.com/go-redis/redis => ../redis\n"
    )
    assert set(manifests.find_tags(str(tmp_path))) == {"go", "gin", "postgres", "grpc"}


def test_a_manifest_is_read_up_to_its_limit(tmp_path):
    """One byte more than LIMIT, and what stands at the end is not seen."""
    path, word = Path(tmp_path, "requirements.txt"), "flask"
    path.write_text("#" * (manifests.MANIFEST_BYTES - len(word) - 1) + "\n" + word)
    assert path.stat().st_size == manifests.MANIFEST_BYTES and "flask" in manifests.find_tags(
        str(tmp_path)
    )
    path.write_text("#" * manifests.MANIFEST_BYTES + "\n" + word)
    assert "flask" not in manifests.find_tags(str(tmp_path))
