"""Links: what they may mean, how they are written, taken away, listed and followed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import vault
from harness.command import on_terminal

from memory import checks, files, index, links, recall, records, trust
from memory.links import RELATIONS
from memory.store import Store

ENDS = ("rule", "learning", "plan", "checkpoint", "script", "doc")


@pytest.fixture
def shop(place):
    """A learning, a rule, a script, a doc, a plan and a checkpoint, each under its kind's first letters as id."""
    vault.put(place, "p/learnings/jwt.md", "JWT issuer", "The issuer must match.", id="l-jwt")
    vault.put(place, "p/learnings/keys.md", "Key rotation", "Keys rotate daily.", id="l-keys")
    vault.put(place, "p/rules/ask.md", "Ask before a push", "Ask first.", id="r-ask", rationale="it deploys")
    vault.put(place, "p/resources/mint.md", "Mint a token", "Makes a token.", id="s-mint", type="script", path="bin/mint.sh")
    vault.put(place, "p/resources/guide.md", "발급자 안내", "How issuers work.", id="d-guide", type="doc", path="docs/guide.md")
    vault.put(place, "p/plans/now.md", "Move to OIDC", "- [ ] start", id="p-now", status="active")
    vault.put(place, "p/checkpoints/c.md", "Session", "Did it.", id="c-one", source="auto")
    return place


def text(place, name):
    """Read a record's file."""
    return Path(place.path(name)).read_text(encoding="utf-8")


def linked(ok, *words):
    """Recall as JSON: (id, linkedFrom, relation) of what comes beside the hits."""
    found = json.loads(ok("recall", *words, "--json"))
    return [(one["id"], one["linkedFrom"], one["relation"]) for one in found["linked"]]


# ---- what an edge is

@pytest.mark.parametrize("relation", RELATIONS)
def test_a_relation_goes_between_its_own_ends_alone(relation):
    """A script proves a learning; a learning or rule has a script or doc; the other two go between any."""
    allowed = {"proves": {("script", "learning")}, "has_script": {("learning", "script"), ("rule", "script")},
               "has_doc": {("learning", "doc"), ("rule", "doc")}}.get(relation, {(a, b) for a in ENDS for b in ENDS})
    assert {(a, b) for a in ENDS for b in ENDS if not links.wrong_ends(relation, a, b)} == allowed


def test_a_target_is_an_id_before_a_file_before_a_title_without_case(place, shop, now):
    """One name may be an id here, a file there and a title elsewhere; the newest of equals counts."""
    vault.put(place, "p/learnings/l-jwt.md", "Other", "x", id="l-other", created="2026-10-01")
    vault.put(place, "p/learnings/third.md", "l-JWT", "x", id="l-third")
    vault.put(place, "p/learnings/old.md", "Twin", "x", id="l-old", created="2026-01-01")
    vault.put(place, "s/learnings/new.md", "twin", "x", id="l-new", created="2026-10-01")
    names = links.web(list(Store(place, vault.settings(), now).each())).names

    def ids(target):
        return [node.id for node in names.find(target)]

    assert [ids(t) for t in ("l-jwt", "L-JWT", "l-jwt.md", "learnings/l-jwt.md", "p/learnings/l-jwt.md")] == [
        ["l-jwt"], ["l-jwt"], ["l-other"], ["l-other"], ["l-other"]]
    assert ids("twin") == ids("  TWIN ") == ["l-new", "l-old"]
    assert ids("발급자  안내") == ["d-guide"] and ids("") == ids("nothing") == []


@pytest.mark.parametrize(("target", "id"), [
    ("l-jtw", "l-jwt"), ("jwt-issuer-1a2b", "l-jwt"), ("Key rotations", "l-keys"), ("발급자 안내서", "d-guide"),
    ("발급자 안", "d-guide"),
    ("something else", None)])
def test_what_a_broken_name_may_mean_is_found(place, shop, now, target, id):
    """A slip in an id, a file's name that was the title's, a title that changed a little; nothing where nothing is alike."""
    near = links.web(list(Store(place, vault.settings(), now).each())).names.nearest(target)
    assert (near.id if near else None) == id


def test_brackets_in_an_automatic_record_are_no_links(place):
    """A command may print `[[ -f x ]]`; what stands in its frontmatter is a link all the same."""
    data = b"---\nsource: auto\nlinks: [derived_from: l-1]\n---\n\n[[l-2]]\n"
    assert records.from_bytes("p/checkpoints/x.md", data, 0.0).links == (("derived_from", "l-1"),)


# ---- check

def test_check_names_wrong_ends_twins_and_the_nearest_record(place, shop, now):
    """Wrong ends are an error; a name that two records bear, and one that leads nowhere, are warnings with a remedy."""
    vault.put(place, "p/learnings/twin.md", "JWT issuer", "x", id="l-twin", created="2020-01-01")
    vault.put(place, "p/learnings/bad.md", "Bad", "[[Key rotatoin]] and [[JWT issuer]]", id="l-bad", links="[proves: l-jwt]")
    _, found = checks.everything(Store(place, vault.settings(), now))
    said = [(fault.error, fault.what, fault.remedy) for fault in found if fault.path.endswith("bad.md")]
    assert said == [
        (True, "proves goes from a script to a learning, not from a learning to a learning",
         "use related_to, or link other records"),
        (False, "it links to 'JWT issuer', which 2 records are called; the newest is meant, l-jwt", "name it by its id"),
        (False, "it links to 'Key rotatoin', which is no record here", "did you mean l-keys 'Key rotation'? else remove the link")]


# ---- writing

def test_a_link_is_written_once_and_seen_from_both_ends(ok, shop):
    """By id, by the start of one, by title; a second time nothing changes."""
    assert ok("link", "l-jwt", "has_script", "s-mi") == "linked  l-jwt has_script s-mint\n"
    before = text(shop, "p/learnings/jwt.md")
    assert "  - {relation: has_script, target: s-mint}" in before and before.endswith("\n\nThe issuer must match.\n")
    assert ok("link", "JWT issuer", "has-script", "Mint a token") == "already linked  l-jwt has_script s-mint\n"
    assert text(shop, "p/learnings/jwt.md") == before
    assert ok("link", "l-jwt", "발급자 안내") == "linked  l-jwt related_to d-guide\n"
    assert ok("link", "s-mint") == "s-mint  Mint a token\n  script_of  l-jwt  JWT issuer (learning)\n"
    assert "linked from  l-jwt (script_of)" in ok("show", "s-mint")
    assert json.loads(ok("show", "s-mint", "--json"))["linkedFrom"] == [{"id": "l-jwt", "relation": "script_of"}]
    listed = json.loads(ok("link", "l-jwt", "--json"))["links"]
    assert [(one["relation"], one["direction"], one["to"]["id"]) for one in listed] == [
        ("has_script", "out", "s-mint"), ("related_to", "out", "d-guide")]


@pytest.mark.parametrize(("written", "after"), [
    ("links: [[Key rotation]]", [("related_to", "Key rotation"), ("has_doc", "d-guide")]),
    ("links: '[[Key rotation]]'", [("related_to", "Key rotation"), ("has_doc", "d-guide")]),
    ("links: 'related_to: l-keys, s-mint'", [("related_to", "l-keys"), ("related_to", "s-mint"), ("has_doc", "d-guide")]),
    ("links: {relation: has_script, target: s-mint}", [("has_script", "s-mint"), ("has_doc", "d-guide")]),
    ("links: {has_script: s-mint, related_to: [l-keys, r-ask]}",
     [("has_script", "s-mint"), ("related_to", "l-keys"), ("related_to", "r-ask"), ("has_doc", "d-guide")]),
    ("links:\n  - has_script: s-mint\n  - related_to: l-keys\n", [("has_script", "s-mint"), ("related_to", "l-keys"),
                                                                  ("has_doc", "d-guide")]),
    ("links:\n  - '[[l-keys]]'\n", [("related_to", "l-keys"), ("has_doc", "d-guide")]),
    ("links:", [("has_doc", "d-guide")]),
])
def test_other_links_stay_in_whatever_form_they_have(ok, shop, written, after):
    """Adding a link and taking it away leaves the others what they were, and the rest of the file byte for byte."""
    path = Path(shop.path("p/learnings/form.md"))
    path.write_text("---\nid: l-form\n# mine\n%s\nown: 2.0\n---\n\nBody \u00e9.\n" % written, encoding="utf-8")

    def now_linked():
        return [tuple(link) for link in records.from_bytes("p/learnings/form.md", path.read_bytes(), 0.0).links]

    ok("link", "l-form", "has_doc", "d-guide")
    assert now_linked() == after
    assert ok("link", "--remove", "l-form", "has_doc", "발급자 안내") == "link removed  l-form has_doc d-guide\n"
    assert now_linked() == after[:-1]
    kept = path.read_text(encoding="utf-8")
    assert kept.startswith("---\nid: l-form\n# mine\n") and kept.endswith("own: 2.0\n---\n\nBody \u00e9.\n")


@pytest.mark.parametrize(("words", "status", "said"), [
    (["l-jwt", "has_scripts", "s-mint"], 2, "unknown relation 'has_scripts'; did you mean 'has_script'?"),
    (["l-jwt", "zzz", "s-mint"], 2, "unknown relation 'zzz'; use one of has_script, proves, has_doc, related_to, derived_from"),
    (["s-mint", "script_of", "l-jwt"], 2, "link the other way round: `dayleaf link l-jwt has_script s-mint`"),
    (["l-jwt", "has_script", "d-guide"], 2, "has_script goes from a learning or rule to a script, not from a learning to a doc"),
    (["d-guide", "proves", "l-jwt"], 2, "proves goes from a script to a learning, not from a doc to a learning"),
    (["l-jwt", "l-jwt"], 2, "l-jwt cannot be linked with itself; name another record"),
    (["l-jwt", "l-jtw"], 1, "no record 'l-jtw'; did you mean l-jwt 'JWT issuer'?"),
    (["l-jwt", "gone"], 1, "no record 'gone'; `dayleaf recall` lists them"),
    (["l-", "d-guide"], 1, "'l-' may mean l-jwt, l-keys; give more of it"),
    (["l-jwt", "JWT", "issuer", "x"], 2, "quote a title"), ([], 2, "link wants `dayleaf link FROM"),
    (["--remove", "l-jwt"], 2, "link wants"), (["--remove", "l-jwt", "l-keys"], 1, "l-jwt has no link related_to to 'l-keys'"),
])
def test_a_link_that_cannot_be_is_one_line_and_nothing_is_written(run, shop, words, status, said):
    """Unknown relation, wrong ends, nothing, itself, several: the line names the remedy."""
    before = {path: path.read_bytes() for path in Path(shop.private).rglob("*.md")}
    done = run("link", *words)
    assert (done.returncode, done.stdout) == (status, "") and done.stderr.count("\n") == 1 and said in done.stderr
    assert {path: path.read_bytes() for path in Path(shop.private).rglob("*.md")} == before


def test_a_link_in_the_text_is_taken_out_in_the_editor(run, ok, shop):
    """A wiki link counts as related_to, is not written twice, and no command edits the prose."""
    vault.put(shop, "p/learnings/wiki.md", "Wiki", "See [[Key rotation#daily|keys]].", id="l-wiki")
    assert ok("link", "l-wiki", "l-keys").startswith("already linked")
    done = run("link", "--remove", "l-wiki", "l-keys")
    assert done.returncode == 1 and "[[Key rotation]]; `dayleaf edit l-wiki` takes it out" in done.stderr


def test_a_dangling_link_can_be_taken_away(ok, shop):
    """Its target, as it is written, is enough."""
    vault.put(shop, "p/learnings/old.md", "Old", "x", id="l-old", links="[has_doc: d-gone, related_to: l-jwt]")
    assert "dangling  'd-gone', which is no record" in ok("link", "l-old")
    assert ok("link", "--remove", "l-old", "has_doc", "d-gone") == "link removed  l-old has_doc d-gone\n"
    assert "d-gone" not in ok("link", "l-old")


def test_two_records_of_one_title_the_newest_is_meant_and_said(run, shop):
    """The link names its id, so that it stays the same one."""
    vault.put(shop, "p/learnings/a.md", "Twin", "x", id="l-a", created="2026-01-01")
    vault.put(shop, "p/learnings/b.md", "Twin", "x", id="l-b", created="2026-02-01")
    done = run("link", "l-jwt", "twin")
    assert done.stdout == "linked  l-jwt related_to l-b\n"
    assert done.stderr == "dayleaf: 2 records are called 'twin'; the newest is meant, l-b\n"


def test_an_approved_rule_waits_again(run, ok, env, project, shop):
    """A link changes its bytes, and the command says so; what waited before is not said to wait again."""
    assert "waits again" not in ok("link", "r-ask", "l-jwt")
    assert on_terminal(["rule", "approve", "r-ask"], env, project, ["yes"])[0] == 0
    said = ok("link", "r-ask", "has_doc", "d-guide")
    assert "the rule is changed by it and waits again: `dayleaf review`" in said
    assert json.loads(ok("rule", "list", "--json"))[0]["state"] == "pending"


def test_a_link_from_the_repository_to_a_private_record_is_said_to_lead_nowhere_for_others(ok, shop):
    """Nobody else has the target."""
    vault.put(shop, "s/learnings/s.md", "Shared", "x", id="l-shared")
    assert "l-jwt is not in the repository: for others the link leads nowhere" in ok("link", "l-shared", "l-jwt")


def test_links_by_id_survive_a_rename_and_links_by_name_are_reported(ok, shop):
    """An id goes with the file; a file's old name is dangling, and what it was is offered."""
    vault.put(shop, "p/learnings/from.md", "From", "[[key-rotation]] [[l-keys]]", id="l-from")
    folder = Path(shop.folder("p", "learning"))
    os.rename(folder / "keys.md", folder / "key-rotation.md")
    assert "dangling" not in ok("link", "l-from")
    os.rename(folder / "key-rotation.md", folder / "rotating-keys.md")
    said = ok("link", "l-from")
    assert said.count("dangling") == 1 and "'key-rotation', which is no record; did you mean l-keys 'Key rotation'?" in said


def test_a_link_to_the_archive_says_how_to_bring_it_back(ok, shop):
    """An archived record is not gone."""
    ok("link", "l-jwt", "l-keys")
    ok("forget", "l-keys")
    assert "'l-keys', which is archived; `dayleaf restore l-keys` brings it back" in ok("link", "l-jwt")


# ---- recall

def test_a_hit_brings_its_script_and_doc_and_what_proves_it(ok, shop):
    """They come beside the hits, from both directions, with how they are linked; --no-links leaves them out."""
    ok("link", "l-jwt", "has_doc", "d-guide")
    ok("link", "s-mint", "proves", "l-jwt")
    ok("link", "l-keys", "l-jwt")
    assert linked(ok, "issuer match") == [
        ("s-mint", "l-jwt", "proved_by"), ("l-keys", "l-jwt", "related_to")]  # the guide is a hit of its own
    assert linked(ok, "must match") == [("s-mint", "l-jwt", "proved_by"), ("d-guide", "l-jwt", "has_doc"),
                                        ("l-keys", "l-jwt", "related_to")]
    said = ok("recall", "must match")
    assert "linked from l-jwt (has_doc)" in said and "Docs\n  d-guide  linked  발급자 안내" in said
    assert linked(ok, "must match", "--no-links") == [] and "linked" not in ok("recall", "must match", "--no-links")


def test_what_is_linked_takes_no_place_of_a_hit_and_is_five_at_most(ok, shop):
    """Scripts and docs come before what is merely related."""
    for i in range(7):
        vault.put(shop, f"p/learnings/rel{i}.md", f"Relative {i}", "other words", id=f"l-rel{i}", created=f"2026-10-0{i + 1}")
        ok("link", "l-jwt", f"l-rel{i}")
    ok("link", "l-jwt", "has_script", "s-mint")
    found = json.loads(ok("recall", "must match", "--limit", "1", "--json"))
    assert [hit["id"] for hit in found["hits"]] == ["l-jwt"] and len(found["linked"]) == 5
    assert found["linked"][0]["id"] == "s-mint" and "score" not in found["linked"][0]


@pytest.mark.parametrize(("words", "expected"), [
    ([], ["s-mint", "d-guide", "l-keys"]), (["--kind", "learning"], ["l-keys"]), (["--version", "2.1"], ["s-mint", "l-keys"]),
    (["--tag", "auth"], []), (["--since", "1d"], [])])
def test_filters_hold_for_what_is_linked(ok, shop, words, expected):
    """Of a kind, a version, a tag and a time; what holds for no version comes, what holds for another does not."""
    vault.put(shop, "p/learnings/jwt.md", "JWT issuer", "must match", id="l-jwt", tags="auth", created="2026-11-21T12:00:00Z",
              versions="[2.1]", links="[has_doc: d-guide, has_script: s-mint, related_to: l-keys]")
    for name, id, more in (("resources/mint", "s-mint", {"type": "script"}), ("learnings/keys", "l-keys", {}),
                           ("resources/guide", "d-guide", {"type": "doc", "versions": "[1.0]"})):
        vault.put(shop, f"p/{name}.md", "Other", "x", id=id, created="2026-01-01", **more)
    assert [id for id, _, _ in linked(ok, "must match", *words)] == expected


def test_wrong_ends_loops_and_checkpoints_are_not_followed(ok, shop):
    """A learning does not prove, itself is no news, and a session's notes come as hits alone."""
    vault.put(shop, "p/learnings/jwt.md", "JWT issuer", "must match", id="l-jwt",
              links="[has_script: d-guide, related_to: l-jwt, related_to: c-one, derived_from: l-keys, related_to: nothing]")
    vault.put(shop, "p/learnings/liar.md", "Liar", "x", id="l-liar", links="[proves: l-jwt]")
    assert linked(ok, "must match") == []


def test_the_active_plan_comes_with_any_hit_that_it_is_linked_with(ok, shop):
    """From either side and by any relation; in a group of its own.  A plan that is done comes with learnings alone."""
    vault.put(shop, "p/checkpoints/d.md", "Notes", "kafka lag", id="c-two", links="[derived_from: p-now]")
    assert linked(ok, "kafka") == [("p-now", "c-two", "derived_from")]
    assert "The active plan\n  p-now  linked  Move to OIDC" in ok("recall", "kafka")
    vault.put(shop, "p/plans/now.md", "Move to OIDC", "- [x] start", id="p-now", status="done")
    assert linked(ok, "kafka") == []


def test_titles_and_new_files_are_followed_at_once(ok, shop, place, now):
    """With an index, with a delta, and without any: the same."""
    vault.put(shop, "p/learnings/ti.md", "By title", "zebra", id="l-ti", links="['[[Key rotation]]']")
    without = linked(ok, "zebra")
    ok("index", "build")
    built = linked(ok, "zebra")
    vault.put(shop, "p/learnings/keys.md", "Renamed", "x", id="l-keys")
    vault.put(shop, "p/learnings/other.md", "Key  Rotation", "x", id="l-late")
    assert without == built == [("l-keys", "l-ti", "related_to")]
    assert linked(ok, "zebra") == [("l-late", "l-ti", "related_to")]


def test_a_batch_has_no_linked_records(ok, shop):
    """Scripts and evals get ranked ids alone."""
    ok("link", "l-jwt", "has_script", "s-mint")
    line = ok("recall", "--batch", stdin='{"id":"1","query":"must match"}\n')
    assert [hit["id"] for hit in json.loads(line)["hits"]] == ["l-jwt"]


def test_links_stay_within_their_workspace(env, place, now, tmp_path):
    """A record of the same id in another project is not meant."""
    from memory import paths

    (tmp_path / "other").mkdir()
    other = paths.locate(env, str(tmp_path / "other"))
    vault.put(place, "p/learnings/a.md", "Here", "zebra", id="l-a", links="[related_to: l-b]")
    vault.put(place, "p/learnings/b.md", "Mine", "x", id="l-b")
    vault.put(other, "p/learnings/c.md", "There", "zebra", id="l-c", links="[related_to: l-b]")
    found = recall.recall(place, vault.settings(), recall.Query("zebra", workspace="all"), now, 0.0, links=True)
    assert [(hit.record.id, hit.linked_from) for hit in found.linked] == [("l-b", "l-a")]


# ---- groups

def decide(place, workspace, id, data, now, decision="approve"):
    """Write down what a person decided on exactly these bytes."""
    trust.decide(place.home, workspace, id, files.sha256(data), decision, "alex", now)


def test_rules_and_scripts_stand_by_what_was_approved(ok, shop, project, now):
    """Approved ones lead their groups, with the command that runs a script; an edit sends them to those that wait."""
    script = Path(project, "bin", "mint.sh")
    script.parent.mkdir()
    script.write_bytes(b"#!/bin/sh\necho token\n")
    said = ok("recall", "ask makes token")
    assert "Rules (wait for review)\n  r-ask" in said and "Scripts (wait for review)\n  s-mint" in said
    decide(shop, trust.SCRIPT + shop.key, "s-mint", script.read_bytes(), now)
    decide(shop, shop.key, "r-ask", Path(shop.path("p/rules/ask.md")).read_bytes(), now)
    said = ok("recall", "ask makes token")
    assert "Rules (follow these)\n  r-ask" in said and "Scripts (try these)\n  s-mint" in said
    assert "`dayleaf resource run s-mint`" in said and "wait for review" not in said
    assert "script that may be run" in ok("recall", "makes token", "--hook")
    script.write_bytes(b"#!/bin/sh\necho other\n")
    said = ok("recall", "makes token")
    assert "Scripts (wait for review)" in said and "resource run" not in said
    assert "script that nobody approved, do not run" in ok("recall", "makes token", "--hook")


def test_what_was_rejected_stands_apart_and_waits_for_nobody(ok, shop, project, now):
    """At the end, under a heading that says so; for the model too, and in --json."""
    script = Path(project, "bin", "mint.sh")
    script.parent.mkdir()
    script.write_bytes(b"#!/bin/sh\necho token\n")
    decide(shop, trust.SCRIPT + shop.key, "s-mint", script.read_bytes(), now, "reject")
    decide(shop, shop.key, "r-ask", Path(shop.path("p/rules/ask.md")).read_bytes(), now, "reject")
    said = ok("recall", "ask makes token")
    assert "Rules (rejected)\n  r-ask" in said and "Scripts (rejected)\n  s-mint" in said
    assert "wait for review" not in said and "follow these" not in said and "resource run" not in said
    block = ok("recall", "ask makes token", "--hook")
    assert "rule that was rejected, do not follow" in block and "script that was rejected, do not run" in block
    assert "<dayleaf-rules" not in block
    groups = {hit["id"]: hit["group"] for hit in json.loads(ok("recall", "ask makes token", "--json"))["hits"]}
    assert groups["r-ask"] == "rejected" and groups["s-mint"] == "refused"


def test_a_candidate_stands_apart_from_what_was_accepted(ok, shop):
    """Under a heading that says what it waits for; for the model too, and in --json."""
    vault.put(shop, "p/learnings/maybe.md", "Quasar queue", "quasar drops jobs", id="l-maybe", source="auto", accepted="false")
    vault.put(shop, "p/learnings/sure.md", "Quasar jobs", "quasar keeps jobs", id="l-sure")
    said = ok("recall", "quasar")
    assert "Learnings\n  l-sure" in said and "\n\nLearnings (wait for review)\n  l-maybe" in said
    groups = {hit["id"]: hit["group"] for hit in json.loads(ok("recall", "quasar", "--json"))["hits"]}
    assert groups == {"l-sure": "learning", "l-maybe": "candidate"}
    block = ok("recall", "quasar", "--hook")
    assert "[l-maybe] Quasar queue (candidate that nobody accepted, " in block and "[l-sure] Quasar jobs (learning, " in block


def test_a_hit_names_its_versions(ok, shop):
    """At the end of its line."""
    vault.put(shop, "p/learnings/v.md", "Versions", "zebra", id="l-v", versions="[v2.1, v2.2]")
    assert "tokens  v2.1, v2.2\n" in ok("recall", "zebra")


def test_a_gap_is_named_with_what_fills_it(ok, shop):
    """Unknown words want a learning; what only checkpoints know wants a harvest; a learning that matches wants nothing."""
    vault.put(shop, "p/checkpoints/k.md", "Notes", "kafka lag", id="c-k")
    said = ok("recall", "kafka")
    assert "only checkpoints tell of this: `dayleaf harvest` proposes learnings from them" in said
    assert "harvest" not in ok("recall", "kafka", "--kind", "checkpoint") + ok("recall") + ok("recall", "issuer match")
    assert "nothing about `zookeeper`: `dayleaf learn" in ok("recall", "zookeeper issuer")


def test_search_is_said_to_be_recall(run):
    """One word for one thing: the other tools' word leads to it."""
    done = run("search", "x")
    assert done.returncode == 2 and done.stderr == "dayleaf: unknown command 'search'; did you mean 'recall'?\n"


def test_an_index_without_names_is_built_anew(place, now):
    """The format before links were in the index is no damage, and is not read."""
    vault.put(place, "p/learnings/a.md", "A", "x")
    vault.built(place, now).close()
    path = Path(index.segment_path(place))
    path.write_bytes(b"DLSEG002" + path.read_bytes()[8:])
    found = recall.recall(place, vault.settings(), recall.Query("x"), now, 0.0, links=True)
    assert [hit.record.id for hit in found.hits] == ["a"]


def test_an_archived_record_is_told_from_one_that_never_was(run, ok, shop):
    """As the end of a new link and as the target of one that stands: by its id, its file and its title."""
    id = json.loads(ok("learn", "Prices are integers in cents", "--json"))["id"]
    vault.put(shop, "p/learnings/w.md", "Wiki", "See [[Prices are integers in cents]].", id="l-wiki")
    ok("forget", id)
    way = "is archived; `dayleaf restore %s` brings it back" % id
    for said in (id, "Prices are integers in cents", "prices are integers in cents", "prices-are-integers-in-cents"):
        done = run("link", "l-jwt", said)
        assert (done.returncode, done.stderr) == (1, "dayleaf: '%s' %s\n" % (said, way))
    assert run("graph", id).stderr == "dayleaf: '%s' %s\n" % (id, way)
    assert "'Prices are integers in cents', which " + way in ok("graph", "--dangling")
    assert "`dayleaf restore %s`" % id in run("check").stdout
    assert "no record 'integers'" in run("link", "l-jwt", "integers").stderr


@pytest.mark.parametrize("verb", ["learn", "checkpoint"])
def test_a_link_in_a_new_text_that_leads_nowhere_is_told_and_kept(run, ok, shop, verb):
    """In one line on stderr, with what may be meant; what leads somewhere, and code, says nothing."""
    gone = json.loads(ok("learn", "Prices are integers", "--json"))["id"]
    ok("forget", gone)
    done = run(verb, "The [[JWT isuer]] and [[버튼]] and [[l-jwt]] and `[[code]]` and [[%s]]" % gone)
    assert done.returncode == 0 and "버튼" in done.stdout + ok("recall", "버튼")
    assert done.stderr == ("dayleaf: kept, but [[JWT isuer]] is no record (did you mean l-jwt 'JWT issuer'?), [[버튼]] is no record, "
                           "[[%s]] is archived: `dayleaf restore %s`\n" % (gone, gone))
    assert run(verb, "The [[l-jwt]] alone").stderr == ""
