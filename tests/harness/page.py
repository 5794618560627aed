"""The local page for tests: a store with something for each page, a server in a thread, requests as
bytes.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from harness import conversations, pushes, vault
from memory.core import approvals, files, layout
from memory.doors.page import pages, sheets, web
from memory.index import builder

SECRET = "the zebra deploys on Tuesdays"
RULE = "Check the migration"
OUTCOME = (
    "## Outcome\n\n- The cache keeps `100` answers.\n\n## Next\n\n- Measure it.\n\n## Done\n\n"
    "- commit 1a2b3c4: Add a cache\n"
)


def stored(home: str, project: str, now: float) -> layout.Place:
    """Write records of every kind, build the index, and return the place.

    home: HOME.  now: seconds since the epoch.
    """
    os.makedirs(project, exist_ok=True)
    place = layout.locate({"HOME": home}, project)
    conversations.week(place)
    conversations.noted(
        place,
        "two",
        "2026-11-17",
        OUTCOME,
        branch="cache",
        conversation="k-two",
        files="[src/cache.c]",
    )
    vault.put(
        place,
        "p/learnings/zebra.md",
        "Zebra",
        SECRET + ".\n\nSee [[cache]] and [[gone]].\n\n<script>alert(1)</script>",
        id="l-zebra",
        tags="[deploy]",
    )
    vault.put(
        place,
        "p/learnings/cache.md",
        "Docker cache",
        "Use --no-cache.",
        id="l-cache",
        tags="[build]",
    )
    vault.put(
        place,
        "s/learnings/told.md",
        "Told to all",
        "The token is " + "ghp_" + "Kq8TzR3vY1nW7xB5" + "mD2cF9hJ4pL6sG0aQeUi",
        id="l-told",
    )
    vault.put(
        place,
        "p/learnings/maybe.md",
        "Maybe so",
        "It may be.",
        id="l-maybe",
        source="auto",
        links="[l-cache]",
    )
    vault.put(
        place, "p/plans/move.md", "Move the cache", "- [ ] measure", id="p-move", status="active"
    )
    rule = vault.put(
        place,
        "p/rules/check.md",
        RULE,
        "By hand.",
        id="r-check",
        kind="rule",
        rationale="it broke once",
    )
    with open(rule, "rb") as file:
        before = file.read()
    approvals.append_decision(
        place.home, place.key, "r-check", files.sha256(before), "approve", "alex", now
    )
    approvals.save_approved_bytes(place.home, before)
    with open(rule, "wb") as file:
        file.write(before.replace(b"By hand.", b"By a script."))
    pushes.push(place, "two", now, "l-cache")
    builder.build(place, now)
    return place


@contextlib.contextmanager
def served(
    made: pages.Pages, idle: float = 600.0, clock: Any = time.monotonic
) -> Iterator[web.Site]:
    """Serve pages in a thread."""
    site = web.Site(made, web.open_socket(0), idle, clock)
    thread = threading.Thread(target=site.run, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.stop()
        thread.join(10)


def told(port: int, request: bytes, wait: float = 10.0) -> bytes:
    """Return all that a server answers to some bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as link:
        link.sendall(request)
        return rest(link)


def rest(link: socket.socket) -> bytes:
    """Return what still comes on a connection, until it ends or is silent for too long."""
    said = b""
    while True:
        try:
            piece = link.recv(1 << 16)
        except (ConnectionResetError, TimeoutError):
            return said
        if not piece:
            return said
        said += piece


class Book:
    """Pages of a store, as HTML; time passes as a test says."""

    def __init__(self, place: layout.Place, now: float):
        self.place, self.now = place, now
        self.pages = pages.Pages(place, vault.settings(), lambda: self.now)

    def html(self, name: str, *words: Any, **more: Any) -> str:
        """Return a page by the name of its method."""
        return sheets.render_sheet(
            getattr(self.pages, name)(*words, **more), "/x", bool(more.get("live"))
        )


class Browser:
    """A browser that was let in: it gets pages with its cookie.

    base: the page's folder.  method: by which it opened the address.
    """

    def __init__(self, site: web.Site, method: str = "GET"):
        self.address = site.gate.address()
        self.port, path = re.match(r"http://127\.0\.0\.1:(\d+)(/.*)", self.address).groups()
        self.base = path.partition("/open/")[0]
        self.opened = told(
            int(self.port),
            ("%s %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n" % (method, path, self.port)).encode(),
        )
        found = re.search(rb"set-cookie: (\w+=[^;]*)", self.opened)
        self.cookie = found[1].decode() if found else ""

    def head(self, path: str, method: str = "GET", **more: str) -> bytes:
        """Return a request that is in order but for some headers.

        Such as `Sec_Fetch_Site="cross-site"`; "" leaves a header out.
        """
        heads = {
            "Host": "127.0.0.1:" + self.port,
            "Cookie": self.cookie,
            **{k.replace("_", "-"): v for k, v in more.items()},
        }
        lines = "".join("%s: %s\r\n" % row for row in heads.items() if row[1])
        return ("%s %s%s HTTP/1.1\r\n%s\r\n" % (method, self.base, path, lines)).encode()

    def get(self, path: str, **more: str) -> tuple[int, str, str]:
        """Return (status, head, body) of a page."""
        head, _, body = told(int(self.port), self.head(path, **more)).decode().partition("\r\n\r\n")
        return int(head.split()[1]), head, body
