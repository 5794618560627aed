"""What each page of the local page shows: what engines return, made ready for its template.

Nothing here ranks or writes, and nothing is kept between two requests but the index that a search
has open: what is shown is read from the records at that moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from typing import Any

from memory.capture import checkpointoutline, conversationpage
from memory.capture.checkpointpage import FAILS
from memory.capture.turns import COMMIT, FILE, LINK
from memory.core import (
    DayleafError,
    IndexFault,
    StoreError,
    UsageError,
    approvals,
    clock,
    files,
    tokeniser,
)
from memory.core.config import Config
from memory.core.layout import DATED, SHARED, Place
from memory.core.plaintext import one_line, visible
from memory.core.records import Record
from memory.doors.page import sheets
from memory.doors.page.sheets import Sheet
from memory.health import accounts, figures
from memory.hook import at_prompt, handoffs, segment
from memory.knowledge import approvalstate, history, housekeeping, practice
from memory.project import material
from memory.recall import alongside, hit, lookup, question, relations, search
from memory.recall.hit import Hit
from memory.recall.question import Query
from memory.recall.semantic import Semantic
from memory.recall.shelf import Shelf
from memory.store import ledger, redactor
from memory.store.redactor import without_private
from memory.store.store import Store
from memory.terminal import linktree, localtimes, screen

LISTED, SESSIONS = 200, 40  # records that a timeline looks at, and sessions that it shows
HITS, LIVE = 30, 12  # hits of a search, and of one that is still being typed
# seconds after which the index is opened anew, and while a query is being typed
OLD, TYPED = 5.0, 20.0
WALLS, PUSHES, WAITING, HAPPENED = 40, 20, 100, 40  # that one page shows
GROUPS = {
    "pending": "rule, waits",
    "waiting": "script, waits",
    "past": "past plan",
    "rejected": "rule, rejected",
    "refused": "script, rejected",
}  # what is not called as it is


class Pages:
    """The pages of one workspace.

    clock: returns seconds since the epoch. semantic: provider of vectors. dsn: the database that
        complete queries ask as well, see backend.dsn_of.
    """

    def __init__(
        self,
        place: Place,
        settings: Config,
        clock: Callable[[], float],
        semantic: Semantic | None = None,
        dsn: str = "",
    ):
        self.place, self.settings, self._clock, self._semantic, self._dsn = (
            place,
            settings,
            clock,
            semantic,
            dsn,
        )
        self._lock = threading.RLock()
        self._searcher: search.Searcher | None = None
        self._opened = 0.0

    @property
    def now(self) -> float:
        """The present instant."""
        return self._clock()

    # ---- the open index

    def is_old(self, live: bool = False) -> bool:
        """Tell whether the index is due to be opened anew.

        It is then compared with the files. live: a query is being typed.
        """
        return self._searcher is None or self.now - self._opened > (TYPED if live else OLD)

    def renew(self) -> None:
        """Open the index anew, and close the old one."""
        fresh = search.Searcher(self.place, self.settings, self._semantic)
        now = self.now
        fresh.answer(Query(limit=1), now, clock.local_offset(now))
        with self._lock:
            before, self._searcher, self._opened = self._searcher, fresh, now
            if before is not None:
                before.__exit__()

    def _found(self, query: Query, live: bool = False, dsn: str = "") -> hit.Found:
        """Answer a query.

        live: use the open index, since the next key is about to come; texts are read from the files
            all the same. dsn: a database to ask as well.
        """
        with self._lock:
            if self._searcher is None or not live and self.is_old():
                self.renew()
            assert self._searcher is not None
            self._searcher.dsn = dsn
            return self._searcher.answer(query, self.now, clock.local_offset(self.now))

    def _shelf(self, live: bool = False) -> Shelf:
        if self._searcher is None or not live and self.is_old():
            self.renew()
        assert self._searcher is not None
        return next(iter(self._searcher.shelves.values()))

    def _store(self) -> Store:
        return Store(self.place, self.settings, self.now)

    def _sheet(self, name: str, title: str, **values: Any) -> Sheet:
        now = self.now
        return Sheet(
            name,
            title,
            {
                "workspace": self.place.key,
                "root": self.place.root,
                "now": now,
                "offset": clock.local_offset(now),
                "words": "",
                **values,
            },
        )

    def fault(self, message: str) -> Sheet:
        """Show an error."""
        return self._sheet("fault", "Not here", message=message)

    def keys(self) -> Sheet:
        """List the keys."""
        return self._sheet("keys", "Keys")

    # ---- sessions

    def timeline(self, before: str = "", by: str = "", branch: str = "") -> Sheet:
        """Show the newest sessions by branch or by day.

        before: an instant, for older sessions.
        """
        until = clock.parse(before) if before else None
        found = self._found(
            Query(kinds=("checkpoint", "conversation"), until=until, branch=branch, limit=LISTED)
        )
        groups: dict[str, list[Record]] = {}
        for each in found.hits:
            groups.setdefault(_session_of(each.record), []).append(each.record)
        told = sorted(map(_session_summary, groups.values()), key=lambda one: -one["at"])
        shown, rest = told[:SESSIONS], told[SESSIONS:]
        last = min((one["began"] for one in shown), default=0.0) if rest or found.left_out else 0.0
        offset = clock.local_offset(self.now)
        parts: dict[str, list[dict[str, Any]]] = {}
        for one in shown:
            parts.setdefault(
                clock.day(one["at"] + offset) if by == "day" else one["branch"], []
            ).append(one)
        with self._lock:
            plan = None if before else alongside.active_plan(self._shelf())
        return self._sheet(
            "timeline",
            "Sessions",
            parts=parts,
            by=by or "branch",
            branch=branch,
            plan=plan,
            handoff=handoffs.current(self.place) if not before else None,
            notes=found.notes,
            older=clock.iso(last) if last else "",
            before=before,
        )

    def session(self, id: str) -> Sheet:
        """Show a session: checkpoints, conversation and pushes.

        A running session may have only pushes.
        """
        with closing(at_prompt.open_or_build_index(self.place)) as found:
            names = dict.fromkeys(
                found.doc(n).name for n in found.holding(segment.session_term(id))
            )
        read = [
            record for record in _read(self._store(), names) if record.meta.get("session") == id
        ]
        checkpoints = sorted((r for r in read if r.kind == "checkpoint"), key=lambda r: -r.created)
        talk = next((r for r in read if r.kind == "conversation"), None)
        events = self._pushed(id)
        if not read and not events:
            raise StoreError("no record is about session '%s'" % one_line(id, 80))
        pieces = (
            [
                piece
                for turn in conversationpage.parse(talk.body, clock.day(talk.created))
                for piece in turn.pieces
            ]
            if talk
            else []
        )
        outlines = [checkpointoutline.outline(without_private(record)) for record in checkpoints]
        commits = [
            " ".join(filter(None, (p.name[:10], p.text))) for p in pieces if p.kind == COMMIT
        ] or [line for one in outlines[::-1] for line in one.commits]
        touched = dict.fromkeys(
            [p.text for p in pieces if p.kind == FILE] + [f for one in outlines for f in one.files]
        )
        newest = checkpoints[0] if checkpoints else talk
        began = clock.parse(str(events[0].get("t"))) if events else None
        return self._sheet(
            "session",
            one_line(newest.title) if newest else "A session without a checkpoint",
            id=id,
            talk=talk,
            note=next((r for r in read if r.kind == "note"), None),
            what=_session_summary(read) if read else {"branch": "", "began": began or self.now},
            checkpoints=checkpoints,
            others=[record for record in read if record.kind not in DATED],
            turns=hit.turns(talk) if talk else [],
            commits=list(dict.fromkeys(commits)),
            files=list(touched),
            addresses=list(dict.fromkeys(p.text for p in pieces if p.kind == LINK)),
            events=events,
        )

    def _pushed(self, session: str) -> list[dict[str, Any]]:
        with suppress(UsageError):
            report = accounts.report(self.place, session, "")
            return (
                [event for event in report["events"] if event["chosen"]]
                if report["session"] == session
                else []
            )
        return []

    # ---- records

    def search(
        self,
        words: str,
        kind: str = "",
        topic: str = "",
        since: str = "",
        within: str = "",
        live: bool = False,
    ) -> Sheet:
        """Show the hits of a query.

        within: `all` for every project. live: it is still being typed, so its last word may be a
            beginning, and no vector is made of it.
        """
        now = self.now
        given: dict[str, Any] = {
            "kind": kind or None,
            "topic": topic or None,
            "since": since or None,
            "workspace": "all" if within == "all" else None,
        }
        asked, completed = words, ""
        if live:
            asked, completed = self._completed(words)
        given = {
            "query": asked or None,
            "limit": LIVE if live else HITS,
            "lexical": live or None,
            **given,
        }
        query = question.query_from_options(given, now, clock.local_offset(now))
        idle = live and not any(tokeniser.expand(raw) for raw in tokeniser.split(asked))
        found = None if idle else self._found(query, live, "" if live else self._dsn)
        rows = [_row(one) for one in (found.hits if found else ())]
        return self._sheet(
            "search",
            "Search",
            words=words,
            kind=kind,
            topic=topic,
            since=since,
            within=within,
            found=found,
            rows=rows,
            completed=completed,
            groups=GROUPS,
        )

    def _completed(self, words: str) -> tuple[str, str]:
        """Return an unfinished query with its last word completed.

        And that word, "" where a record holds the last word as typed.
        """
        last = words.rpartition(" ")[2].lower()
        with self._lock:
            held = self._shelf(live=True).backend
            terms = (
                [term for term, _ in tokeniser.expand(last)]
                if last.isalnum() and last.isascii()
                else []
            )
            if len(last) < 2 or not terms or any(map(held.df, terms)):
                return words, ""
            known = held.vocabulary(last, tokeniser.LONGEST)
            begun = max(((held.df(term), -len(term), term) for term in known), default=(0, 0, ""))
        return (words[: len(words) - len(last)] + begun[2], begun[2]) if begun[0] else (words, "")

    def record(self, id: str) -> Sheet:
        """Show a record: text, links, claims, history and pushes."""
        try:
            found, place, merged = lookup.find_kept(self.place, self.settings, id)
            of_record = hit.from_record(found, place.key, place.path(found.name))
        except StoreError as missing:
            of_record = lookup.find_distant(self.place, id, self._dsn, missing)
            found, merged = of_record.record, ""
            place = Place(self.place.home, of_record.workspace, "", "", "", "")
        one = hit.for_display([of_record], self.place, approvals.decisions(place.home), self.now)[0]
        counts = lookup.fold_merged(place, ledger.read(ledger.holding(place, found.name))).counts(
            found.id
        )
        reasons = found.meta.get("feedback")
        stands = found.checksum
        if found.end == "script" and found.kind == "resource":
            with suppress(DayleafError):
                stands = files.sha256(material.source_of(found, place).data)
        happened = accounts.history(place, found, stands)
        with self._lock:
            shelf = self._shelf()
            here = place.key == self.place.key
            outward = [
                (
                    link.relation,
                    link.target,
                    alongside.resolve_target(shelf, link.target) if here else None,
                )
                for link in found.links
            ]
            inward = (
                [
                    (relations.inverse(link.relation), source)
                    for link, source in alongside.incoming_links(shelf, found)
                ]
                if here
                else []
            )
        return self._sheet(
            "record",
            one_line(found.title),
            record=found,
            one=one,
            group=GROUPS.get(one.group, one.group),
            merged=merged,
            counts=counts,
            outward=outward,
            inward=inward,
            here=here,
            happened=happened[:HAPPENED],
            left_out=max(0, len(happened) - HAPPENED),
            feedback=reasons if isinstance(reasons, list) else [reasons] if reasons else [],
            pushes=accounts.pushes_of(place, found.id, PUSHES),
            waits=self._waiting(found) if here else None,
            session=_session_of(found) if found.meta.get("session") else "",
            turns=hit.turns(found) if found.kind == "conversation" else [],
        )

    # ---- walls, and what waits

    def walls(self) -> Sheet:
        """Show the walls with their remedies and proposals."""
        past = history.read(
            self.place, self.settings, history.Wanted(lambda body: "✗" in body), self.now
        )
        known = practice.project_files(self.place)
        walls = practice.gather_walls(past.sessions, known)
        proposed = [(wall, practice.proposal(self.place, wall, known)) for wall in walls[:WALLS]]
        return self._sheet(
            "walls",
            "Walls",
            walls=proposed,
            left_out=max(0, len(walls) - WALLS),
            notes=past.notes,
            sessions=len(past.sessions),
        )

    def review(self, duplicates: bool = False) -> Sheet:
        """Show the records that wait for a decision.

        With difference, checksum and the command that decides.
        """
        store = self._store()
        found = list(store.each(None if duplicates else ("rule", "resource", "learning")))
        waiting = [made for made in map(self._waiting, found) if made]
        candidates = sorted(
            (r for r in found if r.kind == "learning" and not r.accepted),
            key=lambda r: (r.created, r.id),
        )
        changes = (
            housekeeping.plan(store, {}, "duplicates", read=found).changes if duplicates else []
        )
        return self._sheet(
            "review",
            "Review",
            waiting=waiting,
            candidates=candidates[:WAITING],
            duplicates=duplicates,
            left_out=max(0, len(candidates) - WAITING),
            changes=changes,
        )

    def _waiting(self, record: Record) -> dict[str, Any] | None:
        """Return the facts for a decision, None where none is due."""
        is_rule = record.kind == "rule"
        if not is_rule and record.end != "script":
            return None
        standings = approvalstate.standings if is_rule else approvalstate.script_standings
        standing = next(
            (one for one in standings([record], self.place) if one.state == "pending"), None
        )
        if standing is None:
            return None
        told = {"record": record, "verb": "rule" if is_rule else "resource", "why": standing.why}
        try:
            data, hindered = self._decidable(record)
        except DayleafError as error:
            return {**told, "text": "", "difference": [], "sha256": "", "hindered": str(error)}
        home, scope = (
            self.place.home,
            approvals.workspace_of if is_rule else approvals.script_workspace,
        )
        last = approvals.latest(
            approvals.decisions(home), scope(record.name, self.place.key), record.id
        )
        before = approvals.approved_bytes(home, last) if last else None
        return {
            **told,
            "text": visible(data.decode("utf-8", "backslashreplace")),
            "sha256": files.sha256(data),
            "hindered": hindered,
            "difference": screen.difference(before, data) if before else [],
        }

    def _decidable(self, record: Record) -> tuple[bytes, str]:
        """Return the bytes to decide on, and the reason against approval.

        "" for no reason. Raises StoreError.
        """
        if record.kind == "rule":
            data = self._store().raw(record.name)
            return data, approvalstate.hindrance(self.place, record.name, data)
        source = material.source_of(record, self.place)
        return source.data, approvalstate.script_hindrance(source)

    # ---- the whole

    def graph(self, id: str = "") -> Sheet:
        """Draw the links around one record, else the largest groups."""
        store = self._store()
        web = relations.web(
            list(store.each()), relations.archived_names(store.left()), store.successors()
        )
        if id:
            start = next((one for one in web.nodes if one.id == id), None) or next(
                iter(web.names.find(id)), None
            )
            if start is None:
                raise StoreError("no record '%s'; `dayleaf recall` lists them" % one_line(id, 80))
            part = linktree.walk(web, start, 2)
            groups = [(start.title, sheets.drawing(part.nodes, part.edges))]
        else:
            groups = [
                ("%d records" % len(group), sheets.drawing(group, web.edges))
                for group in linktree.groups(web)[:6]
            ]
        dangling = [edge for edge in web.edges if edge.dangling]
        return self._sheet("graph", "Links", groups=groups, id=id, dangling=dangling[:WAITING])

    def topics(self) -> Sheet:
        """List the index's topics of the learnings."""
        with closing(at_prompt.open_or_build_index(self.place)) as found:
            rows = [(str(row[0]), int(row[1])) for row in found.lists("brief").get("topics", ())]
        return self._sheet(
            "topics", "Topics", rows=rows, most=max((count for _, count in rows), default=1)
        )

    def stats(self) -> Sheet:
        """Draw the figures."""
        value = figures.figures([self.place], self.settings, self.now)
        return self._sheet("stats", "Figures", figures=value, state=figures.index_state(self.place))

    # ---- one file

    def export(self, private: bool, secrets: bool) -> dict[str, Any]:
        """Return the data of the one-file export.

        private: records of the private and the global tier too, not the shared ones alone. secrets:
            keep private parts and likely secrets in the texts.
        """
        found = list(self._store().each())
        kept = [record for record in found if private or record.tier == SHARED]
        if not secrets:
            kept = [self._cleaned(record) for record in kept]
        groups: dict[str, list[Record]] = {}
        for record in kept:
            if record.kind in DATED:
                groups.setdefault(_session_of(record), []).append(record)
        told = sorted(map(_session_summary, groups.values()), key=lambda one: -one["at"])
        now = self.now
        return {
            "workspace": self.place.key,
            "now": now,
            "offset": clock.local_offset(now),
            "sessions": told,
            "records": sorted(kept, key=lambda r: (r.kind, -r.created, r.id)),
            "left_out": len(found) - len(kept),
            "private": private,
            "secrets": secrets,
        }

    def _cleaned(self, record: Record) -> Record:
        """Return a record without private parts and secrets.

        In its frontmatter too.
        """
        said = {
            "title": record.title,
            "body": record.body,
            "tags": list(record.tags),
            "meta": record.meta,
        }
        clean = redactor.clean(
            said, {"redact.enabled": True, "redact.allow": self.settings["redact.allow"]}, ""
        )
        return record.replaced(**{**clean, "tags": tuple(clean["tags"])})


def _session_of(record: Record) -> str:
    said = record.meta.get("session")
    return said if isinstance(said, str) and said else record.id


def _session_summary(group: Sequence[Record]) -> dict[str, Any]:
    """Describe a session in a few lines, by its newest checkpoint."""
    every = [r for r in group if r.kind == "checkpoint"]
    checkpoints = [r for r in every if not handoffs.is_repetition(r)] or every
    newest = max(checkpoints or group, key=lambda r: (r.created, r.id))
    until = [
        clock.parse(said) or 0.0
        for said in (r.meta.get("until") for r in group)
        if isinstance(said, str)
    ]
    branch = newest.meta.get("branch")
    told = {
        "id": _session_of(newest),
        "record": newest.id,
        "by_hand": not newest.meta.get("session"),
        "title": one_line(newest.title),
        "branch": branch if isinstance(branch, str) else "",
        "at": max([newest.created, *until]),
        "began": min(r.created for r in group),
        "checkpoints": len(checkpoints),
    }
    if not checkpoints:
        return {**told, "outcome": (), "next": (), "open": (), "failing": (), "commits": 0}
    outline = checkpointoutline.outline(without_private(newest))
    return {
        **told,
        "outcome": (outline.outcome or outline.said)[:2],
        "next": outline.next,
        "open": tuple(line for line in outline.open if FAILS not in line),
        "failing": tuple(line for line in outline.open if FAILS in line),
        "commits": len(outline.commits),
    }


def _row(one: Hit) -> dict[str, Any]:
    said = [
        {"head": localtimes.heading(quote), "text": quote.text, "turn": quote.turn}
        for quote in one.quotes
    ]
    return {
        "hit": one,
        "said": said,
        "session": _session_of(one.record) if one.record.meta.get("session") else "",
    }


def _read(store: Store, names: Iterable[str]) -> list[Record]:
    found = []
    for name in names:
        with suppress(StoreError, IndexFault):
            found.append(store.read(name))
    return found
