"""One sync of this machine: what it reads where a person's machines meet, and what it writes there
(see syncing.py).

They meet in a folder that something else carries from one to the other, or in the branch `dayleaf`
of a git repository, of which `<home>/sync/git` is a checkout.  A machine writes below its own name
alone, so nothing there is ever merged.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from shutil import rmtree
from typing import Any, NamedTuple, Protocol

from memory.core import DayleafError, StoreError, UsageError, fastjson, files, layout
from memory.core.plaintext import one_line
from memory.doors.sync import packs, syncing
from memory.doors.sync.packs import LOGS, log_of, place_of
from memory.doors.sync.syncing import COPY, Changed, Merge, News, Row, State, conflicts, read_log
from memory.health import agefile
from memory.store import safegit
from memory.store.writer import WHOLE, Tiers

MOST_PACKS = 16  # files of a machine before it tells all anew
# for git and the network; pushes, where other machines push at the same time
SECONDS, TRIES = 120.0, 5
BRANCH = "refs/heads/dayleaf"
_NAMED = (
    "-c user.name=dayleaf -c user.email=dayleaf@localhost -c commit.gpgsign=false "
    "-c gc.autoDetach=false -c core.autocrlf=false".split()
)


Added = dict[str, set[str]]  # lines that were added to a log, by its name


class Report(NamedTuple):
    """The result of a sync.

    sent, taken: numbers of files. removed: some were deleted for good. conflicts: names of copies
        that wait for a person. notes: further information. problems: faults for a person to mend.
    """

    sent: int
    taken: int
    removed: bool
    conflicts: list[str]
    notes: list[str]
    problems: list[str]


class Carrier(Protocol):
    """The meeting place of the machines.

    Every method raises StoreError or OSError.
    """

    root: str

    def fetch(self) -> None:
        """Fetch the other machines' files."""

    def send(self, machine: str, file: str, data: bytes, stale: list[str]) -> None:
        """Publish a file of this machine, and delete the files it replaces."""


class Folder:
    """A folder that something else carries to the other machines."""

    def __init__(self, root: str):
        self.root = root

    def fetch(self) -> None:
        if not files.is_folder(self.root):
            raise StoreError(
                "%s is not there; is its disk connected, and the program that syncs it running?"
                % self.root
            )

    def send(self, machine: str, file: str, data: bytes, stale: list[str]) -> None:
        folder = files.make_folder(self.root + "/" + machine)
        if not files.inside(folder, self.root):
            raise StoreError("%s is a link that leads outside; remove it" % folder)
        files.replace(folder + "/" + file, data)
        for name in stale:
            files.remove(folder + "/" + name)


class Git(Folder):
    """A branch of a git repository, fetched before and pushed afterwards."""

    def __init__(self, root: str, url: str, env: Mapping[str, str]):
        super().__init__(root)
        self.url, self.env = url, {**env, "LC_ALL": "C"}

    def _git(self, *words: str, fails: str = "") -> bool:
        """Run git; return False on an expected failure."""
        done = safegit.own(self.root, self.env, *_NAMED, *words, seconds=SECONDS)
        if done.rc and not (fails and fails in done.err.decode("utf-8", "replace")):
            raise StoreError(
                "git %s of %s: %s; try it again once git reaches it"
                % (words[0], self.url, safegit.complaint(done.err) or "it took too long")
            )
        return not done.rc

    def fetch(self) -> None:
        if not files.is_folder(files.make_folder(self.root) + "/.git"):
            self._git("init", "-q")
        if self._git(
            "fetch", "-q", "--no-tags", "--", self.url, BRANCH, fails="couldn't find remote ref"
        ):
            self._git("reset", "-q", "--hard", "FETCH_HEAD")
        elif packs.packs(self.root):  # of a push that never arrived, or a repository that is new
            rmtree(self.root)
            self.fetch()

    def send(self, machine: str, file: str, data: bytes, stale: list[str]) -> None:
        for left in range(TRIES - 1, -1, -1):
            super().send(machine, file, data, stale)
            self._git("add", "-A", "--", machine)
            self._git("commit", "-q", "--allow-empty", "-m", "sync")
            if self._git(
                "push", "-q", "--", self.url, "HEAD:" + BRANCH, fails="rejected" if left else ""
            ):
                return
            self.fetch()


def meeting(home: str, where: str, env: Mapping[str, str]) -> Carrier:
    """Return the machines' meeting place.

    where: an absolute folder, or the URL of a git repository.
    """
    return Git("%s/%s/git" % (home, syncing.FOLDER), where, env) if is_git(where) else Folder(where)


def is_git(where: str) -> bool:
    """Tell whether a meeting place is a git repository."""
    return (
        "://" in where
        or where.endswith(".git")
        or (":" in where and "/" not in where.partition(":")[0])
    )


# ---- files of machines


class MachineNews(NamedTuple):
    """The unread news of one machine.

    upto: the number of its last file read.
    """

    machine: str
    upto: int
    rows: dict[str, News]
    logs: list[tuple[str, list[str]]]


def read_news(root: str, state: State, key: Any, notes: list[str]) -> list[MachineNews]:
    """Read the new files of other machines.

    Raises StoreError where the key does not open them.
    """
    out = []
    for machine, every in packs.packs(root).items():
        if machine == state.machine:
            continue
        numbers, waits = packs.unread(every, state.value["seen"].get(machine, 0))
        heard = MachineNews(machine, state.value["seen"].get(machine, 0), {}, [])
        for number in numbers:
            path = "%s/%s/%s" % (root, machine, every[number])
            try:
                _add_to_news(
                    packs.unsealed(files.read(path, WHOLE, follow=False), machine, number, key),
                    heard,
                )
            except packs.Locked:
                raise StoreError(
                    "the key here does not open %s; nothing was written: copy the key of the "
                    "machine that set up syncing, and run `dayleaf store sync setup "
                    "WHERE --identity FILE`" % path
                ) from None
            except (OSError, ValueError, LookupError, TypeError, packs.Damaged):
                waits = True
                break
            except StoreError as error:
                notes.append("%s: %s" % (path, error))
                break
            heard = heard._replace(upto=number)
        if waits:
            notes.append(
                "%s: not all its files have arrived; a later sync takes the rest (if not, run "
                "`dayleaf store sync --anew` there)" % machine
            )
        out.append(heard)
    return out


def _add_to_news(lines: list[dict[str, Any]], heard: MachineNews) -> None:
    """Add a file's lines to a machine's news.

    Raises LookupError, TypeError or ValueError for unknown lines.
    """
    for line in lines:
        if "log" in line:
            heard.logs.append((line["log"], line["lines"]))
            continue
        row = Row(
            line["version"],
            line["sha256"],
            line["id"],
            line.get("to", ""),
            line.get("was", ""),
            line.get("of", {}),
        )
        data = line.get("text", "").encode("utf-8", "surrogateescape")
        if row.sha256 and files.sha256(data) != row.sha256:
            raise ValueError("one of its texts differs")
        heard.rows[line["name"]] = News(row, data, max(0, min(int(line.get("mtime", 0)), 1 << 62)))


def lines_to_send(state: State, names: Iterable[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return (the lines to send for some files, these files' names).

    A file that is being changed is left out.
    """
    lines, done = list[dict[str, Any]](), list[str]()
    for name in sorted(names):
        row = state.rows[name]
        line: dict[str, Any] = {
            "name": name,
            "version": row.version,
            "sha256": row.sha256,
            "id": row.id,
        }
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
    state: State, carrier: Carrier, tiers: Tiers, key: Any, gone: bool = False, anew: bool = False
) -> Report:
    """Sync this machine with the others.

    gone: many files may have gone here at once. anew: send all files in place of older ones. Raises
        StoreError, OSError; finished steps stay, and the next sync goes on.
    """
    notes: list[str] = []
    with files.Lock("%s/%s/lock" % (state.home, syncing.FOLDER)) as free:
        if not free:
            raise StoreError("another sync is running; wait until it has finished")
        carrier.fetch()
        anew = _settle_own(state, carrier, notes) or anew
        problems = syncing.scan(state, gone)
        heard = read_news(carrier.root, state, key, notes)
        state.keep()
        merge, added = Merge(state, tiers), dict[str, set[str]]()
        with tiers:
            for one in heard:
                _apply_news(merge, one, added, problems)
        state.keep()
        sent = _send(state, carrier, key, added, anew or bool(state.value["purge"]))
        state.keep()
    return Report(sent, merge.taken, merge.removed, conflicts(state), notes + merge.notes, problems)


def _apply_news(merge: Merge, heard: MachineNews, added: Added, problems: list[str]) -> None:
    """Apply a machine's news, new files first and removals last."""
    whole = True
    rows = sorted(
        heard.rows.items(),
        key=lambda pair: (not pair[1].row.sha256, pair[0] in merge.rows, pair[0]),
    )
    steps = [(name, partial(merge.take, name, news)) for name, news in rows]
    steps += [
        (name, partial(_join, merge.state, merge.tiers, name, lines, added))
        for name, lines in heard.logs
    ]
    for name, step in steps:
        if not (place_of(name)[0] or log_of(name)):
            problems.append(
                "%s names %s, which is not a record's name; it was left out"
                % (heard.machine, ascii(name)[:120])
            )
            continue
        try:
            step()
        except Changed as error:
            whole = False
            merge.notes.append(str(error))
        except (OSError, DayleafError) as error:
            whole = False
            problems.append(
                "%s could not be written: %s" % (name, getattr(error, "strerror", None) or error)
            )
    if whole and heard.upto:
        merge.state.value["seen"][heard.machine] = heard.upto


def _settle_own(state: State, carrier: Carrier, notes: list[str]) -> bool:
    """Compare this machine's newest file with its state."""
    every, value = packs.packs(carrier.root).get(state.machine, {}), state.value
    newest, digest = max(every, default=0), ""
    if newest:
        with suppress(OSError):
            digest = files.sha256(
                files.read(
                    "%s/%s/%s" % (carrier.root, state.machine, every[newest]), WHOLE, follow=False
                )
            )
    # it arrived, and then something broke off
    if value["pending"] and [newest, digest] == value["pending"][:2]:
        _arrived(state)
    elif newest > value["number"] or (newest == value["number"] and digest != value["sent"]):
        state.anew(machine_name(state.machine.rpartition("-")[0]))
        notes.append(
            "this machine is now called %s: a copy or an old backup of it used its old name"
            % state.machine
        )
    return newest < int(value["number"])


def _arrived(state: State) -> None:
    number, digest, names, sizes = state.value["pending"]
    state.dirty -= set(names)
    state.value["logs"].update(sizes)
    state.value.update(number=number, sent=digest, pending=None)


def _send(state: State, carrier: Carrier, key: Any, added: Added, anew: bool) -> int:
    """Send this machine's news; return the number of files."""
    mine = packs.packs(carrier.root).get(state.machine, {})
    logs, sizes = _new_lines(state, added, False)
    state.value["logs"].update({name: size for name, size in sizes.items() if name not in logs})
    if not (state.dirty or logs or anew):
        return 0
    anew = anew or len(mine) >= MOST_PACKS
    logs, sizes = _new_lines(state, added, anew)
    number = max(state.value["number"], *mine, 0) + 1
    lines, done = lines_to_send(state, list(state.rows) if anew else state.dirty)
    lines += [{"log": name, "lines": rows} for name, rows in logs.items()]
    sealed, sent = (
        packs.sealed(lines, state.machine, number, key),
        len(state.dirty.intersection(done)),
    )
    state.value["pending"] = [number, files.sha256(sealed), done, sizes]
    state.keep()
    carrier.send(
        state.machine,
        "%06d%s.age" % (number, ".base" * anew),
        sealed,
        list(mine.values()) if anew else [],
    )
    state.value["purge"] = state.value["purge"] and not anew
    _arrived(state)
    return sent


def _new_lines(
    state: State, added: Added, anew: bool
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return (unsent lines by log, sizes of the logs)."""
    out, sizes = {}, {}
    for name in (root + "/" + log for root in _roots(state.home) for log in LOGS):
        data, every = read_log(state.home + "/" + name)
        size, before = data.rfind(b"\n") + 1, state.value["logs"].get(name, 0)
        fresh = every if anew or before > size else read_log(state.home + "/" + name, before)[1]
        own = set(fresh) if anew else set(fresh).difference(added.get(name, ()))
        if own:
            out[name] = [line for line in every if line in own]
        if size:
            sizes[name] = size
    return out, sizes


def _roots(home: str) -> list[str]:
    """Return the directories of the tiers below the home."""
    names = files.list_folder(home + "/workspaces")
    return [
        name
        for name in ("global", *("workspaces/" + name for name in names))
        if log_of(name + "/" + LOGS[0])
    ]


def _join(state: State, tiers: Tiers, name: str, told: list[str], added: Added) -> None:
    """Append the missing lines to a log.

    Each as often as it was sent. Raises OSError, StoreError.
    """
    path = state.home + "/" + name
    data, there = read_log(path)
    lacking, lines = Counter(told) - Counter(there), list[str]()
    for line in told:
        if lacking[line] > 0:
            lacking[line] -= 1
            lines.append(line)
    if lines:
        files.make_folder(path.rpartition("/")[0])
        _append(tiers, path, lines, bool(data) and not data.endswith(b"\n"))
        again = _stray_lines(path, lines) if name.endswith(LOGS[1]) else []
        _append(tiers, path, again)
        added.setdefault(name, set()).update(lines, again)


def _append(tiers: Tiers, path: str, lines: list[str], torn: bool = False) -> None:
    if lines:
        tiers.append(
            path, b"\n" * torn + ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")
        )


def _stray_lines(path: str, lines: list[str]) -> list[str]:
    """Return an archive log's lines to repeat for moved records."""
    # Where two machines moved a record, its last line may name a place where it is not.
    # lines: those that came in.
    ids = {
        row.get("id") for row in fastjson.rows("\n".join(lines).encode("utf-8", "surrogateescape"))
    }
    folder, last, stands = path[: -len(LOGS[1])], dict[str, Any](), dict[str, Any]()
    for row in fastjson.rows(read_log(path)[0]):
        if row.get("id") in ids and isinstance(row.get("to"), str):
            last[row["id"]] = row
            if files.exists(folder + row["to"]):
                stands[row["id"]] = row
    return [fastjson.dump(row) for id, row in sorted(stands.items()) if last[id] != row]


# ---- what a person decides


def settle_conflict(
    state: State, tiers: Tiers, word: str, take: bool, now: float
) -> tuple[str, str]:
    """Settle a conflict by keeping or dropping its copy.

    The other file goes to the archive.

    Returns (its name, the record's). word: its 8 hex digits, name or file. take: keep it as the
    record. Raises UsageError, StoreError, OSError.
    """
    syncing.scan(state)
    found = [
        name for name in conflicts(state) if word in (name, name.rpartition("/")[2], name[-11:-3])
    ]
    if len(found) != 1:
        raise UsageError(
            "%s copies match '%s'; `dayleaf store sync status` lists them"
            % (len(found) or "no", one_line(word, 60))
        )
    hit = COPY.match(found[0])
    name = hit[1] + ".md" if hit else ""
    with tiers:
        if not take:
            tiers.set_aside(state.home + "/" + found[0], "dropped after a sync", now)
            return found[0], name
        if os.path.lexists(state.home + "/" + name):
            tiers.set_aside(state.home + "/" + name, "replaced after a sync", now)
        tiers.rename(state.home + "/" + found[0], name.rpartition("/")[2])
    return found[0], name


# ---- the setup


def machine_name(host: str) -> str:
    """Return a new name for this machine."""
    return "%s-%s" % (layout.slug(host, 30) or "machine", os.urandom(4).hex())


def setup(home: str, where: str, identity: str, env: Mapping[str, str], host: str) -> State:
    """Set syncing up, or anew, and return the stored state.

    identity: the file of another machine's key; "" makes a key where nobody has synced yet. Raises
        UsageError, StoreError, OSError.
    """
    folder, path = home + "/" + syncing.FOLDER, "%s/%s/key.txt" % (home, syncing.FOLDER)
    if not is_git(where) and (files.inside(where, home) or files.inside(home, where)):
        raise UsageError("%s is dayleaf's own home; name a folder elsewhere" % where)
    files.make_folder(folder)
    files.append(folder + "/lock", b"")
    carrier = meeting(home, where, env)
    carrier.fetch()
    there = packs.packs(carrier.root)
    if not (identity or files.exists(path)):
        if any(there.values()):
            raise UsageError(
                "other machines sync there already; copy the key of one of them, "
                ".dayleaf/%s/key.txt, and run `dayleaf store sync setup %s --identity "
                "FILE`" % (syncing.FOLDER, one_line(where))
            )
        packs.new_key(path)
    key = agefile.identities(identity or path)[0]
    state = State(home, syncing.blank(machine_name(host), where))
    read_news(carrier.root, state, key, [])
    if identity:
        files.replace(path, files.read(identity, agefile.KEY_BYTES))
    state.keep()
    return state
