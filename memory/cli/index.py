"""The verbs index, config, on and off."""

from __future__ import annotations

import json
import os
from typing import Any, Callable

from memory.core import StoreError, UsageError, clock, files, layout, spellings
from memory.core.config import CHOICES, DEFAULTS, DROPPED, SECRETS_STAY, fault, from_text
from memory.core.plaintext import count, one_line
from memory.health import figures
from memory.hook import receipts
from memory.index import builder
from memory.knowledge import walls
from memory.project import otherfiles
from memory.terminal import reports, screen
from memory.terminal.call import Call, closest, nearest, session_of, shown, to_json, unknown_word


def index(call: Call) -> int:
    """Build, verify or export the index, or print its status."""
    asked = call.words or ([] if call.options.backend else ["status"])
    if call.options.backend and asked in ([], ["build"], ["refresh"]):
        return _choose(call, asked)
    if len(asked) != 1:
        raise UsageError("index takes one of " + ", ".join(WORDS))
    if asked[0] not in WORDS:
        raise unknown_word("index", asked[0], WORDS)
    return WORDS[asked[0]](call)


def _build(call: Call) -> int:
    with call.spinner("building the index") as spinner:
        show_progress = spinner.counting(spinner.step)
        done = builder.build(call.place, call.now, show_progress)
        for tier in _readable(call):
            builder.build(tier, call.now, show_progress)
        spinner.step = "reading what sessions ran into"
        walls.write(call.place, call.settings, call.now)
    value, lines = done._asdict(), _summary_lines(call, done)
    if call.options.embeddings:
        value["vectors"], more = _embedded(call)
        lines += more
    return call.answer(value, lines)


def _embedded(call: Call) -> tuple[list[dict[str, Any]], list[str]]:
    from memory.doors import registry
    from memory.recall import lookup

    places = lookup.searched_places(call.place, call.settings, call.options.workspace or "", [])
    made: tuple[list[dict[str, Any]], list[str]] = registry.offer("vectors", "build")(call, places)
    return made


def _refresh(call: Call) -> int:
    with call.spinner("comparing the files with the index"):
        done = builder.refresh(call.place, call.now)
        for tier in _readable(call):
            builder.refresh(tier, call.now)
    return call.answer(done._asdict(), _summary_lines(call, done))


def _readable(call: Call) -> list[otherfiles.Added]:
    return [tier for tier in otherfiles.added(call.place, call.settings) if not tier.fault]


def _summary_lines(call: Call, done: Any) -> list[str]:
    if done.busy:
        return ["another process is building the index already; nothing else to do"]
    said = "%s: %d added, %d changed, %d removed%s" % (
        count(done.records, "record"),
        done.added,
        done.changed,
        done.removed,
        "; rebuilt" if done.built else "",
    )
    skipped = [one_line(call.place.path(name)) for name in done.skipped]
    return [said, *("skipped %s; `dayleaf doctor` says why" % path for path in skipped)]


def _verify(call: Call) -> int:
    with call.spinner("rebuilding a copy"):
        differences = builder.verify(call.place, call.now)
    call.answer(
        {"verified": not differences, "differences": differences},
        differences or ["the index is correct: a new build would hold the same"],
    )
    if differences:
        raise StoreError("the index differs from its files; `dayleaf index refresh` mends it")
    return 0


def _choose(call: Call, asked: list[str]) -> int:
    from memory.doors import registry
    from memory.index import backend

    name = call.options.backend
    if name not in backend.NAMES:
        names = ", ".join(backend.NAMES)
        raise UsageError("--backend takes one of %s, not '%s'" % (names, shown(name)))
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
        raise UsageError("--dsn " + backend.SECRET)
    lines += _embedded(call)[1] if call.options.embeddings else []
    status: int = registry.offer("postgres", "choose")(call, given, private, lines)
    return status


def _index_status(call: Call) -> int:
    from memory.index import backend

    with call.spinner("reading the records"):
        value = figures.state(call.place, call.settings, call.now)
    database = backend.state(call.place, call.settings, call.env)
    built, said = builder.last_build(call.place), []
    if built:
        made = "last build: %(t)s, %(records)s records, %(tokens)s tokens, in %(ms)s ms"
        said.append(made % built)
    if database is not None:
        held = "%s of %s, %d of them from this workspace" % (
            count(database["documents"], "document"),
            count(database["workspaces"], "workspace"),
            database["here"],
        )
        said.insert(0, "database: %s" % (database["problem"] or held))
    return call.answer(
        {
            **{key: value[key] for key in ("workspace", "index", "vectors", "records", "skipped")},
            "audit": value["audit"] or None,
            "lastBuild": built or None,
            "backend": call.settings["index.backend"],
            "database": database,
        },
        [*reports.index(value), *said, reports.last_audit(value["audit"])],
    )


def _export(call: Call) -> int:
    from memory.hook.strategies import categories
    from memory.recall import topics

    with call.spinner("reading the records"):
        value = to_json(topics.export(call.place, call.now, categories()))
    print(value)
    return 0


WORDS: dict[str, Callable[[Call], int]] = {
    "build": _build,
    "refresh": _refresh,
    "verify": _verify,
    "status": _index_status,
    "export": _export,
}


def config(call: Call) -> int:
    """List, get or set settings."""
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
    if key in DROPPED:
        raise UsageError("'%s' is no longer a setting; it does nothing now" % key)
    if key not in DEFAULTS:
        known = nearest(key, DEFAULTS, "`dayleaf config list` names them")
        raise UsageError("unknown key '%s'; %s" % (shown(key), known))
    if word == "get":
        value, source = call.settings[key], call.settings.sources[key]
        said = value if isinstance(value, str) else to_json(value)
        return call.answer({"key": key, "value": value, "source": source}, [said])
    return _set(call, key, checked(key, rest[1]) if word == "set" else None)


def _list_settings(call: Call) -> int:
    settings = call.settings
    rows = [[key, to_json(settings[key]), settings.sources[key]] for key in DEFAULTS]
    value = {key: {"value": settings[key], "source": source} for key, _, source in rows}
    lines = screen.table(rows, style=call.style(), give=1)
    return call.answer(value, [*lines, *("! " + problem for problem in settings.problems)])


def _apply_setting(call: Call, key: str, value: Any) -> list[str]:
    """Do what a new value of a setting asks for; return lines for the user."""
    if key == "mcp" and call.settings.sources[key] in ("user", "default"):
        from memory.doors import registry

        return [registry.offer("mcp", "register")(call.env, bool(value))]
    return [SECRETS_STAY] if key == "redact.enabled" and value is False else []


def _set(call: Call, key: str, value: Any) -> int:
    path = settings_file(call, "")[0]
    # first: where that fails, the setting stays as it was
    told = _apply_setting(call, key, value)
    if value is not None or files.exists(path):
        change_config(path, key, value, files.FILE_MODE)
    call._settings = None
    now, source = call.settings[key], call.settings.sources[key]
    given = now if value is None else value
    said = "%s = %s" % (key, to_json(given))
    if source not in ("user", "default"):
        said += (
            " (%s)" % source
            if value is None
            else "; but the %s overrides it with %s" % (source, to_json(now))
        )
    if key == "index.backend" and given == "postgres":
        from memory.cli import recall

        recall.dsn_of(call)  # which says where there is no database
    return call.answer(
        {"key": key, "value": given, **({"told": told[0]} if told else {})}, [said, *told]
    )


def checked(key: str, said: str) -> Any:
    """Return a setting's value from text.

    Raises UsageError where it does not fit the key.
    """
    value = from_text(said, DEFAULTS[key])
    wrong = fault(key, value)
    if wrong:
        near = closest(said, CHOICES.get(key, ()))
        more = "; did you mean '%s'?" % near if near else ""
        if isinstance(DEFAULTS[key], list):
            more = '; write it as JSON: ["a","b"]'
        raise UsageError("%s, not '%s'%s" % (wrong, shown(said), more))
    if key == "index.backend" and value == "postgres":
        from memory.doors import registry

        registry.offer("postgres", "dsn")  # raises where the door is not installed
    if key == "index.dsn":
        from memory.index import backend

        if backend.has_password(value):
            raise UsageError("index.dsn " + backend.SECRET)
    return value


def settings_file(call: Call, scope: str) -> tuple[str, int]:
    """Return (path, mode) of the settings of `project`, `mine`, or "" for all projects.

    Raises UsageError where there is no project.
    """
    place = call.place
    if scope == "project" and not place.shared:
        raise UsageError("there is no project here; cd into one")
    folder = {"project": place.shared, "mine": place.private}.get(scope, place.home)
    return folder + "/config.json", 0o644 if scope == "project" else files.FILE_MODE


def change_config(path: str, key: str, value: Any, mode: int) -> None:
    """Set or remove (None) a key of a settings file.

    Everything else stays, also what another command sets at the same time. Raises StoreError.
    """
    try:
        with files.Lock(layout.home(dict(os.environ)) + "/cache/config.lock", wait=True):
            _change_config(path, key, value, mode)
    except OSError as error:
        raise StoreError(
            "%s could not be written: %s; check its permissions"
            % (path, (error.strerror or "").lower())
        ) from None


def _change_config(path: str, key: str, value: Any, mode: int) -> None:
    try:
        held = json.loads(files.read(path, 1 << 18).decode("utf-8-sig"))
    except FileNotFoundError:
        held = {}
    except (OSError, ValueError):
        held = None
    if not isinstance(held, dict):
        raise StoreError("%s is not one JSON object; correct it by hand first" % path)
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
    text = json.dumps(held, ensure_ascii=False, indent=2) + "\n"
    # a folder's name may hold bytes that are no UTF-8: they stand escaped
    if not text.isascii():
        text = "".join(
            "\\u%04x" % ord(sign) if "\ud800" <= sign <= "\udfff" else sign for sign in text
        )
    files.replace(path, text.encode("utf-8"), mode)


# --- on and off


def on(call: Call) -> int:
    """Switch the pushes of a session or a project on."""
    return _switch(call, True)


def off(call: Call) -> int:
    """Switch the pushes of a session or a project off."""
    return _switch(call, False)


def _switch(call: Call, on: bool) -> int:
    if call.words not in ([], ["mine"], ["project"]):
        raise UsageError(
            "%s takes `mine`, `project` or no word (this session)" % spellings.spelled(call.verb)
        )
    named = call.options.session
    if call.words and named and named != call.env.get("CLAUDE_CODE_SESSION_ID"):
        raise UsageError(
            "%s takes `%s` or --session, not both" % (spellings.spelled(call.verb), call.words[0])
        )
    if call.words:
        return (_switch_mine if call.words == ["mine"] else _switch_project)(call, on)
    session, said = _switched(call, on), "no session of this project is switched off"
    if session:
        said = _switch_session(call, session, on)
    if on and not call.settings["load.enabled"]:
        said += "; but load.enabled is off (%s)" % call.settings.sources["load.enabled"]
    return call.answer({"session": session, "enabled": on}, [said])


def _switch_mine(call: Call, on: bool) -> int:
    path, mode = settings_file(call, "mine")
    listed = call.settings["capture.projects"] == "listed"
    change_config(path, "capture.enabled", on if listed or not on else None, mode)
    change_config(path, "load.enabled", None if on else False, mode)
    said = "dayleaf keeps and pushes notes in this project, %s" % call.place.key
    if not on:
        said = (
            "paused for you only: dayleaf keeps and pushes nothing in this project "
            "until `dayleaf push on mine`"
        )
    return call.answer({"workspace": call.place.key, "config": path, "enabled": on}, [said])


def _switch_project(call: Call, on: bool) -> int:
    path, mode = settings_file(call, "project")
    change_config(path, "load.enabled", None if on else False, mode)
    said = "pushes are %s in this project, for everyone who has this file: %s"
    lines = [said % ("on again" if on else "off", path)]
    return call.answer({"project": call.place.root, "config": path, "enabled": on}, lines)


def _switch_session(call: Call, session: str, on: bool) -> str:
    receipts.write(
        call.place.receipts(session), {"v": 1, "t": clock.iso(call.now), "event": call.verb}
    )
    if on:
        return "dayleaf pushes notes again in session %s" % session
    said = "dayleaf pushes no more notes in session %s" % session
    if call.settings["capture.enabled"]:
        said += (
            "; the session is still written down, and gets a note if notes are on; `dayleaf "
            "push off mine` stops that too, in this project"
        )
    return said


def _switched(call: Call, on: bool) -> str:
    """Return the session to switch.

    The named or running one, else the newest; `on` takes the newest that is off. "" where none is
    off. Raises UsageError where none has run.
    """
    from memory.health import accounts

    ran, named = accounts.sessions_of(call.place), session_of(call)
    if (
        call.options.session
        and named != call.env.get("CLAUDE_CODE_SESSION_ID")
        and named not in ran
    ):
        newest = "the newest is " + ran[0] if ran else "no session has run in this workspace"
        raise UsageError("no session '%s' here; %s" % (shown(call.options.session), newest))
    if named:
        return named
    if not ran:
        raise UsageError(
            "no session has run in this workspace yet; `%s project` is "
            "for the whole project" % spellings.typed(call.verb)
        )
    if not on:
        return ran[0]
    return next(
        (session for session in ran if receipts.session(call.place.receipts(session)).off), ""
    )
