"""What the tests of the health room start with."""

from __future__ import annotations

import pytest
from harness.vault import put

from memory.core import config
from memory.health import examination
from memory.index import builder
from memory.store.store import Store

SUBJECTS = (
    "kafka rebalance timeout",
    "webpack cache directory",
    "postgres vacuum schedule",
    "login session expiry",
    "docker layer ordering",
    "pytest fixture scope",
    "retry backoff jitter",
    "invoice rounding cents",
    "캐시 무효화 순서",
    "timezone offset parsing",
    "feature flag rollout",
    "thumbnail worker queue",
)


@pytest.fixture
def examine(place, env, now):
    """Run every check and return the verdicts on one subject as (verdict, found, remedy)."""

    def run(what, **more):
        settings = config.load(place.home, place.root, env)
        return [
            (c.severity, c.summary, c.remedy)
            for c in examination.examine(place, settings, {**env, **more}, now)
            if c.about == what
        ]

    return run


@pytest.fixture
def record(place, env, now):
    """A learning, in the index."""
    made = Store(place, config.load(place.home, place.root, env), now).add(
        "learning", "A title", "A body.\n"
    )
    builder.build(place, now)
    return made


@pytest.fixture
def store(place, now):
    """Twelve learnings on different subjects, and two checkpoints, indexed."""
    for i, subject in enumerate(SUBJECTS):
        put(
            place,
            f"p/learnings/l{i:02d}.md",
            f"The {subject} trap is real",
            f"Set `opt_{i:02d}_max` where {subject} fails.",
            created="2026-11-01",
        )
    for i, asked in enumerate(
        ("move the billing cron to the new scheduler", "why does the deploy job hang at night")
    ):
        put(
            place,
            f"p/checkpoints/2026-11-02/c{i}.md",
            f"Work {i}",
            f"## Request\n\n- {asked}\n\n## Done\n\n- something\n",
            session=f"s{i}",
        )
    builder.build(place, now)
    return place
