"""The page of a checkpoint: facts as title, tags and markdown, and a page taken apart again into what it tells.

What the next session needs first stands first: Outcome, Next, Open; then the turns, which answer most of what is asked
later; then Decisions, Fixed, Done and Commands.  Room is given by what there is: with many turns each gets less, and none is
left out before its request and outcome are down to a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import NamedTuple

from memory.capture import choices, conversationpage, fixes, gist, turns
from memory.capture.conversationpage import code
from memory.capture.facts import Facts
from memory.capture.fixes import Fix
from memory.capture.gist import OUTCOME, REQUEST, TITLE, TRIVIAL
from memory.capture.turns import Turn
from memory.core import tokeniser
from memory.core.plaintext import at_word, one_line, sentences, short
from memory.core.records import Record, labels
from memory.session import commandline, shell, tellingline

BODY, LAST, _CHANGE, _SUBSTANCE = 6000, 600, 100, 120  # characters: page, last outcome, line for a linter, answer worth a file
_WITHDRAWN = 8  # turns
_LEAST, _FIXED, _COMMANDS, _COMMITS, _FILES, _REPORTS, _OPEN = 110, 4, 6, 12, 14, 2, 4
_SILENCED = re.compile(r"^\+.*(?:nolint|noqa|type: ignore|eslint-disable|@ts-ignore|#\[allow|pylint: disable).*", re.M)
_COMMENT = ("//", "#", "/*", "*", "--", '"')
LEFT = "in progress, not finished: "  # before the request of a turn that has not ended
ON_THE_WAY = LEFT, "said on the way: ", "done last: "  # what begins a line of an outcome that is none
_LANGUAGES = {
    "py": "python", "ts": "typescript", "tsx": "typescript", "js": "javascript", "jsx": "javascript", "rs": "rust",
    "go": "go", "java": "java", "kt": "kotlin", "rb": "ruby", "php": "php", "c": "c", "h": "c", "cpp": "cpp",
    "cc": "cpp", "cs": "csharp", "swift": "swift", "sh": "shell", "sql": "sql", "tf": "terraform", "vue": "vue",
    "svelte": "svelte", "md": "docs", "css": "css", "html": "html", "yml": "yaml", "yaml": "yaml", "lua": "lua",
    "ex": "elixir", "scala": "scala", "dart": "dart", "zig": "zig"}
_TOOLS = frozenset(
    "pytest npm pnpm yarn cargo docker kubectl terraform make pip uv poetry jest vitest mypy ruff eslint alembic psql "
    "redis-cli helm gradle mvn dotnet bazel tox unittest webpack vite".split())


def paths_of(facts: Facts) -> tuple[list[str], list[str]]:
    """Return (files made, files changed), each once, in the order of the first touch."""
    made = {e.path for e in facts.edits if e.made}
    every = list(dict.fromkeys(e.path for e in facts.edits if not e.undone))
    return [p for p in every if p in made], [p for p in every if p not in made]


def names(facts: Facts, taken: Callable[[str], bool] = lambda name: False) -> tuple[str, list[str]]:
    """Return (a title for the work in at most 70 characters that no other checkpoint of the day bears, what else it is called).

    taken: tells whether another bears a name.
    """
    found, asked = conversationpage.names(facts.turns, facts.title, [subject for _, subject, _ in facts.commits])
    found = [*found, *filter(None, [gist.topic(facts.earlier)] if facts.earlier else [])] or [_made_of(facts)]
    title = next((name for name in found if not taken(name)), "")
    if not title:
        when = " (%s)" % (facts.until[11:16] or "again")
        title = gist.clause(found[0], TITLE - len(when)) + when
    return title, [one for one in asked if one != title]


def _made_of(facts: Facts) -> str:
    """Name work that nobody put into words by what it touched."""
    made, changed = paths_of(facts)
    if facts.withdrawn and not facts.turns:
        return "Taken back by a rewind"
    told = ", ".join(p.rpartition("/")[2] for p in (changed + made)[:3]) or ", ".join([*{r.key: r for r in facts.runs}][:3])
    return gist.clause("Work on " + told if told else next(iter(facts.tasks.values()), "Session"))


def tags(facts: Facts) -> list[str]:
    """Return up to five tags: languages of the files, then programs that ran."""
    every = [_LANGUAGES.get(e.path.rpartition(".")[2].lower(), "") for e in facts.edits]
    every = sorted(set(filter(None, every)), key=lambda tag: (-every.count(tag), tag))[:3]
    return list(dict.fromkeys([*every, *(p for p in (r.key.partition(" ")[0] for r in facts.runs) if p in _TOOLS)]))[:5]


def worth(facts: Facts) -> bool:
    """Tell whether anything is worth a checkpoint: work, a decision, an agent's report, an answer, an unanswered why."""
    last, asked = gist.closing(facts.turns), [turn for turn in facts.turns if turn.asked != turns.SUMMARY]
    if facts.edits or facts.commits or facts.runs or facts.reports:
        return True
    waits = last and gist.is_unanswered(last) and len(last.request) >= _SUBSTANCE and re.search(
        r"(?i)\bwhy\b|왜|なぜ|为什么|\bwarum\b", last.request)
    return bool(waits or choices.decisions(asked)) or any(
        len(came) >= (_SUBSTANCE // 3 if gist.wide(came) else _SUBSTANCE) for came in map(gist.outcome, asked))


def is_answered(facts: Facts) -> bool:
    """Tell whether something was asked that says what it is about, and answered, however shortly."""
    return any(gist.outcome(turn) and gist.topic(turn.request) for turn in facts.turns if turn.asked in ("", turns.SLASH))


def body(facts: Facts) -> str:
    """Write the facts as markdown, at most 6,000 characters."""
    mended = _mended(facts)
    failing = _failing_at_end(facts)
    rest = [("Decisions", choices.decisions(facts.turns), 3), ("Fixed", [_fix(f, facts) for f in mended[-_FIXED:]], 1),
            ("Done", _done(facts), 3), ("Commands", _commands(facts, mended), 1)]
    first = [("Outcome", _last(facts), 2), ("Next", gist.ahead(facts.turns, facts.todos), 2),
             ("Open", [*failing, *_unchecked(facts), *gist.questions(facts.turns)], 2)]
    used = len(fitted([*first, *rest, ("Taken back", _withdrawn(facts), 1)], BODY // 2)) if any(
        lines for _, lines, _ in [*first, *rest]) else 0
    told = [("Turns", _turns(facts, BODY - used - 40), 1)]
    return fitted([*first, *told, *rest, ("Taken back", _withdrawn(facts), 1)], BODY)


def _withdrawn(facts: Facts) -> list[str]:
    """Return a line for each turn that a rewind took back; what git was told stands whatever the client took back."""
    lines = []
    for turn in facts.withdrawn[-_WITHDRAWN:]:
        commits = [piece.name for piece in turn.pieces if piece.kind == turns.COMMIT and piece.name]
        line = "%s taken back by a rewind: %s" % (turn.at[11:16], at_word(_request(turn), _LEAST))
        lines.append(line + ("; its commit %s was made" % commits[-1] if commits else ""))
    return lines


def fitted(sections: list[tuple[str, list[str], int]], most: int) -> str:
    """Write sections as markdown lists, in at most `most` characters; what matters least goes first where there is too much.

    sections: (heading, lines, how many of them stay as long as another section has more than its own); empty ones are left out.
    """
    kept = [(name, list(lines), least) for name, lines, least in sections if lines]
    while True:
        whole = "\n\n".join("## " + name + "\n\n- " + "\n- ".join(lines) for name, lines, _ in kept) + "\n"
        if len(whole) <= most:
            return whole
        spare = [entry for entry in kept if len(entry[1]) > entry[2]] or [entry for entry in kept if len(entry[1]) > 1]
        if not spare:
            return short(whole, most - 1) + "\n"
        max(spare, key=lambda entry: sum(map(len, entry[1])))[1].pop()


def _last(facts: Facts) -> list[str]:
    """Return where the work stands: the opening of the last final statement, or what was in progress."""
    turn = gist.closing(facts.turns)
    if turn is None:
        return []
    came = gist.outcome(turn)
    if gist.is_finished(turn):
        return [gist.plain(gist.unasked(came) if gist.questions(facts.turns) else came, LAST)] if came else []
    done = _doing(turn)
    lines = [LEFT + at_word(_request(turn), REQUEST)] if turn.pieces and not gist.is_unanswered(turn) else []
    lines += ["said on the way: " + gist.plain(came, LAST // 2)] if came else []
    return lines + (["done last: " + done] if done else [])


def _turns(facts: Facts, room: int) -> list[str]:
    """Return a line for each turn, its request and the opening of its outcome, in `room` characters at most where that goes."""
    again = {turn.request: at for at, turn in enumerate(facts.turns)}  # a hook stopped what was asked first, or the user did
    told = [turn for at, turn in enumerate(facts.turns) if turn.asked != turns.SUMMARY and (
        turn.pieces or again[turn.request] == at and not TRIVIAL.match(turn.request))]
    last = gist.closing(facts.turns)
    if len(told) * _LEAST > room:
        sizes = {at: len(gist.outcome(turn)) + len(turn.request) for at, turn in enumerate(told)}
        kept = sorted(range(1, len(told)), key=lambda at: (-sizes[at], -at))[:max(1, room // _LEAST) - 1]
        told = [told[at] for at in (0, *sorted(kept))]
    each = max(_LEAST, room // max(1, len(told)) - 14)
    asked = min(REQUEST, max(_LEAST // 2, each // 3))
    lines = []
    for turn in told:
        request = ("(goes on) " if turn.asked == turns.GOES_ON else "") + at_word(_request(turn), asked)
        room = max(60, min(OUTCOME, each - len(request)))
        came = "" if turn is last and len(told) == 1 else "see Outcome" if turn is last else (
            gist.plain(gist.unasked(gist.outcome(turn)), room) or at_word(_doing(turn), room))
        lines.append("%s %s%s" % (turn.at[11:16], request, " → " + came if came else ""))
    return lines


def _doing(turn: Turn) -> str:
    """Say what was last done in a turn that came to no statement."""
    done = [at_word(conversationpage.run_line(p)[2:], 140) if p.kind == turns.RUN else "%s %s" % (p.name, code(p.text))
            for p in turn.pieces if p.kind in (turns.RUN, turns.FILE)]
    return ", ".join(done[-3:])


def _request(turn: Turn) -> str:
    """Return a request on one line; of a pasted plan its heading."""
    plan = next((p.text for p in turn.pieces if p.kind == turns.USER and p.name == turns.APPROVED), "")
    if plan and turn.request.lower().startswith("implement the following plan"):
        return "Implement the plan: " + gist.heading_of(plan)
    return one_line(turn.request)


def _done(facts: Facts) -> list[str]:
    made, changed = paths_of(facts)
    removed = [p.text for t in facts.turns for p in t.pieces if p.name == turns.REMOVED and p.text not in made + changed]
    gone = list(dict.fromkeys(e.path for e in facts.edits if e.undone and e.path not in made + changed + removed))
    lines = [("commit " + h).rstrip() + ": " + one_line(s, 120) for h, s, _ in facts.commits[-_COMMITS:]]
    lines += list(dict.fromkeys("pull request " + p.text for turn in facts.turns for p in turn.pieces if p.kind == turns.LINK))
    for word, names in (("created", made), ("edited", changed), ("removed", removed), ("taken back:", gone)):
        if names:
            extra = " and %d more" % (len(names) - _FILES) if len(names) > _FILES else ""
            lines.append(word + " " + ", ".join(code(n) for n in names[:_FILES]) + extra)
    reports = [(p.name, p.text) for turn in facts.turns for p in turn.pieces if p.kind == turns.REPORT]
    known = [gist.plain(text)[:80] for _, text in reports]
    reports += [(facts.tasks.get(a, ""), text) for a, text in facts.reports.items() if gist.plain(text)[:80] not in known]
    found = [(name, told) for name, text in reports for told in (gist.plain(gist.findings(text), 200),) if told]
    return lines + ["subagent%s: %s" % (" (%s)" % one_line(name, 80) if name else "", told)
                    for name, told in found[-_REPORTS:]]


def _commands(facts: Facts, mended: list[Fix]) -> list[str]:
    """Return the commands that failed, each with the invocation that then worked; tests and their like stand elsewhere."""
    told = {fix.failure.command for fix in mended[-_FIXED:]}
    lines = []
    for at, run in enumerate(facts.runs):
        if not run.bad or run.is_gate or run.command in told or commandline.is_noise(run.key):
            continue
        told.add(run.command)
        then = next((r for r in facts.runs[at + 1:] if r.outcome == shell.OK and r.key == run.key
                     and r.command != run.command), None)
        why = one_line(run.detail.partition("\n")[0], 140)
        lines.append("✗ %s → %s%s%s" % (quoted(run.command), run.outcome, ": " + why if why else "",
                                        "; then ✓ " + quoted(then.command) if then else ""))
    return lines[-_COMMANDS:]


def quoted(command: str, most: int = 160) -> str:
    """Quote a command or a path: its first line, at most `most` characters, without its `cd` and where its output went."""
    first, newline, _ = re.sub(r"^cd \S+ && ", "", command).strip().partition("\n")
    first = re.sub(r"(?: 2>&1)?(?: \| (?:tail|head)(?: -n?\s?\d+)?)?$", "", first) or first
    return code(short(one_line(first) + (" …" if newline else ""), most))


def _mended(facts: Facts) -> list[Fix]:
    """Return the failures whose mending is likely known, one for each check that failed."""
    found: dict[str, Fix] = {}
    for fix in fixes.fixes(facts):
        if (fix.likely or len(fix.files) == 1) and not (fix.failure.kind == tellingline.USE and fix.files):
            found[fix.failure.key + "\n" + shell.normal(fix.failure.detail.partition("\n")[0])] = fix
    return list(found.values())


def _unchecked(facts: Facts) -> list[str]:
    """Return the files that were edited since a check passed last, where the work was left in the middle."""
    turn = gist.closing(facts.turns)
    passed = max((run.last for run in facts.runs if run.is_gate and run.outcome == shell.OK), default="")
    if turn is None or gist.is_finished(turn) or not passed:
        return []
    names = list(dict.fromkeys(edit.path for edit in facts.edits if edit.at > passed and not edit.undone))
    return ["no check has passed since %s was edited" % ", ".join(map(code, names[:4]))] if names else []


def _fix(fix: Fix, facts: Facts) -> str:
    """Tell a failure by its telling line, the cause where somebody named it, and what made it pass."""
    first = fix.failure.detail.partition("\n")[0]
    why = one_line(first, 160)
    rule = re.search(r" \([\w-]+\)\Z", first) if fix.failure.kind == tellingline.LINT else None
    why += rule[0] if rule and not why.endswith(rule[0]) else ""
    why = fix.failure.outcome + (": " + why if why else "")
    by = ", ".join(code(p) for p in fix.files[:4]) or " and ".join(quoted(c) for c in fix.commands)
    cause = _cause(fix, facts)
    other = "" if fix.success.command == fix.failure.command else " (%s)" % quoted(fix.success.command, 100)
    tests = [path for path in fix.files if commandline.TEST_FILE.search(path)]
    silenced = next(filter(None, (_SILENCED.search(edit.hunk) for edit in fix.edits)), None)
    change = _changed(fix) if fix.failure.kind == tellingline.LINT else ""
    if silenced:
        by += " (the check was silenced: %s)" % quoted(silenced[0][1:].strip(), _CHANGE)
    elif change:
        by += " (changed: %s)" % change
    elif tests and len(tests) == len(fix.files) and fix.failure.is_test:
        gone = {word for edit in fix.edits for line in edit.hunk.split("\n") if line[:1] == "-" for word in line.split()}
        lost = gone & set(fix.failure.detail.split()) - {"-"}
        by += " (its assertion was changed or removed)" if lost else " (only the test changed)"
    return "%s → %s%s; passed%s after %s %s" % (quoted(fix.failure.command), why, " — " + at_word(cause, 200) if cause else "",
                                                other, "editing" if fix.files else "running", by)


def _changed(fix: Fix) -> str:
    """Return the line that met a linter's one rule and what stood there before; "" where its report names several rules."""
    rules = {line.rpartition("(")[2] for line in fix.failure.detail.split("\n")}
    edits = [edit for edit in fix.edits if edit.path in fix.failure.names] if len(rules) == 1 else []
    for lines in (edit.hunk.split("\n") for edit in edits):
        gone, come = ([line[1:].strip() for line in lines if line[:1] == sign] for sign in "-+")
        new = [line for line in come if line not in gone and not line.startswith(_COMMENT)]
        old = [line for line in gone if line not in come and not line.startswith(_COMMENT)]
        pairs = [(_kept(before, after), before, after) for before in old[:8] for after in new[:8]]
        if pairs:
            _, before, after = max(pairs, key=lambda pair: pair[0])
            return "%s → %s" % (quoted(before, _CHANGE), quoted(after, _CHANGE))
    return ""


def _kept(before: str, after: str) -> tuple[float, float]:
    """Return how much of a line another one keeps: of its words, then of its characters."""
    words = set(re.findall(r"\w+", before))
    return len(words & set(re.findall(r"\w+", after))) / max(1, len(words)), SequenceMatcher(None, before, after).ratio()


def _cause(fix: Fix, facts: Facts) -> str:
    """Return the sentence that names the cause of a failure in the turn that mended it, "" where none speaks of it."""
    told = [turn for turn in facts.turns if turn.at <= fix.success.at][-1:]
    telling = {word.lower() for word in fixes.telling(fix.failure.detail)} | {
        path.rpartition("/")[2].lower() for path in fix.files}
    for turn in told:
        for text in [gist.outcome(turn), *reversed(turn.said())]:
            for sentence in gist.causes(text):
                if any(word in sentence.lower() for word in telling):
                    return sentence
    return ""


def _failing_at_end(facts: Facts) -> list[str]:
    """Return what fails at the end, each command with its telling line."""
    runs = [*facts.failing, *facts.runs]
    failing = fixes.open_failures(runs)
    if failing:
        ends = [*(turn.at for turn in facts.turns[1:]), facts.until]
        first = min(run.last for run in failing)
        failing = fixes.open_failures(runs, [end for turn, end in zip(facts.turns, ends)
                                             if end > first and fixes.says_green(gist.outcome(turn))])
    reasons = [(r, r.detail.partition("\n")[0] or r.summary or r.outcome) for r in failing[-_OPEN:]]
    return ["%s still fails: %s" % (quoted(r.command), one_line(reason, 160)) for r, reason in reasons]


_QUOTED = 80  # characters of one of two commands
MOST_SAID = 2  # sentences of a text without sections
_SECTIONS = {
    "outcome": "outcome",
    "turns": "turns", "request": "request", "done": "done", "decisions": "decisions", "decided": "decisions",
    "commands": "commands", "tests": "tests", "fixed": "fixed", "open": "open", "open questions": "open", "next": "next",
    "next step": "next", "next steps": "next", "todo": "next", "to do": "next"}
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+(\[[ xX]\]\s+)?")
_FAILS = re.compile(r"`.*?` still fails: |``.*?`` still fails: ")
_AHEAD = re.compile(r"(?:next(?: steps?| up)?|todo)\s*[:,]\s*", re.I)


class Outline(NamedTuple):
    """A checkpoint's lines, sorted by their sections.

    outcome: where the work stood at the end.  commits: `hash: subject`.  failing: commands that failed and were not fixed, as
    the checkpoint words them.  instead: commands that failed, with the one that then worked.  said: first sentences of what
    stands under no heading that is known.
    """

    request: tuple[str, ...]
    outcome: tuple[str, ...]
    commits: tuple[str, ...]
    files: tuple[str, ...]
    decisions: tuple[str, ...]
    failing: tuple[str, ...]
    instead: tuple[str, ...]
    fixed: tuple[str, ...]
    open: tuple[str, ...]
    next: tuple[str, ...]
    said: tuple[str, ...]


def outline(record: Record) -> Outline:
    """Take a checkpoint apart; a body of any shape gives an outline."""
    found = _sections(record.body)
    said = [sentence for line in [*found["outcome"], *found["said"]] for sentence in sentences(gist.plain(line))]
    ahead = gist.next_steps("\n".join(found["said"])) if not found["next"] else []
    commits = [line[len("commit "):] for line in found["done"] if line.startswith("commit ")]
    others = [line for line in found["done"] if not line.startswith(("commit ", "created `", "edited `"))]
    asked = [line[6:].partition(" → ")[0] for line in found["turns"]]
    return Outline(
        (*found["request"], *asked), tuple(found["outcome"]), tuple(commits),
        labels(record.meta.get("files")), tuple(found["decisions"]),
        tuple(_failing(found)), tuple(_instead(found["commands"])),
        tuple(found["fixed"]), tuple(found["open"]),
        tuple(_AHEAD.sub("", line, count=1) if _AHEAD.match(line) else line for line in [*found["next"], *ahead]),
        tuple([*(s for s in map(gist.before_next, said) if s and s not in ahead), *others][:MOST_SAID]))


def _sections(body: str) -> dict[str, list[str]]:
    """Return the lines under each known heading, code blocks left out; those under none stand under `said`."""
    found: dict[str, list[str]] = {name: [] for name in (*_SECTIONS.values(), "said")}
    name = "said"
    for line, fenced in tokeniser.coded(body.split("\n")):
        if fenced or not line.strip():
            continue
        level, title = tokeniser.heading(line)
        if level:
            name = _SECTIONS.get(title.rstrip(": ").lower(), "said")
            continue
        item = _ITEM.match(line)
        if item and (item[1] or "").strip().lower() == "[x]" and name in ("open", "next"):
            continue
        found[name].append((line[item.end():] if item else line).strip())
    return found


def _instead(commands: list[str]) -> list[str]:
    """Return the commands that failed and how the same was then called so that it worked."""
    found = [line[2:].partition("; then ✓ ") for line in commands if line.startswith("✗ ")]
    pairs = [(failed.partition(" → ")[0], then) for failed, _, then in found]
    told = [(_shorter(failed), _shorter(then)) for failed, then in pairs if then and _is_otherwise(failed, then)]
    return ["%s fails; %s works" % (failed, then) for failed, then in told if failed != then]


def _is_otherwise(failed: str, then: str) -> bool:
    """Tell whether two calls try the same: each is one command, told whole, and no variable has another value."""
    every = [[join for join, part in commandline.steps(one.strip("` ")) if not part.startswith(("cd ", "export "))]
             for one in (failed, then)]
    alone = " …`" not in failed + then and all(sum(join != "|" for join in joins) < 2 for joins in every)
    return alone and not fixes.set_otherwise(failed, then)


def _shorter(quotation: str) -> str:
    return quotation if len(quotation) <= _QUOTED else code(short(quotation.strip("` "), _QUOTED - 2))


def _failing(found: dict[str, list[str]]) -> list[str]:
    """Return the commands that failed at the end; where a page tells no turns, those that nothing in it settles."""
    if found["turns"]:
        return [line for line in found["open"] if _FAILS.match(line)]
    settled = [*(line[2:] for line in found["commands"] if line.startswith("✓ ")), *found["fixed"], *found["open"]]
    failed = [line[2:] for line in found["commands"] if line.startswith("✗ ") and "; then ✓ " not in line]
    return [line for line in failed if not any(other.startswith(line.partition(" → ")[0]) for other in settled)]
