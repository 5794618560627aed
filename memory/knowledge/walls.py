"""Walls: which failed calls earlier sessions met, and what then worked, written down for the hook
at a failed call.

`write` derives `<scope>.walls` (its format, and what makes a wall's key, stand in
hook/at_failure.py) from the conversations of the private tier, and from the checkpoints of sessions
that have none.  What one record gives is kept in `<scope>.met`, so that only records whose file
changed are read again.  A failure is written down only with a remedy: another call that worked, the
line that met a linter's rule, or the path that is there in place of one that is not.

Format of `<scope>.met`, version 8, JSON Lines: `{"v": 8, "sha": 16 hex of the look-up's SHA-256}`,
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
from memory.capture.conversationpage import code
from memory.capture.turns import FILE, MET, REMOVED, RUN, Piece
from memory.core import StoreError, clock, fastjson, files
from memory.core.config import Config
from memory.core.layout import PRIVATE, Place
from memory.core.plaintext import at_word, one_line
from memory.hook import at_failure, fence
from memory.knowledge import history, practice, remedies
from memory.knowledge.history import Past, next_commits
from memory.project import gitindex
from memory.session import shell
from memory.session.latepattern import Late
from memory.store.redactor import without_private
from memory.store.store import Store

VERSION = 8  # of `<scope>.met`
MOST_RECORDS, MOST_BYTES = 2000, 64 << 20  # that are looked at, of what is written here
# occurrences of a wall that are kept; characters of a line that met it, of a command
MOST_MET, LINE, COMMAND = 3, 300, 240
SESSIONS, TOLD = 3, 2  # least sessions that met a wall: in general, where another call worked
_NAME = Late(r"[A-Za-z]\w{0,40}\.[A-Za-z]\w{0,40}")  # of what a package holds
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
_TOOLS, _CLIPPED = frozenset((*at_failure.TOOLS, "")), "…"
_QUOTED = Late(r"""(["'])(?:\\.|(?!\1).){48,}(?:\1|…|\Z)""", re.S)
# of a command: what varies
_GIVEN = Late(r"""(["'])(?:\\.|(?!\1).)*(?:\1|…|\Z)|\d+|[0-9a-f]{7,}""", re.S)
# where a conversation tells it
_SILENT: dict[str, Any] = {"failures": [], "paths": []}

DERIVED = (".walls", ".met", ".turned", ".facts", ".claims", ".heads", ".checked", ".page")
Row = dict[str, Any]
Worked = dict[str, dict[str, str]]  # commands by program and verb, by shape
Pair = tuple[Row, Row]  # a record, a failure in it
Groups = dict[str, list[Pair]]  # by key


def met_path(place: Place) -> str:
    """Return the path of the failures cached by record."""
    return place.cache + "/" + place.scope + ".met"


def write(place: Place, settings: Config, now: float) -> list[Row]:
    """Update the look-up of walls; return the records' failures.

    Raises OSError where it cannot be written.
    """
    sha, rows, changed = _gather(place, settings, now)
    given = _without_repeats(rows)
    if changed or _sha_of(at_failure.path_of(place)) != sha:
        data = packed(merged(place, given))
        lines = [
            fastjson.dump(row) + "\n"
            for row in ({"v": VERSION, "sha": files.sha256(data)[:16]}, *rows)
        ]
        files.replace(met_path(place), "".join(lines).encode("ascii"))
        files.replace(at_failure.path_of(place), data)
    return given


def current(place: Place, settings: Config, now: float) -> list[Row]:
    """Return the records' failures as of now; write nothing."""
    return _without_repeats(_gather(place, settings, now)[1])


def _gather(place: Place, settings: Config, now: float) -> tuple[str, list[Row], bool]:
    """Return (the look-up's sha, the records' rows, whether one changed)."""
    sha, kept = _read_cache(place)
    before = {(row["name"], *row["file"]): row for row in kept}
    store = Store(place, settings, now)
    names = [name for name in history.newest(place, MOST_RECORDS) if name[:1] == PRIVATE]
    stamps = [(name, *_stamp(place, name)) for name in sorted(names)]
    rows = [before.get(stamp) or _read(place, store, stamp[0], list(stamp[1:])) for stamp in stamps]
    return sha, rows, before.keys() != set(stamps)


def discard(place: Place) -> None:
    """Delete the derived files of all checkouts of the workspace.

    They hold deleted text too.
    """
    for name in files.list_folder(place.cache):
        if name.endswith(DERIVED):
            files.remove(place.cache + "/" + name)


def cached_failures(place: Place) -> list[Row]:
    """Return the records' failures as of the last `write`."""
    return _without_repeats(_read_cache(place)[1])


def mark_settled(place: Place) -> None:
    """Note that the look-up's candidates were made.

    In its first line. Raises OSError.
    """
    head, _, rest = files.read(met_path(place), MOST_BYTES).partition(b"\n")
    found = fastjson.rows(head)
    if found:
        line = fastjson.dump({**found[0], "settled": True}) + "\n"
        files.replace(met_path(place), line.encode("ascii") + rest, synced=False)


def _without_repeats(rows: Sequence[Row]) -> list[Row]:
    """Return records' failures without those repeated in checkpoints."""
    told = {row["session"] for row in rows if _is_talk(row["name"])}
    return [
        row if _is_talk(row["name"]) or row["session"] not in told else {**row, **_SILENT}
        for row in rows
    ]


def _read_cache(place: Place) -> tuple[str, list[Row]]:
    """Return (the look-up's sha, the rows) of the last run."""
    try:
        rows = fastjson.rows(files.read(met_path(place), MOST_BYTES))
    except OSError:
        return "", []
    sha = rows[0].get("sha") if rows and rows[0].get("v") == VERSION else None
    return (sha, rows[1:]) if isinstance(sha, str) else ("", [])


def _sha_of(path: str) -> str:
    try:
        return files.sha256(files.read(path, MOST_BYTES))[:16]
    except OSError:
        return "none"


def _is_talk(name: str) -> bool:
    return name[1:].startswith("/conversations")


def _stamp(place: Place, name: str) -> tuple[int, int]:
    try:
        stat = files.posix.stat(place.path(name))
        return stat.st_size, stat.st_mtime_ns
    except OSError:
        return 0, 0


# --- what one record gives


def _read(place: Place, store: Store, name: str, stamp: list[int]) -> Row:
    """Read a record's failures."""
    row: Row = {"name": name, "file": stamp, "id": "", "session": "", **_SILENT}
    try:
        record = without_private(store.read(name))
        data = files.read(place.path(name), fence.RECORD_BYTES, follow=False)
    except (StoreError, OSError):
        return row
    past, text = history.past_of(record), fence.parts_of(data)[1]
    roots = (place.root, place.project)
    found = [*failures(past, roots), *_changes(past), *_removed_paths(past, roots)]
    changed = {piece.text for _, piece in past.steps() if piece.kind == FILE}
    return {
        **row,
        **{key: getattr(past, key) for key in ("id", "session", "branch", "created")},
        "size": len(text),
        "sha": files.sha256(text)[:16],
        "failures": found,
        "paths": sorted(changed | set(past.files)),
    }


def failures(past: Past, roots: Sequence[str]) -> Iterable[Row]:
    """Yield a session's failed calls that may be walls, with remedies."""
    steps = past.steps()
    worked = _worked(steps)
    for at, (number, piece) in enumerate(steps):
        is_known = piece.name in _TOOLS or piece.name.startswith("mcp__")
        if piece.kind != RUN or not piece.failed or not is_known or practice.is_no_wall(piece):
            continue
        keys = at_failure.failure_keys(
            piece.name or "Bash", piece.text.rstrip(_CLIPPED), piece.telling, roots
        )
        if keys:
            said, then = remedy(remedies.Failure(past, steps, at), worked)
            yield {
                "keys": keys,
                "at": past.at(number) + at / 1e4,
                "telling": at_word(one_line(piece.telling), 200),
                "said": [said] if said else [],
                "ran": short_command(piece.text),
                "where": past.ref(number),
                "then": then,
            }


def remedy(failed: remedies.Failure, worked: Worked) -> tuple[str, str]:
    """Return (the remedy, the other call that worked), "" for none."""
    piece = failed.piece
    if piece.name:
        return UNSTARTABLE if at_failure.is_unstartable(piece.telling) else "", ""
    met, is_placed = remedies.aftermath(failed), practice.is_placed(piece.telling)
    was_mended = is_placed or (met.edits and not practice.MISUSED.search(piece.telling))
    then = "" if was_mended or not _is_another(met.passed, piece) else met.passed
    call = then or ("" if is_placed else _most_like(piece, worked))
    return "what worked: `%s`" % short_command(call) if call else "", short_command(then)


def _is_another(call: str, failed: Piece) -> bool:
    """Tell whether a call differs from a failed one in its form.

    It lacks the words that the failure complains of: a flag that is unknown, a folder that is not
    there.
    """
    judged = remedies.command_and_key(failed.text, True)
    mine, other = (set(map(_masked, remedies.calls(text))) for text in (failed.text, call))
    moved = {line for line in mine if line.startswith("cd ")}
    if judged is None or not call or moved <= other <= mine:
        return False
    ran, then, said = (
        {word.strip("\"'`,.;:!?()[]{}<>…") for word in text.split()}
        for text in (failed.text, call, failed.telling)
    )
    wrong = {word for word in ran & said if len(word) > 2}.difference(judged[1].split())
    return not wrong & then


def _worked(steps: Iterable[tuple[int, Piece]]) -> Worked:
    """Return a session's working commands by program and verb, by shape."""
    found: Worked = {}
    for _, piece in steps:
        is_good = piece.kind == RUN and not piece.name and piece.outcome == shell.OK
        judged = remedies.command_and_key(piece.text, False) if is_good else None
        if judged:
            shapes = found.setdefault(judged[1], {})
            if len(shapes) < MOST_SHAPES:
                shapes.setdefault(_shape(*judged), one_line(piece.text))
    return found


def _most_like(failed: Piece, worked: Worked) -> str:
    """Return the working command most like a failed one, or ""."""
    judged = remedies.command_and_key(failed.text, True)
    if judged is None:
        return ""
    shapes = {
        shape: call
        for shape, call in worked.get(judged[1], {}).items()
        if _is_another(call, failed)
    }
    near = get_close_matches(_shape(*judged), shapes, 1, ALIKE)
    return shapes[near[0]] if near else ""


def _shape(command: str, key: str) -> str:
    """Return the call of a program without its arguments."""
    return _masked(remedies.own_part(command, key))[:200]


def _masked(call: str) -> str:
    """Return a call with its varying parts masked."""
    return _GIVEN.sub("#", call)


def short_command(command: str) -> str:
    """Return a call for reading, without long quoted texts."""
    return at_word(
        _QUOTED.sub(
            lambda long: long[1] + "…" + long[1] if " " in long[0] else long[0], one_line(command)
        ),
        COMMAND,
    )


def _changes(past: Past) -> Iterable[Row]:
    """Yield the changes that met findings, once the check passed."""
    steps, failed = past.steps(), -1
    for at, (number, piece) in enumerate(steps):
        if piece.kind == RUN and piece.failed and not piece.name:
            failed = at
        is_met = piece.kind == MET and failed >= 0
        if is_met and remedies.aftermath(remedies.Failure(past, steps, failed)).passed:
            names = {rule.lower() for rule in findings.rules(piece.name)} - SUITES
            yield {
                "keys": ["r|" + name for name in sorted(names)],
                "at": past.at(number) + at / 1e4,
                "telling": piece.name,
                "said": ["changed to: `%s`" % at_word(piece.text, LINE)],
                "named": findings.names_rule(piece.text, piece.name),
            }


def _removed_words(piece: Piece) -> list[str]:
    """Return the paths that a piece removed, as typed."""
    if piece.name == REMOVED:
        return [piece.text]
    is_good = piece.kind == RUN and not piece.name and piece.outcome == shell.OK
    if not is_good or "cd " in piece.text:
        return []
    return " ".join(shell.DELETED.findall(piece.text)).split()


def _removed_paths(past: Past, roots: Sequence[str]) -> Iterable[Row]:
    """Yield the project's paths that a session removed."""
    for at, (number, piece) in enumerate(past.steps()):
        paths = [at_failure.relative(word.strip("'\""), roots) for word in _removed_words(piece)]
        keys = ["g|" + path for path in paths if path and _is_inside(path)]
        if keys:
            came = next(iter(next_commits(past, number)), "") or "during “%s”" % past.title
            yield {"keys": keys, "at": past.at(number) + at / 1e4, "telling": "", "said": [came]}


def _is_inside(path: str) -> bool:
    """Tell whether a word of `rm` is a path of the project."""
    return path[0] not in "-/~.$" and set("*?{`").isdisjoint(path)


# --- what all records give together


def merged(place: Place, rows: Sequence[Row]) -> list[Row]:
    """Return the walls of all records, each with its keys."""
    tree = practice.Tree(gitindex.read(place.git).hashes, rows)
    groups = grouped(rows)
    removed = {
        key[2:]: max(pairs, key=lambda pair: float(pair[1]["at"]))
        for key, pairs in groups.items()
        if key[:2] == "g|" and key[2:] not in tree.tracked
    }
    absent = [*_gone(removed, tree), *_absent(place, groups, tree, removed)]
    return sorted([*_line_walls(groups), *absent], key=lambda wall: wall["keys"][0])


def grouped(rows: Iterable[Row]) -> Groups:
    """Return the failures by each of their keys."""
    groups: Groups = {}
    for row in rows:
        for failure in row["failures"]:
            for key in failure["keys"]:
                groups.setdefault(key, []).append((row, failure))
    return groups


def _occurrence(row: Row, failure: Row) -> Row:
    record = ("name", "id", "session", "branch", "size", "sha", "created")
    return {
        **{key: row[key] for key in record},
        **{key: failure[key] for key in ("at", "telling", "said")},
    }


def _best(pairs: Iterable[Pair]) -> list[Row]:
    """Return the newest occurrence of each session.

    Those that name a rule come first.
    """
    ordered = sorted(
        pairs, key=lambda pair: (not pair[1].get("named"), -pair[1]["at"], pair[0]["name"])
    )
    found: dict[str, Row] = {}
    for row, failure in ordered:
        found.setdefault(row["session"], _occurrence(row, failure))
    return list(found.values())[:MOST_MET]


def _sessions(pairs: Iterable[Pair]) -> int:
    return len({row["session"] for row, _ in pairs})


def _line_walls(groups: Groups) -> Iterable[Row]:
    """Yield the walls of telling lines and of linters' rules."""
    for key, pairs in groups.items():
        wall: Row = {"keys": [key], "sessions": _sessions(pairs)}
        if key.startswith(at_failure.RULE):
            wall["rule"] = key[2:]
            pairs = _telling([pair for pair in pairs if "named" in pair[1]])
        elif key[:2] == "x|":
            pairs = [pair for pair in pairs if pair[1]["said"]]
        else:
            continue
        if pairs:
            yield {**wall, "met": _best(pairs)}


def _telling(changes: list[Pair]) -> list[Pair]:
    """Return a rule's changes that may help again."""
    sessions = {(row["session"], name) for row, change in changes for name in _names(change)}
    used = Counter(name for _, name in sessions)
    return [
        (row, change)
        for row, change in changes
        if change["named"] or any(used[name] > 1 for name in _names(change))
    ]


def _names(change: Row) -> set[str]:
    """Return a change's names missing in its finding."""
    told = change["telling"].lower()
    return {name for name in _NAME.findall(change["said"][0]) if name.lower() not in told}


def _gone(removed: dict[str, Pair], tree: practice.Tree) -> Iterable[Row]:
    """Yield the walls of paths that a session removed."""
    for path, (row, gone) in removed.items():
        instead = [
            one
            for one in practice.instead_of(path, tree)
            if one in tree.files and one not in removed
        ]
        yield {
            "keys": ["a|" + path],
            "sessions": 1,
            "path": path,
            "gone": True,
            "instead": [[one, tree.source(one)] for one in instead],
            "met": [_occurrence(row, gone)],
        }


def _absent(
    place: Place, groups: Groups, tree: practice.Tree, removed: Iterable[str]
) -> Iterable[Row]:
    """Yield the walls of missing paths."""
    for path, pairs in _missing(groups, tree, removed).items():
        instead = practice.instead_of(path, tree)
        if instead:
            yield {
                "keys": ["a|" + path],
                "sessions": _sessions(pairs),
                "path": path,
                "doc": list(practice.line_of(place, path) or ()),
                "instead": [[one, tree.source(one)] for one in instead],
                "met": [{**one, "said": []} for one in _best(pairs)],
            }


def _missing(groups: Groups, tree: practice.Tree, removed: Iterable[str] = ()) -> Groups:
    """Return the failures by missing path.

    Each file, and the first folder above it that is missing too.
    """
    walls: Groups = {}
    for key, pairs in groups.items():
        path = key[2:] if key[:2] == "a|" else ""
        if not path or tree.holds(path) or path.startswith(("/", "~", "..")):
            continue
        missing = next(
            (folder for folder in reversed(at_failure.above(path)) if folder not in tree.folders),
            path,
        )
        for one in {path, missing}.difference(removed):
            walls.setdefault(one, []).extend(pairs)
    return walls


def packed(found: Sequence[Row]) -> bytes:
    """Return the look-up as bytes; see hook/at_failure.py."""
    body: list[bytes] = []
    entries: list[tuple[bytes, int]] = []
    length = 0
    for wall in found:
        value = {key: value for key, value in wall.items() if key != "keys"}
        line = (fastjson.dump(value) + "\n").encode("ascii")
        entries += [(at_failure.hash_of(key).encode("ascii"), length) for key in wall["keys"]]
        body.append(line)
        length += len(line)
    head = at_failure.HEAD + b"%d\n" % len(entries)
    start = len(head) + at_failure.ENTRY * len(entries)
    return b"".join(
        [head, *(b"%s %010d\n" % (key, start + at) for key, at in sorted(entries)), *body]
    )


# --- what several sessions met


class Repeated(NamedTuple):
    """A failure that several sessions met.

    The newest occurrence with a remedy tells it.

    path: what is not there, "" for another failure. worked: the other call that then worked, or the
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
        """The newest occurrence of each session in which another call worked."""
        found = {row["session"]: (row, one) for row, one in reversed(self.met) if one["then"]}
        return sorted(found.values(), key=lambda pair: -float(pair[1]["at"]))

    @property
    def sessions(self) -> int:
        """How many sessions met it."""
        return _sessions(self.met)

    @property
    def times(self) -> int:
        """How often it was met."""
        return len(self.met)

    @property
    def last(self) -> float:
        """The newest instant, seconds since the epoch."""
        return float(self.met[0][1]["at"])

    @property
    def where(self) -> tuple[str, ...]:
        """The turns with the failure, newest first."""
        return tuple(dict.fromkeys(one["where"] for _, one in self.met))

    @property
    def learning(self) -> str:
        """A text for `dayleaf learn`, or ""."""
        if self.path:
            instead = "; it is `%s`" % self.worked if self.worked else ""
            return "`%s` does not exist here%s." % (self.path, instead)
        return self.sentence(120) if self.worked else ""

    def sentence(self, most: int) -> str:
        """Return the failure and what worked.

        most: characters of each call.
        """
        telling = one_line(remedies.PLACE.sub("", self.telling), 140).rstrip(".")
        calls = (code(at_word(call, most)) for call in (self.ran, self.worked))
        return "%s fails: %s. What worked: %s." % (next(calls), telling, next(calls))


def repeated(place: Place, rows: Sequence[Row]) -> list[Repeated]:
    """Return the failures of several sessions, those with a remedy first.

    SESSIONS and more met them, or TOLD where another call is known; without one, not what was
    absent and is there by now.
    """
    tree = practice.Tree(gitindex.read(place.git).hashes, rows)
    groups = grouped(rows)
    there = {
        id(one)
        for key, pairs in groups.items()
        if key[:2] == "a|" and tree.holds(key[2:])
        for _, one in pairs
        if not one["then"]
    }
    absent = {"a|" + path: pairs for path, pairs in _missing(groups, tree).items()}
    absent = absent if tree.tracked else {}
    lines = {key: pairs for key, pairs in groups.items() if key[:2] == "x|"}
    found = []
    for key, pairs in sorted(
        {**absent, **lines}.items(), key=lambda item: (-_sessions(item[1]), item[0])
    ):
        met = [pair for pair in pairs if id(pair[1]) not in there]
        mended = any(one["then"] for _, one in met)
        if _sessions(met) >= (TOLD if mended else SESSIONS):
            there.update(id(one) for _, one in met)
            found.append(_repeated(place, key, met, tree))
    return sorted(found, key=lambda wall: (not wall.worked, -wall.sessions, wall.telling))


def _repeated(place: Place, key: str, met: Sequence[Pair], tree: practice.Tree) -> Repeated:
    every = sorted(met, key=lambda pair: -float(pair[1]["at"]))
    best = next((one for _, one in every if one["then"]), every[0][1])
    path, worked = key[2:] if key[:2] == "a|" else "", best["then"]
    if path:
        worked = next((one for one in practice.instead_of(path, tree) if one in tree.tracked), "")
    wrong = path or (best["ran"] if worked and practice.MISUSED.search(best["telling"]) else "")
    named = practice.line_of(place, wrong) if wrong else None
    line = "%s:%d names %s" % (*named, one_line(wrong, 120)) if named else ""
    return Repeated(key, best["telling"], best["ran"], path, worked, line, tuple(every))


def to_json(wall: Repeated) -> dict[str, Any]:
    """Return a failure of several sessions as plain data."""
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
