"""Doctor's checks of how things stand: the home, Python, settings, records, index, vectors, the
host, the shared tier.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence

from memory.core import IndexFault, config, fastjson, files, frontmatter, layout, walk
from memory.core.plaintext import count
from memory.core.records import READ_LIMIT
from memory.health import (
    FAIL,
    OK,
    WARN,
    Finding,
    accounts,
    fail,
    figures,
    finding,
    inspection,
    ok,
    warn,
)
from memory.hook import announcements, indexview
from memory.index.kept import Head
from memory.knowledge import housekeeping
from memory.project import adoption
from memory.session import transcript
from memory.store import conversations, process
from memory.store.store import Store

REDACT = "`dayleaf config set redact.enabled true` removes them again"
SETUP = "run " + shlex.quote(layout.plugin() + "/install.sh")
MOST_FILES = 20  # files named one by one
LITTLE, NONE_LEFT = 500 << 20, 50 << 20  # bytes free on the disk of the home
GUESSED = (
    'only simple "key: value" lines are read in a record\'s header; a rule or script with anything '
    "else there is ignored"
)
PACKAGES = (
    ("yaml", "PyYAML", GUESSED),
    ("frontmatter", "python-frontmatter", GUESSED),
    ("rapidfuzz", "RapidFuzz", "recall does not find misspelt words"),
    ("numpy", "NumPy", "large indexes take longer to build"),
)
TIMEOUT = 10.0  # seconds for a child
IGNORED = ("ls-files", "-z", "-o", "-i", "--exclude-standard", "--", ".dayleaf")
# to see NumPy load takes none of its threads: a third of the child's time
ALONE = {"OPENBLAS_NUM_THREADS": "1"}
TAIL = 256 << 10  # bytes of a transcript's end
NO_SHELL = (2, 1, 139)  # the first client that starts a hook as a program with its words
# what a client older than each does not give
SINCE = (
    ((2, 1, 112), "older than the oldest version that takes the plugin (2.1.112)"),
    ((2, 1, 116), "each slash command costs a request to the model"),
)


def check_home(place: layout.Place) -> Iterator[Finding]:
    """Check that only the user can read and write dayleaf's directory."""
    try:
        stat = os.stat(place.home)
    except FileNotFoundError:
        yield ok("%s does not exist yet; the first record creates it" % place.home)
        return
    mine = not hasattr(os, "geteuid") or stat.st_uid == os.geteuid()
    said = "%s (%04o)" % (place.home, stat.st_mode & 0o777)
    if not files.is_folder(place.home):
        yield fail(place.home + " is not a directory", "move it away, or set DAYLEAF_HOME")
        return
    if not mine:
        yield fail(said + " belongs to another user", "set DAYLEAF_HOME to a directory of your own")
    elif not os.access(place.home, os.W_OK | os.X_OK):
        yield fail(said + " cannot be written", "chmod 700 '%s'" % place.home)
    elif stat.st_mode & 0o022:
        yield fail(said + " can be written by others", "chmod 700 '%s'" % place.home)
    else:
        yield ok(said)
    open_ones = list(open_to_others(place))
    if open_ones:
        said = "%s can be read by others, such as %s" % (
            count(len(open_ones), "file"),
            open_ones[0],
        )
        yield warn(said, "`dayleaf doctor --fix` closes them")


def open_to_others(place: layout.Place) -> Iterator[str]:
    """Yield the files readable by other users.

    Only where the home itself lets others in.
    """
    if os.name != "nt" and os.stat(place.home).st_mode & 0o011:
        yield from with_bits(place, 0o044)


def with_bits(place: layout.Place, bits: int) -> Iterator[str]:
    """Yield the files whose mode has one of some bits."""
    for _, path, stat in walk.entries_below(
        place.home, lambda name: name not in ("runtime", "cache")
    ):
        if walk.is_regular(stat) and stat.st_mode & bits:
            yield path


def _skipped_files(store: Store) -> Iterator[Finding]:
    for skipped in store.skipped[:MOST_FILES]:
        yield warn(skipped.reason, skipped.remedy, _path(store.place, skipped.name), skipped.line)
    if len(store.skipped) > MOST_FILES:
        yield warn(
            "and %d more are skipped" % (len(store.skipped) - MOST_FILES),
            "mend the ones above first",
        )


def check_records(store: Store, found: Sequence[Head]) -> Iterator[Finding]:
    """Report unreadable and skipped records, and contradictions among records."""
    place = store.place
    planned = [record for record in found if record.active]
    faulty = [(record.name, record.problems[0]) for record in found if record.problems]
    yield finding(
        OK if not store.skipped else WARN,
        "%s readable, %d skipped" % (count(len(found), "record"), len(store.skipped)),
    )
    yield from _skipped_files(store)
    for name, problem in faulty[:MOST_FILES]:
        said, _, remedy = problem.rpartition("; ")
        yield warn(said or problem, remedy if said else "", _path(place, name))
    if len(planned) > 1:
        yield warn(
            "%d plans are active; the newest (%s) is used"
            % (len(planned), min(planned, key=lambda plan: (-plan.created, plan.name)).id),
            "`dayleaf plan done ID` ends one",
        )
    for id, names in list(store.duplicates.items())[:MOST_FILES]:
        yield warn(
            "%s is the id of %s" % (id, " and ".join(_path(place, name) for name in names)),
            "change or remove the line `id:` in one of them",
        )


def check_conversations(store: Store, found: Sequence[Head]) -> Iterator[Finding]:
    """Report the number of conversations, and those edited by hand."""
    kept = [record for record in found if record.kind == conversations.KIND]
    told = count(len(kept), "conversation") + " kept"
    changed = sum(record.rewritten for record in kept)
    if changed:
        told += ", %d edited by hand, which dayleaf no longer changes" % changed
    if not store.config["capture.conversations"]:
        source = store.config.sources["capture.conversations"]
        yield ok("capture.conversations is off (%s), so no new ones; %s" % (source, told))
    elif kept:
        yield ok(told)


def _path(place: layout.Place, name: str) -> str:
    try:
        return place.path(name)
    except KeyError:
        return name


def check_index(place: layout.Place, walked: walk.Listing) -> Iterator[Finding]:
    """Check that the index exists, whole and fresh."""
    found = figures.index_state(place, walked)
    if len(walked.found) >= walk.MOST:
        yield warn(
            "more than %s files; the rest are not indexed" % "{:,}".format(walk.MOST),
            "move old checkpoints to the archive: `dayleaf record forget ID`",
        )
    if found["state"] == "missing":
        yield warn("none yet; recall reads the files", found["remedy"])
    elif found["state"] == "damaged":
        yield fail("damaged: " + found["why"], found["remedy"])
    elif not found["whole"]:
        yield fail(
            "damaged: its bytes have changed since it was written", found["remedy"] or figures.BUILD
        )
    elif found["state"] == "stale":
        behind = ", ".join("%d %s" % (n, what) for what, n in found["behind"].items() if n)
        yield warn("behind the files: " + behind, found["remedy"])
    else:
        yield ok(
            "fresh, %s, generation %s" % (count(found["records"], "record"), found["generation"])
        )


def check_secrets(place: layout.Place) -> Iterator[Finding]:
    """Report the records with secrets, from the index."""
    try:
        found = indexview.open_index(place, watch=False)
    except IndexFault:
        return
    names = [doc.name for doc in found.secrets()]
    found.close()
    if names:
        yield warn(
            "%s: %s" % (count(len(names), "record"), ", ".join(_path(place, n) for n in names[:3])),
            "`dayleaf store check` names the lines; sessions get nothing of these records unasked",
        )


def check_merges(place: layout.Place) -> Iterator[Finding]:
    """Report the shared records that git could not merge."""
    for inner, path in announcements.shared_files(place):
        try:
            data = files.read(path, READ_LIMIT, follow=False)
        except OSError:
            continue
        if frontmatter.unmerged_line(data):
            yield warn(
                "git could not merge %s" % inner,
                "keep the right lines, remove the markers; no session gets it until then",
            )


def check_disk(place: layout.Place) -> Iterator[Finding]:
    """Check that the disk has room, if the system tells."""
    folder = place.home
    while folder and not files.exists(folder):
        folder = folder.rpartition("/")[0]
    if not hasattr(os, "statvfs"):
        return
    found = os.statvfs(folder or "/")
    free = found.f_bavail * found.f_frsize
    said = "{:,} MB free at {}".format(free >> 20, folder or "/")
    verdict = FAIL if free < NONE_LEFT else WARN if free < LITTLE else OK
    yield finding(verdict, said, "" if verdict == OK else "make room: new checkpoints may be lost")


def check_clock(place: layout.Place, found: Sequence[Head], now: float) -> Iterator[Finding]:
    """Check that the clock agrees with the dates of the records."""
    doubt = housekeeping.clock_doubt(place, found, now)
    yield finding(
        WARN if doubt else OK,
        doubt or "agrees with the records",
        "set the clock; until then upkeep archives nothing by age" if doubt else "",
    )


def check_workspace(place: layout.Place) -> Iterator[Finding]:
    """Report a directory that claims a workspace without proof, or may be of another."""
    lost = "" if place.git else layout.lost_checkout(place.root)
    if lost:
        yield warn(
            "the `.git` of this worktree leads to %s, which is gone" % lost,
            "run `git worktree repair %s` in the checkout that was moved" % shlex.quote(place.root),
        )
    if place.claimed:
        yield warn(
            "this directory claims to be %s, but nothing here proves it: its private memory is not "
            "shown, and new records are kept apart" % place.claimed,
            "if it is yours, run `dayleaf store workspace claim` in a terminal",
        )
        return
    offered = adoption.offered(place)
    if offered:
        yield warn(
            "%s, and this repository %s %s, whose memory is not shown here"
            % (place.key, layout.reason_of(place, offered), offered),
            "if it is the same project, run `dayleaf store workspace claim` in a terminal",
        )
    else:
        yield ok(place.key)


def check_python(place: layout.Place, env: dict[str, str]) -> Iterator[Finding]:
    runtime = place.home + "/runtime/bin/python"
    other = "Python %s is used instead" % sys.version.split()[0]
    versions = _versions(runtime, env) if files.exists(runtime) else {}
    if versions:
        yield ok("%s, Python %s" % (runtime, versions[""]))
    elif files.exists(runtime):
        yield fail(
            "%s does not run on this machine; %s" % (runtime, other),
            SETUP + ", or set DAYLEAF_HOME to a folder of this machine's own",
        )
    else:
        yield warn("there is no runtime at %s; %s" % (runtime, other), SETUP)
        yield warn("hooks also run on the system's Python; without PyYAML " + GUESSED, SETUP)
    versions = versions or _versions(sys.executable, env)
    for module, name, effect in PACKAGES:
        if versions.get(module):
            yield ok("%s %s" % (name, versions[module]))
        else:
            yield warn("%s is missing: %s" % (name, effect), SETUP)


def _versions(python: str, env: dict[str, str]) -> dict[str, str]:
    """Return the versions of an interpreter (under "") and its packages."""
    code = """
import json, sys
from importlib import metadata
found = {'': sys.version.split()[0]}
for pair in sys.argv[1:]:
    module, name = pair.split('=')
    try:
        __import__(module)  # one that is there and does not load is as good as missing
    except Exception:
        continue
    try:
        found[module] = metadata.version(name)
    except metadata.PackageNotFoundError:
        found[module] = 'of no known version'
print(json.dumps(found))"""
    try:
        wanted = ["%s=%s" % (module, name) for module, name, _ in PACKAGES]
        done = subprocess.run(
            [python, "-I", "-c", code, *wanted],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=True,
            env={**env, **ALONE},
        )
        value = fastjson.parse(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    return {str(key): str(item) for key, item in value.items()} if isinstance(value, dict) else {}


def check_settings(place: layout.Place, settings: config.Config) -> Iterator[Finding]:
    for problem in settings.problems:
        found, _, remedy = problem.rpartition("; ")
        yield warn(found or problem, remedy if found else "correct the line, or remove it")
    if not settings.problems:
        changed = sum(settings[key] != default for key, default in config.DEFAULTS.items())
        yield ok("%s changed" % count(changed, "setting") if changed else "all at their defaults")
    if not settings["redact.enabled"]:
        yield warn(config.SECRETS_STAY, REDACT)
    for one in accounts.switched_off(place, settings):
        yield warn("pushes: off " + one["where"], one["remedy"])


# ---- the host


def _own_plugins(plugins: object) -> dict[str, object]:
    if not isinstance(plugins, dict):
        return {}
    return {name: on for name, on in plugins.items() if "dayleaf" in name}


def check_hooks(env: dict[str, str]) -> Iterator[Finding]:
    path = transcript.host(env) + "/settings.json"
    try:
        value = fastjson.parse(files.read(path, 1 << 20))
    except FileNotFoundError:
        yield warn("%s does not exist, so no plugin is registered" % path, SETUP)
        return
    except (OSError, ValueError) as error:
        yield warn("%s cannot be read (%s)" % (path, error), "correct it by hand")
        return
    value = value if isinstance(value, dict) else {}
    named = _own_plugins(value.get("enabledPlugins"))
    if value.get("disableAllHooks") is True:
        yield warn(
            "%s has disableAllHooks, so nothing is captured or pushed" % path, "remove that line"
        )
    elif any(named.values()):
        yield ok("%s is enabled in %s" % (next(name for name, on in named.items() if on), path))
    elif named:
        yield warn(
            "%s is switched off in %s" % (next(iter(named)), path), "`/plugin` switches it on"
        )
    else:
        yield warn("%s does not list dayleaf in enabledPlugins" % path, SETUP)


def check_client(place: layout.Place, env: dict[str, str]) -> Iterator[Finding]:
    """Report the features that the last client here lacks.

    Nothing where no transcript tells its version.
    """
    version = _client_of(place, env)
    if not version:
        return
    if not process.which("claude", env):
        said = "claude is not on PATH; Claude Code %s wrote the newest transcript here" % version
        yield ok(said)
        return
    number, own = tuple(map(int, version.split("."))), layout.plugin()
    if number < NO_SHELL and shlex.quote(own) != own:
        said = (
            "Claude Code %s starts hooks through a shell, which cannot read the path "
            "%s, so hooks do not run"
        )
        yield fail(
            said % (version, own), "`claude update`, or move the folder and run install.sh there"
        )
    lacks = [lack for since, lack in SINCE if number < since]
    yield finding(
        WARN if lacks else OK,
        "Claude Code %s%s" % (version, ": " + "; ".join(lacks) if lacks else ""),
        "`claude update`; docs/clients.md has the table" if lacks else "",
    )


def _client_of(place: layout.Place, env: dict[str, str]) -> str:
    """Return the client's version in the newest transcript, or ""."""
    root = transcript.host(env) + "/projects/"
    folders = [
        root + re.sub("[^A-Za-z0-9]", "-", path) + "/" for path in (place.project, place.root)
    ]
    found = [
        transcript.own_transcript(folder + name)
        for folder in folders
        for name in files.list_folder(folder)
        if name.endswith(".jsonl")
    ]
    newest = max(filter(None, found), key=os.path.getmtime, default="")
    if not newest:
        return ""
    with open(newest, "rb") as file:
        file.seek(max(0, os.path.getsize(newest) - TAIL))
        said = [
            str(row["version"])
            for row in fastjson.rows(file.read())
            if row.get("sessionId") and row.get("version")
        ]
    return said[-1] if said and re.fullmatch(r"\d{1,6}(\.\d{1,6}){2}", said[-1], re.A) else ""


def check_models(env: dict[str, str]) -> Iterator[Finding]:
    paths = {name: process.which(name, env) for name in ("claude", "gemini")}
    if not any(paths.values()):
        yield warn("neither claude nor gemini is on PATH: distill quotes the records")
        return
    for name, other in (("claude", "gemini"), ("gemini", "claude")):
        path = paths[name]
        yield finding(
            OK if path or name == "gemini" else WARN,
            "%s: %s" % (name, path)
            if path
            else "%s is not on PATH: distill asks %s" % (name, other),
        )


def check_command(env: dict[str, str]) -> Iterator[Finding]:
    own = layout.plugin() + "/bin/dayleaf"
    path = process.which("dayleaf", env)
    if not path:
        yield warn(
            "dayleaf is not on PATH",
            "%s, or link '%s' into a directory that is on PATH" % (SETUP, own),
        )
    elif os.path.realpath(path) not in map(os.path.realpath, (own, program())):
        yield warn("%s belongs to another copy, not to %s" % (path, own), SETUP)
    else:
        yield ok(path)


def program() -> str:
    """Return the path of the command line."""
    return (
        sys.prefix if files.inside(layout.plugin(), sys.prefix) else layout.plugin()
    ) + "/bin/dayleaf"


def check_shared(place: layout.Place, env: dict[str, str]) -> Iterator[Finding]:
    if not place.shared or not files.is_folder(place.shared):
        yield ok("this project shares no records")
        return
    if not files.inside(place.shared, place.root):
        yield fail(
            "%s leads out of the repository, so it is not read" % place.shared,
            "make it a directory",
        )
        return
    if not place.git:
        yield warn(
            "%s is not in a git repository, so nobody gets it" % place.shared, "`git init`, commit"
        )
        return
    tracked = inspection.git(place, env, "ls-files", "-z", "--", ".dayleaf")
    held = sum(
        name.endswith(".md") and walk.is_regular(stat)
        for name, _, stat in walk.entries_below(place.shared)
    )
    if tracked is None:
        yield warn("git could not list the files in %s" % place.shared, "check that git runs here")
        return
    known = tracked.count(b".md\0")
    if known < held:
        yield warn(
            "%d of %s in %s are in git" % (known, count(held, "record"), place.shared),
            "git ignores the others: remove .dayleaf from .gitignore to share them"
            if inspection.git(place, env, *IGNORED)
            else "git add .dayleaf",
        )
    else:
        yield ok("%s in %s, all in git" % (count(held, "record"), place.shared))
    yield _commit_hook(place)


def _commit_hook(place: layout.Place) -> Finding:
    from memory.project import sharing

    there, command = sharing.commit_hook(place)
    return finding(
        OK if there else WARN,
        "a pre-commit hook checks it for secrets"
        if there
        else "no pre-commit hook checks %s for secrets" % place.shared,
        command,
    )
