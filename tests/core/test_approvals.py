"""Approval names exact bytes, lives with the user alone, and the last decision wins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory.core import StoreError, UsageError, approvals

ROOT = str(Path(__file__).resolve().parents[2])
ONE, TWO = "1" * 64, "2" * 64
posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes")


@pytest.fixture
def base(home) -> str:
    """dayleaf's directory of the test."""
    return home + "/.dayleaf"


def test_an_approval_is_of_one_workspace_id_and_checksum(base, now):
    """Nothing else is approved by it: no other project, record or content."""
    assert approvals.read_approved(base) == frozenset()
    approvals.append_decision(base, "api-1a2b3c4d", "r-1", ONE, "approve", "alex", now)
    assert approvals.read_approved(base) == {("api-1a2b3c4d", "r-1", ONE)}
    line = json.loads(Path(base, "trust.jsonl").read_text())
    assert line == {
        "v": 1,
        "t": "2026-11-21T14:30:52Z",
        "workspace": "api-1a2b3c4d",
        "id": "r-1",
        "sha256": ONE,
        "decision": "approve",
        "by": "alex",
    }


def test_the_last_decision_wins(base, now):
    """Approve, reject and approve again; a decision on other content changes nothing."""
    for decision, sha256, expected in (
        ("approve", ONE, {ONE}),
        ("approve", TWO, {ONE, TWO}),
        ("reject", ONE, {TWO}),
        ("reject", "3" * 64, {TWO}),
        ("approve", ONE, {ONE, TWO}),
    ):
        approvals.append_decision(base, "w", "r-1", sha256, decision, "alex", now)
        assert {approval[2] for approval in approvals.read_approved(base)} == expected


def test_what_was_rejected_is_told_from_what_waits(base, now):
    """The last decision on the exact content; other content has none."""
    for sha256, decision in ((ONE, "approve"), (ONE, "reject"), (TWO, "approve")):
        approvals.append_decision(base, "w", "r-1", sha256, decision, "alex", now)
    assert approvals.read_decisions(base) == {
        ("w", "r-1", ONE): "reject",
        ("w", "r-1", TWO): "approve",
    }


def test_global_records_share_one_workspace():
    """A record of the global tier is approved for every project."""
    assert approvals.approval_workspace("g/rules/x.md", "api-1") == "global"
    assert (
        approvals.approval_workspace("p/rules/x.md", "api-1")
        == approvals.approval_workspace("s/rules/x.md", "api-1")
        == "api-1"
    )


@pytest.mark.parametrize(
    "torn",
    [
        b'{"v":1,"t":"2026',
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"v":1,"decision":"approve"}',
        b"null",
        b"[" * 5000,
        b'{"v":2,"workspace":"w","id":"x","sha256":"1","decision":"approve"}',
        b'{"v":1,"workspace":"w","id":"x","sha256":"1","decision":["approve"]}',
    ],
)
def test_a_torn_line_costs_only_itself(base, now, torn):
    """What a killed writer left is passed over, and the next decision does not join it."""
    approvals.append_decision(base, "w", "r-1", ONE, "approve", "alex", now)
    with Path(base, "trust.jsonl").open("ab") as ledger:
        ledger.write(torn)
    assert approvals.read_approved(base) == {("w", "r-1", ONE)}
    approvals.append_decision(base, "w", "r-2", TWO, "approve", "alex", now)
    assert approvals.read_approved(base) == {("w", "r-1", ONE), ("w", "r-2", TWO)}


@pytest.mark.parametrize(
    ("decision", "sha256"),
    [
        ("yes", ONE),
        ("", ONE),
        ("approve", ""),
        ("approve", "1" * 63),
        ("approve", "G" * 64),
        ("approve", ONE.replace("1", "A")),
    ],
)
def test_a_decision_that_is_none_is_refused(base, now, decision, sha256):
    """No line is written for a wrong word or checksum."""
    with pytest.raises(UsageError):
        approvals.append_decision(base, "w", "r-1", sha256, decision, "alex", now)
    assert not Path(base, "trust.jsonl").exists()


def test_what_a_person_is_called_cannot_forge_a_line(base, now):
    """Line ends and quotes in an id or a name stay inside their text."""
    approvals.append_decision(
        base,
        "w",
        'r-1"}\n{"v":1',
        ONE,
        "reject",
        'x\n{"v":1,"workspace":"w","id":"r-9","sha256":"' + ONE + '"}',
        now,
    )
    assert (
        approvals.read_approved(base) == frozenset()
        and Path(base, "trust.jsonl").read_bytes().count(b"\n") == 1
    )


@posix_only
def test_a_ledger_that_others_may_write_approves_nothing(base, now, monkeypatch):
    """Neither one that group or world may write to, nor another user's."""
    approvals.append_decision(base, "w", "r-1", ONE, "approve", "alex", now)
    path = base + "/trust.jsonl"
    assert os.stat(path).st_mode & 0o777 == 0o600
    for mode, count in ((0o666, 0), (0o620, 0), (0o644, 1), (0o600, 1)):
        os.chmod(path, mode)
        assert len(approvals.read_approved(base)) == count, oct(mode)
    if os.geteuid() == 0:
        os.chown(path, 65534, -1)
        assert approvals.read_approved(base) == frozenset()


def test_a_ledger_in_a_repository_counts_for_nothing(base, project, now):
    """Only the file in the user's own directory is read."""
    approvals.append_decision(project + "/.dayleaf", "w", "r-1", ONE, "approve", "mallory", now)
    assert approvals.read_approved(base) == frozenset()


def test_a_ledger_that_cannot_be_written_is_an_error(base, now):
    """The person hears that nothing was decided."""
    os.makedirs(base + "/trust.jsonl")
    with pytest.raises(StoreError, match="could not be written"):
        approvals.append_decision(base, "w", "r-1", ONE, "approve", "alex", now)
    assert approvals.read_approved(base) == frozenset()


def test_decisions_of_several_processes_all_count(base):
    """Lines written at once do not mix."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory.core import approvals as trust\n"
        "for i in range(50):\n"
        "    trust.append_decision(sys.argv[2], 'w', 'r-%s-%d' % (sys.argv[3], i), '1' * 64, "
        "'approve', 'x', 0.0)"
    )
    children = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", code, ROOT, base, str(i)])
        for i in range(4)
    ]
    assert [child.wait(60) for child in children] == [0] * 4
    assert len(approvals.read_approved(base)) == 200


def test_reading_is_light():
    """The blocking path asks: built-in modules only."""
    code = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); from memory.core "
        "import approvals as trust\n"
        "trust.read_approved('/nowhere')\n"
        "print(sorted(m for m in set(sys.modules) - before if not "
        "m.startswith(('memory', '__future__'))))"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, ROOT], capture_output=True, text=True, check=True
    )
    assert set(json.loads(run.stdout.replace("'", '"'))) <= {"fcntl"}
