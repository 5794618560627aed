"""The verbs resource and tier: documents and scripts; folders that are read in place."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from typing import Any, Callable

from memory.cli import index, recall, rule, show
from memory.core import DayleafError, StoreError, UsageError, boundary, fastjson, files, layout
from memory.core.plaintext import escape_invisible, format_count, one_line
from memory.core.records import READ_LIMIT, Record
from memory.index import builder
from memory.knowledge import approvalstate, scripts
from memory.knowledge.scripts import ScriptRun
from memory.project import material, otherfiles, othernotes
from memory.recall.hit import record_json
from memory.store import reader
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

MOST_SKIPPED = 12  # skipped files of a tier that are listed


def resource(call: Call) -> int:
    """Store, list, show, refresh, search or run documents and scripts."""
    run, words = call.choose_part(WORDS)
    return run(call, words)


# ---- adding and changing


def _read_path(call: Call, words: list[str]) -> str:
    path = call.options.path
    if path and words or len(words) > 1:
        raise UsageError("resource add takes one path: `dayleaf resource add --path PATH`")
    return path or (words[0] if words else "")


def _add_resource(call: Call, words: list[str]) -> int:
    o = call.options
    path = _read_path(call, words)
    tier, store = choose_tier(call), call.store()
    source = _read_source(call, path, tier)
    existing = material.find_resource(store, source.path, tier)
    if existing:
        return _report_existing(call, existing)
    if o.type == "both":
        raise UsageError(
            "a resource is a doc or a script; `--type both` is only for list and search"
        )
    versions = _list_versions(call)
    with call.spinner("reading %s" % one_line(source.path)):
        kept = material.add_resource(
            store,
            source,
            o.type or material.guess_type(source),
            tier,
            (o.title or "").strip(),
            {
                "tags": o.tag or (),
                "source": find_author(call),
                "extra": {"versions": versions} if versions else {},
            },
        )
        call.indexed()
    if kept.size > READ_LIMIT:
        warn(
            "%s is kept whole, but recall finds and shows only its first 1 MiB; split the file"
            % kept.id
        )
    said = "kept script" if material.resource_type(kept) == "script" else "kept document"
    return _report_resource(call, kept, said)


def _report_existing(call: Call, existing: Record) -> int:
    state = material.compare_with_source(existing, call.place)
    way = (
        "`dayleaf resource %s` reads it again" % ("refresh " + existing.id)
        if state.word == material.STALE
        else "`dayleaf resource update %s` changes its title, tags or versions" % existing.id
    )
    return call.answer(
        {
            **record_json(existing),
            "path": call.place.path(existing.name),
            "type": material.resource_type(existing),
        },
        ["already there %s  %s" % (existing.id, one_line(existing.title)), "  " + way],
    )


def _read_source(call: Call, path: str, tier: str) -> material.Source:
    if not path or "\0" in path:
        raise UsageError("resource %s needs --path, the path of a file" % call.words[0])
    if tier == layout.SHARED and not call.place.shared:
        raise UsageError("there is no repository here to share it in; cd into one")
    real = files.real_path(os.path.abspath(path))
    root = call.place.root.rstrip("/") + "/"
    material.check_allowed(
        real, tier, call.place, os.path.abspath(path).replace("\\", "/").startswith(root)
    )
    return material.read_file(real)


def _list_versions(call: Call) -> list[str]:
    given = [one.strip() for said in call.options.version or () for one in said.split(",")]
    if not all(given):
        raise UsageError("the version is empty; give one such as v2.1, or `unversioned`")
    if "unversioned" in given and len(set(given)) > 1:
        raise UsageError("--version unversioned excludes other versions")
    return list(dict.fromkeys(given))


def _report_resource(call: Call, kept: Record, done: str) -> int:
    if call.options.json:
        value = {
            **record_json(kept),
            "path": call.place.path(kept.name),
            "type": material.resource_type(kept),
            "source_path": kept.path,
            "source_ref": kept.meta.get("source_ref") or "",
            "hindrance": _find_hindrance(call, kept),
        }
        return call.answer(value, [])
    report_written(call, kept, done, "")
    if material.resource_type(kept) == "script" and not call.options.hook:
        state = approvalstate.list_script_states([kept], call.place)[0].state
        hindrance = _find_hindrance(call, kept)
        way = (
            ": `dayleaf resource approve %s`, in your own terminal, lets it run" % kept.id
            if state == "pending"
            else ""
        )
        way = ", and nobody can approve it yet: " + one_line(hindrance) if hindrance else way
        print("  a script, %s%s" % (STATES.get(state, state), way))
    return 0


def _find_hindrance(call: Call, record: Record) -> str:
    if material.resource_type(record) != "script":
        return ""
    source = material.compare_with_source(record, call.place).source
    return approvalstate.find_script_obstacle(source) if source else ""


def _find_resource(call: Call, words: list[str]) -> Record:
    return rule.find_named(call.store(), rule.SCRIPT, call.words[0], words, one=True)[0]


def _update_resource(call: Call, words: list[str]) -> int:
    found, store, o = _find_resource(call, words), call.store(), call.options
    changes = {
        "title": o.title and one_line(o.title),
        "versions": _list_versions(call),
        "tags": o.tag,
    }
    changes = {key: value for key, value in changes.items() if value}
    if not changes and not o.path:
        raise UsageError(
            "resource update needs --title, --version, --tag or --path; `dayleaf resource "
            "refresh %s` reads it again" % found.id
        )
    if o.path:
        source = _read_source(call, o.path, found.tier)
        other = material.find_resource(store, source.path, found.tier)
        if other and other.name != found.name:
            message = "%s already describes this file; `dayleaf resource delete` one of the two"
            raise UsageError(message % other.id)
        _refuse_if_edited(call, found)
        found = material.rewrite(store, found, source)
    if changes:
        found = store.edit(found.name, changes)
    call.indexed()
    return _report_resource(call, found, "changed")


def _refuse_if_edited(call: Call, found: Record) -> None:
    """Raise UsageError for a doc whose text a person edited."""
    if material.resource_type(found) == "doc" and material.is_edited_by_hand(call.store(), found):
        raise UsageError(
            "the text of %s was edited by hand; `dayleaf resource delete %s`, then `add`, takes "
            "a new snapshot" % (found.id, found.id)
        )


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


def _refresh_resources(call: Call, words: list[str]) -> int:
    store = call.store()
    found = (
        rule.find_named(store, rule.SCRIPT, "refresh", words)
        if words
        else list(store.each(("resource",)))
    )
    rows, failed = [], 0
    for record in found:
        try:
            said = _refresh_resource(call, record)
        except (StoreError, UsageError) as error:
            if len(found) == 1:
                raise
            warn(str(error))
            said, failed = "left unchanged", failed + 1
        rows.append((record, said))
    call.indexed()
    lines = ["%s %s  %s" % (said, record.id, one_line(record.title)) for record, said in rows]
    call.answer(
        [{"id": record.id, "result": said} for record, said in rows], lines or ["no resources here"]
    )
    return 1 if failed else 0


def _refresh_resource(call: Call, record: Record) -> str:
    state = material.compare_with_source(record, call.place)
    if state.source is None:
        raise StoreError(state.why)
    then, now = record.meta.get("source_ref") or "", otherfiles.find_commit(state.source.path)
    if state.word == material.FRESH:
        return "unchanged"
    if then and now and then != now:
        warn(
            "the copy of %s was made at commit %s; you get the text of the present commit, %s"
            % (record.id, then, now)
        )
    call.store().check(record.name)
    _refuse_if_edited(call, record)
    material.rewrite(call.store(), record, state.source)
    return "refreshed"


def _reindex_resources(call: Call, words: list[str]) -> int:
    store = call.store()
    found = (
        rule.find_named(store, rule.SCRIPT, "reindex", words)
        if words
        else list(store.each(("resource",)))
    )
    found = recall.refresh_scripts(call, found)
    done = builder.refresh(call.place, call.now, names=[record.name for record in found])
    return call.answer(
        {"indexed": [record.id for record in found], "records": done.records, "busy": done.busy},
        [
            "another process is building the index; its result includes them"
            if done.busy
            else "%s indexed again" % format_count(len(found), "resource")
        ],
    )


# ---- reading


def _list_resources(call: Call, words: list[str]) -> int:
    wanted, rows = call.options.type, []
    found = [
        one
        for one in call.store().each(("resource",))
        if wanted in (None, "both", material.resource_type(one))
    ]
    for record in recall.refresh_scripts(call, found):
        state = material.compare_with_source(record, call.place)
        if not call.options.stale or state.word != material.FRESH:
            standing = next(iter(approvalstate.list_script_states([record], call.place)), None)
            rows.append((record, state, standing.state if standing else ""))
    cells = [
        [
            one_line(cell)
            for cell in (
                record.id,
                material.resource_type(record),
                state.word,
                STATES.get(standing, standing),
                record.title,
                ", ".join(record.versions),
                record.path,
            )
        ]
        for record, state, standing in rows
    ]
    value = [
        {
            **record_json(record),
            "type": material.resource_type(record),
            "state": state.word,
            "why": state.why,
            "approval": standing,
            "source_path": record.path,
            "source_ref": record.meta.get("source_ref") or "",
        }
        for record, state, standing in rows
    ]
    lines = screen.format_table(
        cells, style=call.style(), give=4, kinds=["resource"] * len(cells)
    ) or [
        "no resource is stale"
        if call.options.stale
        else "no resources here; `dayleaf resource add --path PATH` adds one"
    ]
    return call.answer(value, lines)


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
        _refresh_if_possible(call, found)
        sys.stderr.write("\n".join(_format_order(order)) + "\n")
        sys.stderr.flush()
    return _run_approved(call, order, seconds)


def _refresh_if_possible(call: Call, found: Record) -> None:
    try:
        recall.refresh_scripts(call, [found])
    except (OSError, DayleafError) as error:
        warn(str(error))


def _run_approved(call: Call, order: ScriptRun, seconds: float) -> int:
    out, err = (io.StringIO(), io.StringIO()) if call.options.json else (sys.stdout, sys.stderr)
    with screen.OutputPrinter(out, err) as printer:
        status, in_time = scripts.run_script(order, call.place.cache, seconds, printer.tell)
    if isinstance(out, io.StringIO) and isinstance(err, io.StringIO):
        value = {
            **_order_json(order),
            "status": status,
            "in_time": in_time,
            "stdout": out.getvalue(),
            "stderr": err.getvalue(),
        }
        call.answer(value, [])
    if not in_time:
        warn("%s was stopped after %d seconds; --timeout allows more" % (order.id, seconds))
    return status


def _format_order(order: ScriptRun) -> list[str]:
    return [
        "dayleaf: %s runs a private copy of %s"
        % (order.id, one_line(escape_invisible(order.path))),
        "  argv: " + escape_invisible(shlex.join(order.argv(order.path))).replace("\n", "\\n"),
        "  sha256: " + order.checksum,
        "  in: " + one_line(escape_invisible(order.cwd)),
    ]


def _order_json(order: ScriptRun) -> dict[str, Any]:
    return {
        "id": order.id,
        "script": order.path,
        "sha256": order.checksum,
        "argv": order.argv(order.path),
        "cwd": order.cwd,
        "environment": sorted(order.env),
        "approved": order.approved,
        "waits": order.waits,
    }


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
    if len(rest) != (run is not _tier_list):
        takes = "no more words" if run is _tier_list else "one directory"
        raise UsageError("tier %s takes %s" % (call.words[0], takes))
    return run(call, *rest)


def _read_tiers(call: Call) -> tuple[str, list[str]]:
    path = (call.place.home if call.options.everywhere else call.place.private) + "/config.json"
    tiers: object = None
    with contextlib.suppress(OSError, ValueError):
        tiers = fastjson.parse(files.read(path, 1 << 18)).get("tiers")
    listed = tiers if isinstance(tiers, list) else []
    return path, [folder for folder in listed if isinstance(folder, str)]


def _tier_add(call: Call, said: str) -> int:
    folder = otherfiles.resolve_tier_folder(said, call.place, call.settings, call.env)
    path, there = _read_tiers(call)
    if folder not in there:
        index.change_config(path, "tiers", [*there, folder], files.FILE_MODE)
    one = otherfiles.AddedTier(call.place.home, folder)
    with call.spinner("reading %s" % folder) as spinner:
        builder.build(one, call.now, spinner.counting(spinner.step))
    state, lines = one.state(), []
    if set(state["read"]) - {".md"}:
        lines.append("  read " + otherfiles.format_endings(state["read"]))
    if state["endings"]:
        left = otherfiles.format_left_out(state["endings"])
        lines.append(
            "  %s; `dayleaf store import dir` takes %s" % (left, ", ".join(othernotes.ENDS))
        )
    for row in state["skipped"][:MOST_SKIPPED]:
        lines.append("  left out %s: %s" % (one_line(row["path"]), row["reason"]))
    where = ", in every project" if call.options.everywhere else ""
    return call.answer(
        {**state, "everywhere": call.options.everywhere, "config": path},
        [
            "added %s%s" % (reports.format_added_tier(state), where),
            "  recall now finds its notes, as documents of the workspace %s; dayleaf never writes "
            "into it, and hooks do not read it" % one.key,
            *lines,
        ],
    )


def _tier_list(call: Call) -> int:
    found = [one.state() for one in otherfiles.list_added_tiers(call.place, call.settings)]
    lines = [
        *screen.format_table([[row["name"], reports.format_added_tier(row)] for row in found]),
        *([] if found else ["no folder has been added; `dayleaf store tier add DIR` adds one"]),
    ]
    return call.answer(found, lines)


def _tier_remove(call: Call, said: str) -> int:
    folders = [
        one
        for one in otherfiles.list_added_tiers(call.place, call.settings)
        if said in (one.key, one.top)
        or files.real_path(os.path.abspath(os.path.expanduser(said))) == one.top
    ]
    path, there = _read_tiers(call)
    gone = [one for one in folders if one.top in there]
    if not gone:
        raise UsageError(
            "%s is not an added folder of %s; see `dayleaf store tier list`%s"
            % (
                clip_input(said),
                "every project" if call.options.everywhere else "this project",
                ", and use --everywhere for a folder of every project"
                if folders and not call.options.everywhere
                else "",
            )
        )
    left = [folder for folder in there if folder != gone[0].top]
    index.change_config(path, "tiers", left or None, files.FILE_MODE)
    builder.delete_index(gone[0])
    return call.answer(
        {"name": gone[0].key, "folder": gone[0].top},
        ["removed %s; the folder stays as it is" % one_line(gone[0].top)],
    )


TIER_WORDS: dict[str, Callable[..., int]] = {
    "add": _tier_add,
    "list": _tier_list,
    "remove": _tier_remove,
}
