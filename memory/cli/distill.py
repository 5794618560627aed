"""The verb distill: what recall finds, answered in a few bullets, with the account of how the answer came about."""

from __future__ import annotations

import os
from typing import Any

from memory.cli.recall import found_by, freshen
from memory.core import UsageError, clock, layout, plaintext
from memory.distill import cache
from memory.project import manifests
from memory.terminal import results, screen
from memory.terminal.call import Call, first_clause, session_of, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.records import Record
    from memory.distill.digests import Digest, Source
    from memory.recall.hit import Found

CLIENTS = ("claude", "gemini", "ollama")
TALKS = 8  # best hits of which the extract reads the whole conversation
HITS = 20  # records that are distilled where --limit names no other number


def distill(call: Call) -> int:
    """Answer a question from the records in a few bullets."""
    question = " ".join(call.words).strip()
    if not question:
        raise UsageError("distill wants a question")
    key = _repeated(call, question)
    said = cache.kept_answer(call.place, key, call.now) if key else ""
    if said:
        print(said, flush=True)
        return 0
    from memory.distill import providerchain

    chosen = call.options.provider or str(call.settings["distill.provider"])
    providerchain.checked_call(question, chosen, call.settings, call.options.max_tokens)
    before = cache.state(call.place) if key else ""
    found = found_by(call, question, call.options.limit or HITS)
    used = _marked(found) if key else []
    with call.spinner("distilling") as spinner:
        def told(line: str) -> None:
            spinner.step = line

        digest = providerchain.distill(
            question, _sources(found), call.settings, call.env, call.place.home, call.place.cache, call.now,
            call.options.provider, call.options.max_tokens, not call.options.no_cache, told)
    saved = _save(call, question, digest, found) if call.options.save and digest.bullets else None
    print(_said(call, digest, found, saved), flush=True)
    skipped = [step for step in digest.steps[:-1] if not step.outcome.endswith(" is not on PATH")]  # _repeated looks at those
    if key and not (digest.partial or skipped or _timed(call, question)):
        _keep(call, key, digest.made or call.now, _said(call, providerchain.again(digest), found, None), before, used)
    freshen(call, found.stale or found.rescan)
    return 0


def _repeated(call: Call, question: str) -> str:
    """Return the key under which the answer to this very command is kept, or "" where it is searched for anew."""
    o, settings = call.options, call.settings
    moving = (o.since, o.days, o.from_, o.to, o.workspace, o.semantic, settings["recall.semantic"])
    if any(moving) or o.save or o.no_cache or not settings["distill.cache"]:
        return ""
    folders = [folder for folder in call.env.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    clients = [name for name in CLIENTS if any(os.access(folder + "/" + name, os.X_OK) for folder in folders)]
    about = [layout.branch_of(call.place.git), *manifests.marks(call.place.root)] if settings["context.derive"] else []
    return cache.answer_key([question, call.place.project, *clients, *map(str, about)], vars(o), settings.values)


def _marked(found: Found) -> list[list[Any]] | None:
    """Return the marks of the records that were found, None where one is gone already."""
    try:
        return cache.marks([hit.path for hit in found.hits])
    except OSError:
        return None


def _keep(call: Call, key: str, made: float, said: str, before: str, used: list[list[Any]] | None) -> None:
    """Keep the printed answer for the next time, unless it holds a secret: titles and the question were never cleaned."""
    from memory.store import redactor

    if used is not None and redactor.clean(said, call.settings, call.place.key) == said:
        cache.keep_answer(call.place, key, made, said, before, used)


def _timed(call: Call, question: str) -> bool:
    """Tell whether a question names a time, and so has another answer later."""
    from memory.recall import timewords

    times = timewords.parse(question, call.now, clock.local_offset(call.now))
    return times.since is not None or times.until is not None or times.latest


def _said(call: Call, digest: Digest, found: Found, saved: Record | None) -> str:
    """Write the answer as it is printed: for the model, as JSON or for a person."""
    from memory.distill import digests

    if call.options.hook:
        from memory.hook import fence

        return fence.block("distill", [fence.clip(fence.clean(digests.render(digest)), results.MODEL_UNITS - 400)])
    if call.options.json:
        return to_json(_json(digest, found, saved))
    return "\n".join([plaintext.plain(digests.render(digest)).rstrip("\n"),
                      *(_explained(digest, found) if call.options.explain else []),
                      *([] if digest.bullets else results.contributions(found)),
                      *(["saved as %s" % saved.id] if saved else [])])


def _sources(found: Found) -> list[Source]:
    """Return the hits as a summariser sees them; of a conversation the turn that was found, beside the checkpoint that was.

    A digest that was kept says again what its sources say: where they are here, it is none.
    """
    from memory.distill.digests import Source
    from memory.recall.hit import turns

    ids = {hit.id for hit in found.hits}
    out = []
    for rank, hit in enumerate(found.hits):
        told = hit.told
        if told is not None:
            said = [turn.text for turn in turns(told)] if rank < TALKS else [hit.said]
            out.append(Source(told.id, told.kind, told.title, told.created, hit.said, told.tier, told.checksum, hit.score,
                              tuple(said)))
        r = hit.record
        if hit.kind != "conversation" and ids.isdisjoint(r.derived_from):
            out.append(Source(r.id, r.kind, r.title, r.created, hit.body, r.tier, r.checksum, hit.score,
                              retold=told.id if told is not None and r.source == "auto" else ""))
    return out


def _explained(digest: Digest, found: Found) -> list[str]:
    """Write how the answer came about: the chain, the check, the records with their scores."""
    from memory.terminal import reports

    rows = [[what, plaintext.one_line(of)] for what, of in reports.account(digest)]
    return ["", "how:", *screen.table(rows, "  "), "", "from:", *(
        "  %s  %.2f  %s" % (hit.id, hit.score, plaintext.one_line(hit.title)) for hit in found.hits)]


def _save(call: Call, question: str, digest: Digest, found: Found) -> Record:
    """Keep a digest as a learning of the agent's, linked to what it was made of; one of before goes to the archive."""
    from memory.core.records import derived_links
    from memory.distill.digests import compose

    store = call.store()
    said, title = compose(digest.bullets) + "\n", first_clause(question)
    before = [hit.record for hit in found.hits if hit.workspace == call.place.key and hit.record.kind == "learning"
              and hit.record.title == title and hit.record.source == "agent" and hit.record.derived_from]
    same: Record | None = next((record for record in before if record.body.strip() == said.strip()), None)
    if same:
        return same
    cited = list(dict.fromkeys(id for bullet in digest.bullets for id in bullet.ids))
    kept = store.add("learning", title, said, source="agent", session=session_of(call),
                     extra={"links": derived_links(cited)})
    for record in before:
        store.archive(record.name, "answered anew by " + kept.id)
    call.indexed()
    return kept


def _json(digest: Digest, found: Found, saved: Record | None) -> dict[str, Any]:
    from memory.distill import digests

    return {"bullets": [{"text": b.text, "ids": list(b.ids)} for b in digest.bullets], "provider": digest.provider,
            "tokensIn": digest.tokens_in, "tokensOut": digest.tokens_out, "cached": digest.cached,
            "notes": list(digest.notes), "sources": [h.id for h in found.hits],
            "scores": [round(h.score, 6) for h in found.hits], "saved": saved.id if saved else None, **digests.as_json(digest)}
