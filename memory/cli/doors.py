"""The verbs by which the memory meets others: share, unshare, shared, for a team; sync, for a
person's machines; mcp, for the models of any agent; view, for a browser.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress

from memory.core import DayleafError, StoreError, UsageError, clock, files, layout, plaintext
from memory.core.plaintext import count
from memory.store.reader import Unreadable
from memory.terminal import reports
from memory.terminal.call import Call, unknown_word, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.records import Record
    from memory.store.store import Store
    from memory.terminal.pages import Pages
    from memory.terminal.web import Site

SYNC_WORDS = {"setup": 2, "status": 1, "take": 2, "drop": 2}  # with how many words each is said
IDLE = 30  # minutes without a request after which the page ends


def share(call: Call) -> int:
    """Move a record into the repository, unless something in it is not for others."""
    from memory.project import sharing

    store = call.store()
    found = store.find(call.one("ID"))
    if found.tier == layout.SHARED:
        raise UsageError(
            "%s is shared already; `dayleaf record unshare %s` takes it back" % (found.id, found.id)
        )
    data, allow = store.raw(found.name), call.settings["redact.allow"]
    lines = [
        "  line %d: %s; %s"
        % (one.line, plaintext.one_line(one.what), plaintext.one_line(one.remedy))
        for one in sharing.hindrances(found, data, call.place, allow)
    ]
    if lines:
        if call.options.json:
            call.answer(
                {"id": found.id, "shared": False, "hindrances": [line.strip() for line in lines]},
                [],
            )
        else:
            print("\n".join(lines), flush=True)
        raise StoreError(
            "%s stays private and was not moved: mend what is listed above first" % found.id
        )
    name = sharing.move(store, found, layout.SHARED)
    doubts = ["  " + plaintext.one_line(doubt) for doubt in sharing.doubts(data)]
    return _moved(
        call,
        found,
        name,
        [*_apart(store, found), *doubts, *_unchecked(call, sharing.commit_hook(call.place))],
    )


def unshare(call: Call) -> int:
    """Move a record out of the repository, into the private tier."""
    from memory.project import sharing

    store = call.store()
    found = store.find(call.one("ID"))
    if found.tier != layout.SHARED:
        raise UsageError("%s is not shared" % found.id)
    committed = sharing.tracking(call.place)(found.name)
    name = sharing.move(store, found, layout.PRIVATE)
    note = ["  the others have it until you commit its removal; git's history keeps it"]
    return _moved(call, found, name, note if committed else [])


def _moved(call: Call, found: Record, name: str, notes: list[str]) -> int:
    call.changed.append(found.name)
    call.indexed()
    path, done = call.place.path(name), "shared" if name[:1] == layout.SHARED else "private again:"
    value = {
        "id": found.id,
        "from": found.name,
        "to": name,
        "path": path,
        "notes": [note.strip() for note in notes],
    }
    return call.answer(
        value,
        ["%s %s  %s" % (done, found.id, plaintext.one_line(found.title)), "  " + path, *notes],
    )


def _apart(store: Store, found: Record) -> list[str]:
    """Say which links of a record lead where others do not follow."""
    out = []
    for link in found.links:
        with suppress(StoreError):
            if store.find(link.target).tier != layout.SHARED:
                out.append(
                    "  others cannot follow its link to %s" % plaintext.one_line(link.target, 80)
                )
    return out


def _unchecked(call: Call, hook: tuple[bool, str]) -> list[str]:
    """Say what else a team wants: git to take the file, and a check of secrets before each
    commit.
    """
    from memory.store import safegit

    notes = ["  commit it, so that others can pull it: `git add .dayleaf && git commit`"]
    file = call.place.shared + "/x.md"
    ignored = (
        call.place.git
        and safegit.read(call.place.root, call.env, "check-ignore", "-q", "--", file).rc == 0
    )
    if ignored:
        notes = [
            "  git ignores .dayleaf here, so nobody will get it: remove the line from .gitignore"
        ]
    wanted = ["  to check for secrets before each commit: " + hook[1]]
    return notes if hook[0] or not hook[1] else [*notes, *wanted]


def shared(call: Call) -> int:
    """Say how the records of a team stand: who wrote them, what is new, what git could not
    merge.
    """
    from memory.project import sharing

    if call.words not in ([], ["status"]):
        raise unknown_word("shared", call.words[0], ["status"])
    store = call.store()
    with call.spinner("asking git"):
        found = sharing.status(store, call.env)
    skipped = [one for one in store.skipped if one.name[:1] == layout.SHARED]
    titles = {}
    for held in found.records:
        try:
            record = store.read(held.name)
            titles[held.name] = record.id, record.title
        except Unreadable as error:
            skipped.append(error.skipped)
    ids: dict[str, str] = {}
    for name, (id, _) in titles.items():
        if ids.setdefault(id, name) != name:
            found.conflicts.append(
                (name, "%s has the same id (%s): keep one, or give one another id" % (ids[id], id))
            )
    value = {
        "records": [
            {**held._asdict(), "id": titles.get(held.name, ("", ""))[0]} for held in found.records
        ],
        "conflicts": [list(row) for row in found.conflicts],
        "ahead": found.ahead,
        "behind": found.behind,
        "since": found.since,
        "removed": [gone._asdict() for gone in found.removed],
        "unreadable": [list(one) for one in skipped],
    }
    return call.answer(value, reports.team(found, titles, skipped))


def sync(call: Call) -> int:
    """Bring this machine up to date with a person's others, or set that up, tell how it stands,
    decide on a copy.
    """
    word = call.words[0] if call.words else ""
    if word and word not in SYNC_WORDS:
        raise unknown_word("sync", word, SYNC_WORDS)
    if word and len(call.words) != SYNC_WORDS[word]:
        raise UsageError(
            "sync %s takes %d word%s" % (word, SYNC_WORDS[word] - 1, "s" * (SYNC_WORDS[word] != 2))
        )
    given = [name for name in ("identity", "gone", "anew") if getattr(call.options, name)]
    wrong = [name for name in given if (name == "identity") != (word == "setup")]
    if wrong or (given and word not in ("", "setup")):
        option = (wrong or given)[0]
        raise UsageError(
            "--%s is for `dayleaf store sync%s`" % (option, " setup" * (option == "identity"))
        )
    return {"": _synced, "setup": _set_up, "status": _standing, "take": _decided, "drop": _decided}[
        word
    ](call)


def _set_up(call: Call) -> int:
    import socket

    from memory.health import machines, syncing

    where, identity = call.words[1], call.options.identity
    where = (
        where if machines.is_git(where) else files.real(os.path.abspath(os.path.expanduser(where)))
    )
    with suppress(StoreError):
        known = syncing.load(call.place.home)
        if known.value["where"] == where and not identity:
            return call.answer(
                {
                    "machine": known.machine,
                    "where": where,
                    "key": call.place.home + "/sync/key.txt",
                },
                [
                    (
                        "this machine is %s and already syncs with %s; `dayleaf store sync` "
                        "brings both up to date"
                    )
                    % (known.machine, plaintext.one_line(where))
                ],
            )
    state = machines.setup(
        call.place.home,
        where,
        os.path.abspath(identity) if identity else "",
        call.env,
        socket.gethostname(),
    )
    key = call.place.home + "/sync/key.txt"
    return call.answer(
        {"machine": state.machine, "where": where, "key": key},
        [
            "this machine is %s and syncs with %s" % (state.machine, plaintext.one_line(where)),
            (
                "  the key is %s: copy it to your other machines yourself, by "
                "another way, and run there"
            )
            % key,
            (
                "  `dayleaf store sync setup WHERE --identity FILE`; only who has the key "
                "can read your memories"
            ),
            "  then run `dayleaf store sync` here and there",
        ],
    )


def _synced(call: Call) -> int:
    from memory.health import agefile, machines, syncing
    from memory.store import ledger
    from memory.store.writer import Tiers

    home = call.place.home
    state = syncing.load(home)
    carrier = machines.meeting(home, state.value["where"], call.env)
    key = agefile.identities(home + "/sync/key.txt")[0]
    with call.spinner("syncing"):
        done = machines.sync(
            state,
            carrier,
            Tiers(call.place, call.changed.append),
            key,
            bool(call.options.gone),
            bool(call.options.anew),
        )
        if done.removed:
            _unlearn(call)
    call.indexed()
    ledger.moved(call.place)
    for problem in done.problems:
        warn(problem)
    value = {"machine": state.machine, **done._asdict()}
    call.answer(
        value,
        [
            "synced as %s: %s sent, %d taken"
            % (state.machine, plaintext.count(done.sent, "file"), done.taken),
            *("  " + plaintext.one_line(note) for note in done.notes),
            *_copies(done.conflicts),
        ],
    )
    return 1 if done.problems else 0


def _unlearn(call: Call) -> None:
    """Remove what was derived of records that another machine removed for good, in every
    workspace.
    """
    from memory.core import walk
    from memory.distill import cache
    from memory.health import erasure
    from memory.index import builder

    folder = call.place.home + "/cache"
    for name, path, stat in walk.below(folder):
        if walk.is_folder(stat) and name and "/" not in name:
            cache.prune(cache.folder_of(path), None)
        elif walk.is_regular(stat) and name.endswith(erasure.DERIVED_ENDS):
            files.remove(path)
    builder.build(call.place, call.now)
    call.changed.clear()


def _copies(names: list[str]) -> list[str]:
    rows = ["  %s  %s" % (name[-11:-3], plaintext.one_line(name)) for name in names]
    digits = names[0][-11:-3] if names else ""
    return (
        [
            *rows,
            "%s changed on two machines at once: both texts are kept, but no session sees the "
            "copy; look at both, then `dayleaf store sync take %s` puts the copy in the "
            "record's place, "
            "`sync drop %s` drops it" % (plaintext.count(len(names), "record"), digits, digits),
        ]
        if names
        else []
    )


def _standing(call: Call) -> int:
    from memory.health import agefile, machines, syncing

    state = syncing.load(call.place.home)
    problems = syncing.scan(state)
    root = machines.meeting(call.place.home, state.value["where"], call.env).root
    try:
        others = {
            name: max(every, default=0)
            for name, every in agefile.packs(root).items()
            if name != state.machine
        }
    except OSError:
        others = {}
        problems.append("%s: not there" % root)
    waiting = {name: newest - state.value["seen"].get(name, 0) for name, newest in others.items()}
    for problem in problems:
        warn(problem)
    copies = syncing.conflicts(state)
    where = state.value["where"]
    return call.answer(
        {
            "machine": state.machine,
            "where": where,
            "toSend": sorted(state.dirty),
            "machines": waiting,
            "conflicts": copies,
            "held": sorted(state.value["held"]),
        },
        [
            "this machine is %s and syncs with %s" % (state.machine, plaintext.one_line(where)),
            "  %s to send" % plaintext.count(len(state.dirty), "file"),
            *(
                "  %s: %s"
                % (
                    name,
                    "all taken" if left <= 0 else "%s to take" % plaintext.count(left, "change"),
                )
                for name, left in waiting.items()
            ),
            *(
                "  %s is left on this machine only: another machine removed it"
                % plaintext.one_line(name)
                for name in sorted(state.value["held"])
            ),
            *_copies(copies),
        ],
    )


def _decided(call: Call) -> int:
    from memory.health import machines, syncing
    from memory.store.writer import Tiers

    take = call.words[0] == "take"
    state = syncing.load(call.place.home)
    copy, name = machines.decide(
        state, Tiers(call.place, call.changed.append), call.words[1], take, call.now
    )
    call.indexed()
    return call.answer(
        {"copy": copy, "record": name, "taken": take},
        [
            (
                "took %s as %s; the old text is in the archive"
                if take
                else "moved %s to the archive; %s stays as it is"
            )
            % (copy, name),
            "  the other machines learn this at the next `dayleaf store sync`",
        ],
    )


# ---- mcp


def mcp(call: Call) -> int:
    """Serve the memory of the current directory, or of DIR, by the Model Context Protocol."""
    from memory.terminal import mcpserver

    if call.words:
        folder = os.path.abspath(os.path.expanduser(call.one("directory")))
        try:
            os.chdir(folder)
        except OSError as error:
            raise UsageError(
                "mcp: %s: %s; name the directory of a project"
                % (plaintext.one_line(folder), (error.strerror or "no directory").lower())
            ) from None
    try:
        return mcpserver.serve(call.env, bool(call.options.read_only))
    except ImportError as error:
        raise _lacking("the MCP server", "mcp", error) from None


def _lacking(what: str, extra: str, error: ImportError) -> DayleafError:
    """Return the error for packages of an extra that are not here."""
    remedy = "install `dayleaf[%s]` in place of `dayleaf`" % extra
    if not files.inside(layout.plugin(), sys.prefix):  # no wheel
        remedy = "`%s/install.sh --%s` adds them" % (layout.plugin(), extra)
    return DayleafError(
        "%s needs packages that are not installed (%s); %s" % (what, error.name, remedy)
    )


def view(call: Call) -> int:
    """Show the memory in a browser for as long as somebody looks, or write it as one file."""
    options = call.options
    if call.words:
        raise UsageError("store view takes no words; `dayleaf show ID` prints a record")
    if not options.export and (options.private or options.secrets):
        raise UsageError("--private and --secrets are for `dayleaf store view --export FILE`")
    if options.export and (options.port is not None or options.idle is not None):
        raise UsageError("--export writes a file and serves nothing: leave --port and --idle out")
    try:
        from memory.cli.recall import dsn_of
        from memory.recall.semantic import Semantic
        from memory.terminal import pages
    except ImportError as error:
        raise _lacking("the page", "view", error) from None
    made = pages.Pages(
        call.place, call.settings, clock.now, Semantic(call.settings, "", call.env), dsn_of(call)
    )
    return _exported(call, made) if options.export else _served(call, made)


def _served(call: Call, made: Pages) -> int:
    from memory.terminal import web

    idle = call.options.idle if call.options.idle is not None else IDLE
    site = web.Site(made, web.listen(call.options.port or 0), 60.0 * idle, time.monotonic)
    with call.spinner("opening the index"):
        made.renew()
    address = site.gate.address()
    told = (
        "dayleaf view: open this address once; it stops with Ctrl-C, or after %s without a visit"
        % count(idle, "minute")
    )
    call.answer({"address": address, "idle": idle}, [told, "  " + address])
    threading.Thread(target=_more, args=(site,), daemon=True).start()
    try:
        if site.run():
            warn("stopped: no visit for %s" % count(idle, "minute"))
    except KeyboardInterrupt:
        pass
    return 0


def _more(site: Site) -> None:
    """Print another address each time Enter is pressed."""
    while sys.stdin.isatty() and sys.stdin.readline():
        print("  " + site.gate.address(), flush=True)


def _exported(call: Call, made: Pages) -> int:
    from memory.cli.upkeep import work_tree
    from memory.terminal import sheets

    options = call.options
    tree = work_tree(os.path.abspath(options.export)) if options.private or options.secrets else ""
    if tree:
        raise UsageError(
            "%s lies in the git work tree %s, where a commit would give your memories away; "
            "name a FILE elsewhere" % (options.export, tree)
        )
    sheets.free(options.export)
    with call.spinner("reading the records"):
        values = made.export(options.private, options.secrets)
    size = sheets.save(options.export, values)
    held, left = len(values["records"]), values["left_out"]
    tell = "; %s left out: --private takes them too" % count(left, "record") if left else ""
    return call.answer(
        {"path": options.export, "records": held, "leftOut": left, "bytes": size},
        ["wrote %s with %s%s" % (options.export, count(held, "record"), tell)],
    )
