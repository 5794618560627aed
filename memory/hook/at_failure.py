"""A failed call turned into the remedy of an earlier session: walls, their keys, the look-up.

A wall is known by its keys, texts without what varies from run to run: `failure_keys` makes them of
the telling line of a record and of every line of a failure, so that both meet.  No error's text is
ever said: what is said stands in a record.

    x|bash|<line>             a line that tells enough by itself
    x|bash|<line>|<asked>     one that would fit many failures, with the program and its verb, or
                              with the path or name asked for
    x|path|cannot be started  a tool whose own program is gone
    r|<rule>                  a linter's rule by its name
    a|<path>                  a file or folder that is not there

Format of `<scope>.walls`, version 1, written by knowledge/walls.py, ASCII: `dayleaf walls 1 <how
many keys>`; then for each key, sorted, a line of 16 hex of its SHA-256 and ten digits, the offset
of its wall; then the walls, one JSON object a line: sessions (how many met it), met (occurrences,
the best first), and where it is one of these rule (of a linter), path (that is not there) with gone
(whether a session removed it), instead (those that are: [path, source]) and doc ([file, line] of
the project's instructions that name it).  An occurrence:
name and id of its record, session, branch, created (of the record) and at, both instants, size and
sha (16 hex) of so much of the record's text as it was read from, telling (the line), said (the
lines of the remedy).  A source: name, size and sha of a record that tells of the path, null for
none.  Of both a hook says only what still stands in the record's file, and of its head what it
finds there.
"""

from __future__ import annotations

from memory.core import boundary, clock, config, fastjson, files, layout
from memory.hook import receipts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Container, Dict, Iterator, List, Optional, Sequence, Tuple

    from memory.core.layout import Place

    Event = Dict[str, Any]

HEAD = b"dayleaf walls 1 "
ENTRY, ROW_BYTES = 28, 1 << 16  # bytes of a key's line, of a wall's at the most
# of a session, of one report of a linter, above a path
MOST_PUSHES, MOST_RULES, MOST_FOLDERS = 5, 3, 32
RULE = "r|"  # how keys of linters' rules begin
# lines of an error, characters of each, and of what a call was given
MOST_LINES, LINE, MOST_GIVEN = 100, 400, 4096
TOOLS = ("Bash", "Read", "Grep", "Glob", "Skill")
PATHS = ("Read", "Grep", "Glob")  # tools that are given a path
GIVEN = ("command", "file_path", "path", "skill", "pattern")  # what a call is known by
# What the client says of its own rules, what a person or a rule refused, what nobody could know.
OWN = (
    "doesn't want to",
    "does not want to",
    "permission to use",
    "permission for this",
    "haven't granted",
    "requires approval",
    "has been denied",
    "rejected by",
    "interrupted by",
    "[request interrupted",
    "inputvalidationerror",
    "hook error",
    "blocked by",
    "stopped by hook",
    "string to replace",
    "has not been read",
    "modified since read",
    "exceeds maximum",
    "sibling tool call",
    "parallel tool call",
    "illegal operation on a directory",
    "request was aborted",
    "command timed out",
    "no such tool",
    "no changes to make",
    "no task found",
)
_EDGE = "\"'`,.;:!?()[]{}<>…‘’“”"
_OPENERS = (
    "error:",
    "error",
    "warning:",
    "warning",
    "fatal:",
    "e",
    "-",
    "vet:",
    "err",
    "err!",
    "error!",
    "[error]",
    "✗",
    "✘",
    "×",
)
_ABSENT = (
    "no such file or directory",
    "does not exist",
    "directory not found",
    "cannot find the file",
    "cannot find the path",
    "no such directory",
    "enoent",
)
_GENERAL = frozenset(
    "error errors exit code status failed fails failure not found http file files does exist "
    "exists such directory the and for with that this was has could cannot can permission denied "
    "path command unknown unrecognized flag option argument run task line invalid undefined "
    "usage".split()
)
# Programs whose first word is a verb; of the second kind the verb has a verb of its own.
_VERBS = frozenset(
    "git go npm pnpm yarn bun cargo mise make just uv pip pip3 poetry bundle rake mvn gradle "
    "dotnet swift brew apt apt-get systemctl python python3 node deno terraform rustup".split()
)
_DEEP = frozenset("gh glab docker podman kubectl aws gcloud az heroku fly flyctl helm".split())
_LOOKING = frozenset(
    "awk bat cat curl diff echo fd find for gh git grep head jq less ls man printf rg sed sort "
    "tail tree uniq wc which".split()
)  # programs that show what there is
_WRAPPERS = frozenset("sudo time env command exec nohup timeout xargs then do else".split())


# ---- what a wall is known by


def failure_keys(tool: str, given: str, error: str, roots: Sequence[str] = ()) -> List[str]:
    """Return the keys of a failure, each once, in the lines' order.

    tool: of the host.
    given: the command, path, pattern or name given to the tool.
    error: as printed, or the telling line of a record.
    roots: the project's directories, cut off paths.
    """
    found: Dict[str, bool] = {}
    asked: Optional[List[str]] = None
    name = "path" if tool in PATHS else tool.lower()
    for text in error_lines(error):
        path = missing_path(tool, given, text, roots)
        if path:
            found["a|" + path] = True
        elif is_unstartable(text):
            found["x|%s|cannot be started" % name] = True
        placed, ruled, words = words_of(text)
        if not words:
            continue
        if placed:
            found.update(("r|" + rule, True) for rule in _rules(words[0], ruled))
        line = "x|%s|%s" % (name, " ".join(words[:12]))
        if sum(map(_is_telling, words)) >= (1 if placed else 3):
            found[line] = True
        else:
            asked = _call_subjects(tool, given) if asked is None else asked
            found.update((line + "|" + one, True) for one in asked)
    return list(found)


def _rules(first: str, ruled: str) -> List[str]:
    """Return a linter's code in a line's first word, and its rule's name."""
    code = first.upper()
    return [rule for rule in (code.lower() if _is_code(code) else "", ruled) if rule]


def _is_telling(word: str) -> bool:
    return word.isalpha() and len(word) > 2 and word not in _GENERAL


def error_lines(error: str) -> List[str]:
    """Return the distinct lines of an error.

    Of a long error the lines of its start and its end.
    """
    every = (
        error.replace("<tool_use_error>", "")
        .replace("</tool_use_error>", "")
        .replace("\r", "\n")
        .split("\n")
    )
    if len(every) > 4 * MOST_LINES:  # of these are many empty, or code that a linter quotes
        every = every[: 2 * MOST_LINES] + every[-2 * MOST_LINES :]
    lines = list(
        dict.fromkeys(line.strip()[:LINE] for line in every if len(line) > 5 and not line.isspace())
    )
    return (
        lines
        if len(lines) <= MOST_LINES
        else lines[: MOST_LINES * 3 // 5] + lines[-MOST_LINES * 2 // 5 :]
    )


def is_unstartable(line: str) -> bool:
    """Tell whether a line reports a program that could not be started."""
    return "spawn" in line and "ENOENT" in line


def words_of(line: str) -> Tuple[bool, str, List[str]]:
    """Return (whether a line names a place, linter's rule, masked words).

    The rule is the last word, or "".  Masked words lack what varies between runs.  A line that a
    page clipped ends in `…`: its last word is left out, and its rule is "…".
    """
    words = line.split()
    placed = _drop_places(words)
    ruled = ""
    if placed and _ends_with_column(line, words):
        words[-1] = "(%s)" % words[-1].strip("()[]")  # a column of its own
    if words and words[-1].endswith("…"):
        ruled = "…"
        del words[-1]
    if words and _is_test(words[-1]):
        del words[-1]
    rule = _rule_at_end(words)
    if rule:
        ruled = rule if rule.islower() else ruled
        del words[-1:]
    masked = (_masked(word.strip(_EDGE)) for word in words)
    return placed, ruled, [word for word in masked if word]


def _drop_places(words: List[str]) -> bool:
    """Drop what opens a line; tell whether a place was among it."""
    placed = False
    while words and ((here := _is_place(words[0])) or _is_opener(words)):
        placed = placed or here
        del words[0]
    return placed


def _ends_with_column(line: str, words: List[str]) -> bool:
    """Tell whether a line's last word stands apart, as a linter's rule."""
    if len(words) < 3 or not words[-1].islower():
        return False
    return line.rstrip().endswith("  " + words[-1])


def _rule_at_end(words: List[str]) -> str:
    """Return what may be a rule in brackets behind a line, or ""."""
    last = words[-1] if len(words) > 2 else ""
    in_brackets = last[:1] + last[-1:] in ("()", "[]")
    return last[1:-1] if in_brackets and _is_name(last[1:-1]) else ""


def _is_test(word: str) -> bool:
    return word[:5] in ("(Test", "(test") or (word[:1] == "(" and "::" in word)


def _is_name(word: str) -> bool:
    """Tell whether a word may name a linter's rule."""
    return all(
        part.isalnum() for part in word.lstrip("@").replace("/", "-").replace("_", "-").split("-")
    )


def _is_opener(words: List[str]) -> bool:
    """Tell whether a line's first word only says "error" or "failed"."""
    first = words[0].lower()
    of_npm = first == "npm" and len(words) > 2 and words[1].lower() in _OPENERS
    return first in _OPENERS or first[:6] == "error[" or of_npm


def _is_place(word: str) -> bool:
    """Tell whether a word is a place in a file."""
    if word[-2:] == "):" and word[:1] != "(":
        word = word[:-2].replace("(", ":").replace(",", ":")
    parts = word.rstrip(":").split(":")
    numbers = [part for part in parts[1:] if part.isdigit()]
    return (
        bool(numbers)
        and ("." in parts[0] or parts[0][:1] == "(" or parts[0].isdigit())
        and "//" not in word
    )


def _is_code(word: str) -> bool:
    """Tell whether a word is an error's or rule's code."""
    letters = word.rstrip("0123456789")
    return (
        0 < len(letters) < 6
        and letters.isalpha()
        and letters.isupper()
        and 2 < len(word) - len(letters) < 6
    )


def _masked(word: str) -> str:
    """Return a word with its varying parts masked."""
    if "redacted" in word or len(word) > 64:
        return "#"
    # most words, of the hundreds of a report
    if word.isalpha() or not word or _is_code(word):
        return word.lower()
    if word[0] in "/~" or word[1:3] in (":/", ":\\"):
        return "/" + _masked_name(word.replace("\\", "/").rstrip("/").rpartition("/")[2])
    digits = sum(c.isdigit() for c in word)
    return _masked_digits(word, digits) if digits else word.lower()


def _masked_name(name: str) -> str:
    return "#" if any(c.isdigit() for c in name) else name.lower()


def _masked_digits(word: str, digits: int) -> str:
    """Return a word with digits, "#" where they make up most of it."""
    if word.isdigit():
        return word if len(word) == 3 and word[0] in "45" else "#"
    if "=" in word:
        return word.partition("=")[0].lower() + "=#"
    is_mostly_number = word[0].isdigit() or digits * 2 >= len(word)
    if is_mostly_number or len(word) > 15 or not word.lower().strip("0123456789abcdef"):
        return "#"
    return word.lower()


def _call_subjects(tool: str, given: str) -> List[str]:
    """Return the subjects of a tool call."""
    if tool != "Bash":
        end = "/".join(given.replace("\\", "/").rstrip("/").split("/")[-2:]).lower()
        return [end] if end else []
    text = given.replace("\\\n", " ")[:4000]
    for mark in ("&&", "||", ";", "|", "\n", "$("):
        text = text.replace(mark, "\0")
    return list(dict.fromkeys(filter(None, map(program_and_verbs, text.split("\0")[:8]))))


def program_and_verbs(part: str) -> str:
    """Return the program of a shell call with its verbs."""
    words = part.split()
    while words and _stands_before_program(words[0]):
        del words[0]
    if not words:
        return ""
    program = words[0].strip("\"'").rpartition("/")[2].lower()
    if program in ("cd", "echo", "export", "set", "true", "source"):
        return ""
    plain = [word for word in words[1:] if word[:1] != "-"]
    if program in ("gh", "glab") and plain[:1] == ["api"] and plain[1:]:
        return program + " api " + " ".join(_resource(plain[1]))
    return " ".join([program, *_verbs(program, plain)])


def _stands_before_program(word: str) -> bool:
    return "=" in word.partition("/")[0] or word in _WRAPPERS or word[:1] in "-({!"


def _resource(path: str) -> List[str]:
    """Return the first two names in a path of an API, without its owner."""
    steps = path.strip("\"'").partition("?")[0].strip("/").split("/")
    steps = steps[3:] if steps[0] == "repos" else steps
    return [step.lower() for step in steps if step.replace("-", "").isalpha()][:2]


def _verbs(program: str, plain: List[str]) -> List[str]:
    """Return the words without a dash that say what a program does."""
    most = 2 if program in _DEEP else 1 if program in _VERBS else 0
    verbs: List[str] = []
    for word in plain[:most]:
        letters = word.replace("-", "").replace("_", "").replace(":", "")
        if not letters.isalnum() or word[0].isdigit():
            break
        verbs.append(word.lower())
    return verbs


def missing_path(tool: str, given: str, line: str, roots: Sequence[str] = ()) -> str:
    """Return the missing path that a failure's line reports, or "".

    Relative to the project.
    """
    low = line.lower()
    if not any(mark in low for mark in _ABSENT) or is_unstartable(line):
        return ""
    if tool == "Read":
        return relative(given, roots)
    words = [
        word.strip(_EDGE + "‘’") if word[:1] != "." else word.rstrip(_EDGE) for word in line.split()
    ]
    words = [
        word
        for word in words
        if ("/" in word.strip("/") or "." in word.strip(".")) and ":" not in word
    ]
    return relative(max(words, key=len), roots) if words else ""


def relative(path: str, roots: Sequence[str]) -> str:
    """Return a path relative to the project's root.

    Without a final slash.  A path outside the project stays as it is.
    """
    path = path.strip().replace("\\", "/").rstrip("/")
    root = next((root for root in roots if root and path.startswith(root + "/")), "")
    return path[len(root) + 1 :] if root else path[2:] if path.startswith("./") else path


def above(path: str) -> List[str]:
    """Return the folders above a path, the nearest first, 32 at most."""
    parts = path.split("/")
    return [
        "/".join(parts[:n])
        for n in range(len(parts) - 1, max(0, len(parts) - 1 - MOST_FOLDERS), -1)
        if parts[n - 1]
    ]


# ---- the look-up


def path_of(place: Place) -> str:
    """Return the path of a place's look-up of walls."""
    return place.cache + "/" + place.scope + ".walls"


def hash_of(key: str) -> str:
    """Return a key's hash in the look-up, 16 hex digits.

    A session's receipts hold the first 8.
    """
    return files.sha256(key.encode("utf-8", "replace"))[:16]


def entries(fd: int) -> bytes:
    """Return the lines of the keys in the open look-up.

    Raises ValueError where the file is damaged.
    """
    head = files.read_at(fd, 64, 0).partition(b"\n")[0]
    if not head.startswith(HEAD):
        raise ValueError("not a look-up of walls")
    return files.read_at(fd, ENTRY * int(head[len(HEAD) :]), len(head) + 1)


def find(fd: int, table: bytes, wanted: bytes) -> Optional[Dict[str, Any]]:
    """Return the wall with a key's hash, or None.

    table: from `entries`.
    wanted: from `hash_of`.
    Raises ValueError where the file is damaged.
    """
    low, high = 0, len(table) // ENTRY
    while low < high:
        middle = (low + high) // 2
        entry = table[ENTRY * middle : ENTRY * middle + 27]
        if entry[:16] == wanted:
            wall = fastjson.parse(files.read_at(fd, ROW_BYTES, int(entry[17:])).partition(b"\n")[0])
            return wall if isinstance(wall, dict) else None
        low, high = (middle + 1, high) if entry[:16] < wanted else (low, middle)
    return None


# ---- the hook


def on_failure(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer PostToolUseFailure with the remedy of a known wall.

    A wall of an earlier session, once a session; else nothing.
    """
    return _answer(event, env, now, "PostToolUseFailure", _call(event))


def on_masked(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer PostToolUse of a piped command that met a known wall.

    A pipe hides a command's status.  Commands that only look around are passed over.
    """
    given, got = event.get("tool_input"), event.get("tool_response")
    command = given.get("command") if isinstance(given, dict) else None
    if (
        not isinstance(command, str)
        or "|" not in command
        or not isinstance(got, dict)
        or (all(call.partition(" ")[0] in _LOOKING for call in _call_subjects("Bash", command)))
    ):
        return None, False
    output = "\n".join(str(got.get(name) or "") for name in ("stdout", "stderr"))
    return _answer(
        event,
        env,
        now,
        "PostToolUse",
        _call({**event, "error": output, "is_interrupt": got.get("interrupted")}),
    )


def _answer(
    event: Event, env: Dict[str, str], now: float, name: str, call: Optional[Tuple[str, str, str]]
) -> Tuple[Optional[Event], bool]:
    """Answer the event `name` with the remedy of a call's wall."""
    session = layout.safe_id(event.get("session_id"))
    place = layout.locate(env, boundary.project_dir(event, env)) if call and session else None
    if place is None or call is None or not files.exists(path_of(place)):
        return None, False
    settings = config.for_place(place, env)
    state = receipts.session(place.receipts(session))
    found = [] if _is_silent(settings, state) else look_up(place, session, state.walls, *call)
    if not found:
        return None, False
    from memory.core import tokeniser
    from memory.hook import fence

    block = fence.block(
        "wall", fence.walls(place, found, _path_from_root(place, event.get("cwd"), call))
    )
    receipts.write_or_log(
        env,
        place.receipts(session),
        {
            "v": 1,
            "t": clock.iso(now),
            "event": "wall",
            "tool": call[0][:64],
            "tag": receipts.tag_in(block),
            "sigs": [mark for match in found for mark in match.marks][:16],
            "chosen": [match.row() for match in found],
            "chars": tokeniser.utf16(block),
            "tokens": tokeniser.count_tokens(block),
            "ms": clock.elapsed_ms(now),
        },
    )
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": block}}, False


def _is_silent(settings: config.Config, state: receipts.Session) -> bool:
    """Tell whether a session is to get no more remedies."""
    if not settings["load.enabled"] or not settings["load.walls"]:
        return True
    return state.off or state.pushes >= MOST_PUSHES


def _call(event: Event) -> Optional[Tuple[str, str, str]]:
    """Return (tool, input, error) of a failed call, or None."""
    tool, error, given = event.get("tool_name"), event.get("error"), event.get("tool_input")
    if not isinstance(tool, str) or not isinstance(error, str) or event.get("is_interrupt"):
        return None
    if (tool not in TOOLS and not tool.startswith("mcp__")) or any(
        mark in error[:600].lower() for mark in OWN
    ):
        return None
    asked = (
        next((given[name] for name in GIVEN if isinstance(given.get(name), str)), "")
        if isinstance(given, dict)
        else ""
    )
    return (
        tool,
        asked[:MOST_GIVEN],
        error[: 1 << 18] + ("\n" + error[-(1 << 16) :] if len(error) > 1 << 18 else ""),
    )


class Match:
    """A wall met by a failure.

    occurrence: the occurrence to show.
    sessions: their number.
    marks: 8 hex of each of its keys.
    """

    __slots__ = ("marks", "occurrence", "sessions", "wall")

    def __init__(self, wall: Dict[str, Any], occurrence: Dict[str, Any], marks: List[str]):
        self.wall, self.occurrence, self.marks = wall, occurrence, marks
        self.sessions = max(1, int(wall.get("sessions") or 1))

    def row(self) -> List[Any]:
        """Return the match as a receipt's row."""
        return [self.occurrence["id"], 1.0, "wall: met in %d" % self.sessions]


def look_up(
    place: Place, session: str, done: Container[str], tool: str, given: str, error: str
) -> List[Match]:
    """Return the first wall of a failure, for linters' rules several.

    session: its own walls are left out.  done: 8 hex of the keys shown to the session already.
    """
    try:
        fd = files.open_read(path_of(place), follow=False)
    except OSError:
        return []
    try:
        return _matches(fd, place, session, done, list(_failure_keys(place, tool, given, error)))
    # a damaged file tells nothing
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    finally:
        files.posix.close(fd)


def _matches(
    fd: int, place: Place, session: str, done: Container[str], wanted: List[str]
) -> List[Match]:
    """Return the walls of a failure's keys, as `look_up` does."""
    found: List[Match] = []
    table = entries(fd)
    for key in wanted:
        hashed = hash_of(key)
        if hashed[:8] in done or (found and key[:2] != RULE):
            continue
        wall = find(fd, table, hashed.encode("ascii"))
        if wall is None:
            continue
        occurrence = _occurrence_elsewhere(place, session, wall)
        if occurrence is None:
            continue
        marks = _marks(key, wall, wanted)
        if _is_known(marks, done, found):
            continue
        found.append(Match(wall, occurrence, marks))
        if key[:2] != RULE or len(found) == MOST_RULES:
            break
    return found


def _occurrence_elsewhere(place: Place, session: str, wall: Dict[str, Any]) -> Any:
    """Return a wall's current occurrence in another session, or None."""
    from memory.hook import fence  # most failures meet no wall

    for one in wall.get("met") or ():
        if str(one.get("session")).endswith(session):
            continue
        occurrence = fence.current_occurrence(place, one)
        if occurrence:
            return occurrence if fence.keep_existing_paths(place, wall) else None
    return None


def _marks(key: str, wall: Dict[str, Any], wanted: List[str]) -> List[str]:
    """Return the marks of a wall's keys, of which one shown is enough."""
    if key[:2] == "a|":
        kin = [one for one in wanted if one[:2] == key[:2]]
    else:
        kin = [key, "r|" + str(wall.get("rule") or key)]
    return [hash_of(one)[:8] for one in kin]


def _is_known(marks: List[str], done: Container[str], found: List[Match]) -> bool:
    """Tell whether a mark was shown before, or is found already."""
    return any(mark in done or any(mark in match.marks for match in found) for mark in marks)


def _failure_keys(place: Place, tool: str, given: str, error: str) -> Iterator[str]:
    """Yield the keys of a failure."""
    roots = (place.root, place.project)
    for key in failure_keys(tool, given, error, roots):
        if not key.startswith("a|"):
            yield key
            continue
        for path in [key[2:], *above(key[2:])]:
            if path[:1] != "/" and files.exists(place.root + "/" + path):
                break
            yield "a|" + path


def _path_from_root(place: Place, cwd: object, call: Tuple[str, str, str]) -> str:
    """Return a missing path that exists below the project's root, or ""."""
    if not isinstance(cwd, str) or cwd in ("", place.root):
        return ""
    path = next(
        filter(None, (missing_path(call[0], call[1], line) for line in error_lines(call[2]))), ""
    )
    return path if path[:1] not in "/~." and files.exists(place.root + "/" + path) else ""
