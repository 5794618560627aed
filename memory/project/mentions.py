"""Finds the files, commits and identifiers that a record names, and the level of an identifier in a
source text.

Levels: 3 a member of the class named with it, 2 defined, 1 used, 0 absent or in comments alone.
Lines decide, not a language's grammar: a rule errs alike in an old and a new text, and only a lower
level than before means that an identifier is gone.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from memory.core import files
from memory.core.records import Record, meta_text
from memory.core.tokeniser import compose
from memory.session.latepattern import LazyPattern

MEMBER, DEFINED, USED, ABSENT = 3, 2, 1, 0
TEXT_LIMIT = 1 << 16  # characters of a body that are searched
CACHED_TEXTS = 512  # a server shows the same records again
MOST_QUOTES = 400  # quoted words of a body that are looked at
MOST_PLACES = 60  # places of a word in one source that are looked at
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
# no path starts within a run of its characters, so each run is tried once
BEFORE = r"(?<![\w/.:@~\\+)\]-])"
PATH = r"(?:%s/)*%s(?<=[\w\])])\.[A-Za-z0-9]{1,8}" % (_PART, _PART)

_NAME = r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*"
_QUOTED = LazyPattern(r"`([^`\n]{2,200})`")
_SYMBOL = LazyPattern(r"(%s)(\([^()\n]*\))?\Z" % _NAME)
_NAME_AFTER_PATH = LazyPattern(
    BEFORE + r"(%s):{1,2}(?:L?\d+:)?([A-Za-z_$][\w$]+(?:(?:\.|::)[A-Za-z_$][\w$]*)*)" % PATH
)
# "`run` is defined in `src/app.py`"
_PATH_AFTER_NAME = LazyPattern(
    r"(?:\s+[a-z]{1,12}){0,4}?\s+(?:in|of|from|inside|at)\s+(?:the\s+)?(?:file\s+)?`?(%s)" % PATH
)
_POSSESSIVES = ("'s", "’s", "의", "の", "的", "에서", ":")
_OWNER = LazyPattern(BEFORE + r"(%s)`?(?:%s)\s*`\Z" % (PATH, "|".join((*_POSSESSIVES, "中的"))))
_SEPARATOR = LazyPattern(r"\.|::|#|->")
_COMMENT = LazyPattern(
    r"\s*(?:#(?!\s*(?:define|include|if|undef|\[|!))|//|/?\*|--(?![\w-])|;|<!--)"
    r"|.*(?:(?<!:)//|\s#\s|/\*)"
)
# keywords before a defined name
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
_BETWEEN = LazyPattern(
    r"(?:\([^)\n]{0,400}\)\s{0,20})?(?:(?<![\w$])[\w$]{1,80}(?:\.|::)){0,20}[*&`\"]{0,20}\Z"
)
_ASSIGNMENT_TARGET = LazyPattern(
    r"\s*(?:[\w$<>\[\]*&:?]+\s+){0,4}(?:[\w$]+(?:\.prototype)?\.)?[*&]*\Z"
)
_TYPE_BEFORE = LazyPattern(r"\s*(?:[\w$<>\[\],*&:.?]+\s+){1,6}(?:[\w$]+::)*[*&]*\Z")
_ASSIGNED = LazyPattern(r"\s*(?::[^=\n]*)?=(?![=>])[^\n]*[^\s,]\s*\Z|\s*:=")
_FUNCTION_BODY = LazyPattern(r"\s*(?:<[^>\n]*>)?\((?![^\n]*(?:=>|\bfunction\b))[^;\n]*\{\s*\Z")
_PARAMETERS = LazyPattern(
    r"\s{0,80}\([^;\n]{0,400}\)?\s{0,20}(?:(?:const|noexcept|override)\s{0,20})?\Z"
)
_FIELD = LazyPattern(r"\s*(?:;|=[^=>])")
_OPENING = LazyPattern(
    r"""\"{3}|'{3}|/\*|"(?:\\.|[^"\\\n]){0,400}"|'(?:\\.|[^'\\\n]){0,400}'|\#[^\n]*|//[^\n]*"""
)
_CLOSING = {'"""': '"""', "'''": "'''", "/*": "*/"}
_KEY = LazyPattern(r"[\"']?\s*:(?!:)")

_PATH = LazyPattern(BEFORE + r"(%s)(?![\w/])" % PATH)
_HASH = LazyPattern(r"(?<![\w/.-])[0-9a-f]{7,40}(?![\w/-]|\.\w)")
# a hash is a commit after one of these words, or of these pairs
_COMMIT_WORDS = frozenset(
    "commit commits committed revert reverts reverted cherry-pick cherry-picks cherry-picked merge "
    "merged rev revision sha since".split()
)
_COMMIT_PHRASES = frozenset(
    "git show, git log, git checkout, git diff, fixed in, fixed by, introduced in, introduced by, "
    "landed in, landed as".split(", ")
)


# --- files and commits


def listed_files(record: Record) -> list[str]:
    """Return the paths of a record's key `files`."""
    named = record.meta.get("files")
    items = named if isinstance(named, list) else [named]
    return [part.strip() for item in items if isinstance(item, str) for part in item.split(",")]


def find_paths(body: str) -> list[str]:
    """Return the paths in a text, those without a slash only from backticks."""
    return list(_find_paths(body[:TEXT_LIMIT]))


@lru_cache(maxsize=CACHED_TEXTS)
def _find_paths(text: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    # no path holds a blank
    for word in [word for word in text.split() if "/" in word and "." in word]:
        for match in _PATH.finditer(word):
            path = match.group(1)
            if "/" in path and looks_like_file(path):
                found[path] = None
    for quoted in _QUOTED.findall(text):
        word = quoted.strip().partition(":")[0].removeprefix("./")
        if _PATH.fullmatch(word) and looks_like_file(word):
            found[word] = None
    return tuple(found)


def make_relative(path: str, root: str) -> str:
    """Return a path inside a checkout relative to it, any other unchanged.

    Of a path from a folder below, what stands behind its `../`.
    """
    start = compose(root).rstrip("/") + "/"
    plain = posixpath.normpath(path.replace("\\", "/"))
    for whole in (plain, files.real_path(path) if path[:1] == "/" else ""):
        if compose(whole).startswith(start):
            return compose(whole)[len(start) :]
    return plain.replace("../", "") if path.startswith("../") else path


def mentions_file(record: Record, path: str) -> bool:
    """Tell whether a record names a file or the end of its path."""
    wanted = compose(path).replace("\\", "/").strip("/").lower()
    while wanted.startswith("./"):
        wanted = wanted[2:]
    if not wanted:
        return False
    listed = map(compose, (record.path, *listed_files(record)))
    if any(("/" + path.lower()).endswith("/" + wanted) for path in listed):
        return True
    whole = r"(?<![\w.-])" + re.escape(wanted) + r"(?![\w/-]|\.\w)"
    return re.search(whole, compose(record.body).lower()) is not None


def own_commit(record: Record) -> str:
    commit = meta_text(record, "commit")
    return commit if re.fullmatch(r"[0-9a-f]{7,40}", commit) else ""


def find_hashes(body: str) -> list[tuple[str, bool]]:
    """Return (hash, whether it is called a commit) of a text's hashes."""
    text = body[:TEXT_LIMIT]
    found = []
    for match in _HASH.finditer(text):
        name, start = match.group(), match.start()
        line = text.rfind("\n", 0, start) + 1
        before = text[max(line, start - 80) : start]
        is_commit = not name.isdigit() and not name.isalpha() and _calls_a_commit(before)
        found.append((name, is_commit))
    return found


def _calls_a_commit(before: str) -> bool:
    every = re.findall(r"[\w-]+", before.lower())
    words = [word for word in every if word != "and" and not _HASH.fullmatch(word)]
    return bool(words) and (words[-1] in _COMMIT_WORDS or " ".join(words[-2:]) in _COMMIT_PHRASES)


# --- identifiers


class Symbol(NamedTuple):
    """An identifier.  file: its path according to the text, or ""."""

    name: str
    file: str


def find_symbols(body: str) -> list[Symbol]:
    """Return the symbols in a text, each once, in order.

    Identifiers in backticks, and any word with a file: "`run` in `src/app.py`", "`src/app.py`'s
    `run`", `src/app.py:run`.
    """
    return list(_find_symbols(body[:TEXT_LIMIT]))


@lru_cache(maxsize=CACHED_TEXTS)
def _find_symbols(text: str) -> tuple[Symbol, ...]:
    found = _find_symbols_after_paths(text)
    for match in islice(_QUOTED.finditer(text), MOST_QUOTES):
        symbol = _SYMBOL.match(match.group(1).strip())
        if not symbol or looks_like_file(symbol.group(1)):
            continue
        name, place = symbol.group(1), _find_symbol_file(text, match)
        is_code = is_identifier(name) or bool(symbol.group(2))
        if place or (is_code and len(name) > 2):
            found[name] = found.get(name) or place
    return tuple(Symbol(name, path) for name, path in found.items())


def _find_symbols_after_paths(text: str) -> dict[str, str]:
    """Return the path of each symbol written like `src/app.py:run`."""
    found: dict[str, str] = {}
    for word in [word for word in text.split() if ":" in word and "." in word]:
        for match in _NAME_AFTER_PATH.finditer(word):
            path, name = match.group(1), match.group(2)
            if looks_like_file(path):
                found[name] = path.removeprefix("./")
    return found


def _find_symbol_file(text: str, match: re.Match[str]) -> str:
    """Return the file that a text names beside a quoted symbol, or ""."""
    place = _PATH_AFTER_NAME.match(text, match.end())
    start = max(0, match.start() - 200)
    if not place and text[start : match.start()].rstrip().endswith(_POSSESSIVES):
        place = _OWNER.search(text, start, match.start() + 1)
    path = place.group(1) if place else ""
    return path.removeprefix("./") if looks_like_file(path) else ""


def looks_like_file(path: str) -> bool:
    _, dot, extension = path.rpartition(".")
    return bool(dot) and extension.lower() in EXTENSIONS and ".." not in path and "//" not in path


def is_source(path: str) -> bool:
    """Tell whether a path is neither data nor prose nor minified."""
    base = path.rpartition("/")[2]
    minified = base.endswith((".min.js", ".min.css"))
    return base.rpartition(".")[2].lower() not in DATA and not minified


def is_identifier(name: str) -> bool:
    """Tell whether a word is an identifier rather than prose."""
    is_camel = any(a.islower() and b.isupper() for a, b in zip(name, name[1:]))
    return is_camel or len(split_name(name)) > 1 or "_" in name.strip("_")


def split_name(name: str) -> list[str]:
    """Return the parts of a name: `Config` and `load` of `Config.load`."""
    return _SEPARATOR.split(name)


def highest_level(name: str) -> int:
    return MEMBER if len(split_name(name)) > 1 else DEFINED


def find_level(source: str, name: str, path: str) -> int:
    """Return the level of a symbol in a source text: MEMBER, DEFINED, USED or ABSENT."""
    parts = split_name(name)
    places = _find_places(source, parts[-1])
    best = max((level for _, level in places), default=ABSENT)
    if path.rpartition(".")[2].lower() in PROSE:
        return min(best, USED)  # prose defines nothing
    if best < DEFINED or len(parts) < 2:
        return best
    owner = parts[-2]
    owners = [at for at, level in _find_places(source, owner) if level == DEFINED]
    blocks = [_find_block(source, at) for at in owners]
    for at in [at for at, level in places if level == DEFINED]:
        is_inside = any(start < at < end for start, end in blocks)
        if is_inside or _follows_owner(source, at, owner):
            return MEMBER
    return DEFINED


def _find_places(source: str, word: str) -> list[tuple[int, int]]:
    """Return (offset, DEFINED or USED) of the places of a whole word."""
    found: list[tuple[int, int]] = []
    at, seen = source.find(word), 0
    while at >= 0 and seen < MOST_PLACES:
        end = at + len(word)
        if not (_is_word_char(source[at - 1 : at]) or _is_word_char(source[end : end + 1])):
            seen += 1
            level = _place_level(source, at, end)
            counts = level == DEFINED or (level == USED and not found)
            if counts and not _is_in_comment_or_string(source, at):
                found.append((at, level))
        at = source.find(word, end)
    return found


def _is_word_char(char: str) -> bool:
    return char.isalnum() or char == "_"


def _place_level(source: str, at: int, end: int) -> int:
    """Return DEFINED or USED for the word at a place, ABSENT in a comment."""
    first = source.rfind("\n", 0, at) + 1
    last = source.find("\n", end)
    before, after = source[first:at][-400:], source[end : last if last >= 0 else len(source)][:400]
    if _COMMENT.match(before):
        return ABSENT
    defined = (
        (not before.strip(" \t\"'") and _KEY.match(after))
        or (_ASSIGNED.match(after) and _ASSIGNMENT_TARGET.match(before))
        or _is_declared(before, after)
        or _ends_with_keyword(before)
    )
    return DEFINED if defined else USED


def _is_declared(before: str, after: str) -> bool:
    """Tell whether a type or modifiers before a name declare it."""
    words = before.split()
    if words and words[0] not in _STATEMENTS and _TYPE_BEFORE.match(before):
        return bool(_FUNCTION_BODY.match(after) or _PARAMETERS.match(after) or _FIELD.match(after))
    modified = before[-1:].strip() == "" and _MODIFIERS.issuperset(words)
    return modified and bool(_FUNCTION_BODY.match(after))


def _ends_with_keyword(before: str) -> bool:
    """Tell whether a defining keyword stands directly before a name."""
    match = _BETWEEN.search(before)
    rest = before[: match.start()] if match else before
    last = re.findall(r"[\w$*!]+", rest)[-1:] if rest[-1:].isspace() else []
    return bool(last) and (last[0] in _DEFINES or last[0].lower() in _SQL)


def _is_in_comment_or_string(source: str, at: int) -> bool:
    is_quoted = any(source.count(quotes, 0, at) % 2 for quotes in ('"""', "'''"))
    if not is_quoted and source.rfind("/*", 0, at) <= source.rfind("*/", 0, at):
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


def _find_block(source: str, at: int) -> tuple[int, int]:
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


def _follows_owner(source: str, at: int, owner: str) -> bool:
    """Tell whether a class's name, or a Go receiver of it, stands before a place."""
    before = source[source.rfind("\n", 0, at) + 1 : at]
    form = r"\b%s(?:\.|::|\.prototype\.|[^()\n]{0,200}\)\s{0,20})\Z" % re.escape(owner)
    return re.search(form, before) is not None
