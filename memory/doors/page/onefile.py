"""One HTML file that holds records, their style and their script: `store view --export FILE`.

Made with the standard library alone, so a record's markdown stands in it as it was written.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template
from typing import NamedTuple

from memory.capture import checkpointoutline
from memory.core import StoreError, clock, files, layout
from memory.core.config import Config
from memory.core.layout import DATED, SHARED, Place
from memory.core.plaintext import count, one_line, plain
from memory.core.records import Record
from memory.doors.page import catalogue, timeline
from memory.store import redactor
from memory.store.redactor import without_private
from memory.store.store import Store
from memory.terminal import localtimes

FOLDER = Path(__file__).parent / "templates"
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = (
    "January February March April May June July August September October November December"
).split()


class Contents(NamedTuple):
    """What one file shows.

    sessions: the record that tells each, the newest first. left_out: how many records it lacks.
    """

    workspace: str
    now: float
    sessions: Sequence[Record]
    records: Sequence[Record]
    left_out: int
    private: bool


@lru_cache(4)
def raw(name: str) -> str:
    """Return a file of the folder `templates`.

    name: one of ours, never a requested one.
    """
    return (FOLDER / name).read_text(encoding="utf-8")


def contents(place: Place, settings: Config, now: float, private: bool) -> Contents:
    """Return the records for one file, without secrets.

    private: records of the private and the global tier too, not the shared ones alone.
    """
    found = list(Store(place, settings, now).each())
    kept = [_cleaned(record, settings) for record in found if private or record.tier == SHARED]
    groups: dict[str, list[Record]] = {}
    for record in kept:
        if record.kind in DATED:
            groups.setdefault(session_of(record), []).append(record)
    return Contents(
        layout.project_name(place.key),
        now,
        sorted(map(_telling, groups.values()), key=lambda one: -one.created),
        sorted(kept, key=lambda one: (one.kind, -one.created, one.id)),
        len(found) - len(kept),
        private,
    )


def _cleaned(record: Record, settings: Config) -> Record:
    said = {
        "title": record.title,
        "body": record.body,
        "tags": list(record.tags),
        "meta": record.meta,
    }
    allowed = {"redact.enabled": True, "redact.allow": settings["redact.allow"]}
    clean = redactor.clean(said, allowed, "")
    return record.replaced(**{**clean, "tags": tuple(clean["tags"])})


def session_of(record: Record) -> str:
    """Return the session of a record, or its own id."""
    said = record.meta.get("session")
    return said if isinstance(said, str) and said else record.id


def _telling(group: Sequence[Record]) -> Record:
    """Return the record that tells a session."""
    name = timeline.telling([catalogue.card_of(record) for record in group]).name
    return next(record for record in group if record.name == name)


def html_page(shown: Contents) -> str:
    """Return one HTML file whose policy allows its own style and script alone."""
    style, script = raw("page.css"), raw("export.js")
    policy = "default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'"
    offset = clock.local_offset(shown.now)
    return Template(raw("export.html")).substitute(
        policy=policy % (_digest(script), _digest(style)),
        style=style,
        script=script,
        workspace=escape(shown.workspace),
        about="written %s · %s%s"
        % (
            clock.day(shown.now + offset),
            count(len(shown.records), "record"),
            ", including private ones" if shown.private else "",
        ),
        sessions=_sessions(shown.sessions, offset),
        records="\n".join(_article(record, offset) for record in shown.records),
    )


def _digest(text: str) -> str:
    """Return the hash by which a policy names a style or a script."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "'sha256-%s'" % base64.b64encode(digest).decode("ascii")


def _sessions(told: Sequence[Record], offset: float) -> str:
    if not told:
        return ""
    days = groupby(told, key=lambda one: clock.day(one.created + offset))
    return '<details id="sessions" open><summary>%s</summary>\n%s</details>' % (
        count(len(told), "session"),
        "".join(
            '<section class="day"><h2>%s</h2>%s</section>\n'
            % (day_name(day), "".join(_session(one, offset) for one in of))
            for day, of in days
        ),
    )


def day_name(day: str) -> str:
    """Return a day's name: `Thursday, 19 November 2026`."""
    weekday = WEEKDAYS[clock.weekday(clock.parse(day) or 0.0)]
    return "%s, %d %s %s" % (weekday, int(day[8:]), MONTHS[int(day[5:7]) - 1], day[:4])


def _session(record: Record, offset: float) -> str:
    """Return the entry of a session: when, on which branch, its title and its outcome."""
    outline = checkpointoutline.outline(without_private(record))
    outcome = (outline.outcome or outline.said)[:1] if record.kind == "checkpoint" else ()
    branch = record.meta.get("branch")
    return (
        '<article class="item"><p class="meta"><time>%s</time>%s</p>'
        '<h3><a class="go" href="#%s">%s</a></h3>%s</article>'
    ) % (
        clock.iso(record.created + offset)[11:16],
        '<span class="branch">%s</span>' % _line(branch) if isinstance(branch, str) else "",
        escape(record.id),
        _line(record.title),
        "".join('<p class="outcome">%s</p>' % _line(line) for line in outcome),
    )


def _article(record: Record, offset: float) -> str:
    """Return the card of a record: its head, a rule's rationale, and its text as it was written."""
    branch = record.meta.get("branch")
    about = [clock.day(record.created + offset), record.id]
    about += [", ".join(record.tags)] if record.tags else []
    about += [branch] if isinstance(branch, str) else []
    rationale = record.rationale if record.kind == "rule" else ""
    return (
        '<article class="card record" id="%s"><h2>%s</h2>\n'
        '<p class="about"><span class="tag">%s</span> %s</p>\n%s'
        '<div class="text plain">%s</div></article>'
    ) % (
        escape(record.id),
        _line(record.title),
        escape(record.kind),
        _line(" · ".join(about)),
        '<p class="outcome">%s</p>\n' % _line(rationale) if rationale else "",
        escape(plain(localtimes.body(record, record.body)).strip()),
    )


def _line(text: str) -> str:
    return escape(one_line(text))


def require_free_path(path: str) -> None:
    """Check that a new file may stand at a path.

    Raises StoreError over an existing file, and without a folder.
    """
    said, folder = one_line(path), os.path.dirname(os.path.abspath(path))
    if os.path.lexists(path):
        raise StoreError("%s is there already; --export never overwrites, name another FILE" % said)
    if not files.is_folder(folder):
        raise StoreError(
            "%s: not written, %s is no folder; make it first, or name another FILE"
            % (said, one_line(folder))
        )


def save(path: str, shown: Contents) -> int:
    """Write one file and return its bytes.

    Raises StoreError.
    """
    text = html_page(shown).encode("utf-8", "replace")
    try:
        files.create(path, text)
    except FileExistsError:
        require_free_path(path)
        raise
    except OSError as error:
        raise StoreError(
            "%s: not written, %s; name a FILE elsewhere"
            % (one_line(path), (error.strerror or str(error)).lower())
        ) from None
    return len(text)
