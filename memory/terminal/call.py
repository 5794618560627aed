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
from memory.store import permissions
from memory.terminal import screen

T = TypeVar("T")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.records import Record
    from memory.store.store import Store

TEXT_LIMIT = 8 << 20  # bytes read from stdin
STATES = {"pending": "waits for review"}  # of a rule or script, in other words for a person
REVIEW = "decide with `dayleaf review` in your own terminal"
TITLE_LENGTH = 80  # characters
# Characters that JSON permits and a terminal obeys: C1 controls, bidirectional marks, separators.
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
        """The attribute of the parsed options that holds the option's value."""
        return str(self.rest.get("dest") or self.flag[2:]).replace("-", "_")

    @property
    def has_value(self) -> bool:
        """Whether a value follows the option."""
        return bool(self.rest.get("action", "append") == "append")


class Part(NamedTuple):
    """A form of a verb, chosen by its first word, such as `rule list`.

    words: the words after it. flags: the verb's options that it takes.
    """

    words: str
    purpose: str
    flags: str = ""


class Verb(NamedTuple):
    """A verb of the command line.

    module: of `cli`, with its function. words: in the help. prose: its words are free text, in
        which only a leading or trailing option counts. parts: by first word, where each has
        options of its own; the word `list` may be left out.
    """

    module: str
    words: str
    purpose: str
    options: tuple[Option, ...] = ()
    prose: bool = False
    parts: Mapping[str, Part] = {}


class Call:
    """One call of the command line; place and settings load lazily."""

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
        self.stdin_text = ""  # read once
        self.changed: list[str] = []  # names of written records that are not indexed yet
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
            inside = session.startswith("/") and files.is_inside(here, session)
            place = layout.locate(self.env, session if inside else here)
            layout.refuse_lost(place.private)
            self._place = place
            if place.git and not place.claimed and not files.is_folder(place.private):
                self.warn_of_known_project()
            if place.due or place.claimed:
                from memory.project import adoption

                self._place = adoption.adopt(place, self.now)
        return self._place

    def warn_of_known_project(self) -> None:
        """Warn once that another workspace holds this repository's memory."""
        from memory.project import adoption

        place = self.place
        already_offered = layout.find_unproved(place)
        key = adoption.find_past_workspace(place)
        if key and not already_offered:
            warn(layout.format_offer(place, key))

    @property
    def offset(self) -> clock.Offset:
        """A function that returns local time's offset from UTC."""
        return clock.local_offset

    def parse_time(self, words: str, end: bool = False) -> float:
        """Return the instant that words such as `yesterday` name: its start or `end`."""
        from memory.recall import timewords

        return timewords.parse_instant(words, self.now, self.offset, end)

    def choose_part(self, parts: Mapping[str, T], first: str = "list") -> tuple[T, list[str]]:
        """Look the first word up in a table; return its value and the other words.

        first: the word where none is given.
        """
        word, *rest = self.words or [first]
        if word not in parts:
            raise unknown_word(self.verb, word, parts)
        return parts[word], rest

    def caller(self) -> str:
        """Return the kind of caller, as store/permissions.py names it."""
        return permissions.identify_caller(self.env, os.getppid())

    def require(self, options: Sequence[Option], caller: str = "") -> None:
        """Raise UsageError for an action that the caller may not take.

        options: those of the verb. caller: instead of the present one.
        """
        caller = caller or self.caller()
        if caller == permissions.PERSON:
            return
        values = {option.flag: getattr(self.options, option.name) for option in options}
        given = {
            flag: str(value) for flag, value in values.items() if value not in (None, False, "")
        }
        refused = permissions.explain_refusal(caller, self.verb, self.words, given, self._is_inside)
        if refused:
            raise UsageError(refused)

    def _is_inside(self, path: str) -> bool:
        return files.is_inside(os.path.abspath(os.path.expanduser(path)), self.place.root)

    @property
    def settings(self) -> config.Config:
        if self._settings is None:
            self._settings = config.load_for_place(self.place, self.env)
            self._settings.masked = self.caller() != permissions.PERSON
        return self._settings

    def store(self) -> Store:
        """Open the place's records; `changed` collects the written ones."""
        store = self.open_store(self.place)
        if files.exists(self.place.private + layout.MOVING):
            from memory.project import sharing

            sharing.finish_move(store)
        return store

    def open_store(self, place: layout.Place) -> Store:
        """Open a place's records; a session may not change a person's."""
        from memory.store.store import Store

        is_protected = (
            permissions.is_approved_by_person if self.caller() == permissions.SESSION else None
        )
        on_write = self.changed.append if place.key == self.place.key else None
        return Store(place, self.settings, self.now, on_write, is_protected)

    def text(self, kept: bool = True) -> str:
        """Return the call's words as one text, or the text of stdin.

        stdin for `-`, or without words where stdin is no terminal. kept: see `read_stdin`.
        """
        if self.words == ["-"] or (not self.words and not sys.stdin.isatty()):
            return self.read_stdin(kept)
        return " ".join(self.words)

    def read_stdin(self, kept: bool = True) -> str:
        """Return the text of stdin, `kept` as in the function `read_stdin`."""
        self.stdin_text = self.stdin_text or read_stdin(kept)
        return self.stdin_text

    def single_word(self, what: str) -> str:
        """Return the only word; raise UsageError for none or several."""
        if len(self.words) != 1:
            message = "%s takes one %s, not %d words"
            raise UsageError(message % (spellings.spell_verb(self.verb), what, len(self.words)))
        return self.words[0]

    def list_given(self, names: Iterable[str]) -> list[str]:
        """Return which of some options were given, such as `--dry-run`."""
        return ["--" + name.replace("_", "-") for name in names if getattr(self.options, name)]

    def style(self) -> screen.Style:
        """Return the style of stdout, for a terminal or a file."""
        from shutil import get_terminal_size

        if not sys.stdout.isatty():
            return screen.Style(cut=False)
        colour = not self.env.get("NO_COLOR") and self.env.get("TERM") != "dumb"
        return screen.Style(max(40, get_terminal_size((100, 24)).columns), colour)

    def spinner(self, step: str) -> screen.Spinner:
        return screen.Spinner(step, sys.stderr.isatty() and self.env.get("TERM") != "dumb")

    def answer(self, value: Any, lines: Iterable[str]) -> int:
        """Print the value with --json, else the lines; return 0."""
        text = to_json(value) if self.options.json else "\n".join(lines)
        if self.settings.masked:
            from memory.store import redactor

            text = redactor.clean_file_names(text, self.settings, self.place.key)
        print(text)
        # a full disk or closed pipe ends the command here, and nothing else is said
        sys.stdout.flush()
        return 0

    def indexed(self) -> None:
        """Add the written records to the index, for the next prompt."""
        if self.changed:
            refresh_index(self.place, self.now, self.changed)


def refresh_index(place: layout.Place, now: float, names: list[str], few: int = 256) -> None:
    """Add written records to the index; a failure only warns.

    few: the most names that are refreshed one by one; for more, all files are compared.
    """
    from memory.index import builder

    try:
        if names:
            builder.refresh(place, now, names if len(names) <= few else None)
    except (OSError, DayleafError) as error:
        warn("written, but not indexed (%s); `dayleaf index refresh` indexes it" % error)


def warn(message: str) -> None:
    """Print one line on stderr."""
    print("dayleaf: " + plaintext.one_line(message), file=sys.stderr, flush=True)


def suggest_word(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return "did you mean …?" with the most similar word, else `otherwise`."""
    closest = find_closest(word, known)
    return "did you mean '%s'?" % closest if closest else otherwise


def find_closest(word: str, known: Iterable[str], least: float = 0.5) -> str:
    """Return the most similar known word, "" for none above `least`."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), 1, least)), "")


def unknown_word(verb: str, word: str, known: Iterable[str], otherwise: str = "") -> UsageError:
    """Return the error for an unknown word of a verb.

    otherwise: the advice if no known word is similar.
    """
    known = list(known)
    advice = suggest_word(word, known, otherwise or "use one of " + ", ".join(known))
    message = "`%s` does not take '%s'; %s"
    return UsageError(message % (spellings.spell_verb(verb), clip_input(word), advice))


def clip_input(word: str) -> str:
    """Return a person's input in one line of at most 60 characters."""
    return plaintext.one_line(word)[:60]


def read_stdin(kept: bool = True) -> str:
    """Return stdin as text.

    kept: the text is stored, so no byte may be lost: UsageError for more than TEXT_LIMIT bytes or
        other bytes than UTF-8. Else see `decode_question`.
    """
    data = sys.stdin.buffer.read(TEXT_LIMIT + 1)
    if not kept:
        return decode_question(data[:TEXT_LIMIT])
    if len(data) > TEXT_LIMIT:
        raise UsageError("stdin holds more than %d MB; split it" % (TEXT_LIMIT >> 20))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault, encoding = _describe_encoding_fault(data, error.start)
        message = "%s; convert it first, such as `iconv -f %s -t UTF-8`"
        raise UsageError(message % (fault, encoding)) from None


def decode_question(data: bytes) -> str:
    """Decode a question as UTF-8, else as Latin-1 with a warning."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault, encoding = _describe_encoding_fault(data, error.start)
        warn("%s; it was read as %s" % (fault, encoding))
        return data.decode(encoding, "replace")


def _describe_encoding_fault(data: bytes, at: int) -> tuple[str, str]:
    """Return (description, likely encoding) of the non-UTF-8 byte at an offset."""
    if frontmatter.is_binary(data):
        return "stdin line 1: no UTF-8 text", "UTF-16"
    line = data.count(b"\n", 0, at) + 1
    return "stdin line %d: bytes that are not UTF-8" % line, "LATIN1"


def to_json(value: Any) -> str:
    """Return a value as one line of JSON, safe for a terminal."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str
    ).translate(_UNSAFE)


def find_author(call: Call) -> str:
    """Return the author of a write, `agent` or `human`."""
    by_model = boundary.is_agent(call.env) and not boundary.is_typed_by_person(call.env)
    return "agent" if by_model else "human"


def is_unattended(call: Call) -> bool:
    """Tell whether a program runs the session, by the host's environment."""
    if find_author(call) == "human":
        return False
    from memory.session import entries  # late: few calls are a session's

    return entries.is_program(call.env.get("CLAUDE_CODE_ENTRYPOINT", ""))


def extract_title(text: str) -> str:
    """Return the first sentence of a text as a title."""
    # without markdown's marks; the dash of an option stays
    bare = re.sub(r"^(?:[#>*-]+(?=\s)|\s+)+", "", text)
    line = re.split(r"(?<=[.!?;])\s|[。！？]|\n", bare, maxsplit=1)[0]
    line = plaintext.one_line(line).rstrip(".;。 ")
    return plaintext.clip_at_word(line, TITLE_LENGTH)


def report_written(call: Call, kept: Record, done: str, text: str | None = None) -> int:
    """Print what was done with a record, and its path.

    text: the record was written from it; secrets removed from it are reported.
    """
    path, title = call.place.path(kept.name), plaintext.one_line(kept.title)
    if call.options.hook:
        from memory.hook import fence

        line = "%s: [%s] %s, %s" % (done, kept.id, fence.clean(title), path)
        print(fence.format_block(call.verb, [line]))
        return 0
    from memory.recall.hit import record_json

    lines = ["%s %s  %s" % (done, kept.id, title), "  " + path]
    mark = "[redacted:"
    marks = max(kept.title.count(mark), kept.body.count(mark))
    if text is not None and marks > text.count(mark):
        lines.append("  a secret was removed from it")
    return call.answer({**record_json(kept), "path": path}, lines)


def find_session_id(call: Call) -> str:
    """Return the id of the call's session, or ""."""
    named = getattr(call.options, "session", "")
    return layout.valid_id(named or call.env.get("CLAUDE_CODE_SESSION_ID", ""))


def choose_tier(call: Call) -> str:
    """Return the tier of --global or --shared, else the private one."""
    if call.options.tier_global and call.options.shared:
        raise UsageError("--global and --shared exclude each other; use one")
    if call.options.tier_global:
        return layout.GLOBAL
    return layout.SHARED if call.options.shared else layout.PRIVATE


def require_person(call: Call, subject: str, typed: str) -> None:
    """Raise UsageError unless a person decides at a terminal.

    subject: of the decision, such as `a rule`. typed: the words to type after `dayleaf`.
    """
    if boundary.is_agent(call.env) or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "only a person decides on %s: run `dayleaf %s` in your own terminal" % (subject, typed)
        )


def ask_choice(ways: Sequence[str]) -> str:
    """Ask on the terminal; return the first valid answer.

    ways: the answers, each with its own first letter, which is enough. `yes` means the first, `no`
        means `reject`, the end of input the last; an `n` may mean the next record, and is none.
    """
    letters = " ".join("[%s]%s" % (way[0], way[1:]) for way in ways)
    while True:
        line = _read_reply(letters + ": ")
        reply = line.strip().lower() if line else ways[-1]
        reply = {"y": ways[0], "yes": ways[0], "no": "reject"}.get(reply, reply)
        for way in ways:
            if reply in (way, way[0]):
                return way
        known = ", ".join("%s (%s)" % (way[0], way) for way in ways)
        warn("'%s' is not an answer; type one of %s" % (clip_input(reply), known))


def _read_reply(question: str) -> str:
    """Ask on the terminal; return the line, "" at the end of input.

    Keys typed before the question are dropped.
    """
    if sys.stdin.isatty():
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()


def print_decision(call: Call, done: str, id: str, title: str) -> None:
    """Print a decision at once; with --json, print it on stderr."""
    print(
        "%s %s  %s" % (done, plaintext.one_line(id), plaintext.one_line(title)),
        file=sys.stderr if call.options.json else sys.stdout,
        flush=True,
    )


def finish_decisions(call: Call, done: Sequence[Any], subject: str) -> int:
    """Print all decisions with --json, else a line if there are none.

    subject: begins that line, such as `no rule`.
    """
    return 0 if done and not call.options.json else call.answer(done, [subject + " was decided on"])


def ask_line(question: str) -> str:
    """Ask on the terminal; return the answer in lower case."""
    return _read_reply(question).strip().lower()


def ask_confirmation(question: str, short: bool = False, otherwise: bool = False) -> bool:
    """Ask whether the person confirms, False without a terminal.

    short: accept `y` for `yes`.  otherwise: the meaning of an empty line.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    reply = _read_reply(question)
    if reply.strip() == "":
        return otherwise and reply != ""  # "": the end of input
    return reply.strip().lower() in (("y", "yes") if short else ("yes",))
