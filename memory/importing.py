"""The verb import: what others keep, brought into the memory; their files are only read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Callable, NamedTuple

from memory import files, paths, terminal
from memory.call import Call, tier_of, unknown_word, warn
from memory.errors import DayleafError, StoreError, UsageError
from memory.writing import author

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.imports import Piece, Result
    from memory.sources import Skip

SHOWN = 12  # lines of skipped or vanished sources
FEW = 16  # records up to which the index is told one by one


class Batch(NamedTuple):
    """One pass: the origin's `from`, the tier of new records, how many pieces there are at least, the pieces, and which
    paths' sources are all among them."""

    from_: str
    tier: str
    size: int
    pieces: Iterator[Piece | Skip]
    covered: Callable[[str], bool]


def take(call: Call) -> int:
    """Bring in a tree, a directory, what the client remembers, or past sessions."""
    kind = call.words[0] if call.words else ""
    if not kind:
        raise UsageError("import wants to know what: one of " + ", ".join(KINDS))
    if kind not in KINDS:
        raise unknown_word("import", kind, KINDS)
    for name, of in OPTIONS.items():
        if getattr(call.options, name) and kind not in of:
            raise UsageError("--%s is for import %s" % (name.removeprefix("tier_").replace("_", "-"), " and ".join(of)))
    wanted = 1 if kind in ("tree", "dir") else 0
    if len(call.words) - 1 != wanted:
        raise UsageError("import %s wants %s" % (kind, "one directory, not %d" % (len(call.words) - 1) if wanted
                                                 else "no more words; not '%s'" % terminal.one_line(call.words[1])[:60]))
    try:
        return KINDS[kind](call)
    except KeyboardInterrupt:
        warn("interrupted; what was written stays, and the same command goes on")
        raise


def _tree(call: Call) -> int:
    from memory import sources, trees

    tier = tier_of(call)
    tree = trees.look(sources.folder(call.words[1], call.place))
    result = _brought(call, [Batch(trees.FROM, tier, len(tree.found) + len(tree.skipped),
                                   trees.pieces(tree, call.place, tier, call.now, author(call)),
                                   _below(call, tree.root, tier))])
    left = trees.beside(tree)
    notes = ["left out %s%s beside docs/, scripts/, shared/ and unversioned/" % (
        "more than " * (left == trees.COUNTED), terminal.count(left, "file"))] if left else []
    return _answer(call, "file", result, {"from": tree.root, "left_out": left}, [*notes, *_outside(call, tree.root, tier)])


def _outside(call: Call, root: str, tier: str) -> list[str]:
    """Return a note where shared records name a directory of this machine, else none."""
    if tier != paths.SHARED or files.inside(root, call.place.root):
        return []
    return ["the directory is outside the repository: the paths in the shared records hold on this machine alone"]


def _below(call: Call, root: str, tier: str) -> Callable[[str], bool]:
    """Make what tells whether a path, as records of a tier name it, lies in a directory."""
    from memory import sources

    base = "" if root == call.place.root else sources.known_as(root, call.place, tier) + "/"
    return lambda path: path.startswith(base) and (base != "" or path[:1] != "/")


def _dir(call: Call) -> int:
    from memory import foreign, plans, sources

    tier = tier_of(call)
    batches: list[Batch] = []
    path = sources.folder(call.words[1], call.place)
    notes = _outside(call, path, tier)
    active = plans.active(call.store().each(("plan",)))
    origin = active[0].meta.get(sources.ORIGIN) if active else None
    known = {str(origin.get("path")) if isinstance(origin, dict) else "": one.id for one in active[:1]}
    roots, linked = foreign.roots(path)
    batches.append(Batch(foreign.FROM, tier, len(linked), iter(linked), lambda path: False))
    for root in roots:
        found, skipped = sources.split(sources.below(root.path, foreign.wanted))
        batches.append(Batch(foreign.FROM, tier, len(found) + len(skipped), _after(skipped, foreign.pieces(
            root, found, call.place, tier, call.options.kind or "", author(call), known, call.now)),
            _below(call, root.path, tier)))
        if root.store:
            notes.append("%s: a store of another tool, %s" % (root.shown, terminal.count(len(found), "file")))
    return _answer(call, "file", _brought(call, batches), {"from": path}, notes)


def _claude_memory(call: Call) -> int:
    from memory import claudememory as claude
    from memory.imports import Result

    if call.options.all and call.options.project:
        raise UsageError("--all and --project exclude one another; use one")
    batches, notes, results = [], [], Result()
    for place in _places(call):
        folder = claude.memory_folder(place, call.env)
        found, skipped = claude.memories(folder)
        rules, more = claude.rule_files(place, call.env)
        notes.append("%s: %s in its auto memory, %s" % (place.key, terminal.count(len(found), "file"),
                                                       terminal.count(len(rules), "CLAUDE.md file")))
        batches = [Batch(claude.MEMORY, paths.PRIVATE, len(found) + len(skipped),
                         _after(skipped, claude.memory_pieces(found, place, paths.PRIVATE)), lambda path: True),
                   Batch(claude.RULES, paths.PRIVATE, len(rules) + len(more),
                         _after(more, claude.rule_pieces(rules, place, paths.PRIVATE)), lambda path: path[:1] != "/")]
        if place.key == call.place.key and not call.options.project:
            own, more = claude.user_files(call.env)
            notes.append("the user's own: " + terminal.count(len(own), "CLAUDE.md file"))
            batches.append(Batch(claude.RULES, paths.GLOBAL, len(own) + len(more),
                                 _after(more, claude.rule_pieces(own, place, paths.GLOBAL)), lambda path: path[:1] == "/"))
        _add(results, _brought(call, batches, place))
    if results.new and not call.options.dry_run:
        notes.append("they are candidates, since the client loads its files by itself: found by recall, pushed only once "
                     "accepted (`dayleaf review`)")
    return _answer(call, "section", results, {}, notes)


def _places(call: Call) -> list[paths.Place]:
    """Return the workspace of the call, and with --all every other one in which the client was started."""
    from memory import adoption, backfill

    found = {call.place.key: call.place}
    if call.options.all:
        known = {one.directory for one in backfill.sessions(call.env) if isinstance(one, backfill.Session)}
        for directory in sorted(known):
            if files.is_folder(directory):
                place = paths.locate(call.env, directory)
                place = place if call.options.dry_run else adoption.adopt(place, call.now)
                found.setdefault(place.key, place)
    return list(found.values())


def _add(total: Result, more: Result) -> None:
    for name in ("new", "changed", "same", "skipped", "gone", "troubled", "private"):
        getattr(total, name).extend(getattr(more, name))


def _after(skipped: Iterable[Skip], pieces: Iterator[Piece | Skip]) -> Iterator[Piece | Skip]:
    yield from skipped
    yield from pieces


def _brought(call: Call, batches: list[Batch], place: paths.Place | None = None) -> Result:
    """Bring in what the batches hold, under a lock, with a bar; then tell the index."""
    from memory.imports import Result, bring

    place, total, done = place or call.place, Result(), 0
    of = sum(batch.size for batch in batches)
    with files.Lock(place.cache + "/import.lock") as held, call.spinner("importing") as spinner:
        if not held:
            raise StoreError("another import into this workspace is running; wait until it is done")
        store, changed = _store(call, place)
        try:
            for batch in batches:
                def told(number: int, before: int = done) -> None:
                    spinner.step = "importing %s %d of %d" % (terminal.bar(before + number, of), before + number, of)

                result = bring(store, batch.pieces, batch.from_, batch.tier, call.options.dry_run, told, batch.covered)
                done += result.done
                _add(total, result)
        finally:
            spinner.step = "indexing"
            _index(call, place, changed)
    return total


def _store(call: Call, place: paths.Place) -> tuple[Any, list[str]]:
    from memory import config
    from memory.store import Store

    changed: list[str] = []
    settings = call.settings if place is call.place else config.load(place.home, place.root, call.env)
    return Store(place, settings, call.now, changed.append), changed


def _index(call: Call, place: paths.Place, changed: list[str]) -> None:
    """Tell the index what was written; of many records a comparison of all files is cheaper than a line each."""
    from memory import indexer

    try:
        if changed:
            indexer.refresh(place, call.now, changed if len(changed) <= FEW else None)
    except (OSError, DayleafError) as error:
        warn("written, but the index was not told (%s); `dayleaf index refresh` does" % error)


def _answer(call: Call, noun: str, result: Result, more: dict[str, Any], notes: list[str]) -> int:
    """Sum an import up."""
    counts = {"new": len(result.new), "unchanged": len(result.same), "changed": len(result.changed),
              "skipped": len(result.skipped)}
    if result.private:
        few = " ".join(result.private[:SHOWN]) + (" …" if len(result.private) > SHOWN else "")
        notes = [*notes, "%s in the private tier since an earlier import, and nothing moved: `dayleaf forget --hard ID` for "
                         "each and this import again put them where you say now (%s)" % (
                             "1 stands" if len(result.private) == 1 else "%d stand" % len(result.private), few)]
    lines = [terminal.one_line(note) for note in notes]
    lines.append("%s: %s%s" % (
        terminal.count(result.done, noun), ", ".join(f"{number:,} {name}" for name, number in counts.items()),
        "; nothing was written (--dry-run)" if call.options.dry_run else ""))
    lines += _first(result.skipped, lambda skip: "skipped %s: %s; %s" % skip)
    troubled = len({path for path, _ in result.troubled})
    lines += ["%s in the frontmatter:" % (
        terminal.count(troubled, "file") + (" has trouble" if troubled == 1 else " have trouble"))] if troubled else []
    lines += _first(result.troubled, lambda one: "%s: %s" % one)
    lines += _first(result.gone, lambda one: "gone: %s; its record stays, `dayleaf forget %s` archives it" % (one[1], one[0]))
    value = {**more, "dry_run": call.options.dry_run, **counts, "skipped": [skip._asdict() for skip in result.skipped],
             "troubled": [{"path": path, "problem": problem} for path, problem in result.troubled],
             "gone": [{"id": id, "path": path} for id, path in result.gone],
             "records": {"new": result.new, "changed": result.changed, "private": result.private}, "notes": notes}
    return call.answer(value, lines)


def _first(rows: list[Any], line: Callable[[Any], str]) -> list[str]:
    """Return a line each of the first rows, and how many more there are."""
    rest = len(rows) - SHOWN
    return ["  " + terminal.one_line(line(row)) for row in rows[:SHOWN]] + (
        ["  … and %d more; --json lists them all" % rest] if rest > 0 else [])


# ---- past sessions

def _transcripts(call: Call) -> int:
    """Write the checkpoints of past sessions."""
    from memory import backfill, clock, timewords
    from memory.sources import Skip

    since = timewords.instant(call.options.since, call.now, clock.local_offset(call.now)) if call.options.since else 0.0
    found = list(backfill.sessions(call.env))
    unread = [one for one in found if isinstance(one, Skip)]
    wanted = backfill.chosen([one for one in found if not isinstance(one, Skip)],
                             None if call.options.all_projects else call.place, call.env, since)
    told: list[backfill.Told] = []
    of = sum(session.size for session in wanted)
    with files.Lock(call.place.home + "/cache/transcripts.lock") as held, call.spinner("reading transcripts") as spinner:
        if not held:
            raise StoreError("another import of transcripts is running; wait until it is done")

        def done(size: int) -> None:
            spinner.step = "reading transcripts %s %d of %d MB" % (terminal.bar(size, of), size >> 20, of >> 20)

        try:
            told.extend(backfill.tell(wanted, call.env, call.now, call.options.dry_run, done))
        finally:
            spinner.step = "indexing"
            _index_told(call, told)
    return _answer_told(call, told, unread if call.options.all_projects else [])


def _index_told(call: Call, told: Iterable[Any]) -> None:
    changed: dict[str, tuple[paths.Place, list[str]]] = {}
    for one in told:
        if one.place is not None:
            changed.setdefault(one.place.key, (one.place, []))[1].extend(one.written)
    for place, names in changed.values():
        _index(call, place, names)


def _answer_told(call: Call, told: list[Any], unread: list[Skip]) -> int:
    skipped = [one.skip for one in told if one.skip] + unread
    before = sum(one.before for one in told)
    with_work = sum(bool(one.written) for one in told)
    without = len(told) - before - with_work - sum(one.skip is not None for one in told)
    names = [name for one in told for name in one.written]
    lines = ["%s: %d %s, %d told before, %d %s, %d skipped" % (
        terminal.count(len(told) + len(unread), "session"), with_work, "with new checkpoints (%d)" % len(names), before,
        without, "would be read; nothing was written (--dry-run)" if call.options.dry_run else "without work worth keeping",
        len(skipped))]
    lines += _first(skipped, lambda skip: "skipped %s: %s; %s" % skip)
    if not told:
        lines.append("no session of this workspace is left in %s; --all-projects takes those of every workspace" % (
            terminal.one_line(_host(call)) + "/projects"))
    value = {"dry_run": call.options.dry_run, "sessions": len(told) + len(unread), "new": with_work, "before": before,
             "without": without, "checkpoints": names, "skipped": [skip._asdict() for skip in skipped]}
    return call.answer(value, lines)


def _host(call: Call) -> str:
    from memory import backfill

    return backfill.host(call.env)


KINDS: dict[str, Callable[[Call], int]] = {
    "tree": _tree, "dir": _dir, "claude-memory": _claude_memory, "transcripts": _transcripts}
OPTIONS = {"shared": ("tree", "dir"), "tier_global": ("tree", "dir"), "kind": ("dir",), "project": ("claude-memory",),
           "all": ("claude-memory",), "since": ("transcripts",), "all_projects": ("transcripts",)}
