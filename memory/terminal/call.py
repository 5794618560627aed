"""One call of the command line: its options, words and place, and how it answers."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from memory.core import (
    DayleafError,
    UsageError,
    boundary,
    clock,
    config,
    files,
    frontmatter,
    layout,
    plaintext,
    spellings,
)
from memory.terminal import screen

T = TypeVar("T")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.records import Record
    from memory.store.store import Store

TEXT_LIMIT = 8 << 20  # bytes read from stdin
STATES = {"pending": "waits for review"}  # of a rule or script, in words where they differ
REVIEW = "decide with `dayleaf review` in your own terminal"  # on what waits
TITLE = 80  # characters of a title taken from the text
# What JSON leaves alone and a terminal does not: C1 controls, bidirectional and line separators.
_UNSAFE = {
    code: "\\u%04x" % code
    for low, high in (
        (0x7F, 0x9F),
        (0x61C, 0x61C),
        (0x200E, 0x200F),
        (0x2028, 0x202E),
        (0x2066, 0x2069),
        (0xFEFF, 0xFEFF),
        (0xD800, 0xDFFF),
    )
    for code in range(low, high + 1)
}


class Option(NamedTuple):
    """An option of a verb.

    rest: keywords for argparse.
    """

    flag: str
    rest: dict[str, Any]

    @property
    def name(self) -> str:
        """The attribute of a call's options that holds its value."""
        return str(self.rest.get("dest") or self.flag[2:]).replace("-", "_")

    @property
    def has_value(self) -> bool:
        """Whether a value follows it."""
        return bool(self.rest.get("action", "append") == "append")


class Part(NamedTuple):
    """A verb's form with a given first word.

    words: the words after it. flags: the verb's options that it takes.
    """

    words: str
    purpose: str
    flags: str = ""


class Verb(NamedTuple):
    """A verb of the command line.

    module: of `cli`, with its function. words: in the help. prose: its words are free text, in
        which only a leading or trailing option counts where the text comes from stdin. parts: by
        first word, where each has options of its own; the word `list` may be left out.
    """

    module: str
    words: str
    purpose: str
    options: tuple[Option, ...] = ()
    prose: bool = False
    parts: Mapping[str, Part] = {}


class Call:
    """One call of the command line.

    Place and settings are found on first use.
    """

    def __init__(
        self,
        verb: str,
        options: argparse.Namespace,
        words: list[str],
        env: dict[str, str],
        now: float,
    ):
        self.verb, self.options, self.words, self.env, self.now = verb, options, words, env, now
        self.argv: list[str] = [verb]  # as it was typed
        self.said = ""  # what stdin held, once it was read
        self.changed: list[str] = []  # names of records written, to be told to the index
        self._place: layout.Place | None = None
        self._settings: config.Config | None = None

    @property
    def place(self) -> layout.Place:
        """The workspace of the current directory."""
        if self._place is None:
            try:
                here = os.getcwd()
            except OSError:
                raise UsageError(
                    "the current directory no longer exists; cd to another one"
                ) from None
            # where a session started; its shell may have moved on
            session = self.env.get("CLAUDE_PROJECT_DIR", "")
            inside = session.startswith("/") and files.inside(here, session)
            self._place = layout.locate(self.env, session if inside else here)
            begun = not self._place.git or files.is_folder(self._place.private)
            if not begun and not self._place.claimed:
                self.look_for_past()
            if self._place.due or self._place.claimed:
                from memory.project import adoption

                self._place = adoption.adopt(self._place, self.now)
        return self._place

    def look_for_past(self) -> None:
        """Report once that a repository's memory is another workspace's."""
        from memory.project import adoption

        place = self.place
        asked = adoption.offered(place)
        try:
            key = adoption.look_for_past(place)
        except OSError:
            return
        if key and not asked:
            warn(
                "this repository %s %s, whose memory is not shown here; if it is the same "
                "project, run `dayleaf store workspace claim` in a terminal"
                % (layout.reason_of(place, key), key)
            )

    @property
    def offset(self) -> float:
        """The seconds that local time is ahead of UTC."""
        return clock.local_offset(self.now)

    def instant(self, said: str, end: bool = False) -> float:
        """Return the time that words such as `3d` or `yesterday` name.

        end: of the day or hour they name, not its beginning. Raises UsageError.
        """
        from memory.recall import timewords

        return timewords.instant(said, self.now, self.offset, end)

    def part(self, parts: Mapping[str, T], first: str = "list") -> tuple[T, list[str]]:
        """Return the value of the first word, and the words after it.

        first: the word where none is given. Raises UsageError for an unknown one.
        """
        word, *rest = self.words or [first]
        if word not in parts:
            raise unknown_word(self.verb, word, parts)
        return parts[word], rest

    def caller(self) -> str:
        """Return the kind of caller, from store/authority.py."""
        from memory.store import authority

        return authority.who(self.env, os.getppid())

    def require(self, options: Sequence[Option], caller: str = "") -> None:
        """Refuse an action that the caller may not take.

        See authority.py. options: those of the verb. caller: instead of the present one. Raises
            UsageError.
        """
        from memory.store import authority

        caller = caller or self.caller()
        if caller == authority.PERSON:
            return
        given: dict[str, str] = {}
        for option in options:
            value = getattr(self.options, option.name)
            if value not in (None, False, ""):
                given[option.flag] = str(value)
        refused = authority.refusal(caller, self.verb, self.words, given, self._is_inside)
        if refused:
            raise UsageError(refused)

    def _is_inside(self, path: str) -> bool:
        return files.inside(os.path.abspath(os.path.expanduser(path)), self.place.root)

    @property
    def settings(self) -> config.Config:
        """The settings in force."""
        if self._settings is None:
            self._settings = config.for_place(self.place, self.env)
        return self._settings

    def store(self) -> Store:
        """Open the records; written ones are remembered in `changed`."""
        store = self.store_of(self.place)
        if files.exists(self.place.private + layout.MOVING):
            from memory.project import sharing

            sharing.heal(store)
        return store

    def store_of(self, place: layout.Place) -> Store:
        """Open the records of a place.

        A session may not change a person's records.
        """
        from memory.store import authority
        from memory.store.store import Store

        keeps = authority.is_persons if self.caller() == authority.SESSION else None
        told = self.changed.append if place.key == self.place.key else None
        return Store(place, self.settings, self.now, told, keeps)

    def text(self, kept: bool = True) -> str:
        """Return the words as one text, or the text of stdin.

        stdin for `-`, or for no words where stdin is no terminal. kept: see `read_stdin`.
        """
        if self.words == ["-"] or (not self.words and not sys.stdin.isatty()):
            return self.stdin(kept)
        return " ".join(self.words)

    def stdin(self, kept: bool = True) -> str:
        """Return the text of stdin.

        kept: see `read_stdin`.
        """
        self.said = self.said or read_stdin(kept)
        return self.said

    def one(self, what: str) -> str:
        """Return the only word.

        Raises UsageError for none or several.
        """
        if len(self.words) != 1:
            raise UsageError(
                "%s takes one %s, not %d words"
                % (spellings.spelled(self.verb), what, len(self.words))
            )
        return self.words[0]

    def style(self) -> screen.Style:
        """Return the style of stdout.

        Colours only on a terminal that wants them, with all its columns; elsewhere nothing is cut.
        """
        from shutil import get_terminal_size

        tty = sys.stdout.isatty()
        colour = tty and not self.env.get("NO_COLOR") and self.env.get("TERM") != "dumb"
        return screen.Style(
            max(40, get_terminal_size((100, 24)).columns) if tty else 100, colour, tty
        )

    def spinner(self, step: str) -> screen.Spinner:
        """Return a spinner for a step, shown after a second."""
        return screen.Spinner(step, sys.stderr.isatty() and self.env.get("TERM") != "dumb")

    def answer(self, value: Any, lines: Iterable[str]) -> int:
        """Print the value with --json, else the lines."""
        if self.options.json:
            print(to_json(value))
        else:
            print("\n".join(lines))
        # a full disk or closed pipe ends the command here, and nothing else is said
        sys.stdout.flush()
        return 0

    def indexed(self) -> None:
        """Add the written records to the index, for the next prompt."""
        if self.changed:
            indexed(self.place, self.now, self.changed)


def indexed(place: layout.Place, now: float, names: list[str], few: int = 256) -> None:
    """Add the written records to the index.

    A failure is a warning, and only leaves the index stale. few: the most names refreshed one by
    one; for more, all files are compared.
    """
    from memory.index import builder

    try:
        if names:
            builder.refresh(place, now, names if len(names) <= few else None)
    except (OSError, DayleafError) as error:
        warn("written, but not indexed (%s); `dayleaf index refresh` indexes it" % error)


def warn(message: str) -> None:
    """Print one line for the user on stderr."""
    print("dayleaf: " + plaintext.one_line(message), file=sys.stderr, flush=True)


def nearest(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return "did you mean …?" with the nearest valid word.

    otherwise: returned where no word is near.
    """
    found = closest(word, known)
    return "did you mean '%s'?" % found if found else otherwise


def closest(word: str, known: Iterable[str], least: float = 0.5) -> str:
    """Return the valid word nearest to a wrong one, or "".

    least: similarity of two words.
    """
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), 1, least)), "")


def unknown_word(verb: str, word: str, known: Iterable[str], otherwise: str = "") -> UsageError:
    """Return the error for a word that a verb does not know.

    otherwise: the text where no known word is near.
    """
    known, verb = list(known), spellings.spelled(verb)
    return UsageError(
        "`%s` does not take '%s'; %s"
        % (verb, shown(word), nearest(word, known, otherwise or "use one of " + ", ".join(known)))
    )


def shown(word: str) -> str:
    """Return a person's input, clipped for a message."""
    return plaintext.one_line(word)[:60]


def read_stdin(kept: bool = True) -> str:
    """Return stdin as text.

    kept: the text is stored, so no byte of it may be lost. Raises UsageError for more than
        TEXT_LIMIT bytes, or bytes that are not UTF-8; else see `question_text`.
    """
    data = sys.stdin.buffer.read(TEXT_LIMIT + 1)
    if not kept:
        return question_text(data[:TEXT_LIMIT])
    if len(data) > TEXT_LIMIT:
        raise UsageError("stdin holds more than %d MB; split it" % (TEXT_LIMIT >> 20))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        said = "stdin line %d: %s; convert it first, such as `iconv -f %s -t UTF-8`"
        raise UsageError(said % unread(data, error.start)) from None


def question_text(data: bytes) -> str:
    """Return stdin's text that is only searched for.

    Bytes that are not UTF-8 are read as Latin-1, with a warning.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        said = "stdin line %d: %s; it was read as %s"
        line, what, name = unread(data, error.start)
        warn(said % (line, what, name))
        return data.decode(name, "replace")


def unread(data: bytes, at: int) -> tuple[int, str, str]:
    """Return line, description and likely encoding of non-UTF-8 bytes.

    The line of the first such byte.
    """
    if frontmatter.undecodable(data):
        return 1, "no UTF-8 text", "UTF-16"
    return data.count(b"\n", 0, at) + 1, "bytes that are not UTF-8", "LATIN1"


def to_json(value: Any) -> str:
    """Return a value as one line of JSON, safe for a terminal."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str
    ).translate(_UNSAFE)


def author(call: Call) -> str:
    """Return the author of a write: `agent` inside an agent's shell."""
    by_model = boundary.is_agent(call.env) and not boundary.is_typed(call.env)
    return "agent" if by_model else "human"


def first_clause(said: str) -> str:
    """Return the first sentence of a text as a title.

    At most TITLE characters.
    """
    # marks of markdown; the dash of an option stays
    bare = re.sub(r"^(?:[#>*-]+(?=\s)|\s+)+", "", said)
    line = re.split(r"(?<=[.!?;])\s|[。！？]|\n", bare, maxsplit=1)[0]
    line = plaintext.one_line(line).rstrip(".;。 ")
    return plaintext.at_word(line, TITLE)


def report_written(call: Call, kept: Record, done: str, said: str | None = None) -> int:
    """Report a written record and its path.

    said: the text of which it was written now; told is what was removed from that alone.
    """
    if call.options.hook:
        from memory.hook import fence

        print(
            fence.block(
                call.verb,
                [
                    "%s: [%s] %s, %s"
                    % (
                        done,
                        kept.id,
                        fence.clean(plaintext.one_line(kept.title)),
                        call.place.path(kept.name),
                    )
                ],
            )
        )
        return 0
    from memory.recall.hit import record_json

    mark = "[redacted:"
    removed = said is not None and max(kept.title.count(mark), kept.body.count(mark)) > said.count(
        mark
    )
    secret = ["a secret was removed from it"] * removed
    return call.answer(
        {**record_json(kept), "path": call.place.path(kept.name)},
        [
            "%s %s  %s" % (done, kept.id, plaintext.one_line(kept.title)),
            "  " + call.place.path(kept.name),
            *("  " + line for line in secret),
        ],
    )


def session_of(call: Call) -> str:
    """Return the id of the call's session, or ""."""
    return layout.safe_id(
        getattr(call.options, "session", "") or call.env.get("CLAUDE_CODE_SESSION_ID", "")
    )


def tier_of(call: Call) -> str:
    """Return the tier of --global or --shared, else the private one.

    Raises UsageError for both.
    """
    if call.options.tier_global and call.options.shared:
        raise UsageError("--global and --shared exclude each other; use one")
    return (
        layout.GLOBAL
        if call.options.tier_global
        else layout.SHARED
        if call.options.shared
        else layout.PRIVATE
    )


def need_person(call: Call, of: str, typed: str) -> None:
    """Refuse a decision without a person at a terminal.

    And in an agent's shell.

    of: the subject of the decision, such as `a rule`. typed: the words after `dayleaf` for the
        person to type. Raises UsageError.
    """
    if boundary.is_agent(call.env) or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "only a person decides on %s: run `dayleaf %s` in your own terminal" % (of, typed)
        )


def ask_choice(ways: Sequence[str]) -> str:
    """Ask on the terminal; return the first valid answer.

    ways: words with first letters of their own, which may be typed instead; the last one leaves, as
        does the end of input.  Where one of them is `reject`, `no` means it, and `yes` the first.
    """
    meant = {"yes": ways[0], "y": ways[0], "no": "reject", "n": "reject"}
    letters = " ".join("[%s]%s" % (way[0], way[1:]) for way in ways)
    while True:
        line = _answer_to(letters + ": ")
        said = line.strip().lower() if line else ways[-1]
        said = meant.get(said, said)
        for way in ways:
            if said in (way, way[0]):
                return way
        warn(
            "'%s' is not an answer; type one of %s"
            % (shown(said), ", ".join("%s (%s)" % (way[0], way) for way in ways))
        )


def _answer_to(question: str) -> str:
    """Ask on the terminal; return the line typed after the question, "" at the end of input.

    What was typed before it was seen answers nothing.
    """
    if sys.stdin.isatty():
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()


def print_decision(call: Call, done: str, id: str, title: str) -> None:
    """Print a decision as soon as it holds.

    An interrupt then leaves no doubt. With --json it goes to stderr.
    """
    print(
        "%s %s  %s" % (done, plaintext.one_line(id), plaintext.one_line(title)),
        file=sys.stderr if call.options.json else sys.stdout,
        flush=True,
    )


def finish_decisions(call: Call, done: Sequence[Any], nothing: str) -> int:
    """Finish a command whose decisions `print_decision` has printed.

    With --json prints all of them; nothing: the text where there are none.
    """
    return 0 if done and not call.options.json else call.answer(done, [nothing + " was decided on"])


def ask_line(question: str) -> str:
    """Return what a person answers on the terminal, in small letters."""
    return _answer_to(question).strip().lower()


def ask_confirmation(question: str, short: bool = False, otherwise: bool = False) -> bool:
    """Tell whether the person confirms; without a terminal nobody does.

    short: accept `y` for `yes`.  otherwise: the answer that an empty line gives.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    reply = _answer_to(question)
    if reply.strip() == "":
        return otherwise and reply != ""
    return reply.strip().lower() in (("y", "yes") if short else ("yes",))
