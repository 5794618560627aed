"""CPU time of work, measured so that a busy machine fails no test."""

from __future__ import annotations

import time


def spent(work, enough, tries=4):
    """Return the seconds of CPU that a call of `work` takes: of some runs the least, and no further
    run once one took less than `enough`.

    A shared machine makes one run in a hundred take twice its time; what is slow by nature is slow
    each time.
    """
    least = float("inf")
    for _ in range(tries):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
        if least < enough:
            break
    return least
