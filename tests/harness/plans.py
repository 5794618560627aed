"""How a test makes a plan."""

from __future__ import annotations

import json


def made(ok):
    """Return a function that makes a plan and returns what --json says of it."""

    def call(*words, **more):
        return json.loads(ok("plan", *words, "--json", **more))

    return call
