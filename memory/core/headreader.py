"""The line reader of a frontmatter head: a strict subset of YAML, its best guess beyond it, and the
lines where it guessed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

INDICATORS = ",[]{}#&*!|>'\"%@`"  # cannot begin a plain scalar
# here `#auth` is a label as Obsidian writes it; elsewhere `#` starts a comment
LABELS = ("tags", "topics")
MOST_UNSURE = 1000  # lines of a list; no person wrote one with more
_ESCAPES = dict(zip('0abt\tnvfre "/\\N_LP', '\0\a\b\t\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029'))
_HEX = {"x": 2, "u": 4, "U": 8}


def is_significant(line: str) -> bool:
    """Tell whether a head's line is neither blank nor a comment."""
    line = line.strip(" \t")
    return line != "" and line[0] != "#"


def read_head(text: str) -> Tuple[Dict[str, Any], List[str], List[int]]:
    """Read the lines of a head.

    Returns (meta, duplicate keys, numbers of the lines whose reading is unsure).
    """
    meta: Dict[str, Any] = {}
    twice: Dict[str, None] = {}
    unsure: List[int] = []
    extra: List[str] = []
    key = value = ""
    at = 0
    # what could end or spoil a plain value, looked for once in the whole head
    clean = not (" #" in text or "\t" in text or " \n" in text or text[-1:] == " ")
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        name, colon, rest = line.partition(": ")
        if not (colon and name.isidentifier()):
            name, rest = parse_top_key(line, name, colon, rest, number, unsure)
            if not name:
                extra.append(line)
                continue
        if extra:
            _attach_lines(meta, key, value, extra, at, unsure)
            extra = []
        if name in meta:
            twice[name] = None
        key, value, at = name, rest, number
        if clean and rest[:1].isalnum() and ": " not in rest and rest[-1] != ":":
            meta[name] = rest
        elif rest[:1] in "|>" and rest:
            meta[name] = ""
            extra = [""]
        else:
            meta[name] = _read_value(rest, number, unsure, name in LABELS)
    if extra:
        _attach_lines(meta, key, value, extra, at, unsure)
    if not text.replace("\n", "").isprintable():
        unsure += [
            number for number, line in enumerate(text.split("\n"), 1) if not is_plain_line(line)
        ]
    return meta, list(twice), unsure


def is_plain_line(text: str) -> bool:
    """Tell whether YAML accepts every character of one line unchanged."""
    return text.isprintable() or not any(map(is_special, text))


def is_special(c: str) -> bool:
    """Tell whether YAML refuses a character or ends a line there."""
    return (
        (c < " " and c != "\t")
        or "\x7f" <= c <= "\x9f"
        or "\ud800" <= c <= "\udfff"
        or c in "\u2028\u2029\ufeff\ufffe\uffff"
    )


def parse_key_line(line: str) -> Tuple[str, str]:
    """Return (key, text of its value) of a top-level line."""
    return parse_top_key(line, *line.partition(": "), number=0, unsure=[])


def parse_top_key(
    line: str, name: str, colon: str, rest: str, number: int, unsure: List[int]
) -> Tuple[str, str]:
    """Return (key, text of its value) of an unusual top-level line.

    ("", "") where the line holds no key.  Unsure lines are added to `unsure`.
    """
    if not line or line[0] in " \t#-":
        return "", ""
    if line[0] in "\"'":
        return _parse_quoted_key(line)
    if colon:
        name = _parse_key(name)
        if name:
            return name, rest
    name, colon, rest = line.partition(":")
    name = _parse_key(name)
    if not name or not colon or rest.startswith("//"):
        return "", ""
    if rest.strip(" "):
        unsure.append(number)
    return name, rest.strip()


def _parse_key(name: str) -> str:
    name = name.rstrip(" ")
    if not name or name[0] in INDICATORS or name[0] in "-?:" or name[-1] == ":":
        return ""
    return "" if " #" in name or "\t" in name or name == "<<" else name


def _read_value(text: str, number: int, unsure: List[int], label: bool = False) -> Any:
    """Return a value as YAML reads it, else the literal text."""
    text = text.strip(" ")
    if text[:1] == '"' and text.find('"', 1) == len(text) - 1 and "\\" not in text:
        return text[1:-1]
    if label and is_label(text):
        return text
    value = _parse_flow(text) if text[:1] == "[" else parse_value(text)
    if value is not None:
        return value
    unsure.append(number)
    return _guess_value(text.strip())


def _guess_value(text: str) -> Any:
    """Return what a text that is no clear YAML most likely means."""
    if text[:1] == "[" and text[-1:] == "]" and "[" not in text[1:] and "]" not in text[:-1]:
        return [part.strip().strip("'\"") for part in text[1:-1].split(",") if part.strip()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def is_label(text: str) -> bool:
    """Tell whether a value is a label such as `#auth`."""
    return text[:1] == "#" and text[1:2].strip() != ""


def _parse_quoted_key(line: str) -> Tuple[str, str]:
    name, end = parse_quoted(line)
    rest = line[end:].lstrip(" ")
    if end and rest[:1] == ":" and rest[1:2] in " ":
        return name, rest[1:].strip(" ")
    return "", ""


def parse_value(text: str) -> Any:
    """Read a value on a single line; None for unclear YAML.

    text: without blanks at its ends.
    """
    if not text or text[0] == "#":
        return ""
    first = text[0]
    if first in "\"'[{":
        return _parse_enclosed(text)
    if first in INDICATORS or (first in "-?:" and text[1:2] in " ") or "\t" in text:
        return None
    at = text.find(" #")
    if at >= 0:
        text = text[:at].rstrip(" ")
    return None if ": " in text + " " else text


def _parse_enclosed(text: str) -> Any:
    """Read a value in quotes or brackets; None for unclear YAML."""
    if text[0] in "[{":
        return _parse_flow(text)
    found, end = parse_quoted(text)
    return found if end > 0 and _is_only_comment(text, end) else None


def _is_only_comment(text: str, end: int) -> bool:
    rest = text[end:]
    return not rest.strip(" ") or (rest[0] == " " and rest.lstrip(" ")[0] == "#")


def parse_quoted(text: str, at: int = 0) -> Tuple[str, int]:
    """Read a quoted scalar that starts at `at`.

    Returns (value, index behind the scalar); the index is 0 where the scalar does not end.
    """
    if text[at] == "'":
        return _parse_single_quoted(text, at)
    end = text.find('"', at + 1)
    slash = text.find("\\", at + 1)
    if end < 0 or slash < 0 or end < slash:
        return text[at + 1 : end], end + 1
    out: List[str] = []
    at += 1
    while at < len(text):
        c = text[at]
        if c == '"':
            return "".join(out), at + 1
        at += 1
        if c == "\\":
            c = text[at : at + 1]
            size = _HEX.get(c, 0)
            digits = text[at + 1 : at + 1 + size]
            c = _decode_character(digits, size) if size else _ESCAPES.get(c, "")
            if not c:
                return "", 0
            at += 1 + size
        out.append(c)
    return "", 0


def _parse_single_quoted(text: str, at: int) -> Tuple[str, int]:
    end = text.find("'", at + 1)
    while end >= 0 and text[end + 1 : end + 2] == "'":
        end = text.find("'", end + 2)
    return (text[at + 1 : end].replace("''", "'"), end + 1) if end >= 0 else ("", 0)


def _decode_character(digits: str, size: int) -> str:
    try:
        code = int(digits, 16) if len(digits) == size and digits.isalnum() else -1
    except ValueError:
        return ""
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return chr(code) if 0 <= code <= 0x10FFFF else ""


def _parse_flow(text: str) -> Any:
    """Read `[a, b]` or `{a: b}`; None for anything else."""
    # most are a list of plain words
    names = text.replace(", ", "").replace("-", "")[1:-1]
    if names.isalnum() and text[0] == "[" and text[-1] == "]" and ", -" not in text:
        parts = text[1:-1].split(", ")
        if all(parts):
            return parts
    return _parse_flow_list(text) if text[0] == "[" else _parse_flow_map(text)


def _parse_flow_list(text: str) -> Optional[List[str]]:
    items: List[str] = []
    at = _skip_spaces(text, 1)
    while text[at : at + 1] != "]":
        value, at = _parse_flow_value(text, at, "]")
        if value is None:
            return None
        items.append(value)
    return items if _is_only_comment(text, at + 1) else None


def _parse_flow_map(text: str) -> Optional[Dict[str, str]]:
    pairs: Dict[str, str] = {}
    at = _skip_spaces(text, 1)
    while text[at : at + 1] != "}":
        name, at = _parse_flow_key(text, at)
        if not name or name in pairs:
            return None
        value, at = _parse_flow_value(text, at, "}")
        if value is None:
            return None
        pairs[name] = value
    return pairs if _is_only_comment(text, at + 1) else None


def _skip_spaces(text: str, at: int) -> int:
    while text[at : at + 1] == " ":
        at += 1
    return at


def _parse_flow_key(text: str, at: int) -> Tuple[Optional[str], int]:
    if text[at : at + 1] in ('"', "'"):
        name, end = parse_quoted(text, at)
        is_key = end and text[end : end + 2] == ": "
        return (name, _skip_spaces(text, end + 2)) if is_key else (None, at)
    colon = text.find(": ", at)
    if colon <= 0:
        return None, at
    return _parse_member(text[at:colon]), _skip_spaces(text, colon + 2)


def _parse_flow_value(text: str, at: int, close: str) -> Tuple[Optional[str], int]:
    """Return (member of a flow collection or None, index behind its comma)."""
    value, at = _parse_flow_scalar(text, at, close)
    if text[at : at + 1] == ",":
        return value, _skip_spaces(text, at + 1)
    return (value if text[at : at + 1] == close else None), at


def _parse_flow_scalar(text: str, at: int, close: str) -> Tuple[Optional[str], int]:
    if text[at : at + 1] in ('"', "'"):
        value, end = parse_quoted(text, at)
        return (value, _skip_spaces(text, end)) if end else (None, at)
    comma = text.find(",", at)
    end = text.find(close, at, comma) if comma >= 0 else text.find(close, at)
    end = comma if end < 0 else end
    return (_parse_member(text[at:end]), end) if end >= 0 else (None, at)


def _parse_member(text: str) -> Optional[str]:
    """Return a plain member of a flow collection, None where unsure."""
    text = text.strip(" ")
    if text.isalnum():
        return text
    if not text or text[0] in "-?:" + INDICATORS or text[-1] == ":":
        return None
    return None if any(sign in text for sign in (": ", " #", "\t", *"[]{},?")) else text


def _attach_lines(
    meta: Dict[str, Any], key: str, value: str, extra: List[str], at: int, unsure: List[int]
) -> None:
    """Join the lines below a key to its value."""
    text = value.strip(" \t")
    block = text[:1] in ("|", ">")
    if not block:
        unsure += [number for number, line in enumerate(extra, at + 1) if "\t" in line]
        if not any(map(is_significant, extra)):
            return
    if not key:
        unsure.append(1)
        return
    if block:
        meta[key] = _parse_block_scalar(text, extra[1:], at, unsure)
    elif not text or (text[0] == "#" and meta[key] == ""):
        meta[key] = _parse_block(extra, at, unsure, key in LABELS)
    else:
        joined = " ".join([text, *(line.strip(" \t") for line in extra if is_significant(line))])
        meta[key] = _parse_continued(joined, meta[key], at, unsure)


def _parse_continued(joined: str, first: Any, at: int, unsure: List[int]) -> Any:
    """Return the value of several lines joined into one.

    first: value of the first line alone.
    """
    if joined[0] in "[{" and not any(c in joined for c in "#'\"\t"):
        found = _parse_flow(joined)
        if found is not None:
            return found
    unsure.append(at + 1)
    return joined if isinstance(first, str) else first


def _parse_block_scalar(header: str, lines: List[str], at: int, unsure: List[int]) -> str:
    style, chomp = header[0], header[1:].partition(" ")[0]
    if chomp not in ("", "-", "+") or not _is_only_comment(header, 1 + len(chomp)):
        unsure.append(at)
    kept = _dedent_scalar(lines, at, unsure)
    tail = 0
    while kept and not kept[-1]:
        kept.pop()
        tail += 1
    if style == ">":
        if any(line[:1] in (" ", "\t") for line in kept):
            unsure.append(at)
        text = _fold_lines(kept)
    else:
        text = "\n".join(kept)
    if chomp == "+":
        unsure.append(at)
        return text + "\n" * (tail + bool(kept))
    return text + "\n" if kept and chomp != "-" else text


def _dedent_scalar(lines: List[str], at: int, unsure: List[int]) -> List[str]:
    """Return the lines of a `|` or `>` scalar without their indent."""
    indent = next((len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")), 0)
    kept: List[str] = []
    for offset, line in enumerate(lines):
        blank = not line.strip(" ")
        if not blank and len(line) - len(line.lstrip(" ")) < max(indent, 1):
            if any(is_significant(rest) or "\t" in rest for rest in lines[offset:]):
                unsure.append(at + 1 + offset)
            break
        starts_deeper = (blank and len(line) > indent) or line[indent : indent + 1] == "\t"
        if starts_deeper and not any(kept):
            unsure.append(at + 1 + offset)
        kept.append(line[indent:])
    return kept


def _fold_lines(lines: List[str]) -> str:
    out: List[str] = []
    breaks = 0
    for line in lines:
        if not line:
            breaks += 1
            continue
        out += ["\n" * breaks or (" " if out else ""), line]
        breaks = 0
    return "".join(out)


def _parse_block(lines: List[str], at: int, unsure: List[int], label: bool) -> Any:
    """Read the list or the map in the lines below a key."""
    rows: List[Tuple[int, str, int]] = []  # number, text, depth
    for number, line in enumerate(lines, at + 1):
        if is_significant(line):
            rows.append((number, line.strip(" \t"), len(line) - len(line.lstrip(" \t"))))
    return _parse_list(rows, unsure, label) if _is_item(rows[0][1]) else _parse_map(rows, unsure)


def _is_item(text: str) -> bool:
    return text[0] == "-" and text[1:2] in " \t"


def _parse_map(rows: List[Tuple[int, str, int]], unsure: List[int]) -> Any:
    pairs: Dict[str, Any] = {}
    texts: List[str] = []
    indent = rows[0][2]
    for number, text, depth in rows:
        if len(unsure) > MOST_UNSURE:
            break
        if depth != indent or not depth:
            unsure.append(number)
        if not _add_pair(pairs, text, number, unsure):
            unsure.append(number)
            if texts or not pairs:
                texts.append(text)
    return pairs or " ".join(texts)


def _parse_list(rows: List[Tuple[int, str, int]], unsure: List[int], label: bool) -> List[Any]:
    items: List[Any] = []
    indent, inner = rows[0][2], -1
    for number, text, depth in rows:
        if len(unsure) > MOST_UNSURE:
            break
        if _is_item(text) and depth == indent:
            inner = _add_item(items, text, depth, number, unsure, label)
            continue
        if depth != inner or not depth:
            unsure.append(number)
        last = items[-1]
        if isinstance(last, dict) and _add_pair(last, text, number, unsure):
            continue
        unsure.append(number)
        if _is_item(text):
            items.append(_read_value(text[1:], number, unsure, label))
        elif isinstance(last, str):
            items[-1] = (last + " " + text).strip()
    return items


def _add_pair(pairs: Dict[str, Any], text: str, number: int, unsure: List[int]) -> bool:
    """Add a line's key and value to `pairs`; return False if it has none."""
    pair = _parse_pair(text, number, unsure)
    if pair is None:
        return False
    if pair[0] in pairs:
        unsure.append(number)
    pairs[pair[0]] = pair[1]
    return True


def _add_item(
    items: List[Any], text: str, depth: int, number: int, unsure: List[int], label: bool
) -> int:
    """Add an item to `items`; return the depth of its next keys, or -1."""
    rest = text[1:].lstrip(" ")
    pair = _parse_pair(rest, number, unsure)
    if pair:
        items.append({pair[0]: pair[1]})
        return depth + len(text) - len(rest)
    items.append(_read_value(rest, number, unsure, label))
    return -1


def _parse_pair(text: str, number: int, unsure: List[int]) -> Optional[Tuple[str, Any]]:
    """Read `key: value` in a list or map; None for other text."""
    name, colon, rest = text.partition(": ")
    if not colon:
        if text[-1:] != ":":
            return None
        name, rest = text[:-1], ""
    name = _parse_key(name)
    return (name, _read_value(rest, number, unsure)) if name else None


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold, with U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text
