"""The options of a verb: declared, read from the command line, checked, and found within text that a person typed."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, Callable, NoReturn

from memory.core import UsageError, layout
from memory.terminal import screen
from memory.terminal.call import Call, Option, Verb, nearest, read_stdin, shown

KINDS = tuple(layout.FOLDERS)
TYPES = ("doc", "script", "both")
PROVIDERS = ("auto", "claude", "gemini", "ollama", "command", "extract", "none")
QUOTED = r""""[^"]*"|'[^']*'"""
# A word that a person typed.  Quotes count where it begins, or behind an option's `=`, up to where it ends: `what's` is text.
WORD = re.compile(r"(?:--[\w-]+=)?(?:%s)(?!\S)|\S+" % QUOTED)
# Letters that other programs have for the same.
SHORT = {"-n": "--limit", "-k": "--kind", "-t": "--tag", "-s": "--since", "-o": "--out", "-y": "--yes", "-v": "--version"}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message.replace("argument ", "", 1))

    def format_help(self) -> str:
        """Fold the help to the terminal's columns; argparse folds all of it but a usage that it is given."""
        from shutil import get_terminal_size

        usage, columns = self.usage or "", max(40, get_terminal_size().columns)
        self.usage = "\n".join(screen.folded("usage: " + usage, columns, len("usage: ")))[len("usage: "):]
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
        if re.fullmatch(r"-(?!\d+(?:\.\d+)?$)\S+", word):
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


def lenient(raw: str, verb: Verb) -> tuple[list[str], str]:
    """Separate a verb's options from text that a person typed: (options as an argv, the rest as it stands).

    Only known `--options` with a fitting value count, and a value with blanks stands in quotes; other quotes, `$(…)`, `;`
    and anything else is text.  In prose an option counts at the beginning or the end alone.
    """
    known = {flag: option for option in (*verb.options, JSON) for flag in option.flags if flag.startswith("--")}
    words = list(WORD.finditer(raw))
    spans: list[tuple[int, int, str]] = []  # an option's first word, the word after it, how argparse reads it
    at = 0
    while at < len(words):
        said, used = _option(known, [word.group() for word in words[at:at + 2]])
        spans += [(at, at + used, said)] if said else []
        at += used
    if verb.prose:
        text = set(range(len(words))).difference(*(range(first, last) for first, last, _ in spans))
        spans = [span for span in spans if not text or span[1] <= min(text) or span[0] > max(text)]
    rest, end = [], 0
    for first, last, _ in spans:
        rest.append(raw[end:words[first].start()].strip())
        end = words[last - 1].end()
    return [said for _, _, said in spans], " ".join(part for part in [*rest, raw[end:].strip()] if part)


def _option(known: dict[str, Option], words: list[str]) -> tuple[str, int]:
    """Read one or two words as an option: (it with its value as one word, how many it takes), ("", 1) where they are text."""
    flag, equals, value = words[0].partition("=")
    option = known.get(flag)
    if option is None:
        return "", 1
    if option.rest.get("action", "append") != "append":
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
    """Make the type of an option that takes one of `words`."""
    def check(word: str) -> str:
        if word not in words:
            raise argparse.ArgumentTypeError("unknown value '%s'; %s" % (
                shown(word), nearest(word, words, "use one of " + ", ".join(words))))
        return word

    return check


def kinds(words: str) -> str:
    """Check a list of kinds, with commas between them."""
    return ",".join(choice(KINDS)(word.strip()) for word in words.split(","))


def versions(words: str) -> str:
    """Check a list of versions, with commas between them."""
    for word in words.split(","):
        if len(word.split()) > 1:
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
