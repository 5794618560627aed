"""What the client keeps for itself: its auto memory, and the CLAUDE.md files that people write for
it.  Read only.

    claude-memory   <host>/projects/<main git root>/memory/*.md, a fact a file;
                    `autoMemoryDirectory` in the user's settings moves it.  Of MEMORY.md only what
                    does not point at one of these files.
    claude-md       CLAUDE.md, CLAUDE.local.md, .claude/CLAUDE.md, .claude/rules/*.md of the project
                    and below it, and the user's own; with the files that they import by `@path`,
                    five deep

The records are learnings, a section each where a file has several, and candidates all: the client
loads these files by itself, and would be told twice.  Recall finds them, also sections of files in
directories where the client has not been, and a person may accept one.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple, Union

from memory.core import files, frontmatter, layout, records
from memory.core.layout import Place
from memory.core.tokeniser import coded, heading
from memory.project import otherfiles
from memory.project.intake import Draft, Piece
from memory.project.otherfiles import Skip, Source
from memory.session import transcript

MEMORY, RULES = "claude-memory", "claude-md"
INDEX = "MEMORY.md"
RULE_FILES = ("CLAUDE.md", "CLAUDE.local.md")
LONG = 2000  # characters of a memory that is taken apart by its headings
SMALL = 60  # characters that do not stand on their own
IMPORTS = 5  # files that import one another, deep
_IMPORT = re.compile(r"(?<![\w`@/.])@((?:~/|\.{0,2}/)?[^\s`@,;:()\[\]<>\"']+)")
_CODE = re.compile(r"`[^`\n]*`")
_POINTS = re.compile(r"\]\([^)]{1,160}\.md\)|\[\[[^\]]{1,160}\]\]")


class Section(NamedTuple):
    """A part of a file that stands on its own.

    path: the headings above it.  text: with the last heading.
    """

    path: Tuple[str, ...]
    text: str


def memory_folder(place: Place, env: Dict[str, str]) -> str:
    """Return the directory of the client's auto memory of a workspace.

    Whether or not it exists.
    """
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


def memories(folder: str) -> Tuple[List[Source], List[Skip]]:
    """Return the files of an auto memory, and the skipped.

    Empty where there is no such directory.
    """
    if not files.is_folder(folder):
        return [], []
    return otherfiles.split(otherfiles.below(folder, lambda name: name.endswith(".md")))


def memory_pieces(found: List[Source], place: Place, tier: str) -> Iterator[Union[Piece, Skip]]:
    """Yield the notes of an auto memory.

    tier: of the records.
    """
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
        parts = [Section((), kept)] if whole else sections(kept)
        yield from _pieces(
            source,
            parts,
            place,
            _memory_title(page.meta) if whole else "",
            "agent",
            _type(page.meta),
            tier,
        )


def _memory_title(meta: Dict[str, object]) -> str:
    said = meta.get("description") or meta.get("name") or ""
    return " ".join(said.split())[:120] if isinstance(said, str) else ""


def _type(meta: Dict[str, object]) -> Tuple[str, ...]:
    inner = meta.get("metadata")
    said = inner.get("type") if isinstance(inner, dict) else meta.get("type")
    return (said,) if isinstance(said, str) and said else ()


def _pieces(
    source: Source,
    parts: List[Section],
    place: Place,
    title: str,
    author: str,
    tags: Tuple[str, ...],
    tier: str,
) -> Iterator[Piece]:
    key = otherfiles.known_as(source.path, place, tier)
    taken: Set[str] = set()
    for part in parts:
        if not any(c.isalnum() for c in part.text):
            continue
        name = " > ".join(part.path)
        number = 2
        while name in taken:
            name, number = "%s (%d)" % (" > ".join(part.path), number), number + 1
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
    if len(part.path) > 2:
        return ": ".join(part.path[-2:])
    return (
        part.path[-1]
        if part.path
        else records.from_bytes("p/x/" + source.name, part.text.encode(), 0.0).title
    )


def sections(body: str) -> List[Section]:
    """Cut a text at its headings, down to the third level.

    A section too short to stand alone stays with the section above.
    """
    made: List[Section] = []
    path: List[str] = []
    lines: List[str] = []

    def close() -> None:
        text = "\n".join(lines).strip("\n")
        own = "\n".join(line for line in lines if not line.startswith("#")).strip()
        if made and own and len(own) < SMALL and made[-1].path == tuple(path)[: len(made[-1].path)]:
            made[-1] = Section(made[-1].path, made[-1].text + "\n" + text + "\n")
        elif own:
            made.append(Section(tuple(part for part in path if part), text + "\n"))

    for line, code in coded(body.split("\n")):
        level, title = (0, "") if code else heading(line)
        if 0 < level <= 3:
            close()
            path[level - 1 :] = [""] * (level - 1 - len(path)) + [title]
            lines = []
        lines.append(line)
    close()
    return made


def rule_files(place: Place, env: Dict[str, str]) -> Tuple[List[Source], List[Skip]]:
    """Return the CLAUDE.md files and rules of a project, with imports.

    And the skipped.  Outside git the files of the directory alone.
    """
    root = place.root
    if place.git:
        found, skipped = otherfiles.split(otherfiles.below(root, lambda name: name in RULE_FILES))
    else:
        found, skipped = (
            [
                Source(root + "/" + name, name)
                for name in RULE_FILES
                if files.exists(root + "/" + name)
            ],
            [],
        )
    found += (
        [Source(root + "/.claude/CLAUDE.md", ".claude/CLAUDE.md")]
        if files.exists(root + "/.claude/CLAUDE.md")
        else []
    )
    found += _in_rules(root, skipped)
    return _with_imports(found, root, env, skipped), skipped


def user_files(env: Dict[str, str]) -> Tuple[List[Source], List[Skip]]:
    """Return the user's own CLAUDE.md with its imports.

    And the skipped files.
    """
    path = transcript.host(env) + "/CLAUDE.md"
    skipped: List[Skip] = []
    return _with_imports(
        [Source(path, path)] if files.exists(path) else [], "", env, skipped
    ), skipped


def _with_imports(
    found: List[Source], within: str, env: Dict[str, str], skipped: List[Skip]
) -> List[Source]:
    every: Dict[str, Source] = {}
    for source in found:
        _add(source, within, env, every, skipped, 0)
    return list(every.values())


def _in_rules(root: str, skipped: List[Skip]) -> List[Source]:
    if not files.is_folder(root + "/.claude/rules") or not files.inside(
        root + "/.claude/rules", root
    ):
        return []
    found, more = otherfiles.split(
        otherfiles.below(root + "/.claude/rules", lambda name: name.endswith(".md"))
    )
    skipped += [skip._replace(path=".claude/rules/" + skip.path) for skip in more]
    return [Source(source.path, ".claude/rules/" + source.name) for source in found]


def _add(
    source: Source,
    within: str,
    env: Dict[str, str],
    every: Dict[str, Source],
    skipped: List[Skip],
    depth: int,
) -> None:
    """Add a file and its imports, each once."""
    real = files.real_path(source.path)
    if real in every:
        return
    if within and not files.inside(real, within):
        skipped.append(
            Skip(source.name, "a link out of the project", "replace the link with the file itself")
        )
        return
    every[real] = source
    data = otherfiles.read(source)
    if isinstance(data, Skip) or depth == IMPORTS:
        return
    for said in _imported(data.decode("utf-8", "replace")):
        path = otherfiles.expanded(said, env, source.path.rpartition("/")[0])
        if not files.exists(path) or files.is_folder(path):
            continue  # an address, a package, a person: anything may stand behind an @
        if within and not files.inside(path, within):
            skipped.append(
                Skip(
                    "@" + said,
                    "imported from outside the project",
                    "import it by itself: `dayleaf store import dir`",
                )
            )
        else:
            _add(Source(path, said), within, env, every, skipped, depth + 1)


def _imported(text: str) -> List[str]:
    """Return the paths imported by a text, outside code."""
    found: List[str] = []
    for line, code in coded(text.split("\n")):
        if not code:
            found += [said.rstrip(".!?") for said in _IMPORT.findall(_CODE.sub("", line))]
    return found


def rule_pieces(found: List[Source], place: Place, tier: str) -> Iterator[Union[Piece, Skip]]:
    """Yield the sections of CLAUDE.md files.

    tier: of the records.
    """
    for source in found:
        data = otherfiles.read(source)
        if isinstance(data, Skip):
            if data.reason != "empty":
                yield data
            continue
        parts = sections(frontmatter.parse(data).body)
        yield from _pieces(source, parts, place, "", "human", ("claude-md",), tier)
