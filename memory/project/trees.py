"""Trees of reference material: resources by version, in directories that say so.

    docs/{version}/…     scripts/{version}/…     and in either, or beside them: shared/…
                                                 unversioned/…

A record's `versions` follow from the directory: its name; `unversioned`; of `shared` every version
that the tree has.  A file straight in `docs/` or `scripts/` says nothing of versions.  Beside
`docs/` and `scripts/` a file is a script where its name or first line says so.  Several trees may
stand side by side in one directory, one a project, whose name is a tag.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import islice
from typing import Any, Iterator, NamedTuple

from memory.core import UsageError, clock, files
from memory.core.layout import Place
from memory.project import material, otherfiles
from memory.project.intake import Draft, Piece
from memory.project.otherfiles import Skip, Source

FROM = "tree"
DOC, SCRIPT = "doc", "script"
COUNTED = 10_000  # files that were left out, at most
SHARED, UNVERSIONED = "shared", "unversioned"
_TYPES = {"docs": DOC, "scripts": SCRIPT, SHARED: "", UNVERSIONED: ""}


class TreeFile(NamedTuple):
    """A file of a tree.  type: doc or script; project: "" where there is one tree alone."""

    source: Source
    type: str
    versions: tuple[str, ...]
    project: str = ""


class Tree(NamedTuple):
    """The files of the trees below a directory, and the skipped."""

    root: str
    found: list[TreeFile]
    skipped: list[Skip]


def look(root: str) -> Tree:
    """Return the trees' files that a directory (of `otherfiles.folder`) holds.

    Raises UsageError where no directory has one of the four names.
    """
    inner = _inner(root)
    if not inner:
        raise UsageError(
            "%s: no docs/, scripts/, shared/ or unversioned/ in it; give the directory that holds "
            "docs/{version}/… or scripts/{version}/…" % root
        )
    tree = Tree(root, [], [])
    for prefix in inner:
        versions = _versions(root + "/" + prefix)
        for top in _TYPES:
            if not os.path.isdir(root + "/" + prefix + top):
                continue
            if files.inside(root + "/" + prefix + top, root):
                _take(tree, prefix, top, versions)
            else:
                tree.skipped.append(Skip(prefix + top, *otherfiles.LINKED))
    tree.found.sort(key=lambda found: found.source.name)
    return tree


def count_outside(tree: Tree) -> int:
    """Count the files outside a tree's four directories, COUNTED at most."""
    tops = tuple(prefix + top + "/" for prefix in _inner(tree.root) for top in _TYPES)
    every = otherfiles.below(tree.root, lambda name: True)
    outside = (one for one in every if isinstance(one, Source) and not one.name.startswith(tops))
    return sum(1 for _ in islice(outside, COUNTED))


def _inner(root: str) -> list[str]:
    if _is_tree(root):
        return [""]
    return [entry + "/" for entry in _folders(root) if _is_tree(root + "/" + entry)]


def _is_tree(path: str) -> bool:
    return any(os.path.isdir(path + "/" + name) for name in _TYPES)


def _folders(path: str) -> list[str]:
    return [
        name
        for name in files.visible_names(path)
        if files.is_folder(path + "/" + name) and not files.is_link(path + "/" + name)
    ]


def _versions(tree: str) -> tuple[str, ...]:
    named = {
        name
        for top in ("docs", "scripts")
        if os.path.isdir(tree + top) and files.inside(tree + top, tree)
        for name in _folders(tree + top)
    }
    return tuple(sorted(name for name in named if name not in _TYPES and _is_version(name)))


def _label(name: str) -> str:
    """Return a name with hyphens for what no tag or version may hold."""
    return "-".join(name.replace(",", " ").replace("#", " ").split())


def _is_version(name: str) -> bool:
    return not any(c.isspace() or c in ",#" for c in name)


def _folder_in(path: str) -> str:
    first, _, rest = path.partition("/")
    return first if rest else ""


def _take(tree: Tree, prefix: str, name: str, versions: tuple[str, ...]) -> None:
    refused, top, kind = set(), prefix + name, _TYPES[name]
    project = _label(prefix.rstrip("/"))
    for one in otherfiles.below(tree.root + "/" + top, lambda name: True):
        if isinstance(one, Skip):
            tree.skipped.append(one._replace(path=top + "/" + one.path))
            continue
        source = Source(one.path, top + "/" + one.name)
        folder = _folder_in(one.name) if kind else top.rpartition("/")[2]
        if not _is_version(folder):
            if folder not in refused:
                refused.add(folder)
                why = "a version has no spaces, commas or '#'"
                remedy = "rename it to " + (_label(folder) or "a version")
                tree.skipped.append(Skip(top + "/" + folder, why, remedy))
            continue
        of = {SHARED: versions or (UNVERSIONED,), "": ()}.get(folder, (folder,))
        tree.found.append(TreeFile(source, kind or _type(source), of, project))


def _type(source: Source) -> str:
    if source.name.rpartition(".")[2].lower() in material.LANGUAGES and "." in source.name:
        return SCRIPT
    try:
        return SCRIPT if files.read(source.path, 2) == b"#!" else DOC
    except OSError:
        return DOC


def pieces(
    tree: Tree, place: Place, tier: str, now: float, author: str = "human"
) -> Iterator[Piece | Skip]:
    """Yield a piece for each file of a tree.  author: human or agent."""
    yield from tree.skipped
    ref = otherfiles.commit_of(tree.root)
    for found in tree.found:
        data = otherfiles.read(found.source)
        if isinstance(data, Skip):
            yield data
            continue
        path = otherfiles.known_as(found.source.path, place, tier)
        checksum = files.sha256(data)
        extra: dict[str, Any] = {
            "type": found.type,
            "path": path,
            "checksum": checksum,
            "source_ref": ref or None,
            "refreshed": clock.iso(now),
            "versions": [*found.versions] or None,
        }
        shared = SHARED in found.source.name.split("/")[:-1]
        yield Piece(
            (path, ""),
            found.source.name,
            checksum,
            partial(_draft, found, data, extra, author),
            found.versions if shared else (),
        )


def _draft(found: TreeFile, data: bytes, extra: dict[str, Any], author: str) -> Draft:
    source = material.Source(found.source.path, data, False)
    said = material.said_of(source, found.type, material.text_of(source, True))
    tags = dict.fromkeys((*said.tags, *([found.project] if found.project else [])))
    return Draft("resource", said.title, said.body, tuple(tags), author, extra)
