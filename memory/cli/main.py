"""The command line: the table of verbs, and what becomes of their errors.

Exit status: 0, also where nothing was found; 1 for what went wrong and is said in one line; 2 for words that are off;
3 for a fault of dayleaf's own, whose trace is in `<home>/log/bug-<time>.txt`; 130 and 141 after an interrupt or a closed
pipe.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import keyword
import os
import sys
from collections.abc import Sequence

from memory import __version__
from memory.core import DayleafError, UsageError, clock, files, layout
from memory.terminal.arguments import (
    KINDS,
    PROVIDERS,
    SHELLS,
    TYPES,
    asked,
    check_part,
    choice,
    flag,
    kinds,
    meant,
    opt,
    read_call,
    real,
    versions,
    whole,
)
from memory.terminal.call import Part, Verb, shown, to_json, warn

INDEX = ("build", "refresh", "verify", "status", "export")
RESOURCE = "add|list|show|refresh|update|delete|search|reindex|approve|reject|run"
FORMATS = ("text", "mermaid", "json")
MODELS = tuple(name for name in PROVIDERS if name not in ("extract", "none"))
# Versions of what is kept on disk; each stands in the module that owns the format too.
FORMATS_KEPT = {"record": 1, "trust": 1, "ledger": 1, "receipts": 1, "index": 6, "backup": 1, "json": 1}
CONFIDENCES = ("low", "medium", "high")
AGENTS = ("codex", "gemini")  # whose sessions can be read besides the client's
# The machine's doing, not a fault of ours.
DENIED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.ELOOP, errno.EIO,
          errno.EMFILE, errno.ENFILE, errno.EXDEV)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    argv: the words after the program's name; the process's own where None.
    """
    env, now = files.environ(), clock.now()
    _streams()
    try:
        status = run(list(sys.argv[1:] if argv is None else argv), env, now)
        sys.stdout.flush()
        return status
    except DayleafError as error:
        return _failed(str(error), error.status)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter flushes stdout once more at its end
        return 141
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DENIED:
            return _failed("%s: %s; check the disk and its permissions" % (error.filename or "the output", error.strerror), 1)
        return _failed(_bug(env, now), 3)


def _streams() -> None:
    """Make the standard streams UTF-8 whatever the locale, and give closed ones somewhere to lead."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  (it lives as long as the process)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")


def run(argv: list[str], env: dict[str, str], now: float) -> int:
    """Find the verb, read its options and run it; raises UsageError for words that are off."""
    if argv[:1] in (["--version"], ["-V"], ["version"]):
        return _version("--json" in argv)
    if argv[:1] in (["help"], ["--help"], ["-h"]):
        print(asked(VERBS, argv[1:]))
        return 0
    argv = ["today", *argv] if argv[:1] in ([], ["--json"]) else argv
    name = argv[0]
    if name not in VERBS:
        raise UsageError("unknown command '%s'; %s" % (shown(name), meant(name, VERBS)))
    if any(word in ("--help", "-h") for word in argv[1:argv.index("--") if "--" in argv else None]):
        print(asked(VERBS, argv))
        return 0
    call = read_call(name, VERBS[name], argv[1:], env, now)
    call.require(VERBS[name].options)
    check_part(VERBS[name], call)
    module = importlib.import_module("memory.cli." + VERBS[name].module)  # this verb's alone: the others cost each command 10 ms
    status: int = getattr(module, name + "_" * keyword.iskeyword(name))(call)
    return status


def _version(as_json: bool) -> int:
    """Print the version, and those of the formats that are kept on disk."""
    print(to_json({"dayleaf": __version__, **FORMATS_KEPT}) if as_json else
          "dayleaf %s (formats: %s)" % (__version__, ", ".join("%s %s" % item for item in FORMATS_KEPT.items())))
    return 0


def _failed(message: str, status: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:  # a closed pipe, a full disk: the interpreter would try once more at its end, and say so at length
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warn(message)
    return status


def _bug(env: dict[str, str], now: float) -> str:
    """Write the trace of an unexpected error beside the other logs and return the line that names it."""
    import traceback

    kind, error, _ = sys.exc_info()
    said = "a fault of dayleaf's own (%s)" % (kind.__name__ if kind else "")
    trace = "dayleaf %s, Python %s\n%s" % (__version__, sys.version.split()[0], traceback.format_exc())
    try:
        path = "%s/log/bug-%s.txt" % (layout.home(env), clock.iso(now).replace(":", ""))
        files.replace(path, trace.encode("utf-8", "replace"))
    except (OSError, DayleafError):
        return "%s: %s; the trace could not be kept" % (said, error)
    return "%s; its trace is in %s, please report it" % (said, path)


SESSION = opt("--session", metavar="ID", help="the session")
TAG = opt("--tag", action="append", metavar="TAG", help="a label (repeatable)")
WORKSPACE = opt("--workspace", metavar="NAME", help="another workspace, or `all`")
SOURCE = opt("--source", type=choice(("human", "agent")), help=argparse.SUPPRESS)
SWITCHES = (flag("--project", help="pushes, for everyone in this project"),
            flag("--mine", help="pushes and capture in this project, for you alone"))
TRANSCRIPT = opt("--transcript", metavar="PATH", help=argparse.SUPPRESS)
FILTERS = (
    opt("--since", metavar="WHEN", help="not before: 3d, 2h, a date, `yesterday`"),
    opt("--days", type=whole, metavar="N", help="the last N days"),
    opt("--from", dest="from_", metavar="DATE", help="not before this date"),
    opt("--to", metavar="DATE", help="not after this date"),
    opt("--kind", type=kinds, action="append", metavar="KIND", help=", ".join(KINDS)),
    opt("--tag", action="append", metavar="TAG", help="with this tag (repeatable)"),
    opt("--topic", metavar="TOPIC", help="on this topic"),
    opt("--file", metavar="PATH", help="that names this file"),
    opt("--branch", metavar="BRANCH", help="from this branch"),
    opt("--session", metavar="ID", help="from this session"),
    opt("--version", action="append", type=versions, metavar="V", help="for this version (repeatable), or `unversioned`"),
    WORKSPACE,
    opt("--context-tags", metavar="TAGS", help="\"reviewer,jira-api=1.5\" beside the project's; `none`: no other"),
    flag("--semantic", help="with vectors, where they are set up"),
    flag("--lexical", help="without vectors"),
    opt("--limit", type=whole, metavar="N", help="at most N hits"),
    opt("--min-score", type=real, metavar="X", help="no hit below this score"),
    flag("--explain", help="print the parts of every score"),
)
PAST = (opt("--limit", type=whole, metavar="N", help="show at most N"),
        opt("--since", metavar="WHEN", help="sessions not before: 3d, 2h, a date, `yesterday`"), WORKSPACE)
VECTORS_BY = opt("--provider", dest="vectors_by", metavar="COMMAND", help="a local command that makes vectors, or `minilm`")
SECTIONS = (
    opt("--section", metavar="S", help="only the section under this heading, or of this number"),
    flag("--outline", help="the numbered sections"),
    flag("--next", help="the section after --section"), flag("--previous", help="the one before"))
VERBS: dict[str, Verb] = {
    "recall": Verb("recall", "[QUERY]", "search the memory", (
        *FILTERS, VECTORS_BY, opt("--type", type=choice(TYPES), help="resources alone: " + ", ".join(TYPES)),
        flag("--no-links", help="without what the hits are linked with"),
        flag("--batch", help="JSONL queries on stdin"))),
    "show": Verb("show", "ID[#TURN]", "print one record, or one turn of a conversation", SECTIONS),
    "expand": Verb("show", "ID[#TURN]", "print the part of the transcript behind a checkpoint or a turn", (
        opt("--limit", type=whole, metavar="N", help="the last N entries (100)"), flag("--full", help="long results whole"))),
    "fix": Verb("recall", "ERROR|-", "show what was done about this error before", PAST, True),
    "how": Verb("recall", "TOOL [VERB]", "show the invocations of a tool that worked here", PAST),
    "blame": Verb("recall", "PATH", "show which sessions touched a file, and what was decided", PAST),
    "friction": Verb("recall", "", "show the errors that several sessions ran into", PAST),
    "distill": Verb("tell", "QUESTION", "answer from the records in a few bullets", (
        *FILTERS, opt("--max-tokens", type=whole, metavar="N", help="tokens of the answer, 50 or more; 500 without it"),
        opt("--provider", type=choice(PROVIDERS), help=", ".join(PROVIDERS)),
        flag("--save", help="keep the answer as a learning"), flag("--no-cache", help="ask anew"))),
    "harvest": Verb("harvest", "[list|review|accept ID…|reject ID…]", "propose learnings from the checkpoints", (
        opt("--since", metavar="WHEN", help="checkpoints not before: 7d, a date, `yesterday`"),
        opt("--session", metavar="ID", help="checkpoints of this session"),
        opt("--limit", type=whole, metavar="N", help="at most N candidates (10)"),
        opt("--provider", type=choice(MODELS), help="ask a model: %s" % ", ".join(MODELS)),
        flag("--dry-run", help="show them, write nothing"))),
    "learn": Verb("learn", "TEXT|-", "keep a learning", (
        TAG, opt("--version", action="append", type=versions, metavar="V", help="a version it holds for (repeatable)"),
        opt("--title", metavar="T", help="its title; else its first sentence"),
        opt("--confidence", type=choice(CONFIDENCES), help=", ".join(CONFIDENCES)),
        flag("--global", dest="tier_global", help="for every project"), flag("--shared", help="in the repository"),
        opt("--source", type=choice(("human", "agent")), help="whose it is"), SESSION), True),
    "checkpoint": Verb("learn", "[NOTE|-]", "write down what was done", (TAG, SESSION, TRANSCRIPT), True),
    "handoff": Verb("tell", "[NOTE|-]", "leave a note for the next session", (
        flag("--show", help="print the one that stands"), flag("--clear", help="show it no more"), SESSION,
        TRANSCRIPT, SOURCE), True),
    "standup": Verb("tell", "[WHEN]", "tell what was done since a time", (
        opt("--since", metavar="WHEN", help="not before: 1d (the default), 2h, a date, `Friday`"),
        opt("--until", metavar="WHEN", help="not after: a date, `Friday`"),
        flag("--markdown", help="for pasting into a message"), WORKSPACE)),
    "plan": Verb("plan", "[TEXT|-|list|show|update|step N|done|drop]", "write down what is to be done, and tick it off", (
        flag("--shared", help="new: in the repository"), flag("--replace", help="new: drop the plan that is active"),
        opt("--step", action="append", metavar="STEP", help="new: a step (repeatable)"),
        flag("--append", help="update: add to the text"), flag("--undo", help="step N: open it again"),
        opt("--reason", metavar="WHY", help="drop: why"), SESSION, SOURCE), True),
    "load": Verb("recall", "PROMPT", "show what a prompt would get", (
        flag("--explain", help="every candidate with its reason"),
        opt("--mode", default="", metavar="MODE", help="the permission mode"))),
    "why": Verb("recall", "[SESSION|PROMPT_ID|last]", "show what was put into which prompt", (SESSION,)),
    "on": Verb("index", "", "let notes reach the model again", (SESSION, *SWITCHES)),
    "off": Verb("index", "", "keep notes from the model", (SESSION, *SWITCHES)),
    "status": Verb("audit", "", "show paths, counts, freshness, settings"),
    "today": Verb("tell", "", "show where the work stands; what `dayleaf` alone does"),
    "statusline": Verb("tell", "", "print one line for the client's status line, which gives its JSON on stdin"),
    "doctor": Verb("audit", "", "check everything, and name what mends each fault", (
        flag("--fix", help="mend what is safe: permissions, leftovers, the index; no record"),)),
    "check": Verb("audit", "[FILE…]", "say what is wrong in record files", (
        flag("--staged", help="only secrets in what git would commit of .dayleaf"),)),
    "stats": Verb("audit", "", "count and draw records, pushes, times, uses, model calls", (
        opt("--since", metavar="WHEN", help="what happened since: 7d, a date, `Monday`"),
        WORKSPACE, flag("--ascii", help="charts without block characters"), flag("--spend", help="what models cost"))),
    "eval": Verb("audit", "[FILE…]", "measure recall with your own questions", (
        flag("--template", help="draft such questions from your records, in FILE"),
        flag("--strict", help="status 1 below the floor that the file names"),
        flag("--misses", help="list what was not found"))),
    "index": Verb("index", "|".join(INDEX), "build, refresh, verify, show or export the index", (
        *(flag("--" + name, help=argparse.SUPPRESS) for name in INDEX),
        flag("--embeddings", help="build, --backend postgres: vectors too"), VECTORS_BY,
        opt("--workspace", metavar="NAME", help="build --embeddings: another workspace, or `all`"),
        opt("--out", metavar="FILE", help="where to export to"),
        opt("--backend", metavar="NAME", help="local or postgres: choose what recall asks, and load this workspace into it"),
        opt("--dsn", metavar="DSN", help="--backend postgres: the server, without a password; else one of your own is started"),
        flag("--private", help="--backend postgres: load the private and the global tier too"))),
    "feedback": Verb("show", "ID up|down [WHY]", "say whether a record helped or misled", (
        opt("--why", metavar="WHY", help="kept in the record itself"), SESSION), True),
    "forget": Verb("learn", "ID", "move a record to the archive", (
        opt("--session", metavar="ID", help="all that tells of a session: its checkpoints and conversation"),
        opt("--day", metavar="DATE", help="all of a day: a date, `today`, `yesterday`"),
        opt("--file", metavar="PATH", help="all that names a file"),
        opt("--mentions", metavar="TEXT", help="all that holds this text"),
        flag("--hard", help="remove it for good"), flag("--yes", help="without asking"),
        opt("--reason", metavar="WHY", help="for the archive's log"))),
    "restore": Verb("upkeep", "ID|TITLE|FILE", "bring a record back from the archive, or everything from a backup", (
        opt("--into", metavar="DIR", help="FILE: into this empty directory, as a home of its own"),
        flag("--merge", help="FILE: beside what is there, which stays"),
        flag("--replace", help="FILE, with --merge: files that differ too; the old ones go to the archive"),
        flag("--trust", help="FILE: its approvals, commands and redaction switches too, in a terminal"),
        opt("--identity", metavar="KEYFILE", help="FILE: it is encrypted to this age or SSH key"),
        flag("--dry-run", help="FILE: say what would be written"))),
    "backup": Verb("upkeep", "[FILE]", "keep everything in one file", (
        opt("--workspace", metavar="NAME", help="only this workspace and its receipts"),
        flag("--shared", help="the repository's .dayleaf too"),
        flag("--here", help="although FILE lies in a git work tree"),
        opt("--age", metavar="RECIPIENT", help="encrypt it to this key: age1…, or a line of an SSH key's .pub"))),
    "share": Verb("doors", "ID", "move a record into the repository, for the team"),
    "unshare": Verb("doors", "ID", "move a record out of the repository again"),
    "shared": Verb("doors", "[status]", "say who shared what, what is new, what git could not merge"),
    "sync": Verb("doors", "[setup WHERE|status|take COPY|drop COPY]", "bring your machines up to date with one another", (
        opt("--identity", metavar="FILE", help="setup: the key that another machine made"),
        flag("--gone", help="although many records are gone here"),
        flag("--anew", help="tell everything anew, and take this machine's older files away"))),
    "upkeep": Verb("upkeep", "", "merge duplicates, archive what is old", (
        flag("--apply", help="do it; without it the plan is printed"),
        opt("--only", type=choice(("expiry", "duplicates")), metavar="WAY", help="expiry or duplicates alone"),
        flag("--contradictions", help="list learnings and rules that cannot both hold"),
        flag("--clock-is-right", help="expire although clock and records are far apart"))),
    "undo": Verb("upkeep", "", "undo the last upkeep"),
    "audit": Verb("audit", "[SECTION…]", "find what is wrong in the records, and how to mend it", (
        WORKSPACE, flag("--strict", help="status 1 where anything is found"))),
    "new": Verb("learn", "rule|learning|resource|plan [TITLE]", "write a record in $EDITOR", (
        flag("--shared", help="in the repository"), flag("--global", dest="tier_global", help="for every project"),
        flag("--replace", help="plan: drop the plan that is active"),
        opt("--from", dest="from_file", metavar="FILE", help="begin with this text"), SESSION, SOURCE)),
    "import": Verb("imports", "tree|dir|claude-memory|transcripts [DIR]", "import the notes of other tools, and past sessions", (
        flag("--dry-run", help="say what would be done, write nothing"),
        flag("--shared", help="tree, dir: in the repository"),
        flag("--global", dest="tier_global", help="tree, dir: for every project"),
        opt("--kind", type=choice([kind for kind in KINDS if kind != "conversation"]),
            help="dir: of files that do not say theirs (learning)"),
        flag("--project", help="claude-memory: without the user's own CLAUDE.md"),
        flag("--all", help="claude-memory: of every project"),
        opt("--since", metavar="WHEN", help="transcripts: sessions that ended later: 7d, a date"),
        opt("--agent", type=choice(AGENTS), help="transcripts: of %s; else of Claude Code" % " or ".join(AGENTS)),
        flag("--all-projects", help="transcripts: of every workspace"))),
    "edit": Verb("learn", "ID", "change a record in $EDITOR, on a copy that is checked"),
    "open": Verb("show", "[ID]", "open a record's file, or the folder of this project's notes, where your desktop opens it", (
        flag("--folder", help="the folder that the record is in"),)),
    "rule": Verb("rule", "suggest|list|review|approve|reject|edit", "suggest rules, list them, decide on them", (
        opt("--rationale", metavar="WHY", help="why it holds (required)"),
        opt("--body", metavar="TEXT", help="what it says at length, or `-` for stdin"),
        opt("--title", metavar="T", help="its title, in place of words"), TAG,
        opt("--link", action="append", metavar="ID", help="a record it belongs to (repeatable)"),
        flag("--always", help="it stands at every session's start"),
        flag("--global", dest="tier_global", help="for every project"), flag("--shared", help="in the repository"),
        flag("--pending", help="only those that wait for a decision")), parts={
        "suggest": Part("TITLE", "suggest one, which waits for a person",
                        "--rationale --body --title --tag --link --always --global --shared"),
        "list": Part("", "list them with their state", "--pending"),
        "review": Part("", "go through those that wait, in a terminal"),
        "approve": Part("ID…", "let one hold exactly as it is: a person decides"),
        "reject": Part("ID…", "let one not hold as it is: a person decides"),
        "edit": Part("ID", "open one in $EDITOR; it waits again")}),
    "review": Verb("rule", "", "decide on the rules, scripts and candidates that wait"),
    "resource": Verb("resource", RESOURCE, "keep documents and scripts, show and run them", (
        opt("--path", metavar="PATH", help="the file"),
        opt("--type", type=choice(TYPES), help="doc, script, or of these two both; `add` guesses it"),
        opt("--title", metavar="T", help="its title"),
        flag("--shared", help="in the repository"), flag("--global", dest="tier_global", help="for every project"),
        flag("--text", help="take it as text whatever it holds"),
        flag("--stale", help="only what has changed or is gone"), *SECTIONS,
        flag("--all", help="every one"), flag("--force", help="replace a text edited by hand"),
        opt("--reason", metavar="WHY", help="for the archive's log"),
        opt("--timeout", type=whole, metavar="S", help="seconds it may take (60)"),
        opt("--cwd", metavar="DIR", help="where it stands; else the project's root"),
        flag("--stdin", help="give it this stdin; else it reads nothing"),
        flag("--dry-run", help="say what would run"), *FILTERS, VECTORS_BY), parts={
        "add": Part("PATH", "keep a file: a document with its text, a script where it is",
                    "--path --type --title --version --tag --shared --global --text"),
        "list": Part("", "list them, each fresh, stale or gone against its file", "--type --stale"),
        "show": Part("ID", "print one, its outline or a section", "--section --outline --next --previous"),
        "refresh": Part("ID…", "read them again where their files have changed", "--all --force --text"),
        "update": Part("ID", "change a title, tags, versions or the file", "--title --version --tag --path --force --text"),
        "delete": Part("ID", "move one to the archive; its file stays", "--reason"),
        "search": Part("QUERY", "search among them", " ".join(
            option.flags[0] for option in (*FILTERS, VECTORS_BY)) + " --type"),
        "reindex": Part("[ID…]", "put them into the index anew"),
        "approve": Part("ID…", "let a script run as it is now: a person decides"),
        "reject": Part("ID…", "let a script never run as it is now: a person decides"),
        "run": Part("ID [-- ARGS]", "run a script that a person approved", "--timeout --cwd --stdin --dry-run")}),
    "link": Verb("link", "FROM [RELATION] TO, or ID", "link two records, or list a record's links", (
        flag("--remove", help="take the link away"),)),
    "graph": Verb("link", "[ID]", "draw the links of a record, or of all", (
        opt("--depth", type=whole, metavar="N", help="with an ID: at most N steps from it (2)"),
        opt("--format", type=choice(FORMATS), help=", ".join(FORMATS)),
        flag("--dangling", help="only links that lead nowhere"),
        WORKSPACE)),
    "redact": Verb("audit", "ID|-", "take a text out of everything that is kept, or secrets out of stdin", (
        opt("--text", metavar="TEXT", help="ID: this text, `-` to be asked for it or for stdin; else the secrets that are found"),
        flag("--regex", help="ID: --text is a regular expression"),
        flag("--everywhere", help="ID: out of other records too"), flag("--apply", help="ID: do it without asking"),
        flag("--batch", help="-: JSONL {id, text}"))),
    "completion": Verb("recall", "|".join(SHELLS), "print what makes a shell complete commands, options, ids and titles"),
    "config": Verb("index", "list|get KEY|set KEY VALUE|unset KEY", "list, get, set or unset settings"),
    "mcp": Verb("doors", "[DIR]", "serve this memory to any agent, by the Model Context Protocol on stdin and stdout", (
        flag("--read-only", help="offer no tool that writes or runs"),)),
    "view": Verb("doors", "", "show the memory in a browser, on this machine alone", (
        opt("--port", type=whole, metavar="N", help="listen there; else on a free one"),
        opt("--idle", type=whole, metavar="MINUTES", help="end after so long without a look (30)"),
        opt("--export", metavar="FILE", help="write one HTML file instead: the shared tier"),
        flag("--private", help="--export: the private and the global tier too"),
        flag("--secrets", help="--export: texts as they stand, with what looks like a secret"))),
    "tier": Verb("resource", "add|list|remove [DIR]", "read a folder of markdown where it is, such as a vault of notes", (
        flag("--everywhere", help="in every project"),), parts={
        "add": Part("DIR", "find its notes from now on; nothing is ever written into it", "--everywhere"),
        "list": Part("", "list the folders, and how each stands"),
        "remove": Part("DIR", "find its notes no more; the folder stays as it is", "--everywhere")}),
    "workspace": Verb("recall", "[claim]", "name the workspace and its tiers, or believe the one that `.git` claims"),
}
