"""What a record names: files, commits, identifiers, in which file it says they are; and how surely
a source text holds one.

How surely is a number, the same for the text of then and of now: 3 a member of the class that is
named with it, 2 defined, 1 used, 0 not there or in comments alone.  Lines decide, no language's
grammar does: what a rule takes for a definition it takes for one both times, and only a fall says
that something is gone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from memory.core.records import Record, meta_text
from memory.session.latepattern import Late

MEMBER, DEFINED, USED, ABSENT = 3, 2, 1, 0
TEXT_LIMIT = 1 << 16  # characters of a body that are searched
KEPT = 512  # texts of which is remembered what they name: a server shows the same records again
QUOTES = 400  # quoted words of a body that are looked at
PLACES = 60  # places of a word in one source that are looked at
# nothing is defined in files of these
PROSE = frozenset("md mdx rst txt adoc html htm csv tsv lock ipynb".split())
DATA = frozenset("json jsonc jsonl ndjson xml svg po snap patch diff log map sum".split()) | PROSE
EXTENSIONS = frozenset(
    "py pyi js jsx ts tsx mjs cjs go rs java kt kts scala rb php c h cc cpp cxx hpp cs swift m mm "
    "sh bash zsh fish ps1 sql html htm css scss sass less vue svelte md mdx rst txt toml yaml yml "
    "json jsonc xml ini cfg conf lock gradle tf proto graphql ex exs erl clj hs ml lua r jl dart "
    "zig nix cmake mk ipynb csv tsv env".split()
)
# brackets stand around a name: `[id]`, `(shop)`
_PART = r"(?:[\w.@+-]|\([\w.@+-]{1,60}\)|\[{1,2}[\w.@+-]{1,60}\]{1,2})+"
# no path starts in the midst of one: each run of its characters is tried once
BEFORE = r"(?<![\w/.:@~\\+)\]-])"
PATH = r"(?:%s/)*%s(?<=[\w\])])\.[A-Za-z0-9]{1,8}" % (_PART, _PART)

_NAME = r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*"
_QUOTED = Late(r"`([^`\n]{2,200})`")
_SYMBOL = Late(r"(%s)(\([^()\n]*\))?\Z" % _NAME)
_AT = Late(BEFORE + r"(%s):{1,2}(?:L?\d+:)?([A-Za-z_$][\w$]+(?:(?:\.|::)[A-Za-z_$][\w$]*)*)" % PATH)
# "`run` is defined in `src/app.py`": what stands in its place says nothing false of a file that
# never held the name
_IN = Late(
    r"(?:\s+[a-z]{1,12}){0,4}?\s+(?:in|of|from|inside|at)\s+(?:the\s+)?(?:file\s+)?`?(%s)" % PATH
)
_OF = ("'s", "’s", "의", "の", "的", "에서", ":")
_OWNER = Late(BEFORE + r"(%s)`?(?:%s)\s*`\Z" % (PATH, "|".join((*_OF, "中的"))))
_SEPARATOR = Late(r"\.|::|#|->")
_COMMENT = Late(
    r"\s*(?:#(?!\s*(?:define|include|if|undef|\[|!))|//|/?\*|--(?![\w-])|;|<!--)"
    r"|.*(?:(?<!:)//|\s#\s|/\*)"
)
# what stands before a name that is defined there
_DEFINES = frozenset(
    "def class func fun fn function function* struct enum union trait interface type const let var "
    "val module mod macro macro_rules! impl record object namespace typedef package protocol "
    "extension sub proc static defmodule defp message service rpc define mut unique".split()
)
_SQL = frozenset("table view index exists".split())  # in any case
_STATEMENTS = frozenset(
    "return else new await yield throw case in not and or assert del raise".split()
)
_MODIFIERS = frozenset(
    "public private protected static async export default final override get set virtual inline "
    "extern const unsigned abstract readonly *".split()
)
# a receiver, an owner, marks of pointers and quotes between a keyword and its name
_BETWEEN = Late(
    r"(?:\([^)\n]{0,400}\)\s{0,20})?(?:(?<![\w$])[\w$]{1,80}(?:\.|::)){0,20}[*&`\"]{0,20}\Z"
)
_LEFT = Late(r"\s*(?:[\w$<>\[\]*&:?]+\s+){0,4}(?:[\w$]+(?:\.prototype)?\.)?[*&]*\Z")
_TYPES = Late(r"\s*(?:[\w$<>\[\],*&:.?]+\s+){1,6}(?:[\w$]+::)*[*&]*\Z")
_ASSIGNED = Late(r"\s*(?::[^=\n]*)?=(?![=>])[^\n]*[^\s,]\s*\Z|\s*:=")
_BODY = Late(r"\s*(?:<[^>\n]*>)?\((?![^\n]*(?:=>|\bfunction\b))[^;\n]*\{\s*\Z")
_HEAD = Late(r"\s{0,80}\([^;\n]{0,400}\)?\s{0,20}(?:(?:const|noexcept|override)\s{0,20})?\Z")
_FIELD = Late(r"\s*(?:;|=[^=>])")
_OPENING = Late(
    r"""\"{3}|'{3}|/\*|"(?:\\.|[^"\\\n]){0,400}"|'(?:\\.|[^'\\\n]){0,400}'|\#[^\n]*|//[^\n]*"""
)
_CLOSING = {'"""': '"""', "'''": "'''", "/*": "*/"}
_KEY = Late(r"[\"']?\s*:(?!:)")

_PATH = Late(BEFORE + r"(%s)(?![\w/])" % PATH)
_HASH = Late(r"(?<![\w/.-])[0-9a-f]{7,40}(?![\w/-]|\.\w)")
# what calls a hash a commit: the word before it, or the two
_CALLS = frozenset(
    "commit commits committed revert reverts reverted cherry-pick cherry-picks cherry-picked merge "
    "merged rev revision sha since".split()
)
_CALLS_TOGETHER = frozenset(
    "git show, git log, git checkout, git diff, fixed in, fixed by, introduced in, introduced by, "
    "landed in, landed as".split(", ")
)


# --- files and commits


def listed_files(record: Record) -> list[str]:
    named = record.meta.get("files")
    items = (
        [named]
        if isinstance(named, str)
        else [n for n in named if isinstance(n, str)]
        if isinstance(named, list)
        else []
    )
    return [part.strip() for item in items for part in item.split(",")]


def mentioned(body: str) -> list[str]:
    """Return the paths that a text names, in order.  Without a slash in backticks alone."""
    return list(_paths(body[:TEXT_LIMIT]))


@lru_cache(maxsize=KEPT)
def _paths(text: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for word in text.split():
        # no path holds a blank
        for match in _PATH.finditer(word) if "/" in word and "." in word else ():
            path = match.group(1)
            if "/" in path and is_file(path):
                found[path] = None
    for quoted in _QUOTED.findall(text):
        word = quoted.strip().partition(":")[0].removeprefix("./")
        if _PATH.fullmatch(word) and is_file(word):
            found[word] = None
    return tuple(found)


def mentions(record: Record, path: str) -> bool:
    """Tell whether a record names a file or the end of its path."""
    wanted = path.replace("\\", "/").strip("/").lower()
    while wanted.startswith("./"):
        wanted = wanted[2:]
    if not wanted:
        return False
    if any(("/" + one.lower()).endswith("/" + wanted) for one in listed_files(record)):
        return True
    return (
        re.search(r"(?<![\w.-])" + re.escape(wanted) + r"(?![\w/-]|\.\w)", record.body.lower())
        is not None
    )


def own_commit(record: Record) -> str:
    said = meta_text(record, "commit")
    return said if re.fullmatch(r"[0-9a-f]{7,40}", said) else ""


def hashes(body: str) -> list[tuple[str, bool]]:
    """Return (hash or checksum, whether the text calls it a commit)."""
    text = body[:TEXT_LIMIT]
    found = []
    for match in _HASH.finditer(text):
        name, start = match.group(), match.start()
        line = text.rfind("\n", 0, start) + 1
        bare = text[max(line, start - 80) : start]
        called = not name.isdigit() and not name.isalpha() and _calls_a_commit(bare)
        found.append((name, called))
    return found


def _calls_a_commit(before: str) -> bool:
    every = re.findall(r"[\w-]+", before.lower())
    words = [word for word in every if word != "and" and not _HASH.fullmatch(word)]
    return bool(words) and (words[-1] in _CALLS or " ".join(words[-2:]) in _CALLS_TOGETHER)


# --- identifiers


class Symbol(NamedTuple):
    """A symbol without its call.  file: the path that the text gives for it, or ""."""

    name: str
    file: str


def named_symbols(body: str) -> list[Symbol]:
    """Return the symbols that a text names, in their order, each once.

    In backticks, where they look like identifiers; with a file, any word does: "`run` in
    `src/app.py`", "`src/app.py`'s `run`", `src/app.py:run`.
    """
    return list(_named(body[:TEXT_LIMIT]))


@lru_cache(maxsize=KEPT)
def _named(text: str) -> tuple[Symbol, ...]:
    found = _named_after_paths(text)
    for match in islice(_QUOTED.finditer(text), QUOTES):
        symbol = _SYMBOL.match(match.group(1).strip())
        if not symbol or is_file(symbol.group(1)):
            continue
        name, place = symbol.group(1), _place(text, match)
        if place or (is_identifier(name) or symbol.group(2)) and len(name) > 2:
            found[name] = found.get(name) or place
    return tuple(Symbol(name, path) for name, path in found.items())


def _named_after_paths(text: str) -> dict[str, str]:
    """Return the path of each symbol written behind its file."""
    found: dict[str, str] = {}
    for word in text.split():
        for match in _AT.finditer(word) if ":" in word and "." in word else ():
            path, name = match.group(1), match.group(2)
            if is_file(path):
                found[name] = _path(path)
    return found


def _place(text: str, match: re.Match[str]) -> str:
    """Return the file given for a quoted word in its sentence, or ""."""
    after = _IN.match(text, match.end())
    start = max(0, match.start() - 200)
    owned = text[start : match.start()].rstrip().endswith(_OF)
    before = _OWNER.search(text, start, match.start() + 1) if owned else None
    path = after.group(1) if after else before.group(1) if before else ""
    return _path(path) if path and is_file(path) else ""


def _path(path: str) -> str:
    return path[2:] if path.startswith("./") else path


def is_file(path: str) -> bool:
    return (
        path.rpartition(".")[2].lower() in EXTENSIONS
        and "." in path
        and ".." not in path
        and "//" not in path
    )


def is_source(path: str) -> bool:
    """Tell whether a tree search reads files of this name: code, settings, no extension."""
    base = path.rpartition("/")[2]
    return base.rpartition(".")[2].lower() not in DATA and not base.endswith(
        (".min.js", ".min.css")
    )


def is_identifier(name: str) -> bool:
    """Tell whether a word is an identifier rather than prose."""
    parts = _SEPARATOR.split(name)
    return (
        len(parts) > 1
        or "_" in name.strip("_")
        or any(a.islower() and b.isupper() for a, b in zip(name, name[1:]))
    )


def parts_of(name: str) -> list[str]:
    """Return the parts of a name: `Config` and `load` of `Config.load`."""
    return _SEPARATOR.split(name)


def most(name: str) -> int:
    return MEMBER if len(parts_of(name)) > 1 else DEFINED


def level(source: str, name: str, path: str) -> int:
    """Return the level of a symbol in a source text.  The path's extension may rule it out."""
    parts = _SEPARATOR.split(name)
    places = _places(source, parts[-1])
    best = max((found for _, found in places), default=ABSENT)
    if path.rpartition(".")[2].lower() in PROSE:
        return min(best, USED)
    if best < DEFINED or len(parts) < 2:
        return best
    spans = [_span(source, at) for at, found in _places(source, parts[-2]) if found == DEFINED]
    for at, found in places:
        if found == DEFINED and (
            any(low < at < high for low, high in spans) or _is_owned(source, at, parts[-2])
        ):
            return MEMBER
    return DEFINED


def _places(source: str, word: str) -> list[tuple[int, int]]:
    """Return (offset, DEFINED or USED) of a whole word's places."""
    found: list[tuple[int, int]] = []
    at, seen = source.find(word), 0
    while at >= 0 and seen < PLACES:
        end = at + len(word)
        if not (_is_word(source[at - 1 : at]) or _is_word(source[end : end + 1])):
            seen += 1
            best = _place_level(source, at, end)
            if (best == DEFINED or best and not found) and not _is_inside(source, at):
                found.append((at, best))
        at = source.find(word, end)
    return found


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" if char else False


def _place_level(source: str, at: int, end: int) -> int:
    first = source.rfind("\n", 0, at) + 1
    last = source.find("\n", end)
    before, after = source[first:at][-400:], source[end : last if last >= 0 else len(source)][:400]
    if _COMMENT.match(before):
        return ABSENT
    defined = (
        (not before.strip(" \t\"'") and _KEY.match(after))
        or (_ASSIGNED.match(after) and _LEFT.match(before))
        or _is_declared(before, after)
        or _is_defining(before)
    )
    return DEFINED if defined else USED


def _is_declared(before: str, after: str) -> bool:
    """Tell whether a type or modifiers before a name declare it."""
    words = before.split()
    if words and words[0] not in _STATEMENTS and _TYPES.match(before):
        return bool(_BODY.match(after) or _HEAD.match(after) or _FIELD.match(after))
    modified = before[-1:].strip() == "" and _MODIFIERS.issuperset(words)
    return modified and bool(_BODY.match(after))


def _is_defining(before: str) -> bool:
    """Tell whether a line's text before a name ends with a defining keyword."""
    match = _BETWEEN.search(before)
    said = before[: match.start()] if match else before
    last = re.findall(r"[\w$*!]+", said)[-1:] if said[-1:].isspace() else []
    return bool(last) and (last[0] in _DEFINES or last[0].lower() in _SQL)


def _is_inside(source: str, at: int) -> bool:
    if not (
        source.count('"""', 0, at) % 2
        or source.count("'''", 0, at) % 2
        or source.rfind("/*", 0, at) > source.rfind("*/", 0, at)
    ):
        return False
    opening = _OPENING.search(source, 0, at)
    while opening:
        mark, end = opening.group(), opening.end()
        if mark in _CLOSING:
            close = source.find(_CLOSING[mark], end)
            if close < 0 or close >= at:
                return close >= at
            end = close + len(_CLOSING[mark])
        opening = _OPENING.search(source, end, at)
    return False


def _span(source: str, at: int) -> tuple[int, int]:
    """Return (start, end) of the indented block below a place."""
    first = source.rfind("\n", 0, at) + 1
    indent = len(source[first:at]) - len(source[first:at].lstrip())
    end = source.find("\n", at)
    while end >= 0:
        following = source.find("\n", end + 1)
        line = source[end + 1 : following if following >= 0 else len(source)]
        bare = line.lstrip()
        if bare and len(line) - len(bare) <= indent and bare[0] not in "{})":
            return at, end
        end = following
    return at, len(source)


def _is_owned(source: str, at: int, owner: str) -> bool:
    before = source[source.rfind("\n", 0, at) + 1 : at]
    return (
        re.search(
            r"\b%s(?:\.|::|\.prototype\.|[^()\n]{0,200}\)\s{0,20})\Z" % re.escape(owner), before
        )
        is not None
    )
