"""Ids as a person types them: whole, begun, or with a slip of the finger."""

from __future__ import annotations

from typing import Iterable, List, Sequence

SHORTEST = 4  # characters of an id in which a slip is told from another id


def begun(text: str, ids: Iterable[str]) -> List[str]:
    """Return the id that a text is, else those that start with it, sorted; none for an empty text."""
    known = sorted(set(ids))
    return [text] if text in known else [id for id in known if text and id.startswith(text)]


def unknown(what: str, text: str, started: Sequence[str], ids: Iterable[str], otherwise: str) -> str:
    """Say why a text names no record, with what it may mean.

    what: "record", say.  started: the ids that start with it.  ids: all there are, of which those are named that one slip
    of the finger turns into the text: ids are hexadecimal, so whatever is less near is as likely any other record, and
    perhaps one that is about to be removed.  otherwise: what helps where none is near.
    """
    if len(started) > 1:
        return "'%s' may mean %s; give more of it" % (text[:80], ", ".join(started[:3]))
    near = [id for id in ids if is_slip(text, id)][:3]
    return "no %s '%s'; %s" % (what, text[:80], "did you mean %s?" % ", ".join(near) if near else otherwise)


def is_slip(typed: str, id: str) -> bool:
    """Tell whether one character more, less or other, or two neighbours swapped, make the difference; in `r-1` all would."""
    if min(len(typed), len(id)) < SHORTEST or abs(len(typed) - len(id)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(typed, id)) if a != b), min(len(typed), len(id)))
    one, two = typed[start:], id[start:]
    return one[1:] == two[1:] or one[1:] == two or one == two[1:] or (one[1:2] + one[:1] + one[2:] == two)
