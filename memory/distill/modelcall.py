"""One provider's answer, in one call that is admitted, logged and checked.

Of more records than a prompt holds (prompts.PROMPT_CHARS characters) those that rank lowest are
left out, and a note says how many.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Callable, Mapping, Sequence

from memory.core import ProviderError, tokeniser
from memory.distill import prompts, providers, spend, verdict
from memory.distill.digests import Bullet, Checked, Digest, Source, compose, count_sources, nearest

if TYPE_CHECKING:
    from memory.core.config import Config


@dataclasses.dataclass(frozen=True)
class Job:
    """A question, and what every step of its chain is given.

    sources: best first, without secrets. now: seconds since the epoch. budget: tokens of the
        digest. progress: called with one line before each wait. made: names the calls made so far.
    """

    question: str
    sources: Sequence[Source]
    config: Config
    env: Mapping[str, str]
    home: str
    now: float
    budget: int
    progress: Callable[[str], None]
    made: list[str] = dataclasses.field(default_factory=list)


def ask_provider(job: Job, step: providers.Provider, model: str) -> Digest:
    """Return a provider's checked answer.

    Raises ProviderError with the outcome (`skipped: …`, `failed: …`).
    """
    sources = fitting(job.sources)
    prompt = prompts.build(job.question, sources, job.budget)
    plan = job.budget + sum(map(tokeniser.count_tokens, (prompts.SYSTEM, prompt)))
    reason = spend.allowed(job.home, job.config, job.now, plan)
    if reason:
        raise ProviderError("skipped: " + reason)
    job.progress("asking %s%s" % (step.name, " (%s)" % model if model else ""))
    bullets, checked = _call(job, step, model, prompt, sources, plan)
    notes = ["%s: %s" % (step.name, note) for note in verdict.notes(checked)]
    if len(sources) < len(job.sources):
        notes.insert(
            0,
            "%s read the best %d of %d records: no more fit into a prompt"
            % (step.name, len(sources), len(job.sources)),
        )
    return Digest(
        bullets,
        step.name,
        count_sources(job.sources),
        tokeniser.count_tokens(compose(bullets)),
        False,
        tuple(notes),
        checked,
        nearest=() if bullets else nearest(job.sources),
    )


def fitting(sources: Sequence[Source]) -> list[Source]:
    """Return the best sources that fit into a prompt, the last cut.

    sources: best first.
    """
    room = prompts.PROMPT_CHARS
    found: list[Source] = []
    for source in sources:
        if room <= 0:
            break
        found.append(dataclasses.replace(source, body=source.body[:room]))
        room -= len(source.body)
    return found


def _call(
    job: Job,
    step: providers.Provider,
    model: str,
    prompt: str,
    sources: Sequence[Source],
    plan: int,
) -> tuple[tuple[Bullet, ...], Checked]:
    """Admit, make, log and check one call.

    The ledger gets its line whatever happens. Raises ProviderError.
    """
    with spend.slot(job.home, job.config, job.now, plan) as declined:
        if declined:
            raise ProviderError("declined: " + declined)
        job.made.append(step.name)
        said, why = providers.Answer("", model), "interrupted"
        timeout = job.config["distill.timeout"]
        try:
            seconds = float(timeout) if isinstance(timeout, (int, float)) else 30.0
            said = step.complete(providers.Request(prompt, prompts.SYSTEM, seconds, job.env, model))
            bullets, checked = verdict.check(said.text, sources, job.budget)
            nothing = said.text.strip().strip(".`*") == prompts.NONE
            why = "" if bullets or nothing else "unsound"
        except ProviderError as error:
            why = str(getattr(error, "why", "failed"))
            said = getattr(error, "answer", None) or said
            raise ProviderError("failed: %s" % error) from None
        finally:
            with contextlib.suppress(OSError):
                spend.record(
                    job.home,
                    job.now,
                    step.name,
                    said.model or model,
                    said.tokens_in,
                    said.tokens_out,
                    said.cost,
                    why,
                    plan,
                )
    if why:
        raise ProviderError(
            "failed: %d sound bullets (%s)"
            % (len(bullets), "; ".join(verdict.notes(checked)) or "no list")
        )
    return bullets, checked
