"""What is wrong, and what mends it: doctor, audit, figures, backup, erasure; and the worker, which
does what hooks leave.

What doctor, check and audit find is one kind of record, `Finding`.
"""

from __future__ import annotations

from typing import NamedTuple

OK, WARN, FAIL = "OK", "WARN", "FAIL"


class Finding(NamedTuple):
    """One result of a check.

    severity: OK, WARN (it works, but less well or hardly as meant) or FAIL. about: the subject,
        such as `index` for doctor, a section for audit, `record` for check. what: the result.
        remedy: "" where nothing is to be done. place: path of the file, or "". line: in that file,
        from 1, 0 for none. id, title: of the record, or "".
    """

    severity: str
    about: str
    what: str
    remedy: str = ""
    place: str = ""
    line: int = 0
    id: str = ""
    title: str = ""

    @property
    def is_error(self) -> bool:
        """Whether the finding must be mended."""
        return self.severity == FAIL

    @property
    def summary(self) -> str:
        """The finding on one line: file, line, result."""
        where = (
            "%s:%d: " % (self.place, self.line)
            if self.line
            else self.place + ": "
            if self.place
            else ""
        )
        return where + self.what


def finding(severity: str, what: str, remedy: str = "", place: str = "", line: int = 0) -> Finding:
    """Return a finding of a step of doctor."""
    return Finding(severity, "", what, remedy, place, line)


def ok(what: str, remedy: str = "") -> Finding:
    """Return a finding without a fault."""
    return finding(OK, what, remedy)


def warn(what: str, remedy: str = "", place: str = "", line: int = 0) -> Finding:
    """Return a finding that works, but less well."""
    return finding(WARN, what, remedy, place, line)


def fail(what: str, remedy: str) -> Finding:
    """Return a finding that must be mended."""
    return finding(FAIL, what, remedy)
