"""What comes beside the hits, by the links from and to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import vault

from memory.core import clock
from memory.hook import indexview
from memory.recall import search


def linked(ok, *words):
    """Recall as JSON: (id, linkedFrom, relation) of what comes beside the hits."""
    found = json.loads(ok("recall", *words, "--json"))
    return [(one["id"], one["linkedFrom"], one["relation"]) for one in found["linked"]]


def test_a_hit_brings_its_script_and_doc_and_what_proves_it(ok, shop):
    """They come beside the hits, from both directions, with how they are linked."""
    ok("link", "l-jwt", "has_doc", "d-guide")
    ok("link", "s-mint", "proves", "l-jwt")
    ok("link", "l-keys", "l-jwt")
    assert linked(ok, "issuer match") == [
        # the guide is a hit of its own
        ("s-mint", "l-jwt", "proved_by"),
        ("l-keys", "l-jwt", "related_to"),
    ]
    assert linked(ok, "must match") == [
        ("s-mint", "l-jwt", "proved_by"),
        ("d-guide", "l-jwt", "has_doc"),
        ("l-keys", "l-jwt", "related_to"),
    ]
    said = ok("recall", "must match")
    assert (
        "linked from l-jwt (has_doc)" in said and " linked  doc " in said and "발급자 안내" in said
    )


def test_what_is_linked_takes_no_place_of_a_hit_and_is_five_at_most(ok, shop):
    """Scripts and docs come before what is merely related."""
    for i in range(7):
        vault.put(
            shop,
            f"p/learnings/rel{i}.md",
            f"Relative {i}",
            "other words",
            id=f"l-rel{i}",
            created=f"2026-10-0{i + 1}",
        )
        ok("link", "l-jwt", f"l-rel{i}")
    ok("link", "l-jwt", "has_script", "s-mint")
    found = json.loads(ok("recall", "must match", "--limit", "1", "--json"))
    assert [hit["id"] for hit in found["hits"]] == ["l-jwt"] and len(found["linked"]) == 5
    assert found["linked"][0]["id"] == "s-mint" and "score" not in found["linked"][0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["s-mint", "d-guide", "l-keys"]),
        (["--kind", "learning"], ["l-keys"]),
        (["--version", "2.1"], ["s-mint", "l-keys"]),
        (["--tag", "auth"], []),
        (["--since", "1d"], []),
    ],
)
def test_filters_hold_for_what_is_linked(ok, shop, words, expected):
    """Of a kind, a version, a tag and a time; what holds for no version comes, what holds for
    another does not.
    """
    vault.put(
        shop,
        "p/learnings/jwt.md",
        "JWT issuer",
        "must match",
        id="l-jwt",
        tags="auth",
        created="2026-11-21T12:00:00Z",
        versions="[2.1]",
        links="[has_doc: d-guide, has_script: s-mint, related_to: l-keys]",
    )
    for name, id, more in (
        ("resources/mint", "s-mint", {"type": "script"}),
        ("learnings/keys", "l-keys", {}),
        ("resources/guide", "d-guide", {"type": "doc", "versions": "[1.0]"}),
    ):
        vault.put(shop, f"p/{name}.md", "Other", "x", id=id, created="2026-01-01", **more)
    assert [id for id, _, _ in linked(ok, "must match", *words)] == expected


def test_wrong_ends_loops_and_checkpoints_are_not_followed(ok, shop):
    """A learning does not prove, itself is no news, and a session's notes come as hits alone."""
    vault.put(
        shop,
        "p/learnings/jwt.md",
        "JWT issuer",
        "must match",
        id="l-jwt",
        links=(
            "[has_script: d-guide, related_to: l-jwt, related_to: c-one, derived_from: l-keys, "
            "related_to: nothing]"
        ),
    )
    vault.put(shop, "p/learnings/liar.md", "Liar", "x", id="l-liar", links="[proves: l-jwt]")
    assert linked(ok, "must match") == []


def test_the_active_plan_comes_with_any_hit_that_it_is_linked_with(ok, shop):
    """From either side and by any relation; in a group of its own.  A plan that is done comes with
    learnings alone.
    """
    vault.put(
        shop, "p/checkpoints/d.md", "Notes", "kafka lag", id="c-two", links="[derived_from: p-now]"
    )
    assert linked(ok, "kafka") == [("p-now", "c-two", "derived_from")]
    assert "The active plan\n  p-now  linked  Move to OIDC" in ok("recall", "kafka", "--group")
    vault.put(shop, "p/plans/now.md", "Move to OIDC", "- [x] start", id="p-now", status="done")
    assert linked(ok, "kafka") == []


def test_titles_and_new_files_are_followed_at_once(ok, shop, place, now):
    """With an index, with a delta, and without any: the same."""
    vault.put(
        shop, "p/learnings/ti.md", "By title", "zebra", id="l-ti", links="['[[Key rotation]]']"
    )
    without = linked(ok, "zebra")
    ok("index", "build")
    built = linked(ok, "zebra")
    vault.put(shop, "p/learnings/keys.md", "Renamed", "x", id="l-keys")
    vault.put(shop, "p/learnings/other.md", "Key  Rotation", "x", id="l-late")
    assert without == built == [("l-keys", "l-ti", "related_to")]
    assert linked(ok, "zebra") == [("l-late", "l-ti", "related_to")]


def test_links_stay_within_their_workspace(env, place, now, tmp_path):
    """A record of the same id in another project is not meant."""
    from memory.core import layout

    (tmp_path / "other").mkdir()
    other = layout.locate(env, str(tmp_path / "other"))
    vault.put(place, "p/learnings/a.md", "Here", "zebra", id="l-a", links="[related_to: l-b]")
    vault.put(place, "p/learnings/b.md", "Mine", "x", id="l-b")
    vault.put(other, "p/learnings/c.md", "There", "zebra", id="l-c", links="[related_to: l-b]")
    found = search.recall(
        place, vault.settings(), search.Query("zebra", workspace="all"), now, clock.utc, links=True
    )
    assert [(hit.record.id, hit.linked_from) for hit in found.linked] == [("l-b", "l-a")]


def test_an_index_without_names_is_built_anew(place, now):
    """The format before links were in the index is no damage, and is not read."""
    vault.put(place, "p/learnings/a.md", "A", "x")
    vault.built(place, now).close()
    path = Path(indexview.segment_path(place))
    path.write_bytes(b"DLSEG002" + path.read_bytes()[8:])
    found = search.recall(place, vault.settings(), search.Query("x"), now, clock.utc, links=True)
    assert [hit.record.id for hit in found.hits] == ["a"]


def test_the_active_plan_stands_in_every_answer(ok, shop):
    """In one line where it is neither a hit nor linked with one; not a second time, and not without
    links.
    """
    line = "the active plan: Move to OIDC (p-now)"
    assert (
        line in ok("recall", "key rotation")
        and line in ok("recall", "xylophones")
        and line in ok("recall", "key rotation", "--hook")
    )
    assert json.loads(ok("recall", "key rotation", "--json"))["plan"]["id"] == "p-now"
    assert (
        line not in ok("recall", "OIDC")
        and json.loads(ok("recall", "OIDC", "--json"))["plan"] is None
    )
