"""A person's machines that sync: through a folder and through git, and what goes wrong on the
way.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness.machines import Machine, Work, agree, quiet

from memory.core import StoreError, UsageError, files
from memory.doors.sync import machines, packs, syncing
from memory.health import agefile, erasure
from memory.store import ledger

pytest.importorskip("pyrage")
BOX = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


@pytest.fixture
def two(tmp_path, box, now):
    """Two machines that meet in a folder."""
    desk = Machine(tmp_path, "desk", BOX, now).set_up(str(box))
    return desk, Machine(tmp_path, "lap", BOX, now).set_up(str(box), desk.key)


def test_random_work_loses_and_doubles_nothing(two):
    """Edits, renames, what is forgotten, restored and removed, clocks that jump by a year; and at
    rest nothing changes.
    """
    work = Work([*two], 4)
    for _ in range(60):
        work.step()
    quiet([*two])
    assert (work.lost(), work.doubled(), agree([*two])) == ([], [], [])
    before = [one.files() for one in two]
    assert [(report.sent, report.taken) for report in (one.sync() for one in two)] == [
        (0, 0),
        (0, 0),
    ]
    assert before == [one.files() for one in two]


def test_a_git_repository_carries_it_too(tmp_path, now, monkeypatch):
    """Encrypted: neither a title nor a text stands there; two that push at once both arrive."""
    url = str(tmp_path / "notes.git")
    subprocess.run(["git", "init", "-q", "--bare", url], env=BOX, check=True)
    desk = Machine(tmp_path, "desk", BOX, now).set_up(url)
    lap = Machine(tmp_path, "lap", BOX, now).set_up(url, desk.key)
    desk.learn("Retries need a jitter")
    lap.learn("Quote every path")
    quiet([desk, lap])
    sent, first = machines.GitCarrier.send, list[str]()

    def late(self, *words):  # the other one pushes between this one's fetch and its push
        if not first:
            first.append("desk")
            desk.sync()
        sent(self, *words)

    desk.edit(desk.names()[0], "again")
    lap.edit(lap.names()[1], "again")
    monkeypatch.setattr(machines.GitCarrier, "send", late)
    lap.sync()
    quiet([desk, lap])
    assert len(desk.names()) == len(lap.names()) == 2 and not agree([desk, lap])
    said = subprocess.run(
        ["git", "-C", url, "log", "-p", "--text", "--all"], env=BOX, check=True, capture_output=True
    ).stdout
    assert b".age" in said and b"etries" not in said and b"jitter" not in said


def test_two_texts_of_one_record_both_stay(two, now):
    """On both machines the same one has the name; the copy is shown to nobody, and a person
    decides.
    """
    desk, lap = two
    desk.learn("Alpha")
    quiet([*two])
    [name] = desk.names()
    desk.edit(name, "of the desk")
    lap.edit(name, "of the lap")
    quiet([*two])
    [copy] = desk.sync().conflicts
    assert desk.names() == lap.names() == [name] and not agree([*two])
    both = desk.text(name) + Path(desk.place.home, copy).read_text()
    assert "of the desk" in both and "of the lap" in both
    kept = Path(desk.place.home, copy).read_text()
    machines.settle_conflict(
        syncing.load_state(desk.place.home),
        machines.TierWriter(desk.place),
        copy[-11:-3],
        True,
        now,
    )
    quiet([*two])
    assert (
        lap.text(name) == desk.text(name) == kept
        and lap.sync().conflicts == []
        and not agree([*two])
    )
    with pytest.raises(UsageError, match="no copies match"):
        machines.settle_conflict(
            syncing.load_state(desk.place.home),
            machines.TierWriter(desk.place),
            "00000000",
            False,
            now,
        )


def redact(one: Machine, name: str, text: str, now: float) -> None:
    """As `dayleaf store redact ID --text TEXT --everywhere --apply`."""
    finder = erasure.make_finder({text: "[redacted:text#a1b2]"})
    own = frozenset({one.place.path(name)})
    held = erasure.search(one.place, finder, own)[1]
    erasure.erase(one.place, finder, held, own, True, now)


NOTE = "The importer runs on kestrel-17 at night.\n\nNobody else does."


@pytest.mark.parametrize("title", ["Importer", "Importer on kestrel-17"])
@pytest.mark.parametrize(
    ("old", "new", "stays"),
    [
        ("Nobody", "Everybody", "Everybody else"),
        ("\n\n", "\n\nAsk kestrel-17 for a log.  Kestrel-17's is new.\n\n", "for a log.  "),
        ("kestrel-17 at", "kestrel-17, mostly at", " at night"),
        ("The importer runs on kestrel-17", "By now kestrel-17 imports", "By now "),
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_what_was_redacted_does_not_come_back_by_an_edit(two, now, title, old, new, stays, first):
    """In the record, in the copy of a conflict, on both machines; other edits stay."""
    desk, lap = two
    desk.learn(title, NOTE)
    quiet([*two])
    [name] = desk.names()
    redact(desk, name, "kestrel-17", now)
    path = Path(lap.place.path(name))
    changed = path.read_text().replace(old, new)
    path.write_text(changed)
    two[first].sync()
    quiet([*two])
    for one in two:
        texts = b"\n".join(
            key.encode() + data for key, data in one.files().items() if key.endswith(".md")
        )
        assert b"kestrel-17" not in texts.lower() and b"[redacted:text#a1b2]" in texts
        assert stays.encode() in texts
    assert not agree([*two])


def test_what_was_forgotten_does_not_come_back(two):
    """Neither from a machine that changed it meanwhile, whose change stands in the archive; it can
    be restored there too.
    """
    desk, lap = two
    desk.learn("Alpha")
    quiet([*two])
    [name] = desk.names()
    id = desk.store.read(name).id
    desk.forget(name)
    lap.edit(name, "later")
    quiet([*two])
    assert desk.names() == lap.names() == [] and not agree([*two])
    assert "later" in lap.store.find_archived(id).body
    assert lap.store.restore(id).name == name
    quiet([*two])
    assert desk.names() == [name] and "later" in desk.text(name)


def test_what_was_removed_for_good_does_not_come_back(two, box):
    """Not even where another machine had it in its archive; a change that was made meanwhile stays
    there alone, and is told.
    """
    desk, lap = two
    for title in ("Alpha", "Beta"):
        desk.learn(title, "falkenstein")
    quiet([*two])
    alpha, beta = desk.names()
    desk.store.remove(alpha)
    desk.store.remove(beta)
    lap.forget(alpha)
    lap.edit(beta, "later")
    desk.sync()
    report = lap.sync()
    assert report.removed and any("stays on this machine only" in note for note in report.notes)
    quiet([*two])
    assert desk.names() == [] and lap.names() == [beta] and not agree([*two])
    assert not [
        name
        for one in two
        for name in one.files()
        if "alpha" in name or name.endswith(beta[2:]) and one is desk
    ]
    key = agefile.read_identities(desk.key)[0]
    for machine, every in packs.list_packs(str(box)).items():  # nor does it stand where they meet
        for number, file in every.items():
            lines = packs.decrypt_pack((box / machine / file).read_bytes(), machine, number, key)
            assert not [
                line for line in lines if "alpha" in line.get("name", "") and line["sha256"]
            ]
    lap.edit(beta, "and again")
    quiet([*two])
    assert desk.names() == [beta]


def test_a_renamed_record_takes_the_change_along(two):
    desk, lap = two
    desk.learn("Alpha")
    quiet([*two])
    [name] = desk.names()
    path = Path(desk.place.path(name))
    path.rename(path.with_name("better-name.md"))
    lap.edit(name, "later")
    quiet([*two])
    assert desk.names() == lap.names() == ["p/learnings/better-name.md"] and "later" in desk.text(
        "p/learnings/better-name.md"
    )


def test_ledgers_are_joined_and_nothing_else_travels(two, now):
    """Lines count once, however often it syncs; approvals, settings and what is derived stay where
    they are.
    """
    desk, lap = two
    found = desk.learn("Alpha")
    for name in ("trust.jsonl", "config.json", "cache/x.md", "log/errors.jsonl"):
        files.replace(desk.place.home + "/" + name, b"{}\n")
    for one in (desk, lap):
        ledger.append_event(ledger.ledgers(one.place)[0], found.id, "up", now, one.name)
    quiet([*two])
    quiet([*two])
    assert [ledger.count_all(ledger.ledgers(one.place)[0]).counts(found.id).up for one in two] == [
        2,
        2,
    ]
    assert not [
        name
        for name in ("trust.jsonl", "config.json", "cache/x.md", "log")
        if Path(lap.place.home, name).exists()
    ]


def test_a_folder_that_is_half_copied_waits(two, box):
    """A file cut short, or one that is not there yet while a later one is: nothing is taken of it,
    and later all of it.
    """
    desk, lap = two
    for title in ("Alpha", "Beta", "Gamma"):
        desk.learn(title)
        desk.sync()
    state = syncing.load_state(desk.place.home)
    first, second = (box / state.machine / name for name in ("000001.age", "000002.age"))
    whole, later = first.read_bytes(), second.read_bytes()
    first.write_bytes(whole[:-20])
    report = lap.sync()
    assert (
        report.taken == 0
        and "not all its files have arrived" in report.notes[0]
        and not report.problems
    )
    first.write_bytes(whole)
    second.unlink()
    assert lap.sync().taken == 1 and len(lap.names()) == 1
    second.write_bytes(later)
    assert lap.sync().taken == 2 and not agree([*two])


def test_a_wrong_key_and_a_newer_dayleaf_take_nothing(two, box, tmp_path, monkeypatch):
    """Each in one line that names the remedy."""
    desk, lap = two
    desk.learn("Alpha")
    monkeypatch.setattr(packs, "VERSION", 2)
    desk.sync()
    monkeypatch.undo()
    assert "it was written by a newer dayleaf" in lap.sync().notes[0] and lap.names() == []
    packs.write_new_key(str(tmp_path / "other.txt"))
    with pytest.raises(StoreError, match="does not open"):
        Machine(tmp_path, "third", BOX, 0.0).set_up(str(box), str(tmp_path / "other.txt"))
    files.replace(lap.key, (tmp_path / "other.txt").read_bytes())
    lap.learn("Beta")
    before = sorted(box.rglob("*"))
    with pytest.raises(StoreError, match="does not open"):
        lap.sync()
    assert sorted(box.rglob("*")) == before and len(lap.names()) == 1


def test_a_forged_file_and_one_that_leads_elsewhere_are_refused(two, box, tmp_path):
    """Whoever can write to the folder has no key; even with it no name leaves the tiers."""
    desk, lap = two
    desk.sync()
    pyrage = pytest.importorskip("pyrage")
    key = agefile.read_identities(desk.key)[0]
    (box / "evil").mkdir()
    (box / "evil" / "000001.age").write_bytes(
        pyrage.encrypt(b"\x78\x9c\x03\x00\x00\x00\x00\x01", [key.to_public()])
    )
    assert any("evil" in note for note in lap.sync().notes)
    rows = [
        {
            "name": name,
            "version": {"m": 1},
            "sha256": files.sha256(b"x"),
            "id": "x",
            "mtime": 0,
            "text": "x",
        }
        for name in (
            "../x.md",
            "global/../../x.md",
            "/etc/x.md",
            "trust.jsonl",
            "config.json",
            "global/rules/../../trust.jsonl",
            "cache/a.md",
            "workspaces/x/learnings/a.md",
            "global/conversations/a.md",
            "global/rules/.a.md",
            "global/rules/a\nb.md",
        )
    ]
    (box / "evil" / "000001.age").write_bytes(packs.encrypt_pack(rows, "evil", 1, key))
    report = lap.sync()
    assert len(report.problems) == len(rows) and report.taken == 0 and lap.names() == []


def test_a_home_that_was_copied_or_set_back_goes_on_under_another_name(two, box):
    """Else its new files would take the place of others' under the same number."""
    desk, lap = two
    desk.learn("Alpha")
    desk.sync()
    path = Path(desk.place.home, "sync/state.json")
    before = path.read_bytes()
    desk.learn("Beta")
    desk.sync()
    path.write_bytes(before)
    desk.learn("Gamma")
    assert any("is now" in note for note in desk.sync().notes)
    quiet([*two])
    assert len(lap.names()) == len(desk.names()) == 3 and not agree([*two])


def test_many_records_that_are_gone_at_once_are_asked_about(two):
    """A disk that is not there is no wish to forget everything."""
    desk, lap = two
    for number in range(25):
        desk.learn("Note %d" % number)
    quiet([*two])
    folder = Path(desk.place.private, "learnings")
    folder.rename(folder.with_name("away"))
    with pytest.raises(StoreError, match="25 files that were synced before are gone here"):
        desk.sync()
    lap.sync()
    assert len(lap.names()) == 25
    desk.sync(gone=True)
    lap.sync()
    assert lap.names() == []


def test_a_sync_that_was_cut_short_goes_on(two, monkeypatch):
    """After its file arrived, and before: nothing is sent twice under another number, nothing is
    forgotten.
    """
    desk, lap = two
    send = machines.FolderCarrier.send
    for landed in (True, False):
        desk.learn("Note %s" % landed)

        def cut(self, *words, landed=landed):
            if landed:
                send(self, *words)
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(machines.FolderCarrier, "send", cut)
        with pytest.raises(OSError):
            desk.sync()
        monkeypatch.setattr(machines.FolderCarrier, "send", send)
        quiet([*two])
    assert (
        len(lap.names()) == 2
        and not agree([*two])
        and len(packs.list_packs(syncing.load_state(desk.place.home).value["where"])) == 1
    )


def test_the_files_of_a_machine_are_told_anew_now_and_then(two, box, monkeypatch):
    """One file for all of them; a machine that comes later reads that alone."""
    desk, lap = two
    monkeypatch.setattr(machines, "MOST_PACKS", 3)
    for number in range(5):
        desk.learn("Note %d" % number)
        desk.sync()
    names = sorted(
        path.name for path in (box / syncing.load_state(desk.place.home).machine).iterdir()
    )
    assert names == ["000004.base.age", "000005.age"]
    assert lap.sync().taken == 5 and not agree([*two])
