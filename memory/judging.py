"""The verb feedback: whether a record helped or misled, said by a person or the model."""

from __future__ import annotations

from memory import clock, ledger, terminal
from memory.call import Call, record_json, session_of, shown, unknown_word
from memory.errors import StoreError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.paths import Place
    from memory.records import Record

WORDS = ("up", "down")
REASON, REASONS = 300, 10  # characters of a reason that are kept, and the latest reasons of a record
APPROVED = ("rule", "resource")  # kinds that bind or run by the checksum of their bytes: nothing is written into them


def feedback(call: Call) -> int:
    """Note that a record helped or misled; the ranking and the pushes follow at once."""
    from memory import lookup

    id, word, why = _words(call)
    found, place = lookup.find_anywhere(call.place, call.settings, id)
    if why and found.kind in APPROVED:
        raise UsageError("a reason in %s would take its approval back; leave it out, or `dayleaf edit %s`" % (found.id, found.id))
    if why:
        found = _explained(call, place, found, "%s %s: %s" % (clock.day(call.now), word, why))
    book = ledger.holding(place, found.name)
    before = ledger.read(book).counts(found.id)
    ledger.note(book, found.id, word, call.now, session_of(call))
    counts = ledger.settle(book).counts(found.id)
    below = ledger.misleads(counts.up, counts.down)
    value = {**record_json(found), "path": place.path(found.name), "feedback": word, "why": why, **of(counts, call.now),
             "misled": below}
    return call.answer(value, ["noted: %s is %s  %s" % (found.id, word, terminal.one_line(found.title)),
                               "  " + said(counts, call.now), *_effect(found, before, counts, below)])


def _effect(found: Record, before: ledger.Counts, now: ledger.Counts, below: bool) -> list[str]:
    """Say what a word changed, for a person.  before, now: what became of the record, without the word and with it.  below:
    whether the record misled more often than it helped."""
    from memory.rank import outcome_factor

    if (before.up, before.down) == (now.up, now.down):
        return ["  this session said so before; nothing changes"]
    lower = outcome_factor(now.up, now.down) < outcome_factor(before.up, before.down)
    pushed = below and found.kind == "learning" and found.accepted
    return [*(["  it ranks lower than before"] if lower else []),
            *(["  a prompt gets it last, marked as misleading"] if pushed else [])]


def of(counts: ledger.Counts, now: float) -> dict[str, object]:
    """Return what became of a record as plain data.  now: seconds since the epoch."""
    return {"uses": counts.uses, "up": counts.up, "down": counts.down, "learnedAgain": counts.again,
            "lastUse": clock.iso(min(counts.last, now)) if counts.last else ""}


def said(counts: ledger.Counts, now: float) -> str:
    """Write what became of a record for a person: `used 3 times, up 1, down 0, last 2d ago`.  now: seconds since the epoch."""
    ago = terminal.age(now - counts.last)
    return ", ".join(part for part in (
        "used %s" % terminal.count(counts.uses, "time"), "up %d" % counts.up, "down %d" % counts.down,
        "learned again %s" % terminal.count(counts.again, "time") if counts.again else "",
        ("last now" if ago == "now" else "last %s ago" % ago) if counts.last else "") if part)


def reasons(found: Record) -> list[str]:
    """Return the reasons that feedback on a record gave, oldest first."""
    given = found.meta.get("feedback")
    return [str(reason) for reason in given] if isinstance(given, list) else [str(given)] if given else []


def _words(call: Call) -> tuple[str, str, str]:
    """Return (id, up or down, the reason or ""); what stands behind the two words is the reason too."""
    id, word, rest = (*" ".join(call.words).split(None, 2), "", "", "")[:3]
    if id in WORDS and word not in WORDS:
        raise UsageError("the id comes first: `dayleaf feedback %s %s`" % (shown(word) or "ID", id))
    if not word:
        raise UsageError("feedback wants an ID and up or down, such as `dayleaf feedback l-1a2b3c4d down`")
    if word not in WORDS:
        raise unknown_word("feedback", word, WORDS)
    given = call.options.why if call.options.why is not None else rest
    why = terminal.one_line(given.strip().removeprefix("--why").strip())
    why = why[1:-1].strip() if len(why) > 1 and why[0] == why[-1] and why[0] in "'\"" else why
    if call.options.why is not None and not why:
        raise UsageError("an empty reason; leave --why out")
    return id, word, terminal.at_word(why, REASON)


def _explained(call: Call, place: Place, found: Record, reason: str) -> Record:
    """Add a reason to the key `feedback` of a record, and return it as it is then; raises StoreError."""
    from memory.redact import strip_private
    from memory.store import Store

    store = Store(place, call.settings, call.now, call.changed.append if place.key == call.place.key else None)
    try:
        changed = store.edit(found.name, {"feedback": [*reasons(found), strip_private(reason).strip()][-REASONS:]})
    except StoreError as error:
        raise StoreError("%s; nothing was noted, without --why it is" % error) from None
    call.indexed()
    return changed
