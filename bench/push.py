#!/usr/bin/env python3
"""Tokens: what a session gets against loading every learning, and what the extract keeps of its
input.

    bench/push.py

Forty synthetic learnings (corpus.py), one session: the brief and ten prompts, of which seven are
about a learning.  The extract answers those prompts from the records recall finds.  Tokens are
UTF-8 bytes over four.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus

from memory.core import clock, config, tokeniser
from memory.distill import extract
from memory.distill.digests import Source
from memory.hook import at_prompt, at_start, indexview
from memory.index import builder
from memory.recall import search

NOW = 1795271452.0


def main() -> None:
    with tempfile.TemporaryDirectory() as tmp:
        env = {
            "HOME": tmp + "/home",
            "CLAUDE_PROJECT_DIR": tmp + "/project",
            "DAYLEAF_RUNTIME_AUTO": "0",
        }
        place = corpus.write(40, env["HOME"], env["CLAUDE_PROJECT_DIR"])
        builder.build(place, NOW)
        everything = indexview.open_index(place).learning_tokens
        source = corpus.Text(7)
        typical = [source.record(number)[2] for number in range(40)]
        about = [
            f"why does {words[1]} break {words[3]} when {words[7]} runs?" for words in typical[:7]
        ]
        pushed = 0
        for handler, event in [
            (at_start.on_session_start, {"source": "startup"}),
            *(
                (at_prompt.on_prompt, {"prompt": p})
                for p in [*about, "yes", "go on", "run the tests"]
            ),
        ]:
            output, _ = handler({"session_id": "bench", "cwd": place.project, **event}, env, NOW)
            block = ((output or {}).get("hookSpecificOutput") or {}).get("additionalContext", "")
            pushed += tokeniser.count_tokens(block)
        fewer = 100 - 100 * pushed / everything
        print(
            f"40 learnings, {everything} tokens; a session of 10 prompts got "
            f"{pushed}: {fewer:.0f} % fewer"
        )
        settings = config.load(place.home, "", {})
        before = after = 0
        for question in about:
            hits = search.recall(
                place, settings, search.Query(text=question, limit=20), NOW, clock.utc
            ).hits
            sources = [
                Source(
                    h.record.id,
                    h.record.kind,
                    h.record.title,
                    h.record.created,
                    h.record.body,
                    h.record.tier,
                )
                for h in hits
            ]
            digest = extract.extract(question, sources, 500)
            before, after = before + digest.tokens_in, after + digest.tokens_out
        print(
            f"extract: {before} tokens of records in, {after} out: "
            f"{100 - 100 * after / before:.0f} % fewer"
        )


if __name__ == "__main__":
    main()
