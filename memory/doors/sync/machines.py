"""One sync of this machine: reading and writing packs where a person's machines meet.

They meet in a folder that another program syncs, or in the branch `dayleaf` of a git repository, of
which `<home>/sync/git` is a checkout.  A machine writes below its own name alone, so nothing there
is ever merged.  How texts are merged: syncing.py.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from shutil import rmtree
from typing import Any, NamedTuple

from memory.core import DayleafError, StoreError, UsageError, fastjson, files, layout
from memory.core.plaintext import one_line
from memory.doors.sync import packs, syncing
from memory.doors.sync.packs import LOGS, tier_of_log, tier_of_record
from memory.doors.sync.syncing import (
    COPY,
    ChangedMeanwhile,
    FileState,
    Merge,
    News,
    SyncState,
    list_conflicts,
    read_log,
)
from memory.health import agefile
from memory.store import safegit
from memory.store.writer import WHOLE, TierWriter

MOST_PACKS = 16  # of a machine before it sends all records anew
# for git and the network; pushes while other machines push
SECONDS, TRIES = 120.0, 5
BRANCH = "refs/heads/dayleaf"
_NAMED = (
    "-c user.name=dayleaf -c user.email=dayleaf@localhost -c commit.gpgsign=false "
    "-c gc.autoDetach=false -c core.autocrlf=false".split()
)


class SyncReport(NamedTuple):
    """The result of a sync.

    sent, taken: numbers of files.  removed: some were removed for good.  conflicts: names of
    copies that wait for a person.  problems: faults for a person to mend.
    """

    sent: int
    taken: int
    removed: bool
    conflicts: list[str]
    notes: list[str]
    problems: list[str]


class FolderCarrier:
    """A meeting place: a folder that another program syncs.

    Every method raises StoreError or OSError.
    """

    def __init__(self, root: str):
        self.root = root

    def fetch(self) -> None:
        """Check that the folder is there."""
        if not files.is_folder(self.root):
            raise StoreError(
                "%s is not there; is its disk connected, and the program that syncs it running?"
                % self.root
            )

    def send(self, machine: str, file: str, data: bytes, stale: list[str]) -> None:
        """Publish a pack of this machine, and delete the stale ones."""
        folder = files.make_folder(self.root + "/" + machine)
        if not files.is_inside(folder, self.root):
            raise StoreError("%s is a link that leads outside; remove it" % folder)
        files.replace(folder + "/" + file, data)
        for name in stale:
            files.remove(folder + "/" + name)


class GitCarrier(FolderCarrier):
    """A meeting place in a branch of a git repository."""

    def __init__(self, root: str, url: str, env: Mapping[str, str]):
        super().__init__(root)
        self.url, self.env = url, {**env, "LC_ALL": "C"}

    def _git(self, *words: str, fails: str = "") -> bool:
        """Run git; return False for a failure that says `fails`."""
        done = safegit.run_own(self.root, self.env, *_NAMED, *words, seconds=SECONDS)
        if done.rc and not (fails and fails in done.err.decode("utf-8", "replace")):
            raise StoreError(
                "git %s of %s: %s; try it again once git reaches it"
                % (words[0], self.url, safegit.extract_error(done.err) or "it took too long")
            )
        return not done.rc

    def fetch(self) -> None:
        if not files.is_folder(files.make_folder(self.root) + "/.git"):
            self._git("init", "-q")
        absent = "couldn't find remote ref"
        if self._git("fetch", "-q", "--no-tags", "--", self.url, BRANCH, fails=absent):
            self._git("reset", "-q", "--hard", "FETCH_HEAD")
        # of a push that never arrived, or a repository that is new
        elif packs.list_packs(self.root):
            rmtree(self.root)
            self.fetch()

    def send(self, machine: str, file: str, data: bytes, stale: list[str]) -> None:
        for left in range(TRIES - 1, -1, -1):
            super().send(machine, file, data, stale)
            self._git("add", "-A", "--", machine)
            self._git("commit", "-q", "--allow-empty", "-m", "sync")
            tolerated = "rejected" if left else ""
            if self._git("push", "-q", "--", self.url, "HEAD:" + BRANCH, fails=tolerated):
                return
            self.fetch()


def open_carrier(home: str, where: str, env: Mapping[str, str]) -> FolderCarrier:
    """Return a meeting place, given an absolute folder or a git URL."""
    if not is_git(where):
        return FolderCarrier(where)
    return GitCarrier("%s/%s/git" % (home, syncing.FOLDER), where, env)


def is_git(where: str) -> bool:
    """Tell whether a meeting place is a git repository."""
    host, colon, _ = where.partition(":")
    return "://" in where or where.endswith(".git") or (bool(colon) and "/" not in host)


# ---- files of machines


class MachineNews(NamedTuple):
    """A machine's changes that are not applied here; `upto` is its last pack read."""

    machine: str
    upto: int
    rows: dict[str, News]
    logs: list[tuple[str, list[str]]]


def read_news(root: str, state: SyncState, key: Any, notes: list[str]) -> list[MachineNews]:
    """Read the changes of other machines.  Raises StoreError for a wrong key."""
    out = []
    for machine, every in packs.list_packs(root).items():
        if machine == state.machine:
            continue
        seen = state.value["seen"].get(machine, 0)
        numbers, is_waiting = packs.select_unread(every, seen)
        machine_news = MachineNews(machine, seen, {}, [])
        for number in numbers:
            path = "%s/%s/%s" % (root, machine, every[number])
            try:
                data = files.read(path, WHOLE, follow=False)
                _add_to_news(packs.decrypt_pack(data, machine, number, key), machine_news)
            except packs.WrongKey:
                raise StoreError(
                    "the key here does not open %s; nothing was written: copy the key of the "
                    "machine that set up syncing, and run `dayleaf store sync setup "
                    "WHERE --identity FILE`" % path
                ) from None
            except (OSError, ValueError, LookupError, TypeError, packs.DamagedPack):
                is_waiting = True
                break
            except StoreError as error:
                notes.append("%s: %s" % (path, error))
                break
            machine_news = machine_news._replace(upto=number)
        if is_waiting:
            notes.append(
                "%s: not all its files have arrived; a later sync takes the rest (if not, run "
                "`dayleaf store sync --anew` there)" % machine
            )
        out.append(machine_news)
    return out


def _add_to_news(lines: list[dict[str, Any]], machine_news: MachineNews) -> None:
    """Add a pack's lines to the changes of its machine.

    Raises LookupError, TypeError or ValueError for invalid lines.
    """
    for line in lines:
        if "log" in line:
            machine_news.logs.append((line["log"], line["lines"]))
            continue
        moved = (line.get("to", ""), line.get("was", ""), line.get("of", {}))
        row = FileState(line["version"], line["sha256"], line["id"], *moved)
        data = line.get("text", "").encode("utf-8", "surrogateescape")
        if row.sha256 and files.sha256(data) != row.sha256:
            raise ValueError("one of its texts differs")
        mtime = max(0, min(int(line.get("mtime", 0)), 1 << 62))
        machine_news.rows[line["name"]] = News(row, data, mtime)


def build_lines(state: SyncState, names: Iterable[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return (a pack's lines, names of their files) for some files.

    A file that is being changed is left out.
    """
    lines, done = list[dict[str, Any]](), list[str]()
    for name in sorted(names):
        row = state.rows[name]
        line = dict[str, Any](name=name, version=row.version, sha256=row.sha256, id=row.id)
        if row.sha256:
            path = state.home + "/" + name
            try:
                data, mtime = files.read(path, WHOLE, follow=False), os.stat(path).st_mtime_ns
            except OSError:
                continue
            if files.sha256(data) != row.sha256:
                continue
            line.update(mtime=mtime, text=data.decode("utf-8", "surrogateescape"))
        else:
            line.update(to=row.to, was=row.was, of=row.of)
        lines.append(line)
        done.append(name)
    return lines, done


# ---- a sync


def sync(
    state: SyncState,
    carrier: FolderCarrier,
    tiers: TierWriter,
    key: Any,
    gone: bool = False,
    anew: bool = False,
) -> SyncReport:
    """Sync this machine with the others.

    gone: many files may be gone here at once.  anew: send all files in place of older packs. Raises
    StoreError, OSError; finished steps stay, and the next sync goes on.
    """
    notes: list[str] = []
    with files.Lock("%s/%s/lock" % (state.home, syncing.FOLDER)) as free:
        if not free:
            raise StoreError("another sync is running; wait until it has finished")
        carrier.fetch()
        anew = _check_own_pack(state, carrier, notes) or anew
        problems = syncing.record_changes(state, gone)
        every_news = read_news(carrier.root, state, key, notes)
        state.keep()
        merge = Merge(state, tiers, notes, problems)
        with tiers:
            for machine_news in every_news:
                _apply_news(merge, machine_news)
        state.keep()
        sent = _send(merge, carrier, key, anew or bool(state.value["purge"]))
        state.keep()
    return SyncReport(sent, merge.taken, merge.removed, list_conflicts(state), notes, problems)


def _apply_news(merge: Merge, machine_news: MachineNews) -> None:
    """Apply a machine's changes, new files first and removals last."""
    is_complete = True
    order = sorted(
        (not news.row.sha256, name in merge.rows, name) for name, news in machine_news.rows.items()
    )
    steps = [(name, partial(merge.take, name, machine_news.rows[name])) for *_, name in order]
    steps += [(name, partial(_merge_log, merge, name, lines)) for name, lines in machine_news.logs]
    for name, step in steps:
        if not (tier_of_record(name) or tier_of_log(name)):
            merge.problems.append(
                "%s names %s, which is not a record's name; it was left out"
                % (machine_news.machine, ascii(name)[:120])
            )
            continue
        try:
            step()
        except ChangedMeanwhile as error:
            is_complete = False
            merge.notes.append(str(error))
        except (OSError, DayleafError) as error:
            is_complete = False
            why = getattr(error, "strerror", None) or error
            merge.problems.append("%s could not be written: %s" % (name, why))
    if is_complete and machine_news.upto:
        merge.state.value["seen"][machine_news.machine] = machine_news.upto


def _check_own_pack(state: SyncState, carrier: FolderCarrier, notes: list[str]) -> bool:
    """Compare this machine's packs with its state; tell whether some are missing."""
    every, value = packs.list_packs(carrier.root).get(state.machine, {}), state.value
    newest, digest = max(every, default=0), ""
    if newest:
        path = "%s/%s/%s" % (carrier.root, state.machine, every[newest])
        with suppress(OSError):
            digest = files.sha256(files.read(path, WHOLE, follow=False))
    # it arrived before the sync broke off
    if value["pending"] and [newest, digest] == value["pending"][:2]:
        _confirm_sent(state)
    elif newest > value["number"] or (newest == value["number"] and digest != value["sent"]):
        state.anew(machine_name(state.machine.rpartition("-")[0]))
        notes.append(
            "this machine is now called %s: a copy or an old backup of it used its old name"
            % state.machine
        )
    return newest < int(value["number"])


def _confirm_sent(state: SyncState) -> None:
    number, digest, names, sizes = state.value["pending"]
    state.dirty -= set(names)
    state.value["logs"].update(sizes)
    state.value.update(number=number, sent=digest, pending=None)


def _send(merge: Merge, carrier: FolderCarrier, key: Any, anew: bool) -> int:
    """Send this machine's changes; return the number of files."""
    state = merge.state
    mine = packs.list_packs(carrier.root).get(state.machine, {})
    logs, sizes = _new_lines(merge, False)
    state.value["logs"].update({name: size for name, size in sizes.items() if name not in logs})
    if not (state.dirty or logs or anew):
        return 0
    anew = anew or len(mine) >= MOST_PACKS
    logs, sizes = _new_lines(merge, anew)
    number = max(state.value["number"], *mine, 0) + 1
    lines, done = build_lines(state, list(state.rows) if anew else state.dirty)
    lines += [{"log": name, "lines": rows} for name, rows in logs.items()]
    pack = packs.encrypt_pack(lines, state.machine, number, key)
    sent = len(state.dirty.intersection(done))
    state.value["pending"] = [number, files.sha256(pack), done, sizes]
    state.keep()
    file, stale = "%06d%s.age" % (number, ".base" * anew), list(mine.values()) if anew else []
    carrier.send(state.machine, file, pack, stale)
    state.value["purge"] = state.value["purge"] and not anew
    _confirm_sent(state)
    return sent


def _new_lines(merge: Merge, anew: bool) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return the unsent lines by log, and the sizes of the logs."""
    state, unsent, sizes = merge.state, {}, {}
    for name in (root + "/" + log for root in _list_tiers(state.home) for log in LOGS):
        data, every = read_log(state.home + "/" + name)
        size, before = data.rfind(b"\n") + 1, state.value["logs"].get(name, 0)
        fresh = every if anew or before > size else read_log(state.home + "/" + name, before)[1]
        own = set(fresh) if anew else set(fresh).difference(merge.added.get(name, ()))
        if own:
            unsent[name] = [line for line in every if line in own]
        if size:
            sizes[name] = size
    return unsent, sizes


def _list_tiers(home: str) -> list[str]:
    """Return the directories of the tiers below the home."""
    workspaces = ["workspaces/" + name for name in files.list_folder(home + "/workspaces")]
    return [name for name in ("global", *workspaces) if tier_of_log(name + "/" + LOGS[0])]


def _merge_log(merge: Merge, name: str, sent: list[str]) -> None:
    """Append the missing lines to a log, each as often as sent.

    Raises OSError, StoreError.
    """
    path = merge.state.home + "/" + name
    data, present = read_log(path)
    missing, lines = Counter(sent) - Counter(present), list[str]()
    for line in sent:
        if missing[line] > 0:
            missing[line] -= 1
            lines.append(line)
    if lines:
        files.make_folder(path.rpartition("/")[0])
        _append_lines(merge.tiers, path, lines, bool(data) and not data.endswith(b"\n"))
        repeated = _stray_lines(path, lines) if name.endswith(LOGS[1]) else []
        _append_lines(merge.tiers, path, repeated)
        merge.added.setdefault(name, set()).update(lines, repeated)


def _append_lines(tiers: TierWriter, path: str, lines: list[str], torn: bool = False) -> None:
    if lines:
        text = "\n" * torn + "\n".join(lines) + "\n"
        tiers.append(path, text.encode("utf-8", "surrogateescape"))


def _stray_lines(path: str, lines: list[str]) -> list[str]:
    """Return an archive log's lines to repeat, given the lines just added.

    Where two machines moved a record, its last line may name a place where it is not.
    """
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    ids = {row.get("id") for row in fastjson.parse_rows(text)}
    folder, last, stands = path[: -len(LOGS[1])], dict[str, Any](), dict[str, Any]()
    for row in fastjson.parse_rows(read_log(path)[0]):
        if row.get("id") in ids and isinstance(row.get("to"), str):
            last[row["id"]] = row
            if files.exists(folder + row["to"]):
                stands[row["id"]] = row
    return [fastjson.dump(row) for id, row in sorted(stands.items()) if last[id] != row]


# ---- what a person decides


def settle_conflict(
    state: SyncState, tiers: TierWriter, word: str, take: bool, now: float
) -> tuple[str, str]:
    """Settle a conflict: keep one text, archive the other.

    Returns the names of the copy and the record.  word: the copy's 8 hex digits, name or file.
    take: the copy becomes the record.  Raises UsageError, StoreError, OSError.
    """
    syncing.record_changes(state)
    copies = [
        name
        for name in list_conflicts(state)
        if word in (name, name.rpartition("/")[2], name[-11:-3])
    ]
    if len(copies) != 1:
        raise UsageError(
            "%s copies match '%s'; `dayleaf store sync status` lists them"
            % (len(copies) or "no", one_line(word, 60))
        )
    copy = copies[0]
    name = COPY.sub(r"\1.md", copy)
    with tiers:
        if not take:
            tiers.set_aside(state.home + "/" + copy, "dropped after a sync", now)
            return copy, name
        if os.path.lexists(state.home + "/" + name):
            tiers.set_aside(state.home + "/" + name, "replaced after a sync", now)
        tiers.rename(state.home + "/" + copy, name.rpartition("/")[2])
    return copy, name


# ---- the setup


def machine_name(host: str) -> str:
    """Return a new name for this machine."""
    return "%s-%s" % (layout.slug(host, 30) or "machine", os.urandom(4).hex())


def setup(home: str, where: str, identity: str, env: Mapping[str, str], host: str) -> SyncState:
    """Set syncing up, also again, and return the stored state.

    identity: the file of another machine's key; "" makes a key where no machine has synced yet.
    Raises UsageError, StoreError, OSError.
    """
    folder, path = home + "/" + syncing.FOLDER, "%s/%s/key.txt" % (home, syncing.FOLDER)
    if not is_git(where) and (files.is_inside(where, home) or files.is_inside(home, where)):
        raise UsageError("%s is dayleaf's own home; name a folder elsewhere" % where)
    files.make_folder(folder)
    files.append(folder + "/lock", b"")
    carrier = open_carrier(home, where, env)
    carrier.fetch()
    there = packs.list_packs(carrier.root)
    if not (identity or files.exists(path)):
        if any(there.values()):
            raise UsageError(
                "other machines sync there already; copy the key of one of them, "
                ".dayleaf/%s/key.txt, and run `dayleaf store sync setup %s --identity "
                "FILE`" % (syncing.FOLDER, one_line(where))
            )
        packs.write_new_key(path)
    key = agefile.read_identities(identity or path)[0]
    state = SyncState(home, syncing.initial_state(machine_name(host), where))
    read_news(carrier.root, state, key, [])
    if identity:
        files.replace(path, files.read(identity, agefile.KEY_BYTES))
    state.keep()
    return state
