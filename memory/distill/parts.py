"""One provider's answer: in one call where the records fit a prompt, else in parts that are put
together.

Parts (map and reduce): the records in order of time, in chunks of at most prompts.PROMPT_CHARS
characters; a record longer than that is split at line ends.  Each chunk is asked about on its own,
two at a time, and what comes back is checked against the chunk's own records; one more call makes
the digest from the bullets that stand, and that one is checked against all records.  At most MOST
chunks: beyond it the records that rank lowest are left out, and a note says how many.

The calls are counted before the first is made, and declined together where the caps leave fewer.
What a part gave is kept like a digest, so a question that is asked again pays for what is missing.
A part that fails is not asked again: the extract answers for its records.  With all parts failed,
or two of them and nothing sound so far, the provider has failed.  Each call has distill.timeout
seconds, so the whole has that times the rounds of two and the last call.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from typing import Callable, Mapping, Sequence

from memory.core import ProviderError, tokeniser
from memory.distill import cache, extract, prompts, providers, spend, verdict
from memory.distill.digests import Bullet, Checked, Digest, Source, compose, count_sources, nearest

MOST, AT_ONCE = 8, 2  # chunks, and how many are asked about at the same time
PART_TOKENS = 700  # of one chunk's bullets, and more where the digest may have more


@dataclasses.dataclass(frozen=True)
class Job:
    """The inputs shared by every call of one question.

    sources: best first, without secrets. folder: of cached digests, "" to cache none. now: seconds
        since the epoch. budget: tokens of the digest. progress: called with one line before each
        wait. made: names the calls made so far.
    """

    question: str
    sources: Sequence[Source]
    config: spend.Caps
    env: Mapping[str, str]
    home: str
    folder: str
    now: float
    budget: int
    progress: Callable[[str], None]
    made: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class _Part:
    """The result of one chunk.

    failed: why the extract had to give the bullets, "" where the model did.
    """

    bullets: tuple[Bullet, ...]
    failed: str = ""
    nothing: bool = False


def ask_provider(job: Job, step: providers.Provider, model: str) -> Digest:
    """Return a provider's checked answer.

    Raises ProviderError with the outcome (`skipped: …`, `failed: …`).
    """
    chunks, left = chunked(job.sources)
    if len(chunks) == 1 and not left:
        prompt = prompts.build(job.question, job.sources, job.budget)
        reason = spend.allowed(job.home, job.config, job.now, _plan(prompt, job.budget))
        if reason:
            raise ProviderError("skipped: " + reason)
        job.progress(_asking(step, model))
        bullets, checked = _call(job, step, model, prompt, job.sources, job.budget)
        return _distilled(job, step, bullets, checked, ())
    return _in_parts(job, step, model, chunks, left)


def chunked(sources: Sequence[Source]) -> tuple[list[list[Source]], int]:
    """Return at most MOST chunks in order of time, and how many records lack text.

    sources: best first.
    """
    room = prompts.PROMPT_CHARS
    if sum(len(source.body) for source in sources) <= room:
        return [list(sources)], 0
    pieces = [piece for source in sources for piece in _pieces(source, room)]
    size, fitting = 0, 0
    for piece in pieces:
        size += len(piece.body)
        fitting += size <= MOST * room
    kept_pieces = pieces[:fitting]
    while True:
        chunks = _packed(sorted(kept_pieces, key=lambda s: (s.created, s.id)), room)
        if len(chunks) <= MOST:
            return chunks, len({piece.id for piece in pieces[len(kept_pieces) :]})
        kept_pieces.pop()


def _pieces(source: Source, room: int) -> list[Source]:
    """Return the pieces of a long record, split at line ends."""
    body, pieces, at = source.body, [], 0
    if len(body) <= room:
        return [source]
    while at < len(body):
        end = at + room if at + room >= len(body) else body.rfind("\n", at, at + room) + 1
        end = end if end > at else at + room
        pieces.append(dataclasses.replace(source, body=body[at:end], checksum=""))
        at = end
    return pieces


def _packed(pieces: Sequence[Source], room: int) -> list[list[Source]]:
    chunks: list[list[Source]] = []
    size = room + 1
    for piece in pieces:
        if not chunks or size + len(piece.body) > room:
            chunks.append([])
            size = 0
        chunks[-1].append(piece)
        size += len(piece.body)
    return chunks


# --- Parts ----------------------------------------------------------------------------------------


def _in_parts(
    job: Job, step: providers.Provider, model: str, chunks: Sequence[Sequence[Source]], left: int
) -> Digest:
    size = max(PART_TOKENS, job.budget)
    keys = [
        cache.digest_key(job.question, chunk, job.config, step.name, model, size, "part")
        for chunk in chunks
    ]
    held = [cache.kept_digest(job.folder, key, job.now) if job.folder else None for key in keys]
    asked = {
        i: prompts.build(job.question, chunks[i], size, i + 1, len(chunks))
        for i, found in enumerate(held)
        if not found
    }
    reason = spend.planned(
        job.home,
        job.config,
        job.now,
        [
            *(_plan(prompt, size) for prompt in asked.values()),
            _plan(prompts.SYSTEM, size * len(chunks) + job.budget),
        ],
    )
    if reason:
        raise ProviderError("skipped: " + reason)
    answered = {
        i: _Part(found.bullets, nothing=not found.bullets) for i, found in enumerate(held) if found
    }
    stop = threading.Event()

    def one(i: int, out: str) -> _Part:
        if out:
            return _quoted(job, chunks[i], size, out)
        job.progress("%s: part %d of %d" % (_asking(step, model), i + 1, len(chunks)))
        return _part(job, step, model, asked[i], chunks[i], size, keys[i], stop)

    answered.update(_ask_in_parallel(one, list(asked), stop, bool(answered)))
    found = [answered[i] for i in range(len(chunks))]
    failures = [part.failed for part in found if part.failed]
    if len(failures) == len(found) or (failures and not any(part.bullets for part in found)):
        raise ProviderError("failed: " + failures[0])
    if not any(part.bullets for part in found):
        return _distilled(job, step, (), Checked(), _part_notes(step, chunks, found, left))
    job.progress("%s: putting %d parts together" % (_asking(step, model), len(chunks)))
    shown = {piece.id for chunk in chunks for piece in chunk}
    sources = [source for source in job.sources if source.id in shown]
    prompt = prompts.join(job.question, [part.bullets for part in found], job.budget)
    bullets, checked = _call(job, step, model, prompt, sources, job.budget)
    return dataclasses.replace(
        _distilled(job, step, bullets, checked, _part_notes(step, chunks, found, left)),
        partial=bool(failures),
    )


def _ask_in_parallel(
    one: Callable[[int, str], _Part], numbers: Sequence[int], stop: threading.Event, sound: bool
) -> dict[int, _Part]:
    """Ask about chunks, some at a time."""
    from concurrent.futures import ThreadPoolExecutor

    done: dict[int, _Part] = {}

    def guarded(i: int) -> None:
        so_far = list(done.values())
        out = not sound and len(so_far) >= AT_ONCE and all(part.failed for part in so_far)
        done[i] = one(i, so_far[0].failed if out else "")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = [pool.submit(guarded, i) for i in numbers]
        try:
            for future in waiting:
                future.result()
        except BaseException:  # an interrupt must not leave children that go on
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return done


def _part(
    job: Job,
    step: providers.Provider,
    model: str,
    prompt: str,
    chunk: Sequence[Source],
    size: int,
    key: str,
    stop: threading.Event,
) -> _Part:
    try:
        bullets, checked = _call(job, step, model, prompt, chunk, size, stop)
    except ProviderError as error:
        return _quoted(job, chunk, size, str(error).partition(": ")[2])
    if job.folder:
        cache.keep_digest(job.folder, key, job.now, _distilled(job, step, bullets, checked, ()))
    return _Part(bullets, nothing=not bullets)


def _quoted(job: Job, chunk: Sequence[Source], size: int, why: str) -> _Part:
    return _Part(extract.extract(job.question, chunk, size).bullets, why)


def _part_notes(
    step: providers.Provider, chunks: Sequence[Sequence[Source]], found: Sequence[_Part], left: int
) -> tuple[str, ...]:
    """Return notices about the outcome of the parts."""
    total = len(chunks)
    notes = [
        "%s read %d records in %d parts"
        % (step.name, len({s.id for chunk in chunks for s in chunk}), total)
    ]
    for i, (part, chunk) in enumerate(zip(found, chunks), 1):
        number = len({piece.id for piece in chunk})
        if part.failed:
            notes.append(
                "%s: part %d of %d failed (%s): the extract answered for its %d records"
                % (step.name, i, total, part.failed, number)
            )
        elif part.nothing:
            notes.append(
                "%s: part %d of %d found nothing in its %d records" % (step.name, i, total, number)
            )
    if left:
        notes.append(
            "%d low-ranked records were left out, in whole or in part: they do "
            "not fit into %d parts" % (left, MOST)
        )
    return tuple(notes)


# --- One call -------------------------------------------------------------------------------------


def _asking(step: providers.Provider, model: str) -> str:
    return "asking %s%s" % (step.name, " (%s)" % model if model else "")


def _plan(prompt: str, budget: int) -> int:
    return tokeniser.count_tokens(prompts.SYSTEM) + tokeniser.count_tokens(prompt) + budget


def _distilled(
    job: Job,
    step: providers.Provider,
    bullets: tuple[Bullet, ...],
    checked: Checked,
    told: tuple[str, ...],
) -> Digest:
    cuts = tuple("%s: %s" % (step.name, note) for note in verdict.notes(checked))
    written = tokeniser.count_tokens(compose(bullets))
    return Digest(
        bullets,
        step.name,
        count_sources(job.sources),
        written,
        False,
        (*told, *cuts),
        checked,
        nearest=() if bullets else nearest(job.sources),
    )


def _call(
    job: Job,
    step: providers.Provider,
    model: str,
    prompt: str,
    sources: Sequence[Source],
    budget: int,
    stop: threading.Event | None = None,
) -> tuple[tuple[Bullet, ...], Checked]:
    """Admit, make, log and check one call.

    The ledger gets its line whatever happens. Raises ProviderError.
    """
    plan = _plan(prompt, budget)
    with spend.slot(job.home, job.config, job.now, plan) as declined:
        if declined:
            raise ProviderError("declined: " + declined)
        job.made.append(step.name)
        said, why = providers.Answer("", model), "interrupted"
        timeout = job.config["distill.timeout"]
        try:
            seconds = float(timeout) if isinstance(timeout, (int, float)) else 30.0
            said = step.complete(
                providers.Request(prompt, prompts.SYSTEM, seconds, job.env, model, stop)
            )
            bullets, checked = verdict.check(said.text, sources, budget)
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
