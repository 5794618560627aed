"""The projects of this machine, and the pages of each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from memory.core import StoreError, UsageError, config, files, layout
from memory.core.layout import Place
from memory.doors.page.pages import Pages
from memory.recall import lookup

DATED = ("checkpoints", "conversations", "learnings")  # folders that change with the work


class Project(NamedTuple):
    """A project whose memory is on this machine.

    name: the key without its digits.  path: last known directory, "" for none.  at: time of the
    last change.
    """

    key: str
    name: str
    path: str
    at: float


class Projects:
    """The pages of all projects, each made at its first visit."""

    def __init__(self, pages: Pages, env: Mapping[str, str]):
        self.first, self._env = pages, dict(env)
        self._made = {pages.place.key: pages}

    def list_projects(self) -> list[Project]:
        """List the projects, the last changed first."""
        paths = self._list_paths()
        found = [
            Project(
                place.key,
                layout.project_name(place.key),
                place.root or paths.get(place.key, ""),
                _find_last_change(place.private),
            )
            for place in self._list_places()
        ]
        return sorted(found, key=lambda project: (-project.at, project.key))

    def pages(self, key: str) -> Pages:
        """Return the pages of a project; raise StoreError for an unknown one."""
        if key not in self._made:
            places = {place.key: place for place in self._list_places()}
            if key not in places:
                raise StoreError("there is no project '%s' here" % key[:60])
            place, settings = self._locate(places[key])
            self._made[key] = self.first.for_project(place, settings)
        return self._made[key]

    def _list_places(self) -> list[Place]:
        return lookup.find_workspaces(self.first.place, "all")

    def _locate(self, place: Place) -> tuple[Place, config.Config]:
        path = self._list_paths().get(place.key, "")
        if path and files.is_folder(path):
            with suppress(UsageError, OSError):
                found = layout.locate({**self._env, "DAYLEAF_HOME": place.home}, path)
                place = found if found.key == place.key else place
        return place, config.load_for_place(place, self._env)

    def _list_paths(self) -> dict[str, str]:
        rows = layout.read_place_rows(self.first.place.home)
        seen = [(str(row.get("key")), str(row.get("path"))) for row in reversed(rows)]
        return {key: path for key, path in seen if files.is_folder(path)}


def _find_last_change(folder: str) -> float:
    times = [0.0]
    for name in DATED:
        with suppress(OSError):
            times.append(os.stat(folder + "/" + name).st_mtime)
    return max(times)
