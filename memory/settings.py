"""The verb config: list, get and set the settings of config.json."""

from __future__ import annotations

import json
from typing import Any

from memory import config, files, terminal
from memory.call import Call, nearest, shown, to_json, unknown_word
from memory.errors import StoreError, UsageError

PROVIDERS = ("auto", "claude", "gemini", "ollama", "command", "extract")
CHOICES = {"recall.rerank": ("factor", "weighted", "none"), "distill.provider": PROVIDERS}


def settings(call: Call) -> int:
    """List, get or set settings."""
    words = call.words or ["list"]
    sizes = {"list": 1, "get": 2, "set": 3, "unset": 2}
    if words[0] not in sizes:
        raise unknown_word("config", words[0], sizes, "use list, get, set or unset")
    if len(words) != sizes[words[0]]:
        raise UsageError("use `dayleaf config list`, `config get KEY`, `config set KEY VALUE` or `config unset KEY`")
    if words[0] == "list":
        rows = [[key, to_json(call.settings[key]), call.settings.sources[key]] for key in config.DEFAULTS]
        return call.answer({key: {"value": call.settings[key], "source": source} for key, _, source in rows},
                           [*terminal.table(rows), *("! " + problem for problem in call.settings.problems)])
    key = words[1]
    if key not in config.DEFAULTS:
        known = nearest(key, config.DEFAULTS, "`dayleaf config list` names them")
        raise UsageError("unknown key '%s'; %s" % (shown(key), known))
    if words[0] == "get":
        return call.answer({"key": key, "value": call.settings[key], "source": call.settings.sources[key]},
                           [call.settings[key] if isinstance(call.settings[key], str) else to_json(call.settings[key])])
    path, value = call.place.home + "/config.json", checked(key, words[2]) if words[0] == "set" else None
    if value is not None or files.exists(path):
        change_config(path, key, value, files.FILE_MODE)
    call._settings = None
    now, source = call.settings[key], call.settings.sources[key]
    said = "%s = %s" % (key, to_json(now if value is None else value))
    if source not in ("user", "default"):
        said += " (%s)" % source if value is None else "; but the %s says %s" % (source, to_json(now))
    return call.answer({"key": key, "value": now if value is None else value}, [said])


def checked(key: str, said: str) -> Any:
    """Read a setting's value from text; raises UsageError where it does not fit the key."""
    value = config.load("", "", {"DAYLEAF_" + key.upper().replace(".", "_"): said})
    if value.problems:  # "DAYLEAF_…: 'load.top' wants a number, such as 6": the words that a settings file gets
        raise UsageError("%s, not '%s'%s" % (value.problems[0].partition(": ")[2], shown(said), (
            "; write it as JSON: [\"a\",\"b\"]" if isinstance(config.DEFAULTS[key], list) else "")))
    if key == "load.routes" and any(not isinstance(route, str) or ":" not in route[1:] for route in value[key]):
        raise UsageError("load.routes wants a list like [\"payments: stripe invoice\"], not '%s'" % shown(said))
    if key == "context.tags":
        from memory.contexttags import weighted

        weighted(",".join(map(str, value[key])))
    if key == "recall.without":
        from memory.rank import ADJUSTMENTS

        for name in value[key]:
            if name not in ADJUSTMENTS:
                raise UsageError("recall.without wants a list of %s; %s" % (
                    ", ".join(ADJUSTMENTS), nearest(str(name), ADJUSTMENTS, "not '%s'" % shown(str(name)))))
    words = CHOICES.get(key)
    if words and value[key] not in words:
        raise UsageError("%s wants one of %s; %s" % (key, ", ".join(words), nearest(said, words, "not '%s'" % shown(said))))
    return value[key]


def change_config(path: str, key: str, value: Any, mode: int) -> None:
    """Set a key of a settings file, or remove it (None); everything else stays.  Raises StoreError."""
    try:
        held = json.loads(files.read(path, 1 << 18).decode("utf-8-sig"))
    except FileNotFoundError:
        held = {}
    except (OSError, ValueError):
        held = None
    if not isinstance(held, dict):
        raise StoreError("%s: cannot be read as one JSON object; mend it by hand first" % path)
    group, _, last = key.partition(".")
    held.pop(key, None)
    inner = held.get(group)
    if isinstance(inner, dict):
        inner.pop(last, None)
        if value is not None:
            inner[last] = value
        elif not inner:
            del held[group]
    elif value is not None:
        held[key] = value
    try:
        files.replace(path, (json.dumps(held, ensure_ascii=False, indent=2) + "\n").encode("utf-8"), mode)
    except OSError as error:
        raise StoreError("%s: not written, %s; check its permissions" % (path, (error.strerror or "").lower())) from None
