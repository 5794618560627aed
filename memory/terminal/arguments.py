"""The words that a person types: a verb's options, its help, suggestions, completion."""

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
    clip_input,
    find_closest,
    read_stdin,
    suggest_word,
    unknown_word,
)

COLUMNS = 80  # of help where no terminal says how many it has
KINDS = tuple(layout.FOLDERS)
TYPES = ("doc", "script", "both")
SHELLS = ("bash", "zsh", "fish")
PROVIDERS = CHOICES["distill.provider"]
QUOTED = r""""[^"]*"|'[^']*'"""
# A typed word, or a quoted text.  Quotes count at a word's beginning or after an option's `=`:
# `what's` is text.
WORD = re.compile(r"(?:--[\w-]+=)?(?:%s)(?!\S)|\S+" % QUOTED)
# Letters that other programs have for these options.
SHORT_FLAGS = {
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


def build_parser(name: str, verb: Verb, word: str = "", columns: int = COLUMNS) -> _Parser:
    """Return the parser of a verb's options and help.

    word: the first word of a verb's part, for the options of that part alone. columns: of the help.
    """
    part, command = verb.parts.get(word), spellings.format_command(name)
    words, purpose = (word + " " + part.words, part.purpose) if part else (verb.words, verb.purpose)
    has_options = part.flags if part else not verb.parts
    usage = ("usage:", command, words.strip(), "[options]" if has_options else "")
    lines = screen.fold_line(" ".join(filter(None, usage)), columns, len("usage: "))
    parser = _Parser(
        command,
        "\n".join(lines).removeprefix("usage: "),  # argparse does not fold an explicit usage
        purpose,
        add_help=False,
        allow_abbrev=False,
        # without a width each option would import shutil, and with it bz2 and lzma
        formatter_class=partial(argparse.HelpFormatter, width=columns - 2),
    )
    for option in (*_select_options(verb, part), JSON, *HIDDEN):
        parser.add_argument(option.flag, **option.rest)
    return parser


def _select_options(verb: Verb, part: Part | None) -> Sequence[Option]:
    if part is None:
        return verb.options
    by_flag = {option.flag: option for option in verb.options}
    return [by_flag[flag] for flag in part.flags.split()]


def read_call(name: str, verb: Verb, argv: list[str], env: dict[str, str], now: float) -> Call:
    """Parse a verb's options and words into a call."""
    parser = build_parser(name, verb)
    end = argv.index("--") if "--" in argv else len(argv)
    options, words = parser.parse_known_args(argv[:end])
    for word in words:
        if re.fullmatch(r"-(?!\d+(?:\.\d+)?$)\S+", word):  # an option, not a negative number
            advice = _suggest_flag(word, name, verb)
            typed = spellings.spell_verb(name) or name
            raise UsageError("unknown option '%s' of %s; %s" % (clip_input(word), typed, advice))
    words += argv[end + 1 :]
    _refuse_repeated_options(verb, argv[:end])
    if options.args_from_stdin:
        options_in_text, text = split_options(read_stdin(), verb)
        text = spellings.OPTIONS.get(name, {}).get(text, text)
        _refuse_repeated_options(verb, [*argv[:end], *options_in_text])
        parser.parse_known_args(options_in_text, options)
        words += [text] if text else []
    call = Call(name, options, words, env, now)
    call.argv += argv
    return call


def _refuse_repeated_options(verb: Verb, argv: Sequence[str]) -> None:
    given = [word.partition("=")[0] for word in argv]
    for option in verb.options:
        repeatable = not option.has_value or "action" in option.rest
        if given.count(option.flag) > 1 and not repeatable:
            raise UsageError("%s is given twice; say it once" % option.flag)


def refuse_foreign_options(verb: Verb, call: Call) -> None:
    """Raise UsageError for an option of another part of the verb."""
    word = call.words[0] if call.words else "list"
    if word not in verb.parts:
        return
    name, allowed = spellings.spell_verb(call.verb), verb.parts[word].flags.split()
    for option in verb.options:
        flag = option.flag
        if getattr(call.options, option.name) and flag not in allowed:
            takers = [
                "`%s %s`" % (name, other)
                for other, part in sorted(verb.parts.items())
                if flag in part.flags.split()
            ]
            message = "%s %s takes no %s; that is for %s"
            raise UsageError(message % (name, word, flag, ", ".join(takers[:3])))


def _suggest_flag(word: str, name: str, verb: Verb) -> str:
    """Return advice with the option most similar to an unknown word."""
    flags = [option.flag for option in (*verb.options, JSON)]
    if word[1] != "-":  # one letter resembles every option that holds it
        flags = [flag for flag in flags if flag == SHORT_FLAGS.get(word[:2])]
        word = flags[0] if flags else word
    return suggest_word(
        word.partition("=")[0],
        flags,
        "`%s --help` lists them; `--` goes before plain text" % spellings.format_command(name),
    )


def split_options(raw: str, verb: Verb) -> tuple[list[str], str]:
    """Split a text into (options as an argv, remaining text).

    Only known `--options` with a valid value count; a value with blanks must be in quotes. Other
    quotes, `$(…)`, `;` and anything else are text. In prose an option counts only at the beginning
    or the end.
    """
    known = {option.flag: option for option in (*verb.options, JSON)}
    words = list(WORD.finditer(raw))
    # (index of an option's first word, index after its last word, the option for argparse)
    spans: list[tuple[int, int, str]] = []
    at = 0
    while at < len(words):
        option, used = _parse_option(known, [word.group() for word in words[at : at + 2]])
        spans += [(at, at + used, option)] if option else []
        at += used
    if verb.prose:
        text = set(range(len(words))).difference(*(range(first, last) for first, last, _ in spans))
        start, end = min(text, default=0), max(text, default=-1)
        spans = [span for span in spans if span[1] <= start or span[0] > end]
    rest, end = [], 0
    for first, last, _ in spans:
        rest.append(raw[end : words[first].start()].strip())
        end = words[last - 1].end()
    rest.append(raw[end:].strip())
    return [option for _, _, option in spans], " ".join(filter(None, rest))


def _parse_option(known: dict[str, Option], words: list[str]) -> tuple[str, int]:
    """Return (option for argparse, number of words read), ("", 1) for text."""
    flag, equals, value = words[0].partition("=")
    option = known.get(flag)
    if option is None:
        return "", 1
    if not option.has_value:
        return "" if equals else flag, 1
    value = value if equals else "".join(words[1:])
    value = value[1:-1] if re.fullmatch(QUOTED, value) else value
    if not value or not _is_valid_value(option, value):
        return "", 1
    return flag + "=" + value, 1 if equals else 2


def _is_valid_value(option: Option, value: str) -> bool:
    try:
        option.rest.get("type", str)(value)
    except (argparse.ArgumentTypeError, ValueError):
        return False
    return True


def make_choice_type(words: Sequence[str]) -> Callable[[str], str]:
    """Return an argparse type that accepts only the given words."""

    def check(word: str) -> str:
        if word not in words:
            advice = suggest_word(word, words, "use one of " + ", ".join(words))
            message = "unknown value '%s'; %s" % (clip_input(word), advice)
            raise argparse.ArgumentTypeError(message)
        return word

    check.words = words  # type: ignore[attr-defined]  # for completion
    return check


def parse_kinds(words: str) -> str:
    """Check a comma-separated list of kinds and remove its spaces."""
    return ",".join(make_choice_type(KINDS)(word.strip()) for word in words.split(","))


parse_kinds.words = KINDS  # type: ignore[attr-defined]


def parse_versions(words: str) -> str:
    """Return a comma-separated list of versions, refusing spaces."""
    for word in words.split(","):
        if len(word.split()) > 1:
            raise argparse.ArgumentTypeError(
                "the version '%s' contains a space; separate several versions with commas"
                % clip_input(word)
            )
    return words


def positive_integer(word: str) -> int:
    """Parse a whole number above 0."""
    if not word.isdigit() or not 0 < int(word) < 1 << 31:
        raise argparse.ArgumentTypeError("'%s' is not a whole number above 0" % clip_input(word))
    return int(word)


def decimal_number(word: str) -> float:
    """Parse a decimal number below 1e9."""
    try:
        number = float(word)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e9:
        raise argparse.ArgumentTypeError("'%s' is not a number" % clip_input(word))
    return number


def opt(form: str, help: str, choices: Sequence[str] = (), **rest: Any) -> Option:
    """Return an option with a value, such as `--limit N`, or one of `choices`."""
    flag, _, metavar = form.partition(" ")
    if metavar:
        rest["metavar"] = metavar
    if choices:
        rest["type"] = make_choice_type(choices)
    return Option(flag, {"help": help, **rest})


def flag(name: str, help: str, **rest: Any) -> Option:
    """Return an option without a value."""
    return Option(name, {"action": "store_true", "help": help, **rest})


JSON = flag("--json", "print JSON")
HIDDEN = (flag("--hook", argparse.SUPPRESS), flag("--args-from-stdin", argparse.SUPPRESS))


# ---- help

FORM_COLUMNS = 24  # of a verb with its words in the list of all verbs
TASKS = (  # (task, its verbs and families, example)
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
# The purpose of each family of verbs.
FAMILIES = {
    "show": "print a record, or what is known of a file or tool",
    "notes": "let a model write a note of each session",
    "record": "write, change, link, share, forget a record",
    "rule": "keep a rule; suggest, list, decide on rules",
    "push": "see or switch off what the model is given",
    "store": "see, check, back up, import, share the whole memory",
    "debug": "measure recall; try what a prompt would get",
}
# Other words that people type for a verb, by verb.
_SYNONYMS = {
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
SYNONYMS = {word: verb for verb, words in _SYNONYMS.items() for word in words.split()}


def suggest_verb(name: str, verbs: Mapping[str, Verb]) -> str:
    """Return advice for an unknown verb, by meaning or spelling.

    A similar spelling never leads to `forget`.
    """
    if name in verbs["index"].words.split("|"):
        return "did you mean 'index %s'?" % name
    if name == "uninstall":
        return "`%s/install.sh --uninstall` does that" % layout.plugin_folder()
    moved = {spellings.spell_verb(row).rpartition(" ")[2]: row for row in spellings.MOVED}
    word = name
    if name not in SYNONYMS:
        known = {*verbs, *moved, *spellings.FAMILIES} - {"forget", ""}
        harmless = [word for word, verb in SYNONYMS.items() if verb != "forget"]
        word = find_closest(name, sorted(known), 0.6) or find_closest(name, harmless, 0.8)
    if not word:
        return "`dayleaf help` lists the commands"
    row, *rest = SYNONYMS.get(word, moved.get(word, word)).split()
    return "did you mean '%s'?" % " ".join((spellings.spell_verb(row) or "dayleaf", *rest))


def unknown_family_word(family: str, given: Sequence[str]) -> UsageError:
    """Return the error for a wrong second word, such as `rule foo`."""
    known = [spellings.spell_verb(row).partition(" ")[2] for row in spellings.FAMILIES[family]]
    if given and given[0][:1] != "-":
        return unknown_word(family, given[0], known)
    return UsageError("%s takes one of %s" % (family, ", ".join(known)))


def format_help(verbs: Mapping[str, Verb], words: Sequence[str]) -> str:
    """Return the help on a verb, part or task, else the overview."""
    words = [word for word in words if word[:1] != "-"]
    name, used = spellings.parse_verb(words) if words else ("", 0)
    if name in verbs:
        return _format_verb_help(name, verbs, words[used:])
    if name in spellings.FAMILIES:
        head = ["usage: dayleaf %s WORD [options]" % name, "", FAMILIES[name], ""]
        end = ["", _OPTIONS_OF % spellings.spell_verb(name)]
        return "\n".join([*head, *_format_family_rows(name, verbs), *end])
    tasks = []
    if len(name) > 2:
        tasks = [
            task
            for task in (*TASKS, PROGRAMS)
            if name.lower() in re.findall(r"\w+", task[0].lower())
        ]
    if name and not tasks and name not in ("help", "all"):
        raise UsageError("no help on '%s'; %s" % (clip_input(name), suggest_verb(name, verbs)))
    return "\n".join(_format_overview(verbs, tasks))


_OPTIONS_OF = "`dayleaf help %s WORD` lists the options of each."


def _format_verb_help(name: str, verbs: Mapping[str, Verb], words: Sequence[str]) -> str:
    verb, part, columns = verbs[name], "".join(words[:1]), _terminal_columns()
    if part in verb.parts:
        return build_parser(name, verb, part, columns).format_help().rstrip("\n")
    parts = [(" ".join((word, row.words)), row.purpose) for word, row in verb.parts.items()]
    lines = _format_rows(parts) + _format_family_rows(name, verbs)
    without_options = verb._replace(options=()) if parts else verb
    text = build_parser(name, without_options, "", columns).format_help().rstrip("\n")
    if lines:
        text = "\n".join([text, "", "words:", *lines, "", _OPTIONS_OF % spellings.spell_verb(name)])
    return text


def _format_family_rows(name: str, verbs: Mapping[str, Verb]) -> list[str]:
    rows = [(word, verbs[row]) for word, row in _list_family(name, verbs)]
    return _format_rows([((word + " " + verb.words).strip(), verb.purpose) for word, verb in rows])


def _list_family(name: str, verbs: Mapping[str, Verb]) -> list[tuple[str, str]]:
    """Return (second word, verb) of each verb of a family."""
    rows = spellings.FAMILIES.get(name, ())
    return [(spellings.spell_verb(row).partition(" ")[2], row) for row in rows if row in verbs]


def _format_overview(verbs: Mapping[str, Verb], tasks: Sequence[tuple[str, str, str]]) -> list[str]:
    usage = "usage: dayleaf [VERB] …; more: `dayleaf help VERB` or `dayleaf help programs`"
    lines = [] if tasks else screen.fold_line(usage, _terminal_columns(), 7)
    for heading, names, example in tasks or TASKS:
        known = [name for name in names.split() if name in verbs or name in FAMILIES]
        rows = [(_format_verb(name, verbs), purpose(name, verbs)) for name in known]
        lines += [heading + ":", *_format_rows(rows)]
        lines += ["", "  $ " + example, ""] if tasks else []
    return lines[:-1] if tasks else lines


def purpose(name: str, verbs: Mapping[str, Verb]) -> str:
    return FAMILIES[name] if name in FAMILIES else verbs[name].purpose


def _format_rows(rows: Sequence[tuple[str, str]]) -> list[str]:
    wide = max(FORM_COLUMNS, min(30, max((len(form) for form, _ in rows), default=0)))
    return [
        line
        for form, purpose in rows
        for line in screen.fold_line(
            "  " + screen.pad(form, wide) + "  " + purpose, _terminal_columns(), wide + 4
        )
    ]


def _terminal_columns() -> int:
    from shutil import get_terminal_size

    return max(40, get_terminal_size().columns)


def _format_verb(name: str, verbs: Mapping[str, Verb]) -> str:
    words = verbs[name].words if name in verbs and name not in FAMILIES else ""
    return (name + " " + words if len(name + words) < FORM_COLUMNS else name + " …").strip()


# ---- completion

# The words in small letters of `add|list ID`, without those in parentheses or after `…`.
_SMALL_WORDS = re.compile(r"(?<![\w#…])[a-z][a-z-]+(?!\w*\))")
# (metavariable, prefix) -> (word, description) of each value
ValueSource = Callable[[str, str], Sequence[tuple[str, str]]]


def list_completions(
    verbs: Mapping[str, Verb], words: Sequence[str], known: ValueSource
) -> list[tuple[str, str]]:
    """Return (completion, description) pairs for the last word.

    Empty where a shell completes files. words: those after the program's name; the last may be
    empty. known: the store's values of a metavariable: records for ID, settings for KEY.
    """
    typed, before = words[-1] if words else "", list(words[:-1])
    rows = _list_candidates(verbs, before, typed, known)
    return [row for row in rows if row[0].startswith(typed)]


def _list_candidates(
    verbs: Mapping[str, Verb], before: list[str], typed: str, known: ValueSource
) -> Sequence[tuple[str, str]]:
    """Return (word, description) of the words that may come next."""
    if before in ([], ["help"]):
        first = [name for name in verbs if name not in spellings.MOVED]
        rows = [(name, purpose(name, verbs)) for name in dict.fromkeys((*first, *FAMILIES))]
        return rows if before else [*rows, ("help", "list the commands")]
    name, used = spellings.parse_verb(before)
    family = [(word, verbs[row].purpose) for word, row in _list_family(name, verbs)]
    if name not in verbs:
        return family
    verb, before = verbs[name], before[used - 1 :]
    part = verb.parts.get("".join(before[1:2]))
    options = {option.flag: option for option in _list_visible_options(verb, part)}
    option = options.get(before[-1])
    if option and option.has_value:
        return _list_values(option, typed, known)
    if typed[:1] == "-":
        return [(flag, str(option.rest["help"])) for flag, option in options.items()]
    if before[1:]:
        return _list_ids(part.words if part else verb.words, typed, known)
    return [*_list_arguments(verb, typed, known), *family]


def _list_visible_options(verb: Verb, part: Part | None) -> list[Option]:
    options = (*_select_options(verb, part), JSON)
    return [option for option in options if option.rest["help"] != argparse.SUPPRESS]


def _list_values(option: Option, typed: str, known: ValueSource) -> Sequence[tuple[str, str]]:
    choices = getattr(option.rest.get("type"), "words", ())
    wanted = "SESSION" if option.flag == "--session" else str(option.rest.get("metavar"))
    return [(word, "") for word in choices] or known(wanted, typed)


def _list_arguments(verb: Verb, typed: str, known: ValueSource) -> Sequence[tuple[str, str]]:
    rows = [(word, part.purpose) for word, part in verb.parts.items()]
    if not rows:
        rows = [(word, "") for word in _SMALL_WORDS.findall(verb.words.partition(" ID")[0])]
    fits = any(word.startswith(typed) for word, _ in rows)
    return rows if fits else _list_ids(verb.words, typed, known)


def _list_ids(pattern: str, typed: str, known: ValueSource) -> Sequence[tuple[str, str]]:
    words = re.findall(r"[A-Z]+", pattern)
    if {"ID", "FROM", "TO"}.intersection(words):
        return known("ID", typed)
    return known("KEY", typed) if "KEY" in words else []
