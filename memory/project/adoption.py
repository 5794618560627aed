"""Settles the workspace of a directory: a new one, one renamed after its new remote, or a claimed
one that is proved.

A claim (layout.py) is proved by a commit that the workspace knows: of its checkpoints, or of a path
noted with it, then or now.  The object must lie in this repository, under its true hash: neither a
name nor a link to another repository proves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from memory.core import DayleafError, approvals, clock, fastjson, files, layout, walk
from memory.core.layout import Place
from memory.project.gitobjects import Missing, Objects
from memory.session import git
from memory.store import writer

MOST_CHECKPOINTS = 400  # checkpoints, the newest first, that are asked for their commit
# checkpoints of each other workspace, and workspaces
FEW_CHECKPOINTS, MOST_WORKSPACES = 20, 500
_COMMIT = re.compile(rb"^commit: ['\"]?([0-9a-f]{7,40})\b", re.M)


def adopt(place: Place, now: float) -> Place:
    """Decide which workspace a directory gets; return its place.

    Writes, so a blocking hook never calls it.  Where another process was first, or nothing can be
    moved, the place stays as it is.
    """
    try:
        if place.claimed:
            if _is_proved(place):
                return confirm_claim(place, "commit", now)
            files.replace_if_changed(place.cache + layout.UNPROVED, b"")
            return place
        if place.due not in ("", place.key):
            return _rename_after_remote(place, now)
        find_past_workspace(place)
        if place.due:
            files.make_folder(place.home + "/workspaces")
            files.posix.mkdir(place.private, files.FOLDER_MODE)
            _append_place_row(place, place.key, "first", now)
    except OSError:
        pass
    return place


def note_path(place: Place, now: float) -> None:
    """Record once where a workspace's repository lies; raises OSError.

    Before the first record only where no remote names the workspace: the row believes the remote.
    """
    own = not place.due and place.key == layout.workspace_name(place.anchor)
    if not place.git or not (own or files.is_folder(place.private)):
        return
    for path in dict.fromkeys((place.anchor, place.root)):  # a worktree may lose its main checkout
        if not layout.is_known_path(place.home, place.key, path):
            _append_place_row(place, place.key, "first", now, path)


def append_restored_workspaces(
    home: str, known: Iterable[tuple[str, str, str]], now: float
) -> None:
    """Record a backup's workspaces, as `read_known_workspaces` returns them."""
    for key, commit, named in known:
        files.append_line(
            home + layout.PLACES,
            '{"v":1,"t":"%s",%s,"by":"restore","commit":%s}'
            % (clock.iso(now), layout.format_remote_row(named, key), fastjson.quote(commit)),
        )


def read_known_workspaces(home: str) -> list[tuple[str, str, str]]:
    """Return (workspace, commit, name by its remote) of each recorded workspace."""
    found: dict[tuple[str, str, str], None] = {}
    for row in layout.read_place_rows(home):
        key, commit, path = (row.get(part) for part in ("key", "commit", "path"))
        if isinstance(key, str) and isinstance(commit, str):
            named = row.get("named")
            if isinstance(path, str):
                place = layout.locate({"DAYLEAF_HOME": home}, path)
                named = place.named if place.key == key else key
            found[key, commit, str(named)] = None
    return list(found)


def find_past_workspace(place: Place) -> str:
    """Return the workspace that this repository had before, or ""; offer it.

    A folder that moved, or whose home did, or whose history was begun anew, is recognised by a
    commit.  A workspace that still stands elsewhere is not offered to a repository with a remote or
    notes of its own, which may be a fork, unless both have one remote.  Searches again when a
    workspace has come.
    """
    if not place.git or not layout.is_own_checkout(place.root, place.git, place.anchor):
        return ""
    rows = layout.read_place_rows(place.home)
    here = [row for row in rows if row.get("path") == place.anchor]
    last = here[-1] if here else {}
    if last.get("by") == "person" and last.get("key") == place.key:
        return ""
    keys, found = _list_other_workspaces(place, rows), layout.find_unproved(place)
    if found or not keys or _is_search_current(place):
        return found
    found = _choose_past_workspace(place, here, keys, rows)
    with suppress(OSError):
        files.replace(place.cache + layout.OFFERED, found.encode("utf-8", "replace"))
    return found


def _choose_past_workspace(
    place: Place, here: list[dict[str, Any]], keys: list[str], rows: list[dict[str, Any]]
) -> str:
    past = [str(row.get("key")) for row in reversed(here)]
    stood = [key for key in past if key in keys]
    if stood and here[-1].get("by") != "commit":
        return stood[0]
    return _find_workspace_with_commit(place, [key for key in keys if key not in past], rows)


def _is_search_current(place: Place) -> bool:
    try:
        looked = files.posix.stat(place.cache + layout.OFFERED).st_mtime_ns
        return looked >= files.posix.stat(place.home + "/workspaces").st_mtime_ns
    except OSError:
        return False


def decline_offer(place: Place, key: str, now: float) -> None:
    """Record that a person declined an offered workspace; raises OSError."""
    files.append_line(
        place.home + layout.PLACES,
        '{"v":1,"t":"%s","declined":%s,"at":%s}'
        % (clock.iso(now), fastjson.quote(key), fastjson.quote(place.anchor)),
    )
    files.remove(place.cache + layout.OFFERED)


def _list_other_workspaces(place: Place, rows: list[dict[str, Any]]) -> list[str]:
    """Return the other workspaces of a home, without those declined here."""
    declined = [row.get("declined") for row in rows if row.get("at") == place.anchor]
    found = [*files.list_folder(place.home + "/workspaces"), *_list_left_workspaces(place, rows)]
    return [key for key in found if key != place.key and key not in declined][:MOST_WORKSPACES]


def _list_left_workspaces(place: Place, rows: list[dict[str, Any]]) -> list[str]:
    """Return the workspaces without records whose repositories are gone.

    A session that started there may have died before its capture.
    """
    paths: dict[str, set[str]] = {}
    for row in rows:
        key, path = row.get("key"), row.get("path")
        if isinstance(key, str) and isinstance(path, str):
            paths.setdefault(key, set()).add(path)
    started = set(files.list_folder(place.home + layout.RECEIPTS))
    left = [key for key in paths if key in started]
    left = [key for key in left if not files.is_folder(place.home + "/workspaces/" + key)]
    return [key for key in left if not any(map(_is_repository_root, paths[key]))]


def _find_workspace_with_commit(place: Place, keys: list[str], rows: list[dict[str, Any]]) -> str:
    """Return the first workspace with this repository's commit or remote, or ""."""
    may_be_fork = place.due or files.is_folder(place.private)
    with Objects(place.git) as objects:
        for key in keys:
            noted = [row for row in rows if row.get("key") == key]
            if may_be_fork and _has_other_remotes(place, noted):
                continue
            commits = _read_known_commits(place, key, noted, FEW_CHECKPOINTS)
            has_same_remote = any(row.get("named") == place.named for row in noted)
            if has_same_remote or any(_has_commit(objects, commit) for commit in sorted(commits)):
                return key
    return ""


def _has_other_remotes(place: Place, noted: list[dict[str, Any]]) -> bool:
    roots = [path for path in dict.fromkeys(_list_paths(noted)) if _is_repository_root(path)]
    env = {"DAYLEAF_HOME": place.home}
    return bool(roots) and all(layout.locate(env, root).named != place.named for root in roots)


def _is_repository_root(path: str) -> bool:
    root, git = layout.find_git(path)
    return bool(git) and root == path


def confirm_claim(place: Place, by: str, now: float) -> Place:
    """Give a directory the workspace that it claims; return its new place.

    Records of this directory alone move there.  by: `commit` or `person`.  Raises OSError.
    """
    new = _make_place(place, place.claimed)
    if owns_workspace_alone(place):
        writer.join_workspace(place, new)
        _copy_approvals(place, new, now)
    files.make_folder(new.private)
    _append_place_row(place, new.key, by, now)
    files.remove(place.cache + layout.OFFERED)
    if by == "person":  # they have read which remote it is
        files.replace(new.cache + layout.REMOTE + place.named, b"")
    return new


def owns_workspace_alone(place: Place) -> bool:
    """Tell whether a workspace belongs to this directory alone."""
    rows = layout.read_place_rows(place.home)
    paths = {str(row.get("path")) for row in rows if row.get("key") == place.key}
    others = paths - {place.anchor, place.root}
    is_own_name = place.key in (place.named, layout.workspace_name(place.anchor))
    return is_own_name and not any(map(_is_repository_root, others))


def _rename_after_remote(place: Place, now: float) -> Place:
    new = _make_place(place, place.due)
    writer.rename_workspace(place, new)
    _append_place_row(place, new.key, "first", now)
    # else its rules wait for their approval again
    _copy_approvals(place, new, now)
    return new


def _make_place(place: Place, key: str) -> Place:
    home, project, root, git_dir = place.home, place.project, place.root, place.git
    return Place(home, key, project, root, git_dir, place.shared, "", place.anchor, "", place.named)


def _copy_approvals(place: Place, new: Place, now: float) -> None:
    try:
        renamed = {place.key: new.key, approvals.SCRIPT + place.key: approvals.SCRIPT + new.key}
        for key, id_, sha256 in sorted(approvals.read_approved(place.home)):
            if key in renamed:
                by = "dayleaf: %s is now %s" % (place.key, new.key)
                approvals.append_decision(place.home, renamed[key], id_, sha256, "approve", by, now)
    except (OSError, DayleafError):
        pass


def _append_place_row(place: Place, key: str, by: str, now: float, path: str = "") -> None:
    where = layout.format_place_row(key, path or place.anchor)
    row = '{"v":1,"t":"%s",%s,"by":"%s","commit":"%s"}'
    row %= clock.iso(now), where, by, git.read_head(place.git).commit
    files.append_line(place.home + layout.PLACES, row)


def _is_proved(place: Place) -> bool:
    """Tell whether this repository proves its claim by a commit.

    The claimed workspace knows the commit, or a path noted with it has it now.  A workspace without
    noted paths and commits goes to the first claimant, unless its remote is a local path.
    """
    if not layout.is_own_checkout(place.root, place.git, place.anchor):
        return False
    noted = [row for row in layout.read_place_rows(place.home) if row.get("key") == place.claimed]
    remote = layout.read_remote(layout.find_common_git(place.git))
    commits = _read_known_commits(place, place.claimed, noted, MOST_CHECKPOINTS)
    paths = [str(row.get("path")) for row in noted if row.get("path") != place.anchor]
    if remote[:1] == "/":
        paths.append(remote)
    heads = _read_head_commits(paths)
    commits.update(heads.values())
    commits.discard("")
    with Objects(place.git) as objects:
        if _is_shared_commit(objects, git.read_head(place.git).commit, heads):
            return True
        if any(_has_commit(objects, commit) for commit in sorted(commits)):
            return True
    is_local = remote[:1] in ("", "/")
    return not (noted or commits or is_local)


def _read_head_commits(paths: Iterable[str]) -> dict[str, str]:
    found = {}
    for path in paths:
        root, folder = layout.find_git(path)
        if root == path:
            found[folder] = git.read_head(folder).commit
    return found


def _is_shared_commit(objects: Objects, commit: str, heads: dict[str, str]) -> bool:
    """Tell whether this repository and one of `heads` both hold a commit."""
    if not commit or not _has_commit(objects, commit):
        return False
    for folder, head in heads.items():
        if head:
            with Objects(folder) as theirs:
                if _has_commit(theirs, commit):
                    return True
    return False


def known_paths(home: str) -> list[str]:
    return _list_paths(layout.read_place_rows(home))


def _list_paths(rows: list[dict[str, Any]]) -> list[str]:
    return [row["path"] for row in rows if isinstance(row.get("path"), str)]


def _read_known_commits(place: Place, key: str, rows: list[dict[str, Any]], most: int) -> set[str]:
    """Return the commits noted with a workspace and of its newest checkpoints."""
    noted = {str(row["commit"]) for row in rows if row.get("commit")}
    return noted | _read_checkpoint_commits(place.home + "/workspaces/" + key, most)


def _read_checkpoint_commits(private: str, most: int) -> set[str]:
    found: set[str] = set()
    pages = [
        path.split("/")
        for name, path, stat in walk.walk_entries(private)
        if "checkpoints" in name.split("/") and name.endswith(".md") and walk.is_regular(stat)
    ]
    for parts in sorted(pages, key=lambda parts: parts[-2:], reverse=True)[:most]:
        try:
            head = files.read("/".join(parts), 4096, follow=False)
            found.update(commit.decode("ascii") for commit in _COMMIT.findall(head))
        except OSError:
            continue
    return found


def _has_commit(objects: Objects, prefix: str) -> bool:
    # a readable one; a folder of objects that is a link counts as none
    for hash in objects.find(prefix):
        try:
            kind, _ = objects.read(hash)
        except Missing:
            continue
        if kind == "commit" and files.is_inside(objects.folder + "/" + hash[:2], objects.folder):
            return True
    return False
