"""The verb distill: what recall finds, answered in a few bullets, with the account of how the answer came about."""

from __future__ import annotations

import os
from typing import Any

from memory import clock, manifests, paths, repeat, results, terminal
from memory.call import Call, session_of, to_json
from memory.errors import UsageError
from memory.reading import found_by, freshen
from memory.writing import first_clause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.account import Distilled
    from memory.digest import Source
    from memory.records import Record

CLIENTS = ("claude", "gemini", "ollama")
HITS = 20  # records that are distilled where --limit names no other number


def distill(call: Call) -> int:
    """Answer a question from the records in a few bullets."""
    question = " ".join(call.words).strip()
    if not question:
        raise UsageError("distill wants a question")
    key = _repeated(call, question)
    said = repeat.find(call.place, key, call.now) if key else ""
    if said:
        print(said, flush=True)
        return 0
    from memory import distill as model

    chosen = call.options.provider or str(call.settings["distill.provider"])
    model.checked_call(question, chosen, call.settings, call.options.max_tokens)
    before = repeat.state(call.place) if key else ""
    found = found_by(call, question, call.options.limit or HITS)
    used = _marked(found) if key else []
    with call.spinner("distilling") as spinner:
        def told(line: str) -> None:
            spinner.step = line

        digest = model.distill(question, _sources(found), call.settings, call.env, call.place.home, call.place.cache, call.now,
                               call.options.provider, call.options.max_tokens, not call.options.no_cache, told)
    saved = _save(call, question, digest, found) if call.options.save and digest.bullets else None
    print(_said(call, digest, found, saved), flush=True)
    skipped = [step for step in digest.steps[:-1] if not step.outcome.endswith(" is not on PATH")]  # _repeated looks at those
    if key and not (digest.partial or skipped or _timed(call, question)):
        _keep(call, key, digest.made or call.now, _said(call, model.again(digest), found, None), before, used)
    freshen(call, found.stale)
    return 0


def _repeated(call: Call, question: str) -> str:
    """Return the key under which the answer to this very command is kept, or "" where it is searched for anew."""
    o, settings = call.options, call.settings
    moving = (o.since, o.days, o.from_, o.to, o.workspace, o.semantic, settings["recall.semantic"])
    if any(moving) or o.save or o.no_cache or not settings["distill.cache"]:
        return ""
    folders = [folder for folder in call.env.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    clients = [name for name in CLIENTS if any(os.access(folder + "/" + name, os.X_OK) for folder in folders)]
    about = [paths.branch_of(call.place.git), *manifests.marks(call.place.root)] if settings["context.derive"] else []
    return repeat.key([question, call.place.project, *clients, *map(str, about)], vars(o), settings.values)


def _marked(found: Any) -> list[list[Any]] | None:
    """Return the marks of the records that were found, None where one is gone already."""
    try:
        return repeat.marks([hit.path for hit in found.hits])
    except OSError:
        return None


def _keep(call: Call, key: str, made: float, said: str, before: str, used: list[list[Any]] | None) -> None:
    """Keep what is printed, unless it holds a secret: titles and words of the question were never cleaned."""
    from memory import cleaning

    if used is not None and cleaning.clean(said, call.settings, call.place.key) == said:
        repeat.keep(call.place, key, made, said, before, used)


def _timed(call: Call, question: str) -> bool:
    """Tell whether a question names a time, and so has another answer later."""
    from memory import timewords

    times = timewords.parse(question, call.now, clock.local_offset(call.now))
    return times.since is not None or times.until is not None or times.latest


def _said(call: Call, digest: Distilled, found: Any, saved: Record | None) -> str:
    """Write the answer as it is printed: for the model, as JSON or for a person."""
    from memory import digest as form

    if call.options.hook:
        from memory import render

        return render.block("distill", [render.clip(render.clean(form.render(digest)), results.MODEL_UNITS - 400)])
    if call.options.json:
        return to_json(_json(digest, found, saved))
    return "\n".join([terminal.plain(form.render(digest)).rstrip("\n"),
                      *(_explained(digest, found) if call.options.explain else []),
                      *([] if digest.bullets else results.contributions(found)),
                      *(["saved as %s" % saved.id] if saved else [])])


def _sources(found: Any) -> list[Source]:
    """Return the hits as a summariser sees them.

    A digest that was kept says again what its sources say: where they are here, it is none.
    """
    from memory.digest import Source

    ids = {hit.record.id for hit in found.hits}
    kept = [(hit.record, hit.score) for hit in found.hits if ids.isdisjoint(hit.record.derived_from)]
    return [Source(r.id, r.kind, r.title, r.created, r.body, r.tier, r.checksum, score) for r, score in kept]


def _explained(digest: Distilled, found: Any) -> list[str]:
    """Write how the answer came about: the chain, the check, the records with their scores."""
    from memory import account

    rows = [[what, terminal.one_line(of)] for what, of in account.rows(digest)]
    return ["", "how:", *terminal.table(rows, "  "), "", "from:", *(
        "  %s  %.2f  %s" % (hit.record.id, hit.score, terminal.one_line(hit.record.title)) for hit in found.hits)]


def _save(call: Call, question: str, digest: Distilled, found: Any) -> Record:
    """Keep a digest as a learning of the agent's, linked to what it was made of; one of before goes to the archive."""
    from memory.digest import compose
    from memory.records import derived_links

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


def _json(digest: Distilled, found: Any, saved: Record | None) -> dict[str, Any]:
    from memory import account

    return {"bullets": [{"text": b.text, "ids": list(b.ids)} for b in digest.bullets], "provider": digest.provider,
            "tokensIn": digest.tokens_in, "tokensOut": digest.tokens_out, "cached": digest.cached,
            "notes": list(digest.notes), "sources": [h.record.id for h in found.hits],
            "scores": [round(h.score, 6) for h in found.hits], "saved": saved.id if saved else None, **account.as_json(digest)}
