"""Question and records to a digest: cache, provider chain, prompt, checks of the answer, extract.

The chain `auto` is claude, gemini, extract; a named provider is followed by extract.  A step that is skipped, declined
or fails leaves a note that says why.  A model's answer is a draft: a bullet stays only if it cites a record that was
given, and if every path, identifier, option, number of two and more digits, hash and quoted piece of code in it stands
in the records.  With fewer than two such bullets the next step answers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from typing import Callable, Mapping, Sequence

from memory import answer, extract, hookio, kept, prompts, providers, redact, spend, text
from memory.digest import Bullet, Digest, Source, clean, compose, count_sources
from memory.errors import ProviderError, UsageError

CHAINS = {"auto": ("claude", "gemini"), "claude": ("claude",), "gemini": ("gemini",), "ollama": ("ollama",),
          "command": ("command",), "extract": ()}
ENOUGH = 2  # bullets below which an answer is no answer


@dataclasses.dataclass(frozen=True)
class _Job:
    question: str
    sources: Sequence[Source]
    config: spend.Caps
    env: Mapping[str, str]
    home: str
    now: float
    budget: int
    progress: Callable[[str], None]


def distill(question: str, sources: Sequence[Source], config: spend.Caps, env: Mapping[str, str], home: str,
            cache_dir: str, now: float, provider: str | None = None, max_tokens: int | None = None,
            use_cache: bool = True, progress: Callable[[str], None] | None = None) -> Digest:
    """Answer a question from records, by the first step of the provider chain that gives a sound answer.

    sources: best first, with checksums.  config: `distill.*` and `redact.*`.  cache_dir: the workspace's directory of
    derived files.  now: seconds since the epoch.  provider, max_tokens: in place of the configured ones.  progress:
    called with one line before each wait.  Raises UsageError for an unknown provider or a budget below 1.
    """
    chosen = provider or str(config["distill.provider"])
    if chosen not in CHAINS:
        raise UsageError("unknown provider '%s'; use one of %s" % (chosen, ", ".join(CHAINS)))
    budget = _whole(config["distill.maxTokens"]) if max_tokens is None else max_tokens
    if budget < 1:
        raise UsageError("the budget must be at least 1 token, not %d; set --max-tokens or distill.maxTokens" % budget)
    if not sources:
        return Digest((), "extract", 0, 0, False, ("no record to distil",))
    folder = cache_dir + "/digests" if use_cache and config["distill.cache"] else ""
    keys = {name: kept.key(question, sources, config, name, _model(config, name, chosen), budget)
            for name in (*CHAINS[chosen], "extract")}
    safe: list[Source] = []
    notes: list[str] = []
    for name, key in keys.items():
        found = kept.find(folder, key, now) if folder else None
        if found:
            return dataclasses.replace(found, cached=True, notes=(*notes, *found.notes))
        absent = name != "extract" and _absent(name, config, env)
        if absent:
            notes.append("%s skipped: %s" % (name, absent))
            continue
        safe = safe or _safe(sources, config, os.path.basename(cache_dir.rstrip("/")))
        job = _Job(clean(question), safe, config, env, home, now, budget, progress or (lambda line: None))
        try:
            digest = (extract.extract(question, safe, budget) if name == "extract"
                      else _ask(job, name, _model(config, name, chosen)))
        except ProviderError as error:
            notes.append("%s %s" % (name, error))
            continue
        if folder and digest.bullets:
            kept.keep(folder, key, now, digest)
        return dataclasses.replace(digest, notes=(*notes, *digest.notes))
    raise AssertionError("the chain ends with extract")


def forget(cache_dir: str) -> int:
    """Delete a workspace's kept digests and return how many there were: after a redaction none may survive."""
    return kept.prune(cache_dir + "/digests", None)


def _whole(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) else 0


def _model(config: spend.Caps, name: str, chosen: str) -> str:
    """The configured model, where it can be meant for a provider: in the chain `auto` one name cannot fit two."""
    model = str(config["distill.model"])
    fits = chosen != "auto" or (name == "gemini") == model.startswith("gemini")
    return model if fits and name != "extract" else ""


def _safe(sources: Sequence[Source], config: spend.Caps, salt: str) -> list[Source]:
    """The sources without secrets: a hand edit never went through the store's redaction."""
    allow = config["redact.allow"]
    allowed = [str(item) for item in allow] if isinstance(allow, (list, tuple)) else []

    def safe(value: str) -> str:
        # Private passages are no matter of taste; `redact` knows a tag that is talked about from one that is used.
        return clean(redact.redact(value, allowed, salt).text if config["redact.enabled"]
                             else redact.strip_private(value))

    return [dataclasses.replace(s, title=safe(s.title), body=safe(s.body)) for s in sources]


# --- Asking a model ---------------------------------------------------------------------------------------------------

def _provider(name: str, config: spend.Caps) -> providers.Provider:
    if name == "command":
        argv = config["distill.command"]
        return providers.Command(argv if isinstance(argv, (list, tuple)) else ())
    made: dict[str, Callable[[], providers.Provider]] = {
        "claude": providers.Claude, "gemini": providers.Gemini, "ollama": providers.Ollama}
    return made[name]()


def _absent(name: str, config: spend.Caps, env: Mapping[str, str]) -> str:
    """Return "" where a provider could be asked, else why not."""
    if env.get(hookio.NESTED):
        return "this is a model call of dayleaf's own"
    return _provider(name, config).available(env)


def _ask(job: _Job, name: str, model: str) -> Digest:
    """One step of the chain: admission, call, ledger line, checks.  Raises ProviderError."""
    step = _provider(name, job.config)
    prompt, notes = prompts.build(job.question, job.sources, job.budget)
    planned = text.count_tokens(prompts.SYSTEM) + text.count_tokens(prompt) + job.budget
    reason = spend.allowed(job.home, job.config, job.now, planned)
    if reason:
        raise ProviderError("skipped: " + reason)
    with spend.slot(job.home, job.config, job.now, planned) as declined:
        if declined:
            raise ProviderError("declined: " + declined)
        job.progress("asking %s%s" % (name, " (%s)" % model if model else ""))
        bullets, cuts = _call(job, step, prompt, model, planned)
    return Digest(bullets, name, count_sources(job.sources), text.count_tokens(compose(bullets)), False,
                  (*notes, *("%s: %s" % (name, cut) for cut in cuts)))


def _call(job: _Job, step: providers.Provider, prompt: str, model: str, planned: int) -> tuple[tuple[Bullet, ...], list[str]]:
    """Call and check; the ledger gets its line whatever happens in between."""
    said, why = providers.Answer("", model), "interrupted"
    timeout = job.config["distill.timeout"]
    try:
        said = step.complete(prompt, prompts.SYSTEM, float(timeout) if isinstance(timeout, (int, float)) else 30.0, job.env,
                               model)
        bullets, cuts = answer.check(said.text, job.sources, job.budget)
        why = "" if len(bullets) >= ENOUGH else "unsound"
    except ProviderError as error:
        why = str(getattr(error, "why", "failed"))
        said = getattr(error, "answer", None) or said
        raise ProviderError("failed: %s" % error) from None
    finally:
        with contextlib.suppress(OSError):
            spend.record(job.home, job.now, step.name, said.model or model, said.tokens_in, said.tokens_out,
                         said.cost, why, planned)
    if why:
        raise ProviderError("failed: %d sound bullets (%s)" % (len(bullets), "; ".join(cuts) or "no list"))
    return bullets, cuts
