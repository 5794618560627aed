"""What a person types: the options of a verb declared, read, checked, found within text; help; near
misses; completion.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Callable, NoReturn

from memory.core import UsageError, layout, spellings
from memory.core.config import CHOICES
from memory.terminal import screen
from memory.terminal.call import (
    Call,
    Option,
    Part,
    Verb,
    closest,
    nearest,
    read_stdin,
    shown,
    unknown_word,
)

COLUMNS = 80  # of help where no terminal says how many it has
KINDS = tuple(layout.FOLDERS)
TYPES = ("doc", "script", "both")
SHELLS = ("bash", "zsh", "fish")
PROVIDERS = CHOICES["distill.provider"]
QUOTED = r""""[^"]*"|'[^']*'"""
# A word that a person typed.  Quotes count where it begins, or behind an option's `=`, up to where
# it ends: `what's` is text.
WORD = re.compile(r"(?:--[\w-]+=)?(?:%s)(?!\S)|\S+" % QUOTED)
# Letters that other programs have for the same.
SHORT = {
    "-n": "--limit",
    "-k": "--kind",
    "-t": "--tag",
    "-s": "--since",
    "-y": "--yes",
    "-v": "--version",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message.replace("argument ", "", 1))

    def format_help(self) -> str:
        """Return the help folded to the terminal's columns.

        argparse does not fold a usage that it is given.
        """
        from shutil import get_terminal_size

        usage, columns = self.usage or "", max(40, get_terminal_size().columns)
        self.usage = "\n".join(screen.fold_line("usage: " + usage, columns, len("usage: ")))[
            len("usage: ") :
        ]
        self.formatter_class = partial(argparse.HelpFormatter, width=columns - 2)
        try:
            return super().format_help()
        finally:
            self.usage = usage


def parser(name: str, verb: Verb, word: str = "") -> _Parser:
    """Return the parser of a verb's options and help.

    word: a part of the verb with options of its own, for these alone.
    """
    part = verb.parts.get(word)
    words, purpose = (word + " " + part.words, part.purpose) if part else (verb.words, verb.purpose)
    options = "[options]" * (not verb.parts or bool(part and part.flags))
    usage = " ".join(filter(None, (spellings.typed(name), words.strip(), options)))
    parser = _Parser(
        spellings.typed(name),
        usage,
        purpose,
        add_help=False,
        allow_abbrev=False,
        # without a width each option would import shutil, and with it bz2 and lzma
        formatter_class=partial(argparse.HelpFormatter, width=COLUMNS),
    )
    for option in (*_options(verb, part), JSON, *HIDDEN):
        parser.add_argument(option.flag, **option.rest)
    return parser


def _options(verb: Verb, part: Part | None) -> Sequence[Option]:
    if part is None:
        return verb.options
    by_flag = {option.flag: option for option in verb.options}
    return [by_flag[flag] for flag in part.flags.split()]


def read_call(name: str, verb: Verb, argv: list[str], env: dict[str, str], now: float) -> Call:
    """Return the call that a verb's words make.

    Raises UsageError for an invalid option or value.
    """
    reader = parser(name, verb)
    at = argv.index("--") if "--" in argv else len(argv)
    options, words = reader.parse_known_args(argv[:at])
    for word in words:
        if re.fullmatch(r"-(?!\d+(?:\.\d+)?$)\S+", word):
            raise UsageError(
                "unknown option '%s' of %s; %s"
                % (shown(word), spellings.spelled(name) or name, _nearest_flag(word, name, verb))
            )
    words += argv[at + 1 :]
    _check_repeated(verb, argv[:at])
    if options.args_from_stdin:
        said, rest = split_options(read_stdin(), verb)
        rest = spellings.OPTIONS.get(name, {}).get(rest, rest)
        _check_repeated(verb, [*argv[:at], *said])
        reader.parse_known_args(said, options)
        words += [rest] if rest else []
    call = Call(name, options, words, env, now)
    call.argv += argv
    return call


def _check_repeated(verb: Verb, argv: Sequence[str]) -> None:
    single = {one.flag for one in verb.options if one.has_value and "action" not in one.rest}
    given = [word.partition("=")[0] for word in argv]
    for name in sorted(single.intersection(given)):
        if given.count(name) > 1:
            raise UsageError("%s is given twice; say it once" % name)


def check_part(verb: Verb, call: Call) -> None:
    """Refuse an option foreign to the call's first word.

    Raises UsageError.
    """
    word = call.words[0] if call.words else "list"
    if word not in verb.parts:
        return
    own = verb.parts[word].flags.split()
    for option in verb.options:
        flag = option.flag
        if getattr(call.options, option.name) and flag not in own:
            fit = [
                "`%s %s`" % (spellings.spelled(call.verb), other)
                for other, part in sorted(verb.parts.items())
                if flag in part.flags.split()
            ]
            raise UsageError(
                "%s %s takes no %s; that is for %s"
                % (spellings.spelled(call.verb), word, flag, ", ".join(fit[:3]))
            )


def _nearest_flag(word: str, name: str, verb: Verb) -> str:
    """Return advice with the option nearest to an unknown word."""
    flags = [option.flag for option in (*verb.options, JSON)]
    if word[1] != "-":  # one letter is like every option that holds it
        flags = [flag for flag in flags if flag == SHORT.get(word[:2])]
        word = flags[0] if flags else word
    return nearest(
        word.partition("=")[0],
        flags,
        "`%s --help` lists them; `--` goes before plain text" % spellings.typed(name),
    )


def split_options(raw: str, verb: Verb) -> tuple[list[str], str]:
    """Return (options as an argv, the rest unchanged) of a verb's words.

    Only known `--options` with a fitting value count, and a value with blanks must be in quotes;
    other quotes, `$(…)`, `;` and anything else is text. In prose an option counts at the beginning
    or the end alone.
    """
    known = {option.flag: option for option in (*verb.options, JSON)}
    words = list(WORD.finditer(raw))
    # an option's first word, the word after it, how argparse reads it
    spans: list[tuple[int, int, str]] = []
    at = 0
    while at < len(words):
        said, used = _option(known, [word.group() for word in words[at : at + 2]])
        spans += [(at, at + used, said)] if said else []
        at += used
    if verb.prose:
        text = set(range(len(words))).difference(*(range(first, last) for first, last, _ in spans))
        spans = [span for span in spans if not text or span[1] <= min(text) or span[0] > max(text)]
    rest, end = [], 0
    for first, last, _ in spans:
        rest.append(raw[end : words[first].start()].strip())
        end = words[last - 1].end()
    return [said for _, _, said in spans], " ".join(
        part for part in [*rest, raw[end:].strip()] if part
    )


def _option(known: dict[str, Option], words: list[str]) -> tuple[str, int]:
    """Return (option with its value as one word, number of words)."""
    flag, equals, value = words[0].partition("=")
    option = known.get(flag)
    if option is None:
        return "", 1
    if not option.has_value:
        return "" if equals else flag, 1
    value = value if equals else "".join(words[1:])
    value = value[1:-1] if re.fullmatch(QUOTED, value) else value
    return (flag + "=" + value, 1 if equals else 2) if value and _fits(option, value) else ("", 1)


def _fits(option: Option, value: str) -> bool:
    try:
        option.rest.get("type", str)(value)
    except (argparse.ArgumentTypeError, ValueError):
        return False
    return True


def choice(words: Sequence[str]) -> Callable[[str], str]:
    """Return the type of an option with fixed values."""

    def check(word: str) -> str:
        if word not in words:
            raise argparse.ArgumentTypeError(
                "unknown value '%s'; %s"
                % (shown(word), nearest(word, words, "use one of " + ", ".join(words)))
            )
        return word

    check.words = words  # type: ignore[attr-defined]  # for completion
    return check


def kinds(words: str) -> str:
    """Return a comma-separated list of kinds, checked."""
    return ",".join(choice(KINDS)(word.strip()) for word in words.split(","))


kinds.words = KINDS  # type: ignore[attr-defined]


def versions(words: str) -> str:
    """Return a comma-separated list of versions, checked."""
    for word in words.split(","):
        if len(word.split()) > 1:
            raise argparse.ArgumentTypeError(
                "the version '%s' contains a space; separate several versions with commas"
                % (shown(word))
            )
    return words


def positive_integer(word: str) -> int:
    """Read a whole number above 0."""
    if not word.isdigit() or not 0 < int(word) < 1 << 31:
        raise argparse.ArgumentTypeError("'%s' is not a whole number above 0" % shown(word))
    return int(word)


def decimal_number(word: str) -> float:
    """Return the number in an option's text."""
    try:
        number = float(word)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e9:
        raise argparse.ArgumentTypeError("'%s' is not a number" % shown(word))
    return number


def opt(said: str, help: str, **rest: Any) -> Option:
    """Return an option with a value, such as `--limit N`."""
    flag, _, metavar = said.partition(" ")
    return Option(flag, {"help": help, **({"metavar": metavar} if metavar else {}), **rest})


def flag(said: str, help: str, **rest: Any) -> Option:
    """Return an option without a value."""
    return Option(said, {"action": "store_true", "help": help, **rest})


JSON = flag("--json", "print JSON")
HIDDEN = (flag("--hook", argparse.SUPPRESS), flag("--args-from-stdin", argparse.SUPPRESS))


# ---- help

FORM = 24  # columns of a verb with its words that the list of all verbs has room for
TASKS = (  # a task, the verbs and families that do it, an example
    (
        "Find what was said and done",
        "recall show distill fix standup",
        'dayleaf recall "why does resume fail" --since 2w',
    ),
    (
        "Go on where you left off",
        "plan handoff checkpoint",
        'dayleaf handoff "Retries half moved; next: the worker"',
    ),
    (
        "Keep what you found out, and decide what counts",
        "learn notes resource record rule review",
        'dayleaf learn "Pin the JWT issuer in tests" --tag auth',
    ),
    ("Look after it", "push store index config doctor debug", "dayleaf config set load.top 4"),
)
PROGRAMS = ("Called by other programs", "statusline mcp completion", "dayleaf mcp")
# What the words of a family are about; of one that is a verb too, besides the verb's own.
FAMILIES = {
    "show": "print a record, or what is known of a file or tool",
    "notes": "let a model write a note of each session",
    "record": "write, change, link, share, forget a record",
    "rule": "keep a rule; suggest, list, decide on rules",
    "push": "what the model is given: see why, switch it off",
    "store": "see, check, back up, import, share the whole memory",
    "debug": "measure recall; try what a prompt would get",
}
# What people type for what is called otherwise here, by what it means.
_SAID_FOR = {
    "recall": "search find query list ls lookup grep",
    "learn": "add remember save put write",
    "show": "get cat print read",
    "distill": "ask answer summarize summary",
    "checkpoint": "note",
    "plan": "goal task todo todos",
    "standup": "log history",
    "today": "last start sessions resume",
    "fix": "error",
    "blame": "who touch file",
    "why": "explain",
    "load": "context inject preview",
    "on": "enable",
    "off": "disable stop pause mute",
    "link": "links",
    "harvest": "lessons",
    "resource": "document script",
    "resource run": "run",
    "tier": "vault folder",
    "status": "info",
    "stats": "metrics report tags topics",
    "doctor": "health init install setup",
    "check": "diff",
    "forget": "delete remove rm del erase clear",
    "upkeep": "merge clean cleanup prune purge gc compact",
    "backup": "dump archive",
    "import": "ingest",
    "index build": "reindex",
    "view": "ui gui tui web browse browser dashboard timeline",
    "mcp": "serve server",
    "config": "settings",
    "config set": "set",
    "completion": "complete",
}
SAID_FOR = {word: verb for verb, words in _SAID_FOR.items() for word in words.split()}


def suggest_verb(name: str, verbs: Mapping[str, Verb]) -> str:
    """Return advice for an unknown verb, by meaning or spelling.

    By spelling alone never `forget`.
    """
    inside = [verb for verb in ("index",) if name in verbs[verb].words.split("|")]
    if inside:
        return "did you mean '%s %s'?" % (inside[0], name)
    behind = {spellings.spelled(row).rpartition(" ")[2]: row for row in spellings.MOVED}
    known = [word for word in (*verbs, *behind, *spellings.FAMILIES) if word not in ("forget", "")]
    found = (
        name
        if name in SAID_FOR
        else closest(name, known, 0.6)
        or closest(name, [word for word, verb in SAID_FOR.items() if verb != "forget"], 0.8)
    )
    row, *rest = SAID_FOR.get(found, behind.get(found, found)).split() or [""]
    meant = " ".join((spellings.spelled(row) or "dayleaf", *rest))
    return "did you mean '%s'?" % meant if found else "`dayleaf help` lists the commands"


def unknown_family_word(family: str, given: Sequence[str]) -> UsageError:
    """Return the error for an unknown word of a family."""
    known = [spellings.spelled(row).partition(" ")[2] for row in spellings.FAMILIES[family]]
    if given and given[0][:1] != "-":
        return unknown_word(family, given[0], known)
    return UsageError("%s takes one of %s" % (family, ", ".join(known)))


def help_text(verbs: Mapping[str, Verb], words: Sequence[str]) -> str:
    """Return the help for a verb, its part, or a task.

    The overview for none. Raises UsageError.
    """
    words = [word for word in words if word[:1] != "-"]
    name, used = spellings.row_of(words) if words else ("", 0)
    if name in verbs:
        return _of_verb(name, verbs, words[used:])
    if name in spellings.FAMILIES:
        rows = ["usage: dayleaf %s WORD [options]" % name, "", FAMILIES[name], ""]
        return "\n".join([*rows, *_family(name, verbs), "", _OPTIONS_OF % spellings.spelled(name)])
    tasks = [
        task
        for task in (*TASKS, PROGRAMS)
        if name.lower() in re.findall(r"\w+", task[0].lower()) and len(name) > 2
    ]
    if name and not tasks and name not in ("help", "all"):
        raise UsageError("no help on '%s'; %s" % (shown(name), suggest_verb(name, verbs)))
    return "\n".join(_overview(verbs, tasks))


_OPTIONS_OF = "`dayleaf help %s WORD` lists the options of each."


def _of_verb(name: str, verbs: Mapping[str, Verb], words: Sequence[str]) -> str:
    """Return the help of a verb, its parts and its family."""
    verb = verbs[name]
    part = words[0] if words and words[0] in verb.parts else ""
    if part:
        return parser(name, verb, part).format_help().rstrip("\n")
    parts = [(" ".join((word, one.words)), one.purpose) for word, one in verb.parts.items()]
    lines = _rows(parts) + _family(name, verbs)
    # The options are those of the parts.
    shown = verb._replace(options=()) if parts else verb
    said = parser(name, shown, "").format_help().rstrip("\n")
    if lines:
        said = "\n".join([said, "", "words:", *lines, "", _OPTIONS_OF % spellings.spelled(name)])
    return said


def _family(name: str, verbs: Mapping[str, Verb]) -> list[str]:
    rows = []
    for row in filter(verbs.__contains__, spellings.FAMILIES.get(name, ())):
        words = spellings.spelled(row).partition(" ")[2] + " " + verbs[row].words
        rows.append((words.strip(), verbs[row].purpose))
    return _rows(rows)


def _overview(verbs: Mapping[str, Verb], tasks: Sequence[tuple[str, str, str]]) -> list[str]:
    usage = "usage: dayleaf [VERB] …; more: `dayleaf help VERB` or `dayleaf help programs`"
    lines = [] if tasks else screen.fold_line(usage, _columns(), 7)
    for heading, names, example in tasks or TASKS:
        known = [name for name in names.split() if name in verbs or name in FAMILIES]
        rows = [(_verb_form(name, verbs), purpose(name, verbs)) for name in known]
        lines += [heading + ":", *_rows(rows)]
        lines += ["", "  $ " + example, ""] if tasks else []
    return lines[:-1] if tasks else lines


def purpose(name: str, verbs: Mapping[str, Verb]) -> str:
    """Return what a verb or a family is for."""
    return FAMILIES[name] if name in FAMILIES else verbs[name].purpose


def _rows(rows: Sequence[tuple[str, str]]) -> list[str]:
    wide = max(FORM, min(30, max((len(form) for form, _ in rows), default=0)))
    return [
        line
        for form, said in rows
        for line in screen.fold_line(
            "  " + screen.pad(form, wide) + "  " + said, _columns(), wide + 4
        )
    ]


def _columns() -> int:
    from shutil import get_terminal_size

    return max(40, get_terminal_size().columns)


def _verb_form(name: str, verbs: Mapping[str, Verb]) -> str:
    words = verbs[name].words if name in verbs and name not in FAMILIES else ""
    return (name + " " + words if len(name + words) < FORM else name + " …").strip()


# ---- completion

# (what is wanted, what is typed of it) -> (word, what it is)
Known = Callable[[str, str], Sequence[tuple[str, str]]]


def _flags(verb: Verb, part: Part | None) -> dict[str, Option]:
    return {
        option.flag: option
        for option in (*_options(verb, part), JSON)
        if option.rest.get("help") != argparse.SUPPRESS
    }


def completions(
    verbs: Mapping[str, Verb], words: Sequence[str], known: Known
) -> list[tuple[str, str]]:
    """Return the completions of the last word, each with its description.

    Empty where a shell completes files. words: those after the program's name, the last one begun
    or empty. known: the store's values of a metavariable: records by ID, settings by KEY.
    """
    typed, before = words[-1] if words else "", list(words[:-1])
    if before in ([], ["help"]):
        more = [] if before else [("help", "list the commands")]
        return _begun([*_first(verbs), *more], typed)
    name, used = spellings.row_of(before)
    if name not in verbs:
        return _begun(_behind(name, verbs), typed)
    verb, before = verbs[name], before[used - 1 :]
    part = verb.parts.get(before[1]) if before[1:] else None
    flags = _flags(verb, part)
    if before[-1] in flags and flags[before[-1]].has_value:
        return _values(before[-1], flags[before[-1]], typed, known)
    if typed[:1] == "-":
        return _begun(
            [(flag, str(option.rest.get("help"))) for flag, option in flags.items()], typed
        )
    rows = [] if before[1:] else _begun(_behind(name, verbs), typed)
    return [*_positional(verb, before[1:], typed, known), *rows]


def _first(verbs: Mapping[str, Verb]) -> list[tuple[str, str]]:
    first = [name for name in verbs if name not in spellings.MOVED]
    return [(name, purpose(name, verbs)) for name in dict.fromkeys((*first, *FAMILIES))]


def _behind(name: str, verbs: Mapping[str, Verb]) -> list[tuple[str, str]]:
    return [
        (spellings.spelled(row).partition(" ")[2], verbs[row].purpose)
        for row in spellings.FAMILIES.get(name, ())
        if row in verbs
    ]


def _begun(rows: Sequence[tuple[str, str]], typed: str) -> list[tuple[str, str]]:
    return [row for row in rows if row[0].startswith(typed)]


def _values(flag: str, option: Option, typed: str, known: Known) -> list[tuple[str, str]]:
    choices = getattr(option.rest.get("type"), "words", ())
    wanted = "SESSION" if flag == "--session" else str(option.rest.get("metavar"))
    if choices:
        return _begun([(word, "") for word in choices], typed)
    return list(known(wanted, typed))


def _positional(
    verb: Verb, before: Sequence[str], typed: str, known: Known
) -> list[tuple[str, str]]:
    first = [*verb.parts] or re.findall(
        r"(?<![\w#…])[a-z][a-z-]+(?!\w*\))", verb.words.partition(" ID")[0]
    )
    if not before and first:
        rows = [(word, verb.parts[word].purpose if word in verb.parts else "") for word in first]
        return _begun(rows, typed) or _ids(verb.words, typed, known)
    said = verb.parts[before[0]].words if before and before[0] in verb.parts else verb.words
    return _ids(said, typed, known)


def _ids(said: str, typed: str, known: Known) -> list[tuple[str, str]]:
    words = set(re.findall(r"[A-Z]+", said))
    if words & {"ID", "FROM", "TO"}:
        return list(known("ID", typed))
    return list(known("KEY", typed)) if "KEY" in words else []
