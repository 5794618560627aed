"""Golden queries, which say what recall should find: a person's file, and drafts from the store.

Schema, version 1, of a file of golden queries, YAML:

    floor: {recall@5: 0.8, mrr: 0.6}      what `eval --strict` wants; of recall@1, recall@5,
                                          recall@10, mrr, from 0 to 1
    queries:
      - id: q01                           any word, each once; by its place where it is missing
        query: token expiry               and any option of recall by its name: kind, tag, since, …
        expect: [l-1a2b3c4d]              ids of the records that should be found
        ranker: lexical                   of grep, lexical, fuzzy and semantic; what recall uses
                                          where it is missing
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from memory.capture import checkpointoutline
from memory.core import StoreError, UsageError, clock, files, frontmatter, layout
from memory.core.headyaml import read_yaml
from memory.core.plaintext import clip_columns, one_line
from memory.core.records import Record
from memory.health import rankingmetrics
from memory.hook import handoffs
from memory.recall import question
from memory.recall.question import Query
from memory.store.secretshapes import MARKER

MOST = 50  # queries of a draft
MOST_WORDS = 12  # of a drafted query
FEW = 5  # records that one drafted query may expect
LIMIT = 1 << 20  # bytes of a file
MEASURES = ("recall@1", "recall@5", "recall@10", "mrr")
RANKERS = GREP, LEXICAL, FUZZY, SEMANTIC = "grep", "lexical", "fuzzy", "semantic"
NAME = "golden.yaml"


class Golden(NamedTuple):
    """A query with the expected ids; ranker: "" for recall's own."""

    id: str
    query: Query
    expect: tuple[str, ...]
    ranker: str = ""


class GoldenSet(NamedTuple):
    """A file of golden queries."""

    path: str
    queries: tuple[Golden, ...]
    floor: dict[str, float]


# ---- reading


def read(path: str, now: float, offset: clock.Offset) -> GoldenSet:
    """Read a file of golden queries; raises StoreError.

    offset: seconds that local time is ahead of UTC, for options such as `since: 7d`.
    """
    try:
        data = files.read(path, LIMIT)
    except OSError as error:
        what = "%s: %s; `dayleaf debug eval --template` makes one"
        raise StoreError(what % (path, (error.strerror or "unreadable").lower())) from None
    if frontmatter.is_binary(data) or len(data) >= LIMIT:
        raise StoreError("%s: not UTF-8 text below 1 MiB; save it as UTF-8, or split it" % path)
    value = _parse_yaml(path, data.decode("utf-8-sig"))
    rows = value.get("queries")
    if not isinstance(rows, list) or not rows:
        what = "%s has no list `queries:`; `dayleaf debug eval --template` shows the form"
        raise StoreError(what % path)
    found: dict[str, Golden] = {}
    for at, row in enumerate(rows, 1):
        golden = _parse_golden(path, at, row, now, offset)
        if golden.id in found:
            what = "%s: two queries have the id '%s'; give each its own"
            raise StoreError(what % (path, golden.id))
        found[golden.id] = golden
    return GoldenSet(path, tuple(found.values()), _parse_floor(path, value.get("floor")))


def _parse_yaml(path: str, text: str) -> dict[str, Any]:
    first, _, rest = text.partition("\n")
    has_mark = first.rstrip() == "---"
    value, twice, problem, missing = read_yaml(rest if has_mark else text, [], [])
    if not has_mark:  # the reader counts the line `---` of a head
        problem = re.sub(r"^line (\d+)", lambda match: "line %d" % (int(match[1]) - 1), problem)
    if missing:
        raise StoreError("%s: golden queries need PyYAML, which is missing; run install.sh" % path)
    if value is None:
        reason = problem.partition(", read line")[0].partition("; ")[0]
        what = "%s is not YAML (%s); `dayleaf debug eval --template FILE` shows the form"
        raise StoreError(what % (path, reason))
    if twice:
        raise StoreError("%s: the key '%s' occurs twice; remove one" % (path, twice[0]))
    return value


def _expected_ids(row: dict[str, Any]) -> tuple[str, ...]:
    expect = row.get("expect") or ""
    ids = map(str, expect) if isinstance(expect, list) else str(expect).split(",")
    return tuple(dict.fromkeys(filter(None, map(str.strip, ids))))


def _read_ranker(row: dict[str, Any], where: str) -> str:
    ranker = str(row.get("ranker") or "").strip().lower()
    if ranker not in ("", *RANKERS):
        known = ", ".join(RANKERS)
        raise StoreError(
            "%s: '%s' is no ranker; use one of %s" % (where, one_line(ranker)[:40], known)
        )
    return ranker


def _parse_golden(path: str, at: int, row: Any, now: float, offset: clock.Offset) -> Golden:
    id = str(row.get("id") or "q%02d" % at) if isinstance(row, dict) else ""
    where = "%s: query %s" % (path, one_line(id)[:40] or at)
    if not isinstance(row, dict):
        what = "%s needs `query:` and `expect:`; `dayleaf debug eval --template` shows the form"
        raise StoreError(what % where)
    ids = _expected_ids(row)
    if not isinstance(row.get("query"), str) or not row["query"].strip():
        raise StoreError("%s has no text; write `query: words`" % where)
    if not ids:
        raise StoreError("%s expects no record; write `expect: [ID]`" % where)
    ranker = _read_ranker(row, where)
    options = {key: value for key, value in row.items() if key not in ("id", "expect", "ranker")}
    try:
        return Golden(id, question.query_from_options(options, now, offset), ids, ranker)
    except UsageError as error:
        raise StoreError("%s: %s" % (where, error)) from None


def _parse_floor(path: str, floor: Any) -> dict[str, float]:
    if floor in (None, ""):
        return {}
    if not isinstance(floor, dict):
        what = "%s: the floor is not a mapping; write `floor: {recall@5: 0.8, mrr: 0.6}`"
        raise StoreError(what % path)
    found = {}
    for key, value in floor.items():
        name = str(key).strip().lower()
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if name not in MEASURES or not 0 <= number <= 1:
            shown = (one_line(str(part))[:40] for part in (key, value))
            raise StoreError(
                "%s: '%s: %s' is not a floor; use %s with a number from 0 to 1"
                % (path, *shown, ", ".join(MEASURES))
            )
        found[name] = number
    return found


# ---- drafts


class Draft(NamedTuple):
    """A drafted query; how: the way it was made, title: of its source."""

    words: str
    expect: tuple[Record, ...]
    how: str
    title: str


def _is_usable(record: Record) -> bool:
    return record.accepted and bool(record.body.strip()) and not handoffs.is_handoff(record)


def draft_queries(records: Sequence[Record], clean: Callable[[Any], Any]) -> list[Draft]:
    """Draft golden queries from records.

    Their order changes nothing. A session's query is the request of its checkpoint, another
    record's its title in other words.
    clean: removes secrets from texts, before their words are reordered.
    """
    covered = {r.meta.get("conversation") for r in records if r.kind == "checkpoint"}
    usable = [
        r for r in records if _is_usable(r) and not (r.kind == "conversation" and r.id in covered)
    ]
    usable.sort(key=lambda r: (files.sha256(r.id.encode("utf-8", "replace")), r.name))
    requests = _group_by(usable, _session_request)
    titles = _group_by(usable, lambda record: record.title)
    found: dict[str, Draft] = {}
    for record in usable[:MOST]:
        title, body = (re.sub(MARKER, "", text) for text in clean([record.title, record.body]))
        request = _session_request(record.replaced(title=title, body=body))
        alike = requests.get(_session_request(record))
        for text, same, make, how in (
            (request, alike, list, "the request of its session"),
            (title, titles.get(record.title), _reword, "its title in other words"),
        ):
            words = rankingmetrics.content_words(one_line(text))[:MOST_WORDS]
            if len(words) > 1 and same and len(same) <= FEW:
                query = " ".join(make(words))
                found.setdefault(query.lower(), Draft(query, tuple(same), how, one_line(title)))
                break
    return list(found.values())


def _group_by(records: Sequence[Record], key: Callable[[Record], str]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def _reword(words: Sequence[str]) -> list[str]:
    """Drop every third word; move the first to the end."""
    kept = [word for at, word in enumerate(words) if at % 3 != 2]
    return kept[1:] + kept[:1]


def _session_request(record: Record) -> str:
    if record.kind != "checkpoint":
        return ""
    lines = checkpointoutline.parse_outline(record).request
    return next((one_line(line) for line in lines if line.strip()), "")


def format_template(drafts: Sequence[Draft]) -> str:
    """Format drafted queries as a file for a person to edit."""
    lines = [
        "---",
        "# What recall should find.  Edit it: the words that you would type, and the ids of "
        "the records that answer;",
        "# delete what nobody would ask.  `dayleaf debug eval` measures recall; `dayleaf "
        "debug eval --strict` fails below the floor.",
        "floor: {recall@5: 0.8, mrr: 0.6}",
        "queries:",
    ]
    for at, draft in enumerate(drafts, 1):
        lines += [
            "  # %s: %s" % (draft.how, clip_columns(draft.title, 90)),
            "  - id: q%02d" % at,
            "    query: " + _quote(draft.words),
            "    expect: [%s]" % ", ".join(_quote(record.id) for record in draft.expect),
        ]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    is_plain = text[:1].isalnum() and layout.valid_id(text)
    return text if is_plain else json.dumps(text, ensure_ascii=False)
