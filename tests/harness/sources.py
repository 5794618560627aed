"""Sources of a digest, made of a body alone."""

from __future__ import annotations

from memory.distill.digests import Source


def source(
    body: str, id: str = "k3m9", title: str = "Issuer", created: float = 1795271452.0
) -> Source:
    return Source(id, "checkpoint", title, created, body, "p")


def log() -> str:
    """Return a pasted log of 600 lines; two of them report what went wrong."""
    lines = [
        "2026-11-20 14:%02d:%02d INFO worker processed job id=%d in %dms"
        % (i // 60 % 60, i % 60, 1000 + i, 10 + i % 30)
        for i in range(600)
    ]
    lines[411] = (
        "2026-11-20 14:06:51 ERROR redis.exceptions.ConnectionError: Connection "
        "reset by peer at job 1411"
    )
    lines[500] = "2026-11-20 14:08:20 FATAL worker got OOMKilled"
    return "CI run 8812 failed, the log:\n" + "\n".join(lines)
