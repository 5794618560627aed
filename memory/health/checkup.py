"""Doctor's checks of the present state: home, Python, settings, records, index, host, tiers."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from memory.core import IndexFault, config, fastjson, files, frontmatter, layout, walk
from memory.core.plaintext import format_count
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
    record_path,
    warn,
)
from memory.hook import announcements, indexview
from memory.index.kept import Head
from memory.knowledge import housekeeping
from memory.notes import generation
from memory.session import transcript
from memory.store import conversations, process
from memory.store.store import Store

REDACT = "`dayleaf config set redact.enabled true` removes them again"
SETUP = "run " + shlex.quote(layout.plugin_folder() + "/install.sh")
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
# one thread to import NumPy saves a third of the child's time
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
TAIL_BYTES = 256 << 10  # bytes of a transcript's end
VERSION_SECONDS = 5.0  # that `claude --version` may take
FIRST_WITHOUT_SHELL = (2, 1, 139)  # the first client that starts hooks without a shell
# what a client older than each version lacks
LACKING = (
    ((2, 1, 112), "older than the oldest version that takes the plugin (2.1.112)"),
    ((2, 1, 116), "each slash command costs a request to the model"),
)


def check_home(place: layout.Place) -> Iterator[Finding]:
    """Check the owner and permissions of dayleaf's directory."""
    try:
        stat = os.stat(place.home)
    except FileNotFoundError:
        yield ok("%s does not exist yet; the first record creates it" % place.home)
        return
    mine = not hasattr(os, "geteuid") or stat.st_uid == os.geteuid()
    shown = "%s (%04o)" % (place.home, stat.st_mode & 0o777)
    if not files.is_folder(place.home):
        yield fail(place.home + " is not a directory", "move it away, or set DAYLEAF_HOME")
        return
    if not mine:
        remedy = "set DAYLEAF_HOME to a directory of your own"
        yield fail(shown + " belongs to another user", remedy)
    elif not os.access(place.home, os.W_OK | os.X_OK):
        yield fail(shown + " cannot be written", "chmod 700 '%s'" % place.home)
    elif stat.st_mode & 0o022:
        yield fail(shown + " can be written by others", "chmod 700 '%s'" % place.home)
    else:
        yield ok(shown)
    exposed = list(find_open_files(place))
    if exposed:
        number = format_count(len(exposed), "file")
        what = "%s can be read by others, such as %s" % (number, exposed[0])
        yield warn(what, "`dayleaf doctor --fix` closes them")


def find_open_files(place: layout.Place) -> Iterator[str]:
    """Yield the files that other users can reach and read."""
    if os.name != "nt" and os.stat(place.home).st_mode & 0o011:
        yield from find_files_with_mode(place, 0o044)


def find_files_with_mode(place: layout.Place, bits: int) -> Iterator[str]:
    """Yield the home's files that have one of the permission bits."""
    for _, path, stat in walk.walk_entries(
        place.home, lambda name: name not in ("runtime", "cache")
    ):
        if walk.is_regular(stat) and stat.st_mode & bits:
            yield path


def _report_skipped_files(store: Store) -> Iterator[Finding]:
    for skipped in store.skipped[:MOST_FILES]:
        path = record_path(store.place, skipped.name)
        yield warn(skipped.reason, skipped.remedy, path, skipped.line)
    left = len(store.skipped) - MOST_FILES
    if left > 0:
        yield warn("and %d more are skipped" % left, "mend the ones above first")


def check_records(store: Store, found: Sequence[Head]) -> Iterator[Finding]:
    """Report faulty and skipped records, several active plans, and equal ids."""
    place = store.place
    plans = sorted(
        (head for head in found if head.active), key=lambda plan: (-plan.created, plan.name)
    )
    faulty = [(head.name, head.problems[0]) for head in found if head.problems]
    number = format_count(len(found), "record")
    severity = WARN if store.skipped else OK
    yield finding(severity, "%s readable, %d skipped" % (number, len(store.skipped)))
    yield from _report_skipped_files(store)
    for name, problem in faulty[:MOST_FILES]:
        what, _, remedy = problem.rpartition("; ")
        yield warn(what or problem, remedy if what else "", record_path(place, name))
    if len(plans) > 1:
        what = "%d plans are active; the newest (%s) is used" % (len(plans), plans[0].id)
        yield warn(what, "`dayleaf plan done ID` ends one")
    for id, names in list(store.duplicates.items())[:MOST_FILES]:
        paths = " and ".join(record_path(place, name) for name in names)
        remedy = "change or remove the line `id:` in one of them"
        yield warn("%s is the id of %s" % (id, paths), remedy)


def check_conversations(store: Store, found: Sequence[Head]) -> Iterator[Finding]:
    """Report the number of conversations, and those edited by hand."""
    talks = [record for record in found if record.kind == conversations.KIND]
    summary = format_count(len(talks), "conversation") + " kept"
    changed = sum(record.rewritten for record in talks)
    if changed:
        summary += ", %d edited by hand, which dayleaf no longer changes" % changed
    if not store.config["capture.conversations"]:
        source = store.config.sources["capture.conversations"]
        yield ok("capture.conversations is off (%s), so no new ones; %s" % (source, summary))
    elif talks:
        yield ok(summary)


def check_notes(store: Store, found: Sequence[Head]) -> Iterator[Finding]:
    """Report the number of notes, and of the items that were dropped."""
    names = [record.name for record in found if record.kind == generation.KIND]
    dropped = generation.count_dropped(store.each_by(store.read, names))
    if names:
        yield ok("%s; %s" % (format_count(len(names), "note"), generation.format_dropped(dropped)))


def check_index(place: layout.Place, walked: walk.Listing) -> Iterator[Finding]:
    """Check that the index exists and is whole and fresh."""
    index = figures.read_index_state(place, walked)
    if len(walked.found) >= walk.MOST_FILES:
        what = "more than {:,} files; the rest are not indexed".format(walk.MOST_FILES)
        yield warn(what, "move old checkpoints to the archive: `dayleaf record forget ID`")
    state, remedy = index["state"], index["remedy"]
    if state == "missing":
        yield warn("none yet; recall reads the files", remedy)
    elif state == "damaged":
        yield fail("damaged: " + index["why"], remedy)
    elif not index["whole"]:
        what = "damaged: its bytes have changed since it was written"
        yield fail(what, remedy or figures.BUILD)
    elif state == "stale":
        behind = ", ".join("%d %s" % (n, kind) for kind, n in index["behind"].items() if n)
        yield warn("behind the files: " + behind, remedy)
    else:
        number = format_count(index["records"], "record")
        yield ok("fresh, %s, generation %s" % (number, index["generation"]))


def check_secrets(place: layout.Place) -> Iterator[Finding]:
    try:
        index = indexview.open_index(place, watch=False)
    except IndexFault:
        return
    names = [doc.name for doc in index.secrets()]
    index.close()
    if names:
        paths = ", ".join(record_path(place, name) for name in names[:3])
        yield warn(
            "%s: %s" % (format_count(len(names), "record"), paths),
            "`dayleaf store check` names the lines; sessions get nothing of these records unasked",
        )


def check_merges(place: layout.Place) -> Iterator[Finding]:
    for inner, path in announcements.list_shared_records(place):
        try:
            data = files.read(path, READ_LIMIT, follow=False)
        except OSError:
            continue
        if frontmatter.find_merge_marker(data):
            yield warn(
                "git could not merge %s" % inner,
                "keep the right lines, remove the markers; no session gets it until then",
            )


def check_disk(place: layout.Place) -> Iterator[Finding]:
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
    doubt = housekeeping.find_clock_doubt(place, found, now)
    ahead = [head.name for head in found if housekeeping.is_recorded_ahead(head, now)]
    if doubt:
        yield warn(doubt, "set the clock; until then upkeep archives nothing by age")
    elif ahead:
        yield warn(
            "%s of work dated ahead of it: %s" % (format_count(len(ahead), "record"), ahead[0]),
            "correct `created` there, or `dayleaf record forget` it; briefs have it last",
        )
    else:
        yield ok("agrees with the records")


def check_workspace(place: layout.Place) -> Iterator[Finding]:
    """Report a workspace claimed without proof, or one that may belong here."""
    lost = "" if place.git else layout.find_lost_checkout(place.root)
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
    offered = layout.find_unproved(place)
    if offered:
        yield warn(
            "%s, and this repository %s %s, whose memory is not shown here"
            % (place.key, layout.explain_relation(place, offered), offered),
            "if it is the same project, run `dayleaf store workspace claim` in a terminal",
        )
    else:
        yield ok(place.key)


def check_python(place: layout.Place, env: dict[str, str]) -> Iterator[Finding]:
    runtime = place.home + "/runtime/bin/python"
    other = "Python %s is used instead" % sys.version.split()[0]
    versions = _read_versions(runtime, env) if files.exists(runtime) else {}
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
    versions = versions or _read_versions(sys.executable, env)
    for module, name, effect in PACKAGES:
        if versions.get(module):
            yield ok("%s %s" % (name, versions[module]))
        else:
            yield warn("%s is missing: %s" % (name, effect), SETUP)


def _read_versions(python: str, env: dict[str, str]) -> dict[str, str]:
    """Return the versions of an interpreter (under "") and its packages."""
    code = """
import json, sys
from importlib import metadata
found = {'': sys.version.split()[0]}
for pair in sys.argv[1:]:
    module, name = pair.split('=')
    try:
        __import__(module)  # a package that does not load counts as missing
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
            env={**env, **ONE_THREAD},
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
        yield ok(
            "%s changed" % format_count(changed, "setting") if changed else "all at their defaults"
        )
    if not settings["redact.enabled"]:
        yield warn(config.SECRETS_STAY, REDACT)
    for row in accounts.find_disabled_pushes(place, settings):
        yield warn("pushes: off " + row["where"], row["remedy"])


# ---- the host


def check_hooks(env: dict[str, str]) -> Iterator[Finding]:
    path = transcript.find_host_folder(env) + "/settings.json"
    try:
        value = fastjson.parse(files.read(path, 1 << 20))
    except FileNotFoundError:
        yield warn("%s does not exist, so no plugin is registered" % path, SETUP)
        return
    except (OSError, ValueError) as error:
        yield warn("%s cannot be read (%s)" % (path, error), "correct it by hand")
        return
    value = value if isinstance(value, dict) else {}
    plugins = value.get("enabledPlugins")
    plugins = plugins if isinstance(plugins, dict) else {}
    named = {name: is_on for name, is_on in plugins.items() if "dayleaf" in name}
    if value.get("disableAllHooks") is True:
        yield warn(
            "%s has disableAllHooks, so nothing is captured or pushed" % path, "remove that line"
        )
    elif any(named.values()):
        name = next(name for name, is_on in named.items() if is_on)
        yield ok("%s is enabled in %s" % (name, path))
    elif named:
        what = "%s is switched off in %s" % (next(iter(named)), path)
        yield warn(what, "`/plugin` switches it on")
    else:
        yield warn("%s does not list dayleaf in enabledPlugins" % path, SETUP)


def check_client(place: layout.Place, env: dict[str, str]) -> Iterator[Finding]:
    """Report the features that the client on PATH lacks, else the last one here."""
    program = process.which("claude", env)
    version = _ask_client_version(program, env) or _read_client_version(place, env)
    own = layout.plugin_folder()
    if shlex.quote(own) != own:
        yield from _check_plugin_path(own, version)
    if not version:
        return
    if not program:
        yield ok("claude is not on PATH; Claude Code %s wrote the newest transcript here" % version)
        return
    number = _parse_version(version)
    lacks = "; ".join(lack for since, lack in LACKING if number < since)
    if lacks:
        what = "Claude Code %s: %s" % (version, lacks)
        yield warn(what, "`claude update`")
    else:
        yield ok("Claude Code " + version)


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _check_plugin_path(own: str, version: str) -> Iterator[Finding]:
    """Report a path that an older client's shell cannot read; version: "" for unknown."""
    remedy = "`claude update`, or move the folder and run install.sh there"
    what = "starts hooks through a shell, which cannot read the path %s, so hooks do not run" % own
    if not version:
        first = ".".join(map(str, FIRST_WITHOUT_SHELL))
        yield warn("Claude Code before %s %s" % (first, what), remedy)
    elif _parse_version(version) < FIRST_WITHOUT_SHELL:
        yield fail("Claude Code %s %s" % (version, what), remedy)


def _ask_client_version(program: str, env: dict[str, str]) -> str:
    """Return what `claude --version` tells, or ""."""
    printed = b""
    with suppress(OSError, ValueError):
        argv = [program, "--version"]
        printed = process.run(argv, b"", VERSION_SECONDS, env, "", 1000).out if program else b""
    found = re.match(r"\d{1,6}(\.\d{1,6}){2}(?!\S)", printed.decode("utf-8", "replace"), re.A)
    return found[0] if found else ""


def _read_client_version(place: layout.Place, env: dict[str, str]) -> str:
    """Return the client's version in the newest transcript, or ""."""
    root = transcript.find_host_folder(env) + "/projects/"
    found = []
    for project in (place.project, place.root):
        folder = root + re.sub("[^A-Za-z0-9]", "-", project) + "/"
        names = [name for name in files.list_folder(folder) if name.endswith(".jsonl")]
        found += [transcript.validate_listed_path(folder + name) for name in names]
    newest = max(filter(None, found), key=os.path.getmtime, default="")
    if not newest:
        return ""
    with open(newest, "rb") as file:
        file.seek(max(0, os.path.getsize(newest) - TAIL_BYTES))
        rows = [row for row in fastjson.parse_rows(file.read()) if row.get("sessionId")]
    version = next((str(row["version"]) for row in reversed(rows) if row.get("version")), "")
    return version if re.fullmatch(r"\d{1,6}(\.\d{1,6}){2}", version, re.A) else ""


def check_models(env: dict[str, str]) -> Iterator[Finding]:
    paths = {name: process.which(name, env) for name in ("claude", "gemini")}
    if not any(paths.values()):
        yield warn("neither claude nor gemini is on PATH: distill quotes the records")
        return
    for name, other, severity in (("claude", "gemini", WARN), ("gemini", "claude", OK)):
        if paths[name]:
            yield ok("%s: %s" % (name, paths[name]))
        else:
            yield finding(severity, "%s is not on PATH: distill asks %s" % (name, other))


def check_command(env: dict[str, str]) -> Iterator[Finding]:
    own = layout.plugin_folder() + "/bin/dayleaf"
    path = process.which("dayleaf", env)
    if not path:
        yield warn(
            "dayleaf is not on PATH",
            "%s, or link '%s' into a directory that is on PATH" % (SETUP, own),
        )
    elif os.path.realpath(path) not in map(os.path.realpath, (own, program_path())):
        yield warn("%s belongs to another copy, not to %s" % (path, own), SETUP)
    else:
        yield ok(path)


def program_path() -> str:
    own = layout.plugin_folder()
    return (sys.prefix if files.is_inside(own, sys.prefix) else own) + "/bin/dayleaf"


def check_git(place: layout.Place, env: dict[str, str]) -> Iterator[Finding]:
    """Report a git that does not run, in a repository."""
    from memory.store import safegit

    fault = safegit.find_fault(env) if place.git else ""
    if fault:
        yield warn(
            "git does not run here (%s), so nobody tells what is committed and by whom" % fault,
            "see what `git version` says, and mend or install git",
        )


def check_shared(place: layout.Place, env: dict[str, str]) -> Iterator[Finding]:
    if not place.shared or not files.is_folder(place.shared):
        yield ok("this project shares no records")
        return
    if not files.is_inside(place.shared, place.root):
        yield fail(
            "%s leads out of the repository, so it is not read" % place.shared,
            "make it a directory",
        )
        return
    if not place.git:
        what = "%s is not in a git repository, so nobody gets it" % place.shared
        yield warn(what, "`git init`, commit")
        return
    tracked = inspection.run_git(place, env, "ls-files", "-z", "--", ".dayleaf")
    if tracked is None:
        yield warn("git could not list the files in %s" % place.shared, "check that git runs here")
        return
    number = sum(
        name.endswith(".md") and walk.is_regular(stat)
        for name, _, stat in walk.walk_entries(place.shared)
    )
    in_git, records = tracked.count(b".md\0"), format_count(number, "record")
    if in_git < number:
        remedy = "git add .dayleaf"
        if inspection.run_git(place, env, *IGNORED):
            remedy = "git ignores the others: remove .dayleaf from .gitignore to share them"
        yield warn("%d of %s in %s are in git" % (in_git, records, place.shared), remedy)
    else:
        yield ok("%s in %s, all in git" % (records, place.shared))
    yield _check_commit_hook(place)


def _check_commit_hook(place: layout.Place) -> Finding:
    from memory.project import sharing

    there, command = sharing.find_commit_hook(place)
    if there:
        return ok("a pre-commit hook checks it for secrets", command)
    return warn("no pre-commit hook checks %s for secrets" % place.shared, command)
