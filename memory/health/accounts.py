"""What reached the model and why: from the receipts for what was pushed, from the loader for what
would be.

Receipts hold ids; titles are read from the records at this moment, so that a record that is gone
shows its id alone.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from memory.core import IndexFault, UsageError, config, files, layout, plaintext, records, tokeniser
from memory.hook import indexview, receipts
from memory.store import ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.hook import loader

FLOOR = 0.01  # relevance below which a candidate is not worth a line
MOST_CANDIDATES = 12
RECENT_SESSIONS = 20  # newest sessions looked at for pushes that are off
_SETTING = {
    "project": ("in this project", "`dayleaf push on project` switches them on"),
    config.WORKSPACE: ("in this project, by you", "`dayleaf push on mine` switches them on"),
    "user": ("everywhere", "`dayleaf config unset load.enabled` switches them on"),
    "environment": ("by the environment", "remove DAYLEAF_LOAD_ENABLED from the environment"),
}
# At which moment something was pushed, in the order in which they are told.
MOMENTS = ("start", "first", "reset", "later", "wall", "agent")
UNWATCHED = ("wall", "agent")  # of which no use is noted
# Keys of a receipt that are told.
SAID = (
    "t event moment source tool prompt query strategy candidates chars ms saved below unfit stale "
    "unread lost"
).split()


def _no_report() -> dict[str, Any]:
    return {"session": "", "events": [], "moments": []}


def _gave_something(row: dict[str, Any]) -> bool:
    return row.get("event") == "prompt" and bool(row.get("chosen"))


def _rows_that(
    place: layout.Place, sessions: list[str], fits: Callable[[dict[str, Any]], bool]
) -> tuple[str, list[dict[str, Any]]]:
    """Return the first session with receipts that fit, and these."""
    for name in sessions:
        rows = [row for row in _rows(place, name) if fits(row)]
        if rows:
            return name, rows
    return "", []


def report(place: layout.Place, word: str, session: str) -> dict[str, Any]:
    """Return the report of what the model was shown.

    word: a session's id, the start of a prompt's id, `last` for the latest prompt that got
        something, or "" for `session`, else for the newest session. Raises UsageError where the
        word fits no receipt.
    """
    sessions = sessions_of(place)
    if not sessions:
        return _no_report()
    if not word:
        word = session if session in sessions else sessions[0]
    if word == "last":
        name, rows = _rows_that(place, sessions, _gave_something)
        return _report(place, name, rows[-1:]) if rows else _no_report()
    if word in sessions:
        return _report(place, word, _rows(place, word))
    name, rows = _rows_that(
        place, sessions, lambda row: str(row.get("prompt", "")).startswith(word)
    )
    if rows:
        return _report(place, name, rows)
    begun = [name for name in sessions if name.startswith(word)]
    if len(begun) == 1:
        return _report(place, begun[0], _rows(place, begun[0]))
    raise UsageError(
        "nothing is known of a session or prompt '%s'; the newest session is %s"
        % (plaintext.one_line(word)[:60], sessions[0])
    )


def sessions_of(place: layout.Place) -> list[str]:
    """Return the sessions that ran here, the latest first.

    A session that was only switched on or off does not count.
    """
    return list(_latest(place))


def _latest(place: layout.Place) -> Iterator[str]:
    folder = place.receipts_folder
    try:
        found = [
            (-entry.stat().st_mtime_ns, entry.name[:-6])
            for entry in os.scandir(folder)
            if entry.name.endswith(".jsonl")
        ]
    except OSError:
        return
    yield from (name for _, name in sorted(found) if _ran(place, name))


def _ran(place: layout.Place, session: str) -> bool:
    try:
        data = files.read(place.receipts(session), receipts.LIMIT)
    except OSError:
        return False
    return any(b'"event":"%s"' % word in data for word in (b"start", b"prompt", b"wall"))


def switched_off(
    place: layout.Place, settings: config.Config, most: int = RECENT_SESSIONS
) -> list[dict[str, str]]:
    """Return the settings and sessions that switch pushes off.

    Each with `where` and `remedy`.

    Settings first, then sessions. most: number of latest sessions to check.
    """
    found = []
    if not settings["load.enabled"]:
        source = settings.sources["load.enabled"]
        where, remedy = _SETTING.get(
            source, ("by the " + source, "its load.enabled switches them on")
        )
        found.append({"where": where, "remedy": remedy})
    for at, session in enumerate(islice(_latest(place), most)):
        if receipts.session(place.receipts(session)).off:
            word = "push on --session " + session if at else "push on"
            found.append(
                {"where": "in session " + session, "remedy": "`dayleaf %s` switches them on" % word}
            )
    return found


def not_kept(settings: config.Config) -> list[dict[str, str]]:
    """Return the setting that switches capture off.

    With `where` and `remedy`; [] while capture is on.
    """
    if settings["capture.enabled"]:
        return []
    source = settings.sources["capture.enabled"]
    where, remedy = {
        config.WORKSPACE: ("in this project, by you", "`dayleaf push on mine` switches it on"),
        "capture.projects": (
            "in projects that are not listed",
            "`dayleaf push on mine` adds this one",
        ),
        "project": ("in this project", "by its .dayleaf/config.json"),
        config.UNREAD: (
            "while your settings cannot be read",
            "`dayleaf doctor` names the file to mend",
        ),
    }.get(source, ("by the " + source, "its capture.enabled switches it on"))
    return [{"where": where, "remedy": remedy}]


def each_session(place: layout.Place) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield every session with its receipts, sorted by name.

    Unreadable receipts are empty.
    """
    for name in files.list_folder(place.receipts_folder):
        if name.endswith(".jsonl"):
            yield name[:-6], _rows(place, name[:-6])


def pushes_of(place: layout.Place, id: str, most: int) -> list[dict[str, Any]]:
    """Return the pushes of one record, latest sessions first.

    session, t, event, prompt, score and reason of each. most: how many. Receipts without its id are
    not parsed.
    """
    found: list[dict[str, Any]] = []
    wanted = b'"%s"' % id.encode("utf-8", "replace")
    for session in _latest(place):
        with contextlib.suppress(OSError):
            if wanted in files.read(place.receipts(session), receipts.LIMIT):
                found += [
                    {
                        "session": session,
                        "t": row.get("t"),
                        "event": row.get("event"),
                        "prompt": row.get("prompt"),
                        "score": item[1],
                        "reason": str(item[2]),
                    }
                    for row in reversed(_rows(place, session))
                    for item in _chosen(row)
                    if item[0] == id
                ]
        if len(found) >= most:
            break
    return found[:most]


def _rows(place: layout.Place, session: str) -> list[dict[str, Any]]:
    """Return the receipts of a session, each with its `moment`."""
    try:
        rows = receipts.read(place.receipts(session))
    except OSError:
        return []
    fresh = "first"
    lost = {str(row.get("tag", "")) for row in rows if row.get("event") == "lost"} - {""}
    for row in rows:
        event = str(row.get("event"))
        if event == "start" and row.get("source") in receipts.RESETS:
            fresh = "reset"
        row["moment"] = fresh if event == "prompt" else event if event in MOMENTS else ""
        if event == "prompt":
            fresh = "later"
        if receipts.tag_of(row) in lost:
            row["lost"] = True
    return rows


# ---- by moment

Uses = set[tuple[str, str, str]]  # 8 hex of the session, 8 hex of the prompt or "", a record's id


def use_key(session: str, row: dict[str, Any], id: str) -> tuple[str, str, str]:
    """Return the ledger's key for the use of a shown record."""
    return ledger.short(session), ledger.short(str(row.get("prompt") or "")), id


def by_moment(
    sessions: Iterable[tuple[str, list[dict[str, Any]]]], uses: Uses
) -> list[dict[str, Any]]:
    """Return the number of pushes and uses by moment.

    times: receipts. given: those whose records reached the model. pushed: these records. used: how
        many of them were then used, None where nobody notes it; of starts each record counts once a
        session.
    """
    counts: dict[str, Counter[str]] = {}
    left = set(uses)
    for session, rows in sessions:
        for row in rows:
            ids = [] if row.get("lost") else [str(item[0]) for item in receipts.chosen(row)]
            keys = {use_key(session, row, id) for id in ids} & left
            left -= keys
            counts.setdefault(row["moment"], Counter()).update(
                times=1, given=bool(ids), pushed=len(ids), used=len(keys)
            )
    return [
        {
            "moment": moment,
            **{key: counts[moment][key] for key in ("times", "given", "pushed")},
            "used": None if moment in UNWATCHED else counts[moment]["used"],
        }
        for moment in MOMENTS
        if moment in counts
    ]


def _report(place: layout.Place, session: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    known = _known(place, {str(item[0]) for row in rows for item in _chosen(row)})
    uses = {
        (ledger.short(session), *use)
        for book in ledger.ledgers(place)
        for use in ledger.used_in(book, session)
    }
    events = []
    for row in rows:
        if row.get("event") == "lost":
            continue
        items = [
            {
                "id": str(item[0]),
                "title": known.get(str(item[0]), ""),
                "score": item[1],
                "reason": str(item[2]),
                "used": None  # unknown
                if row["moment"] in UNWATCHED
                else use_key(session, row, str(item[0])) in uses,
            }
            for item in _chosen(row)
        ]
        event: dict[str, Any] = {key: row[key] for key in SAID if key in row}
        events.append({**event, "chosen": items})
    return {"session": session, "events": events, "moments": by_moment([(session, rows)], uses)}


def _chosen(row: dict[str, Any]) -> list[list[Any]]:
    return [item for item in receipts.chosen(row) if len(item) == 3]


def _known(place: layout.Place, ids: set[str]) -> dict[str, str]:
    from memory.hook import at_prompt

    titles: dict[str, str] = {}
    for watch in (True, False):
        with contextlib.suppress(IndexFault, OSError):
            found = (
                at_prompt.open_or_build_index(place)
                if watch
                else indexview.open_index(place, watch=False)
            )
            try:
                titles.update(_titles(found, ids - titles.keys()))
            finally:
                found.close()
    return titles


def _titles(found: indexview.Index, ids: set[str]) -> dict[str, str]:
    titles: dict[str, str] = {}
    for id in ids:
        with contextlib.suppress(IndexFault, OSError):
            doc = found.by_id(id)
            if doc is not None:
                data = files.read(found.place.path(doc.name), 1 << 20)
                titles[id] = records.from_bytes(doc.name, data, 0.0).title
    return titles


# ---- what would be loaded


def load(place: layout.Place, settings: config.Config, prompt: str, mode: str) -> dict[str, Any]:
    """Return the loader's choice for a prompt in a new session.

    mode: the host's permission mode, or "". Raises UsageError for an empty prompt.
    """
    if not prompt:
        raise UsageError("debug load needs a prompt")
    from memory.hook import at_prompt, at_start, handoffs, loader
    from memory.hook.strategies import choose_strategy

    prompt = loader.user_text(at_prompt.start_and_end(prompt))
    found = at_prompt.open_or_build_index(place, prompt)
    try:
        state, start = receipts.Session(), ""
        shown_before: list[list[Any]] = []
        whole, begun = at_start.brief(found, handoffs.current(place))
        if choose_strategy(found.learnings, found.learning_tokens).whole:
            start, shown_before = whole, begun
        else:
            shown_before = [
                [*item[:2], item[2] + ", at the start"]
                for item in begun
                if item[2].startswith("rule: ")
            ]
        state.shown.update(item[0] for item in shown_before)
        wanted = at_prompt.wants_passages(prompt, settings, state)
        choice = at_prompt.choose(found, prompt, mode, settings, state, wanted)
        block, shown = at_prompt.with_prompt(found, choice, prompt, state, mode)
        block, shown = "\n".join(part for part in (start, block) if part), shown_before + shown
        candidates = [] if choice.strategy.whole else _candidates(found, prompt, choice, settings)
        spent = tokeniser.count_tokens(block)
        fitted = {item[0] for item in shown}
        known = {doc.id: doc.name for doc in (found.doc(pick.number) for pick in choice.picks)}
        below = [{"id": id, "relevance": score} for id, score in choice.below]
        titles = _titles(found, {*fitted, *known, *(one["id"] for one in (*candidates, *below))})
        return {
            "strategy": choice.strategy.name,
            "category": choice.category,
            "learnings": found.learnings,
            "learningTokens": found.learning_tokens,
            "candidates": choice.candidates,
            "threshold": loader.RELEVANCE,
            "picks": [
                {"id": id, "title": titles.get(id, ""), "relevance": relevance, "reason": reason}
                for id, relevance, reason in shown
            ],
            "didNotFit": [
                {"id": id, "title": titles.get(id, "")} for id in known if id not in fitted
            ],
            "below": [{**one, "title": titles.get(one["id"], "")} for one in below],
            "push": settings["load.push"],
            "considered": [{**one, "title": titles.get(one["id"], "")} for one in candidates],
            "enabled": bool(settings["load.enabled"] and settings["load.prompt"]),
            "off": switched_off(place, settings, 1),
            "characters": tokeniser.utf16(block),
            "tokens": spent,
            "saved": max(0, found.learning_tokens - spent) if block else 0,
            "block": block,
        }
    finally:
        found.close()


def _candidates(
    found: indexview.Index, prompt: str, choice: loader.Choice, settings: config.Config
) -> list[dict[str, Any]]:
    from memory.hook import loader
    from memory.hook.strategies import Membership, categories

    picked = {found.doc(pick.number).id for pick in choice.picks}
    rows: dict[str, tuple[float, list[tuple[str, float]]]] = {}
    topics: dict[str, tuple[str, ...]] = {}
    for piece in loader.pieces(prompt):
        terms = loader.damp_common_terms(tokeniser.terms(piece))
        worth = loader.term_worths(found, terms)
        for _, number in loader.search(found, terms, loader.CANDIDATES, indexview.PUSHED):
            parts, total = loader.match_document(found, number, worth)
            doc = found.doc(number)
            topics[doc.id] = doc.topics
            if total > rows.get(doc.id, (FLOOR, []))[0]:
                rows[doc.id] = (total, parts)
    order = sorted(rows.items(), key=lambda row: (-row[1][0], row[0]))[:MOST_CANDIDATES]
    table = categories(found.lists("brief").get("topics", ()), found.learnings)
    stems = frozenset(term for term, _ in tokeniser.terms(prompt))
    member = Membership(choice.category, table.get(choice.category, frozenset()) | stems)
    best = max((pick.relevance for pick in choice.picks), default=0.0)
    out = []
    for id, (total, parts) in order:
        outside = "" if any(map(member.__getitem__, topics[id])) else choice.category
        against = (
            ""
            if id in picked
            else loader.refusal(total, parts, outside)
            or (
                "below %.2f (%.1f of the best)" % (loader.NEARLY * best, loader.NEARLY)
                if total < loader.NEARLY * best
                else "load.top %d" % settings["load.top"]
            )
        )
        out.append(
            {
                "id": id,
                "relevance": round(total, 3),
                "terms": {term: round(part, 3) for term, part in parts},
                "leftOut": against,
            }
        )
    return out
