"""The command line: one short function per verb, in a table; heavy modules are imported by the verb that needs them.

Exit status: 0, also where nothing was found; 1 for what went wrong and is said in one line; 2 for words that are off;
3 for a fault of dayleaf's own, whose trace is in `<home>/log/bug-<time>.txt`; 130 and 141 after an interrupt or a closed
pipe.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Callable, NamedTuple, NoReturn

from memory import __version__, clock, config, files, paths, terminal
from memory.errors import DayleafError, StoreError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.records import Record
    from memory.store import Store

KINDS = tuple(paths.FOLDERS)
CONFIDENCES = ("low", "medium", "high")
PROVIDERS = ("auto", "claude", "gemini", "ollama", "command", "extract")
CHOICES = {"recall.rerank": ("factor", "weighted", "none"), "distill.provider": PROVIDERS}
TITLE = 80  # characters of a title taken from the text
# The machine's doing, not a fault of ours.
DENIED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.ELOOP, errno.EIO)
TEXT_LIMIT = 8 << 20  # bytes read from stdin
HITS_TO_DISTILL = 20
# What JSON leaves alone and a terminal does not: C1 controls, bidirectional and line separators.
_UNSAFE = {code: "\\u%04x" % code for low, high in ((0x7F, 0x9F), (0x61C, 0x61C), (0x200E, 0x200F), (0x2028, 0x202E),
                                                    (0x2066, 0x2069), (0xFEFF, 0xFEFF), (0xD800, 0xDFFF))
           for code in range(low, high + 1)}


class Option(NamedTuple):
    """An option of a verb: its flags, and what argparse is told of it."""

    flags: tuple[str, ...]
    rest: dict[str, Any]


class Verb(NamedTuple):
    """A verb: its function, what its words are called in the help, its purpose, its options.

    prose: its words are free text, in which only a leading or trailing option counts where the text comes from stdin.
    """

    run: Callable[[Call], int]
    words: str
    purpose: str
    options: tuple[Option, ...] = ()
    prose: bool = False


class Call:
    """One call: its options, words, environment and instant; place and settings are found when first asked for."""

    def __init__(self, verb: str, options: argparse.Namespace, words: list[str], env: dict[str, str], now: float):
        self.verb, self.options, self.words, self.env, self.now = verb, options, words, env, now
        self.changed: list[str] = []  # names of records written, to be told to the index
        self._place: paths.Place | None = None
        self._settings: config.Config | None = None

    @property
    def place(self) -> paths.Place:
        """The workspace of the current directory."""
        if self._place is None:
            try:
                here = os.getcwd()
            except OSError:
                raise UsageError("the current directory is gone; cd to another one") from None
            session = self.env.get("CLAUDE_PROJECT_DIR", "")  # where a session started; its shell may have moved on
            inside = session.startswith("/") and files.inside(here, session)
            self._place = paths.locate(self.env, session if inside else here)
        return self._place

    @property
    def settings(self) -> config.Config:
        """The settings in force."""
        if self._settings is None:
            self._settings = config.load(self.place.home, self.place.root, self.env)
        return self._settings

    def store(self) -> Store:
        """Open the records; what is written is remembered in `changed`."""
        from memory.store import Store

        return Store(self.place, self.settings, self.now, self.changed.append)

    def text(self) -> str:
        """Return the words as one text; `-`, or none where stdin is no terminal, means stdin."""
        if self.words == ["-"] or (not self.words and not sys.stdin.isatty()):
            return read_stdin()
        return " ".join(self.words)

    def one(self, what: str) -> str:
        """Return the only word; raises UsageError for none or several."""
        if len(self.words) != 1:
            raise UsageError("%s wants one %s, not %d words" % (self.verb, what, len(self.words)))
        return self.words[0]

    def style(self) -> terminal.Style:
        """Say how to write to stdout: colours only on a terminal that wants them."""
        from shutil import get_terminal_size

        tty = sys.stdout.isatty()
        colour = tty and not self.env.get("NO_COLOR") and self.env.get("TERM") != "dumb"
        return terminal.Style(max(40, min(get_terminal_size((100, 24)).columns, 160)) if tty else 100, colour)

    def spinner(self, step: str) -> terminal.Spinner:
        """Show a step on stderr once it has taken a second, where someone watches."""
        return terminal.Spinner(step, sys.stderr.isatty() and self.env.get("TERM") != "dumb")

    def answer(self, value: Any, lines: Iterable[str]) -> int:
        """Print the value with --json, else the lines."""
        if self.options.json:
            print(to_json(value))
        else:
            print("\n".join(lines))
        return 0

    def indexed(self) -> None:
        """Tell the index what was written, so that the next prompt sees it; a failure only leaves it stale."""
        from memory import indexer

        try:
            if self.changed:
                indexer.refresh(self.place, self.now, names=self.changed)
        except (OSError, DayleafError) as error:
            warn("written, but the index was not told (%s); `dayleaf index refresh` does" % error)


# ---- entry

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
            return _failed("%s: %s; check the disk and its permissions" % (error.filename or "a file", error.strerror), 1)
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
    if argv[:1] == ["help"] and argv[1:] and argv[1] in VERBS:
        argv = [argv[1], "--help"]
    if not argv or argv[0] in ("help", "--help", "-h"):
        print(_help())
        return 0
    if argv[0] in ("--version", "-V", "version"):
        print("dayleaf " + __version__)
        return 0
    name = argv[0]
    if name not in VERBS:
        raise UsageError("unknown command '%s'; %s" % (_shown(name), nearest(name, VERBS, "`dayleaf help` lists them")))
    if any(word in ("--help", "-h") for word in argv[1:argv.index("--") if "--" in argv else None]):
        print(_parser(name).format_help(), end="")
        return 0
    return VERBS[name].run(_call(name, argv[1:], env, now))


def _failed(message: str, status: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warn(message)
    return status


def warn(message: str) -> None:
    """Print one line for the user on stderr."""
    print("dayleaf: " + terminal.one_line(message), file=sys.stderr, flush=True)


def _bug(env: dict[str, str], now: float) -> str:
    """Write the trace of an unexpected error beside the other logs and return the line that names it."""
    import traceback

    kind, error, _ = sys.exc_info()
    said = "a fault of dayleaf's own (%s)" % (kind.__name__ if kind else "")
    trace = "dayleaf %s, Python %s\n%s" % (__version__, sys.version.split()[0], traceback.format_exc())
    try:
        path = "%s/log/bug-%s.txt" % (paths.home(env), clock.iso(now).replace(":", ""))
        files.replace(path, trace.encode("utf-8", "replace"))
    except (OSError, DayleafError):
        return "%s: %s; the trace could not be kept" % (said, error)
    return "%s; its trace is in %s, please report it" % (said, path)


# ---- words

def nearest(word: str, known: Iterable[str], otherwise: str) -> str:
    """Say which valid word is nearest to a wrong one, or `otherwise`."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), 1, 0.5)
    return "did you mean '%s'?" % found[0] if found else otherwise


def _shown(word: str) -> str:
    return terminal.one_line(word)[:60]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message.replace("argument ", "", 1))


def _parser(name: str) -> _Parser:
    verb = VERBS[name]
    usage = " ".join(part for part in ("dayleaf", name, verb.words, "[options]") if part)
    parser = _Parser("dayleaf " + name, usage, verb.purpose, add_help=False, allow_abbrev=False)
    for option in (*verb.options, JSON, *HIDDEN):
        parser.add_argument(*option.flags, **option.rest)
    return parser


def _call(name: str, argv: list[str], env: dict[str, str], now: float) -> Call:
    parser = _parser(name)
    at = argv.index("--") if "--" in argv else len(argv)
    options, words = parser.parse_known_args(argv[:at])
    for word in words:
        if word[:1] == "-" and len(word) > 1 and not any(c.isspace() for c in word) and not _is_number(word):
            flags = [flag for option in (*VERBS[name].options, JSON) for flag in option.flags]
            otherwise = "`dayleaf %s --help` lists them, `--` ends them" % name
            raise UsageError("unknown option '%s' of %s; %s" % (
                _shown(word), name, nearest(word.partition("=")[0], flags, otherwise)))
    words += argv[at + 1:]
    if options.args_from_stdin:
        said, rest = lenient(read_stdin(), VERBS[name])
        parser.parse_known_args(said, options)
        words += [rest] if rest else []
    return Call(name, options, words, env, now)


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-\d+(?:\.\d+)?", word) is not None


def lenient(raw: str, verb: Verb) -> tuple[list[str], str]:
    """Take a verb's options out of text that a person typed: (options as an argv, the rest as it stands).

    Only known `--options` with a fitting value count; quotes, `$(…)`, `;` and anything else is text.  In prose an option
    counts at the beginning or the end alone.
    """
    known = {flag: option for option in (*verb.options, JSON) for flag in option.flags if flag.startswith("--")}
    words = list(re.finditer(r"\S+", raw))
    spans: list[tuple[int, int, list[str]]] = []
    at = 0
    while at < len(words):
        flag, equals, value = words[at].group().partition("=")
        option, used = known.get(flag), 1
        if option is not None and "action" in option.rest and option.rest["action"] != "append":
            said = None if equals else [flag]
        elif option is not None:
            if not equals and at + 1 < len(words):
                value, used = words[at + 1].group(), 2
            value = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
            said = [flag + "=" + value] if value and _fits(option, value) else None
        else:
            said = None
        if said:
            spans.append((at, at + used, said))
        at += used if said else 1
    if verb.prose:
        spans = _edges(spans, len(words))
    inside = {i for first, last, _ in spans for i in range(first, last)}
    rest, end = "", 0
    for i, word in enumerate(words):
        if i in inside:
            rest = (rest + raw[end:word.start()]).rstrip() + (" " if rest.strip() else "")
            end = word.end()
    rest = (rest + raw[end:].lstrip() if end else raw).strip()
    return [part for _, _, said in spans for part in said], rest


def _edges(spans: list[tuple[int, int, list[str]]], words: int) -> list[tuple[int, int, list[str]]]:
    """Keep the spans that follow one another from the first word on, or up to the last."""
    kept, first, last = [], 0, words
    for span in spans:
        if span[0] == first:
            kept.append(span)
            first = span[1]
    tail = []
    for span in reversed(spans):
        if span[1] == last and span not in kept:
            tail.append(span)
            last = span[0]
    return kept + tail[::-1]


def _fits(option: Option, value: str) -> bool:
    try:
        option.rest.get("type", str)(value)
    except (argparse.ArgumentTypeError, ValueError):
        return False
    return True


def read_stdin() -> str:
    """Read stdin as text, at most TEXT_LIMIT bytes."""
    data = sys.stdin.buffer.read(TEXT_LIMIT)
    return data.decode("utf-8-sig", "replace")


def to_json(value: Any) -> str:
    """Write a value as one line of JSON that no terminal interprets."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str).translate(_UNSAFE)


def _choice(words: Sequence[str]) -> Callable[[str], str]:
    def check(word: str) -> str:
        if word not in words:
            raise argparse.ArgumentTypeError("unknown value '%s'; %s" % (
                _shown(word), nearest(word, words, "use one of " + ", ".join(words))))
        return word

    return check


def _kinds(words: str) -> str:
    return ",".join(_choice(KINDS)(word.strip()) for word in words.split(","))


def _whole(word: str) -> int:
    if not word.isdigit() or not 0 < int(word) < 1 << 31:
        raise argparse.ArgumentTypeError("'%s' is no number above 0" % _shown(word))
    return int(word)


def _real(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e9:
        raise argparse.ArgumentTypeError("'%s' is no number" % _shown(word))
    return number


def _opt(*flags: str, **rest: Any) -> Option:
    return Option(flags, rest)


def _flag(*flags: str, **rest: Any) -> Option:
    return Option(flags, {"action": "store_true", **rest})


def _help() -> str:
    rows = [["  " + name, verb.words, verb.purpose] for name, verb in VERBS.items()]
    return "\n".join([
        "dayleaf: a memory for Claude Code that its user owns.", "", "usage: dayleaf COMMAND [words] [options]", "",
        *terminal.table(rows), "", "`dayleaf COMMAND --help` lists a command's options; all take --json."])


# ---- verbs: reading

def recall(call: Call) -> int:
    """Search the memory."""
    from memory import recall as search
    from memory import trust

    words = " ".join(call.words)
    if call.options.batch:
        offset = clock.local_offset(call.now)
        for line in search.batch(sys.stdin, call.place, call.settings, call.now, offset, _query(call, words, None)):
            print(line)
        return 0
    found = _found(call, words, call.options.limit)
    approved = trust.approved(call.place.home)
    if call.options.hook:
        print(terminal.for_model(found, words, call.place.key, approved))
    else:
        call.answer(_found_json(call, found, words),
                    terminal.hits(found, words, call.now, call.place.key, approved, call.style(), call.options.explain))
    _freshen(call, found.stale)
    return 0


def _found(call: Call, words: str, limit: int | None) -> Any:
    from memory import recall as search

    with call.spinner("searching"):
        query = _query(call, words, limit)
        return search.recall(call.place, call.settings, query, call.now, clock.local_offset(call.now))


def _query(call: Call, words: str, limit: int | None) -> Any:
    """Turn the filters into what recall asks for; raises UsageError."""
    from memory import recall as search

    o = call.options
    given = {"query": words or None, "since": o.since, "days": o.days, "from": o.from_, "to": o.to, "kind": o.kind,
             "tag": o.tag, "topic": o.topic, "file": o.file, "branch": o.branch, "session": o.session,
             "version": o.version, "workspace": o.workspace, "context-tags": o.context_tags,
             "semantic": o.semantic or None, "lexical": o.lexical or None, "limit": limit, "min-score": o.min_score}
    return search.options(given, call.now, clock.local_offset(call.now))


def _found_json(call: Call, found: Any, words: str) -> dict[str, Any]:
    hits = [{**_record_json(hit.record), "path": hit.path, "workspace": hit.workspace, "score": round(hit.score, 6),
             "section": hit.section, "freshness": hit.freshness, "why": hit.why,
             **({"parts": dict(hit.parts)} if call.options.explain else {})} for hit in found.hits]
    return {"query": words, "hits": hits, "backend": found.backend, "stale": found.stale, "leftOut": found.left_out,
            "notes": list(found.notes), "gaps": list(found.known_gaps)}


def _freshen(call: Call, stale: bool) -> None:
    """Start a refresh that outlives this process, after the answer."""
    if not stale:
        return
    import subprocess

    root = os.path.dirname(os.path.abspath(__file__))
    try:
        sys.stdout.flush()
        subprocess.Popen([sys.executable, "-I", root, "index", "refresh"], cwd=call.place.project, env=call.env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True)
    except OSError as error:
        warn("no refresh could be started (%s); `dayleaf index refresh` does" % error.strerror)


def show(call: Call) -> int:
    """Print one record."""
    from memory import claims

    found = _find(call, call.one("ID"))
    state = claims.check(found, call.place.root, call.place.git)
    gone = ["%s is gone" % path for path, there in state.files if there is False]
    body, facts = found.body, [("freshness", "; ".join([state.state, *gone])), ("file", call.place.path(found.name)),
                               ("trouble", "; ".join(found.problems))]
    if call.options.section:
        body, headings = terminal.section(body, call.options.section)
        if not body:
            known = nearest(call.options.section, headings, "it has %s" % (", ".join(headings[:8]) or "no headings"))
            raise UsageError("%s has no section '%s'; %s" % (found.id, _shown(call.options.section), known))
    value = {**_record_json(found), "path": call.place.path(found.name), "body": body, "freshness": state.state,
             "problems": list(found.problems)}
    head = terminal.record(found, call.now, call.style(), facts)
    return call.answer(value, [*head, "", terminal.plain(body).rstrip("\n")])


def _find(call: Call, id: str) -> Record:
    from memory.recall import find_one

    return find_one(call.place, call.settings, id)


def _record_json(found: Record) -> dict[str, Any]:
    links = [{"relation": link.relation, "target": link.target} for link in found.links]
    return {"id": found.id, "kind": found.kind, "title": found.title, "name": found.name,
            "tier": paths.TIER_NAMES[found.tier], "created": clock.iso(found.created), "updated": clock.iso(found.updated),
            "tags": list(found.tags), "topics": list(found.topics), "versions": list(found.versions), "links": links,
            "source": found.source, "confidence": found.confidence, "pinned": found.pinned, "accepted": found.accepted,
            "tokens": found.tokens, "checksum": found.checksum}


def load(call: Call) -> int:
    """Show what a prompt would get."""
    from memory import why

    value = why.load(call.place, call.settings, call.text().strip(), call.options.mode)
    return call.answer(value, why.load_lines(value, call.options.explain))


def explain(call: Call) -> int:
    """Show what was put into which prompt."""
    from memory import why

    if len(call.words) > 1:
        raise UsageError("why wants one SESSION or PROMPT_ID, not %d words" % len(call.words))
    word = call.words[0].strip() if call.words else ""
    value = why.report(call.place, "" if word == "session" else "last" if word == "prompt" else word,
                       _session(call) if word != "last" else "")
    return call.answer(value, why.lines(value, call.now))


def _session(call: Call) -> str:
    return paths.safe_id(call.options.session or call.env.get("CLAUDE_CODE_SESSION_ID", ""))


def status(call: Call) -> int:
    """Show paths, counts, freshness and settings."""
    from memory import status as state

    with call.spinner("reading the records"):
        value = state.gather(call.place, call.settings, call.now)
    return call.answer(value, state.lines(value, call.style()))


def doctor(call: Call) -> int:
    """Check everything, one verdict a line; 1 where one fails."""
    from memory import doctor as checks

    with call.spinner("checking"):
        found = checks.examine(call.place, call.settings, call.env, call.now)
    call.answer([check._asdict() for check in found], checks.lines(found, call.style()))
    return 1 if any(check.verdict == checks.FAIL for check in found) else 0


def stats(call: Call) -> int:
    """Count records, pushes, tokens saved and model calls."""
    from memory import status as state

    value = state.spending(call.place, call.settings, call.now) if call.options.spend else \
        state.figures(call.place, call.settings, call.now)
    return call.answer(value, state.figure_lines(value))


def workspace(call: Call) -> int:
    """Name the workspace and its tiers."""
    place = call.place
    tiers = {paths.TIER_NAMES[letter]: folder for letter, folder in place.tiers()}
    rows = [["workspace", place.key], ["root", place.root], *([name, folder] for name, folder in tiers.items()),
            ["cache", place.cache]]
    return call.answer({"workspace": place.key, "root": place.root, "tiers": tiers, "cache": place.cache},
                       terminal.table(rows))


# ---- verbs: writing

def learn(call: Call) -> int:
    """Keep a learning."""
    said = call.text().strip()
    if not said:
        raise UsageError("an empty learning; give it as an argument or on stdin")
    tier = paths.GLOBAL if call.options.tier_global else paths.SHARED if call.options.shared else paths.PRIVATE
    if call.options.tier_global and call.options.shared:
        raise UsageError("--global and --shared exclude one another; use one")
    extra = {"versions": call.options.version or None, "confidence": call.options.confidence}
    kept = call.store().add("learning", call.options.title or first_clause(said), said + "\n", tier=tier,
                            tags=call.options.tag or (), source=call.options.source or _author(call),
                            session=_session(call), extra={key: value for key, value in extra.items() if value})
    call.indexed()
    return _written(call, kept, "kept")


def checkpoint(call: Call) -> int:
    """Write a checkpoint: of a note, or of a session's work where there is none."""
    from memory import capture

    said = call.text()
    if said.strip():
        kept = capture.note(call.store(), call.place, said, call.options.tag or (), _session(call), call.now)
    else:
        kept = _of_session(call)
    call.indexed()
    return _written(call, kept, "written")


def _of_session(call: Call) -> Record:
    """Capture the running session from its transcript."""
    from memory import capture, receipts, transcript

    session = _session(call)
    if not session:
        raise UsageError("nothing to write; give a note, or --session ID")
    known = receipts.read(call.place.receipts(session)) if files.exists(call.place.receipts(session)) else []
    named = [row["transcript"] for row in known if row.get("event") == "start" and row.get("transcript")]
    path = transcript.trusted(call.options.transcript or (named or [""])[-1], call.env)
    if not path:
        raise StoreError("no transcript of session %s is known; give a note instead" % session)
    name = capture.capture(call.place, call.settings, call.env, call.now, session, path, "manual",
                           on_change=call.changed.append)
    if not name:
        raise StoreError("nothing new in session %s since its last checkpoint; give a note to write one" % session)
    return call.store().read(name)


def _author(call: Call) -> str:
    """Say who writes: inside the client's shell it is the model."""
    return "agent" if call.env.get("CLAUDECODE") else "human"


def first_clause(said: str) -> str:
    """Return the first sentence of a text as a title of at most TITLE characters."""
    line = re.split(r"(?<=[.!?;])\s|[。！？]|\n", said.lstrip("#-*> \t\n"), maxsplit=1)[0]
    line = terminal.one_line(line).rstrip(".;。 ")
    if len(line) <= TITLE:
        return line
    cut = line[:TITLE - 1]
    return (cut[:cut.rfind(" ")] if cut.rfind(" ") > TITLE // 2 else cut).rstrip(" ,:") + "…"


def _written(call: Call, kept: Record, done: str) -> int:
    """Say what was written and where."""
    if call.options.hook:
        from memory import render

        print(render.block(call.verb, ["%s: [%s] %s, %s" % (done, kept.id, render.clean(terminal.one_line(kept.title)),
                                                            call.place.path(kept.name))]))
        return 0
    secret = ["a secret was taken out of it"] if "[redacted:" in kept.title + kept.body else []
    return call.answer({**_record_json(kept), "path": call.place.path(kept.name)},
                       ["%s %s  %s" % (done, kept.id, terminal.one_line(kept.title)), "  " + call.place.path(kept.name),
                        *("  " + line for line in secret)])


def forget(call: Call) -> int:
    """Move a record to the archive, or remove it with --hard."""
    id = call.one("ID")
    if call.options.hard:
        return _forget_hard(call, id)
    store = call.store()
    found = store.find(id)
    away = store.archive(found.name, call.options.reason or "forgotten")
    call.indexed()
    return call.answer({"id": found.id, "from": found.name, "to": away},
                       ["archived %s  %s" % (found.id, terminal.one_line(found.title)),
                        "  `dayleaf restore %s` brings it back" % found.id])


def _forget_hard(call: Call, id: str) -> int:
    """Remove a record for good: its file, kept digests, and its words in the index."""
    from memory import distill, indexer

    store = call.store()
    note = []
    try:
        found = store.find(id)
    except StoreError:
        found = store.restore(id)  # it stood in the archive, perhaps
        note.append("  the archive's log still has the name of its file: %s" % found.name)
    title = terminal.one_line(found.title)
    if not call.options.yes and not confirmed("remove %s '%s' for good? type yes: " % (found.id, title)):
        raise UsageError("%s stays; --hard wants a yes on a terminal, or --yes" % found.id)
    files.remove(call.place.path(found.name))  # not through the archive, whose log would keep the name
    digests = distill.forget(call.place.cache)
    with call.spinner("building the index"):
        indexer.build(call.place, call.now)
    if found.tier == paths.SHARED:
        note.append("  git still has it where it was committed")
    return call.answer({"id": found.id, "removed": found.name, "bytes": found.size, "digests": digests},
                       ["removed %s  %s" % (found.id, title), "  %s, %s; %s; the index was built anew" % (
                           call.place.path(found.name), terminal.count(found.size, "byte"),
                           terminal.count(digests, "kept digest")), *note])


def confirmed(question: str) -> bool:
    """Ask on the terminal; without one the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() == "yes"


def restore(call: Call) -> int:
    """Bring a record back from the archive."""
    found = call.store().restore(call.one("ID"))
    call.indexed()
    return _written(call, found, "restored")


def edit(call: Call) -> int:
    """Open a record in $VISUAL or $EDITOR."""
    import shlex
    import subprocess

    found = _find(call, call.one("ID"))
    store = call.store()
    before = store.raw(found.name)
    argv = shlex.split(call.env.get("VISUAL") or call.env.get("EDITOR") or "vi")
    copy = "%s/edit-%s.md" % (call.place.cache, paths.slug(found.id))
    files.replace(copy, before)
    try:
        done = subprocess.call([*argv, copy])
    except OSError as error:
        raise UsageError("the editor '%s' did not start (%s); set EDITOR" % (argv[0], error.strerror)) from None
    after = files.read(copy, 64 << 20)
    if done or after == before:
        files.remove(copy)
        return call.answer({"id": found.id, "changed": False}, ["%s is unchanged" % found.id])
    try:
        found = store.replace(found.name, after, files.sha256(before))
    except StoreError as error:
        raise StoreError("%s (your text is kept in %s)" % (error, copy)) from None
    files.remove(copy)
    call.indexed()
    return _written(call, found, "changed")


def switch(call: Call) -> int:
    """Switch the pushes of a session or a project on or off."""
    from memory import receipts, why

    on, session = call.verb == "on", _session(call)
    if not (session or call.options.project or call.options.session):
        session = next(iter(why.sessions_of(call.place)), "")  # a terminal beside the session: the newest is meant
    if call.options.project:
        if not call.place.shared:
            raise UsageError("no project here; cd into one")
        path = call.place.shared + "/config.json"
        change_config(path, "load.enabled", None if on else False, 0o644)
        what = {"project": call.place.root, "config": path}
        said = "dayleaf pushes %s in this project (%s)" % ("again" if on else "nothing more", path)
    elif session:
        receipts.write(call.place.receipts(session), {"v": 1, "t": clock.iso(call.now), "event": call.verb})
        what = {"session": session}
        said = "dayleaf pushes %s in this session" % ("again" if on else "nothing more")
    else:
        raise UsageError("no session of this workspace yet; `dayleaf %s --project` is for the whole project" % call.verb)
    if on and not (call.settings["load.enabled"] or call.options.project):
        said += "; but load.enabled is off (%s)" % call.settings.sources["load.enabled"]
    return call.answer({**what, "enabled": on}, [said])


# ---- verbs: index, distill

def index(call: Call) -> int:
    """Build, refresh, verify, show or export the index."""
    asked = [name for name in INDEX if getattr(call.options, name)] + call.words
    if len(asked) != 1:
        raise UsageError("index wants one of " + ", ".join(INDEX))
    if asked[0] not in INDEX:
        raise UsageError("unknown word '%s' of index; %s" % (
            _shown(asked[0]), nearest(asked[0], INDEX, "use one of " + ", ".join(INDEX))))
    return INDEX[asked[0]](call)


def _build(call: Call) -> int:
    from memory import indexer

    with call.spinner("building the index") as spinner:
        def told(done: int, of: int) -> None:
            spinner.step = "building the index: %d of %d" % (done, of)

        return _summary(call, indexer.build(call.place, call.now, told))


def _refresh(call: Call) -> int:
    from memory import indexer

    with call.spinner("comparing the files with the index"):
        return _summary(call, indexer.refresh(call.place, call.now))


def _summary(call: Call, done: Any) -> int:
    if done.busy:
        return call.answer(done._asdict(), ["another process is building the index; its result serves this place too"])
    said = "%s: %d added, %d changed, %d removed%s" % (
        terminal.count(done.records, "record"), done.added, done.changed, done.removed, "; built anew" if done.built else "")
    return call.answer(done._asdict(), [said, *("skipped %s; `dayleaf doctor` says why" % name for name in done.skipped)])


def _verify(call: Call) -> int:
    from memory import indexer

    with call.spinner("rebuilding aside"):
        differences = indexer.verify(call.place, call.now)
    call.answer({"verified": not differences, "differences": differences},
                differences or ["the index is what its files give, byte for byte apart from its time stamp"])
    if differences:
        raise StoreError("the index differs from its files; `dayleaf index refresh` mends it")
    return 0


def _index_status(call: Call) -> int:
    from memory import status as state

    with call.spinner("reading the records"):
        value = state.gather(call.place, call.settings, call.now)
    return call.answer({key: value[key] for key in ("workspace", "index", "records", "skipped")}, state.index_lines(value))


def _export(call: Call) -> int:
    from memory import loader, topics

    with call.spinner("reading the records"):
        value = to_json(topics.export(call.place, call.now, loader.CATEGORIES))
    if not call.options.out:
        print(value)
        return 0
    target = os.path.abspath(call.options.out)
    try:
        files.replace(target, (value + "\n").encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError("%s: not written, %s" % (target, (error.strerror or "").lower())) from None
    return call.answer({"out": target}, ["exported to " + target])


INDEX: dict[str, Callable[[Call], int]] = {
    "build": _build, "refresh": _refresh, "verify": _verify, "status": _index_status, "export": _export}


def distill(call: Call) -> int:
    """Answer a question from the records in a few bullets."""
    from memory import distill as model
    from memory.extract import Source

    question = " ".join(call.words).strip()
    if not question:
        raise UsageError("distill wants a question")
    found = _found(call, question, call.options.limit or HITS_TO_DISTILL)
    sources = [Source(h.record.id, h.record.kind, h.record.title, h.record.created, h.record.body, h.record.tier,
                      h.record.checksum) for h in found.hits]
    with call.spinner("distilling") as spinner:
        def told(line: str) -> None:
            spinner.step = line

        digest = model.distill(question, sources, call.settings, call.env, call.place.home, call.place.cache, call.now,
                               call.options.provider, call.options.max_tokens, not call.options.no_cache, told)
    saved = _save(call, question, digest) if call.options.save and digest.bullets else None
    if call.options.hook:
        from memory import render

        print(render.block("distill", [render.clip(render.clean(model.render(digest)), terminal.MODEL_UNITS - 400)]))
        return 0
    lines = [terminal.plain(model.render(digest)).rstrip("\n")]
    if call.options.explain:
        lines += ["", "from:"]
        lines += ["  %s  %.2f  %s" % (h.record.id, h.score, terminal.one_line(h.record.title)) for h in found.hits]
    lines += terminal.contributions(found) + (["saved as %s" % saved.id] if saved else [])
    call.answer(_digest_json(digest, found, saved), lines)
    _freshen(call, found.stale)
    return 0


def _save(call: Call, question: str, digest: Any) -> Record:
    """Keep a digest as a learning of the agent's, linked to what it was made of."""
    from memory import extract

    cited = list(dict.fromkeys(id for bullet in digest.bullets for id in bullet.ids))
    kept = call.store().add("learning", first_clause(question), extract.compose(digest.bullets) + "\n", source="agent",
                            session=_session(call),
                            extra={"links": [{"relation": "derived_from", "target": id} for id in cited]})
    call.indexed()
    return kept


def _digest_json(digest: Any, found: Any, saved: Record | None) -> dict[str, Any]:
    return {"bullets": [{"text": b.text, "ids": list(b.ids)} for b in digest.bullets], "provider": digest.provider,
            "tokensIn": digest.tokens_in, "tokensOut": digest.tokens_out, "cached": digest.cached,
            "notes": list(digest.notes), "sources": [h.record.id for h in found.hits], "saved": saved.id if saved else None}


# ---- verbs: settings, rules, redaction

def settings(call: Call) -> int:
    """List, get or set settings."""
    words = call.words or ["list"]
    sizes = {"list": 1, "get": 2, "set": 3}
    if words[0] not in sizes:
        raise UsageError("unknown word '%s' of config; %s" % (_shown(words[0]), nearest(words[0], sizes, "use list, get or set")))
    if len(words) != sizes[words[0]]:
        raise UsageError("use `dayleaf config list`, `config get KEY` or `config set KEY VALUE`")
    if words[0] == "list":
        rows = [[key, to_json(call.settings[key]), call.settings.sources[key]] for key in config.DEFAULTS]
        return call.answer({key: {"value": call.settings[key], "source": source} for key, _, source in rows},
                           [*terminal.table(rows), *("! " + problem for problem in call.settings.problems)])
    key = words[1]
    if key not in config.DEFAULTS:
        known = nearest(key, config.DEFAULTS, "`dayleaf config list` names them")
        raise UsageError("unknown key '%s'; %s" % (_shown(key), known))
    if words[0] == "get":
        return call.answer({"key": key, "value": call.settings[key], "source": call.settings.sources[key]},
                           [call.settings[key] if isinstance(call.settings[key], str) else to_json(call.settings[key])])
    value = checked(key, words[2])
    change_config(call.place.home + "/config.json", key, value, files.FILE_MODE)
    call._settings = None
    over = call.settings.sources[key] not in ("user", "default")
    return call.answer({"key": key, "value": value}, ["%s = %s%s" % (key, to_json(value), (
        "; but the %s says %s" % (call.settings.sources[key], to_json(call.settings[key]))) if over else "")])


def checked(key: str, said: str) -> Any:
    """Read a setting's value from text; raises UsageError where it does not fit the key."""
    value = config.load("", "", {"DAYLEAF_" + key.upper().replace(".", "_"): said})
    if value.problems:
        default = config.DEFAULTS[key]
        raise UsageError("%s wants %s, not '%s'" % (key, "a list like [\"a\",\"b\"]" if isinstance(default, list) else (
            "true or false" if isinstance(default, bool) else "a number like %s" % default), _shown(said)))
    words = CHOICES.get(key)
    if words and value[key] not in words:
        raise UsageError("%s wants one of %s; %s" % (key, ", ".join(words), nearest(said, words, "not '%s'" % _shown(said))))
    return value[key]


def change_config(path: str, key: str, value: Any, mode: int) -> None:
    """Set a key of a settings file, or remove it (None); everything else stays.  Raises StoreError."""
    try:
        held = json.loads(files.read(path, 1 << 18).decode("utf-8-sig"))
    except FileNotFoundError:
        held = {}
    except (OSError, ValueError):
        held = None
    if not isinstance(held, dict):
        raise StoreError("%s: cannot be read as one JSON object; mend it by hand first" % path)
    group, _, last = key.partition(".")
    held.pop(key, None)
    inner = held.get(group)
    if isinstance(inner, dict):
        inner.pop(last, None)
        if value is not None:
            inner[last] = value
        elif not inner:
            del held[group]
    elif value is not None:
        held[key] = value
    try:
        files.replace(path, (json.dumps(held, ensure_ascii=False, indent=2) + "\n").encode("utf-8"), mode)
    except OSError as error:
        raise StoreError("%s: not written, %s; check its permissions" % (path, (error.strerror or "").lower())) from None


def rule(call: Call) -> int:
    """List rules, or approve or reject one on a terminal."""
    from memory import trust

    words = call.words or ["list"]
    if words[0] not in ("list", "approve", "reject"):
        raise UsageError("unknown word '%s' of rule; %s" % (
            _shown(words[0]), nearest(words[0], ("list", "approve", "reject"), "use list, approve or reject")))
    if words[0] == "list":
        approved = trust.approved(call.place.home)
        rows = [[r.id, "approved" if terminal.group(r, call.place.key, approved) == "rule" else "pending",
                 terminal.one_line(r.title)] for r in call.store().each(("rule",))]
        return call.answer([dict(zip(("id", "state", "title"), row)) for row in rows],
                           terminal.table(rows) or ["no rules here"])
    if len(words) != 2:
        raise UsageError("rule %s wants one ID" % words[0])
    return _decide(call, words[0], words[1])


def _decide(call: Call, decision: str, id: str) -> int:
    """Ask the person at the terminal about the exact content; the model has none and cannot answer."""
    from memory import trust

    store = call.store()
    found = store.find(id)
    if found.kind != "rule":
        raise UsageError("%s is a %s, not a rule" % (found.id, found.kind))
    if call.env.get("CLAUDECODE") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("only a person decides on a rule: run `dayleaf rule %s %s` in a terminal of your own" % (
            decision, found.id))
    data = store.raw(found.name)
    if decision == "approve" and found.problems:
        raise UsageError("%s: %s" % (found.name, found.problems[0]))
    digest = files.sha256(data)
    content = terminal.visible(data.decode("utf-8", "replace"))
    sys.stderr.write("%s\n\n%s\n\nsha256 %s\n" % (call.place.path(found.name), content, digest))
    if not confirmed("%s exactly this? type yes: " % decision):
        raise UsageError("%s stays as it was" % found.id)
    import getpass

    trust.decide(call.place.home, trust.workspace_of(found.name, call.place.key), found.id, digest, decision,
                 getpass.getuser(), call.now)
    return call.answer({"id": found.id, "decision": decision, "sha256": digest}, ["%s: %s" % (decision, found.id)])


def redact(call: Call) -> int:
    """Take secrets out of text: stdin to stdout."""
    from memory import redact as cleaner

    if call.words not in ([], ["-"]):
        raise UsageError("redact reads stdin: `dayleaf redact - < FILE`")
    allow, salt = call.settings["redact.allow"], call.place.key
    if not call.options.batch:
        sys.stdout.write(cleaner.redact(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"), allow, salt).text)
        return 0
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        row = batch_row(line, number, "text")
        done = cleaner.redact(row["text"], allow, salt)
        print(to_json({"id": row.get("id"), "text": done.text, "found": [
            {"kind": one.kind, "tag": one.tag, "count": one.count} for one in done.found]}), flush=True)
    return 0


def batch_row(line: bytes, number: int, key: str) -> dict[str, Any]:
    """Read one line of JSONL; raises UsageError, which names the line, where it is no object with a text under `key`."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except ValueError:
        row = None
    if not isinstance(row, dict) or not isinstance(row.get(key), str):
        raise UsageError("stdin line %d: not {\"id\": …, \"%s\": \"…\"}" % (number, key))
    return row


# ---- the table

JSON = _flag("--json", help="print JSON")
HIDDEN = (_flag("--hook", help=argparse.SUPPRESS), _flag("--args-from-stdin", help=argparse.SUPPRESS))
SESSION = _opt("--session", metavar="ID", help="the session")
TAG = _opt("--tag", action="append", metavar="TAG", help="a label (repeatable)")
FILTERS = (
    _opt("--since", metavar="WHEN", help="not before: 3d, 2h, a date, `yesterday`"),
    _opt("--days", type=_whole, metavar="N", help="the last N days"),
    _opt("--from", dest="from_", metavar="DATE", help="not before this date"),
    _opt("--to", metavar="DATE", help="not after this date"),
    _opt("--kind", type=_kinds, action="append", metavar="KIND", help=", ".join(KINDS)),
    _opt("--tag", action="append", metavar="TAG", help="with this tag (repeatable)"),
    _opt("--topic", metavar="TOPIC", help="on this topic"),
    _opt("--file", metavar="PATH", help="that names this file"),
    _opt("--branch", metavar="BRANCH", help="from this branch"),
    _opt("--session", metavar="ID", help="from this session"),
    _opt("--version", action="append", metavar="V", help="for this version (repeatable), or `unversioned`"),
    _opt("--workspace", metavar="NAME", help="another workspace, or `all`"),
    _opt("--context-tags", metavar="TAGS", help="\"reviewer,jira-api=1.5\": raises what carries them"),
    _flag("--semantic", help="with vectors, where they are set up"),
    _flag("--lexical", help="without vectors"),
    _opt("--limit", type=_whole, metavar="N", help="at most N hits"),
    _opt("--min-score", type=_real, metavar="X", help="no hit below this score"),
    _flag("--explain", help="print the parts of every score"),
)
VERBS: dict[str, Verb] = {
    "recall": Verb(recall, "[QUERY]", "search the memory", (*FILTERS, _flag("--batch", help="JSONL queries on stdin"))),
    "show": Verb(show, "ID", "print one record", (_opt("--section", metavar="S", help="only the section under this heading"),)),
    "distill": Verb(distill, "QUESTION", "answer from the records in a few bullets", (
        *FILTERS, _opt("--max-tokens", type=_whole, metavar="N", help="tokens of the answer"),
        _opt("--provider", type=_choice(PROVIDERS), help=", ".join(PROVIDERS)),
        _flag("--save", help="keep the answer as a learning"), _flag("--no-cache", help="ask anew"))),
    "learn": Verb(learn, "TEXT|-", "keep a learning", (
        TAG, _opt("--version", action="append", metavar="V", help="a version it holds for (repeatable)"),
        _opt("--title", metavar="T", help="its title; else its first sentence"),
        _opt("--confidence", type=_choice(CONFIDENCES), help=", ".join(CONFIDENCES)),
        _flag("--global", dest="tier_global", help="for every project"), _flag("--shared", help="in the repository"),
        _opt("--source", type=_choice(("human", "agent")), help="whose it is"), SESSION), True),
    "checkpoint": Verb(checkpoint, "[NOTE|-]", "write down what was done", (
        TAG, SESSION, _opt("--transcript", metavar="PATH", help=argparse.SUPPRESS)), True),
    "load": Verb(load, "PROMPT", "show what a prompt would get", (
        _flag("--explain", help="every candidate with its reason"),
        _opt("--mode", default="", metavar="MODE", help="the permission mode"))),
    "why": Verb(explain, "[SESSION|PROMPT_ID|last]", "show what was put into which prompt", (SESSION,)),
    "on": Verb(switch, "", "push again", (SESSION, _flag("--project", help="for everyone in this project"))),
    "off": Verb(switch, "", "push nothing more", (SESSION, _flag("--project", help="for everyone in this project"))),
    "status": Verb(status, "", "show paths, counts, freshness, settings"),
    "doctor": Verb(doctor, "", "check everything, one verdict a line"),
    "stats": Verb(stats, "", "count records, pushes, model calls", (_flag("--spend", help="what models cost"),)),
    "index": Verb(index, "|".join(INDEX), "build, refresh, verify, show or export the index", (
        *(_flag("--" + name, help=argparse.SUPPRESS) for name in INDEX),
        _opt("--out", metavar="FILE", help="where to export to"))),
    "forget": Verb(forget, "ID", "move a record to the archive", (
        _flag("--hard", help="remove it for good"), _flag("--yes", help="without asking"),
        _opt("--reason", metavar="WHY", help="for the archive's log"))),
    "restore": Verb(restore, "ID", "bring a record back"),
    "edit": Verb(edit, "ID", "open a record in $EDITOR"),
    "rule": Verb(rule, "list|approve ID|reject ID", "list rules, decide on one"),
    "redact": Verb(redact, "-", "take secrets out of stdin", (_flag("--batch", help="JSONL {id, text}"),)),
    "config": Verb(settings, "list|get KEY|set KEY VALUE", "list, get or set settings"),
    "workspace": Verb(workspace, "", "name the workspace and its tiers"),
}
