"""Files that are derived may be damaged in any way: a hook says what the records say, or
nothing.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from pathlib import Path

from harness import vault

from memory.core import fastjson
from memory.health import worker
from memory.hook import at_prompt
from memory.index import builder

# read here: the fixtures give every test an environment of its own
WHOLE = os.environ.get("DAYLEAF_TEST_FAULTS") == "all"
COUNT = 1000 if WHOLE else 60
RECORDS = 60


def body(number: int, word: str = "gamma") -> str:
    """What a record says: nothing that another one says."""
    return "Sickness alpha%03d is cured by beta%03d with %s%03d." % (number, number, word, number)


def damaged(rng: random.Random, path: Path) -> str:
    """Damage a file and return in which way."""
    data = bytearray(path.read_bytes())
    way = rng.choice(
        (
            "bits",
            "bits",
            "bits",
            "truncated",
            "zeroed",
            "shifted",
            "random",
            "empty",
            "folder",
            "gone",
            "foreign",
            "page",
        )
    )
    if not data and way in ("bits", "truncated", "zeroed", "shifted", "page"):
        way = "random"
    if way in ("folder", "gone"):
        path.unlink()
        if way == "folder":
            path.mkdir()
        return way
    if way == "bits":
        for _ in range(rng.choice((1, 1, 5, 50))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif way == "truncated":
        del data[rng.randrange(len(data)) :]
    elif way in ("zeroed", "page"):
        at = rng.randrange(len(data))
        size = min(4096 if way == "page" else rng.randrange(1, 64), len(data) - at)
        data[at : at + size] = bytes(size) if way == "zeroed" else rng.randbytes(size)
    elif way == "shifted":
        data[rng.randrange(len(data)) : 0] = b"x" * rng.randrange(1, 9)
    else:
        data = bytearray(
            {"random": rng.randbytes(2000), "empty": b"", "foreign": b'{"v":99,"rows":[]}\n' * 20}[
                way
            ]
        )
    path.write_bytes(data)
    return way


def test_no_damage_lets_a_hook_say_what_no_record_says(place, project, env, home, now, capsys):
    """Each damage: an answer without an error, no text that stands in no file, and nearly always
    the record that was asked for.
    """
    for number in range(RECORDS):
        vault.put(
            place,
            "p/learnings/r%03d.md" % number,
            "About alpha%03d" % number,
            body(number),
            "health",
        )
    builder.build(place, now)
    vault.put(place, "p/learnings/r900.md", "About alpha900", body(900), "health")
    builder.refresh(place, now, names=["p/learnings/r900.md"])
    env = {**env, "DAYLEAF_RUNTIME_AUTO": "0", "CLAUDE_PROJECT_DIR": project}
    event = {"cwd": project, "transcript_path": "/nowhere/s.jsonl", "prompt_id": "p1"}
    worker.after_start(
        {**event, "hook_event_name": "SessionStart", "session_id": "first"}, env, now
    )
    os.unlink(place.path("p/learnings/r010.md"))  # by hand, after the index heard of it
    vault.put(place, "p/learnings/r020.md", "About alpha020", body(20, "delta"), "health")
    true = {body(n) for n in (*range(RECORDS), 900) if n not in (10, 20)} | {body(20, "delta")}
    cache, saved = Path(place.cache), home + "/saved"
    shutil.copytree(cache, saved)
    rng, right, ways, files = random.Random(7), 0, {}, set()
    for number in range(-3, COUNT):
        shutil.rmtree(cache)
        shutil.copytree(saved, cache)
        if number >= 0:
            found = sorted(
                path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"
            )
            path = rng.choice(
                [*found, *(path for path in found if path.suffix in (".seg", ".log"))]
            )
            files.add(path.suffix)
            way = damaged(rng, path)
            ways[way] = ways.get(way, 0) + 1
        wanted = rng.choice((5, 20, 33, 47, 900))
        said, _ = at_prompt.on_prompt(
            {
                **event,
                "session_id": "s%d" % number,
                "hook_event_name": "UserPromptSubmit",
                "prompt": "what cures alpha%03d, is it beta%03d?" % (wanted, wanted),
            },
            env,
            now,
        )
        block = (
            json.loads(fastjson.dump(said or {}))
            .get("hookSpecificOutput", {})
            .get("additionalContext", "")
        )
        for line in re.findall(r"Sickness alpha.*?\.", block):
            assert line in true, (number, line)
        right += any("alpha%03d is cured" % wanted in line for line in block.splitlines())
        assert number >= 0 or right == number + 4, "without any damage the record is said"
    assert right - 3 >= 0.9 * COUNT, (right - 3, ways)
    with capsys.disabled():
        if WHOLE:
            print(
                "\n%d damages (%s; files %s): the right record %d times"
                % (COUNT, ways, " ".join(sorted(files)), right - 3)
            )
