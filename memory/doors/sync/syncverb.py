"""The verb `sync`: setup, syncing, status, conflicts."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from memory.core import StoreError, UsageError, files, plaintext, walk
from memory.distill import cache
from memory.doors.sync import machines, packs, syncing
from memory.health import agefile, erasure
from memory.index import builder
from memory.store import ledger
from memory.store.writer import TierWriter
from memory.terminal.call import Call, unknown_word, warn

SYNC_WORDS = {"setup": 2, "status": 1, "take": 2, "drop": 2}  # with how many words each is said


def sync(call: Call) -> int:
    """Sync this machine, set it up, show its state, or settle conflicts."""
    word = call.words[0] if call.words else ""
    if word and word not in SYNC_WORDS:
        raise unknown_word("sync", word, SYNC_WORDS)
    if word and len(call.words) != SYNC_WORDS[word]:
        raise UsageError(
            "sync %s takes %d word%s" % (word, SYNC_WORDS[word] - 1, "s" * (SYNC_WORDS[word] != 2))
        )
    _refuse_options(call, word)
    steps = {"": _sync_now, "setup": _set_up, "status": _show_status}
    return steps.get(word, _settle_copy)(call)


def _refuse_options(call: Call, word: str) -> None:
    verbs = {"identity": " setup", "gone": "", "anew": ""}
    for option, verb in verbs.items():
        if getattr(call.options, option) and verb.strip() != word:
            raise UsageError("--%s is for `dayleaf store sync%s`" % (option, verb))


def _set_up(call: Call) -> int:
    where, identity = call.words[1], call.options.identity
    home, key = call.place.home, call.place.home + "/sync/key.txt"
    if not machines.is_git(where):
        where = files.real_path(os.path.abspath(os.path.expanduser(where)))
    state = None
    with suppress(StoreError):
        state = syncing.load_state(home)
    if state and state.value["where"] == where and not identity:
        lines = [
            "this machine is %s and already syncs with %s; `dayleaf store sync` brings both up to "
            "date" % (state.machine, plaintext.one_line(where))
        ]
    else:
        identity = os.path.abspath(identity) if identity else ""
        state = machines.setup(home, where, identity, call.env, socket.gethostname())
        lines = [
            "this machine is %s and syncs with %s" % (state.machine, plaintext.one_line(where)),
            "  the key is %s: carry it to your other machines yourself, not through that place, "
            "and run there" % key,
            "  `dayleaf store sync setup WHERE --identity FILE`; without the key, nobody can read "
            "your memories",
            "  then run `dayleaf store sync` on both machines",
        ]
    return call.answer({"machine": state.machine, "where": where, "key": key}, lines)


def _sync_now(call: Call) -> int:
    home = call.place.home
    state = syncing.load_state(home)
    carrier = machines.open_carrier(home, state.value["where"], call.env)
    key = agefile.read_identities(home + "/sync/key.txt")[0]
    with call.spinner("syncing"):
        tiers = TierWriter(call.place, call.changed.append)
        gone, anew = bool(call.options.gone), bool(call.options.anew)
        report = machines.sync(state, carrier, tiers, key, gone, anew)
        if report.removed:
            _delete_derived(call)
    call.indexed()
    ledger.recount_after_moves(call.place)
    for problem in report.problems:
        warn(problem)
    sent = plaintext.format_count(report.sent, "file")
    lines = ["synced as %s: %s sent, %d taken" % (state.machine, sent, report.taken)]
    lines += ["  " + plaintext.one_line(note) for note in report.notes]
    lines += _format_copies(report.conflicts)
    call.answer({"machine": state.machine, **report._asdict()}, lines)
    return 1 if report.problems else 0


def _delete_derived(call: Call) -> None:
    """Delete files derived from records removed on another machine."""
    folder = call.place.home + "/cache"
    for name, path, stat in walk.walk_entries(folder):
        if walk.is_folder(stat) and name and "/" not in name:
            cache.prune(cache.digests_folder(path), None)
        elif walk.is_regular(stat) and name.endswith(erasure.DERIVED_ENDS):
            files.remove(path)
    builder.build(call.place, call.now)
    call.changed.clear()


def _format_copies(names: list[str]) -> list[str]:
    if not names:
        return []
    digits = names[0][-11:-3]
    return [
        *("  %s  %s" % (name[-11:-3], plaintext.one_line(name)) for name in names),
        "%s changed on two machines at once: the other machine's text is kept as a copy, "
        "which no session sees; `dayleaf store sync take %s` uses the copy, "
        "`sync drop %s` drops it" % (plaintext.format_count(len(names), "record"), digits, digits),
    ]


def _show_status(call: Call) -> int:
    state = syncing.load_state(call.place.home)
    problems = syncing.record_changes(state)
    root = machines.open_carrier(call.place.home, state.value["where"], call.env).root
    try:
        others = {name: max(every, default=0) for name, every in packs.list_packs(root).items()}
        others.pop(state.machine, None)
    except OSError:
        others = {}
        problems.append("%s: not there" % root)
    waiting = {name: newest - state.value["seen"].get(name, 0) for name, newest in others.items()}
    for problem in problems:
        warn(problem)
    copies, held = syncing.list_conflicts(state), sorted(state.value["held"])
    where = state.value["where"]
    lines = [
        "this machine is %s and syncs with %s" % (state.machine, plaintext.one_line(where)),
        "  %s to send" % plaintext.format_count(len(state.dirty), "file"),
    ]
    for name, left in waiting.items():
        changes = "%s to take" % plaintext.format_count(left, "change")
        lines.append("  %s: %s" % (name, changes if left > 0 else "all taken"))
    only_here = "  %s is left on this machine only: another machine removed it"
    lines += [only_here % plaintext.one_line(name) for name in held]
    value = {
        "machine": state.machine,
        "where": where,
        "toSend": sorted(state.dirty),
        "machines": waiting,
        "conflicts": copies,
        "held": held,
    }
    return call.answer(value, [*lines, *_format_copies(copies)])


def _settle_copy(call: Call) -> int:
    take = call.words[0] == "take"
    state = syncing.load_state(call.place.home)
    tiers = TierWriter(call.place, call.changed.append)
    copy, name = machines.settle_conflict(state, tiers, call.words[1], take, call.now)
    call.indexed()
    line = "moved %s to the archive; %s stays as it is"
    if take:
        line = "took %s as %s; the old text is in the archive"
    later = "  the other machines learn this at the next `dayleaf store sync`"
    return call.answer({"copy": copy, "record": name, "taken": take}, [line % (copy, name), later])
