"""Walls: which failed calls earlier sessions met, and what then worked, written down for the hook
at a failed call.

`update_walls` derives `<scope>.walls` (its format, and what makes a wall's key, stand in
hook/wallkeys.py) from the conversations of the private tier, and from the checkpoints of sessions
that have none.  What one record gives is kept in `<scope>.met`, so that only records whose file
changed are read again.  A failure is written down only with a remedy: another call that worked, the
line that met a linter's rule, or the path that is there in place of one that is not.

Format of `<scope>.met`, version 10, JSON Lines: `{"v": 10, "sha": 16 hex of the look-up's SHA-256}`
with `"settled":true` once candidates were made of it, then for each record name, file (its size and
time of change in nanoseconds), id, session, branch, created, size and sha (of its text), paths (of
files that it tells of) and failures.  Each of these has keys, at, telling and said (the lines of
the remedy).  A failed call also has ran, where (its turn) and then (the other call that worked
after it, "" for none); a change that met a finding has named (whether it names the rule); a removed
path has the key `g|<path>`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from memory.capture import findings
from memory.capture.conversationpage import format_code
from memory.capture.turns import FILE, MET, REMOVED, RUN, Piece
from memory.core import StoreError, clock, fastjson, files, tokeniser
from memory.core.config import Config
from memory.core.layout import PRIVATE, Place
from memory.core.plaintext import clip_at_word, one_line
from memory.hook import fence, wallkeys
from memory.knowledge import history, practice, remedies
from memory.knowledge.history import PastSession, find_next_commits
from memory.project import gitindex
from memory.session import commandline, shell
from memory.session.latepattern import LazyPattern
from memory.store.redactor import strip_private_record
from memory.store.store import Store

VERSION = 10  # of `<scope>.met`
MOST_RECORDS, MOST_BYTES = 2000, 64 << 20  # that are looked at, of what is written here
# occurrences of a wall that are kept; characters of a line that met it, of a command
MOST_MET, LINE, COMMAND = 3, 300, 240
SESSIONS, TOLD = 3, 2  # least sessions that met a wall: in general, where another call worked
_NAME = LazyPattern(r"[A-Za-z]\w{0,40}\.[A-Za-z]\w{0,40}")  # of what a package holds
# Linters whose name stands behind many a rule.
SUITES = frozenset(
    "gosec gocritic staticcheck stylecheck revive govet typecheck vet eslint ruff pylint flake8 "
    "clippy".split()
)
MOST_SHAPES = 64  # of calls of one program that worked
# likeness of the calls, without what they were given, of which one worked and one did not
ALIKE = 0.6
UNSTARTABLE = (
    "the tool's own program could not be started; the shell's `grep` and `find` do without it"
)
_TOOLS, _CLIPPED = frozenset((*wallkeys.TOOLS, "")), "…"
# a long quoted text
_QUOTED = LazyPattern(r"""(["'])(?:\\.|(?!\1).){48,}(?:\1|…|\Z)""", re.S)
# of a command: what varies
_GIVEN = LazyPattern(r"""(["'])(?:\\.|(?!\1).)*(?:\1|…|\Z)|\d+|[0-9a-f]{7,}""", re.S)
# where a conversation tells it
_SILENT: dict[str, Any] = {"failures": [], "paths": []}

DERIVED = (".walls", ".met", ".turned", ".facts", ".claims", ".heads", ".checked", ".page")
Row = dict[str, Any]
Worked = dict[str, dict[str, str]]  # commands by program and verb, by shape
Pair = tuple[Row, Row]  # a record, a failure in it
Groups = dict[str, list[Pair]]  # by key: `x|`, `r|` or `a|` (hook/wallkeys.py), or `g|`


def failures_path(place: Place) -> str:
    return place.cache + "/" + place.scope + ".met"


def update_walls(place: Place, settings: Config, now: float) -> list[Row]:
    """Update the hook's table of repeated failures; return each record's failures."""
    sha, rows, changed = _collect_failures(place, settings, now)
    given = _drop_repeats(rows)
    if changed or _hash_file(wallkeys.walls_path(place)) != sha:
        data = pack_walls(merge_walls(place, given))
        lines = [
            fastjson.dump(row) + "\n"
            for row in ({"v": VERSION, "sha": files.sha256(data)[:16]}, *rows)
        ]
        files.replace(failures_path(place), "".join(lines).encode("ascii"))
        files.replace(wallkeys.walls_path(place), data)
    return given


def find_failures(place: Place, settings: Config, now: float) -> list[Row]:
    """Return each record's failures; write nothing."""
    return _drop_repeats(_collect_failures(place, settings, now)[1])


def _collect_failures(place: Place, settings: Config, now: float) -> tuple[str, list[Row], bool]:
    """Return (hash of the hook's table, a row per record, whether one changed)."""
    sha, kept = _read_cache(place)
    before = {(row["name"], *row["file"]): row for row in kept}
    store = Store(place, settings, now)
    names = [name for name in history.list_newest(place, MOST_RECORDS) if name[:1] == PRIVATE]
    stamps = [(name, *_stat_record(place, name)) for name in sorted(names)]
    rows = [
        before.get(stamp) or _read_failures(place, store, stamp[0], list(stamp[1:]))
        for stamp in stamps
    ]
    return sha, rows, before.keys() != set(stamps)


def delete_derived(place: Place) -> None:
    """Delete the derived files of all checkouts, which hold deleted text too."""
    for name in files.list_folder(place.cache):
        if name.endswith(DERIVED):
            files.remove(place.cache + "/" + name)


def read_cached_failures(place: Place) -> list[Row]:
    """Return each record's failures as of the last `update_walls`."""
    return _drop_repeats(_read_cache(place)[1])


def mark_settled(place: Place) -> None:
    """Mark in the cache that candidates were made; raises OSError."""
    head, _, rest = files.read(failures_path(place), MOST_BYTES).partition(b"\n")
    found = fastjson.parse_rows(head)
    if found:
        line = fastjson.dump({**found[0], "settled": True}) + "\n"
        files.replace(failures_path(place), line.encode("ascii") + rest, synced=False)


def _drop_repeats(rows: Sequence[Row]) -> list[Row]:
    """Drop the failures of checkpoints whose session has a conversation."""
    told = {row["session"] for row in rows if _is_conversation(row["name"])}
    return [
        row if _is_conversation(row["name"]) or row["session"] not in told else {**row, **_SILENT}
        for row in rows
    ]


def _read_cache(place: Place) -> tuple[str, list[Row]]:
    """Return (hash of the hook's table, a row per record) of the last run."""
    try:
        rows = fastjson.parse_rows(files.read(failures_path(place), MOST_BYTES))
    except OSError:
        return "", []
    sha = rows[0].get("sha") if rows and rows[0].get("v") == VERSION else None
    return (sha, rows[1:]) if isinstance(sha, str) else ("", [])


def _hash_file(path: str) -> str:
    try:
        return files.sha256(files.read(path, MOST_BYTES))[:16]
    except OSError:
        return "none"


def _is_conversation(name: str) -> bool:
    return name[1:].startswith("/conversations")


def _stat_record(place: Place, name: str) -> tuple[int, int]:
    try:
        stat = files.posix.stat(place.path(name))
        return stat.st_size, stat.st_mtime_ns
    except OSError:
        return 0, 0


# --- what one record gives


def _read_failures(place: Place, store: Store, name: str, stamp: list[int]) -> Row:
    """Return a record's failures as a row of the file `<scope>.met`."""
    row: Row = {"name": name, "file": stamp, "id": "", "session": "", **_SILENT}
    try:
        record = strip_private_record(store.read(name))
        data = files.read(place.path(name), fence.RECORD_BYTES, follow=False)
    except (StoreError, OSError):
        return row
    past, text = history.parse_session(record), fence.split_frontmatter(data)[1]
    roots = (place.root, place.project)
    found = [
        *find_failed_calls(past, roots),
        *_find_changes(past),
        *_find_removed_paths(past, roots),
    ]
    changed = {piece.text for _, piece in past.steps() if piece.kind == FILE}
    return {
        **row,
        **{key: getattr(past, key) for key in ("id", "session", "branch", "created")},
        "size": len(text),
        "sha": files.sha256(text)[:16],
        "failures": found,
        "paths": sorted(changed | set(past.files)),
    }


def find_failed_calls(past: PastSession, roots: Sequence[str]) -> Iterable[Row]:
    """Yield a session's failed calls worth remembering, with remedies."""
    steps = past.steps()
    worked = _find_working(steps)
    for at, (number, piece) in enumerate(steps):
        is_known = piece.name in _TOOLS or piece.name.startswith("mcp__")
        if piece.kind != RUN or not piece.failed or not is_known or practice.is_no_wall(piece):
            continue
        keys = wallkeys.build_failure_keys(
            piece.name or "Bash", piece.text.rstrip(_CLIPPED), piece.telling, roots
        )
        if keys:
            said, then = find_remedy(remedies.Failure(past, steps, at), worked)
            yield {
                "keys": keys,
                "at": past.at(number) + at / 1e4,  # a turn's steps in their order
                "telling": clip_at_word(one_line(piece.telling), 200),
                "said": [said] if said else [],
                "ran": shorten_command(piece.text),
                "where": past.ref(number),
                "then": then,
            }


def find_remedy(failed: remedies.Failure, worked: Worked) -> tuple[str, str]:
    """Return (remedy, another call that worked), "" for none."""
    piece = failed.piece
    if piece.name:
        return UNSTARTABLE if wallkeys.is_unstartable(piece.telling) else "", ""
    met, is_placed = remedies.find_aftermath(failed), practice.names_file_place(piece.telling)
    was_mended = met.edits and not practice.MISUSED.search(piece.telling)
    if is_placed:
        was_mended = met.edits or not _wraps(met.passed, piece.text)
    then = "" if was_mended or not _is_other_call(met.passed, piece) else met.passed
    call = then or ("" if is_placed else _find_most_similar(piece, worked))
    return "what worked: `%s`" % shorten_command(call) if call else "", shorten_command(then)


def _wraps(call: str, failed: str) -> bool:
    """Tell whether a call runs a failed one in another place, such as `uv run pytest`."""
    calls, own = (remedies.split_calls(text) for text in (call, failed))
    return any(other.endswith(" " + mine) for other in calls for mine in own)


def _is_other_call(call: str, failed: Piece) -> bool:
    """Tell whether a call differs from a failed one in form.

    It lacks the words that the failure complains of: a flag that is unknown, a folder that is not
    there.
    """
    judged = remedies.parse_command(failed.text, True)
    mine, other = (
        set(map(_mask_arguments, remedies.split_calls(commandline.unquote_remote(text))))
        for text in (failed.text, call)
    )
    moved = {line for line in mine if line.startswith("cd ")}
    if judged is None or not call or moved <= other <= mine:
        return False
    # the program that speaks is not what it complains of
    complaint = failed.telling.partition(": ")[2] or failed.telling
    ran, then, said = (
        {word.strip("\"'`,.;:!?()[]{}<>…") for word in text.split()}
        for text in (failed.text, call, complaint)
    )
    wrong = {word for word in ran & said if len(word) > 2}.difference(judged[1].split())
    return not (wrong & then) - tokeniser.STOP


def _find_working(steps: Iterable[tuple[int, Piece]]) -> Worked:
    """Return a session's successful commands by program, one of each form."""
    found: Worked = {}
    for _, piece in steps:
        is_good = piece.kind == RUN and not piece.name and piece.outcome == shell.OK
        judged = remedies.parse_command(piece.text, False) if is_good else None
        if judged:
            shapes = found.setdefault(judged[1], {})
            if len(shapes) < MOST_SHAPES:
                shapes.setdefault(_call_shape(*judged), one_line(piece.text))
    return found


def _find_most_similar(failed: Piece, worked: Worked) -> str:
    """Return the successful command most like a failed one, or ""."""
    judged = remedies.parse_command(failed.text, True)
    if judged is None:
        return ""
    shapes = {
        shape: call
        for shape, call in worked.get(judged[1], {}).items()
        if _is_other_call(call, failed)
    }
    near = get_close_matches(_call_shape(*judged), shapes, 1, ALIKE)
    return shapes[near[0]] if near else ""


def _call_shape(command: str, key: str) -> str:
    return _mask_arguments(remedies.find_call(command, key))[:200]


def _mask_arguments(call: str) -> str:
    """Mask the quoted texts, numbers and hashes of a call."""
    return _GIVEN.sub("#", call)


def shorten_command(command: str) -> str:
    """Return a call on one line, long quoted texts cut but those that are commands."""
    line = one_line(command)
    if not commandline.is_remote(line):
        line = _QUOTED.sub(
            lambda long: long[1] + "…" + long[1] if " " in long[0] else long[0], line
        )
    return clip_at_word(line, COMMAND)


def _find_changes(past: PastSession) -> Iterable[Row]:
    """Yield changes that answered a linter's finding, if the check then passed."""
    steps, failed = past.steps(), -1
    for at, (number, piece) in enumerate(steps):
        if piece.kind == RUN and piece.failed and not piece.name:
            failed = at
        is_met = piece.kind == MET and failed >= 0
        if is_met and remedies.find_aftermath(remedies.Failure(past, steps, failed)).passed:
            names = {rule.lower() for rule in findings.find_rules(piece.name)} - SUITES
            yield {
                "keys": ["r|" + name for name in sorted(names)],
                "at": past.at(number) + at / 1e4,
                "telling": piece.name,
                "said": ["changed to: `%s`" % clip_at_word(piece.text, LINE)],
                "named": findings.names_rule(piece.text, piece.name),
            }


def _find_removed(piece: Piece) -> list[str]:
    """Return the paths that an event removed, as typed."""
    if piece.name == REMOVED:
        return [piece.text]
    is_good = piece.kind == RUN and not piece.name and piece.outcome == shell.OK
    if not is_good or "cd " in piece.text:
        return []
    return " ".join(shell.DELETED.findall(piece.text)).split()


def _find_removed_paths(past: PastSession, roots: Sequence[str]) -> Iterable[Row]:
    for at, (number, piece) in enumerate(past.steps()):
        paths = [wallkeys.make_relative(word.strip("'\""), roots) for word in _find_removed(piece)]
        plain = (path for path in paths if set("*?{`").isdisjoint(path))
        keys = ["g|" + path for path in plain if path and path[0] not in "-/~.$"]
        if keys:
            commit = next(iter(find_next_commits(past, number)), "")
            said = [commit or "during “%s”" % past.title]
            yield {"keys": keys, "at": past.at(number) + at / 1e4, "telling": "", "said": said}


# --- what all records give together


def merge_walls(place: Place, rows: Sequence[Row]) -> list[Row]:
    """Merge all records' failures into rows of the hook's table."""
    tree = practice.ProjectTree(gitindex.read(place.git).hashes, rows)
    groups = group_failures(rows)
    removed = {
        key[2:]: max(pairs, key=lambda pair: float(pair[1]["at"]))
        for key, pairs in groups.items()
        if key[:2] == "g|" and key[2:] not in tree.tracked
    }
    absent = [
        *_find_removed_walls(removed, tree),
        *_find_missing_walls(place, groups, tree, removed),
    ]
    return sorted([*_find_line_walls(groups), *absent], key=lambda wall: wall["keys"][0])


def group_failures(rows: Iterable[Row]) -> Groups:
    groups: Groups = {}
    for row in rows:
        for failure in row["failures"]:
            for key in failure["keys"]:
                groups.setdefault(key, []).append((row, failure))
    return groups


def _make_occurrence(row: Row, failure: Row) -> Row:
    record = ("name", "id", "session", "branch", "size", "sha", "created")
    return {
        **{key: row[key] for key in record},
        **{key: failure[key] for key in ("at", "telling", "said")},
    }


def _pick_best(pairs: Iterable[Pair]) -> list[Row]:
    """Return each session's newest failure, those with a rule's name first."""
    ordered = sorted(
        pairs, key=lambda pair: (not pair[1].get("named"), -pair[1]["at"], pair[0]["name"])
    )
    found: dict[str, Row] = {}
    for row, failure in ordered:
        found.setdefault(row["session"], _make_occurrence(row, failure))
    return list(found.values())[:MOST_MET]


def _count_sessions(pairs: Iterable[Pair]) -> int:
    return len({row["session"] for row, _ in pairs})


def _find_line_walls(groups: Groups) -> Iterable[Row]:
    """Yield the hook's rows for error lines and for linters' rules."""
    for key, pairs in groups.items():
        wall: Row = {"keys": [key], "sessions": _count_sessions(pairs)}
        if key.startswith(wallkeys.RULE):
            wall["rule"] = key[2:]
            pairs = _filter_telling([pair for pair in pairs if "named" in pair[1]])
        elif key[:2] == "x|":
            pairs = [pair for pair in pairs if pair[1]["said"]]
        else:
            continue
        if pairs:
            yield {**wall, "met": _pick_best(pairs)}


def _filter_telling(changes: list[Pair]) -> list[Pair]:
    """Return the changes for a linter's rule that may help again."""
    sessions = {(row["session"], name) for row, change in changes for name in _find_names(change)}
    used = Counter(name for _, name in sessions)
    return [
        (row, change)
        for row, change in changes
        if change["named"] or any(used[name] > 1 for name in _find_names(change))
    ]


def _find_names(change: Row) -> set[str]:
    """Return the names in a change that its finding does not mention."""
    told = change["telling"].lower()
    return {name for name in _NAME.findall(change["said"][0]) if name.lower() not in told}


def _find_removed_walls(removed: dict[str, Pair], tree: practice.ProjectTree) -> Iterable[Row]:
    for path, (row, removal) in removed.items():
        found = practice.find_replacements(path, tree)
        instead = [near for near in found if near in tree.files and near not in removed]
        yield {
            "keys": ["a|" + path],
            "sessions": 1,
            "path": path,
            "gone": True,
            "instead": [[near, tree.source(near)] for near in instead],
            "met": [_make_occurrence(row, removal)],
        }


def _find_missing_walls(
    place: Place, groups: Groups, tree: practice.ProjectTree, removed: Iterable[str]
) -> Iterable[Row]:
    for path, pairs in _group_missing(groups, tree, removed).items():
        instead = practice.find_replacements(path, tree)
        if instead:
            yield {
                "keys": ["a|" + path],
                "sessions": _count_sessions(pairs),
                "path": path,
                "doc": list(practice.find_instruction(place, path) or ()),
                "instead": [[near, tree.source(near)] for near in instead],
                "met": [{**occurrence, "said": []} for occurrence in _pick_best(pairs)],
            }


def _group_missing(
    groups: Groups, tree: practice.ProjectTree, removed: Iterable[str] = ()
) -> Groups:
    """Group failures by missing file, and by the first missing folder above."""
    walls: Groups = {}
    for key, pairs in groups.items():
        path = key[2:] if key[:2] == "a|" else ""
        if not path or tree.holds(path) or path.startswith(("/", "~", "..")):
            continue
        folders = reversed(wallkeys.list_parent_folders(path))
        first_missing = next((folder for folder in folders if folder not in tree.folders), path)
        for missing in {path, first_missing}.difference(removed):
            walls.setdefault(missing, []).extend(pairs)
    return walls


def pack_walls(found: Sequence[Row]) -> bytes:
    """Return the hook's table of walls as bytes (hook/wallkeys.py)."""
    body = bytearray()
    offsets: list[tuple[bytes, int]] = []  # (hashed key, offset of its wall in the body)
    for wall in found:
        value = {key: value for key, value in wall.items() if key != "keys"}
        hashes = [wallkeys.hash_key(key).encode("ascii") for key in wall["keys"]]
        offsets += [(hashed, len(body)) for hashed in hashes]
        body += (fastjson.dump(value) + "\n").encode("ascii")
    head = wallkeys.HEAD + b"%d\n" % len(offsets)
    start = len(head) + wallkeys.ENTRY * len(offsets)
    entries = [b"%s %010d\n" % (hashed, start + offset) for hashed, offset in sorted(offsets)]
    return b"".join([head, *entries, body])


# --- what several sessions met


class RepeatedFailure(NamedTuple):
    """A failure that several sessions met, described by its newest one with a remedy.

    path: what is not there, "" for another failure. worked: the other call that then worked, the
    path that is there, or "". line: a line of the project's instructions that names what fails,
    `CLAUDE.md:41 names …`, or "". met: (a record, a failure in it), newest first.
    """

    key: str
    telling: str
    ran: str
    path: str
    worked: str
    line: str
    met: tuple[Pair, ...]

    @property
    def mended(self) -> list[Pair]:
        """Each session's newest failure after which another call worked."""
        found = {row["session"]: (row, one) for row, one in reversed(self.met) if one["then"]}
        return sorted(found.values(), key=lambda pair: -float(pair[1]["at"]))

    @property
    def sessions(self) -> int:
        return _count_sessions(self.met)

    @property
    def times(self) -> int:
        return len(self.met)

    @property
    def last(self) -> float:
        return float(self.met[0][1]["at"])

    @property
    def where(self) -> tuple[str, ...]:
        """The turns with the failure, newest first."""
        return tuple(dict.fromkeys(one["where"] for _, one in self.met))

    @property
    def learning(self) -> str:
        """A text for `dayleaf learn`, "" without a remedy."""
        if self.path:
            instead = "; it is `%s`" % self.worked if self.worked else ""
            return "`%s` does not exist here%s." % (self.path, instead)
        return self.sentence(120) if self.worked else ""

    def sentence(self, most: int) -> str:
        """Return the failure and what worked, each call clipped to `most`."""
        telling = one_line(remedies.PLACE.sub("", self.telling), 140).rstrip(".")
        ran, worked = (format_code(clip_at_word(call, most)) for call in (self.ran, self.worked))
        return "%s fails: %s. What worked: %s." % (ran, telling, worked)


def find_repeated(place: Place, rows: Sequence[Row]) -> list[RepeatedFailure]:
    """Return failures of several sessions, those with a remedy first.

    SESSIONS and more met them, or TOLD where another call is known; without one, not what was
    absent and is there by now.
    """
    tree = practice.ProjectTree(gitindex.read(place.git).hashes, rows)
    groups = group_failures(rows)
    there = [pairs for key, pairs in groups.items() if key[:2] == "a|" and tree.holds(key[2:])]
    settled = {id(failure) for pairs in there for _, failure in pairs if not failure["then"]}
    absent = {"a|" + path: pairs for path, pairs in _group_missing(groups, tree).items()}
    absent = absent if tree.tracked else {}
    lines = {key: pairs for key, pairs in groups.items() if key[:2] == "x|"}
    walls = []
    for key, pairs in sorted(
        {**absent, **lines}.items(), key=lambda item: (-_count_sessions(item[1]), item[0])
    ):
        met = [pair for pair in pairs if id(pair[1]) not in settled]
        mended = any(failure["then"] for _, failure in met)
        if _count_sessions(met) >= (TOLD if mended else SESSIONS):
            settled.update(id(failure) for _, failure in met)
            walls.append(_make_repeated(place, key, met, tree))
    return sorted(walls, key=lambda wall: (not wall.worked, -wall.sessions, wall.telling))


def _make_repeated(
    place: Place, key: str, pairs: Sequence[Pair], tree: practice.ProjectTree
) -> RepeatedFailure:
    occurrences = sorted(pairs, key=lambda pair: -float(pair[1]["at"]))
    best = next((failure for _, failure in occurrences if failure["then"]), occurrences[0][1])
    path, worked = key[2:] if key[:2] == "a|" else "", best["then"]
    if path:
        near = practice.find_replacements(path, tree)
        worked = next((instead for instead in near if instead in tree.tracked), "")
    wrong = path or (best["ran"] if worked and practice.MISUSED.search(best["telling"]) else "")
    instruction = practice.find_instruction(place, wrong) if wrong else None
    line = "%s:%d names %s" % (*instruction, one_line(wrong, 120)) if instruction else ""
    telling, tellings = best["telling"], {failure["telling"] for _, failure in occurrences}
    if len(tellings) > 1 and practice.names_file_place(telling):
        plain = (re.sub(r"\b\d+\b", "…", remedies.PLACE.sub("", each)) for each in tellings)
        columns = map(set, zip(*(each.split() for each in plain)))
        telling = " ".join(words.pop() if len(words) == 1 else "…" for words in columns)
    return RepeatedFailure(key, telling, best["ran"], path, worked, line, tuple(occurrences))


def to_json(wall: RepeatedFailure) -> dict[str, Any]:
    return {
        "error": wall.telling,
        "ran": wall.ran,
        "path": wall.path or None,
        "worked": wall.worked or None,
        "sessions": wall.sessions,
        "times": wall.times,
        "last": clock.iso(wall.last),
        "where": list(wall.where[:10]),
        "proposal": {"line": wall.line or None, "learning": wall.learning or None},
    }
