"""A frontmatter head through PyYAML's string-only loader, bombs refused."""

from __future__ import annotations

from memory.core.headreader import LABELS, is_label, parse_key_line, replace_surrogates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    Read = Tuple[Optional[Dict[str, Any]], List[str], str, bool]

DEPTH_LIMIT = 32
# levels that an event goes down
_DEEPER = {
    "MappingStartEvent": 1,
    "SequenceStartEvent": 1,
    "MappingEndEvent": -1,
    "SequenceEndEvent": -1,
}


def read_yaml(text: str, duplicates: List[str], unsure: List[int]) -> Read:
    """Read a head with PyYAML's string-only loader.

    Returns (meta or None, duplicate keys, problem or "", whether PyYAML is missing).
    """
    line = (unsure or [1])[0] + 1
    try:
        import yaml
        from frontmatter.default_handlers import YAMLHandler
    except ImportError:
        problem = "line %d: read line by line, for PyYAML is not installed; run install.sh" % line
        return None, duplicates, problem, True
    text = _quote_labels(text)
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        problem, twice = _check_events(yaml, loader, text)
        if problem:
            return None, duplicates, problem, False
        meta = YAMLHandler().load(text, Loader=loader)
        if isinstance(meta, dict):
            return {str(k): _to_text(v) for k, v in meta.items()}, twice, "", False
        reason = "no keys"
    # PyYAML raises ValueError, TypeError and RecursionError besides its own YAMLError
    except Exception as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else line
        reason = str(getattr(error, "problem", "") or "not YAML")
    problem = "line %d: not valid YAML (%s); put the value after the colon in quotes"
    return None, duplicates, problem % (line, reason), False


def _quote_labels(text: str) -> str:
    """Put the labels of a head in quotes.

    For YAML `tags: #auth`, and `- #auth` below `tags:`, are comments.
    """
    if "#" not in text:
        return text
    lines, below = text.split("\n"), False
    for number, line in enumerate(lines):
        name, value = parse_key_line(line)
        if name:
            below = name in LABELS
        elif line.lstrip(" ")[:2] == "- ":
            value = line.lstrip(" ")[2:]
        value = value.strip(" ")
        start = line.rstrip(" ").removesuffix(value)
        if below and is_label(value) and start[-1:] == " ":
            lines[number] = start + "'" + value.replace("'", "''") + "'"
    return "\n".join(lines)


def _check_events(yaml: Any, loader: Any, text: str) -> Tuple[str, List[str]]:
    """Check the YAML events of a head before anything is built.

    Returns (reason to refuse the head or "", duplicate top-level keys).  Events are produced one by
    one and without recursion, so a bomb costs no more than the walk to its first bad event.
    """
    depth, at_key = 0, True
    keys: Dict[str, None] = {}
    twice: Dict[str, None] = {}
    for event in yaml.parse(text, Loader=loader):
        line = event.start_mark.line + 2
        kind = type(event).__name__
        unread = _find_unread_feature(event, kind)
        if unread:
            return "line %d: %s" % (line, unread), []
        if depth == 1:
            if at_key and kind == "ScalarEvent":
                found = twice if event.value in keys else keys
                found[event.value] = None
            if not kind.endswith("EndEvent"):
                at_key = not at_key
        depth += _DEEPER.get(kind, 0)
        if depth > DEPTH_LIMIT:
            return "line %d: nested more than 32 levels deep; flatten it" % line, []
    return "", list(twice)


def _find_unread_feature(event: Any, kind: str) -> str:
    """Return why an event is not read, with the remedy, or ""."""
    if kind == "AliasEvent" or getattr(event, "anchor", None) or getattr(event, "tag", None):
        return "anchors, aliases and tags are not read; write the value out"
    if kind == "ScalarEvent" and event.value == "<<" and event.style is None:
        return "merge keys are not read; write the values out"
    return ""


def _to_text(value: Any) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_to_text(item) for item in value]
    if isinstance(value, dict):
        return {str(k): _to_text(v) for k, v in value.items()}
    return str(value)
