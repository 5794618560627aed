"""Links: what they may mean, how they are written, taken away, listed and followed."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from unicodedata import normalize

import pytest
from harness import vault

from memory.core import records
from memory.health import recordfaults
from memory.recall import relations
from memory.recall.relations import RELATIONS
from memory.store.store import Store

ENDS = ("rule", "learning", "plan", "checkpoint", "script", "doc")


# ---- what an edge is


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_relation_goes_between_its_own_ends_alone(relation):
    """A script proves a learning; a learning or rule has a script or doc; the other two go between
    any.
    """
    allowed = {
        "proves": {("script", "learning")},
        "has_script": {("learning", "script"), ("rule", "script")},
        "has_doc": {("learning", "doc"), ("rule", "doc")},
    }.get(relation, {(a, b) for a in ENDS for b in ENDS})
    assert {
        (a, b) for a in ENDS for b in ENDS if not relations.find_wrong_ends(relation, a, b)
    } == allowed


def test_a_target_is_an_id_before_a_file_before_a_title_without_case(place, shop, now):
    """One name may be an id here, a file there and a title elsewhere; the newest of equals
    counts.
    """
    vault.put(place, "p/learnings/l-jwt.md", "Other", "x", id="l-other", created="2026-10-01")
    vault.put(place, "p/learnings/third.md", "l-JWT", "x", id="l-third")
    vault.put(place, "p/learnings/old.md", "Twin", "x", id="l-old", created="2026-01-01")
    vault.put(place, "s/learnings/new.md", "twin", "x", id="l-new", created="2026-10-01")
    names = relations.build_graph(list(Store(place, vault.settings(), now).each())).names

    def ids(target):
        return [node.id for node in names.find(target)]

    assert [
        ids(t) for t in ("l-jwt", "L-JWT", "l-jwt.md", "learnings/l-jwt.md", "p/learnings/l-jwt.md")
    ] == [["l-jwt"], ["l-jwt"], ["l-other"], ["l-other"], ["l-other"]]
    assert ids("twin") == ids("  TWIN ") == ["l-new", "l-old"]
    assert ids("발급자  안내") == ["d-guide"] and ids("") == ids("nothing") == []


@pytest.mark.parametrize(("stored", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_name_in_the_other_form_of_its_letters_is_the_same_name(ok, place, stored, asked):
    """Of a file (macOS takes its name apart), a title, an alias; for a link in a text too."""
    kept, typed = (partial(normalize, form) for form in (stored, asked))
    vault.put(place, kept("p/learnings/gefäß.md"), kept("Größe"), "port 8123", id="l-gefaess")
    text = typed("The gate needs [[gefäß]].")
    vault.put(place, "p/learnings/gate.md", "Gate", text, id="l-gate")
    for name in ("gefäß", "gefäß.md", "größe", "p/learnings/gefäß.md"):
        assert "l-gate" in ok("record", "graph", typed(name))
        assert "l-gefaess" in ok("record", "link", typed(name))
    ok("index", "build")
    linked = json.loads(ok("recall", "8123", "--json"))["linked"]
    assert [each["id"] for each in linked] == ["l-gate"]


@pytest.mark.parametrize(
    ("target", "id"),
    [
        ("l-jtw", "l-jwt"),
        ("jwt-issuer-1a2b", "l-jwt"),
        ("Key rotations", "l-keys"),
        ("발급자 안내서", "d-guide"),
        ("발급자 안", "d-guide"),
        ("something else", None),
    ],
)
def test_what_a_broken_name_may_mean_is_found(place, shop, now, target, id):
    """A slip in an id, a file's name that was the title's, a title that changed a little; nothing
    where nothing is alike.
    """
    near = relations.build_graph(list(Store(place, vault.settings(), now).each())).names.nearest(
        target
    )
    assert (near.id if near else None) == id


def test_brackets_in_an_automatic_record_are_no_links(place):
    """A command may print `[[ -f x ]]`; what stands in its frontmatter is a link all the same."""
    data = b"---\nsource: auto\nlinks: [derived_from: l-1]\n---\n\n[[l-2]]\n"
    assert records.from_bytes("p/checkpoints/x.md", data, 0.0).links == (("derived_from", "l-1"),)


# ---- check


def test_check_names_wrong_ends_twins_and_the_nearest_record(place, shop, now):
    """Wrong ends are an error; a name that two records bear, and one that leads nowhere, are
    warnings with a remedy.
    """
    vault.put(place, "p/learnings/twin.md", "JWT issuer", "x", id="l-twin", created="2020-01-01")
    vault.put(
        place,
        "p/learnings/bad.md",
        "Bad",
        "[[Key rotatoin]] and [[JWT issuer]]",
        id="l-bad",
        links="[proves: l-jwt]",
    )
    _, found = recordfaults.check_all(Store(place, vault.settings(), now))
    said = [
        (fault.is_error, fault.what, fault.remedy)
        for fault in found
        if fault.place.endswith("bad.md")
    ]
    assert said == [
        (
            True,
            "proves goes from a script to a learning, not from a learning to a learning",
            "use related_to, or link other records",
        ),
        (
            False,
            "it links to 'JWT issuer', the name of 2 records; the newest, l-jwt, counts",
            "name it by its id",
        ),
        (
            False,
            "it links to 'Key rotatoin', which is not a record here",
            "did you mean l-keys 'Key rotation'? if not, remove the link",
        ),
    ]


# ---- writing


@pytest.mark.parametrize(
    ("written", "after"),
    [
        ("links: [[Key rotation]]", [("related_to", "Key rotation"), ("has_doc", "d-guide")]),
        ("links: '[[Key rotation]]'", [("related_to", "Key rotation"), ("has_doc", "d-guide")]),
        (
            "links: 'related_to: l-keys, s-mint'",
            [("related_to", "l-keys"), ("related_to", "s-mint"), ("has_doc", "d-guide")],
        ),
        (
            "links: {relation: has_script, target: s-mint}",
            [("has_script", "s-mint"), ("has_doc", "d-guide")],
        ),
        (
            "links: {has_script: s-mint, related_to: [l-keys, r-ask]}",
            [
                ("has_script", "s-mint"),
                ("related_to", "l-keys"),
                ("related_to", "r-ask"),
                ("has_doc", "d-guide"),
            ],
        ),
        (
            "links:\n  - has_script: s-mint\n  - related_to: l-keys\n",
            [("has_script", "s-mint"), ("related_to", "l-keys"), ("has_doc", "d-guide")],
        ),
        ("links:\n  - '[[l-keys]]'\n", [("related_to", "l-keys"), ("has_doc", "d-guide")]),
        ("links:", [("has_doc", "d-guide")]),
    ],
)
def test_other_links_stay_in_whatever_form_they_have(ok, shop, written, after):
    """Adding a link and taking it away leaves the others what they were, and the rest of the file
    byte for byte.
    """
    path = Path(shop.path("p/learnings/form.md"))
    path.write_text(
        "---\nid: l-form\n# mine\n%s\nown: 2.0\n---\n\nBody \u00e9.\n" % written, encoding="utf-8"
    )

    def now_linked():
        return [
            tuple(link)
            for link in records.from_bytes("p/learnings/form.md", path.read_bytes(), 0.0).links
        ]

    ok("link", "l-form", "has_doc", "d-guide")
    assert now_linked() == after
    assert (
        ok("link", "--remove", "l-form", "has_doc", "발급자 안내")
        == "link removed  l-form has_doc d-guide\n"
    )
    assert now_linked() == after[:-1]
    kept = path.read_text(encoding="utf-8")
    assert kept.startswith("---\nid: l-form\n# mine\n") and kept.endswith(
        "own: 2.0\n---\n\nBody \u00e9.\n"
    )


def test_links_by_id_survive_a_rename_and_links_by_name_are_reported(ok, shop):
    """An id goes with the file; a file's old name is dangling, and what it was is offered."""
    vault.put(shop, "p/learnings/from.md", "From", "[[key-rotation]] [[l-keys]]", id="l-from")
    folder = Path(shop.folder("p", "learning"))
    os.rename(folder / "keys.md", folder / "key-rotation.md")
    assert "dangling" not in ok("link", "l-from")
    os.rename(folder / "key-rotation.md", folder / "rotating-keys.md")
    said = ok("link", "l-from")
    assert (
        said.count("dangling") == 1
        and "'key-rotation', which is not a record; did you mean l-keys 'Key rotation'?" in said
    )


# ---- recall


# ---- groups


def test_search_is_said_to_be_recall(run):
    """One word for one thing: the other tools' word leads to it."""
    done = run("search", "x")
    assert (
        done.returncode == 2
        and done.stderr == "dayleaf: unknown command 'search'; did you mean 'recall'?\n"
    )


def test_an_archived_record_is_told_from_one_that_never_was(run, ok, shop):
    """As the end of a new link and as the target of one that stands: by its id, its file and its
    title.
    """
    id = json.loads(ok("learn", "Prices are integers in cents", "--json"))["id"]
    vault.put(
        shop, "p/learnings/w.md", "Wiki", "See [[Prices are integers in cents]].", id="l-wiki"
    )
    ok("forget", id)
    way = "is archived; `dayleaf store restore %s` brings it back" % id
    for said in (
        id,
        "Prices are integers in cents",
        "prices are integers in cents",
        "prices-are-integers-in-cents",
    ):
        done = run("link", "l-jwt", said)
        assert (done.returncode, done.stderr) == (1, "dayleaf: '%s' %s\n" % (said, way))
    assert run("graph", id).stderr == "dayleaf: '%s' %s\n" % (id, way)
    assert "'Prices are integers in cents', which " + way in ok("graph")
    assert "`dayleaf store restore %s`" % id in run("check").stdout
    assert "no record 'integers'" in run("link", "l-jwt", "integers").stderr


def test_an_alias_is_one_more_title(ok, place):
    """For commands, for links and for words; `show` takes it, `graph` finds no dangling link."""
    vault.put(
        place,
        "p/learnings/retries.md",
        "Retries",
        "They back off.",
        aliases="[retry policy, backoff]",
    )
    vault.put(place, "p/learnings/queue.md", "The queue", "See [[retry policy]].")
    assert "They back off." in ok("show", "Backoff") and "lead nowhere" not in ok("graph")
    assert "retries" in ok("recall", "backoff") or "Retries" in ok("recall", "backoff")
