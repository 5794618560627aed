"""The verbs resource and tier: documents and scripts; folders that are read in place."""

from __future__ import annotations

import io
import os
import shlex
import sys
from contextlib import suppress
from typing import Callable

from memory.cli import index, recall, rule, show
from memory.core import (
    DayleafError,
    StoreError,
    UsageError,
    boundary,
    fastjson,
    files,
    layout,
    walk,
)
from memory.core.plaintext import escape_invisible, format_count, one_line
from memory.core.records import READ_LIMIT, Record
from memory.index import builder
from memory.knowledge import approvalstate, scripts
from memory.knowledge.scripts import ScriptRun
from memory.project import material, otherfiles
from memory.recall.hit import record_json
from memory.store import reader
from memory.store.store import Store
from memory.terminal import reports, screen
from memory.terminal.call import (
    STATES,
    Call,
    choose_tier,
    clip_input,
    find_author,
    report_written,
    warn,
)

KINDS = ("resource",)
MOST_SKIPPED = 12  # skipped files of a tier that are listed


def resource(call: Call) -> int:
    """Store, list, show, refresh, search or run documents and scripts."""
    run, words = call.choose_part(WORDS)
    return run(call, words)


# ---- adding and changing


def _add_resource(call: Call, words: list[str]) -> int:
    options, paths = call.options, [*filter(None, [call.options.path]), *words]
    if len(paths) > 1:
        raise UsageError("resource add takes one path: `dayleaf resource add --path PATH`")
    tier, store = choose_tier(call), call.store()
    source = _read_source(call, "".join(paths), tier)
    existing = material.find_resource(store, source.path, tier)
    if existing:
        return _report_existing(call, existing)
    if options.type == "both":
        raise UsageError(
            "a resource is a doc or a script; `--type both` is only for list and search"
        )
    versions = _list_versions(call)
    extra = {
        "tags": options.tag or (),
        "source": find_author(call),
        "extra": {"versions": versions} if versions else {},
    }
    kind, title = options.type or material.guess_type(source), (options.title or "").strip()
    with call.spinner("reading %s" % one_line(source.path)):
        kept = material.add_resource(store, source, kind, tier, title, extra)
        call.indexed()
    if kept.size > READ_LIMIT:
        warn(
            "%s is kept whole, but recall finds and shows only its first 1 MiB; split the file"
            % kept.id
        )
    return _report_resource(call, kept, "kept script" if _is_script(kept) else "kept document")


def _is_script(record: Record) -> bool:
    return material.resource_type(record) == "script"


def _report_existing(call: Call, existing: Record) -> int:
    way = "`dayleaf resource update %s` changes its title, tags or versions"
    if material.compare_with_source(existing, call.place).word == material.STALE:
        way = "`dayleaf resource refresh %s` reads it again"
    path, kind = call.place.path(existing.name), material.resource_type(existing)
    value = {**record_json(existing), "path": path, "type": kind}
    head = "already there %s  %s" % (existing.id, one_line(existing.title))
    return call.answer(value, [head, "  " + way % existing.id])


def _read_source(call: Call, path: str, tier: str) -> material.Source:
    if not path or "\0" in path:
        raise UsageError("resource %s needs --path, the path of a file" % call.words[0])
    if tier == layout.SHARED and not call.place.shared:
        raise UsageError("there is no repository here to share it in; cd into one")
    path = os.path.abspath(path)
    is_inside = path.replace("\\", "/").startswith(call.place.root.rstrip("/") + "/")
    real = files.real_path(path)
    material.check_allowed(real, tier, call.place, is_inside)
    return material.read_file(real)


def _list_versions(call: Call) -> list[str]:
    if call.options.version is None:
        return []
    given = [version.strip() for version in ",".join(call.options.version).split(",")]
    if not all(given):
        raise UsageError("the version is empty; give one such as v2.1, or `unversioned`")
    if "unversioned" in given and len(set(given)) > 1:
        raise UsageError("--version unversioned excludes other versions")
    return list(dict.fromkeys(given))


def _report_resource(call: Call, kept: Record, done: str) -> int:
    hindrance = ""
    if _is_script(kept):
        source = material.compare_with_source(kept, call.place).source
        hindrance = approvalstate.find_script_obstacle(source) if source else ""
    if call.options.json:
        value = {
            **record_json(kept),
            "path": call.place.path(kept.name),
            "type": material.resource_type(kept),
            "source_path": kept.path,
            "source_ref": kept.meta.get("source_ref") or "",
            "hindrance": hindrance,
        }
        return call.answer(value, [])
    report_written(call, kept, done, "")
    if _is_script(kept) and not call.options.hook:
        state, way = approvalstate.list_script_states([kept], call.place)[0].state, ""
        if hindrance:
            way = ", and nobody can approve it yet: " + one_line(hindrance)
        elif state == "pending":
            way = ": `dayleaf resource approve %s`, in your own terminal, lets it run" % kept.id
        print("  a script, %s%s" % (STATES.get(state, state), way))
    return 0


def _find_resource(call: Call, words: list[str]) -> Record:
    return rule.find_named(call.store(), "resource", call.words[0], words, one=True)[0]


def _update_resource(call: Call, words: list[str]) -> int:
    found, store, options = _find_resource(call, words), call.store(), call.options
    changes = {
        "title": options.title and one_line(options.title),
        "versions": _list_versions(call),
        "tags": options.tag,
    }
    changes = {key: value for key, value in changes.items() if value}
    if not changes and not options.path:
        raise UsageError(
            "resource update needs --title, --version, --tag or --path; `dayleaf resource "
            "refresh %s` reads it again" % found.id
        )
    if options.path:
        source = _read_source(call, options.path, found.tier)
        other = material.find_resource(store, source.path, found.tier)
        if other and other.name != found.name:
            message = "%s already describes this file; `dayleaf resource delete` one of the two"
            raise UsageError(message % other.id)
        found = _rewrite(store, found, source)
    if changes:
        found = store.edit(found.name, changes)
    call.indexed()
    return _report_resource(call, found, "changed")


def _rewrite(store: Store, found: Record, source: material.Source) -> Record:
    """Read a resource again; raise UsageError if a person edited its text."""
    if not _is_script(found) and material.is_edited_by_hand(store, found):
        raise UsageError(
            "the text of %s was edited by hand; `dayleaf resource delete %s`, then `add`, takes "
            "a new snapshot" % (found.id, found.id)
        )
    return material.rewrite(store, found, source)


def _delete_resource(call: Call, words: list[str]) -> int:
    found = _find_resource(call, words)
    away = call.store().archive(found.name, "deleted")
    call.indexed()
    lines = [
        "archived %s  %s" % (found.id, one_line(found.title)),
        "  %s stays; `dayleaf store restore %s` brings the record back"
        % (one_line(found.path) or "its file", found.id),
    ]
    return call.answer({"id": found.id, "from": found.name, "to": away}, lines)


# ---- refreshing


def _find_resources(call: Call, verb: str, words: list[str]) -> list[Record]:
    """Return the named resources, else all of them."""
    store = call.store()
    return rule.find_named(store, "resource", verb, words) if words else list(store.each(KINDS))


def _refresh_resources(call: Call, words: list[str]) -> int:
    found = _find_resources(call, "refresh", words)
    results, failed = [], False
    for record in found:
        try:
            result = _refresh_resource(call, record)
        except (StoreError, UsageError) as error:
            if len(found) == 1:
                raise
            warn(str(error))
            result, failed = "left unchanged", True
        results.append(result)
    call.indexed()
    rows = list(zip(found, results))
    value = [{"id": record.id, "result": result} for record, result in rows]
    lines = ["%s %s  %s" % (result, record.id, one_line(record.title)) for record, result in rows]
    call.answer(value, lines or ["no resources here"])
    return int(failed)


def _refresh_resource(call: Call, record: Record) -> str:
    state, store = material.compare_with_source(record, call.place), call.store()
    if state.source is None:
        raise StoreError(state.why)
    if state.word == material.FRESH:
        return "unchanged"
    then, now = record.meta.get("source_ref") or "", otherfiles.find_commit(state.source.path)
    if then and now and then != now:
        warn(
            "the copy of %s was made at commit %s; you get the text of the present commit, %s"
            % (record.id, then, now)
        )
    store.check(record.name)
    _rewrite(store, record, state.source)
    return "refreshed"


def _reindex_resources(call: Call, words: list[str]) -> int:
    found = recall.refresh_scripts(call, _find_resources(call, "reindex", words))
    done = builder.refresh(call.place, call.now, names=[record.name for record in found])
    line = "%s indexed again" % format_count(len(found), "resource")
    if done.busy:
        line = "another process is building the index; its result includes them"
    ids = [record.id for record in found]
    return call.answer({"indexed": ids, "records": done.records, "busy": done.busy}, [line])


# ---- reading


def _list_resources(call: Call, words: list[str]) -> int:
    wanted, value, rows = call.options.type, [], []
    found = [
        record
        for record in call.store().each(KINDS)
        if wanted in (None, "both", material.resource_type(record))
    ]
    for record in recall.refresh_scripts(call, found):
        state = material.compare_with_source(record, call.place)
        kind = material.resource_type(record)
        if call.options.stale and state.word == material.FRESH:
            continue
        states = approvalstate.list_script_states([record], call.place)
        approval = states[0].state if states else ""
        value.append(
            {
                **record_json(record),
                "type": kind,
                "state": state.word,
                "why": state.why,
                "approval": approval,
                "source_path": record.path,
                "source_ref": record.meta.get("source_ref") or "",
            }
        )
        shown, versions = STATES.get(approval, approval), ", ".join(record.versions)
        cells = (record.id, kind, state.word, shown, record.title, versions, record.path)
        rows.append(list(map(one_line, cells)))
    lines = screen.format_table(rows, style=call.style(), give=4, kinds=["resource"] * len(rows))
    none = "no resources here; `dayleaf resource add --path PATH` adds one"
    if call.options.stale:
        none = "no resource is stale"
    return call.answer(value, lines or [none])


def _show_resource(call: Call, words: list[str]) -> int:
    if len(words) != 1:
        raise UsageError("resource show takes one ID; `dayleaf resource list` names them")
    call.words = words
    try:
        return show.show(call)
    except StoreError as error:
        way = "`dayleaf resource list` names the resources"
        raise StoreError(str(error).replace(reader.LISTED, way)) from None


def _search_resources(call: Call, words: list[str]) -> int:
    call.words, call.options.kind, call.options.batch = words, ["resource"], False
    call.options.explain, call.options.group, call.options.limit = False, False, None
    return recall.recall(call)


# ---- running


def _run_script(call: Call, words: list[str]) -> int:
    if call.env.get(boundary.NESTED) or call.options.hook:
        raise UsageError(
            "scripts do not run inside a hook, or inside a model that dayleaf "
            "started; run it in a shell"
        )
    if not words:
        raise UsageError("resource run needs an ID: `dayleaf resource run ID -- ARGS`")
    seconds = call.options.timeout or scripts.SECONDS
    if seconds > scripts.MOST_SECONDS:
        raise UsageError("--timeout can be at most %d seconds, one day" % scripts.MOST_SECONDS)
    found = _find_resource(call, words[:1])
    order = scripts.prepare_run(found, call.place, words[1:], call.env)
    if order.approved:
        try:
            recall.refresh_scripts(call, [found])
        except (OSError, DayleafError) as error:
            warn(str(error))
        argv = escape_invisible(shlex.join(order.argv(order.path))).replace("\n", "\\n")
        lines = [
            "dayleaf: %s runs a private copy of %s"
            % (order.id, one_line(escape_invisible(order.path))),
            "  argv: " + argv,
            "  sha256: " + order.checksum,
            "  in: " + one_line(escape_invisible(order.cwd)),
        ]
        print("\n".join(lines), file=sys.stderr, flush=True)
    return _run_approved(call, order, seconds)


def _run_approved(call: Call, order: ScriptRun, seconds: float) -> int:
    captured = io.StringIO(), io.StringIO()
    out, err = captured if call.options.json else (sys.stdout, sys.stderr)
    with screen.OutputPrinter(out, err) as printer:
        status, in_time = scripts.run_script(order, call.place.cache, seconds, printer.tell)
    if call.options.json:
        value = {
            "id": order.id,
            "script": order.path,
            "sha256": order.checksum,
            "argv": order.argv(order.path),
            "cwd": order.cwd,
            "environment": sorted(order.env),
            "approved": order.approved,
            "waits": order.waits,
            "status": status,
            "in_time": in_time,
            "stdout": captured[0].getvalue(),
            "stderr": captured[1].getvalue(),
        }
        call.answer(value, [])
    if not in_time:
        warn("%s was stopped after %d seconds; --timeout allows more" % (order.id, seconds))
    return status


WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "add": _add_resource,
    "list": _list_resources,
    "show": _show_resource,
    "refresh": _refresh_resources,
    "update": _update_resource,
    "delete": _delete_resource,
    "search": _search_resources,
    "reindex": _reindex_resources,
    "approve": lambda call, words: rule.decide_each(call, rule.SCRIPT, "approve", words),
    "reject": lambda call, words: rule.decide_each(call, rule.SCRIPT, "reject", words),
    "run": _run_script,
}


# ---- tiers that stay where they are


def tier(call: Call) -> int:
    """Add, list or remove folders of markdown as tiers."""
    run, rest = call.choose_part(TIER_WORDS)
    number, takes = (0, "no more words") if run is _tier_list else (1, "one directory")
    if len(rest) != number:
        raise UsageError("tier %s takes %s" % (call.words[0], takes))
    return run(call, *rest)


def _read_tiers(call: Call) -> tuple[str, list[str]]:
    path = (call.place.home if call.options.everywhere else call.place.private) + "/config.json"
    tiers: object = None
    with suppress(OSError, ValueError):
        tiers = fastjson.parse(files.read(path, 1 << 18)).get("tiers")
    listed = tiers if isinstance(tiers, list) else []
    return path, [folder for folder in listed if isinstance(folder, str)]


def _tier_add(call: Call, path: str) -> int:
    folder = otherfiles.resolve_tier_folder(path, call.place, call.settings, call.env)
    config_path, listed = _read_tiers(call)
    if folder not in listed:
        index.change_config(config_path, "tiers", [*listed, folder], files.FILE_MODE)
    tier = otherfiles.AddedTier(call.place.home, folder)
    with call.spinner("reading %s" % folder) as spinner:
        builder.build(tier, call.now, spinner.counting(spinner.step))
    state = tier.state()
    everywhere = ", in every project" if call.options.everywhere else ""
    lines = [
        "added %s%s" % (reports.format_added_tier(state), everywhere),
        "  recall now finds its notes, as documents of the workspace %s; dayleaf never writes "
        "into it, and hooks do not read it" % tier.key,
    ]
    if set(state["read"]) - {".md"}:
        lines.append("  read " + otherfiles.format_endings(state["read"]))
    if state["endings"]:
        left = otherfiles.format_left_out(state["endings"])
        ends = ", ".join(walk.NOTE_ENDS)
        lines.append("  %s; `dayleaf store import dir` takes %s" % (left, ends))
    for row in state["skipped"][:MOST_SKIPPED]:
        lines.append("  left out %s: %s" % (one_line(row["path"]), row["reason"]))
    return call.answer(
        {**state, "everywhere": call.options.everywhere, "config": config_path}, lines
    )


def _tier_list(call: Call) -> int:
    found = [tier.state() for tier in otherfiles.list_added_tiers(call.place, call.settings)]
    rows = [[state["name"], reports.format_added_tier(state)] for state in found]
    none = "no folder has been added; `dayleaf store tier add DIR` adds one"
    return call.answer(found, screen.format_table(rows) or [none])


def _tier_remove(call: Call, name: str) -> int:
    real = files.real_path(os.path.abspath(os.path.expanduser(name)))
    added = otherfiles.list_added_tiers(call.place, call.settings)
    tiers = [tier for tier in added if name in (tier.key, tier.top) or real == tier.top]
    config_path, listed = _read_tiers(call)
    gone = next((tier for tier in tiers if tier.top in listed), None)
    if gone is None:
        where, way = "this project", ", and use --everywhere for a folder of every project"
        if call.options.everywhere:
            where, way = "every project", ""
        raise UsageError(
            "%s is not an added folder of %s; see `dayleaf store tier list`%s"
            % (clip_input(name), where, way if tiers else "")
        )
    left = [folder for folder in listed if folder != gone.top]
    index.change_config(config_path, "tiers", left or None, files.FILE_MODE)
    builder.delete_index(gone)
    line = "removed %s; the folder stays as it is" % one_line(gone.top)
    return call.answer({"name": gone.key, "folder": gone.top}, [line])


TIER_WORDS: dict[str, Callable[..., int]] = {
    "add": _tier_add,
    "list": _tier_list,
    "remove": _tier_remove,
}
