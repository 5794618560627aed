"""What a stretch of a session did, gathered from the entries of its transcript: its turns, and what
ran and changed in them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from memory.capture import openings, turns
from memory.capture.turns import Piece, Turn, relative
from memory.core import files, layout
from memory.core.plaintext import one_line
from memory.session import entries, git, shell, tellingline
from memory.session.entries import Entry, clip_characters
from memory.session.shell import Run
from memory.store import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# in the first line of every prompt that dayleaf itself gives to a model
MARK = "dayleaf-distill-prompt"
# steps of a turn in which a file is named once; turns in which a merge is told once
_SAME_TURN, _MERGES = 500, 100
_NEAR = 60  # commands back in which a repeated one counts as repeated
# characters of a command; of what was said; of a request, whose end may be asked after a paste
_LONG, _SAID, _ASKED = 20000, 40000, 100_000
_TOLD = {  # what of the input is told
    "Bash": "command",
    **dict.fromkeys(("Edit", "Write", "Read"), "file_path"),
    "NotebookEdit": "notebook_path",
    **dict.fromkeys(("Agent", "Task"), "description"),
    **dict.fromkeys(("Grep", "Glob"), "pattern"),
    "Skill": "skill",
    "WebFetch": "url",
    "WebSearch": "query",
    "LS": "path",
}
_CHANGED = ("old_string", "new_string")
_EDITS = ("Edit", "Write", "NotebookEdit")
_MOST = {"runs": 240, "edits": 400, "commits": 60, "pending": 64, "todos": 40}
_PLANNED = re.compile(r"(?<!\s)\s*implement the following plan:\s*", re.I)


@dataclass
class Edit:
    """A file made or changed.

    at: the last time.  made: whether it was made.  undone: whether git threw it away.
    ways: marks of the text before and after each change (`old:new`), "" where unknown.
    """

    at: str
    path: str
    made: bool
    undone: bool = False
    ways: list[str] = field(default_factory=lambda: [""])


@dataclass
class Facts:
    """The facts of a stretch of a session.

    turns: requests and their results, oldest first.
    withdrawn: turns that a rewind took back; nothing else tells of them.
    runs: commands that mattered.
    edits: files, oldest first.
    commits: (hash or "", subject, when).
    findings: of the last report of a linter or compiler (see `findings`).
    printed: see `tellingline.learn`.
    pending: tool calls without a result yet.
    todos: [text, status, its id or ""].
    failing: earlier failures.
    title: the client's name for the session.
    by: its kind of name.
    earlier: the last request before this stretch.
    early: checksum of a statement from a hook, not yet in the transcript.
    muted: "" | "text" (it may quote memories) | "all" (our own prompt).
    bang: the person's `!` command so far.
    until: the latest instant.
    branch, cwd: as the host says.
    typed: a person typed a request, in this stretch or one before.
    """

    turns: list[Turn] = field(default_factory=list)
    withdrawn: list[Turn] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    commits: list[list[str]] = field(default_factory=list)
    findings: list[list[Any]] = field(default_factory=list)
    printed: dict[str, list[str]] = field(default_factory=dict)
    pending: dict[str, list[str]] = field(default_factory=dict)
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

    @property
    def all_turns(self) -> list[Turn]:
        """Every turn in order, withdrawn turns included."""
        return (
            sorted([*self.turns, *self.withdrawn], key=lambda turn: turn.at)
            if self.withdrawn
            else self.turns
        )

    def withdraw(self, aside: Facts) -> None:
        """Add the turns of other facts as withdrawn by a rewind."""
        self.withdrawn += [
            Turn(turn.at, turn.request, turns.WITHDRAWN, turn.pieces) for turn in aside.turns
        ]
        self.until = max(self.until, aside.until)

    @property
    def asked(self) -> list[Turn]:
        """The turns for which somebody asked."""
        return [turn for turn in self.turns if turn.asked in ("", turns.SLASH, turns.TEAM)]

    @property
    def requests(self) -> list[str]:
        """The user's requests in this stretch, oldest first."""
        return [turn.request for turn in self.asked if turn.asked != turns.TEAM]


class Where(NamedTuple):
    """The place of an entry.

    at: its instant.
    cwd: its directory.
    roots: the directories of the project, and that of the session.
    agent: the subagent's file, or "".
    """

    at: str
    cwd: str
    roots: tuple[str, ...]
    agent: str


def absorb(facts: Facts, entry: Entry, roots: tuple[str, ...] = (), agent: str = "") -> int:
    """Add an entry to the facts; return its units of work.

    A unit is an edit, a command or a prompt.
    roots: directories to which paths are relative.
    agent: file of the entry's subagent, "" for none.
    """
    facts.until = max(facts.until, entry.at)
    facts.cwd = facts.cwd or entry.cwd
    where = Where(entry.at, entry.cwd or facts.cwd, (*roots, facts.cwd), agent)
    kind, asks = entry.kind, entry.kind in (entries.PROMPT, entries.SLASH)
    if not agent:
        _follow_branch(facts, entry.branch, asks)
    if asks:
        facts.typed = facts.typed or not entry.headless
        return _add_request(facts, entry)
    if facts.muted == "all":
        return 0
    if kind in (entries.ENDED, entries.INTERRUPTED):
        if not agent:
            _end_turn(facts, kind)
        return 0
    if kind == entries.NOTIFIED:
        _mark_last_statement(facts)
        return 0
    return _add_work(facts, entry, where)


def _end_turn(facts: Facts, how: str) -> None:
    if facts.turns:
        facts.turns[-1].end = how
        _mark_last_statement(facts)


def _follow_branch(facts: Facts, branch: str, asks: bool) -> None:
    """Take over a branch that the work has gone to."""
    if branch not in ("", "HEAD", facts.branch) and (
        asks or facts.branch in layout.TRUNKS or _is_free(facts, branch)
    ):
        facts.branch = branch


def _add_work(facts: Facts, entry: Entry, where: Where) -> int:
    """Add a statement, a call, its result, or a note."""
    kind = entry.kind
    if kind == entries.TEXT:
        if not where.agent:
            _add_statement(facts, entry)
    elif kind == entries.USE:
        if not where.agent:
            _mark_last_statement(facts, turns.CALLED)
        _add_call(facts, entry)
    elif kind == entries.RESULT:
        return _add_result(facts, entry, where)
    elif kind == entries.BANG:
        facts.bang = entry.text
    elif kind == entries.BANGED and facts.bang:
        return _add_run_by_hand(facts, entry, where)
    elif not where.agent:
        _add_note(facts, entry, where)
    return 0


def _add_run_by_hand(facts: Facts, entry: Entry, where: Where) -> int:
    command, facts.bang = facts.bang, ""
    judged = shell.run(command, entry.at, entry.text)
    if judged is not None and judged.outcome in (shell.OK, shell.UNKNOWN):
        judged.outcome = shell.BY_HAND  # the host does not note how it ended
    return _ran(facts, judged, entry.text, where)


def _is_free(facts: Facts, branch: str) -> bool:
    """Tell whether the work's branch may change to `branch`."""
    since = facts.turns[-1].at if facts.turns and branch not in layout.TRUNKS else ""
    return all(
        at < since
        for at in (*(edit.at for edit in facts.edits[-1:]), *(at for *_, at in facts.commits[-1:]))
    )


# --- what was said


def _clip_request(text: str) -> str:
    """Return a request shortened in its middle, at lines."""
    # A label above the cut may name a secret below it, so two lines more are left out there.
    if len(text) <= _ASKED:
        return text
    end = text[-_ASKED // 2 :]
    end = end.split("\n", 3)[-1] if end.count("\n") > 2 else end.partition(" ")[2]
    return clip_characters(text, _ASKED // 2) + "\n" + end


def _is_asked_already(facts: Facts, request: str, asked: str) -> bool:
    """Tell whether the last turn is the same request, not yet answered."""
    last = facts.turns[-1] if facts.turns else None
    return last is not None and (last.request, last.asked) == (request, asked) and not last.pieces


def _add_request(facts: Facts, entry: Entry) -> int:
    if MARK in entry.text:
        facts.muted = "all"
        return 0
    own = entry.kind == entries.SLASH and entry.text.startswith("/dayleaf")
    facts.muted = "text" if own else ""
    if own:
        return 0
    request = _clip_request(entry.text)
    if _PLANNED.match(request):  # the plan itself comes as an entry of its own
        request = "Implement the following plan: " + openings.heading_of(_PLANNED.sub("", request))
    asked = turns.SLASH if entry.kind == entries.SLASH else ""
    if _is_asked_already(facts, request, asked):
        return 0
    if request:
        facts.turns.append(Turn(entry.at, request, asked))
    return 1


def _add_statement(facts: Facts, entry: Entry) -> None:
    if facts.early and facts.early == writer.body_mark(entry.text):
        facts.early = ""
    elif not facts.muted:
        _add(facts, entry.at, Piece(turns.SAID, clip_characters(entry.text, _SAID)))


def add_early_statement(facts: Facts, statement: str) -> None:
    """Add the model's last statement from a hook.

    The hook gets it before the transcript holds it, or is served late: then an earlier turn has it.
    """
    mark = writer.body_mark(statement)
    told = clip_characters(statement, _SAID)
    known = any(told in turn.statements() for turn in facts.turns)
    if not facts.muted and mark != facts.early and not known:
        facts.early = mark
        _add(facts, facts.until, Piece(turns.SAID, told))


def _add(facts: Facts, at: str, piece: Piece) -> None:
    """Add a piece to the present turn."""
    if not facts.turns or facts.turns[-1].asked == turns.SUMMARY:
        facts.turns.append(Turn(at, facts.earlier, turns.GOES_ON))
    facts.turns[-1].pieces.append(piece)
    facts.turns[-1].end = ""


def _mark_last_statement(facts: Facts, result: str = turns.ENDED) -> None:
    """Mark the statement that a call or the end of a turn follows."""
    pieces = facts.turns[-1].pieces if facts.turns else []
    last = pieces[-1] if pieces else None
    if last is None or last.kind != turns.SAID or last.result:
        return
    if result == turns.ENDED:
        before = (p for p in reversed(pieces) if p.kind != turns.SAID or p.result)
        if next(before, last).result == turns.ENDED:
            result = turns.ASIDE
    pieces[-1] = last._replace(result=result)


def _add_steer(facts: Facts, entry: Entry, text: str, where: Where) -> None:
    """Add what the user said while the model worked."""
    if entry.name == turns.REFUSED:
        last = facts.turns[-1].pieces if facts.turns else []
        if last and last[-1].outcome == shell.DECLINED:
            last.pop()  # what the user said to it tells it
        _add(facts, entry.at, Piece(turns.USER, text, _refused(facts, entry.id, where)))
    elif text:
        facts.typed = facts.typed or entry.name == turns.ANSWER  # a menu takes a person
        name = turns.APPROVED if entry.name == "plan" else entry.name
        _add(facts, entry.at, Piece(turns.USER, text, name))


def _add_note(facts: Facts, entry: Entry, where: Where) -> None:
    """Add the user's words outside prompts, and the client's notes."""
    kind, text = entry.kind, clip_characters(entry.text, _LONG)
    if kind == entries.STEER:
        _add_steer(facts, entry, text, where)
    elif kind == entries.TODOS:
        _update_todos(facts, entry)
    elif not text:
        return
    elif kind == entries.PLAN:
        _add(facts, entry.at, Piece(turns.USER, text, turns.APPROVED))
    elif kind == entries.SUMMARY:
        said = Piece(turns.SAID, clip_characters(entry.text, _SAID))
        facts.turns.append(Turn(entry.at, "", turns.SUMMARY, [said]))
    elif kind in (entries.REPORT, entries.LINK):
        if not any(p.text == text for turn in facts.turns for p in turn.pieces):
            _add(facts, entry.at, Piece(kind, text, clip_characters(entry.name, 120)))
    elif kind == entries.TEAM:
        facts.typed = facts.typed or bool(entry.data)
        facts.turns.append(
            Turn(entry.at, "(teammate %s) %s" % (clip_characters(entry.name, 80), text), turns.TEAM)
        )


def _refused(facts: Facts, call: str, where: Where) -> str:
    """Return the mark of a refused tool call."""
    tool, what = facts.pending.pop(call, ["", ""])[:2]
    told = clip_characters(one_line(relative(what, where.roots)), 80)
    told = told.replace("`", "'").replace(")", "]")
    return "%s %s" % (turns.REFUSED, tool or "a tool") + (" `%s`" % told if told else "")


def set_session_title(facts: Facts, entry: Entry) -> None:
    """Set the client's name for the session.

    The user's own name stays.
    """
    if facts.cwd.endswith("/" + entry.text) or facts.branch.endswith(entry.text):
        return  # the host names the session of a worktree after it
    if entry.name == "custom" or facts.by != "custom":
        facts.title, facts.by = clip_characters(entry.text, 200), entry.name


def _update_todos(facts: Facts, entry: Entry) -> None:
    """Update the todo list by a whole list or changes."""
    if entry.name == "list":
        facts.todos = []
    for id, text, status in entry.data:
        _change_todo(facts, id, text, status)
    del facts.todos[: -_MOST["todos"]]


def _change_todo(facts: Facts, id: str, text: str, status: str) -> None:
    """Change or add one entry of the todo list."""
    known = next((todo for todo in facts.todos if id and todo[2:] == [id]), None)
    if status == "deleted":
        facts.todos = [todo for todo in facts.todos if todo is not known]
    elif known:
        known[:2] = [clip_characters(text, 300) or known[0], status or known[1]]
    elif text:
        facts.todos.append([clip_characters(text, 300), status or "pending", id])


# --- what was done


def _given(entry: Entry) -> Any:
    """Return the telling argument of a call, None for none."""
    given = entry.data.get(_TOLD[entry.name]) if entry.name in _TOLD else None
    if given is None and (entry.name.startswith("mcp__") or entry.name == "Skill"):
        return next((value for value in entry.data.values() if isinstance(value, str)), "")
    return given


def _add_call(facts: Facts, entry: Entry) -> None:
    if entry.name == "TaskUpdate":  # its result need not tell the state that was given
        fields = [str(entry.data.get(key) or "") for key in ("taskId", "status", "subject")]
        facts.pending[entry.id] = [entry.name, "", *fields]
        return
    given = _given(entry)
    if not isinstance(given, str) and entry.name not in _TOLD:
        return
    facts.pending[entry.id] = [
        entry.name,
        clip_characters(entries.clean(given), _LONG) if isinstance(given, str) else "",
        *_change_hash(entry),
    ]
    while len(facts.pending) > _MOST["pending"]:
        del facts.pending[next(iter(facts.pending))]


def _change_hash(entry: Entry) -> list[str]:
    """Return [hashes of the old and new text] of an edit, [] for another call."""
    texts = [entry.data.get(key) for key in _CHANGED] if entry.name == "Edit" else []
    marks = [
        files.sha256(text.encode("utf-8", "replace"))[:8] for text in texts if isinstance(text, str)
    ]
    return [":".join(marks)] if len(marks) == len(_CHANGED) else []


def reversed_paths(facts: Facts) -> set[str]:
    """Return the files whose changes reverse each other.

    Changes with a commit in between do not.
    """
    commits = sorted(at for *_, at in facts.commits)
    # by file and commit: the text that a change left -> the texts that it replaced, newest last
    left: dict[tuple[str, int], dict[str, list[str]]] = {}
    for edit in facts.edits:
        done = left.setdefault((edit.path, bisect_left(commits, edit.at)), {})
        for way in edit.ways:
            old, _, new = way.partition(":")
            first = done[old].pop() if way and done.get(old) else old
            if first != new or not way:
                done.setdefault(new, []).append(first)
    standing = {path for (path, _), done in left.items() if any(done.values())}
    return {edit.path for edit in facts.edits} - standing


def _update_task(facts: Facts, row: list[str]) -> None:
    task, status, subject = (*row[2:], "", "", "")[:3]
    if any(todo[2:] == [task] for todo in facts.todos):
        _change_todo(facts, task, entries.clean(subject), status)


def _add_result(facts: Facts, entry: Entry, where: Where) -> int:
    row = facts.pending.get(entry.id, ["", ""])
    name, given = row[:2]
    if not entry.refused:  # what the user said to it comes with the next entry
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


def _add_command(facts: Facts, entry: Entry, given: str, where: Where) -> int:
    """Add a command with what it merged, removed and wrote."""
    done = _ran(facts, _judge_command(facts, given, entry), entry.text, where)
    if entry.failed:
        return done
    _merged(facts, given, entry, where)
    gone = [word for words in shell.DELETED.findall(given) for word in words.split()]
    _mark_removed(facts, [relative(path.strip("'\""), where.roots) for path in gone])
    for path in shell.WRITTEN.findall(given):
        done += _edited(facts, Edit(entry.at, path, False), where)
    return done


def _add_edit(facts: Facts, entry: Entry, given: str, ways: list[str], where: Where) -> int:
    """Add the edit of a tool, with the findings that it answers."""
    data: dict[str, Any] = entry.data if isinstance(entry.data, dict) else {}
    path = relative(given, where.roots)
    if data.get("type") == "delete":  # another agent's
        return _deleted(facts, Edit(entry.at, path, False), where)
    made = data.get("type") == "create" or (
        "type" not in data and entry.text.startswith("File created")
    )
    done = _edited(facts, Edit(entry.at, given, made, ways=ways or [""]), where)
    if facts.findings and not where.agent:
        _add_finding_answers(facts, entry.at, path, data.get("structuredPatch"))
    return done


def _add_finding_answers(facts: Facts, at: str, path: str, patch: object) -> None:
    """Add the edit's answers to findings of the last report."""
    from memory.capture import findings  # most edits answer nothing

    told = {findings.kind(p.name) for p in turns.pieces(facts.turns[-1:], turns.MET)}
    for said, text in findings.answered(facts.findings, path, patch):
        if findings.kind(said) not in told:
            told.add(findings.kind(said))
            _add(facts, at, Piece(turns.MET, text, said))


def _judge_command(facts: Facts, command: str, entry: Entry) -> Run | None:
    """Judge a command by its output, without passing runs' chatter."""
    told = entry.at, entry.text, entry.data, entry.failed, entry.refused
    run = shell.run(command, *told)
    if run is not None and run.passed:
        marks = tellingline.learn(facts.printed, run.key, entry.text)
        for failed in facts.runs if marks else ():
            if failed.detail:
                _hush(facts, failed, marks)
    elif (
        run is not None
        and run.bad
        and tellingline.is_chatter(facts.printed, run.key, run.detail.partition("\n")[0])
    ):
        text = tellingline.without_chatter(facts.printed, run.key, entry.text)
        return shell.run(command, entry.at, text, *told[2:])
    return run


def _hush(facts: Facts, run: Run, marks: list[str]) -> None:
    """Replace telling lines of failures that passing runs print too."""
    first, _, rest = run.detail.partition("\n")
    if (
        first
        and run.bad
        and tellingline.mark(first) in marks
        and tellingline.is_chatter(facts.printed, run.key, first)
    ):
        run.detail = rest
        told = run.outcome + ": " + one_line(first)
        now = run.outcome + (": " + one_line(rest.partition("\n")[0]) if rest else "")
        for turn in facts.turns:
            turn.pieces[:] = [
                p._replace(result=now)
                if p.kind == turns.RUN and p.text == run.command and p.result == told
                else p
                for p in turn.pieces
            ]


def _add_failed_call(facts: Facts, entry: Entry, name: str, given: str, where: Where) -> None:
    """Add a failed call of another tool than Bash."""
    error = re.sub(r"</?tool_use_error>", "", entries.clean(entry.text)).strip()
    first = clip_characters(one_line(error.partition("\n")[0]), 200)
    if where.agent or not first or entry.refused or entries.PROTOCOL.search(error[:400]):
        return
    result = shell.FAILED + ": " + first
    _add(facts, entry.at, Piece(turns.RUN, relative(given, where.roots), name, result))


def _note_findings(facts: Facts, judged: Run, output: str) -> None:
    """Keep the findings of a linter or a compiler."""
    if judged.bad and judged.kind in (tellingline.LINT, tellingline.BUILD):
        from memory.capture import findings

        facts.findings = findings.found(entries.clean(output), judged.command) or facts.findings


def _same_task(facts: Facts, judged: Run) -> Run | None:
    """Return the last run of the same command, or one now mended."""
    mended = not judged.bad
    return next(
        (
            r
            for r in reversed(facts.runs[-_NEAR:])
            if r.key == judged.key and (r.command == judged.command or (mended and r.bad))
        ),
        None,
    )


def _ran(facts: Facts, judged: Run | None, output: str, where: Where) -> int:
    if judged is None:
        return 0
    committed = False
    if judged.outcome in (shell.OK, shell.BY_HAND, shell.UNKNOWN) and "git" in judged.command:
        _taken_back(facts, judged.command)
        committed = _committed(facts, judged, output, where)
    if not where.agent:
        _note_findings(facts, judged, output)
    judged.command, judged.detail, judged.summary = (
        clip_characters(judged.command),
        clip_characters(judged.detail),
        clip_characters(judged.summary),
    )
    if not where.agent and not committed:  # else the commit tells it
        _add_run(facts, judged, where.at)
    last = _same_task(facts, judged)
    if last and _what(judged) == _what(last):
        last.last = judged.at
        last.detail, last.summary = judged.detail or last.detail, judged.summary
    else:
        facts.runs.append(judged)
    del facts.runs[: -_MOST["runs"]]
    return 1


def _drop_amended(facts: Facts, command: str, made: list[list[str]]) -> None:
    """Drop the last commit if amended."""
    if len(made) != 1 or not facts.commits:
        return
    last = facts.commits[-1]
    # --no-edit: under the subject of the one before
    if "--no-edit" not in command or last[1] == made[0][1]:
        _drop(facts, last)


def _committed(facts: Facts, judged: Run, output: str, where: Where) -> bool:
    """Add a command's commits and tell whether there were any."""
    output = entries.clean(output)
    known = {tuple(commit[:2]) for commit in facts.commits}
    made = [
        [h, clip_characters(s), judged.at]
        for h, s in git.commits(judged.command, output, where.cwd, where.roots)
        if (h, clip_characters(s)) not in known
    ]
    if git.amends(judged.command):
        _drop_amended(facts, judged.command, made)
        made = made[-1:]
    subjects = {subject for _, subject, _ in made}
    for commit in [one for one in facts.commits if one[1] in subjects]:
        _drop(facts, commit)  # the same commit again, by a rebase or after a reset
    if "Successfully rebased" in output:
        for commit in facts.commits:
            commit[0] = ""
    facts.commits.extend(made)
    for name, subject, _ in made if not where.agent else ():
        _add(facts, where.at, Piece(turns.COMMIT, subject, name))
    del facts.commits[: -_MOST["commits"]]
    return bool(made)


def _drop(facts: Facts, commit: list[str]) -> None:
    """Remove a commit that is no longer there, from its turn too."""
    facts.commits.remove(commit)
    for turn in reversed(facts.turns):
        kept = [piece for piece in turn.pieces if piece[:2] != (turns.COMMIT, commit[1])]
        if len(kept) < len(turn.pieces):
            turn.pieces[:] = kept
            return


def _merged(facts: Facts, command: str, entry: Entry, where: Where) -> None:
    """Add the branches that the host merged or a log shows as merged, each once a stretch."""
    found = git.merged(command, entry.text, where.cwd, where.roots)
    pull = git.merged_pull(command, entry.text, entry.branch or facts.branch)
    found += [(pull, "")] * bool(pull)
    for piece in (Piece(turns.MERGED, clip_characters(branch), number) for branch, number in found):
        if not where.agent and not any(piece in turn.pieces for turn in facts.turns[-_MERGES:]):
            _add(facts, where.at, piece)


def _taken_back(facts: Facts, command: str) -> None:
    """Mark the edits thrown away by a git command."""
    for path in git.discarded_paths(command):
        for edit in facts.edits:
            if (
                path == "*"
                or edit.path == path
                or edit.path.endswith("/" + path)
                or path.endswith("/" + edit.path)
            ):
                edit.undone = True


def _mark_removed(facts: Facts, gone: list[str]) -> None:
    """Mark the edits of removed files, and of files in removed folders, as undone."""
    folders = tuple(path for path in gone if path.endswith("/"))
    for edit in facts.edits if gone else ():
        edit.undone |= edit.path in gone or edit.path.startswith(folders)


def _deleted(facts: Facts, edit: Edit, where: Where) -> int:
    """Add a file's removal and mark its edits as removed."""
    _mark_removed(facts, [edit.path])
    if not where.agent:
        path = clip_characters(edit.path.replace("\n", " "))
        _add(facts, edit.at, Piece(turns.FILE, path, turns.REMOVED))
    return 1


def _add_run(facts: Facts, run: Run, at: str) -> None:
    """Add a run to its turn, joined with an equal run before."""
    why = run.detail.partition("\n")[0] or (run.summary if run.bad else "")
    piece = Piece(
        turns.RUN, run.command, "", run.outcome + (": " + one_line(why) if why and run.bad else "")
    )
    before = facts.turns[-1].pieces[-1:] if facts.turns else []
    if before and before[0]._replace(times=1) == piece:
        facts.turns[-1].pieces[-1] = piece._replace(times=before[0].times + 1)
    else:
        _add(facts, at, piece)


def _what(run: Run) -> tuple[str, ...]:
    """Return what a repeated run has in common with the one before."""
    return run.command, run.outcome, run.detail if run.bad else ""


def _add_touch(facts: Facts, edit: Edit) -> None:
    """Add an edited file to the turn, unless it has just been named."""
    pieces = facts.turns[-1].pieces if facts.turns else []
    if not any(p.kind == turns.FILE and p.text == edit.path for p in pieces[-_SAME_TURN:]):
        how = turns.CREATED if edit.made else turns.EDITED
        _add(facts, edit.at, Piece(turns.FILE, edit.path, how))


def _edited(facts: Facts, edit: Edit, where: Where) -> int:
    """Add an edit, joined with the previous edit where possible."""
    path = edit.path.replace("\n", " ")
    if not path:
        return 0
    edit.path = clip_characters(relative(path, where.roots))
    turn_at = facts.turns[-1].at if facts.turns else ""
    if not where.agent:
        _add_touch(facts, edit)
    last = facts.edits[-1] if facts.edits else None
    if (
        last is not None
        and last.path == edit.path
        and last.at >= max([turn_at, *(run.last for run in facts.runs[-_NEAR:])])
    ):
        last.at, last.made = edit.at, last.made or edit.made
        last.ways += edit.ways
    else:
        facts.edits.append(edit)
    del facts.edits[: -_MOST["edits"]]
    return 1
