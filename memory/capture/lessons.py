"""What a session's failures teach: a cause that somebody named or told, with the failure and what mended it.

A lesson begins with a sentence in which the model or the user names a cause (`causes`), between failure and fix or in the turn's
outcome.  To it belong

    a failure    a run of the same turn that speaks of the same things, or after which the sentence came; else what the user
                 reported or pasted, in this turn's request or in the one that it goes on with; else the problem that the same
                 statement tells
    a fix        what then made the failed thing pass (`fixes`); else the edits up to the next request that have to do with the
                 cause, or with the fix that the statement tells

What a review numbers, and a later turn mends, is one too; so is what is only likely a cause.  What happened beside a failure is
evidence, never the lesson.  It goes where its edits were undone, its commit was reverted, or somebody says that it was wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.capture import causes, checkpointpage, deadends, fixes, gist, turns
from memory.capture.causes import MODEL, PERSON, Named, Said
from memory.capture.facts import Edit, Facts
from memory.capture.fixes import Fix
from memory.capture.turns import FILE, RUN, SAID, SUMMARY, Piece
from memory.core.plaintext import at_word, one_line, sentences
from memory.session import commandline, deeds, faults, hunks, mending, shell, tellingline
from memory.session.mending import Mend
from memory.session.shell import Run

MOST, _LIKELIEST = 6, 24  # lessons of a session; sentences of it that are only likely causes
TITLE, _LINE_CHARS, _OPENING = 120, 200, 400  # characters
_MOST_LINES, _FEW_LINES, _SHORT = 8, 2, 12  # lines of a change that are told, beside what was said of it; a line in many places
_REACH, _BACK, _ALIKE = 3, 3, 0.4  # turns after a cause that may mend it; before it that may report; words of it in another
_TURNS, _NAMELESS = 300, 5  # newest turns that are looked at; words of a failure that a cause without a name of code shares


class Lesson(NamedTuple):
    """A cause with its failure and its fix, as a learning tells it.

    title: the cause.  body: markdown.  files: those that were edited.  commit: the first one that followed, or "".  key: 16 hex
    digits of the cause, as `harvest` makes it.  turn: of the stretch, from 0.  at: its instant.  speaker: MODEL or PERSON.
    """

    title: str
    body: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    commit: str
    key: str
    turn: int = 0
    speaker: str = MODEL
    at: str = ""


class _Failure(NamedTuple):
    """What failed: a run's command and telling line, or what was reported (command "").

    run: the run, where it is known.  shown: the error itself was seen or pasted, and not only spoken of.
    """

    line: str
    command: str = ""
    run: Run | None = None
    shown: bool = False


class _Fix(NamedTuple):
    """What mended a failure: edits, commands; what the model said of it; the instant at which it was done."""

    edits: tuple[Edit, ...]
    commands: tuple[str, ...]
    stated: tuple[Mend, ...]
    at: str


class _Draft(NamedTuple):
    said: Said
    failure: _Failure
    fix: _Fix


def lessons(facts: Facts) -> list[Lesson]:
    """Return the lessons of a stretch, the surest cause first, at most MOST."""
    told = [(number, list(causes.told(turn, number))) for number, turn in list(enumerate(facts.turns))[-_TURNS:]
            if turn.asked != SUMMARY]
    likely = sorted((said for number, known in told for said in causes.likely(facts.turns, number, known)),
                    key=lambda said: -said.cause.weight)[:_LIKELIEST]
    mended = fixes.fixes(facts) if likely or any(known for _, known in told) else []
    drafts = [draft for _, known in told for draft in _of_turn(facts, known, mended)]
    drafts += filter(None, (_likely(facts, said, mended) for said in likely))
    kept: list[list[_Draft]] = []
    for draft in sorted(drafts, key=lambda draft: (-draft.said.cause.weight, not draft.fix.edits, -draft.said.turn)):
        known = any(mending.same(draft.said.cause.text, one.said.cause.text) for event in kept for one in event)
        if not known and not deadends.is_taken_back(facts, draft.said.turn, draft.said.cause.text, draft.fix.edits, draft.fix.at):
            event = next((event for event in kept if any(_is_of(draft, one) for one in event)), None)
            if event is None or draft.said.cause.weight > causes.LIKELY:  # what is only likely adds nothing to an event
                event.append(draft) if event else kept.append([draft])
    return [_lesson(event, facts) for event in kept[:MOST]]


def _likely(facts: Facts, said: Said, known: Sequence[Fix]) -> _Draft | None:
    """Return what is only likely a cause with the edits, not of tests alone, that are told to have mended it."""
    turn, failure = facts.turns[said.turn], _failure(facts, said, known)
    own = failure is None and not said.final and _edits(turn.pieces[:said.place])  # it may have come of these
    compiled = failure and (failure.run and failure.run.kind == tellingline.BUILD or tellingline.is_passing(failure.line))
    doubted = said.cause.weight < faults.SURE or causes.claimed(turn) and not deadends.is_granted(facts, said)
    stays = causes.is_outlived(turn, said.place) or faults.MERGED.search(turn.request)
    if own or compiled or stays or doubted and not (failure and failure.run):
        return None
    fix = _fix(facts, said, failure or _Failure(""), known)
    told = fix and (fix.stated or any(_lines(edit, said.cause, _MOST_LINES) for edit in fix.edits))
    return _Draft(said, failure or _Failure(""), fix) if fix and told and not _of_tests(fix.edits) else None


def _of_turn(facts: Facts, told: Sequence[Said], known: Sequence[Fix]) -> Iterator[_Draft]:
    """Yield what a turn teaches: the causes of its outcome; where none is, or a run failed of it alone, the last on the way."""
    drafts: list[_Draft] = []
    for said in told:
        failure = _failure(facts, said, known)
        fix = _fix(facts, said, failure, known) if failure else None
        if not failure or not fix or tellingline.is_passing(failure.line):
            continue  # what a compiler says it tells again, and who compiles mends it
        sure = failure.shown or said.cause.weight >= causes.FOUND or said.speaker == PERSON
        lasts = said.final or sure and not causes.is_outlived(facts.turns[said.turn], said.place)
        claim = said.cause.weight in (causes.AGREED, causes.CLAIMED) and not failure.shown
        if lasts and (not claim or deadends.is_granted(facts, said, max(_until(facts, said.turn), fix.at))):
            drafts.append(_Draft(_proved(facts, said, fix, known), failure, fix))
    final, on_the_way = ([draft for draft in drafts if draft.said.final is last] for last in (True, False))
    lines = {draft.failure.line for draft in final}
    yield from final
    for said, failure, fix in on_the_way[-1:]:  # what nobody called the cause, or stands beside others, must say what mended it
        if (fix.stated or fix.edits) and (not final or failure.run and failure.line not in lines):
            yield _Draft(said, failure, fix)


def _is_of(draft: _Draft, other: _Draft) -> bool:
    """Tell whether two causes that a turn names are of one event: of one failure, or mended in one file."""
    if draft.said.turn != other.said.turn or draft.said.cause.weight == other.said.cause.weight == causes.REVIEWED:
        return False
    one, two = (mending.words(each.said.cause.text) | mending.plain_words(each.said.cause.text) for each in (draft, other))
    if draft.said.cause.weight <= causes.LIKELY and (
            len(one & two) >= _ALIKE * min(len(one), len(two)) or set(draft.fix.stated) & set(other.fix.stated)):
        return True
    if draft.failure.line or other.failure.line:
        return draft.failure.line == other.failure.line
    return bool({edit.path for edit in draft.fix.edits} & {edit.path for edit in other.fix.edits})


def _proved(facts: Facts, said: Said, fix: _Fix, known: Sequence[Fix]) -> Said:
    """Return a cause, no longer as supposed where a test failed after a review had named it and passed with its mend."""
    text, paths, since = said.cause.text, {edit.path for edit in fix.edits}, facts.turns[said.turn].at
    proved = text.startswith(causes.SUPPOSED) and any(
        one.failure.is_test and since < one.failure.at and one.success.at >= fix.at and paths & set(one.files) for one in known)
    return said._replace(cause=said.cause._replace(text=text[len(causes.SUPPOSED):])) if proved else said


def _edits(pieces: Sequence[Piece]) -> bool:
    """Tell whether a file of the project was edited: a plan is kept elsewhere."""
    return any(piece.kind == FILE and piece.text[:1] not in "/~" for piece in pieces)


# --- the failure

def _failure(facts: Facts, said: Said, known: Sequence[Fix]) -> _Failure | None:
    """Return what a cause is the cause of; None where nothing tells.  known: the fixes of the stretch."""
    run = _ran(facts, said) or (_mended(facts, said, known) if said.final or said.cause.weight >= causes.FOUND else None)
    if run and not (said.final and tellingline.is_passing(run.line)):  # else the outcome is of what was asked
        return run
    number, cause = said.turn, said.cause
    if cause.weight in (causes.REVIEWED, causes.CLAIMED):
        return _Failure(cause.symptom)
    if not said.final and _edits(facts.turns[number].pieces[:said.place]):
        return None  # it speaks of what the turn itself has done by then
    reported, pasted = causes.reported(facts.turns[number], cause.text)
    reported = reported or cause.symptom
    for back in range(number - 1, max(-1, number - 1 - _BACK), -1):
        done = gist.is_finished(facts.turns[back]) and _edits(facts.turns[back].pieces)
        if reported or not facts.turns[back + 1].is_brief or done and not faults.ASKS.search(facts.turns[number].request):
            break
        reported, pasted = causes.reported(facts.turns[back], cause.text)
    found = cause.weight >= causes.FOUND and not causes.OF_TEST.search(cause.text)
    if found and not reported and (turns.objects(facts.turns, number) or (  # an outcome may tell of earlier turns as well
            not said.final and mending.FIXED.search(gist.outcome(facts.turns[number])[:_OPENING]))):
        reported, pasted = causes.reported(facts.turns[number], cause.text, known=True)
    if reported and not faults.MERGED.search(reported):
        if mending.is_named_otherwise((turn.request for turn in facts.turns[number + 1:][:_REACH]), cause.text):
            return _Failure("") if said.final else None
        follows = (claim.symptom for claim in causes.claimed(facts.turns[number]) if mending.same(claim.text, reported))
        return _Failure(next(filter(None, follows), reported), shown=pasted)
    working = _edits(facts.turns[number].pieces[said.place:])
    told = said.final and (cause.weight >= causes.LABELLED and not working or cause.weight >= causes.CHANGED and cause.fix)
    confirmed = working and cause.weight >= causes.FOUND and turns.works_now(facts.turns, number)
    return _Failure("") if told or confirmed else None


def _ran(facts: Facts, said: Said) -> _Failure | None:
    """Return the failed run that a cause explains: the one right before it, or one that speaks of the same."""
    turn, cause = facts.turns[said.turn], said.cause
    right_before, passed = True, {run.command for run in facts.runs if not run.bad and commandline.kind(run)}
    for piece in reversed(turn.pieces[:said.place]):
        right_before = right_before and piece.kind != SAID and not (piece.kind == RUN and not piece.failed)
        if not said.final and (piece.kind == FILE or piece.kind == RUN and not piece.failed and piece.text in passed):
            break
        if piece.kind != RUN or not piece.failed or not piece.telling or piece.name:
            continue
        run = next((r for r in facts.runs if r.bad and r.at >= turn.at and r.command == piece.text
                    and tellingline.is_same(r.detail.partition("\n")[0], piece.telling)), None)
        if run is None or run.kind == tellingline.LINT and not faults.is_of_finding(cause.text, piece.telling, right_before):
            continue
        least = 2 if mending.words(cause.text) else _NAMELESS
        if right_before or mending.meet(cause.text, piece.telling, least) and not _follows(facts, said, run):
            return _Failure(piece.telling, piece.text, run, True)
    return None


def _follows(facts: Facts, said: Said, run: Run) -> bool:
    """Tell whether a run failed only after the mending of a cause had begun, by an edit that lasted: then it has another one."""
    named = mending.words(said.cause.text)
    begun = [edit for edit in facts.edits if facts.turns[max(0, said.turn - _REACH)].at <= edit.at < run.at and not edit.undone
             and not commandline.TEST_FILE.search(edit.path)]
    return any(named & mending.code("\n".join(hunks.lasting(edit.hunk, deadends.later(edit, facts)))) for edit in begun)


def _mended(facts: Facts, said: Said, known: Sequence[Fix]) -> _Failure | None:
    """Return the one failure that a turn mended, where edits that have to do with the cause did; of a cause that was found on the
    way a command that had failed by then and passed after it."""
    turn, until = facts.turns[said.turn], _until(facts, said.turn)
    ended = [fix for fix in known if turn.at <= fix.success.at < until and fix.failure.detail
             and fix.failure.kind != tellingline.LINT]
    if not said.final:
        tried = {(piece.text, piece.telling) for piece in turn.pieces[:said.place] if piece.kind == RUN and piece.failed}
        done = {piece.text for piece in turn.pieces[said.place:] if piece.kind == RUN and not piece.failed}
        ended = [fix for fix in ended if fix.failure.command == fix.success.command and fix.success.command in done and any(
            command == fix.failure.command and tellingline.is_same(fix.failure.detail.partition("\n")[0], telling)
            for command, telling in tried) and _related(fix.edits, said.cause)]
    if len({shell.normal(fix.failure.detail.partition("\n")[0]) for fix in ended}) != 1 or not (
            _related(ended[-1].edits, said.cause) or ended[-1].ran and mending.words(said.cause.text)) or _follows(
                facts, said, ended[-1].failure):
        return None
    failure = ended[-1].failure
    return _Failure(one_line(failure.detail.partition("\n")[0]), failure.command, failure, True)


def _until(facts: Facts, number: int) -> str:
    """Return the instant at which a turn ends."""
    return facts.turns[number + 1].at if number + 1 < len(facts.turns) else facts.until + "~"


# --- the fix

def _fix(facts: Facts, said: Said, failure: _Failure, every: Sequence[Fix]) -> _Fix | None:
    """Return what mended a failure whose cause is known; None where nothing did, or something still fails."""
    if said.cause.weight == causes.REVIEWED:
        return _chosen(facts, said)
    known = next((fix for fix in every if fix.failure.command == failure.command
                  and fix.failure.detail == failure.run.detail), None) if failure.run else None
    passed = _passed(facts, said, failure, known) if known else None
    if passed or known and not said.final:
        return passed
    turn, agreed = facts.turns[said.turn], [] if failure.line else turns.agreed(facts.turns, said.turn, _REACH)
    last = said.turn
    if not _edits(turn.pieces):
        later = turns.going_on(facts.turns, said.turn, _REACH) if failure.line else agreed
        last = next((one for one in later if _edits(facts.turns[one].pieces)), said.turn)
    until = _until(facts, last)
    done = [edit for edit in facts.edits if turn.at <= edit.at < until]
    edits = _edited(facts, said, failure, done)
    if edits and all(hunks.is_limit(edit.hunk, said.cause.text) for edit in edits):
        return None  # it waits longer, and nothing shows that it helped
    stated = _stated(facts, said, failure, edits) if edits or done else ()
    own = (said.cause.weight != causes.CLAIMED or deadends.is_granted(facts, said) and any(
        _shown(edit, said.cause, _MOST_LINES) for edit in edits)) and (
        failure.line or done and edits and edits[0].at < _until(facts, said.turn) or any(
            turns.orders_it(facts.turns[one].request) for one in agreed))
    told = (stated or edits and own) and not fixes.fails(facts, turn.at, until)  # what "go on" brought may be of anything
    return _Fix(edits, (), stated, max((edit.at for edit in edits), default=turn.at)) if told else None


def _chosen(facts: Facts, said: Said) -> _Fix | None:
    """Return what mended a review's finding, in the turn that was told to: edits of the file that it names, or of two names."""
    held, cause = facts.turns, said.cause
    at = next((one for one in turns.going_on(held, said.turn, _REACH)
               if _edits(held[one].pieces) and turns.chooses(held[one].request, cause.item, cause.fix)), 0)
    if not at:
        return None
    since, until = held[at].at, _until(facts, at)
    answered = mending.replies((piece.text for piece in held[at].pieces if piece.kind == RUN), cause.item)
    edits = _related([edit for edit in facts.edits if since <= edit.at < until
                      and causes.bearing(cause, edit.path, edit.hunk) >= 2 - bool(answered)], cause)
    if not edits or _of_tests(edits) or all(deeds.PAGE.search(edit.path) for edit in edits) or fixes.fails(facts, since, until):
        return None
    bare, outcome, done = cause._replace(fix=""), [gist.outcome(held[at])], [edit.path + edit.hunk for edit in edits]
    planned = [mend for one in sentences(cause.fix) for mend in mending.mended(one) if mend.surety == mending.CALLED][:1]
    told = answered[:1] or causes.remedy(bare, "", outcome, done, False) or planned
    return _Fix(edits, (), tuple(told or causes.remedy(bare, "", outcome, done, True)), edits[0].at)


def _passed(facts: Facts, said: Said, failure: _Failure, known: Fix) -> _Fix | None:
    """Return what made a failed run pass; None where it has nothing to do with the cause."""
    cause = said.cause
    edits = _related(known.edits, cause, lone=known.likely)
    if edits and known.failure.is_test and _of_tests(edits):  # another edit that names the same may have mended it
        since = [edit for edit in facts.edits if known.failure.at < edit.at < known.success.at]
        edits = _related([edit for edit in since if not commandline.TEST_FILE.search(edit.path)], cause) or edits
    own = [edit for edit in facts.edits if facts.turns[said.turn].at <= edit.at < known.failure.at]  # it had passed before these
    bent = edits and (known.failure.is_test and _of_tests(edits) and (own or not causes.OF_TEST.search(cause.text))
                      or known.failure.kind == tellingline.LINT and all(hunks.is_comment(edit.hunk) for edit in edits))
    ran = [run.command for run in known.ran if known.likely or mending.meet(cause.text, run.command, 1)]
    slip = not mending.OUTLIVES.search(cause.text) and hunks.replaces_only(
        [edit.hunk for edit in known.edits], [edit.hunk for edit in own], _SHORT)  # of what the turn itself had written
    if bent or slip or not (edits or ran):
        return None
    return _Fix(edits, () if edits else tuple(ran[-1:]), _stated(facts, said, failure, edits), known.success.at)


def _edited(facts: Facts, said: Said, failure: _Failure, done: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return the edits that mended what no run shows to be mended.  done: those from the cause's turn on."""
    cause, turn, since = said.cause, facts.turns[said.turn], facts.turns[max(0, said.turn - _REACH)].at
    sure = cause.weight == causes.CLAIMED or bool(failure.line) and cause.weight >= causes.FOUND
    edits = _related(done, cause) or _related(
        done, cause if failure.run or not sure else cause._replace(fix=failure.line), sure)
    if edits and _of_tests(edits) and (failure.run or not failure.line):  # else it was reported after them
        edits = _related([edit for edit in facts.edits if since <= edit.at < turn.at], cause) or edits
    if not edits and cause.weight <= causes.LIKELY:  # what is edited right after it was said, may be so for it
        paths = causes.edited_next(turn, said.place)
        edits = tuple(edit for edit in done if edit.path in paths and mending.meet(cause.text, edit.path + " " + edit.hunk))
    of_test = causes.OF_TEST.search(cause.text) or failure.shown and commandline.TEST_FILE.search(failure.line.partition(":")[0])
    return () if failure.run is None and _of_tests(edits) and not of_test else edits


def _related(edits: Sequence[Edit], cause: Named, lone: bool = False) -> tuple[Edit, ...]:
    return fixes.related(edits, lambda path, hunk: causes.bearing(cause, path, hunk), lone)


def _of_tests(edits: Sequence[Edit]) -> bool:
    return all(commandline.TEST_FILE.search(edit.path) for edit in edits)


def _stated(facts: Facts, said: Said, failure: _Failure, edits: Sequence[Edit]) -> tuple[Mend, ...]:
    """Return what was said of a remedy: after the cause in its turn, and in the outcomes of the turns that edited for it."""
    last = max((edit.at for edit in edits), default="")
    outcome, cause = gist.outcome(facts.turns[said.turn]), said.cause.text
    others = edits and not said.final and any(not mending.same(one.text, cause) for one in causes.named(outcome))
    texts = [piece.text for piece in facts.turns[said.turn].pieces[said.place:]
             if piece.kind == SAID and not (others and piece.text == outcome)]
    later = turns.going_on(facts.turns, said.turn, _REACH) if last >= _until(facts, said.turn) else ()
    texts += [gist.outcome(facts.turns[one]) for one in later if facts.turns[one].at <= last]
    shown = bool(edits) and all(_shown(edit, said.cause, _MOST_LINES) for edit in edits)
    told = tuple(causes.remedy(said.cause, failure.line, texts, [edit.path + edit.hunk for edit in edits], not shown))
    planned = () if told or shown or said.final else tuple(map(mending.planned, texts[:1]))
    return told or tuple(filter(None, planned))


# --- what is told

def _lesson(event: Sequence[_Draft], facts: Facts) -> Lesson:
    """Return what an event teaches: its surest cause with the others that were named, and all that mended it."""
    (cause, turn, _, speaker, _), failure, fix = event[0]
    edits = tuple({edit.path: (edit, draft.said.cause) for draft in event[::-1] for edit in draft.fix.edits[::-1]}.values())[::-1]
    stated = dict.fromkeys(mend for draft in event for mend in draft.fix.stated)
    landed = next(((h, s) for h, s, at in facts.commits if at > fix.at and not deadends.REVERT.match(s)), ("", ""))
    told = [cause.text.rstrip(" .!") + ".", ""]
    told += ["Also: " + " ".join(draft.said.cause.text.rstrip(" .!") + "." for draft in event[1:]), ""] if len(event) > 1 else []
    if failure.command:
        told += ["%s failed:" % checkpointpage.quoted(failure.command), "", "    " + one_line(failure.line, _LINE_CHARS), ""]
    elif failure.line and not (
            mending.same(failure.line, cause.text) and mending.words(failure.line) & mending.words(cause.text)):
        told += ["Reported: " + at_word(one_line(failure.line), faults.REPORT), ""]
    told += ["What mended it:", "", *map(mending.as_item, stated)]
    told += ["- ran %s" % checkpointpage.quoted(command) for command in fix.commands]
    told += [_change(edit, of, _FEW_LINES if stated else _MOST_LINES, facts) for edit, of in edits]
    alone = cause.weight in (causes.REVIEWED, causes.CLAIMED) and not failure.run
    less = ", in a review that no run bears out" if alone else ", not as a cause" * (cause.weight <= causes.LIKELY)
    told += ["", "Named by the %s on %s%s." % (speaker, facts.turns[turn].at[:10], less)]
    told += ["Commit%s: %s" % (" " * bool(landed[0]) + landed[0], one_line(landed[1], 120))] if any(landed) else []
    paths = tuple(edit.path for edit, _ in edits)
    title = cause.text.rstrip(" .!") if len(cause.text) <= TITLE else deeds.ASIDES.sub("", cause.text).rstrip(" .!")
    return Lesson(at_word(title, TITLE), "\n".join(told) + "\n", tuple(checkpointpage.tags(facts)[:3]),
                  paths, landed[0], causes.key_of(cause.text), turn, speaker, facts.turns[turn].at)


def _change(edit: Edit, cause: Named, most: int, facts: Facts) -> str:
    """Tell an edit: the file, and the lines of it that are told, with what became of them."""
    told, whole = _lines(edit, cause, most), bool(_shown(edit, cause, most))
    again = hunks.changed_again(edit.hunk, deadends.later(edit, facts), _MOST_LINES) if told else []
    among, done = ", among others" * bool(told and not whole), "made" if edit.made else "edited"
    return "- %s %s%s%s" % (done, checkpointpage.quoted(edit.path), among, hunks.shown(told, checkpointpage.quoted)) + (
        "\n- later there" + hunks.shown(again, checkpointpage.quoted) if again else "")


def _lines(edit: Edit, cause: Named, most: int) -> list[tuple[str, str]]:
    """Return all lines of an edit where they are few; else, where nothing else tells, those that bear its cause's names."""
    names = mending.words(cause.text) if most > _FEW_LINES else frozenset()
    return _shown(edit, cause, most) or [("+", line) for line in hunks.bearing(edit.hunk, names, _FEW_LINES)]


def _shown(edit: Edit, cause: Named, most: int) -> list[tuple[str, str]]:
    return hunks.about(edit.hunk, most, mending.words(cause.text + " " + cause.fix))
