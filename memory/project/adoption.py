"""Settles which workspace a directory has: one that is renamed since its remote came, new, or
claimed and proved.

A claim (layout.py) is proved by a commit that the workspace knows: of its checkpoints, of the paths
seen with it, or theirs now. The object itself must lie in this repository, under its true hash:
neither a name nor a link to another repository proves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from memory.core import DayleafError, approvals, clock, fastjson, files, layout, walk
from memory.core.layout import Place
from memory.project.gitobjects import Missing, Objects
from memory.session import git
from memory.store import writer

READ = 400  # checkpoints, the newest first, that are asked for their commit
# checkpoints of each other workspace, and workspaces, that are looked at
FEW, MOST_WORKSPACES = 20, 500
MAY_BE = "this may be %s: if it is yours, run `dayleaf store workspace claim` in a terminal"
_COMMIT = re.compile(rb"^commit: ['\"]?([0-9a-f]{7,40})\b", re.M)


def adopt(place: Place, now: float) -> Place:
    """Give a directory its due or proved workspace; return the place.

    Not on the blocking path, which writes nothing.  Where another process was first, or nothing can
    be moved, the place stays as it is.
    """
    try:
        if place.claimed:
            return confirm_claim(place, "commit", now) if _is_proved(place) else _unproved(place)
        if place.due == place.key:
            look_for_past(place)
            files.make_folder(place.home + "/workspaces")
            files.posix.mkdir(place.private, files.FOLDER_MODE)
            _note(place, place.key, "first", now)
        elif place.due:
            return _renamed(place, now)
    except OSError:
        pass
    return place


def note_path(place: Place, now: float) -> None:
    """Record once that a repository's path belongs to its workspace.  Raises OSError."""
    if not place.git or not files.is_folder(place.private):
        return
    for path in dict.fromkeys((place.anchor, place.root)):  # a worktree may lose its main checkout
        if not layout.is_believed(place.home, place.key, path):
            _note(place, place.key, "first", now, path)


def note_restored(home: str, known: Iterable[tuple[str, str, str]], now: float) -> None:
    """Note a backup's knowledge of its workspaces; raises OSError.

    known: (workspace, commit, name by its remote).
    """
    for key, commit, named in known:
        files.append_line(
            home + layout.PLACES,
            '{"v":1,"t":"%s",%s,"by":"restore","commit":%s}'
            % (clock.iso(now), layout.remote_row(named, key), fastjson.quote(commit)),
        )


def known_workspaces(home: str) -> list[tuple[str, str, str]]:
    """Return (workspace, commit, name by its remote) that paths tell."""
    found: dict[tuple[str, str, str], None] = {}
    for row in layout.place_rows(home):
        key, commit, path = (row.get(part) for part in ("key", "commit", "path"))
        if isinstance(key, str) and isinstance(commit, str):
            named = row.get("named")
            if isinstance(path, str):
                place = layout.locate({"DAYLEAF_HOME": home}, path)
                named = place.named if place.key == key else key
            found[key, commit, str(named)] = None
    return list(found)


def offered(place: Place) -> str:
    """Return the workspace found to know this repository's commit, or ""."""
    try:
        key = files.read(place.cache + layout.OFFERED, 256).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return (
        key
        if layout.slug(key, 60) == key and files.is_folder(place.home + "/workspaces/" + key)
        else ""
    )


def look_for_past(place: Place) -> str:
    """Find and record a workspace that knows this repository's commit.

    So a folder that moved, or whose home did, or whose history was begun anew, is recognised. A
    workspace that still stands at another path is not offered to a repository with a remote or
    notes of its own, which may be a fork, unless both have one remote.  Done again when a workspace
    has come.  Raises OSError.
    """
    if not place.git or not layout.is_own(place.root, place.git, place.anchor):
        return ""
    rows = layout.place_rows(place.home)
    here = [row for row in rows if row.get("path") == place.anchor]
    last = here[-1] if here else {}
    if last.get("by") == "person" and last.get("key") == place.key:
        return ""
    keys, found = _workspaces(place, rows), offered(place)
    if found or not keys or _has_looked(place):
        return found
    found = _recognised(place, here, keys, rows)
    files.replace(place.cache + layout.OFFERED, found.encode("utf-8", "replace"))
    return found


def _recognised(
    place: Place, here: list[dict[str, Any]], keys: list[str], rows: list[dict[str, Any]]
) -> str:
    """Return the workspace here before, else one with the commit."""
    past = [str(row.get("key")) for row in reversed(here)]
    stood = [key for key in past if key in keys]
    if stood and here[-1].get("by") != "commit":
        return stood[0]
    return _knows_commit(place, [key for key in keys if key not in past], rows)


def _has_looked(place: Place) -> bool:
    try:
        looked = files.posix.stat(place.cache + layout.OFFERED).st_mtime_ns
        return looked >= files.posix.stat(place.home + "/workspaces").st_mtime_ns
    except OSError:
        return False


def decline(place: Place, key: str, now: float) -> None:
    """Record that a person declined an offered workspace; raises OSError."""
    files.append_line(
        place.home + layout.PLACES,
        '{"v":1,"t":"%s","declined":%s,"at":%s}'
        % (clock.iso(now), fastjson.quote(key), fastjson.quote(place.anchor)),
    )
    files.remove(place.cache + layout.OFFERED)


def _workspaces(place: Place, rows: list[dict[str, Any]]) -> list[str]:
    """Return the other workspaces of a home that nobody declined here."""
    declined = [row.get("declined") for row in rows if row.get("at") == place.anchor]
    found = files.list_folder(place.home + "/workspaces")
    return [key for key in found if key != place.key and key not in declined][:MOST_WORKSPACES]


def _knows_commit(place: Place, keys: list[str], rows: list[dict[str, Any]]) -> str:
    begun = place.due or files.is_folder(place.private)
    with Objects(place.git) as mine:
        for key in keys:
            seen = [row for row in rows if row.get("key") == key]
            if begun and _stands_apart(place, seen):
                continue
            known = {str(row["commit"]) for row in seen if row.get("commit")}
            known |= _checkpoint_commits(place.home + "/workspaces/" + key, FEW)
            if any(row.get("named") == place.named for row in seen) or any(
                _holds(mine, commit) for commit in sorted(known)
            ):
                return key
    return ""


def _stands_apart(place: Place, seen: list[dict[str, Any]]) -> bool:
    """Tell whether a workspace's paths are still repositories, all with other remotes."""
    paths = [path for row in seen for path in (row.get("path"),) if isinstance(path, str)]
    stand = [path for path in dict.fromkeys(paths) if _stands(path)]
    env = {"DAYLEAF_HOME": place.home}
    return bool(stand) and all(layout.locate(env, path).named != place.named for path in stand)


def _stands(path: str) -> bool:
    root, git = layout.find_git(path)
    return bool(git) and root == path


def confirm_claim(place: Place, by: str, now: float) -> Place:
    """Give a directory its claimed workspace; return the new place.

    The directory's records move there if it `goes_along`.  by: `commit` or `person`.  Raises
    OSError.
    """
    new = _named(place, place.claimed)
    if goes_along(place):
        writer.join_workspace(place, new)
        _approve(place, new, now)
    files.make_folder(new.private)
    _note(place, new.key, by, now)
    files.remove(place.cache + layout.OFFERED)
    if by == "person":  # they have read which remote it is
        files.replace(new.cache + layout.REMOTE + place.named, b"")
    return new


def goes_along(place: Place) -> bool:
    """Tell whether the records of a directory's workspace belong to this directory alone."""
    rows = layout.place_rows(place.home)
    paths = {str(row.get("path")) for row in rows if row.get("key") == place.key}
    return place.key in (place.named, layout.name_for(place.anchor)) and not any(
        map(_stands, paths - {place.anchor, place.root})
    )


def _renamed(place: Place, now: float) -> Place:
    """Rename a workspace after its remote; return the new place."""
    new = _named(place, place.due)
    writer.rename_workspace(place, new)
    _note(place, new.key, "first", now)
    # else its rules wait for their approval again, which `dayleaf rule list` shows
    _approve(place, new, now)
    return new


def _named(place: Place, key: str) -> Place:
    return Place(
        place.home,
        key,
        place.project,
        place.root,
        place.git,
        place.shared,
        "",
        place.anchor,
        "",
        place.named,
    )


def _approve(place: Place, new: Place, now: float) -> None:
    try:
        renamed = {place.key: new.key, approvals.SCRIPT + place.key: approvals.SCRIPT + new.key}
        for key, id_, sha256 in sorted(approvals.approved(place.home)):
            if key in renamed:
                by = "dayleaf: %s is now %s" % (place.key, new.key)
                approvals.decide(place.home, renamed[key], id_, sha256, "approve", by, now)
    except (OSError, DayleafError):
        pass


def _note(place: Place, key: str, by: str, now: float, path: str = "") -> None:
    files.append_line(
        place.home + layout.PLACES,
        '{"v":1,"t":"%s",%s,"by":"%s","commit":"%s"}'
        % (
            clock.iso(now),
            layout.place_row(key, path or place.anchor),
            by,
            git.head(place.git).commit,
        ),
    )


def _unproved(place: Place) -> Place:
    if not files.exists(place.cache + layout.UNPROVED):
        files.replace(place.cache + layout.UNPROVED, b"")
    return place


def _is_proved(place: Place) -> bool:
    """Tell whether this repository proves its claim by a commit.

    A commit that the claimed workspace knows, or that a path seen with it has now.  A workspace
    from before paths were noted that knows no commit goes to the first claimant; never that of a
    local path.
    """
    if not layout.is_own(place.root, place.git, place.anchor):
        return False
    seen = [row for row in layout.place_rows(place.home) if row.get("key") == place.claimed]
    remote = layout.remote_of(layout.common_git(place.git))
    local = remote[:1] in ("", "/")
    known = {str(row["commit"]) for row in seen if row.get("commit")} | _checkpoint_commits(
        place.home + "/workspaces/" + place.claimed
    )
    paths = [str(row.get("path")) for row in seen if row.get("path") != place.anchor]
    if remote[:1] == "/":
        paths.append(remote)
    heads = _heads(paths)
    known.update(heads.values())
    known.discard("")
    with Objects(place.git) as mine:
        if _is_held(mine, git.head(place.git).commit, heads):
            return True
        return any(_holds(mine, commit) for commit in sorted(known)) or not (seen or known or local)


def _heads(paths: Iterable[str]) -> dict[str, str]:
    found = {}
    for path in paths:
        root, folder = layout.find_git(path)
        if root == path:
            found[folder] = git.head(folder).commit
    return found


def _is_held(mine: Objects, commit: str, heads: dict[str, str]) -> bool:
    """Tell whether a commit is in my objects and in one of the other repositories.

    heads: the newest commit of each repository, "" without any.
    """
    if not commit or not _holds(mine, commit):
        return False
    for folder, head in heads.items():
        if head:
            with Objects(folder) as theirs:
                if _holds(theirs, commit):
                    return True
    return False


def known_paths(home: str) -> list[str]:
    paths = [row.get("path") for row in layout.place_rows(home)]
    return [path for path in paths if isinstance(path, str)]


def _checkpoint_commits(private: str, most: int = READ) -> set[str]:
    found: set[str] = set()
    pages = [
        path.split("/")
        for name, path, stat in walk.entries_below(private)
        if "checkpoints" in name.split("/") and name.endswith(".md") and walk.is_regular(stat)
    ]
    for parts in sorted(pages, key=lambda parts: parts[-2:], reverse=True)[:most]:
        try:
            found.update(
                said.decode("ascii")
                for said in _COMMIT.findall(files.read("/".join(parts), 4096, follow=False))
            )
        except OSError:
            continue
    return found


def _holds(objects: Objects, prefix: str) -> bool:
    """Tell whether a repository has a commit with a hash prefix."""
    # The commit must be readable; a folder of objects that is a link counts as none.
    for hash in objects.find(prefix):
        try:
            kind, _ = objects.read(hash)
        except Missing:
            continue
        if kind == "commit" and files.inside(objects.folder + "/" + hash[:2], objects.folder):
            return True
    return False
