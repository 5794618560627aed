"""`dayleaf new`: a template in the editor, and what becomes of the text that comes back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from harness.command import dayleaf

from memory import checks, frontmatter, links, templates

KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


@pytest.fixture
def run(env, project, tmp_path):
    """Run `dayleaf` with an editor that is a line of sh about the file "$1": run(edit, *words) -> CompletedProcess."""
    def call(edit, *words, **more):
        editor = tmp_path / "an editor"
        editor.write_text("#!/bin/sh\n%s\n" % edit)
        editor.chmod(0o755)
        return dayleaf(env, project)(*words, **{"EDITOR": "'%s'" % editor, **more})
    return call


@pytest.fixture
def made(run):
    """Run it, which must succeed, and return what --json says."""
    def call(edit, *words):
        done = run(edit, *words, "--json")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)
    return call


@pytest.fixture
def left(place):
    """Name the texts that are kept for later, and the records."""
    def call():
        drafts = sorted(Path(place.cache).glob("new-*")) if os.path.isdir(place.cache) else []
        return [str(path) for path in drafts], sorted(str(path) for path in Path(place.private).rglob("*.md"))
    return call


def test_a_rule_is_written_in_the_editor(made, run, left):
    """Title, reason and text come back; the hints do not; it waits for its approval."""
    kept = made("sed -i 's/^rationale:/rationale: pushes were lost/' \"$1\"; echo 'Never force push.' >> \"$1\"",
                "new", "rule", "Push:", "never", "force")
    text = Path(kept["path"]).read_text()
    assert (kept["kind"], kept["title"], kept["tier"]) == ("rule", "Push: never force", "private")
    assert "rationale: pushes were lost" in text and text.endswith("---\n\nNever force push.\n") and "#" not in text
    assert left() == ([], [kept["path"]])
    assert kept["id"] + "  pending" in run("true", "rule", "list").stdout


@pytest.mark.parametrize("edit", ["true", "echo x >> \"$1\"; exit 1", ": > \"$1\"", "sed -i 's/^tags.*/tags: [a]/' \"$1\""],
                         ids=["unchanged", "editor failed", "emptied", "nothing said"])
def test_nothing_is_written_where_nothing_was_said(run, left, edit):
    """And no file is left behind."""
    for title in ([], ["A title"]) if edit in ("true", ": > \"$1\"") else ([],):
        done = run(edit, "new", "learning", *title)
        assert (done.returncode, done.stdout, done.stderr) == (0, "nothing was written\n", "") and left() == ([], [])


def test_a_text_with_a_fault_is_kept_with_a_way_back_in(run, made, left):
    """The message names the line, the remedy and the file; `--from` opens that, and clears it once it is right."""
    done = run("echo 'Never force push.' >> \"$1\"", "new", "rule", "Push", "--shared")
    (draft,), records = left()
    assert (done.returncode, done.stdout, records) == (1, "", [])
    assert "line 6: a rule needs a rationale; add a line" in done.stderr and "--from '%s'" % draft in done.stderr
    assert run("true", "new", "rule", "--from", draft).returncode == 1 and left()[0] == [draft]
    assert "stays" in run("exit 1", "new", "rule", "--from", draft).stdout and left()[0] == [draft]
    kept = made("sed -i 's/^rationale:/rationale: why/' \"$1\"", "new", "rule", "--from", draft)
    assert "Never force push." in Path(kept["path"]).read_text() and left() == ([], [kept["path"]])


def test_a_file_of_ones_own_stays_where_it_is(made, tmp_path):
    """--from takes any text."""
    own = tmp_path / "own.md"
    own.write_text("---\ntitle: Mine\nowner: me\n---\n\nText.\n")
    kept = made("true", "new", "learning", "--from", str(own))
    assert kept["title"] == "Mine" and "owner: me" in Path(kept["path"]).read_text() and own.exists()


def test_tiers_and_kinds_are_chosen(made, run, home, project):
    """--shared, --global; a wrong kind names the nearest; a plan belongs to one workspace."""
    edit = "echo text >> \"$1\""
    assert made(edit, "new", "learning", "a", "--shared")["path"].startswith(project + "/.dayleaf/learnings/")
    assert made(edit, "new", "learning", "b", "--global")["path"].startswith(home + "/.dayleaf/global/learnings/")
    for words, said in ((["rul"], "did you mean 'rule'?"), ([], "use one of"), (["checkpoint"], "new wants a kind"),
                        (["plan", "x", "--global"], "one workspace"), (["rule", "--global", "--shared"], "exclude"),
                        (["rule", "--replace"], "for a plan"), (["rule", "--from", "none.md"], "no such file")):
        done = run(edit, "new", *words)
        assert (done.returncode, done.stdout) == (2, "") and said in done.stderr, done


def test_a_resource_wants_a_path_that_is_there(made, run, project):
    """The template has the line for it."""
    Path(project, "deploy.sh").write_text("true\n")
    edit = "sed -i 's/^path:/path: %s/' \"$1\""
    assert "is gone" in run(edit % "no.sh", "new", "resource", "Deploy").stderr
    assert made(edit % "deploy.sh", "new", "resource", "Deploy")["kind"] == "resource"


def test_a_plan_from_the_editor_is_the_active_one(made, run, left):
    """A second one is refused before the editor opens."""
    kept = made("echo '- [ ] first' >> \"$1\"", "new", "plan", "Ship")
    assert run("true", "plan").stdout == kept["id"] + "  active  0 of 1 step done  Ship\n   1 [ ] first\n"
    done = run("echo x >> \"$1\"", "new", "plan", "Other")
    assert done.returncode == 1 and "--replace" in done.stderr and left()[0] == []
    assert made("echo x >> \"$1\"", "new", "plan", "Other", "--replace")["title"] == "Other"
    assert "dropped  0 of 1 step done  Ship" in run("true", "plan").stdout


def test_secrets_are_taken_out(run, left):
    """Of the record; and no copy is left that has them."""
    done = run("echo 'key %s' >> \"$1\"" % KEY, "new", "learning", "Key")
    assert done.returncode == 0 and "a secret was taken out" in done.stdout
    drafts, (record,) = left()
    assert drafts == [] and KEY not in Path(record).read_text()


@pytest.mark.parametrize("kind", templates.KINDS)
def test_every_template_reads_as_its_kind(kind, place):
    """Its frontmatter is sound, its title what was given, its body empty."""
    data = templates.template(kind, "A: title #1")
    page = frontmatter.parse(data, full=True)
    assert (page.meta["kind"], page.meta["title"], page.body.strip(), page.problems) == (kind, "A: title #1", "", [])
    found = checks.one("p/learnings/x.md", data, "x", place, {"redact.enabled": True, "redact.allow": []},
                       checks.Known(links.Names(()), frozenset(), {}))
    assert [fault.what[:16] for fault in found] == {"rule": ["a rule needs a r"], "resource": ["a resource needs"]}.get(kind, [])
