"""One HTML file with records, style and script: `store view --export FILE`.

It needs only the standard library, so markdown stays as it was written.
"""

from __future__ import annotations

import base64
import calendar
import datetime
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
from memory.core import StoreError, approvals, clock, files, layout
from memory.core.config import Config
from memory.core.layout import DATED_KINDS, SHARED, Place
from memory.core.plaintext import format_count, one_line, strip_hidden
from memory.core.records import Record
from memory.doors.page import catalogue, timeline
from memory.recall import hit
from memory.store import redactor
from memory.store.redactor import strip_private_record
from memory.store.store import Store
from memory.terminal import localtimes

FOLDER = Path(__file__).parent / "templates"
GROUP_NAMES = {
    "pending": "rule, waits",
    "waiting": "script, waits",
    "past": "past plan",
    "rejected": "rule, rejected",
    "refused": "script, rejected",
    "candidate": "suggested",
}  # of `Hit.group`, where the name differs


class Contents(NamedTuple):
    """The records of one exported HTML file.

    sessions: a record for each, newest first. records: each with its `Hit.group`. left_out: number
    of other records.
    """

    workspace: str
    now: float
    sessions: Sequence[Record]
    records: Sequence[tuple[Record, str]]
    left_out: int
    private: bool


@lru_cache(4)
def read_template(name: str) -> str:
    """Return a template's text; `name` must never come from a request."""
    return (FOLDER / name).read_text(encoding="utf-8")


def read_contents(place: Place, settings: Config, now: float, private: bool) -> Contents:
    """Return the records to export, without secrets; `private` takes all tiers."""
    found = list(Store(place, settings, now).each())
    kept = [
        _redact_record(record, settings) for record in found if private or record.tier == SHARED
    ]
    groups: dict[str, list[Record]] = {}
    for record in kept:
        if record.kind in DATED_KINDS:
            groups.setdefault(find_session(record), []).append(record)
    kept.sort(key=lambda one: (one.kind, -one.created, one.id))
    decided = approvals.read_decisions(place.home)
    return Contents(
        layout.project_name(place.key),
        now,
        sorted(map(choose_for_session, groups.values()), key=lambda one: -one.created),
        [(one, hit.find_group(one, place.key, decided, place.root)) for one in kept],
        len(found) - len(kept),
        private,
    )


def _redact_record(record: Record, settings: Config) -> Record:
    fields = {
        "title": record.title,
        "body": record.body,
        "tags": list(record.tags),
        "meta": record.meta,
    }
    allowed = {"redact.enabled": True, "redact.allow": settings["redact.allow"]}
    clean = redactor.clean(fields, allowed, "")
    return record.replaced(**{**clean, "tags": tuple(clean["tags"])})


def find_session(record: Record) -> str:
    """Return the session of a record, else its own id."""
    session = record.meta.get("session")
    return session if isinstance(session, str) and session else record.id


def choose_for_session(group: Sequence[Record]) -> Record:
    """Choose the record that tells a session in a list."""
    name = timeline.choose_card([catalogue.make_card(record) for record in group]).name
    return next(record for record in group if record.name == name)


def render_page(shown: Contents) -> str:
    """Render one HTML file; its policy forbids foreign code."""
    style, script = read_template("page.css"), read_template("export.js")
    policy = "default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'"
    offset = clock.local_offset
    day = clock.day(shown.now + offset(shown.now))
    number = format_count(len(shown.records), "record")
    also = ", including private ones" if shown.private else ""
    return Template(read_template("export.html")).substitute(
        policy=policy % (_hash_text(script), _hash_text(style)),
        style=style,
        script=script,
        workspace=escape(shown.workspace),
        about="written %s · %s%s" % (day, number, also),
        sessions=_render_sessions(shown.sessions, offset),
        records="\n".join(_render_record(record, group, offset) for record, group in shown.records),
    )


def _hash_text(text: str) -> str:
    """Return a text's hash for a content security policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "'sha256-%s'" % base64.b64encode(digest).decode("ascii")


def _render_sessions(sessions: Sequence[Record], offset: clock.Offset) -> str:
    if not sessions:
        return ""
    days = ""
    for day, group in groupby(
        sessions, key=lambda record: clock.day(record.created + offset(record.created))
    ):
        articles = "".join(_render_session(record, offset) for record in group)
        days += '<section class="day"><h2>%s</h2>%s</section>\n' % (format_day(day), articles)
    number = format_count(len(sessions), "session")
    return '<details id="sessions" open><summary>%s</summary>\n%s</details>' % (number, days)


def format_day(day: str) -> str:
    """Format a day as `Thursday, 19 November 2026`."""
    date = datetime.date.fromisoformat(day)
    weekday, month = calendar.day_name[date.weekday()], calendar.month_name[date.month]
    return "%s, %d %s %s" % (weekday, date.day, month, day[:4])


def _render_session(record: Record, offset: clock.Offset) -> str:
    outline = checkpointoutline.parse_outline(strip_private_record(record))
    outcome = (outline.outcome or outline.said)[:1] if record.kind == "checkpoint" else ()
    branch = record.meta.get("branch")
    return (
        '<article class="item"><p class="meta"><time>%s</time>%s</p>'
        '<h3><a class="go" href="#%s">%s</a></h3>%s</article>'
    ) % (
        clock.iso(record.created + offset(record.created))[11:16],
        '<span class="branch">%s</span>' % _escape_line(branch) if isinstance(branch, str) else "",
        escape(record.id),
        _escape_line(record.title),
        "".join('<p class="outcome">%s</p>' % _escape_line(line) for line in outcome),
    )


def _render_record(record: Record, group: str, offset: clock.Offset) -> str:
    branch = record.meta.get("branch")
    about = [clock.day(record.created + offset(record.created)), record.id]
    about += [", ".join(record.tags)] if record.tags else []
    about += [branch] if isinstance(branch, str) else []
    rationale = record.rationale if record.kind == "rule" else ""
    return (
        '<article class="card record" id="%s"><h2>%s</h2>\n'
        '<p class="about"><span class="tag %s">%s</span> %s</p>\n%s'
        '<div class="text plain">%s</div></article>'
    ) % (
        escape(record.id),
        _escape_line(record.title),
        escape(group),
        escape(GROUP_NAMES.get(group, group)),
        _escape_line(" · ".join(about)),
        '<p class="outcome">%s</p>\n' % _escape_line(rationale) if rationale else "",
        escape(strip_hidden(localtimes.localize_body(record, record.body)).strip()),
    )


def _escape_line(text: str) -> str:
    return escape(one_line(text))


def require_free_path(path: str) -> None:
    """Raise StoreError for an existing file or a missing folder."""
    name, folder = one_line(path), os.path.dirname(os.path.abspath(path))
    if os.path.lexists(path):
        raise StoreError("%s is there already; --export never overwrites, name another FILE" % name)
    if not files.is_folder(folder):
        raise StoreError(
            "%s: not written, %s is no folder; make it first, or name another FILE"
            % (name, one_line(folder))
        )


def save(path: str, shown: Contents) -> int:
    """Write the records into one HTML file; return its size in bytes."""
    text = render_page(shown).encode("utf-8", "replace")
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
