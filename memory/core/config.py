"""Settings: every key with its default, and where each value came from.

Schema, version 1.  `~/.dayleaf/config.json` (the user's) and `<repository>/.dayleaf/config.json`
(the project's) hold one JSON object; `{"load": {"top": 5}}` and `{"load.top": 5}` mean the same.
Order of precedence, first wins:

    DAYLEAF_LOAD_TOP=5              environment (the key in upper case, dots as underscores; none of
                                    HELD in a session)
    CLAUDE_PLUGIN_OPTION_LOAD_TOP   the plugin's options in the client
    project file                    may only narrow: switch a push off, lower a number; never a
                                    command, a path, redaction
    user file
    DEFAULTS below
"""

from __future__ import annotations

from memory.core import fastjson, files, layout
from memory.core.boundary import is_agent, is_typed_by_person

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from memory.core.layout import Place

    Values = Dict[str, Any]

DEFAULTS: Values = {
    "capture.enabled": True,  # let the hooks write checkpoints
    # all, or `listed`: where you said `dayleaf push on mine`
    "capture.projects": "all",
    # keep what was said in a session, turn by turn
    "capture.conversations": True,
    # keep standing wishes as rules that wait for review
    "capture.wishes": True,
    "load.enabled": True,  # push anything at all
    "load.session": True,  # the brief at session start
    "load.prompt": True,  # learnings and passages with a prompt
    # what earlier sessions said: off | careful | full (more often, less sure)
    "load.push": "careful",
    "load.walls": True,  # the remedy at a call that failed before
    "load.subagents": True,  # notes with a subagent's prompt
    "load.top": 6,  # at most this many learnings with a prompt
    "recall.semantic": False,  # always use vectors, as `--semantic` does
    "recall.rerank": "factor",  # how recency and context count: factor | weighted | none
    # auto | claude | gemini | ollama | command | extract (`none` means extract)
    "distill.provider": "auto",
    "distill.model": "",  # "" leaves it to the provider
    # provider `command`: reads the prompt on stdin, answers on stdout
    "distill.command": [],
    "distill.maxTokens": 500,  # tokens of a digest, 50 or more
    "distill.timeout": 30,  # seconds for a model's call
    "distill.cache": True,  # keep a digest for a day
    "distill.dailyCalls": 50,  # calls of models a day; after that, the extract
    # who writes a note of each session: off | claude | gemini | ollama | command
    "notes.provider": "off",
    "notes.model": "",  # "" leaves it to the provider
    "notes.dailyCalls": 40,  # notes a day
    # makes vectors: a local command, `minilm` (built in), "" for none
    "embeddings.provider.command": "",
    "embeddings.provider.args": [],  # arguments of that command
    "embeddings.modelLabel": "",  # its model; a new name makes all vectors again
    "index.backend": "local",  # local | postgres: ask a database too
    # the database's connection string, without a password
    "index.dsn": "",
    "redact.enabled": True,  # remove secrets before writing
    "redact.allow": [],  # exact strings that may stay
    # folders that recall reads too (`dayleaf store tier add`); a project may add its own
    "tiers": [],
    "upkeep.expireDays": 90,  # days; upkeep archives older automatic checkpoints
    # days; upkeep archives older conversations; 0 keeps them
    "upkeep.conversationDays": 365,
    "mcp": False,  # Claude Code starts `dayleaf mcp` in each session
    "runtime.auto": True,  # set up a missing runtime in the background
}

# What a project's file may say; each only narrows what the user allowed.
PROJECT_KEYS = (
    "capture.enabled capture.conversations capture.wishes load.enabled load.session load.prompt "
    "load.push load.walls load.subagents load.top distill.maxTokens notes.provider"
).split()
# What names a program, lets a model be asked or lets secrets through: the user's file alone says
# it, or their own environment.
USER_ONLY_KEYS = (
    "distill.provider distill.model distill.command notes.provider notes.model "
    "embeddings.provider.command embeddings.provider.args embeddings.modelLabel redact.enabled "
    "redact.allow index.backend index.dsn tiers"
).split()
SECRETS_STAY = "redact.enabled is false: secrets are kept as they are"
UNREAD = "unread"  # source of what a file that cannot be read switches off
WORKSPACE = "workspace"  # source of what the user said of one project
PAST = "past"  # the same of a workspace that this project may have had before
OFF = "off"
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", OFF)
# Words that a setting takes; of PROJECT_KEYS each is more than the one before.
CHOICES = {
    "capture.projects": ("listed", "all"),
    "distill.provider": ("auto", "claude", "gemini", "ollama", "command", "extract", "none"),
    "load.push": (OFF, "careful", "full"),
    "notes.provider": (OFF, "claude", "gemini", "ollama", "command"),
    "index.backend": ("local", "postgres"),
    "recall.rerank": ("factor", "weighted", "none"),
}
# What a wrong value is read as: this, else the first of CHOICES, else false.
SAFE_VALUES = {"distill.provider": "extract", "redact.enabled": True}
LIMITS = {  # the least and the most of a number
    "load.top": (0, 50),
    "distill.maxTokens": (50, 100_000),
    "distill.timeout": (1, 3600),
    "distill.dailyCalls": (0, 100_000),
    "notes.dailyCalls": (0, 100_000),
    "upkeep.expireDays": (1, 36_500),
    "upkeep.conversationDays": (0, 36_500),
}
# Settings of older versions: the present one, and its value for each of the old ones.
RENAMED_KEYS = {"load.passages": ("load.push", {False: "off", True: "careful"})}
# Settings of older versions that do nothing now.
DROPPED_KEYS = frozenset(
    (
        "capture.lessons capture.stopAfter capture.summarise "
        "load.resume load.allCount load.allTokens load.passageRelevance "
        "load.indexCount load.indexTokens load.promptChars load.sessionChars "
        "load.briefTokens load.greeting load.routes load.relevance "
        "load.recent context.derive recall.limit recall.minSimilarity "
        "recall.without distill.dailyTokens notes.timeout embeddings.timeout "
        "embeddings.scripts index.private context.tags load.rules"
    ).split()
)


class Config:
    """Settings by key, with their sources and the problems found.

    masked: whether records read with them are shown without secrets and private parts.
    """

    def __init__(self, values: Values, sources: Dict[str, str], problems: List[str]):
        self.values, self.sources, self.problems = values, sources, problems
        self.masked = False

    def __getitem__(self, key: str) -> Any:
        return self.values[key]


def load_for_place(place: Place, env: Dict[str, str]) -> Config:
    """Return the settings of user, project, repository and environment."""
    past = "" if files.exists(place.private + "/config.json") else layout.find_unproved(place)
    past = past and place.home + "/workspaces/" + past
    return load(place.home, place.root, env, place.private, past)


def load(
    home: str, repository: str, env: Dict[str, str], private: str = "", past: str = ""
) -> Config:
    """Return the settings in force.

    repository: root of the project's checkout, or "".  private: the workspace's own directory,
    whose `config.json` is what its user said of this project alone (`dayleaf push off mine`).
    past: of the workspace that this project may have been, whose file only narrows.  A broken
    file or an unknown key is a line in `problems`, never an error; while what it may say of
    capture is unknown, nothing is captured.
    """
    config = Config(dict(DEFAULTS), dict.fromkeys(DEFAULTS, "default"), [])
    clear = _merge_file(config, home + "/config.json", "user")
    if private:
        clear &= _merge_file(config, private + "/config.json", WORKSPACE)
    is_listed = config.sources["capture.enabled"] == WORKSPACE
    if past:
        clear &= _merge_file(config, past + "/config.json", PAST)
    projects = config.values["capture.projects"]
    if repository and repository + "/.dayleaf" != home:
        clear &= _merge_file(config, repository + "/.dayleaf/config.json", "project")
    agent = is_agent(env)  # a repository's settings may fill a session's environment
    _add_variables(config, env, agent)
    if not is_listed and "listed" in (projects, config.values["capture.projects"]):
        config.values["capture.enabled"] = False
        config.sources["capture.enabled"] = "capture.projects"
    if not clear:
        config.values.update({"capture.enabled": False, "notes.provider": OFF})
        config.sources.update({"capture.enabled": UNREAD, "notes.provider": UNREAD})
    if agent and not is_typed_by_person(env) and config.sources["distill.provider"] == "default":
        # A session's model asks, so nothing leaves the machine that its user did not name.
        config.values["distill.provider"] = "extract"
        config.sources["distill.provider"] = "session"
    return config


def flatten(value: Values, prefix: str = "") -> Values:
    """Return nested settings as one object with dotted keys.

    A key of DEFAULTS keeps its object.
    """
    flat: Values = {}
    for key, item in value.items():
        if isinstance(item, dict) and prefix + key not in DEFAULTS:
            flat.update(flatten(item, prefix + key + "."))
        else:
            flat[prefix + key] = item
    return flat


def _add_variables(config: Config, env: Dict[str, str], agent: bool) -> None:
    """Add the environment's settings; in a session none of USER_ONLY_KEYS."""
    for key in DEFAULTS:
        name = key.upper().replace(".", "_")
        for prefix, source in (
            ("CLAUDE_PLUGIN_OPTION_", "plugin option"),
            ("DAYLEAF_", "environment"),
        ):
            variable = prefix + name
            if variable not in env:
                continue
            if agent and key in USER_ONLY_KEYS:
                config.problems.append(
                    "%s: in a session only your own config sets '%s'; use `dayleaf "
                    "config set` in a terminal" % (variable, key)
                )
            else:
                _set(config, key, parse_value(env[variable], DEFAULTS[key]), source, variable)


def _merge_file(config: Config, path: str, source: str) -> bool:
    """Add a file's settings; return False if those of capture are unclear."""
    value = _read_settings(config, path)
    if value is None:
        return False
    clear = True
    for key, item in flatten(value).items():
        if key in RENAMED_KEYS and isinstance(item, bool):
            key, item = RENAMED_KEYS[key][0], RENAMED_KEYS[key][1][item]
        if key in DROPPED_KEYS:
            config.problems.append("%s: '%s' does nothing now; take it out" % (path, key))
        elif key not in DEFAULTS:
            meant = key.startswith("capture")
            clear = clear and not meant
            config.problems.append(
                "%s: unknown key '%s'; %s`dayleaf config list` names the valid ones"
                % (path, key, "capture and notes are off until it is mended; " if meant else "")
            )
        elif _may_set(source, key):
            _set(config, key, item, source, path)
        elif source != PAST:
            config.problems.append(
                "%s: '%s' may only be set in your own config; the %s's is ignored"
                % (path, key, source)
            )
    return clear


def _read_settings(config: Config, path: str) -> Dict[str, Any] | None:
    """Return a file's settings, {} where absent, None where unreadable."""
    try:
        value = fastjson.parse(files.read(path, 1 << 18))
        if not isinstance(value, dict):
            raise ValueError("not an object")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        wanted = "it is one JSON object" if isinstance(error, ValueError) else "you may read it"
        why = getattr(error, "strerror", error)
        config.problems.append("%s: %s; capture and notes are off until %s" % (path, why, wanted))
        return None
    return value


def _may_set(source: str, key: str) -> bool:
    if source not in ("project", WORKSPACE, PAST) or key in PROJECT_KEYS:
        return True
    return (source, key) == (WORKSPACE, "tiers")


def _set(config: Config, key: str, item: Any, source: str, where: str) -> None:
    """Set a key to what it may have from this source; note what is wrong."""
    wrong = find_fault(key, item)
    if wrong:
        item = _safe_value(key)
        read_as = "" if item is None else " (read as %s)" % fastjson.dump(item)
        config.problems.append("%s: %s%s" % (where, wrong, read_as))
        if item is None:
            return
    if key == "notes.provider" and source in ("project", WORKSPACE) and item != OFF:
        config.problems.append(
            "%s: '%s' can only be switched off here; `dayleaf notes on` switches it on for you"
            % (where, key)
        )
        return
    if source in ("project", PAST):
        item = _pick_narrower(key, config.values[key], item)
    if source == PAST and item == config.values[key]:
        return
    if source == WORKSPACE and isinstance(DEFAULTS[key], list):
        item = config.values[key] + item
    config.values[key] = item
    config.sources[key] = WORKSPACE if source == PAST else source


def _safe_value(key: str) -> Any:
    """Return what a faulty setting is read as, None to ignore it."""
    if isinstance(DEFAULTS[key], bool) or key in CHOICES:
        return SAFE_VALUES.get(key, CHOICES.get(key, (False,))[0])
    return None


def _pick_narrower(key: str, now: Any, item: Any) -> Any:
    if isinstance(DEFAULTS[key], bool):
        return now and item
    return min(now, item, key=CHOICES[key].index if key in CHOICES else None)


def find_fault(key: str, item: Any) -> str:
    """Return the fault of a setting's value, "" for an allowed value."""
    default = DEFAULTS[key]
    if key in CHOICES:
        takes = "'%s' takes one of %s" % (key, ", ".join(CHOICES[key]))
        return "" if item in CHOICES[key] else takes
    if key in LIMITS:
        least, most = LIMITS[key]
        fits = isinstance(item, int) and not isinstance(item, bool) and least <= item <= most
        return "" if fits else "'%s' takes a whole number from %d to %d" % (key, least, most)
    if isinstance(item, type(default)):
        return ""
    kind = {bool: "true or false", str: "text", list: "a list"}[type(default)]
    such = "" if isinstance(default, bool) else ", such as " + fastjson.dump(default)
    return "'%s' takes %s%s" % (key, kind, such)


def parse_value(text: str, default: Any) -> Any:
    """Read a setting's value from text.

    Text that does not fit the default's type stays as it is.
    """
    if isinstance(default, bool):
        word = text.strip().lower()
        return True if word in _YES else False if word in _NO else text
    if isinstance(default, str):
        return text
    try:
        return fastjson.parse(text)
    except ValueError:
        return text
