"""Checks of everything dayleaf stands on, one verdict each: OK, WARN (works, but less well) or FAIL, with the remedy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from memory import child, clock, config, contexttags, files, jsonio, ledger, paths, plans, status, terminal, upkeep, walk, why
from memory.errors import ProviderError, UsageError
from memory.records import Record
from memory.store import Store

OK, WARN, FAIL = "OK", "WARN", "FAIL"
PACKAGES = (("yaml", "PyYAML", "frontmatter is read line by line"),
            ("rapidfuzz", "RapidFuzz", "misspelt words are not looked for"),
            ("numpy", "NumPy", "large indexes build slower"))
MOST_FILES = 20  # files named one by one
PROBE = 20.0  # seconds for a provider of vectors to answer
RECENT = 7 * clock.DAY
TEMP_AGE = 3600.0
TIMEOUT = 10.0  # seconds for a child


class Check(NamedTuple):
    """One verdict: OK, WARN or FAIL; what was looked at; what was found; what to do ("" where nothing)."""

    verdict: str
    what: str
    found: str
    remedy: str = ""


def examine(place: paths.Place, settings: config.Config, env: dict[str, str], now: float) -> list[Check]:
    """Return every verdict, in a fixed order; what a check cannot do is a WARN of its own, never an error."""
    steps: tuple[tuple[str, Callable[[], Iterator[Check]]], ...] = (
        ("home", lambda: _home(place)), ("python", lambda: _python(place)), ("config", lambda: _config(place, settings)),
        ("records", lambda: _records(place, settings, now)), ("index", lambda: _index(place)),
        ("vectors", lambda: _vectors(place, settings, env)),
        ("log", lambda: _log(place, now)), ("hooks", lambda: _hooks(env)), ("models", lambda: _models(env)),
        ("command", lambda: _command(env)), ("ledgers", lambda: _ledgers(place)), ("temps", lambda: _temps(place, now)),
        ("upkeep", lambda: _upkeep(place, settings, now)), ("shared", lambda: _shared(place, env)))
    found: list[Check] = []
    for what, step in steps:
        try:
            found += step()
        except Exception as error:
            found.append(Check(WARN, what, "could not be checked (%s: %s)" % (type(error).__name__, error), "look at it by hand"))
    return found


def lines(found: list[Check], style: terminal.Style) -> list[str]:
    """Write the verdicts, one a line, and a last line that sums them up."""
    out = []
    for check in found:
        said = terminal.one_line(check.found + ("; " + check.remedy if check.remedy else ""))
        out.append("%s  %s  %s" % (style.verdict(terminal.pad(check.verdict, 4)), terminal.pad(check.what, 8), said))
    counts = {verdict: sum(check.verdict == verdict for check in found) for verdict in (OK, WARN, FAIL)}
    return [*out, "", "%d OK, %d WARN, %d FAIL" % tuple(counts.values())]


# ---- home and runtime

def _home(place: paths.Place) -> Iterator[Check]:
    try:
        stat = os.stat(place.home)
    except FileNotFoundError:
        yield Check(OK, "home", "%s is not there yet; the first record makes it" % place.home)
        return
    mine = not hasattr(os, "geteuid") or stat.st_uid == os.geteuid()
    said = "%s (%04o)" % (place.home, stat.st_mode & 0o777)
    if not files.is_folder(place.home):
        yield Check(FAIL, "home", place.home + " is no directory", "move it away, or set DAYLEAF_HOME")
        return
    if not mine:
        yield Check(FAIL, "home", said + " belongs to another user", "set DAYLEAF_HOME to a directory of your own")
    elif not os.access(place.home, os.W_OK | os.X_OK):
        yield Check(FAIL, "home", said + " cannot be written", "chmod 700 '%s'" % place.home)
    elif stat.st_mode & 0o022:
        yield Check(FAIL, "home", said + " can be written by others", "chmod 700 '%s'" % place.home)
    else:
        yield Check(OK, "home", said)
    open_ones = list(_open_to_others(place))
    if open_ones:
        yield Check(WARN, "home", "%s can be read by others, such as %s" % (terminal.count(len(open_ones), "file"), open_ones[0]),
                    "chmod -R go-rwx '%s'" % place.home)


def _open_to_others(place: paths.Place) -> Iterator[str]:
    """Yield what others may read below the home although the home itself lets them in."""
    if os.name == "nt" or not os.stat(place.home).st_mode & 0o011:
        return
    for folder, folders, names in os.walk(place.home):
        folders[:] = [name for name in folders if folder != place.home or name not in ("runtime", "cache")]
        for name in names:
            path = folder + "/" + name
            if not os.path.islink(path) and os.stat(path).st_mode & 0o044:
                yield path


def _python(place: paths.Place) -> Iterator[Check]:
    runtime = place.home + "/runtime/bin/python"
    if not files.exists(runtime):
        yield Check(WARN, "python", "no runtime at %s; working with Python %s" % (runtime, sys.version.split()[0]),
                    "run install.sh")
        versions = _versions(sys.executable)
    else:
        versions = _versions(runtime)
        yield Check(OK, "python", "%s, Python %s" % (runtime, versions.get("", "?")))
    for module, name, effect in PACKAGES:
        if versions.get(module):
            yield Check(OK, "python", "%s %s" % (name, versions[module]))
        else:
            yield Check(WARN, "python", "%s is missing: %s" % (name, effect), "run install.sh")


def _versions(python: str) -> dict[str, str]:
    """Ask an interpreter for its version (under "") and those of the packages; {} where it does not start."""
    code = """
import json, sys
found = {'': sys.version.split()[0]}
for name in sys.argv[1:]:
    try:
        found[name] = str(getattr(__import__(name), '__version__', '?'))
    except Exception:
        pass
print(json.dumps(found))"""
    try:
        done = subprocess.run([python, "-I", "-c", code, *(module for module, _, _ in PACKAGES)], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT, check=True)
        value = jsonio.parse(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    return {str(key): str(item) for key, item in value.items()} if isinstance(value, dict) else {}


def _config(place: paths.Place, settings: config.Config) -> Iterator[Check]:
    for problem in settings.problems:
        found, _, remedy = problem.rpartition("; ")
        yield Check(WARN, "config", found or problem, remedy if found else "mend it, or remove the line")
    try:
        contexttags.weighted(",".join(map(str, settings["context.tags"])))
    except UsageError as error:
        yield Check(WARN, "config", "context.tags pins nothing: %s" % error, "`dayleaf config set context.tags '[\"name=1.5\"]'`")
    if not settings.problems:
        changed = sum(settings[key] != default for key, default in config.DEFAULTS.items())
        yield Check(OK, "config", "%s not as by default" % terminal.count(changed, "setting") if changed else "all defaults")
    for one in why.switched_off(place, settings):
        yield Check(WARN, "config", "pushes: off " + one["where"], one["remedy"])


# ---- records and index

def _records(place: paths.Place, settings: config.Config, now: float) -> Iterator[Check]:
    store = Store(place, settings, now)
    number = 0
    planned: list[Record] = []
    faulty: list[tuple[str, str]] = []
    for record in store.each():
        number += 1
        planned += [record] if record.active else []
        if record.problems and len(faulty) < MOST_FILES:
            faulty.append((record.name, record.problems[0]))
    yield Check(OK if not store.skipped else WARN, "records",
                "%s readable, %d skipped" % (terminal.count(number, "record"), len(store.skipped)))
    for skipped in store.skipped[:MOST_FILES]:
        line = ":%d" % skipped.line if skipped.line else ""
        yield Check(WARN, "records", "%s%s: %s" % (_path(place, skipped.name), line, skipped.reason), skipped.remedy)
    if len(store.skipped) > MOST_FILES:
        yield Check(WARN, "records", "and %d more are skipped" % (len(store.skipped) - MOST_FILES), "mend those above first")
    for name, problem in faulty:
        said, _, remedy = problem.rpartition("; ")
        yield Check(WARN, "records", "%s: %s" % (_path(place, name), said or problem), remedy if said else "")
    if len(planned) > 1:
        yield Check(WARN, "records", "%d plans are active, the newest (%s) counts" % (
            len(planned), plans.active(planned)[0].id), "`dayleaf plan done ID` ends one")
    for id, names in list(store.duplicates.items())[:MOST_FILES]:
        yield Check(WARN, "records", "the id %s stands in %s" % (id, " and ".join(_path(place, name) for name in names)),
                    "change or remove the line `id:` in one of them")


def _path(place: paths.Place, name: str) -> str:
    try:
        return place.path(name)
    except KeyError:
        return name


def _index(place: paths.Place) -> Iterator[Check]:
    found = status.index_state(place)
    if len(walk.walk(place)[0]) >= walk.MOST:
        yield Check(WARN, "index", "more than %s files; the rest is in no index" % "{:,}".format(walk.MOST),
                    "move old checkpoints to the archive: `dayleaf forget ID`")
    if found["state"] == "missing":
        yield Check(WARN, "index", "none yet; recall reads the files", found["remedy"])
    elif found["state"] == "damaged":
        yield Check(FAIL, "index", "damaged: " + found["why"], found["remedy"])
    elif not found["whole"]:
        yield Check(FAIL, "index", "damaged: its bytes are not those that were written", found["remedy"] or status.BUILD)
    elif found["state"] == "stale":
        behind = ", ".join("%d %s" % (n, what) for what, n in found["behind"].items() if n)
        yield Check(WARN, "index", "behind the files: " + behind, found["remedy"])
    else:
        yield Check(OK, "index", "fresh, %s, generation %s" % (terminal.count(found["records"], "record"), found["generation"]))


def _vectors(place: paths.Place, settings: config.Config, env: dict[str, str]) -> Iterator[Check]:
    """Whether recall can rank by them: silent where nobody asked for any."""
    from memory import embedder, semantic, vectors

    made, provider = vectors.state(place), embedder.from_settings(settings, "", env)
    if provider is None:
        if made["rows"] or settings["recall.semantic"]:
            yield Check(WARN, "vectors", "no provider is set, so words alone rank", semantic.SET_UP)
        return
    try:
        embedder.embed(provider, [("q", "is it there?")], env, PROBE)
    except ProviderError as error:
        yield Check(WARN, "vectors", "%s: %s" % (provider.label, error), semantic.SET_UP)
        return
    if made["problem"] or not made["rows"] or made["label"] != provider.label:
        found = made["problem"] or ("none yet" if not made["rows"] else "those of another model, " + made["label"])
        yield Check(WARN, "vectors", "%s answers; %s" % (provider.label, found), status.EMBED)
    else:
        yield Check(WARN if made["behind"] else OK, "vectors", "%s answers; %s, %s behind" % (
            provider.label, terminal.count(made["records"], "record"), made["behind"]), status.EMBED if made["behind"] else "")


# ---- what happened

def _log(place: paths.Place, now: float) -> Iterator[Check]:
    rows = _json_lines(place.home + "/log/errors.jsonl")[0]
    bugs = sorted(name for name in _listed(place.home + "/log") if name.startswith("bug-"))
    recent = [row for row in rows if now - (clock.parse(str(row.get("t"))) or 0.0) < RECENT]
    if recent:
        last = recent[-1]
        said = " ".join(str(last.get(key) or "") for key in ("t", "where", "error", "detail", "path", "at")).split()
        number = terminal.count(len(recent), "failure")
        yield Check(WARN, "log", "%s in hooks within 7 days, the last: %s" % (number, " ".join(said)),
                    "%s/log/errors.jsonl has them all" % place.home)
    else:
        yield Check(OK, "log", "no failure of a hook within 7 days (%d in all)" % len(rows))
    if bugs:
        number = terminal.count(len(bugs), "fault")
        yield Check(WARN, "log", "%s of dayleaf's own, the last in %s/log/%s" % (number, place.home, bugs[-1]),
                    "report it, then delete the file")


def _json_lines(path: str) -> tuple[list[dict[str, Any]], int]:
    """Return (the objects of a JSONL file, how many lines are none); an absent file has neither.  Raises OSError."""
    try:
        data = files.read(path, 16 << 20)
    except FileNotFoundError:
        return [], 0
    rows, torn = [], 0
    for line in data.split(b"\n"):
        try:
            row = jsonio.parse(line) if line.strip() else {}
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows += [row] if row else []
        else:
            torn += 1
    return rows, torn


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


# ---- the host

def _hooks(env: dict[str, str]) -> Iterator[Check]:
    home = env.get("CLAUDE_CONFIG_DIR") or (env.get("HOME") or env.get("USERPROFILE") or "") + "/.claude"
    path = home + "/settings.json"
    try:
        value = jsonio.parse(files.read(path, 1 << 20))
    except FileNotFoundError:
        yield Check(WARN, "hooks", "%s is not there: no plugin is registered" % path, "run install.sh")
        return
    except (OSError, ValueError) as error:
        yield Check(WARN, "hooks", "%s cannot be read (%s)" % (path, error), "mend it by hand")
        return
    value = value if isinstance(value, dict) else {}
    plugins = value.get("enabledPlugins")
    named = {name: on for name, on in plugins.items() if "dayleaf" in name} if isinstance(plugins, dict) else {}
    if value.get("disableAllHooks") is True:
        yield Check(WARN, "hooks", "%s has disableAllHooks: nothing is captured or pushed" % path, "remove that line")
    elif any(named.values()):
        yield Check(OK, "hooks", "%s is enabled in %s" % (next(name for name, on in named.items() if on), path))
    elif named:
        yield Check(WARN, "hooks", "%s is switched off in %s" % (next(iter(named)), path), "`/plugin` switches it on")
    else:
        yield Check(WARN, "hooks", "%s does not name dayleaf among its enabledPlugins" % path, "run install.sh")


def _models(env: dict[str, str]) -> Iterator[Check]:
    for name, otherwise in (("claude", "distill asks gemini, or quotes the records"), ("gemini", "distill does without it")):
        path = child.which(name, env)
        verdict = OK if path or name == "gemini" else WARN
        yield Check(verdict, "models", "%s: %s" % (name, path) if path else "%s is not on PATH: %s" % (name, otherwise))


def _command(env: dict[str, str]) -> Iterator[Check]:
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/bin/dayleaf"
    path = child.which("dayleaf", env)
    if not path:
        yield Check(WARN, "command", "dayleaf is not on PATH", "run install.sh, or link '%s' into a directory of PATH" % own)
    elif os.path.realpath(path) != os.path.realpath(own):
        yield Check(WARN, "command", "%s is not of this copy (%s)" % (path, own), "run install.sh")
    else:
        yield Check(OK, "command", path)


# ---- ledgers, leftovers, the shared tier

def _ledgers(place: paths.Place) -> Iterator[Check]:
    for name in ("trust.jsonl", "spend.jsonl"):
        path = place.home + "/" + name
        try:
            rows, torn = _json_lines(path)
        except OSError as error:
            yield Check(FAIL, "ledgers", "%s cannot be read (%s)" % (path, error.strerror), "chmod 600 '%s'" % path)
            continue
        if files.exists(path) and os.name != "nt" and os.stat(path).st_mode & 0o022:
            yield Check(FAIL, "ledgers", "%s can be written by others: nothing in it counts" % path, "chmod 600 '%s'" % path)
        elif torn:
            yield Check(WARN, "ledgers", "%s has %s that cannot be read" % (path, terminal.count(torn, "line")),
                        "remove them by hand")
        else:
            yield Check(OK, "ledgers", "%s: %s" % (name, terminal.count(len(rows), "line")))
    for each in ledger.ledgers(place):
        yield from _outcomes(each)


def _outcomes(each: ledger.Ledger) -> Iterator[Check]:
    """What a ledger of uses and outcomes holds: silent where there is none yet."""
    if not files.exists(each.path):
        return
    if not os.access(each.path, os.R_OK | os.W_OK):
        yield Check(FAIL, "ledgers", "%s cannot be read and written: no use counts" % each.path, "chmod 600 '%s'" % each.path)
        return
    found = ledger.whole(each)
    if found.passed:
        yield Check(WARN, "ledgers", "%s has %s of a newer version, passed over" % (
            each.path, terminal.count(found.passed, "line")), "update dayleaf; they are kept")
    if found.torn:
        yield Check(WARN, "ledgers", "%s has %s that cannot be read" % (each.path, terminal.count(found.torn, "line")),
                    "remove them by hand")
    yield Check(OK, "ledgers", "%s: uses and outcomes of %s" % (each.path, terminal.count(len(found.rows), "record")))


def _temps(place: paths.Place, now: float) -> Iterator[Check]:
    left = []
    for _, root in [*place.tiers(), ("", place.cache)]:
        for folder, _, names in os.walk(root):
            left += [folder + "/" + name for name in names if name.startswith(files.TEMP) and _old(folder + "/" + name, now)]
    if left:
        number = terminal.count(len(left), "temporary file")
        yield Check(WARN, "temps", "%s of writers that were killed, such as %s" % (number, left[0]), "delete them")
    else:
        yield Check(OK, "temps", "no temporary files are left")


def _old(path: str, now: float) -> bool:
    try:
        return now - os.stat(path).st_mtime > TEMP_AGE
    except OSError:
        return False


def _upkeep(place: paths.Place, settings: config.Config, now: float) -> Iterator[Check]:
    found = upkeep.plan(Store(place, settings, now), {})
    said = upkeep.due(found)
    yield Check(WARN if said else OK, "upkeep", said or "not due (%s)" % terminal.count(len(found.changes), "change"),
                upkeep.LOOK if said else "")


def _shared(place: paths.Place, env: dict[str, str]) -> Iterator[Check]:
    if not place.shared or not files.is_folder(place.shared):
        yield Check(OK, "shared", "this project shares no records")
        return
    if not files.inside(place.shared, place.root):
        yield Check(FAIL, "shared", "%s leads out of the repository: it is not read" % place.shared, "make it a directory")
        return
    if not place.git:
        yield Check(WARN, "shared", "%s is not in a git repository: nobody gets it" % place.shared, "git init, then commit it")
        return
    tracked = _git(place, env, "ls-files", "-z", "--", ".dayleaf")
    held = sum(1 for _, _, names in os.walk(place.shared) for name in names if name.endswith(".md"))
    if tracked is None:
        yield Check(WARN, "shared", "git did not answer about %s" % place.shared, "check that git runs here")
        return
    known = tracked.count(b".md\0")
    if known < held:
        yield Check(WARN, "shared", "%d of %s in %s are in git" % (known, terminal.count(held, "record"), place.shared),
                    "git add .dayleaf, unless a .gitignore leaves it out on purpose")
    else:
        yield Check(OK, "shared", "%s in %s, all in git" % (terminal.count(held, "record"), place.shared))


def _git(place: paths.Place, env: dict[str, str], *words: str) -> bytes | None:
    """Ask git without letting the repository's own configuration run anything; None where it fails."""
    clean = {key: value for key, value in env.items() if not key.startswith("GIT_")}
    argv = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
            "-C", place.root, *words]
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, env=clean, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
