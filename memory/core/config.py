"""Settings: every key with its default, and where each value came from.

Schema, version 1.  `~/.dayleaf/config.json` (the user's) and `<repository>/.dayleaf/config.json` (the project's) hold one
JSON object; `{"load": {"top": 5}}` and `{"load.top": 5}` mean the same.  Order of precedence, first wins:

    DAYLEAF_LOAD_TOP=5              environment (the key in upper case, dots as underscores; none of HELD in a session)
    CLAUDE_PLUGIN_OPTION_LOAD_TOP   the plugin's options in the client
    project file                    may only narrow: switch a push off, lower a number; never a command, a path, redaction
    user file
    DEFAULTS below
"""

from __future__ import annotations

from memory.core import fastjson, files
from memory.core.boundary import is_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from memory.core.layout import Place

    Values = Dict[str, Any]

DEFAULTS: Values = {
    "capture.enabled": True,  # write checkpoints from the hooks
    "capture.projects": "all",  # all, or listed: only projects where you said `dayleaf on --mine`
    "capture.stopAfter": 8,  # Stop writes only after this many new edits, commands and prompts
    "capture.conversations": True,  # keep what was said in a session, turn by turn, beside its checkpoints
    "capture.lessons": True,  # make candidates of failures whose cause somebody named
    "capture.summarise": False,  # let a model reword a checkpoint; off: no hook ever calls a model
    "load.enabled": True,  # any push at all
    "load.session": True,  # the brief at session start
    "load.prompt": True,  # learnings and passages with a prompt
    "load.passages": True,  # passages of checkpoints and conversations with a prompt
    "load.walls": True,  # the remedy beside a failed call that an earlier session met
    "load.subagents": True,  # what a subagent's prompt is given
    "load.rules": True,  # approved rules
    "load.resume": True,  # the brief again on resume, where it changed
    "load.allCount": 10,  # load_all up to this many learnings ...
    "load.allTokens": 5000,  # ... and below this many tokens
    "load.indexCount": 30,  # index_filter up to this many ...
    "load.indexTokens": 15000,  # ... and up to this many tokens; topic_filter beyond
    "load.top": 6,  # learnings a prompt may get
    "load.promptChars": 2500,  # UTF-16 units a prompt's block may hold
    "load.sessionChars": 9500,  # UTF-16 units the brief may hold; the host cuts above 10,000
    "load.briefTokens": 1000,  # of the brief, learnings in full apart; a handoff, a plan and rules stand whatever they take
    "load.greeting": True,  # one line for the user at a start: where the work stands
    "load.routes": [],  # "category: word word …": words that route a prompt to a category of topics in large stores (hooks.md)
    "load.relevance": 1.2,  # what a learning must score for a prompt
    "load.passageRelevance": 0.55,  # what a passage must score for a prompt
    "load.recent": 0,  # learnings for a first prompt that matches nothing
    "context.derive": True,  # context tags from the project's manifests and its branch
    "context.tags": [],  # "name" or "name=weight": context tags that always count
    "recall.limit": 10,  # hits
    "recall.semantic": False,  # rank with vectors too, as `--semantic` does
    "recall.minSimilarity": -1.0,  # cosine below which vectors find nothing; below 0: what is right for the model
    "recall.without": [],  # what is left out of a score: recency frequency context outcomes version tags latest date source fuzzy
    "recall.rerank": "factor",  # how recency and context count: factor | weighted | none
    "distill.provider": "auto",  # auto | claude | gemini | ollama | command | extract, or none for it
    "distill.model": "",  # name of the model that a provider is asked for; "" for its own choice
    "distill.command": [],  # argv of provider `command`: prompt on stdin, answer on stdout
    "distill.maxTokens": 500,  # tokens of a digest, 50 or more
    "distill.timeout": 30,  # seconds for one call of a model
    "distill.cache": True,  # keep a digest for a day
    "distill.dailyCalls": 50,  # calls of models a day; beyond them, extract
    "distill.dailyTokens": 500000,  # tokens of them a day
    "embeddings.provider.command": "",  # a local command that makes vectors, `minilm` for the built-in one, "" for none
    "embeddings.provider.args": [],  # its arguments
    "embeddings.modelLabel": "",  # name of its model; another label is embedded anew
    "embeddings.timeout": 60.0,  # seconds for one process of it
    "embeddings.scripts": "auto",  # auto | latin | all: the writing its model knows
    "index.backend": "local",  # local | postgres: a database is asked beside the index of the files
    "index.dsn": "",  # its connection string, without a password; "" for a server of one's own
    "index.private": False,  # load the private and the global tier into it too; always so for a server of one's own
    "redact.enabled": True,  # take secrets out before writing
    "redact.allow": [],  # exact strings that may stay
    "tiers": [],  # folders of markdown that recall reads too (`dayleaf tier add`); those of one project are added to these
    "upkeep.expireDays": 90,  # automatic checkpoints older than this many days leave for the archive, by upkeep
    "upkeep.conversationDays": 365,  # conversations older than this many days, too; 0 keeps them for ever
    "mcp": False,  # Claude Code starts `dayleaf mcp` in each session
    "runtime.auto": True,  # set up the runtime in the background where it is missing
}

# What a project's file may say; each only narrows what the user allowed.
PROJECT_KEYS = (
    "capture.enabled", "capture.conversations", "capture.lessons", "load.enabled", "load.session", "load.prompt", "load.passages",
    "load.walls", "load.subagents", "load.rules", "load.resume", "load.top", "load.promptChars", "load.sessionChars",
    "load.briefTokens", "load.greeting", "load.recent", "context.derive", "recall.limit", "distill.maxTokens",
)
# What names a program, lets a model be asked or lets secrets through: the user's file alone says it, or their own environment.
HELD = ("capture.summarise", "distill.provider", "distill.model", "distill.command", "embeddings.provider.command",
        "embeddings.provider.args", "embeddings.modelLabel", "redact.enabled", "redact.allow", "index.backend", "index.dsn",
        "index.private", "tiers")
WORKSPACE = "workspace"  # source of what the user said of one project
CEILING = {"load.sessionChars": 9500, "load.promptChars": 9500}


class Config:
    """Values by key, the source of each, and one line for each thing that was wrong."""

    __slots__ = ("problems", "sources", "values")

    def __init__(self, values: Values, sources: Dict[str, str], problems: List[str]):
        self.values, self.sources, self.problems = values, sources, problems

    def __getitem__(self, key: str) -> Any:
        return self.values[key]


def of(place: Place, env: Dict[str, str]) -> Config:
    """Read the settings in force in a place: the user's, what they said of this project, the repository's, the environment's."""
    return load(place.home, place.root, env, place.private)


def load(home: str, repository: str, env: Dict[str, str], private: str = "") -> Config:
    """Read the settings in force.

    home: dayleaf's directory; repository: root of the project's checkout, or "" for none; env: the environment; private: the
    workspace's own directory, whose `config.json` is what its user said of this project alone (`dayleaf off --mine`).
    A broken file or an unknown key is a line in `problems`, never an error.
    """
    config = Config(dict(DEFAULTS), dict.fromkeys(DEFAULTS, "default"), [])
    _merge(config, home + "/config.json", "user")
    if private:
        _merge(config, private + "/config.json", WORKSPACE)
    if config.values["capture.projects"] == "listed" and config.sources["capture.enabled"] != WORKSPACE:
        config.values["capture.enabled"], config.sources["capture.enabled"] = False, "capture.projects"
    if repository and repository + "/.dayleaf" != home:
        _merge(config, repository + "/.dayleaf/config.json", "project")
    agent = is_agent(env)  # a repository's settings may fill a session's environment
    for key in DEFAULTS:
        name = key.upper().replace(".", "_")
        for prefix, source in (("CLAUDE_PLUGIN_OPTION_", "plugin option"), ("DAYLEAF_", "environment")):
            if prefix + name in env and agent and key in HELD:
                config.problems.append("%s: in a session only your own config sets '%s'; `dayleaf config set` in a terminal does"
                                       % (prefix + name, key))
            elif prefix + name in env:
                _set(config, key, _from_text(env[prefix + name], DEFAULTS[key]), source, prefix + name)
    for key, most in CEILING.items():
        config.values[key] = min(config.values[key], most)
    return config


def flatten(value: Values, prefix: str = "") -> Values:
    """Turn nested objects into dotted keys; a key of DEFAULTS keeps its object."""
    flat: Values = {}
    for key, item in value.items():
        if isinstance(item, dict) and prefix + key not in DEFAULTS:
            flat.update(flatten(item, prefix + key + "."))
        else:
            flat[prefix + key] = item
    return flat


def _merge(config: Config, path: str, source: str) -> None:
    try:
        data = files.read(path, 1 << 18)
    except OSError as error:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            config.problems.append("%s: %s; mend its permissions" % (path, error.strerror))
        return
    try:
        value = fastjson.parse(data)
        if not isinstance(value, dict):
            raise ValueError("not an object")
    except ValueError as error:
        config.problems.append("%s: %s; it is ignored until it is one JSON object" % (path, error))
        return
    for key, item in flatten(value).items():
        if key not in DEFAULTS:
            config.problems.append("%s: unknown key '%s'; `dayleaf config list` names the valid ones" % (path, key))
        elif source in ("project", WORKSPACE) and key not in PROJECT_KEYS and (source, key) != (WORKSPACE, "tiers"):
            config.problems.append("%s: '%s' may only be set in your own config; the %s's is ignored" % (path, key, source))
        else:
            _set(config, key, item, source, path)


def _set(config: Config, key: str, item: Any, source: str, where: str) -> None:
    default = DEFAULTS[key]
    fits = (isinstance(item, bool) if isinstance(default, bool)
            else isinstance(item, int) and not isinstance(item, bool) if isinstance(default, int)
            else isinstance(item, (int, float)) and not isinstance(item, bool) if isinstance(default, float)
            else isinstance(item, type(default)))
    if not fits or (isinstance(item, (int, float)) and not 0 <= item < 1e9):
        kind = "true or false" if isinstance(default, bool) else "text" if isinstance(default, str) else (
            "a list" if isinstance(default, list) else "a number")
        config.problems.append("%s: '%s' wants %s, such as %s" % (where, key, kind, fastjson.dump(default)))
        return
    if source == "project":
        now = config.values[key]
        item = (now and item) if isinstance(default, bool) else min(now, item)
    if source == WORKSPACE and isinstance(default, list):
        item = config.values[key] + item
    config.values[key] = item
    config.sources[key] = source


def _from_text(text: str, default: Any) -> Any:
    """Read a value that arrived as text; what does not fit comes back as the text, which `_set` then names."""
    if isinstance(default, bool):
        return {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False,
                "off": False, "": False}.get(text.strip().lower(), text)
    if isinstance(default, str):
        return text
    try:
        return fastjson.parse(text)
    except ValueError:
        return text
