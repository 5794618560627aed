"""The page of a checkpoint: facts as title, tags and markdown.

What the next session needs first stands first: Outcome, Next, Open; then the turns, the newest of
them whole, then Decisions, Fixed, Done and Commands.  Every line is somebody's word or something
that the host noted.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable

from memory.capture import conversationpage, decisions, fixes, next_steps, openings, titles, turns
from memory.capture.conversationpage import code
from memory.capture.facts import Facts, reversed_paths
from memory.capture.fixes import Fix
from memory.capture.openings import OUTCOME, REQUEST, TITLE
from memory.capture.turns import Turn
from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line, short
from memory.session import commandline, git, shell
from memory.session.shell import Run

BODY, LAST = 6000, 600  # characters of the page, of the last outcome
BETWEEN = 110  # characters of a message while the model worked
SUBSTANCE = 120  # characters of an answer that is worth a checkpoint
WITHDRAWN = 8  # turns
LEAST_LINE = 110  # characters to which the line of a turn is shortened
MOST_FIXED, MOST_COMMANDS, MOST_COMMITS, MOST_FILES, MOST_REPORTS, MOST_OPEN = 4, 6, 12, 14, 2, 4
LEFT = "in progress at the end: "  # before the request of a turn that has not ended
ASKED_LAST = "asked after it: "  # before a side question that followed the work
STOPPED = "stopped by the user: "  # before that of a turn that the user interrupted
FAILS = "` failed at the end: "  # stands in the line of a command that failed at the end
_LANGUAGES = dict(
    pair.split(":")
    for pair in (
        "py:python ts:typescript tsx:typescript js:javascript jsx:javascript rs:rust go:go "
        "java:java kt:kotlin rb:ruby php:php c:c h:c cpp:cpp cc:cpp cs:csharp swift:swift sh:shell "
        "sql:sql tf:terraform vue:vue svelte:svelte md:docs css:css html:html yml:yaml yaml:yaml "
        "lua:lua ex:elixir scala:scala dart:dart zig:zig"
    ).split()
)
_TOOLS = frozenset(
    "pytest npm pnpm yarn cargo docker kubectl terraform make pip uv poetry jest vitest mypy ruff "
    "eslint alembic psql redis-cli helm gradle mvn dotnet bazel tox unittest webpack vite".split()
)


def paths_of(facts: Facts) -> tuple[list[str], list[str]]:
    """Return (files made, files changed), in order of first touch.

    Each once.
    """
    made = {edit.path for edit in facts.edits if edit.made}
    back = reversed_paths(facts)
    every = [edit.path for edit in facts.edits if not edit.undone and edit.path not in back]
    every = list(dict.fromkeys(every))
    return [path for path in every if path in made], [path for path in every if path not in made]


def title_and_request(
    facts: Facts, taken: Callable[[str], bool] = lambda name: False
) -> tuple[str, list[str]]:
    """Return (title, [first request unless used as title]).

    The title has at most 70 characters.
    taken: tells whether another checkpoint of the day has a name.
    """
    found = titles.titles(facts.turns, facts.title, _subjects(facts))
    earlier = openings.topic(facts.earlier) if facts.earlier else ""
    found = [*found, *filter(None, [earlier])] or [_title_from_work(facts)]
    title = next((name for name in found if not taken(name)), "")
    if not title:
        when = " (%s)" % (facts.until[11:16] or "again")
        title = openings.clause(found[0], TITLE - len(when)) + when
    asked = titles.first_request(facts.turns)
    return title, [asked] if asked not in ("", title) else []


def _subjects(facts: Facts) -> list[str]:
    """Return the subjects of the commits, of the most edits first."""
    times = [at for *_, at in facts.commits]
    changes = Counter[int]()
    for edit in facts.edits:
        changes[bisect_left(times, edit.at)] += len(edit.ways)
    weighed = [
        (-1 if git.is_merge(subject) else changes[number], number, subject)
        for number, (_, subject, _) in enumerate(facts.commits)
    ]
    return [subject for *_, subject in sorted(weighed, reverse=True)]


def _title_from_work(facts: Facts) -> str:
    """Return a title from the files or commands of the work."""
    made, changed = paths_of(facts)
    if facts.withdrawn and not facts.turns:
        return "Taken back by a rewind"
    told = ", ".join(path.rpartition("/")[2] for path in (changed + made)[:3])
    told = told or ", ".join([*{run.key: run for run in facts.runs}][:3])
    return openings.clause("Work on " + told if told else "Session")


def tags(facts: Facts) -> list[str]:
    """Return up to five tags: languages of the files, then programs."""
    found = [_LANGUAGES.get(edit.path.rpartition(".")[2].lower(), "") for edit in facts.edits]
    every = sorted(set(filter(None, found)), key=lambda tag: (-found.count(tag), tag))[:3]
    programs = (run.key.partition(" ")[0] for run in facts.runs)
    return list(dict.fromkeys([*every, *(name for name in programs if name in _TOOLS)]))[:5]


def is_worth_checkpoint(facts: Facts) -> bool:
    """Tell whether facts are worth a checkpoint.

    Work, a decision, a report or an answer is.
    """
    if facts.edits or facts.commits or facts.runs or turns.pieces(facts.turns, turns.REPORT):
        return True
    asked = [turn for turn in facts.turns if turn.asked != turns.SUMMARY]
    if decisions.decisions(asked):
        return True
    said = [openings.outcome(turn) for turn in asked]
    # A script without spaces says as much in a third of the characters.
    return any(
        len(one) >= (SUBSTANCE // 3 if tokeniser.has_cjk(one) else SUBSTANCE) for one in said
    )


def is_answered(facts: Facts) -> bool:
    """Tell whether a meaningful request was answered, however shortly."""
    return any(openings.outcome(turn) and openings.topic(turn.request) for turn in facts.asked)


def body(facts: Facts) -> str:
    """Return the facts as markdown, at most 6,000 characters."""
    mended = fixes.fixes(facts)[-MOST_FIXED:]
    back = ("Taken back", _withdrawn(facts), 1)
    first = [
        ("Outcome", _last(facts), 2),
        ("Next", next_steps.next_steps(facts.turns, facts.todos), 2),
        ("Open", [*_failing_at_end(facts), *openings.questions(facts.turns)], 2),
    ]
    rest = [
        ("Decisions", decisions.decisions(facts.turns), 3),
        ("Fixed", [_fix(one) for one in mended], 1),
        ("Done", _done(facts), 3),
        ("Commands", _commands(facts, mended), 1),
    ]
    told = [*first, *rest, back]
    used = len(fitted(told, BODY // 2)) if any(lines for _, lines, _ in told) else 0
    return fitted([*first, ("Turns", _turns(facts, BODY - used - 40), 1), *rest, back], BODY)


def _withdrawn(facts: Facts) -> list[str]:
    """Return a line for each turn withdrawn by a rewind."""
    lines = []
    for turn in facts.withdrawn[-WITHDRAWN:]:
        commits = [piece.name for piece in turn.pieces if piece.kind == turns.COMMIT and piece.name]
        line = "%s taken back by a rewind: %s" % (
            turn.at[11:16],
            at_word(one_line(turn.request), LEAST_LINE),
        )
        lines.append(line + ("; its commit %s remains" % commits[-1] if commits else ""))
    return lines


def fitted(sections: list[tuple[str, list[str], int]], most: int) -> str:
    """Return sections as markdown lists, in at most `most` characters.

    sections: (heading, lines, how many of them stay as long as another section has more than its
    own); empty ones are left out.  Of the turns the oldest go first, of others the last line.
    """
    kept = [(name, list(lines), least) for name, lines, least in sections if lines]
    while True:
        whole = (
            "\n\n".join("## " + name + "\n\n- " + "\n- ".join(lines) for name, lines, _ in kept)
            + "\n"
        )
        if len(whole) <= most:
            return whole
        spare = [entry for entry in kept if len(entry[1]) > entry[2]] or [
            entry for entry in kept if len(entry[1]) > 1
        ]
        if not spare:
            return short(whole, most - 1) + "\n"
        name, lines, _ = max(spare, key=lambda entry: sum(map(len, entry[1])))
        lines.pop(0 if name == "Turns" else -1)


def _last(facts: Facts) -> list[str]:
    """Return lines on where the work stands."""
    turn = openings.last_telling_turn(facts.turns)
    if turn is None:
        return []
    came = openings.outcome(turn)
    if openings.is_finished(turn):
        asked = openings.questions(facts.turns)
        last = openings.plain(openings.without_questions(came) if asked else came, LAST)
        work = _work_before(facts, turn)
        if not work:
            return [last] if last else []
        asked_last = ASKED_LAST + at_word(one_line(turn.request), REQUEST)
        asked_last += " → " + at_word(last, LAST // 2) if last else ""
        return [openings.plain(openings.outcome(work), LAST), asked_last]
    mark = STOPPED if turn.end == turns.INTERRUPTED else LEFT
    lines = [mark + at_word(one_line(turn.request), REQUEST)]
    lines += ["said on the way: " + openings.plain(came, LAST // 2)] if came else []
    done = _doing(turn)
    return lines + (["done last: " + done] if done else [])


def _work_before(facts: Facts, closing: Turn) -> Turn | None:
    """Return the turn whose work a last side question followed, or None."""
    work = openings.last_working_turn(facts.turns)
    return work if work and work is not closing and openings.outcome(work) else None


def _turns(facts: Facts, room: int) -> list[str]:
    """Return the lines of the turns, in about `room` characters.

    The request and the opening of its outcome, then what the user said in between.  Where not all
    fit, each gets less; where that does not do, the oldest are left out, but the first.
    """
    told = [turn for turn in facts.turns if turn.asked != turns.SUMMARY]
    most = max(2, room // LEAST_LINE)
    if len(told) > most:
        told = [told[0], *told[1 - most :]]
    last = openings.last_telling_turn(facts.turns)
    work = _work_before(facts, last) if last and openings.is_finished(last) else None
    between = [_between(turn) for turn in told]
    each = max(LEAST_LINE, (room - sum(map(len, between))) // max(1, len(told)) - 14)
    lines = list[str]()
    for turn, said in zip(told, between):
        lines.append(_turn_line(turn, each, turn is last or turn is work, len(told) == 1))
        lines += [said] * bool(said)
    return lines


def _between(turn: Turn) -> str:
    """Return a line of what the user said while the model worked, or ""."""
    said = turns.pieces([turn], turns.USER, turns.WORKING)
    telling = [at_word(one_line(p.text), BETWEEN) for p in said if openings.says_something(p.text)]
    if not telling:
        return ""
    return "%s (%s) %s" % (turn.at[11:16], turns.WORKING, at_word("; ".join(telling), OUTCOME))


def _turn_line(turn: Turn, most: int, in_outcome: bool, alone: bool) -> str:
    asked = min(REQUEST, max(LEAST_LINE // 2, most // 3))
    request = ("(goes on) " if turn.asked == turns.GOES_ON else "") + at_word(
        one_line(turn.request), asked
    )
    if in_outcome:
        came = "" if alone else "see Outcome"
    else:
        room = max(60, min(OUTCOME, most - len(request)))
        came = openings.plain(openings.without_questions(openings.outcome(turn)), room)
        came = came or at_word(_doing(turn), room)
    return "%s %s%s" % (turn.at[11:16], request, " → " + came if came else "")


def _doing(turn: Turn) -> str:
    """Return the last actions of a turn without a statement."""
    done = [
        at_word(conversationpage.run_line(piece)[2:], 140)
        if piece.kind == turns.RUN
        else "%s %s" % (piece.name, code(piece.text))
        for piece in turn.pieces
        if piece.kind in (turns.RUN, turns.FILE)
    ]
    return ", ".join(done[-3:])


def _done(facts: Facts) -> list[str]:
    made, changed = paths_of(facts)
    gone = turns.pieces(facts.turns, turns.FILE, turns.REMOVED)
    removed = [piece.text for piece in gone if piece.text not in made + changed]
    told = made + changed + removed
    back = dict.fromkeys(edit.path for edit in facts.edits if edit.path not in told)
    lines = [
        ("commit " + h).rstrip() + ": " + at_word(one_line(s), 120)
        for h, s, _ in facts.commits[-MOST_COMMITS:]
    ]
    links = dict.fromkeys(piece.text for piece in turns.pieces(facts.turns, turns.LINK))
    lines += ["pull request " + link for link in links]
    for word, paths in (
        ("created", made),
        ("edited", changed),
        ("removed", removed),
        ("taken back:", [*back]),
    ):
        if paths:
            extra = " and %d more" % (len(paths) - MOST_FILES) if len(paths) > MOST_FILES else ""
            lines.append(word + " " + ", ".join(map(code, paths[:MOST_FILES])) + extra)
    return lines + _reports(facts)


def _reports(facts: Facts) -> list[str]:
    """Return the openings of the last reports by subagents."""
    told = turns.pieces(facts.turns, turns.REPORT)[-MOST_REPORTS:]
    return [
        "subagent%s: %s"
        % (" (%s)" % one_line(p.name, 80) if p.name else "", openings.plain(p.text, 200))
        for p in told
    ]


def _commands(facts: Facts, mended: list[Fix]) -> list[str]:
    """Return the failed commands, each with its later success."""
    told = {fix.failure.command for fix in mended}
    passed = {run.command: run.last for run in facts.runs if run.outcome == shell.OK}
    lines = []
    for at, run in enumerate(facts.runs):
        if not run.bad or run.is_gate or run.command in told or commandline.is_noise(run.key):
            continue
        if passed.get(run.command, "") > run.last:
            continue
        told.add(run.command)
        lines.append(_failed_command(run, facts.runs[at + 1 :]))
    return lines[-MOST_COMMANDS:]


def _failed_command(run: Run, later: list[Run]) -> str:
    """Return a failed command in a line, with its success after."""
    passed = (
        one.command
        for one in later
        if one.outcome == shell.OK and one.key == run.key and one.command != run.command
    )
    then = next(passed, "")
    why = one_line(run.detail.partition("\n")[0], 140)
    return "✗ %s → %s%s%s" % (
        quoted(run.command),
        run.outcome,
        ": " + why if why else "",
        "; then ✓ " + quoted(then) if then else "",
    )


def quoted(command: str, most: int = 160) -> str:
    """Return the first line of a command or path, quoted.

    At most `most` characters, without its `cd` and its output's pipe.
    """
    first, newline, _ = re.sub(r"^cd \S+ && ", "", command).strip().partition("\n")
    first = re.sub(r"(?: 2>&1)?(?: \| (?:tail|head)(?: -n?\s?\d+)?)?$", "", first) or first
    return code(short(one_line(first) + (" …" if newline else ""), most))


def _fix(fix: Fix) -> str:
    """Return a line on a failure and its fix."""
    why = one_line(fix.failure.detail.partition("\n")[0], 160)
    other = " (%s)" % quoted(fix.success.command, 100)
    return "%s → %s%s; passed%s after editing %s" % (
        quoted(fix.failure.command),
        fix.failure.outcome,
        ": " + why if why else "",
        other if fix.success.command != fix.failure.command else "",
        ", ".join(map(code, fix.files[:4])),
    )


def _failing_at_end(facts: Facts) -> list[str]:
    """Return the commands failing at the end, with their telling lines."""
    failing = fixes.open_failures([*facts.failing, *facts.runs])[-MOST_OPEN:]
    return [quoted(run.command) + FAILS[1:] + one_line(_reason(run), 160) for run in failing]


def _reason(run: Run) -> str:
    """Return what tells why a run failed."""
    return run.detail.partition("\n")[0] or run.summary or run.outcome
