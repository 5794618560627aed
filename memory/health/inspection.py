"""The audit of records, which changes nothing: a line for each fault, with the command that mends
it.  And the search for secrets in the staged files of a shared tier.

Schema, version 1, of `<cache>/<scope>.audit`, sealed (fastjson.py), derived: the result of the last
audit of every section,

    {"v":1,"t":"2026-11-21T14:30:52Z","records":1234,"counts":{"secrets":2,…}}
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from memory.core import DayleafError, StoreError, clock, fastjson, files, plaintext, records
from memory.core.config import Config
from memory.core.layout import DATED_KINDS, Place
from memory.core.records import Record
from memory.health import FAIL, WARN, Finding, accounts
from memory.hook import receipts
from memory.index.kept import REDACTION, FactCache
from memory.knowledge import housekeeping
from memory.store import ledger, redactor
from memory.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.hook.segment import Doc
    from memory.recall.relations import Edge

SECTIONS = {
    "secrets": "Secrets",
    "stale": "Stale claims",
    "unused": "Neither shown nor used in 90 days",
    "duplicates": "Duplicates",
    "contradictions": "Contradictions",
    "dangling": "Dangling links",
    "oversize": "Oversize",
}
UNUSED = 90 * clock.DAY
UNREAD = "a secret (unread)"  # in a text that took too long: the next run may be faster
LOG_LIMIT = 8 << 20  # bytes of a log or of settings that are read
Progress = Callable[[str], None]
DAYLEAF_FILES = ":(top,glob)**/.dayleaf/**"
SUBMODULE_MODE = "160000"  # the mode of another repository's commit
REFUSED = "%s: git could not list what is staged; check that git runs here, then commit again"


class AuditResult(NamedTuple):
    """The result of an audit; records: the number checked."""

    findings: list[Finding]
    records: int
    notes: list[str]

    def counts(self, sections: Iterable[str]) -> dict[str, int]:
        """Return the number of findings by section."""
        found = Counter(finding.about for finding in self.findings)
        return {section: found[section] for section in sections}


class _AuditState(NamedTuple):
    """The records of a place and other data shared by all sections."""

    place: Place
    store: Store
    settings: Config
    records: list[Record]
    now: float
    kept: FactCache

    def finding(
        self, section: str, record: Record, line: int, what: str, remedy: str, severity: str = WARN
    ) -> Finding:
        """Make a finding, with secrets in its texts redacted."""
        key, path = self.place.key, self.store.place.path(record.name)
        title, what = (redactor.redact(text, (), key).text for text in (record.title, what))
        return Finding(severity, section, what, remedy, path, line, record.id, title)


def audit(
    place: Place,
    settings: Config,
    now: float,
    sections: Sequence[str] = tuple(SECTIONS),
    progress: Progress = lambda step: None,
) -> AuditResult:
    """Check every record of a place, its archive, settings and logs."""
    store, kept = Store(place, settings, now), _open_facts(place, settings)
    wants_secrets = "secrets" in sections

    def read_clean(name: str) -> Record:
        record, data = store.read_both(name)
        is_whole = wants_secrets and len(data) == record.size
        # while its bytes are at hand
        if is_whole and find_secrets(kept, record, data, settings, place):
            return redactor.clean_record(record, settings, place.key)
        return record

    every = []
    for number, record in enumerate(store.each_by(read_clean, store.names())):
        if not number % 100:
            progress("reading the records: %d" % number)
        every.append(record)
    read = _AuditState(place, store, settings, every, now, kept)
    found: list[Finding] = []
    notes: list[str] = []
    if {"secrets", "oversize"} & set(sections):
        found += _check_texts(read, sections)
    steps = {
        "stale": _find_stale(read),
        "unused": _find_unused(read, notes),
        "duplicates": _find_duplicates(read),
        "contradictions": _find_contradictions(read),
        "dangling": _find_dangling(read),
    }
    for section, step in steps.items():
        if section in sections:
            progress("looking for " + SECTIONS[section].lower())
            found += step
    order = list(SECTIONS)
    found.sort(key=lambda f: (order.index(f.about), f.place, f.line, f.what))
    kept.save()
    result = AuditResult(found, len(read.records), notes)
    if set(sections) == set(SECTIONS):
        _write_last(place, result, now)
    return result


# ---- texts


def _check_texts(read: _AuditState, sections: Sequence[str]) -> Iterator[Finding]:
    from memory.health import recordfaults

    for record in read.records:
        with suppress(StoreError):
            if "secrets" in sections:
                yield from _report_secrets(read, record)
            if "oversize" not in sections:
                continue
            raw = partial(read.store.raw, record.name)
            for line, error, what, remedy in recordfaults.check_size(record, record.size, raw):
                remedy += ": `dayleaf record edit %s`" % record.id
                severity = FAIL if error else WARN
                yield read.finding("oversize", record, line, what, remedy, severity)
    if "secrets" in sections:
        yield from _check_archive_and_logs(read)


def _check_archive_and_logs(read: _AuditState) -> Iterator[Finding]:
    for letter, move in sorted(read.store.away().values()):
        with suppress(StoreError):
            yield from _report_secrets(read, read.store.read(letter + "/" + move.away))
    yield from _check_settings_and_logs(read)


def _report_secrets(read: _AuditState, record: Record) -> Iterator[Finding]:
    found = read.kept.get(record.name, record.checksum, "text")
    if found is None:
        raw = read.store.raw(record.name)
        found = find_secrets(read.kept, record, raw, read.settings, read.place)
    remedy = "`dayleaf store redact %s`, then replace the secret" % record.id
    for line, what in found:
        yield read.finding("secrets", record, line, what, remedy, FAIL)


def find_secrets(
    kept: FactCache, record: Record, data: bytes, settings: Config, place: Place
) -> list[tuple[int, str]]:
    """Return and cache (line, kind) of a file's secrets."""
    from memory.health import recordfaults

    found: list[tuple[int, str]] | None = kept.get(record.name, record.checksum, "text")
    if found is None:
        text = data.decode("utf-8-sig", "replace")
        allow = settings["redact.allow"]
        rows = recordfaults.check_file_secrets(record.name, text, allow, place.key)
        found = [(line, what) for line, _, what, _ in rows]
        # not for a file above 1 MiB, or changed meanwhile
        if files.sha256(data) == record.checksum and UNREAD not in str(found):
            kept.put(record.name, record.checksum, "text", found)
    return found


def cache_facts(store: Store, docs: Sequence[Doc], seconds: float) -> None:
    """Compute and cache what an audit asks of new records, newest first.

    docs: the first document of each record of the store. seconds: of CPU.
    """
    from memory.knowledge import contradictions, duplicates

    kept = _open_facts(store.place, store.config)
    end = time.process_time() + seconds
    known = kept.hold()
    for doc in sorted(docs, key=lambda doc: (-doc.created, doc.name)):
        if not known.get(doc.name, "").startswith(doc.checksum.hex()) and time.process_time() < end:
            with suppress(StoreError):
                record, data = store.read_both(doc.name)
                if find_secrets(kept, record, data, store.config, store.place):
                    record = redactor.clean_record(record, store.config, store.place.key)
                if duplicates.is_mergeable(record):
                    duplicates.hash_words(record, kept)
                if record.kind in contradictions.KINDS:
                    contradictions.read_claims(record, kept)
    kept.save()


def _open_facts(place: Place, settings: Config) -> FactCache:
    from memory.core import frontmatter, tokeniser
    from memory.distill import digests
    from memory.health import recordfaults
    from memory.knowledge import contradictions, duplicates
    from memory.recall import sentences

    checks = (recordfaults, *REDACTION, contradictions, duplicates)
    modules = (*checks, tokeniser, sentences, digests, records, frontmatter)
    return FactCache(place, "facts", modules, settings["redact.allow"], place.key)


def _check_settings_and_logs(read: _AuditState) -> Iterator[Finding]:
    """Find secrets in settings and in logs that hold text."""
    from memory.health import recordfaults

    home = read.place.home
    mend = "remove it by hand; a command can read it from its environment instead"
    paths = [(home + "/config.json", mend), (read.place.shared + "/config.json", mend)]
    for name in sorted(files.list_folder(home + "/log")):
        if name == "errors.jsonl" or name.startswith("bug-"):
            paths.append((home + "/log/" + name, "delete the file"))
    allow = read.settings["redact.allow"]
    for path, remedy in paths:
        with suppress(OSError):
            text = files.read(path, LOG_LIMIT).decode("utf-8", "replace")
            title = os.path.basename(path)
            for line, _, what, _ in recordfaults.check_secrets(text, allow, read.place.key):
                yield Finding(FAIL, "secrets", what, remedy, path, line, title=title)


def _find_line(read: _AuditState, record: Record, text: str) -> int:
    from memory.health import recordfaults

    with suppress(StoreError):
        raw = read.store.raw(record.name).decode("utf-8-sig", "replace")
        return recordfaults.find_line(text, raw, 1)
    return 1


# ---- claims, uses, and other records


def _find_stale(read: _AuditState) -> Iterator[Finding]:
    from memory.project import claims

    if not read.place.root:
        return
    with claims.open_checkout(read.place) as checkout:
        for record in read.records:
            # dated records tell of the past
            gone = checkout.check(record).gone if record.kind not in DATED_KINDS else []
            if gone:
                more = "" if len(gone) == 1 else ", and %d more" % (len(gone) - 1)
                line, remedy = _find_line(read, record, gone[0].name), "`dayleaf record edit %s`"
                what = gone[0].reason + more
                yield read.finding("stale", record, line, what, remedy % record.id)


def _find_unused(read: _AuditState, notes: list[str]) -> Iterator[Finding]:
    since = read.now - UNUSED
    first, shown = _read_shown(read.place, since)
    if first > since:
        why = "no session has been given a note yet"
        if first < float("inf"):
            why = "sessions have been given notes only since %s" % clock.day(first)
        notes.append("unused records are listed only after 90 days of use; " + why)
        return
    merged = read.store.successors()
    here = {record.id for record in read.records}
    tallies = [
        ledger.add_to_successors(ledger.read(each), merged, here.__contains__)
        for each in ledger.ledgers(read.place)
    ]
    for record in read.records:
        is_kept = record.pinned or not record.accepted or record.id in shown
        if is_kept or record.kind not in ("learning", "resource"):
            continue
        if max(record.created, record.updated) > since:
            continue
        if all(tally.counts(record.id).last < since for tally in tallies):
            what = "%s old" % plaintext.format_age(read.now - record.created)
            remedy = "`dayleaf record forget %s` moves it to the archive" % record.id
            yield read.finding("unused", record, 1, what, remedy)


def _read_shown(place: Place, since: float) -> tuple[float, set[str]]:
    """Return (first instant of a receipt or infinity, ids given since)."""
    first, shown = float("inf"), set[str]()
    for _, rows in accounts.read_sessions(place):
        for row in rows:
            instant = clock.parse(str(row.get("t"))) or first
            first = min(first, instant)
            if instant >= since:
                shown.update(str(item[0]) for item in receipts.list_chosen(row))
    return first, shown


def _find_duplicates(read: _AuditState) -> Iterator[Finding]:
    for change in housekeeping.plan_merges(read.store, read.records, {}, read.kept):
        if change.kept is not None:
            what, remedy = "says the same as " + change.kept.id, "`dayleaf store upkeep --apply`"
            yield read.finding("duplicates", change.record, 1, what, remedy)


def _find_contradictions(read: _AuditState) -> Iterator[Finding]:
    from memory.knowledge import contradictions

    for pair in contradictions.find_contradictions(read.records, read.kept):
        record, other = pair.newer.record, pair.older.record
        lines = (line for line in pair.newer.said.split("\n") if line.strip())
        line = _find_line(read, record, next(lines, record.title).strip())
        older = plaintext.one_line(pair.older.said, 160)
        what = "contradicts %s: %s; that one says '%s'" % (other.id, pair.why, older)
        remedy = (
            "`dayleaf record forget` one of them, or `dayleaf record link %s %s` if both are true"
        )
        yield read.finding("contradictions", record, line, what, remedy % (record.id, other.id))


def _find_dangling(read: _AuditState) -> Iterator[Finding]:
    from memory.health import recordfaults
    from memory.recall import relations

    known = recordfaults.collect_link_names(read.store, read.records)
    for record in read.records:
        source, inline = relations.make_node(record), set(records.find_wiki_links(record.body))
        for link in record.links:
            edge = relations.resolve_link(
                source, link.relation, link.target, known.targets, known.away
            )
            if edge.dangling:
                state = "archived" if edge.away else "not a record here"
                what, line = (
                    "'%s' is %s" % (link.target[:80], state),
                    _find_line(read, record, link.target),
                )
                remedy = _link_remedy(record, edge, link.target in inline)
                yield read.finding("dangling", record, line, what, remedy)


def _link_remedy(record: Record, edge: Edge, inline: bool) -> str:
    if edge.away:
        return "`dayleaf store restore %s`" % edge.away
    if inline:
        return "`dayleaf record edit %s`" % record.id
    words = (record.id, edge.relation, edge.target[:80])
    return "`dayleaf record link %s %s '%s' --remove`" % words


# ---- the last audit


def _audit_path(place: Place) -> str:
    return "%s/%s.audit" % (place.cache, place.scope)


def _write_last(place: Place, result: AuditResult, now: float) -> None:
    counts = result.counts(SECTIONS)
    row = {"v": 1, "t": clock.iso(now), "records": result.records, "counts": counts}
    with suppress(OSError):
        fastjson.write_sealed(_audit_path(place), row)


def read_last(place: Place) -> dict[str, Any]:
    """Return the last audit's time, records and counts, {} for none."""
    with suppress(OSError, ValueError, KeyError, TypeError, DayleafError):
        row = fastjson.read_sealed(_audit_path(place))
        if row["v"] == 1:
            return {
                "time": str(row["t"]),
                "records": int(row["records"]),
                "counts": {section: int(row["counts"].get(section, 0)) for section in SECTIONS},
            }
    return {}


# --- staged files


def run_git(place: Place, env: dict[str, str], *words: str, given: bytes = b"") -> bytes | None:
    """Run git on the index of the next commit; return its output or None."""
    from memory.store import safegit

    # `git commit -a` and `git commit FILE` have an index of their own
    index = env.get("GIT_INDEX_FILE", "")
    done = safegit.read(
        place.root,
        env,
        *words,
        given=given,
        index=os.path.abspath(index) if index else "",
        limit=sys.maxsize,
    )
    return None if done.rc or not done.in_time else done.out


def find_staged_secrets(
    place: Place, env: dict[str, str], allow: Sequence[str]
) -> tuple[int, list[Finding]]:
    """Find secrets in the staged files below every `.dayleaf`.

    Returns (number of files, findings by path and line). env: of git's hook, which names the index.
    Raises StoreError.
    """
    if not place.git:
        raise StoreError(
            "this is not a git repository, so nothing is staged; run it in the project"
        )
    options = "--cached --raw -z --no-abbrev --no-renames --no-ext-diff --diff-filter=d --"
    listing = run_git(place, env, "diff", *options.split(), DAYLEAF_FILES)
    if listing is None:
        raise StoreError(REFUSED % place.root)
    # of each file (old mode, new mode, old blob, new blob, status), then its path
    words = listing.split(b"\0")[:-1]
    rows = [(path, row.decode("ascii").split()) for row, path in zip(words[::2], words[1::2])]
    blobs = [(os.fsdecode(path), row[3]) for path, row in rows if row[1] != SUBMODULE_MODE]
    request = "".join(blob + "\n" for _, blob in blobs).encode("ascii")
    contents = run_git(place, env, "cat-file", "--batch", given=request)
    if contents is None:
        raise StoreError(REFUSED % place.root)
    from memory.health import recordfaults

    findings = []
    for (path, _), data in zip(blobs, _parse_batch(place, contents, len(blobs))):
        text, path = data.decode("utf-8", "replace"), place.root + "/" + path
        faults = recordfaults.check_file_secrets(path, text, allow, place.key)
        for line, _, what, remedy in faults:
            findings.append(Finding(FAIL, "staged", what, remedy, path, line))
    return len(blobs), sorted(findings, key=lambda f: (f.place, f.line, f.what))


def _parse_batch(place: Place, output: bytes, number: int) -> Iterator[bytes]:
    """Yield the contents in the output of `git cat-file --batch`."""
    at = 0
    for _ in range(number):
        end = output.find(b"\n", at)
        head = output[at : max(end, at)].split()
        if len(head) != 3:
            raise StoreError(REFUSED % place.root)
        at = end + 1 + int(head[2]) + 1
        yield output[end + 1 : at - 1]
