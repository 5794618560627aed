"""What was done since a time, for a standup, from checkpoints and conversations and without a model.

A checkpoint belongs to the day of the last thing that it tells, so that a session which goes on for days is told for each; what
came out of it is taken from the turns of its conversation, else from its own lines.  Sessions of one branch are told as one.
The files are read, not the index: what a checkpoint was updated with is in no list there.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from memory.capture import checkpointpage, choices, conversationfile, conversationpage, turns, upshot
from memory.capture.checkpointpage import LEFT, ON_THE_WAY
from memory.capture.gist import UNANSWERED, outcome, topic, wide, wish
from memory.capture.turns import FILE, LINK, MERGED, Turn
from memory.capture.upshot import Upshot
from memory.core import StoreError, clock, walk
from memory.core.config import Config
from memory.core.layout import GLOBAL, TRUNKS, Place
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.hook.handoffs import repeats
from memory.knowledge import outlived
from memory.recall import lookup, search
from memory.recall.question import Query
from memory.session import deeds
from memory.store.redactor import strip_private, without_private
from memory.store.store import Store

# Weight that has a place beside any line, else that of the first; of both, for an effect, and among few branches.
_TELLING, _EFFECT, _ROOM, _FEW = 5.0, 0.8, 0.5, 3
_STEP = 6.0  # what a deed weighs that has a place beside another, though it tells no effect
_WEAK = 3.0  # what a result weighs that tells less than the name of its branch
_TELLS_OF = 10  # of how much a line tells, what counts beside how much was done
# Likeness of lines that tell the same, of one that tells no more than the first; more, of two faults that were fixed.
_AGAIN, _LIKE, _FAULTS = 0.6, 0.5, 0.15
_QUESTION = re.compile(r"(?:does|do|did|how|what|why|when|where|which|who|is|are)\b", re.I)  # begins a title that names no work
_LOOKING = re.compile(r"\A(?:debug|investigate|review|check)\s*:\s*", re.I)
_OF_PAGE = re.compile(r" \([\w.-]+\.(?:md|mdx|rst|txt|adoc)\)\Z")
_QUOTES = re.compile(r"`[^`]+`|\"[^\"]+\"")
_RENAMES = re.compile(r"(?:refactor\b|(?:\w+(?:\([\w-]+\))?: )?rename\b)", re.I)  # a commit that changes nothing for users
_THE = re.compile(r"(?:[Nn]ow,? )?[Tt]he ((?:[a-z][\w-]* ){1,2})")  # speaks of something as known
_QUOTED = re.compile(r"`([^`]+)`")
_MERGES = re.compile(r"\bmerge\b", re.I)  # a next step that a branch which was merged has behind it
KINDS = ("learning", "rule", "plan")  # counted in one line each
MOST_WRITTEN, _NAMED = 1000, 4  # records that are counted; files that stand for work which nothing else names
_WORKED, _ASKED, _DONE = "worked on ", "asked for: ", "done as asked: "  # before files, and a request, of which no outcome tells
_SAYS_DONE = re.compile(r"\W*(?:all )?(?:done|fixed|updated|finished)\b", re.I)
NEXT, UNDECIDED, _UNDER_WAY, _ABOUT, _OPENED = "next: ", "undecided: ", "in progress: ", "about to: ", "pull request "


class Work(NamedTuple):
    """What one session did on one day, or one note without a session.

    day: local, `2026-11-20`.  at: instant of the last thing told, seconds since the epoch.  ids: of its checkpoints, oldest
    first.  came: what came out of it, what tells most first.  parts: lines by name, see `checkpointpage.Outline`.  name: its
    title, "" where that names what was taken back.  asked: the last request that files were changed for, and whether its reply
    says that it is done; "" where it leans on others.  pull: how its pull request stands, as far as anybody saw.
    """

    session: str
    day: str
    at: float
    title: str
    branch: str
    ids: Tuple[str, ...]
    came: Tuple[Upshot, ...]
    parts: Dict[str, Tuple[str, ...]]
    name: str = ""
    asked: str = ""
    pull: str = ""


class Strand(NamedTuple):
    """What was done on one branch, or on one topic where sessions share a trunk.

    day, first: local, of its newest and of its oldest work.  name: of the branch.  came: lines, what tells most
    first.  open: `open: …`, `in progress: …` and `next: …`, on the newest day of a branch alone.  weight: how much was done.
    minor: its name tells as much as its lines, which are details of the code or of tests.  pull: of its newest work.
    files: that stand for it where neither name nor lines tell anything.
    """

    day: str
    first: str
    name: str
    came: Tuple[str, ...]
    open: Tuple[str, ...]
    weight: float
    minor: bool = False
    pull: str = ""
    files: str = ""


class Space(NamedTuple):
    """A workspace, or `global`: the work in it, newest first, and (id, title) of what was written by kind."""

    workspace: str
    work: Tuple[Work, ...]
    written: Dict[str, Tuple[Tuple[str, str], ...]]


class Told(NamedTuple):
    """A standup.  asked: the workspace's name, or `all`.  since, until: seconds since the epoch, None where it goes on to now.
    offset: seconds that local time is ahead of UTC."""

    asked: str
    since: float
    offset: float
    spaces: Tuple[Space, ...]
    until: Optional[float] = None


class _Stretch(NamedTuple):
    """What checkpoints of a session tell of one day on one branch.  run: how many branches it was on before."""

    day: str
    run: int
    branch: str
    told: List[Tuple[float, Record]]


def gather(place: Place, settings: Config, workspace: str, since: float, now: float, offset: float,
           until: Optional[float] = None) -> Told:
    """Find what was done from an instant on, or from one to another; workspaces where nothing was are left out.

    workspace: "" for the present one, a name, or `all`.  since, now, until: seconds since the epoch.  offset: seconds that local
    time is ahead of UTC.  Raises UsageError for an unknown workspace.
    """
    places = lookup.workspaces(place, workspace)
    query = Query(kinds=KINDS, since=since, until=until, limit=MOST_WRITTEN)
    written: Dict[str, List[Record]] = {}
    for hit in search.recall(place, settings, query, now, offset, places).hits:
        if hit.record.accepted:
            written.setdefault(hit.workspace, []).append(hit.record)
    spaces = []
    everyone = [("global", ())] if places[0].key == place.key else []  # what is true everywhere was not written there
    for key, work in [*((p.key, _work(p, settings, since, now, offset, until)) for p in places), *everyone]:
        records = written.get(key, [])
        kinds = {kind: tuple((r.id, strip_private(r.title)) for r in records if r.kind == kind) for kind in KINDS}
        if work or records:
            spaces.append(Space(key, work, kinds))
    return Told("all" if workspace == "all" else places[0].key, since, offset, tuple(spaces), until)


def _work(place: Place, settings: Config, since: float, now: float, offset: float, until: Optional[float]) -> Tuple[Work, ...]:
    """Return the work of one workspace, newest first."""
    found, talks = _records(place, settings, since, now)
    found = [(at, record) for at, record in found if until is None or at < until]
    stretches: Dict[str, List[_Stretch]] = {}
    for at, record in sorted(found, key=lambda pair: (pair[0], pair[1].id)):
        day, branch = clock.day(at + offset), _text(record.meta.get("branch"))
        of = stretches.setdefault(_text(record.meta.get("session")) or record.id, [])
        moves = of and of[-1].branch not in (branch, *TRUNKS)  # what was begun on a trunk goes along
        if not of or moves or of[-1].day != day:
            of.append(_Stretch(day, of[-1].run + bool(moves) if of else 0, branch, []))
        of[-1] = of[-1]._replace(branch=branch, told=[*of[-1].told, (at, record)])
    seen = [(_at(turn), piece.text, piece.name) for held in talks.values() for turn in held for piece in turn.pieces
            if piece.kind == MERGED and (until is None or _at(turn) < until)]
    work: List[Work] = []
    for session, of in stretches.items():
        held = [turn for turn in talks.get(session, ()) if _at(turn) > since - 60]
        parts = conversationfile.portions(held, [one.told[-1][0] for one in of])
        for number, (one, own) in enumerate(zip(of, parts), 1):
            on = any(parts[number:]) and one.run in [other.run for other in of[number:] or [one]]
            told = _told(one.day, one.told, own, on)
            why = outlived.abandoned(one.branch, own, next(filter(None, parts[number:]), ()))
            told = told if why is None else told._replace(came=(Upshot(_TELLING, why),), name="", asked="", parts={
                **told.parts, **dict.fromkeys(("outcome", "failing", "open", "next", "undecided"), ())})
            work.append(told._replace(pull=_pull(told, own, seen)))
    return tuple(sorted(work, key=lambda one: (-one.at, one.ids)))


def _at(turn: Turn) -> float:
    return clock.parse(turn.at) or 0.0


def _records(place: Place, settings: Config, since: float, now: float) -> Tuple[
        List[Tuple[float, Record]], Dict[str, Tuple[Turn, ...]]]:
    """Return (instant of the last thing told, checkpoint) from an instant on, and the turns of sessions by their id.

    Handoffs that repeat checkpoints are none.  Private parts are left out before anything takes the lines apart.
    """
    store, found, seen = Store(place, settings, now), [], set()
    talks: Dict[str, Tuple[Turn, ...]] = {}
    for name, _, mtime_ns, _ in walk.walk(place, ("checkpoint", "conversation"))[0]:
        parts = name.split("/")
        if name[0] == GLOBAL or mtime_ns / 1e9 < since and parts[2][:10] < clock.day(since):
            continue
        try:
            record = store.read(name)
        except StoreError:
            continue
        told = [clock.parse(_text(record.meta.get(key))) for key in ("until", "updated")]
        at = max([record.created, *(instant for instant in told if instant)])
        if at < since:
            continue
        if record.kind == "conversation":
            talks[_text(record.meta.get("session"))] = conversationpage.parse(
                without_private(record).body, clock.day(record.created))
        elif record.kind == "checkpoint" and not repeats(record) and record.id not in seen:
            seen.add(record.id)
            found.append((at, without_private(record)))
    return found, talks


def _pull(work: Work, held: Sequence[Turn], seen: Sequence[Tuple[float, str, str]]) -> str:
    """Return how the branch of some work was merged after its last edit, as far as any session did or saw, else what was opened.
    seen: instant, branch and number of each merge."""
    last = max((_at(turn) for turn in held if any(piece.kind == FILE for piece in turn.pieces)), default=work.at)
    own = ["#" + piece.text.rstrip("/").rpartition("/")[2] for turn in held for piece in turn.pieces if piece.kind == LINK]
    first = {(branch, number): at for at, branch, number in sorted(seen, reverse=True)}  # a log shows old merges again
    numbers = [(len(number), number) for (branch, number), at in first.items() if last < at and branch in (work.branch, *own)]
    return " #".join(filter(None, ("merged", max(numbers)[1]))) if numbers else _OPENED + own[-1] if own else ""


def _told(day: str, group: Sequence[Tuple[float, Record]], held: Sequence[Turn], went_on: bool) -> Work:
    """Tell several checkpoints of one session as one: what was done adds up, what is open comes from the newest.

    held: the turns that they tell, empty where no conversation has them.  went_on: later turns follow, so that what was in the
    middle then is told by them.
    """
    at, newest = group[-1]
    told = [checkpointpage.outline(record) for _, record in group]
    parts = {name: tuple(dict.fromkeys(line for one in told for line in getattr(one, name)))
             for name in ("commits", "files", "decisions", "fixed", "said")}
    parts.update((name, getattr(told[-1], name)) for name in ("outcome", "failing", "open", "next"))
    parts["next"] = tuple(choices.still_next(parts["next"], held))
    parts["undecided"] = () if went_on else tuple(choices.undecided(held))
    stand = choices.standing(held)
    name = title = one_line(newest.title)
    undone = any(title == topic(turn.request) or upshot.best(outcome(turn)).lower().startswith(title.lower())
                 for turn in held if turn not in stand)
    if undone or any(line.startswith(LEFT) for line in parts["outcome"]):
        name = ""
    if went_on:
        parts["outcome"] = tuple(line for line in parts["outcome"] if not line.startswith(LEFT))
    if parts["said"] and not any(one.outcome for one in told):
        came = [Upshot(3.0, line) for line in parts["said"]]
    elif held:
        came = upshot.of_turns(stand, name, parts["commits"])
    else:
        came = upshot.of_lines([line for one in told for line in one.outcome], title, parts["commits"])
    if held and not (parts["files"] or parts["commits"] or any(deeds.REPORTS.match(one.line) for one in came)) and (
            deeds.is_named(title)):
        came = []  # of what only was looked into, its name tells more than an answer
    changed = [turn for turn in held if any(piece.kind == FILE for piece in turn.pieces)]
    before = [topic(turn.request) for turn in changed[:-1]] if not came else []  # what was asked for first may be so no more
    asked = wish(changed[-1].request, upshot.LINE) if changed and changed[-1] in stand else ""
    asked = asked and (_DONE if _SAYS_DONE.match(outcome(changed[-1])) else _ASKED) + asked
    return Work(_text(newest.meta.get("session")), day, at, title, _text(newest.meta.get("branch")),
                tuple(record.id for _, record in group), tuple(came), parts, "" if undone or title in before else title, asked)


def strands(every: Sequence[Work], by_day: bool = True) -> Tuple[Strand, ...]:
    """Bring together the work of one workspace by branch, newest days first, of a day first where most came out.

    every: newest first.  by_day: each day by itself, not all of them as one.
    """
    groups: Dict[Tuple[str, str], List[Work]] = {}
    for work in _standing(every):
        topic = work.session or work.ids[0]
        groups.setdefault((work.day if by_day else "", topic if work.branch in TRUNKS else work.branch), []).append(work)
    found, known, came_of = [], set(), {work.ids for work in every if work.came}
    many = Counter(day for day, _ in groups)
    for (day, name), group in groups.items():
        still = () if name in known else _still(group[0])
        known.add(name)
        untold = not any(work.came for work in group) and came_of & {work.ids for work in group}
        found.append(_strand(name, group, still, many[day] <= _FEW, bool(untold)))
    found = sorted((one for one in found if one.came or one.open), key=lambda one: -one.weight)
    return tuple(sorted(found, key=lambda one: one.day, reverse=True))


def _strand(name: str, group: Sequence[Work], still: Sequence[str], few: bool, untold: bool) -> Strand:
    """Tell some work, newest first, as one.  still: what is open.  few: there is room for more.  untold: others tell it."""
    last, files = group[0], [_WORKED + _files(group[0])]
    came = upshot.distinct(conversationpage.about(
        (one for work in group for one in work.came), "" if name in TRUNKS else name))
    commits = sum(len(work.parts["commits"]) for work in group)
    weight = sum(bool(work.parts["files"]) + 0.1 for work in group) + 2 * commits
    weight += max((one.weight for one in came), default=0.0) / _TELLS_OF
    clear = _clear(came, few, upshot.words_of(name.replace("-", " ")))
    named = [] if clear or still or untold else _title(last)
    rest = [one.line for one in sorted(came, key=lambda one: bool(deeds.SIDE.search(one.line)))[:1]]
    lines = [one.line for one in clear][:1 + len(group) + commits] or (named if named != files else rest or named)
    bare = _UNDER_WAY.rstrip(": ")
    still = tuple(line for line in still if not lines or line != bare)  # beside results it says nothing
    told = lines and lines != files and deeds.in_words(lines[0]) > _FEW and not deeds.ORDER.match(lines[0]) and (
        lines[0].startswith(upshot.WORKED) or not deeds.is_aside(lines[0]))
    says = last.branch not in TRUNKS and conversationpage.named_by(last.branch)  # more than a ticket
    only = _files(last) if lines == files and last.branch and not says else ""
    weak = clear[0].weight < _WEAK if clear else not told
    minor = bool(says) and (still == (bare,) or weak and not still) or bool(only) and not still
    pull = next((work.pull for work in group if work.pull and (work is last or work.pull.startswith(_OPENED))), "")
    return Strand(last.day, group[-1].day, last.branch, tuple(lines), still, weight, minor, pull, only)


def _standing(every: Sequence[Work]) -> Iterator[Work]:
    """Yield work, newest first, without what newer work took out again or tells too; a commit is told where it was made."""
    newer: List[str] = []
    for work in every:
        came = tuple(one for one in work.came if not any(
            outlived.undoes(line, one.line) or one.at and _is_again(line, one.line) for line in newer))
        if work.came and work.came[0] not in came:  # what it came to is told; what went along with it needs no telling
            came = tuple(_plain(came))
        yield work._replace(came=came)
        newer += [one.line for one in came]


def _clear(found: Sequence[Upshot], few: bool, known: Set[str]) -> List[Upshot]:
    """Return the first of some upshots, and of the others what a teammate wants to know beside it: commits, and effects.

    Empty where all of them tell details of the code or of tests.  found: by weight.  few: there is room for more.  known: the
    words of the branch's name.
    """
    made = [one for one in found if deeds.COMMITTED.search(one.line)]
    made = [one for one in made if not deeds.CHORE.match(one.line)] or made
    told = [one for one in found if one in made or _plain([one]) and not deeds.COMMITTED.search(one.line)]
    steps = [one for one in made if deeds.inner(one.line) or _RENAMES.match(one.line)]
    return [one for one in told if one is told[0] or one not in steps and (
        one in made or _is_beside(one, told[0], few, known))]


def _plain(found: Sequence[Upshot]) -> List[Upshot]:
    """Return upshots without those that tell the code's names or the tests alone."""
    return [one for one in found if one.told or not upshot.is_weak(one.line)]


def _is_beside(one: Upshot, first: Upshot, few: bool, known: Set[str]) -> bool:
    """Tell whether a line is worth a place beside the first one: another effect, without the code's names."""
    least = min(first.weight, _TELLING) * (_ROOM if few else _EFFECT if deeds.NOW.search(one.line) else 1)
    detail = deeds.inner(one.line) or deeds.MINOR.search(one.line) or one.line.endswith("…") or _OF_PAGE.search(one.line)
    words = upshot.words_of(deeds.without_inner(one.line)) & upshot.words_of(deeds.without_inner(first.line))
    mended = one.line.startswith("Fix") and first.line.startswith("Fix") and len(words) > 1
    noted = deeds.DOCUMENTS.search(one.line) and not deeds.DOCUMENTS.search(first.line)
    effect = deeds.NOW.search(one.line) or deeds.PASSIVE.search(one.line) or wide(one.line)
    step = deeds.ORDER.match(one.line) or not effect and one.weight < _STEP
    left = step or detail or mended or noted or _is_strange(one.line, known | upshot.words_of(first.line))
    return one.weight >= least and not (left or _is_again(one.line, first.line, _LIKE))


def _is_strange(line: str, known: Set[str]) -> bool:
    """Tell whether a line speaks of two, or of a thing as known that is not in the words before it, or quotes an example."""
    thing = _THE.match(line)
    quoted = [one.strip('`"') for one in _QUOTES.findall(line)]
    points = deeds.POINTS.match(line) or line.startswith("Both ") or thing and not upshot.words_of(thing[1]) & known
    return bool(points) or len(quoted) > len(set(quoted))


def _is_again(one: str, other: str, least: float = _AGAIN) -> bool:
    """Tell whether two lines of different work tell the same; a short one is not told by one that has its words.

    What quotes other things than the other does tells something else.
    """
    first, second = (set(_QUOTED.findall(line)) for line in (one, other))
    apart = first and second and first.isdisjoint(second)
    least += _FAULTS * (one.startswith(upshot.FIXED) and other.startswith(upshot.FIXED))
    return not apart and turns.cosine(upshot.words_of(one), upshot.words_of(other)) >= least


def _title(work: Work) -> List[str]:
    """Name work of which nothing tells what came out, where its title tells something."""
    asks = work.parts["files"] and _QUESTION.match(work.name)
    if deeds.is_named(work.name) and work.name and not asks or not work.session:
        looked = "looked into: " + _LOOKING.sub("", work.title)
        return [upshot.as_line(work.title) if work.parts["files"] else looked if work.session else work.title]
    names = _files(work)
    if work.asked:
        return [work.asked]
    return [_WORKED + names] if names else [
        line for line in work.parts["outcome"][:1] if not line.startswith(ON_THE_WAY) and deeds.is_whole(line)]


def _files(work: Work) -> str:
    return ", ".join(list(dict.fromkeys(name.rpartition("/")[2] for name in work.parts["files"]))[:_NAMED])


def _still(work: Work) -> Tuple[str, ...]:
    """Return what is open, in progress and next after some work, each by its word; what a model offers to do is none of it."""
    by_hand = not work.session
    left = [topic(line[len(LEFT):]) for line in work.parts["outcome"] if line.startswith(LEFT)]
    named = [next(filter(deeds.is_named, filter(None, (name, work.title))), "") for name in left]
    unnamed = [] if work.branch in TRUNKS or work.came else [(_UNDER_WAY + _files(work)).rstrip(": ")]
    under_way = [line for name in named for line in ([_UNDER_WAY + name] if name else unnamed)]
    ahead = [deeds.NUMBERED_TASK.sub("", line) for line in work.parts["next"] if by_hand or not (
        line.startswith(_ABOUT) or work.pull.startswith(MERGED) and _MERGES.search(line))]
    waits = [line for line in ahead if line.startswith(UNANSWERED)]
    lines = [*("open: " + line for line in [*work.parts["open"], *waits] if by_hand or line in waits or line[-1:] not in "?？"),
             *(UNDECIDED + line for line in work.parts["undecided"]), *under_way,
             *(NEXT + line for line in ahead if line not in waits)]
    return tuple(dict.fromkeys(one_line(line) for line in lines))


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
