"""Hand a session's work on to the next: the handoff and the newest checkpoints.

The handoff is the record `p/checkpoints/handoff.md`, an ordinary file with `trigger: handoff`, to
be edited or deleted by hand.  Replaced or cleared it takes the name that any checkpoint has.  A
handoff that no session has had yet when another session leaves its own waits as `handoff-1.md` and
so on: the next start gives both, and then it takes an ordinary name.

Schema, version 1, of `<cache>/handoff.json`, written by the worker behind a session's start;
deleted, the count starts anew:

    {"v":1,"id":"c-1a2b3c4d","starts":3,"last":"<session> <number of its starts>"}
"""

from __future__ import annotations

from memory.core import clock, fastjson, files, layout, tokeniser
from memory.hook import fence, indexview, receipts, segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Container, Iterable, Iterator

    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.hook.indexview import Index
    from memory.store.store import Store

NAME = "p/checkpoints/handoff.md"
WAITING = tuple("p/checkpoints/handoff-%d.md" % number for number in range(1, 6))
TRIGGER = REASON = "handoff"  # in the record's frontmatter, in the receipt
_TIMED = ("Turns", "Decisions", "Taken back")  # sections whose lines begin with a minute
# checkpoints of a branch, a session or all that are read at most, other sessions that are named
LOOKED, OTHERS = 64, 5
# checkpoints of a session that are searched for refusals, and of these those that are told
EARLIER, REFUSALS = 8, 4
# of a checkpoint that may be trivial, of its outcome that says no more than farewell
TRIVIAL_CHARS, FEW_BYTES = 400, 40
_READ = 1 << 20  # bytes of the file


def read_current(place: Place) -> Record | None:
    """Return a workspace's current handoff, None if absent or empty."""
    return _read_handoff(place, NAME)


def list_waiting(place: Place) -> list[Record]:
    """Return the earlier handoffs that no session has had, oldest first."""
    handoffs = filter(None, (_read_handoff(place, name) for name in WAITING))
    return sorted(handoffs, key=lambda handoff: handoff.created)


def _read_handoff(place: Place, name: str) -> Record | None:
    try:
        data, stat = place.read(name, _READ)
    except OSError:
        return None
    from memory.core import records
    from memory.hook import documents

    record = documents.remove_private(records.from_bytes_fast(name, data, stat.st_mtime))
    return record if record.body.strip() else None


def is_handoff(record: Any) -> bool:
    """Tell whether a record is a handoff, current or earlier."""
    return bool(
        record.name == NAME or record.name in WAITING or record.meta.get("trigger") == TRIGGER
    )


def is_from_elsewhere(place: Place, record: Any) -> bool:
    """Tell whether a shared checkpoint's session ran on another machine.

    A session leaves receipts where it runs.
    """
    if record.tier != layout.SHARED:
        return False
    session = layout.valid_id(record.meta.get("session"))
    return not session or not files.exists(place.receipts(session))


def is_repetition(record: Any) -> bool:
    """Tell whether a record is a handoff made of other records."""
    return is_handoff(record) and bool(record.derived_from)


def count_starts(place: Place, id: str) -> int:
    """Return the number of session starts that showed a handoff."""
    counter = _read_counter(place)
    number = counter.get("starts")
    return number if counter.get("id") == id and isinstance(number, int) and number > 0 else 0


def record_start(place: Place, session: str) -> None:
    """Count a session's latest start if its receipt shows the handoff.

    Each start counts once, however often this is called.  Raises OSError.
    """
    rows = _read_starts(place.receipts(session))
    shown = _list_shown_ids(rows)
    if not shown:
        return
    last = "%s %d" % (session, len(rows))
    with lock(place):
        if _read_counter(place).get("last") != last:
            # a program's handoff stands below those that wait
            current = read_current(place)
            first = current.id if current and current.id in shown else shown[0]
            number = count_starts(place, first) + 1
            row = {"v": 1, "id": first, "starts": number, "last": last}
            files.replace(_counter_path(place), fastjson.dump(row).encode("ascii"))


def list_shown_waiting(place: Place, session: str) -> list[str]:
    """Return the names of waiting handoffs shown at the latest start."""
    handoffs = list_waiting(place)
    shown = _list_shown_ids(_read_starts(place.receipts(session))) if handoffs else ()
    return [handoff.name for handoff in handoffs if handoff.id in shown]


def _read_starts(path: str) -> list[dict[str, Any]]:
    """Return the receipts of a session's starts, [] if unreadable."""
    try:
        return [row for row in receipts.read(path) if row.get("event") == "start"]
    except OSError:
        return []


def _list_shown_ids(starts: list[dict[str, Any]]) -> list[Any]:
    """Return the ids of the handoffs shown at the last start."""
    rows = receipts.list_chosen(starts[-1]) if starts else ()
    return [row[0] for row in rows if row[2:] == [REASON]]


def lock(place: Place) -> files.Lock:
    """Return the lock for changes of handoffs; entering it waits or raises OSError."""
    return files.Lock(place.cache + "/handoff.lock", wait=True)


def write_handoff(
    store: Store, title: str, body: str, source: str, session: str, extra: dict[str, Any]
) -> Record:
    """Write a new handoff and rename the previous one.

    The previous takes an ordinary name, or waits where no session has had it yet.
    source: human | agent | auto.
    session: its id, or "".
    extra: more frontmatter.
    Raises UsageError where nothing is left to keep, StoreError where the file cannot be written.
    """
    with lock(store.place):
        _mark_handwritten(store)
        before = read_current(store.place)
        same = before is not None and before.meta.get("session", "") == session
        if before is not None and same and store.says_again(before, title, body):
            return store.read(before.name)
        record = store.same_lately(title, body)
        if record is None or not _is_session_handoff(record, session):
            record = store.add(
                "checkpoint",
                title,
                body,
                source=source,
                session=session,
                extra={**extra, "trigger": TRIGGER},
            )
        free = next((name for name in WAITING if not files.exists(store.place.path(name))), "")
        if free and is_current_unseen(store.place, session):
            store.promote(NAME, free)
        return store.promote(record.name, NAME)


def _is_session_handoff(record: Record, session: str) -> bool:
    return record.meta.get("trigger") == TRIGGER and record.meta.get("session", "") == session


def is_current_unseen(place: Place, session: str) -> bool:
    """Tell whether another session's handoff waits that no start has shown."""
    before = read_current(place)
    if before is None or count_starts(place, before.id):
        return False
    return not session or before.meta.get("session") != session


def clear(store: Store) -> Record:
    """Clear the handoffs: give all an ordinary name, return the last.

    No session gets them any more.  Raises StoreError.
    """
    with lock(store.place):
        _mark_handwritten(store)
        kept = [
            store.demote(name) for name in (*WAITING, NAME) if files.exists(store.place.path(name))
        ]
    return kept[-1]


def _mark_handwritten(store: Store) -> None:
    """Give a handwritten handoff its `trigger`; raises StoreError."""
    if files.exists(store.place.path(NAME)):
        before = store.read(NAME)
        if before.meta.get("trigger") != TRIGGER and before.body.strip():
            store.edit(NAME, {"trigger": TRIGGER}, bookkeeping=True)


def _counter_path(place: Place) -> str:
    return place.cache + "/handoff.json"


def _read_counter(place: Place) -> dict[str, Any]:
    try:
        row = fastjson.parse(files.read(_counter_path(place), 4096))
    except (OSError, ValueError):
        return {}
    return row if isinstance(row, dict) and row.get("v") == 1 else {}


# ---- the work of before


class EarlierWork:
    """The earlier work that a session's start shows.

    branch: the branch checked out, or "".
    record: the checkpoint to show first, or None.
    later: the later checkpoint of its session on another branch, or None.
    others: the newest checkpoint of each other session.
    last: the user's own newest checkpoint of the branch, or of any.
    own: whether the client has just compacted the session, whose own checkpoint alone counts then.
    """

    def __init__(self, branch: str, own: bool):
        self.branch, self.own = branch, own
        self.record: Any = None
        self.later: Any = None
        self.last: Any = None
        self.others: list[Any] = []


def is_ahead(record: Any, now: float) -> bool:
    """Tell whether a record is dated more than a day ahead of `now`."""
    told = clock.parse(str(record.meta.get("until") or "")) or 0.0
    return bool(0.0 < now < max(record.created, told) - clock.DAY)


def _put_ahead_last(records: Iterable[Any], now: float) -> Iterator[Any]:
    """Yield the records, the ones dated in the future last."""
    ahead = []
    for record in records:
        if is_ahead(record, now):
            ahead.append(record)
        else:
            yield record
    yield from ahead


def find_earlier_work(index: Index, source: str, session: str, now: float = 0.0) -> EarlierWork:
    """Return the newest work on this branch and of other sessions.

    The newest checkpoint of a session stands for it.  A resumed session's client still knows its
    own work; for a compacted session only its own work counts.  source: of the start's event.
    """
    work = EarlierWork(layout.read_branch(index.place.git), source == "compact")
    key = segment.session_key(session)
    if work.own:
        work.record = work.last = _find_newest_of_session(index, key)
        return work
    known = {key} if source == "resume" else set()
    if work.branch:
        _find_branch_work(index, work, known, now)
    if work.record is not None:
        key = _session_key(work.record)
        work.later = _find_later(index, key, work.record)
    known.add(key)
    _find_other_work(index, work, known, now)
    if work.record is None and work.others:
        work.record = _take_unattended(work)
    if work.last is None and work.record is not None and work.record.tier != layout.SHARED:
        work.last = work.record
    return work


def _find_later(index: Index, key: str, record: Any) -> Any:
    """Return a session's newest checkpoint if later than `record`, else None."""
    newest = _find_newest_of_session(index, key, fence.is_unattended(record))
    return newest if newest and newest.created > record.created else None


def _take_unattended(work: EarlierWork) -> Any:
    """Remove from `others` the session to show first, and return it."""
    on_branch = (other for other in work.others if _is_on_branch(other, work))
    record = next(on_branch, work.others[0])
    work.others.remove(record)
    return record


def _find_branch_work(index: Index, work: EarlierWork, known: Container[str], now: float) -> None:
    """Set `work.record` and `work.last` to the branch's newest checkpoints.

    known: keys of sessions that need no telling.
    """
    docs = index.newest(segment.branch_term(work.branch), LOOKED)
    for record in _put_ahead_last(_read_work_checkpoints(index, docs), now):
        if not _is_on_branch(record, work):
            continue
        if work.last is None and _is_users_own(record):
            work.last = record
        is_wanted = work.record is None and _session_key(record) not in known
        if is_wanted and not fence.is_unattended(record):
            work.record = record
        if work.record is not None and work.last is not None:
            break


def _find_other_work(index: Index, work: EarlierWork, known: set[str], now: float) -> None:
    """Add the newest checkpoint of each session not known yet."""
    docs = (doc for _, doc in zip(range(LOOKED), _iterate_checkpoints(index)))  # the first ones
    for record in _put_ahead_last(_read_work_checkpoints(index, docs), now):
        if work.last is None and _is_users_own(record):
            work.last = record
        if _is_untold(index, record, known):
            known.add(_session_key(record))
            if work.record is None and not fence.is_unattended(record):
                work.record = record
            elif len(work.others) < OTHERS:
                work.others.append(record)
        if len(work.others) == OTHERS and work.last is not None:
            break


def _is_untold(index: Index, record: Any, known: Container[str]) -> bool:
    """Tell whether a record may stand for a session that is not known yet.

    Where a program went on with a person's session, the person's own work tells it.
    """
    key = _session_key(record)
    if key in known:
        return False
    return not fence.is_unattended(record) or _find_newest_of_session(index, key, False) is None


def _is_on_branch(record: Any, work: EarlierWork) -> bool:
    return bool(work.branch) and bool(record.meta.get("branch") == work.branch)


def has_news(index: Index, path: str, session: str) -> bool:
    """Tell whether other sessions wrote records since this one's last start.

    path: of the session's receipts; where they do not say when, all is news.  session: its id.
    """
    since = _find_last_brief_time(path)
    if since is None:
        return True
    new = [
        doc
        for which in ("learnings", "rules", "plans", "checkpoints")
        for doc in index.listed(which)
        if max(doc.created, doc.mtime_ns / 1e9) >= since
    ]
    if any(doc.kind != "checkpoint" or doc.name in (NAME, *WAITING) for doc in new):
        return True
    key = segment.session_key(session)
    return any(_session_key(record) != key for record in _read_work_checkpoints(index, new))


def _find_last_brief_time(path: str) -> float | None:
    """Return the instant of the last brief in receipts, or None."""
    starts = [row for row in _read_starts(path) if row.get("source") != "compact"]
    times = [str(row.get("t")) for row in starts if row.get("brief")]
    return clock.parse(times[-1]) if times else None


def _is_users_own(record: Any) -> bool:
    return record.tier != layout.SHARED and not fence.is_unattended(record)


def _iterate_checkpoints(index: Index) -> Iterator[Any]:
    """Yield the listed checkpoints, newest first."""
    # looked up on demand: a start wants few
    new = [doc for doc in index.delta.docs if doc.ordinal == 0 and doc.kind == "checkpoint"]
    new.sort(key=_newest_first_key, reverse=True)
    for number in index.live(index.lists("brief").get("checkpoints", ())):
        doc = index.doc(number)
        while new and _newest_first_key(new[-1]) < _newest_first_key(doc):
            yield new.pop()
        yield doc
    yield from reversed(new)


def _newest_first_key(doc: Any) -> tuple[int, str]:
    return -doc.created, doc.name


def _read_work_checkpoints(index: Index, docs: Iterable[Any]) -> Iterator[Any]:
    """Yield the re-read checkpoints that tell of work.

    No handoffs, no trivial ones, none from other machines.
    """
    checkpoints = (doc for doc in docs if doc.kind == "checkpoint" and doc.name != NAME)
    for record in indexview.reread(index, checkpoints):
        if (
            record.kind == "checkpoint"
            and not is_handoff(record)
            and not is_from_elsewhere(index.place, record)
            and not _is_trivial(record.body)
        ):
            yield record


def _find_newest_of_session(index: Index, key: str, unattended: bool = True) -> Any:
    """Return a session's newest checkpoint, or None.

    unattended: take programs' checkpoints too.
    """
    docs = index.newest(segment.session_term(key), LOOKED) if key else ()
    records = _read_work_checkpoints(index, docs)
    wanted = (record for record in records if unattended or not fence.is_unattended(record))
    return next((record for record in wanted if _session_key(record) == key), None)


def find_earlier_refusals(index: Index, record: Any) -> list[str]:
    """Return what the user refused earlier in a checkpoint's session, newest first."""
    key = _session_key(record)
    lines: list[str] = []
    for other in _read_work_checkpoints(index, index.newest(segment.session_term(key), EARLIER)):
        if _session_key(other) == key and other.created < record.created:
            decisions = read_sections(other).get("Decisions", [])
            lines += filter(_is_refusal, reversed(decisions))
    return lines[:REFUSALS]


def _is_refusal(decision: str) -> bool:
    # of `- 14:03 refused …`
    return decision[8:].startswith("refused ") and "?" not in decision.rpartition(': "')[2]


def find_note(index: Index, record: Any) -> Any:
    """Return the note of a checkpoint's session, or None.

    None too where the session went on after the note.
    """
    session = fence.field(record, "session")
    if not session:
        return None
    docs = index.newest(segment.session_term(session), LOOKED)
    notes = indexview.reread(index, [doc for doc in docs if doc.kind == "note"], whole=True)
    return next((note for note in notes if covers(note, record)), None)


def covers(note: Any, record: Any) -> bool:
    """Tell whether a note covers all of a checkpoint."""
    if note.meta.get("session") != record.meta.get("session"):
        return False
    return str(note.meta.get("until") or "") >= str(record.meta.get("until") or "")


def split_note_sections(note: Any) -> dict[str, list[str]]:
    """Return a note's lines by heading, its summary under "", without quotes."""
    sections: dict[str, list[str]] = {}
    for name, lines in split_sections(fence.clean(note.body)).items():
        kept = sections[name] = []
        for line in lines:
            bare = line.strip()
            if bare.startswith("why: ") and kept:
                kept[-1] += " (%s)" % bare
            elif not bare.startswith(">"):
                kept.append(line)
    sections[""] = [" ".join(sections[""])] if sections.get("") else []
    return sections


def format_note_author(note: Any) -> str:
    """Return who wrote a note: the model's provider, or a person."""
    return fence.clean_line(str(note.meta.get("by") or "a person"), 60)


def _session_key(record: Any) -> str:
    return segment.session_key(fence.field(record, "session")) or str(record.name)


def read_sections(record: Any) -> dict[str, list[str]]:
    """Return a checkpoint's cleaned lines by heading, in local time."""
    sections = split_sections(fence.clean(record.body))
    for name in _TIMED:
        if name in sections:
            sections[name] = fence.localize_times(sections[name], record.created)
    return sections


def split_sections(body: str) -> dict[str, list[str]]:
    """Return a checkpoint's lines by heading; lines before the first under ""."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in body.split("\n"):
        if line.startswith("## "):
            name = line[3:].strip()
        elif line.strip():
            sections.setdefault(name, []).append(line)
    return sections


def format_headline(record: Any, units: int) -> str:
    """Return a checkpoint's title and the opening of its outcome.

    The title alone where it tells the outcome (a commit, a plan, a note).
    """
    title = fence.clean_line(record.title, units)
    outcome = extract_outcome(record)
    if not outcome:
        return title
    return "%s → %s" % (fence.clean_line(title, units // 2), clip_at_clause(outcome, units // 2))


def extract_outcome(record: Any) -> str:
    """Return a checkpoint's first outcome line, "" if the title tells it."""
    sections = split_sections(fence.clean(record.body))
    opening = record.title.rstrip("… ").casefold()
    # a turn: `- 14:03 request → …`
    lines = [line.partition(" ")[2] for line in sections.get("Turns", ())]
    requests = [line.partition(" ")[2].casefold() for line in lines]
    if not opening or not any(request.startswith(opening) for request in requests):
        return ""
    return fence.clean_line(sections.get("Outcome", ("- ",))[0][2:], 1000)


def clip_at_clause(text: str, units: int) -> str:
    """Clip a line to `units`, at a clause's end where near."""
    if tokeniser.count_utf16(text) <= units:
        return text
    clipped = fence.clip_utf16(text, units - 2, "")
    end = max(clipped.rfind(mark) for mark in (". ", "; ", ": ", ", ", "。", "、"))
    return (clipped[:end] if end > len(clipped) // 2 else clipped).rstrip() + " …"


def _is_trivial(body: str) -> bool:
    """Tell whether a checkpoint only says that its session ended."""
    if len(body) > TRIVIAL_CHARS:
        return False
    sections = split_sections(body)
    if not sections:
        return True
    names = list(sections)
    if names not in (["Outcome"], ["Outcome", "Turns"]) or len(sections.get("Turns", ())) > 1:
        return False
    return sum(map(fence.count_bytes, sections["Outcome"])) < FEW_BYTES
