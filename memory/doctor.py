"""Checks of everything dayleaf stands on, one verdict each: OK, WARN (works, but less well) or FAIL, with the remedy."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Callable

from memory import checkup, child, config, contexttags, files, incidents, jsonio, paths, terminal, why
from memory.checkup import FAIL, OK, WARN, Check
from memory.errors import UsageError
from memory.store import Store

PACKAGES = (("yaml", "PyYAML", "frontmatter is read line by line"),
            ("rapidfuzz", "RapidFuzz", "misspelt words are not looked for"),
            ("numpy", "NumPy", "large indexes build slower"))
TIMEOUT = 10.0  # seconds for a child


def examine(place: paths.Place, settings: config.Config, env: dict[str, str], now: float) -> list[Check]:
    """Return every verdict, in a fixed order; what a check cannot do is a WARN of its own, never an error."""
    store = Store(place, settings, now)
    every = functools.cache(lambda: list(store.each()))  # three of the checks look at all records
    steps: tuple[tuple[str, Callable[[], Iterator[Check]]], ...] = (
        ("home", lambda: checkup.home(place)), ("disk", lambda: checkup.disk(place)), ("python", lambda: _python(place)),
        ("config", lambda: _config(place, settings)), ("records", lambda: checkup.records(store, every())),
        ("clock", lambda: checkup.clock_of(every(), now)), ("handoff", lambda: checkup.handed(place, now)),
        ("index", lambda: checkup.index(place)), ("vectors", lambda: checkup.vectors(place, settings, env)),
        ("log", lambda: incidents.log(place, now)), ("captures", lambda: incidents.captures(place, env, now)),
        ("receipts", lambda: incidents.logs(place)), ("hooks", lambda: _hooks(env)), ("models", lambda: _models(env)),
        ("command", lambda: _command(env)), ("ledgers", lambda: incidents.ledgers(place)),
        ("ledgers", lambda: incidents.torn(place)), ("journal", lambda: incidents.undoing(place)),
        ("temps", lambda: incidents.temps(place, now)), ("upkeep", lambda: checkup.upkeep_of(store, every())),
        ("shared", lambda: _shared(place, env)))
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
