"""`dayleaf store audit`: what should not stand as it does, found where it was planted, and nothing
else.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from harness import talks
from harness.planted import LONG_AGO, planted
from harness.vault import put

from memory.core import config
from memory.health import recordfaults, worker
from memory.index import builder
from memory.knowledge import contradictions
from memory.project import sharing
from memory.store import ledger


@pytest.fixture(name="planted")
def _planted(place, project, env, ok):
    """One of each sort, and sound records beside them."""
    return planted(place, project, env, ok)


def test_what_is_unused_waits_for_its_evidence(ok, place):
    """A store that is younger than the span says so, in place of calling everything unused."""
    put(place, "p/learnings/old.md", "Old", "x", created=LONG_AGO, updated=LONG_AGO)
    assert "only after 90 days of use" in ok("audit", "unused")
    assert "0 unused" not in ok("audit") and "nothing found" in ok("audit")


def test_a_use_counts_whoever_made_it(ok, planted):
    """A line of the ledger keeps a record that no prompt got."""
    ok("feedback", "unused", "up")
    # feedback is no use
    assert json.loads(ok("audit", "unused", "--json"))["counts"]["unused"] == 1
    ledger.append_event(ledger.ledgers(planted)[0], "unused", "use", 1795271452.0)
    assert json.loads(ok("audit", "unused", "--json"))["counts"]["unused"] == 0


def test_a_conversation_is_searched_for_secrets_and_tells_no_stale_claim(ok, place, project):
    """What was said may hold a key; that a file it names has gone since is no fault of it."""
    key = "gh" + "p_" + "Zk3Qw9LmT7" + "xR2vBn8KcJ4hYd6PfS1gA5uE"
    talks.put(
        place,
        (talks.RESUME, "## 15:00 take this\n\nThe token is %s, see `src/gone.go`.\n" % key),
        files="[src/gone.go]",
    )
    found = json.loads(ok("audit", "--json"))
    assert {one["about"] for one in found["findings"] if one["id"] == "c-7a1c0001"} == {"secrets"}
    ok("redact", "c-7a1c0001", "--apply")
    assert not [
        one for one in json.loads(ok("audit", "--json"))["findings"] if one["id"] == "c-7a1c0001"
    ]


TOKEN = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"


@pytest.fixture
def git(env, project):
    def call(*words):
        return subprocess.run(
            ["git", "-C", project, *words], env=env, check=True, capture_output=True, text=True
        ).stdout

    return call


@pytest.fixture
def shared(project):
    """Write a file of the shared tier."""

    def write(name, text):
        path = Path(project, ".dayleaf", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_a_staged_secret_stops_a_commit(run, ok, git, shared, project):
    """A line for each, with its file and line; what stands in the file by now does not count, nor
    what is elsewhere.
    """
    path = shared("learnings/a b.md", "# A\n\nThe token is %s here.\n" % TOKEN)
    Path(project, "other.md").write_text(TOKEN)
    git("add", "-A")
    path.write_text("# A\n")
    done = run("check", "--staged")
    assert (done.returncode, done.stderr) == (1, "")
    assert [line for line in done.stdout.splitlines() if "a secret" in line] == [
        (
            ".dayleaf/learnings/a b.md:3: error: a secret (github-token); delete it here "
            "and change it where it is used; if it is none, add it to `redact.allow`"
        )
    ]
    assert TOKEN not in done.stdout
    git("add", "-A")
    assert "1 file checked: 0 errors" in ok("check", "--staged")


def test_nothing_staged_is_nothing_wrong(ok, git, shared, run):
    """A secret that was committed before, or is taken out, is not what this commit adds."""
    assert "0 files checked" in ok("check", "--staged")
    path = shared("learnings/a.md", TOKEN)
    git("add", "-A"), git("commit", "-qm", "x")
    assert "0 files checked" in ok("check", "--staged")
    path.unlink()
    git("add", "-A")
    assert "0 files checked" in ok("check", "--staged")
    assert run("check", "--staged", "x.md").returncode == 2


def test_below_a_directory_and_beyond_ascii(run, git, project):
    """A part of the repository may have a tier of its own; names may hold anything."""
    path = Path(project, "part", ".dayleaf", "learnings", "키\n값.md")
    path.parent.mkdir(parents=True)
    path.write_text(TOKEN)
    git("add", "-A")
    assert run("check", "--staged").returncode == 1


def test_a_commit_of_a_changed_file_is_seen(run, git, shared, env, project):
    """`git commit -a` commits an index of its own, which it names to the hook."""
    path = shared("learnings/a.md", "# A\n")
    git("add", "-A"), git("commit", "-qm", "x")
    path.write_text(TOKEN)
    other = {**env, "GIT_INDEX_FILE": project + "/.git/other"}
    subprocess.run(["git", "-C", project, "add", "-A"], env=other, check=True)
    assert run("check", "--staged").returncode == 0
    assert run("check", "--staged", GIT_INDEX_FILE=".git/other").returncode == 1


def test_it_runs_nothing_of_the_repository(run, git, shared, tmp_path, project):
    """Neither its file watcher, its filters, its diff programs nor its hooks."""
    ran = tmp_path / "ran"
    Path(project, ".gitattributes").write_text("*.md diff=x filter=x\n")
    shared("learnings/a.md", TOKEN)
    git("add", "-A")
    for key in (
        "core.fsmonitor",
        "diff.external",
        "diff.x.command",
        "diff.x.textconv",
        "filter.x.smudge",
        "filter.x.clean",
        "core.pager",
    ):
        git("config", key, "touch '%s'; cat" % ran)
    git("config", "core.hooksPath", str(tmp_path))
    (tmp_path / "post-index-change").write_text("#!/bin/sh\ntouch '%s'\n" % ran)
    (tmp_path / "post-index-change").chmod(0o755)
    assert run("check", "--staged").returncode == 1
    assert not ran.exists()


def test_where_git_does_not_answer_nothing_is_let_through(run, shared, git, tmp_path, project):
    """No repository, no git, a blob that is gone: status 1 and one line."""
    bare = tmp_path / "bare"
    bare.mkdir()
    assert "not a git repository" in run("check", "--staged", cwd=str(bare)).stderr
    shared("learnings/a.md", "# A\n")
    git("add", "-A")
    assert run("check", "--staged", PATH=str(tmp_path)).returncode == 1
    for path in Path(project, ".git", "objects").glob("??/*"):
        os.chmod(path, 0o600), path.unlink()
    done = run("check", "--staged")
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_doctor_offers_the_hook(examine, place, env, git, shared, project):
    """Its command makes it, and then it is seen; another hook is not overwritten."""
    shared("learnings/a.md", "# A\n")
    git("add", "-A")
    severity, said, command = examine("shared")[1]
    assert (severity, said) == (
        "WARN",
        "no pre-commit hook checks %s for secrets" % place.shared,
    )
    hook = Path(project, ".git/hooks/pre-commit")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nmake lint\n")
    assert (
        examine("shared")[1][2]
        == "let the repository's pre-commit hook run `dayleaf store check --staged`"
    )
    hook.unlink()
    subprocess.run(["sh", "-c", command], check=True, cwd=project)
    assert (
        os.access(hook, os.X_OK)
        and hook.read_text()
        == "#!/bin/sh\ncommand -v dayleaf >/dev/null || exit 0\nexec dayleaf store check --staged\n"
    )
    assert examine("shared")[1] == ("OK", "a pre-commit hook checks it for secrets", "")
    hook.unlink()
    Path(project, ".pre-commit-config.yaml").write_text(
        "repos: [{repo: x, hooks: [{id: dayleaf-secrets}]}]\n"
    )
    assert sharing.find_commit_hook(place) == (True, "")


def test_the_published_hook_runs_the_check():
    """What a repository takes over from .pre-commit-hooks.yaml."""
    import yaml

    hooks = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text())
    assert [(one["id"], one["entry"], one["pass_filenames"]) for one in hooks] == [
        ("dayleaf-secrets", sharing.COMMAND, False)
    ]


def texts_looked_at(monkeypatch):
    """Return a list of the records' texts in which secrets are looked for."""
    looked, real = [], recordfaults.check_secrets

    def rows(text, *more):
        if text.startswith("---"):
            looked.append(text)
        return real(text, *more)

    monkeypatch.setattr(recordfaults, "check_secrets", rows)
    return looked


def test_the_worker_finds_out_ahead_what_an_audit_would(ok, planted, env, now, monkeypatch):
    """Once a day, as far as its time goes; the audit then looks at nothing but the archive, and
    says the same.
    """
    looked, found_at = texts_looked_at(monkeypatch), []
    real = contradictions._extract_claims
    monkeypatch.setattr(
        contradictions, "_extract_claims", lambda given: found_at.append(given) or real(given)
    )
    builder.build(planted, now)
    first = json.loads(ok("audit", "--json"))
    archived, before = (
        len(looked) - first["records"],
        sorted(Path(planted.home, "workspaces").rglob("*")),
    )
    Path(planted.cache, planted.scope + ".facts").unlink()

    def look(days):
        looked.clear(), found_at.clear()
        job = worker.Job(
            {}, env, time.time() + days * 86400, planted, config.load_for_place(planted, env), []
        )
        dict(worker.AFTER_START)["look ahead"](job)
        return len(looked)

    assert (
        look(0) == first["records"]
        and found_at
        and sorted(Path(planted.home, "workspaces").rglob("*")) == before
    )
    looked.clear(), found_at.clear()
    assert json.loads(ok("audit", "--json")) == first and (len(looked), found_at) == (archived, [])
    put(planted, "p/learnings/new.md", "New", "x")
    builder.refresh(planted, now)
    assert (look(0.5), look(1.5)) == (0, 1)
    looked.clear()
    ok("audit")
    assert looked == []  # what it keeps of the archive stays too
    put(planted, "p/learnings/later.md", "Later", "x")
    builder.refresh(planted, now)
    monkeypatch.setattr(worker, "FACTS_SECONDS", 0.0)
    assert look(3) == 0


def test_a_second_audit_looks_only_at_what_changed(ok, planted, monkeypatch):
    """It says the same, and what it kept may be deleted; an edit, a new setting and a new secret
    are seen.
    """
    looked = texts_looked_at(monkeypatch)
    first = json.loads(ok("audit", "--json"))
    number = len(looked)
    assert (
        number >= first["records"]
        and first["counts"]["secrets"]
        and first["counts"]["contradictions"]
    )
    assert json.loads(ok("audit", "--json")) == first and len(looked) == number
    kept = Path(planted.cache) / (planted.scope + ".facts")
    kept.unlink()
    assert json.loads(ok("audit", "--json")) == first and len(looked) == 2 * number
    put(planted, "p/learnings/new.md", "New", 'password = "' + "hT7!kQ2_zR9w" + '"')
    assert json.loads(ok("audit", "--json"))["counts"]["secrets"] == first["counts"]["secrets"] + 1
    assert len(looked) == 2 * number + 1
    ok("config", "set", "redact.allow", '["hT7!kQ2_zR9w"]')
    assert json.loads(ok("audit", "--json"))["counts"]["secrets"] == first["counts"]["secrets"]
