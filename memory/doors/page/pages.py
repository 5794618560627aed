"""What each page of the local page shows: what engines return, made ready for its template.

Nothing here ranks or writes, and nothing is kept between two requests but the index that a search
has open: what is shown is read from the records at that moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from memory.capture import checkpointoutline, conversationpage, wishes
from memory.capture.checkpointpage import FAILS
from memory.capture.turns import COMMIT, FILE, LINK, Piece
from memory.cli.rule import RULE, SCRIPT
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
from memory.core.layout import DATED, Place
from memory.core.plaintext import one_line, visible
from memory.core.records import Record
from memory.doors.page import catalogue, plots, talk, timeline
from memory.doors.page.catalogue import Card
from memory.doors.page.onefile import session_of
from memory.doors.page.sheets import Sheet
from memory.doors.page.timeline import Entry, Filter
from memory.health import accounts
from memory.hook import handoffs
from memory.knowledge import approvalstate, walls
from memory.recall import alongside, hit, lookup, question, relations, search
from memory.recall.hit import Hit
from memory.recall.question import Query
from memory.recall.semantic import Semantic
from memory.recall.shelf import Shelf
from memory.store import ledger, redactor
from memory.store.redactor import without_private
from memory.store.store import Store
from memory.terminal import localtimes, screen

SHOWN = 30  # entries that a list shows at once; the rest comes as one scrolls
HITS, LIVE = 30, 12  # hits of a search, and of one that is still being typed
# seconds after which the index is opened anew, and while a query is being typed
OLD, TYPED = 5.0, 20.0
FAILURES, PUSHES = 40, 20  # that one page shows
SESSIONS = Filter()  # what the timeline shows first
BRANCHES = 12  # that stand beside the timeline

GROUPS = {
    "pending": "rule, waits",
    "waiting": "script, waits",
    "past": "past plan",
    "rejected": "rule, rejected",
    "refused": "script, rejected",
    "candidate": "suggested",
}  # what is not called as it is
# what a person types to keep, drop or change a record, by what it is
COMMANDS = {
    "learning": {"drop": "dayleaf record forget %s", "edit": "dayleaf record edit %s"},
    "suggested": {
        "keep": "dayleaf notes harvest accept %s",
        "drop": "dayleaf notes harvest reject %s",
        "edit": "dayleaf record edit %s",
    },
    "rule": {"drop": "dayleaf record forget %s", "edit": "dayleaf record edit %s"},
    "waiting rule": {
        "keep": "dayleaf rule approve %s",
        "drop": "dayleaf rule reject %s",
        "edit": "dayleaf record edit %s",
    },
    "rejected rule": {"keep": "dayleaf rule approve %s", "drop": "dayleaf record forget %s"},
    "script": {"keep": "dayleaf resource approve %s", "drop": "dayleaf resource reject %s"},
    "record": {"drop": "dayleaf record forget %s", "edit": "dayleaf record edit %s"},
}
SECTIONS = {"learning": "Learnings", "rule": "Rules", "wish": "Wishes"}


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
        self.catalogue = catalogue.Catalogue(place, settings, clock)
        self._lock = threading.RLock()
        self._searcher: search.Searcher | None = None
        self._opened = 0.0

    def of(self, place: Place, settings: Config) -> Pages:
        """Return the pages of another project."""
        return Pages(place, settings, self._clock, self._semantic, self._dsn)

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

    def catch_up(self, live: bool = False) -> None:
        """Bring up to date, behind an answer, what is too old.  live: a query is being typed."""
        if self._searcher is None or live and self.is_old(live):
            self.renew()
        if self.catalogue.is_due:
            self.catalogue.look()

    def _found(self, query: Query, live: bool = False, dsn: str = "") -> hit.Found:
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
                "hues": timeline.hues(self.catalogue),
                **values,
            },
        )

    def fault(self, message: str) -> Sheet:
        """Return the page of an error."""
        return self._sheet("fault", "Not here", message=message)

    def keys(self) -> Sheet:
        """Return the page of the keys."""
        return self._sheet("keys", "Keys")

    # ---- sessions

    def timeline(self, wanted: Filter = SESSIONS, after: str = "") -> Sheet:
        """Return the page of the newest sessions, by branch or day.

        before: an instant, for older sessions.
        """
        now = self.now
        offset = clock.local_offset(now)
        found = timeline.chosen(self.catalogue, wanted, offset)
        part = timeline.stretch(found, after, SHOWN)
        days: dict[str, list[dict[str, Any]]] = {}
        store = self._store()
        for entry in part.entries:
            told = self._entry(store, entry)
            if told:
                days.setdefault(clock.day(entry.at + offset), []).append(told)
        undated = wanted._replace(since="", until="")
        every = found if undated == wanted else timeline.chosen(self.catalogue, undated, offset)
        over = plots.periods(min((e.began for e in every), default=now), now, offset)
        strip = plots.chart("", ("",), over, [over.counted(e.began for e in every)], offset)
        return self._sheet(
            "timeline",
            "Timeline",
            days=days,
            part_of=part,
            wanted=wanted,
            address=_address(wanted),
            undated=_address(undated),
            more=bool(after),
            today=clock.day(now + offset),
            plan=self._plan(store),
            handoff=handoffs.current(self.place),
            branches=timeline.branches(self.catalogue)[:BRANCHES],
            every_branch=[each.name for each in timeline.branches(self.catalogue)],
            authors=timeline.authors(self.catalogue),
            kinds=timeline.KINDS,
            strip=strip if len(every) > 1 else None,
            empty=not self.catalogue.cards(),
        )

    def _plan(self, store: Store) -> Record | None:
        """Return the newest active plan, as its file is now."""
        plans = [c for c in self.catalogue.cards() if c.kind == "plan" and c.active]
        read = _read(store, (c.name for c in sorted(plans, key=lambda c: -c.created)[:3]))
        return next((record for record in read if record.active), None)

    def _entry(self, store: Store, entry: Entry) -> dict[str, Any] | None:
        """Return an entry for the timeline, None without its file."""
        card = timeline.telling(entry.cards) if entry.kind == timeline.SESSION else entry.cards[0]
        read = _read(store, [card.name])
        if not read:
            return None
        return {
            **_session_summary(entry.cards, read[0]),
            "kind": entry.kind,
            "author": entry.author,
        }

    def session(self, id: str) -> Sheet:
        """Return a session's page: checkpoints, conversation and pushes.

        A running session may have only pushes.
        """
        names = self.catalogue.names_of(id)
        read = [
            record for record in _read(self._store(), names) if record.meta.get("session") == id
        ]
        checkpoints = sorted(_of_kind(read, "checkpoint"), key=lambda r: -r.created)
        telling = _without_repetitions(checkpoints)
        talked = next(iter(_of_kind(read, "conversation")), None)
        events = self._pushed(id)
        if not read and not events:
            raise StoreError("no record is about session '%s'" % one_line(id, 80))
        pieces: list[Piece] = []
        exchanges: list[talk.Exchange] = []
        if talked:
            pieces, exchanges = _pieces_in(talked), talk.exchanges(talked)
        outlines = [checkpointoutline.outline(without_private(record)) for record in checkpoints]
        touched = _texts_of_kind(pieces, FILE) + [path for one in outlines for path in one.files]
        newest = telling[0] if telling else talked
        if newest:
            title = one_line(newest.title)
            cards = [catalogue.card_of(record) for record in read if record.kind in DATED]
            what = _session_summary(cards, newest)
        else:
            title = "A session without a checkpoint"
            began = _began(events) or self.now
            what = {"branch": "", "began": began, "at": began}
        return self._sheet(
            "session",
            title,
            id=id,
            talk=talked,
            note=next(iter(_of_kind(read, "note")), None),
            what=what,
            checkpoints=telling,
            others=[record for record in read if record.kind not in DATED],
            exchanges=exchanges,
            commits=list(dict.fromkeys(_commits(pieces, outlines))),
            files=list(dict.fromkeys(touched)),
            addresses=list(dict.fromkeys(_texts_of_kind(pieces, LINK))),
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
        """Return the page of a query's hits.

        within: `all` for every project. live: it is still being typed, so its last word may be a
            beginning, and no vector is made of it.
        """
        now = self.now
        asked, completed = words, ""
        if live:
            asked, completed = self._completed(words)
        given = {
            "query": asked,
            "limit": LIVE if live else HITS,
            "lexical": live,
            "kind": kind,
            "topic": topic,
            "since": since,
            "workspace": "all" if within == "all" else "",
        }
        given = {key: value for key, value in given.items() if value}
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
        """Return an unfinished query with its last word completed."""
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
        """Return a record's page: text, links, claims and pushes."""
        try:
            found, place, merged = lookup.find_kept(self.place, self.settings, id)
            of_record = hit.from_record(found, place.key, place.path(found.name))
        except StoreError as missing:
            of_record = lookup.find_distant(self.place, id, self._dsn, missing)
            found, merged = of_record.record, ""
            place = Place(self.place.home, of_record.workspace, "", "", "", "")
        found = redactor.clean_record(found, self.settings, place.key)
        of_record = of_record._replace(record=found, title=found.title, body=found.body)
        one = hit.for_display([of_record], self.place, approvals.decisions(place.home), self.now)[0]
        counts = lookup.fold_merged(place, ledger.read(ledger.holding(place, found.name))).counts(
            found.id
        )
        reasons = found.meta.get("feedback")
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
            feedback=reasons if isinstance(reasons, list) else [reasons] if reasons else [],
            pushes=accounts.pushes_of(place, found.id, PUSHES),
            waits=self._waiting(found) if here else None,
            session=session_of(found) if found.meta.get("session") else "",
            exchanges=talk.exchanges(found) if found.kind == "conversation" else [],
            commands=self._commands(found),
        )

    # ---- what is known

    def knowledge(
        self, section: str = "learning", words: str = "", state: str = "", after: str = ""
    ) -> Sheet:
        """Return the page of learnings, rules or wishes, newest first.

        Each comes with the commands to keep, drop and change it.  section: one of SECTIONS.  state:
        `kept`
        or `suggested` for learnings, "" for both.
        """
        if section not in SECTIONS:
            raise UsageError("'%s' is not one of %s" % (section[:40], ", ".join(SECTIONS)))
        groups: dict[str, list[Card]] = {name: [] for name in SECTIONS}
        for card in self.catalogue.cards():
            if card.kind in ("learning", "rule"):
                groups["wish" if card.said else card.kind].append(card)
        names = self.catalogue.holding(words) if words else set()
        found = [
            Entry(card.created, card.created, card.id, card.kind, "", "", (card,))
            for card in groups[section]
            if (not words or catalogue.fits(card, words, names))
            and (not state or card.accepted == (state == "kept"))
        ]
        part = timeline.stretch(sorted(found, key=lambda e: (-e.at, e.key)), after, SHOWN)
        return self._sheet(
            "knowledge",
            "Learnings, rules and wishes",
            section=section,
            sections={name: (SECTIONS[name], len(group)) for name, group in groups.items()},
            sought=words,
            state=state,
            items=self._items([entry.cards[0].name for entry in part.entries]),
            part_of=part,
            more=bool(after),
        )

    def _items(self, names: Iterable[str]) -> list[dict[str, Any]]:
        read = _read(self._store(), names)
        folds = {
            book.path: lookup.fold_merged(self.place, ledger.read(book))
            for book in ledger.ledgers(self.place)
        }
        return [
            {
                "record": record,
                "state": self._state(record),
                "uses": folds[ledger.holding(self.place, record.name).path].counts(record.id).uses,
                "commands": self._commands(record),
                "said": record.meta.get(wishes.SAID) if record.kind == "rule" else "",
            }
            for record in read
        ]

    def _state(self, record: Record) -> str:
        if record.kind != "rule":
            return "kept" if record.accepted else "suggested"
        (standing,) = approvalstate.standings([record], self.place)
        return {"approved": "kept", "pending": "waiting"}.get(standing.state, standing.state)

    def _commands(self, record: Record) -> list[tuple[str, str]]:
        what = "record"
        if record.kind == "learning":
            what = "learning" if record.accepted else "suggested"
        elif record.kind == "rule":
            state = self._state(record)
            what = {"kept": "rule", "waiting": "waiting rule"}.get(state, "rejected rule")
        return [(word, line % record.id) for word, line in COMMANDS[what].items()]

    # ---- failures, and what waits

    def failures(self) -> Sheet:
        """Return the page of failures that several sessions met.

        Each with its remedy, and with the rule that would keep the next session away from it.
        """
        found = walls.repeated(self.place, walls.current(self.place, self.settings, self.now))
        return self._sheet(
            "failures",
            "Failures met before",
            failures=found[:FAILURES],
            left_out=max(0, len(found) - FAILURES),
            sessions=len(self.catalogue.sessions()),
        )

    def review(self) -> Sheet:
        """Return the page of records that wait for a decision.

        With difference, checksum and the command that decides.
        """
        cards = self.catalogue.cards()
        store = self._store()
        deciding = _read(store, (c.name for c in cards if "rule" in c.kind or c.end == "script"))
        waiting = [made for made in map(self._waiting, deciding) if made]
        candidates = sorted(
            (c for c in cards if c.kind == "learning" and not c.accepted),
            key=lambda c: (-c.created, c.id),
        )
        return self._sheet(
            "waiting",
            "Waiting for you",
            waiting=waiting,
            candidates=self._items(card.name for card in candidates[:SHOWN]),
            left_out=max(0, len(candidates) - SHOWN),
        )

    def _waiting(self, record: Record) -> dict[str, Any] | None:
        """Return a pending rule or script for the page, or None."""
        if record.kind != "rule" and record.end != "script":
            return None
        matter, scope, standings = (
            (RULE, approvals.workspace_of, approvalstate.standings)
            if record.kind == "rule"
            else (SCRIPT, approvals.script_workspace, approvalstate.script_standings)
        )
        (standing,) = standings([record], self.place)
        if standing.state != "pending":
            return None
        told = {"record": record, "verb": matter.verb, "why": standing.why}
        try:
            read = matter.read(self._store(), record.name)
        except DayleafError as error:
            return {**told, "text": "", "difference": [], "sha256": "", "hindered": str(error)}
        last = approvals.latest(
            approvals.decisions(self.place.home), scope(record.name, self.place.key), record.id
        )
        before = approvals.approved_bytes(self.place.home, last) if last else None
        return {
            **told,
            "text": visible(read.data.decode("utf-8", "backslashreplace")),
            "sha256": files.sha256(read.data),
            "hindered": read.hindrance,
            "difference": screen.difference(before, read.data) if before else [],
        }

    # ---- figures

    def stats(self) -> Sheet:
        """Return the page of the figures, drawn."""
        now = self.now
        offset = clock.local_offset(now)
        made = self.catalogue.derived(
            "charts",
            lambda: plots.figures(self.catalogue, self.place, now, offset),
            clock.day(now + offset),
            *(ledger.size(book) for book in ledger.ledgers(self.place)),
        )
        return self._sheet("charts", "Charts", **made)


def _without_repetitions(checkpoints: list[Record]) -> list[Record]:
    """Return the checkpoints with news, else all."""
    return [r for r in checkpoints if not handoffs.is_repetition(r)] or checkpoints


def _began(events: Sequence[dict[str, Any]]) -> float | None:
    return clock.parse(str(events[0].get("t"))) if events else None


def _of_kind(found: Sequence[Record], kind: str) -> list[Record]:
    return [record for record in found if record.kind == kind]


def _pieces_in(talked: Record) -> list[Piece]:
    """Return what was done in a conversation, turn by turn."""
    turns = conversationpage.parse(talked.body, clock.day(talked.created))
    return [piece for turn in turns for piece in turn.pieces]


def _texts_of_kind(pieces: Sequence[Piece], kind: str) -> list[str]:
    return [piece.text for piece in pieces if piece.kind == kind]


def _commits(pieces: Sequence[Piece], outlines: Sequence[checkpointoutline.Outline]) -> list[str]:
    """Return the commits of a conversation, else those of its checkpoints."""
    made = [piece for piece in pieces if piece.kind == COMMIT]
    if made:
        return [" ".join(filter(None, (piece.name[:10], piece.text))) for piece in made]
    return [line for one in outlines[::-1] for line in one.commits]


def _session_summary(cards: Sequence[Card], record: Record) -> dict[str, Any]:
    branch, session = record.meta.get("branch"), record.meta.get("session")
    told = {
        "id": session if isinstance(session, str) and session else record.id,
        "record": record.id,
        "by_hand": not session or record.kind not in DATED,
        "title": one_line(record.title),
        "branch": branch if isinstance(branch, str) else "",
        "at": max(card.until for card in cards),
        "began": min(card.created for card in cards),
        "checkpoints": sum(card.kind == "checkpoint" and not card.again for card in cards),
        "noted": any(card.kind == "note" for card in cards),
        "text": "",
    }
    if record.kind != "checkpoint":
        text = "" if record.kind in DATED else one_line(without_private(record).body, 400)
        nothing: tuple[str, ...] = ()
        return {
            **told,
            "text": text,
            "outcome": nothing,
            "next": nothing,
            "open": nothing,
            "failing": nothing,
            "commits": 0,
        }
    return {**told, **_outlined(record)}


def _outlined(checkpoint: Record) -> dict[str, Any]:
    outline = checkpointoutline.outline(without_private(checkpoint))
    return {
        "outcome": (outline.outcome or outline.said)[:2],
        "next": outline.next,
        "open": tuple(line for line in outline.open if FAILS not in line),
        "failing": tuple(line for line in outline.open if FAILS in line),
        "commits": len(outline.commits),
    }


def _address(wanted: Filter) -> list[tuple[str, str]]:
    """Return what a page's address says of a filter."""
    named = {**wanted._asdict(), "text": wanted.words}
    return [(name, value) for name, value in named.items() if value and name != "words"]


def _row(one: Hit) -> dict[str, Any]:
    said = [
        {"head": localtimes.heading(quote), "text": quote.text, "turn": quote.turn}
        for quote in one.quotes
    ]
    return {
        "hit": one,
        "said": said,
        "session": session_of(one.record) if one.record.meta.get("session") else "",
    }


def _read(store: Store, names: Iterable[str]) -> list[Record]:
    found = []
    for name in names:
        with suppress(StoreError, IndexFault):
            found.append(store.read(name))
    return found
