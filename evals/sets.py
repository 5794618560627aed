"""Sets of documents, queries and relevance: read, written as memories, scored as the product scores
(memory/health/rankingmetrics.py).

A set is a folder with docs, queries and qrels as .jsonl or .jsonl.gz:

    docs     {"id", "group", "title", "tags", "ts" (epoch seconds), "text"; of conversations
             "session", "speaker"}
    queries  {"id", "group", "text", "ts"?}
    qrels    {"qid", "did", "rel"}

A group is one corpus; its queries are asked of its documents alone.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# for the scripts beside this one
from memory.health.rankingmetrics import STOP_WORDS, content_words, rank_by_word_count, sum_metrics  # noqa: F401

Doc = dict[str, Any]


def add_typos(text: str, seed: str) -> str:
    """Return a query with typing errors in a quarter of its long words.

    Swaps, drops, doubles or changes a letter in words of five letters and more.
    """
    rng = random.Random(seed)
    parts = re.split(r"(\s+)", text)
    long = [i for i, part in enumerate(parts) if len(part) >= 5 and part.isalpha()]
    for i in rng.sample(long, math.ceil(len(long) / 4)):
        word = parts[i]
        at = rng.randrange(1, len(word) - 1)
        parts[i] = rng.choice(
            (
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
                word[:at] + word[at + 1 :],
                word[:at] + word[at] + word[at:],
                word[:at] + rng.choice("aeiourstln") + word[at + 1 :],
            )
        )
    return "".join(parts)


def rows(folder: Path, name: str) -> list[Doc]:
    """Read one of a set's three files."""
    path = folder / (name + ".jsonl")
    if path.exists():
        return [json.loads(line) for line in path.open(encoding="utf-8")]
    with gzip.open(folder / (name + ".jsonl.gz"), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def load(
    folder: Path,
) -> tuple[dict[str, list[Doc]], dict[str, list[Doc]], dict[str, dict[str, float]]]:
    """Return (documents by group, queries by group, relevance by query and document)."""
    docs: dict[str, list[Doc]] = {}
    queries: dict[str, list[Doc]] = defaultdict(list)
    wanted: dict[str, dict[str, float]] = defaultdict(dict)
    for doc in rows(folder, "docs"):
        docs.setdefault(doc["group"], []).append(doc)
    for query in rows(folder, "queries"):
        queries[query["group"]].append(query)
    for row in rows(folder, "qrels"):
        wanted[row["qid"]][row["did"]] = row["rel"]
    return docs, queries, wanted


def write(docs: list[Doc], root: Path) -> None:
    """Write documents as records of a shared tier: checkpoints where they belong to a session, else
    learnings.
    """
    for number, doc in enumerate(docs):
        folder = root / ("checkpoints" if doc.get("session") else "learnings")
        folder.mkdir(parents=True, exist_ok=True)
        meta = {
            "id": doc["id"],
            "title": doc.get("title") or None,
            "tags": doc.get("tags") or None,
            "created": doc.get("ts") or None,
            "session": doc.get("session"),
            "speaker": doc.get("speaker"),
            "order": number,
        }
        head = "".join(
            f"{key}: {json.dumps(value, ensure_ascii=False)}\n"
            for key, value in meta.items()
            if value is not None
        )
        (folder / f"{number:06d}.md").write_text(
            f"---\n{head}---\n\n{doc['text']}\n", encoding="utf-8"
        )
