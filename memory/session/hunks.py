"""What edits changed: the lines that went and came (`-old`, `+new`), told in a few of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from functools import lru_cache, reduce

from memory.core.plaintext import one_line
from memory.session.transcript import clean, clip

_WIDTH, _LONG = 90, 200  # characters of a line that is told beside another, and of one that stands alone
_CUT = " …"  # how a hunk ends that was clipped
_COMMENT = re.compile(  # what tells nothing of a change: a comment, a line for the log
    r"\s*(?:echo|printf)\s|.*\b(?:DEBUG\b|(?:[FS]?[Pp]rint(?:f|ln)?|console\.log|logg?(?:er|ing)?\.\w+|t\.(?:Fatal|Error|Log)f?)\()|"
    r"\s*(?:#(?!\[|include|if|define)|//|/\*|\*|--|<!--|\"\"\")")
_DEFINED = re.compile(  # a line that defines what a whole file, or every file, may use: no method, nothing local
    r"(?:export |public |static |async |default |pub(?:\(\w+\))? |abstract |final |unsafe )*"
    r"(?:func|def|fn|class|type|struct|interface|enum|trait|module|function\*?)\s+(\w{5,})")
_NUMBER = re.compile(r"\d+")
_NAMES, _PARTS = re.compile(r"(\w+)"), re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}")  # names of a line; parts of a name
_DENIED = ("no", "not", "un", "non", "dis", "without")  # what turns a name into its opposite
_LITTLE = 12  # characters of a line that stands in many places
_FEW = 8  # lines of one shape that a line is compared with
_NAME, _SHARE = 6, 0.5  # characters of a name that is told to be renamed; share of its parts that the new one has
_WAITS = re.compile(r"time_?out|wait|delay|sleep|retr(?:y|ies)|deadline|interval|debounce", re.I)
_WORDLESS = re.compile(r"\W*\w*\W*\Z")  # a line that says no more than a name
_ASIDE = re.compile(r"(?<=\S)\s+(?://|#)\s.*(?<! …)\Z")  # a comment behind a line of code


def of_result(data: object, read: int, most: int) -> str:
    """Return the lines that an edit removed and added, by the host's structured result; none of a file with private parts.

    read: characters of the patch that are looked at.  most: characters returned.
    """
    patch = data.get("structuredPatch") if isinstance(data, dict) else None
    if not isinstance(data, dict) or "<private" in str(data.get("originalFile") or "").lower():
        return ""
    found = [line for part in patch if isinstance(part, dict) and isinstance(part.get("lines"), list)
             for line in part["lines"] if isinstance(line, str)] if isinstance(patch, list) else []
    whole = clean(clip("\n".join(found), read)) if found else ""
    return clip("\n".join(line for line in whole.split("\n") if line[:1] in ("-", "+") and line[1:].strip()), most)


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


def changed_again(hunk: str, later: list[str], most: int) -> list[tuple[str, str]]:
    """Return what later edits made of the lines that an edit brought, as `told` does; none where they stay."""
    came = {line for line in lines(hunk)[1] if len(line) > _LITTLE}
    changes = [other for other in later if came & lines(other)[0]]
    return told(reduce(joined, changes), most) if changes else []


def told(hunk: str, most: int) -> list[tuple[str, str]]:
    """Return (sign, line) of each line of code that went or came, in their order; none where they are too many, or one is cut."""
    every = [_ASIDE.sub("", line) or line for line in hunk.split("\n")]
    hunk = "\n".join(every)
    gone, come = lines(hunk)
    found = [(line[0], line[1:].strip()) for line in every if line[1:].strip() in (gone if line[:1] == "-" else come)]
    found = [(sign, line) for sign, line in dict.fromkeys(found) if len(line) > 3 and not _COMMENT.match(line)]
    return found if len(found) <= most and not any(line.endswith(_CUT) for line in every) else []


def about(hunk: str, most: int, names: Set[str]) -> list[tuple[str, str]]:
    """Return the lines of a change where they are at most `most`, and not more than two without one of the names."""
    found = told(hunk, most)
    return found if len(found) <= 2 or not names.isdisjoint(map(str.lower, _NAMES.findall(hunk))) else []


def bearing(hunk: str, names: Set[str], most: int) -> list[str]:
    """Return the lines of code that came and bear one of some names, in small letters; none where they are too many."""
    every = [_ASIDE.sub("", line) for line in hunk.split("\n")]
    come = lines("\n".join(every))[1]
    found = [line for line in dict.fromkeys(one[1:].strip() for one in every if one[:1] == "+")
             if line in come and not _COMMENT.match(line) and not line.endswith(_CUT) and not _WORDLESS.match(line)
             and not names.isdisjoint(word.lower() for word in _NAMES.split(line)[1::2])]
    return found if len(found) <= most else []


def undefined(changed: Iterable[str]) -> set[str]:
    """Return the names whose definition some edits took away and none brought; not what was renamed, its line else the same.

    changed: the lines of each edit.
    """
    held = [(line[0], match[1], line[1:].replace(match[1], "", 1)) for hunk in changed for line in hunk.split("\n")
            for match in [_DEFINED.match(line, 1)] if match]
    kept = {part for sign, *parts in held if sign == "+" for part in parts}
    return {name for sign, name, rest in held if sign == "-" and name not in kept and rest not in kept}


def renamed(changed: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return (the new name, the number of the last edit that gave it) of each name that some edits replaced and none used since.

    Replaced is a name where a line came that is else the one that went, in its definition or in two lines; the new name has half
    of its parts.  changed: the lines of each edit, in their order.
    """
    found: dict[str, dict[str, dict[str, int]]] = {}
    used: dict[str, int] = {}  # the last edit that brought a line with each name
    for at, hunk in enumerate(changed):
        gone, come = ([_NAMES.split(line) for line in sorted(part)] for part in lines(hunk))
        used.update((name, at) for parts in come for name in parts[1::2])
        by_shape: dict[tuple[str, ...], list[list[str]]] = {}
        for parts in come if gone else ():
            by_shape.setdefault(tuple(parts[::2]), []).append(parts[1::2])
        for parts in gone:
            for other in by_shape.get(tuple(parts[::2]), ())[:_FEW]:
                differ = {pair for pair in zip(parts[1::2], other) if pair[0] != pair[1]}
                for old, new in differ if len(differ) == 1 else ():
                    if len(old) >= _NAME and _shared(old, new) >= _SHARE and not _opposite(old, new):
                        found.setdefault(old, {}).setdefault(new, {})["".join(parts)] = at
    best = {old: max(became.items(), key=lambda pair: (len(pair[1]), _shared(old, pair[0]), max(pair[1].values()), pair[0]))
            for old, became in found.items()}
    return {old: (new, max(where.values())) for old, (new, where) in best.items() if used.get(old, -1) < min(where.values())
            and (len(where) > 1 or any(map(_DEFINED.match, where)))}


def _opposite(old: str, new: str) -> bool:
    """Tell whether one of two names is the other one denied: `no_telemetry` and `telemetry`."""
    pairs = [(one.lower(), other.lower()) for one, other in ((old, new), (new, old))]
    return any(one.startswith(word) and one[len(word):].lstrip("_") == other for one, other in pairs for word in _DENIED)


def _shared(old: str, new: str) -> float:
    """Return the share of a name's parts that another has: all of `no_telemetry` for `telemetryOff`."""
    one, other = ({part.lower() for part in _PARTS.findall(name)} for name in (old, new))
    return len(one & other) / max(1, len(one))


def is_comment(hunk: str) -> bool:
    """Tell whether an edit is known whole and changed nothing but comments."""
    return bool(hunk) and _CUT not in hunk and not told(hunk, len(hunk))


def is_limit(hunk: str, told: str) -> bool:
    """Tell whether an edit changed nothing but how long something waits, and a text tells one of the numbers that went."""
    gone, come = lines(hunk)
    if not all(_WAITS.search(line) for line in gone):
        return False
    numbers = {number for line in gone for number in _NUMBER.findall(line)}
    return _without_numbers(gone) == _without_numbers(come) and bool(numbers.intersection(_NUMBER.findall(told)))


def _without_numbers(changed: Iterable[str]) -> set[str]:
    return {_NUMBER.sub("0", line) for line in changed}


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


def shown(changed: list[tuple[str, str]], quoted: Callable[[str, int], str]) -> str:
    """Tell what `told` returned behind the name of its file: in the same line where it is one change, else below it.

    quoted: sets a line in marks of code, cut to so many characters.
    """
    if not changed:
        return ""
    if [sign for sign, _ in changed] == ["-", "+"]:
        return ": %s → %s" % tuple(quoted(line, _WIDTH) for line in apart(changed[0][1], changed[1][1], _WIDTH))
    if len(changed) == 1:
        return ": %s %s" % (changed[0][0].replace("-", "−"), quoted(changed[0][1], _WIDTH))
    return "\n".join(["", "", *("      %s %s" % (sign, one_line(line, _LONG)) for sign, line in changed)])
