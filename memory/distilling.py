"""The verb distill: what recall finds, answered in a few bullets, with the account of how the answer came about."""

from __future__ import annotations

from typing import Any

from memory import terminal
from memory.call import Call, session_of
from memory.errors import UsageError
from memory.reading import found_by, freshen
from memory.writing import first_clause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.account import Distilled
    from memory.digest import Source
    from memory.records import Record

HITS = 20  # records that are distilled where --limit names no other number


def distill(call: Call) -> int:
    """Answer a question from the records in a few bullets."""
    from memory import digest as form
    from memory import distill as model

    question = " ".join(call.words).strip()
    if not question:
        raise UsageError("distill wants a question")
    chosen = call.options.provider or str(call.settings["distill.provider"])
    model.checked_call(question, chosen, call.settings, call.options.max_tokens)
    found = found_by(call, question, call.options.limit or HITS)
    with call.spinner("distilling") as spinner:
        def told(line: str) -> None:
            spinner.step = line

        digest = model.distill(question, _sources(found), call.settings, call.env, call.place.home, call.place.cache, call.now,
                               call.options.provider, call.options.max_tokens, not call.options.no_cache, told)
    saved = _save(call, question, digest) if call.options.save and digest.bullets else None
    if call.options.hook:
        from memory import render

        print(render.block("distill", [render.clip(render.clean(form.render(digest)), terminal.MODEL_UNITS - 400)]))
        return 0
    lines = [terminal.plain(form.render(digest)).rstrip("\n"), *(_explained(digest, found) if call.options.explain else []),
             *terminal.contributions(found), *(["saved as %s" % saved.id] if saved else [])]
    call.answer(_json(digest, found, saved), lines)
    freshen(call, found.stale)
    return 0


def _sources(found: Any) -> list[Source]:
    """Return the hits as a summariser sees them.

    A digest that was kept says again what its sources say: where they are here, it is none.
    """
    from memory.digest import Source

    ids = {hit.record.id for hit in found.hits}
    records = [hit.record for hit in found.hits
               if not any(link.relation == "derived_from" and link.target in ids for link in hit.record.links)]
    return [Source(r.id, r.kind, r.title, r.created, r.body, r.tier, r.checksum) for r in records]


def _explained(digest: Distilled, found: Any) -> list[str]:
    """Write how the answer came about: the chain, the check, the records with their scores."""
    from memory import account

    rows = [[what, terminal.one_line(of)] for what, of in account.rows(digest)]
    return ["", "how:", *terminal.table(rows, "  "), "", "from:", *(
        "  %s  %.2f  %s" % (hit.record.id, hit.score, terminal.one_line(hit.record.title)) for hit in found.hits)]


def _save(call: Call, question: str, digest: Distilled) -> Record:
    """Keep a digest as a learning of the agent's, linked to what it was made of."""
    from memory.digest import compose

    cited = list(dict.fromkeys(id for bullet in digest.bullets for id in bullet.ids))
    kept = call.store().add("learning", first_clause(question), compose(digest.bullets) + "\n", source="agent",
                            session=session_of(call),
                            extra={"links": [{"relation": "derived_from", "target": id} for id in cited]})
    call.indexed()
    return kept


def _json(digest: Distilled, found: Any, saved: Record | None) -> dict[str, Any]:
    from memory import account

    return {"bullets": [{"text": b.text, "ids": list(b.ids)} for b in digest.bullets], "provider": digest.provider,
            "tokensIn": digest.tokens_in, "tokensOut": digest.tokens_out, "cached": digest.cached,
            "notes": list(digest.notes), "sources": [h.record.id for h in found.hits],
            "scores": [round(h.score, 6) for h in found.hits], "saved": saved.id if saved else None, **account.as_json(digest)}
