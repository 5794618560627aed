"""The verbs resource and tier: documents and scripts, kept, read again, approved and run; folders
that are read in place.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from typing import Any, Callable

from memory.cli import index, recall, rule, show
from memory.core import DayleafError, StoreError, UsageError, boundary, fastjson, files, layout
from memory.core.plaintext import count, one_line, visible
from memory.core.records import READ_LIMIT, Record
from memory.index import builder
from memory.knowledge import approvalstate, scripts
from memory.knowledge.scripts import Order
from memory.project import material, otherfiles, othernotes
from memory.recall.hit import record_json
from memory.store import reader
from memory.terminal import reports, screen
from memory.terminal.call import (
    STATES,
    Call,
    author,
    report_written,
    shown,
    tier_of,
    warn,
)

MOST_LEFT = 12  # files that are left out of a tier, as they are told


def resource(call: Call) -> int:
    """Store, list, show, refresh, search or run documents and scripts."""
    run, words = call.part(WORDS)
    return run(call, words)


# ---- adding and changing


def _path_to_add(call: Call, words: list[str]) -> str:
    path = call.options.path
    if path and words or len(words) > 1:
        raise UsageError("resource add takes one path: `dayleaf resource add --path PATH`")
    return path or (words[0] if words else "")


def _add(call: Call, words: list[str]) -> int:
    o = call.options
    path = _path_to_add(call, words)
    tier, store = tier_of(call), call.store()
    source = _source(call, path, tier)
    there = material.find_resource(store, source.path, tier)
    if there:
        return _already(call, there)
    if o.type == "both":
        raise UsageError(
            "a resource is a doc or a script; `--type both` is only for list and search"
        )
    kind = o.type or material.guessed(source)
    extra = {"versions": _versions(call)}
    with call.spinner("reading %s" % one_line(source.path)):
        kept = material.add(
            store,
            source,
            kind,
            tier,
            (o.title or "").strip(),
            {
                "tags": o.tag or (),
                "source": author(call),
                "extra": {key: value for key, value in extra.items() if value},
            },
        )
        call.indexed()
    if kept.size > READ_LIMIT:
        warn(
            "%s is kept whole, but recall finds and shows only its first 1 MiB; split the file"
            % kept.id
        )
    said = "kept script" if material.type_of(kept) == "script" else "kept document"
    return _report_resource(call, kept, said)


def _already(call: Call, there: Record) -> int:
    state = material.state(there, call.place)
    way = (
        "`dayleaf resource %s` reads it again" % ("refresh " + there.id)
        if state.word == material.STALE
        else "`dayleaf resource update %s` changes its title, tags or versions" % there.id
    )
    return call.answer(
        {
            **record_json(there),
            "path": call.place.path(there.name),
            "type": material.type_of(there),
        },
        ["already there %s  %s" % (there.id, one_line(there.title)), "  " + way],
    )


def _source(call: Call, said: str, tier: str) -> material.Source:
    if not said or "\0" in said:
        raise UsageError("resource %s needs --path, the path of a file" % call.words[0])
    if tier == layout.SHARED and not call.place.shared:
        raise UsageError("there is no repository here to share it in; cd into one")
    real = files.real_path(os.path.abspath(said))
    root = call.place.root.rstrip("/") + "/"
    material.allowed(
        real, tier, call.place, os.path.abspath(said).replace("\\", "/").startswith(root)
    )
    return material.read(real)


def _versions(call: Call) -> list[str]:
    given = [one.strip() for said in call.options.version or () for one in said.split(",")]
    if not all(given):
        raise UsageError("the version is empty; give one such as v2.1, or `unversioned`")
    if "unversioned" in given and len(set(given)) > 1:
        raise UsageError("--version unversioned excludes other versions")
    return list(dict.fromkeys(given))


def _report_resource(call: Call, kept: Record, done: str) -> int:
    if call.options.json:
        return call.answer(
            {
                **record_json(kept),
                "path": call.place.path(kept.name),
                "type": material.type_of(kept),
                "source_path": kept.path,
                "source_ref": kept.meta.get("source_ref") or "",
                "hindrance": _hindrance(call, kept),
            },
            [],
        )
    report_written(call, kept, done, "")
    if material.type_of(kept) == "script" and not call.options.hook:
        state = approvalstate.script_standings([kept], call.place)[0].state
        hindrance = _hindrance(call, kept)
        way = (
            ": `dayleaf resource approve %s`, in your own terminal, lets it run" % kept.id
            if state == "pending"
            else ""
        )
        way = ", and nobody can approve it yet: " + one_line(hindrance) if hindrance else way
        print("  a script, %s%s" % (STATES.get(state, state), way))
    return 0


def _hindrance(call: Call, record: Record) -> str:
    source = (
        material.state(record, call.place).source if material.type_of(record) == "script" else None
    )
    return approvalstate.script_hindrance(source) if source else ""


def _one(call: Call, words: list[str]) -> Record:
    return rule.named(call.store(), rule.SCRIPT, call.words[0], words, one=True)[0]


def _update(call: Call, words: list[str]) -> int:
    found, store, o = _one(call, words), call.store(), call.options
    changes = {"title": o.title and one_line(o.title), "versions": _versions(call), "tags": o.tag}
    changes = {key: value for key, value in changes.items() if value}
    if not changes and not o.path:
        raise UsageError(
            "resource update needs --title, --version, --tag or --path; `dayleaf resource "
            "refresh %s` reads it again" % found.id
        )
    if o.path:
        source = _source(call, o.path, found.tier)
        other = material.find_resource(store, source.path, found.tier)
        if other and other.name != found.name:
            raise UsageError(
                "%s already describes this file; `dayleaf resource delete` one of the two"
                % other.id
            )
        _unless_edited(call, found)
        found = material.rewrite(store, found, source)
    if changes:
        found = store.edit(found.name, changes)
    call.indexed()
    return _report_resource(call, found, "changed")


def _unless_edited(call: Call, found: Record) -> None:
    """Refuse to replace a doc's text edited by a person."""
    if material.type_of(found) == "doc" and material.by_hand(call.store(), found):
        raise UsageError(
            "the text of %s was edited by hand; `dayleaf resource delete %s`, then `add`, takes "
            "a new snapshot" % (found.id, found.id)
        )


def _delete(call: Call, words: list[str]) -> int:
    found = _one(call, words)
    away = call.store().archive(found.name, "deleted")
    call.indexed()
    return call.answer(
        {"id": found.id, "from": found.name, "to": away},
        [
            "archived %s  %s" % (found.id, one_line(found.title)),
            "  %s stays; `dayleaf store restore %s` brings the record back"
            % (one_line(found.path) or "its file", found.id),
        ],
    )


# ---- refreshing


def _refresh(call: Call, words: list[str]) -> int:
    store = call.store()
    found = (
        rule.named(store, rule.SCRIPT, "refresh", words)
        if words
        else list(store.each(("resource",)))
    )
    rows, failed = [], 0
    for record in found:
        try:
            said = _refreshed(call, record)
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


def _refreshed(call: Call, record: Record) -> str:
    state = material.state(record, call.place)
    if state.source is None:
        raise StoreError(state.why)
    then, now = record.meta.get("source_ref") or "", otherfiles.commit_of(state.source.path)
    if state.word == material.FRESH:
        return "unchanged"
    if then and now and then != now:
        warn(
            "the copy of %s was made at commit %s; you get the text of the present commit, %s"
            % (record.id, then, now)
        )
    call.store().check(record.name)
    _unless_edited(call, record)
    material.rewrite(call.store(), record, state.source)
    return "refreshed"


def _reindex(call: Call, words: list[str]) -> int:
    from memory.index import builder

    store = call.store()
    found = (
        rule.named(store, rule.SCRIPT, "reindex", words)
        if words
        else list(store.each(("resource",)))
    )
    found = recall.reread(call, found)
    done = builder.refresh(call.place, call.now, names=[record.name for record in found])
    return call.answer(
        {"indexed": [record.id for record in found], "records": done.records, "busy": done.busy},
        [
            "another process is building the index; its result includes them"
            if done.busy
            else "%s indexed again" % count(len(found), "resource")
        ],
    )


# ---- reading


def _list(call: Call, words: list[str]) -> int:
    wanted, rows = call.options.type, []
    found = [
        one
        for one in call.store().each(("resource",))
        if wanted in (None, "both", material.type_of(one))
    ]
    for record in recall.reread(call, found):
        state = material.state(record, call.place)
        if not call.options.stale or state.word != material.FRESH:
            standing = next(iter(approvalstate.script_standings([record], call.place)), None)
            rows.append((record, state, standing.state if standing else ""))
    cells = [
        [
            one_line(cell)
            for cell in (
                record.id,
                material.type_of(record),
                state.word,
                STATES.get(standing, standing),
                record.title,
                ", ".join(record.versions),
                record.path,
            )
        ]
        for record, state, standing in rows
    ]
    return call.answer(
        [
            {
                **record_json(record),
                "type": material.type_of(record),
                "state": state.word,
                "why": state.why,
                "approval": standing,
                "source_path": record.path,
                "source_ref": record.meta.get("source_ref") or "",
            }
            for record, state, standing in rows
        ],
        screen.table(cells, style=call.style(), give=4, kinds=["resource"] * len(cells))
        or [
            "no resource is stale"
            if call.options.stale
            else "no resources here; `dayleaf resource add --path PATH` adds one"
        ],
    )


def _show(call: Call, words: list[str]) -> int:
    if len(words) != 1:
        raise UsageError("resource show takes one ID; `dayleaf resource list` names them")
    call.words = words
    try:
        return show.show(call)
    except StoreError as error:
        way = "`dayleaf resource list` names the resources"
        raise StoreError(str(error).replace(reader.LISTED, way)) from None


def _search(call: Call, words: list[str]) -> int:
    call.words, call.options.kind, call.options.batch = words, ["resource"], False
    call.options.explain, call.options.group, call.options.limit = False, False, None
    return recall.recall(call)


# ---- running


def _run(call: Call, words: list[str]) -> int:
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
    found = _one(call, words[:1])
    told = scripts.order(found, call.place, words[1:], call.env)
    if told.approved:
        _renew(call, found)
        sys.stderr.write("\n".join(_announced(told)) + "\n")
        sys.stderr.flush()
    return _ran(call, told, seconds)


def _renew(call: Call, found: Record) -> None:
    try:
        recall.reread(call, [found])
    except (OSError, DayleafError) as error:
        warn(str(error))


def _ran(call: Call, told: Order, seconds: float) -> int:
    from memory.knowledge import scripts
    from memory.terminal.screen import Printer

    out, err = (io.StringIO(), io.StringIO()) if call.options.json else (sys.stdout, sys.stderr)
    with Printer(out, err) as printer:
        status, in_time = scripts.run(told, call.place.cache, seconds, printer.tell)
    if isinstance(out, io.StringIO) and isinstance(err, io.StringIO):
        call.answer(
            {
                **_order_json(told),
                "status": status,
                "in_time": in_time,
                "stdout": out.getvalue(),
                "stderr": err.getvalue(),
            },
            [],
        )
    if not in_time:
        warn("%s was stopped after %d seconds; --timeout allows more" % (told.id, seconds))
    return status


def _announced(told: Order) -> list[str]:
    return [
        "dayleaf: %s runs a private copy of %s" % (told.id, one_line(visible(told.path))),
        "  argv: " + visible(shlex.join(told.argv(told.path))).replace("\n", "\\n"),
        "  sha256: " + told.checksum,
        "  in: " + one_line(visible(told.cwd)),
    ]


def _order_json(told: Order) -> dict[str, Any]:
    return {
        "id": told.id,
        "script": told.path,
        "sha256": told.checksum,
        "argv": told.argv(told.path),
        "cwd": told.cwd,
        "environment": sorted(told.env),
        "approved": told.approved,
        "waits": told.waits,
    }


WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "add": _add,
    "list": _list,
    "show": _show,
    "refresh": _refresh,
    "update": _update,
    "delete": _delete,
    "search": _search,
    "reindex": _reindex,
    "approve": lambda call, words: rule.each(call, rule.SCRIPT, "approve", words),
    "reject": lambda call, words: rule.each(call, rule.SCRIPT, "reject", words),
    "run": _run,
}


# ---- tiers that stay where they are


def tier(call: Call) -> int:
    """Add, list or remove folders of markdown as tiers."""
    run, rest = call.part(TIER)
    if len(rest) != (run is not _tier_list):
        takes = "no more words" if run is _tier_list else "one directory"
        raise UsageError("tier %s takes %s" % (call.words[0], takes))
    return run(call, *rest)


def _settings_file(call: Call) -> tuple[str, list[str]]:
    path = (call.place.home if call.options.everywhere else call.place.private) + "/config.json"
    with contextlib.suppress(OSError, ValueError):
        said = fastjson.parse(files.read(path, 1 << 18)).get("tiers")
        return path, [folder for folder in said if isinstance(folder, str)] if isinstance(
            said, list
        ) else []
    return path, []


def _tier_add(call: Call, said: str) -> int:
    folder = otherfiles.tier_folder(said, call.place, call.settings, call.env)
    path, there = _settings_file(call)
    if folder not in there:
        index.change_config(path, "tiers", [*there, folder], files.FILE_MODE)
    one = otherfiles.Added(call.place.home, folder)
    with call.spinner("reading %s" % folder) as spinner:
        builder.build(one, call.now, spinner.counting(spinner.step))
    state, lines = one.state(), []
    if set(state["read"]) - {".md"}:
        lines.append("  read " + otherfiles.endings_line(state["read"]))
    if state["endings"]:
        left = otherfiles.left_out_line(state["endings"])
        lines.append(
            "  %s; `dayleaf store import dir` takes %s" % (left, ", ".join(othernotes.ENDS))
        )
    for row in state["skipped"][:MOST_LEFT]:
        lines.append("  left out %s: %s" % (one_line(row["path"]), row["reason"]))
    where = ", in every project" if call.options.everywhere else ""
    return call.answer(
        {**state, "everywhere": call.options.everywhere, "config": path},
        [
            "added %s%s" % (reports.added(state), where),
            "  recall now finds its notes, as documents of the workspace %s; dayleaf never writes "
            "into it, and hooks do not read it" % one.key,
            *lines,
        ],
    )


def _tier_list(call: Call) -> int:
    found = [one.state() for one in otherfiles.added(call.place, call.settings)]
    return call.answer(
        found,
        [
            *screen.table([[row["name"], reports.added(row)] for row in found]),
            *([] if found else ["no folder has been added; `dayleaf store tier add DIR` adds one"]),
        ],
    )


def _tier_remove(call: Call, said: str) -> int:
    folders = [
        one
        for one in otherfiles.added(call.place, call.settings)
        if said in (one.key, one.top)
        or files.real_path(os.path.abspath(os.path.expanduser(said))) == one.top
    ]
    path, there = _settings_file(call)
    gone = [one for one in folders if one.top in there]
    if not gone:
        raise UsageError(
            "%s is not an added folder of %s; see `dayleaf store tier list`%s"
            % (
                shown(said),
                "every project" if call.options.everywhere else "this project",
                ", and use --everywhere for a folder of every project"
                if folders and not call.options.everywhere
                else "",
            )
        )
    left = [folder for folder in there if folder != gone[0].top]
    index.change_config(path, "tiers", left or None, files.FILE_MODE)
    builder.discard(gone[0])
    return call.answer(
        {"name": gone[0].key, "folder": gone[0].top},
        ["removed %s; the folder stays as it is" % one_line(gone[0].top)],
    )


TIER: dict[str, Callable[..., int]] = {"add": _tier_add, "list": _tier_list, "remove": _tier_remove}
