"""Reports of what reached the model and why, and of what the loader would choose for a prompt.

Receipts hold ids; titles are read from the present records, so a deleted record shows its id alone.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from memory.core import IndexFault, UsageError, config, files, layout, plaintext, records, tokeniser
from memory.hook import indexview, receipts
from memory.store import ledger, redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.hook import loader

LEAST_RELEVANCE = 0.01  # relevance below which a candidate is not worth a line
MOST_CANDIDATES = 12
RECENT_SESSIONS = 20  # newest sessions that are asked whether pushes are off
_SETTING = {
    "project": ("in this project", "`dayleaf push on project` switches them on"),
    config.WORKSPACE: ("in this project, by you", "`dayleaf push on mine` switches them on"),
    "user": ("everywhere", "`dayleaf config unset load.enabled` switches them on"),
    "environment": ("by the environment", "remove DAYLEAF_LOAD_ENABLED from the environment"),
}
# the moments of pushes, in the order of a report
MOMENTS = ("start", "first", "reset", "later", "wall", "agent")
UNWATCHED = ("wall", "agent")  # moments whose uses are not recorded
# keys of a receipt that a report shows
EVENT_KEYS = (
    "t event moment source tool prompt query strategy candidates chars ms saved below unfit stale "
    "unread lost"
).split()


def _find_session_with(
    place: layout.Place, sessions: list[str], fits: Callable[[dict[str, Any]], bool]
) -> tuple[str, list[dict[str, Any]]]:
    """Return (latest session with receipts that pass `fits`, those receipts)."""
    for name in sessions:
        rows = [row for row in _read_receipts(place, name) if fits(row)]
        if rows:
            return name, rows
    return "", []


def report_pushes(place: layout.Place, word: str, session: str) -> dict[str, Any]:
    """Report the records given to the model in a session or prompt.

    word: a session's id, the start of a prompt's id, `last` for the latest prompt with records, or
    "" for `session`, else the newest session. Raises UsageError where it fits no receipt.
    """
    sessions = list_sessions(place)
    if not sessions:
        return _build_report(place, "", [])
    word = word or (session if session in sessions else sessions[0])
    if word == "last":
        name, rows = _find_session_with(
            place, sessions, lambda row: row.get("event") == "prompt" and bool(row.get("chosen"))
        )
        return _build_report(place, name, rows[-1:])
    if word not in sessions:
        name, rows = _find_session_with(
            place, sessions, lambda row: str(row.get("prompt", "")).startswith(word)
        )
        if rows:
            return _build_report(place, name, rows)
        begun = [name for name in sessions if name.startswith(word)]
        if len(begun) != 1:
            raise UsageError(
                "nothing is known of a session or prompt '%s'; the newest session is %s"
                % (plaintext.one_line(word)[:60], sessions[0])
            )
        word = begun[0]
    return _build_report(place, word, _read_receipts(place, word))


def list_sessions(place: layout.Place) -> list[str]:
    """Return the sessions that ran here, latest first."""
    return list(_find_sessions(place))


def _find_sessions(place: layout.Place) -> Iterator[str]:
    folder = place.receipts_folder
    try:
        found = [
            (-entry.stat().st_mtime_ns, entry.name[:-6])
            for entry in os.scandir(folder)
            if entry.name.endswith(".jsonl")
        ]
    except OSError:
        return
    yield from (name for _, name in sorted(found) if _has_run(place, name))


def _has_run(place: layout.Place, session: str) -> bool:
    try:
        data = files.read(place.receipts(session), receipts.LIMIT)
    except OSError:
        return False
    return any(b'"event":"%s"' % word in data for word in (b"start", b"prompt", b"wall"))


def find_disabled_pushes(
    place: layout.Place, settings: config.Config, most: int = RECENT_SESSIONS
) -> list[dict[str, str]]:
    """Return each place where pushes are switched off, with its remedy.

    most: number of latest sessions to check.
    """
    found = []
    if not settings["load.enabled"]:
        source = settings.sources["load.enabled"]
        where, remedy = _SETTING.get(
            source, ("by the " + source, "its load.enabled switches them on")
        )
        found.append({"where": where, "remedy": remedy})
    for at, session in enumerate(itertools.islice(_find_sessions(place), most)):
        if receipts.read_session(place.receipts(session)).off:
            word = "push on --session " + session if at else "push on"
            found.append(
                {"where": "in session " + session, "remedy": "`dayleaf %s` switches them on" % word}
            )
    return found


def find_disabled_capture(settings: config.Config) -> list[dict[str, str]]:
    """Return the place where capture is switched off, with its remedy."""
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
        "user": ("by you", "`dayleaf config set capture.enabled true` switches it on"),
        "environment": ("by the environment", "`unset DAYLEAF_CAPTURE_ENABLED` switches it on"),
    }.get(source, ("by the " + source, "`/plugin` switches it on"))
    return [{"where": where, "remedy": remedy}]


def read_sessions(place: layout.Place) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (session, its receipts) in order; unreadable receipts are empty."""
    for name in files.list_folder(place.receipts_folder):
        if name.endswith(".jsonl"):
            yield name[:-6], _read_receipts(place, name[:-6])


def find_pushes(place: layout.Place, id: str, most: int) -> list[dict[str, Any]]:
    """Return when and why the model got a record, latest first."""
    pushes: list[dict[str, Any]] = []
    wanted = b'"%s"' % id.encode("utf-8", "replace")
    for session in _find_sessions(place):
        with contextlib.suppress(OSError):
            if wanted in files.read(place.receipts(session), receipts.LIMIT):
                pushes += [
                    {
                        "session": session,
                        **{key: row.get(key) for key in ("t", "event", "prompt")},
                        "score": item[1],
                        "reason": str(item[2]),
                    }
                    for row in reversed(_read_receipts(place, session))
                    for item in _chosen_items(row)
                    if item[0] == id
                ]
        if len(pushes) >= most:
            break
    return pushes[:most]


def _read_receipts(place: layout.Place, session: str) -> list[dict[str, Any]]:
    """Return the receipts of a session, each with its `moment`."""
    try:
        rows = receipts.read(place.receipts(session))
    except OSError:
        return []
    next_prompt = "first"
    lost = {str(row.get("tag", "")) for row in rows if row.get("event") == "lost"} - {""}
    for row in rows:
        event = str(row.get("event"))
        if event == "start" and row.get("source") in receipts.RESETS:
            next_prompt = "reset"
        row["moment"] = event if event in MOMENTS else ""
        if event == "prompt":
            row["moment"], next_prompt = next_prompt, "later"
        if receipts.get_receipt_tag(row) in lost:
            row["lost"] = True
    return rows


# ---- by moment

Uses = set[tuple[str, str, str]]  # 8 hex of the session, 8 hex of the prompt or "", a record's id


def use_key(session: str, row: dict[str, Any], id: str) -> tuple[str, str, str]:
    """Return the key by which the ledger notes the use of a shown record."""
    return ledger.hash_id(session), ledger.hash_id(str(row.get("prompt") or "")), id


def count_by_moment(
    sessions: Iterable[tuple[str, list[dict[str, Any]]]], uses: Uses
) -> list[dict[str, Any]]:
    """Count the records given and used at each moment of a session.

    times: receipts. given: receipts whose records reached the model. pushed: these records. used:
    the records then used, None where this is not recorded; at starts each record counts once a
    session.
    """
    counts: dict[str, Counter[str]] = {}
    unclaimed = set(uses)
    for session, rows in sessions:
        for row in rows:
            ids = [] if row.get("lost") else [str(item[0]) for item in receipts.list_chosen(row)]
            keys = {use_key(session, row, id) for id in ids} & unclaimed
            unclaimed -= keys
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


def _build_report(place: layout.Place, session: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    titles = _read_titles(place, {str(item[0]) for row in rows for item in _chosen_items(row)})
    uses = {
        (ledger.hash_id(session), *use)
        for book in ledger.ledgers(place)
        for use in ledger.read_session_uses(book, session)
    }
    events = []
    for row in rows:
        if row.get("event") == "lost":
            continue
        chosen = []
        for id, score, reason in _chosen_items(row):
            is_used = use_key(session, row, str(id)) in uses
            chosen.append(
                {
                    "id": str(id),
                    "title": titles.get(str(id), ""),
                    "score": score,
                    "reason": str(reason),
                    "used": None if row["moment"] in UNWATCHED else is_used,
                }
            )
        events.append({**{key: row[key] for key in EVENT_KEYS if key in row}, "chosen": chosen})
    moments = count_by_moment([(session, rows)], uses)
    return {"session": session, "events": events, "moments": moments}


def _chosen_items(row: dict[str, Any]) -> list[list[Any]]:
    return [item for item in receipts.list_chosen(row) if len(item) == 3]


def _read_titles(place: layout.Place, ids: set[str]) -> dict[str, str]:
    """Return titles by record id; a second index is asked for missing ones."""
    from memory.hook import at_prompt

    titles: dict[str, str] = {}
    for open_index in (at_prompt.open_or_build_index, partial(indexview.open_index, watch=False)):
        if ids <= titles.keys():
            break
        with contextlib.suppress(IndexFault, OSError), closing(open_index(place)) as index:
            titles.update(_read_index_titles(index, ids - titles.keys()))
    return titles


def _read_index_titles(index: indexview.Index, ids: set[str]) -> dict[str, str]:
    titles: dict[str, str] = {}
    for id in ids:
        with contextlib.suppress(IndexFault, OSError):
            doc = index.by_id(id)
            if doc is not None:
                data = files.read(index.place.path(doc.name), 1 << 20)
                record = records.from_bytes(doc.name, data, 0.0)
                if b"privat" in data.lower() or not index.is_clean(record):
                    settings = config.load_for_place(index.place, {})
                    record = redactor.clean_record(record, settings, index.place.key)
                titles[id] = record.title
    return titles


# ---- what would be loaded


def explain_load(place: layout.Place, settings: config.Config, prompt: str) -> dict[str, Any]:
    """Report which records the first prompt of a session would get, and why.

    Raises UsageError for an empty prompt.
    """
    if not prompt:
        raise UsageError("debug load needs a prompt")
    from memory.hook import at_prompt, at_start, handoffs, loader
    from memory.hook.strategies import choose_strategy

    prompt = loader.extract_user_text(at_prompt.clip_middle(prompt))
    with closing(at_prompt.open_or_build_index(place, prompt)) as index:
        brief, in_brief = at_start.build_brief(index, handoffs.read_current(place))
        if not choose_strategy(index.learnings, index.learning_tokens).whole:
            rules = [row for row in in_brief if row[2].startswith("rule: ")]
            brief = ""
            in_brief = [[id, score, reason + ", at the start"] for id, score, reason in rules]
        state = receipts.SessionState()
        state.shown.update(row[0] for row in in_brief)
        wanted = at_prompt.wants_passages(prompt, settings, state)
        choice = at_prompt.choose_for_prompt(index, prompt, "", settings, state, wanted)
        block, shown = at_prompt.build_block(index, choice, prompt, state, "")
        block = "\n".join(filter(None, (brief, block)))
        # the index may not know an edit yet
        block = redactor.clean(block, settings, place.key)
        is_whole = choice.strategy.whole
        considered = [] if is_whole else _score_candidates(index, prompt, choice, settings)
        picks = [
            {"id": id, "relevance": relevance, "reason": reason}
            for id, relevance, reason in in_brief + shown
        ]
        fitted = {row["id"] for row in picks}
        picked = dict.fromkeys(pick.doc.id for pick in choice.picks)
        unfit = [{"id": id} for id in picked if id not in fitted]
        below = [{"id": id, "relevance": score} for id, score in choice.below]
        listed = (picks, unfit, below, considered)
        titles = _read_index_titles(index, {row["id"] for rows in listed for row in rows})
        for row in itertools.chain(*listed):
            row["title"] = titles.get(row["id"], "")
        tokens = tokeniser.count_tokens(block)
        return {
            "strategy": choice.strategy.name,
            "category": choice.category,
            "learnings": index.learnings,
            "learningTokens": index.learning_tokens,
            "candidates": choice.candidates,
            "threshold": loader.RELEVANCE,
            "picks": picks,
            "didNotFit": unfit,
            "below": below,
            "push": settings["load.push"],
            "considered": considered,
            "enabled": bool(settings["load.enabled"] and settings["load.prompt"]),
            "off": find_disabled_pushes(place, settings, 1),
            "characters": tokeniser.count_utf16(block),
            "tokens": tokens,
            "saved": max(0, index.learning_tokens - tokens) if block else 0,
            "block": block,
        }


def _score_candidates(
    index: indexview.Index, prompt: str, choice: loader.Choice, settings: config.Config
) -> list[dict[str, Any]]:
    """Return the best documents for a prompt, each with why it was left out."""
    from memory.hook import loader
    from memory.hook.strategies import TopicMembership, build_categories

    picked = {pick.doc.id for pick in choice.picks}
    rows: dict[str, tuple[float, list[tuple[str, float]]]] = {}
    topics: dict[str, tuple[str, ...]] = {}
    for piece in loader.split_prompt(prompt):
        terms = loader.damp_common_terms(tokeniser.query_terms(piece))
        worth = loader.weigh_terms(index, terms)
        for _, number in loader.search(index, terms, loader.CANDIDATES, indexview.PUSHED):
            parts, total = loader.match_document(index, number, worth)
            doc = index.doc(number)
            topics[doc.id] = doc.topics
            if total > rows.get(doc.id, (LEAST_RELEVANCE, []))[0]:
                rows[doc.id] = (total, parts)
    order = sorted(rows.items(), key=lambda row: (-row[1][0], row[0]))[:MOST_CANDIDATES]
    table = build_categories(index.lists("brief").get("topics", ()), index.learnings)
    stems = frozenset(term for term, _ in tokeniser.query_terms(prompt))
    member = TopicMembership(choice.category, table.get(choice.category, frozenset()) | stems)
    best = max((pick.relevance for pick in choice.picks), default=0.0)
    least = loader.NEAR_SHARE * best

    def find_reason(id: str, total: float, parts: list[tuple[str, float]]) -> str:
        if id in picked:
            return ""
        outside = "" if any(map(member.__getitem__, topics[id])) else choice.category
        reason = loader.explain_refusal(total, parts, outside)
        if not reason and total < least:
            return "below %.2f (%.1f of the best)" % (least, loader.NEAR_SHARE)
        return reason or "load.top %d" % settings["load.top"]

    return [
        {
            "id": id,
            "relevance": round(total, 3),
            "terms": {term: round(part, 3) for term, part in parts},
            "leftOut": find_reason(id, total, parts),
        }
        for id, (total, parts) in order
    ]
