"""Sessions of an invented project, as pages of conversations and checkpoints."""

from __future__ import annotations

from harness import vault
from memory.knowledge import history

LINT = (
    "- ✗ `make lint` → exit 1: src/server.c:12:3: return value of 'fclose' "
    "ignored (unused-result)\n"
)


def held(place, session: str, day: str, page: str, **keys: str) -> str:
    """Write the conversation of a session on a day and return its id.

    page: the sections of its turns.
    """
    keys = {
        "kind": "conversation",
        "created": day + "T09:00:00Z",
        "session": session,
        "branch": "main",
        **keys,
    }
    vault.put(
        place,
        "p/conversations/%s/090000-%s.md" % (day, session),
        keys.pop("title", "Work of " + session),
        page,
        **{"id": "k-" + session, **keys},
    )
    return "k-" + session


def noted(place, session: str, day: str, page: str, **keys: str) -> str:
    """Write a checkpoint of a session and return its id."""
    keys = {"kind": "checkpoint", "created": day + "T10:00:00Z", "session": session, **keys}
    vault.put(
        place,
        "p/checkpoints/%s/100000-%s.md" % (day, session),
        "Checkpoint of " + session,
        page,
        **{"id": "c-" + session, **keys},
    )
    return "c-" + session


def sessions(place, now, holds=lambda body: True, **keys):
    """Read the sessions of a place, newest first."""
    return history.read_sessions(place, vault.settings(), holds, now, **keys).sessions


def week(place) -> None:
    """Write the conversations of five sessions of a week.

    Three were stopped by the linter, one found the right flag of a tool, one only talked.
    """
    held(
        place,
        "one",
        "2026-11-16",
        "## 09:00 tidy up the server\n\nI will close the file.\n\n"
        + LINT
        + (
            "\nThe linter fails because `fclose` may fail and nobody looks at its result.\n\n"
            "- edited `src/server.c`\n- ✓ `make lint`\n"
            "- commit 1a2b3c4: Look at what fclose returns\n\n"
            "Done: `src/server.c` casts to void instead of ignoring it.\n"
        ),
    )
    held(
        place,
        "two",
        "2026-11-17",
        "## 09:00 add a cache\n\n- created `src/cache.c`\n"
        + LINT.replace("server.c:12", "cache.c:40")
        + (
            "- edited `src/cache.c`\n- ✓ `make lint test`\n\n"
            "The cache stands in `src/cache.c`; we chose a ring because it needs no lock.\n"
        ),
    )
    held(
        place,
        "three",
        "2026-11-18",
        "## 09:00 which issues are open?\n\n- ✗ `acme issue list --open` → exit 2: "
        "unknown flag: --open\n"
        "- ✓ `acme issue list --state open` (×2)\n\nSeven are.\n\n## 09:30 and the server?\n\n"
        + LINT
        + (
            "- ✗ Read `conf/app.yml` → failed: File does not exist.\n\n"
            "It still ignores the result.\n"
        ),
    )
    held(
        place,
        "four",
        "2026-11-19",
        "## 09:00 what does the cache do?\n\n`src/cache.c` keeps the last hundred answers.\n",
    )
