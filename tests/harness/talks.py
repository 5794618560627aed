"""Conversations as capture writes them: one section a turn, of what was said and what was run."""

from __future__ import annotations

from pathlib import Path

from memory.core import clock
from memory.core.layout import Place
from memory.store import writer

RESUME = """## 14:03 why does resume fail on a fresh clone?

The marker file is never committed, so a clone has none.

- ✗ `go test ./resume/...` → exit 1: resume_test.go:41: no marker
- edited `resume.go`
- ✓ `go test ./resume/...`
- commit 1a2b3c4d5e: Fix resume on fresh clones

Resume now writes the marker before it reads it: a fresh clone has none.

"""
RETRIES = """## 14:31 how many retries does the uploader make, and …

> how many retries does the uploader make, and
> does it wait between them?

> (while working) the budget is per host

It makes five, and doubles the pause from 200 ms each time.

- ✓ `rg -n backoff uploader/`

Five retries with exponential backoff; nothing was changed.

"""
LINT = """## 2026-01-24 09:10 run the linter

- ✗ `mise run lint` → exit 1: a.go:12:3: ctx not passed (noctx)

The linter wants a context in `fetch`; that is left open.
"""
TURNS = (RESUME, RETRIES, LINT)
SESSION = "5e551011-aaaa-4bbb-8ccc-000000000001"


def page(
    turns=TURNS,
    *,
    id="c-7a1c0001",
    title="Resume on fresh clones",
    created="2026-01-23T14:03:00Z",
    session=SESSION,
    written=True,
    **more,
) -> bytes:
    """Return the bytes of a conversation's file.  written: whether the key `written` fits the body.
    more: frontmatter.
    """
    body = "".join(turns)
    mark = writer.body_checksum(body) if written else "0" * 12
    head = {
        "id": id,
        "kind": "conversation",
        "title": title,
        "created": created,
        "updated": created,
        "source": "auto",
        "session": session,
        "branch": "main",
        "until": "2026-01-24T09:12:30.125Z",
        **more,
        "written": mark,
    }
    lines = "".join("%s: %s\n" % pair for pair in head.items() if pair[1])
    return ("---\n%s---\n\n%s" % (lines, body)).encode("utf-8", "surrogateescape")


def put(place: Place, turns=TURNS, *, file="", tier="p", **more) -> str:
    """Write a conversation where capture would and return its name; arguments as for `page`.  file:
    path below its folder.
    """
    created = clock.parse(more.get("created", "2026-01-23T14:03:00Z"))
    file = file or "%s/%s-%s.md" % (
        clock.day(created),
        clock.iso(created)[11:19].replace(":", ""),
        more.get("id", "talk")[-4:],
    )
    name = "%s/conversations/%s" % (tier, file)
    path = Path(dict(place.tiers())[tier] + name[1:])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(page(turns, **more))
    return name
