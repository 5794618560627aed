"""The tools of `dayleaf mcp`: what the model of any agent may ask for, and what it is answered.

Each stands for a verb and its first word (`authority.TOOLS`), asked for as a session asks.  An
answer is what engines return, in the one shape of recall/hit.py without what is empty, as a line of
JSON within the fence.  What writes makes candidates; nothing here approves, configures or builds an
index.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from memory.core import PersonsRecord, StoreError, UsageError, approvals, clock, files, layout
from memory.core.matches import Expansion
from memory.core.plaintext import one_line
from memory.core.tokeniser import utf16
from memory.hook import fence, indexview
from memory.index import backend
from memory.recall import hit, lookup, question, search
from memory.recall.semantic import semantic
from memory.recall.shelf import Shelves
from memory.store.redactor import clean_record, strip_private
from memory.terminal.call import Call, first_clause, shown, to_json
from memory.terminal.results import ITEM_UNITS, MODEL_UNITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.recall.hit import Found, Hit
    from memory.store.store import Store

Given = Mapping[str, Any]
# set where the server ends, so that a script that still runs ends with it
ENDING = threading.Event()
BODY_UNITS = 24_000  # UTF-16 units of one record's text
OUTPUT_CHARS = 20_000  # of each stream of a script
PAST = 5  # occurrences, and forms of an invocation
HITS, MOST_HITS = 20, 50  # records that are distilled, and the most that are asked for
# what explains, or repeats
LEFT_OUT = frozenset("checksum name parts claims pinned topics updated contextTags query".split())


# what was opened and worked out for a call, for the next one
KEPT, EXPANSION = Shelves(), Expansion()
MOST_WORDS = 1 << 18


class ToolAnswer(NamedTuple):
    """An answer of a tool.

    part: its name in the fence. value: plain data. rules: approved rules as lines. block: the
        fenced block where there is one already.
    """

    part: str
    value: dict[str, Any]
    rules: Sequence[str] = ()
    block: str = ""

    def text(self) -> str:
        """Return the text for the model."""
        return self.block or fence.block(self.part, [to_json(self.value)], self.rules)


def without_surrogates(text: str) -> str:
    """Return text without lone surrogates.

    One of them would end the server.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def clean_for_model(value: Any) -> Any:
    """Return plain data cleaned for the model.

    Without empty values and explanations.
    """
    if isinstance(value, str):
        return without_surrogates(fence.clean(value))
    if isinstance(value, dict):
        return {
            key: clean_for_model(item)
            for key, item in value.items()
            if key not in LEFT_OUT and item not in (None, "", [], (), {})
        }
    return [clean_for_model(item) for item in value] if isinstance(value, (list, tuple)) else value


# ---- finding


def _query(call: Call, given: Given, words: str, **more: Any) -> question.Query:
    taken = {
        key.replace("_", "-"): value
        for key, value in given.items()
        if key not in ("question", "query", "max_tokens")
    }
    taken = {**taken, **more}
    limit = {"limit": min(taken["limit"], MOST_HITS)} if taken.get("limit") else {}
    return question.query_from_options(
        {"query": words, **taken, **limit}, call.now, clock.local_offset(call.now)
    )


def _found(call: Call, query: question.Query, links: bool = False) -> Found:
    searcher = search.Searcher(
        call.place, call.settings, semantic(call.settings, "", call.env), dsn=_dsn(call)
    )
    with suppress(UsageError):  # of a workspace that a database alone may know
        KEPT.keep(lookup.searched_places(call.place, call.settings, query.workspace, []), call.now)
    if len(EXPANSION) > MOST_WORDS:
        EXPANSION.clear()
    searcher.shelves, searcher.expansion = KEPT, EXPANSION
    try:
        found = searcher.answer(query, call.now, clock.local_offset(call.now), links=links)
    except BaseException:
        KEPT.close()
        raise
    asks = searcher.dsn or call.settings["index.backend"] == "local"
    return found if asks else found._replace(notes=(*found.notes, backend.NO_DATABASE))


def _dsn(call: Call) -> str:
    return backend.dsn_of(call.settings, call.place.home, call.env)


def recall(call: Call, given: Given) -> ToolAnswer:
    """Search, and return hits with the best of their texts.

    As room allows.
    """
    words = given.get("query", "")
    return _hits(_found(call, _query(call, given, words), links=True), words)


def search_resources(call: Call, given: Given) -> ToolAnswer:
    words = given["query"]
    return _hits(_found(call, _query(call, given, words, type=given.get("type", "both"))), words)


def _hits(found: Found, words: str) -> ToolAnswer:
    value = clean_for_model(hit.found_json(found, words))
    value.setdefault("hits", [])
    rows = [
        (row, each)
        for key, members in (("hits", found.hits), ("linked", found.linked))
        for row, each in zip(value.get(key, ()), members)
    ]
    left = MODEL_UNITS - fence.overhead("recall") - utf16(to_json(value))
    for at, (row, each) in enumerate(rows):
        room = min(ITEM_UNITS, left // (len(rows) - at)) - 16
        body = (
            ""
            if row.get("passage") or room <= 80
            else fence.clip_utf16(fence.clean(each.body).strip(), room)
        )
        if body:
            row["body"] = body
            left -= utf16(to_json(body)) + 8
    return ToolAnswer(
        "recall", value, [_ruling(each) for each in found.hits if each.group == "rule"]
    )


def _ruling(found: Hit) -> str:
    return "[%s] %s: %s" % (
        fence.line(found.id, 64),
        fence.line(found.title, 200),
        fence.line(found.rationale, 500),
    )


def distill(call: Call, given: Given) -> ToolAnswer:
    """Answer a question with the user's provider chain."""
    from memory.distill import digests, providerchain

    asked = given["question"]
    providerchain.checked_call(
        asked, str(call.settings["distill.provider"]), call.settings, given.get("max_tokens")
    )
    found = _found(call, _query(call, given, asked, limit=HITS))
    digest = providerchain.distill(
        asked,
        digests.of_found(found),
        call.settings,
        call.env,
        call.place.home,
        call.place.cache,
        call.now,
        None,
        given.get("max_tokens"),
    )
    value = {
        "bullets": [{"text": one.text, "ids": list(one.ids)} for one in digest.bullets],
        "provider": digest.provider,
        "tokensIn": digest.tokens_in,
        "tokensOut": digest.tokens_out,
        "notes": list(digest.notes),
        "answer": "" if digest.bullets else digests.no_answer(digest),
    }
    return ToolAnswer("distill", clean_for_model(value))


def fix(call: Call, given: Given) -> ToolAnswer:
    from memory.cli.recall import remedies_of
    from memory.knowledge import remedies

    error = given["error"]
    past, answer = remedies_of(call, error)
    value = {**remedies.to_json(answer, call.place, PAST), "notes": past.notes}
    if not answer:
        value["records"] = hit.found_json(
            _found(call, question.Query(error[:2000], limit=3)), error
        )["hits"]
        nearest = "; `records` are the nearest notes" if value["records"] else ""
        value["notes"] = [*past.notes, "nothing has failed like this here before" + nearest]
    return ToolAnswer("fix", clean_for_model(value))


def how(call: Call, given: Given) -> ToolAnswer:
    from memory.cli.recall import invocations_of
    from memory.knowledge import practice

    tool = given["tool"].strip()
    past, found = invocations_of(call, tool)
    notes = [*past.notes, *([] if found else ["no session here has run it successfully"])]
    return ToolAnswer(
        "how",
        clean_for_model(
            {
                "tool": tool,
                "forms": [practice.shape_json(shape) for shape in found[: 2 * PAST]],
                "left_out": max(0, len(found) - 2 * PAST),
                "notes": notes,
            }
        ),
    )


# ---- reading one


def _about(call: Call, record: Record, place: Place) -> dict[str, Any]:
    one = hit.from_record(record, place.key, place.path(record.name))
    return hit.about_json(
        hit.for_display([one], place, approvals.decisions(place.home), call.now)[0]
    )


def get_record(call: Call, given: Given) -> ToolAnswer:
    """Return a record, a section or a turn."""
    try:
        found, place, merged = lookup.find_kept(call.place, call.settings, given["id"])
    except StoreError as missing:
        distant = lookup.find_distant(call.place, given["id"], _dsn(call), missing)
        if given.get("turn"):
            raise StoreError(
                "%s is in the database alone, without its conversation; leave `turn` out"
                % distant.id
            ) from None
        return _record(call, distant, call.place, given)
    if given.get("turn"):
        return _turn(call, found, place, given["turn"])
    return _record(
        call, hit.from_record(found, place.key, place.path(found.name)), place, given, merged
    )


def _record(call: Call, found: Hit, place: Place, given: Given, merged: str = "") -> ToolAnswer:
    record = clean_record(found.record, call.settings, place.key)
    found = found._replace(record=record, title=record.title, body=record.body)
    one = hit.for_display([found], place, approvals.decisions(place.home), call.now)[0]
    return ToolAnswer(
        "record",
        clean_for_model(
            {
                **hit.about_json(one),
                "merged": merged,
                **_body(found.record, given.get("section", "")),
            }
        ),
        [_ruling(one)] if one.group == "rule" else [],
    )


def _turn(call: Call, found: Record, place: Place, number: int) -> ToolAnswer:
    from memory.recall import excerpt
    from memory.store.store import Store

    talk = excerpt.conversation(Store(place, call.settings, call.now), found)
    if talk is None:
        raise StoreError("no conversation is kept for %s; leave `turn` out" % found.id)
    turns = hit.turns(talk)
    one = excerpt.find_turn(talk, turns, str(number))
    return ToolAnswer(
        "record",
        clean_for_model(
            {
                "id": talk.id,
                "title": talk.title,
                "turn": one.number,
                "turns": len(turns),
                "at": one.at + "Z",
                "request": one.request,
                "body": fence.clip_utf16(one.text, BODY_UNITS),
            }
        ),
    )


def _body(found: Record, wanted: str) -> dict[str, Any]:
    from memory.store import sections

    listed = sections.outline(found.body)
    one = sections.find(listed, wanted) if wanted else None
    if wanted and one is None:
        raise UsageError(
            "%s has no section '%s'; it has %s"
            % (
                found.id,
                shown(wanted),
                ", ".join(shown(each.path) for each in listed[:12] if each.path) or "no headings",
            )
        )
    text = sections.text(found.body, one) if one else found.body
    cut = utf16(text) > BODY_UNITS
    return {
        "section": one.path if one else "",
        "body": fence.clip_utf16(fence.clean(text), BODY_UNITS),
        "sections": ["%d %s" % (each.number, sections.name(each)) for each in listed[:200]]
        if cut
        else [],
    }


def get_resource(call: Call, given: Given) -> ToolAnswer:
    """Return a resource's record and its state against its file.

    Nothing is read again into the store.
    """
    from memory.project import material

    found, place, _ = lookup.find_kept(call.place, call.settings, given["id"])
    if found.kind != "resource":
        raise UsageError("%s is a %s; get_record reads it" % (found.id, found.kind))
    state = material.state(found, place)
    found = clean_record(found, call.settings, place.key)
    return ToolAnswer(
        "resource",
        clean_for_model(
            {
                **_about(call, found, place),
                "type": material.type_of(found),
                "state": state.word,
                "why": state.why,
                **_body(found, given.get("section", "")),
            }
        ),
    )


def index_status(call: Call, given: Given) -> ToolAnswer:
    from memory.health import figures

    value = figures.state(call.place, call.settings, call.now)
    told = {
        key: value[key]
        for key in (
            "workspace",
            "records",
            "tokens",
            "index",
            "vectors",
            "backend",
            "skipped",
            "problems",
        )
    }
    return ToolAnswer(
        "status",
        clean_for_model({**told, "database": backend.state(call.place, call.settings, call.env)}),
    )


def prompt_context(call: Call, given: Given) -> ToolAnswer:
    """Return the block that the hook would put before a prompt.

    In a new session.
    """
    from memory.health import accounts

    value = accounts.load(call.place, call.settings, given["prompt"].strip(), "")
    block = str(value["block"])
    told = clean_for_model(
        {key: value[key] for key in ("strategy", "candidates", "picks", "characters", "enabled")}
    )
    return ToolAnswer("load", told, (), block or "Nothing would come with this prompt.")


# ---- writing: candidates, which a person decides on


def _written_answer(call: Call, store: Store, record: Record, said: str) -> ToolAnswer:
    if files.exists(indexview.segment_path(store.place)):
        call.indexed()
    return ToolAnswer("kept", clean_for_model({"done": said, **_about(call, record, store.place)}))


def _session(call: Call) -> str:
    return layout.safe_id(call.env.get("CLAUDE_CODE_SESSION_ID", ""))


def _labels(given: Given, key: str) -> list[str]:
    return [
        piece.strip() for said in given.get(key, ()) for piece in said.split(",") if piece.strip()
    ]


def remember(call: Call, given: Given) -> ToolAnswer:
    """Store a learning (as a candidate), a checkpoint or a note.

    The checkpoint is the agent's own; the note is its session's.
    """
    said = strip_private(given["text"]).strip()
    if not said:
        raise UsageError("nothing is left to keep: all of it is marked private")
    store = call.store()
    if given.get("kind") == "note":
        return _note(call, store, said)
    if given.get("kind") == "checkpoint":
        from memory.capture import byhand

        title = one_line(strip_private(given.get("title", "")))
        words = title + "\n\n" + said if title else said
        kept = byhand.note(
            store, call.place, words, _labels(given, "tags"), _session(call), call.now, "agent"
        )
        return _written_answer(call, store, kept, "written")
    from memory.knowledge import duplicates

    title = one_line(strip_private(given.get("title", ""))) or first_clause(said)
    there = duplicates.like_learning(call.place, call.settings, call.now, title, said)
    if there:
        return ToolAnswer(
            "kept", clean_for_model({"done": "already there", **_about(call, there, call.place)})
        )
    versions = _labels(given, "version")
    kept = store.add(
        "learning",
        title,
        said + "\n",
        tags=_labels(given, "tags"),
        source="agent",
        session=_session(call),
        extra={"accepted": False, **({"versions": versions} if versions else {})},
    )
    return _written_answer(
        call, store, kept, "a candidate: the user can accept it with `dayleaf review` in a terminal"
    )


def _note(call: Call, store: Store, said: str) -> ToolAnswer:
    from memory.health import notekeeping

    session = _session(call)
    if not session:
        raise UsageError("a note is of a session, and this client names none")
    made, changed = notekeeping.of_session(store, session, said)
    call.changed += changed
    dropped = "; ".join(one_line(one.text) for one in made.dropped)
    return _written_answer(
        call, store, made.record, "written" + ("; left out: " + dropped if dropped else "")
    )


def suggest_rule(call: Call, given: Given) -> ToolAnswer:
    """Write a rule that waits for approval."""
    title, rationale = (
        one_line(strip_private(given[key])).strip() for key in ("title", "rationale")
    )
    if not title or not rationale:
        raise UsageError("suggest_rule needs a title and a rationale, not marked private")
    store = call.store()
    links = [
        {"relation": "related_to", "target": store.find(id).id} for id in given.get("link", ())
    ]
    body = strip_private(given.get("body", "")).strip()
    body = body + "\n" if body else ""
    there = store.same("rule", title, body)
    kept = there or store.add(
        "rule",
        title,
        body,
        tags=_labels(given, "tags"),
        source="agent",
        extra={
            "rationale": rationale,
            "suggested_by": "agent",
            **({"links": links} if links else {}),
        },
    )
    return _written_answer(
        call,
        store,
        kept,
        "already there"
        if there
        else "suggested: the user can approve it with `dayleaf review` in a terminal",
    )


def add_resource(call: Call, given: Given) -> ToolAnswer:
    """Store a file of the project; a script waits for approval."""
    from memory.project import material

    place, store = call.place, call.store()
    path = files.real_path(os.path.abspath(os.path.join(place.root, given["path"])))
    material.allowed(path, layout.PRIVATE, place, True)
    source = material.read(path)
    there = material.find_resource(store, source.path, layout.PRIVATE)
    if there:
        return ToolAnswer(
            "kept", clean_for_model({"done": "already there", **_about(call, there, place)})
        )
    versions = _labels(given, "version")
    kept = material.add(
        store,
        source,
        given.get("type") or material.guessed(source),
        layout.PRIVATE,
        one_line(given.get("title", "")),
        {"source": "agent", "extra": {"versions": versions} if versions else {}},
    )
    waits = (
        "; a script, which waits for the user's approval"
        if material.type_of(kept) == "script"
        else ""
    )
    return _written_answer(call, store, kept, "kept" + waits)


def feedback(call: Call, given: Given) -> ToolAnswer:
    """Note that a record helped or misled."""
    from memory.store import ledger

    found, place = lookup.find_anywhere(call.place, call.settings, given["id"])
    if found.tier != layout.ADDED:
        call.store_of(place).check(found.name)
    book = ledger.holding(place, found.name)
    ledger.note(book, found.id, given["verdict"], call.now, _session(call))
    counts = lookup.fold_merged(place, ledger.settle(book)).counts(found.id)
    return ToolAnswer(
        "feedback",
        clean_for_model(
            {"id": found.id, "title": found.title, "up": counts.up, "down": counts.down}
        ),
    )


def suggested(call: Call, refused: PersonsRecord, words: Sequence[str]) -> ToolAnswer:
    """Store a change of a person's record as a suggestion.

    words: of the command that makes it.
    """
    from memory.knowledge import suggestions

    kept = suggestions.keep(call.store(), refused, words, _session(call))
    return _written_answer(
        call,
        call.store(),
        kept,
        "suggested: the record is a person's, who can accept this with `dayleaf review`",
    )


# ---- running


def run_script(call: Call, given: Given) -> ToolAnswer:
    """Run a script's approved bytes and return its output.

    The end of it where it is long.
    """
    from memory.core.boundary import NESTED
    from memory.knowledge import scripts

    if call.env.get(NESTED):
        raise UsageError("scripts do not run inside a model that dayleaf started")
    if given.get("timeout", 1) > scripts.SECONDS:
        raise UsageError("run_script: 'timeout' can be at most %d seconds" % scripts.SECONDS)
    found = call.store().find(given["id"])
    told = scripts.order(found, call.place, given.get("args", ()), call.env)
    said = {1: bytearray(), 2: bytearray()}

    def tell(number: int, data: bytes) -> None:
        said[number] += data
        del said[number][: -4 * OUTPUT_CHARS]

    status, in_time = scripts.run(
        told, call.place.cache, given.get("timeout", scripts.SECONDS), tell, ENDING
    )
    out, err = (bytes(said[number]).decode("utf-8", "replace")[-OUTPUT_CHARS:] for number in (1, 2))
    return ToolAnswer(
        "script",
        {
            **clean_for_model({"id": told.id, "script": told.path, "stdout": out, "stderr": err}),
            "status": status,
            "in_time": in_time,
        },
    )
