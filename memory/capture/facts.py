"""The facts of a stretch of a session: its turns, with their commands, edits and commits."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memory.capture import openings, turns
from memory.capture.turns import Piece, Turn, make_relative
from memory.core import files, layout
from memory.core.plaintext import one_line
from memory.session import entries, git, shell, tellingline
from memory.session.entries import Entry, clip_characters
from memory.session.shell import Run
from memory.store import writer

# in the first line of every prompt that dayleaf itself gives to a model
OWN_PROMPT_MARK = "dayleaf-distill-prompt"
# pieces of a turn in which a file is named once; turns in which a merge is told once
_SAME_TURN, _MERGES = 500, 100
_NEAR = 60  # commands back in which a repeated one counts as repeated
# characters of a command, of a statement, of a request
_LONG, _SAID, _ASKED = 20000, 40000, 100_000
_GIVEN = 2000  # characters of a text in a tool's input
_ARGUMENTS = {  # by tool: the argument that is told
    "Bash": "command",
    **dict.fromkeys(("Edit", "Write", "Read"), "file_path"),
    "NotebookEdit": "notebook_path",
    **dict.fromkeys(("Agent", "Task"), "description"),
    **dict.fromkeys(("Grep", "Glob"), "pattern"),
    "Skill": "skill",
    "WebFetch": "url",
    "WebSearch": "query",
    "LS": "path",
    "ExitPlanMode": "plan",
}
_EDITS = ("Edit", "Write", "NotebookEdit")
_CONTENTS = ("content", "old_string", "new_string", "new_source", "edits")  # of a file
_LIMITS = {"runs": 240, "edits": 400, "commits": 60, "pending": 64, "todos": 40}
_IN_PARENT = "(in its parent's file)"  # where older clients put a subagent's lines
_PLAN_PROMPT = re.compile(r"(?<!\s)\s*implement the following plan:\s*", re.I)


@dataclass
class Edit:
    """A file made or changed.

    at: the last time.  made: it is new.  undone: it was discarded or removed.
    ways: `old:new` hashes of each change's texts, "" for unknown.
    """

    at: str
    path: str
    made: bool
    undone: bool = False
    ways: list[str] = field(default_factory=lambda: [""])


@dataclass
class Facts:
    """What one part of a session (stretch) did.

    turns: requests and their results, oldest first.
    withdrawn: turns that a rewind took back; all other fields are without them.
    runs: commands that mattered.
    edits: files, oldest first.
    commits: [hash or "", subject, instant].
    findings: of the last report of a linter or compiler (see `findings`).
    printed: see `tellingline.learn_passing_lines`.
    pending: tool calls without a result yet.
    inputs: of calls that failed or run: what else they were given, until secrets are out.
    todos: [text, status, its id or ""].
    failing: earlier failures.
    title: the client's name for the session.
    by: its kind of name.
    earlier: the last request before this stretch.
    early: checksum of a statement from a hook, not yet in the transcript.
    muted: "" | "text" (it may quote memories) | "all" (our own prompt).
    bang: the person's `!` command without its output yet.
    until: the latest instant.
    branch, cwd: by the host.
    typed: a person typed a request, in this stretch or one before.
    sent: a program sent the last request.
    """

    turns: list[Turn] = field(default_factory=list)
    withdrawn: list[Turn] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    commits: list[list[str]] = field(default_factory=list)
    findings: list[list[Any]] = field(default_factory=list)
    printed: dict[str, list[str]] = field(default_factory=dict)
    pending: dict[str, list[str]] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    todos: list[list[str]] = field(default_factory=list)
    failing: list[Run] = field(default_factory=list)
    title: str = ""
    by: str = ""
    earlier: str = ""
    early: str = ""
    muted: str = ""
    bang: str = ""
    until: str = ""
    branch: str = ""
    cwd: str = ""
    typed: bool = False
    sent: bool = False

    @property
    def all_turns(self) -> list[Turn]:
        """Every turn in order, withdrawn turns included."""
        if not self.withdrawn:
            return self.turns
        return sorted([*self.turns, *self.withdrawn], key=lambda turn: turn.at)

    def withdraw(self, other: Facts) -> None:
        """Add another Facts' turns as withdrawn: a rewind took them back."""
        self.withdrawn += [
            Turn(turn.at, turn.request, turns.WITHDRAWN, turn.pieces) for turn in other.turns
        ]
        self.until = max(self.until, other.until)

    def forget_inputs(self) -> None:
        """Forget the inputs of calls that have a result."""
        self.inputs = {id: text for id, text in self.inputs.items() if id in self.pending}

    @property
    def last_pieces(self) -> list[Piece]:
        """The pieces of the last turn, [] if there is no turn."""
        return self.turns[-1].pieces if self.turns else []

    @property
    def asked(self) -> list[Turn]:
        """The turns that a person or another agent asked for."""
        return [turn for turn in self.turns if turn.asked in ("", turns.SLASH, turns.TEAM)]

    @property
    def is_unattended(self) -> bool:
        """Whether programs asked for this stretch, and no person."""
        has_request = any(turn.request for turn in self.turns)
        return not self.typed and bool(self.sent or self.asked or not has_request)

    @property
    def requests(self) -> list[str]:
        """The user's requests in this stretch, oldest first."""
        return [turn.request for turn in self.asked if turn.asked != turns.TEAM]


class EntryContext(NamedTuple):
    """When and where an entry was written.

    roots: the directories of the project, and that of the session.
    agent: the subagent's file, _IN_PARENT, or "".
    """

    at: str
    cwd: str
    roots: tuple[str, ...]
    agent: str


def add_entry(facts: Facts, entry: Entry, roots: tuple[str, ...] = (), agent: str = "") -> int:
    """Add an entry; return its number of edits, commands and prompts.

    roots: directories to which paths are relative.
    agent: file of the entry's subagent, "" for none.
    """
    facts.until = max(facts.until, entry.at)
    facts.cwd = facts.cwd or entry.cwd
    agent = agent or (_IN_PARENT if entry.by_subagent else "")
    where = EntryContext(entry.at, entry.cwd or facts.cwd, (*roots, facts.cwd), agent)
    kind, asks = entry.kind, entry.kind in (entries.PROMPT, entries.SLASH)
    if not agent:
        _follow_branch(facts, entry.branch, asks)
        if asks:
            _note_sender(facts, entry)
            return _add_request(facts, entry)
    if facts.muted == "all":
        return 0
    if kind in (entries.ENDED, entries.INTERRUPTED):
        _end_turn(facts, kind, agent)
    elif kind == entries.NOTIFIED:
        _mark_last_statement(facts)
    else:
        return _add_work(facts, entry, where)
    return 0


def _end_turn(facts: Facts, how: str, agent: str) -> None:
    if facts.turns and not agent:
        facts.turns[-1].end = how
        _mark_last_statement(facts)


def _follow_branch(facts: Facts, branch: str, asks: bool) -> None:
    if branch in ("", "HEAD", facts.branch):
        return
    if asks or facts.branch in layout.TRUNKS or _may_change_branch(facts, branch):
        facts.branch = branch


def _add_work(facts: Facts, entry: Entry, where: EntryContext) -> int:
    kind = entry.kind
    if kind == entries.TEXT:
        if not where.agent:
            _add_statement(facts, entry)
    elif kind == entries.USE:
        if not where.agent:
            _mark_last_statement(facts, turns.CALLED)
        _add_call(facts, entry, where.roots)
    elif kind == entries.RESULT:
        return _add_result(facts, entry, where)
    elif kind == entries.TASK:
        return _add_task_end(facts, entry, where)
    elif kind == entries.BANG:
        facts.bang = entry.text
    elif kind == entries.BANG_OUTPUT and facts.bang:
        return _add_run_by_hand(facts, entry, where)
    elif not where.agent:
        _add_note(facts, entry, where)
    return 0


def _add_run_by_hand(facts: Facts, entry: Entry, where: EntryContext) -> int:
    command, facts.bang = facts.bang, ""
    judged = shell.judge_command(command, entry.at, entry.text)
    if judged is not None and judged.outcome in (shell.OK, shell.UNKNOWN):
        judged.outcome = shell.BY_HAND  # the host does not note how it ended
    return _add_judged_run(facts, judged, entry.text, where)


def _add_task_end(facts: Facts, entry: Entry, where: EntryContext) -> int:
    """Add the end of a background command, found by call or task."""
    for key, row in facts.pending.items():
        if row[:1] == [shell.BACKGROUND] and (key == entry.id or row[2:] == [entry.name]):
            del facts.pending[key]
            # without its output a pipe does not tell how it ended
            text = entry.text or ("" if entry.failed else "\n")
            judged = shell.judge_command(row[1], entry.at, text, None, entry.failed)
            return _add_judged_run(facts, judged, entry.text, where)
    return 0


def _may_change_branch(facts: Facts, branch: str) -> bool:
    """Tell whether this turn (for a trunk, every turn) has changed nothing."""
    since = facts.turns[-1].at if facts.turns and branch not in layout.TRUNKS else ""
    times = [edit.at for edit in facts.edits[-1:]] + [at for *_, at in facts.commits[-1:]]
    return all(at < since for at in times)


# --- statements


def _clip_request(text: str, most: int) -> str:
    """Return the user's words cut in their middle, if possible at lines."""
    if len(text) <= most:
        return text
    # A label above the cut may name a secret below it, so two lines more are left out there.
    begin, end = text[-most // 2 : -most // 4], text[-most // 4 :]
    lines = begin.split("\n", 3)
    begin = lines[3] if len(lines) > 3 else begin.partition(" ")[2]
    head = clip_characters(text, most // 2)
    return entries.join_ends(text, head, begin + end, most // 4)


def _is_repeated_request(facts: Facts, request: str, asked: str) -> bool:
    last = facts.turns[-1] if facts.turns else None
    return last is not None and (last.request, last.asked) == (request, asked) and not last.pieces


def _note_sender(facts: Facts, entry: Entry) -> None:
    # a program that goes on with a person's session types nothing
    facts.typed = not entry.headless or (facts.typed and facts.sent)
    facts.sent = entry.headless


def _add_request(facts: Facts, entry: Entry) -> int:
    if OWN_PROMPT_MARK in entry.text:
        facts.muted = "all"
        return 0
    is_dayleaf = entry.kind == entries.SLASH and entry.text.startswith("/dayleaf")
    facts.muted = "text" if is_dayleaf else ""
    if is_dayleaf:
        return 0
    request = _clip_request(entry.text, _ASKED)
    if _PLAN_PROMPT.match(request):  # the plan itself comes as an entry of its own
        heading = openings.find_heading(_PLAN_PROMPT.sub("", request))
        request = "Implement the following plan: " + heading
    asked = turns.SLASH if entry.kind == entries.SLASH else ""
    if _is_repeated_request(facts, request, asked):
        return 0
    if request:
        facts.turns.append(Turn(entry.at, request, asked))
    return 1


def _add_statement(facts: Facts, entry: Entry) -> None:
    if facts.early and facts.early == writer.body_checksum(entry.text):
        facts.early = ""
    elif not facts.muted:
        _add_piece(facts, entry.at, Piece(turns.SAID, clip_characters(entry.text, _SAID)))


def add_early_statement(facts: Facts, statement: str) -> None:
    """Add a statement that a hook gave, unless the transcript had it."""
    mark = writer.body_checksum(statement)
    text = clip_characters(statement, _SAID)
    known = any(text in turn.statements() for turn in facts.turns)
    if not facts.muted and mark != facts.early and not known:
        facts.early = mark
        _add_piece(facts, facts.until, Piece(turns.SAID, text))


def _add_piece(facts: Facts, at: str, piece: Piece) -> None:
    if not facts.turns or facts.turns[-1].asked == turns.SUMMARY:
        facts.turns.append(Turn(at, facts.earlier, turns.GOES_ON))
    facts.turns[-1].pieces.append(piece)
    facts.turns[-1].end = ""


def _mark_last_statement(facts: Facts, result: str = turns.ENDED) -> None:
    """Mark the last statement as followed by a call or an end."""
    pieces = facts.last_pieces
    if not pieces or pieces[-1].kind != turns.SAID or pieces[-1].result:
        return
    if result == turns.ENDED:
        before = (piece for piece in reversed(pieces) if piece.kind != turns.SAID or piece.result)
        if next(before, pieces[-1]).result == turns.ENDED:
            result = turns.ASIDE
    pieces[-1] = pieces[-1]._replace(result=result)


def _add_steer(facts: Facts, entry: Entry, text: str, where: EntryContext) -> None:
    """Add the user's words to a call: a refusal, an answer, others."""
    if entry.name == turns.REFUSED:
        pieces = facts.last_pieces
        if pieces and pieces[-1].outcome == shell.DECLINED:
            pieces.pop()  # the user's words to it tell more
        name = _take_refused_call(facts, entry.id, where)
        _add_piece(facts, entry.at, Piece(turns.USER, text, name))
    elif text:
        facts.typed |= entry.name == turns.ANSWER  # a menu takes a person
        name = turns.APPROVED if entry.name == "plan" else entry.name
        chosen = turns.CHOSEN if name == turns.ANSWER and entry.data else ""
        _add_piece(facts, entry.at, Piece(turns.USER, text, name, chosen))


def _add_note(facts: Facts, entry: Entry, where: EntryContext) -> None:
    kind = entry.kind
    clip = _clip_request if kind == entries.STEER else clip_characters
    text = clip(entry.text, _LONG)
    if kind == entries.STEER:
        _add_steer(facts, entry, text, where)
    elif kind == entries.TODOS:
        _update_todos(facts, entry)
    elif not text:
        return
    elif kind == entries.PLAN:
        _add_piece(facts, entry.at, Piece(turns.USER, text, turns.APPROVED))
    elif kind == entries.SUMMARY:
        said = Piece(turns.SAID, clip_characters(entry.text, _SAID))
        facts.turns.append(Turn(entry.at, "", turns.SUMMARY, [said]))
    elif kind in (entries.REPORT, entries.LINK):
        if not any(p.text == text for turn in facts.turns for p in turn.pieces):
            _add_piece(facts, entry.at, Piece(kind, text, clip_characters(entry.name, 120)))
    elif kind == entries.TEAM:
        facts.typed |= bool(entry.data)
        request = "(teammate %s) %s" % (clip_characters(entry.name, 80), text)
        facts.turns.append(Turn(entry.at, request, turns.TEAM))


def _take_refused_call(facts: Facts, call: str, where: EntryContext) -> str:
    """Forget a refused call; return its name, such as "refused Edit `a.go`"."""
    tool, argument = facts.pending.pop(call, ["", ""])[:2]
    if tool == "ExitPlanMode":
        tool, argument = turns.THE_PLAN, openings.find_heading(argument)
    elif tool.startswith(turns.FREE_FORM):
        argument = ": ".join(filter(None, turns.find_told(argument)))  # its key labels a secret
    text = clip_characters(one_line(make_relative(argument, where.roots)), 80)
    text = text.replace("`", "'").replace(")", "]")
    return "%s %s" % (turns.REFUSED, tool or "a tool") + (" `%s`" % text if text else "")


def set_session_title(facts: Facts, entry: Entry) -> None:
    """Set the session's title, unless the user set one."""
    if facts.cwd.endswith("/" + entry.text) or facts.branch.endswith(entry.text):
        return  # the host names the session of a worktree after it
    if entry.name == "custom" or facts.by != "custom":
        facts.title, facts.by = clip_characters(entry.text, 200), entry.name


def _update_todos(facts: Facts, entry: Entry) -> None:
    if entry.name == "list":
        facts.todos = []
    for id, text, status in entry.data:
        _change_todo(facts, id, text, status)
    del facts.todos[: -_LIMITS["todos"]]


def _change_todo(facts: Facts, id: str, text: str, status: str) -> None:
    known = next((todo for todo in facts.todos if id and todo[2:] == [id]), None)
    if status == "deleted":
        facts.todos = [todo for todo in facts.todos if todo is not known]
    elif known:
        known[:2] = [clip_characters(text, 300) or known[0], status or known[1]]
    elif text:
        facts.todos.append([clip_characters(text, 300), status or "pending", id])


# --- actions


def _find_argument(entry: Entry, roots: tuple[str, ...]) -> Any:
    """Return a call's main argument or None, a FREE_FORM tool's whole input."""
    if entry.name.startswith(turns.FREE_FORM):
        return _pack_input(entry, roots)
    return entry.data.get(_ARGUMENTS[entry.name]) if entry.name in _ARGUMENTS else None


def _pack_input(entry: Entry, roots: tuple[str, ...]) -> str:
    """Return a call's input as JSON, its main text first.

    Its keys are the labels by which secrets in it, and in its error, are found.
    """
    given = entry.data
    keys = (_ARGUMENTS.get(entry.name), *given)
    first = next((key for key in keys if isinstance(given.get(key), str)), None)
    if first is not None:
        told = make_relative(given[first], roots)
        rest = {key: value for key, value in given.items() if key != first}
        given = {first: told, **rest}
    try:
        text = json.dumps(given, ensure_ascii=False)
        return text if len(text) <= _LONG else json.dumps(_clip_input(given), ensure_ascii=False)
    except RecursionError:  # nested deeper than any real input
        return ""


def _keep_rest(facts: Facts, entry: Entry) -> None:
    """Keep a call's untold arguments: their keys label secrets in its error."""
    told = (_ARGUMENTS.get(entry.name), *_CONTENTS)
    rest = {key: value for key, value in entry.data.items() if key not in told}
    if rest and not entry.name.startswith(turns.FREE_FORM):
        with suppress(RecursionError):
            facts.inputs[entry.id] = json.dumps(_clip_input(rest), ensure_ascii=False)
    while len(facts.inputs) > _LIMITS["pending"]:
        del facts.inputs[next(iter(facts.inputs))]


def _clip_input(value: Any) -> Any:
    if isinstance(value, str):
        return clip_characters(value, _GIVEN)
    if isinstance(value, list):
        return [_clip_input(item) for item in value]
    if isinstance(value, dict):
        return {key: _clip_input(item) for key, item in value.items()}
    return value


def _add_call(facts: Facts, entry: Entry, roots: tuple[str, ...]) -> None:
    if entry.name == "TaskUpdate":  # its result need not tell the state that was given
        fields = [str(entry.data.get(key) or "") for key in ("taskId", "status", "subject")]
        facts.pending[entry.id] = [entry.name, "", *fields]
        return
    _keep_rest(facts, entry)
    argument = _find_argument(entry, roots)
    if not isinstance(argument, str):
        if entry.name not in _ARGUMENTS:
            return
        argument = ""
    text = clip_characters(entries.clean(argument), _LONG)
    facts.pending[entry.id] = [entry.name, text, *_hash_change(entry)]
    while len(facts.pending) > _LIMITS["pending"]:
        del facts.pending[next(iter(facts.pending))]


def _hash_change(entry: Entry) -> list[str]:
    """Return ["<old>:<new>"], hashes of an edit's texts, [] for another call."""
    old, new = map(entry.data.get, ("old_string", "new_string"))
    if entry.name != "Edit" or not isinstance(old, str) or not isinstance(new, str):
        return []
    return [":".join(files.sha256(text.encode("utf-8", "replace"))[:8] for text in (old, new))]


def find_reversed_paths(facts: Facts) -> set[str]:
    """Return the files whose changes cancel out between two commits."""
    commits = sorted(at for *_, at in facts.commits)
    # by file and commit: the text that a change left -> the texts that it replaced, newest last
    changes: dict[tuple[str, int], dict[str, list[str]]] = {}
    for edit in facts.edits:
        replaced = changes.setdefault((edit.path, bisect_left(commits, edit.at)), {})
        for way in edit.ways:
            old, _, new = way.partition(":")
            first = replaced[old].pop() if way and replaced.get(old) else old
            if first != new or not way:
                replaced.setdefault(new, []).append(first)
    standing = {path for (path, _), replaced in changes.items() if any(replaced.values())}
    return {edit.path for edit in facts.edits} - standing


def _update_task(facts: Facts, row: list[str]) -> None:
    task, status, subject = (*row[2:], "", "", "")[:3]
    if any(todo[2:] == [task] for todo in facts.todos):
        _change_todo(facts, task, entries.clean(subject), status)


def _add_result(facts: Facts, entry: Entry, where: EntryContext) -> int:
    row = facts.pending.get(entry.id, ["", ""])
    name, given = row[:2]
    if not entry.failed:
        facts.inputs.pop(entry.id, None)
    if not entry.refused:  # the user's words to it come with the next entry
        facts.pending.pop(entry.id, None)
    if name == "TaskUpdate":
        if not entry.failed:  # the task was updated
            _update_task(facts, row)
        return 0
    # a command answered with <tool_use_error> never ran
    if name == "Bash" and not (entry.failed and entry.text.lstrip().startswith("<tool_use_error>")):
        return _add_command(facts, entry, given, where)
    if name and entry.failed:
        _add_failed_call(facts, entry, name, given, where)
    elif name in _EDITS:
        return _add_edit(facts, entry, given, row[2:], where)
    return 0


def _add_command(facts: Facts, entry: Entry, given: str, where: EntryContext) -> int:
    judged = _judge_command(facts, given, entry)
    done = _add_judged_run(facts, judged, entry.text, where)
    if entry.failed:
        return done
    if judged is not None and judged.outcome == shell.BACKGROUND:
        task = entry.data.get("backgroundTaskId") if isinstance(entry.data, dict) else None
        facts.pending[entry.id] = [shell.BACKGROUND, given, str(task or "")]
    _add_merges(facts, given, entry, where)
    gone = [word for words in shell.DELETED.findall(given) for word in words.split()]
    _mark_removed(facts, [make_relative(path.strip("'\""), where.roots) for path in gone])
    for path in shell.WRITTEN.findall(given):
        done += _record_edit(facts, Edit(entry.at, path, False), where)
    return done


def _add_edit(facts: Facts, entry: Entry, given: str, ways: list[str], where: EntryContext) -> int:
    data: dict[str, Any] = entry.data if isinstance(entry.data, dict) else {}
    path = make_relative(given, where.roots)
    kind = data.get("type", "create" if entry.text.startswith("File created") else "")
    if kind == "delete":  # another agent's
        return _add_removal(facts, Edit(entry.at, path, False), where)
    made = kind == "create"
    done = _record_edit(facts, Edit(entry.at, given, made, ways=ways or [""]), where)
    if facts.findings and not where.agent:
        _add_finding_answers(facts, entry.at, path, data.get("structuredPatch"))
    return done


def _add_finding_answers(facts: Facts, at: str, path: str, patch: object) -> None:
    """Add the linter findings that an edit answers, a rule once a turn."""
    met = turns.find_pieces(facts.turns[-1:], turns.MET)
    from memory.capture import findings  # most edits answer nothing

    kinds = {findings.find_rule_kind(piece.name) for piece in met}
    for finding, text in findings.take_answered(facts.findings, path, patch):
        kind = findings.find_rule_kind(finding)
        if kind not in kinds:
            kinds.add(kind)
            _add_piece(facts, at, Piece(turns.MET, text, finding))


def _judge_command(facts: Facts, command: str, entry: Entry) -> Run | None:
    """Return a command's run, judged by its output, or None.

    A passing run's lines are taken out of the earlier failures of the command.
    """
    result = entry.data, entry.failed, entry.refused
    run = shell.judge_command(command, entry.at, entry.text, *result)
    if run is None:
        return None
    if run.passed:
        hashes = tellingline.learn_passing_lines(facts.printed, run.key, entry.text)
        failures = [failed for failed in facts.runs if failed.detail] if hashes else []
        for failed in failures:
            _remove_chatter(facts, failed, hashes)
    elif run.bad and tellingline.is_chatter(facts.printed, run.key, run.cause):
        text = tellingline.remove_chatter(facts.printed, run.key, entry.text)
        return shell.judge_command(command, entry.at, text, *result)
    return run


def _remove_chatter(facts: Facts, run: Run, hashes: list[str]) -> None:
    """Remove a failure's first line if passing runs print it too."""
    first, _, rest = run.detail.partition("\n")
    if not run.bad or tellingline.hash_line(first) not in hashes:
        return
    if not tellingline.is_chatter(facts.printed, run.key, first):
        return
    run.detail = rest
    old, new = _format_result(run.outcome, first), _format_result(run.outcome, run.cause)
    for turn in facts.turns:
        for at, piece in enumerate(turn.pieces):
            if (piece.kind, piece.text, piece.result) == (turns.RUN, run.command, old):
                turn.pieces[at] = piece._replace(result=new)


def _add_failed_call(
    facts: Facts, entry: Entry, name: str, given: str, where: EntryContext
) -> None:
    error = re.sub(r"</?tool_use_error>", "", entries.clean(entry.text)).strip()
    first = clip_characters(one_line(error.partition("\n")[0]), 200)
    if where.agent or not first or entry.refused or entries.PROTOCOL.search(error[:400]):
        return
    result = shell.FAILED + ": " + first
    if not name.startswith(turns.FREE_FORM):
        given = make_relative(given, where.roots)
    _add_piece(facts, entry.at, Piece(turns.RUN, given, name, result))


def _keep_findings(facts: Facts, judged: Run, output: str) -> None:
    if judged.bad and judged.kind in (tellingline.LINT, tellingline.BUILD):
        from memory.capture import findings

        found = findings.parse_findings(entries.clean(output), judged.command)
        facts.findings = found or facts.findings


def _find_same_task(facts: Facts, judged: Run) -> Run | None:
    for run in reversed(facts.runs[-_NEAR:]):
        mends = run.bad and not judged.bad
        if run.key == judged.key and (mends or run.command == judged.command):
            return run
    return None


def _add_judged_run(facts: Facts, judged: Run | None, output: str, where: EntryContext) -> int:
    """Add a run with its commits and findings; return 1 or 0."""
    if judged is None:
        return 0
    committed = False
    if judged.outcome in (shell.OK, shell.BY_HAND, shell.UNKNOWN) and "git" in judged.command:
        _mark_discarded(facts, judged.command)
        committed = _add_commits(facts, judged, output, where)
    if not where.agent:
        _keep_findings(facts, judged, output)
    judged.command = clip_characters(judged.command)
    judged.detail = clip_characters(judged.detail)
    judged.summary = clip_characters(judged.summary)
    if not where.agent and not committed:  # else the commit tells it
        _add_run(facts, judged, where.at)
    last = _find_same_task(facts, judged)
    if last and _repeat_key(judged) == _repeat_key(last):
        last.last = judged.at
        last.detail, last.summary = judged.detail or last.detail, judged.summary
    else:
        facts.runs.append(judged)
    del facts.runs[: -_LIMITS["runs"]]
    return 1


def _drop_amended(facts: Facts, command: str, made: list[list[str]]) -> None:
    if len(made) != 1 or not facts.commits:
        return
    # with --no-edit an amended commit keeps its subject
    if "--no-edit" not in command or facts.commits[-1][1] == made[0][1]:
        _drop_commit(facts, facts.commits[-1])


def _add_commits(facts: Facts, judged: Run, output: str, where: EntryContext) -> bool:
    output = entries.clean(output)
    known = {tuple(commit[:2]) for commit in facts.commits}
    made = [
        [hash, clip_characters(subject), judged.at]
        for hash, subject in git.parse_commits(judged.command, output, where.cwd, where.roots)
        if (hash, clip_characters(subject)) not in known
    ]
    if git.is_amend(judged.command):
        _drop_amended(facts, judged.command, made)
        made = made[-1:]
    subjects = {subject for _, subject, _ in made}
    for commit in [*facts.commits]:
        if commit[1] in subjects:  # the same commit again, by a rebase or after a reset
            _drop_commit(facts, commit)
    if "Successfully rebased" in output:
        for commit in facts.commits:
            commit[0] = ""
    facts.commits.extend(made)
    if not where.agent:
        for name, subject, _ in made:
            _add_piece(facts, where.at, Piece(turns.COMMIT, subject, name))
    del facts.commits[: -_LIMITS["commits"]]
    return bool(made)


def _drop_commit(facts: Facts, commit: list[str]) -> None:
    facts.commits.remove(commit)
    for turn in reversed(facts.turns):
        kept = [piece for piece in turn.pieces if piece[:2] != (turns.COMMIT, commit[1])]
        if len(kept) < len(turn.pieces):
            turn.pieces[:] = kept
            return


def _add_merges(facts: Facts, command: str, entry: Entry, where: EntryContext) -> None:
    if where.agent:
        return
    merges = git.parse_merges(command, entry.text, where.cwd, where.roots)
    pull = git.parse_merged_pull(command, entry.text, entry.branch or facts.branch)
    for branch, number in [*merges, (pull, "")] if pull else merges:
        piece = Piece(turns.MERGED, clip_characters(branch), number)
        if not any(piece in turn.pieces for turn in facts.turns[-_MERGES:]):
            _add_piece(facts, where.at, piece)


def _mark_discarded(facts: Facts, command: str) -> None:
    for path in git.find_discarded_paths(command):
        for edit in facts.edits:
            known, given = "/" + edit.path, "/" + path  # one of them may be absolute
            edit.undone |= path == "*" or known.endswith(given) or given.endswith(known)


def _mark_removed(facts: Facts, gone: list[str]) -> None:
    folders = tuple(path for path in gone if path.endswith("/"))
    for edit in facts.edits if gone else ():
        edit.undone |= edit.path in gone or edit.path.startswith(folders)


def _add_removal(facts: Facts, edit: Edit, where: EntryContext) -> int:
    _mark_removed(facts, [edit.path])
    if not where.agent:
        path = clip_characters(edit.path.replace("\n", " "))
        _add_piece(facts, edit.at, Piece(turns.FILE, path, turns.REMOVED))
    return 1


def _add_run(facts: Facts, run: Run, at: str) -> None:
    """Add a run to the turn, or count an equal one before again."""
    cause = (run.cause or run.summary) if run.bad else ""
    piece = Piece(turns.RUN, run.command, "", _format_result(run.outcome, cause))
    pieces = facts.last_pieces
    if pieces and pieces[-1]._replace(times=1) == piece:
        pieces[-1] = piece._replace(times=pieces[-1].times + 1)
    else:
        _add_piece(facts, at, piece)


def _format_result(outcome: str, cause: str) -> str:
    return outcome + (": " + one_line(cause) if cause else "")


def _repeat_key(run: Run) -> tuple[str, ...]:
    return run.command, run.outcome, run.detail if run.bad else ""


def _add_file_piece(facts: Facts, edit: Edit) -> None:
    """Add a file to the turn, unless it was named just before."""
    pieces = facts.last_pieces[-_SAME_TURN:]
    if not any(piece.kind == turns.FILE and piece.text == edit.path for piece in pieces):
        how = turns.CREATED if edit.made else turns.EDITED
        _add_piece(facts, edit.at, Piece(turns.FILE, edit.path, how))


def _record_edit(facts: Facts, edit: Edit, where: EntryContext) -> int:
    """Add an edit, or join it with the file's last; return 1 or 0."""
    path = edit.path.replace("\n", " ")
    if not path:
        return 0
    edit.path = clip_characters(make_relative(path, where.roots))
    turn_at = facts.turns[-1].at if facts.turns else ""
    if not where.agent:
        _add_file_piece(facts, edit)
    since = max([turn_at, *(run.last for run in facts.runs[-_NEAR:])])
    last = facts.edits[-1] if facts.edits else None
    if last is not None and last.path == edit.path and last.at >= since:
        last.at, last.made = edit.at, last.made or edit.made
        last.ways += edit.ways
    else:
        facts.edits.append(edit)
    del facts.edits[: -_LIMITS["edits"]]
    return 1
