"""Answer a question from records by a chain of providers, with a cache.

The chain `auto` is claude, gemini, extract; a named provider is followed by extract.  A skip,
refusal or failure leaves a note.  A model's answer is a draft: modelcall.py asks for it, verdict.py
rejects unproven bullets.  Without a proven one the next step answers; NONE is an answer: the
records do not tell.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Callable, Mapping, Sequence

from memory.core import ProviderError, UsageError, boundary
from memory.distill import cache
from memory.distill.digests import NO_RECORD, ChainStep, Digest, Source, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.config import Config
    from memory.distill import modelcall

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
FROM_CACHE = "kept from an earlier call"


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
    progress: Callable[[str], None] = lambda line: None,
) -> Digest:
    """Return the digest of the chain's first step with an answer.

    sources: best first, with checksums. progress: called with a line before each wait. Raises
    UsageError as `validate_call` does.
    """
    chosen = provider or str(config["distill.provider"])
    budget = validate_call(question, chosen, config, max_tokens)
    if not sources:
        return Digest((), "extract", 0, 0, notes=(NO_RECORD,))
    folder = cache.digests_folder(cache_dir) if use_cache and config["distill.cache"] else ""
    steps: list[ChainStep] = []
    made: list[str] = []

    @functools.cache
    def make_job() -> modelcall.Job:
        from memory.distill import modelcall

        safe = _redact_sources(sources, config, os.path.basename(cache_dir.rstrip("/")))
        return modelcall.Job(clean(question), safe, config, env, home, now, budget, progress, made)

    for name in (*CHAINS[chosen], "extract"):
        model = _choose_model(config, name, chosen)
        key = cache.digest_key(question, sources, config, name, model, budget)
        digest = cache.read_digest(folder, key, now)
        outcome = FROM_CACHE if digest else "answered"
        if not digest:
            try:
                digest = _take_step(make_job, name, model, config, env)
            except ProviderError as error:
                steps.append(ChainStep(name, str(error)))
                continue
            if digest.bullets:
                cache.write_digest(folder, key, now, digest)
        notes = ("%s %s" % (step.provider, step.outcome) for step in steps)
        return dataclasses.replace(
            digest,
            notes=(*notes, *digest.notes),
            steps=(*steps, ChainStep(name, outcome)),
            calls=len(made),
        )
    raise AssertionError("the chain ends with extract")


def mark_cached(digest: Digest) -> Digest:
    """Return a digest marked as one from the cache."""
    return dataclasses.replace(
        digest,
        cached=True,
        calls=0,
        steps=(*digest.steps[:-1], ChainStep(digest.provider, FROM_CACHE)),
    )


def validate_call(question: str, chosen: str, config: Config, max_tokens: int | None) -> int:
    """Validate a call and return its budget in tokens; raises UsageError."""
    if chosen not in CHAINS:
        raise UsageError("unknown provider '%s'; use one of %s" % (chosen, ", ".join(CHAINS)))
    budget = int(config["distill.maxTokens"]) if max_tokens is None else max_tokens
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


def _take_step(
    make_job: Callable[[], modelcall.Job],
    name: str,
    model: str,
    config: Config,
    env: Mapping[str, str],
) -> Digest:
    """Return a step's digest; raises ProviderError for a skip or failure."""
    if name == "extract":
        from memory.distill import extract

        job = make_job()
        return extract.extract(job.question, job.sources, job.budget, True)
    from memory.distill import modelcall, providers

    provider = providers.load_provider(name, config["distill.command"])
    reason = provider.available(env)
    if env.get(boundary.NESTED):
        reason = "this runs inside a model call by dayleaf"
    if reason:
        raise ProviderError("skipped: " + reason)
    return modelcall.ask_provider(make_job(), provider, model)


def _choose_model(config: Config, name: str, chosen: str) -> str:
    """Return the configured model, "" if it is another provider's."""
    model = str(config["distill.model"])
    is_of_gemini = model.startswith("gemini")
    fits = chosen != "auto" or is_of_gemini == (name == "gemini")
    return model if fits and name != "extract" else ""


def _redact_sources(sources: Sequence[Source], config: Config, salt: str) -> list[Source]:
    from memory.store import redactor

    def redact(text: str) -> str:
        if config["redact.enabled"]:
            return clean(redactor.redact(text, config["redact.allow"], salt).text)
        return clean(redactor.strip_private(text))  # private passages go all the same

    return [
        dataclasses.replace(
            source,
            title=redact(source.title),
            body=redact(source.body),
            turns=tuple(map(redact, source.turns)),
        )
        for source in sources
    ]
