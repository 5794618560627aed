"""The verbs by which the memory meets others: share, unshare, shared, for a team; sync, for a person's machines."""

from __future__ import annotations

import os

from memory.core import UsageError, files, plaintext
from memory.terminal.call import Call, unknown_word, warn

SYNC_WORDS = {"setup": 2, "status": 1, "take": 2, "drop": 2}  # with how many words each is said


def sync(call: Call) -> int:
    """Bring this machine up to date with a person's others, or set that up, tell how it stands, decide on a copy."""
    word = call.words[0] if call.words else ""
    if word and word not in SYNC_WORDS:
        raise unknown_word("sync", word, SYNC_WORDS)
    if word and len(call.words) != SYNC_WORDS[word]:
        raise UsageError("sync %s wants %d word%s behind it" % (word, SYNC_WORDS[word] - 1, "s" * (SYNC_WORDS[word] != 2)))
    given = [name for name in ("identity", "gone", "anew") if getattr(call.options, name)]
    wrong = [name for name in given if (name == "identity") != (word == "setup")]
    if wrong or (given and word not in ("", "setup")):
        option = (wrong or given)[0]
        raise UsageError("--%s goes with `dayleaf sync%s`" % (option, " setup" * (option == "identity")))
    return {"": _synced, "setup": _set_up, "status": _standing, "take": _decided, "drop": _decided}[word](call)


def _set_up(call: Call) -> int:
    import socket

    from memory.health import machines

    where, identity = call.words[1], call.options.identity
    where = where if machines.is_git(where) else files.real(os.path.abspath(os.path.expanduser(where)))
    state = machines.setup(call.place.home, where, os.path.abspath(identity) if identity else "", call.env, socket.gethostname())
    key = call.place.home + "/sync/key.txt"
    return call.answer({"machine": state.machine, "where": where, "key": key}, [
        "this machine is %s and syncs with %s" % (state.machine, plaintext.one_line(where)),
        "  the key is %s: bring it to your other machines yourself, not by that way, and say there" % key,
        "  `dayleaf sync setup WHERE --identity FILE`; whoever has it reads your memories, and without it nobody does",
        "  `dayleaf sync` syncs, here and there"])


def _synced(call: Call) -> int:
    from memory.health import agefile, machines, syncing
    from memory.store import ledger
    from memory.store.writer import Tiers

    home = call.place.home
    state = syncing.load(home)
    carrier = machines.meeting(home, state.value["where"], call.env)
    key = agefile.identities(home + "/sync/key.txt")[0]
    with call.spinner("syncing"):
        done = machines.sync(state, carrier, Tiers(call.place, call.changed.append), key, bool(call.options.gone),
                             bool(call.options.anew))
        if done.removed:
            _unlearn(call)
    call.indexed()
    ledger.moved(call.place)
    for problem in done.problems:
        warn(problem)
    value = {"machine": state.machine, **done._asdict()}
    call.answer(value, ["synced as %s: %s sent, %d taken" % (state.machine, plaintext.count(done.sent, "file"), done.taken),
                        *("  " + plaintext.one_line(note) for note in done.notes), *_copies(done.conflicts)])
    return 1 if done.problems else 0


def _unlearn(call: Call) -> None:
    """Remove what was derived of records that another machine removed for good, in every workspace."""
    from memory.distill import cache
    from memory.index import builder
    from memory.knowledge import walls
    from memory.recall import lookup

    for place in {place.key: place for place in (*lookup.workspaces(call.place, "all"), call.place)}.values():
        cache.prune(cache.folder_of(place.cache), None)
        builder.discard(place)
        walls.discard(place)
    builder.build(call.place, call.now)


def _copies(names: list[str]) -> list[str]:
    rows = ["  %s  %s" % (name[-11:-3], plaintext.one_line(name)) for name in names]
    digits = names[0][-11:-3] if names else ""
    return [*rows, "%s changed on two machines at once: both texts are kept, the copy is shown to no session; look at both, then "
            "`dayleaf sync take %s` puts the copy in the record's place, `sync drop %s` drops it" % (
                plaintext.count(len(names), "record"), digits, digits)] if names else []


def _standing(call: Call) -> int:
    from memory.health import agefile, machines, syncing

    state = syncing.load(call.place.home)
    problems = syncing.scan(state)
    root = machines.meeting(call.place.home, state.value["where"], call.env).root
    try:
        others = {name: max(every, default=0) for name, every in agefile.packs(root).items() if name != state.machine}
    except OSError:
        others = {}
        problems.append("%s: not there" % root)
    waiting = {name: newest - state.value["seen"].get(name, 0) for name, newest in others.items()}
    for problem in problems:
        warn(problem)
    copies = syncing.conflicts(state)
    where = state.value["where"]
    return call.answer({"machine": state.machine, "where": where, "toSend": sorted(state.dirty), "machines": waiting,
                        "conflicts": copies, "held": sorted(state.value["held"])}, [
        "this machine is %s and syncs with %s" % (state.machine, plaintext.one_line(where)),
        "  %s to send" % plaintext.count(len(state.dirty), "file"),
        *("  %s: %s" % (name, "all taken" if left <= 0 else "%s to take" % plaintext.count(left, "change"))
          for name, left in waiting.items()),
        *("  %s stays on this machine alone: it was removed on another one" % plaintext.one_line(name)
          for name in sorted(state.value["held"])), *_copies(copies)])


def _decided(call: Call) -> int:
    from memory.health import machines, syncing
    from memory.store.writer import Tiers

    take = call.words[0] == "take"
    state = syncing.load(call.place.home)
    copy, name = machines.decide(state, Tiers(call.place, call.changed.append), call.words[1], take, call.now)
    call.indexed()
    return call.answer({"copy": copy, "record": name, "taken": take}, [
        ("took %s as %s; what stood there is in the archive" if take else "dropped %s, into the archive; %s stays as it is") % (
            copy, name), "  the other machines hear of it at the next `dayleaf sync`"])
