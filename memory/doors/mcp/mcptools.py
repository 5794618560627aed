"""The tools of `dayleaf mcp` for the model of any agent.

Each stands for a verb and its first word (`permissions.TOOLS`), with a session's permissions.  An
answer is one line of JSON within the fence: the engines' data (recall/hit.py) without empty values.
A tool writes candidates only, and never approves, configures or builds an index.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from memory.core import PersonsRecord, StoreError, UsageError, files, layout
from memory.core.matches import Expansion
from memory.core.plaintext import one_line
from memory.core.tokeniser import count_utf16
from memory.hook import fence, indexview
from memory.index import backend
from memory.recall import hit, lookup, question, search
from memory.recall.semantic import load_provider
from memory.recall.shelf import Shelves
from memory.store.redactor import clean_record, strip_private
from memory.terminal.call import (
    Call,
    clip_input,
    extract_title,
    find_session_id,
    is_unattended,
    to_json,
)
from memory.terminal.results import ITEM_UNITS, MODEL_UNITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.recall.hit import Hit, RecallResult
    from memory.store.store import Store

Arguments = Mapping[str, Any]
# set when the server ends, to end a running script
STOP_EVENT = threading.Event()
BODY_UNITS = 24_000  # UTF-16 units of one record's text
KEY_UNITS, MIN_BODY_UNITS = 16, 80
OUTPUT_CHARS = 20_000  # of each stream of a script
MOST_PAST = 5  # occurrences, and forms of an invocation
DISTILLED_HITS, MOST_HITS = 20, 50  # records to distill, records of one search
STATUS_KEYS = "workspace records tokens index vectors backend skipped problems".split()
# keys that explain or repeat
LEFT_OUT = frozenset("checksum name parts claims pinned topics updated contextTags query".split())

# caches for the next call
SHELVES, EXPANSION = Shelves(), Expansion()
MOST_WORDS = 1 << 18


class ToolAnswer(NamedTuple):
    """A tool's answer.

    part: its name in the fence. value: plain data. rules: approved rules as lines. block: a ready
        fenced block instead.
    """

    part: str
    value: dict[str, Any]
    rules: Sequence[str] = ()
    block: str = ""

    def text(self) -> str:
        """Return the text for the model."""
        return self.block or fence.format_block(self.part, [to_json(self.value)], self.rules)


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which would end the server."""
    return text.encode("utf-8", "replace").decode("utf-8")


def clean_for_model(value: Any) -> Any:
    """Clean plain data for the model; drop empty values and LEFT_OUT keys."""
    if isinstance(value, str):
        return without_surrogates(fence.clean(value))
    if isinstance(value, dict):
        return {
            key: clean_for_model(item)
            for key, item in value.items()
            if key not in LEFT_OUT and item not in (None, "", [], (), {})
        }
    return [clean_for_model(item) for item in value] if isinstance(value, (list, tuple)) else value


def _clean_answer(part: str, value: dict[str, Any], rules: Sequence[str] = ()) -> ToolAnswer:
    return ToolAnswer(part, clean_for_model(value), rules)


# ---- finding


def _make_query(call: Call, given: Arguments, words: str, **more: Any) -> question.Query:
    options = {
        key.replace("_", "-"): value
        for key, value in {**given, **more, "query": words}.items()
        if key not in ("question", "max_tokens")
    }
    if options.get("limit"):
        options["limit"] = min(options["limit"], MOST_HITS)
    return question.query_from_options(options, call.now, call.offset)


def _search(call: Call, query: question.Query, links: bool = False) -> RecallResult:
    place, settings = call.place, call.settings
    semantic = load_provider(settings, "", call.env)
    searcher = search.Searcher(place, settings, semantic, dsn=_find_dsn(call))
    with suppress(UsageError):  # a workspace that only the database knows
        SHELVES.keep(lookup.find_searched_places(place, settings, query.workspace, []), call.now)
    if len(EXPANSION) > MOST_WORDS:
        EXPANSION.clear()
    searcher.shelves, searcher.expansion = SHELVES, EXPANSION
    try:
        found = searcher.answer(query, call.now, call.offset, links=links)
    except BaseException:
        SHELVES.close()
        raise
    if searcher.dsn or settings["index.backend"] == "local":
        return found
    return found._replace(notes=(*found.notes, backend.NO_DATABASE))


def _find_dsn(call: Call) -> str:
    return backend.find_dsn(call.settings, call.place.home, call.env)


def recall(call: Call, given: Arguments) -> ToolAnswer:
    """Search, and return hits with as much text as fits."""
    words = given.get("query", "")
    return _make_answer(_search(call, _make_query(call, given, words), links=True), words)


def search_resources(call: Call, given: Arguments) -> ToolAnswer:
    words = given["query"]
    query = _make_query(call, given, words, type=given.get("type", "both"))
    return _make_answer(_search(call, query), words)


def _make_answer(found: RecallResult, words: str) -> ToolAnswer:
    """Return hits with as much of their texts as fits."""
    value = clean_for_model(hit.result_json(found, words))
    value.setdefault("hits", [])
    rows = [
        (row, each)
        for key, members in (("hits", found.hits), ("linked", found.linked))
        for row, each in zip(value.get(key, ()), members)
    ]
    left = MODEL_UNITS - fence.overhead("recall") - count_utf16(to_json(value))
    for at, (row, each) in enumerate(rows):
        room = min(ITEM_UNITS, left // (len(rows) - at)) - KEY_UNITS
        if row.get("passage") or room <= MIN_BODY_UNITS:
            continue
        body = fence.clip_utf16(fence.clean(each.body).strip(), room)
        if body:
            row["body"] = body
            left -= count_utf16(to_json(body)) + 8
    rules = [_format_rule(each) for each in found.hits if each.group == "rule"]
    return ToolAnswer("recall", value, rules)


def _format_rule(found: Hit) -> str:
    return "[%s] %s: %s" % (
        fence.clean_line(found.id, 64),
        fence.clean_line(found.title, 200),
        fence.clean_line(found.rationale, 500),
    )


def distill(call: Call, given: Arguments) -> ToolAnswer:
    """Answer a question by the providers that the user chose."""
    from memory.distill import digests, providerchain

    text, max_tokens, settings = given["question"], given.get("max_tokens"), call.settings
    providerchain.validate_call(text, str(settings["distill.provider"]), settings, max_tokens)
    found = _search(call, _make_query(call, given, text, limit=DISTILLED_HITS))
    digest = providerchain.distill(
        text,
        digests.build_sources(found),
        settings,
        call.env,
        home=call.place.home,
        cache_dir=call.place.cache,
        now=call.now,
        max_tokens=max_tokens,
    )
    value = {
        "bullets": [{"text": one.text, "ids": list(one.ids)} for one in digest.bullets],
        "provider": digest.provider,
        "tokensIn": digest.tokens_in,
        "tokensOut": digest.tokens_out,
        "notes": list(digest.notes),
        "answer": "" if digest.bullets else digests.format_no_answer(digest),
    }
    return _clean_answer("distill", value)


def fix(call: Call, given: Arguments) -> ToolAnswer:
    from memory.cli.recall import find_remedies
    from memory.knowledge import remedies

    error = given["error"]
    past, answer = find_remedies(call, error)
    value = {**remedies.to_json(answer, call.place, MOST_PAST), "notes": past.notes}
    if not answer:
        found = _search(call, question.Query(error[:2000], limit=3))
        value["records"] = hit.result_json(found, error)["hits"]
        nearest = "; `records` are the nearest notes" if value["records"] else ""
        value["notes"] = [*past.notes, "nothing has failed like this here before" + nearest]
    return _clean_answer("fix", value)


def how(call: Call, given: Arguments) -> ToolAnswer:
    from memory.cli.recall import find_invocations
    from memory.knowledge import practice

    tool = given["tool"].strip()
    past, found = find_invocations(call, tool)
    notes = [*past.notes, *([] if found else ["no session here has run it successfully"])]
    value = {
        "tool": tool,
        "forms": [practice.shape_json(shape) for shape in found[: 2 * MOST_PAST]],
        "left_out": max(0, len(found) - 2 * MOST_PAST),
        "notes": notes,
    }
    return _clean_answer("how", value)


# ---- reading one


def _describe_record(call: Call, record: Record, place: Place) -> dict[str, Any]:
    found = hit.from_record(record, place.key, place.path(record.name))
    return hit.record_fields_json(*hit.add_display_fields([found], place, call.now))


def get_record(call: Call, given: Arguments) -> ToolAnswer:
    """Return a record, a section or a turn."""
    try:
        found, place, merged = lookup.find_or_successor(call.place, call.settings, given["id"])
    except StoreError as missing:
        distant = lookup.find_distant(call.place, given["id"], _find_dsn(call), missing)
        if given.get("turn"):
            raise StoreError(
                "%s is in the database alone, without its conversation; leave `turn` out"
                % distant.id
            ) from None
        return _answer_record(call, distant, call.place, given)
    if given.get("turn"):
        return _answer_turn(call, found, place, given["turn"])
    here = hit.from_record(found, place.key, place.path(found.name))
    return _answer_record(call, here, place, given, merged)


def _answer_record(
    call: Call, found: Hit, place: Place, given: Arguments, merged: str = ""
) -> ToolAnswer:
    record = clean_record(found.record, call.settings, place.key)
    found = found._replace(record=record, title=record.title, body=record.body)
    (shown,) = hit.add_display_fields([found], place, call.now)
    value = {**hit.record_fields_json(shown), "merged": merged}
    value.update(_read_body(record, given.get("section", "")))
    return _clean_answer("record", value, [_format_rule(shown)] if shown.group == "rule" else [])


def _answer_turn(call: Call, found: Record, place: Place, number: int) -> ToolAnswer:
    from memory.recall import excerpt
    from memory.store.store import Store

    talk = excerpt.find_conversation(Store(place, call.settings, call.now), found)
    if talk is None:
        raise StoreError("no conversation is kept for %s; leave `turn` out" % found.id)
    turns = hit.split_turns(talk)
    turn = excerpt.find_turn(talk, turns, str(number))
    value = {
        "id": talk.id,
        "title": talk.title,
        "turn": turn.number,
        "turns": len(turns),
        "at": turn.at + "Z",
        "request": turn.request,
        "body": fence.clip_utf16(turn.text, BODY_UNITS),
    }
    return _clean_answer("record", value)


def _read_body(found: Record, wanted: str) -> dict[str, Any]:
    """Return a record's text or section; where it is cut, all headings too."""
    from memory.store import sections

    listed = sections.outline(found.body)
    section = sections.find(listed, wanted) if wanted else None
    if wanted and section is None:
        headings = ", ".join(clip_input(each.path) for each in listed[:12] if each.path)
        row = (found.id, clip_input(wanted), headings or "no headings")
        raise UsageError("%s has no section '%s'; it has %s" % row)
    text = sections.text(found.body, section) if section else found.body
    others = listed[:200] if count_utf16(text) > BODY_UNITS else ()
    return {
        "section": section.path if section else "",
        "body": fence.clip_utf16(fence.clean(text), BODY_UNITS),
        "sections": ["%d %s" % (each.number, sections.name(each)) for each in others],
    }


def get_resource(call: Call, given: Arguments) -> ToolAnswer:
    """Return a resource, and whether its file changed; do not refresh it."""
    from memory.project import material

    found, place, _ = lookup.find_or_successor(call.place, call.settings, given["id"])
    if found.kind != "resource":
        raise UsageError("%s is a %s; get_record reads it" % (found.id, found.kind))
    state = material.compare_with_source(found, place)
    found = clean_record(found, call.settings, place.key)
    value = {
        **_describe_record(call, found, place),
        "type": material.resource_type(found),
        "state": state.word,
        "why": state.why,
        **_read_body(found, given.get("section", "")),
    }
    return _clean_answer("resource", value)


def index_status(call: Call, given: Arguments) -> ToolAnswer:
    from memory.health import figures

    state = figures.read_state(call.place, call.settings, call.now)
    shown = {key: state[key] for key in STATUS_KEYS}
    database = backend.read_state(call.place, call.settings, call.env)
    return _clean_answer("status", {**shown, "database": database})


def prompt_context(call: Call, given: Arguments) -> ToolAnswer:
    """Return the block that the hook would add to a prompt."""
    from memory.health import accounts

    load = accounts.explain_load(call.place, call.settings, given["prompt"].strip())
    value = clean_for_model(
        {key: load[key] for key in ("strategy", "candidates", "picks", "characters", "enabled")}
    )
    block = str(load["block"]) or "Nothing would come with this prompt."
    return ToolAnswer("load", value, (), block)


# ---- writing: candidates, which a person decides on


def _answer_kept(call: Call, store: Store, record: Record, done: str) -> ToolAnswer:
    return _clean_answer("kept", {"done": done, **_describe_record(call, record, store.place)})


def _answer_written(call: Call, store: Store, record: Record, done: str) -> ToolAnswer:
    if files.exists(indexview.segment_path(store.place)):
        call.indexed()
    return _answer_kept(call, store, record, done)


def _split_labels(given: Arguments, key: str) -> list[str]:
    labels = ",".join(given.get(key, ())).split(",")
    return [label.strip() for label in labels if label.strip()]


def _version_fields(given: Arguments) -> dict[str, Any]:
    versions = _split_labels(given, "version")
    return {"versions": versions} if versions else {}


def remember(call: Call, given: Arguments) -> ToolAnswer:
    """Store a candidate learning, a checkpoint or a session's note."""
    text = strip_private(given["text"]).strip()
    if not text:
        raise UsageError("nothing is left to keep: all of it is marked private")
    store, session = call.store(), find_session_id(call)
    if given.get("kind") == "note":
        return _write_note(call, store, text)
    title, tags = one_line(strip_private(given.get("title", ""))), _split_labels(given, "tags")
    if given.get("kind") == "checkpoint":
        from memory.capture import byhand

        words = title + "\n\n" + text if title else text
        kept = byhand.write_note(
            store, call.place, words, tags, session, call.now, "agent", is_unattended(call)
        )
        return _answer_written(call, store, kept, "written")
    from memory.knowledge import duplicates

    title = title or extract_title(text)
    existing = duplicates.find_similar_learning(call.place, call.settings, call.now, title, text)
    if existing:
        accepts = not existing.accepted and store.repeats(existing, text)
        changes = duplicates.accept_repeated(existing, session) if accepts else {}
        if changes:
            accepted = store.edit(existing.name, changes)
            return _answer_written(call, store, accepted, "already there, accepted now")
        return _answer_kept(call, store, existing, "already there")
    extra = {"accepted": False, **_version_fields(given)}
    kept = store.add(
        "learning", title, text + "\n", tags=tags, source="agent", session=session, extra=extra
    )
    done = "a candidate: the user can accept it with `dayleaf review` in a terminal"
    return _answer_written(call, store, kept, done)


def _write_note(call: Call, store: Store, text: str) -> ToolAnswer:
    from memory.health import notekeeping

    session = find_session_id(call)
    if not session:
        raise UsageError("a note is of a session, and this client names none")
    note, changed = notekeeping.keep_session_note(store, session, text)
    call.changed += changed
    dropped = "; ".join(one_line(item.text) for item in note.dropped)
    done = "written" + ("; left out: " + dropped if dropped else "")
    return _answer_written(call, store, note.record, done)


def suggest_rule(call: Call, given: Arguments) -> ToolAnswer:
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
    existing = store.same("rule", title, body)
    if existing:
        return _answer_written(call, store, existing, "already there")
    fields: dict[str, Any] = {"rationale": rationale, "suggested_by": "agent"}
    if links:
        fields["links"] = links
    tags = _split_labels(given, "tags")
    kept = store.add("rule", title, body, tags=tags, source="agent", extra=fields)
    done = "suggested: the user can approve it with `dayleaf review` in a terminal"
    return _answer_written(call, store, kept, done)


def add_resource(call: Call, given: Arguments) -> ToolAnswer:
    """Store a file of the project; a script waits for approval."""
    from memory.project import material

    place, store = call.place, call.store()
    path = files.real_path(os.path.abspath(os.path.join(place.root, given["path"])))
    material.check_allowed(path, layout.PRIVATE, place, True)
    source = material.read_file(path)
    existing = material.find_resource(store, source.path, layout.PRIVATE)
    if existing:
        return _answer_kept(call, store, existing, "already there")
    kind, title = given.get("type") or material.guess_type(source), given.get("title", "")
    extra = {"source": "agent", "extra": _version_fields(given)}
    kept = material.add_resource(store, source, kind, layout.PRIVATE, one_line(title), extra)
    done = "kept"
    if material.resource_type(kept) == "script":
        done += "; a script, which waits for the user's approval"
    return _answer_written(call, store, kept, done)


def feedback(call: Call, given: Arguments) -> ToolAnswer:
    from memory.store import ledger

    found, place = lookup.find_anywhere(call.place, call.settings, given["id"])
    if found.tier != layout.ADDED:
        call.open_store(place).check(found.name)
    book = ledger.find_ledger(place, found.name)
    ledger.append_event(book, found.id, given["verdict"], call.now, find_session_id(call))
    counts = lookup.credit_successors(place, ledger.rewrite_derived(book)).counts(found.id)
    value = {"id": found.id, "title": found.title, "up": counts.up, "down": counts.down}
    return _clean_answer("feedback", value)


def suggest_change(call: Call, refused: PersonsRecord, words: Sequence[str]) -> ToolAnswer:
    """Store a refused change of a person's record as a suggestion."""
    from memory.knowledge import suggestions

    store = call.store()
    kept = suggestions.store_suggestion(store, refused, words, find_session_id(call))
    done = "suggested: the record is a person's, who can accept this with `dayleaf review`"
    return _answer_written(call, store, kept, done)


# ---- running


def run_script(call: Call, given: Arguments) -> ToolAnswer:
    """Run a script's approved bytes, and return the end of its output."""
    from memory.core.boundary import NESTED
    from memory.knowledge import scripts

    if call.env.get(NESTED):
        raise UsageError("scripts do not run inside a model that dayleaf started")
    timeout = given.get("timeout", scripts.SECONDS)
    if timeout > scripts.SECONDS:
        raise UsageError("run_script: 'timeout' can be at most %d seconds" % scripts.SECONDS)
    found = call.store().find(given["id"])
    order = scripts.prepare_run(found, call.place, given.get("args", ()), call.env)
    output = {1: bytearray(), 2: bytearray()}

    def tell(number: int, data: bytes) -> None:
        output[number] += data
        del output[number][: -4 * OUTPUT_CHARS]

    status, in_time = scripts.run_script(order, call.place.cache, timeout, tell, STOP_EVENT)
    out, err = (
        bytes(output[number]).decode("utf-8", "replace")[-OUTPUT_CHARS:] for number in (1, 2)
    )
    value = {"id": order.id, "script": order.path, "stdout": out, "stderr": err}
    return _clean_answer("script", {**value, "status": status, "in_time": in_time})
