"""What `--json` prints has the shape that docs/schema.json says and docs/json.md tells: every verb,
from its real output.

A verb that is new here wants a call in CALLS that gives something of every key; UPDATE_SCHEMA=1
then joins its shape to the schema and writes docs/json.md anew.  Whatever else changes there is a
change of what scripts read.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from harness import noted, shapes, talks, vault
from harness.command import on_terminal
from harness.session import Session

from memory.cli import main
from memory.core import spellings
from memory.recall import hit

ROOT = Path(__file__).resolve().parents[2]
SCHEMA, DOC = ROOT / "docs" / "schema.json", ROOT / "docs" / "json.md"
# read here: the fixtures give every test an environment of its own
UPDATE = os.environ.get("UPDATE_SCHEMA")
BEGIN = "<!-- what follows is made of schema.json by tests/whole/test_json.py -->\n"


# what docs/json.md says once, beside the head of a record
GROUPS = {
    "…shown": frozenset("age freshness group path workspace".split()),
    "…uses": frozenset("down feedback lastUse learnedAgain up uses".split()),
}


class Excepted(NamedTuple):
    """Verbs whose output is no answer: a protocol, or a page."""

    mcp: str = "its output is the protocol's own JSON"
    view: str = "it serves a page until it is stopped"


MAPS = {  # paths of objects whose keys are data
    "recall": {"hits[].parts", "linked[].parts"},
    "resource search": {"hits[].parts", "linked[].parts"},
    "fix": {"nearest[].parts"},
    "distill": {"recall.parts"},
    "status": {
        "records",
        "records.*",
        "settings",
        "tiers",
        "duplicates",
        "audit.counts",
        "added[].endings",
    },
    "tier add": {"endings"},
    "tier list": {"[].endings"},
    "import dir": {"endings"},
    "config list": {""},
    "stats": {"records", "topics", "hooks", "mostPushed", "mostUsed", "leastUsed", "titles"},
    "audit": {"counts"},
    "eval": {"[].rankers", "[].gone", "[].floor"},
    "load": {"considered[].terms"},
    "workspace": {"tiers"},
    "index export": {"topics", "categories"},
    "version": set(),
    "recall --batch": set(),
}
# Keys that may be null, and lists of text, whatever the examples hold.
NULLABLE = set(
    (
        "branch session said where learning line remedy cause outcome saved plan handoff best "
        "given undone instead pull lastBuild audit digest"
    ).split()
)
TEXTS = set(
    "notes problems tags topics versions stays others flags decisions commits files fixed failing "
    "next open private changed new differences leftOut pending transcripts feedback gaps "
    "checkpoints conversations claimed left".split()
)
TEXT = (
    "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens "
    "otherwise.  See [[Redis]]."
)
GOLDEN = "queries:\n  - query: jwt issuer\n    expect: [%s]\nfloor: {recall@5: 1.0}\n"
# The names of calls, and their words; `{name}` stands for the id that an earlier call of that name
# printed.
CALLS = [
    ("learn", ["learn", TEXT, "--tag", "auth", "--version", "2.1"]),
    ("learn:redis", ["learn", "Redis evicts keys in staging.", "--title", "Redis"]),
    ("learn:spare", ["learn", "A note that goes again."]),
    ("checkpoint", ["checkpoint", "Moved the retries to the worker."]),
    ("plan", ["plan", "Move the retries", "--step", "queue", "--step", "worker"]),
    ("plan step", ["plan", "step", "1"]),
    ("plan show", ["plan", "show"]),
    ("plan list", ["plan", "list"]),
    ("plan update", ["plan", "update", "more", "--append"]),
    ("keep", ["keep", "never use print in src"]),
    ("notes on", ["notes", "on", "--provider", "command"]),
    ("notes", ["notes"]),
    ("notes write", ["notes", "write", "--dry-run"]),
    ("notes off", ["notes", "off"]),
    (
        "rule suggest",
        ["rule", "suggest", "Pin versions", "--rationale", "a break", "--tag", "auth"],
    ),
    ("rule list", ["rule", "list"]),
    ("resource add", ["resource", "add", "guide.md"]),
    ("resource add:script", ["resource", "add", "deploy.sh"]),
    ("resource add", ["resource", "add", "guide.md"]),
    ("resource list", ["resource", "list"]),
    ("resource show", ["resource", "show", "{resource add}"]),
    ("resource refresh", ["resource", "refresh"]),
    ("resource update", ["resource", "update", "{resource add}", "--title", "The guide"]),
    ("resource search", ["resource", "search", "guide"]),
    ("resource reindex", ["resource", "reindex"]),
    ("resource delete", ["resource", "delete", "{resource add}"]),
    ("link", ["link", "{learn}", "related_to", "{learn:redis}"]),
    ("link list", ["link", "{learn}"]),
    ("graph", ["graph"]),
    ("graph", ["graph", "{learn}"]),
    ("edit", ["edit", "{learn:redis}"]),
    ("index build", ["index", "build"]),
    ("index refresh", ["index", "refresh"]),
    ("index verify", ["index", "verify"]),
    ("index status", ["index", "status"]),
    ("index export", ["index", "export"]),
    (
        "recall",
        ["recall", "jwt issuer uploader retries", "--explain", "--context-tags", "auth=1.5"],
    ),
    ("recall", ["recall"]),
    ("recall", ["recall", "zookeeper"]),
    ("recall", ["recall", "guide deploy pin"]),
    ("recall --batch", ["recall", "--batch"]),
    ("show", ["show", "{learn}"]),
    ("show", ["show", "c-7a1c0001"]),
    ("show #TURN", ["show", "c-7a1c0001#1"]),
    ("show --outline", ["show", "c-7a1c0001", "--outline"]),
    ("show --section", ["show", "c-7a1c0001", "--section", "2"]),
    ("fix", ["fix", "resume_test.go:41: no marker"]),
    ("fix", ["fix", "an error that nobody met"]),
    ("how", ["how", "go test"]),
    ("blame", ["blame", "resume.go"]),
    ("friction", ["friction"]),
    ("distill", ["distill", "jwt issuer", "--provider", "extract", "--save"]),
    ("distill", ["distill", "what is zookeeper", "--provider", "extract"]),
    ("load", ["load", "jwt issuer", "--explain"]),
    ("why", ["why"]),
    ("today", ["today"]),
    ("standup", ["standup", "--since", "2025-01-01"]),
    ("standup", ["standup", "--since", "2025-01-01", "--provider", "command"]),
    ("handoff", ["handoff", "Retries half moved."]),
    ("handoff --show", ["handoff", "--show"]),
    ("handoff", ["handoff", "--clear"]),
    ("handoff --show", ["handoff", "--show"]),
    ("statusline", ["statusline"]),
    ("tier add", ["tier", "add", "notes"]),
    ("tier list", ["tier", "list"]),
    ("status", ["status"]),
    ("tier remove", ["tier", "remove", "notes"]),
    ("stats", ["stats"]),
    ("stats --spend", ["stats", "--spend"]),
    ("doctor", ["doctor"]),
    ("doctor --fix", ["doctor", "--fix"]),
    ("check", ["check"]),
    ("check", ["check", "broken.md"]),
    ("audit", ["audit"]),
    ("eval --template", ["eval", "--template"]),
    ("eval", ["eval", "golden.yaml"]),
    ("eval", ["eval", "golden.yaml"]),
    ("feedback", ["feedback", "{learn}", "up", "it", "helped"]),
    ("harvest", ["harvest"]),
    ("harvest list", ["harvest", "list"]),
    ("import dir", ["import", "dir", "notes"]),
    ("import tree", ["import", "tree", "notes", "--dry-run"]),
    ("import claude-memory", ["import", "claude-memory"]),
    ("import transcripts", ["import", "transcripts"]),
    ("expand", ["expand", "c-r"]),
    ("share", ["share", "{learn}"]),
    ("shared", ["shared"]),
    ("unshare", ["unshare", "{learn}"]),
    ("sync setup", ["sync", "setup", "{machines}"]),
    ("sync", ["sync"]),
    ("sync status", ["sync", "status"]),
    ("forget", ["forget", "{learn:spare}"]),
    ("restore", ["restore", "{learn:spare}"]),
    ("forget --hard", ["forget", "{learn:spare}", "--hard", "--yes"]),
    ("forget --session", ["forget", "--session", talks.SESSION, "--yes"]),
    ("backup", ["backup", "kept.tar.gz", "--here"]),
    ("restore FILE", ["restore", "kept.tar.gz", "--into", "elsewhere", "--dry-run"]),
    ("restore FILE", ["restore", "kept.tar.gz", "--into", "elsewhere"]),
    ("upkeep", ["upkeep"]),
    ("upkeep", ["upkeep", "--apply"]),
    ("undo", ["undo"]),
    ("undo", ["undo"]),
    ("redact", ["redact", "{learn:redis}", "--text", "staging in a long form", "--apply"]),
    ("redact", ["redact", "{learn:redis}", "--text", "evicts keys", "--apply"]),
    ("completion", ["completion", "bash"]),
    ("completion --", ["completion", "zsh", "--", "show", "l-"]),
    ("config list", ["config", "list"]),
    ("config get", ["config", "get", "load.top"]),
    ("config set", ["config", "set", "load.top", "4"]),
    ("config unset", ["config", "unset", "load.top"]),
    ("workspace", ["workspace"]),
    ("workspace claim", ["workspace", "claim"]),
    ("off", ["off", "--project"]),
    ("on", ["on", "--project"]),
    ("off", ["off"]),
    ("on", ["on"]),
    ("plan done", ["plan", "done"]),
    ("version", ["--version"]),
]
DECIDED = [
    ("rule approve", ["rule", "approve", "{rule suggest}"]),
    ("resource approve", ["resource", "approve", "{resource add:script}"]),
    ("resource run", ["resource", "run", "{resource add:script}"]),
    ("review", ["review"]),
]


@pytest.fixture
def answers(run, env, project, place, now, tmp_path):
    """Make every call in one store and return [(name, what it printed)]."""
    for path, said in (
        ("guide.md", "# Guide\n\nCall it.\n"),
        ("deploy.sh", "#!/bin/sh\n# Deploy.\necho x\n"),
        ("notes/one.md", "# One\n\nA fact.\n"),
        ("notes/docs/v1/two.md", "# Two\n\nMore.\n"),
        ("broken.md", "---\ntitle: [\n---\nx\n"),
    ):
        file = Path(project, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(said, encoding="utf-8")
    talks.put(place)
    vault.put(
        place,
        "p/checkpoints/2026-01-23/r.md",
        "Resume",
        "## Outcome\n\nResume writes the marker in `src/gone.py`.\n",
        id="c-r",
        session=talks.SESSION,
        source="auto",
        conversation="c-7a1c0001",
        branch="main",
    )
    for number in range(2):
        vault.put(
            place,
            "p/learnings/same%d.md" % number,
            "Queue",
            "The queue drops what it cannot place, and says so in its log once a day.",
            id="l-same%d" % number,
        )
    vault.put(
        place,
        "p/learnings/links.md",
        "Links",
        "Nothing.",
        id="l-links",
        links="[{relation: related_to, target: l-none}]",
    )
    vault.put(
        place,
        "p/learnings/candidate.md",
        "Candidate",
        "The cause was a cold cache.",
        id="l-cand",
        source="auto",
        confidence="low",
    )
    session = Session(env, project, now, talks.SESSION)
    session.copy("tools-headless")
    Path(project, "golden.yaml").write_text(GOLDEN % "l-none, l-same0", encoding="utf-8")
    words = noted.model(tmp_path, "- It writes the marker [c-r]\n- It has 48 nodes [c-r]")
    Path(place.home, "config.json").write_text(json.dumps({"distill.command": words}))
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho 'One more line.' >> \"$1\"\n")
    editor.chmod(0o755)
    (tmp_path / "machines").mkdir()
    ids = {"machines": str(tmp_path / "machines")}
    found = []

    def kept(name, words, said):
        lines = said.strip().splitlines()
        assert len(lines) == 1 or name == "recall --batch", (words, said)
        value = json.loads(lines[0])
        found.append((name.partition(":")[0], words, value))
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            ids.setdefault(name, value["id"])

    def told(words):
        return [re.sub(r"\{(.+?)\}", lambda match: ids[match[1]], word) for word in words]

    for name, words in CALLS[:-2]:
        batch = '{"id": "1", "query": "jwt"}\n' if name == "recall --batch" else ""
        done = run(
            words[0],
            "--json",
            *told(words[1:]),
            stdin=batch,
            EDITOR=str(editor),
            CLAUDE_CODE_SESSION_ID="s1" if words[0] in ("on", "off") else "",
        )
        if not done.stdout:
            found.append((name, words, done.stderr))
        else:
            kept(name, words, done.stdout)
    for name, words in DECIDED:
        _, said = on_terminal(
            [*told(words), "--json"],
            {**env, "EDITOR": str(editor)},
            project,
            ["yes", "s", "q", "q"],
        )
        kept(
            name,
            words,
            next(filter(re.compile(r'\{"|\[\{"|\[\]').match, said.splitlines()), json.dumps(said)),
        )
    for name, words in CALLS[-2:]:
        kept(name, words, run(*told(words), "--json").stdout)
    return found


def test_every_verb_answers_in_its_shape(answers):
    """Each key is in the schema, and each that the schema promises is there."""
    silent = [(words, said) for _, words, said in answers if isinstance(said, str)]
    assert not silent
    if UPDATE:
        _update(answers)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    assert [
        fault
        for name, words, value in answers
        for fault in shapes.faults(value, schema.get(name, {"type": []}), " ".join(words[:2]))
    ] == []
    assert {name for name, _, _ in answers} == set(schema)


def test_no_verb_is_left_out():
    """Each has a call, or a reason why it has no shape."""
    called = {words[0] for _, words in [*CALLS, *DECIDED]}
    assert {verb for verb in main.VERBS if verb not in called} <= set(Excepted._fields)
    parts = {(verb, word) for verb, row in main.VERBS.items() for word in row.parts}
    assert parts - {tuple(words[:2]) for _, words in [*CALLS, *DECIDED]} <= {
        ("resource", "reject"),
        ("rule", "reject"),
    }


def test_the_document_says_what_the_schema_says():
    """It is made of it."""
    assert DOC.read_text(encoding="utf-8").partition(BEGIN)[2] == _document(
        json.loads(SCHEMA.read_text(encoding="utf-8"))
    )


def _compact(value: object) -> str:
    """Return JSON without blanks: the schema is installed with the plugin."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _update(answers) -> None:
    known = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"] if SCHEMA.exists() else {}
    names = {name for name, _, _ in answers}
    for name, _, value in answers:
        shape = shapes.of(value, "", frozenset(MAPS.get(name, ())))
        known[name] = shapes.joined([known[name], shape]) if name in known else shape
    kept = {name: known[name] for name in sorted(names)}
    heads = [shape for name in kept for shape in _heads(kept[name])]
    head = shapes.joined(
        [
            {
                **one,
                "properties": {key: one["properties"][key] for key in _record_keys()},
                "required": [],
            }
            for one in heads
        ]
    )
    for one in heads:
        one["properties"].update(head["properties"])
    for shape in kept.values():
        _widen(shape)
    first = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `dayleaf VERB --json` prints",
        "version": main.FORMATS_KEPT["json"],
    }
    rows = ",\n".join("%s:%s" % (json.dumps(name), _compact(shape)) for name, shape in kept.items())
    SCHEMA.write_text(
        _compact(first)[:-1] + ',"$defs":{\n%s\n}}\n' % rows,
        encoding="utf-8",
    )
    before = DOC.read_text(encoding="utf-8").partition(BEGIN)[0] if DOC.exists() else ""
    DOC.write_text(
        before + BEGIN + _document(json.loads(SCHEMA.read_text(encoding="utf-8"))), encoding="utf-8"
    )


def _heads(shape) -> list:
    """Return the objects within a shape that hold a record's head."""
    inner = [
        each
        for key in ("items", "additionalProperties")
        if isinstance(shape.get(key), dict)
        for each in _heads(shape[key])
    ]
    inner += [found for each in shape.get("properties", {}).values() for found in _heads(each)]
    return inner + [shape] * (set(_record_keys()) <= set(shape.get("properties", ())))


def _widen(shape) -> None:
    """Let be null and text what may be, in place; a null that has no other example is anything."""
    for name, each in shape.get("properties", {}).items():
        types = [each["type"]] if isinstance(each.get("type"), str) else each.get("type", [])
        if types == ["null"]:
            each.clear()
        elif types and name in NULLABLE and "array" not in types:
            each["type"] = sorted({*types, "null"})
        elif types == ["array"] and name in TEXTS and not each["items"]:
            each["items"] = {"type": "string"}
        _widen(each)
    for key in ("items", "additionalProperties"):
        if isinstance(shape.get(key), dict):
            _widen(shape[key])


def _document(schema) -> str:
    """Return the part of docs/json.md below BEGIN: a line for all verbs of one shape."""
    groups, known = {"…record": frozenset(_record_keys()), **GROUPS}, dict[str, str]()
    verbs: dict[str, list[str]] = {}
    for name, shape in schema["$defs"].items():
        verbs.setdefault(shapes.told(shape, groups, {}, name), []).append(name)
    rows = [
        "- %s: %s"
        % (
            ", ".join(map(_headed, names)),
            shapes.told(schema["$defs"][names[0]], groups, known, names[0]),
        )
        for names in verbs.values()
    ]
    return "\n" + "\n".join(rows) + "\n"


def _headed(name: str) -> str:
    """Return a shape's name, with what is typed where its last word is another."""
    verb = name.partition(" ")[0]
    now = spellings.spell_verb(verb)
    return "**%s**" % name + " (`%s`)" % now * (now.split()[-1:] not in ([verb], []))


def _record_keys() -> list[str]:
    """Return the keys of every record's head, as docs/json.md lists them."""
    import inspect

    return re.findall(r'"(\w+)": ', inspect.getsource(hit.record_json).partition("return")[2])
