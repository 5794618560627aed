"""What a failure met before (a wall) is known by: its keys, and the file that holds them.

Keys are texts without what varies from run to run: `build_failure_keys` makes them of the telling
line of a record and of every line of a failure, so that both meet.  No error's text is ever said:
what is said stands in a record.

    x|bash|<line>             a line that tells enough by itself
    x|bash|<line>|<asked>     a line that fits many failures, with the program and its verb, or
                              with the path or name asked for
    x|path|cannot be started  a tool whose own program is gone
    r|<rule>                  a linter's rule by its name
    a|<path>                  a file or folder that is not there

Format of `<scope>.walls`, version 1, written by knowledge/walls.py, ASCII: `dayleaf walls 1 <how
many keys>`; then for each key, sorted, a line of 16 hex of its SHA-256 and ten digits, the offset
of its wall; then the walls, one JSON object a line: sessions (how many met it), met (occurrences,
the best first), and where they apply rule (of a linter), path (that is not there) with gone
(whether a session removed it), instead (replacements: [path, source]) and doc ([file, line] of
the project's instructions that name it).  An occurrence:
name and id of its record, session, branch, created (of the record) and at, both instants, size and
sha (16 hex) of so much of the record's text as it was read from, telling (the line), said (the
lines of the remedy).  A source: name, size and sha of a record that tells of the path, null for
none.
"""

from __future__ import annotations

from memory.core import fastjson, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

    from memory.core.layout import Place

HEAD = b"dayleaf walls 1 "
ENTRY, ROW_BYTES = 28, 1 << 16  # bytes of a key's line, of a wall's at the most
MOST_FOLDERS = 32  # above a path
RULE = "r|"  # how keys of linters' rules begin
# lines of an error, characters of each, and of what a call was given
MOST_LINES, LINE_CHARS, MOST_GIVEN = 100, 400, 4096
TOOLS = ("Bash", "Read", "Grep", "Glob", "Skill")
PATH_TOOLS = ("Read", "Grep", "Glob")  # tools that are given a path
INPUT_FIELDS = ("command", "file_path", "path", "skill", "pattern")  # what a call is known by
# What the client says of its own rules, what a person or a rule refused, what nobody could know.
CLIENT_REFUSALS = tuple(
    "doesn't want to|does not want to|permission to use|permission for this|haven't granted|"
    "requires approval|has been denied|rejected by|interrupted by|[request interrupted|"
    "inputvalidationerror|hook error|blocked by|stopped by hook|string to replace|"
    "has not been read|modified since read|exceeds maximum|sibling tool call|parallel tool call|"
    "illegal operation on a directory|request was aborted|command timed out|no such tool|"
    "no changes to make|no task found".split("|")
)
_EDGE = "\"'`,.;:!?()[]{}<>…‘’“”"
_OPENERS = frozenset(
    "error: error warning: warning fatal: e - vet: err err! error! [error] ✗ ✘ ×".split()
)
_ABSENT = tuple(
    "no such file or directory|does not exist|directory not found|cannot find the file|"
    "cannot find the path|no such directory|enoent".split("|")
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
_WRAPPERS = frozenset("sudo time env command exec nohup timeout xargs then do else".split())


# ---- what a wall is known by


def build_failure_keys(tool: str, given: str, error: str, roots: Sequence[str] = ()) -> list[str]:
    """Return the keys by which a failed call is recognised again.

    given: the command, path, pattern or name given to the tool.
    error: as printed, or the telling line of a record.
    roots: the project's directories, cut off paths.
    """
    keys: dict[str, bool] = {}
    subjects: list[str] | None = None
    name = "path" if tool in PATH_TOOLS else tool.lower()
    for line in split_error_lines(error):
        path = find_missing_path(tool, given, line, roots)
        if path:
            keys["a|" + path] = True
        elif is_unstartable(line):
            keys["x|%s|cannot be started" % name] = True
        has_place, rule, words = parse_error_line(line)
        if not words:
            continue
        if has_place:
            keys.update((RULE + name, True) for name in _list_linter_rules(words[0], rule))
        key = "x|%s|%s" % (name, " ".join(words[:12]))
        least = 1 if has_place else 3  # telling words of a line that needs no subject
        if sum(map(_is_telling, words)) >= least:
            keys[key] = True
        else:
            subjects = list_call_subjects(tool, given) if subjects is None else subjects
            keys.update((key + "|" + subject, True) for subject in subjects)
    return list(keys)


def _list_linter_rules(first: str, rule: str) -> list[str]:
    """Return a linter rule's code, from a line's first word, and its name."""
    code = first if _is_error_code(first.upper()) else ""
    return [name for name in (code, rule) if name]


def _is_telling(word: str) -> bool:
    return word.isalpha() and len(word) > 2 and word not in _GENERAL


def split_error_lines(error: str) -> list[str]:
    """Return an error's distinct lines; of a long error, its start and end."""
    error = error.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    every = error.replace("\r", "\n").split("\n")
    if len(every) > 4 * MOST_LINES:  # many are empty, or quoted code
        every = every[: 2 * MOST_LINES] + every[-2 * MOST_LINES :]
    every = [line.strip()[:LINE_CHARS] for line in every if len(line) > 5 and not line.isspace()]
    lines = list(dict.fromkeys(every))
    if len(lines) <= MOST_LINES:
        return lines
    return lines[: MOST_LINES * 3 // 5] + lines[-MOST_LINES * 2 // 5 :]


def is_unstartable(line: str) -> bool:
    """Tell whether an error's line says that a program could not be started."""
    return "spawn" in line and "ENOENT" in line


def parse_error_line(line: str) -> tuple[bool, str, list[str]]:
    """Return (whether a line names a place, linter's rule, masked words).

    The rule is the last word, or "".  Masked words lack what varies between runs.  A line that a
    page clipped ends in `…`: its last word is left out, and its rule is "…".
    """
    words = line.split()
    has_place = _drop_places(words)
    rule = ""
    if has_place and _ends_with_rule_column(line, words):
        words[-1] = "(%s)" % words[-1].strip("()[]")
    if words and words[-1].endswith("…"):
        rule = "…"
        del words[-1]
    if words and _is_test(words[-1]):
        del words[-1]
    bracketed = _find_bracketed_rule(words)
    if bracketed:
        rule = bracketed if bracketed.islower() else rule
        del words[-1:]
    masked = (_mask_word(word.strip(_EDGE)) for word in words)
    return has_place, rule, [word for word in masked if word]


def _drop_places(words: list[str]) -> bool:
    """Delete leading positions and `error:`; tell whether there was a position."""
    has_place = False
    while words and ((is_place := _is_file_position(words[0])) or _is_opener(words)):
        has_place = has_place or is_place
        del words[0]
    return has_place


def _ends_with_rule_column(line: str, words: list[str]) -> bool:
    """Tell whether a line ends with a linter's rule in its own column."""
    if len(words) < 3 or not words[-1].islower():
        return False
    return line.rstrip().endswith("  " + words[-1])


def _find_bracketed_rule(words: list[str]) -> str:
    """Return the possible linter rule in brackets at a line's end, or ""."""
    last = words[-1] if len(words) > 2 else ""
    in_brackets = last[:1] + last[-1:] in ("()", "[]")
    return last[1:-1] if in_brackets and _is_rule_name(last[1:-1]) else ""


def _is_test(word: str) -> bool:
    """Tell whether a word names a test, such as `(test_a)`."""
    return word[:5] in ("(Test", "(test") or (word[:1] == "(" and "::" in word)


def _is_rule_name(word: str) -> bool:
    parts = word.lstrip("@").replace("/", "-").replace("_", "-").split("-")
    return all(map(str.isalnum, parts))


def _is_opener(words: list[str]) -> bool:
    """Tell whether a line's first word only says "error" or "failed"."""
    first = words[0].lower()
    of_npm = first == "npm" and len(words) > 2 and words[1].lower() in _OPENERS
    return first in _OPENERS or first[:6] == "error[" or of_npm


def _is_file_position(word: str) -> bool:
    """Tell whether a word is a position in a file, as `a.py:12`."""
    if word[-2:] == "):" and word[:1] != "(":  # as `a.cs(12,3):`
        word = word[:-2].replace("(", ":").replace(",", ":")
    file, *numbers = word.rstrip(":").split(":")
    if "//" in word or not any(map(str.isdigit, numbers)):
        return False
    return "." in file or file[:1] == "(" or file.isdigit()


def _is_error_code(word: str) -> bool:
    """Tell whether a word is an error's or rule's code, as `E501`."""
    letters = word.rstrip("0123456789")
    digits = len(word) - len(letters)
    return 0 < len(letters) < 6 and letters.isalpha() and letters.isupper() and 2 < digits < 6


def _mask_word(word: str) -> str:
    """Return a word with its varying parts masked."""
    if "redacted" in word or len(word) > 64:
        return "#"
    if word.isalpha() or not word or _is_error_code(word):
        return word.lower()
    if word[0] in "/~" or word[1:3] in (":/", ":\\"):
        return "/" + _mask_name(word.replace("\\", "/").rstrip("/").rpartition("/")[2])
    return _mask_digits(word)


def _mask_name(name: str) -> str:
    return "#" if any(c.isdigit() for c in name) else name.lower()


def _mask_digits(word: str) -> str:
    """Return a word in lower case, with "#" for a number or hash."""
    digits = sum(c.isdigit() for c in word)
    if not digits:
        return word.lower()
    if word.isdigit():
        return word if len(word) == 3 and word[0] in "45" else "#"
    if "=" in word:
        return word.partition("=")[0].lower() + "=#"
    is_mostly_number = word[0].isdigit() or digits * 2 >= len(word)
    if is_mostly_number or len(word) > 15 or not word.lower().strip("0123456789abcdef"):
        return "#"
    return word.lower()


def list_call_subjects(tool: str, given: str) -> list[str]:
    """Return what a call is about: programs with verbs, or a path's end."""
    if tool != "Bash":
        end = "/".join(given.replace("\\", "/").rstrip("/").split("/")[-2:]).lower()
        return [end] if end else []
    text = given.replace("\\\n", " ")[:4000]
    for mark in ("&&", "||", ";", "|", "\n", "$("):
        text = text.replace(mark, "\0")
    return list(dict.fromkeys(filter(None, map(parse_program_and_verbs, text.split("\0")[:8]))))


def parse_program_and_verbs(part: str) -> str:
    """Return a shell command's program and verbs, such as `git push`."""
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
        return program + " api " + " ".join(_parse_api_resource(plain[1]))
    return " ".join([program, *_parse_verbs(program, plain)])


def _stands_before_program(word: str) -> bool:
    return "=" in word.partition("/")[0] or word in _WRAPPERS or word[:1] in "-({!"


def _parse_api_resource(path: str) -> list[str]:
    """Return an API path's first two resource names, without `repos/OWNER/NAME`."""
    steps = path.strip("\"'").partition("?")[0].strip("/").split("/")
    steps = steps[3:] if steps[0] == "repos" else steps
    return [step.lower() for step in steps if step.replace("-", "").isalpha()][:2]


def _parse_verbs(program: str, plain: list[str]) -> list[str]:
    """Return a program's subcommands, such as `pr` and `create` of `gh`."""
    most = 2 if program in _DEEP else 1 if program in _VERBS else 0
    verbs: list[str] = []
    for word in plain[:most]:
        letters = word.replace("-", "").replace("_", "").replace(":", "")
        if not letters.isalnum() or word[0].isdigit():
            break
        verbs.append(word.lower())
    return verbs


def find_missing_path(tool: str, given: str, line: str, roots: Sequence[str] = ()) -> str:
    """Return the missing project path that a line reports, or ""."""
    low = line.lower()
    if not any(mark in low for mark in _ABSENT) or is_unstartable(line):
        return ""
    if tool == "Read":
        return make_relative(given, roots)
    words = [word.rstrip(_EDGE) if word[0] == "." else word.strip(_EDGE) for word in line.split()]
    return make_relative(max(filter(_may_be_path, words), key=len, default=""), roots)


def _may_be_path(word: str) -> bool:
    return ":" not in word and ("/" in word.strip("/") or "." in word.strip("."))


def make_relative(path: str, roots: Sequence[str]) -> str:
    """Return a path relative to the project's root.

    Without a final slash.  A path outside the project stays as it is.
    """
    path = path.strip().replace("\\", "/").rstrip("/")
    root = next((root for root in roots if root and path.startswith(root + "/")), "")
    return path[len(root) + 1 :] if root else path.removeprefix("./")


def list_parent_folders(path: str) -> list[str]:
    """Return the folders above a path, the nearest first, 32 at most."""
    parts = path.split("/")
    return [
        "/".join(parts[:n])
        for n in range(len(parts) - 1, max(0, len(parts) - 1 - MOST_FOLDERS), -1)
        if parts[n - 1]
    ]


# ---- the look-up


def walls_path(place: Place) -> str:
    """Return the path of the file of known failures (walls)."""
    return place.cache + "/" + place.scope + ".walls"


def hash_key(key: str) -> str:
    """Return the hash of a failure's key; receipts hold its first 8 digits."""
    return files.sha256(key.encode("utf-8", "replace"))[:16]


def read_key_table(fd: int) -> bytes:
    """Return the sorted lines of hashed keys in an open file of walls.

    Raises ValueError where the file is damaged.
    """
    head = files.read_at(fd, 64, 0).partition(b"\n")[0]
    if not head.startswith(HEAD):
        raise ValueError("not a look-up of walls")
    return files.read_at(fd, ENTRY * int(head[len(HEAD) :]), len(head) + 1)


def find_wall(fd: int, table: bytes, wanted: bytes) -> dict[str, Any] | None:
    """Return the known failure (wall) that has a hashed key, or None.

    table: from `read_key_table`.  Raises ValueError where the file is damaged.
    """
    low, high = 0, len(table) // ENTRY
    while low < high:
        middle = (low + high) // 2
        entry = table[ENTRY * middle : ENTRY * middle + 27]  # <16 hex> <offset>
        if entry[:16] == wanted:
            wall = fastjson.parse(files.read_at(fd, ROW_BYTES, int(entry[17:])).partition(b"\n")[0])
            return wall if isinstance(wall, dict) else None
        low, high = (middle + 1, high) if entry[:16] < wanted else (low, middle)
    return None
