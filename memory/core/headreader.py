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
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_HEX = {"x": 2, "u": 4, "U": 8}


def significant(line: str) -> bool:
    """Tell whether a head's line is neither blank nor a comment."""
    line = line.strip(" \t")
    return line != "" and line[0] != "#"


def scan(text: str) -> Tuple[Dict[str, Any], List[str], List[int]]:
    """Read the lines of a head.

    Returns (meta, duplicate keys, numbers of the lines whose reading is unsure).
    """
    meta: Dict[str, Any] = {}
    twice: Dict[str, None] = {}
    trouble: List[int] = []
    extra: List[str] = []
    key = value = ""
    at = 0
    # Looked for once in the whole head, so that a line costs 0.4 us: what could end or spoil a
    # plain value.
    clean = not (" #" in text or "\t" in text or " \n" in text or text[-1:] == " ")
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        name, colon, rest = line.partition(": ")
        if not (colon and name.isidentifier()):
            name, rest = top_key(line, name, colon, rest, number, trouble)
            if not name:
                extra.append(line)
                continue
        if extra:
            _attach(meta, key, value, extra, at, trouble)
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
            meta[name] = _read_value(rest, number, trouble, name in LABELS)
    if extra:
        _attach(meta, key, value, extra, at, trouble)
    if not text.replace("\n", "").isprintable():
        trouble += [
            number for number, line in enumerate(text.split("\n"), 1) if not is_plain_line(line)
        ]
    return meta, list(twice), trouble


def is_plain_line(text: str) -> bool:
    """Tell whether YAML accepts every character of one line unchanged."""
    return text.isprintable() or not any(map(special, text))


def special(c: str) -> bool:
    """Tell whether YAML refuses a character, or ends a line at it."""
    return (
        (c < " " and c != "\t")
        or "\x7f" <= c <= "\x9f"
        or "\ud800" <= c <= "\udfff"
        or c in "\u2028\u2029\ufeff\ufffe\uffff"
    )


def top_key(
    line: str, name: str, colon: str, rest: str, number: int, trouble: List[int]
) -> Tuple[str, str]:
    """Return (key, text of its value) of an unusual top-level line.

    ("", "") where the line holds no key.  Unsure lines are added to `trouble`.
    """
    if not line or line[0] in " \t#-":
        return "", ""
    if line[0] in "\"'":
        return _quoted_key(line)
    if colon:
        name = _key(name)
        if name:
            return name, rest
    name, colon, rest = line.partition(":")
    name = _key(name)
    if not name or not colon or rest.startswith("//"):
        return "", ""
    if rest.strip(" "):
        trouble.append(number)
    return name, rest.strip()


def _key(name: str) -> str:
    """Return a plain key, or "" where the text is none."""
    name = name.rstrip(" ")
    if not name or name[0] in INDICATORS or name[0] in "-?:" or name[-1] == ":":
        return ""
    return "" if " #" in name or "\t" in name or name == "<<" else name


def _read_value(text: str, number: int, trouble: List[int], label: bool = False) -> Any:
    """Return a value as YAML reads it, else the literal text."""
    text = text.strip(" ")
    if text[:1] == '"' and text.find('"', 1) == len(text) - 1 and "\\" not in text:
        return text[1:-1]
    if label and is_label(text):
        return text
    value = _flow(text) if text[:1] == "[" else value_of(text)
    if value is not None:
        return value
    trouble.append(number)
    return _likely_value(text.strip())


def _likely_value(text: str) -> Any:
    """Return what a text that is no clear YAML most likely means."""
    if text[:1] == "[" and text[-1:] == "]" and "[" not in text[1:] and "]" not in text[:-1]:
        return [part.strip().strip("'\"") for part in text[1:-1].split(",") if part.strip()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def is_label(text: str) -> bool:
    """Tell whether a value is a label such as `#auth`."""
    return text[:1] == "#" and text[1:2].strip() != ""


def _quoted_key(line: str) -> Tuple[str, str]:
    name, end = quoted(line)
    rest = line[end:].lstrip(" ")
    if end and rest[:1] == ":" and rest[1:2] in " ":
        return name, rest[1:].strip(" ")
    return "", ""


def value_of(text: str) -> Any:
    """Read a value on a single line; None for unclear YAML.

    text: without blanks at its ends.
    """
    if not text or text[0] == "#":
        return ""
    first = text[0]
    if first in "\"'[{":
        return _enclosed(text)
    if first in INDICATORS or (first in "-?:" and text[1:2] in " ") or "\t" in text:
        return None
    at = text.find(" #")
    if at >= 0:
        text = text[:at].rstrip(" ")
    return None if ": " in text + " " else text


def _enclosed(text: str) -> Any:
    """Read a value in quotes or brackets; None for unclear YAML."""
    if text[0] in "[{":
        return _flow(text)
    found, end = quoted(text)
    return found if end > 0 and _ended(text, end) else None


def _ended(text: str, end: int) -> bool:
    """Tell whether only a comment follows."""
    rest = text[end:]
    return not rest.strip(" ") or (rest[0] == " " and rest.lstrip(" ")[0] == "#")


def quoted(text: str, at: int = 0) -> Tuple[str, int]:
    """Read a quoted scalar that starts at `at`.

    Returns (value, index behind the scalar); the index is 0 where the scalar does not end.
    """
    if text[at] == "'":
        return _single_quoted(text, at)
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
            c = _character(text[at + 1 : at + 1 + size], size) if size else _ESCAPES.get(c, "")
            if not c:
                return "", 0
            at += 1 + size
        out.append(c)
    return "", 0


def _single_quoted(text: str, at: int) -> Tuple[str, int]:
    end = text.find("'", at + 1)
    while end >= 0 and text[end + 1 : end + 2] == "'":
        end = text.find("'", end + 2)
    return (text[at + 1 : end].replace("''", "'"), end + 1) if end >= 0 else ("", 0)


def _character(digits: str, size: int) -> str:
    try:
        code = int(digits, 16) if len(digits) == size and digits.isalnum() else -1
    except ValueError:
        return ""
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return chr(code) if 0 <= code <= 0x10FFFF else ""


def _flow(text: str) -> Any:
    """Read `[a, b]` or `{a: b}`; None for anything else."""
    names = text.replace(", ", "").replace("-", "")[1:-1]
    if names.isalnum() and text[0] == "[" and text[-1] == "]" and ", -" not in text:
        parts = text[1:-1].split(", ")
        if all(parts):
            return parts
    return _flow_list(text) if text[0] == "[" else _flow_map(text)


def _flow_list(text: str) -> Optional[List[str]]:
    items: List[str] = []
    at = _past(text, 1)
    while text[at : at + 1] != "]":
        value, at = _flow_value(text, at, "]")
        if value is None:
            return None
        items.append(value)
    return items if _ended(text, at + 1) else None


def _flow_map(text: str) -> Optional[Dict[str, str]]:
    pairs: Dict[str, str] = {}
    at = _past(text, 1)
    while text[at : at + 1] != "}":
        name, at = _flow_key(text, at)
        if not name or name in pairs:
            return None
        value, at = _flow_value(text, at, "}")
        if value is None:
            return None
        pairs[name] = value
    return pairs if _ended(text, at + 1) else None


def _past(text: str, at: int) -> int:
    while text[at : at + 1] == " ":
        at += 1
    return at


def _flow_key(text: str, at: int) -> Tuple[Optional[str], int]:
    """Read `key: ` in a flow map."""
    if text[at : at + 1] in ('"', "'"):
        name, end = quoted(text, at)
        return (name, _past(text, end + 2)) if end and text[end : end + 2] == ": " else (None, at)
    colon = text.find(": ", at)
    return (_member(text[at:colon]), _past(text, colon + 2)) if colon > 0 else (None, at)


def _flow_value(text: str, at: int, close: str) -> Tuple[Optional[str], int]:
    """Read a member of a flow collection and the comma behind it."""
    value, at = _flow_scalar(text, at, close)
    if text[at : at + 1] == ",":
        return value, _past(text, at + 1)
    return (value if text[at : at + 1] == close else None), at


def _flow_scalar(text: str, at: int, close: str) -> Tuple[Optional[str], int]:
    if text[at : at + 1] in ('"', "'"):
        value, end = quoted(text, at)
        return (value, _past(text, end)) if end else (None, at)
    comma = text.find(",", at)
    end = text.find(close, at, comma) if comma >= 0 else text.find(close, at)
    end = comma if end < 0 else end
    return (_member(text[at:end]), end) if end >= 0 else (None, at)


def _member(text: str) -> Optional[str]:
    """Return a plain member of a flow collection, None where unsure."""
    text = text.strip(" ")
    if text.isalnum():
        return text
    if (
        not text
        or text[0] in "-?:"
        or text[-1] == ":"
        or ": " in text
        or " #" in text
        or "\t" in text
    ):
        return None
    return None if text[0] in INDICATORS or any(c in text for c in "[]{},?") else text


def _attach(
    meta: Dict[str, Any], key: str, value: str, extra: List[str], at: int, trouble: List[int]
) -> None:
    """Join the lines below a key to its value."""
    text = value.strip(" \t")
    block = text[:1] in ("|", ">")
    if not block:
        trouble += [number for number, line in enumerate(extra, at + 1) if "\t" in line]
        if not any(map(significant, extra)):
            return
    if not key:
        trouble.append(1)
        return
    if block:
        meta[key] = _block_scalar(text, extra[1:], at, trouble)
    elif not text or (text[0] == "#" and meta[key] == ""):
        meta[key] = _block(extra, at, trouble, key in LABELS)
    else:
        joined = " ".join([text, *(line.strip(" \t") for line in extra if significant(line))])
        meta[key] = _continued(joined, meta[key], at, trouble)


def _continued(joined: str, first: Any, at: int, trouble: List[int]) -> Any:
    """Return the value of several lines joined into one.

    first: value of the first line alone.
    """
    if joined[0] in "[{" and not any(c in joined for c in "#'\"\t"):
        found = _flow(joined)
        if found is not None:
            return found
    trouble.append(at + 1)
    return joined if isinstance(first, str) else first


def _block_scalar(header: str, lines: List[str], at: int, trouble: List[int]) -> str:
    """Read the lines of a `|` or `>` scalar."""
    style, chomp = header[0], header[1:].partition(" ")[0]
    if chomp not in ("", "-", "+") or not _ended(header, 1 + len(chomp)):
        trouble.append(at)
    kept = _scalar_lines(lines, at, trouble)
    tail = 0
    while kept and not kept[-1]:
        kept.pop()
        tail += 1
    if style == ">":
        if any(line[:1] in (" ", "\t") for line in kept):
            trouble.append(at)
        text = _fold(kept)
    else:
        text = "\n".join(kept)
    if chomp == "+":
        trouble.append(at)
        return text + "\n" * (tail + bool(kept))
    return text + "\n" if kept and chomp != "-" else text


def _scalar_lines(lines: List[str], at: int, trouble: List[int]) -> List[str]:
    """Return the lines of a `|` or `>` scalar without their indent."""
    indent = next((len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")), 0)
    kept: List[str] = []
    for offset, line in enumerate(lines):
        blank = not line.strip(" ")
        if not blank and len(line) - len(line.lstrip(" ")) < max(indent, 1):
            if any(significant(rest) or "\t" in rest for rest in lines[offset:]):
                trouble.append(at + 1 + offset)
            break
        starts_deeper = (blank and len(line) > indent) or line[indent : indent + 1] == "\t"
        if starts_deeper and not any(kept):
            trouble.append(at + 1 + offset)
        kept.append(line[indent:])
    return kept


def _fold(lines: List[str]) -> str:
    out: List[str] = []
    breaks = 0
    for line in lines:
        if not line:
            breaks += 1
            continue
        out += ["\n" * breaks or (" " if out else ""), line]
        breaks = 0
    return "".join(out)


def _block(lines: List[str], at: int, trouble: List[int], label: bool) -> Any:
    """Read the list or the map in the lines below a key."""
    items: List[Any] = []
    pairs: Dict[str, Any] = {}
    indent = inner = -1
    listed = False
    for number, line in enumerate(lines, at + 1):
        text = line.strip(" \t")
        if not text or text[0] == "#":
            continue
        if len(trouble) > 1000:  # no list that a person wrote
            break
        depth = len(line) - len(line.lstrip(" \t"))
        dash = text[0] == "-" and text[1:2] in " \t"
        if indent < 0:
            indent, listed = depth, dash
        if listed and dash and depth == indent:
            inner = _item(items, text, depth, number, trouble, label)
            continue
        if depth != (inner if listed else indent) or not depth:
            trouble.append(number)
        pair = _pair(text, number, trouble)
        if pair and listed and items and isinstance(items[-1], dict):
            pairs = items[-1]
        if pair and (not listed or (items and isinstance(items[-1], dict))):
            if pair[0] in pairs:
                trouble.append(number)
            pairs[pair[0]] = pair[1]
        else:
            trouble.append(number)
            if dash and listed:
                items.append(_read_value(text[1:], number, trouble, label))
            elif items and isinstance(items[-1], str):
                items[-1] = (items[-1] + " " + text).strip()
            elif not listed and not pairs:
                items.append(text)
    if listed:
        return items
    return pairs or " ".join(items)


def _item(
    items: List[Any], text: str, depth: int, number: int, trouble: List[int], label: bool
) -> int:
    """Add an item `- …` to a list."""
    rest = text[1:].lstrip(" ")
    pair = _pair(rest, number, trouble)
    if pair:
        items.append({pair[0]: pair[1]})
        return depth + len(text) - len(rest)
    items.append(_read_value(rest, number, trouble, label))
    return -1


def _pair(text: str, number: int, trouble: List[int]) -> Optional[Tuple[str, Any]]:
    """Read `key: value` in a list or map; None for other text."""
    name, colon, rest = text.partition(": ")
    if not colon:
        if text[-1:] != ":":
            return None
        name, rest = text[:-1], ""
    name = _key(name)
    return (name, _read_value(rest, number, trouble)) if name else None


def scalars(text: str) -> str:
    """Replace each lone surrogate of a text with U+FFFD.

    UTF-8 cannot hold a lone surrogate.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text
