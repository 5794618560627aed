"""The audit: what is wrong in the records, one line each with the command that mends it; nothing is
changed.  And the same for secrets in what git would commit of a shared tier.

Schema, version 1, of `<cache>/<scope>.audit`, sealed (fastjson.py), derived: what the last audit of
every section found,

    {"v":1,"t":"2026-11-21T14:30:52Z","records":1234,"counts":{"secrets":2,…}}
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from memory.core import DayleafError, StoreError, clock, fastjson, files, plaintext, records
from memory.core.config import Config
from memory.core.layout import DATED, Place
from memory.core.records import Record
from memory.health import FAIL, WARN, Finding, accounts
from memory.hook import receipts
from memory.index.kept import REDACTION, Kept
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
UNREAD = "a secret (unread)"  # of a text that took too long: the next run may be faster
LOG_LIMIT = 8 << 20  # bytes of a log or of settings that are read
Progress = Callable[[str], None]
PATHS = ":(top,glob)**/.dayleaf/**"
LINKED = "160000"  # the mode of another repository's commit
REFUSED = "%s: git could not list what is staged; check that git runs here, then commit again"


class Audited(NamedTuple):
    """The result of an audit.

    findings: each about a section, in order of sections, then paths and lines. records: number
        looked at. notes: one line each.
    """

    findings: list[Finding]
    records: int
    notes: list[str]

    def counts(self, sections: Iterable[str]) -> dict[str, int]:
        """Return the number of findings of each section."""
        return {section: sum(one.about == section for one in self.findings) for section in sections}


class _Read(NamedTuple):
    """The records of a place and the state shared by all sections."""

    place: Place
    store: Store
    settings: Config
    records: list[Record]
    now: float
    kept: Kept

    def finding(
        self, section: str, record: Record, line: int, what: str, remedy: str, severity: str = WARN
    ) -> Finding:
        """Make a finding, with secrets in its texts redacted."""

        title, what = (
            redactor.redact(text, (), self.place.key).text for text in (record.title, what)
        )
        return Finding(
            severity,
            section,
            what,
            remedy,
            self.store.place.path(record.name),
            line,
            record.id,
            title,
        )


def audit(
    place: Place,
    settings: Config,
    now: float,
    sections: Sequence[str] = tuple(SECTIONS),
    told: Progress = lambda step: None,
) -> Audited:
    """Check every record of a place, its archive, settings and logs.

    sections: keys of SECTIONS. told: called with the present step.
    """
    store, kept = Store(place, settings, now), _facts(place, settings)
    by_text = "secrets" in sections

    def read_whole(name: str) -> Record:
        record, data = store.read_both(name)
        is_whole = by_text and len(data) == record.size
        # now that its bytes are at hand
        if is_whole and secrets_in(kept, record, data, settings, place):
            return redactor.clean_record(record, settings, place.key)
        return record

    every = []
    for number, record in enumerate(store.each_by(read_whole, store.names())):
        if not number % 100:
            told("reading the records: %d" % number)
        every.append(record)
    read = _Read(place, store, settings, every, now, kept)
    found: list[Finding] = []
    notes: list[str] = []
    if {"secrets", "oversize"} & set(sections):
        found += _texts(read, sections)
    steps: dict[str, Callable[[], Iterable[Finding]]] = {
        "stale": lambda: _stale(read),
        "unused": lambda: _unused(read, notes),
        "duplicates": lambda: _duplicates(read),
        "contradictions": lambda: _contradictions(read),
        "dangling": lambda: _dangling(read),
    }
    for section, step in steps.items():
        if section in sections:
            told("looking for " + SECTIONS[section].lower())
            found += step()
    order = list(SECTIONS)
    found.sort(key=lambda one: (order.index(one.about), one.place, one.line, one.what))
    kept.save()
    result = Audited(found, len(read.records), notes)
    if set(sections) == set(SECTIONS):
        _keep(place, result, now)
    return result


# ---- texts


def _texts(read: _Read, sections: Sequence[str]) -> Iterator[Finding]:
    from memory.health import recordfaults

    for record in read.records:
        with suppress(StoreError):
            yield from _secrets(read, record) if "secrets" in sections else ()
            raw = partial(read.store.raw, record.name)
            rows = (
                recordfaults.size_rows(record, record.size, raw) if "oversize" in sections else []
            )
            for line, error, what, remedy in rows:
                yield read.finding(
                    "oversize",
                    record,
                    line,
                    what,
                    "%s: `dayleaf record edit %s`" % (remedy, record.id),
                    FAIL if error else WARN,
                )
    yield from _elsewhere(read) if "secrets" in sections else ()


def _elsewhere(read: _Read) -> Iterator[Finding]:
    for letter, move in sorted(read.store.away().values()):
        with suppress(StoreError):
            yield from _secrets(read, read.store.read(letter + "/" + move.away))
    yield from _loose(read)


def _secrets(read: _Read, record: Record) -> Iterator[Finding]:
    found = read.kept.get(record.name, record.checksum, "text")
    if found is None:
        raw = read.store.raw(record.name)
        found = secrets_in(read.kept, record, raw, read.settings, read.place)
    remedy = "`dayleaf store redact %s`, then replace the secret" % record.id
    for line, what in found:
        yield read.finding("secrets", record, line, what, remedy, FAIL)


def secrets_in(
    kept: Kept, record: Record, data: bytes, settings: Config, place: Place
) -> list[tuple[int, str]]:
    """Return and cache the secrets of a file as (line, what)."""
    from memory.health import recordfaults

    found: list[tuple[int, str]] | None = kept.get(record.name, record.checksum, "text")
    if found is None:
        text = data.decode("utf-8-sig", "replace")
        rows = recordfaults.secret_rows(text, settings["redact.allow"], place.key)
        found = [(line, what) for line, _, what, _ in rows]
        # not where above 1 MiB, or just changed
        if files.sha256(data) == record.checksum and UNREAD not in str(found):
            kept.put(record.name, record.checksum, "text", found)
    return found


def look_ahead(store: Store, docs: Sequence[Doc], seconds: float) -> None:
    """Cache facts of records not yet audited, the newest first.

    docs: the first document of each record of the store. seconds: of CPU, after which the rest is
        left for another time.
    """
    from memory.knowledge import contradictions, duplicates

    kept = _facts(store.place, store.config)
    end = time.process_time() + seconds
    known = kept.hold()
    for doc in sorted(docs, key=lambda doc: (-doc.created, doc.name)):
        if not known.get(doc.name, "").startswith(doc.checksum.hex()) and time.process_time() < end:
            with suppress(StoreError):
                record, data = store.read_both(doc.name)
                if secrets_in(kept, record, data, store.config, store.place):
                    record = redactor.clean_record(record, store.config, store.place.key)
                if duplicates.mergeable(record):
                    duplicates.digest(record, kept)
                if record.kind in contradictions.KINDS:
                    contradictions.claims(record, kept)
    kept.save()


def _facts(place: Place, settings: Config) -> Kept:
    """Return the cache of earlier audits."""
    from memory.core import frontmatter, tokeniser
    from memory.distill import digests
    from memory.health import recordfaults
    from memory.knowledge import contradictions, duplicates
    from memory.recall import sentences

    modules = (
        recordfaults,
        *REDACTION,
        contradictions,
        duplicates,
        tokeniser,
        sentences,
        digests,
        records,
        frontmatter,
    )
    return Kept(place, "facts", modules, settings["redact.allow"], place.key)


def _loose(read: _Read) -> Iterator[Finding]:
    """Find secrets in settings and in logs that hold text."""
    from memory.health import recordfaults

    home = read.place.home
    logs = sorted(
        name
        for name in files.list_folder(home + "/log")
        if name == "errors.jsonl" or name.startswith("bug-")
    )
    mend = "remove it by hand; a command can read it from its environment instead"
    paths = [(home + "/config.json", mend), (read.place.shared + "/config.json", mend)]
    for path, remedy in [*paths, *((home + "/log/" + name, "delete the file") for name in logs)]:
        with suppress(OSError):
            text = files.read(path, LOG_LIMIT).decode("utf-8", "replace")
            for line, _, what, _ in recordfaults.secret_rows(
                text, read.settings["redact.allow"], read.place.key
            ):
                yield Finding(
                    FAIL, "secrets", what, remedy, path, line, title=os.path.basename(path)
                )


def _line(read: _Read, record: Record, said: str) -> int:
    from memory.health import recordfaults

    with suppress(StoreError):
        return recordfaults.line_of(
            said, read.store.raw(record.name).decode("utf-8-sig", "replace"), 1
        )
    return 1


# ---- what records say of the world, and of one another


def _stale(read: _Read) -> Iterator[Finding]:
    from memory.project import claims

    if not read.place.root:
        return
    with claims.at(read.place) as checkout:
        for record in read.records:
            # these tell of a day
            gone = checkout.check(record).gone if record.kind not in DATED else []
            if gone:
                more = "" if len(gone) == 1 else ", and %d more" % (len(gone) - 1)
                yield read.finding(
                    "stale",
                    record,
                    _line(read, record, gone[0].name),
                    gone[0].reason + more,
                    "`dayleaf record edit %s`" % record.id,
                )


def _unused(read: _Read, notes: list[str]) -> Iterator[Finding]:
    since = read.now - UNUSED
    first, shown = _shown(read.place, since)
    if first > since:
        notes.append(
            "unused records are listed only after 90 days of use; %s"
            % (
                "sessions have been given notes only since %s" % clock.day(first)
                if first < float("inf")
                else "no session has been given a note yet"
            )
        )
        return
    merged = read.store.successors()
    here = {record.id for record in read.records}
    tallies = [
        ledger.follow_successors(ledger.read(each), merged, here.__contains__)
        for each in ledger.ledgers(read.place)
    ]
    for record in read.records:
        young = max(record.created, record.updated) > since
        if (
            record.kind not in ("learning", "resource")
            or young
            or record.pinned
            or not record.accepted
            or record.id in shown
        ):
            continue
        if all(tally.counts(record.id).last < since for tally in tallies):
            yield read.finding(
                "unused",
                record,
                1,
                "%s old" % plaintext.age(read.now - record.created),
                "`dayleaf record forget %s` moves it to the archive" % record.id,
            )


def _shown(place: Place, since: float) -> tuple[float, set[str]]:
    first, shown = float("inf"), set[str]()
    for _, rows in accounts.each_session(place):
        for row in rows:
            instant = clock.parse(str(row.get("t"))) or first
            first = min(first, instant)
            if instant >= since:
                shown.update(str(item[0]) for item in receipts.chosen(row))
    return first, shown


def _duplicates(read: _Read) -> Iterator[Finding]:
    for change in housekeeping.merges(read.store, read.records, {}, read.kept):
        if change.kept is not None:
            yield read.finding(
                "duplicates",
                change.record,
                1,
                "says the same as " + change.kept.id,
                "`dayleaf store upkeep --apply`",
            )


def _contradictions(read: _Read) -> Iterator[Finding]:
    from memory.knowledge import contradictions

    for pair in contradictions.pairs(read.records, read.kept):
        record, other = pair.newer.record, pair.older.record
        said = next(
            (line for line in pair.newer.said.split("\n") if line.strip()), record.title
        ).strip()
        yield read.finding(
            "contradictions",
            record,
            _line(read, record, said),
            "contradicts %s: %s; that one says '%s'"
            % (other.id, pair.why, plaintext.one_line(pair.older.said, 160)),
            "`dayleaf record forget` one of them, or `dayleaf record link %s %s` if both are true"
            % (record.id, other.id),
        )


def _dangling(read: _Read) -> Iterator[Finding]:
    from memory.health import recordfaults
    from memory.recall import relations

    known = recordfaults.known(read.store, read.records)
    for record in read.records:
        source, inline = relations.node(record), set(records.wiki_links(record.body))
        for link in record.links:
            edge = relations.edge(source, link.relation, link.target, known.targets, known.away)
            if edge.dangling:
                what = "'%s' is %s" % (
                    link.target[:80],
                    "archived" if edge.away else "not a record here",
                )
                yield read.finding(
                    "dangling",
                    record,
                    _line(read, record, link.target),
                    what,
                    _mended(record, edge, link.target in inline),
                )


def _mended(record: Record, edge: Edge, inline: bool) -> str:
    if edge.away:
        return "`dayleaf store restore %s`" % edge.away
    if inline:
        return "`dayleaf record edit %s`" % record.id
    return "`dayleaf record link %s %s '%s' --remove`" % (
        record.id,
        edge.relation,
        edge.target[:80],
    )


# ---- what the last one counted


def _path(place: Place) -> str:
    return "%s/%s.audit" % (place.cache, place.scope)


def _keep(place: Place, result: Audited, now: float) -> None:
    with suppress(OSError):
        fastjson.write_sealed(
            _path(place),
            {
                "v": 1,
                "t": clock.iso(now),
                "records": result.records,
                "counts": result.counts(SECTIONS),
            },
        )


def last(place: Place) -> dict[str, Any]:
    """Return the last audit's time, records and counts, {} for none."""
    with suppress(OSError, ValueError, KeyError, TypeError, DayleafError):
        row = fastjson.read_sealed(_path(place))
        if row["v"] == 1:
            return {
                "time": str(row["t"]),
                "records": int(row["records"]),
                "counts": {section: int(row["counts"].get(section, 0)) for section in SECTIONS},
            }
    return {}


# --- what git would commit


def git(place: Place, env: dict[str, str], *words: str, given: bytes = b"") -> bytes | None:
    """Return git's output on the next commit, None on failure."""
    from memory.store import safegit

    # of `git commit -a` or `git commit FILE`: what is committed stands there
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


def staged_secrets(
    place: Place, env: dict[str, str], allow: Sequence[str]
) -> tuple[int, list[Finding]]:
    """Find secrets in the staged files below every `.dayleaf`.

    Returns (files looked at, findings by path and line). env: of a hook of git, it names the index
    that is committed. allow: strings that may stay. Raises StoreError.
    """
    if not place.git:
        raise StoreError(
            "this is not a git repository, so nothing is staged; run it in the project"
        )
    named = git(
        place,
        env,
        "diff",
        "--cached",
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-renames",
        "--no-ext-diff",
        "--diff-filter=d",
        "--",
        PATHS,
    )
    if named is None:
        raise StoreError(REFUSED % place.root)
    rows = [
        (path, row.decode("ascii").split())
        for row, path in zip(*[iter(named.split(b"\0")[:-1])] * 2)
    ]
    blobs = [(os.fsdecode(path), row[3]) for path, row in rows if row[1] != LINKED]
    held = git(
        place,
        env,
        "cat-file",
        "--batch",
        given="".join(blob + "\n" for _, blob in blobs).encode("ascii"),
    )
    if held is None:
        raise StoreError(REFUSED % place.root)
    from memory.health import recordfaults

    found = []
    for (path, _), data in zip(blobs, _contents(place, held, len(blobs))):
        found += [
            Finding(FAIL, "staged", what, remedy, place.root + "/" + path, line)
            for line, _, what, remedy in recordfaults.secret_rows(
                data.decode("utf-8", "replace"), allow, place.key
            )
        ]
    return len(blobs), sorted(found, key=lambda one: (one.place, one.line, one.what))


def _contents(place: Place, said: bytes, number: int) -> Iterator[bytes]:
    """Yield the contents in the output of `git cat-file --batch`.

    Raises StoreError where one is missing.
    """
    at = 0
    for _ in range(number):
        end = said.find(b"\n", at)
        head = said[at : max(end, at)].split()
        if len(head) != 3:
            raise StoreError(REFUSED % place.root)
        at = end + 1 + int(head[2]) + 1
        yield said[end + 1 : at - 1]
