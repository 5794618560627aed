"""Reads the client's own files: its auto memory, and the CLAUDE.md files that people write for it.

    claude-memory  <host>/projects/<main git root>/memory/*.md, a fact a file; the user's setting
        `autoMemoryDirectory` moves it.  Of MEMORY.md only what does not point at these files.
    claude-md  CLAUDE.md, CLAUDE.local.md, .claude/CLAUDE.md, .claude/rules/*.md of the project and
        below it, and the user's own

Each section becomes a learning, and a candidate: the client loads these files by itself, so a push
would repeat them.  Recall finds them, and a person may accept one.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Iterator, NamedTuple

from memory.core import files, frontmatter, layout, records
from memory.core.layout import Place
from memory.project import otherfiles
from memory.project.intake import Draft, Piece
from memory.project.otherfiles import Skip, Source
from memory.session import transcript
from memory.store.sections import outline

MEMORY, RULES = "claude-memory", "claude-md"
INDEX = "MEMORY.md"
RULE_FILES = ("CLAUDE.md", "CLAUDE.local.md")
LONG_MEMORY = 2000  # characters; a longer memory is split at its headings
SHORT_SECTION = 60  # characters; a shorter section joins the one above
# `](note.md)` or `[[note]]`
_NOTE_LINK = re.compile(r"\]\([^)]{1,160}\.md\)|\[\[[^\]]{1,160}\]\]")


class Section(NamedTuple):
    """A part of a file.  path: the headings above it, such as `Setup > Docker`."""

    path: str
    text: str


def memory_folder(place: Place, env: dict[str, str]) -> str:
    """Return the directory of the client's auto memory, whether or not it exists."""
    common = layout.find_common_git(place.git) if place.git else ""
    main = common[:-5] if common.endswith("/.git") else place.root
    host = transcript.find_host_folder(env)
    try:
        setting = json.loads(files.read(host + "/settings.json")).get("autoMemoryDirectory")
    except (OSError, ValueError, AttributeError):
        setting = None
    if isinstance(setting, str) and setting:
        return otherfiles.expand_path(setting, env)
    return host + "/projects/" + re.sub(r"[^A-Za-z0-9]", "-", main) + "/memory"


def find_memories(folder: str) -> tuple[list[Source], list[Skip]]:
    """Return (files of an auto memory, skipped files)."""
    if not files.is_folder(folder):
        return [], []
    entries = otherfiles.find_files(folder, lambda name: name.endswith(".md"))
    return otherfiles.separate_skips(entries)


def read_memories(found: list[Source], place: Place, tier: str) -> Iterator[Piece | Skip]:
    """Yield the pieces of an auto memory's files."""
    for source in found:
        data = otherfiles.read_source(source)
        if isinstance(data, Skip):
            yield data
            continue
        page = frontmatter.parse(data)
        kept = page.body
        if source.name == INDEX:  # a line with a link repeats the linked file
            kept = "\n".join(line for line in page.body.split("\n") if not _NOTE_LINK.search(line))
        is_whole = source.name != INDEX and len(kept) <= LONG_MEMORY
        parts = [Section("", kept)] if is_whole else split_sections(kept)
        title, tags = _memory_title(page.meta) if is_whole else "", _memory_tags(page.meta)
        yield from _make_pieces(source, parts, place, title, "agent", tags, tier)


def _memory_title(meta: dict[str, object]) -> str:
    title = meta.get("description") or meta.get("name") or ""
    return " ".join(title.split())[:120] if isinstance(title, str) else ""


def _memory_tags(meta: dict[str, object]) -> tuple[str, ...]:
    inner = meta.get("metadata")
    type = inner.get("type") if isinstance(inner, dict) else meta.get("type")
    return (type,) if isinstance(type, str) and type else ()


def _make_pieces(
    source: Source,
    parts: list[Section],
    place: Place,
    title: str,
    author: str,
    tags: tuple[str, ...],
    tier: str,
) -> Iterator[Piece]:
    key = otherfiles.record_path(source.path, place, tier)
    taken: set[str] = set()
    for part in parts:
        if not any(c.isalnum() for c in part.text):
            continue
        name, number = part.path, 2
        while name in taken:
            name, number = "%s (%d)" % (part.path, number), number + 1
        taken.add(name)
        own_title = title or _section_title(part, source)
        draft = partial(Draft, "learning", own_title, part.text, tags, author, {"accepted": False})
        shown = source.name + (" § " + name if name else "")
        yield Piece((key, name), shown, files.sha256(part.text.encode("utf-8", "replace")), draft)


def _section_title(part: Section, source: Source) -> str:
    headings = part.path.split(" > ")
    if not part.path:
        return records.from_bytes("p/x/" + source.name, part.text.encode(), 0.0).title
    return ": ".join(headings[-2:]) if len(headings) > 2 else headings[-1]


def split_sections(body: str) -> list[Section]:
    """Split a text at its headings, down to the third level.

    A short section joins the section that it lies in.
    """
    made: list[Section] = []
    lines = body.split("\n")
    heads = [head for head in outline(body) if head.level <= 3]
    for head, end in zip(heads, [*(below.start for below in heads[1:]), len(lines)]):
        text = "\n".join(lines[head.start : end]).strip("\n") + "\n"
        own = "\n".join(line for line in lines[head.start : end] if line[:1] != "#").strip()
        is_below = made and _is_below(head.path, made[-1].path)
        if is_below and own and len(own) < SHORT_SECTION:
            made[-1] = Section(made[-1].path, made[-1].text + "\n" + text)
        elif own:
            made.append(Section(head.path, text))
    return made


def _is_below(path: str, above: str) -> bool:
    return not above or (path + " > ").startswith(above + " > ")


def find_rule_files(place: Place) -> tuple[list[Source], list[Skip]]:
    """Return (a project's CLAUDE.md files and rules, skipped files).

    Outside git, only those directly in its root.
    """
    root = place.root
    found: list[Source] = []
    skipped: list[Skip] = []
    if place.git:
        entries = otherfiles.find_files(root, lambda name: name in RULE_FILES)
        found, skipped = otherfiles.separate_skips(entries)
    for name in (".claude/CLAUDE.md",) if place.git else (*RULE_FILES, ".claude/CLAUDE.md"):
        if files.exists(root + "/" + name):
            if files.is_inside(root + "/" + name, root):
                found.append(Source(root + "/" + name, name))
            else:
                remedy = "replace the link with the file itself"
                skipped.append(Skip(name, "a link out of the project", remedy))
    folder = ".claude/rules/"
    if files.is_folder(root + "/" + folder) and files.is_inside(root + "/" + folder, root):
        entries = otherfiles.find_files(root + "/" + folder[:-1], lambda name: name.endswith(".md"))
        rules, others = otherfiles.separate_skips(entries)
        found += [Source(rule.path, folder + rule.name) for rule in rules]
        skipped += [skip._replace(path=folder + skip.path) for skip in others]
    return found, skipped


def find_user_files(env: dict[str, str]) -> list[Source]:
    path = transcript.find_host_folder(env) + "/CLAUDE.md"
    return [Source(path, path)] if files.exists(path) else []


def read_rule_files(found: list[Source], place: Place, tier: str) -> Iterator[Piece | Skip]:
    """Yield a piece for each section of CLAUDE.md files."""
    for source in found:
        data = otherfiles.read_source(source)
        if isinstance(data, Skip):
            if data.reason != "empty":
                yield data
            continue
        parts = split_sections(frontmatter.parse(data).body)
        yield from _make_pieces(source, parts, place, "", "human", ("claude-md",), tier)
