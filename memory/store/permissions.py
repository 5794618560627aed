"""Who may do what: the one table against which verbs and a backup's settings are checked.

    person   at a terminal, or a script of theirs: nothing in the environment says that an agent
             runs it
    typed    a slash command with a person's words, passed on by the client's hook
    session  whatever the model of a session types in its shell

Each may do what those below may.  A session reads and suggests: it names no program, writes as
nobody else, reads no file outside the project into the store, and approves, configures, restores,
redacts and archives nothing.  What a repository may set is `config.PROJECT_KEYS`; what neither a
backup nor a session's environment, which a repository's settings fill, may set is
`config.USER_ONLY_KEYS`.

A verb, a word behind it, or an option without a row here is refused to all but a person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from memory.core import approvals, boundary, records, spellings
from memory.core.plaintext import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.layout import Place
    from memory.core.records import Record

SESSION, TYPED, PERSON = "session", "typed", "person"
_TRUST = (SESSION, TYPED, PERSON)


class Permission(NamedTuple):
    """The permissions of a verb.

    least: the least trusted caller that may run it.  free: options for all of them.  typed,
    person: options for more trusted callers; `--option=value` before `--option`.  inside: options,
    or `WORDS` for the words, whose paths must lie in the project.  paths: a first word whose other
    words are such paths.  words: callers by first word, where not `least`.
    """

    least: str
    free: str = ""
    typed: str = ""
    person: str = ""
    inside: str = ""
    paths: str = ""
    words: Mapping[str, str] = {}


DECIDED = {
    "on": "what the model gets",
    "off": "what the model gets",
    "rule": "a rule",
    "resource": "a script",
    "harvest": "a candidate",
    "workspace": "whose memory this is",
    "tier": "what is read as memory",
    "notes": "what a model writes",
}
EVERYWHERE = "--json --help"
FILTERS = (
    "--since --days --from --to --kind --tag --topic --file --branch --session --version "
    "--workspace --context-tags --semantic --lexical --limit --min-score --explain"
)
SECTIONS = "--section --outline"
VERBS: dict[str, Permission] = {
    "recall": Permission(SESSION, FILTERS + " --type --group --batch", person="--provider"),
    "show": Permission(SESSION, SECTIONS),
    "expand": Permission(SESSION),
    "fix": Permission(SESSION, "--workspace"),
    "how": Permission(SESSION),
    "blame": Permission(SESSION),
    "friction": Permission(SESSION),
    "distill": Permission(
        SESSION,
        FILTERS + " --max-tokens --provider=extract --provider=none --save --no-cache",
        typed="--provider",
    ),
    "harvest": Permission(SESSION, "--since --dry-run", words={"accept": PERSON, "reject": PERSON}),
    "learn": Permission(
        SESSION,
        "--tag --version --title --confidence --shared --session",
        typed="--source --global --confidence=high",
    ),
    "checkpoint": Permission(SESSION, "--tag --session --note", typed="--transcript"),
    "notes": Permission(
        SESSION,
        "--since --dry-run",
        person="--provider --yes",
        words={"on": PERSON, "off": PERSON, "write": PERSON},
    ),
    "handoff": Permission(SESSION, "--show --clear --session", typed="--transcript --provider"),
    "standup": Permission(SESSION, "--since --until --markdown --workspace", typed="--provider"),
    "plan": Permission(SESSION, "--shared --replace --step --append --undo"),
    "load": Permission(SESSION, "--explain"),
    "why": Permission(SESSION),
    "on": Permission(SESSION, "--session", words={"project": PERSON, "mine": PERSON}),
    "off": Permission(SESSION, "--session", words={"project": PERSON, "mine": PERSON}),
    "status": Permission(SESSION),
    "today": Permission(SESSION),
    "statusline": Permission(SESSION),
    "doctor": Permission(SESSION, person="--fix"),
    "check": Permission(SESSION, "--staged", inside="WORDS"),
    "stats": Permission(SESSION, "--since --spend"),
    "eval": Permission(SESSION, "--strict", person="--template", inside="WORDS"),
    "index": Permission(
        SESSION, "--embeddings --workspace", person="--provider --backend --dsn --private"
    ),
    "feedback": Permission(SESSION),
    "forget": Permission(TYPED, "--hard --yes --session --day --file --mentions"),
    "restore": Permission(PERSON, "--into --merge --replace --trust --identity --dry-run"),
    "backup": Permission(PERSON, "--workspace --shared --here --age"),
    "share": Permission(TYPED),
    "unshare": Permission(TYPED),
    "shared": Permission(SESSION),
    "sync": Permission(PERSON, "--identity --gone --anew"),
    "upkeep": Permission(SESSION, person="--apply --clock-is-right"),
    "undo": Permission(PERSON),
    "audit": Permission(SESSION, "--strict"),
    "import": Permission(
        SESSION,
        "--dry-run --shared --kind --since",
        typed="--global",
        person="--all --agent --ask",
        inside="WORDS",
        words={"claude-memory": PERSON, "transcripts": PERSON},
    ),
    "edit": Permission(PERSON),
    "rule": Permission(
        SESSION,
        "--rationale --body --title --tag --link --shared --pending",
        typed="--global",
        words={"approve": PERSON, "reject": PERSON},
    ),
    "review": Permission(PERSON),
    "keep": Permission(TYPED, "--tag"),
    "resource": Permission(
        SESSION,
        SECTIONS + " --tag --version --type --title --shared --stale --timeout",
        typed="--global",
        inside="--path",
        paths="add",
        words={"approve": PERSON, "reject": PERSON, "delete": PERSON},
    ),
    "link": Permission(SESSION, "--remove"),
    "graph": Permission(SESSION),
    "redact": Permission(PERSON, "--text --everywhere --apply"),
    "completion": Permission(SESSION),
    "config": Permission(SESSION, words={"set": PERSON, "unset": PERSON}),
    "view": Permission(PERSON, "--port --export --private"),
    "workspace": Permission(SESSION, words={"claim": PERSON}),
    "tier": Permission(SESSION, person="--everywhere", words={"add": PERSON, "remove": PERSON}),
    "mcp": Permission(SESSION, "--read-only"),
}
# The column of `dayleaf mcp`: the verb and word that each of its tools stands for.  All of them are
# asked for as a session asks, their arguments as options of that verb.
TOOLS: dict[str, tuple[str, ...]] = {
    "recall": ("recall",),
    "get_record": ("show",),
    "distill": ("distill",),
    "fix": ("fix",),
    "how": ("how",),
    "prompt_context": ("load",),
    "search_resources": ("recall",),
    "get_resource": ("resource", "show"),
    "index_status": ("index", "status"),
    "remember": ("learn",),
    "suggest_rule": ("rule", "suggest"),
    "add_resource": ("resource", "add"),
    "run_script": ("resource", "run"),
    "feedback": ("feedback",),
}


def identify_caller(env: dict[str, str], parent: int) -> str:
    """Return the caller: `session`, `typed` or `person`."""
    if env.get(boundary.TYPED) == str(parent):
        return TYPED
    return SESSION if boundary.is_agent(env) else PERSON


def required_caller(verb: str, word: str = "", option: str = "", value: str = "") -> str:
    """Return the least trusted caller for a verb's first word or option."""
    row = VERBS.get(verb)
    if row is None:
        return PERSON
    if not option:
        return row.words.get(word, row.least)
    lists = (
        (PERSON, row.person),
        (TYPED, row.typed),
        (row.least, " ".join((row.free, row.inside, EVERYWHERE))),
    )
    for wanted in ("%s=%s" % (option, value), option):  # a row for one value counts first
        for needed, listed in lists:
            if wanted in listed.split():
                return needed
    return PERSON


def is_approved_by_person(record: Record, place: Place) -> bool:
    """Tell whether a person wrote, accepted or approved a record."""
    if record.source == "human":
        return True
    if record.kind == "learning" and records.is_true(record.meta.get("accepted")):
        return not str(record.meta.get("accepted_by") or "").startswith("dayleaf")
    key = (approvals.approval_workspace(record.name, place.key), record.id, record.checksum)
    return record.kind == "rule" and approvals.read_decisions(place.home).get(key) == "approve"


def _format_refusal(verb: str, word: str, words: Sequence[str], option: str) -> str:
    listed = verb in VERBS and word in VERBS[verb].words
    parts = [spellings.spell_verb(verb), *(words[:2] if listed else ())]
    if option:
        parts.append(option)
    typed = one_line(" ".join(parts), 120)
    if listed and verb in DECIDED:
        decides = "only a person decides on %s: run `dayleaf %s` in your own terminal"
        return decides % (DECIDED[verb], typed)
    return "only a person may run `dayleaf %s`: type it in your own terminal" % typed


def explain_refusal(
    caller: str,
    verb: str,
    words: Sequence[str],
    given: Mapping[str, str],
    inside: Callable[[str], bool],
) -> str:
    """Return the message that refuses a call, "" for an allowed one.

    given: the options with their values.  inside: tells whether a path lies in the project.
    """
    word = words[0] if words else ""
    for option in ("", *given):
        required = required_caller(verb, word, option, given.get(option, ""))
        if _TRUST.index(caller) < _TRUST.index(required):
            return _format_refusal(verb, word, words, option)
    if caller == PERSON or all(map(inside, _list_paths(VERBS[verb], words, given))):
        return ""
    return (
        "in a session, `dayleaf %s` reads only files of the project; a person can name "
        "others in a terminal"
    ) % spellings.spell_verb(verb)


def _list_paths(row: Permission, words: Sequence[str], given: Mapping[str, str]) -> list[str]:
    """Return the paths in a call that must lie in the project."""
    paths = [value for option, value in given.items() if option in row.inside.split()]
    if "WORDS" in row.inside.split():
        return [*paths, *words]
    return [*paths, *words[1:]] if row.paths in words[:1] else paths
