#!/usr/bin/env python3
"""Write a synthetic store: `corpus.py N HOME PROJECT` puts N markdown learnings in the private tier
of PROJECT's workspace.

Deterministic; 1.36 KB a file on average, 8 keys of frontmatter, Zipf vocabulary, identifiers and
paths.  It says how costs scale, not how good retrieval is.  40 prompts drawn from the records go to
HOME/prompts/*.json as hook payloads.
"""

from __future__ import annotations

import bisect
import itertools
import json
import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memory.core import layout

SYLLABLES = (
    "ba be bi bo bu ca ce ci co cu da de di do du fa fe fi fo ga ge gi go ha he hi ho ka ke ki ko "
    "la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po ra re ri ro ru sa se si so su ta te "
    "ti to tu va ve vi vo wa we ya yo za ze zi tion ment ing able ster craft port graph node sync "
    "lock cache parse token queue shard index batch"
).split()
STOP = (
    "the of and to in a is that for it as was with be by on not he this are or his from at which "
    "but have an had they you were their one all we can her has there been if more when will would "
    "who so no what up out about them then she many some into"
).split()
TECH = (
    "api auth token cache retry timeout deploy docker kubernetes postgres sqlite redis react vue "
    "hook plugin config schema migration test pytest mock fixture branch merge rebase commit lint "
    "type error exception async await thread lock queue worker job cron webhook oauth session "
    "cookie header cors proxy nginx log metric trace index query join latency throughput memory "
    "leak gc heap stack import module package version release build ci pipeline artifact bucket "
    "upload download stream buffer socket tls cert dns route middleware controller model view "
    "template component state props store reducer action dispatch render css tailwind modal button "
    "form validation regex parser lexer ast compiler bytecode interpreter venv pip npm node bun"
).split()


class Text:
    """Words by Zipf's law from a seeded generator."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        words: dict[str, None] = {}
        while len(words) < 40000:
            word = "".join(
                self.random.choice(SYLLABLES) for _ in range(self.random.choice((1, 2, 2, 3, 3, 4)))
            )
            if len(word) > 2:
                words[word] = None
        self.words = list(words)
        self.vocabulary = STOP + TECH + self.words
        self.weights = list(
            itertools.accumulate(1.0 / (i + 3) ** 1.05 for i in range(len(self.vocabulary)))
        )

    def word(self) -> str:
        return self.vocabulary[bisect.bisect(self.weights, self.random.random() * self.weights[-1])]

    def identifier(self) -> str:
        a, b = self.random.choice(TECH), self.random.choice(self.words[:3000])
        return self.random.choice(
            (f"{a}_{b}", f"{a}{b.title()}", f"src/{a}/{b}.py", f"`{a}.{b}()`")
        )

    def record(self, number: int) -> tuple[str, str, list[str]]:
        """Return (relative path, content, words that are typical of it)."""
        pick = self.random
        year, month, day = 2023 + pick.randrange(4), 1 + pick.randrange(12), 1 + pick.randrange(28)
        topics = pick.sample(TECH, 2)
        left, paragraphs = max(25, int(pick.lognormvariate(4.9, 0.6))), []
        local = [self.word() for _ in range(6)] + [self.identifier() for _ in range(3)]
        while left > 0:
            size = min(left, pick.randrange(12, 60))
            left -= size
            words = []
            for _ in range(size):
                r = pick.random()
                words.append(
                    pick.choice(local)
                    if r < 0.12
                    else pick.choice(topics)
                    if r < 0.17
                    else self.identifier()
                    if r < 0.19
                    else self.word()
                )
            sentence = " ".join(words)
            start = pick.choice(("", "", "## " + " ".join(words[:4]).title() + "\n\n", "- "))
            paragraphs.append(start + sentence[0].upper() + sentence[1:] + ".")
        title = f"{topics[0].title()} {topics[1]} {' '.join(pick.sample(local[:6], 2))}"
        tags = topics + [pick.choice(self.words[:500]) for _ in range(pick.randrange(0, 4))]
        head = (
            f"---\nid: m{number:06d}\nkind: learning\ntitle: {json.dumps(title)}\n"
            f"tags: [{', '.join(tags)}]\n"
            f"created: {year}-{month:02d}-{day:02d}T{pick.randrange(24):02d}:"
            f"{pick.randrange(60):02d}:00Z\n"
            f"confidence: {pick.choice(('low', 'medium', 'high'))}\n"
            f"source: {pick.choice(('human', 'agent'))}\n"
            f"session: session-{pick.randrange(99999):05d}\n---\n\n"
        )
        name = f"m{number:06d}-{topics[0]}-{topics[1]}.md"
        return name, head + f"# {title}\n\n" + "\n\n".join(paragraphs) + "\n", topics[:1] + local

    def prompt(self, typical: list[str]) -> str:
        pick = self.random
        words = [typical[0], *pick.sample(typical[1:], 3)]
        words += [
            self.word() if pick.random() < 0.35 else pick.choice(STOP)
            for _ in range(pick.choice((6, 10, 16, 30)))
        ]
        pick.shuffle(words)
        return "Please " + " ".join(words) + "?"


def write(count: int, home: str, project: str, kind: str = "learning") -> layout.Place:
    """Write the store and the prompts, and return the place.  kind: of the records, `learning` or
    `checkpoint`.
    """
    os.makedirs(project, exist_ok=True)
    place = layout.locate({"HOME": home}, project)
    text = Text(7)
    root = Path(place.private) / layout.FOLDERS[kind]
    typical = []
    for number in range(count):
        name, content, words = text.record(number)
        content = content.replace("kind: learning", "kind: " + kind, 1)
        path = root / ("2026-11-%02d" % (1 + number % 21) if kind == "checkpoint" else "") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        if number % max(1, count // 400) == 0:
            typical.append(words)
    prompts = Path(home) / "prompts"
    prompts.mkdir(parents=True, exist_ok=True)
    for number in range(40):
        payload = {
            "session_id": f"bench-{number}",
            "transcript_path": "/nonexistent/t.jsonl",
            "cwd": project,
            "permission_mode": "default",
            "hook_event_name": "UserPromptSubmit",
            "prompt_id": f"prompt-{number}",
            "prompt": text.prompt(text.random.choice(typical)),
        }
        (prompts / f"q{number:02d}.json").write_text(json.dumps(payload))
    return place


if __name__ == "__main__":
    write(int(sys.argv[1]), os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3]))
