"""Regular expressions that are compiled when they are first used.

A command needs few of the expressions that the modules it imports hold, and compiling one costs
more than reading the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple


class Late(NamedTuple):
    """A regular expression compiled on first use.

    Its methods are those of `re.Pattern`.
    """

    pattern: str
    flags: int = 0

    def search(self, text: str, *place: int) -> re.Match[str] | None:
        """Return the first match, optionally between two offsets."""
        return _compiled(self).search(text, *place)

    def match(self, text: str, *place: int) -> re.Match[str] | None:
        """Return the match at the beginning of a text."""
        return _compiled(self).match(text, *place)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of a whole text."""
        return _compiled(self).fullmatch(text)

    def finditer(self, text: str, *place: int) -> Iterator[re.Match[str]]:
        """Yield every match."""
        return _compiled(self).finditer(text, *place)

    def findall(self, text: str) -> list[str]:
        """Return the text of every match.

        For an expression with one group at most.
        """
        return _compiled(self).findall(text)

    def split(self, text: str, maxsplit: int = 0) -> list[str]:
        """Cut a text at the matches."""
        return _compiled(self).split(text, maxsplit)

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """Replace the matches."""
        return _compiled(self).sub(by, text, count)


@cache
def _compiled(late: Late) -> re.Pattern[str]:
    return re.compile(late.pattern, late.flags)
