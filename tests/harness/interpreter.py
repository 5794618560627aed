"""An interpreter that a `#!` line can name."""

from __future__ import annotations

import os
import sys

# The kernel ends the path at a space: then the Python behind the environment, which has the
# standard library at least.
PYTHON = next(
    (path for path in (sys.executable, os.path.realpath(sys.executable)) if " " not in path),
    sys.executable,
)
