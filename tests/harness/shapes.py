"""The shapes of what `--json` prints, as JSON Schema: found in examples, joined, checked, and
written out for a reader.

Of JSON Schema these keywords are used: type, properties, required, additionalProperties, items,
description.
"""

from __future__ import annotations

from typing import Any

Shape = dict[str, Any]
NAMES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}
WORDS = {
    "string": "text",
    "boolean": "boolean",
    "integer": "number",
    "number": "number",
    "null": "null",
}


def of(value: Any, path: str = "", maps: frozenset[str] = frozenset()) -> Shape:
    """Return the shape of a value.  maps: paths (`records.*`) of objects whose keys are data, such
    as ids.
    """
    if isinstance(value, dict) and path in maps:
        return {
            "type": "object",
            "additionalProperties": joined(
                [of(each, path + ".*", maps) for each in value.values()]
            ),
        }
    if isinstance(value, dict):
        inner = {
            key: of(each, "%s.%s" % (path, key) if path else key, maps)
            for key, each in value.items()
        }
        return {
            "type": "object",
            "properties": inner,
            "required": sorted(inner),
            "additionalProperties": False,
        }
    if isinstance(value, list):
        return {"type": "array", "items": joined([of(each, path + "[]", maps) for each in value])}
    return {"type": NAMES[type(value)]}


def joined(shapes: list[Shape]) -> Shape:
    """Return a shape that all of some have."""
    out: Shape = {}
    for shape in shapes:
        out = _both(out, shape) if out else shape
    return out


def _both(one: Shape, other: Shape) -> Shape:
    types = sorted(
        {*_types(one), *_types(other)}
        - ({"integer"} if "number" in (*_types(one), *_types(other)) else set())
    )
    out: Shape = {"type": types[0] if len(types) == 1 else types}
    for key in ("description", "items"):
        if key in one or key in other:
            found = [shape[key] for shape in (one, other) if shape.get(key)]
            out[key] = (joined(found) if key == "items" else found[0]) if found else {}
    objects = [shape for shape in (one, other) if "object" in _types(shape)]
    if any("properties" in shape for shape in objects):
        names = {name for shape in objects for name in shape.get("properties", {})}
        out["properties"] = {
            name: joined(
                [
                    shape["properties"][name]
                    for shape in objects
                    if name in shape.get("properties", {})
                ]
            )
            for name in sorted(names)
        }
        out["required"] = sorted(
            name for name in names if all(name in shape.get("required", ()) for shape in objects)
        )
        out["additionalProperties"] = False
    elif objects:
        out["additionalProperties"] = joined(
            [shape["additionalProperties"] for shape in objects if shape["additionalProperties"]]
        )
    return out


def _types(shape: Shape) -> list[str]:
    found = shape.get("type", [])
    return [found] if isinstance(found, str) else list(found)


def faults(value: Any, shape: Shape, path: str = "$") -> list[str]:
    """Return what is wrong with a value against a shape, one line each."""
    if not shape:
        return []
    name = NAMES[type(value)]
    if name not in _types(shape) and not (name == "integer" and "number" in _types(shape)):
        return ["%s is %s, not %s" % (path, name, " or ".join(_types(shape)))]
    if isinstance(value, list):
        return [
            fault
            for at, each in enumerate(value)
            for fault in faults(each, shape["items"], "%s[%d]" % (path, at))
        ]
    if not isinstance(value, dict):
        return []
    known, more = shape.get("properties", {}), shape["additionalProperties"]
    out = ["%s lacks %s" % (path, key) for key in shape.get("required", ()) if key not in value]
    for key, each in value.items():
        if key not in known and more is False:
            out.append("%s.%s is in no schema" % (path, key))
        else:
            out += faults(each, known.get(key, more or {}), "%s.%s" % (path, key))
    return out


def lines(shape: Shape, record: frozenset[str], indent: str = "") -> list[str]:
    """Return a shape's lines for a reader: keys of one type together, then nested ones.

    record: the keys of every record's head, which one word stands for.
    """
    known = shape.get("properties", {})
    whole = bool(record) and record <= set(known)
    plain: dict[str, list[str]] = {}
    nested: list[str] = []
    for name, inner in known.items():
        if whole and name in record:
            continue
        key = name + ("" if name in shape.get("required", ()) else "?")
        within = lines(_inner(inner), record, indent + "    ")
        if within:
            nested += ["%s%s: %s" % (indent, key, said(inner)), *within]
        else:
            plain.setdefault(said(inner), []).append(key)
    out = [indent + "…record"] if whole else []
    return [
        *out,
        *("%s%s: %s" % (indent, ", ".join(keys), kind) for kind, keys in plain.items()),
        *nested,
    ]


def _inner(shape: Shape) -> Shape:
    """Return the object that stands within a shape: itself, or of a list or map what it holds."""
    while "properties" not in shape and (shape.get("items") or shape.get("additionalProperties")):
        shape = shape.get("items") or shape["additionalProperties"]
    return shape


def said(shape: Shape) -> str:
    """Name a shape in words; a list stands in brackets."""
    words = []
    for name in _types(shape):
        if name == "array":
            words.append("[%s]" % said(shape.get("items") or {}))
        elif name == "object":
            more = shape.get("additionalProperties")
            words.append(
                "object"
                if "properties" in shape
                else "map to %s" % (said(more) if more else "anything")
            )
        else:
            words.append(WORDS[name])
    return " or ".join(dict.fromkeys(words)) or "anything"
