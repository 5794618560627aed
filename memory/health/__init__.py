"""What is wrong, and what mends it: doctor, audit, figures, backup, erasure; and the worker, which
does what hooks leave.

What doctor, check and audit find is one kind of record, `Finding`.
"""

from __future__ import annotations

from typing import NamedTuple

OK, WARN, FAIL = "OK", "WARN", "FAIL"


class Finding(NamedTuple):
    """One thing that was looked at.

    severity: OK, WARN (it works, but less well or hardly as meant) or FAIL.  about: what was looked
    at, such as `index` for doctor, a section for audit, `record` for check.  what: is wrong or was
    found.  remedy: "" where nothing is to be done.  place: the path of the file, "" where it is not
    about one.  line: in that file, from 1, 0 for none.  id, title: of the record, "" where it is
    none.
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
        """Whether it must not stay as it is."""
        return self.severity == FAIL

    @property
    def said(self) -> str:
        """The finding in one line: file, line, what is wrong."""
        where = (
            "%s:%d: " % (self.place, self.line)
            if self.line
            else self.place + ": "
            if self.place
            else ""
        )
        return where + self.what
