"""What a session's failures teach: a cause that somebody named, with the failure and what mended it.

A lesson begins with a sentence in which the model or the user names a cause (`causes`), in the text between failure and fix or in
the turn's outcome.  To it belong

    a failure    a run of the same turn that speaks of the same things, or after which the sentence came; else what the user
                 reported or pasted, in this turn's request or in the one that it goes on with; else the problem that the same
                 statement tells
    a fix        what then made the failed thing pass (`fixes`); else the edits up to the next request that have to do with the
                 cause, or with the fix that the statement tells

What happened beside a failure is evidence, and never the lesson.  A lesson is taken back where its edits were thrown away or
turned round, its commit was reverted, the user's next words deny it, or the model later says that it was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.capture import causes, checkpointpage, fixes, gist, turns
from memory.capture.causes import Named
from memory.capture.facts import Edit, Facts
from memory.capture.turns import FILE, RUN, SAID, SUMMARY, USER, Turn
from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line
from memory.session import commandline, shell, tellingline
from memory.session.shell import Run

MOST = 6  # lessons of a session
TITLE = 100  # characters
MODEL, PERSON = "model", "user"
_LINE_CHARS, _REPORT_CHARS, _CHANGE = 200, 240, 90
_MOST_FILES, _REACH, _BACK = 2, 2, 3  # files of a fix; turns after a cause that may mend it; turns before it that may report
_SAME = 0.6  # of the words of the shorter of two causes that the other has
_TYPED = 1500  # characters of what a person types
_REPORTS = re.compile(
    r"(?i)\b(?:bugs?|errors?|fail(?:s|ed|ing|ures?)?|broken?|breaks|wrong(?:ly)?|incorrect(?:ly)?|unexpected|crash\w*|hang(?:s|ing)?|"
    r"panics?|stuck|slow|flaky|missing|lost|empty|(?:does|did|do|is|are|was|were|has|have|can|could|should)(?:n't| not)\b|no longer|"
    r"not (?:work|show|set|sav|be|found|there|populat|gett|see|captur|stor)\w*|still (?:see|get|show|not|the|being|there)\w*|"
    r"instead of|(?:why|how come) \w+|weird|strange|odd|inflated|problems?|issues?|conflicts?|regress\w*|leaks?|overwrit\w+|"
    r"overrid\w+|duplicat\w*|twice|misleading|confus\w+|delay|timed? ?out|vulnerab\w+)\b|"
    r"실패|오류|에러|안 (?:되|돼)|失敗|エラー|動かない|できない|报错|错误|失败|不工作|Fehler|kaputt|schlägt fehl")
_PASTED = re.compile(
    r"(?im)^.*(?:\b(?:error|fatal|panic|exception|traceback)\b\s*[:(]|--- FAIL|\bFAIL\b|exit (?:code|status) [1-9]|"
    r"\w+\.\w+:\d+(?::\d+)?: |\bfailed\b).*$")
_ORDERED = re.compile(r"implement the following plan|base directory for this skill|\A/", re.I)
_DENIES = re.compile(
    r"(?i)\A\W*(?:(?:no+|nope|nah)\b(?!\w* (?:problem|worries))|wrong\b|that(?:'s| is)(?: still)? (?:not|wrong)|this is(?: still)? (?:not|wrong)|not (?:quite|"
    r"right|really|the)|(?:it |this |that )?(?:still |also )?(?:doesn't|didn't|does not|did not) (?:work|help|fix)|hm+,? (?:no|but|still)|"
    r"still (?:not|the same|fail|broken|see|gett)|(?:it|this|that)(?:'s| is)? still|same (?:issue|problem|error)|then i (?:would|'d)|"
    r"revert|undo|roll ?back|please (?:revert|undo)|can you (?:revert|undo)|아니|違|不是|不对|nein\b)|"
    r"\b(?:revert (?:that|this|it|the)|undo (?:that|this|it|the)|not the (?:issue|problem|cause|reason)|"
    r"then i(?: would|'d) (?:want|rather|like|prefer))\b")
_RETRACTS = re.compile(
    r"(?i)\bmisdiagnos\w+|\b(?:was|were) (?:wrong|incorrect|unnecessary|a mistake)\b|\bnot (?:actually )?the (?:actual |real |root )?"
    r"(?:cause|issue|problem|bug)\b|\bthe (?:actual|real) (?:root cause|cause|issue|problem|bug)\b|\bunrelated to\b|"
    r"\bmy (?:earlier|previous|first|last|initial) (?:fix|analysis|assumption|explanation|change)\b|"
    r"\bmy fix\b.{0,70}\b(?:caus|br[eo]k|fail)\w*|\b(?:reverted|rolled back|took back|undid) (?:the|that|this|my)\b")
_REVERT = re.compile(r'(?i)\Arevert[:\s]+"?(.+?)"?\Z')
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|<!--|\"\"\")")
_COMMON = frozenset("test tests error errors fail failed fails file files line code with that this from when does have been were "
                    "into session only because which true false nil null string value call calls path name type main "
                    "run running should expected package".split())


class Lesson(NamedTuple):
    """A cause with its failure and its fix, as a learning tells it.

    title: the cause.  body: markdown.  files: those that were edited.  commit: the first one that followed, or "".  key: 16 hex
    digits of the cause, of which `harvest` makes the same.  turn: of the stretch, from 0.  speaker: MODEL or PERSON.
    """

    title: str
    body: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    commit: str
    key: str
    turn: int = 0
    speaker: str = MODEL


class _Failure(NamedTuple):
    """What failed: a run's command and telling line, or what was reported (command "").  run: the run, where it is known."""

    line: str
    command: str = ""
    run: Run | None = None


class _Fix(NamedTuple):
    """What mended a failure: edits, commands; what the model said of it; the instant at which it was done."""

    edits: tuple[Edit, ...]
    commands: tuple[str, ...]
    stated: str
    at: str


class _Draft(NamedTuple):
    cause: Named
    speaker: str
    turn: int
    failure: _Failure
    fix: _Fix


def lessons(facts: Facts) -> list[Lesson]:
    """Return the lessons of a stretch, the surest cause first, at most MOST."""
    drafts: list[_Draft] = []
    for number, turn in enumerate(facts.turns):
        if turn.asked != SUMMARY:
            drafts += _of_turn(facts, number)
    kept: list[_Draft] = []
    for draft in sorted(drafts, key=lambda draft: (-draft.cause.weight, -draft.turn)):
        if not _taken_back(draft, facts) and not any(_same(draft.cause.text, other.cause.text) for other in kept):
            kept.append(draft)
    return [_lesson(draft, facts) for draft in kept[:MOST]]


def reverts(facts: Facts) -> list[str]:
    """Return the subjects of the commits that a stretch took back."""
    return [match[1] for match in (_REVERT.match(subject) for _, subject, _ in facts.commits) if match]


def _of_turn(facts: Facts, number: int) -> Iterator[_Draft]:
    """Yield what a turn teaches: the causes of its outcome, or else the last one that was named on the way."""
    turn = facts.turns[number]
    outcome = gist.outcome(turn)
    told = [(place, MODEL, cause, piece.text == outcome) for place, piece in enumerate(turn.pieces)
            if piece.kind == SAID for cause in causes.named(piece.text)]
    told += [(0, PERSON, cause, False) for text in _typed(turn) for cause in causes.named(text) if cause.weight != causes.LABELLED]
    drafts: list[tuple[bool, _Draft]] = []
    for place, speaker, cause, final in told:
        failure = _failure(facts, number, place, cause, final)
        fix = _fix(facts, number, cause, failure) if failure else None
        if failure and fix and (final or failure.run or cause.weight > causes.TOLD):
            drafts.append((final, _Draft(cause, speaker, number, failure, fix)))
    last = [draft for final, draft in drafts if final] or [draft for _, draft in drafts[-1:]]
    yield from last


def _typed(turn: Turn) -> Iterator[str]:
    """Yield what the person typed in a turn."""
    if turn.asked in ("", turns.SLASH) and len(turn.request) < _TYPED and not _ORDERED.search(turn.request):
        yield turn.request
    yield from (piece.text for piece in turn.pieces if piece.kind == USER and piece.name != turns.APPROVED
                and len(piece.text) < _TYPED)


# --- the failure

def _failure(facts: Facts, number: int, place: int, cause: Named, final: bool) -> _Failure | None:
    """Return what a cause is the cause of; None where nothing tells."""
    turn = facts.turns[number]
    before = turn.pieces[:place]
    for piece in reversed(before):
        if piece.kind == SAID and not final:
            break
        if piece.kind == RUN and piece.failed and piece.telling and (not final or _speaks_of(cause.text, piece.telling)):
            run = next((r for r in facts.runs if r.bad and r.at >= turn.at and r.command == piece.text
                        and one_line(r.detail.partition("\n")[0]) == piece.telling), None)
            return _Failure(piece.telling, piece.text, run)
    reported = _reported(turn, cause.text)
    if not reported and cause.symptom:
        reported = cause.symptom
    for back in range(number - 1, max(-1, number - 1 - _BACK), -1):
        if reported or not _goes_on(facts.turns[back + 1]):
            break
        reported = _reported(facts.turns[back], cause.text)
    return _Failure(reported) if reported else None


def _goes_on(turn: Turn) -> bool:
    """Tell whether a request goes on with what was asked before: it says too little to begin anything."""
    return len(turn.request) < 160 and turn.asked != SUMMARY


def _reported(turn: Turn, cause: str) -> str:
    """Return what a turn's request reports as wrong, in one line: the error that it pastes, or the sentence that says so."""
    request = turn.request
    if turn.asked == SUMMARY or _ORDERED.search(request[:200]):
        return ""
    if "\n" in request.strip() and _PASTED.search(request):
        told = tellingline.tell(request[-8000:], most=1)
        if told.lines and not tellingline.is_trailer(told.lines[0]) and _PASTED.search(told.lines[0]):
            return one_line(told.lines[0], _REPORT_CHARS)
    said = [one for line in gist.prose(request) for one in gist.sentences(one_line(line)) if _REPORTS.search(one)]
    near = sorted(said, key=lambda one: -len(_words(one) & _words(cause)))
    return at_word(one_line(near[0]).lstrip("-*> "), _REPORT_CHARS) if near and len(near[0]) > 12 else ""


def _speaks_of(cause: str, error: str) -> bool:
    """Tell whether a cause and an error speak of the same thing: by a name of code, or two words."""
    named = causes.words(cause) & causes.words(error)
    return bool(named) or len(_words(cause) & _words(error)) > 1


def _words(text: str) -> set[str]:
    return {word for word in tokeniser.tokens(text) if len(word) > 3 and word not in tokeniser.STOP and word not in _COMMON}


# --- the fix

def _fix(facts: Facts, number: int, cause: Named, failure: _Failure) -> _Fix | None:
    """Return what mended a failure whose cause is known; None where nothing did, or something still fails."""
    if failure.run:
        known = next((fix for fix in fixes.fixes(facts) if fix.failure is failure.run or (
            fix.failure.command == failure.command and fix.failure.detail == failure.run.detail)), None)
        if known is None:
            return None
        edits = _related(known.edits, cause)
        commands = () if edits else tuple(run.command for run in known.ran if fixes.mends(run, failure.run) or run is known.success)
        return _Fix(edits, commands[-1:], cause.fix, known.success.at) if edits or commands or cause.fix else None
    until = facts.turns[number + 1].at if number + 1 < len(facts.turns) else facts.until + "~"
    since, last = facts.turns[number].at, number
    while not any(piece.kind == FILE for turn in facts.turns[number:last + 1] for piece in turn.pieces):
        last += 1
        if last - number > _REACH or last >= len(facts.turns) or not _goes_on(facts.turns[last]):
            return None
        until = facts.turns[last + 1].at if last + 1 < len(facts.turns) else facts.until + "~"
    if _fails(facts, since, until):
        return None
    edits = _related([edit for edit in facts.edits if since <= edit.at < until], cause)
    at = max((edit.at for edit in edits), default=until)
    return _Fix(edits, (), cause.fix, at) if edits or cause.fix else None


def _fails(facts: Facts, since: str, until: str) -> bool:
    """Tell whether the last test or build of a span of time failed."""
    kinds = (tellingline.TEST, tellingline.BUILD)
    runs = [run for run in facts.runs if since <= run.at < until and commandline.kind(run) in kinds]
    return bool(runs) and max(runs, key=lambda run: run.last).bad


def _related(edits: Sequence[Edit], cause: Named) -> tuple[Edit, ...]:
    """Return the edits that have to do with a cause, the nearest first, those of tests last; of few files all of them."""
    told = cause.text + " " + cause.fix
    named, low = causes.words(told), told.lower()
    by_path: dict[str, tuple[float, Edit]] = {}
    for edit in edits:
        name = edit.path.rpartition("/")[2]
        score = len(named & causes.words(edit.hunk)) + 2.0 * (name.lower() in low)
        score -= 1.5 * bool(commandline.TEST_FILE.search(edit.path)) if score else 0.0
        if score > by_path.get(edit.path, (-9.0, edit))[0]:
            by_path[edit.path] = score, edit
    ranked = sorted(by_path.values(), key=lambda pair: -pair[0])
    chosen = [edit for score, edit in ranked if score > 0]
    return tuple((chosen or ([edit for _, edit in ranked] if len(ranked) <= _MOST_FILES else []))[:_MOST_FILES])


# --- what takes it back

def _taken_back(draft: _Draft, facts: Facts) -> bool:
    """Tell whether what happened later takes a lesson back."""
    edits = draft.fix.edits
    if edits and all(edit.undone or _turned_round(edit, facts) for edit in edits):
        return True
    subject = next((subject for _, subject, at in facts.commits if at > draft.fix.at), "")
    if subject and subject in reverts(facts):
        return True
    later = facts.turns[draft.turn + 1:]
    if any(turn.at > draft.fix.at and _DENIES.search(one_line(turn.request)[:300]) for turn in later[:_REACH]):
        return True
    named = causes.words(draft.cause.text)
    return any(_RETRACTS.search(one) and (named & causes.words(one) or not causes.words(one) and turn in later[:1])
               for turn in later if turn.asked != SUMMARY for one in gist.statements(gist.outcome(turn)))


def _turned_round(edit: Edit, facts: Facts) -> bool:
    """Tell whether a later edit of the same file put back what an edit replaced."""
    gone, come = _lines(edit.hunk)
    return bool(gone and come) and any(
        other.at > edit.at and other.path == edit.path and gone <= _lines(other.hunk)[1] and come <= _lines(other.hunk)[0]
        for other in facts.edits)


def _lines(hunk: str) -> tuple[set[str], set[str]]:
    """Return the lines that went and that came, without those that did both."""
    gone, come = ({line[1:].strip() for line in hunk.split("\n") if line[:1] == sign} for sign in "-+")
    return gone - come, come - gone


def _same(one: str, other: str) -> bool:
    """Tell whether two causes say nearly the same."""
    first, second = ({word for word in tokeniser.tokens(text) if word not in tokeniser.STOP} for text in (one, other))
    return len(first & second) >= _SAME * max(1, min(len(first), len(second)))


# --- what is told

def _lesson(draft: _Draft, facts: Facts) -> Lesson:
    cause, failure, fix = draft.cause, draft.failure, draft.fix
    landed = next(((h, s) for h, s, at in facts.commits if at > fix.at and not _REVERT.match(s)), ("", ""))
    told = [cause.text.rstrip(" .") + ".", ""]
    if failure.command:
        told += ["%s failed:" % checkpointpage.quoted(failure.command), "", "    " + one_line(failure.line, _LINE_CHARS), ""]
    else:
        told += ["Reported: " + at_word(one_line(failure.line), _REPORT_CHARS), ""]
    told += ["What mended it:", ""] + (["- " + at_word(fix.stated, _REPORT_CHARS)] if fix.stated else [])
    told += ["- ran %s" % checkpointpage.quoted(command) for command in fix.commands]
    told += [_change(edit, cause) for edit in fix.edits]
    told += ["", "Named by the %s on %s." % (draft.speaker, facts.turns[draft.turn].at[:10])]
    told += ["Commit %s: %s" % (landed[0], one_line(landed[1], 120)) if landed[0] else "Commit: " + one_line(landed[1], 120)
             ] if any(landed) else []
    return Lesson(at_word(cause.text.rstrip(" ."), TITLE), "\n".join(told) + "\n", tuple(checkpointpage.tags(facts)[:3]),
                  tuple(dict.fromkeys(edit.path for edit in fix.edits)), landed[0], key_of(cause.text), draft.turn, draft.speaker)


def key_of(cause: str) -> str:
    """Return the mark of a cause: 16 hex digits."""
    return fixes.key_of("statement", *sorted(frozenset(tokeniser.tokens(cause))))


def _change(edit: Edit, cause: Named) -> str:
    """Tell an edit in one line: the file, and the line that came, with the one it replaced, that speaks most of the cause."""
    gone, come = _lines(edit.hunk)
    named = causes.words(cause.text + " " + cause.fix)
    order = {line[1:].strip(): -at for at, line in enumerate(edit.hunk.split("\n"))}
    new = sorted((line for line in come if not _COMMENT.match(line) and len(line) > 3),
                 key=lambda line: (-len(named & causes.words(line)), -order.get(line, 0)))[:1]
    old = sorted((line for line in gone if not _COMMENT.match(line) and len(line) > 3),
                 key=lambda line: (-len(set(line.split()) & set((new or [""])[0].split())), -order.get(line, 0)))[:1]
    told = "- %s %s" % ("made" if edit.made else "edited", checkpointpage.quoted(edit.path))
    if new and old:
        return "%s: %s → %s" % (told, checkpointpage.quoted(old[0], _CHANGE), checkpointpage.quoted(new[0], _CHANGE))
    return told + (": + %s" % checkpointpage.quoted(new[0], _CHANGE) if new else
                   ": − %s" % checkpointpage.quoted(old[0], _CHANGE) if old else "")
