"""Checkpoints that a person asks for: a note, and a handoff that is made of a session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memory.capture import choices, conversationpage, gist, turns, upshot
from memory.capture.checkpointpage import ON_THE_WAY, fitted, outline
from memory.capture.gist import TRIVIAL
from memory.capture.turns import Turn
from memory.core import StoreError, UsageError, clock, files, layout
from memory.core.plaintext import at_word, one_line, sentences
from memory.core.records import Record, steps
from memory.session import deeds, git, transcript
from memory.store import store
from memory.store.redactor import without_private


def note(keeper: store.Store, place: layout.Place, words: str, labels: Iterable[str], session: str, now: float,
         source: str = "human") -> Record:
    """Write a checkpoint by hand; its title is the first clause of the note.

    words: the note (markdown; <private> parts are left out).  labels: tags.  session: id of the running session, or "".
    now: seconds since the epoch.  source: human or agent.  Raises UsageError for an empty note, StoreError where it reads
    back wrong.
    """
    from memory.store import activeplan

    words = transcript.clean(words)
    if not words:
        raise UsageError("the checkpoint is empty; give the note as an argument or on stdin")
    head = git.head(place.git)
    first = re.split(r"(?<=[.!?;])\s|[。！？]|\n", words.lstrip("#-* "), maxsplit=1)[0].rstrip(".;")
    extra = {"created": clock.iso(now), "trigger": "manual", "branch": head.branch, "commit": head.commit,
             "plan": activeplan.served(keeper, now, now)}
    title = one_line(first, gist.TITLE)
    record = keeper.add("checkpoint", title, words + "\n", tags=tuple(labels), source=source,
                        session=layout.safe_id(session), extra={k: v for k, v in extra.items() if v})
    if files.sha256(files.read(place.path(record.name), 64 << 20)) != record.checksum:
        raise StoreError("%s: the checkpoint cannot be read back; run `dayleaf doctor`" % record.name)
    return record


# ---- a handoff

BODY, TITLE, BRANCH = 1500, 100, 40  # characters
SAYS = 60  # characters of an outcome that says where work stands
_DEED = re.compile(r"\W*(?:done|fixed|reverted|committed|pushed|updated|merged|rebased)\b[.!:]", re.I)
_CHOICE = re.compile(r"\b(?:which|option|approach|prefer|either|or)\b|어느|どちら|哪", re.I)
_NODS = frozenset("yes yeah yep sure okay great works good nice fine thanks perfect".split())
_KEEPS = re.compile(r"\b(?:commit|push|merge|pull request|pr)\b", re.I)  # an offer to keep what was done: nobody has yet
_LINES_OF_CODE = re.compile(r"\s*`[^`]*⏎[^`]*`")


class Draft(NamedTuple):
    """A handoff before it is written: title, markdown, and the ids of the checkpoints that it was made of."""

    title: str
    body: str
    sources: tuple[str, ...]


def draft(checkpoints: Sequence[Record], plan: Record | None, held: Sequence[Turn] = (), before: Sequence[Record] = ()) -> Draft:
    """Make a handoff of at most 1,500 characters, which ends with the ids that it was made of.

    checkpoints: of one session, newest first, at least one: what is open and next is what the newest says, earlier ones add to
    decisions and commits.  plan: the active one, or None.  held: the turns of its conversation, whose last work says where it
    stands.  before: of earlier sessions on the same branch, one each, newest first; a line tells what came of each.
    """
    told = [outline(record) for record in checkpoints]
    newest = told[0]
    stands = _since_work(held, checkpoints[0].title) or [_stands(line) for line in newest.outcome] or list(newest.said)
    commits = [line for one in told for line in one.commits]
    done = [turn for turn in choices.standing(held) if _worked(turn)]
    came = [one.line for one in upshot.of_turns(done, "", commits[::-1])
            if not (one.at and any(upshot.same(one.line, line) for line in stands))] or ["commit " + line for line in commits]
    decisions = [line for one in told for line in one.decisions[::-1] if not line.endswith(("?", "？"))]
    never = [line for line in decisions if choices.forbids(line)]
    never += [*choices.dead_ends(held)[::-1][:2], *(line for one in told for line in one.instead if line.count("…") < 2)]
    came = [line for line in came if line not in never]
    first = next(iter(sentences(stands[0])), "")[:upshot.LINE] if stands else ""
    if came and deeds.is_poor(first) and not deeds.is_poor(came[0]):
        stands = [came.pop(0), *stands]
    names = [name for name in newest.files if name[:1] not in "/~"][:8]
    requests = [line.removeprefix("(goes on)").strip() for one in told[::-1] for line in one.request]
    requests = [line for line in requests if not TRIVIAL.match(line) and _asks(line)] or requests[:1]
    sections = [
        ("Where it stands" if newest.outcome else "Notes", _lines(stands, 320), 1),
        ("Next", _lines(choices.still_next(newest.next, held)[:4], 180), 1),
        ("Open", _lines([*_open(newest.open, held)[:4], *newest.failing[-2:]], 240), 1),
        ("Do not try again", _lines(never[:4], 180), 1),
        ("Decisions", _lines([line for line in decisions if line not in never][:4], 160), 1),
        ("Done", _lines([*came[:4], *(["files: " + ", ".join(names)] if names else [])], 140), 1),
        ("Before, on this branch", _lines(map(_before, before[:4]), 160), 2),
        ("Plan", _lines(_plan(plan), 100), 1),
        ("Request", _lines(dict.fromkeys(requests[:1] + requests[-1:]), 140), 1)]
    end = _sources(checkpoints)
    text = fitted(sections, BODY - len(end) - 2).lstrip("\n") + "\n" + end + "\n"
    branch = at_word(_text(checkpoints[0].meta.get("branch")), BRANCH)
    title = one_line("Handoff%s: %s" % (" (%s)" % branch if branch else "", checkpoints[0].title), TITLE)
    return Draft(title, text, tuple(record.id for record in checkpoints))


def _asks(request: str) -> bool:
    """Tell whether a request says by itself what is wanted."""
    return gist.wide(request) or any(word.isalpha() for word in upshot.words_of(request) - _NODS)


def _stands(line: str) -> str:
    """Say where work stands, without praise, what leads up to it, tables and lines of code."""
    if line.startswith(ON_THE_WAY):
        return line
    shown = _LINES_OF_CODE.search(line)
    bare = _LINES_OF_CODE.sub("", line).replace("**", "")
    if shown and bare.count("`") % 2:
        bare = line[:shown.start()]
    if bare.count(" | ") > 2:
        bare = bare.partition(" | ")[0].rpartition(":")[0] or bare
    return upshot.telling(bare, 320).rstrip(":") or line


def _worked(turn: Turn) -> bool:
    """Tell whether a turn edited or committed something, was given a plan, or says that it did something."""
    if any(piece.kind in (turns.FILE, turns.COMMIT, turns.LINK) or piece.name == turns.APPROVED for piece in turn.pieces):
        return True
    said = gist.outcome(turn) if turn.asked != turns.SUMMARY else ""
    first = next((upshot.bare(text) for _, text in upshot.sentences_of(said)), "")
    return bool(deeds.REPORTS.match(first) or _DEED.match(said))


def _since_work(held: Sequence[Turn], title: str) -> list[str]:
    """Return what the last work came to and what was said since; empty where the last turn is that work or has not ended.

    What only commits, pushes or explains says nothing of the work, either.  title: of the work, where no turn says what it came
    to.
    """
    last = gist.closing(held)
    worked = [turn for turn in held if _worked(turn)]
    edited = [turn for turn in worked if len(gist.outcome(turn)) >= SAYS and gist.is_finished(turn) and not _answers(turn)]
    if last is None or not worked or not (gist.is_finished(last) and gist.outcome(last)) or (edited or worked)[-1] is last:
        return []
    came = _stands(gist.plain(gist.unasked(gist.outcome(edited[-1])), 320)) if edited else ""
    if not came and deeds.is_named(title) and any(piece.kind == turns.FILE for turn in worked for piece in turn.pieces):
        came = "worked on: " + one_line(title)
    since = at_word(gist.plain(gist.unasked(gist.outcome(last))), 160)
    asked = "" if _worked(last) or not gist.topic(last.request) else "asked since: %s → " % at_word(gist.plain(last.request), 80)
    return [came, asked + since] if came else []


def _answers(turn: Turn) -> bool:
    """Tell whether a turn ends with an answer, though it may have edited something: it tells no result."""
    first = next((upshot.bare(text) for _, text in upshot.sentences_of(gist.outcome(turn))), "")
    return bool(deeds.ASIDE.match(first)) and not upshot.of_turns([turn])


def _open(lines: Sequence[str], held: Sequence[Turn]) -> list[str]:
    """Return what is open; a question that leaves a choice with what there is to choose from, none that asks for a go."""
    last = gist.closing(held)
    offered = choices.options(gist.outcome(last)) if last else []
    found = []
    for line in lines:
        asks = line.endswith(("?", "？"))
        if asks and offered and _CHOICE.search(line):
            found.append("%s %s" % (line, "; ".join(at_word(one, 60) for one in offered[:3])))
        elif not asks or gist.telling(line) > 2 or _KEEPS.search(line):
            found.append(line)
        elif last and _asked_on(last, line):
            found.append("%s (%s)" % (line, _asked_on(last, line)))
    return found


def _asked_on(turn: Turn, question: str) -> str:
    """Return what a question at the end of a turn is about: what is said before it, of a choice two sentences."""
    said = [one_line(text) for _, text in upshot.sentences_of(gist.outcome(turn))]
    at = next((at for at, text in enumerate(said) if text.startswith(question[:40])), 0)
    before = said[max(0, at - 2):at] if _CHOICE.search(question) else said[max(0, at - 1):at]
    return at_word(" ".join(before), 140)


def turns_of(keeper: store.Store, record: Record) -> tuple[Turn, ...]:
    """Return the turns of the conversation that a checkpoint names, without private parts; empty where there is none."""
    try:
        found = without_private(keeper.find(_text(record.meta.get("conversation"))))
    except (StoreError, UsageError):
        return ()
    return conversationpage.parse(found.body, clock.day(found.created)) if found.kind == "conversation" else ()


def _lines(lines: Iterable[str], most: int) -> list[str]:
    return list(dict.fromkeys(one_line(line, most) for line in lines if line.strip()))


def _before(checkpoint: Record) -> str:
    """Tell a checkpoint in a line: its day, what came of it, its id."""
    found = outline(checkpoint).outcome
    best = upshot.best("\n".join(found)) if found else ""
    told = best if best and not deeds.is_poor(best) else checkpoint.title
    return "%s: %s [%s]" % (clock.day(checkpoint.created), one_line(told, 120), checkpoint.id)


def _plan(plan: Record | None) -> list[str]:
    """Name a plan and its first open steps."""
    if plan is None:
        return []
    todo = [text for _, ticked, text in steps(plan.body) if not ticked]
    return ["[%s] %s" % (plan.id, plan.title), *("open: " + step for step in todo[:5])]


def _sources(checkpoints: Sequence[Record]) -> str:
    """Write where a handoff comes from: ids, branch and commit."""
    meta = checkpoints[0].meta
    ids = ", ".join("[%s]" % record.id for record in checkpoints[:4])
    ids += " and %d more" % (len(checkpoints) - 4) if len(checkpoints) > 4 else ""
    where = [" on branch `%s`" % meta["branch"]] if isinstance(meta.get("branch"), str) and meta["branch"] else []
    where += [" at commit %s" % meta["commit"]] if isinstance(meta.get("commit"), str) and meta["commit"] else []
    return one_line("From %s%s." % (ids, ",".join(where)), 140)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
