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
_LONG = 20000  # characters of a command that is judged
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
    """A file made or changed: when it was last touched, its path (relative inside the project), whether it was made."""

    at: str
    path: str
    made: bool


@dataclass
class Facts:
    """What a stretch of a session did.

    requests, decisions, questions: sentences, oldest first.  runs: commands that mattered.  edits: files, oldest first.
    commits: (hash or "", subject).  reports: last words of each subagent by its file; tasks: what each was for.
    said: the model's last statement of substance.  pending: tool calls without a result yet.  bang: the person's `!`
    command without its output yet.  muted: "" | "text" (the model may be quoting memories) | "all" (our own model
    prompt).  earlier: the last request before this stretch.  failing: failures of before, for what fixes them now.
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
    said: str = ""
    earlier: str = ""
    muted: str = ""
    bang: str = ""
    until: str = ""
    branch: str = ""
    cwd: str = ""


@dataclass(frozen=True)
class Fix:
    """A failure and what made the same thing pass: the edits, else the commands, between the two."""

    failure: Run
    success: Run
    files: tuple[str, ...]
    commands: tuple[str, ...]


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
                done += _edited(facts, entry.at, path, False, roots)
        return done
    if name in ("Agent", "Task"):
        agent = entry.data.get("agentId") if isinstance(entry.data, dict) else None
        if isinstance(agent, str) and given:
            facts.tasks["agent-" + agent + ".jsonl"] = clip(given, 200)
        return 0
    if name and not entry.failed:
        made = (entry.data.get("type") == "create" if isinstance(entry.data, dict) and "type" in entry.data
                else entry.text.startswith("File created"))
        return _edited(facts, entry.at, given, made, roots)
    return 0


def _ran(facts: Facts, judged: Run | None, output: str) -> int:
    if judged is None:
        return 0
    if judged.outcome in (shell.OK, shell.BY_HAND) and "git" in judged.command:
        output = transcript.clean(output)
        known = {tuple(commit) for commit in facts.commits}
        made = [[h, clip(s)] for h, s in git.commits(judged.command, output) if (h, clip(s)) not in known]
        facts.commits.extend(made)
        for name, subject in git.logged(output) if any(not h for h, _ in facts.commits) else ():
            for commit in facts.commits:
                if not commit[0] and commit[1] == subject:
                    commit[0] = name
        del facts.commits[:-_MOST["commits"]]
        if made:
            return 1  # the commit tells it
    judged.command, judged.detail, judged.summary = clip(judged.command), clip(judged.detail), clip(judged.summary)
    last = next((r for r in reversed(facts.runs[-_NEAR:]) if r.command == judged.command), None)
    if last is not None and last.outcome == judged.outcome and not last.bad:
        last.at, last.summary, last.count = judged.at, judged.summary, last.count + 1
    elif last is not None and last.outcome == judged.outcome:
        last.detail, last.count = judged.detail or last.detail, last.count + 1
    else:
        facts.runs.append(judged)
    if len(facts.runs) > 2 * _MOST["runs"]:
        half, recent = facts.runs[:-_MOST["runs"]], facts.runs[-_MOST["runs"]:]
        facts.runs = [r for r in half if r.bad or r.is_test][-_MOST["runs"] // 2:] + recent
    return 1


def _edited(facts: Facts, at: str, path: str, made: bool, roots: tuple[str, ...]) -> int:
    path = path.replace("\n", " ")
    if not path:
        return 0
    path = relative(path, (*roots, facts.cwd))
    if facts.edits and facts.edits[-1].path == path:
        facts.edits[-1].at = at
        facts.edits[-1].made |= made
    else:
        facts.edits.append(Edit(at, clip(path), made))
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


def fixes(facts: Facts) -> list[Fix]:
    """Find failures followed by their fix.

    The success is the next run of the same command or of the same program and verb; else of the same program after an
    edit of a file that the failure names.  Between the two stands an edit or another command that mattered: a plain
    rerun fixes nothing.
    """
    runs = sorted((*facts.failing, *facts.runs), key=lambda r: r.at)
    found: dict[str, Fix] = {}
    for at, failure in enumerate(runs):
        later = [r for r in runs[at + 1:] if r.outcome == shell.OK and r.at > failure.at] if failure.bad else []
        success = next((r for r in later if r.key == failure.key), None) or _kindred(failure, later, facts)
        if success is None:
            continue
        between = tuple(dict.fromkeys(e.path for e in facts.edits if failure.at < e.at < success.at))
        ran = [r.command for r in later if r.at < success.at and r.key != failure.key and not r.is_test]
        if between or ran:
            fix = Fix(failure, success, between, tuple(dict.fromkeys(ran))[-3:])
            found.setdefault(failure.key + "\n" + failure.detail, fix)
    return list(found.values())


def _kindred(failure: Run, later: list[Run], facts: Facts) -> Run | None:
    """Return the next success of the same program after an edit of a file that the failure names."""
    program = failure.key.partition(" ")[0]
    later = [r for r in later if r.key.partition(" ")[0] == program]
    named = set(re.findall(r"\w{3,}", failure.command + "\n" + failure.detail)) if later else set()
    stems = ((e.at, e.path.rpartition("/")[2].partition(".")[0]) for e in facts.edits if e.at > failure.at)
    edited = next((at for at, stem in stems if stem in named), "") if named else ""
    return next((r for r in later if r.at > edited), None) if edited else None
