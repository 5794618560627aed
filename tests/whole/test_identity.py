"""Whose memory a directory gets: real repositories, hooks and commands as processes, and a
directory that lies.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import command, hook

from memory.core import layout
from memory.health import restoration
from memory.health.bundle import Backup, BackupFile

SECRET = "the kafka broker drops the zebra partition"
URL = "git@example.org:team/widget.git"
AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")


class Person:
    """A home with dayleaf in it: makes repositories, fires hooks in them, runs commands there."""

    def __init__(self, world: dict, folder: Path):
        self.world, self.folder = (
            {key: value for key, value in world.items() if key != "CLAUDE_PROJECT_DIR"},
            folder,
        )

    def git(self, where, *words) -> str:
        return subprocess.run(
            ["git", *words],
            cwd=where,
            env={**self.world, "GIT_CONFIG_GLOBAL": "/dev/null"},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def repository(self, name: str, url: str = URL, commits: int = 1) -> Path:
        root = self.folder / name
        root.mkdir(parents=True)
        self.git(root, "init", "-q")
        for number in range(commits):
            self.git(root, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "%s %d" % (name, number))
        if url:
            self.git(root, "remote", "add", "origin", url)
        return root

    def clone(self, source: Path, name: str, url: str = URL) -> Path:
        self.git(self.folder, "clone", "-q", str(source), name)
        self.git(self.folder / name, "remote", "set-url", "origin", url)
        return self.folder / name

    def lie(self, name: str, url: str = URL) -> Path:
        """A directory whose `.git/config` names somebody else's remote; it has a commit of its
        own.
        """
        return self.repository(name, url)

    def fire(self, event: str, where, session: str = "s1", **more) -> hook.Answer:
        name = {
            "session_start": "SessionStart",
            "prompt": "UserPromptSubmit",
            "session_end": "SessionEnd",
        }[event]
        answer = hook.harmless(
            hook.fire(
                event,
                hook.payload(
                    name,
                    "startup" if event == "session_start" else "",
                    session_id=session,
                    cwd=str(where),
                    **more,
                ),
                {**self.world, "CLAUDE_PROJECT_DIR": str(where)},
            )
        )
        assert answer.settled
        return answer

    def start(self, where, session: str = "s1") -> hook.Answer:
        return self.fire("session_start", where, session, source="startup")

    def run(self, where, *words, **more) -> subprocess.CompletedProcess:
        done = command.dayleaf(self.world, str(where))(*words, **more)
        assert done.returncode in (0, 1), done.stderr
        return done

    def workspace(self, where) -> dict:
        return json.loads(self.run(where, "workspace", "--json").stdout)

    def place(self, where) -> layout.Place:
        return layout.locate(self.world, str(where))

    def knows(self, where) -> bool:
        """Tell whether a second start there, and recall, give what was learnt."""
        self.start(where)
        said = [
            SECRET in self.start(where, "s2").context,
            SECRET in self.run(where, "recall", "zebra", "partition").stdout,
        ]
        assert said[0] == said[1]
        return said[0]


@pytest.fixture
def person(world, tmp_path) -> Person:
    return Person(world, tmp_path)


@pytest.fixture
def widget(person) -> Path:
    """A repository with a remote and a private memory."""
    root = person.repository("src/widget")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    assert person.knows(root)
    return root


def everything(private: str) -> dict[str, bytes]:
    return {
        str(path.relative_to(private)): path.read_bytes()
        for path in sorted(Path(private).rglob("*"))
        if path.is_file()
    }


def attacked(person: Person, widget: Path, lie: Path) -> None:
    """Use a directory that lies as a person would who has unpacked it, and see that the memory
    neither shows nor changes.
    """
    before, victim = everything(person.place(widget).private), person.place(widget)
    for session in ("e1", "e2"):
        answers = [
            person.start(lie, session),
            person.fire("prompt", lie, session, prompt="why does the kafka broker drop the zebra?"),
        ]
        assert not any("zebra" in answer.out.decode() for answer in answers)
    for words in (
        ["recall", "zebra"],
        ["recall", "zebra", "--workspace", "all"],
        ["load", "kafka zebra partition"],
        ["status"],
        ["why"],
        ["graph"],
        ["distill", "zebra partition"],
    ):
        assert "drops the" not in person.run(lie, *words).stdout, words
    id = json.loads(person.run(widget, "recall", "zebra", "--json").stdout)["hits"][0]["id"]
    assert (
        "zebra"
        not in person.run(lie, "show", id).stdout + person.run(lie, "show", "--outline", id).stdout
    )
    person.run(lie, "learn", "poison of the unpacked directory")
    person.run(lie, "forget", id)
    assert everything(victim.private) == before and person.place(lie).key != victim.key
    assert "poison of the" not in person.run(widget, "recall", "poison").stdout and person.knows(
        widget
    )


def test_a_directory_that_claims_another_s_remote_gets_and_writes_nothing(person, widget):
    """The second start says so in one line, with the remedy; the first one's worker had still to
    look.
    """
    lie = person.lie("download/evil")
    attacked(person, widget, lie)
    said = [
        line for line in person.start(lie, "e3").message.splitlines() if "workspace claim" in line
    ]
    assert len(said) == 1 and person.place(widget).key in said[0]
    assert person.workspace(lie)["claimed"] == person.place(widget).key
    for verb in ("status", "doctor"):
        [line] = [
            line
            for line in person.run(lie, verb).stdout.splitlines()
            if person.place(widget).key in line
        ]
        assert "`dayleaf store workspace claim`" in person.run(lie, verb).stdout, line
        assert "workspace claim" not in person.run(widget, verb).stdout


@pytest.mark.parametrize(
    "way", ["gitdir", "link", "commondir", "objects", "fanout", "alternates", "name"]
)
def test_no_link_to_the_repository_passes_for_it(person, widget, way):
    """Its git directory, its objects or a commit's name, borrowed: the commit must lie in the
    directory itself.
    """
    lie, git = person.lie("download/evil"), str(widget) + "/.git"
    head = person.git(widget, "rev-parse", "HEAD")
    mine = lie / ".git"
    if way in ("gitdir", "link"):
        shutil.rmtree(mine)
        mine.write_text("gitdir: %s\n" % git) if way == "gitdir" else mine.symlink_to(git)
    elif way == "commondir":
        (mine / "commondir").write_text(git + "\n")
    elif way == "objects":
        shutil.rmtree(mine / "objects")
        (mine / "objects").symlink_to(git + "/objects")
    elif way == "fanout":
        shutil.rmtree(mine / "objects" / head[:2], ignore_errors=True)
        (mine / "objects" / head[:2]).symlink_to(git + "/objects/" + head[:2])
    elif way == "alternates":
        (mine / "objects" / "info" / "alternates").write_text(git + "/objects\n")
    else:
        (mine / "objects" / head[:2]).mkdir(exist_ok=True)
        own = person.git(lie, "rev-parse", "HEAD")
        shutil.copy(mine / "objects" / own[:2] / own[2:], mine / "objects" / head[:2] / head[2:])
        (mine / "refs/heads").joinpath(person.git(lie, "branch", "--show-current")).write_text(
            head + "\n"
        )
    attacked(person, widget, lie)


def test_a_remote_that_is_a_local_path_is_a_claim_too(person, world):
    """A directory without git is named by its path; a remote of that path must not open it, nor
    take it before it has notes.
    """
    notes, early = (
        person.folder / "notes",
        person.lie("download/early", str(person.folder / "notes")),
    )
    notes.mkdir()
    person.run(early, "learn", "poison of the unpacked directory")
    person.run(notes, "learn", SECRET, "--title", SECRET, "--source", "human")
    assert person.knows(notes)
    attacked(person, notes, person.lie("download/evil", str(notes)))
    assert not person.knows(early)


def test_a_worktree_knows_at_its_first_start(person, widget):
    """Its repository lists it; a copy of its `.git` file elsewhere is not listed."""
    tree = person.folder / "tree"
    person.git(widget, "worktree", "add", "-q", str(tree))
    assert SECRET in person.start(tree).context
    copy = person.folder / "download" / "copy"
    copy.mkdir(parents=True)
    shutil.copy(tree / ".git", copy / ".git")
    attacked(person, widget, copy)


def test_a_worktree_of_a_repository_without_a_remote_knows_at_its_first_start(person):
    root, tree = person.repository("plain", ""), person.folder / "tree"
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    person.git(root, "worktree", "add", "-q", str(tree))
    assert SECRET in person.start(tree).context
    copy = person.folder / "copy"
    copy.mkdir()
    (copy / ".git").write_text("gitdir: %s/.git\n" % root)
    attacked(person, root, copy)


def test_a_moved_repository_knows_without_a_question(person, widget):
    """The first start, before the proof, says what comes."""
    there = person.folder / "elsewhere" / "renamed"
    there.parent.mkdir()
    shutil.move(widget, there)
    first = person.start(there)
    assert "`.git` says that this is widget-" in first.message and "`/clear`" in first.message
    assert "workspace claim" not in first.message and person.knows(there)
    assert "widget-" not in person.start(there, "s3").message


def test_a_clone_of_one_s_own_knows_without_a_question(person, widget):
    """What its own first session wrote before is there too; a clone that is ahead, or packed, is
    one as well.
    """
    person.git(widget, "gc", "-q")
    ahead = person.clone(widget, "ahead")
    person.git(ahead, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "ahead")
    assert person.knows(ahead)
    later = person.repository("unrelated", URL)
    assert not person.knows(later)
    person.git(later, "fetch", "-q", str(widget))
    assert person.knows(later)


def test_what_was_written_before_the_proof_moves_along(person, widget):
    other = person.lie("download/other")
    person.start(other)
    person.run(other, "learn", "the giraffe needs a ladder")
    own = person.place(other).private
    person.git(other, "fetch", "-q", str(widget))
    person.run(other, "status")
    assert "giraffe" in person.run(widget, "recall", "giraffe").stdout and not os.path.exists(own)


def test_a_person_says_yes_once_and_a_session_cannot(person, widget):
    lie = person.lie("download/other")
    assert not person.knows(lie)
    refused = command.process(person.world, str(lie))("workspace", "claim", CLAUDECODE="1")
    assert refused.returncode and "only a person decides on whose memory this is" in refused.stderr
    assert command.process(person.world, str(lie))("workspace", "claim").returncode
    status, shown = command.on_terminal(["workspace", "claim"], person.world, str(lie), ["no"])
    assert status == 0 and "nothing was changed" in shown and not person.knows(lie)
    status, shown = command.on_terminal(["workspace", "claim"], person.world, str(lie), ["yes"])
    assert status == 0 and person.place(widget).key in shown and person.knows(lie)
    assert "already" in person.run(lie, "workspace", "claim").stdout


@pytest.mark.parametrize("commits", [0, 1])
def test_a_workspace_from_before_paths_were_noted_asks_nothing(person, widget, commits):
    """Its checkpoints name a commit of the repository, or none at all."""
    checkpoints = Path(person.place(widget).private, "checkpoints", "2026-11-20")
    checkpoints.mkdir(parents=True, exist_ok=True)
    if commits:
        head = person.git(widget, "rev-parse", "HEAD")
        checkpoints.joinpath("100000-x-1234.md").write_text(
            "---\nid: c-1\nkind: checkpoint\ncommit: %s\n---\nx\n" % head[:10]
        )
    os.unlink(person.place(widget).home + layout.PLACES)
    if commits:
        assert not person.knows(person.lie("download/evil"))
    assert "workspace claim" not in person.start(widget).message and person.knows(widget)
    assert not person.knows(person.lie("download/late"))


def test_a_fresh_repository_without_commits_keeps_what_it_learns(person):
    root = person.repository("fresh", commits=0)
    assert not person.knows(root)
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    assert SECRET in person.start(root, "s9").context and person.knows(root)
    assert not person.knows(person.lie("download/evil"))


def test_a_directory_without_git_claims_nothing(person):
    notes = person.folder / "notes"
    notes.mkdir()
    person.run(notes, "learn", SECRET, "--title", SECRET, "--source", "human")
    assert person.knows(notes) and not os.path.exists(person.place(notes).home + layout.PLACES)


def test_a_remote_that_comes_later_takes_the_notes_along(person):
    root = person.repository("late", "")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    before = person.place(root).key
    person.git(root, "remote", "add", "origin", URL)
    assert (
        SECRET in person.start(root).context
        and person.knows(root)
        and person.place(root).key != before
    )


def test_another_repository_at_the_same_path_has_a_memory_of_its_own(person, widget):
    """The path was seen with the first one's remote, and says nothing about the second's."""
    shutil.rmtree(widget)
    person.repository("src/widget", "git@example.org:team/gadget.git", 0)
    person.git(widget, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "of another project")
    assert not person.knows(widget)


def test_a_submodule_and_a_separate_checkout_are_their_own(person, widget):
    """A submodule's git directory lies in the repository around it."""
    around = person.repository("around", "git@example.org:team/around.git")
    person.git(
        around,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(widget),
        "part",
    )
    person.git(around / "part", "remote", "set-url", "origin", URL)
    assert person.knows(around / "part") and not person.knows(around)


def test_a_backup_says_nothing_about_paths(person, widget):
    """Neither is the list of paths in one, nor does a restore take it from one."""
    person.run(widget, "backup", str(person.folder / "own.tar.gz"))
    names = subprocess.run(
        ["tar", "tzf", str(person.folder / "own.tar.gz")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "learnings" in names and "places" not in names
    found = Backup(
        "",
        "",
        [],
        [
            BackupFile("home/" + name, 1, 0o600, 0, "0" * 64)
            for name in ("places.jsonl", "spend.jsonl")
        ],
        [],
    )
    steps = restoration.plan_restore(found, restoration.Target(person.place(widget).home, ""))
    assert [step.kept.name for step in steps] == ["home/spend.jsonl"]


# ---- the past comes first


@pytest.mark.parametrize(
    "change",
    [
        ("set-url", "origin", "git@example.org:other/widget.git"),
        ("remove", "origin"),
        ("set-url", "origin", "https://example.org/Team/Widget"),
        ("set-url", "origin", "work:team/widget"),
    ],
    ids=["transferred", "removed", "spelt otherwise", "by a short name"],
)
def test_a_path_keeps_its_workspace_when_the_remote_changes(person, widget, change):
    """At the very next start, before anything is done in the background; and what is written then
    stands beside it.
    """
    key = person.place(widget).key
    person.git(widget, "remote", *change)
    assert (
        person.place(widget).key == key
        and SECRET in person.start(widget, "s9").context
        and person.knows(widget)
    )


def test_the_past_holds_through_later_commits(person, widget):
    """Also once the repository's objects are packed."""
    key = person.place(widget).key
    person.git(widget, "remote", "remove", "origin")
    for number in range(3):
        person.git(widget, *AUTHOR, "commit", "-q", "--allow-empty", "-m", str(number))
    person.git(widget, "gc", "-q")
    assert person.place(widget).key == key and person.knows(widget)


def test_the_past_holds_where_its_commit_stands_in_a_pack_alone(person, widget):
    """No loose object and no line of HEAD's log names it any more."""
    key = person.place(widget).key
    person.git(widget, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "later")
    person.git(widget, "gc", "-q")
    shutil.rmtree(widget / ".git" / "logs")
    person.git(widget, "remote", "set-url", "origin", "git@example.org:other/gadget.git")
    assert person.place(widget).key == key and person.knows(widget)


def test_a_path_that_git_left_keeps_its_workspace(person, widget):
    shutil.rmtree(widget / ".git")
    assert SECRET in person.start(widget, "s9").context and person.knows(widget)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Team/Widget",
        "ssh://git@ssh.github.com:443/team/widget.git",
        "git@GitHub.com:team/widget.git",
        "ssh://git@github.com/TEAM/widget",
    ],
)
def test_spellings_of_one_remote_share_a_memory(person, url):
    """In another clone, on a host whose paths do not tell upper from lower case."""
    root = person.repository("one", "git@github.com:team/widget.git")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    assert person.knows(person.clone(root, "two", url))


def test_a_short_name_of_a_remote_is_the_users_own(person):
    """`insteadOf` in the user's configuration says what it stands for."""
    root = person.repository("one", "git@github.com:team/widget.git")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    Path(person.world["HOME"], ".gitconfig").write_text(
        '[url "git@github.com:"]\n\tinsteadOf = gh:\n'
    )
    assert person.knows(person.clone(root, "two", "gh:team/widget"))


def test_a_repository_that_moved_is_offered_its_memory(person, project, env):
    """It has no remote: a commit tells which workspace it was, one line says so, and a person's yes
    brings it back.
    """
    root = person.repository("before", "")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    person.start(root)
    key = person.place(root).key
    moved = person.folder / "after"
    root.rename(moved)
    assert not person.knows(moved)
    assert "holds a commit of %s" % key in person.start(moved, "s3").message
    status, _ = command.on_terminal(["workspace", "claim"], person.world, str(moved), ["yes"])
    assert status == 0 and person.place(moved).key == key and person.knows(moved)
    assert "holds a commit" not in person.start(moved, "s4").message


def claimed(person: Person, where: Path, key: str) -> bool:
    """Tell whether a start offers a workspace, which a person's yes then opens."""
    assert not person.knows(where)
    assert key in person.start(where, "s3").message
    status, _ = command.on_terminal(["workspace", "claim"], person.world, str(where), ["yes"])
    assert status == 0 and key not in person.start(where, "s4").message
    return person.place(where).key == key and person.knows(where)


@pytest.mark.parametrize("remote", [True, False])
def test_a_folder_that_moved_and_got_another_remote_is_offered_its_memory(person, remote):
    """Whether it had one before or not."""
    root = person.repository("before", URL if remote else "")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    assert person.knows(root)
    key, moved = person.place(root).key, person.folder / "after"
    root.rename(moved)
    name = "git@example.org:new/after.git"
    person.git(moved, "remote", "set-url" if remote else "add", "origin", name)
    assert claimed(person, moved, key)


def test_a_history_begun_anew_at_a_path_is_offered_its_memory(person, widget):
    key = person.place(widget).key
    shutil.rmtree(widget / ".git")
    person.git(widget, "init", "-q")
    person.git(widget, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "anew")
    assert claimed(person, widget, key)


def test_a_fork_beside_its_origin_is_offered_nothing(person, widget):
    """Both stand: the fork's remote says that it is a project of its own."""
    gone = person.clone(widget, "gone")
    person.start(gone)
    shutil.rmtree(gone)
    fork = person.clone(widget, "fork", "git@example.org:me/widget.git")
    assert person.place(widget).key not in person.start(fork).message
    assert not person.knows(fork)
    assert person.place(widget).key not in person.start(fork, "s3").message


def test_a_command_says_so_too_and_a_no_ends_it(person):
    """Once: the next command is silent."""
    root = person.repository("before", "")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    person.start(root)
    moved = person.folder / "after"
    root.rename(moved)
    assert "dayleaf store workspace claim" in person.run(moved, "recall", "zebra").stderr
    assert person.run(moved, "recall", "zebra").stderr == ""
    command.on_terminal(["workspace", "claim"], person.world, str(moved), ["no"])
    assert person.start(moved, "s3").message.count("holds a commit") == 0 and not person.knows(
        moved
    )


def test_a_repository_of_other_commits_is_offered_nothing(person):
    """Nor is one whose commits stand in a repository that it only links to."""
    root = person.repository("before", "")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    person.start(root)
    other = person.repository("other", "")
    assert (
        person.run(other, "recall", "zebra").stderr == ""
        and "holds a commit" not in person.start(other).message
    )


# ---- a way back


def answered(person: Person, where: Path, reply: str, *words: str) -> str:
    """Return what `store workspace claim` says to a reply."""
    argv = ["workspace", "claim", *words]
    status, shown = command.on_terminal(argv, person.world, str(where), [reply])
    assert status == 0, shown
    return shown


@pytest.fixture
def moved(person) -> Path:
    """A folder without a remote, moved away from its memory, where a note was kept since."""
    root = person.repository("before", "")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    person.start(root)
    there = person.folder / "after"
    root.rename(there)
    person.run(there, "learn", "the giraffe needs a ladder")
    return there


def test_another_answer_than_no_is_asked_again(person, moved):
    key = person.workspace(moved)["claimed"]
    answered(person, moved, "later")
    assert person.workspace(moved)["claimed"] == key
    assert key in answered(person, moved, "y") and person.knows(moved)
    assert "giraffe" in person.run(moved, "recall", "giraffe").stdout


def test_a_no_is_taken_back_by_name(person, moved):
    """Where it holds for bare `claim`, whatever becomes of the cache."""
    key = person.workspace(moved)["claimed"]
    answered(person, moved, "no")
    shutil.rmtree(person.place(moved).home + "/cache")
    assert "claimed" not in person.workspace(moved)
    assert key not in person.start(moved, "s5").message + person.start(moved, "s6").message
    assert "already" in person.run(moved, "workspace", "claim").stdout
    assert key in answered(person, moved, "yes", "before") and person.knows(moved)
    process = command.process(person.world, str(moved))
    assert "no workspace 'ghost'" in process("workspace", "claim", "ghost").stderr
    refused = process("workspace", "claim", "ghost", CLAUDECODE="1")
    assert refused.returncode and "only a person decides" in refused.stderr


def test_a_no_to_one_memory_is_none_to_another(person, moved):
    """A backup of the right one may come later."""
    answered(person, moved, "no")
    other = Path(person.place(moved).home, "workspaces", "older-12345678", "checkpoints/2026-01-01")
    other.mkdir(parents=True)
    (other / "100000-x-1234.md").write_text(
        "---\nid: c-1\nkind: checkpoint\ncommit: %s\n---\nx\n"
        % person.git(moved, "rev-parse", "HEAD")[:10]
    )
    assert person.workspace(moved)["claimed"] == "older-12345678"


def test_an_emptied_cache_takes_no_offer_away(person, moved):
    key = person.workspace(moved)["claimed"]
    shutil.rmtree(person.place(moved).home + "/cache")
    person.start(moved, "s5")
    assert key in person.start(moved, "s6").message
    assert "already" not in answered(person, moved, "yes") and person.knows(moved)


def test_an_empty_answer_names_the_memory_that_may_be_meant(person, moved):
    """So do the overview and doctor."""
    key = person.workspace(moved)["claimed"]
    for words in (["recall", "partition"], ["today"], ["doctor"]):
        shown = person.run(moved, *words).stdout
        assert key in shown and "store workspace claim" in shown, words


def restored(person: Person, tmp_path: Path, backup: Path) -> Person:
    """Another machine of that person, with a home of its own."""
    other = Person({**person.world, "HOME": str(tmp_path / "other")}, tmp_path / "two")
    other.world.pop("DAYLEAF_HOME", None)
    other.folder.mkdir()
    Path(other.world["HOME"]).mkdir()
    return other


@pytest.mark.parametrize("first", [True, False])
def test_a_restored_memory_is_offered_whatever_was_there_before(person, tmp_path, first):
    """The remote was renamed since its first note, and no checkpoint names a commit."""
    root = person.repository("widget")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    key = person.place(root).key
    person.start(root)
    person.git(root, "remote", "set-url", "origin", "git@example.org:new/widget.git")
    backup = tmp_path / "own.tgz"
    person.run(root, "backup", str(backup))
    other = restored(person, tmp_path, backup)
    there = other.clone(root, "work", "git@example.org:new/widget.git")
    if first:
        other.run(there, "learn", "the giraffe needs a ladder")
    done = other.run(there, "restore", str(backup), "--merge")
    assert key in done.stderr and "store workspace claim" in done.stderr
    assert key in answered(other, there, "yes") and other.knows(there)
    assert not first or "giraffe" in other.run(there, "recall", "giraffe").stdout


def test_a_restore_reaches_the_directories_that_were_there_before(person, tmp_path):
    """Its start offers what came, where nothing was to be found before."""
    root = person.repository("work", "")
    person.run(root, "learn", SECRET, "--title", SECRET, "--source", "human")
    person.start(root)
    key, backup = person.place(root).key, tmp_path / "own.tgz"
    person.run(root, "backup", str(backup))
    other = restored(person, tmp_path, backup)
    there = other.clone(root, "work", "")
    other.git(there, "remote", "remove", "origin")
    other.run(there, "learn", "the giraffe needs a ladder")
    other.start(there)
    other.run(other.folder, "restore", str(backup), "--merge")
    other.start(there, "s5")
    assert key in other.start(there, "s6").message
    assert key in answered(other, there, "yes") and other.knows(there)


def test_a_second_clone_of_a_renamed_remote_is_offered_the_memory(person, widget):
    """The first one stands, with the same new remote: that is no fork."""
    new = "git@example.org:other/widget.git"
    person.start(widget)
    person.git(widget, "remote", "set-url", "origin", new)
    assert claimed(person, person.clone(widget, "second", new), person.place(widget).key)


def test_a_worktree_keeps_its_memory_while_its_checkout_is_gone(person, widget):
    tree = person.folder / "tree"
    person.git(widget, "worktree", "add", "-q", str(tree))
    assert person.knows(tree)
    key = person.place(tree).key
    widget.rename(person.folder / "moved")
    assert person.place(tree).key == key and person.knows(tree)
    assert "git worktree repair" in person.start(tree, "s5").message
    assert "git worktree repair" in person.run(tree, "doctor").stdout


def test_a_worktree_never_seen_claims_the_memory_of_its_lost_checkout(person, widget):
    """Its `.git` is a claim, which anybody can write, so a person decides."""
    tree, key = person.folder / "tree", person.place(widget).key
    person.git(widget, "worktree", "add", "-q", str(tree))
    widget.rename(person.folder / "moved")
    assert not person.knows(tree) and person.workspace(tree)["claimed"] == key
    assert key in answered(person, tree, "yes") and person.knows(tree)


def test_two_projects_in_one_memory_are_told_and_taken_apart(person, widget):
    """A clone that became another project: the start says so once."""
    person.start(widget)
    key = person.place(widget).key
    person.git(widget, "remote", "set-url", "origin", "git@example.org:client/gadget.git")
    said = person.start(widget, "s5").message
    name = said.partition("store workspace claim ")[2].split("`")[0]
    assert "remote" in said and name.startswith("gadget-") and key in said
    assert name not in person.start(widget, "s6").message
    assert name in answered(person, widget, "yes", name)
    assert person.place(widget).key == name and not person.knows(widget)
    assert not person.start(widget, "s8").message.count(key)
    assert key in answered(person, widget, "yes", key) and person.knows(widget)


def test_a_claim_is_taken_back_by_the_directory_s_own_name(person, widget):
    """Which `store workspace` gives; and what was there before the claim stays readable."""
    copy = person.clone(widget, "template")
    person.git(copy, "remote", "remove", "origin")
    own, key = person.place(copy).key, person.place(widget).key
    assert key in answered(person, copy, "yes") and person.knows(copy)
    assert "store workspace claim %s" % own in person.run(copy, "workspace").stdout
    assert own in answered(person, copy, "yes", own) and not person.knows(copy)
    assert person.place(copy).key == own and person.knows(widget)


def test_a_claim_takes_no_memory_from_another_clone(person, widget):
    """Records go along only from a workspace that no other directory has."""
    person.start(widget)
    second = person.clone(widget, "second")
    other = person.repository("other", "")
    person.run(other, "learn", "the giraffe needs a ladder")
    assert person.knows(second)
    shown = answered(person, second, "yes", person.place(other).key)
    assert "stay there" in shown and person.knows(widget) and not person.knows(second)
    assert "giraffe" in person.run(second, "recall", "giraffe").stdout
