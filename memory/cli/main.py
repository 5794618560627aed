"""The command line: the table of verbs, and the handling of their errors.

Exit status: 0, also where nothing was found; 1 for an error, told in one line; 2 for invalid words;
3 for a bug, whose trace is in `<home>/log/bug-<time>.txt`; 130 and 141 after an interrupt or a
closed pipe.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import keyword
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import ModuleType

from memory import __version__
from memory.core import (
    DayleafError,
    PersonsRecord,
    UsageError,
    clock,
    environment,
    files,
    layout,
    spellings,
)
from memory.core.config import CHOICES
from memory.core.plaintext import one_line
from memory.doors import registry
from memory.terminal.arguments import (
    KINDS,
    PROVIDERS,
    SHELLS,
    TYPES,
    decimal_number,
    flag,
    format_help,
    opt,
    parse_kinds,
    parse_versions,
    positive_integer,
    read_call,
    refuse_foreign_options,
    suggest_verb,
    unknown_family_word,
)
from memory.terminal.call import (
    Call,
    Option,
    Part,
    Verb,
    clip_input,
    find_session_id,
    to_json,
    warn,
)

INDEX = ("build", "refresh", "verify", "status", "export")
RESOURCE = "add|list|show|refresh|update|delete|search|reindex|approve|reject|run"
NOTE_WRITERS = CHOICES["notes.provider"][1:]
MODELS = tuple(name for name in PROVIDERS if name not in ("extract", "none"))
# Versions of the formats on disk, as in the modules that own them.
FORMATS_KEPT = {
    **dict.fromkeys(("record", "trust", "ledger", "receipts"), 1),
    "index": 9,
    "backup": 1,
    "json": 1,
}
CONFIDENCES = ("low", "medium", "high")
PROVIDER = opt("--provider", "ask a model: " + ", ".join(MODELS), MODELS)
AGENTS = ("codex", "gemini")  # other agents with readable sessions
# Errors of the machine, not of dayleaf.
MACHINE_ERRORS = [
    getattr(errno, name)
    for name in (
        "EACCES EPERM EROFS ENOSPC EDQUOT EFBIG ENOTDIR ELOOP EIO EMFILE ENFILE EXDEV".split()
    )
]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    argv: the words after the program's name; None for the process's own.
    """
    given, now = files.read_environ(), clock.now()
    folders = _list_project_folders(given)
    env = environment.trusted_environment(given, folders)
    _set_stream_encoding()
    try:
        if env is not given:
            _warn_of_ignored_variables(given, folders)
        status = run(list(sys.argv[1:] if argv is None else argv), env, now)
        sys.stdout.flush()
        return status
    except DayleafError as error:
        return _report_failure(str(error), error.status)
    except BrokenPipeError:
        # the interpreter flushes stdout once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in MACHINE_ERRORS:
            return _report_failure(_log_bug(env, now), 3)
        message = "%s: %s; check the disk and its permissions"
        return _report_failure(message % (error.filename or "the output", error.strerror), 1)
    except Exception:
        return _report_failure(_log_bug(env, now), 3)


def _warn_of_ignored_variables(given: dict[str, str], folders: list[str]) -> None:
    for variable, path in environment.find_repository_variables(given, folders).items():
        warn(environment.IGNORED % (variable, path))


def _list_project_folders(env: dict[str, str]) -> list[str]:
    """List the directories whose settings the client may have read."""
    folders = [env.get("CLAUDE_PROJECT_DIR", "")]
    with suppress(OSError):
        folders.insert(0, os.getcwd())
    return list(filter(os.path.isabs, folders))


def _set_stream_encoding() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # it lives as long as the process
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")


def run(argv: list[str], env: dict[str, str], now: float) -> int:
    """Find a verb, parse its options and run it."""
    if argv[:1] in (["--version"], ["-V"], ["version"]):
        return _print_version("--json" in argv)
    if argv[:1] in (["help"], ["--help"], ["-h"]):
        print(format_help(VERBS, argv[1:]))
        return 0
    name, used = _verb_or_family(argv)
    given = argv[used:]
    is_bare_family = name not in VERBS and not given
    if is_bare_family and name == "store":
        name, used = "status", 2
    elif is_bare_family or _asks_for_help(given):
        print(format_help(VERBS, argv))
        return 0
    if name not in VERBS:
        raise unknown_family_word(name, given)
    words, option = spellings.replace_old_option(name, given)
    # a slash command keeps one spelling for all versions
    if not {"--hook", "--args-from-stdin"}.intersection(given):
        _warn_of_old_spelling(name, option, used)
    return _run_verb(name, words, env, now)


def _asks_for_help(words: list[str]) -> bool:
    options = words[: words.index("--")] if "--" in words else words
    return "--help" in options or "-h" in options


def _verb_or_family(argv: list[str]) -> tuple[str, int]:
    """Return (verb or family, number of its words)."""
    name, used = spellings.parse_verb(argv if argv[:1] != ["--json"] else [])
    if name not in VERBS and name not in spellings.FAMILIES:
        raise UsageError("unknown command '%s'; %s" % (clip_input(name), suggest_verb(name, VERBS)))
    return name, used


def _warn_of_old_spelling(name: str, option: str, used: int) -> None:
    if not option and (used != 1 or name not in spellings.MOVED):
        return
    typed, now = "dayleaf " + name, spellings.format_command(name)
    if option:
        typed += " " + option
        now += " " + spellings.OPTIONS[name][option]
    warn("`%s` is `%s` now; the next release drops the old spelling" % (typed, now.strip()))


def _run_verb(name: str, argv: list[str], env: dict[str, str], now: float) -> int:
    verb = VERBS[name]
    call = read_call(name, verb, argv, env, now)
    call.require(verb.options)
    refuse_foreign_options(verb, call)
    _refuse_extra_words(verb, call)
    module = import_module_of(name)  # all modules would cost each command 10 ms
    try:
        status: int = getattr(module, name + "_" * keyword.iskeyword(name))(call)
    except PersonsRecord as refused:
        return _store_suggestion(call, refused)
    return status


def _refuse_extra_words(verb: Verb, call: Call) -> None:
    part = verb.parts.get(call.words[0]) if call.words else None
    first = call.words[:1] if part else []
    more = call.words[len(first) :]
    if not more or (part.words if part else verb.words):
        return
    name = " ".join((spellings.spell_verb(call.verb) or "today", *first))
    words, left_out = "more words" if part else "words", clip_input(" ".join(more))
    timed = any(option.flag == "--since" for option in verb.options)
    way = ", or name a time with `--since`" if timed else ""
    raise UsageError("%s takes no %s; leave '%s' out%s" % (name, words, left_out, way))


def import_module_of(name: str) -> ModuleType:
    """Import a verb's module; raise UsageError if its optional part is missing."""
    if VERBS[name].module == "doors":
        found: ModuleType = registry.verb(name)
        return found
    return importlib.import_module("memory.cli." + VERBS[name].module)


def _store_suggestion(call: Call, refused: PersonsRecord) -> int:
    from memory.knowledge import suggestions

    words = [call.stdin_text if word == "-" and call.stdin_text else word for word in call.argv]
    kept = suggestions.store_suggestion(call.store(), refused, words, find_session_id(call))
    call.indexed()
    value = {"id": kept.id, "suggested": suggestions.read_suggestion(kept), "of": refused.id}
    lines = [
        "suggested %s  %s" % (kept.id, one_line(kept.title)),
        "  a person wrote %s, so it was not changed; they can accept this in `dayleaf review`"
        % refused.id,
    ]
    return call.answer(value, lines)


def run_suggested(words: list[str], env: dict[str, str], now: float) -> int:
    """Run an accepted suggestion; raise UsageError if no session may type it."""
    from memory.store import permissions

    name, used = spellings.parse_verb(words) if words else ("", 0)
    if name not in VERBS:
        raise UsageError("it suggests no command of dayleaf; reject it")
    read_call(name, VERBS[name], words[used:], env, now).require(
        VERBS[name].options, permissions.SESSION
    )
    return _run_verb(name, words[used:], env, now)


def _print_version(as_json: bool) -> int:
    formats = ", ".join("%s %s" % item for item in FORMATS_KEPT.items())
    text = "dayleaf %s (formats: %s)" % (__version__, formats)
    print(to_json({"dayleaf": __version__, **FORMATS_KEPT}) if as_json else text)
    return 0


def _report_failure(message: str, status: int) -> int:
    try:
        sys.stdout.flush()
    # a closed pipe, a full disk: the interpreter would flush again at its end and print a trace
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warn(message)
    return status


def _log_bug(env: dict[str, str], now: float) -> str:
    """Log the trace of an unexpected error; return the message."""
    import traceback

    kind, error, _ = sys.exc_info()
    bug = "a bug in dayleaf (%s)" % (kind.__name__ if kind else "")
    versions = "dayleaf %s, Python %s\n" % (__version__, sys.version.split()[0])
    trace = versions + traceback.format_exc()
    try:
        path = "%s/log/bug-%s.txt" % (layout.find_home(env), clock.iso(now).replace(":", ""))
        files.replace(path, trace.encode("utf-8", "replace"))
    except (OSError, DayleafError):
        return "%s: %s; the trace could not be kept" % (bug, error)
    return "%s; please report it, with the trace in %s" % (bug, path)


SESSION = opt("--session ID", "the session")
TAG = opt("--tag TAG", "a label (repeatable)", action="append")
TIERS = (
    flag("--shared", "in the repository, for the team"),
    flag("--global", "for every project", dest="tier_global"),
)
WORKSPACE = opt("--workspace NAME", "another workspace, or `all`")
# Options that slash commands pass on from the client.
CLIENTS_SESSION = opt("--session ID", argparse.SUPPRESS)
SOURCE = opt("--source", argparse.SUPPRESS, ("human", "agent"))
TRANSCRIPT = opt("--transcript PATH", argparse.SUPPRESS)
VERSION = opt(
    "--version V",
    "for this version (repeatable), or `unversioned`",
    action="append",
    type=parse_versions,
)
FILTERS = (
    opt("--since WHEN", "only newer: 3d, 2h, a date, `yesterday`"),
    opt("--days N", "the last N days", type=positive_integer),
    opt("--from DATE", "from this date", dest="from_"),
    opt("--to DATE", "to this date"),
    opt("--kind KIND", ", ".join(KINDS), type=parse_kinds, action="append"),
    opt("--tag TAG", "only with this tag (repeatable)", action="append"),
    opt("--topic TOPIC", "only on this topic"),
    opt("--file PATH", "only what mentions this file"),
    opt("--branch BRANCH", "only from this branch"),
    opt("--session ID", "only from this session"),
    VERSION,
    WORKSPACE,
    opt(
        "--context-tags TAGS",
        "rank these tags higher: reviewer,jira-api=1.5; `none` leaves out the project's own",
    ),
    flag("--semantic", "use vectors too"),
    flag("--lexical", "use no vectors"),
    opt("--limit N", "at most N hits", type=positive_integer),
    opt("--min-score X", "leave out lower scores", type=decimal_number),
    flag("--explain", "show how scores are made"),
)
VECTORS_BY = opt(
    "--provider COMMAND", "makes vectors: a local command, or `minilm`", dest="vectors_by"
)
SECTIONS = (
    opt("--section S", "only this section: heading or number"),
    flag("--outline", "list the sections"),
)
VERBS: dict[str, Verb] = {}


def _add(
    name: str,
    module: str,
    words: str,
    purpose: str,
    *options: Option,
    prose: bool = False,
    parts: Mapping[str, Part] = {},
) -> None:
    VERBS[name] = Verb(module, words, purpose, options, prose, parts)


_add(
    "recall",
    "recall",
    "[QUERY]",
    "search the memory",
    *FILTERS,
    VECTORS_BY,
    opt("--type", "only resources: " + ", ".join(TYPES), TYPES),
    flag("--group", "group hits by kind"),
    flag("--batch", "read queries from stdin, as JSONL"),
)
_add("show", "show", "ID[#TURN]", "print one record, or one turn of a conversation", *SECTIONS)
_add("expand", "show", "ID[#TURN]", "print the transcript behind a checkpoint or a turn")
_add(
    "fix", "recall", "ERROR|-", "show what was done about this error before", WORKSPACE, prose=True
)
_add("how", "recall", "TOOL [VERB]", "show which calls of a tool worked here")
_add("blame", "recall", "PATH", "show which sessions touched a file, and what was decided")
_add("friction", "recall", "", "show the errors that several sessions ran into")
_add(
    "distill",
    "tell",
    "QUESTION",
    "answer from the records in a few bullets",
    *FILTERS,
    opt("--max-tokens N", "50 or more (default: 500)", type=positive_integer),
    opt("--provider", ", ".join(PROVIDERS), PROVIDERS),
    flag("--save", "keep the answer as a learning"),
    flag("--no-cache", "reuse no saved answer"),
)
_add(
    "harvest",
    "harvest",
    "[list|accept ID…|reject ID…]",
    "propose learnings from the checkpoints",
    opt("--since WHEN", "only newer checkpoints"),
    flag("--dry-run", "write nothing"),
)
_add(
    "learn",
    "learn",
    "TEXT|-",
    "keep a learning",
    TAG,
    VERSION,
    opt("--title T", "its title (default: first sentence)"),
    opt("--confidence", ", ".join(CONFIDENCES), CONFIDENCES),
    *TIERS,
    SOURCE,
    CLIENTS_SESSION,
    prose=True,
)
_add(
    "checkpoint",
    "learn",
    "[NOTE|-]",
    "write down what was done",
    TAG,
    CLIENTS_SESSION,
    TRANSCRIPT,
    flag("--note", argparse.SUPPRESS),
    prose=True,
)
_add(
    "notes",
    "notes",
    "[on|off [project|mine]|status|write]",
    "let a model write a note of each session",
    opt("--provider", "with on: %s (default: claude)" % ", ".join(NOTE_WRITERS), NOTE_WRITERS),
    opt("--since WHEN", "with write: sessions since then (default: 30d)"),
    flag("--dry-run", "with write: only count the tokens"),
    flag("--yes", "with write: do not ask"),
)
_add(
    "handoff",
    "tell",
    "[NOTE|-]",
    "leave a note for the next session",
    flag("--show", "print the handoff"),
    flag("--clear", "stop showing the handoff"),
    CLIENTS_SESSION,
    TRANSCRIPT,
    PROVIDER,
    prose=True,
)
_add(
    "standup",
    "tell",
    "[WHEN]",
    "report what was done since a given time",
    opt("--since WHEN", "2h, a date, `Friday` (default: 1d)"),
    opt("--until WHEN", "a date, `Friday`"),
    flag("--markdown", "as markdown, for a message"),
    WORKSPACE,
    PROVIDER,
)
_add(
    "plan",
    "plan",
    "[TEXT|-|list|show|update|step N|done|drop]",
    "write down what to do, and tick it off",
    flag("--shared", "new plan: in the repository"),
    flag("--replace", "new plan: drop the active plan"),
    opt("--step STEP", "new plan: a step (repeatable)", action="append"),
    flag("--append", "with update: add text"),
    flag("--undo", "with step N: mark as not done"),
    prose=True,
)
_add(
    "load",
    "recall",
    "PROMPT",
    "show what the model would be given with a prompt",
    flag("--explain", "say why each note was chosen or left out"),
)
_add(
    "why",
    "recall",
    "[SESSION|PROMPT_ID|last]",
    "show what the model was given with each prompt, and why",
)
_add("on", "index", "[project|mine]", "speak to the model again", SESSION)
_add("off", "index", "[project|mine]", "say nothing to the model", SESSION)
_add("status", "audit", "", "show paths, counts, freshness, settings")
_add("today", "tell", "", "show where the work stands, as plain `dayleaf` does")
_add("statusline", "tell", "", "print a line for the client's status line")
_add(
    "doctor",
    "audit",
    "",
    "check everything, and say how to mend each fault",
    flag("--fix", "mend permissions, index, leftovers; change no record"),
)
_add(
    "check",
    "audit",
    "[FILE…]",
    "find mistakes in record files",
    flag("--staged", "only secrets, in .dayleaf files that git would commit"),
)
_add(
    "stats",
    "audit",
    "",
    "show records, pushes, times, uses and model calls",
    opt("--since WHEN", "7d, a date, `Monday`"),
    flag("--spend", "what models cost"),
)
_add(
    "eval",
    "audit",
    "[FILE…]",
    "measure recall with your own questions",
    flag("--template", "draft such questions from your records, into FILE"),
    flag("--strict", "exit 1 below the floor in the file"),
)
_add(
    "index",
    "index",
    "|".join(INDEX),
    "build, verify or export the index; print its status",
    flag("--embeddings", "with build or --backend postgres: make vectors too"),
    VECTORS_BY,
    opt("--workspace NAME", "with build --embeddings: another workspace, or `all`"),
    opt("--backend NAME", "where recall searches: local, or postgres (loads the records)"),
    opt("--dsn DSN", "with --backend postgres: the server, without a password"),
    flag("--private", "with --backend postgres: private and global records too"),
)
_add(
    "feedback",
    "show",
    "ID up|down [WHY]",
    "say whether a record helped or misled; WHY stays in the record",
    prose=True,
)
_add(
    "forget",
    "learn",
    "ID",
    "move a record to the archive",
    opt("--session ID", "all of a session"),
    opt("--day DATE", "all of a day: a date, `today`, `yesterday`"),
    opt("--file PATH", "all that mentions a file"),
    opt("--mentions TEXT", "all that contains a text"),
    flag("--hard", "remove for good"),
    flag("--yes", "do not ask"),
)
_add(
    "restore",
    "upkeep",
    "ID|TITLE|FILE",
    "bring back a record, or all from a backup",
    opt("--into DIR", "FILE: into this empty directory, as a separate home"),
    flag("--merge", "FILE: add, replace nothing"),
    flag(
        "--replace", "FILE, with --merge: also what was forgotten; archive and replace what differs"
    ),
    flag("--trust", "FILE: ask, then also restore approvals, programs and redaction settings"),
    opt("--identity KEYFILE", "FILE: decrypt with this age or SSH key"),
    flag("--dry-run", "FILE: write nothing"),
)
_add(
    "backup",
    "upkeep",
    "[FILE]",
    "back everything up into one file",
    opt("--workspace NAME", "only this workspace, with its logs of pushes"),
    flag("--shared", "the repository's .dayleaf too"),
    flag("--here", "allow FILE inside a git work tree"),
    opt("--age RECIPIENT", "encrypt for age1…, or the line of an SSH key's .pub"),
)
_add("share", "team", "ID", "move a record into the repository, for the team")
_add("unshare", "team", "ID", "move a record out of the repository again")
_add("shared", "team", "[status]", "say who shared what, what is new, what did not merge")
_add(
    "sync",
    "doors",
    "[setup WHERE|status|take COPY|drop COPY]",
    "bring your machines up to date with one another",
    opt("--identity FILE", "setup: another machine's key"),
    flag("--gone", "send even if many records are gone here"),
    flag("--anew", "write all again, and remove this machine's older files"),
)
_add(
    "upkeep",
    "upkeep",
    "",
    "merge duplicates and archive what is old",
    flag("--apply", "carry out the plan, not only print it"),
    flag("--clock-is-right", "archive even if the clock seems wrong"),
)
_add("undo", "upkeep", "", "undo the last upkeep")
_add(
    "audit",
    "audit",
    "[SECTION…]",
    "find what is wrong in the records, and how to mend it",
    flag("--strict", "exit 1 if anything is found"),
)
_add(
    "import",
    "imports",
    "tree|dir|claude-memory|transcripts [DIR]",
    "import the notes of other tools, and past sessions",
    flag("--dry-run", "write nothing"),
    flag("--shared", "tree, dir: in the repository"),
    flag("--global", "tree, dir: for every project", dest="tier_global"),
    opt(
        "--kind",
        "dir: the kind of files that name none (default: learning)",
        [kind for kind in KINDS if kind not in layout.TRANSCRIBED_KINDS],
    ),
    flag("--all", "claude-memory, transcripts: from every project"),
    opt("--since WHEN", "transcripts: sessions that ended since then"),
    opt("--agent", "transcripts: from %s (default: Claude Code)" % " or ".join(AGENTS), AGENTS),
    flag("--ask", "transcripts, --all: list, then ask"),
)
_add("edit", "learn", "ID", "change a record in $EDITOR; a copy is checked before it is saved")
_add(
    "keep",
    "keep",
    "WORDS|ID|-",
    "keep what you say as a rule that holds from now on",
    opt("--tag T", "only with prompts about T (repeatable)", action="append"),
)
_add(
    "rule",
    "rule",
    "keep|suggest|list|approve|reject",
    "suggest, list and decide on rules",
    opt("--rationale WHY", "why the rule is needed (required)"),
    opt("--body TEXT", "text, or `-` for stdin"),
    opt("--title T", "the title, if TITLE is not given"),
    TAG,
    opt("--link ID", "a record it belongs to (repeatable)", action="append"),
    *TIERS,
    flag("--pending", "only those that wait"),
    parts={
        "suggest": Part(
            "TITLE",
            "suggest a rule; it waits for review",
            "--rationale --body --title --tag --link --global --shared",
        ),
        "list": Part("", "list rules and their state", "--pending"),
        "approve": Part("ID…", "approve this exact text"),
        "reject": Part("ID…", "reject this exact text"),
    },
)
_add("review", "review", "", "decide on waiting rules, scripts and candidates")
_add(
    "resource",
    "resource",
    RESOURCE,
    "keep, show and run documents and scripts",
    opt("--path PATH", "the file"),
    opt("--type", "doc, script, both; `add` guesses it", TYPES),
    opt("--title T", "its title"),
    *TIERS,
    flag("--stale", "only those whose file changed or is gone"),
    *SECTIONS,
    opt("--timeout S", "seconds (default: 60)", type=positive_integer),
    TAG,
    VERSION,
    parts={
        "add": Part(
            "PATH",
            "copy a document, or add a script in place",
            "--path --type --title --version --tag --shared --global",
        ),
        "list": Part("", "list all, and whether files changed", "--type --stale"),
        "show": Part("ID", "print all, the outline or one section", "--section --outline"),
        "refresh": Part("[ID…]", "read changed files again"),
        "update": Part(
            "ID", "change title, tags, versions or file", "--title --version --tag --path"
        ),
        "delete": Part("ID", "archive the record; the file stays"),
        "search": Part("QUERY", "search resources", "--type --tag --version"),
        "reindex": Part("[ID…]", "index again"),
        "approve": Part("ID…", "approve this exact text"),
        "reject": Part("ID…", "reject this exact text"),
        "run": Part("ID [-- ARGS]", "run an approved script", "--timeout"),
    },
)
_add(
    "link",
    "link",
    "FROM [RELATION] TO, or ID",
    "link two records, or list a record's links",
    flag("--remove", "remove the link"),
)
_add("graph", "link", "[ID]", "draw the links of a record, or of all")
_add(
    "redact",
    "audit",
    "ID",
    "remove a text or secrets from a record and everything derived from it",
    opt("--text TEXT", "the text; `-` asks or reads stdin (default: the secrets found)"),
    flag("--everywhere", "from other records too"),
    flag("--apply", "do not ask"),
)
_add("completion", "recall", "|".join(SHELLS), "print a shell's completion script")
_add("config", "index", "list|get KEY|set KEY VALUE|unset KEY", "list, get, set or unset settings")
_add(
    "mcp",
    "doors",
    "[DIR]",
    "serve this memory to any agent (Model Context Protocol)",
    flag("--read-only", "offer no tool that writes or runs"),
)
_add(
    "view",
    "doors",
    "",
    "show the memory in a browser of this machine",
    opt("--port N", "default: a free one", type=positive_integer),
    opt("--export FILE", "write shared records into one HTML file"),
    flag("--private", "with --export: private and global records too"),
)
_add(
    "tier",
    "resource",
    "add|list|remove [DIR]",
    "search another folder of markdown in place",
    flag("--everywhere", "in every project"),
    parts={
        "add": Part("DIR", "search DIR; dayleaf never writes there", "--everywhere"),
        "list": Part("", "list the folders"),
        "remove": Part("DIR", "stop searching DIR; the folder stays", "--everywhere"),
    },
)
_add(
    "workspace",
    "recall",
    "[claim [NAME]]",
    "show the project's memory and folders; claim: use another memory",
)
