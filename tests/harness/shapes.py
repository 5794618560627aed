"""The shapes of what `--json` prints, as JSON Schema: found in examples, joined, checked, and
written out for a reader.

Of JSON Schema these keywords are used: type, properties, required, additionalProperties, items,
description.
"""

from __future__ import annotations

from typing import Any

Shape = dict[str, Any]
Groups = dict[str, frozenset[str]]
NAMES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
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


def told(shape: Shape, groups: Groups, known: dict[str, str], place: str) -> str:
    """Return a shape's keys for a reader: `[]` is a list, `{}` an object whose keys are data, and
    what such hold stands within.

    groups: a word -> the keys that it stands for.  known: keys that stand already -> their place;
    this adds to it.
    """
    if "properties" in shape:
        return "{%s}" % _keys(shape, groups, known, place)
    for kind, form in (("items", "[%s]"), ("additionalProperties", "{%s}")):
        inner = shape.get(kind)
        if kind in shape and {*_types(shape)} <= {"array", "object", "null"}:
            within = told(inner, groups, known, place) if isinstance(inner, dict) else ""
            if kind == "items" and "properties" in (inner or {}):
                within = within[1:-1]
            return form % (("*: " + within) if within and form[0] == "{" else within)
    return ""


def _keys(shape: Shape, groups: Groups, known: dict[str, str], place: str) -> str:
    found = shape["properties"]
    words = [word for word, keys in groups.items() if keys <= set(found)]
    left_out = {key for word in words for key in groups[word]}
    for name, inner in found.items():
        if name not in left_out:
            form = told(inner, groups, known, "%s.%s" % (place, name))
            key = name + "?" * (name not in shape.get("required", ()))
            words.append(key + " " * (len(form) > 2) + form)
    said = ", ".join(words)
    if len(words) > 3 and known.setdefault(said, place) != place:
        return "as in %s" % known[said]
    return said
