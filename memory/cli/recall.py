"""The verbs that read: recall; fix, how, blame and friction; load, why, workspace; completion."""

from __future__ import annotations

import contextlib
import sys

from memory.core import DayleafError, UsageError, files, layout
from memory.core.config import DEFAULTS
from memory.core.plaintext import one_line
from memory.index import backend
from memory.index.kept import read_heads
from memory.project import material
from memory.recall import hit, lookup
from memory.store import permissions
from memory.terminal import pastlines, results, screen
from memory.terminal.arguments import SHELLS, list_completions
from memory.terminal.call import (
    Call,
    ask_line,
    clip_input,
    decode_question,
    find_session_id,
    require_person,
    to_json,
    unknown_word,
    warn,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.core.records import Record
    from memory.knowledge.history import Holds, SessionsRead
    from memory.knowledge.practice import InvocationShape
    from memory.knowledge.remedies import Met
    from memory.recall.hit import RecallResult
    from memory.recall.question import Query
    from memory.recall.semantic import Semantic


def recall(call: Call) -> int:
    from memory.recall import batch

    words, options, place = " ".join(call.words), call.options, call.place
    if "resource" in (options.kind or ["resource"]):
        refresh_touched_scripts(call)
    if options.batch:
        for line in batch.answer_lines(
            map(decode_question, sys.stdin.buffer),
            place,
            call.settings,
            call.now,
            call.offset,
            _make_query(call, words, options.limit),
            semantic=_make_semantic(call),
            dsn=find_dsn(call),
        ):
            print(line)
        return 0
    found = search_records(call, words, options.limit, call.verb == "recall")
    way = results.ADD if options.kind == ["resource"] else results.LEARN
    if options.hook:
        print(results.render_for_model(found, words, way))
    else:
        lines = results.hit_lines(
            found, words, place.key, call.style(), options.explain, options.group, way
        )
        lines += _suggest_other_projects(call, found)
        call.answer(hit.result_json(found, words), lines)
    start_refresh(call, found.stale or found.rescan)
    own = {each.record.name: each.record for each in found.hits if each.workspace == place.key}
    refresh_scripts(call, own.values())
    return 0


def _suggest_other_projects(call: Call, found: RecallResult) -> list[str]:
    if call.verb != "recall" or found.hits or call.options.workspace:
        return []
    wanted = layout.find_unproved(call.place)
    if wanted:
        return [layout.OFFER_MESSAGE % wanted]
    if len(lookup.find_workspaces(call.place, "all")) < 2:
        return []
    return ["only this project was searched; `--workspace all` searches every project"]


def search_records(call: Call, words: str, limit: int | None, links: bool = False) -> RecallResult:
    """Search by a call's words and filters.

    limit: hits at most, None for the setting's number. links: add linked records.
    """
    from memory.recall import search

    with call.spinner("searching"):
        query, semantic = _make_query(call, words, limit), _make_semantic(call)
        place, settings, dsn = call.place, call.settings, find_dsn(call)
        return search.recall(
            place, settings, query, call.now, call.offset, semantic=semantic, links=links, dsn=dsn
        )


def find_dsn(call: Call) -> str:
    """Return the connection string of the database, "" for none."""
    if call.settings["index.backend"] == "local":
        return ""
    found = backend.find_dsn(call.settings, call.place.home, call.env)
    if not found:
        warn(backend.NO_DATABASE)
    return found


def _make_semantic(call: Call) -> Semantic | None:
    from memory.recall.semantic import load_provider

    return load_provider(call.settings, getattr(call.options, "vectors_by", "") or "", call.env)


FILTER_NAMES = (
    "since days to kind type tag topic file branch session version workspace context-tags min-score"
).split()


def _make_query(call: Call, words: str, limit: int | None) -> Query:
    from memory.recall import question

    options = vars(call.options)  # `resource search` has fewer
    given = {
        "query": words or None,
        "from": options.get("from_"),
        "semantic": options.get("semantic") or None,
        "lexical": options.get("lexical") or None,
        "limit": limit,
        **{name: options.get(name.replace("-", "_")) for name in FILTER_NAMES},
    }
    return question.query_from_options(given, call.now, call.offset)


def start_refresh(call: Call, stale: bool) -> None:
    """Refresh a stale index in a process that outlives this one."""
    if not stale:
        return
    import subprocess

    root = layout.plugin_folder() + "/memory"
    try:
        sys.stdout.flush()
        subprocess.Popen(
            [sys.executable, "-IB" if sys.dont_write_bytecode else "-I", root, "index", "refresh"],
            cwd=call.place.project,
            env=call.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        warn("the refresh could not be started (%s); run `dayleaf index refresh`" % error.strerror)


def refresh_touched_scripts(call: Call) -> None:
    """Read the changed scripts again, so that a search finds their words.

    Not in a session, which may not rewrite a person's record.
    """
    is_person = call.caller() == permissions.PERSON
    names = material.find_touched_scripts(call.place) if is_person else []
    if names:
        store = call.store()
        refresh_scripts(call, store.each_by(store.read, names))


def refresh_scripts(call: Call, found: Iterable[Record]) -> list[Record]:
    """Read changed scripts again; return all the records."""
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
    from memory.knowledge import remedies

    error = call.text(kept=False).strip()
    if not error:
        raise UsageError("fix needs the text of an error, as words or on stdin")
    workspace = call.options.workspace or ""
    past, answer = find_remedies(call, error, workspace)
    lines = pastlines.remedy_lines(answer, call.style(), call.offset)
    value = {**remedies.to_json(answer, call.place), "nearest": []}
    if not answer:
        from memory.recall import question, search

        query = question.Query(error[:2000], workspace=workspace, limit=3)
        found = search.recall(call.place, call.settings, query, call.now, call.offset)
        value["nearest"] = hit.result_json(found, error)["hits"]
        near = [remedies.quote_nearest_line(each, error) for each in found.hits]
        lines += pastlines.nearest_lines(near, call.style())
    return call.answer({**value, "notes": past.notes}, [*lines, *past.notes])


def find_remedies(
    call: Call, error: str, workspace: str = ""
) -> tuple[SessionsRead, tuple[Met, ...]]:
    """Return (sessions that met an error, their remedies)."""
    from memory.knowledge import remedies

    words = remedies.pick_longest_words(error)
    past = _read_sessions(call, lambda body: any(word in body for word in words), workspace)
    return past, remedies.find_remedies(past.sessions, error)


def how(call: Call) -> int:
    from memory.knowledge import practice

    tool = " ".join(call.words).strip()
    if not tool:
        raise UsageError('show tool needs a tool, such as `gh` or "go test"')
    past, found = find_invocations(call, tool)
    forms = [practice.shape_json(shape) for shape in found]
    lines = pastlines.invocation_lines(found, tool, call.style(), call.now)
    return call.answer({"tool": tool, "forms": forms, "notes": past.notes}, [*lines, *past.notes])


def find_invocations(call: Call, tool: str) -> tuple[SessionsRead, list[InvocationShape]]:
    """Return (sessions that ran a tool, its successful calls)."""
    from memory.knowledge import history, practice

    past = _read_sessions(call, history.make_word_filter(practice.normalise_tool(tool)))
    return past, practice.find_working_invocations(past.sessions, tool, call.now)


def blame(call: Call) -> int:
    from memory.knowledge import history
    from memory.project.mentions import make_relative

    path = call.single_word("PATH")
    name = path.replace("\\", "/").strip("/").rpartition("/")[2]
    if not name:
        raise UsageError("show file needs the path of a file, or its end")
    past = _read_sessions(call, history.make_word_filter(name))
    found = history.blame(past.sessions, make_relative(path, call.place.root))
    sessions = [history.touch_json(touch, call.place) for touch in found]
    lines = pastlines.touch_lines(found, path, call.style(), call.offset)
    return call.answer(
        {"path": path, "sessions": sessions, "notes": past.notes}, [*lines, *past.notes]
    )


def friction(call: Call) -> int:
    """Show the failures met by several sessions, with their remedies."""
    from memory.knowledge import walls

    with call.spinner("reading the sessions"):
        rows = walls.find_failures(call.place, call.settings, call.now)
        repeated = walls.find_repeated(call.place, rows)
    value = {"walls": [walls.to_json(wall) for wall in repeated]}
    return call.answer(value, pastlines.wall_lines(repeated, call.style(), call.offset))


def _read_sessions(call: Call, holds: Holds, workspace: str = "") -> SessionsRead:
    from memory.knowledge import history

    with call.spinner("reading the sessions"):
        return history.read_sessions(call.place, call.settings, holds, call.now, workspace)


def load(call: Call) -> int:
    """Show the records that a prompt would get."""
    from memory.health import accounts
    from memory.project import manifests

    with contextlib.suppress(OSError):  # as the start of a session does
        manifests.cache_tags(call.place)
    value = accounts.explain_load(call.place, call.settings, call.text(kept=False).strip())
    return call.answer(value, pastlines.load_lines(value, call.options.explain, call.style()))


def why(call: Call) -> int:
    """Show the records given with each prompt."""
    from memory.health import accounts

    if len(call.words) > 1:
        raise UsageError("push why takes one SESSION or PROMPT_ID, not %d words" % len(call.words))
    word = call.words[0].strip() if call.words else ""
    wanted = {"session": "", "prompt": "last"}.get(word, word)
    session = find_session_id(call) if word != "last" else ""
    value = accounts.report_pushes(call.place, wanted, session)
    lines = pastlines.push_lines(value, call.now, call.style())
    if not value["session"] and wanted not in ("", "last"):
        lines = ["no session or prompt '%s' in this project" % clip_input(word)]
    return call.answer(value, lines)


def workspace(call: Call) -> int:
    """Show the workspace and its tiers, or claim another workspace."""
    if call.words:
        word, *names = call.words
        if word != "claim":
            raise unknown_word("workspace", word, ["claim"])
        if len(names) > 1:
            raise UsageError("workspace claim takes one NAME, not %d words" % len(names))
        return _claim_workspace(call, "".join(names))
    from memory.project import adoption

    place = call.place
    tiers = {layout.TIER_NAMES[letter]: folder for letter, folder in place.tiers()}
    wanted = place.claimed or adoption.find_past_workspace(place)
    value: dict[str, object] = {"workspace": place.key}
    rows = [["workspace", place.key]]
    if wanted:
        value["claimed"] = wanted
        rows.append(["claimed", wanted + "; if it is yours: `dayleaf store workspace claim`"])
    if place.named not in (place.key, wanted):
        rows.append(["apart", "`dayleaf store workspace claim %s`: its own memory" % place.named])
    value.update(root=place.root, tiers=tiers, cache=place.cache)
    rows += [["root", place.root], *map(list, tiers.items()), ["cache", place.cache]]
    return call.answer(value, screen.format_table(rows))


def _find_workspace_to_claim(place: layout.Place, name: str) -> tuple[str, bool]:
    """Return (workspace to claim or "", whether its directory moved here)."""
    if name:
        return _find_named_workspace(place, name), False
    if place.claimed:
        return place.claimed, False
    from memory.project import adoption

    moved = adoption.find_past_workspace(place)
    return moved, bool(moved)


def _format_claim_question(place: layout.Place, wanted: str, moved: bool) -> str:
    from memory.project import adoption

    why = "claims to be" if wanted == place.claimed else "is to be"
    if moved:
        why = layout.explain_relation(place, wanted)
    records = "move with it" if adoption.owns_workspace_alone(place) else "stay there"
    return (
        "%s %s %s; use that project's private memory here? The records of %s %s; %stype yes: "
        % (place.root, why, wanted, place.key, records, "`no` stops asking; " * moved)
    )


def _claim_workspace(call: Call, name: str) -> int:
    from memory.project import adoption

    place, claimed = call.place, []
    wanted, moved = _find_workspace_to_claim(place, name)
    line = "nothing was changed" if wanted else "this directory already belongs to " + place.key
    if wanted:
        require_person(call, permissions.DECIDED["workspace"], "store workspace claim")
        reply = ask_line(_format_claim_question(place, wanted, moved))
        if reply in ("y", "yes"):
            place.claimed = wanted
            claimed = [adoption.confirm_claim(place, "person", call.now).key]
            line = "this directory now belongs to " + claimed[0]
        elif reply in ("n", "no") and moved:
            adoption.decline_offer(place, wanted, call.now)
    return call.answer({"claimed": claimed}, [line])


def _find_named_workspace(place: layout.Place, name: str) -> str:
    """Return the key of a named workspace, "" for the present one."""
    if name in (place.key, place.claimed, place.named):
        return name if name != place.key else ""
    found = [
        other.key for other in lookup.find_workspaces(place, name, False) if other.key != place.key
    ]
    if len(found) > 1:
        raise UsageError(
            "several workspaces are called '%s'; name one of %s" % (name, ", ".join(found))
        )
    return found[0] if found else ""


# ---- completion

MOST_COMPLETIONS = 40  # records


def completion(call: Call) -> int:
    shell = call.words[0] if call.words else ""
    if shell not in SHELLS:
        raise UsageError(
            'completion takes a shell, one of %s: `eval "$(dayleaf completion bash)"`'
            % ", ".join(SHELLS)
        )
    if len(call.words) == 1:
        path = "%s/memory/terminal/shells/dayleaf.%s" % (layout.plugin_folder(), shell)
        script = files.read(path).decode("utf-8")
        return call.answer({"shell": shell, "script": script}, [script.rstrip("\n")])
    from memory.cli.main import VERBS

    def known(wanted: str, typed: str) -> list[tuple[str, str]]:
        try:
            return _complete_from_store(call, wanted, typed)
        except (OSError, DayleafError):  # no message at TAB
            return []

    rows = [
        (one_line(word), one_line(about))
        for word, about in list_completions(VERBS, call.words[1:], known)
    ]
    value = [{"word": word, "about": about} for word, about in rows]
    return call.answer(value, map("\t".join, rows)) if rows else 0


def _complete_from_store(call: Call, wanted: str, typed: str) -> list[tuple[str, str]]:
    """Return (word, description) of the settings or records that begin as typed.

    wanted: KEY for settings, ID for records.
    """
    if wanted == "KEY":
        return [(key, to_json(call.settings[key])) for key in DEFAULTS if key.startswith(typed)]
    every = read_heads(call.store(), call.now) if wanted == "ID" else ()
    found = [record for record in every if record.id.startswith(typed)]
    found.sort(key=lambda record: (-record.created, record.id))
    return [(record.id, record.title) for record in found[:MOST_COMPLETIONS]]
