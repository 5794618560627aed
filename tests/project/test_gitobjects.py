"""Git's objects and index read from files: what real git wrote is what is read, and what cannot be
read is never guessed.
"""

from __future__ import annotations

import random
import subprocess
import zlib
from pathlib import Path

import pytest

from memory.project import gitindex, gitobjects
from memory.project.gitobjects import Missing, Objects


def listed(git) -> dict[str, str]:
    """Every object of the repository by what git itself says."""
    rows = git(
        "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"
    ).splitlines()
    return dict(row.split() for row in rows)


@pytest.mark.parametrize(
    "packing",
    [
        [],
        ["gc", "-q"],
        ["repack", "-adfq", "--depth=250", "--window=50"],
        ["-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"],
        ["-c", "pack.indexVersion=2", "repack", "-q", "-d"],
    ],
    ids=["loose", "gc", "long chains", "reference deltas", "mixed"],
)
def test_every_object_is_read_as_git_reads_it(packing, history, git):
    """Type and content of all objects agree with cat-file, however they are stored."""
    if packing:
        git(*packing)
    every = listed(git)
    said = subprocess.run(
        ["git", "cat-file", "--batch"],
        input="\n".join(every).encode(),
        cwd=history,
        check=True,
        capture_output=True,
    ).stdout
    with Objects(history + "/.git") as objects:
        assert objects.complete
        for hash, kind in every.items():
            found, data = objects.read(hash)
            whole = b"%s %s %d\n%s\n" % (hash.encode(), found.encode(), len(data), data)
            assert found == kind and said.startswith(whole)
            said = said[len(whole) :]
            assert objects.find(hash) == objects.find(hash[:12]) == [hash]
        assert objects.find("0" * 40) == objects.find("f" * 12) == []


def test_the_deltas_of_one_object_are_bounded_together(history, git, monkeypatch):
    """A pack made to fill the memory is missing objects, and never more than the bound."""
    git("repack", "-adfq", "--depth=250", "--window=50")
    monkeypatch.setattr(gitobjects, "DELTA_BYTES", 100)
    missing = 0
    with Objects(history + "/.git") as objects:
        for hash in listed(git):
            try:
                objects.read(hash)
            except Missing:
                missing += 1
    assert 0 < missing < len(listed(git))


def test_a_short_hash_that_two_objects_share_gives_both(history, git):
    """An abbreviation stands for nothing where it is not one object's."""
    git("gc", "-q")
    every = sorted(listed(git))
    short = next(a[:2] for a, b in zip(every, every[1:]) if a[:2] == b[:2])
    with Objects(history + "/.git") as objects:
        assert len(objects.find(short)) == 2


def test_a_path_is_found_in_a_commit_and_the_walk_is_the_whole_tree(history, git):
    """What ls-tree lists is what is walked, names of any script included."""
    git("gc", "-q")
    head, old = git("rev-parse", "HEAD"), git("rev-parse", "HEAD~37")
    rows = [line.split("\t") for line in git("ls-tree", "-r", "-z", head).strip("\0").split("\0")]
    with Objects(history + "/.git") as objects:
        assert dict(objects.walk_files(head)) == {path: meta.split()[2] for meta, path in rows}
        for meta, path in rows:
            assert objects.find_entry(head, path).hash == meta.split()[2]
        assert objects.find_entry(old, "src/m6.py") is None
        assert objects.find_entry(head, "src/a b") is not None
        assert objects.find_entry(head, "src/m0.py/x") is None
        with pytest.raises(Missing):
            objects.find_entry("1" * 40, "src/m0.py")


def test_shallow_partial_borrowed_and_sha256_repositories_are_not_complete(history, git, tmp_path):
    """Where objects may live elsewhere, one that is not found says nothing."""
    git("config", "uploadpack.allowFilter", "true")
    url = "file://" + history
    for name, words in {
        "shallow": ["--depth=2"],
        "partial": ["--filter=blob:none", "--no-checkout"],
        "borrowed": ["--shared"],
    }.items():
        git("clone", "-q", *words, history if name == "borrowed" else url, str(tmp_path / name))
        with Objects(str(tmp_path / name / ".git")) as objects:
            assert not objects.complete, name
    git("init", "-q", "--object-format=sha256", str(tmp_path / "long"))
    with Objects(str(tmp_path / "long/.git")) as objects:
        assert not objects.complete
    with Objects("") as objects:
        assert not objects.complete and objects.find("1" * 10) == []


def test_a_worktree_and_a_submodule_read_their_own_objects(history, git, tmp_path):
    """A `.git` file leads to the git directory, and from there to the one that worktrees share."""
    from memory.core import layout

    git("worktree", "add", "-q", str(tmp_path / "other tree"), "HEAD~3")
    root, folder = layout.find_git(str(tmp_path / "other tree"))
    head = git("rev-parse", "HEAD~3")
    with Objects(folder) as objects:
        assert objects.complete and objects.find_entry(head, "src/m0.py") is not None
    assert root == str(tmp_path / "other tree")
    assert "src/m0.py" in gitindex.read(folder).hashes


def test_damage_is_missing_and_never_a_wrong_answer(history, git):
    """A flipped byte, a cut file or a link in place of a pack gives no object, or the right one."""
    git("gc", "-q")
    pack = next(Path(history, ".git/objects/pack").glob("*.pack"))
    every, whole, rng = listed(git), pack.read_bytes(), random.Random(3)
    with Objects(history + "/.git") as objects:
        right = {hash: objects.read(hash) for hash in every}
    pack.chmod(0o600)
    for turn in range(60):
        broken = bytearray(whole)
        broken[rng.randrange(12, len(whole))] ^= 1 << rng.randrange(8)
        pack.write_bytes(bytes(broken) if turn % 4 else whole[: rng.randrange(len(whole))])
        with Objects(history + "/.git") as objects:
            wrong = 0
            for hash in list(every)[:40]:
                try:
                    wrong += objects.read(hash) != right[hash]
                except Missing:
                    continue
            assert wrong == 0
    pack.unlink()
    pack.symlink_to("/etc/passwd")
    with Objects(history + "/.git") as objects, pytest.raises(Missing):
        objects.read(next(iter(every)))


def test_objects_behind_a_link_out_of_the_git_directory_are_not_read(history, git, tmp_path):
    """A folder of objects elsewhere counts as none, and the repository as not complete."""
    head = git("rev-parse", "HEAD")
    Path(history, ".git/objects").rename(tmp_path / "elsewhere")
    Path(history, ".git/objects").symlink_to(tmp_path / "elsewhere")
    with Objects(history + "/.git") as objects:
        assert objects.find(head[:10]) == [] and not objects.complete


def test_an_object_under_another_ones_hash_is_missing(history, git):
    """Content is held against its hash: zlib's own checksum does not say whose it is."""
    name = git("rev-parse", "HEAD")
    loose = Path(history, ".git/objects", name[:2], name[2:])
    loose.parent.mkdir(exist_ok=True)
    other = zlib.compress(b"commit 5\0tree ")
    for pack in Path(history, ".git/objects/pack").glob("*"):
        pack.unlink()
    loose.unlink(missing_ok=True)
    loose.write_bytes(other)
    with Objects(history + "/.git") as objects, pytest.raises(Missing):
        objects.read(name)
