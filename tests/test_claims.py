"""FRESH, STALE, UNKNOWN: what a record names against the working tree, and the marks that the hooks read."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
import vault

from memory import (
    claims,
    clock,
    contradictions,
    duplicates,
    files,
    fixes,
    index,
    indexer,
    marks,
    naming,
    records,
    sections,
    shell,
    statements,
    suspects,
    symbols,
    used,
)


def note(body, meta=""):
    """A record with a body and lines of frontmatter."""
    return records.from_bytes("p/learnings/x.md", ("---\ntitle: t\n%s---\n\n%s\n" % (meta, body)).encode(), 0.0)


@pytest.fixture
def tree(project):
    """A project with two files."""
    for name in ("src/auth/jwt.py", "README.md"):
        path = Path(project, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n", encoding="utf-8")
    return project


@pytest.mark.parametrize(("body", "meta", "state"), [
    ("see `src/auth/jwt.py`", "", "FRESH"), ("see src/auth/jwt.py:42.", "", "FRESH"), ("`README.md` says so", "", "FRESH"),
    ("see `src/auth/gone.py`", "", "STALE"), ("see `src/auth/jwt.py` and src/gone.ts", "", "STALE"),
    ("nothing named", "", "UNKNOWN"), ("`jwt.py` alone", "", "UNKNOWN"), ("auth/jwt.py, shortened", "", "UNKNOWN"),
    ("v2.1.0, e.g. `user.name` and `foo.bar()`", "", "UNKNOWN"), ("https://example.com/src/auth/gone.py", "", "UNKNOWN"),
    ("/etc/gone.conf and ~/x/gone.py", "", "UNKNOWN"), ("../outside/gone.py", "", "UNKNOWN"),
    ("x", "files: [src/auth/jwt.py]\n", "FRESH"), ("x", "files: [lost.py]\n", "STALE"),
    ("x", "files: src/auth/jwt.py, lost.py\n", "STALE"),
])
def test_named_files_are_checked(tree, body, meta, state):
    """Missing files make a record stale, present ones fresh; what cannot be told says nothing."""
    assert claims.check(note(body, meta), tree, tree + "/.git").state == state


def test_deleting_a_named_file_makes_the_record_stale(tree):
    """The working tree is looked at each time."""
    one = note("see `src/auth/jwt.py`")
    assert claims.check(one, tree, "").state == "FRESH"
    Path(tree, "src/auth/jwt.py").unlink()
    found = claims.check(one, tree, "")
    assert found.state == "STALE" and [c.reason for c in found.gone] == ["src/auth/jwt.py is gone"]


def test_without_a_tree_nothing_is_known():
    """A record of another workspace has nothing to be checked against."""
    assert claims.check(note("see `src/auth/jwt.py`"), "", "").state == "UNKNOWN"


@pytest.mark.parametrize(("path", "body", "meta", "named"), [
    ("jwt.py", "x", "files: [src/auth/jwt.py]\n", True), ("auth/jwt.py", "x", "files: src/auth/jwt.py\n", True),
    ("wt.py", "x", "files: [src/auth/jwt.py]\n", False), ("src/auth/jwt.py", "in `src/auth/jwt.py`:", "", True),
    ("jwt.py", "in src/auth/jwt.py.", "", True), ("jwt.py", "myjwt.py", "", False), ("jwt.py", "jwt.pyc", "", False),
    ("", "anything", "", False)])
def test_a_file_is_mentioned_by_the_end_of_its_path(path, body, meta, named):
    """Whole path parts count."""
    assert naming.mentions(note(body, meta), path) is named


# ---- what was there before


JWT = """import json
def verify_token(token):
    return json.loads(token)
def verify_token_v2(token): return token
class Config:
    def load(self):
        return LIMIT_OF_TOKENS
LIMIT_OF_TOKENS = 5
"""


class Repository:
    """A repository whose commits are one hour apart, from the fixed instant on."""

    def __init__(self, root, env, now):
        self.root, self.env, self.now = root, env, now

    def write(self, **texts):
        """Write files by path (`__` stands for a slash, None deletes) and commit them; returns the hash."""
        for name, text in texts.items():
            path = Path(self.root, name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if text is None else path.write_text(text, encoding="utf-8")
        self.now += 3600
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", "work")
        return self("rev-parse", "HEAD")

    def __call__(self, *words):
        stamp = "%d +0000" % self.now
        done = subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True,
                              env={**self.env, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp})
        return done.stdout.strip()

    def check(self, body, meta="", when=None):
        """Check a record of an instant (half an hour after the last commit)."""
        created = "created: %s\n" % clock.iso(self.now + 1800 if when is None else when)
        return claims.check(note(body, created + meta), self.root, self.root + "/.git")


@pytest.fixture
def repository(project, env, now):
    """A repository of two files and a commit."""
    made = Repository(project, env, now)
    made.write(src__auth__jwt=JWT, src__app="from auth.jwt import verify_token\nverify_token(1)\n")
    return made


@pytest.mark.parametrize("dated", [True, False], ids=["by its commit", "by its instant"])
@pytest.mark.parametrize(("body", "after", "state"), [
    ("`verify_token` in `src/auth/jwt.py`", JWT.replace("verify_token(", "check_token("), "STALE"),
    ("`verify_token` in `src/auth/jwt.py`", "# verify_token went\n" + JWT.replace("verify_token(", "x("), "STALE"),
    ("`verify_token` in `src/auth/jwt.py`", JWT.replace("def verify_token(token)", "async def verify_token(a, b)"), "FRESH"),
    ("`src/auth/jwt.py:verify_token`", JWT.replace("def verify_token(", "def x("), "STALE"),
    ("`src/auth/jwt.py:3`", JWT.replace("def verify_token(", "def x("), "FRESH"),
    ("`src/auth/jwt.py`의 `verify_token`", JWT.replace("def verify_token(", "def x("), "STALE"),
    ("`Config.load` in src/auth/jwt.py", JWT.replace("def load", "def read"), "STALE"),
    ("`Config.load` in src/auth/jwt.py", JWT.replace("Config", "Settings"), "STALE"),
    ("`LIMIT_OF_TOKENS` is too low", JWT.replace("LIMIT_OF_TOKENS", "TOKENS"), "STALE"),
    ("`verify_token_v2()` is slow", JWT.replace("_v2", "_v3"), "STALE"),
    ("`never_there` in `src/auth/jwt.py`, `other_name()`", "x = 1\n", "FRESH"),
    ("`never_there()` and `json.dumps`", "x = 1\n", "UNKNOWN"),
    ("`json.loads` keeps the order", "x = 1\n", "UNKNOWN"),
    ("`token`, `--no-cache`, `GET`, `git push`", "x = 1\n", "UNKNOWN"),
    ("src/never.py may come; `src/other/x.py`", "x = 1\n", "UNKNOWN"),
])
def test_only_what_was_there_can_be_gone(repository, dated, body, after, state):
    """A symbol counts where the commit of then had it: by the record's key, or where HEAD was."""
    commit, when = repository("rev-parse", "HEAD"), repository.now + 60
    meta = "commit: %s\n" % commit[:10] if dated else ""
    assert repository.check(body, meta, when).state in ("FRESH", "UNKNOWN")
    repository.write(src__auth__jwt=after)
    assert repository.check(body, meta, 0.0 if dated else when).state == state
    repository("gc", "-q")
    assert repository.check(body, meta, 0.0 if dated else when).state == state


def test_a_symbol_that_moved_is_gone_from_its_file_and_not_from_the_repository(repository):
    """With the file it is a claim about the file, without one about the repository."""
    when = repository.now + 60
    repository.write(src__auth__jwt="from auth.other import verify_token\n", src__auth__other=JWT)
    assert repository.check("`verify_token` in `src/auth/jwt.py`", when=when).gone[0].reason == \
        "verify_token is no longer in src/auth/jwt.py"
    assert repository.check("`verify_token()` is slow", when=when).state == "FRESH"


def test_a_file_that_moved_is_said_where(repository):
    """By its content, else by its name where only one file has it; a name that never was says nothing."""
    when = repository.now + 60
    repository.write(src__auth__jwt=None, lib__tokens=JWT)
    found = repository.check("see src/auth/jwt.py", when=when)
    assert [claim.reason for claim in found.gone] == ["src/auth/jwt.py is gone, moved to lib/tokens.py"]
    repository.write(lib__tokens=None, lib__jwt=JWT + "x = 2\n")
    found = repository.check("see src/auth/jwt.py", when=when)
    assert [claim.reason for claim in found.gone] == ["src/auth/jwt.py is gone, moved to lib/jwt.py"]
    repository.write(src__auth__jwt=JWT)
    assert repository.check("see src/auth/jwt.py", when=when).state == "FRESH"


def test_a_commit_that_a_complete_repository_does_not_have_is_gone(repository, tmp_path):
    """Loose or packed, whole or short; a checksum, and a shallow clone, say nothing."""
    commit = repository("rev-parse", "HEAD")
    lost = repository("commit-tree", "HEAD^{tree}", "-m", "lost")
    repository.write()
    for _ in range(2):
        assert repository.check("fixed in %s." % commit[:9]).state == "FRESH"
        repository("gc", "-q", "--prune=now")
    found = repository.check("it came with commit `%s`" % lost[:12])
    assert [claim.reason for claim in found.gone] == ["commit %s is not in this repository" % lost[:10]]
    assert repository.check("the image 4f1deadbeef0 is large").state == "UNKNOWN"
    assert repository.check("x", "commit: %s\n" % commit[:10]).state == "UNKNOWN"
    assert repository.check("x", "commit: %s\n" % lost[:10]).state == "STALE"
    repository("clone", "-q", "--depth=1", "file://" + repository.root, str(tmp_path / "shallow"))
    there = claims.check(note("commit %s" % commit[:9]), str(tmp_path / "shallow"), str(tmp_path / "shallow/.git"))
    assert there.state == "UNKNOWN"


def test_nothing_outside_the_checkout_is_looked_at(repository, tmp_path):
    """A link out, `..`, an absolute path and `.git` are not checked; a link inside is."""
    (tmp_path / "outside.py").write_text("def verify_token(): pass\n")
    Path(repository.root, "src/link.py").symlink_to(tmp_path / "outside.py")
    Path(repository.root, "src/inner.py").symlink_to("auth/jwt.py")
    for body in ("`verify_token` in `src/link.py`", "../outside.py", str(tmp_path / "outside.py"), "`.git/config.toml`"):
        assert repository.check(body).state == "UNKNOWN", body
    assert repository.check("`verify_token` in `src/inner.py`").state == "FRESH"


def test_nothing_of_the_repository_is_run(repository, tmp_path):
    """A hostile fsmonitor, filter and hook stay where they are."""
    mark = tmp_path / "ran"
    trap = tmp_path / "trap"
    trap.write_text("#!/bin/sh\ntouch '%s'\n" % mark)
    trap.chmod(0o755)
    when = repository.now + 60
    repository.write(src__auth__jwt=None)
    for key in ("core.fsmonitor", "filter.x.smudge", "core.sshCommand", "core.pager", "diff.external"):
        repository("config", key, str(trap))
    repository("config", "core.hooksPath", str(tmp_path))
    assert repository.check("see src/auth/jwt.py, `verify_token()`, commit 1a2b3c4", when=when).state == "STALE"
    assert not mark.exists()


def test_a_tree_that_is_too_large_is_left_to_the_worker(repository):
    """Above its bounds a checkout says nothing about symbols without a file; the worker's marks do."""
    when = repository.now + 60
    repository.write(src__auth__jwt="x = 1\n", src__app="")
    one = note("`verify_token()`", "created: %s\n" % clock.iso(when))
    known = {one.checksum[:16]: [["verify_token is no longer defined in this repository", "", "", "verify_token"]]}
    for most, given, state in ((claims.NARROW, {}, "STALE"), ((1, 1 << 20), {}, "UNKNOWN"), ((1, 1 << 20), known, "STALE")):
        with claims.Checkout(repository.root, repository.root + "/.git", most, given) as checkout:
            assert checkout.check(one).state == state


# ---- what a text says


@pytest.mark.parametrize(("text", "found"), [
    ("`verify_token` in `src/a.py`", [("verify_token", "src/a.py")]), ("`run` in src/a.py", [("run", "src/a.py")]),
    ("`run` is defined in the file `a.py`", [("run", "a.py")]), ("`run` and src/a.py", []),
    ("`src/a.py`'s `run`", [("run", "src/a.py")]), ("src/a.py:Config.load", [("Config.load", "src/a.py")]),
    ("`src/a.py::test_x`", [("test_x", "src/a.py")]), ("`src/a.py:42`", []), ("`getUserToken()`", [("getUserToken", "")]),
    ("`Config.load`", [("Config.load", "")]), ("`a::b_c`", [("a::b_c", "")]), ("`run(x, y)`", [("run", "")]),
    ("`token` `HTTP` `--flag` `a b` `x.py` `1.2.3` `_`", []), ("https://x.y/a.py:run", []),
])
def test_symbols_are_named_in_backticks_or_behind_a_path(text, found):
    """Words of prose are none; with a file any word is."""
    assert symbols.named(text) == found


@pytest.mark.parametrize(("source", "name", "path", "level"), [
    ("def run(a):", "run", "a.py", 2), ("    async def run(", "run", "a.py", 2), ("run(1)", "run", "a.py", 1),
    ("# def run(a):", "run", "a.py", 0), ('"""\ndef run(a):\n"""\n', "run", "a.py", 0), ("rerun = run_all", "run", "a.py", 0),
    ('X = re.compile("\'\'\'")\nrun = 3\n', "run", "a.py", 2),
    ("run: int = 3", "run", "a.py", 2), ("if run == 3:", "run", "a.py", 1),
    ("f(\n    run=3,\n)", "run", "a.py", 1), ("export const run = (a) => {", "run", "a.ts", 2),
    ("  async run(a: X): P<Y> {", "run", "a.ts", 2),
    ("  describe(run, () => {", "run", "a.ts", 1), ("/* run\n run() */", "run", "a.ts", 0),
    ("const g = 'src/*'\nlet run = 1", "run", "a.js", 2),
    ("func (c *Config) run(a int) {", "run", "a.go", 2), ("func (c *Config) run(a int) {", "Config.run", "a.go", 3),
    ("type Config struct {}\nfunc (c *Config) run(a int) {", "Config.run", "a.go", 3), ("pub fn run<T>(a: T) {", "run", "a.rs", 2),
    ("static int run(char *a)\n{", "run", "a.c", 2), ("#define RUN_ALL 1", "RUN_ALL", "a.h", 2), ("return run(a);", "run", "a.c", 1),
    ("CREATE TABLE IF NOT EXISTS run (", "run", "a.sql", 2), ("run:", "run", "a.yaml", 2), ("run: it ran", "run", "a.md", 1),
    ("class A:\n    def run(self): 1\nclass B:\n    x = 1\n", "A.run", "a.py", 3),
    ("class A:\n    x = 1\nclass B:\n    def run(self): 1\n", "A.run", "a.py", 2),
    ("함수_run = 1\nrun = 2", "run", "a.py", 2),
])
def test_a_definition_is_told_from_a_use_and_a_comment(source, name, path, level):
    """3 a member of its class, 2 defined, 1 used, 0 neither."""
    assert symbols.level(source, name, path) == level


def test_hostile_sources_and_bodies_take_no_time():
    """Repeated openings, names and long lines stay linear."""
    started = clock.now()
    for source in ("/*" * 500_000, '"""' * 300_001, "run " * 250_000, "x" * 10**6 + " run", "'" * 10**6 + " run"):
        symbols.level(source, "A.run", "a.py")
    for body in ("`run` in " * 7000, "a" * 65000, ("a" * 190 + " `x_y`") * 330, "src/" * 16000, "`a.py`'s `" * 6000,
                 "commit " * 9000):
        claims.check(note(body), "/", "")
    assert clock.now() - started < 10


SIGNS = ["(", "[", "{", "+", ".", "@", "-", "_", "/", "([", "(+", "[(.", "a(", "a[", "(a)", "[a]", "](", "[[", "./", "@.", "+-", "-_",
         "_/", "!", "?", "# a\n", "## a\n\n", "`a", "a.b ", "'", '"']


@pytest.mark.parametrize("sign", SIGNS)
def test_a_run_of_any_sign_is_read_in_time_that_grows_with_its_length(sign):
    """60,000 characters of brackets, joints and marks, in every reading of a record: a fifth of a second each at the most."""
    body = (sign * 60_000)[:60_000]
    one, other = note(body, "id: l-11111111\n"), note(body + " x", "id: l-22222222\n")
    note_of = records.from_bytes("p/checkpoints/x.md", one.body.encode(), 0.0)
    failure = shell.Run("000001", "pytest x", "pytest", "exit 1", body)
    readings = {
        "claims": lambda: claims.check(one, "/", ""), "symbols": lambda: symbols.named("`a`%s`a`" % body),
        "commits": lambda: naming.hashes(body), "uses": lambda: used.words_of(body),
        "contradictions": lambda: contradictions.pairs([one, other]), "duplicates": lambda: duplicates.find([one, other], {}),
        "statements": lambda: statements.statements(note_of), "sections": lambda: sections.outline(body),
        "suspects": lambda: list(suspects.find(body)),
        "fixes": lambda: (fixes.telling(body), fixes.names("src/user_name.py", failure), fixes.signature("pytest x", body)),
    }
    for name, reading in readings.items():
        started = time.process_time()
        reading()
        assert time.process_time() - started < 0.2, name


def test_brackets_around_a_path_are_no_part_of_it_and_those_in_it_are():
    """A link, a parenthesis and a call name the file alone; folders in brackets stay whole."""
    assert naming.mentioned("(src/a.py), [b](src/b.py) and open(src/c.py)") == ["src/a.py", "src/b.py", "src/c.py"]
    assert naming.mentioned("app/(shop)/[id]/page.tsx, app/[[slug]]/x.ts") == ["app/(shop)/[id]/page.tsx", "app/[[slug]]/x.ts"]


# ---- what is shown


def test_recall_and_show_say_what_is_gone(repository, place, ok):
    """A hit's line says STALE and why, --json the claims; show lists every claim."""
    meta = {"created": clock.iso(repository.now + 60)}
    vault.put(place, "p/learnings/slow.md", "Tokens are slow", "`verify_token` in `src/auth/jwt.py`; see src/app.py", **meta)
    assert "FRESH" in ok("recall", "tokens slow")
    repository.write(src__auth__jwt=None)
    said = ok("recall", "tokens slow")
    assert "STALE" in said and "src/auth/jwt.py is gone" in said
    (hit,) = json.loads(ok("recall", "tokens slow", "--json"))["hits"]
    assert hit["freshness"] == "STALE"
    assert hit["gone"] == [{"kind": "file", "name": "src/auth/jwt.py", "stands": False, "reason": "src/auth/jwt.py is gone"}]
    shown = ok("show", "slow")
    assert "STALE; src/auth/jwt.py is gone" in shown and "stands" in shown and "src/app.py" in shown
    rows = json.loads(ok("show", "slow", "--json"))["claims"]
    assert [row["stands"] for row in rows] == [False, True, None]


# ---- the marks of the hooks


def aged(place, repository, now):
    """Write two learnings on one subject, of which the one that matches better names a file that goes; returns its id."""
    meta = {"created": clock.iso(repository.now + 60)}
    vault.learnings(place, 12)
    vault.put(place, "p/learnings/better.md", "Kafka rebalance kafka", "kafka rebalance in `src/auth/jwt.py`", **meta)
    vault.put(place, "p/learnings/other.md", "Kafka rebalance", "kafka rebalance and something else here, src/app.py", **meta)
    repository.write(src__auth__jwt=None)
    marks.write(place)
    indexer.build(place, now)
    return "better"


def block(answer):
    """The text of an answer."""
    return answer["hookSpecificOutput"]["additionalContext"]


def test_a_stale_learning_is_pushed_with_its_mark_and_below_fresh_ones(place, repository, now, handled):
    """The mark names the cause; without the file of marks, or once the file is back, there is none."""
    aged(place, repository, now)
    text = block(handled("prompt", prompt="why does the kafka rebalance fail?")[1])
    assert "STALE: src/auth/jwt.py is gone)" in text
    assert text.index("[other]") < text.index("[better]")
    Path(repository.root, "src/auth").mkdir(parents=True, exist_ok=True)
    Path(repository.root, "src/auth/jwt.py").write_text("x\n")
    text = block(handled("prompt", prompt="why does the kafka rebalance fail?", session_id="s2")[1])
    assert "STALE" not in text and text.index("[better]") < text.index("[other]")


def test_an_edited_record_loses_its_mark(place, repository, now, handled):
    """A mark holds for the bytes that were checked."""
    aged(place, repository, now)
    path = Path(place.path("p/learnings/better.md"))
    path.write_text(path.read_text() + "Checked again.\n")
    text = block(handled("prompt", prompt="why does the kafka rebalance fail?")[1])
    assert "[better]" in text and "STALE" not in text


def test_the_brief_marks_what_is_stale(place, repository, now, handled):
    """The newest checkpoint, the plan, learnings in full and as a list."""
    meta, commit = {"created": clock.iso(repository.now + 60)}, repository("rev-parse", "HEAD")
    for name, kind in (("p/learnings/a.md", "learning"), ("p/plans/b.md", "plan"),
                       ("p/checkpoints/2026-11-21/c.md", "checkpoint")):
        vault.put(place, name, "About tokens", "see `src/auth/jwt.py`", kind=kind, **meta)
    vault.put(place, "p/learnings/z.md", "Fresh", "see `src/app.py`", created="2026-01-01")
    repository.write(src__auth__jwt=None)
    marks.write(place)
    indexer.build(place, now)
    text = block(handled("start", source="startup")[1])
    assert text.count("STALE: src/auth/jwt.py is gone") == 3
    assert text.index("[z]") < text.index("[a]")
    vault.learnings(place, 12)
    vault.put(place, "p/learnings/a.md", "About tokens", "see `src/auth/jwt.py`", created=clock.iso(now + 90000), commit=commit)
    marks.write(place)
    indexer.build(place, now)
    text = block(handled("start", source="startup", session_id="s2")[1])
    assert "STALE: src/auth/jwt.py is gone)" in text.partition("Newest of")[2]


def test_a_mark_for_a_symbol_holds_while_its_file_is_the_same(place, repository, now):
    """A file that was saved since may hold it again: only the worker can tell."""
    meta = {"created": clock.iso(repository.now + 60)}
    vault.put(place, "p/learnings/a.md", "Tokens", "`verify_token` in `src/auth/jwt.py`", **meta)
    repository.write(src__auth__jwt="x = 1\n")
    marks.write(place)
    found = vault.built(place, now)
    one = records.from_bytes("p/learnings/a.md", Path(place.path("p/learnings/a.md")).read_bytes(), 0.0)
    assert found.mark(one) == "verify_token is no longer in src/auth/jwt.py"
    vault.touch(repository.root + "/src/auth/jwt.py", 5.0)
    assert vault.built(place, now).mark(one) == ""


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"v":2,"records":{}}', b'{"v":1}', b'{"v":1,"records":[]}',
                                  b'{"v":1,"records":{"%s":7}}', b'{"v":1,"records":{"%s":[[1]]}}',
                                  b'{"v":1,"records":{"%s":["x"]}}'])
def test_a_broken_file_of_marks_marks_nothing(place, repository, now, handled, data):
    """What cannot be read costs the marks and not the answer."""
    aged(place, repository, now)
    checksum = files.sha256(Path(place.path("p/learnings/better.md")).read_bytes())[:16].encode()
    Path(index.marks_path(place)).write_bytes(data.replace(b"%s", checksum))
    text = block(handled("prompt", prompt="why does the kafka rebalance fail?")[1])
    assert "[better]" in text and "STALE" not in text


@pytest.mark.parametrize("hook", ["session_start", "session_end"])
def test_a_capture_and_a_start_write_the_marks(place, repository, now, world, hook):
    """The detached child writes them, for the user alone; the file goes when nothing is stale."""
    from harness.hook import ROOT, fire, payload
    from harness.lab import until

    aged(place, repository, now)
    files.remove(index.marks_path(place))
    transcript = Path(world["HOME"], ".claude/projects/p/7c997624-fc22-4860-bbcc-56cf0cc98ee9.jsonl")
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes((ROOT / "tests/data/transcripts/tools-interactive.jsonl").read_bytes())
    event = payload("SessionStart", "startup") if hook == "session_start" else payload(
        "SessionEnd", "other", transcript_path=str(transcript))
    fire(hook, event, world)
    until(lambda: os.path.exists(index.marks_path(place)))
    assert os.stat(index.marks_path(place)).st_mode & 0o777 == 0o600
    row = json.loads(Path(index.marks_path(place)).read_text())
    assert row["v"] == 1 and ["src/auth/jwt.py"] in [[cause[1] for cause in causes] for causes in row["records"].values()]
    for folder in ("learnings", "checkpoints"):
        for path in Path(place.private, folder).rglob("*.md"):
            path.unlink()
    marks.write(place)
    assert not os.path.exists(index.marks_path(place))


def test_show_says_nothing_of_freshness_where_nothing_can_be_checked(ok):
    """A record that names no file, identifier or commit; --json says UNKNOWN."""
    id = json.loads(ok("learn", "Ask before you merge on Fridays", "--json"))["id"]
    assert "freshness" not in ok("show", id) and json.loads(ok("show", id, "--json"))["freshness"] == "UNKNOWN"
