"""A team in git: what may be shared, whose it is, what is new, and two users who work at once."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from harness import command, team

from memory.core import StoreError, config, frontmatter, layout, records
from memory.health import checkup
from memory.project import sharing
from memory.store import safegit
from memory.store.store import Store
from memory.store.writer import TierWriter

RULES = "* -text\narchive/log.jsonl merge=union\n"
TOKEN = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
BASE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


@pytest.fixture
def two(tmp_path, now):
    """Two users with a clone each."""
    return [team.Member(tmp_path, name, BASE, now) for name in ("alex", "kim")]


def kept(place, text, name="p/learnings/x.md", head=""):
    """(A record, its bytes)."""
    data = ("---\nid: l-1\ntitle: T\n%s---\n\n%s\n" % (head, text)).encode()
    return records.from_bytes(name, data, 0.0), data


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("key %s" % TOKEN, "a secret (github-token)"),
        ("a <private>plan</private> b", "a <private> part"),
        ("see /home/alex/notes.txt", "a path of this machine (/home/alex"),
        ("see /Users/kim/x", "a path of this machine"),
        (r"see C:\Users\kim\x", "a path of this machine"),
        ("see ~/.ssh/config", "a path of this machine"),
        ("file:///srv/x", "a path of this machine"),
    ],
)
def test_what_is_not_for_others_blocks(place, text, what):
    """With its line, its reason and a remedy."""
    record, data = kept(place, text)
    [found] = sharing.find_hindrances(record, data, place, [])
    assert found.what.startswith(what) and found.line == 6 and found.remedy


def test_the_command_keeps_every_path_of_one_machine_back_and_no_other(tmp_path, two):
    """Homes by a variable or a name, disks, shares, a user's temporary folder; routes, patterns,
    approximate numbers and manuals' examples are none, and below /tmp it asks.
    """
    alex = two[0]
    run = command.dayleaf(alex.env, alex.clone)

    def shared(text):
        made = run("learn", "-", "--json", stdin="Where it stands\n\n%s\n" % text)
        return run("share", json.loads(made.stdout)["id"])

    one = (
        r"$HOME/notes ${HOME}/notes $env:USERPROFILE\notes %USERPROFILE%\notes %APPDATA%\Tool "
        r"~alex/notes /Volumes/Disk/notes /run/media/alex/stick /private/var/folders/zz/x1/T/a "
        r"/var/folders/zz/x1/T/a "
        r'"C:\\Users\\kim\\x"'
    ).split()
    nets = r"\\srv\share \\\\srv\\share smb://nas.corp/team".split()
    for path in (*one, *nets):
        done = shared("It stands in %s for now." % path)
        what = "a file share of your network" if path in nets else "a path of this machine"
        assert (
            done.returncode == 1 and "line 11: %s (%s" % (what, path.strip('"')[:60]) in done.stdout
        ), (path, done)
    none = (
        r"src/home/page.py PUT /users/{id} GET /users/42 /volumes/data /home/user/app /Users/me/x "
        r"a ~ b /rooted/path ~5/min ~~old/new~~ ~old/new~ HEAD~2/x https://x.example/home/a "
        r"https://x.example/~alex/a $HOME \\n\t \\d+\\w \\.\pipe\engine \\server\share "
        r"smb://host.example/x and/or C:\\temp\\x s/\\w+/x/ see /Volumes and /var/folders."
    )
    done = shared(none)
    assert done.returncode == 0 and "does it stand there" not in done.stdout, done.stdout
    done = shared("The socket is /tmp/tool.sock here.")
    assert done.returncode == 0 and "line 11 names /tmp/tool.sock:" in done.stdout


def test_a_path_of_the_project_is_said_as_the_team_has_it(place):
    record, data = kept(place, "see %s/src/a.py" % place.root)
    [found] = sharing.find_hindrances(record, data, place, [])
    assert found.remedy == "write it relative to the repository: src/a.py"


@pytest.mark.parametrize(
    ("name", "head", "what"),
    [
        ("g/learnings/x.md", "", "the global tier"),
        ("p/conversations/d/x.md", "", "a conversation"),
        ("p/learnings/x.md", "accepted: false\n", "a candidate"),
        ("p/checkpoints/handoff.md", "", "the handoff"),
        ("p/resources/x.md", "type: doc\npath: /srv/doc.md\n", "outside the repository"),
    ],
)
def test_what_no_team_can_have_blocks(place, name, head, what):
    record, data = kept(place, "x", name, head)
    assert any(what in found.what for found in sharing.find_hindrances(record, data, place, []))


def test_a_record_moves_and_comes_back_with_its_bytes(two):
    """A second file of that name stays; a move that was cut short ends at the next one."""
    alex = two[0]
    store = alex.store
    made = store.add("learning", "Alpha", "x\n")
    data = Path(store.place.path(made.name)).read_bytes()
    name = sharing.move_record(store, made, layout.SHARED)
    assert alex.path(name).read_bytes() == data and not Path(store.place.path(made.name)).exists()
    assert alex.path("s/.gitattributes").read_text() == RULES
    Path(store.place.path(made.name)).write_bytes(data)  # as if killed in between
    assert (
        sharing.move_record(store, made, layout.SHARED) == name
        and not Path(store.place.path(made.name)).exists()
    )
    Path(store.place.path(made.name)).write_bytes(b"another")
    with pytest.raises(StoreError, match="another record has that name"):
        sharing.move_record(store, store.read(name), layout.PRIVATE)
    Path(store.place.path(made.name)).unlink()
    assert (
        sharing.move_record(store, store.read(name), layout.PRIVATE) == made.name
        and Path(store.place.path(made.name)).read_bytes() == data
    )


@pytest.mark.parametrize("way", [layout.SHARED, layout.PRIVATE])
@pytest.mark.parametrize("step", ["create", "remove"])
def test_a_move_that_was_killed_is_ended(two, way, step):
    """Both ways, before the copy is there and before the old file is gone: one file is left, and no
    mark.
    """
    alex = two[0]
    store = alex.store
    made = store.add("learning", "Alpha", "x\n")
    if way == layout.PRIVATE:
        made = store.read(sharing.move_record(store, made, layout.SHARED))
    done = getattr(TierWriter, step)

    class Killed(BaseException):
        """As a signal that nothing catches."""

    def killed(tiers, path, *rest):
        if path.endswith(".md"):
            monkeypatch.setattr(TierWriter, "remove", lambda *words: None)
            raise Killed
        return done(tiers, path, *rest)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(TierWriter, step, killed)
        with pytest.raises(Killed):
            sharing.move_record(store, made, way)
    mark = Path(store.place.private + layout.MOVING)
    assert mark.exists()
    sharing.finish_move(store)
    names = [
        tier + made.name[1:]
        for tier in (layout.PRIVATE, layout.SHARED)
        if Path(store.place.path(tier + made.name[1:])).exists()
    ]
    assert (
        names == [(way if step == "remove" else made.name[0]) + made.name[1:]] and not mark.exists()
    )


def test_any_command_ends_a_move_that_was_killed(ok, place):
    """The next one that opens the records."""
    made = ok("learn", "Prices are in cents.").split()[1]
    ok("share", made)
    [shared] = Path(place.shared, "learnings").glob("*.md")
    private = Path(place.private, "learnings", shared.name)
    private.write_bytes(shared.read_bytes())
    Path(place.private + layout.MOVING).write_text("p/learnings/%s\n" % shared.name)
    ok("shared")
    assert (
        shared.exists()
        and not private.exists()
        and not Path(place.private + layout.MOVING).exists()
    )


def test_two_records_of_one_name_both_stay(two):
    """A mark without a copy takes nothing away."""
    store = two[0].store
    made = store.add("learning", "Alpha", "x\n")
    other = Path(store.place.path(layout.SHARED + made.name[1:]))
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_text("Another.\n")
    Path(store.place.private + layout.MOVING).write_text(made.name + "\n")
    for _ in range(2):
        sharing.finish_move(store)
        assert other.exists() and Path(store.place.path(made.name)).exists()
        assert not Path(store.place.private + layout.MOVING).exists()


def test_git_says_whose_a_record_is_and_what_is_new(two):
    """Over a rename; one's own is one's own, committed or not; what came before the last pull is
    not new.
    """
    alex, kim = two
    name = alex.shared("Alpha")
    team.meet(two)
    kim.path(name).rename(kim.path("s/learnings/renamed.md"))
    kim.shared("Beta")
    team.meet([kim])
    assert alex.pull() == []
    draft = alex.shared("Draft")
    found = {held.name: held for held in alex.status().records}
    renamed, beta = (
        found["s/learnings/renamed.md"],
        next(held for held in found.values() if "beta" in held.name),
    )
    assert (renamed.by, renamed.last, renamed.mine, renamed.fresh) == ("alex", "kim", True, True)
    assert (beta.by, beta.mine, beta.state, beta.fresh) == ("kim", False, "committed", True)
    assert (found[draft].mine, found[draft].state, found[draft].fresh) == (True, "new", False)
    kim.shared("Gamma")
    team.meet([kim])
    alex.pull()
    assert [held.name for held in alex.status().records if held.fresh] == [
        held.name for held in alex.status().records if "gamma" in held.name
    ]


def test_two_users_lose_and_double_nothing(two):
    """Edits, renames and what is forgotten, on both sides at once, through git."""
    lines, _ = team.work(two, 30, 3)
    assert team.judged(two, lines) == ([], [])
    assert sorted(path.name for path in Path(two[0].clone, ".dayleaf").rglob("*.md")) == sorted(
        path.name for path in Path(two[1].clone, ".dayleaf").rglob("*.md")
    )


def test_a_conflict_is_named(two):
    """While git waits for it, and where somebody committed its lines."""
    alex, kim = two
    name = alex.shared("Alpha")
    team.meet(two)
    alex.edit(name, "of alex")
    team.meet([alex])
    kim.edit(name, "of kim")
    [torn] = kim.pull()
    [(path, what)] = kim.status().conflicts
    assert path == torn and "git could not merge it" in what
    kim.commit()
    [(path, what)] = kim.status().conflicts
    assert (
        path == torn
        and "markers of an unfinished merge" in what
        and sharing.find_merge_marker(str(kim.path(name)))
    )
    assert (
        not frontmatter.find_merge_marker(b"<<<<<<< only quoted\n")
        and frontmatter.find_merge_marker(b"a\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b\n") == 2
    )


def test_both_forget_and_the_logs_lines_stay(two):
    """Two lines at one end would be a conflict without the rule for it."""
    alex, kim = two
    one, other = alex.shared("Alpha"), alex.shared("Beta")
    team.meet(two)
    alex.store.archive(one, "forgotten")
    kim.store.archive(other, "forgotten")
    team.meet([alex])
    assert kim.pull() == []
    assert (
        kim.path("s/archive/log.jsonl").read_text().count("\n") == 2 and len(kim.store.away()) == 2
    )


def test_what_others_took_out_is_told_with_who_and_what_brings_it_back(two):
    """Made private, forgotten, deleted; not what they renamed, what oneself took out, what stands
    here again.
    """
    runs = [command.dayleaf(one.env, one.clone) for one in two]
    alex, kim = two

    def ok(run, *words):
        done = run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for title in ("Alpha", "Beta", "Gamma", "Delta", "Own"):
        ok(runs[0], "learn", "--shared", title + " holds.")
    team.meet(two)
    ok(runs[1], "unshare", "Alpha holds")
    ok(runs[1], "forget", "Beta holds")
    [gamma], [delta] = (
        list(kim.path("s/learnings").glob(name + "*.md")) for name in ("gamma", "delta")
    )
    gamma.unlink()
    delta.write_text(delta.read_text() + "Another line, and one more that it did not have.\n" * 5)
    delta.rename(delta.with_name("renamed.md"))
    kim.shared("Epsilon holds")
    team.meet([kim])
    ok(runs[0], "unshare", "Own holds")
    assert alex.pull() == []
    said = ok(runs[0], "shared")
    told = {row["title"]: row for row in json.loads(ok(runs[0], "shared", "--json"))["removed"]}
    assert "Removed by others since the last pull (3)" in said and sorted(told) == [
        "Alpha holds",
        "Beta holds",
        "Gamma holds",
    ]
    assert {row["by"] for row in told.values()} == {"kim"} and all(
        row["back"] in said for row in told.values()
    )
    assert told["Beta holds"]["back"] == "dayleaf store restore " + told["Beta holds"]["id"]
    ok(runs[0], "restore", told["Beta holds"]["id"])
    Path(alex.clone, "src").mkdir()
    for title in ("Alpha holds", "Gamma holds"):
        subprocess.run(
            told[title]["back"], shell=True, cwd=alex.clone + "/src", env=alex.env, check=True
        )
        assert told[title]["id"] in ok(runs[0], "recall", title)
    assert "Taken out" not in ok(runs[0], "shared") and "Taken out" not in ok(runs[1], "shared")


def test_whatever_verb_wrote_into_the_repository_the_logs_lines_merge(two):
    """`learn --shared` writes git's rule as `share` does, and a team that has none yet gets it with
    the first line of the log; what a person wrote beside it stays, and doctor names a log that no
    rule is for.
    """
    runs = [command.dayleaf(one.env, one.clone) for one in two]

    def ok(run, *words):
        done = run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def doctor(run):
        return [
            row
            for row in json.loads(run("doctor", "--json").stdout)
            if "merge=union" in row["remedy"]
        ]

    alex, kim = two
    rule = alex.path("s/.gitattributes")
    for title in ("Alpha", "Beta", "Gamma"):
        ok(runs[0], "learn", "--shared", title + " holds.")
    assert rule.read_text() == RULES
    rule.write_text("*.md text")  # as an older dayleaf left it, with a line of somebody's own
    team.meet(two)
    for run, title in zip(runs, ("Alpha", "Beta"), strict=True):
        ok(run, "forget", title + " holds")
    team.meet([alex])
    assert (
        kim.pull() == []
        and kim.path("s/.gitattributes").read_text() == "*.md text\narchive/log.jsonl merge=union\n"
    )
    assert kim.path("s/archive/log.jsonl").read_text().count("\n") == 2 and doctor(runs[1]) == []
    assert "Alpha" in ok(runs[1], "restore", "Alpha holds") and "Beta" in ok(
        runs[1], "restore", "Beta holds"
    )
    kim.git("rm", "-qf", ".dayleaf/.gitattributes")
    [told] = doctor(runs[1])
    assert told["verdict"] == "WARN" and "archive/log.jsonl" in told["found"]
    Path(kim.clone, ".gitattributes").write_text(".dayleaf/archive/*.jsonl merge=union\n")
    assert doctor(runs[1]) == []


def test_a_clone_with_the_line_ends_of_windows_has_the_bytes_that_were_approved(two):
    """git changes none below .dayleaf, also where an older dayleaf wrote the rule of the log."""
    alex, kim = two
    alex.path("s/.gitattributes").parent.mkdir(exist_ok=True)
    alex.path("s/.gitattributes").write_text("archive/log.jsonl merge=union\n")
    name = alex.shared("Retries need jitter")
    team.meet([alex])
    kim.git("config", "core.autocrlf", "true")
    kim.pull()
    assert kim.path(name).read_bytes() == alex.path(name).read_bytes()
    assert b"\r" not in kim.path(name).read_bytes()


def test_without_a_repository_nothing_is_shared(env, tmp_path):
    (tmp_path / "plain").mkdir()
    place = layout.locate(env, str(tmp_path / "plain"))
    assert sharing.make_tracked_test(place)("s/learnings/x.md")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'xcrun: error: invalid developer path' >&2; exit 1", "xcrun: error"),
        ("kill -SEGV $$", "not git's"),
        ("head -c 3000000 /dev/urandom", "not git's"),
        ("printf '\\001a\\000\\002'", "not git's"),
        ("sleep 300", "does not answer"),
    ],
)
def test_where_git_does_not_run_nothing_is_said_of_who_shared_what(
    two, tmp_path, monkeypatch, script, told
):
    """The cause is, by doctor too, and a git that hangs is waited for once."""
    monkeypatch.setattr(safegit, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(safegit, "_silent", {})
    alex = two[0]
    learnings = Path(alex.clone, ".dayleaf", "learnings")
    learnings.mkdir(parents=True, exist_ok=True)
    (learnings / "x.md").write_text("Herons.\n")
    place = layout.locate(alex.env, alex.clone)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "git").write_text("#!/bin/sh\n%s\n" % script)
    (broken / "git").chmod(0o755)
    env = {**alex.env, "PATH": "%s:/usr/bin:/bin" % broken}
    start = time.monotonic()
    with pytest.raises(StoreError, match=told):
        sharing.read_status(Store(place, config.load(place.home, place.root, env), 0.0), env)
    (found,) = checkup.check_git(place, env)
    assert told in found.what and found.severity == "WARN"
    repository = sharing.Repository(place, env)
    assert not repository.find_latest_pull() and repository.authors() is not None
    assert time.monotonic() - start < 8 and not [*checkup.check_git(place, alex.env)]
