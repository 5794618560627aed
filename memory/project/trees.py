"""Trees of reference material: directories of resources by version.

    docs/{version}/…, scripts/{version}/…; in either, or beside them: shared/…, unversioned/…

A record's `versions` are the directory's name, or `unversioned`, or below `shared` all versions of
the tree; a file directly in `docs/` or `scripts/` has none.  Outside these two, a file's name or
first line makes it a script.  A directory without these two may hold several trees, one a project;
the project's name becomes a tag.  Its own `shared/` belongs to all of them.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import chain, islice
from typing import Any, Iterable, Iterator, NamedTuple

from memory.core import UsageError, clock, files
from memory.core.layout import Place
from memory.project import material, otherfiles
from memory.project.intake import Draft, Piece
from memory.project.otherfiles import Skip, Source

FROM = "tree"
DOC, SCRIPT = "doc", "script"
COUNTED = 10_000  # files that were left out, at most
SHARED, UNVERSIONED = "shared", "unversioned"
_VERSIONED = {"docs": DOC, "scripts": SCRIPT}
_TYPES = {**_VERSIONED, SHARED: "", UNVERSIONED: ""}


class TreeFile(NamedTuple):
    """A file of a tree.  type: doc or script.  project: "" with one tree alone."""

    source: Source
    type: str
    versions: tuple[str, ...]
    project: str = ""


class Tree(NamedTuple):
    """The files of the trees below a directory, and the skipped files."""

    root: str
    found: list[TreeFile]
    skipped: list[Skip]


def find_tree(root: str) -> Tree:
    """Return the files of a directory's trees; raises UsageError without any."""
    inner = _find_prefixes(root)
    if not inner:
        raise UsageError(
            "%s: no docs/, scripts/, shared/ or unversioned/ in it; give the directory that holds "
            "docs/{version}/… or scripts/{version}/…" % root
        )
    tree = Tree(root, [], [])
    versions = {prefix: _find_versions(root + "/" + prefix) for prefix in inner}
    if "" in versions:
        versions[""] = tuple(sorted({*chain.from_iterable(versions.values())}))
    for prefix in inner:
        for top in _TYPES:
            if not os.path.isdir(root + "/" + prefix + top):
                continue
            if files.is_inside(root + "/" + prefix + top, root):
                _add_folder(tree, prefix, top, versions[prefix])
            else:
                tree.skipped.append(Skip(prefix + top, *otherfiles.LINKED))
    tree.found.sort(key=lambda found: found.source.name)
    return tree


def count_outside(tree: Tree) -> int:
    """Count the files outside a tree's four directories, COUNTED at most."""
    tops = tuple(prefix + top + "/" for prefix in _find_prefixes(tree.root) for top in _TYPES)
    every = otherfiles.find_files(tree.root, lambda name: True)
    sources = (file for file in every if isinstance(file, Source))
    outside = (file for file in sources if not file.name.startswith(tops))
    return sum(1 for _ in islice(outside, COUNTED))


def _find_prefixes(root: str) -> list[str]:
    own = [""] if _is_tree(root) else []
    if _is_tree(root, _VERSIONED):
        return own
    entries = [entry for entry in _list_folders(root) if entry not in _TYPES]
    return [*own, *(entry + "/" for entry in entries if _is_tree(root + "/" + entry))]


def _is_tree(path: str, tops: Iterable[str] = _TYPES) -> bool:
    return any(os.path.isdir(path + "/" + name) for name in tops)


def _list_folders(path: str) -> list[str]:
    entries = [(name, path + "/" + name) for name in files.list_visible(path)]
    return [name for name, e in entries if files.is_folder(e) and not files.is_link(e)]


def _find_versions(tree: str) -> tuple[str, ...]:
    tops = [tree + top for top in _VERSIONED if files.is_inside(tree + top, tree)]
    names = {name for top in tops for name in _list_folders(top)}
    return tuple(sorted(name for name in names if name not in _TYPES and _is_version(name)))


def _make_label(name: str) -> str:
    """Return a name with hyphens for spaces, commas and '#'."""
    return "-".join(name.replace(",", " ").replace("#", " ").split())


def _is_version(name: str) -> bool:
    return not any(c.isspace() or c in ",#" for c in name)


def _first_folder(path: str) -> str:
    first, _, rest = path.partition("/")
    return first if rest else ""


def _add_folder(tree: Tree, prefix: str, name: str, versions: tuple[str, ...]) -> None:
    refused, top, kind = set(), prefix + name, _TYPES[name]
    project = _make_label(prefix.rstrip("/"))
    for file in otherfiles.find_files(tree.root + "/" + top, lambda name: True):
        if isinstance(file, Skip):
            tree.skipped.append(file._replace(path=top + "/" + file.path))
            continue
        source = Source(file.path, top + "/" + file.name)
        folder = _first_folder(file.name) if kind else top.rpartition("/")[2]
        if not _is_version(folder):
            if folder not in refused:
                refused.add(folder)
                why = "a version's folder may have no space, comma or '#' in its name"
                remedy = "rename it to " + (_make_label(folder) or "a version")
                tree.skipped.append(Skip(top + "/" + folder, why, remedy))
            continue
        own = {SHARED: versions or (UNVERSIONED,), "": ()}.get(folder, (folder,))
        tree.found.append(TreeFile(source, kind or _guess_type(source), own, project))


def _guess_type(source: Source) -> str:
    if source.name.rpartition(".")[2].lower() in material.LANGUAGES and "." in source.name:
        return SCRIPT
    try:
        return SCRIPT if files.read(source.path, 2) == b"#!" else DOC
    except OSError:
        return DOC


def read_tree(
    tree: Tree, place: Place, tier: str, now: float, author: str = "human"
) -> Iterator[Piece | Skip]:
    """Yield a piece for each file of a tree.  author: human | agent."""
    yield from tree.skipped
    ref = otherfiles.find_commit(tree.root)
    for file in tree.found:
        data = otherfiles.read_source(file.source)
        if isinstance(data, Skip):
            yield data
            continue
        path = otherfiles.record_path(file.source.path, place, tier)
        checksum = files.sha256(data)
        extra: dict[str, Any] = {
            "type": file.type,
            "path": path,
            "checksum": checksum,
            "source_ref": ref or None,
            "refreshed": clock.iso(now),
            "versions": [*file.versions] or None,
        }
        shared = SHARED in file.source.name.split("/")[:-1]
        draft = partial(_draft_file, file, data, extra, author)
        versions = file.versions if shared else ()
        yield Piece((path, ""), file.source.name, checksum, draft, versions)


def _draft_file(file: TreeFile, data: bytes, extra: dict[str, Any], author: str) -> Draft:
    source = material.Source(file.source.path, data, False)
    own = material.describe_source(source, file.type, anyway=True)
    tags = dict.fromkeys((*own.tags, *([file.project] if file.project else [])))
    return Draft("resource", own.title, own.body, tuple(tags), author, extra)
