"""Answer a question from records: from the cache, by the first provider of a chain that gives a
sound answer, or by the extract.

The chain `auto` is claude, gemini, extract; a named provider is followed by extract.  A step that
is skipped, declined or fails leaves a note that says why.  A model's answer is a draft:
modelcall.py asks for it, verdict.py says which of its bullets stand.  With none the next step
answers; NONE is an answer: the records do not tell.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Callable, Mapping, Sequence

from memory.core import ProviderError, UsageError, boundary
from memory.distill import cache, spend
from memory.distill.digests import NO_RECORD, Digest, Source, Step, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.config import Config
    from memory.distill import modelcall, providers

CHAINS = {
    "auto": ("claude", "gemini"),
    "claude": ("claude",),
    "gemini": ("gemini",),
    "ollama": ("ollama",),
    "command": ("command",),
    "extract": (),
    "none": (),
}
LEAST_TOKENS = 50  # of a digest: below, no bullet with its citation fits
QUESTION_CHARS = 20_000
KEPT = "kept from an earlier call"


def distill(
    question: str,
    sources: Sequence[Source],
    config: Config,
    env: Mapping[str, str],
    home: str,
    cache_dir: str,
    now: float,
    provider: str | None = None,
    max_tokens: int | None = None,
    use_cache: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Digest:
    """Return the answer of the first sound step of the chain.

    sources: best first, with checksums. config: `distill.*` and `redact.*`. cache_dir: the
        workspace's directory of derived files. provider, max_tokens:
        in place of the configured ones. progress: called with one line before each wait. Raises
        UsageError for an unknown provider, a budget below LEAST_TOKENS or a question over
        QUESTION_CHARS.
    """
    chosen = provider or str(config["distill.provider"])
    budget = checked_call(question, chosen, config, max_tokens)
    if not sources:
        return Digest((), "extract", 0, 0, False, (NO_RECORD,))
    folder = cache.folder_of(cache_dir) if use_cache and config["distill.cache"] else ""
    job: modelcall.Job | None = None
    steps: list[Step] = []
    made: list[str] = []
    for name in (*CHAINS[chosen], "extract"):
        key = cache.digest_key(
            question, sources, config, name, _model(config, name, chosen), budget
        )
        digest = cache.kept_digest(folder, key, now) if folder else None
        outcome = KEPT if digest else "answered"
        try:
            if not digest:
                _need(name, config, env)
                if not job:
                    from memory.distill import modelcall

                    safe = _safe(sources, config, os.path.basename(cache_dir.rstrip("/")))
                    tell = progress or (lambda line: None)
                    job = modelcall.Job(
                        clean(question), safe, config, env, home, now, budget, tell, made
                    )
                digest = _answer(job, name, _model(config, name, chosen))
                if folder and digest.bullets:
                    cache.keep_digest(folder, key, now, digest)
        except ProviderError as error:
            steps.append(Step(name, str(error)))
            continue
        notes = ("%s %s" % (step.provider, step.outcome) for step in steps)
        return dataclasses.replace(
            digest,
            notes=(*notes, *digest.notes),
            steps=(*steps, Step(name, outcome)),
            calls=len(made),
        )
    raise AssertionError("the chain ends with extract")


def as_cached(digest: Digest) -> Digest:
    """Return a digest marked as cached."""
    return dataclasses.replace(
        digest, cached=True, calls=0, steps=(*digest.steps[:-1], Step(digest.provider, KEPT))
    )


def checked_call(question: str, chosen: str, config: Config, max_tokens: int | None) -> int:
    """Check a call and return its budget in tokens.

    chosen: the provider's name. max_tokens: in place of the configured number. Raises UsageError.
    """
    if chosen not in CHAINS:
        raise UsageError("unknown provider '%s'; use one of %s" % (chosen, ", ".join(CHAINS)))
    budget = spend.integer(config["distill.maxTokens"]) if max_tokens is None else max_tokens
    if budget < LEAST_TOKENS:
        raise UsageError(
            "the budget must be at least %d tokens, not %d; set %s"
            % (LEAST_TOKENS, budget, "distill.maxTokens" if max_tokens is None else "--max-tokens")
        )
    if len(question) > QUESTION_CHARS:
        raise UsageError(
            "the question has {:,} characters, but may have only {:,}; keep long material as a "
            "record and ask about it".format(len(question), QUESTION_CHARS)
        )
    return budget


def _answer(job: modelcall.Job, name: str, model: str) -> Digest:
    if name == "extract":
        from memory.distill import extract

        return extract.extract(job.question, job.sources, job.budget, True)
    from memory.distill import modelcall

    return modelcall.ask_provider(job, _provider(name, job.config), model)


def _model(config: Config, name: str, chosen: str) -> str:
    """Return the configured model, "" if unfit for the provider."""
    model = str(config["distill.model"])
    fits = chosen != "auto" or (name == "gemini") == model.startswith("gemini")
    return model if fits and name != "extract" else ""


def _safe(sources: Sequence[Source], config: Config, salt: str) -> list[Source]:
    """Return the sources without secrets."""
    from memory.store import redactor

    allow = config["redact.allow"]
    allowed = [str(item) for item in allow] if isinstance(allow, (list, tuple)) else []

    def safe(value: str) -> str:
        # Private passages are no matter of taste; `redact` knows a tag that is talked about from
        # one that is used.
        return clean(
            redactor.redact(value, allowed, salt).text
            if config["redact.enabled"]
            else redactor.strip_private(value)
        )

    return [
        dataclasses.replace(
            s, title=safe(s.title), body=safe(s.body), turns=tuple(map(safe, s.turns))
        )
        for s in sources
    ]


# --- Asking a model -------------------------------------------------------------------------------


def _provider(name: str, config: Config) -> providers.Provider:
    from memory.distill import providers

    return providers.named(name, config["distill.command"])


def _need(name: str, config: Config, env: Mapping[str, str]) -> None:
    """Raise ProviderError where a step cannot be taken."""
    if name == "extract":
        return
    reason = (
        "this runs inside a model call by dayleaf"
        if env.get(boundary.NESTED)
        else _provider(name, config).available(env)
    )
    if reason:
        raise ProviderError("skipped: " + reason)
