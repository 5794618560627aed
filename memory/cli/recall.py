"""The verbs that read: recall; fix, how, blame and friction; load, why, workspace; completion."""

from __future__ import annotations

import contextlib
import sys

from memory.core import DayleafError, UsageError, files, layout
from memory.core.config import DEFAULTS
from memory.core.plaintext import one_line
from memory.recall import lookup
from memory.store import authority
from memory.terminal import results, screen
from memory.terminal.arguments import SHELLS, completions
from memory.terminal.call import (
    Call,
    ask_line,
    need_person,
    question_text,
    session_of,
    shown,
    to_json,
    unknown_word,
    warn,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.core.records import Record
    from memory.knowledge.history import Holds, Read
    from memory.knowledge.practice import Shape
    from memory.knowledge.remedies import Met
    from memory.recall.hit import Found
    from memory.recall.question import Query
    from memory.recall.semantic import Semantic


def recall(call: Call) -> int:
    """Search the memory."""
    from memory.recall import batch, hit

    words = " ".join(call.words)
    if call.options.batch:
        offset = call.offset
        for line in batch.batch(
            map(question_text, sys.stdin.buffer),
            call.place,
            call.settings,
            call.now,
            offset,
            _query(call, words, call.options.limit),
            semantic=_semantic(call),
            dsn=dsn_of(call),
        ):
            print(line)
        return 0
    found = found_by(call, words, call.options.limit, call.verb == "recall")
    way = results.ADD if call.options.kind == ["resource"] else results.LEARN
    if call.options.hook:
        print(results.for_model(found, words, way))
    else:
        call.answer(
            hit.found_json(found, words),
            [
                *results.hits(
                    found,
                    words,
                    call.place.key,
                    call.style(),
                    call.options.explain,
                    call.options.group,
                    way,
                ),
                *_elsewhere(call, found),
            ],
        )
    freshen(call, found.stale or found.rescan)
    reread(
        call,
        {
            each.record.name: each.record for each in found.hits if each.workspace == call.place.key
        }.values(),
    )
    return 0


def _elsewhere(call: Call, found: Found) -> list[str]:
    """Return the hint at other projects, after an empty answer."""
    from memory.project import adoption

    if call.verb != "recall" or found.hits or call.options.workspace:
        return []
    wanted = call.place.claimed or adoption.offered(call.place)
    if wanted:
        return [adoption.MAY_BE % wanted]
    if len(lookup.workspaces(call.place, "all")) < 2:
        return []
    return ["only this project was searched; `--workspace all` searches every project"]


def found_by(call: Call, words: str, limit: int | None, links: bool = False) -> Found:
    """Return the answer (hit.Found) to a call's words and filters.

    limit: hits at most; None for the setting's number. links: add linked records.
    """
    from memory.recall import search

    with call.spinner("searching"):
        query = _query(call, words, limit)
        return search.recall(
            call.place,
            call.settings,
            query,
            call.now,
            call.offset,
            semantic=_semantic(call),
            links=links,
            dsn=dsn_of(call),
        )


def dsn_of(call: Call) -> str:
    """Return the connection string of the extra database, or ""."""
    if call.settings["index.backend"] == "local":
        return ""
    from memory.index import backend

    found = backend.dsn_of(call.settings, call.place.home, call.env)
    if not found:
        warn(backend.NO_DATABASE)
    return found


def _semantic(call: Call) -> Semantic | None:
    from memory.recall.semantic import semantic

    return semantic(call.settings, getattr(call.options, "vectors_by", "") or "", call.env)


FILTERED = (
    "since days to kind type tag topic file branch session version workspace context-tags min-score"
).split()


def _query(call: Call, words: str, limit: int | None) -> Query:
    from memory.recall import question

    o = vars(call.options)  # a search of resources has fewer of them
    given = {
        "query": words or None,
        "from": o.get("from_"),
        "semantic": o.get("semantic") or None,
        "lexical": o.get("lexical") or None,
        "limit": limit,
        **{name: o.get(name.replace("-", "_")) for name in FILTERED},
    }
    return question.query_from_options(given, call.now, call.offset)


def freshen(call: Call, stale: bool) -> None:
    """Start a refresh that outlives this process, after the answer."""
    if not stale:
        return
    import subprocess

    root = layout.plugin() + "/memory"
    try:
        sys.stdout.flush()
        subprocess.Popen(
            [sys.executable, "-I", root, "index", "refresh"],
            cwd=call.place.project,
            env=call.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        warn("the refresh could not be started (%s); run `dayleaf index refresh`" % error.strerror)


def reread(call: Call, found: Iterable[Record]) -> list[Record]:
    """Read changed scripts among records again; return all records."""
    from memory.project import material

    store, out = None, []
    for record in found:
        if record.kind == "resource":
            store = store or call.store()
            try:
                record = material.refresh_script(store, record)
            except DayleafError as error:
                warn("%s could not be read again: %s" % (record.id, error))
        out.append(record)
    call.indexed()
    return out


def fix(call: Call) -> int:
    """Show the earlier remedies of an error."""
    from memory.knowledge import remedies
    from memory.recall import hit
    from memory.terminal import pastlines

    error = call.text(kept=False).strip()
    if not error:
        raise UsageError("fix needs the text of an error, as words or on stdin")
    workspace = call.options.workspace or ""
    past, answer = remedies_of(call, error, workspace)
    lines = pastlines.remedy_lines(answer, call.style(), call.offset)
    value = {**remedies.to_json(answer, call.place), "nearest": []}
    if not answer:
        from memory.recall import question, search

        query = question.Query(error[:2000], workspace=workspace, limit=3)
        found = search.recall(call.place, call.settings, query, call.now, call.offset)
        value["nearest"] = hit.found_json(found, error)["hits"]
        lines += pastlines.nearest(found.hits, call.style())
    return call.answer({**value, "notes": past.notes}, [*lines, *past.notes])


def remedies_of(call: Call, error: str, workspace: str = "") -> tuple[Read, tuple[Met, ...]]:
    """Return (sessions that met an error, the answer from them)."""
    from memory.knowledge import remedies

    words = remedies.telling_words(error)
    past = _past(call, lambda body: any(word in body for word in words), workspace)
    return past, remedies.fix(past.sessions, error)


def how(call: Call) -> int:
    """Show the working invocations of a tool."""
    from memory.knowledge import practice
    from memory.terminal import pastlines

    tool = " ".join(call.words).strip()
    if not tool:
        raise UsageError('show tool needs a tool, such as `gh` or "go test"')
    past, found = invocations_of(call, tool)
    value = {
        "tool": tool,
        "forms": [practice.shape_json(shape) for shape in found],
        "notes": past.notes,
    }
    return call.answer(
        value, [*pastlines.invocations(found, tool, call.style(), call.now), *past.notes]
    )


def invocations_of(call: Call, tool: str) -> tuple[Read, list[Shape]]:
    """Return (sessions that ran a tool, its working calls)."""
    from memory.knowledge import history, practice

    words = history.holds_words(practice.tool_key(tool))
    past = _past(call, words)
    return past, practice.working_invocations(past.sessions, tool, call.now)


def blame(call: Call) -> int:
    """Show the sessions that touched or discussed a file."""
    from memory.knowledge import history
    from memory.terminal import pastlines

    path = call.one("PATH")
    name = path.replace("\\", "/").strip("/").rpartition("/")[2]
    if not name:
        raise UsageError("show file needs the path of a file, or its end")
    past = _past(call, history.holds_words(name))
    found = history.blame(past.sessions, path)
    return call.answer(
        {
            "path": path,
            "sessions": [history.touch_json(touch, call.place) for touch in found],
            "notes": past.notes,
        },
        [*pastlines.touched(found, path, call.style(), call.offset), *past.notes],
    )


def friction(call: Call) -> int:
    """Show the failures met by several sessions, with their remedies."""
    from memory.knowledge import walls
    from memory.terminal import pastlines

    with call.spinner("reading the sessions"):
        rows = walls.current(call.place, call.settings, call.now)
        met = walls.repeated(call.place, rows)
    return call.answer(
        {"walls": [walls.to_json(wall) for wall in met]},
        pastlines.walls(met, call.style(), call.offset),
    )


def _past(call: Call, holds: Holds, workspace: str = "") -> Read:
    from memory.knowledge import history

    with call.spinner("reading the sessions"):
        return history.read(call.place, call.settings, holds, call.now, workspace)


def load(call: Call) -> int:
    """Show the records that a prompt would get."""
    from memory.health import accounts
    from memory.project import manifests
    from memory.terminal import pastlines

    with contextlib.suppress(OSError):  # as the start of that new session would
        manifests.remember(call.place)
    value = accounts.load(call.place, call.settings, call.text(kept=False).strip(), "")
    return call.answer(value, pastlines.loaded(value, call.options.explain))


def why(call: Call) -> int:
    """Show the records pushed into each prompt."""
    from memory.health import accounts
    from memory.terminal import pastlines

    if len(call.words) > 1:
        raise UsageError("push why takes one SESSION or PROMPT_ID, not %d words" % len(call.words))
    word = call.words[0].strip() if call.words else ""
    value = accounts.report(
        call.place,
        "" if word == "session" else "last" if word == "prompt" else word,
        session_of(call) if word != "last" else "",
    )
    lines = pastlines.push_lines(value, call.now)
    if not value["session"] and word not in ("", "session", "prompt", "last"):
        lines = ["no session or prompt '%s' in this project" % shown(word)]
    return call.answer(value, lines)


def workspace(call: Call) -> int:
    """Show the workspace and its tiers, or claim it.

    `claim` accepts the workspace that this directory's `.git` names, or a given one.
    """
    if call.words[:1] == ["claim"] and len(call.words) < 3:
        return _claim(call, *call.words[1:])
    if call.words[:1] == ["claim"]:
        raise UsageError("workspace claim takes one NAME, not %d words" % len(call.words[1:]))
    if call.words:
        raise unknown_word("workspace", call.words[0], ["claim"])
    place = call.place
    tiers = {layout.TIER_NAMES[letter]: folder for letter, folder in place.tiers()}
    wanted = place.claimed or _offered(place)
    claimed = {"claimed": wanted} if wanted else {}
    told = (
        [["claimed", wanted + "; if it is yours: `dayleaf store workspace claim`"]]
        if claimed
        else []
    )
    if place.named not in (place.key, wanted):
        told.append(["apart", "`dayleaf store workspace claim %s`: its own memory" % place.named])
    rows = [
        ["workspace", place.key],
        *told,
        ["root", place.root],
        *([name, folder] for name, folder in tiers.items()),
        ["cache", place.cache],
    ]
    return call.answer(
        {
            "workspace": place.key,
            **claimed,
            "root": place.root,
            "tiers": tiers,
            "cache": place.cache,
        },
        screen.table(rows),
    )


def _offered(place: layout.Place) -> str:
    from memory.project import adoption

    try:
        return adoption.look_for_past(place)
    except OSError:
        return adoption.offered(place)


def _workspace_to_claim(place: layout.Place, name: str) -> tuple[str, bool]:
    """Return a workspace or "", and whether its directory moved here."""
    if name:
        return _workspace_named(place, name), False
    if place.claimed:
        return place.claimed, False
    moved = _offered(place)
    return moved, bool(moved)


def _claim_question(place: layout.Place, wanted: str, moved: bool) -> str:
    from memory.project import adoption

    why = "claims to be" if wanted == place.claimed else "is to be"
    if moved:
        why = layout.reason_of(place, wanted)
    return (
        "%s %s %s; use that project's private memory here? The records of %s %s; "
        "%stype yes: "
        % (
            place.root,
            why,
            wanted,
            place.key,
            "move with it" if adoption.goes_along(place) else "stay there",
            "`no` stops asking; " if moved else "",
        )
    )


def _claim(call: Call, name: str = "") -> int:
    """Ask whether this directory belongs to its claimed or a named workspace.

    Raises UsageError without a person at a terminal, or for an unknown name.
    """
    from memory.project import adoption

    place, done = call.place, []
    wanted, moved = _workspace_to_claim(place, name)
    if wanted:
        need_person(call, authority.DECIDED["workspace"], "store workspace claim")
        reply = ask_line(_claim_question(place, wanted, moved))
        if reply in ("y", "yes"):
            place.claimed = wanted
            done = [adoption.confirm_claim(place, "person", call.now).key]
        elif reply in ("n", "no") and moved:
            adoption.decline(place, wanted, call.now)
    return call.answer(
        {"claimed": done},
        ["this directory now belongs to %s" % key for key in done]
        or [
            "nothing was changed" if wanted else "this directory already belongs to %s" % place.key
        ],
    )


def _workspace_named(place: layout.Place, name: str) -> str:
    """Return the other workspace of a name, "" for the present.

    Raises UsageError for none or several.
    """
    if name in (place.key, place.claimed, place.named):
        return name if name != place.key else ""
    found = [one.key for one in lookup.workspaces(place, name, False) if one.key != place.key]
    if len(found) > 1:
        raise UsageError(
            "several workspaces are called '%s'; name one of %s" % (name, ", ".join(found))
        )
    return found[0] if found else ""


# ---- completion

OFFERED = 40  # records that completion names


def completion(call: Call) -> int:
    """Print a shell's completion script."""
    shell = call.words[0] if call.words else ""
    if shell not in SHELLS:
        raise UsageError(
            'completion takes a shell, one of %s: `eval "$(dayleaf completion bash)"`'
            % ", ".join(SHELLS)
        )
    if len(call.words) == 1:
        path = "%s/memory/terminal/shells/dayleaf.%s" % (layout.plugin(), shell)
        said = files.read(path).decode("utf-8")
        return call.answer({"shell": shell, "script": said}, [said.rstrip("\n")])
    from memory.cli.main import VERBS

    def known(wanted: str, typed: str) -> list[tuple[str, str]]:
        try:
            return _known(call, wanted, typed)
        except (OSError, DayleafError):  # whoever presses TAB wants no message
            return []

    rows = [
        (one_line(word), one_line(about))
        for word, about in completions(VERBS, call.words[1:], known)
    ]
    value = [{"word": word, "about": about} for word, about in rows]
    return call.answer(value, map("\t".join, rows)) if rows else 0


def _known(call: Call, wanted: str, typed: str) -> list[tuple[str, str]]:
    """Return the settings (KEY) or records (ID) that begin with what was typed."""
    from memory.index.kept import heads

    if wanted == "KEY":
        return [(key, to_json(call.settings[key])) for key in DEFAULTS if key.startswith(typed)]
    every = heads(call.store(), call.now) if wanted == "ID" else ()
    found = [record for record in every if record.id.startswith(typed)]
    found.sort(key=lambda record: (-record.created, record.id))
    return [(record.id, record.title) for record in found[:OFFERED]]
