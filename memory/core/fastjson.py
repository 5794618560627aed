"""JSON for the blocking path: CPython's C scanner and encoder without `json`, which imports `re`
(about one bare start).
"""

from __future__ import annotations

from memory.core import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List


class _Context:
    """The attributes of a decoder that the C scanner reads.

    `strict = False` lets raw control characters through.
    """

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def parse(data: bytes | str) -> Any:
    """Return the value of a JSON text; raises ValueError.

    data: UTF-8 bytes (a BOM is skipped, bad bytes are replaced) or text.
    """
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    text = text.lstrip("\ufeff \t\r\n")
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return json.loads(text, strict=False)
    try:
        value, end = make_scanner(_Context)(text, 0)  # type: ignore[arg-type]
    except (StopIteration, SystemError):
        # up to 3.11 SystemError where nobody imported the scanner's error, of `json.decoder`
        raise ValueError("not JSON") from None
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    if text[end:].strip():
        raise ValueError("text after the JSON value")
    return value


def parse_rows(data: bytes) -> List[Dict[str, Any]]:
    """Return the objects of a JSON Lines file, without other lines."""
    found = []
    for line in data.split(b"\n"):
        try:
            row = parse(line) if line else None
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


def quote(text: str) -> str:
    """Return a string as JSON in ASCII.

    A lone surrogate becomes U+FFFD: in a context it makes every later API call fail.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode("utf-8")
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        import json

        return json.dumps(text)
    return encode_basestring_ascii(text)


def dump(value: Any) -> str:
    """Return a value as compact JSON in ASCII; raises TypeError."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(value) if value - value == 0 else "null"
    if isinstance(value, dict):
        return "{" + ",".join(quote(str(k)) + ":" + dump(v) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dump, value)) + "]"
    raise TypeError("not JSON: " + type(value).__name__)


def read_sealed(path: str, limit: int = 1 << 20) -> Any:
    """Return the value of a file written by `write_sealed`.

    Raises OSError, and ValueError where the file is torn or edited.
    """
    seal, _, line = files.read(path, limit).partition(b"\n")
    if seal != files.sha256(line).encode("ascii"):
        raise ValueError("the seal is broken")
    return parse(line)


def write_sealed(path: str, value: Any) -> None:
    """Write a value's JSON in a line below its SHA-256."""
    line = dump(value).encode("ascii")
    files.replace(path, files.sha256(line).encode("ascii") + b"\n" + line)
