"""The pages of the local page: the engines' data, prepared for the templates.

Nothing here ranks or writes.  Only the open index is kept between requests; pages read the records
anew.
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
from memory.core.layout import DATED_KINDS, Place
from memory.core.plaintext import escape_invisible, one_line
from memory.core.records import Record
from memory.doors.page import catalogue, plots, talk, timeline
from memory.doors.page.catalogue import Card
from memory.doors.page.onefile import GROUP_NAMES, choose_for_session, find_session
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
from memory.store.redactor import strip_private_record
from memory.store.store import Store
from memory.terminal import localtimes, screen

PAGE_SIZE = 30  # entries of a list before the next ones are loaded
HITS, LIVE = 30, 12  # hits of a query, of a query that is being typed
OLD, TYPED = 5.0, 20.0  # seconds until the index is opened again; while a query is being typed
FAILURES, PUSHES = 40, 20  # on one page
SESSIONS = Filter()  # of the timeline at first
BRANCHES = 12  # beside the timeline

# verbs that keep, drop or change a record, by its kind and state
FORGET, EDIT = "record forget", "record edit"
COMMANDS = {
    "suggested": {"keep": "notes harvest accept", "drop": "notes harvest reject", "edit": EDIT},
    "waiting rule": {"keep": "rule approve", "drop": "rule reject", "edit": EDIT},
    "rejected rule": {"keep": "rule approve", "drop": FORGET},
    "record": {"drop": FORGET, "edit": EDIT},
}
NO_OUTLINE = checkpointoutline.Outline((), (), (), (), (), (), ())
SECTIONS = {"learning": "Learnings", "rule": "Rules", "wish": "Wishes"}


class Pages:
    """The pages of one workspace.

    semantic: provider of vectors. dsn: a database for complete queries, see backend.find_dsn.
    """

    def __init__(
        self,
        place: Place,
        settings: Config,
        clock: Callable[[], float],
        semantic: Semantic | None = None,
        dsn: str = "",
    ):
        self.place, self.settings, self._clock = place, settings, clock
        settings.masked = True
        self._semantic, self._dsn = semantic, dsn
        self.catalogue = catalogue.Catalogue(place, settings, clock)
        self._lock = threading.RLock()
        self._searcher: search.Searcher | None = None
        self._opened = 0.0

    def for_project(self, place: Place, settings: Config) -> Pages:
        """Return the pages of another project."""
        return Pages(place, settings, self._clock, self._semantic, self._dsn)

    @property
    def now(self) -> float:
        return self._clock()

    # ---- the open index

    def _reopen_index(self) -> search.Searcher:
        """Open the index again, and close the old one."""
        fresh = search.Searcher(self.place, self.settings, self._semantic)
        now = self.now
        fresh.answer(Query(limit=1), now, clock.local_offset)
        with self._lock:
            before, self._searcher, self._opened = self._searcher, fresh, now
            if before is not None:
                before.__exit__()
        return fresh

    def update(self, live: bool = False) -> None:
        """Refresh the catalogue after an answer; after a `live` one, the index too."""
        is_old = live and self.now - self._opened > TYPED
        if self._searcher is None or is_old:
            self._reopen_index()
        if self.catalogue.is_due:
            self.catalogue.refresh()

    def _open_index(self, live: bool) -> search.Searcher:
        """Return the index, opened again if old, but not for a `live` query."""
        is_old = not live and self.now - self._opened > OLD
        return self._reopen_index() if self._searcher is None or is_old else self._searcher

    def _search(self, query: Query, live: bool = False, dsn: str = "") -> hit.RecallResult:
        with self._lock:
            searcher = self._open_index(live)
            searcher.dsn = dsn
            return searcher.answer(query, self.now, clock.local_offset)

    def _open_shelf(self, live: bool = False) -> Shelf:
        return next(iter(self._open_index(live).shelves.values()))

    def _open_store(self) -> Store:
        return Store(self.place, self.settings, self.now)

    def _make_sheet(self, name: str, title: str, **values: Any) -> Sheet:
        now = self.now
        return Sheet(
            name,
            title,
            {
                "workspace": self.place.key,
                "root": self.place.root,
                "now": now,
                "offset": clock.local_offset,
                "words": "",
                "hues": timeline.assign_hues(self.catalogue),
                **values,
            },
        )

    def fault(self, message: str) -> Sheet:
        return self._make_sheet("fault", "Not here", message=message)

    def keys(self) -> Sheet:
        return self._make_sheet("keys", "Keys")

    # ---- sessions

    def timeline(self, wanted: Filter = SESSIONS, after: str = "") -> Sheet:
        """Return the page of sessions by day, of those older than the mark `after`."""
        now, offset = self.now, clock.local_offset
        entries = timeline.filter_entries(self.catalogue, wanted, offset)
        slice_ = timeline.make_slice(entries, after, PAGE_SIZE)
        days: dict[str, list[dict[str, Any]]] = {}
        store = self._open_store()
        for entry in slice_.entries:
            shown = self._make_entry(store, entry)
            if shown:
                days.setdefault(clock.day(entry.at + offset(entry.at)), []).append(shown)
        # the chart spans all days, whatever period is wanted
        undated, every = wanted._replace(since="", until=""), entries
        if undated != wanted:
            every = timeline.filter_entries(self.catalogue, undated, offset)
        periods = plots.make_periods(min((e.began for e in every), default=now), now, offset)
        counts = periods.count_by_period(entry.began for entry in every)
        chart = plots.make_chart("", periods, ("",), counts)
        branches = timeline.list_branches(self.catalogue)
        return self._make_sheet(
            "timeline",
            "Timeline",
            days=days,
            part_of=slice_,
            wanted=wanted,
            address=_list_parameters(wanted),
            undated=_list_parameters(undated),
            more=bool(after),
            today=clock.day(now + offset(now)),
            plan=self._find_plan(store),
            handoff=handoffs.read_current(self.place),
            branches=branches[:BRANCHES],
            every_branch=[branch.name for branch in branches],
            authors=timeline.list_authors(self.catalogue),
            kinds=timeline.KINDS,
            strip=chart if len(every) > 1 else None,
            empty=not self.catalogue.cards(),
        )

    def _find_plan(self, store: Store) -> Record | None:
        plans = [c for c in self.catalogue.cards() if c.kind == "plan" and c.active]
        read = _read_records(store, (c.name for c in sorted(plans, key=lambda c: -c.created)[:3]))
        return next((record for record in read if record.active), None)

    def _make_entry(self, store: Store, entry: Entry) -> dict[str, Any] | None:
        """Return an entry for the timeline, None if its file is gone."""
        read = _read_records(store, [timeline.choose_card(entry.cards).name])
        if not read:
            return None
        summary = _summarize_session(entry.cards, read[0])
        decided = approvals.read_decisions(self.place.home)
        group = hit.find_group(read[0], self.place.key, decided, self.place.root)
        tag = GROUP_NAMES.get(group, group)
        return {**summary, "kind": entry.kind, "group": group, "tag": tag, "author": entry.author}

    def _read_session(self, id: str) -> list[Record]:
        names = [card.name for card in self.catalogue.cards() if card.session == id]
        read = _read_records(self._open_store(), names)
        return [record for record in read if record.meta.get("session") == id]

    def session(self, id: str) -> Sheet:
        """Return a session's page: checkpoints, conversation, given records."""
        read = self._read_session(id)
        checkpoints = sorted(_filter_kind(read, "checkpoint"), key=lambda r: -r.created)
        with_news = [r for r in checkpoints if not handoffs.is_repetition(r)] or checkpoints
        talked = next(iter(_filter_kind(read, "conversation")), None)
        events = self._list_pushes(id)
        if not read and not events:
            raise StoreError("no record is about session '%s'" % one_line(id, 80))
        dated = [record for record in read if record.kind in DATED_KINDS]
        if dated:
            cards = [catalogue.make_card(record) for record in dated]
            what = _summarize_session(cards, choose_for_session(dated))
        else:
            what = _summarize_unwritten(events, self.now)
        return self._make_sheet(
            "session",
            what["title"],
            id=id,
            talk=talked,
            note=next(iter(_filter_kind(read, "note")), None),
            what=what,
            checkpoints=with_news,
            others=[record for record in read if record.kind not in DATED_KINDS],
            exchanges=talk.list_exchanges(talked) if talked else [],
            events=events,
            **_list_work(talked, checkpoints),
        )

    def _list_pushes(self, session: str) -> list[dict[str, Any]]:
        with suppress(UsageError):
            report = accounts.report_pushes(self.place, session, "")
            if report["session"] == session:
                return [event for event in report["events"] if event["chosen"]]
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

        within: `all` for every project. live: the query is being typed, so its last word may be
            unfinished, and vectors are not used.
        """
        now = self.now
        sought, completed = words, ""
        if live:
            sought, completed = self._complete_last_word(words)
        given = {"query": sought, "limit": LIVE if live else HITS, "lexical": live}
        given.update(kind=kind, topic=topic, since=since)
        given["workspace"] = "all" if within == "all" else ""
        given = {key: value for key, value in given.items() if value}
        query = question.query_from_options(given, now, clock.local_offset)
        idle = live and not any(tokeniser.expand(raw) for raw in tokeniser.split(sought))
        found = None if idle else self._search(query, live, "" if live else self._dsn)
        rows = [_make_row(one) for one in (found.hits if found else ())]
        filters = {"kind": kind, "topic": topic, "since": since, "within": within}
        shown = {"found": found, "rows": rows, "completed": completed, "groups": GROUP_NAMES}
        return self._make_sheet("search", "Search", words=words, **filters, **shown)

    def _complete_last_word(self, words: str) -> tuple[str, str]:
        """Return (query with its last word completed, that word or "")."""
        last = words.rpartition(" ")[2].lower()
        with self._lock:
            index = self._open_shelf(live=True).backend
            is_word = len(last) > 1 and last.isalnum() and last.isascii()
            terms = [term for term, _ in tokeniser.expand(last)] if is_word else []
            if not terms or any(map(index.df, terms)):
                return words, ""
            known = index.vocabulary(last, tokeniser.LONGEST)
            best = max(((index.df(term), -len(term), term) for term in known), default=(0, 0, ""))
        return (words[: len(words) - len(last)] + best[2], best[2]) if best[0] else (words, "")

    def record(self, id: str) -> Sheet:
        """Return a record's page: text, links, claims, sessions that got it."""
        try:
            found, place, merged = lookup.find_or_successor(self.place, self.settings, id)
            found_hit = hit.from_record(found, place.key, place.path(found.name))
        except StoreError as missing:
            found_hit = lookup.find_distant(self.place, id, self._dsn, missing)
            found, merged = found_hit.record, ""
            place = Place(self.place.home, found_hit.workspace, "", "", "", "")
        found = redactor.clean_record(found, self.settings, place.key)
        found_hit = found_hit._replace(record=found, title=found.title, body=found.body)
        (shown,) = hit.add_display_fields([found_hit], self.place, self.now)
        tally = ledger.read(ledger.find_ledger(place, found.name))
        counts = lookup.credit_successors(place, tally).counts(found.id)
        reasons = found.meta.get("feedback")
        with self._lock:
            shelf = self._open_shelf()
            here = place.key == self.place.key
            outward = []
            for link in found.links:
                target = alongside.resolve_target(shelf, link.target) if here else None
                outward.append((link.relation, link.target, target))
            inward = [
                (relations.find_inverse(link.relation), source)
                for link, source in (alongside.read_incoming_links(shelf, found) if here else ())
            ]
        return self._make_sheet(
            "record",
            one_line(found.title),
            record=found,
            one=shown,
            group=GROUP_NAMES.get(shown.group, shown.group),
            merged=merged,
            counts=counts,
            outward=outward,
            inward=inward,
            here=here,
            feedback=reasons if isinstance(reasons, list) else [reasons] if reasons else [],
            pushes=accounts.find_pushes(place, found.id, PUSHES),
            waits=self._make_waiting(found) if here else None,
            session=find_session(found) if found.meta.get("session") else "",
            exchanges=talk.list_exchanges(found) if found.kind == "conversation" else [],
            commands=self._list_commands(found),
        )

    # ---- what is known

    def knowledge(
        self, section: str = "learning", words: str = "", state: str = "", after: str = ""
    ) -> Sheet:
        """Return the page of learnings, rules or wishes, newest first.

        section: one of SECTIONS.  state: `kept` or `suggested` for learnings, "" for both.
        """
        if section not in SECTIONS:
            raise UsageError("'%s' is not one of %s" % (section[:40], ", ".join(SECTIONS)))
        groups: dict[str, list[Card]] = {name: [] for name in SECTIONS}
        for card in self.catalogue.cards():
            if card.kind in ("learning", "rule"):
                groups["wish" if card.said else card.kind].append(card)
        names = self.catalogue.find_names(words) if words else set()
        cards = groups[section]
        if words:
            cards = [card for card in cards if catalogue.matches_words(card, words, names)]
        if state:
            cards = [card for card in cards if card.accepted == (state == "kept")]
        found = [
            Entry(card.created, card.created, card.id, card.kind, "", "", (card,)) for card in cards
        ]
        part = timeline.make_slice(sorted(found, key=lambda e: (-e.at, e.key)), after, PAGE_SIZE)
        return self._make_sheet(
            "knowledge",
            "Learnings, rules and wishes",
            section=section,
            sections={name: (SECTIONS[name], len(group)) for name, group in groups.items()},
            sought=words,
            state=state,
            items=self._make_items([entry.cards[0].name for entry in part.entries]),
            part_of=part,
            more=bool(after),
        )

    def _make_items(self, names: Iterable[str]) -> list[dict[str, Any]]:
        tallies = {
            book.path: lookup.credit_successors(self.place, ledger.read(book))
            for book in ledger.ledgers(self.place)
        }
        items = []
        for record in _read_records(self._open_store(), names):
            tally = tallies[ledger.find_ledger(self.place, record.name).path]
            item = {"record": record, "state": self._find_state(record)}
            item["uses"] = tally.counts(record.id).uses
            item["commands"] = self._list_commands(record)
            item["said"] = record.meta.get(wishes.SAID) if record.kind == "rule" else ""
            items.append(item)
        return items

    def _find_state(self, record: Record) -> str:
        if record.kind != "rule":
            return "kept" if record.accepted else "suggested"
        (standing,) = approvalstate.list_rule_states([record], self.place)
        return {"approved": "kept", "pending": "waiting"}.get(standing.state, standing.state)

    def _list_commands(self, record: Record) -> list[tuple[str, str]]:
        """Return (word, command) of what a person may do with a record."""
        state = self._find_state(record) if record.kind in ("learning", "rule") else "kept"
        what = "record" if state == "kept" else state
        if record.kind == "rule" and what != "record":
            what = "waiting rule" if state == "waiting" else "rejected rule"
        return [
            (word, "dayleaf %s %s" % (verb, record.id)) for word, verb in COMMANDS[what].items()
        ]

    # ---- failures, and what waits

    def failures(self) -> Sheet:
        """Return the page of failures that several sessions met, with remedies."""
        found = walls.find_repeated(
            self.place, walls.find_failures(self.place, self.settings, self.now)
        )
        return self._make_sheet(
            "failures",
            "Failures met before",
            failures=found[:FAILURES],
            left_out=max(0, len(found) - FAILURES),
        )

    def review(self) -> Sheet:
        """Return the page of records that wait for a decision."""
        cards = self.catalogue.cards()
        store = self._open_store()
        deciding = _read_records(
            store, (c.name for c in cards if c.kind == "rule" or c.end == "script")
        )
        waiting = [one for one in map(self._make_waiting, deciding) if one]
        candidates = [c for c in cards if c.kind == "learning" and not c.accepted]
        candidates.sort(key=lambda c: (-c.created, c.id))
        return self._make_sheet(
            "waiting",
            "Waiting for you",
            waiting=waiting,
            candidates=self._make_items(card.name for card in candidates[:PAGE_SIZE]),
            left_out=max(0, len(candidates) - PAGE_SIZE),
        )

    def _make_waiting(self, record: Record) -> dict[str, Any] | None:
        """Return a pending rule or script as data, None for others."""
        if record.kind != "rule" and record.end != "script":
            return None
        matter, list_states = (
            (RULE, approvalstate.list_rule_states)
            if record.kind == "rule"
            else (SCRIPT, approvalstate.list_script_states)
        )
        (standing,) = list_states([record], self.place)
        if standing.state != "pending":
            return None
        waiting = {"record": record, "verb": matter.kind, "why": standing.why}
        try:
            pending = matter.read(self._open_store(), record.name)
        except DayleafError as error:
            return {**waiting, "text": "", "difference": [], "sha256": "", "hindered": str(error)}
        home, data = self.place.home, pending.data
        decided = approvals.read_decisions(home)
        last = approvals.find_last_approved(decided, pending.scope, record.id)
        before = approvals.read_approved_bytes(home, last) if last else None
        return {
            **waiting,
            "text": escape_invisible(data.decode("utf-8", "backslashreplace")),
            "sha256": files.sha256(data),
            "hindered": pending.hindrance,
            "difference": screen.diff_contents(before, data) if before else [],
        }

    # ---- figures

    def stats(self) -> Sheet:
        """Return the page of charts."""
        now, offset = self.now, clock.local_offset
        figures = self.catalogue.derive(
            "charts",
            lambda: plots.make_figures(self.catalogue, self.place, now, offset),
            clock.day(now + offset(now)),
            *(ledger.size(book) for book in ledger.ledgers(self.place)),
        )
        return self._make_sheet("charts", "Charts", **figures)


def _filter_kind(found: Sequence[Record], kind: str) -> list[Record]:
    return [record for record in found if record.kind == kind]


def _list_work(talked: Record | None, checkpoints: Sequence[Record]) -> dict[str, list[str]]:
    """List the commits, files and pull requests of a session, each once."""
    pieces: list[Piece] = []
    if talked:
        turns = conversationpage.parse(talked.body, clock.day(talked.created))
        pieces = [piece for turn in turns for piece in turn.pieces]
    outlines = [checkpointoutline.parse_outline(strip_private_record(r)) for r in checkpoints]
    work = {
        "commits": _list_commits(pieces, outlines),
        "files": [*_list_texts(pieces, FILE), *(path for one in outlines for path in one.files)],
        "addresses": _list_texts(pieces, LINK),
    }
    return {name: list(dict.fromkeys(texts)) for name, texts in work.items()}


def _list_texts(pieces: Sequence[Piece], kind: str) -> list[str]:
    return [piece.text for piece in pieces if piece.kind == kind]


def _list_commits(
    pieces: Sequence[Piece], outlines: Sequence[checkpointoutline.Outline]
) -> list[str]:
    commits = [piece for piece in pieces if piece.kind == COMMIT]
    if commits:
        return [("%s %s" % (piece.name[:10], piece.text)).strip() for piece in commits]
    return [line for one in outlines[::-1] for line in one.commits]


def _summarize_session(cards: Sequence[Card], record: Record) -> dict[str, Any]:
    """Return what lists show of a session or a record."""
    branch, session = record.meta.get("branch"), record.meta.get("session")
    began, at = timeline.find_span(cards)
    summary = {
        "id": find_session(record),
        "record": record.id,
        "by_hand": not session or record.kind not in DATED_KINDS,
        "title": one_line(record.title),
        "branch": branch if isinstance(branch, str) else "",
        "began": began,
        "at": at,
        "noted": any(card.kind == "note" for card in cards),
        "text": "",
    }
    shown = strip_private_record(record)
    outline = NO_OUTLINE
    if record.kind == "checkpoint":
        outline = checkpointoutline.parse_outline(shown)
    elif record.kind not in DATED_KINDS:
        summary["text"] = one_line(shown.body, 400)
    return {
        **summary,
        "outcome": (outline.outcome or outline.said)[:2],
        "next": outline.next,
        "open": tuple(line for line in outline.open if FAILS not in line),
        "failing": tuple(line for line in outline.open if FAILS in line),
        "commits": len(outline.commits),
    }


def _summarize_unwritten(events: Sequence[dict[str, Any]], now: float) -> dict[str, Any]:
    first = clock.parse(str(events[0].get("t"))) if events else None
    title = "A session without a checkpoint"
    return {"title": title, "branch": "", "began": first or now, "at": first or now}


def _list_parameters(wanted: Filter) -> list[tuple[str, str]]:
    """List a filter's (name, value) pairs for a page's address."""
    named = {**wanted._asdict(), "text": wanted.words}
    return [(name, value) for name, value in named.items() if value and name != "words"]


def _make_row(found: Hit) -> dict[str, Any]:
    quotes = [
        {"head": localtimes.format_heading(quote), "text": quote.text, "turn": quote.turn}
        for quote in found.quotes
    ]
    session = find_session(found.record) if found.record.meta.get("session") else ""
    return {"hit": found, "said": quotes, "session": session}


def _read_records(store: Store, names: Iterable[str]) -> list[Record]:
    found = []
    for name in names:
        with suppress(StoreError, IndexFault):
            found.append(store.read(name))
    return found
