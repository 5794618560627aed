"""Regular expressions that are compiled when they are first used.

A command needs few of the expressions that the modules it imports hold, and compiling one costs
more than reading the line.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    LazyPattern = re.compile  # to a type checker it is a pattern
else:

    class LazyPattern:
        """A regular expression compiled on first use, like `re.Pattern`."""

        def __init__(self, pattern, flags=0):
            self.pattern, self.flags = pattern, flags

        def __getattr__(self, name):
            method = getattr(re.compile(self.pattern, self.flags), name)
            setattr(self, name, method)
            return method
