"""What is wrong in record files, line by line: what cannot be read, means nothing, leads nowhere or must not stand there.

An error is what dayleaf cannot take as it was meant; a warning is what works, but hardly as it was meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memory import context, files, frontmatter, links, paths, plans, records, redact
from memory.config import Config
from memory.errors import StoreError, UsageError
from memory.paths import FOLDERS, Place
from memory.reader import WHOLE_LIMIT
from memory.records import READ_LIMIT, Record
from memory.store import Store
from memory.text import utf16

TYPES = ("doc", "script")  # of a resource
BODY_MOST = 16_000  # characters of a body that is not a document
_KEY = re.compile(r"(?:the )?(kind|id|source|confidence|status|created|updated)\b|a rule needs a (rationale)|the key '([^']+)'")
_PROBLEM = re.compile(r"line (\d+): (.*)", re.S)
# What a reader does not see: escapes and other controls, marks that reorder a line, tags; joiners, which scripts need, are none.
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
                     "\U000e0001-\U000e007f]")


class Fault(NamedTuple):
    """One thing that is wrong: the file's path, its line from 1, whether it is an error, what it is, what mends it."""

    path: str
    line: int
    error: bool
    what: str
    remedy: str


class Known(NamedTuple):
    """What a link may name, also in the archives (links.called_away), and the names that bear an id."""

    targets: links.Names
    away: dict[str, str]
    names: dict[str, list[str]]


def known(store: Store, found: Iterable[Record]) -> Known:
    """Gather what the records of a store may be linked by.  found: its records."""
    nodes: list[links.Node] = []
    names: dict[str, list[str]] = {}
    for record in found:
        nodes.append(links.node(record))
        names.setdefault(record.id, []).append(record.name)
    return Known(links.Names(nodes, store.successors()), links.called_away(store.left()), names)


def everything(store: Store) -> tuple[int, list[Fault]]:
    """Check every record of a store's tiers; returns (files looked at, faults by path and line)."""
    found = list(store.each())
    skipped = [Fault(_path(store.place, one.name), max(one.line, 1), True, one.reason, one.remedy) for one in store.skipped]
    linked, out = known(store, found), list(skipped)
    for record in found:
        try:
            data = store.raw(record.name)
        except StoreError:  # gone meanwhile
            continue
        out += one(record.name, data, _path(store.place, record.name), store.place, store.config, linked)
    return len(found) + len(skipped), sorted([*out, *_active(store.place, found)])


def some(store: Store, given: Sequence[str]) -> tuple[int, list[Fault]]:
    """Check files by their paths, in the store or outside; returns (files looked at, faults by path and line).

    Raises UsageError for one that cannot be read.
    """
    found = list(store.each())
    linked, out = known(store, found), list[Fault]()
    for path in given:
        try:
            data = files.read(path, WHOLE_LIMIT)
        except OSError as error:
            why = (error.strerror or "unreadable").lower()
            raise UsageError("%s: %s; give the path of a record's file" % (path, why)) from None
        name = _name(store, path)
        out += one(name, data, path, store.place, store.config, linked)
        out += [fault._replace(path=path) for fault in _active(store.place, found) if fault.path == _path(store.place, name)]
    return len(given), sorted(out)


def one(name: str, data: bytes, path: str, place: Place, config: Config, linked: Known, secrets: bool = True) -> list[Fault]:
    """Check one file.

    name: its name in the index, or the one it would have.  path: for the faults.  linked: what `known` returned.  secrets:
    look for these too.
    """
    if frontmatter.undecodable(data):
        return [Fault(path, 1, True, "not UTF-8 text", "save it as UTF-8")]
    record, lines = records.from_bytes(name, data[:READ_LIMIT], 0.0), frontmatter.key_lines(data)
    text = data.decode("utf-8-sig", "replace")
    rows = [*_read(record, lines), *size_rows(record, data), *_keys(record, lines), *_versions(record, lines),
            *_hidden(text)]
    rows += _links(record, text, lines, linked)
    rows += _resource(record, lines, place) if record.kind == "resource" else []
    rows += secret_rows(text, config["redact.allow"], place.key) if secrets and config["redact.enabled"] else []
    twins = [twin for twin in linked.names.get(record.id, ()) if twin != name]
    if twins:
        rows.append((lines.get("id", 1), True, "the id %s stands in %s too" % (record.id, _path(place, twins[0])),
                     "change or remove the line `id:` in one of them"))
    return sorted(Fault(path, *row) for row in rows)


Row = tuple[int, bool, str, str]


def _read(record: Record, lines: dict[str, int]) -> list[Row]:
    """Take over what reading the record found, at the lines of the keys that it is about."""
    rows = []
    for problem in record.problems:
        match = _PROBLEM.match(problem)
        line, said = (int(match[1]), match[2]) if match else (1, problem)
        key = _KEY.match(said)
        if key and line == 1:
            line = lines.get(key[1] or key[2] or key[3], 1)
        what, _, remedy = said.rpartition("; ")
        remedy = "use one of these, it is " + remedy if remedy.startswith("read as") else remedy
        rows.append((line, True, what or said, remedy if what else "mend it by hand"))
    return rows


def size_rows(record: Record, data: bytes) -> list[Row]:
    """Say where a record is longer than what reads it takes.  data: its file's bytes."""
    first = frontmatter.parse(data[:READ_LIMIT]).head_lines + 1
    if len(data) > READ_LIMIT:
        return [(data.count(b"\n", 0, READ_LIMIT) + 1, True, "only the first 1 MiB of %.1f is read" % (len(data) / READ_LIMIT),
                 "split the file")]
    if record.kind == "rule" and utf16(record.body) > context.ITEM_UNITS:
        return [(first, False, "a prompt gets only about %d characters of a rule, this one has %d" % (
            context.ITEM_UNITS, len(record.body)), "say it shorter, and link what explains it")]
    if record.kind in ("rule", "learning", "plan") and len(record.body) > BODY_MOST:
        return [(first, False, "a body of %d characters" % len(record.body), "split it; a resource may be long")]
    return []


def _keys(record: Record, lines: dict[str, int]) -> list[Row]:
    """Find keys that look as if they gave authority, and mean nothing."""
    rows: list[Row] = []
    if "approved" in record.meta:
        rows.append((lines.get("approved", 1), False, "`approved` in a file means nothing",
                     "remove it; `dayleaf %s approve %s` in a terminal approves a %s" % (
                         ("resource", record.id, "script") if record.kind == "resource" else ("rule", record.id, "rule"))))
    weighed = record.kind == "learning" and (record.source == "auto" or "origin" in record.meta or not record.accepted)
    if "accepted" in record.meta and not weighed:
        rows.append((lines.get("accepted", 1), False, "`accepted` means nothing for a %s by %s" % (
            record.kind, {"auto": "dayleaf itself", "agent": "an agent"}.get(record.source, "a human")), "remove it"))
    return rows


def _versions(record: Record, lines: dict[str, int]) -> list[Row]:
    """Find versions that no other way of writing meets: `2 .1` is not 2.1."""
    return [(lines.get("versions", 1), True, "the version '%s' holds a blank" % version[:40],
             "write it without one, several with commas") for version in record.versions if records.has_blank(version)]


def _hidden(text: str) -> list[Row]:
    found = list(_HIDDEN.finditer(text))
    if not found:
        return []
    code, number = ord(found[0][0]), len(found)
    named = "U+%04X" % code + (", which starts an escape sequence" if code == 27 else "")
    what = "a hidden character, " + named if number == 1 else "%d hidden characters, the first %s" % (number, named)
    return [(text.count("\n", 0, found[0].start()) + 1, True, what, "remove what no reader can see")]


def secret_rows(text: str, allow: Sequence[str], salt: str) -> list[Row]:
    """Find secrets and private parts.  allow: strings that may stay.  salt: a place's key."""
    done = redact.redact(text, allow, salt)
    rows = []
    for found in done.found:
        at = done.text.find("[redacted:%s#%s]" % (found.kind, found.tag))
        private = found.kind == "private"
        rows.append((done.text.count("\n", 0, max(at, 0)) + 1, True,
                     "a <private> part" if private else "a secret (%s)" % found.kind,
                     "take it out" + ("" if private else " and have a new one made; `redact.allow` lets a string stay")))
    return rows


def _links(record: Record, text: str, lines: dict[str, int], linked: Known) -> list[Row]:
    rows, source = list[Row](), links.node(record)
    for link in record.links:
        line = line_of(link.target, text, lines.get("links", 1))
        edge = links.edge(source, link.relation, link.target, linked.targets, linked.away)
        if edge.wrong:
            known = link.relation in links.RELATIONS
            rows.append((line, True, edge.wrong, "use related_to, or link other records" if known else "use one of these"))
        if edge.away:
            rows.append((line, False, "it links to %s, which is archived" % link.target,
                         "`dayleaf restore %s`, or remove the link" % edge.away))
        elif edge.dangling:
            near = linked.targets.nearest(link.target, source)
            rows.append((line, False, "it links to '%s', which is no record here" % link.target[:80],
                         "did you mean %s '%s'? else remove the link" % (near.id, near.title[:80]) if near else
                         "name an id, a file or a title, or remove the link"))
        elif edge.also:
            rows.append((line, False, "it links to '%s', which %d records are called; the newest is meant, %s" % (
                link.target[:80], len(edge.also) + 1, edge.to.id if edge.to else ""), "name it by its id"))
    return rows


def line_of(target: str, text: str, start: int) -> int:
    """Return the line from `start` on that names a target, else `start`."""
    return next((number for number, line in enumerate(text.split("\n"), 1) if number >= start and target in line), start)


def _resource(record: Record, lines: dict[str, int], place: Place) -> list[Row]:
    kind, path = _said(record, "type"), _said(record, "path")
    rows: list[Row] = []
    if kind and kind.lower() not in TYPES:
        rows.append((lines.get("type", 1), True, "type '%s' is none of %s" % (kind[:40], ", ".join(TYPES)), "use one of these"))
    if not path:
        rows.append((lines.get("path", 1), True, "a resource needs a path", "add a line `path: ...`"))
        return rows
    if record.tier == paths.SHARED and os.path.isabs(path):
        rows.append((lines.get("path", 1), True, "the path of a shared resource is not relative to its repository",
                     "write it from %s on" % place.root))
        return rows
    root = place.root or place.project
    whole = path if os.path.isabs(path) else root + "/" + path if root and record.tier != paths.GLOBAL else ""
    if whole and "://" not in path and not files.exists(whole):
        rows.append((lines.get("path", 1), True, "its path '%s' is gone" % path[:200],
                     "correct the path, or `dayleaf forget %s`" % record.id))
    return rows


def _said(record: Record, key: str) -> str:
    value: Any = record.meta.get(key)
    return value.strip() if isinstance(value, str) else ""


def _active(place: Place, found: Iterable[Record]) -> list[Fault]:
    """Say of each active plan but the newest that another one counts."""
    standing = plans.active(found)
    return [Fault(_path(place, plan.name), 1, False, "another plan is active too, and newer: %s" % standing[0].id,
                  "`dayleaf plan done %s` or `plan drop %s`" % (plan.id, plan.id)) for plan in standing[1:]]


def _name(store: Store, path: str) -> str:
    """Return the name of a file in the index, or the one that it would have by its folder."""
    real = files.real(path)
    for letter, root in store.roots.items():
        if real.startswith(root + "/"):
            return letter + real[len(root):]
    folder, _, file = real.rpartition("/")
    kind = folder.rpartition("/")[2]
    return "%s/%s/%s" % (paths.PRIVATE, kind if kind in FOLDERS.values() else FOLDERS["learning"], file)


def _path(place: Place, name: str) -> str:
    root = dict(place.tiers()).get(name[:1])
    return root + name[1:] if root else name


def told(faults: Iterable[Fault], looked: int, here: str) -> list[str]:
    """Write the faults, one a line, `path:line: what; remedy`, and a last line that sums them up.

    looked: how many files were.  here: the directory that paths are told relative to.
    """
    from memory import terminal

    found = list(faults)
    out = [terminal.one_line("%s:%d: %s%s; %s" % (
        fault.path[len(here) + 1:] if fault.path.startswith(here + "/") else fault.path, fault.line,
        "" if fault.error else "warning: ", fault.what, fault.remedy)) for fault in found]
    errors = sum(fault.error for fault in found)
    return [*out, "%s checked: %s, %s" % (terminal.count(looked, "file"), terminal.count(errors, "error"),
                                          terminal.count(len(found) - errors, "warning"))]
