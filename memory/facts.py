"""What a stretch of a session did, gathered from the entries of its transcript."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memory import git, shell, text, transcript
from memory.shell import Run
from memory.transcript import Entry, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = "dayleaf-distill-prompt"  # in the first line of every prompt that dayleaf itself gives to a model
_NEAR = 60  # commands back in which a repeated one counts as repeated
_SUBSTANCE = 20  # characters: "OK." says nothing about where the work stands
_LONG = 20000  # characters of a command that is judged, and of a patch
_HUNK = 1000  # characters of what an edit changed
_TOLD = {"Bash": "command", "Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path",
         "NotebookEdit": "notebook_path", "Agent": "description", "Task": "description"}  # what of the input is told
_MOST = {"requests": 24, "decisions": 24, "runs": 120, "edits": 400, "commits": 60, "pending": 64, "reports": 24}
_WHY = (
    "because", "instead of", "rather than", "decided", "decision", "so that", "chose ", "opted ", "to avoid",
    "trade-off", "tradeoff", "in favor of", "in favour of", "the reason", "root cause", "turned out", "due to",
    "switched to",
    " weil ", "anstatt", "stattdessen", " statt ", "entschieden", "damit ", "deshalb", "daher ", "grund ", "wegen ",
)
_WHY_WIDE = (  # looked for only where a text is not ASCII
    "때문", "대신", "하기로", "위해", "결정", "이유", "으므로",
    "ため", "代わりに", "ことにし", "理由", "なので", "決め",
    "决定", "決定", "因为", "因為", "由于", "由於", "所以", "而不是", "为了", "為了", "改用",
)
TRIVIAL = re.compile(
    r"(?:y|yes|yep|ok|okay|go|go on|go ahead|continue|proceed|sure|thanks?|thank you|do it|please|no|done|next|"
    r"네|응|예|계속|はい|続けて|继续|好|好的|是|ja|weiter|danke)[\s.!~]*\Z", re.I)
CODE = re.compile(r"```.*?(?:```|\Z)", re.S)
_NUMBER = re.compile(r"^\s*\d+[.)]\s+", re.M)
_ENDS = (". ", "? ", "! ", "。", "！", "？")
_RULES = ("#", "|", "---", "===")  # headings and tables are no sentences
_WRITTEN = re.compile(r"(?:^|[;&|\n]\s*)cat\s*>>?\s*['\"]?([^\s'\"<>&|;]+)['\"]?\s*<<")


@dataclass
class Edit:
    """A file made or changed: when it was last touched, its path (relative inside the project), whether it was made, and the
    lines that went and came (`-old`, `+new`)."""

    at: str
    path: str
    made: bool
    hunk: str = ""


@dataclass
class Facts:
    """What a stretch of a session did.

    requests, decisions, questions: sentences, oldest first.  runs: commands that mattered.  edits: files, oldest first.
    commits: (hash or "", subject, when).  reports: last words of each subagent by its file; tasks: what each was for.
    said: the model's last statement of substance.  pending: tool calls without a result yet.  bang: the person's `!`
    command without its output yet.  muted: "" | "text" (the model may be quoting memories) | "all" (our own model
    prompt).  earlier: the last request before this stretch.  failing: failures of before, for what fixes them now;
    touched: files edited before.
    until: the latest instant.  branch, cwd: as the host noted them.
    """

    requests: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    commits: list[list[str]] = field(default_factory=list)
    reports: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    pending: dict[str, list[str]] = field(default_factory=dict)
    failing: list[Run] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    said: str = ""
    earlier: str = ""
    muted: str = ""
    bang: str = ""
    until: str = ""
    branch: str = ""
    cwd: str = ""


def absorb(facts: Facts, entry: Entry, roots: tuple[str, ...] = (), agent: str = "") -> int:
    """Add one entry to the facts and return how many units of work (edit, command, prompt) it was.

    roots: directories that paths are told relative to.  agent: file of the subagent whose entry it is, "" for none.
    """
    facts.until = max(facts.until, entry.at)
    facts.cwd = facts.cwd or entry.cwd
    kind = entry.kind
    if kind in (transcript.PROMPT, transcript.SLASH):
        facts.branch = entry.branch or facts.branch
        return _asked(facts, entry)
    if facts.muted == "all":
        return 0
    if kind == transcript.TEXT:
        if agent:
            facts.reports.pop(agent, None)
            facts.reports[agent] = clip(entry.text)
        elif not facts.muted:
            say(facts, entry.text)
    elif kind == transcript.USE:
        _called(facts, entry)
    elif kind == transcript.RESULT:
        return _returned(facts, entry, roots)
    elif kind == transcript.BANG:
        facts.bang = entry.text
    elif kind == transcript.BANGED and facts.bang:
        command, facts.bang = facts.bang, ""
        judged = shell.run(command, entry.at, entry.text)
        if judged is not None and judged.outcome == shell.OK:
            judged.outcome = shell.BY_HAND  # the host does not note how it ended
        return _ran(facts, judged, entry.text)
    _trim(facts)
    return 0


def _asked(facts: Facts, entry: Entry) -> int:
    if MARK in entry.text:
        facts.muted = "all"
        return 0
    own = entry.kind == transcript.SLASH and entry.text.startswith("/dayleaf")
    facts.muted = "text" if own else ""
    if own:
        return 0
    request = clip(entry.text)
    if request and request not in facts.requests[-1:]:
        facts.requests.append(request)
    facts.questions.clear()
    if len(facts.requests) > _MOST["requests"]:
        del facts.requests[1]
    return 1


def say(facts: Facts, statement: str) -> None:
    """Add a statement of the model: its decisions, its questions, and the statement as the last one."""
    if len(statement) >= _SUBSTANCE or wide(statement) or not facts.said:
        facts.said = clip(statement)
    facts.questions = []
    low = " " + statement.lower()
    why = [word for word in (_WHY if low.isascii() else _WHY + _WHY_WIDE) if word in low]
    if not why and "?" not in low and "？" not in low:
        return
    for sentence in _cut(statement):
        if sentence.endswith(("?", "？")):
            facts.questions = [*facts.questions[-2:], clip(_bare(sentence))]
            continue
        padded = " " + sentence.lower()
        if why and any(word in padded for word in why) and not sentence.startswith(_RULES):
            decision = clip(_bare(sentence))
            if len(decision) >= (8 if wide(decision) else 20) and decision not in facts.decisions:
                facts.decisions.append(decision)
    del facts.decisions[:-_MOST["decisions"]]


def wide(value: str) -> bool:
    """Tell whether a text is written in a script without spaces or with particles: fewer characters say as much."""
    return not value.isascii() and any(map(text.is_cjk, value))


def _cut(statement: str) -> list[str]:
    """Cut prose at the ends of sentences and lines; code blocks and the numbers of lists are left out."""
    if "```" in statement:
        statement = CODE.sub("\n", statement)
    if "\n" in statement or statement[:1].isdigit():
        statement = _NUMBER.sub("", statement)
    for end in _ENDS if not statement.isascii() else _ENDS[:3]:
        statement = statement.replace(end, end.rstrip() + "\n")
    return [line for line in map(str.strip, statement.split("\n")) if line]


def _bare(sentence: str) -> str:
    """Take list marks and emphasis off a line."""
    return re.sub(r"^\s*(?:[-*+•]|\d+[.)])\s+|\*\*|__", "", sentence).strip()


def sentences_of(statement: str) -> list[str]:
    """Cut prose into sentences without code blocks, headings, tables, list marks and emphasis."""
    return [_bare(line) for line in _cut(statement) if not line.startswith(_RULES)]


def _called(facts: Facts, entry: Entry) -> None:
    key = _TOLD.get(entry.name)
    if key is None:
        return
    given = entry.data.get(key)
    facts.pending[entry.id] = [entry.name, clip(transcript.clean(given), _LONG) if isinstance(given, str) else ""]
    while len(facts.pending) > _MOST["pending"]:
        del facts.pending[next(iter(facts.pending))]


def _returned(facts: Facts, entry: Entry, roots: tuple[str, ...]) -> int:
    name, given = facts.pending.pop(entry.id, ("", ""))
    if name == "Bash":
        judged = shell.run(given, entry.at, entry.text, entry.data, entry.failed)
        done = _ran(facts, judged, entry.text)
        if not entry.failed:
            for path in _WRITTEN.findall(given):
                done += _edited(facts, Edit(entry.at, path, False), roots)
        return done
    if name in ("Agent", "Task"):
        agent = entry.data.get("agentId") if isinstance(entry.data, dict) else None
        if isinstance(agent, str) and given:
            facts.tasks["agent-" + agent + ".jsonl"] = clip(given, 200)
        return 0
    if name and not entry.failed:
        made = (entry.data.get("type") == "create" if isinstance(entry.data, dict) and "type" in entry.data
                else entry.text.startswith("File created"))
        return _edited(facts, Edit(entry.at, given, made, _hunk(entry.data)), roots)
    return 0


def _hunk(data: object) -> str:
    """Return the lines that an edit took out and put in, of the host's structured result; none of a file with private parts."""
    patch = data.get("structuredPatch") if isinstance(data, dict) else None
    if not isinstance(data, dict) or "<private" in str(data.get("originalFile") or "").lower():
        return ""
    lines = [line for part in patch if isinstance(part, dict) and isinstance(part.get("lines"), list)
             for line in part["lines"] if isinstance(line, str)] if isinstance(patch, list) else []
    whole = transcript.clean(clip("\n".join(lines), _LONG)) if lines else ""
    return clip("\n".join(line for line in whole.split("\n") if line[:1] in ("-", "+") and line[1:].strip()), _HUNK)


def _ran(facts: Facts, judged: Run | None, output: str) -> int:
    if judged is None:
        return 0
    if judged.outcome in (shell.OK, shell.BY_HAND) and "git" in judged.command:
        output = transcript.clean(output)
        known = {tuple(commit[:2]) for commit in facts.commits}
        made = [[h, clip(s), judged.at] for h, s in git.commits(judged.command, output) if (h, clip(s)) not in known]
        facts.commits.extend(made)
        for name, subject in git.logged(output) if any(not h for h, *_ in facts.commits) else ():
            for commit in facts.commits:
                if not commit[0] and commit[1] == subject:
                    commit[0] = name
        del facts.commits[:-_MOST["commits"]]
        if made:
            return 1  # the commit tells it
    judged.command, judged.detail, judged.summary = clip(judged.command), clip(judged.detail), clip(judged.summary)
    last = next((r for r in reversed(facts.runs[-_NEAR:]) if r.key == judged.key
                 and (r.command == judged.command or (r.bad and not judged.bad))), None)
    if last is not None and _repeats(judged, last):
        last.last, last.count = judged.at, last.count + 1
        last.detail, last.summary = judged.detail or last.detail, judged.summary
    else:
        facts.runs.append(judged)
    if len(facts.runs) > 2 * _MOST["runs"]:
        half, recent = facts.runs[:-_MOST["runs"]], facts.runs[-_MOST["runs"]:]
        facts.runs = [r for r in half if r.bad or r.is_test][-_MOST["runs"] // 2:] + recent
    return 1


def _repeats(run: Run, before: Run) -> bool:
    """Tell whether a run went as the one before: a success again, or a failure with the same error."""
    if run.command != before.command or run.outcome != before.outcome or run.masked != before.masked:
        return False
    return not run.bad or shell.normal(run.detail) == shell.normal(before.detail)


def _edited(facts: Facts, edit: Edit, roots: tuple[str, ...]) -> int:
    """Add an edit; to the one before it where that was of the same file and nothing ran between them."""
    path = edit.path.replace("\n", " ")
    if not path:
        return 0
    edit.path = clip(relative(path, (*roots, facts.cwd)))
    last = facts.edits[-1] if facts.edits else None
    if last is not None and last.path == edit.path and not any(run.last > last.at for run in facts.runs[-_NEAR:]):
        last.at, last.made, last.hunk = edit.at, last.made or edit.made, clip((last.hunk + "\n" + edit.hunk).strip(), _HUNK)
    else:
        facts.edits.append(edit)
    del facts.edits[:-_MOST["edits"]]
    return 1


def relative(path: str, roots: Iterable[str]) -> str:
    """Return a path relative to the first of the roots that holds it, else as it is."""
    path = path.replace("\\", "/")
    for root in roots:
        root = root.replace("\\", "/").rstrip("/")
        if root and path.startswith(root + "/"):
            return path[len(root) + 1:]
    return path


def _trim(facts: Facts) -> None:
    for held in (facts.reports, facts.tasks):
        while len(held) > _MOST["reports"]:
            del held[next(iter(held))]


def worth(facts: Facts) -> bool:
    """Tell whether anything is worth a checkpoint: work, a decision, or a subagent's report."""
    return bool(facts.edits or facts.commits or facts.runs or facts.decisions or facts.reports)
