"""Walls: which failed calls earlier sessions met, and what then worked, written down for the hook
at a failed call.

`write` derives `<scope>.walls` (its format, and what makes a wall's key, stand in
hook/at_failure.py) from the conversations of the private tier, and from the checkpoints of sessions
that have none.  What one record gives is kept in `<scope>.met`, so that only records whose file
changed are read again.  A failure is written down only with a remedy: another call that worked, the
line that met a linter's rule, or the path that is there in place of one that is not.

Format of `<scope>.met`, version 7, JSON Lines: `{"v": 7, "sha": 16 hex of the look-up's SHA-256}`,
with `"settled":true` once candidates were made of it, then for each record name, file (its size and
time of change in nanoseconds), id, session, branch, created, size and sha (of its text), failures
(keys, at, telling, worth, said, ran, where: its turn, then: the other call that worked after it, ""
for none), ruled (of changes that met a finding, rule -> worth, said, telling and at), gone (paths
that it removed -> at, said) and paths (of files that it tells of).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, NamedTuple

from memory.capture import findings
from memory.capture.turns import FILE, MET, REMOVED, RUN, Piece
from memory.core import StoreError, clock, fastjson, files
from memory.core.config import Config
from memory.core.layout import PRIVATE, Place
from memory.core.plaintext import at_word, one_line
from memory.hook import at_failure, fence
from memory.knowledge import history, practice, remedies
from memory.knowledge.history import Past, next_commits
from memory.session import commandline, shell
from memory.session.latepattern import Late
from memory.store.redactor import without_private
from memory.store.store import Store

VERSION = 7  # of `<scope>.met`
MOST_RECORDS, MOST_BYTES = 2000, 64 << 20  # that are looked at, of what is written here
# turns of a conversation that are read; those before them as they were when they were among these
NEWEST = 200
# occurrences of a wall that are kept; characters of a line that met it, of a command
MOST_MET, LINE, COMMAND = 3, 300, 240
SESSIONS, TOLD = 3, 2  # that met a failure: at least, and where another call is known
_NAME = Late(r"[A-Za-z]\w{0,40}\.[A-Za-z]\w{0,40}")  # of what a package holds
# Linters whose name stands behind many a rule.
SUITES = frozenset(
    "gosec gocritic staticcheck stylecheck revive govet typecheck vet eslint ruff pylint flake8 "
    "clippy".split()
)
MOST_SHAPES, MOST_CALLS = 64, 16  # of calls of one program that worked; commands of one shape
# likeness of the calls, without what they were given, of which one worked and one did not
ALIKE = 0.6
_TOOLS, _CLIPPED = frozenset((*at_failure.TOOLS, "")), "…"
_QUOTED = Late(r"""(["'])(?:\\.|(?!\1).){48,}(?:\1|…|\Z)""", re.S)
# of a command: what varies
_GIVEN = Late(r"""(["'])(?:\\.|(?!\1).)*(?:\1|…|\Z)|\d+|[0-9a-f]{7,}""", re.S)
# where a conversation tells it
_SILENT: dict[str, Any] = {"failures": [], "ruled": {}, "gone": {}, "paths": []}

DERIVED = (".walls", ".met", ".turned", ".facts", ".claims", ".heads", ".checked", ".page")
Row = dict[str, Any]
Groups = dict[str, list[tuple[Row, Row]]]  # (a record, a failure in it) by key


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
    before = {str(row.get("name")): row for row in kept}
    rows, told = list[Row](), set[str]()
    store, changed = Store(place, settings, now), False
    names = [name for name in history.newest(place, MOST_RECORDS) if name[:1] == PRIVATE]
    for name in sorted(names[:MOST_RECORDS], key=lambda name: (not _is_talk(name), name)):
        stamp = _stamp(place, name)
        row = before.get(name)
        if row is None or row.get("file") != stamp:
            changed = True
            row = _read(place, store, name, stamp, told, row or {})
        if _is_talk(name):
            told.add(row["session"])
        rows.append(row)
    return sha, rows, changed or len(rows) != len(before)


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


def _stamp(place: Place, name: str) -> list[int]:
    try:
        stat = files.posix.stat(place.path(name))
        return [stat.st_size, stat.st_mtime_ns]
    except OSError:
        return [0, 0]


# --- what one record gives


def _read(
    place: Place, store: Store, name: str, stamp: list[int], told: set[str], before: Row
) -> Row:
    """Read a record's failures.

    A checkpoint gives nothing where its session has a conversation. before: its last row, reused
    for turns that are not read again.
    """
    row: Row = {"name": name, "file": stamp, "id": "", "session": "", **_SILENT}
    try:
        record = without_private(store.read(name))
        data = files.read(place.path(name), fence.RECORD_BYTES, follow=False)
    except (StoreError, OSError):
        return row
    past, text = history.past_of(record), fence.parts_of(data)[1]
    row.update({key: getattr(past, key) for key in ("id", "session", "branch", "created")})
    row.update(size=len(text), sha=files.sha256(text)[:16])
    if _is_talk(name) or past.session not in told:
        first = max(0, len(past.turns) - NEWEST)
        row["failures"] = list(failures(past, (place.root, place.project), first))
        row["ruled"] = _changes(past, first)
        row["gone"] = _removed_paths(past, (place.root, place.project), first)
        if (
            first
            and before.get("sha")
            and files.sha256(text[: before["size"]])[:16] == before["sha"]
        ):
            row["failures"] = [
                one for one in before["failures"] if one["at"] < past.at(first + 1)
            ] + row["failures"]
            row.update({kind: {**before[kind], **row[kind]} for kind in ("ruled", "gone")})
        row["paths"] = sorted(
            {piece.text for _, piece in past.steps() if piece.kind == FILE} | set(past.files)
        )
    return row


def failures(past: Past, roots: Sequence[str], first: int = 0) -> Iterable[Row]:
    """Yield a session's failed calls that may be walls, with remedies.

    first: turns to skip.
    """
    steps = past.steps(first)
    worked, unstartable = Worked(steps), _unstartable(steps)
    for at, (number, piece) in enumerate(steps):
        is_known = piece.name in _TOOLS or piece.name.startswith("mcp__")
        if piece.kind != RUN or not piece.failed or not is_known or practice.is_no_wall(piece):
            continue
        keys = at_failure.failure_keys(
            piece.name or "Bash", piece.text.rstrip(_CLIPPED), piece.telling, roots
        )
        if keys:
            worth, lines, then = remedy(remedies.Failure(past, steps, at), worked)
            if piece.name and not worth and at_failure.is_unstartable(piece.telling):
                worth, lines = unstartable.get(piece.name, (0, []))
            yield {
                "keys": keys,
                "at": past.at(number) + at / 1e4,
                "telling": at_word(one_line(piece.telling), 200),
                "worth": worth,
                "said": lines,
                "ran": short_command(piece.text),
                "where": past.ref(number),
                "then": then,
            }


def _unstartable(steps: Iterable[tuple[int, Piece]]) -> dict[str, tuple[int, list[str]]]:
    """Return (worth, line) of each tool whose program did not start."""
    given: dict[str, set[str]] = {}
    for _, one in steps:
        if one.kind == RUN and one.name and one.failed and at_failure.is_unstartable(one.telling):
            given.setdefault(one.name, set()).add(one.text)
    return {
        tool: (
            1,
            [
                "it failed so with %d different inputs in that session: the tool's own program "
                "could not be started; the shell's `grep` and `find` do without it" % len(every)
            ],
        )
        for tool, every in given.items()
        if len(every) > 1
    }


def remedy(failed: remedies.Failure, worked: Worked) -> tuple[int, list[str], str]:
    """Return (worth, lines, the other call that worked) after a failure.

    worth: 0 for no remedy.
    """
    piece = failed.piece
    if piece.name:
        return 0, [], ""
    met = remedies.aftermath(failed, "same", ended=False)
    placed = practice.is_placed(piece.telling)
    mended = placed or (met.edits and not practice.MISUSED.search(piece.telling))
    after = "" if mended else _differing_call(piece.text, met.passed)
    if (
        met.covered
        and not met.edits
        and len(met.did) == 1
        and not _is_same_program(met.did[0], piece.text)
    ):
        return 2, ["what worked: `%s`, then the same call" % short_command(met.did[0])], ""
    call = after or ("" if placed else worked.most_like(piece.text))
    return (
        (2, ["what worked: `%s`" % short_command(call)], short_command(after))
        if call
        else (0, [], "")
    )


def _is_same_program(command: str, failed: str) -> bool:
    """Tell whether a line calls the failed call's program and verb."""
    one, other = remedies.command_and_key(command, False), remedies.command_and_key(failed, True)
    return one is None or other is None or one[1] == other[1]


def _differing_call(failed: str, passed: str) -> str:
    """Return the passed call if different from the failed call."""
    mine, other = _calls(failed), _calls(passed)
    moved = [call for call in mine if call.startswith("cd ")]
    return (
        ""
        if not other
        or (all(call in mine for call in other) and all(call in other for call in moved))
        else passed
    )


def _calls(command: str) -> list[str]:
    """Return a line's calls that matter, without pipes and redirections."""
    every = [
        (part, commandline.key_of(part)) for join, part in commandline.steps(command) if join != "|"
    ]
    return [
        remedies.REDIRECTED.sub("", part).strip()
        for part, key in every
        if part.startswith("cd ") or (key and not commandline.is_noise(key))
    ]


def short_command(command: str) -> str:
    """Return a call for reading, without long quoted texts."""
    return at_word(
        _QUOTED.sub(
            lambda long: long[1] + "…" + long[1] if " " in long[0] else long[0], one_line(command)
        ),
        COMMAND,
    )


class Worked:
    """The commands that worked in a session.

    By program and verb, then by shape: the first MOST_SHAPES, MOST_CALLS of each.
    """

    def __init__(self, steps: Iterable[tuple[int, Piece]]):
        self._steps = steps
        self._likenesses: dict[tuple[str, str], list[tuple[float, str]]] = {}

    @cached_property
    def _shapes(self) -> dict[str, dict[str, dict[str, frozenset[str]]]]:
        """Calls by program and verb, by shape, by command."""
        found: dict[str, dict[str, dict[str, frozenset[str]]]] = {}
        ran = (
            piece.text
            for _, piece in self._steps
            if piece.kind == RUN and not piece.name and piece.outcome == shell.OK
        )
        for text in dict.fromkeys(ran):
            judged = remedies.command_and_key(text, False)
            shapes = found.setdefault(judged[1], {}) if judged else {}
            masked = shape(*judged) if judged else ""
            if judged and (masked in shapes or len(shapes) < MOST_SHAPES):
                calls = shapes.setdefault(masked, {})
                if len(calls) < MOST_CALLS:
                    calls[text] = frozenset(_calls(text))
        return found

    def most_like(self, failed: str) -> str:
        """Return the working command most like a failed one, or "".

        It makes another call.
        """
        judged = remedies.command_and_key(failed, True)
        if judged is None or judged[1] not in self._shapes:
            return ""
        own, shapes = frozenset(_calls(failed)), self._shapes[judged[1]]
        for _, masked in self._ranked(shape(*judged), judged[1]):
            other = next((text for text, calls in shapes[masked].items() if not calls <= own), "")
            if other:
                return one_line(other)
        return ""

    def _ranked(self, masked: str, key: str) -> list[tuple[float, str]]:
        """Return (similarity, shape) of similar shapes, best first."""
        if (masked, key) not in self._likenesses:
            found = []
            for other in self._shapes[key]:
                match = SequenceMatcher(None, masked, other)
                if (
                    match.real_quick_ratio() > ALIKE
                    and match.quick_ratio() > ALIKE
                    and match.ratio() > ALIKE
                ):
                    found.append((match.ratio(), other))
            self._likenesses[masked, key] = sorted(found, key=lambda pair: -pair[0])
        return self._likenesses[masked, key]


def shape(command: str, key: str) -> str:
    """Return the call of a program without its arguments."""
    return masked(remedies.own_part(command, key))[:200]


def masked(command: str) -> str:
    """Return a call with its varying parts masked."""
    return _GIVEN.sub("#", remedies.REDIRECTED.sub("", command))


def _changes(past: Past, first: int) -> dict[str, Row]:
    """Return the changes that fixed findings, the newest by rule."""
    steps, found = past.steps(first), dict[str, Row]()
    for at, (number, piece) in enumerate(steps):
        if piece.kind != MET or not _passes(past, steps, at):
            continue
        worth = 2 if findings.names_rule(piece.text, piece.name) else 1
        met = {
            "worth": worth,
            "said": "changed to: `%s`" % at_word(piece.text, LINE),
            "at": past.at(number) + at / 1e4,
            "telling": piece.name,
        }
        names = {rule.lower() for rule in findings.rules(piece.name)} - SUITES
        found.update({name: met for name in names if worth >= found.get(name, met)["worth"]})
    return found


def _removed_paths(past: Past, roots: Sequence[str], first: int) -> dict[str, Row]:
    """Return the project's paths that a session removed."""
    found: dict[str, Row] = {}
    for at, (number, piece) in enumerate(past.steps(first)):
        removed = [piece.text] if piece.name == REMOVED else []
        if (
            piece.kind == RUN
            and not piece.name
            and piece.outcome == shell.OK
            and "cd " not in piece.text
        ):
            removed = [
                word for words in shell.DELETED.findall(piece.text) for word in words.split()
            ]
        paths = [
            at_failure.relative(word.strip("'\""), roots) for word in removed if word[:1] != "-"
        ]
        for path in [
            path
            for path in paths
            if path and path[:1] not in "/~.$" and not set("*?{`").intersection(path)
        ]:
            came = next(iter(next_commits(past, number)), "") or "during “%s”" % past.title
            found[path] = {"at": past.at(number) + at / 1e4, "said": [came], "worth": 1}
    return found


def _passes(past: Past, steps: list[tuple[int, Piece]], at: int) -> bool:
    """Tell whether the last failed run before a change passed afterwards."""
    before = (
        one
        for one in range(at - 1, max(-1, at - remedies.REACH), -1)
        if steps[one][1].kind == RUN and steps[one][1].failed and not steps[one][1].name
    )
    failed = next(before, None)
    return failed is not None and bool(remedies.remedy_of(remedies.Failure(past, steps, failed)))


# --- what all records give together


def merged(place: Place, rows: Sequence[Row]) -> list[Row]:
    """Return the walls of all records, each with its keys."""
    tree = practice.Tree(practice.project_files(place), rows)
    groups = grouped(rows)
    removed = _removed(rows, tree)
    absent = [*_gone(removed, tree), *_absent(place, groups, tree, removed)]
    found = [*_exact(groups), *_ruled(groups, rows), *absent]
    return sorted(found, key=lambda wall: wall["keys"][0])


def grouped(rows: Iterable[Row]) -> Groups:
    """Return the failures by each of their keys."""
    groups: Groups = {}
    for row in rows:
        for failure in row["failures"]:
            for key in failure["keys"]:
                groups.setdefault(key, []).append((row, failure))
    return groups


def _occurrence(row: Row, failure: Row, lines: Sequence[str]) -> Row:
    return {
        **{key: row[key] for key in ("name", "id", "session", "branch", "size", "sha", "created")},
        "at": failure["at"],
        "telling": failure.get("telling", ""),
        "said": list(lines),
    }


def _best(pairs: Iterable[tuple[Row, Row]]) -> list[tuple[Row, Row]]:
    """Return the most telling occurrences, one per session."""
    ordered = sorted(pairs, key=lambda pair: (-pair[1]["worth"], -pair[1]["at"], pair[0]["name"]))
    return list({row["session"]: (row, failure) for row, failure in reversed(ordered)}.values())[
        ::-1
    ]


def _sessions(pairs: Iterable[tuple[Row, Row]]) -> int:
    return len({row["session"] for row, _ in pairs})


def _exact(groups: Groups) -> Iterable[Row]:
    """Yield the walls of telling lines, alone or with their input."""
    for key, pairs in groups.items():
        told = [pair for pair in pairs if pair[1]["worth"] > 0] if key.startswith("x|") else []
        if told:
            best = _best(told)[:MOST_MET]
            yield {
                "keys": [key],
                "sessions": _sessions(pairs),
                "met": [_occurrence(row, failure, failure["said"]) for row, failure in best],
            }


def _ruled(groups: Groups, rows: Iterable[Row]) -> Iterable[Row]:
    """Yield the walls of linters' rules, with the fixed lines."""
    rules: Groups = {}
    for row in rows:
        for rule, told in row["ruled"].items():
            rules.setdefault(rule, []).append((row, told))
    for rule in sorted(rules):
        best = _best(_telling(rules[rule]))[:MOST_MET]
        if best:
            yield {
                "keys": ["r|" + rule],
                "sessions": _sessions([*rules[rule], *groups.get("r|" + rule, ())]),
                "rule": rule,
                "met": [_occurrence(row, told, [told["said"]]) for row, told in best],
            }


def _telling(changes: list[tuple[Row, Row]]) -> list[tuple[Row, Row]]:
    """Return a rule's changes that may help again."""
    used: dict[str, set[str]] = {}
    for row, change in changes:
        for name in _names(change):
            used.setdefault(name, set()).add(row["session"])
    shared = {name for name, sessions in used.items() if len(sessions) > 1}
    return [
        (row, change)
        for row, change in changes
        if change["worth"] > 1 or not shared.isdisjoint(_names(change))
    ]


def _names(change: Row) -> set[str]:
    """Return a change's names missing in its finding."""
    told = change["telling"].lower()
    return {name for name in _NAME.findall(change["said"]) if name.lower() not in told}


def _removed(rows: Sequence[Row], tree: practice.Tree) -> dict[str, tuple[Row, Row]]:
    """Return the newest removal of each path that git lacks."""
    every = [(path, row, gone) for row in rows for path, gone in row["gone"].items()]
    every.sort(key=lambda one: float(one[2]["at"]))
    return {path: (row, gone) for path, row, gone in every if path not in tree.tracked}


def _gone(removed: dict[str, tuple[Row, Row]], tree: practice.Tree) -> Iterable[Row]:
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
            "met": [_occurrence(row, gone, gone["said"])],
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
                "met": [_occurrence(row, failure, ()) for row, failure in _best(pairs)[:MOST_MET]],
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
    """A failure that several sessions met, as its newest occurrence with a remedy tells it.

    path: what is not there, "" for another failure. worked: the other call that then worked, or "".
    times, sessions: how often it was met, and by how many. last: seconds since the epoch. where:
    turns, newest first. line: a line of the project's instructions that names what fails,
    `CLAUDE.md:41 names …`, or "". learning: a text for `dayleaf learn`, or "".
    """

    telling: str
    ran: str
    path: str
    worked: str
    sessions: int
    times: int
    last: float
    where: tuple[str, ...]
    line: str
    learning: str


def repeated(place: Place, rows: Sequence[Row]) -> list[Repeated]:
    """Return the failures of several sessions, those with a remedy first.

    SESSIONS and more met them, or TOLD where another call is known; not what was absent and is
    there by now.
    """
    tree = practice.Tree(practice.project_files(place), rows)
    groups = grouped(rows)
    there = {
        id(one)
        for key, pairs in groups.items()
        if key[:2] == "a|" and tree.holds(key[2:])
        for _, one in pairs
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
            found.append(_repeated(place, key[2:] if key in absent else "", met, tree))
    return sorted(found, key=lambda wall: (not wall.worked, -wall.sessions, wall.telling))


def _repeated(
    place: Place, path: str, met: Sequence[tuple[Row, Row]], tree: practice.Tree
) -> Repeated:
    every = sorted((one for _, one in met), key=lambda one: -float(one["at"]))
    best = max(every, key=lambda one: (bool(one["then"]), one["at"]))
    worked = best["then"]
    if path:
        worked = next((one for one in practice.instead_of(path, tree) if one in tree.tracked), "")
        learning = "`%s` does not exist here%s." % (path, worked and "; it is `%s`" % worked)
    else:
        learning = "`%s` fails: %s. What worked: `%s`." % (
            one_line(best["ran"], 120),
            one_line(remedies.PLACE.sub("", best["telling"]), 140).rstrip("."),
            one_line(worked, 120),
        )
    wrong = path or (best["ran"] if worked and practice.MISUSED.search(best["telling"]) else "")
    named = practice.line_of(place, wrong) if wrong else None
    return Repeated(
        best["telling"],
        best["ran"],
        path,
        worked,
        _sessions(met),
        len(every),
        float(every[0]["at"]),
        tuple(dict.fromkeys(one["where"] for one in every)),
        "%s:%d names %s" % (*named, one_line(wrong, 120)) if named else "",
        learning if path or worked else "",
    )


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
