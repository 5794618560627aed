"""The life of a resource: kept, found, shown by sections, read again, changed, put away; what
cannot be one is refused.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import vault
from harness.command import on_terminal
from harness.repository import received
from harness.resources import GUIDE, guide, resource

from memory.core import approvals, config, files, layout, records
from memory.health import recordfaults, worker
from memory.knowledge import approvalstate
from memory.project import material
from memory.store import sections
from memory.store.store import Store

SCRIPT = '#!/bin/sh\n# Count lines.\n# usage: count.sh FILE\nwc -l "$1"\n'


@pytest.fixture
def ok(run):
    """Run `dayleaf resource … --json`, which must succeed, and return its value."""
    return resource(run)


@pytest.fixture(name="guide")
def _guide(project) -> Path:
    """A document in the project."""
    return guide(project)


@pytest.fixture
def script(project) -> Path:
    """A script in the project."""
    path = Path(project, "tools", "count.sh")
    path.parent.mkdir()
    path.write_text(SCRIPT)
    return path


def commit(project, env) -> str:
    """Commit all of a project; returns the first digits of the commit."""
    for words in (["add", "-A"], ["commit", "-qm", "x", "--allow-empty"]):
        subprocess.run(["git", *words], cwd=project, env=env, check=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=project,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    ).stdout[:10]


def read(row) -> records.Record:
    """The record of a file that --json named."""
    return records.from_bytes("p/resources/x.md", Path(row["path"]).read_bytes(), 0.0)


# ---- keeping


def test_a_document_is_a_snapshot(ok, guide, project, env):
    """Its text as it is, with where it is from: path, checksum, commit, instant."""
    head = commit(project, env)
    kept = ok(
        "add",
        "--path",
        "docs/billing guide.md",
        "--version",
        "v2,v3",
        "--version",
        "v4",
        "--tag",
        "money",
    )
    record = read(kept)
    assert record.body.strip("\n") == GUIDE.strip("\n") and (kept["title"], kept["type"]) == (
        "Billing guide",
        "doc",
    )
    assert record.meta["path"] == "docs/billing guide.md" and record.meta["source_ref"] == head
    assert record.meta["checksum"] == files.sha256(guide.read_bytes()) and record.meta[
        "refreshed"
    ].endswith("Z")
    assert (
        record.versions == ("v2", "v3", "v4")
        and record.tags == ("money",)
        and record.kind == "resource"
    )
    assert "body: " not in record.body and Path(kept["path"]).stat().st_mode & 0o777 == 0o600


def test_a_script_stays_where_it_is(ok, script):
    """The record says what it says of itself, then its text; the run bit and a first line make it
    one.
    """
    kept = ok("add", "tools/count.sh")
    assert (kept["type"], kept["title"], kept["source_path"]) == (
        "script",
        "count.sh: Count lines",
        "tools/count.sh",
    )
    assert (
        read(kept).body.strip()
        == f"Count lines.\nusage: count.sh FILE\n\n## Script\n\n```sh\n{SCRIPT}```"
    )
    script.with_name("b.txt").write_text("plain\n")
    script.with_name("b.txt").chmod(0o755)
    assert (
        ok("add", "tools/b.txt")["type"] == "script"
        and ok("add", "tools/b.txt")["type"] == "script"
    )


def test_the_type_may_be_said(ok, script, guide):
    """Against the guess."""
    assert ok("add", "tools/count.sh", "--type", "doc")["type"] == "doc"
    assert ok("add", "docs/billing guide.md", "--type", "script")["type"] == "script"


def test_a_secret_and_a_private_part_are_not_kept(ok, project):
    """In a document and in a script's text; the checksum is the file's."""
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    for name, start in (("a.md", ""), ("b.sh", "#!/bin/sh\n")):
        path = Path(project, name)
        path.write_text(f"{start}export TOKEN={secret}\n<private>me</private>\nrest\n")
        record = read(ok("add", name))
        assert (
            secret not in record.body
            and "[redacted:" in record.body
            and ">me<" not in record.body
            and "rest" in record.body
        )
        assert record.meta["checksum"] == files.sha256(path.read_bytes())
    assert {row["state"] for row in ok("list")} == {"fresh"} and "unchanged" in {
        row["result"] for row in ok("refresh")
    }


@pytest.mark.parametrize(
    ("option", "tier", "named"),
    [
        ((), "private", "docs/billing guide.md"),
        (("--shared",), "shared", "docs/billing guide.md"),
        (("--global",), "global", ""),
    ],
)
def test_a_resource_goes_to_its_tier(ok, guide, place, option, tier, named):
    """The path is relative inside the project, absolute for every project."""
    kept = ok("add", str(guide), *option)
    assert (kept["tier"], kept["source_path"]) == (tier, named or str(guide))
    assert [row["state"] for row in ok("list")] == ["fresh"]


def test_a_file_elsewhere_is_named_whole(ok, tmp_path):
    """A private or global resource may be of any file that its user reads."""
    path = tmp_path / "elsewhere 곳" / "x.md"
    path.parent.mkdir()
    path.write_text("# 메모\n\n버튼\n")
    kept = ok("add", str(path))
    assert (
        kept["source_path"] == str(path)
        and kept["title"] == "메모"
        and [hit["id"] for hit in ok("search", "버튼을")["hits"]] == [kept["id"]]
    )


def test_other_encodings_are_refused_with_a_remedy(ok, run, project):
    """UTF-16 with its mark, and what is no UTF-8."""
    Path(project, "wide.md").write_bytes("# Breite\n\nGröße\n".encode("utf-16"))
    Path(project, "old.md").write_bytes("# Alt\n\nGröße\n".encode("latin-1"))
    for name in ("wide.md", "old.md"):
        done = run("resource", "add", name)
        assert done.returncode == 1 and "iconv" in done.stderr
    Path(project, "mark.md").write_bytes(b"\xef\xbb\xbf# Mark\n")
    assert ok("add", "mark.md")["title"] == "Mark"


# ---- showing


def test_sections_are_read_one_after_the_other(ok, run, guide):
    """By number or heading, each names the one before and the next; `dayleaf show` says the
    same.
    """
    id = ok("add", str(guide))["id"]
    outline = ok("show", id, "--outline")["sections"]
    assert [(one["number"], one["level"], one["section"]) for one in outline] == [
        (1, 1, "Billing guide"),
        (2, 2, "Billing guide > Rounding"),
        (3, 3, "Billing guide > Rounding > Tax"),
        (4, 2, "Billing guide > Refunds"),
    ]
    for wanted in ("2", "rounding", "Billing guide > Rounding"):
        found = ok("show", id, "--section", wanted)
        assert found["body"] == "## Rounding\n\nHalf to even.\n\n### Tax\n\nPer line.\n" and (
            found["previous"],
            found["next"],
        ) == (1, 4)
    for words in (
        ["--section", "2"],
        ["--outline"],
        [],
    ):
        assert run("resource", "show", id, *words).stdout == run("show", id, *words).stdout
    assert (
        f"next: 4 Billing guide > Refunds  `dayleaf show {id} --section 4`"
        in run("show", id, "--section", "2").stdout
    )
    assert "has no section '9'" in run("resource", "show", id, "--section", "9").stderr


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("", [(0, "")]),
        ("plain\n", [(0, "")]),
        ("top\n# A\nx\n", [(0, ""), (1, "A")]),
        ("# A\n```\n# no\n```\n# B\n", [(1, "A"), (2, "B")]),
        ("~~~~\n```\n# no\n~~~\n# no\n~~~~\n## B\n", [(0, ""), (1, "B")]),
        ("# A\n### C\n## B\n", [(1, "A"), (2, "A > C"), (3, "A > B")]),
        ("#no\n# A #\n", [(0, ""), (1, "A")]),
        ("```sh\n# no\n", [(0, "")]),
    ],
)
def test_the_outline_of_a_body(body, found):
    """Code holds no heading; what stands above the first one is number 0."""
    assert [(one.number, one.path) for one in sections.outline(body)] == found
    assert all(sections.find(sections.outline(body), str(number)) for number, _ in found)


def test_search_finds_resources_alone(ok, run, guide, script):
    """With recall's own filters."""
    run("learn", "Rounding is half to even, Billing guide.")
    kept, other = ok("add", str(guide), "--version", "v2"), ok("add", str(script))
    assert [hit["id"] for hit in ok("search", "rounding")["hits"]] == [kept["id"]]
    assert (
        ok("search", "rounding", "--version", "v3")["hits"] == []
        and ok("search", "rounding")["hits"]
    )
    assert ok("search", "count lines")["hits"][0]["id"] == other["id"]


# ---- reading again


def test_a_document_is_read_again_when_asked(ok, run, guide, project, env):
    """It stays a snapshot until then; another commit is said."""
    first = commit(project, env)
    id = ok("add", str(guide))["id"]
    assert (
        ok("list", "--stale") == []
        and "no resource is stale" in run("resource", "list", "--stale").stdout
    )
    guide.write_text(GUIDE.replace("Never partial", "Always whole"))
    second = commit(project, env)
    assert [(row["id"], row["state"]) for row in ok("list", "--stale")] == [(id, "stale")]
    shown = run("resource", "show", id).stdout
    assert (
        "Never partial" in shown
        and f"at commit {first}; HEAD is {second}; changed since it was read" in shown
    )
    done = run("resource", "refresh", id)
    assert done.stdout.startswith("refreshed") and first in done.stderr and second in done.stderr
    record = read(ok("show", id))
    assert (
        "Always whole" in record.body
        and record.meta["source_ref"] == second
        and ok("list", "--stale") == []
    )
    path = Path(ok("show", id)["path"])
    before = path.read_bytes()
    commit(project, env)
    assert run("resource", "refresh").stdout.startswith("unchanged")
    assert path.read_bytes() == before  # so that two people who refresh have no conflict


@pytest.mark.parametrize(
    "access",
    [
        ("show",),
        ("resource", "show"),
        ("resource", "list"),
        ("recall", "count"),
        ("resource", "refresh"),
    ],
)
def test_a_script_is_read_again_on_access(ok, run, script, access):
    """Whatever its time says; the record and the index know the new words."""
    kept = ok("add", str(script))
    stat = script.stat()
    script.write_text(SCRIPT.replace("Count lines.", "Count zebras."))
    os.utime(script, (stat.st_atime, stat.st_mtime - 100))
    done = run(*access, *([] if access[-1] in ("list", "count") else [kept["id"]]))
    assert done.returncode == 0 and (access[-1] != "show" or "Count zebras." in done.stdout)
    assert "Count zebras." in read(kept).body and "Count lines" not in read(kept).body
    assert [hit["id"] for hit in ok("search", "zebras")["hits"]] == [kept["id"]]


@pytest.mark.parametrize(
    "access", [("recall", "zebras"), ("resource", "search", "zebras"), ("index", "refresh")]
)
def test_a_changed_script_is_found_by_its_new_words(ok, run, script, access):
    """Its time is compared before a search; what was read meanwhile is not read again."""
    kept = ok("add", str(script))
    script.write_text(SCRIPT.replace("Count lines.", "Count zebras."))
    done = run(*access)
    assert done.returncode == 0 and (access[0] == "index" or "zebras" in done.stdout)
    assert "Count zebras." in read(kept).body
    found = run("recall", "zebras", "--json")
    assert [hit["id"] for hit in json.loads(found.stdout)["hits"]] == [kept["id"]]
    script.write_text(SCRIPT)
    assert "could not be read" not in run("recall", "okapi", CLAUDECODE="1").stderr


def test_a_script_that_is_only_touched_is_not_written(ok, run, script):
    """Nothing has changed."""
    kept = ok("add", str(script))
    before = Path(kept["path"]).stat().st_mtime_ns
    os.utime(script, (2e9, 2e9))
    ok("list")
    run("resource", "show", kept["id"])
    assert Path(kept["path"]).stat().st_mtime_ns == before


def test_a_question_does_not_change_the_repository(ok, run, script, place):
    """A shared script is shown as it is now; its record is written when somebody asks."""
    kept = ok("add", str(script), "--shared")
    before = Path(kept["path"]).read_bytes()
    script.write_text(SCRIPT.replace("Count lines.", "Count zebras."))
    assert (
        "Count zebras." in run("resource", "show", kept["id"]).stdout
        and ok("list")[0]["state"] == "stale"
    )
    run("recall", "count")
    assert Path(kept["path"]).read_bytes() == before
    run("resource", "refresh", kept["id"])
    assert b"Count zebras." in Path(kept["path"]).read_bytes()


def test_what_a_person_wrote_stays(ok, run, guide, script):
    """A doc edited by hand is not read again; above a script's text their words stay through every
    reading.
    """
    doc, tool = ok("add", str(guide)), ok("add", str(script))
    for row, old, new in (
        (doc, "Half to even.", "Half to even, says Kim."),
        (tool, "Count lines.", "Ours, do not lose."),
    ):
        path = Path(row["path"])
        path.write_text(path.read_text().replace(old, new, 1))
    guide.write_text(GUIDE + "More.\n")
    done = run("resource", "refresh", doc["id"])
    assert done.returncode == 2 and "edited by hand" in done.stderr and "says Kim" in read(doc).body
    assert run("resource", "refresh").returncode == 1 and "says Kim" in read(doc).body
    for count in (1, 2):
        script.write_text(SCRIPT + f"echo {count}\n")
        ok("list")
        body = read(tool).body
        assert (
            "Ours, do not lose." in body
            and f"echo {count}\n" in body
            and body.count("## Script") == 1
            and body.count("wc -l") == 1
        )


def test_a_record_written_by_hand_is_taken_up(ok, run, place, script):
    """Its text stays, and the script's stands below."""
    path = vault.put(
        place,
        "p/resources/mine.md",
        "Mine",
        "Use it on Fridays.",
        kind="resource",
        type="script",
        path="tools/count.sh",
    )
    assert ok("list")[0]["state"] == "fresh"
    text = Path(path).read_text()
    assert (
        text.startswith("---\nid: mine\n")
        and "Use it on Fridays.\n\n## Script\n\n```sh\n" in text
        and "checksum: " in text
    )


def test_a_source_that_is_gone_is_said(ok, run, guide, script):
    """By show and list; refresh names the way out, and another path mends it."""
    doc, tool = ok("add", str(guide)), ok("add", str(script))
    guide.rename(guide.with_name("moved.md"))
    script.unlink()
    assert {row["state"] for row in ok("list", "--stale")} == {"gone"}
    for row in (doc, tool):
        assert "is not there" in run("show", row["id"]).stdout
        done = run("resource", "refresh", row["id"])
        assert done.returncode == 1 and f"resource update {row['id']} --path PATH" in done.stderr
    assert run("resource", "run", tool["id"]).returncode == 1
    changed = ok(
        "update",
        doc["id"],
        "--path",
        "docs/moved.md",
        "--title",
        "Moved",
        "--version",
        "v9",
        "--tag",
        "a",
    )
    assert (changed["source_path"], changed["title"], changed["versions"], changed["tags"]) == (
        "docs/moved.md",
        "Moved",
        ["v9"],
        ["a"],
    )
    assert changed["id"] == doc["id"] and [row["state"] for row in ok("list", "--type", "doc")] == [
        "fresh"
    ]


def test_two_resources_are_not_of_one_file(ok, run, guide, script):
    """An update cannot make them so."""
    ok("add", str(guide))
    other = ok("add", str(script))["id"]
    assert (
        "already describes this file"
        in run("resource", "update", other, "--path", str(guide)).stderr
    )


def test_a_deleted_resource_comes_back(ok, run, guide):
    """Its file is not touched."""
    kept = ok("add", str(guide))
    ok("delete", kept["id"])
    assert ok("list") == [] and guide.exists() and ok("search", "rounding")["hits"] == []
    assert run("restore", kept["id"]).returncode == 0 and [row["id"] for row in ok("list")] == [
        kept["id"]
    ]


def test_reindex_says_what_it_did(ok, run, guide, script):
    """All of them, or the ones that are named."""
    kept = [ok("add", str(path))["id"] for path in (guide, script)]
    run("index", "build")
    assert sorted(ok("reindex")["indexed"]) == sorted(kept) and ok("reindex", kept[0])[
        "indexed"
    ] == [kept[0]]
    assert (
        "1 resource indexed again" in run("resource", "reindex", kept[0]).stdout
        and run("index", "verify").returncode == 0
    )


# ---- what a script says of itself


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            (
                '#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n"""Ship it.\n\n'
                'Usage: ship ENV\n"""\nimport os\n'
            ),
            "Ship it.\n\nUsage: ship ENV",
        ),
        ("#!/usr/bin/env node\n/**\n * Ship it.\n * @x\n */\nrun()\n", "Ship it.\n@x"),
        ("// Ship\n// it.\n\ngo()\n", "Ship\nit."),
        ("-- Ship it.\nSELECT 1;\n", "Ship it."),
        ("@echo off\r\nREM Ship it.\r\ngo\r\n", "Ship it."),
        ("<# Ship it. #>\n", "Ship it."),
        ("#!/bin/sh\n: <<'DOC'\nShip it.\nDOC\n", "Ship it."),
        ("#!/bin/sh\ngo\n", ""),
        ("", ""),
        ("/**/\ngo()\n", ""),
        ("#!/bin/sh", ""),
    ],
)
def test_a_script_describes_itself(text, said):
    """Its leading comment or docstring."""
    assert material.extract_description(text) == said


def test_a_fence_in_a_script_stays_inside(place):
    """The text ends where the script ends."""
    source = material.Source("/x/a.py", b"x = '''\n```\n# no heading\n'''\n", False)
    body = material.describe_source(source, "script").body
    assert body.startswith("## Script\n\n````python\n") and body.endswith("\n````\n")
    assert [one.path for one in sections.outline(body)] == ["Script"]


# ---- approving


@pytest.fixture
def decide(env, project):
    """Run `dayleaf` on a terminal and answer it; returns what it showed."""

    def call(*words, answers=(), status=0, **more):
        rc, shown = on_terminal(words, {**env, **more}, project, answers)
        assert rc == status, shown
        return shown

    return call


def test_the_whole_life_of_a_script(ok, run, decide, script, home):
    """Kept by the model, refused, approved by a person, run by the model; an edit takes it back,
    with a diff; rejected.
    """
    script.write_text("#!/bin/sh\necho one\n")
    id = ok("add", str(script), CLAUDECODE="1")["id"]
    assert ok("show", id)["source"] == "agent" and run("resource", "run", id).returncode == 1
    for more in ({"CLAUDECODE": "1"}, {"DAYLEAF_NESTED": "1"}):
        assert "only a person decides on a script" in decide(
            "resource", "approve", id, answers=["yes"], status=2, **more
        )
    shown = decide("resource", "approve", id, answers=["yes"])
    assert (
        "echo one" in shown
        and files.sha256(script.read_bytes()) in shown
        and f"approved {id}" in shown
        and str(script) in shown
    )
    assert run("resource", "run", id, CLAUDECODE="1").stdout == "one\n"
    script.write_text("#!/bin/sh\necho two\n")
    assert run("resource", "run", id).returncode == 1 and ok("list")[0]["approval"] == "pending"
    assert "-echo one\n+echo two\n" in decide("resource", "approve", id, answers=["no"], status=2)
    assert (
        "edited since approval" in decide("review", answers=["a"])
        and run("resource", "run", id).stdout == "two\n"
    )
    decide("resource", "reject", id, answers=["yes"])
    assert run("resource", "run", id).returncode == 1 and ok("list")[0]["approval"] == "rejected"


def test_a_review_goes_through_rules_and_scripts(ok, decide, script, place):
    """Rules first; a script offers no edit; what cannot be approved says why."""
    vault.put(place, "p/rules/r1.md", "Ask first", "x", kind="rule", rationale="y", tags="[a]")
    ok("add", str(script))
    script.with_name("b.sh").write_text("echo no first line\n")
    script.with_name("b.sh").chmod(0o755)
    ok("add", "tools/b.sh")
    shown = decide("review", answers=["r", "a", "s", "a", "e", "q"])
    assert "1 of 3  r1" in shown and shown.count("cannot be approved") >= 1 and "add one" in shown
    assert (
        shown.count("[a]pprove [r]eject [e]dit [s]kip [q]uit") == 1
        and "[a]pprove [r]eject [s]kip [q]uit" in shown
    )
    assert sorted(row["approval"] for row in ok("list")) == ["approved", "pending"]


def test_what_keeps_a_script_from_approval_is_said_when_it_is_added(ok, run, script):
    """In its words for a person and in --json; a sound one names the approval."""
    script.with_name("b.sh").write_text("echo no first line\n")
    said = run("resource", "add", "--type", "script", "--path", "tools/b.sh").stdout
    assert "nobody can approve it yet" in said and "add one" in said and "lets it run" not in said
    script.with_name("c.sh").write_text("echo neither\n")
    assert "add one" in ok("add", "--type", "script", "--path", "tools/c.sh")["hindrance"]
    said = run("resource", "add", "--path", str(script)).stdout
    assert "lets it run" in said and "nobody" not in said


def test_a_script_that_changes_while_it_is_shown_stays_pending(ok, env, project, script):
    """Neither content is approved."""
    id = ok("add", str(script))["id"]

    def swapped():
        script.write_text("#!/bin/sh\nrm -rf x\n")
        return "yes"

    _, shown = on_terminal(["resource", "approve", id], env, project, [swapped])
    assert "changed while it was being shown" in shown and ok("list")[0]["approval"] == "pending"
    script.write_text(SCRIPT)
    assert ok("list")[0]["approval"] == "pending"


def test_what_hides_in_a_script_is_shown(ok, decide, script):
    """Escapes, marks and bytes that are no text."""
    id = ok("add", str(script))["id"]
    script.write_bytes(b"#!/bin/sh\n# \x1b[2J \xff " + "\u202e".encode() + b"\n")
    shown = decide("resource", "approve", id, answers=["no"], status=2)
    assert "\\u{1b}[2J \\xff \\u{202e}" in shown and "\x1b" not in shown


def test_an_approval_moves_with_its_workspace(env, project, place, ok, decide, script, run):
    """A repository that gets its remote keeps what its user approved."""
    id = ok("add", str(script))["id"]
    decide("resource", "approve", id, answers=["yes"])
    with Path(project, ".git/config").open("a") as file:
        file.write('[remote "origin"]\n\turl = https://example.invalid/a/b.git\n')
    assert (
        run("resource", "run", id, "--", "/dev/null").stdout == "0 /dev/null\n"
        and layout.locate(env, project).key != place.key
    )


def test_a_clones_scripts_are_announced_with_its_rules(handled, place, env, now):
    """Before anything was read in the background; and the worker counts what waits."""

    def started() -> str:
        sent, answer = handled("start", source="startup")
        worker._mark_announced(worker.Job(sent, env, now, place, vault.settings(), []))
        return answer.get("systemMessage", "")

    for number in range(3):
        vault.put(
            place,
            f"s/rules/r{number}.md",
            "Rule",
            f"Obey {number}.",
            "[kafka]",
            kind="rule",
            rationale="x",
        )
    vault.put(place, "s/resources/x.md", "X", "x", kind="resource", type="script", path="x.sh")
    vault.put(place, "s/resources/d.md", "D", "d", kind="resource", type="doc", path="d.md")
    Path(place.root, "x.sh").write_text(SCRIPT)
    received(place.root, env)
    assert (
        "5 records new in this repository's .dayleaf; 3 rules and 1 script wait for "
        "review: `dayleaf review`"
    ) in started() and started() == ""
    mark = Path(place.cache, place.scope + ".review")
    assert mark.read_text() == "3 1\n"  # the greeting counts it among what waits
    Path(place.root, "x.sh").unlink()
    assert (
        approvalstate.list_script_states(
            [Store(place, vault.settings(), now).read("s/resources/x.md")], place
        )[0].state
        == "gone"
    )


def test_a_check_names_what_is_wrong_in_a_resource(place, project, now):
    """A shared path that leaves its repository, and `approved` in a script's record."""
    vault.put(
        place,
        "s/resources/x.md",
        "X",
        "x",
        kind="resource",
        type="script",
        path="/etc/passwd",
        approved="true",
    )
    said = [
        fault.what + fault.remedy
        for fault in recordfaults.check_all(
            Store(place, config.load(place.home, place.root, {}), now)
        )[1]
    ]
    assert any("not relative to its repository" in line for line in said) and any(
        "dayleaf resource approve" in line for line in said
    )


def test_a_ledger_line_of_a_script_means_nothing_for_a_rule(place, now):
    """Nor the reverse: the workspaces differ, and no place is named like a script's."""
    assert approvals.script_workspace("p/x", place.key) != approvals.approval_workspace(
        "p/x", place.key
    ) and not place.key.startswith(approvals.SCRIPT)
    assert ":" not in place.key and approvals.script_workspace("g/x", place.key) == "script:global"


def test_a_lost_cache_loses_no_resource(ok, guide, place):
    """It is derived."""
    id = ok("add", str(guide))["id"]
    shutil.rmtree(place.cache)
    assert [row["id"] for row in ok("list")] == [id]
