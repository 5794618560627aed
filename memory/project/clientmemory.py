"""What the client keeps for itself: its auto memory, and the CLAUDE.md files that people write for
it.  Read only.

    claude-memory   <host>/projects/<main git root>/memory/*.md, a fact a file;
                    `autoMemoryDirectory` in the user's settings moves it.  Of MEMORY.md only what
                    does not point at one of these files.
    claude-md       CLAUDE.md, CLAUDE.local.md, .claude/CLAUDE.md, .claude/rules/*.md of the project
                    and below it, and the user's own

The records are learnings, a section each where a file has several, and candidates all: the client
loads these files by itself, and would be told twice.  Recall finds them, also sections of files in
directories where the client has not been, and a person may accept one.
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
LONG = 2000  # characters of a memory that is taken apart by its headings
SMALL = 60  # characters that do not stand on their own
_POINTS = re.compile(r"\]\([^)]{1,160}\.md\)|\[\[[^\]]{1,160}\]\]")


class Section(NamedTuple):
    """A part of a file.  path: the headings above it, such as `Setup > Docker`."""

    path: str
    text: str


def memory_folder(place: Place, env: dict[str, str]) -> str:
    """Return the directory of the client's auto memory, whether or not it exists."""
    common = layout.common_git(place.git) if place.git else ""
    main = common[:-5] if common.endswith("/.git") else place.root
    host = transcript.host(env)
    try:
        said = json.loads(files.read(host + "/settings.json")).get("autoMemoryDirectory")
    except (OSError, ValueError, AttributeError):
        said = None
    if isinstance(said, str) and said:
        return otherfiles.expanded(said, env)
    return host + "/projects/" + re.sub(r"[^A-Za-z0-9]", "-", main) + "/memory"


def memories(folder: str) -> tuple[list[Source], list[Skip]]:
    """Return the files of an auto memory, and the skipped.  Empty without such a directory."""
    if not files.is_folder(folder):
        return [], []
    return otherfiles.split(otherfiles.below(folder, lambda name: name.endswith(".md")))


def memory_pieces(found: list[Source], place: Place, tier: str) -> Iterator[Piece | Skip]:
    """Yield the notes of an auto memory."""
    for source in found:
        data = otherfiles.read(source)
        if isinstance(data, Skip):
            yield data
            continue
        page = frontmatter.parse(data)
        kept = page.body
        if source.name == INDEX:  # its lines that point at a file say what the file says
            kept = "\n".join(line for line in page.body.split("\n") if not _POINTS.search(line))
        whole = source.name != INDEX and len(kept) <= LONG
        parts = [Section("", kept)] if whole else sections(kept)
        yield from _pieces(
            source,
            parts,
            place,
            _memory_title(page.meta) if whole else "",
            "agent",
            _type(page.meta),
            tier,
        )


def _memory_title(meta: dict[str, object]) -> str:
    said = meta.get("description") or meta.get("name") or ""
    return " ".join(said.split())[:120] if isinstance(said, str) else ""


def _type(meta: dict[str, object]) -> tuple[str, ...]:
    inner = meta.get("metadata")
    said = inner.get("type") if isinstance(inner, dict) else meta.get("type")
    return (said,) if isinstance(said, str) and said else ()


def _pieces(
    source: Source,
    parts: list[Section],
    place: Place,
    title: str,
    author: str,
    tags: tuple[str, ...],
    tier: str,
) -> Iterator[Piece]:
    key = otherfiles.known_as(source.path, place, tier)
    taken: set[str] = set()
    for part in parts:
        if not any(c.isalnum() for c in part.text):
            continue
        name, number = part.path, 2
        while name in taken:
            name, number = "%s (%d)" % (part.path, number), number + 1
        taken.add(name)
        named = title or _section_title(part, source)
        shown = source.name + (" § " + name if name else "")
        yield Piece(
            (key, name),
            shown,
            files.sha256(part.text.encode("utf-8", "replace")),
            partial(Draft, "learning", named, part.text, tags, author, {"accepted": False}),
        )


def _section_title(part: Section, source: Source) -> str:
    headings = part.path.split(" > ")
    if not part.path:
        return records.from_bytes("p/x/" + source.name, part.text.encode(), 0.0).title
    return ": ".join(headings[-2:]) if len(headings) > 2 else headings[-1]


def sections(body: str) -> list[Section]:
    """Cut a text at its headings, down to the third level.  A short section joins the one above."""
    made: list[Section] = []
    lines = body.split("\n")
    found = [one for one in outline(body) if one.level <= 3]
    for one, end in zip(found, [*(below.start for below in found[1:]), len(lines)]):
        text = "\n".join(lines[one.start : end]).strip("\n") + "\n"
        own = "\n".join(line for line in lines[one.start : end] if line[:1] != "#").strip()
        below = made and (one.path + " > ").startswith(made[-1].path and made[-1].path + " > ")
        if below and own and len(own) < SMALL:
            made[-1] = Section(made[-1].path, made[-1].text + "\n" + text)
        elif own:
            made.append(Section(one.path, text))
    return made


def rule_files(place: Place) -> tuple[list[Source], list[Skip]]:
    """Return a project's CLAUDE.md files and rules, and the skipped.  Outside git its own alone."""
    root = place.root
    found: list[Source] = []
    skipped: list[Skip] = []
    if place.git:
        found, skipped = otherfiles.split(otherfiles.below(root, lambda name: name in RULE_FILES))
    for name in (".claude/CLAUDE.md",) if place.git else (*RULE_FILES, ".claude/CLAUDE.md"):
        if files.exists(root + "/" + name):
            if files.inside(root + "/" + name, root):
                found.append(Source(root + "/" + name, name))
            else:
                why = ("a link out of the project", "replace the link with the file itself")
                skipped.append(Skip(name, *why))
    folder = ".claude/rules/"
    if files.is_folder(root + "/" + folder) and files.inside(root + "/" + folder, root):
        for one in otherfiles.below(root + "/" + folder[:-1], lambda name: name.endswith(".md")):
            if isinstance(one, Skip):
                skipped.append(one._replace(path=folder + one.path))
            else:
                found.append(Source(one.path, folder + one.name))
    return found, skipped


def user_files(env: dict[str, str]) -> list[Source]:
    """Return the user's own CLAUDE.md, if any."""
    path = transcript.host(env) + "/CLAUDE.md"
    return [Source(path, path)] if files.exists(path) else []


def rule_pieces(found: list[Source], place: Place, tier: str) -> Iterator[Piece | Skip]:
    """Yield the sections of CLAUDE.md files."""
    for source in found:
        data = otherfiles.read(source)
        if isinstance(data, Skip):
            if data.reason != "empty":
                yield data
            continue
        parts = sections(frontmatter.parse(data).body)
        yield from _pieces(source, parts, place, "", "human", ("claude-md",), tier)
