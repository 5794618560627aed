"""Frontmatter: a tolerant reader and a faithful writer of the YAML head of a markdown file.

Everything read is text: `0.88`, `Yes`, `2026-11-21` and `v2` stay what was written.  The line
reader (headreader.py) is a strict subset of YAML: what it is sure of, YAML reads the same, and it
is sure of what people write.  Where it is not, `parse` lets PyYAML's string-only loader decide
(headyaml.py).  `parse_fast` never does: a hook has no time for it, and the index must have the same
bytes where PyYAML is missing.  Then the best guess stands and the page is `guessed`: good for a
search, while no rule, script or path is taken from it (records.py).  Refused before YAML builds
anything: heads above 64 KiB, more than 256 keys, nesting above 32, anchors, aliases, tags and merge
keys (a 342-byte merge bomb takes 18.7 s; none of 33,600 real files uses any of them).  The writer
changes the lines of its own keys and no other byte.
"""

from __future__ import annotations

from memory.core import StoreError
from memory.core.headreader import (
    is_plain_line,
    is_significant,
    is_special,
    parse_key_line,
    parse_quoted,
    parse_value,
    read_head,
    replace_surrogates,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Tuple

HEAD_LIMIT, KEY_LIMIT = 1 << 16, 256
SAMPLE = 8000  # bytes of a file that tell whether it is text
# what no editor shows: the byte-order mark, zero-width characters, the word joiner
INVISIBLE = "\ufeff\u200b\u200c\u200d\u200e\u200f\u2060"
_INVISIBLE_BYTES = frozenset(c.encode("utf-8") for c in INVISIBLE)
# a YAML 1.1 reader takes these for booleans or null
_WORDS = frozenset("y n yes no true false on off null".split())


class Page:
    r"""A markdown file in parts.

    meta: keys to text, lists or maps of text.
    body: the text after the head, with `\n` line ends and without leading blank lines.
    problems: lines such as `line 3: ...; remedy`.
    duplicates: top-level keys that stand more than once (the last one is in `meta`; nothing that
        carries authority may be read from such a file).
    head_lines: lines of the file above the body.
    unsure: lines of the file, from 1, that YAML may read otherwise than the line reader, whichever
        of the two decided.
    guessed: there are unsure lines and PyYAML was not asked.
    misread: the text that PyYAML refused, "" for nothing.
    readable: False where the bytes are no UTF-8 text; meta and body are then empty.
    """

    def __init__(self) -> None:
        self.meta: Dict[str, Any] = {}
        self.body = ""
        self.problems: List[str] = []
        self.duplicates: List[str] = []
        self.head_lines = 0
        self.unsure: List[int] = []
        self.guessed = False
        self.misread = ""
        self.readable = True


def split_head(data: bytes) -> Tuple[bytes, int]:
    """Return (bytes of the head between its fences, offset of the body).

    (b"", offset of the text) without a head.
    """
    start, end, offset = _find_fences(_unify_line_ends(data))
    return data[start:end], offset


def find_key_lines(data: bytes) -> Dict[str, int]:
    """Return the last line number, from 1, of each top-level key."""
    data = _unify_line_ends(data)
    start, end, _ = _find_fences(data)
    if end <= start:
        return {}
    above = data.count(b"\n", 0, start) + 1
    lines = data[start : min(end, start + HEAD_LIMIT)].decode("utf-8", "replace").split("\n")
    return {key: above + first for key, first, _ in _find_entries(lines) if key}


def is_binary(data: bytes) -> bool:
    """Tell whether bytes are UTF-16 or binary rather than text.

    So they are with a zero byte near their start, as git judges, or where much is no UTF-8.
    """
    start = data[:SAMPLE]
    if start.isascii():
        return b"\0" in start
    odd = start.decode("utf-8", "replace").count("\ufffd")
    return b"\0" in start or start[:2] in (b"\xff\xfe", b"\xfe\xff") or odd * 3 > len(start)


def find_merge_marker(data: bytes) -> int:
    """Return the line number of an unfinished merge's first marker, or 0."""
    if b"\n>>>>>>> " not in data:
        return 0
    start = (b"\n" + data).find(b"\n<<<<<<< ")
    return data.count(b"\n", 0, start) + 1 if start >= 0 else 0


def parse(data: bytes) -> Page:
    """Return a file's frontmatter and body; PyYAML reads unclear frontmatter.

    Importing PyYAML costs 15 ms.  No content makes it raise.
    """
    return _parse_page(data, settle=True)


def parse_fast(data: bytes) -> Page:
    """Read a file as `parse` does, but without PyYAML, for hooks."""
    return _parse_page(data, settle=False)


def _parse_page(data: bytes, settle: bool) -> Page:
    page = Page()
    if is_binary(data):
        page.readable = False
        page.problems.append("line 1: not UTF-8 text; save it as UTF-8")
        return page
    data = _unify_line_ends(data)
    start, end, offset = _find_fences(data)
    if start < 0 and data.startswith(b"+++", offset):
        end, offset = _read_toml(data, offset, page)
    elif end >= start >= 0:
        if not _read_head(data[start:end], page, data.count(b"\n", 0, start), settle):
            end, offset = -1, text_start(data)
            page.problems.clear()
    elif start >= 0 and end < 0:
        page.problems.append("line 1: the frontmatter is not closed; end it with a line `---`")
    body = _decode_lines(data[offset:], page)
    if end >= 0:
        page.body = body.lstrip("\n")
        page.head_lines = data.count(b"\n", 0, offset) + len(body) - len(page.body)
    else:
        page.body = body
    return page


def _read_toml(data: bytes, at: int, page: Page) -> Tuple[int, int]:
    """Fill `page` from a TOML head; return its end and the body's start."""
    from memory.core import headtoml

    start, end, offset = headtoml.find_fences(data, at)
    if start >= 0:
        page.meta = headtoml.parse(_decode(data[start:end][:HEAD_LIMIT], page))
    return end, offset


def text_start(data: bytes) -> int:
    """Return the offset of the first visible character."""
    at = 0
    while data[at : at + 3] in _INVISIBLE_BYTES:
        at += 3
    return at


def _unify_line_ends(data: bytes) -> bytes:
    r"""Return data with `\n` for an old Mac's line ends."""
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def _is_blank(line: bytes) -> bool:
    return all(c.isspace() or c in INVISIBLE for c in line.decode("utf-8", "replace"))


def _find_fences(data: bytes) -> Tuple[int, int, int]:
    """Return (start of the head, its end, start of the body).

    (-1, -1, start of the text) without a head, (start of the head, -1, start of the text) where it
    is not closed.
    """
    text = text_start(data)
    at = text + 3 if data[text : text + 4] == b"---\n" else _find_blank_fence_end(data, text)
    if at < 0:
        return -1, -1, text
    start = at + 1
    while True:
        at = data.find(b"\n---", at)
        if at < 0:
            return start, -1, text
        stop = at + 4
        if data[stop : stop + 1] == b"\n":
            return start, at + 1, stop + 1
        end = data.find(b"\n", stop)
        if _is_blank(data[stop : end if end >= 0 else len(data)]):
            return start, at + 1, end + 1 if end >= 0 else len(data)
        at = stop


def _decode_lines(data: bytes, page: Page) -> str:
    text = _decode(data, page)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _decode(data: bytes, page: Page) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        line = page.head_lines + data.count(b"\n", 0, error.start) + 1
        # no letter of it is UTF-8: an editor's Latin-1
        is_latin = data.decode("utf-8", "ignore").isascii()
        page.problems.append(
            "line %d: bytes that are not UTF-8, read as %s; save the file as UTF-8"
            % (line, "Latin-1" if is_latin else "U+FFFD")
        )
        return data.decode("latin-1") if is_latin else data.decode("utf-8", "replace")


def _find_blank_fence_end(data: bytes, at: int) -> int:
    """Return the end of an opening fence among blanks, `yaml` or a comment, or -1."""
    lead = data[at : at + 1024]
    blank = len(lead) - len(lead.lstrip())
    at += blank
    end = data.find(b"\n", at)
    if not data.startswith(b"---", at) or (blank and data[at - 1 : at] != b"\n"):
        return -1
    behind = data[at + 3 : end].partition(b" #")[0].rstrip().removesuffix(b"yaml")
    return end if _is_blank(behind) else -1


def _read_head(head: bytes, page: Page, above: int, settle: bool) -> bool:
    """Fill `page` from a head; return False where it has no key.

    Then the fences are rules drawn in prose.  above: lines of the file above the head.  settle: ask
    PyYAML about unclear lines.
    """
    huge = len(head) > HEAD_LIMIT
    text = _decode_lines(head[:HEAD_LIMIT], page)
    meta, duplicates, unsure = read_head(text)
    problem = ""
    if huge:
        problem = "line 1: the frontmatter is longer than 64 KiB; shorten it"
    elif unsure and settle:
        from memory.core.headyaml import read_yaml

        read, duplicates, problem, page.guessed = read_yaml(text, duplicates, unsure)
        if read is not None:
            meta = read
        elif not page.guessed:
            page.misread = problem
    else:
        page.guessed = bool(unsure)
    page.unsure = sorted({above + number for number in unsure})
    if len(meta) > KEY_LIMIT:
        meta = dict(list(meta.items())[:KEY_LIMIT])
        problem = "line 1: more than 256 keys; remove some"
    if problem:
        page.problems.append(problem)
    if duplicates:
        named = ", ".join("'%s'" % key for key in duplicates[:5])
        page.problems.append(
            "line 1: the key %s occurs twice and the last one counts; remove the other" % named
        )
    page.meta, page.duplicates = meta, duplicates
    return bool(meta) or not any(map(is_significant, text.split("\n")))


# ---- the writer


def format_file(meta: Mapping[str, Any], body: str) -> bytes:
    """Return the bytes of a new file.

    meta: keys to text, numbers, booleans, lists or maps of these, in their order; None leaves a key
    out.  What a YAML 1.1 reader would not take for text is quoted.
    """
    lines = ["---"]
    for key, value in meta.items():
        lines += _format_entry(key, value)
    text = "\n".join([*lines, "---", "", body.lstrip("\n")])
    return _encode(text if text.endswith("\n") else text + "\n")


def _encode(text: str) -> bytes:
    return replace_surrogates(text).encode("utf-8")


def _format_entry(key: str, value: Any) -> List[str]:
    """Return the lines of one top-level key, [] for None."""
    if value is None:
        return []
    name = key if _is_plain(key, True) else _quote(key)
    if isinstance(value, (list, tuple)) and any(
        isinstance(item, (dict, list, tuple)) for item in value
    ):
        return [name + ":"] + ["  - " + _format_inline(item) for item in value]
    if isinstance(value, str) and "\n" in value.strip("\n"):
        block = _format_literal_block(name, value)
        if block:
            return block
    if isinstance(value, (dict, list, tuple)):
        return ["%s: %s" % (name, _format_inline(value))]
    return ["%s: %s" % (name, _format_scalar(value, False))]


def _format_literal_block(name: str, text: str) -> List[str]:
    """Return the lines of a key with a `|` text, [] where unsafe."""
    if text.startswith(("\n", " ")):
        return []
    lines = text.split("\n")
    ended = lines[-1] == ""
    lines = lines[:-1] if ended else lines
    are_plain = all(is_plain_line(line) and (line.strip() or not line) for line in lines)
    if not lines[-1] or not are_plain:
        return []
    return [name + (": |" if ended else ": |-"), *("  " + line if line else "" for line in lines)]


def _format_inline(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_format_inline, value)) + "]"
    if isinstance(value, dict):
        return "{%s}" % ", ".join(_format_pairs(value))
    return _format_scalar(value, True)


def _format_pairs(value: Mapping[str, Any]) -> List[str]:
    return [_format_scalar(k, True) + ": " + _format_inline(v) for k, v in value.items()]


def _format_scalar(value: Any, flow: bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = "" if value is None else str(value)
    return text if _is_plain(text, flow) else _quote(text)


def _is_plain(text: str, flow: bool) -> bool:
    """Tell whether YAML text needs no quotes.

    It starts with a letter, is no word with a meaning in YAML and holds no syntax.  flow: it stands
    in a `[…]` or `{…}`.
    """
    if not (text[:1].isalpha() or text[:1] in ("_", "/")) or text.lower() in _WORDS:
        return False
    if text[-1] in ": " or ": " in text or " #" in text or not is_plain_line(text) or "\t" in text:
        return False
    return not flow or not any(c in text for c in ",[]{}:?#&*!|>'\"%@`")


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
        elif is_special(c):
            c = "\\x%02x" % ord(c) if c <= "\xff" else "\\u%04x" % ord(c)
        out.append(c)
    return '"' + "".join(out) + '"'


def edit(data: bytes, changes: Mapping[str, Any], name: str = "") -> bytes:
    """Return a file with top-level keys set or removed.

    Unknown keys, order, comments, line ends, BOM and body stay.
    changes: key to a value as for `format_file`, or None to remove the key.
    name: the file's, for the error.
    A file without frontmatter gets one above its text.  Raises StoreError where the file is not
    text, or its head was not understood or cannot be edited line by line.
    """
    try:
        return _apply_changes(data, changes)
    except StoreError as error:
        raise StoreError("%s: %s" % (name, error) if name else str(error)) from None


def _apply_changes(data: bytes, changes: Mapping[str, Any]) -> bytes:
    unified = _unify_line_ends(data)
    if unified != data:
        return _apply_changes(unified, changes).replace(b"\n", b"\r")
    before = parse(data)
    if not before.readable:
        raise StoreError("not UTF-8 text, so it cannot be edited; save it as UTF-8 first")

    from memory.core.headfaults import raise_fault

    if changes:
        raise_fault(data, before)
    start, end, _ = _find_fences(data)
    fenced = end >= 0 and before.head_lines > 0
    at = data.find(b"\n")
    newline = "\r\n" if data[max(at - 1, 0) : at] == b"\r" else "\n"
    if fenced:
        newline = "\r\n" if data[start - 2 : start - 1] == b"\r" else "\n"
        lines = data[start:end].decode("utf-8", "surrogateescape").split("\n")[:-1]
        new = _change_lines(lines, changes, newline, before.meta)
        result = data[:start] + "".join(new).encode("utf-8", "surrogateescape") + data[end:]
    else:
        new = _change_lines([], changes, newline, {})
        if not new:
            return data
        top = text_start(data)
        fence = "---" + newline
        result = data[:top] + _encode(fence + "".join(new) + fence + newline) + data[top:]
    _check_values(result, before, changes)
    return result


def _check_values(result: bytes, before: Page, changes: Mapping[str, Any]) -> None:
    """Raise StoreError if a key of the result has another value than wanted."""
    after = parse(result)
    wanted = {key: value for key, value in before.meta.items() if key not in changes}
    wanted.update((key, _as_read(value)) for key, value in changes.items())
    wrong = [key for key, value in wanted.items() if after.meta.get(key) != value]
    if wrong:
        raise StoreError(
            "the frontmatter key '%s' cannot be changed safely; edit it by hand" % wrong[0]
        )


def _as_read(value: Any) -> Any:
    """Return a value in the form that `parse` returns."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return ["" if item is None else _as_read(item) for item in value]
    if isinstance(value, dict):
        return {str(k): "" if v is None else _as_read(v) for k, v in value.items()}
    if isinstance(value, str):
        return replace_surrogates(value)
    return _format_scalar(value, False)


def _change_lines(
    lines: List[str], changes: Mapping[str, Any], newline: str, before: Mapping[str, Any]
) -> List[str]:
    """Return a head's lines with the changes; `before` holds its values."""
    spans = _find_entries(lines)
    last = {key: index for index, (key, _, _) in enumerate(spans)}
    out: List[str] = []
    for index, (key, first, stop) in enumerate(spans):
        if key not in changes:
            out += [line + "\n" for line in lines[first:stop]]
            continue
        end = _find_entry_end(lines, first, stop)
        if index == last[key] and changes[key] is not None:
            entry = _format_entry(key, changes[key])
            kept = _count_kept_items(before.get(key), changes[key])
            pairs = _format_pairs(changes[key]) if isinstance(changes[key], dict) else []
            indent = _find_item_indent(lines[first + 1 : end], not pairs) if kept else None
            if indent is not None:
                out += [line + "\n" for line in lines[first:end]]
                entry = [indent + line.lstrip() for line in (pairs or entry[1:])[kept:]]
            elif len(entry) == 1 and end == first + 1:
                entry[0] += _find_comment(lines[first])
            out += [line + newline for line in entry]
        out += [line + "\n" for line in lines[end:stop]]
    for key, value in changes.items():
        if key not in last:
            out += [line + newline for line in _format_entry(key, value)]
    return out


def _count_kept_items(before: Any, wanted: Any) -> int:
    """Return the number of a value's items if the new one begins with them, else 0."""
    if isinstance(before, dict) and isinstance(wanted, dict):
        before, wanted = list(map(list, before.items())), list(wanted.items())
    if not isinstance(before, list) or not isinstance(wanted, (list, tuple)):
        return 0
    return len(before) if _as_read(wanted[: len(before)]) == before else 0


def _find_item_indent(lines: List[str], dashed: bool) -> Optional[str]:
    """Return the indent of a list's or mapping's items, None where they differ."""
    indents = set()
    for line in lines:
        item = line.lstrip()
        if item.startswith("- ") if dashed else item[:1] not in ("", "#"):
            indents.add(line[: len(line) - len(item)])
    return indents.pop() if len(indents) == 1 else None


def _find_entries(lines: List[str]) -> List[Tuple[str, int, int]]:
    """Return (key, first line, end) of each top-level entry."""
    starts: List[Tuple[str, int]] = [("", 0)]
    for number, line in enumerate(lines):
        name, _ = parse_key_line(line.rstrip("\r"))
        if name:
            starts.append((name, number))
    ends = [first for _, first in starts[1:]] + [len(lines)]
    return [(key, first, stop) for (key, first), stop in zip(starts, ends) if stop > first]


def _find_entry_end(lines: List[str], first: int, stop: int) -> int:
    """Return an entry's end without trailing blank lines and comments."""
    while stop > first + 1 and (not lines[stop - 1].strip() or lines[stop - 1].startswith("#")):
        stop -= 1
    return stop


def _find_comment(line: str) -> str:
    """Return the comment behind a value on one line with the blanks before it, or ""."""
    value = line.rstrip("\r").partition(":")[2]
    at = 0
    if value.lstrip()[:1] in ('"', "'"):
        at = parse_quoted(value, len(value) - len(value.lstrip()))[1]
    at = value.find(" #", at)
    if at < 0 or parse_value(value.strip()) is None:
        return ""
    return value[len(value[:at].rstrip(" ")) :]
