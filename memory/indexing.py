"""The verbs of what is derived, and of text that passes through: index, redact."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable

from memory import files, terminal
from memory.call import Call, to_json, unknown_word
from memory.errors import StoreError, UsageError


def index(call: Call) -> int:
    """Build, refresh, verify, show or export the index."""
    asked = [name for name in INDEX if getattr(call.options, name)] + call.words
    if len(asked) != 1:
        raise UsageError("index wants one of " + ", ".join(INDEX))
    if asked[0] not in INDEX:
        raise unknown_word("index", asked[0], INDEX)
    return INDEX[asked[0]](call)


def _build(call: Call) -> int:
    from memory import indexer

    with call.spinner("building the index") as spinner:
        def told(done: int, of: int) -> None:
            spinner.step = "building the index: %d of %d" % (done, of)

        done = indexer.build(call.place, call.now, told)
    return _embed(call, done) if call.options.embeddings else _summary(call, done)


def _embed(call: Call, done: Any) -> int:
    """Bring the vectors of the workspaces asked for up to date, after the index; raises ProviderError, UsageError."""
    from memory import embedder, lookup, semantic, vectors

    provider = embedder.from_settings(call.settings, call.options.vectors_by or "", call.env)
    if provider is None:
        raise UsageError("no provider of vectors is set: " + semantic.SET_UP)
    out, lines = [], []
    for place in lookup.workspaces(call.place, call.options.workspace or ""):
        with call.spinner("embedding %s with %s" % (place.key, provider.label)):
            made = vectors.update(place, provider, call.env, call.now)
        out.append({"workspace": place.key, **made._asdict()})
        lines.append("%s: another process is embedding it" % place.key if made.busy else
                     "%s: %s embedded, %d kept, %d removed in %.1f s (%s)" % (
                         place.key, terminal.count(made.embedded, "chunk"), made.kept, made.removed, made.took, provider.label))
    return call.answer({**done._asdict(), "vectors": out}, [*_said(done), *lines])


def _refresh(call: Call) -> int:
    from memory import indexer

    with call.spinner("comparing the files with the index"):
        return _summary(call, indexer.refresh(call.place, call.now))


def _summary(call: Call, done: Any) -> int:
    return call.answer(done._asdict(), _said(done))


def _said(done: Any) -> list[str]:
    if done.busy:
        return ["another process is building the index; its result serves this place too"]
    said = "%s: %d added, %d changed, %d removed%s" % (
        terminal.count(done.records, "record"), done.added, done.changed, done.removed, "; built anew" if done.built else "")
    return [said, *("skipped %s; `dayleaf doctor` says why" % name for name in done.skipped)]


def _verify(call: Call) -> int:
    from memory import indexer

    with call.spinner("rebuilding aside"):
        differences = indexer.verify(call.place, call.now)
    call.answer({"verified": not differences, "differences": differences},
                differences or ["the index is what its files give, byte for byte apart from its time stamp"])
    if differences:
        raise StoreError("the index differs from its files; `dayleaf index refresh` mends it")
    return 0


def _index_status(call: Call) -> int:
    from memory import status as state

    with call.spinner("reading the records"):
        value = state.gather(call.place, call.settings, call.now)
    return call.answer({key: value[key] for key in ("workspace", "index", "vectors", "records", "skipped")},
                       state.index_lines(value))


def _export(call: Call) -> int:
    from memory import loader, topics

    with call.spinner("reading the records"):
        value = to_json(topics.export(call.place, call.now, loader.categories(call.settings["load.routes"])))
    if not call.options.out:
        print(value)
        return 0
    target = os.path.abspath(call.options.out)
    try:
        files.replace(target, (value + "\n").encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError("%s: not written, %s" % (target, (error.strerror or "").lower())) from None
    return call.answer({"out": target}, ["exported to " + target])


INDEX: dict[str, Callable[[Call], int]] = {
    "build": _build, "refresh": _refresh, "verify": _verify, "status": _index_status, "export": _export}


def redact(call: Call) -> int:
    """Take secrets out of text: stdin to stdout."""
    from memory import redact as cleaner

    if call.words not in ([], ["-"]) or (not call.words and sys.stdin.isatty()):
        raise UsageError("redact reads stdin: `dayleaf redact - < FILE`")
    allow, salt = call.settings["redact.allow"], call.place.key
    if not call.options.batch:
        sys.stdout.write(cleaner.redact(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"), allow, salt).text)
        return 0
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        row = batch_row(line, number, "text")
        done = cleaner.redact(row["text"], allow, salt)
        print(to_json({"id": row.get("id"), "text": done.text, "found": [
            {"kind": one.kind, "tag": one.tag, "count": one.count} for one in done.found]}), flush=True)
    return 0


def batch_row(line: bytes, number: int, key: str) -> dict[str, Any]:
    """Read one line of JSONL; raises UsageError, which names the line, where it is no object with a text under `key`."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except ValueError:
        row = None
    if not isinstance(row, dict) or not isinstance(row.get(key), str):
        raise UsageError("stdin line %d: not {\"id\": …, \"%s\": \"…\"}" % (number, key))
    return row
