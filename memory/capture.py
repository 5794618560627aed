"""What a session did, from its transcript alone, and the checkpoint that tells it.

A checkpoint covers one open stretch of a session.  Stop makes or updates it once enough new work is there; PreCompact,
SessionEnd and recovery write and close it, and later work opens the next.  Nothing new: nothing written.

State, version 1: `<cache>/sessions/<session>.json`, derived, two lines of JSON:

    {"v":1, "first": uuid of the session's first entry, "since": instant up to which older checkpoints already tell
     (after a lost state), "units": new work since the last write, "size": bytes of the transcript read, "name",
     "checksum": the open checkpoint, "secret": a secret was redacted in this stretch, "kin": sessions with the same
     first entry (forks)}
    {"spans": {file: [offset read, offset of the stretch's start, offset of the last write]}, "facts": facts of the
     stretch, redacted, "bases": [facts carried into the stretch, facts carried over the last write],
     "seen": 12 hex digits of each entry's uuid, run together}

Without it the transcript is read again from its start; `until` in the frontmatter of the session's checkpoints (the
instant of the last entry told) keeps what they tell from being told twice.
"""

from __future__ import annotations

import os
import re
from copy import deepcopy
from dataclasses import dataclass, field

from memory import clock, config, files, frontmatter, git, hookio, jsonio, paths, redact, store, text, transcript
from memory.errors import StoreError, UsageError
from memory.records import Record
from memory.transcript import Entry, Run, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    OnChange = Callable[[str], None] | None

VERSION = 1
MARK = "dayleaf-distill-prompt"  # in the first line of every prompt that dayleaf itself gives to a model
TRIGGERS = {"Stop": "stop", "PreCompact": "pre_compact", "SessionEnd": "session_end"}
BODY, TITLE = 6000, 70  # characters
QUIET = 30.0  # seconds a transcript must rest before recovery takes its session for dead
KEEP = 40 * clock.DAY  # the host deletes transcripts after 30 days; their state is of no use then
_NEAR = 60  # commands back in which a repeated one counts as repeated
_SUBSTANCE = 20  # characters: "OK." says nothing about where the work stands
_SEAM = "\n\x1e\n"  # `transcript.clean` leaves no such character in a text
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
_NEXT = (
    "next step", "next:", "next,", "next up", "next i", "remaining", "todo", "still need", "left to do", "follow-up",
    "follow up", "not yet", "다음", "남은", "아직", "残り", "次に", "次は", "次の", "まだ",
    "下一步", "接下来", "還需", "还需", "待办", "nächste", "noch nicht", "noch offen", "als nächstes", "steht noch",
)
_TRIVIAL = re.compile(
    r"(?:y|yes|yep|ok|okay|go|go on|go ahead|continue|proceed|sure|thanks?|thank you|do it|please|no|done|next|"
    r"네|응|예|계속|はい|続けて|继续|好|好的|是|ja|weiter|danke)[\s.!~]*\Z", re.I)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.S)
_NUMBER = re.compile(r"^\s*\d+[.)]\s+", re.M)
_ENDS = (". ", "? ", "! ", "。", "！", "？")
_RULES = ("#", "|", "---", "===")  # headings and tables are no sentences
_WRITTEN = re.compile(r"(?:^|[;&|\n]\s*)cat\s*>>?\s*['\"]?([^\s'\"<>&|;]+)['\"]?\s*<<")
_LANGUAGES = {
    "py": "python", "ts": "typescript", "tsx": "typescript", "js": "javascript", "jsx": "javascript", "rs": "rust",
    "go": "go", "java": "java", "kt": "kotlin", "rb": "ruby", "php": "php", "c": "c", "h": "c", "cpp": "cpp",
    "cc": "cpp", "cs": "csharp", "swift": "swift", "sh": "shell", "sql": "sql", "tf": "terraform", "vue": "vue",
    "svelte": "svelte", "md": "docs", "css": "css", "html": "html", "yml": "yaml", "yaml": "yaml", "lua": "lua",
    "ex": "elixir", "scala": "scala", "dart": "dart", "zig": "zig"}
_TOOLS = frozenset(
    "pytest npm pnpm yarn cargo docker kubectl terraform make pip uv poetry jest vitest mypy ruff eslint alembic psql "
    "redis-cli helm gradle mvn dotnet bazel tox unittest webpack vite".split())


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


# --- from entries to facts


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
        judged = transcript.run(command, entry.at, entry.text)
        if judged is not None and judged.outcome == transcript.OK:
            judged.outcome = transcript.BY_HAND  # the host does not note how it ended
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
    if len(statement) >= _SUBSTANCE or _wide(statement) or not facts.said:
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
            if len(decision) >= (8 if _wide(decision) else 20) and decision not in facts.decisions:
                facts.decisions.append(decision)
    del facts.decisions[:-_MOST["decisions"]]


def _wide(value: str) -> bool:
    """Tell whether a text is written in a script without spaces or with particles: fewer characters say as much."""
    return not value.isascii() and any(map(text.is_cjk, value))


def _cut(statement: str) -> list[str]:
    """Cut prose at the ends of sentences and lines; code blocks and the numbers of lists are left out."""
    if "```" in statement:
        statement = _CODE.sub("\n", statement)
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
        judged = transcript.run(given, entry.at, entry.text, entry.data, entry.failed)
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
    if judged.outcome in (transcript.OK, transcript.BY_HAND) and "git" in judged.command:
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
        later = [r for r in runs[at + 1:] if r.outcome == transcript.OK and r.at > failure.at] if failure.bad else []
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


# --- from facts to text


def paths_of(facts: Facts) -> tuple[list[str], list[str]]:
    """Return (files made, files changed), each once, in the order of the first touch."""
    made = {e.path for e in facts.edits if e.made}
    every = list(dict.fromkeys(e.path for e in facts.edits))
    return [p for p in every if p in made], [p for p in every if p not in made]


def title(facts: Facts) -> str:
    """Name the work in at most 70 characters: the last commit, else files, else commands, a decision, the topic."""
    topic = _topic(next(iter(facts.requests), facts.earlier))
    made, changed = paths_of(facts)
    names = [p.rpartition("/")[2] for p in changed + made]
    more = ""
    if facts.commits:
        head, topic = facts.commits[-1][1], ""
        more = " (+%d commits)" % (len(facts.commits) - 1) if len(facts.commits) > 1 else ""
    elif names:
        head = ("Edit " if changed else "Add ") + ", ".join(names[:3])
        more = " +%d" % (len(names) - 3) if len(names) > 3 else ""
    elif facts.runs:
        head = "Run " + ", ".join(list(dict.fromkeys(r.key for r in facts.runs))[:3])
    elif facts.decisions:
        head, topic = "Decide: " + _topic(facts.decisions[-1], 8), ""
    else:
        head = "Delegate " + ", ".join(list(dict.fromkeys(facts.tasks.values()))[:3]) if facts.reports else "Discuss"
    head = _short(_line(head), TITLE - len(more)) + more
    whole = head + ": " + topic if topic else head
    return whole if len(whole) <= TITLE else _short(whole, TITLE) if len(head) < TITLE - 20 else head


def _topic(request: str, most: int = 6) -> str:
    """Reduce a request to its words that carry meaning (its first clause where words are not spaced)."""
    first = _line(_CODE.sub(" ", request))
    if _wide(first[:80]):
        return _short(re.split(r"[。、，,.!?！？\n]", first, maxsplit=1)[0], 30)
    words = [w.strip(".,;:!?\"'`()[]{}<>*") for w in first.split()]
    return " ".join([w for w in words if w and w.lower() not in text.STOP and not w.startswith("http")][:most])


def tags(facts: Facts) -> list[str]:
    """Return up to five tags: languages of the files, then programs that ran."""
    every = [_LANGUAGES.get(e.path.rpartition(".")[2].lower(), "") for e in facts.edits]
    every = sorted(set(filter(None, every)), key=lambda tag: (-every.count(tag), tag))[:3]
    programs = [r.key.partition(" ")[0] for r in facts.runs]
    return list(dict.fromkeys([*every, *(p for p in programs if p in _TOOLS)]))[:5]


def body(facts: Facts) -> str:
    """Tell the facts as markdown, at most 6,000 characters; what matters least goes first where there is too much."""
    sections = [("Request", _requests(facts), 1), ("Done", _done(facts), 4),
                ("Decisions", [_line(d, 280) for d in facts.decisions[-10:]], 3), ("Commands", _commands(facts), 1),
                ("Tests", _tests(facts), 1), ("Fixed", [_fix(f) for f in fixes(facts)[-6:]], 2),
                ("Open", _open(facts), 1), ("Next", _next(facts), 1)]
    kept = [(name, list(lines), least) for name, lines, least in sections if lines]
    while True:
        whole = "\n\n".join("## " + name + "\n\n- " + "\n- ".join(lines) for name, lines, _ in kept) + "\n"
        if len(whole) <= BODY:
            return whole
        spare = [entry for entry in kept if len(entry[1]) > entry[2]] or [entry for entry in kept if len(entry[1]) > 1]
        if not spare:
            return _short(whole, BODY - 1) + "\n"
        max(spare, key=lambda entry: sum(map(len, entry[1])))[1].pop()


def _requests(facts: Facts) -> list[str]:
    said = [r for r in facts.requests if not _TRIVIAL.match(r)] or facts.requests
    if not said:
        return ["(continued) " + _line(facts.earlier, 400)] if facts.earlier else []
    rest = said[1:] if len(said) <= 7 else said[-6:]
    return [_line(said[0], 800), *(_line(r, 300) for r in rest)]


def _done(facts: Facts) -> list[str]:
    made, changed = paths_of(facts)
    lines = [("commit " + h).rstrip() + ": " + _line(s, 120) for h, s in facts.commits[-12:]]
    for word, names in (("created", made), ("edited", changed)):
        if names:
            extra = " and %d more" % (len(names) - 25) if len(names) > 25 else ""
            lines.append(word + " " + ", ".join(_code(n, 120) for n in names[:25]) + extra)
    told = ["subagent%s: %s" % (" (%s)" % facts.tasks[a] if a in facts.tasks else "", _line(report, 300))
            for a, report in facts.reports.items()]
    return lines + list(dict.fromkeys(told))[-6:]


def _commands(facts: Facts) -> list[str]:
    last = {r.command: r for r in facts.runs}
    bad = [r for r in facts.runs if r.bad]
    good = [r for r in last.values() if not r.bad and not (r.is_test and r.summary)]
    lines = []
    for run in [*bad[-10:], *good[-10:]]:
        line = ("✗ " if run.bad else "✓ " if run.outcome == transcript.OK else "· ") + _code(run.command)
        if run.outcome != transcript.OK:
            line += " → " + run.outcome
        if run.bad and run.detail:
            line += ": " + " ⏎ ".join(_line(part, 160) for part in run.detail.split("\n"))
        lines.append(line + (" (×%d)" % run.count if run.count > 1 else ""))
    return lines


def _tests(facts: Facts) -> list[str]:
    last = list({r.command: r for r in facts.runs if r.is_test and r.summary}.values())[-6:]
    return ["%s %s → %s" % ("✗" if r.bad else "✓", _code(r.command), _line(r.summary, 160)) for r in last]


def _fix(fix: Fix) -> str:
    why = _line(fix.failure.detail.partition("\n")[0], 160)
    by = ", ".join(_code(p, 120) for p in fix.files[:5]) or " and ".join(map(_code, fix.commands))
    line = "%s → %s%s" % (_code(fix.failure.command), fix.failure.outcome, ": " + why if why else "")
    again = "" if fix.success.command == fix.failure.command else " (%s)" % _code(fix.success.command)
    return "%s; passed%s after %s %s" % (line, again, "editing" if fix.files else "running", by)


def _open(facts: Facts) -> list[str]:
    last = {r.key: r for r in sorted(facts.runs, key=lambda r: r.at)}
    failing = [r for r in last.values() if r.bad and r.is_gate]
    reasons = [(r, r.summary or r.detail.partition("\n")[0] or r.outcome) for r in failing[-4:]]
    lines = ["%s still fails: %s" % (_code(r.command), _line(reason, 160)) for r, reason in reasons]
    return lines + [_line(q, 280) for q in facts.questions]


def _next(facts: Facts) -> list[str]:
    steps = next_steps(facts.said)
    last = _line(facts.said, 400)
    return [_line(s, 280) for s in steps] + (["last said: " + last] if last else [])


def next_steps(statement: str) -> list[str]:
    """Find the sentences of a statement that say what comes next, up to four; a `Next steps:` line brings its list."""
    lines = [line.strip() for line in _CODE.sub("\n", statement).split("\n") if line.strip()]
    for number, line in enumerate(lines):
        if line.rstrip("*_").endswith((":", "：")) and any(w in line.lower() for w in _NEXT):
            listed = [x for x in lines[number + 1:number + 5] if re.match(r"(?:[-*+•]|\d+[.)])\s", x)]
            if listed:
                return [s for x in listed for s in sentences_of(x)[:1]]
    return [s for s in sentences_of(statement) if any(w in s.lower() for w in _NEXT)][:4]


def _line(value: str, most: int = 10000) -> str:
    return _short(" ".join(value.split()), most)


def _short(value: str, most: int) -> str:
    return value if len(value) <= most else value[:most - 1].rstrip() + "…"


def _code(value: str, most: int = 200) -> str:
    value = re.sub(r"^cd \S+ && ", "", value)
    first, newline, _ = value.strip().partition("\n")
    value = _short(" ".join(first.split()) + (" …" if newline else ""), most)
    fence = "``" if "`" in value else "`"
    return fence + (" " + value + " " if "`" in value else value) + fence


# --- state


@dataclass
class State:
    """Where the capture of one session stands; see the module's docstring."""

    path: str
    first: str = ""
    since: str = ""
    units: int = 0
    size: int = 0
    name: str = ""
    checksum: str = ""
    secret: bool = False
    kin: list[str] = field(default_factory=list)
    spans: dict[str, list[int]] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    bases: list[Facts] = field(default_factory=lambda: [Facts(), Facts()])
    seen: set[str] = field(default_factory=set)


_HEAD = ("first", "since", "units", "size", "name", "checksum", "secret", "kin")


def _load(path: str) -> State | None:
    """Read a state; None where there is none of this version (it is derived: the transcript tells again)."""
    try:
        head, _, rest = files.read(path, 64 << 20).partition(b"\n")
        values, more = jsonio.parse(head), jsonio.parse(rest)
        if values.pop("v") != VERSION:
            return None
        seen = more["seen"]
        return State(path, **{key: values[key] for key in _HEAD}, spans=more["spans"], facts=_facts(more["facts"]),
                     bases=[_facts(base) for base in more["bases"]],
                     seen={seen[i:i + 12] for i in range(0, len(seen), 12)})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _facts(value: dict[str, Any]) -> Facts:
    facts = Facts(**value)
    facts.runs = [Run(*run) for run in value["runs"]]
    facts.failing = [Run(*run) for run in value["failing"]]
    facts.edits = [Edit(*edit) for edit in value["edits"]]
    return facts


def _plain(facts: Facts) -> dict[str, Any]:
    value = dict(vars(facts))
    for key in ("runs", "failing"):
        value[key] = [[r.at, r.command, r.key, r.outcome, r.detail, r.summary, r.count] for r in value[key]]
    value["edits"] = [[e.at, e.path, e.made] for e in facts.edits]
    return value


def _save(state: State) -> None:
    head = {"v": VERSION, **{key: getattr(state, key) for key in _HEAD}}
    rest = {"spans": state.spans, "facts": _plain(state.facts), "bases": [_plain(base) for base in state.bases],
            "seen": "".join(sorted(state.seen))}
    files.replace(state.path, (jsonio.dump(head) + "\n" + jsonio.dump(rest) + "\n").encode("ascii"))


def _head(path: str) -> dict[str, Any]:
    """Read a state's first line alone."""
    try:
        value = jsonio.parse(files.read(path, 1 << 16).partition(b"\n")[0])
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) and value.get("v") == VERSION else {}


def _id(uuid: str) -> str:
    """Return 12 characters that stand for an entry's id: of a random UUID its first 48 bits."""
    digits = uuid[:8] + uuid[9:13]
    return digits if len(digits) == 12 and digits.isalnum() else files.sha256(uuid.encode("utf-8", "replace"))[:12]


class Capture:
    """One run of the worker for one session, under the session's lock."""

    def __init__(self, place: paths.Place, settings: config.Config, env: dict[str, str], now: float, session: str,
                 path: str, on_change: OnChange = None):
        self.place, self.settings, self.env, self.now = place, settings, env, now
        self.session, self.path, self.on_change = session, path, on_change
        self.folder = place.cache + "/sessions"
        self.said = ""
        self.foreign: set[str] = set()
        loaded = _load(self.folder + "/" + session + ".json")
        self.state = loaded or State(self.folder + "/" + session + ".json")
        if loaded is None:
            self.state.since = self._since()
        self.known = set(self.state.seen)
        for name in self.state.kin:
            self._add_kin(name)

    def run(self, trigger: str, said: str = "") -> str:
        """Read what is new and write the checkpoint if it is due; returns its name, or "" where nothing was written."""
        state, closing, self.said = self.state, trigger != "stop", transcript.clean(said)
        secret, until, name = state.secret, state.facts.until, ""
        state.units += self.read()
        if secret and (self.said or state.facts.until != until):
            self.rewind(1)  # a secret once named may stand bare in what is new: only together is it found
            self.read()
        if closing or state.units >= self.settings["capture.stopAfter"]:
            name = self.write(trigger)
        if closing:
            self.close()
        _save(state)
        return name

    def read(self) -> int:
        """Take in all that is new, without secrets, and return the units of new work."""
        units = self.advance()
        if self.said and not self.state.facts.muted:
            say(self.state.facts, self.said)
        self.redact()
        return units

    def sources(self) -> list[tuple[str, str]]:
        """Return (key in the spans, path) of the transcript and of its subagents' transcripts."""
        return [("", self.path), *((p.rpartition("/")[2], p) for p in transcript.agents(self.path, self.env))]

    def advance(self) -> int:
        """Read on from the offsets and return the units of new work."""
        state, units = self.state, 0
        roots = (self.place.root, self.place.project)
        for key, path in self.sources():
            span = state.spans.setdefault(key, [0, 0, 0])
            reading = transcript.read(path, span[0])
            current, fresh = "", True
            for entry in reading:
                if entry.uuid != current:
                    current, fresh = entry.uuid, not entry.uuid or self._fresh(entry, key)
                if fresh:
                    units += absorb(state.facts, entry, roots, key)
            span[0] = reading.offset
            if not key:
                state.size = reading.offset
        return units

    def _fresh(self, entry: Entry, key: str) -> bool:
        """Tell whether an entry is told nowhere yet: not by this session, nor by the one it was forked from."""
        state = self.state
        if not state.first and not key:
            state.first = entry.uuid
            self._find_kin()
        short = _id(entry.uuid)
        if short in self.foreign or short in self.known or (state.since and entry.at <= state.since):
            return False
        self.known.add(short)
        state.seen.add(short)
        return True

    def _find_kin(self) -> None:
        """Find the sessions whose transcript begins with the same entry: a fork copies history into its own file."""
        try:
            names = [n for n in sorted(os.listdir(self.folder)) if n.endswith(".json")]
        except OSError:
            return
        for name in names:
            if name != self.session + ".json" and _head(self.folder + "/" + name).get("first") == self.state.first:
                self.state.kin.append(name[:-5])
                self._add_kin(name[:-5])

    def _add_kin(self, name: str) -> None:
        other = _load(self.folder + "/" + name + ".json")
        if other is not None:
            self.foreign |= other.seen

    def rewind(self, index: int) -> None:
        """Forget what was read since the stretch's start (1) or the last write (2), to read it again."""
        state = self.state
        for span in state.spans.values():
            span[0] = span[index]
        state.facts = deepcopy(state.bases[index - 1])
        self.known = set()

    def redact(self) -> None:
        """Take secrets out of the facts, all texts at once: a value found in one is removed from every other."""
        if not self.settings["redact.enabled"]:
            return
        held: list[str] = []
        value = _plain(self.state.facts)
        _walk(value, held.append)
        allow, salt = self.settings["redact.allow"], self.place.key
        made = redact.redact(_SEAM.join(held), allow, salt)
        if not made.found:
            return
        self.state.secret = True
        texts = made.text.split(_SEAM)
        if len(texts) != len(held):  # an open PEM block runs to the end and takes the seams along
            texts = [redact.redact(one, allow, salt).text for one in held]
        rest = iter(texts)
        self.state.facts = _facts(_walk(value, lambda _: next(rest)))

    def told(self, day: str) -> list[tuple[str, str]]:
        """Return (name, instant of the last entry told) of this session's checkpoints from a day on."""
        found = []
        root = self.place.private + "/checkpoints"
        for name in [d + "/" + n for d in _names(root) if d >= day for n in _names(root + "/" + d)]:
            try:
                data = files.read(root + "/" + name, 1 << 14, follow=False)
            except OSError:
                continue
            meta = frontmatter.parse(data).meta if self.session.encode() in data else {}
            if meta.get("session") == self.session and isinstance(meta.get("until"), str):
                found.append(("p/checkpoints/" + name, meta["until"]))
        return found

    def _since(self) -> str:
        """Return up to which instant older checkpoints tell this session already, where the state was lost."""
        reading = transcript.read(self.path, 0)
        first = next(iter(reading), None)
        reading.close()
        began = clock.parse(first.at) if first else None
        return "" if began is None else max((until for _, until in self.told(clock.day(began - clock.DAY))), default="")

    def write(self, trigger: str) -> str:
        """Make or update the stretch's checkpoint; returns its name, or "" where there is nothing to write."""
        state = self.state
        if state.name and not self._untouched():
            # A person edited or removed the file: it is theirs now, and what came since goes into a new one.
            state.name = state.checksum = ""
            self.rewind(2)
            for span in state.spans.values():
                span[1] = span[2]
            state.bases[0] = state.bases[1]
            self.read()
        if not worth(state.facts):
            return ""
        if not state.name:
            told = self.told(clock.day(self.now - clock.DAY)) if state.facts.until else []
            twin = [name for name, until in told if until == state.facts.until]
            if twin:  # written by a run that died before it could save its state
                state.name, state.checksum = twin[-1], files.sha256(files.read(self.place.path(twin[-1])))
        name = self._update(trigger) if state.name else self._add(trigger)
        state.units = 0
        for span in state.spans.values():
            span[2] = span[0]
        state.bases[1] = _carry(state.facts)
        return name

    def _untouched(self) -> bool:
        try:
            return files.sha256(files.read(self.place.path(self.state.name), 64 << 20)) == self.state.checksum
        except OSError:
            return False

    def _meta(self, trigger: str) -> dict[str, Any]:
        facts = self.state.facts
        head = git.head(self.place.git)
        made, changed = paths_of(facts)
        dead = trigger == "recovery"  # what is checked out now says nothing about a session of before
        return {"trigger": trigger, "branch": (facts.branch if dead else head.branch) or None,
                "commit": (next((h for h, _ in reversed(facts.commits) if h), "") if dead else head.commit) or None,
                "files": (changed + made)[:40] or None, "until": facts.until or None}

    def _add(self, trigger: str) -> str:
        state, instant = self.state, self.now
        if trigger == "recovery":
            instant = min(clock.parse(state.facts.until) or instant, instant)
        keeper = store.Store(self.place, self.settings, instant, on_change=self.on_change)
        extra = {key: value for key, value in self._meta(trigger).items() if value is not None}
        record = keeper.add("checkpoint", title(state.facts), body(state.facts), tags=tags(state.facts), source="auto",
                            session=self.session, extra=extra)
        state.name = record.name
        return self._prove(record.name)

    def _update(self, trigger: str) -> str:
        state = self.state
        keeper = store.Store(self.place, self.settings, self.now, on_change=self.on_change)
        old = files.read(self.place.path(state.name), 64 << 20)
        page = frontmatter.parse(old)
        told, meta = body(state.facts), self._meta(trigger)
        if page.body.strip() == told.strip() and (page.meta.get("trigger") == trigger or trigger == "recovery"):
            return ""
        changes = {"title": title(state.facts), "updated": clock.iso(self.now), "tags": tags(state.facts) or None}
        data = frontmatter.edit(old, {**changes, **meta})
        data = data[:frontmatter.split(data)[1]] + b"\n" + told.encode("utf-8")
        keeper.replace(state.name, data, state.checksum)
        return self._prove(state.name)

    def _prove(self, name: str) -> str:
        """Read a written checkpoint back; raises StoreError where it does not say what it should."""
        data = files.read(self.place.path(name), 64 << 20)
        page = frontmatter.parse(data)
        if page.meta.get("session") != self.session or page.meta.get("kind") != "checkpoint" or "## " not in page.body:
            raise StoreError("%s: the checkpoint reads back wrong; run `dayleaf doctor`" % name)
        self.state.checksum = files.sha256(data)
        return name

    def close(self) -> None:
        """End the stretch: later work opens the next checkpoint."""
        state = self.state
        for span in state.spans.values():
            span[1] = span[2] = span[0]
        base = _carry(state.facts)
        state.facts, state.bases = deepcopy(base), [base, base]
        state.name = state.checksum = ""
        state.units, state.secret = 0, False


def _carry(facts: Facts) -> Facts:
    """Return what the next stretch must know of the one before: open calls, last request, failures without a fix."""
    runs = sorted((*facts.failing, *facts.runs), key=lambda r: r.at)
    passed = {r.key: r.at for r in runs if r.outcome == transcript.OK}
    failing = [r for r in runs if r.bad and passed.get(r.key, "") <= r.at]
    return Facts(pending=dict(facts.pending), tasks=dict(facts.tasks), muted=facts.muted, bang=facts.bang,
                 branch=facts.branch, cwd=facts.cwd, earlier=next(reversed(facts.requests), facts.earlier),
                 failing=failing[-10:])


def _walk(value: Any, visit: Callable[[str], Any]) -> Any:
    """Rebuild a value of dicts and lists with what `visit` makes of each text in it, instants and short words apart."""
    if isinstance(value, str):
        if len(value) < 7 or (len(value) == 24 and value.endswith("Z")):
            return value
        made = visit(value)
        return made if isinstance(made, str) else value
    if isinstance(value, dict):
        return {key: _walk(item, visit) for key, item in value.items()}
    return [_walk(item, visit) for item in value] if isinstance(value, list) else value


def _names(folder: str) -> list[str]:
    try:
        return sorted(n for n in os.listdir(folder) if not n.startswith("."))
    except OSError:
        return []


# --- where hooks and commands come in


def on_event(event: dict[str, Any], env: dict[str, str], now: float, on_change: OnChange = None) -> None:
    """Serve Stop, PreCompact and SessionEnd in the detached worker.

    event: the hook's payload.  env: the environment.  now: seconds since the epoch.  on_change: called with the name of
    a record that was written.  Raises OSError or StoreError, which the worker notes.
    """
    trigger = TRIGGERS.get(str(event.get("hook_event_name")))
    session = paths.safe_id(event.get("session_id"))
    path = transcript.trusted(event.get("transcript_path"), env)
    if not trigger or not session or not path or event.get("agent_id") or env.get(hookio.NESTED):
        return
    place = paths.locate(env, hookio.project_dir(event, env))
    settings = config.load(place.home, place.root, env)
    if settings["capture.enabled"]:
        said = event.get("last_assistant_message")
        capture(place, settings, env, now, session, path, trigger, said if isinstance(said, str) else "", on_change)


def capture(place: paths.Place, settings: config.Config, env: dict[str, str], now: float, session: str, path: str,
            trigger: str, said: str = "", on_change: OnChange = None) -> str:
    """Capture one session up to now.

    path: what `transcript.trusted` returned.  trigger: stop | pre_compact | session_end | recovery.  said: the model's
    last statement where the transcript may lag (Stop).  Returns the name of the checkpoint written, or "".
    """
    with files.Lock(place.cache + "/sessions/" + session + ".lock", wait=trigger != "stop") as held:
        return Capture(place, settings, env, now, session, path, on_change).run(trigger, said) if held else ""


def recover(place: paths.Place, settings: config.Config, env: dict[str, str], now: float, current: str,
            on_change: OnChange = None) -> int:
    """Capture and close sessions that died with work nobody wrote down.

    A session counts where its receipts show that it started here, it is not `current`, and its transcript rests for 30
    seconds and holds more than was read, or what was read is not written.  Returns how many checkpoints were written.
    """
    if not settings["capture.enabled"]:
        return 0
    written = 0
    _prune(place, now)
    for name in _names(place.receipts("x").rpartition("/")[0]):
        session = paths.safe_id(name[:-len(".jsonl")]) if name.endswith(".jsonl") else ""
        if not session or session == current:
            continue
        path = transcript.trusted(_transcript_of(place.receipts(session)), env)
        if path and _left(place, session, path, now):
            written += bool(capture(place, settings, env, now, session, path, "recovery", on_change=on_change))
    return written


def _left(place: paths.Place, session: str, path: str, now: float) -> bool:
    stat = os.stat(path)
    if not QUIET < now - stat.st_mtime < KEEP:
        return False
    head = _head(place.cache + "/sessions/" + session + ".json")
    return not head or head.get("size") != stat.st_size or bool(head.get("units") or head.get("name"))


def _transcript_of(receipts: str) -> object:
    """Return the transcript that the last start in a session's receipts names."""
    path: object = ""
    try:
        data = files.read(receipts, 4 << 20)
    except OSError:
        return path
    for line in data.split(b"\n"):
        if b'"start"' in line:
            try:
                row = jsonio.parse(line)
            except ValueError:
                continue
            if isinstance(row, dict) and row.get("event") == "start":
                path = row.get("transcript") or path
    return path


def _prune(place: paths.Place, now: float) -> None:
    """Delete the states of sessions whose transcripts the host has deleted by now."""
    folder = place.cache + "/sessions/"
    for name in _names(folder):
        try:
            if now - os.stat(folder + name).st_mtime > KEEP:
                files.remove(folder + name)
        except OSError:
            continue


def gather(path: str, env: dict[str, str], roots: tuple[str, ...] = ()) -> Facts:
    """Return the facts of a whole transcript and its subagents, in memory and with their secrets (`Store` redacts)."""
    facts = Facts()
    for key, source in [("", path), *((p.rpartition("/")[2], p) for p in transcript.agents(path, env))]:
        for entry in transcript.read(source):
            absorb(facts, entry, roots, key)
    return facts


def note(keeper: store.Store, place: paths.Place, words: str, labels: Iterable[str], session: str,
         now: float) -> Record:
    """Write a checkpoint by hand; its title is the first clause of the note.

    words: the note (markdown; <private> parts are left out).  labels: tags.  session: id of the running session, or "".
    now: seconds since the epoch.  Raises UsageError for an empty note, StoreError where it reads back wrong.
    """
    words = transcript.clean(words)
    if not words:
        raise UsageError("an empty checkpoint: give the note as an argument or on stdin")
    head = git.head(place.git)
    first = re.split(r"(?<=[.!?;])\s|[。！？]|\n", words.lstrip("#-* "), maxsplit=1)[0].rstrip(".;")
    extra = {"created": clock.iso(now), "trigger": "manual", "branch": head.branch, "commit": head.commit}
    record = keeper.add("checkpoint", _short(_line(first), TITLE), words + "\n", tags=tuple(labels), source="human",
                        session=paths.safe_id(session), extra={k: v for k, v in extra.items() if v})
    if files.sha256(files.read(place.path(record.name), 64 << 20)) != record.checksum:
        raise StoreError("%s: the checkpoint reads back wrong; run `dayleaf doctor`" % record.name)
    return record
