"""The page of a checkpoint: facts as title, tags and markdown.

Outcome, Next and Open stand first, for the next session; then the turns, the newest of them whole,
then Decisions, Fixed, Done and Commands.  Every line is somebody's words or noted by the host.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Container

from memory.capture import conversationpage, decisions, fixes, next_steps, openings, titles, turns
from memory.capture.conversationpage import format_code
from memory.capture.facts import Facts, find_reversed_paths
from memory.capture.fixes import Fix
from memory.capture.openings import OUTCOME, REQUEST, TITLE
from memory.capture.turns import Turn
from memory.core import tokeniser
from memory.core.plaintext import clip_at_word, one_line, shorten
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
STOPPED = "stopped by the user: "  # before the request of an interrupted turn
FAILS = "` failed at the end: "  # in the line of a command that failed at the end
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


def list_files(facts: Facts) -> tuple[list[str], list[str]]:
    """Return (files made, files changed), each once, in order of first change."""
    made = {edit.path for edit in facts.edits if edit.made}
    reversed_paths = find_reversed_paths(facts)
    kept = dict.fromkeys(
        edit.path for edit in facts.edits if not edit.undone and edit.path not in reversed_paths
    )
    return [path for path in kept if path in made], [path for path in kept if path not in made]


def choose_title(facts: Facts, taken: Container[str] = ()) -> tuple[str, list[str]]:
    """Return (title, other names: first request, the user's name).

    taken: the titles of other checkpoints of the day.
    """
    candidates = titles.list_titles(facts.turns, facts.title, _rank_subjects(facts))
    candidates += filter(None, [openings.find_topic(facts.earlier)])
    candidates = candidates or [_make_work_title(facts)]
    title = next((name for name in candidates if name not in taken), "")
    if not title:
        when = " (%s)" % (facts.until[11:16] or "again")
        title = openings.cut_clause(candidates[0], TITLE - len(when)) + when
    others = dict.fromkeys((titles.find_first_request(facts.turns), find_given_name(facts)))
    return title, [name for name in others if name not in ("", title)]


def find_given_name(facts: Facts) -> str:
    """Return the name that the user gave the session, or ""."""
    return openings.cut_clause(one_line(facts.title)) if facts.by == "custom" else ""


def _rank_subjects(facts: Facts) -> list[str]:
    """Return the subjects of commits, most edits first, merges last."""
    times = [at for *_, at in facts.commits]
    changes = Counter[int]()
    for edit in facts.edits:
        changes[bisect_left(times, edit.at)] += len(edit.ways)
    ranked = [
        (-1 if git.is_merge(subject) else changes[number], number, subject)
        for number, (_, subject, _) in enumerate(facts.commits)
    ]
    return [subject for *_, subject in sorted(ranked, reverse=True)]


def _make_work_title(facts: Facts) -> str:
    if facts.withdrawn and not facts.turns:
        return "Taken back by a rewind"
    made, changed = list_files(facts)
    names = [path.rpartition("/")[2] for path in changed + made]
    names = names or [*dict.fromkeys(run.key for run in facts.runs)]
    return openings.cut_clause("Work on " + ", ".join(names[:3]) if names else "Session")


def list_tags(facts: Facts) -> list[str]:
    """Return up to five tags: languages of the files, then programs."""
    found = [_LANGUAGES.get(edit.path.rpartition(".")[2].lower(), "") for edit in facts.edits]
    languages = sorted(set(filter(None, found)), key=lambda tag: (-found.count(tag), tag))[:3]
    programs = (run.key.partition(" ")[0] for run in facts.runs)
    return list(dict.fromkeys([*languages, *filter(_TOOLS.__contains__, programs)]))[:5]


def is_worth_checkpoint(facts: Facts) -> bool:
    """Tell whether facts hold work, a decision, a report or an answer."""
    if facts.edits or facts.commits or facts.runs or turns.find_pieces(facts.turns, turns.REPORT):
        return True
    asked = [turn for turn in facts.turns if turn.asked != turns.SUMMARY]
    if decisions.list_decisions(asked):
        return True
    for outcome in map(openings.find_outcome, asked):
        # a script without spaces says as much in a third of the characters
        if len(outcome) >= (SUBSTANCE // 3 if tokeniser.has_cjk(outcome) else SUBSTANCE):
            return True
    return False


def has_answer(facts: Facts) -> bool:
    """Tell whether a meaningful request got an answer of any length."""
    answered = filter(openings.find_outcome, facts.asked)
    return any(openings.find_topic(turn.request) for turn in answered)


def render_body(facts: Facts) -> str:
    """Return the facts as markdown, at most 6,000 characters."""
    mended = fixes.find_fixes(facts)[-MOST_FIXED:]
    first = [
        ("Outcome", _format_outcome(facts), 2),
        ("Next", next_steps.find_next_steps(facts.turns, facts.todos), 2),
        ("Open", [*_format_open_failures(facts), *openings.find_questions(facts.turns)], 2),
    ]
    rest = [
        ("Decisions", decisions.list_decisions(facts.turns), 3),
        ("Fixed", [*map(_format_fix, mended)], 1),
        ("Done", _format_done(facts), 3),
        ("Commands", _format_commands(facts, mended), 1),
        ("Taken back", _format_withdrawn(facts), 1),
    ]
    others = [*first, *rest]
    used = len(fit_sections(others, BODY // 2)) if any(lines for _, lines, _ in others) else 0
    turn_lines = ("Turns", _format_turns(facts, BODY - used - 40), 1)
    return fit_sections([*first, turn_lines, *rest], BODY)


def _format_withdrawn(facts: Facts) -> list[str]:
    lines = []
    for turn in facts.withdrawn[-WITHDRAWN:]:
        commits = [p.name for p in turns.find_pieces([turn], turns.COMMIT) if p.name]
        request = clip_at_word(one_line(turn.request), LEAST_LINE)
        line = "%s taken back by a rewind: %s" % (turn.time, request)
        lines.append(line + ("; its commit %s remains" % commits[-1] if commits else ""))
    return lines


def fit_sections(sections: list[tuple[str, list[str], int]], most: int) -> str:
    """Return sections as markdown lists, in at most `most` characters.

    sections: (heading, lines, least); empty ones are left out.  Lines go from the longest section
    that has more than its `least`, else from any: of the turns the oldest, of others the last.
    """
    kept = [(name, list(lines), least) for name, lines, least in sections if lines]
    while True:
        lists = ("## %s\n\n- %s" % (name, "\n- ".join(lines)) for name, lines, _ in kept)
        page = "\n\n".join(lists) + "\n"
        if len(page) <= most:
            return page
        spare = [section for section in kept if len(section[1]) > section[2]]
        spare = spare or [section for section in kept if len(section[1]) > 1]
        if not spare:
            return shorten(page, most - 1) + "\n"
        name, lines, _ = max(spare, key=lambda section: sum(map(len, section[1])))
        lines.pop(0 if name == "Turns" else -1)


def _format_outcome(facts: Facts) -> list[str]:
    turn = openings.find_last_telling_turn(facts.turns)
    if turn is None:
        return []
    outcome = openings.find_outcome(turn)
    if openings.is_finished(turn):
        if openings.find_questions(facts.turns):
            outcome = openings.remove_questions(outcome)
        last = openings.format_plain_line(outcome, LAST)
        work = openings.find_work_before(facts.turns)
        if not work:
            return [last] if last else []
        asked_last = ASKED_LAST + clip_at_word(one_line(turn.request), REQUEST)
        asked_last += " → " + clip_at_word(last, LAST // 2) if last else ""
        return [openings.format_plain_line(openings.find_outcome(work), LAST), asked_last]
    mark = STOPPED if turn.end == turns.INTERRUPTED else LEFT
    # a remark that nobody answered is no outcome
    earlier = [] if turn.pieces else [*filter(None, map(openings.find_outcome, facts.turns))]
    lines = [openings.format_plain_line(said, LAST) for said in earlier[-1:]]
    lines.append(mark + clip_at_word(one_line(turn.request), REQUEST))
    if outcome:
        lines.append("said on the way: " + openings.format_plain_line(outcome, LAST // 2))
    done = _format_last_actions(turn)
    return lines + (["done last: " + done] if done else [])


def _format_turns(facts: Facts, room: int) -> list[str]:
    """Return the lines of the turns, in about `room` characters.

    Where not all fit, each line gets less; then the oldest turns but the first are left out.
    """
    shown = [turn for turn in facts.turns if turn.asked != turns.SUMMARY]
    most = max(2, room // LEAST_LINE)
    if len(shown) > most:
        shown = [shown[0], *shown[1 - most :]]
    last = openings.find_last_telling_turn(facts.turns)
    work = openings.find_work_before(facts.turns)
    interjections = [_format_interjections(turn) for turn in shown]
    each = max(LEAST_LINE, (room - sum(map(len, interjections))) // max(1, len(shown)) - 14)
    lines = list[str]()
    for turn, interjection in zip(shown, interjections):
        lines.append(_format_turn(turn, each, turn is last or turn is work, len(shown) == 1))
        if interjection:
            lines.append(interjection)
    return lines


def _format_interjections(turn: Turn) -> str:
    """Return what the user wrote while the model worked, or ""."""
    said = turns.find_pieces([turn], turns.USER, turns.WORKING)
    telling = [
        clip_at_word(one_line(p.text), BETWEEN) for p in said if openings.is_meaningful(p.text)
    ]
    if not telling:
        return ""
    return "%s (%s) %s" % (turn.time, turns.WORKING, clip_at_word("; ".join(telling), OUTCOME))


def _format_turn(turn: Turn, most: int, in_outcome: bool, alone: bool) -> str:
    asked = min(REQUEST, max(LEAST_LINE // 2, most // 3))
    mark = "(goes on) " if turn.asked == turns.GOES_ON else ""
    request = mark + clip_at_word(one_line(turn.request), asked)
    if in_outcome:
        outcome = "" if alone else "see Outcome"
    else:
        room = max(60, min(OUTCOME, most - len(request)))
        statement = openings.remove_questions(openings.find_outcome(turn))
        outcome = openings.format_plain_line(statement, room)
        outcome = outcome or clip_at_word(_format_last_actions(turn), room)
    return "%s %s%s" % (turn.time, request, " → " + outcome if outcome else "")


def _format_last_actions(turn: Turn) -> str:
    done = [
        clip_at_word(conversationpage.format_run(piece)[2:], 140)
        if piece.kind == turns.RUN
        else "%s %s" % (piece.name, format_code(piece.text))
        for piece in turn.pieces
        if piece.kind in (turns.RUN, turns.FILE)
    ]
    return ", ".join(done[-3:])


def _format_done(facts: Facts) -> list[str]:
    made, changed = list_files(facts)
    gone = turns.find_pieces(facts.turns, turns.FILE, turns.REMOVED)
    removed = [piece.text for piece in gone if piece.text not in made + changed]
    standing = made + changed + removed
    taken_back = dict.fromkeys(edit.path for edit in facts.edits if edit.path not in standing)
    lines = [
        ("commit " + hash).rstrip() + ": " + clip_at_word(one_line(subject), 120)
        for hash, subject, _ in facts.commits[-MOST_COMMITS:]
    ]
    links = dict.fromkeys(piece.text for piece in turns.find_pieces(facts.turns, turns.LINK))
    lines += ["pull request " + link for link in links]
    for word, paths in (
        ("created", made),
        ("edited", changed),
        ("removed", removed),
        ("taken back:", [*taken_back]),
    ):
        if paths:
            extra = " and %d more" % (len(paths) - MOST_FILES) if len(paths) > MOST_FILES else ""
            lines.append(word + " " + ", ".join(map(format_code, paths[:MOST_FILES])) + extra)
    return lines + _format_reports(facts)


def _format_reports(facts: Facts) -> list[str]:
    lines = []
    for report in turns.find_pieces(facts.turns, turns.REPORT)[-MOST_REPORTS:]:
        task = " (%s)" % one_line(report.name, 80) if report.name else ""
        lines.append("subagent%s: %s" % (task, openings.format_plain_line(report.text, 200)))
    return lines


def _format_commands(facts: Facts, mended: list[Fix]) -> list[str]:
    """Return a line for each failed command, with a later success."""
    told = {fix.failure.command for fix in mended}
    passed = {run.command: run.last for run in facts.runs if run.outcome == shell.OK}
    lines = []
    for at, run in enumerate(facts.runs):
        is_told = run.command in told or passed.get(run.command, "") > run.last
        if run.bad and not run.is_gate and not is_told and not commandline.is_noise(run.key):
            told.add(run.command)
            lines.append(_format_failed_command(run, facts.runs[at + 1 :]))
    return lines[-MOST_COMMANDS:]


def _format_failed_command(run: Run, later: list[Run]) -> str:
    passed = (other.command for other in later if (other.outcome, other.key) == (shell.OK, run.key))
    then = next((command for command in passed if command != run.command), "")
    why = one_line(run.cause, 140)
    return "✗ %s → %s%s%s" % (
        quote_command(run.command),
        run.outcome,
        ": " + why if why else "",
        "; then ✓ " + quote_command(then) if then else "",
    )


def quote_command(command: str, most: int = 160) -> str:
    """Return a command's first line as code, without comment, `cd` and pipe."""
    command = re.sub(r"\A(?:\s*#.*\n)*\s*(?:cd \S+ && )?", "", command)
    first, newline, _ = command.strip().partition("\n")
    first = re.sub(r"(?: 2>&1)?(?: \| (?:tail|head)(?: -n?\s?\d+)?)?$", "", first) or first
    return format_code(shorten(one_line(first) + (" …" if newline else ""), most))


def _format_fix(fix: Fix) -> str:
    why = one_line(fix.failure.cause, 160)
    other = " (%s)" % quote_command(fix.success.command, 100)
    return "%s → %s%s; passed%s after editing %s" % (
        quote_command(fix.failure.command),
        fix.failure.outcome,
        ": " + why if why else "",
        other if fix.success.command != fix.failure.command else "",
        ", ".join(map(format_code, fix.files[:4])),
    )


def _format_open_failures(facts: Facts) -> list[str]:
    failures = fixes.find_open_failures([*facts.failing, *facts.runs])[-MOST_OPEN:]
    reasons = (one_line(run.cause or run.summary or run.outcome, 160) for run in failures)
    return [quote_command(run.command) + FAILS[1:] + why for run, why in zip(failures, reasons)]
