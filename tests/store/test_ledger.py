"""The ledger of uses and outcomes: what is appended stays, what is folded is right, and nothing
derived is needed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import vault

from memory.core import StoreError, approvals, clock, files, layout
from memory.store import ledger

ROOT = str(Path(__file__).resolve().parents[2])
WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from memory.store import ledger
book = ledger.Ledger(sys.argv[2], sys.argv[3])
for i in range(500):
    ledger.append_event(book, "l-%08x" % i, "use", 1795271452.0, "s" + sys.argv[4], "p%d" % i)
"""


@pytest.fixture
def book(place) -> ledger.Ledger:
    """The ledger of a workspace."""
    return ledger.ledgers(place)[0]


def lines(book: ledger.Ledger) -> list[dict]:
    """Return the rows of a ledger; a blank line stands where one writer met another in the middle
    of its line.
    """
    return [json.loads(line) for line in Path(book.path).read_text().splitlines() if line]


def put(book: ledger.Ledger, count: int, now: float, start: int = 0) -> None:
    """Write many uses of a hundred records at once."""
    with Path(book.path).open("ab") as file:
        for i in range(start, start + count):
            file.write(
                b'{"v":1,"t":"2026-11-21T14:30:52Z","id":"l-%08x","event":"use",'
                b'"session":"%08x","prompt":"%08x"}\n' % (i % 100, i, i)
            )


def uses(book: ledger.Ledger) -> int:
    return sum(row[0] for row in ledger.read(book).rows.values())


def test_a_line_holds_ids_and_short_hashes_and_no_text(book, now):
    """One JSON line, the user's alone."""
    ledger.append_event(book, "l-1", "use", now, "session of mine", "prompt of mine")
    ledger.append_event(book, "l-1", "down", now)
    first, second = lines(book)
    assert first == {
        "v": 1,
        "t": "2026-11-21T14:30:52Z",
        "id": "l-1",
        "event": "use",
        "session": files.sha256(b"session of mine")[:8],
        "prompt": files.sha256(b"prompt of mine")[:8],
    }
    assert second == {
        "v": 1,
        "t": "2026-11-21T14:30:52Z",
        "id": "l-1",
        "event": "down",
        "session": "",
    }
    assert os.stat(book.path).st_mode & 0o777 == 0o600


def test_eight_processes_lose_and_tear_nothing(book):
    """Each line is one write at the file's end."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, ROOT, book.path, book.cache, str(n)])
        for n in range(8)
    ]
    assert [writer.wait(60) for writer in writers] == [0] * 8
    found = ledger.count_all(book)
    assert (len(lines(book)), uses(book), found.torn, found.passed) == (4000, 4000, 0, 0)
    assert all(ledger.read(book).counts("l-%08x" % i).uses == 8 for i in range(500))


def test_a_writer_that_is_killed_takes_no_other_line_along(book):
    """Killed at any moment, and the next ones go on below."""
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, ROOT, book.path, book.cache, "1"])
        time.sleep(0.12)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    ledger.append_event(book, "l-after", "use", 0.0)
    assert ledger.read(book).counts("l-after").uses == 1 and ledger.count_all(book).torn == 0


def test_a_truncated_last_line_costs_that_line_alone(book, now):
    """What comes next stands on a line of its own."""
    for _ in range(3):
        ledger.append_event(book, "l-1", "use", now)
    with Path(book.path).open("r+b") as file:
        file.truncate(os.path.getsize(book.path) - 20)
    assert ledger.read(book).counts("l-1").uses == 2
    ledger.append_event(book, "l-1", "up", now)
    found = ledger.read(book)
    assert found.counts("l-1")[:3] == (2, 1, 0) and found.torn == 1


def test_lines_of_a_newer_version_are_kept_and_passed_over(book, now, run, env):
    """Doctor says so; what this version knows counts."""
    ledger.append_event(book, "l-1", "up", now)
    newer = (
        '{"v":2,"id":"l-1","event":"up"}\n{"v":1,"t":"x","id":"l-1","event":"praised",'
        '"session":""}\nnot a line\n'
    )
    with Path(book.path).open("a") as file:
        file.write(newer)
    found = ledger.read(book)
    assert (found.counts("l-1").up, found.passed, found.torn) == (1, 2, 1)
    said = run("doctor").stdout
    assert (
        "2 lines of a newer version, which are skipped" in said
        and "1 line that cannot be read" in said
    )
    assert newer in Path(book.path).read_text()


def test_a_session_has_one_say_on_a_record(book, now):
    """The same word again counts once; another word, another session and a terminal of one's own
    count.
    """
    for session in ("a", "a", "b", "", ""):
        ledger.append_event(book, "l-1", "up", now, session)
        ledger.append_event(book, "l-1", "again", now, session)
    ledger.append_event(book, "l-1", "down", now, "a")
    assert ledger.read(book).counts("l-1")[1:4] == (4, 1, 4)


@pytest.mark.parametrize("days", [-30, 3650])
def test_a_clock_that_jumps_harms_nothing(book, now, days):
    """Lines count in the order of the file: a use after the jump says when the last one was."""
    ledger.append_event(book, "l-1", "use", now)
    ledger.append_event(book, "l-1", "use", now + days * clock.DAY)
    assert ledger.read(book).counts("l-1").uses == 2
    ledger.append_event(book, "l-1", "use", now + 60)
    assert ledger.read(book).counts("l-1")[0::4] == (3, now + 60)


def test_a_snapshot_is_what_its_lines_are(book, now):
    """Folding on from a snapshot, and folding anew, give the same; without the snapshot nothing is
    lost.
    """
    Path(book.path).parent.mkdir(parents=True)
    put(book, 2000, now)
    ledger.append_event(book, "l-1", "up", now, "a")
    first = ledger.read(book)
    snapshot = Path(book.cache, "ledger.json")
    assert snapshot.exists()
    ledger.append_event(book, "l-1", "up", now, "a")
    ledger.append_event(book, "l-2", "use", now)
    after = ledger.read(book)
    assert after.offset > first.offset and after == ledger.count_all(book)
    assert after.counts("l-1").up == 1 and uses(book) == 2001
    snapshot.unlink()
    assert ledger.read(book) == after


@pytest.mark.parametrize("change", ["head", "tail", "cut", "replaced", "gone"])
def test_a_ledger_that_is_another_is_folded_anew(book, now, change):
    """The seal over both ends, and the file's number, tell."""
    Path(book.path).parent.mkdir(parents=True)
    put(book, 2000, now)
    assert uses(book) == 2000
    data = Path(book.path).read_bytes()
    kept = data.split(b"\n")
    if change == "replaced":
        Path(book.path + "2").write_bytes(data.replace(b"l-00000005", b"l-000000aa"))
        os.replace(book.path + "2", book.path)
    elif change == "gone":
        os.unlink(book.path)
    else:
        rows = {"head": kept[1:], "tail": [*kept[:-2], b""], "cut": [*kept[:100], b""]}[change]
        Path(book.path).write_bytes(b"\n".join(rows))
    expected = {"head": 1999, "tail": 1999, "cut": 100, "replaced": 2000, "gone": 0}[change]
    assert uses(book) == expected
    assert ledger.read(book).counts("l-000000aa").uses == (20 if change == "replaced" else 0)


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff" * 99, b"0\n{}", b"[]\n[]"])
def test_a_damaged_snapshot_is_as_none(book, now, damage):
    """Reading never raises."""
    Path(book.path).parent.mkdir(parents=True)
    put(book, 2000, now)
    ledger.read(book)
    Path(book.cache, "ledger.json").write_bytes(damage)
    assert uses(book) == 2000


@pytest.mark.parametrize(
    "content",
    [
        b"\n\n\n",
        b"\0" * 5000,
        b"{" * 9000 + b"\n",
        b'{"v":1}\n[1]\n7\n',
        "한글\n".encode(),
        b"x" * (9 << 20),
        b'{"v":1,"t":1,"id":2,"event":"use","session":3}\n',
    ],
)
def test_whatever_stands_in_a_ledger_reading_goes_on(book, now, content):
    """Noise is passed over, and lines that come after it count."""
    Path(book.path).parent.mkdir(parents=True)
    Path(book.path).write_bytes(content)
    assert ledger.read(book).rows == {}
    ledger.append_event(book, "l-1", "use", now)
    assert ledger.read(book).counts("l-1").uses == 1


def test_what_misled_is_listed_at_once_and_listed_again_where_the_list_is_gone(place, book, now):
    """The hooks read the list alone."""
    listed = Path(place.misled()[0])
    ledger.append_event(book, "l-1", "down", now)
    ledger.rewrite_derived(book)
    assert listed.read_text() == "l-1\n"
    listed.unlink()
    ledger.read(book)
    assert listed.read_text() == "l-1\n"
    ledger.append_event(book, "l-1", "up", now)
    ledger.rewrite_derived(book)
    assert listed.read_text() == ""


def test_a_cache_that_cannot_be_written_costs_the_snapshot_alone(book, now):
    """Recall goes on: it folds the whole ledger each time."""
    Path(book.path).parent.mkdir(parents=True)
    put(book, 2000, now)
    Path(book.cache).parent.mkdir(parents=True, exist_ok=True)
    Path(book.cache).write_text("a file in the way")
    assert uses(book) == 2000


def test_a_record_counts_in_the_ledger_of_its_tier(place, now):
    """Private and shared records in the workspace's, global ones in the global tier's."""
    private, everyone = ledger.ledgers(place)
    assert [ledger.find_ledger(place, tier + "/learnings/x.md") for tier in "psg"] == [
        private,
        private,
        everyone,
    ]
    assert (
        private.path == place.private + "/ledger.jsonl"
        and everyone.path == place.home + "/global/ledger.jsonl"
    )
    other = layout.locate({"HOME": os.path.dirname(place.home)}, "/")
    assert ledger.ledgers(other)[1] == everyone


def test_the_uses_of_a_session_are_told_apart(book, now):
    """What is noted once is known: by prompt and record."""
    ledger.append_event(book, "l-1", "use", now, "s1", "p1")
    ledger.append_event(book, "l-2", "use", now, "s1")
    ledger.append_event(book, "l-3", "use", now, "s2", "p1")
    ledger.append_event(book, "l-4", "up", now, "s1")
    assert ledger.read_session_uses(book, "s1") == {(ledger.hash_id("p1"), "l-1"), ("", "l-2")}


def test_a_ledger_that_cannot_be_written_is_one_line(place, now):
    """It names the file and the remedy."""
    vault.put(place, "p/learnings/x.md", "x")
    os.mkdir(place.private + "/ledger.jsonl")
    with pytest.raises(
        StoreError, match=r"ledger\.jsonl could not be written: .*; check its permissions"
    ):
        ledger.append_event(ledger.ledgers(place)[0], "l-1", "up", now)


def test_approvals_survive_a_torn_line_too(place, now):
    """Both ledgers append in the same way."""
    approvals.append_decision(place.home, place.key, "r-1", "0" * 64, "approve", "me", now)
    with Path(place.home, "trust.jsonl").open("a") as file:
        file.write('{"v":1,')
    approvals.append_decision(place.home, place.key, "r-2", "1" * 64, "approve", "me", now)
    assert len(approvals.read_approved(place.home)) == 2
