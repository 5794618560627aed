"""`dayleaf record link`: written, seen, taken away, and what cannot be linked."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harness import vault
from harness.asking import shop
from harness.command import on_terminal, process
from harness.vault import put


@pytest.fixture(name="shop")
def _shop(place):
    """A store of linked records."""
    return shop(place)


def text(place, name):
    """Read a record's file."""
    return Path(place.path(name)).read_text(encoding="utf-8")


def test_a_link_is_written_once_and_seen_from_both_ends(ok, shop):
    """By id, by the start of one, by title; a second time nothing changes."""
    assert ok("link", "l-jwt", "has_script", "s-mi") == "linked  l-jwt has_script s-mint\n"
    before = text(shop, "p/learnings/jwt.md")
    assert "  - {relation: has_script, target: s-mint}" in before and before.endswith(
        "\n\nThe issuer must match.\n"
    )
    assert (
        ok("link", "JWT issuer", "has-script", "Mint a token")
        == "already linked  l-jwt has_script s-mint\n"
    )
    assert text(shop, "p/learnings/jwt.md") == before
    assert ok("link", "l-jwt", "발급자 안내") == "linked  l-jwt related_to d-guide\n"
    assert (
        ok("link", "s-mint") == "s-mint  Mint a token\n  script_of  l-jwt  JWT issuer (learning)\n"
    )
    assert "linked from  l-jwt (script_of)" in ok("show", "s-mint")
    assert json.loads(ok("show", "s-mint", "--json"))["linkedFrom"] == [
        {"id": "l-jwt", "relation": "script_of"}
    ]
    listed = json.loads(ok("link", "l-jwt", "--json"))["links"]
    assert [(one["relation"], one["direction"], one["to"]["id"]) for one in listed] == [
        ("has_script", "out", "s-mint"),
        ("related_to", "out", "d-guide"),
    ]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (
            ["l-jwt", "has_scripts", "s-mint"],
            2,
            "unknown relation 'has_scripts'; did you mean 'has_script'?",
        ),
        (
            ["l-jwt", "zzz", "s-mint"],
            2,
            (
                "unknown relation 'zzz'; use one of has_script, proves, has_doc, "
                "related_to, derived_from"
            ),
        ),
        (
            ["s-mint", "script_of", "l-jwt"],
            2,
            "link the other way round: `dayleaf record link l-jwt has_script s-mint`",
        ),
        (
            ["l-jwt", "has_script", "d-guide"],
            2,
            "has_script goes from a learning or rule to a script, not from a learning to a doc",
        ),
        (
            ["d-guide", "proves", "l-jwt"],
            2,
            "proves goes from a script to a learning, not from a doc to a learning",
        ),
        (["l-jwt", "l-jwt"], 2, "l-jwt cannot be linked to itself; name another record"),
        (["l-jwt", "l-jtw"], 1, "no record 'l-jtw'; did you mean l-jwt 'JWT issuer'?"),
        (["l-jwt", "gone"], 1, "no record 'gone'; `dayleaf recall` lists the records"),
        (["l-", "d-guide"], 1, "'l-' could be l-jwt, l-keys; give more of it"),
        (["l-jwt", "JWT", "issuer", "x"], 2, "quote a title"),
        ([], 2, "record link takes `dayleaf record link FROM"),
        (["--remove", "l-jwt"], 2, "link takes"),
        (["--remove", "l-jwt", "l-keys"], 1, "l-jwt has no link related_to to 'l-keys'"),
    ],
)
def test_a_link_that_cannot_be_is_one_line_and_nothing_is_written(run, shop, words, status, said):
    """Unknown relation, wrong ends, nothing, itself, several: the line names the remedy."""
    before = {path: path.read_bytes() for path in Path(shop.private).rglob("*.md")}
    done = run("link", *words)
    assert (
        (done.returncode, done.stdout) == (status, "")
        and done.stderr.count("\n") == 1
        and said in done.stderr
    )
    assert {path: path.read_bytes() for path in Path(shop.private).rglob("*.md")} == before


def test_a_link_in_the_text_is_taken_out_in_the_editor(run, ok, shop):
    """A wiki link counts as related_to, is not written twice, and no command edits the prose."""
    vault.put(shop, "p/learnings/wiki.md", "Wiki", "See [[Key rotation#daily|keys]].", id="l-wiki")
    assert ok("link", "l-wiki", "l-keys").startswith("already linked")
    done = run("link", "--remove", "l-wiki", "l-keys")
    assert (
        done.returncode == 1
        and "[[Key rotation]]; remove it with `dayleaf record edit l-wiki`" in done.stderr
    )


def test_a_dangling_link_can_be_taken_away(ok, shop):
    """Its target, as it is written, is enough."""
    vault.put(
        shop,
        "p/learnings/old.md",
        "Old",
        "x",
        id="l-old",
        links="[has_doc: d-gone, related_to: l-jwt]",
    )
    assert "dangling  'd-gone', which is not a record" in ok("link", "l-old")
    assert (
        ok("link", "--remove", "l-old", "has_doc", "d-gone")
        == "link removed  l-old has_doc d-gone\n"
    )
    assert "d-gone" not in ok("link", "l-old")


def test_two_records_of_one_title_the_newest_is_meant_and_said(run, shop):
    """The link names its id, so that it stays the same one."""
    vault.put(shop, "p/learnings/a.md", "Twin", "x", id="l-a", created="2026-01-01")
    vault.put(shop, "p/learnings/b.md", "Twin", "x", id="l-b", created="2026-02-01")
    done = run("link", "l-jwt", "twin")
    assert done.stdout == "linked  l-jwt related_to l-b\n"
    assert done.stderr == "dayleaf: 2 records are called 'twin'; taking the newest, l-b\n"


def test_an_approved_rule_waits_again(run, ok, env, project, shop):
    """A link changes its bytes, and the command says so; what waited before is not said to wait
    again.
    """
    assert "waits again" not in ok("link", "r-ask", "l-jwt")
    assert on_terminal(["rule", "approve", "r-ask"], env, project, ["yes"])[0] == 0
    said = ok("link", "r-ask", "has_doc", "d-guide")
    assert "the rule has changed and waits again: decide with `dayleaf review`" in said
    assert json.loads(ok("rule", "list", "--json"))[0]["state"] == "pending"


def test_a_link_from_the_repository_to_a_private_record_is_said_to_lead_nowhere_for_others(
    ok, shop
):
    """Nobody else has the target."""
    vault.put(shop, "s/learnings/s.md", "Shared", "x", id="l-shared")
    assert "l-jwt is not in the repository, so others cannot follow the link" in ok(
        "link", "l-shared", "l-jwt"
    )


def test_a_link_to_the_archive_says_how_to_bring_it_back(ok, shop):
    """An archived record is not gone."""
    ok("link", "l-jwt", "l-keys")
    ok("forget", "l-keys")
    assert "'l-keys', which is archived; `dayleaf store restore l-keys` brings it back" in ok(
        "link", "l-jwt"
    )


def test_a_head_that_was_not_understood_gets_no_second_one(run, ok, shop):
    """The file stays byte for byte; the error names it, the line and the remedy."""
    path = Path(shop.path("p/learnings/dots.md"))
    path.write_bytes(b"---\ntitle: Ended by dots\ntags: [heron]\n...\nThe body.\n")
    done = run("link", "dots", "related_to", "l-jwt")
    assert (done.returncode, done.stderr) == (
        1,
        (
            "dayleaf: p/learnings/dots.md: line 4: the frontmatter is closed by `...`; end "
            "it with a line `---`\n"
        ),
    )
    assert (
        path.read_bytes().startswith(b"---\ntitle: Ended by dots\n")
        and b"related_to" not in path.read_bytes()
    )


def test_links_made_at_once_are_all_kept(env, project, ok, place):
    """Each is added to what the file says by then."""
    for letter in "abcdef":
        put(place, "p/learnings/%s.md" % letter, "Note %s" % letter, "x", id="l-" + letter)
    with ThreadPoolExecutor(5) as pool:
        done = list(
            pool.map(
                lambda letter: process(env, project)("link", "l-a", "l-" + letter), list("bcdef")
            )
        )
    assert [one.returncode for one in done] == [0] * 5
    assert len(json.loads(ok("link", "l-a", "--json"))["links"]) == 5


def test_a_link_to_a_file_without_an_id_outlives_its_rename(ok, place):
    """The id of its name is written into it, as it is what the link says."""
    put(place, "p/learnings/a.md", "Note a", "x", id="l-a")
    path = Path(place.path("p/learnings/shipping.md"))
    path.write_text("Parcels need an invoice.\n")
    ok("link", "l-a", "shipping")
    path.rename(path.with_name("Shipping to CH.md"))
    [found] = json.loads(ok("link", "l-a", "--json"))["links"]
    assert found["to"] and path.with_name("Shipping to CH.md").read_text().endswith("invoice.\n")


def test_feedback_on_a_file_without_an_id_outlives_its_rename(ok, place):
    path = Path(place.path("p/learnings/vat.md"))
    path.parent.mkdir(parents=True)
    path.write_text("The VAT service is slow.\n")
    id = json.loads(ok("feedback", "vat", "down", "--json"))["id"]
    path.rename(path.with_name("VIES.md"))
    assert json.loads(ok("feedback", "VIES", "down", "--json"))["id"] == id
