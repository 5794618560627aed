"""What words mean on the command line: options, their values, and options within text a person typed."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, Callable, NoReturn

from memory import paths, terminal
from memory.call import Call, Option, Verb, nearest, read_stdin, shown
from memory.errors import UsageError
from memory.records import has_blank

KINDS = tuple(paths.FOLDERS)
# Letters that other programs have for the same.
SHORT = {"-n": "--limit", "-k": "--kind", "-t": "--tag", "-s": "--since", "-o": "--out", "-y": "--yes", "-v": "--version"}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message.replace("argument ", "", 1))

    def format_help(self) -> str:
        """Write the help in the columns that there are; argparse folds all of it but a given usage."""
        from shutil import get_terminal_size

        usage, columns = self.usage or "", max(40, get_terminal_size().columns)
        self.usage = "\n".join(terminal.folded("usage: " + usage, columns, len("usage: ")))[len("usage: "):]
        try:
            return super().format_help()
        finally:
            self.usage = usage


def parser(name: str, verb: Verb) -> _Parser:
    """Make what reads a verb's options and writes its help."""
    usage = " ".join(part for part in ("dayleaf", name, verb.words, "[options]") if part)
    parser = _Parser("dayleaf " + name, usage, verb.purpose, add_help=False, allow_abbrev=False)
    for option in (*verb.options, JSON, *HIDDEN):
        parser.add_argument(*option.flags, **option.rest)
    return parser


def read_call(name: str, verb: Verb, argv: list[str], env: dict[str, str], now: float) -> Call:
    """Read a verb's words into a call; raises UsageError for an option or value that is off."""
    reader = parser(name, verb)
    at = argv.index("--") if "--" in argv else len(argv)
    options, words = reader.parse_known_args(argv[:at])
    for word in words:
        if word[:1] == "-" and len(word) > 1 and not any(c.isspace() for c in word) and not _is_number(word):
            raise UsageError("unknown option '%s' of %s; %s" % (shown(word), name, _nearest_flag(word, name, verb)))
    words += argv[at + 1:]
    if options.args_from_stdin:
        said, rest = lenient(read_stdin(), verb)
        reader.parse_known_args(said, options)
        words += [rest] if rest else []
    return Call(name, options, words, env, now)


def _nearest_flag(word: str, name: str, verb: Verb) -> str:
    """Say which option an unknown one may have been."""
    flags = [flag for option in (*verb.options, JSON) for flag in option.flags]
    if word[1] != "-":  # one letter is like every option that holds it
        flags = [flag for flag in flags if flag == SHORT.get(word[:2])]
        word = flags[0] if flags else word
    return nearest(word.partition("=")[0], flags, "`dayleaf %s --help` lists them, `--` ends them" % name)


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


def choice(words: Sequence[str]) -> Callable[[str], str]:
    """Make the type of an option that takes one of `words`."""
    def check(word: str) -> str:
        if word not in words:
            raise argparse.ArgumentTypeError("unknown value '%s'; %s" % (
                shown(word), nearest(word, words, "use one of " + ", ".join(words))))
        return word

    return check


def kinds(words: str) -> str:
    """Check kinds between commas."""
    return ",".join(choice(KINDS)(word.strip()) for word in words.split(","))


def versions(words: str) -> str:
    """Check versions between commas."""
    for word in words.split(","):
        if has_blank(word):
            raise argparse.ArgumentTypeError("the version '%s' holds a blank; write it without one, several with commas" % (
                shown(word)))
    return words


def whole(word: str) -> int:
    """Read a whole number above 0."""
    if not word.isdigit() or not 0 < int(word) < 1 << 31:
        raise argparse.ArgumentTypeError("'%s' is no number above 0" % shown(word))
    return int(word)


def real(word: str) -> float:
    """Read a number."""
    try:
        number = float(word)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e9:
        raise argparse.ArgumentTypeError("'%s' is no number" % shown(word))
    return number


def opt(*flags: str, **rest: Any) -> Option:
    """Declare an option that takes a value."""
    return Option(flags, rest)


def flag(*flags: str, **rest: Any) -> Option:
    """Declare an option that is there or not."""
    return Option(flags, {"action": "store_true", **rest})


JSON = flag("--json", help="print JSON")
HIDDEN = (flag("--hook", help=argparse.SUPPRESS), flag("--args-from-stdin", help=argparse.SUPPRESS))
