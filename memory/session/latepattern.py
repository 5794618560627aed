"""Regular expressions that are compiled when they are first used.

A command needs few of the expressions that the modules it imports hold, and compiling one costs
more than reading the line.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    Late = re.compile  # for whoever checks types it is one
else:

    class Late:
        """A regular expression compiled on first use.

        Its methods are those of `re.Pattern`.
        """

        def __init__(self, pattern, flags=0):
            self.pattern, self.flags = pattern, flags

        def __getattr__(self, name):
            made = getattr(re.compile(self.pattern, self.flags), name)
            setattr(self, name, made)
            return made
