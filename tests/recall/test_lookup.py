"""Workspaces and records, by the names that people type."""

from __future__ import annotations

import pytest
from harness.asking import ask, fill, ids, settings, write

from memory.core import StoreError, UsageError, layout
from memory.recall import lookup


def test_one_record_is_found_by_id_start_and_name(store, now):
    """What `show` prints; an unknown id names near ones."""
    find = lambda text: lookup.find_record(store, settings(store), text).id  # noqa: E731
    assert find("l-jwt") == find("l-jw") == find("p/learnings/jwt.md") == find("jwt") == "l-jwt"
    with pytest.raises(StoreError, match="l-jwt"):
        find("l-jvt")


def test_every_workspace_is_searched_and_named(place, env, now, tmp_path):
    """`all` reads every private tier, the global one once; a name picks one."""
    fill(place)
    other_dir = tmp_path / "otherproject"
    other_dir.mkdir()
    other = layout.locate(env, str(other_dir))
    write(
        other,
        "p/learnings/jwt.md",
        "jwt issuer in another project",
        id="l-other",
        title="JWT there",
        files="[gone.py]",
    )
    write(other, "s/learnings/local.md", "jwt shared there", id="l-hidden")
    found = ask(place, now, "jwt issuer redis", workspace="all")
    where = {hit.record.id: hit.workspace for hit in found.hits}
    assert (
        where["l-jwt"] == place.key
        and where["l-other"] == other.key
        and where["l-redis"] == "global"
    )
    assert "l-hidden" not in where
    assert [hit.record.id for hit in found.hits].count("l-redis") == 1
    assert ids(place, now, "", workspace="all", limit=50).count("l-redis") == 1
    assert {h.record.id: h.freshness for h in found.hits}["l-other"] == "UNKNOWN"
    parts = {hit.record.id: dict(hit.parts)["context"] for hit in found.hits}
    assert parts["l-jwt"] == 1.0 and parts["l-other"] == 0.0
    assert "l-other" in ids(place, now, "jwt", workspace=other.key)
    assert "l-jwt" not in ids(place, now, "jwt", workspace="otherproject")
    with pytest.raises(UsageError, match="no workspace"):
        ask(place, now, "jwt", workspace="nowhere")
