"""Finds faults in record files, line by line: unreadable or useless keys, dangling links, secrets.

An error is read otherwise than it was meant; a warning works, but hardly as it was meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from memory.core import StoreError, UsageError, files, frontmatter, layout, plaintext, records
from memory.core.config import Config
from memory.core.layout import FOLDERS, Place
from memory.core.records import READ_LIMIT, Record
from memory.core.tokeniser import count_utf16
from memory.health import FAIL, WARN, Finding, record_path
from memory.hook import fence
from memory.recall import relations
from memory.store import activeplan, localpaths, redactor, writer
from memory.store.reader import WHOLE_LIMIT
from memory.store.store import Store

TYPES = ("doc", "script")  # of a resource
ABOUT = "record"  # `about` of every finding here
BODY_MOST = 16_000  # characters of a body that is not a document
# the key in a problem's text; a problem with its line
_KEY = re.compile(
    r"(?:the )?(kind|id|source|confidence|status|created|updated)\b"
    r"|a rule needs a (rationale)|the key '([^']+)'"
)
_PROBLEM = re.compile(r"line (\d+): (.*)", re.S)


class LinkNames(NamedTuple):
    """The names that links may use.

    away: of archived records. names: the files of each id.
    """

    targets: relations.NameIndex
    away: dict[str, str]
    names: dict[str, list[str]]


def collect_link_names(store: Store, found: Sequence[Record]) -> LinkNames:
    names: dict[str, list[str]] = {}
    for record in found:
        names.setdefault(record.id, []).append(record.name)
    targets = relations.NameIndex(list(map(relations.make_node, found)), store.successors())
    return LinkNames(targets, relations.index_archived_ids(store.away()), names)


def check_all(store: Store) -> tuple[int, list[Finding]]:
    """Check every record of a store; return (number of files, sorted findings)."""
    place, found = store.place, list(store.each())
    out = [
        Finding(FAIL, ABOUT, s.reason, s.remedy, record_path(place, s.name), max(s.line, 1))
        for s in store.skipped
    ]
    number, linked = len(found) + len(out), collect_link_names(store, found)
    for record in found:
        try:
            data = store.raw(record.name)
        except StoreError:  # deleted meanwhile
            continue
        path = record_path(place, record.name)
        out += check_file(record.name, data, path, place, store.config, linked)
    return number, _sort([*out, *_check_active_plans(place, found)])


def check_files(store: Store, paths: Sequence[str]) -> tuple[int, list[Finding]]:
    """Check files of the store or others; return (their number, sorted findings)."""
    found = list(store.each())
    linked, findings = collect_link_names(store, found), list[Finding]()
    for path in paths:
        try:
            data = files.read(path, WHOLE_LIMIT)
        except OSError as error:
            why = (error.strerror or "unreadable").lower()
            raise UsageError("%s: %s; give the path of a record's file" % (path, why)) from None
        name = _index_name(store, path)
        findings += check_file(name, data, path, store.place, store.config, linked)
        for finding in _check_active_plans(store.place, found):
            if finding.place == record_path(store.place, name):
                findings.append(finding._replace(place=path))
    return len(paths), _sort(findings)


def _sort(found: Iterable[Finding]) -> list[Finding]:
    return sorted(found, key=lambda f: (f.place, f.line, f.is_error, f.what, f.remedy))


def check_file(
    name: str, data: bytes, path: str, place: Place, config: Config, linked: LinkNames
) -> list[Finding]:
    """Return the faults of one file, sorted.

    name: in the index, even if it is not there. path: for the findings.
    """
    if frontmatter.is_binary(data):
        return [Finding(FAIL, ABOUT, "not UTF-8 text", "save it as UTF-8", path, 1)]
    record = records.from_bytes(name, data[:READ_LIMIT], 0.0)
    lines, text = frontmatter.find_key_lines(data), data.decode("utf-8-sig", "replace")
    rows = [
        *_check_reading(record, lines),
        *check_size(record, len(data), lambda: data),
        *_check_keys(record, lines),
        *_check_versions(record, lines),
        *_check_hidden(text),
        *_check_unmerged(data),
        *_check_links(record, text, lines, linked),
        *_check_id(record, name, lines, place, linked),
    ]
    if record.kind == "resource":
        rows += _check_resource(record, lines, place)
    if config["redact.enabled"]:
        rows += check_file_secrets(name, text, config["redact.allow"], place.key)
    if name[:1] == layout.SHARED:
        paths = localpaths.find(text, place)
        rows += [(line, False, what, remedy) for line, what, remedy in paths]
    return _sort(
        Finding(FAIL if error else WARN, ABOUT, what, remedy, path, line)
        for line, error, what, remedy in rows
    )


Row = tuple[int, bool, str, str]  # line, whether it is an error, what, remedy


def _check_reading(record: Record, lines: dict[str, int]) -> Iterator[Row]:
    """Report the problems that were met in reading a record."""
    for problem in record.problems:
        match = _PROBLEM.match(problem)
        line, message = (int(match[1]), match[2]) if match else (1, problem)
        key = _KEY.match(message)
        if key and line == 1:
            line = lines.get(key[1] or key[2] or key[3], 1)
        what, _, remedy = message.rpartition("; ")
        remedy = "use one of these; now it is " + remedy if remedy.startswith("read as") else remedy
        yield line, True, what or message, remedy if what else "correct it by hand"


def check_size(record: Record, size: int, raw: Callable[[], bytes]) -> Iterator[Row]:
    """Report a record longer than its readers accept.

    size: of its file. raw: returns the file's bytes.
    """
    length = len(record.body)
    if size > READ_LIMIT:
        data = raw()
        what = "only the first 1 MiB of %.1f is read" % (len(data) / READ_LIMIT)
        yield data.count(b"\n", 0, READ_LIMIT) + 1, True, what, "split the file"
    elif record.kind == "rule" and count_utf16(record.body) > fence.ITEM_UNITS:
        what = "a prompt gets about %d characters of a rule, but this one has %d"
        remedy = "shorten it, and link to the explanation"
        yield _body_line(raw()), False, what % (fence.ITEM_UNITS, length), remedy
    elif record.kind in ("rule", "learning", "plan") and length > BODY_MOST:
        remedy = "split it, or make it a resource, which may be long"
        yield _body_line(raw()), False, "its body has %d characters" % length, remedy


def _body_line(data: bytes) -> int:
    return frontmatter.parse(data[:READ_LIMIT]).head_lines + 1


def _waits_for_acceptance(record: Record) -> bool:
    return record.kind == "learning" and (
        record.source == "auto" or "origin" in record.meta or not record.accepted
    )


def _check_keys(record: Record, lines: dict[str, int]) -> Iterator[Row]:
    """Report keys without effect and rules that never bind."""
    if record.kind == "rule" and record.unsure and not record.problems:
        what = "can be read in two ways, so the rule never binds"
        yield record.unsure[0], False, what, "write its value on one line, in quotes"
    if "approved" in record.meta:
        verb, noun = ("resource", "script") if record.kind == "resource" else ("rule", "rule")
        remedy = "remove the line; `dayleaf %s approve %s` in a terminal approves the %s"
        what = "`approved` in a file means nothing"
        yield lines.get("approved", 1), False, what, remedy % (verb, record.id, noun)
    if "accepted" in record.meta and not _waits_for_acceptance(record):
        by = {"auto": "dayleaf itself", "agent": "an agent"}.get(record.source, "a human")
        what = "`accepted` means nothing for a %s by %s" % (record.kind, by)
        yield lines.get("accepted", 1), False, what, "remove it"


def _check_versions(record: Record, lines: dict[str, int]) -> Iterator[Row]:
    for version in record.versions:
        if len(version.split()) > 1:
            what = "the version '%s' contains a space" % version[:40]
            yield lines.get("versions", 1), True, what, "separate several versions with commas"


def _check_hidden(text: str) -> Iterator[Row]:
    hits = list(re.finditer(plaintext.HIDDEN, text))
    if hits:
        code, number = ord(hits[0][0]), len(hits)
        name = "U+%04X" % code + (", which starts an escape sequence" if code == 27 else "")
        what = "%d hidden characters, the first %s" % (number, name)
        if number == 1:
            what = "a hidden character, " + name
        yield text.count("\n", 0, hits[0].start()) + 1, True, what, "remove it"


def _check_unmerged(data: bytes) -> Iterator[Row]:
    line = frontmatter.find_merge_marker(data)
    if line:
        what = "it holds markers of an unfinished merge"
        yield line, True, what, "keep the right lines, remove the markers"


def check_secrets(text: str, allow: Sequence[str], salt: str) -> Iterator[Row]:
    """Report secrets and private parts."""
    redacted = redactor.redact(text, allow, salt)
    for secret in redacted.found:
        at = redacted.text.find("[redacted:%s#%s]" % (secret.kind, secret.tag))
        line = redacted.text.count("\n", 0, max(at, 0)) + 1
        if secret.kind == "private":
            yield line, True, "a <private> part", "remove it"
        else:
            remedy = "delete it here and change it where it is used; "
            remedy += "if it is none, add it to `redact.allow`"
            yield line, True, "a secret (%s)" % secret.kind, remedy


def check_file_secrets(path: str, text: str, allow: Sequence[str], salt: str) -> Iterator[Row]:
    """Report secrets in a file's text and name, and private parts."""
    yield from check_secrets(text, allow, salt)
    for found in redactor.redact(writer.bare_stem(path.rpartition("/")[2]), allow, salt).found:
        yield 1, True, "a secret (%s) in the file's name" % found.kind, "rename the file"


def _check_id(
    record: Record, name: str, lines: dict[str, int], place: Place, linked: LinkNames
) -> Iterator[Row]:
    twin = next((twin for twin in linked.names.get(record.id, ()) if twin != name), "")
    if twin:
        what = "%s is the id of %s too" % (record.id, record_path(place, twin))
        remedy = "change or remove the line `id:` in one of them"
        yield lines.get("id", 1), True, what, remedy


def _check_links(
    record: Record, text: str, lines: dict[str, int], linked: LinkNames
) -> Iterator[Row]:
    source = relations.make_node(record)
    for link in record.links:
        line = find_line(link.target, text, lines.get("links", 1))
        edge = relations.resolve_link(
            source, link.relation, link.target, linked.targets, linked.away
        )
        shown = link.target[:80]
        if edge.wrong:
            known = link.relation in relations.RELATIONS
            remedy = "use related_to, or link other records" if known else "use one of these"
            yield line, True, edge.wrong, remedy
        if edge.away:
            remedy = "`dayleaf store restore %s`, or remove the link" % edge.away
            yield line, False, "it links to %s, which is archived" % link.target, remedy
        elif edge.dangling:
            near = linked.targets.nearest(link.target, source)
            remedy = "give an id, a file or a title, or remove the link"
            if near:
                meant = near.id, near.title[:80]
                remedy = "did you mean %s '%s'? if not, remove the link" % meant
            yield line, False, "it links to '%s', which is not a record here" % shown, remedy
        elif edge.also:
            what = "it links to '%s', the name of %d records; the newest, %s, counts"
            newest = edge.to.id if edge.to else ""
            yield line, False, what % (shown, len(edge.also) + 1, newest), "name it by its id"


def find_line(target: str, text: str, start: int) -> int:
    """Return the first line from `start` on that holds a text, else `start`."""
    lines = enumerate(text.split("\n")[start - 1 :], start)
    return next((number for number, line in lines if target in line), start)


def _is_gone(path: str, record: Record, place: Place) -> bool:
    """Tell whether a resource's file certainly does not exist."""
    if "://" in path:
        return False
    if os.path.isabs(path):
        return not files.exists(path)
    root = place.root or place.project
    return bool(root) and record.tier != layout.GLOBAL and not files.exists(root + "/" + path)


def _check_resource(record: Record, lines: dict[str, int], place: Place) -> Iterator[Row]:
    kind, path = records.meta_text(record, "type"), records.meta_text(record, "path")
    line = lines.get("path", 1)
    if kind and kind.lower() not in TYPES:
        what = "type '%s' is unknown" % kind[:40]
        yield lines.get("type", 1), True, what, "use one of " + ", ".join(TYPES)
    if not path:
        yield line, True, "a resource needs a path", "add a line `path: ...`"
    elif record.tier == layout.SHARED and os.path.isabs(path):
        what = "the path of a shared resource is not relative to its repository"
        yield line, True, what, "write it relative to %s" % place.root
    elif _is_gone(path, record, place):
        remedy = "correct the path, or `dayleaf record forget %s`" % record.id
        yield line, True, "its path '%s' is gone" % path[:200], remedy


def _check_active_plans(place: Place, found: Iterable[Record]) -> list[Finding]:
    """Report each active plan but the newest, which alone is used."""
    plans, out = activeplan.list_active(found), []
    for plan in plans[1:]:
        what = "not used, because the plan '%s' is newer" % plans[0].id
        remedy = "`dayleaf plan done %s` or `dayleaf plan drop %s`" % (plan.id, plan.id)
        out.append(Finding(WARN, ABOUT, what, remedy, record_path(place, plan.name), 1))
    return out


def _index_name(store: Store, path: str) -> str:
    """Return a file's name in the index, or one by its folder for other files."""
    real = files.real_path(path)
    for letter, root in store.roots.items():
        if real.startswith(root + "/"):
            return letter + real[len(root) :]
    folder, _, file = real.rpartition("/")
    kind = folder.rpartition("/")[2]
    kind = kind if kind in FOLDERS.values() else FOLDERS["learning"]
    return "%s/%s/%s" % (layout.PRIVATE, kind, file)
