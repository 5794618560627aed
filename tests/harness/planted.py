"""A store with one of each sort that an audit finds."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from harness.vault import put
from memory.hook import receipts

SECRET = "gh" + "p_" + "Zk3Qw9LmT7" + "xR2vBn8KcJ4hYd6PfS1gA5uE"
LONG_AGO = "2025-01-01"


def planted(place, project, env, ok):
    """Plant one fault of each sort, and sound records beside them."""
    put(place, "p/learnings/sound.md", "Retries need a jitter", "Or all clients come at once.")
    put(place, "p/learnings/secret.md", "Deploy key", f"line\nThe token is {SECRET}.")
    put(place, "p/learnings/away.md", "Old key", f"Before: {SECRET}")
    ok("forget", "away")
    put(
        place,
        "p/learnings/unused.md",
        "Forgotten thing",
        "Nobody asks.",
        created=LONG_AGO,
        updated=LONG_AGO,
    )
    put(
        place,
        "p/learnings/shown.md",
        "Shown thing",
        "Somebody asks.",
        created=LONG_AGO,
        updated=LONG_AGO,
    )
    put(
        place,
        "p/learnings/pinned.md",
        "Pinned thing",
        "Stays.",
        created=LONG_AGO,
        updated=LONG_AGO,
        pinned="true",
    )
    put(
        place,
        "p/learnings/twin1.md",
        "Wait for the lock before a deploy",
        "The deploy takes `deploy.lock` first.",
    )
    put(
        place,
        "p/learnings/twin2.md",
        "Wait for the lock before a deploy",
        "The deploy takes `deploy.lock` first.",
    )
    put(
        place,
        "p/learnings/yes.md",
        "Cache",
        "The build cache must be cleared before each release build on staging.",
    )
    put(
        place,
        "p/learnings/no.md",
        "Cache again",
        "The build cache must not be cleared before each release build on staging.",
    )
    put(place, "p/learnings/linked.md", "Linked", "See [[nothing of this name]].")
    put(place, "p/learnings/long.md", "Long", "word " * 4000)
    receipts.write(place.receipts("s0"), {"v": 1, "t": "2026-01-01T00:00:00Z", "event": "start"})
    for day, id in (("2026-11-01", "shown"), ("2026-02-01", "unused")):
        receipts.write(
            place.receipts("s1"),
            {"v": 1, "t": day + "T00:00:00Z", "event": "prompt", "chosen": [[id, 2.0, "x"]]},
        )
    git = ["git", "-C", project, "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    Path(project, "jwt.py").write_text("x = 1\n")
    subprocess.run([*git, "add", "jwt.py"], env=env, check=True)
    subprocess.run([*git, "commit", "-qm", "one"], env=env, check=True)
    put(place, "p/learnings/stale.md", "Issuer", "It is set in jwt.py.", files="jwt.py")
    Path(project, "jwt.py").unlink()
    Path(place.home, "config.json").write_text(
        json.dumps({"distill": {"command": ["x", "--key", SECRET]}}, indent=1)
    )
    return place
