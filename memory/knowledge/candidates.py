"""What capture learned of sessions becomes candidates: compared with what is there, counted again, accepted when it comes back.

A lesson says the same as a learning that was made of the same cause, or where more than SAME of the words of both, in their
order, agree, and every identifier and number is the same; what `shell.normal` puts aside in the lines of an error may differ.
Compared are the few learnings that recall finds for it, and those archived ones that were written under the same title.  Then

    none says the same        a candidate is written: source auto, confidence low, linked to the checkpoint that tells it
    one that was archived     nothing: what was rejected or forgotten is not proposed again
    one of this session       nothing: the same capture ran twice
    any other one             the ledger gets a line `again`; a candidate of capture's that another session met is accepted

A commit that was reverted takes the candidates along that tell it, unless a person accepted them.

An accepted one says `accepted: true` and `accepted_by: dayleaf, seen in 2 sessions`, and stays automatic: what a person or an
agent wrote outranks it.  `accepted: false` takes that back for good.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from memory.capture import progress
from memory.core import StoreError, clock, config, files, records
from memory.core.layout import PRIVATE, Place
from memory.core.records import Record
from memory.recall import search
from memory.recall.question import Query
from memory.session import shell
from memory.store import ledger
from memory.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

SAME = 0.95
NEAR = 8  # learnings that a lesson is compared with
ASKED = 600  # characters of a lesson that they are looked up by
SEEN = "dayleaf, seen in 2 sessions"
_WORD = re.compile(r"[^\W_]+(?:[_./:@+-]+[^\W_]+)*|[^\w\s]")
_EXACT = re.compile(r"\d|[a-z][A-Z]|[^\W\d][_./:@][^\W\d]")
_ORIGIN = re.compile(r"(?:Commit\b|From [a-z]-|Named by the )")


def settle(place: Place, settings: config.Config, now: float, session: str = "",
           on_change: Callable[[str], None] | None = None) -> int:
    """Make candidates of what sessions taught and no record tells yet; returns how many were written.

    session: the only one to look at, "" for all of the workspace.  now: seconds since the epoch.  on_change: told the name of
    each record that was written or accepted.  Raises OSError or StoreError; what was not written is tried again next time.
    """
    folder = place.cache + "/sessions"
    written = 0
    for name in [session] if session else _sessions(folder):
        if not progress.head(folder + "/" + name + ".json").get("lessons"):
            continue
        with files.Lock(folder + "/" + name + ".lock", wait=True):
            state = progress.load(folder + "/" + name + ".json")
            while state is not None and state.lessons:
                if settings["capture.lessons"]:
                    written += _settled(place, settings, now, name, state.lessons[0], on_change)
                del state.lessons[0]
                progress.save(state)
    return written


def _sessions(folder: str) -> list[str]:
    try:
        return sorted(e.name[:-5] for e in files.posix.scandir(folder) if e.name.endswith(".json"))
    except OSError:
        return []


def _settled(place: Place, settings: config.Config, now: float, session: str, lesson: dict[str, Any],
             on_change: Callable[[str], None] | None) -> bool:
    """Write one lesson as a candidate, or count what says the same; returns whether one was written."""
    store = Store(place, settings, now, on_change)
    if "reverts" in lesson:
        _withdraw(store, lesson["reverts"])
        return False
    if any(_rejects(record, lesson) for record in store.archived("learning", lesson["title"])):
        return False
    said = words(lesson["body"])
    twin = next((record for record in near(place, settings, now, lesson) if record.meta.get(records.MADE_OF) == lesson["key"]
                 or similarity(words(record.body), said) > SAME), None)
    if twin is None:
        _add(store, session, lesson)
        return True
    book = ledger.holding(place, twin.name)
    if twin.meta.get("session") != session:
        ledger.note(book, twin.id, "again", now, session)
    if ledger.read(book).counts(twin.id).again:
        _promote(store, twin)
    return False


def _rejects(archived: Record, lesson: dict[str, Any]) -> bool:
    """Tell whether an archived learning was made of the same failure, or says the same."""
    return (archived.meta.get(records.MADE_OF) == lesson["key"]
            or similarity(words(archived.body), words(lesson["body"])) > SAME)


def near(place: Place, settings: config.Config, now: float, lesson: dict[str, Any]) -> list[Record]:
    """Return the learnings that may say the same as a lesson, by the index: the likeliest first."""
    asked = (lesson["title"] + "\n" + lesson["body"])[:ASKED]
    query = Query(asked, kinds=("learning",), limit=NEAR, since=float("-inf"))
    return [hit.record for hit in search.recall(place, settings, query, now, clock.local_offset(now)).hits]


def _withdraw(store: Store, subject: str) -> None:
    """Archive the lessons whose commit was reverted, unless a person accepted them."""
    for record in list(store.each(("learning",))):
        landed = [line for line in record.body.split("\n") if line.startswith("Commit") and line.endswith(": " + subject)]
        if landed and _is_captured(record) and record.meta.get("accepted_by", SEEN) == SEEN and (
                "accepted_by" in record.meta or "accepted" not in record.meta):
            store.archive(record.name, "its commit was reverted")


def _is_captured(record: Record) -> bool:
    """Tell whether capture wrote a record."""
    return record.source == "auto" and record.tier == PRIVATE and bool(record.meta.get("session"))


def _add(store: Store, session: str, lesson: dict[str, Any]) -> None:
    try:
        source = [store.read(lesson["checkpoint"]).id]
    except StoreError:
        source = []  # a person has removed it since
    extra = {"confidence": "low", "links": records.derived_links(source) or None, "files": list(lesson["files"]) or None,
             "commit": lesson["commit"] or None, "turn": lesson.get("turn"), "named_by": lesson.get("speaker"),
             records.MADE_OF: lesson["key"]}
    store.add("learning", lesson["title"], lesson["body"], tags=lesson["tags"], source="auto", session=session,
              extra={key: value for key, value in extra.items() if value is not None})


def _promote(store: Store, record: Record) -> None:
    """Accept a candidate of capture's, unless a person has said anything on it."""
    if _is_captured(record) and "accepted" not in record.meta:
        store.edit(record.name, {"accepted": True, "accepted_by": SEEN})


# --- how alike two learnings are

def words(body: str) -> list[str]:
    """Return the words that a learning is compared by; lines on where it comes from are left out, and what varies in errors."""
    lines = [line for line in body.split("\n") if line.strip() and not _ORIGIN.match(line)]
    return [word for line in lines for word in _WORD.findall(shell.normal(line) if line.startswith("    ") else line)]


def similarity(one: list[str], other: list[str]) -> float:
    """Return from 0 to 1 how alike two learnings are; 0 where an identifier or a number differs."""
    if not one or not other or _exact(one) != _exact(other):
        return 0.0
    low, high = ([word.lower() for word in said] for said in (one, other))
    return SequenceMatcher(None, low, high, autojunk=False).ratio()


def _exact(said: Iterable[str]) -> set[str]:
    return {word for word in said if _EXACT.search(word)}
