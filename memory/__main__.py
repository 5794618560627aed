"""Runs the command line by path: `python3 -I <root>/memory …`."""

import os
import sys

# a system Python may be older than what we support: say so in one line
if sys.version_info < (3, 9):  # noqa: UP036
    sys.exit(
        "dayleaf: Python 3.9 or newer is needed, not %d.%d; run install.sh" % sys.version_info[:2]
    )

# Run by path, sys.path[0] is this directory, whose modules would shadow others; `memory` may be a
# project's name too.
if not __package__:
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# the command of an installed wheel, where the plugin is the package `dayleaf`
elif __package__ != "memory":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run() -> None:
    """Run the command line, and end the process with its status."""
    from memory.cli.main import main

    # All is flushed and closed by now: taking the interpreter and its modules apart would cost up
    # to a tenth of the CPU.
    os._exit(main())


if __name__ == "__main__":
    run()
