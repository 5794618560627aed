"""The verbs index, config, on and off."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Callable

from memory.core import StoreError, UsageError, clock, files, layout, spellings
from memory.core.config import (
    CHOICES,
    DEFAULTS,
    DROPPED_KEYS,
    SECRETS_STAY,
    find_fault,
    parse_value,
)
from memory.core.plaintext import format_count, one_line
from memory.doors import registry
from memory.health import accounts, figures
from memory.hook import fence, receipts
from memory.hook.strategies import build_categories
from memory.index import backend, builder
from memory.knowledge import walls
from memory.project import otherfiles
from memory.recall import lookup, topics
from memory.terminal import reports, screen
from memory.terminal.call import (
    Call,
    clip_input,
    find_closest,
    find_session_id,
    suggest_word,
    to_json,
    unknown_word,
)


def index(call: Call) -> int:
    """Build, verify or export the index, or print its status."""
    asked = call.words or ([] if call.options.backend else ["status"])
    if call.options.backend and asked in ([], ["build"], ["refresh"]):
        return _choose_backend(call, asked)
    if len(asked) != 1:
        raise UsageError("index takes one of " + ", ".join(WORDS))
    if asked[0] not in WORDS:
        raise unknown_word("index", asked[0], WORDS)
    return WORDS[asked[0]](call)


def _build_index(call: Call) -> int:
    with call.spinner("building the index") as spinner:
        show_progress = spinner.counting(spinner.step)
        done = builder.build(call.place, call.now, show_progress)
        for tier in _list_readable_tiers(call):
            builder.build(tier, call.now, show_progress)
        spinner.step = "reading what sessions ran into"
        walls.update_walls(call.place, call.settings, call.now)
    value, lines = done._asdict(), _summary_lines(call, done)
    if call.options.embeddings:
        value["vectors"], more = _build_vectors(call)
        lines += more
    return call.answer(value, lines)


def _build_vectors(call: Call) -> tuple[list[dict[str, Any]], list[str]]:
    name = call.options.workspace or ""
    places = lookup.find_searched_places(call.place, call.settings, name, [])
    made: tuple[list[dict[str, Any]], list[str]] = registry.offer("vectors", "build")(call, places)
    return made


def _refresh_index(call: Call) -> int:
    from memory.cli import recall

    with call.spinner("comparing the files with the index"):
        recall.refresh_touched_scripts(call)
        done = builder.refresh(call.place, call.now)
        for tier in _list_readable_tiers(call):
            builder.refresh(tier, call.now)
    return call.answer(done._asdict(), _summary_lines(call, done))


def _list_readable_tiers(call: Call) -> list[otherfiles.AddedTier]:
    tiers = otherfiles.list_added_tiers(call.place, call.settings)
    return [tier for tier in tiers if not tier.fault]


def _summary_lines(call: Call, done: Any) -> list[str]:
    if done.busy:
        return ["another process is building the index already; nothing else to do"]
    number = format_count(done.records, "record")
    line = f"{number}: {done.added} added, {done.changed} changed, {done.removed} removed"
    skipped = [one_line(call.place.path(name)) for name in done.skipped]
    lines = ["skipped %s; `dayleaf doctor` says why" % path for path in skipped]
    return [line + "; rebuilt" * done.built, *lines]


def _verify_index(call: Call) -> int:
    with call.spinner("rebuilding a copy"):
        differences = builder.verify(call.place, call.now)
    call.answer(
        {"verified": not differences, "differences": differences},
        differences or ["the index is correct: a new build would hold the same"],
    )
    if differences:
        raise StoreError("the index differs from its files; `dayleaf index refresh` mends it")
    return 0


def _choose_backend(call: Call, asked: list[str]) -> int:
    name = call.options.backend
    if name not in backend.BACKENDS:
        names = ", ".join(backend.BACKENDS)
        raise UsageError("--backend takes one of %s, not '%s'" % (names, clip_input(name)))
    lines: list[str] = []
    if asked:
        make = builder.build if asked == ["build"] else builder.refresh
        lines = _summary_lines(call, make(call.place, call.now))
    if name == "local":
        change_config(call.place.home + "/config.json", "index.backend", name, files.FILE_MODE)
        value = {"backend": name, "stopped": False}
        return call.answer(value, [*lines, "recall uses only the files"])
    given, private = call.options.dsn or "", bool(call.options.private)
    if backend.has_password(given):
        raise UsageError("--dsn " + backend.PASSWORD_ADVICE)
    lines += _build_vectors(call)[1] if call.options.embeddings else []
    status: int = registry.offer("postgres", "choose")(call, given, private, lines)
    return status


def _index_status(call: Call) -> int:
    with call.spinner("reading the records"):
        value = figures.read_state(call.place, call.settings, call.now)
    lines = reports.index_lines(value)
    database = backend.read_state(call.place, call.settings, call.env)
    if database is not None:
        counts = "%s of %s, %d of them from this workspace" % (
            format_count(database["documents"], "document"),
            format_count(database["workspaces"], "workspace"),
            database["here"],
        )
        lines.append("database: %s" % (database["problem"] or counts))
    built = builder.read_last_build(call.place)
    if built:
        made = "last build: %(t)s, %(records)s records, %(tokens)s tokens, in %(ms)s ms"
        lines.append(made % built)
    lines.append(reports.format_last_audit(value["audit"]))
    kept = {key: value[key] for key in ("workspace", "index", "vectors", "records", "skipped")}
    kept.update(
        audit=value["audit"] or None,
        lastBuild=built or None,
        backend=call.settings["index.backend"],
        database=database,
    )
    return call.answer(kept, lines)


def _export_index(call: Call) -> int:
    with call.spinner("reading the records"):
        value = topics.export(call.place, call.now, build_categories(), call.store())
    return call.answer(value, [to_json(value)])


WORDS: dict[str, Callable[[Call], int]] = {
    "build": _build_index,
    "refresh": _refresh_index,
    "verify": _verify_index,
    "status": _index_status,
    "export": _export_index,
}


def config(call: Call) -> int:
    word, *rest = call.words or ["list"]
    sizes = {"list": 0, "get": 1, "set": 2, "unset": 1}
    if word not in sizes:
        raise unknown_word("config", word, sizes, "use list, get, set or unset")
    if len(rest) != sizes[word]:
        ways = "`config get KEY`, `config set KEY VALUE` or `config unset KEY`"
        raise UsageError("use `dayleaf config list`, " + ways)
    if word == "list":
        return _list_settings(call)
    key = rest[0]
    if key in DROPPED_KEYS:
        raise UsageError("'%s' is no longer a setting; it does nothing now" % key)
    if key not in DEFAULTS:
        known = suggest_word(key, DEFAULTS, "`dayleaf config list` names them")
        raise UsageError("unknown key '%s'; %s" % (clip_input(key), known))
    if word == "get":
        value, source = call.settings[key], call.settings.sources[key]
        text = value if isinstance(value, str) else to_json(value)
        return call.answer({"key": key, "value": value, "source": source}, [text])
    return _set_setting(call, key, parse_setting(key, rest[1]) if word == "set" else None)


def _list_settings(call: Call) -> int:
    settings = call.settings
    rows = [[key, to_json(settings[key]), settings.sources[key]] for key in DEFAULTS]
    value = {key: {"value": settings[key], "source": source} for key, _, source in rows}
    lines = screen.format_table(rows, style=call.style(), give=1)
    return call.answer(value, [*lines, *("! " + problem for problem in settings.problems)])


def _apply_setting(call: Call, key: str, value: Any) -> list[str]:
    """Apply a setting outside the settings file; return lines about that."""
    if key == "mcp" and call.settings.sources[key] in ("user", "default"):
        return [registry.offer("mcp", "register")(call.env, bool(value))]
    return [SECRETS_STAY] if key == "redact.enabled" and value is False else []


def _set_setting(call: Call, key: str, value: Any) -> int:
    path = find_settings_file(call, "")[0]
    # first: where that fails, the setting stays as it was
    effects = _apply_setting(call, key, value)
    if value is not None or files.exists(path):
        change_config(path, key, value, files.FILE_MODE)
    call._settings = None
    now, source = call.settings[key], call.settings.sources[key]
    given = now if value is None else value
    line = "%s = %s" % (key, to_json(given))
    if source not in ("user", "default"):
        override = "; but the %s overrides it with %s" % (source, to_json(now))
        line += " (%s)" % source if value is None else override
    if key == "index.backend" and given == "postgres":
        from memory.cli import recall

        recall.find_dsn(call)  # which says where there is no database
    answer = {"key": key, "value": given, **({"told": effects[0]} if effects else {})}
    return call.answer(answer, [line, *effects])


def parse_setting(key: str, text: str) -> Any:
    """Parse a setting's value; raise UsageError if it is invalid."""
    value = parse_value(text, DEFAULTS[key])
    fault = find_fault(key, value)
    if fault:
        near = find_closest(text, CHOICES.get(key, ()))
        advice = "; did you mean '%s'?" % near if near else ""
        if isinstance(DEFAULTS[key], list):
            advice = '; write it as JSON: ["a","b"]'
        raise UsageError("%s, not '%s'%s" % (fault, clip_input(text), advice))
    if key == "index.backend" and value == "postgres":
        registry.offer("postgres", "dsn")  # raises if the door is not installed
    if key == "index.dsn" and backend.has_password(value):
        raise UsageError("index.dsn " + backend.PASSWORD_ADVICE)
    return value


def find_settings_file(call: Call, scope: str) -> tuple[str, int]:
    """Return (path, permissions) of the settings for `project`, `mine` or all ("")."""
    place = call.place
    if scope == "project" and not place.shared:
        raise UsageError("there is no project here; cd into one")
    folder = {"project": place.shared, "mine": place.private}.get(scope, place.home)
    return folder + "/config.json", 0o644 if scope == "project" else files.FILE_MODE


def change_config(path: str, key: str, value: Any, mode: int) -> None:
    """Set a key of a settings file; the value None removes it."""
    try:
        with files.Lock(layout.find_home(dict(os.environ)) + "/cache/config.lock", wait=True):
            _change_config(path, key, value, mode)
    except OSError as error:
        raise StoreError(
            "%s could not be written: %s; check its permissions"
            % (path, (error.strerror or "").lower())
        ) from None


def _change_config(path: str, key: str, value: Any, mode: int) -> None:
    try:
        settings = json.loads(files.read(path, 1 << 18).decode("utf-8-sig"))
    except FileNotFoundError:
        settings = {}
    except (OSError, ValueError):
        settings = None
    if not isinstance(settings, dict):
        raise StoreError("%s is not one JSON object; correct it by hand first" % path)
    group, _, last = key.partition(".")
    settings.pop(key, None)
    inner = settings.get(group)
    if isinstance(inner, dict):
        inner.pop(last, None)
        if value is not None:
            inner[last] = value
        elif not inner:
            del settings[group]
    elif value is not None:
        settings[key] = value
    text = json.dumps(settings, ensure_ascii=False, indent=2) + "\n"
    # a folder's name may hold surrogates for bytes that are not UTF-8: escape them
    text = re.sub("[\ud800-\udfff]", lambda match: "\\u%04x" % ord(match[0]), text)
    files.replace(path, text.encode("utf-8"), mode)


# --- on and off


def on(call: Call) -> int:
    return _switch(call, True)


def off(call: Call) -> int:
    return _switch(call, False)


def _switch(call: Call, on: bool) -> int:
    words, named, verb = call.words, call.options.session, spellings.spell_verb(call.verb)
    if words not in ([], ["mine"], ["project"]):
        raise UsageError("%s takes `mine`, `project` or no word (this session)" % verb)
    if words and named and named != call.env.get("CLAUDE_CODE_SESSION_ID"):
        raise UsageError("%s takes `%s` or --session, not both" % (verb, words[0]))
    if words:
        return (_switch_mine if words == ["mine"] else _switch_project)(call, on)
    session, line = _find_session_to_switch(call, on), "no session of this project is switched off"
    if session:
        line = _switch_session(call, session, on)
    if on and not call.settings["load.enabled"]:
        line += "; but load.enabled is off (%s)" % call.settings.sources["load.enabled"]
    return call.answer({"session": session, "enabled": on}, [line])


def _switch_mine(call: Call, on: bool) -> int:
    path, mode = find_settings_file(call, "mine")
    listed = call.settings["capture.projects"] == "listed"
    change_config(path, "capture.enabled", None if on and not listed else on, mode)
    change_config(path, "load.enabled", None if on else False, mode)
    line = "dayleaf keeps notes in this project and gives them to Claude: %s" % call.place.key
    if not on:
        line = (
            "paused for you only: dayleaf keeps nothing of this project and tells Claude nothing "
            "until `dayleaf push on mine`"
        )
    return call.answer({"workspace": call.place.key, "config": path, "enabled": on}, [line])


def _switch_project(call: Call, on: bool) -> int:
    path, mode = find_settings_file(call, "project")
    change_config(path, "load.enabled", None if on else False, mode)
    message = "dayleaf %s in this project, for everyone who has this file: %s"
    lines = [message % ("speaks again" if on else "tells Claude nothing", path)]
    return call.answer({"project": call.place.root, "config": path, "enabled": on}, lines)


def _switch_session(call: Call, session: str, on: bool) -> str:
    receipts.write(
        call.place.receipts(session), {"v": 1, "t": clock.iso(call.now), "event": call.verb}
    )
    if on:
        return "dayleaf speaks again in session %s" % session
    line = "dayleaf says nothing more in session %s" % session
    if call.settings["capture.enabled"]:
        line += (
            "; the session is still written down, and gets a note if notes are on; `dayleaf "
            "push off mine` stops that too, in this project"
        )
    return line


def _find_session_to_switch(call: Call, on: bool) -> str:
    """Return the named or running session, else the newest, a person's first.

    For `on` the newest that is off, or "". Raises UsageError where none has run.
    """
    ran, named = accounts.list_sessions(call.place), find_session_id(call)
    is_running = named == call.env.get("CLAUDE_CODE_SESSION_ID")
    if call.options.session and not is_running and named not in ran:
        newest = "the newest is " + ran[0] if ran else "no session has run in this workspace"
        raise UsageError("no session '%s' here; %s" % (clip_input(call.options.session), newest))
    if named:
        return named
    if not ran:
        raise UsageError(
            "no session has run in this workspace yet; `%s project` is "
            "for the whole project" % spellings.format_command(call.verb)
        )
    if not on:
        kept = call.store().each(("checkpoint",))
        programs = [one.meta.get("session") for one in kept if fence.is_unattended(one)]
        return min(ran, key=programs.__contains__)
    is_off = (session for session in ran if receipts.read_session(call.place.receipts(session)).off)
    return next(is_off, "")
