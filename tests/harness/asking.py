"""Small stores of every kind, and queries asked of them."""

from __future__ import annotations

from pathlib import Path

from harness import vault
from memory.core import clock, config
from memory.recall import question, search

BACKENDS = ("index", "delta", "files")


def write(place, name, body, **meta):
    """Write one record file and return its path."""
    path = Path(place.path(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "".join("%s: %s\n" % pair for pair in meta.items())
    path.write_text("---\n%s---\n\n%s\n" % (head, body), encoding="utf-8")
    return path


def settings(place, **changes):
    """Return the default settings with some changes (`recall_limit` for `recall.limit`)."""
    found = config.load(place.home, "", {})
    found.values.update({key.replace("_", "."): value for key, value in changes.items()})
    return found


def ids(place, now, text="", **options):
    """Return the ids that a query finds."""
    return [hit.record.id for hit in ask(place, now, text, **options).hits]


def ask(place, now, text="", dsn="", **options):
    """Return the answer to a query.  dsn: of a database to ask too."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in options.items()}
    query = question.query_from_options({"query": text, **given}, now, clock.utc)
    return search.recall(place, settings(place), query, now, clock.utc, dsn=dsn)


def fill(place):
    """Write records of every kind in three tiers."""
    write(
        place,
        "p/learnings/jwt.md",
        "The JWT issuer must match `src/auth/jwt.py`, else tokens expire.",
        id="l-jwt",
        title="JWT issuer mismatch",
        created="2026-11-20T10:00:00Z",
        tags="[auth, jwt]",
        topics="[login]",
        versions="[2.0]",
    )
    write(
        place,
        "s/learnings/docker.md",
        "Layer caching of docker builds with --no-cache.",
        id="l-docker",
        title="Docker layer caching",
        created="2026-11-12",
        tags="build",
        versions="[1.0, 2.0]",
    )
    write(
        place,
        "g/learnings/redis.md",
        "Redis connection pool exhausted; raise max_connections.",
        id="l-redis",
        title="Redis pool",
        created="2026-10-05",
    )
    write(
        place,
        "p/checkpoints/2026-11-21/140000-a.md",
        "Worked on the JWT refresh in getUserToken.",
        id="c-today",
        title="JWT refresh",
        created="2026-11-21T14:00:00Z",
        session="s-123",
        branch="main",
        files="[src/auth/jwt.py]",
    )
    write(
        place,
        "p/checkpoints/2026-11-20/090000-b.md",
        "Button colours.",
        id="c-yesterday",
        title="Buttons",
        created="2026-11-20T09:00:00Z",
        session="s-99",
        branch="ui",
    )
    write(
        place,
        "p/rules/r.md",
        "Always pin the issuer.",
        id="r-pin",
        title="Pin the issuer",
        rationale="it broke",
        created="2026-11-01",
    )


def shop(place):
    """Write a learning, a rule, a script, a doc, a plan and a checkpoint.

    Each id begins with the first letters of its kind.
    """
    vault.put(place, "p/learnings/jwt.md", "JWT issuer", "The issuer must match.", id="l-jwt")
    vault.put(place, "p/learnings/keys.md", "Key rotation", "Keys rotate daily.", id="l-keys")
    vault.put(
        place,
        "p/rules/ask.md",
        "Ask before a push",
        "Ask first.",
        id="r-ask",
        rationale="it deploys",
    )
    vault.put(
        place,
        "p/resources/mint.md",
        "Mint a token",
        "Makes a token.",
        id="s-mint",
        type="script",
        path="bin/mint.sh",
    )
    vault.put(
        place,
        "p/resources/guide.md",
        "발급자 안내",
        "How issuers work.",
        id="d-guide",
        type="doc",
        path="docs/guide.md",
    )
    vault.put(place, "p/plans/now.md", "Move to OIDC", "- [ ] start", id="p-now", status="active")
    vault.put(place, "p/checkpoints/c.md", "Session", "Did it.", id="c-one", source="auto")
    return place
