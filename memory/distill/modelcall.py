"""Ask one provider: one call, within the caps, logged, its answer checked."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Callable, Mapping, Sequence, TypeVar

from memory.core import ProviderError, tokeniser
from memory.distill import prompts, providers, spend, verdict
from memory.distill.digests import Bullet, CheckResult, Digest, Source, list_nearest, make_digest

if TYPE_CHECKING:
    from memory.core.config import Config


Parsed = TypeVar("Parsed")


class CallDeclined(ProviderError):
    """A call that a cap refuses; no failure of the provider."""


@dataclasses.dataclass(frozen=True)
class Job:
    """A question with the inputs of each step of the chain.

    sources: best first, without secrets. budget: tokens of the digest. progress: called with a line
    before each wait. made: names of providers called.
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
    """Ask a provider and return its checked answer.

    Raises ProviderError with the outcome (`skipped: …`, `failed: …`).
    """
    sources = fit_sources(job.sources)
    prompt = prompts.build(job.question, sources, job.budget)
    plan = job.budget + sum(map(tokeniser.count_tokens, (prompts.SYSTEM, prompt)))
    reason = spend.check_caps(job.home, job.config, job.now, plan)
    if reason:
        raise ProviderError("skipped: " + reason)
    job.progress("asking %s%s" % (step.name, " (%s)" % model if model else ""))
    bullets, checked = _ask(job, step, model, prompt, sources, plan)
    notes = ["%s: %s" % (step.name, note) for note in verdict.format_notes(checked)]
    if len(sources) < len(job.sources):
        notes.insert(
            0,
            "%s read the best %d of %d records: no more fit into a prompt"
            % (step.name, len(sources), len(job.sources)),
        )
    nearest = () if bullets else list_nearest(job.sources)
    return make_digest(bullets, step.name, job.sources, notes, checked, nearest)


def fit_sources(sources: Sequence[Source]) -> list[Source]:
    """Return the first sources that fit into a prompt, the last one cut."""
    room = prompts.PROMPT_CHARS
    found: list[Source] = []
    for source in sources:
        if room <= 0:
            break
        found.append(dataclasses.replace(source, body=source.body[:room]))
        room -= len(source.body)
    return found


def _ask(
    job: Job,
    step: providers.Provider,
    model: str,
    prompt: str,
    sources: Sequence[Source],
    plan: int,
) -> tuple[tuple[Bullet, ...], CheckResult]:
    """Call a provider and check its answer; raises ProviderError."""

    def check(text: str) -> tuple[tuple[Bullet, ...], CheckResult]:
        bullets, checked = verdict.check(text, sources, job.budget)
        if bullets or text.strip().strip(".`*") == prompts.NONE:
            return bullets, checked
        reasons = "; ".join(verdict.format_notes(checked)) or "no list"
        raise ProviderError("%d sound bullets (%s)" % (len(bullets), reasons))

    seconds = float(job.config["distill.timeout"])
    request = providers.Request(prompt, prompts.SYSTEM, seconds, job.env, model)
    job.made.append(step.name)
    try:
        return call_provider(job.home, job.config, job.now, step, request, plan, check)[1]
    except CallDeclined as refusal:
        job.made.pop()
        raise ProviderError("declined: %s" % refusal) from None
    except ProviderError as error:
        raise ProviderError("failed: %s" % error) from None


def call_provider(
    home: str,
    config: Config,
    now: float,
    provider: providers.Provider,
    request: providers.Request,
    plan: int,
    parse: Callable[[str], Parsed],
    purpose: str = spend.DISTILL,
) -> tuple[providers.Answer, Parsed]:
    """Call a provider within the caps, log it, parse the answer.

    plan: the most tokens it may take. parse: raises ProviderError for an unsound answer. Raises
    CallDeclined where a cap refuses.
    """
    with spend.hold_slot(home, config, now, plan, purpose) as refusal:
        if refusal:
            raise CallDeclined(refusal)
        answer, why = providers.Answer("", request.model), "interrupted"
        try:
            answer = provider.complete(request)
            parsed, why = parse(answer.text), ""
        except providers.CallFailed as error:
            why, answer = error.why, error.answer or answer
            raise
        except ProviderError:
            why = "unsound"
            raise
        finally:
            with contextlib.suppress(OSError):
                spend.append_call(
                    home,
                    now,
                    provider.name,
                    answer.model or request.model,
                    answer.tokens_in,
                    answer.tokens_out,
                    answer.cost,
                    why=why,
                    plan=plan,
                    purpose=purpose,
                )
    return answer, parsed
