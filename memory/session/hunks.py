"""What edits changed: the lines that went and came (`-old`, `+new`), told in a few of them."""

from __future__ import annotations

import re
from functools import lru_cache

_CUT = " …"  # how a hunk ends that was clipped
_COMMENT = re.compile(  # what tells nothing of a change: a comment, a line for the log
    r".*\b(?:DEBUG\b|(?:[FS]?[Pp]rint(?:f|ln)?|console\.log|logg?(?:er|ing)?\.\w+|t\.(?:Fatal|Error|Log)f?)\()|"
    r"\s*(?:#(?!\[|include|if|define)|//|/\*|\*|--|<!--|\"\"\")")
_ASIDE = re.compile(r"(?<=\S)\s+(?://|#)\s.*(?<! …)\Z")  # a comment behind a line of code


@lru_cache(maxsize=1024)
def lines(hunk: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the lines that went and that came, without those that did both."""
    gone, come = (frozenset(line[1:].strip() for line in hunk.split("\n") if line[:1] == sign) for sign in "-+")
    return gone - come, come - gone


def joined(hunk: str, later: str) -> str:
    """Join the lines of two edits of a file; what one of them brought and the other took away cancels."""
    held = hunk.split("\n") if hunk else []
    for line in filter(None, later.split("\n")):
        back = ("-" if line[0] == "+" else "+") + line[1:]
        held = [*held, line] if back not in held else [*held[:held.index(back)], *held[held.index(back) + 1:]]
    return "\n".join(held)


def lasting(hunk: str, later: list[str]) -> frozenset[str]:
    """Return the lines of an edit that no later one took back: those that came, and where none came those that went."""
    gone, come = lines(hunk)
    back = [lines(other) for other in later]
    return come.difference(*(went for went, _ in back)) if come else gone.difference(*(came for _, came in back))


def told(hunk: str, most: int) -> list[tuple[str, str]]:
    """Return (sign, line) of each line of code that went or came, in their order; none where they are too many, or one is cut."""
    every = [_ASIDE.sub("", line) or line for line in hunk.split("\n")]
    hunk = "\n".join(every)
    gone, come = lines(hunk)
    found = [(line[0], line[1:].strip()) for line in every if line[1:].strip() in (gone if line[:1] == "-" else come)]
    found = [(sign, line) for sign, line in dict.fromkeys(found) if len(line) > 3 and not _COMMENT.match(line)]
    return found if len(found) <= most and not any(line.endswith(_CUT) for line in every) else []


def is_comment(hunk: str) -> bool:
    """Tell whether an edit is known whole and changed nothing but comments."""
    return bool(hunk) and _CUT not in hunk and not told(hunk, len(hunk))


def is_turned_round(hunk: str, later: list[str]) -> bool:
    """Tell whether a later edit put back what an edit replaced."""
    gone, come = lines(hunk)
    return bool(gone and come) and any(gone <= other[1] and come <= other[0] for other in map(lines, later))


def replaces_only(hunks: list[str], brought: list[str], least: int) -> bool:
    """Tell whether all lines that some edits took away had come by others.  least: characters of a line that counts."""
    gone = {line for hunk in hunks for line in lines(hunk)[0] if len(line) > least}
    return bool(gone) and gone <= {line for hunk in brought for line in lines(hunk)[1]}


def apart(old: str, new: str, width: int) -> tuple[str, str]:
    """Cut off the beginning that two lines share, where the first difference would not be seen in `width` characters."""
    same = next((at for at, (one, other) in enumerate(zip(old, new)) if one != other), min(len(old), len(new)))
    if same <= width // 2 or max(len(old), len(new)) <= width:
        return old, new
    start = old.rfind(" ", 0, same - width // 3) + 1
    return "…" * bool(start) + old[start:], "…" * bool(start) + new[start:]
