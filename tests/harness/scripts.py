"""Scripts that are kept as resources, approved as a person does."""

from __future__ import annotations

from pathlib import Path

from harness import vault
from memory.core import approvals
from memory.project import material
from memory.store import store

SAYS = "#!/bin/sh\necho GOOD\n"


def keeper(place, project, now):
    """Return what keeps a script as a resource, approved if wanted: kept(text, approve=True,
    name=...) -> its record.
    """

    def call(
        text: str | bytes = SAYS, approve: bool = True, name: str = "do it.sh", tier: str = "p"
    ):
        path = Path(project, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        records = store.Store(place, vault.settings(), now)
        found = material.add_resource(
            records, material.read_file(str(path)), "script", tier, "", {}
        )
        if approve:
            allow(place, found, path.read_bytes(), now)
        return found

    return call


def allow(place, record, data: bytes, now: float) -> None:
    """Approve bytes, as the user did on a terminal."""
    approvals.append_decision(
        place.home,
        approvals.script_workspace(record.name, place.key),
        record.id,
        material.files.sha256(data),
        "approve",
        "t",
        now,
    )
