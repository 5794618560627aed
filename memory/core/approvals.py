"""Approvals: which exact content a person let bind or run.

Schema, version 1, of `<home>/trust.jsonl`, one line a decision, the latest line of a (workspace,
id, sha256) counts:

    {"v":1,"t":"2026-11-21T14:30:52Z","workspace":"api-1a2b3c4d","id":"r-1a2b3c4d","sha256":"<64
    hex>","decision":"approve","by":"alex"}

The approval of a script has `script:` before its workspace, and the SHA-256 of the script's bytes.
No workspace is named like that, so the approval of a rule lets no script run and that of a script
binds nobody, whatever id the two share.

The ledger stands in the user's own directory, so a cloned repository cannot approve itself, and it
names the SHA-256 of the bytes that were shown, so an edit makes a record pending again.  What a
file says of itself counts for nothing.

`<home>/approved/<sha256>` keeps the bytes of what was approved, to show what an edit changed.  It
approves nothing, is believed only where its hash is its name, and may be deleted: then the whole
file is shown.
"""

from __future__ import annotations

from memory.core import StoreError, UsageError, clock, fastjson, files
from memory.core.layout import GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, FrozenSet, Optional, Sequence, Tuple

    from memory.core.records import Record

    Approval = Tuple[str, str, str]  # workspace, id, sha256

LEDGER = "trust.jsonl"
LIMIT = 64 << 20  # bytes of the ledger that are read: 300,000 decisions
APPROVED_FOLDER = "approved"
GLOBAL_WORKSPACE = "global"
SCRIPT = "script:"  # stands before the workspace of a script's approval
DECISIONS = ("approve", "reject")
# stands before the 64 digits in a line of ours; any other line is read whole
_DIGEST = b'"sha256":"'


def approval_workspace(name: str, key: str) -> str:
    """Return the workspace in which a record is approved: `key` or `global`."""
    return GLOBAL_WORKSPACE if name[:2] == GLOBAL + "/" else key


def script_workspace(name: str, key: str) -> str:
    """Return a record's approval workspace with the prefix SCRIPT."""
    return SCRIPT + approval_workspace(name, key)


def read_approved(home: str, of: Sequence[str] = ()) -> FrozenSet[Approval]:
    """Return the approved (workspace, id, sha256); see `read_decisions`."""
    return frozenset(
        key for key, decision in read_decisions(home, of).items() if decision == "approve"
    )


def read_decisions(home: str, of: Sequence[str] = ()) -> Dict[Approval, str]:
    """Read the last decision on each (workspace, id, sha256), oldest first.

    of: read the decisions on these SHA-256 alone (a line is 5 us); () for all.  Invalid lines are
    passed over.  Empty where another user may write to the ledger.
    """
    last: Dict[Approval, str] = {}
    wanted = {sha256.encode("ascii") for sha256 in of}
    for line in _read_ledger(home).split(b"\n"):
        at = line.find(_DIGEST)
        if (
            wanted
            and at >= 0
            and line[at + 10 : at + 74] not in wanted
            and line.count(b"sha256") == 1
            and b"\\" not in line
        ):
            continue  # on other bytes
        read = _parse_decision(line)
        if read:
            key, decision = read
            last.pop(key, None)
            last[key] = decision
    return last


def _read_ledger(home: str) -> bytes:
    try:
        fd = files.open_read(home + "/" + LEDGER)
    except OSError:
        return b""
    try:
        return files.read_fd(fd, LIMIT) if _is_trusted_file(fd) else b""
    except OSError:
        return b""
    finally:
        files.posix.close(fd)


def _parse_decision(line: bytes) -> Optional[Tuple[Approval, str]]:
    try:
        value = fastjson.parse(line) if line else None
        if isinstance(value, dict) and value["v"] == 1 and value["decision"] in DECISIONS:
            key = str(value["workspace"]), str(value["id"]), str(value["sha256"])
            return key, value["decision"]
    except (ValueError, KeyError, TypeError):
        pass
    return None


def append_decision(
    home: str, workspace: str, id: str, sha256: str, decision: str, by: str, now: float
) -> None:
    """Add a decision to the ledger.

    workspace: a place's key, or `global`.  sha256: of the bytes that the person was shown.  Raises
    UsageError for a wrong decision or checksum, StoreError where it cannot be written.
    """
    if decision not in DECISIONS:
        raise UsageError("no decision '%s'; use approve or reject" % decision)
    if len(sha256) != 64 or any(c not in "0123456789abcdef" for c in sha256):
        raise UsageError("'%s' is not a SHA-256; give its 64 hexadecimal digits" % sha256[:80])
    line = fastjson.dump(
        {
            "v": 1,
            "t": clock.iso(now),
            "workspace": workspace,
            "id": id,
            "sha256": sha256,
            "decision": decision,
            "by": by,
        }
    )
    path = home + "/" + LEDGER
    try:
        files.append_line(path, line)
    except OSError as error:
        raise StoreError(
            "%s could not be written: %s; check its permissions"
            % (path, (error.strerror or "").lower())
        ) from error


def find_script_decision(record: Record, key: str, root: str, decided: Dict[Approval, str]) -> str:
    """Return the decision on a script's present bytes, "" for none.

    key: the workspace the record belongs to.  root: the directory that its path is relative to, or
    "".  For display only: `run` checks again.
    """
    path = record.meta.get("path")
    if not isinstance(path, str) or not (path.startswith("/") or root):
        return ""
    workspace = script_workspace(record.name, key)
    if not any(known[:2] == (workspace, record.id) for known in decided):
        return ""
    try:
        data = files.read(path if path.startswith("/") else root + "/" + path, LIMIT)
    except OSError:
        return ""
    return decided.get((workspace, record.id, files.sha256(data)), "")


def find_last_approved(decided: Dict[Approval, str], workspace: str, id: str) -> str:
    """Return the SHA-256 last approved under an id, or ""."""
    found = ""
    for key, decision in decided.items():
        if decision == "approve" and key[:2] == (workspace, id):
            found = key[2]
    return found


def approve(home: str, workspace: str, id: str, data: bytes, by: str, now: float) -> None:
    """Save approved bytes and append their approval to the ledger."""
    save_approved_bytes(home, data)
    append_decision(home, workspace, id, files.sha256(data), "approve", by, now)


def save_approved_bytes(home: str, data: bytes) -> None:
    """Save approved bytes, to show later what an edit changed."""
    files.replace(home + "/" + APPROVED_FOLDER + "/" + files.sha256(data), data)


def read_approved_bytes(home: str, sha256: str) -> Optional[bytes]:
    """Return the approved bytes with a SHA-256, None where gone or altered."""
    return files.read_checked("%s/%s/%s" % (home, APPROVED_FOLDER, sha256), sha256)


def _is_trusted_file(fd: int) -> bool:
    """Tell whether only this user or root may write to a file."""
    if not hasattr(files.posix, "geteuid"):
        return True
    stat = files.posix.fstat(fd)
    return stat.st_uid in (0, files.posix.geteuid()) and not stat.st_mode & 0o022
