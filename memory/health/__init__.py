"""Doctor, check and audit, which return `Finding`s; figures, backup, erasure; and the worker, which
runs the steps after a hook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memory.core.layout import Place

OK, WARN, FAIL = "OK", "WARN", "FAIL"


class Finding(NamedTuple):
    """One result of a check.

    severity: OK, WARN (works, but less well or hardly as meant) or FAIL. about: the subject, such
    as `index`. place: path of the file, or "". line: from 1, 0 for none. id, title: of the record,
    or "".
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
        line = ":%d" % self.line if self.line else ""
        return self.place + line + ": " + self.what if self.place + line else self.what


def finding(severity: str, what: str, remedy: str = "", place: str = "", line: int = 0) -> Finding:
    """Return a finding without `about`, which doctor fills in."""
    return Finding(severity, "", what, remedy, place, line)


def ok(what: str, remedy: str = "") -> Finding:
    return finding(OK, what, remedy)


def warn(what: str, remedy: str = "", place: str = "", line: int = 0) -> Finding:
    return finding(WARN, what, remedy, place, line)


def fail(what: str, remedy: str) -> Finding:
    return finding(FAIL, what, remedy)


def record_path(place: Place, name: str) -> str:
    """Return the path of a record's file, or its name if the tier is absent."""
    root = dict(place.tiers()).get(name[:1])
    return root + name[1:] if root else name
