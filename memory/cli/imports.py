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
from memory.project import adoption, backfill, clientmemory, otherfiles, othernotes, trees
from memory.project.intake import Piece, Result, import_pieces
from memory.project.otherfiles import Skip, Source
from memory.session import transcript
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.knowledge.discoveries import Discovery

INTERRUPTED = 130  # exit status after Ctrl-C
MOST_SHOWN = 12  # lines of skipped or vanished sources
LINE_INTERVAL = 20.0  # seconds between two lines of progress, where no spinner turns
MOST_REFRESHED = 16  # records; for more, comparing all files with the index is cheaper


class Batch(NamedTuple):
    """One pass of an import.

    from_: name of the origin. tier: of new records. found, skipped: sources. pieces: of the found
        ones. covered: whether the pieces hold all sources of a path.
    """

    from_: str
    tier: str
    found: Sequence[Any]
    skipped: Sequence[Skip]
    pieces: Iterable[Piece | Skip]
    covered: Callable[[str], bool]


def _check_words(kind: str, words: Sequence[str]) -> None:
    if kind in ("tree", "dir"):
        if len(words) != 1:
            raise UsageError("import %s takes one directory, not %d" % (kind, len(words)))
    elif words:
        raise UsageError(
            "import %s takes no more words; leave '%s' out" % (kind, clip_input(words[0]))
        )


def import_(call: Call) -> int:
    """Import a tree, a directory, the client's memory or past sessions."""
    kind = call.words[0] if call.words else ""
    if not kind:
        raise UsageError("store import needs to know what to import: one of " + ", ".join(KINDS))
    if kind not in KINDS:
        raise unknown_word("import", kind, KINDS)
    for name, of in OPTIONS.items():
        if getattr(call.options, name) and kind not in of:
            raise UsageError(
                "--%s is for import %s"
                % (name.removeprefix("tier_").replace("_", "-"), " and ".join(of))
            )
    _check_words(kind, call.words[1:])
    try:
        return KINDS[kind](call)
    except KeyboardInterrupt:
        warn("interrupted; what was written stays, and the same command continues from there")
        raise


def _import_tree(call: Call) -> int:
    tier = choose_tier(call)
    tree = trees.find_tree(otherfiles.resolve_folder(call.words[1], call.place))
    pieces = trees.read_tree(tree, call.place, tier, call.now, find_author(call))
    found, covered = [*tree.found, *tree.skipped], _make_path_filter(call, tree.root, tier)
    result = _import_batches(call, [Batch(trees.FROM, tier, found, (), pieces, covered)])
    left = trees.count_outside(tree)
    notes = []
    if left:
        much = "more than " * (left == trees.COUNTED) + format_count(left, "file")
        notes.append("left out %s that are not in docs/, scripts/, shared/ or unversioned/" % much)
    return _report_result(
        call,
        "file",
        result,
        {"from": tree.root, "left_out": left},
        [*notes, *_warn_of_outside(call, tree.root, tier)],
    )


def _warn_of_outside(call: Call, root: str, tier: str) -> list[str]:
    if tier != layout.SHARED or files.is_inside(root, call.place.root):
        return []
    return [
        "the directory is outside the repository: the paths in the shared records are right "
        "only on this machine"
    ]


def _make_path_filter(call: Call, root: str, tier: str) -> Callable[[str], bool]:
    base = "" if root == call.place.root else otherfiles.record_path(root, call.place, tier) + "/"
    return lambda path: path.startswith(base) and (base != "" or path[:1] != "/")


def _import_dir(call: Call) -> int:
    tier = choose_tier(call)
    batches: list[Batch] = []
    path = otherfiles.resolve_folder(call.words[1], call.place)
    notes = _warn_of_outside(call, path, tier)
    active = activeplan.list_active(call.store().each(("plan",)))
    origin = active[0].meta.get(otherfiles.ORIGIN) if active else None
    known = {
        str(origin.get("path")) if isinstance(origin, dict) else "": one.id for one in active[:1]
    }
    roots, linked = othernotes.find_roots(path)
    left, read = Counter[str](), Counter[str]()
    batches.append(Batch(othernotes.FROM, tier, (), linked, (), lambda path: False))
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
        read.update(otherfiles.extension(one.name) for one in found)
        if root.store:
            notes.append(
                "%s: a store of another tool, %s" % (root.shown, format_count(len(found), "file"))
            )
    notes += ["read " + otherfiles.format_endings(read)] if set(read) - {".md"} else []
    notes += filter(None, [otherfiles.format_left_out(left)])
    return _report_result(
        call, "file", _import_batches(call, batches), {"from": path, "endings": left}, notes
    )


def _import_claude_memory(call: Call) -> int:
    batches, notes, results = [], [], Result()
    for place in _list_places(call):
        folder = clientmemory.memory_folder(place, call.env)
        found, skipped = clientmemory.find_memories(folder)
        rules, more = clientmemory.find_rule_files(place)
        notes.append(
            "%s: Claude Code's memory holds %s, the project %s"
            % (
                place.key,
                format_count(len(found), "file"),
                format_count(len(rules), "CLAUDE.md file"),
            )
        )
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
        _merge_result(results, _import_batches(call, batches, place))
    if results.new and not call.options.dry_run:
        notes.append(
            "Claude Code loads these files itself, so they are kept as candidates: recall finds "
            "them, prompts get them once you accept them (`dayleaf review`)"
        )
    return _report_result(call, "section", results, {}, notes)


def _make_rules_batch(
    place: layout.Place, tier: str, found: list[Source], skipped: list[Skip]
) -> Batch:
    """Return the batch of a tier's CLAUDE.md files; absolute paths are global."""
    pieces = clientmemory.read_rule_files(found, place, tier)
    own = tier == layout.GLOBAL
    return Batch(
        clientmemory.RULES, tier, found, skipped, pieces, lambda path: (path[:1] == "/") == own
    )


def _list_places(call: Call) -> list[layout.Place]:
    found = {call.place.key: call.place}
    if call.options.all:
        known = {
            one.directory
            for one in backfill.find_sessions(call.env)
            if isinstance(one, backfill.Session)
        }
        for directory in sorted(known):
            if files.is_folder(directory):
                place = layout.locate(call.env, directory)
                place = place if call.options.dry_run else adoption.adopt(place, call.now)
                found.setdefault(place.key, place)
    return list(found.values())


def _merge_result(total: Result, more: Result) -> None:
    for name in ("new", "changed", "same", "skipped", "gone", "troubled", "private", "cleaned"):
        getattr(total, name).extend(getattr(more, name))


def _import_batches(call: Call, batches: list[Batch], place: layout.Place | None = None) -> Result:
    place, total, done = place or call.place, Result(), 0
    of = sum(len(batch.found) + len(batch.skipped) for batch in batches)
    with files.Lock(place.cache + "/import.lock") as held, call.spinner("importing") as spinner:
        if not held:
            raise StoreError(
                "another import into this workspace is running; wait until it has finished"
            )
        settings = call.settings if place is call.place else config.load_for_place(place, call.env)
        changed: list[str] = []
        store = Store(place, settings, call.now, changed.append, call.open_store(place).keeps)
        try:
            for batch in batches:

                def show_progress(number: int, before: int = done) -> None:
                    spinner.step = "importing %s %d of %d" % (
                        screen.format_progress(before + number, of),
                        before + number,
                        of,
                    )

                result = import_pieces(
                    store,
                    chain(batch.skipped, batch.pieces),
                    batch.from_,
                    batch.tier,
                    call.options.dry_run,
                    show_progress,
                    batch.covered,
                )
                done += result.done
                _merge_result(total, result)
        finally:
            spinner.step = "indexing"
            refresh_index(place, call.now, changed, MOST_REFRESHED)
    return total


def _report_result(
    call: Call, noun: str, result: Result, more: dict[str, Any], notes: list[str]
) -> int:
    counts = {
        "new": len(result.new),
        "unchanged": len(result.same),
        "changed": len(result.changed),
        "skipped": len(result.skipped),
    }
    if result.private:
        few = " ".join(result.private[:MOST_SHOWN]) + (
            " …" if len(result.private) > MOST_SHOWN else ""
        )
        notes = [
            *notes,
            "%s still in the private tier from an earlier import; to move them, run %s for each "
            "(%s)"
            % (
                "1 record is"
                if len(result.private) == 1
                else "%d records are" % len(result.private),
                "`dayleaf record share ID`"
                if call.options.shared
                else "`dayleaf record forget --hard ID`, then the import again,",
                few,
            ),
        ]
    lines = [one_line(note) for note in notes]
    lines.append(
        "%s: %s%s"
        % (
            format_count(result.done, noun),
            ", ".join(f"{number:,} {name}" for name, number in counts.items()),
            "; nothing was written (--dry-run)" if call.options.dry_run else "",
        )
    )
    lines += _list_first(result.skipped, lambda skip: "skipped %s: %s; %s" % skip)
    if result.cleaned:
        lines.append("a secret or a <private> part was left out:")
    lines += _list_first(result.cleaned, str)
    troubled = len({path for path, _ in result.troubled})
    if troubled:
        have = "has" if troubled == 1 else "have"
        lines.append("%s %s trouble in the frontmatter:" % (format_count(troubled, "file"), have))
    lines += _list_first(result.troubled, lambda one: "%s: %s" % one)
    lines += _list_first(
        result.gone,
        lambda one: (
            "gone: %s; its record stays, `dayleaf record forget %s` archives it" % (one[1], one[0])
        ),
    )
    value = {
        **more,
        "dry_run": call.options.dry_run,
        **counts,
        "skipped": [skip._asdict() for skip in result.skipped],
        "troubled": [{"path": path, "problem": problem} for path, problem in result.troubled],
        "gone": [{"id": id, "path": path} for id, path in result.gone],
        "records": {"new": result.new, "changed": result.changed, "private": result.private},
        "notes": notes,
    }
    return call.answer(value, lines)


def _list_first(rows: list[Any], line: Callable[[Any], str]) -> list[str]:
    rest = len(rows) - MOST_SHOWN
    return ["  " + one_line(line(row)) for row in rows[:MOST_SHOWN]] + (
        ["  … and %d more; --json lists them all" % rest] if rest > 0 else []
    )


# ---- past sessions


class ReadingProgress:
    """Shows the progress of reading transcripts: on a spinner, else in lines."""

    def __init__(
        self,
        spinner: screen.Spinner,
        of: int,
        tick: Callable[[], float] = time.monotonic,
        every: float = LINE_INTERVAL,
    ):
        """of: bytes in all.  tick: a monotonic clock.  every: seconds between lines, 0 for none."""
        self.spinner, self.of, self.tick, self.every = spinner, of, tick, every
        self.began = self.last = tick()

    def done(self, size: int, read: int) -> None:
        """Show the progress; size: bytes passed, read: bytes read."""
        took = self.tick() - self.began
        left = (
            ", about %s left" % format_duration(took / read * (self.of - size))
            if read and took >= 1 and size < self.of
            else ""
        )
        self.spinner.step = "reading transcripts %s %d of %d MB%s" % (
            screen.format_progress(size, self.of),
            size >> 20,
            self.of >> 20,
            left,
        )
        now = self.began + took
        if self.every and not self.spinner.enabled and now - self.last >= self.every:
            self.last = now
            warn(self.spinner.step)

    @property
    def took(self) -> float:
        """Seconds since the start."""
        return self.tick() - self.began


def format_duration(seconds: float) -> str:
    """Format a duration in seconds or minutes."""
    return "%d s" % max(1, round(seconds)) if seconds < 90 else "%d min" % round(seconds / 60)


def _list_sessions(call: Call) -> tuple[list[backfill.Session], list[Skip]]:
    since = call.parse_time(call.options.since) if call.options.since else 0.0
    agent = call.options.agent
    found = list(
        registry.offer("agents", "sessions")(agent, call.env, _list_known_paths(call))
        if agent
        else backfill.find_sessions(call.env)
    )
    readable = [one for one in found if not isinstance(one, Skip)]
    unread = [one for one in found if isinstance(one, Skip)]
    if call.options.all:
        return backfill.select_sessions(readable, None, call.env, since), unread
    # sessions of an unknown directory may be of this one
    unread = [one for one in unread if one.reason == backfill.NO_DIRECTORY]
    return backfill.select_sessions(readable, call.place, call.env, since), unread


def _format_stopped(call: Call, done: int, of: int) -> str:
    words = " ".join(word for word in call.argv if word != "--ask")
    return "stopped after %d of %s; `%s store %s` goes on from there" % (
        done,
        format_count(of, "session"),
        offers.find_command(call.env),
        words,
    )


def _import_transcripts(call: Call) -> int:
    wanted, unread = _list_sessions(call)
    later: list[str] = []
    if call.options.ask:
        plan = _ask_for_plan(call, wanted)
        if plan is None:
            return 0
        wanted = list(plan.sessions)
        later = [offers.later_line(plan.later, offers.find_command(call.env))] if plan.later else []
    with contextlib.ExitStack() as stack:
        if not call.options.dry_run and not stack.enter_context(
            files.Lock(call.place.home + "/cache/transcripts.lock")
        ):
            raise StoreError("another import of transcripts is running; wait until it has finished")
        spinner = stack.enter_context(call.spinner("reading transcripts"))
        told: list[backfill.ImportedSession] = []
        every = 0.0 if call.options.json else LINE_INTERVAL
        pace = ReadingProgress(spinner, sum(session.size for session in wanted), every=every)
        stopped = False
        try:
            told.extend(
                backfill.import_sessions(
                    wanted, call.env, call.now, call.options.dry_run, pace.done
                )
            )
        except KeyboardInterrupt:
            stopped = True
        took, spinner.step = pace.took, "indexing"
        discoveries = _index_imported(call, told)
    if stopped:
        unread = []
        later = [_format_stopped(call, len(told), len(wanted))]
    _report_sessions(call, told, unread, took, discoveries, later)
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
    return plan if yes else None


def _list_known_paths(call: Call) -> list[str]:
    here = (call.place.project, call.place.root, call.place.anchor, call.env.get("PWD", ""))
    return [*adoption.known_paths(call.place.home), *filter(None, here)]


def _index_imported(call: Call, told: Iterable[backfill.ImportedSession]) -> list[Discovery]:
    from memory.knowledge import discoveries, lessons, walls

    changed: dict[str, tuple[layout.Place, list[str]]] = {}
    for one in told:
        if one.place is not None:
            changed.setdefault(one.place.key, (one.place, []))[1].extend(one.written)
    found: list[Discovery] = []
    for place, names in changed.values():
        if not names:
            continue
        store = Store(place, call.settings, call.now)
        dropped = any("/rules/" in name for name in names) and lessons.archive_contradicted_wishes(
            store
        )
        refresh_index(place, call.now, names, 0 if dropped else MOST_REFRESHED)
        rows = walls.update_walls(place, call.settings, call.now)
        found += discoveries.find_discoveries(store, names, rows)
    return discoveries.pick_best(found)


def _count_sessions(told: list[backfill.ImportedSession]) -> dict[str, int]:
    live = [one for one in told if not (one.before or one.skip)]
    old = sum(1 for one in live if one.old)
    new = sum(1 for one in live if not one.old and (one.written or any(one.plan)))
    return {
        "new": new,
        "updated": old,
        "before": sum(one.before for one in told),
        "without": len(live) - new - old,
    }


def _skipped_lines(told: list[backfill.ImportedSession], unread: list[Skip]) -> list[str]:
    lines = _format_gone([one.session.directory for one in told if one.gone])
    return lines + _list_first(
        [one.skip for one in told if one.skip and not one.gone] + unread,
        lambda skip: "skipped %s: %s; %s" % skip,
    )


def _format_no_session(call: Call) -> str:
    where = transcript.find_host_folder(call.env) + "/projects"
    if call.options.agent:
        where = "what %s keeps" % call.options.agent
    if call.options.all:
        return one_line(where) + " holds no session"
    return "%s holds no session of this workspace; --all takes those of every workspace" % one_line(
        where
    )


def _report_sessions(
    call: Call,
    told: list[backfill.ImportedSession],
    unread: list[Skip],
    took: float,
    found: list[Discovery],
    later: list[str],
) -> int:
    dry, skipped = call.options.dry_run, [one.skip for one in told if one.skip] + unread
    records = sorted(name for one in told for name in one.written)
    made = [name for name in records if "/checkpoints/" in name]
    conversations = [name for name in records if "/conversations/" in name]
    plan = (
        backfill.Plan(*(sum(one.plan[at] for one in told) for at in (0, 1)))
        if dry
        else backfill.Plan(len(made), len(conversations))
    )
    counts = _count_sessions(told)
    lines = [_format_summary(counts, len(told) + len(unread), plan, len(skipped), dry)]
    lines += _skipped_lines(told, unread)
    if not told:
        lines.append(_format_no_session(call))
    lines += later
    if made and not dry:
        lines += offers.discovery_lines(
            found, offers.find_command(call.env), call.offset, call.style()
        )
    value = {
        "dry_run": dry,
        "sessions": len(told) + len(unread),
        **counts,
        "checkpoints": made,
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
    would = "would be " if dry else ""
    parts = (
        (counts["new"], would + "imported"),
        (counts["updated"], would + "updated"),
        (counts["before"], "imported before"),
        (counts["without"], "with nothing worth keeping"),
        (skipped, "skipped"),
    )
    said = ", ".join("%d %s" % part for part in parts if part[0])
    records = ", ".join(
        format_count(number, noun)
        for number, noun in zip(plan, ("checkpoint", "conversation"))
        if number
    )
    return "; ".join(
        filter(
            None,
            [
                format_count(sessions, "session") + (": " + said if said else ""),
                records and records + (" would be written" if dry else " written"),
                "nothing was written (--dry-run)" if dry else "",
            ],
        )
    )


def _format_gone(directories: list[str]) -> list[str]:
    if not directories:
        return []
    few = sorted(set(directories), key=lambda one: (-directories.count(one), one))
    return [
        "  skipped %s whose directory is gone (%s%s); make it again (`git worktree add`, or an "
        "empty directory), then import again"
        % (
            format_count(len(directories), "session"),
            ", ".join(map(one_line, few[:3])),
            " and %d more" % (len(few) - 3) if len(few) > 3 else "",
        )
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
