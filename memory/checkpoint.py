"""The checkpoint that tells the facts of a stretch: its title, tags and markdown."""

from __future__ import annotations

import re

from memory import shell, text
from memory.facts import CODE, TRIVIAL, Facts, sentences_of, wide
from memory.fixes import Fix, fixes

BODY, TITLE = 6000, 70  # characters
_NEXT = (
    "next step", "next:", "next,", "next up", "next i", "remaining", "todo", "still need", "left to do", "follow-up",
    "follow up", "not yet", "다음", "남은", "아직", "残り", "次に", "次は", "次の", "まだ",
    "下一步", "接下来", "還需", "还需", "待办", "nächste", "noch nicht", "noch offen", "als nächstes", "steht noch",
)
_AFTER = re.compile(r"(?i)(?:^|[;,.]\s*|\s)(?:next(?: steps?| up)?|todo|다음(?: 단계)?|次|下一步|als nächstes)\s*[:：]\s*(\S.+)")
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
    head = short(one_line(head), TITLE - len(more)) + more
    whole = head + ": " + topic if topic else head
    return whole if len(whole) <= TITLE else short(whole, TITLE) if len(head) < TITLE - 20 else head


def _topic(request: str, most: int = 6) -> str:
    """Reduce a request to its words that carry meaning (its first clause where words are not spaced)."""
    first = one_line(CODE.sub(" ", request))
    if wide(first[:80]):
        return short(re.split(r"[。、，,.!?！？\n]", first, maxsplit=1)[0], 30)
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
                ("Decisions", [one_line(d, 280) for d in facts.decisions[-10:]], 3), ("Commands", _commands(facts), 1),
                ("Tests", _tests(facts), 1), ("Fixed", [_fix(f) for f in fixes(facts)[-6:]], 2),
                ("Open", _open(facts), 1), ("Next", _next(facts), 1)]
    return fitted(sections, BODY)


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


def _requests(facts: Facts) -> list[str]:
    said = [r for r in facts.requests if not TRIVIAL.match(r)] or facts.requests
    if not said:
        return ["(continued) " + one_line(facts.earlier, 400)] if facts.earlier else []
    rest = said[1:] if len(said) <= 7 else said[-6:]
    return [one_line(said[0], 800), *(one_line(r, 300) for r in rest)]


def _done(facts: Facts) -> list[str]:
    made, changed = paths_of(facts)
    lines = [("commit " + h).rstrip() + ": " + one_line(s, 120) for h, s, _ in facts.commits[-12:]]
    for word, names in (("created", made), ("edited", changed)):
        if names:
            extra = " and %d more" % (len(names) - 25) if len(names) > 25 else ""
            lines.append(word + " " + ", ".join(code(n, 120) for n in names[:25]) + extra)
    told = ["subagent%s: %s" % (" (%s)" % facts.tasks[a] if a in facts.tasks else "", one_line(report, 300))
            for a, report in facts.reports.items()]
    return lines + list(dict.fromkeys(told))[-6:]


def _commands(facts: Facts) -> list[str]:
    last = {r.command: r for r in facts.runs}
    bad = [r for r in facts.runs if r.bad]
    good = [r for r in last.values() if not r.bad and not (r.is_test and r.summary)]
    lines = []
    for run in [*bad[-10:], *good[-10:]]:
        line = ("✗ " if run.bad else "✓ " if run.outcome == shell.OK else "· ") + code(run.command)
        if run.outcome != shell.OK:
            line += " → " + run.outcome
        if run.bad and run.detail:
            line += ": " + " ⏎ ".join(one_line(part, 160) for part in run.detail.split("\n"))
        lines.append(line + (" (×%d)" % run.count if run.count > 1 else ""))
    return lines


def _tests(facts: Facts) -> list[str]:
    last = list({r.command: r for r in facts.runs if r.is_test and r.summary}.values())[-6:]
    return ["%s %s → %s" % ("✗" if r.bad else "✓", code(r.command), one_line(r.summary, 160)) for r in last]


def _fix(fix: Fix) -> str:
    why = one_line(fix.failure.detail.partition("\n")[0], 160)
    by = ", ".join(code(p, 120) for p in fix.files[:5]) or " and ".join(map(code, fix.commands))
    line = "%s → %s%s" % (code(fix.failure.command), fix.failure.outcome, ": " + why if why else "")
    again = "" if fix.success.command == fix.failure.command else " (%s)" % code(fix.success.command)
    return "%s; passed%s after %s %s" % (line, again, "editing" if fix.files else "running", by)


def _open(facts: Facts) -> list[str]:
    last = {r.key: r for r in sorted(facts.runs, key=lambda r: r.last)}
    failing = [r for r in last.values() if r.bad and r.is_gate]
    reasons = [(r, r.summary or r.detail.partition("\n")[0] or r.outcome) for r in failing[-4:]]
    lines = ["%s still fails: %s" % (code(r.command), one_line(reason, 160)) for r, reason in reasons]
    return lines + [one_line(q, 280) for q in facts.questions]


def _next(facts: Facts) -> list[str]:
    steps = next_steps(facts.said)
    last = one_line(facts.said, 400)
    return [one_line(s, 280) for s in steps] + (["last said: " + last] if last else [])


def next_steps(statement: str) -> list[str]:
    """Find the sentences of a statement that say what comes next, up to four, from a `next:` in them on; a `Next steps:` line
    brings its list."""
    lines = [line.strip() for line in CODE.sub("\n", statement).split("\n") if line.strip()]
    for number, line in enumerate(lines):
        if line.rstrip("*_").endswith((":", "：")) and any(w in line.lower() for w in _NEXT):
            listed = [x for x in lines[number + 1:number + 5] if re.match(r"(?:[-*+•]|\d+[.)])\s", x)]
            if listed:
                return [s for x in listed for s in sentences_of(x)[:1]]
    found = [s for s in sentences_of(statement) if any(w in s.lower() for w in _NEXT)][:4]
    return [match[1] if match else s for s in found for match in [_AFTER.search(s)]]


def before_next(sentence: str) -> str:
    """Return what a sentence says before its `next:`."""
    match = _AFTER.search(sentence)
    return sentence[:match.start()].rstrip(" ;,.") if match else sentence


def one_line(value: str, most: int = 10000) -> str:
    """Put a text on one line of at most `most` characters."""
    return short(" ".join(value.split()), most)


def short(value: str, most: int) -> str:
    """Clip a text at `most` characters, with an ellipsis."""
    return value if len(value) <= most else value[:most - 1].rstrip() + "…"


def code(value: str, most: int = 200) -> str:
    """Quote a command or a path: its first line, at most `most` characters of it, without the `cd` before it."""
    value = re.sub(r"^cd \S+ && ", "", value)
    first, newline, _ = value.strip().partition("\n")
    value = short(" ".join(first.split()) + (" …" if newline else ""), most)
    fence = "``" if "`" in value else "`"
    return fence + (" " + value + " " if "`" in value else value) + fence
