"""The verb import: notes of other tools, and past sessions; their files are only read."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Callable, NamedTuple

from memory.core import StoreError, UsageError, clock, config, files, layout
from memory.core.plaintext import format_count, one_line
from memory.doors import registry
from memory.knowledge import discoveries, lessons, walls
from memory.knowledge.discoveries import Discovery
from memory.project import adoption, backfill, clientmemory, otherfiles, othernotes, trees
from memory.project.intake import Piece, Result, import_pieces
from memory.project.otherfiles import Skip, Source
from memory.session import transcript, whereabouts
from memory.store import activeplan
from memory.store.store import Store
from memory.terminal import offers, screen
from memory.terminal.call import (
    Call,
    ask_confirmation,
    choose_tier,
    clip_input,
    find_author,
    refresh_index,
    unknown_word,
    warn,
)

INTERRUPTED = 130  # exit status after Ctrl-C
MOST_SHOWN = 12  # lines of skipped or vanished sources
LINE_INTERVAL = 20.0  # seconds between two lines of progress, where no spinner turns
MOST_REFRESHED = 16  # records; for more, comparing all files with the index is cheaper


class Batch(NamedTuple):
    """Sources that an import reads in one pass.

    from_: name of the origin. tier: of new records. found, skipped: sources. pieces: of the found
        ones. covered: tells whether they hold all sources of a path.
    """

    from_: str
    tier: str
    found: Sequence[Any]
    skipped: Sequence[Skip]
    pieces: Iterable[Piece | Skip]
    covered: Callable[[str], bool]


def import_(call: Call) -> int:
    """Import a tree, a directory, the client's memory or past sessions."""
    if not call.words:
        raise UsageError("store import needs to know what to import: one of " + ", ".join(KINDS))
    kind, *words = call.words
    if kind not in KINDS:
        raise unknown_word("import", kind, KINDS)
    _check_usage(call, kind, words)
    try:
        return KINDS[kind](call)
    except KeyboardInterrupt:
        warn("interrupted; what was written stays, and the same command continues from there")
        raise


def _check_usage(call: Call, kind: str, words: list[str]) -> None:
    for name, takers in OPTIONS.items():
        if getattr(call.options, name) and kind not in takers:
            flag = "--" + name.removeprefix("tier_")
            raise UsageError("%s is for import %s" % (flag, " and ".join(takers)))
    takes_folder = kind in ("tree", "dir")
    if takes_folder and len(words) != 1:
        raise UsageError("import %s takes one directory, not %d" % (kind, len(words)))
    if words and not takes_folder:
        message = "import %s takes no more words; leave '%s' out"
        raise UsageError(message % (kind, clip_input(words[0])))


def _import_tree(call: Call) -> int:
    tier = choose_tier(call)
    tree = trees.find_tree(otherfiles.resolve_folder(call.words[1], call.place))
    pieces = trees.read_tree(tree, call.place, tier, call.now, find_author(call))
    found, covered = [*tree.found, *tree.skipped], _make_path_filter(call, tree.root, tier)
    result = _import_batches(call, [Batch(trees.FROM, tier, found, (), pieces, covered)])
    left = trees.count_outside(tree)
    notes = _warn_of_outside(call, tree.root, tier)
    if left:
        much = format_count(left, "file")
        much = "more than " + much if left == trees.COUNTED else much
        note = "left out %s that are not in docs/, scripts/, shared/ or unversioned/"
        notes.insert(0, note % much)
    return _report_result(call, "file", result, {"from": tree.root, "left_out": left}, notes)


def _warn_of_outside(call: Call, root: str, tier: str) -> list[str]:
    if tier != layout.SHARED or files.is_inside(root, call.place.root):
        return []
    return [
        "the directory is outside the repository: the paths in the shared records are right "
        "only on this machine"
    ]


def _make_path_filter(call: Call, root: str, tier: str) -> Callable[[str], bool]:
    """Return a function that tells whether a record's source lies below a folder."""
    # a path below the project's root is relative
    base = "" if root == call.place.root else otherfiles.record_path(root, call.place, tier) + "/"
    return lambda path: path.startswith(base) and (base != "" or path[:1] != "/")


def _import_dir(call: Call) -> int:
    tier = choose_tier(call)
    path = otherfiles.resolve_folder(call.words[1], call.place)
    notes = _warn_of_outside(call, path, tier)
    known = {}
    for plan in activeplan.list_active(call.store().each(("plan",)))[:1]:
        origin = plan.meta.get(otherfiles.ORIGIN)
        known[str(origin.get("path")) if isinstance(origin, dict) else ""] = plan.id
    roots, linked = othernotes.find_roots(path)
    left, read = Counter[str](), Counter[str]()
    batches = [Batch(othernotes.FROM, tier, (), linked, (), lambda path: False)]
    for root in roots:
        found, skipped = otherfiles.separate_skips(
            otherfiles.find_files(root.path, othernotes.is_wanted)
        )
        found = othernotes.select_readable(found)
        kind, who = call.options.kind or "", find_author(call)
        pieces = othernotes.read_notes(
            root, found, call.place, tier, kind, who, known, call.now, call.env
        )
        if who == "agent":
            pieces = map(othernotes.make_candidate, pieces)
        covered = _make_path_filter(call, root.path, tier)
        batches.append(Batch(othernotes.FROM, tier, found, skipped, pieces, covered))
        left.update(otherfiles.count_left_out(root.path, othernotes.is_wanted))
        read.update(otherfiles.extension(source.name) for source in found)
        if root.store:
            number = format_count(len(found), "file")
            notes.append("%s: a store of another tool, %s" % (root.shown, number))
    if set(read) - {".md"}:
        notes.append("read " + otherfiles.format_endings(read))
    notes += filter(None, [otherfiles.format_left_out(left)])
    result = _import_batches(call, batches)
    return _report_result(call, "file", result, {"from": path, "endings": left}, notes)


def _import_claude_memory(call: Call) -> int:
    notes, total = [], Result()
    for place in _list_places(call):
        found, skipped = clientmemory.find_memories(clientmemory.memory_folder(place, call.env))
        rules, more = clientmemory.find_rule_files(place)
        counts = format_count(len(found), "file"), format_count(len(rules), "CLAUDE.md file")
        note = "%s: Claude Code's memory holds %s, the project %s"
        notes.append(note % (place.key, *counts))
        tier = layout.PRIVATE
        pieces = clientmemory.read_memories(found, place, tier)
        batches = [
            Batch(clientmemory.MEMORY, tier, found, skipped, pieces, lambda path: True),
            _make_rules_batch(place, tier, rules, more),
        ]
        if place.key == call.place.key:
            own = clientmemory.find_user_files(call.env)
            if own:
                notes.append("your own folder holds " + format_count(len(own), "CLAUDE.md file"))
            batches.append(_make_rules_batch(place, layout.GLOBAL, own, []))
        _merge_result(total, _import_batches(call, batches, place))
    if total.new and not call.options.dry_run:
        notes.append(
            "Claude Code loads these files itself, so they are kept as candidates: recall finds "
            "them, prompts get them once you accept them (`dayleaf review`)"
        )
    return _report_result(call, "section", total, {}, notes)


def _make_rules_batch(
    place: layout.Place, tier: str, found: list[Source], skipped: list[Skip]
) -> Batch:
    def is_of_tier(path: str) -> bool:
        return (path[:1] == "/") == (tier == layout.GLOBAL)  # absolute paths are global

    pieces = clientmemory.read_rule_files(found, place, tier)
    return Batch(clientmemory.RULES, tier, found, skipped, pieces, is_of_tier)


def _list_places(call: Call) -> list[layout.Place]:
    found = {call.place.key: call.place}
    sessions = _find_sessions(call)[0] if call.options.all else []
    for directory in sorted({session.directory for session in sessions}):
        if files.is_folder(directory):
            place = layout.locate(call.env, directory)
            place = place if call.options.dry_run else adoption.adopt(place, call.now)
            found.setdefault(place.key, place)
    return list(found.values())


def _find_sessions(call: Call) -> tuple[list[backfill.Session], list[Skip]]:
    """Return (past sessions of the client or an agent, unread files)."""
    agent = call.options.agent
    found = backfill.find_sessions(call.env)
    if agent:
        found = registry.offer("agents", "sessions")(agent, call.env, _list_known_paths(call))
    entries = list(found)
    unread = [entry for entry in entries if isinstance(entry, Skip)]
    return [entry for entry in entries if not isinstance(entry, Skip)], unread


def _merge_result(total: Result, more: Result) -> None:
    for name in ("new", "changed", "same", "skipped", "gone", "troubled", "private", "cleaned"):
        getattr(total, name).extend(getattr(more, name))


def _import_batches(call: Call, batches: list[Batch], place: layout.Place | None = None) -> Result:
    place, total = place or call.place, Result()
    number_of_sources = sum(len(batch.found) + len(batch.skipped) for batch in batches)
    with files.Lock(place.cache + "/import.lock") as is_free, call.spinner("importing") as spinner:
        if not is_free:
            raise StoreError(
                "another import into this workspace is running; wait until it has finished"
            )

        def show_progress(number: int) -> None:
            done = total.done + number
            bar = screen.format_progress(done, number_of_sources)
            spinner.step = "importing %s %d of %d" % (bar, done, number_of_sources)

        settings = call.settings if place is call.place else config.load_for_place(place, call.env)
        changed: list[str] = []
        store = Store(place, settings, call.now, changed.append, call.open_store(place).keeps)
        dry = call.options.dry_run
        try:
            for batch in batches:
                pieces = chain(batch.skipped, batch.pieces)
                result = import_pieces(
                    store, pieces, batch.from_, batch.tier, dry, show_progress, batch.covered
                )
                _merge_result(total, result)
        finally:
            spinner.step = "indexing"
            refresh_index(place, call.now, changed, MOST_REFRESHED)
    return total


def _report_result(
    call: Call, noun: str, result: Result, more: dict[str, Any], notes: list[str]
) -> int:
    dry, private = call.options.dry_run, result.private
    counts = {
        "new": len(result.new),
        "unchanged": len(result.same),
        "changed": len(result.changed),
        "skipped": len(result.skipped),
    }
    if private:
        way = "`dayleaf record forget --hard ID`, then the import again,"
        notes.append(
            "%s still in the private tier from an earlier import; to move them, run %s for each "
            "(%s)"
            % (
                "1 record is" if len(private) == 1 else "%d records are" % len(private),
                "`dayleaf record share ID`" if call.options.shared else way,
                " ".join(private[:MOST_SHOWN]) + " …" * (len(private) > MOST_SHOWN),
            )
        )
    lines = [one_line(note) for note in notes]
    numbers = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    end = "; nothing was written (--dry-run)" if dry else ""
    lines.append("%s: %s%s" % (format_count(result.done, noun), numbers, end))
    lines += _list_first("skipped %s: %s; %s" % skip for skip in result.skipped)
    if result.cleaned:
        lines.append("a secret or a <private> part was left out:")
    lines += _list_first(result.cleaned)
    troubled = len({path for path, _ in result.troubled})
    if troubled:
        have = "has" if troubled == 1 else "have"
        lines.append("%s %s trouble in the frontmatter:" % (format_count(troubled, "file"), have))
    lines += _list_first("%s: %s" % row for row in result.troubled)
    gone = "gone: %s; its record stays until `dayleaf record forget %s`"
    lines += _list_first(gone % (path, id) for id, path in result.gone)
    value = {
        **more,
        "dry_run": dry,
        **counts,
        "skipped": [skip._asdict() for skip in result.skipped],
        "troubled": [{"path": path, "problem": problem} for path, problem in result.troubled],
        "gone": [{"id": id, "path": path} for id, path in result.gone],
        "records": {"new": result.new, "changed": result.changed, "private": private},
        "notes": notes,
    }
    return call.answer(value, lines)


def _list_first(rows: Iterable[str]) -> list[str]:
    lines = ["  " + one_line(row) for row in rows]
    rest = len(lines) - MOST_SHOWN
    more = ["  … and %d more; --json lists them all" % rest] * (rest > 0)
    return lines[:MOST_SHOWN] + more


# ---- past sessions


class ReadingProgress:
    """Shows the progress of reading transcripts: on a spinner, else in lines."""

    def __init__(
        self,
        spinner: screen.Spinner,
        size: int,
        tick: Callable[[], float] = time.monotonic,
        every: float = LINE_INTERVAL,
    ):
        """size: bytes in all.  tick: a monotonic clock.  every: seconds between lines, or 0."""
        self.spinner, self.size, self.tick, self.every = spinner, size, tick, every
        self.began = self.last = tick()

    def done(self, passed: int, read: int) -> None:
        """Show the progress in bytes; unchanged files are passed but not read."""
        now = self.tick()
        took, left = now - self.began, ""
        if read and took >= 1 and passed < self.size:
            left = ", about %s left" % format_duration(took / read * (self.size - passed))
        bar = screen.format_progress(passed, self.size)
        size = f"{passed >> 20} of {self.size >> 20} MB"
        self.spinner.step = f"reading transcripts {bar} {size}{left}"
        if self.every and not self.spinner.enabled and now - self.last >= self.every:
            self.last = now
            warn(self.spinner.step)


def format_duration(seconds: float) -> str:
    """Format a duration in seconds or minutes."""
    return "%d s" % max(1, round(seconds)) if seconds < 90 else "%d min" % round(seconds / 60)


def _list_sessions(call: Call) -> tuple[list[backfill.Session], list[Skip]]:
    since = call.parse_time(call.options.since) if call.options.since else 0.0
    readable, unread = _find_sessions(call)
    place = None if call.options.all else call.place
    if place:
        own = "/%s/" % whereabouts.make_folder_prefix(place.root)
        # any file of another agent may be of this place
        passed = backfill.NO_SESSION if call.options.agent else ""
        unread = [s for s in unread if (s.reason != passed if passed else own in "/" + s.path)]
    return backfill.select_sessions(readable, place, call.env, since), unread


def _format_stopped(call: Call, done: int, of: int) -> str:
    words = " ".join(word for word in call.argv if word != "--ask")
    number, command = format_count(of, "session"), offers.find_command(call.env)
    return f"stopped after {done} of {number}; `{command} store {words}` goes on from there"


def _import_transcripts(call: Call) -> int:
    wanted, unread = _list_sessions(call)
    later: list[str] = []
    if call.options.ask:
        plan = _ask_for_plan(call, wanted)
        if plan is None:
            return 0
        wanted = list(plan.sessions)
        later = [offers.later_line(plan.later, offers.find_command(call.env))] if plan.later else []
    dry, stopped = call.options.dry_run, False
    imported: list[backfill.ImportedSession] = []
    with contextlib.ExitStack() as stack:
        lock = files.Lock(call.place.home + "/cache/transcripts.lock")
        if not dry and not stack.enter_context(lock):
            raise StoreError("another import of transcripts is running; wait until it has finished")
        spinner = stack.enter_context(call.spinner("reading transcripts"))
        every = 0.0 if call.options.json else LINE_INTERVAL
        progress = ReadingProgress(spinner, sum(session.size for session in wanted), every=every)
        try:
            imported.extend(
                backfill.import_sessions(wanted, call.env, call.now, dry, progress.done)
            )
        except KeyboardInterrupt:
            stopped = True
        took, spinner.step = time.monotonic() - progress.began, "indexing"
        found = _index_imported(call, imported)
    if stopped:
        unread, later = [], [_format_stopped(call, len(imported), len(wanted))]
    _report_sessions(call, imported, unread, took, found, later)
    return INTERRUPTED if stopped else 0


def _ask_for_plan(call: Call, wanted: list[backfill.Session]) -> offers.ImportPlan | None:
    if not call.options.all or call.options.dry_run or call.options.json:
        raise UsageError("--ask goes with --all, and without --dry-run and --json")
    with call.spinner("looking for past sessions"):
        looked = backfill.preview_import(wanted, call.env, call.now)
    plan, command = offers.plan_import(looked), offers.find_command(call.env)
    lines = offers.plan_lines(plan, command, call.offset, format_duration(plan.seconds))
    print("\n".join(lines), flush=True)
    if not plan.sessions:
        return None
    try:
        yes = ask_confirmation("Import them now? [Y/n] ", short=True, otherwise=True)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        yes = False
    if not yes:
        print("Nothing was imported; `%s %s` does it at any time." % (command, offers.ALL))
        return None
    return plan


def _list_known_paths(call: Call) -> list[str]:
    here = (call.place.project, call.place.root, call.place.anchor, call.env.get("PWD", ""))
    return [*adoption.known_paths(call.place.home), *filter(None, here)]


def _index_imported(call: Call, imported: Iterable[backfill.ImportedSession]) -> list[Discovery]:
    changed: dict[str, tuple[layout.Place, list[str]]] = {}
    for session in imported:
        if session.place is not None and session.written:
            changed.setdefault(session.place.key, (session.place, []))[1].extend(session.written)
    found: list[Discovery] = []
    for place, names in changed.values():
        store = Store(place, call.settings, call.now)
        dropped: list[str] = []
        if any("/rules/" in name for name in names):
            dropped = lessons.archive_contradicted_wishes(store)
        refresh_index(place, call.now, names, 0 if dropped else MOST_REFRESHED)
        rows = walls.update_walls(place, call.settings, call.now)
        found += discoveries.find_discoveries(store, names, rows)
    return discoveries.pick_best(found)


def _count_sessions(imported: list[backfill.ImportedSession]) -> dict[str, int]:
    live = [session for session in imported if not (session.before or session.skip)]
    fresh = [session for session in live if not session.old]
    new = sum(bool(session.written or any(session.plan)) for session in fresh)
    before = sum(session.before for session in imported)
    old = len(live) - len(fresh)
    return {"new": new, "updated": old, "before": before, "without": len(fresh) - new}


def _skipped_lines(imported: list[backfill.ImportedSession], unread: list[Skip]) -> list[str]:
    others = [session.skip for session in imported if session.skip and not session.gone] + unread
    lines = _format_gone([session.session.directory for session in imported if session.gone])
    return lines + _list_first("skipped %s: %s; %s" % skip for skip in others)


def _format_no_session(call: Call) -> str:
    where = transcript.find_host_folder(call.env) + "/projects"
    if call.options.agent:
        where = "what %s keeps" % call.options.agent
    of = "" if call.options.all else " of this workspace; --all imports from every workspace"
    return one_line(where) + " holds no session" + of


def _report_sessions(
    call: Call,
    imported: list[backfill.ImportedSession],
    unread: list[Skip],
    took: float,
    found: list[Discovery],
    later: list[str],
) -> int:
    dry = call.options.dry_run
    skipped = [session.skip for session in imported if session.skip] + unread
    records = sorted(name for session in imported for name in session.written)
    checkpoints = [name for name in records if "/checkpoints/" in name]
    conversations = [name for name in records if "/conversations/" in name]
    plan = backfill.Plan(len(checkpoints), len(conversations))
    if dry:
        plans = [session.plan for session in imported]
        plan = backfill.Plan(
            sum(each.checkpoints for each in plans), sum(each.conversations for each in plans)
        )
    counts, sessions = _count_sessions(imported), len(imported) + len(unread)
    lines = [_format_summary(counts, sessions, plan, len(skipped), dry)]
    lines += _skipped_lines(imported, unread)
    if not imported:
        lines.append(_format_no_session(call))
    lines += later
    if checkpoints and not dry:
        command = offers.find_command(call.env)
        lines += offers.discovery_lines(found, command, call.offset, call.style())
    value = {
        "dry_run": dry,
        "sessions": sessions,
        **counts,
        "checkpoints": checkpoints,
        "conversations": conversations,
        "discoveries": [{**one._asdict(), "at": clock.iso(one.at)} for one in found],
        "records": plan._asdict(),
        "seconds": round(took, 1),
        "skipped": [skip._asdict() for skip in skipped],
    }
    return call.answer(value, lines)


def _format_summary(
    counts: dict[str, int], sessions: int, plan: backfill.Plan, skipped: int, dry: bool
) -> str:
    would = "would be " * dry
    parts = (
        (counts["new"], would + "imported"),
        (counts["updated"], would + "updated"),
        (counts["before"], "imported before"),
        (counts["without"], "with nothing to keep (empty or paused)"),
        (skipped, "skipped"),
    )
    counted = ", ".join("%d %s" % part for part in parts if part[0])
    kinds = zip(plan, ("checkpoint", "conversation"))
    records = ", ".join(format_count(number, kind) for number, kind in kinds if number)
    line = format_count(sessions, "session") + (": " + counted if counted else "")
    if records:
        line += "; %s %swritten" % (records, would)
    return line + "; nothing was written (--dry-run)" * dry


def _format_gone(directories: list[str]) -> list[str]:
    if not directories:
        return []
    few = [one_line(name) for name, _ in Counter(sorted(directories)).most_common()]
    more = " and %d more" % (len(few) - 3) if len(few) > 3 else ""
    return [
        "  skipped %s whose directory is gone (%s%s); make it again (`git worktree add`, or an "
        "empty directory), then import again"
        % (format_count(len(directories), "session"), ", ".join(few[:3]), more)
    ]


KINDS: dict[str, Callable[[Call], int]] = {
    "tree": _import_tree,
    "dir": _import_dir,
    "claude-memory": _import_claude_memory,
    "transcripts": _import_transcripts,
}
OPTIONS = {
    "shared": ("tree", "dir"),
    "tier_global": ("tree", "dir"),
    "kind": ("dir",),
    "all": ("claude-memory", "transcripts"),
    "since": ("transcripts",),
    "ask": ("transcripts",),
    "agent": ("transcripts",),
}
