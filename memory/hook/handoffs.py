"""What one session hands on to the next: the handoff, which it gets first, and the newest
checkpoints.

The handoff is the record `p/checkpoints/handoff.md`, an ordinary file with `trigger: handoff`, to
be edited or deleted by hand.  Replaced or cleared it takes the name that any checkpoint has.  One
that no session has had yet when another session leaves its own waits as `handoff-1.md` and so on:
the next start gives both, and then it takes an ordinary name.

Schema, version 1, of `<cache>/handoff.json`, written by the worker behind a session's start;
deleted, the count starts anew:

    {"v":1,"id":"c-1a2b3c4d","starts":3,"last":"<session> <number of its starts>"}
"""

from __future__ import annotations

from memory.core import clock, fastjson, files, layout, tokeniser
from memory.hook import fence, indexview, receipts, segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.hook.indexview import Index
    from memory.store.store import Store

NAME = "p/checkpoints/handoff.md"
WAITING = tuple("p/checkpoints/handoff-%d.md" % number for number in range(1, 6))
TRIGGER = REASON = "handoff"  # in the record's frontmatter, in the receipt
# checkpoints of a branch, a session or all that are read at most, other sessions that are named
LOOKED, OTHERS = 64, 5
# checkpoints of a session that are searched for refusals, and of these those that are told
EARLIER, REFUSALS = 8, 4
# of a checkpoint that may be trivial, of its outcome that says no more than farewell
TRIVIAL_CHARS, FEW_BYTES = 400, 40
_READ = 1 << 20  # bytes of the file


def current(place: Place) -> Optional[Record]:
    """Return the handoff of a workspace; None for none.

    An empty handoff counts as none.
    """
    return _read_one(place, NAME)


def waiting(place: Place) -> List[Record]:
    """Return the earlier handoffs that no session was shown yet.

    Oldest first.
    """
    found = (_read_one(place, name) for name in WAITING)
    return sorted((one for one in found if one is not None), key=lambda one: one.created)


def _read_one(place: Place, name: str) -> Optional[Record]:
    try:
        data, stat = place.read(name, _READ)
    except OSError:
        return None
    from memory.core import records
    from memory.hook import documents

    found = documents.without_private(records.skim(name, data, stat.st_mtime))
    return found if found.body.strip() else None


def is_handoff(record: Any) -> bool:
    """Tell whether a record is a handoff, current or earlier."""
    return bool(
        record.name == NAME or record.name in WAITING or record.meta.get("trigger") == TRIGGER
    )


def is_unattended(record: Any) -> bool:
    """Tell whether a checkpoint's session had no typing person."""
    return bool(record.meta.get("unattended") == "true")


def is_of_others(place: Place, record: Any) -> bool:
    """Tell whether a shared checkpoint is of a session that ran elsewhere.

    A session leaves receipts where it runs.
    """
    if record.tier != layout.SHARED:
        return False
    session = layout.safe_id(record.meta.get("session"))
    return not session or not files.exists(place.receipts(session))


def is_repetition(record: Any) -> bool:
    """Tell whether a checkpoint only repeats others.

    A handoff made of them does.
    """
    return is_handoff(record) and bool(record.derived_from)


def starts(place: Place, id: str) -> int:
    """Return the number of session starts that showed a handoff."""
    row = _counted(place)
    number = row.get("starts")
    return number if row.get("id") == id and isinstance(number, int) and number > 0 else 0


def count(place: Place, session: str) -> None:
    """Count a session's latest start if its receipt shows the handoff.

    Each start counts once, however often this is called.
    session: its id.
    Raises OSError where the count cannot be written.
    """
    try:
        rows = [
            row for row in receipts.read(place.receipts(session)) if row.get("event") == "start"
        ]
    except OSError:
        return
    shown = _shown(rows)
    if not shown:
        return
    last = "%s %d" % (session, len(rows))
    with lock(place):
        if _counted(place).get("last") != last:
            row = {"v": 1, "id": shown[0], "starts": starts(place, shown[0]) + 1, "last": last}
            files.replace(_path(place), fastjson.dump(row).encode("ascii"))


def shown_waiting(place: Place, session: str) -> List[str]:
    """Return the names of waiting handoffs shown at the latest start."""
    there = waiting(place)
    try:
        rows = (
            [row for row in receipts.read(place.receipts(session)) if row.get("event") == "start"]
            if there
            else []
        )
    except OSError:
        return []
    shown = _shown(rows)
    return [one.name for one in there if one.id in shown]


def _shown(rows: List[Dict[str, Any]]) -> List[Any]:
    """Return the ids of the handoffs shown at the last start."""
    return [item[0] for item in receipts.chosen(rows[-1]) if item[2:] == [REASON]] if rows else []


def lock(place: Place) -> files.Lock:
    """Return the lock for changes of the handoffs.

    Entering it waits, and raises OSError where it cannot be had.
    """
    return files.Lock(place.cache + "/handoff.lock", wait=True)


def put(
    store: Store, title: str, body: str, source: str, session: str, extra: Dict[str, Any]
) -> Record:
    """Make a text the handoff; rename the previous handoff.

    The previous takes an ordinary name, or waits where no session has had it yet.
    source: human | agent | auto.
    session: its id, or "".
    extra: more frontmatter.
    Raises UsageError where nothing is left to keep, StoreError where the file cannot be written.
    """
    with lock(store.place):
        return _put(store, title, body, source, session, extra)


def _put(
    store: Store, title: str, body: str, source: str, session: str, extra: Dict[str, Any]
) -> Record:
    _mark(store)
    before = current(store.place)
    if before is not None and _is_same(store, before, title, body, session):
        return store.read(before.name)
    made = store.same_lately("checkpoint", title, body)
    if (
        made is None
        or made.meta.get("trigger") != TRIGGER
        or made.meta.get("session", "") != session
    ):
        made = store.add(
            "checkpoint",
            title,
            body,
            source=source,
            session=session,
            extra={**extra, "trigger": TRIGGER},
        )
    free = next((name for name in WAITING if not files.exists(store.place.path(name))), "")
    if free and keeps_waiting(store.place, session):
        store.promote(NAME, free)
    return store.promote(made.name, NAME)


def _is_same(store: Store, before: Record, title: str, body: str, session: str) -> bool:
    """Tell whether a session left the same handoff just before."""
    return store.says_again(before, title, body) and before.meta.get("session", "") == session


def keeps_waiting(place: Place, session: str) -> bool:
    """Tell whether another session's handoff is still unseen.

    No start has shown it.
    """
    before = current(place)
    if before is None or starts(place, before.id):
        return False
    return not session or before.meta.get("session") != session


def clear(store: Store) -> Record:
    """Give all handoffs ordinary names; return the last.

    No session gets them any more.  Raises StoreError.
    """
    with lock(store.place):
        _mark(store)
        kept = [
            store.demote(name) for name in (*WAITING, NAME) if files.exists(store.place.path(name))
        ]
    return kept[-1]


def _mark(store: Store) -> None:
    """Mark a handwritten handoff as a handoff.

    Under another name nothing else would say so.  Raises StoreError.
    """
    if files.exists(store.place.path(NAME)):
        before = store.read(NAME)
        if before.meta.get("trigger") != TRIGGER and before.body.strip():
            store.edit(NAME, {"trigger": TRIGGER}, True)


def _path(place: Place) -> str:
    return place.cache + "/handoff.json"


def _counted(place: Place) -> Dict[str, Any]:
    try:
        row = fastjson.parse(files.read(_path(place), 4096))
    except (OSError, ValueError):
        return {}
    return row if isinstance(row, dict) and row.get("v") == 1 else {}


# ---- the work of before


class Work:
    """The earlier work that a session's start shows.

    branch: the branch checked out, or "".
    record: the checkpoint to show first, or None.
    later: the later checkpoint of its session on another branch, or None.
    others: the newest checkpoint of each other session.
    last: the user's own newest checkpoint of the branch, or of any, the running session's too.
    own: whether the running session's client has just dropped its context, so that its own
        checkpoint alone counts.
    """

    __slots__ = ("branch", "last", "later", "others", "own", "record")

    def __init__(self, branch: str, own: bool):
        self.branch, self.own = branch, own
        self.record: Any = None
        self.later: Any = None
        self.last: Any = None
        self.others: List[Any] = []


def find_work(found: Index, source: str, session: str) -> Work:
    """Return the newest checkpoints, of this branch and other sessions.

    source: the event's.
    session: its id, or "".
    The newest checkpoint of a session stands for the session.  A resumed session's client still
    knows its own work; for a compacted session only its own work counts.
    """
    work, session = (
        Work(layout.branch_of(found.place.git), source == "compact"),
        segment.session_key(session),
    )
    if work.own:
        work.record = work.last = _newest_of_session(found, session)
        return work
    known = {session} if source == "resume" else set()
    if work.branch:
        for record in _about_work(found, found.newest(segment.branch_term(work.branch), LOOKED)):
            if record.meta.get("branch") != work.branch:
                continue
            work.last = work.last or _own(record)
            if work.record is None and _session(record) not in known and not is_unattended(record):
                work.record = record
            if work.record is not None and work.last is not None:
                break
    if work.record is not None:
        session = _session(work.record)
        later = _newest_of_session(found, session)
        work.later = later if later is not None and later.created > work.record.created else None
    known.add(session)
    for record in _about_work(found, (doc for _, doc in zip(range(LOOKED), _latest(found)))):
        work.last = work.last or _own(record)
        if _session(record) not in known:
            known.add(_session(record))
            if work.record is None and not is_unattended(record):
                work.record = record
            elif len(work.others) < OTHERS:
                work.others.append(record)
        if len(work.others) == OTHERS and work.last is not None:
            break
    if work.record is None and work.others:  # nobody typed into any of them
        of_branch = (
            one for one in work.others if work.branch and one.meta.get("branch") == work.branch
        )
        work.record = next(of_branch, work.others[0])
        work.others.remove(work.record)
    if work.last is None and work.record is not None and work.record.tier != layout.SHARED:
        work.last = work.record
    return work


def has_news(found: Index, path: str, session: str) -> bool:
    """Tell whether anything came from elsewhere since a session's last brief.

    path: of its receipts; where they do not say when, all is news.  session: its id.
    """
    since = _last_brief(path)
    if since is None:
        return True
    listed = [
        doc
        for which in ("learnings", "rules", "plans", "checkpoints")
        for doc in found.listed(which)
        if max(doc.created, doc.mtime_ns / 1e9) >= since
    ]
    if any(doc.kind != "checkpoint" or doc.name == NAME or doc.name in WAITING for doc in listed):
        return True
    return any(
        _session(record) != segment.session_key(session) for record in _about_work(found, listed)
    )


def _last_brief(path: str) -> Optional[float]:
    """Return when a session last got a brief, as its receipts say."""
    try:
        rows = receipts.read(path)
    except OSError:
        return None
    told = [
        row
        for row in rows
        if row.get("event") == "start" and row.get("source") != "compact" and row.get("brief")
    ]
    return clock.parse(str(told[-1].get("t"))) if told else None


def _own(record: Any) -> Any:
    """Return a record if the user's own, else None."""
    return None if record.tier == layout.SHARED or is_unattended(record) else record


def _latest(found: Index) -> Iterator[Any]:
    """Yield the listed checkpoints, newest first."""
    # Each is looked up on demand: a start wants few of the 64.
    came = sorted(
        (doc for doc in found.delta.docs if doc.ordinal == 0 and doc.kind == "checkpoint"),
        key=_place,
        reverse=True,
    )
    for number in found.lists("brief").get("checkpoints", ()):
        if number not in found.delta.gone:
            doc = found.doc(number)
            while came and _place(came[-1]) < _place(doc):
                yield came.pop()
            yield doc
    yield from reversed(came)


def _place(doc: Any) -> Tuple[int, str]:
    """Return the sort key of documents, newest first."""
    return -doc.created, doc.name


def _about_work(found: Index, docs: Iterable[Any]) -> Iterator[Any]:
    """Yield the re-read checkpoints about work, in their order."""
    for record in indexview.reread(
        found, (doc for doc in docs if doc.kind == "checkpoint" and doc.name != NAME)
    ):
        if (
            record.kind == "checkpoint"
            and not is_handoff(record)
            and not is_of_others(found.place, record)
            and not _is_trivial(record.body)
        ):
            yield record


def _newest_of_session(found: Index, session: str) -> Any:
    """Return the newest checkpoint of a session, or None."""
    own = _about_work(found, found.newest(segment.session_term(session), LOOKED) if session else ())
    return next((record for record in own if _session(record) == session), None)


def refusals_before(found: Index, record: Any) -> List[str]:
    """Return why the user refused calls earlier in a checkpoint's session.

    The newest lines first, without questions.
    """
    session = _session(record)
    docs = found.newest(segment.session_term(session), EARLIER)
    lines: List[str] = []
    for one in _about_work(found, docs):
        if _session(one) == session and one.created < record.created:
            decided = sections(fence.clean(one.body)).get("Decisions", [])
            lines += [
                line
                for line in reversed(decided)
                # behind the mark of the list and the minute
                if line[8:].startswith("refused ") and "?" not in line.rpartition(': "')[2]
            ]
    return lines[:REFUSALS]


def note_of(found: Index, record: Any) -> Any:
    """Return the note of a checkpoint's session, or None.

    None too where the session went on after the note.
    """
    session = record.meta.get("session")
    if not isinstance(session, str) or not session:
        return None
    docs = [
        doc for doc in found.newest(segment.session_term(session), LOOKED) if doc.kind == "note"
    ]
    for one in indexview.reread(found, docs, whole=True):
        if covers(one, record):
            return one
    return None


def covers(note: Any, record: Any) -> bool:
    """Tell whether a note covers all of a checkpoint.

    Both must be of the same session.
    """
    until = str(record.meta.get("until") or "")
    return (
        note.meta.get("session") == record.meta.get("session")
        and str(note.meta.get("until") or "") >= until
    )


def note_sections(note: Any) -> Dict[str, List[str]]:
    """Return the lines of a note by section, without its quotes.

    "" holds its summary.
    """
    found: Dict[str, List[str]] = {}
    for name, lines in sections(fence.clean(note.body)).items():
        kept: List[str] = []
        for line in lines:
            bare = line.strip()
            if bare.startswith("why: ") and kept:
                kept[-1] += " (%s)" % bare
            elif not bare.startswith(">"):
                kept.append(line)
        found[name] = kept
    found[""] = [" ".join(found[""])] if found.get("") else []
    return found


def note_author(note: Any) -> str:
    """Return who wrote a note: the model's provider, or a person."""
    return fence.line(str(note.meta.get("by") or "a person"), 60)


def _session(record: Any) -> str:
    """Return the session key of a checkpoint."""
    session = record.meta.get("session")
    return (
        segment.session_key(session) if isinstance(session, str) and session else str(record.name)
    )


def sections(body: str) -> Dict[str, List[str]]:
    """Return the lines of a checkpoint by heading, without blank lines.

    "" for the lines above the first heading.
    """
    found: Dict[str, List[str]] = {}
    name = ""
    for line in body.split("\n"):
        if line.startswith("## "):
            name = line[3:].strip()
        elif line.strip():
            found.setdefault(name, []).append(line)
    return found


def headline(record: Any, units: int) -> str:
    """Return the outcome of a checkpoint's session in one line.

    The title where it tells the outcome (a commit, a plan, a note); else the title with the opening
    of the outcome.
    """
    title = fence.line(record.title, units)
    came = outcome_opening(record)
    if not came:
        return title
    return "%s → %s" % (fence.line(title, units // 2), clause(came, units // 2))


def outcome_opening(record: Any) -> str:
    """Return the first line of a checkpoint's outcome.

    "" where the title tells the outcome.
    """
    found = sections(fence.clean(record.body))
    asked = record.title.rstrip("… ").casefold()
    requests = [
        line.partition(" ")[2].partition(" ")[2].casefold() for line in found.get("Turns", ())
    ]
    if not asked or not any(request.startswith(asked) for request in requests):
        return ""
    return fence.line(found.get("Outcome", ("- ",))[0][2:], 1000)


def clause(text: str, units: int) -> str:
    """Return a line of at most `units`, cut at a clause's end.

    Where such an end is near.
    """
    if tokeniser.utf16(text) <= units:
        return text
    held = fence.clip_utf16(text, units - 2, "")
    ends = max(held.rfind(mark) for mark in (". ", "; ", ": ", ", ", "。", "、"))
    return (held[:ends] if ends > len(held) // 2 else held).rstrip() + " …"


def _is_trivial(body: str) -> bool:
    """Tell whether a checkpoint only says that its session ended."""
    if len(body) > TRIVIAL_CHARS:
        return False
    found = sections(body)
    return not found or (
        list(found) in (["Outcome"], ["Outcome", "Turns"])
        and len(found.get("Turns", ())) < 2
        and sum(map(fence.size, found["Outcome"])) < FEW_BYTES
    )
