"""Frontmatter: a tolerant reader and a faithful writer of the YAML head of a markdown file.

Everything read is text: `0.88`, `Yes`, `2026-11-21` and `v2` stay what was written.  A line reader covers what people
write (`key: value`, quotes, `[a, b]`, lists, one level of maps, block scalars) and agrees with YAML where it does;
where it is unsure, PyYAML's string-only loader decides if it may be imported (`full`), else the line reader's best
guess stands. Refused before YAML builds anything: heads above 64 KiB, more than 256 keys, nesting above 32, anchors,
aliases, tags and merge keys (a 342-byte merge bomb takes 18.7 s, 50 KB of `[` crash libyaml; none of 33,600 real files
uses any of them). The writer changes the lines of its own keys and no other byte.
"""

from __future__ import annotations

from memory.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Tuple

HEAD_LIMIT, KEY_LIMIT, DEPTH_LIMIT = 1 << 16, 256, 32
BOM = b"\xef\xbb\xbf"
_LABELS = ("tags", "topics")  # here `#auth` is a label as Obsidian writes it; elsewhere `#` starts a comment
_INDICATORS = ",[]{}#&*!|>'\"%@`"  # cannot begin a plain scalar
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
            "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028",
            "P": "\u2029"}
_HEX = {"x": 2, "u": 4, "U": 8}
_WORDS = frozenset("y n yes no true false on off null".split())  # a YAML 1.1 reader takes these for booleans or null


class Page:
    """A markdown file in parts.

    meta: keys to text, lists or maps of text.  body: the text after the head, with `\\n` line ends and without leading
    blank lines.  problems: lines such as `line 3: ...; remedy`.  duplicates: top-level keys that stand more than once
    (the last one is in `meta`; nothing that carries authority may be read from such a file).  head_lines: lines of the
    file above the body.  readable: False where the bytes are no UTF-8 text; meta and body are then empty.
    """

    __slots__ = ("body", "duplicates", "head_lines", "meta", "problems", "readable")

    def __init__(self) -> None:
        self.meta: Dict[str, Any] = {}
        self.body = ""
        self.problems: List[str] = []
        self.duplicates: List[str] = []
        self.head_lines = 0
        self.readable = True


def split(data: bytes) -> Tuple[bytes, int]:
    """Return (bytes of the head between its fences, offset of the body); (b"", offset of the text) without a head."""
    start, end, offset = _fences(data)
    return data[start:end], offset


def undecodable(data: bytes) -> bool:
    """Tell whether bytes are UTF-16 or binary rather than text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return b"\0" in data and data[:4096].count(0) * 10 > len(data[:4096])


def parse(data: bytes, full: bool = False) -> Page:
    """Read a markdown file; never raises for its content.

    data: the file's bytes.  full: let PyYAML decide where the line reader is unsure (an import of 15 ms, so not on the
    blocking path).
    """
    page = Page()
    if undecodable(data):
        page.readable = False
        page.problems.append("line 1: not UTF-8 text; save it as UTF-8")
        return page
    start, end, offset = _fences(data)
    if end > start or offset > 3:
        if not _read_head(data[start:end], page, full):
            start, offset = -1, start_of(data)
            page.problems.clear()
    elif start >= 0 and end < 0:
        page.problems.append("line 1: the frontmatter is not closed; end it with a line `---`")
    body = _decode(data[offset:] if offset else data, page)
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    if start >= 0 and end >= 0:
        page.head_lines = data.count(b"\n", 0, offset)
        if body[:1] == "\n":
            page.head_lines += len(body) - len(body.lstrip("\n"))
            body = body.lstrip("\n")
    page.body = body
    return page


def start_of(data: bytes) -> int:
    """Return the offset of the text behind a byte-order mark."""
    return 3 if data[:3] == BOM else 0


def _fences(data: bytes) -> Tuple[int, int, int]:
    """Return (start of the head, its end, start of the body).

    Without a head: (-1, -1, start of the text).  Where it is not closed: (start of the head, -1, start of the text).
    """
    text = at = 3 if data[:3] == BOM else 0
    if data[at:at + 4] != b"---\n":
        lead = data[at:at + 1024]
        at += len(lead) - len(lead.lstrip())
        stop = data.find(b"\n", at)
        if not data.startswith(b"---", at) or stop < 0 or data[at + 3:stop].strip() or data[at - 1:at] not in b"\n\xbf":
            return -1, -1, text
        at = stop - 3
    start = at + 4
    at = start - 1
    while True:
        at = data.find(b"\n---", at)
        if at < 0:
            return start, -1, text
        stop = at + 4
        if data[stop:stop + 1] == b"\n":
            return start, at + 1, stop + 1
        end = data.find(b"\n", stop)
        if not data[stop:end if end >= 0 else len(data)].strip():
            return start, at + 1, end + 1 if end >= 0 else len(data)
        at = stop


def _decode(data: bytes, page: Page) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        line = page.head_lines + data.count(b"\n", 0, error.start) + 1
        page.problems.append("line %d: bytes that are not UTF-8, read as U+FFFD; save the file as UTF-8" % line)
        return data.decode("utf-8", "replace")


def _read_head(head: bytes, page: Page, full: bool) -> bool:
    """Fill `page` from a head; False where it holds no key at all: the fences are rules drawn in prose."""
    huge = len(head) > HEAD_LIMIT
    text = _decode(head[:HEAD_LIMIT] if huge else head, page)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    meta, duplicates, trouble = _scan(text)
    problem = ""
    if huge:
        problem = "line 1: the frontmatter is longer than 64 KiB; shorten it"
    elif full and (trouble or not (text.isascii() or _one_line_end(text))):
        read, duplicates, problem = _yaml(text, duplicates, trouble)
        meta = meta if read is None else read
    if len(meta) > KEY_LIMIT:
        meta = dict(list(meta.items())[:KEY_LIMIT])
        problem = "line 1: more than 256 keys; remove some"
    if problem:
        page.problems.append(problem)
    if duplicates:
        named = ", ".join("'%s'" % key for key in duplicates[:5])
        page.problems.append("line 1: the key %s stands twice, the last one counts; remove the other" % named)
    page.meta, page.duplicates = meta, duplicates
    return bool(meta) or not any(map(_significant, text.split("\n")))


def _one_line_end(text: str) -> bool:
    """Tell whether no character but `\\n` ends a line for YAML."""
    return "\x85" not in text and "\u2028" not in text and "\u2029" not in text


def _significant(line: str) -> bool:
    line = line.strip(" \t")
    return line != "" and line[0] != "#"


# ---- the line reader: its best guess, and the lines at which it was unsure


def _scan(text: str) -> Tuple[Dict[str, Any], List[str], List[int]]:
    """Read the lines of a head; returns (meta, duplicate keys, numbers of the lines it was unsure of)."""
    meta: Dict[str, Any] = {}
    twice: Dict[str, None] = {}
    trouble: List[int] = []
    extra: List[str] = []
    key = value = ""
    at = 0
    # Looked for once in the whole head, so that a line costs 0.4 us: what could end or spoil a plain value.
    clean = not (" #" in text or "\t" in text or " \n" in text or text[-1:] == " ")
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        name, colon, rest = line.partition(": ")
        if not (colon and name.isidentifier()):
            name, rest = _top_key(line, name, colon, rest, number, trouble)
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
            meta[name] = _best(rest, number, trouble, name in _LABELS)
    if extra:
        _attach(meta, key, value, extra, at, trouble)
    return meta, list(twice), trouble


def _top_key(line: str, name: str, colon: str, rest: str, number: int, trouble: List[int]) -> Tuple[str, str]:
    """Return (key, its value's text) of a line at the margin that is not of the simple form, else ("", "")."""
    if not line or line[0] in " \t#-":
        return "", ""
    if line[0] in "\"'":
        name, end = _quoted(line)
        rest = line[end:].lstrip(" ")
        return (name, rest[1:].strip(" ")) if end and rest[:1] == ":" and rest[1:2] in " " else ("", "")
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
    """Return a plain key, or "" where the text cannot be one."""
    name = name.rstrip(" ")
    if not name or name[0] in _INDICATORS or name[0] in "-?:" or name[-1] == ":":
        return ""
    return "" if " #" in name or "\t" in name or name == "<<" else name


def _best(text: str, number: int, trouble: List[int], label: bool = False) -> Any:
    """Return a value as YAML reads it, or the literal text with the line noted as trouble."""
    text = text.strip(" ")
    if text[:1] == '"' and text.find('"', 1) == len(text) - 1 and "\\" not in text:
        return text[1:-1]
    if label and text[:1] == "#" and text[1:2].strip():
        return text
    value = _flow(text) if text[:1] == "[" else _value(text)
    if value is not None:
        return value
    trouble.append(number)
    text = text.strip()
    if text[:1] == "[" and text[-1:] == "]" and "[" not in text[1:] and "]" not in text[:-1]:
        return [part.strip().strip("'\"") for part in text[1:-1].split(",") if part.strip()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _value(text: str) -> Any:
    """Read one value on one line; None where it is not certain what YAML would make of it.

    text: without blanks at its ends.
    """
    if not text or text[0] == "#":
        return ""
    first = text[0]
    if first in "\"'":
        found, end = _quoted(text)
        return found if end > 0 and _ended(text, end) else None
    if first in "[{":
        return _flow(text)
    if first in _INDICATORS or (first in "-?:" and text[1:2] in " ") or "\t" in text:
        return None
    at = text.find(" #")
    if at >= 0:
        text = text[:at].rstrip(" ")
    return None if ": " in text or text[-1] == ":" else text


def _ended(text: str, end: int) -> bool:
    """Tell whether nothing but a comment follows."""
    rest = text[end:]
    return not rest.strip(" ") or (rest[0] == " " and rest.lstrip(" ")[0] == "#")


def _quoted(text: str, at: int = 0) -> Tuple[str, int]:
    """Read a quoted scalar that starts at `at`; returns (value, index behind it), the index 0 where it does not end."""
    if text[at] == "'":
        end = text.find("'", at + 1)
        while end >= 0 and text[end + 1:end + 2] == "'":
            end = text.find("'", end + 2)
        return (text[at + 1:end].replace("''", "'"), end + 1) if end >= 0 else ("", 0)
    end = text.find('"', at + 1)
    slash = text.find("\\", at + 1)
    if end < 0 or slash < 0 or end < slash:
        return text[at + 1:end], end + 1
    out: List[str] = []
    at += 1
    while at < len(text):
        c = text[at]
        if c == '"':
            return "".join(out), at + 1
        at += 1
        if c == "\\":
            c = text[at:at + 1]
            size = _HEX.get(c, 0)
            c = _character(text[at + 1:at + 1 + size], size) if size else _ESCAPES.get(c, "")
            if not c:
                return "", 0
            at += 1 + size
        out.append(c)
    return "", 0


def _character(digits: str, size: int) -> str:
    try:
        code = int(digits, 16) if len(digits) == size and digits.isalnum() else -1
    except ValueError:
        return ""
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return chr(code) if 0 <= code <= 0x10FFFF else ""


def _flow(text: str) -> Any:
    """Read `[a, b]` or `{a: b}` with plain or quoted members; None for anything else."""
    names = text.replace(", ", "").replace("-", "")[1:-1]
    if names.isalnum() and text[0] == "[" and text[-1] == "]" and ", -" not in text:
        return text[1:-1].split(", ")
    close = "]" if text[0] == "[" else "}"
    items: List[Any] = []
    pairs: Dict[str, Any] = {}
    at = _past(text, 1)
    while text[at:at + 1] != close:
        name: Optional[str] = ""
        if close == "}":
            name, at = _flow_key(text, at)
            if not name or name in pairs:
                return None
        value, at = _flow_value(text, at, close)
        if value is None:
            return None
        if name:
            pairs[name] = value
        else:
            items.append(value)
        if text[at:at + 1] == ",":
            at = _past(text, at + 1)
        elif text[at:at + 1] != close:
            return None
    return (items if close == "]" else pairs) if _ended(text, at + 1) else None


def _past(text: str, at: int) -> int:
    while text[at:at + 1] == " ":
        at += 1
    return at


def _flow_key(text: str, at: int) -> Tuple[Optional[str], int]:
    """Read `key: ` in a flow map; returns (key or None, index of its value)."""
    if text[at:at + 1] in ('"', "'"):
        name, end = _quoted(text, at)
        return (name, _past(text, end + 2)) if end and text[end:end + 2] == ": " else (None, at)
    colon = text.find(": ", at)
    return (_member(text[at:colon]), _past(text, colon + 2)) if colon > 0 else (None, at)


def _flow_value(text: str, at: int, close: str) -> Tuple[Optional[str], int]:
    """Read a member of a flow collection; returns (value or None, index of what ends it)."""
    if text[at:at + 1] in ('"', "'"):
        value, end = _quoted(text, at)
        return (value, _past(text, end)) if end else (None, at)
    comma = text.find(",", at)
    end = text.find(close, at, comma) if comma >= 0 else text.find(close, at)
    end = comma if end < 0 else end
    return (_member(text[at:end]), end) if end >= 0 else (None, at)


def _member(text: str) -> Optional[str]:
    """Return a plain member of a flow collection, or None where it is not certainly one."""
    text = text.strip(" ")
    if text.isalnum():
        return text
    if not text or text[0] in "-?:" or text[-1] == ":" or ": " in text or " #" in text or "\t" in text:
        return None
    return None if text[0] in _INDICATORS or any(c in text for c in "[]{},?") else text


def _attach(meta: Dict[str, Any], key: str, value: str, extra: List[str], at: int, trouble: List[int]) -> None:
    """Join the lines below a key to its value.

    value: the text behind the key.  extra: the lines.  at: number of the key's line.
    """
    if not any(map(_significant, extra)) and value[:1] not in ("|", ">"):
        return
    if not key:
        trouble.append(1)
        return
    text = value.strip(" \t")
    if text[:1] in ("|", ">") and text:
        meta[key] = _block_scalar(text, extra[1:], at, trouble)
    elif not text or (text[0] == "#" and meta[key] == ""):
        meta[key] = _block(extra, at, trouble, key in _LABELS)
    else:
        lines = [line.strip() for line in extra if _significant(line)]
        joined = " ".join([text, *lines])
        found = _flow(joined) if text[0] in "[{" and not any(c in joined for c in "#'\"\t") else None
        if found is None:
            trouble.append(at + 1)
            found = joined if isinstance(meta[key], str) else meta[key]
        meta[key] = found


def _block_scalar(header: str, lines: List[str], at: int, trouble: List[int]) -> str:
    """Read the lines of a `|` or `>` scalar."""
    style, chomp = header[0], header[1:].partition(" ")[0]
    if chomp not in ("", "-", "+") or not _ended(header, 1 + len(chomp)):
        trouble.append(at)
    indent = next((len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")), 0)
    kept: List[str] = []
    for offset, line in enumerate(lines):
        if line.strip(" ") and len(line) - len(line.lstrip(" ")) < max(indent, 1):
            if any(_significant(rest) for rest in lines[offset:]):
                trouble.append(at + 1 + offset)
            break
        if not line.strip(" ") and len(line) > indent and not any(kept):
            trouble.append(at + 1 + offset)
        kept.append(line[indent:])
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


def _fold(lines: List[str]) -> str:
    out: List[str] = []
    breaks = 0
    for line in lines:
        if not line:
            breaks += 1
            continue
        if out:
            out.append("\n" * breaks or " ")
        else:
            out.append("\n" * breaks)
        out.append(line)
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
        if "\t" in line:
            trouble.append(number)
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
                items.append(_best(text[1:], number, trouble, label))
            elif items and isinstance(items[-1], str):
                items[-1] = (items[-1] + " " + text).strip()
            elif not listed and not pairs:
                items.append(text)
    if listed:
        return items
    return pairs or " ".join(items)


def _item(items: List[Any], text: str, depth: int, number: int, trouble: List[int], label: bool) -> int:
    """Add one `- …` to a list; returns the column at which more keys of the same map would stand, or -1."""
    rest = text[1:].lstrip(" ")
    pair = _pair(rest, number, trouble)
    if pair:
        items.append({pair[0]: pair[1]})
        return depth + len(text) - len(rest)
    items.append(_best(rest, number, trouble, label))
    return -1


def _pair(text: str, number: int, trouble: List[int]) -> Optional[Tuple[str, Any]]:
    """Read `key: value` inside a list or a map; None where the text is no pair."""
    name, colon, rest = text.partition(": ")
    if not colon:
        if text[-1:] != ":":
            return None
        name, rest = text[:-1], ""
    name = _key(name)
    return (name, _best(rest, number, trouble)) if name else None


# ---- PyYAML, where the line reader was unsure


def _yaml(text: str, duplicates: List[str], trouble: List[int]) -> Tuple[Optional[Dict[str, Any]], List[str], str]:
    """Read a head with the string-only YAML loader; returns (meta or None, duplicate keys, problem or "")."""
    line = (trouble or [1])[0] + 1
    try:
        import yaml
        from frontmatter.default_handlers import YAMLHandler
    except ImportError:
        return None, duplicates, "line %d: read line by line, without PyYAML; run `dayleaf doctor`" % line
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        refused, found = _inspect(yaml, loader, text)
        if refused:
            return None, duplicates, refused
        meta = YAMLHandler().load(text, Loader=loader)
        if isinstance(meta, dict):
            return {str(k): _clean(v) for k, v in meta.items()}, found, ""
        reason = "no keys"
    except Exception as error:  # PyYAML raises ValueError, TypeError and RecursionError besides its own YAMLError
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else line
        reason = str(getattr(error, "problem", "") or "no YAML")
    return None, duplicates, "line %d: %s, read line by line; put the value in quotes" % (line, reason)


def _inspect(yaml: Any, loader: Any, text: str) -> Tuple[str, List[str]]:
    """Walk the events of a head before anything is built; returns (reason to refuse it or "", duplicate top-level
    keys).

    Events are produced one by one and without recursion, so a bomb costs no more than the walk to its first bad event.
    """
    depth, at_key = 0, True
    keys: Dict[str, None] = {}
    twice: Dict[str, None] = {}
    for event in yaml.parse(text, Loader=loader):
        line = event.start_mark.line + 2
        kind = type(event).__name__
        if kind == "AliasEvent" or getattr(event, "anchor", None) or getattr(event, "tag", None):
            return "line %d: anchors, aliases and tags are not read; write the value out" % line, []
        if kind == "ScalarEvent" and event.value == "<<" and event.style is None:
            return "line %d: merge keys are not read; write the values out" % line, []
        if depth == 1:
            if at_key and kind == "ScalarEvent":
                (twice if event.value in keys else keys)[event.value] = None
            if not kind.endswith("EndEvent"):
                at_key = not at_key
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            depth += 1
            if depth > DEPTH_LIMIT:
                return "line %d: nested more than 32 deep; flatten it" % line, []
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            depth -= 1
    return "", list(twice)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _scalars(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return {str(k): _clean(v) for k, v in value.items()} if isinstance(value, dict) else str(value)


# ---- the writer


def compose(meta: Mapping[str, Any], body: str) -> bytes:
    """Write a new file.

    meta: keys to text, numbers, booleans, lists or maps of these, in their order; None leaves a key out.  body:
    markdown. Every value that a YAML 1.1 reader would take for something else than its text is quoted.
    """
    lines = ["---"]
    for key, value in meta.items():
        lines += _entry(key, value)
    text = "\n".join([*lines, "---", "", body.lstrip("\n")])
    return _whole(text if text.endswith("\n") else text + "\n")


def _whole(text: str) -> bytes:
    return _scalars(text).encode("utf-8")


def _entry(key: str, value: Any) -> List[str]:
    """Return the lines of one top-level key; none for None."""
    if value is None:
        return []
    name = key if _plain(key, True) else _quote(key)
    if isinstance(value, (list, tuple)) and any(isinstance(item, (dict, list, tuple)) for item in value):
        return [name + ":"] + ["  - " + _inline(item) for item in value]
    if isinstance(value, str) and "\n" in value.strip("\n") and not value.startswith(("\n", " ")):
        lines = value.split("\n")
        ended = lines[-1] == ""
        lines = lines[:-1] if ended else lines
        if all(_clear(line) and (line.strip() or not line) for line in lines) and lines[-1]:
            return [name + (": |" if ended else ": |-")] + ["  " + line if line else "" for line in lines]
    return [name + ": " + (_inline(value) if isinstance(value, (dict, list, tuple)) else _scalar(value, False))]


def _inline(value: Any) -> str:
    """Write a value on one line."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(_scalar(k, True) + ": " + _inline(v) for k, v in value.items()) + "}"
    return _scalar(value, True)


def _scalar(value: Any, flow: bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = "" if value is None else str(value)
    return text if _plain(text, flow) else _quote(text)


def _plain(text: str, flow: bool) -> bool:
    """Tell whether text may stand without quotes: starts with a letter, is no word with a meaning, holds no syntax."""
    if not (text[:1].isalpha() or text[:1] in ("_", "/")) or text[:1] == "" or text.lower() in _WORDS:
        return False
    if text[-1] in ": " or ": " in text or " #" in text or not _clear(text) or "\t" in text:
        return False
    return not flow or not any(c in text for c in ",[]{}:?#&*!|>'\"%@`")


def _clear(text: str) -> bool:
    """Tell whether YAML takes every character of one line as it is."""
    return text.isprintable() or not any(map(_special, text))


def _special(c: str) -> bool:
    return ((c < " " and c != "\t") or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff"
            or c in "\u2028\u2029\ufeff\ufffe\uffff")


def _quote(text: str) -> str:
    out = []
    for c in text:
        if c in '"\\':
            c = "\\" + c
        elif c == "\n":
            c = "\\n"
        elif c == "\t":
            c = "\\t"
        elif "\ud800" <= c <= "\udfff":
            c = "\ufffd"
        elif _special(c):
            c = "\\x%02x" % ord(c) if c <= "\xff" else "\\u%04x" % ord(c)
        out.append(c)
    return '"' + "".join(out) + '"'


def edit(data: bytes, changes: Mapping[str, Any]) -> bytes:
    """Set or remove top-level keys; every other byte stays: unknown keys, order, comments, line ends, BOM, body.

    data: the file's bytes.  changes: key to a value as for `compose`, or None to remove it.  A file without frontmatter
    gets one above its text.  Raises StoreError where the file is not text or its head cannot be edited line by line.
    """
    before = parse(data, full=True)
    if not before.readable:
        raise StoreError("not UTF-8 text, so it cannot be edited; save it as UTF-8 first")
    start, end, _ = _fences(data)
    fenced = end >= 0 and before.head_lines > 0
    at = data.find(b"\n")
    newline = "\r\n" if data[max(at - 1, 0):at] == b"\r" else "\n"
    if fenced:
        newline = "\r\n" if data[start - 2:start - 1] == b"\r" else "\n"
        lines = data[start:end].decode("utf-8", "surrogateescape").split("\n")[:-1] if end > start else []
        new = _changed(lines, changes, newline)
        result = data[:start] + "".join(new).encode("utf-8", "surrogateescape") + data[end:]
    else:
        new = _changed([], changes, newline)
        if not new:
            return data
        top = start_of(data)
        fence = "---" + newline
        result = data[:top] + _whole(fence + "".join(new) + fence + newline) + data[top:]
    after = parse(result, full=True)
    wanted = {key: value for key, value in before.meta.items() if key not in changes}
    wanted.update((key, _as_read(value)) for key, value in changes.items())
    wrong = [key for key, value in wanted.items() if after.meta.get(key) != value]
    if wrong:
        raise StoreError("the frontmatter key '%s' cannot be changed line by line; edit it by hand" % wrong[0])
    return result


def _as_read(value: Any) -> Any:
    """Return a value as `parse` will give it back."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return ["" if item is None else _as_read(item) for item in value]
    if isinstance(value, dict):
        return {str(k): "" if v is None else _as_read(v) for k, v in value.items()}
    if isinstance(value, str):
        return _scalars(value)
    return _scalar(value, False)


def _scalars(text: str) -> str:
    """Return text with U+FFFD for each lone surrogate, which no UTF-8 can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def _changed(lines: List[str], changes: Mapping[str, Any], newline: str) -> List[str]:
    """Return the lines of a head, each with its line end, after the changes; a changed key keeps its place."""
    spans = _spans(lines)
    last = {key: index for index, (key, _, _) in enumerate(spans)}
    out: List[str] = []
    for index, (key, first, stop) in enumerate(spans):
        if key not in changes:
            out += [line + "\n" for line in lines[first:stop]]
            continue
        own, stop = stop, _own_end(lines, first, stop)
        if index == last[key] and changes[key] is not None:
            entry = _entry(key, changes[key])
            if len(entry) == 1 and stop == first + 1:
                entry[0] += _comment(lines[first])
            out += [line + newline for line in entry]
        out += [line + "\n" for line in lines[stop:own]]
    for key, value in changes.items():
        if key not in last:
            out += [line + newline for line in _entry(key, value)]
    return out


def _spans(lines: List[str]) -> List[Tuple[str, int, int]]:
    """Return (key, first line, line behind) of each top-level entry; lines above the first key have the key ""."""
    starts: List[Tuple[str, int]] = [("", 0)]
    for number, line in enumerate(lines):
        line = line.rstrip("\r")
        name, colon, rest = line.partition(": ")
        if not (colon and name.isidentifier()):
            name, _ = _top_key(line, name, colon, rest, number, [])
        if name:
            starts.append((name, number))
    ends = [first for _, first in starts[1:]] + [len(lines)]
    return [(key, first, stop) for (key, first), stop in zip(starts, ends) if stop > first]


def _own_end(lines: List[str], first: int, stop: int) -> int:
    """Return the line behind an entry's own lines: comments and blanks at the margin below belong to what follows."""
    while stop > first + 1 and (not lines[stop - 1].strip() or lines[stop - 1].startswith("#")):
        stop -= 1
    return stop


def _comment(line: str) -> str:
    """Return the comment behind a value on one line, with the blanks before it, or ""."""
    value = line.rstrip("\r").partition(":")[2]
    at = 0
    if value.lstrip()[:1] in ('"', "'"):
        at = _quoted(value, len(value) - len(value.lstrip()))[1]
    at = value.find(" #", at)
    at -= len(value[:max(at, 0)]) - len(value[:max(at, 0)].rstrip(" "))
    return value[at:] if at >= 0 and _value(value.strip()) is not None else ""
